"""The store of vectors by text: what was stored comes back exactly or not at all, whatever happened to its files."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.embed.encoders import ENTRIES, ENTRY, IDENTITY, VECTORS, VectorStore, remove_store, stored_identity
from nlpkit.errors import InputError, UsageError

MODEL = {"files": "abc", "max_tokens": 256}


def vectors_of(texts: list[str], dim: int = 3) -> np.ndarray:
    return np.array([np.random.default_rng(len(t) + sum(t.encode())).normal(size=dim) for t in texts], np.float32)


def stored(folder: Path, texts: list[str], identity: dict[str, object] = MODEL) -> VectorStore:
    store = VectorStore(folder, identity, 3)
    store.put(texts, np.array([[len(t), 1] for t in texts]).reshape(-1, 2), vectors_of(texts).reshape(-1, 3))
    return store


def the_file(folder: Path, suffix: str) -> Path:
    (file,) = folder.glob(f"*{suffix}")
    return file


def test_what_was_stored_comes_back(tmp_path: Path) -> None:
    texts = ["a", "b", "", "long text " * 100, "\x00", "老"]
    store = stored(tmp_path / "s", texts)
    for again in (store, VectorStore(tmp_path / "s", MODEL, 3)):
        found, counts, vectors = again.get(["x", *texts[::-1], "a"])
        assert found.tolist() == [False, *[True] * 7]
        assert counts.tolist() == [[0, 0], *[[len(t), 1] for t in texts[::-1]], [1, 1]]
        np.testing.assert_array_equal(vectors, [[0, 0, 0], *vectors_of(texts[::-1]), vectors_of(["a"])[0]])


def test_nothing_is_made_before_something_is_stored(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "s", MODEL, 3)
    store.put([], np.zeros((0, 2), np.int64), np.zeros((0, 3), np.float32))
    assert not store.get(["a"])[0].any()
    assert store.get([])[2].shape == (0, 3)
    assert not (tmp_path / "s").exists()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.text(alphabet="ab", max_size=4), max_size=8, unique=True), max_size=12))
def test_any_order_of_storing_and_looking(tmp_path_factory: pytest.TempPathFactory, parts: list[list[str]]) -> None:
    folder = tmp_path_factory.mktemp("s") / "s"
    known: set[str] = set()
    stores = [VectorStore(folder, MODEL, 3), VectorStore(folder, MODEL, 3)]
    for i, texts in enumerate(parts):
        found, counts, vectors = stores[i % 2].get(texts)
        assert found.tolist() == [t in known for t in texts]
        assert counts[found, 0].tolist() == [len(t) for t in texts if t in known]
        np.testing.assert_array_equal(vectors[found], vectors_of([t for t in texts if t in known]).reshape(-1, 3))
        new = [t for t in texts if t not in known]
        stores[i % 2].put(new, np.array([[len(t), 0] for t in new]).reshape(-1, 2), vectors_of(new).reshape(-1, 3))
        known |= set(texts)


def test_vectors_of_another_model_are_not_taken_even_from_the_same_folder(tmp_path: Path) -> None:
    stored(tmp_path, ["a"])
    assert not VectorStore(tmp_path, {**MODEL, "max_tokens": 64}, 3).get(["a"])[0].any()
    assert stored_identity(tmp_path) == MODEL


def test_two_writers_see_each_other(tmp_path: Path) -> None:
    one, two = stored(tmp_path, ["a"]), stored(tmp_path, ["b"])
    assert len(list(tmp_path.glob(f"*{ENTRIES}"))) == 2
    assert one.get(["a", "b"])[0].all()
    assert two.get(["a", "b"])[0].all()


@pytest.mark.parametrize("suffix", [ENTRIES, VECTORS])
def test_a_writer_that_was_killed_leaves_whole_rows(
    tmp_path: Path, suffix: str, caplog: pytest.LogCaptureFixture
) -> None:
    stored(tmp_path, ["a", "b", "c"])
    file = the_file(tmp_path, suffix)
    size = ENTRY.itemsize if suffix == ENTRIES else 12
    file.write_bytes(file.read_bytes()[: 2 * size + 5])
    found, _, vectors = VectorStore(tmp_path, MODEL, 3).get(["a", "b", "c"])
    assert found.tolist() == [True, True, False]
    np.testing.assert_array_equal(vectors[:2], vectors_of(["a", "b"]))
    assert bool(caplog.records) == (
        suffix == VECTORS
    )  # an entry without its vector is damage, a vector without one is not


@pytest.mark.parametrize("suffix", [ENTRIES, VECTORS])
def test_no_flipped_bit_gives_another_vector(tmp_path: Path, suffix: str, caplog: pytest.LogCaptureFixture) -> None:
    texts = ["a", "b"]
    stored(tmp_path, texts)
    file = the_file(tmp_path, suffix)
    content = file.read_bytes()
    for bit in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        caplog.clear()
        found, _, vectors = VectorStore(tmp_path, MODEL, 3).get(texts)
        assert found.sum() == 1
        np.testing.assert_array_equal(vectors[found], vectors_of([t for t, f in zip(texts, found, strict=True) if f]))
        assert "is damaged" in caplog.text


@pytest.mark.parametrize("suffix", [ENTRIES, VECTORS])
def test_zeros_random_bytes_and_missing_files_give_nothing(tmp_path: Path, suffix: str) -> None:
    store = stored(tmp_path, ["a", "b"])
    file = the_file(tmp_path, suffix)
    size = file.stat().st_size
    for content in (bytes(size), np.random.default_rng(0).bytes(size), b""):
        file.write_bytes(content)
        assert not VectorStore(tmp_path, MODEL, 3).get(["a", "b"])[0].any()
    file.unlink()
    assert not store.get(["a", "b"])[0].any()
    assert not VectorStore(tmp_path, MODEL, 3).get(["a", "b"])[0].any()


def test_a_damaged_vector_that_was_made_anew_is_found(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stored(tmp_path, ["a", "b"])
    file = the_file(tmp_path, VECTORS)
    file.write_bytes(bytes(24))
    store = VectorStore(tmp_path, MODEL, 3)
    for _ in range(3):
        store.get(["a", "b"])
    assert len(caplog.records) == 1  # said once
    store.put(["a"], np.array([[1, 1]]), vectors_of(["a"]))
    for again in (store, VectorStore(tmp_path, MODEL, 3)):
        assert again.get(["a", "b"])[0].tolist() == [True, False]


def test_a_full_disk_stops_the_storing_and_nothing_else(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import logging, resource, sys
        import numpy as np
        from pathlib import Path
        from nlpkit.embed.encoders import VectorStore
        logging.basicConfig(format="%(message)s")
        store = VectorStore(Path(sys.argv[1]), {"m": 1}, 4)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        for i in range(100):
            store.put([str(i)], np.array([[i, 0]]), np.full((1, 4), i, np.float32))
        found, counts, vectors = store.get([str(i) for i in range(100)])
        assert found.sum() == counts[:, 0].argmax() + 1 > 20, found.sum()
        assert (vectors[found, 0] == np.flatnonzero(found)).all()
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "s")], capture_output=True, text=True, check=True
    )
    assert done.stderr.count("File too large; the embeddings that are stored there stay") == 1
    again = VectorStore(tmp_path / "s", {"m": 1}, 4)
    assert again.get([str(i) for i in range(100)])[0].sum() > 20


def test_two_processes_of_which_one_is_killed(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys
        import numpy as np
        from pathlib import Path
        from nlpkit.embed.encoders import VectorStore
        store = VectorStore(Path(sys.argv[1]), {"m": 1}, 64)
        for i in range(1_000_000):
            store.put([f"{sys.argv[2]} {i}"], np.array([[i, 0]]), np.full((1, 64), i, np.float32))
            if i == 50:
                print("ready", flush=True)
        """
    )
    folder = tmp_path / "s"
    workers = [
        subprocess.Popen([sys.executable, "-c", script, str(folder), name], stdout=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    try:
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGKILL)
            worker.communicate()
    store = VectorStore(folder, {"m": 1}, 64)
    for name in ("one", "two"):
        found, counts, vectors = store.get([f"{name} {i}" for i in range(2000)])
        n = int(found.sum())
        assert n > 50
        assert found[:n].all()
        assert (vectors[:n, 63] == np.arange(n)).all()
        assert (counts[:n, 0] == np.arange(n)).all()


def test_a_folder_is_removed_only_if_all_of_it_is_a_store(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    stored(folder, ["a"])
    (folder / "thesis.tex").touch()
    with pytest.raises(UsageError, match=r"thesis\.tex"):
        remove_store(folder)
    assert (folder / IDENTITY).exists()
    (folder / "thesis.tex").unlink()
    remove_store(folder)
    assert not folder.exists()


def test_a_folder_that_does_not_say_what_it_is(tmp_path: Path) -> None:
    for content in ("{", "[]", "3"):
        (tmp_path / IDENTITY).write_text(content)
        with pytest.raises(InputError, match="does not say"):
            stored_identity(tmp_path)
