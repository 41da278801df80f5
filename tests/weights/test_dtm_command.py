"""nlpkit dtm: topics whose words drift, the tables over time, new documents by date, and every command that reads the run."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.errors import InputError
from nlpkit.platform.documents.options import ReadOptions
from tests.command_line import read, run_cli, write_jsonl

OLD, NEW, OTHER = (
    ["mast", "sail", "rope", "deck"],
    ["engine", "diesel", "screw", "funnel"],
    ["court", "judge", "jury", "verdict"],
)


def rows(n: int = 160, seed: int = 0) -> list[dict[str, str]]:
    """Texts on ships, of sails in 2000 and of engines in 2003, and on courts."""
    rng = random.Random(seed)
    texts = []
    for d in range(n):
        year = 2000 + d % 4
        ships = [*(["ship", "harbour"] * 3), *rng.choices(OLD, k=3 * (3 - d % 4)), *rng.choices(NEW, k=3 * (d % 4))]
        words = ships if d // 4 % 2 else rng.choices(OTHER, k=12)
        texts.append(
            {
                "id": f"d{d}",
                "text": " ".join(words),
                "label": "ships" if d // 4 % 2 else "law",
                "when": f"{year}-05-0{d % 9 + 1}",
            }
        )
    return texts


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dated") / "ships.jsonl"
    write_jsonl(path, rows())
    return path


FIT = ("--date-col", "when", "--k", "2", "--chain-variance", "0.5", "--min-df", "1", "--stop-words", "none")


@pytest.fixture(scope="module")
def run(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dtm") / "dtm"
    done = run_cli("dtm", corpus, *FIT, "-o", target)
    assert "4 periods from 2000-01-01 to 2003-12-31, of 40 documents" in done.err
    assert "first, middle and last period" in done.out
    return target


def test_the_words_of_a_topic_drift(run: Path) -> None:
    documents = {row["id"]: row for row in read(run / "documents.parquet").to_pylist()}
    assert [documents[f"d{d}"]["period"] for d in range(4)] == [0, 1, 2, 3]
    ships = documents["d4"]["topic"]
    assert all((row["topic"] == ships) == (row["label"] == "ships") for row in documents.values())
    terms = read(run / "topic_terms_over_time.parquet").to_pylist()
    heavy = {
        t: {row["term"] for row in terms if row["period"] == t and row["topic"] == ships and row["weight"] > 0.05}
        for t in (0, 3)
    }
    assert heavy[0] == {"ship", "harbour", *OLD}
    assert heavy[3] == {"ship", "harbour", *NEW}
    changes = [row for row in read(run / "topic_changes.parquet").to_pylist() if row["topic"] == ships]
    assert {row["term"] for row in changes if row["change"] == "rose" and row["rank"] <= 4} == set(NEW)
    assert {row["term"] for row in changes if row["change"] == "fell" and row["rank"] <= 4} == set(OLD)
    assert all((row["last"] > row["first"]) == (row["change"] == "rose") for row in changes)
    periods = read(run / "periods.parquet").to_pylist()
    assert [row["n"] for row in periods] == [40] * 4
    assert (
        sum(row["n_tokens"] for row in periods) == json.loads((run / "manifest.json").read_text())["results"]["tokens"]
    )


def test_new_documents_by_their_date(run: Path, tmp_path: Path) -> None:
    texts = {"mast sail": "1990-01-01", "mast rope": "2000-02-02", "diesel screw": "2030-01-01", "judge jury": ""}
    write_jsonl(tmp_path / "new.jsonl", [{"text": text, "when": date} for text, date in texts.items()])
    done = run_cli("predict", run, "new.jsonl", "--date-col", "when", "-o", "p.parquet")
    ships = read(run / "documents.parquet").to_pylist()[4]["topic"]
    assert [row["topic"] for row in read("p.parquet").to_pylist()] == [ships] * 3 + [1 - ships]
    assert "of before 2000-01-01 or after 2003-12-31" in done.err
    assert "documents without a date" in done.err
    write_jsonl(tmp_path / "undated.jsonl", [{"text": "judge jury"}])
    assert "no column of dates" in run_cli("predict", run, "undated.jsonl", "-o", "u.parquet").err


def test_perplexity_is_that_of_the_words_of_the_date(run: Path, tmp_path: Path) -> None:
    perplexity = {}
    for name, shift in (("right", 0), ("wrong", 3)):
        held = [
            {**row, "id": f"n{row['id']}", "when": f"{2000 + (int(row['when'][:4]) - 2000 + shift) % 4}-01-01"}
            for row in rows(seed=7)
        ]
        write_jsonl(tmp_path / f"{name}.jsonl", held)
        done = run_cli(
            "evaluate", run, "--heldout", f"{name}.jsonl", "--date-col", "when", "--metrics", "perplexity", "--json"
        )
        perplexity[name] = json.loads(done.out)["targets"][0]["metrics"]["perplexity"]["value"]
    assert 1 < 1.2 * perplexity["right"] < perplexity["wrong"]
    refused = run_cli(
        "evaluate", run, "--heldout", "right.jsonl", "--method", "left-to-right", "--metrics", "perplexity", code=2
    )
    assert "left-to-right" in refused.error()


def test_every_command_reads_the_run(run: Path, corpus: Path) -> None:
    lines = """info RUN|topics RUN --by label --words 3|topics RUN --over period|diff RUN RUN|plot RUN topics -o t.svg
report RUN -o r.html|export RUN -o t.xlsx|convert RUN -o t.csv"""
    for line in lines.replace("\n", "|").split("|"):
        run_cli(*(run if word == "RUN" else word for word in line.split()))
    assert "Dynamic topic models. Proceedings of ICML" in Path("r.html").read_text(encoding="utf-8")
    loaded = nk.load(run)
    fit = nk.fit_dtm(
        nk.read_corpus(corpus, options=ReadOptions(date_col="when")), k=2, chain_variance=0.5, min_df=1, stop_words="none"
    )  # fmt: skip
    np.testing.assert_array_equal(loaded.phi, fit.phi)
    for t in (0, 3):
        np.testing.assert_array_equal(loaded.phi_of(t), fit.phi_of(t))
    assert loaded.summary == fit.summary


def test_the_same_bytes_on_any_number_of_threads(corpus: Path) -> None:
    for target, n in (("a", 1), ("b", 3)):
        run_cli("dtm", corpus, *FIT, "--every", "100 documents", "--threads", n, "-q", "-o", target)
    for name in ("topics", "documents", "topic_terms_over_time", "topic_changes", "model/paths"):
        assert Path(f"a/{name}.parquet").read_bytes() == Path(f"b/{name}.parquet").read_bytes()


def test_the_number_of_topics_is_chosen(corpus: Path) -> None:
    done = run_cli("dtm", corpus, "--date-col", "when", "--k", "2:4:2", "--iterations", "2", "-o", "k")
    assert "How many topics? 3 fits each" in done.out
    summary = json.loads(run_cli("dtm", corpus, *FIT, "--iterations", "2", "-o", "j", "--json").out)
    assert [row["n"] for row in summary["periods"]] == [40] * 4
    assert summary["changes"][0]["change"] == "rose"


def test_bad_input(tmp_path: Path) -> None:
    texts = rows()
    write_jsonl(tmp_path / "a.jsonl", texts)
    assert "has no column 'date'" in run_cli("dtm", "a.jsonl", "--k", "2", "-o", "x", code=3).error()
    write_jsonl(tmp_path / "empty.jsonl", [])
    for command in ("dtm", "rolling-lda"):
        assert (
            run_cli(command, "empty.jsonl", "--k", "2", "-o", "x", code=3).error().endswith("empty.jsonl has no rows")
        )
    one = run_cli("dtm", "a.jsonl", "--date-col", "when", "--every", "10 years", "--k", "2", "-o", "x", code=3).error()
    assert "all documents with a date lie in one period of 10 years" in one
    write_jsonl(tmp_path / "day.jsonl", [{"text": "mast sail", "date": "2024-02-03"}] * 4)
    planned = run_cli("dtm", "day.jsonl", "--k", "2", "--dry-run", code=3).error()
    assert "all documents with a date lie" in planned
    assert (
        "--every 'moon'"
        in run_cli("dtm", "a.jsonl", "--date-col", "when", "--every", "moon", "--k", "2", "-o", "x", code=2).error()
    )
    write_jsonl(tmp_path / "letters.jsonl", [{"text": letter, "date": "2000"} for letter in "abcdef"])
    assert "nothing to find topics in" in run_cli("dtm", "letters.jsonl", "--k", "2", "-o", "x", code=3).error()
    write_jsonl(tmp_path / "blank.jsonl", [{"text": "mast sail", "date": ""}] * 4)
    assert "date" in run_cli("dtm", "blank.jsonl", "--k", "2", "-o", "x", code=3).error()
    run_cli("dtm", "blank.jsonl", "--k", "2", "--dry-run")
    assert not Path("x").exists()
    gaps = [row if i % 9 else {**row, "when": ""} for i, row in enumerate(texts) if not row["when"].startswith("2001")]
    write_jsonl(tmp_path / "gaps.jsonl", gaps)
    done = run_cli("dtm", "gaps.jsonl", *FIT, "-o", "gaps")
    assert "no documents: their topics" in done.err
    dropped = read("gaps/dropped.parquet").to_pylist()
    assert len(dropped) == sum(not row["when"] for row in gaps) > 0
    assert {row["reason"] for row in dropped} == {"date is missing"}
    (Path("gaps/model/rest.parquet")).unlink()
    with pytest.raises(InputError):
        nk.load("gaps")
