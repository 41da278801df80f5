"""What the report of a topic run shows: topics with their words and documents, the map, the tree, distances, what was left out.

Further parts, in this order:
- The map in the report of a topic run: vectors of the documents that the run holds, and their places.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from nlpkit.cluster.hierarchy import LEAST_STABLE
from nlpkit.cluster.map import document_map, share_vectors, stratified_sample, topic_map
from nlpkit.errors import InputError, missing_column
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.score import Uncertainty, mean_score
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import embedding_matrix
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.reading import open_run_documents
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.runs.table_spec import numbers
from nlpkit.platform.types import Float32Array, FloatArray, IntArray
from nlpkit.platform.values import python_values
from nlpkit.report.options import ReportOptions
from nlpkit.report.prose import number_sentence, score_sentence
from nlpkit.topics.base.by_term import topic_scale
from nlpkit.topics.base.tables import read_model
from nlpkit.topics.base.topic_run import opened_run
from nlpkit.topics.base.topic_tables import texts_of_run
from nlpkit.topics.edit.files import hidden_topics
from nlpkit.topics.edit.looks import topic_distances, topic_looks

TERMS = 30
LAMBDAS = (0.0, 0.25, 0.5, 0.75, 1.0)
BORDERLINE = 5
IN_TOPICS = (
    "duplicate texts",
    "documents that are not in this file",
)  # what is left out of the file, but not of the topics
TYPICAL_CHARS, TITLE = 1000, 80
UNTESTED = "Whether a second fit finds these topics was not tested: fit again with another seed, and compare both runs."
RESERVED = ("id", "topic", "topic_prob", "nearest_topic", "margin", "chunk")
MEANINGS = {
    "npmi": ("NPMI (documents) of the top words", "From -1 to 1; above 0, the top words share documents more often than by chance."),
    "exclusivity": ("Exclusivity", "The share of the top words that falls to the topic: at 1 no other topic uses them."),
    "diversity": ("Diversity", "The share of top words that no other topic has."),
    "agreement": ("Agreement (AMI) with topics inferred from one half of the corpus", "0: as by chance; 1: the same topics."),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TopicRunContent:
    """What is read of a topic run.

    rows: (n,) documents that are in the file, as rows of `documents`. titles, texts: of every document that needs one, by row.
    """

    run: Run
    topics: pa.Table
    documents: pa.Table
    rows: IntArray
    titles: Mapping[int, str]
    texts: Mapping[int, str]

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return int(self.topics.num_rows)

    def numbers(self, name: str) -> FloatArray:
        """Return a numeric column of documents.parquet (D,) float64."""
        values: FloatArray = self.documents.column(name).to_numpy().astype(np.float64)
        return values


def read_content(run: Run, options: ReportOptions, read: ReadOptions, execution: Execution) -> TopicRunContent:
    """Return what a report needs of a run: its tables, and titles and texts of the documents that it shows.

    A corpus that is gone or has changed is warned of; titles and typical documents are then those that the run holds.

    Raises:
        ColumnError: the documents have no column of titles by the name that was given; of the usual name they may have none.
    """
    topics, documents = run.table("topics"), run.table("documents")
    assigned = documents.column("topic").to_numpy()
    candidates = _with_vectors(run)
    if candidates is None:
        rows = stratified_sample(assigned, options.max_points, seed=execution.seed)
    else:
        rows = candidates[stratified_sample(assigned[candidates], options.max_points, seed=execution.seed)]
    if options.no_texts:
        return TopicRunContent(run, topics, documents, rows, {}, {})
    shown = np.unique(np.concatenate([rows, *borderline_documents(documents, topics.num_rows)])).astype(np.int32)
    if options.title_col not in documents.column_names and options.title_col != ReportOptions().title_col:
        raise missing_column(str(run.path), options.title_col, documents.column_names, "title_col")
    titles = _stored_titles(documents, shown, options.title_col)
    try:
        titles, texts = _read_texts(run, documents, shown, titles, options, read)
    except InputError as error:
        reporting.warn(f"{error}; the report only has texts of typical documents", always=True)
        texts = {}
    return TopicRunContent(run, topics, documents, rows, titles, texts)


def _with_vectors(run: Run) -> IntArray | None:
    """Return the documents whose embeddings the run holds, where these are those of a sample; None where it holds all, or none."""
    if run.manifest["results"].get("fit_sample") is None:
        return None
    with run.intact():
        last = run.table("documents", ["id"]).num_rows - 1
        return np.sort(numbers(run.table("model/training", ["row"]), "row", least=0, most=last)).astype(np.int32)


def borderline_documents(documents: pa.Table, K: int) -> list[IntArray]:
    """Return the rows of the documents of each topic that are nearest to another: the smallest margins."""
    topic, margin = documents.column("topic").to_numpy(), documents.column("margin").to_numpy().astype(np.float64)
    order = np.lexsort((np.arange(len(topic)), np.nan_to_num(margin, nan=np.inf), topic))
    starts = np.searchsorted(topic[order], np.arange(K + 1))
    return [order[starts[k] : min(starts[k] + BORDERLINE, starts[k + 1])].astype(np.int32) for k in range(K)]


def _stored_titles(documents: pa.Table, rows: IntArray, column: str) -> dict[int, str]:
    if column not in documents.column_names:
        return {}
    values = documents.column(column).take(pa.array(rows)).cast(pa.string()).to_pylist()
    return {int(row): value for row, value in zip(rows, values, strict=True) if value}


def _read_texts(
    run: Run,
    documents: pa.Table,
    rows: IntArray,
    titles: dict[int, str],
    options: ReportOptions,
    read: ReadOptions,
) -> tuple[dict[int, str], dict[int, str]]:
    """Return titles and texts by row, from the corpus."""
    wanted = documents.column("id").take(pa.array(rows)).combine_chunks()
    titles, texts = dict(titles), {}
    with open_run_documents(run, read) as stream:
        for batch in stream:
            places = pc.index_in(batch.column("id"), value_set=wanted)
            there = places.is_valid()
            chosen = batch.column("text").filter(there).to_pylist()
            for row, text in zip(rows[places.filter(there).to_numpy()].tolist(), chosen, strict=True):
                if row not in titles:
                    titles[row] = _title((text or "")[:400])
                if options.texts:
                    texts[row] = (text or "")[:TYPICAL_CHARS]
    return titles, texts


def _title(text: str) -> str:
    """Return the beginning of a text in place of a title: whole words, where it has spaces."""
    whole = " ".join(text.split())
    words = whole[:TITLE].rpartition(" ")[0]
    return f"{words}…" if len(whole) > TITLE and len(words) > TITLE - 20 else wording.truncated(whole, TITLE)


# ---------------------------------------------------------------- topics and their words


def topic_rows(content: TopicRunContent, options: ReportOptions) -> list[dict[str, Any]]:
    """Return each topic: numbers, words for every λ, words that no other topic leads with, typical and borderline documents."""
    terms = relevant_terms(content.run)
    tokens = token_shares(content.run)
    leading = Counter(term for row in content.topics.column("top_terms").to_pylist() for term in row)
    border = borderline_documents(content.documents, content.n_topics)
    by_id = {} if options.no_texts else _rows_by_id(content)
    shown = []
    for k, topic in enumerate(content.topics.to_pylist()):
        top = topic["top_terms"]
        shown.append(
            {
                **{
                    name: topic.get(name)
                    for name in ("topic", "size", "share", "label", "npmi", "exclusivity", "stability")
                },
                "top": top,
                "tokens": tokens[k],
                "terms": terms[k],
                "only": [t["t"] for t in terms[k] if leading[t["t"]] == (t["t"] in top)][:10],
                "typical": _typical(content, topic, by_id, options),
                "border": [_border(content, int(row), options) for row in border[k]],
            }
        )
    return shown


def _rows_by_id(content: TopicRunContent) -> dict[str, int]:
    ids = [i for row in content.topics.column("representative_ids").to_pylist() for i in row]
    places = pc.index_in(pa.array(ids, pa.string()), value_set=content.documents.column("id")).to_pylist()
    return {i: place for i, place in zip(ids, places, strict=True) if place is not None}


def _typical(
    content: TopicRunContent, topic: Mapping[str, Any], rows: Mapping[str, int], options: ReportOptions
) -> list[dict[str, Any]]:
    documents = []
    for identity, text in zip(topic["representative_ids"], topic["representative_texts"], strict=True):
        row = rows.get(identity, -1)
        one: dict[str, Any] = {"id": identity}
        if not options.no_texts:
            one["title"] = content.titles.get(row) or _title(text)
        if options.texts:
            one["text"] = content.texts.get(row, text)
        documents.append(one)
    return documents


def _border(content: TopicRunContent, row: int, options: ReportOptions) -> dict[str, Any]:
    documents = content.documents
    one: dict[str, Any] = {
        "id": documents.column("id")[row].as_py(),
        "near": documents.column("nearest_topic")[row].as_py(),
        "margin": round(float(documents.column("margin")[row].as_py() or 0.0), 3),
    }
    if not options.no_texts:
        one["title"] = content.titles.get(row, "")
    if options.texts:
        one["text"] = content.texts.get(row, "")
    return one


def token_shares(run: Run) -> list[float | None]:
    """Return the share of the tokens of each topic (K,): share times lift of a word is the share of its occurrences in the topic.

    It is None for a model of another program without its documents.
    """
    if run.is_mixture:
        counts = np.asarray(sparse.csr_array(read_model(run).topic_term).sum(axis=1), np.float64).ravel()
        return [_short(value) for value in counts / max(counts.sum(), 1e-300)]
    vocab = run.table("vocab", ["cf"])
    if not vocab.num_rows:
        return [None] * run.table("topics", ["topic"]).num_rows
    with run.intact():
        total = float(numbers(vocab, "cf", least=0).sum())
        return [_short(n / max(total, 1.0)) for n in numbers(run.table("topics", ["words"]), "words", least=0)]


def _weighted_terms(table: pa.Table, K: int) -> list[list[dict[str, Any]]]:
    reporting.warn("the run has no counts of words, so the report shows shares of their weights")
    rows: list[list[dict[str, Any]]] = [[] for _ in range(K)]
    for row in table.to_pylist():
        rows[row["topic"]].append({"t": row["term"], "w": round(row["weight"], 4), "l": 0})
    for words in rows:
        total = sum(word["w"] for word in words) or 1.0
        words[:] = [{**word, "p": _short(word["w"] / total)} for word in words]
    return rows


def relevant_terms(run: Run) -> list[list[dict[str, Any]]]:
    """Return the words of each topic: t term, p probability in the topic, l probability in the topic over that in the corpus.

    Of LDA these are the 30 words of highest relevance λ log φ + (1 - λ) log(φ / p) (Sievert & Shirley 2014) for each of five λ, with
    the p of LDAvis, Σ_k n_k φ_k over all tokens;
    of topics from embeddings the words that the run stores, w their weight there, in which order they stand. A run without counts of
    words has the shares of the weights for p, and no l.
    """
    if run.is_mixture:
        return list(_mixture_terms(run))
    table, vocab = run.table("topic_terms"), run.table("vocab")
    if not vocab.num_rows:
        return _weighted_terms(table, run.table("topics", ["topic"]).num_rows)
    topics = run.table("topics", ["words"])
    with run.intact():
        cf, words = numbers(vocab, "cf", least=0).astype(np.float64), numbers(topics, "words", least=0)
        place = pc.index_in(table.column("term"), value_set=vocab.column("term"))
        if place.null_count:
            raise ValueError("topic_terms has a term that vocab has not")
        p_term = cf[place.to_numpy()] / max(cf.sum(), 1.0)
        topic = table.column("topic").to_numpy()
        phi = numbers(table, "count", least=0) / np.maximum(words[topic], 1)
    lift = np.divide(phi, p_term, out=np.zeros_like(phi), where=p_term > 0)
    rows: list[list[dict[str, Any]]] = [[] for _ in words]
    for k, term, weight, p, ratio in zip(
        topic, table.column("term").to_pylist(), table.column("weight").to_pylist(), phi, lift, strict=True
    ):
        rows[k].append({"t": term, "w": round(weight, 4), "p": _short(p), "l": _short(ratio)})
    return rows


def _mixture_terms(run: Run) -> Iterator[list[dict[str, Any]]]:
    model = read_model(run)
    counts = sparse.csr_array(model.topic_term)
    scale = topic_scale(counts, model.eta)
    weight_k = np.asarray(counts.sum(axis=1), np.float64).ravel() * scale
    # Σ_k n_k φ_kv, as LDAvis has it: rare words do not lead for λ = 0
    expected = weight_k @ counts + model.eta * weight_k.sum()
    p_term = expected / max(expected.sum(), 1e-300)
    for k in range(counts.shape[0]):
        row = slice(counts.indptr[k], counts.indptr[k + 1])
        ids, phi = counts.indices[row], (counts.data[row] + model.eta) * scale[k]
        lift = phi / np.maximum(p_term[ids], 1e-300)
        kept: set[int] = set()
        for weight in LAMBDAS:
            relevance = weight * np.log(phi) + (1 - weight) * np.log(lift)
            kept.update(np.lexsort((ids, -relevance))[:TERMS].tolist())
        order = sorted(kept, key=lambda i: (-phi[i], ids[i]))
        yield [{"t": model.terms[ids[i]], "p": _short(phi[i]), "l": _short(lift[i])} for i in order]


def _short(value: float) -> float:
    return float(f"{value:.4g}")


# ---------------------------------------------------------------- topics among each other


def topic_relations(content: TopicRunContent) -> dict[str, Any]:
    """Return places of the topics in the plane, and their tree as merges [left, right, distance], leaves first."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    run, K = content.run, content.n_topics
    distances, what = topic_distances(run, K)
    relations: dict[str, Any] = {"places": topic_map(distances), "distances": distances, "distance": what}
    if (run.path / "tree.parquet").is_file():
        tree = run.table("tree")
        merges = [tree.column(name).to_pylist() for name in ("left", "right", "distance")]
        relations["tree"] = [[a, b, _short(d)] for a, b, d in zip(*merges, strict=True)]
    elif K > 1:
        merged = linkage(squareform(distances, checks=False), "average")
        relations["tree"] = [[int(a), int(b), _short(d)] for a, b, d, _ in merged]
    return relations


def layer_rows(run: Run) -> list[list[dict[str, Any]]]:
    """Return the topics of each layer, coarsest first; nothing for runs without layers."""
    if not (run.path / "layers.parquet").is_file():
        return []
    table = run.table("layers").to_pylist()
    numbers_of_layers = {row["layer"] for row in table}
    with run.intact():
        if numbers_of_layers != set(range(len(numbers_of_layers))):
            raise ValueError("the layers are not 0, 1, 2 …")
    layers: list[list[dict[str, Any]]] = [[] for _ in numbers_of_layers]
    for row in table:
        layers[row["layer"]].append({name: row[name] for name in ("label", "parent", "size", "chosen")})
    return layers


# ---------------------------------------------------------------- numbers of the whole


def overview(content: TopicRunContent, execution: Execution) -> tuple[list[str], list[str]]:
    """Return what stands at the top: documents and topics, which to distrust, why so many; and the scores, each explained."""
    manifest, D, K = content.run.manifest, content.documents.num_rows, content.n_topics
    none = int((content.documents.column("topic").to_numpy() < 0).sum())
    columns = content.topics.column_names
    sentences = [
        wording.counted(D, "document")
        + (f"; {wording.count(none)} ({wording.percent(none / D)}) without a topic." if none else ".")
    ]
    hidden, labels = hidden_topics(content.run), content.topics.column("label").to_pylist()
    stable = content.topics.column("stability").to_pylist() if "stability" in columns else []
    dissolved = [
        f"“{labels[k]}”"
        for k, value in enumerate(stable)
        if value is not None and value < LEAST_STABLE and k not in hidden
    ]
    if dissolved:
        sentences.append(
            f"Do not rely on the topics marked !: {', '.join(dissolved)} (stability under {LEAST_STABLE}: a second fit did not find them)."
        )
    results = manifest["results"]
    agreement = (results.get("stability") or {}).get("agreement")
    if agreement is None and not any(value is not None for value in stable):
        sentences.append(UNTESTED)
    sentences.append(number_sentence(manifest, K))
    computed: dict[str, tuple[float | None, list[float] | None]] = {}
    for name in ("npmi", "exclusivity"):
        values = np.array([np.nan if v is None else v for v in content.topics.column(name).to_pylist()], np.float64)
        score = mean_score(METRICS[name], values, Uncertainty(0.95, execution.seed))
        computed[name] = score.value, [score.interval.low, score.interval.high] if score.interval else None
    computed["diversity"] = results.get("diversity"), None
    computed["agreement"] = agreement, None
    scores = [
        f"{score_sentence(MEANINGS[name][0], value, span)}. {MEANINGS[name][1]}"
        for name, (value, span) in computed.items()
        if value is not None
    ]
    if any(value is not None for value in stable):
        scores.append("Stability of a topic: from 0 to 1, how much of it a second fit finds again.")
    return sentences, scores


def left_out(content: TopicRunContent) -> list[tuple[str, int, str]]:
    """Return what is not in the topics or not in the file: what, how many documents, why."""
    run, documents = content.run, content.documents
    rows: list[tuple[str, int, str]] = []
    none = int((documents.column("topic").to_numpy() < 0).sum())
    rows.append(("documents without a topic", none, "no word that the model knows, or unlike every topic"))
    if (run.path / "dropped.parquet").is_file():
        reasons = Counter(run.table("dropped").column("reason").to_pylist())
        rows += [("rows of the input that were dropped", n, reason) for reason, n in reasons.most_common()]
    if (run.path / "model" / "training.parquet").is_file():
        hashes = texts_of_run(run, ["text_hash"]).column("text_hash").drop_null()
        if run.manifest["kind"] == "bertopic":  # one row for each different text
            used = int(pc.sum(pc.greater_equal(documents.column("nearest_topic"), 0)).as_py() or 0)
            repeated = max(used - len(hashes), 0)
        else:
            repeated = len(hashes) - pc.count_distinct(hashes).as_py()
        rows.append(("duplicate texts", repeated, "included in the topics; the first of each text is not counted here"))
    missing = documents.num_rows - len(content.rows)
    if missing:
        why = "this file holds a sample stratified by topic; counts, shares and words are those of all documents"
        rows.append(("documents that are not in this file", missing, why))
    return rows


def user_columns(content: TopicRunContent, options: ReportOptions) -> Sequence[str]:
    """Return the names of the user's columns that colour the map: not ids, texts, nor the layers."""
    if options.no_texts:
        return []
    names = content.documents.column_names
    return [n for n in names if n not in (*RESERVED, options.title_col) and not n.startswith("layer_")]


# ------------------------------------------------------------------------------------------------------------------------
# The map in the report of a topic run: vectors of the documents that the run holds, and their places.


def map_vectors(content: TopicRunContent) -> Float32Array | None:
    """Return the vectors (n, E) of the documents in the file, by which the map is made; None where the run holds none."""
    run, K = content.run, content.n_topics
    if not run.is_mixture:
        with run.intact():
            return _embedding_rows(content)
    table = run.table("doc_topics")
    with run.intact():
        ids = content.documents.column("id").take(pa.array(content.rows))
        rows = pc.index_in(table.column("id"), value_set=ids)
        there = rows.is_valid().to_numpy()
        return share_vectors(
            rows.drop_null().to_numpy().astype(np.int32),
            table.column("topic").to_numpy()[there],
            table.column("prob").to_numpy()[there].astype(np.float64),
            (len(content.rows), K),
        )


def _embedding_rows(content: TopicRunContent) -> Float32Array | None:
    """Return the embeddings of the documents in the file (n, E), zeros for those that were not used.

    The model holds one for each different text, with the document that had it first and what the text was given; further documents
    are joined to it by these numbers. Runs of before 2026-12 do not say which was first: all are joined so, in the order of both.
    """
    training = content.run.table("model/training")
    columns = ("topic", "topic_prob", "nearest_topic", "margin")
    queues: dict[tuple[Any, ...], deque[int]] = {}
    for row, key in enumerate(zip(*(python_values(training.column(name)) for name in columns), strict=True)):
        queues.setdefault(key, deque()).append(row)
    places = np.full(content.documents.num_rows, -1, np.int64)
    others: IntArray = np.arange(len(places), dtype=np.int32)
    if "row" in training.column_names:
        with content.run.intact():
            places[numbers(training, "row", least=0)] = np.arange(training.num_rows)
        others = content.rows[places[content.rows] < 0]
    keys = zip(*(python_values(content.documents.column(name).take(pa.array(others))) for name in columns), strict=True)
    for document, key in zip(others, keys, strict=True):
        queue = queues.get(key)
        if queue:
            places[document] = queue.popleft() if len(queue) > 1 else queue[0]
    places = places[content.rows]
    if (places < 0).mean() > 0.5:
        return None
    vectors = embedding_matrix(training.column("embedding"))
    chosen: Float32Array = np.where(places[:, None] >= 0, vectors[places], np.float32(0))
    return chosen


def map_arrays(content: TopicRunContent, execution: Execution, layout: str = "nlpkit") -> dict[str, np.ndarray]:
    """Return x, y of the documents in the file (n,) uint16, or nothing where the run holds no vectors."""
    vectors = map_vectors(content)
    if vectors is None:
        reporting.warn("the run does not store the vectors of its documents, so the report has no map", always=True)
        return {}
    with reporting.progress("map", 100, percent=True) as update:
        places = document_map(
            vectors, layout=layout, seed=execution.seed, threads=execution.n_threads(),
            progress=lambda share: update(int(100 * share)),
        )  # fmt: skip
    steps = np.round(np.clip(places, 0, 1) * 65535).astype(np.uint16)
    return {"x": steps[:, 0], "y": steps[:, 1]}


def other_map(
    path: Path, content: TopicRunContent, execution: Execution, layout: str
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return colours and shapes of topics of another run, and where it has documents of this file: other_x, other_y, other_topic (n,).

    Documents are joined by their IDs; one that the other run has not gets the topic -2. No arrays where the other run holds no vectors,
    or none of the documents.
    """
    run = opened_run(path, execution)
    documents = run.table("documents")
    ids = content.documents.column("id").take(pa.array(content.rows))
    places = pc.fill_null(pc.index_in(ids, value_set=documents.column("id").combine_chunks()), -1).to_numpy()
    there = np.flatnonzero(places >= 0)
    rows = places[there].astype(np.int32)
    other = TopicRunContent(run, run.table("topics"), documents, rows, {}, {})
    looks: dict[str, Any] = dict(zip(("colours", "shapes"), topic_looks(run), strict=True))
    placed = map_arrays(other, execution, layout) if len(rows) else {}
    if not placed:
        return looks, {}
    arrays = {f"other_{name}": np.zeros(len(places), np.uint16) for name in placed}
    for name, values in placed.items():
        arrays[f"other_{name}"][there] = values
    topic = np.full(len(places), -2, np.int16)
    topic[there] = documents.column("topic").to_numpy()[rows]
    return looks, {**arrays, "other_topic": topic}
