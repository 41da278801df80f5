"""The kinds of classifiers by name, and the options of one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nlpkit.classify.naive_bayes import ClassPriors
from nlpkit.errors import UsageError

if TYPE_CHECKING:
    from nlpkit.classify.neighbours import Vote

FEW = 64  # documents of a class, on average; below, a logistic regression needs weights, and fine-tuning SetFit
ROOM = 16  # documents of a class, on average, from which on a weak penalty suits words (docs/benchmarks/classify.md)
WEAK = 10.0  # C of that penalty


@dataclass(frozen=True, slots=True)
class ClassifierKind:
    """A kind of classifier: its name in words, its requirements and its abilities.

    probabilities: has them without calibration; balanced: classes can be weighed; multi_label: documents may have several
    labels; soft: learns shares of classes; linear: the model is a LinearModel; learned: from training documents; task: what labels it
    is for; ordered: it reads words in their order (`word_networks.WordRows`).
    """

    name: str
    probabilities: bool = True
    balanced: bool = False
    multi_label: bool = True
    soft: bool = False
    linear: bool = True
    learned: bool = True
    task: str = "classes"
    ordered: bool = False


KINDS: dict[str, ClassifierKind] = {
    "nb": ClassifierKind("multinomial Naive Bayes", soft=True),
    "bernoulli-nb": ClassifierKind("Bernoulli Naive Bayes on which words are present", soft=True),
    "complement-nb": ClassifierKind("complement Naive Bayes, for classes of unequal size", soft=True),
    "logreg": ClassifierKind("logistic regression", balanced=True, soft=True),
    "svm": ClassifierKind("linear support vector machine", probabilities=False, balanced=True),
    "knn": ClassifierKind("k nearest documents by cosine", linear=False),
    "centroid": ClassifierKind("nearest mean of a class", probabilities=False, multi_label=False),
    "mlp": ClassifierKind("neural network of one hidden layer", balanced=True, linear=False),
    "kan": ClassifierKind("Kolmogorov-Arnold network of two layers of splines", balanced=True, linear=False, soft=True),
    "lstm": ClassifierKind("LSTM over words in their order", balanced=True, linear=False, ordered=True, soft=True),
    "cnn": ClassifierKind(
        "convolution over words in their order", balanced=True, linear=False, ordered=True, soft=True
    ),
    "ridge": ClassifierKind("ridge regression", probabilities=False, multi_label=False, task="regression"),
    "ordinal": ClassifierKind(
        "logistic regressions between ordered classes", balanced=True, multi_label=False, linear=False, task="ordinal"
    ),
    "rules": ClassifierKind("hand-written rules", probabilities=False, linear=False, learned=False),
}


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
            able = ", ".join(name for name, other in KINDS.items() if other.balanced)
            uniform = "; priors can be uniform" if self.kind in ("nb", "bernoulli-nb") else ""
            raise UsageError(f"{self.kind} does not weight classes; {able} do{uniform}", parameter="class_weight")
        if self.priors != "empirical" and self.kind not in ("nb", "bernoulli-nb"):
            raise UsageError(f"{self.kind} has no class priors; nb and bernoulli-nb have", parameter="priors")
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
