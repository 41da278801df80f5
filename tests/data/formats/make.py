"""Makes the files of a version that every later one must read: python -m tests.data.formats.make

Runs, tables and a store of embeddings in a folder with the name of the version, and in expected.json what this version reads in them.
A folder that is there is left alone: what a released version wrote does not change any more.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from nlpkit.embed.encoders import VectorStore
from nlpkit.version import __version__
from tests.command_line import run_cli

HERE = Path(__file__).parent
WORDS = ("river bank water fish boat stream shore tide", "judge court law bank fine trial lawyer crime")
RUNS = {
    "lda": "lda-gibbs CORPUS --k 2 --sweeps 20",
    "stm": "stm CORPUS --k 2 --iterations 10 --prevalence label",
    "bertopic": "bertopic CORPUS --k 2 --n-neighbors 3",
    "logreg": "classify CORPUS --model logreg --cv 2",
    "nb": "classify CORPUS --model nb --cv 2",
}
TABLES = {
    "tokens.parquet": "preprocess CORPUS --min-df 1",
    "weights.parquet": "tfidf CORPUS --min-df 1",
}
STORE, IDENTITY, DIM = "store", {"files": "0" * 64, "max_tokens": 256}, 3
TEXTS = ("", "a text", "another text", "日本語", "none of this is there")  # the last one is not put


def vectors() -> np.ndarray:
    """Return the vectors (4, 3) of the texts in the store."""
    return np.random.default_rng(4).normal(size=(len(TEXTS) - 1, DIM)).astype(np.float32)


def write_corpora(folder: Path) -> None:
    """Write documents with all kinds of columns that runs read: corpus.parquet, and new.parquet without labels."""
    rng = np.random.default_rng(1)
    rows = [
        {
            "id": f"d{i}",
            "text": " ".join(rng.choice(WORDS[i % 2].split(), 12)),
            "label": "ab"[i % 2],
            "embedding": (np.eye(4)[i % 2] + rng.normal(0, 0.2, 4)).tolist(),
        }
        for i in range(60)
    ]
    table = pl.DataFrame(rows).with_columns(pl.col("embedding").cast(pl.Array(pl.Float32, 4)))
    table[:48].write_parquet(folder / "corpus.parquet")
    table[48:].write_parquet(folder / "new.parquet")


def read_table(path: Path) -> dict[str, Any]:
    """Return the columns of a table as lists."""
    return pl.read_parquet(path).to_dict(as_series=False)


def what_is_read(folder: Path, scratch: Path) -> dict[str, Any]:
    """Return what this version reads in the files of one: predictions of each run, each table, the vectors of the store."""
    read: dict[str, Any] = {}
    for name in RUNS:
        out = scratch / f"{name}.parquet"
        run_cli("predict", folder / name, folder / "new.parquet", "-q", "-o", out)
        read[name] = read_table(out)
    for name in TABLES:
        read[name] = read_table(folder / name)
    there, counts, found = VectorStore(folder / STORE, IDENTITY, DIM).get(TEXTS)
    read[STORE] = {"there": there.tolist(), "counts": counts.tolist(), "vectors": found.tolist()}
    return read


def main() -> None:
    """Make the files of this version."""
    target = HERE / __version__
    if target.exists():
        raise SystemExit(f"{target} is there already: what a version wrote stays as it is")
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "formats"
        folder.mkdir()
        with contextlib.chdir(folder):
            write_corpora(folder)
            for name, line in {**RUNS, **TABLES}.items():
                words = [*line.replace("CORPUS", "corpus.parquet").split(), "-q", "-o", name]
                run_cli(*words, *(["--stop-words", "none"] if name not in ("logreg", "nb") else []))
            counts = np.array([[len(text), 0] for text in TEXTS[:-1]])
            VectorStore(Path(STORE), IDENTITY, DIM).put(TEXTS[:-1], counts, vectors())
            expected = what_is_read(folder, Path(scratch))
            (folder / "expected.json").write_text(json.dumps(expected, indent=0) + "\n", encoding="utf-8", newline="\n")
        shutil.copytree(folder, target)


if __name__ == "__main__":
    main()
