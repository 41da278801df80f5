"""Texts to token ids, counted before they are cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from nlpkit.embed.layout import ModelLayout

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
