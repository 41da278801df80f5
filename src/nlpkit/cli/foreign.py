"""Options and commands by the names that other programs have for them, and what to say of those that are not here."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import Any

from nlpkit import wording
from nlpkit.foreign_names import command_line, native_parameter


class ForeignOptions:
    """A command that takes --n-topics, --num-topics and the like for its own --k."""

    params: list[Any]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of the command line with the options as they are called here."""
        names = {p.name: p for p in self.params if p.param_type_name == "option"}
        spelled = {option for p in names.values() for option in (*p.opts, *p.secondary_opts)}
        end = args.index("--") if "--" in args else len(args)
        words = [_native(word, names, spelled) for word in args[:end]] + args[end:]
        parsed: list[str] = super().parse_args(ctx, words)  # type: ignore[misc]
        return parsed


def _native(word: str, names: dict[str, Any], spelled: Collection[str]) -> str:
    """Return an option as it is called here, every other word as it is."""
    option, equals, value = word.partition("=")
    if not option.startswith("--") or option in spelled:
        return word
    native = native_parameter(option[2:], names)
    if native is None:
        return word
    ours: str = next(name for name in names[native].opts if name.startswith("--"))
    return f"{ours}{equals}{value}"


def no_command(name: str, known: Collection[str]) -> str:
    """Return what to say of a command that is not here: the line that does it, or the commands spelled like it.

    Commands that begin with the name come first, then those that hold it or that it holds, then those of a similar spelling.
    """
    begin = [one for one in known if one.startswith(name)]
    held = [one for one in known if name in one or one in name] if len(name) > 2 else []
    likely = list(dict.fromkeys([*begin, *held])) or get_close_matches(name, known, n=3)
    line = command_line(name)
    if line is not None:
        return f"no such command '{name}'; use: {line}"
    if likely:
        return f"no such command '{name}'; did you mean {wording.listed(likely, 3)}? See: nlpkit help --all"
    return f"no such command '{name}'; search for it: nlpkit help {name}, or see all: nlpkit help --all"
