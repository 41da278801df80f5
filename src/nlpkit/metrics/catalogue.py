"""The list of all metrics: names, groups, ranges, the better end, one line each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
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
    "stm": POSITIVE,
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
    "semantic_coherence": (-inf, 0.0),
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


# ------------------------------------------------------------------------------------------------------------------------
# The list of all metrics: names, groups, the better end, one line each.


@dataclass(frozen=True, slots=True)
class Metric:
    """A kind of score. better: "high", "low", or "" where neither end is the good one."""

    name: str
    group: str
    better: str
    title: str

    @property
    def range(self) -> Range:
        """The lowest and the highest value that it can have."""
        return range_of(self.name, self.group)


def _metrics(group: str, *rows: tuple[str, str, str]) -> dict[str, Metric]:
    return {name: Metric(name, group, better, title) for name, better, title in rows}


METRICS: dict[str, Metric] = {
    **_metrics(
        "coherence",
        ("npmi", "high", "normalised pointwise mutual information of the top words (Bouma 2009)"),
        ("pmi", "high", "pointwise mutual information, C_UCI (Newman et al. 2010)"),
        ("umass", "high", "log of conditional document frequencies (Mimno et al. 2011)"),
        ("c_v", "high", "cosine of NPMI vectors (Röder et al. 2015)"),
        ("c_p", "high", "Fitelson's confirmation of each word by those before it (Röder et al. 2015)"),
    ),
    **_metrics(
        "vectors",
        ("we_pairwise", "high", "mean cosine of the vectors of two top words, C_ex (Fang et al. 2016)"),
        ("we_centroid", "high", "mean cosine of the vectors of top words with their mean"),
        ("intruder_found", "high", "share of topics whose intruder the vectors find"),
        ("c_in", "high", "mean cosine of two top words by word2vec trained on the corpus (Kardos et al. 2025)"),
        ("interpretability", "high", "√(diversity · √(C_in · C_ex)) (Kardos et al. 2025)"),
    ),
    **_metrics(
        "distinctness",
        ("diversity", "high", "share of different words among the top words (Dieng et al. 2020)"),
        ("inverted_rbo", "high", "1 − rank-biased overlap of two topics (Bianchi et al. 2021)"),
        ("jaccard", "low", "Jaccard similarity of the top words of two topics"),
    ),
    **_metrics(
        "significance",
        ("exclusivity", "high", "share of a top word that falls to its topic"),
        ("frex", "high", "harmonic mean of the ranks of frequency and exclusivity (Bischof & Airoldi 2012)"),
        ("kl_uniform", "high", "divergence of the topic from all words alike (AlSumait et al. 2009)"),
        ("kl_vacuous", "high", "divergence of the topic from the words of the corpus"),
        ("kl_background", "high", "divergence of its documents from all documents alike"),
        ("effective_words", "", "number of words a topic is made of, 1 / Σ p²"),
    ),
    **_metrics(
        "stm",
        (
            "semantic_coherence",
            "high",
            "semanticCoherence of R's stm: UMass as a sum (Mimno et al. 2011)",
        ),
        ("frex_exclusivity", "high", "exclusivity of R's stm: the sum of FREX of the top words, weight .7"),
    ),
    **_metrics(
        "fit",
        ("perplexity", "low", "per token of held-out documents"),
        ("perplexity_in_sample", "low", "per token of the documents of the fit"),
        ("log_likelihood", "high", "log p(w, z) per token at the end of the chain"),
        ("residuals", "low", "dispersion of the counts around the model, 1 when it fits (Taddy 2012)"),
    ),
    **_metrics(
        "stability",
        ("s_clop", "high", "agreement of clusters of topics over runs (Rieger et al. 2024)"),
        ("matched_jaccard", "high", "Jaccard similarity of matched topics of two runs (Greene et al. 2014)"),
        ("matched_rbo", "high", "rank-biased overlap of matched topics of two runs"),
    ),
    **_metrics(
        "clustering",
        ("nmi", "high", "normalised mutual information of topics and labels"),
        ("ami", "high", "mutual information adjusted for chance (Vinh et al. 2010)"),
        ("ari", "high", "Rand index adjusted for chance (Hubert & Arabie 1985)"),
        ("v_measure", "high", "harmonic mean of homogeneity and completeness (Rosenberg & Hirschberg 2007)"),
        ("homogeneity", "high", "1 − H(label | topic) / H(label)"),
        ("completeness", "high", "1 − H(topic | label) / H(topic)"),
        ("purity", "high", "share of documents of the largest class of their topic"),
        ("inverse_purity", "high", "share of documents of the largest topic of their class"),
        ("purity_f1", "high", "harmonic mean of purity and inverse purity"),
        ("matching_accuracy", "high", "accuracy after the best one-to-one matching (Hungarian method)"),
        ("rand", "high", "share of pairs of documents that are together, or apart, in both (Rand 1971)"),
        ("pair_f1", "high", "F of pairs of documents that are together"),
        ("fmi", "high", "geometric mean of precision and recall of these pairs (Fowlkes & Mallows 1983)"),
        ("bcubed_f1", "high", "F of precision and recall of each document's topic (Amigó et al. 2009)"),
    ),
    **_metrics(
        "separation",
        ("silhouette", "high", "distance to the next topic against that to the own (Rousseeuw 1987)"),
        ("dbcv", "high", "density between clusters against that within (Moulavi et al. 2014)"),
    ),
    **_metrics(
        "classification",
        ("accuracy", "high", "share of right predictions"),
        ("balanced_accuracy", "high", "mean recall of the classes"),
        ("macro_precision", "high", "mean precision of the classes"),
        ("macro_recall", "high", "mean recall of the classes"),
        ("macro_f1", "high", "mean F of the classes"),
        ("micro_f1", "high", "F over all documents; equals accuracy where each has one label"),
        ("weighted_precision", "high", "precision of the classes weighted by their size"),
        ("weighted_recall", "high", "recall of the classes weighted by their size"),
        ("weighted_f1", "high", "F of the classes weighted by their size"),
        ("mcc", "high", "Matthews' correlation coefficient"),
        ("kappa", "high", "Cohen's kappa of labels and predictions"),
    ),
    # beside macro, weighted and micro scores of the group before, which are defined for sets of labels as well
    **_metrics(
        "multilabel",
        ("subset_accuracy", "high", "share of documents with exactly the right labels"),
        ("hamming_loss", "low", "share of wrong decisions on a label of a document"),
        ("micro_precision", "high", "share of right ones among all labels predicted"),
        ("micro_recall", "high", "share of all labels that are predicted"),
        ("samples_jaccard", "high", "mean Jaccard similarity of the labels and predictions of a document"),
        ("samples_precision", "high", "mean precision of the documents"),
        ("samples_recall", "high", "mean recall of the documents"),
        ("samples_f1", "high", "mean F of the documents"),
    ),
    **_metrics(
        "correlation",
        ("pearson", "high", "Pearson's r of score and label"),
        ("spearman", "high", "Spearman's rho of score and label"),
    ),
    **_metrics(
        "regression",
        ("rmse", "low", "root of the mean squared error"),
        ("mae", "low", "mean absolute error"),
        ("r2", "high", "1 − squared error against that of the mean"),
    ),
    # beside spearman, of the ranks
    **_metrics(
        "ordinal",
        ("rank_mae", "low", "mean number of classes between label and prediction"),
        ("macro_mae", "low", "mean of it over the classes of the labels (Baccianella et al. 2009)"),
        ("quadratic_kappa", "high", "Cohen's kappa weighted by squared distances of ranks (Cohen 1968)"),
    ),
    **_metrics(
        "spans",
        ("span_f1", "high", "F of spans of BIO labels that are found exactly (Tjong Kim Sang & De Meulder 2003)"),
        ("span_precision", "high", "share of predicted spans that are right"),
        ("span_recall", "high", "share of true spans that are found"),
    ),
    **_metrics(
        "generation",
        ("rouge_1", "high", "F of words that a written text shares with the one it should be (Lin 2004)"),
        ("rouge_2", "high", "F of pairs of words in a row (Lin 2004)"),
        ("rouge_l", "high", "F of the longest common subsequence of words (Lin 2004)"),
        ("answer_exact", "high", "share of answers like the true ones (Rajpurkar et al. 2016)"),
        ("answer_f1", "high", "F of words that an answer shares with the true one (Rajpurkar et al. 2016)"),
        ("bleu", "high", "precision of one to four words in a row, 0 to 100 (Papineni et al. 2002)"),
        ("chrf", "high", "F2 of one to six characters in a row, 0 to 100 (Popović 2015)"),
    ),
    **_metrics(
        "bertscore",
        (
            "bertscore_precision",
            "high",
            "mean cosine of a token to the nearest one of the other text (Zhang et al. 2020)",
        ),
        ("bertscore_recall", "high", "the same over the tokens of the text that should be (Zhang et al. 2020)"),
        ("bertscore_f1", "high", "harmonic mean of both, without a baseline (Zhang et al. 2020)"),
    ),
    **_metrics(
        "calibration",
        ("ece", "low", "expected calibration error, bins of equal width (Guo et al. 2017)"),
        ("brier", "low", "squared errors of the probabilities of all classes, 0 to 2 (Brier 1950)"),
        ("brier_top", "low", "mean squared error of the probability of the prediction alone"),
    ),
    **_metrics(
        "costs",
        ("mean_cost", "low", "mean cost of a decision, by `nlpkit classify --costs` alone (Elkan 2001)"),
    ),
    **_metrics(
        "ranking",
        ("roc_auc", "high", "area under the ROC curve of each class against all others, mean over classes"),
        ("average_precision", "high", "area under the curve of precision and recall of each class, mean over classes"),
        ("top3_accuracy", "high", "share of documents whose label is among the three most probable classes"),
    ),
    **_metrics(
        "people",
        ("precision", "high", "share of right answers (Chang et al. 2009)"),
        ("topic_log_odds", "high", "how probable what was taken for the intruder is, 0 at best (Chang et al. 2009)"),
        ("rating", "high", "mean rating from 1 to 3 (Newman et al. 2010)"),
        ("alpha", "high", "agreement beyond chance (Krippendorff 2011)"),
        ("percent_agreement", "high", "share of pairs of judgements that are equal"),
        ("fleiss_kappa", "high", "agreement beyond chance (Fleiss 1971)"),
        ("cohen_kappa", "high", "agreement beyond chance, mean over pairs of coders (Cohen 1960, Light 1971)"),
    ),
}
ALIASES = {
    "c_npmi": "npmi",
    "c_uci": "pmi",
    "uci": "pmi",
    "u_mass": "umass",
    "cv": "c_v",
    "cp": "c_p",
    "c_ex": "we_pairwise",
    "wec_ex": "we_pairwise",
    "wec_in": "c_in",
    "unique_share": "diversity",
    "topic_diversity": "diversity",
    "rbo": "inverted_rbo",
    "irbo": "inverted_rbo",
    "sclop": "s_clop",
    "f1": "macro_f1",
    "exact_match": "subset_accuracy",
    "jaccard_samples": "samples_jaccard",
    "auc": "roc_auc",
    "qwk": "quadratic_kappa",
    "pr_auc": "average_precision",
    "v": "v_measure",
    "fowlkes_mallows": "fmi",
    "krippendorff_alpha": "alpha",
    "rouge1": "rouge_1",
    "rouge2": "rouge_2",
    "rougel": "rouge_l",
}
FAMILIES = {"rouge": ("rouge_1", "rouge_2", "rouge_l")}  # names of several metrics that are no group
GROUPS: tuple[str, ...] = tuple(dict.fromkeys(metric.group for metric in METRICS.values()))


def no_metric(name: str, *, groups: bool) -> str:
    """Return what to say of a name that is no metric: the nearest one, else the groups of which there are examples.

    Args:
        groups: a group may be named as well.
    """
    key = name.strip().lower().replace("-", "_")
    near = get_close_matches(key, [*METRICS, *ALIASES, *(GROUPS if groups else ())], n=1)
    if near:
        return f"'{name.strip()}' is not a metric; did you mean '{near[0]}'?"
    some = ", ".join(f"{group} ({next(iter(in_group(group)))} …)" for group in GROUPS)
    return f"'{name.strip()}' is not a metric; there are metrics of {some}"


def metric_of(name: str) -> Metric | None:
    """Return the metric of a name or alias, None when there is none; macro_f2 and the like are F of another beta."""
    key = name.strip().lower().replace("-", "_")
    key = ALIASES.get(key, key)
    if key in METRICS:
        return METRICS[key]
    average, f, beta = key.partition("_f")
    likeness = METRICS.get(f"{average}_f1")
    if not f or likeness is None or not re.fullmatch(r"\d+(\.\d+)?", beta):
        return None
    return Metric(key, likeness.group, likeness.better, likeness.title.replace("F ", f"F{beta} "))


def in_group(*groups: str) -> Sequence[str]:
    """Return the names of the metrics of some groups."""
    return [name for name, metric in METRICS.items() if metric.group in groups]
