"""Gates: bounds read from text, and their outcomes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.gates import Baseline, gate_rules
from nlpkit.metrics.options import GateOptions
from nlpkit.metrics.results import Bound, Evaluation, TargetResult
from nlpkit.metrics.score import Score


def evaluation(**values: float | None) -> Evaluation:
    result = TargetResult("run", "predictions")
    for name, value in values.items():
        result.add(Score(METRICS[name], value, "documents", 10, why="" if value is not None else "no label"))
    return Evaluation([result])


def test_bounds_of_text() -> None:
    rules = gate_rules(GateOptions(fail_under="npmi=0.05, f1=0.7", fail_over="perplexity=900"), ["npmi"])
    assert rules.bounds == (
        Bound("npmi", 0.05, "under"),
        Bound("macro_f1", 0.7, "under"),
        Bound("perplexity", 900, "over"),
    )
    assert rules.metrics == ("npmi", "macro_f1", "perplexity")
    assert gate_rules(GateOptions(fail_under="0.7"), ["accuracy"]).bounds == (Bound("accuracy", 0.7, "under"),)
    assert gate_rules(GateOptions(fail_under="npmi=0.05")).metrics == ()  # the usual scores, and that one


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        (GateOptions(fail_under="0.7"), "fail_under"),
        (GateOptions(fail_under="npmy=0.7"), "fail_under"),
        (GateOptions(fail_under="npmi=2%"), "fail_under"),
        (GateOptions(fail_under="perplexity=900"), "fail_under"),
        (GateOptions(fail_over="accuracy=70"), "fail_over"),
        (GateOptions(fail_under=","), "fail_under"),
        (GateOptions(max_drop="0.1"), "max_drop"),
        (GateOptions(max_drop="-0.1"), "max_drop"),
    ],
)
def test_bounds_that_are_none(options: GateOptions, parameter: str) -> None:
    with pytest.raises(UsageError) as caught:
        gate_rules(options)
    assert caught.value.parameter == parameter


def test_outcomes_at_the_bound() -> None:
    rules = gate_rules(GateOptions(fail_under="accuracy=0.7,macro_f1=0.8", fail_over="ece=0.1"))
    outcomes = rules.check(evaluation(accuracy=0.7, macro_f1=0.79, ece=0.1))
    assert [gate.passed for gate in outcomes] == [True, False, True]
    assert not rules.check(evaluation(accuracy=None, macro_f1=0.9, ece=0.0))[0].passed
    with pytest.raises(InputError):
        rules.check(evaluation(accuracy=0.9))


def test_a_baseline_allows_a_drop() -> None:
    rules = replace(
        gate_rules(GateOptions(max_drop="10%", baseline="b.json")),  # type: ignore[arg-type]
        baseline=Baseline("b.json", {"before": {"accuracy": {"value": 0.8}, "ece": {"value": 0.1}}}),
    )
    assert [gate.passed for gate in rules.check(evaluation(accuracy=0.72, ece=0.11))] == [True, True]
    assert [gate.passed for gate in rules.check(evaluation(accuracy=0.71, ece=0.05))] == [False, True]
    with pytest.raises(InputError):
        rules.check(evaluation(accuracy=0.9))
