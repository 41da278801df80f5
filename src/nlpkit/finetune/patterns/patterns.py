"""Patterns and verbalizers: a text becomes a sentence with a gap, and the words that fit the gap stand for the labels.

A pattern such as `[text] It was [MASK].` makes of a text x the sentence P(x). A verbalizer v gives each label l one or more words of
as many pieces as the pattern has masks. With several masks s(l|x) = Σ_i M_i(v(l)_i | P(x)), where M_i are the logits of a masked
language model at mask i; with several words the mean over them (Schick & Schütze 2021a, §3.1; Rieger et al. 2024, §3).
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from nlpkit.embed.encoder import encodable
from nlpkit.embed.token_ids import iterate_ids
from nlpkit.errors import InputError, UsageError
from nlpkit.finetune.data.inputs import Frame, Inputs, share_room
from nlpkit.finetune.patterns.mlm import MlmNetwork
from nlpkit.finetune.training.engine import Engine, autocast_if_supported, in_fp32
from nlpkit.platform import wording
from nlpkit.platform.types import FloatArray, LongArray

MASK = "[MASK]"
_SLOT = re.compile(r"\[(text|text_a|text_b)\]")
CANDIDATES = 1000  # words that are likely in the gaps of a label, among which its words are searched


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns, and the words of each label; a label without words has them searched for.

    texts: such as `[text] It was [MASK].`; of pairs `[text_a]` and `[text_b]`. words: (J labels) lists of words.
    """

    texts: Sequence[str]
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def check(
        self,
        where: str = "`patterns`",
        *,
        pairs: bool = False,
        labels: Sequence[str] | None = None,
        masks: tuple[int, float] = (1, math.inf),
    ) -> None:
        """Refuse patterns that make no sentence with a gap, and words for labels that are not there.

        Args:
            where: how messages name them. pairs: documents are pairs of texts. labels: those of the training documents.
            masks: how many a pattern has at least and at most.

        Raises:
            InputError: no pattern, one without its texts or [MASK], one that is there twice; two labels with the same word.
        """
        if not self.texts:
            raise InputError(
                f"{where}: at least one pattern is needed, such as '[text] It was {MASK}.'", parameter="patterns"
            )
        slots = ("text_a", "text_b") if pairs else ("text",)
        needed = " and ".join(f"[{slot}]" for slot in slots)
        for text in self.texts:
            if sorted(_SLOT.findall(text)) != sorted(slots):
                raise InputError(f"{where}: the pattern '{text}' must contain {needed} once", parameter="patterns")
            if text.count(MASK) < masks[0]:
                raise InputError(
                    f"{where}: the pattern '{text}' has no {MASK}, the gap for the label word", parameter="patterns"
                )
            if text.count(MASK) > masks[1]:
                raise InputError(f"{where}: the pattern '{text}' has more than one {MASK}", parameter="patterns")
        if len(set(self.texts)) < len(self.texts):
            twice = next(text for text in self.texts if list(self.texts).count(text) > 1)
            raise InputError(f"{where}: the pattern '{twice}' occurs twice", parameter="patterns")
        label_of: dict[str, str] = {}
        for label, words in self.words.items():
            if not words or any(not word.strip() for word in words):
                raise InputError(f"{where}: label '{label}' needs a word or a list of words", parameter="patterns")
            for word in words:
                if label_of.setdefault(word, label) != label:
                    raise InputError(
                        f"{where}: '{word}' stands for '{label_of[word]}' and for '{label}'", parameter="patterns"
                    )
            if len(set(words)) < len(words):
                raise InputError(f"{where}: label '{label}' has a word twice", parameter="patterns")
        unknown = [label for label in self.words if labels is not None and label not in labels]
        if unknown:
            raise InputError(
                f"{where}: no training document has the label '{unknown[0]}' (labels: {wording.listed(labels or (), 10)})",
                parameter="patterns",
            )

    def plain(self) -> dict[str, Any]:
        """Return them as values that go into JSON."""
        return {"patterns": list(self.texts), "words": {label: list(words) for label, words in self.words.items()}}


@dataclass(frozen=True, slots=True)
class Gaps:
    """Texts in a pattern: tokens, and the places (n, k) of the masks in each example."""

    inputs: Inputs
    places: LongArray


class PatternReader(Protocol):
    """What reads texts in a pattern: a tokenizer, its special tokens, the token of a gap, and how many tokens it sees."""

    tokenizer: Any
    frame: Frame
    mask_id: int
    max_tokens: int

    @property
    def mask_token(self) -> str:
        """The token of a gap."""


def fill_pattern(
    network: PatternReader, pattern: str, texts: Sequence[str], seconds: Sequence[str] | None = None
) -> Gaps:
    """Return texts (n,), or pairs of texts, put into a pattern as one segment; of what is too long only the texts are cut.

    Raises:
        UsageError: the pattern leaves no room for a text.
    """
    pieces = _pieces(network, pattern)
    fixed = sum(len(piece) for piece in pieces if not isinstance(piece, _Slot))
    room = network.max_tokens - network.frame.single - fixed
    if room < 1:
        raise UsageError(
            f"the pattern '{pattern}' has {fixed} tokens, and leaves no room for a text in a window of "
            f"{network.max_tokens}; raise `max_tokens`, or shorten it",
            parameter="patterns",
        )
    columns = {"text": texts, "text_a": texts, "text_b": seconds or ()}
    slots = [piece for piece in pieces if isinstance(piece, _Slot)]
    backend = network.tokenizer.backend_tokenizer
    streams = [
        iterate_ids(backend, [f"{' ' * slot.spaced}{encodable(text)}" for text in columns[slot.name]]) for slot in slots
    ]
    flat, lengths, counts, cuts, places = array("i"), [], [], [], []
    for ids_of_row in zip(*streams, strict=True):
        sizes = [len(ids) for ids in ids_of_row]
        kept = share_room(sizes[0], sizes[1], room) if len(sizes) == 2 else (min(sizes[0], room),)
        parts = {slot.name: ids[:n] for slot, ids, n in zip(slots, ids_of_row, kept, strict=True)}
        row, gaps = list(network.frame.before), []
        for piece in pieces:
            if isinstance(piece, _Slot):
                row += parts[piece.name]
            else:
                gaps += [len(row) + i for i, token in enumerate(piece) if token == network.mask_id]
                row += piece
        row += network.frame.after
        flat.extend(row)
        places.append(gaps)
        lengths.append(len(row))
        counts.append(sum(sizes))
        cuts.append(sum(sizes) - sum(kept))
    sizes_of_rows = np.array(lengths, np.int64)
    inputs = Inputs(
        np.frombuffer(flat, np.intc) if flat else np.zeros(0, np.int32), None,
        np.concatenate([[0], np.cumsum(sizes_of_rows)]).astype(np.int64), sizes_of_rows, np.array(counts, np.int64),
        np.array(cuts, np.int64), network.frame,
    )  # fmt: skip
    return Gaps(inputs, np.array(places, np.int64).reshape(len(lengths), pattern.count(MASK)))


@dataclass(frozen=True, slots=True)
class _Slot:
    """The place of a text in a pattern; spaced: a space is before it."""

    name: str
    spaced: bool


def _pieces(network: PatternReader, pattern: str) -> list[_Slot | list[int]]:
    """Return the parts of a pattern: places of texts, and the tokens of what is between them."""
    backend, start = network.tokenizer.backend_tokenizer, 0
    parts: list[_Slot | str] = []
    pieces: list[_Slot | list[int]] = []
    for match in _SLOT.finditer(pattern):
        parts += [pattern[start : match.start()], _Slot(match[1], pattern[: match.start()].endswith(" "))]
        start = match.end()
    for part in [*parts, pattern[start:]]:
        if isinstance(part, _Slot):
            pieces.append(part)
        elif part.strip():
            text = part.rstrip(" ").replace(MASK, network.mask_token)
            pieces.append(list(backend.encode(text, add_special_tokens=False).ids))
    return pieces


@dataclass(frozen=True, slots=True)
class Verbalizer:
    """The words of all labels for patterns of k masks. pieces (W, k): token ids of each word; label (W,): which label it stands for."""

    pieces: LongArray
    label: LongArray

    def among(self, tokens: LongArray) -> Verbalizer:
        """Return the same words for logits of some tokens (t,), ascending, in the place of the whole vocabulary."""
        return Verbalizer(np.searchsorted(tokens, self.pieces), self.label)

    def scores(self, logits: Tensor) -> Tensor:
        """Return s(l|x) (B, J) of logits (B, k, V) at the masks: of each word the sum over its pieces, of a label the mean over words."""
        pieces = torch.from_numpy(self.pieces).to(logits.device)
        at = torch.arange(pieces.shape[1], device=logits.device)
        by_word = logits[:, at, pieces].sum(dim=2)
        shares = np.zeros((len(self.label), int(self.label.max()) + 1), np.float32)
        shares[np.arange(len(self.label)), self.label] = 1
        shares /= shares.sum(axis=0)
        with in_fp32(logits.device):
            return by_word @ torch.from_numpy(shares).to(logits.device)


def word_pieces(network: MlmNetwork, word: str) -> list[int]:
    """Return the token ids of a word as it stands inside of a sentence."""
    return list(network.tokenizer.backend_tokenizer.encode(f" {word}", add_special_tokens=False).ids)


def verbalizers_of(network: MlmNetwork, patterns: Patterns, labels: Sequence[str]) -> dict[int, Verbalizer]:
    """Return the verbalizer of every number of masks that the patterns have; every label (J,) needs words.

    A word is used in patterns with as many masks as it has pieces.

    Raises:
        InputError: a word whose pieces fit no pattern, or is unknown to the tokenizer; a pattern without a word of some label; two
            labels with the same pieces.
    """
    counts = sorted({text.count(MASK) for text in patterns.texts})
    masks = " or ".join(map(str, counts))
    chosen: dict[int, dict[tuple[int, ...], int]] = {k: {} for k in counts}
    unknown = network.tokenizer.unk_token_id
    for j, label in enumerate(labels):
        for word in patterns.words[label]:
            ids = word_pieces(network, word)
            shown = ", ".join(network.tokenizer.convert_ids_to_tokens(ids))
            if not ids or unknown in ids:
                raise InputError(
                    f"the word '{word}' of label '{label}' is not in the vocabulary of the base", parameter="patterns"
                )
            if len(ids) not in counts:
                raise InputError(
                    f"the word '{word}' of label '{label}' is {wording.counted(len(ids), 'piece')} ({shown}), and "
                    f"the patterns have {masks} {MASK}; use another word, or a pattern with {len(ids)} {MASK}",
                    parameter="patterns",
                )
            if chosen[len(ids)].setdefault(tuple(ids), j) != j:
                other = labels[chosen[len(ids)][tuple(ids)]]
                raise InputError(
                    f"'{word}' of label '{label}' is the same for the base as a word of '{other}' ({shown})",
                    parameter="patterns",
                )
    for k, words in chosen.items():
        without = sorted(set(range(len(labels))) - set(words.values()))
        if without:
            raise InputError(
                f"a pattern with {k} {MASK} needs a word of {wording.counted(k, 'piece')} for every label; "
                f"'{labels[without[0]]}' has none",
                parameter="patterns",
            )
    return {
        k: Verbalizer(np.array(list(words), np.int64).reshape(-1, k), np.array(list(words.values()), np.int64))
        for k, words in chosen.items()
    }


def gap_logits(network: MlmNetwork, gaps: Gaps, rows: LongArray) -> Tensor:
    """Return the logits (B, k, V) float32 of all tokens at the masks of some rows; of a network with `words` (B, k, t)."""
    device = next(network.model.parameters()).device
    with autocast_if_supported(network.model):
        hidden = network.body(**gaps.inputs.batch(rows, device)).last_hidden_state
        places = torch.from_numpy(gaps.places[rows]).to(device)
        at = hidden[torch.arange(len(rows), device=device)[:, None], places]
        logits = network.guess(at.reshape(-1, at.shape[-1])).float()
    return logits.reshape(len(rows), places.shape[1], -1)


def pattern_scores(
    network: MlmNetwork, gaps: Gaps, verbalizer: Verbalizer, engine: Engine, rows: LongArray | None = None
) -> FloatArray:
    """Return s(l|x) (n, J) float64 of some examples, None for all."""
    chosen = np.arange(len(gaps.places)) if rows is None else rows
    network.model.eval()
    scores: FloatArray = np.zeros((len(chosen), int(verbalizer.label.max()) + 1))
    for part, values in engine.run_rows(
        lambda places: verbalizer.scores(gap_logits(network, gaps, chosen[places])).cpu().numpy(),
        gaps.inputs.lengths[chosen],
    ):
        scores[part] = values
    return scores


def search_words(
    network: MlmNetwork,
    gaps: Sequence[Gaps],
    rows: LongArray,
    codes: LongArray,
    labels: Sequence[int],
    engine: Engine,
    *,
    n: int = 10,
    taken: Collection[str] = (),
) -> dict[int, list[str]]:
    """Return up to n words of the vocabulary for each of some labels, those of the largest likelihood ratio.

    Of a word t and a label l, with p(t|x) the probability of t in the gap and logit p = log p - log(1 - p), it is the mean of
    logit p(t|x) over the examples of l less that over the others (Schick, Schmid & Schütze 2020, §4), summed over the patterns. As
    in their program, the words are chosen among the 1,000 that are likeliest in the gaps of the label, each a token of two letters or
    more at the beginning of a word. The labels choose in turn, so that no word stands for two.

    Args:
        gaps: of each pattern with one mask. rows (m,): the labelled examples among them; codes (m,): their labels. labels: numbers of
            those that words are searched for. taken: words that stand for other labels.

    Raises:
        InputError: the vocabulary has not a word of one piece for each label.
    """
    words = {i: word for i, word in _whole_words(network).items() if word not in taken}
    ids = torch.tensor(list(words), dtype=torch.int64)
    positive = np.zeros((len(labels), len(words)))
    ratio = np.zeros_like(positive)
    network.model.eval()
    for filled in gaps:
        log_p = np.zeros((len(rows), len(words)))

        def probabilities(part: LongArray, filled: Gaps = filled) -> FloatArray:
            logits = gap_logits(network, filled, rows[part])[:, 0]
            values: FloatArray = torch.log_softmax(logits, 1).cpu()[:, ids].numpy()
            return values

        for part, values in engine.run_rows(probabilities, filled.inputs.lengths[rows]):
            log_p[part] = values
        logit = log_p - np.log1p(-np.exp(np.minimum(log_p, -1e-12)))
        for place, label in enumerate(labels):
            of_label = codes == label
            positive[place] += log_p[of_label].sum(axis=0)
            ratio[place] += logit[of_label].mean(axis=0) - (logit[~of_label].mean(axis=0) if (~of_label).any() else 0.0)
    spelled, ranked = list(words.values()), []
    for place in range(len(labels)):
        likely = np.argsort(-positive[place], kind="stable")[:CANDIDATES]
        ranked.append(iter(likely[np.argsort(-ratio[place][likely], kind="stable")].tolist()))
    chosen: dict[int, list[str]] = {label: [] for label in labels}
    used: set[int] = set()
    for _ in range(n):
        for label, candidates in zip(labels, ranked, strict=True):
            best = next((i for i in candidates if i not in used), None)
            if best is not None:
                used.add(best)
                chosen[label].append(spelled[best])
    if not all(chosen.values()):
        raise InputError(
            "the vocabulary of the base does not have a one-piece word for each label; give words in `patterns`",
            parameter="patterns",
        )
    return chosen


def _whole_words(network: MlmNetwork) -> dict[int, str]:
    """Return the tokens that are words of two letters or more inside of a sentence, by id; each word once."""
    backend = network.tokenizer.backend_tokenizer
    ids = network.ordinary.tolist()
    spelled = [backend.decode([i], skip_special_tokens=False).strip() for i in ids]
    likely = [(i, word) for i, word in zip(ids, spelled, strict=True) if word.isalpha() and len(word) > 1]
    again = iterate_ids(backend, [f" {word}" for _, word in likely])
    return {i: word for (i, word), encoded in zip(likely, again, strict=True) if list(encoded) == [i]}
