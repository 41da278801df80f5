"""Kernels that run as plain Python while there is little to do and Numba is not loaded: same bytes, and a quick start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="kernels are plain Python then")

PIPELINE = """
import hashlib, json, sys
from pathlib import Path
before, n, folder = sys.argv[1:]
if before == "compiled":
    import numba
import nlpkit as nk
texts = ["The cats sat, don't-stop, U.S. state-of-the-art 3.5 &amp; a@b.c http://x.y/z <b>é</b> Straße", "", "日本語 and 中文", "a b a"]
tokens = nk.preprocess([f"{texts[i % 4]} word{i % 7}" for i in range(int(n))], stem="auto", min_df=1)
weights = nk.tfidf(tokens)
statistics = nk.stats([" ".join(texts) * 9, *texts])
for name, result in (("tokens", tokens), ("weights", weights), ("statistics", statistics)):
    path = f"{folder}/{name}-{before}.parquet"
    result.save(path)
    print(hashlib.sha256(Path(path).read_bytes()).hexdigest())
topics = [["cat", "sat", "stop", "word3"], ["stat", "u.s", "sat", "word1"]]
scores = nk.evaluate(topics, "npmi,c_v,umass", reference=f"{folder}/tokens-{before}.parquet")
print(hashlib.sha256(json.dumps([target["metrics"] for target in scores.to_dict()["targets"]]).encode()).hexdigest())
from nlpkit.metrics.labels.partitions import adjusted_mutual_information
tables = ([[2, 1, 0], [0, 3, 1]], [[7, 5], [4, 9], [1, 2]], [[1] * 5] * 4, [[9]])
print(*(float(adjusted_mutual_information(table)).hex() for table in tables))
print("numba" in sys.modules)
"""


def run(folder: Path, before: str, n: int) -> list[str]:
    """Return the hashes of what a pipeline writes, and whether it has loaded Numba."""
    command = [sys.executable, "-W", "error", "-c", PIPELINE, before, str(n), str(folder)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_little_is_done_without_numba_and_is_the_same(tmp_path: Path) -> None:
    plain, compiled = run(tmp_path, "plain", 40), run(tmp_path, "compiled", 40)
    assert plain[:-1] == compiled[:-1]
    assert (plain[-1], compiled[-1]) == ("False", "True")


def test_more_is_compiled(tmp_path: Path) -> None:
    plain, compiled = run(tmp_path, "plain", 2000), run(tmp_path, "compiled", 2000)
    assert plain == compiled  # though some kernels ran before Numba was loaded
    assert plain[-1] == "True"


def test_threads_that_load_numba_beside_each_other() -> None:
    """Before, what a plain kernel called next was compiled once another thread had loaded Numba, and its numbers of other types."""
    script = """
import sys
import pyarrow as pa
from concurrent.futures import ThreadPoolExecutor
from nlpkit.text.tokenize import scan_tokens
texts = pa.array(["The cats sat, don't-stop, U.S. state-of-the-art 3.5 &amp; a@b.c http://x.y/z <b>é</b> Straße " * 20] * 12)
with ThreadPoolExecutor(4) as pool:
    found = list(pool.map(lambda _: scan_tokens(texts).codes.tolist(), range(24)))
assert "numba" in sys.modules
assert all(codes == found[0] for codes in found)
"""
    for _ in range(2):
        subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)
