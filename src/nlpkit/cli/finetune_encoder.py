"""`nlpkit finetune --objective`: an encoder is trained on, by masked words or by pairs, and scored before and after."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nlpkit import __version__, reporting, wording
from nlpkit.classify.splits import DEV, TEST, TRAIN
from nlpkit.cli import console
from nlpkit.cli.finetune_cells import SAMPLE, base_name, say_cut, say_unknown
from nlpkit.cli.finetune_estimate import loads_of_encoder, say_estimate
from nlpkit.cli.finetune_pairs import Material, check_classes, pair_data, read_material, score_bounds
from nlpkit.cli.finetune_show import curve_lines, say_growth, show_curve
from nlpkit.cli.finetune_stop import state_to_go_on_from
from nlpkit.cli.render.classes import Page
from nlpkit.embed.models import ModelFiles, find_model, weights_fingerprint
from nlpkit.errors import InputError, UsageError
from nlpkit.evaluation.options import GateOptions
from nlpkit.finetune.encoders import OPTIONS, PLANS, Scorer, check_options, train_encoder
from nlpkit.finetune.engine import Engine
from nlpkit.finetune.methods import Value, parse_options
from nlpkit.finetune.train import Outcome, Plan, Point
from nlpkit.interrupts import Stop, between_steps, report_checkpoint_on_interrupt
from nlpkit.io.artifacts import footer_block
from nlpkit.io.atomic import MANIFEST, naming
from nlpkit.io.finetune_checkpoints import Checkpoint
from nlpkit.io.footers import steps_of
from nlpkit.io.run_reading import check_encoder
from nlpkit.io.runs import RunTables, manifest_of, stopwatch, write_run
from nlpkit.io.sources import missing_path
from nlpkit.workflows.corpus import warn_dropped

if TYPE_CHECKING:
    from nlpkit.cli.finetune_fit import Asked

KEY = "encoder"
BETTER = {"perplexity": "lower", "spearman": "higher", "accuracy": "higher", "recall@1": "higher"}
UNFIT = {  # options of predictions, which encoders do not make, by their group
    "data": ("cv", "shots", "task", "words_col", "context", "label_sep", "twins"),
    "model": ("method", "labels", "merge", "export"),
    "train": ("class_weight", "seeds", "head_lr"),
    "say": ("probabilities", "ci"),
}


@dataclass(slots=True)
class Found:
    """What training came to: scores on test before and after, facts of it, and the curve."""

    before: Mapping[str, float] | None
    after: Mapping[str, float] | None
    facts: dict[str, Any]
    curve: list[Point]


def fit_encoder(asked: Asked) -> None:
    """Train an encoder and write its run. Raises what its steps raise."""
    data, model, run = asked.data, asked.model, asked.run
    for flags in (data, model, asked.train):
        flags.check()
    asked.train.check_patience(dev=data.dev is not None or data.split is not None)
    name, options = parse_options(str(model.objective), OPTIONS, "--objective")
    _check(asked, name, options)
    target = asked.out.run_target(asked.inputs, "encoder")
    for path, option in ((data.test, "--test"), (data.dev, "--dev")):
        if path is not None and not path.exists():
            raise InputError(f"{option} {missing_path(path)}")
    device, precision = asked.train.hardware()
    seconds: dict[str, float] = {}
    with stopwatch(seconds, "read"):
        material = read_material(asked, name)
    if name == "sbert-softmax":
        check_classes(material, data)
    check_encoder(model.base, verify=run.verify)
    files = find_model(_base(model.base, name), offline=asked.train.offline)
    say_unknown(files, material.texts("text", np.arange(min(SAMPLE, material.table.num_rows))))
    plan = _plan(asked, name)
    sizes = {part: len(material.rows(part)) for part in (TRAIN, DEV, TEST)}
    asked.train.check_patience(dev=sizes[DEV] > 0)
    dev = f", {sizes[DEV]:,} dev" if sizes[DEV] else ""
    reporting.note(f"{name}: {wording.counted(sizes[TRAIN], 'training row')}{dev}, {sizes[TEST]:,} test")
    if run.dry_run:
        columns = 1 + sum(column is not None for column in (data.pair_col, data.negative_col))
        loads = loads_of_encoder(name, plan, int(options.get("head_steps", 0)), columns, sizes[TRAIN], sizes[TEST])
        say_estimate(
            loads, files.path, material.texts("text", np.arange(material.table.num_rows)), dropped=len(material.dropped),
            threads=run.n_threads(), gpu=device.type != "cpu", window=asked.train.max_tokens,
        )  # fmt: skip
        return
    parameters = {
        "objective": name, "options": options, "base": base_name(files), "base_sha256": weights_fingerprint(files.path),
        "plan": {n: getattr(plan, n) for n in Plan.__dataclass_fields__}, "precision": precision, "device": device.type,
        "max_tokens": asked.train.max_tokens, "pair": data.pair_col, "negative": data.negative_col, "holdout": data.holdout,
        "split": data.split,
    }  # fmt: skip
    held_out = {"test": data.test, "dev": data.dev}
    identity = {
        **parameters, "seed": run.seed, "reading": asdict(asked.read),
        **{part: None if path is None else str(path) for part, path in held_out.items()},
        "inputs": [i.sha256 for i in material.inputs],
    }  # fmt: skip
    checkpoint = Checkpoint(target, identity, resume=asked.train.resume, force=asked.out.force)
    if asked.train.resume and not checkpoint.found:
        reporting.warn(f"there is no checkpoint {checkpoint.path}: starting anew", always=True)
    found = _taken(checkpoint, name)
    if found is None:
        with (
            Engine(device, precision, threads=run.n_threads()) as engine,
            report_checkpoint_on_interrupt("training", checkpoint.path),
            stopwatch(seconds, "train"),
        ):
            work = _mlm if name == "mlm" else _pairs
            model_folder = checkpoint.path / "model.part"
            found = work(asked, name, options, material, files, plan, engine, checkpoint, model_folder)
            checkpoint.finish(KEY, asdict(found), {})
            model_folder.rename(checkpoint.model)
    report = {
        "nlpkit_version": __version__, "seed": run.seed, "objective": name, "test_rows": sizes[TEST], "before": found.before,
        "after": found.after, "training": found.facts,
    }  # fmt: skip
    _cards(checkpoint.model, name, parameters, report, material)
    block = footer_block(
        "run", command="finetune", parameters=parameters, seed=run.seed, inputs=material.inputs, steps=steps_of(material.blocks)
    )  # fmt: skip
    manifest = manifest_of(
        "finetune-encoder", parameters={**parameters, "training": found.facts}, seed=run.seed, threads=run.n_threads(),
        inputs=material.inputs, seconds=seconds, results=dict(found.after or {}),
    )  # fmt: skip
    texts = {"curve.jsonl": curve_lines([], points=found.curve, facts={"objective": name, "seed": run.seed})}
    config = {"kind": "finetune-encoder", "format": "sentence-transformers"}
    write_run(
        target, RunTables({}, {}, config, material.dropped, {"metrics": report}, texts, checkpoint.model), block, manifest,
        force=asked.out.force,
    )  # fmt: skip
    checkpoint.remove()
    warn_dropped(material, target / "dropped.parquet")
    if run.json:
        console.emit_json({"run": str(target), **report})
    else:
        _show(name, found, sizes[TEST], markdown=asked.gate.markdown)
        sys.stdout.flush()
    for metric, value in (found.after or {}).items():
        before = (found.before or {}).get(metric, value)
        if (value < before) if BETTER[metric] == "higher" else (value > before):
            reporting.warn(
                f"{metric} is worse than before, {value:,.4g} after {before:,.4g}; lower --lr, or train on more rows"
            )
    say_growth(found.curve)
    reporting.note(
        f"wrote {target}/ in {sum(seconds.values()):.1f} s"
        + console.next_step("sbert-embed", "NEW.jsonl", "--model", target, "-o", "embedded.parquet")
    )


def _taken(checkpoint: Checkpoint, name: str) -> Found | None:
    """Return a training that is done but for its run, None when there is none, or not its model."""
    done = checkpoint.finished(KEY)
    if done is None or not checkpoint.model.exists():
        return None
    reporting.note(f"{name}: taken from the checkpoint")
    facts = done[0]
    return Found(facts["before"], facts["after"], facts["facts"], [Point(**p) for p in facts["curve"]])


def _check(asked: Asked, name: str, options: Mapping[str, Value]) -> None:
    data = asked.data
    given = []
    for group, fields in UNFIT.items():
        flags = getattr(asked, group)
        usual = type(flags)()
        given += [f"--{f.replace('_', '-')}" for f in fields if getattr(flags, f) != getattr(usual, f)]
    if given:
        it = "it" if len(given) == 1 else "them"
        raise UsageError(f"--objective trains the encoder itself, which has no {', '.join(given)}; leave {it} out")
    if asked.gate.markdown and asked.run.json:
        raise UsageError("--markdown and --json both write to stdout; metrics.json in the run has the scores")
    if replace(asked.gate, markdown=False) != GateOptions():
        raise UsageError("gates are for predictions; --objective has scores before and after in metrics.json")
    check_options(options, name)
    if name == "mlm":
        share = float(options["share"])
        if not 0 < share < 1:
            raise UsageError(f"--objective mlm(share={share:g}): a share of the tokens between 0 and 1 is needed")
        if data.pair_col is not None or data.negative_col is not None:
            raise UsageError("--objective mlm reads the text alone; leave --pair-col and --negative-col out")
        return
    if data.pair_col is None:
        raise UsageError(f"--objective {name} learns from pairs; name the column of the second text: --pair-col COL")
    if name == "triplet" and data.negative_col is None:
        raise UsageError("--objective triplet needs the column of the text unlike the first: --negative-col COL")
    if data.negative_col is not None and name not in ("triplet", "mnrl"):
        raise UsageError(f"--objective {name} has no negatives; leave --negative-col out")


def _base(name: str, objective: str) -> str:
    """Return the base to learn from: of a run of mlm the model with the head that guesses words, for mlm itself."""
    whole = Path(name) / "model" / "transformers"
    if objective == "mlm" and (Path(name) / MANIFEST).is_file() and (whole / "config.json").is_file():
        return str(whole)
    return name


def _plan(asked: Asked, name: str) -> Plan:
    flags = asked.train
    asked_for = {
        "epochs": flags.epochs, "batch": flags.batch_size, "rate": flags.lr, "warmup": flags.warmup,
        "weight_decay": flags.weight_decay,
    }  # fmt: skip
    given: dict[str, Any] = {n: value for n, value in asked_for.items() if value is not None}
    return replace(PLANS[name], max_steps=flags.max_steps, patience=flags.patience, **given)


def _pairs(
    asked: Asked, name: str, options: dict[str, Value], material: Material, files: ModelFiles, plan: Plan, engine: Engine,
    checkpoint: Checkpoint, folder: Path,
) -> Found:  # fmt: skip
    from nlpkit.finetune.embedder import load_embedder

    bounds = score_bounds(name, material)
    data, test = (pair_data(asked, name, material, material.rows(part), bounds) for part in (TRAIN, TEST))
    rows = material.rows(DEV)
    dev = pair_data(asked, name, material, rows, bounds) if len(rows) else None
    embedder = load_embedder(files.path, max_tokens=asked.train.max_tokens, device=engine.device)
    before = None if name == "sbert-softmax" else Scorer(embedder, test, name, (), None, engine)()
    with reporting.progress(name, 100, percent=True) as update, between_steps() as stop:
        found = train_encoder(
            embedder, data, name, options=options, dev=dev, plan=plan, engine=engine, seed=asked.run.seed,
            state=state_to_go_on_from(checkpoint, KEY, name), save=lambda own: checkpoint.save(KEY, own), told=_teller(name, update, stop),
            cut=lambda n, share: say_cut(n, share, "text"),
        )  # fmt: skip
    after = Scorer(embedder, test, name, found.names, found.weight, engine)()
    with _new(folder, checkpoint):
        embedder.save(folder / "sentence-transformers")
    n_trained = sum(p.numel() for p in embedder.parameters().values())
    facts = {**_facts(found.training, plan, n_trained), "distinct_texts": found.n_texts}
    if name == "cosine":
        facts["scores"] = {"low": bounds[0], "high": bounds[1]}
    return Found(before, after, facts, list(found.training.curve))


def _mlm(
    asked: Asked, name: str, options: dict[str, Value], material: Material, files: ModelFiles, plan: Plan, engine: Engine,
    checkpoint: Checkpoint, folder: Path,
) -> Found:  # fmt: skip
    from nlpkit.finetune.mlm import cut_windows, load_mlm, perplexity
    from nlpkit.finetune.mlm_training import train_mlm

    network = load_mlm(files.path, device=engine.device, seed=asked.run.seed, max_tokens=asked.train.max_tokens)
    if network.head_is_new:
        reporting.note(
            f"{files.name} has no head that guesses words: one is made from its word embeddings and trained first, "
            f"{options['head_steps']} steps"
        )
    texts = {part: material.texts("text", material.rows(part)) for part in (TRAIN, DEV, TEST)}
    windows = cut_windows(network, texts[TEST])[0]
    share, seed = float(options["share"]), asked.run.seed

    def measured() -> float:
        return perplexity(network, windows, engine, seed=seed, share=share)

    with reporting.progress(name, 100, percent=True) as update, between_steps() as stop:
        found = train_mlm(
            network, texts[TRAIN], plan=plan, options={k: float(v) for k, v in options.items()}, engine=engine, seed=seed,
            dev=texts[DEV] or None, state=state_to_go_on_from(checkpoint, KEY, name), save=lambda own: checkpoint.save(KEY, own),
            told=_teller(name, update, stop), between=measured,
        )  # fmt: skip
    before, after = found.between, measured()
    with _new(folder, checkpoint):
        network.save(folder / "transformers")
        network.save_encoder(files.path, folder / "sentence-transformers")
    facts = _facts(found.whole, plan, sum(p.numel() for p in network.trained.values()))
    facts |= {"windows": found.windows, "head_is_new": network.head_is_new}
    if found.head is not None:
        facts |= {"head_steps": found.head.steps, "head_seconds": round(found.head.seconds, 3)}
    first = [] if found.head is None else list(found.head.curve)
    done = 0 if found.head is None else found.head.steps
    curve = first + [replace(point, step=point.step + done) for point in found.whole.curve]
    return Found(None if before is None else {"perplexity": before}, {"perplexity": after}, facts, curve)


@contextmanager
def _new(folder: Path, checkpoint: Checkpoint) -> Iterator[None]:
    """Make the folder of a model in a checkpoint; what a kill left of it before goes."""
    checkpoint.begin()
    shutil.rmtree(folder, ignore_errors=True)
    with naming(checkpoint.path):
        folder.mkdir()
        yield


def _teller(name: str, update: Any, stop: Stop) -> Any:
    def told(step: int, steps: int, point: Point | None) -> None:
        update(100 * step // max(1, steps), None if point is None else f"{name}, loss {point.loss:.3f}")
        stop.step(step, steps)

    return told


def _facts(outcome: Outcome, plan: Plan, n_trained: int) -> dict[str, Any]:
    return {
        "trained_parameters": n_trained,
        "steps": outcome.steps,
        "best_step": outcome.best_step,
        "stopped_early": outcome.stopped_early,
        "batch_size": outcome.batch,
        "epochs": plan.epochs,
        "lr": plan.rate,
        "seconds": round(outcome.seconds, 3),
    }


def _show(name: str, found: Found, n: int, *, markdown: bool) -> None:
    rows = []
    for metric, value in (found.after or {}).items():
        before = None if found.before is None else found.before.get(metric)
        rows.append(
            [f"{metric} ({BETTER[metric]} is better)", "–" if before is None else f"{before:,.4f}", f"{value:,.4f}"]
        )
    Page(markdown=markdown).table(
        f"{name}, on {n:,} test rows", ["score", "before", "after"], rows, ["before", "after"]
    )
    show_curve(found.curve, markdown=markdown)


def _cards(
    model: Path, name: str, parameters: Mapping[str, Any], report: Mapping[str, Any], material: Material
) -> None:
    from nlpkit.cli.finetune_card import encoder_card

    for folder in sorted(p for p in model.iterdir() if p.is_dir()):
        text = encoder_card(folder.name, name, parameters, report, material.inputs)
        (folder / "README.md").write_text(text, encoding="utf-8")
