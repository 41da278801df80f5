"""nlpkit effects: effects of columns of documents on the topics of a structural topic model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.cli import console
from nlpkit.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.errors import UsageError
from nlpkit.parameters import READ, WRITTEN, Param, options
from nlpkit.topics.stm.effect_options import EffectOptions


@options
class PlotFlags:
    """The picture of effects."""

    PANEL: ClassVar[str] = "Effects"

    plot: Annotated[
        Path | None,
        Param("Draw the shares of the twelve largest topics by the values of --of (.svg .pdf .png).", metavar="FILE"),
        WRITTEN,
    ] = None


def effects_cli(
    source: Annotated[Path, Argument("Run directory of nlpkit stm.", metavar="RUN"), READ],
    effects: EffectOptions,
    out: OutputFlags,
    run: RunFlags,
    picture: PlotFlags,
) -> None:
    """Estimate the effects of columns of documents on their topics, by a structural topic model.

    Shares of topics are drawn from the posterior of each document and regressed on the covariates, draw by draw; estimates and
    intervals are those of all draws together (estimateEffect of the R package stm). Without --of, coefficients of every
    topic; with it, shares of topics at each value of a column, and the difference to its first value.

    \b
    Examples:
      nlpkit effects stm/
      nlpkit effects stm/ --of label -o label.csv --plot label.svg
      nlpkit effects stm-dates/ --of date -o dates.parquet

    --permutations 100 asks whether an effect can be chance: the model is fitted again with the two values of --of permuted over
    the documents, which the run finds where they were, and the effect is set beside those of these fits.
    """
    target = out.given_table_target("effects.csv")
    if picture.plot is not None:
        from nlpkit.io.atomic import check_target
        from nlpkit.workflows.plot import check_picture_name

        if effects.column is None:
            raise UsageError("`plot` draws the effects of one column; name it with `of`", parameter="plot")
        check_target(check_picture_name(picture.plot, "effects"), force=out.force)
        if effects.permutations is not None:
            raise UsageError(
                "`plot` draws shares at values, which `permutations` does not give; leave one out", parameter="plot"
            )
    if run.dry_run:
        from nlpkit.workflows.permutations import permutation_cost
        from nlpkit.workflows.topic_tables import size_of

        console.plan(size_of(source, run) if effects.permutations is None else permutation_cost(source, effects, run))
        return
    from nlpkit.cli.render import topic_cells as render
    from nlpkit.workflows.effects import estimate_effects, plot_effects
    from nlpkit.workflows.permutations import permutation_effects

    estimate = estimate_effects if effects.permutations is None else permutation_effects
    result = estimate(source, options=effects, execution=run)
    if target is not None:
        result.save(target, force=out.force)
    if target != "-":
        render.answer(result)
    if picture.plot is not None:
        plot_effects(result).save(picture.plot, force=out.force)
