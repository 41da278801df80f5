"""Where the matches of a pattern lie in the texts: counted while these are searched, and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nlpkit import reporting, wording
from nlpkit.errors import UsageError
from nlpkit.io.atomic import check_target
from nlpkit.io.pictures import write_picture
from nlpkit.report.chart import draw_page, draw_picture, require
from nlpkit.report.corpus import dispersion_chart
from nlpkit.types import FloatArray
from nlpkit.workflows.stats_plots import SUFFIXES

if TYPE_CHECKING:
    from nlpkit.workflows.kwic import Concordance

MOST_ROWS = 40


@dataclass(slots=True)
class Text:
    """One document, or those of a class one after the other: its length, and where matches begin, in characters or words."""

    length: int = 0
    starts: list[int] = field(default_factory=list)


class Places:
    """The places of matches in texts, which are documents (by id) or classes of them (by number)."""

    def __init__(self) -> None:
        self.texts: dict[str | int, Text] = {}

    def add(self, name: str | int, length: int, starts: Sequence[int]) -> None:
        """Put a document at the end of a text."""
        text = self.texts.setdefault(name, Text())
        text.starts += [text.length + start for start in starts]
        text.length += length

    def rows(self, names: Sequence[tuple[str | int, str]]) -> tuple[list[tuple[str, FloatArray]], int]:
        """Return name and places as shares (M,) of the texts with most matches, in their order, and the number of those left out."""
        matched = [(key, name) for key, name in names if key in self.texts and self.texts[key].starts]
        largest = sorted(range(len(matched)), key=lambda i: -len(self.texts[matched[i][0]].starts))[:MOST_ROWS]
        rows = []
        for i in sorted(largest):
            key, name = matched[i]
            text = self.texts[key]
            rows.append((wording.truncated(name, 40), np.array(text.starts, np.float64) / max(text.length, 1)))
        return rows, len(matched) - len(rows)


def check_plot(path: Path, *, force: bool) -> None:
    """Refuse a picture that cannot be written, before anything is read.

    Raises:
        UsageError: its format; OutputExistsError: it is there; MissingError: what draws it is not installed.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"`plot={path}`: the format '{path.suffix}' cannot be written, a plot is one of {' '.join(SUFFIXES)}",
            parameter="plot",
        )
    check_target(path, force=force)
    require("plotly" if path.suffix.lower() == ".html" else "matplotlib")


def write_dispersion_plot(hits: Concordance, path: Path, *, force: bool = False) -> None:
    """Draw where the matches lie, a row for each document with a match or for each class, and write it; nothing where nothing matches.

    Args:
        hits: whose batches were taken, with places; path: .png, .svg or .html.

    Raises:
        OutputExistsError: it is there.
    """
    assert hits.places is not None
    names: list[tuple[str | int, str]] = [(str(name), str(name)) for name in hits.places.texts]
    if hits.groups is not None:
        sorted_names, order = hits.groups.finish()
        numbers = np.argsort(order[:-1], kind="stable").tolist()
        names = [(number, sorted_names[order[number]]) for number in numbers]
    rows, n_left_out = hits.places.rows(names)
    if not rows:
        reporting.warn(f"nothing matches {hits.pattern}: no plot was drawn")
        return
    chart = dispersion_chart(hits.pattern, rows, hits.by or "document")
    suffix = path.suffix.lower()
    content = draw_page(chart, "dispersion") if suffix == ".html" else draw_picture(chart, suffix[1:])
    write_picture(path, content, force=force)
    kind = ("class", "classes") if hits.by is not None else ("document", "documents")
    left_out = f"; {wording.counted(n_left_out, *kind)} with fewer matches left out" if n_left_out else ""
    reporting.note(f"wrote {path}: matches in {wording.counted(len(rows), *kind)}{left_out}")
