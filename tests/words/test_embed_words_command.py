"""nlpkit embed-words: runs of every method, the same bytes each time, word2vec's format, what cannot be learned."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.errors import UsageError
from nlpkit.words.files import load_word_vectors
from nlpkit.words.options import METHODS, OF_GENSIM, WordEmbeddingOptions
from tests.command_line import contents, files, footer, needs_gensim, planted_rows, read, run_cli, write_jsonl
from tests.few import few

SMALL = ("--dimensions", "8", "--epochs", "3", "--min-count", "2")
every_method = pytest.mark.parametrize(
    "method", [pytest.param(m, marks=[needs_gensim] if m in OF_GENSIM else []) for m in METHODS]
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [{k: v for k, v in row.items() if k != "embedding"} for row in planted_rows()]
    return write_jsonl(tmp_path_factory.mktemp("words") / "docs.jsonl", rows)


def flags(method: str) -> tuple[str, ...]:
    return SMALL if "epochs" in METHODS[method] else (*SMALL[:2], *SMALL[4:])


@every_method
def test_a_run(method: str, corpus: Path) -> None:
    result = run_cli("embed-words", corpus, "--method", method, *flags(method), "-o", "run", "--json").json()
    words = read("run/words.parquet")
    assert words.column_names == ["word", "count", "embedding"]
    assert (words.num_rows, str(words.schema.field("embedding").type)) == (
        result["words"],
        "fixed_size_list<element: float>[8]",
    )
    counts = words["count"].to_pylist()
    assert counts == sorted(counts, reverse=True)
    assert min(counts) >= 2
    assert (footer("run/words.parquet")["kind"], footer("run/words.parquet")["command"]) == ("words", "embed-words")
    manifest = json.loads(Path("run/manifest.json").read_text())
    assert manifest["parameters"]["method"] == method
    assert "min_count" in manifest["parameters"]
    assert manifest["parameters"]["preprocess"]["stop_words"] == "none"
    assert len(result["losses"]) == (3 if method in ("sgns", "cbow", "glove") else 0)
    assert Path("run/documents.parquet").exists() == method.startswith("doc2vec")
    if method.startswith("doc2vec"):
        documents = read("run/documents.parquet")
        assert documents["id"].to_pylist() == [row["id"] for row in planted_rows()]
        assert {"label", "date", "n"} <= set(documents.column_names)
        assert np.isfinite(documents["embedding"].combine_chunks().flatten().to_numpy()).all()
    vectors = load_word_vectors(Path("run"))
    assert vectors.counts is not None
    assert list(vectors.words) == words["word"].to_pylist()
    assert (vectors.subwords is not None) == (method == "fasttext")


@pytest.mark.parametrize(
    "method", few([method for method in METHODS if method != "fasttext"], 3)
)  # where n-grams of characters lead, too
def test_words_of_one_theme_are_near(method: str, corpus: Path) -> None:
    """Ten words of each of four themes: the nearest ones of "river" are of its own theme, if training is not cut short."""
    settings = {"epochs": 60} if "epochs" in METHODS[method] else {}
    if method in OF_GENSIM:
        settings["subsample"] = 0.0
    learned = nk.embed_words(nk.read_corpus(corpus), method=method, dimensions=8, min_count=5, **settings)
    units, theme = (
        learned.vectors.units,
        ["river", "bridge", "water", "boat", "flood", "bank", "ferry", "stream", "lock", "weir"],
    )
    cosines = units @ units[learned.vectors.places["river"]]
    inside = [cosines[learned.vectors.places[word]] for word in theme[1:]]
    outside = [cosines[learned.vectors.places[word]] for word in ["judge", "jury", "violin", "opera", "moon", "orbit"]]
    assert np.mean(inside) > np.mean(outside) + 0.2


ANOTHER = """
import sys
from nlpkit.platform.cli.app import main
for line in {lines!r}:
    sys.argv = ["nlpkit", *line]
    try:
        main()
    except SystemExit as end:
        assert not end.code, line
"""


@pytest.fixture(scope="module")
def in_another_process(corpus: Path) -> Path:
    """Where one other process, with other hashes and threads, has a run of each method."""
    methods = [m for m in METHODS if m not in OF_GENSIM or importlib.util.find_spec("gensim")]
    common = ("embed-words", str(corpus), "-q", "--threads", "3")
    lines = [[*common, "--method", m, *flags(m), "-o", str(corpus.with_name(m))] for m in methods]
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"  # that of this process is another, most often random
    done = subprocess.run(
        [sys.executable, "-c", ANOTHER.format(lines=lines)],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    return corpus.parent


@every_method
def test_the_same_bytes_in_another_process_with_other_hashes_and_threads(
    method: str, corpus: Path, in_another_process: Path, tmp_path: Path
) -> None:
    words = ["embed-words", corpus, "--method", method, *flags(method), "-q"]
    assert run_cli(*words, "--threads", 1, "-o", "one").err == ""
    assert contents(tmp_path / "one") == contents(in_another_process / method)


@pytest.mark.parametrize("name", ["v.txt", "v.vec", "v.bin"])
def test_word2vecs_format_is_read_by_gensim_and_by_nlpkit(name: str, corpus: Path) -> None:
    models = pytest.importorskip("gensim.models")
    run_cli(
        "embed-words", corpus, "--method", "pmi-svd", "--dimensions", "8", "-q", "-o", "run", "--save-word2vec", name
    )
    own, theirs = load_word_vectors(Path("run")), models.KeyedVectors.load_word2vec_format(name, binary=name == "v.bin")
    assert theirs.index_to_key == list(own.words)
    assert (theirs.vectors == own.vectors).all()
    again = load_word_vectors(Path(name))
    assert again.words == own.words
    assert (again.vectors == own.vectors).all()
    theirs.save_word2vec_format("theirs" + name[1:], binary=name == "v.bin")
    assert (load_word_vectors(Path("theirs" + name[1:])).vectors == own.vectors).all()


def test_what_is_said(corpus: Path) -> None:
    done = run_cli("embed-words", corpus, "--method", "glove", *SMALL, "-o", "run")
    assert "glove: " in done.err
    assert "words in 8 dimensions; loss" in done.err
    assert "next: nlpkit words nearest run " in done.err
    assert "nearest words" in done.out
    assert run_cli("embed-words", corpus, "--dry-run", "--json").json()["rows"] == 120


def test_options_of_another_method_are_refused() -> None:
    with pytest.raises(UsageError, match="`x_max` has no effect with `method=sgns`; it is for glove"):
        WordEmbeddingOptions(x_max=10.0).resolved()
    with pytest.raises(UsageError, match="leaves nothing to learn from; add"):
        WordEmbeddingOptions(negative=0).resolved()
    with pytest.raises(UsageError, match="two lengths"):
        WordEmbeddingOptions(method="fasttext", char_ngrams="6-3").resolved()
    with pytest.raises(UsageError, match="did you mean 'sgns'"):
        WordEmbeddingOptions(method="sgn").resolved()
    assert WordEmbeddingOptions(method="glove").resolved().window == 10


@pytest.mark.parametrize(
    ("texts", "words", "code", "says"),
    [
        (["river bridge"], [], 3, "can be learned, because a word needs"),
        (["river"] * 9, ["--min-count", "1"], 3, "of 1 different word, 1 can be learned"),
        (["a", "b", "c"], ["--min-count", "1"], 3, "no document has two words"),
        ([""], [], 3, "no words are left"),
        ([], [], 3, "no documents"),
        (["a b c d"], ["--min-count", "1", "--method", "pmi-svd"], 2, "give 3 at most"),
        (["a b"], ["--negative", "0"], 2, "--hs"),
        (["a b"], ["-o", "x.parquet"], 2, "a run is a directory"),
    ],
)  # fmt: skip
def test_what_cannot_be_learned(texts: list[str], words: list[str], code: int, says: str) -> None:
    write_jsonl(Path("x.jsonl"), [{"text": text} for text in texts])
    method = [] if "--method" in words or "--negative" in words else ["--method", "glove"]
    assert says in run_cli("embed-words", "x.jsonl", *method, *words, code=code).error()
    assert sorted(files(Path())) == ["x.jsonl"]


@needs_gensim
def test_several_workers_say_that_vectors_differ(corpus: Path) -> None:
    done = run_cli("embed-words", corpus, *SMALL, "--workers", "2", "-o", "run")
    assert "warning: with 2 --workers the vectors differ from run to run" in done.err


def test_a_run_of_vectors_predicts_nothing(corpus: Path) -> None:
    run_cli("embed-words", corpus, "--method", "pmi-svd", "--dimensions", "8", "-q", "-o", "run")
    assert "a run of word vectors" in run_cli("predict", "run", corpus, "-o", "p.parquet", code=3).error()
    Path("topics.txt").write_text("river bridge water boat\njudge jury court trial\n", encoding="utf-8")
    scores = run_cli("evaluate", "topics.txt", "--metrics", "we_pairwise", "--vectors", "run", "--json", "-q").json()
    assert scores["targets"][0]["metrics"]["we_pairwise"]["value"] > 0.3


def test_tokens_of_the_table_are_taken(corpus: Path) -> None:
    run_cli("preprocess", corpus, "-q", "-o", "tokens.parquet")
    line = ("embed-words", "tokens.parquet", "--method", "pmi-svd", "--dimensions", "8", "-o", "run")
    run_cli(*line, "-q")
    assert "the" not in read("run/words.parquet")["word"].to_pylist()
    manifest = json.loads(Path("run/manifest.json").read_text())
    assert manifest["parameters"]["preprocess"]["stop_words"] == "auto"
    says = run_cli(*line, "--no-lower", "--force", code=2).error()
    assert "--lower: the documents of tokens.parquet already have tokens" in says
    says = run_cli(*line, "--stop-words", "en", "--force", code=2).error()
    assert "--stop-words: the documents of tokens.parquet already have tokens" in says


def test_help_names_the_methods_of_its_first_line() -> None:
    text = " ".join(run_cli("embed-words", "--help").out.split())
    assert "sgns or cbow (word2vec)" in text
