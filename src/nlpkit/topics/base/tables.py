"""The tables of a run of a topic model: written from the model, and read back into it.

Parts, in this order:
- A tree of topics as tables: layers.parquet (DESIGN §3), and the topics on the path of each document.
- A mixture model as the tables of a run directory (DESIGN §3), and back.
- The topics of the documents of a run: the main one of each, or their mixture, of which nothing is left out.
- The words of the topics of a run, with weights, of every kind of run.
- theta and phi of a run as long tables, batch by batch, of which nothing above 0 is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from nlpkit.platform.documents.arrays import TEXT_HASH
from nlpkit.platform.models import MODELS
from nlpkit.platform.runs.artifacts import parquet_shape
from nlpkit.platform.runs.runs import (
    DOC_TOPICS,
    LAYERS,
    REPRESENTATIVE_CHARS,
    TOPIC_OF_DOCUMENT,
    TOPIC_TERMS,
    TOPICS,
    WEIGHTS,
    Run,
)
from nlpkit.platform.runs.table_spec import Column, TableSpec, numbers, strings
from nlpkit.platform.runs.tensor_files import read_safetensors
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base.by_term import topic_scale
from nlpkit.topics.base.diagnostics import DIAGNOSTICS
from nlpkit.topics.base.model import CELLS, DOCS, LEVEL, PARENT, MainTopics, MixtureModel, theta_of
from nlpkit.topics.base.topic_tables import TOP_TERMS, topic_columns
from nlpkit.topics.base.topic_words import TopicDescription
from nlpkit.topics.over_time.prevalence import Membership, one_topic_each


def tree_layers_table(description: TopicDescription, tree: FloatArray, terms: Sequence[str]) -> pa.Table:
    """Return a row for each topic, the root first, numbered as in topics.parquet; size: documents whose path it is on.

    Args:
        tree: (K, 3) parent, level, documents of each topic.
    """
    K, parents = len(tree), tree[:, PARENT]
    return LAYERS.table(
        layer=tree[:, LEVEL].astype(int), topic=range(K), parent=pa.array(parents, mask=parents < 0).cast(pa.int32()),
        size=tree[:, DOCS].astype(int), stability=[None] * K, label=description.labels, chosen=[False] * K,
        top_terms=[[terms[t] for t in best if t >= 0] for best in description.relevant],
    )  # fmt: skip


def layer_names(tree: FloatArray | None) -> list[str]:
    """Return the names of the columns with the path of a document, none where topics are no tree."""
    return [] if tree is None else [f"layer_{level}" for level in range(int(tree[:, LEVEL].max()) + 1)]


def path_columns(paths: IntArray | None) -> dict[str, pa.Array]:
    """Return the topics on the paths (D, L) as columns layer_0 …, -1 for none."""
    return {} if paths is None else {f"layer_{i}": pa.array(column, pa.int32()) for i, column in enumerate(paths.T)}


def path_names(table: pa.Table) -> list[str]:
    """Return the names of the columns of a table with the topics on paths."""
    return [name for name in table.column_names if name.startswith("layer_")]


def read_paths(table: pa.Table | None) -> IntArray:
    """Return the topics on the paths (D, L) of a table with such columns; (D, 0) where it has none."""
    if table is None:
        return np.zeros((0, 0), np.int32)
    columns = [table.column(name).to_numpy().astype(np.int32) for name in path_names(table)]
    return np.stack(columns, axis=1) if columns else np.zeros((table.num_rows, 0), np.int32)


# ------------------------------------------------------------------------------------------------------------------------
# A mixture model as the tables of a run directory (DESIGN §3), and back.

# parameters that a model has with covariates, without, or with content
_NOT_ALWAYS = (
    "gamma",
    "mean",
    *(f"content_{name}" for name in ("baseline", "topic", "level", "weights", "topic_level")),
)
_NOT_NEGATIVE = ("idf", "sizes", "shares", "authors", "period_tokens", "content_baseline", "content_weights")
_COLUMNS = {"tokens": "n_tokens", "exclusivity": "mallet_exclusivity"}  # names that mean something else in a run
MIXTURE_TOPICS = TOPICS.plus(
    "topics_of_mixtures", "A topic of a mixture model, with MALLET's diagnostics.",
    Column("alpha", pa.float64(), "Dirichlet prior of the topic in a document, 0 of models without one."),
    Column("n_tokens", pa.float64(), "Tokens of the topic."),
    Column("document_entropy", pa.float64(), "Entropy of its tokens over documents.", gaps=True),
    Column("word_length", pa.float64(), "Mean length of its top words.", gaps=True),
    Column("coherence", pa.float64(), "UMass coherence of its top words.", gaps=True),
    Column("uniform_dist", pa.float64(), "Divergence from all words alike.", gaps=True),
    Column("corpus_dist", pa.float64(), "Divergence from the words of the corpus.", gaps=True),
    Column("eff_num_words", pa.float64(), "Number of words it is made of, 1 / Σ p².", gaps=True),
    Column("token_doc_diff", pa.float64(), "Distance of its top words by tokens and by documents.", gaps=True),
    Column("rank_1_docs", pa.float64(), "Share of its documents of which it is the first topic.", gaps=True),
    Column("allocation_ratio", pa.float64(), "Documents it has half of, by documents it has a fiftieth of.", gaps=True),
    Column("allocation_count", pa.float64(), "Share of its documents of which it has three tenths or more.", gaps=True),
    Column("mallet_exclusivity", pa.float64(), "Exclusivity of its top words as MALLET has it.", gaps=True),
    Column("agreement", pa.float32(), "With --prototype, mean similarity to its matches in the other chains.", always=False),
)  # fmt: skip
MIXTURE_TERMS = TOPIC_TERMS.plus(
    "topic_terms_of_mixtures", "One of the thirty most probable words of a topic of a mixture model.",
    Column("frex", pa.float32(), "FREX, the harmonic mean of the ranks of frequency and exclusivity."),
    Column("lift", pa.float32(), "Probability in the topic by that in the corpus."),
    Column("relevance", pa.float32(), "Relevance, a mean of the logarithms of probability and lift (Sievert and Shirley 2014)."),
    Column("importance", pa.float32(), "Probability times how far its logarithm is above the mean of all topics."),
)  # fmt: skip
ASSIGNMENTS = TableSpec(
    "assignments", "A token, in the order of the texts.",
    Column("id", pa.string(), "Id of the document."),
    Column("term", pa.string(), "Its term."),
    Column("topic", pa.int32(), "Its topic."),
)  # fmt: skip
TOPIC_TERM = TableSpec(
    "model/topic_term", "A term of a topic.",
    Column("topic", pa.int32(), "Number of the topic.", least=0, below="K"),
    Column("term_id", pa.int32(), "Row of the term in vocab.", least=0, below="V"),
    Column("count", pa.float64(), "Its tokens in the topic.", least=0),
)  # fmt: skip
DOC_TOPIC = TableSpec(
    "model/doc_topic", "A topic of a document.",
    Column("document", pa.int32(), "Row of the document in documents.", least=0, below="D"),
    Column("topic", pa.int32(), "Number of the topic.", least=0, below="K"),
    Column("count", pa.float64(), "Tokens of the document in the topic.", least=0),
)  # fmt: skip
ALPHA = TableSpec(
    "model/alpha", "A topic.",
    Column("topic", pa.int32(), "Number of the topic.", least=0, below="K"),
    Column("alpha", pa.float64(), "Its Dirichlet prior, 0 of models without one."),
)  # fmt: skip
LEFT_OUT = TableSpec(
    "model/left_out", "A term of the texts that did not become a term of the model.",
    Column("term", pa.string(), "The term."),
)  # fmt: skip
TRAINING = TableSpec(
    "model/training_of_mixtures", "A document of the fit; layer_0 … are the topics of its path in a tree.",
    Column("id", pa.string(), "Id of the document."),
    Column("text_hash", pa.string(), "Hash of its text."),
    *TOPIC_OF_DOCUMENT,
    is_open=True,
)  # fmt: skip


def documents_table(rows: pa.Table, main: MainTopics, paths: IntArray | None = None) -> pa.Table:
    """Return id, topic, topic_prob, nearest_topic (the topic itself), margin over the next topic, and the user's own columns.

    paths: (D, L) topics on the path of each document, which become the columns layer_0 ….
    """
    rows = rows.drop_columns([TEXT_HASH]) if TEXT_HASH in rows.column_names else rows
    topics = topic_columns(main.topic, main.prob, main.topic, main.margin) | path_columns(paths)
    columns = {"id": rows.column("id"), **topics}
    return pa.table(columns | {n: rows.column(n) for n in rows.column_names if n not in columns})


def topics_table(
    description: TopicDescription, model: MixtureModel, ids: pa.ChunkedArray, text_of: Callable[[int], str]
) -> pa.Table:
    """Return one row a topic: size, share, label, relevant terms, scores, representative documents, tokens, alpha, diagnostics."""
    shown = [[int(d) for d in documents if d >= 0] for documents in description.representatives]
    diagnostics = {name: getattr(description.diagnostics, name) for name in DIAGNOSTICS}
    finite = {_COLUMNS.get(name, name): np.where(np.isfinite(x), x, np.nan) for name, x in diagnostics.items()}
    return MIXTURE_TOPICS.table(
        topic=range(model.n_topics), size=description.size, share=description.share, label=description.labels,
        top_terms=[[model.terms[t] for t in best if t >= 0] for best in description.relevant[:, :TOP_TERMS]],
        npmi=description.npmi, exclusivity=description.exclusivity,
        representative_ids=[[ids[d].as_py() for d in documents] for documents in shown],
        representative_texts=[[text_of(d)[:REPRESENTATIVE_CHARS] for d in documents] for documents in shown],
        alpha=model.alpha, **finite
    )  # fmt: skip


def topic_terms_table(description: TopicDescription, terms: Sequence[str]) -> pa.Table:
    """Return the stored terms of each topic, most probable first: weight (phi), frex, lift, relevance, importance."""
    is_term = description.terms.term_ids >= 0
    topic, rank = np.nonzero(is_term)
    names = [terms[t] for t in description.terms.term_ids[is_term]]
    weights = {name: getattr(description.terms, name)[is_term] for name in ("frex", "lift", "relevance", "importance")}
    probability = description.terms.probability[is_term]
    return MIXTURE_TERMS.table(topic=topic, rank=rank + 1, term=names, weight=probability, **weights)


def doc_topics_table(
    ids: pa.ChunkedArray, doc_topic: CsrMatrix, alpha: FloatArray, main: IntArray
) -> tuple[pa.Table, float]:
    """Return theta in long form, and the sum of the probabilities left out.

    Left out are those under 1 / (10 K), and topics of which a document has no token: all they have is the prior, and listing
    them would make D · K rows of short documents. The main topic (D,) is always there: of a short document it may be one of
    high alpha without a token.
    """
    K = len(alpha)
    lengths = np.asarray(doc_topic.sum(axis=1), np.float64).ravel()
    document, topic, counts = _entries(doc_topic, main)
    theta = ((counts + alpha[topic]) / (lengths[document] + alpha.sum())).astype(np.float32)
    kept = (theta >= 1.0 / (10 * K)) | (topic == main[document])
    names = ids.combine_chunks().take(pa.array(document[kept]))
    full = int(np.count_nonzero(lengths))
    left_out = max(full - float(theta[kept].sum(dtype=np.float64)), 0.0)  # float32 may sum to more
    return DOC_TOPICS.table(id=names, topic=topic[kept], prob=theta[kept]), left_out


def _entries(doc_topic: CsrMatrix, main: IntArray) -> tuple[LongArray, LongArray, FloatArray]:
    """Return document, topic and count of the entries, those of main topics of count 0 among them, by document and topic."""
    D = doc_topic.shape[0]
    document = np.repeat(np.arange(D), np.diff(doc_topic.indptr))
    topic, counts = doc_topic.indices.astype(np.int64), doc_topic.data.astype(np.float64)
    there = np.zeros(D, bool)
    there[document[topic == main[document]]] = True
    lacking = np.flatnonzero((main >= 0) & ~there)
    if len(lacking):
        document, topic = np.concatenate([document, lacking]), np.concatenate([topic, main[lacking]])
        counts = np.concatenate([counts, np.zeros(len(lacking))])
        order = np.lexsort((topic, document))
        document, topic, counts = document[order], topic[order], counts[order]
    return document, topic, counts


def assignments_table(ids: pa.ChunkedArray, tokens: TokenTable, assignments: IntArray) -> pa.Table:
    """Return id, term, topic of every token, in the order of the text; id and term dictionary-encoded."""
    document = np.repeat(np.arange(tokens.n_docs, dtype=np.int32), np.diff(tokens.offsets))
    names = pa.DictionaryArray.from_arrays(pa.array(document), ids.combine_chunks())
    terms = pa.DictionaryArray.from_arrays(pa.array(tokens.term_ids), pa.array(tokens.terms, pa.string()))
    return ASSIGNMENTS.table(id=names, term=terms, topic=assignments)


def model_tables(model: MixtureModel) -> dict[str, pa.Table]:
    """Return what prediction needs beside vocab.parquet: n_kv (topic, term_id, count) and alpha."""
    counts = model.topic_term.tocoo()
    return {
        "topic_term": TOPIC_TERM.table(topic=counts.row, term_id=counts.col, count=pa.array(counts.data)),
        "alpha": ALPHA.table(topic=range(model.n_topics), alpha=model.alpha),
    }


def read_arrays(run: Run) -> dict[str, FloatArray]:
    """Return the further parameters of a model by name, of the shapes that its kind has them in.

    Raises:
        InputError: the run directory is damaged.
    """
    config, shapes = run.model_config("n_topics"), MODELS[run.manifest["kind"]].arrays
    with run.intact():
        names = list(config.get("arrays", []))
        unknown = [name for name in names if name not in shapes]
        if unknown:
            raise ValueError(f"a model of kind '{run.manifest['kind']}' has no {unknown[0]}")
        missing = [name for name in shapes if name not in names and name not in _NOT_ALWAYS]
        if missing:
            raise ValueError(f"{missing[0]} is missing")
        arrays = {name: _as_array(name, run.table(f"model/{name}").column("value").combine_chunks()) for name in names}
        sizes = {"K": int(config["n_topics"])}
        sizes |= {letter: parquet_shape(run.file(file))[0] for letter, file in _COUNTED.items()}
        for name, array in arrays.items():
            _check_shape(name, array.shape, shapes[name], sizes)
    return arrays


_COUNTED = {"V": "vocab.parquet", "D": "documents.parquet"}


def _as_array(name: str, column: pa.Array) -> FloatArray:
    is_matrix = pa.types.is_fixed_size_list(column.type)
    if column.null_count:
        raise ValueError(f"{name} has rows without a value")
    flat = pa.table({"value": column.flatten() if is_matrix else column})
    values = numbers(flat, "value", least=0 if name in _NOT_NEGATIVE else -math.inf).astype(np.float64)
    return values.reshape(len(column), column.type.list_size) if is_matrix else values


def _check_shape(name: str, shape: tuple[int, ...], declared: str, sizes: dict[str, int]) -> None:
    """Refuse an array of another shape; a letter that has no size yet gets that of the array. Raises ValueError."""
    dimensions = declared.split()
    for size, dimension in zip(shape, dimensions, strict=False):
        if dimension.isalpha():
            sizes.setdefault(dimension, size)
    needed = tuple(_size(dimension, sizes) for dimension in dimensions)
    if shape != needed:
        raise ValueError(f"{name} has the shape {shape}, where {needed} was needed")


def _size(dimension: str, sizes: Mapping[str, int]) -> int:
    """Return the size of a dimension: a letter, a number, K-1, T+1 or A*K. Raises KeyError for a letter without a size."""
    if "*" in dimension:
        return math.prod(sizes[letter] for letter in dimension.split("*"))
    letter, plus, minus = dimension[0], dimension.partition("+")[2], dimension.partition("-")[2]
    return int(dimension) if dimension.isdecimal() else sizes[letter] + int(plus or 0) - int(minus or 0)


def read_weights(run: Run) -> dict[str, Float32Array]:
    """Return the weights of the neural network of a model, none where it has none. Raises InputError where the run is damaged."""
    name = f"model/{WEIGHTS}"
    if name not in run.manifest["outputs"]:
        return {}
    file = run.file(name)
    with run.intact():
        return {name: array.astype(np.float32) for name, array in read_safetensors(file).items()}


def doc_topic_table(doc_topic: CsrMatrix) -> pa.Table:
    """Return n_dk (document, topic, count), which doc_topics.parquet does not give back: it leaves small probabilities out."""
    counts = doc_topic.tocoo()
    return DOC_TOPIC.table(document=counts.row, topic=counts.col, count=pa.array(counts.data))


def read_doc_topic(run: Run, n_docs: int, K: int) -> CsrMatrix | None:
    """Return n_dk (D, K) of a run, None where it does not hold them, as runs of before 2026-11-23.

    Raises:
        InputError: the run directory is damaged.
    """
    if "model/doc_topic.parquet" not in run.manifest["outputs"]:
        return None
    table = run.table("model/doc_topic")
    with run.intact():
        document, topic, values = DOC_TOPIC.arrays(table, D=n_docs, K=K)
        counts: CsrMatrix = sparse.coo_array((values, (document, topic)), shape=(n_docs, K)).tocsr()
    counts.sort_indices()
    return counts


def training_table(rows: pa.Table, main: MainTopics, paths: IntArray | None = None) -> pa.Table | None:
    """Return the topics, and paths (D, L), of the documents that were fitted, by id and hash of the text; None where no text is known."""
    if TEXT_HASH not in rows.column_names:
        return None
    hashes = rows.column(TEXT_HASH)
    columns = {
        "id": rows.column("id"),
        "text_hash": hashes,
        **topic_columns(main.topic, main.prob, main.topic, main.margin),
        **path_columns(paths),
    }
    return pa.table(columns).filter(hashes.is_valid())


def with_text_hashes(rows: pa.Table, run: Run) -> pa.Table:
    """Return the documents of a run with the hashes of their texts again; null where the run does not hold them."""
    known: dict[str, str] = {}
    if (run.path / "model" / "training.parquet").is_file():
        table = run.table("model/training", ["id", "text_hash"])
        known = dict(zip(table.column("id").to_pylist(), table.column("text_hash").to_pylist(), strict=True))
    hashes = [known.get(name) for name in rows.column("id").to_pylist()]
    return rows.append_column(TEXT_HASH, pa.array(hashes, pa.string()))


class FittedTexts:
    """The documents of a fit by their texts: topic, topic_prob and margin (U,) of each, paths (U, L) in a tree of topics."""

    def __init__(self, table: pa.Table | None) -> None:
        """Start from the result of `training_table`; None: no text is known."""
        columns = (
            {} if table is None else {name: table.column(name).to_numpy() for name in ("topic", "topic_prob", "margin")}
        )
        self.topic, self.topic_prob, self.margin = (
            columns.get(name, np.zeros(0)) for name in ("topic", "topic_prob", "margin")
        )
        self.paths = read_paths(table)
        hashes = [] if table is None else table.column("text_hash").to_pylist()
        self._first: dict[str, int] = {}
        copies = []
        for row, key in enumerate(hashes):
            if self._first.setdefault(key, row) != row:
                copies.append(row)
        self._by_id: dict[tuple[str, str], int] = {}  # only where a text stands more than once
        ids = table.column("id") if table is not None else ()
        for row in [*{self._first[hashes[row]] for row in copies}, *copies]:
            self._by_id[hashes[row], ids[row].as_py()] = row

    def rows(self, ids: Sequence[str], hashes: Sequence[str | None]) -> LongArray:
        """Return the row of each document (D,), -1 for new text: of equal texts the one of the same id, else the first."""
        rows = [
            -1 if key is None else self._by_id.get((key, name), self._first.get(key, -1))
            for name, key in zip(ids, hashes, strict=True)
        ]
        return np.array(rows, np.int64)


def read_fitted_texts(run: Run) -> FittedTexts:
    """Return the documents of a run by their texts; none where it does not hold them (states of MALLET, older runs)."""
    if not (run.path / "model" / "training.parquet").is_file():
        return FittedTexts(None)
    table = run.table("model/training")
    with run.intact():
        K = int(run.model_config("n_topics")["n_topics"])
        for name in path_names(table):
            numbers(table, name, least=-1, most=K - 1)
        TRAINING.arrays(table, "topic", "topic_prob", "margin", K=K)
        return FittedTexts(table)


def read_left_out(run: Run) -> frozenset[str] | None:
    """Return the terms of the texts of a run that did not become terms of its model, None where it does not hold them."""
    if not (run.path / "model" / "left_out.parquet").is_file():
        return None
    table = run.table("model/left_out")
    with run.intact():
        return frozenset(strings(table, "term"))


def read_alpha(run: Run, K: int) -> FloatArray:
    """Return α (K,), zeros of a model without a prior. Raises InputError where the run directory is damaged."""
    table = run.table("model/alpha")
    with run.intact():
        alpha: FloatArray = numbers(table, "alpha", least=_least_prior(run)).astype(np.float64)
        if len(alpha) != K:
            raise ValueError(f"{len(alpha)} alphas for {K} topics")
    return alpha


def _least_prior(run: Run) -> float:
    return float(np.finfo(float).tiny) if run.manifest["kind"] == "lda-gibbs" else 0.0


def read_model(run: Run) -> MixtureModel:
    """Return the model of a run.

    Raises:
        InputError: the run directory is damaged.
    """
    config: dict[str, Any] = run.model_config("n_topics", "eta")
    vocab, counts = run.table("vocab"), run.table("model/topic_term")
    with run.intact():
        terms = tuple(strings(vocab, "term"))
        K, eta = int(config["n_topics"]), float(config["eta"])
        alpha = read_alpha(run, K)
        least = float(np.finfo(float).tiny) if MODELS[run.manifest["kind"]].has_eta else 0.0
        if not least <= eta < np.inf:
            raise ValueError(f"eta {eta:g}")
        topic, term, values = TOPIC_TERM.arrays(counts, K=K, V=len(terms))
        topic_term = sparse.coo_array((values, (topic, term)), shape=(K, len(terms))).tocsr()
        counts_tokens = MODELS[run.manifest["kind"]].counts_tokens
        if counts_tokens and (topic_term.sum(axis=0) > numbers(vocab, "cf", least=0)).any():
            raise ValueError("more tokens of a term in topics than in documents")
    topic_term.sort_indices()
    return MixtureModel(terms, topic_term, alpha, eta)


# ------------------------------------------------------------------------------------------------------------------------
# The topics of the documents of a run: the main one of each, or their mixture, of which nothing is left out.


def read_membership(run: Run, *, mixed: bool) -> Membership:
    """Return which topics the documents (D,) of a run have, in their order.

    Args:
        mixed: all topics by their probability: those of a topic that a document has no word of are of the prior. Of runs of before
            2026-11-23 what doc_topics.parquet leaves out is spread over the topics by their alpha.

    Raises:
        InputError: the run is damaged.
    """
    K = run.table("topics", ["topic"]).num_rows
    if mixed:
        counts, alpha = read_counts_and_prior(run, K)
        return _listed(run, K, alpha) if counts is None else _membership_of(counts, alpha)
    return one_topic_each(run.table("documents", ["topic"]).column("topic").to_numpy().astype(np.int32), K)


def read_theta(run: Run) -> Callable[[slice | LongArray], FloatArray]:
    """Return what gives theta (rows, K) of some documents of a mixture model, by row, as it was fitted.

    Raises:
        InputError: the run is damaged.
    """
    K = run.table("topics", ["topic"]).num_rows
    counts, alpha = read_counts_and_prior(run, K)
    if counts is not None:
        return partial(theta_of, counts, alpha)
    U, scale = _listed(run, K, alpha).parts()
    even = alpha if alpha.any() else np.ones(K)

    def theta(rows: slice | LongArray) -> FloatArray:
        weights = U[rows].toarray() + np.multiply.outer(scale[rows], even)
        total = weights.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, weights / np.where(total > 0, total, 1.0), even / even.sum()))

    return theta


def read_counts_and_prior(run: Run, K: int) -> tuple[CsrMatrix | None, FloatArray]:
    """Return n_dk (D, K), None of a run that does not hold them, and α (K,), zeros of one without a prior.

    Raises:
        InputError: the run is damaged.
    """
    alpha = read_alpha(run, K) if run.is_mixture else np.zeros(K)
    return read_doc_topic(run, run.table("documents", ["id"]).num_rows, K), alpha


def _membership_of(counts: CsrMatrix, alpha: FloatArray) -> Membership:
    """Return the mixtures θ_dk = (n_dk + α_k) / (N_d + Σ α) of documents with counts (D, K)."""
    lengths = np.asarray(counts.sum(axis=1), np.float64).ravel()
    document = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    data = (counts.data + alpha[counts.indices]) / (lengths[document] + alpha.sum())
    weights = sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
    return Membership(weights, lengths == 0, alpha if alpha.any() else np.ones(len(alpha)))


def _listed(run: Run, K: int, alpha: FloatArray) -> Membership:
    """Return the mixtures as doc_topics.parquet has them; what it leaves out is spread by alpha, evenly where that is 0."""
    names, listed = run.table("documents", ["id"]), run.table("doc_topics", ["id", "topic", "prob"])
    with run.intact():
        rows = pc.index_in(listed.column("id"), value_set=names.column("id").combine_chunks())
        if rows.null_count:
            raise ValueError("documents of doc_topics.parquet that are not in documents.parquet")
        of_topic, prob = (listed.column(name).to_numpy() for name in ("topic", "prob"))
        shape = (names.num_rows, K)
        weights = sparse.coo_array((prob.astype(np.float64), (rows.to_numpy(), of_topic)), shape=shape).tocsr()
    return Membership(weights, np.diff(weights.indptr) == 0, alpha if alpha.any() else np.ones(K))


# ------------------------------------------------------------------------------------------------------------------------
# The words of the topics of a run, with weights, of every kind of run.


@dataclass(frozen=True, slots=True)
class TopicWords:
    """Words of topics: weights (K, V) CSR over the vocabulary; shares (K, V) of each term's occurrences that a topic has, same entries.

    terms (V,); weighting: what the weights are; complete: whether every word of a topic is there, not only its strongest.
    """

    terms: list[str]
    weights: CsrMatrix
    shares: CsrMatrix
    weighting: str
    complete: bool


def read_topic_words(run: Run) -> TopicWords:
    """Return the words of the topics of a run: of mixtures those with tokens and their φ, of bertopic those stored and their c-tf-idf.

    Raises:
        InputError: the run is damaged.
    """
    if run.is_mixture:
        model = read_model(run)
        counts = sparse.csr_array(model.topic_term, dtype=np.float64)
        topic = np.repeat(np.arange(model.n_topics), np.diff(counts.indptr))
        scale = topic_scale(counts, model.eta)
        phi = sparse.csr_array(
            ((counts.data + model.eta) * scale[topic], counts.indices, counts.indptr), shape=counts.shape
        )
        return TopicWords(list(model.terms), phi, _shares(counts), "probability", complete=True)
    table, vocab = run.table("topic_terms"), run.table("vocab", ["term"])
    K = run.table("topics", ["topic"]).num_rows
    with run.intact():
        terms = strings(vocab, "term")
        place = {term: v for v, term in enumerate(terms)}
        names = table.column("term").to_pylist()
        extra = [term for term in dict.fromkeys(names) if term not in place]  # none, unless the vocabulary was cut
        place |= {term: len(terms) + i for i, term in enumerate(extra)}
        topic, term = numbers(table, "topic", least=0, most=K - 1), np.array([place[name] for name in names], np.int64)
        name = "ctfidf" if "ctfidf" in table.column_names else "weight"
        shape = (K, len(place))
        weights = sparse.coo_array((numbers(table, name).astype(np.float64), (topic, term)), shape=shape).tocsr()
        shares = weights * np.nan
        if "share" in table.column_names:
            shares = sparse.coo_array((numbers(table, "share").astype(np.float64), (topic, term)), shape=shape).tocsr()
    return TopicWords([*terms, *extra], weights, shares, name, complete=False)


def _shares(counts: CsrMatrix) -> CsrMatrix:
    """Return counts divided by the sums of their columns."""
    total = np.asarray(counts.sum(axis=0), np.float64).ravel()[counts.indices]
    data = np.divide(counts.data, total, out=np.zeros(len(counts.data)), where=total > 0)
    return sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


# ------------------------------------------------------------------------------------------------------------------------
# theta and phi of a run as long tables, batch by batch, of which nothing above 0 is left out.


def theta_rows(run: Run, names: Sequence[str], *, first: int = 0) -> pa.RecordBatchReader:
    """Return document, topic and probability: theta of a mixture model as it was fitted, of bertopic the shares of votes.

    Args:
        names: of the three columns. first: number of the first topic.
    """
    schema = pa.schema(list(zip(names, (pa.string(), pa.int32(), pa.float64()), strict=True)))
    return pa.RecordBatchReader.from_batches(schema, _theta_batches(run, schema, first))


def _theta_batches(run: Run, schema: pa.Schema, first: int) -> Iterator[pa.RecordBatch]:
    if not run.is_mixture:
        listed = run.table("doc_topics")
        topic = pa.array(listed.column("topic").to_numpy() + first)
        votes = pa.table([listed.column("id"), topic, listed.column("prob")], names=schema.names)
        yield from votes.cast(schema).to_batches()
        return
    theta, ids = read_theta(run), run.table("documents", ["id"]).column("id").combine_chunks()
    step = max(1, CELLS // run.table("topics", ["topic"]).num_rows)
    for start in range(0, len(ids), step):
        block = theta(slice(start, start + step))
        document, topic = np.nonzero(block)
        columns = [
            ids.take(pa.array(start + document)),
            pa.array(topic + first, pa.int32()),
            pa.array(block[document, topic]),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def phi_rows(run: Run, names: Sequence[str], *, first: int = 0) -> pa.RecordBatchReader:
    """Return topic, term and weight, the heaviest first: phi of a mixture model, of bertopic the c-tf-idf of the words it stores."""
    schema = pa.schema(list(zip(names, (pa.int32(), pa.string(), pa.float64()), strict=True)))
    return pa.RecordBatchReader.from_batches(schema, _phi_batches(run, schema, first))


def _phi_batches(run: Run, schema: pa.Schema, first: int) -> Iterator[pa.RecordBatch]:
    for k, (terms, term_ids, weights) in enumerate(_words(run)):
        order = np.lexsort((term_ids, -weights))
        topic = pa.array(np.full(len(order), k + first, np.int32))
        columns = [topic, terms.take(pa.array(term_ids[order])), pa.array(weights[order])]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _words(run: Run) -> Iterator[tuple[pa.Array, LongArray, FloatArray]]:
    """Yield all terms, and the ids and weights of those of each topic that have any weight."""
    if run.is_mixture:
        model = read_model(run)
        terms = pa.array(model.terms, pa.string())
        for k in range(model.n_topics):
            phi = MixtureModel(model.terms, sparse.csr_array(model.topic_term[[k]]), model.alpha[[k]], model.eta).phi[0]
            held = np.flatnonzero(phi)
            yield terms, held, phi[held]
        return
    stored = read_topic_words(run)
    terms, weights = pa.array(stored.terms, pa.string()), stored.weights
    for k in range(weights.shape[0]):
        row = slice(weights.indptr[k], weights.indptr[k + 1])
        yield terms, weights.indices[row].astype(np.int64), weights.data[row]
