"""A picture of words in the plane of their first two principal components."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.types import Float32Array, FloatArray
from nlpkit.platform.views.chart import COLOURS
from nlpkit.platform.views.figures import WordPictureOptions
from nlpkit.platform.views.picture import Picture, draw_in_format
from nlpkit.words.options import VectorOptions
from nlpkit.words.query import open_vectors
from nlpkit.words.vectors import nearest_words, unit_rows


def draw_word_places(
    figure: Any, *, places: FloatArray, names: Sequence[str], n_asked: int, shares: FloatArray
) -> None:
    """Draw words at their places (n, 2): the first n_asked in bold, the others as their neighbours."""
    axes = figure.add_subplot()
    for i, ((x, y), name) in enumerate(zip(places.tolist(), names, strict=True)):
        colour, weight = (COLOURS[1], "bold") if i < n_asked else (COLOURS[0], "normal")
        axes.plot(x, y, "o", color=colour, markersize=2.5)
        axes.annotate(name, (x, y), xytext=(3, 2), textcoords="offset points", fontsize=7, fontweight=weight)
    for spine in ("top", "right"):
        axes.spines[spine].set_visible(False)
    axes.margins(0.12)
    axes.set_xlabel(f"first component, {100 * shares[0]:.0f} % of the variance", fontsize=7)
    axes.set_ylabel(f"second component, {100 * shares[1]:.0f} %", fontsize=7)
    axes.tick_params(labelsize=6)


# ------------------------------------------------------------------------------------------------------------------------
# A picture of words in the plane of their first two principal components.


def plot_words(
    vectors: str | Path,
    words: Sequence[str],
    *,
    picture: WordPictureOptions | None = None,
    options: VectorOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> Picture:
    """Return a picture of words, and of their neighbours where these are asked for; the same bytes for the same vectors.

    Places are the first two principal components of the vectors of these words, divided by their lengths; the axes tell the share of
    the variance.

    Args:
        vectors: a run of embed-words, or a file of word vectors. words: three or more, with their neighbours.

    Raises:
        UsageError: there are fewer than three; InputError: a word has no vector; MissingError: the extra report is not installed.

    Example:
        >>> vectors = nk.embed_words(["cats chase mice", "dogs chase cats"] * 50, dimensions=8, epochs=5).save("vectors")
        >>> nk.plot_words(vectors, ["cats", "dogs", "mice"]).save("words.svg").name
        'words.svg'
    """
    picture, options, execution = with_settings(
        (picture, options, execution), settings, (WordPictureOptions, VectorOptions, Execution)
    )
    opened = open_vectors(vectors, options, execution)
    placed = {word: opened.vector(word) for word in dict.fromkeys(words)}
    n_asked = len(placed)
    if picture.neighbours and placed:
        near = nearest_words(
            opened.known,
            np.stack(list(placed.values())),
            top=picture.neighbours,
            leave_out=[opened.among([w]) for w in placed],
        )
        for rows, _ in near:
            for row in rows.tolist():
                placed.setdefault(opened.known.words[row], opened.known.vectors[row])
    if len(placed) < 3:
        raise UsageError(
            f"a picture needs three words or more, got {len(placed)}; give more, or `neighbours=10`", parameter="words"
        )
    places, shares = plane(np.stack(list(placed.values())))
    names = list(placed)
    draw = partial(draw_word_places, places=places, names=names, n_asked=n_asked, shares=shares)
    height = picture.height or picture.width * 0.75
    return Picture("words", partial(draw_in_format, draw, picture.width, height, picture.style, "".join(names)))


def plane(vectors: Float32Array) -> tuple[FloatArray, FloatArray]:
    """Return the first two principal components of vectors divided by their lengths (n, 2), and their shares of the variance (2,).

    Of each component the value of largest size is positive. A second one that does not exist is 0.
    """
    units = unit_rows(vectors).astype(np.float64)
    centred = units - units.mean(axis=0)
    with threadpool_limits(limits=1):
        U, sigma, _ = np.linalg.svd(centred, full_matrices=False)
    k = min(2, len(sigma))
    places, shares = np.zeros((len(units), 2)), np.zeros(2)
    places[:, :k] = U[:, :k] * sigma[:k]
    places *= np.where(places[np.abs(places).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    total = float((sigma**2).sum())
    shares[:k] = sigma[:k] ** 2 / total if total > 0 else 0.0
    return places, shares
