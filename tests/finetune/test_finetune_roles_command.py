"""What training may know of held-out documents: nothing of their labels, nothing of their texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nlpkit.classify.dataset import TRAIN
from nlpkit.errors import InputError, UsageError
from nlpkit.finetune.data.read import read_dataset
from nlpkit.finetune.options import DatasetOptions
from nlpkit.platform.documents.corpus import read_corpus
from tests.command_line import write_jsonl


def documents(rows: list[dict[str, Any]], *, seed: int = 0, **data: Any) -> Any:
    return read_documents(rows, seed=seed, **data)[0]


def read_documents(rows: list[dict[str, Any]], *, seed: int = 0, **data: Any) -> Any:
    """Return the data set and where it comes from."""
    path = write_jsonl(Path("train.jsonl"), rows)
    return read_dataset(read_corpus(path), DatasetOptions(**data), seed=seed)


def test_labels_of_held_out_words_alone_are_no_classes() -> None:
    rows: list[dict[str, Any]] = [
        {"id": str(i), "text": "a b", "words": ["a", "b"], "label": ["X", "O"]} for i in range(10)
    ]
    rows[3]["label"] = ["RARE", "O"]
    held_out = []
    for seed in range(20):
        found = documents(rows, seed=seed)
        held_out.append(found.split[3] != TRAIN)
        assert found.tag_names == (("O", "X") if held_out[-1] else ("O", "RARE", "X"))
    assert {*held_out} == {True, False}


def test_labels_of_held_out_documents_alone_are_no_classes() -> None:
    pairs = {
        2: "s",
        3: "s",
        7: "t",
        8: "t",
        10: "u",
        11: "u",
    }  # rarer than 'rare', so it is by these that documents are dealt
    own = [["y"] * (i % 2) + [pairs.get(i, "x")] + ["rare"] * (i in (2, 7, 10)) for i in range(16)]
    rows: list[dict[str, Any]] = [{"id": str(i), "text": f"text {i}", "label": labels} for i, labels in enumerate(own)]
    lost = []
    for seed in range(40):
        found = documents(rows, seed=seed, holdout=0.5)
        learned = {label for i in range(16) if found.split[i] == TRAIN for label in own[i]}
        assert set(found.labels.names) == learned
        lost.append("rare" not in learned)
    assert {*lost} == {True, False}


def test_a_context_ends_with_the_file() -> None:
    rows = [{"id": f"a{i}", "text": f"train {i}", "label": "xy"[i % 2]} for i in range(4)]
    test = write_jsonl(
        Path("test.jsonl"), [{"id": f"b{i}", "text": f"test {i}", "label": "xy"[i % 2]} for i in range(2)]
    )
    found = documents(rows, test=test, context=1)
    assert found.context == (
        ["", "train 0", "train 1", "train 2", "", "test 0"], ["train 1", "train 2", "train 3", "", "test 1", ""],
    )  # fmt: skip


def test_a_context_ends_with_each_file_of_the_input() -> None:
    names = []
    for name in "ab":
        rows = [{"id": f"{name}{i}", "text": None if i == 1 else f"{name} {i}", "label": "xy"[i % 2]} for i in range(4)]
        names.append(str(write_jsonl(Path(f"{name}.jsonl"), rows)))
    found = read_dataset(read_corpus(*names), DatasetOptions(context=1), seed=0)[0]
    assert found.table.column("id").to_pylist() == ["a0", "a2", "a3", "b0", "b2", "b3"]
    assert found.context == (["", "a 0", "a 2", "", "b 0", "b 2"], ["a 2", "a 3", "", "b 2", "b 3", ""])


@pytest.mark.parametrize("cv", [None, 2])
def test_a_label_of_one_document_among_several_is_kept(cv: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    own = [["x", "y"][: 1 + i % 2] + ["rare"] * (i == 3) for i in range(12)]
    found = documents([{"id": str(i), "text": f"text {i}", "label": labels} for i, labels in enumerate(own)], cv=cv)
    assert set(found.labels.names) == {"x", "y", "rare"}
    if cv is None:
        assert found.split[3] == TRAIN
    said = "in one fold there is nothing to learn from" if cv else "learned from, and not tested"
    assert f"1 label with a single document ('rare'): {said}" in capsys.readouterr().err


def test_pairs_without_a_second_text_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"id": str(i), "text": f"text {i}", "label": "xy"[i % 2], "other": None if i == 2 else "a"} for i in range(12)
    ]
    documents(rows, pair_col="other")
    assert "1 pair without a second text: read as if it were empty" in capsys.readouterr().err


def test_what_is_left_out_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[dict[str, Any]] = [
        {"id": f"{part}{i}", "text": f"text {i}", "label": "xy"[i % 2], "part": part}
        for part in ("train", "test", "holdout") for i in range(4)
    ]  # fmt: skip
    rows[0]["text"] = " "
    rows[1]["label"] = None
    rows[-1]["part"] = None
    _, provenance = read_documents([*rows, {**rows[3], "id": "another"}], split="part")
    assert [(row.id, row.reason) for row in provenance.dropped] == [
        ("train0", "no word"), ("train1", "no label"), ("holdout0", "part is 'holdout'"), ("holdout1", "part is 'holdout'"),
        ("holdout2", "part is 'holdout'"), ("holdout3", "no value in part"),
    ]  # fmt: skip
    said = capsys.readouterr().err
    assert "4 rows neither train, dev nor test (part is 'holdout' (3), no value in part (1)): left out" in said


@pytest.mark.parametrize("nothing", [None, float("nan"), ""])
def test_ratings_with_gaps_are_numbers(nothing: Any) -> None:
    rows = [{"id": str(i), "text": f"text {i}", "label": nothing if i % 3 == 0 else i + 0.5} for i in range(12)]
    found, provenance = read_documents(rows)
    assert found.kind == "regression"
    assert sorted(row.id for row in provenance.dropped) == ["0", "3", "6", "9"]


def test_a_number_of_words_is_not_the_words() -> None:
    rows = [{"id": str(i), "text": f"text {i}", "label": ["a", "b"][: 1 + i % 2], "words": 2} for i in range(12)]
    assert documents(rows).kind == "multi"


@pytest.mark.parametrize("labels", [["x", "y"], [["x"], ["y", "z"]]])
def test_a_test_of_other_labels_is_refused(labels: list[Any]) -> None:
    rows = [{"id": f"a{i}", "text": f"train {i}", "label": labels[i % 2]} for i in range(8)]
    other: list[Any] = [["no"], ["yes", "no"]] if isinstance(labels[0], list) else ["yes", "no"]
    test = [{"id": f"b{i}", "text": f"test {i}", "label": other[i % 2]} for i in range(4)]
    with pytest.raises(InputError):
        documents(rows, test=write_jsonl(Path("test.jsonl"), test))
    test.append({"id": "b9", "text": "one", "label": labels[0]})
    assert documents(rows, test=write_jsonl(Path("test.jsonl"), test)).table.num_rows == 13


def test_numbers_with_a_comma_are_no_classes() -> None:
    rows = [{"id": str(i), "text": f"text {i}", "label": f"{i % 5},{i}" if i % 3 else str(i)} for i in range(12)]
    with pytest.raises(
        UsageError, match=r"such as '1,1' look like numbers with a comma; write them with a point \(1\.1\)"
    ):
        documents(rows)
    with pytest.raises(
        InputError, match=r"document 1: the label '1,1' is not a number; `task=regression` needs numbers, such as 1\.1"
    ):
        documents(rows, task="regression")
    twice = [{**row, "id": f"{row['id']}-{n}"} for n in range(2) for row in rows]
    assert documents(twice, task="classes").kind == "single"
    assert documents([{**row, "label": str(row["label"]).replace(",", ".")} for row in rows]).kind == "regression"
