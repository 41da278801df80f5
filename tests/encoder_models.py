"""A tiny BERT in a sentence-transformers folder: random weights, a WordPiece vocabulary, no downloads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

WORDS = ["cat", "dog", "bird", "sat", "ran", "on", "the", "mat", "house", "and", "or", "was", "very", "old", "new", "."]
VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", *WORDS, "##s", "##ing", "##ed"]
CONFIG: dict[str, Any] = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 32,
    "intermediate_size": 64,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 40,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "pad_token_id": 0,
    "type_vocab_size": 2,
    "vocab_size": len(VOCAB),
}


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def write_tokenizer(folder: Path) -> None:
    """Write the tokenizer.json of an uncased BERT, cutting and padding as the one of all-MiniLM-L6-v2 does."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    ids = {"[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
    vocab = {word: i for i, word in enumerate(VOCAB)}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    )
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(folder / "tokenizer.json"))
    tokens = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": True, **tokens})
    (folder / "vocab.txt").write_text("\n".join(vocab) + "\n", encoding="utf-8")


def random_weights(seed: int = 0) -> dict[str, Any]:
    """Return weights of the tiny BERT, large enough that attention is not flat."""
    import torch

    rng = np.random.default_rng(seed)
    H, M = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    shapes = {
        "embeddings.word_embeddings.weight": (len(VOCAB), H),
        "embeddings.position_embeddings.weight": (CONFIG["max_position_embeddings"], H),
        "embeddings.token_type_embeddings.weight": (2, H),
        "embeddings.LayerNorm": (H,),
        "pooler.dense": (H, H),
    }
    for i in range(CONFIG["num_hidden_layers"]):
        at = f"encoder.layer.{i}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            shapes[at + part] = (H, H)
        shapes |= {at + "intermediate.dense": (M, H), at + "output.dense": (H, M)}
        shapes |= {at + "attention.output.LayerNorm": (H,), at + "output.LayerNorm": (H,)}
    weights = {}
    for name, shape in shapes.items():
        values = rng.normal(0.0, 0.3, shape).astype(np.float32)
        if name.endswith(".weight"):
            weights[name] = torch.from_numpy(values)
        else:
            weights[f"{name}.weight"] = torch.from_numpy(1 + values if name.endswith("LayerNorm") else values)
            weights[f"{name}.bias"] = torch.from_numpy(rng.normal(0.0, 0.3, shape[:1]).astype(np.float32))
    return weights


def write_model(
    folder: Path, *, pooling: dict[str, Any] | None = None, max_tokens: int | None = 12, seed: int = 0
) -> Path:
    """Write a whole model folder, in the layout of sentence-transformers 2 to 5."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", CONFIG)
    write_tokenizer(folder)
    save_file(random_weights(seed), folder / "model.safetensors", metadata={"format": "pt"})
    names = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(names)
    ]
    write_json(folder / "modules.json", modules)
    default = {"word_embedding_dimension": CONFIG["hidden_size"], "pooling_mode_mean_tokens": True}
    write_json(folder / "1_Pooling" / "config.json", pooling or default)
    (folder / "2_Normalize").mkdir(exist_ok=True)
    if max_tokens is not None:
        write_json(folder / "sentence_bert_config.json", {"max_seq_length": max_tokens, "do_lower_case": False})
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model: mean pooling, 12 tokens, 32 dimensions."""
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def make_model(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a tiny model of one's own, to be changed at will."""

    def make(name: str = "model", **options: Any) -> Path:
        return write_model(tmp_path / name, **options)

    return make


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty hub cache in place of the user's."""
    from huggingface_hub import constants

    cache = tmp_path / "hub"
    cache.mkdir()
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    return cache


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """Sixty texts of 0 to 30 words, none twice, from the tiny vocabulary and a little beyond it."""
    rng = np.random.default_rng(7)
    words = [*WORDS, "cats", "jumped", "Zürich", "老"]
    texts = [" ".join(rng.choice(words, n)) for n in rng.integers(0, 31, 90)]
    return list(dict.fromkeys(texts))[:60]
