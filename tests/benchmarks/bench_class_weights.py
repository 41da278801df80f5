"""Logistic regression with and without classes that weigh alike, on MiniLM's embeddings as they are (setfit) or tf-idf of words (classify).

Training documents are drawn at random, so that classes are of unequal size, ten samples of each number; 500 test documents (or all).
Mean accuracy and macro-F1 of scikit-learn's LogisticRegression, which those of nlpkit agree with (tests/finetune/setfit/test_setfit.py,
tests/classify/models/test_logistic.py).

    python tests/benchmarks/bench_class_weights.py
    python tests/benchmarks/bench_class_weights.py --words
"""

from __future__ import annotations

import random
import sys

import numpy as np
from bench_finetune import SOURCES
from harness import train_and_test
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from nlpkit.embed.options import EncoderOptions

SIZES, SAMPLES, TEST, POOL = (10, 30, 100, 300), 10, 500, 5000
FILES = {**SOURCES, "germeval2018": ("germeval2018.jsonl", None)}


def main() -> None:
    """Print a row for each corpus and number of documents."""
    encoder = None if "--words" in sys.argv else EncoderOptions().load(1)
    print(
        "| data | documents | accuracy: all documents alike | classes alike | macro-F1: all documents alike | classes alike |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    for name, files in FILES.items():
        train, test = train_and_test(*files)
        train = random.Random(0).sample(train, min(POOL, len(train)))
        test = random.Random(0).sample(test, min(TEST, len(test)))
        texts, tested = ([r["text"] for r in part] for part in (train, test))
        y, true = (np.array([str(r["label"]) for r in part]) for part in (train, test))
        vectors = None if encoder is None else [encoder.encode(part)[0] for part in (texts, tested)]
        for size in SIZES:
            if size < len(set(y.tolist())):
                continue
            scores = []
            for seed in range(SAMPLES):
                some = np.random.default_rng(seed).permutation(len(y))[:size]
                if vectors is not None:
                    X, Z = vectors[0][some], vectors[1]
                else:
                    words = TfidfVectorizer(sublinear_tf=True)
                    X = words.fit_transform([texts[i] for i in some])
                    Z = words.transform(tested)
                heads = [LogisticRegression(class_weight=w, max_iter=300).fit(X, y[some]) for w in (None, "balanced")]
                found = [head.predict(Z) for head in heads]
                scores.append([(p == true).mean() for p in found] + [f1_score(true, p, average="macro") for p in found])
            print(f"| {name} | {size} | " + " | ".join(f"{v:.3f}" for v in np.mean(scores, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    main()
