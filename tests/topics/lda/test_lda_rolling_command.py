"""nlpkit rolling-lda and its --update: a planted change is found, an update gives the bytes of one run, bad input."""

from __future__ import annotations

import json
import shutil
import signal
import time
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from nlpkit.platform.documents.chunks import default_memory
from nlpkit.platform.views.blocks import Block, Table
from nlpkit.platform.views.sparkline import sparkline
from nlpkit.topics.mixture_views import changes_blocks, chunks_block, columns_of, date_axis
from nlpkit.topics.rolling.options import ChangeOptions
from tests.command_line import contents, files, footer, manifest, nlpkit_process, read, run_cli, write_jsonl
from tests.few import few

COURTS = ["judge", "jury", "court", "trial", "lawyer", "verdict", "appeal", "prison", "witness", "guilty"]
RIVERS = ["river", "bridge", "water", "boat", "flood", "bank", "ferry", "stream", "lock", "weir"]
DROUGHT = ["drought", "desert", "cactus", "dust", "camel", "dune", "heat", "oasis", "sand", "sun"]
ROLL = ("--chunks", "month", "--init", "2 months", "--k", "2", "--sweeps", "20")
COLUMNS = ["id", "topic", "topic_prob", "nearest_topic", "margin", "chunk"]


def made(months: int = 8, per_month: int = 30, change_at: int | None = 5, seed: int = 0) -> list[dict[str, Any]]:
    """Documents about courts and rivers from January 2020 on; from a month on seven in ten words of rivers are of drought."""
    rng = np.random.default_rng(seed)
    rows = []
    for n in range(months * per_month):
        month, about_rivers = n // per_month, n % 2 == 1
        words = RIVERS if about_rivers else COURTS
        if about_rivers and change_at is not None and month >= change_at:
            words = [*DROUGHT, *rng.permutation(RIVERS)[:4]]
        day = f"{2020 + month // 12}-{month % 12 + 1:02d}-{1 + n % per_month * 28 // per_month:02d}"
        text = " ".join(rng.choice(words, 25))
        rows.append({"id": f"d{n:03d}", "date": day, "text": text, "n": n, "tags": [str(n % 3)], "about": words[0]})
    return rows


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_jsonl(tmp_path_factory.mktemp("rolling") / "corpus.jsonl", made())


@pytest.fixture(scope="module")
def run(corpus: Path) -> Path:
    target = corpus.parent / "run"
    run_cli("rolling-lda", corpus, *ROLL, "-q", "-o", target)
    return target


# ---------------------------------------------------------------- what is found and written


def test_a_planted_change_is_found(run: Path) -> None:
    topics = {row["topic"]: row for row in read(run / "topics.parquet").to_pylist()}
    courts = next(k for k, row in topics.items() if "judge" in row["top_terms"])
    rivers = 1 - courts
    documents = pl.read_parquet(run / "documents.parquet")
    found = dict(zip(documents["id"], documents["topic"], strict=True))
    assert found == {row["id"]: rivers if row["n"] % 2 else courts for row in made()}  # in later months too
    tests = read(run / "changes.parquet").to_pylist()
    changed = [row for row in tests if row["changed"]]
    assert [(row["topic"], row["start_date"], row["chunk"]) for row in changed] == [(rivers, date(2020, 6, 1), 4)]
    assert changed[0]["similarity"] < changed[0]["threshold"]
    assert changed[0]["span"] == 4
    assert set(changed[0]["words"]) <= {*RIVERS, *DROUGHT}
    assert len(set(changed[0]["words"]) & set(DROUGHT)) >= 5
    assert len(changed[0]["impacts"]) == len(changed[0]["words"])
    assert changed[0]["rose"] == [word in DROUGHT for word in changed[0]["words"]]
    assert changed[0]["impacts"] == sorted(changed[0]["impacts"])
    assert changed[0]["impacts"][-1] < 0
    assert [(row["chunk"], row["topic"]) for row in tests] == [(t, k) for t in range(1, 7) for k in range(2)]
    after = next(row for row in tests if (row["topic"], row["chunk"]) == (rivers, 5))
    assert after["span"] == 1  # the past begins anew
    assert after["words"] == []


def test_the_tables_of_a_rolling_run(run: Path) -> None:
    chunks = read(run / "chunks.parquet").to_pylist()
    assert [(c["chunk"], c["start_date"], c["end_date"]) for c in chunks[:2]] == [
        (0, date(2020, 1, 1), date(2020, 2, 29)),
        (1, date(2020, 3, 1), date(2020, 3, 31)),
    ]
    assert [c["n"] for c in chunks] == [60, 30, 30, 30, 30, 30, 30]
    assert [c["n_memory"] for c in chunks] == [None, 60, 90, 90, 90, 90, 90]
    assert [c["memory"] for c in chunks[1:3]] == [date(2019, 12, 1), date(2020, 1, 1)]
    assert [c["n_vocab"] for c in chunks] == [20, 20, 20, 20, 30, 30, 30]
    assert {c["n_tokens"] for c in chunks[1:]} == {30 * 25}
    shares = pl.read_parquet(run / "topic_shares.parquet")
    assert shares.columns == [
        "chunk", "start_date", "topic", "share", "mean_theta", "similarity_previous", "similarity_past",
    ]  # fmt: skip
    assert (shares.height, shares["start_date"].dtype) == (7 * 2, pl.Date)
    for name in ("share", "mean_theta"):
        sums = shares.group_by("chunk").agg(pl.col(name).sum())
        assert sums[name].to_list() == pytest.approx([1.0] * 7)
    assert shares.filter(pl.col("chunk") == 0)["similarity_previous"].to_list() == [None, None]
    vocab = read(run / "vocab.parquet").to_pylist()
    counts: dict[str, list[set[str]]] = {}
    for row in made():
        for word in row["text"].split():
            counts.setdefault(word, []).append({row["id"]})
    assert {row["term"]: (row["cf"], row["df"]) for row in vocab} == {
        word: (len(where), len(set().union(*where))) for word, where in counts.items()
    }
    documents = read(run / "documents.parquet")
    assert documents.column_names == [*COLUMNS, "date", "n", "tags", "about"]
    assert documents["n"].to_pylist() == list(range(240))
    assert documents["chunk"].to_pylist() == [max(0, n // 30 - 1) for n in range(240)]
    assert footer(run / "changes.parquet")["kind"] == "changes"
    config = json.loads((run / "model" / "config.json").read_text())
    assert config["rolling"] is True
    assert config["rolling_options"]["memory"] == "3 months"
    assert not any(name.endswith((".pkl", ".npz")) for name in files(run))


def test_topics_are_numbered_by_size_over_all_chunks(tmp_path: Path) -> None:
    rows = made(change_at=None)
    few = [row for row in rows if row["n"] % 2 or row["n"] % 3 == 0]
    run_cli("rolling-lda", write_jsonl(tmp_path / "x.jsonl", few), *ROLL, "-q", "-o", "run")
    topics = read("run/topics.parquet").to_pylist()
    assert [row["size"] for row in topics] == [120, 40]
    assert "river" in topics[0]["top_terms"]
    shares = pl.read_parquet("run/topic_shares.parquet").filter(pl.col("topic") == 0)
    assert shares["share"].to_list() == pytest.approx([0.75] * 7, abs=0.01)
    assert sorted(row["chain_topic"] for row in topics) == [0, 1]


def test_what_is_printed(corpus: Path) -> None:
    done = run_cli("rolling-lda", corpus, *ROLL, "-o", "run", env={"COLUMNS": "100"})
    assert max(map(len, done.out.splitlines())) <= 100
    assert "RollingLDA of 2 topics: first period 2020-01-01 to 2020-02-29 (60 documents), then 6 chunks of" in done.err
    assert "with a memory of 3 months; alpha 0.5 and eta 0.5 each, 20 sweeps a chunk over 6,000 tokens" in done.err
    assert "or: nlpkit rolling-lda NEWER.jsonl --update run -o longer/" in done.err
    lines = done.out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("Topics over time"))
    marks = [line for line in lines[at + 2 :] if set(line.strip()) == {"▲"}]
    plot = [line for line in lines[at + 3 :] if "█" in line]
    assert len(plot) == 2
    assert len(marks) == 1
    assert len(plot[0]) == len(plot[1])
    assert marks[0].index("▲") == len(plot[0]) - 3 * 4  # the fourth of six chunks, four characters each
    assert "2020-01" in lines[at + 2]
    at = lines.index("Changes: 1 in 12 tests")
    assert lines[at + 1].startswith("(significance level 0.01, 85% of the usual change expected, against ")
    assert any(line.startswith("2020-06-01") for line in lines)
    assert "since 2019-12-01" in done.out


def test_json_is_one_object(corpus: Path) -> None:
    value = run_cli("rolling-lda", corpus, *ROLL, "-q", "--json", "-o", "run").json()
    assert (value["run"], value["documents"], len(value["chunks"])) == ("run", 240, 7)
    assert value["chunks"][1]["start_date"] == "2020-03-01"
    assert [row["start_date"] for row in value["changes"]] == ["2020-06-01"]
    assert len(value["topics"]) == 2


def test_another_seed_another_chain(corpus: Path, run: Path) -> None:
    run_cli("rolling-lda", corpus, *ROLL, "-q", "-o", "again")
    assert contents("again") == contents(run)
    run_cli("rolling-lda", corpus, *ROLL, "-q", "--seed", "7", "-o", "run7")
    assert files(Path("run7"))["model/rolling_tokens.parquet"] != files(run)["model/rolling_tokens.parquet"]


def test_prediction_and_info_take_a_rolling_run(corpus: Path, run: Path) -> None:
    run_cli("predict", run, corpus, "-q", "-o", "p.parquet")
    predicted = pl.read_parquet("p.parquet")
    assert predicted["topic"].to_list() == pl.read_parquet(run / "documents.parquet")["topic"].to_list()
    assert "lda-gibbs" in run_cli("info", run).out  # the kind of the model


def test_discarded_documents_keep_their_row_without_a_topic(tmp_path: Path) -> None:
    rows = made()
    rows[70]["text"] = "something else entirely"
    rows[71]["text"] = ""
    rows[72]["text"] = "river"
    write_jsonl(tmp_path / "x.jsonl", rows)
    done = run_cli("rolling-lda", "x.jsonl", *ROLL, "--doc-abs", "1", "-o", "run")
    documents = read("run/documents.parquet").to_pylist()
    assert [documents[n]["topic"] for n in (70, 71, 72)] == [-1, -1, -1]
    assert [documents[n]["chunk"] for n in (70, 71, 72)] == [1, 1, 1]
    chunk = read("run/chunks.parquet").to_pylist()[1]
    assert (chunk["n"], chunk["n_discarded"]) == (27, 3)
    assert manifest(tmp_path / "run")["results"]["discarded"] == 3
    assert not Path("run/dropped.parquet").exists()
    assert "too few words" not in done.err
    write_jsonl(
        tmp_path / "x.jsonl",
        [{**row, "text": f"only here {i}x" if i > 199 else row["text"]} for i, row in enumerate(rows)],
    )
    done = run_cli("rolling-lda", "x.jsonl", *ROLL, "-o", "run2")
    assert "have too few frequent words and get no topic. A word must" in done.err
    assert "--vocab-abs" in done.err


def test_chunks_of_documents_and_weeks(corpus: Path) -> None:
    run_cli("rolling-lda", corpus, *ROLL[2:], "--chunks", "50 documents", "-q", "-o", "docs")
    chunks = read("docs/chunks.parquet").to_pylist()
    assert sum(c["n"] for c in chunks) == 240
    assert all(50 <= c["n"] < 53 for c in chunks[1:-1])  # whole days
    assert json.loads(Path("docs/model/config.json").read_text())["rolling_options"]["memory"] == "3 chunks"
    run_cli("rolling-lda", corpus, *ROLL[2:], "--chunks", "week", "--memory", "2 chunks", "-q", "-o", "weeks")
    chunks = read("weeks/chunks.parquet").to_pylist()
    assert all((c["end_date"] - c["start_date"]).days == 6 for c in chunks[1:])
    assert len(chunks) == 27
    run_cli("rolling-lda", corpus, *ROLL[2:], "--chunks", "10 days", "-q", "-o", "days")
    assert read("days/chunks.parquet").num_rows == 20


def test_one_topic_and_more_topics_than_words(corpus: Path, tmp_path: Path) -> None:
    run_cli("rolling-lda", corpus, *ROLL[:4], "--k", "1", "--sweeps", "3", "-q", "-o", "one")
    assert set(pl.read_parquet("one/topic_shares.parquet")["share"]) == {1.0}
    tiny = write_jsonl(tmp_path / "tiny.jsonl", [{**row, "text": "a river"} for row in made(3, 3)])
    run_cli("rolling-lda", tiny, *ROLL[:4], "--k", "40", "--sweeps", "2", "--vocab-abs", "0", "-q", "-o", "many")
    assert read("many/topics.parquet").num_rows == 40
    assert pl.read_parquet("many/documents.parquet")["topic"].min() >= 0  # type: ignore[operator]


def test_prototype_in_the_first_period(corpus: Path) -> None:
    done = run_cli("rolling-lda", corpus, *ROLL, "--prototype", "3", "-o", "run")
    assert "How much do the chains agree?" in done.out
    assert read("run/prototype.parquet").num_rows == 3
    assert read("run/topics.parquet").schema.field("agreement").type == pa.float32()
    changed = pl.read_parquet("run/changes.parquet").filter(pl.col("changed"))
    assert changed["chunk"].to_list() == [4]


# ---------------------------------------------------------------- updates


def split(rows: list[dict[str, Any]], cut: int, folder: Path) -> tuple[Path, Path]:
    return write_jsonl(folder / "old.jsonl", rows[:cut]), write_jsonl(folder / "new.jsonl", rows[cut:])


@pytest.mark.parametrize("cut", few([130, 150, 151, 239], 2))
def test_an_update_gives_the_bytes_of_one_run(cut: int, tmp_path: Path) -> None:
    rows = made()
    rows[3]["date"], rows[-1]["date"] = None, "soon"  # dropped in both
    rows[140]["text"] = None
    old, new = split(rows, cut, tmp_path)
    extra = ("--save-assignments", "-q")
    run_cli("rolling-lda", old, *ROLL, *extra, "--threads", "1", "-o", "run")
    if cut == 239:
        says = run_cli("rolling-lda", new, "--update", "run", "-o", "longer", code=3).error()
        assert "no date can be read in column 'date' of the 1 document of" in says
        assert "date 'soon' cannot be read" in says
        return
    run_cli("rolling-lda", new, "--update", "run", *extra, "--threads", "2", "-o", "longer")
    run_cli("rolling-lda", old, new, *ROLL, *extra, "-o", "one")
    assert contents("longer") == contents("one")
    longer, one = manifest(tmp_path / "longer"), manifest(tmp_path / "one")
    for name in ("parameters", "results", "inputs", "seed", "outputs"):
        assert longer[name] == one[name]
    dropped = read("longer/dropped.parquet").to_pylist()
    assert {row["id"] for row in dropped} == {"d003", "d140", "d239"}
    # what was there before the last chunk is as it was
    before = pl.read_parquet("run/chunks.parquet")
    assert pl.read_parquet("longer/chunks.parquet").head(len(before) - 1).equals(before.head(len(before) - 1))


def test_many_updates_one_after_the_other(tmp_path: Path) -> None:
    rows = made(months=6)
    parts = [
        write_jsonl(tmp_path / f"{i}.jsonl", rows[a:b]) for i, (a, b) in enumerate([(0, 100), (100, 101), (101, 180)])
    ]
    run_cli("rolling-lda", parts[0], *ROLL, "-q", "-o", "run")
    for i, part in enumerate(parts[1:]):
        before = f"run{i or ''}"
        says = run_cli("rolling-lda", part, "--update", before, "-q", "--force", "-o", before, code=2).error()
        assert "input" in says
        run_cli("rolling-lda", part, "--update", before, "-q", "-o", f"run{i + 1}")
    run_cli("rolling-lda", *parts, *ROLL, "-q", "-o", "one")
    assert contents("run2") == contents("one")


def changing_places(folder: Path) -> tuple[Path, Path]:
    """Old documents of which more are about courts, and new ones that make rivers the larger topic."""
    rows = made(months=5, change_at=None)
    old = [row for row in rows[:120] if row["n"] % 2 == 0 or row["n"] % 3 == 0]
    late = [row for row in rows[120:] if row["n"] % 2]
    new = [{**row, "id": f"{row['id']}-{i}"} for i in range(4) for row in late]
    return write_jsonl(folder / "old.jsonl", old), write_jsonl(folder / "new.jsonl", new)


@pytest.mark.parametrize(
    "how",
    [
        ("--chunks", "20 documents"),
        ("--chunks", "month", "--prototype", "3", "--k", "6"),
        ("--chunks", "2 weeks", "--seed", "9", "--alpha", "0.3", "--memory", "40 days", "--change-mixture", "0.5"),
    ],
)
def test_updates_of_other_rolling_runs(how: tuple[str, ...], tmp_path: Path) -> None:
    old, new = changing_places(tmp_path)
    options = (*ROLL[2:], *how, "-q")
    run_cli("rolling-lda", old, *options, "-o", "run")
    run_cli("rolling-lda", new, "--update", "run", "-q", "-o", "longer")
    run_cli("rolling-lda", old, new, *options, "-o", "one")
    assert contents("longer") == contents("one")
    assert manifest(tmp_path / "longer")["results"] == manifest(tmp_path / "one")["results"]


def test_updates_with_tokens_made_before(tmp_path: Path) -> None:
    for path in split(made(months=6), 130, tmp_path):
        run_cli("preprocess", path, "--min-df", "1", "-q", "-o", path.with_suffix(".parquet"))
    run_cli("rolling-lda", "old.parquet", *ROLL, "-q", "-o", "run")
    run_cli("rolling-lda", "new.parquet", "--update", "run", "-q", "-o", "longer")
    run_cli("rolling-lda", "old.parquet", "new.parquet", *ROLL, "-q", "-o", "one")
    assert contents("longer") == contents("one")
    assert len(footer("longer/topics.parquet")["steps"]) == 2
    # raw texts are cut as those of the run were
    run_cli("rolling-lda", "new.jsonl", "--update", "run", "-q", "-o", "raw")
    assert read("raw/model/rolling_tokens.parquet").equals(read("one/model/rolling_tokens.parquet"))
    run_cli("rolling-lda", "old.jsonl", *ROLL, "-q", "-o", "run2")
    run_cli("rolling-lda", "new.parquet", "--update", "run2", "-q", "-o", "x")
    run_cli("rolling-lda", "new.jsonl", "--update", "run2", "-q", "-o", "y")
    assert read("x/model/rolling_tokens.parquet").equals(read("y/model/rolling_tokens.parquet"))
    run_cli(
        "preprocess", "new.jsonl", "--max-vocab", "20", "-q", "-f", "-o", "new.parquet"
    )  # words that the run has are missing
    done = run_cli("rolling-lda", "new.parquet", "--update", "run2", "-f", "-o", "x")
    assert "left out by --max-vocab" in done.err
    assert read("x/model/rolling_tokens.parquet").equals(read("y/model/rolling_tokens.parquet"))


def test_new_texts_are_cut_as_those_of_the_run(tmp_path: Path) -> None:
    """In the language found then, even where the new ones are too few or too strange to tell it."""
    rows = made(months=4)
    for row in rows[:90]:
        row["text"] = f"Der {row['text']} und das"
    for row in rows[90:]:
        row["text"] += " the und"
    old, new = split(rows, 90, tmp_path)
    run_cli("rolling-lda", old, *ROLL, "--language", "de", "-q", "-o", "run")
    run_cli("rolling-lda", new, "--update", "run", "-q", "-o", "longer")
    terms = set(read("longer/vocab.parquet")["term"].to_pylist())
    assert "the" in terms
    assert not {"und", "das", "der"} & terms
    codes = [
        {**row, "text": " ".join(f"x{len(word)}{word[0]}" for word in row["text"].split())} for row in made(months=4)
    ]
    old, new = split(codes, 90, tmp_path)
    run_cli("rolling-lda", old, *ROLL, "-q", "-o", "run2")  # no language is recognised
    run_cli("rolling-lda", new, "--update", "run2", "-q", "-o", "longer2")
    run_cli("rolling-lda", old, new, *ROLL, "-q", "-o", "one2")
    assert read("longer2/model/rolling_tokens.parquet").equals(read("one2/model/rolling_tokens.parquet"))


def test_topics_that_change_places_are_named(tmp_path: Path) -> None:
    changing_places(tmp_path)
    run_cli("rolling-lda", "old.jsonl", *ROLL, "-q", "-o", "run")
    done = run_cli("rolling-lda", "new.jsonl", "--update", "run", "-o", "longer")
    assert "run: 80 documents in 3 chunks up to 2020-04-30; 60 documents of 2020-05-01 to 2020-05-" in done.err
    assert "topics are numbered by size, so some have another number than in run: 0 → 1, 1 → 0" in done.err
    before, after = read("run/topics.parquet").to_pylist(), read("longer/topics.parquet").to_pylist()
    assert "judge" in before[0]["top_terms"]
    assert "river" in after[0]["top_terms"]
    assert [row["chain_topic"] for row in after] == [row["chain_topic"] for row in reversed(before)]
    assert [row["size"] for row in before] == [60, 20]
    assert [row["size"] for row in after] == [80, 60]


def test_names_that_somebody_gave_stay_where_topics_change_places(tmp_path: Path) -> None:
    first, second = changing_places(tmp_path)
    run_cli("rolling-lda", first, *ROLL, "-q", "-o", "old")
    Path("names.csv").write_text("topic,name\n0,The large one\n")
    run_cli("name", "old", "--names", "names.csv", "-q", "-o", "named")
    for name in ("old", "named"):
        run_cli("rolling-lda", second, "--update", name, "-q", "-o", f"{name}-longer")
    plain, longer = (read(f"{name}-longer/topics.parquet").to_pylist() for name in ("old", "named"))
    chain = read("old/topics.parquet")["chain_topic"].to_pylist()
    assert [t["label"] for t in longer] == [
        "The large one" if t["chain_topic"] == chain[0] else t["label"] for t in plain
    ]
    assert longer[1]["label"] == "The large one"
    changed = {n for n, content in contents("named-longer").items() if content != contents("old-longer")[n]}
    assert changed == {"topics.parquet", "model/config.json"}
    Path("merge.toml").write_text("merge = [[0, 1]]")
    error = run_cli("edit", "named", "merge.toml", "-o", "new", code=3).err
    assert "topics of a rolling model continue with every update; they can be renamed, but not changed" in error


def test_texts_of_the_old_run_are_shown_without_reading_it_again(tmp_path: Path) -> None:
    rows = made(months=6, change_at=None)
    for row in rows[:100]:
        row["text"] = f"{row['text']} {row['text']} {row['text']}"
    for row in rows[100:]:
        row["text"] = " ".join(row["text"].split()[:3])  # short ones are less typical
    old, new = split(rows, 100, tmp_path)
    run_cli("rolling-lda", old, *ROLL, "-q", "-o", "run")
    old.unlink()
    run_cli("rolling-lda", new, "--update", "run", "-q", "-o", "longer")
    texts = {row["id"]: row["text"][:300] for row in rows}
    for row in read("longer/topics.parquet").to_pylist():
        assert row["representative_texts"] == [texts[i] for i in row["representative_ids"]]
        assert all(int(i[1:]) < 100 for i in row["representative_ids"])


def test_columns_of_new_documents(tmp_path: Path) -> None:
    rows = made(months=4)
    old, new = split(rows, 90, tmp_path)
    run_cli("rolling-lda", old, *ROLL, "-q", "-o", "run")
    write_jsonl(
        new, [{**{k: v for k, v in row.items() if k != "about"}, "more": 1.5, "n": row["n"] + 0.5} for row in rows[90:]]
    )
    run_cli("rolling-lda", new, "--update", "run", "-q", "-o", "longer")
    documents = read("longer/documents.parquet")
    assert documents.column_names == [*COLUMNS, "date", "n", "tags", "about", "more"]
    assert documents["n"].to_pylist()[88:92] == [88.0, 89.0, 90.5, 91.5]
    assert (documents["about"].null_count, documents["more"].null_count) == (30, 90)
    assert documents["tags"].to_pylist() == [row["tags"] for row in rows]
    write_jsonl(new, [{**row, "n": f"number {row['n']}"} for row in rows[90:]])
    says = run_cli("rolling-lda", new, "--update", "run", "-o", "x", code=3).error()
    assert "in the new documents; use --types " in says


@pytest.fixture
def own(run: Path, tmp_path: Path) -> Path:
    """A copy of the run, for tests that damage it."""
    return Path(shutil.copytree(run, tmp_path / "own"))


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    rows = [{**row, "id": f"new-{row['id']}", "date": f"2020-09-{1 + row['n'] % 28:02d}"} for row in made(months=1)]
    return write_jsonl(tmp_path / "newer.jsonl", rows)


def test_the_same_options_may_be_given_again(run: Path, newer: Path) -> None:
    run_cli("rolling-lda", newer, "--update", run, *ROLL, "--seed", "42", "--memory", "3 months", "-q", "-o", "longer")
    assert read("longer/chunks.parquet").num_rows == 8
    run_cli("rolling-lda", newer, "--update", run, "--dry-run", "-o", "dry")
    assert not Path("dry").exists()


def test_runs_that_cannot_be_updated(corpus: Path, own: Path, newer: Path, tmp_path: Path) -> None:
    def says(path: Path | str, file: Path = newer) -> str:
        return run_cli("rolling-lda", file, "--update", path, "--no-verify", "-o", "longer", code=3).error()

    run_cli("lda-gibbs", corpus, "--k", "2", "--sweeps", "2", "-q", "-o", "plain")
    assert "plain was fitted to all documents at once, so none can be added; fit a rolling run with" in says("plain")
    early = write_jsonl(tmp_path / "early.jsonl", [{"id": "a", "date": "2020-07-31", "text": "river water"}])
    assert "of the new documents are dated before" in says(own, early)
    again = write_jsonl(tmp_path / "again.jsonl", [{"id": "d007", "date": "2020-09-01", "text": "river water"}])
    assert "of the new documents are already in the model" in says(own, again)
    config = own / "model" / "config.json"
    kept = config.read_text()
    config.write_text(kept.replace('"n_topics": 2', '"n_topicks": 2'))
    assert "is damaged" in says(own)
    config.write_text(kept)
    tokens = own / "model" / "rolling_tokens.parquet"
    shutil.copy(own / "model" / "rolling_last.parquet", tokens)
    assert "rolling_tokens" in says(own)
    tokens.unlink()
    assert "has no model/rolling_tokens.parquet; it is incomplete, make it again" in says(own)


def test_tables_that_do_not_fit_together(own: Path, newer: Path) -> None:
    import pyarrow.parquet as pq

    path = own / "model" / "rolling_tokens.parquet"
    table = pq.ParquetFile(path).read()
    pq.write_table(table.slice(1), path)
    says = run_cli("rolling-lda", newer, "--update", own, "-o", "longer", "--no-verify", code=3).error()
    assert "is damaged: the parts of its model do not fit" in says


# ---------------------------------------------------------------- dates and periods that cannot be used


def test_documents_without_a_date_are_listed(tmp_path: Path) -> None:
    rows = made()
    rows[5]["date"], rows[6]["date"], rows[7]["date"], rows[8]["date"] = None, "", "05/04/2020", "2020-02-30"
    rows[9]["text"] = None
    done = run_cli("rolling-lda", write_jsonl(tmp_path / "x.jsonl", rows), *ROLL, "-o", "run")
    assert "warning: 5 rows could not be used, such as d009: text is null\n" in done.err
    assert "dropped rows are listed in run/dropped.parquet\n" in done.err
    assert read("run/dropped.parquet").to_pylist() == [
        {"id": "d009", "stage": "read", "reason": "text is null"},
        {"id": "d005", "stage": "date", "reason": "date is missing"},
        {"id": "d006", "stage": "date", "reason": "date is missing"},
        {
            "id": "d007",
            "stage": "date",
            "reason": "date '05/04/2020' may begin with the day or with the month; write it as 2008-07-03, or give date_format",
        },
        {
            "id": "d008",
            "stage": "date",
            "reason": "date '2020-02-30' cannot be read; write it as 2008-07-03, or give date_format",
        },
    ]
    documents = read("run/documents.parquet")
    assert documents["id"].to_pylist() == [row["id"] for row in rows if row["n"] not in range(5, 10)]
    texts = {row["id"]: row["text"] for row in rows}
    for row in read("run/topics.parquet").to_pylist():  # rows of texts are counted without the dropped ones
        assert row["representative_texts"] == [texts[i] for i in row["representative_ids"]]


def test_no_document_has_a_date(tmp_path: Path) -> None:
    def says(value: Any) -> str:
        write_jsonl(tmp_path / "x.jsonl", [{**row, "date": value} for row in made(months=2)])
        return run_cli("rolling-lda", "x.jsonl", *ROLL, "-o", "run", code=3).error()

    assert "no date can be read in column 'date' of the 60 documents of x.jsonl (all are missing)" in says(None)
    assert "(the first: date 'May' cannot be read; write it as 2008-07-03, or give --date-format); name" in says("May")
    assert "column 'date' holds list<" in says(["2020"])
    assert not Path("run").exists()


def test_the_column_of_dates_is_not_there(tmp_path: Path) -> None:
    rows = [{("day" if k == "date" else k): v for k, v in row.items()} for row in made()]
    write_jsonl(tmp_path / "x.jsonl", rows)
    says = run_cli("rolling-lda", "x.jsonl", *ROLL, "-o", "run", code=3).error()
    assert "x.jsonl has no column 'date' (found: id, text, day, n, tags, about)" in says
    assert "--date-col" in says
    run_cli("rolling-lda", "x.jsonl", *ROLL, "--date-col", "day", "-q", "-o", "run")
    assert "date" in read("run/documents.parquet").column_names


def test_one_date_only(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", [{**row, "date": "2020-05-05"} for row in made(months=2)])
    for init in ([], ["--init", "2020-05-05"]):
        says = run_cli("rolling-lda", "x.jsonl", "--chunks", "month", "--k", "2", *init, "-o", "run", code=3).error()
        assert "all 60 documents are dated 2020-05-05; a rolling model needs documents before and after" in says


def test_chunks_without_documents(tmp_path: Path) -> None:
    rows = [row for row in made() if row["n"] // 30 not in (3, 4)]  # nobody wrote in April and May
    write_jsonl(tmp_path / "x.jsonl", rows)
    done = run_cli("rolling-lda", "x.jsonl", *ROLL, "-o", "run")
    chunks = read("run/chunks.parquet").to_pylist()
    assert [c["n"] for c in chunks] == [60, 30, 0, 0, 30, 30, 30]
    assert chunks[2]["first_date"] is chunks[2]["memory"] is chunks[2]["n_memory"] is None
    shares = pl.read_parquet("run/topic_shares.parquet")
    assert shares.filter(pl.col("chunk").is_in([2, 3]))["share"].null_count() == 4
    assert set(pl.read_parquet("run/changes.parquet")["chunk"]) == {1, 4, 5, 6}
    assert "········" in done.out
    # a memory that does not reach back over them
    says = run_cli("rolling-lda", "x.jsonl", *ROLL, "--memory", "1 month", "-o", "run2", code=3).error()
    assert "chunk 4 (2020-06-01 to 2020-06-30) has no memory" in says
    assert "--memory-fallback N" in says
    run_cli("rolling-lda", "x.jsonl", *ROLL, "--memory", "1 month", "--memory-fallback", "20", "-q", "-o", "run2")
    assert read("run2/chunks.parquet").to_pylist()[4]["n_memory"] >= 20


@pytest.mark.parametrize(
    ("init", "code", "says"),
    [
        ("soon", 2, "--init 'soon' is not a length of time; give 2008-06-30, '12 months' or 500"),
        ("2020-13-01", 2, "--init '2020-13-01' is not a day of the calendar"),
        ("0", 2, "--init '0' is not a length of time"),
        (
            "2019-12-31",
            3,
            "the initial period ends on 2019-12-31, before the first document (2020-01-01); give an --init from",
        ),
        ("2020-08-28", 3, "on or after the last document"),
        ("2 years", 3, "on or after the last document"),
        ("5000", 3, "on or after the last document"),
    ],
)
def test_first_periods_that_cannot_be_meant(init: str, code: int, says: str, corpus: Path) -> None:
    words = ("rolling-lda", corpus, "--chunks", "month", "--k", "2", "--init", init, "-o", "run")
    assert says in run_cli(*words, code=code).error()


def test_the_default_first_period(corpus: Path, tmp_path: Path) -> None:
    says = run_cli("rolling-lda", corpus, "--chunks", "month", "--k", "2", "-o", "run", code=2).error()
    assert "the documents are dated 2020-01-01 to 2020-08-28, and a first period of 12 months, the default" in says
    init = says.split("--init ")[1].split()[0]
    run_cli("rolling-lda", corpus, "--chunks", "month", "--k", "2", "--init", init, "--sweeps", "2", "-q", "-o", "run")
    write_jsonl(tmp_path / "long.jsonl", made(months=14, per_month=10))
    done = run_cli("rolling-lda", "long.jsonl", "--chunks", "month", "--k", "2", "--sweeps", "2", "-o", "long")
    assert "first period 2020-01-01 to 2020-12-31 (120 documents)" in done.err


def test_no_words_in_the_first_period(corpus: Path) -> None:
    says = run_cli("rolling-lda", corpus, *ROLL, "--vocab-abs", "100000", "-o", "run", code=3).error()
    assert "no word occurs more than 100000 times in the 60 documents of the initial period" in says
    assert "give a later --init, or a lower --vocab-abs" in says
    done = run_cli("rolling-lda", corpus, *ROLL[:2], "--init", "2020-01-03", *ROLL[4:], "-o", "run")
    assert "warning: the first period has only " in done.err


def test_ctrl_c_in_the_middle_of_chunks(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", made())
    words = ["rolling-lda", "x.jsonl", *ROLL[:6], "--sweeps", "1000000", "-o", "run"]
    with nlpkit_process(words, tmp_path) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(b"RollingLDA"):
                break
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(timeout=120) == 130
    assert b"error: interrupted; nothing was written" in rest
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl"]


# ---------------------------------------------------------------- the pictures


def test_bars() -> None:
    values = np.array([0.0, 0.01, 0.124, 0.125, 0.5, 0.875, 1.0, np.nan])
    assert sparkline(values) == "▁▁▁▂▅██·"
    assert sparkline(values / 3) == "▁▁▁▂▅██·"  # against the largest of its own
    assert sparkline(np.array([0.2, 0.1]), 3) == "███▅▅▅"
    assert sparkline(np.array([0.0, np.nan])) == "▁·"
    assert sparkline(np.array([np.nan])) == "·"


def test_dates_stand_above_the_columns_that_begin_in_them() -> None:
    months = [date(2020 + m // 12, m % 12 + 1, 1) for m in range(60)]
    years = date_axis(months)
    assert years == "2020        2021        2022        2023        2024"
    assert date_axis(months[:14], 4).startswith("2020-01 2020-03 2020-05")
    assert date_axis(months[:6]) == "2020-01"
    assert (
        date_axis([date(1996, 1, 1), *(date(1997, m, 1) for m in (1, 2, 3, 4, 5, 6)), date(2001, 1, 1)])
        == "1996   2001"
    )
    weeks = [date.fromordinal(date(2020, 1, 1).toordinal() + 7 * w) for w in range(20)]
    assert date_axis(weeks) == "2020-01  2020-03  2020-05"  # February has no room


def test_many_chunks_are_joined() -> None:
    share = np.array([[0.9], [0.1], [0.3], [np.nan], [0.5], [np.nan], [np.nan]])
    changed = np.array([[False], [False], [True], [False], [False], [False], [False]])
    tokens = np.array([100, 10, 30, 0, 50, 0, 0])
    joined = columns_of(share, changed, tokens, width=4)
    assert (joined.per_column, joined.first) == (2, [0, 1, 3, 5])
    assert joined.share[:3, 0] == pytest.approx([0.9, (1 + 9) / 40, 0.5])
    assert np.isnan(joined.share[3, 0])
    assert joined.changed[:, 0].tolist() == [False, True, False, False]
    same = columns_of(share, changed, tokens, width=7)
    assert (same.per_column, same.first) == (1, list(range(7)))


def changes_of(tests: list[dict[str, Any]], **options: Any) -> list[Block]:
    return list(changes_blocks(tests, ["rivers"], ChangeOptions(**options)))


def test_long_tables_are_shortened() -> None:
    chunk = {"start_date": date(2020, 1, 1), "end_date": date(2020, 1, 2), "n": 1, "n_discarded": 0, "n_memory": None}
    chunk |= {"memory": None, "n_vocab": 5, "n_tokens": 7}
    assert len(chunks_block([{"chunk": i, **chunk} for i in range(31)]).rows) == 31
    shortened = chunks_block([{"chunk": i, **chunk} for i in range(100)])
    assert "70 in the middle are left out" in shortened.title
    assert [row[0] for row in shortened.rows] == [*map(str, range(15)), "…", *map(str, range(85, 100))]
    test = {"topic": 0, "start_date": date(2020, 1, 1), "similarity": 0.1, "threshold": 0.2, "changed": True}
    words = {"words": ["river"] * 9, "rose": [True, False] * 4 + [True]}
    table, more = changes_of([{"chunk": i, **test, **words} for i in range(33)])
    assert isinstance(table, Table)
    assert "Changes: 33 in 33 tests" in table.title
    assert "3 later ones are in changes.parquet" in str(more)
    assert table.rows[0][-1] == "+river −river +river −river +river −river"
    (none,) = changes_of([{**test, "chunk": 1, "changed": False, "words": [], "rose": []}])
    assert "No topic changed in any chunk (1 test; significance level 0.01" in str(none)


@pytest.mark.parametrize(
    ("chunks", "memory"),
    [
        ("month", "3 months"),
        ("2 months", "6 months"),
        ("quarter", "3 quarters"),
        ("year", "3 years"),
        ("week", "3 months"),
        ("4 weeks", "3 months"),
        ("5 weeks", "105 days"),
        ("10 days", "3 months"),
        ("60 days", "180 days"),
        ("500 documents", "3 chunks"),
        ("500", "3 chunks"),
    ],
)
def test_default_memory(chunks: str, memory: str) -> None:
    assert default_memory(chunks) == memory


def test_one_chunk_before_is_singular() -> None:
    assert "against the chunk before)" in str(changes_of([], change_span=1))
    assert "against the 4 chunks before at most)" in str(changes_of([], change_span=4))


def test_as_many_topics_over_time_as_are_asked_for(tmp_path: Path) -> None:
    corpus = tmp_path / "dated.jsonl"
    themes = ("river water boat fish", "court judge jury law", "song band stage tour", "planet orbit moon star")
    rows = [{"text": themes[n % 4], "date": f"2024-{n % 3 + 1:02}-01"} for n in range(60)]
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    line = (
        "rolling-lda", corpus, "--k", "4", "--sweeps", "5", "--init", "2024-01-31", "--vocab-abs", "0", "-o", "r",
        "-f",
    )  # fmt: skip
    assert "largest 2 of 4 topics; all of them: --show all, or" in run_cli(*line, "--show", "2").out
    assert "topic_shares.parquet" not in run_cli(*line).out
