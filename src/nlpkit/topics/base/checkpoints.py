"""Checkpoints of unfinished fits of topic models, beside their runs: a state between two steps, the scores of numbers of topics."""

from __future__ import annotations

import json
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.errors import InputError
from nlpkit.platform.plain import to_json
from nlpkit.platform.runs.atomic import naming
from nlpkit.platform.runs.checkpoints import plain, replacing
from nlpkit.topics.base.scores import Scores, StepState

_FOLLOWS = {  # from `sweeps`, where they are not given
    "burn_in": " (a half of the sweeps, unless `burn_in` says it)",
    "optimize_burn_in": " (a fifth of the sweeps, at most 200, unless `optimize_burn_in` says it)",
}


_UNREADABLE = (  # what zipfile, NumPy and json say of files that are damaged or are something else
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, RuntimeError, zlib.error, zipfile.BadZipFile
)  # fmt: skip


def scores_path(target: Path) -> Path:
    """Return where the scores of a comparison of numbers of topics lie meanwhile: beside the run."""
    return target.with_name(f"{target.name}.checkpoint.k.jsonl")


def write_steps(path: Path, state: StepState, identity: Mapping[str, Any]) -> None:
    """Write a state; the file before it stays until the new one is whole. identity: what must be the same to go on."""
    trace = [{name: _number(value) for name, value in point.items()} for point in state.trace]
    facts = to_json({"identity": dict(identity), "step": state.step, "rng": state.rng, "steps": trace})
    with replacing(path) as part, part.open("wb") as file:
        np.savez(file, **state.arrays, facts=np.frombuffer(facts.encode(), np.uint8))  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())


def read_steps(path: Path, identity: Mapping[str, Any], *, what: str = "fit") -> StepState:
    """Return the state of a checkpoint. what: is fitted, in messages.

    Raises:
        InputError: the file is damaged, is no checkpoint, or is of another corpus or other options.
    """
    mine = plain(identity)
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as whole:
            arrays = {name.removesuffix(".npy"): _array(whole, name) for name in whole.namelist()}
        facts = json.loads(arrays.pop("facts").tobytes())
        theirs = dict(facts["identity"])
        changed = next((key for key in mine if theirs.get(key) != mine[key]), None)
        if changed is None:
            trace = [{name: math.nan if value is None else value for name, value in p.items()} for p in facts["steps"]]
            return StepState(int(facts["step"]), arrays, facts["rng"], trace)
    except _UNREADABLE as error:
        raise InputError(
            f"checkpoint {path} is damaged, or not the checkpoint of a {what} ({error}); `force` without "
            "`resume` deletes it"
        ) from None
    raise InputError(
        f"checkpoint {path} belongs to another {what}: {changed.replace('_', ' ')} {theirs.get(changed)}, "
        f"now {mine[changed]}{_FOLLOWS.get(changed, '')}; give the same input and options, or use `force` "
        "without `resume`, which deletes it"
    )


def _number(value: Any) -> Any:
    """Return a number of a trace as JSON holds it."""
    return value.item() if isinstance(value, np.generic) else value


def _array(whole: zipfile.ZipFile, name: str) -> np.ndarray:
    with whole.open(name) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def read_scores(path: Path, identity: Mapping[str, Any]) -> dict[tuple[int, int], Scores]:
    """Return the scores by (K, seed) that an earlier comparison left; a line it was killed in does not count.

    Args:
        path: where; none are known where nothing is there.
        identity: what must be the same, as `append_score` wrote it.

    Raises:
        InputError: the file is something else, or of another corpus or other options.
    """
    if not path.exists():
        return {}
    mine = plain(identity)
    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        head = json.loads(lines[0])["identity"]
    except (ValueError, KeyError, IndexError, TypeError):
        raise InputError(
            f"{path} does not hold the scores of a comparison; `force` without `resume` deletes it"
        ) from None
    changed = [key for key in mine if head.get(key) != mine[key]]
    if changed:
        raise InputError(
            f"{path} was made with another {changed[0].replace('_', ' ')} ({head.get(changed[0])}, now "
            f"{mine[changed[0]]}); give the same options, or use `force` without `resume`, which deletes it"
        )
    known = {}
    for line in lines[1:]:
        try:
            row = json.loads(line)
            known[row["k"], row["seed"]] = Scores.from_dict(row["scores"])
        except (ValueError, KeyError):  # killed in the middle of a line, or scores of before that lack a number
            continue
    return known


def append_score(path: Path, identity: Mapping[str, Any], n_topics: int, seed: int, scores: Scores) -> None:
    """Add the scores of one fit to a file, which begins with what must be the same for it to be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path), path.open("a", encoding="utf-8", newline="\n") as file:
        if not file.tell():
            file.write(to_json({"identity": dict(identity)}) + "\n")
        file.write(to_json({"k": n_topics, "seed": seed, "scores": scores.as_dict()}) + "\n")
