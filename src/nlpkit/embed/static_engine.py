"""Static encoders as engines: the vector of a text is the mean of the vectors of its tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nlpkit.embed.token_ids import NO_LIMIT, TokenIds, TokenReader, plain
from nlpkit.errors import MissingError, UsageError
from nlpkit.platform.types import ranges

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from nlpkit.embed.token_ids import Batch

FloatArray = npt.NDArray[np.float32]
FILES = ("model.safetensors", "tokenizer.json")
_TENSORS = ("embedding.weight", "embeddings")  # of sentence-transformers, of Model2Vec
_MODULES = (["StaticEmbedding"], ["StaticEmbedding", "Normalize"])


def static_folder(path: Path) -> Path | None:
    """Return the folder with tokenizer and vectors of a StaticEmbedding of sentence-transformers, None where a model is another."""
    try:
        modules = json.loads((path / "modules.json").read_text(encoding="utf-8"))
        kinds = [str(module["type"]).rsplit(".", 1)[-1] for module in modules]
        folder = path / modules[0].get("path", "")
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return folder if kinds in _MODULES and (folder / "tokenizer.json").is_file() else None


class StaticEngine:
    """A tokenizer and a vector for each of its tokens (V, E) float32.

    The vectors of a text do not depend on the other texts or on threads. A text without a token has the vector 0, as in
    sentence-transformers; characters that the vocabulary does not have are its unknown token, whose vector is one like any other.
    """

    name, pads, precision = "static", False, "fp32"

    def __init__(self, tokenizer: Tokenizer, vectors: FloatArray, *, max_tokens: int | None = None) -> None:
        """Take a tokenizer and its vectors. Raises ValueError when there is not a vector for each token."""
        if vectors.ndim != 2 or len(vectors) < tokenizer.get_vocab_size() or not np.isfinite(vectors).all():
            raise ValueError(f"{tokenizer.get_vocab_size():,} vectors of numbers were needed, found {vectors.shape}")
        self.tokenizer, self.vectors = plain(tokenizer), np.ascontiguousarray(vectors, np.float32)
        self.reader = TokenReader(self.tokenizer)
        if max_tokens is not None and max_tokens < 1:
            raise UsageError(f"`max_tokens={max_tokens}`: at least 1 is needed", parameter="max_tokens")
        self.max_tokens, self.dim = max_tokens or NO_LIMIT, vectors.shape[1]

    @classmethod
    def from_files(cls, files: Mapping[str, bytes], *, max_tokens: int | None = None) -> StaticEngine:
        """Load an encoder from the content of FILES. Raises ValueError for what is none."""
        from safetensors.numpy import load
        from tokenizers import Tokenizer

        try:
            tensors = load(files["model.safetensors"])
            vectors = tensors[next(name for name in _TENSORS if name in tensors)].astype(np.float32)
            if "mapping" in tensors:  # Model2Vec: tokens that share a vector, and their weights
                vectors = vectors[tensors["mapping"]]
            if "weights" in tensors:
                vectors = vectors * tensors["weights"][:, None]
            tokenizer = Tokenizer.from_str(files["tokenizer.json"].decode())
        except Exception as error:  # tokenizers and safetensors raise classes of their own for damaged files
            raise ValueError(str(error) or "it has no vectors") from None
        return cls(tokenizer, vectors, max_tokens=max_tokens)

    @classmethod
    def from_folder(cls, folder: Path, *, max_tokens: int | None = None) -> StaticEngine:
        """Load the folder that `static_folder` gives. Raises MissingError for files that do not make an encoder."""
        try:
            return cls.from_files({name: (folder / name).read_bytes() for name in FILES}, max_tokens=max_tokens)
        except (OSError, ValueError) as error:
            raise MissingError(f"the static encoder in {folder} cannot be read: {error}") from None

    def read(self, texts: Sequence[str]) -> StaticTexts:
        """Tokenise texts."""
        return StaticTexts(self, texts)


class StaticTexts(TokenIds):
    """Texts as token ids, end to end; see `nlpkit.embed.engines.Texts`."""

    def __init__(self, engine: StaticEngine, texts: Sequence[str]) -> None:
        super().__init__(engine.reader, texts, engine.max_tokens, specials=False)
        self._engine = engine

    def embed(self, batch: Batch) -> FloatArray:
        """Return the mean vectors of the texts `batch.rows`, (B, E) float32, summed in the order of the tokens."""
        import scipy.sparse as sp  # here: other engines are loaded without it

        sizes = np.diff(self.starts)[batch.rows]
        ids = self.flat[ranges(self.starts[batch.rows], sizes)]
        vectors = self._engine.vectors
        shape = (len(sizes), len(vectors))
        bag = sp.csr_matrix((np.ones(len(ids), np.float32), ids, np.concatenate([[0], np.cumsum(sizes)])), shape=shape)
        means: FloatArray = (bag @ vectors) / np.maximum(sizes, 1)[:, None].astype(np.float32)
        return means
