"""One training of a classifier: its options, checked before any document is read, its documents, and the time it takes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nlpkit.classify.classifier import Learner
from nlpkit.classify.configs import ClassifierConfig, FeatureSources, config_of, seen_features
from nlpkit.classify.dataset import LabelledDataset
from nlpkit.classify.files import read_costs, read_rule_list
from nlpkit.classify.kinds import KINDS
from nlpkit.classify.models.rule_list import RuleList
from nlpkit.classify.options import (
    ClassifierOptions,
    ClassifierReportOptions,
    ClassifierTextOptions,
    SplitOptions,
    check_wanted,
)
from nlpkit.classify.thresholds import cost_matrix
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import UsageError
from nlpkit.metrics.files import read_gates
from nlpkit.metrics.gates import GateRules
from nlpkit.metrics.options import GateOptions
from nlpkit.metrics.score import Uncertainty
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.provenance import Provenance
from nlpkit.platform.runs.reading import check_encoder
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.weights.options import WeightOptions


@dataclass(frozen=True, slots=True)
class ClassifyOptions:
    """All options of training; single fields of the records can be set by `with_settings`."""

    classifier: ClassifierOptions
    splits: SplitOptions
    tokens: ClassifierTextOptions
    weights: WeightOptions
    encoder: EncoderOptions
    report: ClassifierReportOptions


@dataclass(slots=True)
class ClassificationData:
    """Labelled documents in every form that a model may want. encoder: what made their embeddings, None where nothing says so."""

    dataset: LabelledDataset
    provenance: Provenance
    sources: FeatureSources
    encoder: dict[str, Any] | None


@dataclass(slots=True)
class Job:
    """What was asked for, and the documents when they have been read.

    config: of the classifier, or what those that `auto` compares are variants of. folds: of cross-validation, 0 for none. rules, costs:
    as they were read, None for none. seconds: of each step.
    """

    options: ClassifyOptions
    execution: Execution
    folds: int
    gates: GateRules
    config: ClassifierConfig
    rules: RuleList | None
    costs: Any
    data: ClassificationData = field(init=False)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def auto(self) -> bool:
        """Whether several classifiers are compared."""
        return self.options.classifier.model == "auto"

    @property
    def sees(self) -> str:
        """What the classifier sees: words, embedding, columns or rules."""
        return seen_features(self.options.classifier)

    @property
    def dataset(self) -> LabelledDataset:
        """The labelled documents."""
        return self.data.dataset

    @property
    def learner(self) -> Learner:
        """What fits classifiers to the documents."""
        return Learner(self.data.sources, self.dataset.labels, self.execution.seed, self.execution.n_threads())

    @property
    def uncertainty(self) -> Uncertainty:
        """The intervals of scores."""
        return Uncertainty(self.options.report.level, self.execution.seed)

    def check_labels(self) -> None:
        """Put the costs of the labels that there are into the configuration. Raises UsageError for options that do not fit them."""
        labels = self.dataset.labels
        check_wanted(self.config.wanted, labels.names, multiple=labels.multiple)
        if self.costs is not None:
            if labels.multiple:
                raise UsageError(
                    "`costs` need one label per document; with several labels, use `threshold`", parameter="costs"
                )
            self.config = replace(self.config, costs=cost_matrix(self.costs, labels.names))


def prepare(chosen: ClassifyOptions, gates: GateOptions, execution: Execution, folds: int) -> Job:
    """Return the job of options. Raises UsageError for those that contradict each other, InputError for files that cannot be read."""
    options, splits, encoder = chosen.classifier, chosen.splits, chosen.encoder
    auto = options.model == "auto"
    bounds = read_gates(gates)
    rules = None if options.rules is None else read_rule_list(Path(options.rules))
    costs = read_costs(options.costs) if isinstance(options.costs, str | Path) else options.costs
    changed_words = chosen.tokens != ClassifierTextOptions()
    words = classifier_preprocessing(chosen.tokens)
    config = config_of(options, chosen.weights, words, changed_words=changed_words)
    sees = seen_features(options)
    if sees != "embedding" and not auto:
        encoder.refuse(f"{config.name} sees {sees} here; leave it out, or use `on=embedding`")
    if chosen.report.probabilities and not auto and not KINDS[config.name].probabilities and config.calibrate is None:
        if rules is not None:
            raise UsageError("`probabilities`: rules have no probabilities; leave it out", parameter="probabilities")
        if options.task == "regression":
            raise UsageError("`probabilities`: numbers have no probabilities; leave it out", parameter="probabilities")
        raise UsageError(
            f"`probabilities`: {config.name} has none; add `calibrate=sigmoid`, or leave `probabilities` out",
            parameter="probabilities",
        )
    if chosen.report.learning_curve and rules is not None:
        raise UsageError(
            "`learning_curve`: rules learn nothing from documents; leave it out", parameter="learning_curve"
        )
    if chosen.report.learning_curve and not folds and splits.test is None and splits.split is None:
        raise UsageError("`learning_curve` needs documents to score on: `test` or `split`", parameter="learning_curve")
    check_encoder(encoder.encoder, verify=execution.verify)
    return Job(chosen, execution, folds, bounds, config, rules, costs)


def classifier_preprocessing(tokens: ClassifierTextOptions) -> PreprocessOptions:
    """Return the settings that token options of a classifier come to; raises as `preprocess_options`."""
    if tokens.entities:
        raise UsageError(
            "`entities` adds a column that no classifier uses; leave it out, or use it with `preprocess()`",
            parameter="entities",
        )
    if tokens.tokenizer != "auto":
        return preprocess_options(tokens)
    return preprocess_options(replace(tokens, tokenizer="sklearn" if tokens.adapts else "words"))
