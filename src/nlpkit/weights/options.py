"""The options of term weighting, feature selection, class terms and keyness, as plain data.

The weight of term v in document d is tf(v, d) · idf(v) / norm(d). Logarithms are natural. M documents, df documents that
hold the term, dl tokens and u different terms of a document.

SMART letters are those of Manning, Raghavan & Schütze (2008, fig. 6.15); `d`, `f`, `x` and what the pivots of `u` and `b`
are come from gensim's `smartirs`, whose logarithms are to the base 2 and whose `t` is log₂((M+1)/df) instead.

Parts, in this order:
- Names of term weightings: how tf, idf and norm are chosen, SMART letters, and the formula a choice stands for.
- The options of weighting and selection.
- The options of class terms and of keyness.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError, unknown_value
from nlpkit.platform.options import TABLE_WRITTEN, Param, options

TF = {
    "raw": "tf",
    "binary": "1",
    "log": "(1 + ln tf)",
    "log1p": "ln(1 + tf)",
    "loglog": "(1 + ln(1 + ln tf))",
    "sqrt": "√tf",
    "augmented": "({a} + {rest}·tf / max tf of the document)",
    "logave": "(1 + ln tf) / (1 + ln mean tf of the document)",
    "bm25": "tf / (tf + {k1}·({one_b} + {b}·dl / mean dl))",
    "bm25-scaled": "{k1_1}·tf / (tf + {k1}·({one_b} + {b}·dl / mean dl))",
}
IDF = {
    "none": "",
    "idf": "ln(M / df)",
    "plus1": "ln(M / (df + 1))",
    "prob": "max{{0, ln((M - df) / df)}}",
    "smooth": "(ln((1 + M) / (1 + df)) + 1)",
    "sklearn": "(ln(M / df) + 1)",
    "rsj": "ln((M - df + 0.5) / (df + 0.5))",
    "lucene": "ln(1 + (M - df + 0.5) / (df + 0.5))",
    "okapi": "ln((M - df + 0.5) / (df + 0.5)) [below 0: 0.25·its mean over the terms]",
}
NORM = {
    "none": "",
    "l1": "each document divided by its L1 norm",
    "l2": "each document divided by its L2 norm",
    "pivoted-unique": "each document divided by {one_slope}·mean u + {slope}·u",
    "pivoted-bytes": "each document divided by {one_slope}·mean bytes + {slope}·bytes",
    "pivoted-l2": "each document divided by {one_slope}·mean L2 norm + {slope}·L2 norm",
}
_ALIASES = {"pivoted": "pivoted-unique", "cosine": "l2", "sublinear": "log"}
_SMART_TF = {"n": "raw", "b": "binary", "l": "log", "a": "augmented", "L": "logave", "d": "loglog"}
_SMART_IDF = {"n": "none", "x": "none", "t": "idf", "f": "idf", "p": "prob"}
_SMART_NORM = {"n": "none", "x": "none", "c": "l2", "u": "pivoted-unique", "b": "pivoted-bytes"}
_LETTERS = {"tf": _SMART_TF, "idf": _SMART_IDF, "norm": _SMART_NORM}


@dataclass(frozen=True, slots=True)
class Scheme:
    """A term weighting tf · idf / norm; the default is the classic tf · ln(M / df).

    tf, idf, norm: names of TF, IDF, NORM, or SMART letters. augment: a of `augmented` (Manning et al.: 0.5). slope: of the pivoted norms
    (Singhal, Buckley & Mitra 1996: 0.2 for `pivoted-unique`). k1, b: of BM25 (Robertson & Zaragoza 2009 §3.5: 1.2 … 2 and
    0.5 … 0.8; the defaults are Lucene's).

    Raises:
        UsageError: an unknown name, or a parameter outside its range.
    """

    tf: str = "raw"
    idf: str = "idf"
    norm: str = "none"
    augment: float = 0.5
    slope: float = 0.2
    k1: float = 1.2
    b: float = 0.75

    def __post_init__(self) -> None:
        for part, names in (("tf", TF), ("idf", IDF), ("norm", NORM)):
            object.__setattr__(self, part, _known(part, getattr(self, part), names))
        for name, high in (("augment", 1.0), ("slope", 1.0), ("b", 1.0), ("k1", float("inf"))):
            value = getattr(self, name)
            if not 0 <= value <= high or value == float("inf"):
                span = "a finite number of 0 or more" if high == float("inf") else "between 0 and 1"
                raise UsageError(f"`{name}={value:g}`: it must be {span}")

    @property
    def smart(self) -> str | None:
        """Its SMART letters, None where there are none for it."""
        letters = ""
        for name, known in ((self.tf, _SMART_TF), (self.idf, _SMART_IDF), (self.norm, _SMART_NORM)):
            matching = [letter for letter, meaning in known.items() if meaning == name]
            if not matching:
                return None
            letters += matching[0]
        return letters

    @property
    def formula(self) -> str:
        """The formula of a weight, on one line, with the parameters filled in."""
        filled = {
            "a": f"{self.augment:g}", "rest": f"{1 - self.augment:g}", "slope": f"{self.slope:g}",
            "one_slope": f"{1 - self.slope:g}", "k1": f"{self.k1:g}", "k1_1": f"{self.k1 + 1:g}", "b": f"{self.b:g}",
            "one_b": f"{1 - self.b:g}",
        }  # fmt: skip
        product = " · ".join(part.format(**filled) for part in (TF[self.tf], IDF[self.idf]) if part)
        norm = NORM[self.norm].format(**filled)
        return f"{product}, {norm}" if norm else product

    @property
    def few_values(self) -> bool:
        """Whether many weights of a corpus are alike: tf and df alone decide them."""
        return self.norm == "none" and self.tf not in ("augmented", "logave", "bm25", "bm25-scaled")


def _known(part: str, name: str, names: dict[str, str]) -> str:
    full_name = _LETTERS[part].get(name) or _ALIASES.get(name, name)
    if full_name not in names:
        raise unknown_value(part, name, names)
    return full_name


PRESETS = {
    "classic": Scheme(),
    "sklearn": Scheme("raw", "smooth", "l2"),
    "bm25": Scheme("bm25", "lucene"),
    "bm25-lucene": Scheme("bm25", "lucene"),
    "bm25-robertson": Scheme("bm25", "rsj"),
    "bm25-atire": Scheme("bm25-scaled", "idf"),
    "bm25-okapi": Scheme("bm25-scaled", "okapi"),
}
_EARLIER_NAMES = {"lecture": "classic"}


def parse_scheme(text: str) -> Scheme:
    """Return the weighting of a preset (classic, sklearn, bm25 …) or of three SMART letters for documents, such as ltc.

    tf: n raw, b binary, l 1 + ln tf, a augmented, L log average, d double log. idf: n or x none, t or f ln(M / df),
    p max{0, ln((M - df) / df)}. norm: n or x none, c cosine, u pivoted unique, b pivoted bytes. The variants of BM25 are
    those of Kamphuis et al. (2020) and of the package rank-bm25 (okapi).

    Raises:
        UsageError: neither.
    """
    text = _EARLIER_NAMES.get(text, text)
    if text in PRESETS:
        return PRESETS[text]
    if len(text) == 7 and text[3] == ".":
        raise UsageError(
            f"`scheme={text}` has letters for documents and for queries; give only the three letters of the documents, {text[:3]}"
        )
    if len(text) == 3 and not get_close_matches(text, PRESETS, n=1, cutoff=0.8):
        known = (("tf", _SMART_TF), ("idf", _SMART_IDF), ("norm", _SMART_NORM))
        tf, idf, norm = (
            _letter(text, part, letter, meanings) for letter, (part, meanings) in zip(text, known, strict=True)
        )
        return Scheme(tf, idf, norm)
    near = get_close_matches(text, PRESETS, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise UsageError(
        f"`scheme={text}` is not known; give three SMART letters such as ltc, or one of {', '.join(PRESETS)}{hint}"
    )


def with_parts(scheme: Scheme, **parts: str | float | None) -> Scheme:
    """Return the scheme with those parts replaced that are not None."""
    return replace(scheme, **{name: value for name, value in parts.items() if value is not None})  # type: ignore[arg-type]


def _letter(text: str, part: str, letter: str, known: dict[str, str]) -> str:
    if letter not in known:
        choices = ", ".join(f"{k} {v}" for k, v in known.items())
        raise UsageError(f"`scheme={text}`: '{letter}' is not a SMART letter for {part} ({choices})")
    return known[letter]


# ------------------------------------------------------------------------------------------------------------------------
# Options of term weighting and feature selection, as plain data.

_NEEDS = {"k1": ("tf", "bm25"), "b": ("tf", "bm25"), "slope": ("norm", "pivoted"), "augment": ("tf", "augmented")}


@options
class WeightOptions:
    """Options of term weighting; the default is tf · ln(M / df)."""

    PANEL: ClassVar[str] = "Weights"

    scheme: Annotated[
        str | None,
        Param(
            "Weighting by name: classic (tf · ln(M/df)), sklearn (as TfidfVectorizer; with `tf` log as its sublinear_tf), "
            "bm25, bm25-robertson, bm25-atire or bm25-okapi. Or three SMART letters such as ltc (tf n b l a L d, idf n t p, "
            "norm n c u b).",
            ("scheme", "like"),
            metavar="NAME",
        ),
    ] = None
    tf: Annotated[
        str | None,
        Param(
            "Term frequency: raw, binary, log, log1p, loglog, sqrt, augmented, logave, bm25, or a SMART letter.",
            metavar="NAME",
        ),
    ] = None
    idf: Annotated[
        str | None,
        Param(
            "Inverse document frequency: idf ln(M/df); plus1 ln(M/(df+1)); prob max{0, ln((M-df)/df)}; smooth and "
            "sklearn (scikit-learn with and without smoothing); rsj, lucene or okapi (BM25); none; or a SMART "
            "letter.",
            metavar="NAME",
        ),
    ] = None
    norm: Annotated[
        str | None,
        Param(
            "Document normalisation: none, l1, l2, pivoted-unique, pivoted-bytes, pivoted-l2, or a SMART letter.",
            metavar="NAME",
        ),
    ] = None
    bm25: Annotated[bool, Param("Weight by BM25 as Lucene does (the same as `scheme` bm25).")] = False
    k1: Annotated[float | None, Param("Saturation of term frequency in BM25.", panel="More")] = None
    b: Annotated[float | None, Param("Length normalisation in BM25, from 0 (none) to 1.", panel="More")] = None
    slope: Annotated[float | None, Param("Slope of a pivoted norm, from 0 to 1.", panel="More")] = None
    augment: Annotated[
        float | None, Param("Minimum term frequency with `tf` augmented, from 0 to 1.", panel="More")
    ] = None

    def weighting(self) -> Scheme:
        """Return the weighting asked for.

        Raises:
            UsageError: unknown names, options that contradict each other, or a parameter of another weighting.
        """

        if self.scheme and self.bm25:
            raise UsageError("`scheme` and `bm25` each set the whole weighting; keep one", parameter="bm25")
        base = parse_scheme(self.scheme) if self.scheme else PRESETS["bm25"] if self.bm25 else Scheme()
        scheme = with_parts(base, tf=self.tf, idf=self.idf, norm=self.norm)
        for name, (part, start) in _NEEDS.items():
            if getattr(self, name) is not None and not getattr(scheme, part).startswith(start):
                raise UsageError(f"`{name}` belongs to {start}, but {part} is {getattr(scheme, part)}", parameter=name)
        return with_parts(scheme, k1=self.k1, b=self.b, slope=self.slope, augment=self.augment)


@options
class SelectionOptions:
    """Options of feature selection: the features to keep, and the classes they are kept for."""

    PANEL: ClassVar[str] = "Selection"

    select: Annotated[
        str | None,
        Param(
            "Keep the N terms (or a share such as 0.1) that separate the classes best, as SCORE:N. Scores: chi2, "
            "chi2-counts, chi2-presence, cramer-v, cramer-v-usual, mi, entropy, gini, gini-norm, pmi-avg, pmi-max, "
            "anova-f, anova-f-weights. Without :N all terms are kept.",
            metavar="SCORE:N",
        ),
    ] = None
    by: Annotated[
        str | None,
        Param(
            "Column with the classes. Default: label. date:year (decade, quarter, month, week, day) uses a part of "
            "a date.",
            metavar="COLUMN",
        ),
    ] = None
    features: Annotated[
        Path | None, Param("Table of the best features of each class.", metavar="FILE"), TABLE_WRITTEN
    ] = None
    top_n: Annotated[int, Param("Number of features per class in that table.", min=1)] = 30


# ------------------------------------------------------------------------------------------------------------------------
# Options of class terms and of keyness, as plain data.

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
