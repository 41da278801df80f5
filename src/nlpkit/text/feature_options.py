"""Options of tables of text features."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.parameters import Files, Param, options


@options
class TextFeatureOptions:
    """Which features there are, and which columns of the input stay beside them."""

    PANEL: ClassVar[str] = "Features"

    include: Annotated[
        str | tuple[str, ...],
        Param(
            "Features: all (counts, relative, readability, diversity), one of these groups, pos (parts of speech, takes spaCy), or "
            "features by name, which the guide lists.",
            metavar="NAME,…",
        ),
    ] = "all"
    lexicon: Annotated[
        tuple[str, ...],
        Param(
            "Word list with categories, as count and share each: lines term TAB category TAB 0/1 (NRC), a table with a column for each "
            "category (Loughran-McDonald), a LIWC .dic, or a list of words; NAME= gives its columns another name.",
            metavar="[NAME=]FILE",
        ),
        Files(several=True, named=True),
    ] = ()
    bins: Annotated[
        tuple[str, ...],
        Param(
            "Also put a column of numbers into bins: COL:N (quantiles), COL:width:N or COL:edges:10,20; the column COL_bin names "
            "their edges.",
            metavar="COL:…",
        ),
    ] = ()
    keep_cols: Annotated[
        str | tuple[str, ...],
        Param("Columns of the input that stay, beside the id: all, none, or names.", metavar="all|none|COL,…"),
    ] = "all"
    language: Annotated[
        str,
        Param(
            "Language of the texts, for readability, lemmas and stems: an ISO code or a name, auto (detected) or none.",
            ("language", "lang"),
        ),
    ] = "auto"
    lemma: Annotated[str, Param("Base forms of text and lexicon alike: none or dict.", panel="Lexicon")] = "none"
    stem: Annotated[
        str,
        Param("Stems of text and lexicon alike: none, auto (Snowball of the language), or a stemmer.", panel="Lexicon"),
    ] = "none"
    spacy: Annotated[
        str,
        Param(
            "Pipeline of spaCy for the parts of speech: its name, or auto (that of the language).",
            metavar="NAME",
            panel="More",
        ),
    ] = "auto"
