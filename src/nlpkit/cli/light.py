"""What a process of nlpkit's own need not load: two thirds of a second of every command; and where Arrow takes memory from.

pyarrow looks at each list whether it is a pandas Series, and loads pandas for it where that is installed; nothing here uses
pandas. Numba loads scipy.linalg to see whether there is a BLAS for products of matrices, and cffi to see whether a function
is one of C; no kernel has either. scipy copies all names of NumPy, those of the modules by which it is tested and by which
Fortran is wrapped among them, which takes half of the time of its import.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType

# A module that is only asked after, the one that asks, and a name that this has once it knows the answer.
_ASKED_AFTER = {
    "scipy.linalg": ("numba.np.arraymath", "_HAVE_BLAS"),
    "cffi": ("numba.core.typing.cffi_utils", "ffi"),
}
_COPIED = ("f2py", "testing", "ctypeslib", "ma", "polynomial")


class _Finder:
    """A finder of modules that does not find those while they are only asked after."""

    looks_for_pandas = False

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: ModuleType | None = None) -> None:
        """Leave every other module to the finders behind this one."""
        if name == "pandas" and cls.looks_for_pandas:
            raise ModuleNotFoundError(name)
        if name in _ASKED_AFTER:
            module, answer = _ASKED_AFTER[name]
            asking = sys.modules.get(module)
            if asking is not None and not hasattr(asking, answer):
                raise ModuleNotFoundError(name)


class _Later(ModuleType):
    """Stands for a module as an attribute of its package until somebody imports it, or asks for something of it."""

    def __getattr__(self, name: str) -> object:
        """Return an attribute of the module."""
        return getattr(importlib.import_module(self.__name__), name)


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
