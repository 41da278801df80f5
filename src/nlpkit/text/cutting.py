"""Construction of the tokenizer and the normalizer that the options ask for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from nlpkit.errors import UsageError, unknown_value
from nlpkit.text.normalize import Normalizer, lower_case
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.segment import segmenter
from nlpkit.text.stopwords import clitics
from nlpkit.text.tokenize import WORD_PATTERN, RawTokens, cut_tokens, keep_patterns, lower_texts, scan_runs, scan_tokens

TOKENIZERS = ("words", "sklearn", "whitespace", "chars:N", "regex", "spacy")
MOST_CHARACTERS = 1000
PART_BYTES = 3 << 20  # of texts that are cut at a time
_CHARS = re.compile(r"chars:([0-9]+)(?:-([0-9]+))?")


def check_tokenizer(name: str, pattern: str | None) -> None:
    """Raises UsageError: no tokenizer is called that, or its n-grams have no length."""
    if name not in TOKENIZERS and not _CHARS.fullmatch(name):
        raise unknown_value("tokenizer", name, [kind for kind in TOKENIZERS if kind not in ("regex", "spacy")])
    low, high = character_ngrams(name) or (1, 1)
    if high > MOST_CHARACTERS:
        raise UsageError(f"`tokenizer={name}`: n-grams have at most {MOST_CHARACTERS:,} characters")
    if not 1 <= low <= high:
        raise UsageError(
            f"`tokenizer={name}`: n-grams have at least one character, and the shortest comes first, as in chars:3-5"
        )
    if (name == "regex") != (pattern is not None):
        raise UsageError("the tokenizer regex and `token_pattern` go together", parameter="token_pattern")


def character_ngrams(name: str) -> tuple[int, int] | None:
    """Return the lengths of the n-grams of a tokenizer chars:3 or chars:3-5, None for another."""
    match = _CHARS.fullmatch(name)
    return (int(match[1]), int(match[2] or match[1])) if match else None


class TextPart(NamedTuple):
    """Texts to be cut at a time; with the last ones of a batch, the batch."""

    texts: pa.Array
    batch: pa.RecordBatch | None


def text_parts(batches: Iterable[pa.RecordBatch], column: str) -> Iterator[TextPart]:
    """Yield the texts of batches in parts of at most about PART_BYTES, so that no thread has much left when the others are done."""
    for batch in batches:
        texts = batch.column(column)
        size = max(len(texts) * PART_BYTES // max(texts.nbytes, 1), 1)
        for start in range(0, max(len(texts), 1), size):
            yield TextPart(texts.slice(start, size), batch if start + size >= len(texts) else None)


def cutter(options: PreprocessOptions) -> Callable[[pa.Array], RawTokens]:
    """Return the function that cuts texts into raw tokens without a spaCy pipeline; may run in several threads at a time."""
    if options.pattern is not None:
        return partial(cut_tokens, pattern=options.pattern)
    if options.tokenizer == "whitespace":
        return partial(cut_tokens, pattern=r"\S+")
    if options.tokenizer == "sklearn":
        return partial(scan_runs, lower=options.lower)
    if options.tokenizer.startswith("chars"):
        return partial(_characters, lower=options.lower)
    if options.keep:
        return partial(cut_tokens, pattern="|".join([*keep_patterns(options.keep), WORD_PATTERN]))
    return partial(scan_tokens, lower=options.lower and not options.lemma, junk=False)


def normalizer(
    options: PreprocessOptions, languages: Sequence[str], is_stop: Callable[[str], bool]
) -> Callable[[str], tuple[str, ...]]:
    """Return the function from a raw token to its terms; see `Normalizer`. Tokens of a user pattern stay as cut."""
    lemma = stem = None
    if options.lemma:
        from nlpkit.text.normalize import has_lemmas, lemmatizer

        known = [
            code for code in languages if has_lemmas(code)
        ] or languages  # of several detected languages those with one
        lemma = lemmatizer(known, cased=True)
    if options.stem != "none":
        from nlpkit.text.normalize import stemmer

        if options.stem == "auto" and not languages:
            raise UsageError("`stem=auto` needs a language; name it with `language`, or name the stemmer")
        stem = stemmer(languages[0] if options.stem == "auto" else options.stem)
    if options.tokenizer.startswith("chars"):
        return _character
    if options.tokenizer not in ("words", "spacy"):
        return partial(_verbatim, lower=options.lower, lemma=lemma, stem=stem, is_stop=is_stop)
    whole = options.whole_words.union(options.vocab or ())
    return Normalizer(
        lower=options.lower,
        keep=options.keep,
        segment=_whole if options.tokenizer == "spacy" else segmenter(options.segment, languages),
        lemma=lemma,
        stem=stem,
        stop=is_stop,
        clitics=clitics(languages),
        whole=partial(_is_whole, whole, is_stop),
        min_length=options.min_length,
    )


def _is_whole(words: frozenset[str], is_stop: Callable[[str], bool], word: str) -> bool:
    return word in words or is_stop(word)


def needs_language(options: PreprocessOptions) -> bool:
    """Return whether anything depends on the language of the texts."""
    by_word = options.tokenizer in ("words", "spacy") or options.stop_words == "auto" or options.lemma
    return by_word or options.stem == "auto" or (options.cleaner is not None and options.cleaner.emoji == "words")


def plain_tokens(options: PreprocessOptions) -> str:
    """Return which tokens are terms as they stand, so that no Python looks at them: see `Vocabulary`."""
    if options.lemma or options.stem != "none":
        return "none"
    if options.tokenizer == "sklearn":
        return "all"
    usual = options.tokenizer == "words" and options.lower and not options.keep and options.min_length == 2
    return "words" if usual else "none"


def _whole(run: str) -> list[str]:
    """A pipeline for Chinese or Japanese has cut already."""
    return [run]


def _verbatim(
    raw: str,
    *,
    lower: bool,
    lemma: Callable[[str], str] | None,
    stem: Callable[[str], str] | None,
    is_stop: Callable[[str], bool],
) -> tuple[str, ...]:
    token = unicodedata.normalize("NFC", raw)
    term = lower_case(token) if lower else token
    if (lemma or stem) and not is_stop(lower_case(token)):
        if lemma:
            term = lemma(token)
            term = lower_case(term) if lower else term
        if stem:
            term = stem(term)
    return (term,) if term else ()


def _characters(texts: pa.Array, *, lower: bool) -> RawTokens:
    """Cut texts (D,) into characters and runs of white space; lower: the whole text first, for the Σ that ends a word is ς."""
    if lower:
        texts = lower_texts(texts)
    return cut_tokens(texts, r"\S|\s+")


def _character(raw: str) -> tuple[str, ...]:
    """A run of white space is one space, as in scikit-learn's analyzer='char', where one line break or tab alone stays."""
    return (" ",) if raw.isspace() else (raw,)
