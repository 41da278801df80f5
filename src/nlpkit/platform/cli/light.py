"""The fast start of every command: libraries that nlpkit does not need are not loaded.

pyarrow looks at each list whether it is a pandas Series, and loads pandas for it where that is installed, as scikit-learn does
when it is loaded; nothing here uses pandas. Numba loads scipy.linalg to see whether there is a BLAS for products of matrices, and
cffi to see whether a function is one of C; no kernel has either. scipy copies all names of NumPy, those of the modules by which it
is tested and by which Fortran is wrapped among them, which takes half of the time of its import. scikit-learn imports scipy.stats
and scipy.optimize, and joblib asyncio, for calls that nlpkit hardly makes: half of the time of scikit-learn's import.

Parts, in this order:
- What a process of nlpkit's own need not load: two thirds of a second of every command; and where Arrow takes memory
  from.
- Values of options that need no Pydantic, which Typer loads to make a number of a word: a tenth of a second of every
  start.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from contextlib import suppress
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

# A module that is only asked after, the one that asks, and a name that this has once it knows the answer.
_ASKED_AFTER = {
    "scipy.linalg": ("numba.np.arraymath", "_HAVE_BLAS"),
    "cffi": ("numba.core.typing.cffi_utils", "ffi"),
    "pandas": ("sklearn.utils.fixes", "pd"),
}
_BOOTSTRAP: Any = importlib._bootstrap  # the import system itself
_COPIED = ("f2py", "testing", "ctypeslib", "ma", "polynomial")
# Modules that run when something of them is asked for. Some names are only taken while other modules are loaded; these stand for
# what they name. With a name stands the part of the module that has it, if this part can be loaded alone.
_WAITING: dict[str, dict[str, str | None]] = {
    "scipy.stats": {"rankdata": None, "gmean": None, "chi2": None, "spearmanr": None},
    "scipy.optimize": {"minimize": None, "minimize_scalar": None, "linprog": None, "linear_sum_assignment": "_lsap"},
    "scipy.interpolate": {"BSpline": None},
    "scipy.integrate": {"trapezoid": None},
    "asyncio": {},
}
_ALONE = (
    "scipy.optimize._lsap",
    "scipy.optimize._linesearch",
    "scipy.optimize._dcsrch",
)  # parts that can be loaded alone


class _Finder:
    """A finder of modules that does not find those while they are only asked after."""

    looks_for_pandas = False

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Leave every other module to the finders behind this one."""
        if name == "pandas" and cls.looks_for_pandas:
            raise ModuleNotFoundError(name)
        if name in _WAITING:
            spec = PathFinder.find_spec(name, path)
            if spec is not None and spec.loader is not None:
                spec.loader = _RunsLater(spec.loader)
            return spec
        package = sys.modules.get(name.rpartition(".")[0])
        if isinstance(package, _Waiting) and name not in _ALONE and _run(package) and name in sys.modules:
            return _Loaded(sys.modules[name]).spec  # the package comes before its parts, and has loaded this one
        if name in _ASKED_AFTER:
            module, answer = _ASKED_AFTER[name]
            asking = sys.modules.get(module)
            if asking is not None and not hasattr(asking, answer):
                raise ModuleNotFoundError(name)
        return None


class _Later(ModuleType):
    """Stands for a module as an attribute of its package until somebody imports it, or asks for something of it."""

    def __getattr__(self, name: str) -> object:
        """Return an attribute of the module."""
        return getattr(importlib.import_module(self.__name__), name)


class _Waiting(ModuleType):
    """A module that is imported, and runs when something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        """Return an attribute; what is only taken by name is looked up when it is used."""
        if name in ("__path__", "__file__", "__cached__"):  # the import system asks before it sets them
            raise AttributeError(name)
        if name in _WAITING[self.__name__]:
            return _Taken(self, name)
        if not _run(self):  # it asks itself, for what is not there yet
            raise AttributeError(name)
        return getattr(self, name)


class _Taken:
    """Stands for a function or an object of a module that waits."""

    def __init__(self, module: ModuleType, name: str) -> None:
        """Take the module and the name in it."""
        self._of = module, name

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call it."""
        return _taken(*self._of)(*args, **named)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of it."""
        return getattr(_taken(*self._of), name)


def _taken(module: ModuleType, name: str) -> Any:
    """Return what stands under a name in a module that may wait."""
    part = _WAITING[module.__name__][name]
    if part is None or not isinstance(module, _Waiting):
        _run(module)
        return getattr(module, name)
    return getattr(importlib.import_module(f"{module.__name__}.{part}"), name)


class _RunsLater(Loader):
    """The loader of a module that waits."""

    def __init__(self, loader: Loader) -> None:
        """Take the loader that runs it."""
        self.loader = loader
        self.runs = False

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module, which is empty."""
        return _Waiting(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Wait."""


class _Loaded(Loader):
    """The loader of a part that was loaded while its package ran, though somebody was about to."""

    def __init__(self, part: ModuleType) -> None:
        """Take the part, and its specification until it is loaded once more: the import system goes by what a part has."""
        self.part, self.before = part, part.__spec__
        self.spec = part.__spec__ = ModuleSpec(part.__name__, self, is_package=hasattr(part, "__path__"))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the part."""
        return self.part

    def exec_module(self, module: ModuleType) -> None:
        """Give it its own specification back."""
        module.__spec__ = self.before


def _run(module: ModuleType) -> bool:
    """Run a module that waits, in one thread while others wait for it; return False where it runs and asks for itself.

    The lock is that of the import system, which finds out where two threads would wait for each other.
    """
    with suppress(_BOOTSTRAP._DeadlockError), _BOOTSTRAP._ModuleLockManager(module.__name__):
        spec = module.__spec__
        if spec is None or not isinstance(later := spec.loader, _RunsLater):
            return True
        if later.runs:
            return False
        later.runs = True
        try:
            later.loader.exec_module(module)
        finally:
            later.runs = False
        spec.loader = module.__loader__ = later.loader
        module.__class__ = ModuleType
        return True
    return False


def load_less() -> None:
    """Keep them out of this process; what loads them for itself later still finds them. Not for a process of others."""
    if _Finder in sys.meta_path:
        return
    sys.meta_path.insert(0, _Finder)
    if sys.platform == "linux":
        # The allocator that Arrow brings gives memory back at once and asks for it again: a fourteenth of the time of `preprocess`
        # goes into clearing pages (docs/benchmarks/text.md).
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if "pandas" in sys.modules:
        return
    import pyarrow

    _Finder.looks_for_pandas = True
    try:
        pyarrow.array([None])  # looks for pandas now, and never again
    finally:
        _Finder.looks_for_pandas = False
    for name in _COPIED:
        if f"numpy.{name}" not in sys.modules:
            setattr(sys.modules["numpy"], name, _Later(f"numpy.{name}"))


# ------------------------------------------------------------------------------------------------------------------------
# Values of options that need no Pydantic, which Typer loads to make a number of a word: a tenth of a second of every start.
#
# What is neither of the option's type already nor plainly written is left to Typer, which converts it or says what is wrong with it.

_NUMBERS = {
    int: re.compile(r"-?[0-9]{1,15}", re.ASCII),
    float: re.compile(r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]{1,2})?", re.ASCII),
}


class PlainFirst:
    """Stands for what Typer (0.26 and later) builds to convert the values of a parameter, and builds it where it is needed."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a value as the command gets it. Raises BadParameter as Typer does."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        if several:
            if kind == list[str] and isinstance(value, list | tuple) and all(type(item) is str for item in value):
                return list(value)
        elif (plain := _plain(value, kind)) is not None and _within(plain, info):
            return plain
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param, ctx)


class PlainParameters:
    """A command of Typer that converts the plain values of its parameters, --help among them, without Pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "_runtime_param", ...) is None:
                param._runtime_param = PlainFirst()
        return params


def _plain(value: Any, kind: Any) -> Any:
    """Return a value of a type, None where it is not plain."""
    if type(value) is kind:
        return value
    if kind is str and type(value) in _NUMBERS:  # the default of an option that takes a number or a word
        return str(value)
    written = type(value) is str and (kind is Path or (kind in _NUMBERS and _NUMBERS[kind].fullmatch(value)))
    return kind(value) if written or (kind is float and type(value) is int) else None


def _within(value: Any, info: Any) -> bool:
    if not isinstance(value, int | float):
        return True
    return (info.min is None or value >= info.min) and (info.max is None or value <= info.max)
