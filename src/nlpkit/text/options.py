"""The options of preprocessing, and the settings and plans derived from them.

Parts, in this order:
- Options of tokenisation, the settings derived from them, and the report of a run.
- Row options of preprocessing, and the plan derived from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from nlpkit.platform.options import READ, READ_LIST, Param, options

if TYPE_CHECKING:
    from nlpkit.text.clean import Cleaner
    from nlpkit.text.duplicates import DuplicateSpec
    from nlpkit.text.language import LanguageShare
    from nlpkit.text.lexicon.categories import TermCategories
    from nlpkit.text.phrases import PhraseSpec, PhraseTable
    from nlpkit.text.sentences import Unit

# ---------------------------------------------------------------- what a person gives


@options
class TokenOptions:
    """Options of tokenisation, shared by every command that tokenises.

    `nlpkit.text.settings.preprocess_options` reads the files that are named here and checks the values.
    """

    PANEL: ClassVar[str] = "Words"

    language: Annotated[
        str,
        Param("Language of the texts: an ISO code or a name, auto (detected) or none.", ("language", "lang")),
    ] = "auto"
    stop_words: Annotated[
        str | tuple[str, ...],
        Param(
            "Words to leave out: auto (list for the language), none, language codes such as en,de, sklearn "
            "(scikit-learn's English list), or files. A file has one word or pattern (/\\d+th/) per line and adds to "
            "the language's list; none,FILE uses the file alone.",
            metavar="LIST",
        ),
        READ_LIST,
    ] = "auto"
    min_df: Annotated[
        str | float,
        Param(
            "Ignore terms in fewer than N documents (or a share of them such as 0.01). auto: 2 for 100 documents "
            "or more, otherwise 1."
        ),
    ] = "auto"
    max_df: Annotated[str | float, Param("Ignore terms in more than N documents (or a share of them such as 0.5).")] = (
        "1.0"
    )
    ngrams: Annotated[
        str | int | tuple[int, int],
        Param("Term lengths: 1 = words, 1,2 = words and pairs.", ("ngrams", "ngram_range"), metavar="A[,B]"),
    ] = "1"
    max_vocab: Annotated[
        int | None,
        Param("Keep only the N most frequent terms.", ("max_vocab", "max_features"), metavar="N", min=1),
    ] = None
    lower: Annotated[bool, Param("Lowercase texts.")] = True
    tokenizer: Annotated[
        str,
        Param(
            "How to split texts: words (Unicode rules), sklearn (runs of at least 2 letters or digits), "
            "whitespace, or chars:3-5 (character n-grams)."
        ),
    ] = "words"
    token_pattern: Annotated[
        str | None,
        Param("Regular expression that matches one token (syntax of the Rust crate regex).", metavar="REGEX"),
    ] = None
    vocab: Annotated[
        Path | tuple[str, ...] | None,
        Param(
            "Use exactly these terms, in this order: a table with a column 'term' (Parquet, CSV, TSV, JSONL), or a "
            "text file with one term per line.",
            metavar="FILE",
        ),
        READ,
    ] = None


@options
class TopicTokenOptions(TokenOptions):
    """Token options where all documents are available: words that occur in too many can be left out."""

    auto_stop: Annotated[
        float | None,
        Param("Leave out terms that occur in more than this share of the documents.", metavar="SHARE"),
    ] = None


@options
class TextOptions(TopicTokenOptions):
    """All options of the way from texts to tokens."""

    lemma: Annotated[str, Param("Lemmas: none, dict (dictionary of the language) or spacy (its pipeline).")] = "none"
    stem: Annotated[
        str, Param("Stemming: none, auto (Snowball for the language), or a stemmer such as porter or german.")
    ] = "none"
    phrases: Annotated[
        str | None,
        Param(
            "Join phrases found in the corpus: npmi:0.5, pmi:3 or llr:10.83. A third number sets their minimum count.",
            metavar="MEASURE:MIN",
        ),
    ] = None
    phrase_file: Annotated[
        Path | None,
        Param("Join these phrases: one per line, or a file written by `save_phrases`.", metavar="FILE"),
    ] = None
    keep: Annotated[
        str | tuple[str, ...] | None,
        Param("Kinds of tokens to keep whole: url, email, hashtag, mention, number, emoji.", metavar="KIND,…"),
    ] = None
    min_length: Annotated[int, Param("Minimum number of characters of a word.", min=1)] = 2
    min_cf: Annotated[
        str | float,
        Param("Ignore terms with fewer occurrences than N, or than this share of all tokens.", panel="More"),
    ] = "1"
    max_cf: Annotated[
        str | float, Param("Ignore terms with more occurrences than N, or than this share of all tokens.", panel="More")
    ] = "1.0"
    html: Annotated[
        bool,
        Param("Remove HTML and XML markup, including scripts and styles. Paragraphs stay separate.", panel="More"),
    ] = False
    join_hyphens: Annotated[
        bool, Param("Join words that are hyphenated at the end of a line (PDF, OCR).", panel="More")
    ] = False
    fold: Annotated[
        str,
        Param(
            "Forms of a word to make alike: marks drops vowel signs of Arabic and Hebrew, and tatweel; or none.",
            metavar="WHAT",
            choices=("none", "marks"),
            panel="More",
        ),
    ] = "none"
    replace: Annotated[
        Path | None,
        Param(
            "Replacements made before tokenisation, one per line: phrase TAB replacement, or /regex/ TAB "
            "replacement. A phrase alone is deleted.",
            metavar="FILE",
            panel="More",
        ),
    ] = None
    emoji: Annotated[
        str, Param("Emoji: keep (`keep` makes them tokens), words (their names) or remove.", panel="More")
    ] = "keep"
    segment: Annotated[
        str,
        Param(
            "How to split Chinese, Japanese and Thai: ngrams, characters, or words (pip install 'nlpkit[asian]'). "
            "auto means ngrams.",
            panel="More",
        ),
    ] = "auto"
    spacy: Annotated[
        str | None,
        Param(
            "Tokenise with this spaCy pipeline: a name, a folder, blank:de, or auto (the installed pipeline for "
            "the language).",
            metavar="MODEL",
            panel="More",
        ),
        READ,
    ] = None
    pos: Annotated[
        str | tuple[str, ...] | None,
        Param("Keep only these parts of speech, such as NOUN,PROPN,ADJ (spaCy).", metavar="TAG,…", panel="More"),
    ] = None
    entities: Annotated[
        bool, Param("Add a column of named entities: start, end, text, type (spaCy).", panel="More")
    ] = False


@options
class DocumentTextOptions(TextOptions):
    """Options of `preprocess`: also what makes columns, or terms other than words."""

    lexicon: Annotated[
        Path | None,
        Param(
            "Keep only the words of this lexicon. Formats: lines of term TAB category TAB 0/1 (NRC), a table with "
            "a column per category (Loughran-McDonald), LIWC .dic, or one word per line.",
            metavar="FILE",
        ),
        READ,
    ] = None
    categories: Annotated[
        str | tuple[str, ...] | None, Param("Categories of the lexicon to use. Default: all.", metavar="NAME,…")
    ] = None
    replace_by_category: Annotated[bool, Param("Replace each word by its lexicon categories.")] = False
    tags: Annotated[
        bool,
        Param("Add columns 'tags' and 'lemmas': part of speech and lemma of each token (spaCy).", panel="More"),
    ] = False


@options
class CountOptions:
    """Options of counting when the documents have no tokens yet: all words count, unless stop words are left out."""

    PANEL: ClassVar[str] = "Words"

    language: Annotated[
        str,
        Param("Language of the texts: an ISO code or a name, auto (detected) or none.", ("language", "lang")),
    ] = "auto"
    stop_words: Annotated[
        str | tuple[str, ...],
        Param(
            "Words to leave out: none, auto (list for the language), language codes such as en,de, sklearn "
            "(scikit-learn's English list), or files. A file adds to the language's list; none,FILE uses the file alone.",
            metavar="LIST",
        ),
        READ_LIST,
    ] = "none"
    lower: Annotated[bool, Param("Lowercase texts.")] = True
    min_length: Annotated[int, Param("Minimum number of letters of a word.", min=1)] = 1

    def tokens(self) -> TextOptions:
        """Return the options of tokenisation."""
        return TextOptions(
            language=self.language,
            stop_words=self.stop_words,
            lower=self.lower,
            min_length=self.min_length,
            min_df=1,
        )


# ---------------------------------------------------------------- what it comes to


@dataclass(frozen=True, slots=True)
class SpacyOptions:
    """Options of a spaCy pipeline: see spacy_tokens.SpacyTokens."""

    model: str = "auto"
    pos: frozenset[str] = frozenset()
    entities: bool = False
    lemma: bool = False
    tags: bool = False


@dataclass(frozen=True, slots=True)
class PreprocessOptions:
    """Settings of preprocessing, applied to a text in the order of the fields.

    language: ISO code, "auto" (detected on 300 texts) or "none". tokenizer: "words", "sklearn", "whitespace", "chars:3",
    "chars:3-5", "regex" (then `pattern` is one of the Rust crate `regex`) or "spacy" (then `spacy` says how). keep: kinds
    of tokens that stay (kinds.KINDS). segment: see segment.segmenter. lemma: dictionary lemmas of the language. stem: "none", "auto" = the
    Snowball stemmer of the language, or its name. stop_words: "auto", "none" or codes with commas. auto_stop: terms in
    more than this share of the documents are stop words too. phrases are found in the corpus, phrase_table was found
    before. lexicon: only terms of its categories, or these in their place; its entries of several words are the phrase_table.
    min_df, max_df, min_cf, max_cf: int = documents or occurrences, float = share of them; min_df None = 2 from
    100 documents on, else 1. max_vocab: the most frequent terms only. vocab: these terms and no others. whole_words:
    words, lower-cased, that keep the clitics which others lose, as those of `vocab` do. lists_must_match: a
    list (vocabulary, stop words, phrases, a lexicon, replacements) of which nothing is in the documents is an error; for a list that
    the user gives for these documents, not for one of a model, whose new documents may be few.
    """

    language: str = "auto"
    cleaner: Cleaner | None = None
    tokenizer: str = "words"
    pattern: str | None = None
    spacy: SpacyOptions | None = None
    keep: frozenset[str] = frozenset()
    segment: str = "auto"
    lower: bool = True
    min_length: int = 2
    stop_words: str = "auto"
    extra_stop_words: frozenset[str] = frozenset()
    stop_patterns: tuple[str, ...] = ()
    auto_stop: float | None = None
    lemma: bool = False
    stem: str = "none"
    phrases: PhraseSpec | None = None
    phrase_table: PhraseTable | None = None
    lexicon: TermCategories | None = None
    ngrams: tuple[int, int] = (1, 1)
    min_df: float | None = None
    max_df: float = 1.0
    min_cf: float = 1
    max_cf: float = 1.0
    max_vocab: int | None = None
    vocab: tuple[str, ...] | None = None
    whole_words: frozenset[str] = frozenset()
    lists_must_match: bool = False

    @property
    def cuts_pieces(self) -> bool:
        """Whether texts without spaces are cut into n-grams that overlap."""
        return self.tokenizer == "words" and self.segment in ("auto", "ngrams")


@dataclass(frozen=True, slots=True)
class PreprocessReport:
    """The report of preprocessing: counts before and after, and the choices it made."""

    languages: tuple[LanguageShare, ...]
    stop_word_languages: tuple[str, ...]
    n_stop_words: int
    min_df: float
    max_df: float
    n_docs: int
    n_tokens: int
    n_terms: int
    n_terms_seen: int
    n_stop_tokens: int
    n_phrases: int
    n_rare_terms: int
    n_frequent_terms: int
    n_capped_terms: int
    n_foreign_terms: int
    n_uncategorised_terms: int
    spacy_pipeline: str | None = None


# ------------------------------------------------------------------------------------------------------------------------
# Row options of preprocessing, and the plan derived from them.


@options
class RowOptions:
    """Options that divide documents into rows and leave repeated ones out."""

    PANEL: ClassVar[str] = "Rows"

    dedupe: Annotated[
        str | None,
        Param(
            "Keep one document of each set of duplicates: exact (same text), or near:0.9 (90 % of the word triples "
            "in common). The first is kept.",
            metavar="HOW",
        ),
    ] = None
    unit: Annotated[
        str,
        Param(
            "Make one row per document, paragraph, sentence or chunk:200 (words). The column parent_id links "
            "each row to its document."
        ),
    ] = "document"

    def plan(self) -> RowPlan:
        """Return the plan of these options.

        Raises:
            UsageError: a name cannot be read.
        """
        from nlpkit.text.duplicates import parse_duplicates
        from nlpkit.text.sentences import parse_unit

        unit = parse_unit(self.unit)
        return RowPlan(
            None if self.dedupe is None else parse_duplicates(self.dedupe),
            None if unit.kind == "document" else unit,
        )


@dataclass(frozen=True, slots=True)
class RowPlan:
    """The treatment of rows, in the order of the fields."""

    dedupe: DuplicateSpec | None = None
    unit: Unit | None = None

    def parameters(self) -> dict[str, Any]:
        """Return the settings that the footer of the output records."""
        return {
            "dedupe": None if self.dedupe is None else str(self.dedupe),
            "unit": "document" if self.unit is None else str(self.unit),
        }
