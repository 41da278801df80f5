"""The transformer by hand: every matrix of one encoder layer and one decoder layer with its formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.errors import UsageError
from nlpkit.io.artifacts import footer_block
from nlpkit.io.page_code import read_page_style
from nlpkit.io.pictures import write_picture
from nlpkit.io.tables import FORMATS, save_table
from nlpkit.io.transformer_examples import example_from, lecture_example, read_example
from nlpkit.lm.transformer_steps import Step, TransformerExample, TransformerOptions, transformer_steps
from nlpkit.parameters import Execution, with_settings
from nlpkit.plain import finite_or_none
from nlpkit.report.page import Page, PageCode, Section, render
from nlpkit.views.html import paragraphs, table

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
    return [[_number(x, digits) for x in row] for row in step.matrix.tolist()]


def remarks(step: Step) -> list[str]:
    """Return what is to be said below a matrix."""
    lines = [step.note] if step.note else []
    if step.printed and not step.misprints:
        lines.append("as printed, to a unit of the last digit")
    lines += [
        f"printed in row {m.row}, column {m.column}: {_number(m.printed, 4)}; calculated: {_number(m.computed, 4)}"
        for m in step.misprints
    ]
    return lines


def announce(worked: WorkedTransformer, target: str) -> None:
    """Say what was written."""
    reporting.note(f"wrote {target}: {wording.counted(len(worked.steps), 'matrix', 'matrices')}")


def _number(x: float, digits: int) -> str:
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
