"""Word vectors of other programs: word2vec's and GloVe's text format, or a Parquet table of term and embedding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from nlpkit.errors import InputError
from nlpkit.io.artifacts import parquet_shape, read_parquet
from nlpkit.io.documents import embedding_matrix
from nlpkit.io.encoding import decode
from nlpkit.io.readers.blocks import lines_with_ends
from nlpkit.io.sources import Source, StoredBytes, missing_path, split_suffix
from nlpkit.types import BoolArray, Float32Array

_BINARY = (".bin", ".kv", ".model", ".npy", ".magnitude", ".pkl")


def read_word_vectors(path: Path, words: Iterable[str]) -> tuple[Float32Array, BoolArray]:
    """Return the vectors of some words (W, E) float32, as they are stored, and which words the file has (W,) bool.

    A text file has a word and its numbers a line, separated by spaces, and may begin with a line of two counts (word2vec); it is
    read line by line, packed or not, and only the words asked for are kept. A Parquet file has columns term (or word) and embedding.

    Raises:
        InputError: it does not exist, is of another format, has lines of different lengths or numbers that are none, or none of
            the words.
    """
    if not path.exists():
        raise InputError(missing_path(path))
    if path.suffix.lower() in _BINARY:
        raise InputError(
            f"{path}: binary vectors and pickles are not read; save them as text (gensim: vectors.save_word2vec_format(PATH.txt)), or as "
            "Parquet with columns term and embedding"
        )
    place = {word: i for i, word in enumerate(words)}
    by_word = _of_parquet(path, place) if split_suffix(path.name)[1] == "parquet" else _of_text(path, place)
    if not by_word:
        raise InputError(
            f"{path} has none of the {len(place):,} words; is it of the same language, and in the same case?"
        )
    size = len(next(iter(by_word.values())))
    vectors, known = np.zeros((len(place), size), np.float32), np.zeros(len(place), bool)
    for word, vector in by_word.items():
        vectors[place[word]], known[place[word]] = vector, True
    return vectors, known


def _of_text(path: Path, place: dict[str, int]) -> dict[str, Float32Array]:
    vectors: dict[str, Float32Array] = {}
    size = 0
    with StoredBytes(Source(str(path), path.name, None)) as stored:
        for number, line in enumerate(_lines(stored, path), start=1):
            word, _, rest = line.rstrip().partition(" ")
            if number == 1 and len(rest.split()) == 1 and word.isdecimal():
                continue
            if word not in place or word in vectors:
                continue
            try:
                vector = np.array(rest.split(), np.float32)
            except ValueError:
                raise InputError(
                    f"{path}:{number}: a word and its numbers were needed, found '{line[:60].rstrip()}'"
                ) from None
            size = size or len(vector)
            if len(vector) != size or not size or not np.isfinite(vector).all():
                raise InputError(
                    f"{path}:{number}: '{word}' has {len(vector)} numbers that can be used, {size} were needed as before"
                )
            vectors[word] = vector
    return vectors


def _lines(stored: StoredBytes, path: Path) -> Iterator[str]:
    return lines_with_ends(decode(stored, str(path), encoding=None, errors="replace", declared=False).text)


def _of_parquet(path: Path, place: dict[str, int]) -> dict[str, Float32Array]:
    columns = parquet_shape(path)[2]
    name = next((n for n in ("term", "word") if n in columns), None)
    if name is None or "embedding" not in columns:
        raise InputError(f"{path} has columns {', '.join(columns)}; term (or word) and embedding were needed")
    table = read_parquet(path, [name, "embedding"])
    kept = table.filter(pc.is_in(table.column(name), value_set=_strings(place)))
    if not kept.num_rows:
        return {}
    return dict(zip(kept.column(name).to_pylist(), embedding_matrix(kept.column("embedding")), strict=True))


def _strings(words: Iterable[str]) -> object:
    import pyarrow as pa

    return pa.array(list(words), pa.string())
