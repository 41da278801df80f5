"""Names of topics from a text file."""

from __future__ import annotations

from pathlib import Path

from nlpkit.errors import InputError

_PARAMETER = "topics_from"


def read_topic_names(path: Path) -> dict[str, list[str]]:
    """Return the topics of a file in its order, each with its descriptions: a line is `name` or `name: description | description`.

    Empty lines and those that begin with # are passed over.

    Raises:
        InputError: the file cannot be read, has no name, or one twice.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"names of topics {path}: cannot be opened ({error.strerror})", parameter=_PARAMETER) from None
    except UnicodeDecodeError:
        raise InputError(f"names of topics {path} is not UTF-8 text", parameter=_PARAMETER) from None
    topics: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        name, _, described = (part.strip() for part in line.partition(":"))
        if not name or name.startswith("#"):
            continue
        if name in topics:
            raise InputError(f"{path}:{number}: the topic '{name}' occurs twice", parameter=_PARAMETER)
        topics[name] = [text.strip() for text in described.split("|") if text.strip()]
    if not topics:
        raise InputError(f"names of topics {path}: there is none; write one a line", parameter=_PARAMETER)
    return topics
