"""Published analyses that docs/tutorials/published-analyses.md repeats, where their files are there."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from scipy.special import chdtrc

from tests.command_line import read, run_cli
from tests.peer_data import PEER_DATA

SPEECHES, SURVEY, ADDRESSES = "state-of-the-state", "r_reference/gadarian.RData", "sotu/sotu_1900_on.jsonl.gz"
SPREADSHEET = {"TRUE": "true", "0": "000"}  # what a spreadsheet made of two words


def party_words(folder: Path, *words: Any) -> dict[str, dict[str, Any]]:
    line = ("keyness", *words, "--by", "party", "--target", "D", "--reference", "R", "--top-n", "5000", "-q")
    run_cli(*line, "-o", folder / "words.parquet")
    return {row["term"]: row for row in read(folder / "words.parquet").to_pylist()}


@pytest.mark.peer_data(f"{SPEECHES}/words.csv")
def test_phrases_of_two_parties(tmp_path: Path) -> None:
    """FiveThirtyEight's table: documents of both parties, and χ² of the documents with the phrase, of all 2,223 rows."""
    folder = PEER_DATA / SPEECHES
    meta = ("--meta", folder / "index.csv", "--meta-on", "filename")
    cut = ("--tokenizer", "sklearn", "--stop-words", "sklearn", "--ngrams", "1,3", "--min-df", "5")
    rules, docs = tmp_path / "rules.tsv", tmp_path / "speeches.parquet"
    rules.write_text("/(?i)healthcare/\thealth care\n", encoding="utf-8", newline="\n")
    run_cli("preprocess", folder / "speeches", *meta, *cut, "--replace", rules, "-q", "-o", docs)
    raw, cleaned = party_words(tmp_path, folder / "speeches", *meta, *cut), party_words(tmp_path, docs, "-f")
    with (folder / "words.csv").open(encoding="utf-8-sig", newline="") as file:
        published = list(csv.DictReader(file))
    assert len(published) == 2223
    equal = 0
    for row in published:
        term, counts = SPREADSHEET.get(row["phrase"], row["phrase"]), (int(row["d_speeches"]), int(row["r_speeches"]))
        equal += term in raw and by_party(raw[term]) == counts
        found = cleaned[term]
        assert by_party(found) == counts, term
        chi2 = found["chi2"] * (1 - sum(counts) / 50)
        assert chi2 == pytest.approx(float(row["chi2"]), abs=1e-6)
        assert chdtrc(1, chi2) == pytest.approx(float(row["pval"]), abs=1e-6)
    assert equal == 2208
    often = [term for term, row in cleaned.items() if row["df"] + row["df_rest"] >= (5 if " " in term else 10)]
    assert len(often) == 2223


def by_party(row: dict[str, Any]) -> tuple[int, int]:
    counts = (row["df"], row["df_rest"])
    return counts if row["class"] == "D" else counts[::-1]


@pytest.mark.bench
@pytest.mark.peer_data(SURVEY)
def test_what_holds_over_ten_starts_of_an_experiment(tmp_path: Path) -> None:
    """The immigration survey from its .RData: the topic of people who come is larger without the treatment in all fits."""
    answers = tmp_path / "answers.parquet"
    run_cli("preprocess", PEER_DATA / SURVEY, "--stem", "porter", "--min-df", "1", "-q", "-o", answers)
    starts = [
        ("anchors", 42),
        ("spectral", 42),
        *(("lda", n) for n in (1, 2, 3)),
        *(("random", n) for n in range(1, 6)),
    ]
    fits = []
    for start, seed in starts:
        fits.append(tmp_path / f"{start}-{seed}")
        line = ("stm", answers, "--k", "3", "--prevalence", "treatment * s(pid_rep)", "--start", start, "--seed", seed)
        run_cli(*line, "-q", "-o", fits[-1])
    of_anchors = run_cli("effects", fits[0], "--prevalence", "treatment * pid_rep", "--json", "-q").json()["effects"]
    interval = {row["topic_label"]: row for row in of_anchors if row["covariate"] == "treatment"}
    of_r = {"peopl, countri, come": (-0.119, 0.049)}  # estimateEffect(…, uncertainty="Local") of R's fit
    for label, (estimate, se) in of_r.items():
        assert interval[label]["high"] < 0
        assert interval[label]["low"] < estimate + 1.96 * se
        assert estimate - 1.96 * se < interval[label]["high"]
    line = ("robust", *fits, "--threshold", "0.6", "--shares-by", "treatment", "-q", "-o", tmp_path / "robust")
    shown = run_cli(*line).out
    come, illegal = (row for row in read(tmp_path / "robust" / "topics.parquet").to_pylist() if row["runs"] == 10)
    assert come["label"].startswith("peopl, countri")
    assert illegal["label"].startswith("illeg, immigr")
    more = [text.split()[-1] for text in shown.splitlines() if text.rstrip().endswith("/10") and "%" in text]
    assert more[:2] == ["10/10", "1/10"]


@pytest.mark.bench
@pytest.mark.peer_data(ADDRESSES)
def test_robust_topics_by_party(tmp_path: Path) -> None:
    """The form of Wilkerson and Casas' figures, on fewer and faster models: NMF with 10, 20 and 30 topics."""
    docs, run = tmp_path / "sotu.parquet", tmp_path / "run"
    run_cli("preprocess", PEER_DATA / ADDRESSES, "--unit", "paragraph", "--min-df", "20", "-q", "-o", docs)
    line = (
        "robust",
        docs,
        "--models",
        "nmf",
        "--k",
        "10:30:10",
        "--seeds",
        "1",
        "--shares-by",
        "label",
        "-q",
        "-o",
        run,
    )
    assert "Democratic more in" in run_cli(*line).out
    topics = {row["topic"]: row for row in read(run / "topics.parquet").to_pylist()}
    shares = [row for row in read(run / "robust_shares.parquet").to_pylist() if row["column"] == "label"]
    assert {row["value"] for row in shares} == {"Democratic", "Republican"}
    assert all(row["low"] <= row["share"] <= row["high"] for row in shares if row["share"] is not None)
    assert sum(row["runs"] is not None for row in topics.values()) >= 5
    run_cli("plot", run, "robust", "--by", "label", "-o", tmp_path / "shares.svg")
    assert "Republican" in (tmp_path / "shares.svg").read_text(encoding="utf-8")
