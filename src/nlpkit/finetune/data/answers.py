"""Answers to questions as spans of texts: the places where they start and end, in windows of texts that are too long for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nlpkit.errors import InputError
from nlpkit.platform.types import FloatArray, IntArray, LongArray

if TYPE_CHECKING:
    from nlpkit.finetune.data.inputs import Inputs

NONE, MISSING = (-1, -1), (-2, -2)  # spans of a text that has no answer, and of an answer that its text does not have


def span_of(text: str, answer: str, start: int | None) -> tuple[int, int]:
    """Return where an answer stands in its text, in characters: at `start`, or else where it comes first; NONE, or MISSING."""
    if not answer.strip():
        return NONE
    first = text.find(answer) if start is None else start if start >= 0 and text.startswith(answer, start) else -1
    return (first, first + len(answer)) if first >= 0 else MISSING


def window_targets(inputs: Inputs, spans: LongArray) -> LongArray:
    """Return the first and the last token (W, 2) of the answer in each window; 0, the first token, where it has not all of it.

    Args:
        spans: (D, 2) of the documents, in characters.
    """
    assert inputs.offsets is not None
    assert inputs.documents is not None
    targets = np.zeros((len(inputs.offsets), 2), np.int64)
    for w, (offsets, d) in enumerate(zip(inputs.offsets, inputs.documents.tolist(), strict=True)):
        start, end = spans[d].tolist()
        inside = np.flatnonzero((offsets[:, 0] < end) & (offsets[:, 1] > start) & (offsets[:, 0] >= 0))
        if start < 0 or not len(inside):
            continue
        seen = offsets[offsets[:, 0] >= 0]
        if seen[0, 0] <= start and seen[-1, 1] >= end:
            targets[w] = inside[0], inside[-1]
    return targets


def windows_to_learn(inputs: Inputs, spans: LongArray, targets: LongArray, rows: LongArray) -> tuple[LongArray, int]:
    """Return the windows of some documents, without documents whose answer no window has all of, and the number of these.

    Raises:
        InputError: none is left.
    """
    assert inputs.documents is not None
    whole = np.zeros(len(spans), bool)
    whole[inputs.documents[targets[:, 1] > 0]] = True
    learned = rows[whole[rows] | (spans[rows, 0] < 0)]
    windows = np.flatnonzero(np.isin(inputs.documents, learned))
    if not len(windows):
        raise InputError("no answer of a training document fits into the model's window; raise `max_tokens`")
    return windows, len(rows) - len(learned)


def best_span(logits: FloatArray, offsets: IntArray, longest: int) -> tuple[int, int, float]:
    """Return the first and the last token of the span with the largest start + end, and that sum; -inf where there is no token.

    Args:
        logits: (T, 2) of start and end. offsets: (T, 2) characters of the tokens of the text, -1 for all others, which no span has.
        longest: tokens of a span at most.
    """
    of_text = offsets[:, 0] >= 0
    start, end = (np.where(of_text, logits[:, side], -np.inf) for side in (0, 1))
    best = (0, 0, -np.inf)
    for further in range(min(longest, len(start))):
        sums = start[: len(start) - further] + end[further:]
        i = int(sums.argmax())
        if sums[i] > best[2]:
            best = (i, i + further, float(sums[i]))
    return best


def answer_outputs(
    inputs: Inputs, windows: LongArray, logits: Sequence[FloatArray], rows: LongArray, longest: int
) -> FloatArray:
    """Return of each document (n, 5): start and end of its best span in characters, how far its score is above that of no answer, the
    log-probability of the span in its window, and of no answer.

    Of several windows the span with the best score counts, and the least score of no answer (Devlin et al. 2019, §4.3, on SQuAD 2).

    Args:
        windows: of these documents. logits: of each (T, 2).
    """
    assert inputs.offsets is not None
    assert inputs.documents is not None
    place = {d: i for i, d in enumerate(rows.tolist())}
    outputs = np.zeros((len(rows), 5))
    outputs[:, 3] = -np.inf
    best, none = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    for w, z in zip(windows.tolist(), logits, strict=True):
        i, offsets = place[int(inputs.documents[w])], inputs.offsets[w]
        z = z[: len(offsets)].astype(np.float64)
        log_z = float(np.logaddexp.reduce(z, axis=0).sum())
        first, last, score = best_span(z, offsets, longest)
        if score > best[i]:
            best[i] = score
            outputs[i, [0, 1, 3]] = offsets[first, 0], offsets[last, 1], score - log_z
        no_answer = float(z[0].sum())
        if no_answer < none[i]:
            none[i], outputs[i, 4] = no_answer, no_answer - log_z
    outputs[:, 2] = np.where(np.isfinite(best), best - none, -1e9)
    return outputs


def answers_of(texts: Sequence[str], spans: Any) -> list[str | None]:
    """Return the answers of spans (n, 2) in characters: "" for no answer, None for a text that was not asked."""
    return [
        None if start == MISSING[0] else text[max(start, 0) : max(end, 0)].strip()
        for text, (start, end) in zip(texts, np.asarray(spans).tolist(), strict=True)
    ]
