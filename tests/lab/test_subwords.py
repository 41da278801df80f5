"""Tokenizers of subwords: merges by hand, the same bytes in every process, what transformers loads, bad input."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

import nlpkit as nk
from nlpkit.errors import InputError, UsageError
from nlpkit.lab.options import SPECIAL, TokenizerOptions
from nlpkit.lab.tokenizer import PREFIX, merge_pair, train_subwords

pytest.importorskip("tokenizers")
# the example of Sennrich, Haddow & Birch (2016), figure 1, and of lectures since then
EXAMPLE = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3
TEXTS = ["the river flows under the bridge", "the bridge crosses a river", "rivers and bridges, flowing"] * 3


def pair_counts(words: Counter[str], cut: dict[str, list[str]]) -> Counter[tuple[str, str]]:
    """Return how often each pair of neighbours occurs in the words as they are cut."""
    pairs: Counter[tuple[str, str]] = Counter()
    for word, symbols in cut.items():
        for pair in pairwise(symbols):
            pairs[pair] += words[word]
    return pairs


def test_the_merges_of_the_lectures_example() -> None:
    """e s (9), es t (9), l o (7), lo w (7): equal counts are merged in the order of their symbols."""
    trained = train_subwords(EXAMPLE, TokenizerOptions(type="bpe", vocab_size=261 + 8))
    steps = [(s.left, s.right, s.count, s.words) for s in trained.steps(8)]
    assert steps[:4] == [("e", "s", 9, 2), ("es", "t", 9, 2), ("l", "o", 7, 2), ("lo", "w", 7, 2)]
    assert steps[4:7] == [("e", "w", 6, 1), ("n", "ew", 6, 1), ("new", "est", 6, 1)]
    assert trained.backend.encode("lowest", add_special_tokens=False).tokens == ["low", "est"]


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_each_merge_takes_a_most_frequent_pair(kind: str) -> None:
    """Algorithm 1 of the paper, done slowly: no pair is more frequent than the one that is merged."""
    trained = train_subwords(TEXTS, TokenizerOptions(type=kind, vocab_size=300 if kind == "bpe" else 60))
    prefix = PREFIX if kind == "wordpiece" else ""
    cut = {word: [c if i == 0 else prefix + c for i, c in enumerate(word)] for word in trained.words}
    steps = trained.steps(len(trained.merges))
    assert len(steps) > 10
    for step in steps:
        pairs = pair_counts(trained.words, cut)
        assert pairs[step.left, step.right] == step.count == max(pairs.values())
        cut = {word: merge_pair(symbols, step.left, step.right, step.token)[0] for word, symbols in cut.items()}


def test_pairs_that_overlap_are_merged_from_the_left() -> None:
    assert merge_pair(["a", "a", "a"], "a", "a", "aa") == (["aa", "a"], 1)
    assert merge_pair([], "a", "a", "aa") == ([], 0)


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
def test_the_same_bytes_in_every_process(kind: str) -> None:
    """The library goes through hash tables in another order in each process."""
    code = f"""
import hashlib
from nlpkit.lab.tokenizer import train_subwords
from nlpkit.lab.options import TokenizerOptions
trained = train_subwords({TEXTS!r}, TokenizerOptions(type="{kind}", vocab_size={290 if kind == "bpe" else 60}))
print(hashlib.sha256(trained.backend.to_str().encode()).hexdigest())
"""
    here = train_subwords(TEXTS, TokenizerOptions(type=kind, vocab_size=290 if kind == "bpe" else 60))
    expected = hashlib.sha256(here.backend.to_str().encode()).hexdigest()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
def test_transformers_loads_the_folder(kind: str, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    trained = nk.train_tokenizer(TEXTS, type=kind, vocab_size=300 if kind == "bpe" else 60)
    trained.save(tmp_path / "tokenizer")
    loaded = AutoTokenizer.from_pretrained(str(tmp_path / "tokenizer"), local_files_only=True)
    ids = loaded("the river").input_ids
    assert loaded.convert_ids_to_tokens(ids) == trained.encode("the river")
    assert (loaded.pad_token, loaded.unk_token, loaded.bos_token, loaded.eos_token, loaded.mask_token) == (
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
    )  # fmt: skip
    assert loaded.decode(ids, skip_special_tokens=True).strip() == "the river"
    assert trained.tokens["token"].to_pylist()[: len(SPECIAL)] == list(SPECIAL)
    assert (trained.merges is None) == (kind == "unigram")


def test_bpe_knows_every_character_and_wordpiece_its_own() -> None:
    bpe = train_subwords(TEXTS, TokenizerOptions(type="bpe", vocab_size=280)).backend
    piece = train_subwords(TEXTS, TokenizerOptions(type="wordpiece", vocab_size=60)).backend
    assert "[UNK]" not in bpe.encode("日本 ü 🙂").tokens
    assert bpe.decode(bpe.encode("日本 ü 🙂").ids) == "日本 ü 🙂"
    assert "[UNK]" in piece.encode("日").tokens


def test_lower_case_is_part_of_the_tokenizer() -> None:
    lowered = train_subwords(["The River"] * 3, TokenizerOptions(type="wordpiece", vocab_size=40, lower=True))
    assert lowered.words == Counter({"the": 3, "river": 3})
    assert lowered.backend.encode("RIVER").tokens == lowered.backend.encode("river").tokens


def test_bad_input_is_told() -> None:
    with pytest.raises(UsageError, match="at least 261 tokens"):
        nk.train_tokenizer(TEXTS, type="bpe", vocab_size=100)
    with pytest.raises(UsageError, match="type=bytes"):
        nk.train_tokenizer(TEXTS, type="bytes")
    with pytest.raises(InputError, match="needs at least"):
        nk.train_tokenizer(TEXTS, type="wordpiece", vocab_size=10)
    with pytest.raises(InputError, match="no word"):
        nk.train_tokenizer(["", "  "], type="wordpiece")
    with pytest.raises(InputError, match="one token beside the special ones"):
        nk.train_tokenizer(["a"], type="wordpiece", vocab_size=20)
