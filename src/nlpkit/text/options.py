"""What preprocess can be asked to do, and what it tells of what it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nlpkit.text.language import LanguageShare

if TYPE_CHECKING:
    from nlpkit.text.clean import Cleaner
    from nlpkit.text.phrases import PhraseSpec, PhraseTable


@dataclass(frozen=True, slots=True)
class SpacyOptions:
    """Tokens from a spaCy pipeline: see spacy_tokens.SpacyTokens."""

    model: str = "auto"
    pos: frozenset[str] = frozenset()
    entities: bool = False
    lemma: bool = False


@dataclass(frozen=True, slots=True)
class PreprocessOptions:
    """What preprocess does to a text, in the order of the fields.

    language: ISO code, "auto" (detected on the first 300 texts) or "none". tokenizer: "words", "sklearn", "whitespace", "chars:3",
    "chars:3-5", "regex" (then `pattern` is one of the Rust crate `regex`) or "spacy" (then `spacy` says how). keep: kinds
    of tokens that stay (kinds.KINDS). segment: see segment.segmenter. lemma: dictionary lemmas of the language. stem: "none", "auto" = the
    Snowball stemmer of the language, or its name. stop_words: "auto", "none" or codes with commas. auto_stop: terms in
    more than this share of the documents are stop words too. phrases are found in the corpus, phrase_table was found
    before. min_df, max_df, min_cf, max_cf: int = documents or occurrences, float = share of them; min_df None = 2 from
    100 documents on, else 1. max_vocab: the most frequent terms only. vocab: these terms and no others. lists_must_match: a
    list (vocabulary, stop words, phrases, replacements) of which nothing is in the documents is an error; for a list that
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
    ngrams: tuple[int, int] = (1, 1)
    min_df: float | None = None
    max_df: float = 1.0
    min_cf: float = 1
    max_cf: float = 1.0
    max_vocab: int | None = None
    vocab: tuple[str, ...] | None = None
    lists_must_match: bool = False


@dataclass(frozen=True, slots=True)
class PreprocessReport:
    """What preprocess did: counts before and after, and the choices it made."""

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
    spacy_pipeline: str | None = None
