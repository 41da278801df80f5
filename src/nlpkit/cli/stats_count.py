"""The passes of `nlpkit stats` over a corpus: its words and those of its groups, then its n-grams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit import reporting
from nlpkit.io.documents import token_ids
from nlpkit.metrics.corpus import CorpusFigures, corpus_figures
from nlpkit.parallel import ahead
from nlpkit.text.frequent import FrequentNgrams, frequent_ngrams
from nlpkit.text.preprocess import PreprocessOptions, Preprocessor, PreprocessReport
from nlpkit.text.tally import GroupWords, WordTally
from nlpkit.text.vocab import EncodedBatch
from nlpkit.types import IntArray, LongArray
from nlpkit.widths import narrow
from nlpkit.workflows.corpus import no_documents
from nlpkit.workflows.groups import Groups
from nlpkit.workflows.tokens import CODES, codes_array, codes_of

if TYPE_CHECKING:
    from nlpkit.io.corpora import DocumentStream
    from nlpkit.io.spool import Spool

GROUP = "\0group"


@dataclass(frozen=True, slots=True)
class CountedGroup:
    """Words of the corpus or of one group: ids (V,) by rank (occurrences, then code points), cf, df (V,), figures, n-grams by n."""

    name: str | None
    ids: IntArray
    cf: LongArray
    df: LongArray
    figures: CorpusFigures
    ngrams: dict[int, FrequentNgrams]


@dataclass(frozen=True, slots=True)
class CountedWords:
    """A counted corpus. terms (V,) by term id, an Arrow array; words (V,) by rank in the whole corpus, which n-grams name."""

    whole: CountedGroup
    groups: list[CountedGroup]
    terms: pa.Array
    words: pa.Array
    ungrouped: int
    report: PreprocessReport | None


def count_words(
    stream: DocumentStream,
    options: PreprocessOptions,
    spool: Spool,
    inputs: Sequence[str],
    *,
    by: str | None,
    ngrams: Sequence[int],
    top: int,
    threads: int,
) -> CountedWords:
    """Count a document stream: its own tokens, else tokens made with `options`.

    Raises:
        InputError: there are no documents, or all terms were pruned; ColumnError: see `Groups`.
    """
    groups = None if by is None else Groups(by, stream.schema, stream.where)
    terms, apply, report = _spool_ids(stream, options, spool, inputs, groups, threads)
    names, places = groups.finish() if groups is not None else ([], np.full(1, -1, np.int32))

    def batches() -> Iterator[tuple[EncodedBatch, IntArray]]:
        for batch in spool:
            yield apply(codes_of(batch.column(CODES))), places[batch.column(GROUP).to_numpy()]

    with reporting.progress("count", None) as update:
        whole_tally, tally = WordTally(1), WordTally(len(names))
        lengths, of_group, rows = [], [], 0
        for batch, of in batches():
            whole_tally.add(batch, np.zeros(len(of), np.int32))
            tally.add(batch, of)
            lengths.append(narrow(np.diff(batch.offsets), "tokens of one document"))
            of_group.append(of)
            update(rows := rows + len(of))
        n_tokens, group = np.concatenate(lengths), np.concatenate(of_group)

        def figures(words: GroupWords, name: str | None, mine: IntArray) -> CountedGroup:
            order = _by_rank(words, terms)
            return CountedGroup(
                name, words.term_ids[order], words.cf[order], words.df[order],
                corpus_figures(words.cf, words.first_seen, mine), {},
            )  # fmt: skip

        whole = figures(whole_tally.groups()[0], None, n_tokens)
        members = np.split(np.argsort(group, kind="stable"), np.searchsorted(np.sort(group), np.arange(len(names))))[1:]
        parts = [
            figures(words, name, n_tokens[rows_])
            for words, name, rows_ in zip(tally.groups(), names, members, strict=True)
        ]

        ranks = np.empty(len(terms), np.int32)
        ranks[whole.ids] = np.arange(len(whole.ids), dtype=np.int32)

        def ranked(*, grouped: bool) -> Iterator[tuple[EncodedBatch, IntArray]]:
            for batch, of in batches():
                yield EncodedBatch(batch.offsets, ranks[batch.term_ids]), of if grouped else np.zeros(len(of), np.int32)

        for n in ngrams:
            update(rows, f"{n}-grams")
            total = whole.figures.tokens
            whole.ngrams[n] = frequent_ngrams(
                lambda: ranked(grouped=False), n, top=top, frequencies=whole.cf, n_tokens=total
            )[0]
            if names:
                found = frequent_ngrams(
                    lambda: ranked(grouped=True), n, top=top, frequencies=whole.cf, n_tokens=total, n_groups=len(names)
                )
                for part, grams in zip(parts, found, strict=True):
                    part.ngrams[n] = grams
    return CountedWords(whole, parts, terms, terms.take(pa.array(whole.ids)), int((group < 0).sum()), report)


def _spool_ids(
    stream: DocumentStream,
    options: PreprocessOptions,
    spool: Spool,
    inputs: Sequence[str],
    groups: Groups | None,
    threads: int,
) -> tuple[pa.Array, Callable[[EncodedBatch], EncodedBatch], PreprocessReport | None]:
    """Write the term ids of all documents and their groups; return terms (V,), what makes their ids of those written, the report."""
    made = "tokens" not in stream.schema.names
    work, known, rows = Preprocessor(options), dict[str, int](), 0
    encoded = work.encode_all(ahead(stream), threads=threads) if made else _given(stream, known)
    with reporting.progress("tokens", None) as update:
        for batch, ids in encoded:
            of = np.full(batch.num_rows, -1, np.int32) if groups is None else groups.of(batch)
            spool.write(pa.RecordBatch.from_arrays([codes_array(ids), pa.array(of)], names=[CODES, GROUP]))
            update(rows := rows + batch.num_rows)
    if not rows:
        raise no_documents(stream)
    if not made:
        return pa.array(list(known), pa.string()), lambda batch: batch, None
    found = work.finish(lambda: (codes_of(batch.column(CODES)) for batch in spool))
    return pa.array(found.terms, pa.string()), found.apply, found.report


def _given(stream: DocumentStream, known: dict[str, int]) -> Iterator[tuple[pa.RecordBatch, EncodedBatch]]:
    for batch in stream:
        yield batch, EncodedBatch(*token_ids(batch.column("tokens"), known))


def _by_rank(words: GroupWords, terms: pa.Array) -> LongArray:
    """Return the order of the words (V,): most frequent first, equals by code point."""
    table = pa.table({"cf": words.cf, "term": terms.take(pa.array(words.term_ids))})
    order: LongArray = pc.sort_indices(table, [("cf", "descending"), ("term", "ascending")]).to_numpy().astype(np.int64)
    return order
