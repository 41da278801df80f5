"""Options that mean the same on every command (DESIGN §4), as records that `command` unfolds into the signature."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from glob import has_magic
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo

from nlpkit.errors import UsageError
from nlpkit.platform import reporting
from nlpkit.platform.cli import config, console, light
from nlpkit.platform.cli import foreign as spelling
from nlpkit.platform.cli.help import HELP_NAMES, HelpGroup, command_class
from nlpkit.platform.cli.help_options import main_options
from nlpkit.platform.options import MOST, READ, WRITTEN, Execution, Files, Param, options


@dataclass(frozen=True, slots=True)
class Argument(Param):
    """A parameter that stands on the command line without a name."""


Inputs = Annotated[
    list[str],
    Argument(
        "Files, directories, globs or - (stdin): jsonl, json, csv, tsv, xlsx, parquet, txt, md, xml, html, pdf, docx, eml, mbox; "
        "also .gz, .zst, .bz2.",
        metavar="INPUT",
    ),
    READ,
]


@options
class RunFlags(Execution):
    """How a command runs and what it prints."""

    PANEL: ClassVar[str] = "Run"

    dry_run: Annotated[
        bool, Param("Estimate rows, tokens, memory, time and disk space, and write nothing.", ("dry_run", "n"))
    ] = False
    json: Annotated[bool, Param("Print one JSON object on stdout instead of tables.")] = False
    quiet: Annotated[bool, Param("Print only errors on stderr.", ("quiet", "q"))] = False
    verbose: Annotated[bool, Param("Print more on stderr.", ("verbose", "v"))] = False
    progress: Annotated[bool | None, Param("Show progress bars on stderr. Default: only in a terminal.")] = None
    debug: Annotated[bool, Param("Show the traceback of an error.")] = False
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            is_eager=True,
            callback=config.load_config,
            help="TOML file with options as keys. Command-line options override environment variables (NLPKIT_SEED=1), "
            "which override the file.",
            show_default=False,
            show_envvar=False,
            rich_help_panel="Run",
        ),
    ] = None


@options
class OutputFlags:
    """Where a command writes."""

    PANEL: ClassVar[str] = "Output"

    output: Annotated[
        str | None,
        Param(
            "File, directory or - (stdout) to write. The file extension sets the format of a table: .parquet .csv "
            ".tsv .jsonl .xlsx .dta .sav .arrow.",
            ("output", "o"),
            metavar="PATH",
        ),
        WRITTEN,
    ] = None
    force: Annotated[bool, Param("Replace an existing output.", ("force", "f"))] = False

    def target(self, example: str) -> str:
        """Return the output, which must have been given.

        Raises:
            UsageError: it was not.
        """
        if self.output is None:
            raise UsageError(f"no output is named; add -o {example}, or -o - for JSON lines on stdout")
        return self.table_target(example)

    def run_target(self, inputs: Sequence[str], suffix: str) -> Path:
        """Return the run directory to write: -o, else `<input>.<suffix>` in the current directory.

        Raises:
            UsageError: the output is `-` or has the name of a table; and what `check_target` raises.
        """
        from nlpkit.platform.runs.atomic import check_target

        target = self.new_directory(inputs, suffix)
        check_target(target, force=self.force, directory=True)
        return target

    def new_directory(self, inputs: Sequence[str], suffix: str) -> Path:
        """Return the directory to write, as `run_target`, without a look whether it is there. Raises UsageError."""
        from nlpkit.platform.runs.tables import FORMATS, MATRICES

        if self.output == "-":
            raise UsageError(
                "a run is a directory and cannot go to stdout; give -o run/, or --json for the result as JSON"
            )
        if self.output is not None:
            if Path(self.output).name in ("", ".."):
                raise UsageError(f"-o {self.output} is not the name of a new directory; name one, such as -o run/")
            ending = Path(self.output).suffix.lower()
            if ending in FORMATS or ending in MATRICES:
                raise UsageError(
                    f"-o {self.output}: a run is a directory, not a {ending} file; give one, such as -o run/"
                )
            return Path(self.output)
        name = "stdin" if inputs[0] == "-" else Path(inputs[0]).name.split(".")[0]
        return Path(f"{'corpus' if not name or has_magic(name) else name}.{suffix}")

    def table_target(self, example: str) -> str:
        """Return the output that a table goes to: a file, or `-`.

        Raises:
            UsageError: its name is that of a directory or of another format, or `--json` wants stdout too; and what
                `check_target` raises.
        """
        from nlpkit.platform.runs.tables import check_table

        output = str(self.output)
        if output == "-":
            if console.settings.json:
                raise UsageError("-o - and --json both write to stdout; give -o FILE, or leave --json out")
            return output
        if output.endswith("/"):
            raise UsageError(f"output {output} is a directory, but a file is needed, such as -o {output}{example}")
        check_table(output, force=self.force)
        return output

    def scores_target(self) -> Path | None:
        """Return the file that scores go to, None where they are only printed.

        Raises:
            UsageError: stdout, or a name of another format; OutputExistsError.
        """
        from nlpkit.platform.runs.atomic import check_target
        from nlpkit.platform.runs.tables import table_format

        if self.output is None:
            return None
        path = Path(self.output)
        if self.output == "-":
            raise UsageError(
                "the scores go to stdout with --json and --markdown; with -o, name a file such as -o metrics.json"
            )
        if path.suffix.lower() != ".json":  # all there is to say, for --baseline; a table has a row for each score
            table_format(path)
        check_target(path, force=self.force)
        return path

    def given_table_target(self, example: str) -> str | None:
        """Return the output that a table goes to, None where nothing is to be written. Raises what `table_target` does."""
        return None if self.output is None else self.table_target(example)


Show = Annotated[
    str,
    Param(
        "Number of table rows to show on the screen, such as topics or classes; 0 = no table.",
        ("show",),
        metavar="N|all",
        panel="Output",
    ),
]
SHOWN = "30"


def shown(text: str) -> int | None:
    """Return the number that --show gives, 0 for no table, None for all. Raises UsageError when it is neither."""
    if text == "all":
        return None
    if not text.isdecimal() or int(text) > MOST:
        raise UsageError(f"--show takes a number from 0 (no table) to {MOST:,}, or all; got '{text}'")
    return int(text)


def command(
    app: typer.Typer, name: str, function: Callable[..., None], *, tables: bool = False, group: str = ""
) -> None:
    """Register a command; a parameter annotated with a dataclass becomes the options of its fields.

    The function gets the record filled. A command that prints `tables` has --show, which `console.say` keeps to.
    Environment variables are NLPKIT_<OPTION>, the same for all commands. `group`: the command that it belongs to.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters: list[inspect.Parameter] = []
    unfolded: dict[str, Any] = {}
    records_fields: dict[Any, list[Any]] = {}  # those that are options
    for parameter in inspect.signature(function).parameters.values():
        hint = hints[parameter.name]
        if is_dataclass(hint):
            unfolded[parameter.name], panel = hint, getattr(hint, "PANEL", "")
            field_hints = get_type_hints(hint, include_extras=True)
            records_fields[hint] = _params(hint, field_hints)
            for field in records_fields[hint]:
                parameters.append(_parameter(field.name, field.default, field_hints[field.name], panel))
        else:
            parameters.append(_parameter(parameter.name, parameter.default, hint))

    if tables:
        parameters.append(_parameter("show", SHOWN, Show))

    @functools.wraps(function)
    def run(**values: Any) -> None:
        spelling.use(spellings)
        records, typed = {}, dict(values)
        for parameter_name, record in unfolded.items():
            records[parameter_name] = record(
                **{f.name: _as_record_has_it(values.pop(f.name), f.default) for f in records_fields[record]}
            )
        flags = next(r for r in records.values() if isinstance(r, RunFlags))
        most = shown(values.pop("show")) if tables else None
        console.use(console.Settings(flags.quiet, flags.verbose, flags.debug, flags.json, flags.progress, show=most))
        config.check_environment(verify=typed.get("verify", True))
        _check_sizes(typed)
        if console.settings.own_process:
            light.load_less()
        from nlpkit.platform.runs.atomic import protected

        line = ("nlpkit", *sys.argv[1:])
        with (
            protected(_read_files(parameters, typed)),
            reporting.progress_shown_by(console.progress),
            reporting.run_as(line),
        ):
            if "output" in typed and not flags.dry_run:
                _check_side_files(parameters, typed, force=typed["force"])
            function(**values, **records)

    shown_in_help = list(parameters)
    parameters.sort(key=lambda p: p.default is not inspect.Parameter.empty)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    del run.__wrapped__
    full_name = f"{group} {name}".strip()
    config.declare(full_name, run.__annotations__)
    spellings = dict(map(_spelling, parameters))
    spelling.declare(spellings)
    for parameter in parameters:
        info = parameter.annotation.__metadata__[0]
        info.help = spelling.as_options(info.help or "", spellings)
    settings: dict[str, Any] = {"auto_envvar_prefix": "NLPKIT", **HELP_NAMES}
    app.command(name, cls=command_class(shown_in_help, main_options(full_name)), context_settings=settings)(run)


def _as_record_has_it(value: Any, default: Any) -> Any:
    """Return the value of an option as its record has it: a tuple for one that can be repeated."""
    return tuple(value or ()) if isinstance(default, tuple) else value


def group(app: typer.Typer, name: str, help: str, commands: Sequence[tuple[str, Callable[..., None]]]) -> None:
    """Register a command that has commands of its own: nlpkit NAME COMMAND. Each prints tables, as `command` says."""
    members = typer.Typer(
        cls=HelpGroup,
        name=name,
        help=help,
        rich_markup_mode=None,
        no_args_is_help=True,
        context_settings=HELP_NAMES,
    )
    for sub, function in commands:
        command(members, sub, function, tables=True, group=name)
    app.add_typer(members)


def _check_sizes(values: Mapping[str, Any]) -> None:
    """Refuse numbers that no corpus has and that no loop or array could take; a seed may be any number."""
    for name, value in values.items():
        if type(value) is int and value > MOST and name != "seed":
            raise UsageError(f"--{name.replace('_', '-')} {value}: it must be at most {MOST:,}")


def _check_side_files(parameters: Sequence[inspect.Parameter], values: Mapping[str, Any], *, force: bool) -> None:
    """Refuse, before any work is done, files beside the output that cannot be written or have a name that is taken.

    Raises:
        UsageError: one file for two outputs, or stdout for a side file; and what `check_target` raises.
    """
    from nlpkit.platform.runs.atomic import check_target
    from nlpkit.platform.runs.tables import FORMATS, dropped_path, table_format

    taken: dict[Path, str] = {}
    if values["output"] not in (None, "-"):
        output = Path(values["output"]).absolute()
        taken = {output: "--output"}
        dropped = dropped_path(values["output"]) if output.suffix.lower() in FORMATS else None  # else it is a run
        if dropped is not None:
            taken[dropped.absolute()] = "the list of dropped rows"
    for parameter in parameters:
        path, files = values[parameter.name], _files_of(parameter)
        if files is None or not files.written or not isinstance(path, Path):
            continue
        option = f"--{parameter.name.replace('_', '-')}"
        if str(path) == "-":
            raise UsageError(f"{option} -: only the output itself goes to stdout; give a file")
        if path.absolute() in taken:
            raise UsageError(f"{option} {path}: {taken[path.absolute()]} is already written there; name another file")
        taken[path.absolute()] = option
        if files.written == "table":
            table_format(path)
        if files.written != "folder":
            check_target(path, force=force)


def _files_of(parameter: inspect.Parameter) -> Files | None:
    """Return which files the value of an option names, None when it names none."""
    annotation = parameter.annotation
    marked = next((m for m in getattr(annotation, "__metadata__", ()) if isinstance(m, Files)), None)
    return READ if marked is None and "Path" in str(getattr(annotation, "__origin__", "")) else marked


def _read_files(parameters: Sequence[inspect.Parameter], values: Mapping[str, Any]) -> list[str]:
    """Return the files that are read, as arguments and options name them."""
    paths = []
    for parameter in parameters:
        files = _files_of(parameter)
        if files is not None and not files.written:
            paths += files.names(values[parameter.name])
    return paths


def _parameter(name: str, default: Any, annotation: Any, panel: str = "") -> inspect.Parameter:
    """Return an option, or an argument where nothing but a list of names is wanted, as Typer reads it from a signature."""
    marks = [m for m in getattr(annotation, "__metadata__", ()) if not isinstance(m, Param)]
    param = next((m for m in getattr(annotation, "__metadata__", ()) if isinstance(m, Param)), None)
    if param is not None:
        kind = _written(annotation.__origin__)
        default = None if default == () else default
        annotation = Annotated[(kind, _option(name, default, kind, param, panel), *marks)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _params(record: Any, hints: Mapping[str, Any]) -> list[Any]:
    """Return the fields of a record that are options; the others are for Python alone."""
    marks = {field.name: getattr(hints[field.name], "__metadata__", ()) for field in fields(record)}
    return [field for field in fields(record) if any(getattr(mark, "command_line", True) for mark in marks[field.name])]


def _spelling(parameter: inspect.Parameter) -> tuple[str, tuple[str, str]]:
    """Return a parameter with the option that it is on the command line and what switches it off."""
    info = next(iter(parameter.annotation.__metadata__))
    if isinstance(info, ArgumentInfo):
        return parameter.name, (info.metavar or parameter.name.upper(), "")
    if parameter.name == "output":
        return parameter.name, ("-o", "")
    on, _, off = info.default.partition("/")  # in an annotation the first name stands where a default would
    return parameter.name, (on, off)


def _written(kind: Any) -> Any:
    """Return the type in which a value is written on the command line: a path or text where a record takes other types, too,
    and one text for each item of a tuple.
    """
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    for text in (Path, str):
        if text in kinds and len(kinds) > 1 + (NoneType in kinds):
            return text | None if NoneType in kinds else text
    return list[str] | None if get_origin(kind) is tuple else kind


def _option(name: str, default: Any, kind: Any, param: Param, panel: str) -> Any:
    shared: dict[str, Any] = {
        "metavar": param.metavar,
        "help": param.help,
        "hidden": not param.help,
        "show_envvar": False,  # one rule for all, told at --config
        "show_default": not any(default is nothing for nothing in (None, False, inspect.Parameter.empty)),
        "rich_help_panel": param.panel or panel or None,
    }
    if isinstance(param, Argument):
        return typer.Argument(**shared)
    declared = [spelling.option(n, name) for n in param.names or (name,)]
    if kind in (bool, bool | None):
        off = param.off if param.off is not None else "" if default is False else f"no_{name}"
        if off:
            declared[0] += f"/--{off.replace('_', '-')}"
    return typer.Option(*declared, min=param.min, max=param.max, **shared)
