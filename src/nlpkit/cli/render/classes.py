"""A classifier for people: its scores beside the majority class, telling words, and the errors it was surest of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from nlpkit import reporting, wording
from nlpkit.classify.explain import DOWN, UP
from nlpkit.classify.scores import NO_DUPLICATES, ClassifierScores
from nlpkit.cli import console
from nlpkit.cli.render.decisions import show_costs, show_learning_curve, show_search, show_thresholds
from nlpkit.cli.render.gates import finish
from nlpkit.cli.render.page import Page
from nlpkit.cli.render.predictions import show_predictions
from nlpkit.cli.render.scores import cells_of, interval_of, note_meanings, spell_options
from nlpkit.evaluation.predictions import short
from nlpkit.evaluation.results import Evaluation, TargetResult
from nlpkit.workflows.classifier import PREDICTIONS

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from nlpkit.workflows.classifier import TrainedClassifier
    from nlpkit.workflows.passes import Pass

SHOWN_ERRORS = 5
SHOWN_TERMS = 10
TEXT_WIDTH = 60


def spell_scores(classifier: TrainedClassifier) -> None:
    """Write the parameters that notes and reasons of the scores name as the options of the command line."""
    if classifier.scores is not None:
        spell_options(Evaluation(classifier.scores.results))


def finish_classifier(
    classifier: TrainedClassifier, target: Path, *, markdown: bool, predict: Callable[[], Pass] | None
) -> None:
    """Show a classifier that was saved, predict new documents with it, and say what became of the gates.

    Args:
        predict: predicts and writes more documents.

    Raises:
        QualityGateError: a gate failed.
    """
    result: dict[str, Any] = {"run": str(target), **classifier.report()}
    if predict is not None and console.settings.json:
        predictions = predict()
        result["predicted"] = {"output": str(target / PREDICTIONS), **predictions.maker.summary()}

    def then() -> None:
        if classifier.scores is not None:
            note_meanings(classifier.scores.model.scores)
        for note in classifier.all_notes:
            reporting.note(note)
        reporting.note(
            f"wrote {target}/ in {sum(classifier.seconds.values()):.1f} s"
            + console.next_step("predict", target, "NEW.jsonl", "-o", "predictions.parquet")
        )
        if predict is not None and not console.settings.json:
            show_predictions(predict(), str(target / PREDICTIONS))

    finish(result, classifier.gates, lambda: _show(classifier, markdown=markdown), then=then)


def _show(classifier: TrainedClassifier, *, markdown: bool) -> None:
    page, tables = Page(markdown=markdown), classifier.tables()
    if classifier.candidates:
        show_candidates(page, classifier.candidates)
    show_search(page, classifier.decisions.get("search"))
    if classifier.scores is not None:
        show_scores(page, classifier.scores, classifier.title)
    show_thresholds(page, classifier.decisions.get("thresholds", ()))
    show_rules(page, tables.get("rules"))
    show_costs(page, classifier.decisions.get("costs"))
    show_learning_curve(page, tables.get("learning_curve"))
    show_terms(page, tables.get("class_terms"))
    show_errors(page, tables.get("errors"), ranks=bool(classifier.classifier.scale))


def show_scores(page: Page, scores: ClassifierScores, title: str) -> None:
    """Print each score with its interval, that of the majority class, and that without near-duplicates."""
    model = scores.model
    level = next((s.interval.level for s in model.scores.values() if s.interval is not None), None)
    columns = ["metric", "score"]
    columns += [f"{100 * level:g}% interval"] if level is not None else []
    columns += [scores.majority.name] + ([NO_DUPLICATES] if scores.without_duplicates is not None else [])
    rows = []
    for name, score in model.scores.items():
        cells = [name + (" (lower is better)" if score.metric.better == "low" else "")]
        cells.append("–" if score.value is None else wording.score_text(score.value))
        cells += [interval_of(score)] if level is not None else []
        cells.append(_value(scores.majority, name))
        cells += [_value(scores.without_duplicates, name)] if scores.without_duplicates is not None else []
        rows.append(cells)
    page.table(title, columns, rows, columns[1:])
    for name, table in model.tables.items():
        if name != "Calibration":  # metrics.json has its bins
            page.table(name, table.column_names, cells_of(table), table.column_names[1:])


def _value(result: TargetResult | None, name: str) -> str:
    score = None if result is None else result.scores.get(name)
    return "" if score is None or score.value is None else wording.score_text(score.value)


def show_candidates(page: Page, rows: Sequence[dict[str, Any]]) -> None:
    """Print what --model auto compared."""
    columns = ["", "model", "macro_f1", "± standard error", "accuracy", "seconds"]
    cells = [
        [
            "→" if r["chosen"] else "",
            r["name"],
            "–" if r["macro_f1"] is None else wording.score_text(r["macro_f1"]),
            "" if r["error"] is None else wording.score_text(r["error"]),
            "" if r["accuracy"] is None else wording.score_text(r["accuracy"]),
            r["why"] or f"{r['seconds']:.1f}",
        ]
        for r in rows
    ]
    page.table("Models, by cross-validation in the training documents", columns, cells, columns[2:])


def show_rules(page: Page, rules: pa.Table | None) -> None:
    """Print how many test documents each rule matches and decides, and how often it is right."""
    if rules is None:
        return
    columns = ["rule", "label", "matched", "decided", "precision", "interval", "conflicts"]
    cells = []
    for row in rules.to_pylist():
        interval = "" if row["low"] is None else f"[{row['low']:.3f}, {row['high']:.3f}]"
        precision = "–" if row["precision"] is None else f"{row['precision']:.3f}"
        counts = [wording.count(row[name]) for name in ("matched", "decided")]
        label = shown(row["label"] or "(largest class)")
        cells.append([short(row["rule"]), label, *counts, precision, interval, wording.count(row["conflicts"])])
    page.table("Rules, in their order", columns, cells, columns[2:])


def show_terms(page: Page, terms: pa.Table | None) -> None:
    """Print the most telling words of each class."""
    if terms is None:
        return
    words: dict[str, list[str]] = {}
    for row in terms.to_pylist():
        of_class = words.setdefault(row["class"], [])
        if len(of_class) < SHOWN_TERMS:
            of_class.append(row["term"])
    rows = [[short(name), " | ".join(terms)] for name, terms in words.items()]
    moves = words.keys() <= {UP, DOWN} and min(terms["weight"].to_pylist(), default=0.0) < 0
    page.table("Most telling words", ["moves" if moves else "class", "words"], rows)


def show_errors(page: Page, errors: pa.Table | None, *, ranks: bool = False) -> None:
    """Print the errors that the model was surest of; ranks: those that are the most ranks off."""
    if errors is None or not errors.num_rows:
        return
    if "error" in errors.column_names:
        _show_number_errors(page, errors)
        return
    sure = "prediction_prob" if "prediction_prob" in errors.column_names else "margin"
    rows = []
    for row in errors.slice(0, SHOWN_ERRORS).to_pylist():
        text = wording.truncated(" ".join((row["text"] or "").split()), TEXT_WIDTH)
        rows.append([row["id"], shown(row["label"]), shown(row["prediction"]), f"{row[sure]:.3f}", text])
    columns = ["id", "label", "prediction", sure.removeprefix("prediction_"), "text"]
    which = "these are the most ranks off" if ranks else "the model was surest of these"
    page.table(f"{wording.counted(errors.num_rows, 'error')}; {which}", columns, rows, [columns[3]], texts=["text"])


def _show_number_errors(page: Page, errors: pa.Table) -> None:
    rows = []
    for row in errors.slice(0, SHOWN_ERRORS).to_pylist():
        text = wording.truncated(" ".join((row["text"] or "").split()), TEXT_WIDTH)
        rows.append(
            [row["id"], *(f"{row[name]:.4g}" for name in ("label", "prediction")), f"{row['error']:+.4g}", text]
        )
    columns = ["id", "label", "prediction", "error", "text"]
    page.table("The predictions that are farthest off", columns, rows, columns[1:4], texts=["text"])


def shown(label: Any) -> str:
    """Return a label, or a set of them, for a table."""
    return short(", ".join(label) if isinstance(label, list) else str(label))
