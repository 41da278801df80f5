"""nlpkit classify: from labelled text to predictions with honest scores; sentiment by lexicon; labels by their names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nlpkit import reporting
from nlpkit.cli.classify_flags import ClassifyTextFlags, DataFlags, ModelFlags, TellFlags
from nlpkit.cli.classify_lexicon_flags import LexiconFlags
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import UsageError
from nlpkit.evaluation.options import GateOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.plain import shell_line
from nlpkit.weighting.options import WeightOptions


def classify_cli(
    inputs: Inputs,
    model: ModelFlags,
    data: DataFlags,
    say: TellFlags,
    gate: GateOptions,
    lexicon: LexiconFlags,
    tokens: ClassifyTextFlags,
    weights: WeightOptions,
    encoder: EncoderOptions,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Train, score and apply classifiers; sentiment.

    Labels are those of --label-col (several a document: a column of lists, or --label-sep). Scores are those of --test,
    --split or cross-validation: words, weights, phrases, selection and calibration are learned from training documents
    only. The majority class stands beside every score; test documents that are near-duplicates of training documents are
    found and left out once. Leaves a run directory (<input>.classify/ without -o) with metrics.json, classes.parquet,
    confusion.parquet, class_terms.parquet, errors.parquet and the model, no pickles.

    --model run/ predicts with it, --explain ID tells why. --lexicon vader|afinn|liu|FILE and --zero-shot need no labels.

    \b
    Examples:
      nlpkit classify data/samples/news.jsonl --model nb -o run/
      nlpkit classify data/samples/news.jsonl --select chi2:500 --fail-under macro_f1=0.5 -o gated/
      nlpkit classify data/samples/hard.jsonl --model run/ -o predictions.parquet
      nlpkit classify data/samples/news.jsonl --lexicon data/samples/lexicon.tsv -o sentiment.parquet
    """
    from nlpkit.io.atomic import MANIFEST

    run_directory = Path(model.model)
    predicts = model.is_run()
    if not predicts and (run_directory / MANIFEST).is_file():
        reporting.warn(
            f"--model {model.model} is the classifier of that name, not the run in ./{model.model}; to predict with the run: "
            f"--model ./{model.model}"
        )
    ways = {
        "--lexicon": lexicon.lexicon is not None,
        "--zero-shot": model.zero_shot is not None,
        "--model RUN": predicts,
    }
    given = [option for option, yes in ways.items() if yes]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} each say how to predict; keep one")
    if lexicon.lexicon is None and lexicon != LexiconFlags():
        raise UsageError("options on lexica belong to --lexicon; add it: vader, afinn, liu or a file")
    if given and data != DataFlags():
        raise UsageError(f"{given[0]} does not train; leave --test, --split, --cv, --groups, --predict and --twins out")
    if given and not predicts:
        if replace(model, zero_shot=None) != ModelFlags() or weights != WeightOptions():
            raise UsageError(f"{given[0]} does not train; leave options on models and weights out")
        if say.explain or (lexicon.lexicon is None and tokens != ClassifyTextFlags()):
            raise UsageError(
                f"{given[0]}: there are no words that are weighed; leave options on words, and --explain, out"
            )
    if lexicon.lexicon is not None:
        encoder.refuse("a lexicon needs no embeddings; leave it out")
    if predicts:
        _predict(inputs, run_directory, model, say, gate, tokens, weights, encoder, out, read, run)
    elif given:
        _without_training(inputs, model, say, gate, lexicon, tokens, encoder, out, read, run)
    else:
        from nlpkit.cli.classify_fit import fit

        fit(inputs, data, model, say, tokens, weights, encoder, gate, out, read, run)


def _predict(
    inputs: list[str],
    directory: Path,
    model: ModelFlags,
    say: TellFlags,
    gate: GateOptions,
    tokens: ClassifyTextFlags,
    weights: WeightOptions,
    encoder: EncoderOptions,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    from nlpkit.cli import console
    from nlpkit.cli.dry_run import dry_run

    if tokens != ClassifyTextFlags() or weights != WeightOptions() or replace(model, model="logreg") != ModelFlags():
        raise UsageError(
            f"new texts are treated as those of the run {directory} were; leave options on words and models out"
        )
    if gate != GateOptions():
        raise UsageError(
            f"gates are for scores: {shell_line('nlpkit', 'evaluate', out.output or 'predictions.parquet')} --fail-under …"
        )
    if run.dry_run:
        dry_run(inputs, read)
        return
    target = None if out.output is None and say.explain else out.target("predictions.parquet")
    from nlpkit.cli.classify_predict import predict

    told = predict(inputs, target, directory, say, encoder, read, run, force=out.force)
    if run.json and target != "-":
        console.emit_json(told)


def _without_training(
    inputs: list[str],
    model: ModelFlags,
    say: TellFlags,
    gate: GateOptions,
    lexicon: LexiconFlags,
    tokens: ClassifyTextFlags,
    encoder: EncoderOptions,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Predict by lexicon or by names of labels, and show scores when the documents have labels."""
    from nlpkit.cli.render.gates import finish
    from nlpkit.cli.render.scores import show
    from nlpkit.errors import InputError
    from nlpkit.io.score_files import read_gates, write_junit

    rules = read_gates(gate)
    if lexicon.lexicon is not None:
        from nlpkit.cli.classify_lexicon import classify_by_lexicon

        tokens = replace(tokens, tokenizer="words") if tokens.tokenizer == "auto" else tokens
        found = classify_by_lexicon(inputs, lexicon, tokens, out, read, run, level=say.level())
    else:
        from nlpkit.cli.classify_zero import classify_by_names

        found = classify_by_names(inputs, model, say, encoder, out, read, run)
    if found is None:
        if gate != GateOptions() and not run.dry_run:
            raise InputError(
                "the gates cannot be checked: the documents have no labels to score against; see --label-col"
            )
        return
    gates = rules.check(found)
    if gate.junit is not None:
        write_junit(gate.junit, gates, suite="nlpkit classify", force=out.force)
    result = {"output": out.output, **found.to_dict(), **({"gates": [g.to_dict() for g in gates]} if gates else {})}
    finish(result, gates, lambda: None if out.output == "-" else show(found, gates, markdown=gate.markdown))
