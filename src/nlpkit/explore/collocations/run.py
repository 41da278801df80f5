"""The collocations of a corpus: pairs of words near each other, and how strongly they attract each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import InputError
from nlpkit.explore.collocations.model import CollocationCounter, CollocationOptions, PairTable, overlapping
from nlpkit.explore.stats.run import languages_of
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import as_corpus, no_words
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.saving import save_derived_table
from nlpkit.platform.types import BoolArray, LongArray
from nlpkit.text.language import language_code
from nlpkit.text.options import CountOptions, PreprocessOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.text.stopwords import stop_matcher, stop_words
from nlpkit.text.tokens import encode


@dataclass(frozen=True, slots=True)
class Collocations(Tabular):
    """Pairs of words, best first. terms (V,), an Arrow array; cf (V,) occurrences; node: as it is written in the corpus."""

    pairs: PairTable
    terms: pa.Array
    cf: LongArray
    n_docs: int
    n_tokens: int
    node: str | None
    languages: list[str]
    options: CollocationOptions
    words: CountOptions
    stream: DocumentStream

    def __repr__(self) -> str:
        return wording.described(
            self, wording.counted(len(self.pairs), "pair"), wording.counted(self.n_docs, "document")
        )

    def table(self) -> pa.Table:
        """Return a row for each pair: rank, x, y, cf_x, cf_y, n_xy, n_x, n_y, n, expected, and the measures.

        With a node x is the node, y its collocate, and n_left and n_right tell on which side of it y stands.
        """
        pairs = self.pairs
        columns: dict[str, Any] = {
            "rank": np.arange(1, len(pairs) + 1, dtype=np.int32),
            "x": self.terms.take(pa.array(pairs.x)),
            "y": self.terms.take(pa.array(pairs.y)),
            "cf_x": self.cf[pairs.x],
            "cf_y": self.cf[pairs.y],
            "n_xy": pairs.n_xy,
        }
        if self.node is not None:
            columns |= {"n_left": pairs.n_left, "n_right": pairs.n_right}
        columns |= {"n_x": pairs.n_x, "n_y": pairs.n_y, "n": np.full(len(pairs), pairs.n_pairs, np.int64)}
        return pa.table({**columns, "expected": pairs.expected, **pairs.scores})

    def parameters(self) -> dict[str, Any]:
        """Return what was in force, as a footer records it."""
        options, words = self.options, self.words
        return {
            "node": self.node, "window": options.distance, "any_order": options.both_orders, "measure": options.measure,
            "min_count": options.min_count, "min_score": options.min_score, "language": words.language,
            "stop_words": words.stop_words, "lower": words.lower, "min_length": words.min_length,
        }  # fmt: skip

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write the table of pairs.

        Raises:
            UsageError: the suffix of the name is not one of a table; OutputExistsError: it is there.
        """
        save_derived_table(
            target, self.table(), "collocations", self.stream, command="collocations", parameters=self.parameters(), row="pair",
            force=force,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return what was in force, and the pairs that are shown, in plain values."""
        facts = {"documents": self.n_docs, "tokens": self.n_tokens, "n": self.pairs.n_pairs, "found": len(self.pairs)}
        shown = self.table().drop_columns(["n"]).slice(0, self.options.top).to_pylist()
        return {**self.parameters(), "languages": self.languages, **facts, "pairs": shown}


def collocations(
    data: Any,
    *,
    options: CollocationOptions | None = None,
    words: CountOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> Collocations:
    """Return the pairs of words that stand near each other, with counts and measures of association.

    A pair is two places of a document at most `window` words apart. n is the number of pairs. n_xy of them are x y, n_x have x
    in the first place, and n_y have y in the second. This is the contingency table of Evert (2005), §3.1, from which
    `nlpkit.metrics.association` computes every measure. Without order each two places count in both orders, so that n_x is the
    number of words in the windows of x.

    Args:
        data: a Corpus, texts, or a data frame; tokens that are there are counted as they are.
        options: which pairs, and how they are sorted.
        words: which words count; stop words keep their places in the text and are in no pair.
        execution: number of threads.
        settings: fields of these records, such as node="climate", window=5.

    Raises:
        UsageError: options that are unknown; InputError: there are no documents or words, or the node is not among them.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> pairs = nk.collocations(texts).table()
        >>> pairs.num_rows >= 1
        True
    """
    records = (options, words, execution)
    options, words, execution = with_settings(records, settings, (CollocationOptions, CountOptions, Execution))
    cut = replace(preprocess_options(words.tokens()), lists_must_match=False)
    keep_all = replace(cut, stop_words="none", extra_stop_words=frozenset(), stop_patterns=())
    with as_corpus(data).open() as stream:
        documents = encode(
            stream, keep_all, keep=lambda batch: batch.select(["id"]), threads=execution.n_threads()
        )  # fmt: skip
    try:
        if not documents.cf.any():
            raise no_words(documents.n_docs)
        report = None if documents.fitted is None else documents.fitted.report
        languages = languages_of(report, stream, cut)
        node = None if options.node is None else _place_of(options.node.strip(), documents.terms, documents.cf)
        stopped = _stopped(documents.terms, cut, languages)
        wanted = (documents.cf >= (1 if options.both_orders else options.min_count)) & ~stopped
        if node is not None:
            wanted[node] = True
        counter = CollocationCounter(wanted, window=options.distance, node=node)
        with reporting.progress("pairs", None) as update:
            rows = 0
            for batch, encoded in documents:
                counter.count(encoded)
                update(rows := rows + batch.num_rows)
    finally:
        documents.close()
    if report is None:
        reporting.note("the words come from the column 'tokens', unchanged")
    pairs = counter.pairs(
        measure=options.measure, min_count=options.min_count, both_orders=options.both_orders, min_score=options.min_score
    )  # fmt: skip
    pieces = overlapping(pairs, documents.terms)
    if pieces.any():
        reporting.warn(
            f"{wording.counted(int(pieces.sum()), 'pair')} of pieces of one word left out: Chinese, Thai and other "
            "texts without spaces are split into overlapping pieces. Split them into words first: "
            "`preprocess(segment=words)`"
        )
        pairs = pairs.where(~pieces)
    return Collocations(
        pairs, pa.array(documents.terms, pa.string()), documents.cf, documents.n_docs, int(documents.cf.sum()),
        None if node is None else documents.terms[node], languages, options, words, stream,
    )  # fmt: skip


def _place_of(node: str, terms: Sequence[str], cf: LongArray) -> int:
    """Return the id of a word as it is written, else in lower case.

    Raises:
        InputError: it does not occur; the nearest words are named.
    """
    column = pa.array(terms, pa.string())
    for spelling in (node, node.lower()):
        place: int = pc.index(column, spelling).as_py()
        if place >= 0 and cf[place]:
            return place
    near = get_close_matches(node.lower(), terms, n=3)
    hint = f"; did you mean {' or '.join(repr(word) for word in near)}?" if near else ""
    raise InputError(f"`node={node}`: the word does not occur among {len(terms):,} words{hint}", parameter="node")


def _stopped(terms: Sequence[str], options: PreprocessOptions, languages: Sequence[str]) -> BoolArray:
    """Return which terms (V,) are stop words."""
    codes = list(languages) if options.stop_words == "auto" else []
    if options.stop_words not in ("auto", "none"):
        codes = [language_code(name) for name in options.stop_words.split(",")]
    is_stop = stop_matcher(stop_words(codes) | options.extra_stop_words, options.stop_patterns)
    return np.fromiter((is_stop(term.lower()) for term in terms), np.bool_, len(terms))
