"""A run for other programs: a workbook, CSV, JSON, a network, BERTopic, pyLDAvis, R."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.cluster.assign import nearest_topics
from nlpkit.cluster.neighbours import unit_rows
from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import embedding_matrix
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.plain import finite_or_none
from nlpkit.platform.runs.atomic import atomic_directory, check_target
from nlpkit.platform.runs.reading import open_run_documents
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.runs.table_spec import numbers
from nlpkit.platform.runs.tables import XLSX_ROWS
from nlpkit.platform.types import Float32Array, FloatArray
from nlpkit.topics.base.tables import phi_rows, read_arrays, read_topic_words, theta_rows
from nlpkit.topics.edit.files import review_of
from nlpkit.topics.effects.covariates import covariates_of
from nlpkit.topics.effects.design import fit_design
from nlpkit.topics.effects.formula import parse_formula
from nlpkit.topics.export.convert import convert
from nlpkit.topics.export.formats import (
    R_OF_STM,
    R_SCRIPT,
    BertopicModel,
    Edge,
    Node,
    write_bertopic,
    write_csv_file,
    write_csv_folder,
    write_export_manifest,
    write_gexf,
    write_json_export,
    write_workbook,
)
from nlpkit.topics.export.options import FOLDERS, FORMS, ExportOptions
from nlpkit.topics.over_time.prevalence import cosines
from nlpkit.topics.over_time.tables import topic_run
from nlpkit.topics.over_time.words import class_counts
from nlpkit.weights.ctfidf import class_tfidf, inverse_class_frequency

NO_WORDS = [("", 1e-05)]  # what BERTopic has for a topic without words


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: its form, one of FORMS, where, and how much."""

    to: str
    target: Path
    n_topics: int
    n_documents: int


def export_form(target: str | Path, options: ExportOptions) -> str:
    """Return the form of an export: the one that was asked for, else that of the suffix of the target.

    Raises:
        UsageError: no form, or a target whose suffix is that of another one.
    """
    suffix = Path(target).suffix.lower().removeprefix(".")
    if options.to is None and suffix not in ("xlsx", "json", "gexf"):
        raise UsageError(f"the format of {target} is unknown; set `to` to one of {', '.join(FORMS)}", parameter="to")
    form = options.to or suffix
    usual = {"pyldavis": "json", "codebook": "csv"}.get(form, form)
    if form in FOLDERS and suffix:
        raise UsageError(
            f"`to={form}` writes a folder; give its name without .{suffix}, such as {Path(target).stem}/",
            parameter="to",
        )
    if form not in FOLDERS and suffix != usual:
        raise UsageError(f"`to={form}` writes a file that ends in .{usual}, not {target}", parameter="to")
    return form


def export(
    run: Any,
    target: str | Path,
    *,
    options: ExportOptions | None = None,
    execution: Execution | None = None,
    force: bool = False,
    **settings: Any,
) -> Exported:
    """Write a run for another program.

        xlsx       a workbook with sheets of topics, their words, documents and their topics
        csv        the same as a folder of CSV files
        json       one object: topics with their words, documents with their topics
        gexf       a network of topics and words for Gephi and networkx
        bertopic   a folder that BERTopic.load reads, of runs of bertopic
        pyldavis   what pyLDAvis shows, of runs of lda-gibbs with assignments (see `convert`)
        r          a folder of CSV files with the names of tidytext, and a script that loads them
        codebook   a CSV file with the topics as people named and judged them (`nlpkit edit`)

    Args:
        run: a run directory, a run that is open, or a saved model.
        target: file or folder. options: form and content; execution: whether changed files are refused; force: replace what is there;
        settings: single options, such as to="r".

    Raises:
        UsageError: a form that the run cannot have, or a name that does not fit it; OutputExistsError: the target is there;
        InputError: texts are asked for and the corpus is gone.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> nk.export(run, "topics.xlsx").n_topics
        2
    """
    options, execution = with_settings((options, execution), settings, (ExportOptions, Execution))
    path, form = Path(target), export_form(target, options)
    check_target(path, force=force, directory=form in FOLDERS)
    opened = topic_run(run, execution)
    K, D = opened.table("topics", ["topic"]).num_rows, opened.table("documents", ["id"]).num_rows
    if form == "pyldavis":
        convert(opened.path, path, to="pyldavis", execution=execution, force=force)
    elif form == "codebook":
        write_csv_file(path, _code_book(opened), force=force)
    elif form == "gexf":
        write_gexf(path, *_network(opened, options), force=force)
    elif form == "bertopic":
        model = _bertopic(opened, options, execution)
        agreement = _agreement(opened, model.embeddings)
        with atomic_directory(path, force=force) as part:
            write_bertopic(part, model)
            write_export_manifest(
                part, opened, form, results={"transform_agreement": finite_or_none(round(agreement, 6))}
            )
        _note_agreement(opened, agreement)
    elif form == "r":
        parts, texts = _r_tables(opened, options)
        write_csv_folder(path, opened, form, parts, texts, force=force)
    elif form == "csv":
        doc_topics = theta_rows(opened, ("id", "topic", "prob"))
        write_csv_folder(path, opened, form, {**_tables(opened, options), "doc_topics": doc_topics}, {}, force=force)
    else:
        tables = {**_tables(opened, options), "doc_topics": _doc_topics(opened, path, K * D, form)}
        if form == "xlsx":
            cut = write_workbook(path, tables, force=force)
            if cut:
                reporting.warn(
                    f"{path}: {wording.counted(cut, 'text')} cut to 32,000 characters, because a cell holds no more; "
                    "write csv to keep them whole"
                )
        else:
            head = {"run": str(opened.path), "kind": opened.manifest["kind"], "results": opened.manifest["results"]}
            write_json_export(path, head, tables, force=force)
    return Exported(form, path, K, D)


def _tables(run: Run, options: ExportOptions) -> dict[str, pa.Table]:
    """Return topics, terms and documents as they are exported."""
    terms = run.table("topic_terms")
    return {
        "topics": run.table("topics"),
        "terms": terms.filter(pc.less_equal(terms.column("rank"), options.terms)),
        "documents": _documents(run, options),
    }


def _code_book(run: Run) -> pa.Table:
    """Return the topics of a run (K rows) as a code book: name, size, words, an example, and what people said of each."""
    topics, review = run.table("topics"), review_of(run)
    K = topics.num_rows
    hidden, judgements, notes = (review.get(name, {}) for name in ("hidden", "judgements", "notes"))
    return pa.table(
        {
            "topic": topics["topic"],
            "name": topics["label"],
            "judgement": pa.array([judgements.get(str(k)) for k in range(K)], pa.string()),
            "note": pa.array([notes.get(str(k)) for k in range(K)], pa.string()),
            "hidden": pa.array([k in hidden for k in range(K)]),
            "documents": topics["size"],
            "share": topics["share"],
            "words": topics["top_terms"],
            "typical_ids": topics["representative_ids"],
            "typical_texts": topics["representative_texts"],
        }
    )


def _doc_topics(run: Run, path: Path, n: int, form: str) -> pa.Table:
    """Return the topics of all documents; of n that no sheet holds those of doc_topics.parquet, which is said."""
    if form == "xlsx" and n >= XLSX_ROWS and run.is_mixture:
        reporting.warn(
            f"{path}: {wording.count(n)} probabilities of topics do not fit into a sheet of {wording.count(XLSX_ROWS)} rows. "
            "The sheet leaves out topics without a word in the document, so its rows do not sum to 1; write csv for all"
        )
        return run.table("doc_topics")
    return theta_rows(run, ("id", "topic", "prob")).read_all()


def _documents(run: Run, options: ExportOptions, *added: str) -> pa.Table:
    """Return the documents of a run, with the names of their topics, and with their texts where these are asked for.

    Args:
        added: names of columns that the export adds besides; a column of the user's of such a name is left out, with a warning.

    Raises:
        InputError: the corpus is gone, has changed, or lacks a document.
    """
    table = run.table("documents")
    with run.intact():
        topic = numbers(table, "topic", least=-1)
        labels = pa.array([*run.table("topics", ["label"]).column("label").to_pylist(), None], pa.string())
        names = labels.take(pa.array(np.where(topic < 0, len(labels) - 1, topic)))
    taken = [name for name in ("topic_label", *added, *("text",) * options.texts) if name in table.column_names]
    if taken:
        reporting.warn(f"columns with the names of export columns are left out of the documents: {', '.join(taken)}")
    table = table.drop_columns(taken).add_column(2, "topic_label", names)
    if not options.texts:
        return table
    texts: dict[str, str] = {}
    with open_run_documents(run, ReadOptions()) as stream:
        for batch in stream:
            texts |= dict(zip(batch.column("id").to_pylist(), batch.column("text").to_pylist(), strict=True))
    ids = table.column("id").to_pylist()
    missing = next((name for name in ids if name not in texts), None)
    if missing is not None:
        raise InputError(
            f"the corpus of {run.path} has no document '{missing}' any longer; leave `texts` out", parameter="texts"
        )
    return table.append_column("text", pa.array([texts[name] for name in ids], pa.large_string()))


def _r_tables(run: Run, options: ExportOptions) -> tuple[dict[str, pa.Table | pa.RecordBatchReader], dict[str, str]]:
    """Return tables with the names of tidytext, topics numbered from 1, and the script that loads them."""
    topics = run.table("topics")
    documents = _documents(run, options, "document", "nlpkit_topic")
    documents = documents.rename_columns({"id": "document", "topic": "nlpkit_topic"})
    number, nearest = (_from_one(documents.column(name)) for name in ("nlpkit_topic", "nearest_topic"))
    documents = documents.set_column(documents.column_names.index("nearest_topic"), "nearest_topic", nearest)
    tables: dict[str, pa.Table | pa.RecordBatchReader] = {
        "topics": topics.rename_columns({"topic": "nlpkit_topic"}).add_column(
            0, "topic", _from_one(topics.column("topic"))
        ),
        "beta": phi_rows(run, ("topic", "term", "beta"), first=1),
        "gamma": theta_rows(run, ("document", "topic", "gamma"), first=1),
        "documents": documents.add_column(1, "topic", number),
    }
    what, which = (
        ("probability of the word in the topic, phi", "theta, the share of the topic in the document")
        if run.is_mixture
        else ("c-tf-idf of the words that the run stores", "share of the nearest documents that vote for it")
    )
    script = R_SCRIPT.replace("@BETA@", what).replace("@GAMMA@", which)
    if run.manifest["kind"] == "stm":
        tables |= _stm_tables(run)
        script += R_OF_STM
    return tables, {"load.R": script}


def _stm_tables(run: Run) -> dict[str, pa.Table | pa.RecordBatchReader]:
    """Return the posteriors of the documents and their prior, as R's stm keeps them: η, Σ, X, γ; and the words with their tokens."""
    arrays, documents = read_arrays(run), run.table("documents")
    with run.intact():
        prevalence = run.model_config("options")["options"].get("prevalence")
        X, terms, gamma = np.ones((documents.num_rows, 1)), ["(Intercept)"], arrays.get("mean")
        if prevalence is not None:
            formula = parse_formula(prevalence)
            values = covariates_of(documents, formula, where=str(run.path))
            design = fit_design(formula, values)
            X, terms, gamma = design.matrix(values), list(design.names), arrays["gamma"]
        if gamma is None or len(arrays["eta"]) != len(X):
            raise ValueError("the prior of the topics does not fit the documents")
        gamma = gamma.reshape(len(terms), -1)
    topics = [f"topic_{k + 1}" for k in range(gamma.shape[1])]
    ids = documents.column("id")
    return {
        "eta": pa.table({"document": ids, **dict(zip(topics, arrays["eta"].T, strict=True))}),
        "sigma": pa.table(dict(zip(topics, arrays["sigma"], strict=True))),
        "X": pa.table({"document": ids, **dict(zip(terms, X.T, strict=True))}),
        "prior_gamma": pa.table({"term": terms, **dict(zip(topics, gamma.T, strict=True))}),
        "vocab": run.table("vocab", ["term", "cf"]),
    }


def _from_one(topics: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return numbers of topics as R has them, from 1; none is NA."""
    number = pc.add(topics, 1)
    return pc.if_else(pc.greater(number, 0), number, pa.scalar(None, number.type))


def _network(run: Run, options: ExportOptions) -> tuple[list[Node], list[Edge]]:
    """Return topics and their words as nodes, the words of a topic and topics that share words as edges."""
    topics, terms = run.table("topics"), run.table("topic_terms")
    terms = terms.filter(pc.less_equal(terms.column("rank"), options.terms))
    sizes, labels = topics.column("size").to_pylist(), topics.column("label").to_pylist()
    largest = max([1, *sizes])
    nodes = [
        Node(
            f"t{k}",
            labels[k],
            10 + 40 * float(np.sqrt(size / largest)),
            {"kind": "topic", "topic": k, "documents": size, "share": share},
        )
        for k, (size, share) in enumerate(zip(sizes, topics.column("share").to_pylist(), strict=True))
    ]
    words = dict.fromkeys(terms.column("term").to_pylist())
    place = {term: f"w{number}" for number, term in enumerate(words)}
    nodes += [Node(place[term], term, 5.0, {"kind": "term"}) for term in words]
    edges = []
    highest: dict[int, float] = {}
    for row in terms.to_pylist():  # the strongest word of each topic has weight 1
        strongest = highest.setdefault(row["topic"], row["weight"]) or 1.0
        edges.append(Edge(f"t{row['topic']}", place[row["term"]], max(row["weight"] / strongest, 1e-6), "word"))
    stored = read_topic_words(run)
    similar = cosines(stored.weights, stored.weights)
    for a, b in zip(*np.triu_indices(len(sizes), 1), strict=True):
        if similar[a, b] >= max(options.similarity, 1e-9):
            edges.append(Edge(f"t{a}", f"t{b}", float(similar[a, b]), "similar words"))
    return nodes, edges


def _agreement(run: Run, centroids: Float32Array) -> float:
    """Return the share of the texts of the fit to which BERTopic's `transform` gives the topic of the run: that of the nearest mean.

    centroids: (K, E) of the topics, or (K + 1, E) with those without a topic first.
    """
    training = run.table("model/training", ["topic", "embedding"])
    with run.intact():
        K = run.table("topics", ["topic"]).num_rows
        topics = numbers(training, "topic", least=-1, most=K - 1)
        nearest, _, _ = nearest_topics(
            unit_rows(embedding_matrix(training.column("embedding"))), unit_rows(centroids), threads=1
        )
    return float((nearest - (len(centroids) - K) == topics).mean()) if len(topics) else np.nan


def _note_agreement(run: Run, agreement: float) -> None:
    if np.isnan(agreement):
        return
    debias = run.manifest["parameters"].get("debias")
    why = f" The run is free of '{debias}' (`debias`), which BERTopic's embeddings are not." if debias else ""
    reporting.note(
        f"BERTopic's transform takes the nearest mean. It gives {agreement:.0%} of the texts of the fit the topic of the run.{why}"
    )


def _bertopic(run: Run, options: ExportOptions, execution: Execution) -> BertopicModel:
    """Return what BERTopic holds of a run of bertopic; without the counts of words where its corpus is gone, which is said."""
    if run.manifest["kind"] != "bertopic":
        raise UsageError(
            f"`to=bertopic`: {run.path} is a run of {run.manifest['kind']}, which has no embeddings of topics; runs of bertopic do",
            parameter="to",
        )
    documents, training = run.table("documents", ["id", "topic"]), run.table("model/training", ["topic", "embedding"])
    table = run.table("topic_terms")
    with run.intact():
        labels = run.table("topics", ["label"]).column("label").to_pylist()
        K = len(labels)
        topics = numbers(documents, "topic", least=-1, most=K - 1).astype(np.int32)
        has_none = bool((topics < 0).any())
        centroids = embedding_matrix(run.table("model/centroids", ["embedding"]).column("embedding"))
        words: dict[int, list[tuple[str, float]]] = {k: [] for k in range(K)}
        for row in table.filter(pc.less_equal(table.column("rank"), options.terms)).to_pylist():
            words[row["topic"]].append((row["term"], float(row["weight"])))
        if "model/nearest.parquet" in run.manifest["outputs"]:  # read from BERTopic, and given back as they are
            centroids = embedding_matrix(run.table("model/nearest").column("embedding"), unit=False)
        elif has_none:
            outside = numbers(training, "topic") < 0
            vectors = embedding_matrix(training.column("embedding"))
            middle = vectors[outside].mean(axis=0) if outside.any() else vectors.mean(axis=0)
            centroids = np.vstack([middle[None, :], centroids])
    known: dict[str, Any] = {}
    try:
        terms, counts, _ = class_counts(run, documents.column("id"), topics + has_none, K + has_none, execution)
    except InputError as error:
        reporting.warn(f"no c-tf-idf matrix is written, which BERTopic can do without: {error}")
    else:
        icf: FloatArray = inverse_class_frequency(counts, truncate_mean=True)
        known = {"terms": terms, "ctfidf": class_tfidf(counts, truncate_mean=True), "icf": icf}
        if has_none:
            row = known["ctfidf"][[0]].tocoo()
            best = np.lexsort((row.col, -row.data))[: options.terms]
            words[-1] = [(terms[row.col[i]], float(row.data[i])) for i in best]
    words = {k: of_topic or list(NO_WORDS) for k, of_topic in {**({-1: []} if has_none else {}), **words}.items()}
    encoder = run.model_config().get("encoder") or {}
    name = None if "static" in encoder else encoder.get("encoder")  # an encoder of this run alone has no name elsewhere
    return BertopicModel(topics, words, centroids.astype(np.float32), labels, name, min(options.terms, 10), **known)
