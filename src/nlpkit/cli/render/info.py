"""What info shows: facts line by line, and the topics of a run."""

from __future__ import annotations

from typing import Any

from nlpkit import wording
from nlpkit.cli import console
from nlpkit.errors import InputError


def facts(known: dict[str, Any]) -> None:
    """Print what is known of a file or run: a table, or one JSON object."""
    if console.settings.json:
        console.emit_json(known)
        return
    facts = dict(known)
    topics, _ = facts.pop("topics", None), facts.pop("layers", None)
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
        sizes = [float(t["size"]) for t in topics]
        rest = f"{facts['path']}/topics.parquet"
        console.table(columns, table, right=columns[:4], noun="topics", sizes=sizes, rest=rest)


def topic_tree(path: str, known: dict[str, Any]) -> None:
    """Print the topics of each layer below the topic of the coarser layer that they are part of, or their JSON object.

    Raises:
        InputError: there are no layers.
    """
    layers = known.get("layers")
    if not layers:
        raise InputError(f"{path} has no layers of topics; runs of nlpkit bertopic and hlda have them")
    if console.settings.json:
        console.emit_json({"path": known["path"], "layers": layers})
        return
    below: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in layers:
        below.setdefault((row["layer"], row["parent"]), []).append(row)

    def show(row: dict[str, Any], depth: int) -> None:
        mark = "→ " if row["chosen"] else ""
        terms = " ".join(row["top_terms"][:6])
        stability = "" if row["stability"] is None else f", stability {row['stability']:.2f}"
        size = wording.counted(row["size"], "document")
        console.out(f"{'    ' * depth}{mark}{row['topic']} {row['label']} ({size}{stability}): {terms}".rstrip(": "))
        for part in below.get((row["layer"] + 1, row["topic"]), []):
            show(part, depth + 1)

    for row in layers:
        if row["parent"] is None:  # of the coarsest layer, or without a document
            show(row, 0)


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
