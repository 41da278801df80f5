"""nlpkit edit: a new run of the same kind from a run and a file; what is not edited stays, what cannot be is refused."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit.errors import InputError
from nlpkit.platform.documents.arrays import text_hash
from nlpkit.platform.runs.runs import open_run
from nlpkit.topics.edit.looks import topic_looks
from tests.command_line import (
    SAMPLES,
    contents,
    files,
    manifest,
    needs_hdbscan,
    planted_rows,
    read,
    run_cli,
    topics_of,
    write_embedded,
    write_jsonl,
)
from tests.refusals import refuses

pytestmark = needs_hdbscan
EDITS = SAMPLES / "news_edits.toml"


def edits(text: str) -> Path:
    path = Path("edits.toml")
    path.write_text(text, encoding="utf-8")
    return path


def edited(run: Path, text: str, *options: object) -> dict[str, Any]:
    return run_cli("edit", run, edits(text), "-o", "new", "--json", "-q", *options).json()


def tables_of(run: Path | str) -> dict[str, Any]:
    """Every table of a run by its path, without footers."""
    return {f.relative_to(run).as_posix(): read(f).replace_schema_metadata() for f in Path(run).rglob("*.parquet")}


def label_of_topic(run: Path | str) -> dict[int, str]:
    """The label that all documents of a topic have."""
    table = read(Path(run) / "documents.parquet")
    return dict(zip(table["topic"].to_pylist(), table["label"].to_pylist(), strict=True))


@pytest.fixture
def dense(planted: Path) -> Path:
    """Density clusters with documents between them that joined, went to the nearest topic, or have none."""
    run = planted.parent / "dense"
    if not run.exists():
        rows = planted_rows()
        rng = np.random.default_rng(3)
        for row in rows[::4]:
            vector = np.array(row["embedding"]) + rng.normal(0, 0.5, len(row["embedding"]))
            row["embedding"] = (vector / np.linalg.norm(vector)).tolist()
        write_embedded(planted.parent / "noisy.parquet", rows)
        options = ("--cluster", "hdbscan", "--min-topic-size", 5, "--reduce", "none", "--no-join-neighbors")
        run_cli("bertopic", planted.parent / "noisy.parquet", *options, "-q", "-o", run)
    return run


def test_a_run_is_described_as_by_the_fit_where_nothing_moves(planted_run: Path, dense: Path) -> None:
    for number, run in enumerate((planted_run, dense)):
        run_cli("edit", run, edits("pin = [0]"), "-q", "-o", f"same{number}")
        before, after = tables_of(run), tables_of(f"same{number}")
        assert before.keys() == after.keys()
        assert [name for name in before if not before[name].equals(after[name])] == []
        assert {**manifest(run)["results"], "evidence": []} == {**manifest(f"same{number}")["results"], "evidence": []}
        assert (Path(f"same{number}") / "model/config.json").read_bytes() == (run / "model/config.json").read_bytes()


def test_lda_is_described_as_by_the_fit_where_nothing_moves(planted: Path) -> None:
    run_cli("lda-gibbs", planted, "--k", 4, "--sweeps", 30, "--save-assignments", "-q", "-o", "lda")
    run_cli("edit", "lda", edits("pin = [0]"), "-q", "-o", "same")
    before, after = tables_of("lda"), tables_of("same")
    assert before.keys() == after.keys()
    assert [name for name in before if not before[name].equals(after[name])] == []
    assert {**manifest("lda")["results"], "trace": []} == manifest("same")["results"]


def test_topics_are_merged_split_dropped_and_renamed(planted_run: Path) -> None:
    before = topics_of(planted_run)
    value = edited(planted_run, 'merge = [[2, 0]]\nsplit = { 3 = 2 }\ndrop = [1]\n[rename]\n2 = "Both"')
    assert [(t["topic"], t["from"], t["split"]) for t in value["topics"]] == [
        (0, [3], True), (1, [3], True), (2, [2, 0], False),
    ]  # fmt: skip
    after = topics_of(Path("new"))
    for document, old in before.items():
        assert after[document] in {0: {2}, 1: {-1}, 2: {2}, 3: {0, 1}}[old], document
    assert [t["label"] for t in value["topics"]][2] == "Both"
    assert [t["size"] for t in value["topics"]] == [sum(k == n for k in after.values()) for n in range(3)]
    assert value["topics"][0]["size"] >= value["topics"][1]["size"] > 0
    assert value["dropped"] == [1]
    assert value["parent"] == {
        "path": str(planted_run),
        "sha256": hashlib.sha256((planted_run / "manifest.json").read_bytes()).hexdigest(),
        "kind": "bertopic",
    }
    lineage = manifest("new")["lineage"]
    assert lineage["topics"] == [{k: t[k] for k in ("topic", "from", "split")} for t in value["topics"]]
    made_from = {"run": str(planted_run), "topic 0": [3], "topic 1": [3], "topic 2": [2, 0], "dropped": [1]}
    assert run_cli("info", "new", "--json").json()["made_from"] == made_from
    assert lineage["edits"]["sha256"] == hashlib.sha256(Path("edits.toml").read_bytes()).hexdigest()


def test_topics_that_are_not_edited_keep_colour_and_shape(planted_run: Path, planted_lda: Path) -> None:
    """Colours by place all changed when two topics were merged."""
    for run in (planted_run, planted_lda):
        colours, shapes = topic_looks(open_run(run))
        value = edited(run, "merge = [[2, 0]]\n[rename]\n1 = 'Other'", "--force")
        sources = [topic["from"][0] for topic in value["topics"]]
        assert len(sources) == len(colours) - 1
        assert topic_looks(open_run(Path("new"))) == ([colours[k] for k in sources], [shapes[k] for k in sources])
        again = run_cli("edit", "new", "--rename", "0=First", "-o", "again", "--json", "-q", "--force").json()
        assert again["looks"] == value["looks"]
    halves = edited(planted_run, "split = { 3 = 2 }", "--force")
    colours, _ = topic_looks(open_run(planted_run))
    of_3 = [c for c, t in zip(halves["looks"]["colours"], halves["topics"], strict=True) if t["from"] == [3]]
    assert of_3[0] == colours[3]
    assert of_3[1] not in colours
    path = Path("new/manifest.json")
    whole = json.loads(path.read_text(encoding="utf-8"))
    for bad in ({"colours": ["red"], "shapes": [0]}, {"colours": of_3, "shapes": [0, 99]}, {"colours": of_3}, 7):
        whole["lineage"]["looks"] = bad
        path.write_text(json.dumps(whole), encoding="utf-8")
        with pytest.raises(InputError):
            topic_looks(open_run(Path("new")))


def test_words_and_scores_of_merged_topics_are_those_of_all_their_documents(planted_run: Path) -> None:
    edited(planted_run, "merge = [[0, 1]]")
    labels = label_of_topic(planted_run)
    table = read("new/topic_terms.parquet").to_pylist()
    words = {row["term"]: row for row in table if row["topic"] == 0}
    documents = read("new/documents.parquet")
    rows = {row["id"]: row["text"].lower().replace(".", "").split() for row in planted_rows()}
    of_topic = [
        rows[i] for i, k in zip(documents["id"].to_pylist(), documents["topic"].to_pylist(), strict=True) if k == 0
    ]
    assert len(of_topic) == 60
    for term, row in words.items():
        assert row["count"] == sum(tokens.count(term) for tokens in of_topic), term
    assert len(labels) == 4
    assert len({row["topic"] for row in table}) == 3


def test_the_new_run_predicts_evaluates_and_is_edited_again(planted_run: Path, planted: Path) -> None:
    edited(planted_run, 'merge = [[0, 1]]\n[rename]\n0 = "Both"')
    run_cli("predict", "new", planted, "-q", "-o", "p.parquet")
    assert dict(zip(*(read("p.parquet")[name].to_pylist() for name in ("id", "topic")), strict=True)) == topics_of(
        Path("new")
    )
    rows = planted_rows(8, seed=9)
    write_embedded(Path("newer.parquet"), [{**row, "text": f"new {row['text']}"} for row in rows])
    run_cli("predict", "new", "newer.parquet", "--novelty-quantile", 1, "-q", "-o", "n.parquet")
    of_label: dict[str, set[int]] = {}
    for row, topic in zip(rows, read("n.parquet")["topic"].to_pylist(), strict=True):
        of_label.setdefault(row["label"], set()).add(topic)
    assert sorted(map(len, of_label.values())) == [1, 1, 1, 1]
    assert len(set().union(*of_label.values())) == 3
    scores = run_cli("evaluate", "new", "--json", "-q").json()
    assert len(scores["targets"]) == 1
    run_cli("info", "new")
    path = Path("again.toml")
    path.write_text('merge = [["Both", 2]]\nstop_words = ["river"]', encoding="utf-8")
    value = run_cli("edit", "new", path, "-o", "newer", "--json", "-q").json()
    assert value["topics"][0]["label"] == "Both"  # the name stays with the first of a merge
    assert [ancestor["path"] for ancestor in value["ancestors"]] == [str(planted_run)]
    path.write_text("drop = [1]", encoding="utf-8")
    assert run_cli("edit", "newer", path, "-o", "last", "--json", "-q").json()["stop_words"] == ["river"]
    assert "river" not in read("last/topic_terms.parquet")["term"].to_pylist()


def test_stop_words_leave_words_alone_and_documents_where_they_are(planted_run: Path, planted_lda: Path) -> None:
    for run in (planted_run, planted_lda):
        top = read(run / "topics.parquet")["top_terms"].to_pylist()[0][0]
        edited(run, f'stop_words = ["{top}"]', "-f")
        assert topics_of(Path("new")) == topics_of(run)
        terms = read("new/topic_terms.parquet")["term"].to_pylist()
        assert top in read(run / "topic_terms.parquet")["term"].to_pylist()
        assert top not in terms
        assert all(top not in words for words in read("new/topics.parquet")["top_terms"].to_pylist())
        assert all(top not in name for name in read("new/topics.parquet")["label"].to_pylist())
        assert read("new/vocab.parquet").equals(read(run / "vocab.parquet"))


def test_documents_without_a_topic_go_to_the_nearest_clearest_first(dense: Path) -> None:
    before = read(dense / "documents.parquet").to_pylist()
    without = [row for row in before if row["topic"] < 0]
    assert len(without) > 12
    value = edited(dense, 'max_outliers = "10 %"')
    after = {row["id"]: row for row in read("new/documents.parquet").to_pylist()}
    moved = [row for row in without if after[row["id"]]["topic"] >= 0]
    left = [row for row in without if after[row["id"]]["topic"] < 0]
    assert len(left) == 12  # of 120
    assert value["outliers_moved"] == len(moved) == len(without) - 12
    assert min(row["margin"] for row in moved) >= max(row["margin"] for row in left)
    assert all(after[row["id"]]["topic"] == row["nearest_topic"] for row in moved)
    assert {row["topic"] for row in before if row["topic"] >= 0} == {row["topic"] for row in after.values()} - {-1}
    assert read("new/model/centroids.parquet").equals(read(dense / "model/centroids.parquet"))  # the core stays


def test_counts_and_probabilities_of_lda_add_up(planted_lda: Path) -> None:
    value = edited(planted_lda, "merge = [[3, 0]]\nsplit = { 1 = 2 }")
    assert sorted(t["from"] for t in value["topics"]) == [[1], [2], [3, 0]]
    place = {source: t["topic"] for t in value["topics"] for source in t["from"]}
    assert set(place) == {0, 1, 2, 3}
    assert place[0] == place[3]
    before, after = nk.load(planted_lda), nk.load("new")
    assert value["edits"]["skipped"] != []
    old, new = read(planted_lda / "model/doc_topic.parquet"), read("new/model/doc_topic.parquet")
    assert sum(old["count"].to_pylist()) == sum(new["count"].to_pylist())
    alpha = read(planted_lda / "model/alpha.parquet")["alpha"].to_pylist()
    assert read("new/model/alpha.parquet")["alpha"].to_pylist()[place[0]] == pytest.approx(alpha[0] + alpha[3])
    kept = [(k, place[k]) for k in (1, 2)]
    for k, n in kept:
        assert after.phi[n] == pytest.approx(before.phi[k])  # type: ignore[attr-defined]
    both = before.model.topic_term[[0, 3]].sum(axis=0)  # type: ignore[attr-defined]
    assert np.asarray(after.model.topic_term[[place[0]]].sum(axis=0)) == pytest.approx(np.asarray(both))  # type: ignore[attr-defined]


def test_the_number_of_topics_is_reduced_by_the_most_similar_pairs(planted_run: Path, planted_lda: Path) -> None:
    for run in (planted_run, planted_lda):
        value = edited(run, "reduce = 2\npin = [1]", "-f")
        assert len(value["topics"]) == 2
        assert [t["from"] for t in value["topics"] if 1 in t["from"]] == [[1]]
        assert len(value["reduced"]) == 2
        assert all(0 <= similarity <= 1 for _, _, similarity in value["reduced"])


def test_dropped_tokens_of_lda_go_and_documents_have_their_other_topics(planted_lda: Path) -> None:
    value = edited(planted_lda, "drop = [0]")
    assert [t["from"] for t in value["topics"]] == [[3], [1], [2]]
    counts = read(planted_lda / "model/doc_topic.parquet").to_pylist()
    kept = sum(row["count"] for row in counts if row["topic"] != 0)
    assert sum(read("new/model/doc_topic.parquet")["count"].to_pylist()) == kept
    alpha = sum(read("new/model/alpha.parquet")["alpha"].to_pylist())
    left: dict[int, int] = {}
    for row in read("new/model/doc_topic.parquet").to_pylist():
        left[row["document"]] = left.get(row["document"], 0) + row["count"]
    first = next(document for document, n in left.items() if n > 3)
    name = read("new/documents.parquet")["id"].to_pylist()[first]
    of_first = [row["prob"] for row in read("new/doc_topics.parquet").to_pylist() if row["id"] == name]
    n_first = [row["count"] for row in read("new/model/doc_topic.parquet").to_pylist() if row["document"] == first]
    assert max(of_first) == pytest.approx((max(n_first) + alpha / 3) / (left[first] + alpha), rel=1e-5)


def test_a_file_of_another_fit_finds_its_topics_by_their_words(planted: Path, planted_run: Path) -> None:
    run_cli("edit", planted_run, "--init", "-o", "init.toml", "-q")
    text = Path("init.toml").read_text(encoding="utf-8")
    run_cli("edit", planted_run, edits("reorder = [3, 2, 1, 0]"), "-q", "-o", "turned")
    labels = [label_of_topic(run) for run in (planted_run, Path("turned"))]
    done = run_cli("edit", "turned", edits(f"merge = [[0, 1]]\n{text}"), "-o", "new")
    after = label_of_topic("new")
    merged = {labels[0][0], labels[0][1]}
    documents = read("new/documents.parquet").to_pylist()
    of_label = {row["label"]: row["topic"] for row in documents}
    assert of_label[labels[0][0]] == of_label[labels[0][1]]
    assert len(after) == 3
    assert merged == {labels[1][3], labels[1][2]}
    assert done.err.count("words are the same") == 2


def test_what_does_not_apply_is_left_out_and_said_or_refused(planted_run: Path) -> None:
    gone = '[topics]\n9 = { name = "gone", words = ["ghost", "castle"] }\n'
    done = run_cli("edit", planted_run, edits(f"drop = [9]\nmerge = [[0, 1]]\n{gone}"), "-o", "new")
    assert "left out: drop of topic 9 (ghost castle)" in done.err
    for options in (["--strict"], []):
        text = f"drop = [9]\n{'merge = [[0, 1]]' if options else ''}\n{gone}"
        run_cli("edit", planted_run, edits(text), "-o", "other", *options, code=3)
        assert not Path("other").exists()


def test_the_file_to_fill_in_is_toml_with_every_topic(planted_run: Path, planted_lda: Path) -> None:
    for run in (planted_run, planted_lda):
        out = run_cli("edit", run, "--init", "-q").out
        shown = run_cli("edit", run, "--init", "--json", "-q", "-o", "init.toml", "-f").json()
        assert shown["edits"] == Path("init.toml").read_text(encoding="utf-8") == out
        run_cli("edit", run, "init.toml", "-o", "none", code=3)  # there is no edit in it yet
        filled = out.replace("# [rename]", "[rename]").replace('# 0 = "', '0 = "A ')
        Path("filled.toml").write_text(filled.replace("# drop = [3]", "drop = [3]"), encoding="utf-8")
        value = run_cli("edit", run, "filled.toml", "-o", "new", "--json", "-q", "-f", "--strict").json()
        assert (value["dropped"], len(value["topics"])) == ([3], 3)
        assert value["topics"][0]["label"].startswith("A ")
        assert value["edits"]["moved"] == {}
    assert ("# split" in run_cli("edit", planted_run, "--init").out, "# split" in out) == (True, False)
    run_cli("edit", planted_run, "--init", "-o", "init.toml", code=2)
    run_cli("edit", planted_run, "init.toml", "--init", code=2)
    run_cli("edit", planted_run, code=2)


def test_documents_that_are_gone_or_have_changed_are_named(tmp_path: Path) -> None:
    rows = [{k: v for k, v in row.items() if k != "embedding"} for row in planted_rows(10)]
    for kind, options in (("lda-gibbs", ["--k", 3, "--sweeps", 10]),):
        path = write_jsonl(tmp_path / "x.jsonl", rows)
        run_cli(kind, "x.jsonl", *options, "-q", "-o", "run")
        shutil.move(path, "elsewhere.jsonl")
        assert (
            "and its texts are needed; restore it"
            in run_cli("edit", "run", edits("drop = [0]"), "-o", "new", code=3).err
        )
        run_cli("edit", "run", edits("drop = [0]"), "--documents", "elsewhere.jsonl", "-q", "-o", "new")
        write_jsonl(path, [*rows[:-1], {**rows[-1], "text": "other words"}])
        assert "has changed" in run_cli("edit", "run", edits("drop = [0]"), "-o", "newer", code=3).err
        done = run_cli("edit", "run", edits("drop = [0]"), "--documents", "x.jsonl", "-o", "newer", code=3)
        assert rows[-1]["id"] in done.err
        write_jsonl(path, rows[:-1])
        run_cli("edit", "run", edits("drop = [0]"), "--documents", "x.jsonl", "-o", "newer", code=3)
        assert not Path("newer").exists()


def test_texts_of_embeddings_must_be_those_of_the_fit(own_run: Path, planted: Path) -> None:
    rows = planted_rows()
    write_embedded(Path("other.parquet"), [{**rows[0], "text": "another text"}, *rows[1:]])
    done = run_cli("edit", own_run, edits("drop = [0]"), "--documents", "other.parquet", "-o", "new", code=3)
    assert rows[0]["id"] in done.err
    known = read(own_run / "model/training.parquet")["text_hash"].to_pylist()
    assert text_hash(rows[1]["text"]) in known


def test_runs_that_were_changed_by_hand_are_refused_but_for_names(own_run: Path) -> None:
    topics = pq.read_table(own_run / "topics.parquet")
    at = topics.schema.get_field_index("label")
    pq.write_table(
        topics.set_column(at, "label", [["By hand", *topics["label"].to_pylist()[1:]]]), own_run / "topics.parquet"
    )
    value = edited(own_run, "merge = [[0, 1]]")
    assert value["topics"][0]["label"] == "By hand"
    table = pq.read_table(own_run / "documents.parquet")
    pq.write_table(table.slice(0, 100), own_run / "documents.parquet")
    assert "was changed" in run_cli("edit", own_run, edits("drop = [0]"), "-o", "newer", code=3).err
    run_cli("edit", own_run, edits("drop = [0]"), "--no-verify", "-o", "newer", code=3)
    assert not Path("newer").exists()


@pytest.mark.parametrize("name", ["n_topics", "stability", "way"])
def test_runs_of_before_lack_what_is_newer(name: str, own_run: Path) -> None:
    training = own_run / "model/training.parquet"
    metadata = pq.read_table(training).schema.metadata
    if name == "way":
        pq.write_table(pq.read_table(training).drop_columns(["way"]).replace_schema_metadata(metadata), training)
    elif name == "stability":
        topics = pq.read_table(own_run / "topics.parquet")
        pq.write_table(
            topics.drop_columns(["stability"]).replace_schema_metadata(topics.schema.metadata),
            own_run / "topics.parquet",
        )
    run_cli("edit", own_run, edits("merge = [[0, 1]]"), "--no-verify", "-q", "-o", "new")
    assert len(label_of_topic("new")) == 3


def test_other_runs_and_damaged_ones_are_refused(planted: Path, planted_lda: Path, tmp_path: Path) -> None:
    run_cli("rolling-lda", planted, "--k", 3, "--chunks", "year", "--sweeps", 5, "-q", "-o", "rolling")
    assert (
        "topics of a rolling model continue with every update; they"
        in run_cli("edit", "rolling", edits("drop = [0]"), "-o", "new", code=3).err
    )
    run_cli("classify", planted, "--model", "nb", "-q", "-o", "nb")
    run_cli("edit", "nb", edits("drop = [0]"), "-o", "new", code=3)
    run = Path(shutil.copytree(planted_lda, tmp_path / "older"))
    (run / "model/doc_topic.parquet").unlink()
    run_cli("edit", run, edits("drop = [0]"), "-o", "new", code=3)
    value = manifest(run)
    del value["outputs"]["model/doc_topic.parquet"]
    (run / "manifest.json").write_text(json.dumps(value), encoding="utf-8")
    assert "fit it again" in run_cli("edit", run, edits("drop = [0]"), "-o", "new", code=3).err
    assert not Path("new").exists()


def test_nothing_is_replaced_without_force_and_the_run_stays(own_run: Path) -> None:
    before = files(own_run)
    edited(own_run, "drop = [0]")
    run_cli("edit", own_run, edits("drop = [1]"), "-o", "new", code=2)
    run_cli("edit", own_run, edits("drop = [1]"), "-o", own_run, "-f", code=2)
    run_cli("edit", own_run, edits("drop = [1]"), "-o", "edits.toml", code=2)
    there = sorted(Path().iterdir())
    shown = run_cli("edit", own_run, edits("drop = [1]"), "-n", "--json", "-q").json()
    assert (shown["rows"], sorted(Path().iterdir())) == (120, there)
    assert files(own_run) == before


def test_the_same_bytes_on_any_number_of_threads(planted_run: Path, planted_lda: Path) -> None:
    for run in (planted_run, planted_lda):
        text = "split = { 0 = 3 }\nmerge = [[1, 2]]"
        for threads in (1, 2):
            run_cli("edit", run, edits(text), "--threads", threads, "-q", "-o", f"{run.name}{threads}")
        assert contents(f"{run.name}1") == contents(f"{run.name}2")


def test_from_python(planted_run: Path) -> None:
    result = nk.edit(planted_run, edits("merge = [[0, 1]]"), strict=True)
    assert sorted(result.sources) == [[0, 1], [2], [3]]
    assert result.topics.num_rows == 3
    result.save("new")
    assert topics_of(Path("new")).keys() == topics_of(planted_run).keys()
    assert "merge" in nk.edits_template(planted_run)


def test_documents_in_memory_are_given_again() -> None:
    texts = [row["text"] for row in planted_rows(10)]
    nk.fit_lda(texts, k=3, sweeps=10).save("run")
    with refuses("documents", InputError):
        nk.edit("run", edits("drop = [0]"))
    with refuses(None, InputError):
        nk.edit("run", edits("drop = [0]"), documents=[*texts[:-1], "other words"])
    assert nk.edit("run", edits("drop = [0]"), documents=texts).sources == [[2], [1]]


def test_common_edits_on_the_command_line_and_in_python(planted_run: Path) -> None:
    run_cli("edit", planted_run, "--merge", "1,3", "--rename", "0=A = B", "--rename", "2=Two", "-q", "-o", "new")
    by_file = edited(planted_run, 'merge = [[1, 3]]\n[rename]\n0 = "A = B"\n2 = "Two"\n', "--force")
    assert manifest("new")["lineage"]["edits"]["applied"] == by_file["edits"]["applied"]
    assert len(read("new/topics.parquet")) == 3
    assert {"A = B", "Two"} <= set(read("new/topics.parquet")["label"].to_pylist())
    run_cli("edit", planted_run, "--reduce-to", "2", "-q", "-o", "two")
    assert len(read("two/topics.parquet")) == 2
    result = nk.edit(planted_run, merge=[[1, 3]], rename={0: "A = B", 2: "Two"})
    assert result.topics.equals(read("new/topics.parquet").replace_schema_metadata())
    assert len(nk.edit(planted_run, reduce_to=2).topics) == 2


def test_common_edits_that_cannot_be_made(planted_run: Path) -> None:
    for words, says in (
        (("--merge", "1"), "--merge 1: write the numbers of two topics or more, such as 6,8"),
        (("--merge", "1,x"), "write the numbers of two topics or more"),
        (("--rename", "Prices"), "--rename Prices: write a topic and its name, such as 0=Prices"),
        (("--rename", "1="), "write a topic and its name"),
        ((), "no edits are named; give --merge, --split, --rename, --hide or --reduce-to, or a TOML file"),
        (
            (edits("drop = [1]"), "--merge", "1,2"),
            "the edits are in a file, and others such as --merge or --rename are there too",
        ),
    ):
        assert says in run_cli("edit", planted_run, *words, "-o", "new", code=2).error()
    assert "topic 99" in run_cli("edit", planted_run, "--merge", "1,99", "-o", "new", code=3).error()


def test_a_review_is_kept_undone_and_stays_with_later_edits(planted_run: Path, planted_lda: Path) -> None:
    for run in (planted_run, planted_lda):
        first, second = Path(f"first-{run.name}"), Path(f"second-{run.name}")
        said = edits('hide = [2]\n[judgements]\n0 = "understood"\n1 = "junk"\n[notes]\n0 = "prices"\n')
        run_cli("edit", run, said, "-q", "-o", first)
        run_cli("edit", first, "--merge", "0,1", "-q", "-o", second)
        review = manifest(second)["lineage"]["review"]
        assert (review["judgements"], review["notes"]) == ({"0": "understood"}, {"0": "prices"})
        assert len(review["hidden"]) == 1
        undone = run_cli("edit", second, "--undo", "--json", "-q").json()
        assert (undone["run"], undone["undone"]) == (str(first), str(second))
        assert undone["edits"]["applied"]["merge"] == [[0, 1]]
    run_cli("edit", planted_run, "--undo", code=3)
    shutil.rmtree(first)
    assert "is gone or has changed" in run_cli("edit", second, "--undo", code=3).err
    run_cli("edit", second, "--undo", "--merge", "0,1", code=2)


def test_topics_are_split_and_hidden_on_the_command_line(planted_run: Path, planted_lda: Path) -> None:
    K = nk.load(planted_run).topics.num_rows
    run_cli("edit", planted_run, "--split", "0", "--split", "1=3", "--hide", "2", "-q", "-o", "parts")
    assert nk.load("parts").topics.num_rows == K + 3
    assert "LDA has no vectors" in run_cli("edit", planted_lda, "--split", "0", "-o", "no", code=3).err
    assert nk.edit(planted_run, split={0: 2}, hide=[1]).lineage["review"] == {"hidden": [1]}
