"""The topics of runs over the terms and documents of one corpus, and the robust topics as a run like any other.

Further parts, in this order:
- Robust topics: from a corpus by a grid of fits, or from runs that are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import TEXT_HASH
from nlpkit.platform.documents.corpus import Corpus, read_corpus
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.models import topic_kinds
from nlpkit.platform.options import Execution, in_force, with_settings
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.runs.runs import Run, open_run
from nlpkit.platform.types import CsrMatrix, IntArray
from nlpkit.predict.model import RunModel
from nlpkit.text.options import PreprocessOptions, TextOptions
from nlpkit.topics.base.corpus import read_topic_corpus
from nlpkit.topics.base.mixture import FittedMixture
from nlpkit.topics.base.model import Inference
from nlpkit.topics.base.options import TermOptions
from nlpkit.topics.base.runs import Additions, MixtureRun, TopicCorpus, mixture_run
from nlpkit.topics.base.tables import read_membership, read_model
from nlpkit.topics.base.topic_run import opened_run
from nlpkit.topics.edit.refit import documents_again
from nlpkit.topics.matrix.plsa import fold_in
from nlpkit.topics.robust.grid import FOLD, SEGMENT, Grid, fit_grid, group_codes
from nlpkit.topics.robust.grid import RUNS as RUNS_OF_GRID
from nlpkit.topics.robust.model import Clusters, RunTopics, robust_clusters, robust_fit, share_not_robust
from nlpkit.topics.robust.options import OF_FITS, GridOptions, RobustOptions
from nlpkit.topics.robust.tables import (
    RUN_SHARES,
    SHARES,
    TERMS,
    RunFacts,
    run_tables,
    share_tables,
    terms_table,
    topic_columns,
)
from nlpkit.weights.dtm import count_terms

KIND = "robust"
FEW = 0.5  # share of the documents, texts or words of a run that are those of the others, below which they differ
CHECKED = 1000  # documents whose texts are compared


def read_run_topics(run: Run, corpus: TopicCorpus, dtm: CsrMatrix, segment: int) -> RunTopics:
    """Return the topics of a run over the terms and documents of a corpus.

    The words of a mixture are the counts of its model. Those of bertopic are all words of the documents of a topic.

    Args:
        dtm: (D, V) counts of the corpus.

    Raises:
        InputError: the run is damaged.
    """
    K = run.table("topics", ["topic"]).num_rows
    rows = pc.index_in(corpus.ids, value_set=run.table("documents", ["id"]).column("id").combine_chunks())
    place = pc.fill_null(rows, -1).to_numpy()
    present = place >= 0
    weights = sparse.csr_array(read_membership(run, mixed=run.is_mixture).weights, dtype=np.float64)
    total = np.asarray(weights.sum(axis=1)).ravel()
    shares = sparse.diags_array(np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0)) @ weights
    here = sparse.csr_array(
        (np.ones(present.sum()), (np.flatnonzero(present), place[present])), shape=(len(place), len(total))
    )
    documents = sparse.csr_array(here @ shares)
    if not run.is_mixture:
        return RunTopics(sparse.csr_array(documents.T @ dtm), documents, present, segment)
    model, number = read_model(run), {term: v for v, term in enumerate(corpus.tokens.terms)}
    column = np.array([number.get(term, -1) for term in model.terms], np.int64)
    counts = sparse.coo_array(model.topic_term)
    known = column[counts.col] >= 0
    entries = (counts.data[known].astype(np.float64), (counts.row[known], column[counts.col[known]]))
    lost = 1.0 - counts.data[known].sum() / max(counts.data.sum(), 1e-300)
    if lost > FEW:
        reporting.warn(
            f"{lost:.0%} of the words of {run.path} are not in the vocabulary of the documents, so its topics can hardly be matched by "
            "words; use runs with the same tokens"
        )
    words = sparse.coo_array(entries, shape=(K, len(corpus.tokens.terms))).tocsr()
    return RunTopics(sparse.csr_array(words), documents, present, segment)


class FittedRobust(FittedMixture):
    """Robust topics that were found or loaded: a mixture of them, and of what did not come back."""

    kind = KIND

    def inference(self, execution: Execution) -> Inference:
        """Return what gives documents their topics by folding in, while phi stays as it is."""
        return partial(fold_in, np.ascontiguousarray(self.model.smoothed().phi.T), threads=execution.n_threads())

    @property
    def shares(self) -> pa.Table:
        """The shares of the topics by value of each column, with their spread over the runs."""
        return self.tables()[SHARES.name]


def load_robust(path: Path, execution: Execution) -> FittedRobust:
    """Return the robust topics of a run. Raises InputError, SchemaError where there are none, or it is damaged."""
    run = open_run(path, [KIND], verify=execution.verify)
    return FittedRobust(run, read_model(run))


# ------------------------------------------------------------------------------------------------------------------------
# Robust topics: from a corpus by a grid of fits, or from runs that are there.


def robust_topics(
    data: Any,
    *,
    options: RobustOptions | None = None,
    terms: TermOptions | None = None,
    tokens: TextOptions | None = None,
    encoder: EncoderOptions | str | None = None,
    read: ReadOptions | None = None,
    sharing: GridOptions | None = None,
    execution: Execution | None = None,
    fits: str | Path | None = None,
    force: bool = False,
    **settings: Any,
) -> FittedRobust:
    """Return the topics that come back in many runs: over numbers of topics, seeds, models or segments of a corpus.

    All topics of all runs are clustered by their words and their documents (see `robust_clusters`). A cluster that came back in
    `min_runs` of the runs is a robust topic (Wilkerson & Casas 2017). Its words, documents and shares are means over the runs that
    have it, with their spread.

    Args:
        data: a Corpus, texts or a data frame, to which models are fitted; or a list of runs, as directories or saved models.
        options, terms, tokens, execution: whole records of options. encoder: of models that embed documents.
        read: how the documents of runs are read, as they were for the fits. sharing: how many processes share the fits.
        fits: a directory for the fits, which `resume` can continue; None: they are not kept.
        force: replace fits that are there.
        settings: single options, such as k="10:90:5", seeds=3, shares_by="party".

    Raises:
        UsageError: options that do not go together. InputError: one run alone, runs of different documents, a fit that failed.
        OutputExistsError: fits are there, without `resume` or `force`. MissingError: Ray is not installed, or its cluster not there.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> model = nk.robust_topics(texts, models="nmf", k="2,3", seeds=2)
        >>> model.topics["runs"].to_pylist()[:2]
        [4, 4]
    """
    records = (options, terms, tokens, EncoderOptions.from_value(encoder), read, sharing, execution)
    kinds = (RobustOptions, TermOptions, TextOptions, EncoderOptions, ReadOptions, GridOptions, Execution)
    options, terms, tokens, embedder, read, sharing, execution = with_settings(records, settings, kinds)
    seconds: dict[str, float] = {}
    runs = runs_in(data)
    with ExitStack() as stack:
        if runs is None:
            place = Path(stack.enter_context(TemporaryDirectory())) / "fits" if fits is None else Path(fits)
            with stopwatch(seconds, "fits"):
                grid = fit_grid(
                    data,
                    place,
                    options,
                    tokens,
                    embedder,
                    execution,
                    sharing=sharing,
                    force=force,
                    stays=fits is not None,
                )
            opened = [open_run(grid.run(fit), verify=execution.verify) for fit in grid.fits]
            facts = [
                _facts(run, None if fit.segment is None else fit.segment[1])
                for run, fit in zip(opened, grid.fits, strict=True)
            ]
            segments = [0 if fit.segment is None else fit.segment[0] for fit in grid.fits]
            source = _documents_of_grid(grid, execution)
        else:
            _refuse_unused(options, sharing)
            opened = [opened_run(run, execution, topic_kinds()) for run in runs]
            base = _base_run(opened)
            facts, segments = [_facts(run, None) for run in opened], [0] * len(opened)
            words = tuple(base.table("vocab", ["term"]).column("term").to_pylist())
            source = documents_again(base, words, None, read, execution, parameter=None)
        with stopwatch(seconds, "read"):
            corpus = stack.enter_context(source)
            dtm = count_terms(corpus.tokens)
            with reporting.progress("runs", len(opened)) as update:
                topics = []
                for run, segment in zip(opened, segments, strict=True):
                    topics.append(read_run_topics(run, corpus, dtm, segment))
                    update(len(topics))
        if runs is not None:
            _check_same(opened, topics, corpus, options.match)
        written, fit = _robust_run(topics, facts, corpus, options, terms, execution, seconds, is_grid=runs is None)
    model = FittedRobust(written, fit.model, fit.doc_topic)
    model.corpus = data if isinstance(data, Corpus) else None
    return model


def runs_in(data: Any) -> list[Any] | None:
    """Return the runs that data is a list of, None for documents; the folder of a grid or a comparison stands for its runs.

    Raises:
        UsageError: runs and other files together, or one run.
    """
    if isinstance(data, str | Path | Run | RunModel):
        data = [data]
    if (
        not isinstance(data, Sequence)
        or not data
        or not all(isinstance(one, str | Path | Run | RunModel) for one in data)
    ):
        return None
    runs: list[Any] = []
    others: list[str] = []
    for one in data:
        if isinstance(one, Run | RunModel) or _is_run(Path(one)):
            runs.append(one)
        elif inside := _inside(one):
            runs += inside
        else:
            others.append(str(one))
    if not runs:
        return None
    if others:
        raise UsageError(
            f"robust topics are found in runs or in documents, not in both: {wording.truncated(others[0], 60)} is not a run"
        )
    names = [str(run) if isinstance(run, str | Path) else "" for run in runs]
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"the run {twice} is named twice; it would come back in itself")
    if len(runs) < 2:
        raise UsageError(
            "robust topics need at least 2 runs of a corpus, got one; name others, or the documents to fit them"
        )
    return runs


def _is_run(path: Path) -> bool:
    try:
        return (path / MANIFEST).is_file()
    except (OSError, ValueError):  # a text that is no name of a file
        return False


def _inside(one: str | Path) -> list[Path]:
    try:
        return sorted(path.parent for path in (Path(one) / RUNS_OF_GRID).glob(f"*/{MANIFEST}"))
    except (OSError, ValueError):
        return []


def _refuse_unused(options: RobustOptions, sharing: GridOptions) -> None:
    """Raise UsageError for options of fits, where runs are there."""
    for record, names in ((options, OF_FITS), (sharing, ("workers", "ray"))):
        usual = type(record)()
        for name in names:
            if getattr(record, name) != getattr(usual, name):
                raise UsageError(f"`{name}` is an option of fits, and has no effect on runs that exist", parameter=name)


def _base_run(runs: Sequence[Run]) -> Run:
    """Return the run with the most documents, the first of equals. Raises InputError for a run of robust topics."""
    for run in runs:
        if run.manifest["kind"] == KIND:
            raise InputError(f"{run.path} holds robust topics; name the runs that they were made of")
    sizes = [run.table("documents", ["id"]).num_rows for run in runs]
    return runs[sizes.index(max(sizes))]


def _facts(run: Run, segment: str | None) -> RunFacts:
    return RunFacts(str(run.path), str(run.manifest["kind"]), int(run.manifest["seed"] or 0), segment)


@contextmanager
def _documents_of_grid(grid: Grid, execution: Execution) -> Iterator[TopicCorpus]:
    """Yield the documents of a grid, whose inputs are those that it was made from, so that they need not be kept."""
    with read_topic_corpus(read_corpus(grid.documents), PreprocessOptions(), execution.n_threads()) as corpus:
        rows = corpus.rows.drop_columns([name for name in (FOLD, SEGMENT) if name in corpus.rows.column_names])
        yield replace(corpus, rows=rows, inputs=grid.inputs or corpus.inputs)


def _check_same(runs: Sequence[Run], topics: Sequence[RunTopics], corpus: TopicCorpus, match: str) -> None:
    """Refuse runs of other documents, unless topics are matched by words alone; tell of documents that few runs have."""
    present = np.column_stack([one.present for one in topics])
    base = runs[int(present.sum(axis=0).argmax())]
    hashes = corpus.rows.column(TEXT_HASH).to_pylist()
    for r, run in enumerate(runs):
        if not present[:, r].any() and match != "words":
            raise InputError(
                f"{run.path} and {base.path} have no document ID in common, so they are runs of different documents; "
                "`match=words` compares their topics by words"
            )
        if "model/training.parquet" in run.manifest["outputs"]:
            known = set(run.table("model/training", ["text_hash"]).column("text_hash").to_pylist())
            checked = [hashes[d] for d in np.flatnonzero(present[:, r])[:CHECKED] if hashes[d] is not None]
            if sum(one not in known for one in checked) > FEW * len(checked):
                raise InputError(
                    f"{run.path} and {base.path} have different texts with the same IDs, so they are runs of different documents"
                )
    fewest = int(present.sum(axis=0).min())
    if fewest < len(present):
        sizes = [run.table("documents", ["id"]).num_rows for run in runs]
        outside = max(size - int(n) for size, n in zip(sizes, present.sum(axis=0), strict=True))
        left_out = f"; up to {wording.count(outside)} of another run are left out" if outside else ""
        reporting.note(
            f"documents: the {wording.count(len(present))} of {base.path}; every run has at least {wording.count(fewest)} of "
            f"them{left_out}"
        )


def _columns(corpus: TopicCorpus, options: RobustOptions) -> dict[str, tuple[list[str], IntArray]]:
    """Return the values of the columns whose shares are listed, and that of each document."""
    names = options.columns()
    if names is None and options.by is None:
        usual = "label" in corpus.rows.column_names and not pa.types.is_nested(corpus.rows.schema.field("label").type)
        names = ("label",) if usual and pc.count(corpus.rows.column("label")).as_py() else ()
    names = tuple(dict.fromkeys([*(names or ()), *([] if options.by is None else [options.by])]))
    rows = corpus.rows.drop_columns([TEXT_HASH])
    return {name: group_codes(rows, name, "shares_by") for name in names}


def _robust_run(
    topics: Sequence[RunTopics],
    facts: Sequence[RunFacts],
    corpus: TopicCorpus,
    options: RobustOptions,
    terms: TermOptions,
    execution: Execution,
    seconds: dict[str, float],
    *,
    is_grid: bool,
) -> tuple[MixtureRun, Any]:
    """Return the run of the robust topics, and its fit. Raises InputError where no topic came back."""
    columns = _columns(corpus, options)
    with stopwatch(seconds, "clusters"):
        clusters = robust_clusters(
            topics, corpus.df, match=options.match, threshold=options.least_similarity(), min_runs=options.min_runs
        )
        if not clusters.n_topics:
            raise InputError(_none_came_back(clusters, len(topics), options))
        vocabulary = tuple(corpus.tokens.terms)
        fit, clusters = robust_fit(topics, clusters, vocabulary, np.diff(corpus.tokens.offsets), corpus.cf)
    K, M = fit.model.n_topics, clusters.n_topics
    with stopwatch(seconds, "tables"):
        shares, of_runs = share_tables(topics, clusters, columns, with_rest=K > M)
        tables = run_tables(topics, clusters, facts, vocabulary)
        tables |= {
            TERMS.name: terms_table(topics, clusters, vocabulary, terms.top_terms),
            SHARES.name: shares,
            RUN_SHARES.name: of_runs,
        }
    results: Mapping[str, Any] = {
        "runs": len(topics), "models": sorted({fact.model for fact in facts}), "topics_of_runs": len(clusters.run),
        "clusters": int(clusters.cluster.max()) + 1, "robust_topics": M,
        "not_robust": round(share_not_robust(topics, clusters), 6), "thresholds": [round(value, 6) for value in clusters.thresholds],
        "k_of_runs": [min(one.n_topics for one in topics), max(one.n_topics for one in topics)],
    }  # fmt: skip
    in_use = {name: value for name, value in in_force(options).items() if is_grid or name not in OF_FITS}
    additions = Additions(
        tables=tables, topic_columns=topic_columns(topics, clusters, facts, shares, K), results=results,
        config={"options": in_use},
    )  # fmt: skip
    run = mixture_run(KIND, corpus, fit, terms, execution, parameters=in_use, additions=additions, seconds=seconds)
    return run, fit


def _none_came_back(clusters: Clusters, n_runs: int, options: RobustOptions) -> str:
    pairs = np.unique(np.column_stack([clusters.cluster, clusters.run]), axis=0)
    most = int(np.bincount(pairs[:, 0]).max())
    return (
        f"no topic came back in {options.min_runs:.0%} of the {n_runs} runs; the most frequent one came back in {most}. "
        "Lower `min_runs` or `threshold`, or fit with other numbers of topics"
    )
