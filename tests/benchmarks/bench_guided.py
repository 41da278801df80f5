"""What prior knowledge adds to nlpkit bertopic on labelled corpora: --semi-supervised.

    python tests/benchmarks/bench_guided.py                                    # all corpora, one seed
    python tests/benchmarks/bench_guided.py --corpora trec --seeds 3

AMI with the labels, of the documents whose label the fit did not see, for K = number of classes and for `auto`. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from bench_bertopic import load, prepare
from bench_topic_number import CACHE, DATA
from sklearn.metrics import adjusted_mutual_info_score

from nlpkit.parameters import Execution
from nlpkit.topics.bertopic import fit_topics
from nlpkit.topics.guided import with_classes
from nlpkit.topics.options import BertopicOptions

CORPORA = ("news", "trec", "bills", "ag_news_test", "clinc150", "banking77")


def codes(folder: Path) -> Any:
    """Return the class of each document (D,), -1 for none."""
    labels = json.loads((folder / "labels.json").read_text())
    names = sorted({str(x) for x in labels if x is not None})
    return np.array([-1 if x is None else names.index(str(x)) for x in labels], np.int32)


def semi_supervised(name: str, seed: int) -> None:
    """Print the AMI of unlabelled documents without labels, and with those of 5 % and of 20 %."""
    folder = prepare(name)
    embeddings, tokens, usable = load(folder)
    classes = codes(folder)
    draw = np.random.default_rng(seed).random(len(classes))
    for share in (0.0, 0.05, 0.2):
        labels = np.where((draw < share) & usable, classes, -1).astype(np.int32)
        labels[labels >= 0] = np.unique(labels[labels >= 0], return_inverse=True)[1]
        rows = with_classes(embeddings, labels, threads=2) if share else None
        test = (draw >= 0.2) & (classes >= 0)
        line = f"{name:14} {share:4.0%} labels"
        for k in (int(classes.max()) + 1, "auto"):
            model = fit_topics(
                embeddings, tokens, usable, BertopicOptions(k=k), rows=rows, execution=Execution(seed=seed)
            )
            ami = adjusted_mutual_info_score(classes[test], model.topics[test])
            line += f"   K {model.n_topics:4} AMI {ami:.3f}"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpora", nargs="*", default=list(CORPORA))
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    if not DATA.exists():
        raise SystemExit(f"this benchmark needs the corpora in {DATA} (embeddings are kept in {CACHE})")
    for name in arguments.corpora:
        for seed in range(42, 42 + arguments.seeds):
            semi_supervised(name, seed)


if __name__ == "__main__":
    main()
