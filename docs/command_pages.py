"""The pages of the commands: one line for each, a page for each with its options, and the options that many share.

An option is common when at least `SHARED` commands have it with the same name, text and default. It is described once, and the page
of a command links to it.
"""

from __future__ import annotations

import html
import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import typer

DOCS = Path(__file__).parent
SHARED = 10
LAST_GROUPS = ("Words", "Embeddings", "Input", "Output", "Run", "More")  # after the groups of the command itself
TYPES = {int: "INT", float: "NUMBER", str: "TEXT", Path: "FILE"}


@dataclass(frozen=True, slots=True)
class Option:
    """An option as it is described."""

    name: str  # which is its anchor, too
    also: tuple[str, ...]  # a short name, and names that other programs have
    off: tuple[str, ...]  # what switches it off
    value: str
    text: str
    group: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command as its page needs it."""

    words: tuple[str, ...]
    help: str
    arguments: tuple[tuple[str, str], ...]
    options: tuple[Option, ...]

    @property
    def title(self) -> str:
        """What comes after `nlpkit` on the command line."""
        return " ".join(self.words)

    @property
    def page(self) -> str:
        """The name of its file."""
        return f"{'-'.join(self.words)}.md"


def command_files() -> dict[str, str]:
    """Return the text of every file by its path below docs/reference."""
    every = all_commands()
    common = common_options(every)
    return {
        "commands.md": at_a_glance(every),
        "common-options.md": common_page(common, every),
        **{f"commands/{one.page}": command_page(one, common) for one in every},
    }


@cache
def all_commands() -> tuple[Command, ...]:
    """Return every command in the order of the help, the members of a group in place of the group."""
    from nlpkit.platform.cli.app import app
    from nlpkit.platform.cli.catalogue import COMMANDS

    whole: Any = typer.main.get_command(app)
    return tuple(
        _command((name, *member), one)
        for name in COMMANDS
        for member, one in (
            [((key,), sub) for key, sub in whole.commands[name].commands.items()]
            if hasattr(whole.commands[name], "commands")
            else [((), whole.commands[name])]
        )
    )


def _command(words: tuple[str, ...], command: Any) -> Command:
    options, arguments = [], []
    for parameter in command.params:
        info = parameter.type_descriptor.parameter_info
        if info.hidden or not info.help:
            continue
        if parameter.param_type_name == "argument":
            name = f"{info.metavar or parameter.name.upper()}{'...' if parameter.nargs == -1 else ''}"
            arguments.append((name if parameter.required else f"[{name}]", info.help))
        else:
            options.append(_option(parameter, info))
    places = {name: place for place, name in enumerate(LAST_GROUPS, start=1)}
    options.sort(key=lambda option: places.get(option.group, 0))
    return Command(words, inspect.cleandoc(command.help or ""), tuple(arguments), tuple(options))


def _option(parameter: Any, info: Any) -> Option:
    """Return an option of Typer with its default and limits in the text."""
    kind, default, notes = parameter.type_descriptor.annotation, parameter.default, []
    if info.show_default and default is not None:
        notes.append(f"default: {'on' if default is True else 'off' if default is False else default}")
    if info.min is not None and info.max is not None:
        notes.append(f"from {info.min:g} to {info.max:g}")
    elif info.min is not None or info.max is not None:
        notes.append(f"at least {info.min:g}" if info.min is not None else f"at most {info.max:g}")
    long = [name for name in parameter.opts if name.startswith("--")]
    short = [name for name in parameter.opts if not name.startswith("--")]
    text = " ".join(info.help.split()) + (f" [{'; '.join(notes)}]" if notes else "")
    value = "" if kind is bool else info.metavar or TYPES.get(kind, "TEXT")
    group = info.rich_help_panel or "Options"
    return Option(long[0], (*short, *long[1:]), tuple(parameter.secondary_opts), value, text, group)


def common_options(commands: Iterable[Command]) -> dict[str, Option]:
    """Return the options that many commands share, by name; where a name has several texts, the most frequent one."""
    counts = Counter(option for command in commands for option in command.options)
    common: dict[str, Option] = {}
    for option, n in counts.most_common():
        if n >= SHARED:
            common.setdefault(option.name, option)
    places = {name: place for place, name in enumerate(LAST_GROUPS, start=1)}
    first = {option: place for place, option in enumerate(counts)}
    return {o.name: o for o in sorted(common.values(), key=lambda o: (places.get(o.group, 0), first[o]))}


def at_a_glance(commands: Sequence[Command]) -> str:
    """Return the page with a line for each command, by task."""
    from nlpkit.platform.cli.catalogue import command_panels

    parts = ["# Commands at a glance\n"]
    parts.append(
        "The page of a command describes its options. [Common options](common-options.md) such as `--text-col` and `--output` "
        "are described once. `nlpkit COMMAND --help` shows options in the terminal.\n"
    )
    for title, names in command_panels().items():
        parts.append(f"## {title}\n\n| command | what it does |\n|---|---|")
        for command in commands:
            if command.words[0] in names:
                summary = _paragraphs(command.help)[0].replace("|", "\\|")
                parts.append(f"| [`{command.title}`](commands/{command.page}) | {escaped(summary)} |")
        parts.append("")
    return "\n".join(parts)


def common_page(common: dict[str, Option], commands: Sequence[Command]) -> str:
    """Return the page of the options that many commands share."""
    parts = [
        "# Common options\n",
        f"These options mean the same in every command that has them. Each stands in at least {SHARED} of the {len(commands)} commands. "
        "[Conventions](conventions.md) explains configuration files, environment variables and exit codes.\n",
        *_groups(common.values()),
    ]
    return "\n".join(parts)


def command_page(command: Command, common: dict[str, Option]) -> str:
    """Return the page of a command: usage, examples, details, its own options, links to the common ones and to guides."""
    summary, *others = _paragraphs(command.help)
    usage = " ".join(["nlpkit", *command.words, "[OPTIONS]", *(name for name, _ in command.arguments)])
    parts = [f"# {command.title}\n", f"{escaped(summary)}\n", f"```bash\n{usage}\n```\n"]
    examples = [text for text in others if text.startswith("\b\nExample")]
    if examples:
        lines = [line.strip() for text in examples for line in text.splitlines()[2:]]
        parts.append("## Examples\n\n```bash\n" + "\n".join(lines) + "\n```\n")
    for text in others:
        if text not in examples:
            marked = text.removeprefix("\b\n")
            parts.append(f"```text\n{marked}\n```\n" if marked != text else f"{escaped(text)}\n")
    if command.arguments:
        rows = [
            f"<dt><code>{html.escape(name)}</code></dt>\n<dd>{as_html(text)}</dd>" for name, text in command.arguments
        ]
        parts.append("## Arguments\n\n<dl>\n" + "\n".join(rows) + "\n</dl>\n")
    parts.extend(_groups(option for option in command.options if common.get(option.name) != option))
    parts.extend(_links([option for option in command.options if common.get(option.name) == option]))
    parts.append("## See also\n")
    parts.extend(f"- [{title}](../../{path})" for path, title in guides_of(command.title))
    parts.append(f"- [The fields of `--json`](../json-output.md#{'-'.join(command.words)})")
    parts.append("- [Commands at a glance](../commands.md)\n")
    return "\n".join(parts)


def _groups(options: Iterable[Option]) -> Iterator[str]:
    """Yield a heading and a definition list for each group of options."""
    groups: dict[str, list[Option]] = {}
    for option in options:
        groups.setdefault(option.group, []).append(option)
    for title, members in groups.items():
        yield f"## {title}\n\n<dl>"
        for option in members:
            value = f" {html.escape(option.value)}" if option.value else ""
            notes = [f"{word} {_coded(names)}" for word, names in (("or", option.also), ("off:", option.off)) if names]
            small = f" <small>{' · '.join(notes)}</small>" if notes else ""
            yield f'<dt id="{option.name}"><a href="#{option.name}"><code>{option.name}</code></a>{value}{small}</dt>'
            yield f"<dd>{as_html(option.text)}</dd>"
        yield "</dl>\n"


def _coded(names: Iterable[str]) -> str:
    return ", ".join(f"<code>{name}</code>" for name in names)


def _links(options: Sequence[Option]) -> Iterator[str]:
    """Yield a line for each group of common options with links to where they are described."""
    if options:
        yield "## Common options\n"
    for title in dict.fromkeys(option.group for option in options):
        members = [option.name for option in options if option.group == title]
        yield f"- {title}: " + ", ".join(f"[`{name}`](../common-options.md#{name})" for name in members)
    yield ""


@cache
def _guides() -> tuple[tuple[str, str, str], ...]:
    """Return path, title and the commands that are run of each tutorial and guide."""
    found = []
    for page in sorted([*(DOCS / "guides").glob("*.md"), *(DOCS / "tutorials").glob("*.md")]):
        text = page.read_text(encoding="utf-8")
        code = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
        title = re.search(r"^# (.*)$", text, re.MULTILINE)
        found.append((page.relative_to(DOCS).as_posix(), title[1] if title else page.stem, code))
    return tuple(found)


def guides_of(title: str, most: int = 3) -> list[tuple[str, str]]:
    """Return path and title of the pages that run a command most often."""
    pattern = re.compile(rf"\bnlpkit {re.escape(title)}(?= |$)", re.MULTILINE)
    counts = [(len(pattern.findall(code)), path, page) for path, page, code in _guides()]
    best = sorted((row for row in counts if row[0]), key=lambda row: (-row[0], row[1]))
    return [(path, page) for _, path, page in best[:most]]


def _paragraphs(text: str) -> list[str]:
    return [part for part in text.split("\n\n") if part.strip()] or [""]


def escaped(text: str) -> str:
    """Return plain text as Markdown on one line; what stands between backticks stays."""
    parts = " ".join(text.split()).split("`")
    return "`".join(
        part if i % 2 else re.sub(r"([*_\[\]|])", r"\\\1", part).replace("<", "&lt;").replace("\\|", "|")
        for i, part in enumerate(parts)
    )


def as_html(text: str) -> str:
    """Return plain text as HTML, with code for options and for what stands between backticks."""
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
    return re.sub(r"(?<![\w>-])(--[a-z][\w-]*)", r"<code>\1</code>", marked)
