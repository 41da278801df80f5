"""nlpkit words: neighbours, analogies, similarity, the odd one out; beside gensim's; and what cannot be answered."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit.platform.cli.catalogue import COMMANDS
from nlpkit.words.files import load_word_vectors, write_word2vec
from nlpkit.words.vectors import WordVectors
from tests.command_line import NEWS, ROOT, footer, needs_gensim, planted_rows, read, run_cli, run_line, write_jsonl

TEXT = "\n".join(
    [
        "9 3", "man 1 0 0", "king 1 1 0", "woman 0 0 1", "queen 0.1 1 1", "prince 1 0.9 0.2", "river -1 0.2 0", "boat -1 0.1 0.1",
        "Paris 0 -1 0", "zero 0 0 0",
    ]
)  # fmt: skip


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "v.txt"
    path.write_text(TEXT + "\n", encoding="utf-8")
    return path


def test_nearest(vectors: Path) -> None:
    found = run_cli("words", "nearest", vectors, "river", "king", "--top", "2", "--json").json()
    assert [(n["word"], n["nearest"]) for n in found["neighbours"]] == [
        ("river", "boat"), ("river", "queen"), ("king", "prince"), ("king", "man"),
    ]  # fmt: skip
    assert found["neighbours"][0]["cosine"] == pytest.approx(1.02 / np.sqrt(1.04 * 1.02))
    assert found["searched"] == 9
    few = run_cli("words", "nearest", vectors, "Boat", "--most-frequent", "4", "--json").json()["neighbours"]
    assert {n["nearest"] for n in few} == {"man", "king", "woman", "queen"}
    assert "no vector of 'Boat'" in run_cli("words", "nearest", vectors, "Boat", "--no-lower", code=3).error()
    assert "words like it: river" in run_cli("words", "nearest", vectors, "rivers", code=3).error()


def test_a_table(vectors: Path) -> None:
    run_cli("words", "nearest", vectors, "river", "-q", "-o", "n.parquet")
    assert read("n.parquet").column_names == ["word", "rank", "nearest", "cosine", "count"]
    block = footer("n.parquet")
    assert (block["kind"], block["command"], block["inputs"][0]["path"]) == ("word_neighbours", "words", str(vectors))
    assert json.loads(run_cli("words", "nearest", vectors, "river", "-o", "-", "-q").out.splitlines()[0])["rank"] == 1
    vectors.rename("v.csv.txt")
    Path("w.parquet").write_bytes(b"")
    assert "exists" in run_cli("words", "nearest", "v.csv.txt", "river", "-o", "w.parquet", code=2).error()


def test_analogy(vectors: Path) -> None:
    line = ("words", "analogy", vectors, "man", "king", "woman", "--top", "20", "--json", "--measure")
    units = load_word_vectors(vectors).units
    man, king, woman, queen = (units[i].astype(float) @ units[3] for i in range(4))
    by_hand = {"3cosadd": king - man + woman, "3cosmul": (king + 1) / 2 * (woman + 1) / 2 / ((man + 1) / 2 + 0.001)}
    assert queen == pytest.approx(1)
    for measure, score in by_hand.items():
        scores = {a["answer"]: a["score"] for a in run_cli(*line, measure).json()["answers"]}
        assert not {"man", "king", "woman"} & set(scores)
        assert scores["queen"] == pytest.approx(score, rel=1e-5)
        assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert run_cli(*line, "3cosadd").json()["answers"][0]["answer"] == "queen"
    done = run_cli("words", "analogy", vectors, "man", "king", "woman")
    assert "queen" in done.out.splitlines()[2]


def test_questions_by_section(vectors: Path) -> None:
    Path("q.txt").write_text(
        ": family\nman king woman queen\nMAN KING WOMAN QUEEN\nman woman king queen\n: gram1-x\nman king river boat\nman king no where\n",
        encoding="utf-8",
    )
    found = run_cli("words", "analogy", vectors, "--questions", "q.txt", "--json").json()
    rows = {row["section"]: row for row in found["sections"]}
    assert [row["section"] for row in found["sections"]] == ["family", "gram1-x", "semantic", "syntactic", "all"]
    assert (rows["family"]["answered"], rows["gram1-x"]["questions"], rows["gram1-x"]["answered"]) == (3, 2, 1)
    assert rows["all"]["right"] == rows["family"]["right"] + rows["gram1-x"]["right"]
    assert rows["all"]["accuracy"] == rows["all"]["right"] / 4 == found["accuracy"]
    assert rows["all"]["low"] < found["accuracy"] <= rows["all"]["high"]
    assert found["coverage"] == 0.8
    strict = run_cli("words", "analogy", vectors, "--questions", "q.txt", "--no-lower", "--json").json()
    assert {row["section"]: row["answered"] for row in strict["sections"]}["family"] == 2
    assert "0.8" not in run_cli("words", "analogy", vectors, "--questions", "q.txt").out
    assert "80.0% of the questions" in run_cli("words", "analogy", vectors, "--questions", "q.txt").err


@pytest.mark.parametrize("text", ["man king 8.5\nriver boat 9\nman river 1\nhouse tree 3\n",
    "Word 1\tWord 2\tHuman\nman\tking\t8.5\nriver\tboat\t9\nman\triver\t1\nhouse\ttree\t3\n",
    "word1,word2,score\nman,king,8.5\nRiver,boat,9\nman,river,1\nhouse,tree,3\n",
    "word1\tword2\tPOS\tSimLex999\tx\nman\tking\tN\t8.5\t3\nriver\tboat\tN\t9\t3\nman\triver\tN\t1\t3\nhouse\ttree\tN\t3\t3\n"],
)  # fmt: skip
def test_rated_pairs(text: str, vectors: Path) -> None:
    Path("p.txt").write_text(text, encoding="utf-8")
    found = run_cli("words", "similarity", vectors, "--pairs", "p.txt", "--json").json()
    assert (found["pairs_with_vectors"], found["pairs_in_file"]) == (3, 4)
    assert found["spearman"] == pytest.approx(1.0)
    assert [p["rating"] for p in found["pairs"]] == [8.5, 9, 1, 3]
    assert found["pairs"][3]["cosine"] is None
    assert "3 of 4 pairs have two vectors" in run_cli("words", "similarity", vectors, "--pairs", "p.txt").err


def test_similarity_and_the_odd_one(vectors: Path) -> None:
    found = run_cli("words", "similarity", vectors, "man", "king", "zero", "--json").json()["pairs"]
    assert [p["cosine"] for p in found] == pytest.approx([np.sqrt(0.5), 0, 0])
    odd = run_cli("words", "odd-one-out", vectors, "man", "king", "river", "queen", "--json").json()
    assert odd["odd"] == "river"
    assert nk.odd_one_out(vectors, ["man", "king", "Paris"]).facts["odd"] == "Paris"


@needs_gensim
def test_files_of_gensims_tests_give_gensims_scores(tmp_path: Path) -> None:
    """WordSim-353, SimLex-999 and the analogies that come with gensim, on vectors that have some of their words."""
    gensim = pytest.importorskip("gensim.models")
    data = pytest.importorskip("gensim.test.utils").datapath
    rng = np.random.default_rng(0)
    lines = Path(data("questions-words.txt")).read_text(encoding="utf-8").splitlines()
    words = sorted({word.lower() for line in lines if not line.startswith(":") for word in line.split()[:2]})
    words += [w for w in ("tiger", "cat", "book", "paper", "computer", "keyboard", "internet", "plane", "car", "old", "new", "hard",
                          "difficult", "happy", "easy", "fast", "rapid") if w not in words]  # fmt: skip
    keyed = gensim.KeyedVectors(20)
    keyed.add_vectors(words, (rng.normal(size=(len(words), 20)) + 0.3).astype(np.float32))
    # pairs of the first section become exact analogies
    for line in lines[1:507]:
        a, b, *_ = line.lower().split()
        keyed.vectors[keyed.key_to_index[b]] = keyed.vectors[keyed.key_to_index[a]] + 0.7
    keyed.fill_norms(force=True)
    known = WordVectors(tuple(words), keyed.vectors)
    write_word2vec(tmp_path / "v.bin", known)
    accuracy, sections = keyed.evaluate_word_analogies(data("questions-words.txt"))
    ours = nk.analogies(tmp_path / "v.bin", data("questions-words.txt"))
    assert ours.facts["accuracy"] == pytest.approx(accuracy)
    assert accuracy > 0.01
    of_gensim = {s["section"]: (len(s["correct"]), len(s["correct"]) + len(s["incorrect"])) for s in sections}
    rows = ours.table.to_pylist()
    assert {row["section"]: (row["right"], row["answered"]) for row in rows if row["section"] in of_gensim} == {
        name: counts for name, counts in of_gensim.items() if name in {row["section"] for row in rows}
    }
    for name in ("wordsim353.tsv", "simlex999.txt"):
        pearson, spearman, missing = keyed.evaluate_word_pairs(data(name))
        compared = nk.word_similarity(tmp_path / "v.bin", pairs=data(name)).facts
        assert compared["spearman"] == pytest.approx(spearman[0], abs=1e-6)
        assert compared["pearson"] == pytest.approx(pearson[0], abs=1e-6)
        assert 100 * (1 - compared["pairs_with_vectors"] / compared["pairs_in_file"]) == pytest.approx(missing)
    assert (
        keyed.doesnt_match(["tiger", "cat", "book", "car"])
        == nk.odd_one_out(tmp_path / "v.bin", ["tiger", "cat", "book", "car"]).facts["odd"]
    )
    near = nk.nearest_words(tmp_path / "v.bin", ["tiger"], top=5).table
    assert list(zip(near["nearest"].to_pylist(), near["cosine"].to_pylist(), strict=True)) == [
        (word, pytest.approx(cosine, abs=1e-6)) for word, cosine in keyed.most_similar("tiger", topn=5)
    ]


@needs_gensim
def test_a_word_outside_the_vocabulary_has_the_vector_of_its_ngrams(tmp_path: Path) -> None:
    rows = [{k: v for k, v in row.items() if k != "embedding"} for row in planted_rows()]
    corpus = write_jsonl(tmp_path / "docs.jsonl", rows)
    line = (
        "embed-words", corpus, "--method", "fasttext", "--buckets", "400000", "--dimensions", "16", "-q", "-o",
        "run",
    )  # fmt: skip
    run_cli(*line)
    done = run_cli("words", "nearest", "run", "bridges", "--top", "3")
    assert "'bridges' is not in the vocabulary; its vector comes from its n-grams" in done.err
    assert "bridge" in done.out
    assert "its n-grams are unknown, too" in run_cli("words", "nearest", "run", "日本語日本語", code=3).error()


def bad_files() -> dict[str, bytes]:
    head = b"2 2\n"
    return {
        "nan.txt": b"a nan 1\nb 0 1\n", "inf.txt": b"a 1 inf\n", "short.txt": b"a 1 2\nb 1\n", "text.txt": b"this is a text\n",
        "empty.txt": b"", "header.txt": b"2 3\n", "short.bin": head + b"a " + bytes(8), "none.bin": b"x" * 40_000,
        "huge.bin": b"5000000000 99999\na ", "v.model": b"",
        "nan.bin": head + b"a " + np.array([np.nan, 1], "<f4").tobytes() + b"\nb " + bytes(8),
        "binary.txt": bytes(range(256)) * 4,
    }  # fmt: skip


@pytest.mark.parametrize("name", bad_files())
def test_what_is_no_file_of_vectors(name: str) -> None:
    Path(name).write_bytes(bad_files()[name])
    assert name in run_cli("words", "nearest", name, "a", code=3).error()


def test_parquet(vectors: Path) -> None:
    known = load_word_vectors(vectors)
    pq.write_table(pa.table({"term": list(known.words), "embedding": known.vectors.tolist()}), "v.parquet")
    assert (load_word_vectors(Path("v.parquet")).vectors == known.vectors).all()
    pq.write_table(pa.table({"term": ["a", "a"], "embedding": [[1.0], [2.0]]}), "twice.parquet")
    assert "has the word 'a' twice" in run_cli("words", "nearest", "twice.parquet", "a", code=3).error()
    pq.write_table(pa.table({"term": ["a", "b"], "embedding": [[1.0], [float("nan")]]}), "nan.parquet")
    assert "not finite" in run_cli("words", "nearest", "nan.parquet", "a", code=3).error()
    pq.write_table(pa.table({"x": ["a"]}), "x.parquet")
    assert "term (or word) and embedding were needed" in run_cli("words", "nearest", "x.parquet", "a", code=3).error()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["analogy", "V"], 2, "--questions FILE"),
        (["analogy", "V", "man", "king", "woman", "--measure", "x"], 2, "3cosadd"),
        (["analogy", "V", "--questions", "none.txt"], 3, "none.txt"),
        (["analogy", "V", "--questions", "three.txt"], 3, "three.txt:2: four words were needed"),
        (["analogy", "V", "--questions", "foreign.txt"], 3, "none of the 1 questions"),
        (["similarity", "V"], 2, "--pairs FILE"),
        (["similarity", "V", "--pairs", "rated.txt"], 3, "no pair of rated.txt has two words with a vector"),
        (["odd-one-out", "V", "man", "king", "man"], 2, "three different words"),
        (["nearest", "nothing.txt", "man"], 3, "nothing.txt"),
        (["nearest", ".", "man"], 3, "not a run directory"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered(words: list[str], code: int, says: str, vectors: Path) -> None:
    for name, text in {
        "three.txt": ": x\na b c\n",
        "foreign.txt": "eins zwei drei vier\n",
        "rated.txt": "eins zwei 3\n",
    }.items():
        Path(name).write_text(text, encoding="utf-8")
    assert says in run_cli("words", *[str(vectors) if w == "V" else w for w in words], code=code).error()


def test_dry_run(vectors: Path) -> None:
    assert run_cli("words", "nearest", vectors, "man", "--dry-run", "--json").json()["words"] == 1
    assert run_cli("words", "analogy", vectors, "a", "b", "c", "--dry-run", "--json").json()["questions"] == "a b c"


@needs_gensim
def test_examples_run_as_printed(tmp_path: Path) -> None:
    """On vectors of the sample corpus, and the files that come with gensim."""
    data = pytest.importorskip("gensim.test.utils").datapath
    line = (
        "embed-words", NEWS, "--method", "pmi-svd", "--min-count", "3", "-q", "-o", "vectors", "--save-word2vec",
        "glove.txt",
    )  # fmt: skip
    run_cli(*line)
    for name in ("questions-words.txt", "wordsim353.tsv", "simlex999.txt"):
        shutil.copy(data(name), tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    for name in ("early", "late"):
        shutil.copytree("vectors", name)
    for member in ("", *COMMANDS["words"].members):
        printed = run_cli("words", *member.split(), "--help").out.splitlines()
        lines = [line.strip() for line in printed if line.startswith("  nlpkit words ")]
        assert len(lines) == 3
        for line in lines:
            run_line(line, tmp_path)
