"""Records of options: each refuses, when it is made, what its fields declare that they do not take."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import nlpkit
from nlpkit.parameters import MOST, Execution, Param, _declared, options, with_settings
from nlpkit.topics.hdp.options import HdpOptions
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.matrix.options import NmfOptions
from tests.refusals import refuses

SOURCES = Path(nlpkit.__file__).parent
NOT_FINITE = (float("nan"), float("inf"), -float("inf"), np.float32("nan"))


def _classes_with_params() -> Iterator[tuple[str, ast.ClassDef]]:
    """Give every class of the sources that declares a Param, with the name of its module."""
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text("utf-8")
        if "Param(" in text:
            module = ".".join(("nlpkit", *path.relative_to(SOURCES).with_suffix("").parts))
            for node in ast.parse(text).body:
                annotated = [part for part in getattr(node, "body", ()) if isinstance(part, ast.AnnAssign)]
                if isinstance(node, ast.ClassDef) and any("Param(" in ast.unparse(part) for part in annotated):
                    yield module, node


@cache
def _records() -> tuple[type, ...]:
    return tuple(getattr(importlib.import_module(module), node.name) for module, node in _classes_with_params())


def _numbers() -> Iterator[tuple[type, Field[Any], frozenset[Any], Param]]:
    """Give every field of a record that takes numbers."""
    for record in _records():
        for field in fields(record):
            kinds, param = _declared(record)[field.name]
            if param is not None and not kinds.isdisjoint((int, float)):
                yield record, field, kinds, param


def _made(record: type, field: Field[Any], value: Any) -> Any:
    """Make a record with one value, and something for the fields that have no default."""
    needed = {one.name: None for one in fields(record) if one.default is MISSING and one.default_factory is MISSING}
    return record(**{**needed, field.name: value})


def test_every_class_that_declares_parameters_is_a_record_of_options() -> None:
    unmarked = [
        f"{module}.{node.name}"
        for module, node in _classes_with_params()
        if "options" not in map(ast.unparse, node.decorator_list)
    ]
    assert unmarked == []
    assert len(_records()) > 90


def test_every_declared_limit_is_a_limit_of_the_record() -> None:
    n = 0
    for record, field, kinds, param in _numbers():
        step = 0.001 if float in kinds else 1
        outside = [
            *([] if param.min is None else [param.min - step, -1e30 if float in kinds else -MOST]),
            *([] if param.max is None else [param.max + step]),
            *([] if param.above is None else [param.above]),
            *([] if param.below is None else [param.below]),
        ]
        for value in outside:
            with refuses(field.name):
                _made(record, field, value)
            n += 1
    assert n > 225


def test_no_option_takes_a_number_that_is_not_finite_nor_one_that_no_loop_could_take() -> None:
    for record, field, kinds, _ in _numbers():
        for value in NOT_FINITE:
            with refuses(field.name):
                _made(record, field, value)
        if float not in kinds and field.name != "seed":
            with refuses(field.name):
                _made(record, field, MOST + 1)


def test_no_option_takes_a_value_of_another_type() -> None:
    for record in _records():
        for field in fields(record):
            kinds, _ = _declared(record)[field.name]
            plain = {bool: "no", int: 1.5, float: "0.1", str: 3, Path: 3}
            only = kinds - {type(None)}
            if len(only) == 1 and (kind := next(iter(only))) in plain:
                with refuses(field.name):
                    _made(record, field, plain[kind])
                with refuses(field.name):
                    _made(record, field, b"bytes")


@options
class Everything:
    """A field of each kind."""

    n: Annotated[int, Param("A number.", min=1, max=5)] = 1
    share: Annotated[float | None, Param("A share.", above=0, below=1)] = None
    k: Annotated[int | str, Param("Topics.")] = "auto"
    start: Annotated[str, Param("A start.", choices=("svd", "random"))] = "svd"
    file: Annotated[Path | None, Param("A file.")] = None
    encoder: Annotated[str | None, Param("A folder or a name.")] = None
    names: Annotated[tuple[str, ...], Param("Names.")] = ()
    sizes: Annotated[str | tuple[int, ...], Param("Sizes.")] = "1,2"
    files: Annotated[tuple[Path, ...], Param("Files.")] = ()
    anything: Any = None
    further: bool = False

    def __post_init__(self) -> None:
        """Take note that the values were checked before."""
        assert self.n + (self.share or 0) > 0
        object.__setattr__(self, "further", True)


@options
class EvenMore(Everything):
    """A record that extends another."""

    more: Annotated[int, Param("One more.", min=0)] = 0


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"n": np.int64(3)}, {"n": 3}),
        ({"share": np.float64(0.5)}, {"share": 0.5}),
        ({"share": 0.25, "k": 7}, {"share": 0.25, "k": 7}),
        ({"file": "a.csv", "encoder": Path("models/m")}, {"file": Path("a.csv"), "encoder": "models/m"}),
        ({"names": ["a", "b"], "sizes": [3, 4]}, {"names": ("a", "b"), "sizes": (3, 4)}),
        ({"names": "one", "files": "a"}, {"names": ("one",), "files": (Path("a"),)}),
        ({"anything": {"of": "any kind"}}, {"anything": {"of": "any kind"}}),
    ],
)
@pytest.mark.parametrize("record", [Everything, EvenMore])
def test_values_are_kept_as_their_field_has_them(record: type, given: dict[str, Any], kept: dict[str, Any]) -> None:
    made = record(**given)
    assert made.further
    for name, value in kept.items():
        assert getattr(made, name) == value
        assert type(getattr(made, name)) is type(value)
    assert with_settings((record(),), given)[0] == made


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"n": 0}, "`n` must be at least 1, got 0"),
        ({"n": 6}, "`n` must be at most 5, got 6"),
        ({"n": True}, "`n` takes a whole number, got True"),
        ({"share": 0}, "`share` must be above 0, got 0"),
        ({"share": 1.0}, "`share` must be below 1, got 1.0"),
        ({"share": float("nan")}, "`share` takes a finite number, got nan"),
        ({"k": 2.5}, "`k` takes a whole number or text, got 2.5"),
        ({"k": 2**31}, "`k` must be at most 2,147,483,647, got 2147483648"),
        ({"k": None}, "`k` takes a whole number or text, got None"),
        ({"start": "svm"}, "`start=svm` is not known; give one of svd, random; did you mean 'svd'?"),
        ({"file": 3}, "`file` takes a path or None, got 3"),
        ({"names": (1,)}, "`names` takes text, got 1"),
        ({"sizes": (1, float("nan"))}, "`sizes` takes a whole number, got nan"),
    ],
)
def test_what_a_field_does_not_take_is_said(given: dict[str, Any], says: str) -> None:
    for record in (Everything, EvenMore):
        with refuses(next(iter(given))) as raised:
            record(**given)
        assert str(raised.value) == says


def test_a_record_given_whole_is_refused_as_its_single_options_are() -> None:  # nlpkit#53: 195 of 225 limits were open
    for make in (
        lambda: Execution(threads=-3),
        lambda: Execution(seed=-1),
        lambda: HdpOptions(iterations=-3),
        lambda: HdpOptions(min_share=7.0),
        lambda: NmfOptions(tolerance=float("inf")),
        lambda: LdaOptions(k="5", sweeps="3"),  # type: ignore[arg-type]
        lambda: nlpkit.fit_nmf(["a b", "c d"], tolerance=float("nan")),
    ):
        with pytest.raises(nlpkit.errors.UsageError):
            make()
    assert LdaOptions(k="5").k == "5"
