"""Tables that a run has of the columns its model took: coefficients of a label, topics of authors."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nlpkit.io.table_spec import Column, TableSpec
from nlpkit.topics.supervised.restricted import NameSets
from nlpkit.types import FloatArray

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
