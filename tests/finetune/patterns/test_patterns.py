"""Patterns and verbalizers: texts with gaps, scores of words by hand, words that are searched for, and what cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nlpkit.errors import InputError
from nlpkit.finetune.patterns.mlm import MODEL_TYPES, MlmNetwork, load_mlm
from nlpkit.finetune.patterns.patterns import (
    Gaps,
    Patterns,
    Verbalizer,
    fill_pattern,
    gap_logits,
    pattern_scores,
    search_words,
    verbalizers_of,
    word_pieces,
)
from nlpkit.finetune.training.engine import Engine
from tests.finetune.patterns.test_mlm import write_base
from tests.finetune.tiny import tiny_bert
from tests.refusals import refuses

CPU = torch.device("cpu")
WORDS = ["the", "film", "was", "it", "good", "great", "bad", "dull", "so", "fine"]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> MlmNetwork:
    folder = tiny_bert(tmp_path_factory.mktemp("patterns"), words=WORDS, architecture="BertForMaskedLM")
    return load_mlm(folder, device=CPU, seed=0)


def tokens(network: MlmNetwork, gaps: Gaps, row: int) -> list[str]:
    inputs = gaps.inputs
    ids = inputs.flat[inputs.starts[row] : inputs.starts[row + 1]].tolist()
    return list(network.tokenizer.convert_ids_to_tokens(ids))


def test_a_text_is_put_into_the_pattern_and_the_gaps_are_known(network: MlmNetwork) -> None:
    gaps = fill_pattern(network, "so [MASK]! [text] it was [MASK].", ["the film", "", "good [MASK] bad"])
    assert tokens(network, gaps, 0) == [
        "[CLS]",
        "so",
        "[MASK]",
        "!",
        "the",
        "film",
        "it",
        "was",
        "[MASK]",
        ".",
        "[SEP]",
    ]
    assert tokens(network, gaps, 1) == ["[CLS]", "so", "[MASK]", "!", "it", "was", "[MASK]", ".", "[SEP]"]
    assert gaps.places.tolist() == [[2, 8], [2, 6], [2, 9]]  # a mask that a text has in it is no gap


def test_pairs_are_put_into_the_pattern(network: MlmNetwork) -> None:
    gaps = fill_pattern(network, "[text_a]? [MASK], [text_b]", ["the film"], ["it was good"])
    assert tokens(network, gaps, 0) == ["[CLS]", "the", "film", "?", "[MASK]", ",", "it", "was", "good", "[SEP]"]


@pytest.mark.parametrize("n", [1, 50, 200])
def test_only_the_texts_are_cut(network: MlmNetwork, n: int) -> None:
    gaps = fill_pattern(network, "[text_a]? [MASK], [text_b]", [" good" * n], ["bad " * n])
    assert gaps.inputs.lengths[0] == min(64, 2 * n + 5)
    assert tokens(network, gaps, 0)[int(gaps.places[0, 0])] == "[MASK]"
    assert gaps.inputs.cut[0] == 2 * n + 5 - gaps.inputs.lengths[0]


def test_a_pattern_without_room(network: MlmNetwork) -> None:
    with refuses("patterns"):
        fill_pattern(network, f"[text] {'so ' * 61}[MASK]", ["good"])


def test_scores_of_several_masks_and_words_by_hand() -> None:
    logits = torch.arange(24, dtype=torch.float32).reshape(1, 2, 12) ** 1.5
    verbalizer = Verbalizer(np.array([[1, 2], [3, 4], [5, 0]]), np.array([0, 1, 1]))
    M = logits[0]
    by_hand = [float(M[0, 1] + M[1, 2]), float((M[0, 3] + M[1, 4] + M[0, 5] + M[1, 0]) / 2)]
    assert verbalizer.scores(logits)[0].tolist() == pytest.approx(by_hand)


@pytest.mark.parametrize("kind", MODEL_TYPES)
def test_logits_are_those_of_transformers_for_every_kind_of_model(kind: str, tmp_path: Path) -> None:
    network = load_mlm(write_base(tmp_path, kind, head=True), device=CPU, seed=0)
    gaps = fill_pattern(network, "[text] w1 [MASK] w2 [MASK]", ["w3 w4", "w5 w6 w7", "w8"])
    rows = np.array([2, 0])
    logits = gap_logits(network, gaps, rows)
    for place, row in enumerate(rows.tolist()):
        batch = gaps.inputs.batch(np.array([row]), CPU)
        whole = network.model(**batch).logits[0, gaps.places[row]]
        torch.testing.assert_close(logits[place], whole, atol=1e-4, rtol=1e-4)


def searched(network: MlmNetwork, labels: list[int], n: int, **options: Any) -> dict[int, list[str]]:
    texts = ["the film was good", "so good", "the film was bad", "so dull and bad"]
    gaps = [fill_pattern(network, pattern, texts) for pattern in ("[text] it was [MASK].", "[MASK]! [text]")]
    with Engine(CPU, "fp32", threads=1) as engine:
        return search_words(network, gaps, np.arange(4), np.array([0, 0, 1, 1]), labels, engine, n=n, **options)


def test_words_are_those_of_the_largest_likelihood_ratio(network: MlmNetwork) -> None:
    texts = ["the film was good", "so good", "the film was bad", "so dull and bad"]
    ratio = dict.fromkeys(WORDS, 0.0)
    for pattern in ("[text] it was [MASK].", "[MASK]! [text]"):
        gaps = fill_pattern(network, pattern, texts)
        p = torch.softmax(gap_logits(network, gaps, np.arange(4))[:, 0].detach().double(), 1)
        for word in WORDS:
            q = p[:, word_pieces(network, word)[0]]
            logit = torch.log(q) - torch.log(1 - q)
            ratio[word] += float(logit[:2].mean() - logit[2:].mean())
    best = sorted(WORDS, key=lambda word: -ratio[word])
    assert searched(network, [0], 4) == {0: best[:4]}
    assert searched(network, [0], 2, taken=best[:2]) == {0: best[2:4]}
    both = searched(network, [0, 1], 3)
    assert both[0] == best[:3]
    assert not set(both[0]) & set(both[1])
    with refuses("patterns", InputError):
        searched(network, [0], 1, taken=WORDS)


def test_a_word_of_several_pieces_needs_as_many_masks(network: MlmNetwork) -> None:
    one = Patterns(["[text] [MASK]"], {"a": ["good"], "b": ["xy"]})
    with refuses("patterns", InputError) as raised:
        verbalizers_of(network, one, ["a", "b"])
    assert all(part in str(raised.value) for part in ("'xy'", "2 pieces", "x, ##y"))
    two = Patterns(["[text] [MASK] [MASK]", "[MASK] [text]"], {"a": ["good", "so good"], "b": ["xy", "bad"]})
    by_masks = verbalizers_of(network, two, ["a", "b"])
    assert {k: v.pieces.shape for k, v in by_masks.items()} == {1: (2, 1), 2: (2, 2)}
    with refuses("patterns", InputError):  # label b has no word of one piece
        verbalizers_of(network, Patterns(two.texts, {"a": ["good", "so good"], "b": ["xy"]}), ["a", "b"])
    with refuses("patterns", InputError):  # the same token
        verbalizers_of(network, Patterns(["[text] [MASK]"], {"a": ["good"], "b": ["Good"]}), ["a", "b"])
    with refuses("patterns", InputError):
        verbalizers_of(network, Patterns(["[text] [MASK]"], {"a": ["good"], "b": ["☃"]}), ["a", "b"])


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ([], {}),
        (["[text] it was"], {}),
        (["it was [MASK]"], {}),
        (["[text] [text] [MASK]"], {}),
        (["[text_a] [MASK] [text_b]"], {}),
        (["[text] [MASK]", "[text] [MASK]"], {}),
        (["[text] [MASK]"], {"good": []}),
        (["[text] [MASK]"], {"good": [" "]}),
        (["[text] [MASK]"], {"good": ["fine", "fine"]}),
        (["[text] [MASK]"], {"good": ["fine"], "bad": ["fine"]}),
        (["[text] [MASK]"], {"odd": ["fine"]}),
    ],
)
def test_patterns_that_cannot_be(texts: list[str], words: dict[str, list[str]]) -> None:
    with refuses("patterns", InputError):
        Patterns(texts, words).check(labels=["good", "bad"])


def test_patterns_of_pairs_name_both_texts() -> None:
    Patterns(["[text_a]? [MASK], [text_b]"]).check(pairs=True)
    with refuses("patterns", InputError):
        Patterns(["[text] [MASK]"]).check(pairs=True)


def test_scores_do_not_depend_on_the_batch(network: MlmNetwork) -> None:
    gaps = fill_pattern(network, "[text] it was [MASK].", ["good " * n for n in range(40)])
    verbalizer = verbalizers_of(network, Patterns(["[text] [MASK]"], {"a": ["good"], "b": ["bad"]}), ["a", "b"])[1]
    with Engine(CPU, "fp32", threads=2) as engine:
        whole = pattern_scores(network, gaps, verbalizer, engine)
        some = pattern_scores(network, gaps, verbalizer, engine, np.array([7, 3]))
    np.testing.assert_allclose(whole[[7, 3]], some, atol=1e-5)
