"""Options of sentiment by lexicon, as plain data."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.options import READ_LIST, Param, options
from nlpkit.text.options import TextOptions

SCORES = ("sum", "mean", "polarity")
RESAMPLINGS = ("bootstrap", "shuffle", "none")
PACKAGES = ("vader", "afinn")  # lexica that a package of their authors scores


def is_package(lexicon: str) -> bool:
    """Return whether a lexicon is one that a package scores: vader, afinn, afinn:da …"""
    return lexicon.partition(":")[0] in PACKAGES


@options
class SentimentOptions:
    """Options of sentiment scoring: the lexicon, the score, and the classes that the scores become."""

    PANEL: ClassVar[str] = "Sentiment"

    lexicon: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "Lexicon: vader, afinn (also afinn:da, afinn:emoticons), liu, a file of words and weights, or two word "
            "lists positive,negative.",
            metavar="NAME|FILE[,FILE]",
        ),
        READ_LIST,
    ] = None
    lexicon_cols: Annotated[
        str | None,
        Param(
            "Columns of the lexicon file: word=…,weight=…,kind=…. The kind is negation or intensifier.",
            metavar="ROLE=COL,…",
        ),
    ] = None
    lexicon_score: Annotated[
        str,
        Param(
            "Score of a text: sum or mean of its weights, or polarity (P - N) / (P + N).",
            metavar="NAME",
            choices=SCORES,
        ),
    ] = "sum"
    negation: Annotated[
        bool,
        Param("Reverse the weights between a negation and the next punctuation mark."),
    ] = True
    negations: Annotated[
        Path | None,
        Param(
            "File with negation words, one per line. Default: lists for en and de.", metavar="FILE", needs=("negation",)
        ),
    ] = None
    negation_reach: Annotated[
        int | None,
        Param(
            "Maximum number of words after a negation whose weights are reversed.",
            metavar="N",
            min=1,
            needs=("negation",),
            excludes=("lex2sent",),
        ),
    ] = None
    neutral: Annotated[
        float | None,
        Param("Scores from -X to X are neutral.", metavar="X", min=0.0),
    ] = None
    zero: Annotated[
        str,
        Param(
            "Class of a score of 0 if there are only two classes.",
            metavar="positive|negative",
            choices=("positive", "negative"),
        ),
    ] = "positive"
    classes: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "Names of the classes. Default: the names in the labels, otherwise negative,neutral,positive.",
            metavar="NEG,[NEU,]POS",
        ),
    ] = None
    lex2sent: Annotated[
        bool,
        Param(
            "Score a text by its similarity to each half of the lexicon in doc2vec spaces (Lex2Sent).",
            panel="Lex2Sent",
        ),
    ] = False
    l2s_resamples: Annotated[
        int | None,
        Param(
            "Number of doc2vec models for Lex2Sent. Default: one for each combination of their parameters.",
            metavar="B",
            min=1,
            panel="Lex2Sent",
            needs=("lex2sent",),
        ),
    ] = None
    l2s_epochs: Annotated[
        str | tuple[int, ...],
        Param("Epochs of the Lex2Sent models.", metavar="N,…", panel="Lex2Sent", needs=("lex2sent",)),
    ] = "5,10,15"
    l2s_windows: Annotated[
        str | tuple[int, ...],
        Param("Window sizes of the Lex2Sent models, in words.", metavar="N,…", panel="Lex2Sent", needs=("lex2sent",)),
    ] = "5,10,15"
    l2s_sizes: Annotated[
        str | tuple[int, ...],
        Param("Dimensions of the Lex2Sent models.", metavar="N,…", panel="Lex2Sent", needs=("lex2sent",)),
    ] = "64,128,256"
    l2s_resampling: Annotated[
        str,
        Param(
            "Resampling of texts for Lex2Sent: bootstrap (draw words from the text), shuffle (change their order) "
            "or none.",
            metavar="NAME",
            panel="Lex2Sent",
            choices=RESAMPLINGS,
            needs=("lex2sent",),
        ),
    ] = "bootstrap"
    l2s_min_count: Annotated[
        int, Param("Minimum number of occurrences of a word in Lex2Sent.", min=1, panel="Lex2Sent", needs=("lex2sent",))
    ] = 5
    ci: Annotated[
        float, Param("Confidence level of the intervals of scores; 0 = no intervals.", metavar="LEVEL", min=0, below=1)
    ] = 0.95

    def __post_init__(self) -> None:
        """Raise UsageError for invalid values, and for options that contradict each other or have no effect."""
        if self.lex2sent and self.lexicon_score != "sum":
            raise UsageError(
                "`lexicon_score`: Lex2Sent does not use it; leave it out, or leave out `lex2sent`", parameter="lex2sent"
            )

    @property
    def names(self) -> str:
        """The lexicon: its name, or its files with commas between them. Raises UsageError where there is none."""
        if not self.lexicon:
            raise UsageError("`lexicon` is needed: vader, afinn, liu or a file", parameter="lexicon")
        parts = (self.lexicon,) if isinstance(self.lexicon, str | Path) else self.lexicon
        return ",".join(map(str, parts))

    @property
    def shown(self) -> str:
        """The lexicon for messages: the names of its files without their folders."""
        return ",".join(Path(part).name for part in self.names.split(","))


@options
class SentimentTextOptions:
    """Options of cutting texts into the words that a lexicon is compared with."""

    PANEL: ClassVar[str] = "Words"

    language: Annotated[
        str,
        Param("Language of the texts: an ISO code or a name, auto (detected) or none.", ("language", "lang")),
    ] = "auto"
    lower: Annotated[bool, Param("Lowercase texts.")] = True
    lemma: Annotated[str, Param("Lemmas: none, or dict (dictionary of the language).")] = "none"
    stem: Annotated[
        str, Param("Stemming: none, auto (Snowball for the language), or a stemmer such as porter or german.")
    ] = "none"
    html: Annotated[bool, Param("Remove HTML and XML markup, including scripts and styles.", panel="More")] = False
    replace: Annotated[
        Path | None,
        Param(
            "Replacements made before tokenisation, one per line: phrase TAB replacement, or /regex/ TAB replacement.",
            metavar="FILE",
            panel="More",
        ),
    ] = None
    emoji: Annotated[
        str, Param("Emoji: keep (`keep` makes them tokens), words (their names) or remove.", panel="More")
    ] = "keep"
    keep: Annotated[
        str | tuple[str, ...] | None,
        Param("Kinds of tokens to keep whole: url, email, hashtag, mention, number, emoji.", metavar="KIND,…"),
    ] = None
    segment: Annotated[
        str,
        Param("How to split Chinese, Japanese and Thai: ngrams, characters or words. auto means ngrams.", panel="More"),
    ] = "auto"
    stop_words: Annotated[
        str | tuple[str, ...],
        Param(
            "Words that Lex2Sent leaves out: auto (list for the language), language codes such as en,de, or files.",
            metavar="LIST",
            panel="Lex2Sent",
        ),
        READ_LIST,
    ] = "auto"
    min_length: Annotated[
        int, Param("Minimum number of characters of a word in Lex2Sent.", min=1, panel="Lex2Sent")
    ] = 2

    def text_options(self) -> TextOptions:
        """Return them as options of every step from texts to words."""
        return TextOptions(**{one.name: getattr(self, one.name) for one in fields(self)})
