"""The examples in the docstrings of the public functions and of the estimators, run as they stand, each in a fresh folder."""

from __future__ import annotations

import doctest
import inspect
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import nlpkit as nk
from tests.command_line import needs_minilm

FUNCTIONS = [name for name in nk.__all__ if inspect.isfunction(getattr(nk, name))]
ESTIMATORS = ["estimators", *(f"estimators.{name}" for name in nk.estimators.__all__)]
EMBEDDING = ("fit_bertopic", "update_bertopic", "embed", "zero_shot", "finetune")  # by all-MiniLM-L6-v2
NEEDS = {
    "sentiment": "vaderSentiment",
    "fit_ctm": "torch",
    "plot": "matplotlib",
    "plot_effects": "matplotlib",
    "plot_words": "matplotlib",
}
# what takes a model of gigabytes, a server, people, or minutes
WITHOUT = {
    "attention", "compare_methods", "compare_models", "judge_task", "labels_from_answers", "merge", "pretrain", "score_answers",
    "train_encoder", "word_bias",
}  # fmt: skip
SHORTEST = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def example_of(name: str) -> doctest.DocTest:
    value: object = nk
    for part in name.split("."):
        value = getattr(value, part)
    return doctest.DocTestParser().get_doctest(inspect.getdoc(value) or "", {"nk": nk}, name, None, 0)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[needs_minilm] if name in EMBEDDING else [])
        for name in [*FUNCTIONS, *ESTIMATORS]
        if name not in WITHOUT
    ],
)
def test_an_example_gives_what_it_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in NEEDS and find_spec(NEEDS[name]) is None:
        pytest.skip(f"needs {NEEDS[name]}")
    test = example_of(name)
    assert test.examples
    assert any(example.want for example in test.examples), "nothing is shown"
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=SHORTEST, verbose=False).run(test, out=said.append)
    assert not outcome.failed, "".join(said)


def test_examples_are_short_and_there() -> None:
    for name in FUNCTIONS:
        examples = example_of(name).examples
        assert bool(examples) != (name in WITHOUT), name
        assert len(examples) <= 5, name
        assert not re.search(r"Example:\n\n", inspect.getdoc(getattr(nk, name)) or ""), name
