"""Learning curves of active learning: strategies against random choice, on a corpus whose labels are known.

Parts, in this order:
- The curves: one classifier after another, on more and more labels.
- The comparison of strategies: a table and a picture of their curves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import stdtrit

from nlpkit.annotate.active.model import select, unit_rows
from nlpkit.annotate.active.options import RANDOM, ActiveCurveOptions
from nlpkit.classify.choose import in_nested_order
from nlpkit.classify.dataset import encode_single, no_labels
from nlpkit.classify.fit import fit_model
from nlpkit.classify.kinds import ModelOptions
from nlpkit.classify.labelled import check_label_column, read_labels
from nlpkit.cluster.vectors import check_vector_options, read_vectors
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError
from nlpkit.metrics.labels.classification import averages, confusion_matrix
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import as_corpus
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.saving import save_derived_table, write_picture
from nlpkit.platform.types import FloatArray, IntArray, LongArray
from nlpkit.platform.views.chart import COLOURS, Chart, Curve, draw_page, draw_picture, require
from nlpkit.text.options import TokenOptions
from nlpkit.weights.options import WeightOptions

METRICS = ("accuracy", "macro_f1")


@dataclass(frozen=True, slots=True)
class Curves:
    """Scores of classifiers of more and more labelled documents.

    strategies (S,); sizes (R,) int64: labelled documents in each round; scores (S, R, N, 2) float64: accuracy and macro F1 of N
    repetitions. n_pool, n_test: documents to choose from, and to score on.
    """

    strategies: tuple[str, ...]
    sizes: LongArray
    scores: FloatArray
    n_pool: int
    n_test: int

    def rows(self, level: float | None) -> list[dict[str, Any]]:
        """Return a row for each strategy and number of labels: mean scores, and how far they are above those of random choice.

        An interval is that of Student's t over the repetitions, cut at what a score can be; of a difference over the differences of
        each repetition, whose test documents and first batch are the same. None without a level, or with one repetition. It tells
        chance of the choice and of the split, not of the corpus.
        """
        random = self.scores[self.strategies.index(RANDOM)]
        rows = []
        for s, by in enumerate(self.strategies):
            for r, size in enumerate(self.sizes.tolist()):
                row: dict[str, Any] = {"by": by, "labels": size, "seeds": self.scores.shape[2]}
                for m, metric in enumerate(METRICS):
                    values = self.scores[s, r, :, m]
                    low, high = _interval(values, level, 0.0)
                    row |= {metric: float(values.mean()), f"{metric}_low": low, f"{metric}_high": high}
                for m, metric in enumerate(METRICS):
                    gain = self.scores[s, r, :, m] - random[r, :, m]
                    low, high = (None, None) if by == RANDOM else _interval(gain, level, -1.0)
                    row |= {
                        f"{metric}_gain": None if by == RANDOM else float(gain.mean()),
                        f"{metric}_gain_low": low,
                        f"{metric}_gain_high": high,
                    }
                rows.append(row)
        return rows


def _interval(values: FloatArray, level: float | None, least: float) -> tuple[float | None, float | None]:
    """Return mean ± t · s / √N of values (N,), cut at what can be: `least` and 1."""
    if level is None or len(values) < 2:
        return None, None
    half = float(stdtrit(len(values) - 1, (1 + level) / 2) * values.std(ddof=1) / np.sqrt(len(values)))
    return max(float(values.mean()) - half, least), min(float(values.mean()) + half, 1.0)


def learning_curves(
    points: Any,
    y: IntArray,
    n_classes: int,
    strategies: Sequence[str],
    options: ModelOptions,
    *,
    rounds: int,
    batch_size: int,
    seeds: int,
    test_share: float,
    seed: int,
    threads: int = 1,
    done: Callable[[int], None] = lambda n: None,
) -> Curves:
    """Return how well a classifier does after each round of labelling, for each strategy.

    In each repetition a part of every class is held out to score on; the others are the pool. All strategies begin with the same batch,
    drawn at random from the pool; after each round a classifier is fitted to what is labelled, scored, and asked for the next batch.

    Args:
        points: (D, E) array or CSR of the documents, which both classifier and strategies see.
        y: (D,) 0 … J-1. n_classes: J.
        strategies: random choice among them.
        options: of the classifier.
        test_share: of the documents, above 0 and below 1.
        seed: of all that is drawn. done: called with the number of classifiers that are fitted.

    Raises:
        InputError: one class, or a pool that is smaller than all rounds together.
    """
    n_docs = len(y)
    n_test = round(test_share * n_docs)
    n_pool, needed = n_docs - n_test, rounds * batch_size
    if n_classes < 2:
        raise InputError(
            "all documents have the same label; strategies are compared on documents of two classes or more"
        )
    if not n_test or needed > n_pool:
        raise InputError(
            f"{rounds:,} rounds of {batch_size:,} need {wording.counted(needed, 'document')} and a test. There are "
            f"{n_docs:,} documents, and {n_test:,} are held out for scoring; use fewer `rounds`, a smaller "
            "`batch_size` or another `test_share`",
            parameter="rounds",
        )
    scores = np.empty((len(strategies), rounds, seeds, len(METRICS)))
    n_done = 0
    for repetition in range(seeds):
        order = in_nested_order(y, np.random.default_rng([seed, 41, repetition]))
        test, pool = np.sort(order[:n_test]), np.sort(order[n_test:])
        start = pool[np.random.default_rng([seed, 42, repetition]).permutation(n_pool)[:batch_size]]
        for s, by in enumerate(strategies):
            rng, labelled = np.random.default_rng([seed, 43, repetition]), start
            for r in range(rounds):
                probabilities = _classifier(points, y, n_classes, labelled, options, seed=seed, threads=threads)
                codes = probabilities(test).argmax(axis=1).astype(np.int32)
                values = averages(confusion_matrix(y[test], codes, n_classes))
                scores[s, r, repetition] = [float(values[metric]) for metric in METRICS]
                n_done += 1
                done(n_done)
                if r + 1 < rounds:
                    rest = np.setdiff1d(pool, labelled)
                    chosen = select(
                        by, batch_size, len(rest), rng=rng, probabilities=probabilities(rest), points=points[rest],
                        labelled=points[labelled],
                    )  # fmt: skip
                    labelled = np.concatenate((labelled, rest[chosen.rows]))
    sizes = batch_size * np.arange(1, rounds + 1, dtype=np.int64)
    return Curves(tuple(strategies), sizes, scores, n_pool, n_test)


def _classifier(
    points: Any, y: IntArray, n_classes: int, labelled: LongArray, options: ModelOptions, *, seed: int, threads: int
) -> Callable[[LongArray], FloatArray]:
    """Return what gives the probabilities (n, J) of documents by a classifier of the labelled ones; those of unseen classes are 0."""
    present, compact = np.unique(y[labelled], return_inverse=True)
    model = None
    if len(present) > 1:
        X = points[labelled]
        model = fit_model(X, compact.astype(np.int32), len(present), options, seed=seed, threads=threads)

    def probabilities(rows: LongArray) -> FloatArray:
        p = np.zeros((len(rows), n_classes))
        known = None if model is None else model.probabilities(points[rows])
        p[:, present] = 1.0 if known is None else known
        return p

    return probabilities


# ------------------------------------------------------------------------------------------------------------------------
# Strategies of active learning against random choice, on a corpus that is labelled: a table and a picture of learning curves.


@dataclass(frozen=True, slots=True)
class ActiveCurves(Tabular):
    """Learning curves of strategies. classes: names; n_documents: with a label; source: what was read."""

    curves: Curves
    classes: tuple[str, ...]
    n_documents: int
    source: DocumentStream
    options: ActiveCurveOptions
    parameters: dict[str, Any]

    def __repr__(self) -> str:
        return wording.described(
            self, ", ".join(self.curves.strategies), wording.counted(len(self.curves.sizes), "round")
        )

    def table(self) -> pa.Table:
        """Return a row for each strategy and number of labels; see `nlpkit.annotate.active.curve.Curves.rows`."""
        rows = self.curves.rows(self.options.ci or None)
        kinds = {"by": pa.string(), "labels": pa.int64(), "seeds": pa.int64()}
        return pa.table(
            {name: pa.array([row[name] for row in rows], kinds.get(name, pa.float64())) for name in rows[0]}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the scores in plain values."""
        return {
            "documents": self.n_documents,
            "pool": self.curves.n_pool,
            "test": self.curves.n_test,
            "classes": list(self.classes),
            "curves": self.table().to_pylist(),
        }

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write the table. Raises UsageError: the suffix of the name is not one of a table; OutputExistsError: it is there."""
        save_derived_table(
            target,
            self.table(),
            "scores",
            self.source,
            command="active-curve",
            parameters=self.parameters,
            row="row",
            force=force,
        )

    def chart(self) -> Chart:
        """Return the mean accuracy of each strategy by the number of labels."""
        curves = [
            Curve(by, self.curves.sizes.astype(float), 100 * self.curves.scores[s, :, :, 0].mean(axis=1), "dashed" if by == "random" else
                  "line", COLOURS[s])
            for s, by in enumerate(self.curves.strategies)
        ]  # fmt: skip
        seeds = wording.counted(self.curves.scores.shape[2], "repetition")
        return Chart(f"Active learning, mean of {seeds}", "labelled documents", "accuracy in per cent", curves)

    def save_plot(self, path: str | Path, *, force: bool = False) -> None:
        """Write the chart as .png, .svg or .html. Raises MissingError: what draws it is not installed; OutputExistsError."""
        suffix = Path(path).suffix.lower()
        drawn = draw_page(self.chart(), "active") if suffix == ".html" else draw_picture(self.chart(), suffix[1:])
        write_picture(Path(path), drawn, force=force)
        reporting.note(f"wrote {path}")


def compare_strategies(
    data: Any,
    *,
    options: ActiveCurveOptions | None = None,
    encoder: EncoderOptions | str | None = None,
    tokens: TokenOptions | None = None,
    weights: WeightOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> ActiveCurves:
    """Return learning curves of strategies of active learning and of random choice on labelled documents.

    Vectors of length 1 are made once from all texts, without their labels. A quick classifier on them is fitted anew after each
    round, see `nlpkit.annotate.active.curve.learning_curves`. Documents without a label, or without a vector, are left out.

    Args:
        data: a Corpus or a data frame with labels, one a document.
        options: strategies, rounds, repetitions, the classifier. encoder, tokens, weights: how the vectors are made.
        execution: seed and threads.
        settings: single fields of these records, such as by="margin,badge", rounds=5.

    Raises:
        UsageError: options that contradict each other; ColumnError: no column of labels; InputError: too few documents, one class, or
        several labels a document; MissingError: what draws the picture is not installed.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> curves = nk.compare_strategies(corpus, by="random", batch_size=2, rounds=1)
        >>> curves.table().num_rows > 0
        True
    """
    records = (
        options or ActiveCurveOptions(), EncoderOptions.from_value(encoder), tokens or TokenOptions(), weights or WeightOptions(),
        execution or Execution(),
    )  # fmt: skip
    options, embedding, tokens, weights, execution = with_settings(records, settings)
    check_vector_options(options.vectors, embedding, tokens, weights)
    if options.plot is not None:
        require("plotly" if options.plot.suffix.lower() == ".html" else "matplotlib")
    corpus = as_corpus(data)
    with corpus.open() as stream:
        check_label_column(stream, corpus.options.label_col)
    vectors = read_vectors(
        corpus, by=options.vectors, unit=True, encoder=embedding, tokens=tokens, weights=weights, execution=execution
    )
    raw_labels = read_labels(vectors.table.column("label").take(pa.array(vectors.rows)), None)
    if any(isinstance(label, list) for label in raw_labels):
        raise InputError("documents with lists of labels: strategies are compared on documents of one label each")
    known = np.array([label is not None for label in raw_labels], bool)
    if not known.any():
        raise no_labels()
    if not known.all():
        reporting.note(f"left out: {wording.counted(int((~known).sum()), 'document')} without a label")
    labels = encode_single(raw_labels, known)
    assert labels.codes is not None
    points, codes = unit_rows(vectors.points[known]), labels.codes[known]
    strategies, model = options.strategies(), ModelOptions(options.model, C=options.cost)
    with reporting.progress("classifiers", len(strategies) * options.rounds * options.seeds) as update:
        curves = learning_curves(
            points, codes, len(labels.names), strategies, model, rounds=options.rounds, batch_size=options.batch_size, seeds=options.seeds,
            test_share=options.test_share, seed=execution.seed, threads=execution.n_threads(), done=update,
        )  # fmt: skip
    parameters = {
        **vectors.parameters, "strategies": list(strategies), "rounds": options.rounds, "batch_size": options.batch_size,
        "seeds": options.seeds, "test_share": options.test_share, "model": options.model, "cost": options.cost, "ci": options.ci,
        "seed": execution.seed,
    }  # fmt: skip
    return ActiveCurves(curves, labels.names, len(codes), vectors.source, options, parameters)
