"""A tiny random BERT as a folder on disk, with a WordPiece tokenizer of given words; also as a sentence-transformers folder."""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def tiny_bert(
    folder: Path,
    *,
    words: Sequence[str],
    seed: int = 0,
    hidden: int = 32,
    layers: int = 2,
    max_positions: int = 64,
    architecture: str = "BertModel",
    labels: Sequence[str] = (),
) -> Path:
    """Write config.json, model.safetensors, tokenizer.json and tokenizer_config.json, and return the folder.

    Each of the words is a token; others are spelled letter by letter, so every ASCII text can be read. Text is lower-cased. The
    weights are a function of the seed, and large enough that the vectors of texts of different words differ.

    Args:
        architecture: a class of transformers; such as BertForSequenceClassification, for a folder with a head.
        labels: names of the classes of such a head.
    """
    from safetensors.torch import save_file
    from transformers import BertConfig

    folder.mkdir(parents=True, exist_ok=True)
    vocab = _vocab(words)
    config = BertConfig(
        vocab_size=len(vocab), hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=4,
        intermediate_size=2 * hidden, max_position_embeddings=max_positions, pad_token_id=0,
    )  # fmt: skip
    config.architectures = [architecture]
    if labels:
        config.id2label = dict(enumerate(labels))
        config.label2id = {name: i for i, name in enumerate(labels)}
    config.save_pretrained(str(folder))
    save_file(_weights(config, architecture, seed), folder / "model.safetensors", metadata={"format": "pt"})
    _write_tokenizer(folder, vocab, max_positions)
    return folder


def tiny_sentence_model(
    folder: Path, *, words: Sequence[str], seed: int = 0, hidden: int = 32, layers: int = 2, max_positions: int = 64
) -> Path:
    """Write the same model as a sentence-transformers folder with mean pooling, and return the folder."""
    tiny_bert(folder, words=words, seed=seed, hidden=hidden, layers=layers, max_positions=max_positions)
    kinds = (("", "Transformer"), ("1_Pooling", "Pooling"))
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds)
    ]
    _write_json(folder / "modules.json", modules)
    _write_json(folder / "sentence_bert_config.json", {"max_seq_length": max_positions, "do_lower_case": False})
    _write_json(
        folder / "1_Pooling" / "config.json", {"word_embedding_dimension": hidden, "pooling_mode_mean_tokens": True}
    )
    return folder


def _vocab(words: Sequence[str]) -> list[str]:
    letters = [*string.ascii_lowercase, *string.digits]
    every = [*SPECIAL, *words, *letters, *(f"##{letter}" for letter in letters), *string.punctuation]
    return list(dict.fromkeys(word if word in SPECIAL else word.lower() for word in every))


def _weights(config: Any, architecture: str, seed: int) -> dict[str, torch.Tensor]:
    import transformers

    with torch.random.fork_rng():
        model = getattr(transformers, architecture)(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, values in sorted(model.named_parameters()):
            if values.dim() > 1:
                values.normal_(0.0, 0.2, generator=generator)
            else:
                values.fill_(1.0 if name.endswith("LayerNorm.weight") else 0.0)
        model.get_input_embeddings().weight[config.pad_token_id] = 0.0
    return {name: values.detach().clone() for name, values in model.named_parameters()}


def _write_tokenizer(folder: Path, vocab: Sequence[str], max_positions: int) -> None:
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer({word: i for i, word in enumerate(vocab)}, lowercase=True)
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {f"{word.strip('[]').lower()}_token": word for word in SPECIAL}
    own = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": max_positions}
    _write_json(folder / "tokenizer_config.json", {**own, **named})


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def tiny_gpt2(folder: Path, *, words: Sequence[str], seed: int = 0, max_positions: int = 64) -> Path:
    """Write a tiny random GPT-2 with a tokenizer whose tokens are the given words, <unk> and <end>, and return the folder."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel

    vocab = {word: i for i, word in enumerate(["<end>", "<unk>", *words])}
    config = GPT2Config(
        vocab_size=len(vocab), n_embd=32, n_layer=2, n_head=4, n_positions=max_positions, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = GPT2LMHeadModel(config)
        for values in model.parameters():
            if values.dim() > 1:
                torch.nn.init.normal_(values, std=0.2)
    model.save_pretrained(str(folder))
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<end>", "unk_token": "<unk>", "pad_token": "<end>",
        "model_max_length": max_positions,
    }  # fmt: skip
    _write_json(folder / "tokenizer_config.json", settings)
    return folder


def tiny_t5(folder: Path, *, words: Sequence[str], seed: int = 0, sentinels: bool = True, decoder: bool = True) -> Path:
    """Write a tiny random T5 with a tokenizer whose tokens are the given words, <pad>, </s>, <unk> and two sentinels.

    Args:
        sentinels: whether there are these two. decoder: else it is the encoder alone.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import T5Config, T5EncoderModel, T5ForConditionalGeneration

    gaps = ["<extra_id_0>", "<extra_id_1>"] if sentinels else []
    special = ["<pad>", "</s>", "<unk>", *gaps]
    vocab = {word: i for i, word in enumerate([*special, *words])}
    config = T5Config(
        vocab_size=len(vocab), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, pad_token_id=0, eos_token_id=1,
        decoder_start_token_id=0, relative_attention_num_buckets=8, feed_forward_proj="gated-gelu",
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = (T5ForConditionalGeneration if decoder else T5EncoderModel)(config)
    model.save_pretrained(str(folder))
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer.add_special_tokens(special)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
        "model_max_length": 64, "extra_special_tokens": gaps,
    }  # fmt: skip
    _write_json(folder / "tokenizer_config.json", settings)
    return folder
