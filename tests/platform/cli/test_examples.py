"""Examples in the questions to a language model: how they are chosen, what is sent, what is kept, what is refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit.errors import ColumnError, InputError, MissingError, UsageError
from nlpkit.platform import web
from nlpkit.zero_shot.llm import balanced_examples, labelled_examples, nearest_examples, random_examples
from tests.command_line import run_cli
from tests.llm_server import Server, said, serving

LABELS = "courts,space"
ROWS = [
    *(f"judge {n},courts" for n in "abcdef"),
    *(f"rocket {n},space" for n in "xy"),
]
TEXTS = ["the judge spoke", "a rocket flew", "judge a"]


def first_example(body: dict[str, Any]) -> tuple[int, Any]:
    """Answer what the last example is answered."""
    return 200, said(body["messages"][-2]["content"])


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(first_example) as started:
        yield started


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    path = tmp_path / "examples.csv"
    path.write_text("text,label\n" + "\n".join(ROWS) + "\n")
    return path


def label(server: Server, examples: Path | None, texts: Any = TEXTS, **settings: Any) -> Any:
    given = {"labels": LABELS, "llm": server.url, "llm_model": "m", "examples": examples}
    if examples is not None:
        given["llm_cache"] = examples.parent / "cache"
    return nk.zero_shot(texts, **{**given, **settings})


def test_balanced_examples_are_as_many_of_each_label() -> None:
    codes = np.array([0] * 6 + [1] * 2 + [2])
    for seed in range(20):
        chosen = balanced_examples(codes, 6, np.random.default_rng(seed))
        assert len(set(chosen.tolist())) == 6
        sizes = np.bincount(codes[chosen], minlength=3)
        assert sizes.tolist() == [3, 2, 1]  # as far as they last
        even = np.bincount(codes[balanced_examples(codes, 3, np.random.default_rng(seed))])
        assert even.tolist() == [1, 1, 1]
    assert len(balanced_examples(codes, 99, np.random.default_rng(0))) == 9
    assert sorted(random_examples(9, 99, np.random.default_rng(0)).tolist()) == list(range(9))


def test_the_nearest_example_is_the_last() -> None:
    vectors = np.eye(3, dtype=np.float32)
    text = np.array([[0.8, 0.6, 0.0], [0.0, 0.0, 1.0]], np.float32)
    assert nearest_examples(text, vectors, 2).tolist() == [[1, 0], [0, 2]]


def test_examples_are_questions_already_answered(server: Server, examples: Path) -> None:
    result = label(server, examples, shots=4, seed=3)
    assert result.documents.column("prediction").null_count == 0
    roles = [[message["role"] for message in body["messages"]] for body in server.asked]
    assert roles[0] == ["system", *["user", "assistant"] * 4, "user"]
    shown = [body["messages"][1:-1] for body in server.asked]
    assert shown[0] == shown[1]
    answers = [json.loads(message["content"])["label"] for message in shown[0][1::2]]
    assert sorted(answers) == ["courts", "courts", "space", "space"]
    assert "Text: judge a" not in [message["content"] for message in shown[2]]  # it would be the answer
    calls = len(server.asked)
    again = label(server, examples, shots=4, seed=3)
    assert (len(server.asked), again.summary["cached"]) == (calls, 3)
    label(server, examples, shots=4, seed=3, choose="random")
    assert len(server.asked) == calls + 3
    label(server, examples, shots=99, seed=3, budget=2)
    assert len(server.asked[-1]["messages"]) == 2 + 2 * 7


def test_nearest_examples_and_the_encoder(server: Server, examples: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tests.encoder_models import write_model

    encoder = str(write_model(tmp_path / "tiny"))
    examples.write_text("text,label\ncat,courts\ndog,space\ncat dog,space\n")
    result = label(server, examples, ["cat", "dog", "dog "], choose="nearest", shots=1, encoder=encoder)
    shown = [body["messages"][1]["content"] for body in server.asked]
    assert shown[0] in ("Text: cat dog", "Text: dog")  # not the text itself
    assert shown[1] in ("Text: cat dog", "Text: cat")
    assert shown[2] == "Text: dog"
    assert result.documents.column("prediction").to_pylist()[2] == "space"
    with pytest.raises(UsageError, match="need no encoder but for"):
        label(server, examples, encoder=encoder)
    with pytest.raises(MissingError, match="does not exist"):
        label(server, examples, choose="nearest", encoder=str(tmp_path / "nowhere"))


def test_examples_that_cannot_be_used(server: Server, examples: Path) -> None:
    for content, message in (
        ("text,label\n", "no example|empty|no rows"),
        ("text,label\nx,\n,courts\n", "no example has both text and label"),
        ("text,label\nx,art\n", "of an example is not one of"),
        ("text,label\nx,courts\nx,space\n", "has two labels, courts and space"),
    ):
        examples.write_text(content)
        with pytest.raises(InputError, match=message):
            label(server, examples)
    examples.write_text("text,class\nx,courts\n")
    with pytest.raises(ColumnError, match="label"):
        label(server, examples)
    with pytest.raises(InputError):
        label(server, examples.parent / "none.csv")
    with pytest.raises(UsageError, match="choose"):
        label(server, examples, choose="best")
    for settings in ({"shots": 3}, {"choose": "random"}):
        with pytest.raises(UsageError, match="needs `examples`"):
            label(server, None, **settings)
    with pytest.raises(UsageError, match="`examples` needs `llm`"):
        nk.zero_shot(TEXTS, labels=LABELS, examples=examples)
    assert server.asked == []
    assert len(labelled_examples(["a", "a", None], ["courts", "courts", "space"], ["courts", "space"])) == 1


def test_a_server_that_fails_keeps_what_was_answered(
    server: Server, examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.reply = lambda body: first_example(body) if len(server.asked) < 2 else (401, b"no")
    with pytest.raises(MissingError, match="401"):
        label(server, examples)
    server.reply = first_example
    assert label(server, examples).summary["cached"] == 1
    server.reply = lambda _: (200, said("no label at all"))
    nonsense = label(server, examples, ["another text"])
    assert (nonsense.summary["unanswered"], nonsense.documents.column("prediction").null_count) == (1, 1)
    assert "could not be used" in server.asked[-1]["messages"][-1]["content"]
    with pytest.raises(MissingError, match="cannot be reached"):
        label(server, examples, ["a third text"], llm="http://127.0.0.1:9/v1")
    full = iter([429, 503])
    server.reply = lambda body: (next(full, 200), first_example(body)[1])
    assert label(server, examples, ["a fourth text"]).summary["calls"] == 1
    server.reply = lambda _: (429, b"slow down")
    with pytest.raises(MissingError, match="its limit of requests is reached"):
        label(server, examples, ["a fifth text"])
    late = threading.Event()
    server.reply = lambda _: (late.wait(3), (200, {}))[1]  # type: ignore[func-returns-value]
    monkeypatch.setattr(web, "TRIES", 1)
    with pytest.raises(MissingError, match="did not answer within"):
        label(server, examples, ["a sixth text"], timeout=0.2)
    late.set()


def test_the_command(server: Server, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.txt").write_text("\n".join(TEXTS) + "\n")
    words = ("zero-shot", "docs.txt", "--labels", LABELS, "--llm", server.url, "--llm-model", "m", "--llm-cache", "c")
    plain = run_cli(*words, "-n", "--json").json()
    shown = (*words, "--examples", "examples.csv", "--shots", "2")
    plan = run_cli(*shown, "-n", "--json").json()
    assert (plan["calls"], server.asked) == (3, [])
    assert plan["tokens_to_read"] > plain["tokens_to_read"] + 3 * 2 * 5
    run_cli(*shown, "-o", "out.parquet")
    parameters = json.loads(pq.read_schema(tmp_path / "out.parquet").metadata[b"nlpkit"])["parameters"]
    assert (parameters["choose"], parameters["shots"], len(parameters["order"])) == ("balanced", 2, 2)
    assert "--examples" in run_cli(*words[:4], "--examples", "examples.csv", "-o", "x.csv", code=2).error()
