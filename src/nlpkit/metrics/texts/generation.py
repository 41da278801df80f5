"""The scores of written texts against reference texts: ROUGE, BLEU, chrF, BERTScore, and SQuAD's of answers.

Parts, in this order:
- Scores of texts that were written against texts that should have been: ROUGE, BLEU, chrF, and of answers those of
  SQuAD.
- BERTScore of two texts from the vectors of their tokens.
- The scores, added to a result.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from nlpkit.errors import InputError
from nlpkit.metrics.catalogue import METRICS, in_group
from nlpkit.metrics.intervals import Statistic
from nlpkit.metrics.labels.labels import PredictionTable
from nlpkit.metrics.results import TargetResult
from nlpkit.metrics.score import Uncertainty, mean_score, statistic_score
from nlpkit.platform import wording
from nlpkit.platform.documents.regex import UNSPACED
from nlpkit.platform.types import Float32Array, FloatArray, IntArray, LongArray

BLEU_ORDER, CHRF_ORDER, CHRF_BETA = 4, 6, 2.0
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_SIGNS = str.maketrans("", "", string.punctuation)
_WORDS = re.compile(r"[^\W_]+")
_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
_CUTS = (  # of mteval-v13a.pl: signs, full stops and commas beside what is no digit, a dash behind a digit
    (re.compile(r"([{-~\[-` -&(-+:-@/])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


def rouge_n(references: Sequence[str], texts: Sequence[str], n: int) -> FloatArray:
    """Return ROUGE-N of each pair (D,): F1 of the n-grams, each counted as often as both texts have it; 0 where one has none.

    Words are runs of letters and digits in lower case, not stemmed. Agrees with rouge-score 0.1.2 on ASCII text, of which alone that
    program knows the letters.

    Source: Lin (2004), "ROUGE: A Package for Automatic Evaluation of Summaries", section 2.
    """
    return np.array(
        [_f1(*_common(_grams(_words(a), n), _grams(_words(b), n))) for a, b in zip(references, texts, strict=True)]
    )


def rouge_l(references: Sequence[str], texts: Sequence[str]) -> FloatArray:
    """Return ROUGE-L of each pair (D,): F1 of the longest common subsequence of words, the whole text as one sentence.

    Source: Lin (2004), section 3, with β = 1; agrees with rouge-score 0.1.2 as `rouge_n` does.
    """
    scores = []
    for reference, text in zip(references, texts, strict=True):
        a, b = _words(reference), _words(text)
        scores.append(_f1(_longest_common(a, b), len(a), len(b)))
    return np.array(scores)


def bleu_counts(references: Sequence[str], texts: Sequence[str]) -> LongArray:
    """Return of each pair (D, 10): n-grams in common of orders 1 to 4, n-grams of the text, words of the text, of the reference.

    Words are cut as mteval-v13a does, "13a" of sacrebleu.
    """
    rows = np.zeros((len(texts), 2 * BLEU_ORDER + 2), np.int64)
    for row, reference, text in zip(rows, references, texts, strict=True):
        a, b = cut_13a(reference), cut_13a(text)
        for n in range(1, BLEU_ORDER + 1):
            row[n - 1], _, row[BLEU_ORDER + n - 1] = _common(_grams(a, n), _grams(b, n))
        row[-2:] = len(b), len(a)
    return rows


def bleu(counts: LongArray) -> Statistic:
    """Return BLEU, 0 to 100, of weighted pairs: weights (B, D) → (B,).

    100 · min(1, exp(1 - r/c)) · exp(¼ Σ_n ln p_n) over the sums of the counts of all pairs; the k-th order without a match has
    p = 1 / (2^k · its n-grams), "exp" of sacrebleu, and an order without n-grams makes it 0.

    Source: Papineni et al. (2002), "BLEU", ACL; Post (2018), "A Call for Clarity in Reporting BLEU Scores", WMT.
    """
    return partial(_bleu, counts.astype(np.float64))


def _bleu(counts: FloatArray, weights: FloatArray) -> FloatArray:
    sums = weights @ counts
    common, there = sums[:, :BLEU_ORDER], sums[:, BLEU_ORDER : 2 * BLEU_ORDER]
    misses = np.cumsum((common == 0) & (there > 0), axis=1)
    matches = np.where(common > 0, common, 0.5**misses)
    possible = (there > 0).all(axis=1) & (common.sum(axis=1) > 0)
    log_p = np.log(matches / np.maximum(there, 1.0)).mean(axis=1)
    words, reference = np.maximum(sums[:, -2], 1.0), sums[:, -1]
    return np.where(possible, 100.0 * np.exp(log_p + np.minimum(1.0 - reference / words, 0.0)), 0.0)


def chrf_counts(references: Sequence[str], texts: Sequence[str]) -> LongArray:
    """Return of each pair (D, 6, 3): n-grams of characters of orders 1 to 6, of the text, of the reference, in common; no white space.

    N-grams of a text whose reference is shorter than they are do not count, as in sacrebleu.
    """
    rows = np.zeros((len(texts), CHRF_ORDER, 3), np.int64)
    for row, reference, text in zip(rows, references, texts, strict=True):
        a, b = "".join(reference.split()), "".join(text.split())
        for n in range(1, CHRF_ORDER + 1):
            both, of_a, of_b = _common(_grams(a, n), _grams(b, n))
            row[n - 1] = of_b if of_a else 0, of_a, both
    return rows


def chrf(counts: LongArray) -> Statistic:
    """Return chrF2, 0 to 100, of weighted pairs: weights (B, D) → (B,).

    100 (1 + β²) P R / (β² P + R), β = 2, with P and R means over the orders of which both sides have n-grams, of the sums of the
    counts of all pairs: the chrF of sacrebleu.

    Source: Popović (2015), "chrF: character n-gram F-score for automatic MT evaluation", WMT.
    """
    return partial(_chrf, counts.reshape(len(counts), -1).astype(np.float64))


def _chrf(counts: FloatArray, weights: FloatArray) -> FloatArray:
    of_text, of_reference, both = np.moveaxis((weights @ counts).reshape(len(weights), CHRF_ORDER, 3), 2, 0)
    there = (of_text > 0) & (of_reference > 0)
    orders = np.maximum(there.sum(axis=1), 1)
    precision = np.where(there, both / np.maximum(of_text, 1), 0.0).sum(axis=1) / orders
    recall = np.where(there, both / np.maximum(of_reference, 1), 0.0).sum(axis=1) / orders
    both_ways = CHRF_BETA**2 * precision + recall
    return np.asarray(
        100.0 * (1 + CHRF_BETA**2) * precision * recall / np.where(both_ways > 0, both_ways, 1.0), np.float64
    )


def cut_13a(text: str) -> list[str]:
    """Return the words and signs of a text as mteval-v13a.pl cuts it: for languages that have spaces between words."""
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, sign in _ENTITIES.items():
        text = text.replace(entity, sign)
    text = f" {text} "
    for pattern, cut in _CUTS:
        text = pattern.sub(cut, text)
    return text.split()


def answer_exact(references: Sequence[str], texts: Sequence[str]) -> FloatArray:
    """Return of each pair (D,) 1 where the answers are alike, else 0: in lower case, without ASCII punctuation, a, an and the.

    Two answers without a word, of questions that have none, are alike. Agrees with evaluate-v2.0.py of SQuAD for one true answer.

    Source: Rajpurkar et al. (2016), "SQuAD", section 6.1; Rajpurkar, Jia & Liang (2018), section 5.
    """
    return np.array([float(_answer(a) == _answer(b)) for a, b in zip(references, texts, strict=True)])


def answer_f1(references: Sequence[str], texts: Sequence[str]) -> FloatArray:
    """Return F1 (D,) of the words of each pair of answers, each counted as often as both have it; see `answer_exact`."""
    scores = []
    for reference, text in zip(references, texts, strict=True):
        a, b = Counter(_answer(reference)), Counter(_answer(text))
        scores.append(float(a == b) if not a or not b else _f1((a & b).total(), a.total(), b.total()))
    return np.array(scores)


def _answer(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_WITHOUT_SIGNS)).split()


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def _grams(items: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(items[i:] for i in range(n)), strict=False))


def _common(a: Counter[tuple[str, ...]], b: Counter[tuple[str, ...]]) -> tuple[int, int, int]:
    """Return how many n-grams both have, the first, and the second."""
    return sum((a & b).values()), sum(a.values()), sum(b.values())


def _f1(both: int, a: int, b: int) -> float:
    return 2.0 * both / (a + b) if both else 0.0


def _longest_common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, row by row of the table: the maximum along a row is a running one."""
    codes: dict[str, int] = {}
    first, second = (np.array([codes.setdefault(word, len(codes)) for word in words], np.int64) for words in (a, b))
    row: IntArray = np.zeros(len(second) + 1, np.int32)
    for word in first.tolist():
        new = row.copy()
        new[1:] = np.maximum(row[1:], np.where(second == word, row[:-1] + 1, 0))
        row = np.maximum.accumulate(new)
    return int(row[-1])


PER_PAIR: dict[str, Callable[[Sequence[str], Sequence[str]], FloatArray]] = {
    "rouge_1": partial(rouge_n, n=1),
    "rouge_2": partial(rouge_n, n=2),
    "rouge_l": rouge_l,
    "answer_exact": answer_exact,
    "answer_f1": answer_f1,
}
OF_CORPUS: dict[str, Callable[[Sequence[str], Sequence[str]], Statistic]] = {
    "bleu": lambda references, texts: bleu(bleu_counts(references, texts)),
    "chrf": lambda references, texts: chrf(chrf_counts(references, texts)),
}


# ------------------------------------------------------------------------------------------------------------------------
# BERTScore of two texts from the vectors of their tokens.


def greedy_scores(
    reference: Float32Array, text: Float32Array, reference_weights: FloatArray, text_weights: FloatArray
) -> tuple[float, float, float]:
    """Return precision, recall and F of a text: each token is compared with the one of the other text that is nearest by cosine.

    P = Σ_j w_j max_i cos(x_i, y_j) / Σ_j w_j over the tokens y of the text, R the same over the tokens x of the reference,
    F = 2PR / (P + R), 0 where this is undefined. A text whose tokens have no weight, such as an empty one, has 0 in all. There is no
    rescaling by a baseline.

    Args:
        reference: (m, E) vectors of its tokens, special ones included, which are compared with and have weight 0; text: (n, E).
        reference_weights: (m,); text_weights: (n,).

    Source: Zhang et al. (2020), "BERTScore", ICLR, section 3; agrees with bert-score 0.3.13, but that its batches are padded by vectors
    of zeros, which a token without a positive cosine takes there.
    """
    if not (reference_weights.sum() > 0 and text_weights.sum() > 0):
        return 0.0, 0.0, 0.0
    cosine = _unit(reference) @ _unit(text).T
    precision = float(cosine.max(axis=0) @ text_weights / text_weights.sum())
    recall = float(cosine.max(axis=1) @ reference_weights / reference_weights.sum())
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both > 0 else 0.0


def inverse_frequencies(token_ids: Sequence[IntArray], n_tokens: int) -> FloatArray:
    """Return the weight (V,) of each token: ln((D + 1) / (df + 1)), of the references (Zhang et al. 2020, section 3).

    Args:
        token_ids: D arrays; n_tokens: V.
    """
    df = np.zeros(n_tokens, np.int64)
    for ids in token_ids:
        df[np.unique(ids)] += 1
    weights: FloatArray = np.log((len(token_ids) + 1) / (df + 1))
    return weights


def _unit(vectors: Float32Array) -> FloatArray:
    wide = vectors.astype(np.float64)
    unit: FloatArray = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12)
    return unit


# ------------------------------------------------------------------------------------------------------------------------
# Scores of texts that were written against texts that should have been.

BERTSCORE = in_group("bertscore")
TokenScores = Callable[[Sequence[str], Sequence[str]], tuple[FloatArray, dict[str, object]]]


def add_generated(
    result: TargetResult,
    table: PredictionTable,
    names: Sequence[str],
    uncertainty: Uncertainty,
    token_scores: TokenScores | None = None,
) -> None:
    """Add scores of written texts to a result.

    A document without a text that should be is left out; one without a written text counts as an empty one.

    Args:
        token_scores: gives BERTScore's precision, recall and F (D, 3) of references and texts, and its parameters; needed for these.

    Raises:
        InputError: there is no text that should be, or a column holds other than texts.
    """
    pairs = [(label, text) for label, text in zip(table.labels, table.assigned, strict=True) if label is not None]
    for value in (value for pair in pairs for value in pair if not isinstance(value, str | None)):
        raise InputError(f"{table.name}: texts are needed to compare, here is {value!r:.60}")
    if not pairs:
        raise InputError(f"{table.name}: no document has a text to compare with in '{table.label_col}'")
    references, texts = [label for label, _ in pairs], [text or "" for _, text in pairs]
    for what, n in (
        ("text to compare with: left out", len(table.labels) - len(pairs)),
        ("written text: compared as an empty one", sum(not text for text in texts)),
    ):
        if n:
            result.notes.append(f"{wording.counted(n, 'document')} without a {what}")
    by_word = [name for name in names if name not in (*BERTSCORE, "chrf")]
    if by_word and sum(bool(UNSPACED.search(text)) for text in references) > len(references) / 2:
        result.notes.append(
            f"most texts have no spaces between words, where {wording.listed(by_word, 5)} cut: they count what stands between two "
            "signs as one word; chrf compares characters"
        )
    once = np.ones(len(texts), np.int64)
    of_tokens = [name for name in names if name in BERTSCORE]
    if of_tokens:
        assert token_scores is not None
        columns, parameters = token_scores(references, texts)
        for name in of_tokens:
            values = columns[:, BERTSCORE.index(name)]
            result.add(mean_score(METRICS[name], values, uncertainty, over="documents", parameters=parameters))
    for name in [name for name in names if name not in BERTSCORE]:
        if name in PER_PAIR:
            values = PER_PAIR[name](references, texts)
            cut = "at spaces, without punctuation and articles" if name.startswith("answer") else "letters and digits"
            result.add(mean_score(METRICS[name], values, uncertainty, over="documents", parameters={"words": cut}))
        else:
            statistic = OF_CORPUS[name](references, texts)
            result.add(statistic_score(METRICS[name], statistic, once, uncertainty, over="documents"))
