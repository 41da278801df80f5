"""Gates: bounds, baselines, exit codes, and the files that CI reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.command_line import SAMPLES, Done, run_cli, write_jsonl

PREDICTIONS = SAMPLES / "predictions.csv"
ACCURACY = ["evaluate", PREDICTIONS, "--metrics", "accuracy"]


def failed(done: Done) -> list[str]:
    """The lines of gates that failed."""
    lines = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert all(line.startswith("error: gate failed: ") for line in lines), done
    return [line.removeprefix("error: gate failed: ") for line in lines]


def test_a_gate_that_passes_and_one_that_fails() -> None:
    good = run_cli(*ACCURACY, "--fail-under", "accuracy=0.7")
    assert f"gate passed: {PREDICTIONS}: accuracy 0.762 is not under 0.7" in good.err
    bad = run_cli(*ACCURACY, "--fail-under", "accuracy=0.8", code=1)
    assert failed(bad) == [f"{PREDICTIONS}: accuracy 0.762 is under 0.8"]
    assert "accuracy" in bad.out  # the scores are shown all the same


def test_one_line_for_each_failed_gate_even_when_quiet() -> None:
    gates = "accuracy=0.9,macro_f1=0.9,kappa=0.1"
    done = run_cli("evaluate", PREDICTIONS, "--fail-under", gates, "--fail-over", "ece=0.1", "-q", code=1)
    assert [line.split(": ")[1].split()[0] for line in failed(done)] == ["accuracy", "macro_f1", "ece"]
    assert len(done.err.splitlines()) == 3


def test_a_bare_number_is_for_the_one_score_that_was_asked_for() -> None:
    assert failed(run_cli(*ACCURACY, "--fail-under", "0.9", code=1))
    two = ["evaluate", PREDICTIONS, "--metrics", "accuracy,kappa", "--fail-under", "0.9"]
    assert "no score is named; write" in run_cli(*two, code=2).error()


def test_a_gate_on_a_score_that_was_not_asked_for_makes_it() -> None:
    assert run_cli(*ACCURACY, "--fail-under", "kappa=0.5").out.count("kappa") == 1


def test_a_score_that_is_not_defined_fails_its_gate(tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text("cat dog bird\n", encoding="utf-8")
    done = run_cli("evaluate", "topics.txt", "--metrics", "inverted_rbo", "--fail-under", "0.5", code=1)
    assert failed(done) == [
        "topics.txt: inverted_rbo is not defined (there is only one topic with words), so the gate fails"
    ]


# ---------------------------------------------------------------- baselines


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    """Scores of the sample predictions."""
    run_cli("evaluate", PREDICTIONS, "-q", "-o", tmp_path / "metrics.json")
    return tmp_path / "metrics.json"


def changed(path: Path, name: str, **fields: Any) -> Path:
    """A copy of scores with another value or definition of one."""
    value = json.loads(path.read_text(encoding="utf-8"))
    value["targets"][0]["metrics"][name].update(fields)
    other = path.with_name("changed.json")
    other.write_text(json.dumps(value), encoding="utf-8")
    return other


def test_the_same_scores_are_no_drop(baseline: Path) -> None:
    done = run_cli("evaluate", PREDICTIONS, "--baseline", baseline)
    assert done.err.count("gate passed") == 10
    assert f"accuracy 0.762 is not worse than 0.762 of {baseline}, within 0" in done.err


def test_a_drop_and_what_is_allowed(baseline: Path) -> None:
    before = changed(baseline, "accuracy", value=0.78)
    words = [*ACCURACY, "--baseline", before, "--max-drop"]
    run_cli(*words, "0.02")
    done = run_cli(*words, "0.01", code=1)
    assert failed(done) == [f"{PREDICTIONS}: accuracy 0.762 is worse by 0.01798 than 0.78 of {before}, more than 0.01"]
    run_cli(*words, "3%")
    run_cli(*words, "2%", code=1)
    run_cli(*words, "accuracy=0.02")


def test_lower_is_better_the_other_way_round(baseline: Path) -> None:
    before = changed(baseline, "ece", value=0.40)
    words = ["evaluate", PREDICTIONS, "--metrics", "ece", "--baseline", before, "--max-drop"]
    assert "is worse by 0.05801 than 0.4" in failed(run_cli(*words, "0.05", code=1))[0]
    run_cli(*words, "0.06")
    run_cli("evaluate", PREDICTIONS, "--metrics", "ece", "--baseline", changed(baseline, "ece", value=0.6))


def test_another_definition_is_refused(baseline: Path) -> None:
    before = changed(baseline, "macro_f1", parameters={"beta": 2.0})
    message = run_cli("evaluate", PREDICTIONS, "--metrics", "macro_f1", "--baseline", before, code=3).error()
    assert "macro_f1 was measured by another definition in the baseline" in message
    assert "(beta: 2.0, now 1.0)" in message


def test_another_corpus_is_told(tmp_path: Path) -> None:
    topics, news, german = SAMPLES / "topics.txt", SAMPLES / "news.jsonl", SAMPLES / "hard.jsonl"
    run_cli("evaluate", topics, "--reference", news, "--npmi", "-q", "-o", "b.json")
    words = ["evaluate", topics, "--npmi", "--baseline", "b.json", "--max-drop", "2"]
    assert "in another corpus" not in run_cli(*words, "--reference", news).err
    assert "the scores of b.json used another corpus" in run_cli(*words, "--reference", german).err


def test_json_on_stdout_is_a_baseline_too(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(run_cli(*ACCURACY, "--json").out, encoding="utf-8")
    run_cli(*ACCURACY, "--baseline", "b.json")


def test_a_moved_target_is_the_only_one(baseline: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.csv").write_bytes(PREDICTIONS.read_bytes())
    run_cli("evaluate", "elsewhere.csv", "--baseline", baseline)
    message = run_cli("evaluate", PREDICTIONS, "elsewhere.csv", "--baseline", baseline, code=3).error()
    assert "has no target 'elsewhere.csv'" in message


def test_the_scores_of_a_run_are_a_baseline_of_it(tmp_path: Path) -> None:
    """They stand beside those of a guess, which nothing is compared with."""
    rows = [{"id": f"{n}{i}", "text": f"{n} report {i}", "label": n} for i in range(8) for n in ("cup", "orbit")]
    run_cli("classify", write_jsonl(tmp_path / "docs.jsonl", rows), "--model", "nb", "--twins", "0", "-q", "-o", "run")
    assert len(json.loads(Path("run/metrics.json").read_text())["targets"]) > 1
    done = run_cli("evaluate", "run", "--baseline", "run/metrics.json", "--metrics", "accuracy")
    assert "run: accuracy 1 is not worse than 1 of run/metrics.json" in done.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "cannot be read"),
        ('{"targets": [{"target": "x"}]}', "has no scores of targets"),
        ('{"targets": [{"target": "x", "metrics": {}}]}', "has no score 'accuracy' of"),
        (
            '{"targets": [{"target": "x", "metrics": {"accuracy": {"value": null}}}]}',
            "has none of the scores computed now; make it with the same",
        ),
    ],
)
def test_a_baseline_that_is_none(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "b.json").write_text(text, encoding="utf-8")
    assert message in run_cli(*ACCURACY, "--baseline", "b.json", code=3).error()


# ---------------------------------------------------------------- files for CI


def test_junit(tmp_path: Path) -> None:
    run_cli(*ACCURACY, "--fail-under", "accuracy=0.9,kappa=0.1", "--junit", "gates.xml", code=1)
    suite = ET.parse(tmp_path / "gates.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    bad = next(case for case in suite.iter("testcase") if case.find("failure") is not None)
    assert bad.get("name") == "accuracy under 0.9"


def test_markdown_for_a_job_summary() -> None:
    out = run_cli(*ACCURACY, "--fail-under", "accuracy=0.9", "--markdown", code=1).out
    lines = out.splitlines()
    assert lines[0] == "### ❌ 1 of 1 gates failed"
    assert lines[2] == f"- ❌ {PREDICTIONS}: accuracy 0.762 is under 0.9"
    assert "| metric | score | 95% interval | definition |" in lines
    assert "| --- | ---: | ---: | --- |" in lines


def test_json_holds_the_gates(tmp_path: Path) -> None:
    done = run_cli(*ACCURACY, "--fail-under", "accuracy=0.9", "--json", "-o", "m.json", code=1)
    assert done.json() == json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert done.json()["passed"] is False
    assert done.json()["gates"][0] | {"line": ""} == {
        "target": str(PREDICTIONS),
        "metric": "accuracy",
        "kind": "under",
        "bound": 0.9,
        "value": done.json()["targets"][0]["metrics"]["accuracy"]["value"],
        "passed": False,
        "line": "",
    }


def test_an_output_that_is_there_is_kept(baseline: Path) -> None:
    before = baseline.read_bytes()
    assert "--force" in run_cli(*ACCURACY, "-o", baseline, code=2).error()
    assert baseline.read_bytes() == before
    run_cli(*ACCURACY, "-o", baseline, "--force")
    assert baseline.read_bytes() != before


@pytest.mark.parametrize("value", ["NaN", "Infinity", "null"])
def test_a_baseline_without_a_number_passes_no_gate(value: str, tmp_path: Path) -> None:
    run_cli(*ACCURACY, "-q", "-o", "now.json")
    found = json.loads((tmp_path / "now.json").read_text())
    found["targets"][0]["metrics"]["accuracy"]["value"] = json.loads(value)
    (tmp_path / "old.json").write_text(json.dumps(found))
    says = run_cli(*ACCURACY, "--baseline", "old.json", "--max-drop", "accuracy=50%", code=3).error()
    assert "has no value of accuracy" in says
