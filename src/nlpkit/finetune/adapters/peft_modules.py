"""The adapters of the peft library: LoRA, DoRA, (IA)³, prefix and prompt tuning, in files that other tools load.

peft knows a few kinds of models by name; here it is given the places for all of architectures.MODEL_TYPES, and the
head, a pooler before the classifier among it, is trained and saved with the rest (`modules_to_save`).

Parts, in this order:
- What peft adds to a network, and what is trained and saved of it.
- DoRA (Liu et al. 2024) with the norms of its directions from factors.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

import torch
from peft.tuners.lora.dora import DoraLinearLayer
from torch import Tensor

from nlpkit.errors import UsageError, unknown_value
from nlpkit.finetune.training.architectures import PARTS, Architecture, check_attention, describe, without_head
from nlpkit.finetune.training.engine import in_fp32

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


# ------------------------------------------------------------------------------------------------------------------------
# DoRA (Liu et al. 2024) with the norms of its directions from factors.
#
# Each row of W + s B A is scaled to a trained magnitude m, its norm taken for a constant (§4.3). peft 0.21 makes the matrix B A and its
# sum with W for each part of a batch; of W (out, in), A (r, in) and B (out, r), all that the norm of row i needs is
#
# ‖w_i + s b_i A‖² = ‖w_i‖² + 2 s b_i (W Aᵀ)_i + s² b_i (A Aᵀ) b_i


def use_factors(model: Any) -> None:
    """Let the DoRA layers of a peft model compute as here; what they train and save is the same."""
    for module in model.modules():
        if type(module) is DoraLinearLayer:
            module.__class__ = FactoredDora


class FactoredDora(DoraLinearLayer):  # type: ignore[misc]
    """A layer of peft, which adds to the result of the base."""

    _squares: Tensor | None = None

    def forward(
        self, x: Tensor, *, lora_A: Any, lora_B: Any, scaling: float, base_layer: Any, base_result: Tensor | None = None, **_: Any
    ) -> Tensor:  # fmt: skip
        """Return (m / ‖w + s B A‖ - 1) W x + m / ‖w + s B A‖ · s B A x of x (…, in): (…, out).

        base_result: W x + b, where x is what the base saw; None: with dropout.
        """
        if base_result is None:
            base_result = base_layer(x)
        scale = self.weight / self._norms(base_layer, lora_A.weight, lora_B.weight, scaling)
        change = base_result * (scale - 1)
        if base_layer.bias is not None:
            change = change - base_layer.bias * (scale - 1)
        return torch.addcmul(change, lora_B(lora_A(x)).to(change.dtype), scale * scaling)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def _norms(self, base_layer: Any, a: Tensor, b: Tensor, scaling: float) -> Tensor:
        """Return the norms of the rows of W + s B A, (out,)."""
        with in_fp32(a.device):
            w = base_layer.weight.float()
            w = w.T if self.fan_in_fan_out else w
            if self._squares is None or self._squares.device != w.device:
                self._squares = w.square().sum(dim=1)
            mixed = 2 * scaling * (w @ a.T) + scaling**2 * (b @ (a @ a.T))
            return (self._squares + (mixed * b).sum(dim=1)).clamp_(min=0).sqrt()
