"""What `nlpkit finetune TRAIN` leaves: scores, tables, curves, cards and the model as a run, told on the screen."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nlpkit import __version__, reporting, wording
from nlpkit.classify.scores import ClassifierScores
from nlpkit.cli import console
from nlpkit.cli.finetune_card import write_cards
from nlpkit.cli.finetune_cells import Done, guesses_of
from nlpkit.cli.finetune_compare import best_of, comparison_table, summary, training_line, write_comparison
from nlpkit.cli.finetune_corpus import TuneDocuments, with_shots
from nlpkit.cli.finetune_scores import score_guesses
from nlpkit.cli.finetune_show import curve_lines, say_growth, show_comparison, show_curve, show_seeds
from nlpkit.cli.finetune_tables import run_tables, twin_notes, twins_of
from nlpkit.cli.render.classes import Page, show_errors, show_scores
from nlpkit.cli.render.gates import report_gates
from nlpkit.errors import NlpkitError
from nlpkit.evaluation.gates import GateRules
from nlpkit.evaluation.results import Evaluation, Gate, TargetResult
from nlpkit.io.artifacts import footer_block
from nlpkit.io.atomic import atomic_directory
from nlpkit.io.finetune_checkpoints import Checkpoint
from nlpkit.io.footers import steps_of
from nlpkit.io.runs import RunTables, manifest_of, stopwatch, write_run
from nlpkit.io.score_files import write_junit
from nlpkit.metrics.score import Uncertainty
from nlpkit.workflows.corpus import warn_dropped

if TYPE_CHECKING:
    import pyarrow as pa

    from nlpkit.cli.finetune_fit import Asked


@dataclass(frozen=True, slots=True)
class Work:
    """What was asked for and is known before training. seconds: of each stage, filled on the way."""

    asked: Asked
    target: Path
    documents: TuneDocuments
    parameters: Mapping[str, Any]
    checkpoint: Checkpoint
    seconds: dict[str, float]

    def block(self) -> dict[str, Any]:
        """Return the footer of the tables; it has no seconds: the same training, the same bytes."""
        documents, seed = self.documents, self.asked.run.seed
        steps = steps_of(documents.provenance.blocks)
        return footer_block(
            "run",
            command="finetune",
            parameters=dict(self.parameters),
            seed=seed,
            inputs=documents.provenance.inputs,
            steps=steps,
        )

    def manifest(self, kind: str, parameters: Mapping[str, Any], results: Mapping[str, Any]) -> dict[str, Any]:
        """Return the manifest of the run."""
        run = self.asked.run
        return manifest_of(
            kind, parameters=parameters, results=results, seed=run.seed, threads=run.n_threads(), inputs=self.documents.provenance.inputs,
            seconds=self.seconds,
        )  # fmt: skip


def write_compared(work: Work, rows: list[dict[str, Any]]) -> None:
    """Write and show the run of a comparison."""
    run, target = work.asked.run, work.target
    means = summary(rows)
    report = {"nlpkit_version": __version__, "seed": run.seed, "comparison": means}
    best, results = best_of(means, work.documents.kind), {}
    if best is not None:
        line = training_line(["nlpkit", *sys.argv[1:]], best, str(target.with_name(f"{target.name}.best")))
        results = {"best": best["method"], "shots": best["shots"], "train_best": line}
    manifest = work.manifest("finetune-comparison", work.parameters, results)
    write_comparison(target, rows, work.documents, work.block(), manifest, report, force=work.asked.out.force)
    work.checkpoint.remove()
    warn_dropped(work.documents.provenance, target / "dropped.parquet")
    if run.json:
        console.emit_json({"run": str(target), **report})
    else:
        page, documents = Page(markdown=work.asked.gate.markdown), work.documents
        least = min(documents.labels.sizes(documents.train).tolist(), default=0)
        scarce = [shots for shots in work.asked.data.sizes() if shots is not None and shots > least]
        show_comparison(page, comparison_table(rows), documents.kind, scarce=scarce)
    reporting.note(f"wrote {target}/ in {sum(work.seconds.values()):.1f} s")
    if best is not None:
        shots = "" if best["shots"] is None else f" with {best['shots']} documents of a class"
        reporting.note(
            f"a comparison keeps no model; to train the best on this test, {best['method']}{shots}: {results['train_best']}"
        )


def write_trained(work: Work, by_seed: dict[int, list[Done]], rules: GateRules, how: Uncertainty) -> None:
    """Score the trainings of each seed, write the run with the model of the first one, show it. Raises QualityGateError."""
    asked, target = work.asked, work.target
    first = min(by_seed)
    done, shots = by_seed[first], asked.data.sizes()[0]
    documents = with_shots(work.documents, shots, seed=first)
    with stopwatch(work.seconds, "scores"):
        twins = twins_of(documents, asked.data.twins)
        guesses = guesses_of(documents, done)
        scores = score_guesses(documents, guesses, None if twins is None else np.asarray(twins.twin >= 0), how)
        spread = _spread(work.documents, by_seed, shots) if len(by_seed) > 1 else None
    tables = run_tables(documents, guesses, scores, twins, say=asked.say)
    leaks = twin_notes(documents, twins, asked.data.twins)
    gates: list[Gate] = []
    problem: NlpkitError | None = None
    try:
        gates = rules.check(Evaluation([_means(scores.model, spread)]))
    except NlpkitError as error:  # the run is written all the same
        problem = error
    report = _report(asked.run.seed, scores, done[-1].facts, spread, gates)
    parameters = {**work.parameters, "training": done[-1].facts}
    results = {name: score.value for name, score in scores.model.scores.items()}
    model = work.checkpoint.model
    write_cards(model, scores, parameters, documents, spread, leaks)
    curves = {"curve.jsonl": curve_lines([one for own in by_seed.values() for one in own])}
    config = {"kind": "finetune", "format": _format(model)}
    write_run(
        target, RunTables(tables, {}, config, documents.provenance.dropped, {"metrics": report}, curves, model), work.block(),
        work.manifest("finetune", parameters, results), force=asked.out.force,
    )  # fmt: skip
    if asked.model.export is not None:
        _export(model / "setfit", asked.model.export)
    work.checkpoint.remove()
    warn_dropped(documents.provenance, target / "dropped.parquet")
    if asked.gate.junit is not None and problem is None:
        write_junit(asked.gate.junit, gates, suite="nlpkit finetune", force=asked.out.force)
    try:
        if asked.run.json:
            console.emit_json({"run": str(target), **report})
        else:
            _show(asked, documents, done, scores, spread, tables)
        sys.stdout.flush()
    except BrokenPipeError:
        if problem is not None:
            raise problem from None
        report_gates(gates)
        raise
    if gates and spread is not None:
        reporting.note(f"gates look at the means of {len(spread['runs'])} seeds")
    leaks += ["twins.parquet has the pairs"] if "twins" in tables else []
    say_growth(done[-1].curve)
    for note in [*scores.model.notes, *leaks, *_training_notes(done[-1].facts)]:
        reporting.note(note)
    reporting.note(
        f"wrote {target}/ in {sum(work.seconds.values()):.1f} s"
        + console.next_step("finetune", "NEW.jsonl", "--model", target, "-o", "predictions.parquet")
    )
    if problem is not None:
        raise problem
    report_gates(gates)


def _means(result: TargetResult, spread: Mapping[str, Any] | None) -> TargetResult:
    """Return what gates look at: of several seeds the means."""
    if spread is None:
        return result
    scores = {
        name: replace(score, value=spread["mean"].get(name, score.value), interval=None)
        for name, score in result.scores.items()
    }
    return replace(result, scores=scores)


def _export(folder: Path, target: Path) -> None:
    """Write a trained SetFit model for the setfit library; it appears whole or not at all."""
    from torch import device

    from nlpkit.cli.finetune_predict import load_predictor
    from nlpkit.io.setfit_files import write_setfit_folder

    found = load_predictor(folder, base=None, device=device("cpu"), offline=True)
    with atomic_directory(target) as part:
        write_setfit_folder(part, found.embedder, found.setfit)
    reporting.note(f"wrote {target}/ for the setfit library; its model_head.pkl is a pickle")


def _report(
    seed: int,
    scores: ClassifierScores,
    facts: Mapping[str, Any],
    spread: Mapping[str, Any] | None,
    gates: Sequence[Gate],
) -> dict[str, Any]:
    results = [
        scores.model,
        scores.majority,
        *([scores.without_duplicates] if scores.without_duplicates is not None else []),
    ]
    report = {"nlpkit_version": __version__, "seed": seed, **Evaluation(results).to_dict(), "training": dict(facts)}
    if spread is not None:
        report["seeds"] = spread
    if gates:
        report |= {"gates": [g.to_dict() for g in gates], "passed": all(g.passed for g in gates)}
    return report


def _show(
    asked: Asked, documents: TuneDocuments, done: list[Done], scores: ClassifierScores, spread: Mapping[str, Any] | None,
    tables: Mapping[str, pa.Table],
) -> None:  # fmt: skip
    page = Page(markdown=asked.gate.markdown)
    show_scores(page, scores, _title(documents, done))
    if spread is not None:
        show_seeds(page, spread)
    if "errors" in tables and documents.kind in ("single", "multi"):
        show_errors(page, tables["errors"])
    show_curve(done[-1].curve, markdown=asked.gate.markdown)


def _spread(documents: TuneDocuments, by_seed: dict[int, list[Done]], shots: int | None) -> dict[str, Any]:
    """Return the scores of each seed, their mean and standard deviation (n - 1)."""
    rows = []
    for seed, done in by_seed.items():
        own = with_shots(documents, shots, seed=seed)
        scores = score_guesses(own, guesses_of(own, done), None, Uncertainty(None, seed))
        rows.append({"seed": seed, **{n: s.value for n, s in scores.model.scores.items() if s.value is not None}})
    names = [n for n in rows[0] if n != "seed" and all(n in r for r in rows)]
    values = {n: np.array([r[n] for r in rows]) for n in names}
    return {
        "runs": rows,
        "mean": {n: float(v.mean()) for n, v in values.items()},
        "sd": {n: float(v.std(ddof=1)) if len(v) > 1 else 0.0 for n, v in values.items()},
    }


def _format(folder: Path) -> str:
    return next(p.name for p in sorted(folder.iterdir()) if p.is_dir() and p.name != "merged")


def _title(documents: TuneDocuments, done: list[Done]) -> str:
    facts = done[-1].facts
    n = wording.counted(facts["training_documents"], "training document")
    where = f"cross-validation in {documents.n_folds} folds" if documents.n_folds else "on test documents"
    return f"{facts['method']} ({facts['trained_parameters']:,} of {facts['parameters']:,} parameters, {n}), {where}"


def _training_notes(facts: dict[str, Any]) -> list[str]:
    notes = []
    if facts["stopped_early"]:
        notes.append(f"stopped early: the best score on dev documents was that of step {facts['best_step']:,}")
    alone = facts.get("setfit", {}).get("alone", 0)
    if alone:
        notes.append(
            f"{wording.counted(alone, 'class', 'classes')} with one training document, whose similar pair is with itself"
        )
    return notes
