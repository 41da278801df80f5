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
from collections.abc import Sequence
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
EXPERIMENTS: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "lda-priors": ("fit_lda", {
        "fixed": {"optimize_interval": 0},
        "alpha": {"optimize_interval": 10},
        "one alpha": {"optimize_interval": 10, "symmetric_alpha": True},
        "alpha, eta": {"optimize_interval": 10, "optimize_eta": True},
        "alpha; eta .01": {"optimize_interval": 10, "eta": 0.01},
    }),
    "lda-eta": ("fit_lda", {"1/K": {}, "0.01": {"eta": 0.01}, "0.05": {"eta": 0.05}, "0.1": {"eta": 0.1}}),
    "lda-sweeps": ("fit_lda", {str(n): {"sweeps": n} for n in (200, 500, 1000, 2000)}),
    "lda-estimate": ("fit_lda", {"last": {}, "mean": {"estimate": "mean"}}),
    "lda-online-steps": ("fit_lda_online", {
        "kappa 0.7, tau0 10": {}, "kappa 0.5": {"kappa": 0.5001}, "kappa 0.9": {"kappa": 0.9}, "tau0 1": {"tau0": 1},
        "tau0 64": {"tau0": 64},
    }),
    "nmf": ("fit_nmf", {
        "frobenius": {}, "frobenius, counts": {"weights": "counts"}, "kullback-leibler": {"loss": "kullback-leibler"},
        "kullback-leibler, tfidf": {"loss": "kullback-leibler", "weights": "tfidf"},
    }),
    "plsa": ("fit_plsa", {"plain": {}, "random start": {"start": "random"}, "tempered": {"tempered": True}}),
    "gsdmm": ("fit_gsdmm", {
        "alpha 0.1, eta 0.1": {}, "alpha 1": {"alpha": 1.0}, "eta 0.05": {"eta": 0.05}, "eta 0.2": {"eta": 0.2},
        "eta 0.01": {"eta": 0.01}, "eta 0.3": {"eta": 0.3}, "eta 0.5": {"eta": 0.5},
    }),
    "biterm": ("fit_biterm", {
        "window 15": {}, "window 5": {"window": 5}, "window 30": {"window": 30}, "eta 0.05": {"eta": 0.05},
        "alpha 1": {"alpha": 1.0},
    }),
    "bertopic-space": ("fit_bertopic", {
        "auto": {}, "embeddings": {"reduce": "none"},
        "5 neighbours": {"n_neighbors": 6}, "30 neighbours": {"n_neighbors": 31}, "umap": {"reduce": "umap"},
    }),
}  # fmt: skip
PREPROCESSING: dict[str, dict[str, Any]] = {  # the same fit_lda of documents that are cut in another way
    "default": {}, "stop words none": {"stop_words": "none"}, "min df 1": {"min_df": 1}, "min df 5": {"min_df": 5},
    "lemma dict": {"lemma": "dict"}, "stem auto": {"stem": "auto"}, "phrases npmi 0.5": {"phrases": "npmi:0.5"},
}  # fmt: skip
SCORES = ("perplexity", "npmi", "diversity", "exclusivity")
NO_PROBABILITY = ("fit_nmf", "fit_bertopic")  # of held-out words, so no perplexity


def measured(
    documents: pa.Table, fit: str, k: int, settings: dict[str, Any], n_seeds: int, names: Sequence[str]
) -> dict[str, float]:
    """Return the mean scores of fits with some seeds."""
    labels = np.array(documents["label"].to_pylist(), object)
    fold = np.random.default_rng(0).integers(0, 10, documents.num_rows)
    rows: list[dict[str, float]] = []
    topics = []
    for seed in range(n_seeds):
        kept = np.flatnonzero(fold != seed)
        model = getattr(nk, fit)(documents.take(kept), k=k, seed=seed, **settings)
        heldout = documents.take(np.flatnonzero(fold == seed)) if "perplexity" in names else None
        scores = nk.evaluate(model, list(names), heldout=heldout, ci=0)
        main = np.full(documents.num_rows, -1)
        main[kept] = model.documents["topic"].to_numpy()
        used = (main >= 0) & (labels != None)  # noqa: E711
        rows.append(
            {name: scores[name].value for name in names}
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
    parser.add_argument("experiment", choices=[*EXPERIMENTS, "preprocess"])
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--sweeps", type=int, help="of LDA, 1,000 where nothing is said")
    parser.add_argument("--most-topics", type=int, default=160, help="larger K are passed over")
    given = parser.parse_args()
    fit, values = EXPERIMENTS.get(given.experiment, ("fit_lda", PREPROCESSING))
    cuts = given.experiment == "preprocess"
    names = SCORES[1:] if cuts or fit in NO_PROBABILITY else SCORES  # perplexities of two vocabularies do not compare
    always = {} if given.sweeps is None else {"sweeps": given.sweeps}
    for name in given.corpora:
        corpus = nk.read_corpus(DATA / CORPORA[name], sample=given.documents)
        documents = nk.preprocess(corpus).table()
        if fit == "fit_bertopic":
            documents = nk.embed(documents).table()
        n_labels = len(set(documents["label"].to_pylist()) - {None})
        for k, (value, settings) in itertools.product((n_labels, 2 * n_labels), values.items()):
            if k > given.most_topics:
                continue
            if cuts:
                documents, settings = nk.preprocess(corpus, **settings).table(), {}
            row = measured(documents, fit, k, always | settings, given.seeds, names)
            row = {key: round(score, 4) for key, score in row.items()}
            print(json.dumps({"corpus": name, "k": k, "value": value, **row}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
