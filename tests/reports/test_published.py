"""Published analyses that docs/tutorials/published-analyses.md repeats, where their files are there."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import chdtrc

from tests.command_line import read, run_cli
from tests.peer_data import PEER_DATA

SPEECHES, SURVEY, ADDRESSES = "state-of-the-state", "r_reference/gadarian.RData", "sotu/sotu_1900_on.jsonl.gz"
MANIFESTOS = "austin/demanif.RData"
ELECTIONS = (1990, 1994, 1998, 2002, 2005)
AUSTIN = {  # theta of wordfish() of R's austin, tol=1e-6, dir=c(7, 2), at these elections
    "FDP": (0.9056, 1.1494, 1.1805, 1.0840, 0.9878),
    "PDS": (-1.4865, -1.5042, -1.3453, -0.8357, -0.9334),
    "GREENS": (-1.5381, -1.1892, -1.1005, -0.6120, -0.3665),
    "SPD": (-0.5513, 0.0421, 0.4115, 0.6578, 0.4541),
    "CDU": (0.6886, 0.8633, 0.9965, 0.9316, 1.0891),
}
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


@pytest.mark.peer_data(MANIFESTOS)
def test_german_parties(tmp_path: Path) -> None:
    """Slapin and Proksch's counts of 25 manifestos: positions beside those of austin, and the parties in their order."""
    ends = ("--low", "tPDS2002combined", "--high", "tFDP2002combined")
    expected = {
        f"t{party}{year}combined": theta
        for party in AUSTIN
        for year, theta in zip(ELECTIONS, AUSTIN[party], strict=True)
    }
    for extra, correlation, largest in (((), 0.997, 0.14), (("--compat", "quanteda"), 0.999, 0.08)):
        target = tmp_path / f"positions{len(extra)}.parquet"
        run_cli("scale", PEER_DATA / MANIFESTOS, *ends, *extra, "-q", "-o", target)
        found = {row["id"]: row["position"] for row in read(target).to_pylist()}
        assert found.keys() == expected.keys()
        pairs = np.array([(found[name], expected[name]) for name in expected])
        assert np.corrcoef(pairs.T)[0, 1] > correlation
        assert np.abs(pairs[:, 0] - pairs[:, 1]).max() < largest
        for year in ELECTIONS:
            pds, greens, spd, cdu, fdp = (
                found[f"t{party}{year}combined"] for party in ("PDS", "GREENS", "SPD", "CDU", "FDP")
            )
            assert max(pds, greens) < spd < min(cdu, fdp)
