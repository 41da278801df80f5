"""Options of active learning, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError, unknown_value
from nlpkit.platform.options import READ, WRITTEN, Param, names_in, options

ENTROPY, MARGIN, LEAST_CONFIDENT = "entropy", "margin", "least-confident"
RANDOM, DIVERSE, CORE_SET, BADGE = "random", "diverse", "core-set", "badge"
UNCERTAINTIES = (ENTROPY, MARGIN, LEAST_CONFIDENT)
STRATEGIES = (*UNCERTAINTIES, RANDOM, DIVERSE, CORE_SET, BADGE)
BY_PROBABILITIES = (*UNCERTAINTIES, BADGE)
BY_VECTORS = (DIVERSE, CORE_SET, BADGE)
VECTORS = ("embedding", "tfidf")
PICTURES = (".png", ".svg", ".html")


def check_strategy(by: str) -> str:
    """Return the name of a strategy. Raises UsageError when there is none of that name."""
    if by not in STRATEGIES:
        raise unknown_value("by", by, STRATEGIES)
    return by


def check_strategies(names: list[str]) -> tuple[str, ...]:
    """Return the names of strategies, each once; all where none is named, or `all`. Raises UsageError for one that is not there."""
    if not names or names == ["all"]:
        return STRATEGIES
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise UsageError(f"`by` names {twice} twice; name each strategy once", parameter="by")
    return tuple(map(check_strategy, names))


@options
class ActiveOptions:
    """Options of the choice of texts to label next.

    Raises:
        UsageError: an unknown name, or options that contradict each other.
    """

    PANEL: ClassVar[str] = "Choice of texts"

    model: Annotated[
        Path | None,
        Param("Classifier to improve: a run of `train_classifier()` or finetune. Without one, texts are chosen by "
              "diversity.", metavar="RUN"),
        READ,
    ] = None  # fmt: skip
    by: Annotated[
        str | None,
        Param(
            "How to choose texts: entropy, margin, least-confident, random, diverse, core-set or badge. Default: "
            "margin with a `model`, otherwise diverse.",
            metavar="NAME",
            choices=STRATEGIES,
        ),
    ] = None
    batch_size: Annotated[int, Param("Number of texts to choose.", metavar="N", min=1)] = 20
    labelled: Annotated[
        tuple[Path, ...],
        Param(
            "Texts that already have labels and must not be chosen, even if they occur in another file. Repeat the "
            "option for several files. Input documents with a label are left out too.",
            metavar="FILE",
        ),
        READ,
    ] = ()
    relabel: Annotated[
        bool, Param("Also choose documents that already have a label, for example to get a second opinion.")
    ] = False
    vectors: Annotated[
        str,
        Param(
            "Vectors for diverse, core-set and badge: embedding (the column if present, otherwise computed) or "
            "tfidf (from the tokens).",
            metavar="NAME",
            choices=VECTORS,
        ),
    ] = "embedding"
    page: Annotated[
        Path | None,
        Param(
            "HTML page on which a person labels the texts. NAME.csv (for a spreadsheet) and NAME.key.json are "
            "written next to it.",
            metavar="NAME.html",
        ),
        WRITTEN,
    ] = None
    labels: Annotated[
        str | tuple[str, ...] | None,
        Param("Labels offered on the page. Default: the classes of the `model`.", metavar="NAME,…", needs=("page",)),
    ] = None

    def __post_init__(self) -> None:
        """Check what can be checked without documents."""
        by = self.strategy
        if by in BY_PROBABILITIES and self.model is None:
            raise UsageError(
                f"`by={by}` needs a classifier: name its run with `model`, or start with `by=diverse`",
                parameter="by",
            )
        names = self.label_names()
        if self.page is not None and self.model is None and not names:
            raise UsageError(
                "the page needs labels to choose from. Without a `model`, name them: `labels=sports,politics`",
                parameter="labels",
            )
        if names and (len(names) < 2 or len(set(names)) < len(names)):
            raise UsageError(
                f"`labels={','.join(names)}`: at least two different labels are needed, such as sports,politics",
                parameter="labels",
            )

    @property
    def strategy(self) -> str:
        """The strategy in force."""
        return self.by or ("diverse" if self.model is None else "margin")

    def label_names(self) -> list[str]:
        """Return the labels of the page, none for the classes of the model."""
        return names_in(self.labels)


@options
class ActiveCurveOptions:
    """Options of the comparison of strategies on a corpus that is labelled.

    Raises:
        UsageError: an unknown name, or a number that cannot be.
    """

    PANEL: ClassVar[str] = "Comparison"

    by: Annotated[
        str | tuple[str, ...],
        Param(
            "Strategies to compare with random choice: all, or a list from entropy, margin, least-confident, "
            "diverse, core-set, badge.",
            metavar="all|NAME,…",
        ),
    ] = "all"
    rounds: Annotated[
        int, Param("Number of rounds. The texts of the first round are drawn at random.", metavar="N", min=1)
    ] = 8
    batch_size: Annotated[int, Param("Number of texts labelled in each round.", metavar="N", min=1)] = 16
    seeds: Annotated[int, Param("Number of repetitions. Each has its own test documents.", metavar="N", min=1)] = 5
    test_share: Annotated[
        float, Param("Share of the documents used to score the classifiers.", metavar="SHARE", above=0, below=1)
    ] = 0.3
    model: Annotated[
        str, Param("Classifier on the vectors: logreg, or nb (tfidf only).", metavar="NAME", choices=("logreg", "nb"))
    ] = "logreg"
    cost: Annotated[
        float, Param("Inverse regularisation of logreg: higher = weaker.", ("cost", "C"), metavar="N", above=0)
    ] = 10.0
    vectors: Annotated[
        str,
        Param(
            "Vectors of the texts: embedding (the column if present, otherwise computed) or tfidf (from the tokens).",
            metavar="NAME",
            choices=VECTORS,
        ),
    ] = "embedding"
    ci: Annotated[
        float,
        Param("Confidence level of the intervals over repetitions; 0 = no intervals.", metavar="LEVEL", min=0, below=1),
    ] = 0.95
    plot: Annotated[
        Path | None, Param("Picture of the learning curves (.png, .svg or .html).", metavar="FILE"), WRITTEN
    ] = None

    def __post_init__(self) -> None:
        """Check what can be checked without documents."""
        self.strategies()
        if self.model == "nb" and self.vectors == "embedding":
            raise UsageError(
                "`model=nb` does not accept negative numbers, and embeddings have them; add `vectors=tfidf`",
                parameter="model",
            )
        if self.plot is not None and self.plot.suffix.lower() not in PICTURES:
            raise UsageError(f"`plot={self.plot}`: a picture is one of {' '.join(PICTURES)}", parameter="plot")

    def strategies(self) -> tuple[str, ...]:
        """Return the strategies, random choice among them."""
        return tuple(dict.fromkeys((RANDOM, *check_strategies(names_in(self.by)))))
