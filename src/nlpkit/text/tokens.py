"""Documents as tokens and term ids: texts are tokenised once, and the ids are read as often as needed.

Parts, in this order:
- Documents as term ids: texts are cut once, what is needed of them is spooled, and read back as often as it takes.
- Documents with their tokens, and how they were made: taken as they are, cut anew, or cut as those of a model.
- Documents with their sentences as term ids, batch by batch, in the order of the stream.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import (
    add_column,
    token_ids,
    token_table,
    tokens_column,
    tokens_field,
    vocabulary_of,
)
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Documents, no_documents
from nlpkit.platform.documents.inputs import DroppedRow
from nlpkit.platform.parallel import ahead
from nlpkit.platform.runs.footers import step_parameters, steps_of
from nlpkit.platform.runs.tables import Spool
from nlpkit.platform.types import IntArray, LongArray, TokenTable
from nlpkit.text.fitted import FittedVocabulary
from nlpkit.text.options import CountOptions, PreprocessOptions, PreprocessReport
from nlpkit.text.phrases import PhraseTable
from nlpkit.text.preprocess import ANNOTATIONS, Preprocessor
from nlpkit.text.segment import words_hint
from nlpkit.text.sentences import PARENT, Unit, unit_batch, unit_schema
from nlpkit.text.settings import preprocess_options
from nlpkit.text.vocab import EncodedBatch, Frequencies

CODES = "\0codes"  # no column of a user is called like that

Keep = Callable[[pa.RecordBatch], pa.RecordBatch]


class Replayed(Protocol):
    """Batches with a column CODES that are read back as often as it takes."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches."""

    def close(self) -> None:
        """Remove the copy, where there is one."""


@dataclass(frozen=True, slots=True)
class EncodedDocuments:
    """Documents with the ids of their terms, in the order of the texts.

    terms (V,): in order of first appearance, or those of a vocabulary in its order; cf, df (V,). schema: of the columns that were
    kept. fitted: how terms were chosen, None for tokens that were there; n_listed: of those, the terms at the beginning that
    belong to the vocabulary to which the tokens were restricted.
    """

    terms: tuple[str, ...]
    cf: LongArray
    df: LongArray
    n_docs: int
    schema: pa.Schema
    fitted: FittedVocabulary | None
    n_listed: int
    _spool: Replayed

    def __iter__(self) -> Iterator[tuple[pa.RecordBatch, EncodedBatch]]:
        """Yield the columns that were kept, and the term ids, of each batch."""
        for batch, encoded in self.raw():
            yield batch, encoded if self.fitted is None else self.fitted.apply(encoded)

    def raw(self) -> Iterator[tuple[pa.RecordBatch, EncodedBatch]]:
        """Yield the batches with ids as `fitted.apply` takes them."""
        for batch in self._spool:
            yield batch.select(self.schema.names), codes_of(batch.column(CODES))

    def tokens(self) -> TokenTable:
        """Return the tokens of all documents."""
        return joined((encoded for _, encoded in self), self.terms)

    def close(self) -> None:
        """Remove the copy on the disk."""
        self._spool.close()


def encode(
    documents: Documents, options: PreprocessOptions, *, keep: Keep | None = None, threads: int = 1, recut: bool = False,
    memory: int | None = None,
) -> EncodedDocuments:  # fmt: skip
    """Return the documents as term ids: their own tokens, else those that `options` cut; the stream is read to its end.

    Args:
        documents: a stream.
        options: how texts are cut; for tokens that are there, only its vocabulary counts, whose terms come first.
        keep: what is kept of a batch, all by default.
        threads: texts that are cut at a time; ids do not depend on it.
        recut: cut texts also where there are tokens.
        memory: bytes of ids that are held before a temporary file is begun.

    Raises:
        InputError: there are no documents, or no term is left of some.
    """
    spool = Spool(documents.spool_directory, memory)
    try:
        if recut or "tokens" not in documents.schema.names:
            return _cut(documents, options, keep, spool, threads)
        return _taken(documents, options, keep, spool)
    except BaseException:
        spool.close()
        raise


def _cut(
    documents: Documents, options: PreprocessOptions, keep: Keep | None, spool: Spool, threads: int
) -> EncodedDocuments:
    preprocessor = Preprocessor(options)
    encoded = preprocessor.encode_all(ahead(documents), threads=threads)
    n_docs, schema = _write(encoded, documents, keep, spool)
    fitted = preprocessor.finish(lambda: (codes_of(batch.column(CODES)) for batch in spool))
    return EncodedDocuments(fitted.terms, fitted.cf, fitted.df, n_docs, schema, fitted, 0, spool)


def cut_share(
    documents: Documents, preprocessor: Preprocessor, sample: Sequence[str], *, threads: int = 1
) -> EncodedDocuments:
    """Return documents as the ids of all their words, which are those of the preprocessor; the stream is read to its end.

    sample: the texts by which the language is detected.

    Raises:
        InputError: there are no documents.
    """
    spool = Spool(documents.spool_directory)
    try:
        encoded = preprocessor.encode_all(ahead(documents), threads=threads, sample=sample)
        n_docs, schema = _write(encoded, documents, None, spool)
    except BaseException:
        spool.close()
        raise
    counts = preprocessor.counts
    return EncodedDocuments(tuple(counts.terms), counts.cf, counts.df, n_docs, schema, None, 0, spool)


def _taken(documents: Documents, options: PreprocessOptions, keep: Keep | None, spool: Spool) -> EncodedDocuments:
    vocabulary = options.vocab or vocabulary_of(documents.schema) or ()
    known = {term: i for i, term in enumerate(vocabulary)}
    counts = Frequencies()

    def encoded() -> Iterator[tuple[pa.RecordBatch, EncodedBatch]]:
        for batch in documents:
            ids = EncodedBatch(*token_ids(batch.column("tokens"), known))
            counts.count(ids, len(known))
            yield batch, ids

    n_docs, schema = _write(encoded(), documents, keep, spool)
    terms = tuple(known)
    return EncodedDocuments(
        terms, counts.cf(len(terms)), counts.df(len(terms)), n_docs, schema, None, len(vocabulary), spool
    )


def _write(
    encoded: Iterable[tuple[pa.RecordBatch, EncodedBatch]], documents: Documents, keep: Keep | None, spool: Spool
) -> tuple[int, pa.Schema]:
    """Spool all batches; return the number of documents and the schema of what is kept of them."""
    n_docs, schema = 0, documents.schema
    with reporting.progress("tokens", None) as update:
        for batch, ids in encoded:
            kept = batch if keep is None else keep(batch)
            schema = kept.schema
            spool.write(kept.append_column(CODES, codes_array(ids)))
            update(n_docs := n_docs + batch.num_rows)
    if not n_docs:
        raise no_documents(documents)
    return n_docs, schema


def joined(batches: Iterable[EncodedBatch], terms: tuple[str, ...]) -> TokenTable:
    """Return the tokens of batches, whose ids stand for terms, as one table."""
    offsets, ids, at = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], 0
    for batch in batches:
        offsets.append(at + batch.offsets[1:])
        ids.append(batch.term_ids)
        at += int(batch.offsets[-1])
    return TokenTable(np.concatenate(offsets), np.concatenate(ids), terms)


def codes_array(encoded: EncodedBatch) -> pa.ListArray:
    """Return term ids as a column of a spool; `codes_of` reads it."""
    return pa.ListArray.from_arrays(pa.array(encoded.offsets, pa.int32()), pa.array(encoded.term_ids))


def codes_of(column: pa.ListArray) -> EncodedBatch:
    """Return the term ids of a spooled column."""
    offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    ids = column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0])).to_numpy(zero_copy_only=False)
    return EncodedBatch(offsets - offsets[0], ids)


# ------------------------------------------------------------------------------------------------------------------------
# Documents with their tokens, and how they were made: taken as they are, cut anew, or cut as those of a model.

UNRECORDED = ("whole_words", "lists_must_match")  # options of one reading, which say nothing of how others are cut


def cut_as_model(
    stream: DocumentStream,
    settings: Mapping[str, Any] | None,
    model: str,
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
        phrases: phrases that the model itself has, which count as given.
        bounds: whether tokens of words that are frequent enough among the new documents alone are other tokens, too.

    Raises:
        InputError: texts that cannot be cut as the model's were; tokens that differ, and no texts to cut again.
    """
    from nlpkit.text.settings import differences, learned_bounds, options_from

    where = stream.where

    def options() -> PreprocessOptions:
        values = settings
        if phrases is not None and settings is not None:
            values = {**settings, "phrases": None, "phrase_table": None}
        return replace(options_from(values, model), phrase_table=phrases)

    if "tokens" not in stream.schema.names:
        return options()
    if settings is None:
        return None
    settings_of = [step_parameters(steps_of([block]), "preprocess") for block in stream.blocks]
    known = [one for one in settings_of if one is not None]
    apart = list(dict.fromkeys(d for one in known for d in differences(settings, one)))
    pruned = sorted({name for one in known for name in learned_bounds(one)} - {"`phrases`"}) if bounds else []
    if len(known) == len(settings_of) and not apart and not pruned:
        return None
    why = "; ".join(apart) or (f"left out by {', '.join(pruned)}" if pruned else "it does not say how they were made")
    try:
        again = options()
    except InputError as error:
        if not apart:  # nothing speaks against them
            return None
        raise InputError(
            f"the tokens of {where} were not made as for {model} ({why}), and {str(error).partition(';')[0]}; make "
            "them in the same way with `preprocess()`"
        ) from None
    if not stream.has_texts():
        if not apart:
            reporting.warn(
                f"the tokens of {where} may differ from the tokens of {model} ({why}), and there are no texts to "
                "tokenise again"
            )
            return None
        raise InputError(
            f"the tokens of {where} were not made as for {model} ({why}), and there are no texts to tokenise again; "
            "make them in the same way with `preprocess()`"
        )
    reporting.note(f"the tokens of {where} were not made as for {model} ({why}): the texts are tokenised again")
    return again


def with_tokens(documents: EncodedDocuments, *, tagged: bool = False) -> Iterator[pa.RecordBatch]:
    """Yield the documents with a column of their tokens; tagged: those of ANNOTATIONS keep what belongs to a token that is left."""
    terms = pa.array(documents.terms, pa.string())

    def batches() -> Iterator[pa.RecordBatch]:
        if not tagged:
            for batch, encoded in documents:
                yield add_column(batch, "tokens", tokens_column(encoded.offsets, encoded.term_ids, terms))
            return
        fitted = documents.fitted
        assert fitted is not None
        for batch, raw in documents.raw():
            encoded, stays = fitted.apply(raw), pa.array(fitted.stays(raw))
            for name in ANNOTATIONS:
                values = batch.column(name).flatten().filter(stays)
                batch = add_column(batch, name, pa.ListArray.from_arrays(pa.array(encoded.offsets, pa.int32()), values))
            yield add_column(batch, "tokens", tokens_column(encoded.offsets, encoded.term_ids, terms))

    return ahead(batches(), join=True)


def tokens_schema(schema: pa.Schema, vocabulary: Sequence[str] | None) -> pa.Schema:
    """Return a schema with the column of tokens, and the vocabulary to which they are restricted, if there is one."""
    at = schema.get_field_index("tokens")
    field = tokens_field(vocabulary)
    return schema.append(field) if at < 0 else schema.set(at, field)


def changed_token_options(options: PreprocessOptions, usual: PreprocessOptions | None = None) -> list[str]:
    """Return the token options that are not the usual ones of a command, as messages name them; the language may be given."""
    names = {"extra_stop_words": "stop_words", "stop_patterns": "stop_words", "pattern": "token_pattern"}
    plain, changed = replace(usual or PreprocessOptions(), language=options.language), set()
    for field in fields(options):
        if field.name not in UNRECORDED and getattr(options, field.name) != getattr(plain, field.name):
            changed.add(f"`{names.get(field.name, field.name)}`")
    if "`token_pattern`" in changed:
        changed.discard("`tokenizer`")
    return sorted(changed)


def refuse_token_options(options: PreprocessOptions, where: str, usual: PreprocessOptions | None = None) -> None:
    """Refuse options that would change nothing, since the documents have tokens already.

    Raises:
        UsageError: an option is not the default.
    """
    changed = changed_token_options(options, usual)
    if changed:
        raise UsageError(
            f"{', '.join(changed)}: the documents of {where} already have tokens, which this option would not "
            "change; leave it out, or tokenise again with `preprocess()`"
        )


def counting_options(words: CountOptions, stream: DocumentStream) -> PreprocessOptions:
    """Return how the words of documents are cut that are all to count; the defaults where the documents have tokens already.

    Raises:
        UsageError: an option is not the default, and would not change the tokens that are there.
    """
    settings = preprocess_options(words.tokens())
    if "tokens" not in stream.schema.names:
        return settings
    refuse_token_options(settings, stream.where, preprocess_options(CountOptions().tokens()))
    return PreprocessOptions()


def tokens_of(table: pa.Table, options: PreprocessOptions) -> tuple[TokenTable, PreprocessReport | None]:
    """Return the tokens of a document table held in memory: its own column, else made with `options` (and a report)."""
    if "tokens" in table.column_names:
        refuse_token_options(options, "the input")
        return token_table(table.column("tokens")), None
    preprocessor = Preprocessor(options)
    encoded = [e for _, e in preprocessor.encode_all(table.select(["text"]).to_batches())]
    fitted = preprocessor.finish(lambda: encoded)
    return joined((fitted.apply(batch) for batch in encoded), fitted.terms), fitted.report


def token_parameters(options: PreprocessOptions, report: PreprocessReport) -> dict[str, Any]:
    """Return preprocess options as footer parameters, with the bound on rare words and the languages that were in force.

    Long lists (a vocabulary, phrases, replacements) are only counted.
    """
    return option_parameters(options) | {
        "min_df": report.min_df,
        "languages": [[s.code, round(s.share, 4)] for s in report.languages],
        "stop_word_languages": list(report.stop_word_languages),
        **({"spacy_pipeline": report.spacy_pipeline} if report.spacy_pipeline else {}),
    }


def option_parameters(options: PreprocessOptions) -> dict[str, Any]:
    """Return preprocess options as footer parameters, as they were given."""
    return {f.name: _parameter(getattr(options, f.name)) for f in fields(options) if f.name not in UNRECORDED}


def token_info(
    options: PreprocessOptions, report: PreprocessReport | None, steps: Sequence[dict[str, Any]]
) -> dict[str, Any] | None:
    """Return how tokens were made: with options, or by an earlier step where there is no report; None where it does not say."""
    return step_parameters(steps, "preprocess") if report is None else token_parameters(options, report)


def _parameter(value: Any) -> Any:
    if isinstance(value, PhraseTable):
        return _parameter(tuple(value.phrases))
    if is_dataclass(value):
        return {f.name: _parameter(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [_parameter(v) for v in value] if len(value) < 1000 else f"{len(value)} of them ({_digest(value)})"
    return value


def _digest(values: tuple[Any, ...]) -> str:
    """Return a short hash by which two long lists are told apart."""
    return hashlib.blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def note_tokens(
    report: PreprocessReport, options: PreprocessOptions | None = None, *, cut_by: PreprocessOptions | None = None
) -> None:
    """Note in one line what preprocess did, and warn when common words stay in for want of a list that was wanted.

    Args:
        report: of preprocessing.
        options: those of a command that has all of them.
        cut_by: those of a command that can only split texts without spaces into pieces.
    """
    from nlpkit.text.settings import NO_LANGUAGE

    languages = ", ".join(f"{s.code} {s.share:.0%}" for s in report.languages if s.code != NO_LANGUAGE) or "none"
    out = []
    if report.stop_word_languages or report.n_stop_tokens:
        lists = ", ".join(report.stop_word_languages)
        out.append(f"{wording.counted(report.n_stop_tokens, 'stop word')}{f' ({lists})' if lists else ''}")
    if report.n_rare_terms:
        also = "" if options is None or options.min_cf in (0, 1) else " or under `min_cf`"
        rare = f"in fewer than {_bound_text(report.min_df)}{also}"
        out.append(f"{wording.counted(report.n_rare_terms, 'term')} {rare}")
    if report.n_frequent_terms:
        also = "" if options is None or options.max_cf == 1.0 else " or over `max_cf`"
        frequent = f"in more than {_bound_text(report.max_df)}{also}"
        out.append(f"{wording.counted(report.n_frequent_terms, 'term')} {frequent}")
    if report.n_capped_terms:
        out.append(f"{wording.counted(report.n_capped_terms, 'term')} beyond the most frequent")
    if report.n_foreign_terms:
        out.append(f"{wording.counted(report.n_foreign_terms, 'term')} that the vocabulary does not have")
    if report.n_uncategorised_terms:
        out.append(f"{wording.counted(report.n_uncategorised_terms, 'term')} in no category")
    if report.n_phrases:
        reporting.note(f"{wording.counted(report.n_phrases, 'phrase')} joined")
    if options is not None:
        _note_pieces(report, options, "segment=words")
    elif cut_by is not None:
        _note_pieces(report, cut_by, "preprocess(segment=words)")
    left_out = f"; left out: {', '.join(out)}" if out else ""  # numbers and short words are not counted
    reporting.note(
        f"{wording.counted(report.n_docs, 'document')}: {wording.counted(report.n_tokens, 'token')}, "
        f"{wording.counted(report.n_terms, 'different term')} (language: {languages}{left_out})"
    )
    if options is not None and options.stop_words == "auto" and report.stop_word_languages:
        n_given = len(options.extra_stop_words) + len(options.stop_patterns)
        if n_given:
            reporting.note(
                f"stop words: the list of {', '.join(report.stop_word_languages)} and {n_given:,} of your own; "
                "`stop_words=none,FILE` uses only your own"
            )
    if not report.n_stop_words and (options is None or options.stop_words == "auto"):
        _warn_listless([s.code for s in report.languages])
        if not report.languages and report.n_terms and options is not None and options.language == "auto":
            reporting.warn(
                "too few words to detect the language, so common words are kept and words are split by general "
                "rules; set it with `language`"
            )


def _note_pieces(report: PreprocessReport, options: PreprocessOptions, option: str) -> None:
    """Say which texts have no spaces and were split into pieces that overlap, and what splits them into words. `option`: that does."""
    unspaced = [s.code for s in report.languages if s.code in ("zh", "ja", "th", "lo", "my", "km")]
    if not options.cuts_pieces or not unspaced:
        return
    names, hint = ", ".join(unspaced), words_hint(unspaced, option)
    if options.phrases is not None:
        reporting.warn(
            f"no phrases of '{names}' are joined: its texts are split into overlapping pieces{f'; {hint}' * bool(hint)}"
        )
    elif hint:
        reporting.note(f"texts of '{names}' are split into overlapping pieces; {hint}")


def _warn_listless(codes: Sequence[str]) -> None:
    from nlpkit.text.settings import NO_LANGUAGE
    from nlpkit.text.stopwords import has_stop_words

    listless = [code for code in codes if not has_stop_words(code) and code != NO_LANGUAGE]
    if listless:
        reporting.warn(
            f"no stop word list exists for '{', '.join(listless)}', so common words are kept; give one with "
            "`stop_words=FILE`, or remove them with `max_df=0.5`"
        )
    elif NO_LANGUAGE in codes:
        reporting.warn("no language was recognised, so common words are kept; set `language` to a language or to none")


def _bound_text(bound: float) -> str:
    return f"{100 * bound:.3g} % of the documents" if isinstance(bound, float) else f"{wording.count(bound)} documents"


# ------------------------------------------------------------------------------------------------------------------------
# Documents with their sentences as term ids, batch by batch, in the order of the stream.


class Sentences:
    """The sentences of a stream of documents, or other units, a row each; stands in for the stream."""

    def __init__(self, documents: Documents, unit: str, language: str) -> None:
        self._documents, self._unit = documents, Unit(unit)
        self._language = None if language in ("auto", "none") else language
        self.schema = documents.schema if unit == "document" else unit_schema(documents.schema)
        self.where, self.spool_directory = documents.where, documents.spool_directory

    @property
    def dropped(self) -> Sequence[DroppedRow]:
        """Rows that could not be read."""
        return self._documents.dropped

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._documents:
            yield batch if self._unit.kind == "document" else unit_batch(batch, self._unit, self._language)


SentencesOfBatch = tuple[pa.RecordBatch, LongArray, list[str], LongArray, IntArray]


def sequences(stream: DocumentStream, options: PreprocessOptions | None, unit: str) -> Iterator[SentencesOfBatch]:
    """Yield batches of documents, the row of the document of each sentence (S,), the terms that the ids of this batch stand for, and
    the offsets (S + 1,) and ids of the sentences' words.

    Args:
        options: how texts are cut; None takes the tokens that are there, one sentence a document. unit: of the sentences.

    Raises:
        InputError: there are no documents.
    """
    empty = True
    for batch in stream:
        empty = False
        if options is None:
            terms: dict[str, int] = {}
            offsets, ids = token_ids(batch.column("tokens"), terms)
            yield batch, np.arange(batch.num_rows), list(terms), offsets, ids
            continue
        numbered = pa.record_batch(
            {"id": pa.array(map(str, range(batch.num_rows)), pa.string()), "text": batch.column("text")}
        )
        units = numbered
        if unit != "document":
            language = None if options.language in ("auto", "none") else options.language
            units = unit_batch(numbered, Unit(unit), language)
        rows = np.array(units.column("id" if unit == "document" else PARENT).to_pylist(), np.int64)
        tokens, _ = tokens_of(pa.Table.from_batches([units.select(["text"])]), options)
        yield batch, rows, list(tokens.terms), tokens.offsets, tokens.term_ids
    if empty:
        raise no_documents(stream)
