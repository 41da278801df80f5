"""The transformer by hand: every matrix of one encoder layer and one decoder layer, with its formula (Vaswani et al. 2017).

Letters of the paper: n tokens of d numbers each; Q, K (n, d_k) and V (n, d_v) of each of h heads.

Parts, in this order:
- Examples of a transformer by hand: TOML files, and the one that comes with the package.
- The worked example, as tables and pages.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, MissingFileError, UsageError
from nlpkit.lab.transformer_steps import (
    NORMS,
    Step,
    TransformerExample,
    TransformerOptions,
    drawn_weight,
    transformer_steps,
)
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.sources import missing_path
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.plain import finite_or_none
from nlpkit.platform.runs.artifacts import footer_block
from nlpkit.platform.runs.saving import write_picture
from nlpkit.platform.runs.tables import FORMATS, save_table
from nlpkit.platform.types import FloatArray
from nlpkit.platform.views.html import paragraphs, table
from nlpkit.platform.views.page import Page, PageCode, Section, read_page_style, render

# ------------------------------------------------------------------------------------------------------------------------
# Examples of a transformer by hand: TOML files, and the one that comes with the package.

KEYS = (
    "tokens", "target", "vocabulary", "length", "norm", "epsilon", "notes", "heads", "d", "d_k", "digits", "embedding",
    "target_embedding", "weights", "printed",
)  # fmt: skip
LONGEST = 64  # tokens of an example: each matrix of scores is printed


def lecture_example(*, seed: int) -> TransformerExample:
    """Return the example of the lecture, its missing weights drawn."""
    content = tomllib.loads((files("nlpkit.lab") / "examples" / "lecture.toml").read_text(encoding="utf-8"))
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


# ------------------------------------------------------------------------------------------------------------------------
# The transformer by hand: every matrix of one encoder layer and one decoder layer with its formula.

PAGES = (".html", ".htm", ".md")
PARTS = {"encoder": "Encoder", "masks": "Masks", "decoder": "Decoder"}


@dataclass(frozen=True, slots=True)
class WorkedTransformer:
    """The matrices of an example, in the order in which they are calculated."""

    example: TransformerExample
    steps: tuple[Step, ...]
    parameters: dict[str, Any]
    seed: int

    def __getitem__(self, symbol: str) -> Step:
        """Return the step of a symbol, such as Q, A or N1. Raises KeyError for one that there is not."""
        return {step.symbol: step for step in self.steps}[symbol]

    @property
    def notes(self) -> list[str]:
        """Sentences about the example: where it leaves the paper or what it is printed in, and what was drawn."""
        notes = [*self.example.notes]
        if self.example.drawn:
            notes.append(f"drawn by the seed {self.seed}: {wording.listed(self.example.drawn, 30)}")
        wrong = [step for step in self.steps if step.misprints]
        compared = sum(step.printed for step in self.steps)
        if compared:
            cells = sum(len(step.misprints) for step in wrong)
            where = f", in {wording.listed([step.symbol for step in wrong], 20)}" if wrong else ""
            notes.append(
                f"{wording.counted(compared, 'printed matrix', 'printed matrices')} compared: "
                f"{wording.counted(cells, 'cell')} differ by more than a unit of the last digit{where}"
            )
        return notes

    def table(self) -> pa.Table:
        """Return one row for each cell: step, part, name, symbol, formula, row, column, position of both from 1, value."""
        rows = [
            (n, s.part, s.name, s.symbol, s.formula, s.rows[i], s.columns[j], i + 1, j + 1, float(s.matrix[i, j]))
            for n, s in enumerate(self.steps, 1)
            for i in range(len(s.rows))
            for j in range(len(s.columns))
        ]
        kinds = {
            "step": pa.int32(), "part": pa.string(), "name": pa.string(), "symbol": pa.string(), "formula": pa.string(),
            "row": pa.string(), "column": pa.string(), "row_number": pa.int32(), "column_number": pa.int32(),
            "value": pa.float64(),
        }  # fmt: skip
        columns = zip(*rows, strict=True)
        return pa.table(
            {name: pa.array(column, kind) for (name, kind), column in zip(kinds.items(), columns, strict=True)}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the steps in plain values; −∞ is null."""
        return {
            "tokens": list(self.example.tokens),
            "target": list(self.example.target),
            "notes": self.notes,
            "steps": [
                {
                    "part": s.part, "name": s.name, "symbol": s.symbol, "formula": s.formula, "rows": list(s.rows),
                    "columns": list(s.columns), "matrix": [list(map(finite_or_none, row)) for row in s.matrix.tolist()],
                    "note": s.note, "printed": s.printed,
                    "misprints": [{**asdict(m), "printed": finite_or_none(m.printed), "computed": finite_or_none(m.computed)}
                                  for m in s.misprints],
                }
                for s in self.steps
            ],
        }  # fmt: skip

    def markdown(self) -> str:
        """Return the steps as Markdown, a table each."""
        lines = [f"# {self.title}", ""]
        lines += [*(f"- {_as_written(note)}" for note in self.notes), ""]
        part = ""
        for step in self.steps:
            if step.part != part:
                part = step.part
                lines += [f"## {PARTS[part]}", ""]
            lines += [f"### {step.name}: {step.symbol}", "", f"`{step.formula}`", ""]
            lines += [*_markdown_row(["", *step.columns]), "|---|" + "---:|" * len(step.columns)]
            for name, row in zip(step.rows, cells(step), strict=True):
                lines += _markdown_row([name, *row])
            lines += ["", *[f"{note}\n" for note in remarks(step)]]
        return "\n".join(lines).rstrip() + "\n"

    def html(self) -> str:
        """Return the steps as one page that needs no network."""
        sections = [Section("about", "The example", paragraphs([_sentence(note) for note in self.notes]))]
        for part, heading in PARTS.items():
            steps = [step for step in self.steps if step.part == part]
            if steps:
                sections.append(Section(part, heading, "\n".join(map(_html_step, steps))))
        lead = f"Encoder: {' '.join(self.example.tokens)}"
        if self.example.target:
            lead += f". Decoder: {' '.join(self.example.target)}"
        return render(Page(self.title, lead, sections, {}, {}, {}), PageCode("", read_page_style()))

    @property
    def title(self) -> str:
        """The heading of a page."""
        return "The transformer by hand"

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write a page (.html, .md), or a table of all cells (.parquet, .csv …).

        Raises:
            UsageError: the name is of neither; OutputExistsError: it is there.
        """
        suffix = Path(target).suffix.lower()
        if suffix in PAGES:
            write_picture(Path(target), self.markdown() if suffix == ".md" else self.html(), force=force)
            return
        block = footer_block(
            "transformer_steps", command="explain-transformer", parameters=self.parameters, seed=self.seed, inputs=[]
        )
        save_table(target, self.table(), block, force=force)


def explain_transformer(
    example: str | Path | Mapping[str, Any] | None = None,
    *,
    options: TransformerOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> WorkedTransformer:
    """Return every matrix of one encoder layer and one decoder layer: Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V.

    Vaswani et al. 2017, "Attention is all you need", §3, in its letters: embeddings (n, d), Q and K (n, d_k), V (n, d_v), h heads.

    Args:
        example: a TOML file (see docs/guides/inside-transformers.md) or its content; None: the built-in example, or `text`.
        options: words and sizes of an example without a file. execution: seed of the weights that are not there.
        settings: fields of these, such as text="the dog barks", heads=2.

    Raises:
        InputError: an example that cannot be read or whose matrices do not fit together; UsageError: an example and `text`.

    Example:
        >>> worked = nk.explain_transformer(text="the dog barks", d=4)
        >>> worked.steps[0].part
        'encoder'
    """
    options, execution = with_settings((options, execution), settings, (TransformerOptions, Execution))
    usual = TransformerOptions()
    named = next((n for n in ("text", "target", "d", "d_k", "heads") if getattr(options, n) != getattr(usual, n)), None)
    if example is not None and named is not None:
        raise UsageError(f"`{named}`: the example file defines it; leave it out", parameter=named)
    if isinstance(example, Mapping):
        one = example_from(example, options, "the example", seed=execution.seed)
    elif example is not None:
        one = read_example(Path(example), options, seed=execution.seed)
    elif options.text is not None:
        words = {"tokens": options.text.split(), "target": (options.target or "").split()}
        if not words["tokens"]:
            raise UsageError("`text` has no word; give some, such as 'the dog barks'", parameter="text")
        one = example_from({k: v for k, v in words.items() if v}, options, "`text`", seed=execution.seed)
    elif named is not None:
        raise UsageError(f"`{named}` needs an example made from `text`; add `text`", parameter=named)
    else:
        one = lecture_example(seed=execution.seed)
    steps = tuple(transformer_steps(one, exact=options.exact))
    name = example if isinstance(example, str | Path) else None
    return WorkedTransformer(
        one, steps, {**asdict(options), "example": None if name is None else str(name)}, execution.seed
    )


def check_steps_name(target: str) -> None:
    """Raise UsageError when the name of an output is neither that of a page nor that of a table."""
    suffix = Path(target).suffix.lower()
    if suffix not in PAGES and suffix not in FORMATS:
        raise UsageError(
            f"{target}: the steps are written as a page (.html, .md) or a table (.parquet, .csv …); name it steps.html",
            parameter="output",
        )


def cells(step: Step) -> list[list[str]]:
    """Return the numbers of a matrix as text, with as many digits as all of them need, at most four."""
    finite = step.matrix[np.isfinite(step.matrix)]
    digits = next((n for n in range(4) if np.allclose(finite, np.round(finite, n), rtol=0, atol=1e-9)), 4)
    return [[_page_number(x, digits) for x in row] for row in step.matrix.tolist()]


def remarks(step: Step) -> list[str]:
    """Return what is to be said below a matrix."""
    lines = [step.note] if step.note else []
    if step.printed and not step.misprints:
        lines.append("as printed, to a unit of the last digit")
    lines += [
        f"printed in row {m.row}, column {m.column}: {_page_number(m.printed, 4)}; calculated: {_page_number(m.computed, 4)}"
        for m in step.misprints
    ]
    return lines


def announce(worked: WorkedTransformer, target: str) -> None:
    """Say what was written."""
    reporting.note(f"wrote {target}: {wording.counted(len(worked.steps), 'matrix', 'matrices')}")


def _page_number(x: float, digits: int) -> str:
    if np.isinf(x):
        return "−∞" if x < 0 else "∞"
    return f"{x + 0.0:.{digits}f}".replace("-", "−")


def _markdown_row(values: list[str]) -> list[str]:
    return ["| " + " | ".join(map(_as_written, values)) + " |"]


def _as_written(text: str) -> str:
    """Return words of an example so that Markdown makes neither links nor tags nor cells of them."""
    for character, escaped in (("|", "\\|"), ("<", "&lt;"), ("[", "\\[")):
        text = text.replace(character, escaped)
    return text


def _sentence(text: str) -> str:
    text = text.replace("`", "")
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _html_step(step: Step) -> str:
    rows = [[name, *row] for name, row in zip(step.rows, cells(step), strict=True)]
    numbers = table(["", *step.columns], rows, numeric=range(1, len(step.columns) + 1))
    heading = f"<h3>{escape(step.name)}: {escape(step.symbol)}</h3>\n<p><code>{escape(step.formula)}</code></p>\n"
    return heading + numbers + "\n" + paragraphs([_sentence(r) for r in remarks(step)], "note")
