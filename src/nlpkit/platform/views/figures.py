"""Colours for any number of topics: no two alike, those of neighbours far apart.

Further parts, in this order:
- Pictures of topic models and classifiers for papers: SVG, PDF or PNG by matplotlib, the same bytes for the same numbers.
- Options of a picture of a run, as plain data.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.platform.options import Param, options
from nlpkit.platform.types import FloatArray
from nlpkit.platform.views.chart import COLOURS, GRID, make_grey, require
from nlpkit.platform.views.cloud import choose_font
from nlpkit.platform.views.colours import PALETTE

# Seven that colour-blind eyes tell apart (Okabe & Ito 2008, darkened), the first that are given.


# ------------------------------------------------------------------------------------------------------------------------
# Pictures of topic models and classifiers for papers: SVG, PDF or PNG by matplotlib, the same bytes for the same numbers.

CM = 1 / 2.54
DPI = 200
ONE_COLUMN, TWO_COLUMNS = 8.5, 17.5  # cm of a page of a journal
NONE = "#9a9a9a"
MAP_LAYOUTS = ("nlpkit", "umap-learn")
STYLES: dict[str, dict[str, Any]] = {
    "plain": {},
    "serif": {"font.family": ["DejaVu Serif"], "mathtext.fontset": "dejavuserif"},
    "dark": {
        "figure.facecolor": "#14171a", "axes.facecolor": "#14171a", "savefig.facecolor": "#14171a", "text.color": "#e8eaed",
        "axes.labelcolor": "#e8eaed", "axes.edgecolor": "#a2abb5", "xtick.color": "#e8eaed", "ytick.color": "#e8eaed",
        "grid.color": "#4a525b",
    },
    "grey": {},
}  # fmt: skip

Draw = Callable[[Any], None]


def draw_figure(
    draw: Draw, format: str, *, width: float, height: float, style: str, characters: str
) -> tuple[bytes, frozenset[str]]:
    """Return a picture, and the characters that no font of this machine has.

    Args:
        draw: fills a matplotlib figure. format: svg, pdf or png. width, height: cm. style: one of STYLES. characters: that will be drawn.

    Raises:
        MissingError: matplotlib is not installed; UsageError: the names in it take all of the room.
    """
    require("matplotlib")
    import matplotlib as mpl
    from matplotlib import font_manager
    from matplotlib.figure import Figure

    settings: dict[str, Any] = {
        "svg.hashsalt": "nlpkit", "svg.fonttype": "path", "pdf.fonttype": 42, "axes.unicode_minus": False, "font.size": 8,
        "text.parse_math": False,  # names of topics and values of columns may hold a $
        "font.family": ["DejaVu Sans"], "axes.linewidth": 0.6, "axes.titlesize": 8, "legend.fontsize": 7,
        "grid.color": GRID, **STYLES[style],
    }  # fmt: skip
    choice = choose_font(characters)
    if choice.path.rsplit("/", 1)[-1] != "DejaVuSans.ttf":
        font_manager.fontManager.addfont(choice.path)
        settings["font.family"] = [font_manager.FontProperties(fname=choice.path).get_name(), *settings["font.family"]]
    with mpl.rc_context(settings):
        figure = Figure(figsize=(width * CM, height * CM), dpi=DPI, layout="constrained")
        out = io.BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(format)
        with warnings.catch_warnings():  # one a letter; `lacks` names them together
            warnings.filterwarnings("ignore", r"Glyph \d+ .* missing", UserWarning)
            warnings.filterwarnings("error", "constrained_layout not applied", UserWarning)
            try:
                draw(figure)
                if style == "grey":
                    make_grey(figure)
                figure.savefig(out, format=format, metadata=metadata)
            except UserWarning:
                raise UsageError(
                    f"{width:g} by {height:g} cm leave no room between the names in this picture; use a larger `width` "
                    "or `height`",
                    parameter="height",
                ) from None
    return out.getvalue(), choice.lacks


# ---------------------------------------------------------------- documents and topics


def draw_words(figure: Any, rows: Sequence[Mapping[str, Any]], colours: Sequence[str], n_words: int) -> None:
    """Draw the words of each topic as bars: share among the words of the topic."""
    grid = panels(figure, len(rows), 4 if len(rows) > 4 else max(len(rows), 1))
    for axes, row, colour in zip(grid, rows, colours, strict=False):
        terms = row["terms"][:n_words]
        axes.barh(range(len(terms)), [100 * t["p"] for t in terms], color=colour, height=0.7)
        axes.set_yticks(range(len(terms)), [t["t"] for t in terms], fontsize=6.5)
        axes.invert_yaxis()
        axes.tick_params(axis="x", labelsize=6)
        axes.tick_params(axis="y", length=0)
        axes.set_title(wrapped(row["label"], 20), fontsize=7, loc="left", fontweight="bold")
        bare(axes)
    figure.supxlabel("% of the words of the topic", fontsize=7)


def draw_similarity(figure: Any, similarity: FloatArray, order: Sequence[int], names: Sequence[str]) -> None:
    """Draw how alike the topics are (K, K), in the order of their tree."""
    axes = figure.add_subplot()
    shown = similarity[np.ix_(order, order)].copy()
    np.fill_diagonal(shown, np.nan)
    image = axes.imshow(shown, cmap="cividis", aspect="equal")
    _name_ticks(axes, [names[k] for k in order], [names[k] for k in order])
    figure.colorbar(image, ax=axes, shrink=0.7, label="similarity")


def draw_tree(figure: Any, merges: Sequence[Sequence[float]], names: Sequence[str], colours: Sequence[str]) -> None:
    """Draw the tree of topics: merges [left, right, distance] of the two nearest groups, leaves first."""
    axes = figure.add_subplot()
    K = len(names)
    order = leaf_order(merges, K)
    y = dict(zip(order, range(K), strict=True))
    places: dict[int, tuple[float, float]] = {k: (0.0, float(y[k])) for k in order}
    for n, (left, right, distance) in enumerate(merges):
        (xa, ya), (xb, yb) = places[int(left)], places[int(right)]
        axes.plot([xa, distance, distance, xb], [ya, ya, yb, yb], color="#7a828b", lw=0.9)
        places[K + n] = (float(distance), (ya + yb) / 2)
    for k in order:
        axes.plot(0, y[k], "o", ms=3.5, color=colours[k])
    axes.set_yticks(range(K), [names[k] for k in order], fontsize=6.5)
    axes.invert_yaxis()
    axes.invert_xaxis()
    axes.yaxis.tick_right()
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("distance")
    bare(axes, right=True)


def merges_among(leaves: Sequence[int], merges: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the merges of a tree of which some leaves are left, numbered anew in the order given."""
    node, left_over = {k: i for i, k in enumerate(leaves)}, list[list[float]]()
    for n, (left, right, distance) in enumerate(merges, len(merges) + 1):
        below = [node[int(k)] for k in (left, right) if int(k) in node]
        if len(below) == 2:
            node[n] = len(leaves) + len(left_over)
            left_over.append([*below, distance])
        elif below:
            node[n] = below[0]
    return left_over


def leaf_order(merges: Sequence[Sequence[float]], n_leaves: int) -> list[int]:
    """Return the leaves of a tree in an order in which no branches cross, the larger branch first."""
    below: dict[int, list[int]] = {k: [k] for k in range(n_leaves)}
    for n, (left, right, _) in enumerate(merges):
        a, b = below[int(left)], below[int(right)]
        below[n_leaves + n] = a + b if len(a) >= len(b) else b + a
    return below[n_leaves + len(merges) - 1] if merges else list(range(n_leaves))


# ---------------------------------------------------------------- by column, by number of topics


def draw_by_column(figure: Any, column: Mapping[str, Any], names: Sequence[str]) -> None:
    """Draw the share of each topic in each value of a column, with the numbers in the cells."""
    axes = figure.add_subplot()
    shares = np.array([percents(column["series"][k]["share"]) for k in range(len(names))])
    image = axes.imshow(shares, cmap="cividis", aspect="auto", vmin=0)
    middle = np.nanmax(shares) / 2
    for (i, j), value in np.ndenumerate(shares):
        if np.isfinite(value):
            axes.text(
                j, i, f"{value:.0f}", ha="center", va="center", fontsize=6, color="white" if value < middle else "black"
            )
    _name_ticks(axes, names, column["values"])
    figure.colorbar(image, ax=axes, shrink=0.8)
    title = f"% of the documents of each {column['name']}"  # above: beside the bar of a few topics it has no room
    figure.suptitle(wrapped(title, int(6 * figure.get_size_inches()[0] / CM)), x=0.01, ha="left", fontsize=8)


def draw_numbers(figure: Any, evidence: Sequence[Mapping[str, Any]]) -> None:
    """Draw the scores of each number of topics, and which was chosen."""
    axes = figure.add_subplot()
    names = [n for n, v in evidence[0].items() if n != "k" and isinstance(v, int | float) and not isinstance(v, bool)]
    main = "score" if "score" in names else names[0]
    k = [row["k"] for row in evidence]
    for colour, name in zip(COLOURS, [main, *(n for n in names if n != main and main == "score")], strict=False):
        values = [np.nan if row[name] is None else row[name] for row in evidence]
        axes.plot(k, values, "-" if name == main else "--", color=colour, lw=1.4 if name == main else 0.9, label=name)
        if name == main:
            axes.plot(
                *zip(*[(a, v) for a, v, row in zip(k, values, evidence, strict=True) if row["chosen"]], strict=True),
                "o",
                color=colour,
            )
    axes.set_xlabel("number of topics")
    if max(k) > 10 * min(k):
        axes.set_xscale("log")
        axes.set_xticks(ticks := [v for v in (2, 3, 5, 10, 20, 50, 100, 200, 500) if min(k) <= v <= max(k)], ticks)
        axes.minorticks_off()
    else:
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)  # beside the lines, never on them
    bare(axes, grid="y")


# ---------------------------------------------------------------- classifiers


def draw_confusion(figure: Any, names: Sequence[str], counts: Any) -> None:
    """Draw how often each label (row) was predicted as each class, as counts on shares of the row."""
    axes = figure.add_subplot()
    table = np.asarray(counts, float)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    image = axes.imshow(100 * shares, cmap="cividis", vmin=0, vmax=100)
    if len(names) <= 30:
        for (i, j), value in np.ndenumerate(table):
            if value:
                axes.text(
                    j,
                    i,
                    f"{value:.0f}",
                    ha="center",
                    va="center",
                    fontsize=6,
                    color="white" if shares[i, j] < 0.5 else "black",
                )
    _name_ticks(axes, names, names)
    axes.set_ylabel("label")
    axes.set_xlabel("prediction")
    figure.colorbar(image, ax=axes, shrink=0.8, label="% of the label")


def draw_calibration(figure: Any, bins: Sequence[Mapping[str, Any]]) -> None:
    """Draw the accuracy of predictions by their probability, points by the number of documents."""
    axes = figure.add_subplot()
    filled = [b for b in bins if b["n"]]
    axes.plot([0, 1], [0, 1], "--", color="#7a828b", lw=0.9)
    x, y, n = ([b[key] for b in filled] for key in ("confidence", "accuracy", "n"))
    axes.plot(x, y, color=PALETTE[0], lw=1.2)
    axes.scatter(x, y, s=np.clip(np.asarray(n) / max(n) * 90, 8, None), color=PALETTE[0], zorder=3)
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="mean probability of the prediction", ylabel="accuracy")
    axes.set_aspect("equal")
    bare(axes, grid="both")


def draw_learning(figure: Any, curves: Sequence[Mapping[str, Any]]) -> None:
    """Draw learning curves, each on a scale of its own."""
    for axes, curve, colour in zip(panels(figure, len(curves), min(len(curves), 2)), curves, COLOURS, strict=False):
        for line in curve["lines"]:
            dashed = line.get("dashed", False)
            axes.plot(line["x"], line["y"], "--" if dashed else "-", color=colour, lw=0.8 if dashed else 1.2)
        axes.set_title(curve["title"], fontsize=7, loc="left", fontweight="bold")
        axes.set_xlabel(curve["x"])
        bare(axes, grid="y")


# ---------------------------------------------------------------- parts


def panels(figure: Any, n: int, columns: int, *, sharey: bool = False) -> list[Any]:
    """Return n panels of a figure, so many in a row."""
    grid = figure.subplots(-(-n // columns), columns, squeeze=False, sharey=sharey)
    axes = list(grid.flat)
    for unused in axes[n:]:
        unused.set_axis_off()
    return axes[:n]


def name_panel(axes: Any, name: str, columns: int) -> None:
    """Write a name above a panel, in lines that fit one of so many panels in a row."""
    letters = 6.9 * (axes.figure.get_size_inches()[0] / CM - 1.2) / columns  # 1.2 cm: the scale on the left
    axes.set_title(wrapped(name, int(min(max(letters, 8), 34))), fontsize=7, loc="left", fontweight="bold")


def bare(axes: Any, *, grid: str = "", right: bool = False) -> None:
    """Take away the lines of a panel that say nothing; grid: the axis that has lines across the panel."""
    for side in ("top", *(("left", "right") if right else ("right",))):
        axes.spines[side].set_visible(False)
    if grid:
        axes.grid(True, axis=grid, lw=0.5, alpha=0.7)
        axes.set_axisbelow(True)


def _name_ticks(axes: Any, rows: Sequence[str], columns: Sequence[str]) -> None:
    axes.set_yticks(range(len(rows)), [_short(r) for r in rows], fontsize=6.5)
    axes.set_xticks(
        range(len(columns)), [_short(c) for c in columns], fontsize=6.5, rotation=45, ha="right", rotation_mode="anchor"
    )
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _short(name: str) -> str:
    return name if len(name) <= 34 else name[:33] + "…"


def wrapped(name: str, width: int) -> str:
    """Return a name in lines of so many characters."""
    from textwrap import fill

    return fill(name, width)


def percents(values: Sequence[float | None]) -> FloatArray:
    """Return shares in per cent, NaN for None."""
    return np.array([np.nan if v is None else 100 * v for v in values], np.float64)


# ------------------------------------------------------------------------------------------------------------------------
# Options of a picture of a run, as plain data.


@options
class PlotOptions:
    """Options of a picture: size, style, and what of the run it shows.

    Raises:
        UsageError: an unknown style.
    """

    PANEL: ClassVar[str] = "Picture"

    width: Annotated[
        float | None,
        Param("Width in cm. Default: 17.5, both columns of a journal, or 8.5, one column, by the chart.", metavar="CM",
              min=3, max=100),
    ] = None  # fmt: skip
    height: Annotated[
        float | None, Param("Height in cm. Default: depends on the chart.", metavar="CM", min=2, max=200)
    ] = None
    style: Annotated[str, Param("Style: plain, serif, grey or dark.", metavar="NAME", choices=STYLES)] = "plain"
    topics: Annotated[
        int | None,
        Param(
            "Number of topics to draw, largest first. Default: 12; all in map, similarity and tree.",
            metavar="N",
            min=1,
        ),
    ] = None
    words: Annotated[int, Param("Number of words per topic.", metavar="N", min=1, max=30)] = 10
    topic: Annotated[
        int | None,
        Param(
            "Topic of the word cloud (default: all words of the corpus) or of content (default: 0).", metavar="K", min=0
        ),
    ] = None
    over: Annotated[
        str | None,
        Param(
            "Periods, such as date:month. Default: periods with at least 30 documents each, at most 60.",
            metavar="COLUMN:PART",
        ),
    ] = None
    by: Annotated[
        str | None,
        Param(
            "Column of by-column, of the lines of over-time, or of effects. Default: the first text column with 2 to 30 "
            "values; none over time; the first covariate.",
            metavar="COLUMN",
        ),
    ] = None
    prevalence: Annotated[
        str | None,
        Param(
            "Formula of the effects, such as 'party * s(date)'. Default: the one of the fit for stm.",
            metavar="FORMULA",
        ),
    ] = None
    cluster: Annotated[
        str | None,
        Param("Column by which the standard errors of effects are clustered.", metavar="COLUMN"),
    ] = None
    difference: Annotated[
        str | None,
        Param("Draw the effects as differences of two values of `by`.", metavar="VALUE,VALUE", needs=("by",)),
    ] = None
    moderator: Annotated[
        str | None,
        Param(
            "Draw the effects at each value of a second column, as in `estimate_effects()`.",
            metavar="COLUMN[=VALUE,…]",
            needs=("by",),
        ),
    ] = None
    max_points: Annotated[
        int, Param("Maximum number of documents in the map. Larger corpora are sampled by topic.", metavar="N", min=1)
    ] = 50_000
    layout: Annotated[
        str, Param("Layout of the map: nlpkit, or umap-learn (the package of this name).", choices=MAP_LAYOUTS)
    ] = "nlpkit"

    @property
    def wide(self) -> float:
        """Width in cm: the one that was given, or both columns of a journal."""
        return TWO_COLUMNS if self.width is None else self.width


@options
class WordPictureOptions:
    """Options of a picture of words.

    Raises:
        UsageError: an unknown style.
    """

    PANEL: ClassVar[str] = "Picture"

    neighbours: Annotated[int, Param("Number of neighbours to draw for each word.", metavar="N", min=0)] = 0
    width: Annotated[float, Param("Width in cm.", metavar="CM", min=3, max=100)] = 16.0
    height: Annotated[
        float | None, Param("Height in cm. Default: three quarters of the width.", metavar="CM", min=2, max=200)
    ] = None
    style: Annotated[str, Param("Style: plain, serif or dark.", metavar="NAME", choices=STYLES)] = "plain"
