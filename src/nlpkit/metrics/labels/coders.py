"""How far coders agree, and the label that most of them gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import InputError, unknown_value
from nlpkit.metrics import agreement as agree
from nlpkit.metrics.agreement import LEVELS, Level, dawid_skene
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.results import TargetResult, detail_table
from nlpkit.metrics.score import Score, Uncertainty, statistic_score
from nlpkit.platform import wording
from nlpkit.platform.types import FloatArray, LongArray

PEOPLE = {name: metric for name, metric in METRICS.items() if metric.group == "people"}
MANY_VALUES = 1000
_PAIRS_SHOWN = 15
_VALUES_SHOWN = 30

Weights = Literal["linear", "quadratic"]


@dataclass(frozen=True, slots=True)
class Annotations:
    """Judgements of U units by C coders.

    ratings: (U, C) float64, NaN for missing, each one of `values`; values: (V,) ascending, the numbers given or the places
    of the labels; names: (V,) of these values; units: (U,) ids; rows: (U,) the first row of each unit
    in the file, from 0 and without its header.
    """

    units: tuple[str, ...]
    coders: tuple[str, ...]
    ratings: FloatArray
    values: FloatArray
    names: tuple[str, ...]
    rows: tuple[int, ...]

    @property
    def codes(self) -> LongArray:
        """Places of the ratings in values (U, C), -1 for missing."""
        rated = ~np.isnan(self.ratings)
        codes = np.full(self.ratings.shape, -1, np.int64)
        codes[rated] = np.searchsorted(self.values, self.ratings[rated])
        return codes


def measurement(level: str) -> Level:
    """Return a level of measurement. Raises UsageError when there is none of that name."""
    for known in LEVELS:
        if level == known:
            return known
    raise unknown_value("measurement", level, LEVELS)


def agreement_scores(
    ratings: FloatArray,
    level: Level,
    uncertainty: Uncertainty,
    *,
    categories: Sequence[float] | None = None,
    over: str = "units",
) -> dict[str, Score]:
    """Return alpha with its interval, percent agreement, and the kappas of ratings (U, C); what is not defined says why.

    Cohen's kappa is weighted by the squared distance of the places of the values, unless the level is nominal. `categories`
    are all values that could be given.
    """
    statistic, times = agree.alpha_statistic(ratings, level=level)
    why = agree.why_undefined(ratings)
    of_level = {"method": level}
    scores = {
        "alpha": statistic_score(
            PEOPLE["alpha"], statistic, times, uncertainty, over=over, parameters=of_level, why=why
        )
    }
    n_units = int(((~np.isnan(ratings)).sum(axis=1) > 1).sum())
    scores["percent_agreement"] = _score("percent_agreement", agree.percent_agreement(ratings), over, n_units, {}, why)
    n_values = len(np.unique(ratings[~np.isnan(ratings)]))
    if n_values > MANY_VALUES:
        why = f"kappa is for categories, and there are {n_values:,} different values"
        return scores | {n: _score(n, float("nan"), over, 0, {}, why) for n in ("fleiss_kappa", "cohen_kappa")}
    counts = agree.rating_counts(ratings)
    rated = counts[counts.sum(axis=1) > 0]
    try:
        scores["fleiss_kappa"] = _score("fleiss_kappa", agree.fleiss_kappa(rated), over, len(rated), {}, why)
    except InputError as error:
        scores["fleiss_kappa"] = _score("fleiss_kappa", float("nan"), over, len(rated), {}, str(error))
    weights = _weights(level)
    kappas = agree.pairwise_cohen(ratings, weights=weights, categories=categories)
    n_pairs = int(np.isfinite(kappas[np.triu_indices(len(kappas), 1)]).sum())
    parameters = {"method": f"{weights} weights" if weights else "unweighted"}
    why = why or "no two coders share units on which they vary"
    return scores | {
        "cohen_kappa": _score("cohen_kappa", agree.mean_cohen(kappas), "pairs of coders", n_pairs, parameters, why)
    }


def _score(name: str, value: float, over: str, n: int, parameters: Mapping[str, Any], why: str) -> Score:
    defined = bool(np.isfinite(value))
    return Score(PEOPLE[name], value if defined else None, over, n, parameters, why="" if defined else why)


def _weights(level: Level) -> Weights | None:
    return None if level == "nominal" else "quadratic"


def agreement_result(name: str, annotations: Annotations, level: Level, uncertainty: Uncertainty) -> TargetResult:
    """Return how far coders agree: overall, without each of them, by pair, and how votes come out."""
    codes = annotations.codes
    rated = codes >= 0
    coders, units = (wording.counted(len(annotations.coders), "coder"), wording.counted(len(annotations.units), "unit"))
    result = TargetResult(name, f"{units} by {coders}", unit="coder", units=list(annotations.coders))
    result.unit_texts = [""] * len(annotations.coders)
    values = annotations.values.tolist() if len(annotations.values) else None
    for score in agreement_scores(annotations.ratings, level, uncertainty, categories=values).values():
        result.add(score)
    missing = int((~rated).sum())
    result.facts |= {"units": len(annotations.units), "ratings": int(rated.sum()), "missing": missing}
    _add_coders(result, annotations, level)
    if 0 < len(annotations.values) <= MANY_VALUES:
        _add_pairs(result, annotations, level)
        _add_votes(result, annotations)
    if missing:
        result.notes.append(f"{missing:,} of {rated.size:,} judgements are missing; alpha takes that into account")
    return result


def _add_coders(result: TargetResult, annotations: Annotations, level: Level) -> None:
    rated = annotations.codes >= 0
    facts = []
    for c, coder in enumerate(annotations.coders):
        n, missing = int(rated[:, c].sum()), int((~rated[:, c]).sum())
        fact: dict[str, Any] = {"coder": coder, "ratings": n, "missing": missing}
        if len(annotations.coders) > 2:
            fact["alpha_without"] = agree.krippendorff_alpha(np.delete(annotations.ratings, c, axis=1), level=level)
        facts.append(fact)
    heads = {"coder": "coder", "ratings": "judgements", "missing": "missing", "alpha_without": "alpha without"}
    names = [name for name in heads if facts and name in facts[0]]
    result.tables["Coders"] = detail_table(
        [heads[name] for name in names], [[fact[name] for name in names] for fact in facts]
    )
    result.facts["by_coder"] = facts


def _add_pairs(result: TargetResult, annotations: Annotations, level: Level) -> None:
    rated = annotations.codes >= 0
    kappas = agree.pairwise_cohen(annotations.ratings, weights=_weights(level), categories=annotations.values)
    pairs = [
        (c, d, int((rated[:, c] & rated[:, d]).sum()), float(kappas[c, d]))
        for c in range(len(annotations.coders))
        for d in range(c + 1, len(annotations.coders))
    ]
    names = annotations.coders
    result.facts["by_pair"] = [
        {"first": names[c], "second": names[d], "units": n, "cohen_kappa": kappa} for c, d, n, kappa in pairs
    ]
    if 1 < len(pairs) <= _PAIRS_SHOWN:
        rows = [(names[c], names[d], n, kappa) for c, d, n, kappa in pairs]
        result.tables["Pairs of coders"] = detail_table(("coder", "and", "units", "Cohen's kappa"), rows)


def _add_votes(result: TargetResult, annotations: Annotations) -> None:
    codes = annotations.codes
    winner, _, tie = agree.majority_vote(codes)
    facts = [
        {"value": name, "judgements": int((codes == v).sum()), "majority": int((winner == v).sum())}
        for v, name in enumerate(annotations.names)
    ]
    unrated = int((codes < 0).all(axis=1).sum())
    result.facts |= {"by_value": facts, "ties": int(tie.sum()), "unrated": unrated}
    if len(facts) <= _VALUES_SHOWN:
        rows = [list(fact.values()) for fact in facts]
        result.tables["Values"] = detail_table(("value", "judgements", "units by majority"), rows)
    if tie.any():
        result.notes.append(
            f"{wording.counted(int(tie.sum()), 'unit')} without a majority: two values were given as often"
        )
    if unrated:
        result.notes.append(f"{wording.counted(unrated, 'unit')} without any judgement")


def soft_labels(names: Sequence[str], probabilities: FloatArray) -> dict[str, pa.Array]:
    """Return the columns of soft labels: entropy, in nats, and probabilities, a struct with a field for each label; null where unknown.

    Args:
        probabilities: (U, J) of the labels, or shares of votes; rows of NaN without judgements.
    """
    known = np.isfinite(probabilities).all(axis=1)
    logs = np.log(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
    entropy = np.abs((probabilities * logs).sum(axis=1))
    fields = [pa.array(column.astype(np.float32), from_pandas=True) for column in probabilities.T]
    return {
        "entropy": pa.array(np.where(known, entropy, np.nan), pa.float32(), from_pandas=True),
        "probabilities": pa.StructArray.from_arrays(fields, list(names), mask=pa.array(~known)),
    }


def vote_shares(annotations: Annotations) -> FloatArray:
    """Return the share (U, J) of its coders who gave a unit each label; NaN without judgements."""
    codes, J = annotations.codes, len(annotations.names)
    votes = np.stack([(codes == j).sum(axis=1) for j in range(J)], axis=1).astype(np.float64)
    totals = votes.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(votes, totals, out=np.full_like(votes, np.nan), where=totals > 0)
    return shares


def majority_labels(
    annotations: Annotations, *, ties: Literal["none", "first"] = "none"
) -> tuple[pa.Array, pa.Array, dict[str, int]]:
    """Return the label that most coders gave each unit (U,), the share of coders who did, and how many units are labelled, tied
    and unrated.

    A unit without judgements has no label, and a tie none unless ties are "first": the first of the values given as often.
    """
    winner, share, tie = agree.majority_vote(annotations.codes, ties=ties)
    labels = [annotations.names[w] if w >= 0 else None for w in winner.tolist()]
    counts = {"labelled": int((winner >= 0).sum()), "ties": int(tie.sum()), "unrated": int(np.isnan(share).sum())}
    return pa.array(labels, pa.string()), pa.array(share, pa.float32(), from_pandas=True), counts


def dawid_skene_labels(
    annotations: Annotations, *, ties: Literal["none", "first"] = "none", soft: bool = False
) -> tuple[dict[str, pa.Array], dict[str, Any]]:
    """Return the most probable label of each unit by Dawid & Skene, and what was counted and estimated.

    Returns:
        the columns "" (labels), prob (of the label) and entropy (of the true label, in nats), (U,) each, null without judgements;
        with `soft` also probabilities (of all labels); and how many units are labelled, tied and unrated, the shares of the labels, and
        for each coder the number of judgements, the accuracy and the confusion: of units of a label (first key) the share that was
        given each label (second key).
    """
    model = dawid_skene(annotations.codes, len(annotations.names))
    winner, tie = model.labels()
    names = annotations.names
    labels = [names[w] if w >= 0 and not (t and ties == "none") else None for w, t in zip(winner, tie, strict=True)]
    columns = {
        "": pa.array(labels, pa.string()),
        "prob": pa.array(model.probabilities.max(axis=1, initial=-1.0, where=model.probabilities >= 0), pa.float32()),
        **soft_labels(names, model.probabilities),
    }
    if not soft:
        del columns["probabilities"]
    rated = winner >= 0
    columns["prob"] = pc.if_else(pa.array(rated), columns["prob"], None)
    n_judged = (annotations.codes >= 0).sum(axis=0).tolist()
    facts: dict[str, Any] = {
        "labelled": sum(label is not None for label in labels),
        "ties": int(tie.sum()),
        "unrated": int((~rated).sum()),
        "shares": dict(zip(names, model.shares.tolist(), strict=True)),
        "coders": [
            {
                "coder": coder,
                "ratings": n_judged[k],
                "accuracy": _defined(model.accuracy[k]),
                "confusion": {
                    names[j]: dict(zip(names, map(_defined, model.confusion[k, j]), strict=True))
                    for j in range(len(names))
                },
            }
            for k, coder in enumerate(annotations.coders)
        ],
        "iterations": model.iterations,
        "converged": model.converged,
    }
    return columns, facts


def _defined(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
