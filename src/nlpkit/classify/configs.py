"""The configurations of classifiers: from options or for a comparison, and the features that each needs.

Parts, in this order:
- What a classifier is fitted to: documents in every form that a model may want, its configuration, and the features of
  both.
- Configurations of classifiers: the one that options name, and those that `model="auto"` compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.calibration import Method
from nlpkit.classify.features import ColumnFeatures, Features, Scaling, VectorizerOptions, fit_vectorizer
from nlpkit.classify.kinds import KINDS, ModelOptions, kinds_with
from nlpkit.classify.models.networks import WordRows
from nlpkit.classify.models.rule_list import RuleList
from nlpkit.classify.options import ClassifierOptions, Wanted, parse_thresholds
from nlpkit.classify.search import Search
from nlpkit.classify.thresholds import Costs
from nlpkit.classify.words import CutWords, TokenizedWords, WordCounts
from nlpkit.errors import InputError, UsageError
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, LongArray
from nlpkit.text.fitted import MIN_DF_AUTO_FROM
from nlpkit.text.options import PreprocessOptions
from nlpkit.weights.options import Scheme, WeightOptions
from nlpkit.weights.selection import FeatureSelection


@dataclass(frozen=True, slots=True)
class FeatureSources:
    """All documents in every form a model may want: words, hand-made features (D, H), columns (D rows), embeddings (D, E), and which
    rules match (D, R)."""

    n_docs: int
    words: CutWords | TokenizedWords | None = None
    hand_names: tuple[str, ...] = ()
    hand: FloatArray | None = None
    columns: pa.Table | None = None
    embeddings: Float32Array | None = None
    rules: RuleList | None = None
    matches: CsrMatrix | None = None


@dataclass(frozen=True, slots=True)
class ClassifierConfig:
    """Configuration of a classifier. vectorizer: None where the model sees no words; ngrams: None for those of the words;
    hand, columns: whether it sees these; without any of the three it sees embeddings. calibrate: None for none; search: the
    number of the model that training documents choose, None for none; wanted: of the decisions for single classes;
    costs: of errors, None where the most probable class is predicted."""

    name: str
    model: ModelOptions
    vectorizer: VectorizerOptions | None
    ngrams: tuple[int, int] | None = None
    hand: bool = False
    calibrate: Method | None = None
    search: Search | None = None
    wanted: tuple[Wanted, ...] = ()
    columns: bool = False
    costs: Costs | None = None

    @property
    def sees_embeddings(self) -> bool:
        """Whether the model sees embeddings."""
        return self.vectorizer is None and not self.hand and not self.columns and self.model.kind != "rules"

    @property
    def least(self) -> int:
        """Documents of a term below which it is not even counted; a share of documents is left to each training set."""
        bound = None if self.vectorizer is None else self.vectorizer.bounds.min_df
        return bound if isinstance(bound, int) else 1


@dataclass(frozen=True, slots=True)
class PreparedFeatures:
    """Features fitted to training documents, a function that gives those (n, F) of any rows, and the words they are made of."""

    features: Features
    matrix: Callable[[LongArray], Any]
    counted: WordCounts | None = None


def prepare_features(sources: FeatureSources, y: Any, train: LongArray, config: ClassifierConfig) -> PreparedFeatures:
    """Return the features of all documents, fitted to the training documents, which have the classes y.

    Raises:
        InputError: the training documents have nothing that tells one from another.
    """
    if config.sees_embeddings:
        assert sources.embeddings is not None
        embeddings = sources.embeddings
        if all((embeddings[d] == embeddings[train[0]]).all() for d in train):  # as a rule the second one differs
            raise InputError(
                f"nothing to learn from: all {len(train):,} training documents have the same embedding; are their "
                "texts empty?"
            )
        return PreparedFeatures(Features(None), lambda rows: embeddings[rows])
    if config.model.kind == "rules":
        assert sources.matches is not None
        matches = sources.matches
        return PreparedFeatures(Features(None, rules=sources.rules), lambda rows: matches[rows])
    vectorizer = counted = scaling = fitted_columns = None
    if config.vectorizer is not None:
        assert sources.words is not None
        ordered = KINDS[config.model.kind].ordered
        counted = sources.words.counted(train, ngrams=config.ngrams, least=config.least, ordered=ordered)
        vectorizer, places = fit_vectorizer(_some(counted.counts, train), counted.terms, y, config.vectorizer)
    if config.hand:
        assert sources.hand is not None
        scaling = Scaling.fit(sources.hand_names, sources.hand[train])
    if config.columns:
        assert sources.columns is not None
        fitted_columns = ColumnFeatures.fit(sources.columns.take(pa.array(train)))
    features = Features(vectorizer, scaling, fitted_columns)

    if vectorizer is not None and counted is not None and counted.tokens is not None:
        offsets, ids = counted.tokens.offsets, places[counted.tokens.term_ids]
        n_words = len(vectorizer.terms)
        return PreparedFeatures(features, lambda rows: WordRows.from_tokens(offsets, ids, rows, n_words), counted)

    def matrix(rows: LongArray) -> Any:
        words = None
        if vectorizer is not None and counted is not None:
            words = vectorizer.weigh_columns(_some(counted.counts, rows), places)
        hand = None if sources.hand is None else sources.hand[rows]
        encoded = None
        if fitted_columns is not None and sources.columns is not None:
            encoded = fitted_columns.encode(sources.columns.take(pa.array(rows)))
        return features.join(words, hand, encoded)

    return PreparedFeatures(features, matrix, counted)


def _some(counts: CsrMatrix, rows: LongArray) -> CsrMatrix:
    """Return the counts of some rows; of rows that follow each other, such as those of a training file, without a copy."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return counts[int(rows[0]) : int(rows[-1]) + 1]
    return counts[rows]


# ------------------------------------------------------------------------------------------------------------------------
# Configurations of classifiers: the one that options name, and those that `model="auto"` compares.

OF_TASK = {
    kind.task: name for name, kind in KINDS.items() if kind.task != "classes"
}  # the one model of a task without a choice
# options that belong to the kinds with an ability, and whose they are
BELONGS = (
    ("counts", ("alpha", "priors"), "Naive Bayes"),
    ("penalty", ("cost", "hand_features", "feature_cols"), "logreg and svm"),
    ("balanced", ("class_weight",), ", ".join(kinds_with("balanced"))),
    ("votes", ("neighbors",), "knn"),
    ("hidden", ("hidden",), ", ".join(kinds_with("hidden"))),
)
PLAIN = Scheme("raw", "none", "none")
SUBLINEAR = Scheme("log", "smooth", "l2")  # (1 + ln tf) · (ln((1 + M) / (1 + df)) + 1), of length 1
PAIRS = (1, 2)


def seen_features(options: ClassifierOptions) -> str:
    """Return what the classifier sees: words, embedding, columns or rules."""
    if options.rules is not None:
        return "rules"
    return options.on or ("embedding" if options.model in kinds_with("dense") else "words")


def config_of(
    options: ClassifierOptions, weights: WeightOptions, words: PreprocessOptions, *, changed_words: bool
) -> ClassifierConfig:
    """Return the configuration that options name; of `auto`, the one that candidates are variants of.

    Args:
        options: the classifier. weights: of words. words: how texts are cut.
        changed_words: whether an option about words was set.

    Raises:
        UsageError: an option that this classifier does not have.
    """
    if options.rules is not None:
        return _rules_config(options, weights, changed_words=changed_words)
    _refuse_by_task(options)
    auto = options.model == "auto"
    name = OF_TASK.get(options.task) or ("logreg" if auto else options.model)
    kind = KINDS[name]
    sees = seen_features(options)
    if sees != "words":
        _refuse_words(options, weights, name, sees, changed_words=changed_words)
    for ability, names, whose in BELONGS:
        if not getattr(kind, ability):
            _refuse(_changed(options, *names), f"belongs to {whose}; leave it out")
    if kind.ordered:
        if sees != "words":
            raise UsageError(f"`on={sees}`: {name} reads words in their order; leave it out", parameter="on")
        _refuse(
            {"select": options.select}, f"is about counts of words, and {name} reads them in their order; leave it out"
        )
        if weights != WeightOptions():
            raise UsageError(
                f"`scheme` and the other weights: {name} reads words in their order; leave it out", parameter="scheme"
            )
    if name == "kan" and sees != "embedding":
        raise UsageError(
            f"`on={sees}`: kan has a spline for each feature and only uses embeddings; use mlp", parameter="on"
        )
    vectorizer = None if sees != "words" else _vectorizer_options(options, weights, words, name)
    has_hand = options.hand_features is not None
    search = _search(options, name)
    if auto and search is not None:
        raise UsageError(
            "`model=auto` compares several classifiers; name one, such as `model=logreg`, to tune its `cost`",
            parameter="cost",
        )
    wanted = parse_thresholds(options.threshold)
    if options.costs is not None:
        _refuse({"threshold": wanted}, "and `costs` each say when a class is predicted; keep one")
        if not kind.probabilities and options.calibration is None:
            raise UsageError(
                f"`costs` need probabilities, and {name} has none; add `calibrate=sigmoid`", parameter="costs"
            )
    model = model_options(options, name)
    if model.C is None and weights != WeightOptions():  # other features than those that the rule was made on
        model = replace(model, C=1.0)
    return ClassifierConfig(
        name, model, vectorizer, None, has_hand, options.calibration, search, wanted,
        bool(options.feature_columns),
    )  # fmt: skip


def _refuse_words(
    options: ClassifierOptions, weights: WeightOptions, name: str, sees: str, *, changed_words: bool
) -> None:
    """Refuse what is about words for a model that sees embeddings or columns. Raises UsageError."""
    kind, table = KINDS[name], _changed(options, "hand_features", "feature_cols")
    noun = "embeddings" if sees == "embedding" else "columns"
    why = f"is about words, and this model sees {noun}; leave it out, or use `on=words`"
    _refuse({"select": options.select}, why)
    if sees == "embedding":
        _refuse(
            table, "goes with words or stands alone, and this model sees embeddings; leave it out, or use `on=words`"
        )
    elif not any(table.values()):
        raise UsageError("`on=columns` needs feature columns; name them with `feature_cols`", parameter="feature_cols")
    if weights != WeightOptions():
        raise UsageError(f"`scheme` and the other weights: each {why}", parameter="scheme")
    if changed_words:
        raise UsageError(f"options for words: this model uses {noun}; leave them out, or use `on=words`")
    if kind.counts:
        able = "logreg, svm, knn, centroid, mlp or kan" if sees == "embedding" else "logreg or svm"
        raise UsageError(f"`model={name}` counts words and cannot use {noun}; use {able}", parameter="model")
    if sees == "columns" and not kind.penalty:
        raise UsageError(f"`on=columns`: {name} only uses embeddings; use logreg or svm", parameter="on")


def _refuse_by_task(options: ClassifierOptions) -> None:
    """Raise UsageError for an option that labels of this kind have no use for."""
    task = options.task
    if task != "ordinal":
        _refuse({"order": options.order}, "is of the labels of `task=ordinal`; leave it out, or give `task=ordinal`")
    if task not in OF_TASK:
        return
    why = f"is of classes without an order; `task={task}` is fitted by {KINDS[OF_TASK[task]].title}: leave it out"
    _refuse(_changed(options, "model"), why)
    why = f"is of classes without an order; leave it out with `task={task}`"
    _refuse(_changed(options, "threshold", "calibrate"), why)
    if task == "regression":
        _refuse(
            _changed(options, "class_weight", "costs", "select"),
            "is about classes, and `task=regression` predicts numbers; leave it out",
        )


def _rules_config(options: ClassifierOptions, weights: WeightOptions, *, changed_words: bool) -> ClassifierConfig:
    """Return the configuration of hand-written rules. Raises UsageError for an option about a model that learns."""
    why = "is about a classifier that learns, and `rules` are written; leave it out"
    _refuse(_changed(options, *(f.name for f in fields(options) if f.name != "rules")), why)
    if weights != WeightOptions():
        raise UsageError(f"`scheme` and the other weights: each {why}", parameter="scheme")
    if changed_words:
        raise UsageError("options for words: rules search the unchanged words; leave them out")
    return ClassifierConfig("rules", ModelOptions("rules"), None)


def _search(options: ClassifierOptions, kind: str) -> Search | None:
    """Return the parameter to search for, None where one value was named."""
    name = "alpha" if KINDS[kind].counts else "cost"
    values = options.values(name)
    return Search(name, values) if len(values) > 1 else None


def model_options(options: ClassifierOptions, kind: str) -> ModelOptions:
    """Return the options of a kind of model."""
    balanced = (
        None if options.class_weight == "auto" and options.on != "columns" else options.class_weight == "balanced"
    )
    by_size = options.cost is None and kind in ("logreg", "ordinal") and seen_features(options) == "words"
    return ModelOptions(
        kind=kind, alpha=options.values("alpha")[0], priors=options.class_priors(), C=None if by_size else options.values("cost")[0],
        balanced=balanced, k=options.neighbors, hidden=options.hidden or KINDS[kind].hidden or 1,
    )  # fmt: skip


def _vectorizer_options(
    options: ClassifierOptions, weights: WeightOptions, words: PreprocessOptions, kind: str
) -> VectorizerOptions:
    """Return how words become features: counts for Naive Bayes, else sublinear tf-idf of length 1, unless weights are set."""
    if words.auto_stop is not None:
        raise UsageError(
            "`auto_stop` would also count the test documents; use `max_df`, which counts training documents only",
            parameter="auto_stop",
        )
    scheme = (
        weights.weighting()
        if weights != WeightOptions()
        else (PLAIN if KINDS[kind].counts or KINDS[kind].ordered else SUBLINEAR)
    )
    selection = FeatureSelection.parse(options.select)
    if selection is None:
        return VectorizerOptions(scheme, words)
    if selection.n is None:
        raise UsageError(
            f"`select={options.select}`: add the number of words to keep, such as {selection.score.name}:5000",
            parameter="select",
        )
    return VectorizerOptions(scheme, words, selection.score, selection.count)


def candidates(
    base: ClassifierConfig, options: ClassifierOptions, *, multiple: bool, words_are_cut: bool, embeddings: bool
) -> list[ClassifierConfig]:
    """Return the classifiers that `auto` compares, the quickest first.

    Args:
        base: the configuration they are variants of. multiple: documents have several labels.
        words_are_cut: from the texts, so that there can be pairs of words. embeddings: whether documents have some.
    """
    configs: list[ClassifierConfig] = []
    if base.vectorizer is not None:
        scheme = base.vectorizer.scheme

        def add(name: str, kind: str, ngrams: tuple[int, int] | None = None, C: float | None = None) -> None:
            if (base.hand or base.columns) and not KINDS[kind].penalty:
                return
            config = _variant(base, name, kind, ngrams=ngrams, scheme=PLAIN if KINDS[kind].counts else scheme)
            configs.append(config if C is None else replace(config, model=replace(config.model, C=C)))

        add("nb", "nb")
        if not multiple:
            add("complement-nb", "complement-nb")
        add("svm", "svm")
        add("logreg", "logreg", C=options.values("cost")[0])
        add("logreg, C = 10", "logreg", C=10.0)
        pairs = words_are_cut and base.vectorizer.bounds.ngrams == (1, 1)
        if pairs and not base.vectorizer.bounds.tokenizer.startswith("chars"):
            add("nb, words and pairs", "nb", PAIRS)
            add("svm, words and pairs", "svm", PAIRS)
            add("logreg, C = 10, words and pairs", "logreg", PAIRS, 10.0)
    elif not base.sees_embeddings:
        for kind, C in dict.fromkeys((("svm", base.model.C), ("logreg", base.model.C), ("logreg", 10.0))):
            name = f"{kind}, C = 10" if C != base.model.C else kind
            configs.append(replace(base, name=name, model=replace(base.model, kind=kind, C=C)))
    if embeddings:
        for kind in ("centroid", "logreg", "knn", "svm"):
            if kind == "centroid" and multiple:
                continue
            model = replace(model_options(options, kind), C=options.values("cost")[0])
            configs.append(ClassifierConfig(f"{kind} on embeddings", model, None, None, False, base.calibrate))
    return configs


def _variant(
    config: ClassifierConfig, name: str, kind: str, *, ngrams: tuple[int, int] | None, scheme: Scheme
) -> ClassifierConfig:
    """Return a configuration of another model on the same words."""
    assert config.vectorizer is not None
    model, vectorizer = replace(config.model, kind=kind), replace(config.vectorizer, scheme=scheme)
    return replace(config, name=name, model=model, ngrams=ngrams, vectorizer=vectorizer)


def bounded(config: ClassifierConfig, least_train: int) -> ClassifierConfig:
    """Return the configuration with its bound on rare words, one for all training sets: `min_df`, or else what suits the model.

    That is 1 for svm and complement-nb on single words, and 2 for others where the smallest training set has 100 documents.
    """
    if config.vectorizer is None or config.vectorizer.bounds.min_df is not None:
        return config
    bounds = config.vectorizer.bounds
    rare = KINDS[config.model.kind].rare and (config.ngrams or bounds.ngrams) == (1, 1)
    least = 1 if rare or least_train < MIN_DF_AUTO_FROM else 2
    return replace(config, vectorizer=replace(config.vectorizer, bounds=replace(bounds, min_df=least)))


def _changed(options: ClassifierOptions, *names: str) -> dict[str, bool]:
    """Return which options are not as usual; numbers may be texts, as on the command line."""
    usual = ClassifierOptions()
    changed = {name: getattr(options, name) != getattr(usual, name) for name in names}
    numbers = {name: options.values(name) != usual.values(name) for name in ("cost", "alpha") if name in changed}
    columns = {"feature_cols": bool(options.feature_columns)} if "feature_cols" in changed else {}
    return changed | numbers | columns


def _refuse(options: Mapping[str, object], why: str) -> None:
    """Raise UsageError for the first option that is set."""
    name = next((name for name, value in options.items() if value), None)
    if name is not None:
        raise UsageError(f"`{name}` {why}", parameter=name)
