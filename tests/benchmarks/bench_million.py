"""bertopic on a million documents: time, peak memory, and agreement with a fit to all documents of a tenth.

    python tests/benchmarks/bench_million.py corpus --docs 1000000 -o million.parquet     # text, label and embedding, about 1.8 GB
    python tests/benchmarks/bench_million.py fit million.parquet --docs 100000 --fit-sample all -o full/
    python tests/benchmarks/bench_million.py fit million.parquet --docs 1000000 -o million/
    python tests/benchmarks/bench_million.py compare million/ full/ ...

A document is two sentences of one class: AG News (4 classes) or IMDB, 5 classes in all. Its embedding (384 dimensions) is a stand-in
for that of a sentence encoder, which would take hours: tf-idf on 384 axes of a truncated SVD (LSA). Each fit is the command
`nlpkit bertopic` in a process of its own; peak memory is that of the manifest. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import DATA

DIM, BATCH, FITTED = 384, 50_000, 20_000
MARKUP = re.compile(r"<br\s*/?>")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")


def sentences() -> tuple[list[str], np.ndarray]:
    """Return the different sentences of five to sixty words, and the class of each."""
    classes: dict[str, str] = {}
    for name, path in (
        ("ag", DATA / "ag_news" / "ag_news_train_sub.jsonl.gz"),
        ("imdb", DATA / "imdb" / "imdb_5k.jsonl.gz"),
    ):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                label = "film" if name == "imdb" else str(row["label"])
                for sentence in SENTENCE_END.split(MARKUP.sub(" ", row["text"] or "")):
                    if 5 <= len(sentence.split()) <= 60:
                        classes.setdefault(" ".join(sentence.split()), label)
    names = sorted(set(classes.values()))
    return list(classes), np.array([names.index(label) for label in classes.values()])


def vectors_of(texts: list[str], rng: np.random.Generator) -> np.ndarray:
    """Return tf-idf of texts on the axes of an SVD of some of them (S, DIM)."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    weights = TfidfVectorizer(sublinear_tf=True, min_df=3, stop_words="english", dtype=np.float32).fit_transform(texts)
    svd = TruncatedSVD(DIM, random_state=0).fit(weights[rng.permutation(len(texts))[:FITTED]])
    return np.asarray(svd.transform(weights), np.float32)


def write_corpus(path: Path, docs: int, seed: int = 0) -> None:
    """Write id, text, label and embedding of documents of two sentences each."""
    from nlpkit.platform.documents.arrays import embedding_column

    rng = np.random.default_rng(seed)
    texts, classes = sentences()
    vectors = vectors_of(texts, rng)
    usable = np.flatnonzero(np.linalg.norm(vectors, axis=1) > 0.05)
    by_class = [usable[classes[usable] == c] for c in range(classes.max() + 1)]
    schema = pa.schema(
        [
            ("id", pa.string()),
            ("text", pa.large_string()),
            ("label", pa.string()),
            ("embedding", pa.list_(pa.float32(), DIM)),
        ]
    )
    with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as writer:
        for start in range(0, docs, BATCH):
            n = min(BATCH, docs - start)
            label = rng.integers(len(by_class), size=n)
            pair = np.array([rng.choice(by_class[c], 2) for c in label])
            rows = vectors[pair].sum(axis=1)
            rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
            columns = [
                pa.array([f"d{start + i}" for i in range(n)]),
                pa.array([f"{texts[a]} {texts[b]}" for a, b in pair], pa.large_string()),
                pa.array([str(c) for c in label]),
                embedding_column(rows),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    print(f"{path}: {docs:,} documents of {len(usable):,} sentences, {path.stat().st_size / 1e6:,.0f} MB")


def fit(corpus: Path, run: Path, docs: int, options: list[str]) -> None:
    """Run nlpkit bertopic on the first documents of a corpus."""
    start = time.perf_counter()
    command = [
        sys.executable, "-m", "nlpkit", "bertopic", str(corpus), "--limit", str(docs), "-o", str(run), "--force", *options
    ]  # fmt: skip
    subprocess.run(command, check=True)
    print(f"{run}: {time.perf_counter() - start:,.0f} s with reading and writing")


def compare(runs: list[Path]) -> None:
    """Print a row for each run: AMI with the classes, and with the topics of the last run for its documents."""
    from nlpkit.metrics.labels.clustering import adjusted_mutual_information as ami

    def topics(run: Path) -> tuple[Any, np.ndarray, np.ndarray]:
        table = pq.read_table(run / "documents.parquet", columns=["topic", "label"])
        manifest = json.loads((run / "manifest.json").read_text())
        return manifest, table["topic"].to_numpy(), table["label"].to_numpy(zero_copy_only=False).astype(int)

    _, last, _ = topics(runs[-1])
    print("| documents | fitted | topics | AMI with classes | AMI with the last | second fit | s | peak MB |")
    print("|---|---|---|---|---|---|---|---|")
    for run in runs:
        manifest, z, classes = topics(run)
        n = min(len(z), len(last))
        sample = manifest["results"].get("fit_sample") or {}
        seconds = sum(v for k, v in manifest["seconds"].items() if "." not in k)
        print(
            f"| {len(z):,} | {sample.get('n_fitted', len(z)):,} | {manifest['results']['n_topics']} | {ami(classes, z):.3f} "
            f"| {ami(last[:n], z[:n]):.3f} | {sample.get('agreement', '')} | {seconds:,.0f} | {manifest['peak_memory_mb']:,} |"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    corpus = commands.add_parser("corpus")
    corpus.add_argument("--docs", type=int, default=1_000_000)
    corpus.add_argument("-o", type=Path, default=Path("million.parquet"))
    one = commands.add_parser("fit", help="further options are those of nlpkit bertopic")
    one.add_argument("corpus", type=Path)
    one.add_argument("--docs", type=int, default=1_000_000)
    one.add_argument("-o", type=Path, required=True)
    table = commands.add_parser("compare")
    table.add_argument("runs", type=Path, nargs="+")
    arguments, rest = parser.parse_known_args()
    if arguments.command == "corpus":
        write_corpus(arguments.o, arguments.docs)
    elif arguments.command == "fit":
        fit(arguments.corpus, arguments.o, arguments.docs, rest)
    else:
        compare(arguments.runs)
