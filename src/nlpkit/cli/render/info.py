"""What info shows: facts line by line, and the topics of a run."""

from __future__ import annotations

from typing import Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.errors import InputError
from nlpkit.plain import shell_line

TERMS_SHOWN = 8
NAMES = {
    "n_topics": "topics",
    "npmi": "NPMI (documents)",
    "unassigned": "share without a topic",
    "log_likelihood_per_token": "log-likelihood per token",
    "perplexity_in_sample": "perplexity (of the documents of the fit)",
}
DETAILS = (
    "doc_topics_left_out",
    "rule_agreement",
    "alpha_sum",
    "eta",
    "samples",
    "outliers_joined",
    "outliers_assigned",
)


def facts(known: dict[str, Any]) -> None:
    """Print what is known of a file or run, or its JSON object; for a run the result first, and with -v how it was made."""
    if console.settings.json:
        console.emit_json(known)
        return
    rest = {name: value for name, value in known.items() if name not in ("topics", "classes", "layers", "profile")}
    if "results" not in known:
        if "profile" in known:
            del rest["columns"]
            _show_columns(known)
        _show_facts(rest)
        return
    _show_topics(known)
    _show_classes(known)
    if console.settings.verbose:
        _show_facts(rest)
        return
    first = {name: rest[name] for name in ("kind", "command_line", "made_from", "changed") if rest[name]}
    if "task" in rest["parameters"]:
        first["task"] = rest["parameters"]["task"]
    inputs = [
        f"{one['path']} ({wording.counted(one['rows'], 'row')})"
        for one in rest["inputs"]
        if one.get("rows") is not None
    ]
    _show_facts({**first, "inputs": inputs, "results": _figures(rest["results"])})
    tree = (
        f"; coarser and finer topics: {shell_line('nlpkit', 'info', known['path'], '--tree')}"
        if known["layers"]
        else ""
    )
    reporting.note(
        f"parameters, versions, seconds and files: {shell_line('nlpkit', 'info', known['path'], '-v')}{tree}"
    )


def _show_columns(known: dict[str, Any]) -> None:
    """Print the columns of a corpus, and what each may be."""
    heads = ["column", "may be", "type", "missing", "different", "example"]
    rows = []
    for row in known["profile"]:
        different = "" if row["different"] is None else wording.count(row["different"])
        kind = row["type"].removeprefix("large_")
        rows.append([row["column"], row["may_be"], kind, wording.count(row["missing"]), different, row["example"]])
    console.table(heads, rows, right=["missing", "different"], noun="columns", rest=known["path"], texts=["example"])


def _figures(results: dict[str, Any]) -> dict[str, str]:
    """Return the numbers of a result for people, without counts of 0."""
    figures = {}
    for name, value in results.items():
        if name not in DETAILS and (isinstance(value, float) or (isinstance(value, int) and value)):
            figures[NAMES.get(name, name.replace("_", " "))] = (
                f"{value:,.4g}" if isinstance(value, float) else _short(value)
            )
    return figures


def _show_facts(facts: dict[str, Any]) -> None:
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


def _show_topics(known: dict[str, Any]) -> None:
    """Print the topics of a run, with their stability where it is known."""
    topics = known["topics"]
    if topics is None:
        return
    has_stability = any(t.get("stability") is not None for t in topics)
    columns = ["topic", "size", "share", *(["stability"] if has_stability else []), "NPMI", "name", "further words"]
    rows = []
    for t in topics:
        stability = [stability_text(t["stability"])] if has_stability else []
        words = wording.further_words(t["label"], t["top_terms"], TERMS_SHOWN)
        rows.append(
            [
                str(t["topic"]),
                wording.count(t["size"]),
                f"{t['share']:.1%}",
                *stability,
                _score(t["npmi"]),
                t["label"],
                words,
            ]
        )
    console.table(
        columns, rows, right=columns[:-2], noun="topics", sizes=[float(t["size"]) for t in topics],
        rest=f"{known['path']}/topics.parquet", texts=columns[-2:],
    )  # fmt: skip


def _show_classes(known: dict[str, Any]) -> None:
    """Print the classes of a classifier with their scores."""
    classes = known["classes"]
    if not classes:
        return
    columns = list(classes[0])
    rows = [[_cell(value) for value in row.values()] for row in classes]
    heads = [name.replace("_", " ") for name in columns]
    console.table(
        heads, rows, right=heads[1:], noun="classes", sizes=[float(row.get("training_documents") or 0) for row in classes],
        rest=f"{known['path']}/classes.parquet",
    )  # fmt: skip


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "" if value is None else _short(value)


def stability_text(value: float | None) -> str:
    """Return the stability of a topic for a table, with a mark where it is too low; "" where it is not known."""
    from nlpkit.topics.stability import LEAST_STABLE

    return "" if value is None or value != value else f"{value:.2f}{' !' if value < LEAST_STABLE else '  '}"


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
