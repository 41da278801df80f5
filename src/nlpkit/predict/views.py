"""What was predicted and where it went, and how it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nlpkit.platform import reporting
from nlpkit.platform.cli import console
from nlpkit.platform.runs.tables import is_readable
from nlpkit.platform.views.blocks import Note, Table, cell, rest_line
from nlpkit.predict.options import TOPIC_COLUMNS

if TYPE_CHECKING:
    from nlpkit.platform.runs.passes import Pass
    from nlpkit.predict.model import FittedModel

Explained = Mapping[str, Sequence[Mapping[str, Any]]]


SHOWN_WORDS = 15  # of an explanation


REPLACED = (*TOPIC_COLUMNS, "prediction", "prediction_prob")  # columns of the input that a model replaces


def show_predictions(predictions: Pass, target: str | None) -> None:
    """Say what was written and the next command that makes something of it, and show the explanations."""
    explained = predictions.maker.explanations
    if target == "-":
        console.say(Note(text) for text in explanations_in_lines(explained))
        return
    if target is not None:
        words = _next(predictions, target) if is_readable(target) else None
        reporting.note(f"wrote {target}{'' if words is None else console.next_step(*words)}")
    if not console.settings.json:
        console.say(explanations(explained))


def topic_names(model: FittedModel) -> Sequence[str]:
    """Return the names of the topics of a model, none of another one."""
    topics = getattr(model, "topics", None)  # of topic models
    return () if topics is None else [str(name) for name in topics.column("label").to_pylist()]


def show_documents(predictions: Pass, documents: pa.Table, total: int, names: Sequence[str]) -> None:
    """Print predictions that were not written: the first documents with what the model gives them.

    Args:
        documents: the first of them; total: how many there are; names: of the topics.
    """
    added = [name for name in documents.column_names if name not in predictions.stream.schema.names or name in REPLACED]
    columns = [name for name in added if name not in TOPIC_COLUMNS]
    heads, rows = ["id", *columns, "text"], []
    if "topic" in added:
        heads[1:1] = ["topic", "name", "topic_prob"]
    for row in documents.to_pylist():
        cells = [str(row["id"]), *(cell(row[name]) for name in columns), " ".join((row["text"] or "").split())]
        if "topic" in added:
            cells[1:1] = [str(row["topic"]), _topic_name(row, names), cell(row["topic_prob"])]
        rows.append(cells)
    numbers = [
        "topic",
        "topic_prob",
        *(name for name in columns if pa.types.is_primitive(documents.schema.field(name).type)),
    ]
    table = Table(heads, rows, right=numbers, texts=[name for name in heads if name in ("name", "text")])
    rest = [Note(rest_line(documents.num_rows, total, "documents", "-o FILE"))] if documents.num_rows < total else []
    console.say([table, *rest, *explanations(predictions.maker.explanations)])


def _topic_name(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the name of a document's topic, or the name of the nearest one where it has none."""
    nearest = row.get("nearest_topic")
    if row["topic"] >= 0:
        return str(names[row["topic"]])
    return "(no topic)" if nearest is None or nearest < 0 else f"(no topic; nearest: {names[nearest]})"


def explanations(explained: Explained) -> Iterator[Table]:
    """Yield the strongest words of each document, for each class that it got."""
    for title, words in _explained(explained):
        rows = [[w["term"], f"{w['contribution']:+.4f}"] for w in words] or [["(no word that the model knows)", ""]]
        yield Table(["word", "contribution"], rows, right=["contribution"], title=title)


def explanations_in_lines(explained: Explained) -> Iterator[str]:
    """Yield the strongest words of each document, for each class that it got, a line each."""
    for title, words in _explained(explained):
        yield title + "; " + ", ".join(f"{w['term']} {w['contribution']:+.3f}" for w in words)


def _explained(explained: Explained) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    for name, classes in explained.items():
        for one in classes:
            prob = "" if one["prob"] is None else f", probability {one['prob']:.3f}"
            what = one["class"] if "class" in one else f"{one['number']:.4g}"
            yield f"{name}: {what}{prob}", one["words"][:SHOWN_WORDS]


def _next(predictions: Pass, target: str) -> tuple[str, ...] | None:
    maker = predictions.maker
    if maker.gives == "topics":
        return "ctfidf", target, "--by", "topic"
    if maker.gives == "classes" and "label" in predictions.stream.schema.names:
        return "evaluate", maker.name if maker.learned_from else target
    return None
