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
import tempfile
from pathlib import Path
from typing import Any

from harness import DATA, NLPKIT, spent

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
NEWS = "ag_news/ag_news_train_sub.jsonl.gz"
SUFFIX = {"preprocess": ".parquet", "tfidf": ".parquet", "sbert-embed": ".parquet"}


def corpus(folder: Path, n_docs: int) -> Path:
    """Write documents with a date; return the file."""
    path = folder / f"docs_{n_docs}.jsonl"
    with gzip.open(DATA / NEWS, "rt", encoding="utf-8") as file, path.open("w", encoding="utf-8") as out:
        for i, line in zip(range(n_docs), file, strict=False):
            row = json.loads(line)
            row["date"] = f"20{10 + i % 4}-{1 + i % 12:02}-01"
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


def run(line: list[str]) -> dict[str, Any]:
    """Run a command; return what it printed and what it cost."""
    row = spent([NLPKIT, *line], 1)
    if row["exit"]:
        raise SystemExit(f"{' '.join(line)}: {row['said']}")
    return row


def compare(name: str, n_docs: int, line: str) -> dict[str, Any]:
    """Return the estimates and the truth of a command on so many documents."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        command, *options = line.split()
        out = f"{folder}/out{SUFFIX.get(command, '')}"
        words = [command, str(corpus(folder, n_docs)), *options, "--threads", "1", "-o", out]
        plan = json.loads(run([*words, "--dry-run", "--json", "-q"])["out"])
        row = run([*words, "-q"])
    return {
        "command": name, "docs": n_docs, "seconds": round(row["cpu"], 1), "seconds_about": plan["seconds_about"],
        "mb": round(row["mb"]), "mb_about": plan["memory_mb_about"], "plan": plan,
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
