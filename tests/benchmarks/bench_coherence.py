"""NPMI of topics in windows of 10 tokens: nlpkit from a Parquet file beside gensim from lists in memory, and a million texts.

    python tests/benchmarks/bench_coherence.py                   # imdb: 100,000 reviews; million: 1,007,280 short texts
    python tests/benchmarks/bench_coherence.py --corpora imdb --limit 10000 --threads 1
    python tests/benchmarks/bench_coherence.py --corpora imdb --groups 200 --topics 1000

Topics are the top 10 words of LDA (30 sweeps on the first 20,000 documents of imdb, 5,000 of the short texts), made once.
Every tool is a process of its own, one after the other in one run:

- nlpkit reads the column tokens batch by batch and counts: seconds are of all of it, reading included, kernels cached.
- `nlpkit, as gensim` is --compat gensim; its scores must be gensim's to 1e-9.
- gensim: CoherenceModel(coherence="c_npmi").get_coherence_per_topic() alone; lists of tokens and Dictionary are made before
  the clock starts (`load`).

Peak memory: VmHWM of the process (gensim with several processes: of the first alone). Linux only. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from harness import CACHE, DATA, memory

CORPORA = {"imdb": ("imdb/imdb_100k.jsonl.gz", 1, 20_000), "million": ("ag_news/ag_news_train_sub.jsonl.gz", 24, 5_000)}
TOP_N = 10
WINDOW = 10


def corpus(name: str) -> Path:
    """Return a Parquet file with the tokens of a corpus, made when it is not there."""
    import pyarrow.parquet as pq

    source, times, _ = CORPORA[name]
    path, once = CACHE / f"coherence_{name}.parquet", CACHE / f"coherence_{name}_once.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        line = [str(Path(sys.executable).with_name("nlpkit")), "preprocess", str(DATA / source), "-o", str(once), "-q"]
        subprocess.run([*line, "--force"], check=True)
        table = pq.read_table(once, columns=["tokens"])
        with pq.ParquetWriter(path, table.schema) as writer:
            for _ in range(times):
                writer.write_table(table, row_group_size=20_000)
        once.unlink()
    return path


def batches(path: Path, limit: int | None) -> Iterator[tuple[Any, Any, list[str]]]:
    """Yield offsets, term ids and the terms so far of each batch of documents."""
    import pyarrow.parquet as pq

    from nlpkit.platform.documents.arrays import token_ids
    from nlpkit.platform.parallel import ahead

    known: dict[str, int] = {}
    terms: list[str] = []
    left = limit
    for batch in ahead(pq.ParquetFile(path).iter_batches(batch_size=5_000, columns=["tokens"])):
        column = batch.column("tokens")[:left]
        offsets, ids = token_ids(column, known)
        if len(known) > len(terms):
            terms = list(known)
        yield offsets, ids, terms
        if left is not None:
            left -= len(column)
            if left == 0:
                return


def topics_of(name: str, n_topics: int) -> list[list[str]]:
    """Return top words of topics of LDA."""
    path = CACHE / f"coherence_{name}_{n_topics}.json"
    if not path.exists():
        from nlpkit.platform.types import TokenTable
        from nlpkit.topics.lda.sampler import GibbsSampler

        parts, ends, at, terms = [], [np.zeros(1, np.int64)], 0, []
        for offsets, ids, terms in batches(corpus(name), CORPORA[name][2]):  # noqa: B007
            parts.append(ids)
            ends.append(at + offsets[1:])
            at += len(ids)
        tokens = TokenTable(np.concatenate(ends), np.concatenate(parts), tuple(terms))
        sampler = GibbsSampler(tokens, n_topics=n_topics, alpha=0.1, eta=0.01, seed=1, threads=os.cpu_count() or 1)
        sampler.run(30)
        rows = sampler.topic_term()
        tops = [rows.indices[a:b][np.argsort(-rows.data[a:b], kind="stable")[:TOP_N]] for a, b in pairwise(rows.indptr)]
        path.write_text(json.dumps([[terms[v] for v in top] for top in tops]), encoding="utf-8")
    found: list[list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def run_nlpkit(job: dict[str, Any], topics: list[list[str]]) -> dict[str, Any]:
    import pyarrow.parquet  # noqa: F401
    import scipy.sparse  # noqa: F401

    import nlpkit.platform.documents.arrays  # noqa: F401
    from nlpkit.metrics.topics.coherence import coherence, measure
    from nlpkit.metrics.topics.window_counts import WindowCounter, plan_pairs

    how = measure("npmi", window=WINDOW, compat=job["compat"])
    warm = WindowCounter(plan_pairs([["a", "b"]]), how.windows)
    warm.add(np.array([0, 2]), np.array([0, 1], np.int32))  # the kernel, compiled or from its cache
    base = memory("VmRSS")
    start = time.perf_counter()
    plan = plan_pairs(topics)
    counter = WindowCounter(plan, how.windows, groups=job["groups"], threads=job["threads"])
    number = {word: i for i, word in enumerate(plan.words)}
    places, n_tokens, needed, counting = np.zeros(0, np.int32), 0, 0, 0.0
    for offsets, ids, terms in batches(Path(job["path"]), job["limit"]):
        new = [number.get(term, -1) for term in terms[len(places) :]]
        places = np.concatenate([places, np.array(new, np.int32)])
        found = places[ids]
        began = time.perf_counter()
        counter.add(offsets, found)
        counting += time.perf_counter() - began
        n_tokens += len(ids)
        needed += int((found >= 0).sum())
    counts = counter.result()
    scores = coherence(counts, how, top_n=TOP_N)
    seconds = time.perf_counter() - start
    row = {"seconds": seconds, "counting_s": counting, "documents": counts.n_docs, "tokens": n_tokens}
    row |= {"words": plan.n_words, "pairs": plan.n_pairs, "needed": needed / max(n_tokens, 1)}
    return row | {"scores": scores.tolist(), "base_mb": base}


def run_gensim(job: dict[str, Any], topics: list[list[str]]) -> dict[str, Any]:
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    start = time.perf_counter()
    texts: list[list[str]] = []
    for offsets, ids, terms in batches(Path(job["path"]), job["limit"]):
        texts += [[terms[v] for v in ids[a:b].tolist()] for a, b in pairwise(offsets)]
    dictionary = Dictionary(texts)
    load, base = time.perf_counter() - start, memory("VmRSS")
    start = time.perf_counter()
    options = {"coherence": "c_npmi", "topn": TOP_N, "window_size": WINDOW, "processes": job["threads"]}
    scores = CoherenceModel(topics=topics, texts=texts, dictionary=dictionary, **options).get_coherence_per_topic()
    seconds = time.perf_counter() - start
    row = {"seconds": seconds, "load_s": load, "documents": len(texts), "tokens": sum(map(len, texts))}
    return row | {"scores": [float(s) for s in scores], "base_mb": base}


def child(job: dict[str, Any]) -> dict[str, Any]:
    """Run a tool in a process of its own and return its row."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "row.json"
        done = subprocess.run([sys.executable, __file__, "--one", json.dumps(job | {"out": str(out)})], check=False)
        if done.returncode:
            raise SystemExit(f"{job['tool']} failed")
        row: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return {**job, **row}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--limit", type=int, help="only the first documents")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "--groups", type=int, nargs="+", default=[1, 200], help="groups of documents that nlpkit counts apart"
    )
    parser.add_argument("--no-gensim", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        job = json.loads(given.one)
        run = run_gensim if job["tool"] == "gensim" else run_nlpkit
        row = run(job, topics_of(job["corpus"], job["topics"]))
        row["peak_mb"] = memory("VmHWM")
        Path(job["out"]).write_text(json.dumps(row), encoding="utf-8")
        return
    print(
        "| corpus | documents | tokens | tool | threads | seconds | of it counting | × gensim | peak MB | mean NPMI |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in given.corpora:
        topics_of(name, given.topics)
        for threads in given.threads:
            compare(name, threads, given)


def compare(name: str, threads: int, given: argparse.Namespace) -> None:
    """Run the tools on a corpus and print their rows."""
    job = {"corpus": name, "path": str(corpus(name)), "topics": given.topics, "limit": given.limit, "threads": threads}
    rows = {}
    for groups in given.groups:
        label = "nlpkit" if groups == 1 else f"nlpkit, {groups} groups"
        rows[label] = child(job | {"tool": "nlpkit", "compat": None, "groups": groups})
    rows["nlpkit, as gensim"] = child(job | {"tool": "nlpkit", "compat": "gensim", "groups": 1})
    if not given.no_gensim and name == "imdb":
        rows["gensim"] = child(job | {"tool": "gensim"})
        apart = np.abs(np.array(rows["gensim"]["scores"]) - rows["nlpkit, as gensim"]["scores"]).max()
        if not apart < 1e-9:
            raise SystemExit(f"scores of gensim and those of --compat gensim differ by {apart}")
    slow = rows.get("gensim", {}).get("seconds")
    for label, row in rows.items():
        cells = [name, f"{row['documents']:,}", f"{row['tokens']:,}", label, threads, f"{row['seconds']:.1f}"]
        cells += [f"{row['counting_s']:.2f}" if "counting_s" in row else f"(load {row['load_s']:.0f})"]
        cells += [
            f"{slow / row['seconds']:.0f}" if slow else "",
            f"{row['peak_mb']:.0f}",
            f"{np.nanmean(row['scores']):.4f}",
        ]
        print("|", " | ".join(map(str, cells)), "|", flush=True)


if __name__ == "__main__":
    main()
