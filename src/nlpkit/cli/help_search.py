"""`nlpkit help WORD...`: what answers a question, and where its words stand in commands, options and guides."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from nlpkit import wording
from nlpkit.cli.answers import ANSWERS
from nlpkit.cli.catalogue import COMMANDS
from nlpkit.cli.help import panel
from nlpkit.errors import UsageError
from nlpkit.foreign_names import command_line

FEW = 300  # labels; from so many on there are many
MOST = 5  # commands, options and guides that are shown of each
LEAST = 1 / 3  # of the best score of its kind, which an entry needs
LONGEST = 160  # letters of the line about an option
_EMPTY = (
    "a an and are as be by can do does for from get have how i in into is it make me my of on or our should some that the their them "
    "few many there this to use using want we what when where which who why with you your nlpkit"
)
_ENDINGS = re.compile(r"(?:isation|ization|ising|izing|ing|ise|ize|es|ed|s|e)$")


@dataclass(frozen=True, slots=True)
class Entry:
    """What is found: a kind (command, option, guide), how it is named, a line about it, and the weight of its words."""

    kind: str
    name: str
    text: str
    words: dict[str, int]
    score: float = 0.0


def search_page(question: str, root: Any, width: int) -> str:
    """Return what a terminal of so many columns shows for a question.

    Raises:
        UsageError: nothing has these words.
    """
    stems = stems_of(question)
    answered = answers(question)
    every = [*_commands(root), *_options(root), *_guides()]
    ranked = _ranked(every, [stem for stem in stems if stem not in _EMPTY.split()] or stems)
    if not answered and not ranked:
        raise UsageError(
            f"nothing in commands, options and guides has the words '{question}'; all commands: nlpkit help --all"
        )
    blocks = [_lines(answered, width)] if answered else []
    for kind, title in (("command", "Commands"), ("guide", "Guides, in the folder docs"), ("option", "Options")):
        best = [entry for entry in ranked if entry.kind == kind][:MOST]
        rows = [(entry.name, entry.text) for entry in best if entry.score >= LEAST * best[0].score]
        if rows:
            blocks.append(panel(title, rows, width, min(max(len(name) for name, _ in rows), width // 2)))
    return "\n\n".join([*blocks, "nlpkit COMMAND --help: examples and options"])


def answers(question: str) -> list[tuple[str, str]]:
    """Return the command lines that answer a question, with what they give: at most three, the closest first."""
    stems = set(stems_of(question))
    ranks = []
    for place, answer in enumerate(ANSWERS):
        phrases = (stems_of(phrase) for phrase in answer.asked.split(";"))
        matched = max((len(phrase) for phrase in phrases if stems.issuperset(phrase)), default=0)
        if matched:
            ranks.append((-matched, place))
    rows = [(ANSWERS[place].line, ANSWERS[place].text) for _, place in sorted(ranks)[:3]]
    line = command_line(question)
    if line is not None and all(line.split()[1] != row.split()[1] for row, _ in rows):
        rows.append((line, COMMANDS[line.split()[1]].summary))
    return rows[:3]


def stems_of(text: str) -> list[str]:
    """Return the words of a text without their endings; a number is that of `few` or of `many`."""
    return [_stem(word) for word in re.findall(r"\w+", text.casefold().replace("-1", "minus one"))]


def _stem(word: str) -> str:
    if word.isdecimal():
        word = "few" if int(word) < FEW else "many"
    short = re.sub("ies$", "y", word) if word.endswith("ies") else _ENDINGS.sub("", word)
    return short if len(short) > 2 else word


def _lines(answered: Sequence[tuple[str, str]], width: int) -> str:
    """Return command lines, each with what it gives below."""
    lines = ["Try this:"]
    for line, text in answered:
        lines += [f"  {line}", *(f"      {part}" for part in textwrap.wrap(text, width - 6))]
    return "\n".join(lines)


def _weighted(*parts: tuple[str, int]) -> dict[str, int]:
    """Return the words of texts, each with the greatest weight of a text that has it."""
    words: dict[str, int] = {}
    for text, weight in sorted(parts, key=lambda part: part[1]):
        words |= dict.fromkeys(stems_of(text), weight)
    return words


def _members(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield every command with its name; those of a group one by one."""
    for name, command in root.commands.items():
        if not command.hidden and name != "help":
            members = getattr(command, "commands", {})
            yield from ((f"{name} {sub}", one) for sub, one in members.items())
            yield name, command


def _commands(root: Any) -> Iterator[Entry]:
    for name, command in _members(root):
        summary, _, details = (command.help or "").partition("\n\n")
        summary = " ".join(summary.split())
        details = re.sub(r"\x08.*", "", details, flags=re.DOTALL)
        yield Entry("command", name, summary, _weighted((name.replace("-", " "), 6), (summary, 4), (details, 1)))


def _options(root: Any) -> Iterator[Entry]:
    """Yield every option once, with the commands that have it in the same words."""
    owners: dict[tuple[str, str], list[str]] = {}
    for name, command in _members(root):
        for parameter in () if hasattr(command, "commands") else command.params:
            if parameter.param_type_name == "option" and not parameter.hidden:
                option = next(o for o in parameter.opts if o.startswith("--"))
                owners.setdefault((option, " ".join((parameter.help or "").split())), []).append(name)
    for (option, text), commands in owners.items():
        where = commands[0] if len(commands) == 1 else f"{wording.count(len(commands))} commands"
        name = f"{option} ({where})"
        sentence = textwrap.shorten(re.split(r"(?<=\.)\s", text)[0], LONGEST, placeholder=" …")
        yield Entry("option", name, sentence, _weighted((option, 5), (sentence, 2), (text, 1), (" ".join(commands), 1)))


def _guides() -> Iterator[Entry]:
    index = json.loads((files("nlpkit.cli") / "guides.json").read_text(encoding="utf-8"))
    for page in index:
        heads = " ".join(page["headings"])
        yield Entry(
            "guide", page["page"], page["title"], _weighted((page["title"], 5), (heads, 3), (page["summary"], 2))
        )


def _ranked(entries: Iterable[Entry], stems: Sequence[str]) -> list[Entry]:
    """Return the entries that have all of the words, or else most of them, the best first; rare words count for more."""
    every = list(entries)
    df = Counter(stem for entry in every for stem in set(stems) & entry.words.keys())
    rarity = {stem: math.log(1 + len(every) / (1 + df[stem])) for stem in stems}
    held = {id(entry): [stem for stem in dict.fromkeys(stems) if stem in entry.words] for entry in every}
    most = max(map(len, held.values()), default=0)
    if not most or 2 * most < len(set(stems)):
        return []
    scored = [
        replace(entry, score=sum(entry.words[stem] * rarity[stem] for stem in held[id(entry)]))
        for entry in every
        if len(held[id(entry)]) == most
    ]
    return sorted(scored, key=lambda entry: -entry.score)
