"""What the report of a classifier or a fine-tuned model shows: scores with intervals, confusions, calibration, errors, learning curves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nlpkit.classify.tables import CLASSES
from nlpkit.classify.views import errors_blocks, terms_blocks
from nlpkit.metrics.catalogue import METRICS, in_group
from nlpkit.platform import wording
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.views.html import paragraphs, table, write
from nlpkit.platform.views.page import Section
from nlpkit.report.class_table import classes_block
from nlpkit.report.options import ReportOptions
from nlpkit.report.prose import training_paths

MOST_ERRORS, MOST_TERMS = 100, 15


def score_sections(run: Run, options: ReportOptions) -> tuple[str, list[Section], dict[str, Any]]:
    """Return the lead, the sections and the data of the report of a model with predictions."""
    metrics = json.loads(run.file("metrics.json").read_text(encoding="utf-8"))
    target = metrics["targets"][0]
    errors = [m for m in in_group("regression", "ordinal") if METRICS[m].better == "low"]  # which may be above 1
    scores = [
        {
            "name": name,
            "error": name in errors,
            **{key: one.get(key) for key in ("value", "low", "high", "n", "interval")},
        }
        for name, one in target["metrics"].items()
        if one.get("value") is not None
    ]
    ordered = any(s["name"] == "rank_mae" for s in scores)
    data: dict[str, Any] = {"scores": scores}
    sections = [Section("overview", "Overview", paragraphs(_sentences(run, target)))]
    sections.append(
        Section(
            "scores",
            "Scores",
            table(
                ["Score", "Value", "95 % interval", "Interval by", "Documents", "Meaning"],
                [_score_row(s) for s in scores],
                numeric=(1, 2, 4),
            ),
        )
    )
    if (run.path / "classes.parquet").is_file():
        classes = run.table("classes")
        CLASSES.check(classes, None, {})
        sections.append(Section("classes", "Classes", write([classes_block(classes.to_pylist(), "")])))
    confusion = target.get("confusion")
    if confusion and len(confusion["columns"]) <= 80:
        data["confusion"] = {"names": confusion["columns"], "counts": confusion["counts"]}
        sections.append(Section("confusion", "Confusions"))
    bins = (target.get("calibration") or {}).get("bins")
    if bins:
        data["calibration"] = bins
        note = "Points under the diagonal are too confident: the predicted probability is higher than the share that is right."
        sections.append(Section("calibration", "Calibration", paragraphs([note])))
    curves = _curves(run)
    if curves:
        data["learning"] = curves
        sections.append(Section("learning", "Learning curves"))
    if (run.path / "class_terms.parquet").is_file():
        sections.append(Section("words", "Words", write(terms_blocks(run.table("class_terms"), MOST_TERMS))))
    if (run.path / "errors.parquet").is_file():
        wrong = errors_blocks(run.table("errors"), MOST_ERRORS, options.snippet, ranks=ordered, texts=options.texts)
        sections.append(Section("errors", "Errors", write(wrong)))
    chief = ("rank_mae", "quadratic_kappa") if ordered else ("accuracy", "macro_f1")
    main = [s for s in scores if s["name"] in chief] or scores[:2]
    lead = ", ".join(f"{s['name'].replace('_', ' ')} {s['value']:.3f}" for s in main)
    return lead, sections, data


def _sentences(run: Run, target: Mapping[str, Any]) -> list[str]:
    parameters = run.manifest["parameters"]
    model = parameters.get("model") or wording.listed(list(parameters.get("methods") or []), 3) or run.manifest["kind"]
    base = f" on {parameters['base']}" if parameters.get("base") else ""
    scored_by = (
        f"{parameters['folds']}-fold cross-validation"
        if parameters.get("folds")
        else f"documents of {parameters['test']}"
        if parameters.get("test")
        else "documents held out"
    )
    classes = parameters.get("classes")
    sentences = [
        f"{model}{base}, trained on {wording.listed(training_paths(run.manifest), 3)}; scored by {scored_by}"
        + (f"; {wording.counted(len(classes), 'class', 'classes')}." if classes and isinstance(classes, list) else ".")
    ]
    return sentences + [str(note) for note in target.get("notes") or []]


def _score_row(score: Mapping[str, Any]) -> list[object]:
    low, high = score["low"], score["high"]
    span = "" if low is None or high is None else f"{low:.3f} to {high:.3f}"
    return [
        score["name"].replace("_", " "),
        wording.score_text(score["value"]),
        span,
        score.get("interval") or "",
        score.get("n"),
        METRICS[score["name"]].title if score["name"] in METRICS else "",
    ]


def _curves(run: Run) -> list[dict[str, Any]]:
    """Return the learning curves: of a fine-tuned model every number of curve.jsonl by step, of a classifier the score by documents."""
    if (run.path / "learning_curve.parquet").is_file():
        points = run.table("learning_curve").to_pylist()
        metric = run.table("learning_curve").column_names[2]
        shown = [(metric, False), ("low", True), ("high", True)]
        by_documents = [
            {"name": name, "x": [p["documents"] for p in points], "y": [p[name] for p in points], "dashed": dashed}
            for name, dashed in shown
            if all(p[name] is not None for p in points)
        ]
        return [
            {"title": metric.replace("_", " ").replace("f1", "F1"), "x": "training documents", "lines": by_documents}
        ]
    if not (run.path / "curve.jsonl").is_file():
        return []
    points = [json.loads(line) for line in run.file("curve.jsonl").read_text(encoding="utf-8").splitlines() if line]
    names = [
        n
        for n in dict.fromkeys(key for point in points for key in point)
        if n not in ("step", "epoch", "steps", "seconds")
    ]
    lines = []
    for name in names:
        known = [p for p in points if isinstance(p.get(name), int | float) and not isinstance(p.get(name), bool)]
        if len(known) > 1 and len({p[name] for p in known}) > 1:
            lines.append({"name": name, "x": [p["step"] for p in known], "y": [p[name] for p in known]})
    return [{"title": line["name"].replace("_", " "), "x": "step", "lines": [line]} for line in lines]
