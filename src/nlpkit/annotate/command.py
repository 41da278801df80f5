"""The commands of `nlpkit annotate`: tasks for people and language models, their answers, agreement, majority labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.errors import UsageError
from nlpkit.metrics.options import AgreementOptions, EvaluationOptions, GateOptions, IntervalOptions, JudgeOptions
from nlpkit.platform import reporting, wording
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import READ, WRITTEN, Param

# ------------------------------------------------------------------------------------------------------------------------
# nlpkit annotate: tasks for people and language models, their answers, the agreement of coders, and majority labels.

Annotators = Annotated[str | None, Param("Columns with the labels of each coder: a,b,c.", metavar="COLS")]
HELP = """Write tasks for coders, score their answers, and measure agreement.

\b
Examples:
  nlpkit annotate task data/samples/topics.txt -o task.html
  nlpkit annotate judge task.key.json --llm http://localhost:11434/v1 --llm-model llama3.2 --dry-run
  nlpkit annotate agree data/samples/coders.csv --annotators anna,ben,chiara
  nlpkit annotate majority data/samples/coders.csv --annotators anna,ben,chiara -o labelled.parquet

A task is an HTML page that coders open in a browser. Its key holds the right answers and stays with you. `nlpkit annotate
score` compares the answers with the key.
"""
Encoding = Annotated[
    str | None, Param("Encoding of the tables. Default: UTF-8; if that fails, detected.", panel="Input")
]


def task_cli(
    target: Annotated[
        str, Argument("A run directory, or a file of topics in a format of nlpkit evaluate.", metavar="TARGET"), READ
    ],
    *,
    kind: Annotated[
        str,
        Param(
            "Kind of question: word-intrusion, topic-intrusion, word-set-intrusion, document-intrusion (or group), "
            "optimal-label (or label), or rating.",
            metavar="KIND",
        ),
    ] = "word-intrusion",
    items: Annotated[
        int | None, Param("Number of questions. Default: one for each topic; 50 for topic-intrusion.", min=1)
    ] = None,
    reference: Annotated[
        list[str] | None,
        Param(
            "Documents for kinds that show them. Default: the documents of the fit. Repeat the option for several files.",
            metavar="DOCS",
        ),
        READ,
    ] = None,
    target_format: Annotated[
        str, Param("Format of the target: auto, run, or a format of topic files (lines json mallet csv tsv parquet).")
    ] = "auto",
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Write questions about topics for people.

    The output is an HTML page that works offline, a CSV file for those who prefer a spreadsheet, and a key with the right
    answers. Keep the key. Coders find the word, topic, set of words or document that does not belong, choose the name of a text's
    topic, or rate how related words are (Chang et al. 2009; Newman et al. 2010; Ying et al. 2022).

    \b
    Examples:
      nlpkit annotate task data/samples/topics.txt -o task.html
      nlpkit annotate task data/samples/topics.txt --kind rating -o rating.html
      nlpkit annotate task data/samples/topics.txt --kind word-intrusion --items 20 --seed 7 -o twenty.html
    """
    from nlpkit.annotate.run import make_task, task_topics
    from nlpkit.annotate.views import show_task
    from nlpkit.platform.documents.corpus import read_corpus

    if out.output is None:
        raise UsageError("no output is named for the task; add -o task.html")
    options = EvaluationOptions(target_format=target_format)
    if run.dry_run:
        console.plan(task_topics(target, kind, options, read, run))
        return
    corpus = read_corpus(*reference, options=read) if reference else None
    task = make_task(
        target, kind, output=out.output, items=items, reference=corpus, options=options, read=read, execution=run, force=out.force
    )  # fmt: skip
    show_task(task, Path(out.output))


def judge_cli(
    key: Annotated[Path, Argument("Key file of the task (task.key.json).", metavar="KEY"), READ],
    *,
    options: JudgeOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Let a language model answer a task written for people.

    Any model with OpenAI's protocol works: ollama, llama.cpp, vLLM or a hosted model. The environment variable NLPKIT_LLM_KEY
    holds its API key. The model gets one question at a time and sees what people see, never the key file.

    Score its file of answers together with the answers of people. Answers are saved, so a second run asks nothing, and an
    interrupted run continues.

    \b
    Examples:
      nlpkit annotate judge task.key.json --llm http://localhost:11434/v1 --llm-model llama3.2 --dry-run
      nlpkit annotate judge task.key.json --llm http://localhost:11434/v1 --llm-model qwen3 -o qwen.csv
      nlpkit annotate judge task.key.json --llm http://localhost:8080 --llm-model m --judges 3 -o m.csv
    """
    from nlpkit.annotate.judges import judge_task, plan_judgements
    from nlpkit.annotate.views import show_judgements

    if run.dry_run:
        console.plan(plan_judgements(key, options, run))
        return
    target = out.given_table_target("answers.csv")
    if target is None or target == "-":
        raise UsageError("no output is named for the answers; add -o answers.csv")
    judgements = judge_task(key, options=options, execution=run)
    judgements.save(target, force=out.force)
    show_judgements(judgements, key, target)


def labels_cli(
    key: Annotated[
        Path, Argument("Key file of a page that nlpkit active wrote (batch.key.json).", metavar="KEY"), READ
    ],
    *,
    answers: Annotated[
        list[Path] | None,
        Param("Answers to the page, or a folder of them. Repeat the option for each file.", metavar="FILE"),
        READ,
    ] = None,
    encoding: Encoding = None,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Turn the answers to a page of nlpkit active into labelled documents.

    The output table has id, text and label; classify and finetune read it. With several coders, label is the majority label,
    empty for a tie. Each coder also has a column, which agree and majority read. Texts without any answer are left out.

    \b
    Examples:
      nlpkit annotate labels batch.key.json --answers batch.csv -o labelled.parquet
      nlpkit annotate labels batch.key.json --answers anna.csv --answers ben.csv -o labelled.parquet
      nlpkit annotate labels batch.key.json --answers answers/ -o labelled.csv
    """
    from nlpkit.annotate.labels import write_labels
    from nlpkit.annotate.views import show_labels

    if not answers:
        raise UsageError("name the files with the answers: --answers FILE")
    target = out.given_table_target("labelled.parquet")
    if target is None or target == "-":
        raise UsageError("no output is named for the labelled texts; add -o labelled.parquet")
    if run.dry_run:
        console.plan({"targets": str(key)})
        return
    show_labels(write_labels(key, answers, output=target, encoding=encoding, force=out.force), target)


def score_cli(
    key: Annotated[Path, Argument("Key file of the task (task.key.json).", metavar="KEY"), READ],
    *,
    answers: Annotated[
        list[Path] | None,
        Param("Answers to the task, or a folder of them. Repeat the option for each file.", metavar="FILE"),
        READ,
    ] = None,
    encoding: Encoding = None,
    options: AgreementOptions,
    intervals: IntervalOptions,
    gate: GateOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Score coders' answers to a task.

    nlpkit prints precision or mean rating by topic and by coder, with intervals. For topic intrusion it also prints how
    probable the chosen topics were. With several coders it prints their agreement (Krippendorff's alpha, kappas).

    \b
    Examples:
      nlpkit annotate score task.key.json --answers anna.csv --answers ben.csv
      nlpkit annotate score task.key.json --answers answers/ --fail-under precision=0.8
      nlpkit annotate score task.key.json --answers answers/ --json -q -o people.json
    """
    from nlpkit.annotate.run import score_answers
    from nlpkit.metrics.gate_views import print_scores

    if not answers:
        raise UsageError("name the files with the answers: --answers FILE")
    output = out.scores_target()
    if run.dry_run:
        console.plan({"targets": str(key)})
        return
    evaluation = score_answers(
        key, answers, encoding=encoding, options=options, intervals=intervals, gates=gate, execution=run
    )
    print_scores(evaluation, gate, output, suite="nlpkit annotate score", seed=run.seed, force=out.force)


def agree_cli(
    tables: Annotated[
        list[str],
        Argument("Tables with the labels of several coders, or edits (.toml), a file a coder.", metavar="TABLE"),
        READ,
    ],
    *,
    join: Annotated[
        Path | None,
        Param(
            "Write what the coders of edits (.toml) agree on, and what is open, as one file of edits.", metavar="FILE"
        ),
        WRITTEN,
    ] = None,
    annotators: Annotators = None,
    judgements: Annotated[
        str | None,
        Param(
            "Columns with unit, coder and value (unit,coder,value), for a table with one row per judgement.",
            metavar="COLS",
        ),
    ] = None,
    encoding: Encoding = None,
    options: AgreementOptions,
    intervals: IntervalOptions,
    gate: GateOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Measure agreement between coders.

    nlpkit prints Krippendorff's alpha with its interval, percent agreement, and Fleiss' and Cohen's kappa. It repeats them
    without each coder and for each pair, and shows how votes turn out. Missing judgements are allowed.

    Files of edits (.toml) are reviews of the topics of one run, as the Review section of a report saves them. nlpkit compares
    judgements, hidden topics and merges, and lists what the coders disagree on. --join writes a file of what they agree on.

    \b
    Examples:
      nlpkit annotate agree data/samples/coders.csv --annotators anna,ben,chiara
      nlpkit annotate agree data/samples/coders.csv --annotators anna,ben --measurement ordinal --order negative,neutral,positive
      nlpkit annotate agree data/samples/coders.csv --annotators anna,ben,chiara --ci 0.9 --json -q
      nlpkit annotate agree data/samples/review_anna.toml data/samples/review_ben.toml --join agreed.toml
    """
    from nlpkit.annotate.run import agreement
    from nlpkit.metrics.gate_views import print_scores

    output = out.scores_target()
    if run.dry_run:
        console.plan({"targets": ", ".join(tables)})
        return
    reviews = [table for table in tables if table.endswith(".toml")]
    if reviews and (
        len(reviews) < len(tables) or annotators or judgements or encoding or options != AgreementOptions()
    ):
        raise UsageError("reviews (.toml) are compared with one another alone, by no columns and by no other scale")
    if join is not None and not reviews:
        raise UsageError("`join` is for files of edits (.toml), a file a coder", parameter="join")
    if reviews:
        from nlpkit.annotate.reviews import review_agreement
        from nlpkit.topics.edit.run import write_template

        result = review_agreement(reviews, gates=gate, intervals=intervals, execution=run)
        if join is not None:
            write_template(result.joined(), join, force=out.force)
            n_open = sum(map(len, result.open.values()))
            reporting.note(f"wrote {join}; open: {wording.counted(n_open, 'decision')}")
        print_scores(result.evaluation, gate, output, suite="nlpkit annotate agree", seed=run.seed, force=out.force)
        return
    evaluation = agreement(
        tables, annotators, judgements=judgements, encoding=encoding, options=options, intervals=intervals, gates=gate, execution=run
    )  # fmt: skip
    print_scores(evaluation, gate, output, suite="nlpkit annotate agree", seed=run.seed, force=out.force)


def majority_cli(
    table: Annotated[Path, Argument("A table with the labels of several coders.", metavar="TABLE"), READ],
    *,
    annotators: Annotators = None,
    column: Annotated[
        str,
        Param(
            "Name of the new column. It comes with NAME_share (votes), or with NAME_prob and NAME_entropy (dawid-skene).",
            metavar="NAME",
        ),
    ] = "label",
    method: Annotated[
        str,
        Param(
            "Method: votes (majority), or dawid-skene (most probable label; coders are weighted by their errors).",
            metavar="NAME",
        ),
    ] = "votes",
    soft: Annotated[
        bool,
        Param("Add NAME_entropy (in nats) and NAME_probabilities (probability, or share of coders, of each label)."),
    ] = False,
    order: Annotated[
        str | None, Param("Labels from lowest to highest, such as low,mid,high.", metavar="LABELS")
    ] = None,
    encoding: Encoding = None,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Write a table with the majority label or the most probable label.

    With votes, a unit gets no label if two labels are equally frequent. dawid-skene estimates how often each coder errs, from
    the judgements alone (Dawid & Skene 1979). Reliable coders count for more, and a probability shows how certain each label
    is. If the table has texts, classify and finetune can read it.

    \b
    Examples:
      nlpkit annotate majority data/samples/coders.csv --annotators anna,ben,chiara -o labelled.parquet
      nlpkit annotate majority data/samples/coders.csv --annotators anna,ben,chiara --column vote -o votes.csv
      nlpkit annotate majority data/samples/coders.csv --annotators anna,ben --method dawid-skene -o p.csv
    """
    from nlpkit.annotate.run import write_majority
    from nlpkit.annotate.views import show_reliability

    if annotators is None:
        raise UsageError("name the columns of the coders with --annotators a,b,c")
    if out.output is None:
        raise UsageError("no output is named for the table with the new column; add -o labelled.parquet")
    if run.dry_run:
        console.plan({"targets": str(table)})
        return
    counts = write_majority(
        table,
        annotators,
        output=out.output,
        column=column,
        order=order,
        method=method,
        soft=soft,
        encoding=encoding,
        force=out.force,
    )
    show_reliability(counts, out.output)
