"""What every model declares, and what follows from that; a model of another distribution through every command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nlpkit as nk
from nlpkit.evaluate.compare.options import CompareOptions
from nlpkit.platform.cli.catalogue import COMMANDS, Commands
from nlpkit.platform.cli.help_options import main_options
from nlpkit.platform.models import BUILT_IN, MODELS, Account, public_names, resolved, topic_kinds
from nlpkit.text.estimate import UNITS, rates_of
from nlpkit.topics.base.mixture import ModelColumns

ROOT = Path(__file__).parents[2]
NEWS = ROOT / "data" / "samples" / "news.jsonl"
PLUGIN = Path(__file__).parent / "plugin"
TINY = "tiny-topics"
MOST_MODULES = 150  # of nlpkit that a fit loads, of which 18 are empty packages


@pytest.mark.parametrize("kind", BUILT_IN)
def test_what_a_model_declares_is_there(kind: str) -> None:
    model = MODELS[kind]
    assert model.kind == kind
    assert callable(resolved(model.load))
    options = resolved(model.options)()
    assert (not hasattr(options, "k") and not hasattr(options, "n_topics")) == bool(model.finds_number)
    assert issubclass(resolved(model.columns), ModelColumns)
    if model.fitter:
        assert resolved(model.fitter)(options).options is options
    assert set(rates_of(kind)) <= set(UNITS)
    assert (kind in CompareOptions(models=kind).names()) if model.compared is not None else True


@pytest.mark.parametrize("kind", BUILT_IN)
def test_its_command_has_the_help_that_it_declares(kind: str) -> None:
    model, command = MODELS[kind], Commands()[kind]
    assert command.help.startswith(model.summary)
    assert COMMANDS[kind].summary == model.summary
    names = {option for parameter in command.params for option in parameter.opts}
    assert main_options(kind) <= names
    assert f"nlpkit {kind} " in command.help
    assert {name for name in ("checkpoint_every", "encoder") if name in {p.name for p in command.params}} == {
        *(["checkpoint_every"] if model.keeps else []),
        *(["encoder"] if model.embeddings else []),
    }


@pytest.mark.parametrize("kind", [kind for kind, model in MODELS.items() if not model.command])
def test_its_function_takes_its_options(kind: str) -> None:
    model = MODELS[kind]
    function = getattr(nk, model.function)
    assert function.__name__ == model.function
    assert model.fit or function.__doc__.startswith(model.about)
    with pytest.raises(nk.errors.UsageError, match="iterations"):
        function(["one text of words"], iterations=0)
    assert model.function in public_names()
    assert resolved(model.options) is getattr(nk, resolved(model.options).__name__)


@pytest.mark.parametrize("kind", BUILT_IN)
def test_the_paragraph_cites_what_it_declares(kind: str) -> None:
    class Anything(dict[str, Any]):
        def __missing__(self, name: str) -> float:
            return 1.0

    parameters = {"inference": "bow", "min_share": 0.1, "chunks": "month", "prototype": 3, "cluster": "hdbscan"}
    text, cited = MODELS[kind].paragraph(Account(Anything(parameters), Anything(biterms=5), "10", 3, "(seed)"))
    assert cited
    assert set(cited) <= set(MODELS[kind].cites)
    assert MODELS[kind].cites[0] in cited
    assert "10 documents" in text
    assert "(seed)" in text


def test_a_kind_that_no_distribution_has() -> None:
    assert "no-such-model" not in MODELS
    with pytest.raises(KeyError):
        MODELS["no-such-model"]
    with pytest.raises(AttributeError):
        _ = nk.fit_no_such_model
    assert topic_kinds()[0] == "bertopic"
    assert set(topic_kinds()) == set(MODELS)


def run(*words: Any, cwd: Path, code: int = 0) -> str:
    """Run nlpkit in a process of its own, with the plugin on its path; return what it printed."""
    paths = os.pathsep.join([str(ROOT / "src"), str(PLUGIN)])
    environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "120"}
    command = [sys.executable, "-m", "nlpkit", *map(str, words)]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of the model of another distribution."""
    folder = tmp_path_factory.mktemp("plugin")
    run(TINY, NEWS, "--limit", "90", "--k", "4", "-q", "-o", "run", cwd=folder)
    return folder


def test_a_model_of_another_distribution_has_a_command(tiny: Path) -> None:
    text = run(TINY, "--help", cwd=tiny)
    assert "Deal the words of a corpus" in text
    assert "--start INT" in text
    assert f"<input>.{TINY}/" in text
    assert TINY in run("--help-all", cwd=tiny)
    assert f"nlpkit {TINY} INPUT" in run("dealt_topics", cwd=tiny, code=2)
    assert "must be at least 0" in run(TINY, NEWS, "--start", "-1", "-o", "x", cwd=tiny, code=2)
    assert TINY not in COMMANDS


def test_other_commands_read_its_runs(tiny: Path) -> None:
    run("predict", "run", NEWS, "--limit", "95", "-q", "-o", "p.jsonl", cwd=tiny)
    rows = [json.loads(line) for line in (tiny / "p.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["topic"] for row in rows} == {0, 1, 2, 3}
    line = ("evaluate", "run", "--heldout", NEWS, "--limit", "20", "--metrics", "npmi,perplexity", "--json", "-q")
    metrics = json.loads(run(*line, cwd=tiny))["targets"][0]["metrics"]
    assert metrics["perplexity"]["value"] > 1
    assert metrics["npmi"]["value"] is not None
    run("report", "run", "-q", "-o", "r.html", cwd=tiny)
    page = (tiny / "r.html").read_text(encoding="utf-8")
    assert "Journal of Small Models" in page
    assert "Tiny topic model" in page
    assert f"run ({TINY})" in run("info", "run", cwd=tiny)


def test_it_is_compared_with_others(tiny: Path) -> None:
    compared = (
        "compare",
        NEWS,
        "--limit",
        "90",
        "--models",
        f"{TINY},nmf",
        "--k",
        "3",
        "--seeds",
        "1",
        "-o",
        "c",
        "--json",
    )
    assert {row["model"] for row in json.loads(run(*compared, "-q", cwd=tiny))["summary"]} == {TINY, "nmf"}


def test_a_fit_loads_its_own_model_alone(tmp_path: Path) -> None:
    code = (
        "import json, sys\nfrom nlpkit.platform.cli.app import main\n"
        f"sys.argv = ['nlpkit', 'hdp', {str(NEWS)!r}, '--limit', '30', '--iterations', '2', '-q', '-o', 'run', '--show', '0']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(json.dumps(sorted(name for name in sys.modules if name.split('.')[0] == 'nlpkit')))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=True
    )
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert "nlpkit.topics.hdp.model" in loaded
    others = {where.partition(":")[0] for kind, where in BUILT_IN.items() if kind not in ("hdp", "lda-gibbs")}
    assert not {name for name in loaded if any(name == other or name.startswith(f"{other}.") for other in others)}
    assert len(loaded) <= MOST_MODULES
