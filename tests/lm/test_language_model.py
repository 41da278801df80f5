"""ARPA files of other programs, and what is said of perplexities and of texts that cannot go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nlpkit as nk
from nlpkit.lm.run import described

ARPA = r"""
\data\
ngram 1=4
ngram 2=2

\1-grams:
-0.4	<s>	-0.2
-0.4	</s>
-0.5	hello	-0.3
-0.6	world.	-0.1

\2-grams:
-0.2	<s> hello
-0.1	hello world.

\end\
"""


def loaded(folder: Path, text: str) -> Any:
    path = folder / "m.arpa"
    path.write_bytes(text.encode())
    return nk.load(path)


def test_an_arpa_file_from_windows_is_the_same(tmp_path: Path) -> None:
    texts = ["hello world.", "world. hello", "hello"]
    unix = loaded(tmp_path, ARPA).predict(texts).column("log10_prob").to_pylist()
    assert unix == loaded(tmp_path, ARPA.replace("\n", "\r\n")).predict(texts).column("log10_prob").to_pylist()
    assert unix[0] == pytest.approx(-0.2 - 0.1 - 0.1 - 0.4)


@pytest.mark.parametrize("name", ["<unk>", "<UNK>"])
def test_unk_of_either_case_is_the_unknown_word(tmp_path: Path, name: str) -> None:
    text = ARPA.replace("ngram 1=4", "ngram 1=5").replace("-0.5\thello", f"-2\t{name}\n-0.5\thello")
    table = loaded(tmp_path, text).predict(["hello you"])
    assert table.column("n_unknown").to_pylist() == [1]
    assert table.column("log10_prob").to_pylist() == pytest.approx([-0.2 - 0.3 - 2 - 0.4])


def test_the_formula_of_a_perplexity_is_what_was_computed(tmp_path: Path) -> None:
    """kpu/kenlm#345: a model without <unk> leaves unknown words out of the sum, and so out of N."""
    model, texts = loaded(tmp_path, ARPA), ["hello you", "hello"]
    said = described(model.perplexity(texts), closed=True)
    log10, n = sum(model.predict(texts).column("log10_prob").to_pylist()), 4
    assert f"{10 ** (-log10 / n):,.2f} = exp(−Σ log p / N), N = {n} words with the ends of 2 sentences" in said
    assert "1 unknown word (20.0% of all) left out" in said


def test_unknown_words_that_end_with_a_mark_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    corpus = tmp_path / "x.jsonl"
    corpus.write_text('{"text": "hello, you"}\n{"text": "hello."}\n', encoding="utf-8")
    with loaded(tmp_path, ARPA).predict_batches(nk.read_corpus(corpus)) as predictions:
        list(predictions.batches())
        predictions.maker.report()
    assert any("2 of 3 unknown words end with a mark, such as 'hello,'" in message for message in caplog.messages)


@pytest.mark.parametrize("decode", ["sample", "greedy"])
def test_a_dead_end_is_told(caplog: pytest.LogCaptureFixture, decode: str) -> None:
    model = nk.fit_language_model(["the dog barks", "a dog gets fed"], order=3, smoothing="mle")
    caplog.clear()
    assert {text for text, _ in model.generate("gets dog", decode=decode)} == {"gets dog"}
    assert any("cannot continue: no word follows" in message for message in caplog.messages)
    caplog.clear()
    assert {text for text, _ in model.generate("dog gets", decode=decode)} == {"dog gets fed"}
    assert not caplog.messages
