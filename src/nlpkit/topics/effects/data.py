"""What effects are estimated from: the documents of a run, their covariates, and draws of their topics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import UsageError
from nlpkit.platform.runs.runs import Run, open_run
from nlpkit.platform.runs.table_spec import numbers
from nlpkit.platform.types import BoolArray, FloatArray
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.tables import read_arrays
from nlpkit.topics.effects.covariates import covariates_of, note_dropped_knots
from nlpkit.topics.effects.design import Covariate, Design, fit_design
from nlpkit.topics.effects.formula import Formula, parse_formula
from nlpkit.topics.effects.options import EffectOptions
from nlpkit.topics.effects.regression import Effects, regress_draws
from nlpkit.topics.stm.model import draw_thetas


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
