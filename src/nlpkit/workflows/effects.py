"""Effects of columns of documents on the topics of a structural topic model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from threadpoolctl import threadpool_limits

from nlpkit.errors import UsageError
from nlpkit.io.mixture_tables import read_arrays
from nlpkit.io.runs import Run, open_run
from nlpkit.io.table_spec import numbers
from nlpkit.parameters import Execution, with_settings
from nlpkit.report.effect_figure import COLUMNS, draw_effects
from nlpkit.topics.stm.design import Covariate, Design, fit_design
from nlpkit.topics.stm.effect_options import EffectOptions
from nlpkit.topics.stm.effects import Effects, cases, regress_draws
from nlpkit.topics.stm.formula import Formula, parse_formula
from nlpkit.topics.stm.inference import draw_thetas
from nlpkit.topics.streams import stream_key
from nlpkit.types import BoolArray, FloatArray
from nlpkit.workflows.covariates import covariates_of, note_dropped_knots
from nlpkit.workflows.picture import Picture, draw_in_format
from nlpkit.workflows.topic_tables import TopicTable, labels_of


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
    opened, design, rows = data.run, data.design, data.rows
    with threadpool_limits(1, user_api="blas"):
        effects = effects_of(data, options.draws, execution.seed)
        table = (
            _coefficients(effects, options.ci)
            if options.column is None
            else _shares(effects, design, rows, options.column, options.ci)
        )
    scale = None
    if options.column is not None:
        scale = "number" if design.coding_of(options.column).is_number else "category"
    labels = pa.array(labels_of(opened), pa.string()).take(table.column("topic"))
    facts = {
        "run": str(opened.path), "prevalence": data.formula.text, "of": options.column, "scale": scale,
        "draws": options.draws, "ci": options.ci, "documents": rows.num_rows,
    }  # fmt: skip
    return TopicTable([opened], "effects", table.add_column(1, "topic_label", labels), facts, command="effects")


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


def _shares(effects: Effects, design: Design, rows: pa.Table, column: str, level: float) -> pa.Table:
    """Return a row for each topic and value of a column."""
    coding = design.coding_of(column)
    kind = rows.schema.field(column).type
    is_date = coding.is_number and not (pa.types.is_integer(kind) or pa.types.is_floating(kind))
    grid = np.unique(np.linspace(*coding.ends, 100).round()) if is_date else None
    shown, X = cases(design, column, values=grid)
    names = np.array(shown, np.float64).astype("datetime64[D]").astype(str).tolist() if is_date else shown
    share, difference = effects.at(X, level=level), effects.at(X - X[:1], level=level)
    K, N = len(effects.coefficients), len(shown)
    p = np.where(difference.error > 0, effects.p_of(difference.mean, difference.error), np.nan)
    columns = {
        "share": share.mean, "low": share.low, "high": share.high, "difference": difference.mean,
        "difference_low": difference.low, "difference_high": difference.high, "p": p,
    }  # fmt: skip
    flat = {name: np.ravel(values.T) for name, values in columns.items()}
    return pa.table(
        {
            "topic": pa.array(np.repeat(np.arange(K, dtype=np.int32), N)),
            "value": pa.array(names * K),
            **{name: pa.array(values, mask=np.isnan(values)) for name, values in flat.items()},
        }
    )


def plot_effects(effects: TopicTable, *, topics: int = 12, width: float = 16.0, style: str = "plain") -> Picture:
    """Return a picture of the share of topics at the values of a column, with intervals; the same bytes for the same table.

    Args:
        effects: of `estimate_effects` with a column. topics: how many are drawn, the largest first. width: cm; style: plain, serif or dark.

    Raises:
        UsageError: effects without a column; MissingError: the extra report is not installed.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> run = nk.fit_stm(corpus, k=2, prevalence="label").save("run")
        >>> effects = nk.estimate_effects(run, column="label")
        >>> nk.plot_effects(effects).save("effects.svg").name
        'effects.svg'
    """
    column = effects.facts["of"]
    if column is None:
        raise UsageError("a picture of effects shows one column; name it with `of`", parameter="of")
    table = effects.table.filter(pc.field("topic") < topics)
    values = table.column("value").slice(0, table.num_rows // len(table.column("topic").unique())).to_pylist()
    names = table.column("topic_label").unique().to_pylist()
    shares = {key: table.column(key).to_numpy().reshape(-1, len(values)) for key in ("share", "low", "high")}
    connected = effects.facts["scale"] == "number"
    draw = partial(draw_effects, values=values, shares=shares, names=names, column=column, connected=connected)
    rows = -(-len(names) // COLUMNS)
    height = 1.0 + rows * (3.5 if connected else 1.2 + 0.35 * len(values))
    texts = "".join([*names, column, *map(str, values)])
    return Picture("effects", partial(draw_in_format, draw, width, height, style, texts))
