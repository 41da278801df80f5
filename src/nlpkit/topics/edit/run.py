"""Topics edited after the fit: a new run from a run and a file of edits, which knows what each of its topics was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields, replace
from os.path import normpath
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import Corpus
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.models import topic_kinds
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.plain import shell_line
from nlpkit.platform.runs.atomic import MANIFEST, atomic_file, check_target
from nlpkit.platform.runs.runs import EDITABLE, Run, sha256_of
from nlpkit.platform.runs.table_spec import numbers
from nlpkit.predict.model import RunModel
from nlpkit.predict.run import load
from nlpkit.topics.base.runs import LDA, MixtureRun
from nlpkit.topics.base.topic_run import TopicRun, opened_run
from nlpkit.topics.bertopic.run import FittedBertopic
from nlpkit.topics.edit.edits import EditPlan, Edits, Reference, TopicWords, plan_edits, review_after
from nlpkit.topics.edit.files import edits_text, read_edits, renamed_run, review_of
from nlpkit.topics.edit.looks import inherited_looks
from nlpkit.topics.edit.options import EditOptions
from nlpkit.topics.edit.refit import documents_of, edit_bertopic, edit_lda, read_fit, read_lda_fit
from nlpkit.topics.lda.model import FittedLda

BERTOPIC = "bertopic"
OF_ALL = ("rename", "hide", "judgements", "notes", "open")  # edits of the topics of any model
NOT_OF_LDA = {
    "split": "LDA has no vectors by which a topic could be divided; fit it with more topics",
    "max_outliers": "every document with a word that LDA knows has a topic",
}


def not_applicable(run: Run) -> dict[str, str]:
    """Return the edits that a run does not take, and why."""
    kind, every = (
        run.manifest["kind"],
        [f.name for f in fields(Edits) if f.name not in (*OF_ALL, "topics", "coder", "by_people")],
    )
    if kind == BERTOPIC:
        return {}
    if kind != LDA:
        return dict.fromkeys(every, f"topics of {kind} can be renamed, but not changed")
    if run.model_config("tokens").get("rolling"):
        return dict.fromkeys(
            every, "topics of a rolling model continue with every update; they can be renamed, but not changed"
        )
    return NOT_OF_LDA


@dataclass(frozen=True, slots=True)
class EditedRun(Tabular):
    """The run after an edit, which can be written: its model, and what became of the topics of the run before.

    lineage: as the manifest has it: parent (path, sha256 of its manifest, kind), edits (the file, what was applied in numbers of the
    parent, what was skipped), topics (topic, from: topics of the parent), dropped.
    """

    _shown = "topics"

    model: TopicRun
    lineage: dict[str, Any]

    @property
    def topics(self) -> pa.Table:
        """The topics (K rows), as topics.parquet has them."""
        return self.model.topics

    @property
    def sources(self) -> list[list[int]]:
        """Topics of the run before that each topic is made of (K lists), the one whose name and number count first."""
        return [row["from"] for row in self.lineage["topics"]]

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the run directory. Raises OutputExistsError when it is there and `force` was not given."""
        return self.model.save(path, force=force)


def edit(
    run: str | Path | RunModel,
    edits: str | Path | Edits | None = None,
    *,
    merge: Sequence[Sequence[Reference]] = (),
    rename: Mapping[Reference, str] | None = None,
    reduce_to: int | None = None,
    split: Mapping[Reference, int] | None = None,
    hide: Sequence[Reference] | None = None,
    options: EditOptions | None = None,
    read: ReadOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> EditedRun:
    """Return a run with its topics merged, split, dropped, renamed and so on; the run itself stays as it is.

    The documents of the fit are read again, and words, sizes and scores of the topics are worked out as the fit does it, with its
    vocabulary. A topic that is not edited keeps its number as far as the numbers are 0 … K - 1 again, its documents and its words.
    Where topics are only renamed, nothing is read again, and all but the names is as the fit left it.

    Args:
        run: directory of a run of bertopic or lda-gibbs, or such a model that was loaded; to rename, of any topic model.
        edits: a TOML file, see `edits_template`, or `nlpkit.topics.edit.edits.Edits`; None where the next five say it all.
        merge: topics that become one, by number or name, such as [[6, 8]].
        rename: names by topic, such as {0: "Prices"}.
        reduce_to: number of topics that are left when the most similar pairs are merged.
        split: number of parts by topic, such as {4: 2}; for runs with embeddings.
        hide: all topics that reports do not list; [] lists every topic again.
        options: whether edits that do not apply are refused, and where the documents are.
        read: how the documents are read, as they were for the fit.
        execution: threads; the seed of the fit is used.
        settings: single fields of these records, such as strict=True, text_col="body"; `documents` may be a Corpus, texts or a data
            frame, too.

    Raises:
        InputError: edits that contradict each other or name no topic, documents that are gone or have changed, a damaged run;
        SchemaError: a run of another kind; UsageError: no edits, or a file of edits beside others.

    Example:
        >>> from pathlib import Path
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> _ = Path("edits.toml").write_text("[rename]\\n0 = 'First'\\n")
        >>> nk.edit(run, "edits.toml").topics["label"].to_pylist()[0]
        'First'
    """
    options, read, execution = with_settings(
        (options, read, execution), settings, (EditOptions, ReadOptions, Execution)
    )
    edits = chosen_edits(
        edits,
        Edits(
            merge=tuple(map(tuple, merge)), rename=tuple((rename or {}).items()), reduce=reduce_to,
            split=tuple((split or {}).items()), hide=None if hide is None else tuple(hide),
        ),
    )  # fmt: skip
    opened, present, plan = _planned(run, edits, options, execution)
    file = _name_of(edits)
    execution = replace(execution, seed=int(opened.manifest["seed"]))
    earlier = (opened.manifest.get("lineage") or {}).get("stop_words", [])
    stop_words = list(dict.fromkeys([*earlier, *plan.stop_words]))
    labels = [topic.name for topic in present]
    lineage: dict[str, Any] = {
        "parent": parent_of(opened), "ancestors": ancestors_of(opened), "edits": {**_file_of(edits), **_applied(plan)},
        "topics": [{"topic": k, "from": [k], "split": False} for k in range(len(labels))], "dropped": sorted(plan.drop),
        "reduced": [], "outliers_moved": 0, "stop_words": stop_words,
    }  # fmt: skip
    if _only_names(plan):
        labels = [plan.rename.get(k, label) for k, label in enumerate(labels)]
        _check_names(labels, plan, file)
        lineage["looks"] = inherited_looks(opened, [[k] for k in range(len(labels))])
        lineage["review"] = review_after([((k,), False) for k in range(len(labels))], plan, review_of(opened))
        renamed = load(opened.path, execution)
        assert isinstance(renamed, TopicRun)
        lineage["names_by_people"] = _names_by_people(opened, edits, plan, labels)
        renamed.run = renamed_run(opened, labels, lineage)
        return EditedRun(renamed, lineage)
    seconds: dict[str, float] = {}
    model: FittedBertopic | FittedLda
    with ExitStack() as stack:
        if opened.manifest["kind"] == LDA:
            stored = read_lda_fit(opened, options.documents, read, execution, stack)
            model, changed = edit_lda(
                stored, plan, labels=labels, stop_words=stop_words, execution=execution, seconds=seconds
            )
            topics, merges = changed.topics, changed.merges
        else:
            fit = read_fit(opened, options.documents, read, execution)
            model, result = edit_bertopic(
                fit, plan, labels=labels, stop_words=stop_words, execution=execution, seconds=seconds
            )
            topics, merges = result.topics, result.merges
            lineage["outliers_moved"] = result.outliers_moved
        names = model.topics.column("label").to_pylist()
        _check_names(names, plan, file)
        lineage["names_by_people"] = _names_by_people(opened, edits, plan, names)
        lineage["topics"] = [
            {"topic": k, "from": list(topic.sources), "split": topic.is_split} for k, topic in enumerate(topics)
        ]
        lineage["looks"] = inherited_looks(opened, [topic.sources for topic in topics])
        made_of = [(topic.sources, topic.is_split) for topic in topics]
        lineage["review"] = review_after(made_of, plan, review_of(opened))
        lineage["reduced"] = [[list(a), list(b), round(similarity, 6)] for a, b, similarity in merges]
        if isinstance(model, FittedBertopic):
            model.lineage = lineage
        else:
            assert isinstance(model.run, MixtureRun)
            model.run = replace(model.run, manifest={**model.run.manifest, "lineage": lineage})
    return EditedRun(model, lineage)


def chosen_edits(edits: str | Path | Edits | None, others: Edits) -> str | Path | Edits:
    """Return a file of edits, or the others where there is none. Raises UsageError where there are both, or neither."""
    if edits is not None and others != Edits():
        raise UsageError(
            "the edits are in a file, and others such as `merge` or `rename` are there too; put them into the file"
        )
    if edits is None and others == Edits():
        raise UsageError(
            "no edits are named; give `merge`, `split`, `rename`, `hide` or `reduce_to`, or a TOML file. `init` writes one: `edit(RUN, "
            "init, output=edits.toml)`"
        )
    return others if edits is None else edits


def check_edit(
    run: str | Path, edits: str | Path | Edits, *, options: EditOptions, read: ReadOptions, execution: Execution
) -> Corpus | None:
    """Return the documents that an edit would read again, None where it needs none, after checking the edits.

    Raises what `edit` does of these.
    """
    opened, _, plan = _planned(run, edits, options, execution)
    return None if _only_names(plan) else documents_of(opened, options.documents, read)


def _planned(
    run: str | Path | RunModel, edits: str | Path | Edits, options: EditOptions, execution: Execution
) -> tuple[Run, list[TopicWords], EditPlan]:
    """Return a run, its topics, and the edits that apply to it."""
    wanted = edits if isinstance(edits, Edits) else read_edits(Path(edits))
    opened = open_topic_run(run, execution)
    present, _ = topics_of_run(opened)
    return opened, present, _plan(wanted, present, opened, _name_of(edits), strict=options.strict)


def _only_names(plan: EditPlan) -> bool:
    """Whether nothing but names is edited, and what people say of topics."""
    opinions = {name: getattr(plan, name) for name in ("rename", "hide", "judgements", "notes")}
    return EditPlan(**opinions) != EditPlan() and plan == EditPlan(
        **opinions, pin=plan.pin, moved=plan.moved, skipped=plan.skipped
    )


def _name_of(edits: str | Path | Edits) -> str:
    return "the edits" if isinstance(edits, Edits) else str(edits)


def edits_template(run: str | Path | RunModel, *, execution: Execution | None = None) -> str:
    """Return a file of edits for a run, in TOML, in which every edit is a comment: its topics with their names and words.

    Raises:
        InputError, SchemaError: there is no such run, or it is of another kind.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> nk.edits_template(run).splitlines()[0]
        '# Edits of the 2 topics of run.'
    """
    opened = open_topic_run(run, execution or Execution())
    topics, sizes = topics_of_run(opened)
    example = {
        "edit": shell_line("nlpkit", "edit", str(opened.path), "edits.toml", "-o", f"{opened.path.name}-edited/"),
        "table": "the table at the end",
    }
    return edits_text(topics, sizes, run=str(opened.path), left_out=not_applicable(opened), example=example)


def write_template(text: str, path: Path, *, force: bool = False) -> None:
    """Write a file of edits. Raises OutputExistsError when it is there and `force` was not given."""
    check_target(path, force=force)
    with atomic_file(path, force=force) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def open_topic_run(run: Any, execution: Execution, kinds: Sequence[str] = ()) -> Run:
    """Return a run (a directory, or that of a saved model) whose topics can be renamed; no file was changed but the names of topics.

    Raises:
        InputError: there is none, or a file was changed; SchemaError: it is of another kind.
    """
    opened = opened_run(run, execution, kinds or topic_kinds())
    for name in opened.manifest["outputs"]:
        if name not in EDITABLE:
            opened.file(name)
    return opened


def topics_of_run(run: Run) -> tuple[list[TopicWords], list[int]]:
    """Return the topics of a run by number, with their sizes. Raises InputError where the run is damaged."""
    table = run.table("topics", ["topic", "size", "label", "top_terms"])
    with run.intact():
        if numbers(table, "topic").tolist() != list(range(int(run.manifest["results"]["n_topics"]))):
            raise ValueError("topics.parquet has not one row for each topic, in order")
        labels, words = table.column("label").to_pylist(), table.column("top_terms").to_pylist()
        topics = [TopicWords(str(label), tuple(terms)) for label, terms in zip(labels, words, strict=True)]
    return topics, table.column("size").to_pylist()


def _plan(edits: Edits, present: list[TopicWords], run: Run, file: str, *, strict: bool) -> EditPlan:
    """Return the edits that apply to a run; say which do not, and which topics have other numbers.

    Raises:
        InputError: edits contradict each other, name no topic, or none applies; with `strict` one does not.
    """
    reasons: dict[str, list[str]] = {}
    for name, why in not_applicable(run).items():
        default: Any = Edits.__dataclass_fields__[name].default
        if getattr(edits, name) != default:
            reasons.setdefault(why, []).append(name)
            edits = replace(edits, **{name: default})
    skipped = [f"{', '.join(names)}: {why}" for why, names in reasons.items()]
    vocabulary = set(run.table("vocab", ["term"]).column("term").to_pylist()) if edits.stop_words else set()
    absent = [word for word in edits.stop_words if word not in vocabulary]
    if absent:
        skipped.append(f"stop_words: no term of {run.path} is {wording.listed(absent, 10)}")
        edits = replace(edits, stop_words=tuple(word for word in edits.stop_words if word in vocabulary))
    plan = plan_edits(edits, present, file=file, run=str(run.path))
    left = len(present) - len(plan.drop) - sum(len(g) - 1 for g in plan.merge) + sum(n - 1 for n in plan.split.values())
    if plan.reduce is not None and plan.reduce >= left:
        skipped.append(f"reduce = {plan.reduce}: there are {left} topics without it")
        plan = replace(plan, reduce=None)
    plan = replace(plan, skipped=(*plan.skipped, *skipped))
    if plan.skipped and (strict or plan == EditPlan(moved=plan.moved, skipped=plan.skipped)):
        what = "these edits do not apply" if strict else "no edit applies"
        raise InputError(f"{file}: {what} to {run.path}: {'; '.join(plan.skipped)}", parameter="edits")
    for number, match in plan.moved.items():
        reporting.note(
            f"topic {number} of {file} is topic {match.topic} of {run.path}, '{present[match.topic].name}' "
            f"({match.shared} of {match.words} words are the same)"
        )
    for sentence in plan.skipped:
        reporting.warn(f"left out: {sentence}")
    return plan


def names_by_people(run: Run) -> list[str]:
    """Return the names of topics of a run that people gave in edits."""
    return list((run.manifest.get("lineage") or {}).get("names_by_people", ()))


def _names_by_people(run: Run, edits: str | Path | Edits, plan: EditPlan, labels: Sequence[str]) -> list[str]:
    """Return the names of the new topics (K,) that people gave, now or before."""
    chosen = set(plan.rename.values()) if not isinstance(edits, Edits) or edits.by_people else set()
    return [label for label in labels if label in chosen or label in names_by_people(run)]


def _check_names(labels: list[str], plan: EditPlan, file: str) -> None:
    for name in plan.rename.values():
        if labels.count(name) > 1:
            at = [k for k, label in enumerate(labels) if label == name]
            raise InputError(f"{file}: topics {at[0]} and {at[1]} would both have the name '{name}'", parameter="edits")


def run_before(run: str | Path | Run) -> dict[str, Any]:
    """Return what undoes an edit: `run`, the run that this one was made from, which is still there, and the `edits` it was made by.

    Raises:
        InputError: it was not made from another run, or that one is gone or has changed.
    """
    opened = opened_run(run, Execution())
    lineage = opened.manifest.get("lineage") or {}
    if "parent" not in lineage:
        raise InputError(f"{opened.path} was not made by an edit, so there is no run before it")
    parent = lineage["parent"]
    made_in = opened.manifest.get("made_in") or {}
    places = [Path(parent["path"])]
    if made_in and not places[0].is_absolute():
        places = [opened.path / made_in["from_run"] / places[0], Path(made_in["folder"]) / places[0], *places]
    there = [path for path in places if (path / MANIFEST).is_file() and sha256_of(path / MANIFEST) == parent["sha256"]]
    if not there:
        raise InputError(
            f"the run before, {parent['path']}, is gone or has changed, so this edit cannot be undone; fit it again"
        )
    return {"run": normpath(there[0]), "undone": str(opened.path), "edits": lineage.get("edits") or {}}


def parent_of(run: Run) -> dict[str, Any]:
    """Return what the lineage says of the run that another was made from."""
    return {"path": str(run.path), "sha256": sha256_of(run.path / MANIFEST), "kind": run.manifest["kind"]}


def ancestors_of(run: Run) -> list[dict[str, Any]]:
    """Return the runs that a run was made from, the last first."""
    lineage = run.manifest.get("lineage") or {}
    return [lineage["parent"], *lineage.get("ancestors", [])] if "parent" in lineage else []


def _file_of(edits: str | Path | Edits) -> dict[str, Any]:
    return {} if isinstance(edits, Edits) else {"path": str(edits), "sha256": sha256_of(Path(edits))}


def _applied(plan: EditPlan) -> dict[str, Any]:
    """Return what was applied, in numbers of the run before, as JSON holds it."""
    plain = {f.name: getattr(plan, f.name) for f in fields(plan)}
    plain |= {"drop": sorted(plan.drop), "pin": sorted(plan.pin)}
    plain["moved"] = {str(number): asdict(match)["topic"] for number, match in plan.moved.items()}
    for name in ("split", "rename", "judgements", "notes"):
        plain[name] = {str(topic): value for topic, value in plain[name].items()}
    return {"applied": {k: v for k, v in plain.items() if k not in ("moved", "skipped")}, "moved": plain["moved"],
            "skipped": list(plan.skipped)}  # fmt: skip
