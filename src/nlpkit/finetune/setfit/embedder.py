"""A sentence-transformers model that can be trained: texts tokenised once, forward over any of them, saved as it was read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nlpkit.embed import bert
from nlpkit.embed.engines import checked_max_tokens, load_sentence_transformer, quiet
from nlpkit.embed.models import read_layout
from nlpkit.embed.token_ids import NO_LIMIT, TokenIds, TokenReader, plain, special_ids
from nlpkit.errors import UsageError, first_line
from nlpkit.finetune.adapters.peft_modules import apply_peft
from nlpkit.finetune.training.engine import autocast_if_supported
from nlpkit.platform.types import Float32Array, IntArray, LongArray


def load_embedder(path: Path, *, max_tokens: int | None, device: torch.device) -> Embedder:
    """Load the model in a folder that `find_model` has checked: of sentence-transformers, or of transformers (mean pooling).

    Args:
        max_tokens: tokens of a text that the model sees, special ones included; None = as the folder says.

    Raises:
        MissingError: files that do not make a model. UsageError: a model of other things than subwords (word vectors, pictures),
            or a `max_tokens` that it cannot take.
    """
    model = load_sentence_transformer(path, device, command="finetune")
    return Embedder(model, path, max_tokens)


class Embedder:
    """The model: `read` makes texts of it, `parameters` are trained by name, `save` writes the folder.

    dim: E. max_tokens: of a text. model: the SentenceTransformer, in evaluation mode until `train(True)`.
    """

    def __init__(self, model: Any, path: Path, max_tokens: int | None) -> None:
        from tokenizers import Tokenizer

        first = model[0]
        backend = getattr(getattr(first, "tokenizer", None), "backend_tokenizer", None)
        if type(first).__name__ != "Transformer" or not isinstance(backend, Tokenizer):
            raise UsageError(
                f"the model in {path} starts with {type(first).__name__}; training needs a transformer with a fast tokenizer"
            )
        self.model, self.device = model.float().eval(), model.device
        self._tokenizer = plain(Tokenizer.from_str(backend.to_str()))
        self._reader = TokenReader(self._tokenizer)
        self.padding = int(first.tokenizer.pad_token_id or 0)
        self._lower = bool(getattr(first, "do_lower_case", False))
        specials = sum(map(len, special_ids(self._tokenizer)))
        layout = read_layout(path)
        if layout is not None and bert.supports(layout.config):
            limit = bert.max_positions(layout.config)
            self.max_tokens = checked_max_tokens(max_tokens, layout.max_tokens, limit, specials)
        else:
            longest = int(min(model.max_seq_length or NO_LIMIT, NO_LIMIT))
            self.max_tokens = checked_max_tokens(max_tokens, None, longest, specials)
        if self.max_tokens < NO_LIMIT:
            model.max_seq_length = self.max_tokens
        words = first.model.get_input_embeddings()
        if isinstance(words, torch.nn.Embedding) and self.device.type == "cpu":
            words.sparse = True  # the gradient of a batch has its few words, not the whole vocabulary
        self._adapter: Any = None
        self._prompt = (model.prompts or {}).get(model.default_prompt_name or "", "")
        self._names, self.dim = self._reached()

    def parameters(self) -> dict[str, Tensor]:
        """Return what the vectors depend on, by the names of the SentenceTransformer; poolers that nobody reads are left out."""
        return {name: p for name, p in self.model.named_parameters() if name in self._names}

    def adapt(self, name: str, options: Mapping[str, Any], *, seed: int) -> None:
        """Freeze all weights of the transformer and put lora, dora or ia3 beside them, which alone are trained. Raises UsageError."""
        self._adapter = apply_peft(self.model[0].model, name, options, seed=seed, head=False)
        self._names, _ = self._reached()

    def save_adapter(self, folder: Path, *, base: str) -> None:
        """Write what `adapt` has put into the transformer, as peft has it, and add it to the weights, all of which can be trained again."""
        with quiet():
            self._adapter.peft_config["default"].base_model_name_or_path = base
            self._adapter.save_pretrained(str(folder), save_embedding_layers=False)
        self._merge(self._adapter)

    def add_adapter(self, folder: Path) -> None:
        """Add a peft adapter to the weights of the transformer, all of which stay trainable.

        Raises:
            UsageError: the adapter is of another model: one of its weights has no place in this one, or another shape.
        """
        from peft import PeftModel, get_peft_model_state_dict
        from safetensors.torch import load_file

        with quiet(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of weights that are missing, which are refused here
            try:
                stored = load_file(folder / "adapter_model.safetensors")
                adapted = PeftModel.from_pretrained(self.model[0].model, str(folder)).to(self.device)
                strange = sorted(set(stored) ^ set(get_peft_model_state_dict(adapted)))
            except Exception as error:  # peft fails in many ways on another model
                strange = [first_line(error)]
        if strange:
            raise UsageError(f"the adapter {folder} does not fit the base: {strange[0]}", parameter="method")
        self._merge(adapted)

    def _merge(self, adapted: Any) -> None:
        adapted.merge_and_unload()  # the same model, changed in place
        self.model[0].model.requires_grad_(True)
        self._adapter = None
        self._names, _ = self._reached()

    def train(self, on: bool) -> None:
        """Switch dropout on or off."""
        self.model.train(on)

    def read(self, texts: Sequence[str]) -> EmbedderTexts:
        """Tokenise texts, cut to `max_tokens`."""
        prompted = [self.as_read(text)[0] for text in texts] if self._lower or self._prompt else texts
        return EmbedderTexts(self, TokenIds(self._reader, prompted, self.max_tokens))

    @property
    def tokenizer(self) -> Any:
        """The tokenizer, which neither cuts nor pads."""
        return self._tokenizer

    @property
    def frame(self) -> tuple[int, int]:
        """Special tokens before and after a text."""
        before, after = special_ids(self._tokenizer)
        return len(before), len(after)

    def as_read(self, text: str) -> tuple[str, int]:
        """Return a text as the tokenizer reads it, and where it begins behind the prompt."""
        return self._prompt + (text.lower() if self._lower else text), len(self._prompt)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return vectors (u, E) of token ids (u, T) whose padding, at the end, has mask 0. Safe in several threads."""
        with autocast_if_supported(getattr(self.model[0], "model", self.model)):
            vectors: Tensor = self.model({"input_ids": ids, "attention_mask": mask})["sentence_embedding"]
        return vectors

    def pad(self, tokens: TokenIds, rows: LongArray) -> tuple[Tensor, Tensor]:
        """Return ids and mask (u, T) of some texts, T the longest of them."""
        lengths = tokens.lengths[rows]
        width = int(lengths.max())
        ids = tokens.lay_out(rows, np.full(len(rows), width)).reshape(len(rows), width)
        seen = np.arange(width) < lengths[:, None]
        ids[~seen] = self.padding
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(seen.astype(np.int64)).to(self.device)

    def save(self, folder: Path) -> None:
        """Write a folder of sentence-transformers: safetensors and JSON, no model card."""
        with quiet():
            self.model.save(str(folder), create_model_card=False, safe_serialization=True)

    def _reached(self) -> tuple[frozenset[str], int]:
        """Return the names of the parameters that vectors depend on, and E."""
        trainable = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        ids, mask = self.pad(TokenIds(self._reader, ["a"], self.max_tokens), np.zeros(1, np.int64))
        with torch.enable_grad():
            vectors = self.forward(ids, mask)
            gradients = torch.autograd.grad(vectors.sum(), list(trainable.values()), allow_unused=True)
        return frozenset(n for n, g in zip(trainable, gradients, strict=True) if g is not None), vectors.shape[1]


class EmbedderTexts:
    """Texts as token ids in one flat array.

    lengths (U,) int32: tokens that the model sees; cut (U,): how many it does not see.
    """

    def __init__(self, embedder: Embedder, tokens: TokenIds) -> None:
        self._embedder, self._tokens = embedder, tokens
        self.lengths: IntArray = tokens.lengths.astype(np.int32)
        self.cut: LongArray = tokens.cut

    def tokens(self) -> IntArray | LongArray:
        """Return the ids of all tokens of the texts, in any order, and that of padding."""
        return np.append(self._tokens.flat, self._embedder.padding)

    def encode(self, rows: LongArray) -> Tensor:
        """Return the vectors (u, E) of some texts, in that order, padded to their longest. Safe in several threads."""
        return self._embedder.forward(*self._embedder.pad(self._tokens, rows))


def embed_all(embedder: Embedder, texts: EmbedderTexts, engine: Any) -> Float32Array:
    """Return the vectors of all texts (U, E) float32, as an `engine.Engine` runs them, without dropout."""
    embedder.train(False)
    out = np.empty((len(texts.lengths), embedder.dim), np.float32)
    if len(out):
        for rows, vectors in engine.run_rows(texts.encode, texts.lengths):
            out[rows] = vectors.float().cpu().numpy()
    return out


def cut_of(*read: EmbedderTexts) -> tuple[int, float]:
    """Return how many texts are longer than the window, and the share of all tokens that is not seen."""
    unseen = sum(int(texts.cut.sum()) for texts in read)
    seen = sum(int(texts.lengths.sum()) for texts in read)
    return sum(int((texts.cut > 0).sum()) for texts in read), unseen / max(1, seen + unseen)
