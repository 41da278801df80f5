"""Names of term weightings: how tf, idf and norm are chosen, SMART letters, and the formula a choice stands for.

The weight of term v in document d is tf(v, d) · idf(v) / norm(d). Logarithms are natural. M documents, df documents that
hold the term, dl tokens and u different terms of a document.

SMART letters are those of Manning, Raghavan & Schütze (2008, fig. 6.15); `d`, `f`, `x` and what the pivots of `u` and `b`
are come from gensim's `smartirs`, whose logarithms are to the base 2 and whose `t` is log₂((M+1)/df) instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches

from nlpkit.errors import UsageError, unknown_value

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
