"""Checkpoints of LDA chains: what is written comes back, the rest is refused, and a file that was whole stays whole."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.io import checkpoints
from nlpkit.io.checkpoints import checkpoint_path, read_checkpoint, write_checkpoint
from nlpkit.topics.lda.fit import FitState, TracePoint

IDENTITY = {"inputs": [["ab12", 3]], "n_topics": 2, "alpha": None, "eta": 0.1, "sweeps": 20}


def a_state(**change: Any) -> FitState:
    arrays = {"z": np.array([0, 1, 1], np.uint16), "list_entries": np.array([2**63 + 5, 0], np.uint64)}
    given = {
        "sweep": 7,
        "alpha": np.array([0.1, 1 / 3]),
        "eta": 0.1 + 0.2,
        "arrays": arrays,
        "trace": [TracePoint(5, -7.25, 1.9, 0.5, 0.1), TracePoint(7, -1 / 3, 2.0, 0.5, 0.1)],
        **change,
    }
    return FitState(**given)


def same(one: FitState, other: FitState) -> None:
    for name in ("sweep", "eta", "samples", "best_sweep", "best_eta", "trace"):
        assert getattr(one, name) == getattr(other, name)
    assert one.arrays.keys() == other.arrays.keys()
    pairs = [(getattr(one, name), getattr(other, name)) for name in ("alpha", "best", "best_alpha")]
    pairs += [(one.arrays[n], other.arrays[n]) for n in one.arrays]
    for name in ("topic_sum", "doc_sum"):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None)
        if a is not None:
            assert a.shape == b.shape
            pairs += [(getattr(a, part), getattr(b, part)) for part in ("data", "indices", "indptr")]
    for x, y in pairs:
        assert (x is None) == (y is None)
        if x is not None:
            assert (x.dtype, x.tobytes()) == (y.dtype, y.tobytes())


@pytest.mark.parametrize(
    "more",
    [
        {},
        {
            "samples": 3,
            "topic_sum": sparse.csr_array(np.array([[1, 0, 2], [0, 0, 0]], np.int32)),
            "doc_sum": sparse.csr_array((2, 2), dtype=np.int32),
        },
        {"topic_sum": sparse.csr_array([[0.25, 0.0], [0.0, 1.5]]), "doc_sum": sparse.csr_array([[1.75, 0.0]])},
        {
            "best": np.array([1, 1, 0], np.int32),
            "best_sweep": 5,
            "best_alpha": np.array([0.2, 0.7]),
            "best_eta": 1 / 7,
        },
        {"trace": []},
    ],
    ids=["last", "mean", "weighted", "best", "no trace"],
)
def test_what_is_written_comes_back(more: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint.npz"
    write_checkpoint(path, a_state(**more), IDENTITY)
    same(read_checkpoint(path, IDENTITY), a_state(**more))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_the_file_lies_beside_the_run() -> None:
    assert checkpoint_path(Path("a/lda.v2")) == Path("a/lda.v2.checkpoint.npz")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n_topics": 3}, "of another chain: n topics 2, now 3; give the same input and options, or `force` without"),
        ({"alpha": 0.5}, "of another chain: alpha None, now 0.5"),
        ({"eta": 0.1 + 1e-12}, "of another chain: eta 0.1, now 0.1000000"),
        ({"inputs": [["ab12", 4]]}, "of another chain: inputs [['ab12', 3]], now [['ab12', 4]]"),
        ({"term_weights": "idf"}, "of another chain: term weights None, now idf"),
    ],
)
def test_another_chain_is_refused(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    write_checkpoint(path, a_state(), IDENTITY)
    with pytest.raises(InputError) as error:
        read_checkpoint(path, {**IDENTITY, **change})
    assert f"checkpoint {path} is {says}" in str(error.value)


def packed(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def facts(value: Any) -> Any:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def plain_array() -> bytes:
    out = io.BytesIO()
    np.save(out, np.arange(3))
    return out.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"PK\x03\x04",
        plain_array(),
        packed(),
        packed(alpha=np.ones(2)),
        packed(facts=np.array([{}], object)),
        packed(facts=np.frombuffer(b"{", np.uint8)),
        packed(facts=np.frombuffer(b"\xff", np.uint8)),
        packed(facts=facts({})),
        packed(facts=facts([1])),
        packed(facts=facts({"identity": 3})),
        packed(facts=facts({"identity": IDENTITY})),
        packed(facts=facts({"identity": IDENTITY, "sweep": 1, "eta": 1, "trace": [{}]}), alpha=np.ones(2)),
        packed(facts=facts({"identity": IDENTITY, "sweep": 1, "eta": 1, "trace": [3]}), alpha=np.ones(2)),
    ],
)
def test_what_is_no_checkpoint_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_checkpoint(path, IDENTITY)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_checkpoint(tmp_path, IDENTITY)


def test_a_damaged_file_is_refused_or_of_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    write_checkpoint(path, a_state(), IDENTITY)
    whole = path.read_bytes()
    for length in range(0, len(whole), 17):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="damaged"):
            read_checkpoint(path, IDENTITY)
    refused = 0
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            found = read_checkpoint(path, IDENTITY)
        except InputError:
            refused += 1
        else:
            same(found, a_state())  # a byte that says nothing, such as the time
    assert refused > len(whole) // 3 * 0.6


def test_a_write_that_fails_leaves_the_file_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.npz"
    write_checkpoint(path, a_state(), IDENTITY)

    def full(file: Any, **arrays: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints.np, "savez", full)
    with pytest.raises(InputError):
        write_checkpoint(path, a_state(sweep=9), IDENTITY)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    same(read_checkpoint(path, IDENTITY), a_state())
