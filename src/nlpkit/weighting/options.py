"""Options of term weighting and feature selection, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.parameters import TABLE_WRITTEN, Param, options

if TYPE_CHECKING:
    from nlpkit.weighting.schemes import Scheme

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
        from nlpkit.weighting.schemes import PRESETS, Scheme, parse_scheme, with_parts

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
