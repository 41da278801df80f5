"""Topics of a run over time and by group: cells that are empty, documents that have no date, every kind of run."""

from __future__ import annotations

import json
import logging
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit.errors import ColumnError, InputError, UsageError

WORDS = {
    "river": "river water bank boat fish stream",
    "court": "judge court jury law trial guilty",
    "music": "song band concert tour album stage",
}


def documents() -> list[dict[str, Any]]:
    """Return 90 documents of three themes: a river that rises, no document in 2024-03, two without a date, one without a paper."""
    rows = []
    for n in range(90):
        month = [1, 2, 4, 5, 6, 7][n % 6]
        theme = "river" if n // 6 % 6 < n % 6 else ["court", "music"][n % 2]
        words = WORDS[theme].split()
        text = " ".join(words[(n + i) % 6] for i in range(12))
        rows.append(
            {
                "id": f"d{n}",
                "text": text,
                "date": f"2024-{month:02}-{n % 28 + 1:02}",
                "paper": "AB"[n % 2],
                "theme": theme,
            }
        )
    rows[10]["date"], rows[11]["date"], rows[12]["paper"] = None, "2024", None
    return rows


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("topics")
    source = folder / "docs.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in documents()), encoding="utf-8")
    corpus = nk.read_corpus(source)
    nk.fit_lda(corpus, k=3, sweeps=60, stop_words="none").save(folder / "lda")
    return folder / "lda"


def test_months_without_documents_are_there_and_the_undated_are_counted(
    run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="nlpkit"):
        result = nk.topics(run, over="date:month")
    assert result.counts.to_pydict()["period"] == [f"2024-0{m}" for m in range(1, 8)]
    assert result.counts["documents"][2].as_py() == 0
    empty = [row for row in result.shares.to_pylist() if row["period"] == "2024-03"]
    assert len(empty) == 4
    assert all(row["share"] is None and row["low"] is None and row["count"] == 0 for row in empty)
    assert result.left_out == 2
    assert "left out: 2 documents without a month in 'date'" in caplog.text
    assert sum(row["count"] for row in result.shares.to_pylist()) == pytest.approx(88)
    for row in result.shares.to_pylist():
        assert row["share"] is None or 0 <= row["low"] <= row["share"] <= row["high"] <= 1


def test_the_river_rises_and_papers_differ_as_they_were_made(run: Path) -> None:
    result = nk.topics(run, over="date:month", by=("theme",), count="main")
    labels = {row["theme"] for row in result.shares.to_pylist()}
    assert labels == {"river", "court", "music"}
    river = next(row for row in result.differences.to_pylist() if row["highest"] == "river")
    assert river["q"] < 1e-6
    assert river["highest_share"] > 0.9 > 0.2 > river["lowest_share"]
    trend = result.trends.to_pylist()[river["topic"]]
    assert trend["change"] == "rises"
    assert trend["share_last"] > trend["share_first"]
    assert trend["q"] < 0.05


def test_groups_without_periods_and_neither(run: Path) -> None:
    result = nk.topics(run, by=("paper",))
    assert result.counts.to_pydict() == {"paper": ["A", "B"], "documents": [44, 45]}
    assert result.trends is None
    assert result.left_out == 1
    whole = nk.topics(run)
    assert whole.differences is None
    assert whole.shares.num_rows == 4
    assert whole.overall["share"].to_pylist() == whole.shares["share"].to_pylist()


def test_mixtures_count_by_probability_and_main_topics_whole(run: Path) -> None:
    mixed, main = nk.topics(run), nk.topics(run, count="main")
    assert mixed.mixed
    assert not main.mixed
    sizes = nk.load(run).topics["size"].to_pylist()
    assert main.overall["count"].to_pylist() == [*sizes, 90 - sum(sizes)]
    assert mixed.overall["count"].to_pylist() != main.overall["count"].to_pylist()
    assert sum(mixed.overall["share"].to_pylist()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("part", "first", "n"),
    [("quarter", "2024-Q1", 3), ("week", "2024-W01", 30), ("year", "2024", 1), ("decade", "2020s", 1)],
)
def test_other_parts_of_dates(run: Path, part: str, first: str, n: int) -> None:
    periods = nk.topics(run, over=f"date:{part}").counts["period"].to_pylist()
    assert periods[0] == first
    assert abs(len(periods) - n) <= 1
    assert len(set(periods)) == len(periods)


def test_what_cannot_be_is_said(run: Path) -> None:
    with pytest.raises(UsageError, match="date:month"):
        nk.topics(run, over="date")
    with pytest.raises(ColumnError, match="'datum'"):
        nk.topics(run, over="datum:month")
    with pytest.raises(ColumnError, match="no dates"):
        nk.topics(run, over="paper:month")
    with pytest.raises(ColumnError, match="did you mean 'paper'"):
        nk.topics(run, by=("papr",))
    with pytest.raises(UsageError, match="part of a date"):
        nk.topics(run, over="date:moon")
    with pytest.raises(UsageError, match="twice"):
        nk.topics(run, by=("paper", "paper"))
    with pytest.raises(UsageError, match="`count=all`"):
        nk.topics(run, count="all")
    with pytest.raises(UsageError, match="date_format"):
        nk.topics(run, by=("paper",), date_format="%d/%m/%Y")
    with pytest.raises(InputError, match="not a run directory"):
        nk.topics(run.parent)


def test_a_date_that_is_a_mistake_is_told(tmp_path: Path) -> None:
    rows = documents()
    rows[0]["date"] = "0201-04-05"
    corpus = nk.Corpus.from_texts([r["text"] for r in rows], dates=[r["date"] for r in rows])
    nk.fit_lda(corpus, k=2, sweeps=5, stop_words="none").save(tmp_path / "run")
    with pytest.raises(InputError, match="periods; check the dates, or name a longer part of the date") as caught:
        nk.topics(tmp_path / "run", over="date:month")
    assert caught.value.parameter == "over"


def plain_words(run: Path, tuning: str) -> dict[tuple[str, int], dict[str, float]]:
    """The weights of words by period and topic, in plain Python: BERTopic's global and evolution tuning of c-tf-idf."""
    topics = nk.load(run).documents.to_pydict()
    texts = {row["id"]: row["text"].split() for row in documents()}
    cells: dict[tuple[str, int], Counter[str]] = {}
    for id_, topic, date in zip(topics["id"], topics["topic"], topics["date"], strict=True):
        if date and len(date) > 4:
            cells.setdefault((f"{date[:4]}-Q{(int(date[5:7]) + 2) // 3}", topic), Counter()).update(texts[id_])
    whole: dict[int, Counter[str]] = {}
    for (_, topic), counts in cells.items():
        whole.setdefault(topic, Counter()).update(counts)
    tf = sum(whole.values(), Counter())
    icf = {term: math.log1p(sum(tf.values()) / len(whole) / n) for term, n in tf.items()}

    def weighted(counts: Counter[str]) -> dict[str, float]:
        weights = {term: n * icf[term] for term, n in counts.items()}
        return {term: weight / sum(weights.values()) for term, weight in weights.items()}

    out: dict[tuple[str, int], dict[str, float]] = {}
    for period, topic in sorted(cells):
        weights, all_of = weighted(cells[period, topic]), weighted(whole[topic])
        if tuning != "cell":
            weights = {term: (weights.get(term, 0) + all_of[term]) / 2 for term in all_of}
        before = [p for p, k in out if k == topic]
        if tuning == "evolving" and before:
            past = out[max(before), topic]
            weights = {t: (weights.get(t, 0) + past.get(t, 0)) / 2 for t in {*weights, *past}}
        out[period, topic] = weights
    return out


@pytest.mark.parametrize("tuning", ["cell", "global", "evolving"])
def test_words_of_cells_are_those_of_their_formula(run: Path, tuning: str) -> None:
    table = nk.topic_words(run, over="date:quarter", words=4, terms=tuning, count="main").table
    plain = plain_words(run, tuning)
    assert {(row["period"], row["topic"]) for row in table.to_pylist()} == set(plain)
    for row in table.to_pylist():
        weights = plain[row["period"], row["topic"]]
        assert row["weight"] == pytest.approx(weights[row["term"]], rel=1e-5)
        assert row["weight"] == pytest.approx(sorted(weights.values(), reverse=True)[row["rank"] - 1], rel=1e-5)


def test_distinctive_words_are_those_of_one_group_alone(tmp_path: Path) -> None:
    words = {"A": "engine", "B": "saddle"}
    texts = [
        f"road travel journey wheel {words['AB'[n % 2]]}" if n % 3 else "court judge jury law trial" for n in range(60)
    ]
    frame = pa.table({"id": [f"d{n}" for n in range(60)], "text": texts, "paper": ["AB"[n % 2] for n in range(60)]})
    pq.write_table(frame, tmp_path / "docs.parquet")
    nk.fit_lda(nk.read_corpus(tmp_path / "docs.parquet"), k=2, sweeps=60, stop_words="none").save(tmp_path / "run")
    table = nk.topic_words(tmp_path / "run", by=("paper",), words=1, terms="distinctive").table.to_pylist()
    first = {(row["paper"], row["term"]) for row in table}
    assert {("A", "engine"), ("B", "saddle")} <= first


def test_words_that_an_edit_took_from_the_topics_are_no_words_of_cells(run: Path, tmp_path: Path) -> None:
    word = nk.topic_words(run, words=1, terms="cell").table["term"][0].as_py()
    (tmp_path / "edits.toml").write_text(f'stop_words = ["{word}"]\n', encoding="utf-8")
    nk.edit(run, tmp_path / "edits.toml").save(tmp_path / "edited")
    left = nk.topic_words(tmp_path / "edited", words=30, terms="cell").table["term"].to_pylist()
    assert left
    assert word not in left


def test_more_cells_than_anyone_reads_are_refused(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlpkit.topics.over_time.run.MOST_ROWS", 100)
    with pytest.raises(
        InputError, match="90 parts of id × 3 topics are more than 100 shares; name a column of fewer values"
    ) as caught:
        nk.topics(run, by=("id",))
    assert caught.value.parameter == "by"
    with pytest.raises(InputError, match=r"name a longer part of the date with `over`$"):
        nk.topics(run, over="date:day")
