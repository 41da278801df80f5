"""Tables that a run has of the columns its model took: coefficients of a label, topics of authors."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.io.mixture_runs import Additions
from nlpkit.io.mixture_tables import MIXTURE_TOPICS
from nlpkit.io.table_spec import Column, TableSpec
from nlpkit.topics.mixtures.model import MixtureFit
from nlpkit.topics.stm.content import content_from_arrays, content_terms
from nlpkit.topics.stm.fitter import StmFitter
from nlpkit.topics.supervised.restricted import AuthorTopicFitter, LabeledLdaFitter, NameSets
from nlpkit.topics.supervised.slda import SldaFitter
from nlpkit.types import FloatArray

TERMS_BY_CONTENT = "topic_terms_by_content"
STM_TOPICS = MIXTURE_TOPICS.plus(
    "topics_of_stm", "A topic of a structural topic model, with two scores of R's stm.",
    Column("semantic_coherence", pa.float64(), "semanticCoherence of R's stm, of the ten most probable words."),
    Column("frex_exclusivity", pa.float64(), "exclusivity of R's stm: the sum of FREX of the ten most probable words, 0 to 10."),
)  # fmt: skip
CONTENT_TERMS = TableSpec(
    TERMS_BY_CONTENT, "A word of a topic at a level of the column of --content.",
    Column("topic", pa.int32(), "Number of the topic."),
    Column("level", pa.string(), "The level."),
    Column("rank", pa.int32(), "1 for the most probable word."),
    Column("term", pa.string(), "The word."),
    Column("weight", pa.float32(), "Its probability."),
    Column("log_ratio", pa.float32(), "Logarithm of its probability by the average of the levels."),
    Column("contrast_rank", pa.int32(), "Rank by weight times log_ratio."),
)  # fmt: skip
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


@singledispatch
def column_additions(fitter: Any, fit: MixtureFit, n_terms: int) -> Additions:
    """Return what the run of a fit has beside that of any mixture model: nothing, for most kinds of models.

    n_terms: words that are listed of each topic.
    """
    return Additions()


@column_additions.register
def _(fitter: StmFitter, fit: MixtureFit, n_terms: int) -> Additions:
    """Return how the columns are coded, and the words of each topic at each level of the content."""
    config: dict[str, Any] = {} if fitter.design is None else {"design": fitter.design.to_json()}
    model, content = content_from_arrays(fit.arrays), fitter.content
    if model is None or content is None:
        return Additions(config=config)
    rows = content_terms(model, n_terms)
    table = CONTENT_TERMS.table(
        topic=rows.topic, level=[content.levels[a] for a in rows.level], rank=rows.rank,
        term=[fit.model.terms[v] for v in rows.term], weight=rows.weight, log_ratio=rows.log_ratio,
        contrast_rank=rows.contrast_rank
    )  # fmt: skip
    config["content_levels"] = list(content.levels)
    return Additions(tables={TERMS_BY_CONTENT: table}, config=config)


@column_additions.register
def _(fitter: SldaFitter, fit: MixtureFit, n_terms: int) -> Additions:
    assert fitter.response is not None
    names, kind = fitter.response.names, fitter.response.kind
    return Additions(
        tables={"coefficients": coefficients_table(fit.arrays["coefficients"], names)},
        results={"response": kind, **({"classes": list(names)} if names else {})},
        config={"classes": list(names)},
    )


@column_additions.register
def _(fitter: AuthorTopicFitter, fit: MixtureFit, n_terms: int) -> Additions:
    assert fitter.authors is not None
    return Additions(
        tables={"authors": authors_table(fitter.authors, fit.arrays["authors"], float(fit.model.alpha[0]))}
    )


@column_additions.register
def _(fitter: LabeledLdaFitter, fit: MixtureFit, n_terms: int) -> Additions:
    return Additions(config={"topic_names": list(fit.names)})


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
