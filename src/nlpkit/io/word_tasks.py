"""Files of questions about words: analogies in sections, pairs of words with ratings, sets of words."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np

from nlpkit.errors import InputError
from nlpkit.io.wordlists import numbered_lines
from nlpkit.types import FloatArray
from nlpkit.words.analogies import Question


def read_questions(path: Path) -> list[Question]:
    """Return the analogies of a file in the format of word2vec's questions-words.txt: four words a line, ": name" begins a section.

    Raises:
        InputError: it cannot be read, a line has not four words, or there is none.
    """
    section, questions = "", []
    for number, line in numbered_lines(path):
        words = line.split()
        if not words:
            continue
        if words[0].startswith(":"):
            section = line.strip().lstrip(":").strip()
        elif len(words) == 4:
            questions.append(Question(section, *words))
        else:
            raise InputError(
                f"{path}:{number}: four words were needed (a is to b as c is to d), found '{line[:60].rstrip()}'"
            )
    if not questions:
        raise InputError(f"{path} has no questions; a line has four words, such as: man king woman queen")
    return questions


def read_rated_pairs(path: Path) -> tuple[list[tuple[str, str]], FloatArray]:
    """Return the pairs of words of a file and their ratings (P,): two words and a number a line, between tabs, commas or spaces.

    Lines that begin with # and a first line without a number are passed over; what follows the number (as in SimLex) is not used.

    Raises:
        InputError: it cannot be read, a line has no two words and number, or there is none.
    """
    pairs: list[tuple[str, str]] = []
    ratings: list[float] = []
    for number, line in numbered_lines(path):
        if not line.strip() or line.startswith("#"):
            continue
        fields = _fields(line)
        rating = next((value for field in fields[2:] if (value := _number(field)) is not None), None)
        if rating is not None and len(fields) >= 3 and all(fields[:2]):
            pairs.append((fields[0], fields[1]))
            ratings.append(rating)
        elif pairs or number > 1:
            raise InputError(f"{path}:{number}: two words and a number were needed, found '{line[:60].rstrip()}'")
    if not pairs:
        raise InputError(f"{path} has no pairs; a line has two words and a number, such as: tiger cat 7.35")
    return pairs, np.array(ratings)


def _fields(line: str) -> list[str]:
    """Return the fields of a line by the first of tab, comma, semicolon that it has, else by spaces."""
    mark = next((mark for mark in "\t,;" if mark in line), None)
    return [field.strip().strip('"') for field in line.split(mark)]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


_SETS = "write it as: [attributes], then two lines, such as: male = ['he', 'man'], female = ['she', 'woman']; [targets] likewise"


def read_word_sets(path: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the two attribute sets and the two target sets (none, or two) of a TOML file, by name.

        [targets]
        science = ["physics", "chemistry"]
        arts = ["poetry", "dance"]
        [attributes]
        male = ["he", "man"]
        female = ["she", "woman"]

    Raises:
        InputError: it cannot be read, or does not look like this.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"word sets {path}: cannot be opened ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"word sets {path} is not TOML: {error}; {_SETS}") from None
    unknown = set(content) - {"targets", "attributes"}
    if unknown or "attributes" not in content:
        raise InputError(
            f"word sets {path} needs the table [attributes], found: {', '.join(content) or 'nothing'}; {_SETS}"
        )
    for name, table in content.items():
        if not isinstance(table, dict) or len(table) != 2 or not all(_is_set(words) for words in table.values()):
            raise InputError(f"word sets {path}: [{name}] needs two lists of words; {_SETS}")
    return content["attributes"], content.get("targets", {})


def _is_set(words: object) -> bool:
    return isinstance(words, list) and bool(words) and all(isinstance(word, str) and word for word in words)
