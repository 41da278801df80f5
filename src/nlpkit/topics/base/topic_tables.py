"""A topic model as the tables of a run directory (DESIGN §3), and what prediction reads back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit.platform.documents.arrays import embedding_column, embedding_matrix, text_hash
from nlpkit.platform.plain import finite_or_none
from nlpkit.platform.runs.runs import (
    DOC_TOPICS,
    LAYERS,
    REPRESENTATIVE_CHARS,
    TOPIC_OF_DOCUMENT,
    TOPIC_TERMS,
    TOPICS,
    TREE,
    VOCAB,
    Run,
)
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.types import Float32Array, IntArray, LongArray
from nlpkit.platform.wording import truncated
from nlpkit.predict.options import TOPIC_COLUMNS

if TYPE_CHECKING:
    from nlpkit.cluster.assign import Training
    from nlpkit.topics.bertopic.description import DescribedLayer, TopicModel

LEFT_OUT = ("text", "tokens", "embedding", *TOPIC_COLUMNS)
TOP_TERMS = 10
BERTOPIC_TOPICS = TOPICS.plus(
    "topics_of_bertopic", "A topic of bertopic.",
    Column("stability", pa.float32(), "Share of the topic that half of the documents gives again (Jaccard).", gaps=True),
    Column("words", pa.int64(), "Tokens of its documents."),
)  # fmt: skip
BERTOPIC_TERMS = TOPIC_TERMS.plus(
    "topic_terms_of_bertopic", "One of the thirty strongest words of a topic of bertopic.",
    Column("ctfidf", pa.float32(), "Plain c-tf-idf, of all documents of the topic."),
    Column("count", pa.int64(), "How often the topic has the word."),
    Column("share", pa.float32(), "Share of the count in all topics."),
    Column("z", pa.float32(), "z of its log-odds against all other topics (Monroe et al. 2008)."),
    Column("importance", pa.float32(), "Its z if it is in this topic more than in others, times its frequency."),
)  # fmt: skip
TRAINING = TableSpec(
    "model/training_of_bertopic",
    "A different text of the fit.",
    Column("text_hash", pa.string(), "Hash of the text."),
    Column("row", pa.int64(), "Row of the first document with the text.", least=0),
    *TOPIC_OF_DOCUMENT,
    Column("way", pa.string(), "How it came to its topic.", gaps=True),
    Column("similarity", pa.float32(), "Mean cosine with its neighbours.", least=-1.001, most=1.001),
    Column("embedding", pa.list_(pa.float32()), "Its embedding.", always=False),
)
NEAREST_VECTORS = TableSpec(
    "model/nearest", "A vector of a model that BERTopic saved; a new document gets the topic of the nearest.",
    Column("topic", pa.int32(), "Its topic, -1 for the documents without one.", least=-1, below="K"),
    Column("embedding", pa.list_(pa.float32()), "The mean of its documents, as BERTopic saved it."),
)  # fmt: skip
ASSIGNED = TableSpec("model/assigned", "A different text that was not fitted.", *TRAINING.columns[:-1])


def headlines(table: pa.Table, rows: Sequence[int], width: int = 80) -> list[str]:
    """Return a line for each of some documents: the title when there is one, else the beginning of the text."""
    name = "title" if "title" in table.column_names else "text"
    texts = [table.column(name)[int(r)].as_py() or table.column("text")[int(r)].as_py() or "" for r in rows]
    lines = [" ".join(str(t)[: 4 * width].split()) for t in texts]
    return [truncated(line, width) for line in lines]


def documents_table(table: pa.Table, model: TopicModel) -> pa.Table:
    """Return id, topic, topic_prob, nearest_topic, margin, the layers and the user's columns; no text, tokens or embedding."""
    columns: dict[str, Any] = {"id": table.column("id")}
    columns |= topic_columns(model.topics, model.topic_prob, model.nearest_topic, model.margin)
    columns |= {name: pa.array(layer.topics, pa.int32()) for name, layer in layer_columns(model).items()}
    columns |= {n: table.column(n) for n in table.column_names if n not in (*LEFT_OUT, *columns)}
    return pa.table(columns)


def layer_columns(model: TopicModel) -> dict[str, DescribedLayer]:
    """Return the layers of a model by the names that their columns of documents.parquet have, the coarsest `layer_0`."""
    return {f"layer_{number}": layer for number, layer in enumerate(model.layers)}


def layers_table(model: TopicModel, vocabulary: Sequence[str]) -> pa.Table:
    """Return one row for each topic of each layer, the coarsest first; `chosen` marks the layer whose topics are those of the run."""
    rows = [
        {"layer": number, "topic": k, "parent": int(layer.parent[k]) if layer.parent[k] >= 0 else None, "size": int(layer.size[k]),
         "stability": finite_or_none(layer.stability[k]), "label": layer.labels[k], "chosen": layer.chosen,
         "top_terms": [vocabulary[t] for t in layer.term_ids[k] if t >= 0]}
        for number, layer in enumerate(model.layers)
        for k in range(len(layer.parent))
    ]  # fmt: skip
    return LAYERS.rows(rows)


def tree_table(model: TopicModel) -> pa.Table:
    """Return Ward's tree of the topics as scipy has it: merge i joins left and right at a distance and is node K + i, of size topics."""
    left, right, distance, size = model.tree.T
    return TREE.table(left=left, right=right, distance=distance, size=size)


def topic_columns(topics: Any, prob: Any, nearest: Any, margin: Any) -> dict[str, pa.Array]:
    """Return the four columns a topic model adds to a document table."""
    values = (topics, prob, nearest, margin)
    return {column.name: pa.array(value, column.type) for column, value in zip(TOPIC_OF_DOCUMENT, values, strict=True)}


def with_topic_columns(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a document table with the four columns of a topic model, in place of those it has."""
    for name, column in topic_columns([], [], [], []).items():
        at = schema.get_field_index(name)
        field = pa.field(name, column.type)
        schema = schema.append(field) if at < 0 else schema.set(at, field)
    return schema


def topics_table(table: pa.Table, model: TopicModel, vocabulary: Sequence[str]) -> pa.Table:
    """Return one row a topic: size, share, label, terms, scores, representative documents and stability."""
    ids, texts = table.column("id"), table.column("text")
    shown = [[int(d) for d in documents if d >= 0] for documents in model.representatives]
    return BERTOPIC_TOPICS.table(
        topic=range(model.n_topics), size=model.size, share=model.size / len(model.topics), label=model.labels,
        top_terms=[[vocabulary[t] for t in best if t >= 0] for best in model.terms.term_ids[:, :TOP_TERMS]],
        npmi=model.npmi, exclusivity=model.exclusivity,
        representative_ids=[[ids[d].as_py() for d in documents] for documents in shown],
        representative_texts=[[(texts[d].as_py() or "")[:REPRESENTATIVE_CHARS] for d in rows] for rows in shown],
        stability=model.stability, words=model.words
    )  # fmt: skip


def topic_terms_table(model: TopicModel, vocabulary: Sequence[str]) -> pa.Table:
    """Return the stored terms of each topic with rank (1 = strongest), the weight that ranks them, and plain c-tf-idf.

    count is how often the topic has the term, share that of the count in all topics: with `words` of topics.parquet,
    ctfidf = count / words · ln(1 + mean(words) · share / count). z and importance are those
    of `nlpkit.weighting`.
    """
    is_term = model.terms.term_ids >= 0
    topic, rank = np.nonzero(is_term)
    terms = [vocabulary[t] for t in model.terms.term_ids[is_term]]
    weights: dict[str, np.ndarray] = {
        "weight": model.terms.weights, "ctfidf": model.plain_weights, "count": model.counts, "share": model.count_shares,
        "z": model.key_scores, "importance": model.importance,
    }  # fmt: skip
    of_terms = {name: values[is_term] for name, values in weights.items()}
    return BERTOPIC_TERMS.table(topic=topic, rank=rank + 1, term=terms, **of_terms)


def doc_topics_table(table: pa.Table, model: TopicModel) -> pa.Table:
    """Return the votes of the nearest documents for topics, as shares, in long form; none is left out."""
    rows = np.repeat(np.arange(len(model.topics)), np.diff(model.votes.offsets))
    ids = table.column("id").combine_chunks().take(pa.array(rows))
    return DOC_TOPICS.table(id=ids, topic=model.votes.topic, prob=model.votes.prob)


def vocab_table(vocabulary: Sequence[str], cf: LongArray, df: LongArray) -> pa.Table:
    """Return the terms with collection and document frequency."""
    return VOCAB.table(term=vocabulary, cf=cf, df=df)


def training_tables(
    table: pa.Table, vectors: Float32Array, of_document: IntArray, model: TopicModel
) -> dict[str, pa.Table]:
    """Return what prediction needs: a row for each distinct usable text, and the centroids.

    vectors (U, E): the different embeddings; of_document (D,): which one each document has, -1 for one without text.
    `row` is the number of the first document with the text. Texts that were not fitted are in a table of their own, `assigned`,
    without their embeddings: no neighbours are sought among them.
    """
    from nlpkit.topics.bertopic.description import WAYS

    hashes = [text_hash(t) for t in table.column("text").to_pylist()]
    first: dict[str, int] = {}
    for row in np.flatnonzero(of_document >= 0).tolist():
        first.setdefault(hashes[row], row)
    rows = np.fromiter(first.values(), np.int64, len(first))
    texts = TRAINING.table(
        text_hash=list(first), row=rows,
        **topic_columns(model.topics[rows], model.topic_prob[rows], model.nearest_topic[rows], model.margin[rows]),
        way=[WAYS[w] if w >= 0 else None for w in model.way[rows].tolist()], similarity=model.similarity[rows]
    )  # fmt: skip
    fitted = model.fitted[rows]
    vectors = embedding_column(vectors[of_document[rows[fitted]]])
    numbers = pa.array(range(model.n_topics), pa.int32())
    return {
        "training": texts.filter(pa.array(fitted)).append_column("embedding", vectors),
        "centroids": pa.table({"topic": numbers, "embedding": embedding_column(model.centroids)}),
        **({} if fitted.all() else {"assigned": texts.filter(pa.array(~fitted))}),
    }


def texts_of_run(run: Run, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the rows of model/training.parquet, those of model/assigned.parquet after them, without embeddings."""
    parts = [run.table("model/training", columns)]
    if "model/assigned.parquet" in run.manifest["outputs"]:
        parts.append(run.table("model/assigned", columns))
    without = [part.drop_columns("embedding") if "embedding" in part.column_names else part for part in parts]
    return pa.concat_tables(without)


def read_centroids(run: Run, K: int) -> Float32Array:
    """Return the centroids (K, E) of the topics of a run; raises InputError when it is damaged."""
    table = run.table("model/centroids")
    with run.intact():
        centroids = embedding_matrix(table.column("embedding"), unit=False)
        if len(centroids) != K:
            raise ValueError(f"centroids of shape {centroids.shape} for {K} topics")
    return centroids


def read_training(run: Run, *, n_neighbors: int, threads: int) -> Training:
    """Return what `training_tables` wrote; raises InputError when it is damaged."""
    tables = {name: run.table(f"model/{name}") for name in ("training", "centroids")}
    if "model/assigned.parquet" in run.manifest["outputs"]:
        tables["assigned"] = run.table("model/assigned")
    with run.intact():
        return training_of(tables, int(run.manifest["results"]["n_topics"]), n_neighbors=n_neighbors, threads=threads)


def nearest_vectors(table: pa.Table) -> Training:
    """Return the vectors of model/nearest.parquet, those of topic -1 among them, as what new documents are compared with."""
    from nlpkit.cluster.assign import Training

    vectors = embedding_matrix(table.column("embedding"))
    if not len(vectors):
        raise ValueError("no vector of a topic")
    topics, zeros = table.column("topic").to_numpy().astype(np.int32), np.zeros(table.num_rows, np.float32)
    return Training({}, topics, zeros, topics, zeros, vectors, vectors[topics >= 0], zeros)


def training_of(tables: Mapping[str, pa.Table], K: int, *, n_neighbors: int, threads: int) -> Training:
    """Return the tables of `training_tables` as arrays; similarities, which older runs lack, are worked out.

    Raises:
        ValueError, InputError: they do not fit together.
    """
    from nlpkit.cluster.assign import Training, similarity_without_itself

    table, centroids = tables["training"], tables["centroids"]
    vectors, middles = (embedding_matrix(t.column("embedding")) for t in (table, centroids))
    if not len(vectors):
        raise ValueError("no training document")
    if len(middles) != K or (K and vectors.shape[1] != middles.shape[1]):
        raise ValueError(f"centroids of shape {middles.shape} for {K} topics in {vectors.shape[1]} dimensions")
    texts = table.drop_columns("embedding")
    if "assigned" in tables:
        texts = pa.concat_tables([texts, tables["assigned"]])
    if "similarity" in texts.column_names:
        (similarity,) = TRAINING.arrays(texts, "similarity")
    else:
        similarity = similarity_without_itself(vectors, n_neighbors=n_neighbors, threads=threads)
    hashes, topics, prob, nearest, margin = TRAINING.arrays(texts, "text_hash", *TOPIC_COLUMNS, K=K)
    return Training(
        rows={text_hash: i for i, text_hash in enumerate(hashes)},
        topics=topics,
        topic_prob=prob,
        nearest_topic=nearest,
        margin=margin,
        embeddings=vectors,
        centroids=middles,
        similarity=similarity,
    )
