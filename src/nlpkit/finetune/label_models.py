"""Models that judge labels without training: by inference between a text and a sentence, or by the word they put into a sentence."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from nlpkit.embed.encoder import encodable
from nlpkit.embed.token_ids import iterate_ids
from nlpkit.errors import MissingError, UsageError
from nlpkit.finetune.data.inputs import Inputs, encode
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.patterns.mlm import MlmNetwork, load_mlm
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.training.engine import Engine, autocast_if_supported
from nlpkit.finetune.training.network import Network, load_network, predict
from nlpkit.platform.types import FloatArray, LongArray

LEAST_ROOM = 8  # tokens of a text beside a prompt
WITHOUT_CONTENT = ("N/A", "[MASK]", "")  # Zhao et al. 2021, §5


@dataclass(slots=True)
class NliModel:
    """A network of natural language inference. entailment, contradiction: the places of these classes among its outputs."""

    network: Network
    entailment: int
    contradiction: int

    def logits(
        self, texts: Sequence[str], hypotheses: Sequence[str], engine: Engine
    ) -> tuple[FloatArray, FloatArray, int]:
        """Return the logits of entailment and of contradiction (D, T) of pairs of a text and a hypothesis, and how many texts are cut.

        Of a pair that is too long the longer part, the text, is cut.
        """
        shape, cut = (len(texts), len(hypotheses)), np.zeros(len(texts), bool)
        entailment, contradiction = np.zeros(shape), np.zeros(shape)
        network = self.network
        for t, hypothesis in enumerate(hypotheses):
            inputs = encode(
                network.tokenizer, network.frame, texts, [hypothesis] * len(texts), max_tokens=network.max_tokens
            )
            outputs = predict(network, inputs, np.arange(len(texts)), engine)
            entailment[:, t], contradiction[:, t] = outputs[:, self.entailment], outputs[:, self.contradiction]
            cut |= inputs.cut > 0
        return entailment, contradiction, int(cut.sum())


def load_nli(folder: Path, names: Sequence[str], *, device: torch.device, max_tokens: int | None = None) -> NliModel:
    """Load a network of natural language inference.

    Args:
        folder: of transformers. names: of its classes in their order, as its config.json has them. max_tokens: None: as the folder says.

    Raises:
        UsageError: none of the classes is called entailment, or none contradiction and there are more than two; MissingError: files that
            make no model.
    """
    entailment = _class(names, "entail")
    if entailment is None:
        raise UsageError(
            f"the model in {folder} has no class 'entailment' (its classes: {', '.join(names) or 'none'}); a model of natural language "
            "inference was needed",
            parameter="model",
        )
    contradiction = _class(names, "contradict")
    if contradiction is None and len(names) == 2:
        contradiction = 1 - entailment
    if contradiction is None:
        raise UsageError(
            f"the model in {folder} has no class 'contradiction' beside entailment (its classes: {', '.join(names)})",
            parameter="model",
        )
    task = FinetuneTask("single", tuple(names))
    network = load_network(folder, task, parse_method("full"), seed=0, device=device, max_tokens=max_tokens, whole=True)
    return NliModel(network, entailment, contradiction)


def _class(names: Sequence[str], start: str) -> int | None:
    return next((i for i, name in enumerate(names) if name.lower().startswith(start)), None)


@dataclass(slots=True)
class PromptModel:
    """A masked language model and a pattern around the text. head, tail: token ids before and after it; mask: place of the mask in
    head + tail; words (W,): token ids whose probability is asked for.
    """

    network: MlmNetwork
    head: list[int]
    tail: list[int]
    mask: int
    words: LongArray

    def log_probs(self, texts: Sequence[str], engine: Engine) -> tuple[FloatArray, int]:
        """Return log p of each word at the mask (D, W), over the whole vocabulary, and how many texts are cut."""
        inputs, places, cut = self._inputs(texts)
        network = self.network
        words = torch.from_numpy(self.words)

        def work(rows: LongArray) -> FloatArray:
            device = next(network.model.parameters()).device
            batch = inputs.batch(rows, device)
            with autocast_if_supported(network.model):
                hidden = network.body(**batch).last_hidden_state
                at = torch.from_numpy(places[rows]).to(device)
                logits = network.guess(hidden[torch.arange(len(rows), device=device), at])
            log_p: FloatArray = torch.log_softmax(logits.double(), dim=1)[:, words.to(device)].cpu().numpy()
            return log_p

        out = np.zeros((len(texts), len(self.words)))
        for rows, values in engine.run_rows(work, inputs.lengths):
            out[rows] = values
        return out, cut

    def without_content(self, engine: Engine) -> FloatArray:
        """Return log p (3, W) for three texts that say nothing: N/A, a mask and the empty text (Zhao et al. 2021)."""
        mask = self.network.tokenizer.mask_token
        return self.log_probs([text.replace("[MASK]", mask) for text in WITHOUT_CONTENT], engine)[0]

    def _inputs(self, texts: Sequence[str]) -> tuple[Inputs, LongArray, int]:
        """Return texts within the pattern, of which only the text is cut, the place of the mask in each, and how many are cut."""
        frame, tokenizer = self.network.frame, self.network.tokenizer
        room = self.network.max_tokens - frame.single - len(self.head) - len(self.tail)
        flat, lengths, counts, cuts, places = array("i"), [], [], [], []
        for ids in iterate_ids(tokenizer.backend_tokenizer, [encodable(text) for text in texts]):
            kept = ids[:room]
            whole = [*frame.before, *self.head, *kept, *self.tail, *frame.after]
            flat.extend(whole)
            lengths.append(len(whole))
            counts.append(len(ids))
            cuts.append(len(ids) - len(kept))
            places.append(len(frame.before) + self.mask + (len(kept) if self.mask >= len(self.head) else 0))
        sizes = np.array(lengths, np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        ids_of_all = np.frombuffer(flat, np.intc) if flat else np.zeros(0, np.int32)
        cut = np.array(cuts, np.int64)
        inputs = Inputs(ids_of_all, None, starts, sizes, np.array(counts, np.int64), cut, frame)
        return inputs, np.array(places, np.int64), int((cut > 0).sum())


def load_prompt(
    folder: Path,
    pattern: tuple[str, str],
    words: Sequence[str],
    *,
    device: torch.device,
    max_tokens: int | None = None,
) -> PromptModel:
    """Load a masked language model with a pattern and the words that stand for labels (Schick & Schütze 2021, §3.1).

    Args:
        folder: of transformers. pattern: what stands before and after the text, one of them with [MASK]. words: one token each.
        max_tokens: None: as the folder says.

    Raises:
        UsageError: a tokenizer without a mask token, a word of several tokens or one that the vocabulary does not have, one word for two
            labels, a pattern that leaves no room; MissingError: a model without a head for masked words, or files that make none.
    """
    try:
        network = load_mlm(folder, device=device, seed=0, max_tokens=max_tokens)
    except UsageError as error:
        raise UsageError(str(error).replace("`base`", "`model`"), parameter="model") from None
    if network.head_is_new:
        raise MissingError(
            f"the model in {folder} has no head that predicts masked words; give a masked language model, or train one with "
            "`train_encoder(objective=mlm)`",
            parameter="model",
        )
    before, after = (part.replace("[MASK]", network.tokenizer.mask_token) for part in pattern)
    head, tail = (
        list(next(iter(iterate_ids(network.tokenizer.backend_tokenizer, [part])))) for part in (before, after)
    )
    masks = [place for place, token in enumerate([*head, *tail]) if token == network.mask_id]
    if len(masks) != 1:
        raise UsageError(
            f"the tokenizer in {folder} reads {len(masks)} masks in the template, but exactly one is needed",
            parameter="template",
        )
    room = network.max_tokens - network.frame.single - len(head) - len(tail)
    if room < LEAST_ROOM:
        raise UsageError(
            f"the template leaves {max(room, 0)} of the {network.max_tokens} tokens of the model to the text; give a shorter one",
            parameter="template",
        )
    joined = "".join(pattern)
    spaced = joined[: joined.index("[MASK]")][-1:].isspace()
    return PromptModel(network, head, tail, masks[0], _tokens(network, words, spaced=spaced, folder=folder))


def _tokens(network: MlmNetwork, words: Sequence[str], *, spaced: bool, folder: Path) -> LongArray:
    """Return the token (W,) of each word, as it is read after a space or not."""
    space = " " if spaced else ""
    backend, tokens = network.tokenizer.backend_tokenizer, list[int]()
    for word, ids in zip(words, iterate_ids(backend, [encodable(f"{space}{word}") for word in words]), strict=True):
        if len(ids) != 1:
            pieces = " ".join(network.tokenizer.convert_ids_to_tokens(list(ids)))
            raise UsageError(
                f"`labels`: '{word}' is {len(ids)} tokens of the model in {folder} ({pieces or 'none'}), but label "
                "words need one token; give such words, as in 'politics: government | election; …'",
                parameter="labels",
            )
        if ids[0] == network.tokenizer.unk_token_id:
            raise UsageError(
                f"`labels`: the model in {folder} has no token for the word '{word}'; give the label another word, "
                "as in 'politics: government; …'",
                parameter="labels",
            )
        if ids[0] in tokens:
            other = words[tokens.index(ids[0])]
            raise UsageError(
                f"`labels`: '{other}' and '{word}' are one token of the model in {folder}; give each label words of its own",
                parameter="labels",
            )
        tokens.append(int(ids[0]))
    return np.array(tokens, np.int64)
