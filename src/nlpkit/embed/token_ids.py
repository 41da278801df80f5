"""Texts to token ids, word by word where that gives the tokens of the whole text."""

from __future__ import annotations

import json
import string
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nlpkit.embed.tokens import chunks, iterate_ids, special_ids
from nlpkit.kernels.pieces import ALONE, SPACE, split_words
from nlpkit.ranges import ranges
from nlpkit.text.bytestable import BytesTable, with_room

if TYPE_CHECKING:
    from tokenizers import Tokenizer

IntArray = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
ByteArray = npt.NDArray[np.uint8]

_MOST_WORDS, _MOST_BYTES = 1 << 20, 1 << 25  # that are kept: some 60 MB
_LOCAL = {"BertNormalizer", "Lowercase", "StripAccents", "NFC", "NFD", "NFKC", "NFKD"}  # change no text across a space
_SPLIT = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}  # at every space, tab and line break
_SPLIT_FURTHER = _SPLIT | {"Punctuation", "Digits"}
_WORTH = 1 << 20  # characters from which on words are kept: Numba loads as long as the library takes for these
_TOGETHER = 256  # new words that are tokenised as one text


class TokenReader:
    """A tokenizer that keeps the tokens of words.

    Most words of a text were in an earlier one: looking them up is more than ten times as fast as tokenising them again.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Take a tokenizer that neither cuts nor pads."""
        self.tokenizer = tokenizer
        self._lock = threading.Lock()
        self._characters = 0
        self._forget()

    @cached_property
    def specials(self) -> tuple[Int32Array, Int32Array]:
        """The ids before and after a text."""
        before, after = special_ids(self.tokenizer)
        return np.array(before, np.int32), np.array(after, np.int32)

    @cached_property
    def kinds(self) -> ByteArray | None:
        """What each byte is to `split_words` (256,), if the tokens of a text are those of its words one after the other, else None."""
        return word_bytes(self.tokenizer)

    def read(self, texts: Sequence[str]) -> tuple[Int32Array, IntArray, Int32Array, IntArray]:
        """Return words (W,), where those of each text end (T,), all pieces, and the places (n + 1,) of each word's in these.

        Text t has the words words[ends[t - 1]:ends[t]], word w the tokens pieces[places[w]:places[w + 1]].
        """
        self._characters += sum(map(len, texts))
        if self._characters < _WORTH or self.kinds is None:
            ids = list(iterate_ids(self.tokenizer, texts))
            places = np.cumsum([0, *map(len, ids)])
            pieces = np.fromiter(chain.from_iterable(ids), np.int32, count=int(places[-1]))
            return np.arange(len(texts), dtype=np.int32), np.arange(1, len(texts) + 1), pieces, places
        encoded = [text.encode() for text in texts]
        data = np.frombuffer(b"".join(encoded), np.uint8)
        ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, count=len(encoded)))
        starts, stops = np.empty((2, len(data)), np.int64)  # a word has a byte at least
        n_words = np.empty(len(ends), np.int64)
        n = split_words(data, ends, self.kinds, starts, stops, n_words)
        with self._lock:
            if self._table.n > _MOST_WORDS or self._table.size > _MOST_BYTES:
                self._forget()
            known = self._table.n
            words = self._table.insert(data, starts[:n], stops[:n])
            self._learn(known)
            return words, np.cumsum(n_words), self._pieces, self._places

    def _forget(self) -> None:
        self._table = BytesTable()
        self._pieces, self._places = np.empty(0, np.int32), np.zeros(1, np.int64)

    def _learn(self, known: int) -> None:
        """Tokenise the words from number `known` on. Other threads go on reading what they have been given."""
        words = self._table.strings(known)
        groups = [words[start : start + _TOGETHER] for start in range(0, len(words), _TOGETHER)]
        encodings = self.tokenizer.encode_batch([" ".join(group) for group in groups], add_special_tokens=False)
        first = int(self._places[known])
        for group, encoding in zip(groups, encodings, strict=True):
            last, stop = first + len(encoding.ids), known + len(group)
            self._pieces, self._places = with_room(self._pieces, last), with_room(self._places, stop + 1)
            self._pieces[first:last] = encoding.ids
            ends = np.cumsum([len(word) + 1 for word in group])
            self._places[known + 1 : stop + 1] = first + np.searchsorted([at for at, _ in encoding.offsets], ends)
            first, known = last, stop


def word_bytes(tokenizer: Tokenizer) -> ByteArray | None:
    """Return the kinds of bytes at which `split_words` must split texts so that the tokens of the words are those of the texts.

    None for a tokenizer whose tokens may reach across a space. Those of BERT, and plainer ones, split at spaces; BERT's besides
    around each character of punctuation.
    """
    normalizers, splits = _steps(tokenizer.normalizer, "normalizers"), _steps(tokenizer.pre_tokenizer, "pretokenizers")
    added = set().union(*(token.content for token in tokenizer.get_added_tokens_decoder().values()))
    if (
        not _LOCAL.issuperset(normalizers)
        or not splits
        or splits[0] not in _SPLIT
        or not _SPLIT_FURTHER.issuperset(splits)
        or any(character.isspace() for character in added)
    ):
        return None
    kinds = np.zeros(256, np.uint8)
    kinds[[*b" \t\n\r"]] = SPACE
    if splits[0] == "BertPreTokenizer":
        # a token such as [MASK] is found first, and the three signs become others with a stroke (U+0338) behind them
        kinds[[ord(sign) for sign in set(string.punctuation) - added - set("<=>")]] = ALONE
    return kinds


def _steps(part: Any, key: str) -> list[str]:
    """Return the types of the steps of a normaliser or of a splitter."""

    def types(state: dict[str, Any]) -> Iterator[str]:
        if state["type"] != "Sequence":
            yield state["type"]
        for step in state.get(key, ()):
            yield from types(step)

    return [] if part is None else list(types(json.loads(part.__getstate__())))


class TokenIds:
    """The ids of texts, cut to a length: one flat int32 array, so a million texts are no million objects.

    flat     (N,) int32, the ids of all texts, end to end
    starts   (U + 1,) int64, where the ids of each text begin, and N
    counts   (U,) int64, tokens of each text before the cut, without special tokens
    cut      (U,) int64, how many of them the cut took
    lengths  (U,) int64, tokens after the cut, with special tokens, at least 1
    """

    def __init__(self, reader: TokenReader, texts: Sequence[str], max_tokens: int, *, specials: bool = True) -> None:
        """Read texts, with special tokens if the tokenizer has such and `specials` does not leave them out."""
        before, after = reader.specials if specials else (np.empty(0, np.int32), np.empty(0, np.int32))
        frame = len(before) + len(after)
        keep = max_tokens - frame
        counts, flats = [np.zeros(0, np.int64)], [np.empty(0, np.int32)]
        for part in chunks(texts):
            words, ends, pieces, places = reader.read(part)
            whole = pieces[ranges(places[words], places[words + 1] - places[words])]
            until = np.concatenate([[0], np.cumsum(places[words + 1] - places[words])])[ends]
            counts.append(np.diff(until, prepend=0))
            flats.append(_framed(whole, until - counts[-1], np.minimum(counts[-1], keep), before, after))
        self.counts, self.flat = np.concatenate(counts), np.concatenate(flats)
        self.cut = np.maximum(self.counts - keep, 0)
        sizes = self.counts - self.cut + frame
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.lengths: IntArray = np.maximum(sizes, 1)  # a text without a single token is one of the id 0

    def lay_out(self, rows: IntArray, widths: IntArray) -> IntArray:
        """Return the ids of `rows` (B,) end to end, each filled up with zeros to its width (B,): (Σ widths,) int64."""
        sizes = np.minimum(self.starts[rows + 1] - self.starts[rows], widths)
        out = np.zeros(int(widths.sum()), np.int64)
        out[ranges(widths.cumsum() - widths, sizes)] = self.flat[ranges(self.starts[rows], sizes)]
        return out


def _framed(ids: Int32Array, firsts: IntArray, sizes: IntArray, before: Int32Array, after: Int32Array) -> Int32Array:
    """Return the ids[first:first + size] of each text end to end, with the special ones around each."""
    kept = ids[ranges(firsts, sizes)]
    if not len(before) + len(after):
        return kept
    widths = sizes + len(before) + len(after)
    starts = widths.cumsum() - widths
    out = np.empty(int(widths.sum()), np.int32)
    out[ranges(starts + len(before), sizes)] = kept
    out[starts[:, None] + np.arange(len(before))] = before
    out[(starts + widths)[:, None] + np.arange(-len(after), 0)] = after
    return out
