"""The transformer by hand: one layer of an encoder and of a decoder (Vaswani et al. 2017), every matrix kept with its formula.

Letters of the paper: n tokens of d numbers each; Q, K (n, d_k) and V (n, d_v) of each of h heads."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from nlpkit.errors import InputError
from nlpkit.platform.options import Param, options
from nlpkit.platform.types import FloatArray

PAD = "PAD"


NORMS = ("population", "sample")


@options
class TransformerOptions:
    """Sizes and numbers of an example; what an example file says comes before these."""

    PANEL: ClassVar[str] = "Transformer"

    text: Annotated[str | None, Param("Words for the encoder, separated by spaces. They replace the example.")] = None
    target: Annotated[str | None, Param("Words for the decoder, starting with <start>.", metavar="TEXT")] = None
    d: Annotated[int, Param("Dimensions of an embedding.", ("d_model",), metavar="N", min=2, max=64)] = 6
    d_k: Annotated[int, Param("Dimensions of a query, a key and a value.", metavar="N", min=1, max=64)] = 4
    heads: Annotated[int, Param("Number of attention heads.", metavar="N", min=1, max=16)] = 1
    exact: Annotated[
        bool, Param("Do not round between steps. Without it, an example is rounded as its source prints it.")
    ] = False


@dataclass(frozen=True, slots=True)
class TransformerExample:
    """Tokens and weights of an encoder layer and a decoder layer.

    embedding, target_embedding: vectors (d,) of tokens; weights: matrices by name, W_Q, W_K (h, d, d_k), W_V (h, d, d_v), W_O
    (h·d_v, d), W_1 (d, f), b_1 (f,), and W_2 (f, d), b_2 (d,) where the feed-forward network has a second layer; the same with
    `decoder.` and `cross.` before them, and W_vocabulary (d, V). drawn: names of those that were drawn. length: tokens a sequence is
    padded to. norm: whether s divides by n ("population") or n − 1 ("sample"). digits: of a step by its symbol, to which it is
    rounded before the next reads it. printed: matrices that a book or a slide prints, by symbol, with which the steps are compared.
    """

    tokens: tuple[str, ...]
    target: tuple[str, ...]
    vocabulary: tuple[str, ...]
    embedding: FloatArray
    target_embedding: FloatArray
    weights: Mapping[str, FloatArray]
    drawn: tuple[str, ...] = ()
    length: int = 0
    norm: str = "population"
    epsilon: float = 1e-5
    digits: Mapping[str, int] = field(default_factory=dict)
    printed: Mapping[str, FloatArray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Misprint:
    """A printed number that differs from what its formula gives by more than a unit of the last digit of its matrix."""

    row: str
    column: str
    printed: float
    computed: float


@dataclass(frozen=True, slots=True)
class Step:
    """A matrix of a calculation: part ("encoder", "decoder", "masks"), symbol, formula in words of the paper, names of rows and columns.

    printed: whether it was compared with a printed one; misprints: the cells of that which differ.
    """

    part: str
    name: str
    symbol: str
    formula: str
    matrix: FloatArray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    note: str = ""
    printed: bool = False
    misprints: tuple[Misprint, ...] = ()


def positional_encoding(n: int, d: int) -> FloatArray:
    """Return the encodings of n positions (n, d): PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same (§3.5)."""
    pos, x = np.arange(n)[:, None], np.arange(d)
    angle: FloatArray = pos / 10_000 ** ((x - x % 2) / d)
    return np.asarray(np.where(x % 2 == 0, np.sin(angle), np.cos(angle)))


def softmax(scores: FloatArray) -> FloatArray:
    """Return exp(z_i) / Σ_j exp(z_j) of each row; a row of nothing but −∞, where that is 0 / 0, is 0."""
    top = scores.max(axis=1, keepdims=True)
    weight = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = weight.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(weight, total, out=np.zeros_like(weight), where=total > 0))


def padding_mask(rows: int, columns: int, length: int) -> FloatArray:
    """Return (length, length): 0 where both tokens are real, −∞ where one of them is padding."""
    mask = np.full((length, length), -np.inf)
    mask[:rows, :columns] = 0.0
    return mask


def look_ahead_mask(n: int, length: int) -> FloatArray:
    """Return (length, length): 0 for a token and those before it, −∞ for later ones and for padding (§3.2.3)."""
    later = np.triu(np.ones((length, length), bool), 1)
    mask = padding_mask(n, n, length)
    mask[later] = -np.inf
    return mask


def layer_norm(x: FloatArray, *, norm: str, epsilon: float) -> FloatArray:
    """Return each row with mean 0 and standard deviation 1.

    "population": (x − x̄) / √(s² + ε), s² over n (Ba et al. 2016); "sample": (x − x̄) / (s + ε), s² over n − 1. Gain 1, bias 0.
    """
    centred = x - x.mean(axis=1, keepdims=True)
    if norm == "sample":
        return np.asarray(centred / (x.std(axis=1, ddof=1, keepdims=True) + epsilon))
    return np.asarray(centred / np.sqrt(x.var(axis=1, keepdims=True) + epsilon))


def transformer_steps(example: TransformerExample, *, exact: bool = False) -> list[Step]:
    """Return every matrix of an encoder layer and a decoder layer in the order in which they are calculated.

    exact: no step is rounded, whatever `example.digits` says. Source: Vaswani et al. 2017, "Attention is all you need", §3.

    Raises:
        InputError: a printed matrix of another shape, or of no step.
    """
    steps = _Calculation(example, exact).run()
    symbols = {step.symbol for step in steps}
    unknown = next((name for name in (*example.printed, *example.digits) if name not in symbols), None)
    if unknown is not None:
        raise InputError(f"the example has no step {unknown}; its steps are {', '.join(s.symbol for s in steps)}")
    return steps


class _Calculation:
    """Steps as they are calculated; `_keep` rounds each, compares it with a printed one, and adds it to the list."""

    def __init__(self, example: TransformerExample, exact: bool) -> None:
        self.example, self.exact, self.part = example, exact, "encoder"
        self.steps: list[Step] = []
        self.dimensions = _numbered(example.embedding.shape[1])

    def run(self) -> list[Step]:
        one = self.example
        x = self._input(one.tokens, one.embedding, "")
        masked = max(one.length, len(one.tokens), len(one.target))
        memory = self._encoder_layer(x)
        if one.length:
            self._padded(len(one.tokens), masked)
        if not one.target:
            return self.steps
        self.part = "decoder"
        y = self._input(one.target, one.target_embedding, "D")
        self._masks(len(one.tokens), len(one.target), masked)
        output = self._decoder_layer(y, memory)
        weights = one.weights["W_vocabulary"]
        logits = self._keep("Logits", "L", "L = X W", output @ weights, one.target, one.vocabulary)
        share = self._keep("Probabilities", "P", "P = softmax(L)", softmax(logits), one.target, one.vocabulary)
        likeliest = share.argmax(axis=1)
        words = ", ".join(f"{t} → {one.vocabulary[i]}" for t, i in zip(one.target, likeliest, strict=True))
        self._note(f"next word, arg max of each row: {words}")
        return self.steps

    def _input(self, tokens: Sequence[str], embedding: FloatArray, suffix: str) -> FloatArray:
        """Return word plus position."""
        E = self._keep("Embedding", f"E{suffix}", "E = rows of the embedding table", embedding, tokens, self.dimensions)
        PE = self._keep(
            "Positional encoding", f"PE{suffix}", "PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d))",
            positional_encoding(len(tokens), E.shape[1]), tokens, self.dimensions,
        )  # fmt: skip
        return self._keep("Input", f"X{suffix}", f"X = E{suffix} + PE{suffix}", E + PE, tokens, self.dimensions)

    def _encoder_layer(self, x: FloatArray) -> FloatArray:
        """Return what an encoder layer makes of its input (§3.1)."""
        tokens = self.example.tokens
        attended = self._attention(x, x, tokens, tokens, "", None)
        normed = self._add_and_norm(x, attended, tokens, "1")
        return self._feed_forward(normed, tokens, "", "2")

    def _decoder_layer(self, y: FloatArray, memory: FloatArray) -> FloatArray:
        """Return what a decoder layer makes of its input and the output of the encoder (§3.1)."""
        source, target = self.example.tokens, self.example.target
        n = len(target)
        attended = self._attention(y, y, target, target, "decoder.", look_ahead_mask(n, n))
        first = self._add_and_norm(y, attended, target, "D1")
        crossed = self._attention(first, memory, target, source, "cross.", None)
        second = self._add_and_norm(first, crossed, target, "D2")
        return self._feed_forward(second, target, "decoder.", "D3")

    def _attention(
        self,
        x: FloatArray,
        memory: FloatArray,
        rows: Sequence[str],
        columns: Sequence[str],
        prefix: str,
        mask: FloatArray | None,
    ) -> FloatArray:
        """Return MultiHead(Q, K, V) = Concat(head_1 … head_h) W^O, head_i = softmax((Q Kᵀ + mask) / √d_k) V (§3.2)."""
        w = self.example.weights
        W_Q, W_K, W_V = (w[f"{prefix}{name}"] for name in ("W_Q", "W_K", "W_V"))
        h, d_k = len(W_Q), W_Q.shape[2]
        name = {"": "", "decoder.": "masked ", "cross.": "cross-"}[prefix]
        mark = {"": "", "decoder.": "D", "cross.": "C"}[prefix]
        source = "X_E" if prefix == "cross." else "X"
        heads = []
        for i in range(h):
            head = f"{mark}{i + 1 if h > 1 else ''}"
            suffix = f", head {i + 1}" if h > 1 else ""
            q = self._keep(f"Query{suffix}", f"Q{head}", "Q = X W^Q", x @ W_Q[i], rows, _numbered(d_k))
            k = self._keep(f"Key{suffix}", f"K{head}", f"K = {source} W^K", memory @ W_K[i], columns, _numbered(d_k))
            v = self._keep(
                f"Value{suffix}", f"V{head}", f"V = {source} W^V", memory @ W_V[i], columns, _numbered(W_V.shape[2])
            )
            scores = self._keep(
                f"Scores of the {name}attention{suffix}", f"S{head}", "S = Q Kᵀ", q @ k.T, rows, columns
            )
            if mask is not None:
                scores = self._keep(
                    f"Masked scores{suffix}", f"M{head}", "M = Q Kᵀ + MASK", scores + mask, rows, columns
                )
            scaled = self._keep(f"Scaled scores{suffix}", f"T{head}", f"{'M' if mask is not None else 'S'} / √d_k, d_k = {d_k}",
                                scores / np.sqrt(d_k), rows, columns)  # fmt: skip
            weights = self._keep(
                f"Weights of the {name}attention{suffix}",
                f"A{head}",
                "A = softmax(S / √d_k)",
                softmax(scaled),
                rows,
                columns,
            )
            heads.append(
                self._keep(f"Attention{suffix}", f"Z{head}", "Z = A V", weights @ v, rows, _numbered(W_V.shape[2]))
            )
        joined = np.concatenate(heads, axis=1)
        if h > 1:
            joined = self._keep(
                "Heads side by side", f"Z{mark}", "Z = Concat(Z1 … Zh)", joined, rows, _numbered(joined.shape[1])
            )
        return self._keep(
            f"Output of the {name}attention", f"O{mark}", "O = Z W^O", joined @ w[f"{prefix}W_O"], rows, self.dimensions
        )

    def _add_and_norm(self, x: FloatArray, added: FloatArray, tokens: Sequence[str], mark: str) -> FloatArray:
        """Return LayerNorm(x + Sublayer(x)) (§3.1)."""
        one = self.example
        summed = self._keep("Add", f"R{mark}", "R = X + Sublayer(X)", x + added, tokens, self.dimensions)
        formula = f"(R − mean) / (s + {one.epsilon:g}), s over n − 1"
        if one.norm == "population":
            formula = f"(R − mean) / √(s² + {one.epsilon:g}), s² over n"
        return self._keep(
            "Norm", f"N{mark}", f"N = {formula}", layer_norm(summed, norm=one.norm, epsilon=one.epsilon), tokens, self.dimensions
        )  # fmt: skip

    def _feed_forward(self, x: FloatArray, tokens: Sequence[str], prefix: str, mark: str) -> FloatArray:
        """Return add and norm of FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (§3.3); W_2 and b_2 may be left out."""
        w, side = self.example.weights, "D" if prefix else ""
        W_1, b_1, W_2 = w[f"{prefix}W_1"], w[f"{prefix}b_1"], w.get(f"{prefix}W_2")
        inner = _numbered(len(b_1))
        product = self._keep("Linear layer", f"XW{side}", "X W_1", x @ W_1, tokens, inner)
        shifted = self._keep("Linear layer with bias", f"XWb{side}", "X W_1 + b_1", product + b_1, tokens, inner)
        hidden = self._keep(
            "Activation (ReLU)", f"F{side}", "F = max(0, X W_1 + b_1)", np.maximum(shifted, 0), tokens, inner
        )
        if W_2 is not None:
            hidden = self._keep(
                "Second linear layer", f"G{side}", "G = F W_2 + b_2", hidden @ W_2 + w[f"{prefix}b_2"], tokens, self.dimensions
            )  # fmt: skip
        return self._add_and_norm(x, hidden, tokens, mark)

    def _padded(self, n: int, length: int) -> None:
        """Keep the encoder's mask, and what it leaves of the weights of the first head."""
        self.part = "masks"
        names = _padded_names(self.example.tokens, length)
        mask = self._keep("Padding mask of the encoder", "MASK", "0 for two tokens, −∞ where one is PAD",
                          padding_mask(n, n, length), names, names)  # fmt: skip
        scores = np.zeros((length, length))
        scores[:n, :n] = next(step.matrix for step in self.steps if step.symbol in ("T", "T1"))
        self._keep(
            "Padded attention", "AMASK", "A = softmax((Q Kᵀ + MASK) / √d_k)", softmax(scores + mask), names, names
        )
        self._note(
            "PAD gets no weight, so the rows of the tokens are those without it; a row of PAD is 0 / 0, shown as 0"
        )

    def _masks(self, n: int, m: int, length: int) -> None:
        part, self.part = self.part, "masks"
        source, target = _padded_names(self.example.tokens, length), _padded_names(self.example.target, length)
        self._keep("Look-ahead mask of the decoder", "MASKD", "0 for a token and those before it, −∞ for later ones and PAD",
                   look_ahead_mask(m, length), target, target)  # fmt: skip
        self._keep("Mask of the cross-attention", "MASKC", "0 for a word of the decoder and one of the encoder, −∞ where one is PAD",
                   padding_mask(m, n, length), target, source)  # fmt: skip
        self.part = part

    def _keep(
        self, name: str, symbol: str, formula: str, matrix: FloatArray, rows: Sequence[str], columns: Sequence[str]
    ) -> FloatArray:
        one = self.example
        digits = None if self.exact else one.digits.get(symbol)
        value: FloatArray = np.asarray(matrix if digits is None else half_up(matrix, digits), np.float64)
        printed = one.printed.get(symbol)
        misprints = () if printed is None else _misprints(printed, value, rows, columns, symbol)
        self.steps.append(
            Step(
                self.part, name, symbol, formula, value, tuple(rows), tuple(columns), "", printed is not None, misprints
            )
        )
        return value

    def _note(self, note: str) -> None:
        step = self.steps[-1]
        self.steps[-1] = Step(
            step.part, step.name, step.symbol, step.formula, step.matrix, step.rows, step.columns, note, step.printed,
            step.misprints,
        )  # fmt: skip


def half_up(matrix: FloatArray, digits: int) -> FloatArray:
    """Return numbers rounded to some digits, halves away from 0, as by hand; 1e-9 of float noise counts as a half."""
    scale = 10.0**digits
    return np.asarray(np.sign(matrix) * np.floor(np.abs(matrix) * scale + 0.5 + 1e-9) / scale)


def _misprints(
    printed: FloatArray, value: FloatArray, rows: Sequence[str], columns: Sequence[str], symbol: str
) -> tuple[Misprint, ...]:
    """Return the cells that differ by more than a unit of the last printed digit; NaN stands for a cell that is not printed."""
    if printed.shape != value.shape:
        raise InputError(f"the printed {symbol} is {_by(printed.shape)}, the calculated one {_by(value.shape)}")
    unit = 10.0 ** -max(_decimals(x) for x in printed.ravel().tolist())
    with np.errstate(invalid="ignore"):
        wrong = ~((printed == value) | (np.abs(printed - value) <= unit + 1e-9) | np.isnan(printed))
    return tuple(
        Misprint(rows[i], columns[j], float(printed[i, j]), float(value[i, j])) for i, j in np.argwhere(wrong).tolist()
    )


def _decimals(x: float) -> int:
    return len(repr(x).partition(".")[2]) if math.isfinite(x) and not x.is_integer() and "e" not in repr(x) else 0


def drawn_weight(name: str, shape: tuple[int, ...], *, seed: int) -> FloatArray:
    """Return a matrix of numbers of two digits between −1 and 1; it depends on the seed, its name and its shape alone."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    return half_up(rng.uniform(-1, 1, shape), 2)


def _by(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape))


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(1, n + 1))


def _padded_names(tokens: Sequence[str], length: int) -> tuple[str, ...]:
    return (*tokens, *[PAD] * (length - len(tokens)))
