"""Word vectors of other programs."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlpkit.errors import InputError
from nlpkit.words.files import load_word_vectors, read_word_vectors

TEXT = "cat 1 0 0.5\ndog 0 1 0\nfür -1 2e-1 3\n"


@pytest.mark.parametrize("head", ["", "3 3\n"])
def test_text_with_and_without_head(tmp_path: Path, head: str) -> None:
    path = tmp_path / "v.txt"
    path.write_text(head + TEXT, encoding="utf-8")
    vectors, known = read_word_vectors(path, ["für", "zebra", "cat"])
    assert known.tolist() == [True, False, True]
    np.testing.assert_allclose(vectors, [[-1, 0.2, 3], [0, 0, 0], [1, 0, 0.5]], rtol=1e-6)


def test_packed(tmp_path: Path) -> None:
    path = tmp_path / "v.vec.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    assert read_word_vectors(path, ["dog"])[0].tolist() == [[0, 1, 0]]


def test_gensims_text(tmp_path: Path) -> None:
    keyed = pytest.importorskip("gensim.models").KeyedVectors(3)
    keyed.add_vectors(["cat", "dog"], np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    keyed.save_word2vec_format(str(tmp_path / "v.txt"))
    assert read_word_vectors(tmp_path / "v.txt", ["dog", "cat"])[0].tolist() == [[4, 5, 6], [1, 2, 3]]


@pytest.mark.parametrize("column", ["term", "word"])
def test_parquet(tmp_path: Path, column: str) -> None:
    path = tmp_path / "v.parquet"
    pq.write_table(pa.table({column: ["cat", "dog"], "embedding": [[1.0, 0.0], [0.0, 1.0]]}), path)
    vectors, known = read_word_vectors(path, ["dog", "bird"])
    assert vectors.tolist() == [[0, 1], [0, 0]]
    assert known.tolist() == [True, False]


def test_what_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("cat 1 0\ndog 1 x\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"v\.txt:2: a word and its numbers were needed, found 'dog 1 x'"):
        read_word_vectors(tmp_path / "v.txt", ["cat", "dog"])
    (tmp_path / "u.txt").write_text("cat 1 0\ndog 1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"u\.txt:2: 'dog' has 1 numbers that can be used, 2 were needed"):
        read_word_vectors(tmp_path / "u.txt", ["cat", "dog"])
    with pytest.raises(InputError):
        read_word_vectors(tmp_path / "u.txt", ["Katze"])
    (tmp_path / "v.bin").write_bytes(b"\x00")
    with pytest.raises(InputError):
        read_word_vectors(tmp_path / "v.bin", ["cat"])
    with pytest.raises(InputError, match="gone"):
        read_word_vectors(tmp_path / "gone.txt", ["cat"])


def test_words_that_hold_spaces(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """glove.840B.300d has such lines; the numbers are the last fields of a line."""
    path = tmp_path / "v.txt"
    lines = ["the 1 0", ". . . 0 1", "at name@domain.com 1 1", "cat\t2 2", "3 1/2 3 3", "dog 4 4"]
    for head in ("", "6 2\n"):
        path.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
        known = load_word_vectors(path)
        assert known.words == ("the", ". . .", "at name@domain.com", "cat", "3 1/2", "dog")
        assert known.vectors.tolist() == [[1, 0], [0, 1], [1, 1], [2, 2], [3, 3], [4, 4]]
        vectors, there = read_word_vectors(path, ["at", "cat", ". . ."])
        assert (vectors.tolist(), there.tolist()) == ([[0, 0], [2, 2], [0, 1]], [False, True, True])
    assert not caplog.messages
    path.write_text("the 1 0\ncat 1 2 3\ndog 1 1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"v\.txt:2: 'cat' has 3 numbers that can be used, 2 were needed"):
        load_word_vectors(path)


def test_files_that_are_cut_off_or_in_another_encoding_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "v.vec"
    path.write_text("10 2\nthe 1 0\ncat 0 1\n", encoding="utf-8")
    assert load_word_vectors(path).words == ("the", "cat")
    assert caplog.messages == [f"{path} announces 10 words but has 2; it may be incomplete, so download it again"]
    caplog.clear()
    binary = tmp_path / "v.bin"
    numbers = np.array([1, 2], "<f4").tobytes()
    binary.write_bytes(b"2 2\ncaf\xe9 " + numbers + b"caf\xe8 " + numbers)
    assert load_word_vectors(binary).words == ("caf\ufffd",)
    (message,) = caplog.messages
    assert message.startswith(f"{binary}: 2 words not in UTF-8")
