"""The topics of a model as a table; it loads nothing that fits them, so that info starts fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nlpkit.platform import wording
from nlpkit.platform.views.blocks import Table, cell

TERMS_SHOWN = 8


def topics_block(
    topics: Sequence[Mapping[str, Any]],
    numbers: Mapping[str, str],
    documents: Sequence[str] | None = None,
    *,
    after: Sequence[Sequence[str]] = (),
    rest: str = "topics.parquet of the run",
) -> Table:
    """Return the topics of a model with their words.

    Args:
        numbers: heads of the columns of numbers, each with the field of a topic. documents: a representative one of each.
    """
    forms: dict[str, Callable[[Any], str]] = {
        "size": wording.count,
        "share": "{:.1%}".format,
        "stability": stability_text,
    }
    rows = []
    for k, topic in enumerate(topics):
        words = wording.further_words(topic["label"], topic["top_terms"], TERMS_SHOWN)
        shown = [forms.get(name, cell)(topic[name]) for name in numbers.values()]
        rows.append([str(topic["topic"]), *shown, topic["label"], words, *([documents[k]] if documents else [])])
    texts = ["name", "further words", *([] if documents is None else ["a representative document"])]
    sizes = [float(topic["size"]) for topic in topics]
    right = ["topic", *numbers]
    return Table([*right, *texts], rows, right, noun="topics", sizes=sizes, rest=rest, after=after, texts=texts)


def stability_text(value: float | None) -> str:
    """Return the stability of a topic for a table, with a mark where it is too low; "" where it is not known."""
    if value is None or value != value:
        return ""
    from nlpkit.cluster.hierarchy import LEAST_STABLE  # loads what clusters

    return f"{value:.2f}{' !' if value < LEAST_STABLE else '  '}"
