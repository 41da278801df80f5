"""The trainable sentence-transformers model: the same vectors as the library's, gradients where they belong, a folder that loads."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from nlpkit.errors import MissingError, UsageError
from nlpkit.finetune.setfit.embedder import Embedder, embed_all, load_embedder
from nlpkit.finetune.training.engine import Engine
from tests.encoder_models import write_model
from tests.refusals import refuses

CPU = torch.device("cpu")
TEXTS = ["the cat sat on the mat .", "", "a very old dog ran", "and " * 40, "bird"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("embedder") / "tiny")


@pytest.fixture
def embedder(folder: Path) -> Embedder:
    return load_embedder(folder, max_tokens=None, device=CPU)


def test_vectors_are_those_of_the_library(embedder: Embedder) -> None:
    texts = embedder.read(TEXTS)
    assert texts.lengths.tolist() == [9, 2, 7, 12, 3]
    assert texts.cut.tolist() == [0, 0, 0, 30, 0]
    with torch.no_grad():
        found = texts.encode(np.array([3, 1, 0, 2, 4])).numpy()
    expected = embedder.model.encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(found, expected[[3, 1, 0, 2, 4]], atol=1e-6)


def test_a_model_that_nobody_needs_any_more_is_gone_at_once(folder: Path) -> None:
    """Else the trainings of a table keep their weights until Python looks for cycles, 90 MB each with MiniLM."""
    embedder = load_embedder(folder, max_tokens=None, device=CPU)
    left = weakref.ref(embedder.model)
    gc.disable()
    try:
        del embedder
        assert left() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("mode", ["cls", "max", "weightedmean"])
def test_pooling_is_that_of_the_folder(tmp_path: Path, mode: str) -> None:
    path = write_model(tmp_path / "m", pooling={"embedding_dimension": 32, "pooling_mode": mode})
    embedder = load_embedder(path, max_tokens=None, device=CPU)
    with torch.no_grad():
        found = embedder.read(TEXTS).encode(np.arange(len(TEXTS))).numpy()
    np.testing.assert_allclose(found, embedder.model.encode(TEXTS, show_progress_bar=False), atol=1e-6)


def test_a_plain_transformers_folder_gets_mean_pooling(tmp_path: Path) -> None:
    path = write_model(tmp_path / "plain")
    (path / "modules.json").unlink()
    embedder = load_embedder(path, max_tokens=8, device=CPU)
    assert [type(m).__name__ for m in embedder.model] == ["Transformer", "Pooling"]
    texts = embedder.read(TEXTS)
    assert texts.lengths.max() == 8
    with torch.no_grad():
        found = texts.encode(np.arange(2)).numpy()
    np.testing.assert_allclose(found, embedder.model.encode(TEXTS[:2], show_progress_bar=False), atol=1e-6)


def test_every_parameter_that_is_trained_has_a_gradient_and_the_pooler_is_left_out(embedder: Embedder) -> None:
    own = embedder.parameters()
    names = {name for name, _ in embedder.model.named_parameters()}
    assert names - set(own) == {n for n in names if "pooler" in n} != set()
    embedder.train(True)
    vectors = embedder.read(TEXTS).encode(np.arange(5))
    gradients = torch.autograd.grad(
        (vectors * torch.randn(vectors.shape, generator=torch.Generator().manual_seed(0))).sum(), list(own.values())
    )
    zero = {n for n, g in zip(own, gradients, strict=True) if not (g.to_dense() != 0).any()}
    assert {n for n in zero if not n.endswith("self.key.bias")} == set()  # softmax takes keys' biases out


def test_word_gradients_are_sparse_and_right(embedder: Embedder) -> None:
    name = next(n for n in embedder.parameters() if "word_embeddings" in n)
    words = embedder.parameters()[name]
    loss = embedder.read(TEXTS).encode(np.arange(5))[:, 0].sum()
    (sparse,) = torch.autograd.grad(loss, [words])
    assert sparse.is_sparse
    embedder.model[0].model.get_input_embeddings().sparse = False
    (dense,) = torch.autograd.grad(embedder.read(TEXTS).encode(np.arange(5))[:, 0].sum(), [words])
    torch.testing.assert_close(sparse.to_dense(), dense)


def test_threads_get_the_same_vectors(embedder: Embedder) -> None:
    texts = embedder.read([" ".join(TEXTS[:i]) for i in range(20)])
    with torch.no_grad():
        alone = [texts.encode(np.array([i])) for i in range(20)]
        with ThreadPoolExecutor(4) as pool:
            beside = list(pool.map(lambda i: texts.encode(np.array([i])).detach(), range(20)))
    assert all(torch.equal(a, b) for a, b in zip(alone, beside, strict=True))


def test_what_is_saved_loads_here_and_in_the_library(embedder: Embedder, tmp_path: Path) -> None:
    with torch.no_grad():
        embedder.parameters()["0.model.encoder.layer.1.output.dense.bias"] += 1.0
    with Engine(CPU, "fp32", threads=2) as engine:
        before = embed_all(embedder, embedder.read(TEXTS), engine)
    embedder.save(tmp_path / "saved")
    assert not list((tmp_path / "saved").rglob("*.bin"))
    assert not (tmp_path / "saved" / "README.md").exists()
    from nlpkit.embed.loading import load_encoder

    again = load_embedder(tmp_path / "saved", max_tokens=None, device=CPU)
    assert again.max_tokens == 12
    np.testing.assert_allclose(again.model.encode(TEXTS, show_progress_bar=False), before, atol=1e-6)
    ours, _ = load_encoder(str(tmp_path / "saved"), device="cpu", precision="fp32").encode(TEXTS)
    np.testing.assert_allclose(ours, before, atol=1e-5)


def test_a_bare_transformer_is_loaded_the_same_way_twice(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    path = write_model(tmp_path / "m")
    weights = {n: w for n, w in load_file(path / "model.safetensors").items() if "pooler" not in n}
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})
    state = torch.get_rng_state()
    first, second = (load_embedder(path, max_tokens=None, device=CPU).model.state_dict() for _ in range(2))
    assert all(torch.equal(first[n], second[n]) for n in first)
    assert torch.equal(torch.get_rng_state(), state)


def test_bad_models_and_options(tmp_path: Path, folder: Path) -> None:
    with refuses("max_tokens"):
        load_embedder(folder, max_tokens=41, device=CPU)
    broken = write_model(tmp_path / "broken")
    (broken / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(MissingError, match="broken"):
        load_embedder(broken, max_tokens=None, device=CPU)
    words = tmp_path / "words"
    words.mkdir()
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from transformers import AutoTokenizer

    static = StaticEmbedding(AutoTokenizer.from_pretrained(folder), embedding_dim=8)
    SentenceTransformer(modules=[static], device="cpu").save(str(words), create_model_card=False)
    with pytest.raises(UsageError, match="starts with StaticEmbedding"):
        load_embedder(words, max_tokens=None, device=CPU)
