"""Features of texts as columns of a table: counts, shares and means, readability, lexical diversity, parts of speech.

A feature that is not defined for a text (a mean of no words, a window longer than the text) is null, never NaN; counts are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from nlpkit.errors import UsageError, unknown_value
from nlpkit.metrics.texts.corpus import lexical_diversity
from nlpkit.platform.types import BoolArray, FloatArray, ranges
from nlpkit.text.normalize import Normalizer
from nlpkit.text.spacy_tokens import UNIVERSAL_POS, SpacyTokens
from nlpkit.text.stopwords import clitics
from nlpkit.text.surface import RATIOS, UNSPACED, readability, surface_counts, surface_ratio
from nlpkit.text.tokenize import scan_tokens


@dataclass(frozen=True, slots=True)
class TextFeature:
    """A feature: the group it belongs to and its formula; languages: those it is for, none for all."""

    group: str
    formula: str
    languages: tuple[str, ...] = ()


_COUNTS = {  # feature: column of `surface_counts`, what is counted
    "characters": ("characters", "characters (code points), with white space and links"),
    "letters": ("letters", "letters outside of links"),
    "upper_letters": ("upper", "upper-case letters"),
    "digits": ("digits", "decimal digits"),
    "punctuation": ("punctuation", "punctuation characters (Unicode P)"),
    "words": ("words", "runs of letters, marks and numbers (don't is one); of Han, Kana and Thai each letter"),
    "types": ("types", "different words, case aside"),
    "all_caps": ("capitals", "words of two letters or more that are all upper case"),
    "sentences": ("sentences", "sentences, which end with .!?… before white space, with 。！？, a blank line or the text, and have a word"),
    "line_breaks": ("breaks", "line breaks, also <br>"),
    "exclamations": ("exclamations", "exclamation marks"),
    "questions": ("questions", "question marks"),
    "quotes": ("quotes", "quotation marks"),
    "links": ("links", "web addresses"),
    "mentions": ("mentions", "@names"),
    "hashtags": ("hashtags", "#words"),
    "emoji": ("emoji", "emoji; families, flags and skin tones are one each"),
}  # fmt: skip
_RATIOS = {
    "word_length": "characters in words / words",
    "sentence_length": "words / sentences",
    "type_token_ratio": "types / words",
    "upper_share": "upper_letters / letters",
    "capital_words": "all_caps / words",
    "digit_share": "digits / characters that are not white space and in no link",
    "punctuation_share": "punctuation / characters that are not white space and in no link",
    **{f"{name}_per_sentence": f"{name} / sentences" for name in ("exclamations", "questions")},
    **{f"{name}_per_word": f"{name} / words" for name in ("quotes", "links", "mentions", "hashtags", "emoji")},
}
FEATURES: dict[str, TextFeature] = {
    **{name: TextFeature("counts", meaning) for name, (_, meaning) in _COUNTS.items()},
    **{name: TextFeature("relative", _RATIOS[name]) for name in RATIOS},
    "lix": TextFeature("readability", "words / sentences + 100 · long words / words; long: 7 letters or more (Björnsson 1968)"),
    "flesch": TextFeature(
        "readability",
        "en: 206.835 - 1.015 · words / sentences - 84.6 · syllables / words (Flesch 1948); de: 180 - words / sentences - 58.5 · "
        "syllables / words (Amstad 1978)",
        ("en", "de"),
    ),
    "flesch_kincaid": TextFeature(
        "readability", "0.39 · words / sentences + 11.8 · syllables / words - 15.59 (Kincaid et al. 1975)", ("en",)
    ),
    "wiener": TextFeature("readability", "the first Wiener Sachtextformel (Bamberger & Vanecek 1984)", ("de",)),
    "mtld": TextFeature("diversity", "MTLD: words for each factor of a type-token ratio of 0.72 (McCarthy & Jarvis 2010)"),
    "mattr": TextFeature("diversity", "mean type-token ratio of windows of 50 words (Covington & McFall 2010); null for shorter texts"),
    "hdd": TextFeature("diversity", "HD-D: expected type-token ratio of 42 words drawn (McCarthy & Jarvis 2007); null for shorter texts"),
    **{f"pos_{tag.lower()}": TextFeature("pos", f"share of the tokens of a spaCy pipeline that are {tag}") for tag in UNIVERSAL_POS},
}  # fmt: skip
GROUPS = tuple(dict.fromkeys(feature.group for feature in FEATURES.values()))
USUAL = ("counts", "relative", "readability", "diversity")  # those of "all": parts of speech take a pipeline


def select_features(names: Sequence[str], language: str | None) -> tuple[str, ...]:
    """Return the features of names and of groups of features, in the order of FEATURES.

    Of a group, those are left out that are for other languages.

    Args:
        names: features, groups or "all", the usual groups. language: ISO 639-1 code of the texts, None where it is not known.

    Raises:
        UsageError: an unknown name, or a feature by name that is for another language.
    """
    groups: set[str] = set()
    for name in names:
        if name not in FEATURES and name not in (*GROUPS, "all"):
            raise unknown_value("include", name, ("all", *GROUPS, *FEATURES))
        groups |= set(USUAL) if name == "all" else {name} & set(GROUPS)
        feature = FEATURES.get(name)
        if feature is not None and not _is_for(name, feature, language):
            raise UsageError(
                f"`include={name}` is for texts in "
                f"{' or '.join(feature.languages) or 'languages with spaces between words'}, but these are "
                f"{language or 'in an unknown language'}; set `language`, or leave the feature out",
                parameter="include",
            )
    return tuple(
        name
        for name, feature in FEATURES.items()
        if name in names or (feature.group in groups and _is_for(name, feature, language))
    )


def _is_for(name: str, feature: TextFeature, language: str | None) -> bool:
    return (not feature.languages or language in feature.languages) and not (name == "lix" and language in UNSPACED)


class FeatureColumns:
    """Makes the columns of features of texts.

    Args:
        names: of `select_features`. language: ISO 639-1 code, for readability. spacy: name of a pipeline, for parts of speech.

    Raises:
        MissingError: parts of speech without spaCy or a pipeline of the language.
    """

    def __init__(self, names: Sequence[str], *, language: str | None, spacy: str = "auto") -> None:
        self.names = tuple(names)
        self._language = language
        self._groups = {FEATURES[name].group for name in names}
        self.pipeline = None
        if "pos" in self._groups:
            self.pipeline = SpacyTokens(spacy, pos=UNIVERSAL_POS, language=language)

    @property
    def fields(self) -> list[pa.Field]:
        """The fields of the columns: whole numbers for counts, float64 for the others."""
        return [pa.field(name, pa.int32() if FEATURES[name].group == "counts" else pa.float64()) for name in self.names]

    def compute(self, texts: pa.Array) -> list[pa.Array]:
        """Return the columns of texts (D,), an Arrow string array in which null counts as empty, in the order of `fields`."""
        values: dict[str, FloatArray] = {}
        if self._groups & {"counts", "relative"}:
            counts = surface_counts(texts)
            values |= {name: counts[column] for name, (column, _) in _COUNTS.items()}
            values |= {name: surface_ratio(name, counts, undefined=np.nan) for name in RATIOS}
        if "readability" in self._groups:
            values |= readability(texts.to_pylist(), self._language)
        if "diversity" in self._groups:
            values |= diversity_of_texts(texts, self._language)
        if self.pipeline is not None:
            values |= part_of_speech_shares(texts, self.pipeline)
        return [_column(values[field.name], field.type) for field in self.fields]


def _column(values: FloatArray, kind: pa.DataType) -> pa.Array:
    return pa.array(values.astype(np.int32) if pa.types.is_integer(kind) else values, kind, from_pandas=True)


def diversity_of_texts(texts: pa.Array, language: str | None) -> dict[str, FloatArray]:
    """Return mtld, mattr and hdd of texts (D,) over the words that `nlpkit stats` counts: as `nlpkit preprocess` cuts them, with stop
    words and words of one letter. nan as `nlpkit.metrics.texts.corpus`."""
    raw = scan_tokens(texts, lower=True, junk=False)
    terms = Normalizer(clitics=clitics([language] if language else []), min_length=1)
    known: dict[str, int] = {}
    # one run of Chinese has several words
    of_type = [[known.setdefault(term, len(known)) for term in terms(word)] for word in raw.types]
    lengths = np.array([len(ids) for ids in of_type], np.int64)[raw.codes]
    starts = np.cumsum([0, *map(len, of_type)])[raw.codes]
    ids = np.array([i for ids in of_type for i in ids], np.int32)[ranges(starts, lengths)]
    scores = lexical_diversity(np.concatenate(([0], np.cumsum(lengths)))[raw.offsets], ids, len(known))
    return {"mtld": scores.mtld, "mattr": scores.mattr, "hdd": scores.hdd}


def part_of_speech_shares(texts: pa.Array, pipeline: SpacyTokens) -> dict[str, FloatArray]:
    """Return the share of each Universal POS tag among the tokens of texts (D,), nan for a text without tokens."""
    rows = np.zeros((len(texts), len(UNIVERSAL_POS)))
    place = {tag: i for i, tag in enumerate(UNIVERSAL_POS)}
    for row, words in zip(rows, pipeline.words(texts.to_pylist()), strict=True):
        for word in words:
            if word.upos in place:
                row[place[word.upos]] += 1
        row[:] = row / len(words) if words else np.nan
    return {f"pos_{tag.lower()}": rows[:, i] for tag, i in place.items()}


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins of a column: by quantile (N of as many rows each, as far as equal values allow), by width (N of one width), or by edges."""

    column: str
    method: str
    n: int = 0
    edges: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """The column of the bins."""
        return f"{self.column}_bin"

    def fit(self, values: FloatArray) -> Bins:
        """Return the bins with the edges that the values (D,), nan for none, give; repeated quantiles are one edge.

        quantile: the k/N quantiles, k = 1 … N - 1 (linear interpolation)         width: min + k (max - min) / N
        """
        if self.method == "edges":
            return self
        present = values[~np.isnan(values)]
        inner = np.arange(1, self.n) / self.n
        if not len(present):
            return Bins(self.column, self.method, self.n)
        low, high = float(present.min()), float(present.max())
        edges = np.quantile(present, inner) if self.method == "quantile" else low + inner * (high - low)
        return Bins(self.column, self.method, self.n, tuple(float(e) for e in np.unique(edges) if low < e <= high))

    @property
    def labels(self) -> list[str]:
        """The bins in order, each with its edges: "below 10", "[10, 20)", "20 and more"."""
        if not self.edges:
            return ["all"]
        shown = [f"{edge:.6g}" for edge in self.edges]
        between = [f"[{a}, {b})" for a, b in pairwise(shown)]
        return [f"below {shown[0]}", *between, f"{shown[-1]} and more"]

    def apply(self, values: FloatArray) -> pa.Array:
        """Return the label of the bin of each value (D,), null for none. A value on an edge is in the upper bin."""
        missing: BoolArray = np.isnan(values)
        places = np.searchsorted(np.array(self.edges), np.where(missing, 0.0, values), side="right")
        return pa.array(self.labels, pa.string()).take(pa.array(places, mask=missing))


def parse_bins(text: str) -> Bins:
    """Return the bins of COL:N, COL:quantile:N, COL:width:N or COL:edges:E,E,….

    Raises:
        UsageError: it is none of these.
    """
    column, _, rest = text.rpartition(":")
    method = "quantile"
    for known in ("quantile", "width", "edges"):
        if column.endswith(f":{known}"):
            column, method = column.removesuffix(f":{known}"), known
            break
    try:
        if method == "edges":
            edges = tuple(float(edge) for edge in rest.split(","))
            if column and np.isfinite(edges).all() and all(a < b for a, b in pairwise(edges)):
                return Bins(column, method, len(edges) + 1, edges)
        elif column and int(rest) >= 2:
            return Bins(column, method, int(rest))
    except ValueError:
        pass
    raise UsageError(
        f"`bins={text}`: COL:N (quantiles), COL:width:N (N of one width) or COL:edges:E,E,… (ascending) were needed, N from 2 on, such as "
        "words:4 or age:edges:18,65",
        parameter="bins",
    )
