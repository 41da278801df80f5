"""The terms that tell classes apart, counted batch by batch: c-tf-idf, and keyness of two classes.

Parts, in this order:
- Two classes compared word by word: which documents belong to them, and how their words are dispersed over parts.
- Any number of classes: counted, and their terms weighted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.texts.corpus import dispersion
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import as_corpus, no_documents, no_words
from nlpkit.platform.documents.groups import Groups
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.reading import open_run_documents, run_of
from nlpkit.platform.runs.saving import save_derived_table
from nlpkit.platform.types import CsrMatrix, FloatArray, IntArray, LongArray
from nlpkit.text.options import PreprocessOptions, TokenOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.text.tokens import changed_token_options, cut_as_model, note_tokens, token_parameters
from nlpkit.weights.counts import count_corpus
from nlpkit.weights.ctfidf import (
    EPSILON,
    TopTerms,
    class_tfidf,
    document_chi_squared,
    effect_sizes,
    importance,
    top_terms,
    values_of,
)
from nlpkit.weights.ctfidf import keyness as keyness_of_counts
from nlpkit.weights.dtm import ClassTermCounts, group_rows
from nlpkit.weights.options import ClassTermOptions, KeynessOptions

if TYPE_CHECKING:
    from nlpkit.platform.documents.corpora import DocumentStream
    from nlpkit.platform.runs.provenance import HasProvenance
    from nlpkit.weights.counts import CountedCorpus


def compared_classes(names: Sequence[str], options: ClassTermOptions) -> tuple[list[tuple[str, ...]], IntArray]:
    """Return the names of the two sides, and the side of each class (C,): 0 the target, 1 the reference, -1 neither.

    Raises:
        InputError: there is no such class; the nearest one, or those there are, are named.
    """
    sides = np.full(len(names), 1 if options.reference is None else -1, np.int32)
    for side, parameter in ((1, "reference"), (0, "target")):
        name = getattr(options, parameter)
        if name is None:
            continue
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"there are {wording.listed(names, 10)}"
            raise InputError(f"`{parameter}={name}`: '{options.by}' has no such value; {hint}", parameter=parameter)
        sides[names.index(name)] = side
    return [(str(options.target),), (options.reference or f"not {options.target}",)], sides


def dispersion_of(
    counts: CountedCorpus,
    assign: Callable[[pa.RecordBatch], IntArray],
    side_of: IntArray,
    parts: Groups | None,
    term_ids: IntArray,
) -> dict[str, FloatArray]:
    """Return the dispersion of terms (S, n), -1 for none, over the parts of their side: dp, dp_norm, juilland_d, range.

    Args:
        counts: a counted corpus, which is read once more.
        assign: returns the number of the class of each document of a batch (D,), -1 for none.
        side_of: (G,) side of each class by the number that `assign` gives it, -1 for none.
        parts: groups that are the parts; None for documents. Documents of no group are in no part.
    """
    places, columns = np.unique(term_ids, return_inverse=True)
    columns = columns.reshape(term_ids.shape)
    rows, sizes, sides, part_of, n_docs = [], [], [], [], 0
    for batch, dtm in counts.batches():
        numbers = assign(batch)
        part = np.arange(n_docs, n_docs + batch.num_rows) if parts is None else parts.assign(batch).astype(np.int64)
        n_docs += batch.num_rows
        side = np.where(numbers < 0, -1, side_of[numbers])
        used = np.flatnonzero((side >= 0) & (part >= 0))
        rows.append(dtm[used][:, places[places >= 0]])
        sizes.append(np.asarray(dtm.sum(axis=1)).ravel()[used])
        sides.append(side[used])
        part_of.append(part[used])
    of_terms, tokens, side, part = sparse.vstack(rows).tocsr(), *map(np.concatenate, (sizes, sides, part_of))
    values = {name: np.full(term_ids.shape, np.nan) for name in ("dp", "dp_norm", "juilland_d", "range")}
    first = int(len(places) > 0 and places[0] < 0)  # where -1 is among the terms, it is the first
    for s in range(len(term_ids)):
        here = np.flatnonzero(side == s)
        groups, place = np.unique(part[here], return_inverse=True)
        summed = group_rows(of_terms[here], place.astype(np.int32), len(groups))
        spread = dispersion(summed, np.bincount(place, tokens[here], len(groups)).astype(np.int64))
        is_term = term_ids[s] >= 0
        for name, row in values.items():
            row[s, is_term] = getattr(spread, name)[columns[s, is_term] - first]
    return values


# ------------------------------------------------------------------------------------------------------------------------
# Which terms tell classes apart: count the classes of documents batch by batch, weight their terms.

EFFECTS = ("tf", "tf_rest", "rate", "rate_rest", "g2", "log_ratio", "difference")
WHOLE_NUMBERS = ("tf", "tf_rest", "df", "df_rest", "range")


class Classes:
    """The classes of a stream of documents: values of a column, or pairs of values of two, numbered as they come."""

    def __init__(self, by: str, over: str | None, stream: DocumentStream) -> None:
        self._where = stream.where
        self.names = [by] if over is None else [by, over]
        self._by = Groups(by, stream.schema, stream.where)
        self._over: Groups | None = None
        if over is not None:
            self._over = Groups(over, stream.schema, stream.where, parameter="over")
        self._pairs: dict[tuple[int, int], int] = {}

    @property
    def columns(self) -> list[str]:
        """The columns of the documents that are needed."""
        return [self._by.column] + ([] if self._over is None else [self._over.column])

    def assign(self, batch: pa.RecordBatch) -> IntArray:
        """Return the number of the class of each document of a batch (D,), -1 for none."""
        first = self._by.assign(batch)
        if self._over is None:
            return first
        second = self._over.assign(batch)
        keys = np.where((first < 0) | (second < 0), np.int64(-1), (first.astype(np.int64) << 32) | second)
        distinct, inverse = np.unique(keys, return_inverse=True)
        numbers = [
            -1 if key < 0 else self._pairs.setdefault((key >> 32, key & 0xFFFFFFFF), len(self._pairs))
            for key in distinct.tolist()
        ]
        return np.array(numbers, np.int32)[inverse]

    def finish(self) -> tuple[list[tuple[str, ...]], IntArray]:
        """Return the names of the classes in order, one or two each, and the number that `assign` gave each.

        Raises:
            ColumnError: there are no dates where some were wanted; InputError: fewer than two classes.
        """
        firsts, places = self._by.finish()
        if self._over is None:
            names: list[tuple[str, ...]] = [(name,) for name in firsts]
            order = np.argsort(places[:-1]).astype(np.int32)
        else:
            seconds, second_places = self._over.finish()
            pairs = sorted((places[a], second_places[b], number) for (a, b), number in self._pairs.items())
            names = [(firsts[a], seconds[b]) for a, b, _ in pairs]
            order = np.array([number for _, _, number in pairs], np.int32)
        if len(names) < 2:
            only = f" ({' '.join(names[0])})" if names else ""
            raise InputError(
                f"'{' × '.join(self.names)}' of {self._where} has {wording.counted(len(names), 'class', 'classes')}"
                f"{only}; at least two are compared: name another column with `by`"
            )
        return names, order


@dataclass(frozen=True)
class ClassTerms(Tabular):
    """Terms of classes. `table` has a row for each term of each class.

    Attributes:
        table: class, rank, term, weight and counts.
        names: the names of the classes (C,), one or two each.
        documents: number of documents of each class (C,).
        terms: the terms of the corpus (V,).
        left_out: number of documents of no class.
        parameters: the options in force.
    """

    # best: the best terms, further: more columns of them (C, n); columns: the columns of the classes; command: the one that made them.

    names: list[tuple[str, ...]]
    documents: LongArray
    best: TopTerms
    further: dict[str, Any]
    parameters: dict[str, Any]
    terms: tuple[str, ...]
    columns: list[str]
    options: ClassTermOptions
    tokens: dict[str, Any] | None
    n_docs: int
    source: HasProvenance
    command: str = "ctfidf"

    def __repr__(self) -> str:
        return wording.described(
            self, wording.counted(len(self.names), "class", "classes"), wording.counted(self.n_docs, "document")
        )

    @property
    def left_out(self) -> int:
        """Documents without a class."""
        return self.n_docs - int(self.documents.sum())

    @cached_property
    def table(self) -> pa.Table:
        """The best terms: class, over (of classes that are pairs), rank, term, weight, and further columns."""
        is_term = self.best.term_ids >= 0
        of_class, rank = np.nonzero(is_term)
        named = [pa.array(column, pa.string()) for column in zip(*self.names, strict=True)]
        columns: dict[str, Any] = {
            name: values.take(pa.array(of_class)) for name, values in zip(("class", "over"), named, strict=False)
        }
        columns["rank"] = pa.array(rank + 1, pa.int32())
        columns["term"] = pa.array(self.terms, pa.string()).take(pa.array(self.best.term_ids[is_term]))
        columns["weight"] = pa.array(self.best.weights[is_term], pa.float32())
        for name, values in self.further.items():
            kind = np.int64 if name in WHOLE_NUMBERS else np.float32
            columns[name] = pa.array(values[is_term].astype(kind), from_pandas=True)
        return pa.table(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return what was in force, and the terms of each class; of pairs: class → over → terms."""
        nested: dict[str, Any] = {}
        for names, ids in zip(self.names, self.best.term_ids, strict=True):
            inner = nested
            for name in names[:-1]:
                inner = inner.setdefault(name, {})
            inner[names[-1]] = [self.terms[t] for t in ids if t >= 0]
        facts = {"documents": self.n_docs, "left_out": self.left_out, **self.parameters}
        rows = {} if self.options.target is None else {"comparison": self.table.to_pylist()}
        return {"by": self.options.by, "over": self.options.over, **facts, "terms": nested, **rows}

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write the table, and the list of rows that could not be read beside it. Raises OutputExistsError when it is there."""
        parameters = {
            "by": self.options.by,
            "over": self.options.over,
            "top_n": self.options.top_n,
            "classes": len(self.names),
            "left_out": self.left_out,
            **self.parameters,
            "tokens": self.tokens,
        }
        save_derived_table(
            target, self.table, "class_terms", self.source, command=self.command, parameters=parameters, force=force
        )


def ctfidf(
    data: Any,
    *,
    options: ClassTermOptions | None = None,
    tokens: TokenOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> ClassTerms:
    """Return the terms that tell the classes of documents apart.

    c-tf-idf: tf_wc / words of c · ln(1 + A / tf_w), A = mean words per class (Grootendorst 2022, not truncated); or the importance
    score, or log-odds with a Dirichlet prior (Monroe et al. 2008).

    Args:
        data: a Corpus, texts, or a data frame; a corpus of one run directory is read again and cut as it was for the run.
        options: the column or columns of the classes, and the weighting.
        tokens: how texts become tokens, where they have none.
        execution: threads.
        settings: single fields of these records, such as by="source".

    Raises:
        ColumnError: a column is not there, or has no dates; InputError: no documents, no words, or fewer than two classes.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> terms = nk.ctfidf(corpus, by="label", top_n=1)
        >>> terms.table.select(["class", "term"]).to_pylist()
        [{'class': 'finance', 'term': 'debt'}, {'class': 'nature', 'term': 'fish'}]
    """
    options, tokens, execution = with_settings(
        (options, tokens, execution), settings, (ClassTermOptions, TokenOptions, Execution)
    )
    _weights(sparse.csr_array((1, 1)), options)  # a number that cannot be meant is told before reading
    corpus, token_options = as_corpus(data), preprocess_options(tokens)
    run = run_of(corpus.inputs)
    if run is not None:
        changed = changed_token_options(token_options)
        if changed:
            raise UsageError(
                f"{', '.join(changed)}: the corpus of {run.path} is tokenised as for the fit; leave it out"
            )
    with corpus.open() if run is None else open_run_documents(run, corpus.options) as stream:
        if not stream.has_documents():  # told before a column that no file without rows can have
            raise no_documents(stream)
        classes, use_tokens = Classes(options.by, options.over, stream), True
        if run is not None:
            cut = cut_as_model(stream, run.manifest["parameters"].get("tokens"), f"the run {run.path}", bounds=False)
            words = tuple(run.table("vocab", ["term"]).column("term").to_pylist())
            token_options, use_tokens = replace(cut or PreprocessOptions(), vocab=words), cut is None
        parts = None if options.parts is None else Groups(options.parts, stream.schema, stream.where, parameter="parts")
        columns = list(dict.fromkeys([*classes.columns, *([] if parts is None else [parts.column])]))
        with count_corpus(
            stream, token_options, columns=columns, threads=execution.n_threads(), own_tokens=use_tokens
        ) as counts:
            if not counts.terms:
                raise no_words(counts.n_docs)
            sums, holding = ClassTermCounts(len(counts.terms)), ClassTermCounts(len(counts.terms))
            for batch, dtm in counts.batches():
                numbers = classes.assign(batch)
                sums.add(numbers, dtm)
                if options.scheme == "keyness":
                    holding.add(numbers, (dtm > 0).astype(np.int64))
            names, order = classes.finish()
            by_class, documents = sums.finish(order)
            present = holding.finish(order)[0] if options.scheme == "keyness" else None
            if options.target is not None:
                names, sides = compared_classes([name for (name,) in names], options)
                by_class, present = (group_rows(matrix, sides, len(names)) for matrix in (by_class, present))
                by_class.sort_indices()
                present.sort_indices()
                documents = np.bincount(sides[sides >= 0], documents[sides >= 0], len(names)).astype(np.int64)
            weights, further, in_force = _weights(by_class, options)
            if present is not None:
                further |= document_chi_squared(present, documents)
            best = top_terms(weights, options.top_n)
            values = {name: values_of(matrix, best.term_ids) for name, matrix in further.items()}
            if options.target is not None:
                side_of = np.full(len(order), -1, np.int32)
                side_of[order] = sides
                values |= dispersion_of(counts, classes.assign, side_of, parts, best.term_ids)
                in_force |= {"target": options.target, "reference": options.reference, "parts": options.parts}
    terms = ClassTerms(
        names, documents, best, values,
        {"weighting": options.scheme, **in_force}, counts.terms, classes.names, options,
        token_parameters(token_options, counts.report) if counts.report else None,
        counts.n_docs, stream,
    )  # fmt: skip
    if counts.report is not None:
        note_tokens(counts.report)
    if terms.left_out:
        what = "a topic" if classes.names == ["topic"] else f"a value in '{' and '.join(classes.names)}'"
        others = " or of other classes" if options.reference is not None else ""
        reporting.note(f"left out: {wording.counted(terms.left_out, 'document')} without {what}{others}")
    return terms


def keyness(
    data: Any,
    *,
    options: KeynessOptions | None = None,
    tokens: TokenOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> ClassTerms:
    """Return the words that distinguish two groups of documents, or each group from all others.

    Words are ranked by z: the log-odds of a word in a group against the reference, with a Dirichlet prior, divided by their standard
    error (Monroe et al. 2008, "Fightin' words"). With `target`, each word also has its frequency in both groups, G² (Dunning
    1993), the log ratio, %DIFF and its dispersion. These are the numbers of `ctfidf` with weighting="keyness".

    Args:
        data: a Corpus, texts, or a data frame; a corpus of one run directory is read again and cut as it was for the run.
        options: the column of the groups, and the two that are compared: `target` with `reference`, or with all others.
        tokens: how texts are cut, where there are no tokens.
        execution: threads.
        settings: single fields of these records, such as by="party", target="R", reference="D".

    Raises:
        ColumnError: a column is not there, or has no dates; InputError: no documents, no words, fewer than two groups, or no such
        group.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> nk.keyness(corpus, by="label", target="nature", top_n=1).table["term"].to_pylist()
        ['fish', 'debt']
    """
    options, tokens, execution = with_settings(
        (options, tokens, execution), settings, (KeynessOptions, TokenOptions, Execution)
    )
    terms = ctfidf(
        data, options=ClassTermOptions(weighting="keyness", **asdict(options)), tokens=tokens, execution=execution
    )
    return replace(terms, command="keyness")


def _weights(counts: CsrMatrix, options: ClassTermOptions) -> tuple[CsrMatrix, dict[str, CsrMatrix], dict[str, Any]]:
    """Return weights (C, V), matrices for further columns, and the parameters in force."""
    if options.scheme == "importance":
        epsilon = EPSILON if options.epsilon is None else options.epsilon
        return importance(counts, epsilon=epsilon), {}, {"epsilon": epsilon}
    if options.scheme == "keyness":
        scores, effects = keyness_of_counts(counts, prior_words=options.prior_words), effect_sizes(counts)
        columns = {"log_odds": scores.log_odds, "z": scores.z, **{name: getattr(effects, name) for name in EFFECTS}}
        return scores.z, columns, {"prior_words": scores.prior_words}
    parameters = {"reduce_frequent_words": options.reduce_frequent_words, "bm25": options.bm25}
    return (
        class_tfidf(counts, **parameters, truncate_mean=options.compat == "bertopic"),
        {},
        {**parameters, "compat": options.compat},
    )
