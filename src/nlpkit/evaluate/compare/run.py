"""The comparison of topic models on one corpus: each is fitted from several seeds, and all are scored alike.

Parts, in this order:
- How alike the fits of one model and number of topics are.
- The comparison itself: each fit in a process of its own.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError, OutputExistsError, UsageError
from nlpkit.evaluate.compare.options import LABELLED, LLM_RATING, METRICS, CompareOptions
from nlpkit.evaluate.run import evaluate
from nlpkit.lm.ask import language_model
from nlpkit.lm.choices import rate_topics
from nlpkit.metrics.catalogue import METRICS as KNOWN
from nlpkit.metrics.labels.clustering import adjusted_mutual_information
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import as_corpus, read_corpus
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.llm_options import LlmOptions
from nlpkit.platform.models import MODELS
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.plain import shell_line, to_json
from nlpkit.platform.runs.artifacts import footer_block, read_table
from nlpkit.platform.runs.atomic import MANIFEST, atomic_file
from nlpkit.platform.runs.nlpkit_files import COMPARISON
from nlpkit.platform.runs.runs import open_run
from nlpkit.platform.runs.tables import save_table
from nlpkit.text.options import TextOptions
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.scores import stability
from nlpkit.topics.robust.grid import (
    DOCUMENTS,
    DROPPED,
    RUNS,
    made_fits,
    part_of,
    prepare_fits,
    read_inputs,
    unfinished_fits,
    with_folds,
    write_documents,
)
from nlpkit.topics.robust.options import GridOptions
from nlpkit.version import __version__

TOP_TERMS = 10


def add_stability(several: list[dict[str, Any]]) -> None:
    """Add to fits of one model and k how alike they are to those from other seeds; None for a fit alone."""
    numbers: dict[str, int] = {}
    tops = []
    for row in several:
        table, top = row["words"], np.full((row["topics"], TOP_TERMS), -1, np.int32)
        for k, rank, term in zip(*(table.column(name).to_pylist() for name in ("topic", "rank", "term")), strict=True):
            if 0 <= k < len(top):
                top[k, rank - 1] = numbers.setdefault(term, len(numbers))
        tops.append(top)
    alike: dict[int, list[tuple[float, float]]] = {}
    for a, b in combinations(range(len(several)), 2):
        words = stability([tops[a], tops[b]])
        main = _agreement(several[a]["main"], several[b]["main"])
        alike.setdefault(a, []).append((words, main))
        alike.setdefault(b, []).append((words, main))
    for n, row in enumerate(several):
        means = np.mean(alike[n], axis=0) if n in alike else (None, None)
        row["stability_words"], row["stability_documents"] = (None if v is None else float(v) for v in means)


def _agreement(a: pa.Table, b: pa.Table) -> float:
    """Return the AMI of the topics of the documents that two fits share."""
    place = pc.index_in(a.column("id"), value_set=b.column("id").combine_chunks())
    shared = pc.is_valid(place)
    topics = b.column("topic").take(place.filter(shared))
    return adjusted_mutual_information(a.column("topic").filter(shared).to_numpy(), topics.to_numpy())


# ------------------------------------------------------------------------------------------------------------------------
# Topic models compared on one corpus: each fitted from several seeds in a process of its own, all scored alike.

FOLD = "compare_fold"
SCORES = "scores"  # a file for each fit, so that several processes can write them
FITS, SUMMARY = "fits.parquet", "summary.parquet"
WRITTEN = (COMPARISON, DOCUMENTS, SCORES, "scores.jsonl", FITS, SUMMARY, RUNS, DROPPED)  # scores.jsonl: of 0.1.0
KEYS = ("model", "k", "seed")
RUN_NAME = re.compile(r"(.+?)-(?:k(\d+)-)?s(\d+)")
OWN = ("stability_words", "stability_documents", "seconds", "memory_mb")


@dataclass(frozen=True, slots=True)
class ModelComparison(Tabular):
    """Topic models that were compared.

    path: the directory with the runs. fits: a row for each fit: model, k (null for a model that finds it), seed, topics, the scores,
    stability_words (mean overlap of the ten first words of matched topics with the other fits of the same k), stability_documents (mean
    AMI with them over the documents that both have seen), seconds, memory_mb, run. summary: a row for each model and k: the number of
    fits, means, and standard deviations as NAME_sd (null for the stability of two fits, which are one pair).
    """

    _shown = "summary"

    path: Path
    fits: pa.Table
    summary: pa.Table
    scores: tuple[str, ...]

    def best(self) -> dict[str, tuple[str, int | None]]:
        """Return for each score the model and k of the best mean; nothing for a score that no model has."""
        best = {}
        for name in (*self.scores, "stability_words", "stability_documents"):
            known = [row for row in self.summary.to_pylist() if row[name] is not None]
            if known:
                sign = -1 if name in KNOWN and KNOWN[name].better == "low" else 1
                row = max(known, key=lambda row: sign * row[name])
                best[name] = (row["model"], row["k"])
        return best


@dataclass(frozen=True, slots=True)
class _Job:
    """One fit."""

    model: str
    k: int | None
    seed: int

    def __str__(self) -> str:
        """Return the name of its run."""
        return f"{self.model}-{'' if self.k is None else f'k{self.k}-'}s{self.seed}"


def compare_models(
    data: Any,
    target: str | Path,
    *,
    options: CompareOptions | None = None,
    tokens: TextOptions | None = None,
    encoder: EncoderOptions | str | None = None,
    judge: LlmOptions | None = None,
    sharing: GridOptions | None = None,
    execution: Execution | None = None,
    force: bool = False,
    **settings: Any,
) -> ModelComparison:
    """Fit topic models with several numbers of topics and seeds to the same documents, and score all of them alike.

    Words (and embeddings, where a model needs them) are made once, and the documents are dealt into folds at random. With each seed
    another fold is held out. So the seed and a part of the documents change from fit to fit, and models that do not depend on a
    seed have an honest stability, too. Each model is fitted by its command in a process of its own, so that its time and peak memory
    are its own; the runs stay in the directory, and `resume` goes on with them. Means are over seeds. A language model that is named
    rates how related the words of each topic are (1 to 3); their mean is the score llm_rating.

    Args:
        data: a Corpus, texts or a data frame; a column label, where there is one, is what topics are compared with.
        target: the directory to write: documents.parquet, runs/, fits.parquet, summary.parquet.
        options, tokens, execution: whole records of options. encoder: of bertopic, ctm and fastopic. judge: who rates topics.
        sharing: how many processes share the fits and their scores.
        force: replace a comparison that is there.
        settings: single options, such as models="lda,nmf", k="10:30:10", seeds=5, min_df=5.

    Raises:
        OutputExistsError: the directory is there, without `resume` or `force`.
        UsageError: options that do not go together; InputError: documents that cannot be used, or fits of another comparison.
        MissingError: Ray is not installed, or its cluster not there.
    """
    records = (options, tokens, EncoderOptions.from_value(encoder), judge, sharing, execution)
    options, tokens, embedder, judge, sharing, execution = with_settings(
        records, settings, (CompareOptions, TextOptions, EncoderOptions, LlmOptions, GridOptions, Execution)
    )
    target = Path(target)
    with _prepared(data, target, options, tokens, embedder, execution, force=force) as identity:
        rows = _rows(target, options, embedder, judge, sharing, execution)
    comparison = _compared(target, rows)
    block = footer_block("comparison", command="compare", parameters=identity, seed=execution.seed, inputs=[])
    save_table(target / FITS, comparison.fits, block, force=True)
    save_table(target / SUMMARY, comparison.summary, block, force=True)
    return comparison


def compare_part(
    data: Any,
    target: Path,
    shard: str,
    options: CompareOptions,
    tokens: TextOptions,
    encoder: EncoderOptions,
    sharing: GridOptions,
    execution: Execution,
) -> int:
    """Make one part of the fits and their scores, while other processes make others; return their number.

    Raises:
        UsageError: see `part_of`; and what `compare_models` raises.
    """
    fits = part_of([_Job(*fit) for fit in options.fits(execution.seed)], shard)
    with _prepared(data, target, options, tokens, encoder, execution, shared=True):
        deque(_made(fits, target, options, encoder, sharing, execution), maxlen=0)
    return len(fits)


@contextmanager
def _prepared(
    data: Any,
    target: Path,
    options: CompareOptions,
    tokens: TextOptions,
    encoder: EncoderOptions,
    execution: Execution,
    *,
    force: bool = False,
    shared: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield what fits of a comparison are made with, as soon as its directory and documents are there."""
    identity = options.identity() | {"seed": execution.seed, "tokens": asdict(tokens), "encoder": encoder.encoder}
    identity |= {"documents": [source.sha256 for source in read_inputs(as_corpus(data))]}
    identity = json.loads(to_json({"nlpkit_version": __version__, **identity}))
    prepare_fits(
        target, identity, COMPARISON, WRITTEN, resume=options.resume, force=force, what="a comparison", shared=shared
    )
    with unfinished_fits(target, "comparison", shared=shared):
        columns = partial(_with_folds, options, execution.seed)
        write_documents(as_corpus(data), target / DOCUMENTS, options.names(), tokens, encoder, execution, columns)
        yield identity


def load_comparison(path: Path) -> ModelComparison:
    """Return a comparison that was written.

    Raises:
        InputError, SchemaError: it is not finished, or damaged.
    """
    if not (path / SUMMARY).is_file():
        raise InputError(f"the comparison {path} is not finished; continue it with `resume`")
    fits, summary = (read_table(path / name, ["comparison"]) for name in (FITS, SUMMARY))
    scores = [name for name in fits.column_names if name not in (*KEYS, "topics", *OWN, "run")]
    return ModelComparison(path, fits, summary, tuple(scores))


def _rows(
    target: Path,
    options: CompareOptions,
    encoder: EncoderOptions,
    judge: LlmOptions,
    sharing: GridOptions,
    execution: Execution,
) -> list[dict[str, Any]]:
    """Make the fits and scores that are not there yet, and return all of them, also those of earlier calls."""
    jobs = _with_earlier(target, [_Job(*fit) for fit in options.fits(execution.seed)])
    rows, rating = [], f"{judge.llm} {judge.llm_model}"
    for job in _made(jobs, target, options, encoder, sharing, execution):
        run = target / RUNS / str(job)
        kept = _read_scores(run)
        scores = kept[_key(options)]
        if judge.llm:
            if rating not in kept:
                kept[rating] = {LLM_RATING: _llm_rating(run, judge, execution)}
                _write_scores(run, kept)
            scores |= kept[rating]
        rows.append({**asdict(job), **_facts(run, target), "scores": scores})
    return rows


def _made(
    jobs: Sequence[_Job],
    target: Path,
    options: CompareOptions,
    encoder: EncoderOptions,
    sharing: GridOptions,
    execution: Execution,
) -> Iterator[_Job]:
    """Yield fits when they and their scores are there."""
    each = sharing.of_each(execution)
    make = partial(_make, documents=target / DOCUMENTS, options=options, encoder=encoder, execution=each)
    return made_fits(jobs, target / RUNS, make, partial(_is_made, target, options), sharing, each)


def _is_made(target: Path, options: CompareOptions, job: _Job) -> bool:
    run = target / RUNS / str(job)
    return (run / MANIFEST).is_file() and _key(options) in _read_scores(run)


def _make(
    job: _Job, name: str, *, documents: Path, options: CompareOptions, encoder: EncoderOptions, execution: Execution
) -> None:
    """Make a run and its scores, where they are not there. Raises InputError where the fit failed."""
    run, fold = Path(name), (job.seed - execution.seed) % options.folds
    if not (run / MANIFEST).is_file():
        _fit(job, documents, run, f"{FOLD} != {fold}" if options.held_out else "", encoder, execution)
    kept, key = _read_scores(run), _key(options)
    if key not in kept:
        scores = _score(run, documents, options.scores(), fold if options.held_out else None, execution)
        _write_scores(run, kept | {key: scores})


def _with_earlier(target: Path, asked: Sequence[_Job]) -> list[_Job]:
    """Return the fits that were asked for and those that are there, by model, number of topics and seed."""
    names = sorted(path.parent.name for path in (target / RUNS).glob(f"*/{MANIFEST}"))
    earlier = [_Job(m[1], int(m[2]) if m[2] else None, int(m[3])) for m in map(RUN_NAME.fullmatch, names) if m]
    models = list(dict.fromkeys(job.model for job in (*asked, *earlier)))
    return sorted({*asked, *earlier}, key=lambda job: (models.index(job.model), job.k or 0, job.seed))


def _with_folds(options: CompareOptions, seed: int, table: pa.Table) -> pa.Table:
    """Return documents with the fold of each. Raises InputError where there is one document, of which none can be held out."""
    if options.held_out and table.num_rows < 2:
        raise InputError(
            f"`held_out={options.held_out:g}` holds out the only document; give more documents, or hold out none"
        )
    return with_folds(table, FOLD, options.folds, stream_key(seed, "compare"), "this comparison")


def _fit(job: _Job, documents: Path, run: Path, kept: str, encoder: EncoderOptions, execution: Execution) -> None:
    """Fit a model by its command, in a process of its own.

    Raises:
        InputError: it failed, with what it said.
    """
    line = [job.model, documents, *(() if job.k is None else ("--k", job.k)), "--seed", job.seed, "--threads", execution.n_threads(),
            *(["--keep-if", kept] if kept else []), "-o", run, "--no-progress", "-q"]  # fmt: skip
    if MODELS[job.model].embeddings and encoder.encoder is not None:
        line += ["--encoder", encoder.encoder]
    words = [str(word) for word in line]
    child = subprocess.run([sys.executable, "-m", "nlpkit", *words], capture_output=True, encoding="utf-8", check=False)
    if child.returncode and not (run / MANIFEST).is_file():  # else another process of this comparison was faster
        lines = child.stderr.strip().splitlines() or [f"exit code {child.returncode}"]
        raise InputError(f"the fit {job} failed: {lines[-1].removeprefix('error: ')} ({shell_line('nlpkit', *words)})")


def _score(
    run: Path, documents: Path, names: Sequence[str] | None, fold: int | None, execution: Execution
) -> dict[str, float | None]:
    """Return the scores of a run; None for one that such a model has not."""
    opened = open_run(run, verify=False)
    mixed = opened.is_mixture
    if names is None:
        labelled = "label" in opened.table("documents").column_names
        names = (*METRICS, *(LABELLED if labelled else ()), *(["perplexity"] if mixed and fold is not None else []))
    scores: dict[str, float | None] = dict.fromkeys(names)
    of_fit = [name for name in names if name != "perplexity"]
    with reporting.quiet():
        if of_fit:
            result = evaluate(run, of_fit, ci=0, execution=execution).targets[0]
            scores |= {name: score.value for name, score in result.scores.items() if name in scores}
        if "perplexity" in scores and mixed and fold is not None:
            heldout = read_corpus(documents, options=ReadOptions(keep_if=f"{FOLD} == {fold}"))
            try:
                scores["perplexity"] = evaluate(run, "perplexity", heldout=heldout, ci=0, execution=execution)[
                    "perplexity"
                ].value
            except InputError as error:
                reporting.warn(f"{run.name} has no perplexity: {error}")
    return scores


def _llm_rating(run: Path, judge: LlmOptions, execution: Execution) -> float | None:
    """Return the mean rating of the topics of a run by a language model, None where no answer can be used."""
    model = language_model(judge, execution.seed)
    topics = open_run(run, verify=False).table("topics", ["top_terms"]).column("top_terms").to_pylist()
    judgements = rate_topics(model, topics, attempts=judge.attempts)
    rated = [one.choice + 1 for one in judgements if not one.problem]
    if len(rated) < len(judgements):
        problem = next(one.problem for one in judgements if one.problem)
        reporting.warn(
            f"{run.name}: {wording.counted(len(judgements) - len(rated), 'topic has', 'topics have')} no rating by {judge.llm_model}; "
            f"the first answer: {problem}"
        )
    return float(np.mean(rated)) if rated else None


def _key(options: CompareOptions) -> str:
    """Return under which name the scores that are asked for are kept."""
    return " ".join(options.scores() or ("usual",))


def _scores_path(run: Path) -> Path:
    return run.parent.parent / SCORES / f"{run.name}.json"


def _read_scores(run: Path) -> dict[str, dict[str, float | None]]:
    path = _scores_path(run)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _write_scores(run: Path, scores: dict[str, dict[str, float | None]]) -> None:
    path = _scores_path(run)
    path.parent.mkdir(exist_ok=True)
    with atomic_file(path, force=True) as part:
        part.write_text(to_json(scores) + "\n", encoding="utf-8", newline="\n")


def _facts(run: Path, target: Path) -> dict[str, Any]:
    """Return the number of topics, the time without reading, the memory and the place of a run; its words and topics of documents."""
    opened = open_run(run, verify=False)
    manifest = opened.manifest
    seconds = sum(value for name, value in manifest["seconds"].items() if name != "read")
    terms = opened.table("topic_terms", ["topic", "rank", "term"])
    return {
        "topics": int(manifest["results"]["n_topics"]),
        "seconds": round(float(seconds), 3),
        "memory_mb": int(manifest["peak_memory_mb"]),
        "run": run.relative_to(target).as_posix(),
        "words": terms.filter(pc.less_equal(terms.column("rank"), TOP_TERMS)),
        "main": opened.table("documents", ["id", "topic"]),
    }


def _compared(target: Path, rows: list[dict[str, Any]]) -> ModelComparison:
    """Return the table of the fits, and that of means over seeds."""
    scores = tuple(dict.fromkeys(name for row in rows for name in row["scores"]))
    groups: dict[tuple[str, int | None], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["model"], row["k"]), []).append(row)
    for several in groups.values():
        add_stability(several)
    fits = [
        {**{name: row[name] for name in (*KEYS, "topics")}, **{name: row["scores"].get(name) for name in scores},
         **{name: row[name] for name in (*OWN, "run")}}
        for row in rows
    ]  # fmt: skip
    summary = []
    for (model, k), several in groups.items():
        line: dict[str, Any] = {"model": model, "k": k, "fits": len(several)}
        for name in ("topics", *scores, *OWN):
            values = [v for row in several if (v := row["scores"].get(name, row.get(name))) is not None]
            line[name] = float(np.mean(values)) if values else None
            several_values = len(values) > (2 if name in OWN[:2] else 1)  # two fits are one pair, of one stability
            line[f"{name}_sd"] = float(np.std(values, ddof=1)) if several_values else None
        summary.append(line)
    return ModelComparison(target, _table(fits), _table(summary), scores)


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    """Return rows as a table, whose k is an integer also where all models found it."""
    table = pa.Table.from_pylist(rows)
    column = table.column_names.index("k")
    return table.set_column(column, "k", table.column("k").cast(pa.int64()))


def check_comparison(target: Path, options: CompareOptions, *, force: bool, shared: bool = False) -> dict[str, Any]:
    """Return how many fits there will be, without making any. Raises OutputExistsError, as `compare_models` does."""
    if target.exists() and not options.resume and not force and not shared:
        raise OutputExistsError(f"{target} already exists; continue its fits with `resume`, or replace it with `force`")
    n = len(options.fits(0))
    if options.resume and not (target / COMPARISON).is_file():
        raise UsageError(f"`resume`: there is no comparison {target} to continue", parameter="resume")
    return {"fits": n, "what": f"{wording.counted(n, 'fit')} of {', '.join(options.names())}"}
