"""Text to Parquet with tf-idf, and text to tokens: nlpkit beside scikit-learn and gensim, seconds and peak memory.

    python tests/benchmarks/bench_text.py                    # all corpora and tools, the fastest of three runs
    python tests/benchmarks/bench_text.py --corpora imdb --runs 1

Every tool is a process of its own that reads a .jsonl.gz file and writes one Parquet file of id, term, tf and weight,
sorted by document; seconds are those of the whole process, from its start to its end, compiled kernels cached on disk.

- `sklearn tokens`: TfidfVectorizer with its defaults, and nlpkit tfidf --like sklearn --tokenizer sklearn: the same matrix
  (checked here to 1e-12 on the first 2,000 documents).
- `nlpkit tokens`: the default tokens of nlpkit (tags, addresses and numbers gone), no stop words, terms of every document:
  TfidfVectorizer gets the same tokens through an `analyzer` that splits texts that were cut before, so that it spends no
  time on cutting; the time for that is not counted.
- `gensim`: simple_preprocess, Dictionary, TfidfModel, its own tokens.
- `preprocess`: nlpkit preprocess with its defaults (language, stop words, pruning), text and tokens written.

imdb: 100,000 reviews; ag_news x10: 419,700 short texts; million: ag_news x24, 1,007,280. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness import CACHE, DATA, NLPKIT, spent


def corpus(name: str) -> Path:
    """Return the file of a corpus, made when it is a multiple of another."""
    if name == "imdb":
        return DATA / "imdb" / "imdb_100k.jsonl.gz"
    times = {"ag_news x10": 10, "million": 24}[name]
    path = CACHE / f"ag_news_x{times}.jsonl.gz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(DATA / "ag_news" / "ag_news_train_sub.jsonl.gz", "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
            for i in range(times):
                for row in rows:
                    file.write(json.dumps({**row, "id": f"{i}-{row['id']}"}, ensure_ascii=False) + "\n")
    return path


def megabytes(path: Path) -> float:
    """Return the size of the texts in UTF-8."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return sum(len((json.loads(line)["text"] or "").encode()) for line in file) / 1e6


LIKE_SKLEARN = ["--like", "sklearn", "--tokenizer", "sklearn", "--stop-words", "none", "--min-df", "1"]
OWN = ["--stop-words", "none", "--min-df", "1", "--language", "none"]
TOOLS: dict[str, list[str]] = {
    "nlpkit tfidf, sklearn tokens": [NLPKIT, "tfidf", "{in}", "-o", "{out}", "-q", *LIKE_SKLEARN],
    "scikit-learn": [sys.executable, __file__, "--tool", "sklearn", "{in}", "{out}"],
    "nlpkit tfidf, own tokens": [NLPKIT, "tfidf", "{in}", "-o", "{out}", "-q", *OWN],
    "gensim": [sys.executable, __file__, "--tool", "gensim", "{in}", "{out}"],
    "nlpkit preprocess": [NLPKIT, "preprocess", "{in}", "-o", "{out}", "-q"],
    "only reading (gzip, json)": [sys.executable, __file__, "--tool", "read", "{in}", "{out}"],
}


def measure(command: list[str], source: Path, threads: int) -> dict[str, Any]:
    """Run a command; return seconds and peak memory (MB) of its process."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "out.parquet")
        line = [part.replace("{in}", str(source)).replace("{out}", out) for part in command]
        if line[0] == NLPKIT:
            line += ["--threads", str(threads)]
        row = spent(line, threads)
        if row["exit"]:
            raise SystemExit(f"{' '.join(line)} failed: {row['said']}")
        return row


# ---------------------------------------------------------------- the peers, as a user would write them


def read_rows(source: str) -> tuple[list[str], list[str]]:
    ids, texts = [], []
    with gzip.open(source, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            ids.append(row["id"])
            texts.append(row["text"] or "")
    return ids, texts


def write_long(path: str, ids: list[str], rows: Any, columns: Any, terms: Any, tf: Any, weights: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(
        {
            "id": pa.DictionaryArray.from_arrays(pa.array(rows), pa.array(ids)),
            "term": pa.DictionaryArray.from_arrays(pa.array(columns), pa.array(terms)),
            "tf": pa.array(tf),
            "weight": pa.array(weights),
        }
    )
    pq.write_table(table, path, compression="zstd", compression_level=1)


def sklearn_tfidf(source: str, out: str) -> None:
    import numpy as np
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

    ids, texts = read_rows(source)
    vectorizer = CountVectorizer()  # what TfidfVectorizer does, with tf kept
    counts = vectorizer.fit_transform(texts)
    weights = TfidfTransformer().fit_transform(counts)
    rows = np.repeat(np.arange(len(ids), dtype=np.int32), np.diff(counts.indptr))
    write_long(out, ids, rows, counts.indices, vectorizer.get_feature_names_out(), counts.data, weights.data)


def gensim_tfidf(source: str, out: str) -> None:
    import numpy as np
    from gensim.corpora import Dictionary
    from gensim.models import TfidfModel
    from gensim.utils import simple_preprocess

    ids, texts = read_rows(source)
    dictionary = Dictionary()
    bows = [dictionary.doc2bow(simple_preprocess(text), allow_update=True) for text in texts]
    model = TfidfModel(bows, normalize=False)
    lengths = [len(bow) for bow in bows]
    rows = np.repeat(np.arange(len(ids), dtype=np.int32), lengths)
    columns = np.fromiter((t for bow in bows for t, _ in bow), np.int32, sum(lengths))
    tf = np.fromiter((n for bow in bows for _, n in bow), np.int32, sum(lengths))
    idf = np.zeros(len(dictionary))
    for term, value in model.idfs.items():
        idf[term] = value
    terms = [dictionary[i] for i in range(len(dictionary))]
    write_long(out, ids, rows, columns, terms, tf, tf * idf[columns])


def same_matrix(source: Path) -> float:
    """Return the largest relative difference of nlpkit's and scikit-learn's weights on 2,000 documents."""
    import numpy as np
    import pyarrow.parquet as pq
    from sklearn.feature_extraction.text import TfidfVectorizer

    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/w.parquet"
        subprocess.run([NLPKIT, "tfidf", str(source), "-o", out, "-q", "--limit", "2000", *LIKE_SKLEARN], check=True)
        found = pq.read_table(out, columns=["weight"]).column("weight").to_numpy()
    _, texts = read_rows(str(source))
    wanted = TfidfVectorizer().fit_transform(texts[:2000])
    wanted.sort_indices()
    if len(found) != wanted.nnz:
        raise SystemExit(f"nlpkit has {len(found)} weights, scikit-learn {wanted.nnz}")
    return float(np.max(np.abs(found / wanted.data - 1)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", nargs="+", default=["imdb", "ag_news x10", "million"])
    parser.add_argument("--tools", nargs="+", default=list(TOOLS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tool", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.tool:
        name, source, out = given.tool
        {"sklearn": sklearn_tfidf, "gensim": gensim_tfidf, "read": lambda s, _: read_rows(s)}[name](source, out)
        return
    results: dict[str, Any] = {}
    for name in given.corpora:
        source = corpus(name)
        size = megabytes(source)
        print(f"\n{name}: {size:.0f} MB of text; largest relative difference to scikit-learn {same_matrix(source):.1e}")
        tools = [t for t in given.tools if not (name == "million" and t in ("scikit-learn", "gensim"))]
        found: dict[str, list[dict[str, float]]] = {tool: [] for tool in tools}
        for _ in range(given.runs):  # in turn, so that a noisy minute hits all
            for tool in tools:
                found[tool].append(measure(TOOLS[tool], source, given.threads))
        for tool in tools:
            best = min(run["seconds"] for run in found[tool])
            peak = max(run["mb"] for run in found[tool])
            results.setdefault(name, {})[tool] = {"seconds": best, "mb": peak, "mb_per_s": size / best}
            print(f"  {tool:32} {best:7.1f} s  {size / best:6.1f} MB/s  {peak:7.0f} MB peak", flush=True)
        for ours in (t for t in tools if t.startswith("nlpkit tfidf")):
            for peer in ("scikit-learn", "gensim"):
                if peer in found:
                    ratio = results[name][peer]["seconds"] / results[name][ours]["seconds"]
                    print(f"  {ours} is {ratio:.1f}x as fast as {peer}")
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE / "bench_text.json").write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
