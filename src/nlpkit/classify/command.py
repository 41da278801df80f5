"""The command `nlpkit classify`: from labelled text to a classifier with honest scores."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from nlpkit.classify.options import ClassifierOptions, ClassifierReportOptions, ClassifierTextOptions, SplitOptions
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import MissingFileError, UsageError
from nlpkit.metrics.options import GateOptions
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Param
from nlpkit.weights.options import WeightOptions

# ------------------------------------------------------------------------------------------------------------------------
# nlpkit classify: from labelled text to a classifier with honest scores.


def classify_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    classifier: ClassifierOptions,
    splits: SplitOptions,
    report: ClassifierReportOptions,
    gate: GateOptions,
    tokens: ClassifierTextOptions,
    weights: WeightOptions,
    encoder: EncoderOptions,
    read: ReadOptions,
    run: RunFlags,
    predict: Annotated[
        Path | None,
        Param(
            "Also predict the documents in this file; written to predictions.parquet in the run.",
            metavar="FILE",
            panel="Output",
        ),
    ] = None,
) -> None:
    """Train a classifier on labelled documents and score it.

    Labels come from --label-col. They can be classes, several labels per document (a column of lists, or --label-sep), numbers
    (--task regression) or ordered classes (--task ordinal).

    Scores come from --test, --split or cross-validation. Vocabulary, weights, phrases, feature selection and calibration are
    learned from the training documents only. nlpkit prints a baseline without text next to every score. It finds test documents
    that are near-duplicates of training documents and also shows the scores without them.

    The command writes a run directory with metrics.json, classes.parquet, confusion.parquet, class_terms.parquet,
    errors.parquet and the model (no pickle). Without -o, it is <input>.classify/ in the current directory. `nlpkit predict RUN
    NEW` classifies new documents.

    \b
    Examples:
      nlpkit classify data/samples/news.jsonl --model nb -o run/
      nlpkit classify data/samples/news.jsonl --select chi2:500 --fail-under macro_f1=0.5 -o gated/
      nlpkit classify data/samples/news.jsonl --model svm --cv 3 --calibrate sigmoid -o svm/
    """
    from nlpkit.classify.views import finish_classifier, spell_scores

    target = out.run_target(inputs, "classify")
    if gate.markdown and run.json:
        raise UsageError("--markdown and --json both write to stdout; metrics.json in the run has the scores")
    kind = Path(classifier.model)
    if (kind / "manifest.json").is_file() and kind.resolve() != target.resolve():
        from nlpkit.platform import reporting

        reporting.warn(
            f"--model {kind} trains a new classifier of that kind; to classify with the run in the folder {kind}/: "
            f"nlpkit predict {kind} {inputs[0]}"
        )
    if predict is not None and not predict.exists():
        from nlpkit.platform.documents.sources import missing_path

        raise MissingFileError(f"--predict {missing_path(predict)}")
    if run.dry_run:
        from nlpkit.classify.configs import seen_features
        from nlpkit.classify.job import classifier_preprocessing

        embedder = encoder if seen_features(classifier) == "embedding" else None
        dry_run(
            inputs, read, "classify", tokens=classifier_preprocessing(tokens), encoder=embedder, threads=run.n_threads()
        )
        return
    from nlpkit.classify.model import add_predictions
    from nlpkit.classify.run import cross_validate, train_classifier
    from nlpkit.metrics.files import write_junit
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.predict.options import PredictOptions

    corpus = read_corpus(*inputs, options=read, beside=target)
    options: dict[str, Any] = {
        "options": classifier, "splits": splits, "tokens": tokens, "weights": weights, "encoder": encoder, "report": report,
        "gates": gate, "execution": run,
    }  # fmt: skip
    if splits.test is None and splits.split is None:
        trained = cross_validate(corpus, **options).classifier
    else:
        trained = train_classifier(corpus, **options)
    spell_scores(trained)
    trained.save(target, force=out.force)
    if gate.junit is not None:
        write_junit(gate.junit, trained.gates, suite="nlpkit classify", force=out.force)
    new = None
    if predict is not None:
        again = PredictOptions(probabilities=report.probabilities, encoder=encoder)
        new_corpus = read_corpus(predict, options=read, beside=target / "predictions.parquet")
        new = partial(add_predictions, target, new_corpus, again, run)
    finish_classifier(trained, target, markdown=gate.markdown, predict=new)
