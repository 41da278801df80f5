"""What models take of documents beside their words: covariates of a formula, labels, authors, embeddings; vectors of the words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.classify.labels import encode_single
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import ColumnError, InputError, UsageError, missing_column
from nlpkit.io.documents import TEXT_HASH
from nlpkit.io.mixture_runs import Additions, TopicCorpus
from nlpkit.parameters import Execution
from nlpkit.topics.neural.ctm import CtmFitter
from nlpkit.topics.neural.embedded import EmbeddedFitter
from nlpkit.topics.neural.etm import EtmFitter
from nlpkit.topics.stm.content import Content, fit_content
from nlpkit.topics.stm.design import fit_design
from nlpkit.topics.stm.fitter import StmFitter
from nlpkit.topics.supervised.response import Response
from nlpkit.topics.supervised.restricted import AuthorTopicFitter, LabeledLdaFitter, NameSets
from nlpkit.topics.supervised.slda import SldaFitter
from nlpkit.workflows.covariates import covariate_of, covariates_of, note_dropped_knots
from nlpkit.workflows.labelled import read_labels
from nlpkit.workflows.neural_topics import warn_of_few_documents, with_embeddings, with_word_vectors


@dataclass(frozen=True, slots=True)
class FitSettings:
    """What a fit is told beside its documents. label_col: how the column of labels, here called label, is named in the input."""

    label_col: str
    encoder: EncoderOptions
    execution: Execution


@singledispatch
def prepared(fitter: Any, corpus: TopicCorpus, settings: FitSettings) -> tuple[Any, TopicCorpus, Additions]:
    """Return the fitter with what it takes of the documents, the corpus without it, and what the run says of it.

    Most kinds of models take words alone, or columns, which the corpus keeps.

    Raises:
        ColumnError, InputError: a column that is not there, or cannot be used. UsageError, MissingError: embeddings that cannot be made.
    """
    return with_columns(fitter, corpus, settings.label_col), corpus, Additions()


@prepared.register
def _(
    fitter: EmbeddedFitter, corpus: TopicCorpus, settings: FitSettings
) -> tuple[EmbeddedFitter, TopicCorpus, Additions]:
    if isinstance(fitter, CtmFitter):
        warn_of_few_documents(corpus.tokens)
    return with_embeddings(fitter, corpus, settings.encoder, settings.execution.n_threads())


@prepared.register
def _(fitter: EtmFitter, corpus: TopicCorpus, settings: FitSettings) -> tuple[EtmFitter, TopicCorpus, Additions]:
    warn_of_few_documents(corpus.tokens)
    return with_word_vectors(fitter, corpus, settings.execution), corpus, Additions()


@singledispatch
def with_columns(fitter: Any, corpus: TopicCorpus, label_col: str) -> Any:
    """Return the fitter with the columns that it takes of the documents: none, for most kinds of models.

    Raises:
        ColumnError, InputError: a column that is not there, or cannot be used.
    """
    return fitter


@with_columns.register
def _(fitter: StmFitter, corpus: TopicCorpus, label_col: str) -> StmFitter:
    """Return the fitter with the columns of X that its formula makes of documents, and the levels of its content."""
    formula, column = fitter.options.formula, fitter.options.content
    if formula is not None:
        values = covariates_of(corpus.rows, formula, where="the corpus")
        design = fit_design(formula, values)
        note_dropped_knots(design)
        fitter = replace(fitter, design=design, X=design.matrix(values))
    if column is not None:
        fitter = replace(fitter, content=content_of(corpus.rows, column))
    return fitter


def content_of(rows: pa.Table, column: str) -> Content:
    """Return the levels of a content covariate of the documents of a fit. Raises InputError, ColumnError where it cannot be used."""
    return fit_content(column, covariate_of(rows, column, where="the corpus", is_category=True, parameter="content"))


@with_columns.register
def _(fitter: SldaFitter, corpus: TopicCorpus, label_col: str) -> SldaFitter:
    """Return the fitter with the labels of the documents that have words."""
    response = response_of(_column(corpus, "label", label_col, "label_col"), fitter.options.response, label_col)
    response = response.among(np.diff(corpus.tokens.offsets) > 0)
    response.check()
    n, n_labelled = corpus.rows.num_rows, int(response.known.sum())
    what = "numbers" if not response.names else f"classes: {wording.listed(response.names, 6)}"
    without = (
        "" if n == n_labelled else f"; {wording.counted(n - n_labelled, 'document')} without one take part as in LDA"
    )
    reporting.note(
        f"the label '{label_col}' of {wording.counted(n_labelled, 'document')} holds {what} (response {response.kind}){without}"
    )
    return replace(fitter, response=response)


@with_columns.register
def _(fitter: AuthorTopicFitter, corpus: TopicCorpus, label_col: str) -> AuthorTopicFitter:
    """Return the fitter with the authors of the documents."""
    name, separator = fitter.options.author_col, fitter.options.separator
    authors = name_sets(_column(corpus, name, name, "author_col"), separator)
    if not authors.names:
        raise InputError(
            f"no document has an author in column '{name}'; name another `author_col`", parameter="author_col"
        )
    without = int(authors.unnamed.sum())
    note = f"{wording.counted(len(authors.names), 'author')} in column '{name}'"
    if without:
        note += f"; {wording.counted(without, 'document')} without one count as an author of their own each, who is not listed"
    reporting.note(note)
    if len(authors.names) == 1 and not without:
        reporting.warn(
            f"all documents have the author '{authors.names[0]}', so the topics of authors cannot differ; name "
            "another `author_col`"
        )
    return replace(fitter, authors=authors)


@with_columns.register
def _(fitter: LabeledLdaFitter, corpus: TopicCorpus, label_col: str) -> LabeledLdaFitter:
    """Return the fitter with the sets of labels of the documents."""
    if fitter.options.k != "auto":
        raise UsageError(
            "`k`: the labels are the topics; leave it out, or ask for more of them by `latent`", parameter="k"
        )
    labels = name_sets(_column(corpus, "label", label_col, "label_col"), fitter.options.separator)
    if not labels.names:
        raise InputError(
            f"no document has a label in column '{label_col}'; name another `label_col`", parameter="label_col"
        )
    without, single = int(labels.unnamed.sum()), [labels.names[j] for j in np.flatnonzero(labels.documents == 1)]
    note = f"{wording.counted(len(labels.names), 'label')} in column '{label_col}'"
    if without:
        note += f"; {wording.counted(without, 'document')} without one may use every topic"
    reporting.note(note)
    if single:
        only = "label of a single document" if len(single) == 1 else "labels of one document each"
        reporting.warn(
            f"{len(single):,} {only}, whose topic reflects little more than this one text: {wording.listed(single, 5)}"
        )
    k = len(labels.names) + fitter.options.latent
    if k == 1:
        reporting.warn(f"'{labels.names[0]}' is the only label, so all documents have one topic; give more by `latent`")
    return replace(fitter, labels=labels, options=replace(fitter.options, k=k))


def _column(corpus: TopicCorpus, name: str, title: str, parameter: str) -> pa.ChunkedArray:
    """Return a column of the documents. Raises ColumnError where it is not there."""
    if name not in corpus.rows.column_names:
        raise missing_column("the corpus", title, (n for n in corpus.rows.column_names if n != TEXT_HASH), parameter)
    column = corpus.rows.column(name)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def name_sets(column: pa.ChunkedArray, separator: str) -> NameSets:
    """Return the names of each document: of a list, of a text with names between separators, or one. Raises ColumnError."""
    values: Sequence[Sequence[str] | None] = read_labels(column, separator)
    return NameSets.encode([names or () for names in values])


def response_of(column: pa.ChunkedArray, kind: str, name: str) -> Response:
    """Return the labels of documents as a response.

    Args:
        kind: auto, real, binary or classes, see SldaOptions. name: of the column, for messages.

    Raises:
        ColumnError: lists, or a text where a number is needed; InputError: labels that are all alike, or of more than two kinds where
            two are needed.
    """
    if pa.types.is_nested(column.type):
        raise ColumnError(
            f"column '{name}' holds {column.type}; one label per document is needed; labeled-lda takes several",
            parameter="label_col",
        )
    texts = read_labels(column, None)
    different = {text for text in texts if text is not None}
    are_numbers = (
        pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
    )
    if kind == "real" or (kind == "auto" and are_numbers and len(different) != 2):
        return Response(np.array([_number(text, name) for text in texts]))
    if kind == "binary" and len(different) > 2:
        raise InputError(
            f"`response=binary` needs two different labels; column '{name}' has {len(different)}: take classes",
            parameter="response",
        )
    if len(different) < 2:  # Response.check refuses it, after documents without words
        return Response(np.array([np.nan if text is None else 0.0 for text in texts]), tuple(different))
    labels = encode_single(texts, np.ones(len(texts), bool))
    assert labels.codes is not None
    return Response(np.where(labels.codes >= 0, labels.codes, np.nan), labels.names)


def _number(text: str | None, name: str) -> float:
    try:
        value = np.nan if text is None else float(text)
    except ValueError:
        value = np.inf
    if np.isinf(value):
        raise ColumnError(
            f"`response=real` needs numbers; column '{name}' has '{text}': take classes, or another `label_col`",
            parameter="response",
        )
    return float(value)
