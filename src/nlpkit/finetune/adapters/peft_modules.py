"""The adapters of the peft library: LoRA, DoRA, (IA)³, prefix and prompt tuning, in files that other tools load.

peft knows a few kinds of models by name; here it is given the places for all of architectures.MODEL_TYPES, and the
head, a pooler before the classifier among it, is trained and saved with the rest (`modules_to_save`).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

from nlpkit.errors import UsageError, unknown_value
from nlpkit.finetune.training.architectures import PARTS, Architecture, check_attention, describe, without_head

_LORA = {"r": 8, "alpha": 16.0, "dropout": 0.0, "targets": "q+v"}
DEFAULTS: dict[str, dict[str, Any]] = {
    "lora": _LORA,
    "dora": _LORA,
    "ia3": {"targets": "k+v+down"},
    "prefix": {"length": 30},
    "prompt": {"length": 20, "init": "vocab"},
}
PREFIX_TYPES = ("bert", "roberta", "xlm-roberta")  # and gpt2
PROMPT_INITS = ("vocab", "random")


def in_order(adapted: Any) -> Any:
    """Return a model of peft whose configuration names its modules in order: it holds sets, whose order differs between processes."""
    for config in adapted.peft_config.values():
        for name in ("target_modules", "feedforward_modules"):
            if isinstance(getattr(config, name, None), set):
                setattr(config, name, sorted(getattr(config, name)))
    return adapted


def apply_peft(model: Any, name: str, options: Mapping[str, Any] | None = None, *, seed: int, head: bool = True) -> Any:
    """Return a peft model of a transformers encoder, with or without a head, in which few parameters require gradients.

    name     lora (Hu et al. 2022), dora (Liu et al. 2024), ia3 (Liu et al. 2022), prefix (Li & Liang 2021), prompt
             (Lester et al. 2021)
    options  of DEFAULTS. targets: which of q, k, v, o (attention) and up, down (FFN), joined by +. A model in which one
             matrix makes q, k and v (DeBERTa, ModernBERT) has all three adapted for any of them
    seed     of the first values of what is added; the global generators are left as they were
    head     the head is trained, too; else it is frozen like the body

    Raises UsageError for an unknown method or option, a value that cannot be, or a model the method does not work for.
    """
    import torch
    from peft import get_peft_model

    chosen = resolve(name, options or {})
    architecture = describe(model) if head else without_head(describe(model))
    check(model, name, architecture)
    widest = {"r": architecture.hidden_size, "length": int(getattr(model.config, "max_position_embeddings", 0) or 512)}
    for key, most in widest.items():
        value = chosen.get(key, 0)
        _need(value <= most, name, key, value, f"at most {most} for this base")
    if (
        name in ("lora", "dora")
        and architecture.model_type == "mamba"
        and {"o", "down"} & set(split_targets(chosen["targets"]))
    ):
        raise UsageError(
            f"{name}: peft puts no low-rank update into W_out of Mamba; targets are q, k, v and up", parameter="method"
        )
    config = _config(model, name, chosen, architecture)
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.random.default_generator.manual_seed(seed)
        wrapped = get_peft_model(model, config)
    if name == "dora":
        from nlpkit.finetune.adapters.dora import use_factors

        use_factors(wrapped)
    return wrapped


def check(model: Any, name: str, architecture: Architecture | None = None) -> None:
    """Raise UsageError when a method, or peft's version of it, does not work for this kind of model."""
    architecture = architecture or describe(model)
    if name == "prefix":
        check_attention(architecture)
    if name == "prefix" and architecture.model_type not in (*PREFIX_TYPES, "gpt2"):
        raise UsageError(
            f"peft's prefix tuning works for {', '.join(PREFIX_TYPES)} and gpt2; the base is of type '{architecture.model_type}'. "
            "Choose `method=mam` or unipelt, which have a prefix of our own, or lora",
            parameter="method",
        )


def resolve(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of a method, defaults filled in. Raises UsageError for one that is unknown or cannot be."""
    if name not in DEFAULTS:
        raise unknown_value("method", name, DEFAULTS)
    known = DEFAULTS[name]
    for key, value in options.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if key not in known:
            raise UsageError(f"{name} has no option '{key}' (known: {', '.join(known)})", parameter="method")
        if key in ("r", "length"):
            _need(number and value == int(value) and value >= 1, name, key, value, "a whole number of 1 or more")
        elif key == "alpha":
            _need(number and value > 0, name, key, value, "a number above 0")
        elif key == "dropout":
            _need(number and 0 <= value < 1, name, key, value, "at least 0 and below 1")
        elif key == "init":
            _need(value in PROMPT_INITS, name, key, value, f"one of {', '.join(PROMPT_INITS)}")
        else:
            good = bool(split_targets(value)) and set(split_targets(value)) <= set(PARTS)
            _need(good, name, key, value, f"some of {', '.join(PARTS)} joined by +")
    return {**known, **options}


def split_targets(targets: Any) -> list[str]:
    """Return the parts of a string such as `q+v`."""
    return [part for part in re.split(r"[+,\s]+", targets.lower()) if part] if isinstance(targets, str) else []


def merge(model: Any) -> Any:
    """Return the transformers model with LoRA, DoRA or (IA)³ added into its weights, W ← W + s A B (Hu et al. 2022, §4.1).

    The peft model cannot be used afterwards. Raises UsageError for prefix and prompt tuning, which have no such weights.
    """
    if model.active_peft_config.is_prompt_learning:
        raise UsageError("only lora, dora and ia3 can be merged into the base; leave `merge` out", parameter="merge")
    _unwrap_heads(model)
    return model.merge_and_unload()


def _unwrap_heads(model: Any) -> None:
    """Put the trained head where peft's wrapper is: merging (IA)³, peft 0.21 fails on a head of several layers."""
    from peft.utils.other import ModulesToSaveWrapper

    for name, module in list(model.named_modules()):
        if isinstance(module, ModulesToSaveWrapper):
            parent, _, leaf = name.rpartition(".")
            setattr(model.get_submodule(parent), leaf, module.modules_to_save[module.active_adapters[0]])


def virtual_tokens(model: Any) -> int:
    """Return how many tokens a method puts before the text: outputs per token have as many more rows.

    The text must leave them room among the model's positions.
    """
    config = model.active_peft_config
    return int(config.num_virtual_tokens) if type(config).__name__ == "PromptTuningConfig" else 0


def _need(good: bool, method: str, name: str, value: Any, needed: str) -> None:
    if not good:
        raise UsageError(f"{method}: {name} must be {needed}; it is {value!r}", parameter="method")


def _task_type(model: Any) -> str:
    kinds = {
        "ForSequenceClassification": "SEQ_CLS",
        "ForTokenClassification": "TOKEN_CLS",
        "ForQuestionAnswering": "QUESTION_ANS",
    }
    return next((task for end, task in kinds.items() if type(model).__name__.endswith(end)), "FEATURE_EXTRACTION")


def _pattern(architecture: Architecture, parts: list[str]) -> str:
    """Return the regular expression of the full names of some parts in all layers."""
    inside = sorted({architecture.targets[part] for part in parts})
    names = "|".join(re.escape(name) for name in inside)
    return rf"(?:.*\.)?{re.escape(architecture.layer_list)}\.\d+\.(?:{names})"


def _config(model: Any, name: str, options: Mapping[str, Any], architecture: Architecture) -> Any:
    import peft

    shared: dict[str, Any] = {
        "task_type": _task_type(model),
        "modules_to_save": list(architecture.head_modules) or None,
    }
    if name in ("lora", "dora"):
        return peft.LoraConfig(
            r=int(options["r"]),
            lora_alpha=options["alpha"],
            lora_dropout=options["dropout"],
            target_modules=_pattern(architecture, split_targets(options["targets"])),
            use_dora=name == "dora",
            **shared,
        )
    if name == "ia3":
        parts = split_targets(options["targets"])
        inner = [part for part in parts if part in ("up", "down")]
        return peft.IA3Config(
            target_modules=_pattern(architecture, parts),
            feedforward_modules=_pattern(architecture, inner) if inner else [],
            **shared,
        )
    sizes: dict[str, Any] = {
        "num_virtual_tokens": int(options["length"]),
        "token_dim": architecture.hidden_size,
        "num_layers": len(architecture.layers),
        "num_attention_heads": architecture.heads,
        "num_transformer_submodules": 1,
    }
    if name == "prefix":
        return peft.PrefixTuningConfig(encoder_hidden_size=architecture.hidden_size, **sizes, **shared)
    init = "SAMPLE_VOCAB" if options["init"] == "vocab" else "RANDOM"
    return peft.PromptTuningConfig(prompt_tuning_init=init, **sizes, **shared)
