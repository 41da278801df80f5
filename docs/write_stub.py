"""Write src/nlpkit/__init__.pyi: the public names with every option, its type and its default, for editors and type checkers.

`python docs/write_stub.py` (`make docs` runs it). A test fails while the file differs from what this script would write.
"""

from __future__ import annotations

import builtins
import inspect
import re
from pathlib import Path
from types import ModuleType

import nlpkit
from nlpkit.platform import signatures

STUB = Path(nlpkit.__file__).with_suffix(".pyi")
HEAD = '''"""The public names of nlpkit, with each option. Written by docs/write_stub.py: change the code, then run `make docs`."""'''
STANDARD = {  # for the types of options
    f"from {module} import {name}"
    for module, name in (("collections.abc", "Mapping"), ("collections.abc", "Sequence"), ("os", "PathLike"),
                         ("typing", "Any"), ("typing", "Literal"))
}  # fmt: skip


def stub() -> str:
    """Return the text of the stub."""
    public = {name: getattr(nlpkit, name) for name in nlpkit.__all__[1:]}
    imports = {
        value: f"from {value.__module__} import {name} as {name}"
        for name, value in public.items()
        if inspect.isclass(value)
    }
    needed: set[str] = set()
    bodies = [_function(name, value, needed) for name, value in public.items() if inspect.isfunction(value)]
    needed = {line for line in needed if f"{line} as {line.rpartition(' ')[2]}" not in imports.values()}
    modules = [f"from nlpkit import {name} as {name}" for name in sorted(set(dir(nlpkit)) - set(nlpkit.__all__))]
    names = "\n".join(f'    "{name}",' for name in nlpkit.__all__)
    lines = sorted({*STANDARD, *needed, *imports.values(), *modules})
    return "\n".join([HEAD, "", *lines, "", "__version__: str", f"__all__ = [\n{names}\n]", "", *bodies])


def _function(name: str, function: object, imports: set[str]) -> str:
    """Return a function with its signature and the first sentence of its docstring; add what it needs to the imports."""
    lines, is_keyword = [f"def {name}("], False
    for parameter in signatures.written_parameters(function):
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            is_keyword = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            is_keyword = True
            lines.append("    *,")
        _need(function, parameter.name, str(parameter.annotation), imports)
        lines.append(f"    {str(parameter).replace(repr(parameter.annotation), parameter.annotation)},")
    options = signatures.options_of(function)
    lines += [f"    {one.name}: {signatures.type_text(one.hint)} = {one.shown}," for one in options]
    settings = signatures.as_written(function).signature.parameters.get("settings")
    lines += ["    **settings: Any,"] * (settings is not None and not options)
    returned = signatures.as_written(function).signature.return_annotation
    _need(function, "return", returned, imports)
    return "\n".join([*lines, f") -> {returned}:", f'    """{signatures.summary(function)}"""', ""])


def _need(function: object, parameter: str, annotation: str, imports: set[str]) -> None:
    """Add an import for each name of an annotation."""
    for word in re.findall(r"(?<![\w.'\"])[A-Za-z_]\w*", re.sub(r"(['\"]).*?\1", "", annotation)):
        if hasattr(builtins, word):
            continue
        home = signatures.parameter_home(function, parameter)
        value = signatures.named_in(home, word)
        if isinstance(value, ModuleType):
            imports.add(f"import {value.__name__} as {word}")
        else:
            imports.add(f"from {signatures.module_of(home, word)} import {word}")


def main() -> None:
    """Write the file."""
    STUB.write_text(stub(), encoding="utf-8")


if __name__ == "__main__":
    main()
