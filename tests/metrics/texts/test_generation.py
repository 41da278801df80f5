"""ROUGE, BLEU and chrF: by hand, and beside rouge-score and sacrebleu."""

from __future__ import annotations

import random

import numpy as np
import pytest

from nlpkit.metrics.texts.generation import (
    answer_exact,
    answer_f1,
    bleu,
    bleu_counts,
    chrf,
    chrf_counts,
    cut_13a,
    rouge_l,
    rouge_n,
)

ONCE = np.ones((1, 1))
SENTENCE = "the cat sat on a mat, dog. 3.5 1,000 U.S. it's well-known (yes) &quot;no&quot; 10-12 end! é naïve x/y"
WORDS = SENTENCE.split(" ")


def texts(seed: int, n: int) -> tuple[list[str], list[str]]:
    rng = random.Random(seed)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(0, 12))) for _ in range(n)]
    return references, [
        a if rng.random() < 0.3 else " ".join(rng.choices(WORDS, k=rng.randint(0, 12))) for a in references
    ]


def test_rouge_by_hand() -> None:
    police, other = "police killed the gunman", "police kill the gunman"  # Lin (2004), section 3.1
    assert rouge_n([police], [other], 1)[0] == 0.75
    assert rouge_n([police], [other], 2)[0] == pytest.approx(1 / 3)
    assert rouge_l([police], [other])[0] == 0.75
    assert rouge_l([police], ["the gunman kill police"])[0] == 0.5
    assert rouge_n(["", "a"], ["", ""], 1).tolist() == [0, 0]


def test_bleu_by_hand() -> None:
    """Papineni et al. (2002), section 2.1: of "the the the the the the the" two words of seven are in the reference."""
    counts = bleu_counts(["the cat is on the mat"], ["the the the the the the the"])
    assert counts.tolist() == [[2, 0, 0, 0, 7, 6, 5, 4, 7, 6]]
    expected = 100 * (2 / 7 * 1 / (2 * 6) * 1 / (4 * 5) * 1 / (8 * 4)) ** 0.25
    assert bleu(counts)(ONCE)[0] == pytest.approx(expected)
    same = bleu_counts(["the cat is on the mat"], ["the cat is on the mat"])
    assert bleu(same)(ONCE)[0] == pytest.approx(100)
    assert bleu(bleu_counts(["a b c"], ["a b c"]))(ONCE)[0] == 0  # no four words in a row


def test_words_of_mteval() -> None:
    assert cut_13a("It's 3.5, &quot;well-known&quot; (U.S.) 10-12") == [
        "It's", "3.5", ",", '"', "well-known", '"', "(", "U", ".", "S", ".", ")", "10", "-", "12",
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_beside_sacrebleu_and_rouge_score(seed: int) -> None:
    sacrebleu, scorers = pytest.importorskip("sacrebleu"), pytest.importorskip("rouge_score.rouge_scorer")
    references, written = texts(seed, 1 + seed % 6)
    once = np.ones((1, len(written)))
    assert bleu(bleu_counts(references, written))(once)[0] == pytest.approx(
        sacrebleu.corpus_bleu(written, [references]).score
    )
    assert chrf(chrf_counts(references, written))(once)[0] == pytest.approx(
        sacrebleu.corpus_chrf(written, [references]).score
    )
    scorer = scorers.RougeScorer(["rouge1", "rouge2", "rougeL"])
    plain = [[text.encode("ascii", "ignore").decode() for text in side] for side in (references, written)]
    theirs = [scorer.score(a, b) for a, b in zip(*plain, strict=True)]
    for name, ours in (("rouge1", rouge_n(*plain, 1)), ("rouge2", rouge_n(*plain, 2)), ("rougeL", rouge_l(*plain))):
        assert ours == pytest.approx([score[name].fmeasure for score in theirs])


def test_weights_count_pairs_several_times() -> None:
    references, written = texts(3, 4)
    weights = np.array([[2.0, 0, 1, 1]])
    again = ([references[i] for i in (0, 0, 2, 3)], [written[i] for i in (0, 0, 2, 3)])
    for count, score in ((bleu_counts, bleu), (chrf_counts, chrf)):
        assert score(count(references, written))(weights) == pytest.approx(score(count(*again))(np.ones((1, 4))))


def squad(true: str, predicted: str) -> tuple[float, float]:
    """Exact match and F1 by the rules of evaluate-v2.0.py, step by step."""
    import re
    import string

    def normalised(text: str) -> str:
        text = "".join(c for c in text.lower() if c not in set(string.punctuation))
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())

    gold, words = normalised(true).split(), normalised(predicted).split()
    exact = float(normalised(true) == normalised(predicted))
    if not gold or not words:
        return exact, float(gold == words)
    same = sum(min(gold.count(w), words.count(w)) for w in set(gold))
    if not same:
        return exact, 0.0
    precision, recall = same / len(words), same / len(gold)
    return exact, 2 * precision * recall / (precision + recall)


def test_answers_by_hand() -> None:
    true = ["the Eiffel Tower", "1889", "", "", "a red, red rose", "The"]
    written = ["Eiffel tower!", "in 1889", "", "Paris", "red rose", ""]
    assert answer_exact(true, written).tolist() == [1, 0, 1, 0, 0, 1]
    assert answer_f1(true, written) == pytest.approx([1, 2 / 3, 1, 0, 4 / 5, 1])


@pytest.mark.parametrize("seed", range(10))
def test_answers_by_the_rules_of_squad(seed: int) -> None:
    rng = random.Random(seed)
    words = [*WORDS, "The", "An", "a", "Theatre", "don't", "—", "U.S.A."]
    pairs = [[" ".join(rng.choices(words, k=rng.randint(0, 5))) for _ in range(2)] for _ in range(50)]
    true, written = [a for a, _ in pairs], [b for _, b in pairs]
    expected = np.array([squad(a, b) for a, b in pairs])
    np.testing.assert_allclose(np.column_stack([answer_exact(true, written), answer_f1(true, written)]), expected)
