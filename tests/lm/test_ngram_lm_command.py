"""nlpkit ngram-lm and generate: runs, ARPA files, probabilities of documents, texts, and what cannot be."""

from __future__ import annotations

import gzip
import json
import math
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit.errors import InputError, UsageError
from nlpkit.lm.files import read_arpa
from tests.command_line import HARD, NEWS, Done, footer, read, run_cli, write_jsonl
from tests.lm.helpers import SAM


@pytest.fixture
def sam(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "sam.jsonl", [{"id": str(i), "text": " ".join(s)} for i, s in enumerate(SAM)])


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lm")
    run_cli("ngram-lm", NEWS, "-q", "-o", folder / "lm", "--save-arpa", folder / "lm.arpa.gz")
    return folder


def rows(done: Done) -> list[dict[str, Any]]:
    """Return the JSON lines on stdout."""
    return [json.loads(line) for line in done.out.splitlines()]


def test_perplexities_of_the_lecture(sam: Path) -> None:
    done = run_cli("ngram-lm", sam, "--order", 2, "--smoothing", "mle", "--closed", "-o", "lm", "--json")
    summary = done.json()
    assert (summary["words"], summary["vocabulary"], summary["ngrams"]) == (16, 9, [12, 14])
    done = run_cli("predict", "lm", sam, "-o", "scored.parquet")
    table = read("scored.parquet")
    assert table["perplexity"].to_pylist() == pytest.approx([1.7321, 2.0598, 1.2068], abs=5e-5)
    assert table["n_words"].to_pylist() == [4, 4, 8]
    assert table["log10_prob"].to_pylist() == pytest.approx([math.log10(p) for p in (1 / 9, 1 / 18, 2 / 9)])
    assert "exp(−Σ log p / N), N = 16 words with the ends of 3 sentences" in done.err
    assert footer("scored.parquet")["command"] == "predict"


def test_a_run_and_its_arpa_file_give_equal_probabilities(news: Path) -> None:
    tokens = news / "tokens.parquet"
    run_cli("preprocess", HARD, "--stop-words", "none", "--min-length", 1, "--min-df", 1, "-q", "-o", tokens)
    for name in ("lm", "lm.arpa.gz"):
        run_cli("predict", news / name, tokens, "-q", "-o", f"{name}.parquet")
    ours, theirs = read("lm.parquet"), read("lm.arpa.gz.parquet")
    assert theirs["n_unknown"] == ours["n_unknown"]
    assert theirs["perplexity"].to_pylist() == pytest.approx(ours["perplexity"].to_pylist(), rel=1e-5)


def test_the_same_bytes_on_any_number_of_threads_and_in_any_order_of_blocks(news: Path) -> None:
    run_cli("ngram-lm", NEWS, "-q", "-o", "again", "--threads", 1, "--save-arpa", "again.arpa.gz")
    for name in ("model/ngrams.parquet", "model/words.parquet"):
        assert pq.read_table(f"again/{name}").equals(pq.read_table(news / "lm" / name))
    assert Path("again.arpa.gz").read_bytes() == (news / "lm.arpa.gz").read_bytes()


def test_models_of_single_words(sam: Path) -> None:
    run_cli("ngram-lm", sam, "--order", 1, "-q", "-o", "lm", "--save-arpa", "lm.arpa")
    assert "too few n-grams of length 2, 3 occur" in run_cli("ngram-lm", sam, "-o", "longer").err
    plain = ("--stop-words", "none", "--min-length", 1, "--min-df", 1, "-q")
    run_cli("preprocess", sam, *plain, "-o", "tokens.parquet")
    for name in ("lm", "lm.arpa"):
        run_cli("predict", name, "tokens.parquet", "-q", "-o", f"{name}.parquet")
    ours, theirs = read("lm.parquet"), read("lm.arpa.parquet")
    assert theirs["perplexity"].to_pylist() == pytest.approx(ours["perplexity"].to_pylist(), rel=1e-5)
    assert run_cli("generate", "lm", "--texts", 2, "-q").out
    run_cli("spell", "lm", sam, "-q", "-o", "errors.csv")


def test_held_out_documents_are_not_in_the_model() -> None:
    whole = run_cli("ngram-lm", NEWS, "-o", "whole", "--json").json()
    done = run_cli("ngram-lm", NEWS, "--held-out", 0.2, "-o", "part")
    part = nk.load("part").summary()  # type: ignore[attr-defined]
    assert part["held_out"] is None  # of the fit alone; the manifest has it
    assert part["words"] < 0.9 * whole["words"]
    assert "held-out documents: perplexity" in done.err
    held_out = run_cli("info", "part", "--json").json()["results"]["held_out"]
    assert held_out["n_words"] + part["words"] == whole["words"]
    assert held_out["perplexity"] > held_out["without_unknown"] > 100
    assert nk.load("whole").perplexity(nk.read_corpus(NEWS)).perplexity < held_out["perplexity"]  # type: ignore[attr-defined]


def test_sentences_paragraphs_documents_and_tokens(tmp_path: Path) -> None:
    text = "The river rose. It fell again.\n\nNobody saw it."
    corpus = write_jsonl(tmp_path / "c.jsonl", [{"id": "a", "text": text}, {"id": "b", "text": ""}])
    ends = {unit: run_cli("ngram-lm", corpus, "--unit", unit, "-o", unit, "--json").json()["words"] for unit in
            ("sentence", "paragraph", "document")}  # fmt: skip
    assert ends == {"sentence": 9 + 4, "paragraph": 9 + 3, "document": 9 + 2}
    run_cli("preprocess", corpus, "--stop-words", "none", "-q", "-o", "tokens.parquet")
    assert run_cli("ngram-lm", "tokens.parquet", "-o", "tokens", "--json").json()["words"] == 9 + 2
    done = run_cli("predict", "sentence", corpus, "-o", "-")
    assert [row["n_words"] for row in rows(done)] == [12, 1]


def test_texts_without_spaces_are_cut_first(tmp_path: Path) -> None:
    texts = ["我爱自然语言。我爱北京。", "自然语言处理是一门科学。", "北京是中国的首都，有很多人。"] * 4
    corpus = write_jsonl(tmp_path / "zh.jsonl", [{"id": str(i), "text": text} for i, text in enumerate(texts)])
    assert "--segment characters" in run_cli("ngram-lm", corpus, "-o", "pairs").err
    cut = ("--unit", "sentence", "--segment", "characters", "--stop-words", "none", "--min-length", 1, "--min-df", 1)
    run_cli("preprocess", corpus, *cut, "-q", "-o", "cut.parquet")
    assert "overlap" not in run_cli("ngram-lm", "cut.parquet", "--order", 2, "--smoothing", "mle", "-o", "zh").err
    assert run_cli("generate", "zh", "--decode", "beam", "--texts", 1).out.strip()


def test_rare_words_become_unknown() -> None:
    run_cli("ngram-lm", NEWS, "--min-count", 3, "-q", "-o", "rare")
    model = nk.load("rare").model  # type: ignore[attr-defined]
    assert min(model.counts[3 : len(model.words)]) >= 3
    assert model.counts[0] > 1000
    assert model.next_words([1])[0] > 0.05


def test_texts(news: Path) -> None:
    done = run_cli("generate", news / "lm", "--prompt", "The court", "--texts", 4, "-o", "t.parquet")
    table = read("t.parquet")
    assert done.out.splitlines() == table["text"].to_pylist()
    assert all(text.startswith("the court") for text in table["text"].to_pylist())
    assert run_cli("generate", news / "lm", "--prompt", "The court", "--texts", 4).out == done.out
    assert run_cli("generate", news / "lm", "--prompt", "The court", "--texts", 4, "--seed", 1).out != done.out
    greedy = run_cli("generate", news / "lm", "--decode", "greedy", "--json").json()["texts"]
    beam = run_cli("generate", news / "lm", "--decode", "beam", "--texts", 3, "--json").json()["texts"]
    assert len(greedy) == 1
    assert [t["log10_prob"] for t in beam] == sorted((t["log10_prob"] for t in beam), reverse=True)
    assert beam[0]["log10_prob"] >= greedy[0]["log10_prob"]
    scored = rows(run_cli("predict", news / "lm", "t.parquet", "-q", "-o", "-"))
    assert len(scored) == 4


def test_texts_from_python(news: Path) -> None:
    fitted = nk.fit_language_model(["I am Sam", "Sam I am"], order=2, smoothing="mle")
    assert fitted.generate("", decode="beam", texts=2)[0][0] in ("I am Sam", "i am sam", "sam i am", "i am")
    generated = nk.generate_texts(news / "lm", texts=2, top_k=1)
    assert len({text for text, _ in generated.texts}) == 1  # one choice at each word
    assert (
        nk.generate_texts(news / "lm", texts=20, top_p=0.0, max_words=3).table()["text"].unique().to_pylist()
        == [generated.texts[0][0]]
        or len(generated.texts[0][1].words) > 3
    )


def test_what_cannot_be(news: Path) -> None:
    assert "has no word 'zzyx'" in run_cli("generate", news / "lm", "--prompt", "Zzyx", code=2).err
    assert "needs --decode sample" in run_cli("generate", news / "lm", "--decode", "beam", "--top-k", 3, code=2).err
    refused = run_cli("ngram-lm", NEWS, "--smoothing", "add-k", "--save-arpa", "x.arpa", "-o", "x", code=2)
    assert "cannot be written as ARPA" in refused.err
    assert not Path("x").exists()
    assert "between 0 and 1" in run_cli("ngram-lm", NEWS, "--held-out", 2, "-o", "x", code=2).err
    assert "no such file" in run_cli("generate", "nothing.arpa", code=3).err
    Path("empty.jsonl").write_text("")
    assert "no documents" in run_cli("ngram-lm", "empty.jsonl", "-o", "x", code=3).err
    Path("letters.txt").write_text("y\nn\n" * 5)
    assert (
        "occur once, twice and three times to estimate discounts;"
        in run_cli("ngram-lm", "letters.txt", "--held-out", 0.3, "-o", "letters").err
    )


ARPA = r"""\data\
ngram 1=4
ngram 2=2

\1-grams:
-1	<unk>
-99	<s>	-0.3
-0.5	</s>
-0.3	a	-0.2

\2-grams:
-0.1	<s> a
-0.2	a </s>

\end\
"""


def test_an_arpa_file_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "hand.arpa"
    path.write_text(ARPA)
    write_jsonl(tmp_path / "t.jsonl", [{"id": "1", "text": "a"}, {"id": "2", "text": "a a"}, {"id": "3", "text": "b"}])
    scored = rows(run_cli("predict", path, tmp_path / "t.jsonl", "-o", "-"))
    # <s> a </s>; <s> a (a) a </s>, the middle one backs off; <unk> and </s> after <s> and after <unk>
    assert [row["log10_prob"] for row in scored] == pytest.approx([-0.3, -0.1 - 0.2 - 0.3 - 0.2, -0.3 - 1 - 0.5])
    model = nk.load(path)
    assert model.tables() == {}
    with pytest.raises(
        UsageError, match="is an ARPA file without counts; use the file itself, because it cannot become a run"
    ):
        model.save(tmp_path / "run")
    with gzip.open(tmp_path / "hand.arpa.gz", "wt") as file:
        file.write(ARPA)
    assert read_arpa(tmp_path / "hand.arpa.gz") == read_arpa(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("\\data\\", "data"), "is not an ARPA file: it has no line"),
        (("\\end\\", ""), "the file is incomplete"),
        (("ngram 2=2", "ngram 2=3"), "announces 3 2-grams but has 2"),
        (("-0.1\t<s> a", "x\t<s> a"), "line 12"),
        (("-0.1\t<s> a", "0.1\t<s> a"), "line 12"),
        (("<s> a\n", "<s> a b\n"), "line 12"),
        (("<s> a", "<s> c"), "'<s> c' without 'c'"),
        (("a </s>", "<s> a"), "twice"),
        (("-0.5\t</s>", "-0.5\tz"), "no </s>"),
        (("\\2-grams:", "\\3-grams:"), "was needed"),
    ],
)
def test_damaged_arpa_files(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "damaged.arpa"
    path.write_text(ARPA.replace(*change, 1))
    from nlpkit.lm.files import load_arpa

    with pytest.raises(InputError, match=message.replace("(", "\\(")):
        load_arpa(path)


def test_any_bytes_under_the_name_of_an_arpa_file(tmp_path: Path) -> None:
    rng = random.Random(1)
    for number in range(30):
        path = tmp_path / f"{number}.arpa"
        damaged = bytearray(ARPA.encode())
        for _ in range(rng.randint(1, 6)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(bytes(damaged))
        assert run_cli("generate", path, code=None).code in (0, 3)


def test_a_damaged_run_is_told(news: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(news / "lm", tmp_path / "bad")
    table = pq.read_table(tmp_path / "bad" / "model" / "words.parquet")
    pq.write_table(table.slice(0, 10), tmp_path / "bad" / "model" / "words.parquet")
    assert run_cli("generate", tmp_path / "bad", code=3).err.count("\n") == 1
