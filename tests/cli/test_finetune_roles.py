"""What training may know of held-out documents: nothing of their labels, nothing of their texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nlpkit.cli.finetune_corpus import TRAIN, read_tuning_documents
from nlpkit.cli.finetune_flags import TuneDataFlags
from nlpkit.cli.options import ReadFlags
from tests.cli.conftest import write_jsonl


def documents(rows: list[dict[str, Any]], *, seed: int = 0, **data: Any) -> Any:
    path = write_jsonl(Path("train.jsonl"), rows)
    return read_tuning_documents([str(path)], TuneDataFlags(**data), ReadFlags(), seed=seed)


@pytest.mark.parametrize("seed", range(8))
def test_labels_of_held_out_words_alone_are_no_classes(seed: int) -> None:
    rows: list[dict[str, Any]] = [
        {"id": str(i), "text": "a b", "words": ["a", "b"], "label": ["X", "O"]} for i in range(10)
    ]
    rows[3]["label"] = ["RARE", "O"]
    found = documents(rows, seed=seed)
    assert found.tag_names == (("O", "X") if found.part[3] != TRAIN else ("O", "RARE", "X"))


@pytest.mark.parametrize("seed", range(8))
def test_labels_of_held_out_documents_alone_are_no_classes(seed: int) -> None:
    own = [["x", "y", "rare"] if i in (2, 7) else ["x", "y"][: 1 + i % 2] for i in range(16)]
    rows: list[dict[str, Any]] = [{"id": str(i), "text": f"text {i}", "label": labels} for i, labels in enumerate(own)]
    found = documents(rows, seed=seed, holdout=0.5)
    learned = {label for i in range(16) if found.part[i] == TRAIN for label in own[i]}
    assert set(found.labels.names) == learned


def test_a_context_ends_with_the_file() -> None:
    rows = [{"id": f"a{i}", "text": f"train {i}", "label": "xy"[i % 2]} for i in range(4)]
    test = write_jsonl(
        Path("test.jsonl"), [{"id": f"b{i}", "text": f"test {i}", "label": "xy"[i % 2]} for i in range(2)]
    )
    found = documents(rows, test=test, context=1)
    assert found.context == (
        ["", "train 0", "train 1", "train 2", "", "test 0"], ["train 1", "train 2", "train 3", "", "test 1", ""],
    )  # fmt: skip
