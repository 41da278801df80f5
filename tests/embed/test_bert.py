"""The forward pass written out, beside the transformers classes it stands for."""

from __future__ import annotations

import itertools
import json
import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from nlpkit.embed import bert  # noqa: E402

SIZES: dict[str, Any] = {
    "vocab_size": 90,
    "hidden_size": 48,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 96,
    "max_position_embeddings": 200,
}
DISTIL: dict[str, Any] = {
    "vocab_size": 90,
    "dim": 48,
    "n_heads": 3,
    "n_layers": 2,
    "hidden_dim": 96,
    "max_position_embeddings": 200,
}
MODELS = {
    "bert": ("BertConfig", "BertModel", SIZES),
    "bert-tanh": ("BertConfig", "BertModel", SIZES | {"hidden_act": "gelu_new"}),
    "bert-relu": ("BertConfig", "BertModel", SIZES | {"hidden_act": "relu"}),
    "roberta": ("RobertaConfig", "RobertaModel", SIZES | {"layer_norm_eps": 1e-5}),
    "xlm-roberta": ("XLMRobertaConfig", "XLMRobertaModel", SIZES),
    "camembert": ("CamembertConfig", "CamembertModel", SIZES),
    "distilbert": ("DistilBertConfig", "DistilBertModel", DISTIL),
    "mpnet": ("MPNetConfig", "MPNetModel", SIZES),
}
GROUPS = ((2, 150), (3, 7), (1, 1))


@pytest.fixture(scope="module", params=MODELS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, Any], Any]:
    """A transformers model with lively random weights, its config.json and its weights as they are on disk."""
    from safetensors.torch import load_file

    config_class, model_class, sizes = MODELS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(transformers, model_class)(getattr(transformers, config_class)(**sizes)).eval()
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.2)
        model.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    return model, config, load_file(folder / "model.safetensors")


def documents() -> list[Any]:
    """Token ids of documents, by group; 5 and above, so that none is taken for padding."""
    generator = torch.Generator().manual_seed(4)
    return [torch.randint(5, 90, (count, width), generator=generator) for count, width in GROUPS]


def expected(model: Any) -> Any:
    with torch.inference_mode():
        return torch.cat([model(input_ids=ids).last_hidden_state.flatten(0, 1) for ids in documents()])


def run(pair: tuple[Any, dict[str, Any], Any], dtype: Any = torch.float32) -> Any:
    _, config, weights = pair
    assert bert.supports(config)
    with torch.inference_mode():
        own = bert.Bert(config, weights, dtype=dtype, device=torch.device("cpu"))
        return own.forward(torch.cat([ids.flatten() for ids in documents()]), GROUPS, None)


def test_agrees_with_transformers(pair: tuple[Any, dict[str, Any], Any]) -> None:
    torch.testing.assert_close(run(pair), expected(pair[0]), atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int8])
def test_other_precisions_are_close(pair: tuple[Any, dict[str, Any], Any], dtype: Any) -> None:
    cosines = torch.nn.functional.cosine_similarity(run(pair, dtype), expected(pair[0]))
    assert cosines.mean() > 0.999


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8])
def test_padding_changes_nothing(pair: tuple[Any, dict[str, Any], Any], dtype: Any) -> None:
    _, config, weights = pair
    ids = documents()[1]
    lengths = torch.tensor([7, 4, 1])
    padded = ids * (torch.arange(7) < lengths[:, None])
    with torch.inference_mode():
        own = bert.Bert(config, weights, dtype=dtype, device=torch.device("cpu"))
        together = own.forward(padded.flatten(), ((3, 7),), lengths).view(3, 7, -1)
        for i, n in enumerate(lengths.tolist()):
            alone = own.forward(ids[i, :n], ((1, n),), None)
            loose = {"atol": 2e-5, "rtol": 1e-5} if dtype == torch.float32 else {"atol": 0.1, "rtol": 0.1}
            torch.testing.assert_close(together[i, :n], alone, **loose)


def each_alone(q: Any, k: Any, v: Any, starts: Any, _starts: Any, longest: int, _longest: int, *, scale: float) -> Any:
    """The attention of GPUs over documents end to end, in plain products."""
    assert longest == int(starts.diff().max())
    out = torch.empty_like(v)
    for start, stop in itertools.pairwise(starts.tolist()):
        scores = torch.einsum("qhd,khd->hqk", q[start:stop], k[start:stop]) * scale
        out[start:stop] = torch.einsum("hqk,khd->qhd", scores.softmax(-1), v[start:stop])
    return out


def test_end_to_end_as_on_a_gpu(pair: tuple[Any, dict[str, Any], Any]) -> None:
    _, config, weights = pair
    texts = [ids[row] for ids in documents() for row in range(len(ids))]
    lengths = torch.tensor([len(ids) for ids in texts], dtype=torch.int32)
    starts = torch.nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))
    with torch.inference_mode():
        own = bert.Bert(config, weights, dtype=torch.float32, device=torch.device("cpu"))
        assert own.packed is None
        own.packed = each_alone
        tokens = own.forward_packed(torch.cat(texts), starts, int(lengths.max()))
    if own.bias is None:  # MPNet's positions are in its attention, which GPUs do not have end to end
        torch.testing.assert_close(tokens, expected(pair[0]), atol=2e-5, rtol=1e-5)


def test_which_devices_have_an_attention_for_texts_end_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, cpu = torch.device("cuda"), torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    assert bert.packed_attention(torch.bfloat16, cuda) is not None
    assert bert.packed_attention(torch.float32, cuda) is None
    assert bert.packed_attention(torch.bfloat16, cpu) is None
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert bert.packed_attention(torch.float16, cuda) is None


def test_agrees_without_packed_products(pair: tuple[Any, dict[str, Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    torch.testing.assert_close(run(pair), expected(pair[0]), atol=2e-5, rtol=1e-5)


def test_weights_of_a_task_model(pair: tuple[Any, dict[str, Any], Any]) -> None:
    model, config, weights = pair
    prefixed = {f"backbone.{name}".replace("LayerNorm.weight", "LayerNorm.gamma"): w for name, w in weights.items()}
    prefixed["classifier.weight"] = torch.zeros(2, 48)
    torch.testing.assert_close(run((model, config, prefixed)), run(pair), atol=0.0, rtol=0.0)


def test_how_long_a_text_may_be(pair: tuple[Any, dict[str, Any], Any]) -> None:
    _, config, _ = pair
    shifted = config["model_type"] not in ("bert", "distilbert")
    assert bert.max_positions(config) == (198 if shifted else 200)


def test_what_is_left_to_others() -> None:
    sizes = {"max_position_embeddings": 512, "num_attention_heads": 4}
    config = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute", **sizes}
    assert bert.supports(config)
    for key in sizes:  # transformers has values of its own for them
        assert not bert.supports({name: value for name, value in config.items() if name != key})
    for odd in (
        {"model_type": "modernbert"},
        {"hidden_act": "silu"},
        {"position_embedding_type": "alibi"},
        {"auto_map": {"AutoModel": "code.Model"}},
        {"is_decoder": True},
        {"model_type": "roberta", "pad_token_id": None},
        {"model_type": "distilbert"},  # whose key is n_heads
    ):
        assert not bert.supports(config | odd)


@pytest.mark.parametrize("engine", ["openvino", "onnx"])
def test_the_graph_is_the_same_forward_pass(pair: tuple[Any, dict[str, Any], Any], engine: str) -> None:
    from nlpkit.embed.kinds import is_installed

    if not is_installed(engine):
        pytest.skip(f"no {engine}")
    from nlpkit.embed import graph_engines, graphs

    model, config, weights = pair
    graph = graphs.build(config, weights)
    run_graph = (
        graph_engines.openvino_run(graph, "fp32", 1) if engine == "openvino" else graph_engines.onnxruntime_run(graph)
    )
    for ids in documents():
        width = ids.shape[1] + 3  # padding is not seen
        lengths = np.full(len(ids), ids.shape[1])
        hidden = run_graph(np.pad(ids.numpy(), ((0, 0), (0, 3))), lengths)
        assert hidden.shape == (len(ids), width, 48)
        with torch.inference_mode():
            wanted = model(input_ids=ids).last_hidden_state.numpy()
        np.testing.assert_allclose(hidden[:, : ids.shape[1]], wanted, atol=2e-4)
