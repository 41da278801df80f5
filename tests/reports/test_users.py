"""One small test for each thing that new users of three trades stumbled over (a political scientist, a journalist, an engineer)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import nlpkit as nk
from nlpkit.errors import InputError
from nlpkit.topics.effects.design import fit_design
from nlpkit.topics.effects.formula import parse_formula
from tests.command_line import run_cli, write_jsonl

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


def test_the_report_marks_topics_that_do_not_come_back(tmp_path: Path) -> None:
    """U15: topics of noise, which the terminal marks with ! beside their stability."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 6)).astype(np.float32)
    rows = pa.table({
        "id": [str(i) for i in range(60)], "text": [f"{['river', 'court', 'music'][i % 3]} word{i % 7}" for i in range(60)],
        "embedding": pa.array(vectors.tolist(), pa.list_(pa.float32(), 6)),
    })  # fmt: skip
    run = nk.fit_bertopic(rows, k=6, stop_words="none", min_df=1).save(tmp_path / "run")
    topics = nk.load(run).topics.to_pylist()
    unstable = [row["label"] for row in topics if row["stability"] is not None and row["stability"] < 0.5]
    assert unstable
    page = nk.report(run).html
    marked = re.findall(r"<td[^>]*>(0\.\d\d) !</td>", page)
    assert len(marked) == len(unstable)
    assert all(float(value) <= 0.5 for value in marked)
    assert (
        f"Do not rely on the topics marked !: {', '.join(f'“{label}”' for label in unstable)} (stability under 0.5"
        in page
    )


@pytest.mark.parametrize(
    "command", [["stm", "--iterations", "3"], ["lda-gibbs", "--sweeps", "5"]], ids=lambda words: words[0]
)
def test_a_search_for_k_tells_of_each_number_and_of_no_score_that_is_not_there(
    command: list[str], tmp_path: Path
) -> None:
    """U16: stm fits each number once, so that there is no stability; nothing was heard of it for 35 minutes."""
    name, *words = command
    rng = np.random.default_rng(0)
    terms = np.array(["river", "water", "fish", "court", "judge", "jury", "song", "band", "music"])
    rows = [{"text": " ".join(terms[3 * (i % 3) + rng.integers(0, 3, 12)])} for i in range(40)]
    docs = write_jsonl(tmp_path / "docs.jsonl", rows)
    done = run_cli(name, docs, "--k", "2:4:1", *words, "-o", tmp_path / "run")
    told = re.findall(r"^k = (\d): perplexity ([\d.]+) of held-out documents$", done.err, re.M)
    assert [k for k, _ in told] == ["2", "3", "4"]
    for k, perplexity in told:
        assert re.search(rf"^\W*{k} +{perplexity} ", done.out, re.M), done.out
    several = name != "stm"
    assert ("stability" in done.out) == several
    assert ("stability" in done.err) == several
    assert "exclusivity with few small topics" in done.err or several


def test_no_table_is_shown_where_a_script_wants_none(tmp_path: Path) -> None:
    """T12: --show 0, which was refused."""
    docs = write_jsonl(tmp_path / "docs.jsonl", ROWS)
    run = tmp_path / "run"
    assert run_cli("lda-gibbs", docs, "--k", "2", "--sweeps", "3", "--show", "0", "-o", run).out == ""
    assert run_cli("topics", run, "--by", "label", "--show", "0", "-q").out == ""
    assert run_cli("evaluate", run, "--metrics", "diversity", "--show", "0", "-q").out == ""
    assert "seconds" in run_cli("stats", docs, "--dry-run", "--show", "0", "-q").out  # a plan is the answer itself
    assert "from 0 (no table)" in run_cli("stats", docs, "--show", "-1", code=2).error()


def test_texts_of_emoji_alone_and_of_few_kinds_say_what_to_do(tmp_path: Path) -> None:
    """T12: 12 texts of emoji, and 300 answers of five kinds (MaartenGr/BERTopic#1906), which LDA takes."""
    smile = write_jsonl(tmp_path / "smile.jsonl", [{"text": "🎉🎉 😀"}] * 12)
    told = run_cli("lda-gibbs", smile, "--k", "2", "-o", tmp_path / "run", code=3).error()
    assert "nlpkit preprocess takes emoji for words with --keep emoji" in told
    run_cli("preprocess", smile, "--keep", "emoji", "--min-length", "1", "-q", "-o", tmp_path / "kept.parquet")
    run_cli("lda-gibbs", tmp_path / "kept.parquet", "--k", "2", "--sweeps", "3", "-q", "-o", tmp_path / "run")
    rows = pa.table({
        "text": [f"answer kind{i % 5}" for i in range(300)],
        "embedding": pa.array([np.eye(5, dtype=np.float32)[i % 5].tolist() for i in range(300)], pa.list_(pa.float32(), 5)),
    })  # fmt: skip
    with pytest.raises(
        InputError, match=r"found 5 among 300 documents; equal texts .* one document here\. `fit_lda\(\)`"
    ):
        nk.fit_bertopic(rows, k=5)


@pytest.mark.parametrize("formula", ["x", "s(x)", "x*party"])
@pytest.mark.parametrize("size", [1e308, -1e200])
def test_covariates_that_are_too_large_to_be_squared(formula: str, size: float) -> None:
    """T12: 1e308 printed numpy's warning of an overflow, and a spline of it never ended."""
    values = {"x": np.array([size, 0.0, 1.0, 2.0, 3.0, 4.0]), "party": ["a", "b"] * 3}
    with pytest.raises(InputError, match=rf"'x' has a value of size {abs(size):g}".replace("+", r"\+")):
        fit_design(parse_formula(formula), values)
