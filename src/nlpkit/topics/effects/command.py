"""nlpkit effects: effects of columns of documents on topics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.platform.options import READ, WRITTEN, Param, options
from nlpkit.topics.effects.options import EffectOptions


@options
class PlotFlags:
    """The picture of effects."""

    PANEL: ClassVar[str] = "Effects"

    plot: Annotated[
        Path | None,
        Param("Draw the shares by the values of --of, or the differences (.svg .pdf .png).", metavar="FILE"),
        WRITTEN,
    ] = None


def effects_cli(
    source: Annotated[
        Path, Argument("Run directory of a topic model, or a table of nlpkit topics --up.", metavar="RUN"), READ
    ],
    effects: EffectOptions,
    out: OutputFlags,
    run: RunFlags,
    picture: PlotFlags,
) -> None:
    """Estimate effects of variables on topics.

    nlpkit draws topic shares from the posterior of each document and regresses each draw on the covariates (--prevalence).
    Estimates and intervals combine all draws (as estimateEffect in the R package stm). Models without a posterior, such as
    bertopic and nmf, have one set of shares. Without --of, the table shows the coefficients of every topic. With --of, it
    shows topic shares at each value of a column and the difference from the first value. --difference R,D only compares these
    two values. --moderator shows the effect at each value of a second column.

    Documents of one author, or sentences of one document, are not independent: name the column with --cluster. --random adds
    a random intercept for each of its values. --link logit keeps shares within 0 and 1.

    --permutations 100 tests whether an effect in a run of stm could be chance. The model is fitted again with the two values
    of --of permuted over the documents. The effect is then compared with the effects in these fits. This needs the documents
    of the fit.

    \b
    Examples:
      nlpkit effects stm/
      nlpkit effects stm/ --of label -o label.csv --plot label.svg
      nlpkit effects stm/ --of label --difference economy,courts --topics 2,0,1 --plot difference.svg
      nlpkit effects run/ --prevalence "label + s(date, 4)" --of label --link logit
    """
    target = out.given_table_target("effects.csv")
    if picture.plot is not None:
        from nlpkit.platform.runs.atomic import check_target
        from nlpkit.platform.views.picture import check_picture_name

        if effects.column is None:
            raise UsageError("`plot` draws the effects of one column; name it with `of`", parameter="plot")
        check_target(check_picture_name(picture.plot, "effects"), force=out.force)
        if effects.permutations is not None:
            raise UsageError(
                "`plot` draws shares by value, and `permutations` does not compute them; leave one out",
                parameter="plot",
            )
    if run.dry_run:
        from nlpkit.topics.over_time.tables import size_of
        from nlpkit.topics.stm.permutations import permutation_cost

        console.plan(size_of(source, run) if effects.permutations is None else permutation_cost(source, effects, run))
        return
    from nlpkit.topics import views as render
    from nlpkit.topics.effects.run import estimate_effects
    from nlpkit.topics.stm.permutations import permutation_effects

    estimate = estimate_effects if effects.permutations is None else permutation_effects
    result = estimate(source, options=effects, execution=run)
    if target is not None:
        result.save(target, force=out.force)
    if target != "-":
        console.say(render.answer_blocks(result), result.to_dict)
    if picture.plot is not None:
        from nlpkit.topics.effects.figures import plot_effects

        plot_effects(result).save(picture.plot, force=out.force)
