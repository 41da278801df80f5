"""Files with topics of other programs: six formats, recognised by the file's name or its first line.

Parts, in this order:
- Topics as plain text: a line a topic, and the two files of MALLET. Text → topics as they stand there.
- Topics in tables: a row a word, a row a topic, a column a topic, or a matrix of weights; recognised by the header.
- Topics in JSON: lists of words or of words and weights, names with such lists, rows of a table.
- All six formats together: recognised, read, checked.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from nlpkit.errors import InputError, MissingFileError, first_line, unknown_value
from nlpkit.platform.documents.encoding import decode
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.readers.delimited import dialect_of, read_delimited
from nlpkit.platform.documents.readers.parquet import check_values
from nlpkit.platform.documents.sources import STDIN, Source, StoredBytes, missing_path, split_suffix
from nlpkit.platform.runs.plain_tables import refuse_spreadsheet
from nlpkit.platform.types import FloatArray
from nlpkit.platform.values import text_of
from nlpkit.platform.wording import listed, truncated

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


# ------------------------------------------------------------------------------------------------------------------------
# Topics in tables: a row a word, a row a topic, a column a topic, or a matrix of weights; recognised by the header.

Columns: TypeAlias = Mapping[str, Sequence[Any]]

TOPIC_NAMES = (
    *("topic", "topic_id", "topicid", "topic_idx", "topic_index", "topic_num", "topic_number", "topic_no"),
    *("class", "cluster", "cluster_id", "component", "k"),
)
WORD_NAMES = ("term", "word", "token", "feature", "ngram")
RANK_NAMES = ("rank", "word_rank", "term_rank", "position", "order")
WEIGHT_NAMES = (
    *("weight", "prob", "probability", "beta", "phi", "score", "value", "importance"),
    *("c_tf_idf", "ctfidf", "frequency", "freq", "count"),
)
LIST_NAMES = (
    *("representation", "top_terms", "top_words", "topic_words", "topic_terms", "top_n_words"),
    *("words", "terms", "keywords", "topic_keywords", "tokens", "features"),
)

_WORD_NUMBER = re.compile(r"(?:top_?)?(?:word|term|token|feature|keyword|rank|top|w)_?(\d+)")
_WEIGHT_NUMBER = re.compile(r"(?:weight|prob|probability|score|value|p)_?(\d+)")
_TOPIC_NUMBER = re.compile(r"(?:topic|cluster|component|factor|class|k|t)_?#?(\d+)")


def plain_name(name: str) -> str:
    """Return a column name as it is compared: lower case, blanks, points and hyphens as underscores."""
    return re.sub(r"[\s.\-]+", "_", name.strip().lower())


def is_topic_header(names: Sequence[str]) -> bool:
    """Return whether names are those of topic and word columns, so that what is below them is a table of topics."""
    plain = {plain_name(name) for name in names}
    topics, rest = (sum(name in plain for name in group) for group in (TOPIC_NAMES, (*RANK_NAMES, *WEIGHT_NAMES)))
    lists = sum(name in plain for name in (*WORD_NAMES, *LIST_NAMES))
    return topics > 1 or (lists > 0 and topics + lists + rest > 1)


def is_numbered_header(names: Sequence[str]) -> bool:
    """Return whether two names or more are word_1, word_2 … or topic_0, topic_1 …"""
    plain = [name for name in map(plain_name, names) if name[:1].isalpha()]
    return any(sum(bool(p.fullmatch(name)) for name in plain) > 1 for p in (_WORD_NUMBER, _TOPIC_NUMBER))


def read_table_topics(columns: Columns, place: Callable[[int], str], path: str) -> RawTopics:
    """Return the topics of a table.

    long        a topic column, a term column, and rank or weight: a row a word (tidytext, nlpkit's topic_terms and ctfidf)
    word lists  a column of lists or of several words: a row a topic (BERTopic's get_topic_info, topics.parquet)
    rows        columns word_1, word_2 …: a row a topic
    columns     columns topic_0, topic_1 … that hold words: a column a topic
    matrix      a term column and numbers below topic_0, topic_1 …

    Words come by rank, else by descending weight unless the rows already descend (by size, as LSI does with signs), else as
    they stand. Of several topic columns, such as class and over, the names are joined.

    Args:
        columns: values of each column, all of one length.
        place: where a row is, as messages say it.
        path: the file.

    Raises:
        InputError: it is unclear where the topics are, or a cell does not fit; the message names the row.
    """
    plain = {plain_name(name): name for name in columns}
    term = next((plain[name] for name in WORD_NAMES if name in plain), None)
    lists = _list_column(columns, plain)
    topic = _topic_columns(columns, plain, besides=lists)
    if lists is not None and _is_long(columns, lists, topic):
        term, lists = lists, None
    if lists is not None:
        return _word_lists(columns, lists, topic, plain, place)
    if term is not None and topic:
        return _long(columns, term, topic, plain, place)
    if any(_WORD_NUMBER.fullmatch(name) for name in plain):
        return _rows(columns, plain, place)
    numbered = [name for name in columns if _TOPIC_NUMBER.fullmatch(plain_name(name))]
    if numbered and all(_numeric(columns[name]) for name in numbered):
        return _matrix(columns, term or _first_of_words(columns, numbered), numbered, place, path)
    if numbered:
        topics = [
            RawTopic(_number_in_name(_TOPIC_NUMBER, name), _words(columns[name]), None, f"{path}: column '{name}'")
            for name in numbered
        ]
        return RawTopics("table", topics, "columns")
    raise InputError(
        f"{path}: found no topics. The columns are {_columns(columns)}; name them topic and term (and rank or "
        "weight), topic and words, word_1 word_2 … (each row is a topic) or topic_0 topic_1 … (each column is one). "
        "Without a header name the format: lines"
    )


# ---------------------------------------------------------------- layouts


def _long(
    columns: Columns, term: str, topic: list[str], plain: dict[str, str], place: Callable[[int], str]
) -> RawTopics:
    rank = next((plain[name] for name in RANK_NAMES if name in plain), None)
    weight = next((plain[name] for name in WEIGHT_NAMES if name in plain), None)
    rows: dict[str, list[int]] = {}
    for row, parts in enumerate(zip(*(columns[name] for name in topic), strict=True)):
        rows.setdefault(" / ".join(text_of(part) for part in parts), []).append(row)
    topics = []
    for name, at in rows.items():
        words = [text_of(columns[term][row]) for row in at]
        weights = None if weight is None else [_float(columns[weight][row], weight, place(row)) for row in at]
        order = list(range(len(at)))
        if rank is not None:
            ranks = [_float(columns[rank][row], rank, place(row)) for row in at]
            order.sort(key=ranks.__getitem__)
        elif weights is not None and not _descending(weights):
            word_weights = weights
            order.sort(key=lambda i: -word_weights[i])
        words = [words[i] for i in order]
        topics.append(RawTopic(name, words, None if weights is None else [weights[i] for i in order], place(at[0])))
    return RawTopics("table", topics, "long")


def _word_lists(
    columns: Columns, lists: str, topic: list[str], plain: dict[str, str], place: Callable[[int], str]
) -> RawTopics:
    weight = next((plain[name] for one in WEIGHT_NAMES for name in (f"{one}s", one) if name in plain), None)
    names = [columns[name] for name in topic[:1]]
    topics = []
    for row, cell in enumerate(columns[lists]):
        words, weights = _cell(cell, place(row))
        weight_cell = None if weight is None else columns[weight][row]
        if weight is not None and weights is None and isinstance(weight_cell, list) and len(weight_cell) == len(words):
            weights = [_float(value, weight, place(row)) for value in weight_cell]
        name = text_of(names[0][row]) if names else None
        topics.append(RawTopic(name or None, words, weights, place(row)))
    return RawTopics("table", topics, "word lists")


def _rows(columns: Columns, plain: dict[str, str], place: Callable[[int], str]) -> RawTopics:
    chosen = _in_order(columns, _WORD_NUMBER)
    weighing = _in_order(columns, _WEIGHT_NUMBER)
    names = next((plain[name] for name in TOPIC_NAMES if name in plain), None)
    weighted = len(weighing) == len(chosen) and all(_numeric(columns[name]) for name in weighing)
    topics = []
    for row in range(len(columns[chosen[0]])):
        filled = [i for i, name in enumerate(chosen) if text_of(columns[name][row])]
        words = [text_of(columns[chosen[i]][row]) for i in filled]
        weights = [_float(columns[weighing[i]][row], weighing[i], place(row)) for i in filled] if weighted else None
        topics.append(RawTopic(text_of(columns[names][row]) or None if names else None, words, weights, place(row)))
    return RawTopics("table", topics, "rows")


def _matrix(
    columns: Columns, term: str | None, numbered: list[str], place: Callable[[int], str], path: str
) -> RawTopics:
    if term is None:
        raise InputError(
            f"{path}: the columns {_columns(numbered)} hold numbers and no column holds words; weights of words need a column "
            "'term', and topics of documents are not what is scored here"
        )
    words = [text_of(word) for word in columns[term]]
    topics = []
    for name in numbered:
        weights = [_float(value, name, place(row)) for row, value in enumerate(columns[name])]
        topics.append(
            RawTopic(
                _number_in_name(_TOPIC_NUMBER, name), *strongest(words, weights, above=0.0), f"{path}: column '{name}'"
            )
        )
    return RawTopics("table", topics, "matrix")


# ---------------------------------------------------------------- which column is what


def _list_column(columns: Columns, plain: dict[str, str]) -> str | None:
    named = next((plain[name] for name in LIST_NAMES if name in plain), None)
    if named is None:  # Hoyle et al. 2021 and others call the words of a topic "topic"
        named = next(
            (plain[n] for n in ("topic", *WORD_NAMES) if n in plain and _several_words(columns[plain[n]])), None
        )
    return named


def _topic_columns(columns: Columns, plain: dict[str, str], *, besides: str | None) -> list[str]:
    names = [plain[name] for name in TOPIC_NAMES if name in plain and plain[name] != besides][:1]
    return [*names, plain["over"]] if names and plain_name(names[0]) == "class" and "over" in plain else names


def _is_long(columns: Columns, lists: str, topic: list[str]) -> bool:
    """Return whether a column named like lists of words holds single words of topics that have several rows."""
    cells = columns[lists]
    return bool(topic) and all(isinstance(c, str) and len(split_words(c)) < 2 for c in cells) and (
        len({text_of(value) for value in columns[topic[0]]}) < len(cells)
    )  # fmt: skip


def _several_words(cells: Sequence[Any]) -> bool:
    filled = [cell for cell in cells if text_of(cell)]
    return bool(filled) and all(
        isinstance(cell, list) or (isinstance(cell, str) and len(split_words(cell)) > 1) for cell in filled
    )


def _first_of_words(columns: Columns, numbered: list[str]) -> str | None:
    return next((name for name in columns if name not in numbered and not _numeric(columns[name])), None)


def _in_order(columns: Columns, pattern: re.Pattern[str]) -> list[str]:
    positions = {name: int(match[1]) for name in columns if (match := pattern.fullmatch(plain_name(name)))}
    return sorted(positions, key=positions.__getitem__)


def _number_in_name(pattern: re.Pattern[str], name: str) -> str:
    match = pattern.fullmatch(plain_name(name))
    return match[1] if match else name


def _columns(names: Sequence[str] | Columns) -> str:
    return listed(list(names), 8) + (f" ({len(names)} in all)" if len(names) > 8 else "") or "none"


# ---------------------------------------------------------------- cells


def _cell(cell: Any, where: str) -> tuple[list[str], list[float] | None]:
    """Return words and weights of a cell: a list, such a list as BERTopic's tables have it in CSV, or words."""
    if isinstance(cell, str):
        if not cell.strip().startswith("["):
            return split_words(cell), None
        try:
            cell = ast.literal_eval(cell.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise InputError(f"{where}: a list of words was needed, found {cell[:60]}") from None
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return [], None
    items = list(cell) if isinstance(cell, list | tuple) else [cell]
    if all(isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str) for item in items) and items:
        return [str(item[0]) for item in items], [_float(item[1], "weight", where) for item in items]
    if not all(isinstance(item, str) for item in items):
        raise InputError(f"{where}: a list of words was needed, found {str(cell)[:60]}")
    return items, None


def _words(cells: Sequence[Any]) -> list[str]:
    return [word for cell in cells if (word := text_of(cell))]


def _float(cell: Any, column: str, where: str) -> float:
    try:
        value = float(cell)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where}: column '{column}' needs a number, found {text_of(cell) or 'nothing'!r}")
    return value


def _numeric(cells: Sequence[Any]) -> bool:
    try:
        return all(math.isfinite(float(cell)) for cell in cells if text_of(cell)) and any(map(text_of, cells))
    except (TypeError, ValueError):
        return False


def _descending(weights: Sequence[float]) -> bool:
    pairs = list(pairwise(weights))
    return all(a >= b for a, b in pairs) or all(abs(a) >= abs(b) for a, b in pairs)


# ------------------------------------------------------------------------------------------------------------------------
# Topics in JSON: lists of words or of words and weights, names with such lists, rows of a table.

_SHAPES = 'write {"topics": [["word", …], …]} as OCTIS does, [[["word", weight], …], …], or {"name": ["word", …], …}'
_MAIN = ("topics", "topic_representations", "terms")  # of OCTIS; of BERTopic; of nlpkit ctfidf `json`


def parse_json(text: str, path: str) -> Any:
    """Return the value of JSON, or of JSON lines as a list.

    Raises:
        InputError: it is neither; the message names the line.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if not isinstance(error, json.JSONDecodeError) or error.msg != "Extra data":
            raise _not_json(path, error) from None
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    values = []
    for number, line in lines:
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise _not_json(path, error, number) from None
    return values


def _not_json(path: str, error: Exception, line: int | None = None) -> InputError:
    place, reason = (error.lineno, error.msg) if isinstance(error, json.JSONDecodeError) else (1, "nested too deep")
    return InputError(f"{path}:{line or place}: not JSON: {reason}; {_SHAPES}")


def read_json_topics(value: Any, path: str) -> RawTopics:
    """Return the topics of a parsed value.

    A topic is a list of words, a list of ["word", weight], an object {"word": weight}, or one text of several words; before it
    may stand its number or name: [0, [["a", 0.2], …]]. Topics are a list of these, an object {"name": topic, …}, either of
    them below the key topics, topic_representations or terms, or a list of objects, which are the rows of a table
    (`read_table_topics`).

    Raises:
        InputError: it is none of these; the message names the place in the value.
    """
    if isinstance(value, Mapping):
        return _of_object(value, path)
    if not isinstance(value, list):
        raise InputError(f"{path}: JSON, but {_json_excerpt(value)}, not topics; {_SHAPES}")
    if not value:
        raise InputError(f"{path} holds an empty list, no topics")
    if all(isinstance(item, Mapping) and not _is_topic(item) for item in value):
        names = list(dict.fromkeys(key for row in value for key in row))
        columns = {str(name): [row.get(name) for row in value] for name in names}
        table = read_table_topics(columns, lambda row: f"{path}: topics[{row}]", path)
        return RawTopics("json", table.topics, table.layout)
    if all(isinstance(item, str) and len(split_words(item)) < 2 for item in value) or all(map(_is_pair, value)):
        raise InputError(f"{path}: a single list of words; if it is one topic, write [[…]]. {_SHAPES}")
    return RawTopics("json", [_topic(item, f"{path}: topics[{i}]") for i, item in enumerate(value)])


def _of_object(value: Mapping[str, Any], path: str) -> RawTopics:
    for key in _MAIN:
        inner = value.get(key)
        if isinstance(inner, Mapping) and inner:
            return _of_object(inner, path)
        if isinstance(inner, list) and inner and not all(isinstance(item, Real) for item in inner):
            nested = read_json_topics(inner, path)
            _weigh(nested, value.get("topic-word-matrix"))
            return nested
    named = dict(value)
    if value and all(isinstance(inner, Mapping) and not _is_topic(inner) for inner in value.values()):
        named = {f"{name} / {part}": words for name, inner in value.items() for part, words in inner.items()}
    if not named or not all(_is_topic(item) for item in named.values()):
        raise InputError(f"{path}: JSON without topics (keys: {listed(list(value), 8) or 'none'}); {_SHAPES}")
    topics = [_topic(item, f"{path}: '{name}'") for name, item in named.items()]
    for name, topic in zip(named, topics, strict=True):
        topic.name = str(name)
    return RawTopics("json", topics)


def _is_topic(value: Any) -> bool:
    """Return whether a value can be one topic: words, words with weights, or a text of several words."""
    if isinstance(value, Mapping):
        return bool(value) and all(_topic_json_files_is_number(item) for item in value.values())
    if isinstance(value, str):
        return len(split_words(value)) > 1
    return isinstance(value, list) and all(isinstance(item, str) or _is_pair(item) for item in value)


def _topic(value: Any, where: str) -> RawTopic:
    if isinstance(value, list) and len(value) == 2 and isinstance(value[1], list):
        name, words = value  # [0, [["a", 0.05], …]], ["sports", ["a", …]]
        if isinstance(name, str) or _topic_json_files_is_number(name):
            topic = _topic(words, where)
            topic.name = str(name)
            return topic
    if isinstance(value, str):
        return RawTopic(None, split_words(value), None, where)
    if isinstance(value, Mapping):
        value = [[str(word), weight] for word, weight in value.items()]
    if not isinstance(value, list):
        raise InputError(f"{where}: {_json_excerpt(value)} where a topic was needed; {_SHAPES}")
    items = [_item(item, f"{where}[{i}]") for i, item in enumerate(value)]
    weights = [weight for _, weight in items if weight is not None]
    if weights and len(weights) < len(items):
        raise InputError(f"{where}: {len(weights)} of {len(items)} words have a weight; all need one, or none")
    return RawTopic(None, [word for word, _ in items], weights or None, where)


def _item(item: Any, where: str) -> tuple[str, float | None]:
    """Return word and weight of "word" or ["word", 0.1]."""
    if isinstance(item, str):
        return item, None
    if _is_pair(item):
        return item[0], float(item[1])
    if isinstance(item, int) or (
        isinstance(item, list) and len(item) == 2 and all(map(_topic_json_files_is_number, item))
    ):
        raise InputError(
            f"{where}: {_json_excerpt(item)} where a word was needed: word ids cannot be scored; write the words"
        )
    raise InputError(f"{where}: {_json_excerpt(item)} where a word, or a word and its weight, was needed; {_SHAPES}")


def _topic_json_files_is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_pair(item: Any) -> bool:
    return (
        isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and _topic_json_files_is_number(item[1])
    )


def _weigh(raw: RawTopics, matrix: Any) -> None:
    """Give topics without weights those of OCTIS's topic-word matrix: its topics are the words of the highest ones."""
    if not isinstance(matrix, list) or len(matrix) != len(raw.topics):
        return
    rows: Sequence[Any] = list(zip(matrix, raw.topics, strict=True))
    fits = all(
        isinstance(row, list) and len(row) >= len(t.words) and all(map(_topic_json_files_is_number, row))
        for row, t in rows
    )
    if fits and all(topic.weights is None for topic in raw.topics):
        for row, topic in rows:
            topic.weights = sorted(map(float, row), reverse=True)[: len(topic.words)]


def _json_excerpt(value: Any) -> str:
    text = re.sub(r"\s+", " ", json.dumps(value, ensure_ascii=False, default=str))
    return truncated(text, 60)


# ------------------------------------------------------------------------------------------------------------------------
# Files with the topics of other programs: six formats, recognised by the name of the file or its first line.
#
# bytes ─▶ text ─[format]─▶ topic_text_files · topic_json_files · topic_table_files ─▶ topics as they stand ─[finish]─▶ TopicFile

TopicFormat: TypeAlias = Literal["auto", "lines", "json", "mallet", "csv", "tsv", "parquet"]
FORMATS: tuple[TopicFormat, ...] = get_args(TopicFormat)

MOST_BYTES = 512 << 20
OUTLIERS = "-1"  # BERTopic's topic of the documents that are in none

# What gensim prints, and summaries of tomotopy and stm: written for people, so that words cannot be distinguished from the rest.
_PRINTED = re.compile(r"\d?\.\d+\s?\*\s?\S|^[\[(]{1,2}['\"]|^<Topics>|^\W*Highest Prob: ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TopicFile:
    """The topics of a file, K in all, each with one word or more.

    topics: the words of each, best first, none twice.
    weights: of these words, as the file has them (probabilities, counts, c-tf-idf; LSI's are signed), or None without.
    names (K,): number or label in the file; where it has none the place among all its topics, from 0.
    format: one of `FORMATS`; layout: what of it, such as "topic keys", "" where there is only one.
    n_empty: topics without words, n_outlier: topics -1, both left out; n_repeated: words that a topic had already, left out.
    """

    topics: tuple[tuple[str, ...], ...]
    weights: tuple[FloatArray, ...] | None
    names: tuple[str, ...]
    format: str
    layout: str = ""
    n_empty: int = 0
    n_outlier: int = 0
    n_repeated: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Clauses about topics and words that were left out or look odd."""
        left_out = (
            (self.n_empty, "topic without words left out", "topics without words left out"),
            (self.n_outlier, "outlier topic (-1) left out", "outlier topics (-1) left out"),
            (self.n_repeated, "repeated word of a topic left out", "repeated words of topics left out"),
        )
        again = len(self.names) - len(set(self.names))
        odd = (
            again,
            "name of a topic occurs twice: are there several models?",
            "topics have the name of another: several models?",
        )
        return tuple(f"{n:,} {one if n == 1 else many}" for n, one, many in (*left_out, odd) if n)


def read_topic_file(path: Path, *, format: str = "auto", encoding: str | None = None) -> TopicFile:
    """Return the topics of a file, packed or not, in any encoding that corpora may have; `-` is standard input.

        lines      a line a topic; "3<TAB>…", "Topic 3: …" and "name: …" name it
        json       {"topics": [[word, …], …]} as OCTIS writes, {name: [word, …]}, BERTopic's topics.json (`read_json_topics`)
        mallet     --output-topic-keys, --topic-word-weights-file
        csv tsv parquet   a table: a row a word, a row a topic, a column a topic, a matrix (`read_table_topics`)

    auto takes the format from the name (.json .jsonl .csv .tsv), else from the first line: JSON begins with a bracket, a line of
    MALLET is number, tab, …, a table has a header with a column of topics; all else is a line a topic.

    Where a file weighs every word of the vocabulary, the 1000 strongest of a topic are kept.

    Raises:
        UsageError: no such format.
        InputError: the file cannot be read or holds no topics; the message names the place.
    """
    if format not in FORMATS:
        raise unknown_value("format", format, FORMATS)
    shown, data = _read(path)
    if data.startswith(b"PAR1") or format == "parquet":
        raw = _parquet(data, shown)
    else:
        text = "".join(decode(iter([data]), shown, encoding=encoding).text)
        if not text.strip():
            raise InputError(f"{shown} is empty; a file of topics needs at least one")
        raw = _parse(text, shown, _format_of(text, shown) if format == "auto" else format)
    return _finish(raw, shown)


def _read(path: Path) -> tuple[str, bytes]:
    """Return the path as messages say it and the unpacked bytes."""
    if str(path) != STDIN and path.is_dir():
        raise InputError(f"{path} is a directory, and no run of nlpkit; name a file of topics in it")
    if str(path) != STDIN and not path.exists():
        raise MissingFileError(missing_path(path))
    refuse_spreadsheet(path)
    parts, size = [], 0
    with StoredBytes(Source(str(path), path.name, None)) as stored:
        for chunk in stored:
            parts.append(chunk)
            size += len(chunk)
            if size > MOST_BYTES:
                raise InputError(
                    f"{stored.path}: more than {MOST_BYTES >> 20} MB, too much for the topics of a model; if it is "
                    "a corpus, pass it as `reference`"
                )
        return stored.path, b"".join(parts)


# ---------------------------------------------------------------- which format


def _format_of(text: str, path: str) -> str:
    """Return the format of a text.

    Raises:
        InputError: it is markup, what a program printed for people, or looks like documents.
    """
    start = text.lstrip()
    if start[:200].lower().startswith(("<?xml", "<!doctype", "<html", "<model", "<topics>\n<topic ")):
        raise InputError(f"{path} is XML or HTML; for MALLET, give --output-topic-keys or --topic-word-weights-file")
    suffix = split_suffix(Path(path).name)[1]
    if suffix in ("json", "jsonl") or start.startswith(("{", "[")):
        return "json"
    if suffix in ("csv", "tsv"):
        return suffix
    if is_mallet(text):
        return "mallet"
    if _PRINTED.search(text, 0, 1 << 20):
        raise InputError(
            f"{path} is printed output of a program; write the words of its topics as JSON. For gensim: "
            "json.dump([[w for w, _ in model.show_topic(k)] for k in range(model.num_topics)], file)"
        )
    header, _, below = start.partition("\n")
    names = [name.strip('"') for name in re.split(r"[,;|\t]", header)]
    if is_numbered_header(names) or (
        is_topic_header(names) and re.search(r"(?:^|[,;|\t])\"?[-.\d\[]", below.partition("\n")[0])
    ):
        return "tsv" if "\t" in header else "csv"
    _refuse_documents(text, path)
    return "lines"


def _refuse_documents(text: str, path: str) -> None:
    longest = max(((len(line.split()), i) for i, line in enumerate(text.splitlines(), start=1)), default=(0, 0))
    if longest[0] > MOST_WORDS:
        raise InputError(
            f"{path}:{longest[1]}: a line of {longest[0]:,} words; if these are documents, pass them as "
            "`reference`; if each line is a topic, set the format: lines"
        )


# ---------------------------------------------------------------- reading


def _parse(text: str, path: str, format: str) -> RawTopics:
    if format == "json":
        return read_json_topics(parse_json(text, path), path)
    if format == "lines":
        return read_lines(text, path)
    if format == "mallet":
        return read_mallet(text, path)
    columns: dict[str, list[object]] = {}
    lines: list[int] = []
    delimiter = "\t" if format == "tsv" else None
    dialect = dialect_of(lambda: [text], path, delimiter=delimiter, options=ReadOptions(text_col="topic"))
    for block in read_delimited([text], path, dialect):
        for name, values in block.columns.items():
            columns.setdefault(name, []).extend(values)
        lines.extend(block.lines or ())
    if not lines:
        raise InputError(f"{path} has a header and no rows; a table of topics needs at least one")
    return replace(read_table_topics(columns, lambda row: f"{path}:{lines[row]}", path), format=format)


def _parquet(data: bytes, path: str) -> RawTopics:
    try:
        table = pq.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read as Parquet ({first_line(error)}); write it again") from None
    check_values(table, path)
    columns: Columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return replace(read_table_topics(columns, lambda row: f"{path}: row {row + 1}", path), format="parquet")


# ---------------------------------------------------------------- finishing


def _finish(raw: RawTopics, path: str) -> TopicFile:
    """Leave out what cannot be scored, and count it."""
    topics, weights, names = [], [], []
    empty = outlier = repeated = 0
    weighted = all(topic.weights is not None for topic in raw.topics if topic.words)
    for place, topic in enumerate(raw.topics):
        name = str(place) if topic.name is None else topic.name
        first = {word: i for i, stored in reversed(list(enumerate(topic.words))) if (word := _storable(stored))}
        kept = sorted(first.values())[:MOST_WORDS]
        repeated += sum(bool(_storable(word)) for word in topic.words) - len(first)
        if name == OUTLIERS:
            outlier += 1
        elif not kept:
            empty += 1
        else:
            topics.append(tuple(_storable(topic.words[i]) for i in kept))
            names.append(name)
            if weighted and topic.weights is not None:
                values = np.array([topic.weights[i] for i in kept], np.float64)
                if not np.isfinite(values).all():
                    raise InputError(
                        f"{topic.where}: the weight of '{topics[-1][int(np.argmin(np.isfinite(values)))]}' is not a number"
                    )
                weights.append(values)
    if not topics:
        left = f" ({empty} without words, {outlier} of outliers)" if empty or outlier else ""
        raise InputError(f"{path} holds no topics{left}; a file of topics needs at least one word in one topic")
    return TopicFile(
        tuple(topics), tuple(weights) if weighted else None, tuple(names), raw.format, raw.layout,
        empty, outlier, repeated,
    )  # fmt: skip


def _storable(word: str) -> str:
    """Return a word without blanks around it, and without the halves of characters that JSON can hold and no file can."""
    return word.strip().encode("utf-8", "replace").decode()
