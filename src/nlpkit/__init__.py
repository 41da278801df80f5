"""nlpkit: topic modeling and text pipelines that chain through Parquet. Importing it loads nothing heavy.

    import nlpkit as nk

    corpus = nk.read_corpus("news.jsonl")
    model = nk.fit_bertopic(corpus, k="auto")
    model.show()
    model.save("run/")

Every command of the command line calls one of these functions. They take a `Corpus`, a list of texts or a data frame (pandas,
Polars, Arrow). They return Arrow tables and fitted models, and raise `nlpkit.errors.NlpkitError`. `help(nk.fit_bertopic)` lists
every option. `nk.estimators` has estimators for scikit-learn.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from nlpkit.platform.models import MODEL_FUNCTIONS, public_names, resolved
from nlpkit.version import __version__

# module → the public names that it has; __init__.pyi, which docs/write_stub.py writes, tells type checkers and editors their types
_NAMES = {
    "annotate.active.curve": "compare_strategies",
    "annotate.active.options": "ActiveCurveOptions ActiveOptions",
    "annotate.active.run": "propose_texts",
    "annotate.judges": "judge_task",
    "annotate.labels": "labels_from_answers",
    "annotate.reviews": "review_agreement",
    "annotate.run": "agreement majority make_task score_answers",
    "classify.options": "ClassifierOptions ClassifierReportOptions ClassifierTextOptions SplitOptions",
    "classify.run": "cross_validate train_classifier",
    "cluster.options": "ClusterOptions",
    "cluster.run": "cluster",
    "embed.options": "DocumentMethodOptions EncoderOptions SbertOptions",
    "embed.run": "embed",
    "errors": (
        "ActorLostError ColumnError EncodingError InputError MissingError MissingExtraError "
        "MissingFileError NlpkitError OutOfMemoryError OutputExistsError QualityGateError SchemaError "
        "UsageError"
    ),
    "evaluate.as_stm": "plot_quality search_k",
    "evaluate.compare.options": "CompareOptions",
    "evaluate.compare.preprocessing": "compare_preprocessing",
    "evaluate.compare.run": "compare_models",
    "evaluate.run": "evaluate",
    "explore.collocations.model": "CollocationOptions",
    "explore.collocations.run": "collocations",
    "explore.kwic.model": "SearchOptions",
    "explore.kwic.run": "kwic",
    "explore.similar.options": "SimilarOptions",
    "explore.similar.run": "similar",
    "explore.stats.run": "stats",
    "features.options": "TextFeatureOptions",
    "features.run": "text_features",
    "finetune.encoders.options": "TrainEncoderOptions",
    "finetune.encoders.run": "train_encoder",
    "finetune.options": (
        "DatasetOptions FinetuneOptions HardwareOptions HeldOutOptions ScheduleOptions TrainingOptions"
    ),
    "finetune.run": "compare_methods finetune",
    "lab.attention": "AttentionOptions",
    "lab.attention_run": "attention",
    "lab.options": "PretrainOptions TokenizerOptions",
    "lab.pretrain.run": "pretrain",
    "lab.tokenizer": "train_tokenizer",
    "lab.transformer": "explain_transformer",
    "lab.transformer_steps": "TransformerOptions",
    "lm.generate_run": "generate_texts",
    "lm.model": "GenerateOptions",
    "lm.options": "NgramModelOptions",
    "lm.run": "fit_language_model",
    "lm.spelling": "SpellOptions",
    "lm.spelling_run": "correct_spelling",
    "metrics.options": "AgreementOptions EvaluationOptions GateOptions IntervalOptions JudgeOptions",
    "platform.options": "Execution",
    "platform.documents.corpus": "Corpus read_corpus",
    "platform.documents.options": "ReadOptions",
    "platform.documents.parts": "ShardOptions",
    "platform.views.figures": "PlotOptions WordPictureOptions",
    "predict.options": "PredictOptions",
    "predict.run": "load",
    "report.info": "info",
    "report.options": "ReportOptions",
    "report.plot": "pictures_of plot",
    "report.run": "report",
    "shards.documents": "map_documents",
    "shards.merge": "merge",
    "scale.options": "ScaleOptions",
    "scale.run": "scale",
    "sentiment.run": "sentiment",
    "text.lexicon.options": "SentimentOptions SentimentTextOptions",
    "text.options": "CountOptions DocumentTextOptions RowOptions TextOptions TokenOptions TopicTokenOptions",
    "text.run": "preprocess",
    "topics.base.options": "BertopicOptions CheckpointOptions TermOptions",
    "topics.bertopic.guided_options": "GuidedOptions",
    "topics.bertopic.run": "fit_bertopic",
    "topics.bertopic.update_run": "update_bertopic",
    "topics.diff.options": "DiffOptions",
    "topics.diff.run": "diff",
    "topics.edit.options": "EditOptions",
    "topics.edit.run": "edit edits_template",
    "topics.export.convert": "convert",
    "topics.export.options": "ConvertOptions ExportOptions",
    "topics.export.run": "export",
    "topics.lda.options": "DescriptionOptions GuideOptions LdaOptions PrototypeOptions WorkerOptions",
    "topics.lda.run": "fit_lda",
    "topics.name.options": "NameOptions",
    "topics.name.run": "name_topics",
    "topics.over_time.brief": "topic_brief",
    "topics.over_time.options": "PrevalenceOptions SignalOptions TopicWordOptions UnitOptions",
    "topics.over_time.columns": "topic_columns",
    "topics.over_time.queries": "find_topics similar_topics topic_correlations topic_documents",
    "topics.over_time.run": "topics",
    "topics.over_time.signal_run": "topic_signals",
    "topics.over_time.units": "topic_units",
    "topics.over_time.words": "topic_words",
    "topics.robust.options": "GridOptions RobustOptions",
    "topics.robust.run": "robust_topics",
    "topics.rolling.options": "ChangeOptions RollingOptions",
    "topics.rolling.run": "fit_rolling_lda update_rolling_lda",
    "topics.effects.run": "estimate_effects",
    "topics.stm.permutations": "permutation_effects",
    "topics.effects.figures": "plot_effects",
    "topics.effects.options": "EffectOptions",
    "weights.class_terms": "ctfidf keyness",
    "weights.options": "ClassTermOptions KeynessOptions SelectionOptions WeightOptions",
    "weights.run": "tfidf",
    "words.bias": "word_bias word_drift",
    "words.options": "VectorOptions WordEmbeddingOptions",
    "words.picture": "plot_words",
    "words.query": "analogies analogy nearest_words odd_one_out word_similarity",
    "words.run": "embed_words",
    "words.similar_run": "similar_words",
    "words.spelling": "SimilarityOptions",
    "zero_shot.options": "ZeroShotOptions",
    "zero_shot.run": "zero_shot",
}
_HOMES = {name: f"nlpkit.{module}" for module, names in _NAMES.items() for name in names.split()} | public_names()
_MODULES = ("errors", "estimators")  # which are public themselves
__all__ = ["__version__", *_HOMES]  # names that are imported when they are first used


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used; the signature and docstring of a function then list each option."""
    home = _HOMES.get(name, MODEL_FUNCTIONS if name.startswith("fit_") else "")  # of a model of another distribution
    if name in _MODULES:
        return import_module(f"nlpkit.{name}")
    if not home:
        raise AttributeError(f"module 'nlpkit' has no attribute '{name}'")
    value = resolved(resolved(home).options) if ":" in home else getattr(import_module(home), name)
    import_module("nlpkit.platform.signatures").document(value)
    package = sys.modules.get(f"nlpkit.{name}")
    if package is not None:
        _lend(package, value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names and modules."""
    return sorted((*__all__, *_MODULES))


class _Package(ModuleType):
    """nlpkit itself, where `nk.embed` stays the function after the package `nlpkit.embed` has been imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; a package of the name of a function, which the import system puts here, is reached through that."""
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)
            return
        value.__class__ = _Namesake
        if name in vars(self):
            _lend(value, vars(self)[name])


class _Namesake(ModuleType):
    """A package with the name of a public function, whose modules are attributes of the function, too: `nlpkit.topics.lda`."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; a module, which the import system puts here, also on the function, once that is imported."""
        super().__setattr__(name, value)
        function = vars(sys.modules["nlpkit"]).get(self.__name__.rpartition(".")[2])
        if function is not None and isinstance(value, ModuleType):
            setattr(function, name, value)


def _lend(package: ModuleType, function: Any) -> None:
    """Give a function the modules of the package of its name as attributes."""
    for name, value in list(vars(package).items()):
        if isinstance(value, ModuleType) and value.__name__ == f"{package.__name__}.{name}":
            setattr(function, name, value)


sys.modules[__name__].__class__ = _Package
