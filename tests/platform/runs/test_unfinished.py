"""Checkpoints of fits: what is written comes back, the rest is refused, and a file that was whole stays whole."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.errors import InputError
from nlpkit.platform.runs.unfinished import checkpoint_path
from nlpkit.topics.base import resume
from nlpkit.topics.base.resume import read_steps, write_steps
from nlpkit.topics.base.scores import StepState

IDENTITY = {"inputs": [["ab12", 3]], "n_topics": 2, "alpha": None, "eta": 0.1, "sweeps": 20}


POINTS = [{"sweep": 5, "log_likelihood": -7.25, "eta": 0.1}, {"sweep": 7, "log_likelihood": -1 / 3, "eta": 0.1}]
RNG = {"bit_generator": "Philox", "state": {"counter": [2**64 - 1, 0, 0, 0], "key": [1, 2]}, "has_uint32": 0}


def a_state(**change: Any) -> StepState:
    arrays = {
        "chain.z": np.array([0, 1, 1], np.uint16), "chain.list_entries": np.array([2**63 + 5, 0], np.uint64),
        "alpha": np.array([0.1, 1 / 3]), "eta": np.array(0.1 + 0.2), "none": np.zeros(0), "sum.data": np.array([0.25, 1.5]),
    }  # fmt: skip
    given: dict[str, Any] = {"step": 7, "arrays": arrays, "rng": None, "trace": POINTS, **change}
    return StepState(**given)


def same(one: StepState, other: StepState) -> None:
    assert (one.step, one.rng, list(one.trace)) == (other.step, other.rng, list(other.trace))
    assert one.arrays.keys() == other.arrays.keys()
    for name, values in one.arrays.items():
        assert (values.dtype, values.shape, values.tobytes()) == (
            other.arrays[name].dtype, other.arrays[name].shape, other.arrays[name].tobytes()
        )  # fmt: skip


@pytest.mark.parametrize(
    "more", [{}, {"rng": RNG}, {"trace": []}, {"arrays": {}}], ids=["chain", "generator", "no trace", "no arrays"]
)
def test_what_is_written_comes_back(more: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint.npz"
    write_steps(path, a_state(**more), IDENTITY)
    same(read_steps(path, IDENTITY), a_state(**more))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_the_file_lies_beside_the_run() -> None:
    assert checkpoint_path(Path("a/lda.v2")) == Path("a/lda.v2.checkpoint.npz")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"n_topics": 3},
            "to another chain: n topics 2, now 3; give the same input and options, or use `force` without",
        ),
        ({"alpha": 0.5}, "to another chain: alpha None, now 0.5"),
        ({"eta": 0.1 + 1e-12}, "to another chain: eta 0.1, now 0.1000000"),
        ({"inputs": [["ab12", 4]]}, "to another chain: inputs [['ab12', 3]], now [['ab12', 4]]"),
        ({"term_weights": "idf"}, "to another chain: term weights None, now idf"),
    ],
)
def test_another_chain_is_refused(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    write_steps(path, a_state(), IDENTITY)
    with pytest.raises(InputError) as error:
        read_steps(path, {**IDENTITY, **change}, what="chain")
    assert f"checkpoint {path} belongs {says}" in str(error.value)


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
        packed(facts=facts({"identity": IDENTITY, "step": 1, "rng": None}), alpha=np.ones(2)),
        packed(facts=facts({"identity": IDENTITY, "step": 1, "rng": None, "steps": [3]}), alpha=np.ones(2)),
    ],
)
def test_what_is_no_checkpoint_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_steps(path, IDENTITY)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_steps(tmp_path, IDENTITY)


def test_a_damaged_file_is_refused_or_of_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    write_steps(path, a_state(), IDENTITY)
    whole = path.read_bytes()
    for length in range(0, len(whole), 17):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="damaged"):
            read_steps(path, IDENTITY)
    refused = 0
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            found = read_steps(path, IDENTITY)
        except InputError:
            refused += 1
        else:
            same(found, a_state())  # a byte that says nothing, such as the time
    assert refused > len(whole) // 3 * 0.6


def test_a_write_that_fails_leaves_the_file_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.npz"
    write_steps(path, a_state(), IDENTITY)

    def full(file: Any, **arrays: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(resume.np, "savez", full)
    with pytest.raises(InputError):
        write_steps(path, a_state(step=9), IDENTITY)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    same(read_steps(path, IDENTITY), a_state())
