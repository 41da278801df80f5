"""nlpkit compare --preprocessing: preText against R's package, what the steps do, and what a planted step changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

import nlpkit as nk
from nlpkit.errors import InputError, UsageError
from nlpkit.evaluate.compare.options import STEPS, CompareOptions
from nlpkit.evaluate.compare.preprocessing import (
    combinations_of,
    name_of,
    options_of,
    pair_distances,
    pretext_scores,
    regressed,
)
from nlpkit.text.options import TextOptions
from tests.command_line import read, run_cli, write_jsonl
from tests.peer_data import PEER_DATA

INAUGURAL = "inaugural/inaugural.jsonl"


def test_scores_and_regression_are_those_of_the_r_package() -> None:
    """preText_test and preprocessing_choice_regression of preText 0.7.2 on the same 128 matrices of 12 documents, 20 pairs."""
    rng = np.random.default_rng(3)
    base = rng.random(66)
    distances = np.array([base + rng.normal(size=66) * 0.1 * (1 + c % 7) for c in range(128)])
    distances[-1] = base
    scores = pretext_scores(distances, 20, 12)
    assert scores[[0, 63, 126]] == pytest.approx([0.1727843915344, 0.1784694664903, 0.1683669532628], abs=1e-12)
    found = regressed(scores, combinations_of(STEPS)[:-1])
    estimates = [0.1733128490594, -0.0001698549910898, 0.0001890790918026, -0.0003668898235413, 0.000299825068434,
                 0.0001418871826315, 0.000606572478046, -5.256415114271e-05]  # fmt: skip
    assert found["estimate"] == pytest.approx(np.array(estimates), abs=1e-12)
    assert found["se"] == pytest.approx([0.0005869908749311, *[0.0004035562265151] * 7], abs=1e-12)


@pytest.mark.bench
@pytest.mark.peer_data(INAUGURAL)
def test_the_published_example_of_the_r_package() -> None:
    """The first ten inaugural speeches: figures of its vignette (preText 0.6) and of preText2 (2026), which cut texts by quanteda."""
    rows = [json.loads(line) for line in (PEER_DATA / INAUGURAL).read_text(encoding="utf-8").splitlines()[:10]]
    found = nk.compare_preprocessing([row["text"] for row in rows], min_df=0.2, pairs=20, k=3)
    published = np.array([0.117, 0.020, 0.001, -0.010, -0.004, -0.022, 0.000, -0.028])
    of_second = np.array([0.112, 0.020, 0.002, 0.000, -0.002, -0.033, -0.010, -0.025])
    estimates = np.array(found.steps["estimate"].to_pylist())
    least, most = np.minimum(published, of_second) - 0.01, np.maximum(published, of_second) + 0.01
    assert ((least <= estimates) & (estimates <= most)).all(), estimates


@pytest.mark.parametrize(
    ("taken", "terms"),
    [
        ("", "In 2019 Governors were cutting 1,200 taxes ; the ' ! of , governors"),
        ("punctuation", "In 2019 Governors were cutting 1,200 taxes the of governors"),
        ("punctuation,numbers", "In Governors were cutting taxes the of governors"),
        ("numbers,lowercase", "in governors were cutting taxes ; the ' ! of ,"),
        ("punctuation,numbers,lowercase,stop-words", "governors cutting taxes"),
        ("punctuation,numbers,lowercase,stop-words,stem", "governor cut tax"),
        ("punctuation,numbers,lowercase,stop-words,stem,infrequent", "governor tax"),
    ],
)
def test_what_a_step_does(taken: str, terms: str) -> None:
    texts = [
        "In 2019 Governors were cutting 1,200 taxes; the Governors' taxes!",
        "Governors of taxes",
        "taxes, governors",
    ]
    steps = [step in taken.split(",") for step in STEPS]
    found = nk.preprocess(texts, tokens=options_of(STEPS, steps, TextOptions(language="en", min_df=2))).vocabulary()
    assert set(found["term"].to_pylist()) == set(terms.split())


def test_ngrams_and_steps_that_are_not_compared() -> None:
    options = options_of(
        ["stem", "ngrams", "numbers"], [False, True, True], TextOptions(lower=False, stop_words="none")
    )
    assert (options.ngrams, options.stem, options.lower, options.stop_words) == ("1,3", "none", False, "none")
    assert options_of(["ngrams"], [True], TextOptions(ngrams="1,2")).ngrams == "1,2"
    assert options_of(["stem"], [True], TextOptions(stem="porter")).stem == "porter"
    assert name_of(STEPS, [True, False, True, False, False, False, True]) == "P-L-3"
    assert name_of(STEPS, [False] * 7) == "none"


def test_distances_are_those_of_scipy_and_1_to_an_empty_document() -> None:
    counts = np.array([[1, 2, 0], [0, 1, 1], [3, 0, 0], [0, 0, 0]])
    found = pair_distances(sparse.csr_array(counts))
    assert found[[0, 1, 3]] == pytest.approx(pdist(counts[:3], "cosine"))
    assert found[[2, 4, 5]].tolist() == [1, 1, 1]


def planted_texts() -> list[str]:
    """Documents of two subjects, which numbers hide: each has one of three numbers forty times."""
    rng = np.random.default_rng(0)
    words = [["river", "water", "fish", "bank"], ["money", "loan", "debt", "rate"]]
    return [" ".join([*rng.choice(words[d % 2], 12), *[str(100 + d % 3)] * 40]) for d in range(60)]


def test_a_step_without_an_effect_and_one_that_changes_the_topics() -> None:
    found = nk.compare_preprocessing(
        planted_texts(), preprocessing="numbers,lowercase,stop-words", k=2, language="en", min_df=1
    )
    steps = {row["step"]: row for row in found.steps.to_pylist()}
    assert steps["lowercase"]["topics"] == pytest.approx(1)
    assert steps["lowercase"]["estimate"] == pytest.approx(0, abs=1e-9)
    assert steps["numbers"]["topics"] < 0.5 < found.refit
    table = found.table.to_pylist()
    assert [row["name"] for row in table][-1] == "none"
    assert {row["name"] for row in table} == {"N-L-W", "N-L", "N-W", "N", "L-W", "L", "W", "none"}
    scores = [row["score"] for row in table]
    assert scores[-1] is None
    assert scores[:-1] == sorted(scores[:-1])
    assert (found.n_docs, found.n_compared) == (60, 60)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlpkit.evaluate.compare.preprocessing.MOST_DOCUMENTS", 20)
    texts = write_jsonl(tmp_path / "texts.jsonl", [{"text": text} for text in planted_texts()])
    line = (
        "compare",
        texts,
        "--preprocessing",
        "numbers,stem,stop-words",
        "--models",
        "nmf",
        "--k",
        "2",
        "--min-df",
        "1",
    )
    done = run_cli(*line, "-o", tmp_path / "steps.parquet")
    assert "Steps that change topics more than another seed and sample do: numbers" in done.out
    assert "distances are those of 20 documents, drawn at random" in done.err
    assert read(tmp_path / "steps.parquet").num_rows == 8
    assert "exists; add --force" in run_cli(*line, "-o", tmp_path / "steps.parquet", code=2).error()
    value = run_cli(*line, "--json", "-q").json()
    assert (value["documents"], value["documents_compared"], value["models"]) == (60, 20, ["nmf 2"])
    assert [row["step"] for row in value["steps"]] == ["intercept", "numbers", "stem", "stop-words"]
    assert "8 combinations" in run_cli(*line, "--dry-run").out


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"preprocessing": "stem,lower,numbers"}, "lower"),
        ({"preprocessing": "stem,numbers"}, "combinations of at least 3 steps"),
        ({"preprocessing": "all", "seeds": 5}, "`seeds` and `preprocessing` do not go together"),
        ({"pairs": 10}, "`pairs` needs `preprocessing`"),
        ({"preprocessing": "all", "k": "auto"}, "needs numbers of topics"),
    ],
)
def test_options_that_do_not_go(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        CompareOptions(**settings)


def test_documents_and_texts_that_do_not_go() -> None:
    with pytest.raises(InputError, match="at least 3 are needed"):
        nk.compare_preprocessing(["a river", "a bank"], k=2)
    with pytest.raises(UsageError, match="patterns of its own"):
        nk.compare_preprocessing(planted_texts(), tokenizer="whitespace", k=2)
