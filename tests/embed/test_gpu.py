"""Embeddings on a GPU, where there is one: make test-gpu."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
import torch

from nlpkit.embed.encoder import Encoder
from nlpkit.embed.encoders import EmbedTotals, encode_ahead
from nlpkit.embed.engines import DirectEngine
from nlpkit.embed.loading import load_encoder

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def on_gpu(folder: Path, precision: str, batch_tokens: int = 50) -> Encoder:
    encoder = load_encoder(str(folder), device="cuda", precision=precision, batch_tokens=batch_tokens)
    assert isinstance(encoder._engine, DirectEngine)
    assert (encoder._engine.model.packed is None) == (precision == "fp32") == encoder._engine.pads
    return encoder


@pytest.mark.parametrize(("precision", "close"), [("fp32", 0.99999), ("fp16", 0.9999), ("bf16", 0.999)])
def test_vectors_are_those_of_the_cpu(tiny: Path, sentences: list[str], precision: str, close: float) -> None:
    exact, _ = load_encoder(str(tiny), device="cpu", precision="fp32").encode(sentences)
    encoder = on_gpu(tiny, precision)
    vectors, _ = encoder.encode(sentences)
    assert (vectors * exact).sum(axis=1).min() > close
    np.testing.assert_array_equal(encoder.encode(sentences)[0], vectors)


def test_several_calls_at_a_time_give_the_same_bytes_in_order(tiny: Path, sentences: list[str]) -> None:
    encoder, totals = on_gpu(tiny, "bf16"), EmbedTotals()
    assert encoder.at_once > 1
    parts = [(i, [f"{sentences[i % len(sentences)]} {j}" for j in range(i % 7)], None) for i in range(40)]
    for (i, texts, _), (key, vectors) in zip(parts, encode_ahead(iter(parts), encoder, totals), strict=True):
        assert key == i
        np.testing.assert_array_equal(vectors, encoder.encode(texts)[0])
    assert totals.docs == sum(len(texts) for _, texts, _ in parts)


def test_a_batch_that_has_no_room_is_halved(tiny: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = [f"the cat {i} sat" for i in range(200_000)]
    encoder = on_gpu(tiny, "bf16", batch_tokens=2_000_000)
    vectors, _ = encoder.encode(texts)
    torch.cuda.empty_cache()
    whole = torch.cuda.get_device_properties(0).total_memory
    try:
        torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 32 * 2**20) / whole)
        with caplog.at_level(logging.WARNING):
            halved, _ = encoder.encode(texts)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert "halving it" in caplog.text
    assert (vectors * halved).sum(axis=1).min() > 0.999
