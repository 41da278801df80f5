"""nlpkit lda-gibbs beside its peers: seconds to equal joint log-likelihood per token, held-out perplexity, peak memory.

    python tests/benchmarks/bench_lda.py --peers DIR --mallet DIR                     # 20newsgroups, K = 20 … 1000
    python tests/benchmarks/bench_lda.py --corpus imdb_100k --k 100 500 --runs 1
    python tests/benchmarks/bench_lda.py --growth                                     # 1x, 2x, 4x, 8x the corpus, K = 100
    python tests/benchmarks/bench_lda.py --compile                                    # kernels: cold, and cached on disk
    python tests/benchmarks/bench_lda.py --table                                      # Markdown of the rows stored so far

Every tool is a process of its own and gets the same tokens: no empty documents, only terms of the training documents, the
same alpha and eta (each, never optimised). Rows go to --out (JSON lines); peers' rows that are there are not measured again,
so a long measurement can be taken up where it ended. Ratios are always those of runs of one session.

- log p(w, z) per token of every tool's topics is computed by `dirichlet_multinomial` of nlpkit on n_kv and n_dk, in the
  process that started the tool; the own figures of tomotopy and lda must be within 0.1 % of it. After every sweeps / points
  sweeps a tool writes down its topics, outside of the clock.
- Means over --runs seeds: seconds and log-likelihood after each number of sweeps give one curve per tool, linear between its
  points. The target is the highest last value of a Gibbs peer with as many threads; nlpkit goes on for --more of the sweeps, so
  that its curve gets there; its last value and its perplexity are those after as many sweeps as the peers.
- Seconds are those of the sweeps. `setup`: GibbsSampler(...), tomotopy's train(0), MALLET's addInstances, lda's _initialize.
  `load`, in no sum: tomotopy's add_doc, the matrices and lists of the others. Kernels of nlpkit are compiled, and cached.
- Held-out perplexity by document completion: --held-out documents that no tool was trained on, theta from one half of each, the
  other half scored by `nlpkit.topics.base.heldout.perplexity`, which sees only phi: counts, or lambda of the variational tools.
- Peak memory: VmHWM of the process (of the JVM, and with joblib's workers), measuring left out; `base` is what it had with
  its imports and the corpus. Linux only.
- A star marks runs during which other processes used more than 0.2 CPUs: their seconds are not to be used.
- gensim and scikit-learn are variational: no z, so time of --passes and perplexity only. lda is driven as in its _fit.
  tomotopy's two schemes of threads are two tools; one thread has none.

--peers (or NLPKIT_BENCH_PEERS): a folder that pip filled with tomotopy and lda, empty if they are installed. --mallet (or
NLPKIT_BENCH_MALLET): a folder with a run.py that has trace_mallet(...). Tools that are not there are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from harness import CACHE, DATA
from lda_table import GROUP, markdown
from lda_tools import OWN, TOOLS, VARIATIONAL, Run, use_kernels

CORPORA = {"20newsgroups": "20newsgroups/20newsgroups.jsonl.gz", "imdb_100k": "imdb/imdb_100k.jsonl.gz"}
PREPROCESS = ["--min-df", "5", "--max-df", "0.5"]
GROWTH = (1, 2, 4, 8)


# ---------------------------------------------------------------- corpora and measures, in the process that starts the tools


def corpus(name: str, limit: int | None) -> tuple[Any, Any]:
    """Return offsets and term ids of a corpus of CORPORA, or of a Parquet file with tokens; no empty documents."""
    import pyarrow.parquet as pq

    from nlpkit.platform.documents.arrays import token_table

    path = Path(name)
    if name in CORPORA:
        path = CACHE / f"lda_{name}.parquet"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            line = [str(Path(sys.executable).with_name("nlpkit")), "preprocess", str(DATA / CORPORA[name])]
            subprocess.run([*line, "-o", str(path), "-q", *PREPROCESS], check=True)
    tokens = token_table(pq.read_table(path, columns=["tokens"]).column("tokens"))
    lengths = np.diff(tokens.offsets)
    offsets = np.concatenate([[0], np.cumsum(lengths[lengths > 0])]).astype(np.int64)
    offsets = offsets if limit is None else offsets[: limit + 1]
    return offsets, tokens.term_ids[: offsets[-1]].astype(np.int32)


def chosen(offsets: Any, term_ids: Any, documents: Any) -> tuple[Any, Any]:
    """Return offsets and term ids of some documents, in their order."""
    bounds = zip(offsets[documents], offsets[np.asarray(documents) + 1], strict=True)
    parts = [term_ids[a:b] for a, b in bounds]
    lengths = [len(part) for part in parts]
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), np.concatenate([term_ids[:0], *parts])


def split(offsets: Any, term_ids: Any, held_out: int) -> tuple[tuple[Any, Any], tuple[Any, Any], int]:
    """Return training and held-out documents over the terms of the training documents, numbered 0 … V - 1, and V."""
    order = np.random.default_rng(0).permutation(len(offsets) - 1)
    train = chosen(offsets, term_ids, np.sort(order[held_out:]))
    other = chosen(offsets, term_ids, np.sort(order[:held_out]))
    terms = np.unique(train[1])
    number = np.full(int(term_ids.max()) + 1, -1, np.int32)
    number[terms] = np.arange(len(terms), dtype=np.int32)
    known = number[other[1]] >= 0
    bounds = np.concatenate([[0], np.cumsum(known)])[other[0]].astype(np.int64)
    return (train[0], number[train[1]]), (bounds, number[other[1]][known]), len(terms)


def counts(rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    from scipy import sparse

    return sparse.coo_array((np.ones(len(rows), np.int32), (rows, columns)), shape=shape).tocsr()


def log_joint(tokens: tuple[Any, Any], V: int, z: Any, job: dict[str, Any]) -> float:
    """Return log p(w, z) per token of the topics of any tool."""
    from nlpkit.topics.base.heldout import dirichlet_multinomial

    offsets, term_ids = tokens
    D, K = len(offsets) - 1, job["k"]
    z = z.astype(np.int32)
    words = dirichlet_multinomial(counts(z, term_ids, (K, V)), job["eta"])
    documents = np.repeat(np.arange(D, dtype=np.int32), np.diff(offsets))
    return (words + dirichlet_multinomial(counts(documents, z, (D, K)), job["alpha"])) / len(z)


def held_out_perplexity(topic_term: Any, job: dict[str, Any], documents: tuple[Any, Any]) -> float:
    """Return the perplexity of documents that no tool was trained on; the halves are the same for every tool."""
    from nlpkit.platform.types import TokenTable
    from nlpkit.topics.base.heldout import perplexity
    from nlpkit.topics.base.model import MixtureModel

    terms = tuple(map(str, range(topic_term.shape[1])))
    model = MixtureModel(terms, topic_term, np.full(job["k"], job["alpha"]), job["eta"])
    return perplexity(model, TokenTable(*documents, terms), seed=0, threads=os.cpu_count() or 1).perplexity


def child(name: str, folder: Path, job: dict[str, Any], peers: str | None) -> dict[str, Any]:
    """Run a tool on folder/tokens.npz and return what it reports."""
    threads = str(job.get("threads", 1))
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
    env = {**os.environ, **limits, **job.get("env", {})}
    if peers and name != OWN:
        env["PYTHONPATH"] = peers
    command = [sys.executable, __file__, "--one", str(folder), json.dumps({**job, "tool": name})]
    before, start = busy(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise SystemExit(f"{name} failed ({job}):\n{done.stderr[-3000:]}")
    elsewhere = (busy() - before) / (time.perf_counter() - start)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**result, "elsewhere": elsewhere}


def busy() -> float:
    """Return CPU seconds that processes other than this one and its children have used on this machine."""
    user, nice, system = Path("/proc/stat").read_text(encoding="ascii").split()[1:4]
    own = os.times()
    ticks = os.sysconf("SC_CLK_TCK")
    return (
        (int(user) + int(nice) + int(system)) / ticks - own.user - own.system - own.children_user - own.children_system
    )


def measure(job: dict[str, Any], train: Any, other: Any, V: int, peers: str | None) -> dict[str, Any]:
    """Run a tool once; return its row with log-likelihoods along the way and its held-out perplexity."""
    from scipy import sparse

    with tempfile.TemporaryDirectory() as temp:
        folder = Path(temp)
        np.savez(folder / "tokens.npz", offsets=train[0], term_ids=train[1], V=V)
        row = child(job["tool"], folder, job, peers)
        for point in row["trace"]:
            point.append(log_joint(train, V, np.load(folder / f"z{point[0]}.npy"), job))
        if job["keep"]:
            if "own_ll" in row and abs(row["own_ll"] / row["trace"][-1][2] - 1) > 0.001:
                raise SystemExit(
                    f"{job['tool']}: its own log-likelihood is {row['own_ll']}, ours {row['trace'][-1][2]}"
                )
            if job["tool"] in VARIATIONAL:
                n_kv = sparse.csr_array(np.maximum(np.load(folder / "lambda.npy") - job["eta"], 0.0))
            else:
                z = np.load(folder / f"z{job['sweeps']}.npy")
                n_kv = counts(z.astype(np.int32), train[1], (job["k"], V))
                at = next(point for point in row["trace"] if point[0] == job["sweeps"])
                row |= {"seconds": at[1], "ll": at[2], "z": hashlib.sha256(z.tobytes()).hexdigest()[:16]}
            row["perplexity"] = held_out_perplexity(n_kv, job, other) if len(other[0]) > 1 else None
    return row | {"documents": len(train[0]) - 1, "tokens": len(train[1]), "terms": V}


# ---------------------------------------------------------------- the command

KEY = ("kind", *GROUP, "tool", "threads", "seed", "copies")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpus", default="20newsgroups", help=f"{', '.join(CORPORA)} or a Parquet file with tokens")
    parser.add_argument("--limit", type=int, help="only the first documents")
    parser.add_argument("--held-out", type=int, default=2000, help="documents that are scored, not trained on")
    parser.add_argument("--k", type=int, nargs="+", help="default: 20 100 500 1000, with --growth 100")
    parser.add_argument("--sweeps", type=int, help="of the Gibbs samplers; default: 200, with --growth 20")
    parser.add_argument("--passes", type=int, default=10, help="of the variational tools")
    parser.add_argument("--more", type=float, default=0.5, help="share of the sweeps for which nlpkit goes on")
    parser.add_argument("--points", type=int, default=40, help="trace points")
    parser.add_argument("--alpha", type=float, default=0.1, help="each")
    parser.add_argument("--eta", type=float, default=0.01, help="each")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, help="default: all, with --growth nlpkit and tomotopy")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=int, default=3, help="seeds 1, 2, …; with --growth one")
    parser.add_argument("--out", type=Path, default=CACHE / "bench_lda.jsonl")
    parser.add_argument("--peers", default=os.environ.get("NLPKIT_BENCH_PEERS"))
    parser.add_argument("--mallet", default=os.environ.get("NLPKIT_BENCH_MALLET"))
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # temporary folders go, too
    if given.one:
        one(Path(given.one[0]), json.loads(given.one[1]))
        return
    rows = [json.loads(line) for line in given.out.open(encoding="utf-8")] if given.out.exists() else []
    if not given.table:
        jobs = [{"kind": "compile", "tool": OWN}] if given.compile else jobs_of(given)
        run_jobs(jobs, rows, given)
    print(markdown(rows))


def one(folder: Path, job: dict[str, Any]) -> None:
    """Be a tool: do a job and print its row."""
    if job["kind"] == "compile":
        start = time.perf_counter()
        import nlpkit.topics.lda.sampler  # noqa: F401

        imported = time.perf_counter()
        use_kernels()
        first = time.perf_counter()
        use_kernels()
        seconds = first - imported - (time.perf_counter() - first)
        print(json.dumps({"import_s": imported - start, "compile_s": seconds}))
        return
    run = Run(folder, job)
    TOOLS[job["tool"]][0](run)
    print(json.dumps(run.out))


def jobs_of(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Return what is to be measured; tools take turns, so that a noisy minute hits all."""
    growth, sweeps = given.growth, given.sweeps or (20 if given.growth else 200)
    names = given.tools or [t for t in TOOLS if not growth or t.startswith((OWN, "tomotopy"))]
    missing = {t for t in names if not present(t, given)}
    if missing:
        print("left out, not found:", ", ".join(sorted(missing)), file=sys.stderr)
    jobs, session = [], int(time.time())
    for k in given.k or ([100] if growth else [20, 100, 500, 1000]):
        for seed in [1] if growth else range(1, given.runs + 1):
            for copies in GROWTH if growth else (1,):
                for threads in given.threads:
                    for tool in (t for t in names if t not in missing and TOOLS[t][2](threads)):
                        if growth and tool in VARIATIONAL:
                            raise SystemExit(f"--growth counts sweeps of Gibbs sampling: not {tool}")
                        job = {
                            "kind": "growth" if growth else "run",
                            "tool": tool,
                            "k": k,
                            "seed": seed,
                            "session": session,
                        }
                        job |= {"threads": threads, "copies": copies, "sweeps": sweeps, "keep": not growth}
                        job |= {"marks": marks(tool, sweeps, given)}
                        job |= {
                            x: getattr(given, x)
                            for x in ("corpus", "limit", "passes", "more", "points", "alpha", "eta", "mallet")
                        }
                        jobs.append({**job, "held_out": 0 if growth else given.held_out})
    return jobs


def marks(tool: str, sweeps: int, given: argparse.Namespace) -> list[int]:
    if given.growth:
        return [sweeps]
    last = sweeps + (int(sweeps * given.more) if tool == OWN else 0)
    step = max(1, sweeps // given.points)
    return sorted({*range(step, last + 1, step), sweeps, last})


def present(tool: str, given: argparse.Namespace) -> bool:
    if tool == "mallet":
        return given.mallet is not None and (Path(given.mallet) / "run.py").exists()
    env = {**os.environ, "PYTHONPATH": given.peers} if given.peers else None
    command = [
        sys.executable,
        "-c",
        f"import importlib.util as u, sys; sys.exit(u.find_spec('{TOOLS[tool][1]}') is None)",
    ]
    return subprocess.run(command, env=env, check=False).returncode == 0


def run_jobs(jobs: list[dict[str, Any]], rows: list[dict[str, Any]], given: argparse.Namespace) -> None:
    """Measure what is not among the rows yet; rows grow, in memory and in --out.

    nlpkit is measured again where a peer with the same K, threads and seed is, so that ratios are those of one session.
    """
    have = {tuple(row.get(x) for x in KEY) for row in rows if row["kind"] != "compile"}
    new = [job for job in jobs if tuple(job.get(x) for x in KEY) not in have]
    turns = {(job.get("k"), job.get("threads"), job.get("seed"), job.get("copies")) for job in new}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    whole = None if given.compile else corpus(given.corpus, given.limit)
    for job in jobs:
        turn = (job.get("k"), job.get("threads"), job.get("seed"), job.get("copies"))
        if job not in new and not (job["tool"] == OWN and turn in turns):
            print("stored:", *(f"{x} {job[x]}" for x in ("tool", "k", "threads", "seed", "copies")), file=sys.stderr)
            continue
        if whole is None:
            row = {**job, **compiled()}
        else:
            train, other, V = split(*whole, job["held_out"])
            if job["copies"] > 1:
                documents = np.tile(np.arange(len(train[0]) - 1), job["copies"])
                train = chosen(*train, np.random.default_rng(0).permutation(documents))
            row = {x: y for x, y in job.items() if x not in ("keep", "marks", "mallet")}
            row |= measure(job, train, other, V, given.peers)
        rows.append(row)
        with given.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        brief = {x: y for x, y in row.items() if x not in ("trace", "z", "version", "corpus")}
        print({x: round(y, 4) if isinstance(y, float) else y for x, y in brief.items()}, file=sys.stderr, flush=True)


def compiled() -> dict[str, Any]:
    """Return seconds for compiling the kernels into an empty cache, and for reading them from it."""
    with tempfile.TemporaryDirectory() as cache:
        job = {"kind": "compile", "env": {"NUMBA_CACHE_DIR": cache}}
        cold, cached = child(OWN, Path(cache), job, None), child(OWN, Path(cache), job, None)
    return {"cold_s": cold["compile_s"], "cached_s": cached["compile_s"], "import_s": cached["import_s"]}


if __name__ == "__main__":
    main()
