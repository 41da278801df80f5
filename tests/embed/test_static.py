"""Static encoders: the fit against its formula, the sample, the engine, and the folder that sentence-transformers loads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from nlpkit.embed.loading import load_encoder
from nlpkit.embed.options import EncoderOptions
from nlpkit.embed.static import (
    RIDGE,
    RIDGE_MAP,
    SIF,
    StaticModel,
    TextSample,
    compare,
    fit_tokens,
    mean_vectors,
    plain_vectors,
    tune_static,
)
from nlpkit.embed.static_engine import StaticEngine, static_folder
from nlpkit.errors import InputError, MissingError, UsageError

WORDS = ["cat", "dog", "bird", "sat", "ran", "on", "the", "mat", "house", "and", "or", "was", "very", "old", "new"]


def texts(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(3, 12))) + "." for _ in range(n)]


@pytest.fixture
def tuned(make_model: Callable[..., Path]) -> StaticModel:
    return tune_static(load_encoder(str(make_model()), threads=1, precision="fp32"), texts(300))


def write(model: StaticModel, folder: Path) -> Path:
    folder.mkdir()
    for name, content in model.files().items():
        (folder / name).write_bytes(content)
    return folder


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_fit_is_the_minimum_of_its_formula() -> None:
    rng = np.random.default_rng(1)
    n = rng.poisson(0.4, (60, 30)).astype(np.float64)
    n[:, 29] = 0  # a token that no text has
    n[np.arange(60), rng.integers(0, 29, 60)] += 1
    start, y = unit(rng.normal(size=(30, 5))), unit(rng.normal(size=(60, 5)))
    w = SIF / (SIF + n.sum(0) / n.sum())
    f = n * w / (n * w).sum(1, keepdims=True)
    x = np.column_stack([f @ start, np.ones(60)])
    gram = x.T @ x
    a = np.linalg.solve(gram + RIDGE_MAP * np.trace(gram) / len(gram) * np.eye(6), x.T @ y)
    delta = np.linalg.solve(f.T @ f + RIDGE * np.eye(30), f.T @ (y - x @ a))
    expected = w[:, None] * (np.column_stack([start, np.ones(30)]) @ a + delta)
    found = fit_tokens(sp.csr_matrix(n), start.astype(np.float32), y.astype(np.float32))
    np.testing.assert_allclose(found, expected, atol=2e-3)
    np.testing.assert_allclose(delta[29], 0, atol=1e-12)


def test_fit_has_the_same_bytes_on_any_number_of_threads() -> None:
    rng = np.random.default_rng(2)
    counts = sp.random(200, 90, 0.1, "csr", np.float32, random_state=rng)
    counts.data[:] = 1
    counts = counts[np.diff(counts.indptr) > 0]
    start = unit(rng.normal(size=(90, 150))).astype(np.float32)
    y = unit(rng.normal(size=(counts.shape[0], 150))).astype(np.float32)
    one, three = (fit_tokens(counts, start, y, threads=threads) for threads in (1, 3))
    assert one.tobytes() == three.tobytes()


def test_vectors_that_are_means_of_token_vectors_come_back() -> None:
    rng = np.random.default_rng(3)
    truth = rng.normal(size=(40, 8)).astype(np.float32)
    counts = sp.csr_matrix(rng.poisson(0.3, (900, 40)) + np.eye(900, 40), dtype=np.float32)
    y = unit(mean_vectors(counts, truth)).astype(np.float32)
    start = unit(rng.normal(size=(40, 8))).astype(np.float32)
    fitted = unit(mean_vectors(counts[:300], fit_tokens(counts[300:], start, y[300:])))
    plain = unit(mean_vectors(counts[:300], plain_vectors(start)))
    assert (fitted * y[:300]).sum(1).mean() > 0.95 > 0.5 > (plain * y[:300]).sum(1).mean()


def test_sample_depends_on_the_texts_alone() -> None:
    corpus = texts(500) + ["a" * 900 + str(i) for i in range(50)] + ["  ", ""]
    chosen = []
    for order in (corpus, corpus[::-1] * 2):
        sample = TextSample(100, 7)
        for i in range(0, len(order), 37):
            sample.add(order[i : i + 37])
        chosen.append(sample.texts())
    assert chosen[0] == chosen[1]
    assert len(chosen[0]) == len(set(chosen[0])) == 100
    share = 50 / len(set(corpus) - {"  ", ""})
    assert abs(sum(len(text) > 900 for text in chosen[0]) - 100 * share) < 1
    other = TextSample(100, 8)
    other.add(corpus)
    assert other.texts() != chosen[0]
    small = TextSample(100, 7)
    small.add(corpus[:20])
    assert sorted(small.texts()) == sorted(set(corpus[:20]))


def test_tuned_vectors_are_nearer_than_plain_ones(tuned: StaticModel) -> None:
    assert tuned.texts == 270
    assert tuned.scores.texts == 30
    assert tuned.scores.cosine > tuned.plain.cosine
    assert set(tuned.facts()) == {"teacher", "texts", "cosine", "agreement", "ceiling", "held_out", "clusters"}


def test_sentence_transformers_gives_the_same_vectors(tuned: StaticModel, tmp_path: Path) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    folder = write(tuned, tmp_path / "static")
    encoder = load_encoder(str(folder), threads=2)
    assert encoder.engine == "static"
    new = ["the cat sat", "Bird, bird; DOG!", "qqq 漢字", "house", *texts(60, 9)]
    theirs = sentence_transformers.SentenceTransformer(str(folder), device="cpu").encode(new)
    ours, report = encoder.encode(new)
    np.testing.assert_allclose(ours, theirs, atol=2e-6)
    assert report.docs_cut == 0
    kept = tuned.encoder(threads=1).encode(new)[0]
    assert kept.tobytes() == ours.tobytes()
    assert tuned.encoder(threads=1).fingerprint == encoder.fingerprint


def test_vector_of_a_text_depends_on_nothing_but_the_text(tuned: StaticModel) -> None:
    many = texts(3000, 4)
    whole = tuned.encoder(threads=3).encode(many)[0]
    alone = tuned.encoder(threads=1)
    assert whole.tobytes() == alone.encode(many)[0].tobytes()
    assert whole[5].tobytes() == alone.encode([many[5]])[0][0].tobytes()


def test_text_without_tokens_has_the_vector_0(tuned: StaticModel) -> None:
    vectors, report = tuned.encoder(threads=1).encode(["", " \t", "漢", "a cat"])
    assert not vectors[:2].any()
    np.testing.assert_allclose(np.linalg.norm(vectors[2:], axis=1), 1, atol=1e-6)
    assert report.tokens == 3


def test_texts_are_cut_where_asked(tuned: StaticModel) -> None:
    encoder = tuned.encoder(threads=1, max_tokens=2)
    vectors, report = encoder.encode(["the cat sat on the mat", "the cat"])
    assert vectors[0].tobytes() == vectors[1].tobytes()
    assert (report.tokens_cut, report.docs_cut) == (4, 1)


def test_model2vec_folder_is_read(tuned: StaticModel, tmp_path: Path) -> None:
    from safetensors.numpy import save

    files = dict(tuned.files())
    mapping = np.arange(len(tuned.vectors), dtype=np.int64)[::-1].copy()
    weights = np.linspace(0.5, 1.5, len(tuned.vectors)).astype(np.float32)
    shared = {"embeddings": (tuned.vectors[::-1] / weights[mapping, None]).astype(np.float32).copy()}
    files["model.safetensors"] = save({**shared, "mapping": mapping, "weights": weights})
    expected = StaticEngine.from_files(tuned.files()).vectors
    np.testing.assert_allclose(StaticEngine.from_files(files).vectors, expected, rtol=1e-5)


@pytest.mark.parametrize("few", [[], ["a"] * 500, list("abcdefghij"), texts(99)])
def test_too_few_texts_are_refused(make_model: Callable[..., Path], few: list[str]) -> None:
    teacher = load_encoder(str(make_model()), threads=1)
    with pytest.raises(InputError, match="at least 100 different texts with words, found"):
        tune_static(teacher, few)


def test_damaged_folders_are_told(tuned: StaticModel, tmp_path: Path) -> None:
    folder = write(tuned, tmp_path / "static")
    assert static_folder(folder) == folder
    (folder / "model.safetensors").write_bytes(b"nonsense")
    with pytest.raises(MissingError, match="cannot be read"):
        load_encoder(str(folder))
    short = dict(tuned.files())
    from safetensors.numpy import save

    short["model.safetensors"] = save({"embedding.weight": tuned.vectors[:5].copy()})
    with pytest.raises(ValueError, match="vectors of numbers were needed"):
        StaticEngine.from_files(short)
    (folder / "modules.json").write_text(json.dumps([{"type": "x.Transformer", "path": ""}]))
    assert static_folder(folder) is None


def test_engine_static_needs_a_static_encoder(make_model: Callable[..., Path]) -> None:
    with pytest.raises(UsageError, match="is not a static encoder"):
        load_encoder(str(make_model()), engine="static")


def test_static_encoder_has_no_other_engine(tuned: StaticModel, tmp_path: Path) -> None:
    folder = write(tuned, tmp_path / "static")
    with pytest.raises(UsageError, match="is a static encoder and has no other engine"):
        load_encoder(str(folder), engine="torch")
    assert load_encoder(str(folder), engine="static").engine == "static"


def test_sample_is_read_from_the_engine() -> None:
    assert EncoderOptions().static_sample() is None
    assert EncoderOptions(engine="static").static_sample() == 10_000
    assert EncoderOptions(engine="static(sample=500)").static_sample() == 500
    with pytest.raises(UsageError, match="at least 100"):
        EncoderOptions(engine="static(sample=5)").static_sample()
    with pytest.raises(UsageError, match="'samples=5' is not an option of static"):
        EncoderOptions(engine="static(samples=5)").static_sample()


def test_clusters_that_disagree_are_weak() -> None:
    rng = np.random.default_rng(5)
    centres = np.repeat(rng.normal(size=(20, 16)), 30, axis=0)
    real = unit(centres + 0.1 * rng.normal(size=centres.shape)).astype(np.float32)
    noise = unit(rng.normal(size=real.shape)).astype(np.float32)
    assert compare(noise, real, seed=0).weak
    same = compare(real, real, seed=0)
    assert not same.weak
    assert same.cosine == pytest.approx(1)
    assert same.agreement == pytest.approx(1)
