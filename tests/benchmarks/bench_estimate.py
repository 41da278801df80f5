"""Estimates of --dry-run beside the truth: seconds and peak memory of each command on three sizes of AG News.

    python tests/benchmarks/bench_estimate.py
    python tests/benchmarks/bench_estimate.py --commands lda-gibbs dtm --docs 1000 4000

Each command runs with one thread in a process of its own. The truth is its processor time, which is its time on a machine that does
nothing else, and its peak resident memory. Kernels must be compiled already: run it twice, or --warm. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data" / "ag_news" / "ag_news_train_sub.jsonl.gz"
NLPKIT = str(Path(sys.executable).with_name("nlpkit"))
# the sizes, and the command without inputs and output
COMMANDS: dict[str, tuple[list[int], str]] = {
    "preprocess": ([2000, 8000, 40000], "preprocess"),
    "tfidf": ([2000, 8000, 40000], "tfidf"),
    "lda-gibbs": ([2000, 8000, 40000], "lda-gibbs --k 20 --sweeps 100"),
    "classify": ([2000, 8000, 40000], "classify --model nb"),
    "sbert-embed": ([250, 1000, 4000], "sbert-embed"),
    "bertopic": ([500, 1000, 4000], "bertopic --k auto"),
    "ctm": ([500, 1000, 4000], "ctm --k 10 --iterations 10"),
    "ctm words": ([1000, 4000, 16000], "ctm --k 10 --iterations 10 --inference bow"),
    "dtm": ([500, 2000, 8000], "dtm --k 5 --iterations 5 --every quarter"),
    "stm": ([500, 2000, 8000], "stm --k 10 --iterations 10 --prevalence label"),
    "stm content": ([500, 2000, 8000], "stm --k 10 --iterations 10 --content label"),
}
SUFFIX = {"preprocess": ".parquet", "tfidf": ".parquet", "sbert-embed": ".parquet"}


def corpus(folder: Path, n_docs: int) -> Path:
    """Write documents with a date; return the file."""
    path = folder / f"docs_{n_docs}.jsonl"
    with gzip.open(DATA, "rt", encoding="utf-8") as file, path.open("w", encoding="utf-8") as out:
        for i, line in zip(range(n_docs), file, strict=False):
            row = json.loads(line)
            row["date"] = f"20{10 + i % 4}-{1 + i % 12:02}-01"
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


def run(line: list[str]) -> tuple[str, float, float]:
    """Return what a command printed, its processor time and its peak memory (MB)."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [NLPKIT, *line], stdout=said, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
        )
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(line)}: {errors}")
        said.seek(0)
        return said.read(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def compare(name: str, n_docs: int, line: str) -> dict[str, Any]:
    """Return the estimates and the truth of a command on so many documents."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        command, *options = line.split()
        words = [
            command,
            str(corpus(folder, n_docs)),
            *options,
            "--threads",
            "1",
            "-o",
            f"{folder}/out{SUFFIX.get(command, '')}",
        ]
        plan = json.loads(run([*words, "--dry-run", "--json", "-q"])[0])
        _, seconds, memory = run([*words, "-q"])
    return {
        "command": name, "docs": n_docs, "seconds": round(seconds, 1), "seconds_about": plan["seconds_about"],
        "mb": round(memory), "mb_about": plan["memory_mb_about"], "plan": plan,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commands", nargs="+", default=list(COMMANDS))
    parser.add_argument("--docs", nargs="+", type=int)
    parser.add_argument("--warm", action="store_true", help="run each command once before, on its smallest size")
    given = parser.parse_args()
    for name in given.commands:
        sizes, line = COMMANDS[name]
        for n_docs in given.docs or sizes:
            if given.warm and n_docs == (given.docs or sizes)[0]:
                compare(name, n_docs, line)
            r = compare(name, n_docs, line)
            print(
                f"{name:14} {n_docs:>7,} {r['seconds']:>7} s, estimate {r['seconds_about']:>6} ({r['seconds_about'] / r['seconds']:.2f}) "
                f"{r['mb']:>7,} MB, estimate {r['mb_about']:>7,} ({r['mb_about'] / r['mb']:.2f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
