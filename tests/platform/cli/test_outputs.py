"""What all commands keep to when they write: inputs are safe, the suffix is the format, side files are protected too."""

from __future__ import annotations

import inspect
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from scipy import io as scipy_io
from scipy import sparse

from nlpkit.platform.cli.catalogue import Commands
from nlpkit.platform.options import READ, Files
from tests.command_line import COMMANDS, NEWS, run_cli

LDA = ("--k", 3, "--sweeps", 5, "--no-progress")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = [json.loads(line) for line in Path(NEWS).read_text(encoding="utf-8").splitlines()[:40]]
    path = tmp_path / "corpus.parquet"
    pl.DataFrame([{k: row[k] for k in ("id", "text", "label")} for row in rows]).write_parquet(path)
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("preprocess", "IN", "--limit", 5, "-o", "IN"),
        ("preprocess", "IN", "--limit", 5, "-o", "SOFT"),
        ("preprocess", "IN", "--limit", 5, "-o", "HARD"),
        ("preprocess", "SOFT", "--limit", 5, "-o", "IN"),
        ("preprocess", "DIR", "--limit", 5, "-o", "IN"),
        ("preprocess", "DIR/*.parquet", "--limit", 5, "-o", "IN"),
        ("preprocess", "IN", "--save-vocab", "IN", "-o", "DIR/docs.parquet"),
        ("preprocess", "IN", "--save-removed", "SOFT", "-o", "DIR/docs.parquet"),
        ("tfidf", "IN", "-o", "IN"),
        ("ctfidf", "IN", "--by", "label", "-o", "IN"),
        ("keyness", "IN", "--by", "label", "-o", "IN"),
        ("kwic", "the", "IN", "-o", "IN"),
        ("collocations", "IN", "-o", "IN"),
        ("stats", "IN", "-o", "IN"),
        ("sbert-embed", "IN", "--limit", 5, "-o", "IN"),
        ("sentiment", "IN", "--lexicon", "afinn", "-o", "IN"),
        ("classify", "IN", "--junit", "IN", "-o", "DIR/run"),
        ("cluster", "IN", "--by", "tfidf", "-o", "IN"),
        ("similar", "IN", "word", "--by", "tfidf", "-o", "IN"),
        ("similar-words", "word", "--in", "IN", "-o", "IN"),
        ("rolling-lda", "IN", "--k", "2", "-o", "IN"),
        ("convert", "IN", "-o", "IN"),
        ("evaluate", "IN", "--prediction-col", "label", "-o", "IN"),
        ("evaluate", "IN", "--prediction-col", "label", "--junit", "IN"),
    ],
)
def test_an_input_is_never_overwritten(words: tuple[Any, ...], corpus: Path) -> None:
    before = corpus.read_bytes()
    soft, hard = corpus.with_name("soft.parquet"), corpus.with_name("hard.parquet")
    places = {"IN": corpus, "SOFT": soft, "HARD": hard, "DIR": corpus.parent}
    if "DIR" not in str(words[1]):
        soft.symlink_to(corpus)
        os.link(corpus, hard)
    line = [_placed(word, places) for word in words]
    assert "input" in run_cli(*line, "--force", code=2).error()
    assert "input" in run_cli(*line, code=2).error()
    assert corpus.read_bytes() == before


def _placed(word: Any, places: dict[str, Path]) -> Any:
    for name, path in places.items():
        if isinstance(word, str) and (word == name or word.startswith(f"{name}/")):
            return word.replace(name, str(path), 1)
    return word


def test_a_run_whose_documents_are_read_is_not_replaced(corpus: Path) -> None:
    run = corpus.with_name("run")
    run_cli("lda-gibbs", corpus, *LDA, "-o", run)
    before = {f.name: f.read_bytes() for f in run.iterdir() if f.is_file()}
    for words in (
        (
            "evaluate",
            run / "documents.parquet",
            "--prediction-col",
            "topic",
            "--label-col",
            "label",
            "-o",
            run / "topics.parquet",
        ),
        ("predict", run, corpus, "-o", run / "documents.parquet"),
        ("predict", run, corpus, "-o", run / "doc_topics.parquet"),
    )[1:]:
        assert "and inputs are never overwritten; name another -o" in run_cli(*words, "--force", code=2).error()
    assert {f.name: f.read_bytes() for f in run.iterdir() if f.is_file()} == before


def test_the_list_of_dropped_rows_of_another_output_stays(corpus: Path) -> None:
    listed = corpus.with_name("docs.dropped.parquet")
    listed.write_bytes(corpus.read_bytes())
    target = corpus.with_name("docs.parquet")
    assert "exists" in run_cli("preprocess", corpus, "-o", target, code=2).error()
    assert "input" in run_cli("preprocess", listed, "-o", target, "--force", code=2).error()  # it went without a word
    assert listed.exists()


def test_a_corpus_that_is_named_like_a_checkpoint_is_not_dropped(corpus: Path) -> None:
    rows = pl.read_parquet(corpus).to_dicts()
    source = corpus.with_name("news.checkpoint.k.jsonl")
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    before = source.read_bytes()
    line = (
        "lda-gibbs",
        source,
        "--k",
        "2:3",
        "--sweeps",
        3,
        "--no-progress",
        "-o",
        corpus.with_name("news"),
        "--force",
    )
    assert "is an input as well" in run_cli(*line, code=2).error()
    assert source.read_bytes() == before


@pytest.mark.parametrize("command", ["classify", "evaluate"])
def test_a_report_of_gates_is_not_replaced_without_force(command: str, corpus: Path) -> None:
    junit = corpus.with_name("gates.xml")
    junit.write_text("of yesterday", encoding="utf-8")
    words: tuple[Any, ...] = ("evaluate", corpus, "--prediction-col", "label")
    if command == "classify":
        words = ("classify", corpus, "--model", "nb", "--cv", 2, "-o", corpus.with_name("run"))
    line = (*words, "--fail-under", "accuracy=0", "--junit", junit)
    assert "exists; add" in run_cli(*line, code=2).error()
    assert junit.read_text(encoding="utf-8") == "of yesterday"
    assert not corpus.with_name("run").exists()
    run_cli(*line, "--force")
    assert "<testsuites" in junit.read_text(encoding="utf-8")


def test_two_outputs_never_share_a_file(corpus: Path) -> None:
    docs = corpus.with_name("docs.parquet")
    for words in (
        ("preprocess", corpus, "-o", docs, "--save-vocab", docs),
        ("preprocess", corpus, "-o", docs, "--save-vocab", docs.with_name("docs.dropped.parquet")),
        ("preprocess", corpus, "-o", docs, "--save-vocab", "v.parquet", "--save-removed", "v.parquet"),
        ("tfidf", corpus, "-o", docs, "--select", "chi2", "--features", docs),
        ("evaluate", corpus, "-o", corpus.with_name("x.json"), "--junit", corpus.with_name("x.json")),
    ):
        assert "is already written there; name another file" in run_cli(*words, code=2).error()


# ---------------------------------------------------------------- formats

TABLES: dict[str, tuple[Any, ...]] = {
    "preprocess": ("preprocess", "IN"),
    "features": ("features", "IN", "--include", "counts"),
    "tfidf": ("tfidf", "IN"),
    "ctfidf": ("ctfidf", "IN", "--by", "label"),
    "keyness": ("keyness", "IN", "--by", "label"),
    "kwic": ("kwic", "the", "IN"),
    "collocations": ("collocations", "IN", "--min-count", "1"),
    "stats": ("stats", "IN"),
    "cluster": ("cluster", "IN", "--by", "tfidf", "--k", "2"),
    "similar": ("similar", "IN", "--pairs", "0.05", "--by", "tfidf"),
    "similar-words": ("similar-words", "house", "--in", "IN"),
    "sentiment": ("sentiment", "IN", "--lexicon", "LEXICON"),
    "evaluate": ("evaluate", "IN", "--prediction-col", "label"),
}


@pytest.mark.parametrize("command", list(TABLES))
def test_every_command_writes_every_table(command: str, corpus: Path) -> None:
    lexicon = corpus.with_name("lexicon.tsv")
    lexicon.write_text("good\t1\nbad\t-1\n", encoding="utf-8")
    line = [{"IN": corpus, "LEXICON": lexicon}.get(word, word) for word in TABLES[command]]
    run_cli(*line, "-o", corpus.with_name("t.parquet"))
    rows = pq.read_table(corpus.with_name("t.parquet"))
    for path in corpus.parent.glob("t.*.parquet"):
        path.unlink()
    others = (".tsv", ".arrow") if command == next(iter(TABLES)) else ()  # as csv and parquet are
    for suffix in (".csv", ".jsonl", ".xlsx", *others):
        run_cli(*line, "-o", corpus.with_name(f"t{suffix}"))
        for path in corpus.parent.glob("t.*.parquet"):
            path.unlink()
    csv = pl.read_csv(corpus.with_name("t.csv"), infer_schema_length=None)
    assert (csv.columns, csv.height) == (rows.column_names, rows.num_rows)
    if others:
        assert csv.equals(pl.read_csv(corpus.with_name("t.tsv"), infer_schema_length=None, separator="\t"))
        assert pl.read_ipc(corpus.with_name("t.arrow")).height == rows.num_rows
    lines = corpus.with_name("t.jsonl").read_text(encoding="utf-8").splitlines()
    assert list(json.loads(lines[0])) == rows.column_names
    assert len(lines) == rows.num_rows
    assert corpus.with_name("t.xlsx").read_bytes()[:2] == b"PK"


@pytest.mark.parametrize("command", list(TABLES))
@pytest.mark.parametrize("name", ["t.rds", "t", "t.csv.gz"])
def test_other_suffixes_are_refused(command: str, name: str, corpus: Path) -> None:
    line = [{"IN": corpus}.get(word, word) for word in TABLES[command]]
    error = run_cli(*line, "-o", corpus.with_name(name), code=2).error()
    assert ".parquet .csv .tsv .jsonl .xlsx .dta .sav .arrow or .feather" in error
    if command != "tfidf":
        error = run_cli(*line, "-o", corpus.with_name("t.npz"), code=2).error()
        assert ".npz holds a matrix of weights, which nlpkit tfidf writes" in error
    assert not corpus.with_name(name).exists()


def test_side_tables_have_the_format_of_their_name(corpus: Path) -> None:
    vocab = corpus.with_name("v.csv")
    run_cli("preprocess", corpus, "-o", corpus.with_name("d.parquet"), "--save-vocab", vocab)
    assert pl.read_csv(vocab).columns == ["term", "cf", "df"]
    best = corpus.with_name("best.xlsx")
    run_cli("tfidf", corpus, "--select", "chi2:20", "--features", best)
    assert best.read_bytes()[:2] == b"PK"
    says = run_cli("preprocess", corpus, "--show", 1, "--save-vocab", "v.rds", code=2).error()
    assert "is not a format of nlpkit" in says


def test_a_matrix_market_file_is_the_npz(corpus: Path) -> None:
    npz, mtx = corpus.with_name("w.npz"), corpus.with_name("x.mtx")
    run_cli("tfidf", corpus, "-o", npz)
    told = run_cli("tfidf", corpus, "-o", mtx).err
    assert "x.vocab.parquet" in told
    assert "x.ids.parquet" in told
    found = sparse.csr_array(scipy_io.mmread(mtx))
    assert found.dtype == float
    assert (found != sparse.csr_array(sparse.load_npz(npz))).nnz == 0
    assert found.shape == (40, pq.read_table(corpus.with_name("x.vocab.parquet")).num_rows)
    assert pq.read_table(corpus.with_name("x.ids.parquet")).equals(pq.read_table(corpus.with_name("w.ids.parquet")))


def test_documents_come_back_from_what_nlpkit_wrote(corpus: Path) -> None:
    docs = corpus.with_name("docs.parquet")
    run_cli("preprocess", corpus, "-o", docs)
    wanted = run_cli("ctfidf", docs, "--by", "label", "--json").json()["terms"]
    for suffix in (".csv", ".tsv", ".jsonl", ".xlsx"):
        there = corpus.with_name(f"docs2{suffix}")
        run_cli("preprocess", corpus, "-o", there)
        assert run_cli("ctfidf", there, "--by", "label", "--json").json()["terms"] == wanted


def test_what_to_type_next_is_quoted_for_the_shell(corpus: Path) -> None:
    folder = corpus.with_name("Ordner mit Ä")
    folder.mkdir()
    target = folder / "aus gabe ß.parquet"
    told = run_cli("preprocess", corpus, "-o", target).err
    assert f"next: nlpkit bertopic '{target}' -o run/" in told
    assert f"next: nlpkit info '{folder / 'l d a'}'" in run_cli("lda-gibbs", target, *LDA, "-o", folder / "l d a").err
    assert "; next:" not in run_cli("preprocess", corpus, "-o", folder / "docs.arrow").err  # which is not read again
    missing = run_cli("preprocess", corpus, "-o", corpus.with_name("a b") / "x.parquet", code=3).error()
    assert f"mkdir -p '{corpus.with_name('a b')}'" in missing


def test_no_command_line_is_built_without_quoting() -> None:
    source = Path(__file__).parents[3] / "src" / "nlpkit"
    unquoted = re.compile(rf"nlpkit (?:{'|'.join(COMMANDS)}) [^\"';`]*\{{")
    for file in source.rglob("*.py"):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            assert not unquoted.search(line) or "shell_line" in line, f"{file}:{number}: use shell_line"


# ---------------------------------------------------------------- the marks


def test_every_option_says_whether_its_files_are_read_or_written() -> None:
    writers, readers = set(), set()
    made = Commands()
    listed = [(name, sub) for name, one in made.items() for sub in getattr(one, "commands", {"": one}).values()]
    for command, one in listed:
        for name, parameter in inspect.signature(one.callback).parameters.items():
            marks = [m for m in getattr(parameter.annotation, "__metadata__", ()) if isinstance(m, Files)]
            (writers if marks and marks[0].written else readers if marks else set()).add(name)
            if name.startswith("save_") and "Path" in str(parameter.annotation):
                assert marks, f"{command} --{name}: say that it is written"
    assert writers == {
        "output", "junit", "save_arpa", "save_conllu", "save_vocab", "save_phrases", "save_removed", "save_word2vec",
        "features", "plot", "export", "merges", "tree", "cache", "join", "search_k",
        "save_trends", "save_brief", "save_differences", "save_words", "save_overlaps", "save_probabilities", "page",
    }  # fmt: skip
    assert {
        "inputs", "targets", "encoder", "base", "model", "reference", "heldout", "within", "stop_words", "lexicon",
    } <= readers  # fmt: skip
    assert READ.names(["a", "b"]) == ["a", "b"]


# ---------------------------------------------------------------- tables on the screen


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of 40 classes and their predictions; class 39 has most."""
    path = tmp_path_factory.mktemp("many") / "many.jsonl"
    rows = [
        {"id": f"{k}-{i}", "text": f"word{k} the moon word{k} sea", "label": f"class-{k:02}", "prediction": "class-39"}
        for k in range(40)
        for i in range(2 + 2 * k // 10)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def classes_in(text: str) -> list[str]:
    return re.findall(r"^\s*(class-\d\d)", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "tables", "by_size"),
    [
        (("ctfidf", "IN", "--by", "label"), 1, False),
        (("kwic", "moon", "IN", "--count", "--by", "label"), 1, True),
        (("stats", "IN", "--by", "label", "--language", "none", "--ngrams", "none"), 2, True),
        (("tfidf", "IN", "--select", "chi2", "--min-df", 1), 1, False),
        (("evaluate", "IN"), 1, True),
    ],
)
def test_thirty_classes_are_printed_unless_told_otherwise(
    words: tuple[Any, ...], tables: int, by_size: bool, many: Path
) -> None:
    line = [many if word == "IN" else word for word in words]
    out = run_cli(*line).out
    found = classes_in(out)
    assert len(found) == 30 * tables
    assert out.count("30 of 40") == tables
    assert "--show all" in out
    assert "class-39" in found  # the largest is never left out
    if by_size:
        assert found[0] > "class-34"
    assert len(classes_in(run_cli(*line, "--show", "all").out)) == 40 * tables
    assert len(classes_in(run_cli(*line, "--show", 7).out)) == 7 * tables
    assert classes_in(run_cli(*line, "--show", 0).out) == []
    for wrong in ("-1", "some"):
        run_cli(*line, "--show", wrong, code=2).error()


def test_thirty_topics_are_printed_and_the_documents_without_one(many: Path) -> None:
    run = many.with_name("run")
    line = ("lda-gibbs", many, "--k", 33, "--sweeps", 3, "--no-progress", "-o", run, "--force")
    out = run_cli(*line).out
    assert "the largest 30 of 33 topics; all of them: --show all, or topics.parquet of the run" in out
    assert re.search(r"^ +32 ", out, flags=re.MULTILINE) is None
    assert re.search(r"^ +32 ", run_cli(*line, "--show", "all").out, flags=re.MULTILINE)
    told = run_cli("info", run).out
    assert f"30 of 33 topics; all of them: --show all, or {run}/topics.parquet" in told
    told = run_cli("evaluate", run, "--metrics", "diversity,npmi", "--reference", many).out
    assert "30 of 33 topics" in told


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_narrow_screens_cut_no_number(columns: int, many: Path) -> None:
    env: dict[str, str | None] = {"COLUMNS": str(columns)}
    wide = run_cli("evaluate", many, env={"COLUMNS": "1000"}).out
    narrow = run_cli("evaluate", many, env=env).out
    numbers = re.findall(r"-?\d+\.\d+", wide)
    assert numbers
    assert re.findall(r"-?\d+\.\d+", narrow) == numbers
    assert "balanced_accuracy" in narrow


# ---------------------------------------------------------------- info knows them all


def test_info_knows_every_file_that_nlpkit_writes(many: Path) -> None:
    def facts(name: str | Path, **expected: Any) -> None:
        found = run_cli("info", many.with_name("kinds") / name, "--json", "-q").json()
        assert {k: found[k] for k in expected} == expected, found
        shown = run_cli("info", many.with_name("kinds") / name).out
        assert str(expected["kind"]) in shown

    folder = many.with_name("kinds")
    folder.mkdir()

    def at(name: str) -> Path:
        return folder / name

    for name in ("w.npz", "w.mtx", "w.svm", "w.csv", "w.arrow", "w.xlsx"):
        run_cli("tfidf", many, "-o", at(name), "--min-df", 1, "--force", "-q")
    n = pq.read_table(at("w.ids.parquet")).num_rows
    terms = pq.read_table(at("w.vocab.parquet")).num_rows
    entries = sparse.load_npz(at("w.npz")).nnz
    shape = {"rows": n, "columns": terms, "entries": entries}
    facts("w.npz", kind="matrix (scipy.sparse npz)", **shape)
    facts("w.mtx", kind="matrix (Matrix Market)", **shape)
    facts("w.svm", kind="matrix (svmlight)", **shape)
    facts("w.csv", kind="table", rows=entries)
    facts("w.arrow", kind="weights", rows=entries, command="tfidf")
    facts("w.xlsx", kind="Excel workbook", rows=entries)
    run_cli("evaluate", many, "-o", at("scores.json"), "--fail-under", "accuracy=0", "--junit", at("gates.xml"), "-q")
    facts("scores.json", kind="scores", gates=1, passed=True)
    facts("gates.xml", kind="gates as JUnit XML", tests=1, failures=0)
    run = folder / "run"
    run_cli("lda-gibbs", many, "--k", 4, "--sweeps", 3, "-q", "--no-progress", "--save-assignments", "-o", run)
    run_cli("convert", run, "-q", "-o", at("state.gz"))
    run_cli("convert", run, "-q", "-o", at("vis.json"))
    facts("state.gz", kind="state of MALLET")
    facts("vis.json", kind="data for pyLDAvis", n_topics=4)
    facts("run/manifest.json", kind="manifest of a run (lda-gibbs)", run=str(run))
    run_cli("annotate", "task", run, "-o", at("task.html"), "-q")
    facts("task.key.json", kind="key of a task (nlpkit annotate score)")
    facts("task.html", kind="page of a task for people", key=str(at("task.key.json")))
    np.savez(at("run.checkpoint.npz"), facts=np.frombuffer(b'{"identity": {}, "sweep": 7}', np.uint8))
    facts("run.checkpoint.npz", kind="checkpoint (lda-gibbs)", sweep=7)
    at("encoder").mkdir()
    at("encoder/config.json").write_text("{}", encoding="utf-8")
    facts("encoder", kind="model of transformers", files={"config.json": 2})
    run_cli("classify", many, "--model", "nb", "--cv", 2, "-o", at("nb"), "-q")
    facts("nb/metrics.json", kind="scores")
    facts("nb/model/config.json", kind="config.json of a run")


@pytest.mark.parametrize("name", ["x.npz", "x.mtx", "x.svm", "x.arrow", "x.xlsx"])
def test_info_of_what_is_not_what_its_name_says(name: str, tmp_path: Path) -> None:
    for content in (b"", b"PK\x03\x04 and no more", b"hello\n", b"\xff" * 100):
        (tmp_path / name).write_bytes(content)
        done = run_cli("info", tmp_path / name, code=0 if (name, content) == ("x.svm", b"") else 3)
        assert "a bug" not in done.err
