"""The files of word vectors, and the files of questions about them.

Parts, in this order:
- Word vectors in files: those of embed-words, a Parquet table, word2vec's text and binary formats, GloVe's text format.
- Files of questions about words: analogies in sections, pairs of words with ratings, sets of words.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import ColumnError, InputError, MissingFileError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import embedding_matrix
from nlpkit.platform.documents.encoding import decode
from nlpkit.platform.documents.readers.blocks import lines_with_ends
from nlpkit.platform.documents.sources import COMPRESSED, Source, StoredBytes, missing_path, split_suffix
from nlpkit.platform.runs.artifacts import parquet_shape, read_parquet
from nlpkit.platform.runs.atomic import atomic_file
from nlpkit.platform.runs.runs import open_run
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.types import BoolArray, Float32Array, FloatArray
from nlpkit.text.files import numbered_lines
from nlpkit.words.questions import Question
from nlpkit.words.vectors import Subwords, WordVectors

KIND = "embed-words"
WORDS = TableSpec(
    "words", "A word of embed-words.",
    Column("word", pa.string(), "The word."),
    Column("count", pa.int64(), "Its occurrences."),
    Column("embedding", pa.list_(pa.float32()), "Its vector."),
)  # fmt: skip
NGRAMS = TableSpec(
    "model/ngrams_of_fasttext", "A part of words that has a vector.",
    Column("bucket", pa.int32(), "Its number.", least=0, below="B"),
    Column("embedding", pa.list_(pa.float32()), "Its vector."),
)  # fmt: skip
_FOREIGN = (".kv", ".model", ".npy", ".magnitude", ".pkl")
_BINARY = ".bin"
_FIELD_END = re.compile(r"[ \t]+")
_ENDS = " \t\r\n"  # of a line; other white space may be a word
_FIRST_LINES = 100  # of a text file, which say how many numbers a word has
_LONGEST = 10_000  # bytes of a word or a head in a binary file


def read_word_vectors(path: Path, words: Iterable[str]) -> tuple[Float32Array, BoolArray]:
    """Return the vectors of some words (W, E) float32, as they are stored, and which words the file has (W,) bool.

    A file is read as `load_word_vectors` says, but only the words asked for are kept.

    Raises:
        InputError: it does not exist, is of another format, has lines of different lengths or numbers that are none, or none of
            the words.
    """
    place = {word: i for i, word in enumerate(words)}
    by_word = _vectors_by_word(path, place)
    if not by_word:
        raise InputError(f"{path} has none of the {len(place):,} words; are language and case the same?")
    size = len(next(iter(by_word.values())))
    vectors, known = np.zeros((len(place), size), np.float32), np.zeros(len(place), bool)
    for word, vector in by_word.items():
        vectors[place[word]], known[place[word]] = vector, True
    return vectors, known


def load_word_vectors(path: Path, *, verify: bool = True) -> WordVectors:
    """Return all words of a file or a run with their vectors.

    A run of embed-words has counts, and n-grams if it is of fastText. A Parquet file has columns term (or word) and embedding, and
    may have count. A text file has a word and its numbers a line, separated by spaces or tabs, and may begin with a line of two
    counts (word2vec), which is warned of where there are not as many words; a file whose name ends in .bin is word2vec's binary
    format. Both may be packed. A word that is there twice has its first vector.

    Raises:
        InputError: it does not exist, is of another format, is damaged, or has no words.
    """
    if path.is_dir():
        return _of_run(path, verify=verify)
    if path.exists() and split_suffix(path.name)[1] == "parquet":
        columns = list(parquet_shape(path)[2])
        _column_of_words(columns, str(path))
        table = read_parquet(path, [c for c in ("term", "word", "embedding", "count") if c in columns])
        vectors = _of_table(table, str(path))
    else:
        by_word = _vectors_by_word(path, None)
        rows = list(by_word.values())
        vectors = WordVectors(tuple(by_word), np.stack(rows) if rows else np.zeros((0, 0), np.float32))
    vectors.check(str(path))
    return vectors


def _of_run(path: Path, *, verify: bool) -> WordVectors:
    run = open_run(path, [KIND], verify=verify)
    with run.intact():
        known = _of_table(run.table("words"), f"{path}/words.parquet")
        config, subwords = run.model_config("method"), None
        if "buckets" in config:
            grams = run.table("model/ngrams")
            shortest, longest, buckets = (config[name] for name in ("shortest", "longest", "buckets"))
            if (
                not all(type(n) is int for n in (shortest, longest, buckets))
                or not 1 <= shortest <= longest
                or buckets < 1
            ):
                raise ValueError(f"parts of words of {shortest} to {longest} letters in {buckets} buckets")
            ids = NGRAMS.arrays(grams, "bucket", B=buckets)[0].astype(np.int32)
            matrix = embedding_matrix(grams.column("embedding"), unit=False)
            if matrix.shape[1:] != known.vectors.shape[1:]:
                raise ValueError(f"parts of words in {matrix.shape[1]} dimensions, words in {known.vectors.shape[1]}")
            subwords = Subwords(shortest, longest, buckets, ids, matrix)
        vectors = WordVectors(known.words, known.vectors, known.counts, subwords)
        vectors.check(f"{path}/words.parquet")
    return vectors


def _of_table(table: pa.Table, where: str) -> WordVectors:
    name = _column_of_words(table.column_names, where)
    try:
        matrix = embedding_matrix(table.column("embedding"), unit=False)
    except ColumnError as error:
        raise InputError(f"{where}: {str(error).partition(';')[0]}") from None
    words = table.column(name)
    if words.null_count or not (pa.types.is_string(words.type) or pa.types.is_large_string(words.type)):
        raise InputError(f"{where}: column '{name}' has {words.type} or missing values; words were needed")
    counts = None
    if "count" in table.column_names and pa.types.is_integer(table.column("count").type):
        counts = table.column("count").fill_null(0).to_numpy().astype(np.int64)
    return WordVectors(tuple(words.to_pylist()), matrix, counts)


def _column_of_words(columns: Iterable[str], where: str) -> str:
    columns = list(columns)
    name = next((n for n in ("term", "word") if n in columns), None)
    if name is None or "embedding" not in columns:
        raise InputError(f"{where} has columns {', '.join(columns)}; term (or word) and embedding were needed")
    return name


def _vectors_by_word(path: Path, place: Mapping[str, int] | None) -> dict[str, Float32Array]:
    """Return the vectors of the words of a place, or of all where there is none."""
    if not path.exists():
        raise MissingFileError(missing_path(path))
    if path.is_dir():
        known = load_word_vectors(path)
        return {w: known.vectors[i] for w, i in known.places.items() if place is None or w in place}
    if path.suffix.lower() in _FOREIGN:
        raise InputError(
            f"{path}: vectors of this format and pickles are not read; save them in word2vec's format (gensim: "
            "vectors.save_word2vec_format(PATH.txt)), or as Parquet with columns term and embedding"
        )
    if split_suffix(path.name)[1] == "parquet":
        return _of_parquet(path, {} if place is None else place)
    is_binary = any(path.name.lower().endswith(_BINARY + packed) for packed in ("", *COMPRESSED))
    with StoredBytes(Source(str(path), path.name, None)) as stored:
        pairs = _binary_pairs(stored, path) if is_binary else _text_pairs(stored, path, place)
        vectors: dict[str, Float32Array] = {}
        damaged = 0
        for word, vector in pairs:
            damaged += "\ufffd" in word
            if (place is None or word in place) and word not in vectors:
                vectors[word] = vector
    if damaged:
        reporting.warn(
            f"{path}: {wording.counted(damaged, 'word')} not in UTF-8: unreadable letters become �, and of words "
            "that become equal only the first is used"
        )
    return vectors


def _text_pairs(stored: StoredBytes, path: Path, place: Mapping[str, int] | None) -> Iterator[tuple[str, Float32Array]]:
    """Yield the words of a text file with their vectors; of words that are not in the place, nothing is looked at.

    The dimensions are those of the head or of most of the first lines. A word may hold spaces, as some of GloVe's do: its
    numbers are the last fields of the line.
    """
    lines = iter(enumerate(_lines(stored, path), start=1))
    first = list(islice(lines, _FIRST_LINES))
    head = _FIELD_END.split(first[0][1].strip(_ENDS)) if first else []
    announced = int(head[0]) if len(head) == 2 and all(number.isdecimal() for number in head) else None
    if announced is None:
        lengths = Counter(len(_FIELD_END.split(line.rstrip(_ENDS))) - 1 for _, line in first)
        size = lengths.most_common(1)[0][0] if lengths else 0
    else:
        size, first = int(head[1]), first[1:]
    count = 0
    for number, line in chain(first, lines):
        count += 1
        line = line.rstrip(_ENDS).replace("\t", " ")
        word, _, rest = line.partition(" ")
        fields = rest.split()
        if len(fields) > size and not _is_number(fields[-size - 1]):
            word, *fields = line.rsplit(maxsplit=size)
        if place is not None and word not in place:
            continue
        try:
            vector = np.array(fields, np.float32)
        except ValueError:
            raise InputError(f"{path}:{number}: a word and its numbers were needed, found '{line[:60]}'") from None
        if len(vector) != size or not size or not np.isfinite(vector).all():
            raise InputError(
                f"{path}:{number}: '{word}' has {len(vector)} numbers that can be used, {size} were needed as in "
                f"{'other lines' if announced is None else 'line 1'}"
            )
        yield word, vector
    if announced is not None and announced != count:
        reporting.warn(
            f"{path} announces {announced:,} words but has {count:,}; it may be incomplete, so download it again"
        )


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _lines(stored: StoredBytes, path: Path) -> Iterator[str]:
    return lines_with_ends(decode(stored, str(path), encoding=None, errors="replace", declared=False).text)


def _binary_pairs(stored: StoredBytes, path: Path) -> Iterator[tuple[str, Float32Array]]:
    """Yield the words of word2vec's binary format: two counts in a line, then each word, a space, its float32 numbers."""
    reader = _Bytes(stored, path)
    head = reader.until(b"\n").split()
    if len(head) != 2 or not all(number.isdigit() for number in head) or not 0 < int(head[1]) <= 100_000:
        raise InputError(f"{path} is not in word2vec's binary format: it does not begin with two counts")
    for _ in range(int(head[0])):
        word = reader.until(b" ").lstrip(b"\n").decode("utf-8", "replace")
        yield word, np.frombuffer(reader.take(4 * int(head[1])), "<f4").astype(np.float32)


class _Bytes:
    """Bytes that are taken piece by piece."""

    def __init__(self, stored: StoredBytes, path: Path) -> None:
        self._chunks, self._path = iter(stored), path
        self._buffer, self._at = b"", 0

    def until(self, mark: bytes) -> bytes:
        """Return what comes before a mark, which is taken, too."""
        while (end := self._buffer.find(mark, self._at)) < 0:
            self._refill(_LONGEST)
        piece = self._buffer[self._at : end]
        self._at = end + 1
        return piece

    def take(self, n: int) -> bytes:
        """Return n bytes."""
        while len(self._buffer) - self._at < n:
            self._refill(n)
        piece = self._buffer[self._at : self._at + n]
        self._at += n
        return piece

    def _refill(self, most: int) -> None:
        """Read on. Raises InputError at the end, or where more than `most` bytes were read in vain."""
        rest = self._buffer[self._at :]
        chunk = next(self._chunks, b"") if len(rest) < most else b""
        if not chunk:
            raise InputError(f"{self._path} is not in word2vec's binary format, or ends too early")
        self._buffer, self._at = rest + chunk, 0


def _of_parquet(path: Path, place: Mapping[str, int]) -> dict[str, Float32Array]:
    name = _column_of_words(parquet_shape(path)[2], str(path))
    table = read_parquet(path, [name, "embedding"])
    kept = table.filter(pc.is_in(table.column(name), value_set=pa.array(list(place), pa.string())))
    if not kept.num_rows:
        return {}
    return dict(zip(kept.column(name).to_pylist(), embedding_matrix(kept.column("embedding")), strict=True))


def check_word2vec_name(path: Path) -> None:
    """Raise UsageError unless the name of a file says in which of word2vec's formats it is to be written."""
    if path.suffix.lower() not in (".txt", ".vec", _BINARY):
        raise UsageError(f"{path}: word2vec's format is written to .txt or .vec (text), or .bin (binary)")


def write_word2vec(path: Path, vectors: WordVectors, *, force: bool = False) -> int:
    """Write words and vectors in word2vec's format: binary for a name that ends in .bin, else text (.txt, .vec).

    A space in a word would end it, and is written as _; the number of such words is returned.

    Raises:
        UsageError: another name; OutputExistsError: it is there.
    """
    check_word2vec_name(path)
    words = ["_".join(word.split()) or "_" for word in vectors.words]
    with atomic_file(path, force=force) as part, part.open("wb") as file:
        file.write(f"{len(words)} {vectors.dimensions}\n".encode())
        for word, vector in zip(words, vectors.vectors, strict=True):
            file.write(
                word.encode("utf-8", "replace") + b" " + _numbers(vector, binary=path.suffix.lower() == _BINARY) + b"\n"
            )
    return sum(a != b for a, b in zip(words, vectors.words, strict=True))


def _numbers(vector: Float32Array, *, binary: bool) -> bytes:
    if binary:
        return bytes(vector.astype("<f4").tobytes())
    values: Any = vector.tolist()
    return " ".join(f"{value:.9g}" for value in values).encode()


# ------------------------------------------------------------------------------------------------------------------------
# Files of questions about words: analogies in sections, pairs of words with ratings, sets of words.


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
