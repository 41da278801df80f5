"""The tools of bench_lda.py, each run in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from harness import ROOT, memory

OWN = "nlpkit"


class Run:
    """What a tool reports: clocks that stop while it is measured, its topics at trace points, its peak memory."""

    def __init__(self, folder: Path, job: dict[str, Any]) -> None:
        self.folder, self.job = folder, job
        self.marks: list[int] = job["marks"]
        stored = np.load(folder / "tokens.npz")
        self.offsets, self.term_ids, self.V = stored["offsets"], stored["term_ids"], int(stored["V"])
        self.out: dict[str, Any] = {"seconds": 0.0, "load_s": 0.0, "setup_s": 0.0, "peak_mb": 0.0, "trace": []}
        self.out["base_mb"] = memory("VmRSS")

    def timed(self, clock: str, action: Callable[[], Any]) -> Any:
        """Add the seconds of an action to a clock and its peak memory to that of the process."""
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # VmHWM starts anew: measuring is not in it
        start = time.perf_counter()
        result = action()
        self.out[clock] += time.perf_counter() - start
        self.out["peak_mb"] = max(self.out["peak_mb"], memory("VmHWM"))
        return result

    def sweeps(self, sweep: Callable[[int], Any], topics: Callable[[], Any]) -> None:
        """Sweep from mark to mark; topics() are in the order of the corpus."""
        self.mark(0, 0.0, topics())
        done = 0
        for mark in self.marks:
            self.timed("seconds", partial(sweep, mark - done))
            done = mark
            self.mark(mark, self.out["seconds"], topics())

    def mark(self, sweep: int, seconds: float, z: Any) -> None:
        if self.job["keep"]:
            np.save(self.folder / f"z{sweep}.npy", np.asarray(z, np.uint16))
            self.out["trace"].append([sweep, seconds])

    def documents(self) -> Any:
        return (self.term_ids[a:b] for a, b in pairwise(self.offsets))

    def matrix(self) -> Any:
        from scipy import sparse

        ones = np.ones(len(self.term_ids), np.intc)
        X = sparse.csr_matrix(
            (ones, self.term_ids, self.offsets), (self.D, self.V), copy=True
        )  # the sums are made in place
        X.sum_duplicates()
        return X

    @property
    def D(self) -> int:  # noqa: N802
        return len(self.offsets) - 1


def run_nlpkit(run: Run) -> None:
    from nlpkit.platform.types import TokenTable
    from nlpkit.topics.lda.sampler import GibbsSampler

    commit = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    run.out["version"] = subprocess.run(commit, capture_output=True, text=True, check=True).stdout.strip()
    options = {k: run.job[k] for k in ("alpha", "eta", "seed", "threads")} | {"n_topics": run.job["k"]}
    use_kernels()
    tokens = TokenTable(run.offsets, run.term_ids, tuple(map(str, range(run.V))))
    run.out["base_mb"] = memory("VmRSS")
    sampler = run.timed("setup_s", lambda: GibbsSampler(tokens, **options))
    run.sweeps(sampler.run, sampler.assignments)


def use_kernels() -> None:
    """Call each kernel of the sampler once on three documents: compiled, or read from its cache."""
    from nlpkit.platform.types import TokenTable
    from nlpkit.topics.lda.sampler import GibbsSampler

    few = TokenTable(np.array([0, 2, 3, 5]), np.array([0, 1, 1, 0, 2], np.int32), ("a", "b", "c"))
    for shards in (1, 2):
        sampler = GibbsSampler(few, n_topics=2, alpha=0.1, eta=0.1, seed=1, threads=shards, shards=shards)
        sampler.run(1)
        sampler.log_likelihood()


def run_tomotopy(run: Run) -> None:
    import tomotopy as tp

    job, words = run.job, [str(v) for v in range(run.V)]
    scheme = {"copy-merge": tp.ParallelScheme.COPY_MERGE, "partition": tp.ParallelScheme.PARTITION}
    how = scheme.get(job["tool"].removeprefix("tomotopy "), tp.ParallelScheme.DEFAULT)
    run.out["version"] = f"{tp.__version__} {tp.isa}"
    model = tp.LDAModel(k=job["k"], alpha=job["alpha"], eta=job["eta"], seed=job["seed"])
    model.optim_interval = model.burn_in = 0

    def load() -> None:
        for document in run.documents():
            model.add_doc([words[v] for v in document])

    run.timed("load_s", load)
    run.timed("setup_s", lambda: model.train(0, workers=job["threads"], parallel=how))
    if not (model.num_words == len(run.term_ids) and len(model.used_vocabs) == run.V and len(model.docs) == run.D):
        raise SystemExit("tomotopy took other documents, tokens or terms than it was given")

    def topics() -> Any:
        return np.concatenate([document.topics for document in model.docs])

    run.sweeps(lambda n: model.train(n, workers=job["threads"], parallel=how), topics)
    run.out["own_ll"] = model.ll_per_word
    vocabulary, document = list(model.used_vocabs), model.docs[0]  # topics are in the order of the words given
    if [int(vocabulary[w]) for w in document.words] != run.term_ids[: run.offsets[1]].tolist():
        raise SystemExit("tomotopy has changed the order of a document's tokens")


def run_lda(run: Run) -> None:
    import logging

    import lda

    logging.disable()
    job = run.job
    run.out["version"] = lda.__version__
    X = run.timed("load_s", run.matrix)
    model = lda.LDA(job["k"], alpha=job["alpha"], eta=job["eta"], random_state=job["seed"])
    run.timed("setup_s", lambda: model._initialize(X))
    random, uniforms = np.random.RandomState(job["seed"]), model._rands.copy()
    sorted_terms = np.lexsort((run.term_ids, np.repeat(np.arange(run.D), np.diff(run.offsets))))

    def sweep(n: int) -> None:
        for _ in range(n):  # the loop of lda's _fit without its log-likelihood
            random.shuffle(uniforms)
            model._sample_topics(uniforms)

    def topics() -> Any:
        z = np.empty(len(run.term_ids), np.uint16)
        z[sorted_terms] = model.ZS
        return z

    run.sweeps(sweep, topics)
    run.out["own_ll"] = model.loglikelihood() / len(run.term_ids)


def run_mallet(run: Run) -> None:
    job, peak = run.job, run.folder / "peak"
    spec = importlib.util.spec_from_file_location("run_mallet", Path(job["mallet"]) / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    wait = (  # starts the JVM, waits for it and writes its ru_maxrss, which this small process does not add to
        "import os,sys; p=os.posix_spawnp(sys.argv[2],sys.argv[2:],os.environ); _,s,u=os.wait4(p,0); "
        "open(sys.argv[1],'w').write(str(u.ru_maxrss)); sys.exit(os.waitstatus_to_exitcode(s))"
    )
    arguments = (run.offsets, run.term_ids, run.V, job["k"], job["alpha"], job["eta"], run.marks[-1], job["threads"])
    every = run.marks[0] if job["keep"] else 0
    options = {"every": every, "prefix": (sys.executable, "-S", "-c", wait, str(peak)), "folder": run.folder}
    run.out["seconds"], run.out["setup_s"], points, last = module.trace_mallet(*arguments, job["seed"], **options)
    for sweep, seconds, z in points:
        run.mark(sweep, seconds, z)
    if not points or points[-1][0] != run.marks[-1]:
        run.mark(run.marks[-1], run.out["seconds"], last)
    run.out |= {"peak_mb": int(peak.read_text()) / 1024, "base_mb": None}


def run_gensim(run: Run) -> None:
    import gensim

    job = run.job
    run.out["version"] = gensim.__version__

    def load() -> Any:
        counts = (np.unique(document, return_counts=True) for document in run.documents())
        return [list(zip(v.tolist(), n.tolist(), strict=True)) for v, n in counts]

    bags = run.timed("load_s", load)
    options = {"num_topics": job["k"], "alpha": [job["alpha"]] * job["k"], "eta": job["eta"], "passes": job["passes"]}
    options |= {"id2word": {v: str(v) for v in range(run.V)}, "random_state": job["seed"], "eval_every": None}
    model = run.timed("seconds", lambda: gensim.models.MixtureModel(bags, **options))
    np.save(run.folder / "lambda.npy", model.state.get_lambda())


def run_sklearn(run: Run) -> None:
    import sklearn
    from sklearn.decomposition import LatentDirichletAllocation

    job = run.job
    run.out["version"] = sklearn.__version__
    X = run.timed("load_s", run.matrix)
    options = {"doc_topic_prior": job["alpha"], "topic_word_prior": job["eta"], "max_iter": job["passes"]}
    model = LatentDirichletAllocation(job["k"], **options, n_jobs=job["threads"], random_state=job["seed"])
    run.timed("seconds", lambda: model.fit(X))
    workers = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    run.out["peak_mb"] += sum(memory("VmHWM", pid) for pid in workers)
    np.save(run.folder / "lambda.npy", model.components_)


# Each tool: its function, the module that must be there, how many threads it can use.
TOOLS: dict[str, tuple[Callable[[Run], None], str, Callable[[int], bool]]] = {
    OWN: (run_nlpkit, "nlpkit", lambda threads: True),
    "tomotopy": (run_tomotopy, "tomotopy", lambda threads: threads == 1),
    "tomotopy copy-merge": (run_tomotopy, "tomotopy", lambda threads: threads > 1),
    "tomotopy partition": (run_tomotopy, "tomotopy", lambda threads: threads > 1),
    "mallet": (run_mallet, "mallet", lambda threads: True),
    "lda": (run_lda, "lda", lambda threads: threads == 1),
    "gensim": (run_gensim, "gensim", lambda threads: threads == 1),
    "scikit-learn": (run_sklearn, "sklearn", lambda threads: True),
}
VARIATIONAL = ("gensim", "scikit-learn")
