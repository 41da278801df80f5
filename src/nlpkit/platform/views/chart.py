"""A chart, and the two ways to draw it: a picture (PNG, SVG; matplotlib) or a page (HTML; plotly)."""

from __future__ import annotations

import importlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit.errors import missing_extra
from nlpkit.platform.types import FloatArray

# Okabe & Ito 2008: told apart by colour-blind eyes too
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#666666", "#7B3294", "#1B1B1B")
GRID = "#DDDDDD"


@dataclass(frozen=True, slots=True)
class Curve:
    """Points (P,) x, y of one name.

    look: points, ticks (short upright lines), line, dashed or bars (x the left ends, widths (P,)); notes (P,) appear at the points of
    a page.
    """

    name: str
    x: FloatArray
    y: FloatArray
    look: str
    colour: str = COLOURS[0]
    notes: Sequence[str] = ()
    widths: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves over common axes. rows: names of y = 0, 1, 2 … from the top down, in place of numbers."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    log: bool = False
    rows: Sequence[str] = ()


def require(package: str) -> None:
    """Import matplotlib, plotly or wordcloud.

    Raises:
        MissingError: it is not installed.
    """
    try:
        importlib.import_module(package)
    except ImportError:
        raise missing_extra(f"drawing with {package}", "report") from None


def draw_picture(chart: Chart, format: str) -> bytes:
    """Return a chart as PNG or SVG, 1200 × 800 pixels; the same bytes for the same chart.

    Raises:
        MissingError: matplotlib is not installed.
    """
    require("matplotlib")
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogFormatter

    settings: dict[str, Any] = {"svg.hashsalt": "nlpkit", "font.family": "DejaVu Sans", "axes.unicode_minus": False}
    with mpl.rc_context({**settings, "text.parse_math": False}):
        figure = Figure(figsize=(8, 16 / 3), dpi=150, layout="constrained")
        axes = figure.add_subplot()
        if chart.log:
            for axis, scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
                scale("log")
                axis.set_major_formatter(FuncFormatter(_tick_label))
                axis.set_minor_formatter(
                    LogFormatter(minor_thresholds=(1, 0.4))
                )  # 2, 5 … where a decade fills the axis
        for curve in chart.curves:
            _draw_curve(axes, curve)
        axes.set_title(chart.title, fontsize=11)
        axes.set_xlabel(chart.x_label)
        axes.set_ylabel(chart.y_label)
        axes.grid(True, color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        if chart.rows:
            axes.set_yticks(range(len(chart.rows)), chart.rows, fontsize=7 if len(chart.rows) > 20 else 9)
            axes.set_ylim(len(chart.rows) - 0.5, -0.5)
            axes.xaxis.set_major_formatter("{x:,.0f}")
        elif not chart.log:
            axes.yaxis.set_major_formatter("{x:,.0f}")
            axes.xaxis.set_major_formatter("{x:,.0f}")
            axes.set_ylim(bottom=0)
        if len(chart.curves) > 1:
            axes.legend(frameon=False, fontsize=9)
        out = io.BytesIO()
        figure.savefig(out, format=format, metadata={"Date": None} if format == "svg" else None)
    return out.getvalue()


def _tick_label(x: float, _: object) -> str:
    return f"{x:,.0f}" if x >= 1 else f"{x:g}"


def _draw_curve(axes: Any, curve: Curve) -> None:
    if curve.look == "points":
        axes.plot(curve.x, curve.y, "o", ms=3.5, color=curve.colour, alpha=0.75, mew=0, label=curve.name)
    elif curve.look == "ticks":
        height = max(min(300 / max(float(curve.y.max(initial=0)) + 1, 1), 14), 3)
        axes.plot(curve.x, curve.y, "|", ms=height, mew=0.9, color=curve.colour, label=curve.name)
    elif curve.look == "bars":
        axes.bar(
            curve.x, curve.y, width=curve.widths, align="edge", color=curve.colour, edgecolor="white", linewidth=0.8
        )
    else:
        style = "--" if curve.look == "dashed" else "-"
        axes.plot(curve.x, curve.y, style, lw=1.6, color=curve.colour, label=curve.name)


def draw_page(chart: Chart, name: str) -> str:
    """Return a chart as an HTML page that needs no network; `name` is the id of its element.

    Raises:
        MissingError: plotly is not installed.
    """
    require("plotly")
    from plotly import graph_objects as go
    from plotly.io import to_html

    figure = go.Figure()
    for curve in chart.curves:
        figure.add_trace(_trace(go, curve))
    kind = "log" if chart.log else "linear"
    axis = {"type": kind, "gridcolor": GRID, "zeroline": False, "exponentformat": "none", "separatethousands": True}
    if chart.log:
        axis["dtick"] = 1
    rows = {"tickvals": list(range(len(chart.rows))), "ticktext": list(chart.rows), "autorange": "reversed"}
    figure.update_layout(
        title={"text": chart.title},
        xaxis={**axis, "title": {"text": chart.x_label}},
        yaxis={**axis, **(rows if chart.rows else {}), "title": {"text": chart.y_label}},
        plot_bgcolor="white",
        legend={"x": 1, "xanchor": "right", "y": 1, "bgcolor": "rgba(255,255,255,0.8)"},
        font={"family": "DejaVu Sans, Noto Sans, Noto Sans CJK SC, Arial, sans-serif"},
    )
    return str(to_html(figure, include_plotlyjs=True, full_html=True, div_id=name, config={"displaylogo": False}))


def _trace(go: Any, curve: Curve) -> Any:
    # lists, not arrays: plotly packs arrays as base64, which is smaller but cannot be read in the page's source
    x, y = curve.x.tolist(), curve.y.tolist()
    if curve.look == "bars":
        widths = [] if curve.widths is None else curve.widths.tolist()
        return go.Bar(
            x=x, y=y, width=widths, offset=0, name=curve.name, marker_color=curve.colour, hovertext=list(curve.notes)
        )
    if curve.look in ("points", "ticks"):
        symbol = {"symbol": "line-ns-open", "size": 14} if curve.look == "ticks" else {"size": 6, "opacity": 0.75}
        return go.Scatter(
            x=x, y=y, mode="markers", name=curve.name, hovertext=list(curve.notes),
            marker={"color": curve.colour, **symbol},
        )  # fmt: skip
    dash = "dash" if curve.look == "dashed" else "solid"
    return go.Scatter(x=x, y=y, mode="lines", name=curve.name, line={"color": curve.colour, "dash": dash})


def thin(n: int, points: int = 600) -> Any:
    """Return some of the places 0 … n-1 in ascending order, evenly spaced on a logarithmic axis, the first and last among them."""
    if n <= points:
        return np.arange(n)
    return np.unique(np.round(np.geomspace(1, n, points)).astype(np.int64) - 1)


def make_grey(figure: Any) -> None:
    """Turn every colour of a figure into the grey that is as light (Rec. 709)."""
    from matplotlib.collections import Collection
    from matplotlib.colors import to_rgba_array
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    def grey(colours: Any) -> Any:
        rgba = to_rgba_array(colours)
        light = rgba[:, :3] @ np.array([0.2126, 0.7152, 0.0722])
        return np.column_stack([light, light, light, rgba[:, 3]])

    for artist in figure.findobj():
        if isinstance(artist, Line2D):
            for part in ("color", "markerfacecolor", "markeredgecolor"):
                getattr(artist, f"set_{part}")(tuple(grey(getattr(artist, f"get_{part}")())[0]))
        elif isinstance(artist, Text):
            artist.set_color(tuple(grey(artist.get_color())[0]))
        elif isinstance(artist, AxesImage):
            artist.set_cmap("gray")
        elif isinstance(artist, Patch):
            artist.set_edgecolor(grey(artist.get_edgecolor())[0])
            artist.set_facecolor(grey(artist.get_facecolor())[0])
        elif isinstance(artist, Collection) and artist.get_array() is None:
            artist.set_edgecolor(grey(artist.get_edgecolor()))
            artist.set_facecolor(grey(artist.get_facecolor()))
