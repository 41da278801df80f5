"""Examples of a transformer by hand: TOML files, and the one that comes with the package."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.errors import InputError, MissingFileError
from nlpkit.io.sources import missing_path
from nlpkit.lm.transformer_steps import NORMS, TransformerExample, TransformerOptions, drawn_weight
from nlpkit.types import FloatArray

KEYS = (
    "tokens", "target", "vocabulary", "length", "norm", "epsilon", "notes", "heads", "d", "d_k", "digits", "embedding",
    "target_embedding", "weights", "printed",
)  # fmt: skip
LONGEST = 64  # tokens of an example: each matrix of scores is printed


def lecture_example(*, seed: int) -> TransformerExample:
    """Return the example of the lecture, its missing weights drawn."""
    content = tomllib.loads((files("nlpkit.lm") / "examples" / "lecture.toml").read_text(encoding="utf-8"))
    return example_from(content, TransformerOptions(), "the lecture's example", seed=seed)


def read_example(path: Path, options: TransformerOptions, *, seed: int) -> TransformerExample:
    """Return the example of a TOML file.

        tokens = ["the", "dog", "barks"]             # target = [...]: of the decoder; vocabulary = [...], length = 10: padded to
        heads = 2                                    # d, d_k: where no matrix says; norm = "population" or "sample"; epsilon
        [embedding]
        the = [0.1, 0.2, 0.3, 0.4]                   # of some words, or of all
        [weights]
        W_Q = [[1, 0], [0, 1], [1, 1], [0, 0]]       # W_K, W_V, W_O, W_1, b_1, W_2, b_2, decoder.…, cross.…, W_vocabulary
        [printed]
        K = [[0.5, 0.2], [0.1, 0.3], [0.4, 0.4]]     # of a book, to compare with; [digits]: decimals of a step before the next

    What is not there is drawn (`drawn_weight`).

    Raises:
        InputError: it cannot be read, has an unknown key, or matrices that do not fit together.
    """
    if not path.exists():
        raise MissingFileError(f"example {missing_path(path)}")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"example {path}: cannot be opened ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"example {path} is not TOML: {error}") from None
    return example_from(content, options, str(path), seed=seed)


def example_from(
    content: Mapping[str, Any], options: TransformerOptions, where: str, *, seed: int
) -> TransformerExample:
    """Return an example from its parts as a TOML file has them; `where` names it in messages. Raises InputError."""
    unknown = sorted(set(content) - set(KEYS))
    if unknown:
        raise InputError(f"{where}: '{unknown[0]}' is not a part of an example; known keys are {', '.join(KEYS)}")
    tokens = _words(content, "tokens", where)
    if not tokens:
        raise InputError(f'{where}: no tokens; write tokens = ["the", "dog", "barks"]')
    target = _words(content, "target", where)
    vocabulary = _words(content, "vocabulary", where) or tuple(dict.fromkeys([*tokens, *target]))
    outside = [token for token in (*tokens, *target) if token not in vocabulary]
    if outside:
        raise InputError(f"{where}: '{outside[0]}' is not in the vocabulary; add it there")
    length = _number(content, "length", 0, where, whole=True)
    longest = max(len(tokens), len(target))
    if longest > LONGEST or length > LONGEST:
        raise InputError(f"{where}: {max(longest, length)} tokens; up to {LONGEST} can be shown")
    if 0 < length < longest:
        raise InputError(f"{where}: length = {length}, but a sequence has {longest} tokens; give at least {longest}")
    norm = content.get("norm", "population")
    if norm not in NORMS:
        raise InputError(f"{where}: norm = {norm!r}; known are {', '.join(NORMS)}")
    shapes = _Shapes(content, options, len(vocabulary), where, seed)
    embedding = shapes.embedding("embedding", tokens)
    target_embedding = shapes.embedding("target_embedding", target) if target else np.zeros((0, shapes.d))
    weights = shapes.weights(bool(target))
    return TransformerExample(
        tokens, target, vocabulary, embedding, target_embedding, weights, tuple(shapes.drawn), length, norm,
        float(_number(content, "epsilon", 1e-5, where)), _digits(content, where), shapes.matrices("printed"),
        _words(content, "notes", where),
    )  # fmt: skip


class _Shapes:
    """The matrices of an example: those that are there, checked against each other, and the others, drawn."""

    def __init__(self, content: Mapping[str, Any], options: TransformerOptions, V: int, where: str, seed: int) -> None:
        self.content, self.where, self.seed, self.V = content, where, seed, V
        self.drawn: list[str] = []
        self.read_weights = self.matrices("weights")
        self.tables = {name: self._table(name) for name in ("embedding", "target_embedding")}
        self.d = self._size("d", options.d, next((len(v) for t in self.tables.values() for v in t.values()), None))
        query = self.read_weights.get("W_Q")
        heads = None if query is None else len(query) if query.ndim == 3 else 1
        self.heads = self._size("heads", options.heads, heads)
        self.d_k = self._size("d_k", options.d_k, None if query is None else query.shape[-1])
        value, inner = self.read_weights.get("W_V"), self.read_weights.get("W_1")
        self.d_v = self.d_k if value is None else value.shape[-1]
        self.f = 2 * self.d if inner is None or inner.ndim < 2 else inner.shape[1]

    def embedding(self, name: str, tokens: Sequence[str]) -> FloatArray:
        """Return the vectors of tokens; those that the table lacks are drawn by the name of the token."""
        table = self.tables[name]
        rows = []
        for token in tokens:
            vector = table.get(token)
            if vector is None:
                vector = drawn_weight(f"{name}.{token}", (self.d,), seed=self.seed)
                self.drawn += [f"{name}.{token}"] if f"{name}.{token}" not in self.drawn else []
            elif len(vector) != self.d:
                raise InputError(
                    f"{self.where}: the {name} of '{token}' has {len(vector)} numbers, {self.d} were needed"
                )
            rows.append(vector)
        return np.array(rows, np.float64)

    def weights(self, decoder: bool) -> dict[str, FloatArray]:
        """Return all weights; W_2 is left out where W_1 is given without it, as in an example with one linear layer."""
        d, d_k, d_v, f, h = self.d, self.d_k, self.d_v, self.f, self.heads
        attention = {"W_Q": (h, d, d_k), "W_K": (h, d, d_k), "W_V": (h, d, d_v), "W_O": (h * d_v, d)}
        network = {"W_1": (d, f), "b_1": (f,), "W_2": (f, d), "b_2": (d,)}
        if "W_1" in self.read_weights and "W_2" not in self.read_weights:
            if f != d:
                raise InputError(
                    f"{self.where}: W_1 is {d} × {f}, which needs a W_2 ({f} × {d}) to come back to {d} numbers"
                )
            network = {"W_1": (d, f), "b_1": (f,)}
        wanted: dict[str, tuple[int, ...]] = {**attention, **network}
        if decoder:
            wanted |= {f"decoder.{name}": shape for name, shape in {**attention, **network}.items()}
            wanted |= {f"cross.{name}": shape for name, shape in attention.items()}
            wanted["W_vocabulary"] = (d, self.V)
        unknown = sorted(set(self.read_weights) - set(wanted))
        if unknown:
            raise InputError(f"{self.where}: weights '{unknown[0]}' are not used here; known are {', '.join(wanted)}")
        return {name: self._weight(name, shape) for name, shape in wanted.items()}

    def matrices(self, part: str) -> dict[str, FloatArray]:
        """Return the matrices of a table of the file."""
        table = self.content.get(part, {})
        if not isinstance(table, Mapping):
            raise InputError(f"{self.where}: [{part}] must be a table of matrices, got {table!r}")
        flat = {
            f"{name}.{inner}" if isinstance(value, Mapping) else name: matrix
            for name, value in table.items()
            for inner, matrix in (value.items() if isinstance(value, Mapping) else [("", value)])
        }
        return {name: self._array(f"{part}.{name}", value) for name, value in flat.items()}

    def _weight(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        matrix = self.read_weights.get(name)
        if matrix is None:
            self.drawn.append(name)
            return drawn_weight(name, shape, seed=self.seed)
        if matrix.ndim == 2 and len(shape) == 3 and shape[0] == 1:
            matrix = matrix[None]
        if matrix.shape != shape:
            sizes = (" × ".join(map(str, s)) for s in (matrix.shape, shape))
            raise InputError(f"{self.where}: weights {name} are {next(sizes)}, {next(sizes)} were needed")
        if not np.isfinite(matrix).all():
            raise InputError(f"{self.where}: weights {name} hold numbers that are not finite")
        return matrix

    def _table(self, name: str) -> dict[str, FloatArray]:
        table = self.matrices(name)
        wrong = next((token for token, v in table.items() if v.ndim != 1 or not np.isfinite(v).all()), None)
        if wrong is not None:
            raise InputError(f"{self.where}: the {name} of '{wrong}' must be a list of finite numbers")
        return table

    def _array(self, name: str, value: Any) -> FloatArray:
        try:
            array = np.array(value, np.float64)
        except (TypeError, ValueError):
            array = np.zeros(0)
        if not array.size or not isinstance(value, list):
            raise InputError(f"{self.where}: {name} must be rows of numbers of one length, got {str(value)[:60]}")
        return array

    def _size(self, name: str, usual: int, of_matrices: int | None) -> int:
        size = int(_number(self.content, name, of_matrices or usual, self.where, whole=True))
        if size < 1 or (of_matrices is not None and size != of_matrices):
            raise InputError(f"{self.where}: {name} = {size}, but its matrices have {of_matrices}")
        return size


def _words(content: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = content.get(key, [])
    if not isinstance(value, list) or not all(isinstance(word, str) and word for word in value):
        raise InputError(f"{where}: {key} must be a list of words, got {value!r}")
    return tuple(value)


def _number(content: Mapping[str, Any], key: str, usual: float, where: str, *, whole: bool = False) -> Any:
    value = content.get(key, usual)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not 0 <= value < 1e6:
        raise InputError(f"{where}: {key} must be a {'whole ' if whole else ''}number from 0, got {value!r}")
    return value


def _digits(content: Mapping[str, Any], where: str) -> dict[str, int]:
    table = content.get("digits", {})
    if not isinstance(table, Mapping) or not all(type(n) is int and 0 <= n <= 15 for n in table.values()):
        raise InputError(
            f"{where}: [digits] must give whole numbers from 0 to 15 by the symbol of a step, got {table!r}"
        )
    return dict(table)
