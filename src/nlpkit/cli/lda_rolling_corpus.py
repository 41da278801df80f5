"""Documents for a rolling model: with the day of each, and behind those of a run that they are added to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import wording
from nlpkit.cli.lda_work import Corpus, counted_words, with_words
from nlpkit.errors import ColumnError, InputError, missing_column
from nlpkit.io.artifacts import read_footer
from nlpkit.io.corpora import DocumentStream, DroppedRow, InputInfo, open_documents
from nlpkit.io.dates import date_format_of, days_of
from nlpkit.io.footers import step_parameters
from nlpkit.io.lda_tables import with_text_hashes
from nlpkit.io.rolling_tables import plain_columns, read_state, read_texts
from nlpkit.io.run_reading import numbers
from nlpkit.io.runs import Run, open_run
from nlpkit.io.topic_tables import TOPIC_COLUMNS
from nlpkit.text.options import PreprocessOptions
from nlpkit.topics.lda.changes import ChangeOptions
from nlpkit.topics.lda.chunks import Days
from nlpkit.topics.lda.growth import take
from nlpkit.topics.lda.rolling_plan import RollingOptions, RollingState
from nlpkit.types import IntArray, LongArray, TokenTable
from nlpkit.weighting.dtm import count_terms, document_frequency
from nlpkit.workflows.corpus import steps
from nlpkit.workflows.tokens import cut_as_model, found_parameters, token_parameters

if TYPE_CHECKING:
    from nlpkit.cli.options import RunFlags
    from nlpkit.io.read_options import ReadOptions

CHUNK = "chunk"  # column of documents.parquet
OWN_COLUMNS = (*TOPIC_COLUMNS, CHUNK)
STAGE = "date"


@dataclass(frozen=True, slots=True)
class Dated:
    """Documents with all of their words, in the order given, and the day of each (D,)."""

    corpus: Corpus
    days: Days

    @property
    def ids(self) -> list[str]:
        """Ids of the documents (D,)."""
        return list(self.corpus.ids.to_pylist())


@dataclass(frozen=True, slots=True)
class Base:
    """A rolling run that documents are added to. rows: id and the user's columns of its documents, in their order."""

    run: Run
    state: RollingState
    changes: ChangeOptions
    rows: pa.Table
    chain_topics: list[int]
    texts: Mapping[int, str]
    dropped: list[DroppedRow]
    inputs: list[InputInfo]
    steps: list[dict[str, Any]]
    token_info: dict[str, Any] | None


def read_dated(
    stack: ExitStack,
    inputs: list[str],
    target: Path,
    options_for: Callable[[DocumentStream], PreprocessOptions | None],
    read: ReadOptions,
    run: RunFlags,
) -> Dated:
    """Read documents, their tokens and their days; those without a day that can be read are listed as dropped.

    Args:
        options_for: returns how tokens are made, None where those of the documents are taken.

    Raises:
        ColumnError: there is no column of dates, or it holds something else.
        InputError: no document has a date, or no words are left.
    """
    stream = stack.enter_context(open_documents(inputs, read))
    names = stream.schema.names
    if "date" not in names:
        raise missing_column(", ".join(inputs), read.date_col, names, "date_col")
    asked = options_for(stream)
    options = asked or PreprocessOptions()
    words = counted_words(stack, stream, options, target, inputs, run, OWN_COLUMNS, own_tokens=asked is None)
    everything = words.rows(["text"])
    days, lost = days_of(everything.column("date"), read.date_col, format=date_format_of(stream.schema, "date"))
    kept = np.flatnonzero(~np.isnat(days))
    if not len(kept):
        raise _no_dates(list(lost.values()), read.date_col, inputs)
    tokens = with_words(take(words.tokens(), kept))
    ids = everything.column("id")
    gone = [DroppedRow(ids[row].as_py(), STAGE, reason) for row, reason in lost.items()]
    earlier = steps(stream)
    info = None
    if words.report is not None:
        # without the shares of languages: those of an update would be of other documents than those of one run
        codes = [[share.code] for share in words.report.languages]
        info = {**token_parameters(options), **found_parameters(words.report), "languages": codes}

    def texts(rows: Sequence[int]) -> dict[int, str]:
        found = words.values("text", kept[list(rows)].tolist())
        return {row: found[int(kept[row])] or "" for row in rows}

    corpus = Corpus(
        tokens=tokens,
        rows=everything.take(pa.array(kept)),
        cf=words.cf,
        df=words.df,
        token_info=info or step_parameters(earlier, "preprocess"),
        inputs=stream.inputs,
        dropped=[*stream.dropped, *gone],
        steps=earlier,
        texts=texts,
    )
    return Dated(corpus, days[kept])


def _no_dates(reasons: list[str], name: str, inputs: Sequence[str]) -> InputError:
    unread = [reason for reason in reasons if "missing" not in reason]
    why = f"the first: {unread[0]}" if unread else "all are missing"
    return InputError(
        f"no date can be read in column '{name}' of the {wording.counted(len(reasons), 'document')} of {', '.join(inputs)} ({why}); "
        "name another column with --date-col"
    )


def open_base(path: Path, *, verify: bool) -> Base:
    """Read a rolling run.

    Raises:
        InputError, SchemaError: it is none, or it is damaged.
    """
    run = open_run(path, ["lda-gibbs"], verify=verify)
    config = run.model_config("tokens")
    if not config.get("rolling"):
        raise InputError(
            f"{path} was fitted to all documents at once, so that none can be added; make a rolling run with --rolling month"
        )
    with run.intact():
        options = RollingOptions(**config["rolling_options"])
        changes = ChangeOptions(**config["change_options"])
        inputs = [InputInfo(**one) for one in run.manifest["inputs"]]
    dropped = run.table("dropped").to_pylist() if (path / "dropped.parquet").exists() else []
    documents, topics = run.table("documents"), run.table("topics", ["chain_topic"])
    with run.intact():
        chain = numbers(topics, "chain_topic").tolist()
        if sorted(chain) != list(range(options.n_topics)):
            raise ValueError("topics of another number than the chain's")
        return Base(
            run,
            read_state(run, options),
            changes,
            with_text_hashes(documents.select([n for n in documents.column_names if n not in OWN_COLUMNS]), run),
            chain,
            read_texts(run),
            [DroppedRow(**row) for row in dropped],
            inputs,
            (read_footer(path / "documents.parquet") or {}).get("steps", []),
            config["tokens"],
        )


def cut_as(base: Base, stream: DocumentStream, inputs: Sequence[str]) -> PreprocessOptions | None:
    """Return options that cut new texts as those of a run were cut, all of their words kept; None where their tokens are taken.

    Raises:
        InputError: see `cut_as_model`.
    """
    from_texts = step_parameters(base.steps, "preprocess") is None  # then the words of the run are all there
    return cut_as_model(stream, base.token_info, f"the run {base.run.path}", bounds=from_texts)


def added(base: Base, new: Dated) -> Corpus:
    """Return the documents of a run followed by new ones: what one reading of all would have given, but for the tokens.

    Raises:
        ColumnError: a column holds values of another type than before.
    """
    n = base.rows.num_rows
    dropped = [*base.dropped, *new.corpus.dropped]
    steps = [*base.steps, *new.corpus.steps]

    def texts(rows: Sequence[int]) -> dict[int, str]:
        later = new.corpus.texts([row - n for row in rows if row >= n])
        return {row: base.texts[row] if row < n else later[row - n] for row in rows}

    return replace(
        new.corpus,
        rows=_joined(base.rows, new.corpus.rows),
        token_info=base.token_info if not steps else step_parameters(steps, "preprocess"),
        inputs=[*base.inputs, *new.corpus.inputs],
        dropped=sorted(dropped, key=lambda row: row.stage == STAGE),  # as of one reading: its own drops come first
        steps=steps,
        texts=texts,
    )


def _joined(old: pa.Table, new: pa.Table) -> pa.Table:
    for name in old.column_names:
        if name in new.column_names:
            kinds = [old.schema.field(name).type, new.schema.field(name).type]
            try:
                pa.unify_schemas([pa.schema([(name, kind)]) for kind in kinds], promote_options="permissive")
            except (pa.ArrowTypeError, pa.ArrowInvalid):
                raise ColumnError(
                    f"column '{name}' is {kinds[0]} in the run but {kinds[1]} in the new documents; say --types {name}=string, or "
                    "as it was"
                ) from None
    return pa.concat_tables([plain_columns(old), plain_columns(new)], promote_options="permissive")


def modelled(corpus: Corpus, state: RollingState, places: LongArray) -> tuple[Corpus, IntArray]:
    """Return the corpus with the words that are modelled and a column of chunks, and the topic of each word (N,).

    Args:
        places: (D,) row in the state of each document.
    """
    tokens = take(state.tokens, places)
    z = take(TokenTable(state.offsets, state.z, state.terms), places).term_ids
    rows = plain_columns(corpus.rows).combine_chunks()
    columns = {name: rows.column(name) for name in rows.column_names}
    own = {"id": columns.pop("id"), CHUNK: pa.array(state.chunk_of()[places], pa.int32())}
    return replace(
        corpus,
        tokens=tokens,
        rows=pa.table(own | columns),
        cf=np.bincount(tokens.term_ids, minlength=tokens.n_terms),
        df=document_frequency(count_terms(tokens)),
    ), z
