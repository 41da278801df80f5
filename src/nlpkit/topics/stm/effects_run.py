"""Effects of a column of documents on topics: shares at its values, with their intervals.

Further parts, in this order:
- Effects of columns of documents on the topics of a structural topic model.
- A permutation test of an effect on the topics of a structural topic model, from its run and its documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from threadpoolctl import threadpool_limits

from nlpkit.errors import UsageError
from nlpkit.platform import reporting
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.runs import Run, open_run
from nlpkit.platform.runs.table_spec import numbers
from nlpkit.platform.types import BoolArray, FloatArray
from nlpkit.platform.views.chart import COLOURS
from nlpkit.platform.views.figures import bare, name_panel, panels, wrapped
from nlpkit.platform.views.picture import Picture, draw_in_format
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.model import select_documents
from nlpkit.topics.base.tables import read_arrays, read_model
from nlpkit.topics.edit.refit import documents_again
from nlpkit.topics.over_time.tables import TopicTable, labels_of
from nlpkit.topics.stm.design import Covariate, Design, fit_design
from nlpkit.topics.stm.effects import (
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

COLUMNS = 3
LONG_TICK = 7  # characters of the values under a panel, of which three have room


def draw_effects(
    figure: Any,
    *,
    values: Sequence[Any],
    shares: Mapping[str, FloatArray],
    names: Sequence[str],
    column: str,
    connected: bool,
) -> None:
    """Draw the share of each topic at each value of a column, a panel for each topic, all on one scale.

    Args:
        values (N,): numbers, dates or categories; shares: share, low, high (K, N) in [0, 1], low and high not held to it;
        connected: whether values are joined by a line with a band, else each is a point with a bar.
    """
    grid = panels(figure, len(names), min(COLUMNS, len(names)), sharey=not connected)
    at = np.array(values, np.float64) if connected and not isinstance(values[0], str) else np.arange(len(values))
    shown = [value if isinstance(value, str) else f"{value:g}" for value in values]
    ticks = np.linspace(0, len(at) - 1, 3 if max(map(len, shown)) > LONG_TICK else 5).round().astype(int)
    if connected and isinstance(values[0], str) and (begins := _years(values)):
        ticks, shown = np.array(begins), [value[:-6] for value in values]
    limits = (min(100 * shares["low"].min(), 0), 100 * shares["high"].max())
    for k, (axes, name) in enumerate(zip(grid, names, strict=True)):
        share, low, high = (100 * shares[key][k] for key in ("share", "low", "high"))
        if connected:
            axes.fill_between(at, low, high, color=COLOURS[0], alpha=0.2, lw=0)
            axes.plot(at, share, color=COLOURS[0], lw=1.2)
            axes.set_xticks(at[ticks], [shown[i] for i in ticks], fontsize=6)
            axes.set_ylim(*limits)
        else:
            axes.errorbar(share, at, xerr=[share - low, high - share], fmt="o", ms=3, lw=1, color=COLOURS[0])
            axes.set_yticks(at, [wrapped(value, 24) for value in shown], fontsize=6)
            axes.set_xlim(limits[0] - 0.03 * limits[1], 1.03 * limits[1])
            axes.set_ylim(len(at) - 0.4, -0.6)  # downwards
            axes.axvline(0, color=COLOURS[1], lw=0.4)
        axes.tick_params(axis="y" if connected else "x", labelsize=6)
        name_panel(axes, name, min(COLUMNS, len(names)))
        bare(axes, grid="y" if connected else "x")
    if connected:
        figure.supylabel("% of a document", fontsize=7)
        figure.supxlabel(column, fontsize=7)
    else:
        figure.supxlabel("% of a document", fontsize=7)
        figure.supylabel(column, fontsize=7)


def _years(dates: Sequence[str]) -> list[int]:
    """Return where years begin among ascending ISO dates, at most five of them; nothing of fewer than three."""
    begins = [i for i in range(1, len(dates)) if dates[i][:-6] != dates[i - 1][:-6]]
    return begins[:: -(-len(begins) // 5)] if len(begins) > 2 else []


# ------------------------------------------------------------------------------------------------------------------------
# Effects of columns of documents on the topics of a structural topic model.


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
