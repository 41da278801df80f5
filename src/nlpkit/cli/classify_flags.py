"""Options of `nlpkit classify`: which documents train and test, which model, and what is told of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from nlpkit.errors import UsageError
from nlpkit.parameters import READ_LIST, Files, Param
from nlpkit.text.options import TextOptions

if TYPE_CHECKING:
    from nlpkit.classify.calibration import Method
    from nlpkit.classify.naive_bayes import Priors
    from nlpkit.text.options import PreprocessOptions

# what --model takes by name, also where a directory is called like that: ./nb is a run then
MODELS = ("nb", "bernoulli-nb", "complement-nb", "logreg", "svm", "knn", "centroid", "mlp", "auto")


@dataclass(frozen=True, slots=True)
class DataFlags:
    """Which documents the model learns from, and which it is scored on."""

    test: Annotated[
        Path | None,
        Param("Labelled documents to score the model on.", metavar="FILE"),
    ] = None
    split: Annotated[
        str | None,
        Param("Column that says train or test; with =VALUE: rows of that value are the test.", metavar="COL[=VALUE]"),
    ] = None
    cv: Annotated[
        int | None,
        Param("Cross-validation in K folds; the default, in 5, without --test.", metavar="K", min=2),
    ] = None
    groups: Annotated[
        str | None,
        Param("Documents of one value (an author, a thread) stay in one fold.", metavar="COL"),
    ] = None
    label_sep: Annotated[
        str | None,
        Param("Several labels in a cell, apart by this: ';'. A column of lists needs no option.", metavar="TEXT"),
    ] = None
    predict: Annotated[
        Path | None,
        Param("Also predict these documents, into run/predictions.parquet.", metavar="FILE"),
    ] = None
    twins: Annotated[
        float,
        Param("Test documents this similar to a training document are reported; 0: not looked for.", metavar="S"),
    ] = 0.9

    def check(self) -> None:
        """Raise UsageError for options that contradict each other."""
        given = [o for o, v in (("--test", self.test), ("--split", self.split), ("--cv", self.cv)) if v is not None]
        if len(given) > 1:
            raise UsageError(f"{' and '.join(given)} each say what the model is scored on; keep one")
        if self.groups is not None and (self.test is not None or self.split is not None):
            raise UsageError("--groups is about the folds of --cv; leave it out")
        if self.twins and not 0.3 <= self.twins <= 1:
            raise UsageError(f"--twins {self.twins:g}: a similarity from 0.3 to 1 is needed, or 0 for none")
        if self.label_sep == "":
            raise UsageError("--label-sep needs the text between two labels, such as ';'")


@dataclass(frozen=True, slots=True)
class ModelFlags:
    """Which classifier, and how it is fitted."""

    model: Annotated[
        str,
        Param(
            "nb, bernoulli-nb, complement-nb, logreg, svm, knn, centroid, mlp; auto compares them; or a run directory, "
            "to predict.",
            metavar="NAME|RUN",
        ),
        Files(but=MODELS),
    ] = "logreg"
    on: Annotated[
        str | None,
        Param(
            "What the model sees; default: embeddings for knn, centroid and mlp, else words.", metavar="words|embedding"
        ),
    ] = None
    select: Annotated[
        str | None,
        Param(
            "Keep the N words (or a share: 0.1) that tell the classes apart best, as in nlpkit tfidf: chi2:5000.",
            metavar="SCORE:N",
        ),
    ] = None
    hand_features: Annotated[
        str | None,
        Param("Also lengths, punctuation, capitals, digits …; for logreg and svm.", metavar="all|NAME,…"),
    ] = None
    alpha: Annotated[float, Param("Naive Bayes: added to each count.")] = 1.0
    priors: Annotated[
        str,
        Param("Naive Bayes: of the classes, in the order of their names.", metavar="empirical|uniform|P,P,…"),
    ] = "empirical"
    cost: Annotated[float, Param("logreg, svm: the larger, the less is regularised.", ("cost", "C"))] = 1.0
    class_weight: Annotated[
        str,
        Param(
            "logreg, svm, mlp: balanced gives each class the same weight, in --calibrate as well; probabilities are then those "
            "of classes of equal size.",
            metavar="none|balanced",
        ),
    ] = "none"
    neighbors: Annotated[int, Param("knn: documents that vote.", min=1)] = 15
    hidden: Annotated[int, Param("mlp: units of its layer.", min=1)] = 128
    calibrate: Annotated[
        str,
        Param(
            "Probabilities from folds of the training documents: none, sigmoid, isotonic or temperature.",
            metavar="METHOD",
        ),
    ] = "none"
    budget: Annotated[float, Param("auto: time for the comparison.", metavar="SECONDS", min=1)] = 300.0
    zero_shot: Annotated[
        str | None,
        Param(
            "No training: the nearest of these labels by embedding: 'sports,politics', 'sports: games, …; politics: …', "
            "or a table of label and description.",
            metavar="NAMES|FILE",
        ),
        READ_LIST,
    ] = None

    def check(self) -> None:
        """Raise UsageError for values that cannot be meant."""
        for option, value, known in (
            ("--on", self.on or "words", ("words", "embedding")),
            ("--class-weight", self.class_weight, ("none", "balanced")),
        ):
            if value not in known:
                raise UsageError(f"{option} {value}: there are {', '.join(known)}")
        if not 0 < self.alpha < float("inf"):
            raise UsageError(f"--alpha {self.alpha:g}: a number above 0 is needed")
        if not 0 < self.cost < float("inf"):
            raise UsageError(f"--cost {self.cost:g}: a number above 0 is needed")

    def is_run(self) -> bool:
        """Whether the model is a run directory: a path, or a directory whose name is that of no model."""
        return "/" in self.model or (self.model not in MODELS and Path(self.model).is_dir())

    def calibration(self) -> Method | None:
        """Return how probabilities are calibrated, None for not at all. Raises UsageError."""
        known: dict[str, Method] = {"sigmoid": "sigmoid", "isotonic": "isotonic", "temperature": "temperature"}
        if self.calibrate not in (*known, "none"):
            raise UsageError(f"--calibrate {self.calibrate}: there are none, {', '.join(known)}")
        return known.get(self.calibrate)

    def class_priors(self) -> Priors:
        """Return empirical, uniform or the probabilities that were given. Raises UsageError."""
        named: dict[str, Priors] = {"empirical": "empirical", "uniform": "uniform"}
        if self.priors in named:
            return named[self.priors]
        try:
            return tuple(float(p) for p in self.priors.split(","))
        except ValueError:
            raise UsageError(
                f"--priors {self.priors}: empirical, uniform or a probability for each class, such as 0.3,0.7"
            ) from None


@dataclass(frozen=True, slots=True)
class TellFlags:
    """What is told of a classifier."""

    probabilities: Annotated[bool, Param("A column with the probability of every label by name.")] = False
    explain: Annotated[
        list[str] | None,
        Param("With --model RUN: the words that pushed the decision on this document.", metavar="ID"),
    ] = None
    top_n: Annotated[int, Param("Most telling words of each class.", min=1)] = 15
    ci: Annotated[float, Param("Level of the intervals; 0 for none.")] = 0.95

    def level(self) -> float | None:
        """Return the level, None for no intervals. Raises UsageError when it is none."""
        from nlpkit.metrics.bootstrap import check_level

        return None if self.ci == 0 else check_level(self.ci)


@dataclass(frozen=True, slots=True)
class ClassifyTextFlags(TextOptions):
    """How texts are cut; stop words stay, they tell classes apart (lecture L1935)."""

    tokenizer: Annotated[
        str,
        Param(
            "auto = runs of letters and digits, as sklearn; words where a script has no spaces, or with --keep, --segment, "
            "--min-length; whitespace; chars:3 or chars:3-5."
        ),
    ] = "auto"
    stop_words: Annotated[
        str,
        Param(
            "none = they stay; auto = those of the language; codes such as en,de; files with more words, or patterns."
        ),
        READ_LIST,
    ] = "none"

    # refused, with the reason: they look at all documents, or give what no classifier uses
    auto_stop: Annotated[float | None, Param("")] = None
    entities: Annotated[bool, Param("")] = False

    @property
    def adapts(self) -> bool:
        """Whether it is for the texts to say how they are cut."""
        plain = TextOptions()
        asks = ("keep", "segment", "min_length", "token_pattern", "spacy", "pos", "entities")
        return (
            self.tokenizer == "auto"
            and self.lemma != "spacy"
            and all(getattr(self, name) == getattr(plain, name) for name in asks)
        )

    def options(self) -> PreprocessOptions:
        """Return the options of the core; raises as `preprocess_options`."""
        from nlpkit.workflows.token_options import preprocess_options

        if self.entities:
            raise UsageError(
                "--entities makes a column that no classifier uses; leave it out, or give it to nlpkit preprocess"
            )
        if self.tokenizer != "auto":
            return preprocess_options(self)
        return preprocess_options(replace(self, tokenizer="sklearn" if self.adapts else "words"))
