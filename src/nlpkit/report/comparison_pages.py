"""What the report of a comparison of models shows: scores by the number of topics, the words of topics, all fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from nlpkit.evaluate.compare.run import OWN, ModelComparison
from nlpkit.evaluate.compare.views import direction, number, number_of_topics, summary_block, title_of
from nlpkit.platform import wording
from nlpkit.platform.runs.runs import open_run
from nlpkit.platform.views.html import paragraphs, table, write
from nlpkit.platform.views.page import Section

TOP_TERMS = 10


def comparison_sections(comparison: ModelComparison) -> tuple[str, list[Section], dict[str, Any]]:
    """Return the lead, the sections and the data of the report of a comparison.

    Raises:
        InputError: a run of the comparison is gone, or damaged.
    """
    rows = comparison.summary.to_pylist()
    names = [name for name in (*comparison.scores, *OWN) if any(row[name] is not None for row in rows)]
    models, numbers = (
        list(dict.fromkeys(row["model"] for row in rows)),
        sorted({row["k"] for row in rows if row["k"] is not None}),
    )
    fits = max(row["fits"] for row in rows)
    lead = (
        f"{wording.listed(models, len(models))}; {wording.listed([str(k) for k in numbers] or ['found numbers of'], 12)} topics; "
        f"{wording.counted(fits, 'fit')} each"
    )
    sections = [
        Section(
            "overview", "Overview", paragraphs(_report_comparison_sentences(fits)) + write([summary_block(comparison)])
        ),
        Section("words", "Words", _words(comparison)),
        Section("fits", "All fits", _fits(comparison, names)),
    ]
    data: dict[str, Any] = {}
    curves = number_curves(comparison)
    if curves:
        data["learning"] = curves
        spread = " Bands reach a standard deviation of the fits to each side." if fits > 1 else ""
        sections.insert(
            1, Section("learning", "By the number of topics", paragraphs([f"Means over the fits.{spread}"]))
        )
    return lead, sections, data


def number_curves(comparison: ModelComparison) -> list[dict[str, Any]]:
    """Return a curve for each score: means over the fits by the number of topics, a line for each model, with `low` and `high` a standard
    deviation away; nothing where fewer than two numbers were tried.
    """
    rows = comparison.summary.to_pylist()
    if len({row["k"] for row in rows if row["k"] is not None}) < 2:
        return []
    models = list(dict.fromkeys(row["model"] for row in rows))
    names = [name for name in (*comparison.scores, *OWN) if any(row[name] is not None for row in rows)]
    curves = [_curve(name, models, rows) for name in names]
    return [curve for curve in curves if curve["lines"]]


def _report_comparison_sentences(fits: int) -> list[str]:
    several = "Values are means over the fits, with the standard deviation; each fit has another seed and leaves out other documents."
    return [
        several if fits > 1 else "Values are those of one fit, so nothing is known of how they vary.",
        "stable words: share of the ten first words of a topic that its match in another fit has; stable docs: agreement "
        "(AMI) of the topics of documents in two fits; seconds and MB: of a process that fits the model and does nothing else.",
        "No score tells which model is best: look at the words of two or three candidates.",
    ]


def _fits(comparison: ModelComparison, names: Sequence[str]) -> str:
    heads = ["Model", "Topics asked for", "Topics", "Seed", *map(title_of, names), "Run"]
    cells = [
        [
            row["model"],
            number_of_topics(row),
            row["topics"],
            row["seed"],
            *(number(row[name], name) for name in names),
            row["run"],
        ]
        for row in comparison.fits.to_pylist()
    ]
    return table(heads, cells, numeric=range(1, len(heads) - 1))


def _words(comparison: ModelComparison) -> str:
    """Return the topics of the first fit of each model and number, each list behind a line that opens it."""
    parts = [paragraphs(["The topics of the first fit of each model and number; a line opens its list."])]
    shown = set()
    for row in comparison.fits.to_pylist():
        if (row["model"], row["k"]) in shown:
            continue
        shown.add((row["model"], row["k"]))
        topics = open_run(comparison.path / row["run"], verify=False).table("topics", ["topic", "share", "top_terms"])
        cells = [
            [t["topic"], f"{100 * t['share']:.1f}", ", ".join(t["top_terms"][:TOP_TERMS])] for t in topics.to_pylist()
        ]
        heading = escape(f"{row['model']}, {wording.counted(row['topics'], 'topic')}")
        words = table(["Topic", "Share, %", "Words"], cells, numeric=(1,))
        parts.append(f"<details><summary>{heading}</summary>\n{words}\n</details>")
    return "\n".join(parts)


def _curve(name: str, models: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    lines = []
    for model in models:
        points = [row for row in rows if row["model"] == model and None not in (row["k"], row[name])]
        if points:
            spread = {
                end: [row[name] + sign * (row[f"{name}_sd"] or 0.0) for row in points]
                for end, sign in (("low", -1), ("high", 1))
            }
            lines.append(
                {"name": model, "x": [row["k"] for row in points], "y": [row[name] for row in points], **spread}
            )
    return {"title": f"{title_of(name)}{direction(name)}", "x": "topics", "lines": lines}
