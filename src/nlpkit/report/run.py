"""nlpkit report: a run as one HTML file that needs no network and no server."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.cluster.hierarchy import LEAST_STABLE
from nlpkit.errors import ColumnError, InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.date_columns import date_format_of, days_of
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.models import MODELS
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.plain import shell_line
from nlpkit.platform.runs.nlpkit_files import is_comparison
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.runs.saving import write_picture
from nlpkit.platform.runs.table_spec import numbers
from nlpkit.platform.views.html import paragraphs, table
from nlpkit.platform.views.page import Page, Section, read_page_code, render
from nlpkit.predict.model import RunModel
from nlpkit.report import covariates, topics
from nlpkit.report import sections as cells
from nlpkit.report.figures import tree_rows
from nlpkit.report.options import ReportOptions
from nlpkit.report.prose import corpus_name, methods, number_evidence, run_name
from nlpkit.report.sections import comparison
from nlpkit.report.topics import map_arrays
from nlpkit.topics.base.topic_run import opened_run
from nlpkit.topics.edit.files import hidden_topics, review_of
from nlpkit.topics.edit.looks import topic_looks

CLASS_KINDS = ("classify", "finetune")
MAX_COLUMNS = 12
MAX_VALUES = 250
MOST_ALIKE = 120  # topics of which each two are compared in a picture
MODEL_TREE = (
    "The tree that the model has learnt, from the root down; a topic has the documents whose path goes through it."
)


@dataclass(frozen=True, slots=True)
class Report:
    """A report: its page, as HTML. documents: in the file, of `total`."""

    html: str
    title: str
    documents: int
    total: int

    @property
    def size(self) -> int:
        """Bytes of the page."""
        return len(self.html.encode())

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the page.

        Raises:
            OutputExistsError: the file is there and `force` was not given.
        """
        target = check_page_name(path)
        write_picture(target, self.html, force=force)
        reporting.note(
            f"wrote {target}: {self.size / 1e6:.1f} MB"
            + (f", {wording.counted(self.documents, 'document')}" if self.total else "")
            + (f" of {wording.count(self.total)}" if self.documents < self.total else "")
        )
        return target

    def _repr_html_(self) -> str:
        """Return the page in a frame, for a notebook."""
        return f'<iframe srcdoc="{escape(self.html)}" width="100%" height="700"></iframe>'


def check_page_name(path: str | Path) -> Path:
    """Return the path of a page. Raises UsageError when its name is not that of a page."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{target}: a report is a page; name it report.html", parameter="output")
    return target


class Content(NamedTuple):
    """The page of a run, and how many documents are in it, of how many."""

    page: Page
    documents: int
    total: int


def report(
    run: str | Path | RunModel | Sequence[str | Path | RunModel],
    *,
    options: ReportOptions | None = None,
    read: ReadOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> Report:
    """Return the report of a run: one HTML page that needs no network and no server.

    Args:
        run: a run directory, a model that was loaded from one, or a directory of `compare_models`; of several, one page lets choose.
        options: what of the documents goes into the file. read: how the corpus of the run is read, as then. execution: seed of map
            and sample. settings: fields of these.

    Raises:
        InputError: it is not a run, or a run of a kind that has no report.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> page = nk.report(run)
        >>> page.html[:15]
        '<!doctype html>'
    """
    options, read, execution = with_settings(
        (options, read, execution), settings, (ReportOptions, ReadOptions, Execution)
    )
    runs: list[str | Path | RunModel] = (
        [run] if isinstance(run, str | Path) or not isinstance(run, Sequence) else list(run)
    )
    if not runs:
        raise UsageError("a report needs a run", parameter="run")
    if len(runs) > 1 and options.heading is not None:
        raise UsageError(
            "`heading` names the page of one run; leave it out, or make a report of each", parameter="heading"
        )
    contents = [_content_of(one, options, read, execution) for one in runs]
    pages = [content.page for content in contents]
    names = [
        f"{one}: {page.title}" if isinstance(one, str | Path) else page.title
        for one, page in zip(runs, pages, strict=True)
    ]
    html = render(pages[0], read_page_code(), names=names, others=pages[1:])
    return Report(html, pages[0].title, sum(c.documents for c in contents), sum(c.total for c in contents))


def _content_of(run: str | Path | RunModel, options: ReportOptions, read: ReadOptions, execution: Execution) -> Content:
    if is_comparison(run):
        return _comparison_report(Path(run), options)  # type: ignore[arg-type]
    opened = opened_run(run, execution)
    kind = opened.manifest["kind"]
    if kind in MODELS:
        return _topic_report(opened, options, read, execution)
    if kind in CLASS_KINDS and (opened.path / "metrics.json").is_file():
        return _score_report(opened, options)
    raise InputError(
        f"{opened.path} is a run of kind '{kind}', which has no report; reports exist for topic models and classifiers"
    )


def plan(run: str | Path, options: ReportOptions, execution: Execution) -> dict[str, Any]:
    """Return how big the page of a run will be: documents in it, and bytes, estimated. Raises what `report` raises."""
    opened = None if is_comparison(run) else opened_run(run, execution)
    if opened is None or opened.manifest["kind"] not in MODELS:
        return {"documents": 0, "bytes": 150_000}
    total = opened.table("documents", ["id"]).num_rows
    n = min(total, options.max_points)
    each = 12 if options.no_texts else 50 if options.titles_only else 50 + 0.55 * options.snippet
    return {"documents": n, "total": total, "bytes": int(120_000 + each * n)}


# ---------------------------------------------------------------- topic runs


def _topic_report(run: Run, options: ReportOptions, read: ReadOptions, execution: Execution) -> Content:
    content = topics.read_content(run, options, read, execution)
    manifest, n, D = run.manifest, len(content.rows), content.documents.num_rows
    arrays = map_arrays(content, execution, options.layout)
    arrays |= _document_arrays(content)
    columns, column_arrays = _columns(content, options)
    over_time = None if options.no_texts else cells.over_time(run, content.documents, options, execution)
    by_column = cells.by_column(run, content.documents, topics.user_columns(content, options), options, execution)
    parts = {"period": over_time} if over_time else {}
    parts |= {f"by_{i}": column for i, column in enumerate(by_column)}
    column_arrays |= {name: part.pop("of")[content.rows].astype(np.int16) for name, part in parts.items()}
    rows = topics.topic_rows(content, options)
    layers = topics.layer_rows(run)
    with run.intact():
        for name in (f"layer_{number}" for number in range(len(layers))):
            column_arrays[name] = numbers(content.documents, name)[content.rows].astype(np.int16)
    title = options.heading or f"{run_name(manifest)}: {content.n_topics} topics of {corpus_name(manifest)}"
    relations = topics.topic_relations(content)
    colours, shapes = topic_looks(run)
    if 2 < content.n_topics <= MOST_ALIKE:
        upper = np.triu_indices(content.n_topics, 1)
        relations["similarity"] = np.round(1.0 - np.asarray(relations["distances"])[upper], 3).tolist()
    left_out = (
        ("distances", "tree") if MODELS[manifest["kind"]].is_tree else ("distances",)
    )  # which has a tree of its own
    data = {
        "n": n,
        "total": D,
        "topics": rows,
        "mixture": run.is_mixture,
        "layers": layers,
        "columns": columns,
        "relations": {name: value for name, value in relations.items() if name not in left_out},
        "colours": colours,
        "shapes": shapes,
        "least_stable": LEAST_STABLE,
        "evidence": number_evidence(manifest),
        "over_time": over_time,
        "review": _review(run, rows),
        "by_column": by_column,
    }
    data |= _column_data(run, content, data, options, execution)
    compared = None
    if options.compare is not None:
        compared, data["compared"] = comparison(Path(options.compare), run, execution)
        looks, other_arrays = topics.other_map(Path(options.compare), content, execution, options.layout)
        data["compared"] |= looks
        arrays |= other_arrays
    ids = content.documents.column("id").take(pa.array(content.rows)).to_pylist()
    texts = {
        "ids": ids,
        "titles": [] if options.no_texts else [content.titles.get(int(row), "") for row in content.rows],
        "texts": [wording.truncated(content.texts.get(int(row), ""), options.snippet) for row in content.rows]
        if content.texts
        else [],
    }
    sentences, scores = topics.overview(content, execution)
    sections = _topic_sections(content, data, arrays, sentences[1:], scores)
    if compared is not None:
        sections.insert([s.id for s in sections].index("left-out"), compared)
        if "other_x" in arrays:
            there = Section("other-map", f"Map of {data['compared']['of']}")
            sections.insert([s.id for s in sections].index("map") + 1, there)
    page = Page(title, sentences[0], sections, data, {**arrays, **column_arrays}, texts)
    return Content(page, n, D)


def _column_data(
    run: Run, content: topics.TopicRunContent, data: Mapping[str, Any], options: ReportOptions, execution: Execution
) -> dict[str, Any]:
    """Return effects, correlations, columns by what they explain, and time by group."""
    names = topics.user_columns(content, options)
    network = covariates.network(run)
    if options.no_texts:
        return {"network": network}
    grouped = [column["name"] for column in data["by_column"]]
    over = options.over or cells.usual_periods(content.documents, groups=covariates.MOST_GROUPS)
    return {
        "network": network,
        "effects": covariates.effects(run, options, execution),
        "explained": covariates.column_ranking(run, names, execution) if names else None,
        "time_by_group": covariates.time_by_group(run, content.documents, grouped, over, execution),
    }


def _refuse_topic_options(options: ReportOptions, path: Path, what: str) -> None:
    unused = next((name for name in ("over", "by", "prevalence", "cluster", "compare") if getattr(options, name)), None)
    if unused is not None:
        raise UsageError(f"`{unused}` only applies to reports of topic models; {path} is a {what}", parameter=unused)


def _comparison_report(path: Path, options: ReportOptions) -> Content:
    from nlpkit.evaluate.compare.run import load_comparison  # these load what fits and scores every model
    from nlpkit.report.comparison_pages import comparison_sections

    _refuse_topic_options(options, path, "comparison")
    lead, sections, data = comparison_sections(load_comparison(path))
    title = options.heading or f"{path.name}: topic models compared"
    return Content(Page(title, lead, sections, data, {}, {}), 0, 0)


def _score_report(run: Run, options: ReportOptions) -> Content:
    from nlpkit.report.score_pages import score_sections

    _refuse_topic_options(options, run.path, "classifier")
    with run.intact():
        lead, sections, data = score_sections(run, options)
    title = options.heading or f"{run_name(run.manifest)} of {corpus_name(run.manifest)}"
    sections = [*sections, Section("about", "How it was made", _about(run.manifest))]
    documents = run.table("documents", ["id"]).num_rows if (run.path / "documents.parquet").is_file() else 0
    return Content(Page(title, lead, sections, data, {}, {}), documents, documents)


def _topic_sections(
    content: topics.TopicRunContent,
    data: Mapping[str, Any],
    arrays: Mapping[str, Any],
    sentences: Sequence[str],
    scores: Sequence[str],
) -> list[Section]:
    manifest, rows = content.run.manifest, data["topics"]
    share = "Share of words, %" if content.run.is_mixture else "Share, %"
    names = ("Topic", "Documents", share, "NPMI (documents)", "Stability", "Judgement", "Words")
    judged = data["review"].get("judgements", {})
    listed = [
        (
            row["label"],
            wording.count(row["size"]),
            f"{100 * row['share']:.1f}",
            _cell(row["npmi"]),
            _stability(row["stability"]),
            judged.get(str(row["topic"]), ""),
            ", ".join(row["top"]),
        )
        for row in rows
    ]
    filled = [i for i in range(len(names)) if any(row[i] for row in listed)]
    topic_table = table(
        [names[i] for i in filled],
        [[row[i] for i in filled] for row in listed],
        numeric=[place for place, i in enumerate(filled) if names[i] not in ("Topic", "Judgement", "Words")],
        id="topic-table",
    )
    labels = [row["label"] for row in rows]
    content_words = covariates.content_table(content.run, labels) if "effects" in data else ""
    cf = content.run.table("vocab", ["cf"]).column("cf")
    text, references = methods(manifest, content.n_topics, n_terms=len(cf) or None, n_tokens=pc.sum(cf).as_py(),
        left_out=[row for row in topics.left_out(content) if row[0] not in topics.IN_TOPICS],
    )  # fmt: skip
    meant = f'<details id="scores-mean"><summary>Scores, and what they mean</summary>\n{paragraphs(scores)}\n</details>'
    sections = [Section("overview", "Overview", paragraphs(sentences) + (meant if scores else ""))]
    sections += [
        Section("map", "Map" if "x" in arrays else "Documents"),
        Section("topics", "Topics", topic_table),
        Section("words", "Words"),
        Section("time", "Over time"),
        Section("columns", "By column"),
        Section("effects", "Effects"),
        Section("content", "Words by level", content_words),
        Section("network", "Correlations"),
        Section("tree", "Tree", _model_tree(content.run) if MODELS[manifest["kind"]].is_tree else ""),
        Section("distances", "Distances and words"),
        Section("review", "Review"),
        Section(
            "left-out",
            "Left out",
            table(
                ["What", "Documents", "Why"],
                [[a, wording.count(b), c] for a, b, c in topics.left_out(content)],
                numeric=(1,),
            ),
        ),
        Section("methods", "Methods", paragraphs([text]) + paragraphs(references, "reference")),
        Section("about", "How it was made", _about(manifest)),
    ]
    empty = {
        "tree": content.n_topics < 3, "time": not data["over_time"], "effects": not data.get("effects"),
        "columns": not data["by_column"] and not data.get("explained"), "content": not content_words,
        "network": not data["network"],
    }  # fmt: skip
    return [s for s in sections if not empty.get(s.id)]


def _review(run: Run, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the review starts with: what people said of the topics, whether they can be split, under which key a browser keeps it."""
    topics_known = json.dumps([[row["label"], row["size"], row["top"]] for row in rows], ensure_ascii=False)
    key = f"nlpkit-review-{hashlib.sha256(topics_known.encode()).hexdigest()[:16]}"
    return {"key": key, "splits": run.manifest["kind"] == "bertopic", **review_of(run)}


def _model_tree(run: Run) -> str:
    """Return the tree that a model has learnt as a table, topics below their parents."""
    rows = {row["topic"]: row for row in run.table("layers").to_pylist()}
    order, hidden = tree_rows({topic: row["parent"] for topic, row in rows.items()}), hidden_topics(run)
    listed = [
        ["\u2003" * level + rows[topic]["label"], wording.count(rows[topic]["size"])]
        for topic, level in order
        if topic not in hidden
    ]
    return paragraphs([MODEL_TREE]) + table(["Topic", "Documents"], listed, numeric=(1,))


def _stability(value: float | None) -> str:
    """Return the stability of a topic, marked where the topic is not to be relied on, as on the terminal."""
    return _cell(value) + (" !" if value is not None and value < LEAST_STABLE else "")


def _cell(value: float | None) -> str:
    return "" if value is None or value != value else f"{value:.2f}"


def _about(manifest: Mapping[str, Any]) -> str:
    """Return command, seed, versions, inputs with their hashes, and parameters as a table."""
    rows: list[list[object]] = [
        ["command", shell_line(*manifest["command_line"])],
        *[
            [name, version]
            for name, version in {"nlpkit": manifest["nlpkit_version"], **manifest.get("packages", {})}.items()
        ],
        ["seed", manifest["seed"]],
        ["seconds", f"{sum(v for k, v in manifest['seconds'].items() if '.' not in k):.1f}"],
        ["peak memory", f"{wording.count(manifest['peak_memory_mb'])} MB"],
    ]
    rows += [
        ["input", f"{i['path']}, {wording.counted(i['rows'], 'row')}, sha256 {i['sha256']}"] for i in manifest["inputs"]
    ]
    flat = {k: v for k, v in _flat(manifest["parameters"]) if v not in (None, [], "", False)}
    rows += [[name, value] for name, value in flat.items()]
    return table(["What", "Value"], rows)


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    return [
        pair
        for name, value in values.items()
        for pair in (_flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else [(f"{prefix}{name}", value)])
    ]


# ---------------------------------------------------------------- documents as arrays


def _document_arrays(content: topics.TopicRunContent) -> dict[str, np.ndarray]:
    """Return topic (n,) int16, probability and margin (n,) uint8 in 255ths, nearest topic (n,) int16."""
    rows = content.rows
    prob, margin = content.numbers("topic_prob")[rows], content.numbers("margin")[rows]
    nearest = pc.fill_null(content.documents.column("nearest_topic"), -1).to_numpy()[rows]
    return {
        "topic": content.documents.column("topic").to_numpy()[rows].astype(np.int16),
        "near": nearest.astype(np.int16),
        "prob": np.round(255 * np.clip(np.nan_to_num(prob), 0, 1)).astype(np.uint8),
        "margin": np.round(255 * np.clip(np.nan_to_num(margin), 0, 1)).astype(np.uint8),
    }


def _columns(
    content: topics.TopicRunContent, options: ReportOptions
) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """Return the user's columns that can colour the map, with their values (n,) as arrays `c0`, `c1` …

    Dates become days since 1970, numbers stay, other values become codes if there are at most 250 different ones.
    """
    columns: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    for name in topics.user_columns(content, options):
        if len(columns) == MAX_COLUMNS:
            break
        column, written = content.documents.column(name), date_format_of(content.documents.schema, name)
        described, array = _coded(name, column.take(pa.array(content.rows)), written)
        if array is not None:
            arrays[f"c{len(columns)}"] = array
            columns.append({"name": name, **described})
    return columns, arrays


def _days(column: pa.ChunkedArray, name: str, written: str | None) -> np.ndarray | None:
    """Return dates as days since 1970 (n,) float32, NaN where there is none; None where the column holds no dates."""
    try:
        days, _ = days_of(column, name, format=written)
    except ColumnError:
        return None
    if np.isnat(days).all():
        return None
    numbers: np.ndarray = days.astype("datetime64[D]").astype(np.int64).astype(np.float32)
    numbers[np.isnat(days)] = np.nan
    return numbers


def _coded(name: str, column: pa.ChunkedArray, written: str | None) -> tuple[dict[str, Any], np.ndarray | None]:
    if pa.types.is_nested(column.type) or column.null_count == len(column):
        return {}, None
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        values = pc.cast(column, pa.float64(), safe=False).to_numpy()  # such as ids beyond 2⁵³, rounded
        if len(np.unique(values[np.isfinite(values)])) > 20:
            return {"type": "number"}, values.astype(np.float32)
    strings = pc.cast(column, pa.string()).to_pylist()
    if name == "date":
        days = _days(column, name, written)
        if days is not None:
            return {"type": "date"}, days
    kinds = sorted({s for s in strings if s is not None})
    if not 1 < len(kinds) <= MAX_VALUES:
        return {}, None
    code = {value: i for i, value in enumerate(kinds)}
    return {"type": "category", "values": kinds}, np.array([code.get(s, -1) for s in strings], np.int16)
