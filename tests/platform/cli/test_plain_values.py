"""Values of options are converted as Typer converts them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from hypothesis import example, given
from hypothesis import strategies as st
from typer.core import TyperCommand

from nlpkit.platform.cli.catalogue import COMMANDS, Commands
from nlpkit.platform.cli.light import PlainFirst, PlainParameters

pytest.importorskip("typer._adapters", reason="this Typer converts by itself")


class Plain(PlainParameters, TyperCommand):
    """A command that converts plain values by itself."""


def seen(words: list[str], kind: type[TyperCommand]) -> dict[str, Any] | str:
    """The values that a command gets, or what is wrong with them."""
    values: dict[str, Any] = {}
    app = typer.Typer()

    @app.command(cls=kind)
    def run(
        texts: Annotated[list[str] | None, typer.Argument()] = None,
        text: str | None = None,
        number: Annotated[int, typer.Option(min=1)] = 5,
        share: Annotated[float | None, typer.Option(min=0, max=1)] = None,
        whole: float = 3,
        path: Path | None = None,
        several: list[str] | None = None,
        paths: list[Path] | None = None,
        flag: bool | None = None,
    ) -> None:
        values.update({name: (type(value), value) for name, value in list(locals().items()) if name != "values"})

    try:
        typer.main.get_command(app).main(words, standalone_mode=False)
    except typer.BadParameter as error:
        return error.format_message()
    return values


NUMBERS = st.one_of(
    st.integers().map(str), st.floats().map(str), st.floats(0, 1).map(str),
    st.text("0123456789.e-+_ ", max_size=8), st.text(max_size=4),
)  # fmt: skip


@given(
    number=NUMBERS,
    share=NUMBERS,
    whole=NUMBERS,
    text=st.text(max_size=5),
    several=st.lists(st.text(max_size=3), max_size=2),
)
@example(number="0", share="1.5", whole="1e5", text="", several=[])
@example(number="1_0", share=".5", whole="inf", text="-1", several=[""])
@example(number="007", share="1e-3", whole="-0", text="a", several=["x", "y"])
def test_values_are_those_of_typer(number: str, share: str, whole: str, text: str, several: list[str]) -> None:
    words = [
        f"--number={number}",
        f"--share={share}",
        f"--whole={whole}",
        f"--text={text}",
        *(f"--several={s}" for s in several),
    ]
    for part in (words, *([word] for word in words)):
        theirs = seen(part, TyperCommand)
        assert repr(seen(part, Plain)) == repr(theirs)  # nan is not equal to itself


@pytest.mark.parametrize(
    "words", [[], ["a", "b"], ["--path", "x/y", "--flag"], ["--paths", "a", "--paths", "b", "--no-flag"]]
)
def test_defaults_and_paths_are_those_of_typer(words: list[str]) -> None:
    assert seen(words, Plain) == seen(words, TyperCommand)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_default_loads_pydantic(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Commands()[name]
    for command in getattr(entry, "commands", {"": entry}).values():
        context = typer.Context(command)
        for param in command.params:
            if hasattr(param, "type_descriptor"):
                monkeypatch.setattr(param, "get_runtime_param", None)  # what would build a converter
                PlainFirst().coerce(param.get_default(context), param, context)
