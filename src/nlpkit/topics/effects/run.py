"""Effects of columns of documents on the topics of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from nlpkit.errors import UsageError
from nlpkit.platform import reporting
from nlpkit.platform.options import Execution, names_in, with_settings
from nlpkit.topics.effects.data import Source, effect_data, effects_of
from nlpkit.topics.effects.options import EffectOptions
from nlpkit.topics.effects.refits import effects_over_fits
from nlpkit.topics.effects.tables import coefficients_table, differences_table, shares_table
from nlpkit.topics.effects.values import compared_pair, moderated
from nlpkit.topics.over_time.tables import TopicTable


def estimate_effects(
    run: Any, *, options: EffectOptions | None = None, execution: Execution | None = None, **settings: Any
) -> TopicTable:
    """Return the effects of covariates on the share of each topic in documents (estimateEffect of R's stm).

    Works for runs of every topic model. Where a model has a posterior (stm, lda-gibbs, lda-online, hdp, dtm, slda, gsdmm), the shares of
    the documents are drawn from it. Each draw is regressed on the covariates, and the results are combined (`regress_draws`), so that
    intervals include the uncertainty about the topics of a document. For other models the topics of documents are taken as known. The
    words of the topics are taken as known, unless `refits` combines the fits of a run of robust topics.

    Standard errors are HC3 for independent documents. `cluster` and `random` allow for documents that depend on each other, `bootstrap`
    draws documents or clusters with replacement. `link="logit"` keeps shares within 0 and 1.

    Without `column`, a row for each topic and column of the formula: estimate, se, low, high, t, p. With it, a row for each topic and
    value of that column (100 values of a number): share, low and high, and the difference to its first value with low, high and p.
    With `difference`, a row for each topic: share at the first value less share at the second, se, low, high, p, and q, the false
    discovery rate over the topics. A `moderator` gives such rows for each of its values.

    Args:
        run: a run directory of a topic model, one that is open, or a table of units (`topic_units`): its file, or a data frame.
        settings: single options, such as prevalence="party * s(date)", column="party".

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
    source, design, column = data.source, data.design, options.column
    is_number = column is not None and design.coding_of(column).is_number
    topics = _topics_in(options.topics, source)
    varied = None
    if options.moderator is not None:
        varied = moderated(data, str(column), options.moderator)
        if not any({column, varied.column} <= {factor.column for factor in term} for term in data.formula.terms):
            reporting.note(
                f"the formula has no interaction of '{column}' and '{varied.column}', so that the effect is the same at all values"
            )
    pair = compared_pair(data, options)
    with threadpool_limits(1, user_api="blas"):
        if options.refits:
            effects, fits, drawn = effects_over_fits(data, options, execution.seed, verify=execution.verify)
        else:
            effects, fits, drawn = effects_of(data, options, execution.seed), None, source.drawn
        if column is None:
            table = coefficients_table(effects, options.ci)
        elif pair is not None:
            table = differences_table(effects, design, column, pair, varied, options.ci)
        else:
            table = shares_table(effects, data, column, varied, options.ci)
    numbered = np.asarray(table.column("topic"))
    table = table.take(pa.array(np.concatenate([np.flatnonzero(numbered == k) for k in topics])))
    facts = {
        "run": source.where, "prevalence": data.formula.text, "of": column,
        "scale": None if column is None else "number" if is_number else "category",
        "difference": [name for name, _ in pair or ()],
        "moderator": None if varied is None else varied.column,
        "topics": [] if options.topics is None else topics, "draws": options.draws if drawn else 0,
        "link": options.link, "cluster": options.cluster, "random": options.random,
        "clusters": None if data.clusters is None else len(data.clusters.starts), "bootstrap": options.bootstrap, "refits": fits,
        "ci": options.ci, "documents": data.rows.num_rows,
    }  # fmt: skip
    names = pa.array(source.labels, pa.string()).take(table.column("topic"))
    runs = [] if source.run is None else [source.run]
    return TopicTable(
        runs, "effects", table.add_column(1, "topic_label", names), facts, command="effects", inputs=source.inputs
    )


def _topics_in(wanted: Any, source: Source) -> list[int]:
    """Return the numbers of the topics that are asked for, in their order. Raises InputError for one that there is not."""
    if wanted is None:
        return list(range(len(source.labels)))
    named = names_in(wanted) if isinstance(wanted, str) else [wanted] if isinstance(wanted, int) else list(wanted)
    topics = list(dict.fromkeys(source.number_of(name) for name in named))
    if not topics:
        raise UsageError("`topics` names no topic; write numbers, such as 8,7,17", parameter="topics")
    return topics
