"""The kinds of classifiers by name, and the options of one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nlpkit.errors import UsageError

if TYPE_CHECKING:
    from nlpkit.classify.models.naive_bayes import ClassPriors
    from nlpkit.classify.models.neighbours import Vote

FEW = 64  # documents of a class, on average; below, a logistic regression needs weights, and fine-tuning SetFit
ROOM = 16  # documents of a class, on average, from which on a weak penalty suits words (docs/benchmarks/classify.md)
WEAK = 10.0  # C of that penalty
LINEAR = "nlpkit.classify.models.linear:LinearModel"


@dataclass(frozen=True, slots=True)
class ClassifierKind:
    """A kind of classifier, declared here alone; functions and classes are named, and loaded when they are called.

    title: its name in words. fit: returns the model of (X, y, J); "" where `classifier._fit_model` does. fit_labels: that of labels
    (X, Y) of which all vary, for a linear model; for others (X, Y, which vary (J,), the scores of those that do not (J,)); "" where
    documents have one label. Both take what they name of the keywords of `fit.fit_model`. model: has `restored(config, arrays)`.
    probabilities: has them without calibration; balanced: classes can be weighed; soft: learns shares of classes; learned: from training
    documents; task: what labels it is for; ordered: it reads words in their order (`word_networks.WordRows`); counts: it counts words and
    has α in the place of a penalty; priors: it has class priors; penalty: it has C; dense: it sees embeddings unless it is told;
    votes: neighbours vote; hidden:
    units where none are given, 0 for none; rare: words of a single document help it (tests/benchmarks/bench_classify.py).
    """

    title: str
    fit: str = ""
    fit_labels: str = ""
    model: str = LINEAR
    probabilities: bool = True
    balanced: bool = False
    soft: bool = False
    learned: bool = True
    task: str = "classes"
    ordered: bool = False
    counts: bool = False
    priors: bool = False
    penalty: bool = False
    dense: bool = False
    votes: bool = False
    hidden: int = 0
    rare: bool = False

    @property
    def linear(self) -> bool:
        """Whether the model is a LinearModel."""
        return self.model == LINEAR

    @property
    def multi_label(self) -> bool:
        """Whether documents may have several labels."""
        return bool(self.fit_labels) or not self.learned


def _naive_bayes(title: str, *, priors: bool = True, rare: bool = False) -> ClassifierKind:
    module = "nlpkit.classify.models.naive_bayes"
    fit, fit_labels = f"{module}:fit_naive_bayes", f"{module}:fit_label_naive_bayes"
    return ClassifierKind(title, fit, fit_labels, soft=True, counts=True, priors=priors, rare=rare)


def _word_network(title: str) -> ClassifierKind:
    module = "nlpkit.classify.models.networks"
    fit, model = f"{module}:fit_word_network", f"{module}:WordNetworkModel"
    return ClassifierKind(
        title, fit, f"{module}:fit_label_word_network", model, balanced=True, ordered=True, soft=True, hidden=64
    )


KINDS: dict[str, ClassifierKind] = {
    "nb": _naive_bayes("multinomial Naive Bayes"),
    "bernoulli-nb": _naive_bayes("Bernoulli Naive Bayes on which words are present"),
    "complement-nb": _naive_bayes("complement Naive Bayes, for classes of unequal size", priors=False, rare=True),
    "logreg": ClassifierKind(
        "logistic regression", "nlpkit.classify.models.logistic:fit_logistic",
        "nlpkit.classify.models.logistic:fit_label_logistic",
        balanced=True,
        soft=True, penalty=True,
    ),
    "svm": ClassifierKind(
        "linear support vector machine", "nlpkit.classify.models.sklearn_models:fit_svm",
        "nlpkit.classify.models.sklearn_models:fit_label_svm",
        probabilities=False,
        balanced=True, penalty=True, rare=True,
    ),
    "knn": ClassifierKind(
        "k nearest documents by cosine", "nlpkit.classify.models.neighbours:fit_nearest",
        "nlpkit.classify.models.neighbours:fit_label_nearest",
        "nlpkit.classify.models.neighbours:NeighboursModel", dense=True, votes=True,
    ),
    "centroid": ClassifierKind(
        "nearest mean of a class", "nlpkit.classify.models.neighbours:fit_centroids", probabilities=False, dense=True
    ),
    "mlp": ClassifierKind(
        "neural network of one hidden layer", "nlpkit.classify.models.sklearn_models:fit_mlp",
        "nlpkit.classify.models.sklearn_models:fit_labels_mlp",
        "nlpkit.classify.models.sklearn_models:MlpModel", balanced=True, dense=True, hidden=128,
    ),
    "kan": ClassifierKind(
        "Kolmogorov-Arnold network of two layers of splines", "nlpkit.classify.models.kan:fit_kan",
        "nlpkit.classify.models.kan:fit_label_kan",
        "nlpkit.classify.models.kan:KanModel", balanced=True, soft=True, dense=True, hidden=16,
    ),
    "lstm": _word_network("LSTM over words in their order"),
    "cnn": _word_network("convolution over words in their order"),
    "ridge": ClassifierKind("ridge regression", probabilities=False, task="regression", penalty=True),
    "ordinal": ClassifierKind(
        "logistic regressions between ordered classes", "nlpkit.classify.models.logistic:fit_ordinal",
        model="nlpkit.classify.models.logistic:OrdinalModel", balanced=True, task="ordinal", penalty=True,
    ),
    "rules": ClassifierKind("hand-written rules", model="nlpkit.classify.models.rule_list:RuleModel", probabilities=False, learned=False),
}  # fmt: skip


def kinds_with(ability: str, task: str | None = None) -> tuple[str, ...]:
    """Return the names of the kinds that have an ability of `ClassifierKind`, of one task, None for all."""
    return tuple(name for name, kind in KINDS.items() if getattr(kind, ability) and task in (None, kind.task))


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Kind and parameters of a classifier; options that a kind does not have are ignored, except balanced and priors.

    kind: in KINDS.
    alpha: α of Naive Bayes, above 0.
    priors: of nb and bernoulli-nb: "empirical", "uniform", or P(c) by class.
    C: inverse strength of the penalty of logreg, svm, ridge and ordinal, above 0. None, for tf-idf of words: see `penalty`.
    balanced: documents of class j weigh D / (J n_j), multi-label D / (2 n); logreg, svm, mlp, kan, lstm, cnn and ordinal. None: in logreg
        among classes, while there are fewer than `FEW` documents a class, of which it else gives nearly all to the largest.
    k, vote: of knn, see `neighbours.NeighboursModel`; k is lowered to the documents there are.
    hidden: of mlp, kan, lstm and cnn; epochs: of mlp.
    max_iter: of svm, and Newton steps of logreg; the model says if they were not enough.
    """

    kind: str
    alpha: float = 1.0
    priors: ClassPriors = "empirical"
    C: float | None = 1.0
    balanced: bool | None = False
    k: int = 15
    vote: Vote = "similarity"
    hidden: int = 128
    epochs: int = 200
    max_iter: int = 1000

    def __post_init__(self) -> None:
        kind = KINDS.get(self.kind)
        if kind is None:
            raise UsageError(f"unknown model {self.kind!r}; use one of {', '.join(KINDS)}", parameter="model")
        if self.balanced and not kind.balanced:
            able = ", ".join(kinds_with("balanced"))
            uniform = "; priors can be uniform" if kind.priors else ""
            raise UsageError(f"{self.kind} does not weight classes; {able} do{uniform}", parameter="class_weight")
        if self.priors != "empirical" and not kind.priors:
            raise UsageError(
                f"{self.kind} has no class priors; {' and '.join(kinds_with('priors'))} have", parameter="priors"
            )
        if isinstance(self.priors, str) and self.priors not in ("empirical", "uniform"):
            raise UsageError(
                f"priors are empirical, uniform or a number for each class, got {self.priors!r}", parameter="priors"
            )
        if self.vote not in ("similarity", "uniform"):
            raise UsageError(f"neighbours vote by similarity or uniform, got {self.vote!r}", parameter="vote")
        for name, value in (("alpha", self.alpha), ("C", 1.0 if self.C is None else self.C)):
            if not 0 < value < float("inf"):
                raise UsageError(f"{name} must be a number above 0, got {value:g}", parameter=name)
        for name in ("k", "hidden", "epochs", "max_iter"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, got {getattr(self, name)}", parameter=name)

    def penalty(self, n: int, n_classes: int) -> float:
        """Return C for n documents; None is 10 in logreg and ordinal with 16 documents a class or more, else 1.

        Each of several labels, and each place between two ordered classes, is a regression of two classes.
        """
        if self.C is None:
            return WEAK if self.kind in ("logreg", "ordinal") and n >= ROOM * n_classes else 1.0
        return self.C

    def weighs_few(self, n: int, n_classes: int) -> bool:
        """Whether classes weigh alike because n documents are few for so many classes; see `balanced`."""
        return self.balanced is None and self.kind == "logreg" and n < FEW * n_classes
