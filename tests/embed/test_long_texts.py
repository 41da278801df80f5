"""Texts beyond the window of a model, prompts, fewer dimensions, and vectors that a cache has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.embed import encoder as encoder_module
from nlpkit.embed.encoder import Encoder
from nlpkit.embed.encoders import VectorStore
from nlpkit.embed.loading import load_encoder
from nlpkit.embed.models import read_layout
from nlpkit.embed.token_ids import load_tokenizer, windows
from nlpkit.errors import UsageError

for needed in ("torch", "tokenizers", "safetensors"):
    pytest.importorskip(needed)

LONG = "the cat sat on the mat. the old dog ran and the bird sat on the very new house. the end was near"
TEXTS = ["a cat", LONG, "", "the dog sat on the mat and the old bird ran on the new mat " * 5, "the bird"]


def tiny_encoder(tiny: Path, **options: Any) -> Encoder:
    return load_encoder(str(tiny), precision="fp32", threads=1, **{"long": "truncate", **options})


@pytest.fixture(scope="module")
def tokenizer(tiny: Path) -> Any:
    layout = read_layout(tiny)
    assert layout is not None
    return load_tokenizer(layout)


def tokens(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10, 1000])
@pytest.mark.parametrize("text", [*TEXTS, "x" * 99, " \n" * 50, "catcatcat" * 9, "老" * 30, "mat . . . " * 20 + "\n\n"])
def test_windows_are_the_text_and_no_longer_than_the_size(tokenizer: Any, text: str, size: int) -> None:
    parts = windows(tokenizer, text, size)
    assert "".join(parts) == text
    assert len(parts) <= max(1, 2 * len(tokens(tokenizer, text)))
    if "catcat" not in text and "x" not in text:  # cut within a word, the rest of it has other tokens
        assert max(len(tokens(tokenizer, part)) for part in parts) <= size


def test_windows_end_with_sentences_and_else_with_words(tokenizer: Any) -> None:
    assert windows(tokenizer, LONG, 10)[0] == "the cat sat on the mat. "
    assert windows(tokenizer, "cats sat on mats and cats ran", 5)[0] == "cats sat on "


def test_short_texts_have_the_vector_that_they_have_without_windows(tiny: Path) -> None:
    plain, _ = tiny_encoder(tiny).encode(TEXTS, normalize=False)
    for long in ("mean", "max"):
        vectors, report = tiny_encoder(tiny, long=long).encode(TEXTS, normalize=False)
        for i in (0, 2, 4):
            np.testing.assert_array_equal(vectors[i], plain[i])
        assert not np.allclose(vectors[1], plain[1])
        assert (report.tokens_cut, report.docs_cut) == (0, 0)
        assert report.tokens == tiny_encoder(tiny).encode(TEXTS)[1].tokens


def test_long_texts_are_read_to_their_end_unless_tokens_are_limited(tiny: Path) -> None:
    encoder = load_encoder(str(tiny), precision="fp32")
    assert encoder.long == "mean"
    vectors, report = encoder.encode(TEXTS)
    np.testing.assert_array_equal(vectors, tiny_encoder(tiny, long="mean").encode(TEXTS)[0])
    assert (report.docs_long, report.docs_cut) == (2, 0)
    limited = load_encoder(str(tiny), precision="fp32", max_tokens=8)
    assert limited.long == "truncate"
    report = limited.encode(TEXTS)[1]
    assert (report.docs_long, report.docs_cut) == (2, 2)
    assert load_encoder(str(tiny), max_tokens=8, long="mean").long == "mean"


def test_mean_and_max_are_those_of_the_windows(tiny: Path, tokenizer: Any) -> None:
    parts = windows(tokenizer, LONG, 10)
    assert len(parts) == 3
    rows, _ = tiny_encoder(tiny).encode(parts, normalize=False)
    sizes = np.array([len(tokens(tokenizer, part)) for part in parts])
    mean, _ = tiny_encoder(tiny, long="mean").encode([LONG], normalize=False)
    np.testing.assert_allclose(mean[0], sizes @ rows / sizes.sum(), rtol=1e-5, atol=1e-6)
    largest, _ = tiny_encoder(tiny, long="max").encode([LONG], normalize=False)
    np.testing.assert_array_equal(largest[0], rows.max(axis=0))


def test_a_prompt_stands_before_every_text_and_every_window(tiny: Path, tokenizer: Any) -> None:
    prompted, _ = tiny_encoder(tiny, prompt="old cat ").encode(["sat", LONG], normalize=False)
    plain, _ = tiny_encoder(tiny).encode(["old cat sat", "old cat " + LONG], normalize=False)
    np.testing.assert_array_equal(prompted, plain)
    parts = ["old cat " + part for part in windows(tokenizer, LONG, 8)]
    rows, _ = tiny_encoder(tiny).encode(parts, normalize=False)
    largest, _ = tiny_encoder(tiny, prompt="old cat ", long="max").encode([LONG], normalize=False)
    np.testing.assert_array_equal(largest[0], rows.max(axis=0))


def test_a_prompt_that_fills_the_window(tiny: Path) -> None:
    with pytest.raises(UsageError, match="leave no room for a text"):
        tiny_encoder(tiny, prompt="the cat sat on the mat and the dog ran ", long="mean").encode([LONG])


def test_the_first_dimensions_of_a_vector(tiny: Path) -> None:
    whole, _ = tiny_encoder(tiny).encode(TEXTS, normalize=False)
    encoder = tiny_encoder(tiny, truncate_dim=8)
    assert encoder.dim == 8
    np.testing.assert_array_equal(encoder.encode(TEXTS, normalize=False)[0], whole[:, :8])
    np.testing.assert_allclose(np.linalg.norm(encoder.encode(TEXTS)[0], axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("options", [{"long": "median"}, {"truncate_dim": 0}, {"truncate_dim": 33}])
def test_options_that_cannot_be(tiny: Path, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        tiny_encoder(tiny, **options)


class CountingStore(VectorStore):
    """A store that knows how many texts were not there."""

    missed = 0

    def put(self, texts: Sequence[str], counts: Any, vectors: Any) -> None:
        self.missed += len(texts)
        super().put(texts, counts, vectors)


def cached(encoder: Encoder, folder: Path) -> tuple[Encoder, CountingStore]:
    store = CountingStore(folder, encoder.identity, encoder.whole_dim)
    encoder.cache = store
    return encoder, store


@pytest.mark.parametrize("long", ["truncate", "mean", "max"])
def test_a_cache_changes_nothing_but_the_work(tiny: Path, tmp_path: Path, sentences: list[str], long: str) -> None:
    texts = [*sentences, *TEXTS, *sentences[:7]]
    expected, report = tiny_encoder(tiny, long=long).encode(texts)
    steps: list[int] = []
    for misses in (len(set(texts)), 0):
        encoder, store = cached(tiny_encoder(tiny, long=long), tmp_path)
        vectors, again = encoder.encode(texts, progress=steps.append)
        np.testing.assert_array_equal(vectors, expected)
        assert store.missed == misses
        for name in ("n_docs", "n_unique", "tokens", "tokens_cut", "docs_cut"):
            assert getattr(again, name) == getattr(report, name)
    assert sum(steps) == 2 * len(texts)


def test_a_cache_keeps_whole_vectors_whatever_is_made_of_them(tiny: Path, tmp_path: Path) -> None:
    encoder, _ = cached(tiny_encoder(tiny), tmp_path)
    encoder.encode(TEXTS)
    encoder, store = cached(tiny_encoder(tiny, truncate_dim=5), tmp_path)
    vectors, _ = encoder.encode(TEXTS, normalize=False)
    assert store.missed == 0
    np.testing.assert_array_equal(vectors, tiny_encoder(tiny, truncate_dim=5).encode(TEXTS, normalize=False)[0])


@pytest.mark.parametrize("changed", ["max_tokens", "long", "prompt", "weights", "pooling", "tokenizer"])
def test_what_a_vector_depends_on_is_in_its_key(make_model: Any, tmp_path: Path, changed: str) -> None:
    options: dict[str, Any] = {"max_tokens": 9, "long": "mean", "prompt": "cat "}
    one = tiny_encoder(make_model("a"))
    if changed in options:
        other = tiny_encoder(tmp_path / "a", **{changed: options[changed]})
    else:
        folder = make_model("b", seed=changed == "weights")
        if changed == "pooling":
            (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
        if changed == "tokenizer":
            file = folder / "tokenizer.json"
            file.write_text(file.read_text().replace('"lowercase": true', '"lowercase": false'))
        other = tiny_encoder(folder)
    assert one.identity == tiny_encoder(tmp_path / "a").identity == tiny_encoder(make_model("same")).identity
    assert one.identity != other.identity


def test_what_was_done_before_an_interruption_is_kept(
    tiny: Path, tmp_path: Path, sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder_module, "_STEP", 10)
    expected, _ = tiny_encoder(tiny).encode(sentences)
    encoder, store = cached(tiny_encoder(tiny), tmp_path)
    read = encoder._engine.read
    calls = []

    def read_twice(texts: Sequence[str]) -> Any:
        calls.append(len(texts))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return read(texts)

    monkeypatch.setattr(encoder._engine, "read", read_twice)
    with pytest.raises(KeyboardInterrupt):
        encoder.encode(sentences)
    assert store.missed == 20
    encoder, store = cached(tiny_encoder(tiny), tmp_path)
    vectors, _ = encoder.encode(sentences)
    np.testing.assert_array_equal(vectors, expected)
    assert store.missed == len(sentences) - 20


def test_parts_that_take_long_become_smaller(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, now = tiny_encoder(tiny), [0.0]
    monkeypatch.setattr(encoder_module.time, "perf_counter", lambda: now[0])

    def sizes(seconds: float, n: int) -> list[int]:
        found = []
        for part in encoder._parts(n):
            found.append(len(range(n)[part]))
            now[0] += seconds * found[-1]
        return found

    assert sizes(0.001, 6000) == [128, 256, 512, 1024, 2048, 2032]
    assert sizes(0.05, 1000) == [128, 256, 256, 256, 104]
    assert sizes(0.2, 300) == [128, 64, 64, 44]
    assert sizes(100, 133) == [128, 5]
    assert sizes(1, 0) == []
