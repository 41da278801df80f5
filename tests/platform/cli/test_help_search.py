"""`nlpkit help WORD...`: the right command line comes first, and what is said of commands and guides is true."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest

from nlpkit.platform.cli.catalogue import COMMANDS, Commands
from nlpkit.platform.cli.foreign import no_command
from nlpkit.platform.cli.help_search import ANSWERS, answers, stems_of
from nlpkit.platform.foreign_names import _SAME, command_line, command_lines, native_parameter, parameter_hint
from tests.command_line import ROOT, run_cli

# A question, and what the first command line begins with: the four of newcomers, then others of the field.
QUESTIONS = {
    "topics over time": "nlpkit topics RUN --over",
    "change the number of topics": "nlpkit bertopic INPUT --k",
    "words that distinguish two groups": "nlpkit keyness INPUT",
    "classifier on 50 labels": "nlpkit finetune INPUT",
    "over time": "nlpkit topics RUN --over",
    "50 labels": "nlpkit finetune INPUT",
    "2000 labels": "nlpkit classify INPUT",
    "no labels": "nlpkit zero-shot INPUT",
    "word cloud": "nlpkit plot RUN wordcloud",
    "coherence": "nlpkit evaluate RUN --metrics npmi",
    "number of topics": "nlpkit bertopic INPUT --k",
    "fewer topics": "nlpkit bertopic INPUT --k",
    "outliers": "nlpkit bertopic INPUT --assign-outliers",
    "what does topic -1 mean": "nlpkit bertopic INPUT --assign-outliers",
    "stop words": "nlpkit preprocess INPUT --stop-words",
    "distinguish": "nlpkit keyness INPUT",
    "compare two groups": "nlpkit keyness INPUT",
    "compare the speeches of two parties": "nlpkit keyness INPUT",
    "merge topics": "nlpkit edit RUN --merge",
    "rename a topic": "nlpkit edit RUN --merge",
    "name topics with an LLM": "nlpkit name RUN",
    "inter-coder agreement": "nlpkit annotate agree",
    "Krippendorff's alpha": "nlpkit annotate agree",
    "tweets": "nlpkit gsdmm INPUT",
    "covariates": "nlpkit stm INPUT",
    "new documents": "nlpkit predict RUN",
    "near-duplicates": "nlpkit preprocess INPUT --dedupe",
    "how stable are my topics": "nlpkit bertopic INPUT --ensemble",
    "bigrams": "nlpkit bertopic INPUT --ngrams",
    "lemmatization": "nlpkit preprocess INPUT --lemma",
    "interactive map": "nlpkit report RUN",
    "imbalanced classes": "nlpkit classify INPUT --class-weight",
    "representative documents": "nlpkit topics RUN --documents",
    "compare two runs": "nlpkit diff RUN OTHER",
    "concordance": "nlpkit kwic PATTERN",
    "German texts": "nlpkit bertopic INPUT --encoder multilingual",
    "topics mirror the newspaper style": "nlpkit bertopic INPUT --debias",
    "out of memory": "nlpkit bertopic INPUT --dry-run",
    "LDA": "nlpkit lda-gibbs INPUT",
    "pyLDAvis": "nlpkit convert RUN",
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_right_command_line_comes_first(question: str) -> None:
    assert answers(question)[0][0].startswith(QUESTIONS[question])


def test_what_is_printed_for_a_question() -> None:
    for width in (60, 80, 120):
        out = run_cli("help", "over", "time", env={"COLUMNS": str(width)}).out
        lines = out.splitlines()
        assert lines[:2] == ["Try this:", "  nlpkit topics RUN --over date:month"]
        assert max(len(line) for line in lines if not line.startswith("  nlpkit ")) <= min(width, 100)
        assert re.search(r"^ {2}topics ", out, re.MULTILINE)
        assert re.search(r"^ {2}guides/topics.md ", out, re.MULTILINE)
    options = run_cli("help", "novelty").out
    assert "Try this:" not in options
    assert "--novelty-quantile (bertopic)" in options


def test_a_word_that_is_nowhere() -> None:
    assert "nothing in commands, options and guides has the words 'xyzzy'" in run_cli("help", "xyzzy", code=2).error()


def members() -> dict[str, Any]:
    made = Commands()
    return {
        f"{name} {sub}".strip(): one
        for name in COMMANDS
        for sub, one in getattr(made[name], "commands", {"": made[name]}).items()
    }


@pytest.mark.parametrize(
    "line", sorted({answer.line for answer in ANSWERS} | set(command_lines()) - {"nlpkit --version"})
)
def test_a_command_line_that_is_recommended_can_be_typed(line: str) -> None:
    words, every = shlex.split(line), members()
    command = every.get(" ".join(words[1:3])) or every[words[1]]
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if word.startswith("-")} <= options
    command.make_context(
        words[1], ["x" if word in ("RUN", "INPUT") else word for word in words[2:]], resilient_parsing=True
    )


def test_the_index_of_guides_is_that_of_the_pages() -> None:
    import guide_index

    text = guide_index.INDEX.read_text(encoding="utf-8")
    assert text == guide_index.guide_index(), "run: make docs"
    for page in json.loads(text):
        assert (ROOT / "docs" / page["page"]).exists()
        assert page["title"]


def test_words_are_compared_without_endings() -> None:
    assert stems_of("Labelling labelled LABELS") == ["labell", "labell", "label"]
    assert stems_of("speeches of parties") == stems_of("speech of party") != stems_of("speech of part")
    assert stems_of("lemmatisation") == stems_of("lemmatize")
    assert stems_of("50 of 5000") == stems_of("few of many")


# ---------------------------------------------------------------- names of other programs


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("lda", "lda-gibbs"), ("LDA", "lda-gibbs"), ("train-topics", "lda-gibbs"), ("LatentDirichletAllocation", "lda-gibbs"),
        ("topic-model", "bertopic"), ("infer-topics", "predict"), ("import-dir", "preprocess"), ("tokenize", "preprocess"),
        ("unnest_tokens", "preprocess"), ("embed", "sbert-embed"), ("textstat_keyness", "keyness"), ("searchK", "compare"),
        ("ldavis", "convert"), ("topics_over_time", "topics"), ("visualize", "plot"), ("estimateEffect", "effects"),
        ("findThoughts", "topics"), ("labelTopics", "info"), ("reduce_topics", "edit"), ("coherencemodel", "evaluate"),
        ("word2vec", "embed-words"), ("setfit", "finetune"), ("textmodel_nb", "classify"), ("bind_tf_idf", "tfidf"),
        ("wordcloud", "stats"), ("topicCorr", "topics"), ("kappa", "annotate"),
    ],
)  # fmt: skip
def test_a_command_of_another_program_is_answered_with_ours(typed: str, command: str) -> None:
    assert f"no such command '{typed}'; use: nlpkit {command} " in run_cli(typed, code=2).error()


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("bert", "did you mean bertopic"),  # a beginning comes first
        ("topic", "did you mean topics, bertopic, author-topic"),
        ("gibbz", "search for it: nlpkit help gibbz"),
        ("evalute", "did you mean evaluate?"),
        ("keynes", "did you mean keyness?"),
    ],
)
def test_a_command_that_is_misspelt(typed: str, says: str) -> None:
    assert says in no_command(typed, list(COMMANDS))
    assert "no such command" in run_cli(typed, code=2).error()


def test_no_name_means_two_things() -> None:
    names = [re.sub(r"\W|_", "", name) for names in command_lines().values() for name in names.split()]
    assert len(names) == len(set(names)), {name for name in names if names.count(name) > 1}
    lines = {command: command_line(command) for command in COMMANDS}
    assert not {c: line for c, line in lines.items() if line is not None and not line.startswith(f"nlpkit {c} ")}
    same = [name for names in _SAME.values() for name in names.split()]
    assert {name for name in same if same.count(name) > 1} == set()


def test_parameters_of_other_programs() -> None:
    assert [native_parameter(name, ("k", "seed")) for name in ("n_topics", "--nr-topics", "numTopics", "random_state")] == [
        "k", "k", "k", "seed",
    ]  # fmt: skip
    assert native_parameter("passes", ("iterations",)) == "iterations"
    assert native_parameter("passes", ("iterations", "sweeps")) == "sweeps"
    assert native_parameter("n_topics", ("depth",)) is None
    assert "`threads`" in str(parameter_hint("n_jobs"))
    assert parameter_hint("nothing") is None
