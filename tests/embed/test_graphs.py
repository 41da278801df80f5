"""Engines that run a graph beside torch: the same vectors, which depend on nothing but the text; and the choice between engines."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.embed.kinds import same_engine
from nlpkit.embed.loading import load_encoder
from nlpkit.errors import MissingError
from tests.encoder_models import CONFIG
from tests.few import few
from tests.refusals import refuses

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from nlpkit.embed import (  # noqa: E402
    choice,
    engines,
    hardware,
    kinds,
)
from nlpkit.embed.graph_engines import GraphEngine  # noqa: E402

MakeModel = Callable[..., Path]
GRAPHS = [
    pytest.param("openvino", marks=pytest.mark.skipif(not kinds.is_installed("openvino"), reason="no openvino")),
    pytest.param("onnx", marks=pytest.mark.skipif(not kinds.is_installed("onnx"), reason="no onnxruntime")),
]


def vectors(folder: Path, texts: list[str], engine: str, precision: str = "fp32", **options: Any) -> Any:
    encoder = load_encoder(str(folder), engine=engine, precision=precision, device="cpu", **options, long="truncate")
    assert (encoder.engine, encoder.precision) == (engine, precision)
    return encoder.encode(texts)[0]


@pytest.mark.parametrize("engine", GRAPHS)
def test_the_vectors_are_those_of_torch(tiny: Path, sentences: list[str], engine: str) -> None:
    np.testing.assert_allclose(vectors(tiny, sentences, engine), vectors(tiny, sentences, "torch"), atol=2e-5)


@pytest.mark.parametrize("engine", GRAPHS)
@pytest.mark.parametrize("mode", ["cls", "max", "lasttoken"])
def test_pooling_does_not_see_the_padding(make_model: MakeModel, sentences: list[str], engine: str, mode: str) -> None:
    folder = make_model(pooling={"embedding_dimension": 32, "pooling_mode": mode})
    np.testing.assert_allclose(vectors(folder, sentences, engine), vectors(folder, sentences, "torch"), atol=2e-5)


@pytest.mark.parametrize("engine", GRAPHS)
@pytest.mark.parametrize("act", ["relu", "gelu_new"])
def test_other_activations(make_model: MakeModel, sentences: list[str], engine: str, act: str) -> None:
    folder = make_model()
    (folder / "config.json").write_text(json.dumps(CONFIG | {"hidden_act": act}))
    np.testing.assert_allclose(vectors(folder, sentences, engine), vectors(folder, sentences, "torch"), atol=2e-5)


@pytest.mark.parametrize(
    ("engine", "precision"), few([("torch", "int8"), ("openvino", "fp32"), ("openvino", "bf16"), ("onnx", "fp32")], 2)
)
def test_bytes_depend_on_the_text_alone(tiny: Path, sentences: list[str], engine: str, precision: str) -> None:
    if not kinds.is_installed(engine):
        pytest.skip(f"no {engine}")
    whole = vectors(tiny, sentences, engine, precision, threads=1, batch_tokens=200)
    backwards = vectors(tiny, sentences[::-1], engine, precision, threads=3, batch_tokens=64)
    np.testing.assert_array_equal(backwards[::-1], whole)
    np.testing.assert_array_equal(vectors(tiny, sentences[7:8], engine, precision), whole[7:8])
    assert vectors(tiny, [], engine, precision).shape == (0, 32)


# ---------------------------------------------------------------- the choice


def candidates(*args: Any) -> list[tuple[str, str]]:
    return list(choice._candidates(*args))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that plays a machine: products in bf16 or not."""

    def play(*, bf16: bool) -> None:
        monkeypatch.setattr(hardware, "cpu_has_fast_bf16", lambda: bf16)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))

    return play


def test_the_fastest_comes_first(machine: Callable[..., None]) -> None:
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    machine(bf16=True)
    assert candidates("auto", "auto", cpu) == [("torch", "bf16"), ("torch", "fp32")]
    assert candidates("auto", "bf16", cpu) == [("torch", "bf16")]
    assert candidates("auto", "fp32", cpu) == [("torch", "fp32")]
    assert candidates("openvino", "auto", cpu) == [("openvino", "bf16"), ("openvino", "fp32")]
    assert candidates("onnx", "auto", cpu) == [("onnx", "fp32")]
    assert candidates("auto", "int8", cpu) == candidates("torch", "int8", cpu) == [("torch", "int8")]
    assert candidates("auto", "auto", cuda) == [("torch", "bf16"), ("torch", "fp16"), ("torch", "fp32")]
    machine(bf16=False)
    assert candidates("auto", "auto", cpu) == [("torch", "fp32")]
    assert candidates("openvino", "auto", cpu) == [("openvino", "fp32")]


@pytest.mark.parametrize(("noise", "taken"), [(0.0, "bf16"), (0.1, "fp32")])
def test_a_candidate_that_is_not_close_is_left_out(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, machine: Callable[..., None], noise: float, taken: str
) -> None:
    machine(bf16=True)
    exact = choice.probe_vectors

    def probe(engine: Any) -> Any:
        found = exact(engine)
        found[0] += noise * (engine.precision != "fp32") * np.arange(found.shape[1])
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    monkeypatch.setattr(choice, "CLOSE", 0.99)  # the tiny model has large weights
    monkeypatch.setattr(choice, "probe_vectors", probe)
    encoder = load_encoder(str(tiny), device="cpu")
    assert encoder.precision == taken
    assert (encoder.cosine == 1) is (taken == "fp32")


def test_what_is_named_is_taken_with_a_warning(
    tiny: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with caplog.at_level(logging.WARNING, logger="nlpkit.embed"):
        encoder = load_encoder(str(tiny), precision="int8", long="truncate")
        assert (encoder.engine, encoder.precision, encoder.device) == ("torch", "int8", "cpu")
        assert 0.9 < encoder.cosine < choice.CLOSE  # the tiny model has large weights
        assert f"{encoder.cosine:.5f}" in caplog.text
        assert "VNNI" not in caplog.text
        monkeypatch.setattr(choice, "has_integer_products", lambda: False)
        load_encoder(str(tiny), precision="int8")
        assert "has no products of 8-bit integers (AVX-512 VNNI)" in caplog.text


def test_engines_that_cannot(tiny: Path, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.embed.test_engines import add_dense

    with refuses("engine"):
        load_encoder(str(tiny), engine="tensorrt")
    for engine, precision in (("onnx", "bf16"), ("openvino", "int8"), ("openvino", "fp16"), ("onnx", "int8")):
        with refuses("precision"):
            load_encoder(str(tiny), engine=engine, precision=precision, long="truncate")
    folder = make_model()
    add_dense(folder, normalize=False)
    for options in ({"engine": "openvino"}, {"engine": "onnx"}, {"precision": "int8"}):
        with refuses(*options):
            load_encoder(str(folder), **options)
    with monkeypatch.context() as patch:
        patch.setattr("nlpkit.embed.choice.LARGEST", 1000)
        with refuses("engine"):
            load_encoder(str(tiny), engine="openvino")
        assert load_encoder(str(tiny)).engine == "torch"
    patch_installed(monkeypatch)
    with pytest.raises(MissingError) as caught:
        load_encoder(str(tiny), engine="openvino")
    assert "[openvino]" in str(caught.value)
    assert load_encoder(str(tiny), device="cpu").engine == "torch"


def patch_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "is_installed", lambda engine: engine == "torch")


def test_an_engine_on_a_gpu(tiny: Path) -> None:
    for option, value in (("engine", "onnx"), ("precision", "int8")):
        with refuses(option):
            choice.choose_engine(
                tiny,
                device=torch.device("cuda"),
                max_tokens=None,
                threads=1,
                **{"engine": "auto", "precision": "auto", option: value},
            )


def test_a_weight_that_is_missing(make_model: MakeModel) -> None:
    from safetensors.torch import load_file, save_file

    folder = make_model()
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.bias"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    layout = engines.read_layout(folder)
    assert layout is not None
    with pytest.raises(MissingError) as caught:
        GraphEngine("onnx", layout, precision="fp32", max_tokens=None, threads=1)
    assert "encoder.layer.1.output.dense.bias" in str(caught.value)


def test_new_texts_are_embedded_by_the_engine_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "is_installed", lambda engine: engine != "openvino")
    free = {"engine": "auto", "precision": "auto", "device": None}
    assert same_engine({}, **free) == ("torch", "auto")
    assert same_engine({"engine": "onnx", "precision": "fp32"}, **free) == ("onnx", "auto")
    assert same_engine({"engine": "onnx", "precision": "int8"}, **free) == ("torch", "int8")
    assert same_engine({"engine": "torch", "precision": "int8"}, **free) == ("torch", "int8")
    assert same_engine({"engine": "torch", "precision": "int8"}, **(free | {"device": "cuda"})) == ("auto", "auto")
    assert same_engine({"engine": "openvino", "precision": "bf16"}, **free) == ("auto", "auto")
    assert same_engine({"engine": "onnx"}, **(free | {"engine": "torch"})) == ("torch", "auto")
    assert same_engine({"engine": "onnx"}, **(free | {"device": "cuda"})) == ("auto", "auto")
    assert same_engine({"engine": "onnx"}, **(free | {"precision": "bf16"})) == ("auto", "bf16")
