"""What info shows: facts line by line, and the topics of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlpkit.errors import InputError
from nlpkit.platform import wording
from nlpkit.platform.cli import console
from nlpkit.platform.plain import shell_line
from nlpkit.platform.views.blocks import Block, Note, Sentence, Table, cell
from nlpkit.report.class_table import classes_block
from nlpkit.topics.base.views import topics_block

if TYPE_CHECKING:
    from nlpkit.report.run import Report

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


def info_blocks(known: dict[str, Any], *, verbose: bool = False) -> Iterator[Block]:
    """Yield what is known of a file or run; for a run the result first, verbose: and how it was made."""
    rest = {name: value for name, value in known.items() if name not in ("topics", "classes", "layers", "profile")}
    if "results" not in known:
        if "profile" in known:
            del rest["columns"]
            yield _columns(known)
        yield _facts(rest)
        return
    if known["topics"] is not None:
        yield _topics(known)
    if known["classes"]:
        yield classes_block(known["classes"], f"{known['path']}/classes.parquet")
    if verbose:
        yield _facts(rest)
        return
    first = {name: rest[name] for name in ("kind", "command_line", "made_from", "changed") if rest[name]}
    if "task" in rest["parameters"]:
        first["task"] = rest["parameters"]["task"]
    inputs = [
        f"{one['path']} ({wording.counted(one['rows'], 'row')})"
        for one in rest["inputs"]
        if one.get("rows") is not None
    ]
    yield _facts({**first, "inputs": inputs, "results": _figures(rest["results"])})
    tree = (
        f"; coarser and finer topics: {shell_line('nlpkit', 'info', known['path'], '--tree')}"
        if known["layers"]
        else ""
    )
    yield Note(f"parameters, versions, seconds and files: {shell_line('nlpkit', 'info', known['path'], '-v')}{tree}")


def _columns(known: dict[str, Any]) -> Table:
    """Return the columns of a corpus, and what each may be."""
    heads = ["column", "may be", "type", "missing", "different", "example"]
    rows = []
    for row in known["profile"]:
        counts = [cell(row["missing"]), cell(row["different"])]
        rows.append([row["column"], row["may_be"], row["type"].removeprefix("large_"), *counts, row["example"]])
    return Table(heads, rows, right=["missing", "different"], noun="columns", rest=known["path"], texts=["example"])


def _figures(results: dict[str, Any]) -> dict[str, str]:
    """Return the numbers of a result for people, without counts of 0."""
    figures = {}
    for name, value in results.items():
        if name not in DETAILS and (isinstance(value, float) or (isinstance(value, int) and value)):
            figures[NAMES.get(name, name.replace("_", " "))] = (
                f"{value:,.4g}" if isinstance(value, float) else _short(value)
            )
    return figures


def _facts(facts: dict[str, Any]) -> Table:
    rows = []
    for key, value in facts.items():
        name = {"peak_memory_mb": "peak memory (MB)"}.get(key, key.replace("_", " "))
        if isinstance(value, dict):
            rows += [[name if i == 0 else "", f"{k}: {_short(v)}"] for i, (k, v) in enumerate(value.items())]
        elif isinstance(value, list):
            rows += [[name if i == 0 else "", _short(v)] for i, v in enumerate(value)]
        elif value is not None:
            rows.append([name, _short(value)])
    return Table(["", ""], rows)


def _topics(known: dict[str, Any]) -> Table:
    """Return the topics of a run, with their stability where it is known."""
    topics = known["topics"]
    stability = {"stability": "stability"} if any(t.get("stability") is not None for t in topics) else {}
    numbers = {"size": "size", "share": "share", **stability, "NPMI": "npmi"}
    return topics_block(topics, numbers, rest=f"{known['path']}/topics.parquet")


def topic_tree(path: str, known: dict[str, Any]) -> None:
    """Print the topics of each layer below the topic of the coarser layer that they are part of, or their JSON object.

    Raises:
        InputError: there are no layers.
    """
    layers = known.get("layers")
    if not layers:
        raise InputError(f"{path} has no layers of topics; runs of nlpkit bertopic and hlda have them")
    console.say(_tree(layers), lambda: {"path": known["path"], "layers": layers})


def _tree(layers: list[dict[str, Any]]) -> Iterator[Sentence]:
    below: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in layers:
        below.setdefault((row["layer"], row["parent"]), []).append(row)

    def lines(row: dict[str, Any], depth: int) -> Iterator[Sentence]:
        mark = "→ " if row["chosen"] else ""
        terms = " ".join(row["top_terms"][:6])
        stability = "" if row["stability"] is None else f", stability {row['stability']:.2f}"
        size = wording.counted(row["size"], "document")
        line = f"{'    ' * depth}{mark}{row['topic']} {row['label']} ({size}{stability}): {terms}"
        yield Sentence(line.rstrip(": "))
        for part in below.get((row["layer"] + 1, row["topic"]), []):
            yield from lines(part, depth + 1)

    for row in layers:
        if row["parent"] is None:  # of the coarsest layer, or without a document
            yield from lines(row, 0)


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


def report(page: Report, target: Path) -> None:
    """Print what was written as one JSON object; without `json` the note of `save` has said it."""
    if console.settings.json:
        console.emit_json(
            {
                "output": str(target),
                "title": page.title,
                "bytes": page.size,
                "documents": page.documents,
                "total": page.total,
            }
        )


def picture_blocks(source: str, pictures: Sequence[Mapping[str, str]]) -> Iterator[Block]:
    """Yield the pictures of a run, those that cannot be drawn with the reason, and how one is drawn."""
    drawn = [row for row in pictures if not row["missing"]]
    yield Table(["what", "shows"], [[row["what"], row["shows"]] for row in drawn], title=f"Pictures of {source}")
    missing = [[row["what"], row["missing"]] for row in pictures if row["missing"]]
    if missing:
        yield Table(["not here", "why"], missing)
    if drawn:
        yield Note(f"next: {shell_line('nlpkit', 'plot', source, drawn[0]['what'], '-o', drawn[0]['what'] + '.pdf')}")
