"""Rules of a classifier from a TOML file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from nlpkit.classify.rule_list import Rule, RuleList
from nlpkit.errors import InputError, MissingFileError, UsageError
from nlpkit.io.sources import missing_path

_HEAD = re.compile(r"^\s*\[\[\s*rule\s*\]\]", re.MULTILINE)
_EXAMPLE = "write it as: [[rule]], then label = 'sports' and any = ['goal', 'match*']"
_KEYS = ("name", "label", "any", "all", "none", "regex", "where", "priority")


def read_rule_list(path: Path) -> RuleList:
    """Return the rules of a file, in the order in which they are asked.

        default = "other"                       # optional: the label of documents that no rule matches

        [[rule]]
        label = "sports"                        # any, all, none: words or phrases; regex; where: a condition on columns
        any = ["goal", "match*", "cup final"]
        none = ["court"]
        where = "source == 'wire'"
        priority = 1                            # default 0; higher ones come first

    Raises:
        InputError: it cannot be read, or does not look like this; UsageError: a regular expression or condition that is none. Both
            name the line.
    """
    if not path.exists():
        raise MissingFileError(f"rules {missing_path(path)}")
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"rules {path}: cannot be opened ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"rules {path} is not TOML: {error}; {_EXAMPLE}") from None
    listed, default = content.get("rule"), content.get("default")
    unknown = sorted(set(content) - {"rule", "default"})
    if unknown or not isinstance(listed, list) or not listed or not all(isinstance(one, dict) for one in listed):
        names = ", ".join(content) or "nothing"
        raise InputError(f"rules {path}: tables [[rule]], and perhaps default, were needed, found: {names}; {_EXAMPLE}")
    if default is not None and (not isinstance(default, str) or not default):
        raise InputError(f"rules {path}: default must be a label, got {default!r}")
    lines = [text.count("\n", 0, match.end()) + 1 for match in _HEAD.finditer(text)]
    places = (
        [f"{path}:{line}" for line in lines]
        if len(lines) == len(listed)
        else [f"{path}, rule {n + 1}" for n in range(len(listed))]
    )
    rules = [_rule(values, f"rule {n}", place) for n, (values, place) in enumerate(zip(listed, places, strict=True), 1)]
    _check_names(rules)
    return RuleList(tuple(sorted(rules, key=lambda rule: -rule.priority)), default, str(path))


def _rule(values: dict[str, Any], name: str, place: str) -> Rule:
    unknown = sorted(set(values) - set(_KEYS))
    if unknown:
        raise InputError(f"{place}: '{unknown[0]}' is not a key of a rule; known keys are {', '.join(_KEYS)}")
    kinds: dict[str, Any] = {"name": str, "label": str, "regex": str, "where": str, "priority": int}
    for key, kind in kinds.items():
        if key in values and (not isinstance(values[key], kind) or isinstance(values[key], bool)):
            raise InputError(
                f"{place}: {key} must be {'a whole number' if kind is int else 'text'}, got {values[key]!r}"
            )
    for key in ("any", "all", "none"):
        words = values.get(key, [])
        if not isinstance(words, list) or not all(isinstance(word, str) and word.strip(" *") for word in words):
            raise InputError(f"{place}: {key} must be a list of words, got {words!r}")
    if not values.get("label"):
        raise InputError(f"{place}: the rule has no label; {_EXAMPLE}")
    words_of = {key: tuple(values.get(key, ())) for key in ("any", "all", "none")}
    rule = Rule(
        str(values.get("name") or name), values["label"], **words_of, regex=values.get("regex", ""), where=values.get("where", ""),
        priority=values.get("priority", 0), place=place,
    )  # fmt: skip
    try:
        rule.check()
    except UsageError as error:
        raise InputError(str(error)) from None
    return rule


def _check_names(rules: list[Rule]) -> None:
    places: dict[str, str] = {}
    for rule in rules:
        if rule.name in places:
            raise InputError(
                f"{rule.place}: a rule called '{rule.name}' is also in {places[rule.name]}; give each rule its own name"
            )
        places[rule.name] = rule.place
