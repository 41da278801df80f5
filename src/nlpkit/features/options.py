"""Options of tables of text features."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.platform.options import Files, Param, options


@options
class TextFeatureOptions:
    """Which features there are, and which columns of the input stay beside them."""

    PANEL: ClassVar[str] = "Features"

    include: Annotated[
        str | tuple[str, ...],
        Param(
            "Features: all (counts, relative, readability, diversity), one of these groups, pos (parts of speech, "
            "needs spaCy), or feature names from the guide.",
            metavar="NAME,…",
        ),
    ] = "all"
    lexicon: Annotated[
        tuple[str, ...],
        Param(
            "Word list with categories, reported as counts and shares. Formats: lines of term TAB category TAB 0/1 "
            "(NRC), a table with a column per category (Loughran-McDonald), LIWC .dic, or one word per line. NAME= "
            "renames its columns.",
            metavar="[NAME=]FILE",
        ),
        Files(several=True, named=True),
    ] = ()
    bins: Annotated[
        tuple[str, ...],
        Param(
            "Also bin a numeric column: COL:N (quantiles), COL:width:N or COL:edges:10,20. The new column COL_bin "
            "holds the intervals.",
            metavar="COL:…",
        ),
    ] = ()
    keep_cols: Annotated[
        str | tuple[str, ...],
        Param("Input columns to keep besides the ID: all, none, or names.", metavar="all|none|COL,…"),
    ] = "all"
    language: Annotated[
        str,
        Param(
            "Language for readability, lemmas and stems: an ISO code or a name, auto (detected) or none.",
            ("language", "lang"),
        ),
    ] = "auto"
    lemma: Annotated[str, Param("Lemmas for both text and lexicon: none or dict.", panel="Lexicon")] = "none"
    stem: Annotated[
        str,
        Param(
            "Stemming for both text and lexicon: none, auto (Snowball for the language), or a stemmer.", panel="Lexicon"
        ),
    ] = "none"
    spacy: Annotated[
        str,
        Param(
            "Pipeline of spaCy for parts of speech: a name, or auto (for the language of the texts).",
            metavar="NAME",
            panel="More",
        ),
    ] = "auto"
