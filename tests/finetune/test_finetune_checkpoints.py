"""What fine-tuning leaves beside a run until it is whole: kept, found again, refused when it is another's or damaged."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nlpkit.errors import InputError, OutputExistsError
from nlpkit.finetune.resume import Checkpoint
from nlpkit.finetune.training.train import LogPoint, State

IDENTITY = {"seed": 1, "base_sha256": "abc", "parameters": {"method": ["lora"], "epochs": 3}}
POINTS = [LogPoint(2, 0.5, 0.7, 1e-3, 4.5, {"score": 0.25}), LogPoint(4, 1.0, 0.6, 5e-4, 8.0)]


def state(step: int = 4, **more: Any) -> State:
    tensors = {"layer.0/w": torch.full((2, 3), float(step)), "b": torch.arange(3.0)}
    return State(
        step=step, seconds=9.5, batch=8, values=tensors, moments={"b.exp_avg": torch.ones(3)}, updates=step - 1,
        best={"b": torch.zeros(3)}, best_score=0.25, best_step=2, waited=1, losses=[0.5, 0.1 + 0.2], curve=list(POINTS), **more,
    )  # fmt: skip


def same(a: State, b: State) -> bool:
    for part in ("values", "moments", "best"):
        x, y = getattr(a, part), getattr(b, part)
        if x.keys() != y.keys() or not all(torch.equal(x[n], y[n]) for n in x):
            return False
    plain = ("step", "seconds", "batch", "updates", "best_score", "best_step", "waited", "losses", "curve")
    return all(getattr(a, name) == getattr(b, name) for name in plain)


def make(tmp_path: Path, *, resume: bool = True, identity: Any = None, force: bool = False) -> Checkpoint:
    return Checkpoint(tmp_path / "run", identity or IDENTITY, resume=resume, force=force)


def test_nothing_is_written_before_there_is_something_to_keep(tmp_path: Path) -> None:
    found = make(tmp_path)
    assert (found.state("a"), found.finished("a"), found.exists) == (None, None, False)
    found.remove()
    assert list(tmp_path.iterdir()) == []
    assert found.path == tmp_path / "run.checkpoint"


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    own = state()
    make(tmp_path).save("a", own)
    found = make(tmp_path).state("a")
    assert found is not None
    assert same(found, own)
    assert make(tmp_path).state("b") is None  # of another training


def test_a_state_of_views_and_shared_tensors_is_kept(tmp_path: Path) -> None:
    w = torch.arange(12.0).reshape(3, 4)
    make(tmp_path).save("a", State(step=1, values={"w": w, "tied": w, "turned": w.T}))
    found = make(tmp_path).state("a")
    assert found is not None
    assert torch.equal(found.values["turned"], w.T)
    assert torch.equal(found.values["tied"], w)


def test_the_later_state_stays(tmp_path: Path) -> None:
    checkpoint = make(tmp_path)
    checkpoint.save("a", state(4))
    checkpoint.save("a", state(6))
    found = make(tmp_path).state("a")
    assert found is not None
    assert found.step == 6
    assert found.values["layer.0/w"][0, 0] == 6


@pytest.mark.parametrize("nth", [1, 2])
def test_a_process_killed_while_it_saves_leaves_the_state_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    """Killed at the nth file that is put into its place: what is found is one state, not parts of two."""
    checkpoint = make(tmp_path)
    checkpoint.save("a", state(4))
    real, calls = Path.replace, []

    def replace(self: Path, target: Any) -> Any:
        calls.append(target)
        if len(calls) == nth:
            raise SystemExit
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with contextlib.suppress(SystemExit):
        checkpoint.save("a", state(6))
    monkeypatch.undo()
    found = make(tmp_path).state("a")
    assert found is not None
    assert found.values["layer.0/w"][0, 0] == found.step


def test_numbers_that_are_none_come_back(tmp_path: Path) -> None:
    own = state()
    own.losses, own.best_score = [0.5, float("nan")], None
    own.curve = [LogPoint(1, 0.5, float("nan"), 0.1, 1.0, {"score": float("nan")})]
    make(tmp_path).save("a", own)
    found = make(tmp_path).state("a")
    assert found is not None
    assert found.losses[0] == 0.5
    assert np.isnan([found.losses[1], found.curve[0].loss, found.curve[0].dev["score"]]).all()
    assert found.best_score is None


def test_a_finished_training_comes_back_and_ends_the_one_under_way(tmp_path: Path) -> None:
    checkpoint = make(tmp_path)
    checkpoint.save("a", state())
    arrays = {"rows": np.arange(3), "outputs": np.array([[0.1, np.nan]])}
    checkpoint.finish("a", {"seconds": 1.5, "method": "lora"}, arrays)
    again = make(tmp_path)
    assert again.state("a") is None
    found = again.finished("a")
    assert found is not None
    assert found[0] == {"seconds": 1.5, "method": "lora"}
    assert found[1].keys() == arrays.keys()
    for name, values in arrays.items():
        np.testing.assert_array_equal(found[1][name], values)
    assert again.finished("b") is None


def test_without_resume_it_is_cleared_by_force_alone(tmp_path: Path) -> None:
    make(tmp_path).save("a", state())
    with pytest.raises(OutputExistsError):
        make(tmp_path, resume=False)
    assert make(tmp_path).state("a") is not None
    found = make(tmp_path, resume=False, force=True)
    assert not found.path.exists()
    assert found.state("a") is None


def test_a_folder_of_someone_else_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "run.checkpoint").mkdir()
    (tmp_path / "run.checkpoint" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError):
        make(tmp_path, resume=False, force=True)
    assert (tmp_path / "run.checkpoint" / "thesis.txt").read_text() == "mine"


def test_of_other_options_it_is_refused(tmp_path: Path) -> None:
    make(tmp_path).save("a", state())
    with pytest.raises(InputError):
        make(tmp_path, identity={**IDENTITY, "base_sha256": "xyz"})
    assert make(tmp_path, identity=dict(reversed(IDENTITY.items()))).exists  # the order tells nothing


def test_tuples_in_the_identity_are_lists(tmp_path: Path) -> None:
    make(tmp_path, identity={"shots": (8, 64)}).save("a", state())
    assert make(tmp_path, identity={"shots": (8, 64)}).state("a") is not None


def test_it_is_removed(tmp_path: Path) -> None:
    checkpoint = make(tmp_path)
    checkpoint.save("a", state())
    checkpoint.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{}", b"PK\x03\x04", b"\x93NUMPY"])
def test_a_damaged_state_is_an_error(tmp_path: Path, content: bytes) -> None:
    make(tmp_path).save("a", state())
    (tmp_path / "run.checkpoint" / "state.safetensors").write_bytes(content)
    with pytest.raises(InputError):
        make(tmp_path).state("a")


@pytest.mark.parametrize("content", [b"", b"{}", b"PK\x03\x04", b"\x93NUMPY", None])
def test_damaged_arrays_are_an_error(tmp_path: Path, content: bytes | None) -> None:
    make(tmp_path).finish("a", {}, {"x": np.zeros(100)})
    file = tmp_path / "run.checkpoint" / "a.npz"
    file.write_bytes(file.read_bytes()[:-40] if content is None else content)
    with pytest.raises(InputError):
        make(tmp_path).finished("a")


def test_missing_arrays_and_damaged_facts_are_errors(tmp_path: Path) -> None:
    make(tmp_path).finish("a", {}, {"x": np.zeros(3)})
    (tmp_path / "run.checkpoint" / "a.json").write_text("{")
    with pytest.raises(InputError):
        make(tmp_path).finished("a")
    (tmp_path / "run.checkpoint" / "a.json").write_text("{}")
    (tmp_path / "run.checkpoint" / "a.npz").unlink()
    with pytest.raises(InputError):
        make(tmp_path).finished("a")


def test_arrays_with_a_pickle_are_not_opened(tmp_path: Path) -> None:
    make(tmp_path).finish("a", {}, {"x": np.zeros(3)})
    np.savez(tmp_path / "run.checkpoint" / "a.npz", x=np.array([{"a": 1}], object))
    with pytest.raises(InputError):
        make(tmp_path).finished("a")


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_a_damaged_identity_is_an_error(tmp_path: Path, content: str) -> None:
    make(tmp_path).save("a", state())
    (tmp_path / "run.checkpoint" / "identity.json").write_text(content)
    with pytest.raises(InputError):
        make(tmp_path)


def test_identity_is_what_was_asked_for(tmp_path: Path) -> None:
    make(tmp_path).save("a", state())
    assert json.loads((tmp_path / "run.checkpoint" / "identity.json").read_text()) == IDENTITY
