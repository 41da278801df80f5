"""Topics in JSON and in Python's literals, in the shapes that OCTIS, gensim, tomotopy, BERTopic and people write them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from nlpkit.errors import InputError
from nlpkit.io.topic_table_files import LIST_NAMES, TOPIC_NAMES, WEIGHT_NAMES, WORD_NAMES, plain_name, read_table_topics
from nlpkit.io.topic_text_files import RawTopic, RawTopics, parse_formula, parse_literal, printed_lines, split_words

_SHAPES = 'write {"topics": [["word", …], …]} as OCTIS does, [[["word", weight], …], …], or {"name": ["word", …], …}'
_MAIN = ("topics", "topic_representations", "topic_words", "topic_terms", "top_words", "terms")


def parse_json(text: str, path: str) -> Any:
    """Return the value of JSON, of JSON lines as a list, or of a Python literal.

    Raises:
        InputError: it is none of them; the message names the line.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data":
            return [
                _json_line(line, f"{path}:{number}") for number, line in enumerate(text.splitlines(), 1) if line.strip()
            ]
        first = error
    try:
        return parse_literal(text, path)
    except InputError as literal:
        if not isinstance(first, json.JSONDecodeError) or "characters" in str(literal):
            raise
        raise InputError(f"{path}:{first.lineno}: not JSON: {first.msg}; {_SHAPES}") from None


def _json_line(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return parse_literal(line, where)


def read_printed(text: str, path: str) -> RawTopics:
    """Return the topics of the lines that gensim's print_topics and tomotopy's README print (`printed_lines`)."""
    found = RawTopics("gensim", [])
    for number, name, value in printed_lines(text, path):
        where = f"{path}:{number}"
        if value is None:
            found.skipped_lines += 1
        elif isinstance(value, list) and not _is_words(value) and (several := _if_topics(value)) is not None:
            found.topics += [_topic(item, where) for item in several]
        else:
            topic = _topic(value, where)
            topic.name = topic.name or name
            found.topics.append(topic)
    return found


def read_json_topics(value: Any, path: str) -> RawTopics:
    """Return the topics of a parsed value.

    [["a", "b"], …], [[["a", 0.2], …], …] (or ["weight", word]), [{"word": "a", "weight": 0.2}, …], [0, '0.2*"a" + …'],
    [0, [["a", 0.2], …]], {"topics": …}, {"name": topic, …}, [{"topic": 0, "words": …}, …], and rows of a table.

    Raises:
        InputError: it is none of these; the message names the place in the value.
    """
    if isinstance(value, Mapping):
        return _of_object(value, path)
    if not isinstance(value, list | tuple):
        raise InputError(f"{path}: JSON, but {_shown(value)}, not topics; {_SHAPES}")
    if not value:
        raise InputError(f"{path} holds an empty list, no topics")
    if all(isinstance(item, Mapping) for item in value):
        return _of_objects(value, path)
    if (several := _if_topics(value)) is None:
        if all(isinstance(item, str) for item in value):
            raise InputError(f"{path}: one list of words; is it one topic? Then write [[…]]. {_SHAPES}")
        return RawTopics(_program([value]), [_topic(value, path)])
    return RawTopics(_program(several), [_topic(item, f"{path}: topics[{i}]") for i, item in enumerate(several)])


def _if_topics(value: Sequence[Any]) -> Sequence[Any] | None:
    """Return the value if it is a list of topics, None if it is one topic: words, pairs of word and weight, id and words."""
    if len(value) == 2 and _is_number(value[0]) and isinstance(value[1], str | list | tuple):
        return None
    if all(isinstance(item, str) for item in value):
        return value if all(map(_is_phrase, value)) else None
    numbered = all(_is_pair(item) and isinstance(item[0], int) and _is_phrase(item[1]) for item in value)
    return None if all(map(_is_pair, value)) and not numbered else value


def _is_words(value: Sequence[Any]) -> bool:
    return all(isinstance(item, str) and parse_formula(item) is None for item in value)


def _is_phrase(text: str) -> bool:
    """Tell whether a text is the words of a topic: a formula, or several words."""
    return parse_formula(text) is not None or len(split_words(text)) > 1


def _program(topics: Sequence[Any]) -> str:
    """Return the program whose shape the first topic has."""
    first = topics[0]
    if isinstance(first, str):
        return "gensim" if parse_formula(first) else "octis"
    if not isinstance(first, list | tuple) or not first:
        return "octis"
    if len(first) == 2 and _is_number(first[0]) != _is_number(first[1]) and not isinstance(first[0], str):
        return "gensim"  # id and words, or words and coherence
    return "tomotopy" if isinstance(first[0], list | tuple) else "octis"


# ---------------------------------------------------------------- objects


def _of_object(value: Mapping[str, Any], path: str) -> RawTopics:
    for key in _MAIN:
        inner = value.get(key)
        if isinstance(inner, Mapping) and inner:
            return _of_object(inner, path)
        if isinstance(inner, list) and inner and not all(isinstance(item, Real) for item in inner):
            found = read_json_topics(inner, path)
            _weigh(found, value.get("topic-word-matrix"))
            return found
    if value and all(_is_topic(item) for item in value.values()):
        topics = [_named(name, item, f"{path}: '{name}'") for name, item in value.items()]
        return RawTopics("json", topics)
    nested = {
        f"{name} / {part}": words
        for name, inner in value.items()
        if isinstance(inner, Mapping)
        for part, words in inner.items()
        if isinstance(words, list)
    }
    if nested and all(isinstance(inner, Mapping) for inner in value.values()):
        return RawTopics("json", [_named(name, item, f"{path}: '{name}'") for name, item in nested.items()])
    raise InputError(f"{path}: JSON without topics (keys: {', '.join(map(str, list(value)[:8])) or 'none'}); {_SHAPES}")


def _named(name: str, value: Any, where: str) -> RawTopic:
    topic = _topic(value, where)
    topic.name = str(name)
    return topic


def _is_topic(value: Any) -> bool:
    """Tell whether a value is a list of words, of pairs or of {"word": …}, a formula, or {word: weight}."""
    if isinstance(value, Mapping):
        return bool(value) and all(_is_number(item) for item in value.values())
    if isinstance(value, str):
        return _is_phrase(value)
    return isinstance(value, list | tuple) and all(isinstance(x, str | Mapping) or _is_pair(x) for x in value)


def _of_objects(rows: Sequence[Mapping[str, Any]], path: str) -> RawTopics:
    """Return the topics of a list of objects: one for each topic, or rows of a long table."""
    keys = {plain_name(str(key)): key for key in rows[0]}
    words = next((keys[name] for name in LIST_NAMES if name in keys), None)
    if words is not None and all(not isinstance(row.get(words), str) for row in rows):
        topics = [_of_row(row, words, f"{path}: topics[{i}]") for i, row in enumerate(rows)]
        return RawTopics("json", topics)
    if all(len(row) == 1 and isinstance(next(iter(row.values())), list) for row in rows):  # [{"0": […]}, {"1": […]}]
        return RawTopics("json", [_named(*item, path) for row in rows for item in row.items()])
    names = list(dict.fromkeys(key for row in rows for key in row))
    columns = {str(name): [row.get(name) for row in rows] for name in names}
    found = read_table_topics(columns, lambda row: f"{path}: row {row + 1}", path)
    return RawTopics("json", found.topics, found.layout)


def _of_row(row: Mapping[str, Any], words: str, where: str) -> RawTopic:
    topic = _topic(row[words] if row.get(words) is not None else [], where)
    plain = {plain_name(str(key)): value for key, value in row.items()}
    name = next((plain[key] for key in (*TOPIC_NAMES, "id", "name", "label") if key in plain), None)
    weights = next(
        (plain[key] for one in WEIGHT_NAMES for key in (f"{one}s", one) if isinstance(plain.get(key), list)), None
    )
    if (
        topic.weights is None
        and weights is not None
        and len(weights) == len(topic.words)
        and all(map(_is_number, weights))
    ):
        topic.weights = [float(x) for x in weights]
    topic.name = None if name is None else str(name)
    return topic


# ---------------------------------------------------------------- one topic


def _topic(value: Any, where: str) -> RawTopic:
    """Return one topic of whatever shape."""
    if isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[1], str | list | tuple | Mapping):
        name, inner = value
        # (0, '0.05*"a" + …'), (0, [("a", 0.05), …]), ("sports", ["a", …])
        if _is_number(name) or (isinstance(name, str) and not isinstance(inner, str)):
            topic = _topic(inner, where)
            topic.name = str(name)
            return topic
    if (
        isinstance(value, list | tuple)
        and len(value) == 2
        and isinstance(value[0], list | tuple)
        and _is_number(value[1])
    ):
        value = value[0]  # gensim's top_topics: words, coherence
    if isinstance(value, str):
        words, weights = parse_formula(value) or (split_words(value), None)
    elif isinstance(value, Mapping):
        key = next((key for key in value if plain_name(str(key)) in LIST_NAMES), None)
        if key is not None:
            return _of_row(value, key, where)
        words, weights = [str(word) for word in value], [_weight(x, where) for x in value.values()]
    elif isinstance(value, list | tuple):
        items = [_item(item, f"{where}[{i}]") for i, item in enumerate(value)]
        words, given = [word for word, _ in items], [weight for _, weight in items if weight is not None]
        if given and len(given) < len(items):
            raise InputError(f"{where}: {len(given)} of {len(items)} words have a weight; all need one, or none")
        weights = given or None
    else:
        raise InputError(f"{where}: {_shown(value)} where a topic was needed; {_SHAPES}")
    return RawTopic(None, words, weights, where)


def _item(item: Any, where: str) -> tuple[str, float | None]:
    """Return word and weight of "word", ["word", 0.1], [0.1, "word"] or {"word": "word", "weight": 0.1}."""
    if isinstance(item, str):
        return item, None
    if _is_pair(item):
        word, weight = item if isinstance(item[0], str) else item[::-1]
        return word, _weight(weight, where)
    if isinstance(item, Mapping):
        plain = {plain_name(str(key)): value for key, value in item.items()}
        word = next((plain[key] for key in (*WORD_NAMES, "text", "name") if key in plain), None)
        if isinstance(word, str):
            weight = next((plain[key] for key in WEIGHT_NAMES if key in plain), None)
            return word, None if weight is None else _weight(weight, where)
    if isinstance(item, int) or (isinstance(item, list | tuple) and len(item) == 2 and all(map(_is_number, item))):
        raise InputError(
            f"{where}: {_shown(item)} where a word was needed: ids of words cannot be scored, write the words"
        )
    raise InputError(f"{where}: {_shown(item)} where a word, or a word and its weight, was needed; {_SHAPES}")


def _weight(value: Any, where: str) -> float:
    if not _is_number(value):
        raise InputError(f"{where}: {_shown(value)} where the weight of a word was needed")
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_pair(item: Any) -> bool:
    """Tell whether an item is a word and a number, in whatever order."""
    return (
        isinstance(item, list | tuple)
        and len(item) == 2
        and ((isinstance(item[0], str) and _is_number(item[1])) or (_is_number(item[0]) and isinstance(item[1], str)))
    )


def _weigh(found: RawTopics, matrix: Any) -> None:
    """Give topics without weights those of OCTIS's topic-word matrix: its topics are the words of the highest ones."""
    if not isinstance(matrix, list) or len(matrix) != len(found.topics):
        return
    rows = list(zip(matrix, found.topics, strict=True))
    fits = all(isinstance(row, list) and len(row) >= len(t.words) and all(map(_is_number, row)) for row, t in rows)
    if fits and all(topic.weights is None for topic in found.topics):
        for row, topic in rows:
            topic.weights = sorted(map(float, row), reverse=True)[: len(topic.words)]


def _shown(value: Any) -> str:
    text = re.sub(r"\s+", " ", json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= 60 else text[:59] + "…"
