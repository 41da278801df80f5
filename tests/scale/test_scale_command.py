"""nlpkit scale: published figures from texts, run directories, tables, groups, pictures, odd documents."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit.errors import InputError
from tests.command_line import NEWS, needs_minilm, read, run_cli, write_jsonl
from tests.refusals import refuses
from tests.scale.lbg import SCORES, STARTS, TEXTS

AS_IS = ("--stop-words", "none", "--no-lower", "--tokenizer", "whitespace", "--language", "none")
UNKNOWN = [{"id": "U1", "text": "other words"}, {"id": "U2", "text": ""}]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [
        {"id": name, "text": text, "score": SCORES.get(name), "side": "virgin" if name == "V1" else "reference"}
        for name, text in zip(STARTS, TEXTS, strict=True)
    ]
    return write_jsonl(tmp_path / "lbg.jsonl", rows)


def positions(*words: object) -> dict[str, float]:
    rows = run_cli("scale", *words, "--json", "-q").json()["positions"]
    return {row["id"]: row["position"] for row in rows}


def test_scores_from_a_column_and_from_a_table_are_the_same(table: Path, tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("id,score\n" + "".join(f"{k},{v}\n" for k, v in SCORES.items()), "utf-8")
    of_column = positions(table, "--method", "wordscores", "--scores", "score", *AS_IS)
    assert of_column["V1"] == pytest.approx(-0.4480591, abs=5e-8)
    assert positions(table, "--method", "wordscores", "--scores", tmp_path / "scores.csv", *AS_IS) == of_column
    moved = positions(table, "--method", "wordscores", "--scores", "score", "--rescale", "mv", *AS_IS)
    assert moved["V1"] == pytest.approx(-0.5099572, abs=5e-8)


def test_the_direction_is_fixed_by_two_documents(table: Path) -> None:
    up = positions(table, "--low", "R1", "--high", "R5", "--compat", "quanteda", *AS_IS)
    down = positions(table, "--low", "R5", "--high", "R1", "--compat", "quanteda", *AS_IS)
    assert up["V1"] == pytest.approx(-0.35945025, abs=5e-8)
    assert down == {name: -value for name, value in up.items()}
    for low, high in (("R1", "R5"), ("R5", "R1")):
        found = positions(table, "--method", "ca", "--low", low, "--high", high, *AS_IS)
        assert found[low] < found[high]


def test_run_directory(table: Path) -> None:
    run_cli("scale", table, "--method", "ca", "--by", "side", *AS_IS, "-o", "run")
    documents, words = read("run/documents.parquet"), read("run/words.parquet")
    assert documents.schema.names == ["id", "position", "se", "low", "high", "n_words", "position_2", "score", "side"]
    assert words.schema.names == ["term", "weight", "cf", "df", "weight_2"]
    groups = read("run/groups.parquet").to_pylist()
    assert [(row["group"], row["documents"]) for row in groups] == [("reference", 5), ("virgin", 1)]
    of_virgin = documents.to_pylist()[5]
    assert (groups[1]["position"], groups[1]["high"]) == pytest.approx((of_virgin["position"], of_virgin["high"]))
    for row in documents.to_pylist():
        assert row["high"] - row["position"] == pytest.approx(1.959964 * row["se"], rel=1e-6)
    report = Path("run/report.md").read_text("utf-8")
    assert "| V1 |" in report
    assert "Mean positions" in report
    manifest = json.loads(Path("run/manifest.json").read_text("utf-8"))
    assert (manifest["kind"], manifest["parameters"]["method"]) == ("scale", "ca")


def test_documents_of_unknown_words_keep_their_rows(tmp_path: Path, table: Path) -> None:
    rows = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    more = write_jsonl(tmp_path / "more.jsonl", [*rows, *UNKNOWN])
    done = run_cli("scale", more, "--method", "wordscores", "--scores", "score", *AS_IS, "-o", "all.parquet")
    last = read("all.parquet").to_pylist()[-2:]
    assert [(row["id"], row["position"], row["se"], row["n_words"]) for row in last] == [
        ("U1", None, None, 0),
        ("U2", None, None, 0),
    ]
    assert "2 documents have no position" in done.err
    told = run_cli("scale", more, *AS_IS, "-o", "wf.csv").err
    assert "1 document (U1) without a word in common with the others" in told


@pytest.mark.parametrize("method", ["wordfish", "ca"])
def test_the_result_depends_neither_on_threads_nor_on_the_way_of_reading(method: str) -> None:
    for n, threads in enumerate(("1", "2")):
        run_cli("scale", NEWS, "--limit", "60", "--method", method, "--threads", threads, "-o", f"run{n}")
    run_cli("preprocess", NEWS, "--limit", "60", "-o", "docs.parquet")
    run_cli("scale", "docs.parquet", "--method", method, "-o", "run2")
    first, second, third = (pq.read_table(f"run{n}/documents.parquet") for n in range(3))
    assert first.column("position").equals(second.column("position"))
    assert first.column("position").equals(third.column("position"))


def test_seed_words_order_documents() -> None:
    """Sentences of two subjects, with seeds that are in few of them; documents with none of the seeds are placed, too."""
    words = {1: ["river", "water", "boat", "bridge", "stream"], -1: ["judge", "court", "jury", "trial", "lawyer"]}
    rng = np.random.default_rng(0)
    rows, signs = [], []
    for i in range(60):
        sign = 1 if i % 2 else -1
        text = " ".join(f"The {' and '.join(rng.choice(words[sign], 3, replace=False))} came." for _ in range(4))
        rows.append({"id": f"d{i}", "text": text, "date": f"20{10 + i % 3}-03-01"})
        signs.append(sign)
    write_jsonl(Path("rows.jsonl"), rows)
    Path("seeds.toml").write_text("positive = ['RIVER', 'wat*']\nnegative = ['judge']\n", "utf-8")
    run_cli(
        "scale",
        "rows.jsonl",
        "--method",
        "lss",
        "--seeds",
        "seeds.toml",
        "--over",
        "date:year",
        "--dimensions",
        "2",
        "-o",
        "run",
    )
    table = read("run/documents.parquet")
    place = table.column("position").to_numpy()
    assert (np.sign(place) == signs).all()
    assert (place.mean(), place.std(ddof=1)) == pytest.approx((0.0, 1.0))
    weights = {row["term"]: row["weight"] for row in read("run/words.parquet").to_pylist()}
    assert min(weights[w] for w in words[1]) > max(weights[w] for w in words[-1])
    assert [row["period"] for row in read("run/groups.parquet").to_pylist()] == ["2010", "2011", "2012"]
    run_cli("scale", "rows.jsonl", "--method", "lss", "--seeds", "seeds.toml", "--unit", "document", "-o", "whole")
    assert json.loads(Path("whole/manifest.json").read_text("utf-8"))["results"]["units"] == 60
    Path("terms.txt").write_text("boat\ncourt\n", "utf-8")
    few = run_cli("scale", "rows.jsonl", "--method", "lss", "--seeds", "seeds.toml", "--terms", "terms.txt", "--json")
    assert few.json()["ends"] == {"low": ["court", "boat"], "high": ["boat", "court"]}


def test_an_axis_between_vectors_that_are_there() -> None:
    points = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.0, 0.0]], np.float32)
    import pyarrow as pa

    from nlpkit.platform.documents.arrays import embedding_column

    table = pa.table(
        {"id": ["a", "b", "c", "d"], "text": ["low", "high", "between", ""], "embedding": embedding_column(points)}
    )
    pq.write_table(table, "docs.parquet")
    with refuses(None, InputError):  # whose model is not known: a sentence has no vector
        nk.scale(nk.read_corpus("docs.parquet"), method="axis", positive=("x",), negative=("y",))


@needs_minilm
def test_an_axis_between_sentences() -> None:
    texts = [
        "The team won the cup.",
        "He scored a late goal.",
        "The judge sentenced him.",
        "A jury found her guilty.",
        "",
    ]
    scaled = nk.scale(
        texts, method="axis", positive=("A football match", "They won the game"), negative=("A trial in court", "The verdict"),
        min_df=1,
    )  # fmt: skip
    place = scaled.documents["position"].to_pylist()
    assert min(place[:2]) > max(place[2:4])
    assert place[4] is None
    assert all(se > 0 for se in scaled.documents["se"].to_pylist()[:4])


def test_pictures_are_drawn(table: Path) -> None:
    run_cli("scale", table, "--by", "side", *AS_IS, "-o", "run")
    for what in ("positions", "groups", "weights"):
        run_cli("plot", "run", what, "-o", f"{what}.svg")
        assert Path(f"{what}.svg").read_text("utf-8").startswith("<?xml")
    listed = run_cli("plot", "run", "--json").json()["pictures"]
    assert [row["what"] for row in listed] == ["positions", "groups", "weights"]
    run_cli(
        "scale", NEWS, "--limit", "40", "--method", "ca", "--by", "label", "--over", "date:quarter", "-o", "crossed"
    )
    run_cli("plot", "crossed", "groups", "-o", "crossed.png")
    assert Path("crossed.png").stat().st_size > 5_000


def test_nothing_is_written_where_something_is(table: Path) -> None:
    run_cli("scale", table, "--method", "ca", *AS_IS, "-o", "run")
    before = Path("run/manifest.json").read_bytes()
    run_cli("scale", table, "--method", "ca", *AS_IS, "-o", "run", code=2)
    assert Path("run/manifest.json").read_bytes() == before
    run_cli("scale", table, "--method", "ca", *AS_IS, "-o", "run", "--force")
