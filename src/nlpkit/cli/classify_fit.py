"""`nlpkit classify TRAIN`: read, fit, score what was not seen, write the run, show."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nlpkit import __version__, reporting, wording
from nlpkit.classify.classifier import Fitted, Predicted, Recipe, cross_predict, fit_classifier
from nlpkit.classify.fit import KINDS
from nlpkit.classify.words import CutWords
from nlpkit.cli import console
from nlpkit.cli.classify_corpus import LabelledDocuments, read_labelled_documents
from nlpkit.cli.classify_flags import ClassifyTextFlags, DataFlags, ModelFlags, TellFlags
from nlpkit.cli.classify_recipes import bounded, recipe_of
from nlpkit.cli.classify_scores import Scores, score_predictions
from nlpkit.cli.classify_show import Page, show_candidates, show_errors, show_scores, show_terms
from nlpkit.cli.classify_tables import (
    OWN,
    class_terms_table,
    classes_table,
    confusion_table,
    documents_table,
    errors_table,
    twins_table,
)
from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.render.gates import report_gates
from nlpkit.errors import InputError, UsageError
from nlpkit.evaluation.results import Evaluation
from nlpkit.io.artifacts import footer_block
from nlpkit.io.classifier_files import classifier_tables
from nlpkit.io.footers import step_parameters, steps_of
from nlpkit.io.run_reading import check_encoder
from nlpkit.io.runs import RunTables, add_output, manifest_of, stopwatch, write_run
from nlpkit.io.score_files import read_gates, write_junit
from nlpkit.io.sources import missing_path
from nlpkit.metrics.score import Uncertainty
from nlpkit.workflows.corpus import warn_dropped
from nlpkit.workflows.embeddings import embeddings_of
from nlpkit.workflows.tokens import found_parameters, say_tokens, token_parameters

if TYPE_CHECKING:
    import pyarrow as pa

    from nlpkit.cli.options import OutputFlags, RunFlags
    from nlpkit.embed.options import EncoderOptions
    from nlpkit.evaluation.options import GateOptions
    from nlpkit.io.read_options import ReadOptions
    from nlpkit.text.twins import Twins
    from nlpkit.weighting.options import WeightOptions


@dataclass(slots=True)
class Trained:
    """What training came to."""

    recipe: Recipe
    fitted: Fitted
    predicted: Predicted
    candidates: list[dict[str, Any]]


def fit(
    inputs: list[str],
    data: DataFlags,
    model: ModelFlags,
    say: TellFlags,
    tokens: ClassifyTextFlags,
    weights: WeightOptions,
    encoder: EncoderOptions,
    gate: GateOptions,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Train a classifier, score it and write its run directory. Raises what its steps raise, QualityGateError when a gate fails."""
    data.check()
    if say.explain:
        raise UsageError("--explain is about a model that was trained: nlpkit classify NEW --model run/ --explain ID")
    how = Uncertainty(say.level(), run.seed)
    rules = read_gates(gate)
    auto = model.model == "auto"
    recipe = recipe_of(replace(model, model="logreg") if auto else model, weights, tokens)
    if recipe.space is not None and not auto:
        encoder.refuse(f"{recipe.name} sees words here; leave it out, or take --on embedding")
    if say.probabilities and not auto and not KINDS[recipe.name].probabilities and recipe.calibrate is None:
        raise UsageError(
            f"--probabilities: {recipe.name} has none; add --calibrate sigmoid, or leave --probabilities out"
        )
    target = out.run_target(inputs, "classify")
    if gate.markdown and run.json:
        raise UsageError("--markdown and --json both write to stdout; metrics.json in the run has the scores")
    for path, option in ((data.test, "--test"), (data.predict, "--predict")):
        if path is not None and not path.exists():
            raise InputError(f"{option} {missing_path(path)}")
    if run.dry_run:
        dry_run(inputs, read, embeds=recipe.space is None)
        return
    check_encoder(encoder.encoder, verify=run.verify)
    seconds: dict[str, float] = {}
    threads = run.n_threads()
    with stopwatch(seconds, "read"):
        documents = read_labelled_documents(
            inputs, data, tokens, read, words=recipe.space is not None, seed=run.seed, threads=threads
        )
    provenance = documents.provenance
    _say_documents(documents, data)
    for name in OWN:
        if name in documents.table.column_names:
            reporting.warn(f"the column '{name}' of the input is not kept: the run has its own")
    with stopwatch(seconds, "features"):
        # the comparison has models on embeddings, too, where the documents bring them or an encoder is named
        brings = "embedding" in documents.table.column_names or encoder.encoder is not None
        embeds = recipe.space is None or (auto and brings)
        encoder_info = _add_material(documents, model, encoder, threads, embeds=embeds)
    with stopwatch(seconds, "near-duplicates"):
        twins = _twins(documents, data.twins)
    with stopwatch(seconds, "fit"):
        trained = _train(
            documents, recipe, model, auto=auto, probabilities=say.probabilities, seed=run.seed, threads=threads
        )
    with stopwatch(seconds, "scores"):
        has_twin = None if twins is None else np.asarray(twins.twin >= 0)
        scores = score_predictions(documents, trained.predicted, has_twin, how)
    token_info = _token_info(documents, trained)
    sees_words = trained.fitted.classifier.features.space is not None
    encoder_info = None if sees_words else encoder_info
    parameters = _parameters(data, trained, documents, token_info, encoder_info)
    tables, notes = _tables(documents, trained, scores, twins, say)
    block = footer_block(
        "run", command="classify", parameters=parameters, seed=run.seed, inputs=provenance.inputs, steps=steps_of(provenance.blocks)
    )  # fmt: skip
    model_tables, config = classifier_tables(trained.fitted.classifier, tokens=token_info, encoder=encoder_info)
    if not sees_words:
        config["dim"] = int(documents.material.embeddings.shape[1])  # type: ignore[union-attr]
    results = [scores.model, scores.majority, *([scores.apart] if scores.apart is not None else [])]
    gates = rules.check(Evaluation([scores.model]))
    report = {"nlpkit_version": __version__, "seed": run.seed, **Evaluation(results).to_dict()}
    if trained.candidates:
        report["candidates"] = trained.candidates
    if gates:
        report |= {"gates": [g.to_dict() for g in gates], "passed": all(g.passed for g in gates)}
    summary = {name: score.value for name, score in scores.model.scores.items()}
    manifest = manifest_of(
        "classify", parameters=parameters, seed=run.seed, threads=threads, inputs=provenance.inputs, seconds=seconds, results=summary
    )  # fmt: skip
    write_run(
        target,
        RunTables(tables, model_tables, config, documents.provenance.dropped, {"metrics": report}),
        block,
        manifest,
        force=out.force,
    )
    warn_dropped(documents.provenance, target / "dropped.parquet")
    if gate.junit is not None:
        write_junit(gate.junit, gates, suite="nlpkit classify", force=out.force)
    try:
        if run.json:
            more = {} if data.predict is None else _predict_more(data.predict, target, read, run, say, encoder)
            console.emit_json({"run": str(target), **report, **more})
        else:
            page = Page(markdown=gate.markdown)
            if trained.candidates:
                show_candidates(page, trained.candidates)
            show_scores(page, scores, _title(documents, trained))
            show_terms(page, tables.get("class_terms"))
            show_errors(page, tables["errors"])
        sys.stdout.flush()
    except BrokenPipeError:
        report_gates(gates)
        raise
    for note in [*scores.model.notes, *notes]:
        reporting.note(note)
    reporting.note(
        f"wrote {target}/ in {sum(seconds.values()):.1f} s"
        + console.next_step("classify", "NEW.jsonl", "--model", target, "-o", "predictions.parquet")
    )
    if data.predict is not None and not run.json:
        _predict_more(data.predict, target, read, run, say, encoder)
    report_gates(gates)


def _train(
    documents: LabelledDocuments, recipe: Recipe, model: ModelFlags, *, auto: bool, probabilities: bool, seed: int, threads: int
) -> Trained:  # fmt: skip
    material, labels, rounds = documents.material, documents.labels, documents.rounds
    candidates: list[dict[str, Any]] = []
    if auto:
        from nlpkit.cli.classify_auto import choose

        recipe, predicted, fitted, candidates = choose(
            documents, recipe, model, probabilities=probabilities, seed=seed, threads=threads
        )
    else:
        recipe = bounded(recipe, documents.least_train)
        with reporting.progress("folds", len(rounds)) as update:
            predicted, fitted = cross_predict(
                material, labels, rounds, recipe, seed=seed, threads=threads, done=lambda n: update(n)
            )
    if documents.n_folds:
        fitted = fit_classifier(material, labels, documents.train, recipe, seed=seed, threads=threads)
        rest = np.flatnonzero(documents.split < 0)  # documents without a label
        if len(rest):
            _fill(predicted, rest, fitted.predict(rest))
    return Trained(recipe, fitted, predicted, candidates)


def _fill(predicted: Predicted, rows: Any, found: Predicted) -> None:
    for name in ("decision", "probabilities", "codes", "sets"):
        whole, part = getattr(predicted, name), getattr(found, name)
        if whole is not None and part is not None:
            whole[rows] = part


def _add_material(
    documents: LabelledDocuments, model: ModelFlags, encoder: EncoderOptions, threads: int, *, embeds: bool
) -> dict[str, Any] | None:
    """Make the hand-made features and embeddings that are wanted; return what made the embeddings."""
    info: dict[str, Any] | None = None
    material = documents.material
    if model.hand_features is not None:
        from nlpkit.classify.hand_features import HAND_FEATURES, hand_features

        names = tuple(HAND_FEATURES) if model.hand_features == "all" else tuple(model.hand_features.split(","))
        wrong = [name for name in names if name not in HAND_FEATURES]
        if wrong:
            raise UsageError(f"--hand-features {wrong[0]}: there are {', '.join(HAND_FEATURES)}, and all")
        places = [list(HAND_FEATURES).index(name) for name in names]
        values = hand_features(documents.table.column("text").combine_chunks())[:, places]
        material = replace(material, hand_names=names, hand=values)
    if embeds:
        vectors, info = embeddings_of(documents.table, documents.made_by, encoder, threads)
        material = replace(material, embeddings=vectors)
    documents.material = material
    return info


def _twins(documents: LabelledDocuments, threshold: float) -> Twins | None:
    if not threshold:
        return None
    from nlpkit.text.twins import find_twins

    part = documents.split
    if not documents.n_folds:
        part = np.where((part == 0) & ~documents.usable, -1, part).astype(np.int32)
    found = find_twins(documents.table.column("text"), part, threshold=threshold)
    if not documents.n_folds:  # those of training documents are no matter
        found = replace(found, twin=np.where(part == 1, found.twin, -1).astype(np.int32))
    return found


def _tables(
    documents: LabelledDocuments, trained: Trained, scores: Scores, twins: Twins | None, say: TellFlags
) -> tuple[dict[str, pa.Table], list[str]]:
    tested = np.sort(np.concatenate([test for _, test in documents.rounds]))
    rows = np.arange(documents.table.num_rows) if documents.n_folds else tested
    labelled = np.array([d for d in tested if documents.raw_labels[d] is not None], np.int64)
    tables = {
        "documents": documents_table(documents, rows, trained.predicted, probabilities=say.probabilities),
        "classes": classes_table(scores.model, documents),
        "errors": errors_table(documents, labelled, trained.predicted),
    }
    notes = []
    confusion, terms = confusion_table(scores.model), class_terms_table(trained.fitted.classifier, say.top_n)
    if confusion is not None:
        tables["confusion"] = confusion
    if terms is not None:
        tables["class_terms"] = terms
    if twins is not None:
        found = twins_table(documents, twins)
        if found.num_rows:
            tables["twins"] = found
            pairs = zip(found["label"].to_pylist(), found["twin_label"].to_pylist(), strict=True)
            known = [_alike(a, b) for a, b in pairs if a is not None]
            unknown = f", {found.num_rows - len(known):,} without one" if len(known) < found.num_rows else ""
            notes.append(
                f"{wording.counted(found.num_rows, 'test document')} of {len(tested):,} are near-duplicates of a training document "
                f"({sum(known):,} with the same label{unknown}); see twins.parquet"
            )
        if twins.n_unsure:
            notes.append(
                f"{wording.counted(twins.n_unsure, 'document')} like too many others to be compared with all: more may be twins"
            )
    if not trained.fitted.classifier.model.converged:
        notes.append(
            f"{trained.recipe.name} stopped before it had converged; the features may be of very different size, or --cost large"
        )
    sets = trained.predicted.sets
    empty = 0 if sets is None else int((~sets[tested].any(axis=1)).sum())
    if 2 * empty > len(tested):
        notes.append(
            f"{empty:,} of {wording.counted(len(tested), 'test document')} get no label, since none is more probable than not; "
            "--cost 10 or --class-weight balanced finds more"
        )
    if trained.predicted.probabilities is None:
        notes.append(f"{trained.recipe.name} gives no probabilities; --calibrate sigmoid makes them")
    return tables, notes


def _alike(a: Any, b: Any) -> bool:
    return set(a) == set(b) if isinstance(a, list) and isinstance(b, list) else bool(a == b)


def _say_documents(documents: LabelledDocuments, data: DataFlags) -> None:
    labels, own = documents.labels, documents.raw_labels
    without = np.fromiter((v is None for v in own), bool, len(own))
    predicted = without if documents.n_folds else without & (documents.split == 1)
    if predicted.any():
        n = wording.counted(int(predicted.sum()), "document")
        reporting.note(f"{n} without a label: predicted, and neither trained on nor scored")
    left = int((without & ~predicted & (documents.split == 0)).sum())
    if left:
        reporting.note(f"{wording.counted(left, 'training document')} without a label: left out")
    unused = int(((documents.split < 0) & np.array([v is not None for v in own])).sum())
    if unused:
        reporting.note(f"{wording.counted(unused, 'document')} are neither train nor test in '{data.split}'")
    sizes = labels.sizes(documents.train)
    few = [name for name, n in zip(labels.names, sizes.tolist(), strict=True) if n < 2]
    if few and documents.n_folds:
        reporting.warn(
            f"classes of a single document: {', '.join(few[:5])}{' …' if len(few) > 5 else ''}; in cross-validation it is always wrong"
        )
    unseen = documents.unseen_labels()
    if unseen:
        named = ", ".join(f"'{name}' ({n:,})" for name, n in list(unseen.items())[:5])
        reporting.warn(
            f"labels of test documents that no training document has: {named}{' …' if len(unseen) > 5 else ''}; always wrong"
        )
    if len(labels.names) > 50 and len(labels.names) > len(documents.train) / 4:
        reporting.warn(
            f"{len(labels.names):,} classes for {wording.counted(len(documents.train), 'document')}: is the label a number that is "
            "measured? Put it into classes first"
        )


def _token_info(documents: LabelledDocuments, trained: Trained) -> dict[str, Any] | None:
    report, words = trained.fitted.classifier.report, documents.material.words
    if report is None or not isinstance(words, CutWords):
        return step_parameters(steps_of(documents.provenance.blocks), "preprocess")
    options = replace(words.options, ngrams=trained.recipe.ngrams or words.options.ngrams)
    say_tokens(report, options)
    return {**token_parameters(options), **found_parameters(report)}


def _parameters(
    data: DataFlags,
    trained: Trained,
    documents: LabelledDocuments,
    tokens: dict[str, Any] | None,
    encoder: dict[str, Any] | None,
) -> dict[str, Any]:
    from dataclasses import asdict

    recipe, labels = trained.recipe, documents.labels
    space = trained.fitted.classifier.features.space
    return {
        "model": recipe.name,
        "options": asdict(recipe.model),
        "sees": "embedding" if space is None else "words",
        "weighting": None if space is None else space.how.scheme.formula,
        "select": None if recipe.space is None or recipe.space.select is None else recipe.space.select.name,
        "features": len(trained.fitted.classifier.features.names) or None,
        "ngrams": None if space is None else recipe.ngrams or (tokens or {}).get("ngrams"),
        "hand_features": list(documents.material.hand_names),
        "calibrate": recipe.calibrate,
        "classes": list(labels.names),
        "test": None if data.test is None else str(data.test),
        "split": data.split,
        "folds": documents.n_folds or None,
        "groups": data.groups,
        "twins": data.twins,
        "tokens": tokens,
        "encoder": encoder,
    }


def _title(documents: LabelledDocuments, trained: Trained) -> str:
    space = trained.fitted.classifier.features.space
    what = "embeddings" if space is None else f"{len(trained.fitted.classifier.features.names):,} features"
    n, J = len(documents.train), len(documents.labels.names)
    where = f"cross-validation in {documents.n_folds} folds" if documents.n_folds else "on test documents"
    return f"{trained.recipe.name} ({what}, {J:,} classes, {wording.counted(n, 'training document')}), {where}"


def _predict_more(
    path: Path, target: Path, read: ReadOptions, run: RunFlags, say: TellFlags, encoder: EncoderOptions
) -> dict[str, Any]:
    from nlpkit.cli.classify_predict import predict

    name = "predictions.parquet"
    found = predict([str(path)], str(target / name), target, say, encoder, read, run, force=True)
    add_output(target, [name, "predictions.dropped.parquet"])
    return {"predicted": found}
