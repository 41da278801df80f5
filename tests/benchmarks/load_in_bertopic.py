"""Load what `nlpkit export RUN --to bertopic` wrote with BERTopic itself, and use it: a check that needs no nlpkit.

    nlpkit export run/ --to bertopic -o bertopic-model
    python -c 'import numpy, polars; t = polars.read_parquet("run/model/training.parquet"); numpy.savez("training.npz",
        topic=t["topic"].to_numpy(), embedding=numpy.array(t["embedding"].to_list(), "float32"))'
    PEER_PYTHON tests/benchmarks/load_in_bertopic.py bertopic-model training.npz data/samples/news.jsonl

PEER_PYTHON has bertopic (0.17.4 was tried). It prints what BERTopic makes of the folder, and how many documents get the topic of the run.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # the encoder is not needed: embeddings are given


def main(folder: str, training: str, corpus: str) -> dict[str, Any]:
    """Return what BERTopic makes of an exported run."""
    import numpy as np
    from bertopic import BERTopic

    model = BERTopic.load(folder)
    texts = [json.loads(line)["text"] for line in Path(corpus).read_text(encoding="utf-8").splitlines()]
    known = np.load(training)
    predicted, _ = model.transform(["x"] * len(known["topic"]), embeddings=known["embedding"])
    distribution, _ = model.approximate_distribution(texts[:100])
    main_topic = np.array(model.topics_[:100])
    information = model.get_topic_info()
    tree = model.hierarchical_topics(texts)
    model.merge_topics(texts, [[0, 1]])
    return {
        "topics": information[["Topic", "Count", "Name", "CustomName"]].to_dict("records"),
        "documents_of_the_same_topic_by_transform": float((np.array(predicted) == known["topic"]).mean()),
        "of_100_by_approximate_distribution": float((distribution.argmax(axis=1) == main_topic).mean()),
        "merges_of_the_tree": len(tree),
        "topics_after_a_merge": len(model.get_topic_info()),
    }


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:4]), indent=1))
