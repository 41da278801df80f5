"""Networks that are trained from scratch: of transformers where it has them, else those of `nlpkit.architectures`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from nlpkit.embed.hardware import seeded
from nlpkit.errors import UsageError
from nlpkit.finetune.data.inputs import frame_of
from nlpkit.finetune.patterns.mlm import MlmNetwork
from nlpkit.lab.architectures.encoder import Choices
from nlpkit.lab.architectures.model import SequenceConfig, SequenceLM, register
from nlpkit.lab.architectures.recurrent import spelling
from nlpkit.lab.architectures.state_space import with_scan
from nlpkit.lab.options import SIZES
from nlpkit.lab.pretrain.objectives import PAIRED, new_electra
from nlpkit.platform.named_options import Value

_USUAL: dict[str, Value] = {"layers": 0, "hidden": 0, "dropout": 0.1}  # 0: by the size
_HEADS: dict[str, Value] = {**_USUAL, "heads": 0}
ARCHES: dict[str, dict[str, Value]] = {
    "ffnn": {"layers": 1, "hidden": 0, "words": 4, "dropout": 0.1},
    "rnn": _USUAL,
    "lstm": _USUAL,
    "bilstm": _USUAL,
    "gru": _USUAL,
    "elmo": _USUAL,
    "transformer": {**_HEADS, **asdict(Choices())},
    "bert": _HEADS,
    "gpt": _HEADS,
    "mamba": {"layers": 0, "hidden": 0, "state": 16},
    "s4": {**_USUAL, "state": 32},
    "tokenformer": {**_HEADS, "tokens": 0},
    "hymba": {**_HEADS, "state": 16, "meta": 8},
    "t5": _HEADS,
}
# the first is the usual one
OBJECTIVES: dict[str, tuple[str, ...]] = dict.fromkeys(ARCHES, ("clm", "distil")) | {
    "bert": ("mlm", "nsp", "sop", "electra", "distil"), "bilstm": ("mlm", "distil"), "transformer": ("clm", "mlm", "distil"),
    "tokenformer": ("clm", "mlm", "distil"), "t5": ("seq2seq",), "elmo": ("clm",),
}  # fmt: skip
BERT_HEADS = (*PAIRED, "electra")
_READS = {"mlm": "reads the text in both directions", "seq2seq": "reads a text and writes another"}


@dataclass(frozen=True, slots=True)
class NetworkSizes:
    """Sizes in force."""

    layers: int
    hidden: int
    heads: int


def objective_of(arch: str, wanted: str | None) -> str:
    """Return the objective of an architecture. Raises UsageError for one that it cannot learn by."""
    known = OBJECTIVES[arch]
    if wanted is None:
        return known[0]
    if wanted not in known and wanted in BERT_HEADS:
        raise UsageError(
            f"`objective={wanted}`: {arch} does not have its heads; use `arch=bert`", parameter="objective"
        )
    if wanted not in known:
        reads = _READS.get(known[0], "reads the text from left to right")
        raise UsageError(f"`objective={wanted}`: {arch} {reads}; use {known[0]}", parameter="objective")
    return wanted


def sizes_of(arch: str, options: Mapping[str, Value], size: str) -> NetworkSizes:
    """Return the sizes of an architecture. Raises UsageError for sizes that do not go together."""
    layers, hidden = (
        int(options[name]) or usual for name, usual in zip(("layers", "hidden"), SIZES[size], strict=True)
    )
    heads = int(options.get("heads", 1)) or max(1, hidden // 64)
    for name, value in (("layers", layers), ("hidden", hidden), ("heads", heads), *_least(options)):
        if not 1 <= value <= 4096:
            raise UsageError(f"`arch={arch}({name}={value})`: a number from 1 to 4,096 is needed", parameter="arch")
    both_ways = arch in ("bilstm", "elmo")
    parts = 2 if both_ways else heads
    if hidden % parts:
        what = "two directions" if both_ways else f"{heads} heads"
        raise UsageError(f"`arch={arch}`: a width of {hidden} cannot be split into {what}", parameter="arch")
    if not 0 <= float(options.get("dropout", 0.0)) < 1:
        raise UsageError(f"`arch={arch}`: dropout is a share from 0 to below 1", parameter="arch")
    if arch == "transformer":
        choices = choices_of(options)
        choices.check()
        if choices.positions == "rope" and hidden // heads % 2:
            raise UsageError(
                f"`arch={arch}`: rope turns pairs, a head has {hidden // heads} dimensions", parameter="arch"
            )
    return NetworkSizes(layers, hidden, heads)


def choices_of(options: Mapping[str, Value]) -> Choices:
    """Return the named choices among the options of an architecture, which has all or none of them."""
    return Choices(**{field.name: options[field.name] for field in fields(Choices) if field.name in options})  # type: ignore[arg-type]


def _least(options: Mapping[str, Value]) -> list[tuple[str, int]]:
    return [(name, int(options[name])) for name in ("state", "tokens", "meta", "words") if options.get(name)]


def new_network(
    arch: str, options: Mapping[str, Value], objective: str, size: str, tokenizer: Any, *, max_tokens: int, seed: int
) -> MlmNetwork:
    """Return a network with weights drawn from the seed, for a window of `max_tokens` tokens.

    Raises:
        UsageError: sizes that do not go together, or a tokenizer without the special tokens that the objective needs.
    """
    register()
    sizes = sizes_of(arch, options, size)
    masks = objective in ("mlm", *BERT_HEADS)
    needed = ("pad_token_id", "mask_token_id") if masks else ("pad_token_id", "bos_token_id", "eos_token_id")
    missing = [name.removesuffix("_id") for name in needed if getattr(tokenizer, name) is None]
    if missing:
        raise UsageError(f"the tokenizer has no {missing[0]}, which {objective} needs", parameter="tokenizer")
    with seeded(seed):
        model = _new_model(arch, options, objective, sizes, tokenizer, max_tokens)
    special = np.unique(np.array(tokenizer.all_special_ids, np.int64))
    ordinary = np.setdiff1d(np.arange(len(tokenizer)), special)
    mask_id = -1 if tokenizer.mask_token_id is None else int(tokenizer.mask_token_id)
    trained = dict(model.named_parameters())
    frame = frame_of(tokenizer, typed=objective in PAIRED)
    return MlmNetwork(model.eval(), tokenizer, frame, mask_id, ordinary, max_tokens, False, frozenset(), trained)


def embedding_body(model: Any) -> Any:
    """Return the part of a model that gives texts their vectors: without its head, and of t5 the encoder alone."""
    if model.config.model_type != "t5":
        return getattr(model, model.base_model_prefix)
    from transformers import T5EncoderModel

    body = T5EncoderModel(model.config)
    body.load_state_dict({k: v for k, v in model.state_dict().items() if k.startswith(("shared.", "encoder."))})
    return body.eval()


def _new_model(
    arch: str, options: Mapping[str, Value], objective: str, sizes: NetworkSizes, tokenizer: Any, window: int
) -> Any:
    from transformers import (
        BertConfig,
        BertForMaskedLM,
        BertForPreTraining,
        GPT2Config,
        GPT2LMHeadModel,
        MambaConfig,
        MambaForCausalLM,
        T5Config,
        T5ForConditionalGeneration,
    )

    H, L, dropout = sizes.hidden, sizes.layers, float(options.get("dropout", 0.0))
    ends = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "bos", "eos")}
    common = {"vocab_size": len(tokenizer), **ends}
    if objective == "electra":
        return new_electra(
            vocabulary=len(tokenizer), layers=L, hidden=H, heads=sizes.heads, window=window, dropout=dropout, ends=ends
        )
    if arch == "bert":
        config = BertConfig(
            hidden_size=H, num_hidden_layers=L, num_attention_heads=sizes.heads, intermediate_size=4 * H,
            max_position_embeddings=window, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout, **common,
        )  # fmt: skip
        return (BertForPreTraining if objective in PAIRED else BertForMaskedLM)(config)
    if arch == "gpt":
        config = GPT2Config(
            n_embd=H, n_layer=L, n_head=sizes.heads, n_positions=window, resid_pdrop=dropout, embd_pdrop=dropout,
            attn_pdrop=dropout, **common,
        )  # fmt: skip
        return GPT2LMHeadModel(config)
    if arch == "mamba":
        config = MambaConfig(
            hidden_size=H, num_hidden_layers=L, state_size=int(options["state"]), tie_word_embeddings=True, **common
        )
        return with_scan(MambaForCausalLM(config))
    if arch == "t5":
        config = T5Config(
            d_model=H, d_kv=H // sizes.heads, d_ff=4 * H, num_layers=L, num_heads=sizes.heads, dropout_rate=dropout,
            decoder_start_token_id=tokenizer.pad_token_id, **common,
        )  # fmt: skip
        return T5ForConditionalGeneration(config)
    config = SequenceConfig(
        arch, hidden_size=H, num_hidden_layers=L, num_attention_heads=sizes.heads, max_position_embeddings=window,
        state_size=int(options.get("state", 32)), parameter_tokens=int(options.get("tokens", 0)) or H,
        meta_tokens=int(options.get("meta", 0)), words_before=int(options.get("words", 0)), dropout=dropout,
        causal=objective == "clm" and arch != "elmo", tie_word_embeddings=arch != "elmo",
        choices=asdict(choices_of(options)) if arch == "transformer" else None, **common,
    )  # fmt: skip
    model = SequenceLM(config)
    if arch == "elmo":
        model.body.embeddings.characters.copy_(spelling(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))))
    return model
