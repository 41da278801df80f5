"""The statistics of a corpus: its size, its words and n-grams, their dispersion, the laws of Zipf and Heaps.

Parts, in this order:
- How evenly words are spread over the documents of a corpus and of its groups, batch by batch.
- All statistics, in one reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.explore.stats.frequent import FrequentNgrams, GroupWords, WordTally, frequent_ngrams, spelled
from nlpkit.metrics.texts.corpus import (
    CorpusFigures,
    Dispersion,
    DispersionSums,
    DiversitySummary,
    LexicalDiversity,
    corpus_figures,
    lexical_diversity,
    summarize_diversity,
    verdict,
    zipf_frequencies,
)
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import as_corpus
from nlpkit.platform.documents.groups import Groups
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.plain import finite_or_none
from nlpkit.platform.runs.footers import step_parameters
from nlpkit.platform.runs.saving import save_derived_table
from nlpkit.platform.types import FloatArray, IntArray, LongArray, narrow
from nlpkit.text.options import CountOptions, PreprocessOptions, PreprocessReport
from nlpkit.text.settings import preprocess_options
from nlpkit.text.surface import readability as text_readability
from nlpkit.text.tokens import EncodedDocuments, encode
from nlpkit.text.vocab import EncodedBatch
from nlpkit.weights.kernels import count_rows


def word_dispersion(
    documents: EncodedDocuments, column: str, places: IntArray, words: Sequence[tuple[IntArray, LongArray]]
) -> list[Dispersion]:
    """Return the dispersion over documents of the words of the corpus, and of each group.

    Args:
        documents: read twice. column: of their batches, a number of which `places` gives the group, -1 for none.
        words: ids (V_g,) and cf (V_g,) of the words of the corpus, then of each group.
    """
    V, sizes, members = len(documents.terms), [], []
    for batch, encoded in documents:
        sizes.append(np.diff(encoded.offsets))
        members.append(places[batch.column(column).to_numpy()])
    n_tokens, group = np.concatenate(sizes), np.concatenate(members)
    sums = []
    for number, (ids, cf) in enumerate(words, -1):
        tf = np.zeros(V)
        tf[ids] = cf
        sums.append(DispersionSums(tf, n_tokens if number < 0 else n_tokens[group == number]))
    rows = 0
    with reporting.progress("dispersion", len(n_tokens)) as update:
        for _, encoded in documents:
            indptr, terms, counts = count_rows(encoded.offsets, encoded.term_ids, V)
            dtm = sparse.csr_array((counts, terms, indptr), shape=(len(indptr) - 1, V))
            here, of_group = (values[rows : rows + dtm.shape[0]] for values in (n_tokens, group))
            sums[0].add(dtm, here)
            for number in np.unique(of_group[of_group >= 0]):
                sums[number + 1].add(dtm[of_group == number], here[of_group == number])
            update(rows := rows + dtm.shape[0])
    return [one.result().take(ids) for one, (ids, _) in zip(sums, words, strict=True)]


# ------------------------------------------------------------------------------------------------------------------------
# How big a corpus is, which words and n-grams it has, and how well they follow the laws of Zipf and Heaps.

GROUP, TEXT = "\0group", "\0text"


@dataclass(frozen=True, slots=True)
class GroupStatistics:
    """Words of the corpus or of one group: ids (V,) by rank (occurrences, then code points), cf, df (V,), figures, n-grams by n.

    diversity: lexical diversity, the mean of the documents; readability: means of the documents with words, by formula; dispersion: of the
    words over the documents, None where nobody asked.
    """

    name: str | None
    ids: IntArray
    cf: LongArray
    df: LongArray
    figures: CorpusFigures
    diversity: DiversitySummary
    readability: dict[str, float]
    ngrams: dict[int, FrequentNgrams]
    dispersion: Dispersion | None = None


@dataclass(frozen=True, slots=True)
class CorpusStatistics(Tabular):
    """Counts of words and documents. `table()` has a row for each word, `to_dict()` every figure.

    Attributes:
        whole: the figures of the whole corpus.
        groups: the figures of each group.
        by: the column of the groups.
        ungrouped: number of documents without a value in this column.
        words: the words (V,) by rank in the whole corpus.
        languages: the languages of the texts.
    """

    # terms (V,) by term id, an Arrow array. top: words and n-grams of a list. exponent: of the table of Zipf's law, None for the fitted
    # one. report: how texts were tokenised, None for documents with tokens.

    whole: GroupStatistics
    groups: list[GroupStatistics]
    terms: pa.Array
    words: pa.Array
    by: str | None
    ungrouped: int
    top: int
    exponent: float | None
    languages: list[str]
    report: PreprocessReport | None
    options: PreprocessOptions
    stream: DocumentStream

    def __repr__(self) -> str:
        figures = self.whole.figures
        return wording.described(
            self, wording.counted(figures.tokens, "token"), wording.counted(len(self.words), "different word")
        )

    def exponent_of(self, group: GroupStatistics) -> float:
        """Return the exponent of the table of Zipf's law."""
        return group.figures.zipf.exponent if self.exponent is None else self.exponent

    def table(self) -> pa.Table:
        """Return the words by rank: term, cf, df, rank, share, zipf, and dp, dp_norm, juilland_d; with groups those of each."""
        return pa.concat_tables([self._terms(group) for group in self.groups or [self.whole]])

    def _terms(self, group: GroupStatistics) -> pa.Table:
        V, s = len(group.cf), self.exponent_of(group)
        law = zipf_frequencies(float(group.cf[0]), s, V) if V and s == s else np.full(V, np.nan)
        columns = {
            "term": self.terms.take(pa.array(group.ids)),
            "cf": pa.array(group.cf, pa.int64()),
            "df": pa.array(group.df, pa.int64()),
            "rank": pa.array(np.arange(1, V + 1, dtype=np.int32)),
            "share": pa.array(group.cf / max(group.figures.tokens, 1)),
            "zipf": pa.array(law, from_pandas=True),
        }
        if group.dispersion is not None:
            names = ("dp", "dp_norm", "juilland_d")
            columns |= {name: pa.array(getattr(group.dispersion, name), from_pandas=True) for name in names}
        if self.groups:
            return pa.table({"class": pa.array([group.name] * V, pa.string()), **columns})
        return pa.table(columns)

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write the table of words.

        Raises:
            UsageError: the suffix of the name is not one of a table; OutputExistsError: it is there.
        """
        options = self.options
        parameters = {
            "by": self.by, "language": options.language, "stop_words": options.stop_words, "lower": options.lower,
            "min_length": options.min_length, "tokens": "given" if self.report is None else "made", "zipf_s": self.exponent,
        }  # fmt: skip
        table = self.table()
        rows = pa.Table.from_batches(table.to_batches(max_chunksize=100_000), table.schema)
        save_derived_table(
            target,
            rows,
            "term_frequencies",
            self.stream,
            command="stats",
            parameters=parameters,
            row="term",
            force=force,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain values."""
        words = self.words.to_pylist()
        result = self._group_dict(self.whole, words)
        if self.by is not None:
            groups = {str(g.name): self._group_dict(g, words) for g in self.groups}
            result |= {"by": self.by, "without_group": self.ungrouped, "groups": groups}
        dropped = len(self.stream.dropped)
        return {**result, "languages": self.languages, "tokens_column": self.report is None, "dropped": dropped}

    def _group_dict(self, group: GroupStatistics, words: Sequence[str]) -> dict[str, Any]:
        f, s = group.figures, self.exponent_of(group)
        lengths = asdict(f.lengths)
        documents, empty = lengths.pop("n_docs"), lengths.pop("empty")
        n_shown = min(self.top, len(group.cf))
        law = zipf_frequencies(float(group.cf[0]), s, n_shown).tolist() if n_shown else []
        head = self.terms.take(group.ids[:n_shown]).to_pylist()
        counts = list(zip(head, group.cf[:n_shown].tolist(), group.df[:n_shown].tolist(), strict=True))
        n, v = f.growth
        some = range(len(n) - 1, -1, -max(len(n) // 100, 1))
        return {
            "documents": documents, "empty": empty, "tokens": f.tokens, "types": f.types, "hapaxes": f.hapaxes,
            "type_token_ratio": f.type_token_ratio, "diversity": asdict(group.diversity),
            **({"readability": group.readability} if group.readability else {}),
            "lengths": lengths, "histogram": [asdict(b) for b in f.bins],
            "zipf": {
                **asdict(f.zipf), "verdict": verdict(f.zipf.ks) if f.types > 1 else None, "table_exponent": s,
                "table": [
                    {"rank": k, "word": word, "tf": cf, "zipf": round(z, 2)}
                    for k, ((word, cf, _), z) in enumerate(zip(counts, law, strict=False), 1)
                ],
            },
            "heaps": {**asdict(f.heaps), "growth": [[int(n[i]), int(v[i])] for i in reversed(some)]},
            "words": [
                {"word": word, "cf": cf, "df": df, **_spread(group.dispersion, v)} for v, (word, cf, df) in enumerate(counts)
            ],
            "ngrams": {
                str(size): [{"ngram": gram, "cf": cf} for gram, cf in spelled(grams_of_size, words)]
                for size, grams_of_size in group.ngrams.items()
            },
        }  # fmt: skip


def stats(
    data: Any,
    *,
    by: str | None = None,
    top: int = 10,
    ngrams: str | Sequence[int] = "2,3",
    zipf_s: float | None = None,
    readability: bool = False,
    dispersion: bool = False,
    words: CountOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> CorpusStatistics:
    """Count words and documents, and fit the laws of Zipf and Heaps.

    Args:
        data: a Corpus, texts, or a data frame; tokens that are there are counted as they are.
        by: a column; each of its values is counted, too; date:year (decade, quarter, month, week, day) takes a part of a date.
        top: words and n-grams of a list.
        ngrams: sizes from 2 to 5, such as (2, 3) or "2,3"; () or "none" for none.
        zipf_s: exponent of the table of Zipf's law, instead of the fitted one.
        readability: score the texts by the formulas of their main language, see `nlpkit.text.surface`.
        dispersion: measure how evenly the words are spread over the documents, see `nlpkit.metrics.texts.corpus`.
        words: which words count.
        execution: number of threads.
        settings: fields of these records, such as stop_words="auto".

    Raises:
        UsageError: options that are unknown; InputError: there are no documents; ColumnError: there is no such column.

    Example:
        >>> statistics = nk.stats(["the cat sat", "the dog ran"], stop_words="none", language="en")
        >>> statistics.table()["term"].to_pylist()[:1]
        ['the']
    """
    words, execution = with_settings((words, execution), settings, (CountOptions, Execution))
    options = replace(preprocess_options(words.tokens()), lists_must_match=False)
    sizes = ngram_sizes(ngrams)
    with as_corpus(data).open() as stream:
        groups = None if by is None else Groups(by, stream.schema, stream.where)

        def keep(batch: pa.RecordBatch) -> pa.RecordBatch:
            group = np.full(batch.num_rows, -1, np.int32) if groups is None else groups.assign(batch)
            kept = pa.RecordBatch.from_arrays([pa.array(group)], names=[GROUP])
            return kept.append_column(TEXT, batch.column("text")) if readability else kept

        documents = encode(stream, options, keep=keep, threads=execution.n_threads())
    try:
        names, places = groups.finish() if groups is not None else ([], np.full(1, -1, np.int32))
        report = None if documents.fitted is None else documents.fitted.report
        languages = languages_of(report, stream, options)
        scores = _readability(documents, languages) if readability else {}
        whole, parts, ungrouped = _counted(documents, names, places, sizes, top, scores)
        if dispersion:
            whole, *parts = _with_dispersion(documents, places, [whole, *parts])
    finally:
        documents.close()
    terms = pa.array(documents.terms, pa.string())
    if report is None:
        reporting.note("the words come from the column 'tokens', unchanged")
    if ungrouped and by is not None:
        reporting.note(f"in no group: {wording.counted(ungrouped, 'document')} without a value in '{by}'")
    return CorpusStatistics(
        whole, parts, terms, terms.take(pa.array(whole.ids)), by, ungrouped, top, zipf_s,
        languages, report, options, stream,
    )  # fmt: skip


def _readability(documents: EncodedDocuments, languages: Sequence[str]) -> dict[str, FloatArray]:
    """Return the readability of the texts (D,) by formula, of the language that most are in."""
    language = languages[0] if languages else None
    rows, scores = 0, []
    with reporting.progress("readability", None) as update:
        for batch, _ in documents:
            scores.append(text_readability(batch.column(TEXT).to_pylist(), language))
            update(rows := rows + batch.num_rows)
    if not scores[0]:
        reporting.warn(f"readability counts words between spaces, which texts in '{language}' do not have")
    elif len(languages) > 1:
        reporting.note(f"readability by the formulas of '{language}', the language of most documents")
    return {name: np.concatenate([one[name] for one in scores]) for name in scores[0]}


def _spread(dispersion: Dispersion | None, v: int) -> dict[str, float | None]:
    if dispersion is None:
        return {}
    return {name: finite_or_none(float(getattr(dispersion, name)[v])) for name in ("dp", "dp_norm", "juilland_d")}


def _mean(values: FloatArray) -> float:
    """Return the mean of the values that are not nan; nan where there are none."""
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")


def _counted(
    documents: EncodedDocuments,
    names: Sequence[str],
    places: IntArray,
    sizes: Sequence[int],
    top: int,
    readability: dict[str, FloatArray],
) -> tuple[GroupStatistics, list[GroupStatistics], int]:
    """Return the words of the corpus and of its groups, and the number of documents without a group."""
    terms = pa.array(documents.terms, pa.string())

    def batches() -> Iterator[tuple[EncodedBatch, IntArray]]:
        for batch, encoded in documents:
            yield encoded, places[batch.column(GROUP).to_numpy()]

    with reporting.progress("count", None) as update:
        whole_tally, tally = WordTally(1), WordTally(len(names))
        lengths, of_group, diversities, rows = [], [], [], 0
        for batch, group_of in batches():
            whole_tally.add(batch, np.zeros(len(group_of), np.int32))
            tally.add(batch, group_of)
            lengths.append(narrow(np.diff(batch.offsets), "tokens of one document"))
            of_group.append(group_of)
            diversities.append(lexical_diversity(batch.offsets, batch.term_ids, len(terms)))
            update(rows := rows + len(group_of))
        n_tokens, group = np.concatenate(lengths), np.concatenate(of_group)

        diversity = LexicalDiversity(
            *(np.concatenate([getattr(one, name) for one in diversities]) for name in ("mtld", "mattr", "hdd"))
        )

        def statistics(words: GroupWords, name: str | None, rows: LongArray) -> GroupStatistics:
            order = _by_rank(words, terms)
            figures = corpus_figures(words.cf, words.first_seen, n_tokens[rows])
            summary = summarize_diversity(diversity.take(rows))
            read = {formula: _mean(values[rows]) for formula, values in readability.items()}
            return GroupStatistics(
                name, words.term_ids[order], words.cf[order], words.df[order], figures, summary, read, {}
            )

        whole = statistics(whole_tally.groups()[0], None, np.arange(len(n_tokens)))
        members = np.split(np.argsort(group, kind="stable"), np.searchsorted(np.sort(group), np.arange(len(names))))[1:]
        parts = [
            statistics(words, name, rows_) for words, name, rows_ in zip(tally.groups(), names, members, strict=True)
        ]
        ranks = np.empty(len(terms), np.int32)
        ranks[whole.ids] = np.arange(len(whole.ids), dtype=np.int32)

        def ranked(*, grouped: bool) -> Iterator[tuple[EncodedBatch, IntArray]]:
            for batch, group_of in batches():
                yield (
                    EncodedBatch(batch.offsets, ranks[batch.term_ids]),
                    group_of if grouped else np.zeros(len(group_of), np.int32),
                )

        for n in sizes:
            update(rows, f"{n}-grams")
            total = whole.figures.tokens
            whole.ngrams[n] = frequent_ngrams(
                lambda: ranked(grouped=False), n, top=top, frequencies=whole.cf, n_tokens=total
            )[0]
            if names:
                grams_by_group = frequent_ngrams(
                    lambda: ranked(grouped=True), n, top=top, frequencies=whole.cf, n_tokens=total, n_groups=len(names)
                )
                for part, grams in zip(parts, grams_by_group, strict=True):
                    part.ngrams[n] = grams
    return whole, parts, int((group < 0).sum())


def _with_dispersion(
    documents: EncodedDocuments, places: IntArray, groups: Sequence[GroupStatistics]
) -> list[GroupStatistics]:
    """Return the words of the corpus and of its groups with their dispersion over the documents."""
    spread = word_dispersion(documents, GROUP, places, [(words.ids, words.cf) for words in groups])
    return [replace(words, dispersion=one) for words, one in zip(groups, spread, strict=True)]


def _by_rank(words: GroupWords, terms: pa.Array) -> LongArray:
    """Return the order of the words (V,): most frequent first, equals by code point."""
    table = pa.table({"cf": words.cf, "term": terms.take(pa.array(words.term_ids))})
    order: LongArray = pc.sort_indices(table, [("cf", "descending"), ("term", "ascending")]).to_numpy().astype(np.int64)
    return order


def ngram_sizes(sizes: str | Sequence[int]) -> tuple[int, ...]:
    """Return the sizes of n-grams, ascending.

    Raises:
        UsageError: one is not from 2 to 5.
    """
    text = sizes if isinstance(sizes, str) else ",".join(map(str, sizes))
    if text.strip() in ("none", ""):
        return ()
    if not re.fullmatch(r"\s*[2-5]\s*(,\s*[2-5]\s*)*", text):
        raise UsageError(f"`ngrams` takes sizes from 2 to 5 such as 2,3, or none; got '{text}'", parameter="ngrams")
    return tuple(sorted({int(n) for n in text.split(",")}))


def languages_of(report: PreprocessReport | None, stream: DocumentStream, options: PreprocessOptions) -> list[str]:
    """Return the languages of the documents: named, detected, or those that preprocess found."""
    if report is not None:
        return [share.code for share in report.languages]
    if options.language != "auto":
        return [] if options.language == "none" else [options.language]
    settings = step_parameters(stream.steps, "preprocess") or {}
    return [str(code) for code, _ in settings.get("languages", ())]
