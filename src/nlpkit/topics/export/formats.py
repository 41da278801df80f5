"""The formats of an export: BERTopic, GEXF, Newick, workbooks, CSV, JSON, folders for R, lists of topics.

BERTopic's folder: topics.json, config.json, topic_embeddings.safetensors; ctfidf.safetensors and ctfidf_config.json where
the counts of all words are known. No file is a pickle.

Parts, in this order:
- A run as the folder that BERTopic.load reads (BERTopic 0.17, serialization="safetensors"), written without BERTopic.
- A network of topics and their words as GEXF 1.3, which Gephi and networkx read.
- Layers of topics as a tree in the Newick format, which programs for trees read (Olsen 1990; ete, dendroscope, R ape).
- The tables of a run for other programs: a workbook, a folder of CSV files, one JSON file, a folder for R.
- Lists of topics and their words, written for other programs: OCTIS, a line a topic, a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from nlpkit.errors import InputError
from nlpkit.platform.documents.inputs import InputInfo
from nlpkit.platform.plain import to_json
from nlpkit.platform.runs.atomic import MANIFEST, atomic_directory, atomic_file
from nlpkit.platform.runs.footers import SCHEMA_VERSION
from nlpkit.platform.runs.runs import Run, manifest_of, sha256_of
from nlpkit.platform.runs.tables import workbook, write_sheet
from nlpkit.platform.runs.tensor_files import write_safetensors
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray
from nlpkit.version import __version__


@dataclass(frozen=True, slots=True)
class BertopicModel:
    """What a folder of BERTopic holds; topic -1 comes first in all that has a row for each topic, where documents are without one.

    topics (D,) of the documents, in their order; words: of each topic (-1 too) with weights; embeddings (K or K+1, E); labels (K,).
    counts: c-tf-idf (K or K+1, V) and the inverse class frequency (V,) of the terms, None where they are not known.
    """

    topics: IntArray
    words: Mapping[int, Sequence[tuple[str, float]]]
    embeddings: Float32Array
    labels: Sequence[str]
    encoder: str | None
    n_words: int
    terms: Sequence[str] = ()
    ctfidf: CsrMatrix | None = None
    icf: FloatArray | None = None


def write_bertopic(folder: Path, model: BertopicModel) -> None:
    """Write the files of a model into an empty folder."""
    has_none = bool((model.topics < 0).any())
    numbers = [-1] * has_none + list(range(len(model.labels)))
    sizes = {str(k): int((model.topics == k).sum()) for k in numbers}
    custom = ["(no topic)"] * has_none + list(model.labels)
    _write_json(
        folder / "topics.json",
        {
            "topic_representations": {str(k): [list(pair) for pair in model.words[k]] for k in numbers},
            "topics": model.topics.tolist(),
            "topic_sizes": sizes,
            "topic_mapper": [[k, k] for k in numbers],
            "topic_labels": {str(k): "_".join([str(k), *(word for word, _ in model.words[k][:4])]) for k in numbers},
            "custom_labels": custom,
            "_outliers": int(has_none),
            "topic_aspects": {},
        },
    )
    config: dict[str, Any] = {
        "calculate_probabilities": False, "language": None, "low_memory": False, "min_topic_size": 10, "n_gram_range": [1, 1],
        "nr_topics": None, "seed_topic_list": None, "top_n_words": model.n_words, "verbose": False,
        "zeroshot_min_similarity": 0.7, "zeroshot_topic_list": None,
    }  # fmt: skip
    if model.encoder is not None:
        config["embedding_model"] = model.encoder
    _write_json(folder / "config.json", config)
    embeddings = np.ascontiguousarray(model.embeddings, np.float32)
    write_safetensors(folder / "topic_embeddings.safetensors", {"topic_embeddings": embeddings})
    if model.ctfidf is None or model.icf is None:
        return
    write_safetensors(
        folder / "ctfidf.safetensors",
        {
            "indptr": np.asarray(model.ctfidf.indptr, np.int32),
            "indices": np.asarray(model.ctfidf.indices, np.int32),
            "data": np.asarray(model.ctfidf.data, np.float64),
            "shape": np.array(model.ctfidf.shape, np.int64),
            "diag": np.asarray(model.icf, np.float64),
        },
    )
    longest = max((term.count(" ") + 1 for term in model.terms), default=1)
    params = {
        "analyzer": "word", "binary": False, "decode_error": "strict", "encoding": "utf-8", "input": "content", "lowercase": True,
        "max_df": 1.0, "max_features": None, "min_df": 1, "ngram_range": [1, longest], "stop_words": None, "strip_accents": None,
        "token_pattern": r"(?u)\b\w\w+\b", "vocabulary": None,
    }  # fmt: skip
    _write_json(
        folder / "ctfidf_config.json",
        {
            "ctfidf_model": {"bm25_weighting": False, "reduce_frequent_words": False},
            "vectorizer_model": {"params": params, "vocab": {term: v for v, term in enumerate(model.terms)}},
        },
    )


def _write_json(path: Path, value: Any) -> None:
    path.write_text(to_json(value, indent=2) + "\n", encoding="utf-8", newline="\n")


# ------------------------------------------------------------------------------------------------------------------------
# A network of topics and their words as GEXF 1.3, which Gephi and networkx read.

_SPACE, _VIZ = "http://gexf.net/1.3", "http://gexf.net/1.3/viz"
_TYPES = {str: "string", int: "integer", float: "double"}


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its id, its label, how large it is drawn, attributes by name."""

    id: str
    label: str
    size: float
    attributes: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """An undirected edge between two nodes, with its weight and what it is."""

    source: str
    target: str
    weight: float
    kind: str


def write_gexf(path: Path, nodes: Sequence[Node], edges: Sequence[Edge], *, force: bool) -> None:
    """Write an undirected network. Raises OutputExistsError when the file is there."""
    ET.register_namespace("", _SPACE)
    ET.register_namespace("viz", _VIZ)
    root = ET.Element(f"{{{_SPACE}}}gexf", version="1.3")
    graph = _child(root, "graph", defaultedgetype="undirected", mode="static")
    names: dict[str, str] = {}
    for node in nodes:
        names |= {name: _TYPES[type(value)] for name, value in node.attributes.items() if name not in names}
    declared = _child(graph, "attributes", **{"class": "node"})
    for number, (name, kind) in enumerate(names.items()):
        _child(declared, "attribute", id=str(number), title=name, type=kind)
    _child(_child(graph, "attributes", **{"class": "edge"}), "attribute", id="0", title="kind", type="string")
    places = {name: str(number) for number, name in enumerate(names)}
    listed = _child(graph, "nodes")
    for node in nodes:
        element = _child(listed, "node", id=node.id, label=_clean(node.label))
        values = _child(element, "attvalues")
        for name, value in node.attributes.items():
            _child(values, "attvalue", **{"for": places[name], "value": _clean(str(value))})
        ET.SubElement(element, f"{{{_VIZ}}}size", value=f"{node.size:.4g}")
    joined = _child(graph, "edges")
    for number, edge in enumerate(edges):
        element = _child(
            joined, "edge", id=str(number), source=edge.source, target=edge.target, weight=f"{edge.weight:.6g}"
        )
        _child(_child(element, "attvalues"), "attvalue", **{"for": "0", "value": edge.kind})
    ET.indent(root)
    with atomic_file(path, force=force) as part:
        ET.ElementTree(root).write(part, encoding="utf-8", xml_declaration=True)


def _child(parent: ET.Element, name: str, **attributes: Any) -> ET.Element:
    return ET.SubElement(parent, f"{{{_SPACE}}}{name}", attributes)


def _clean(text: str) -> str:
    """Return a text without the control characters that XML cannot hold."""
    return "".join(
        c for c in text if c in "\t\n" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")
    )


# ------------------------------------------------------------------------------------------------------------------------
# Layers of topics as a tree in the Newick format, which programs for trees read (Olsen 1990; ete, dendroscope, R ape).


def write_newick(path: Path, layers: Sequence[Mapping[str, Any]], *, force: bool) -> int:
    """Write the tree of layers.parquet; its leaves are the topics of the finest layer, whose number is returned."""
    with atomic_file(path, force=force) as part:
        part.write_text(newick(layers) + "\n", encoding="utf-8", newline="\n")
    finest = max(row["layer"] for row in layers)
    return sum(row["layer"] == finest for row in layers)


def newick(layers: Sequence[Mapping[str, Any]]) -> str:
    """Return the tree: each node is named `layer.topic name`, in quotes, and all branches have length 1.

    Args:
        layers: rows of layers.parquet, with layer, topic, parent and label.
    """
    below: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    for row in layers:
        below.setdefault((row["layer"], row["parent"]), []).append(row)

    def node(row: Mapping[str, Any]) -> str:
        parts = [node(part) for part in below.get((row["layer"] + 1, row["topic"]), [])]
        name = f"{row['layer']}.{row['topic']} {row['label']}".replace("'", "''")
        return f"{'(' + ','.join(parts) + ')' if parts else ''}'{name}':1"

    roots = [row for row in layers if row["parent"] is None]  # the coarsest layer, and topics without a document
    return f"({','.join(map(node, roots))});"


# ------------------------------------------------------------------------------------------------------------------------
# The tables of a run for other programs: a workbook, a folder of CSV files, one JSON file, a folder for R.
#
# Lists become text, words with commas between them: neither spreadsheets nor R have cells that hold lists.

XLSX_TEXT = 32_000  # characters of a text in a workbook, whose cells hold 32,767
TITLES = {"topics": "topics", "terms": "terms", "documents": "documents", "doc_topics": "topics of documents"}


def flat(table: pa.Table) -> pa.Table:
    """Return a table whose lists are text: words with commas, texts with bars between them."""
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            between = " | " if name.endswith("texts") else ", "
            texts = [None if row is None else between.join(map(str, row)) for row in column.to_pylist()]
            column = pa.chunked_array([pa.array(texts, pa.string())])
        elif pa.types.is_nested(column.type):
            column = pa.chunked_array(
                [pa.array([None if row is None else str(row) for row in column.to_pylist()], pa.string())]
            )
        columns[name] = column
    return pa.table(columns)


def write_workbook(path: Path, tables: Mapping[str, pa.Table], *, force: bool) -> int:
    """Write one workbook with a sheet for each table, and return how many texts were cut to the size of a cell.

    Raises:
        UsageError: a table has more rows than a sheet; OutputExistsError: the file is there.
    """
    cut = 0
    with atomic_file(path, force=force) as part, workbook(part) as book:
        for name, table in tables.items():
            table, n = _cut(flat(table))
            cut += n
            write_sheet(path, book, table.column_names, table.to_batches(), TITLES.get(name, name))
    return cut


def _cut(table: pa.Table) -> tuple[pa.Table, int]:
    cut = 0
    for at, name in enumerate(table.column_names):
        column = table.column(name)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            long = pc.greater(pc.utf8_length(column), XLSX_TEXT)
            n = pc.sum(long).as_py() or 0
            if n:
                cut += n
                table = table.set_column(at, name, pc.utf8_slice_codeunits(column, 0, XLSX_TEXT))
    return table, cut


def write_csv_file(path: Path, table: pa.Table, *, force: bool) -> None:
    """Write a table as CSV. Raises OutputExistsError when the file is there."""
    with atomic_file(path, force=force) as part:
        pa_csv.write_csv(flat(table), part, pa_csv.WriteOptions(quoting_style="needed"))


def write_csv_folder(
    path: Path,
    run: Run,
    form: str,
    tables: Mapping[str, pa.Table | pa.RecordBatchReader],
    texts: Mapping[str, str],
    *,
    force: bool,
) -> None:
    """Write a folder with a CSV file for each table, and further files of text. Raises OutputExistsError when it is there."""
    options = pa_csv.WriteOptions(quoting_style="needed")
    with atomic_directory(path, force=force) as part:
        for name, table in tables.items():
            rows = table if isinstance(table, pa.RecordBatchReader) else flat(table).to_reader()
            with pa_csv.CSVWriter(part / f"{name}.csv", rows.schema, write_options=options) as file:
                for batch in rows:
                    file.write_batch(batch)
        for name, text in texts.items():
            (part / name).write_text(text, encoding="utf-8", newline="\n")
        write_export_manifest(part, run, form)


def write_export_manifest(part: Path, run: Run, form: str, results: Mapping[str, Any] | None = None) -> None:
    """Write the manifest of an exported folder: from which run it comes, and its files, so that it can be replaced.

    results: what was measured of it.
    """
    outputs = {f.relative_to(part).as_posix(): sha256_of(f) for f in sorted(part.rglob("*")) if f.is_file()}
    documents = int(run.manifest["results"].get("documents", 0))
    source = InputInfo(str(run.path / MANIFEST), documents, sha256_of(run.path / MANIFEST), None)
    manifest = manifest_of(
        "export", parameters={"to": form, "run": str(run.path)}, seed=run.manifest["seed"], threads=1, inputs=[source],
        seconds={}, results=results or {},
    )  # fmt: skip
    head = {"schema_version": SCHEMA_VERSION, "nlpkit_version": __version__}
    (part / MANIFEST).write_text(
        to_json({**head, **manifest, "outputs": outputs}, indent=2) + "\n", encoding="utf-8", newline="\n"
    )


def write_json_export(path: Path, head: Mapping[str, Any], tables: Mapping[str, pa.Table], *, force: bool) -> None:
    """Write one JSON object: what the run is, its topics with their words, its documents with their topics."""
    terms: dict[int, list[dict[str, Any]]] = {}
    for row in tables["terms"].to_pylist():
        terms.setdefault(row.pop("topic"), []).append(row)
    topics = [{**row, "terms": terms.get(row["topic"], [])} for row in tables["topics"].to_pylist()]
    mixtures: dict[str, list[dict[str, Any]]] = {}
    for row in tables["doc_topics"].to_pylist():
        mixtures.setdefault(row["id"], []).append({"topic": row["topic"], "prob": row["prob"]})
    documents = [{**row, "topics": mixtures.get(row["id"], [])} for row in tables["documents"].to_pylist()]
    with atomic_file(path, force=force) as part:
        part.write_text(
            to_json({**head, "topics": topics, "documents": documents}, indent=1) + "\n", encoding="utf-8", newline="\n"
        )


R_SCRIPT = """# Topics of an nlpkit run for R: source("load.R", chdir = TRUE), or set `folder` first.
# Data frames as tidytext names them: tidy(model, "beta") is `beta`, tidy(model, "gamma") is `gamma`.
# Topics are numbered from 1 here, as in R's topicmodels and stm; nlpkit_topic is the number in the run, from 0.

if (!exists("folder")) folder <- "."
read_table <- function(name, ...) {
  read.csv(file.path(folder, paste0(name, ".csv")), fileEncoding = "UTF-8", na.strings = "", check.names = FALSE, ...)
}

topics    <- read_table("topics")                                             # topic, label, size, share, top_terms, ...
beta      <- read_table("beta", colClasses = c(term = "character"))           # topic, term, beta: @BETA@
gamma     <- read_table("gamma", colClasses = c(document = "character"))      # document, topic, gamma: @GAMMA@
documents <- read_table("documents", colClasses = c(document = "character"))  # document, topic of each, and its columns: label, date, ...

K <- nrow(topics)
# Rows of theta sum to 1. A document without a word of the model has topic NA, and the mean of the prior in theta.
theta <- matrix(0, nrow(documents), K, dimnames = list(documents$document, topics$label))
theta[cbind(match(gamma$document, documents$document), gamma$topic)] <- gamma$gamma

# The words of a topic, as labelTopics(model)$prob of stm and terms(model, n) of topicmodels give them
top_words <- function(n = 10) {
  words <- lapply(split(beta, beta$topic), function(rows) head(rows$term[order(-rows$beta)], n))
  stats::setNames(words, topics$label[as.integer(names(words))])
}

# The documents that have most of a topic, as stm's findThoughts
find_thoughts <- function(topic, n = 3) {
  documents[head(order(-theta[, topic]), n), , drop = FALSE]
}

# Topic shares against columns of the documents: lm(theta[, 3] ~ label, data = documents)
"""
R_OF_STM = """
# The fit as R's stm keeps it, so that its functions go on from here:
#   library(stm); effects <- estimateEffect(1:K ~ party, model, documents); summary(effects); labelTopics(model); topicCorr(model)
# Of the documents only the columns are here, so uncertainty is "Global" (the default) or "None". Words at levels are the average ones.
vocab       <- read_table("vocab", colClasses = c(term = "character"))          # term, cf: tokens in the corpus
eta         <- as.matrix(read_table("eta")[, -1, drop = FALSE])                 # documents x (K - 1), the last topic has 0
sigma       <- as.matrix(read_table("sigma"))                                   # covariance of the prior of eta
X           <- as.matrix(read_table("X")[, -1, drop = FALSE])                   # columns of --prevalence, as in the fit
prior_gamma <- as.matrix(read_table("prior_gamma")[, -1, drop = FALSE])         # mu = X %*% prior_gamma
dimnames(eta) <- dimnames(sigma) <- NULL
rownames(prior_gamma) <- colnames(X)

phi <- matrix(.Machine$double.xmin, K, nrow(vocab))
phi[cbind(beta$topic, match(beta$term, vocab$term))] <- beta$beta
has_covariates <- ncol(X) > 1
model <- structure(list(
  mu = list(mu = t(if (has_covariates) X %*% prior_gamma else prior_gamma), gamma = if (has_covariates) prior_gamma),
  sigma = sigma, invsigma = solve(sigma), beta = list(logbeta = list(log(phi))), vocab = vocab$term,
  theta = unname(theta), eta = eta, version = "nlpkit",
  settings = list(
    dim = list(K = K, A = 1, V = nrow(vocab), N = nrow(documents), wcounts = list(Group.1 = seq_along(vocab$cf), x = vocab$cf)),
    covariates = list(X = X, betaindex = rep(1, nrow(documents)), yvarlevels = NULL)
  )
), class = "STM")
"""


# ------------------------------------------------------------------------------------------------------------------------
# Lists of topics and their words, written for other programs: OCTIS, a line a topic, a table.


@dataclass(frozen=True, slots=True)
class TopicList:
    """The words of K topics, best first, with their weights where there are any, and the names of the topics."""

    topics: tuple[tuple[str, ...], ...]
    weights: tuple[FloatArray, ...] | None
    names: tuple[str, ...]


def topic_list_of_run(tables: Mapping[str, pa.Table]) -> TopicList:
    """Return the topics of a run from its tables topics and topic_terms."""
    topics, listed = tables["topics"], tables["topic_terms"]
    number = listed.column("topic").to_numpy()
    order = np.lexsort((listed.column("rank").to_numpy(), number))
    terms, weights = listed.column("term").to_pylist(), listed.column("weight").to_numpy().astype(np.float64)
    rows = {k: order[number[order] == k] for k in topics.column("topic").to_pylist()}
    return TopicList(
        tuple(tuple(terms[i] for i in places) for places in rows.values()),
        tuple(weights[places] for places in rows.values()),
        tuple(topics.column("label").to_pylist()),
    )


def topic_list_table(topics: TopicList) -> pa.Table:
    """Return one row for each word of a topic: topic, rank, term, its weight, and the name of the topic as `label`."""
    sizes = [len(words) for words in topics.topics]
    columns = {
        "topic": pa.array(np.repeat(np.arange(len(sizes)), sizes), pa.int32()),
        "rank": pa.array(np.concatenate([np.arange(1, n + 1) for n in sizes]), pa.int32()),
        "term": pa.array([word for words in topics.topics for word in words], pa.string()),
    }
    if topics.weights is not None:
        columns["weight"] = pa.array(np.concatenate(topics.weights), pa.float64())
    columns["label"] = pa.array([n for n, size in zip(topics.names, sizes, strict=True) for _ in range(size)])
    return pa.table(columns)


def write_octis(path: Path, topics: TopicList, *, force: bool) -> None:
    """Write {"topics": [[word, …], …]}, as OCTIS has it. Raises what `check_target` does."""
    with atomic_file(path, force=force) as part:
        part.write_text(
            to_json({"topics": [list(words) for words in topics.topics]}) + "\n", encoding="utf-8", newline="\n"
        )


def write_lines(path: Path, topics: TopicList, *, force: bool) -> None:
    """Write a line for each topic, its words parted by blanks.

    Raises:
        InputError: a word holds a blank; and what `check_target` raises.
    """
    for words in topics.topics:
        for word in words:
            if len(word.split()) != 1:
                raise InputError(
                    f"the word '{word}' contains a space, which separates words in a file of lines; write .json or .csv"
                )
    with atomic_file(path, force=force) as part:
        part.write_text("".join(f"{' '.join(words)}\n" for words in topics.topics), encoding="utf-8", newline="\n")
