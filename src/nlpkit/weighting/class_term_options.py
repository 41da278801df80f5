"""Options of class terms and of keyness, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.parameters import Param, options

WEIGHTINGS = ("ctfidf", "importance", "keyness")


By = Annotated[
    str,
    Param(
        "Column with the classes, such as label, topic or source. date:year (decade, quarter, month, week, "
        "day) uses a part of a date."
    ),
]
TopN = Annotated[int, Param("Number of terms per class.", min=1)]
Target = Annotated[
    str | None,
    Param("Compare this class with `reference` by keyness, with effect sizes and dispersion.", metavar="CLASS"),
]
Reference = Annotated[
    str | None,
    Param("Class to compare `target` with. Default: all others.", metavar="CLASS", needs=("target",)),
]
Parts = Annotated[
    str | None,
    Param(
        "Column that divides a class into parts, over which `target` measures dispersion. Default: the documents.",
        metavar="COLUMN",
        needs=("target",),
    ),
]
PriorWords = Annotated[
    float | None, Param("keyness: size of the prior in words. Default: the mean number of words per class.")
]


@options
class KeynessOptions:
    """Options of keyness: the groups of documents, and the two that are compared.

    Raises:
        UsageError: `reference` or `parts` without `target`, or the same group twice.
    """

    PANEL: ClassVar[str] = "Groups"

    by: By = "label"
    target: Target = None
    reference: Reference = None
    parts: Parts = None
    top_n: TopN = 30
    prior_words: PriorWords = None

    def __post_init__(self) -> None:
        """Check what can be checked without documents."""
        _check_sides(self)


@options
class ClassTermOptions:
    """Options of class terms: the classes, and the weighting of their terms.

    Raises:
        UsageError: a weighting that is none, an option of another weighting, or the same column twice.
    """

    PANEL: ClassVar[str] = "Classes"

    by: By = "label"
    over: Annotated[
        str | None,
        Param("Second column, crossed with the first: each pair of values is a class.", excludes=("target",)),
    ] = None
    top_n: TopN = 30
    weighting: Annotated[
        str | None,
        Param(
            "Weighting: ctfidf (class-based tf-idf; default), importance (φ·(log φ − mean log φ), as in R's lda "
            "and tosca) or keyness (default with `target`). keyness gives log-odds against the other classes, "
            "z-scores, G² and effect sizes.",
            choices=WEIGHTINGS,
        ),
    ] = None
    target: Target = None
    reference: Reference = None
    parts: Parts = None
    reduce_frequent_words: Annotated[
        bool, Param("ctfidf: take the square root of the first factor.", off="no_reduce_frequent_words")
    ] = False
    bm25: Annotated[
        bool,
        Param(
            "ctfidf: use ln(1 + (A - tf + 0.5) / (tf + 0.5)) as the second factor.",
            ("bm25", "bm25_weighting"),
            off="no_bm25",
        ),
    ] = False
    compat: Annotated[
        str | None,
        Param(
            "bertopic = ctfidf as BERTopic computes it, with A rounded down to a whole number.", choices=("bertopic",)
        ),
    ] = None
    epsilon: Annotated[float | None, Param("importance: number added to shares. Default: 1e-5.")] = None
    prior_words: PriorWords = None

    def __post_init__(self) -> None:
        """Check what can be checked without documents."""
        belongs = {
            "reduce_frequent_words": ("ctfidf", self.reduce_frequent_words),
            "bm25": ("ctfidf", self.bm25),
            "compat": ("ctfidf", self.compat is not None),
            "epsilon": ("importance", self.epsilon is not None),
            "prior_words": ("keyness", self.prior_words is not None),
            "target": ("keyness", self.target is not None),
        }
        for name, (weighting, is_set) in belongs.items():
            if is_set and weighting != self.scheme:
                raise UsageError(f"`{name}` needs `weighting={weighting}`, not {self.scheme}", parameter=name)
        if self.over == self.by:
            raise UsageError(f"`by` and `over` are both '{self.by}'; cross it with another column", parameter="over")
        _check_sides(self)

    @property
    def scheme(self) -> str:
        """The weighting in force."""
        return self.weighting or ("ctfidf" if self.target is None else "keyness")


def _check_sides(options: KeynessOptions | ClassTermOptions) -> None:
    """Raise UsageError for a target that is its own reference."""
    if options.target is not None and options.reference == options.target:
        raise UsageError(f"`target` and `reference` are both '{options.target}'", parameter="reference")
