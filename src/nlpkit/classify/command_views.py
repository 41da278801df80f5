"""A classifier on the screen, and active learning: the texts that were chosen, and the learning curves of strategies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlpkit.classify.model import PREDICTIONS
from nlpkit.classify.views import classifier_blocks
from nlpkit.metrics.gate_views import finish, spell_options
from nlpkit.metrics.results import Evaluation
from nlpkit.metrics.views import meanings
from nlpkit.platform import reporting
from nlpkit.platform.cli import console
from nlpkit.predict.views import show_predictions

if TYPE_CHECKING:
    from nlpkit.classify.model import TrainedClassifier
    from nlpkit.platform.runs.passes import Pass


TEXT_WIDTH = 70


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
