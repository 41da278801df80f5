"""What dividing costs: CPU seconds of the whole, of reading all documents for a share, of all parts, and of merging them.

    nice -n 19 python tests/benchmarks/bench_parts.py --data ../shared/data/ag_news/train.jsonl --parts 8

CPU seconds of one thread (user and system) hardly depend on what else the machine does; the table says how many documents that makes
a second. Each step runs in a process of its own, after one that filled the caches of compiled code.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from harness import printed_by

STEP = """
import json, resource, sys, time
import nlpkit as nk
from nlpkit.platform.documents.corpora import Scan
from nlpkit.platform.documents.parts import ShardOptions
from nlpkit.platform.options import Execution
what, command, source, target, parts = sys.argv[1:]
source = source.split(",")
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
one = Execution(threads=1)
before, start = used(), time.perf_counter()
if what == "scan":
    with nk.read_corpus(*source).open() as stream:
        Scan.of(stream)
elif what == "merge":
    nk.merge([target + ".parts"], target, force=True)
else:
    sharing = ShardOptions(shard=what) if "/" in what else None
    nk.map_documents(command, *source, target=target, execution=one, sharing=sharing, force=True)
print(json.dumps({"cpu": used() - before, "wall": time.perf_counter() - start,
                  "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def step(what: str, command: str, source: str, target: Path, parts: int) -> dict[str, float]:
    return printed_by(["-c", STEP, what, command, source, target, parts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="files, with commas between them")
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--commands", nargs="+", default=["preprocess", "features"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("command     step            CPU s   wall s   documents/CPU s   peak MB")
        for command in args.commands:
            target = folder / f"{command}.parquet"
            step("whole", command, args.data, target, 0)  # compiled code is kept
            parts = target.with_name(f"{target.name}.parts")
            parts.mkdir()
            whole = step("whole", command, args.data, target, 0)
            import pyarrow.parquet as pq

            n = pq.ParquetFile(target).metadata.num_rows
            bytes_of_whole = target.read_bytes()
            rows = {"whole": whole, "reading": step("scan", command, args.data, target, 0)}
            made = [
                step(f"{i}/{args.parts}", command, args.data, parts / f"{i:05d}.parquet", 0)
                for i in range(1, args.parts + 1)
            ]
            rows["largest part"] = max(made, key=lambda one: one["cpu"])
            rows["all parts"] = {
                "cpu": sum(m["cpu"] for m in made),
                "wall": sum(m["wall"] for m in made),
                "mb": max(m["mb"] for m in made),
            }
            rows["merge"] = step("merge", command, args.data, target, 0)
            assert target.read_bytes() == bytes_of_whole
            for label, row in rows.items():
                print(
                    f"{command:11} {label:13} {row['cpu']:7.1f} {row['wall']:8.1f} {n / row['cpu']:17,.0f} {row['mb']:9,.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
