"""Texts as token ids for an encoder: tokenised, counted, and planned into batches by length.

Parts, in this order:
- Texts to token ids, counted before they are cut.
- Texts to token ids, word by word where that gives the tokens of the whole text.
- Batches of documents for the encoder: sorted by length, cut by a budget of tokens.
"""

from __future__ import annotations

import json
import string
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nlpkit.embed.kernels import ALONE, SPACE, split_words
from nlpkit.platform.types import ranges
from nlpkit.text.tokenize import BytesTable, with_room

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from nlpkit.embed.models import ModelLayout

IntArray = npt.NDArray[np.int64]

NO_LIMIT = 2**31 - 1  # max_tokens of a model that takes texts of any length
# The classes of tokenizers that make a normaliser of their own, by the type of model that has them unless it names another.
_WORDPIECE = {"bert": "BertTokenizer", "distilbert": "DistilBertTokenizer", "mpnet": "MPNetTokenizer"}
_CHUNK_TEXTS = 1024
_CHUNK_CHARS = 1_000_000  # one token of an Encoding takes some 100 bytes until its id is copied


def load_tokenizer(layout: ModelLayout) -> Tokenizer:
    """Return the tokenizer of a model as transformers reads it, without its cut and its padding.

    The classes of WordPiece (BertTokenizer and its kin) make their normaliser from tokenizer_config.json, whatever tokenizer.json says;
    the others have that of tokenizer.json. Agrees with transformers 5 (tests/embed/test_tokenizer_settings.py).

    Raises whatever tokenizers raises for a file it cannot read.
    """
    from tokenizers import Tokenizer, models, normalizers

    tokenizer = Tokenizer.from_file(str(layout.folder / "tokenizer.json"))
    wanted = layout.tokenizer
    usual = _WORDPIECE.get(str(layout.config.get("model_type")), "")
    name = str(wanted.get("tokenizer_class") or usual).removesuffix("Fast")
    if name in _WORDPIECE.values() and isinstance(tokenizer.model, models.WordPiece):
        tokenizer.normalizer = normalizers.BertNormalizer(
            clean_text=True,
            handle_chinese_chars=wanted.get("tokenize_chinese_chars", True),
            strip_accents=wanted.get("strip_accents"),
            lowercase=wanted.get("do_lower_case", True),
        )
    if layout.lowercase:
        rest = [tokenizer.normalizer] if tokenizer.normalizer is not None else []
        tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *rest])
    return plain(tokenizer)


def plain(tokenizer: Tokenizer) -> Tokenizer:
    """Return the tokenizer without its own cut and padding."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def special_ids(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Return the ids a tokenizer puts before and after a text, such as [CLS] and [SEP]."""
    probe = tokenizer.encode("a")
    inside = [i for i, special in enumerate(probe.special_tokens_mask) if not special]
    first, last = (inside[0], inside[-1] + 1) if inside else (len(probe.ids), len(probe.ids))
    return probe.ids[:first], probe.ids[last:]


def windows(tokenizer: Tokenizer, text: str, size: int) -> list[str]:
    """Return a text in parts of at most `size` tokens, which together are the text.

    A part ends with the last sentence that ends in its second half, else with a word, else with a token.
    """
    from nlpkit.text.sentences import sentence_spans

    offsets = tokenizer.encode(text, add_special_tokens=False).offsets
    starts = [start for start, _ in offsets]
    sentences = np.searchsorted(starts, [start for start, _ in sentence_spans(text)])  # the first token of each

    def begins_word(token: int) -> bool:
        return text[starts[token] - 1].isspace() or text[starts[token]].isspace()

    parts, at, begin = [], 0, 0
    while len(starts) - at > size:
        half = at + size // 2
        ends = sentences[(sentences > half) & (sentences <= at + size)]
        words = (end for end in range(at + size, half, -1) if begins_word(end))
        at = int(ends[-1]) if len(ends) else next(words, at + size)
        parts.append(text[begin : starts[at]])
        begin = starts[at]
    return [*parts, text[begin:]]


def unknown_share(tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """Return the share of the tokens of some texts that the vocabulary does not have, 0 for one that has all bytes."""
    unknown = getattr(tokenizer.model, "unk_token", None)
    code = None if unknown is None else tokenizer.token_to_id(unknown)
    if code is None:
        return 0.0
    n = missed = 0
    for ids in iterate_ids(tokenizer, texts):
        n += len(ids)
        missed += ids.count(code)
    return missed / max(1, n)


def iterate_ids(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield the ids of each text, without special tokens, holding few texts' encodings at a time."""
    for part in chunks(texts):
        for encoding in tokenizer.encode_batch_fast(part, add_special_tokens=False):
            yield encoding.ids


def chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield texts in parts of moderate length, of one text at least."""
    start = 0
    while start < len(texts):
        stop, chars = start, 0
        while stop < len(texts) and stop - start < _CHUNK_TEXTS and (stop == start or chars < _CHUNK_CHARS):
            chars += len(texts[stop])
            stop += 1
        yield texts[start:stop]
        start = stop


# ------------------------------------------------------------------------------------------------------------------------
# Texts to token ids, word by word where that gives the tokens of the whole text.

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


# ------------------------------------------------------------------------------------------------------------------------
# Batches of documents for the encoder: sorted by length, cut by a budget of tokens.


@dataclass(frozen=True)
class Batch:
    """Documents that are encoded together.

    rows    (B,) int64, indices of the documents, longest first
    groups  (count, width) per run of documents that are laid out with the same width; the counts sum to B
    """

    rows: IntArray
    groups: tuple[tuple[int, int], ...]

    @property
    def tokens(self) -> int:
        """Tokens with padding: Σ count · width."""
        return sum(count * width for count, width in self.groups)


def plan_batches(lengths: npt.ArrayLike, batch_tokens: int, *, pad: bool = False) -> list[Batch]:
    """Cut documents of `lengths` (U,), in tokens, into batches of at most `batch_tokens` tokens, longest first.

    Documents of one length stay in the order they came. A document longer than the budget is a batch of its own.
    With `pad`, a batch is one rectangle as wide as its longest document and the padding counts; without, it is
    made of one rectangle per length and nothing is padded. The plan is a function of its arguments alone.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-lengths, kind="stable")
    widths = lengths[order]
    ends = np.cumsum(widths)
    batches: list[Batch] = []
    start, n = 0, len(lengths)
    while start < n:
        if pad:
            stop = min(n, start + max(1, batch_tokens // max(1, int(widths[start]))))
        else:
            before = int(ends[start]) - int(widths[start])
            stop = max(start + 1, int(np.searchsorted(ends, before + batch_tokens, side="right")))
        batches.append(make_batch(order[start:stop], widths[start:stop], pad=pad))
        start = stop
    return batches


def make_batch(rows: IntArray, widths: IntArray, *, pad: bool) -> Batch:
    """Return the batch of `rows` (B,) whose lengths are `widths` (B,), sorted from long to short."""
    if pad:
        return Batch(rows, ((len(rows), int(widths[0])),))
    cuts = [0, *(np.flatnonzero(np.diff(widths)) + 1).tolist(), len(widths)]
    return Batch(rows, tuple((b - a, int(widths[a])) for a, b in pairwise(cuts)))


def split_batch(batch: Batch, lengths: IntArray, *, pad: bool) -> tuple[Batch, Batch]:
    """Return the two halves of a batch of at least two documents; `lengths` (U,) are those of the plan."""
    half = len(batch.rows) // 2
    first, second = batch.rows[:half], batch.rows[half:]
    return make_batch(first, lengths[first], pad=pad), make_batch(second, lengths[second], pad=pad)
