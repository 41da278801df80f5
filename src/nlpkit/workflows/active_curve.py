"""Strategies of active learning against random choice, on a corpus that is labelled: a table and a picture of learning curves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.classify.active import unit_rows
from nlpkit.classify.active_curve import Curves, learning_curves
from nlpkit.classify.active_options import ActiveCurveOptions
from nlpkit.classify.kinds import ModelOptions
from nlpkit.classify.labels import encode_single, no_labels
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError
from nlpkit.io.corpora import DocumentStream
from nlpkit.io.pictures import write_picture
from nlpkit.notebook import Tabular
from nlpkit.parameters import Execution, with_settings
from nlpkit.report.chart import COLOURS, Chart, Curve, draw_page, draw_picture, require
from nlpkit.text.options import TokenOptions
from nlpkit.weighting.options import WeightOptions
from nlpkit.workflows.corpus import as_corpus
from nlpkit.workflows.document_vectors import check_vector_options, read_vectors
from nlpkit.workflows.labelled import check_label_column, read_labels
from nlpkit.workflows.saving import save_derived_table


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
        """Return a row for each strategy and number of labels; see `nlpkit.classify.active_curve.Curves.rows`."""
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
    round, see `nlpkit.classify.active_curve.learning_curves`. Documents without a label, or without a vector, are left out.

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
