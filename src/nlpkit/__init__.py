"""nlpkit: topic modeling and text pipelines that chain through Parquet. Importing it loads nothing heavy.

    import nlpkit as nk

    corpus = nk.read_corpus("news.jsonl")
    model = nk.fit_bertopic(corpus, k="auto")
    model.topics.to_pandas()
    model.save("run/")

Every command of the command line calls one function of these. They take a `Corpus`, a list of texts or a data frame (pandas,
Polars, Arrow), return Arrow tables and fitted models, and raise `nlpkit.errors.NlpkitError`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from nlpkit.version import __version__ as __version__

if TYPE_CHECKING:
    from nlpkit.parameters import Execution as Execution
    from nlpkit.workflows.active import propose_texts as propose_texts
    from nlpkit.workflows.active_curve import compare_strategies as compare_strategies
    from nlpkit.workflows.annotate import agreement as agreement
    from nlpkit.workflows.annotate import majority as majority
    from nlpkit.workflows.annotate import make_task as make_task
    from nlpkit.workflows.annotate import score_answers as score_answers
    from nlpkit.workflows.annotated_labels import labels_from_answers as labels_from_answers
    from nlpkit.workflows.attention import attention as attention
    from nlpkit.workflows.bertopic import fit_bertopic as fit_bertopic
    from nlpkit.workflows.bertopic_update import update_bertopic as update_bertopic
    from nlpkit.workflows.class_terms import ctfidf as ctfidf
    from nlpkit.workflows.class_terms import keyness as keyness
    from nlpkit.workflows.classify import cross_validate as cross_validate
    from nlpkit.workflows.classify import train_classifier as train_classifier
    from nlpkit.workflows.cluster import cluster as cluster
    from nlpkit.workflows.collocations import collocations as collocations
    from nlpkit.workflows.compare import compare_models as compare_models
    from nlpkit.workflows.convert import convert as convert
    from nlpkit.workflows.corpus import Corpus as Corpus
    from nlpkit.workflows.corpus import read_corpus as read_corpus
    from nlpkit.workflows.diff import diff as diff
    from nlpkit.workflows.dtm import fit_dtm as fit_dtm
    from nlpkit.workflows.edit import edit as edit
    from nlpkit.workflows.edit import edits_template as edits_template
    from nlpkit.workflows.effects import estimate_effects as estimate_effects
    from nlpkit.workflows.effects import plot_effects as plot_effects
    from nlpkit.workflows.embed import embed as embed
    from nlpkit.workflows.embed_words import embed_words as embed_words
    from nlpkit.workflows.evaluate import evaluate as evaluate
    from nlpkit.workflows.explain_transformer import explain_transformer as explain_transformer
    from nlpkit.workflows.export import export as export
    from nlpkit.workflows.features import text_features as text_features
    from nlpkit.workflows.finetune import compare_methods as compare_methods
    from nlpkit.workflows.finetune import finetune as finetune
    from nlpkit.workflows.generate import generate_texts as generate_texts
    from nlpkit.workflows.info import info as info
    from nlpkit.workflows.judge import judge_task as judge_task
    from nlpkit.workflows.kwic import kwic as kwic
    from nlpkit.workflows.language_model import fit_language_model as fit_language_model
    from nlpkit.workflows.lda import fit_lda as fit_lda
    from nlpkit.workflows.map_documents import map_documents as map_documents
    from nlpkit.workflows.merge import merge as merge
    from nlpkit.workflows.mixtures import fit_author_topic as fit_author_topic
    from nlpkit.workflows.mixtures import fit_biterm as fit_biterm
    from nlpkit.workflows.mixtures import fit_ctm as fit_ctm
    from nlpkit.workflows.mixtures import fit_etm as fit_etm
    from nlpkit.workflows.mixtures import fit_fastopic as fit_fastopic
    from nlpkit.workflows.mixtures import fit_gsdmm as fit_gsdmm
    from nlpkit.workflows.mixtures import fit_hdp as fit_hdp
    from nlpkit.workflows.mixtures import fit_hlda as fit_hlda
    from nlpkit.workflows.mixtures import fit_labeled_lda as fit_labeled_lda
    from nlpkit.workflows.mixtures import fit_lda_online as fit_lda_online
    from nlpkit.workflows.mixtures import fit_nmf as fit_nmf
    from nlpkit.workflows.mixtures import fit_plsa as fit_plsa
    from nlpkit.workflows.mixtures import fit_slda as fit_slda
    from nlpkit.workflows.mixtures import fit_stm as fit_stm
    from nlpkit.workflows.name_topics import name_topics as name_topics
    from nlpkit.workflows.permutations import permutation_effects as permutation_effects
    from nlpkit.workflows.plot import plot as plot
    from nlpkit.workflows.predict import load as load
    from nlpkit.workflows.preprocess import preprocess as preprocess
    from nlpkit.workflows.pretrain import pretrain as pretrain
    from nlpkit.workflows.report import report as report
    from nlpkit.workflows.rolling_lda import fit_rolling_lda as fit_rolling_lda
    from nlpkit.workflows.rolling_lda import update_rolling_lda as update_rolling_lda
    from nlpkit.workflows.sentiment import sentiment as sentiment
    from nlpkit.workflows.similar import similar as similar
    from nlpkit.workflows.similar_words import similar_words as similar_words
    from nlpkit.workflows.spelling import correct_spelling as correct_spelling
    from nlpkit.workflows.stats import stats as stats
    from nlpkit.workflows.tfidf import tfidf as tfidf
    from nlpkit.workflows.topic_queries import find_topics as find_topics
    from nlpkit.workflows.topic_queries import similar_topics as similar_topics
    from nlpkit.workflows.topic_queries import topic_correlations as topic_correlations
    from nlpkit.workflows.topic_queries import topic_documents as topic_documents
    from nlpkit.workflows.topic_words import topic_words as topic_words
    from nlpkit.workflows.topics import topics as topics
    from nlpkit.workflows.train_encoder import train_encoder as train_encoder
    from nlpkit.workflows.train_tokenizer import train_tokenizer as train_tokenizer
    from nlpkit.workflows.word_bias import word_bias as word_bias
    from nlpkit.workflows.word_bias import word_drift as word_drift
    from nlpkit.workflows.word_picture import plot_words as plot_words
    from nlpkit.workflows.words import analogies as analogies
    from nlpkit.workflows.words import analogy as analogy
    from nlpkit.workflows.words import nearest_words as nearest_words
    from nlpkit.workflows.words import odd_one_out as odd_one_out
    from nlpkit.workflows.words import word_similarity as word_similarity
    from nlpkit.workflows.zero_shot import zero_shot as zero_shot

_HOMES = {
    "Corpus": "workflows.corpus:Corpus",
    "Execution": "parameters:Execution",
    "compare_methods": "workflows.finetune:compare_methods",
    "cross_validate": "workflows.classify:cross_validate",
    "cluster": "workflows.cluster:cluster",
    "collocations": "workflows.collocations:collocations",
    "convert": "workflows.convert:convert",
    "agreement": "workflows.annotate:agreement",
    "attention": "workflows.attention:attention",
    "correct_spelling": "workflows.spelling:correct_spelling",
    "ctfidf": "workflows.class_terms:ctfidf",
    "compare_models": "workflows.compare:compare_models",
    "compare_strategies": "workflows.active_curve:compare_strategies",
    "edit": "workflows.edit:edit",
    "edits_template": "workflows.edit:edits_template",
    "diff": "workflows.diff:diff",
    "embed": "workflows.embed:embed",
    "embed_words": "workflows.embed_words:embed_words",
    "estimate_effects": "workflows.effects:estimate_effects",
    "plot_effects": "workflows.effects:plot_effects",
    "permutation_effects": "workflows.permutations:permutation_effects",
    "evaluate": "workflows.evaluate:evaluate",
    "explain_transformer": "workflows.explain_transformer:explain_transformer",
    "export": "workflows.export:export",
    "finetune": "workflows.finetune:finetune",
    "fit_bertopic": "workflows.bertopic:fit_bertopic",
    "fit_language_model": "workflows.language_model:fit_language_model",
    "fit_lda": "workflows.lda:fit_lda",
    "fit_dtm": "workflows.dtm:fit_dtm",
    "fit_biterm": "workflows.mixtures:fit_biterm",
    "fit_ctm": "workflows.mixtures:fit_ctm",
    "fit_etm": "workflows.mixtures:fit_etm",
    "fit_fastopic": "workflows.mixtures:fit_fastopic",
    "fit_gsdmm": "workflows.mixtures:fit_gsdmm",
    "fit_hdp": "workflows.mixtures:fit_hdp",
    "fit_hlda": "workflows.mixtures:fit_hlda",
    "fit_lda_online": "workflows.mixtures:fit_lda_online",
    "fit_nmf": "workflows.mixtures:fit_nmf",
    "fit_plsa": "workflows.mixtures:fit_plsa",
    "fit_rolling_lda": "workflows.rolling_lda:fit_rolling_lda",
    "fit_stm": "workflows.mixtures:fit_stm",
    "fit_slda": "workflows.mixtures:fit_slda",
    "fit_author_topic": "workflows.mixtures:fit_author_topic",
    "fit_labeled_lda": "workflows.mixtures:fit_labeled_lda",
    "generate_texts": "workflows.generate:generate_texts",
    "info": "workflows.info:info",
    "judge_task": "workflows.judge:judge_task",
    "keyness": "workflows.class_terms:keyness",
    "kwic": "workflows.kwic:kwic",
    "labels_from_answers": "workflows.annotated_labels:labels_from_answers",
    "load": "workflows.predict:load",
    "majority": "workflows.annotate:majority",
    "make_task": "workflows.annotate:make_task",
    "map_documents": "workflows.map_documents:map_documents",
    "merge": "workflows.merge:merge",
    "name_topics": "workflows.name_topics:name_topics",
    "plot": "workflows.plot:plot",
    "propose_texts": "workflows.active:propose_texts",
    "preprocess": "workflows.preprocess:preprocess",
    "read_corpus": "workflows.corpus:read_corpus",
    "report": "workflows.report:report",
    "score_answers": "workflows.annotate:score_answers",
    "similar": "workflows.similar:similar",
    "similar_words": "workflows.similar_words:similar_words",
    "stats": "workflows.stats:stats",
    "text_features": "workflows.features:text_features",
    "tfidf": "workflows.tfidf:tfidf",
    "find_topics": "workflows.topic_queries:find_topics",
    "similar_topics": "workflows.topic_queries:similar_topics",
    "topic_correlations": "workflows.topic_queries:topic_correlations",
    "topic_documents": "workflows.topic_queries:topic_documents",
    "topic_words": "workflows.topic_words:topic_words",
    "topics": "workflows.topics:topics",
    "sentiment": "workflows.sentiment:sentiment",
    "train_classifier": "workflows.classify:train_classifier",
    "train_encoder": "workflows.train_encoder:train_encoder",
    "train_tokenizer": "workflows.train_tokenizer:train_tokenizer",
    "pretrain": "workflows.pretrain:pretrain",
    "analogies": "workflows.words:analogies",
    "analogy": "workflows.words:analogy",
    "nearest_words": "workflows.words:nearest_words",
    "odd_one_out": "workflows.words:odd_one_out",
    "word_similarity": "workflows.words:word_similarity",
    "word_bias": "workflows.word_bias:word_bias",
    "word_drift": "workflows.word_bias:word_drift",
    "plot_words": "workflows.word_picture:plot_words",
    "zero_shot": "workflows.zero_shot:zero_shot",
    "update_bertopic": "workflows.bertopic_update:update_bertopic",
    "update_rolling_lda": "workflows.rolling_lda:update_rolling_lda",
}
__all__ = ["__version__", *_HOMES]  # names that are imported when they are first used


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'nlpkit' has no attribute '{name}'")
    module, attribute = home.split(":")
    value = getattr(import_module(f"nlpkit.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


class _Package(ModuleType):
    """nlpkit itself, where `nk.embed` stays the function after the package `nlpkit.embed` has been imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute, except for a module of the name of a function, which the import system puts there."""
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
