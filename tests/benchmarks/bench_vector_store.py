"""Store and find vectors by text: `nlpkit.embed.encoders` beside SQLite in WAL mode.

    python tests/benchmarks/bench_vector_store.py --rows 1000000 --folder DIR

Vectors of 384 float32 in batches of 2,048: seconds of the process (CPU) and of the clock to store, to find in the same order and in
a random one; bytes on disk; peak memory.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import shutil
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from nlpkit.embed.encoders import VectorStore

DIM, BATCH = 384, 2048


class SqliteStore:
    """The same with one table of keys and values."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(folder / "vectors.db", isolation_level=None)
        self.db.execute("pragma journal_mode=wal")
        self.db.execute("pragma synchronous=normal")
        self.db.execute("create table if not exists vectors (key blob primary key, value blob)")

    def put(self, texts: Sequence[str], counts: np.ndarray, vectors: np.ndarray) -> None:
        rows = zip(self._keys(texts), map(bytes, vectors), strict=True)
        self.db.execute("begin")
        self.db.executemany("insert or ignore into vectors values (?, ?)", rows)
        self.db.execute("commit")

    def get(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        keys, known = self._keys(texts), {}
        for start in range(0, len(keys), 512):
            part = keys[start : start + 512]
            marks = ",".join("?" * len(part))
            known.update(self.db.execute(f"select key, value from vectors where key in ({marks})", part))
        values = b"".join(known[key] for key in keys)
        return np.ones(len(keys), bool), np.frombuffer(values, np.float32).reshape(-1, DIM)

    def _keys(self, texts: Sequence[str]) -> list[bytes]:
        return [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts]


def timed(what: str, work: Callable[[], None]) -> None:
    """Print how long something takes."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    print(f"  {what}: {time.process_time() - cpu:.1f} s CPU, {time.perf_counter() - clock:.1f} s", flush=True)


def measure(opened: Callable[[], VectorStore | SqliteStore], rows: int, folder: Path) -> None:
    """Print the times of one store, whose folder is removed."""
    some, counts = np.random.default_rng(0).random((BATCH, DIM), np.float32), np.zeros((BATCH, 2), np.int64)

    def store() -> None:
        empty = opened()
        for start in range(0, rows, BATCH):
            n = min(BATCH, rows - start)
            empty.put([str(i) for i in range(start, start + n)], counts[:n], some[:n])

    def find(order: np.ndarray) -> None:
        full = opened()
        for start in range(0, rows, BATCH):
            assert full.get([str(i) for i in order[start : start + BATCH].tolist()])[0].all()

    timed("store", store)
    timed("open, find in the same order", lambda: find(np.arange(rows)))
    timed("open, find in a random order", lambda: find(np.random.default_rng(1).permutation(rows)))
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(
        f"  {size / 1e6:,.0f} MB; peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB", flush=True
    )
    shutil.rmtree(folder)


def main() -> None:
    """Print the times of both stores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, required=True)
    arguments = parser.parse_args()
    files, sqlite = arguments.folder / "files", arguments.folder / "sqlite"
    print(f"vector_store, {arguments.rows:,} vectors")
    measure(lambda: VectorStore(files, {"model": 1}, DIM), arguments.rows, files)
    print(f"sqlite, {arguments.rows:,} vectors")
    measure(lambda: SqliteStore(sqlite), arguments.rows, sqlite)


if __name__ == "__main__":
    main()
