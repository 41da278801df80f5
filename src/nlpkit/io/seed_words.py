"""Seed words of topics from a TOML file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from nlpkit.errors import InputError
from nlpkit.topics.lda.guide import Seeds

_EXAMPLE = "write it as: [topics], then a line a topic: economy = ['bank', 'tax*']"


def read_seed_words(path: Path) -> tuple[Seeds, ...]:
    """Return the topics of a file in its order.

        [topics]
        economy = ["bank", "tax*"]
        sports = { words = ["team", "match"], weight = 2.0 }

    Raises:
        InputError: the file cannot be read or does not look like this.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"seed words {path}: cannot be opened ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"seed words {path} is not TOML: {error}; {_EXAMPLE}") from None
    topics = content.get("topics")
    if not isinstance(topics, dict) or not topics or len(content) > 1:
        names = ", ".join(content) or "nothing"
        raise InputError(f"seed words {path} needs one table [topics], found: {names}; {_EXAMPLE}")
    return tuple(_topic(path, name, value) for name, value in topics.items())


def _topic(path: Path, name: str, value: Any) -> Seeds:
    words, weight = value, 1.0
    if isinstance(value, dict):
        unknown = set(value) - {"words", "weight"}
        if unknown:
            raise InputError(f"seed words {path}: topic '{name}' has '{min(unknown)}'; known are words and weight")
        words, weight = value.get("words"), value.get("weight", 1.0)
    if not isinstance(words, list) or not words or not all(isinstance(w, str) and w for w in words):
        raise InputError(f"seed words {path}: topic '{name}' needs a list of words; {_EXAMPLE}")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight <= 1000:
        raise InputError(
            f"seed words {path}: the weight of topic '{name}' must be above 0 and at most 1000, got {weight!r}"
        )
    return Seeds(name, tuple(words), float(weight))
