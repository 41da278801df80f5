"""What the tests of `nlpkit finetune` learn from: three classes that words tell apart, pairs, and a tiny model on disk."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.command_line import Done, files, run_cli
from tests.finetune.tiny import tiny_sentence_model

SPORT = ["the team won the match", "a goal in the match", "the coach and the team", "fans of a goal"]
SPACE = ["the probe in orbit", "a telescope and a planet", "the rocket in orbit", "stars and a planet"]
POLITICS = ["the vote in parliament", "a minister and a vote", "parliament passed the law", "the minister and a law"]
TEXTS = {"sport": SPORT, "space": SPACE, "politics": POLITICS}
FIRST = ("--pooling", "transformers")  # what is written is a classifier of transformers
VOCABULARY = sorted({word for own in TEXTS.values() for text in own for word in text.split()})


def rows(times: int = 3, **more: Any) -> list[dict[str, Any]]:
    """12 · `times` documents of three classes."""
    return [
        {"id": f"{name}{i}{j}", "text": f"{text} {i}{j}", "label": name, **more}
        for i in range(times)
        for name, own in TEXTS.items()
        for j, text in enumerate(own)
    ]


def pair_rows(n: int = 24) -> list[dict[str, Any]]:
    """Pairs of which every second is alike, with a negative and a score."""
    return [
        {
            "id": f"p{i}", "text": SPORT[i % 4], "other": (SPORT if i % 2 else SPACE)[(i // 2) % 4], "negative": POLITICS[i % 4],
            "label": ["different", "same"][i % 2], "score": [0.5, 4.0][i % 2] + 0.1 * (i % 3),
            "kinds": [["different", "same"][i % 2]],
        }
        for i in range(n)
    ]  # fmt: skip


GRADES = ["bad", "ok", "good"]
GRADED = ["--task", "ordinal", "--order", "bad,ok,good"]
CODERS = ["--annotators", "anna,ben,chiara"]
MARKS = {"the": "B-X", "a": "B-Y"}
PEOPLE = ["coach", "fans", "minister", "team"]


def graded(n: int = 60, names: Sequence[Any] = GRADES) -> list[dict[str, Any]]:
    """The more often `goal` is in a text, the better."""
    rng = np.random.default_rng(0)
    marks = rng.integers(0, 3, n)
    texts = [" ".join(["goal"] * k + list(rng.choice([w for w in VOCABULARY if w != "goal"], 4))) for k in marks]
    return [
        {"id": str(i), "text": text, "label": names[k]} for i, (text, k) in enumerate(zip(texts, marks, strict=True))
    ]


def asked(n: int = 48, *, none: bool = False, words: int = 6) -> list[dict[str, Any]]:
    """Who is in the text? One word of four; with `none` nobody in every fourth text."""
    rng = np.random.default_rng(3)
    rows = []
    for i in range(n):
        text = list(rng.choice(["orbit", "planet", "law", "stars", "match", "goal"], words))
        answer = "" if none and i % 4 == 3 else PEOPLE[i % 4]
        if answer:
            text[int(rng.integers(0, words))] = answer
        rows.append({"id": f"q{i}", "text": " ".join(text), "question": "the team", "label": answer})
    return rows


def tagged() -> list[dict[str, Any]]:
    """Documents of labelled words: `the team` is a span of two words, and so is `a goal`."""
    texts = [text for texts in TEXTS.values() for text in texts] * 3
    return [{"id": f"d{i}", "words": t.split(), "label": _tags(t.split())} for i, t in enumerate(texts)]


def _tags(words: list[str]) -> list[str]:
    labels = ["O"] * len(words)
    for i, word in enumerate(words):
        if word in MARKS:
            labels[i] = MARKS[word]
            if i + 1 < len(words):
                labels[i + 1] = f"I-{labels[i][2:]}"
    return labels


def coded(disagree: int) -> list[dict[str, Any]]:
    """Three coders, the third of whom calls every so many-th text space."""
    return [
        {**row, "anna": row["label"], "ben": row["label"], "chiara": "space" if disagree and i % disagree == 0 else row["label"]}
        for i, row in enumerate(rows(2))
    ]  # fmt: skip


def base_model(folder: Path) -> Path:
    """A tiny random sentence model that has the words of the documents."""
    return tiny_sentence_model(folder, words=VOCABULARY)


def tune(
    *words: Any,
    base: Path,
    steps: int | None = 4,
    method: str | None = "full",
    code: int = 0,
    command: str = "finetune",
) -> Done:
    """Run `nlpkit finetune` on one thread; by default a few steps of full fine-tuning."""
    own: list[Any] = [command, *words, "--base", base, "--threads", "1"]
    own += [] if steps is None else ["--max-steps", steps]
    own += [] if method is None else ["--method", method]
    return run_cli(*own, code=code)


def refused(*words: Any, code: int, **how: Any) -> str:
    """Run it, and return the one line of its error."""
    return tune(*words, code=code, **how).error()


def chances(path: Path | str) -> np.ndarray:
    """The probabilities (D, J) in a table of predictions, classes in order of their names."""
    found = [dict(own) for own in pq.ParquetFile(path).read().column("probabilities").to_pylist()]
    return np.array([[own[name] for name in sorted(own)] for own in found])


def without_clocks(run: str) -> dict[str, bytes]:
    return {n: b for n, b in files(Path(run)).items() if n not in ("manifest.json", "metrics.json", "curve.jsonl")}


def stop_at(step: int, monkeypatch: pytest.MonkeyPatch, *, cell: int = 0) -> None:
    """Let Ctrl-C come in the middle of the update of a step of a training, by the signal itself."""
    import torch

    usual = torch.optim.AdamW.step
    seen: list[int] = []
    trainings: list[Any] = []  # the optimisers themselves: of one that is gone, the next may have the id

    def told(self: Any, *args: Any, **more: Any) -> Any:
        if all(self is not other for other in trainings):
            trainings.append(self)
            seen.clear()
        seen.append(1)
        if len(trainings) == cell + 1 and len(seen) == step:
            os.kill(os.getpid(), signal.SIGINT)
        return usual(self, *args, **more)

    monkeypatch.setattr(torch.optim.AdamW, "step", told)
