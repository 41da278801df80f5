"""Numba loops: arrays in, arrays out. They trust the shapes and types their callers fixed.

`njit` is Numba's with three differences. Numba itself, a third of a second, is loaded when a kernel is first called, so that a
command that runs none never loads it, and the rules by which it compiles, half as much again, when a kernel must be compiled.
Until then kernels over the words of texts run as plain Python while there is less to do than would take that long. And compiled
kernels are kept on the disk so that processes that compile at the same time, or after the source has changed, here or in a kernel
that is called, never find the code of one kernel under the name of another.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import logging
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any, TypeAlias

_loading = threading.RLock()
_here = threading.local()  # `plain`: a kernel runs as plain Python in this thread, and so do those that it calls
prange = range  # in a compiled kernel, the `prange` of Numba: turns shared among threads
_left = [20_000]  # elements that this process may still go over in plain Python, some .2 s

Work: TypeAlias = str | Callable[..., int] | None


class Kernel:
    """A plain function that Numba compiles when it is called, or when a kernel that calls it is."""

    def __init__(self, function: FunctionType, options: dict[str, Any], work: Work) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._work = _length_of(function, work) if isinstance(work, str) else work
        self._compiled: Any = None

    def __call__(self, *args: Any, **named: Any) -> Any:
        # within a plain kernel all are plain, whatever another thread has loaded meanwhile: the numbers of Numba are of other types
        if getattr(_here, "plain", False):
            return self.py_func(*args, **named)
        if self._work is not None and "numba" not in sys.modules:
            _left[0] -= self._work(*args)
            if _left[0] >= 0:
                _here.plain = True
                try:
                    return self.py_func(*args, **named)
                finally:
                    _here.plain = False
        return (self._compiled or self.compiled())(*args, **named)

    @property
    def signatures(self) -> Any:
        """The types it was compiled for. Any other name is unknown: whoever looks for one, as pytest does, loads no Numba."""
        return self.compiled().signatures

    def compiled(self) -> Any:
        """Return the function that Numba makes of it: a dispatcher, or with NUMBA_DISABLE_JIT=1 the plain function."""
        with _loading:
            if self._compiled is None:
                # complete with the kernels that it calls: from here on other threads call it without the lock
                self._compiled = _dispatcher(self.py_func, self._options)
            return self._compiled


def _length_of(function: FunctionType, argument: str) -> Callable[..., int]:
    """Return what gives the length of a positional argument of a function."""
    place = function.__code__.co_varnames.index(argument)
    return lambda *args: len(args[place])


def njit(*, work: Work = None, **options: Any) -> Callable[[Any], Any]:
    """Return a decorator that makes a `Kernel` of a function; the options are those of `numba.njit`, with `cache` on.

    work: the positional argument whose length says how much there is to do, or what counts it from all of them; for kernels
    that run as plain Python while that is little: those over integers, with floats only in sums, products and quotients,
    which are the same everywhere; exp or lgamma may not be.
    """
    return lambda function: Kernel(function, options, work)


def _dispatcher(function: FunctionType, options: dict[str, Any]) -> Any:
    """Return what Numba makes of a copy of a function that sees Numba's functions where this one sees kernels."""
    import numba

    importlib.import_module("nlpkit.platform.kernels.intrinsics")
    names = dict(function.__globals__)
    if names.get("prange") is prange:
        names["prange"] = numba.prange
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__module__, copy.__qualname__, copy.__doc__ = function.__module__, function.__qualname__, function.__doc__
    dispatcher = numba.njit(**options)(copy)
    if dispatcher is copy:
        return function
    dispatcher._cache = _cache(copy)
    dispatcher._compilation_chain_init_hook = lambda: None  # extensions of other packages: no kernel has their types
    dispatcher.get_call_template = _for_any_number(dispatcher.get_call_template)
    for name in _names(function.__code__):
        called = names.get(name)
        if isinstance(called, Kernel):
            names[name] = dispatcher if called.py_func is function else called.compiled()
    return dispatcher


def _for_any_number(called: Callable[..., Any]) -> Callable[..., Any]:
    """Let a kernel that calls another with a constant call what is compiled for any number: Numba compiles one for each constant."""
    from numba import types

    return lambda args, named: called(
        [types.unliteral(arg) for arg in args], {name: types.unliteral(named[name]) for name in named}
    )


def _names(code: CodeType) -> set[str]:
    """Return the names that a function uses, and those inside it."""
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


@functools.cache
def _say_that_it_compiles() -> None:
    """Note, once, why nothing moves for a while."""
    logging.getLogger("nlpkit").info("compiling loops for this processor: once, for up to half a minute")


def _cache(function: FunctionType) -> Any:
    """Return Numba's cache of a function on the disk: quick to read, its files named each by what is in it.

    Numba loads all its rules of types before it reads a compiled function, which needs nothing of them but the memory of arrays.

    Numba numbers the files of a function (1, 2, …) and writes the number down in an index before the file. So two processes
    that compile for different types give both the same file; and one that reads between the two steps, after the source has
    changed, finds the old code. Here the file comes first, and no other content ever has its name: an index that
    another process wrote over at the same time costs a compilation, no more.
    """
    from numba.core import caching
    from numba.core.runtime import rtsys

    class Files(caching.IndexDataCacheFile):  # type: ignore[misc]
        def save(self, key: Any, data: Any) -> None:
            digest = hashlib.blake2b(self._dump(data), digest_size=12).hexdigest()
            name = f"{self._index_name.removesuffix('.nbi')}.{digest}.nbc"
            self._save_data(name, data)
            self._save_index({**self._load_index(), key: name})

    class Cache(caching.FunctionCache):  # type: ignore[misc]
        def load_overload(self, sig: Any, target_context: Any) -> Any:  # None after an error of the disk, as in Numba
            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                kept = self._load_overload(sig, target_context)
                if kept is None and sys.stderr is not None and sys.stderr.isatty():
                    _say_that_it_compiles()
                return kept

    cache = Cache(function)
    files = cache._cache_file
    stamp = (files._source_stamp, _sources(function.__module__))
    cache._cache_file = Files(files._cache_path, files._index_name.removesuffix(".nbi"), stamp)
    return cache


@functools.cache
def _sources(module: str) -> str:
    """Return a digest of the source of a module and of those of nlpkit that it imports.

    Numba looks at the file of a function alone, though the code of all that it calls, and of constants, is compiled into it: after
    a change in another file it would go on with the old code.
    """
    sources: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in sources or name not in sys.modules:
            continue
        sources[name] = ""
        with suppress(OSError, TypeError):  # a module without a file, whose kernels are not kept either
            sources[name] = inspect.getsource(sys.modules[name])
        waiting += re.findall(r"^from (nlpkit[\w.]*) import", sources[name], re.MULTILINE)
    return hashlib.blake2b(repr(sorted(sources.items())).encode(), digest_size=12).hexdigest()
