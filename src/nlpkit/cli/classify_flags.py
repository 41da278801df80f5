"""Options of `nlpkit classify`: which documents train and test, which model, and what is told of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nlpkit.cli.options import READ_LIST, Files
from nlpkit.cli.token_flags import TextFlags
from nlpkit.errors import UsageError

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
        typer.Option(metavar="FILE", help="Labelled documents to score the model on.", show_default=False),
    ] = None
    split: Annotated[
        str | None,
        typer.Option(
            metavar="COL[=VALUE]",
            help="Column that says train or test; with =VALUE: rows of that value are the test.",
            show_default=False,
        ),
    ] = None
    cv: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="K",
            help="Cross-validation in K folds; the default, in 5, without --test.",
            show_default=False,
        ),
    ] = None
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COL", help="Documents of one value (an author, a thread) stay in one fold.", show_default=False
        ),
    ] = None
    label_sep: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Several labels in a cell, apart by this: ';'. A column of lists needs no option.",
            show_default=False,
        ),
    ] = None
    predict: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also predict these documents, into run/predictions.parquet.", show_default=False
        ),
    ] = None
    twins: Annotated[
        float,
        typer.Option(
            metavar="S", help="Test documents this similar to a training document are reported; 0: not looked for."
        ),
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
        typer.Option(
            metavar="NAME|RUN",
            help="nb, bernoulli-nb, complement-nb, logreg, svm, knn, centroid, mlp; auto compares them; or a run directory, "
            "to predict.",
        ),
        Files(but=MODELS),
    ] = "logreg"
    on: Annotated[
        str | None,
        typer.Option(
            metavar="words|embedding",
            help="What the model sees; default: embeddings for knn, centroid and mlp, else words.",
            show_default=False,
        ),
    ] = None
    select: Annotated[
        str | None,
        typer.Option(
            metavar="SCORE:N",
            help="Keep the N words (or a share: 0.1) that tell the classes apart best, as in nlpkit tfidf: chi2:5000.",
            show_default=False,
        ),
    ] = None
    hand_features: Annotated[
        str | None,
        typer.Option(
            metavar="all|NAME,…",
            help="Also lengths, punctuation, capitals, digits …; for logreg and svm.",
            show_default=False,
        ),
    ] = None
    alpha: Annotated[float, typer.Option(help="Naive Bayes: added to each count.")] = 1.0
    priors: Annotated[
        str,
        typer.Option(
            metavar="empirical|uniform|P,P,…", help="Naive Bayes: of the classes, in the order of their names."
        ),
    ] = "empirical"
    cost: Annotated[float, typer.Option("--cost", "-C", help="logreg, svm: the larger, the less is regularised.")] = 1.0
    class_weight: Annotated[
        str,
        typer.Option(
            metavar="none|balanced",
            help="logreg, svm, mlp: balanced gives each class the same weight, in --calibrate as well; probabilities are then those "
            "of classes of equal size.",
        ),
    ] = "none"
    neighbors: Annotated[int, typer.Option(min=1, help="knn: documents that vote.")] = 15
    hidden: Annotated[int, typer.Option(min=1, help="mlp: units of its layer.")] = 128
    calibrate: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            help="Probabilities from folds of the training documents: none, sigmoid, isotonic or temperature.",
        ),
    ] = "none"
    budget: Annotated[float, typer.Option(min=1, metavar="SECONDS", help="auto: time for the comparison.")] = 300.0
    zero_shot: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES|FILE",
            help="No training: the nearest of these labels by embedding: 'sports,politics', 'sports: games, …; politics: …', "
            "or a table of label and description.",
            show_default=False,
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

    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="A column with the probability of every label by name.")
    ] = False
    explain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="With --model RUN: the words that pushed the decision on this document.",
            show_default=False,
        ),
    ] = None
    top_n: Annotated[int, typer.Option("--top-n", min=1, help="Most telling words of each class.")] = 15
    ci: Annotated[float, typer.Option("--ci", help="Level of the intervals; 0 for none.")] = 0.95

    def level(self) -> float | None:
        """Return the level, None for no intervals. Raises UsageError when it is none."""
        from nlpkit.metrics.bootstrap import check_level

        return None if self.ci == 0 else check_level(self.ci)


@dataclass(frozen=True, slots=True)
class ClassifyTextFlags(TextFlags):
    """How texts are cut; stop words stay, they tell classes apart (lecture L1935)."""

    tokenizer: Annotated[
        str,
        typer.Option(
            help="auto = runs of letters and digits, as sklearn; words where a script has no spaces, or with --keep, --segment, "
            "--min-length; whitespace; chars:3 or chars:3-5."
        ),
    ] = "auto"
    stop_words: Annotated[
        str,
        typer.Option(
            help="none = they stay; auto = those of the language; codes such as en,de; files with more words, or patterns."
        ),
        READ_LIST,
    ] = "none"

    # refused, with the reason: they look at all documents, or give what no classifier uses
    auto_stop: Annotated[float | None, typer.Option(hidden=True)] = None
    entities: Annotated[bool, typer.Option("--entities", hidden=True)] = False

    @property
    def adapts(self) -> bool:
        """Whether it is for the texts to say how they are cut."""
        plain = TextFlags()
        asks = ("keep", "segment", "min_length", "token_pattern", "spacy", "pos", "entities")
        return (
            self.tokenizer == "auto"
            and self.lemma != "spacy"
            and all(getattr(self, name) == getattr(plain, name) for name in asks)
        )

    def options(self) -> PreprocessOptions:
        """Return the options of the core; raises as TextFlags.options."""
        if self.entities:
            raise UsageError(
                "--entities makes a column that no classifier uses; leave it out, or give it to nlpkit preprocess"
            )
        if self.tokenizer != "auto":
            return TextFlags.options(self)
        return TextFlags.options(replace(self, tokenizer="sklearn" if self.adapts else "words"))
