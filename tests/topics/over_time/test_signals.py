"""Trends with names and briefs: planted rises, seasons and bursts, dates without meaning, the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

import nlpkit as nk
from nlpkit.errors import InputError, UsageError
from nlpkit.topics.over_time.brief import changes
from nlpkit.topics.over_time.prevalence import CellSums
from nlpkit.topics.over_time.signals import BurstNull, Signals, burst_null, season_columns, signals, tail_of, windows
from tests.command_line import run_cli

T, DOCUMENTS = 48, 200


def cells_of(counts: np.ndarray, n: np.ndarray) -> CellSums:
    """Return the sums of documents that have one topic each."""
    sums = np.hstack([counts, (n - counts.sum(axis=1))[:, None]]).astype(np.float64)
    return CellSums(n.astype(np.int64), sums, sums, False)


@pytest.fixture(scope="module")
def null() -> BurstNull:
    found = burst_null(np.full(T, DOCUMENTS), 12.0, np.random.default_rng(1))
    assert found is not None
    return found


def planted(odds: np.ndarray, null: BurstNull, *, share: float = 0.05, seed: int = 5) -> Signals:
    """Return the signals of ten topics, of which the first has these odds (T,) beside its share."""
    rng = np.random.default_rng(seed)
    weights = np.hstack([share * odds[:, None], np.full((T, 9), (1 - share) / 9)])
    weights /= weights.sum(axis=1, keepdims=True)
    counts = np.stack([rng.multinomial(DOCUMENTS, p) for p in weights])
    return signals(cells_of(counts, np.full(T, DOCUMENTS)), 12.0, null, level=0.95)


TIME = np.arange(T)


@pytest.mark.parametrize(
    ("odds", "share", "name"),
    [
        (np.exp(1.8 * (TIME / T - 0.5)), 0.05, "strong signal"),
        (np.exp(2.5 * TIME / T), 0.005, "weak signal"),
        (np.exp(-2.5 * TIME / T), 0.1, "fading"),
        (np.exp(np.cos(2 * np.pi * (TIME - 11) / 12)), 0.05, "seasonal"),
        (np.where((TIME >= 20) & (TIME < 23), 5.0, 1.0), 0.05, "burst"),
    ],
)
def test_what_was_planted_gets_its_name(odds: np.ndarray, share: float, name: str, null: BurstNull) -> None:
    found = planted(odds, null, share=share)
    assert found.name[0] == name
    assert np.isin(found.name[1:], ("steady", "noise")).sum() >= 8
    if name == "seasonal":
        assert found.peak[0] % 12 in (10, 11, 0)
        assert 3 < found.season_ratio[0] < 20  # planted: e²
    if name == "burst":
        assert (found.burst_first[0], found.burst_last[0]) == (20, 22)
        assert 2.5 < found.burst_ratio[0] < 6


def test_a_rise_that_rests_on_a_burst_at_the_end_is_a_burst(null: BurstNull) -> None:
    found = planted(np.where(TIME >= T - 3, 8.0, 1.0), null)
    assert found.q_trend[0] <= 0.05
    assert (found.name[0], found.also[0]) == ("burst", "")


def test_dates_without_meaning_name_no_more_topics_than_stated() -> None:
    rng, named, runs = np.random.default_rng(11), [], 60
    n = rng.integers(20, 60, 36)
    null = burst_null(n, 12.0, rng)
    p: list[np.ndarray] = []
    share = rng.dirichlet(np.full(12, 0.5))
    for _ in range(runs):
        counts = np.stack([rng.multinomial(m, share) for m in n])
        found = signals(cells_of(counts, n), 12.0, null, level=0.95)
        named.append(found.called.any())
        p.append(np.stack([found.p_trend, found.p_season, found.p_burst]))
    assert np.mean(named) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)
    assert (np.mean(np.array(p) <= 0.05, axis=(0, 2)) <= 0.07).all()


def test_tails_of_simulated_windows_join_and_fall() -> None:
    draws = np.sort(np.random.default_rng(2).standard_normal((1999, 50)).max(axis=1))
    z = np.linspace(0, 6, 200)
    p = tail_of(draws, z)
    assert (np.diff(p) <= 0.02).all()
    exact = 1 - (1 - 0.5 * np.array([2.7e-3, 6.33e-5])) ** 50  # Φ(-3), Φ(-4)
    np.testing.assert_allclose(tail_of(draws, np.array([3.0, 4.0])), exact, rtol=0.35)


def test_windows_are_all_short_ones_and_at_most_a_quarter() -> None:
    first, last = windows(8)
    assert sorted(zip(first.tolist(), last.tolist(), strict=True)) == sorted(
        [(i, i) for i in range(8)] + [(i, i + 1) for i in range(7)]
    )
    first, last = windows(400)
    lengths = set((last - first + 1).tolist())
    assert set(range(1, 11)) <= lengths
    assert max(lengths) == 100
    assert last.max() == 399


def test_seasons_need_two_cycles_and_a_quarter_has_three_columns() -> None:
    assert season_columns(np.arange(23), 12.0).shape == (23, 0)
    assert season_columns(np.arange(24), 12.0).shape == (24, 4)
    assert season_columns(np.arange(12), 4.0).shape == (12, 3)
    assert season_columns(np.arange(12), 2.0).shape == (12, 1)
    assert season_columns(np.arange(99), None).shape == (99, 0)


def test_topics_that_are_empty_everywhere_or_alone_are_not_tested(null: BurstNull) -> None:
    counts = np.stack([np.zeros(T), np.full(T, DOCUMENTS)], axis=1)
    found = signals(cells_of(counts, np.full(T, DOCUMENTS)), 12.0, null, level=0.95)
    assert np.isnan(found.p_trend).all()
    assert np.isnan(found.p_burst).all()
    assert not found.called.any()


def test_changes_are_those_of_two_periods_by_hand() -> None:
    rng = np.random.default_rng(4)
    n = np.full(20, 400)
    counts = rng.binomial(n[:, None], 0.1, (20, 3))
    counts[12, 0], counts[:15, 1], counts[15, 1] = 90, 0, 30
    found = changes(cells_of(counts, n))
    assert found.before.tolist() == [-1, *range(19)]
    assert found.q[12, 0] < 0.01
    assert found.new[15, 1]
    assert found.p[15, 1] == pytest.approx((1 / 16) ** 30)
    assert not found.new[:, [0, 2]].any()
    assert np.nanmin(found.q[:, 2]) > 0.05
    gap = n.copy()
    gap[7] = 0
    assert changes(cells_of(np.where(gap[:, None] > 0, counts, 0), gap)).before[8] == 6


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of three themes over 36 months: the river rises, the court bursts in 2022-06, music falls."""
    folder, words = tmp_path_factory.mktemp("signals"), {
        "river": "river water bank boat fish stream", "court": "judge court jury law trial guilty",
        "music": "song band concert tour album stage",
    }  # fmt: skip
    rng = np.random.default_rng(3)
    rows: list[dict[str, str]] = []
    for month in range(36):
        noise = (month * 7) % 5 - 2
        court = 10 + noise + 25 * (month == 17)
        river = 6 + month + (month * 3) % 4
        for theme in ["court"] * court + ["river"] * river + ["music"] * (75 - court - river):
            text = " ".join(rng.choice(words[theme].split(), 12))
            date = f"{2021 + month // 12}-{month % 12 + 1:02}-03"
            rows.append({"id": f"d{len(rows)}", "text": f"<b>{text}", "date": date, "theme": theme})
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8", newline="\n")
    nk.fit_nmf(nk.read_corpus(folder / "docs.jsonl"), k=3, stop_words="none").save(folder / "nmf")
    return folder / "nmf"


def number_of(run: Path, word: str) -> int:
    return int(next(row["topic"] for row in nk.find_topics(run, word).table.to_pylist()))


@pytest.mark.parametrize("count", ["main", "mixed"])
def test_a_run_has_the_signals_that_were_planted(run: Path, count: Literal["main", "mixed"]) -> None:
    found = nk.topic_signals(run, over="date:month", count=count)
    rows = {row["topic"]: row for row in found.table.to_pylist()}
    river, court = rows[number_of(run, "boat")], rows[number_of(run, "jury")]
    assert river["signal"] == "strong signal"
    assert court["signal"] == "burst"
    assert (court["burst_first"], court["burst_last"]) == ("2022-06", "2022-06")
    assert found.facts["false_alarms"] <= 0.1
    assert found.facts["season_tested"]
    assert found.to_dict() == nk.topic_signals(run, over="date:month", count=count).to_dict()


def test_the_brief_quotes_the_burst(run: Path) -> None:
    found = nk.topic_brief(run, over="date:month", count="main")
    rows = [row for row in found.table.to_pylist() if row["topic"] == number_of(run, "jury")]
    burst = next(row for row in rows if row["what"] == "burst")
    assert (burst["period"], burst["before"], burst["until"]) == ("2022-06", "2022-05", "2022-06")
    assert len(burst["quotes"]) == 2
    assert all("court" in quote or "jury" in quote or "judge" in quote or "trial" in quote for quote in burst["quotes"])
    assert {row["what"] for row in rows} >= {"burst", "grew"}
    assert "2022-06" not in found.facts["quiet"]


def test_command_prints_writes_and_refuses(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_cli("topics", run, "--over", "date:month", "--signals", "--brief", "-o", "s.csv", "--save-brief", "b.md")
    assert "strong signal" in done.out
    assert "2022-06: 75 documents, compared with 2022-05" in done.out
    assert "permuted dates" in done.err
    assert pl.read_csv("s.csv")["signal"].to_list().count("burst") == 1
    brief = Path("b.md").read_text(encoding="utf-8")
    assert "#### 2022-06: 75 documents, compared with 2022-05" in brief
    assert "“&lt;b>" in brief
    value = run_cli("topics", run, "--over", "date:month", "--signals", "--brief", "--json").json()
    assert len(value["signals"]) == 3
    assert value["brief"]
    assert "exists" in run_cli("topics", run, "--over", "date:month", "--save-brief", "b.md", code=2).err


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({}, UsageError, "name them with `over`"),
        ({"over": "date:month", "by": ("theme",)}, UsageError, "leave `by` out"),
        ({"over": "date:month", "cycle": 30}, InputError, "needs 60 periods"),
        ({"over": "date:decade"}, InputError, "at least . periods"),
    ],
)
def test_bad_settings_are_refused(run: Path, settings: dict[str, Any], error: type[Exception], says: str) -> None:
    for function in (nk.topic_signals, nk.topic_brief):
        with pytest.raises(error, match=says):
            function(run, **settings)
