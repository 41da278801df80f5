"""A permutation test of an effect on the topics of a structural topic model, from its run and its documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from nlpkit import reporting
from nlpkit.io.mixture_tables import read_model
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import Execution, with_settings
from nlpkit.topics.mixtures.token_tables import select_documents
from nlpkit.topics.stm.effect_options import EffectOptions
from nlpkit.topics.stm.effects import contrast
from nlpkit.topics.stm.options import StmOptions
from nlpkit.topics.stm.permutation import PermutationTest, permutation_test, two_values
from nlpkit.topics.stm.run import content_of
from nlpkit.workflows.edit_documents import documents_again
from nlpkit.workflows.effects import effect_data, effects_of
from nlpkit.workflows.topic_tables import TopicTable, labels_of

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
