"""What a process of nlpkit's own need not load: two thirds of a second of every command.

pyarrow looks at each list whether it is a pandas Series, and loads pandas for it where that is installed; nothing here uses
pandas. Numba loads scipy.linalg to see whether there is a BLAS for products of matrices; no kernel has one.
"""

from __future__ import annotations

import sys
from types import ModuleType

_ASKS_FOR_BLAS = "numba.np.arraymath"


class _Finder:
    """A finder of modules that does not find those two while they are only asked after."""

    looks_for_pandas = False

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: ModuleType | None = None) -> None:
        """Leave every other module to the finders behind this one."""
        if name == "pandas" and cls.looks_for_pandas:
            raise ModuleNotFoundError(name)
        if name == "scipy.linalg":
            asking = sys.modules.get(_ASKS_FOR_BLAS)
            if asking is not None and not hasattr(asking, "_HAVE_BLAS"):
                raise ModuleNotFoundError(name)


def load_less() -> None:
    """Keep both out of this process; what loads them for itself later still finds them. Not for a process of others."""
    if _Finder in sys.meta_path:
        return
    sys.meta_path.insert(0, _Finder)
    if "pandas" in sys.modules:
        return
    import pyarrow

    _Finder.looks_for_pandas = True
    try:
        pyarrow.array([None])  # looks for pandas now, and never again
    finally:
        _Finder.looks_for_pandas = False
