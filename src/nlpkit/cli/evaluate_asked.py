"""What people are asked and what they say: tasks, answers and coders as `nlpkit evaluate` takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nlpkit.cli import console
from nlpkit.cli.evaluate_coders import score_agreement, write_majority
from nlpkit.cli.evaluate_people import KIND_NAMES, make_task, score_answers
from nlpkit.cli.evaluate_reference import need_reference, reference_of
from nlpkit.cli.evaluate_targets import TopicTarget, open_targets
from nlpkit.errors import InputError, UsageError
from nlpkit.evaluation.results import Evaluation, TargetResult
from nlpkit.io.corpora import open_documents
from nlpkit.io.run_reading import numbers
from nlpkit.metrics.intrusion_design import TOPIC
from nlpkit.metrics.score import Uncertainty

if TYPE_CHECKING:
    from nlpkit.cli.options import OutputFlags, RunFlags
    from nlpkit.evaluation.options import PeopleFlags, TargetFlags
    from nlpkit.io.read_options import ReadOptions


def write_questions(
    targets: Sequence[str], people: PeopleFlags, flags: TargetFlags, out: OutputFlags, read: ReadOptions, run: RunFlags
) -> None:
    """Write a task about the topics of one target. Raises UsageError and InputError."""
    assert people.make_task is not None
    if people.make_task not in KIND_NAMES:
        raise UsageError(f"--make-task {people.make_task}: known are {', '.join(sorted(set(KIND_NAMES.values())))}")
    if out.output is None:
        raise UsageError("say where to write the task: -o task.html")
    if len(targets) > 1:
        raise UsageError(f"a task is about the topics of one target, {len(targets)} are given; make one for each")
    (target,) = open_targets(targets, flags, read.label_col, read.encoding, verify=run.verify)
    if not isinstance(target, TopicTarget):
        raise UsageError(f"{target.name} is a table of labels; a task is about topics: a run, or a file of topics")
    documents = _documents(target, flags, read) if KIND_NAMES[people.make_task] == TOPIC else None
    if run.dry_run:
        console.plan({target.name: f"{target.kind}, {len(target.topics):,} topics"})
        return
    made = make_task(
        people.make_task,
        target.topics,
        [w.tolist() for w in target.weights] or None,
        documents,
        output=Path(out.output),
        n_items=people.items,
        seed=run.seed,
        force=out.force,
        topic_names=target.names,
    )
    if run.json:
        console.emit_json(made)


def _documents(
    target: TopicTarget, flags: TargetFlags, read: ReadOptions
) -> list[tuple[str, str, Mapping[int, float]]]:
    """Return id, text and probabilities of topics of the documents of a run."""
    if target.run is None:
        raise UsageError(f"a topic intrusion asks about documents, which {target.name} does not have; a run was needed")
    reference = reference_of(target, flags.reference)
    if reference is None:
        raise need_reference(target, "a topic intrusion")
    place = {name: k for k, name in enumerate(target.names)}
    probs: dict[str, dict[int, float]] = {}
    table = target.run.table("doc_topics")
    with target.run.intact():
        columns = (table.column("id").to_pylist(), numbers(table, "topic").tolist(), numbers(table, "prob").tolist())
        for name, topic, prob in zip(*columns, strict=True):
            probs.setdefault(name, {})[place[str(topic)]] = prob
    found: list[tuple[str, str, Mapping[int, float]]] = []
    with open_documents(list(reference.inputs), read) as stream:
        for batch in stream:
            rows = zip(batch.column("id").to_pylist(), batch.column("text").to_pylist(), strict=True)
            found += [(name, text, probs[name]) for name, text in rows if name in probs and text.strip()]
    if not found:
        raise InputError(
            f"no document of {reference.described()} is one of {target.name}; give its corpus: --reference DOCS"
        )
    return found


def evaluate_people(
    targets: Sequence[str], people: PeopleFlags, out: OutputFlags, read: ReadOptions, how: Uncertainty
) -> Evaluation:
    """Return the scores of answers to a task, or of the coders of tables; write the majority labels where these are asked for.

    Raises:
        UsageError: options that do not go together; InputError, ColumnError: answers or tables that cannot be used.
    """
    given = {
        "--answers": people.answers, "--annotators": people.annotators, "--judgements": people.judgements,
    }  # fmt: skip
    used = [name for name, value in given.items() if value]
    if len(used) > 1:
        raise UsageError(f"{' and '.join(used)} do not go together")
    results: list[TargetResult] = []
    for target in targets:
        if people.answers:
            result = score_answers(
                people.answers,
                Path(target),
                level=people.measurement,
                ci=how.level,
                seed=how.seed,
                encoding=read.encoding,
            )
        else:
            columns = _split(people.annotators or people.judgements)
            long = people.judgements is not None
            if long and len(columns) != 3:
                raise UsageError(
                    f"--judgements {people.judgements}: three columns are needed, of unit, coder and value"
                )
            result = score_agreement(
                Path(target), columns, level=people.measurement or "nominal", order=_split(people.order), ci=how.level,
                seed=how.seed, encoding=read.encoding, long=long,
            )  # fmt: skip
        results.append(result)
    if people.majority is not None:
        _write_majority(targets, people, out, read)
    return Evaluation(results)


def _write_majority(targets: Sequence[str], people: PeopleFlags, out: OutputFlags, read: ReadOptions) -> None:
    if people.majority is None or people.annotators is None or len(targets) != 1:
        raise UsageError("--majority is for one table with --annotators")
    if out.output is None:
        raise UsageError("--majority writes the table with one more column: say where, -o labelled.parquet")
    write_majority(
        Path(targets[0]), _split(people.annotators), name=people.majority, output=Path(out.output), force=out.force,
        order=_split(people.order), encoding=read.encoding,
    )  # fmt: skip


def check_people(people: PeopleFlags) -> None:
    """Refuse options about people that do not go together. Raises UsageError."""
    said = bool(people.answers or people.annotators or people.judgements)
    if people.make_task is not None and said:
        raise UsageError("--make-task writes a task; score its answers in a command of their own")
    for name, value in {
        "--majority": people.majority,
        "--order": people.order,
        "--measurement": people.measurement,
    }.items():
        if value is not None and not said:
            raise UsageError(f"{name} is about coders; name their columns with --annotators, or give --answers")
    if people.items is not None and people.make_task is None:
        raise UsageError("--items is of --make-task")


def _split(given: str | None) -> list[str]:
    return [part.strip() for part in (given or "").split(",") if part.strip()]
