"""The text files of preprocessing: word lists, replacements, phrases, vocabularies and CoNLL-U.

Parts, in this order:
- Word lists of the user: a word on each line, patterns between slashes, # or | for comments.
- Replacement files: what is replaced, a tab, what by; one rule a line.
- Phrases in files: a table as `phrases_table` makes it, or plain text with a phrase on each line.
- Vocabularies in files: written with their frequencies, read to be used again unchanged.
- Files of CoNLL-U.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nlpkit.errors import ColumnError, InputError, SchemaError, UsageError, first_line
from nlpkit.platform.documents.encoding import decode
from nlpkit.platform.documents.sources import Source, StoredBytes
from nlpkit.platform.runs.artifacts import read_parquet, read_table
from nlpkit.platform.runs.atomic import atomic_file
from nlpkit.platform.runs.plain_tables import TABLE_FORMATS, read_rows, table_format
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.types import LongArray
from nlpkit.text.normalize import plain_form
from nlpkit.text.phrases import PhraseTable

if TYPE_CHECKING:
    from nlpkit.text.clean import ReplacementRules


@dataclass(frozen=True, slots=True)
class WordList:
    """Lower-cased words and regular expressions of a file."""

    words: frozenset[str]
    patterns: tuple[str, ...]


def read_word_list(path: Path, *, encoding: str | None = None, phrases: bool = False) -> WordList:
    r"""Return the words and patterns of a file, packed or not, in any encoding that corpora may have.

        # a comment, and what follows | is one too (as in the lists of the Snowball project)
        the
        /\d+th/       a pattern that a whole term must match

    Args:
        phrases: a line may be several words, for terms with white space in them. Else it is refused: each of its words
            would be left out wherever it stands.

    Raises:
        InputError: the file cannot be read, or holds no text; a line is several words.
        UsageError: a pattern is no regular expression; the message names file and line.
    """
    words: set[str] = set()
    patterns: list[str] = []
    for number, line in numbered_lines(path, encoding=encoding):
        text = line.strip()
        if len(text) > 2 and text.startswith("/") and text.endswith("/"):
            patterns.append(checked_pattern(text[1:-1], f"{path}:{number}"))
        elif not text.startswith("#"):
            parts = text.partition("|")[0].split()
            if len(parts) > 1 and not phrases:
                raise InputError(f"{path}:{number}: {several_words(' '.join(parts))}")
            words |= {plain_form(" ".join(parts).lower())} if parts else set()
    return WordList(frozenset(words), tuple(patterns))


def several_words(entry: str) -> str:
    """Return why an entry of a list of words is none, and what to do."""
    return (
        f"one word was needed, found '{entry}'; write each word on a line of its own, which leaves it out wherever it stands, or give "
        "the phrase to `replace`, which deletes it as a whole"
    )


def numbered_lines(path: Path, *, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their numbers from 1; decoding and unpacking are those of corpora.

    Raises:
        InputError: the file cannot be read, or holds no text.
    """
    with StoredBytes(Source(str(path), path.name, "txt")) as stored:
        text = "".join(decode(stored, str(path), encoding=encoding).text)
    yield from enumerate(text.splitlines(), start=1)


def checked_pattern(pattern: str, where: str) -> str:
    """Return a regular expression of Python's `re`.

    Raises:
        UsageError: it is none.
    """
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{where}: /{pattern}/ is not a regular expression: {error}") from None
    return pattern


# ------------------------------------------------------------------------------------------------------------------------
# Replacement files: what is replaced, a tab, what by; one rule a line.


def read_rules(path: Path, *, ignore_case: bool = False, encoding: str | None = None) -> ReplacementRules:
    r"""Return the replacements of a file, packed or not, in any encoding that corpora may have.

        # a comment
        New York<TAB>new_york          a phrase: whole words, the longest first
        click here                     no tab, or nothing behind it: deleted
        /(\d+) ?%/<TAB>\1_percent      a regular expression of the Rust crate `regex`, after the phrases, in the order here

    Raises:
        InputError: the file cannot be read; a line has two tabs or nothing before its tab; a phrase has two meanings.
        UsageError: a pattern is no regular expression or matches the empty text. All messages name file and line.
    """
    from nlpkit.text.clean import ReplacementRules, check_pattern

    phrases: dict[str, str] = {}
    meant: dict[str, str] = {}
    patterns: list[tuple[str, str]] = []
    for number, line in numbered_lines(path, encoding=encoding):
        if not line.strip() or line.startswith("#"):
            continue
        what, *by = line.split("\t")
        what, where = what.strip(), f"{path}:{number}"
        if len(by) > 1:
            raise InputError(f"{where}: {len(by)} tabs; a rule is the text to replace, one tab, and the replacement")
        if not what:
            raise InputError(f"{where}: nothing before the tab; write the text to replace there")
        replacement = by[0] if by else ""
        if len(what) > 2 and what.startswith("/") and what.endswith("/"):
            try:
                check_pattern(what[1:-1])
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from None
            patterns.append((what[1:-1], replacement))
            continue
        key = " ".join((what.lower() if ignore_case else what).split())
        if meant.setdefault(key, replacement) != replacement:
            raise InputError(f"{where}: '{what}' was to become '{meant[key]}' in a line before, now '{replacement}'")
        phrases[what] = replacement
    return ReplacementRules(tuple(phrases.items()), tuple(patterns), ignore_case)


# ------------------------------------------------------------------------------------------------------------------------
# Phrases in files: a table as `phrases_table` makes it, or plain text with a phrase on each line.

PHRASES = "phrases"
PHRASES_TABLE = TableSpec(
    "phrases", "A phrase that is joined to one term.",
    Column("phrase", pa.string(), "The term that it becomes."),
    Column("words", pa.list_(pa.string()), "Its words."),
    Column("measure", pa.string(), "Measure of the score."),
    Column("score", pa.float64(), "Its score, null for a phrase of a list.", gaps=True),
    Column("count", pa.int64(), "Its occurrences, null for a phrase of a list.", gaps=True),
    Column("parts", pa.list_(pa.string()), "Terms that are joined, other than the words where one was joined at a lower level."),
    Column("level", pa.int32(), "Level at which it is joined."),
)  # fmt: skip
_PARQUET = b"PAR1"


def phrases_table(phrases: PhraseTable) -> pa.Table:
    """Return phrases as a table (phrase, words, measure, score, count, parts, level); given ones have no score or count."""
    counts = [None if count < 0 else count for count in phrases.counts]
    return PHRASES_TABLE.table(
        phrase=phrases.phrases, words=phrases.words, measure=[phrases.measure] * len(phrases), score=phrases.scores,
        count=counts, parts=phrases.parts, level=phrases.levels,
    )  # fmt: skip


def read_phrases(path: Path, split: Callable[[str], Sequence[str]] = str.split) -> PhraseTable:
    """Return the phrases of a file: those that were found and written, those of a column `phrase`, or of plain text, one a line.

    In plain text, empty lines and those that begin with # are left out, and a line that is one term stays one.

    Args:
        path: Parquet, CSV, TSV, JSON or text (packed or not, any encoding that corpora may have).
        split: cuts a line of text into terms as the documents are cut, so that the phrases occur in them.

    Raises:
        InputError: the file cannot be read, or holds no phrase.
        SchemaError, ColumnError: a Parquet file of another kind.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(len(_PARQUET)) == _PARQUET
    except OSError as error:
        raise InputError(f"phrases {path}: {error.strerror or error}; give a file with a phrase on each line") from None
    if packed:
        return _read_parquet(path)
    if table_format(path) in TABLE_FORMATS:
        return _read_rows(path, split)
    return _of_lines(path, [line.strip() for _, line in numbered_lines(path)], split)


def _read_rows(path: Path, split: Callable[[str], Sequence[str]]) -> PhraseTable:
    """Read CSV, TSV or JSON: the columns of `phrases_table`, or the phrases of a user in the column `phrase`."""
    rows = read_rows(path, hint="phrase")
    lines = [str(phrase or "").strip() for phrase in rows.column("phrase")]
    if not set(PHRASES_TABLE.schema.names) <= set(rows.columns):
        return _of_lines(path, lines, split)
    try:
        cells = {f.name: [_parse_cell(cell, f.type) for cell in rows.columns[f.name]] for f in PHRASES_TABLE.schema}
        return phrases_from(pa.table(cells, schema=PHRASES_TABLE.schema))
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise InputError(f"{path} is not as `save_phrases` wrote it: {first_line(error)}; write it again") from None


def _parse_cell(cell: Any, kind: pa.DataType) -> Any:
    """Return a cell of CSV as its column holds it: lists are JSON, numbers are text, nothing is null."""
    if not isinstance(cell, str) or pa.types.is_string(kind):
        return cell
    return json.loads(cell) if cell else None


def _of_lines(path: Path, lines: Sequence[str], split: Callable[[str], Sequence[str]]) -> PhraseTable:
    word_lists = [split(line) for line in lines if line and not line.startswith("#")]
    phrases = PhraseTable.from_words(word_lists)
    if not len(phrases):
        raise InputError(
            f"{path}: none of its {len(word_lists)} lines is a phrase of two words or more; write one per line: "
            "san francisco"
        )
    return phrases


def _read_parquet(path: Path) -> PhraseTable:
    table = read_table(path, [PHRASES], PHRASES_TABLE.schema.names)
    measures = sorted(set(table.column("measure").to_pylist()))
    if len(measures) > 1:
        raise SchemaError(f"{path}: its scores are of several measures ({', '.join(measures)})")
    return phrases_from(table)


def phrases_from(table: pa.Table) -> PhraseTable:
    """Return the phrases of a table that `phrases_table` made."""
    rows = table.to_pydict()
    order = sorted(range(len(rows["level"])), key=lambda m: rows["level"][m])  # stable: levels ascend
    return PhraseTable(
        tuple(tuple(rows["parts"][m]) for m in order),
        tuple(tuple(rows["words"][m]) for m in order),
        tuple(rows["level"][m] for m in order),
        tuple(float("nan") if rows["score"][m] is None else rows["score"][m] for m in order),
        tuple(-1 if rows["count"][m] is None else rows["count"][m] for m in order),
        rows["measure"][0] if order else "given",
    )


# ------------------------------------------------------------------------------------------------------------------------
# Vocabularies in files: written with their frequencies, read to be used again unchanged.


def read_vocabulary(path: Path) -> tuple[str, ...]:
    """Return the terms of a file in its order: the column `term` of a table (Parquet, CSV, TSV, JSON), else the lines of a text.

    Lines may hold spaces (n-grams); empty ones and those that begin with # are left out.

    Raises:
        InputError: the file cannot be read, has no term, an empty one, or one twice; ColumnError: a table without a
            column term of text.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(4) == b"PAR1"
    except OSError as error:
        raise InputError(
            f"vocabulary {path}: cannot be opened ({error.strerror or error})", parameter="vocab"
        ) from None
    if packed:
        terms = _of_parquet(path)
    elif table_format(path) in TABLE_FORMATS:
        terms = _of_rows(path)
    else:
        lines = (line.strip() for _, line in numbered_lines(path))
        terms = [line for line in lines if line and not line.startswith("#")]
    if not terms:
        raise InputError(f"vocabulary {path} has no term; give a file with a term on each line")
    seen: set[str] = set()
    twice = next((t for t in terms if t in seen or seen.add(t)), None)  # type: ignore[func-returns-value]
    if twice is not None:
        raise InputError(f"vocabulary {path} lists the term '{twice}' twice")
    return tuple(terms)


def _of_rows(path: Path) -> list[str]:
    rows = read_rows(path, hint="term")
    terms = rows.column("term")
    for term, place in zip(terms, rows.places, strict=True):
        if not isinstance(term, str) or not term:
            what = "empty" if term in (None, "") else f"{type(term).__name__}, not text"
            raise InputError(f"vocabulary {place}: the term is {what}")
    return terms


def _of_parquet(path: Path) -> list[str]:
    column = read_parquet(path, ["term"]).column("term")
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise ColumnError(f"vocabulary {path}: the column 'term' holds {kind}, not text")
    terms = column.to_pylist()
    for unusable, what in ((None, "null"), ("", "empty")):
        if unusable in terms:
            raise InputError(f"vocabulary {path}: a term is {what}, in row {terms.index(unusable) + 1}")
    return list(terms)


def vocabulary_table(terms: tuple[str, ...], cf: LongArray, df: LongArray) -> pa.Table:
    """Return term, cf, df (V,) as a table, kind "vocab"."""
    return pa.table({"term": pa.array(terms, pa.string()), "cf": cf, "df": df})


# ------------------------------------------------------------------------------------------------------------------------
# Files of CoNLL-U.


@contextmanager
def conllu_sink(path: str | Path, *, force: bool = False) -> Iterator[Callable[[str], object]]:
    """Yield a function that appends text to a file, which appears whole at the end, or not at all.

    Raises:
        OutputExistsError, UsageError, InputError: see `check_target`.
    """
    with atomic_file(Path(path), force=force) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        yield file.write
