"""The view of a classifier on the screen: scores beside the majority class, telling words, errors, decisions.

Parts, in this order:
- The tables that are shown.
- How a classifier that was saved is shown, and where it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlpkit.classify.explain import DOWN, UP
from nlpkit.classify.model import PREDICTIONS
from nlpkit.classify.scores import NO_DUPLICATES, ClassifierScores
from nlpkit.metrics.gate_views import finish, spell_options
from nlpkit.metrics.labels.predictions import short
from nlpkit.metrics.results import Evaluation, TargetResult
from nlpkit.metrics.views import detail_block, ends, meanings, value_text
from nlpkit.platform import reporting, wording
from nlpkit.platform.cli import console
from nlpkit.platform.views.blocks import Table, cell, interval
from nlpkit.predict.views import show_predictions

if TYPE_CHECKING:
    import pyarrow as pa

    from nlpkit.classify.model import TrainedClassifier
    from nlpkit.platform.runs.passes import Pass

SHOWN_ERRORS = 5
SHOWN_TERMS = 10
TEXT_WIDTH = 60


def classifier_blocks(
    scores: ClassifierScores | None,
    title: str,
    tables: Mapping[str, pa.Table],
    candidates: Sequence[dict[str, Any]],
    decisions: Mapping[str, Any],
    *,
    ranks: bool,
) -> Iterator[Table]:
    """Yield what is known of a classifier: how it was chosen, its scores, what it decides by, its words and errors."""
    yield from candidates_blocks(candidates)
    yield from search_blocks(decisions.get("search"))
    if scores is not None:
        yield from scores_blocks(scores, title)
    yield from thresholds_blocks(decisions.get("thresholds", ()))
    yield from rules_blocks(tables.get("rules"))
    yield from costs_blocks(decisions.get("costs"))
    yield from learning_curve_blocks(tables.get("learning_curve"))
    yield from terms_blocks(tables.get("class_terms"))
    yield from errors_blocks(tables.get("errors"), ranks=ranks)


def scores_blocks(scores: ClassifierScores, title: str) -> Iterator[Table]:
    """Yield each score with its interval, that of the majority class, and that without near-duplicates."""
    model = scores.model
    level = next((s.interval.level for s in model.scores.values() if s.interval is not None), None)
    columns = ["metric", "score"]
    columns += [f"{100 * level:g}% interval"] if level is not None else []
    columns += [scores.majority.name] + ([NO_DUPLICATES] if scores.without_duplicates is not None else [])
    rows = []
    for name, score in model.scores.items():
        cells = [name + (" (lower is better)" if score.metric.better == "low" else "")]
        cells.append(value_text(score, "–"))
        cells += [ends(score.interval)] if level is not None else []
        cells.append(_value(scores.majority, name))
        cells += [_value(scores.without_duplicates, name)] if scores.without_duplicates is not None else []
        rows.append(cells)
    yield run_table(title, columns, rows, columns[1:])
    for name, table in model.tables.items():
        if name != "Calibration":  # metrics.json has its bins
            yield run_table(name, table.column_names, detail_block(name, table).rows, table.column_names[1:])


def _value(result: TargetResult | None, name: str) -> str:
    return value_text(None if result is None else result.scores.get(name))


def candidates_blocks(rows: Sequence[dict[str, Any]]) -> Iterator[Table]:
    """Yield what --model auto compared."""
    if not rows:
        return
    columns = ["", "model", "macro_f1", "± standard error", "accuracy", "seconds"]
    cells = []
    for row in rows:
        scores = ["–" if row["macro_f1"] is None else wording.score_text(row["macro_f1"])]
        scores += ["" if row[n] is None else wording.score_text(row[n]) for n in ("error", "accuracy")]
        cells.append(["→" if row["chosen"] else "", row["name"], *scores, row["why"] or f"{row['seconds']:.1f}"])
    yield run_table("Models, by cross-validation in the training documents", columns, cells, columns[2:])


def rules_blocks(rules: pa.Table | None) -> Iterator[Table]:
    """Yield how many test documents each rule matches and decides, and how often it is right."""
    if rules is None:
        return
    columns = ["rule", "label", "matched", "decided", "precision", "interval", "conflicts"]
    cells = []
    for row in rules.to_pylist():
        scored = [cell(row["precision"], missing="–"), interval(row["low"], row["high"])]
        counts = [cell(row[name]) for name in ("matched", "decided", "conflicts")]
        cells.append([short(row["rule"]), shown(row["label"] or "(largest class)"), *counts[:2], *scored, counts[2]])
    yield run_table("Rules, in their order", columns, cells, columns[2:])


def terms_blocks(terms: pa.Table | None, most: int = SHOWN_TERMS) -> Iterator[Table]:
    """Yield the most telling words of each class."""
    if terms is None:
        return
    words: dict[str, list[str]] = {}
    for row in terms.to_pylist():
        words.setdefault(row["class"], []).append(row["term"])
    rows = [[short(name), " | ".join(of_class[:most])] for name, of_class in words.items()]
    moves = words.keys() <= {UP, DOWN} and min(terms["weight"].to_pylist(), default=0.0) < 0
    yield run_table("Most telling words", ["moves" if moves else "class", "words"], rows)


def errors_blocks(
    errors: pa.Table | None,
    most: int = SHOWN_ERRORS,
    width: int = TEXT_WIDTH,
    *,
    ranks: bool = False,
    texts: bool = True,
) -> Iterator[Table]:
    """Yield the errors that the model was surest of; ranks: those that are the most ranks off; of numbers those farthest off."""
    if errors is None or not errors.num_rows:
        return
    names = ["label", "prediction"]
    if "error" in errors.column_names:
        title, last = "The predictions that are farthest off", "error"
        forms = {"label": ".4g", "prediction": ".4g", "error": "+.4g"}
    else:
        last = next((name for name in ("prediction_prob", "margin") if name in errors.column_names), "")
        which = "these are the most ranks off" if ranks else "the model was surest of these"
        title, forms = f"{wording.counted(errors.num_rows, 'error')}; {which}", {last: ".3f"}
    names += [last] if last else []
    rows = [
        [row["id"], *(cell(row[n], forms[n]) if n in forms else shown(row[n]) for n in names)]
        + ([wording.truncated(" ".join((row["text"] or "").split()), width)] if texts else [])
        for row in errors.slice(0, most).to_pylist()
    ]
    columns = ["id", *(name.removeprefix("prediction_") for name in names), *(["text"] if texts else [])]
    numbers = [name.removeprefix("prediction_") for name in forms]
    yield run_table(title, columns, rows, numbers, texts=["text"] if texts else [])


def shown(label: Any) -> str:
    """Return a label, or a set of them, for a table."""
    return short(cell(label))


def run_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[str] = (),
    texts: Sequence[str] = (),
) -> Table:
    """Return a table whose further rows are in the tables of the run."""
    return Table(columns, rows, right, title, "rows", rest="the tables of the run", texts=texts)


def search_blocks(search: Mapping[str, Any] | None) -> Iterator[Table]:
    """Yield the values of a parameter that were compared, and how often each was taken in the folds of the scores."""
    if search is None:
        return
    option, folds = search["option"], search["folds"]
    columns = ["", option, search["metric"], *(["taken in folds"] if folds else [])]
    rows = []
    for row in search["tried"]:
        taken = [str(folds.count(row["value"]) or "")] if folds else []
        arrow = "→" if row["value"] == search["value"] else ""
        rows.append([arrow, f"{row['value']:g}", wording.score_text(row[search["metric"]]), *taken])
    title = f"Values of {option}, by cross-validation in the training documents"
    yield run_table(title, columns, rows, columns[1:])


def thresholds_blocks(thresholds: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Yield the threshold of each class, with recall and precision in folds of the training documents and on test documents."""
    if not thresholds:
        return
    columns = ["class", "wanted", "threshold", "on", "recall", "precision"]
    rows = []
    for one in thresholds:
        cells = [short(one["label"]), f"{one['measure']} {one['wanted']:g}", f"{one['scale']} {one['score']:.4g}"]
        for where, on in (("expected", "training"), ("test", "test")):
            rows.append(
                [*cells, on, *(_with_ends(one[where][measure], "value") for measure in ("recall", "precision"))]
            )
            cells = [""] * len(cells)
    yield run_table("Thresholds, chosen in folds of the training documents", columns, rows, columns[4:])


def costs_blocks(costs: Mapping[str, Any] | None) -> Iterator[Table]:
    """Yield what the decisions cost on the test documents, and what other decisions would have cost."""
    if costs is None:
        return
    rows = []
    for one in costs["decisions"]:
        saved = _with_ends(one, "saved", ".4f", "saved_") if "saved" in one else ""
        rows.append([one["decision"], _with_ends(one, "mean_cost", ".4f"), saved])
    columns = ["decision", "mean cost", "saved by least expected cost"]
    yield run_table(f"Costs of {wording.counted(costs['documents'], 'test document')}", columns, rows, columns[1:])


def _with_ends(values: Mapping[str, Any], name: str, form: str = ".3f", prefix: str = "") -> str:
    """Return a value with the ends of its interval, where it has one."""
    if values[name] is None:
        return "–"
    return f"{values[name]:{form}} {interval(values.get(f'{prefix}low'), values.get(f'{prefix}high'), form)}".rstrip()


def learning_curve_blocks(curve: pa.Table | None) -> Iterator[Table]:
    """Yield the score of shares of the training documents."""
    if curve is None:
        return
    rows, metric = [], curve.column_names[2]
    for point in curve.to_pylist():
        value, low, high = (None if point[n] is None else wording.score_text(point[n]) for n in (metric, "low", "high"))
        rows.append([f"{point['share']:.0%}", cell(point["documents"]), value or "–", interval(low, high, "")])
    columns = ["share", "training documents", metric, "interval"]
    yield run_table("Learning curve: fitted on parts of the training documents", columns, rows, columns)


# ------------------------------------------------------------------------------------------------------------------------
# A classifier on the screen, and active learning: the texts that were chosen, and the learning curves of strategies.

COMMAND_VIEWS_TEXT_WIDTH = 70


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
    say = console.say_markdown if markdown else console.say
    result: dict[str, Any] = {"run": str(target), **classifier.report()}
    if predict is not None and console.settings.json:
        predictions = predict()
        result["predicted"] = {"output": str(target / PREDICTIONS), **predictions.maker.summary()}

    def then() -> None:
        console.say(meanings(() if classifier.scores is None else classifier.scores.model.scores))
        for note in classifier.all_notes:
            reporting.note(note)
        reporting.note(
            f"wrote {target}/ in {sum(classifier.seconds.values()):.1f} s"
            + console.next_step("predict", target, "NEW.jsonl", "-o", "predictions.parquet")
        )
        if predict is not None and not console.settings.json:
            show_predictions(predict(), str(target / PREDICTIONS))

    def show() -> None:
        parts = classifier.tables(), classifier.candidates, classifier.decisions
        say(classifier_blocks(classifier.scores, classifier.title, *parts, ranks=bool(classifier.classifier.scale)))

    finish(result, classifier.gates, show, then=then)
