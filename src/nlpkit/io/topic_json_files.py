"""Topics in JSON: lists of words or of words and weights, names with such lists, rows of a table."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from nlpkit.errors import InputError
from nlpkit.io.topic_table_files import read_table_topics
from nlpkit.io.topic_text_files import RawTopic, RawTopics, split_words
from nlpkit.wording import listed, truncated

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
        return bool(value) and all(_is_number(item) for item in value.values())
    if isinstance(value, str):
        return len(split_words(value)) > 1
    return isinstance(value, list) and all(isinstance(item, str) or _is_pair(item) for item in value)


def _topic(value: Any, where: str) -> RawTopic:
    if isinstance(value, list) and len(value) == 2 and isinstance(value[1], list):
        name, words = value  # [0, [["a", 0.05], …]], ["sports", ["a", …]]
        if isinstance(name, str) or _is_number(name):
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
    if isinstance(item, int) or (isinstance(item, list) and len(item) == 2 and all(map(_is_number, item))):
        raise InputError(
            f"{where}: {_json_excerpt(item)} where a word was needed: word ids cannot be scored; write the words"
        )
    raise InputError(f"{where}: {_json_excerpt(item)} where a word, or a word and its weight, was needed; {_SHAPES}")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_pair(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and _is_number(item[1])


def _weigh(raw: RawTopics, matrix: Any) -> None:
    """Give topics without weights those of OCTIS's topic-word matrix: its topics are the words of the highest ones."""
    if not isinstance(matrix, list) or len(matrix) != len(raw.topics):
        return
    rows: Sequence[Any] = list(zip(matrix, raw.topics, strict=True))
    fits = all(isinstance(row, list) and len(row) >= len(t.words) and all(map(_is_number, row)) for row, t in rows)
    if fits and all(topic.weights is None for topic in raw.topics):
        for row, topic in rows:
            topic.weights = sorted(map(float, row), reverse=True)[: len(topic.words)]


def _json_excerpt(value: Any) -> str:
    text = re.sub(r"\s+", " ", json.dumps(value, ensure_ascii=False, default=str))
    return truncated(text, 60)
