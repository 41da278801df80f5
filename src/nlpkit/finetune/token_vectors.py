"""The vectors that an encoder gives to the tokens of a text, and BERTScore from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nlpkit.embed.hardware import seeded
from nlpkit.embed.tokenizers import declared_max_tokens, load_tokenizer, transformer_folder
from nlpkit.errors import UsageError
from nlpkit.finetune.data.inputs import Frame, Inputs, encode, frame_of
from nlpkit.finetune.training.architectures import positions_of
from nlpkit.finetune.training.engine import Engine, autocast_if_supported
from nlpkit.finetune.training.loading import load_whole
from nlpkit.metrics.texts.generation import greedy_scores, inverse_frequencies
from nlpkit.platform.types import Float32Array, FloatArray, IntArray, LongArray


@dataclass(slots=True)
class TokenEncoder:
    """An encoder. layer: that whose output the vectors are, 0 for the embeddings before the first."""

    model: Any
    tokenizer: Any
    frame: Frame
    layer: int
    max_tokens: int

    def read(self, texts: Sequence[str]) -> Inputs:
        """Return texts as token ids, cut to the window."""
        return encode(self.tokenizer, self.frame, [text.strip() for text in texts], max_tokens=self.max_tokens)

    def vectors(self, inputs: Inputs, rows: LongArray) -> list[Float32Array]:
        """Return the vectors (T, E) of the tokens of some texts, special ones included."""
        batch = inputs.batch(rows, next(self.model.parameters()).device)
        with autocast_if_supported(self.model):
            hidden = self.model(**batch, output_hidden_states=True).hidden_states[self.layer].float().cpu().numpy()
        return [values[:length] for values, length in zip(hidden, inputs.lengths[rows], strict=True)]


def load_token_encoder(
    folder: Path, *, device: torch.device, layer: int | None = None, max_tokens: int | None = None
) -> TokenEncoder:
    """Load an encoder of transformers or sentence-transformers for the vectors of tokens.

    Args:
        layer: None: the last. max_tokens: None: as the folder says.

    Raises:
        MissingError: files that make no encoder; UsageError: a layer or a number of tokens that it does not have.
    """
    from transformers import AutoModel

    place = transformer_folder(folder)
    with seeded(0):
        model = load_whole(AutoModel, place, spare="pooler")
    layers = int(model.config.num_hidden_layers)
    if layer is not None and not 0 <= layer <= layers:
        raise UsageError(f"`layer={layer}`: the model in {folder} has the layers 0 to {layers}", parameter="layer")
    tokenizer, positions = load_tokenizer(place, words=False), positions_of(model.config)
    if max_tokens is not None and max_tokens > positions:
        raise UsageError(f"`max_tokens={max_tokens}`: this model takes up to {positions} tokens of a text")
    window = max_tokens or min(declared_max_tokens(folder, usual=512), positions)
    frame = frame_of(tokenizer, typed=False)
    return TokenEncoder(model.to(device).eval(), tokenizer, frame, layers if layer is None else layer, window)


def bert_scores(
    encoder: TokenEncoder, references: Sequence[str], texts: Sequence[str], engine: Engine, *, idf: bool
) -> tuple[FloatArray, int]:
    """Return BERTScore's precision, recall and F (D, 3) of texts, and how many references or texts are cut to the window.

    Args:
        idf: weigh tokens by their inverse frequency among the references; else all alike, and special ones not at all.
    """
    sides = encoder.read(references), encoder.read(texts)
    ids_of = [[_ids(side, d) for d in range(len(texts))] for side in sides]
    weights = np.ones(max(len(encoder.tokenizer), int(encoder.model.config.vocab_size)))
    if idf:
        weights = inverse_frequencies(ids_of[0], len(weights))
    weights[[*encoder.frame.before, *encoder.frame.after]] = 0.0

    def work(rows: LongArray) -> list[tuple[float, float, float]]:
        pairs = zip(rows.tolist(), *(encoder.vectors(side, rows) for side in sides), strict=True)
        return [greedy_scores(a, b, weights[ids_of[0][d]], weights[ids_of[1][d]]) for d, a, b in pairs]

    out = np.zeros((len(texts), 3))
    for rows, values in engine.run(work, np.maximum(sides[0].lengths, sides[1].lengths)):
        out[rows] = values
    return out, int(((sides[0].cut > 0) | (sides[1].cut > 0)).sum())


def _ids(inputs: Inputs, row: int) -> IntArray:
    ids: IntArray = inputs.flat[inputs.starts[row] : inputs.starts[row + 1]]
    return ids
