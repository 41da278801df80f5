"""The run of `nlpkit tfidf`: documents weighted anew, or as those in an earlier model.

Parts, in this order:
- Weighted terms of documents: fitted on a corpus, or as a fit before says; a matrix, a long table, or files for other
  tools.
- New documents in the columns and with the idf of documents before, or in the space of their LSA or PCA.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import add_column, embedding_column
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import as_corpus, no_words, warn_dropped
from nlpkit.platform.documents.groups import Groups
from nlpkit.platform.documents.inputs import DroppedRow
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.parallel import ahead
from nlpkit.platform.runs.artifacts import write_table
from nlpkit.platform.runs.atomic import atomic_file
from nlpkit.platform.runs.provenance import source_block
from nlpkit.platform.runs.tables import save_table, table_format, table_sink, write_dropped
from nlpkit.platform.types import CsrMatrix, IntArray
from nlpkit.text.options import PreprocessOptions, TokenOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.text.tokens import cut_as_model, note_tokens, token_info
from nlpkit.weights.counts import CountedCorpus, count_corpus
from nlpkit.weights.files import (
    MATRIX_WRITERS,
    WeightedDocuments,
    WeightModel,
    WeightsTarget,
    long_table,
    read_weight_model,
    regrouped,
    stacked,
    weights_sink,
    weights_target,
)
from nlpkit.weights.options import Scheme, SelectionOptions, WeightOptions
from nlpkit.weights.selection import (
    ContingencyCounter,
    DocumentClasses,
    FeatureScore,
    FeatureSelection,
    SelectedFeatures,
    features_table,
    select_features,
)
from nlpkit.weights.tfidf import CorpusStats, Weighting, kept_columns, weighting

Carry = Literal["nothing", "labels", "columns"]
NOT_CARRIED = ("text", "tokens", "embedding")


class DocumentTermWeights:
    """The weights of documents (D, V') with the names of rows and columns.

    nlpkit makes them from counts in a spool, group by group, so that they never have to be in memory together.

    Attributes:
        matrix: the weights (D, V'), a CSR matrix.
        ids: the ids of the documents (D,).
        terms: the terms of the columns (V',).
        scheme: how terms are weighted.
        model: what weights new documents in the same way.
    """

    # stream: what was read. block: the footer of what is written. classes: of documents, where they were read; selected: the features
    # that are columns, where they were selected; fitted: the model of earlier documents whose weights are used.

    def __init__(
        self,
        corpus: CountedCorpus,
        weigher: Weighting,
        stream: DocumentStream,
        block: dict[str, Any],
        *,
        classes: DocumentClasses | None = None,
        selected: SelectedFeatures | None = None,
        fitted: WeightModel | None = None,
        threads: int = 1,
    ) -> None:
        self.corpus, self.weighting, self.stream, self.block = corpus, weigher, stream, block
        self.classes, self.selected, self.fitted, self.threads = classes, selected, fitted, threads

    def __repr__(self) -> str:
        return wording.described(
            self, wording.counted(self.corpus.n_docs, "document"), wording.counted(len(self.terms), "term")
        )

    @property
    def scheme(self) -> Scheme:
        """How terms are weighted."""
        return self.weighting.scheme

    @property
    def kept(self) -> IntArray:
        """Places (V',) of the terms that are columns among those of the corpus."""
        if self.fitted is not None:
            return self.fitted.kept
        return np.arange(len(self.corpus.terms), dtype=np.int32) if self.selected is None else self.selected.kept

    @property
    def terms(self) -> list[str]:
        """(V',) the names of the columns."""
        return [self.corpus.terms[i] for i in self.kept]

    @property
    def ids(self) -> pa.ChunkedArray:
        """(D,) the ids of the documents."""
        return self.corpus.rows().column("id")

    @property
    def matrix(self) -> CsrMatrix:
        """The weights (D, V') as a CSR matrix of scipy, in memory."""
        return stacked([group.weights for group in self.groups()])

    @property
    def model(self) -> WeightModel:
        """What weighs new documents as these: `nlpkit.weights.run.weigh(model, data)`."""
        if self.fitted is not None:
            return self.fitted
        return WeightModel(
            Path("this tfidf"), self._all_terms(), self.kept, self.vocabulary(), self.weighting, self.corpus.n_docs,
            self.block["parameters"],
        )  # fmt: skip

    def groups(self, rows: list[pa.RecordBatch] | None = None) -> Iterator[WeightedDocuments]:
        """Yield the documents with their counts and weights; their ids and other columns are added to `rows`."""
        places, n_terms = None, len(self.kept)
        if n_terms < len(self.corpus.terms):
            places = np.full(len(self.corpus.terms), -1, np.int32)
            places[self.kept] = np.arange(n_terms, dtype=np.int32)
        start = 0
        with reporting.progress("weights", self.corpus.n_docs) as update:
            for batch, counts in regrouped(self.corpus.batches()):
                weights = self.weighting.weigh(counts)
                if places is not None:
                    counts, weights = (kept_columns(m, places, n_terms) for m in (counts, weights))
                stop = start + batch.num_rows
                classes = None if self.classes is None else self.classes.of_documents[start:stop]
                if rows is not None:
                    rows.append(batch)
                yield WeightedDocuments(batch.column("id"), counts, weights, classes)
                start = stop
                update(start)

    def table(self) -> pa.Table:
        """Return a row for each weight: id, term, tf, weight."""
        terms = pa.array(self.terms, pa.string())
        return pa.Table.from_batches(long_table(group, terms) for group in self.groups()).unify_dictionaries()

    def vocabulary(self) -> pa.Table:
        """Return term, cf, df, idf of the columns, and score where terms were selected; of a model, those it had."""
        if self.fitted is not None:
            return self.fitted.vocab
        if self.selected is None:
            return self._all_terms()
        scores = pa.array(self.selected.scores[self.kept], from_pandas=True)
        return self._all_terms().take(pa.array(self.kept)).append_column("score", scores)

    def features(self) -> pa.Table | None:
        """Return the best features of each class, None where none were selected."""
        if self.selected is None or self.classes is None:
            return None
        return features_table(self.selected, self.classes, self.corpus.terms)

    def left_out(self) -> pa.Table | None:
        """Return all terms where some of them are no columns but count for the weights, None where there are none."""
        if len(self.kept) == len(self.corpus.terms):
            return None
        return self._all_terms() if self.fitted is None else self.fitted.terms

    def _all_terms(self) -> pa.Table:
        corpus = self.corpus
        return pa.table(
            {
                "term": pa.array(corpus.terms, pa.string()),
                "cf": pa.array(corpus.cf, pa.int64()),
                "df": pa.array(corpus.df, pa.int64()),
                "idf": pa.array(self.weighting.idf),
            }
        )

    def summary(self) -> dict[str, Any]:
        """Return numbers of documents and terms, the weighting, and the best features of each class."""
        scheme = self.scheme
        facts = {
            "documents": self.corpus.n_docs, "terms": len(self.kept), "dropped": len(self.stream.dropped),
            "formula": scheme.formula, "smart": scheme.smart, "scheme": asdict(scheme),
        }  # fmt: skip
        features = self.features()
        if features is not None and self.classes is not None:
            best: dict[str, list[str]] = {name: [] for name in self.classes.names}
            for row in features.to_pylist():
                best[row["class"]].append(row["term"])
            facts["features"] = best
        return facts

    def save(self, target: str | Path | WeightsTarget, *, to: str | None = None, force: bool = False) -> dict[str, Any]:
        """Write the weights with their vocabulary beside them (of a matrix the ids, too); return what was written.

        Args:
            target: a table, which gets a row for each weight, a matrix (.npz .mtx .svm), or "-" for JSON lines on stdout.
            to: the format, whatever the name says.
            force: replace what is there.

        Raises:
            UsageError: the name says no format; OutputExistsError: it is there.
        """
        goal = target if isinstance(target, WeightsTarget) else weights_target(str(target), to)
        goal.check(force=force, terms=len(self.kept) < len(self.corpus.terms))
        seen = _Seen()
        rows: list[pa.RecordBatch] = []
        passing = seen.watch(self.groups(rows if goal.is_matrix else None))
        groups = ahead(passing) if self.threads > 1 else passing
        if goal.is_matrix:
            with atomic_file(Path(goal.path), force=force) as part:
                MATRIX_WRITERS[goal.format](part, groups, len(self.kept))
            self._write_beside(goal, "ids", self._ids(rows))
        else:
            terms = pa.array(self.terms, pa.string())
            with weights_sink(goal.path, self.block, few_values=self.scheme.few_values, force=force) as sink:
                for group in groups:
                    sink.write(long_table(group, terms))
        self._write_beside(goal, "vocab", self.vocabulary())
        left_out = self.left_out()
        if left_out is not None:
            self._write_beside(goal, "terms", left_out)
        self._report_written(goal, seen)
        format = goal.format if goal.is_matrix else "jsonl" if goal.path == "-" else table_format(goal.path)
        return {"output": goal.path, "to": format, "weights": seen.entries, "empty": len(seen.empty)}

    def save_features(self, target: Path, *, force: bool = False) -> None:
        """Write the best features of each class, where features were selected."""
        features = self.features()
        if features is not None and self.classes is not None:
            save_table(target, features, {**self.block, "kind": "class_features"}, force=force)
            reporting.note(f"wrote {target}: the best features of {len(self.classes.names)} classes")

    def _ids(self, rows: list[pa.RecordBatch]) -> pa.Table:
        """Return the ids in the order of the rows, with the class as a name and as a number."""
        columns = {"id": pa.chunked_array([batch.column("id") for batch in rows], pa.string())}
        if self.classes is not None:
            codes = pa.array(self.classes.of_documents, mask=self.classes.of_documents < 0)
            columns["label"] = pa.array(self.classes.names, pa.string()).take(codes)
            columns["class"] = pa.array(self.classes.of_documents)
        return pa.table(columns)

    def _write_beside(self, goal: WeightsTarget, kind: str, table: pa.Table) -> None:
        path = goal.beside(kind)
        if path is not None:
            with atomic_file(path, force=True) as part:  # checked before the work began
                write_table(part, table, {**self.block, "kind": kind})

    def _report_written(self, goal: WeightsTarget, seen: _Seen) -> None:
        """List the rows that could not be used, and say what was written."""
        # in the long form documents without a term have no row
        empty = [] if goal.is_matrix else [DroppedRow(id_, "weights", "no term") for id_ in seen.empty]
        listed = write_dropped(goal.path, [*self.stream.dropped, *empty], self.block)
        warn_dropped(self.stream, listed)
        if seen.empty:
            one = len(seen.empty) == 1
            keep = "has no row" if one else "have no rows"
            if goal.is_matrix:
                keep = "is a row of zeros" if one else "are rows of zeros"
            elif listed is not None:
                keep += f" and {'is' if one else 'are'} listed in {listed}"
            reporting.note(f"{wording.counted(len(seen.empty), 'document')} without a term {keep}")
        if goal.path != "-":
            ids = f", ids of the rows in {goal.beside('ids')}" if goal.is_matrix else ""
            reporting.note(f"wrote {goal.path}: {seen.entries:,} weights; terms in {goal.beside('vocab')}{ids}")


class _Seen:
    """Counts weights, and the documents without any, as they pass."""

    def __init__(self) -> None:
        self.entries = 0
        self.empty: list[str] = []

    def watch(self, groups: Iterable[WeightedDocuments]) -> Iterator[WeightedDocuments]:
        for group in groups:
            self.entries += group.counts.nnz
            self.empty += group.ids.take(pa.array(np.flatnonzero(np.diff(group.counts.indptr) == 0))).to_pylist()
            yield group


def tfidf(
    data: Any,
    *,
    tokens: TokenOptions | None = None,
    weights: WeightOptions | None = None,
    selection: SelectionOptions | None = None,
    execution: Execution | None = None,
    carry: Carry = "nothing",
    **settings: Any,
) -> DocumentTermWeights:
    """Return the weighted terms of documents, terms in alphabetical order.

    Args:
        data: a Corpus, texts, or a data frame.
        tokens: how texts become tokens, where there are none.
        weights: how terms are weighted; tf · ln(M / df) as it stands.
        selection: which terms become columns. The weights are computed with the whole vocabulary.
        execution: number of threads.
        carry: what travels along beside ids: nothing, the classes of the column label, or all columns but texts.
        settings: fields of these records, such as scheme="ltc", min_df=5, select="chi2:500".

    Raises:
        UsageError: options that are unknown or contradict each other; InputError: there are no documents, or no word is left;
        ColumnError: there is no such column of classes.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> weights = nk.tfidf(texts)
        >>> weights.matrix.shape
        (20, 7)
        >>> weights.terms[:3]
        ['bank', 'debt', 'fish']
    """
    kinds = (TokenOptions, WeightOptions, SelectionOptions, Execution)
    tokens, weights, selection, execution = with_settings((tokens, weights, selection, execution), settings, kinds)
    scheme, wanted = weighting_and_selection(weights, selection)
    options = preprocess_options(tokens)
    with as_corpus(data).open() as stream:
        by = selection.by or (
            "label" if wanted is not None or (carry == "labels" and "label" in stream.schema.names) else None
        )
        groups = None if by is None else Groups(by, stream.schema, stream.where)
        columns = [] if groups is None else [groups.column]
        if carry == "columns":
            columns += [n for n in stream.schema.names if n not in NOT_CARRIED and n not in (*columns, "id")]
        corpus = count_corpus(stream, options, columns=columns, threads=execution.n_threads())
        if not corpus.terms:
            raise no_words(corpus.n_docs)
        stats = CorpusStats(corpus.n_docs, corpus.terms, corpus.cf, corpus.df)
        weigher = weighting(stats, scheme, (counts for _, counts in corpus.batches()))
        classes = None if groups is None else read_classes(corpus, groups, wanted.score if wanted else None, weigher)
        selected = None if wanted is None or classes is None else select_features(classes, wanted, selection.top_n)
    report = corpus.report
    parameters: dict[str, Any] = {
        "formula": scheme.formula, "smart": scheme.smart, "scheme": asdict(scheme), "documents": corpus.n_docs,
        "terms": len(corpus.terms) if selected is None else len(selected.kept), "mean_length": weigher.mean_length,
        "pivot": weigher.pivot if scheme.norm.startswith("pivoted") else None,
        "tokens": token_info(options, report, stream.steps),
    }  # fmt: skip
    if classes is not None:
        parameters |= {"by": classes.by, "classes": classes.names}
    if wanted is not None:
        score = wanted.score
        parameters |= {
            "select": score.name, "larger_is_better": score.larger_is_better, "terms_before": len(corpus.terms),
        }  # fmt: skip
    block = source_block("weights", stream, command="tfidf", parameters=parameters)
    if report is not None:
        note_tokens(report)
    result = DocumentTermWeights(
        corpus, weigher, stream, block, classes=classes, selected=selected, threads=execution.n_threads()
    )
    _report_weights(result)
    return result


def weighting_and_selection(
    weights: WeightOptions, selection: SelectionOptions
) -> tuple[Scheme, FeatureSelection | None]:
    """Return how terms are weighted and which stay, None for all. Raises UsageError for options that contradict each other."""
    scheme, wanted = weights.weighting(), FeatureSelection.parse(selection.select)
    if selection.features is not None and wanted is None:
        raise UsageError(
            "`features` lists the best features by a score; name one, such as `select=chi2`", parameter="features"
        )
    return scheme, wanted


def read_classes(
    corpus: CountedCorpus, groups: Groups, score: FeatureScore | None, weigher: Weighting
) -> DocumentClasses:
    """Return the classes of all documents and, when there is a score, the table it is made from.

    Raises:
        ColumnError, InputError: see `Groups`; InputError: fewer than two classes.
    """
    counts_by_class = (
        None if score is None else ContingencyCounter(len(weigher.idf), with_values=score.basis != "presence")
    )
    codes = []
    for batch, counts in corpus.batches():
        codes.append(groups.assign(batch))
        if counts_by_class is not None and score is not None:
            counts_by_class.add(weigher.weigh(counts) if score.basis == "weights" else counts, codes[-1])
    names, places = groups.finish()
    if score is not None and len(names) < 2:
        raise InputError(
            f"'{groups.by}' has 1 class ({names[0]}); `select` compares at least two: name another column with `by`"
        )
    order = np.empty(len(names), np.int64)
    order[places[:-1]] = np.arange(len(names))
    table = None if counts_by_class is None else counts_by_class.table(order.tolist())
    return DocumentClasses(groups.by, names, places[np.concatenate(codes)], table)


def _report_weights(weights: DocumentTermWeights) -> None:
    """Say by which formula documents are weighted, which terms stay, and which documents have no class."""
    scheme, n_terms, classes = weights.scheme, len(weights.corpus.terms), weights.classes
    reporting.note(
        f"weight = {scheme.formula}{f' (SMART {scheme.smart})' if scheme.smart else ''}; "
        f"M = {weights.corpus.n_docs:,} documents, {n_terms:,} terms"
    )
    if weights.selected is not None:
        score = weights.selected.selection.score
        way = "larger" if score.larger_is_better else "smaller"
        reporting.note(
            f"kept {len(weights.kept):,} of {n_terms:,} terms by {score.name}: {score.what}, {way} is better"
        )
    n_unclassed = 0 if classes is None else int((classes.of_documents < 0).sum())
    if classes is not None and n_unclassed:
        reporting.note(f"{wording.counted(n_unclassed, 'document')} without a value in '{classes.by}'")


# ------------------------------------------------------------------------------------------------------------------------
# New documents in the columns and with the idf of documents before, or in the space of their LSA or PCA.


def load_weights(path: str | Path, *, verify: bool = True) -> WeightModel:
    """Return what `DocumentTermWeights.save` or `LatentSpace.save` left, to weigh new documents.

    Raises:
        InputError, SchemaError: it cannot be read, or was written by another command.
    """
    return read_weight_model(Path(path), verify=verify)


def weigh(
    model: WeightModel | DocumentTermWeights, data: Any, *, execution: Execution | None = None, carry: Carry = "nothing"
) -> DocumentTermWeights:
    """Return new documents (a Corpus, texts or a data frame) weighed as those of a model: its columns in their order, its idf.

    Texts are cut as the model's were; terms that it does not have are left out. carry: as in `tfidf`; the classes are those of the
    column by which the model's were selected.

    Raises:
        InputError: the documents cannot be cut as the model's were.
    """
    model = model.model if isinstance(model, DocumentTermWeights) else model
    by = str(model.parameters.get("by", "label"))
    corpus, stream, execution = _counted(model, data, execution, by if carry == "labels" else None, carry == "columns")
    classes = _classes(corpus, model, stream, by) if carry == "labels" and by in stream.schema.names else None
    _report(model, corpus)
    about = {"model": str(model.path), "new_documents": corpus.n_docs}
    if classes is not None:
        about = {"by": classes.by, "classes": classes.names, **about}
    block = _block(model, about, stream)
    return DocumentTermWeights(
        corpus, model.weighting, stream, block, classes=classes, fitted=model, threads=execution.n_threads()
    )


def weights_of(weighted: DocumentTermWeights, texts: list[str], *, execution: Execution) -> CsrMatrix:
    """Return the weights (n, V') of texts in the columns and with the idf of documents; says nothing."""
    corpus, stream, _ = _counted(weighted.model, texts, execution, None, False)
    return DocumentTermWeights(corpus, weighted.weighting, stream, {}, fitted=weighted.model).matrix


@dataclass(frozen=True, slots=True)
class PlacedDocuments:
    """New documents with a column of their vectors in the space of a latent semantic analysis, X W, or of a PCA, (X - 1 mᵀ) W."""

    model: WeightModel
    corpus: CountedCorpus
    stream: DocumentStream
    block: dict[str, Any]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the documents, the vectors last."""
        assert self.model.components is not None
        columns = [self.stream.schema.field(name) for name in self.stream.schema.names if name != self.model.space]
        return pa.schema([*columns, pa.field(self.model.space, pa.list_(pa.float32(), self.model.components.shape[1]))])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the documents."""
        model = self.model
        assert model.components is not None
        places = np.full(len(self.corpus.terms), -1, np.int32)
        places[model.kept] = np.arange(len(model.kept), dtype=np.int32)
        n_docs = empty = 0
        with reporting.progress("documents", self.corpus.n_docs) as update:
            for batch, counts in self.corpus.batches():
                weights = kept_columns(model.weighting.weigh(counts), places, len(model.kept))
                placed = weights @ model.components
                vectors = np.asarray(placed if model.center is None else placed - model.center, np.float32)
                yield add_column(batch, model.space, embedding_column(vectors))
                empty += int((np.diff(weights.indptr) == 0).sum())
                update(n_docs := n_docs + batch.num_rows)

    def table(self) -> pa.Table:
        """Return the documents as one table."""
        return pa.Table.from_batches(self.batches())

    def save(self, target: str | Path, *, force: bool = False) -> dict[str, Any]:
        """Write the documents; return how many there are, and how many without a term.

        Raises:
            UsageError: the suffix of the name is not one of a table; OutputExistsError: it is there.
        """
        assert self.model.components is not None
        empty, center = 0, self.model.center
        without = np.float32(0.0) if center is None else -center.astype(np.float32)  # where a row of zeros is
        with table_sink(target, self.schema, self.block, force=force) as sink:
            for batch in self.batches():
                sink.write(batch)
                vectors = np.stack(batch.column(self.model.space).to_numpy(zero_copy_only=False))
                empty += int((vectors == without).all(axis=1).sum())
        warn_dropped(self.stream, write_dropped(str(target), self.stream.dropped, self.block))
        if empty:
            vector = "0" if center is None else "that of a row of zeros"
            reporting.note(
                f"{wording.counted(empty, 'document')} without a term of the columns: the vector is {vector}"
            )
        if str(target) != "-":
            reporting.note(
                f"wrote {target}: {wording.counted(self.corpus.n_docs, 'document')} in {self.model.components.shape[1]} components"
            )
        dropped = len(self.stream.dropped)
        return {"output": str(target), "documents": self.corpus.n_docs, "empty": empty, "dropped": dropped}


def place(model: WeightModel, data: Any, *, execution: Execution | None = None) -> PlacedDocuments:
    """Return new documents (a Corpus, texts or a data frame) in the space of an LSA or a PCA.

    Raises:
        UsageError: the model has no such space; InputError: the documents cannot be cut as the model's were.
    """
    if model.components is None:
        raise UsageError(f"{model.path} has weights but no latent space; make one with `tfidf(lsa=20)` or `pca=20`")
    corpus, stream, _ = _counted(model, data, execution, None, True)
    _report(model, corpus)
    if model.space in stream.schema.names:
        reporting.warn(f"the column '{model.space}' of the input is replaced")
    about = {"model": str(model.path), "new_documents": corpus.n_docs}
    return PlacedDocuments(model, corpus, stream, {**_block(model, about, stream), "kind": "documents"})


def _counted(
    model: WeightModel, data: Any, execution: Execution | None, by: str | None, columns: bool
) -> tuple[CountedCorpus, DocumentStream, Execution]:
    """Return the counts of new documents over the terms of a model, with a column or all columns."""
    execution = execution or Execution()
    with as_corpus(data).open() as stream:
        cut = cut_as_model(stream, model.token_settings, str(model.path))
        options = replace(cut or PreprocessOptions(), vocab=model.words)
        names = [by] if by is not None and by in stream.schema.names else []
        if columns:
            names = [name for name in stream.schema.names if name not in ("id", model.space)]
        corpus = count_corpus(stream, options, columns=names, threads=execution.n_threads(), own_tokens=cut is None)
    return corpus, stream, execution


def _report(model: WeightModel, corpus: CountedCorpus) -> None:
    """Say how the documents were cut, and how many terms of the model they have."""
    if corpus.report is not None:
        note_tokens(corpus.report)
    known = np.count_nonzero(corpus.df)
    reporting.note(
        f"weights as in {model.path}: {len(model.kept):,} columns, idf of {wording.counted(model.n_docs, 'document')}; "
        f"{known:,} of its {len(corpus.terms):,} terms occur here"
    )
    if not known:
        reporting.warn(f"no term of {model.path} occurs in these documents, so all weights are 0; check the language")


def _block(model: WeightModel, about: dict[str, Any], stream: DocumentStream) -> dict[str, Any]:
    """Return the footer: the parameters of the model, so that what is written can be a model, too."""
    return source_block("weights", stream, command="tfidf", parameters={**model.parameters, **about})


def _classes(corpus: CountedCorpus, model: WeightModel, stream: DocumentStream, by: str) -> DocumentClasses:
    """Return the classes of new documents under the numbers they have in the model; others follow behind them."""
    read = read_classes(corpus, Groups(by, stream.schema, stream.where), None, model.weighting)
    names = list(model.parameters.get("classes") or ())
    other = [name for name in read.names if name not in names]
    if names and other:
        reporting.warn(f"classes in '{by}' that the documents of {model.path} do not have: {', '.join(other[:10])}")
    names += other
    places = np.array([*map(names.index, read.names), -1], np.int32)
    return DocumentClasses(by, names, places[read.of_documents], None)
