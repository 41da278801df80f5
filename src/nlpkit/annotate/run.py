"""Tasks for people and their answers; the agreement of coders, and the label that most of them gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from nlpkit.annotate.answers import read_answers, read_long, read_wide
from nlpkit.annotate.intrusion import task_result
from nlpkit.annotate.task_files import read_key, task_paths, write_task
from nlpkit.annotate.tasks import OF_DOCUMENTS, Task, design_task, task_kind, task_of
from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.evaluate.targets import opened_targets
from nlpkit.metrics.files import read_gates
from nlpkit.metrics.gates import GateRules
from nlpkit.metrics.labels.coders import (
    agreement_result,
    dawid_skene_labels,
    majority_labels,
    measurement,
    soft_labels,
    vote_shares,
)
from nlpkit.metrics.options import (
    DAWID_SKENE,
    LABELLINGS,
    VOTES,
    AgreementOptions,
    EvaluationOptions,
    GateOptions,
    IntervalOptions,
)
from nlpkit.metrics.results import Evaluation
from nlpkit.metrics.score import Uncertainty
from nlpkit.metrics.topics.intrusion import TOPIC, Document
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import Corpus
from nlpkit.platform.documents.inputs import InputInfo
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.sources import split_suffix
from nlpkit.platform.options import Execution, names_in, with_settings
from nlpkit.platform.runs.artifacts import footer_block, read_footer
from nlpkit.platform.runs.footers import DOCUMENTS, steps_of
from nlpkit.platform.runs.plain_tables import arrow_table
from nlpkit.platform.runs.runs import sha256_of
from nlpkit.platform.runs.table_spec import numbers
from nlpkit.platform.runs.tables import check_table, save_table
from nlpkit.topics.base.reference import TopicTarget, as_reference, need_reference, reference_of

Paths = str | Path | Sequence[str | Path]
Names = str | Sequence[str]  # with commas, or one by one


def make_task(
    target: Any,
    kind: str = "word-intrusion",
    *,
    output: str | Path,
    items: int | None = None,
    reference: Any = None,
    name: str = "",
    options: EvaluationOptions | None = None,
    read: ReadOptions | None = None,
    execution: Execution | None = None,
    force: bool = False,
    **settings: Any,
) -> Task:
    """Write a task about the topics of a model: a page for people, the same as CSV, and a key with the right answers.

    Args:
        target: a fitted model, a run directory, a file of topics, or topics as lists of words.
        kind: word-intrusion, topic-intrusion, word-set-intrusion, document-intrusion (or group), optimal-label (or label) or rating.
        output: NAME.html; NAME.csv and NAME.key.json are written beside it.
        items: number of questions; by default one a topic, or 50 documents of a topic intrusion.
        reference: the documents of questions that show some; default: the documents of the fit.
        name: headline of the page; coders see it.
        force: replace files that are there.
        settings: fields of EvaluationOptions, ReadOptions and Execution, such as seed=1.

    Raises:
        UsageError: unknown kind, an output that is not .html, or a target without topics; OutputExistsError: it is there;
            InputError: no question can be made.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> task = nk.make_task(run, kind="rating", output="task.html", items=2)
        >>> task.kind
        'rating'
    """
    records = (options, read, execution)
    options, read, execution = with_settings(records, settings, (EvaluationOptions, ReadOptions, Execution))
    kind = task_kind(kind)
    output = Path(output)
    task_paths(output)
    with opened_targets(target, options, read, verify=execution.verify) as opened:
        topics = _topics(opened)
        documents = _documents(topics, as_reference(reference, read), read, kind) if kind in OF_DOCUMENTS else None
        weights = [w.tolist() for w in topics.weights] or None
        names = topics.run.table("topics", ["label"]).column("label").to_pylist() if topics.run else []
        design = design_task(
            kind,
            topics.topics,
            weights,
            documents,
            names=[name or "" for name in names],
            n_items=items,
            seed=execution.seed,
        )
        task = task_of(name or kind.replace("-", " "), design, topics.topics, topics.names)
    write_task(output, task, parameters={"n_items": items, "topics": len(task.topics)}, force=force)
    _report_skipped(task)
    return task


def task_topics(
    target: Any, kind: str, options: EvaluationOptions, read: ReadOptions, execution: Execution
) -> dict[str, str]:
    """Return what a task would be about, nothing being written. Raises what `make_task` does before work."""
    task_kind(kind)
    with opened_targets(target, options, read, verify=execution.verify) as opened:
        topics = _topics(opened)
        return {topics.name: f"{topics.kind}, {len(topics.topics):,} topics"}


def _topics(opened: Sequence[Any]) -> TopicTarget:
    if len(opened) > 1:
        raise UsageError(f"a task covers one target, but {len(opened)} are given; make one task for each")
    (target,) = opened
    if not isinstance(target, TopicTarget):
        raise UsageError(f"{target.name} is a table of labels, but a task needs topics: a run, or a file of topics")
    return target


def _report_skipped(task: Task) -> None:
    """Say of which topics, or of how many documents, no question could be made."""
    skipped = task.design.skipped
    if task.kind != TOPIC:
        for k, why in skipped.items():
            reporting.warn(f"no question about topic {task.topics[k][0]}: {why}")
    elif skipped:
        reasons = "; ".join(f"{n:,}: {why}" for why, n in Counter(skipped.values()).most_common(2))
        reporting.note(f"no question about {wording.counted(len(skipped), 'document')} ({reasons})")


def _documents(target: TopicTarget, corpus: Corpus | None, read: ReadOptions, kind: str) -> list[Document]:
    """Return the documents of a run with their texts and topics."""
    if target.run is None:
        raise UsageError(
            f"{kind} asks about documents, which {target.name} does not have; name a run", parameter="reference"
        )
    reference = reference_of(target, corpus, read)
    if reference is None:
        raise need_reference(target, kind)
    place = {name: k for k, name in enumerate(target.names)}
    probs: dict[str, dict[int, float]] = {}
    table = target.run.table("doc_topics")
    with target.run.intact():
        columns = (table.column("id").to_pylist(), numbers(table, "topic").tolist(), numbers(table, "prob").tolist())
        for name, topic, prob in zip(*columns, strict=True):
            probs.setdefault(name, {})[place[str(topic)]] = prob
        assigned = target.run.table("documents", ["id", "topic"])
        main = dict(zip(assigned.column("id").to_pylist(), numbers(assigned, "topic").tolist(), strict=True))
    documents: list[Document] = []
    with reference.corpus.open() as stream:
        for batch in stream:
            rows = zip(batch.column("id").to_pylist(), batch.column("text").to_pylist(), strict=True)
            documents += [
                Document(name, text, probs.get(name, {}), place.get(str(main[name]), -1))
                for name, text in rows
                if name in (probs if kind == TOPIC else main) and text.strip()
            ]
    if not documents:
        raise InputError(
            f"no document of {reference.described()} belongs to {target.name}; give its corpus: `reference=DOCS`"
        )
    return documents


def score_answers(
    key: str | Path,
    answers: Paths,
    *,
    encoding: str | None = None,
    gates: GateOptions | None = None,
    options: AgreementOptions | None = None,
    intervals: IntervalOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> Evaluation:
    """Return the scores of the answers to a task: precision or mean rating, by topic and by coder, and agreement.

    Args:
        key: the key file of the task; answers: tables, or directories of them.
        encoding: of the tables; None: detected from their bytes.
        settings: fields of AgreementOptions, IntervalOptions, GateOptions and Execution, such as ci=0.9.

    Raises:
        InputError, ColumnError, SchemaError: see `read_key` and `read_answers`; UsageError: no such level of measurement.
    """
    options, uncertainty, rules = _agreement_settings((options, intervals, gates, execution), settings)
    files = [Path(answers)] if isinstance(answers, str | Path) else [Path(path) for path in answers]
    task = read_key(Path(key))
    coded = read_answers(files, task, encoding=encoding)
    evaluation = Evaluation([task_result(task, coded, options.measurement, uncertainty)])
    evaluation.gates = rules.check(evaluation)
    return evaluation


def agreement(
    tables: Paths,
    annotators: Names | None = None,
    *,
    judgements: Names | None = None,
    encoding: str | None = None,
    gates: GateOptions | None = None,
    options: AgreementOptions | None = None,
    intervals: IntervalOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> Evaluation:
    """Return how far the coders of tables agree: overall, without each of them, by pair, and how votes come out.

    Args:
        tables: their paths; each is scored by itself.
        annotators: the columns of the coders, of tables with a row a unit.
        judgements: the columns of unit, coder and value, of tables with a row a judgement.
        encoding: of the tables; None: detected from their bytes.
        settings: fields of AgreementOptions, IntervalOptions, GateOptions and Execution, such as measurement="ordinal".

    Raises:
        UsageError: columns that do not go together; UsageError, ColumnError, InputError: see `read_wide`.

    Example:
        >>> from pathlib import Path
        >>> rows = "id,ann,bob\\n1,a,a\\n2,b,b\\n3,a,b\\n4,b,b\\n"
        >>> _ = Path("codes.csv").write_text(rows)
        >>> scores = nk.agreement("codes.csv", annotators=["ann", "bob"])
        >>> "alpha" in scores
        True
    """
    options, uncertainty, rules = _agreement_settings((options, intervals, gates, execution), settings)
    coders, columns = names_in(annotators), names_in(judgements)
    if coders and columns:
        raise UsageError("`annotators` and `judgements` do not go together", parameter="judgements")
    if not coders and not columns:
        raise UsageError("name the columns of the coders with `annotators=a,b`", parameter="annotators")
    if columns and len(columns) != 3:
        raise UsageError(
            f"`judgements={','.join(columns)}`: three columns are needed, of unit, coder and value",
            parameter="judgements",
        )
    if hasattr(tables, "columns"):
        raise UsageError("tables are read from files; write the data frame to one", parameter="tables")
    level, order = measurement(options.measurement or "nominal"), options.labels()
    results = []
    for table in [tables] if isinstance(tables, str | Path) else tables:
        path = Path(table)
        if columns:
            unit, coder, value = columns
            coded = read_long(path, unit=unit, coder=coder, value=value, level=level, order=order, encoding=encoding)
        else:
            coded = read_wide(path, coders, level=level, order=order, encoding=encoding)
        results.append(agreement_result(str(path), coded, level, uncertainty))
    evaluation = Evaluation(results)
    evaluation.gates = rules.check(evaluation)
    return evaluation


def _agreement_settings(
    records: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[AgreementOptions, Uncertainty, GateRules]:
    kinds = (AgreementOptions, IntervalOptions, GateOptions, Execution)
    options, intervals, gates, execution = with_settings(records, settings, kinds)
    return options, Uncertainty(intervals.level(), execution.seed), read_gates(gates)


def majority(
    table: str | Path,
    annotators: Names,
    *,
    column: str = "label",
    order: Names | None = None,
    ties: Literal["none", "first"] = "none",
    method: str = VOTES,
    soft: bool = False,
    encoding: str | None = None,
) -> tuple[pa.Table, dict[str, Any]]:
    """Return a table with the label of each unit: the one that most coders gave, or the most probable one.

    By votes a second column has the share of coders who gave the label. By dawid-skene, which weighs coders by how they err
    (`nlpkit.metrics.agreement`), there are its probability and the entropy of the true label in nats: 0 where it is certain.

    Args:
        annotators: the columns of the coders.
        column: name of the column of labels, null for a unit without judgements and for an unresolved tie. Shares are in
            NAME_share, results of Dawid & Skene in NAME_prob and NAME_entropy.
        order: in which ties are resolved by "first"; the alphabet if not given.
        ties: "none": no label; "first": the first of the values that were given as often.
        method: votes or dawid-skene.
        soft: add soft labels: NAME_entropy, the entropy of the label in nats, and NAME_probabilities, one for each label (for votes: the
            shares of the coders).
        encoding: of the table; None: detected from its bytes.

    Returns:
        the table, all its columns first, as stored or read; and how many units are labelled, tied and unrated; by dawid-skene also
        the shares of the labels, and the reliability of each coder, see `nlpkit.metrics.labels.coders.dawid_skene_labels`.

    Raises:
        UsageError: an unknown method, or a column of that name is there; UsageError, ColumnError, InputError: see `read_wide`.

    Example:
        >>> from pathlib import Path
        >>> rows = "id,ann,bob,eve\\n1,a,a,b\\n2,b,b,b\\n"
        >>> _ = Path("codes.csv").write_text(rows)
        >>> labels, facts = nk.majority("codes.csv", annotators=["ann", "bob", "eve"])
        >>> labels["label"].to_pylist()
        ['a', 'b']
    """
    if method not in LABELLINGS:
        raise unknown_value("method", method, LABELLINGS)
    path = Path(table)
    coded = read_wide(path, names_in(annotators), level="nominal", order=names_in(order), encoding=encoding)
    whole = arrow_table(path, encoding=encoding).take(pa.array(coded.rows, pa.int64()))
    columns: dict[str, pa.Array]
    counts: dict[str, Any]
    if method == VOTES:
        labels, shares, counts = majority_labels(coded, ties=ties)
        columns = {"": labels, "share": shares, **(soft_labels(coded.names, vote_shares(coded)) if soft else {})}
    else:
        columns, counts = dawid_skene_labels(coded, ties=ties, soft=soft)
    for suffix, values in columns.items():
        name = f"{column}_{suffix}" if suffix else column
        if name in whole.column_names:
            raise UsageError(
                f"{table} already has a column '{name}'; give the majority label another name", parameter="column"
            )
        whole = whole.append_column(name, values)
    return whole, counts


def write_majority(
    table: str | Path,
    annotators: Names,
    *,
    output: str | Path,
    column: str = "label",
    force: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Write `majority` as a table, a document table if it has texts; return its counts.

    Args:
        options: order, ties, method, soft and encoding, as `majority` takes them.

    Raises:
        OutputExistsError, UsageError, InputError: see `check_table`, `majority`.
    """
    path, output = Path(table), Path(output)
    check_table(output, force=force)
    whole, counts = majority(path, annotators, column=column, **options)
    kind = DOCUMENTS if "text" in whole.column_names else "annotations"
    parameters: dict[str, Any] = {"annotators": names_in(annotators), "majority": column}
    parameters |= {"order": names_in(options["order"])} if "order" in options else {}
    parameters |= {name: options[name] for name in ("ties", "method", "soft") if options.get(name)}
    inputs = [InputInfo(str(path), whole.num_rows, sha256_of(path), options.get("encoding"))]
    steps = steps_of([read_footer(path)] if split_suffix(path.name)[1] == "parquet" else [])
    block = footer_block(
        kind, command="annotate majority", parameters=parameters, seed=None, inputs=inputs, steps=steps
    )
    save_table(output, whole, block, force=force)
    what = "probable label" if options.get("method") == DAWID_SKENE else "majority label"
    open_ends = [wording.counted(counts["ties"], "tie")] if counts["ties"] else []
    open_ends += [f"{counts['unrated']:,} without a judgement"] if counts["unrated"] else []
    rest = f" ({', '.join(open_ends)})" if open_ends else ""
    reporting.note(f"wrote {output}: {counts['labelled']:,} of {whole.num_rows:,} units have a {what}{rest}")
    if not counts.get("converged", True):
        reporting.warn(
            f"the probabilities still changed after {counts['iterations']:,} rounds; treat them as approximate"
        )
    return counts
