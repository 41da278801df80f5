"""nlpkit bertopic --update: newer documents join the topics of a run, new matter becomes new topics, the rest stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import nlpkit as nk
from nlpkit.platform.runs.runs import open_run
from nlpkit.topics.edit.looks import topic_looks
from tests.command_line import (
    DIMENSIONS,
    contents,
    files,
    manifest,
    needs_hdbscan,
    needs_minilm,
    planted_rows,
    read,
    run_cli,
    topics_of,
    write_embedded,
    write_jsonl,
)

pytestmark = needs_hdbscan
FOOD = ["bread", "cheese", "oven", "flour", "butter", "kitchen", "recipe", "sugar", "dough", "yeast"]


def newer_rows(per_topic: int = 5) -> list[dict[str, Any]]:
    """Documents of the four topics that the run was not fitted to."""
    return [
        {**row, "id": f"new {row['id']}", "text": f"{row['text']} anew"} for row in planted_rows(per_topic, seed=21)
    ]


def food_rows(n: int = 20) -> list[dict[str, Any]]:
    """Documents of a matter that the run does not have."""
    rng = np.random.default_rng(4)
    rows = []
    for number in range(n):
        vector = np.eye(DIMENSIONS)[7] + rng.normal(0, 0.08, DIMENSIONS)
        rows.append(
            {
                "id": f"food{number}",
                "text": f"The {' '.join(rng.choice(FOOD, 12))} and {number}.",
                "label": "food",
                "date": "2023-01-01",
                "n": number,
                "embedding": (vector / np.linalg.norm(vector)).astype(np.float32).tolist(),
            }
        )
    return rows


def update(run: Path | str, rows: list[dict[str, Any]], *options: object, out: str = "longer") -> dict[str, Any]:
    path = write_embedded(Path(f"{out}.parquet"), rows)
    return run_cli("bertopic", path, "--update", run, "-o", out, "--json", "-q", *options).json()


def labels_of(run: Path | str) -> dict[str, set[int]]:
    """The topics that documents of each label have."""
    table = read(Path(run) / "documents.parquet")
    of_label: dict[str, set[int]] = {}
    for label, topic in zip(table["label"].to_pylist(), table["topic"].to_pylist(), strict=True):
        of_label.setdefault(label, set()).add(topic)
    return of_label


def test_documents_of_known_matter_join_its_topic_and_all_numbers_stay(planted_run: Path) -> None:
    before = topics_of(planted_run)
    value = update(planted_run, newer_rows())
    after = topics_of(Path("longer"))
    assert {name: after[name] for name in before} == before
    assert list(after) == [*before, *(row["id"] for row in newer_rows())]
    assert [sorted(topics) for topics in labels_of("longer").values()] == [
        sorted(t) for t in labels_of(planted_run).values()
    ]
    assert [t["is_new"] for t in value["topics"]] == [False] * 4
    assert [(t["before"], t["now"], t["new"]) for t in value["topics"]] == [(30, 35, 5)] * 4
    assert [t["size"] for t in value["topics"]] == [35] * 4
    words = read("longer/topic_terms.parquet").to_pylist()
    documents = {row["id"]: row["text"] for row in [*planted_rows(), *newer_rows()]}
    term = words[0]
    of_topic = [documents[name] for name, topic in after.items() if topic == term["topic"]]
    tokens = [token for text in of_topic for token in text.lower().replace(".", "").split()]
    assert term["count"] == tokens.count(term["term"])


def test_new_matter_becomes_a_topic_after_the_others(planted_run: Path) -> None:
    before = files(planted_run)
    value = update(planted_run, [*newer_rows(), *food_rows()])
    assert [t["is_new"] for t in value["topics"]] == [False] * 4 + [True]
    new = value["topics"][4]
    assert (new["new"], new["now"], new["before"]) == (20, 20, 0)
    assert set(new["top_terms"][:5]) <= set(FOOD)
    assert labels_of("longer")["food"] == {4}
    assert files(planted_run) == before
    manifest = json.loads(Path("longer/manifest.json").read_text(encoding="utf-8"))
    assert [t["from"] for t in manifest["lineage"]["topics"]] == [[0], [1], [2], [3], []]
    assert [i["rows"] for i in manifest["inputs"]] == [120, 40]
    assert value["parent"]["path"] == str(planted_run)
    colours, shapes = topic_looks(open_run(planted_run))
    assert value["looks"]["colours"][:4] == colours
    assert value["looks"]["shapes"][:4] == shapes
    assert value["looks"]["colours"][4] not in colours


def test_a_few_documents_unlike_all_have_no_topic(planted_run: Path) -> None:
    value = update(planted_run, [*newer_rows(), *food_rows(2)])
    assert len(value["topics"]) == 4
    assert labels_of("longer")["food"] == {-1}
    assert value["unlike"] == 2


def test_a_longer_run_predicts_is_edited_and_updated_again(planted_run: Path) -> None:
    update(planted_run, food_rows())
    write_embedded(Path("all.parquet"), [*planted_rows(), *food_rows()])
    run_cli("predict", "longer", "all.parquet", "-q", "-o", "p.parquet")
    assert dict(zip(*(read("p.parquet")[n].to_pylist() for n in ("id", "topic")), strict=True)) == topics_of(
        Path("longer")
    )
    Path("e.toml").write_text('merge = [[0, 1]]\n[rename]\n4 = "Baking"', encoding="utf-8")
    edited = run_cli("edit", "longer", "e.toml", "-o", "edited", "--json", "-q").json()
    at = next(t["topic"] for t in edited["topics"] if t["label"] == "Baking")
    value = update("edited", newer_rows(), out="last")
    assert (len(value["topics"]), value["topics"][at]["label"]) == (4, "Baking")
    assert [Path(a["path"]).name for a in value["ancestors"]] == ["longer", planted_run.name]
    assert {k: v for k, v in topics_of(Path("last")).items() if not k.startswith("new")} == topics_of(Path("edited"))
    run_cli("evaluate", "last", "-q")


def test_a_known_text_has_the_topic_that_it_has_and_one_without_text_none(planted_run: Path) -> None:
    before = topics_of(planted_run)
    rows = planted_rows()
    wrong = {**rows[1], "id": "again", "text": rows[0]["text"]}  # the embedding of another document
    update(planted_run, [wrong, {**rows[2], "id": "empty", "text": ""}])
    after = topics_of(Path("longer"))
    assert (after["again"], after["empty"]) == (before["p000"], -1)


def test_density_runs_are_updated_too(planted: Path, tmp_path: Path) -> None:
    run_cli("bertopic", planted, "--cluster", "hdbscan", "--min-topic-size", 5, "--reduce", "none", "-q", "-o", "dense")
    before = topics_of(tmp_path / "dense")
    value = update("dense", [*newer_rows(), *food_rows()])
    after = topics_of(tmp_path / "longer")
    moved = [name for name, topic in before.items() if after[name] != topic and topic >= 0]
    assert moved == []
    assert sum(t["is_new"] for t in value["topics"]) == 1


def test_the_same_bytes_on_any_number_of_threads(planted_run: Path) -> None:
    for threads in (1, 2):
        path = write_embedded(Path("newer.parquet"), [*newer_rows(), *food_rows()])
        run_cli("bertopic", path, "--update", planted_run, "--threads", threads, "-q", "-o", f"r{threads}")
    assert contents("r1") == contents("r2")


def test_what_cannot_be_added_is_refused(planted_run: Path, planted_lda: Path, own_run: Path) -> None:
    write_embedded(Path("newer.parquet"), newer_rows())
    for options in (["--k", "3"], ["--cluster", "gmm"], ["--min-df", "3"], ["--debias", "label"]):
        run_cli("bertopic", "newer.parquet", "--update", planted_run, *options, "-o", "x", code=2)
    write_embedded(Path("same.parquet"), planted_rows(1))
    assert "p000" in run_cli("bertopic", "same.parquet", "--update", planted_run, "-o", "x", code=3).err
    run_cli("bertopic", "newer.parquet", "--update", planted_lda, "-o", "x", code=3)
    write_embedded(Path("other.parquet"), newer_rows(), fingerprint="0" * 64)
    run_cli("bertopic", "other.parquet", "--update", planted_run, "-o", "x", code=3)
    (own_run / "documents.parquet").write_bytes(b"")
    run_cli("bertopic", "newer.parquet", "--update", own_run, "-o", "x", code=3)
    assert not Path("x").exists()


def test_from_python(planted_run: Path) -> None:
    write_embedded(Path("newer.parquet"), food_rows())
    longer = nk.update_bertopic(planted_run, nk.read_corpus("newer.parquet"))
    assert [change["is_new"] for change in longer.changes] == [False] * 4 + [True]
    longer.save("longer")
    assert nk.load("longer").tables()["topics"].num_rows == longer.topics.num_rows == 5


@needs_minilm
def test_newer_texts_are_encoded_and_cut_as_those_of_the_run(tmp_path: Path) -> None:
    rows = [{k: v for k, v in row.items() if k != "embedding"} for row in planted_rows(12)]
    write_jsonl(tmp_path / "old.jsonl", rows)
    newer = [{"id": f"f{i}", "body": row["text"]} for i, row in enumerate(food_rows(14))]
    write_jsonl(tmp_path / "newer.jsonl", newer)
    run_cli("bertopic", "old.jsonl", "--k", 4, "--offline", "-q", "-o", "run")
    options = ("--update", "run", "--text-col", "body", "--offline", "-q")
    value = run_cli("bertopic", "newer.jsonl", *options, "--json", "-o", "longer").json()
    assert value["topics"][-1]["is_new"]
    assert set(value["topics"][-1]["top_terms"][:3]) <= set(FOOD)
    assert {"bread", "river"} <= set(read("longer/vocab.parquet")["term"].to_pylist())


def test_a_longer_run_is_scored_on_the_documents_of_all_its_files(planted_run: Path) -> None:
    """Before, the number of the older documents was a limit on all: scores were counted in these alone."""
    update(planted_run, newer_rows())
    assert [entry.get("reading") for entry in manifest("longer")["inputs"]] == [None, None]
    counted = run_cli("evaluate", "longer", "--metrics", "npmi", "--window", "document").out
    n = len(topics_of(Path("longer")))
    assert f"({n} documents" in counted
    run_cli("export", "longer", "--texts", "-o", "longer.xlsx")


def test_files_that_were_read_in_different_ways_are_not_read_at_once(planted_run: Path) -> None:
    renamed = [{**row, "body": row.pop("text")} for row in newer_rows()]
    update(planted_run, renamed, "--text-col", "body")
    refused = run_cli("evaluate", "longer", "--metrics", "npmi", code=3).err
    assert "were read with different options" in refused
    assert "--reference" in refused
    Path("edits.toml").write_text("merge = [[0, 1]]\n")
    assert refused.partition(";")[0] in run_cli("edit", "longer", "edits.toml", "-o", "less", code=3).err
