"""The inverse penalty C of setfit's regression by the number of classes, on MiniLM's embeddings as they are.

So many training documents of each class, drawn at random, three samples (two with more than 50 classes); at most 600 test documents.
Mean accuracy of the regression of nlpkit, which agrees with scikit-learn's (tests/classify/models/test_logistic.py).

    python tests/benchmarks/bench_many_classes.py

With --methods what `nlpkit finetune` learns from so many documents, samples 42 and 43, and its CPU seconds, one thread:

    python tests/benchmarks/bench_many_classes.py --data StackOverflow --shots 8 --methods "setfit(epochs=0)" lora
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from harness import lines

import nlpkit as nk
from nlpkit.classify.models.logistic import fit_logistic
from nlpkit.embed.options import EncoderOptions
from nlpkit.finetune.setfit.setfit import penalty_for

FILES = {
    "clinc150": "clinc150_small.jsonl",
    "GoogleNews": "googlenews_tokenised.jsonl",
    "banking77": "banking77.jsonl",
    "bill titles": "uscongress_bill_titles.jsonl",
    "StackOverflow": "stackoverflow_tokenised.jsonl",
    "20 Newsgroups": "20newsgroups.jsonl.gz",
    "snippets": "searchsnippets_tokenised.jsonl",
    "TREC": "trec.jsonl",
    "AG News": "ag_news_test.jsonl",
}
PENALTIES, SHOTS, LEAST, MOST, TEST = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0), (2, 8, 32), 20, 34, 600


def split(name: str) -> tuple[list[Any], list[Any]]:
    """Return the documents to draw from and to test on: of each class two thirds, at most 34, and a sample of the rest."""
    rows = [row for row in lines(name) if row.get("label") not in (None, "oos")]
    random.Random(0).shuffle(rows)
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(str(row["label"]), []).append(row)
    large = [group for group in groups.values() if len(group) >= LEAST]
    rest = [row for group in large for row in group[len(group) * 2 // 3 :]]
    train = [row for group in large for row in group[: min(MOST, len(group) * 2 // 3)]]
    return train, random.Random(0).sample(rest, min(TEST, len(rest)))


def fits(name: str, shots: int, methods: list[str]) -> None:
    """Print what methods learn from `shots` documents a class of a corpus."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{part}.jsonl") for part in ("train", "test")]
        for path, rows in zip(paths, split(FILES[name]), strict=True):
            documents = [{"label": str(row["label"]), "text": row["text"][:1500]} for row in rows]
            path.write_text("".join(json.dumps(document) + "\n" for document in documents))
        for method in methods:
            found = []
            start = time.process_time()
            for seed in (42, 43):
                result = nk.finetune(
                    nk.read_corpus(paths[0]), test=paths[1], method=method, shots=shots, seed=seed, threads=1, ci=0, near_duplicates=0.0,
                    offline=True, output=f"{folder}/{method}-{seed}",
                )  # fmt: skip
                found.append(result.scores.model.scores["accuracy"].value)
            seconds = (time.process_time() - start) / len(found)
            print(f"| {name} | {shots} | `{method}` | {np.mean(found):.3f} | {seconds:.0f} |", flush=True)


def main() -> None:
    """Print a row for each corpus and number of documents of a class."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(FILES), choices=list(FILES))
    parser.add_argument("--shots", nargs="+", type=int, default=[8])
    parser.add_argument("--methods", nargs="+")
    args = parser.parse_args()
    if args.methods:
        for name in args.data:
            for shots in args.shots:
                fits(name, shots, args.methods)
        return
    encoder = EncoderOptions().load(2)
    print("| data | classes | documents a class | " + " | ".join(f"C = {C:g}" for C in PENALTIES) + " | by classes |")
    print("|---|--:|--:|" + "--:|" * (len(PENALTIES) + 1))
    for name in args.data:
        parts = split(FILES[name])
        X, Z = (np.asarray(encoder.encode([row["text"][:1500] for row in part])[0], np.float64) for part in parts)
        names, codes = np.unique([str(row["label"]) for part in parts for row in part], return_inverse=True)
        y, true, J = codes[: len(X)].astype(np.int32), codes[len(X) :], len(names)
        for shots in SHOTS[: 2 if J > 100 else 3]:
            accuracies = []
            for seed in range(2 if J > 50 else 3):
                rng = np.random.default_rng(seed)
                some = np.concatenate([rng.permutation(np.flatnonzero(y == j))[:shots] for j in range(J)])
                models = (fit_logistic(X[some], y[some], J, C=C) for C in (*PENALTIES, penalty_for(J)))
                accuracies.append([(model.decision(Z).argmax(axis=1) == true).mean() for model in models])
            cells = [f"{accuracy:.3f}" for accuracy in np.mean(accuracies, axis=0)]
            print(f"| {name} | {J} | {shots} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
