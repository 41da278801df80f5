"""What a folder of an encoder can say, beside sentence-transformers: each layout gives its vectors, or is refused."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.embed.loading import load_encoder
from nlpkit.embed.models import read_layout
from nlpkit.embed.pooling import MODES
from nlpkit.embed.token_ids import load_tokenizer
from nlpkit.errors import InputError, MissingError

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from nlpkit.embed.engines import DirectEngine, FallbackEngine  # noqa: E402
from tests.embed.test_engines import add_dense, peer_vectors  # noqa: E402
from tests.encoder_models import CONFIG, write_json  # noqa: E402

MakeModel = Callable[..., Path]
TEXTS = ["the cat sat", "dog", "very old house and the bird ran on", "a new mat .", ""]
PROMPTS = {"query": "old bird ", "document": "the new "}


def merge(file: Path, **values: Any) -> None:
    """Put values into a JSON file, or make one; None takes a key out."""
    content = json.loads(file.read_text()) if file.is_file() else {}
    content |= values
    write_json(file, {key: value for key, value in content.items() if value is not None})


def agree(folder: Path, *, prompt: str | None = None) -> None:
    """Compare with sentence-transformers, which embeds each text alone: its batches of padded texts differ a little."""
    theirs = {} if prompt is None else {"prompt": prompt}
    expected = np.concatenate([peer_vectors(folder, [text], normalize_embeddings=True, **theirs) for text in TEXTS])
    vectors, _ = load_encoder(str(folder), precision="fp32", prompt=prompt, long="truncate").encode(TEXTS)
    cosines = (vectors * expected).sum(axis=1)
    assert cosines.min() >= 0.9999, cosines


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("default", [None, "document"])
@pytest.mark.parametrize("prompt", [None, "", "cat ", PROMPTS["query"]])
def test_prompts(make_model: MakeModel, include: bool, default: str | None, prompt: str | None) -> None:
    folder = make_model()
    merge(folder / "1_Pooling" / "config.json", include_prompt=include)
    write_json(folder / "config_sentence_transformers.json", {"prompts": PROMPTS, "default_prompt_name": default})
    agree(folder, prompt=prompt)
    assert isinstance(load_encoder(str(folder))._engine, DirectEngine if include else FallbackEngine)


def test_a_default_prompt_takes_room_in_the_window(make_model: MakeModel) -> None:
    folder = make_model()
    write_json(folder / "config_sentence_transformers.json", {"prompts": PROMPTS, "default_prompt_name": "query"})
    encoder = load_encoder(str(folder), long="truncate")
    assert encoder.prompt == PROMPTS["query"]
    assert encoder.identity["prompt"] == PROMPTS["query"]
    most = encoder.max_tokens - 2 - 2  # two special tokens, two of the prompt
    _, fits = encoder.encode(["cat " * most])
    _, long = encoder.encode(["cat " * (most + 1)])
    assert (fits.docs_cut, long.docs_cut) == (0, 1)


def test_prompts_that_a_person_may_have_missed_are_named(
    make_model: MakeModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "nlpkit")
    folder = make_model()
    write_json(folder / "config_sentence_transformers.json", {"prompts": PROMPTS, "default_prompt_name": None})
    load_encoder(str(folder))
    assert "has prompts, and none is put before the texts: query 'old bird ', document 'the new '" in caplog.text
    load_encoder(str(folder), prompt="query")
    assert "the prompt that" in caplog.text
    caplog.clear()
    load_encoder(str(folder), prompt="")
    assert "prompt" not in caplog.text


@pytest.mark.parametrize("modes", [*((mode,) for mode in MODES), ("cls", "mean"), MODES])
@pytest.mark.parametrize("include", [True, False])
def test_poolings(make_model: MakeModel, modes: tuple[str, ...], include: bool) -> None:
    folder = make_model()
    pooling = {"embedding_dimension": CONFIG["hidden_size"], "pooling_mode": list(modes), "include_prompt": include}
    write_json(folder / "1_Pooling" / "config.json", pooling)
    agree(folder)
    agree(folder, prompt="old bird ")


@pytest.mark.parametrize("normalize", [False, True])
def test_dense(make_model: MakeModel, normalize: bool) -> None:
    folder = make_model()
    add_dense(folder, normalize=normalize)
    agree(folder, prompt="cat ")


@pytest.mark.parametrize("missing", ["1_Pooling", "2_Dense"])
def test_a_module_without_its_configuration_is_refused(make_model: MakeModel, missing: str) -> None:
    folder = make_model()
    add_dense(folder, normalize=True)
    (folder / missing / "config.json").unlink()
    with pytest.raises(
        MissingError, match=rf"names {missing}/config\.json, which is missing.*download the model again"
    ):
        load_encoder(str(folder))


@pytest.mark.parametrize("key", ["max_position_embeddings", "num_attention_heads", "layer_norm_eps", "hidden_act"])
def test_configurations_without_a_key(make_model: MakeModel, key: str) -> None:
    """transformers has a value of its own for each; the model fits those or is refused."""
    folder = make_model()
    merge(folder / "config.json", **{key: None})
    try:
        peer_vectors(folder, TEXTS)
    except Exception:
        with pytest.raises(MissingError):
            load_encoder(str(folder))
    else:
        agree(folder)


@pytest.mark.parametrize(
    "name", [None, "BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "MPNetTokenizer", "TokenizersBackend"]
)
def test_settings_of_tokenizers(make_model: MakeModel, name: str | None) -> None:
    """Which of tokenizer_config.json and tokenizer.json is heard, and what is meant where neither says anything."""
    from transformers import AutoTokenizer

    folder = make_model()
    whole = json.loads((folder / "tokenizer.json").read_text())
    keys = ("do_lower_case", "strip_accents", "tokenize_chinese_chars")
    files = [(True, None, True), (False, None, True), (True, False, True), (False, True, False)]
    wishes: list[dict[str, bool]] = [{}, *({key: value} for key, value in itertools.product(keys, (True, False)))]
    probe = "Die BÜRGER im Café 中国人 Ĝuste"
    for (lowercase, accents, chinese), wish in itertools.product(files, wishes):
        normalizer = {"lowercase": lowercase, "strip_accents": accents, "handle_chinese_chars": chinese}
        write_json(folder / "tokenizer.json", whole | {"normalizer": whole["normalizer"] | normalizer})
        merge(folder / "tokenizer_config.json", tokenizer_class=name, **(dict.fromkeys(keys) | wish))
        layout = read_layout(folder)
        assert layout is not None
        ours = load_tokenizer(layout).normalizer.normalize_str(probe)
        theirs = AutoTokenizer.from_pretrained(str(folder), local_files_only=True).backend_tokenizer
        assert ours == theirs.normalizer.normalize_str(probe), (name, normalizer, wish)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_vectors_that_are_not_finite_are_an_error(make_model: MakeModel, precision: str, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    from nlpkit.embed.encoders import open_encoder
    from nlpkit.embed.options import EncoderOptions

    folder = make_model()
    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.1.output.dense.weight"][0, 0] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    remedy = "try `precision=fp32`" if precision == "bf16" else "download the model again"
    for cache in (None, tmp_path / "cache", tmp_path / "cache"):  # nothing of it is kept
        encoder = open_encoder(EncoderOptions(encoder=str(folder), precision=precision, cache=cache), 1)
        with pytest.raises(InputError, match=rf"not finite to 5 of 5 documents; {remedy}"):
            encoder.encode(TEXTS)
