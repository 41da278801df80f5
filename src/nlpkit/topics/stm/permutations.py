"""A permutation test of a binary covariate: is its effect larger than that of a column without meaning (permutationTest of R's stm)?

Further parts, in this order:
- The same for the topics of a structural topic model, from its run and its documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import scipy
from threadpoolctl import threadpool_limits

from nlpkit.errors import InputError
from nlpkit.platform import reporting
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.types import FloatArray, TokenTable
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.model import select_documents
from nlpkit.topics.base.tables import read_model
from nlpkit.topics.edit.refit import documents_again
from nlpkit.topics.effects.data import effect_data, effects_of
from nlpkit.topics.effects.design import Covariate, Design, sorted_levels
from nlpkit.topics.effects.options import EffectOptions
from nlpkit.topics.effects.regression import compared_rows, regress_draws
from nlpkit.topics.over_time.tables import TopicTable, labels_of
from nlpkit.topics.stm.content import Content
from nlpkit.topics.stm.fit import fit_stm, start_of
from nlpkit.topics.stm.model import draw_thetas
from nlpkit.topics.stm.options import StmOptions
from nlpkit.topics.stm.run import content_of


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """Effects of a column that was permuted, R times, beside the one of the fit.

    effect (K,): the share of each topic at the second value less that at the first; permuted (R, K): the same in a model that was fitted
    with the column permuted; match (R, K): how alike the words of its topic and the topic of the fit are, Σ_v √(φ_kv φ'_kv).
    """

    effect: FloatArray
    permuted: FloatArray
    match: FloatArray

    @property
    def p(self) -> FloatArray:
        """(1 + permuted effects that are at least as large) / (R + 1), two-sided (K,)."""
        larger = (np.abs(self.permuted) >= np.abs(self.effect)).sum(axis=0)
        return np.asarray((1 + larger) / (len(self.permuted) + 1))


def two_values(design: Design, column: str, values: Mapping[str, Covariate]) -> tuple[str, str]:
    """Return the two values of a binary covariate, in order.

    Raises:
        InputError: it has others; ColumnError: the formula does not have it.
    """
    coding = design.coding_of(column)
    both = sorted_levels(values[column]) if coding.is_number else coding.levels
    if len(both) != 2:
        raise InputError(
            f"a permutation test compares two values, and '{column}' has {len(both)}: {', '.join(both[:5])}"
            + (" …" if len(both) > 5 else "")
        )
    return both[0], both[1]


def permutation_test(
    tokens: TokenTable,
    phi: FloatArray,
    effect: FloatArray,
    design: Design,
    values: Mapping[str, Covariate],
    column: str,
    *,
    options: StmOptions,
    execution: Execution,
    content: Content | None = None,
    permutations: int = 100,
    draws: int = 25,
    seed: int = 42,
    done: Callable[[int], None] | None = None,
) -> PermutationTest:
    """Fit the model again with the values of a binary column permuted over documents, and estimate its effect each time.

    Topics of each fit are matched one to one with those of the model for the highest Σ_k Σ_v √(φ_kv φ'_kv). R draws the column from a
    Bernoulli distribution in place of permuting it, and matches by Σ_v φ_kv φ'_kv.

    Args:
        tokens, values: of the documents of the fit that have words.
        phi, effect: (K, V) and (K,) of the fit.
        options, execution: of the fit, with the seed of its start; seed: of permutations and draws.
        done: called after each fit with how many there are.

    Raises:
        InputError: the column has other than two values.
    """
    first, second = two_values(design, column, values)
    row = np.subtract(*compared_rows(design, column, second, first))
    K, names = len(phi), tuple(design.names)
    effects, match = np.empty((permutations, K)), np.empty((permutations, K))
    start = start_of(tokens, K, options, execution)
    for r in range(permutations):
        rng = np.random.Generator(np.random.Philox(key=stream_key(seed, "permutation", r)))
        order = rng.permutation(tokens.n_docs)
        fitted = values[column]
        shuffled: Covariate = fitted[order] if isinstance(fitted, np.ndarray) else [fitted[i] for i in order.tolist()]
        X = design.matrix({**values, column: shuffled})
        model = fit_stm(tokens, K, options, execution, X=X, content=content, phi=start).model
        with threadpool_limits(1, user_api="blas"):
            thetas = draw_thetas(model.eta, model.noise, model.prior.covariance, X, rng, draws)
            coefficients = regress_draws(thetas, X, names).coefficients
            alike = np.sqrt(phi) @ np.sqrt(model.phi).T
        _, same = scipy.optimize.linear_sum_assignment(alike, maximize=True)
        effects[r], match[r] = coefficients[same] @ row, alike[np.arange(K), same]
        if done is not None:
            done(r + 1)
    return PermutationTest(effect, effects, match)


# ------------------------------------------------------------------------------------------------------------------------
# The same for the topics of a structural topic model, from its run and its documents.

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
    row = np.subtract(*compared_rows(data.design, column, second, first))
    with threadpool_limits(1, user_api="blas"):
        effects = effects_of(data, options, execution.seed)
    with documents_again(opened, phi.terms, documents or options.documents, ReadOptions(), execution) as corpus:
        tokens = select_documents(corpus.tokens, np.flatnonzero(data.source.filled)[data.kept])
    with reporting.progress("fits", count) as update:
        test = permutation_test(
            tokens, phi.phi, effects.coefficients @ row, data.design, data.values, column,
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
