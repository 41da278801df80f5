"""Pairs of segments beside masked tokens: next sentence prediction of BERT, and sentence order prediction of ALBERT.

nsp   half of the time B is what follows A in its document, else a segment of another document (Devlin et al. 2019, §3.1)
sop   A and B follow one another; half of the time they are swapped (Lan et al. 2020, §3.1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from nlpkit.embed.encoder import encodable
from nlpkit.errors import InputError
from nlpkit.finetune.engine import Engine, autocast_if_supported
from nlpkit.finetune.inputs import Inputs, Row, cut_pair, lay_out
from nlpkit.finetune.masking import NO_TARGET
from nlpkit.finetune.mlm import MlmNetwork, MlmObjective
from nlpkit.text.sentences import sentence_spans
from nlpkit.types import LongArray

PAIRED = ("nsp", "sop")
FOLLOWS, OTHER = 0, 1  # the classes of a pair, as transformers has them


@dataclass(frozen=True, slots=True)
class Segments:
    """Texts as pieces of token ids, mostly sentences, in chunks that fit a window: each has two pieces or more.

    chunks: those of one document in a row; owners (n,): the document of each.
    """

    chunks: tuple[tuple[tuple[int, ...], ...], ...]
    owners: LongArray


def cut_segments(network: MlmNetwork, texts: Sequence[str]) -> tuple[Segments, int]:
    """Return texts as chunks, and how many texts are too short for a pair: they have fewer than two tokens.

    Sentences are packed into a window as they come (appendix A.2 of Devlin et al.). One that is alone in its chunk is cut in two.

    Raises:
        InputError: no text has two tokens.
    """
    room = network.max_tokens - network.frame.single - len(network.frame.between)
    backend = network.tokenizer.backend_tokenizer
    chunks: list[tuple[tuple[int, ...], ...]] = []
    owners: list[int] = []
    for owner, text in enumerate(texts):
        sentences = [encodable(text[start:end]) for start, end in sentence_spans(text)]
        pieces: list[tuple[int, ...]] = []
        for encoding in backend.encode_batch_fast(sentences, add_special_tokens=False):
            pieces += [tuple(encoding.ids[at : at + room]) for at in range(0, len(encoding.ids), room)]
        for chunk in _packed(pieces, room):
            if len(chunk) == 1:
                half = (len(chunk[0]) + 1) // 2
                chunk = [chunk[0][:half], chunk[0][half:]]
            if all(chunk):
                chunks.append(tuple(chunk))
                owners.append(owner)
    if not chunks:
        raise InputError(
            f"none of the {len(texts)} texts has two tokens, so there is no pair of segments; check `text_col`"
        )
    return Segments(tuple(chunks), np.array(owners, np.int64)), len(texts) - len(set(owners))


def _packed(pieces: Sequence[tuple[int, ...]], room: int) -> list[list[tuple[int, ...]]]:
    chunks: list[list[tuple[int, ...]]] = []
    size = room
    for piece in pieces:
        if size + len(piece) > room:
            chunks.append([])
            size = 0
        chunks[-1].append(piece)
        size += len(piece)
    return chunks


def draw_pairs(
    segments: Segments, network: MlmNetwork, task: str, rng: np.random.Generator
) -> tuple[Inputs, LongArray]:
    """Return a pair [CLS] A [SEP] B [SEP] of each chunk, cut at a place that is drawn, and its class (n,): FOLLOWS or OTHER.

    Raises:
        InputError: of nsp, there is one document only, so that no segment is of another.
    """
    chunks, owners, n = segments.chunks, segments.owners, len(segments.owners)
    labels: LongArray = (rng.random(n) < 0.5).astype(np.int64)
    cuts, places, others = rng.random(n), rng.random(n), rng.random(n)
    first, last = np.searchsorted(owners, owners, "left"), np.searchsorted(owners, owners, "right")
    if task == "nsp" and int(first[-1]) == 0:
        raise InputError(
            "next sentences need segments of another document, and one document has any; use `objective=sop`"
        )
    frame = network.frame
    room = network.max_tokens - frame.single - len(frame.between)

    def halves(i: int, share: float) -> tuple[list[int], list[int]]:
        at = 1 + int(share * (len(chunks[i]) - 1))
        return list(chain(*chunks[i][:at])), list(chain(*chunks[i][at:]))

    rows: list[Row] = []
    for i in range(n):
        a, b = halves(i, cuts[i])
        if labels[i] == OTHER and task == "sop":
            a, b = b, a
        elif labels[i] == OTHER:
            j = int(others[i] * (n - (last[i] - first[i])))
            b = halves(j if j < first[i] else j + int(last[i] - first[i]), places[i])[1]
        rows.append(cut_pair(a, b, room))
    return lay_out(rows, frame), labels


@dataclass
class PairObjective(MlmObjective):
    """Objective of a BERT with both its heads; see `engine.PerExampleLoss` and `objective.Objective`.

    With M masked tokens and n pairs in an epoch the loss is that of transformers' BertForPreTraining over all of them,

        −(1/M) Σ log p(masked token) − (1/n) Σ log p(class of a pair)

    Pairs and masks are drawn anew for each epoch.
    """

    segments: Segments = field(kw_only=True)
    task: str = field(kw_only=True)
    labels: LongArray = field(init=False)
    ratio: float = field(init=False)

    def __post_init__(self) -> None:
        self.draw(np.random.default_rng(0))

    def draw(self, rng: np.random.Generator) -> None:
        """Draw new pairs, then new masks."""
        self.windows, self.labels = draw_pairs(self.segments, self.network, self.task, rng)
        self.count()
        MlmObjective.draw(self, rng)
        self.ratio = float(self._counts.sum()) / self.n

    def loss(self, rows: LongArray) -> Tensor:
        """Return −Σ log p of the masked tokens of some pairs, and M/n times that of their classes."""
        masked, pairs, _ = self.parts(rows)
        return masked + self.ratio * pairs

    def parts(self, rows: LongArray) -> tuple[Tensor, Tensor, int]:
        """Return −Σ log p of the masked tokens, that of the classes, and how many classes are guessed right."""
        model: Any = self.network.model
        device = next(model.parameters()).device
        targets = self.targets.batch(rows, device)["input_ids"]
        chosen = targets != NO_TARGET
        with autocast_if_supported(model):
            body = model.bert(**self.seen.batch(rows, device))
            words = model.cls.predictions(body.last_hidden_state[chosen]).float()
            classes = model.cls.seq_relationship(body.pooler_output).float()
        labels = torch.from_numpy(self.labels[rows]).to(device)
        right = int((classes.argmax(dim=-1) == labels).sum())
        masked = functional.cross_entropy(words, targets[chosen], reduction="sum")
        return masked, functional.cross_entropy(classes, labels, reduction="sum"), right

    def scores(self, engine: Engine) -> tuple[float, dict[str, float]]:
        """Return −Σ log p of the masked tokens, and the share of pairs whose class is guessed right."""
        total = right = 0.0
        for _, (masked, _, hits) in engine.run(self.parts, self.lengths):
            total, right = total + float(masked), right + hits
        return total, {"pair_accuracy": right / self.n}
