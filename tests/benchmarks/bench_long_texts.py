"""What `--long truncate|mean|max` does to topics where texts are longer than the model reads, and what it costs.

    python tests/benchmarks/bench_long_texts.py [CORPUS…] [--ways truncate,mean] --cache DIR

For each corpus (a sample of the texts, seed 42): tokens, the share beyond the model's window, tokens that the model runs over; AMI with
the labels of `nlpkit bertopic --k <number of classes>` and `--k auto` (mean of seeds 1 to 3), and the share of documents whose nearest
neighbour has their label. Vectors are kept in DIR, so that a run that was stopped goes on. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
from harness import DATA

import nlpkit as nk
from nlpkit.embed.encoders import open_encoder
from nlpkit.embed.options import EncoderOptions
from nlpkit.metrics.labels.clustering import adjusted_mutual_information
from nlpkit.platform.documents.arrays import embedding_column

MINILM, MULTILINGUAL = "minilm", "multilingual"
# file, column of the label, documents, model, its window (None: its own)
CORPORA = {
    "20newsgroups": ("20newsgroups/20newsgroups.jsonl.gz", "label", 700, MINILM, None),
    "bills": ("bills/bills_subset.jsonl", "label", 400, MINILM, None),
    "imdb": ("imdb/imdb_5k.jsonl.gz", "label", 400, MINILM, None),
    "reuters, 64 tokens": ("reuters21578/reuters21578.jsonl.gz", "label", 600, MINILM, 64),
    "20newsgroups, 64 tokens": ("20newsgroups/20newsgroups.jsonl.gz", "label", 700, MINILM, 64),
    "gnad10k, 128 tokens": ("gnad10k/gnad10k_test.jsonl", "label", 500, MULTILINGUAL, 128),
    "bundestag19, 128 tokens": ("bundestag19/bundestag19_speeches.jsonl.gz", "label", 200, MULTILINGUAL, 128),
    "un_general_debate": ("un_general_debate/ungd_5countries_1970on.jsonl.gz", "label", 60, MINILM, None),
}
SEEDS = (1, 2, 3)


def sample(file: str, label: str, n: int) -> tuple[list[str], list[str]]:
    """Return n texts with labels, drawn with seed 42."""
    path = DATA / file
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as opened:
        rows = [row for row in map(json.loads, opened) if row.get(label) and (row["text"] or "").strip()]
    chosen = np.sort(np.random.default_rng(42).permutation(len(rows))[:n])
    return [rows[i]["text"] for i in chosen], [str(rows[i][label]) for i in chosen]


def agreement(texts: list[str], labels: np.ndarray, vectors: np.ndarray, k: int | str) -> float:
    """Return the mean AMI of topics with labels over SEEDS."""
    table = pa.table({"text": texts, "embedding": embedding_column(vectors)})
    topics = [nk.fit_bertopic(table, k=k, seed=seed, threads=1).documents["topic"].to_numpy() for seed in SEEDS]
    return float(np.mean([adjusted_mutual_information(z, labels) for z in topics]))


def main() -> None:
    """Print one line for each corpus and way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", default=list(CORPORA))
    parser.add_argument("--ways", default="truncate,mean,max")
    parser.add_argument("--cache", type=Path, required=True)
    arguments = parser.parse_args()
    for name in arguments.corpora:
        file, label, n, model, window = CORPORA[name]
        texts, named = sample(file, label, n)
        classes, labels = np.unique(named, return_inverse=True)
        for long in arguments.ways.split(","):
            options = EncoderOptions(model, long=long, max_tokens=window, offline=True, cache=arguments.cache)
            vectors, report = open_encoder(options, 1).encode(texts)
            nearest = vectors @ vectors.T
            np.fill_diagonal(nearest, -2)
            neighbour = float((labels[nearest.argmax(1)] == labels).mean())
            seen = report.tokens - report.tokens_cut
            scores = [agreement(texts, labels, vectors, k) for k in (len(classes), "auto")]
            print(
                f"{name} | {len(texts)} docs, {len(classes)} classes | {long} | {report.tokens:,} tokens, {seen / report.tokens:.1%} seen, "
                f"{report.docs_cut} docs cut | AMI k={len(classes)} {scores[0]:.3f} | k auto {scores[1]:.3f} | nearest {neighbour:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
