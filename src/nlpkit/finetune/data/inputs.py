"""The inputs of a network: texts, pairs and words as token ids, cut, laid end to end, and masked.

Parts, in this order:
- Texts, pairs, texts with their neighbours and words, as the token ids a network reads: cut, counted, laid end to end.
- Masks of BERT: which tokens a model has to guess, and what it sees in their place.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from nlpkit.embed.encoder import encodable
from nlpkit.errors import UsageError
from nlpkit.platform.types import BoolArray, IntArray, LongArray

TEXTS_AT_ONCE = 1024  # that a tokenizer reads in one call, on all threads
NO_MARK = -1  # of a token that is no own word of its window, or not of its text


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
class Row:
    """One example, as it is laid out.

    first, second: token ids without special ones; second is None where an example is one text.
    tokens: before the cut; cut: how many of them it took.

    Of a window also: document: the text it is of. marks: of each token (T,) the own word, or (T, 2) its characters.
    n_words: own words, also those without a token.
    """

    first: list[int]
    second: list[int] | None
    tokens: int
    cut: int
    document: int = 0
    marks: IntArray | None = None
    n_words: int = 0


@dataclass(frozen=True, slots=True)
class Inputs:
    """Token ids of n examples, end to end.

    flat, types: (Σ lengths,) int32; types is None where the network has none
    starts (n + 1,), lengths (n,) int64: special tokens included
    counts, cut (n,) int64: tokens of each before the cut, without special ones, and how many of them it took

    Examples that are windows of texts have the following, others None.

    documents (n,): the text of each. words: the own word of every token, NO_MARK for others; n_words (n,): how many own words each has
    offsets: characters (T, 2) of every token of the text, NO_MARK for others
    """

    flat: IntArray
    types: IntArray | None
    starts: LongArray
    lengths: LongArray
    counts: LongArray
    cut: LongArray
    frame: Frame
    words: tuple[IntArray, ...] | None = None
    n_words: LongArray | None = None
    documents: LongArray | None = None
    offsets: tuple[IntArray, ...] | None = None

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
    room = max_tokens - frame.single - (len(frame.between) if seconds is not None else 0)
    _check_room(room, max_tokens)
    if seconds is None:
        return lay_out((Row(a[:room], None, len(a), max(0, len(a) - room)) for a in _ids(tokenizer, texts)), frame)
    pairs = zip(_ids(tokenizer, texts), _ids(tokenizer, seconds), strict=True)
    return lay_out((cut_pair(a, b, room) for a, b in pairs), frame)


def cut_pair(a: list[int], b: list[int], room: int) -> Row:
    """Return a pair of texts of which at most `room` tokens are kept."""
    keep_a, keep_b = share_room(len(a), len(b), room)
    tokens = len(a) + len(b)
    return Row(a[:keep_a], b[:keep_b], tokens, tokens - keep_a - keep_b)


def encode_context(
    tokenizer: Any, frame: Frame, texts: Sequence[str], before: Sequence[str], after: Sequence[str], *, max_tokens: int
) -> Inputs:
    """Return `[target] <sep> [before] <sep> [after]` of each text as inputs (lecture; Rieger et al. 2024, §4).

    The target is cut last: what it leaves goes to both sides alike, of which the text nearest to the target is kept. Of networks
    with types, the context has the second.
    """
    room = max_tokens - frame.single - 2 * len(frame.between)
    _check_room(room, max_tokens)
    parts = zip(_ids(tokenizer, texts), _ids(tokenizer, before), _ids(tokenizer, after), strict=True)
    return lay_out((_cut_context(*part, room, frame.between) for part in parts), frame)


def _cut_context(target: list[int], left: list[int], right: list[int], room: int, between: Sequence[int]) -> Row:
    keep = min(len(target), room)
    keep_left, keep_right = share_room(len(left), len(right), room - keep)
    context = [*left[len(left) - keep_left :], *between, *right[:keep_right]]
    tokens = len(target) + len(left) + len(right)
    return Row(target[:keep], context, tokens, tokens - keep - keep_left - keep_right)


def encode_words(
    tokenizer: Any, frame: Frame, texts: Sequence[Sequence[str]], *, max_tokens: int, overlap: int = 0
) -> Inputs:
    """Return texts that are lists of words as inputs: as many windows of a text as it takes, each of which has words of its own.

    `words` gives for each token of a window the number of its word among the window's own, NO_MARK where the word is another window's;
    `n_words` how many these are. The words of a text are those of its windows, in their order. Words that the tokenizer makes
    nothing of have no token.

    Args:
        overlap: tokens that two windows in a row have in common, at most half a window. The first half of these is the earlier one's.
    """
    room = max_tokens - frame.single
    _check_room(room, max_tokens)
    encodings = _encodings(tokenizer, texts, words=True)
    rows = (
        row for d, encoding in enumerate(encodings) for row in _rows_of_words(encoding, len(texts[d]), d, room, overlap)
    )
    return lay_out(rows, frame, "words")


def _rows_of_words(encoding: Any, n_words: int, document: int, room: int, overlap: int) -> Iterator[Row]:
    words = np.array([NO_MARK if word is None else word for word in encoding.word_ids], np.int32)
    for start, first, end in word_windows(words, n_words, room, overlap):
        inside = words[start : start + room]
        marks = np.where((inside >= first) & (inside < end), inside - first, NO_MARK)
        yield Row(encoding.ids[start : start + room], None, len(inside), 0, document, marks, end - first)


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
    encoded = zip(_ids(tokenizer, questions), _encodings(tokenizer, texts), strict=True)
    rows = (
        row
        for d, (question, encoding) in enumerate(encoded)
        for row in _rows_of_answers(question, encoding, d, room, overlap)
    )
    return lay_out(rows, frame, "offsets")


def _rows_of_answers(question: list[int], encoding: Any, document: int, room: int, overlap: int) -> Iterator[Row]:
    kept = question[: room // 2]
    width = room - len(kept)
    step = width - min(overlap, width // 2)
    for start in range(0, max(1, len(encoding.ids) - width + step), step):
        window = slice(start, start + width)
        marks = np.array(encoding.offsets[window], np.int32).reshape(-1, 2)
        cut = 0 if start else len(question) - len(kept)
        yield Row(kept, encoding.ids[window], len(question) + len(marks), cut, document, marks)


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
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        chunk = [encodable(text) for text in texts[start : start + TEXTS_AT_ONCE]]
        for encoding in backend.encode_batch_fast(chunk, add_special_tokens=False):
            yield encoding.ids


def _encodings(tokenizer: Any, texts: Sequence[Any], *, words: bool = False) -> Iterator[Any]:
    """Yield texts, or lists of words, as `tokenizers` encodes them: with the word and the characters of each token."""
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        chunk = texts[start : start + TEXTS_AT_ONCE]
        plain = [[encodable(word) for word in text] if words else encodable(text) for text in chunk]
        yield from tokenizer.backend_tokenizer.encode_batch(plain, is_pretokenized=words, add_special_tokens=False)


def lay_out(rows: Iterable[Row], frame: Frame, marked: Literal["words", "offsets"] | None = None) -> Inputs:
    """Return examples as inputs. marked: what the marks of windows are; None: examples are no windows."""
    flat, types = array("i"), array("i")
    lengths, counts, cuts, documents, n_words = [], [], [], [], []
    marks: list[IntArray] = []
    for row in rows:
        ids = [*frame.before, *row.first]
        if row.second is not None:
            ids += frame.between
        n_first = len(ids)
        ids += [*(row.second or []), *frame.after]
        if row.marks is not None:
            start = len(frame.before) if row.second is None else n_first
            around = np.full((len(ids), *row.marks.shape[1:]), NO_MARK, np.int32)
            around[start : start + len(row.marks)] = row.marks
            marks.append(around)
        if not ids:  # a text without a token, of a tokenizer without special ones
            ids, n_first = [frame.pad], 1
        if row.second is None:
            n_first = len(ids)
        flat.extend(ids)
        types.extend([0] * n_first + [1] * (len(ids) - n_first))
        lengths.append(len(ids))
        counts.append(row.tokens)
        cuts.append(row.cut)
        documents.append(row.document)
        n_words.append(row.n_words)
    sizes = np.array(lengths, np.int64)
    return Inputs(
        np.frombuffer(flat, np.intc) if flat else np.zeros(0, np.int32),
        (np.frombuffer(types, np.intc) if types else np.zeros(0, np.int32)) if frame.typed else None,
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        sizes,
        np.array(counts, np.int64),
        np.array(cuts, np.int64),
        frame,
        words=tuple(marks) if marked == "words" else None,
        n_words=np.array(n_words, np.int64) if marked == "words" else None,
        documents=np.array(documents, np.int64) if marked else None,
        offsets=tuple(marks) if marked == "offsets" else None,
    )


# ------------------------------------------------------------------------------------------------------------------------
# Masks of BERT: which tokens a model has to guess, and what it sees in their place.

NO_TARGET = -100  # cross-entropy in torch leaves it out
MASKED, SWAPPED = 0.8, 0.1  # the rest is kept


def mask_tokens(
    ids: LongArray,
    maskable: BoolArray,
    offsets: LongArray,
    *,
    mask_id: int,
    ordinary: LongArray,
    share: float = 0.15,
    rng: np.random.Generator,
) -> tuple[LongArray, LongArray]:
    """Return (inputs, targets), both (N,): the ids with some of them masked, and the ids to guess, NO_TARGET elsewhere.

    Of each text `share` of the maskable tokens are chosen, at least one: exactly that share in the mean, as the part of a token is
    chosen with its own probability. Of the chosen, 80 % become [MASK], 10 % a random token and 10 % stay (Devlin et al. 2019, §3.1).
    transformers' collator throws a coin per token instead, so a short text may have none.

    Args:
        ids: (N,) of all texts, end to end. maskable: (N,) False for special tokens. offsets: (n + 1,) where the texts begin and end.
        ordinary: ids that a random token is drawn from, no special ones.
    """
    n = len(offsets) - 1
    owner = np.repeat(np.arange(n), np.diff(offsets))
    places = np.flatnonzero(maskable)
    text_of_place = owner[places]
    have = np.bincount(text_of_place, minlength=n)
    wanted = np.maximum(np.floor(share * have + rng.random(n)).astype(np.int64), 1)
    order = np.lexsort((rng.random(len(places)), text_of_place))  # at random within each text
    rank = np.arange(len(places)) - np.repeat(np.cumsum(have) - have, have)
    chosen = places[order[rank < np.repeat(wanted, have)]]

    inputs, targets = ids.copy(), np.full_like(ids, NO_TARGET)
    targets[chosen] = ids[chosen]
    fate, swaps = rng.random(len(chosen)), rng.choice(ordinary, len(chosen))
    inputs[chosen] = np.where(fate < MASKED, mask_id, np.where(fate < MASKED + SWAPPED, swaps, ids[chosen]))
    return inputs, targets
