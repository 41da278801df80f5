"""Texts, pairs, texts with their neighbours and words, as the token ids a network reads: cut, counted, laid end to end."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nlpkit.embed.encoder import encodable
from nlpkit.errors import UsageError
from nlpkit.types import IntArray, LongArray

_CHUNK = 1024


@dataclass(frozen=True, slots=True)
class Frame:
    """The special tokens a tokenizer puts around one text and between two, such as [CLS] a [SEP] b [SEP]."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    pad: int
    typed: bool  # the network has types of tokens, and of a pair the second text has type 1

    @property
    def single(self) -> int:
        """Special tokens around one text."""
        return len(self.before) + len(self.after)


@dataclass(frozen=True, slots=True)
class Inputs:
    """Token ids of n examples, end to end.

    flat, types: (Σ lengths,) int32; types is None where the network has none
    starts (n + 1,), lengths (n,) int64: special tokens included
    counts, cut (n,) int64: tokens before the cut, without special ones, and how many of them the cut took
    words: of each example the own word (index) of every token, -1 for others; None where examples are not words; see `encode_words`
    """

    flat: IntArray
    types: IntArray | None
    starts: LongArray
    lengths: LongArray
    counts: LongArray
    cut: LongArray
    frame: Frame
    words: tuple[IntArray, ...] | None = None
    n_words: LongArray | None = None  # (n,) own words of each example, also those without a token
    documents: LongArray | None = None  # (n,) of windows: the document that each is of
    offsets: tuple[IntArray, ...] | None = (
        None  # of windows: characters (T, 2) of each token of the text, -1 for all others
    )

    def batch(self, rows: LongArray, device: torch.device) -> dict[str, Tensor]:
        """Return what the network takes for some rows (B,), each padded to the longest of them (T): int64 (B, T)."""
        lengths = self.lengths[rows]
        width = int(lengths.max(initial=1))
        at = np.arange(width)[None, :]
        seen = at < lengths[:, None]
        places = np.where(seen, self.starts[rows][:, None] + at, 0)
        ids = np.where(seen, self.flat[places], self.frame.pad).astype(np.int64)
        arrays = {"input_ids": ids, "attention_mask": seen.astype(np.int64)}
        if self.types is not None:
            arrays["token_type_ids"] = np.where(seen, self.types[places], 0).astype(np.int64)
        return {name: torch.from_numpy(values).to(device) for name, values in arrays.items()}


def frame_of(tokenizer: Any, *, typed: bool) -> Frame:
    """Return the special tokens of a transformers tokenizer.

    Args:
        typed: whether the network has embeddings for the second type of tokens.
    """
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    one = backend.encode("a")
    inside = [i for i, special in enumerate(one.special_tokens_mask) if not special]
    first, last = (inside[0], inside[-1] + 1) if inside else (len(one.ids), len(one.ids))
    before, after = one.ids[:first], one.ids[last:]
    two = backend.encode("a", "a")
    n = last - first
    between = two.ids[first + n : len(two.ids) - n - len(after)]
    pad = tokenizer.pad_token_id
    typed = typed and 1 in two.type_ids
    return Frame(tuple(before), tuple(between), tuple(after), 0 if pad is None else int(pad), typed)


def encode(
    tokenizer: Any, frame: Frame, texts: Sequence[str], seconds: Sequence[str] | None = None, *, max_tokens: int
) -> Inputs:
    """Return texts (n,), or pairs of texts, as inputs of at most `max_tokens` tokens.

    Of a pair the longer text is cut until both fit.
    """
    others: Iterable[list[int]] = ([] for _ in texts) if seconds is None else _ids(tokenizer, seconds)
    room = max_tokens - frame.single - (len(frame.between) if seconds is not None else 0)
    _check_room(room, max_tokens)

    def rows() -> Iterator[tuple[list[int], list[int] | None, int, int]]:
        for a, b in zip(_ids(tokenizer, texts), others, strict=True):
            keep_a, keep_b = share_room(len(a), len(b), room)
            yield (
                a[:keep_a],
                (None if seconds is None else b[:keep_b]),
                len(a) + len(b),
                len(a) + len(b) - keep_a - keep_b,
            )

    return lay_out(rows(), frame)


def encode_context(
    tokenizer: Any, frame: Frame, texts: Sequence[str], before: Sequence[str], after: Sequence[str], *, max_tokens: int
) -> Inputs:
    """Return `[target] <sep> [before] <sep> [after]` of each text as inputs (lecture; Rieger et al. 2024, §4).

    The target is cut last: what it leaves goes to both sides alike, of which the text nearest to the target is kept. Of networks
    with types, the context has the second.
    """
    gaps = 2 * len(frame.between)
    room = max_tokens - frame.single - gaps
    _check_room(room, max_tokens)

    def rows() -> Iterator[tuple[list[int], list[int] | None, int, int]]:
        for target, left, right in zip(
            _ids(tokenizer, texts), _ids(tokenizer, before), _ids(tokenizer, after), strict=True
        ):
            keep = min(len(target), room)
            keep_l, keep_r = share_room(len(left), len(right), room - keep)
            context = [*left[len(left) - keep_l :], *frame.between, *right[:keep_r]]
            n = len(target) + len(left) + len(right)
            yield target[:keep], context, n, n - keep - keep_l - keep_r

    return lay_out(rows(), frame)


def encode_words(
    tokenizer: Any, frame: Frame, texts: Sequence[Sequence[str]], *, max_tokens: int, overlap: int = 0
) -> Inputs:
    """Return texts that are lists of words as inputs: as many windows of a text as it takes, each of which has words of its own.

    `words` gives for each token of a window the number of its word among the window's own, -1 where the word is another window's;
    `n_words` how many these are. The words of a text are those of its windows, in their order. Words that the tokenizer makes
    nothing of have no token.

    Args:
        overlap: tokens that two windows in a row have in common, at most half a window. The first half of these is the earlier one's.
    """
    backend = tokenizer.backend_tokenizer
    room = max_tokens - frame.single
    _check_room(room, max_tokens)
    words: list[IntArray] = []
    documents: list[int] = []
    counts: list[int] = []

    def rows() -> Iterator[tuple[list[int], list[int] | None, int, int]]:
        d = 0
        for start in range(0, len(texts), _CHUNK):
            chunk = [[encodable(word) for word in text] for text in texts[start : start + _CHUNK]]
            for encoding in backend.encode_batch(chunk, is_pretokenized=True, add_special_tokens=False):
                of_token = np.array([-1 if w is None else w for w in encoding.word_ids], np.int32)
                for at, first, end in word_windows(of_token, len(texts[d]), room, overlap):
                    inside = of_token[at : at + room]
                    numbers = np.where((inside >= first) & (inside < end), inside - first, -1)
                    edges = np.full(len(frame.before), -1, np.int32), np.full(len(frame.after), -1, np.int32)
                    words.append(np.concatenate([edges[0], numbers, edges[1]]).astype(np.int32))
                    documents.append(d)
                    counts.append(end - first)
                    yield encoding.ids[at : at + room], None, len(inside), 0
                d += 1

    inputs = lay_out(rows(), frame)
    return replace(
        inputs, words=tuple(words), n_words=np.array(counts, np.int64), documents=np.array(documents, np.int64)
    )


def word_windows(words: IntArray, n_words: int, room: int, overlap: int) -> list[tuple[int, int, int]]:
    """Return the windows of a text: its first token, its first own word, and the end of its own words.

    Args:
        words: (T,) the word of each token. room: tokens of a window. overlap: see `encode_words`.
    """
    common = min(overlap, room // 2)
    step = room - common
    starts = list(range(0, max(1, len(words) - room + step), step))
    firsts = first_tokens(words)
    bounds = [0]
    for at in starts[1:]:
        after = firsts[firsts >= at + common // 2]
        bounds.append(int(words[after[0]]) if len(after) else n_words)
    return list(zip(starts, bounds, [*bounds[1:], n_words], strict=True))


def labels_of_windows(inputs: Inputs, labels: Sequence[LongArray]) -> list[LongArray]:
    """Return the labels of the own words of each window (W,), of those of the words of each text (D,); none where a text has none."""
    assert inputs.documents is not None
    assert inputs.n_words is not None
    parts, at, before = [], 0, -1
    for d, n in zip(inputs.documents.tolist(), inputs.n_words.tolist(), strict=True):
        at = 0 if d != before else at
        parts.append(labels[d][at : at + n])
        at, before = at + n, d
    return parts


def encode_answers(
    tokenizer: Any, frame: Frame, questions: Sequence[str], texts: Sequence[str], *, max_tokens: int, overlap: int
) -> Inputs:
    """Return `[question] <sep> [window of the text]` as inputs: as many windows for a text as it takes.

    A question is cut to half of what has room. Two windows in a row have `overlap` tokens in common, at most half a window.
    """
    room = max_tokens - frame.single - len(frame.between)
    _check_room(room - 1, max_tokens)
    documents: list[int] = []
    offsets: list[IntArray] = []
    edges = len(frame.before), len(frame.after)

    def rows() -> Iterator[tuple[list[int], list[int] | None, int, int]]:
        d = 0
        for start in range(0, len(texts), _CHUNK):
            chunk = [encodable(text) for text in texts[start : start + _CHUNK]]
            question_ids = _ids(tokenizer, questions[start : start + _CHUNK])
            for question, encoding in zip(
                question_ids, tokenizer.backend_tokenizer.encode_batch(chunk, add_special_tokens=False), strict=True
            ):
                kept = question[: room // 2]
                width = room - len(kept)
                step = width - min(overlap, width // 2)
                for at in range(0, max(1, len(encoding.ids) - width + step), step):
                    part = slice(at, at + width)
                    before = edges[0] + len(kept) + len(frame.between)
                    of_window = np.array(encoding.offsets[part], np.int32).reshape(-1, 2)
                    around = np.full((before, 2), -1, np.int32), np.full((edges[1], 2), -1, np.int32)
                    offsets.append(np.concatenate([around[0], of_window, around[1]]))
                    documents.append(d)
                    cut = len(question) - len(kept) if not at else 0
                    yield kept, encoding.ids[part], len(question) + len(of_window), cut
                d += 1

    inputs = lay_out(rows(), frame)
    return replace(inputs, documents=np.array(documents, np.int64), offsets=tuple(offsets))


def first_tokens(words: IntArray) -> LongArray:
    """Return the places of tokens (T,) that are the first of their word."""
    first = np.ones(len(words), bool)
    first[1:] = words[1:] != words[:-1]
    return np.flatnonzero(first & (words >= 0))


def word_places(words: IntArray) -> LongArray:
    """Return the first token (W,) of each word up to the last that the tokens (T,) are of; -1 for one that has no token."""
    first = first_tokens(words)
    places = np.full(int(words.max(initial=-1)) + 1, -1, np.int64)
    places[words[first]] = first
    return places


def spread(words: IntArray, y: Sequence[int] | LongArray, ignored: int) -> LongArray:
    """Return targets of tokens (T,) from those of words: a word's is that of its first token, the others are `ignored`."""
    targets = np.full(len(words), ignored, np.int64)
    first = first_tokens(words)
    targets[first] = np.asarray(y, np.int64)[words[first]]
    return targets


def _check_room(room: int, max_tokens: int) -> None:
    if room < 1:
        raise UsageError(f"`max_tokens={max_tokens}` leaves no room for a text beside the special tokens; raise it")


def share_room(a: int, b: int, room: int) -> tuple[int, int]:
    """Return how many tokens two texts keep: the longer one is cut first, then both alike."""
    over = a + b - room
    if over <= 0:
        return a, b
    if a - over >= b:
        return a - over, b
    if b - over >= a:
        return a, b - over
    return room - room // 2, room // 2


def _ids(tokenizer: Any, texts: Sequence[str]) -> Iterator[list[int]]:
    backend = tokenizer.backend_tokenizer
    for start in range(0, len(texts), _CHUNK):
        chunk = [encodable(text) for text in texts[start : start + _CHUNK]]
        for encoding in backend.encode_batch_fast(chunk, add_special_tokens=False):
            yield encoding.ids


def lay_out(rows: Iterable[tuple[list[int], list[int] | None, int, int]], frame: Frame) -> Inputs:
    """Return texts and pairs as inputs, from the ids of each, how many tokens there were, and how many of them the cut took."""
    flat, types = array("i"), array("i")
    lengths, counts, cuts = [], [], []
    for first, second, count, cut in rows:
        whole = [*frame.before, *first]
        if second is not None:
            whole += frame.between
        n_first = len(whole)
        whole += [*(second or []), *frame.after]
        if not whole:  # a text without a token, of a tokenizer without special ones
            whole, n_first = [frame.pad], 1
        if second is None:
            n_first = len(whole)
        flat.extend(whole)
        types.extend([0] * n_first + [1] * (len(whole) - n_first))
        lengths.append(len(whole))
        counts.append(count)
        cuts.append(cut)
    sizes = np.array(lengths, np.int64)
    return Inputs(
        np.frombuffer(flat, np.intc) if flat else np.zeros(0, np.int32),
        (np.frombuffer(types, np.intc) if types else np.zeros(0, np.int32)) if frame.typed else None,
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        sizes,
        np.array(counts, np.int64),
        np.array(cuts, np.int64),
        frame,
    )
