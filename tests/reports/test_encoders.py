"""Reports about sentence encoders: vectors that change with company, configuration that is not heard, half a model."""

from __future__ import annotations

import json
import multiprocessing
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nlpkit.embed.kinds import is_installed
from nlpkit.embed.loading import load_encoder
from nlpkit.embed.token_ids import TokenReader
from nlpkit.errors import InputError, MissingError
from tests.embed.test_layouts import PROMPTS, agree, merge
from tests.encoder_models import make_model, sentences, tiny  # noqa: F401  (fixtures)

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

MakeModel = Callable[..., Path]
ODD = [
    "", " ", "\t\n", "the cat", "THE CAT", "the\x00cat", "cat\u200bdog", "e\u0301", "\ufeffthe", "cat\r\ndog", "dog\u2028cat",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 cat", "中国 the", "x" * 300, "the " * 40, "[CLS] cat [SEP]", "cat\u00a0dog",
]  # fmt: skip


def test_batch_order_and_threads_change_no_vector(tiny: Path) -> None:  # noqa: F811
    """sentence-transformers#2312, #3197, #1453, #1534, #3109, #3278, instructor-embedding#76, transformers#2401."""
    usual, _ = load_encoder(str(tiny), threads=1).encode(ODD)
    order = np.random.default_rng(0).permutation(len(ODD))
    for batch_tokens, threads in ((64, 2), (100_000, 1)):
        vectors, _ = load_encoder(str(tiny), batch_tokens=batch_tokens, threads=threads).encode([ODD[i] for i in order])
        assert vectors.tobytes() == usual[order].tobytes()


def test_tokens_of_awkward_texts_are_those_of_the_whole_text(tiny: Path) -> None:  # noqa: F811
    """The same reports, varied: words are read once each, and their tokens put together."""
    tokenizer = load_encoder(str(tiny)).tokenizer
    assert tokenizer is not None
    pieces = [*ODD, "<\u0338", "ไทย", "\u0085", "\u00a0", "##ing", "catdog", "'s", "-", "1,299.00"]
    rng = np.random.default_rng(1)
    texts = [rng.choice(["", " "]).join(rng.choice(pieces, rng.integers(1, 6))) for _ in range(200)]
    words, ends, ids, places = TokenReader(tokenizer).read(texts)
    starts = np.concatenate([[0], ends[:-1]])
    for text, start, end in zip(texts, starts, ends, strict=True):
        found = [int(i) for word in words[start:end] for i in ids[places[word] : places[word + 1]]]
        assert found == tokenizer.encode(text, add_special_tokens=False).ids, repr(text)


def test_settings_of_a_folder_that_are_not_heard_elsewhere(make_model: MakeModel) -> None:  # noqa: F811
    """transformers#2917, #6186, #6280, FARM#624, swift-transformers#157: accents and Chinese characters of the tokenizer."""
    folder = make_model()
    merge(folder / "tokenizer_config.json", strip_accents=False, tokenize_chinese_chars=False)
    agree(folder)


@pytest.mark.parametrize("given", [None, "", "old "])
@pytest.mark.parametrize("include", [True, False])
def test_prompts_are_put_once_and_left_out_of_the_mean_where_the_model_says_so(
    make_model: MakeModel,  # noqa: F811
    given: str | None,
    include: bool,
) -> None:
    """txtai#1004, mteb#3114, sentence-transformers#3444, #2964, #3234, instructor-embedding#18, #63."""
    folder = make_model()
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": PROMPTS, "default_prompt_name": "document"})
    )
    merge(folder / "1_Pooling" / "config.json", include_prompt=include)
    agree(folder, prompt=given)


def test_half_a_model_is_no_model(make_model: MakeModel) -> None:  # noqa: F811
    """zoteus#51, omlx#2594, mlx-swift-lm#156, oh-my-pi#7922: a folder without its pooling was averaged."""
    folder = make_model()
    shutil.rmtree(folder / "1_Pooling")
    with pytest.raises(MissingError, match="download the model again"):
        load_encoder(str(folder))


def test_a_plain_transformer_has_the_mean(make_model: MakeModel) -> None:  # noqa: F811
    """As sentence-transformers takes it: nothing was lost where nothing was said."""
    folder = make_model()
    for name in ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / "1_Pooling")
    agree(folder)


def test_nan_is_no_vector_and_empty_texts_have_one(make_model: MakeModel) -> None:  # noqa: F811
    """fastembed#688, sentence-transformers#2886, llm2vec#152, TrueMemory#492, ProtTrek#21, model2vec#368."""
    from safetensors.torch import load_file, save_file

    folder = make_model()
    assert np.isfinite(load_encoder(str(folder)).encode(["", " ", "\n"])[0]).all()
    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.0.output.dense.weight"][:] = torch.inf
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match="not finite"):
        load_encoder(str(folder)).encode(["the cat"])


def test_a_configuration_without_the_number_of_positions(make_model: MakeModel) -> None:  # noqa: F811
    """transformers#27499: models without the attribute; transformers takes 512."""
    from safetensors.torch import load_file, save_file

    folder = make_model()
    weights = load_file(folder / "model.safetensors")
    table = weights["embeddings.position_embeddings.weight"]
    weights["embeddings.position_embeddings.weight"] = torch.cat(
        [table, table.new_zeros(512 - len(table), table.shape[1])]
    )
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    merge(folder / "config.json", max_position_embeddings=None)
    agree(folder)


def test_what_is_cut_is_counted(tiny: Path) -> None:  # noqa: F811
    """sentence-transformers#4060, #181, #364, #1865, llm-sentence-transformers#8."""
    text = "cat dog bird " * 20
    _, cut = load_encoder(str(tiny), long="truncate").encode([text, "cat"])
    assert (cut.docs_cut, cut.tokens_cut) == (1, 60 - 10)
    _, whole = load_encoder(str(tiny), long="mean").encode([text, "cat"])
    assert (whole.docs_cut, whole.docs_long) == (0, 1)


def _encode_in_child(folder: str) -> bytes:
    vectors: bytes = load_encoder(folder, threads=2).encode(["the cat sat", "old dog"])[0].tobytes()
    return vectors


def test_a_child_process_after_encoding(tiny: Path) -> None:  # noqa: F811
    """sentence-transformers#1318, tokenizers#187, pytorch#2245, #17199, gunicorn#2478, ColBERT#322: hangs after fork."""
    here = _encode_in_child(str(tiny))
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_encode_in_child, (str(tiny),)).get(60) == here


@pytest.mark.parametrize("engine", ["openvino", "onnx"])
def test_another_engine_gives_the_same_vectors(tiny: Path, engine: str, sentences: list[str]) -> None:  # noqa: F811
    """fastembed#688."""
    if not is_installed(engine):
        pytest.skip(f"no {engine}")
    texts = sentences[:20]
    theirs, _ = load_encoder(str(tiny), engine=engine, precision="fp32").encode(texts)
    ours, _ = load_encoder(str(tiny), precision="fp32").encode(texts)
    assert (theirs * ours).sum(axis=1).min() > 0.99999
