"""nlpkit words plot: places beside NumPy, the same bytes, what cannot be drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nlpkit.words.picture import plane
from tests.command_line import run_cli
from tests.few import few


@pytest.fixture
def vectors() -> Path:
    rng = np.random.default_rng(0)
    lines = [f"w{i} {' '.join(map(str, rng.normal(size=4).round(3)))}" for i in range(12)]
    Path("v.txt").write_text("\n".join(lines) + "\n$x$ 1 2 3 4\n", encoding="utf-8")
    return Path("v.txt")


def test_places_are_principal_components() -> None:
    vectors = np.random.default_rng(1).normal(size=(9, 5)).astype(np.float32)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    values, axes = np.linalg.eigh(np.cov(units.T))
    places, shares = plane(vectors)
    np.testing.assert_allclose(np.abs(places), np.abs((units - units.mean(axis=0)) @ axes[:, ::-1][:, :2]), atol=1e-5)
    np.testing.assert_allclose(shares, values[::-1][:2] / values.sum(), atol=1e-5)
    assert (places[np.abs(places).argmax(axis=0), [0, 1]] > 0).all()
    same, none = plane(np.ones((3, 4), np.float32))
    assert np.abs(same).max() < 1e-6
    assert np.isfinite(none).all()
    assert plane(np.array([[1.0], [2], [-1]], np.float32))[0][:, 1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("suffix", few(["svg", "pdf", "png"], 2))
def test_the_same_bytes(suffix: str, vectors: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("a", "b"):
        run_cli("words", "plot", vectors, "w1", "w2", "$x$", "--neighbours", "3", "-o", f"{name}.{suffix}")
    assert Path(f"a.{suffix}").read_bytes() == Path(f"b.{suffix}").read_bytes()


def test_what_cannot_be_drawn(vectors: Path) -> None:
    assert "three words or more, got 2" in run_cli("words", "plot", vectors, "w1", "w2", "-o", "a.svg", code=2).error()
    assert "no vector of 'x'" in run_cli("words", "plot", vectors, "x", "w1", "w2", "-o", "a.svg", code=3).error()
    assert "-o words.svg" in run_cli("words", "plot", vectors, "w1", code=2).error()
    assert ".svg" in run_cli("words", "plot", vectors, "w1", "-o", "a.gif", code=2).error()
    assert run_cli("words", "plot", vectors, "w1", "-o", "a.svg", "--dry-run", "--json").json() == {"pictures": 1}
