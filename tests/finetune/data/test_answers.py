"""Spans of answers: against all spans, windows that overlap, targets that no window has, and places in characters."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from nlpkit.embed.tokenizers import load_tokenizer
from nlpkit.errors import InputError
from nlpkit.finetune.data.answers import (
    MISSING,
    NONE,
    answer_outputs,
    answers_of,
    best_span,
    span_of,
    window_targets,
    windows_to_learn,
)
from nlpkit.finetune.data.inputs import Frame, Inputs, encode_answers
from nlpkit.finetune.predictions import predictions_of
from nlpkit.finetune.tasks import FinetuneTask, Targets
from tests.finetune.eight import one_thread  # noqa: F401
from tests.finetune.tiny import tiny_bert

TEXT = "the cat sat on the mat and the dog ran to the house of the cat"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load_tokenizer(tiny_bert(tmp_path_factory.mktemp("base") / "bert", words=TEXT.split()), words=False)


def windows(
    tokenizer: Any, texts: list[str], max_tokens: int = 14, overlap: int = 4, question: str = "cat sat"
) -> Inputs:
    frame = Frame((2,), (3,), (3,), 0, typed=True)  # [CLS] a [SEP] b [SEP]
    return encode_answers(tokenizer, frame, [question] * len(texts), texts, max_tokens=max_tokens, overlap=overlap)


@pytest.mark.parametrize(
    ("answer", "start", "span"),
    [("the mat", None, (15, 22)), ("cat", 59, (59, 62)), ("cat", 5, MISSING), ("bird", None, MISSING), ("", None, NONE),
     (" ", 3, NONE), ("cat", -3, MISSING)],
)  # fmt: skip
def test_places_of_answers(answer: str, start: int | None, span: tuple[int, int]) -> None:
    assert span_of(TEXT, answer, start) == span


def test_windows_hold_every_token_and_overlap(tokenizer: Any) -> None:
    inputs = windows(tokenizer, [TEXT, "the cat", ""])
    assert inputs.documents is not None
    assert inputs.offsets is not None
    assert inputs.documents.tolist() == [0, 0, 0, 1, 2]
    words = TEXT.split()
    starts = [len(" ".join([*words[:i], ""])) for i in range(len(words))]
    seen = [
        [o[0] for o in own.tolist() if o[0] >= 0]
        for own, d in zip(inputs.offsets, inputs.documents, strict=True)
        if not d
    ]
    assert sorted({s for own in seen for s in own}) == starts
    for one, two in pairwise(seen):
        assert one[-4:] == two[:4]
    assert all(len(own) == n for own, n in zip(inputs.offsets, inputs.lengths, strict=True))
    assert inputs.lengths.max() == 14
    batch = inputs.batch(np.array([0, 4]), torch.device("cpu"))
    assert batch["input_ids"][1, :5].tolist() == [2, *batch["input_ids"][0, 1:3].tolist(), 3, 3]
    assert batch["token_type_ids"][0].tolist() == [0] * 4 + [1] * 10


def test_a_long_question_leaves_room_for_the_text(tokenizer: Any) -> None:
    inputs = windows(tokenizer, [TEXT], max_tokens=13, overlap=99, question="cat " * 40)
    assert inputs.lengths.tolist()[:-1] == [13] * (len(inputs.lengths) - 1)
    assert int(inputs.cut.sum()) == 35


def test_targets_are_the_first_and_last_token_of_whole_answers(tokenizer: Any) -> None:
    inputs = windows(tokenizer, [TEXT, TEXT, TEXT])
    spans = np.array([span_of(TEXT, "the mat", None), NONE, span_of(TEXT, TEXT, None)])
    y = window_targets(inputs, spans)
    assert inputs.offsets is not None
    for w, (first, last) in enumerate(y.tolist()):
        if first:
            assert TEXT[inputs.offsets[w][first, 0] : inputs.offsets[w][last, 1]] == "the mat"
    assert (y[:3] > 0).any()
    assert not y[3:].any()
    learned, unfit = windows_to_learn(inputs, spans, y, np.array([0, 1, 2]))
    assert (learned.tolist(), unfit) == ([0, 1, 2, 3, 4, 5], 1)
    with pytest.raises(InputError, match="max_tokens"):
        windows_to_learn(inputs, spans, y, np.array([2]))


@pytest.mark.parametrize("longest", [1, 3, 99])
def test_the_best_span_is_that_of_all(longest: int) -> None:
    rng = np.random.default_rng(longest)
    for T in (1, 2, 7, 12):
        z, offsets = rng.normal(size=(T, 2)), np.column_stack([np.arange(T), np.arange(T) + 1]).astype(np.int32)
        offsets[rng.random(T) < 0.3] = -1
        every = {
            (i, j): z[i, 0] + z[j, 1]
            for i in range(T) for j in range(i, min(T, i + longest)) if offsets[i, 0] >= 0 and offsets[j, 0] >= 0
        }  # fmt: skip
        first, last, score = best_span(z, offsets, longest)
        if not every:
            assert score == -np.inf
        else:
            assert (first, last) == max(every, key=lambda span: every[span])
            assert score == pytest.approx(max(every.values()))


def test_of_several_windows_the_best_span_and_the_least_no_answer_count() -> None:
    offsets = tuple(np.array([[-1, -1], [a, a + 1], [a + 1, a + 2]], np.int32) for a in (0, 2))
    zeros = np.zeros(0, np.int32)
    inputs = Inputs(
        zeros, None, np.zeros(3, np.int64), np.array([3, 3]), np.zeros(2, np.int64), np.zeros(2, np.int64),
        Frame((1,), (), (), 0, typed=False), documents=np.array([5, 5]), offsets=offsets,
    )  # fmt: skip
    z = [np.array([[4.0, 4], [1, 0], [0, 1]]), np.array([[1.0, 1], [3, 0], [0, 3]])]
    out = answer_outputs(inputs, np.array([0, 1]), z, np.array([5]), 30)
    assert out[0, :3].tolist() == [2, 4, 6 - 2]
    log_z = float(np.logaddexp.reduce(z[1], axis=0).sum())
    assert out[0, 3:] == pytest.approx([6 - log_z, 2 - log_z])
    can, cannot = FinetuneTask("answer", ("answer", "none")), FinetuneTask("answer", ("answer",))
    assert predictions_of(can, out).spans.tolist() == [[2, 4]]  # type: ignore[union-attr]
    out[0, 2] = -1
    assert predictions_of(can, out).spans.tolist() == [list(NONE)]  # type: ignore[union-attr]
    assert predictions_of(cannot, out).spans.tolist() == [[2, 4]]  # type: ignore[union-attr]
    assert predictions_of(can, out).span_probs.tolist() == pytest.approx([np.exp(2 - log_z)])  # type: ignore[union-attr]


def test_answers_are_parts_of_texts() -> None:
    assert answers_of([TEXT, TEXT, TEXT, " a "], [(4, 8), NONE, MISSING, (0, 3)]) == ["cat", "", None, "a"]


def test_the_loss_is_the_mean_of_both_cross_entropies() -> None:
    z = torch.randn(2, 5, 2, generator=torch.Generator().manual_seed(0))
    y = np.array([[1, 3], [0, 0]])
    targets = Targets(FinetuneTask("answer", ("answer",)), y)
    expected = (
        sum(functional.cross_entropy(z[:, :, side], torch.from_numpy(y[:, side]), reduction="sum") for side in (0, 1))
        / 2
    )
    torch.testing.assert_close(targets.loss(z, np.array([0, 1])), expected)
    assert targets.weight(np.array([0, 1])) == 2


def test_a_text_of_bytes_keeps_its_characters(tmp_path: Path) -> None:
    text = "ünï the cat"
    own = load_tokenizer(tiny_bert(tmp_path / "bert", words=["cat"]), words=False)
    inputs = windows(own, [text], max_tokens=40)
    y = window_targets(inputs, np.array([span_of(text, "cat", None)]))
    assert inputs.offsets is not None
    assert text[inputs.offsets[0][y[0, 0], 0] : inputs.offsets[0][y[0, 1], 1]] == "cat"
