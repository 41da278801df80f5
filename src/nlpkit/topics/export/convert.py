"""Topic models of other programs in and out: states of MALLET, pyLDAvis, lists of topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.inputs import InputInfo
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.artifacts import footer_block
from nlpkit.platform.runs.atomic import MANIFEST, check_target
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.runs.runs import Run, open_run, sha256_of
from nlpkit.platform.runs.tables import FORMATS, save_table
from nlpkit.platform.types import CsrMatrix, IntArray, TokenTable
from nlpkit.topics.base.reference import as_reference
from nlpkit.topics.base.runs import LDA, Additions, TopicCorpus, mixture_run
from nlpkit.topics.bertopic.run import FittedBertopic
from nlpkit.topics.export.bertopic_files import (
    fit_of_model,
    is_saved_bertopic,
    read_saved_bertopic,
    refuse_pickle,
    run_of_model,
)
from nlpkit.topics.export.formats import (
    TopicList,
    topic_list_of_run,
    topic_list_table,
    write_lines,
    write_newick,
    write_octis,
)
from nlpkit.topics.export.mallet import MalletState, is_mallet_state, read_mallet_state, write_mallet_state
from nlpkit.topics.export.options import TARGETS, ConvertOptions
from nlpkit.topics.export.pyldavis import write_pyldavis
from nlpkit.topics.export.topic_files import read_topic_file
from nlpkit.topics.lda.fit import fit_state
from nlpkit.topics.lda.model import FittedLda, LdaReport
from nlpkit.topics.lda.options import DescriptionOptions
from nlpkit.topics.rolling.model import load_lda
from nlpkit.weights.dtm import count_terms, document_frequency

COMMAND = "convert"
_BY_SUFFIX = {".gz": "mallet", ".json": "octis", ".txt": "lines", ".nwk": "newick"}


@dataclass(frozen=True, slots=True)
class Conversion:
    """What was written: its kind, one of TARGETS, where, how many topics; the model, where a run was made."""

    to: str
    target: Path
    n_topics: int
    model: FittedLda | FittedBertopic | None = None


def convert(
    source: FittedLda | str | Path,
    target: str | Path,
    *,
    options: ConvertOptions | None = None,
    description: DescriptionOptions | None = None,
    read: ReadOptions | None = None,
    execution: Execution | None = None,
    force: bool = False,
    **settings: Any,
) -> Conversion:
    """Write a topic model for another program, or read a model of another program into a run or a list of topics.

    Args:
        source: a run directory or a fitted LDA model; a state of MALLET (--output-state); a folder that BERTopic saved as
            safetensors; a file of topics, as `read_topic_file` reads it.
        target: what the name says: .gz a state of MALLET; .json pyLDAvis of an LDA model, else the list of topics as OCTIS has
            it; .txt a line a topic; .nwk the layers of topics as a tree; the suffix of a table the table of its words; without
            suffix a run directory.
        options, description, read, execution: whole records of options; read: of `documents`, which may be a Corpus, too;
        force: replace what is there; settings: single options.

    Raises:
        UsageError: the source cannot become that. InputError: it cannot be read, or the run does not hold what is needed.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> nk.convert(run, "topics.txt", to="lines").n_topics
        2
    """
    options, description, read, execution = with_settings(
        (options, description, read, execution),
        settings,
        (ConvertOptions, DescriptionOptions, ReadOptions, Execution),
    )
    path = Path(target)
    to = _target_kind(source, path, options)
    check_target(path, force=force, directory=to == "run")
    if to == "run" and not isinstance(source, FittedLda) and _is_bertopic(Path(source)):
        return _bertopic_run(Path(source), path, options, read, execution, force=force)
    if options.documents is not None or options.encoder is not None:
        raise UsageError(
            "`documents` and `encoder` belong to a run that is made of a model saved by BERTopic; leave them out"
        )
    if to in ("run", "mallet", "pyldavis"):
        model = _lda_model(source, to, description, execution)
        if to == "run":
            model.save(path, force=force)
            return Conversion(to, path, model.model.n_topics, model)
        if to == "mallet":
            tokens, assignments = _assigned(model)
            ids = model.documents.column("id").to_pylist()
            write_mallet_state(
                path, ids, tokens, assignments, alpha=model.model.alpha, eta=model.model.eta, force=force
            )  # fmt: skip
        else:
            write_pyldavis(
                path, model.model.topic_term, _doc_topic(model), model.model.terms, alpha=model.model.alpha,
                eta=model.model.eta, force=force,
            )  # fmt: skip
        return Conversion(to, path, model.model.n_topics)
    if to == "newick":
        return Conversion(to, path, write_newick(path, _layers(source), force=force))
    topics = _topic_list(source, options, description, read, execution)
    if to == "octis":
        write_octis(path, topics, force=force)
    elif to == "lines":
        write_lines(path, topics, force=force)
    else:
        block = footer_block(
            "topic_terms", command=COMMAND, parameters={"source": _name(source)}, seed=None, inputs=[]
        )  # fmt: skip
        save_table(path, topic_list_table(topics), block, force=force)
    return Conversion(to, path, len(topics.topics))


def _is_bertopic(path: Path) -> bool:
    """Return whether a path is for BERTopic's reader: a folder without a manifest of nlpkit, or a pickle."""
    if path.is_dir():
        return is_saved_bertopic(path) or not _is_run(path)
    refuse_pickle(path)
    return False


def _bertopic_run(
    source: Path, target: Path, options: ConvertOptions, read: ReadOptions, execution: Execution, *, force: bool
) -> Conversion:
    """Write a model that BERTopic saved as a run."""
    saved = read_saved_bertopic(source)
    without = float((saved.topics < 0).mean()) if len(saved.topics) else 0.0
    reporting.note(
        f"model of BERTopic: {wording.counted(saved.n_topics, 'topic')}, {wording.counted(len(saved.topics), 'document')}, "
        f"{without:.1%} of them without a topic"
    )
    corpus = as_reference(options.documents, read)
    if corpus is None:
        run_of_model(saved, options.encoder, execution).write(target, force=force)
        return Conversion("run", target, saved.n_topics)
    fitted = fit_of_model(saved, corpus, options.encoder, execution)
    fitted.save(target, force=force)
    return Conversion("run", target, saved.n_topics, fitted)


def size_of(source: str | Path, options: ConvertOptions, read: ReadOptions) -> dict[str, Any]:
    """Return how big a model to be converted is, for a dry run."""
    path = Path(source)
    if _is_bertopic(path):
        saved = read_saved_bertopic(path)
        return {"documents": len(saved.topics), "n_topics": saved.n_topics}
    if not _is_run(path) and is_mallet_state(path):
        state = read_mallet_state(path)
        return {"documents": state.tokens.n_docs, "tokens": len(state.tokens.term_ids), "n_topics": len(state.alpha)}
    return {"n_topics": len(_topic_list(path, options, DescriptionOptions(), read, Execution()).topics)}


def _layers(source: FittedLda | str | Path) -> list[dict[str, Any]]:
    """Return the rows of layers.parquet of a run. Raises InputError where there are none."""
    path = Path(_name(source))
    if not (path / "layers.parquet").is_file():
        raise InputError(f"{path} has no layers of topics; runs of `fit_bertopic()` have them")
    rows: list[dict[str, Any]] = open_run(path).table("layers").to_pylist()
    return rows


def _target_kind(source: FittedLda | str | Path, target: Path, options: ConvertOptions) -> str:
    """Return what the target is to be, one of TARGETS but auto.

    Raises:
        UsageError: nothing that is known, or a run of a run.
    """
    if options.to not in TARGETS:
        raise unknown_value("to", options.to, TARGETS)
    suffix = target.suffix.lower()
    to = options.to
    if to == "auto":
        to = _BY_SUFFIX.get(suffix) or ("table" if suffix in FORMATS else "run")
        if to == "octis" and (isinstance(source, FittedLda) or _is_lda(Path(source))):
            to = "pyldavis"
    if to == "run" and (
        isinstance(source, FittedLda) or (_is_run(Path(source)) and not is_saved_bertopic(Path(source)))
    ):
        raise UsageError(
            f"{_name(source)} is already a run; name the output format, such as state.gz, lda.json or topics.csv",
            parameter="output",
        )
    return to


def _is_run(path: Path) -> bool:
    return (path / MANIFEST).is_file()


def _is_lda(path: Path) -> bool:
    return _is_run(path) and open_run(path, verify=False).manifest["kind"] == LDA


def _name(source: FittedLda | str | Path) -> str:
    return source.name if isinstance(source, FittedLda) else str(source)


def _lda_model(
    source: FittedLda | str | Path, to: str, description: DescriptionOptions, execution: Execution
) -> FittedLda:
    """Return a source as a model. Raises InputError where it is none."""
    if isinstance(source, FittedLda):
        return source
    path = Path(source)
    if path.is_dir():
        return load_lda(path, execution)
    if to == "run" or is_mallet_state(path):
        return read_mallet_model(path, description, execution)
    raise UsageError(
        f"{path} is neither an LDA run nor a MALLET state; a {to} file needs the topic of every token",
        parameter="to",
    )


def read_mallet_model(path: Path, description: DescriptionOptions, execution: Execution) -> FittedLda:
    """Return the model that a state of MALLET is; nothing is sampled.

    Raises:
        InputError: it is no state.
    """
    seconds: dict[str, float] = {}
    with stopwatch(seconds, "read"):
        state = read_mallet_state(path)
    tokens = state.tokens
    reporting.note(
        f"state of {wording.counted(len(state.alpha), 'topic')}: {wording.counted(len(tokens.term_ids), 'token')} in "
        f"{wording.counted(tokens.n_docs, 'document')}; alpha sums to {state.alpha.sum():.4g}, beta {state.beta:.4g} each"
    )
    fit = fit_state(tokens, state.assignments, state.alpha, state.beta)
    corpus = _corpus(state, path)
    parameters = {"from_mallet": str(path), "n_topics": len(state.alpha)}
    run = mixture_run(
        LDA,
        corpus,
        fit.mixture(),
        description,
        execution,
        command=COMMAND,
        parameters=parameters,
        additions=Additions(),
        seconds=seconds,
        with_assignments=description.save_assignments,
    )
    return FittedLda(run, fit.model, LdaReport(fit, tokens, seconds))


def _corpus(state: MalletState, path: Path) -> TopicCorpus:
    tokens = state.tokens
    return TopicCorpus(
        tokens=tokens,
        rows=pa.table({"id": pa.chunked_array([pa.array(state.ids, pa.string())])}),
        cf=np.bincount(tokens.term_ids, minlength=tokens.n_terms),
        df=document_frequency(count_terms(tokens)),
        token_info=None,
        inputs=[InputInfo(str(path), tokens.n_docs, sha256_of(path), None)],
        dropped=(),
        steps=[],
        texts=lambda rows: dict.fromkeys(rows, ""),
    )


def _assigned(model: FittedLda) -> tuple[TokenTable, IntArray]:
    """Return the tokens of the fit and their topics (N,).

    Raises:
        InputError: the run does not hold them.
    """
    if model.report is not None:
        return model.report.tokens, model.report.fit.assignments
    tables: Mapping[str, pa.Table] = model.tables()
    if "assignments" not in tables:
        raise InputError(
            f"{model.name} does not hold the topics of its tokens, which this conversion needs; fit it with `save_assignments`",
            parameter="save_assignments",
        )
    listed, terms = tables["assignments"], model.model.terms
    ids = tables["documents"].column("id").to_pylist()
    row, number = {name: d for d, name in enumerate(ids)}, {term: v for v, term in enumerate(terms)}
    document = _numbered(listed.column("id"), row)
    term_ids = _numbered(listed.column("term"), number).astype(np.int32)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(document, minlength=len(ids)))])
    assignments = listed.column("topic").to_numpy().astype(np.int32)
    return TokenTable(offsets, term_ids, terms), assignments


def _numbered(column: pa.ChunkedArray, numbers: Mapping[str, int]) -> np.ndarray:
    """Return the number of each value of a column."""
    codes = column.cast(pa.string()).combine_chunks().dictionary_encode()
    places = np.array([numbers[value] for value in codes.dictionary.to_pylist()], np.int64)
    return np.asarray(places[codes.indices.to_numpy()])


def _doc_topic(model: FittedLda) -> CsrMatrix:
    """Return n_dk (D, K).

    Raises:
        InputError: the run does not hold the topics of its tokens, or its counts are not those.
    """
    if model.report is not None:
        return model.report.fit.doc_topic
    assert isinstance(model.run, Run)
    parameters = model.run.manifest["parameters"]
    if parameters.get("estimate") == "mean" or parameters.get("term_weights", "one") != "one":
        raise InputError(
            f"{model.name} has averaged or weighted counts, and the counts of its documents are not stored; convert the model "
            "in the Python session that fits it, or fit it with `estimate=last` and `term_weights=one`"
        )
    tokens, assignments = _assigned(model)
    document = np.repeat(np.arange(tokens.n_docs), np.diff(tokens.offsets))
    shape = (tokens.n_docs, model.model.n_topics)
    counts = sparse.coo_array((np.ones(len(document), np.int32), (document, assignments)), shape=shape)
    return sparse.csr_array(counts)


def _topic_list(
    source: FittedLda | str | Path,
    options: ConvertOptions,
    description: DescriptionOptions,
    read: ReadOptions,
    execution: Execution,
) -> TopicList:
    """Return the topics of a model or a file, best words first."""
    if isinstance(source, FittedLda):
        return topic_list_of_run(source.tables())
    path = Path(source)
    if _is_bertopic(path):
        saved = read_saved_bertopic(path)
        words = tuple(tuple(word for word, _ in topic) for topic in saved.words)
        return TopicList(
            words, tuple(np.array([weight for _, weight in topic]) for topic in saved.words), saved.labels()
        )
    if _is_run(path):
        run = open_run(path, verify=execution.verify)
        return topic_list_of_run({name: run.table(name) for name in ("topics", "topic_terms")})
    if path.is_file() and is_mallet_state(path):
        return topic_list_of_run(read_mallet_model(path, description, execution).tables())
    file = read_topic_file(path, format=options.source_format, encoding=read.encoding)
    for note in file.notes:
        reporting.warn(f"{path}: {note}")
    return TopicList(file.topics, file.weights, file.names)
