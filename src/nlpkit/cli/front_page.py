"""The front page of the help: what nlpkit does by task, on one screen. `nlpkit help --all` lists every command."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from nlpkit.cli.catalogue import N_COMMANDS, front_panels
from nlpkit.version import __version__

_TASK, _COMMAND = 18, 14  # columns of the left two of three columns
BESIDE = 78  # from so many columns on, a task stands beside its commands, else above them, without blank lines
EXAMPLE = ("nlpkit bertopic data/samples/news.jsonl -o run/", "nlpkit report run/ -o report.html")
_WAYS = (
    ("nlpkit COMMAND --help", "examples and the main options"),
    ("nlpkit help WORD...", "search commands, options and guides"),
    ("nlpkit help --all", f"all {N_COMMANDS + 1} commands, and exit codes"),
)


def front_page(width: int) -> str:
    """Return the front page for a terminal of so many columns."""
    lines = [
        f"nlpkit {__version__}: topic models and text analysis.",
        "",
        "Example: topics of the sample texts, read as a web page",
        *(f"  {line}" for line in EXAMPLE),
        "",
    ]
    for task, commands in front_panels().items():
        lines += [*_task(task, commands.items(), width), *([""] if width >= BESIDE else [])]
    lines += [] if width >= BESIDE else [""]
    lines += [line for way, text in _WAYS for line in _beside(f"{way:<23}", text, width)]
    return "\n".join(lines)


def _task(task: str, commands: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Return the lines of a task: its commands with a few words for each."""
    left = 2 if width < BESIDE else _TASK
    lines = [line for name, text in commands for line in _beside(f"{'':{left}}{name:<{_COMMAND}}", text, width)]
    return [task, *lines] if width < BESIDE else [f"{task:<{_TASK}}{lines[0][_TASK:]}", *lines[1:]]


def _beside(left: str, text: str, width: int) -> list[str]:
    """Return a text beside what stands left of it, on as many lines as it needs."""
    first, *others = textwrap.wrap(text, width - len(left)) or [""]
    return [f"{left}{first}", *(" " * len(left) + line for line in others)]
