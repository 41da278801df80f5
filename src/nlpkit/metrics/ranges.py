"""The range of each score: the lowest and the highest value that it can have."""

from __future__ import annotations

from math import inf

Range = tuple[float, float]

SHARE: Range = (0.0, 1.0)
SIGNED: Range = (-1.0, 1.0)
POSITIVE: Range = (0.0, inf)
ANY: Range = (-inf, inf)

OF_GROUP: dict[str, Range] = {
    "coherence": SIGNED,
    "vectors": SIGNED,
    "distinctness": SHARE,
    "significance": POSITIVE,
    "stability": SHARE,
    "clustering": SHARE,
    "separation": SIGNED,
    "classification": SHARE,
    "multilabel": SHARE,
    "correlation": SIGNED,
    "regression": POSITIVE,
    "ordinal": POSITIVE,
    "spans": SHARE,
    "generation": SHARE,
    "bertscore": SIGNED,
    "calibration": SHARE,
    "ranking": SHARE,
    "people": SHARE,
}
OF_SCORE: dict[str, Range] = {
    "pmi": ANY,
    "umass": ANY,
    "intruder_found": SHARE,
    "interpretability": SHARE,
    "exclusivity": SHARE,
    "frex": SHARE,
    "effective_words": (1.0, inf),
    "perplexity": (1.0, inf),
    "perplexity_in_sample": (1.0, inf),
    "log_likelihood": (-inf, 0.0),  # of words and topics, which are counted: a probability, no density
    "residuals": POSITIVE,
    "ami": (-inf, 1.0),
    "ari": (-0.5, 1.0),  # the least is -1/2 (Chacón & Rastrojo 2023, "Minimum adjusted Rand index")
    "brier": (0.0, 2.0),
    "bleu": (0.0, 100.0),
    "chrf": (0.0, 100.0),
    "mcc": SIGNED,
    "kappa": SIGNED,
    "r2": (-inf, 1.0),
    "mean_cost": ANY,
    "quadratic_kappa": SIGNED,
    "topic_log_odds": (-inf, 0.0),
    "rating": (1.0, 3.0),
    "alpha": (-inf, 1.0),
    "fleiss_kappa": SIGNED,
    "cohen_kappa": SIGNED,
}


def range_of(name: str, group: str) -> Range:
    """Return the lowest and the highest value of a score, infinite where it has no bound or is not known here."""
    return OF_SCORE.get(name, OF_GROUP.get(group, ANY))
