"""The penalty of a logistic regression on tf-idf of words by the number of training documents, and the rule that nlpkit takes.

Training documents are drawn at random, three samples of each number below 1,000, else one; 1,000 test documents. scikit-learn's
LogisticRegression, which that of nlpkit agrees with (tests/classify/models/test_logistic.py), on sublinear tf-idf; while there
are fewer than 64
documents a class, classes weigh alike, as `nlpkit classify` has it. Then the rules "C from so many documents a class on, else 1":
the best on all corpora but one by the sum of accuracy and macro-F1, and what it comes to on the one left out.

    python tests/benchmarks/bench_penalty.py
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from harness import lines
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from nlpkit.classify.kinds import FEW

FILES = {
    "20 Newsgroups": "20newsgroups.jsonl.gz",
    "AG News": "ag_news_train_sub.jsonl.gz",
    "banking77": "banking77.jsonl",
    "clinc150": "clinc150_small.jsonl",
    "GermEval": "germeval2018.jsonl",
    "IMDB": "imdb_5k.jsonl.gz",
    "IMDB, sentences": "imdb_100k.jsonl.gz",
    "rotten tomatoes": "rotten_tomatoes.jsonl",
    "snippets": "searchsnippets_tokenised.jsonl",
    "SST-2": "sst2.jsonl",
    "StackOverflow": "stackoverflow_tokenised.jsonl",
    "TREC": "trec.jsonl",
}
PENALTIES, USUAL, FROM = (1.0, 3.0, 5.0, 10.0, 30.0), 0, (0, 8, 16, 32, 64)
SIZES, TEST = (30, 100, 300, 1000, 3000, 10_000), 1000
Row = tuple[str, int, int, Any]  # corpus, documents, classes, and (penalties, 3): accuracy, macro-F1, log loss


def measured(name: str) -> list[Row]:
    """Return the means over the samples of each number of documents."""
    rows = [row for row in lines(FILES[name]) if row.get("label") not in (None, "oos")]
    random.Random(0).shuffle(rows)
    test, train = rows[:TEST], rows[TEST:]
    y, true = (np.array([str(row["label"]) for row in part]) for part in (train, test))
    n_classes = len(set(y.tolist()))
    found: list[Row] = []
    for size in SIZES:
        if not n_classes <= size <= len(y):
            continue
        samples = [one_sample(train, test, y, true, size, seed) for seed in range(3 if size < 1000 else 1)]
        found.append((name, size, n_classes, np.mean(samples, axis=0)))
    return found


def one_sample(train: Any, test: Any, y: Any, true: Any, size: int, seed: int) -> list[list[float]]:
    """Return accuracy, macro-F1 and log loss (of documents whose class was trained) of each penalty."""
    some = np.random.default_rng(seed).permutation(len(y))[:size]
    words = TfidfVectorizer(sublinear_tf=True)
    X, Z = words.fit_transform([train[i]["text"] for i in some]), words.transform([row["text"] for row in test])
    weights = "balanced" if size < FEW * len(set(y[some].tolist())) else None
    scores = []
    for C in PENALTIES:
        model = LogisticRegression(C=C, class_weight=weights, max_iter=200).fit(X, y[some])
        predicted, seen = model.predict(Z), np.isin(true, model.classes_)
        p = model.predict_proba(Z)[seen, np.searchsorted(model.classes_, true[seen])]
        loss = -np.log(np.maximum(p, 1e-12)).mean()
        scores.append([(predicted == true).mean(), f1_score(true, predicted, average="macro"), loss])
    return scores


def gain(rows: Sequence[Row], C: float, least: int) -> Any:
    """Return what a rule gains over C = 1 in accuracy, macro-F1 and log loss: means over numbers of documents, then over corpora."""
    at = PENALTIES.index(C)
    by_corpus: dict[str, list[Any]] = {}
    for name, size, n_classes, scores in rows:
        taken = at if size >= least * n_classes else USUAL
        by_corpus.setdefault(name, []).append(scores[taken] - scores[USUAL])
    return np.mean([np.mean(gains, axis=0) for gains in by_corpus.values()], axis=0)


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore")
    rows = []
    print("| data | documents | a class | " + " | ".join(f"C = {C:g}" for C in PENALTIES) + " |")
    print("|---|--:|--:|" + "--:|" * len(PENALTIES))
    for name in FILES:
        for row in measured(name):
            cells = [f"{accuracy:.3f}, {loss:.2f}" for accuracy, _, loss in row[3]]
            print(f"| {name} | {row[1]:,} | {row[1] / row[2]:.0f} | {' | '.join(cells)} |", flush=True)
            rows.append(row)
    rules = [(C, least) for C in PENALTIES for least in FROM]
    print("\n| left out | the best rule on the others | accuracy | macro-F1 | log loss |\n|---|---|--:|--:|--:|")
    for name in FILES:
        others, own = [r for r in rows if r[0] != name], [r for r in rows if r[0] == name]
        C, least = max(rules, key=lambda rule: gain(others, *rule)[:2].sum())
        shown = " | ".join(f"{value:+.3f}" for value in gain(own, C, least))
        print(f"| {name} | C = {C:g} from {least} documents a class on | {shown} |")


if __name__ == "__main__":
    main()
