"""What a command takes on ten documents: seconds of the whole process, less those of `python -c pass`.

    python tests/benchmarks/bench_start.py --times 7

The median of several runs in turn, bytecode and compiled kernels on the disk. The documents are the first ten of data/samples/news.jsonl.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from harness import NLPKIT

NEWS = Path(__file__).parents[2] / "data" / "samples" / "news.jsonl"
FIT = "lda-gibbs ten.jsonl --k 2 -o lda"
LINES = (
    "--help", "info lda", "kwic the ten.jsonl", "topics lda", "preprocess ten.jsonl -o docs.parquet", "stats ten.jsonl",
    "similar ten.jsonl --id news-0001 --by tfidf -o near.parquet", "ctfidf ten.jsonl --by label -o terms.parquet",
    "collocations ten.jsonl", "tfidf ten.jsonl -o weights.parquet", "evaluate lda --npmi", "predict lda ten.jsonl -o predicted.parquet",
    "classify ten.jsonl -o classifier", "evaluate lda", "lda-gibbs ten.jsonl --k 2 -o lda2", "report lda -o report.html",
    "cluster ten.jsonl --by tfidf --k 2 -o clusters.parquet", "nmf ten.jsonl --k 2 -o nmf",
)  # fmt: skip


def seconds(command: list[str], folder: Path) -> float:
    """Run a command; return the seconds it took. Raises CalledProcessError where it fails."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with NEWS.open(encoding="utf-8") as file:
            (folder / "ten.jsonl").write_text("".join(itertools.islice(file, 10)), encoding="utf-8")
        subprocess.run([NLPKIT, *FIT.split()], cwd=folder, check=True, capture_output=True)
        taken: dict[str, list[float]] = defaultdict(list)
        for _ in range(given.times + 1):
            taken["python"].append(seconds([sys.executable, "-c", "pass"], folder))
            for line in LINES:
                force = [] if "-o" not in line else ["--force"]
                taken[line].append(seconds([NLPKIT, *line.split(), *force], folder))
    alone = statistics.median(taken.pop("python")[1:])
    print("| command | s |\n|---|--:|")
    for line, several in sorted(taken.items(), key=lambda item: statistics.median(item[1][1:])):
        print(f"| `{line}` | {statistics.median(several[1:]) - alone:.2f} |")


if __name__ == "__main__":
    main()
