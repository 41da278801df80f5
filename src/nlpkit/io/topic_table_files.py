"""Topics in tables: a row a word, a row a topic, a column a topic, or a matrix of weights; recognised by the header."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from nlpkit.cells import text_of
from nlpkit.errors import InputError
from nlpkit.io.topic_text_files import RawTopic, RawTopics, split_words, strongest
from nlpkit.wording import listed

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
