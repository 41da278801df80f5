"""The contract of all methods of fine-tuning, and of all tasks: saved and read again, resumed to the same bytes, estimated, refused."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.finetune.methods import KINDS, REFUSALS, Material, parse_method
from tests.command_line import files, read, run_cli, write_jsonl
from tests.finetune.finetune_data import (
    CODERS,
    GRADED,
    VOCABULARY,
    asked,
    base_model,
    chances,
    coded,
    graded,
    refused,
    rows,
    stop_at,
    tagged,
    tune,
    without_clocks,
)
from tests.finetune.tiny import tiny_bert, tiny_t5

pytest.importorskip("torch")
OF_EACH_FAMILY = shlex.split("full head lora prompt pfeiffer unipelt setfit adasent pet ipet petapter tfew")
CHEAP = {"setfit": "setfit(R=2)", "adasent": "adasent(mlm_head_steps=3,R=1)", "ipet": "ipet(generations=2)"}
PATTERNS = 'patterns = ["[text] it is [MASK].", "[MASK] news: [text]"]\n[words]\nsport = "match"\nspace = "planet"\npolitics = "vote"\n'
OPTIONS = {
    "merge": ["--merge"],
    "export": ["--export", "out"],
    "quantize": ["--quantize", "nf4"],
    "patterns": ["--patterns", "p.toml"],
    "unlabelled": ["--unlabelled", "left.jsonl"],
    "pooling": ["--pooling", "transformers"],
    "head_lr": ["--head-lr", "0.01"],
}


def each(names: Any = KINDS) -> list[Any]:
    """All methods, all but one of each family marked as slow; their files are also in io/test_finetune_files."""
    return [pytest.param(name, marks=() if name in OF_EACH_FAMILY else pytest.mark.slow) for name in names]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """What a method is trained on: a sentence encoder, one that guesses masked words, or a model with a decoder."""
    folder = tmp_path_factory.mktemp("bases")
    words = [*VOCABULARY, "it", "is", "news", "politics", "space", "sport"]

    @cache
    def made(kind: str) -> Path:
        if kind == "decoder":
            return tiny_t5(folder / kind, words=words)
        if kind == "patterns":
            return tiny_bert(folder / kind, words=words, architecture="BertForMaskedLM")
        return base_model(folder / kind)

    def base_of(method: str) -> Path:
        kind = KINDS[method]
        return made("decoder" if kind.decoder else "patterns" if "patterns" in kind.uses else "plain")

    return base_of


@pytest.fixture(autouse=True)
def documents() -> None:
    write_jsonl(Path("train.jsonl"), rows())
    write_jsonl(Path("left.jsonl"), [{"id": f"u{i}", "text": f"{row['text']} the"} for i, row in enumerate(rows(2))])
    Path("p.toml").write_text(PATTERNS)


def command(name: str) -> list[str]:
    """What every training of a method is given."""
    uses = KINDS[name].uses
    return [
        "train.jsonl",
        *(OPTIONS["patterns"] if "patterns" in uses else []),
        *(OPTIONS["unlabelled"] if name == "ipet" else []),
    ]


def predicted(run: str, own: list[dict[str, Any]], *words: str) -> Any:
    """Predict the documents that a run tested, and return that table and the run's own."""
    tested = read(f"{run}/documents.parquet")
    seen = set(tested.column("id").to_pylist())
    write_jsonl(Path("new.jsonl"), [row for row in own if row["id"] in seen])
    run_cli("predict", run, "new.jsonl", *words, "--offline", "--threads", "1", "-f", "-q", "-o", "p.parquet")
    return read("p.parquet"), tested


@pytest.mark.parametrize("name", each())
def test_a_method_keeps_the_contract(name: str, bases: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    kind, base, method = KINDS[name], bases(name), CHEAP.get(name, name)
    words = [*command(name), "--probabilities", "-q"]
    how: dict[str, Any] = {"base": base, "method": method, "steps": 4}
    plan = tune(*words, "--dry-run", "--json", **how).json()["plan"]
    assert not Path("train.finetune").exists()
    tune(*words, "-o", "run", **how)
    facts = json.loads(Path("run/metrics.json").read_text())["training"]
    assert facts["method"] == parse_method(method).spelling == method
    assert any(load["method"] == method and load["steps"] > 0 for load in plan)
    assert kind.trains == "all" or facts["trained_parameters"] < 0.7 * facts["parameters"]
    # what is written is read again, here and by other programs
    again, tested = predicted("run", rows(), "--probabilities")
    np.testing.assert_allclose(chances("p.parquet"), chances("run/documents.parquet"), atol=1e-5)
    assert again.column("prediction").to_pylist() == tested.column("prediction").to_pylist()
    (folder,) = (path.name for path in Path("run/model").iterdir() if path.is_dir())
    assert folder == {"full": "classifier", "ipet": "transformers"}.get(name, kind.folder)
    assert method in Path(f"run/model/{folder}/README.md").read_text()
    assert not any(file.endswith((".pkl", ".bin", ".pt")) for file in files(Path("run")))
    # stopped in an update, of the last training it consists of, it goes on to the same bytes
    trainings = {"pet": 1, "petapter": 1, "ipet": 2, "adasent": 2}
    with monkeypatch.context() as patch:
        stop_at(2 if name != "adasent" else 1, patch, cell=trainings.get(name, 0))
        told = tune(*words, "--threads", "2", "-o", "two", **how, code=130).err
    assert "the same command with --resume" in told
    assert "nothing was written" not in told
    assert not Path("two").exists()
    assert {path.suffix for path in Path("two.checkpoint").iterdir()} <= {".json", ".safetensors", ".npz"}
    if "patterns" in kind.uses:
        Path("p.toml").write_text(PATTERNS.replace('"vote"', '"law"'))
        assert "politics was ['vote'], now ['law']" in refused(*words, "--resume", "-o", "two", code=3, **how)
        Path("p.toml").write_text(PATTERNS)
    tune(*words, "--resume", "-o", "two", **how)
    assert without_clocks("run") == without_clocks("two")
    curves = [list(map(json.loads, Path(f"{run}/curve.jsonl").read_text().splitlines())) for run in ("run", "two")]
    points = [[(point["step"], point["loss"], point["dev"]) for point in curve] for curve in curves]
    assert points[0] == points[1]
    clock = json.loads(Path("two/metrics.json").read_text())["training"]["seconds"]  # of both parts
    assert clock >= max(point["seconds"] for point in curves[1]) - 1e-3
    assert not Path("two.checkpoint").exists()


@pytest.mark.parametrize("name", each())
def test_a_method_refuses_what_it_has_no_use_for(name: str, bases: Callable[[str], Path]) -> None:
    assert OPTIONS.keys() == REFUSALS.keys()
    how: dict[str, Any] = {"base": bases(name), "method": CHEAP.get(name, name)}
    for option, words in OPTIONS.items():
        line = [*command(name), *(word for word in words if word not in command(name))]
        if option in KINDS[name].uses:
            tune(*line, "--dry-run", "-o", "run", **how)
        else:
            assert f"--{option.replace('_', '-')}" in refused(*line, "-o", "run", code=2, **how)
    assert sorted(path.name for path in Path().iterdir()) == ["left.jsonl", "p.toml", "train.jsonl"]


@pytest.mark.parametrize("name", KINDS)
def test_a_method_says_what_it_cannot_learn(name: str) -> None:
    method, kind = parse_method(name), KINDS[name]
    good = {"task": "single", "plain": True, "soft": False, "context": False, "patterns": 2, "unlabelled": True}

    def refuses(*, seq2seq: bool = kind.decoder, **changed: Any) -> bool:
        return bool(method.refuses(Material(**{**good, **changed}, seq2seq=seq2seq)))

    assert not refuses()
    assert refuses(seq2seq=not kind.decoder)
    assert refuses(plain=False) == (kind.learns == "plain")
    assert refuses(soft=True) == refuses(context=True) == refuses(task="multi") == (kind.learns == "single")
    assert refuses(patterns=None) == ("patterns" in kind.uses)
    assert refuses(unlabelled=False) == refuses(patterns=1) == (name == "ipet")


def test_help_and_guide_name_every_method() -> None:
    shown = run_cli("finetune", "--help").out
    guide = (Path(__file__).parents[2] / "docs/guides/finetune-methods.md").read_text(encoding="utf-8")
    for name in KINDS:
        assert name in shown
        assert f"`{name}" in guide


TASKS: dict[str, tuple[list[dict[str, Any]], list[str], str]] = {
    "labels": ([{**row, "label": [["a"], ["a", "b"], [], ["b"]][i % 4]} for i, row in enumerate(rows())], [], "full"),
    "numbers": ([{**row, "label": 100 + len(row["text"]) / 4} for row in rows()], [], "full"),
    "grades": (graded(), [*GRADED, "--dev", "dev.jsonl", "--class-weight", "balanced"], "lora(r=4)"),
    "answers": (
        asked(words=60),
        ["--task", "answers", "--pair-col", "question", "--max-tokens", "32", "--overlap", "8", "--dev", "dev.jsonl"],
        "full",
    ),
    "words": (tagged(), ["--crf", "--dev", "dev.jsonl"], "full"),
    "coders": (coded(3), CODERS, "head"),
    "temperature": (rows(), ["--dev", "dev.jsonl", "--calibrate"], "full"),
    "nf4": (rows(2), ["--quantize", "nf4", "--double-quant"], "lora(r=2)"),
    "int8": (rows(2), ["--quantize", "int8"], "houlsby"),
}


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_read_again_and_resumed_to_the_same_bytes(
    task: str, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, words, method = TASKS[task]
    write_jsonl(Path("train.jsonl"), own)
    write_jsonl(Path("dev.jsonl"), [{**row, "id": f"dev{row['id']}"} for row in own[::4]])
    line = ["train.jsonl", *words, "--lr", "0.003", "-q"]
    tune(*line, "--threads", "2", "-o", "one", base=base, steps=6, method=method)
    again, tested = predicted("one", own)
    if task == "numbers":
        values = [table.column("prediction").to_numpy() for table in (again, tested)]
        np.testing.assert_allclose(values[0], values[1], atol=1e-4)
    else:
        assert again.column("prediction").to_pylist() == tested.column("prediction").to_pylist()
    with monkeypatch.context() as patch:
        stop_at(3, patch)
        tune(*line, "-o", "two", base=base, steps=6, method=method, code=130)
    if task == "nf4":
        other = ["train.jsonl", "--quantize", "int8", "--resume", "-o", "two"]
        assert "--quantize was" in refused(*other, code=3, base=base, steps=6, method=method)
    tune(*line, "--resume", "-o", "two", base=base, steps=6, method=method)
    assert without_clocks("one") == without_clocks("two")
    assert not Path("two.checkpoint").exists()
