"""A picture of where the matches of a pattern lie in the texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nlpkit import reporting, wording
from nlpkit.errors import UsageError
from nlpkit.io.atomic import check_target
from nlpkit.io.pictures import write_picture
from nlpkit.report.chart import draw_page, draw_picture, require
from nlpkit.report.corpus import dispersion_chart
from nlpkit.workflows.kwic import Concordance
from nlpkit.workflows.stats_plots import SUFFIXES


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
