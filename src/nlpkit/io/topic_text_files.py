"""Topics as plain text: a line a topic, and the two files of MALLET. Text → topics as they stand there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from nlpkit.errors import InputError

MOST_WORDS = 1000  # of a topic that are kept, where a file gives the weight of every word


@dataclass(slots=True)
class RawTopic:
    """A topic as a file gives it, best word first; name None where it has none; where: the place as messages say it."""

    name: str | None
    words: list[str]
    weights: list[float] | None
    where: str


@dataclass(slots=True)
class RawTopics:
    """The topics of a file in its order, and the format they were found in."""

    format: str
    topics: list[RawTopic]
    layout: str = ""


# ---------------------------------------------------------------- a line a topic

_NUMBERED = re.compile(
    r"\s*(?:(?:topic|cluster|component|class)\s*)?#?\s*(-?\d+)\s*[:.)]\s+|\s*(topic\s*#?\d+)\s*[:.)\s]\s*", re.I
)
_LABELLED = re.compile(r"\s*([^,;|\t]{1,80}?)\s*:\s+")
_COUNTED = re.compile(r"\s*(\d+)\s+(?=\S)")
_NUMBER = re.compile(r"-?\d+")


def read_lines(text: str, path: str) -> RawTopics:
    """Return a topic for each line: words parted by blanks, or by commas, semicolons or bars with blanks inside words.

    What stands before a tab or a colon is the name where all lines have one; "Topic 3: …" and "3: …" are always names, and
    so are the leading numbers 0, 1, 2 … or 1, 2, 3 … of all lines. A blank line between others is an empty topic.
    """
    lines = text.rstrip().splitlines()
    filled = [line for line in lines if line.strip()]
    cut = _name_cutter(filled)
    topics = []
    for number, line in enumerate(lines, start=1):
        name, words = cut(line) if line.strip() else (None, "")
        topics.append(RawTopic(name, split_words(words), None, f"{path}:{number}"))
    return RawTopics("lines", topics)


def split_words(text: str) -> list[str]:
    """Return the words of a topic written as one string: parted by commas, semicolons or bars if it has such, else by blanks.

    A comma inside a word, such as in 1,000, parts no words when others are parted by blanks.
    """
    text = text.strip()
    for sign in (",", ";", "|"):
        if re.search(rf"{re.escape(sign)}\s|\s{re.escape(sign)}", text) or (
            sign in text and not re.search(r"\s", text)
        ):
            return [word for part in text.split(sign) if (word := _unquoted(" ".join(part.split())))]
    return text.split()


def _unquoted(word: str) -> str:
    return word[1:-1].strip() if len(word) > 2 and word[0] == word[-1] and word[0] in "\"'" else word


def _name_cutter(lines: Sequence[str]) -> Any:
    """Return the function that parts a line into name and words, by what all lines have in common."""
    tabs = [line.split("\t") for line in lines]
    heads = [parts[0].strip() for parts in tabs]
    if all(len(parts) > 1 for parts in tabs) and (
        all(_NUMBER.fullmatch(head) or _NUMBERED.fullmatch(f"{head} ") for head in heads)
        or all(len(parts) == 2 and len(split_words(parts[1])) > 1 for parts in tabs)
    ):
        return _cut_at_tab
    if all(_LABELLED.match(line) for line in lines):
        return lambda line: _cut(_LABELLED, line)
    numbers = [int(match[1]) if (match := _COUNTED.match(line)) else -1 for line in lines]
    if len(lines) > 1 and numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(lines))):
        return lambda line: _cut(_COUNTED, line)
    return lambda line: _cut(_NUMBERED, line)


def _cut_at_tab(line: str) -> tuple[str | None, str]:
    head, _, rest = line.partition("\t")
    return _cut(_NUMBERED, f"{head} ")[0] or head.strip(), rest


def _cut(pattern: re.Pattern[str], line: str) -> tuple[str | None, str]:
    match = pattern.match(line)
    if match is None:
        return None, line
    name = next(group for group in match.groups() if group is not None)
    return re.sub(r"(?i)topic\s*#?(?=\d+$)", "", name), line[match.end() :]


# ---------------------------------------------------------------- MALLET


def is_mallet(text: str) -> bool:
    """Return whether a text is MALLET's topic keys or topic-word weights: number, tab, … in each of the first lines."""
    rows = [line.split("\t") for line in text[: 1 << 16].splitlines()[:200] if line.strip()]
    rows = rows[:-1] if len(text) > 1 << 16 else rows
    return any(len(row) > 2 for row in rows) and all(
        len(row) > 1 and row[0].strip().isdigit() and (_is_number(row[1]) or (len(row) == 3 and _is_number(row[2])))
        for row in rows
    )


def read_mallet(text: str, path: str) -> RawTopics:
    """Return the topics of `--output-topic-keys` (number, alpha, words) or `--topic-word-weights-file` (number, word, weight).

    Of the weights, words are in descending order. MALLET gives every word to every topic, with weight beta where the topic
    has no token of it: where all weights are a number below 1 and a count, words without a count are left out.

    Raises:
        InputError: a line is not of the kind of the first ones; the message names it.
    """
    rows = [line.split("\t") for line in text[: 1 << 16].splitlines()[:200] if line.strip()]
    if any(not _is_number(row[1]) for row in rows if len(row) == 3 and _is_number(row[2])):
        return RawTopics("mallet", _weighted(text, path), "topic-word weights")
    topics = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        parts = line.split("\t", 2)
        if len(parts) < 2 or not parts[0].strip().isdigit() or not _is_number(parts[1]):
            raise InputError(
                f"{path}:{number}: not a line of MALLET's topic keys (number, tab, alpha, tab, words); "
                "write them with: mallet train-topics --output-topic-keys keys.txt, or name another format"
            )
        topics.append(RawTopic(parts[0].strip(), "".join(parts[2:]).split(), None, f"{path}:{number}"))
    return RawTopics("mallet", topics, "topic keys")


def _weighted(text: str, path: str) -> list[RawTopic]:
    """Return the topics of topic-word weights, which may be millions of lines."""
    codes = pa.dictionary(pa.int32(), pa.string())
    try:
        table = pacsv.read_csv(
            pa.BufferReader(text.encode("utf-8", "surrogatepass")),
            read_options=pacsv.ReadOptions(column_names=["topic", "word", "weight"], use_threads=False),
            parse_options=pacsv.ParseOptions(delimiter="\t", quote_char=False),
            convert_options=pacsv.ConvertOptions(
                column_types={"topic": codes, "word": codes, "weight": pa.float64()},
                strings_can_be_null=False,
                null_values=[],
            ),
        ).unify_dictionaries()
    except pa.ArrowInvalid:
        raise InputError(
            f"{_first_bad_line(text, path)}: not number, tab, word, tab, weight as in the lines before"
        ) from None
    weight = table.column("weight").to_numpy()
    topic, word = (table.column(name).combine_chunks() for name in ("topic", "word"))
    counts = weight - weight.min()
    smoothed = weight.min() < 1 and counts.max() >= 1 and np.abs(counts - np.round(counts)).max() < 1e-6
    floor = weight.min() if smoothed else -np.inf
    by_topic = np.argsort(topic.indices.to_numpy(), kind="stable")
    ends = np.cumsum(np.bincount(topic.indices.to_numpy(), minlength=len(topic.dictionary)))
    topics = []
    for name, rows in zip(topic.dictionary.to_pylist(), np.split(by_topic, ends[:-1]), strict=True):
        rows = rows[weight[rows] > floor]
        rows = rows[np.argsort(-weight[rows], kind="stable")][:MOST_WORDS]
        topics.append(
            RawTopic(
                name.strip(), word.take(pa.array(rows)).to_pylist(), weight[rows].tolist(), f"{path}: topic {name}"
            )
        )
    return topics


def _first_bad_line(text: str, path: str) -> str:
    lines = enumerate(text.splitlines(), start=1)
    bad = (n for n, line in lines if line and (line.count("\t") != 2 or not _is_number(line.rsplit("\t", 1)[1])))
    return f"{path}:{next(bad, 1)}"


def strongest(words: Sequence[str], weights: Sequence[float], *, above: float) -> tuple[list[str], list[float]]:
    """Return the words of more than a weight in descending order, equals as they stand, `MOST_WORDS` at most."""
    order = sorted((i for i, weight in enumerate(weights) if weight > above), key=lambda i: -weights[i])[:MOST_WORDS]
    return [words[i] for i in order], [weights[i] for i in order]


def _is_number(text: str) -> bool:  # with a decimal comma too, as Java writes alpha where the locale does
    return re.fullmatch(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*", text) is not None
