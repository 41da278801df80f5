"""The columns of supervised topic models: read beside the words, and written as tables of the run.

Parts, in this order:
- Tables that a run has of the columns its model took: coefficients of a label, topics of authors.
- What supervised LDA, the author-topic model and labelled LDA read of documents beside words, and the tables that their
  runs have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.dataset import encode_single
from nlpkit.classify.labelled import read_labels
from nlpkit.errors import ColumnError, InputError, UsageError, missing_column
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import TEXT_HASH
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.types import Float32Array, FloatArray, LongArray
from nlpkit.topics.base.labels import LabelPredictor
from nlpkit.topics.base.mixture import FitSettings, ModelColumns
from nlpkit.topics.base.model import MixtureFit
from nlpkit.topics.base.runs import Additions, TopicCorpus
from nlpkit.topics.supervised.response import Regression, Response
from nlpkit.topics.supervised.restricted import AuthorTopicFitter, LabeledLdaFitter, NameSets
from nlpkit.topics.supervised.slda import SldaFitter, shares_of

COEFFICIENTS = TableSpec(
    "coefficients",
    "A topic of slda and a class. Of two classes only the second is listed, with its log-odds against the first.",
    Column("topic", pa.int32(), "Number of the topic."),
    Column("class", pa.string(), "The class, null where labels are numbers.", gaps=True),
    Column("coefficient", pa.float64(), "Coefficient of the share of the topic: of the number, or of the log-odds of the class."),
)  # fmt: skip
AUTHORS = TableSpec(
    "authors", "A topic of an author, the most probable one first.",
    Column("author", pa.string(), "Name of the author."),
    Column("documents", pa.int32(), "Documents of the author."),
    Column("n_tokens", pa.int64(), "Tokens that fall to the author."),
    Column("topic", pa.int32(), "Number of the topic."),
    Column("prob", pa.float32(), "Its probability."),
)  # fmt: skip


def coefficients_table(coef: FloatArray, names: tuple[str, ...]) -> pa.Table:
    """Return topic, class, coefficient: of a number the change from one topic to another, with class null; of classes log-odds.

    Of two classes only the second is listed, with its log-odds against the first.
    """
    if len(names) == 2:
        coef, names = coef[:, 1:] - coef[:, :1], names[1:]
    K, C = coef.shape
    classes = [*names] * K if names else [None] * K
    return COEFFICIENTS.table(**{"class": classes}, topic=np.repeat(np.arange(K), C), coefficient=coef.ravel())


def authors_table(authors: NameSets, counts: FloatArray, alpha: float) -> pa.Table:
    """Return author, documents, n_tokens, topic, prob: θ_ak = (n_ak + α) / (n_a + Kα), the most probable topics of an author first.

    All topics of an author are there; an author without tokens is left out.
    """
    K = counts.shape[1]
    tokens = counts.sum(axis=1)
    theta = (counts + alpha) / (tokens + K * alpha)[:, None]
    author, topic = np.nonzero(np.where(tokens[:, None] > 0, theta, 0.0))
    prob = theta[author, topic]
    order = np.lexsort((topic, -prob, author))
    author, topic, prob = author[order], topic[order], prob[order]
    names = pa.array(authors.names, pa.string())
    return AUTHORS.table(
        author=names.take(pa.array(author)), documents=authors.documents[author],
        n_tokens=tokens[author].astype(np.int64), topic=topic, prob=prob
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------------------
# What supervised LDA, the author-topic model and labelled LDA read of documents beside words, and the tables that their runs have.


@dataclass(frozen=True, slots=True)
class RegressionPredictor(LabelPredictor):
    """Predicts labels by the regression of supervised LDA on the shares of topics."""

    regression: Regression

    def scores(self, theta: Float32Array, lengths: LongArray) -> FloatArray:
        """Return the number (D, 1), or the probability of each class (D, C)."""
        return self.regression.predict(shares_of(theta, lengths, self.alpha))


@dataclass(frozen=True, slots=True)
class TopicLabels(LabelPredictor):
    """Predicts labels that are topics. topics: of the labels (C,)."""

    topics: LongArray

    def scores(self, theta: Float32Array, lengths: LongArray) -> FloatArray:
        """Return the probability of each class (D, C)."""
        chosen = theta[:, self.topics].astype(np.float64)
        return np.asarray(chosen / chosen.sum(axis=1, keepdims=True))


class SldaColumns(ModelColumns):
    """The label of each document."""

    def prepared(
        self, fitter: SldaFitter, corpus: TopicCorpus, settings: FitSettings
    ) -> tuple[SldaFitter, TopicCorpus, Additions]:
        """Return the fitter with the labels of the documents that have words."""
        name = settings.label_col
        response = response_of(_column(corpus, "label", name, "label_col"), fitter.options.response, name)
        response = response.among(np.diff(corpus.tokens.offsets) > 0)
        response.check()
        n, n_labelled = corpus.rows.num_rows, int(response.known.sum())
        what = "numbers" if not response.names else f"classes: {wording.listed(response.names, 6)}"
        without = (
            ""
            if n == n_labelled
            else f"; {wording.counted(n - n_labelled, 'document')} without one take part as in LDA"
        )
        reporting.note(
            f"the label '{name}' of {wording.counted(n_labelled, 'document')} holds {what} (response {response.kind}){without}"
        )
        return replace(fitter, response=response), corpus, Additions()

    def additions(self, fitter: SldaFitter, fit: MixtureFit, n_terms: int) -> Additions:
        """Return the coefficients of the label."""
        assert fitter.response is not None
        names, kind = fitter.response.names, fitter.response.kind
        return Additions(
            tables={"coefficients": coefficients_table(fit.arrays["coefficients"], names)},
            results={"response": kind, **({"classes": list(names)} if names else {})},
            config={"classes": list(names)},
        )

    def labels(self, fit: MixtureFit, config: Mapping[str, Any]) -> LabelPredictor:
        """Return what predicts the label. Raises ValueError where classes and regressions do not fit."""
        regression = Regression(fit.arrays["coefficients"], fit.arrays["intercept"])
        if len(regression.intercept) != (len(config["classes"]) or 1):
            raise ValueError(f"{len(regression.intercept)} regressions for {len(config['classes'])} classes")
        return RegressionPredictor(tuple(config["classes"]), fit.model.alpha, regression)


class AuthorTopicColumns(ModelColumns):
    """The authors of each document."""

    def prepared(
        self, fitter: AuthorTopicFitter, corpus: TopicCorpus, settings: FitSettings
    ) -> tuple[AuthorTopicFitter, TopicCorpus, Additions]:
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
        return replace(fitter, authors=authors), corpus, Additions()

    def additions(self, fitter: AuthorTopicFitter, fit: MixtureFit, n_terms: int) -> Additions:
        """Return the topics of the authors."""
        assert fitter.authors is not None
        return Additions(
            tables={"authors": authors_table(fitter.authors, fit.arrays["authors"], float(fit.model.alpha[0]))}
        )


class LabeledLdaColumns(ModelColumns):
    """The labels of each document, which are the topics."""

    def prepared(
        self, fitter: LabeledLdaFitter, corpus: TopicCorpus, settings: FitSettings
    ) -> tuple[LabeledLdaFitter, TopicCorpus, Additions]:
        """Return the fitter with the sets of labels of the documents."""
        if fitter.options.k != "auto":
            raise UsageError(
                "`k`: the labels are the topics; leave it out, or ask for more of them by `latent`", parameter="k"
            )
        labels = name_sets(_column(corpus, "label", settings.label_col, "label_col"), fitter.options.separator)
        if not labels.names:
            raise InputError(
                f"no document has a label in column '{settings.label_col}'; name another `label_col`",
                parameter="label_col",
            )
        without, single = int(labels.unnamed.sum()), [labels.names[j] for j in np.flatnonzero(labels.documents == 1)]
        note = f"{wording.counted(len(labels.names), 'label')} in column '{settings.label_col}'"
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
            reporting.warn(
                f"'{labels.names[0]}' is the only label, so all documents have one topic; give more by `latent`"
            )
        return replace(fitter, labels=labels, options=replace(fitter.options, k=k)), corpus, Additions()

    def additions(self, fitter: LabeledLdaFitter, fit: MixtureFit, n_terms: int) -> Additions:
        """Return the names of the topics."""
        return Additions(config={"topic_names": list(fit.names)})

    def labels(self, fit: MixtureFit, config: Mapping[str, Any]) -> LabelPredictor:
        """Return what predicts the most probable label."""
        topics = [k for k, name in enumerate(config["topic_names"]) if name]
        return TopicLabels(tuple(config["topic_names"][k] for k in topics), fit.model.alpha, np.array(topics, np.int64))


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
