"""nlpkit stm: covariates of documents, and what they cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nlpkit as nk
from tests.command_line import footer, planted_rows, read, run_cli, write_jsonl


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """The planted documents with a column for every kind of covariate."""
    rows = planted_rows()
    for i, row in enumerate(rows):
        del row["embedding"]
        row |= {
            "party name": "ab"[i % 2],
            "few": i % 3,
            "digits": f"{i % 7}.5",
            "comma": f"{i % 7},5",
            "true": i % 5 == 0,
            "account": 2**60 + i % 2,
            "gap": None if i == 7 else 1.0 * i,
            "one": "x",
            "likes": i if i % 5 > 2 else 0,
        }
    return write_jsonl(tmp_path / "rows.jsonl", rows)


@pytest.mark.parametrize(
    ("formula", "n_columns"),
    [
        ("label", 4),
        ("date", 2),  # texts that are all dates are numbers
        ("s(date)", 11),
        ("digits", 2),  # and those that are all numbers, as in CSV
        ("factor(comma)", 7),
        ("s(n, 4) + `party name`*factor(few)", 10),
        ("label * n", 8),
        ("true + factor(few, 2)", 4),
        ("factor(date) + 1", 84),
        ("factor(account)", 2),  # which a float does not tell apart
    ],
)
def test_covariates(rows: Path, formula: str, n_columns: int) -> None:
    run_cli("stm", rows, "--k", "4", "--prevalence", formula, "--iterations", "3", "-q", "-o", "run")
    manifest = json.loads(Path("run/manifest.json").read_text(encoding="utf-8"))
    assert manifest["parameters"]["prevalence"] == formula
    from nlpkit.platform.runs.runs import open_run
    from nlpkit.topics.base.tables import read_arrays

    arrays = read_arrays(open_run(Path("run"), ["stm"]))
    assert arrays["gamma"].shape == (n_columns, 3)
    assert arrays["eta"].shape == (120, 3)
    theta = np.exp(np.column_stack([arrays["eta"], np.zeros(120)]))
    np.testing.assert_allclose(theta / theta.sum(axis=1, keepdims=True), nk.load("run").theta, atol=0.03)


@pytest.mark.parametrize(
    ("formula", "code", "message"),
    [
        ("label +", 2, "error: --prevalence cannot be read at its end, after 'label +'"),
        ("lable", 3, "the corpus has no column 'lable'"),
        ("gap", 3, "'gap' has no value in 1 of 120 documents"),
        ("one", 3, "'one' has 1 category, and 2 to"),
        ("comma", 3, "column 'comma' of the corpus holds numbers with a comma, such as 0,5"),
        ("s(label)", 3, "must be a number but holds text such as"),
        ("id", 3, "the formula 'id' has 120 columns, and there are 120 documents"),
        ("true:`party name`", 3, "are determined by the others: true[True]:`party name`[b]"),
        ("few + factor(few)", 3, "are determined by the others"),
    ],
)
def test_bad_covariates(rows: Path, formula: str, code: int, message: str) -> None:
    refused = run_cli("stm", rows, "--k", "4", "--prevalence", formula, "-o", "run", code=code).error()
    assert message in refused
    assert "\0" not in refused  # no column that nlpkit made for itself
    assert not Path("run").exists()


def test_counts_of_which_most_are_equal(rows: Path) -> None:
    """Likes, votes, views: quantiles are equal, and the spline has fewer knots. bstewart/stm#195"""
    done = run_cli("stm", rows, "--k", "4", "--prevalence", "s(likes)", "--iterations", "2", "-o", "run")
    assert "'s(likes)' has 6 degrees of freedom: 4 knots left out, as many values of 'likes' are equal" in done.err
    shares = run_cli("effects", "run", "--of", "likes", "--json").json()
    assert shares
    done = run_cli("effects", "run", "--prevalence", "s(likes, 5)")
    assert "1 knot left out" in done.err


def test_starts(rows: Path) -> None:
    done = run_cli("stm", rows, "--k", "4", "--start", "anchors", "--json", "-o", "run")
    assert done.json()["start"] == "anchors among all words"
    assert "starts" not in done.json()
    assert all(0 < topic["frex_exclusivity"] <= 10 for topic in done.json()["topics"])
    done = run_cli("stm", rows, "--k", "4", "--iterations", "2", "-o", "chosen")
    assert "start: anchors among" in done.err
    assert "by words held out in a trial" in done.err
    results = json.loads(Path("chosen/manifest.json").read_text(encoding="utf-8"))["results"]
    assert results["start"] in [each["start"] for each in results["starts"]]
    assert "semantic_coherence" in read("chosen/topics.parquet").column_names


def test_without_topics_enough(rows: Path) -> None:
    assert "from 2 to" in run_cli("stm", rows, "--k", "1", "-o", "run", code=2).error()
    run_cli("stm", rows, "--k", "4", "--iterations", "2", "--dry-run")
    said = run_cli("stm", rows, "--k", "4", "--iterations", "2", "-o", "run").err
    assert "the fit had not converged after 2 steps" in said
    assert "steps 2, not converged" in said


@pytest.fixture(scope="module")
def by_party(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of planted topics whose words depend on a party: each has a word of its own in every document."""
    folder = tmp_path_factory.mktemp("content")
    rows = [{"text": "", **row, "party": "ab"[i // 4 % 2]} for i, row in enumerate(planted_rows())]
    for i, row in enumerate(rows):
        del row["embedding"]
        row["text"] = f"{row['text']} {'solidarity workers' if i // 4 % 2 else 'freedom firms'}"
    write_jsonl(folder / "rows.jsonl", rows)
    done = run_cli(
        "stm", folder / "rows.jsonl", "--k", "4", "--content", "party", "--prevalence", "label", "-o", folder / "run"
    )
    assert "Words of the topics at each level" in done.out
    assert "solidarity" in done.out
    return folder


def test_words_at_each_level(by_party: Path) -> None:
    run = by_party / "run"
    table = read(run / "topic_terms_by_content.parquet").to_pylist()
    assert {(row["topic"], row["level"]) for row in table} == {(k, level) for k in range(4) for level in "ab"}
    for k in range(4):
        apart = [row for row in table if (row["topic"], row["level"]) == (k, "b") and row["contrast_rank"] <= 2]
        assert {row["term"] for row in apart} == {"solidarity", "workers"}
        assert all(row["log_ratio"] > 0.4 for row in apart)
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["parameters"]["content"] == "party"
    weights = {(row["topic"], row["level"], row["term"]): row["weight"] for row in table}
    phi, terms = nk.load(run).phi, nk.load(run).model.terms
    for (k, level, term), weight in weights.items():
        if level == "a" and (k, "b", term) in weights:
            mean = (weight + weights[k, "b", term]) / 2
            assert phi[k, terms.index(term)] == pytest.approx(
                mean, rel=0.05
            )  # the levels have as many tokens, but for a few
    again = run_cli("stm", by_party / "rows.jsonl", "--k", "4", "--content", "party", "--json", "-q", "-o", "again")
    assert len(again.json()["topic_terms_by_content"]) == len(table)


def test_without_content_nothing_of_it(rows: Path) -> None:
    run_cli("stm", rows, "--k", "4", "--iterations", "2", "-q", "-o", "run")
    assert not Path("run/topic_terms_by_content.parquet").exists()
    assert "content" not in json.loads(Path("run/manifest.json").read_text(encoding="utf-8"))["parameters"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--content", "one"], 3, "'one' has 1 level, but 2 to 50 are possible; leave --content out"),
        (["--content", "gap"], 3, "'gap' has no value in 1 of 120 documents"),
        (["--content", "id"], 3, "'id' has 120 levels"),
        (["--content", "lable"], 3, "the corpus has no column 'lable'"),
        (["--no-content-interactions"], 2, "needs --content"),
    ],
)
def test_bad_content(rows: Path, words: list[str], code: int, message: str) -> None:
    assert message in run_cli("stm", rows, "--k", "4", *words, "-o", "run", code=code).error()
    assert not Path("run").exists()


def new_rows(by_party: Path, **columns: object) -> list[dict[str, object]]:
    """Documents of the fit with another word each, and other columns."""
    rows = [json.loads(line) for line in (by_party / "rows.jsonl").read_text(encoding="utf-8").splitlines()][:12]
    return [{**row, "id": f"new {row['id']}", "text": row["text"] + " zzz", **columns} for row in rows]


def test_new_documents_with_their_columns(by_party: Path) -> None:
    run, told = by_party / "run", "prior of topics: by the columns of label"
    write_jsonl(Path("new.jsonl"), new_rows(by_party))
    done = run_cli("predict", run, "new.jsonl", "-o", "with.parquet")
    assert told in done.err
    assert "words of topics: by level of 'party'" in done.err
    block = footer("with.parquet")["parameters"]
    assert (block["prior"], block["words"]) == ("covariates", "content")
    write_jsonl(Path("bare.jsonl"), [{"id": row["id"], "text": row["text"]} for row in new_rows(by_party)])
    done = run_cli("predict", run, "bare.jsonl", "-o", "bare.parquet")
    assert "the average one of the fit, as the new documents have no column 'label'" in done.err
    assert "the average of the levels of 'party', a column that the new documents do not have" in done.err
    assert footer("bare.parquet")["parameters"]["prior"] == "average"
    # the columns tell of topics: they are nearer to those of the fit, and to one of the label where there are no words
    fitted = {row["id"]: row for row in read(run / "documents.parquet").to_pylist()}
    got = {name: read(f"{name}.parquet").to_pylist() for name in ("with", "bare")}
    away = {
        name: np.mean([abs(row["topic_prob"] - fitted[row["id"][4:]]["topic_prob"]) for row in rows])
        for name, rows in got.items()
    }
    assert away["with"] < 0.01
    assert away["with"] < away["bare"]


def test_values_that_the_fit_did_not_have(by_party: Path) -> None:
    rows = new_rows(by_party)
    rows[0]["party"], rows[1]["party"], rows[2]["label"], rows[3]["label"] = "c", None, "nothing", None
    write_jsonl(Path("new.jsonl"), rows)
    done = run_cli("predict", by_party / "run", "new.jsonl", "-o", "p.parquet")
    assert "the average one for 2 documents without a value, or with one that the fit did not have" in done.err
    assert "without a level of" in done.err
    write_jsonl(Path("known.jsonl"), new_rows(by_party)[4:])
    run_cli("predict", by_party / "run", "known.jsonl", "-q", "-o", "known.parquet")
    assert read("p.parquet").to_pylist()[4:] == read("known.parquet").to_pylist()
