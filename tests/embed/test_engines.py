"""Models run here and models run by sentence-transformers, beside sentence-transformers itself."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.embed.loading import load_encoder
from nlpkit.errors import MissingError

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from nlpkit.embed import engines  # noqa: E402
from nlpkit.embed.engines import DirectEngine, FallbackEngine  # noqa: E402
from tests.embed.test_bert import each_alone  # noqa: E402
from tests.refusals import refuses  # noqa: E402

MakeModel = Callable[..., Path]


def peer(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(folder), device="cpu", local_files_only=True)


def peer_vectors(folder: Path, texts: Sequence[str], **options: Any) -> Any:
    return peer(folder).encode(list(texts), show_progress_bar=False, **options)


def as_saved_by_version_6(folder: Path, target: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer(folder).save(str(target))
    return target


def add_dense(folder: Path, *, normalize: bool) -> None:
    """Put a Dense module behind the pooling, as distiluse and LaBSE have."""
    from safetensors.torch import save_file

    dense = folder / "2_Dense"
    dense.mkdir()
    config = {
        "in_features": 32,
        "out_features": 5,
        "bias": True,
        "activation_function": "torch.nn.modules.activation.Tanh",
    }
    (dense / "config.json").write_text(json.dumps(config))
    generator = torch.Generator().manual_seed(5)
    weights = {
        "linear.weight": torch.randn(5, 32, generator=generator),
        "linear.bias": torch.randn(5, generator=generator),
    }
    save_file(weights, dense / "model.safetensors")
    modules = json.loads((folder / "modules.json").read_text())
    modules[2:] = [{"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}]
    if normalize:
        modules += [{"idx": 3, "name": "3", "path": "3_Normalize", "type": "sentence_transformers.models.Normalize"}]
        (folder / "3_Normalize").mkdir()
    (folder / "modules.json").write_text(json.dumps(modules))


def test_run_here_agrees(tiny: Path, sentences: list[str]) -> None:
    own = load_encoder(str(tiny), precision="fp32", long="truncate")
    assert isinstance(own._engine, DirectEngine)
    np.testing.assert_allclose(own.encode(sentences)[0], peer_vectors(tiny, sentences), atol=1e-5)


def test_padded_batches_as_on_a_gpu(tiny: Path, sentences: list[str]) -> None:
    own = load_encoder(str(tiny), precision="fp32", batch_tokens=50, long="truncate")
    expected, _ = own.encode(sentences)
    own._engine.pads = True
    np.testing.assert_allclose(own.encode(sentences)[0], expected, atol=1e-5)


@pytest.mark.parametrize("mode", ["mean", "cls", "lasttoken"])
def test_texts_end_to_end_as_on_a_gpu(
    make_model: MakeModel, sentences: list[str], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "MOST_PACKED", 3)
    folder = make_model(pooling={"embedding_dimension": 32, "pooling_mode": mode})
    own = load_encoder(str(folder), precision="fp32", batch_tokens=50, long="truncate")
    expected, _ = own.encode(sentences)
    assert isinstance(own._engine, DirectEngine)
    own._engine.model.packed = each_alone
    np.testing.assert_allclose(own.encode(sentences)[0], expected, atol=1e-5)


def test_one_long_text_among_short_ones_end_to_end(tiny: Path) -> None:
    """They are pooled apart: padded to the long one, many short ones would take too much memory."""
    texts = ["the cat sat on the mat and a dog", *(f"cat {'sat ' * (i % 2)}" for i in range(60))]
    own = load_encoder(str(tiny), precision="fp32", batch_tokens=10_000, long="truncate")
    expected, _ = own.encode(texts)
    assert isinstance(own._engine, DirectEngine)
    own._engine.model.packed = each_alone
    np.testing.assert_allclose(own.encode(texts)[0], expected, atol=1e-5)


@pytest.mark.parametrize("mode", ["cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"])
def test_pooling_agrees(make_model: MakeModel, sentences: list[str], mode: str) -> None:
    folder = make_model(pooling={"embedding_dimension": 32, "pooling_mode": mode})
    own = load_encoder(str(folder), precision="fp32", long="truncate")
    np.testing.assert_allclose(own.encode(sentences)[0], peer_vectors(folder, sentences), atol=1e-5)


def test_the_layout_of_version_6_is_the_same_model(tiny: Path, tmp_path: Path, sentences: list[str]) -> None:
    new = load_encoder(str(as_saved_by_version_6(tiny, tmp_path / "new")), precision="fp32", long="truncate")
    old = load_encoder(str(tiny), precision="fp32", long="truncate")
    assert isinstance(new._engine, DirectEngine)
    assert new.max_tokens == old.max_tokens == 12
    np.testing.assert_array_equal(new.encode(sentences)[0], old.encode(sentences)[0])


@pytest.mark.parametrize("normalize", [False, True])
def test_a_dense_module_is_left_to_sentence_transformers(
    make_model: MakeModel, sentences: list[str], normalize: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = make_model()
    add_dense(folder, normalize=normalize)
    own = load_encoder(str(folder), precision="fp32", batch_tokens=60, threads=2, long="truncate")
    assert isinstance(own._engine, FallbackEngine)
    assert (own.dim, own.max_tokens, own.precision) == (5, 12, "fp32")
    vectors, report = own.encode(sentences)
    assert capfd.readouterr() == ("", "")
    np.testing.assert_allclose(vectors, peer_vectors(folder, sentences, normalize_embeddings=True), atol=1e-5)
    one_thread = load_encoder(str(folder), precision="fp32", batch_tokens=60, threads=1, long="truncate")
    np.testing.assert_array_equal(one_thread.encode(sentences)[0], vectors)
    raw, _ = own.encode(sentences, normalize=False)
    assert not np.allclose(np.linalg.norm(raw, axis=1), 1)
    assert own.encode([])[0].shape == (0, 5)
    assert np.isfinite(own.encode(["", " ", "a\ud800b"])[0]).all()
    here = load_encoder(str(make_model("plain")), precision="fp32", long="truncate").encode(sentences)[1]
    assert (report.tokens, report.tokens_cut, report.docs_cut) == (here.tokens, here.tokens_cut, here.docs_cut)


def test_options_of_a_model_left_to_others(make_model: MakeModel) -> None:
    folder = make_model()
    add_dense(folder, normalize=False)
    assert load_encoder(str(folder), precision="bf16", long="truncate").precision == "bf16"
    short = load_encoder(str(folder), precision="fp32", max_tokens=5)
    _, report = short.encode(["dog " * 8])
    assert (report.max_tokens, report.tokens_cut) == (5, 5)
    with refuses("max_tokens"):
        load_encoder(str(folder), max_tokens=41)


def test_made_up_weights_are_refused(make_model: MakeModel) -> None:
    from safetensors.torch import load_file, save_file

    folder = make_model()
    add_dense(folder, normalize=False)
    weights = load_file(folder / "model.safetensors")
    del weights["pooler.dense.weight"]  # no part of the embedding
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    load_encoder(str(folder))
    del weights["encoder.layer.1.output.dense.bias"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(MissingError):
        load_encoder(str(folder))


def test_a_model_nobody_can_load(make_model: MakeModel) -> None:
    folder = make_model()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "never-heard-of"}))
    with pytest.raises(MissingError) as caught:
        load_encoder(str(folder))
    assert "\n" not in str(caught.value)


def test_static_embeddings(tmp_path: Path, tiny: Path) -> None:
    """A table of word vectors (model2vec): no limit of length, no special tokens."""
    from safetensors.torch import save_file
    from tokenizers import Tokenizer

    folder = tmp_path / "static"
    place = folder / "0_StaticEmbedding"
    place.mkdir(parents=True)
    tokenizer = Tokenizer.from_file(str(tiny / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.save(str(place / "tokenizer.json"))
    table = torch.randn(tokenizer.get_vocab_size(), 6, generator=torch.Generator().manual_seed(8))
    save_file({"embedding.weight": table}, place / "model.safetensors")
    modules = [{"idx": 0, "name": "0", "path": place.name, "type": "sentence_transformers.models.StaticEmbedding"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    own = load_encoder(str(folder), precision="bf16", long="truncate")
    assert (own.dim, own.precision) == (6, "fp32")
    vectors, report = own.encode(["cat dog", "cat " * 50, "cat dog", ""], normalize=False)
    ids = [tokenizer.token_to_id(word) for word in ("cat", "dog")]
    np.testing.assert_allclose(vectors[0], table[ids].mean(0), atol=1e-6)
    np.testing.assert_allclose(vectors[1], table[ids[0]], atol=1e-5)
    assert np.isfinite(vectors).all()
    assert (report.tokens, report.tokens_cut, report.n_unique) == (54, 0, 3)
