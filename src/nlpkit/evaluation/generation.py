"""Scores of texts that were written against texts that should have been."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nlpkit import wording
from nlpkit.errors import InputError
from nlpkit.evaluation.labels import PredictionTable
from nlpkit.evaluation.results import TargetResult
from nlpkit.metrics.catalogue import METRICS, in_group
from nlpkit.metrics.generation import OF_CORPUS, PER_PAIR
from nlpkit.metrics.score import Uncertainty, mean_score, statistic_score
from nlpkit.text.scripts import UNSPACED
from nlpkit.types import FloatArray

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
