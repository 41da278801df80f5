"""Numbers that outgrow memory: the same in a file as in memory, no file with a name, and a full disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nlpkit.errors import InputError
from nlpkit.platform.runs import scratch
from nlpkit.platform.runs.scratch import Scratch, release, take


@pytest.mark.parametrize("held", [0, 100, 1 << 20])
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_numbers_in_memory_and_in_a_file(
    held: int, dtype: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "HELD", held)
    column, buffer = Scratch(tmp_path).column(dtype), np.arange(7)
    for _ in range(10):
        column.append(buffer)
        buffer += 7  # what was appended stays
    column.append(buffer[:0])
    assert len(column) == 70
    array = column.array()
    assert list(tmp_path.iterdir()) == []
    assert isinstance(array, np.memmap) == (held < 1 << 20)
    assert array.dtype == dtype
    part = take(array, 5, 100)
    assert type(part) is np.ndarray
    assert part.flags.writeable
    release(array, array[3:3])
    np.testing.assert_array_equal(array, np.arange(70))
    np.testing.assert_array_equal(part, np.arange(5, 70))


def test_no_numbers(tmp_path: Path) -> None:
    array = Scratch(tmp_path).column(np.int32).array()
    assert array.dtype == np.int32
    assert array.shape == (0,)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("pieces", [1, 3])
def test_a_full_disk_is_told(pieces: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "HELD", 0)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: Path("/dev/full").open("w+b"))  # noqa: SIM115
    column = Scratch(tmp_path).column(np.int64)

    def fill() -> None:
        for _ in range(pieces):
            column.append(np.zeros(1000, np.int64))  # one stays in the buffer of the file until its end
        column.array()

    with pytest.raises(InputError, match=f"cannot write {tmp_path}: No space left on device"):
        fill()
