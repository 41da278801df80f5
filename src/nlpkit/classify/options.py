"""The options of classifiers, as plain data.

Parts, in this order:
- What a decision for a class must reach, as options name it.
- Options of splits, models, texts and the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

from nlpkit.classify.kinds import kinds_with
from nlpkit.classify.search import values_of
from nlpkit.errors import UsageError, unknown_value
from nlpkit.metrics.options import VOTES, AnnotatorsBy
from nlpkit.platform.options import READ, READ_LIST, Param, names_in, options
from nlpkit.text.options import TextOptions

if TYPE_CHECKING:
    from nlpkit.classify.calibration import Method
    from nlpkit.classify.models.naive_bayes import ClassPriors

Measure = Literal["recall", "precision"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A recall or precision, above 0 and at most 1, that the decision for a class must have at least."""

    measure: Measure
    value: float
    label: str

    @classmethod
    def parse(cls, text: str) -> Wanted:
        """Return what `recall=0.95:LABEL` or `precision=0.9:LABEL` wants. Raises UsageError."""
        bound, colon, label = text.partition(":")
        measure, _, number = bound.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = 0.0
        if measure not in ("recall", "precision") or not 0 < value <= 1 or not colon or not label:
            raise UsageError(
                f"`threshold={text}`: recall=R:LABEL or precision=P:LABEL is needed, R and P above 0 and at most 1",
                parameter="threshold",
            )
        return cls(cast(Measure, measure), value, label)


def parse_thresholds(texts: Sequence[str]) -> tuple[Wanted, ...]:
    """Return what texts want (see `Wanted.parse`). Raises UsageError, also for a class that is named twice."""
    wanted = tuple(Wanted.parse(text) for text in texts)
    labels = [one.label for one in wanted]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UsageError(f"`threshold` names '{twice}' twice; give each class one threshold", parameter="threshold")
    return wanted


def check_wanted(wanted: Sequence[Wanted], names: Sequence[str], *, multiple: bool) -> None:
    """Raise UsageError where a class is not known, or several have a threshold and a document has one label only."""
    for one in wanted:
        if one.label not in names:
            raise unknown_value("threshold", one.label, names)
    if len(wanted) > 1 and not multiple:
        raise UsageError(
            f"`threshold`: with one label per document, only one class can have a threshold, not {len(wanted)}",
            parameter="threshold",
        )


# ------------------------------------------------------------------------------------------------------------------------
# Options of classifiers, as plain data.

MODELS = (*kinds_with("learned", "classes"), "auto")
SOFT = kinds_with("soft")  # that learn from shares of labels
TASKS = ("auto", "classes", "regression", "ordinal")
CALIBRATIONS = ("none", "sigmoid", "isotonic", "temperature")
LEAST_SIMILARITY = 0.3  # below it, near-duplicates are not searched for


def check_near_duplicates(similarity: float) -> None:
    """Raise UsageError for a similarity that near-duplicates cannot have."""
    if similarity and not LEAST_SIMILARITY <= similarity <= 1:
        raise UsageError(
            f"`near_duplicates={similarity:g}`: a similarity from {LEAST_SIMILARITY} to 1 is needed, or 0 for none",
            parameter="near_duplicates",
        )


@options
class SplitOptions:
    """Options that choose the documents the model learns from and those it is scored on."""

    PANEL: ClassVar[str] = "Training and test"

    test: Annotated[
        Path | Any | None,
        Param("Labelled documents to score the model on.", metavar="FILE"),
    ] = None
    split: Annotated[
        str | None,
        Param(
            "Column with the values train and test. COL=VALUE uses the rows with that value as the test.",
            metavar="COL[=VALUE]",
            excludes=("test",),
        ),
    ] = None
    cv: Annotated[
        int | None,
        Param(
            "Number of cross-validation folds. Default: 5 if there are no test documents.",
            ("cv", "folds"),
            metavar="K",
            min=2,
            excludes=("test", "split"),
        ),
    ] = None
    groups: Annotated[
        str | None,
        Param(
            "Column such as the author or date:month. Documents with the same value stay in the same "
            "cross-validation fold.",
            metavar="COL",
            excludes=("test", "split"),
        ),
    ] = None
    label_sep: Annotated[
        str | None,
        Param(
            "Separator of several labels in one cell, such as ';'. A column of lists needs none.",
            metavar="TEXT",
            filled=True,
        ),
    ] = None


@options
class ClassifierOptions:
    """Kind and parameters of the classifier."""

    PANEL: ClassVar[str] = "Classifier"

    task: Annotated[
        str,
        Param(
            "Kind of labels: classes, regression (numbers, ridge regression) or ordinal (ordered classes, a "
            "logistic regression at each step). auto means classes.",
            choices=TASKS,
        ),
    ] = "auto"
    order: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "All labels of `task=ordinal` from lowest to highest, such as bad,ok,good. Numbers need no order.",
            metavar="LABEL,…",
        ),
    ] = None
    model: Annotated[
        str,
        Param(
            "Classifier: nb, bernoulli-nb, complement-nb, logreg, svm, knn, centroid, mlp, kan, lstm or cnn. auto "
            "compares several.",
            metavar="NAME",
        ),
    ] = "logreg"
    on: Annotated[
        str | None,
        Param(
            "Features of a text: words, embedding, or columns (only `feature_cols` and `hand_features`). Default: "
            "embedding for knn, centroid, mlp and kan, otherwise words.",
            metavar="words|embedding|columns",
            choices=("words", "embedding", "columns"),
        ),
    ] = None
    select: Annotated[
        str | None,
        Param(
            "Keep the N words (or a share such as 0.1) that separate the classes best, by a score of `tfidf()`: "
            "chi2:5000.",
            metavar="SCORE:N",
        ),
    ] = None
    hand_features: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "Add features such as length, punctuation, capitals and digits. Linear models only.",
            metavar="all|NAME,…",
        ),
    ] = None
    feature_cols: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "Columns to use as additional features: numbers (scaled on the training documents) or text (as "
            "categories). Linear models only.",
            metavar="COL,…",
        ),
    ] = None
    annotators: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "Columns with the labels of several coders (anna,ben,chiara). The model learns the shares of their "
            "labels (soft labels) instead of one label for each text. For logreg, Naive Bayes, kan, lstm and cnn.",
            metavar="COLS",
        ),
    ] = None
    annotators_by: AnnotatorsBy = VOTES
    rules: Annotated[
        Path | None,
        Param(
            "Classify by hand-written rules (TOML) instead of a trained model. The first rule that matches sets "
            "the label.",
            metavar="FILE",
        ),
    ] = None
    class_weight: Annotated[
        str,
        Param(
            "Class weights: none, or balanced (all classes count equally in training and in `calibrate`). auto: "
            "balanced for logreg if a class has few documents.",
            metavar="auto|none|balanced",
            choices=("auto", "none", "balanced"),
        ),
    ] = "auto"
    calibrate: Annotated[
        str,
        Param(
            "Calibrate probabilities by cross-validation within the training documents: none, sigmoid, isotonic or "
            "temperature.",
            metavar="METHOD",
            choices=CALIBRATIONS,
        ),
    ] = "none"
    threshold: Annotated[
        tuple[str, ...],
        Param(
            "Choose the cut-off for LABEL so that cross-validated recall (or precision) reaches N, such as "
            "recall=0.95:spam. May be repeated if documents have several labels.",
            metavar="recall|precision=N:LABEL",
        ),
    ] = ()
    costs: Annotated[
        Path | dict[str, dict[str, float]] | None,
        Param(
            "Costs of errors by true and predicted class (TOML or CSV). Documents get the class with the lowest "
            "expected cost instead of the most probable class.",
            metavar="FILE",
        ),
        READ,
    ] = None
    cost: Annotated[
        str | float | tuple[float, ...] | None,
        Param(
            "Inverse regularisation of linear models: higher = weaker. A list (0.1,1,10) or auto is tuned by "
            "cross-validation. Default: 1; 10 for larger training sets of logreg and ordinal on words (see the "
            "guide).",
            ("cost", "C"),
            metavar="N|N,N,…|auto",
        ),
    ] = None
    alpha: Annotated[
        str | float | tuple[float, ...],
        Param(
            "Count that Naive Bayes adds to each word in each class. A list or auto is tuned by cross-validation.",
            metavar="N|N,N,…|auto",
            panel="More",
        ),
    ] = 1.0
    priors: Annotated[
        str | tuple[float, ...],
        Param(
            "Class probabilities of Naive Bayes: empirical, uniform, or one number for each class, sorted by class "
            "name.",
            metavar="NAME|P,P,…",
            panel="More",
        ),
    ] = "empirical"
    neighbors: Annotated[int, Param("Number of nearest documents that vote in knn.", min=1, panel="More")] = 15
    hidden: Annotated[
        int | None,
        Param(
            "Number of hidden units. Default: 128 for mlp, 16 for kan, 64 for lstm and cnn.",
            metavar="N",
            min=1,
            panel="More",
        ),
    ] = None
    budget: Annotated[
        float,
        Param("Time limit for comparing classifiers with `model=auto`.", metavar="SECONDS", min=1, panel="More"),
    ] = 300.0

    def __post_init__(self) -> None:
        """Raise UsageError for invalid values."""
        if self.model not in MODELS:
            raise unknown_value(
                "model", self.model, MODELS, "; a run of `train_classifier()` predicts with: `predict(RUN, INPUT)`"
            )
        if self.coders() and (self.model not in SOFT or self.task not in ("auto", "classes") or self.rules is not None):
            raise UsageError(
                f"`annotators` give soft labels, which only {', '.join(SOFT)} can learn; use one of these, or write "
                "one label per text with `majority()`",
                parameter="annotators",
            )
        self.values("cost")
        self.values("alpha")
        parse_thresholds(self.threshold)

    @property
    def calibration(self) -> Method | None:
        """Method that calibrates probabilities, None for no calibration."""
        return None if self.calibrate == "none" else cast("Method", self.calibrate)

    def values(self, name: str) -> tuple[float, ...]:
        """Return the values of cost or alpha: one, or those to choose from. Raises UsageError."""
        value = getattr(self, name)
        return values_of(name, 1.0 if value is None else value)

    def class_priors(self) -> ClassPriors:
        """Return empirical, uniform, or the probabilities. Raises UsageError."""
        if self.priors in ("empirical", "uniform"):
            return cast("ClassPriors", self.priors)
        try:
            return tuple(float(p) for p in (self.priors.split(",") if isinstance(self.priors, str) else self.priors))
        except ValueError:
            raise UsageError(
                f"`priors={self.priors}`: empirical, uniform or a probability for each class, such as 0.3,0.7",
                parameter="priors",
            ) from None

    def coders(self) -> list[str]:
        """Return the columns of coders, none where documents have one label."""
        return names_in(self.annotators)

    @property
    def labels_in_order(self) -> list[str]:
        """The labels of `order`; those of numbers are not listed."""
        return names_in(self.order)

    @property
    def feature_columns(self) -> tuple[str, ...]:
        """The columns of `feature_cols`, each once."""
        return tuple(dict.fromkeys(names_in(self.feature_cols)))

    def hand_feature_names(self) -> tuple[str, ...]:
        """Return the names of the hand-made features, none for none. Raises UsageError."""
        if self.hand_features is None:
            return ()
        from nlpkit.classify.features import HAND_FEATURES

        if self.hand_features == "all":
            return tuple(HAND_FEATURES)
        asked = self.hand_features
        names = tuple(asked.split(",")) if isinstance(asked, str) else tuple(asked)
        for name in names:
            if name not in HAND_FEATURES:
                raise unknown_value("hand_features", name, (*HAND_FEATURES, "all"))
        return names


@options
class ClassifierTextOptions(TextOptions):
    """Options of cutting texts for a classifier; stop words stay, since they separate classes (lecture)."""

    tokenizer: Annotated[
        str,
        Param(
            "How to split texts: auto (runs of letters and digits; words for scripts without spaces, or with "
            "`keep`, `segment` or `min_length`), words, whitespace, or chars:3-5 (character n-grams)."
        ),
    ] = "auto"
    stop_words: Annotated[
        str | tuple[str, ...],
        Param(
            "Words to leave out: none, auto (list for the language), language codes such as en,de, or files with "
            "one word or pattern per line.",
            metavar="LIST",
        ),
        READ_LIST,
    ] = "none"

    # refused, with the reason: they look at all documents, or make what no classifier uses
    auto_stop: Annotated[float | None, Param("")] = None
    entities: Annotated[bool, Param("")] = False

    @property
    def adapts(self) -> bool:
        """Whether the tokenizer depends on the script of the texts."""
        plain = TextOptions()
        asks = ("keep", "segment", "min_length", "token_pattern", "spacy", "pos", "entities")
        return (
            self.tokenizer == "auto"
            and self.lemma != "spacy"
            and all(getattr(self, name) == getattr(plain, name) for name in asks)
        )


@options
class ClassifierReportOptions:
    """Options of the report on a classifier."""

    PANEL: ClassVar[str] = "Report"

    probabilities: Annotated[bool, Param("Add a column with the probability of each class.")] = False
    learning_curve: Annotated[
        bool,
        Param(
            "Also score models trained on 10, 20, 40, 60 and 80 % of the training documents, to see whether more "
            "labels would help."
        ),
    ] = False
    top_n: Annotated[int, Param("Number of most informative words to list for each class.", min=1)] = 15
    near_duplicates: Annotated[
        float,
        Param(
            "Similarity from which a test document is reported as a near-duplicate of a training document; 0 = no search.",
            ("near_duplicates", "twins"),
            metavar="S",
        ),
    ] = 0.9
    ci: Annotated[
        float, Param("Confidence level of the intervals of scores; 0 = no intervals.", metavar="LEVEL", min=0, below=1)
    ] = 0.95

    def __post_init__(self) -> None:
        """Raise UsageError for invalid values."""
        check_near_duplicates(self.near_duplicates)

    @property
    def level(self) -> float | None:
        """Level of the intervals, None for none."""
        return self.ci or None
