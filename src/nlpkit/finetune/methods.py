"""The methods of fine-tuning by name, and their spelling with options: `lora(r=8,alpha=16)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from nlpkit.errors import UsageError, unknown_value
from nlpkit.finetune import pet_options

Family = Literal["full", "head", "peft", "adapter", "setfit", "pet", "tfew"]
Value = int | float | str | bool


@dataclass(frozen=True, slots=True)
class MethodKind:
    """A method as such: its family, what it does in a line, and the rates of learning that suit it."""

    family: Family
    summary: str
    rate: float
    head_rate: float | None = None  # None: as `rate`


KINDS: dict[str, MethodKind] = {
    "full": MethodKind("full", "all parameters (Devlin et al. 2019)", 5e-5),
    "head": MethodKind("head", "the body stays as it is, the head learns from its output", 2e-3),
    "bitfit": MethodKind(
        "head", "biases and the head, all matrices stay as they are (Ben Zaken et al. 2022)", 1e-3, 5e-4
    ),
    "lora": MethodKind("peft", "low-rank updates of query and value (Hu et al. 2022)", 1e-3, 5e-4),
    "dora": MethodKind("peft", "LoRA of directions, and magnitudes (Liu et al. 2024)", 1e-3, 5e-4),
    "ia3": MethodKind("peft", "factors of keys, values and the inner layer (Liu et al. 2022)", 5e-3, 5e-4),
    "prefix": MethodKind("peft", "vectors before the keys and values of every layer (Li & Liang 2021)", 1e-2, 5e-4),
    "prompt": MethodKind("peft", "vectors before the text (Lester et al. 2021)", 3e-2, 5e-4),
    "pfeiffer": MethodKind("adapter", "a bottleneck after the feed-forward layer (Pfeiffer et al. 2021)", 1e-3, 5e-4),
    "houlsby": MethodKind(
        "adapter", "bottlenecks after attention and feed-forward layer (Houlsby et al. 2019)", 1e-3, 5e-4
    ),
    "parallel": MethodKind("adapter", "a bottleneck beside the feed-forward layer (He et al. 2022)", 5e-4, 5e-4),
    "compacter": MethodKind("adapter", "bottlenecks of Kronecker products (Mahabadi et al. 2021)", 3e-3, 5e-4),
    "compacter++": MethodKind("adapter", "the same, after the feed-forward layer only", 3e-3, 5e-4),
    "mam": MethodKind("adapter", "prefix and parallel bottleneck: mix-and-match (He et al. 2022)", 5e-4, 5e-4),
    "unipelt": MethodKind("adapter", "prefix, LoRA and bottleneck behind gates (Mao et al. 2022)", 5e-4, 5e-4),
    "setfit": MethodKind("setfit", "a sentence encoder by pairs, then a classifier (Tunstall et al. 2022)", 2e-5, 1e-2),
    "pet": MethodKind(
        "pet", "words that fill the gap of a pattern stand for the classes (Schick & Schütze 2021)", 5e-5
    ),
    "ipet": MethodKind("pet", "PET in generations, each labelling texts for the next (Schick & Schütze 2021)", 5e-5),
    "petapter": MethodKind(
        "pet", "PET's gaps with adapters and a small head for the words (Rieger et al. 2024)", 1e-3, 5e-4
    ),
    "adasent": MethodKind("setfit", "SetFit after masked words of the domain (Huang et al. 2023)", 2e-5, 1e-2),
    "tfew": MethodKind("tfew", "(IA)³ with three losses in a model with a decoder (Liu et al. 2022)", 3e-3),
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
_SPELLING = re.compile(r"\s*(?P<name>(?:\(ia\))?[^\s(),=]+)\s*(?:\((?P<options>[^()]*)\))?\s*", re.IGNORECASE)


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

    @property
    def spelling(self) -> str:
        """The method with the options that differ from its defaults, as `parse_method` reads it."""
        adapter = str(self.options["adapter"]) if self.name == "petapter" else ADAPTER
        usual = defaults(self.name, adapter)
        changed = [] if adapter == ADAPTER else [adapter]
        changed += [f"{key}={_spell(value)}" for key, value in self.options.items() if value != usual[key]]
        return f"{self.name}({','.join(changed)})" if changed else self.name


def defaults(name: str, adapter: str = ADAPTER) -> Mapping[str, Value]:
    """Return the options of a method with their defaults; of `petapter` those of an adapter method are its own."""
    if name == "petapter":
        return {"adapter": adapter, "head": pet_options.HEADS[0], **defaults(adapter)}
    family = KINDS[name].family
    if family == "peft":
        from nlpkit.finetune import peft_methods

        return dict(peft_methods.DEFAULTS[name])
    if family == "adapter":
        from nlpkit.finetune import insert

        return dict(insert.DEFAULTS[name])
    if family == "setfit":
        from nlpkit.finetune import adasent_options, setfit

        return dict((adasent_options if name == "adasent" else setfit).DEFAULTS[name])
    if family in ("pet", "tfew"):
        return dict(pet_options.DEFAULTS[name])
    return {}


def parse_method(text: str) -> Method:
    """Return the method that is spelled like `lora` or `lora(r=8,alpha=16)`.

    Raises:
        UsageError: no such method or option, or a value of another type.
    """
    match = _SPELLING.fullmatch(text)
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
    options = _options(inside, defaults(name, adapter), f"`method={text}`", name)
    _check(name, options)
    return Method(name, options)


def _adapter(inside: str, text: str) -> tuple[str, str]:
    """Return the adapter method in front of the options of `petapter`, and these. Raises UsageError for one that does not go into it."""
    first, _, rest = inside.partition(",")
    adapter = first.strip().lower()
    if not adapter or "=" in adapter:
        return ADAPTER, inside
    adapter = ALIASES.get(adapter, adapter)
    if adapter not in pet_options.ADAPTERS:
        known = ", ".join(pet_options.ADAPTERS)
        raise UsageError(
            f"`method={text}`: petapter takes one of {known}, as in petapter(lora,r=4)", parameter="method"
        )
    return adapter, rest


def _check(name: str, options: Mapping[str, Value]) -> None:
    """Raise UsageError for the value of an option that no model could take."""
    family = KINDS[name].family
    if family == "peft":
        from nlpkit.finetune import peft_methods

        peft_methods.resolve(name, options)
    elif family == "adapter":
        from nlpkit.finetune import insert

        insert.resolve(name, options)
    elif family == "setfit":
        from nlpkit.finetune import adasent_options, setfit

        setfit.check_options(adasent_options.of_setfit(options) if name == "adasent" else options)
        if name == "adasent":
            adasent_options.check_options(options)
    elif name == "petapter":
        if options["adapter"] not in pet_options.ADAPTERS:
            raise unknown_value("method", options["adapter"], pet_options.ADAPTERS)
        if options["head"] not in pet_options.HEADS:
            raise UsageError(
                f"petapter(head={options['head']}): the head is one of {', '.join(pet_options.HEADS)}",
                parameter="method",
            )
        _check(str(options["adapter"]), pet_options.adapter_options(options))
    elif family in ("pet", "tfew"):
        pet_options.check_options(name, options)


def parse_options(text: str, tables: Mapping[str, Mapping[str, Value]], option: str) -> tuple[str, dict[str, Value]]:
    """Return the name in front and all options of what is spelled like `triplet(margin=1)`.

    Args:
        tables: the options of each name with their defaults. option: the parameter that it is the value of, for messages.

    Raises:
        UsageError: no such name or option, or a value of another type.
    """
    match = _SPELLING.fullmatch(text)
    name = "" if match is None else match["name"].lower()
    if match is None or name not in tables:
        raise UsageError(
            f"`{option}={text}` is not known; give one of {', '.join(tables)}, with options in brackets",
            parameter=option,
        )
    return name, _options(match["options"], tables[name], f"`{option}={text}`", name)


def _options(text: str | None, usual: Mapping[str, Value], what: str, name: str) -> dict[str, Value]:
    """Return the options in brackets over the defaults."""
    values = dict(usual)
    seen: set[str] = set()
    for item in (text or "").split(","):
        if not item.strip():
            continue
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or key not in values:
            known = ", ".join(f"{k}={_spell(v)}" for k, v in usual.items()) or "none"
            raise UsageError(f"{what}: '{item.strip()}' is not an option of {name} (its options: {known})")
        if key in seen:
            raise UsageError(f"{what}: {key} occurs twice")
        seen.add(key)
        values[key] = _value(value, usual[key], f"{what}: {key}")
    return values


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


def _spell(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(value)


def _value(text: str, like: Any, what: str) -> Value:
    """Return a value of the type of `like`."""
    if isinstance(like, bool):
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise UsageError(f"{what} is {text}, needed true or false")
    if isinstance(like, str):
        return text
    try:
        number = float(text)
    except ValueError:
        raise UsageError(f"{what} is {text}, a number was needed such as {like}") from None
    if number != number or abs(number) == float("inf") or number < 0:
        raise UsageError(f"{what} is {text}, a number of 0 or more was needed")
    if isinstance(like, int):
        if number != int(number):
            raise UsageError(f"{what} is {text}, a whole number was needed")
        return int(number)
    return number
