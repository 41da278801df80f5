"""New documents in the columns and with the idf of documents before, or in the space of their LSA or PCA."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.errors import UsageError
from nlpkit.io.corpora import DocumentStream
from nlpkit.io.documents import add_column, embedding_column
from nlpkit.io.provenance import source_block
from nlpkit.io.tables import table_sink, write_dropped
from nlpkit.io.weight_models import WeightModel, read_weight_model
from nlpkit.parameters import Execution
from nlpkit.text.options import PreprocessOptions
from nlpkit.types import CsrMatrix
from nlpkit.weighting.features import DocumentClasses
from nlpkit.weighting.tfidf import kept_columns
from nlpkit.workflows.corpus import as_corpus, warn_dropped
from nlpkit.workflows.counts import CountedCorpus, count_corpus
from nlpkit.workflows.groups import Groups
from nlpkit.workflows.tfidf import Carry, DocumentTermWeights, read_classes
from nlpkit.workflows.tokens import cut_as_model, note_tokens


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
