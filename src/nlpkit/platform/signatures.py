"""Signatures and docstrings that list every option: made of the option records when a public name is first used.

A public function takes whole records of options (`options: BertopicOptions | None`) and each field of these as a keyword (`k=20`,
by `**settings`). Here the fields become parameters of `inspect.signature` and entries under `Args:` of the docstring, so that
`help(nk.fit_bertopic)` shows them. The stub `__init__.pyi`, from which editors and type checkers know them, is written from the
same signatures (docs/write_stub.py).
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, reduce
from importlib import import_module
from operator import or_
from os import PathLike
from pathlib import Path
from textwrap import dedent, fill
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from nlpkit.platform.options import Param

WIDTH = 100
_SETTINGS = re.compile(r"\n    settings: [^\n]*(?:\n {5,}[^\n]*)*")  # what the docstring itself says of them
_FLAG = re.compile(r"--([a-z][a-z-]+)")  # an option as the command line writes it
_SECTION = re.compile(r"\n(?:Raises|Returns|Example|Source):")


@dataclass(frozen=True, slots=True)
class Option:
    """One option as a call takes it. record: the class whose field it is; hint: the types that it takes; help: a sentence."""

    name: str
    record: type
    hint: Any
    default: Any
    help: str

    @property
    def shown(self) -> str:
        """The default as it is written in a call."""
        if is_dataclass(self.default):
            return f"{type(self.default).__name__}()"
        return repr(str(self.default)) if isinstance(self.default, Path) else repr(self.default)


@dataclass(frozen=True, slots=True)
class Written:
    """A function or record as its source has it: signature and docstring without the single options."""

    signature: inspect.Signature
    docstring: str


_WRITTEN: dict[Any, Written] = {}  # of what is documented by now


def document(value: Any) -> None:
    """Let the signature and the docstring of a public function or an option record list each option."""
    if value in _WRITTEN or not (isinstance(value, FunctionType) or is_record(value)):
        return
    _WRITTEN[value] = Written(inspect.signature(value), _with_args_of_other(value, inspect.getdoc(value) or ""))
    listed = options_of(value)
    if listed:
        signature = signature_of(value)
        value.__signature__ = signature
        if is_record(value):
            itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
            value.__init__.__signature__ = signature.replace(parameters=[itself, *signature.parameters.values()])
        value.__doc__ = _documented(_WRITTEN[value].docstring, listed)


def as_written(value: Any) -> Written:
    """Return the signature and the docstring that the source has, without the single options."""
    return _WRITTEN[value] if value in _WRITTEN else Written(inspect.signature(value), inspect.getdoc(value) or "")


def is_record(value: Any) -> bool:
    """Return whether a value is a class of options, one marked `@options`."""
    return inspect.isclass(value) and is_dataclass(value) and hasattr(getattr(value, "__post_init__", None), "further")


def options_of(value: Any) -> tuple[Option, ...]:
    """Return every single option that a public function takes as a keyword, or the fields of a record, in their order."""
    if is_record(value):
        return fields_of(value)
    taken = {parameter.name for parameter in written_parameters(value)}
    options: dict[str, Option] = {}
    for record in records_of(value):
        for option in _flat(record):
            if option.name not in taken:
                options.setdefault(option.name, option)
    return tuple(options.values())


def records_of(function: Callable[..., Any]) -> tuple[type, ...]:
    """Return the records whose fields a function takes as keywords: those of its parameters, and those it is marked with."""
    parameters = written_parameters(function)
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return ()
    marked = getattr(function, "takes", None)
    if marked == ():
        return ()
    records: dict[type, None] = {}
    for parameter in parameters:
        for word in re.findall(r"\w+", str(parameter.annotation)):
            if word.endswith("Options") or word == "Execution":
                records.setdefault(named_in(parameter_home(function, parameter.name), word))
                break  # of several kinds of a record the first, which has the most fields
    return tuple(dict.fromkeys([*records, *(marked or ())]))


@cache
def fields_of(record: type) -> tuple[Option, ...]:
    """Return the fields of a record as options."""
    hints = get_type_hints(record, include_extras=True)
    options = []
    for field in fields(record):
        hint, help, choices = hints[field.name], "", None
        if get_origin(hint) is Annotated:
            hint, *marks = get_args(hint)
            param = next((mark for mark in marks if isinstance(mark, Param)), None)
            help, choices = (param.help, param.choices) if param is not None else ("", None)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        options.append(Option(field.name, record, accepted(hint, choices), default, help))
    return tuple(options)


def _flat(record: type) -> Iterator[Option]:
    """Yield the options of a record; of a record within it the fields, too."""
    for option in fields_of(record):
        yield option
        if is_dataclass(option.default):
            yield from _flat(type(option.default))


def accepted(hint: Any, choices: Any = None) -> Any:
    """Return the types that a call takes for a field: a path also as text, several values also as a list."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    parts = dict.fromkeys(part for kind in kinds for part in _accepted(kind, choices))
    return Any if Any in parts else reduce(or_, parts)


def _accepted(kind: Any, choices: Any) -> list[Any]:
    if kind is Path:
        return [str, PathLike[str]]
    if kind is str and choices is not None:
        return [Literal[tuple(choices)]]
    if get_origin(kind) is tuple and get_args(kind)[-1] is ...:
        return [Sequence[accepted(get_args(kind)[0], choices)]]  # type: ignore[misc]
    return [kind]


def signature_of(value: Any) -> inspect.Signature:
    """Return the signature of a function or record with each option as a keyword of its own, its type and its default."""
    written = as_written(value).signature
    single = [
        inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=option.hint)
        for option in options_of(value)
    ]
    if is_record(value):
        return inspect.Signature([one.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for one in single])
    kept = [
        parameter.replace(annotation=_evaluated(value, parameter.name, parameter.annotation))
        for parameter in written_parameters(value)
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    return inspect.Signature([*kept, *single], return_annotation=_evaluated(value, "return", written.return_annotation))


def written_parameters(function: Any) -> list[inspect.Parameter]:
    """Return the parameters of a function; where it hands its settings on, those of the other function, too."""
    parameters = list(as_written(function).signature.parameters.values())
    other = getattr(function, "hands_on_to", None)
    if other is None:
        return parameters
    names = {parameter.name for parameter in parameters}
    further = [
        parameter
        for parameter in as_written(other).signature.parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in {*names, *function.without}
    ]
    return [*parameters[:-1], *further, parameters[-1]]


def parameter_home(function: Any, parameter: str) -> Any:
    """Return the function whose source annotates a parameter."""
    other = getattr(function, "hands_on_to", None)
    return function if other is None or parameter in as_written(function).signature.parameters else other


def named_in(function: Any, name: str) -> Any:
    """Return what a name in the annotations of a function means: a value of its module, or one imported for types only."""
    module = sys.modules[function.__module__]
    return getattr(module, name) if hasattr(module, name) else getattr(import_module(module_of(function, name)), name)


def module_of(function: Any, name: str) -> str:
    """Return the module from which the module of a function has a name, itself where it defines it."""
    value = getattr(sys.modules[function.__module__], name, None)
    home = value.__module__ if inspect.isclass(value) else function.__module__
    return _imported_for_types(function.__module__).get(name, home)


@cache
def _imported_for_types(module: str) -> Mapping[str, str]:
    """Return the names that a module imports, by the module that has them."""
    nodes = ast.walk(ast.parse(inspect.getsource(sys.modules[module])))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {alias.name: node.module for node in imports for alias in node.names if node.module}


def _evaluated(function: Any, parameter: str, annotation: Any) -> Any:
    """Return an annotation as types, or as its text where a type of it is not loaded."""
    if not isinstance(annotation, str) or annotation is inspect.Parameter.empty:
        return annotation
    try:
        return eval(annotation, vars(sys.modules[parameter_home(function, parameter).__module__]))
    except NameError:  # a class that is imported for types only stays unloaded
        return annotation


def _with_args_of_other(function: Any, docstring: str) -> str:
    """Return the docstring of a function that hands its options on, with the Args and Raises of the other that hold for it."""
    other = getattr(function, "hands_on_to", None)
    if other is None:
        return docstring
    args, _, raises = (inspect.getdoc(other) or "").partition("\nArgs:\n")[2].partition("\nRaises:\n")
    names = {parameter.name for parameter in written_parameters(function)}
    kept = [one for one in re.split(r"(?m)^(?=    \w)", args) if one.strip().partition(":")[0] in names]
    before, example, after = docstring.partition("\nExample:")
    return f"{before.rstrip()}\n\nArgs:\n{''.join(kept).rstrip()}\n\nRaises:\n{raises.rstrip()}\n{example}{after}"


def _documented(docstring: str, options: Sequence[Option]) -> str:
    """Return a docstring with an entry for each option under Args."""
    entries = "\n".join(map(entry, options))
    docstring = _SETTINGS.sub("", docstring)
    before, args, after = docstring.partition("\nArgs:\n")
    if args:
        section = re.search(r"\n(?=\S)|\Z", after)
        end = section.start() if section else len(after)
        before, after = f"{before}{args}{after[:end].rstrip()}\n", after[end:]
    else:
        section = _SECTION.search(docstring)
        at = section.start() if section else len(docstring)
        before, after = f"{docstring[:at].rstrip()}\n\nArgs:\n", docstring[at:]
    return f"{before}{entries}\n\n{after.strip()}".rstrip()


def entry(option: Option) -> str:
    """Return what a docstring says of an option: its types, its default and its sentence."""
    sentence = _FLAG.sub(lambda flag: f"`{flag[1].replace('-', '_')}`", option.help)
    sentence = (
        sentence or f"See `{option.record.__name__}`."
    )  # whose docstring describes what is no option of a command
    text = f"{option.name} ({type_text(option.hint)}, default {option.shown}): {sentence}"
    return fill(text, WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8, break_on_hyphens=False)


def type_text(hint: Any) -> str:
    """Return types as code writes them, without the names of modules."""
    if get_origin(hint) in (Union, UnionType):
        return " | ".join(map(type_text, get_args(hint)))
    if get_origin(hint) is Literal:
        return f"Literal[{', '.join(map(repr, get_args(hint)))}]"
    if hint is NoneType or hint is None:
        return "None"
    arguments = ["..." if part is ... else type_text(part) for part in get_args(hint)]
    name = getattr(get_origin(hint) or hint, "__name__", str(hint))
    return f"{name}[{', '.join(arguments)}]" if arguments else name


def summary(value: Any) -> str:
    """Return the first sentence of a docstring, on one line."""
    return " ".join(dedent(as_written(value).docstring).split("\n\n")[0].split())
