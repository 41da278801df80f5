"""Records of options: each refuses, when it is made, what its fields declare that they do not take."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Collection, Iterator
from dataclasses import MISSING, Field, fields
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
import pytest

import nlpkit
from nlpkit.platform import options as parameters
from nlpkit.platform.options import MOST, Execution, Param, _declared, options, with_settings
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


def _with_params() -> Iterator[tuple[type, Field[Any], Param]]:
    """Give every field of a record that has a Param."""
    for record in _records():
        for field in fields(record):
            param = _declared(record)[field.name][1]
            if param is not None:
                yield record, field, param


def _another(record: type, name: str) -> Any:
    """Return a value that a field takes and that is not its default."""
    kinds, param = _declared(record)[name]
    default = next(field.default for field in fields(record) if field.name == name)
    if param is not None and param.choices is not None:
        return next(choice for choice in param.choices if choice != default)
    if bool in kinds:
        return not default
    if str in kinds or Path in kinds:
        return "1" if default != "1" else "2"
    if not kinds.isdisjoint((int, float)):
        low = max((bound for bound in (param.min, param.above) if bound is not None), default=0) if param else 0
        return next(n for n in (low + 0.25, low + 1, low + 2) if n != default and (float in kinds or n == int(n)))
    return ("1",)


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


def test_every_declared_choice_is_one_of_the_record() -> None:
    checked = [(record, field.name) for record, field, param in _with_params() if param.choices is not None]
    for record, name in checked:
        with refuses(name):
            _made(record, next(field for field in fields(record) if field.name == name), "none of these")
    assert len(checked) > 60


def test_a_text_that_must_be_filled_is_not_empty() -> None:
    checked = [(record, field) for record, field, param in _with_params() if param.filled]
    for record, field in checked:
        with refuses(field.name):
            _made(record, field, "")
    assert len(checked) > 4


def test_every_field_needs_and_excludes_what_it_declares() -> None:
    n = 0
    for record, field, param in _with_params():
        value = _another(record, field.name)
        usual = {one.name: one.default for one in fields(record)}
        if param.needs and not any(parameters._is_met(SimpleNamespace(**usual), need) for need in param.needs):
            with refuses(field.name):
                _made(record, field, value)
            n += 1
        for other in param.excludes:
            with pytest.raises(nlpkit.errors.UsageError) as raised:
                record(
                    **{
                        field.name: value,
                        other: _another(record, other),
                        **_met(record, param.needs),
                        **_met(record, _needs(record, other)),
                    }
                )
            assert raised.value.parameter in (field.name, other)
            n += 1
    assert n > 60


def _needs(record: type, name: str) -> Collection[str]:
    param = _declared(record)[name][1]
    return () if param is None else param.needs


def _met(record: type, needs: Collection[str]) -> dict[str, Any]:
    """Return a value by which the first need is met."""
    name, _, value = next(iter(needs), "").partition("=")
    return {name: value or _another(record, name)} if name else {}


def test_no_record_checks_by_hand_what_a_field_can_declare() -> None:
    """A hand-written check compares fields with each other, or with more than a constant."""
    by_hand = [
        f"{module}.{node.name}: {ast.unparse(check.test)}"
        for module, node in _classes_with_params()
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name in ("__post_init__", "check")
        for check in ast.walk(method)
        if isinstance(check, ast.If) and isinstance(check.body[0], ast.Raise) and _is_limit(check.test)
    ]
    assert by_hand == [
        "nlpkit.classify.options.ClassifierOptions: self.model not in MODELS"
    ]  # which says more than a choice


def _is_limit(test: ast.expr) -> bool:
    """Whether a condition compares one field with constants alone, or asks for it in a list."""
    if isinstance(test, ast.UnaryOp):
        return _is_limit(test.operand)
    if isinstance(test, ast.BoolOp):
        return (
            all(map(_is_limit, test.values))
            and len({ast.unparse(part.left) for part in test.values if isinstance(part, ast.Compare)}) == 1
        )
    sides = [test.left, *test.comparators] if isinstance(test, ast.Compare) else []
    of_self = [side for side in sides if isinstance(side, ast.Attribute) and ast.unparse(side.value) == "self"]
    constant = [
        (isinstance(side, ast.Constant) and side.value is not None) or ast.unparse(side).strip("()").isupper()
        for side in sides
    ]
    return len(of_self) == 1 and sum(constant) == len(sides) - 1


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
