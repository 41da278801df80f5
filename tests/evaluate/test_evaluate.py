"""evaluate() from Python: what may be a target, the mapping of scores, comparisons and gates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import nlpkit as nk
from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.options import EvaluationOptions

TEXTS = ["cat dog cat pet", "dog pet cat", "car road car wheel", "road wheel car", "pet cat", "wheel road"] * 5
TOPICS = [["cat", "dog", "pet"], ["car", "road", "wheel"]]
ROWS = {"id": list("abcdef"), "label": list("xxyyxy"), "prediction": list("xyyyxy")}


def test_topics_as_lists_of_words_are_scored_on_texts() -> None:
    scores = nk.evaluate(TOPICS, ["npmi", "diversity"], reference=TEXTS, top_n=3, window="document")
    assert list(scores) == ["npmi", "diversity"]
    assert scores["c_npmi"] is scores["npmi"]
    assert scores["npmi"].value == pytest.approx(float(scores["npmi"].values.mean()))  # type: ignore[union-attr]
    assert scores["diversity"].value == 1
    assert scores.table().column("metric").to_pylist().count("npmi") == 3  # the whole and two topics
    assert "npmi" in scores._repr_html_()
    with pytest.raises(KeyError, match="no score 'umass'"):
        scores["umass"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_data_frame_with_labels_and_predictions(frame: Any) -> None:
    scores = nk.evaluate(frame(ROWS), "accuracy", ci=0.9)
    assert scores["accuracy"].value == pytest.approx(5 / 6)
    assert scores["accuracy"].interval is not None
    assert scores["accuracy"].interval.level == 0.9


def test_several_targets_are_compared_and_have_their_names(tmp_path: Path) -> None:
    pl.DataFrame(ROWS).write_csv(tmp_path / "t.csv")
    other = pl.DataFrame(ROWS | {"prediction": list("xxyyxy")})
    both = nk.evaluate({"file": tmp_path / "t.csv", "frame": other}, "accuracy")
    assert [target.name for target in both.targets] == ["file", "frame"]
    assert both.comparisons[0].comparison.difference == pytest.approx(-1 / 6)
    with pytest.raises(KeyError, match="2 targets"):
        both["accuracy"]


def test_gates_are_outcomes_and_not_errors() -> None:
    scores = nk.evaluate(pl.DataFrame(ROWS), fail_under="accuracy=0.9,macro_f1=0.1")
    assert [gate.passed for gate in scores.gates] == [False, True]
    assert not scores.passed
    assert scores.to_dict()["passed"] is False


def test_a_fitted_model_is_scored_without_being_saved() -> None:
    model = nk.fit_lda(TEXTS, k=2, sweeps=50, seed=1, min_df=1)
    scores = nk.evaluate(model, ["npmi"], reference=TEXTS, top_n=3)
    assert scores["npmi"].value is not None
    assert scores.targets[0].name == "lda-gibbs"


@pytest.mark.parametrize(
    ("targets", "settings", "error", "parameter"),
    [
        ([], {}, UsageError, "targets"),
        (TOPICS, {"metrics": "npmy"}, UsageError, "metrics"),
        (TOPICS, {"metrics": "npmi"}, UsageError, None),  # without a corpus
        (TOPICS, {"metrics": "diversity", "label_sep": ";"}, UsageError, "label_sep"),
        ([TOPICS, pl.DataFrame(ROWS)], {}, UsageError, None),
        ("gone.csv", {}, InputError, None),
        (pl.DataFrame({"a": [1]}), {}, InputError, "label_col"),
    ],
)
def test_what_cannot_be_scored(targets: Any, settings: dict[str, Any], error: type[Exception], parameter: str) -> None:
    with pytest.raises(error) as caught:
        nk.evaluate(targets, **settings)
    assert caught.value.parameter == parameter  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("top_n", "1"),
        ("top_n", (0,)),
        ("window", "wide"),
        ("compat", "x"),
        ("absent", "y"),
        ("beta", 0.0),
        ("ci_over", "z"),
    ],
)
def test_options_are_checked_when_they_are_made(field: str, value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        EvaluationOptions(**{field: value})
    assert caught.value.parameter == field


def test_options_take_what_python_and_the_command_line_write() -> None:
    assert EvaluationOptions(top_n=(20, 5)).depths() == EvaluationOptions(top_n="5,20").depths() == [5, 20]
    assert EvaluationOptions(window=10).window_size() == EvaluationOptions(window="10").window_size() == 10
    assert EvaluationOptions(metrics=("npmi", "c_v")).names() == EvaluationOptions(metrics="c_v,npmi").names()
