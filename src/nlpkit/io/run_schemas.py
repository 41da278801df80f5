"""The tables that runs of every kind of topic model have (DESIGN §3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.io.table_spec import Column, TableSpec

_WORDS = pa.list_(pa.string())
TOPICS = TableSpec(
    "topics", "A topic of a run, the largest first; topics given beforehand come first.",
    Column("topic", pa.int32(), "Number of the topic, 0 for the first."),
    Column("size", pa.int32(), "Documents of the topic; in mixtures those whose main topic it is."),
    Column("share", pa.float32(), "Share of the documents; in mixtures of the tokens."),
    Column("label", pa.string(), "Name of the topic."),
    Column("top_terms", _WORDS, "Ten words, best first."),
    Column("npmi", pa.float32(), "Coherence of the ten words in the corpus of the fit.", gaps=True),
    Column("exclusivity", pa.float32(), "Share of the ten words that falls to this topic.", gaps=True),
    Column("representative_ids", _WORDS, "Ids of the most typical documents."),
    Column("representative_texts", _WORDS, "The first 300 characters of each."),
)  # fmt: skip
TOPIC_TERMS = TableSpec(
    "topic_terms", "One of the thirty strongest words of a topic.",
    Column("topic", pa.int32(), "Number of the topic.", least=0, below="K"),
    Column("rank", pa.int32(), "1 for the strongest word of the topic.", least=1),
    Column("term", pa.string(), "The word."),
    Column("weight", pa.float32(), "Its weight: c-tf-idf in bertopic, else the probability in the topic."),
)  # fmt: skip
LAYERS = TableSpec(
    "layers", "A topic of a layer, the coarsest layer first.",
    Column("layer", pa.int32(), "Number of the layer, 0 the coarsest."),
    Column("topic", pa.int32(), "Number of the topic in the layer, 0 for the largest."),
    Column("parent", pa.int32(), "Its topic in the layer above.", gaps=True),
    Column("size", pa.int32(), "Documents of the topic."),
    Column("stability", pa.float32(), "Share of the topic that half of the documents gives again (Jaccard).", gaps=True),
    Column("label", pa.string(), "Name of the topic."),
    Column("top_terms", _WORDS, "Ten words, best first."),
    Column("chosen", pa.bool_(), "Whether the topics of the layer are those of the run."),
)  # fmt: skip
DOC_TOPICS = TableSpec(
    "doc_topics",
    "A topic of a document. Of mixtures, probabilities under 1 / (10 K) are left out, and topics of which a document has no word.",
    Column("id", pa.string(), "Id of the document."),
    Column("topic", pa.int32(), "Number of the topic.", least=0, below="K"),
    Column("prob", pa.float32(), "Its probability: the votes of neighbours in bertopic, theta in mixtures.", least=0, most=1.0001),
)  # fmt: skip
VOCAB = TableSpec(
    "vocab", "A term of the vocabulary.",
    Column("term", pa.string(), "The term."),
    Column("cf", pa.int64(), "Its occurrences in the corpus."),
    Column("df", pa.int64(), "Documents that have it."),
    Column("idf", pa.float64(), "Its inverse document frequency, of lsa and pca.", always=False),
    Column("score", pa.float64(), "Its score, where features were selected.", gaps=True, always=False),
)  # fmt: skip
TREE = TableSpec(
    "tree", "A merge of Ward's tree of K topics: row i is node K + i, as in scipy.cluster.hierarchy.",
    Column("left", pa.int32(), "Node that is merged."),
    Column("right", pa.int32(), "The other node."),
    Column("distance", pa.float64(), "Distance of the two."),
    Column("size", pa.int32(), "Topics below the merge."),
)  # fmt: skip
TOPIC_OF_DOCUMENT = (
    Column("topic", pa.int32(), "Its topic, -1 for none.", least=-1, below="K"),
    Column("topic_prob", pa.float32(), "Probability of the topic.", least=0, most=1.0001),
    Column("nearest_topic", pa.int32(), "The nearest topic, also of documents without one.", least=-1, below="K"),
    Column("margin", pa.float32(), "Lead of the nearest topic over the next one."),
)
DOCUMENTS = TableSpec(
    "documents", "A document, without its text; layer_0 … are its topics in the layers of a tree.",
    Column("id", pa.string(), "Id of the document."),
    *TOPIC_OF_DOCUMENT,
    is_open=True,
)  # fmt: skip
# what runs of topic models have, beside columns of their kind and of the user
TOPIC_TABLES = {table.name: table for table in (TOPICS, TOPIC_TERMS, LAYERS, DOC_TOPICS, VOCAB, TREE, DOCUMENTS)}


def check_topic_table(name: str, table: pa.Table, columns: Sequence[str] | None, n_topics: Callable[[], int]) -> None:
    """Refuse a table of a run of a topic model whose columns are other than they were written.

    Args:
        name: its file stem. columns: that are read, None for all.
        n_topics: the number of rows of the table topics; its topics are 0, 1, 2 …

    Raises:
        ValueError: see `TableSpec.check`, or topics do not fit together.
    """
    declared = TOPIC_TABLES[name]
    limited = any(c.below for c in declared.columns if columns is None or c.name in columns)
    declared.check(table, columns, {"K": n_topics()} if limited else {})
    if name != "topics":
        return
    topics = table.column("topic").to_pylist() if columns is None or "topic" in columns else []
    if topics != list(range(len(topics))):
        raise ValueError(f"the topics of {name} are not 0, 1, 2 …")
    if columns is None and not _lengths(table, "ids").equals(_lengths(table, "texts")):
        raise ValueError("topics has other than one representative text for each representative id")


def _lengths(table: pa.Table, what: str) -> pa.ChunkedArray:
    return pc.list_value_length(table.column(f"representative_{what}"))
