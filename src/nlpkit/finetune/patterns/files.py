"""Patterns and words for labels: read from a TOML file, and models that fill patterns as folders."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from nlpkit.embed.engines import quiet
from nlpkit.errors import InputError, NlpkitError
from nlpkit.finetune.adapters.insert import Inserted, insert
from nlpkit.finetune.methods import Method
from nlpkit.finetune.patterns.mlm import load_mlm
from nlpkit.finetune.patterns.options import adapter_options
from nlpkit.finetune.patterns.patterns import Patterns
from nlpkit.finetune.patterns.seq2seq import ChoiceModel, load_seq2seq
from nlpkit.finetune.patterns.training import PatternEnsemble, PatternNetwork, make_word_head

ADAPTER, HEAD = "adapter.safetensors", "head.safetensors"
_EXAMPLE = (
    """write it as: patterns = ["[text] It was [MASK]."], then [words] and a line a label: good = ["great", "fine"]"""
)


def read_patterns(path: Path) -> Patterns:
    """Return the patterns of a file, and the words for the labels that have some.

        patterns = ["[text] It was [MASK].", "Just [MASK]! [text]"]

        [words]
        good = ["great", "fine"]
        bad = "terrible"

    Raises:
        InputError: the file cannot be read or does not look like this.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"`patterns` {path}: cannot be opened ({error.strerror})", parameter="patterns") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"`patterns` {path} is not TOML: {error}; {_EXAMPLE}", parameter="patterns") from None
    return patterns_of(content, f"`patterns` {path}")


def patterns_of(content: Mapping[str, Any], where: str = "`patterns`") -> Patterns:
    """Return the patterns and words of a table such as a file has; `where` names it. Raises InputError where it is another one."""
    unknown = set(content) - {"patterns", "words"}
    if unknown:
        raise InputError(
            f"{where} has '{min(unknown)}', known are patterns and words; {_EXAMPLE}", parameter="patterns"
        )
    texts, words = _list(content.get("patterns")), content.get("words", {})
    if texts is None:
        raise InputError(f"{where} needs a list of patterns; {_EXAMPLE}", parameter="patterns")
    if not isinstance(words, Mapping):
        raise InputError(f"{where}: words needs a table; {_EXAMPLE}", parameter="patterns")
    by_label = {}
    for label, value in words.items():
        listed = _list(value)
        if listed is None:
            raise InputError(
                f"{where}: label '{label}' needs a word or a list of words; {_EXAMPLE}", parameter="patterns"
            )
        by_label[str(label)] = tuple(listed)
    return Patterns(tuple(texts), by_label)


def _list(value: Any) -> list[str] | None:
    """Return a text, or a list of them, as a list; None for anything else."""
    values = [value] if isinstance(value, str) else value
    fits = isinstance(values, list | tuple) and values and all(isinstance(v, str) for v in values)
    return list(values) if fits else None


def save_patterns(ensemble: PatternEnsemble, folder: Path) -> dict[str, Any]:
    """Write the model of each pattern: a transformers folder, or the adapters and their head; return what else makes the ensemble again."""
    from safetensors.torch import save_file

    for p in range(len(ensemble.patterns.texts)):
        network, place = ensemble.load(p), folder / f"pattern-{p}"
        place.mkdir(parents=True)
        if network.adapters is None:
            network.mlm.save(place)
        elif isinstance(network.adapters, Inserted):
            save_file({n: t.contiguous() for n, t in network.adapters.state().items()}, place / ADAPTER)
        else:
            with quiet():
                network.adapters.save_pretrained(str(place), safe_serialization=True, save_embedding_layers=False)
        if network.mlm.words is not None:
            save_file({n: t.contiguous() for n, t in network.mlm.words.state_dict().items()}, place / HEAD)
    return {**ensemble.patterns.plain(), "weights": list(ensemble.weights)}


def load_patterns(
    folder: Path,
    facts: Mapping[str, Any],
    labels: tuple[str, ...],
    method: Method,
    *,
    base: Path | None,
    device: torch.device,
    max_tokens: int,
) -> PatternEnsemble:
    """Return the ensemble that `save_patterns` wrote.

    Args:
        facts: what it returned. base: of adapters, the folder of the model that they were trained on.

    Raises:
        InputError: the folder is damaged.
    """
    try:
        patterns = Patterns(tuple(facts["patterns"]), {label: tuple(words) for label, words in facts["words"].items()})
        networks = [
            _load_one(folder / f"pattern-{p}", method, base, device, max_tokens) for p in range(len(patterns.texts))
        ]
        weights = tuple(float(weight) for weight in facts["weights"])
    except (NlpkitError, OSError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"{folder} is damaged ({error}); train the model again") from None
    return PatternEnsemble(patterns, labels, weights, networks.__getitem__, max_tokens)


def save_choices(model: ChoiceModel, folder: Path, base: str) -> dict[str, Any]:
    """Write the factors of T-Few as peft has them, for `base`; return what else makes the model again."""
    with quiet():
        model.network.adapted.peft_config["default"].base_model_name_or_path = base
        model.network.adapted.save_pretrained(str(folder), save_embedding_layers=False)
    return model.patterns.plain()


def load_choices(
    folder: Path,
    facts: Mapping[str, Any],
    labels: tuple[str, ...],
    base: Path,
    *,
    device: torch.device,
    max_tokens: int,
) -> ChoiceModel:
    """Return the model that `save_choices` wrote; `base` is the folder of the one that it was trained on. Raises InputError."""
    try:
        patterns = Patterns(tuple(facts["patterns"]), {label: tuple(words) for label, words in facts["words"].items()})
        network = load_seq2seq(base, seed=0, device=device, max_tokens=max_tokens, adapter=folder)
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"{folder} is damaged ({error}); train the model again") from None
    return ChoiceModel(patterns, labels, network)


def _load_one(place: Path, method: Method, base: Path | None, device: torch.device, max_tokens: int) -> PatternNetwork:
    from safetensors.torch import load_file

    if base is None:
        mlm = load_mlm(place, device=device, seed=0, max_tokens=max_tokens)
        return PatternNetwork(mlm, mlm.trained)
    mlm = load_mlm(base, device=device, seed=0, max_tokens=max_tokens)
    if (place / ADAPTER).is_file():
        options, name = adapter_options(method.options), str(method.options["adapter"])
        inserted = insert(mlm.model, name, options, generator=torch.Generator(), head=False)
        inserted.load(load_file(place / ADAPTER))
        mlm.model.to(device).eval()
        network = PatternNetwork(mlm, dict(inserted.parameters()), inserted)
    else:
        from peft import PeftModel

        with quiet():
            adapters = PeftModel.from_pretrained(mlm.model, str(place)).to(device).eval()
        network = PatternNetwork(mlm, dict(adapters.named_parameters()), adapters)
    if method.options["head"] != "frozen":
        weights = load_file(place / HEAD)
        head = make_word_head(mlm, weights["tokens"].numpy(), str(method.options["head"]), seed=0)
        head.load_state_dict(weights)
        network.take_head(head)
    return network
