"""The evaluation of tables: labels, predictions, topics or written texts, scored against what is true.

Parts, in this order:
- BERTScore by a local encoder.
- The scores of a table, whatever its columns hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from nlpkit.embed.models import find_model, weights_fingerprint
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError, UsageError, missing_extra
from nlpkit.evaluate.targets import CLASSIFIERS, TableTarget, read_table
from nlpkit.evaluate.topics import add_table_separation
from nlpkit.finetune.options import HardwareOptions
from nlpkit.metrics.catalogue import METRICS, in_group
from nlpkit.metrics.comparisons import compare_labelled, compare_sets
from nlpkit.metrics.labels.labels import PredictionTable, labelled_predictions
from nlpkit.metrics.labels.noise import add_annotated, add_corrected
from nlpkit.metrics.labels.numbers import REGRESSION, add_numbers, are_numeric, numbers_of
from nlpkit.metrics.labels.ordinal import ORDINAL, add_ordinal, scale_of
from nlpkit.metrics.labels.partitions import CLUSTERING, add_clustering
from nlpkit.metrics.labels.predictions import (
    CALIBRATION,
    CLASSIFICATION,
    DEFAULT_CLASSIFICATION,
    POSSIBLE,
    RANKING,
    SCORES,
    add_calibration,
    add_classification,
    add_multilabel,
    add_ranking,
    are_multilabel,
    label_sets,
    note_sets,
    split_cells,
)
from nlpkit.metrics.labels.spans import SPANS, WORDS, add_words, are_token_labels, words_of
from nlpkit.metrics.results import Evaluation, TargetResult
from nlpkit.metrics.texts.generation import BERTSCORE, TokenScores, add_generated
from nlpkit.platform import reporting, wording
from nlpkit.platform.runs.footers import step_parameters, steps_of
from nlpkit.platform.runs.plain_tables import read_columns
from nlpkit.platform.types import FloatArray
from nlpkit.platform.values import as_label
from nlpkit.platform.wording import learned_from
from nlpkit.topics.base.reference import EvaluationSettings

USED = ("encoder", "device", "precision", "offline", "max_tokens")  # options of embeddings


@contextmanager
def token_scores(settings: EvaluationSettings, encoder: EncoderOptions) -> Iterator[TokenScores]:
    """Return a context with what gives BERTScore of references and texts.

    Raises:
        UsageError: a layer or a number of tokens that the encoder does not have; MissingError: the encoder or an extra is not there.
    """
    hardware = HardwareOptions(encoder.device, encoder.precision, encoder.offline)
    try:
        from nlpkit.finetune.token_vectors import bert_scores, load_token_encoder
        from nlpkit.finetune.training.engine import Engine
    except ImportError:
        raise missing_extra("bertscore", "neural") from None
    device, precision = hardware.chosen()
    files = find_model(encoder.name, offline=encoder.offline)
    loaded = load_token_encoder(files.path, device=device, layer=settings.options.layer, max_tokens=encoder.max_tokens)
    idf = settings.options.token_idf
    parameters: dict[str, Any] = {
        "encoder": files.name, "encoder_sha256": weights_fingerprint(files.path), "layer": loaded.layer, "idf": idf,
    }  # fmt: skip
    with Engine(device, precision, threads=settings.threads) as engine:

        def score(references: Sequence[str], texts: Sequence[str]) -> tuple[FloatArray, dict[str, Any]]:
            scores, cut = bert_scores(loaded, references, texts, engine, idf=idf)
            if cut:
                reporting.note(f"{wording.counted(cut, 'pair')} longer than the window of the encoder: cut")
            return scores, parameters

        yield score


# ------------------------------------------------------------------------------------------------------------------------
# Tables of labels: the scores of predictions, or of topics, against them.

GENERATION = in_group("generation")


def evaluate_tables(tables: Sequence[TableTarget], settings: EvaluationSettings, encoder: EncoderOptions) -> Evaluation:
    """Score tables, all of them with predictions or all with topics; predictions and labels may be sets of labels.

    encoder: whose token vectors BERTScore compares.

    Raises:
        UsageError: a score that cannot be of these tables, or tables of different kinds; InputError: labels that cannot be scored.
    """
    separator = settings.options.label_sep
    if tables[0].kind == "predictions" and settings.names and set(settings.names) <= {*GENERATION, *BERTSCORE}:
        return _written_texts(tables, settings, encoder)
    columns = [read_table(table, settings) for table in tables]
    if settings.options.label_noise is not None or settings.options.annotators is not None:
        return _noisy_labels(tables, columns, settings)
    if separator is not None:
        if are_numeric(columns):
            raise UsageError(
                f"`label_sep` does not apply to numbers, which {tables[0].name} predicts; leave it out",
                parameter="label_sep",
            )
        columns = [split_cells(table, separator) for table in columns]
    if tables[0].kind == "predictions" and (are_numeric(columns) or are_token_labels(columns)):
        evaluation = _numbers_or_words(columns, settings)
    elif are_multilabel(columns):
        evaluation = _label_sets(columns, settings)
    else:
        evaluation = _single_labels(tables, columns, settings)
    for table, result in zip(tables, evaluation.targets, strict=True):
        _note_learned(result, table)
    return evaluation


def _written_texts(tables: Sequence[TableTarget], settings: EvaluationSettings, encoder: EncoderOptions) -> Evaluation:
    """Score tables of written texts beside those that they should be."""
    names = _chosen([*GENERATION, *BERTSCORE], GENERATION, settings, "written texts")
    results = []
    with ExitStack() as stack:
        scorer: TokenScores | None = None
        if set(names) & set(BERTSCORE):
            scorer = stack.enter_context(token_scores(settings, encoder))
        for table in (read_table(target, settings) for target in tables):
            result = TargetResult(table.name, f"written texts against '{table.label_col}'")
            add_generated(result, table, names, settings.uncertainty, scorer)
            results.append(result)
    return Evaluation(results)


def _noisy_labels(
    tables: Sequence[TableTarget], columns: Sequence[PredictionTable], settings: EvaluationSettings
) -> Evaluation:
    """Score predictions against labels that are wrong at times, or those of several annotators."""
    option = "label_noise" if settings.options.annotators is None else "annotators"
    if (
        tables[0].kind != "predictions"
        or settings.options.label_sep is not None
        or (option == "label_noise" and (are_numeric(columns) or are_token_labels(columns) or are_multilabel(columns)))
    ):
        raise UsageError(f"`{option}` only applies to tables with one predicted class per document", parameter=option)
    names = _chosen(CLASSIFICATION, DEFAULT_CLASSIFICATION, settings, "predictions and labels that can be wrong")
    noise = read_noise(settings.options.label_noise)
    beta, results = settings.options.beta, []
    for table, target in zip(columns, tables, strict=True):
        if noise is None:
            result = TargetResult(table.name, f"predictions against {', '.join(table.annotator_cols)}")
            add_annotated(result, table, names, settings.uncertainty, beta=beta)
        else:
            result = TargetResult(table.name, f"predictions against '{table.label_col}', corrected for its errors")
            add_corrected(result, labelled_predictions(table), names, noise, settings.uncertainty, beta=beta)
        _note_learned(result, target)
        results.append(result)
    return Evaluation(results)


def read_noise(noise: str | float | None) -> float | dict[str, dict[str, float]] | None:
    """Return the errors of labels: a rate, or the confusion in a table with label (the right one), given and share.

    Raises:
        InputError, ColumnError: the table cannot be used, or a share is none.
    """
    if noise is None:
        return None
    try:
        return float(noise)
    except ValueError:
        pass
    columns = read_columns(Path(str(noise)), ["label", "given", "share"], option="`label_noise`")
    confusion: dict[str, dict[str, float]] = {}
    for label, assigned, share in zip(columns["label"], columns["given"], columns["share"], strict=True):
        names = as_label(label), as_label(assigned)
        try:
            value = float(share)
        except (TypeError, ValueError):
            value = float("nan")
        if names[0] is None or names[1] is None or not 0 <= value < float("inf"):
            raise InputError(
                f"{noise}: a label, the one given instead and a share were needed in each row, found {label}, {assigned}, {share}",
                parameter="label_noise",
            )
        row = confusion.setdefault(names[0], {})
        row[names[1]] = row.get(names[1], 0.0) + value
    return confusion


def _label_sets(columns: Sequence[PredictionTable], settings: EvaluationSettings) -> Evaluation:
    names = _chosen(POSSIBLE, SCORES, settings, "sets of labels and predictions")
    sets = [label_sets(table) for table in columns]
    results = []
    for table, documents in zip(columns, sets, strict=True):
        result = TargetResult(table.name, f"sets of predictions against '{table.label_col}'")
        add_multilabel(
            result,
            documents.names,
            documents.true,
            documents.predicted,
            names,
            settings.uncertainty,
            beta=settings.options.beta,
        )
        note_sets(result, documents)
        results.append(result)
    return Evaluation(results, compare_sets(sets, results, settings.uncertainty))


def _single_labels(
    tables: Sequence[TableTarget], columns: Sequence[PredictionTable], settings: EvaluationSettings
) -> Evaluation:
    """Score tables with one label and one prediction, or one topic, of each document."""
    predictions, uncertainty, beta = columns[0].predictions, settings.uncertainty, settings.options.beta
    embedded = all("embedding" in table.columns for table in tables)
    separation = in_group("separation") if embedded else []
    order = _order(tables)
    scale = scale_of(columns, order) if predictions else ()
    of_ranks = ORDINAL if scale else ()
    possible = [*CLASSIFICATION, *of_ranks, *CALIBRATION, *RANKING] if predictions else [*CLUSTERING, *separation]
    default = [*DEFAULT_CLASSIFICATION, *CALIBRATION, *(of_ranks if order else ())] if predictions else possible
    kind = "predictions" if predictions else "topics"
    names = _chosen([n for n in METRICS if n in possible], default, settings, f"{kind} and labels")
    ordinal = [n for n in names if n in of_ranks]
    data = [labelled_predictions(table, scale if ordinal else ()) for table in columns]
    results = []
    for table, documents in zip(tables, data, strict=True):
        result = TargetResult(table.name, f"{kind} against '{settings.read.label_col}'")
        if predictions:
            if ordinal:
                add_ordinal(result, documents, scale, ordinal, uncertainty)
            add_classification(result, documents, [n for n in names if n in CLASSIFICATION], uncertainty, beta=beta)
            if documents.prob is not None or settings.only:
                brier = settings.options.is_named("brier")
                add_calibration(result, documents, [n for n in names if n in CALIBRATION], uncertainty, asked=brier)
            add_ranking(result, documents, [n for n in names if n in RANKING], uncertainty)
        else:
            add_clustering(result, documents, [n for n in names if n in CLUSTERING], uncertainty)
            distances = [n for n in names if n in separation]
            if distances:
                add_table_separation(result, table, distances, settings)
        results.append(result)
    return Evaluation(results, compare_labelled(data, results, uncertainty, beta=beta))


def _order(tables: Sequence[TableTarget]) -> list[str]:
    """Return the ordered labels that the footer of a table tells of the model that predicted; empty where none does."""
    for table in tables:
        steps = steps_of([table.footer()])
        for command in ("predict", "classify"):
            order = (step_parameters(steps, command) or {}).get("order")
            if order:
                return list(order)
    return []


def _numbers_or_words(columns: Sequence[PredictionTable], settings: EvaluationSettings) -> Evaluation:
    """Score tables of predicted numbers, or of labels of words."""
    numeric = are_numeric(columns)
    possible = REGRESSION if numeric else (*WORDS, *SPANS)
    kind = "numbers" if numeric else "labels of words"
    names = _chosen(possible, possible, settings, kind)
    results = []
    for table in columns:
        result = TargetResult(table.name, f"{kind} against '{table.label_col}'")
        if numeric:
            add_numbers(result, *numbers_of(table), settings.uncertainty, names)
        else:
            add_words(result, *words_of(table), settings.uncertainty, names)
        results.append(result)
    return Evaluation(results)


def _note_learned(result: TargetResult, table: TableTarget) -> None:
    """Say when the footer tells that the model had learned from these documents."""
    steps = steps_of([table.footer()])
    for command in (*CLASSIFIERS, "predict"):
        parameters = step_parameters(steps, command) or {}
        if parameters.get("learned_from"):
            result.facts["learned_from"] = parameters["learned_from"]
            result.notes.append(learned_from(parameters["learned_from"], parameters.get("model")))


def _chosen(possible: Sequence[str], default: Sequence[str], settings: EvaluationSettings, kind: str) -> list[str]:
    """Return the metrics to make, in the order of the possible ones. Raises UsageError when one was named that cannot be made."""
    wanted = settings.names
    names = [n for n in possible if n in wanted or (not settings.only and n in default)]
    wrong = [n for n in wanted if n not in possible and (settings.options.is_named(n) or not names)]
    if wrong:
        ordered = ""
        if any(METRICS[n].group == "ordinal" for n in wrong):
            ordered = "; labels need an order: numbers, or predictions of `nlpkit classify` with `task=ordinal`"
        raise UsageError(
            f"{', '.join(wrong)}: no score of a table of {kind}; possible are {', '.join(possible)}{ordered}",
            parameter="metrics",
        )
    return names
