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

from nlpkit.models import MODEL_FUNCTIONS, public_names
from nlpkit.version import __version__ as __version__

# module → the public names that it has; __init__.pyi, which docs/write_stub.py writes, tells type checkers and editors their types
_NAMES = {
    "classify.active_options": "ActiveCurveOptions ActiveOptions",
    "classify.options": "ClassifierOptions ClassifierReportOptions ClassifierTextOptions SplitOptions",
    "classify.sentiment_options": "SentimentOptions SentimentTextOptions",
    "classify.zero_shot_options": "ZeroShotOptions",
    "embed.attention": "AttentionOptions",
    "embed.options": "DocumentMethodOptions EncoderOptions SbertOptions",
    "errors": (
        "ActorLostError ColumnError EncodingError InputError MissingError MissingExtraError MissingFileError NlpkitError OutOfMemoryError "
        "OutputExistsError QualityGateError SchemaError UsageError"
    ),
    "evaluation.options": "AgreementOptions EvaluationOptions GateOptions IntervalOptions JudgeOptions",
    "finetune.encoder_options": "TrainEncoderOptions",
    "finetune.options": "DatasetOptions FinetuneOptions HeldOutOptions",
    "finetune.training_options": "HardwareOptions ScheduleOptions TrainingOptions",
    "io.read_options": "ReadOptions",
    "io.shards": "ShardOptions",
    "lm.generate": "GenerateOptions",
    "lm.options": "NgramModelOptions",
    "lm.spelling": "SpellOptions",
    "lm.transformer_steps": "TransformerOptions",
    "parameters": "Execution",
    "pretrain.options": "PretrainOptions TokenizerOptions",
    "report.options": "ReportOptions",
    "report.plot_options": "PlotOptions WordPictureOptions",
    "text.collocations": "CollocationOptions",
    "text.feature_options": "TextFeatureOptions",
    "text.kwic": "SearchOptions",
    "text.options": "CountOptions DocumentTextOptions TextOptions TokenOptions TopicTokenOptions",
    "text.rows": "RowOptions",
    "text.similarity_options": "SimilarityOptions",
    "topics.cluster_options": "ClusterOptions",
    "topics.compare_options": "CompareOptions",
    "topics.diff_options": "DiffOptions",
    "topics.edit_options": "EditOptions",
    "topics.export_options": "ExportOptions",
    "topics.guided_options": "GuidedOptions",
    "topics.lda.options": "DescriptionOptions GuideOptions LdaOptions PrototypeOptions WorkerOptions",
    "topics.lda.rolling_options": "ChangeOptions RollingOptions",
    "topics.mixtures.options": "CheckpointOptions TermOptions",
    "topics.name_options": "NameOptions",
    "topics.options": "BertopicOptions",
    "topics.prevalence_options": "PrevalenceOptions",
    "topics.query_options": "TopicWordOptions",
    "topics.similar_options": "SimilarOptions",
    "topics.stm.effect_options": "EffectOptions",
    "weighting.class_term_options": "ClassTermOptions KeynessOptions",
    "weighting.options": "SelectionOptions WeightOptions",
    "words.options": "WordEmbeddingOptions",
    "words.question_options": "VectorOptions",
    "workflows.active": "propose_texts",
    "workflows.active_curve": "compare_strategies",
    "workflows.annotate": "agreement majority make_task score_answers",
    "workflows.annotated_labels": "labels_from_answers",
    "workflows.attention": "attention",
    "workflows.bertopic": "fit_bertopic",
    "workflows.bertopic_update": "update_bertopic",
    "workflows.class_terms": "ctfidf keyness",
    "workflows.classify": "cross_validate train_classifier",
    "workflows.cluster": "cluster",
    "workflows.collocations": "collocations",
    "workflows.compare": "compare_models",
    "workflows.convert": "convert",
    "workflows.convert_options": "ConvertOptions",
    "workflows.corpus": "Corpus read_corpus",
    "workflows.diff": "diff",
    "workflows.edit": "edit edits_template",
    "workflows.effects": "estimate_effects plot_effects",
    "workflows.embed": "embed",
    "workflows.embed_words": "embed_words",
    "workflows.evaluate": "evaluate",
    "workflows.explain_transformer": "explain_transformer",
    "workflows.export": "export",
    "workflows.features": "text_features",
    "workflows.finetune": "compare_methods finetune",
    "workflows.generate": "generate_texts",
    "workflows.info": "info",
    "workflows.judge": "judge_task",
    "workflows.kwic": "kwic",
    "workflows.language_model": "fit_language_model",
    "workflows.lda": "fit_lda",
    "workflows.map_documents": "map_documents",
    "workflows.merge": "merge",
    "workflows.name_topics": "name_topics",
    "workflows.permutations": "permutation_effects",
    "workflows.plot": "plot",
    "workflows.predict": "load",
    "workflows.predict_options": "PredictOptions",
    "workflows.preprocess": "preprocess",
    "workflows.pretrain": "pretrain",
    "workflows.report": "report",
    "workflows.rolling_lda": "fit_rolling_lda update_rolling_lda",
    "workflows.sentiment": "sentiment",
    "workflows.similar": "similar",
    "workflows.similar_words": "similar_words",
    "workflows.spelling": "correct_spelling",
    "workflows.stats": "stats",
    "workflows.tfidf": "tfidf",
    "workflows.topic_queries": "find_topics similar_topics topic_correlations topic_documents",
    "workflows.topic_words": "topic_words",
    "workflows.topics": "topics",
    "workflows.train_encoder": "train_encoder",
    "workflows.train_tokenizer": "train_tokenizer",
    "workflows.word_bias": "word_bias word_drift",
    "workflows.word_picture": "plot_words",
    "workflows.words": "analogies analogy nearest_words odd_one_out word_similarity",
    "workflows.zero_shot": "zero_shot",
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
    value = getattr(import_module(home), name)
    import_module("nlpkit.signatures").document(value)
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
