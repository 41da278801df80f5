"""The work of `nlpkit evaluate`: open the targets, score them, compare, show, write, and check the gates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nlpkit import __version__, reporting
from nlpkit.cli import console
from nlpkit.cli.evaluate_targets import TableTarget, TopicTarget, open_targets, scorable
from nlpkit.cli.render.gates import finish
from nlpkit.cli.render.scores import show, spell_options
from nlpkit.errors import UsageError
from nlpkit.evaluation.gates import GateRules
from nlpkit.evaluation.results import Evaluation
from nlpkit.io.artifacts import footer_block
from nlpkit.io.atomic import MANIFEST, atomic_file, check_target
from nlpkit.io.run_reading import check_encoder
from nlpkit.io.runs import open_run
from nlpkit.io.score_files import read_gates, write_junit
from nlpkit.io.tables import save_table, table_format
from nlpkit.metrics.score import METRICS, Score, Uncertainty
from nlpkit.plain import shell_line, to_json

if TYPE_CHECKING:
    from nlpkit.cli.options import OutputFlags, RunFlags
    from nlpkit.embed.options import EncoderOptions
    from nlpkit.evaluation.options import CiFlags, GateOptions, MetricFlags, PeopleFlags, TargetFlags
    from nlpkit.io.read_options import ReadOptions


def evaluate(
    targets: list[str] | None,
    target: TargetFlags,
    metric: MetricFlags,
    ci: CiFlags,
    gate: GateOptions,
    people: PeopleFlags,
    encoder: EncoderOptions,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Score the targets; see `nlpkit.cli.evaluate`. Raises QualityGateError when a gate fails."""
    metric.check()
    if gate.markdown and run.json:
        raise UsageError("--markdown and --json both write to stdout; -o metrics.json writes the JSON to a file")
    asked = metric.asked()
    if metric.vectors != "encoder":
        encoder.refuse("only --vectors encoder embeds anything here; add that, or leave it out")
    how = Uncertainty(ci.level(), run.seed)
    rules = read_gates(gate, asked)
    asked = list(rules.metrics)
    target.check_separator(of_tables=people == type(people)())
    targets = targets or [only_run(Path())]
    if people.make_task is not None:
        from nlpkit.cli.evaluate_asked import check_people, write_questions

        check_people(people)
        write_questions(targets, people, target, out, read, run)
        return
    if people != type(people)():
        from nlpkit.cli.evaluate_asked import check_people, evaluate_people

        check_people(people)
        if run.dry_run:
            console.plan({"targets": ", ".join(targets)})
            return
        output = None if people.majority is not None else _output(out)
        found = evaluate_people(targets, people, out, read, how)
        _finish(found, rules, gate, output, out, run)
        return
    output = _output(out)
    topics_first = bool(asked) and all(METRICS[n].group in ("clustering", "separation") for n in asked if n in METRICS)
    check_encoder(encoder.encoder, verify=run.verify)
    opened = open_targets(targets, target, read.label_col, read.encoding, topics_first=topics_first, verify=run.verify)
    tables = [one for one in opened if isinstance(one, TableTarget)]
    target.check_separator(of_tables=any(one.kind == "predictions" for one in tables))
    if run.dry_run:
        console.plan(
            {
                one.name: one.kind + (f", {len(one.topics):,} topics" if isinstance(one, TopicTarget) else "")
                for one in opened
            }
        )
        return
    wanted = [*asked] if asked else [b.metric for b in rules.bounds]
    if tables:
        from nlpkit.cli.evaluate_tables import evaluate_tables

        found = evaluate_tables(tables, wanted, bool(asked), target, metric, how, read)
    else:
        from nlpkit.cli.evaluate_models import evaluate_models

        models = [one for one in opened if isinstance(one, TopicTarget)]
        found = evaluate_models(
            models, wanted, bool(asked), target, metric, ci, how, encoder, read, threads=run.n_threads()
        )
    _finish(found, rules, gate, output, out, run)


def only_run(folder: Path) -> str:
    """Return the run with topics or predictions that a folder is, or holds. Raises UsageError when there is none, or are several."""
    places = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]
    runs = [path for path in places if (path / MANIFEST).is_file() and scorable(open_run(path, verify=False))]
    if len(runs) == 1:
        reporting.note(f"target: {runs[0]}, the only run here")
        return str(runs[0])
    if not runs:
        raise UsageError("say what to score, since this folder holds no run: nlpkit evaluate RUN, TOPICS or TABLE")
    raise UsageError(f"say which run to score: nlpkit evaluate {' or '.join(map(shell_line, runs))}")


def _output(out: OutputFlags) -> Path | None:
    """Return the file to write. Raises UsageError for a name of another format, OutputExistsError."""
    if out.output is None:
        return None
    path = Path(out.output)
    if out.output == "-":
        raise UsageError("the scores go to stdout with --json and --markdown; -o takes a file, such as -o metrics.json")
    if path.suffix.lower() != ".json":  # all there is to say, for --baseline; a table has a row for each score
        table_format(path)
    check_target(path, force=out.force)
    return path


def _finish(
    found: Evaluation,
    rules: GateRules,
    flags: GateOptions,
    output: Path | None,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    spell_options(found)
    gates = found.gates = rules.check(found)
    result = {"nlpkit_version": __version__, "seed": run.seed, **found.to_dict()}
    if output is not None:
        _write(output, result, found, run.seed, force=out.force)
        reporting.note(
            f"wrote {output}"
            + (f"; later: nlpkit evaluate … {shell_line('--baseline', output)}" if output.suffix == ".json" else "")
        )
    if flags.junit is not None:
        write_junit(flags.junit, gates, suite="nlpkit evaluate", force=out.force)
    finish(result, gates, lambda: show(found, gates, markdown=flags.markdown))


def _write(path: Path, result: dict[str, Any], found: Evaluation, seed: int, *, force: bool) -> None:
    if path.suffix.lower() == ".json":
        with atomic_file(path, force=force) as part:
            part.write_text(to_json(result, indent=2) + "\n", encoding="utf-8")
        return
    save_table(
        path,
        _table(found),
        footer_block("scores", command="evaluate", parameters={}, seed=seed, inputs=[]),
        force=force,
    )


SCORES_SCHEMA = pa.schema(
    [
        ("target", pa.string()),
        ("metric", pa.string()),
        ("unit", pa.string()),  # topic or class; null: the whole
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("n", pa.int64()),
    ]
)


def _table(found: Evaluation) -> pa.Table:
    rows = []
    for target in found.targets:
        for score in target.scores.values():
            rows.append(_row(target.name, score))
            if score.values is not None and len(score.values) == len(target.units):
                for name, value in zip(target.units, score.values.tolist(), strict=True):
                    rows.append(
                        {
                            "target": target.name,
                            "metric": score.name,
                            "unit": name,
                            "value": None if value != value else value,
                        }
                    )
    rows += [_row("all targets", score) for score in found.shared.values()]
    return pa.Table.from_pylist(rows, schema=SCORES_SCHEMA)


def _row(target: str, score: Score) -> dict[str, Any]:
    low, high = (None, None) if score.interval is None else (score.interval.low, score.interval.high)
    return {"target": target, "metric": score.name, "value": score.value, "low": low, "high": high, "n": score.n}
