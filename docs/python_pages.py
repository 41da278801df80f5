"""The pages of the Python functions by task: signatures and docstrings of `nlpkit.__all__`, and the records of their options.

A record that the functions of one page take is on that page; the records of several pages are on a page of their own.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from textwrap import dedent
from types import FunctionType
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

from nlpkit.platform.models import public_names

WIDTH = 80
RECORD = re.compile(r"\b(?:\w+Options|Execution)\b")  # the names of option records
EMPTY: Mapping[str, str] = {}
TASKS: dict[str, tuple[str, str, str]] = {
    "documents": (
        "Read and prepare documents",
        "Read files or data frames as a corpus, tokenise texts, and work through a corpus too large for memory.",
        "Corpus read_corpus preprocess map_documents merge",
    ),
    "explore": (
        "Explore and compare texts",
        "Count, search, weight and compare words and documents.",
        "stats kwic collocations tfidf ctfidf keyness text_features similar similar_words cluster scale",
    ),
    "topic-models": (
        "Fit topic models",
        "Fit a topic model, add new documents to one, and compare models.",
        "fit_bertopic fit_lda fit_stm fit_lda_online fit_nmf fit_plsa fit_gsdmm fit_biterm fit_hdp fit_hlda fit_slda fit_labeled_lda "
        "fit_author_topic fit_ctm fit_etm fit_fastopic fit_dtm fit_rolling_lda update_bertopic update_rolling_lda compare_models "
        "compare_preprocessing robust_topics",
    ),
    "topics": (
        "Work with topics",
        "Read, name, edit, plot and export topics; topics over time and by group; effects of variables.",
        "topics topic_signals topic_brief topic_words topic_documents find_topics similar_topics topic_correlations topic_columns "
        "topic_units estimate_effects plot_effects permutation_effects name_topics edit edits_template diff report plot pictures_of "
        "export convert",
    ),
    "classify": (
        "Classify texts",
        "Train classifiers, fine-tune transformers, classify without training, and choose texts to label.",
        "train_classifier cross_validate finetune compare_methods zero_shot sentiment propose_texts compare_strategies",
    ),
    "evaluate": (
        "Evaluate",
        "Score topic models and predictions, ask people, and measure agreement.",
        "evaluate plot_quality search_k agreement review_agreement majority make_task score_answers judge_task labels_from_answers",
    ),
    "embeddings": (
        "Embeddings",
        "Embed texts, train encoders and word vectors, and query word vectors.",
        "embed train_encoder embed_words nearest_words analogy analogies odd_one_out word_similarity word_bias word_drift plot_words",
    ),
    "language-models": (
        "Language models",
        "Train n-gram models, tokenizers and transformers; generate and correct text; look inside a transformer.",
        "fit_language_model generate_texts correct_spelling train_tokenizer pretrain attention explain_transformer",
    ),
    "runs": ("Saved models", "Load a saved model and look at a file or run directory.", "load info"),
}
_title, _text, _names = TASKS["topic-models"]
_fits = [name for name in public_names() if name.startswith("fit_")]  # of models that are not named above
TASKS["topic-models"] = (_title, _text, " ".join(dict.fromkeys([*_names.split(), *_fits])))
OPTIONS = "options"


def python_files() -> dict[str, str]:
    """Return the text of every page by its path below docs/reference."""
    places = {name: page for page, (_, _, names) in TASKS.items() for name in names.split()}
    parts: dict[str, list[str]] = {page: [f"# {title}\n", f"{text}\n"] for page, (title, text, _) in TASKS.items()}
    records: dict[str, dict[str, type]] = {page: {} for page in parts}
    results: dict[str, str] = {}  # class → the page that describes it
    shared: dict[str, type] = {}
    for name, value in sorted(_public().items(), key=lambda item: _order(item[0], places)):
        if _is_record(value):
            shared[name] = value
        elif name not in places:
            raise LookupError(f"nlpkit.{name} has no page: add it to TASKS in docs/python_pages.py")
        else:
            page = places[name]
            parts[page].extend(_entry(name, value, 2, records[page]))
            parts[page].extend(_result(value, results, page))
    taken = [name for page in records.values() for name in page]
    shared = {name: value for name, value in shared.items() if taken.count(name) != 1}
    shared |= {name: value for page in records.values() for name, value in page.items() if taken.count(name) > 1}
    parts[OPTIONS] = ["# Options of several functions\n", OPTIONS_TEXT]
    parts[OPTIONS].extend(_records(shared, {}, level=2))
    for page, own in records.items():
        own_records = list(_records(own, shared, level=3))
        if own_records:
            parts[page].extend(["## Options\n", OPTIONS_TEXT, *own_records])
        several = sorted(set(own) & set(shared))
        if several:
            links = ", ".join(f"[{name}]({OPTIONS}.md#{name.lower()})" for name in several)
            parts[page].append(f"Described with the options of several functions: {links}.\n")
    parts["estimators"] = list(_estimators())
    parts["errors"] = list(_errors())
    return {
        "python/index.md": "\n".join(_overview()),
        **{f"python/{page}.md": "\n".join(text) for page, text in parts.items()},
    }


OPTIONS_TEXT = (
    "A function takes these records, or single fields of them as keywords: `nk.fit_bertopic(texts, k=20, min_df=5)`.\n"
)


def _public() -> dict[str, Any]:
    """Return the public functions and classes by name; submodules and the errors have pages of their own."""
    package = importlib.import_module("nlpkit")
    values = {name: getattr(package, name) for name in package.__all__}
    return {
        name: value
        for name, value in values.items()
        if callable(value) and not (inspect.isclass(value) and issubclass(value, Exception))
    }


def _order(name: str, places: dict[str, str]) -> int:
    return list(places).index(name) if name in places else len(places)


def _overview() -> Iterator[str]:
    """Yield the page that names every function, by task."""
    yield "# Python at a glance\n"
    yield "`import nlpkit as nk` loads nothing heavy: each function loads what it needs when it is called.\n"
    public = _public()
    for page, (title, text, names) in TASKS.items():
        yield f"## [{title}]({page}.md)\n\n{text}\n\n| function | what it does |\n|---|---|"
        for name in names.split():
            if name in public:
                summary = _docstring(public[name]).split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
                yield f"| [`{name}`]({page}.md#{name.lower()}) | {_escaped(summary)} |"
        yield ""
    further = {OPTIONS: "Options of several functions", "estimators": "Estimators for scikit-learn", "errors": "Errors"}
    yield "## More\n"
    yield from (f"- [{title}]({page}.md)" for page, title in further.items())
    yield "- [Tables](../tables.md)\n"


def _result(function: Any, results: dict[str, str], page: str) -> Iterator[str]:
    """Yield what the classes that a function returns hold, or a link where another function returns them, too."""
    for name in re.findall(r"\b[A-Z]\w+", str(getattr(function, "__annotations__", {}).get("return", ""))):
        result = getattr(importlib.import_module("nlpkit"), name, None) or _named_or_none(name, function)
        if result is None or not str(result.__module__).startswith("nlpkit."):
            continue
        if name in results:
            yield f"Returns [{name}]({'' if results[name] == page else f'{results[name]}.md'}#{name.lower()}).\n"
        elif name not in importlib.import_module("nlpkit").__all__:
            results[name] = page
            yield f"### {name}\n\n{_prose(result)}\n"


def _named_or_none(name: str, value: Any) -> Any:
    try:
        return _named(name, value)
    except LookupError:
        return None


def _estimators() -> Iterator[str]:
    """Yield the page of the estimators that scikit-learn takes."""
    module = importlib.import_module("nlpkit.estimators")
    yield "# Estimators for scikit-learn\n"
    yield "These classes of `nlpkit.estimators` go into scikit-learn's pipelines and searches.\n"
    for name in module.__all__:
        yield from _entry(name, getattr(module, name), 2, {})


def _errors() -> Iterator[str]:
    """Yield the page of the errors: each class with its exit code, and its bases."""
    module = importlib.import_module("nlpkit.errors")
    yield "# Errors\n"
    yield "All errors are in `nlpkit.errors`. A message states what was needed, what was found, where, and what to do next.\n"
    yield "| error | is also | exit code | when |\n|---|---|--:|---|"
    for name, value in vars(module).items():
        if inspect.isclass(value) and issubclass(value, module.NlpkitError) and value.__module__ == module.__name__:
            bases = ", ".join(f"`{base.__name__}`" for base in value.__bases__)
            text = _docstring(value).split("\n\n")[0].replace("\n", " ")
            yield f"| `{name}` | {bases} | {value.exit_code} | {_escaped(text)} |"
    yield ""


def _records(records: dict[str, type], shared: dict[str, type], *, level: int) -> Iterator[str]:
    """Yield an entry for each record that is not a shared one, and for the records that it holds."""
    queue = [name for name in records if name not in shared]
    for name in queue:  # grows while records hold other records
        yield from _record(name, records[name], records, level)
        queue.extend(other for other in records if other not in queue and other not in shared)


def _entry(name: str, value: Any, level: int, records: dict[str, type]) -> Iterator[str]:
    """Yield heading, signature and docstring of a name, then the public methods of a class; collect the records it takes."""
    yield f"{'#' * level} {name.rpartition('.')[2]}\n"
    if not isinstance(value, property) and not (inspect.isclass(value) and inspect.isabstract(value)):
        yield f"```py\n{_signature(name, value, records)}\n```\n"
    yield f"{_prose(value)}\n"
    if inspect.isclass(value):
        for method, member in vars(value).items():
            if not method.startswith("_") and isinstance(member, FunctionType | classmethod | staticmethod | property):
                yield from _entry(f"{name}.{method}", getattr(value, method), level + 1, records)


def _signature(name: str, value: Any, records: dict[str, type]) -> str:
    """Return the call of a name as its source has it, on as many lines as it needs."""
    arguments, returned = _written_call(value)
    for word in RECORD.findall(" ".join(arguments)):
        records.setdefault(word, _named(word, value))
    end = f") -> {returned}" if returned else ")"
    short = f"{name}({', '.join(arguments)}{end}"
    return short if len(short) <= WIDTH else "\n".join([f"{name}(", *(f"    {text}," for text in arguments), end])


def _written_call(value: Any) -> tuple[list[str], str]:
    """Return the parameters of a function or class and what it returns, with the types as they are written."""
    function = vars(value).get("__init__") if inspect.isclass(value) else value
    if function is None or is_dataclass(value):
        parameters = inspect.signature(value).parameters.values()
        texts = [str(p).replace(f"'{p.annotation}'", str(p.annotation)) for p in parameters]
        return [text.replace("<factory>", "…") for text in texts], ""
    node = cast(ast.FunctionDef, _source(function))
    values = {name: repr(parameter.default) for name, parameter in inspect.signature(function).parameters.items()}
    every, n_required = node.args.args, len(node.args.args) - len(node.args.defaults)
    defaults = [None] * n_required + list(node.args.defaults)
    texts = [_argument(one, default, values) for one, default in zip(every, defaults, strict=True)]
    if node.args.vararg or node.args.kwonlyargs:
        texts.append(f"*{_argument(node.args.vararg)}" if node.args.vararg else "*")
    texts += [
        _argument(one, default, values)
        for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    ]
    if node.args.kwarg:
        texts.append(f"**{_argument(node.args.kwarg)}")
    returned = "" if inspect.isclass(value) or node.returns is None else ast.unparse(node.returns).strip("'")
    return [text for text in texts if text not in ("self", "cls")], returned


def _argument(argument: ast.arg, default: ast.expr | None = None, values: Mapping[str, str] = EMPTY) -> str:
    """Return a parameter as it is written; a default that is a name shows its value."""
    annotation = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    shown = values[argument.arg] if isinstance(default, ast.Name) else ast.unparse(default) if default else ""
    return argument.arg + annotation + (f" = {shown}" if shown else "")


def _source(value: Any) -> ast.FunctionDef | ast.ClassDef:
    """Return a function or class as its source has it: without what is added to it when it is imported."""
    function = value.fget if isinstance(value, property) else value
    node = ast.parse(dedent(inspect.getsource(function))).body[0]
    return cast(ast.FunctionDef | ast.ClassDef, node)


def _docstring(value: Any) -> str:
    """Return the docstring of a function or class as its source has it, inherited where it has none."""
    return ast.get_docstring(_source(value)) or inspect.getdoc(value) or ""


def _named(name: str, value: Any) -> type:
    """Return the class that an annotation of a function or class names, wherever its module has it from."""
    package = importlib.import_module("nlpkit")
    if name in package.__all__:
        return cast(type, getattr(package, name))
    module = importlib.import_module(value.__module__)
    if hasattr(module, name):
        return cast(type, getattr(module, name))
    for node in ast.walk(ast.parse(inspect.getsource(module))):  # imported for types only
        if isinstance(node, ast.ImportFrom) and node.module and name in [alias.name for alias in node.names]:
            return cast(type, getattr(importlib.import_module(node.module), name))
    raise LookupError(f"{value.__module__} does not import {name}")


def _is_record(value: Any) -> bool:
    return inspect.isclass(value) and is_dataclass(value) and RECORD.fullmatch(value.__name__) is not None


def _record(name: str, record: type, records: dict[str, type], level: int) -> Iterator[str]:
    """Yield heading, docstring and a table of the fields of a record of options."""
    yield f"{'#' * level} {name}\n"
    yield f"{_prose(record)}\n"
    yield "| field | type | default | |\n|---|---|---|---|"
    hints = get_type_hints(record, include_extras=True)
    for field in fields(record):
        hint, meaning = hints[field.name], ""
        if get_origin(hint) is Annotated:
            hint, *notes = get_args(hint)
            meaning = next((note.help for note in notes if hasattr(note, "help")), "")
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        shown = (
            "" if default is MISSING else f"`{type(default).__name__}()`" if is_dataclass(default) else f"`{default!r}`"
        )
        if inspect.isclass(hint) and is_dataclass(hint):
            records.setdefault(hint.__name__, hint)
        cells = (f"`{field.name}`", f"`{_type(hint)}`", shown, meaning)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    yield ""


def _type(hint: Any) -> str:
    """Return a type as it is written in code, without the modules."""
    text = hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)


def _prose(value: Any) -> str:
    """Return a docstring as Markdown: what is indented under `Args:` and the like is a list, and examples are code."""
    lines: list[str] = []
    section, code = "", False
    for line in _docstring(value).splitlines():
        heading = re.fullmatch(r"(Args|Returns|Raises|Yields|Attributes|Examples?):(.*)", line)
        if heading or (line and not line.startswith(" ")):
            section = heading[1] if heading else ""
        is_code = line.lstrip().startswith(">>>") or (code and bool(line.strip()))
        if is_code != code:
            lines.append("```pycon" if is_code else "```\n")
            code = is_code
        entry = re.fullmatch(r" {4}(\S.*)", line)
        if code:
            lines.append(line.removeprefix("    "))
        elif heading:
            lines.extend([f"**{section}**{_escaped(heading[2])}", ""])
        elif section.startswith("Example"):
            lines.append(_escaped(line.strip()))
        elif section and entry:
            named = re.match(r"[\w*`., ()]+: ", entry[1])
            lines.append(f"- {_escaped(entry[1])}" if named or lines[-1] == "" else f"  {_escaped(entry[1])}")
        else:
            lines.append(f"  {_escaped(line.strip())}" if section and line else _escaped(line))
    return "\n".join([*lines, "```\n"] if code else lines)


def _escaped(text: str) -> str:
    """Return text with the marks of HTML and Markdown that stand outside of code as they are."""
    parts = text.split("`")
    return "`".join(part if i % 2 else part.replace("<", "&lt;").replace("*", "\\*") for i, part in enumerate(parts))
