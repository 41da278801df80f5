"""The part of `nlpkit evaluate` for annotators: how far coders agree, and the label that most of them gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cli.render.scores import show
from nlpkit.errors import InputError, UsageError
from nlpkit.evaluation.results import Evaluation, TargetResult
from nlpkit.io.annotations import Annotations, read_long, read_wide
from nlpkit.io.artifacts import footer_block, read_footer
from nlpkit.io.corpora import InputInfo
from nlpkit.io.footers import DOCUMENTS, steps_of
from nlpkit.io.plain_tables import arrow_table
from nlpkit.io.runs import sha256_of
from nlpkit.io.sources import split_suffix
from nlpkit.io.tables import check_table, save_table
from nlpkit.metrics import agreement as agree
from nlpkit.metrics.agreement import LEVELS, Level
from nlpkit.metrics.score import METRICS, Score, Uncertainty, statistic_score
from nlpkit.types import FloatArray

PEOPLE = {name: metric for name, metric in METRICS.items() if metric.group == "people"}
MANY_VALUES = 1000
_PAIRS_SHOWN = 15
_VALUES_SHOWN = 30

Weights = Literal["linear", "quadratic"]


def measurement(level: str) -> Level:
    """Return a level of measurement. Raises UsageError when there is none of that name."""
    for known in LEVELS:
        if level == known:
            return known
    raise UsageError(f"the level of measurement is {', '.join(LEVELS)}, not '{level}'")


def agreement_scores(
    ratings: FloatArray,
    level: Level,
    how: Uncertainty,
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
    scores = {"alpha": statistic_score(PEOPLE["alpha"], statistic, times, how, over=over, parameters=of_level, why=why)}
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


# ---------------------------------------------------------------- a table of coders


def score_agreement(
    table: Path,
    columns: Sequence[str],
    *,
    level: str = "nominal",
    order: Sequence[str] = (),
    ci: float | None = 0.95,
    seed: int = 0,
    encoding: str | None = None,
    long: bool = False,
) -> TargetResult:
    """Return how far the coders of a table agree: overall, without each of them, by pair, and how votes come out.

    Args:
        table: a row a unit.
        columns: those of the coders.
        long: the table has a row a judgement, and columns are those of unit, coder and value.
        level: nominal, ordinal, interval or ratio.
        order: labels from low to high, for level ordinal.
        ci: level of the interval, None for none.
        seed: of the bootstrap.
        encoding: of the table, told from its bytes if not given.

    Raises:
        UsageError, ColumnError, InputError: see `read_wide`.
    """
    measured = measurement(level)
    if long:
        unit, coder, value = columns
        found = read_long(table, unit=unit, coder=coder, value=value, level=measured, order=order, encoding=encoding)
    else:
        found = read_wide(table, columns, level=measured, order=order, encoding=encoding)
    coders, units = wording.counted(len(found.coders), "coder"), wording.counted(len(found.units), "unit")
    result = TargetResult(str(table), f"{units} by {coders}", unit="coder", units=list(found.coders))
    result.unit_texts = [""] * len(found.coders)
    ratings, codes = found.ratings, found.codes
    given = codes >= 0
    values = found.values.tolist() if len(found.values) else None
    for score in agreement_scores(ratings, measured, Uncertainty(ci, seed), categories=values).values():
        result.add(score)
    missing = int((~given).sum())
    result.facts |= {"units": len(found.units), "ratings": int(given.sum()), "missing": missing}
    _add_coders(result, found, measured)
    if 0 < len(found.values) <= MANY_VALUES:
        _add_pairs(result, found, measured)
        _add_votes(result, found)
    if missing:
        result.notes.append(f"{missing:,} of {given.size:,} judgements are missing; alpha takes that into account")
    return result


def agreement(table: Path, columns: Sequence[str], **how: Any) -> dict[str, Any]:
    """Return `score_agreement` as values that go into JSON."""
    return score_agreement(table, columns, **how).to_dict()


def show_result(result: TargetResult) -> None:
    """Print scores and tables for people."""
    show(Evaluation([result]), [], markdown=False)


def _add_coders(result: TargetResult, found: Annotations, level: Level) -> None:
    given = found.codes >= 0
    rows, facts = [], []
    for c, coder in enumerate(found.coders):
        n, missing = int(given[:, c].sum()), int((~given[:, c]).sum())
        fact: dict[str, Any] = {"coder": coder, "ratings": n, "missing": missing}
        if len(found.coders) > 2:
            fact["alpha_without"] = agree.krippendorff_alpha(np.delete(found.ratings, c, axis=1), level=level)
        facts.append(fact)
        rows.append([coder, f"{n:,}", f"{missing:,}", *(_shown(v) for v in list(fact.values())[3:])])
    columns = ["coder", "judgements", "missing", *(["alpha without"] if len(found.coders) > 2 else [])]
    result.tables["Coders"] = (columns, rows)
    result.facts["by_coder"] = facts


def _add_pairs(result: TargetResult, found: Annotations, level: Level) -> None:
    given = found.codes >= 0
    kappas = agree.pairwise_cohen(found.ratings, weights=_weights(level), categories=found.values)
    pairs = [
        (c, d, int((given[:, c] & given[:, d]).sum()), float(kappas[c, d]))
        for c in range(len(found.coders))
        for d in range(c + 1, len(found.coders))
    ]
    names = found.coders
    result.facts["by_pair"] = [
        {"first": names[c], "second": names[d], "units": n, "cohen_kappa": kappa} for c, d, n, kappa in pairs
    ]
    if 1 < len(pairs) <= _PAIRS_SHOWN:
        rows = [[names[c], names[d], f"{n:,}", _shown(kappa)] for c, d, n, kappa in pairs]
        result.tables["Pairs of coders"] = (("coder", "and", "units", "Cohen's kappa"), rows)


def _add_votes(result: TargetResult, found: Annotations) -> None:
    codes = found.codes
    winner, _, tie = agree.majority_vote(codes)
    facts = [
        {"value": name, "judgements": int((codes == v).sum()), "majority": int((winner == v).sum())}
        for v, name in enumerate(found.names)
    ]
    unrated = int((codes < 0).all(axis=1).sum())
    result.facts |= {"by_value": facts, "ties": int(tie.sum()), "unrated": unrated}
    if len(facts) <= _VALUES_SHOWN:
        rows = [[str(f["value"]), f"{f['judgements']:,}", f"{f['majority']:,}"] for f in facts]
        result.tables["Values"] = (("value", "judgements", "units by majority"), rows)
    if tie.any():
        result.notes.append(
            f"{wording.counted(int(tie.sum()), 'unit')} without a majority: two values were given as often"
        )
    if unrated:
        result.notes.append(f"{wording.counted(unrated, 'unit')} without any judgement")


def _shown(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"


# ---------------------------------------------------------------- majority vote


def majority_column(
    table: Path,
    columns: Sequence[str],
    *,
    name: str = "label",
    order: Sequence[str] = (),
    ties: Literal["none", "first"] = "none",
    encoding: str | None = None,
) -> tuple[pa.Table, dict[str, int]]:
    """Return the table with two more columns: the value that most coders gave, and the share of them that did.

    Args:
        table, columns, encoding: see `score_agreement`.
        name: of the column of labels, string, null for a unit without judgements and for a tie that stays one; that of
            shares is NAME_share, float32.
        order: in which ties are resolved by "first"; the alphabet if not given.
        ties: "none": no label; "first": the first of the values that were given as often.

    Returns:
        the table, all its columns first, as stored or read; and how many units are labelled, tied and unrated.

    Raises:
        UsageError: a column of that name is there; UsageError, ColumnError, InputError: see `read_wide`.
    """
    found = read_wide(table, columns, level="nominal", order=order, encoding=encoding)
    whole = arrow_table(table, encoding=encoding).take(pa.array(found.rows, pa.int64()))
    for taken in (name, f"{name}_share"):
        if taken in whole.column_names:
            raise UsageError(f"{table} has a column '{taken}' already; give the majority label another name")
    winner, share, tie = agree.majority_vote(found.codes, ties=ties)
    labels = [found.names[w] if w >= 0 else None for w in winner.tolist()]
    whole = whole.append_column(name, pa.array(labels, pa.string()))
    whole = whole.append_column(f"{name}_share", pa.array(share, pa.float32(), from_pandas=True))
    counts = {
        "labelled": int((winner >= 0).sum()),
        "ties": int(tie.sum()),
        "unrated": int(np.isnan(share).sum()),
    }
    return whole, counts


def write_majority(
    table: Path, columns: Sequence[str], *, name: str, output: Path, force: bool = False, **how: Any
) -> dict[str, int]:
    """Write `majority_column` as a table, a document table if it has texts; return its counts, and tell what was written.

    Raises:
        OutputExistsError, UsageError, InputError: see `check_table`, `majority_column`.
    """
    check_table(output, force=force)
    whole, counts = majority_column(table, columns, name=name, **how)
    kind = DOCUMENTS if "text" in whole.column_names else "annotations"
    parameters = {
        "annotators": list(columns),
        "majority": name,
        **{k: v for k, v in how.items() if k in ("order", "ties")},
    }
    inputs = [InputInfo(str(table), whole.num_rows, sha256_of(table), how.get("encoding"))]
    steps = steps_of([read_footer(table)] if split_suffix(table.name)[1] == "parquet" else [])
    block = footer_block(kind, command="evaluate", parameters=parameters, seed=None, inputs=inputs, steps=steps)
    save_table(output, whole, block, force=force)
    open_ends = [wording.counted(counts["ties"], "tie")] if counts["ties"] else []
    open_ends += [f"{counts['unrated']:,} without a judgement"] if counts["unrated"] else []
    rest = f" ({', '.join(open_ends)})" if open_ends else ""
    reporting.note(f"wrote {output}: {counts['labelled']:,} of {whole.num_rows:,} units have a majority label{rest}")
    return counts
