"""Labels without training: the nearest label by embedding, beside a language model at an address.

python tests/benchmarks/bench_zero_shot.py --llm http://localhost:8099/v1 --llm-model qwen2.5-coder-1.5b-instruct
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
from bench_finetune import SOURCES
from harness import lines

import nlpkit as nk

LABELS = {
    "ag_news": "World: international news, politics, war; Sports; Business: companies, markets, economy; "
    "Sci/Tech: science, technology, software",
    "sst2": "neg: a negative opinion of a film; pos: a positive opinion of a film",
    "trec": "ABBR: asks what an abbreviation means; DESC: asks for a definition, description, reason or manner; "
    "ENTY: asks for a thing such as an animal, colour, food, product; HUM: asks for a person or group; "
    "LOC: asks for a place; NUM: asks for a number, date or amount",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--llm", required=True)
    parser.add_argument("--llm-model", required=True)
    parser.add_argument("--llm-cache", type=Path, help="folder where answers are kept")
    parser.add_argument("--texts", type=int, default=100)
    args = parser.parse_args()
    drawn = random.Random(0)
    model = {"llm": args.llm, "llm_model": args.llm_model, "llm_cache": args.llm_cache}
    print("| data | nearest label | seconds | language model | seconds |\n|---|--:|--:|--:|--:|")
    for data, labels in LABELS.items():
        train_file, test_file = SOURCES[data]
        rows = [r for r in lines(test_file or train_file) if r.get("split", "test") in ("test", "dev")]
        sample = [{"text": r["text"], "label": str(r["label"])} for r in drawn.sample(rows, args.texts)]
        documents = nk.Corpus.from_frame(pa.Table.from_pylist(sample))
        cells = []
        for way in ({}, model):
            started = time.perf_counter()
            result: Any = nk.zero_shot(documents, labels=labels, **way)
            score = result.evaluation.targets[0].scores["accuracy"]
            cells.append(
                f"{score.value:.2f} [{score.interval.low:.2f}, {score.interval.high:.2f}] | {time.perf_counter() - started:.0f}"
            )
        print(f"| {data} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
