"""The objectives of training from scratch: next token, sequence to sequence, ELECTRA, pairs of segments.

Parts, in this order:
- Causal language modelling: each token is guessed from those before it in its window.
- Sequence to sequence: an encoder reads a text, a decoder writes its target, each token guessed from the true ones
  before it.
- ELECTRA: a small generator guesses masked tokens, and a discriminator finds the tokens that it has replaced (Clark et
  al. 2020).
- Pairs of segments beside masked tokens: next sentence prediction of BERT, and sentence order prediction of ALBERT.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.embed.encoder import encodable
from nlpkit.embed.token_ids import iterate_ids
from nlpkit.errors import InputError
from nlpkit.finetune.data.inputs import NO_TARGET, Frame, Inputs, Row, cut_pair, encode, lay_out
from nlpkit.finetune.patterns.mlm import MlmNetwork, MlmObjective
from nlpkit.finetune.training.engine import Engine, autocast_if_supported
from nlpkit.finetune.training.train import EveryParameter
from nlpkit.platform.types import FloatArray, LongArray
from nlpkit.text.sentences import sentence_spans


def cut_sequences(network: MlmNetwork, texts: Sequence[str]) -> tuple[Inputs, int]:
    """Return texts as sequences to guess, and how many texts are longer than the window.

    A text is its tokens between the token that begins texts and the one that ends them. A window of T tokens is followed by the
    token that comes next; the next window begins with that one, so each token but the first is guessed exactly once.

    Raises:
        InputError: there is no token at all.
    """
    first, last = int(network.tokenizer.bos_token_id), int(network.tokenizer.eos_token_id)
    T, flat, lengths, long, some = network.max_tokens, array("i"), [], 0, False
    for ids in iterate_ids(network.tokenizer.backend_tokenizer, [encodable(text) for text in texts]):
        sequence = [first, *ids, last]
        some, long = some or bool(ids), long + (len(sequence) > T + 1)
        for start in range(0, len(sequence) - 1, T):
            window = sequence[start : start + T + 1]
            flat.extend(window)
            lengths.append(len(window))
    if not some:
        raise InputError(f"none of the {len(texts)} texts has a token to guess; check `text_col`")
    sizes = np.array(lengths, np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    nothing = np.zeros(len(sizes), np.int64)
    return Inputs(np.frombuffer(flat, np.intc), None, starts, sizes, sizes, nothing, network.frame), long


@dataclass
class ClmObjective(EveryParameter):
    """Objective of training a network to guess next tokens; see `engine.PerExampleLoss` and `objective.Objective`."""

    network: MlmNetwork
    sequences: Inputs
    lengths: LongArray = field(init=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        self.lengths, self.n = self.sequences.lengths, len(self.sequences.lengths)

    def weight(self, rows: LongArray) -> float:
        """Return how many tokens of some sequences are guessed."""
        return float((self.lengths[rows] - 1).sum())

    def loss(self, rows: LongArray) -> Tensor:
        """Return −Σ log p of the tokens of some sequences."""
        model = self.network.model
        batch = self.sequences.batch(rows, next(model.parameters()).device)
        ids, mask = batch["input_ids"], batch["attention_mask"]
        guessed = mask[:, 1:] == 1
        with autocast_if_supported(model):
            hidden = self.network.body(
                input_ids=ids[:, :-1], attention_mask=mask[:, 1:], use_cache=False
            ).last_hidden_state
            logits = self.network.guess(hidden[guessed]).float()
        return functional.cross_entropy(logits, ids[:, 1:][guessed], reduction="sum")


@dataclass
class BilmObjective(ClmObjective):
    """Objective of training ELMo: next tokens by the forward model and those before by the backward one, half of each (§3.1, J)."""

    def loss(self, rows: LongArray) -> Tensor:
        """Return −½ Σ (log p(t_k | t_1 … t_{k−1}) + log p(t_{k−1} | t_k … t_n)) over some sequences."""
        model = self.network.model
        batch = self.sequences.batch(rows, next(model.parameters()).device)
        ids, mask = batch["input_ids"], batch["attention_mask"]
        guessed = mask[:, 1:] == 1
        with autocast_if_supported(model):
            forward, backward = self.network.body(**batch).hidden_states[-1].chunk(2, -1)
            pairs = ((forward[:, :-1], ids[:, 1:]), (backward[:, 1:], ids[:, :-1]))
            logits = [self.network.guess(hidden[guessed]).float() for hidden, _ in pairs]
        return torch.stack([
            functional.cross_entropy(guess, targets[guessed], reduction="sum") / 2
            for guess, (_, targets) in zip(logits, pairs, strict=True)
        ]).sum()  # fmt: skip


def next_token_objective(network: MlmNetwork, sequences: Inputs) -> ClmObjective:
    """Return the objective of a network that guesses next tokens, ELMo's in both directions."""
    both_ways = getattr(network.model.config, "arch", None) == "elmo"
    return (BilmObjective if both_ways else ClmObjective)(network, sequences)


def negative_log_likelihood(objective: Any, engine: Engine) -> tuple[float, int]:
    """Return −Σ log p of the tokens that an objective guesses, and their number N. exp of the ratio is the perplexity per token."""
    objective.mode(False)
    total = sum(loss for _, loss in engine.run(lambda rows: float(objective.loss(rows)), objective.lengths))
    return float(total), int(objective.weight(np.arange(objective.n)))


def count_words(texts: Sequence[str]) -> int:
    """Return the words of texts between blanks, with the end of each text, as n-gram models count them."""
    return sum(len(text.split()) + 1 for text in texts)


# ------------------------------------------------------------------------------------------------------------------------
# Sequence to sequence: an encoder reads a text, a decoder writes its target, each token guessed from the true ones before it.


def cut_pairs(network: MlmNetwork, texts: Sequence[str], targets: Sequence[str]) -> tuple[Inputs, Inputs, int]:
    """Return texts with the special tokens around each, targets with the token that ends them, and how many pairs lose their end.

    Raises:
        InputError: no target has a token.
    """
    frame, window = network.frame, network.max_tokens
    end = Frame((), (), (int(network.tokenizer.eos_token_id),), frame.pad, False)
    sources = encode(network.tokenizer, frame, texts, max_tokens=window)
    written = encode(network.tokenizer, end, targets, max_tokens=window)
    if not written.counts.any():
        raise InputError(f"none of the {len(targets)} targets has a token to guess; check `target_col`")
    return sources, written, int(((sources.cut > 0) | (written.cut > 0)).sum())


@dataclass
class Seq2SeqObjective(EveryParameter):
    """Objective of training an encoder and a decoder; see `engine.PerExampleLoss` and `objective.Objective`.

    Teacher forcing (Williams & Zipser 1989; lecture): the decoder reads the true token before each place, not the one it would
    have written, after a token that begins every target. With a text x and its target of tokens y_1 … y_n, of which the last is the end,

        loss = −Σ_t log p(y_t | x, y_1 … y_{t−1})
    """

    network: MlmNetwork
    sources: Inputs
    targets: Inputs
    lengths: LongArray = field(init=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        self.lengths, self.n = self.sources.lengths + self.targets.lengths, len(self.targets.lengths)

    def weight(self, rows: LongArray) -> float:
        """Return how many tokens of some targets are guessed, their ends among them."""
        return float(self.targets.lengths[rows].sum())

    def loss(self, rows: LongArray) -> Tensor:
        """Return −Σ log p of the tokens of some targets."""
        model = self.network.model
        device = next(model.parameters()).device
        source, target = self.sources.batch(rows, device), self.targets.batch(rows, device)
        ids, guessed = target["input_ids"], target["attention_mask"] == 1
        before = torch.full_like(ids[:, :1], int(model.config.decoder_start_token_id))
        with autocast_if_supported(model):
            logits = model(
                input_ids=source["input_ids"], attention_mask=source["attention_mask"],
                decoder_input_ids=torch.cat([before, ids[:, :-1]], dim=1), use_cache=False,
            ).logits[guessed].float()  # fmt: skip
        return functional.cross_entropy(logits, ids[guessed], reduction="sum")


# ------------------------------------------------------------------------------------------------------------------------
# ELECTRA: a small generator guesses masked tokens, and a discriminator finds the tokens that it has replaced (Clark et al. 2020).

GENERATOR = "generator"  # the folder of it beside the discriminator, which is what is fine-tuned


class Electra(nn.Module):  # type: ignore[misc]
    """Both models. Their embeddings of tokens, positions and types are the same ones (§3.2)."""

    base_model_prefix = "electra"

    def __init__(self, discriminator: Any, generator: Any) -> None:
        super().__init__()
        generator.electra.embeddings = discriminator.electra.embeddings
        generator.generator_lm_head.weight = discriminator.electra.embeddings.word_embeddings.weight
        self.discriminator, self.generator = discriminator, generator

    @property
    def config(self) -> Any:
        """The configuration of the discriminator."""
        return self.discriminator.config

    @property
    def electra(self) -> Any:
        """The body of the discriminator."""
        return self.discriminator.electra

    def save_pretrained(self, folder: str) -> None:
        """Write the discriminator, and the generator into a folder in it."""
        self.discriminator.save_pretrained(folder)
        self.generator.save_pretrained(f"{folder}/{GENERATOR}")


def new_electra(
    *, vocabulary: int, layers: int, hidden: int, heads: int, window: int, dropout: float, ends: dict[str, Any]
) -> Electra:
    """Return both models with new weights; the generator is a quarter as wide (§3.2)."""
    from transformers import ElectraConfig, ElectraForMaskedLM, ElectraForPreTraining

    def config(width: int) -> Any:
        return ElectraConfig(
            vocab_size=vocabulary, embedding_size=hidden, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
            intermediate_size=4 * width, max_position_embeddings=window, hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout, **ends,
        )  # fmt: skip

    narrow = heads * max(1, hidden // (4 * heads))
    return Electra(ElectraForPreTraining(config(hidden)), ElectraForMaskedLM(config(narrow)))


@dataclass
class ElectraObjective(MlmObjective):
    """Objective of both models; see `engine.PerExampleLoss` and `objective.Objective`.

    The generator p_G guesses masked tokens; each is replaced by one that is drawn from its guess, and the discriminator D says of all
    tokens whether they are the original ones. With M masked tokens and N tokens in an epoch, the loss is (§2, eq. 1 and 2)

        −(1/M) Σ log p_G(token) + weight · −(1/N) Σ [original] log D + [replaced] log(1 − D)

    A token that was drawn right counts as original. The draws have no gradient. Tokens are masked as for BERT.
    """

    balance: float = field(kw_only=True, default=50.0)
    ratio: float = field(init=False)
    _uniforms: FloatArray = field(init=False)

    def draw(self, rng: np.random.Generator) -> None:
        """Draw new masks, and what the generator's guesses are drawn by."""
        MlmObjective.draw(self, rng)
        self._uniforms = rng.random(len(self.windows.flat))
        self.ratio = float(self._counts.sum()) / len(self.windows.flat)

    def loss(self, rows: LongArray) -> Tensor:
        """Return −Σ log p_G of some windows, and `balance` · M/N times the loss of the discriminator."""
        masked, detection, _ = self.parts(rows)
        return masked + self.balance * self.ratio * detection

    def parts(self, rows: LongArray) -> tuple[Tensor, Tensor, tuple[int, int]]:
        """Return −Σ log p_G, the summed loss of the discriminator, and how many tokens it judges right and how many are replaced."""
        pair: Any = self.network.model
        device = next(pair.parameters()).device
        targets = self.targets.batch(rows, device)["input_ids"]
        chosen = targets != NO_TARGET
        original = self.windows.batch(rows, device)
        ids, seen = original["input_ids"], original["attention_mask"] == 1
        with autocast_if_supported(pair):
            hidden = pair.generator.electra(**self.seen.batch(rows, device)).last_hidden_state[chosen]
            guesses = pair.generator.generator_lm_head(pair.generator.generator_predictions(hidden)).float()
            corrupt = ids.masked_scatter(chosen, self._drawn(guesses.detach(), rows, chosen))
            logits = pair.discriminator(input_ids=corrupt, attention_mask=original["attention_mask"]).logits.float()[
                seen
            ]
        replaced = (corrupt != ids)[seen]
        detection = functional.binary_cross_entropy_with_logits(logits, replaced.float(), reduction="sum")
        right = int(((logits > 0) == replaced).sum())
        masked = functional.cross_entropy(guesses, targets[chosen], reduction="sum")
        return masked, detection, (right, int(replaced.sum()))

    def _drawn(self, guesses: Tensor, rows: LongArray, chosen: Tensor) -> Tensor:
        """Return a token for each masked one (m,), drawn from softmax(guesses) (m, V): the first whose cumulated probability exceeds u."""
        places = self.windows.starts[rows][:, None] + np.arange(chosen.shape[1])
        u = torch.from_numpy(self._uniforms[places[chosen.cpu().numpy()]]).to(guesses.device)
        cumulated = guesses.double().softmax(dim=-1).cumsum(dim=-1)
        return (cumulated <= u[:, None]).sum(dim=-1).clamp(max=guesses.shape[1] - 1)

    def scores(self, engine: Engine) -> tuple[float, dict[str, float]]:
        """Return −Σ log p_G of the masked tokens; the share of tokens judged right, and that of replaced ones."""
        total, right, replaced = 0.0, 0, 0
        for _, (masked, _, counts) in engine.run(self.parts, self.lengths):
            total, right, replaced = total + float(masked), right + counts[0], replaced + counts[1]
        n = len(self.windows.flat)
        return total, {"detection_accuracy": right / n, "replaced_share": replaced / n}


# ------------------------------------------------------------------------------------------------------------------------
# Pairs of segments beside masked tokens: next sentence prediction of BERT, and sentence order prediction of ALBERT.
#
# nsp   half of the time B is what follows A in its document, else a segment of another document (Devlin et al. 2019, §3.1)
# sop   A and B follow one another; half of the time they are swapped (Lan et al. 2020, §3.1)

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
