"""Topics that other programs print: a line a topic, MALLET, gensim, tomotopy, stm. Text → topics as they stand there."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from nlpkit.errors import InputError

MOST_WORDS = 1000  # of a topic that are kept, where a file gives the weight of every word
LITERAL_CHARS = 8 << 20  # Python's parser takes about a hundred times the memory of its text


@dataclass(slots=True)
class RawTopic:
    """A topic as a file gives it, best word first; name None where it has none; where: the place as messages say it."""

    name: str | None
    words: list[str]
    weights: list[float] | None
    where: str


@dataclass(slots=True)
class RawTopics:
    """The topics of a file in its order, the format they were found in, and how many lines were none of them."""

    format: str
    topics: list[RawTopic]
    layout: str = ""
    skipped_lines: int = 0


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
    given = [line for line in lines if line.strip()]
    cut = _name_cutter(given)
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
    numbers = [int(found[1]) if (found := _COUNTED.match(line)) else -1 for line in lines]
    if len(lines) > 1 and numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(lines))):
        return lambda line: _cut(_COUNTED, line)
    return lambda line: _cut(_NUMBERED, line)


def _cut_at_tab(line: str) -> tuple[str | None, str]:
    head, _, rest = line.partition("\t")
    return _cut(_NUMBERED, f"{head} ")[0] or head.strip(), rest


def _cut(pattern: re.Pattern[str], line: str) -> tuple[str | None, str]:
    found = pattern.match(line)
    if found is None:
        return None, line
    name = next(group for group in found.groups() if group is not None)
    return re.sub(r"(?i)topic\s*#?(?=\d+$)", "", name), line[found.end() :]


# ---------------------------------------------------------------- MALLET


def is_mallet(text: str) -> bool:
    """Tell whether a text is MALLET's topic keys or topic-word weights: number, tab, … in each of the first lines."""
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
                "write them with: mallet train-topics --output-topic-keys keys.txt, or name another --target-format"
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
    found = []
    for name, rows in zip(topic.dictionary.to_pylist(), np.split(by_topic, ends[:-1]), strict=True):
        rows = rows[weight[rows] > floor]
        rows = rows[np.argsort(-weight[rows], kind="stable")][:MOST_WORDS]
        found.append(
            RawTopic(
                name.strip(), word.take(pa.array(rows)).to_pylist(), weight[rows].tolist(), f"{path}: topic {name}"
            )
        )
    return found


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


# ---------------------------------------------------------------- gensim

_WEIGHT = r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?\s?\*\s?"  # 0.050*
_FORMULA = re.compile(rf"(?<![\w.*]){_WEIGHT}(?=\S)")
_TITLE = re.compile(r"topics?\W{0,4}(-?\d+)", re.I)


def parse_formula(text: str) -> tuple[list[str], list[float]] | None:
    """Return words and weights of gensim's `0.050*"word" + -0.030*"other"`, None where a text is none."""
    if not (found := _FORMULA.match(text.strip())):
        return None
    words, weights = [], []
    for part in re.split(rf"\s\+\s(?={_WEIGHT})", text.strip()):
        found = _FORMULA.match(part)
        assert found is not None  # parts begin with a weight
        word = part[found.end() :].strip()
        words.append(word[1:-1] if len(word) > 1 and word[0] == word[-1] == '"' else word)
        weights.append(float(found[0].rstrip("* ")))
    return words, weights


def is_gensim(text: str) -> bool:
    """Tell whether some line of the first million characters holds weight*word."""
    return any(_FORMULA.search(line) for line in text[: 1 << 20].splitlines())


def is_literals(text: str) -> bool:
    """Tell whether some line of a text is a Python list or tuple, such as [('word', 0.05), …] below a title."""
    return any(line.startswith(("[(", "[['", '[["', "['", '["')) for line in text.splitlines())


def printed_lines(text: str, path: str) -> Iterator[tuple[int, str | None, Any]]:
    """Yield number, name and topic of the lines that gensim and Python print, the topic being a formula or a literal.

    A name is the number after "topic" in the line or in one before it. What is neither is yielded with a topic of None.
    """
    name: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip().rstrip(",")
        found = _FORMULA.search(stripped)
        if stripped.startswith(("(", "[")):
            yield number, name, parse_literal(stripped, f"{path}:{number}")
        elif found:
            title = _TITLE.search(stripped[: found.start()])
            yield number, title[1] if title else name, stripped[found.start() :]
        elif title := _TITLE.search(stripped):
            name = title[1]
            continue
        elif stripped:
            yield number, None, None
            continue
        else:
            continue
        name = None


def parse_literal(text: str, where: str) -> Any:
    """Return the value of a Python literal, NumPy's names of its numbers taken off; nothing is run.

    Raises:
        InputError: it is none, or too long to parse.
    """
    if len(text) > LITERAL_CHARS:
        raise InputError(
            f"{where}: a Python list of {len(text):,} characters; up to {LITERAL_CHARS:,} are read, write it with json.dump"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of a backslash in a word
            return ast.literal_eval(re.sub(r"\b(?:np|numpy)\.\w+\(([-+.\deE]+)\)", r"\1", text.strip()))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        raise InputError(
            f"{where}: neither JSON nor a Python list: {text.strip()[:60]}; write it with json.dump"
        ) from None


# ---------------------------------------------------------------- tomotopy

_SUMMARY = re.compile(r"\|\s*(?P<name>\S.*?)\s*\((?P<size>\d[\d, ]*)\)(?: : ?(?P<words>.*))?")


def is_tomotopy(text: str) -> bool:
    """Tell whether a text is what `model.summary()` prints."""
    return "<Topics>" in text


def read_tomotopy(text: str, path: str) -> RawTopics:
    """Return the topics that `model.summary()` of tomotopy 0.14 lists below <Topics>; of all its kinds of models.

    A blank within a word cannot be told there from one between words: for such vocabularies write get_topic_words as JSON.
    """
    topics: list[RawTopic] = []
    heading, outer, inside = "", "", False
    headings: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if "<Topics>" in line:
            inside, topics, headings = True, [], []  # of several summaries in one file the last one
        found = _SUMMARY.fullmatch(line.rstrip()) if inside else None
        if found is None:
            if inside and (title := line.strip("| \t")) and not title.startswith(("<", "its sub-topics")):
                heading = title
            continue
        name, words = _plain_name(found["name"]), found["words"]
        if words is None:  # of DTModel: the time slices follow
            outer = name
        elif not (
            words.split() and all(re.fullmatch(r"#\d+", word) for word in words.split())
        ):  # numbers of sub-topics
            topics.append(
                RawTopic(f"{outer} {name}" if name.startswith("t=") else name, words.split(), None, f"{path}:{number}")
            )
            headings.append(heading)
    names = [topic.name for topic in topics]
    for topic, above in zip(topics, headings, strict=True):
        if names.count(topic.name) > 1 and above:
            topic.name = f"{above} {topic.name}"
    return RawTopics("tomotopy", topics, "summary")


def _plain_name(name: str) -> str:
    labelled = re.fullmatch(r"(?:Label )?(.*\S) \(#\d+\)", name)
    return labelled[1] if labelled else name.removeprefix("#")


# ---------------------------------------------------------------- stm


def is_stm(text: str) -> bool:
    """Tell whether a text is what `labelTopics` of R's stm prints."""
    return re.search(r"^\W*Highest Prob: ", text, re.MULTILINE) is not None


def read_stm(text: str, path: str) -> RawTopics:
    """Return the topics that `labelTopics` and `summary` of R's stm print, by probability; FREX, lift and score are not read."""
    topics: list[RawTopic] = []
    name: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        label, colon, words = line.strip("# \t").partition(":")
        if title := re.match(r"Topic (\S+) Top Words", label):
            name = title[1]
        elif colon and label == "Highest Prob":
            topics.append(RawTopic(name, split_words(words.strip().rstrip(",")), None, f"{path}:{number}"))
    return RawTopics("stm", topics, "highest probability")
