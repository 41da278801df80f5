"""Static encoders beside the encoder they are tuned to, and beside plain distillation.

    python tests/benchmarks/bench_static.py constants FILE…    # held-out cosine by `a` and λ, each file left out of the choice
    python tests/benchmarks/bench_static.py topics FILE…       # AMI of bertopic's topics with labels, and with the encoder's topics
    python tests/benchmarks/bench_static.py speed FILE…        # documents per CPU second, tokenising and all

FILE: JSONL with text and label, such as ../shared/data/ag_news/ag_news_test.jsonl. Needs the extras neural and minilm.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.metrics import adjusted_mutual_info_score as ami

import nlpkit as nk
from nlpkit.embed.encoder import Encoder, unit_length
from nlpkit.embed.loading import load_encoder

static = importlib.import_module("nlpkit.embed.static")
LARGEST, TRAIN, HELD_OUT = 6000, 4000, 2000
SHARES, RIDGES = (3e-3, 1e-2, 3e-2), (0.03, 0.1, 0.3)


def corpus(path: str) -> tuple[list[str], list[str]]:
    """Return different texts of a file, in the order of their hashes, and their labels."""
    table = nk.read_corpus(path).table()
    labels = dict(zip(table["text"].to_pylist(), table["label"].to_pylist(), strict=True))
    sample = static.TextSample(LARGEST, 0)
    sample.add([text for text in labels if text])
    texts = sample.texts()
    return texts, [str(labels[text]) for text in texts]


def constants(paths: list[str], encoder: Encoder) -> None:
    """Print the held-out cosine for each pair of constants, and that of the pair that is best on the other files."""
    tokenizer = static.static_tokenizer(encoder)
    words = [static._text_of(tokenizer, i) for i in range(tokenizer.get_vocab_size())]
    start = encoder.encode(words)[0]
    cosines: dict[str, dict[tuple[float, float], float]] = {}
    for path in paths:
        texts, _ = corpus(path)
        held = min(HELD_OUT, len(texts) // 3)
        counts, y = static.token_counts(tokenizer, texts), encoder.encode(texts)[0]
        cosines[path] = {}
        for static.SIF in SHARES:
            for static.RIDGE in RIDGES:
                rows = slice(held, held + TRAIN)
                vectors = static.fit_tokens(counts[rows], start, y[rows], threads=2)
                found = unit_length(static.mean_vectors(counts[:held], vectors))
                cosines[path][static.SIF, static.RIDGE] = float((found * y[:held]).sum(axis=1).mean())
        print(Path(path).name, {pair: round(value, 4) for pair, value in cosines[path].items()}, flush=True)
    for path in paths:
        others = [cosines[other] for other in paths if other != path]
        pair = max(cosines[path], key=lambda p: sum(values[p] for values in others))
        print(
            f"{Path(path).name}: {pair} by the others, {cosines[path][pair]:.4f}; best {max(cosines[path].values()):.4f}"
        )


def topics(paths: list[str], encoder: Encoder) -> None:
    """Print AMI of 20 topics with the labels and with the topics from the encoder's own vectors."""
    for path in paths:
        texts, labels = corpus(path)
        model = static.tune_static(encoder, texts, threads=2)
        words = [static._text_of(model.tokenizer, i) for i in range(len(model.vectors))]
        plain = static.plain_vectors(encoder.encode(words)[0])
        counts = static.token_counts(model.tokenizer, texts)
        real = encoder.encode(texts)[0]
        print(Path(path).name, model.scores, model.plain)
        kinds = {"encoder": real, "static": model.encoder(threads=2).encode(texts)[0]}
        kinds |= {"plain": unit_length(static.mean_vectors(counts, plain)), "encoder, another seed": real}
        reference: Any = None
        for kind, vectors in kinds.items():
            column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
            table = pa.table({"id": [str(i) for i in range(len(texts))], "text": texts, "embedding": column})
            fitted = nk.fit_bertopic(table, k=20, seed=7 if "seed" in kind else 42)
            nearest = fitted.tables()["documents"]["nearest_topic"].to_numpy()
            reference = nearest if reference is None else reference
            print(
                f"  {kind}: labels {ami(labels, nearest):.3f}, encoder's topics {ami(reference, nearest):.3f}",
                flush=True,
            )


def speed(paths: list[str], encoder: Encoder) -> None:
    """Print documents per CPU second with random vectors: texts new to the encoder, the same again, and sentence-transformers."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    tokenizer = static.static_tokenizer(encoder)
    vectors = np.random.default_rng(0).normal(size=(tokenizer.get_vocab_size(), encoder.dim)).astype(np.float32)
    scores = [static.StaticScores(0, 0, 0, 0, 0)] * 2
    model = static.StaticModel(tokenizer, vectors, {"encoder": "random"}, 0, *scores)
    peer = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=vectors)], device="cpu")

    def per_second(embed: Callable[[list[str]], Any], texts: list[str]) -> float:
        start = time.process_time()
        embed(texts)
        return len(texts) / (time.process_time() - start)

    for path in paths:
        texts = [text for text in nk.read_corpus(path).table()["text"].to_pylist() if text]
        fast = model.encoder(threads=1)
        tokens = fast.encode(texts[:100])[1].tokens / 100
        new, again = per_second(fast.encode, texts), per_second(fast.encode, texts)
        other = per_second(lambda texts: peer.encode(texts, batch_size=512, show_progress_bar=False), texts)
        print(
            f"{Path(path).name}: {len(texts):,} texts, {tokens:.0f} tokens each, documents per CPU second: {new:,.0f} new, {again:,.0f} "
            f"again, {other:,.0f} by sentence-transformers",
            flush=True,
        )


if __name__ == "__main__":
    {"constants": constants, "topics": topics, "speed": speed}[sys.argv[1]](
        sys.argv[2:], load_encoder(threads=2, long="truncate")
    )
