"""Options of the commands that make tokens: how texts are cut, which words stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from nlpkit.errors import UsageError
from nlpkit.parameters import READ, READ_LIST, Param

if TYPE_CHECKING:
    from nlpkit.text.options import PreprocessOptions, SpacyOptions
    from nlpkit.text.phrases import PhraseTable


@dataclass(frozen=True, slots=True)
class TokenOptions:
    """How texts become tokens: what every command that makes them takes."""

    language: Annotated[str, Param("ISO code or name; auto = detected; none = no language.", ("language", "lang"))] = (
        "auto"
    )
    tokenizer: Annotated[
        str,
        Param(
            "words; sklearn = runs of two letters or more, as its vectorizers; whitespace; chars:3-5 = character n-grams."
        ),
    ] = "words"
    token_pattern: Annotated[
        str | None,
        Param("Every match is a token (syntax of the Rust crate regex).", metavar="REGEX"),
    ] = None
    stop_words: Annotated[
        str,
        Param(
            "auto = those of the language; none; codes such as en,de; files with more words, or patterns as /\\d+th/."
        ),
        READ_LIST,
    ] = "auto"
    lower: Annotated[bool, Param("Lower case.")] = True
    ngrams: Annotated[
        str,
        Param("Sequences of A to B terms, 1,2 = words and pairs.", ("ngrams", "ngram_range"), metavar="A[,B]"),
    ] = "1"
    min_df: Annotated[
        str, Param("Least documents of a term; 0.01 = a share; auto = 2 from 100 documents on, else 1.")
    ] = "auto"
    max_df: Annotated[str, Param("Most documents of a term; a number, or a share such as 0.5.")] = "1.0"
    max_vocab: Annotated[
        int | None,
        Param("Only the N most frequent terms.", ("max_vocab", "max_features"), min=1),
    ] = None
    vocab: Annotated[
        Path | None,
        Param(
            "These terms and no others, in this order: a table with a column term (Parquet, CSV, TSV, JSONL), or a "
            "text file with one term per line.",
            metavar="FILE",
        ),
    ] = None

    def options(self) -> PreprocessOptions:
        """Return the options of the core.

        Raises:
            UsageError: a bound is not a number, a language is unknown, or options contradict each other.
            InputError: a file cannot be read.
        """
        from nlpkit.io.vocabularies import read_vocabulary
        from nlpkit.text.cutting import check_tokenizer
        from nlpkit.text.language import language_code
        from nlpkit.text.options import PreprocessOptions

        tokenizer = self.tokenizer
        if self.token_pattern is not None:
            if tokenizer != "words":
                raise UsageError("--token-pattern and --tokenizer both say how texts are cut; keep one")
            tokenizer = "regex"
        check_tokenizer(tokenizer, self.token_pattern)
        if tokenizer == "spacy":
            raise UsageError("--tokenizer spacy: name the pipeline instead, nlpkit preprocess --spacy MODEL (or auto)")
        characters = tokenizer.startswith("chars")
        stop, extra, patterns = _stop_words("none" if characters and self.stop_words == "auto" else self.stop_words)
        sizes = ngram_range(self.ngrams)
        if characters:
            _refuse(
                {"--ngrams": sizes != (1, 1), "--stop-words": (stop, extra, patterns) != ("none", frozenset(), ())},
                f"is about words, and --tokenizer {tokenizer} makes n-grams of characters; keep one",
            )
        if self.vocab is not None:
            _refuse(
                {
                    "--min-df": self.min_df != "auto",
                    "--max-df": self.max_df != "1.0",
                    "--max-vocab": self.max_vocab is not None,
                },
                _KEEPS_ALL,
            )
        return PreprocessOptions(
            language=self.language if self.language in ("auto", "none") else language_code(self.language),
            tokenizer=tokenizer,
            pattern=self.token_pattern,
            stop_words=stop,
            extra_stop_words=extra,
            stop_patterns=patterns,
            lower=self.lower,
            ngrams=sizes,
            min_df=None if self.min_df == "auto" else bound(self.min_df, "--min-df"),
            max_df=bound(self.max_df, "--max-df"),
            max_vocab=self.max_vocab,
            vocab=None if self.vocab is None else read_vocabulary(self.vocab),
            lists_must_match=True,
        )


@dataclass(frozen=True, slots=True)
class TopicTokenOptions(TokenOptions):
    """The same, where all documents are there: words that too many of them have can be told."""

    auto_stop: Annotated[
        float | None,
        Param("Terms in more than this share of the documents are stop words.", metavar="SHARE"),
    ] = None

    def options(self) -> PreprocessOptions:
        """Return the options of the core; raises as TokenOptions.options."""
        if self.auto_stop is not None and not 0 <= self.auto_stop <= 1:
            raise UsageError(f"--auto-stop {self.auto_stop}: a share of the documents lies in 0.0 … 1.0")
        return replace(TokenOptions.options(self), auto_stop=self.auto_stop)


@dataclass(frozen=True, slots=True)
class TextOptions(TopicTokenOptions):
    """Everything that can be done on the way from texts to tokens."""

    html: Annotated[bool, Param("Take HTML and XML apart: scripts and styles go too, paragraphs stay apart.")] = False
    replace: Annotated[
        Path | None,
        Param(
            "Replacements before cutting, a line each: phrase TAB other; without TAB: deleted; /regex/ TAB other.",
            metavar="FILE",
        ),
    ] = None
    emoji: Annotated[str, Param("keep (see --keep emoji), words = their names, remove.")] = "keep"
    keep: Annotated[
        str | None,
        Param("Tokens that stay whole: url, email, hashtag, mention, number, emoji.", metavar="KIND,…"),
    ] = None
    segment: Annotated[
        str,
        Param("Chinese, Japanese, Thai: ngrams; characters; words (pip install 'nlpkit[asian]'); auto = ngrams."),
    ] = "auto"
    min_length: Annotated[int, Param("Least characters of a word.", min=1)] = 2
    lemma: Annotated[str, Param("none; dict = dictionary of the language; spacy = its pipeline.")] = "none"
    stem: Annotated[str, Param("none; auto = Snowball of the language; porter, german, …")] = "none"
    phrases: Annotated[
        str | None,
        Param(
            "Join phrases found in the corpus: npmi:0.5, pmi:3, llr:10.83; a third number is their least count.",
            metavar="MEASURE:MIN",
        ),
    ] = None
    phrase_file: Annotated[
        Path | None,
        Param("Join these phrases: one a line, or a file of --save-phrases.", metavar="FILE"),
    ] = None
    spacy: Annotated[
        str | None,
        Param(
            "Cut with this spaCy pipeline (name, folder, blank:de, auto = the installed one of the language).",
            metavar="MODEL",
        ),
        READ,
    ] = None
    pos: Annotated[
        str | None,
        Param("Only these parts of speech: NOUN,PROPN,ADJ (spaCy).", metavar="TAG,…"),
    ] = None
    entities: Annotated[bool, Param("Column of named entities: start, end, text, type (spaCy).")] = False
    min_cf: Annotated[str, Param("Least occurrences of a term; a number, or a share of all tokens.")] = "1"
    max_cf: Annotated[str, Param("Most occurrences of a term; a number, or a share.")] = "1.0"

    def options(self) -> PreprocessOptions:
        """Return the options of the core; raises as TokenOptions.options."""
        from nlpkit.text.kinds import check_kinds
        from nlpkit.text.phrases import parse_phrases
        from nlpkit.text.segment import SEGMENTERS

        # no super(): a dataclass with slots is made anew, and the cell of super() holds the old one
        base = TopicTokenOptions.options(self)
        if self.lemma not in ("none", "dict", "spacy"):
            raise UsageError(f"--lemma {self.lemma}: there are none, dict and spacy")
        if self.segment not in SEGMENTERS:
            raise UsageError(f"--segment {self.segment}: there are {', '.join(SEGMENTERS)}")
        if self.phrases is not None and self.phrase_file is not None:
            raise UsageError("--phrases finds phrases and --phrase-file gives them; keep one")
        spacy = self._spacy()
        if spacy is not None and (base.tokenizer != "words" or self.segment != "auto"):
            raise UsageError("spaCy cuts texts by its own rules; leave --tokenizer, --token-pattern and --segment out")
        keep = check_kinds(k.strip() for k in (self.keep or "").split(",") if k.strip())
        self._check_together(base.tokenizer)
        language = base.language if base.language not in ("auto", "none") else "en"
        cleaner = None
        if self.html or self.replace is not None or self.emoji != "keep":
            from nlpkit.io.rules import read_rules
            from nlpkit.text.clean import Cleaner

            rules = None if self.replace is None else read_rules(self.replace)
            cleaner = Cleaner(html=self.html, replacements=rules, emoji=self.emoji, emoji_language=language)
        made = replace(
            base,
            cleaner=cleaner,
            tokenizer="spacy" if spacy is not None else base.tokenizer,
            spacy=spacy,
            keep=keep,
            segment=self.segment,
            min_length=self.min_length,
            lemma=self.lemma == "dict",
            stem=self.stem,
            phrases=None if self.phrases is None else parse_phrases(self.phrases),
            min_cf=bound(self.min_cf, "--min-cf", "occurrences"),
            max_cf=bound(self.max_cf, "--max-cf", "occurrences"),
        )
        return made if self.phrase_file is None else replace(made, phrase_table=_phrases(self.phrase_file, made))

    def _check_together(self, tokenizer: str) -> None:
        """Raise UsageError for an option that nothing would come of beside another."""
        if tokenizer != "words":
            _refuse(
                {"--keep": self.keep, "--segment": self.segment != "auto", "--min-length": self.min_length != 2},
                "belongs to the tokenizer words; leave --tokenizer and --token-pattern out",
            )
        if tokenizer.startswith("chars"):
            _refuse(
                {
                    "--lemma": self.lemma != "none",
                    "--stem": self.stem != "none",
                    "--phrases": self.phrases,
                    "--phrase-file": self.phrase_file,
                },
                f"is about words, and --tokenizer {tokenizer} makes n-grams of characters; keep one",
            )
        if self.vocab is not None:
            _refuse({"--min-cf": self.min_cf != "1", "--max-cf": self.max_cf != "1.0"}, _KEEPS_ALL)
        if self.entities:
            _refuse(
                {"--html": self.html, "--replace": self.replace, "--emoji": self.emoji != "keep"},
                "changes the text that is cut, and --entities tells places in the text as it is; keep one",
            )

    def _spacy(self) -> SpacyOptions | None:
        from nlpkit.text.options import SpacyOptions
        from nlpkit.text.spacy_tokens import parse_pos

        if self.spacy is None and self.pos is None and not self.entities and self.lemma != "spacy":
            return None
        pos = frozenset[str]() if self.pos is None else parse_pos(self.pos)
        return SpacyOptions(self.spacy or "auto", pos, self.entities, self.lemma == "spacy")


_KEEPS_ALL = "prunes terms, and --vocab keeps its terms whatever their frequency; keep one"


def _refuse(given: Mapping[str, object], why: str) -> None:
    """Raise UsageError for the first option that is given."""
    option = next((name for name, value in given.items() if value), None)
    if option is not None:
        raise UsageError(f"{option} {why}")


def _stop_words(given: str) -> tuple[str, frozenset[str], tuple[str, ...]]:
    """Return languages, words and patterns of a list of languages and files."""
    from nlpkit.io.wordlists import read_word_list
    from nlpkit.text.language import stop_list_code

    parts = [given] if Path(given).is_file() else [part.strip() for part in given.split(",")]
    words: frozenset[str] = frozenset()
    patterns: list[str] = []
    codes = []
    for part in parts:
        if Path(part).is_file():
            found = read_word_list(Path(part))
            words |= found.words
            patterns += found.patterns
            continue
        codes.append(part if part in ("auto", "none") else stop_list_code(part))
    if len(codes) > 1 and ("auto" in codes or "none" in codes):
        raise UsageError(f"--stop-words {given}: auto and none stand alone or beside files")
    return ",".join(codes) or "auto", words, tuple(patterns)


def ngram_range(given: str) -> tuple[int, int]:
    """Return the lengths of "2", "1,2" or "1-2".

    Raises:
        UsageError: it is none of these.
    """
    low, separator, high = given.replace("-", ",").partition(",")
    try:
        found = int(low), int(high if separator else low)
    except ValueError:
        found = (0, 0)
    if not 1 <= found[0] <= found[1]:
        raise UsageError(f"--ngrams takes one length or two, the smaller first, such as 1,2; got '{given}'")
    return found


def bound(text: str, option: str, what: str = "documents") -> float:
    """Return a number of documents (int) or a share of them (float).

    Raises:
        UsageError: it is no number.
    """
    try:
        return float(text) if any(c in text for c in ".eE") else int(text)
    except ValueError:
        raise UsageError(f"{option} takes a number of {what} or a share such as 0.05, got '{text}'") from None


def _phrases(path: Path, options: PreprocessOptions) -> PhraseTable:
    """Return the phrases of a file, its lines cut as the documents are."""
    from nlpkit.io.phrase_files import read_phrases

    lines: list[str] = []

    def collect(line: str) -> tuple[str, str]:
        lines.append(line)
        return line, line

    found = read_phrases(path, collect)
    if not lines:  # a table: its phrases are terms already
        return found
    if options.language == "auto" and (options.lemma or options.stem == "auto"):
        raise UsageError(
            f"--phrase-file {path}: its words need a language for their base forms or stems; name it with --language"
        )
    cut = _cut_lines(lines, options)
    return read_phrases(path, cut.__getitem__)


def _cut_lines(lines: list[str], options: PreprocessOptions) -> dict[str, list[str]]:
    """Return the terms of each line."""
    import numpy as np
    import pyarrow as pa

    from nlpkit.text.preprocess import Preprocessor

    language = "en" if options.language == "auto" else options.language
    work = Preprocessor(replace(options, language=language, stop_words="none"))
    encoded = next(e for _, e in work.encode_all([pa.record_batch({"text": pa.array(lines, pa.string())})]))
    terms = work.terms
    parts = np.split(encoded.term_ids, encoded.offsets[1:-1])
    return {line: [terms[i] for i in ids.tolist()] for line, ids in zip(lines, parts, strict=True)}
