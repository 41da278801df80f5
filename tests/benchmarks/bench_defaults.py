"""Whether a default of a model is the best value: each value on every labelled corpus, seeds side by side.

    python tests/benchmarks/bench_defaults.py lda-priors                       # all corpora, three seeds
    python tests/benchmarks/bench_defaults.py lda-priors --corpora bills trec --seeds 2

A tenth of the documents, another one for each seed, is held out for the perplexity. AMI is the agreement of the main topics with the
labels, stability the agreement (AMI) of two seeds on the documents that both have. K: number of labels, and twice that.
Needs ../shared/data. The table is in docs/benchmarks/defaults.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from typing import Any

import numpy as np
import pyarrow as pa
from harness import DATA
from sklearn.metrics import adjusted_mutual_info_score

import nlpkit as nk

CORPORA = {
    "20newsgroups": "20newsgroups/20newsgroups.jsonl.gz",
    "ag_news": "ag_news/ag_news_test.jsonl",
    "banking77": "banking77/banking77.jsonl",
    "bills": "bills/bills_subset.jsonl",
    "uscongress": "uscongress/uscongress_bill_titles.jsonl",
    "nyt_headlines": "nyt_headlines/nyt_headlines_1996_2006.jsonl",
    "gnad10k": "gnad10k/gnad10k_test.jsonl",
    "poliblog": "poliblog5k/poliblog5k_stemmed_bow.jsonl.gz",
    "searchsnippets": "short_texts_sttm/searchsnippets_tokenised.jsonl",
    "thucnews": "thucnews_titles/thucnews_titles_20k.jsonl",
    "trec": "trec/trec.jsonl",
}
EXPERIMENTS: dict[str, dict[str, dict[str, Any]]] = {
    "lda-priors": {
        "fixed": {"optimize_interval": 0},
        "alpha": {"optimize_interval": 10},
        "one alpha": {"optimize_interval": 10, "symmetric_alpha": True},
        "alpha, eta": {"optimize_interval": 10, "optimize_eta": True},
        "alpha; eta .01": {"optimize_interval": 10, "eta": 0.01},
    },
}
SCORES = ("perplexity", "npmi", "diversity", "exclusivity")


def measured(documents: pa.Table, k: int, settings: dict[str, Any], n_seeds: int, sweeps: int) -> dict[str, float]:
    """Return the mean scores of fits with some seeds."""
    labels = np.array(documents["label"].to_pylist(), object)
    fold = np.random.default_rng(0).integers(0, 10, documents.num_rows)
    rows: list[dict[str, float]] = []
    topics = []
    for seed in range(n_seeds):
        kept = np.flatnonzero(fold != seed)
        model = nk.fit_lda(documents.take(kept), k=k, sweeps=sweeps, seed=seed, **settings)
        scores = nk.evaluate(model, list(SCORES), heldout=documents.take(np.flatnonzero(fold == seed)), ci=0)
        main = np.full(documents.num_rows, -1)
        main[kept] = model.documents["topic"].to_numpy()
        used = (main >= 0) & (labels != None)  # noqa: E711
        rows.append(
            {name: scores[name].value for name in SCORES}
            | {"ami": adjusted_mutual_info_score(labels[used].astype(str), main[used])}
        )
        topics.append(main)
    pairs = [
        adjusted_mutual_info_score(a[(a >= 0) & (b >= 0)], b[(a >= 0) & (b >= 0)])
        for a, b in itertools.combinations(topics, 2)
    ]
    mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    return mean | {"stability": float(np.mean(pairs)) if pairs else float("nan")}


def main() -> None:
    """Print a line of JSON for each corpus, number of topics and value."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--sweeps", type=int, default=1000)
    given = parser.parse_args()
    for name in given.corpora:
        documents = nk.preprocess(nk.read_corpus(DATA / CORPORA[name], sample=given.documents)).table()
        n_labels = len(set(documents["label"].to_pylist()) - {None})
        for k, (value, settings) in itertools.product((n_labels, 2 * n_labels), EXPERIMENTS[given.experiment].items()):
            row = measured(documents, k, settings, given.seeds, given.sweeps)
            row = {key: round(score, 4) for key, score in row.items()}
            print(json.dumps({"corpus": name, "k": k, "value": value, **row}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
