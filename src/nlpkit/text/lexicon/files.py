"""The files of lexica: weights for sentiment, and words in categories.

Parts, in this order:
- Sentiment lexica of the user: tables and lists in the formats they are passed around in, and the opinion lexicon of
  NLTK.
- Lexica of categories in the formats they are passed around in: NRC, Loughran–McDonald, LIWC, plain lists of words.
"""

from __future__ import annotations

import csv
import logging
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nlpkit.errors import InputError, MissingError, MissingFileError, UsageError, missing_column, missing_extra
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.sources import missing_path
from nlpkit.platform.runs.plain_tables import read_rows, table_format
from nlpkit.platform.values import text_of
from nlpkit.text.files import numbered_lines
from nlpkit.text.lexicon.model import CategoryLexicon, Lexicon

log = logging.getLogger("nlpkit.io")

ROLES = ("word", "weight", "kind")
COLUMN_NAMES = {  # what columns are called, lower case
    "word": ("word", "term", "token", "lemma", "entry", "wort"),
    "weight": ("weight", "score", "valence", "polarity", "value", "sentiment", "label", "factor", "gewicht", "wert"),
    "kind": ("kind",),
}
_SIGNS = {
    **dict.fromkeys(("positive", "pos", "positiv", "+"), 1.0),
    **dict.fromkeys(("negative", "neg", "negativ", "-", "−"), -1.0),
    **dict.fromkeys(("neutral", "neu"), 0.0),
}
_SENTIMENT = frozenset(("", "sentiment", "word", "opinion", "positive", "negative"))
_NEGATES = frozenset(("negation", "negator", "negations"))
_SCALES = frozenset(("intensifier", "amplifier", "booster", "diminisher", "downtoner", "dampener"))
_SENTIWS = re.compile(r"(?P<word>[^|\t]+)\|(?P<tag>[A-Z]+)$")
_LIU = ("positive-words.txt", "negative-words.txt")


@dataclass(frozen=True, slots=True)
class _LexiconRow:
    """A line of a lexicon: where it is, the word, and weight and kind as they are written ("" for none)."""

    place: str
    word: str
    weight: str
    kind: str


def read_lexicon(paths: Sequence[Path], columns: Mapping[str, str] | None = None, *, check: bool = True) -> Lexicon:
    """Return the lexicon of one file with weights, or of two lists of words, the positive ones first.

        word TAB weight …                      AFINN, VADER: no header, what follows the weight is passed over
        Wort|NN TAB weight TAB form,form       SentiWS: the forms have the weight of their word
        a table with a header, Parquet, JSONL  columns word, weight and perhaps kind, see `columns`
        two files, a word a line               weights 1 and -1; a name with "neg" in it is the negative one

    Lines that begin with ; or # are comments. A weight is a number, or positive, pos, negative, neg, neutral. kind: negation
    (the word negates), intensifier (its weight is the factor by which it scales the next word), else a sentiment word.

    Args:
        paths: one file or two.
        columns: role (word, weight, kind) → name of the column, for those not recognised by their names.
        check: whether to look for words with several weights: a few are reported, and get their mean.

    Raises:
        UsageError: more than two files.
        InputError: a file cannot be read, has no words, or a weight is none; the message names the line; or many words have several
            weights, as in a long table with a row for each emotion.
        ColumnError: a column is not there.
    """
    if not 1 <= len(paths) <= 2:
        raise UsageError(f"`lexicon` takes one file, or two lists (positive,negative), got {len(paths)}")
    for path in paths:
        if not path.exists():
            raise MissingFileError(missing_path(path))
    if len(paths) == 2:
        paths = _in_order(paths)
    negations: list[str] = []
    intensifiers: dict[str, float] = {}
    words: list[str] = []
    weights: list[float] = []
    places: list[str] = []
    for path, sign in zip(paths, ("1", "-1"), strict=False):
        before = len(words)
        for row in _rows(path, columns or {}):
            if not row.word:
                continue
            if row.kind in _NEGATES:
                negations.append(row.word)
            elif row.kind in _SCALES:
                intensifiers[row.word] = _factor(row)
            elif row.kind not in _SENTIMENT:
                raise InputError(
                    f"{row.place}: kind '{row.kind}' of '{row.word}' is not known; known are negation, intensifier, "
                    "and an empty cell for a word with sentiment"
                )
            else:
                words.append(row.word)
                places.append(row.place)
                weights.append(_weight(row, sign if len(paths) == 2 else None))
        if len(words) == before:
            raise InputError(f"{path}: has no word with a weight; each line needs a word and its weight")
    name = ",".join(str(path) for path in paths)
    if check:
        _check_repeated(name, words, weights, places)
    return Lexicon(name, tuple(words), tuple(weights), tuple(negations), tuple(intensifiers.items()))


_MANY = 0.1  # of the words


def _check_repeated(name: str, words: Sequence[str], weights: Sequence[float], places: Sequence[str]) -> None:
    first: dict[str, int] = {}
    apart: dict[str, int] = {}  # word → its first row with another weight
    for i, word in enumerate(words):
        if weights[first.setdefault(word, i)] != weights[i]:
            apart.setdefault(word, i)
    if not apart:
        return
    word, i = next(iter(apart.items()))
    shown = (
        f"'{word}' has the weight {weights[first[word]]:g} in {places[first[word]]} and {weights[i]:g} in {places[i]}"
    )
    if len(apart) > _MANY * len(first):
        raise InputError(
            f"lexicon {name}: {len(apart):,} of {len(first):,} words have several weights ({shown}). If there is a "
            "row for each emotion or sense, keep the rows of one"
        )
    others = f", and {len(apart) - 1:,} more words" if len(apart) > 1 else ""
    log.warning("lexicon %s: %s%s; the mean of their weights is taken", name, shown, others)


def read_negations(path: Path) -> tuple[str, ...]:
    """Return the words of a list, one a line, without comments. Raises InputError when it cannot be read or has none."""
    if not path.exists():
        raise MissingFileError(missing_path(path))
    words = tuple(dict.fromkeys(line for _, line in lexicon_lines(path)))
    if not words:
        raise InputError(f"{path}: has no words; each line needs one negation")
    return words


def opinion_lexicon() -> Lexicon:
    """Return the opinion lexicon of Hu & Liu (2004) from NLTK's data. Raises MissingError when it is not there."""
    for folder in _nltk_folders():
        paths = [folder / "corpora" / "opinion_lexicon" / name for name in _LIU]
        if all(path.is_file() for path in paths):
            return read_lexicon(paths, check=False)
    raise MissingError(
        "the opinion lexicon of Hu & Liu is not installed in NLTK's data (searched: NLTK_DATA, ~/nltk_data, the "
        "environment of Python and /usr); run: python -m nltk.downloader opinion_lexicon, or give its two lists: "
        "`lexicon=positive-words.txt,negative-words.txt`"
    )


def package_list(name: str) -> Path:
    """Return the word list that a package carries, of vader, afinn or afinn:da.

    Raises:
        MissingError: it is not installed.
        UsageError: the package has no such list.
    """
    package, _, variant = name.partition(":")
    folder, file = {
        "vader": ("vaderSentiment", "vader_lexicon.txt"),
        "afinn": ("afinn", f"data/AFINN-{'da-32' if variant == 'da' else 'en-165'}.txt"),
    }[package]
    package_spec = find_spec(folder)
    if package_spec is None or not package_spec.submodule_search_locations:
        raise missing_extra(f"`lexicon={package}`", "sentiment")
    if variant not in ("", "en", "da") or (package == "vader" and variant):
        raise UsageError(f"`lexicon={name}`: as a list of words there are vader, afinn and afinn:da")
    return Path(package_spec.submodule_search_locations[0]) / file


def _nltk_folders() -> Iterator[Path]:
    """Yield the folders where NLTK looks for its data."""
    for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep):
        if folder:
            yield Path(folder)
    yield Path.home() / "nltk_data"
    for below in ("nltk_data", "share/nltk_data", "lib/nltk_data"):
        yield Path(sys.prefix) / below
    for system in ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib"):
        yield Path(system) / "nltk_data"


def _in_order(paths: Sequence[Path]) -> Sequence[Path]:
    """Return two lists, the positive one first: as their names say, else as they were given."""
    first, second = (path.name.lower() for path in paths)
    turned = "neg" in first and "neg" not in second
    return paths[::-1] if turned else paths


def _rows(path: Path, columns: Mapping[str, str]) -> Iterator[_LexiconRow]:
    """Yield the lines of a lexicon in any format."""
    if table_format(path) in ("parquet", "jsonl", "json"):
        table = read_rows(path, hint=columns.get("word", "word"))
        yield from _of_columns(str(path), table.columns, table.places, columns)
        return
    lines = list(lexicon_lines(path))
    if not lines:
        return
    delimiter = delimiter_of([line for _, line in lines[:100]])
    if delimiter is None:
        if columns:
            raise missing_column(str(path), columns.get("word", "word"), [lines[0][1]], "lexicon_cols")
        yield from (_LexiconRow(f"{path}:{number}", line, "", "") for number, line in lines)
        return
    texts = [line for _, line in lines]
    tabs = delimiter == "\t"
    parsed = [line.split("\t") for line in texts] if tabs else list(csv.reader(texts, delimiter=delimiter))
    if len(parsed) != len(lines):
        first = next(
            (n for (n, line), row in zip(lines, parsed, strict=False) if "\n" in "".join(row) or line.count('"') % 2), 1
        )
        raise InputError(
            f"{path}:{first}: a cell spans several lines; write each row on one line, and double the quotation marks"
        )
    cells = [(f"{path}:{number}", row) for (number, _), row in zip(lines, parsed, strict=True)]
    head = [cell.strip() for cell in cells[0][1]]
    if not columns and len(head) > 1 and _is_weight(head[1]):
        for place, row in cells:
            yield from _headless(place, row)
        return
    rows = [row + [""] * (len(head) - len(row)) for _, row in cells[1:]]
    table_columns = {name: [row[i] for row in rows] for i, name in enumerate(head)}
    yield from _of_columns(str(path), table_columns, [place for place, _ in cells[1:]], columns)


def lexicon_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that hold something and are no comments, with their numbers."""
    for number, line in numbered_lines(path):
        text = line.rstrip("\r\n")
        if text.strip() and not text.startswith(";") and not re.match(r"#(\s|$)", text):
            yield number, text if "\t" in text else text.strip()


def delimiter_of(lines: Sequence[str]) -> str | None:
    """Return what stands between the columns of lines: the first of TAB ; , that is in all of them but one or two, None."""
    for mark in ("\t", ";", ","):
        if sum(mark in line for line in lines) >= max(1, 0.9 * len(lines)):
            return mark
    return None


def _headless(place: str, row: Sequence[str]) -> Iterator[_LexiconRow]:
    """Yield the words of a line without a header: word, weight, and perhaps the forms of SentiWS."""
    word, weight = row[0].strip(), row[1].strip() if len(row) > 1 else ""
    sentiws = _SENTIWS.match(word)
    if sentiws is None:
        yield _LexiconRow(place, word, weight, "")
        return
    forms = row[2].split(",") if len(row) > 2 else []
    for form in dict.fromkeys([sentiws["word"].strip(), *(form.strip() for form in forms)]):
        yield _LexiconRow(place, form, weight, "")


def _of_columns(
    path: str, table: Mapping[str, Sequence[Any]], places: Sequence[str], columns: Mapping[str, str]
) -> Iterator[_LexiconRow]:
    names = {role: _column(path, role, table, columns) for role in ROLES}
    empty = [""] * len(places)
    word, weight, kind = (table[name] if name is not None else empty for name in names.values())
    for place, w, x, k in zip(places, word, weight, kind, strict=True):
        yield _LexiconRow(place, text_of(w), text_of(x), text_of(k).lower())


def _column(path: str, role: str, table: Mapping[str, Sequence[Any]], columns: Mapping[str, str]) -> str | None:
    """Return the column of a role: the one named, else one whose name tells; None for a kind that is not there."""
    if role in columns:
        if columns[role] not in table:
            raise missing_column(path, columns[role], table, "lexicon_cols")
        return columns[role]
    lower = {name.strip().lower(): name for name in reversed(list(table)) if name not in columns.values()}
    known = next((lower[name] for name in COLUMN_NAMES[role] if name in lower), None)
    if known is None and role != "kind":
        raise missing_column(path, role, table, f"lexicon_cols={role}=…")
    return known


def _is_weight(text: str) -> bool:
    return text.strip().lower() in _SIGNS or _parse_weight(text) is not None


def _parse_weight(text: str) -> float | None:
    """Return a number, also with a decimal comma, None when it is none."""
    plain = text.strip().replace("−", "-")
    if "," in plain and "." not in plain:
        plain = plain.replace(",", ".")
    try:
        value = float(plain)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _weight(row: _LexiconRow, sign: str | None) -> float:
    if not row.weight and sign is not None:
        return float(sign)
    if row.weight.lower() in _SIGNS:
        return _SIGNS[row.weight.lower()]
    value = _parse_weight(row.weight)
    if value is None:
        if not row.weight:
            raise InputError(
                f"{row.place}: '{row.word}' has no weight; each line needs a word and its weight, or two lists: "
                "`lexicon=positive.txt,negative.txt`"
            )
        raise InputError(
            f"{row.place}: weight '{row.weight}' of '{row.word}' is neither a number nor positive, negative or "
            "neutral; name the column with `lexicon_cols=weight=…`"
        )
    return value


def _factor(row: _LexiconRow) -> float:
    value = _parse_weight(row.weight)
    if value is None or value <= 0:
        raise InputError(
            f"{row.place}: factor '{row.weight}' of the intensifier '{row.word}': a number above 0 was needed, "
            "such as 1.5 for very and 0.5 for slightly"
        )
    return value


# ------------------------------------------------------------------------------------------------------------------------
# Lexica of categories in the formats they are passed around in: NRC, Loughran–McDonald, LIWC, plain lists of words.

_TRUE, _FALSE = frozenset(("1", "1.0", "true")), frozenset(("", "0", "0.0", "-1", "-1.0", "false"))
_COUNTED = ("syllables", "seq_num", "word count", "doc count")  # columns of Loughran & McDonald that are no categories
_YEAR = re.compile(
    r"-?(?:19|20)\d\d(?:\.0)?"
)  # Loughran and McDonald: when a word came in, with - when it was taken out


def read_categories(path: Path, name: str | None = None) -> CategoryLexicon:
    """Return the words of categories of a file.

        %, lines number TAB category, %, then word TAB numbers     LIWC .dic; * at the end of a word stands for any
        term TAB category TAB 0 or 1                               NRC: those with 1; or term TAB category
        a table with a header (also Parquet, JSONL)                a column of words, and those of 0 and 1 (also -1), or of years as
                                                                   Loughran & McDonald have them, where a year above 0 means 1
        a word a line                                              one category, called as the file

    Lines that begin with ; or # are comments.

    Args:
        name: what the columns are called after; default: the name of the file.

    Raises:
        InputError: it cannot be read, or has no word with a category; the message names the line.
    """
    if not path.exists():
        raise MissingFileError(missing_path(path))
    entries: dict[str, set[str]] = {}
    order: dict[str, None] = {}
    stem = re.sub(r"\W+", "_", path.name.split(".")[0]).strip("_").lower() or "lexicon"
    repeated: dict[tuple[str, str], None] = {}
    for word, category in _pairs(path, name or stem):
        order[category] = None
        if category in entries.get(word, ()):
            repeated[word, category] = None
        if word:
            entries.setdefault(word, set()).add(category)
    if not entries:
        raise InputError(f"{path}: has no word with a category")
    if repeated:
        word, category = next(iter(repeated))
        n = wording.counted(len(repeated), "word")
        reporting.note(
            f"{path} has {n} more than once in a category, such as '{word}' in {category}; each is counted once"
        )
    frozen = {word: frozenset(categories) for word, categories in entries.items()}
    return CategoryLexicon(name or stem, frozen, tuple(order), str(path))


def _pairs(path: Path, stem: str) -> Iterator[tuple[str, str]]:
    """Yield the words of a file with a category each, and "" with one that stands without a word; stem: that of a list of words."""
    if table_format(path) in ("parquet", "jsonl", "json"):
        table = read_rows(path, hint="word")
        yield from _of_table(str(path), table.columns)
        return
    lines = list(lexicon_lines(path))
    if lines and lines[0][1].strip() == "%":
        yield from _of_dic(path, lines)
        return
    delimiter = delimiter_of([line for _, line in lines[:100]])
    if delimiter is None:
        yield from ((line.strip(), stem) for _, line in lines)
        return
    rows = list(
        csv.reader(
            (line for _, line in lines),
            delimiter=delimiter,
            quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL,
        )
    )
    places = [f"{path}:{number}" for number, _ in lines]
    if len(rows) != len(places):
        raise InputError(f"{path}: has a cell that spans several lines; write each row on one line")
    if len(rows[0]) in (2, 3) and all(len(row) == len(rows[0]) for row in rows[:100]) and not _has_header(rows):
        yield from _of_long(rows, places)
        return
    head = [cell.strip() for cell in rows[0]]
    if _is_long(head, rows[1:]):
        yield from _of_long(rows[1:], places[1:])
        return
    padded = [row + [""] * (len(head) - len(row)) for row in rows[1:]]
    yield from _of_table(str(path), {column: [row[i] for row in padded] for i, column in enumerate(head)})


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row names the columns: its first cell says what words are called."""
    return rows[0][0].strip().lower() in COLUMN_NAMES["word"]


def _is_long(head: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows hold word, category and perhaps a value: the second column is text."""
    return len(head) in (2, 3) and any(not _is_mark(row[1].strip().lower()) for row in rows if len(row) > 1)


def _of_long(rows: Sequence[Sequence[str]], places: Sequence[str]) -> Iterator[tuple[str, str]]:
    for row, place in zip(rows, places, strict=True):
        cells = [cell.strip() for cell in row]
        if len(cells) not in (2, 3) or not cells[1]:
            raise InputError(f"{place}: word, category and 0 or 1 were needed, found {len(cells)} cells")
        value = cells[2].lower() if len(cells) == 3 else "1"
        if value not in _TRUE | _FALSE:
            raise InputError(
                f"{place}: '{cells[2]}' for '{cells[0]}' and {cells[1]}; 0 or 1 was needed (weights are read by `sentiment()`)"
            )
        if _is_number(cells[1]):
            raise InputError(
                f"{place}: '{cells[1]}' is the category of '{cells[0]}'; a name was needed (weights are read by `sentiment()`)"
            )
        yield cells[0] if value in _TRUE else "", cells[1]


def _of_dic(path: Path, lines: Sequence[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    names: dict[str, str] = {}
    inside = True
    for number, line in lines[1:]:
        cells = line.split()
        if cells == ["%"]:
            inside = False
        elif inside:
            if len(cells) < 2:
                raise InputError(
                    f"{path}:{number}: the number and the name of a category were needed, found '{line.strip()}'"
                )
            names[cells[0]] = " ".join(cells[1:])
        else:
            word, *numbers = line.strip().split("\t") if "\t" in line.strip() else cells
            for one in (part for text in numbers for part in text.split()):
                if one not in names:
                    raise InputError(
                        f"{path}:{number}: '{word.strip()}' has the category {one}, which the header does not list"
                    )
                yield word.strip(), names[one]
    if inside:
        raise InputError(f"{path}: the header of a .dic file must end with a line %, which is missing")


def _of_table(path: str, columns: dict[str, list[Any]]) -> Iterator[tuple[str, str]]:
    words = next((name for name in columns if name.strip().lower() in COLUMN_NAMES["word"]), None)
    texts = {name: [text_of(value).lower() for value in values] for name, values in columns.items() if name != words}
    categories = [
        name
        for name, values in texts.items()
        if name.strip().lower() not in _COUNTED and all(map(_is_mark, values)) and any(map(_is_set, values))
    ]
    if words is None or not categories:
        raise InputError(
            f"{path}: a column of words (word, term, …) and columns of 0 and 1, one for each category, were needed; found "
            f"{', '.join(columns)}"
        )
    for name in categories:
        for word, value in zip(columns[words], texts[name], strict=True):
            if _is_set(value):
                yield text_of(word), name.strip()


def _is_mark(text: str) -> bool:
    return text in _TRUE or text in _FALSE or _YEAR.fullmatch(text) is not None


def _is_set(text: str) -> bool:
    return text in _TRUE or (_YEAR.fullmatch(text) is not None and not text.startswith("-"))


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
