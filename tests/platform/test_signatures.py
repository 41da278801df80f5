"""Every option of a public function is in its signature, its docstring and the stub, with its type and its default."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nlpkit as nk
from nlpkit.platform import options as parameters
from nlpkit.platform import signatures
from nlpkit.topics.base.options import BertopicOptions
from tests.test_packaging import ROOT

FUNCTIONS = [name for name in nk.__all__ if inspect.isfunction(getattr(nk, name))]
TAKING = [
    name
    for name in FUNCTIONS
    if "settings" in signatures.as_written(getattr(nk, name)).signature.parameters and name != "map_documents"
]
RECORDS = [name for name in nk.__all__ if signatures.is_record(getattr(nk, name))]


def dummy(parameter: inspect.Parameter) -> Any:
    """Return an argument that lasts until the options are read."""
    if parameter.name == "data":
        return nk.Corpus.from_texts(["a river", "a bank"], labels=["a", "b"])
    if parameter.name == "inputs":
        return "-"
    return ["x"] if "Sequence" in str(parameter.annotation) else "x"


@pytest.mark.parametrize("name", TAKING)
def test_the_signature_has_the_options_that_a_call_takes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call with an option that is unknown ends where the options are read; the fields of the records there are compared."""
    read: dict[str, Any] = {}
    fill = parameters._filled

    def watched(record: Any, left: dict[str, Any]) -> Any:
        for option in signatures.fields_of(type(record)):
            read.setdefault(option.name, option.default)
        return fill(record, left)

    monkeypatch.setattr(parameters, "_filled", watched)
    function = getattr(nk, name)
    required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    positional = [dummy(p) for p in required if p.kind is not p.KEYWORD_ONLY]
    keywords = {p.name: dummy(p) for p in required if p.kind is p.KEYWORD_ONLY}
    if "llm" in inspect.signature(function).parameters:
        keywords |= {"llm": "http://localhost:1", "llm_model": "none"}  # without which these records cannot be made
    with pytest.raises(TypeError, match="'no_such_option' is not an option here"):
        function(*positional, **keywords, no_such_option=1)
    taken = inspect.signature(function).parameters
    assert set(read) <= set(taken)
    listed = {option.name: option.default for option in signatures.options_of(function)}
    assert listed == {option: default for option, default in read.items() if option in listed}
    assert taken.keys() - signatures.as_written(function).signature.parameters.keys() <= set(read) | SHARED


SHARED = {
    "terms",
    "tokens",
    "execution",
    "checkpoints",
    "checkpoint",
    "force",
}  # of what hands its options on to `fit_topics`


def test_help_shows_types_defaults_and_sentences() -> None:
    text = "\n".join(line.strip() for line in (inspect.getdoc(nk.fit_bertopic) or "").splitlines())
    assert "k (int | str, default 'auto'): Number of topics" in text
    assert "min_df (str | float, default 'auto'): " in text
    assert "settings" not in text.split("Raises:")[0]
    parameter = inspect.signature(nk.fit_bertopic).parameters["cluster"]
    assert parameter.default == "kmeans"
    assert "hdbscan" in parameter.annotation.__args__
    assert "Param(" not in str(inspect.signature(nk.BertopicOptions))
    assert inspect.signature(nk.BertopicOptions).parameters["n_neighbors"].default == BertopicOptions().n_neighbors


@pytest.mark.parametrize("name", [*TAKING, *RECORDS])
def test_every_option_has_a_sentence_in_the_docstring(name: str) -> None:
    value = getattr(nk, name)
    text = inspect.getdoc(value) or ""
    options = signatures.options_of(value)
    assert options
    words = " ".join(text.split())
    for option in options:
        described = f"{option.name} ({signatures.type_text(option.hint)}, default {option.shown}): "
        assert words.count(" " + " ".join(described.split())) == 1, option
        assert option.help or f"`{option.name}`" in words or option.name in (option.record.__doc__ or ""), option
    assert "\n\n\n" not in text
    assert not re.search(r"\s--[a-z]", text.split("Args:")[1].split("Example:")[0])


def test_what_a_call_takes_for_a_field() -> None:
    accepted = signatures.accepted
    assert signatures.type_text(accepted(Path | None)) == "str | PathLike[str] | None"
    assert signatures.type_text(accepted(tuple[str, ...])) == "Sequence[str]"
    assert signatures.type_text(accepted(str | tuple[Path, ...])) == "str | Sequence[str | PathLike[str]]"
    assert signatures.type_text(accepted(str | None, ("a", "b"))) == "Literal['a', 'b'] | None"
    assert signatures.type_text(accepted(tuple[int, int])) == "tuple[int, int]"
    assert accepted(Path | Any | None) is Any


def test_what_documents_a_function_does_it_once() -> None:
    before = inspect.getdoc(nk.fit_lda)
    signatures.document(nk.fit_lda)
    assert inspect.getdoc(nk.fit_lda) == before
    assert "settings" in signatures.as_written(nk.fit_lda).signature.parameters


def test_documenting_a_function_takes_no_time() -> None:
    code = (
        "import time, nlpkit.classify.run as w; from nlpkit.platform.signatures import document\n"
        "start = time.process_time(); document(w.train_classifier); print(time.process_time() - start)"
    )
    assert float(subprocess.check_output([sys.executable, "-c", code], text=True)) < 0.3  # 0.02 s


# ---------------------------------------------------------------- the stub, for editors and type checkers


def test_the_stub_is_what_the_script_writes() -> None:
    spec = importlib.util.spec_from_file_location("write_stub", ROOT / "docs" / "write_stub.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.STUB.read_text(encoding="utf-8") == module.stub(), "run `python docs/write_stub.py`"


CALLS = {
    "nk.fit_bertopic(['a'], k=3, cluster='hdbscan', min_df=2, seed=1)": "",
    "nk.fit_bertopic(['a'], k='5:10')": "",
    "nk.fit_ctm(['a'], inference='bow', checkpoint='run')": "",
    "nk.read_corpus('a.csv', 'b.csv', text_col='body')": "",
    "nk.topics('run/', over='date:month')": "",
    "nk.fit_bertopic(['a'], kk=3)": 'Unexpected keyword argument "kk"',
    "nk.fit_bertopic(['a'], k=[])": 'Argument "k" to "fit_bertopic" has incompatible type',
    "nk.fit_lda(['a'], sweeps='many')": 'Argument "sweeps" to "fit_lda" has incompatible type',
    "nk.fit_ctm(['a'], inference='bows')": 'Argument "inference" to "fit_ctm" has incompatible type',
    "nk.fit_plsa(['a'], encoder='x')": 'Unexpected keyword argument "encoder"',
    "nk.nothing": 'Module has no attribute "nothing"',
}


def test_mypy_refuses_what_a_call_refuses(tmp_path: Path) -> None:
    """With the stub alone: the types of all of nlpkit take mypy a minute."""
    script = tmp_path / "calls.py"
    script.write_text("\n".join(["import nlpkit as nk", *CALLS]), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--follow-imports",
        "skip",
        "--config-file",
        "",
        "--cache-dir",
        str(tmp_path),
    ]
    done = subprocess.run(
        [*command, str(script), str(Path(nk.__file__).with_suffix(".pyi"))], capture_output=True, text=True
    )
    errors = {int(m[1]): m[2] for m in re.finditer(r"calls\.py:(\d+): error: (.*)", done.stdout)}
    for line, (call, error) in enumerate(CALLS.items(), start=2):
        assert errors.get(line, "").startswith(error), (call, done.stdout)
        assert bool(errors.get(line)) == bool(error), (call, done.stdout)


# ---------------------------------------------------------------- packages and functions of one name

NAMESAKES = {
    "topics": "lda.options",
    "embed": "options",
    "report": "options",
    "finetune": "options",
    "zero_shot": "options",
}


@pytest.mark.parametrize("first", [True, False])
def test_a_package_is_not_hidden_by_the_function_of_its_name(first: bool) -> None:
    """However it is imported, and whether the function is used before or after."""
    lines = ["import sys, nlpkit as nk, nlpkit"]
    for name, part in NAMESAKES.items():
        module = f"nlpkit.{name}.{part}"
        use = f"assert callable(nk.{name}) and nk.{name}.__name__ == {name!r}"
        load = f"import {module}\nimport {module} as o"
        lines += [
            *((use, load) if first else (load, use)),
            f"from nlpkit import {name}",
            f"assert {name} is nk.{name} and {module} is o is sys.modules[{module!r}]",
            f"from {module} import __name__ as there",
            f"assert there == {module!r}",
        ]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)
