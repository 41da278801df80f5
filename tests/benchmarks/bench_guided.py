"""What prior knowledge adds to nlpkit bertopic on labelled corpora: --semi-supervised and --topics-from.

    python tests/benchmarks/bench_guided.py                                    # all corpora, one seed
    python tests/benchmarks/bench_guided.py --corpora trec --seeds 3

Labels: AMI with them, of the documents whose label the fit did not see, for K = number of classes and for `auto`. Names: those of all
classes, every document under the nearest; then those of half of the classes, the others to be found. Needs ../shared/data.
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

from nlpkit.platform.options import Execution
from nlpkit.topics.base.options import BertopicOptions
from nlpkit.topics.bertopic.fit import fit_topics
from nlpkit.topics.bertopic.guidance import REFERENCE
from nlpkit.topics.bertopic.guided import NAME_SIMILARITY, PredefinedTopics, directions_of_names, with_classes
from nlpkit.zero_shot.model import prompts_of

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


def by_names(name: str, seed: int) -> None:
    """Print how well topics given by the names of the classes, of all and of half of them, agree with the classes."""
    from nlpkit.embed.loading import load_encoder

    folder = prepare(name)
    embeddings, tokens, usable = load(folder)
    labels, classes = json.loads((folder / "labels.json").read_text()), codes(folder)
    names = sorted({str(x) for x in labels if x is not None})
    encoder = load_encoder()
    half = np.sort(np.random.default_rng(seed).permutation(len(names))[: len(names) // 2])
    line = f"{name:14} names"
    for chosen, k in ((np.arange(len(names)), len(names)), (half, "auto")):
        texts, _ = prompts_of({names[j]: [] for j in chosen})
        vectors, _ = encoder.encode([*texts, REFERENCE])
        directions = directions_of_names(vectors[:-1], vectors[-1:])
        predefined = PredefinedTopics(
            tuple(names[j] for j in chosen), lambda X, counts, d=directions: d, NAME_SIMILARITY
        )
        model = fit_topics(embeddings, tokens, usable, BertopicOptions(k=k), predefined=predefined)
        inside, meant = (model.topics >= 0) & (model.topics < len(chosen)), np.isin(classes, chosen)
        right = inside & (chosen[np.clip(model.topics, 0, len(chosen) - 1)] == classes)
        known = classes >= 0
        line += (
            f"   {len(chosen)} of {len(names)}: K {model.n_topics}, precision {right.sum() / inside.sum():.3f}, "
            f"recall {right.sum() / meant.sum():.3f}, AMI {adjusted_mutual_info_score(classes[known], model.topics[known]):.3f}"
        )
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpora", nargs="*", default=list(CORPORA))
    parser.add_argument("--questions", nargs="*", default=["labels", "names"])
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    if not DATA.exists():
        raise SystemExit(f"this benchmark needs the corpora in {DATA} (embeddings are kept in {CACHE})")
    for name in arguments.corpora:
        for seed in range(42, 42 + arguments.seeds):
            for question in arguments.questions:
                {"labels": semi_supervised, "names": by_names}[question](name, seed)


if __name__ == "__main__":
    main()
