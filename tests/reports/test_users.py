"""One small test for each thing that new users of three trades stumbled over (a political scientist, a journalist, an engineer)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import run_cli, write_jsonl

ROWS = [{"text": f"river water fish number {i}", "label": "ab"[i % 2]} for i in range(8)]


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("matplotlib", ["effects", "run/", "--of", "party", "-o", "e.csv", "--plot", "e.svg"]),
        ("matplotlib", ["plot", "run/", "map", "-o", "map.png"]),
        ("wordcloud", ["plot", "run/", "wordcloud", "-o", "words.png"]),
        ("matplotlib", ["words", "plot", "vectors/", "a", "b", "c", "-o", "words.svg"]),
        ("plotly", ["kwic", "river", "news.jsonl", "--plot", "k.html"]),
        ("matplotlib", ["stats", "news.jsonl", "--plot", "zipf.svg"]),
        ("matplotlib", ["active-curve", "news.jsonl", "--vectors", "tfidf", "-o", "c.csv", "--plot", "c.png"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else value,
)
def test_a_picture_that_cannot_be_drawn_is_refused_before_the_work(
    package: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """U11: the runs here are not even there, so that any work at all would be another error."""
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("news.jsonl"), ROWS)
    for name in [n for n in sys.modules if n.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert f"drawing with {package} needs the extra 'report'" in run_cli(*words, code=4).error()
    assert [path.name for path in tmp_path.iterdir()] == ["news.jsonl"]
