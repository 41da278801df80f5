"""A warning before texts of another language are encoded by an English model."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nlpkit.embed.encoders import warn_of_language

SAMPLES = Path(__file__).parents[2] / "data" / "samples"


def texts(name: str) -> list[str]:
    return [json.loads(line)["text"] for line in (SAMPLES / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("name", "encoder", "warned"),
    [
        ("nachrichten.jsonl", "sentence-transformers/all-MiniLM-L6-v2", True),
        ("news.jsonl", "sentence-transformers/all-MiniLM-L6-v2", False),
        ("nachrichten.jsonl", "multilingual", False),
    ],
)
def test_by_language_and_encoder(name: str, encoder: str, warned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("nlpkit.platform.reporting.warn", said.append)
    model: Any = SimpleNamespace(name=encoder)
    warn_of_language([None, *texts(name)], model)
    assert [line[:28] for line in said] == (["the texts are mostly 'de' and"[:28]] if warned else [])
