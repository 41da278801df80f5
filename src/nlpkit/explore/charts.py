"""The charts of `nlpkit stats` and `kwic`: Zipf's law, Heaps' law, the lengths of documents, where a pattern matches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit.metrics.texts.corpus import CorpusFigures, heaps_curve, zipf_frequencies, zipf_probabilities
from nlpkit.platform.types import FloatArray, LongArray
from nlpkit.platform.views.chart import COLOURS, Chart, Curve, thin

Grouped = Sequence[tuple[str, CorpusFigures, LongArray]]  # name, figures, cf (V,) descending


def zipf_chart(
    figures: CorpusFigures, cf: LongArray, words: Sequence[str], exponent: float, groups: Grouped = ()
) -> Chart:
    """Return occurrences by rank with the law fitted by maximum likelihood, and drawn through rank 1 with an exponent.

    Args:
        figures: of the corpus; cf: (V,) descending; words: (V,) their words.
        exponent: s of the line through rank 1.
        groups: drawn as lines in place of the fit.
    """
    seen = thin(len(cf))
    ranks = seen + 1.0
    observed = Curve(
        "all documents" if groups else "observed", ranks, cf[seen].astype(float), "points", COLOURS[0],
        [f"{words[i]}: rank {i + 1:,}, {cf[i]:,} times" for i in seen.tolist()],
    )  # fmt: skip
    fit = figures.zipf
    curves = [observed]
    if groups:
        for (name, _, counts), colour in zip(groups, COLOURS[1:], strict=False):
            some = thin(len(counts))
            curves.append(Curve(name, some + 1.0, counts[some].astype(float), "line", colour))
    elif len(cf) > 1:
        law = cf.sum() * zipf_probabilities(len(cf), fit.exponent)[seen]
        curves.append(Curve(f"N · p_k, s = {fit.exponent:.3f} (maximum likelihood)", ranks, law, "line", COLOURS[1]))
        through = zipf_frequencies(float(cf[0]), exponent, len(cf))[seen]
        curves.append(Curve(f"f_1 / k^s, s = {exponent:.3f} (through rank 1)", ranks, through, "dashed", COLOURS[2]))
        bottom = cf[-1] / 3  # a line far below the last word would only squeeze the rest
        curves[1:] = [Curve(c.name, c.x[c.y >= bottom], c.y[c.y >= bottom], c.look, c.colour) for c in curves[1:]]
    title = "Words by rank"
    if len(cf) > 1:
        title = f"Zipf's law{', all documents' if groups else ''}: s = {fit.exponent:.3f} ± {fit.error:.2g}, largest gap (KS) {fit.ks:.3f}"
    return Chart(title, "rank k", "occurrences", curves, log=True)


def heaps_chart(figures: CorpusFigures, groups: Grouped = ()) -> Chart:
    """Return the growth of the vocabulary with the law fitted to it, or with that of the groups."""
    n, v = figures.growth
    some = thin(len(n), 300)
    curves = [
        Curve(
            "all documents" if groups else "observed",
            n[some].astype(float),
            v[some].astype(float),
            "points",
            COLOURS[0],
        )
    ]
    fit = figures.heaps
    title = "Growth of the vocabulary"
    if np.isfinite(fit.beta):
        title = (
            f"Heaps' law{', all documents' if groups else ''}: V(n) = {fit.k:.3g} · n^{fit.beta:.3f}, R² {fit.r2:.4f}"
        )
    if groups:
        for (name, other, _), colour in zip(groups, COLOURS[1:], strict=False):
            x, y = other.growth
            curves.append(Curve(name, x.astype(float), y.astype(float), "line", colour))
    elif np.isfinite(fit.beta):
        name = f"{fit.k:.3g} · n^{fit.beta:.3f} (least squares)"
        curves.append(Curve(name, n[some].astype(float), heaps_curve(fit, n[some]), "line", COLOURS[1]))
    return Chart(title, "tokens n", "different words V(n)", curves, log=True)


def lengths_chart(figures: CorpusFigures) -> Chart:
    """Return the histogram of tokens per document; the last bar stands for all longer documents where the bin is open."""
    bins = figures.bins
    width = bins[0].high - bins[0].low + 1 if bins and bins[0].high is not None else 1
    left = np.array([b.low for b in bins], np.float64)
    notes = [f"{b.low:,} and more" if b.high is None else f"{b.low:,} to {b.high:,}" for b in bins]
    counts = np.array([b.documents for b in bins], np.float64)
    bars = Curve("documents", left, counts, "bars", COLOURS[0], notes, np.full(len(bins), float(width)))
    lengths = figures.lengths
    title = f"Tokens per document: median {lengths.median:,.0f}, mean {lengths.mean:,.1f}, longest {lengths.max:,}"
    open_end = bins and bins[-1].high is None
    x_label = f"tokens (the last bar: {bins[-1].low:,} and more)" if open_end else "tokens"
    return Chart(title, x_label, "documents", [bars])


def dispersion_chart(pattern: str, rows: Sequence[tuple[str, FloatArray]], y_label: str) -> Chart:
    """Return where a pattern matches, a row for each text: its name, and the places of its matches as shares in [0, 1] (M,)."""
    y = np.concatenate([np.zeros(0), *(np.full(len(places), float(i)) for i, (_, places) in enumerate(rows))])
    x = np.concatenate([np.zeros(0), *(100 * places for _, places in rows)])
    names = [f"{name} ({len(places):,})" for name, places in rows]
    return Chart(f"Matches of {pattern}", "place in the text, %", y_label, [Curve(pattern, x, y, "ticks")], rows=names)
