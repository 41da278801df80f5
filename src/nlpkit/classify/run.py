"""Classifiers of documents: trained on labelled documents, scored on what they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.data import add_features, read_classification_data
from nlpkit.classify.files import classifier_tables
from nlpkit.classify.job import ClassifyOptions, prepare
from nlpkit.classify.model import TrainedClassifier
from nlpkit.classify.options import ClassifierOptions, ClassifierReportOptions, ClassifierTextOptions, SplitOptions
from nlpkit.classify.scores import score_predictions
from nlpkit.classify.tables import ADDED, find_overlap, note_dataset, run_tables, title_of
from nlpkit.classify.training import Training, curve_table, fit_and_predict, rule_tables
from nlpkit.classify.words import CutWords
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import MissingFileError, UsageError
from nlpkit.metrics.options import GateOptions
from nlpkit.metrics.results import Evaluation
from nlpkit.platform import reporting
from nlpkit.platform.documents.corpus import Corpus, as_corpus, read_corpus, warn_dropped
from nlpkit.platform.documents.sources import missing_path
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.footers import step_parameters
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.text.tokens import note_tokens, token_parameters
from nlpkit.weights.options import WeightOptions

DEFAULT_FOLDS = 5


@dataclass(frozen=True, slots=True)
class CrossValidation(Tabular):
    """Scores and predictions of documents by classifiers that had not seen them.

    Attributes:
        classifier: the classifier that was trained on all documents.
        evaluation: scores of the predictions.
        predictions: the documents with their predictions.
    """

    _shown = "predictions"

    classifier: TrainedClassifier

    @property
    def evaluation(self) -> Evaluation:
        """The scores, a mapping from their names."""
        assert self.classifier.evaluation is not None
        return self.classifier.evaluation

    @property
    def predictions(self) -> pa.Table:
        """id, label, prediction, prediction_prob, fold and the user's columns."""
        return self.classifier.tables()["documents"]


def train_classifier(
    data: Any,
    *,
    model: str | None = None,
    test: Any = None,
    options: ClassifierOptions | None = None,
    splits: SplitOptions | None = None,
    tokens: ClassifierTextOptions | None = None,
    weights: WeightOptions | None = None,
    encoder: EncoderOptions | str | None = None,
    report: ClassifierReportOptions | None = None,
    gates: GateOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> TrainedClassifier:
    """Train a classifier of documents, and score it on test documents where there are some.

    Words, weights, phrases, selection and calibration are learned from training documents only.

    Args:
        data: labelled documents: a Corpus, or a data frame with the columns text and label.
        model: nb, bernoulli-nb, complement-nb, logreg (the default), svm, knn, centroid, mlp, kan, lstm, cnn or auto.
        test: documents to score on: a file, a Corpus or a data frame; or `split` names a column of `data`. None: no scores.
        options: which classifier, and how it is fitted.
        splits: which documents train and test.
        tokens: how texts become words.
        weights: how words are weighted.
        encoder: which model makes embeddings, for classifiers that see them.
        report: what is reported.
        gates: bounds that the scores must keep; their outcomes are in `evaluation.gates`.
        execution: seed and threads.
        settings: single fields of these records, such as cost=10 or min_df=2.

    Raises:
        InputError, ColumnError: documents that cannot be learned from; UsageError: options that contradict each other.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> model = nk.train_classifier(corpus, model="nb")
        >>> model.predict(["a loan from the bank", "fish in the river"])["prediction"].to_pylist()
        ['finance', 'nature']
    """
    records = (options, splits, tokens, weights, EncoderOptions.from_value(encoder), report, gates, execution)
    chosen, bounds, execution = _options(records, settings, model=model, test=test)
    if chosen.splits.cv is not None:
        raise UsageError("`cv` deals documents into folds, which cross_validate does", parameter="cv")
    return _train(as_corpus(data), chosen, bounds, execution, folds=0)


def cross_validate(
    data: Any,
    *,
    model: str | None = None,
    folds: int | None = None,
    options: ClassifierOptions | None = None,
    splits: SplitOptions | None = None,
    tokens: ClassifierTextOptions | None = None,
    weights: WeightOptions | None = None,
    encoder: EncoderOptions | str | None = None,
    report: ClassifierReportOptions | None = None,
    gates: GateOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> CrossValidation:
    """Score a classifier by cross-validation, and train it on all documents; see `train_classifier`.

    Args:
        folds: how many, 5 by default.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> scores = nk.cross_validate(corpus, model="nb", folds=2).evaluation
        >>> scores["accuracy"].value
        1.0
    """
    records = (options, splits, tokens, weights, EncoderOptions.from_value(encoder), report, gates, execution)
    chosen, bounds, execution = _options(records, settings if folds is None else {**settings, "cv": folds}, model=model)
    if chosen.splits.test is not None or chosen.splits.split is not None:
        raise UsageError("`test` and `split` name the test documents, which train_classifier takes", parameter="test")
    n_folds = chosen.splits.cv or DEFAULT_FOLDS
    return CrossValidation(_train(as_corpus(data), chosen, bounds, execution, folds=n_folds))


def _options(
    records: Sequence[Any], settings: dict[str, Any], *, model: str | None, test: Any = None
) -> tuple[ClassifyOptions, GateOptions, Execution]:
    kinds = (
        ClassifierOptions, SplitOptions, ClassifierTextOptions, WeightOptions, EncoderOptions, ClassifierReportOptions, GateOptions,
        Execution,
    )  # fmt: skip
    named = {name: value for name, value in (("model", model), ("test", test)) if value is not None}
    *chosen, gates, execution = with_settings(records, {**settings, **named}, kinds)
    return ClassifyOptions(*chosen), gates, execution


def _train(
    corpus: Corpus, chosen: ClassifyOptions, gates: GateOptions, execution: Execution, *, folds: int
) -> TrainedClassifier:
    job = prepare(chosen, gates, execution, folds)
    with stopwatch(job.seconds, "read"):
        job.data = read_classification_data(job, corpus, _test_corpus(chosen.splits.test, corpus))
    warn_dropped(job.data.provenance, None)
    job.check_labels()
    dataset = job.dataset
    note_dataset(dataset, chosen.splits.split)
    for name in ADDED:
        if name in dataset.table.column_names:
            reporting.warn(f"the column '{name}' of the input is dropped, because the run has a column with this name")
    with stopwatch(job.seconds, "features"):
        encoder = add_features(job)
    with stopwatch(job.seconds, "near-duplicates"):
        overlap = find_overlap(dataset, chosen.report.near_duplicates)
    with stopwatch(job.seconds, "fit"):
        training = fit_and_predict(job)
    scores, evaluation = None, None
    with stopwatch(job.seconds, "scores"):
        if len(dataset.tested()):
            duplicated = None if overlap is None else np.asarray(overlap.nearest >= 0)
            scores = score_predictions(dataset, training.predicted, duplicated, job.uncertainty)
            training.add_scores(scores.model)
            evaluation = Evaluation([scores.model])
            evaluation.gates = job.gates.check(evaluation)
    classifier, tokens = training.fitted.classifier, _token_parameters(training)
    if classifier.features.sees != "embedding":
        encoder = None
    parameters = _parameters(training, tokens, encoder)
    _, model_config = classifier_tables(classifier, tokens=tokens, encoder=encoder)
    if classifier.features.sees == "embedding":
        assert job.data.sources.embeddings is not None
        model_config["dim"] = int(job.data.sources.embeddings.shape[1])
    curve = None
    if chosen.report.learning_curve and scores is not None:
        with stopwatch(job.seconds, "learning curve"):
            curve = curve_table(training, scores)
    tables, notes = run_tables(training, scores, overlap)
    if job.rules is not None and scores is not None:
        tables["rules"], rule_notes = rule_tables(job, job.rules, training.predicted)
        notes += rule_notes
    if curve is not None:
        tables["learning_curve"] = curve
    title = title_of(dataset, training.config.name, classifier, parameters["options"]["C"])
    return TrainedClassifier(
        classifier, model_config, title, parameters, tables, evaluation, scores, training.candidates, training.decisions(), notes,
        job.data.provenance, execution, job.seconds,
    )  # fmt: skip


def _test_corpus(test: Any, corpus: Corpus) -> Corpus | None:
    """Return the test documents; those of a file are read as the training documents are, and all of them."""
    if test is None or not isinstance(test, str | Path):
        return None if test is None else as_corpus(test)
    if not Path(test).exists():
        raise MissingFileError(f"`test` {missing_path(Path(test))}", parameter="test")
    return replace(
        read_corpus(test, options=replace(corpus.options, limit=None, sample=None)),
        spool_directory=corpus.spool_directory,
    )


def _token_parameters(training: Training) -> dict[str, Any] | None:
    data = training.job.data
    report, words = training.fitted.classifier.report, data.sources.words
    if report is None or not isinstance(words, CutWords):
        return step_parameters(data.provenance.steps, "preprocess")
    options = replace(words.options, ngrams=training.config.ngrams or words.options.ngrams)
    note_tokens(report, options)
    return token_parameters(options, report)


def _parameters(training: Training, tokens: dict[str, Any] | None, encoder: dict[str, Any] | None) -> dict[str, Any]:
    chosen, data, config = training.job.options, training.job.data, training.config
    splits, dataset = chosen.splits, data.dataset
    features = training.fitted.classifier.features
    vectorizer = features.vectorizer
    n_classes = 2 if dataset.labels.multiple or dataset.labels.scale else len(training.fitted.classifier.present)
    return {
        "task": "regression"
        if dataset.labels.numbers is not None
        else "ordinal"
        if dataset.labels.scale
        else "classes",
        "model": config.name,
        "options": {**asdict(config.model), "C": config.model.penalty(len(dataset.train), n_classes)},
        "sees": features.sees,
        "weighting": None if vectorizer is None else vectorizer.weighting.scheme.formula,
        "select": None
        if config.vectorizer is None or config.vectorizer.select is None
        else config.vectorizer.select.name,
        "features": len(features.names) or None,
        "ngrams": None if vectorizer is None else config.ngrams or (tokens or {}).get("ngrams"),
        "hand_features": list(data.sources.hand_names),
        "feature_cols": [] if features.columns is None else features.columns.column_names,
        "rules": None if features.rules is None else features.rules.source,
        "calibrate": config.calibrate,
        "classes": list(dataset.labels.names),
        "annotators": chosen.classifier.coders(),
        "annotators_by": chosen.classifier.annotators_by,
        "order": list(dataset.labels.scale),
        "test": str(splits.test) if isinstance(splits.test, str | Path) else None,
        "split": splits.split,
        "folds": dataset.n_folds or None,
        "groups": splits.groups,
        "twins": chosen.report.near_duplicates,
        "tokens": tokens,
        "encoder": encoder,
    }
