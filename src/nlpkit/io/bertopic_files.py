"""A run as the folder that BERTopic.load reads (BERTopic 0.17, serialization="safetensors"), written without BERTopic.

topics.json, config.json, topic_embeddings.safetensors; ctfidf.safetensors and ctfidf_config.json where the counts of all words are
known. No file is a pickle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.io.tensor_files import write_safetensors
from nlpkit.plain import to_json
from nlpkit.types import CsrMatrix, Float32Array, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class BertopicModel:
    """What a folder of BERTopic holds; topic -1 comes first in all that has a row for each topic, where documents are without one.

    topics (D,) of the documents, in their order; words: of each topic (-1 too) with weights; embeddings (K or K+1, E); labels (K,).
    counts: c-tf-idf (K or K+1, V) and the inverse class frequency (V,) of the terms, None where they are not known.
    """

    topics: IntArray
    words: Mapping[int, Sequence[tuple[str, float]]]
    embeddings: Float32Array
    labels: Sequence[str]
    encoder: str | None
    n_words: int
    terms: Sequence[str] = ()
    ctfidf: CsrMatrix | None = None
    icf: FloatArray | None = None


def write_bertopic(folder: Path, model: BertopicModel) -> None:
    """Write the files of a model into an empty folder."""
    has_none = bool((model.topics < 0).any())
    numbers = [-1] * has_none + list(range(len(model.labels)))
    sizes = {str(k): int((model.topics == k).sum()) for k in numbers}
    custom = ["(no topic)"] * has_none + list(model.labels)
    _write_json(
        folder / "topics.json",
        {
            "topic_representations": {str(k): [list(pair) for pair in model.words[k]] for k in numbers},
            "topics": model.topics.tolist(),
            "topic_sizes": sizes,
            "topic_mapper": [[k, k] for k in numbers],
            "topic_labels": {str(k): "_".join([str(k), *(word for word, _ in model.words[k][:4])]) for k in numbers},
            "custom_labels": custom,
            "_outliers": int(has_none),
            "topic_aspects": {},
        },
    )
    config: dict[str, Any] = {
        "calculate_probabilities": False, "language": None, "low_memory": False, "min_topic_size": 10, "n_gram_range": [1, 1],
        "nr_topics": None, "seed_topic_list": None, "top_n_words": model.n_words, "verbose": False,
        "zeroshot_min_similarity": 0.7, "zeroshot_topic_list": None,
    }  # fmt: skip
    if model.encoder is not None:
        config["embedding_model"] = model.encoder
    _write_json(folder / "config.json", config)
    embeddings = np.ascontiguousarray(model.embeddings, np.float32)
    write_safetensors(folder / "topic_embeddings.safetensors", {"topic_embeddings": embeddings})
    if model.ctfidf is None or model.icf is None:
        return
    write_safetensors(
        folder / "ctfidf.safetensors",
        {
            "indptr": np.asarray(model.ctfidf.indptr, np.int32),
            "indices": np.asarray(model.ctfidf.indices, np.int32),
            "data": np.asarray(model.ctfidf.data, np.float64),
            "shape": np.array(model.ctfidf.shape, np.int64),
            "diag": np.asarray(model.icf, np.float64),
        },
    )
    longest = max((term.count(" ") + 1 for term in model.terms), default=1)
    params = {
        "analyzer": "word", "binary": False, "decode_error": "strict", "encoding": "utf-8", "input": "content", "lowercase": True,
        "max_df": 1.0, "max_features": None, "min_df": 1, "ngram_range": [1, longest], "stop_words": None, "strip_accents": None,
        "token_pattern": r"(?u)\b\w\w+\b", "vocabulary": None,
    }  # fmt: skip
    _write_json(
        folder / "ctfidf_config.json",
        {
            "ctfidf_model": {"bm25_weighting": False, "reduce_frequent_words": False},
            "vectorizer_model": {"params": params, "vocab": {term: v for v, term in enumerate(model.terms)}},
        },
    )


def _write_json(path: Path, value: Any) -> None:
    path.write_text(to_json(value, indent=2) + "\n", encoding="utf-8", newline="\n")
