"""nlpkit diff: runs of the same documents, of others, of another model."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import nlpkit as nk
from nlpkit.topics.diff.figure import draw_flows
from tests.command_line import needs_hdbscan, run_cli


def test_a_run_and_itself_are_matched_throughout(planted_lda: Path) -> None:
    value = run_cli("diff", planted_lda, planted_lda, "--json").json()
    assert (value["by"], value["same"], value["moved"], value["ami"]) == ("documents", 120, 0, 1.0)
    assert [(link["relation"], link["a"], link["b"]) for link in value["links"]] == [
        ("matched", k, k) for k in range(4)
    ]
    assert all(link["words"] > 0.999 and not link["lost"] and not link["gained"] for link in value["links"])


def test_topics_without_documents_are_those_with_the_same_words(planted: Path, tmp_path: Path) -> None:
    run_cli("lda-online", planted, "--k", "12", "--seed", "1", "-q", "-o", "many")
    sizes = pl.read_parquet("many/topics.parquet")["size"]
    assert (sizes == 0).any()
    value = run_cli("diff", "many", "many", "--json").json()
    assert [(link["relation"], link["a"], link["b"]) for link in value["links"]] == [
        ("matched", k, k) for k in range(12)
    ]


@needs_hdbscan
def test_another_model_by_documents_and_by_words(planted_run: Path, planted_lda: Path) -> None:
    by_documents = run_cli("diff", planted_run, planted_lda, "--json").json()
    by_words = run_cli("diff", planted_run, planted_lda, "--by", "words", "--json").json()
    assert by_documents["relations"]["matched"] == by_words["relations"]["matched"] == 4
    assert {(x["a"], x["b"]) for x in by_documents["links"]} == {(x["a"], x["b"]) for x in by_words["links"]}


def test_fewer_topics_are_split_and_written(planted: Path, planted_lda: Path, tmp_path: Path) -> None:
    run_cli("lda-gibbs", planted, "--k", "2", "--sweeps", "60", "-q", "-o", "two")
    done = run_cli("diff", "two", planted_lda, "-o", "r.csv", "--save-overlaps", "o.parquet")
    assert "split" in done.out
    relations = pl.read_csv("r.csv")
    assert set(relations.filter(pl.col("relation") == "split")["b"]) == {0, 1, 2, 3}
    assert "merged" in run_cli("diff", planted_lda, "two").out
    overlaps = pl.read_parquet("o.parquet")
    assert overlaps["documents"].sum() == 120


def test_other_documents_are_compared_by_words(planted_lda: Path, tmp_path: Path) -> None:
    terms = pl.read_parquet(planted_lda / "topic_terms.parquet").filter(pl.col("rank") <= 8)
    themes = [" ".join(group["term"]) for _, group in terms.group_by("topic", maintain_order=True)][:2]
    themes.append("carburettor gearbox piston axle clutch exhaust radiator chassis")
    rows = [{"id": f"new{n}", "text": themes[n % 3]} for n in range(60)]
    Path("new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run_cli("lda-gibbs", "new.jsonl", "--k", "3", "--sweeps", "60", "--stop-words", "none", "-q", "-o", "new")
    value = run_cli("diff", planted_lda, "new", "--json").json()
    assert (value["by"], value["shared_documents"], value["ami"]) == ("words", 0, None)
    assert value["relations"] == {"matched": 2, "split": 0, "merged": 0, "vanished": 2, "new": 1}
    assert all(link["documents"] is None for link in value["links"])
    assert "no document of the same id" in run_cli("diff", planted_lda, "new").err
    assert "--by words" in run_cli("diff", planted_lda, "new", "--by", "documents", code=3).error()


def test_a_picture_of_two_runs(planted: Path, planted_lda: Path, tmp_path: Path) -> None:
    run_cli("lda-gibbs", planted, "--k", "2", "--sweeps", "60", "-q", "-o", "two")
    run_cli("diff", "two", planted_lda, "--plot", "changes.svg", "-q")
    first = Path("changes.svg").read_bytes()
    assert "--force" in run_cli("diff", "two", planted_lda, "--plot", "changes.svg", code=2).error()
    assert Path("changes.svg").read_bytes() == first
    for by in ("documents", "words"):
        result = nk.diff("two", planted_lda, by=by)
        assert result.picture(style="grey").save(f"{by}.png").stat().st_size > 20_000
    assert nk.diff("two", planted_lda).picture().save("again.svg").read_bytes() == first
    assert "changes.jpg" in run_cli("diff", "two", planted_lda, "--plot", "changes.jpg", code=2).error()


@pytest.mark.parametrize("alike", [False, True])
def test_bands_are_as_wide_as_what_topics_share(alike: bool) -> None:
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

    flows = np.array([[30.0, 0.0, 10.0], [0.0, 5.0, 0.0], [0.0, 0.0, 0.0]]) / (40 if alike else 1)
    figure = Figure(figsize=(6, 4))
    names = [["0 a", "1 b", "2 c"], ["0 d", "1 e", "2 f"]]
    draw_flows(
        figure, flows=flows, names=names, colours=[["#336699"] * 3] * 2, heads=["A", "B"], title="t", alike=alike
    )
    (axes,) = figure.axes
    (bands,) = [c for c in axes.collections if isinstance(c, PolyCollection)]
    corners = [path.vertices for path in bands.get_paths()]
    wide = [np.ptp(xy[np.isclose(xy[:, 0], 0), 1]) for xy in corners]
    assert np.allclose(np.array(wide) / wide[0], [1, 1 / 3, 1 / 6])
    bars = axes.patches
    assert len(bars) == 6
    for side, x in ((0, 0.0), (1, 1.0)):  # the bands of a bar lie in it, and no two over each other
        ends = sorted((xy[np.isclose(xy[:, 0], x), 1].min(), xy[np.isclose(xy[:, 0], x), 1].max()) for xy in corners)
        assert all(before[1] <= after[0] + 1e-9 for before, after in pairwise(ends))
        spans = [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in bars[3 * side : 3 * side + 3]]
        assert all(any(a - 1e-6 <= low and high <= b + 1e-6 for a, b in spans) for low, high in ends)
    heights = [text.get_position()[1] for text in axes.texts if text.get_text() in names[1]]
    assert np.diff(sorted(heights)).min() > 0.3  # cm: names have room


def test_documents_without_a_topic_and_runs_of_one_topic_are_drawn(planted: Path, tmp_path: Path) -> None:
    run_cli("lda-gibbs", planted, "--k", "1", "--sweeps", "5", "-q", "-o", "one")
    result = nk.diff("one", "one")
    object.__setattr__(result, "table", np.array([[100, 7], [13, 0]]))
    assert result.picture(height=5).save("one.svg").stat().st_size > 1000
