"""Documents that are in more than one part: told on the screen and in the model card."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import read, write_jsonl
from tests.finetune.finetune_data import rows, tune


def test_numbers_have_twins_as_well(base: Path) -> None:
    own = [{**row, "label": i / 7} for i, row in enumerate(rows(2))]
    write_jsonl(Path("train.jsonl"), own)
    same = [{**row, "id": f"t{i}", "label": row["label"] + (i % 2)} for i, row in enumerate(own[:6])]
    write_jsonl(Path("test.jsonl"), same)
    done = tune("train.jsonl", "--test", "test.jsonl", "-o", "run", base=base, method="head")
    assert "6 of 6 test documents are near-duplicates of a training document (3 with the same label)" in done.err
    twins = read("run/twins.parquet")
    assert twins.column("id").to_pylist() == [row["id"] for row in same]
    assert twins.column("label").to_pylist() == pytest.approx([row["label"] for row in same])
    assert twins.column("twin_label").to_pylist() == pytest.approx([row["label"] for row in own[:6]])


def test_a_checkpoint_does_not_ask_for_the_twins_of_before(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_jsonl(Path("train.jsonl"), rows())
    with monkeypatch.context() as patch:
        patch.setattr("nlpkit.finetune.run.run_tables", lambda *args, **how: 1 / 0)
        tune("train.jsonl", "-o", "run", base=base, code=70)
    done = tune("train.jsonl", "--resume", "--twins", "0", "-o", "run", base=base)
    assert "full, seed 42: taken from the checkpoint" in done.err


def test_the_card_tells_of_documents_in_two_parts(base: Path) -> None:
    own = rows()
    write_jsonl(Path("train.jsonl"), own)
    write_jsonl(Path("held.jsonl"), [{**row, "id": f"h{i}"} for i, row in enumerate(own[:5])])
    write_jsonl(Path("dev.jsonl"), [{**row, "id": f"d{i}"} for i, row in enumerate(own[:5])])
    done = tune("train.jsonl", "--test", "held.jsonl", "--dev", "dev.jsonl", "-o", "run", base=base)
    said = [
        "5 of 5 test documents are near-duplicates of a training document (5 with the same label)",
        "5 of 5 dev documents are near-duplicates of a training document: dev scores are too good, and end training late",
        "5 of 5 test documents are near-duplicates of a dev document: training ended where these were best",
    ]
    card = Path("run/model/classifier/README.md").read_text(encoding="utf-8")
    assert "36 documents to learn from; scores are from 5 test documents\n" in card
    for line in said:
        assert line in done.err
        assert f"- {line}\n" in card
    clean = [{**row, "id": f"c{i}", "text": f"{row['text']} quite another one {i}"} for i, row in enumerate(rows(1))]
    write_jsonl(Path("clean.jsonl"), clean)
    done = tune("train.jsonl", "--test", "clean.jsonl", "-f", "-o", "run", base=base)
    assert "near-duplicate" not in done.err + Path("run/model/classifier/README.md").read_text(encoding="utf-8")
    assert json.loads(Path("run/metrics.json").read_text())["training"]["training_documents"] == 36
