"""AD-LDA by number of shards: likelihood, held-out perplexity, NPMI and CPU seconds a sweep, beside tomotopy; and one large corpus.

    python tests/benchmarks/bench_shards.py                                       # 20newsgroups, imdb_5k, ag_news; K = 20, 100
    python tests/benchmarks/bench_shards.py --corpus imdb_5k --k 20 --shards 1 4 --sweeps 20
    python tests/benchmarks/bench_shards.py --tokens 100000000 --k 100 --sweeps 3 [--workers 2] [--grid]
    python tests/benchmarks/bench_shards.py --table                               # Markdown of the rows stored so far

- alpha 0.1 and eta 0.01 each, never optimised, one seed, the same tokens for all; --held-out documents that no chain was trained on.
- The log-likelihood per token is computed by one function from the topics of every tool (bench_lda.log_joint), as is the perplexity.
- NPMI: of the ten most frequent words of each topic, by document, in the training documents.
- Seconds are CPU seconds of the process: shards in turn on one thread, and all threads of tomotopy together. They say what a sweep
  costs, on a machine that does other work too; divided by the workers they are what it takes on as many idle cores.
- tomotopy's copy-merge is AD-LDA with as many shards as workers; its partition is a grid.
- --tokens: a corpus drawn from 50 planted topics over a Zipf vocabulary of 50,000 terms, documents of 100 tokens on average.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bench_lda import CACHE, CORPORA, corpus, counts, held_out_perplexity, log_joint, split
from harness import memory

from nlpkit.metrics.topics.coherence import npmi_by_document, postings
from nlpkit.platform.parallel import ProcessActors
from nlpkit.platform.types import TokenTable
from nlpkit.topics.lda.distributed import DistributedSampler
from nlpkit.topics.lda.sampler import GibbsSampler

CORPORA |= {"imdb_5k": "imdb/imdb_5k.jsonl.gz", "ag_news": "ag_news/ag_news_train_sub.jsonl.gz"}
SHARDS = (1, 2, 4, 8, 16, 64)
V, TOPICS, LENGTH = 50_000, 50, 100  # of drawn corpora


def drawn(n_tokens: int, seed: int = 0) -> TokenTable:
    """Return a corpus of planted topics: each a Zipf distribution over the vocabulary in an order of its own, a quarter shared."""
    rng = np.random.default_rng(seed)
    p = 1 / np.arange(1, V + 1)
    cumulative = np.cumsum(p / p.sum())
    words = np.stack([rng.permutation(V) for _ in range(TOPICS + 1)]).astype(np.int32)  # the last: words of all topics
    lengths = rng.poisson(LENGTH, n_tokens // LENGTH)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    term_ids = np.empty(offsets[-1], np.int32)
    for first in range(0, len(lengths), 10_000):
        last = min(first + 10_000, len(lengths))
        doc = np.repeat(np.arange(last - first), lengths[first:last])
        three = rng.integers(0, TOPICS, (last - first, 3))  # topics of a document
        topic = np.where(rng.random(len(doc)) < 0.25, TOPICS, three[doc, rng.integers(0, 3, len(doc))])
        rank = np.searchsorted(cumulative, rng.random(len(doc)))
        term_ids[offsets[first] : offsets[last]] = words[topic, np.minimum(rank, V - 1)]
    return TokenTable(offsets, term_ids, tuple(map(str, range(V))))


def run_nlpkit(tokens: TokenTable, job: dict[str, Any]) -> tuple[Any, float, float, int]:
    options = {"n_topics": job["k"], "alpha": job["alpha"], "eta": job["eta"], "seed": 1}
    kind: Any = GibbsSampler if job["tool"] == "grid" else DistributedSampler
    chain = kind(tokens, shards=job["shards"], **options)
    chain.run(1)
    begin, wall = time.process_time(), time.perf_counter()
    chain.run(job["sweeps"] - 1)
    return chain.assignments(), time.process_time() - begin, time.perf_counter() - wall, job["sweeps"] - 1


def run_tomotopy(tokens: TokenTable, job: dict[str, Any]) -> tuple[Any, float, float, int]:
    import tomotopy as tp

    scheme = {"copy-merge": tp.ParallelScheme.COPY_MERGE, "partition": tp.ParallelScheme.PARTITION}
    how = tp.ParallelScheme.DEFAULT if job["shards"] == 1 else scheme[job["tool"].removeprefix("tomotopy ")]
    model = tp.LDAModel(k=job["k"], alpha=job["alpha"], eta=job["eta"], seed=1)
    model.optim_interval = model.burn_in = 0
    for a, b in zip(tokens.offsets, tokens.offsets[1:], strict=False):
        model.add_doc([tokens.terms[v] for v in tokens.term_ids[a:b]])
    model.train(1, workers=job["shards"], parallel=how)
    begin, wall = time.process_time(), time.perf_counter()
    model.train(job["sweeps"] - 1, workers=job["shards"], parallel=how)
    z = np.concatenate([document.topics for document in model.docs])
    return z, time.process_time() - begin, time.perf_counter() - wall, job["sweeps"] - 1


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Run one chain and return its row."""
    train, other, n_terms = split(*corpus(job["corpus"], None), job["held_out"])
    tokens = TokenTable(*train, tuple(map(str, range(n_terms))))
    run = run_tomotopy if job["tool"].startswith("tomotopy") else run_nlpkit
    z, cpu, wall, sweeps = run(tokens, job)
    n_kv = counts(z.astype(np.int32), tokens.term_ids, (job["k"], n_terms))
    dtm = counts(
        np.repeat(np.arange(tokens.n_docs), np.diff(tokens.offsets)), tokens.term_ids, (tokens.n_docs, n_terms)
    )
    top = np.argsort(-n_kv.toarray(), axis=1, kind="stable")[:, :10].astype(np.int32)
    row = {"ll": log_joint(train, n_terms, z, job), "perplexity": held_out_perplexity(n_kv, job, other)}
    row |= {
        "npmi": float(np.nanmean(npmi_by_document(top, postings(dtm)))),
        "cpu_s": cpu / sweeps,
        "wall_s": wall / sweeps,
    }
    return job | row | {"documents": tokens.n_docs, "tokens": len(tokens.term_ids), "terms": n_terms}


def measure_large(given: argparse.Namespace) -> dict[str, Any]:
    """Run a few sweeps over a large drawn corpus and return time and memory."""
    tokens = drawn(given.tokens)
    n = len(tokens.term_ids)
    base = memory("VmRSS")
    begin = time.perf_counter()
    options = {"n_topics": given.k[0], "alpha": 0.1, "eta": 0.01, "seed": 1, "shards": given.shards[0]}
    if given.grid:
        chain: Any = GibbsSampler(tokens, **options)
    else:
        start = partial(ProcessActors, processes=given.workers) if given.workers else None
        chain = DistributedSampler(tokens, **options, start=start)
    setup, rows = time.perf_counter() - begin, []
    for _ in range(given.sweeps):
        begin, cpu = time.perf_counter(), time.process_time()
        chain.run(1)
        rows.append((round(time.perf_counter() - begin, 1), round(time.process_time() - cpu, 1)))
        print(chain.sweep, *rows[-1], file=sys.stderr, flush=True)
    workers = chain._actors.pids if given.workers else []
    row = {
        "kind": "large",
        "tool": "grid" if given.grid else "ad-lda",
        "tokens": n,
        "documents": tokens.n_docs,
        "k": given.k[0],
    }
    row |= {"shards": chain.shards, "workers": given.workers, "setup_s": setup, "sweeps": rows, "base_mb": base}
    row |= {"corpus_mb": (4 * n + 8 * tokens.n_docs) / 2**20, "rss_mb": memory("VmRSS"), "peak_mb": memory("VmHWM")}
    row |= {
        "worker_rss_mb": [memory("VmRSS", pid) for pid in workers],
        "worker_peak_mb": [memory("VmHWM", pid) for pid in workers],
    }
    before = time.perf_counter()
    row |= {"ll": chain.log_likelihood() / n, "ll_s": time.perf_counter() - before, "peak_with_ll_mb": memory("VmHWM")}
    if given.workers:
        chain.close()
    return row


def jobs_of(given: argparse.Namespace) -> list[dict[str, Any]]:
    jobs = []
    for name in given.corpus:
        for k in given.k:
            chains = [("ad-lda", p) for p in given.shards] + [("grid", 16)]
            chains += [("tomotopy copy-merge", p) for p in given.peer] + [
                ("tomotopy partition", p) for p in given.peer if p > 1
            ]
            for tool, p in chains:
                job = {"kind": "shards", "corpus": name, "k": k, "tool": tool, "shards": p, "sweeps": given.sweeps}
                jobs.append(job | {"alpha": 0.1, "eta": 0.01, "held_out": given.held_out})
    return jobs


def markdown(rows: list[dict[str, Any]]) -> str:
    lines = []
    for name, k in dict.fromkeys((r["corpus"], r["k"]) for r in rows if r["kind"] == "shards"):
        mine = [r for r in rows if r["kind"] == "shards" and (r["corpus"], r["k"]) == (name, k)]
        exact = next((r for r in mine if (r["tool"], r["shards"]) == ("ad-lda", 1)), None)
        lines += [
            "",
            f"{name}, K = {k} ({mine[0]['documents']:,} documents, {mine[0]['tokens']:,} tokens, {mine[0]['sweeps']} sweeps)",
            "",
        ]
        lines += [
            "| sampler | shards | log p(w, z) a token | difference | held-out perplexity | NPMI | CPU s a sweep |"
        ]
        lines += ["|---|---|---|---|---|---|---|"]
        for r in mine:
            loss = "" if exact is None else f"{r['ll'] - exact['ll']:+.3f}"
            lines.append(
                f"| {r['tool']} | {r['shards']} | {r['ll']:.3f} | {loss} | {r['perplexity']:.0f} | {r['npmi']:.3f} | {r['cpu_s']:.2f} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpus", nargs="+", default=["imdb_5k", "20newsgroups", "ag_news"])
    parser.add_argument("--k", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--shards", type=int, nargs="+", default=list(SHARDS))
    parser.add_argument("--peer", type=int, nargs="+", default=[1, 4, 16], help="workers of tomotopy")
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--held-out", type=int, default=1000)
    parser.add_argument("--tokens", type=int, help="a drawn corpus of so many, the first of --k and --shards")
    parser.add_argument("--workers", type=int, default=0, help="processes, with --tokens")
    parser.add_argument("--grid", action="store_true", help="with --tokens: the grid in place of AD-LDA")
    parser.add_argument("--out", type=Path, default=CACHE / "bench_shards.jsonl")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.out.open(encoding="utf-8")] if given.out.exists() else []
    done = [{name: r[name] for name in r if name in jobs_of(given)[0]} for r in rows if r["kind"] == "shards"]
    jobs = [] if given.table or given.tokens else [job for job in jobs_of(given) if job not in done]
    given.out.parent.mkdir(parents=True, exist_ok=True)
    if given.tokens:
        print(json.dumps(measure_large(given)))
    for job in jobs:
        row = measure(job)
        rows.append(row)
        with given.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), file=sys.stderr, flush=True)
    print(markdown(rows))


if __name__ == "__main__":
    main()
