"""nlpkit predict with a run of lda-gibbs: topics of new text, cut as that of the fit; ids and columns kept, runs that cannot predict."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.command_line import (
    footer,
    planted_rows,
    read,
    run_cli,
    topics_of,
    write_jsonl,
)

OWN = ["topic", "topic_prob", "nearest_topic", "margin"]
NEW = [
    {"id": "r", "text": "The river flooded: boats, a ferry, the bridge and the lock under water. Flood! River, weir."},
    {"id": "j", "text": "judge jury court trial lawyer verdict", "extra": 3},
    {"id": "none", "text": "Nothing of this kind was known."},
    {"id": "empty", "text": ""},
    {"id": "s", "text": "MOON orbit rocket, moon planet comet"},
]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted corpus as raw text."""
    rows = [{k: v for k, v in row.items() if k != "embedding"} for row in planted_rows()]
    return write_jsonl(tmp_path_factory.mktemp("predict") / "x.jsonl", rows)


@pytest.fixture(scope="session")
def lda(corpus: Path) -> Path:
    """A run on it."""
    run = corpus.parent / "run"
    run_cli("lda-gibbs", corpus, "--k", "4", "--sweeps", "60", "-q", "-o", run)
    return run


@pytest.fixture
def own_lda(lda: Path, tmp_path: Path) -> Path:
    """A copy of it, for tests that damage it."""
    return Path(shutil.copytree(lda, tmp_path / "own_lda"))


def topic_of_label(run: Path) -> dict[str, int]:
    documents = read(run / "documents.parquet").to_pylist()
    pairs = Counter((row["label"], row["topic"]) for row in documents)
    return {label: k for (label, k), n in pairs.items() if n > 15}


def predicted(path: str = "p.parquet") -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in read(path).to_pylist()}


# ---------------------------------------------------------------- what comes out


def test_new_text_has_the_topic_of_its_words(lda: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", NEW)
    done = run_cli("predict", lda, "new.jsonl", "-o", "p.parquet")
    found, topic = predicted(), topic_of_label(lda)
    assert list(found) == [row["id"] for row in NEW]
    assert [found[i]["topic"] for i in ("r", "j", "s")] == [topic[label] for label in ("rivers", "courts", "space")]
    for i in ("none", "empty"):
        assert [found[i][name] for name in OWN] == [-1, 0, -1, 0]
    assert all(found[i]["topic_prob"] > 0.6 for i in ("r", "j", "s"))
    assert all(found[i]["margin"] <= found[i]["topic_prob"] for i in found)
    assert f"5 documents: 3 with a topic, 2 without a word that the run {lda} knows (topic -1)\n" in done.err
    assert "wrote p.parquet; next: nlpkit ctfidf p.parquet --by topic" in done.err
    assert done.out == ""


def test_columns_and_footer(lda: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", NEW)
    run_cli("predict", lda, "new.jsonl", "-q", "-o", "p.parquet")
    table = read("p.parquet")
    assert table.column_names == ["id", "text", "extra", *OWN]
    assert [table.schema.field(n).type for n in OWN] == [pa.int32(), pa.float32(), pa.int32(), pa.float32()]
    assert table.select(["id", "text", "extra"]).to_pylist() == [{"extra": None, **row} for row in NEW]
    block = footer("p.parquet")
    assert (block["kind"], block["command"], block["seed"]) == ("documents", "predict", 42)
    assert block["parameters"]["model"] == str(lda)


def test_a_table_keeps_all_its_columns(planted: Path, lda: Path) -> None:
    run_cli("preprocess", planted, "-q", "-o", "docs.parquet")
    run_cli("predict", lda, "docs.parquet", "-q", "-o", "p.parquet")
    before, after = read("docs.parquet"), read("p.parquet")
    assert after.column_names == [*before.column_names, *OWN]
    assert {"tokens", "embedding"} < set(after.column_names)
    assert after.select(before.column_names).to_pylist() == before.to_pylist()
    assert [step["command"] for step in footer("p.parquet")["steps"]] == ["sbert-embed", "preprocess"]
    topic = topic_of_label(lda)
    assert all(row["topic"] == topic[row["label"]] for row in after.select(["label", "topic"]).to_pylist())


def test_documents_of_the_fit_keep_what_they_have(tmp_path: Path) -> None:
    """Before, 43 of 2,225 documents had another topic than in the fit, and probabilities differed by up to 0.15."""
    rng = np.random.default_rng(6)
    words = [f"word{i}" for i in range(30)]
    rows = [{"id": f"d{i}", "text": " ".join(rng.choice(words, 6)) + (f" once{i}" if i < 5 else "")} for i in range(80)]
    rows += [{"id": f"copy{i}", "text": rows[i]["text"]} for i in range(10)] + [{"id": "none", "text": ""}]
    write_jsonl(tmp_path / "x.jsonl", rows)
    run_cli("lda-gibbs", "x.jsonl", "--k", "4", "--sweeps", "20", "-q", "-o", "run")
    done = run_cli("predict", "run", "x.jsonl", "--seed", "3", "-o", "p.parquet")
    fitted, found = read("run/documents.parquet").select(["id", *OWN]), read("p.parquet").select(["id", *OWN])
    assert found.to_pylist() == fitted.to_pylist()
    assert "91 documents: 90 with a topic, 1 without a word that the run run knows (topic -1)\n" in done.err
    assert "90 known from the fit, with the topic they have there\n" in done.err
    # copies may have topics of their own in a fit: by id they are told apart, and other copies are the first
    write_jsonl(
        tmp_path / "y.jsonl", [{"id": "other", "text": rows[3]["text"]}, {"id": "copy3", "text": rows[3]["text"]}]
    )
    run_cli("predict", "run", "y.jsonl", "-q", "-o", "y.parquet")
    of_id = {row["id"]: row for row in fitted.to_pylist()}
    assert [row["topic_prob"] for row in read("y.parquet").to_pylist()] == [
        of_id[i]["topic_prob"] for i in ("d3", "copy3")
    ]


def test_words_that_the_fit_left_out_are_told_from_new_ones(tmp_path: Path) -> None:
    """Before, those that --min-df left out alarmed as words "not in its vocabulary"."""
    rows = [{"id": str(i), "text": f"river boat moon judge rare{i}"} for i in range(30)]
    write_jsonl(tmp_path / "x.jsonl", rows)
    run_cli("lda-gibbs", "x.jsonl", "--k", "2", "--min-df", "2", "--sweeps", "5", "-q", "-o", "run")
    done = run_cli("predict", "run", "x.jsonl", "-o", "p.parquet")
    assert "30 of 150 tokens (20%) are not in its vocabulary: 30 of words that the fit left out (--min-df" in done.err
    write_jsonl(tmp_path / "new.jsonl", [{"text": "river boat rare3 zebra"}])
    done = run_cli("predict", "run", "new.jsonl", "-o", "n.parquet")
    assert "2 of 4 tokens (50%) are not in its vocabulary: 1 of words that the fit left out (--min-df and" in done.err
    run_cli("preprocess", "x.jsonl", "--min-df", "2", "-q", "-o", "docs.parquet")
    run_cli("lda-gibbs", "docs.parquet", "--k", "2", "--sweeps", "5", "-q", "-o", "given")
    done = run_cli("predict", "given", "new.jsonl", "-o", "g.parquet")
    assert "2 of 4 tokens (50%) are not in its vocabulary: words that the fit left out or never saw\n" in done.err


def test_a_run_without_its_texts_predicts_all_anew(corpus: Path, own_lda: Path) -> None:
    """Runs of before 2026-11 have neither model/training.parquet nor model/left_out.parquet."""
    outputs = json.loads((own_lda / "manifest.json").read_text())
    for name in ("training", "left_out"):
        (own_lda / "model" / f"{name}.parquet").unlink()
        del outputs["outputs"][f"model/{name}.parquet"]
    (own_lda / "manifest.json").write_text(json.dumps(outputs))
    done = run_cli("predict", own_lda, corpus, "-o", "p.parquet")
    assert "120 documents: 120 with a topic\n" in done.err
    fitted = topics_of(own_lda)
    assert np.mean([row["topic"] == fitted[i] for i, row in predicted().items()]) > 0.98


def test_topics_of_its_own_are_replaced(lda: Path, tmp_path: Path) -> None:
    rows = [{"id": row["id"], "topic": "old", "text": row["text"], "margin": 9} for row in NEW]
    done = run_cli("predict", lda, write_jsonl(tmp_path / "new.jsonl", rows), "-o", "p.parquet")
    for name in ("topic", "margin"):
        assert f"warning: the column '{name}' of the input is replaced" in done.err
    assert read("p.parquet").schema.field("topic").type == pa.int32()
    assert sorted(read("p.parquet").column_names) == sorted(["id", "text", *OWN])


def test_unknown_words_are_counted(lda: Path, tmp_path: Path) -> None:
    rows = [{"text": "river river zebra"}, {"text": "zebra giraffe"}, {"text": "moon"}, {"text": None}]
    write_jsonl(tmp_path / "new.jsonl", rows)
    found = run_cli("predict", lda, "new.jsonl", "--json", "-q", "-o", "p.parquet").json()
    assert found == {
        "output": "p.parquet",
        "documents": 3,
        "known": 0,
        "unassigned": 1,
        "tokens": 6,
        "unknown_tokens": 3,
        "left_out_tokens": 0,
    }
    done = run_cli("predict", lda, "new.jsonl", "-f", "-o", "p.parquet")
    assert f"3 documents: 2 with a topic, 1 without a word that the run {lda} knows (topic -1)\n" in done.err
    assert "3 of 6 tokens (50%) are not in its vocabulary: 3 of words that it never saw\n" in done.err
    assert "warning: 1 row could not be used" in done.err
    assert read("p.dropped.parquet").num_rows == 1
    assert run_cli("predict", lda, "new.jsonl", "-f", "-q", "-o", "p.parquet").err == ""


def test_unknown_words_change_no_topic(lda: Path, tmp_path: Path) -> None:
    one = [{"id": row["id"], "text": row["text"]} for row in NEW]
    two = [{"id": row["id"], "text": f"zebra {row['text']} giraffe zebra"} for row in NEW]
    for name, rows in (("one", one), ("two", two)):
        run_cli("predict", lda, write_jsonl(tmp_path / f"{name}.jsonl", rows), "-q", "-o", f"{name}.parquet")
    assert read("one.parquet").select(OWN).equals(read("two.parquet").select(OWN))


# ---------------------------------------------------------------- the same whatever stands beside it


def test_equal_texts_have_equal_topics_wherever_they_stand(corpus: Path, lda: Path, tmp_path: Path) -> None:
    texts = [row["text"] for row in planted_rows()[:40]]
    rows = [{"id": str(i), "text": text} for i, text in enumerate([*texts, *reversed(texts), *[texts[3]] * 5000])]
    write_jsonl(tmp_path / "new.jsonl", rows)
    run_cli("predict", lda, "new.jsonl", "-q", "-o", "p.parquet")
    found = [tuple(row[n] for n in OWN) for row in read("p.parquet").to_pylist()]
    assert (found[40:80], set(found[80:])) == (found[:40][::-1], {found[3]})
    write_jsonl(tmp_path / "ten.jsonl", rows[:10])
    run_cli("predict", lda, "ten.jsonl", "-q", "-o", "ten.parquet")
    assert [tuple(row[n] for n in OWN) for row in read("ten.parquet").to_pylist()] == found[:10]


def new_texts(corpus: Path, path: str = "others.jsonl") -> Path:
    """The planted texts with a word more, so that none is known."""
    rows = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]
    return write_jsonl(Path(path), [{**row, "text": f"{row['text']} zebra"} for row in rows])


def test_threads_change_nothing_and_seeds_do(corpus: Path, lda: Path) -> None:
    corpus = new_texts(corpus)
    for threads in (1, 2, 8):
        run_cli("predict", lda, corpus, "--threads", threads, "-q", "-o", f"p{threads}.parquet")
    assert Path("p1.parquet").read_bytes() == Path("p2.parquet").read_bytes() == Path("p8.parquet").read_bytes()
    run_cli("predict", lda, corpus, "--seed", "7", "-q", "-o", "seven.parquet")
    assert not read("seven.parquet")["topic_prob"].equals(read("p1.parquet")["topic_prob"])


def test_tokens_give_what_their_text_gives(corpus: Path, lda: Path) -> None:
    run_cli("preprocess", corpus, "-q", "-o", "docs.parquet")
    run_cli("predict", lda, "docs.parquet", "-q", "-o", "a.parquet")
    run_cli("predict", lda, corpus, "-q", "-o", "b.parquet")
    assert read("a.parquet").select(OWN).equals(read("b.parquet").select(OWN))


def test_one_topic_has_no_lead(corpus: Path) -> None:
    run_cli("lda-gibbs", corpus, "--k", "1", "--sweeps", "2", "-q", "-o", "run")
    run_cli("predict", "run", corpus, "-q", "-o", "p.parquet")
    for name in OWN:
        assert read("p.parquet")[name].to_pylist() == read("run/documents.parquet")[name].to_pylist()


def test_fixed_and_seeded_topics_predict(corpus: Path, lda: Path, tmp_path: Path) -> None:
    Path("s.toml").write_text("[topics]\nanimals = ['zebra']")
    rows = [{"text": "zebra giraffe lion lion zebra"} for _ in range(12)]
    write_jsonl(tmp_path / "animals.jsonl", rows)
    words = ["--fixed-topics", lda, "--seed-words", "s.toml", "--term-weights", "idf", "--estimate", "mean"]
    run_cli("lda-gibbs", corpus, "animals.jsonl", "--k", "5", "--sweeps", "40", *words, "-q", "-o", "run")
    write_jsonl(tmp_path / "new.jsonl", [{"text": "a lion and a giraffe"}, {"text": "moon orbit rocket"}])
    run_cli("predict", "run", "new.jsonl", "-q", "-o", "p.parquet")
    labels = read("run/topics.parquet")["label"].to_pylist()
    topics = read("p.parquet")["topic"].to_pylist()
    assert labels[topics[0]] == "animals"
    assert topics[1] == topic_of_label(lda)["space"]


# ---------------------------------------------------------------- how new text is cut


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--phrases", "npmi:0.1"], "were made with --phrases of nlpkit preprocess"),
        (["--replace", "rules.txt"], "were made with --replace of nlpkit preprocess"),
    ],
)
def test_what_takes_preprocess_again(options: list[str], says: str, corpus: Path, lda: Path) -> None:
    Path("rules.txt").write_text("moon\tsatellite\n", encoding="utf-8")
    run_cli("preprocess", corpus, *options, "-q", "-o", "docs.parquet")
    run_cli("lda-gibbs", "docs.parquet", "--k", "4", "--sweeps", "5", "-q", "-o", "run")
    error = run_cli("predict", "run", corpus, "-o", "p.parquet", code=3).error()
    assert says in error
    assert "give the new documents a column 'tokens' made in the same way" in error
    run_cli("predict", "run", "docs.parquet", "-q", "-o", "p.parquet")


@pytest.mark.parametrize(
    ("options", "texts", "tokens", "unknown"),
    [
        # The, river, The river are known; THE and river THE are not; "and number" is a pair of every document
        (
            ["--no-lower", "--ngrams", "1,2", "--tokenizer", "whitespace", "--stop-words", "none", "--min-df", "1"],
            ["The river THE", "and number"], 8, 2,
        ),
        # the number is a token, and no tag is
        (["--html", "--keep", "number", "--min-df", "1"], ["<b>moon</b> &amp; river", "moon 4711"], 4, 1),
        (["--stem", "english"], ["planets galaxies telescopes"], 3, 0),
    ],
)  # fmt: skip
def test_new_text_is_cut_as_that_of_the_fit(
    options: list[str], texts: list[str], tokens: int, unknown: int, corpus: Path, tmp_path: Path
) -> None:
    run_cli("preprocess", corpus, *options, "-q", "-o", "docs.parquet")
    run_cli("lda-gibbs", "docs.parquet", "--k", "4", "--sweeps", "20", "-q", "-o", "run")
    write_jsonl(tmp_path / "new.jsonl", [{"text": text} for text in texts])
    found = run_cli("predict", "run", "new.jsonl", "--json", "-q", "-o", "p.parquet").json()
    assert (found["tokens"], found["unknown_tokens"]) == (tokens, unknown)


def test_tokens_of_others_cannot_be_made_again(lda: Path, tmp_path: Path) -> None:
    rows = [{"text": "", "tokens": ["moon", "orbit"]}, {"text": "", "tokens": ["river"]}]
    write_jsonl(tmp_path / "t.jsonl", rows)
    run_cli("lda-gibbs", "t.jsonl", "--k", "2", "--sweeps", "5", "-q", "-o", "run")
    write_jsonl(tmp_path / "new.jsonl", [{"text": "moon"}])
    error = run_cli("predict", "run", "new.jsonl", "-o", "p.parquet", code=3).error()
    assert "the run run does not record how its tokens were made; give the new documents a column 'tokens'" in error
    run_cli("predict", "run", "t.jsonl", "-q", "-o", "p.parquet")


def test_a_state_of_mallet_predicts_for_tokens(corpus: Path) -> None:
    run_cli("preprocess", corpus, "-q", "-o", "docs.parquet")
    run_cli("lda-gibbs", "docs.parquet", "--k", "4", "--sweeps", "40", "--save-assignments", "-q", "-o", "run")
    run_cli("convert", "run", "-q", "-o", "s.gz")
    run_cli("convert", "s.gz", "-q", "-o", "mallet")
    run_cli("preprocess", new_texts(corpus), "--min-df", "1", "-q", "-o", "new.parquet")
    for name in ("run", "mallet"):
        run_cli("predict", name, "new.parquet", "-q", "-o", f"{name}.parquet")
    assert read("run.parquet").equals(read("mallet.parquet"))


# ---------------------------------------------------------------- pipes


def test_json_lines(lda: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", NEW)
    done = run_cli("predict", lda, "new.jsonl", "-o", "-")
    rows = [json.loads(line) for line in done.out.splitlines()]
    run_cli("predict", lda, "new.jsonl", "-q", "-o", "p.parquet")
    assert [(row["id"], row["topic"]) for row in rows] == [(i, row["topic"]) for i, row in predicted().items()]
    assert list(rows[0]) == read("p.parquet").column_names
    assert "5 documents: " in done.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new.jsonl", "p.parquet"]
    error = run_cli("predict", lda, "new.jsonl", "-o", "-", "--json", code=2).error()
    assert "-o - and --json both write to stdout" in error


def test_a_pipeline(corpus: Path, lda: Path, tmp_path: Path) -> None:
    lines = run_cli("predict", lda, "-", "--format", "jsonl", "-q", "-o", "-", input=corpus.read_bytes()).out
    assert run_cli("stats", "-", "--format", "jsonl", "--json", input=lines).json()["documents"] == 120
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- what cannot be predicted


def test_runs_that_cannot_predict(
    corpus: Path, lda: Path, own_lda: Path, planted: Path, planted_run: Path, tmp_path: Path
) -> None:
    def says(*words: Any, code: int = 3) -> str:
        return run_cli("predict", *words, "--no-verify", "-o", "p.parquet", code=code).error()

    (tmp_path / "folder").mkdir()
    says("folder", corpus)
    manifest = json.loads((own_lda / "manifest.json").read_text())
    newer = {**manifest, "schema_version": 99, "nlpkit_version": "9.9"}
    (own_lda / "manifest.json").write_text(json.dumps(newer))
    error = says(own_lda, corpus)
    assert "was written by nlpkit 9.9 with schema version 99" in error
    assert error.endswith("update nlpkit")
    (own_lda / "manifest.json").write_text(json.dumps(manifest))
    config = json.loads((own_lda / "model" / "config.json").read_text())
    (own_lda / "model" / "config.json").write_text(json.dumps({**config, "n_topics": 5}))
    assert "own_lda is damaged: the parts of its model do not fit" in says(own_lda, corpus)
    (own_lda / "model" / "config.json").write_text("{}")
    assert "config.json has no 'n_topics'; the run directory is damaged" in says(own_lda, corpus)
    (own_lda / "model" / "config.json").write_text(json.dumps(config))
    (own_lda / "model" / "topic_term.parquet").unlink()
    assert "has no model/topic_term.parquet; it is incomplete" in says(own_lda, corpus)
    shutil.rmtree(own_lda / "model")
    assert "has no model/config.json; it is incomplete" in says(own_lda, corpus)
    assert not Path("p.parquet").exists()


def test_documents_that_cannot_be_predicted(corpus: Path, lda: Path, tmp_path: Path) -> None:
    def says(*words: Any, code: int = 3) -> str:
        return run_cli("predict", lda, *words, code=code).error()

    write_jsonl(tmp_path / "numbers.jsonl", [{"n": 1}])
    assert "has no column 'text' (found: n)" in says("numbers.jsonl", "-o", "p.parquet")
    (tmp_path / "p.parquet").write_text("mine")
    assert "to replace it, or name another -o" in says(corpus, "-o", "p.parquet", code=2)
    assert (tmp_path / "p.parquet").read_text() == "mine"


def test_a_text_from_a_pipe_goes_to_the_screen(lda: Path, corpus: Path) -> None:
    text = json.loads(corpus.read_text(encoding="utf-8").splitlines()[0])["text"]
    topic = json.loads(run_cli("predict", lda, "-", "-o", "-", input=f'{{"text": {json.dumps(text)}}}\n').out)["topic"]
    lines = run_cli("predict", lda, "-", input=f"{' '.join(text.split())}\n").out.splitlines()
    assert lines[0].split() == ["id", "topic", "name", "topic_prob", "text"]
    assert lines[2].split()[1] == str(topic)
    says = run_cli("predict", lda, "-", input="two\nlines\n", code=3).error()
    assert "stdin: unknown format; set --format conllu|csv|" in says


def test_documents_without_words(lda: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", [{"text": ""}, {"text": "zebra"}])
    run_cli("predict", lda, "new.jsonl", "-q", "-o", "p.parquet")
    assert read("p.parquet")["topic"].to_pylist() == [-1, -1]


def test_the_plan(corpus: Path, lda: Path, tmp_path: Path) -> None:
    found = run_cli("predict", lda, corpus, "--dry-run", "--json", "-o", "p.parquet").json()
    assert found["rows"] == 120
    assert list(tmp_path.iterdir()) == []


def test_a_fit_to_words_without_settings_does_not_advise_to_predict(tmp_path: Path) -> None:
    """JSON lines of preprocess, as a pipe has them, do not say how tokens were made: predict was advised, and refused."""
    rows = [{"text": f"{'river boat' if i % 2 else 'court law'} number{i % 5}"} for i in range(20)]
    write_jsonl(tmp_path / "x.jsonl", rows)
    for name, knows in (("words.jsonl", False), ("words.parquet", True)):
        run_cli("preprocess", "x.jsonl", "-o", name, "-q")
        done = run_cli("lda-gibbs", name, "--k", "2", "--sweeps", "5", "-o", f"{name}.run")
        assert ("nlpkit predict" in done.err) == knows
        assert ("This run cannot cut new texts" in done.err) != knows
