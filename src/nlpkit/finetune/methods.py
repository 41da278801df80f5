"""The methods of fine-tuning by name, and their spelling with options: `lora(r=8,alpha=16)`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Literal

from nlpkit.errors import UsageError, unknown_value
from nlpkit.finetune.patterns import options as pet_options
from nlpkit.platform.named_options import SPELLING, Value, options_of, spelled

Family = Literal["full", "head", "peft", "adapter", "setfit", "pet", "tfew"]


@dataclass(frozen=True, slots=True)
class MethodKind:
    """A method, declared once: what it trains, reads and writes, and which options it has a use for.

    family: of methods that are trained and read alike. summary: what it does, with its source.
    rate, head_rate: of learning; None: as `rate`.
    trains: all parameters; some that are added to a frozen body, with the head; or the head alone, for which the body runs once.
    learns: any task; classes of one text each (`plain`); or one class of a text or pair (`single`), by patterns.
    uses: the options among `REFUSALS` that it has a use for, and `dev` where dev documents end its training.
    check: "module:function" that raises UsageError for (name, options); DEFAULTS of the module has the options. "": it has none.
    folder: of its model in a run. merges: what it adds can be added to the weights. decoder: its base has one.
    """

    family: Family
    summary: str
    rate: float
    head_rate: float | None = None
    trains: Literal["all", "some", "head"] = "some"
    learns: Literal["any", "plain", "single"] = "any"
    uses: frozenset[str] = frozenset()
    check: str = ""
    folder: str = ""
    merges: bool = False
    decoder: bool = False


_NETWORK = frozenset({"dev", "pooling", "head_lr"})
_ADDED = _NETWORK | {"quantize"}
_PATTERNS = frozenset({"dev", "head_lr", "patterns"})
_full_kind = partial(MethodKind, "full", trains="all", uses=_NETWORK, folder="transformers")
_head_kind = partial(MethodKind, "head", uses=_NETWORK, folder="adapter")
_peft_kind = partial(
    MethodKind,
    "peft",
    head_rate=5e-4,
    uses=_ADDED,
    check="nlpkit.finetune.adapters.peft_modules:resolve",
    folder="peft",
)
_lora_kind = partial(_peft_kind, rate=1e-3, uses=_ADDED | {"merge"}, merges=True)
_adapter_kind = partial(
    MethodKind,
    "adapter",
    head_rate=5e-4,
    uses=_ADDED,
    check="nlpkit.finetune.adapters.insert:resolve",
    folder="adapter",
)
_setfit_kind = partial(
    MethodKind, "setfit", rate=2e-5, head_rate=1e-2, trains="all", learns="plain", uses=frozenset({"export"}),
    check="nlpkit.finetune.setfit.setfit:check_options", folder="setfit",
)  # fmt: skip
_pet_kind = partial(
    MethodKind, "pet", rate=5e-5, trains="all", learns="single", uses=_PATTERNS | {"unlabelled"},
    check="nlpkit.finetune.patterns.options:check_options", folder="patterns",
)  # fmt: skip

KINDS: dict[str, MethodKind] = {
    "full": _full_kind("all parameters (Devlin et al. 2019)", 5e-5),
    "head": _head_kind("the body stays as it is, the head learns from its output", 2e-3, trains="head"),
    "bitfit": _head_kind("biases and the head, all matrices stay as they are (Ben Zaken et al. 2022)", 1e-3, 5e-4),
    "lora": _lora_kind("low-rank updates of query and value (Hu et al. 2022)"),
    "dora": _lora_kind("LoRA of directions, and magnitudes (Liu et al. 2024)"),
    "ia3": _peft_kind("factors of keys, values and the inner layer (Liu et al. 2022)", 5e-3, merges=True),
    "prefix": _peft_kind("vectors before the keys and values of every layer (Li & Liang 2021)", 1e-2),
    "prompt": _peft_kind("vectors before the text (Lester et al. 2021)", 3e-2),
    "pfeiffer": _adapter_kind("a bottleneck after the feed-forward layer (Pfeiffer et al. 2021)", 1e-3),
    "houlsby": _adapter_kind("bottlenecks after attention and feed-forward layer (Houlsby et al. 2019)", 1e-3),
    "parallel": _adapter_kind("a bottleneck beside the feed-forward layer (He et al. 2022)", 5e-4),
    "compacter": _adapter_kind("bottlenecks of Kronecker products (Mahabadi et al. 2021)", 3e-3),
    "compacter++": _adapter_kind("the same, after the feed-forward layer only", 3e-3),
    "mam": _adapter_kind("prefix and parallel bottleneck: mix-and-match (He et al. 2022)", 5e-4),
    "unipelt": _adapter_kind("prefix, LoRA and bottleneck behind gates (Mao et al. 2022)", 5e-4),
    "setfit": _setfit_kind("a sentence encoder by pairs, then a classifier (Tunstall et al. 2022)"),
    "pet": _pet_kind("words that fill the gap of a pattern stand for the classes (Schick & Schütze 2021)"),
    "ipet": _pet_kind("PET in generations, each labelling texts for the next (Schick & Schütze 2021)"),
    "petapter": _pet_kind(
        "PET's gaps with adapters and a small head for the words (Rieger et al. 2024)", rate=1e-3, head_rate=5e-4,
        trains="some", uses=_PATTERNS,
    ),
    "adasent": _setfit_kind(
        "SetFit after masked words of the domain (Huang et al. 2023)", uses=frozenset({"export", "unlabelled"}),
        check="nlpkit.finetune.setfit.options:check_options",
    ),
    "tfew": MethodKind(
        "tfew", "(IA)³ with three losses in a model with a decoder (Liu et al. 2022)", 3e-3, learns="single", uses=_PATTERNS,
        check="nlpkit.finetune.patterns.options:check_options", folder="peft", decoder=True,
    ),
}  # fmt: skip
ADAPTERS = tuple(n for n, kind in KINDS.items() if kind.family == "adapter" or kind.merges)  # that petapter takes
MERGED = tuple(name for name, kind in KINDS.items() if kind.merges)


def users(option: str, last: str = "and") -> str:
    """Return the names of the methods that have a use for an option, as messages list them."""
    *names, final = (name for name, kind in KINDS.items() if option in kind.uses)
    return f"{', '.join(names)} {last} {final}"


def _methods(option: str, last: str = "and") -> str:
    return re.sub(r"^\w+", r"`method=\g<0>`", users(option, last))


# What is said of an option that the methods have no use for
REFUSALS = {
    "merge": f"`merge` adds the updates of {users('merge', 'or')} to the weights; it goes with {_methods('merge', 'or')}",
    "export": "`export` writes a folder for the setfit library; for other methods, the library loads model/ directly",
    "quantize": "`quantize={value}` freezes the base, and `method={method}` adds no trainable weights; use one of "
    + ", ".join(name for name, kind in KINDS.items() if "quantize" in kind.uses),
    "patterns": f"`patterns` is for {_methods('patterns')}; leave it out",
    "unlabelled": f"`unlabelled` is for {_methods('unlabelled')}; leave it out",
    "pooling": "`pooling` needs a method with a new head, and {method} has none; leave it out",
    "head_lr": "`head_lr` is for networks; for setfit, use setfit(head=differentiable,head_rate=0.01)",
}
ELSEWHERE: dict[str, str] = {
    "qlora": "lora on a base of 4 bits: `method=lora` with `quantize=nf4`",
    "dpo": "an objective of `train_encoder()`, for causal language models",
}
ALIASES = {
    "adapter": "pfeiffer",
    "bottleneck": "pfeiffer",
    "(ia)3": "ia3",
    "prefix-tuning": "prefix",
    "prompt-tuning": "prompt",
}
ADAPTER = "pfeiffer"  # of `petapter`, where none is named


@dataclass(frozen=True, slots=True)
class Material:
    """What a method would learn from.

    plain: classes of one text each, see `FinetuneDataset.plain`. soft: shares of labels. context: texts around each text.
    patterns: how many, None: no file of them. unlabelled: there are texts without labels. seq2seq: the base has a decoder.
    """

    task: str
    plain: bool
    soft: bool
    context: bool
    patterns: int | None
    unlabelled: bool
    seq2seq: bool


@dataclass(frozen=True, slots=True)
class Method:
    """A method with all its options in force."""

    name: str
    options: Mapping[str, Value]

    @property
    def kind(self) -> MethodKind:
        """The kind of the method; `petapter` has the rates of its adapters."""
        kind = KINDS[self.name]
        if self.name != "petapter":
            return kind
        adapter = KINDS[str(self.options["adapter"])]
        return replace(kind, rate=adapter.rate, head_rate=adapter.head_rate)

    def refuses(self, material: Material) -> str:
        """Return why it cannot learn, "" where it can."""
        kind, name = self.kind, self.name
        if material.seq2seq != kind.decoder:
            lacks = "has no decoder, and tfew needs one, such as T5's"
            return f"{name}: the base {lacks if kind.decoder else 'has a decoder, which only tfew trains'}"
        if kind.learns == "plain" and not material.plain:
            return f"{name} learns classes from one text a document, not ordered ones, numbers, words, answers, pairs or context"
        if material.soft and (kind.learns == "single" or self.options.get("head") == "differentiable"):
            return f"{self.spelling} learns one label a document, and `annotators` make soft labels"
        if kind.learns != "single":
            return ""
        if material.task != "single" or material.context:
            return f"{name} learns one class for each text or pair, not several labels, numbers, words or context"
        if material.patterns is None:
            return f"{name} needs patterns that the texts are put into, and `patterns` names no file"
        if name == "ipet" and (not material.unlabelled or material.patterns < 2):
            return "ipet needs texts without labels (`unlabelled`) and two or more patterns, whose models label them for each other"
        return ""

    @property
    def spelling(self) -> str:
        """The method with the options that differ from its defaults, as `parse_method` reads it."""
        adapter = str(self.options["adapter"]) if self.name == "petapter" else ADAPTER
        usual = defaults(self.name, adapter)
        changed = [] if adapter == ADAPTER else [adapter]
        changed += [f"{key}={spelled(value)}" for key, value in self.options.items() if value != usual[key]]
        return f"{self.name}({','.join(changed)})" if changed else self.name


def defaults(name: str, adapter: str = ADAPTER) -> Mapping[str, Value]:
    """Return the options of a method with their defaults; of `petapter` those of an adapter method are its own."""
    if name == "petapter":
        return {"adapter": adapter, "head": pet_options.HEADS[0], **defaults(adapter)}
    check = KINDS[name].check
    return dict(import_module(check.partition(":")[0]).DEFAULTS[name]) if check else {}


def parse_method(text: str) -> Method:
    """Return the method that is spelled like `lora` or `lora(r=8,alpha=16)`.

    Raises:
        UsageError: no such method or option, or a value of another type.
    """
    match = SPELLING.fullmatch(text)
    if match is None:
        raise UsageError(f"`method={text}`: a name was needed, with options in brackets, such as lora(r=8,alpha=16)")
    name = match["name"].lower()
    name = ALIASES.get(name, name)
    if name in ELSEWHERE:
        raise UsageError(f"`method={name}` is {ELSEWHERE[name]}", parameter="method")
    if name not in KINDS:
        raise unknown_value("method", name, KINDS)
    inside, adapter = match["options"], ADAPTER
    if name == "petapter":
        adapter, inside = _adapter(inside or "", text)
    options = options_of(inside, defaults(name, adapter), f"`method={text}`", name)
    _check(name, options)
    return Method(name, options)


def _adapter(inside: str, text: str) -> tuple[str, str]:
    """Return the adapter method in front of the options of `petapter`, and these. Raises UsageError for one that does not go into it."""
    first, _, rest = inside.partition(",")
    adapter = first.strip().lower()
    if not adapter or "=" in adapter:
        return ADAPTER, inside
    adapter = ALIASES.get(adapter, adapter)
    if adapter not in ADAPTERS:
        known = ", ".join(ADAPTERS)
        raise UsageError(
            f"`method={text}`: petapter takes one of {known}, as in petapter(lora,r=4)", parameter="method"
        )
    return adapter, rest


def _check(name: str, options: Mapping[str, Value]) -> None:
    """Raise UsageError for the value of an option that no model could take."""
    if name == "petapter":
        if options["adapter"] not in ADAPTERS:
            raise unknown_value("method", options["adapter"], ADAPTERS)
        if options["head"] not in pet_options.HEADS:
            raise UsageError(
                f"petapter(head={options['head']}): the head is one of {', '.join(pet_options.HEADS)}",
                parameter="method",
            )
        _check(str(options["adapter"]), pet_options.adapter_options(options))
    elif KINDS[name].check:
        module, _, function = KINDS[name].check.partition(":")
        getattr(import_module(module), function)(name, options)


def check_use(option: str, methods: Sequence[Method], value: object = None, *, each: bool = False) -> None:
    """Raise UsageError for an option that no method, with `each` not every method, has a use for."""
    idle = [method for method in methods if option not in method.kind.uses]
    if len(idle) == len(methods) or (each and idle):
        name = idle[0].name if idle else ""
        raise UsageError(REFUSALS[option].format(method=name, value=value), parameter=option)


def parse_methods(text: str) -> list[Method]:
    """Return the methods of a list such as `full,lora(r=4),setfit`; `all` in it stands for every one."""
    parts = [part.strip() for part in re.split(r",(?![^()]*\))", text) if part.strip()]
    methods = [parse_method(name) for part in parts for name in (KINDS if part == "all" else [part])]
    if not methods:
        raise UsageError(f"`method={text}`: a name is needed; give some of {', '.join(KINDS)}, or all")
    spelled = [method.spelling for method in methods]
    twice = next((s for s in spelled if spelled.count(s) > 1), None)
    if twice is not None:
        raise UsageError(f"`method`: {twice} occurs twice")
    return methods
