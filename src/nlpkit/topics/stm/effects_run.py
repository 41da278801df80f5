"""Effects of columns of documents on the topics of a structural topic model.

Further parts, in this order:
- Tables of effects: coefficients, shares at values, differences between two values.
- A permutation test of an effect on the topics of a structural topic model, from its run and its documents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from nlpkit.errors import UsageError, unknown_value
from nlpkit.metrics.intervals import benjamini_hochberg
from nlpkit.platform import reporting
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Execution, names_in, with_settings
from nlpkit.platform.runs.runs import Run, open_run
from nlpkit.platform.runs.table_spec import numbers
from nlpkit.platform.types import BoolArray, FloatArray
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.model import select_documents
from nlpkit.topics.base.tables import read_arrays, read_model
from nlpkit.topics.edit.refit import documents_again
from nlpkit.topics.over_time.tables import TopicTable, labels_of, topic_number
from nlpkit.topics.stm.design import Coding, Covariate, Design, fit_design
from nlpkit.topics.stm.effects import (
    GRID,
    Effects,
    PermutationTest,
    cases,
    contrast,
    permutation_test,
    regress_draws,
    two_values,
)
from nlpkit.topics.stm.formula import Formula, parse_formula
from nlpkit.topics.stm.model import draw_thetas
from nlpkit.topics.stm.options import EffectOptions, StmOptions
from nlpkit.topics.stm.run import content_of, covariates_of, note_dropped_knots

QUANTILES = (0.1, 0.9)  # of a number that moderates
MOST_LINES = 8  # values of a moderator


def estimate_effects(
    run: Any, *, options: EffectOptions | None = None, execution: Execution | None = None, **settings: Any
) -> TopicTable:
    """Return the effects of covariates on the share of each topic in documents (estimateEffect of R's stm).

    Shares of the documents are drawn from their posteriors (`draw_thetas`). Each draw is regressed on the covariates by least squares,
    and the results are combined (`regress_draws`). So intervals include the uncertainty about the topics of a document and about γ. The
    posterior of each document has the mean covariance of all ("Global" in R), as runs hold no words. The words of the topics and Σ are
    taken as known.

    Without `column`, a row for each topic and column of the formula: estimate, se, low, high, t, p. With it, a row for each topic and
    value of that column (100 values of a number): share, low and high, and the difference to its first value with low, high and p.
    With `difference`, a row for each topic: share at the first value less share at the second, se, low, high, p, and q, the false
    discovery rate over the topics. A `moderator` gives such rows for each of its values.

    Args:
        run: a run directory of nlpkit stm, or one that is open.
        settings: single options, such as column="party".

    Raises:
        UsageError: there are no covariates; InputError: one cannot be used, or the run is of another kind.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> run = nk.fit_stm(corpus, k=2, prevalence="label").save("run")
        >>> effects = nk.estimate_effects(run)
        >>> effects.table.num_rows
        4
    """
    records = (options, execution)
    options, execution = with_settings(records, settings, (EffectOptions, Execution))
    data = effect_data(run, options, verify=execution.verify)
    opened, design, column = data.run, data.design, options.column
    is_number = column is not None and design.coding_of(column).is_number
    labels = labels_of(opened)
    topics = _topics_in(options.topics, opened)
    varied = None
    if options.moderator is not None:
        varied = moderated(data, str(column), options.moderator)
        if not any({column, varied.column} <= {factor.column for factor in term} for term in data.formula.terms):
            reporting.note(
                f"the formula has no interaction of '{column}' and '{varied.column}', so that the effect is the same at all values"
            )
    pair = _pair(data, options)
    with threadpool_limits(1, user_api="blas"):
        effects = effects_of(data, options.draws, execution.seed)
        if column is None:
            table = _coefficients(effects, options.ci)
        elif pair is not None:
            table = _differences(effects, design, column, pair, varied, options.ci)
        else:
            table = _shares(effects, data, column, varied, options.ci)
    numbered = np.asarray(table.column("topic"))
    table = table.take(pa.array(np.concatenate([np.flatnonzero(numbered == k) for k in topics])))
    facts = {
        "run": str(opened.path), "prevalence": data.formula.text, "of": column,
        "scale": None if column is None else "number" if is_number else "category",
        "difference": [name for name, _ in pair or ()],
        "moderator": None if varied is None else varied.column,
        "topics": [] if options.topics is None else topics, "draws": options.draws, "ci": options.ci,
        "documents": data.rows.num_rows,
    }  # fmt: skip
    names = pa.array(labels, pa.string()).take(table.column("topic"))
    return TopicTable([opened], "effects", table.add_column(1, "topic_label", names), facts, command="effects")


@dataclass(frozen=True, slots=True)
class EffectData:
    """What effects are estimated from: the documents of a run that have words.

    filled (all documents,): which these are; rows, values: their columns and covariates; eta, noise: their posteriors; sigma, X:
    covariance and covariates of their priors.
    """

    run: Run
    formula: Formula
    design: Design
    filled: BoolArray
    rows: pa.Table
    values: dict[str, Covariate]
    eta: FloatArray
    noise: FloatArray
    sigma: FloatArray
    X: FloatArray


def effect_data(run: Any, options: EffectOptions, *, verify: bool) -> EffectData:
    """Return the documents of a run with the covariates of the regression.

    Raises:
        UsageError: there are no covariates; InputError: one cannot be used, or the run is of another kind.
    """
    opened = run if isinstance(run, Run) else open_run(Path(run), ["stm"], verify=verify)
    config = opened.model_config("options")["options"]
    text = options.prevalence if options.prevalence is not None else config.get("prevalence")
    if text is None:
        hint = (
            "name those of the regression with `prevalence`"
            if options.permutations is None
            else "`permutations` needs those of a fit with `prevalence`"
        )
        raise UsageError(f"the model was fitted without covariates; {hint}", parameter="prevalence")
    formula = parse_formula(text)
    documents, arrays = opened.table("documents"), read_arrays(opened)
    with opened.intact():
        filled = numbers(documents, "topic", least=-1) >= 0
    rows = documents.filter(pa.array(filled))
    values = covariates_of(rows, formula, where=str(opened.path))
    design = fit_design(formula, values)
    if options.prevalence is not None:
        note_dropped_knots(design)
    X = np.ones((rows.num_rows, 1))
    if config.get("prevalence") is not None:
        of_fit = parse_formula(config["prevalence"])
        columns = covariates_of(rows, of_fit, where=str(opened.path))
        X = fit_design(of_fit, columns).matrix(columns)
    return EffectData(
        opened, formula, design, filled, rows, values, arrays["eta"][filled], arrays["noise"], arrays["sigma"], X
    )


def effects_of(data: EffectData, draws: int, seed: int) -> Effects:
    """Return the regressions of drawn topics on the covariates."""
    rng = np.random.Generator(np.random.Philox(key=stream_key(seed, "effects")))
    thetas = draw_thetas(data.eta, data.noise, data.sigma, data.X, rng, draws)
    return regress_draws(thetas, data.design.matrix(data.values), tuple(data.design.names))


def _topics_in(wanted: Any, run: Run) -> list[int]:
    """Return the numbers of the topics that are asked for, in their order. Raises InputError for one that there is not."""
    if wanted is None:
        return list(range(len(labels_of(run))))
    named = names_in(wanted) if isinstance(wanted, str) else [wanted] if isinstance(wanted, int) else list(wanted)
    topics = list(dict.fromkeys(topic_number(name, run, "topics") for name in named))
    if not topics:
        raise UsageError("`topics` names no topic; write numbers, such as 8,7,17", parameter="topics")
    return topics


@dataclass(frozen=True, slots=True)
class Moderator:
    """A column that is varied beside the one whose effect is asked for: its values, by name."""

    column: str
    values: tuple[tuple[str, float | str], ...]


def moderated(data: EffectData, column: str, moderator: str) -> Moderator:
    """Return a moderator of the effect of a column, COLUMN or COLUMN=VALUE,…, with its values.

    Raises:
        UsageError: it is the column itself, or has too many values; ColumnError: the formula does not have it.
    """
    whole = moderator in data.formula.columns
    name, _, text = (moderator, "", "") if whole else moderator.partition("=")
    coding = data.design.coding_of(name)
    if name == column:
        raise UsageError(f"`moderator={name}` is the column of the effect; name another one", parameter="moderator")
    if named := _values_in(text, coding):
        values = tuple((each, _value(each, data, name, "moderator")) for each in named)
    elif coding.is_number:
        ends = np.unique(np.quantile(np.asarray(data.values[name], np.float64), QUANTILES))
        dates = holds_dates(data, name)
        ends = np.unique(ends.round()) if dates else ends
        values = tuple((_written(value, dates), value) for value in ends.tolist())
    else:
        values = tuple((level, level) for level in coding.levels)
    if len(values) > MOST_LINES:
        raise UsageError(
            f"`moderator={name}` has {len(values)} values, and lines of {MOST_LINES} at most can be told apart; name some: "
            f"{name}={','.join(each for each, _ in values[:2])}",
            parameter="moderator",
        )
    return Moderator(name, values)


Pair = tuple[tuple[str, float | str], tuple[str, float | str]]


def _pair(data: EffectData, options: EffectOptions) -> Pair | None:
    """Return the two values that are compared. Raises UsageError where there are not two."""
    if options.difference is None:
        return None
    column = str(options.column)
    names = _values_in(options.difference, data.design.coding_of(column))
    if len(names) != 2:
        raise UsageError(
            f"`difference` compares two values of '{column}', and {len(names)} are named: write VALUE,VALUE",
            parameter="difference",
        )
    first, second = ((name, _value(name, data, column, "difference")) for name in names)
    return first, second


def _values_in(text: Any, coding: Coding) -> list[str]:
    """Return the values that are named, with commas between; two levels may hold commas themselves."""
    if not isinstance(text, str):
        return [str(value) for value in text or ()]
    parts = text.split(",")
    pairs = ([",".join(parts[:at]).strip(), ",".join(parts[at:]).strip()] for at in range(1, len(parts)))
    return next((pair for pair in pairs if set(pair) <= set(coding.levels)), names_in(text))


def _value(name: str, data: EffectData, column: str, parameter: str) -> float | str:
    """Return a value of a column by its name: a level, a number, or the days of a date. Raises UsageError where it is none."""
    coding = data.design.coding_of(column)
    if not coding.is_number:
        if name not in coding.levels:
            raise unknown_value(parameter, name, coding.levels)
        return name
    dates = holds_dates(data, column)
    try:
        value = float(np.datetime64(name, "D").astype(np.int64)) if dates else float(name)
    except ValueError:
        kind = "a date, such as 2024-01-31" if dates else "a number"
        raise UsageError(
            f"`{parameter}`: '{name}' is not {kind}, and '{column}' holds such", parameter=parameter
        ) from None
    low, high = coding.ends
    if coding.knots and not low <= value <= high:
        raise UsageError(
            f"`{parameter}`: '{name}' is outside {_written(low, dates)} to {_written(high, dates)}, the values of '{column}' in the fit",
            parameter=parameter,
        )
    return value


def holds_dates(data: EffectData, column: str) -> bool:
    """Whether the numbers of a covariate are days of dates: neither numbers nor texts of the same numbers."""
    kind = data.rows.schema.field(column).type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or not data.design.coding_of(column).is_number:
        return False
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return True
    texts = data.rows.column(column).cast(pa.string()).to_pylist()
    try:
        return not np.array_equal([float(text) for text in texts], np.asarray(data.values[column]))
    except ValueError:
        return True


def _written(value: float, is_date: bool) -> str:
    return str(np.datetime64(int(value), "D")) if is_date else f"{value:.6g}"


# ------------------------------------------------------------------------------------------------------------------------
# Tables of effects: coefficients, shares at values, differences between two values.


def _coefficients(effects: Effects, level: float) -> pa.Table:
    """Return a row for each topic and column of X."""
    K, P = effects.coefficients.shape
    half = effects.quantile(level) * effects.errors
    columns = {
        "estimate": effects.coefficients, "se": effects.errors, "low": effects.coefficients - half,
        "high": effects.coefficients + half, "t": effects.t, "p": effects.p,
    }  # fmt: skip
    return pa.table(
        {
            "topic": pa.array(np.repeat(np.arange(K, dtype=np.int32), P)),
            "covariate": pa.array(list(effects.names) * K, pa.string()),
            **{name: pa.array(np.ravel(column)) for name, column in columns.items()},
        }
    )


def _shares(effects: Effects, data: EffectData, column: str, varied: Moderator | None, level: float) -> pa.Table:
    """Return a row for each topic, value of the moderator, and value of a column."""
    design, is_date = data.design, holds_dates(data, column)
    grid = np.unique(np.linspace(*design.coding_of(column).ends, GRID).round()) if is_date else None
    blocks = []
    for others in _others(varied):
        shown, X = cases(design, column, values=grid, others=others)
        share, difference = effects.at(X, level=level), effects.at(X - X[:1], level=level)
        p = np.where(difference.error > 0, effects.p_of(difference.mean, difference.error), np.nan)
        blocks.append((share.mean, share.low, share.high, difference.mean, difference.low, difference.high, p))
    names = [_written(float(value), True) for value in shown] if is_date else shown
    columns = ("share", "low", "high", "difference", "difference_low", "difference_high", "p")
    flat = {
        name: np.stack(values).transpose(2, 0, 1).ravel()
        for name, values in zip(columns, zip(*blocks, strict=True), strict=True)
    }  # (M, N, K) to topics first
    K, M = len(effects.coefficients), len(blocks)
    moderator = (
        {} if varied is None else {"moderator": np.tile(np.repeat([n for n, _ in varied.values], len(shown)), K)}
    )
    return pa.table(
        {
            "topic": pa.array(np.repeat(np.arange(K, dtype=np.int32), M * len(shown))),
            **moderator,
            "value": pa.array(names * (K * M)),
            **{name: pa.array(values, mask=np.isnan(values)) for name, values in flat.items()},
        }
    )


def _differences(
    effects: Effects, design: Design, column: str, pair: Pair, varied: Moderator | None, level: float
) -> pa.Table:
    """Return a row for each topic and value of the moderator: the share at the first value less that at the second."""
    (_, first), (_, second) = pair
    X = np.concatenate([contrast(design, column, first, second, others=others) for others in _others(varied)])
    expected = effects.at(X, level=level)
    p = effects.p_of(expected.mean, expected.error)
    q = np.stack([benjamini_hochberg(row) for row in p])
    K, M = len(effects.coefficients), len(X)
    moderator = {} if varied is None else {"moderator": [name for name, _ in varied.values] * K}
    columns = {
        "difference": expected.mean,
        "se": expected.error,
        "low": expected.low,
        "high": expected.high,
        "p": p,
        "q": q,
    }
    topics = np.repeat(np.arange(K, dtype=np.int32), M)
    return pa.table({"topic": topics, **moderator, **{name: np.ravel(values.T) for name, values in columns.items()}})


def _others(varied: Moderator | None) -> list[dict[str, float | str]]:
    return [{}] if varied is None else [{varied.column: value} for _, value in varied.values]


# ------------------------------------------------------------------------------------------------------------------------
# A permutation test of an effect on the topics of a structural topic model, from its run and its documents.

PERMUTATIONS = 100


def permutation_effects(
    run: Any,
    *,
    documents: Any = None,
    options: EffectOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> TopicTable:
    """Return the effect of a binary column on the share of each topic, and the effects of permuted columns (permutationTest of R's stm).

    For each permutation, the model is fitted again from the same start. Its topics are matched with the run (`permutation_test`).
    Each topic has a row. `difference` is the second value minus the first. `mean`, `low` and `high` describe the permuted effects
    (quantiles of the level `ci`). Then follow `p`, `match` (mean likeness of the matched topics, 1 for the same words) and `permuted`,
    the list of all permuted effects.

    Args:
        run: a run directory of nlpkit stm, or one that is open.
        documents: the documents of the fit, where nlpkit cannot find them: a file, a Corpus, texts or a data frame.
        settings: single options, such as column="party", permutations=50 (default: 100).

    Raises:
        UsageError: no column is named, or the model has no covariates; InputError: the column has other than two values, the documents are
            gone or have changed, or the run is of another kind.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> run = nk.fit_stm(corpus, k=2, prevalence="label").save("run")
        >>> nk.permutation_effects(run, documents=corpus, column="label", permutations=2).table.num_rows
        2
    """
    options, execution = with_settings((options, execution), settings, (EffectOptions, Execution))
    options = replace(options, permutations=options.permutations or PERMUTATIONS)
    data = effect_data(run, options, verify=execution.verify)
    opened, column, count = data.run, str(options.column), int(options.permutations or 0)
    first, second = two_values(data.design, column, data.values)
    fit_options = StmOptions(**opened.model_config("options")["options"])
    content = None if fit_options.content is None else content_of(data.rows, fit_options.content)
    phi = read_model(opened)
    with threadpool_limits(1, user_api="blas"):
        effects = effects_of(data, options.draws, execution.seed)
    with documents_again(opened, phi.terms, documents or options.documents, ReadOptions(), execution) as corpus:
        tokens = select_documents(corpus.tokens, np.flatnonzero(data.filled))
    with reporting.progress("fits", count) as update:
        test = permutation_test(
            tokens, phi.phi, effects.coefficients @ contrast(data.design, column, second, first)[0], data.design, data.values, column,
            options=fit_options, execution=Execution(int(opened.manifest["seed"]), execution.threads), content=content,
            permutations=count, draws=options.draws, seed=execution.seed, done=update,
        )  # fmt: skip
    facts = {
        "run": str(opened.path), "prevalence": data.formula.text, "of": column, "values": [first, second], "permutations": count,
        "draws": options.draws, "ci": options.ci, "documents": tokens.n_docs,
    }  # fmt: skip
    return TopicTable([opened], "tests", _table(test, options.ci, labels_of(opened)), facts, command="effects")


def permutation_cost(run: Any, options: EffectOptions, execution: Execution) -> dict[str, Any]:
    """Return how many documents, topics and fits a permutation test has, and about how many seconds those of the run's fit make.

    Raises:
        UsageError, InputError: as `permutation_effects`, but for the documents, which are not read.
    """
    data = effect_data(run, options, verify=execution.verify)
    column, manifest, count = str(options.column), data.run.manifest, options.permutations or PERMUTATIONS
    two_values(data.design, column, data.values)
    seconds = float((manifest.get("seconds") or {}).get("fit", 0.0))
    return {
        "documents": data.rows.num_rows,
        "topics": int(manifest["results"]["n_topics"]),
        "fits": count,
        "seconds_about": round(seconds * count),
    }


def _table(test: PermutationTest, level: float, labels: list[str]) -> pa.Table:
    low, high = np.quantile(test.permuted, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return pa.table(
        {
            "topic": pa.array(range(len(labels)), pa.int32()),
            "topic_label": pa.array(labels, pa.string()),
            "difference": test.effect,
            "permuted_mean": test.permuted.mean(axis=0),
            "permuted_low": low,
            "permuted_high": high,
            "p": test.p,
            "match": test.match.mean(axis=0),
            "permuted": pa.array(test.permuted.T.tolist(), pa.list_(pa.float64())),
        }
    )
