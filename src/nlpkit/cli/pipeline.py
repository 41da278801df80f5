"""Steps that several commands make when a column is missing: tokens, embeddings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.errors import ColumnError, InputError, UsageError
from nlpkit.io.documents import add_column, token_table, tokens_column, tokens_field
from nlpkit.io.footers import step_parameters, steps_of
from nlpkit.io.spool import spool_beside
from nlpkit.parallel import ahead
from nlpkit.text.preprocess import Finished, PreprocessOptions, Preprocessor, PreprocessReport
from nlpkit.text.vocab import EncodedBatch
from nlpkit.types import TokenTable

if TYPE_CHECKING:
    from nlpkit.io.corpora import DocumentStream, DroppedRow
    from nlpkit.text.phrases import PhraseTable

CODES = "\0codes"  # no column of a user is called like that


@contextmanager
def saying_what_is_saved(what: str, path: Path) -> Iterator[None]:
    """Let Ctrl-C and what ends a process like it say where the unfinished work lies, if it was saved, and how it goes on."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        if path.exists():
            stopped.args = (f"the {what} is saved in {path}: the same command with --resume goes on with it",)
        raise


class Documents(Protocol):
    """What a stream of documents is to the steps here."""

    schema: pa.Schema

    @property
    def dropped(self) -> Sequence[DroppedRow]:
        """Rows that went, so far."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the documents in order."""


class Drops(Protocol):
    """What knows which rows went."""

    @property
    def dropped(self) -> Sequence[DroppedRow]:
        """Rows that went."""


def no_words(n_documents: int, so: str = "") -> InputError:
    """Return the error for documents of which no token is left, with what keeps more. so: what that means, from a comma on."""
    return InputError(
        f"no words are left in {wording.counted(n_documents, 'document')}{so}; try --stop-words none, --min-df 1, --tokenizer "
        "whitespace (numbers and single letters count), or another --text-col"
    )


def no_documents(stream: Documents, inputs: Sequence[str]) -> InputError:
    """Return the error for inputs without a row that can be used; says why the rows there were not."""
    where = ", ".join("stdin" if name == "-" else name for name in inputs)
    if not stream.dropped:
        return InputError(f"no documents: {where} has no rows")
    reasons = Counter(row.reason for row in stream.dropped).most_common(2)
    if any(row.stage != "read" for row in stream.dropped):
        return InputError(
            f"no documents are left of {wording.counted(len(stream.dropped), 'row')} of {where} "
            f"({'; '.join(f'{count:,} × {reason}' for reason, count in reasons)})"
        )
    return InputError(
        f"no documents: {wording.counted(len(stream.dropped), 'row')} of {where} cannot be used "
        f"({'; '.join(f'{count:,} × {reason}' for reason, count in reasons)}); is the text in another column? See --text-col"
    )


def warn_dropped(stream: Drops, where: Path | None) -> None:
    """Count the rows that could not be used on stderr, with the first reason and the list of all."""
    if stream.dropped:
        first = stream.dropped[0]
        see = f"; all are listed in {where}" if where else ""
        reporting.warn(
            f"{wording.counted(len(stream.dropped), 'row')} could not be used, such as {first.id}: {first.reason}{see}"
        )


def steps(stream: DocumentStream) -> list[dict[str, Any]]:
    """Return what earlier commands did to the documents of a stream."""
    return steps_of(stream.blocks)


def cut_as_model(
    stream: DocumentStream,
    settings: Mapping[str, Any] | None,
    model: str,
    inputs: Sequence[str],
    *,
    phrases: PhraseTable | None = None,
    bounds: bool = True,
) -> PreprocessOptions | None:
    """Return how the documents of a stream are cut for a model, None where their own tokens are taken.

    Tokens that were made as the model's were are taken. Others are cut again from the texts, which is said; the table keeps its
    column.

    Args:
        stream: the documents.
        settings: how the model's tokens were made, None where it does not say.
        model: what the model is called in messages.
        inputs: names of the documents.
        phrases: phrases that the model itself has, which count as given.
        bounds: whether tokens of words that are frequent enough among the new documents alone are other tokens, too.

    Raises:
        InputError: texts that cannot be cut as the model's were; tokens that differ, and no texts to cut again.
    """
    from nlpkit.text.token_settings import differences, learned_bounds, options_from

    where = ", ".join("stdin" if name == "-" else name for name in inputs)

    def options() -> PreprocessOptions:
        given = settings
        if phrases is not None and settings is not None:
            given = {**settings, "phrases": None, "phrase_table": None}
        return replace(options_from(given, model), phrase_table=phrases)

    if "tokens" not in stream.schema.names:
        return options()
    if settings is None:
        return None
    made = [step_parameters(steps_of([block]), "preprocess") for block in stream.blocks]
    known = [one for one in made if one is not None]
    apart = list(dict.fromkeys(d for one in known for d in differences(settings, one)))
    pruned = sorted({name for one in known for name in learned_bounds(one)} - {"--phrases"}) if bounds else []
    if len(known) == len(made) and not apart and not pruned:
        return None
    why = "; ".join(apart) or (f"left out by {', '.join(pruned)}" if pruned else "it does not say how they were made")
    try:
        again = options()
    except InputError as error:
        if not apart:  # nothing speaks against them
            return None
        raise InputError(
            f"the tokens of {where} are not made as those of {model} ({why}), and {str(error).partition(';')[0]}: make them in "
            "the same way with nlpkit preprocess"
        ) from None
    if not stream.has_texts():
        if not apart:
            reporting.warn(
                f"the tokens of {where} may not be those of {model} ({why}), and there are no texts to cut again"
            )
            return None
        raise InputError(
            f"the tokens of {where} are not made as those of {model} ({why}), and there are no texts to cut again; make them in "
            "the same way with nlpkit preprocess"
        )
    reporting.note(f"the tokens of {where} are not made as those of {model} ({why}): its texts are cut again")
    return again


ENCODER_KEYS = ("encoder", "fingerprint", "dim", "max_tokens", "precision", "normalize")


def embedded_by(stream: DocumentStream) -> dict[str, Any] | None:
    """Return the encoder that made the column 'embedding' of a stream, None when an input does not say.

    Raises:
        ColumnError: the inputs were embedded by different models, whose vectors have nothing to do with each other.
    """
    made = [step_parameters(steps_of([block]), "sbert-embed") for block in stream.blocks]
    known = {m.get("fingerprint"): m for m in made if m}
    if len(known) > 1:
        names = ", ".join(sorted({str(m.get("encoder")) for m in known.values()}))
        raise ColumnError(f"the inputs were embedded by different models ({names}); embed them with one")
    if not known or None in made:
        return None
    found = next(iter(known.values()))
    return {k: found[k] for k in ENCODER_KEYS if k in found}


@contextmanager
def tokenized(
    stream: Documents, options: PreprocessOptions, target: str, inputs: Sequence[str], *, threads: int = 1
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch], Finished]]:
    """Yield schema, batches and vocabulary of a document stream with its tokens; two passes over a spool beside the target."""
    work = Preprocessor(options)
    with spool_beside(target) as spool:
        with reporting.progress("tokens", None) as update:
            rows, schema = 0, stream.schema
            for batch, encoded in work.encode_all(ahead(stream), threads=threads):
                schema = batch.schema
                spool.write(batch.append_column(CODES, codes_array(encoded)))
                rows += batch.num_rows
                update(rows)
        if not rows:
            raise no_documents(stream, inputs)
        found = work.finish(lambda: (codes_of(batch.column(CODES)) for batch in spool))
        term_array = pa.array(found.terms, pa.string())
        schema = _with_tokens(schema, options.vocab)

        def finished() -> Iterator[pa.RecordBatch]:
            for batch in spool:
                kept = found.apply(codes_of(batch.column(CODES)))
                column = tokens_column(kept.offsets, kept.term_ids, term_array)
                plain = batch.select([n for n in batch.schema.names if n != CODES])
                yield add_column(plain, "tokens", column)

        yield schema, ahead(finished(), join=True), found


def codes_array(encoded: EncodedBatch) -> pa.ListArray:
    """Return term ids as a column of a spool; `codes_of` reads it."""
    return pa.ListArray.from_arrays(pa.array(encoded.offsets, pa.int32()), pa.array(encoded.term_ids))


def codes_of(column: pa.ListArray) -> EncodedBatch:
    """Return the term ids of a spooled column."""
    offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    ids = column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0])).to_numpy(zero_copy_only=False)
    return EncodedBatch(offsets - offsets[0], ids)


def _with_tokens(schema: pa.Schema, vocabulary: Sequence[str] | None) -> pa.Schema:
    at = schema.get_field_index("tokens")
    field = tokens_field(vocabulary)
    return schema.append(field) if at < 0 else schema.set(at, field)


def changed_token_options(options: PreprocessOptions, usual: PreprocessOptions | None = None) -> list[str]:
    """Return the token options that are not the usual ones of a command, as flags; the language may be given."""
    names = {"extra_stop_words": "stop_words", "stop_patterns": "stop_words", "pattern": "token_pattern"}
    plain, said = replace(usual or PreprocessOptions(), language=options.language), set()
    for field in fields(options):
        if field.name != "lists_must_match" and getattr(options, field.name) != getattr(plain, field.name):
            said.add(f"--{names.get(field.name, field.name).replace('_', '-')}")
    if "--token-pattern" in said:
        said.discard("--tokenizer")
    return sorted(said)


def refuse_token_options(options: PreprocessOptions, where: str, usual: PreprocessOptions | None = None) -> None:
    """Refuse options that would change nothing, since the documents have tokens already.

    Raises:
        UsageError: an option is not the default.
    """
    said = changed_token_options(options, usual)
    if said:
        raise UsageError(
            f"{', '.join(said)}: the documents of {where} have tokens already, which this would not "
            "change; leave it out, or make them anew: nlpkit preprocess takes it too"
        )


def has_text(column: pa.ChunkedArray) -> Any:
    """Return which texts hold more than white space (D,)."""
    import pyarrow.compute as pc

    return pc.greater(pc.utf8_length(pc.utf8_trim_whitespace(column)), 0).to_numpy(zero_copy_only=False)


def tokens_of(table: pa.Table, options: PreprocessOptions) -> tuple[TokenTable, PreprocessReport | None]:
    """Return the tokens of a document table held in memory: its own column, else made with `options` (and a report)."""
    if "tokens" in table.column_names:
        refuse_token_options(options, "the input")
        return token_table(table.column("tokens")), None
    work = Preprocessor(options)
    encoded = [e for _, e in work.encode_all(table.select(["text"]).to_batches())]
    found = work.finish(lambda: encoded)
    offsets, ids, at = [np.zeros(1, np.int64)], [], 0
    for batch in encoded:
        kept = found.apply(batch)
        offsets.append(at + kept.offsets[1:])
        ids.append(kept.term_ids)
        at += int(kept.offsets[-1])
    return TokenTable(np.concatenate(offsets), np.concatenate(ids), found.terms), found.report
