"""Pictures of what a corpus holds: the laws of Zipf and Heaps, lengths of documents, a cloud of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from nlpkit.errors import UsageError
from nlpkit.explore.charts import Grouped, heaps_chart, lengths_chart, zipf_chart
from nlpkit.explore.stats.run import CorpusStatistics
from nlpkit.platform import reporting, wording
from nlpkit.platform.runs.atomic import check_target
from nlpkit.platform.runs.saving import write_picture
from nlpkit.platform.views.chart import COLOURS, Chart, draw_page, draw_picture, require
from nlpkit.platform.views.cloud import MAX_WORDS, draw_cloud
from nlpkit.text.stopwords import stop_words

KINDS = ("zipf", "heaps", "lengths", "cloud")
SUFFIXES = (".png", ".svg", ".html")


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture that is asked for."""

    kind: str
    path: Path


def parse_plots(plots_named: Sequence[str], *, force: bool) -> list[Plot]:
    """Return the pictures of [KIND:]FILE; without a kind the name of the file begins with one.

    Raises:
        UsageError: no kind, or a format that cannot be written; OutputExistsError: the file is there; MissingError: what
            draws it is not installed.
    """
    plots: list[Plot] = []
    for text in plots_named:
        kind, colon, name = text.partition(":")
        if not colon or kind not in KINDS:
            name = text
            kind = next((k for k in KINDS if Path(text).name.lower().startswith(k)), "")
        path = Path(name)
        if not kind or not path.name:
            raise UsageError(
                f"`plot={text}`: the chart is unknown; name the file zipf.png, heaps.png, lengths.png or cloud.png, "
                f"or write the chart first, such as `plot=zipf:{name or 'picture.png'}`"
            )
        if path.suffix.lower() not in (SUFFIXES if kind != "cloud" else (".png",)):
            formats = ".png only" if kind == "cloud" else "one of .png .svg .html"
            raise UsageError(
                f"`plot={text}`: the format '{path.suffix}' cannot be written, a {kind} picture is {formats}"
            )
        if any(path == other.path for other in plots):
            raise UsageError(f"`plot={text}`: the file is named twice")
        check_target(path, force=force)
        require("plotly" if path.suffix.lower() == ".html" else "matplotlib")
        if kind == "cloud":
            require("wordcloud")
        plots.append(Plot(kind, path))
    return plots


def write_plots(
    plots: Sequence[Plot], statistics: CorpusStatistics, *, seed: int, font: Path | None, force: bool
) -> None:
    """Draw and write the pictures.

    Args:
        plots: as `parse_plots` returns them.
        statistics: of the corpus.
        seed: of the places of words in a cloud.
        font: of a cloud, None for one that has the letters.
        force: replace what is there.
    """
    largest = sorted(statistics.groups, key=lambda g: (-g.figures.tokens, str(g.name)))[: len(COLOURS) - 1]
    shown: Grouped = [(str(g.name), g.figures, g.cf) for g in statistics.groups if g in largest and g.figures.tokens]
    if any(plot.kind in ("zipf", "heaps") for plot in plots) and len(shown) < len(statistics.groups):
        reporting.note(f"charts show the {len(shown)} largest of {len(statistics.groups)} groups")
    whole = statistics.whole
    for plot in plots:
        if plot.kind == "cloud":
            _write_cloud(plot, statistics, seed=seed, font=font, force=force)
            continue
        if plot.kind == "zipf":
            chart = zipf_chart(
                whole.figures, whole.cf, statistics.words.to_pylist(), statistics.exponent_of(whole), shown
            )
        elif plot.kind == "heaps":
            chart = heaps_chart(whole.figures, shown)
        else:
            chart = lengths_chart(whole.figures)
        write_picture(plot.path, _drawn(chart, plot), force=force)
        reporting.note(f"wrote {plot.path}")


def _drawn(chart: Chart, plot: Plot) -> bytes | str:
    suffix = plot.path.suffix.lower()
    return draw_page(chart, plot.kind) if suffix == ".html" else draw_picture(chart, suffix[1:])


def _write_cloud(plot: Plot, statistics: CorpusStatistics, *, seed: int, font: Path | None, force: bool) -> None:
    languages = statistics.languages
    stop = stop_words(languages)
    words = _cloud_words(statistics, stop)
    cloud = draw_cloud(words, seed=seed, font=font)
    write_picture(plot.path, cloud.png, force=force)
    without = f" without the stop words of {', '.join(languages)}" if stop else ""
    reporting.note(f"wrote {plot.path}: {wording.counted(cloud.n_words, 'word')}{without}")
    if cloud.left_out:
        reporting.warn(
            f"{plot.path}: {wording.counted(len(cloud.left_out), 'word')} not drawn, such as {cloud.left_out[0]}: the font "
            f"{Path(cloud.font).name} lacks {''.join(sorted(cloud.lacks)[:20])}; give one that has them with `font=FILE`"
        )


def _cloud_words(statistics: CorpusStatistics, stop: frozenset[str]) -> dict[str, float]:
    """Return the most frequent words that are no stop words, as many as a cloud shows."""
    pairs = zip(statistics.words.to_pylist(), statistics.whole.cf.tolist(), strict=True)
    return dict(islice(((word, cf) for word, cf in pairs if word.lower() not in stop), MAX_WORDS))
