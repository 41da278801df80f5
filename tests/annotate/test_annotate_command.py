"""nlpkit annotate: tasks, answers, agreement and majority labels."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest

from tests.command_line import NEWS, SAMPLES, run_cli

TOPICS = SAMPLES / "topics.txt"
CODERS = SAMPLES / "coders.csv"
COLUMNS = ["--annotators", "anna,ben,chiara"]


def answers(folder: Path, coder: str, *, right: int) -> Path:
    """The CSV of a task filled by a coder who finds the intruder in the first `right` questions."""
    key = json.loads((folder / "task.key.json").read_text(encoding="utf-8"))
    by_id = {item["id"]: item for item in key["items"]}
    with (folder / "task.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for i, row in enumerate(rows):
        place = by_id[row["item"]]["answer"] - 1
        n = len(by_id[row["item"]]["options"])
        row |= {"coder": coder, "answer": str((place if i < right else (place + 1) % n) + 1)}
    path = folder / f"{coder}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_task_and_its_answers(tmp_path: Path) -> None:
    done = run_cli("annotate", "task", TOPICS, "--kind", "word-intrusion", "-o", "task.html")
    assert "wrote task.html with 8 questions, task.csv, and task.key.json" in done.err
    one, two = answers(tmp_path, "anna", right=8), answers(tmp_path, "ben", right=4)
    words = ["annotate", "score", "task.key.json", "--answers", one, "--answers", two]
    found = run_cli(*words, "--json").json()["targets"][0]
    assert found["metrics"]["precision"]["value"] == pytest.approx((8 + 4) / 16)
    assert found["metrics"]["precision"]["low"] < 0.75 < found["metrics"]["precision"]["high"]
    assert found["metrics"]["percent_agreement"]["value"] == pytest.approx(4 / 8)
    run_cli(*words, "--fail-under", "precision=0.7")
    failed = run_cli(*words, "--fail-under", "precision=0.8", code=1)
    assert "precision 0.75 is under 0.8" in failed.err
    run_cli(*words, "-q", "-o", "people.json")
    run_cli(*words, "--baseline", "people.json")


def test_the_same_seed_makes_the_same_task(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        run_cli("annotate", "task", TOPICS, "--kind", "intrusion", "--seed", seed, "-q", "-o", f"{name}/task.html")
    texts = [(tmp_path / name / "task.html").read_bytes() for name in "abc"]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("kind", ["word-intrusion", "topic-intrusion", "document-intrusion", "optimal-label", "rating"])
def test_every_kind_of_task_of_a_run(planted_lda: Path, kind: str) -> None:
    made = run_cli("annotate", "task", planted_lda, "--kind", kind, "--json", "-o", "task.html").json()
    assert made["kind"] == kind
    assert made["items"] >= (1 if kind == "topic-intrusion" else 4)
    assert all(Path(path).is_file() for path in made["outputs"])


def test_word_sets_of_a_file(tmp_path: Path) -> None:
    lines = [" ".join(f"{letter}{i}" for i in range(20)) for letter in "abc"]
    (tmp_path / "t.txt").write_text("\n".join(lines), encoding="utf-8")
    assert (
        run_cli("annotate", "task", "t.txt", "--kind", "word-set-intrusion", "--json", "-o", "task.html").json()[
            "items"
        ]
        == 3
    )


def test_agreement_of_coders() -> None:
    found = run_cli(
        "annotate", "agree", CODERS, *COLUMNS, "--measurement", "ordinal", "--order", "negative,neutral,positive",
        "--json",
    )  # fmt: skip
    metrics = found.json()["targets"][0]["metrics"]
    assert metrics["alpha"]["value"] == pytest.approx(ordinal_alpha(), abs=1e-12)
    assert metrics["alpha"]["low"] < metrics["alpha"]["value"] < metrics["alpha"]["high"]
    assert metrics["fleiss_kappa"]["value"] is None
    run_cli("annotate", "agree", CODERS, *COLUMNS, "--fail-under", "krippendorff_alpha=0.99", code=1)


def ordinal_alpha() -> float:
    krippendorff = pytest.importorskip("krippendorff")
    code = {"": float("nan"), "negative": 1.0, "neutral": 2.0, "positive": 3.0}
    with CODERS.open(encoding="utf-8") as file:
        rows = [[code[row[c]] for c in ("anna", "ben", "chiara")] for row in csv.DictReader(file)]
    return float(krippendorff.alpha(list(zip(*rows, strict=True)), level_of_measurement="ordinal"))


def test_majority_label(tmp_path: Path) -> None:
    run_cli("annotate", "majority", CODERS, *COLUMNS, "--column", "label", "-q", "-o", "labelled.parquet")
    table = pl.read_parquet(tmp_path / "labelled.parquet")
    assert table.columns == ["id", "anna", "ben", "chiara", "label", "label_share"]
    assert table.filter(pl.col("id") == "news-0029")["label"].item() == "neutral"
    # both codes there are different: no majority
    assert table.filter(pl.col("id") == "news-0001")["label"].item() is None


def test_a_row_a_judgement(tmp_path: Path) -> None:
    with CODERS.open(encoding="utf-8") as file:
        rows = [(r["id"], c, r[c]) for r in csv.DictReader(file) for c in ("anna", "ben", "chiara") if r[c]]
    lines = ["unit,coder,value", *(",".join(row) for row in rows)]
    (tmp_path / "long.csv").write_text("\n".join(lines), encoding="utf-8")
    long = run_cli("annotate", "agree", "long.csv", "--judgements", "unit,coder,value", "--json").json()["targets"][0][
        "metrics"
    ]
    wide = run_cli("annotate", "agree", CODERS, *COLUMNS, "--json").json()["targets"][0]["metrics"]
    assert long["alpha"]["value"] == pytest.approx(wide["alpha"]["value"])


def test_a_config_file_has_a_table_for_each_command_of_the_group(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(
        '[annotate.agree]\nannotators = "anna,ben"\n[annotate.task]\nkind = "rating"\n[evaluate]\nci = 0.9\n'
    )
    done = run_cli("annotate", "agree", CODERS, "--config", "c.toml", "--json")
    assert [row["coder"] for row in done.json()["targets"][0]["by_coder"]] == ["anna", "ben"]
    (tmp_path / "c.toml").write_text('[annotate.agree]\nannotator = "anna,ben"\n')
    assert "did you mean 'annotators'" in run_cli("annotate", "agree", CODERS, "--config", "c.toml", code=2).error()
    (tmp_path / "c.toml").write_text('[annotate.agreed]\nannotators = "anna,ben"\n')
    assert "annotate agree" in run_cli("annotate", "agree", CODERS, "--config", "c.toml", code=2).error()


@pytest.mark.parametrize("program", ["gensim", "octis", "tomotopy", "palmetto"])
def test_compat_is_told(program: str) -> None:
    found = run_cli(
        "evaluate", TOPICS, "--reference", NEWS, "--metrics", "coherence", "--compat", program, "--json"
    ).json()
    for score in found["targets"][0]["metrics"].values():
        assert score["parameters"]["compat"] == program
    assert ("c_p" in found["targets"][0]["metrics"]) == (program == "palmetto")
