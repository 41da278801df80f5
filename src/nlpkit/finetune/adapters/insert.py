"""Adapters put into a frozen encoder and taken out again: which modules each method has, and where they are hooked in.

    pfeiffer     z ← z + Δ(LN(z)) before the FFN's LayerNorm, z its residual sum (Pfeiffer et al. 2021; SeqBnConfig)
    houlsby      h ← h + Δ(h) after attention and after FFN (Houlsby et al. 2019, Fig. 2; DoubleSeqBnConfig)
    parallel     h ← h + s Δ(x) beside the FFN, x its input (He et al. 2022, §4.6; ParBnConfig)
    compacter    as houlsby, compacter++ as pfeiffer, with PHM matrices (Mahabadi et al. 2021)
    mam          prefix + parallel (He et al. 2022, §4.7)
    unipelt      prefix + LoRA on q and v + pfeiffer, each with a gate (Mao et al. 2022)

In ModernBERT, GPT-2 and Mamba, where no LayerNorm follows the sum, pfeiffer's place is the output of the layer: h ← h + Δ(h).
Names in brackets are those of the adapters library, whose defaults and counts of parameters these have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import nn

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.finetune.adapters.bottleneck import (
    ACTIVATIONS,
    INITS,
    AdapterGate,
    Delta,
    Lora,
    bottleneck,
    compacter,
    phm_rule,
)
from nlpkit.finetune.adapters.prefix import Attached, Prefix, check_prefix
from nlpkit.finetune.training.architectures import Architecture, Layer, describe, without_head

if TYPE_CHECKING:
    from torch import Generator, Tensor

_BOTTLENECK = {"r": 0, "reduction": 16, "activation": "relu", "scaling": 1.0, "init": "bert"}
_PHM = {"r": 0, "reduction": 32, "activation": "gelu", "scaling": 1.0, "n": 4}
_PARALLEL = {"r": 0, "reduction": 2, "activation": "relu", "scaling": 4.0, "init": "mam"}
DEFAULTS: dict[str, dict[str, Any]] = {
    "pfeiffer": _BOTTLENECK,
    "houlsby": {**_BOTTLENECK, "activation": "swish"},
    "parallel": _PARALLEL,
    "compacter": _PHM,
    "compacter++": _PHM,
    "mam": {"prefix_length": 30, **_PARALLEL},
    "unipelt": {"prefix_length": 10, **_BOTTLENECK, "lora_r": 8, "lora_alpha": 16.0},
}
MOST_PREFIX = 4096  # it takes no positions, but memory
_WHOLE = ("r", "reduction", "n", "prefix_length", "lora_r")
_ROOT = "nlpkit_adapters"


class Inserted:
    """A model with adapters in it: what is trained, its names, and the way back.

    Names are those of the place, as `layer.3.output.adapter.down.weight`, and `head.` before a head parameter's own.
    """

    def __init__(self, model: Any, method: str, options: dict[str, Any], architecture: Architecture) -> None:
        self.model, self.method, self.options, self.architecture = model, method, options, architecture
        self._trained_before = {name: p.requires_grad for name, p in model.named_parameters()}
        self._handles: list[Any] = []

    def parameters(self) -> dict[str, nn.Parameter]:
        """Return the trained parameters by name: the adapters', then the head's."""
        adapters = dict(getattr(self.model, _ROOT).named_parameters())
        return adapters | {f"head.{name}": self.model.get_parameter(name) for name in self.architecture.head}

    def state(self) -> dict[str, Tensor]:
        """Return a copy of the trained parameters, on the CPU."""
        return {name: p.detach().cpu().clone() for name, p in self.parameters().items()}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take over the values of a `state`. Raises InputError unless names and shapes are the same."""
        import torch

        parameters = self.parameters()
        wrong = sorted(parameters.keys() ^ state.keys()) or [
            name for name, p in parameters.items() if p.shape != state[name].shape
        ]
        if wrong:
            shapes = "; ".join(
                f"{name}: {_shape(parameters, name)} here, {_shape(state, name)} there" for name in wrong[:3]
            )
            raise InputError(
                f"these weights do not fit {self.method} in this model ({shapes}). Load them with the base and "
                "options of their training"
            )
        with torch.no_grad():
            for name, p in parameters.items():
                p.copy_(state[name])

    def remove(self) -> None:
        """Take all hooks and modules out; base parameters are trained or frozen as they were before."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        if hasattr(self.model, _ROOT):
            delattr(self.model, _ROOT)
        for name, p in self.model.named_parameters():
            p.requires_grad_(self._trained_before[name])

    def _put(self, layer: Layer, modules: nn.Module) -> None:
        """Hook the modules of one layer in."""
        get = self.model.get_submodule
        if "query" in modules:
            self._after(get(layer.query), modules["query"]["lora"].beside)
        if "value" in modules:
            self._after(get(layer.value), modules["value"]["lora"].beside)
        if "prefix" in modules["attention"]:
            self._handles.append(Attached(self.model, self.architecture, layer, modules["attention"]["prefix"]))
        if "adapter" in modules["attention"]:
            self._after(get(layer.attention_out), modules["attention"]["adapter"].after)
        adapter: Delta = modules["output"]["adapter"]
        if self.method in ("houlsby", "compacter"):
            self._after(get(layer.ffn_out), adapter.after)
        elif self.method in ("parallel", "mam"):
            if self.architecture.ffn_takes_residual:
                self._before(get(layer.ffn), adapter.beside_residual)
            else:
                self._after(get(layer.ffn), adapter.beside)
        elif layer.ffn_norm is None:
            self._after(get(layer.whole), adapter.after)
        else:
            self._before(get(layer.ffn_norm), adapter.around_norm)

    def _after(self, module: nn.Module, hook: Any) -> None:
        self._handles.append(module.register_forward_hook(hook))

    def _before(self, module: nn.Module, hook: Any) -> None:
        self._handles.append(module.register_forward_pre_hook(hook))


def insert(
    model: Any, method: str, options: Mapping[str, Any] | None = None, *, generator: Generator, head: bool = True
) -> Inserted:
    """Freeze a transformers encoder but for its head, put the adapters of a method into it and return them.

    method     a key of DEFAULTS; options override its defaults. The bottleneck is r, or d / reduction when r is 0
    generator  on the CPU; the adapters' first values depend on it alone
    head       the head is trained, too; else it is frozen like the body

    Raises UsageError for an unknown method or option, a value that cannot be, a kind of model adapters do not go into,
    or a model that has adapters already.
    """
    chosen = resolve(method, options or {})
    architecture = describe(model) if head else without_head(describe(model))
    if hasattr(model, _ROOT):
        raise UsageError("this model already has adapters; remove() them first")
    d = architecture.hidden_size
    for name, most in {"r": 4 * d, "n": d, "lora_r": d, "prefix_length": MOST_PREFIX}.items():
        value = chosen.get(name, 0)
        _need(value <= most, method, name, value, f"at most {most} for this base")
    if "prefix_length" in chosen:
        check_prefix(model, architecture)
    if method in ("houlsby", "compacter") and not architecture.attention:
        raise UsageError(
            f"{method} goes behind attention and feed-forward layer, and a layer of {architecture.model_type} is one part; choose "
            f"{'pfeiffer' if method == 'houlsby' else 'compacter++'}",
            parameter="method",
        )
    root = _build(method, chosen, architecture, generator)
    inserted = Inserted(model, method, chosen, architecture)
    weight = model.get_submodule(architecture.layers[0].ffn_down).weight
    for name, p in model.named_parameters():
        p.requires_grad_(name in architecture.head)
    model.add_module(_ROOT, root.to(device=weight.device, dtype=weight.dtype).train(model.training))
    for layer, modules in zip(architecture.layers, root.layer, strict=True):
        inserted._put(layer, modules)
    return inserted


def count(model: Any, method: str, options: Mapping[str, Any] | None = None) -> int:
    """Return how many parameters a method trains in a model, its head among them; the model is left as it was."""
    import torch

    inserted = insert(model, method, options, generator=torch.Generator())
    try:
        return sum(p.numel() for p in inserted.parameters().values())
    finally:
        inserted.remove()


def resolve(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of a method, defaults filled in. Raises UsageError for one that is unknown or cannot be."""
    if method not in DEFAULTS:
        raise unknown_value("method", method, DEFAULTS)
    known = DEFAULTS[method]
    for name, value in options.items():
        if name not in known:
            raise UsageError(f"{method} has no option '{name}' (known: {', '.join(known)})", parameter="method")
        if name in _WHOLE:
            least = 0 if name == "r" else 1
            good = isinstance(value, int) and not isinstance(value, bool) and value >= least
            _need(good, method, name, value, f"a whole number of {least} or more")
        elif name == "activation":
            _need(value in ACTIVATIONS, method, name, value, f"one of {', '.join(ACTIVATIONS)}")
        elif name == "init":
            _need(value in INITS, method, name, value, f"one of {', '.join(INITS)}")
        else:
            good = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
            _need(good, method, name, value, "a number above 0")
    if options.get("r") and options.get("reduction", known["reduction"]) != known["reduction"]:
        raise UsageError(
            f"{method}: give r or reduction, not both; r is the bottleneck's size, reduction is d / r",
            parameter="method",
        )
    return {**known, **options}


def _need(good: bool, method: str, name: str, value: Any, needed: str) -> None:
    if not good:
        raise UsageError(f"{method}: {name} must be {needed}; it is {value!r}", parameter="method")


def _shape(tensors: Mapping[str, Tensor], name: str) -> str:
    return "×".join(map(str, tensors[name].shape)) if name in tensors else "none"


def _build(method: str, options: Mapping[str, Any], architecture: Architecture, generator: Generator) -> nn.Module:
    """Return the modules of all layers, named by their places, not yet hooked in."""
    d, heads = architecture.hidden_size, architecture.heads
    gated = method == "unipelt"
    root = nn.Module()
    rule = None
    if "n" in options:
        root.shared = nn.ParameterDict({"rule": phm_rule(options["n"], generator=generator)})
        rule = root.shared["rule"]
    r = _size(d, options)

    def gate() -> AdapterGate | None:
        return AdapterGate(d, generator=generator) if gated else None

    def adapter() -> Delta:
        shared = {"activation": options["activation"], "scaling": options["scaling"], "generator": generator}
        if rule is not None:
            return compacter(d, r, rule=rule, **shared)
        return bottleneck(d, r, init=options["init"], gate=gate(), **shared)

    def lora(*places: int, fused: str = "") -> Lora:
        return Lora(
            d, options["lora_r"], alpha=options["lora_alpha"], generator=generator, places=places, fused=fused,
            heads=heads, gated=True,
        )  # fmt: skip

    root.layer = nn.ModuleList()
    for _ in architecture.layers:
        modules = nn.ModuleDict({"attention": nn.ModuleDict(), "output": nn.ModuleDict()})
        if "prefix_length" in options:
            prefix = Prefix(d, options["prefix_length"], heads, generator=generator, gate=gate())
            modules["attention"]["prefix"] = prefix
        if gated and architecture.fused:
            modules["query"] = nn.ModuleDict({"lora": lora(0, 2, fused=architecture.fused)})
        elif gated:
            modules["query"] = nn.ModuleDict({"lora": lora(0)})
            modules["value"] = nn.ModuleDict({"lora": lora(0)})
        if method in ("houlsby", "compacter"):
            modules["attention"]["adapter"] = adapter()
        modules["output"]["adapter"] = adapter()
        root.layer.append(modules)
    return root


def _size(d: int, options: Mapping[str, Any]) -> int:
    """Return the bottleneck's size r; from a reduction it is at least 1, and for PHM a multiple of n."""
    if options["r"]:
        return int(options["r"])
    n = int(options.get("n", 1))
    return max(d // int(options["reduction"]) // n * n, n)
