"""What info shows: facts line by line, and the topics of a run."""

from __future__ import annotations

from typing import Any

from nlpkit import wording
from nlpkit.cli import console


def facts(known: dict[str, Any]) -> None:
    """Print what is known of a file or run: a table, or one JSON object."""
    if console.settings.json:
        console.emit_json(known)
        return
    facts = dict(known)
    topics = facts.pop("topics", None)
    rows = []
    for key, value in facts.items():
        name = {"peak_memory_mb": "peak memory (MB)"}.get(key, key.replace("_", " "))
        if isinstance(value, dict):
            rows += [[name if i == 0 else "", f"{k}: {_short(v)}"] for i, (k, v) in enumerate(value.items())]
        elif isinstance(value, list):
            rows += [[name if i == 0 else "", _short(v)] for i, v in enumerate(value)]
        elif value is not None:
            rows.append([name, _short(value)])
    console.table(["", ""], rows)
    if topics is not None:
        columns = ["topic", "size", "share", "npmi", "name"]
        table = [
            [str(t["topic"]), wording.count(t["size"]), f"{t['share']:.1%}", _score(t["npmi"]), t["label"]]
            for t in topics
        ]
        console.table(columns, table, right=columns[:4], noun="topics", rest=f"{facts['path']}/topics.parquet")


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _short(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return wording.count(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return " ".join(_short(v) for v in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{k} {_short(v)}" for k, v in value.items() if v is not None)
    text = str(value)
    return text if len(text) <= 300 else text[:299] + "…"
