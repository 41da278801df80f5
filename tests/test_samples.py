"""The sample corpora keep what the README and the other tests build on."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parents[1] / "data" / "samples"
KEYS = ["id", "title", "text", "label", "date", "source"]


def rows(name: str) -> list[dict[str, Any]]:
    with (SAMPLES / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize(
    ("name", "least", "labels", "words"), [("news.jsonl", 400, 8, (40, 150)), ("nachrichten.jsonl", 80, 5, (40, 150))]
)
def test_corpora_have_what_is_promised(name: str, least: int, labels: int, words: tuple[int, int]) -> None:
    found = rows(name)
    assert len(found) >= least
    assert all(list(row) == KEYS for row in found)
    assert len({row["id"] for row in found}) == len(found)
    assert len({row["text"] for row in found}) == len(found)
    counts = Counter(row["label"] for row in found)
    assert len(counts) == labels
    assert max(counts.values()) == min(counts.values())
    lengths = [len(row["text"].split()) for row in found]
    assert words[0] <= min(lengths)
    assert max(lengths) <= words[1]


def test_news_covers_24_months() -> None:
    months = Counter(date.fromisoformat(row["date"]).strftime("%Y-%m") for row in rows("news.jsonl"))
    assert len(months) == 24


def test_no_two_texts_share_a_sentence_frame() -> None:
    seen: dict[tuple[str, ...], str] = {}
    for row in rows("news.jsonl") + rows("nachrichten.jsonl"):
        words = row["text"].lower().split()
        for i in range(len(words) - 7):
            frame = tuple(words[i : i + 8])
            assert seen.setdefault(frame, row["id"]) == row["id"], (frame, row["id"], seen[frame])


def test_hard_cases_are_hard() -> None:
    found = rows("hard.jsonl")
    assert len({row["id"] for row in found}) == len(found)
    texts = [row["text"] for row in found]
    assert "" in texts
    assert any(t and not t.strip() for t in texts)
    assert any(count > 1 for count in Counter(texts).values())
    assert any(len(t.split()) >= 5000 for t in texts)
    assert any(len(t.split()) == 1 for t in texts)
    assert any("<p" in t and "&amp;" in t for t in texts)
    for script in ("图", "の", "ا", "न", "ต", "м", "ν", "ג", "강"):
        assert any(script in t for t in texts), script


def test_questions_are_short_and_balanced() -> None:
    found = rows("questions.jsonl")
    assert all(list(row) == ["id", "label", "text"] for row in found)
    assert len({row["text"] for row in found}) == len({row["id"] for row in found}) == len(found)
    assert set(Counter(row["label"] for row in found).values()) == {18}
    assert max(len(row["text"].split()) for row in found) <= 15
