"""`nlpkit finetune --task answers`: spans of texts that answer questions, also of long texts, and of none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import nlpkit as nk
from nlpkit.errors import UsageError
from tests.command_line import read, run_cli, write_jsonl
from tests.finetune.finetune_data import asked, refused, tune

pytest.importorskip("torch")
TASK = ["--task", "answers", "--pair-col", "question"]


def scores() -> dict[str, float]:
    target = json.loads(Path("run/metrics.json").read_text())["targets"][0]
    return {name: score["value"] for name, score in target["metrics"].items()}


@pytest.mark.parametrize("method", ["full", "head", "lora(r=4)", "prompt(length=4)", "pfeiffer"])
def test_methods_train_write_and_are_read_again(method: str, base: Path) -> None:
    write_jsonl(Path("train.jsonl"), asked())
    tune("train.jsonl", *TASK, "--lr", "0.003", "-q", "-o", "run", base=base, method=method)
    tested = read("run/documents.parquet").to_pylist()
    texts = {row["id"]: row for row in asked()}
    for row in tested:
        start = row["answer_start"]
        assert texts[row["id"]]["text"][start : start + len(row["prediction"])] == row["prediction"] != ""
        assert 0 <= row["prediction_prob"] <= 1
    write_jsonl(Path("new.jsonl"), [texts[row["id"]] for row in tested])
    run_cli("predict", "run", "new.jsonl", "--threads", "1", "-f", "-o", "p.parquet")
    again = read("p.parquet").to_pylist()
    assert [row["prediction"] for row in again] == [row["prediction"] for row in tested]
    assert [row["answer_start"] for row in again] == [row["answer_start"] for row in tested]
    np.testing.assert_allclose(*[[row["prediction_prob"] for row in t] for t in (again, tested)], atol=1e-5)


def test_answers_are_learned_and_scored_as_in_squad(base: Path) -> None:
    write_jsonl(Path("train.jsonl"), asked())
    done = tune("train.jsonl", *TASK, "--lr", "0.003", "-o", "run", base=base, steps=120)
    assert "answers to questions" in done.err
    assert scores()["answer_exact"] > 0.7
    documents = read("run/documents.parquet")
    rows = [{"id": r["id"], "label": r["label"], "prediction": r["prediction"]} for r in documents.to_pylist()]
    write_jsonl(Path("scored.jsonl"), rows)
    again = run_cli("evaluate", "scored.jsonl", "--metrics", "answer_exact,answer_f1", "--json").json()
    found = {name: score["value"] for name, score in again["targets"][0]["metrics"].items()}
    assert found == pytest.approx({name: scores()[name] for name in found})
    card = Path("run/model/transformers/README.md").read_text()
    assert "question-answering" in card
    assert "AutoModelForQuestionAnswering" in card
    assert read("run/errors.parquet").column_names == ["id", "label", "prediction", "answer_f1", "question"]


def test_transformers_finds_the_same_answers(base: Path) -> None:
    import torch
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    own = asked(none=True)
    write_jsonl(Path("train.jsonl"), own)
    tune("train.jsonl", *TASK, "--lr", "0.003", "-q", "-o", "run", base=base, steps=40)
    model, info = AutoModelForQuestionAnswering.from_pretrained("run/model/transformers", output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    tokenizer = AutoTokenizer.from_pretrained("run/model/transformers")
    write_jsonl(Path("new.jsonl"), own)
    run_cli("predict", "run", "new.jsonl", "-q", "-o", "p.parquet")
    for row in read("p.parquet").to_pylist():
        batch = tokenizer(row["question"], row["text"], return_offsets_mapping=True, return_tensors="pt")
        offsets, of_text = batch.pop("offset_mapping")[0], np.array(batch.sequence_ids()) == 1
        with torch.no_grad():
            out = model.eval()(**batch)
        start, end = (z[0].numpy() for z in (out.start_logits, out.end_logits))
        spans = [(i, j) for i in range(len(start)) for j in range(i, len(start)) if of_text[i] and of_text[j]]
        i, j = max(spans, key=lambda span: start[span[0]] + end[span[1]])
        answer = "" if start[0] + end[0] > start[i] + end[j] else row["text"][offsets[i, 0] : offsets[j, 1]]
        assert row["prediction"] == answer


def test_texts_without_an_answer_are_learned(base: Path) -> None:
    write_jsonl(Path("train.jsonl"), asked(96, none=True))
    tune("train.jsonl", *TASK, "--lr", "0.003", "-q", "-o", "run", base=base, steps=140)
    assert scores()["answer_exact"] > 0.7
    assert json.loads(Path("run/manifest.json").read_text())["parameters"]["classes"] == ["answer", "none"]
    rows = read("run/documents.parquet").to_pylist()
    assert {bool(row["prediction"]) for row in rows} == {True, False}
    assert all((row["answer_start"] is None) == (not row["prediction"]) for row in rows)
    done = run_cli("predict", "run", "train.jsonl", "-f", "-o", "p.parquet")
    assert "predictions for 96 documents" in done.err


def test_long_texts_are_read_in_windows(base: Path) -> None:
    write_jsonl(Path("train.jsonl"), asked(words=60))
    more = ["--max-tokens", "32", "--overlap", "8", "--answer-tokens", "2", "--lr", "0.003"]
    tune("train.jsonl", *TASK, *more, "-q", "-o", "run", base=base, steps=60)
    rows = read("run/documents.parquet").to_pylist()
    assert max(row["answer_start"] for row in rows) > 120  # beyond the first window
    assert all(len(row["prediction"].split()) <= 2 for row in rows)
    write_jsonl(Path("new.jsonl"), [{"id": "none", "text": "", "question": "the team"}, asked(words=60)[0]])
    run_cli("predict", "run", "new.jsonl", "-o", "p.parquet")
    assert read("p.parquet").column("prediction").to_pylist()[0] == ""


def test_starts_of_answers(base: Path) -> None:
    own = [{**row, "text": f"{row['label']} {row['text']}", "at": 0} for row in asked()]
    write_jsonl(Path("train.jsonl"), own)
    done = tune("train.jsonl", *TASK, "-o", "run", base=base)
    assert "48 answers occur more than once in the text: the first position is used; see --answer-start-col" in done.err
    done = tune("train.jsonl", *TASK, "--answer-start-col", "at", "-f", "-o", "run", base=base)
    assert "more than once" not in done.err
    own[0]["at"] = 1
    error = refused(
        write_jsonl(Path("t.jsonl"), own), *TASK, "--answer-start-col", "at", "--cv", "2", "-o", "x", base=base, code=3
    )
    assert "document q0: the answer 'coach' does not stand at character 1 of its text" in error


def test_answers_in_no_window_are_told(base: Path) -> None:
    own = asked(words=60)
    own[0]["label"] = own[0]["text"]
    write_jsonl(Path("test.jsonl"), [{**row, "id": f"t{row['id']}"} for row in own[40:]])
    write_jsonl(Path("train.jsonl"), own[:40])
    done = tune("train.jsonl", *TASK, "--max-tokens", "32", "--test", "test.jsonl", "-o", "run", base=base)
    assert "do not fit into a window and are not learned; raise" in done.err
    assert "8 test documents" not in done.err  # none of these texts is one of training


def test_an_answer_that_its_test_document_does_not_have_is_told(base: Path) -> None:
    own = asked()
    write_jsonl(
        Path("test.jsonl"), [{**row, "id": f"t{row['id']}"} for row in asked(8)] + [{**own[0], "label": "bird"}]
    )
    write_jsonl(Path("train.jsonl"), own[1:])
    done = tune("train.jsonl", *TASK, "--test", "test.jsonl", "-o", "run", base=base, steps=1)
    assert "of test documents do not occur literally in the text, so no" in done.err
    assert "'bird' of document q0" in done.err


@pytest.mark.parametrize(
    ("change", "more", "code", "said"),
    [
        ({"label": "bird"}, TASK, 3, "the answer 'bird' does not occur in its text"),
        ({"label": ["coach"]}, TASK, 3, "needs one answer per document as text, but the column has"),
        ({}, ["--task", "answers"], 2, "--pair-col"),
        ({}, ["--task", "answers", "--pair-col", "query"], 3, "no column 'query'"),
        ({}, [*TASK, "--answer-start-col", "at"], 3, "no column 'at'"),
        ({}, [*TASK, "--method", "setfit"], 2, "setfit learns classes"),
        ({}, [*TASK, "--calibrate"], 2, "--calibrate is not for answers"),
        ({}, [*TASK, "--shots", "4"], 2, "--shots"),
        ({}, ["--answer-tokens", "3"], 2, "--task answers"),
        ({}, ["--overlap", "3"], 2, "--task answers"),
        ({"label": None}, TASK, 3, "has a label"),
    ],
)
def test_what_cannot_be(change: dict[str, Any], more: list[str], code: int, said: str, base: Path) -> None:
    write_jsonl(Path("train.jsonl"), [{**row, **change} for row in asked(12)])
    assert said in refused("train.jsonl", *more, "-o", "run", base=base, code=code, method=None)


def test_from_python(base: Path) -> None:
    table = pa.Table.from_pylist(asked())
    tuned = nk.finetune(
        table, task="answers", pair_col="question", base=str(base), method="head", max_steps=3, threads=1
    )
    assert set(tuned.evaluation) >= {"answer_exact", "answer_f1"}
    with pytest.raises(UsageError) as error:
        nk.finetune(table, task="answers", base=str(base))
    assert error.value.parameter == "pair_col"
