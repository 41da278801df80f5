"""How the parameters that messages name are written on the command line: `min_df=5` in Python is --min-df 5 here."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PARAMETER = re.compile(r"`([a-z][a-z0-9_]*)(?:=([^`]*))?`")
_CALL = re.compile(r"`([a-z][a-z0-9_]*)\(([^`]*)\)`")
_COMMANDS = {  # functions whose commands are not called as they are
    "agreement": "annotate agree", "compare_models": "compare", "correct_spelling": "spell", "embed": "sbert-embed",
    "estimate_effects": "effects", "fit_lda": "lda-gibbs", "fit_language_model": "ngram-lm", "majority": "annotate majority",
    "name_topics": "name", "propose_texts": "active", "score_answers": "annotate score", "text_features": "features",
    "train_classifier": "classify",
}  # fmt: skip
_known: dict[str, tuple[str, str]] = {}  # of all commands: parameter → the option, and what switches it off
_current: dict[str, tuple[str, str]] = {}  # of the command that runs


def option(name: str, field: str = "") -> str:
    """Return a name of the parameter `field` as an option; a single letter that is not the field's name is a short one."""
    return f"-{name}" if len(name) == 1 and name != field else f"--{name.replace('_', '-')}"


def declare(spellings: Mapping[str, tuple[str, str]]) -> None:
    """Take note of the options of a command: parameter → the option and what switches it off ("" where nothing does)."""
    for name, spelling in spellings.items():
        _known.setdefault(name, spelling)


def use(spellings: Mapping[str, tuple[str, str]]) -> None:
    """Write parameters as the options of this command, those it does not have as they are elsewhere."""
    _current.clear()
    _current.update(spellings)


def as_options(message: str, spellings: Mapping[str, tuple[str, str]] = _current) -> str:
    """Return a message with the parameters that stand between backticks as options of a command, by default of the one that runs.

    A call of a function there is written as its command: `preprocess(unit=sentence)` as nlpkit preprocess --unit sentence.
    """
    if "`" not in message:
        return message
    message = _CALL.sub(lambda match: _command(match[1], match[2]), message)
    return _PARAMETER.sub(lambda match: _spelled(match[1], match[2], spellings), message)


def _command(function: str, arguments: str) -> str:
    """Return a call as a command line whose options still stand between backticks; what is in capitals stands for a file."""
    parts = [part if part[0].isupper() else f"`{part}`" for part in arguments.split(", ") if part]
    return " ".join(("nlpkit", _COMMANDS.get(function) or function.removeprefix("fit_").replace("_", "-"), *parts))


def _spelled(name: str, value: str | None, spellings: Mapping[str, tuple[str, str]]) -> str:
    on, off = spellings.get(name) or _known.get(name) or (option(name, name), option(f"no_{name}"))
    if value is None or value == "True":
        return on
    if value == "False":
        return off or on
    return f"{on} {value.strip(chr(34))}"
