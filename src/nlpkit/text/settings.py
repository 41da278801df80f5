"""The tokenisation settings: made from what a person asks for, read back from runs, and compared.

Parts, in this order:
- Tokenisation settings recorded in footers and runs: read back as options, and compared with those of other tokens.
- From the token options a person gives to the settings they come to: files are read, values checked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.platform.options import names_in
from nlpkit.platform.wording import listed
from nlpkit.text.language import has_code, language_code
from nlpkit.text.normalize import stemmer
from nlpkit.text.options import (
    DocumentTextOptions,
    PreprocessOptions,
    SpacyOptions,
    TextOptions,
    TokenOptions,
    TopicTokenOptions,
)
from nlpkit.text.segment import segmenter
from nlpkit.text.tokenize import check_kinds

if TYPE_CHECKING:
    from nlpkit.text.phrases import PhraseTable

NO_LANGUAGE = "zxx"  # ISO 639-3 for what is in no language; the detector says so of codes and names
_CARRIED = ("language", "tokenizer", "pattern", "segment", "lower", "min_length", "lemma", "stem", "stop_words")
_NOT_OPTIONS = {"lexicon": "`lexicon`", "phrases": "`phrases`", "phrase_table": "`phrases`", "spacy": "spaCy"}
_COMPARED = (
    "language", "cleaner", "tokenizer", "pattern", "spacy", "keep", "segment", "lower", "min_length", "stop_words",
    "extra_stop_words", "stop_patterns", "lemma", "stem", "phrases", "lexicon", "ngrams",
)  # fmt: skip
_BOUNDS: dict[str, tuple[Any, ...]] = {
    "auto_stop": (None,),
    "min_df": (None, 0, 1),
    "max_df": (None, 1.0),
    "min_cf": (None, 0, 1),
    "max_cf": (None, 1.0),
    "max_vocab": (None,),
}


def options_from(settings: Mapping[str, Any] | None, model: str) -> PreprocessOptions:
    """Return options that cut new texts as those of a model were cut; all words stay.

    Raises:
        InputError: it is not known how, it takes more than options, or the settings are damaged.
    """
    try:
        options = _options_from(settings, model)
        for field in fields(options):
            default = "" if field.name == "pattern" else 0.0 if field.name == "auto_stop" else field.default
            value = getattr(options, field.name)
            kind = int | float if type(default) in (int, float) else type(default)
            if default is not None and not isinstance(value, kind | None if field.default is None else kind):
                raise TypeError(field.name)
        if tuple(map(type, options.ngrams)) != (int, int):
            raise TypeError("ngrams")
        _check_names(options)
    except (TypeError, AttributeError, LookupError, ValueError, UsageError) as error:
        raise InputError(
            f"{model} is damaged: its tokenisation is not recorded correctly ({error}); make it again"
        ) from None
    return options


def _check_names(options: PreprocessOptions) -> None:
    """Raises UsageError: nothing is called what these settings name; cutting would take it for the user's own mistake."""
    check_kinds(options.keep)
    segmenter(options.segment, ())
    for name in {options.language, *(code.strip() for code in options.stop_words.split(","))} - {"auto", "none", ""}:
        language_code(name)
    if options.stem not in ("auto", "none"):
        stemmer(options.stem)


def _options_from(settings: Mapping[str, Any] | None, model: str) -> PreprocessOptions:
    hint = "give the new documents a column 'tokens' made in the same way"
    if settings is None:
        raise InputError(f"{model} does not record how its tokens were made; {hint}")
    for name, option in _NOT_OPTIONS.items():
        if settings.get(name):
            raise InputError(f"the tokens of {model} were made with {option} of `preprocess()`; {hint}")
    cleaner = settings.get("cleaner")
    if cleaner and cleaner.get("replacements"):
        raise InputError(f"the tokens of {model} were made with `replace` of `preprocess()`; {hint}")
    if settings.get("auto_stop") is not None and tuple(settings.get("ngrams") or (1, 1)) != (1, 1):
        raise InputError(f"the n-grams of {model} were made after `auto_stop` of `preprocess()`; {hint}")
    in_force = {**settings, **_in_force(settings)}
    carried = {name: in_force[name] for name in _CARRIED if name in in_force}
    if cleaner:
        from nlpkit.text.clean import Cleaner  # loads polars

        language = carried["language"] if carried.get("language") not in (None, "none") else cleaner["emoji_language"]
        carried["cleaner"] = Cleaner(**{**cleaner, "emoji_language": language})
    return PreprocessOptions(
        **carried,
        keep=frozenset(settings.get("keep") or ()),
        extra_stop_words=frozenset(settings.get("extra_stop_words") or ()),
        stop_patterns=tuple(settings.get("stop_patterns") or ()),
        ngrams=tuple(settings.get("ngrams") or (1, 1)),
        min_df=1,
    )


def differences(model: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """Return how the settings of tokens differ from those of a model, such as "stem porter, the model's none".

    Which words were left out for their frequency is not compared, see `learned_bounds`.
    """
    wanted, actual = _comparable(model), _comparable(settings)
    return [
        f"{name.replace('_', ' ')} {_setting_text(actual[name])}, the model's {_setting_text(wanted[name])}"
        for name in _COMPARED
        if wanted[name] != actual[name]
    ]


def learned_bounds(settings: Mapping[str, Any]) -> list[str]:
    """Return the options by which words were left out, or phrases joined, for their frequency in all documents of a table."""
    if settings.get("vocab"):
        return []
    bounds = [
        name for name, unbound in _BOUNDS.items() if not any(_same(settings.get(name), value) for value in unbound)
    ]
    joined = ["phrases"] if settings.get("phrases") else []
    return [f"`{name}`" for name in [*bounds, *joined]]


def _same(value: Any, other: Any) -> bool:
    return value == other and type(value) is type(other) if isinstance(other, float) else value == other


def _in_force(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return language and stop words as they were resolved."""
    resolved = {name: settings[name] for name in ("language", "stop_words") if name in settings}
    if resolved.get("language") == "auto":
        known = [code for code, *_ in settings.get("languages") or [] if has_code(code)]
        resolved["language"] = known[0] if known else "none"
    if resolved.get("stop_words") == "auto":
        resolved["stop_words"] = ",".join(settings.get("stop_word_languages") or []) or "none"
    return resolved


def _comparable(settings: Mapping[str, Any]) -> dict[str, Any]:
    usual = PreprocessOptions()
    values = {name: settings.get(name, getattr(usual, name)) for name in _COMPARED} | _in_force(settings)
    values["ngrams"] = list(values["ngrams"] or (1, 1))
    for name in ("keep", "extra_stop_words", "stop_patterns"):
        values[name] = list(values[name] or ())
    if values["spacy"]:  # columns beside the tokens
        values["spacy"] = {name: value for name, value in values["spacy"].items() if name not in ("entities", "tags")}
    cleaner = values["cleaner"]
    if cleaner:
        # the language of names of emoji is that of the texts
        values["cleaner"] = {name: value for name, value in cleaner.items() if name != "emoji_language" and value}
    # phrases that were found in training documents are given to new ones as a file
    values["phrases"] = bool(settings.get("phrases") or settings.get("phrase_table"))
    return values


def _setting_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value in (None, [], {}):
        return "none"
    if isinstance(value, list):
        return listed(value, 5, between=",")
    if isinstance(value, dict):
        return " ".join(f"{name}={_setting_text(part)}" for name, part in value.items())
    return str(value)


# ------------------------------------------------------------------------------------------------------------------------
# From the token options a person gives to the settings they come to: files are read, values checked.

_KEEPS_ALL = "prunes terms, and `vocab` keeps its terms whatever their frequency; keep one"


def preprocess_options(tokens: TokenOptions) -> PreprocessOptions:
    """Return the settings that token options come to; the files they name are read.

    Raises:
        UsageError: a bound is not a number, a language is unknown, or options contradict each other.
        InputError: a file cannot be read.
    """
    options = _token_options(tokens)
    if isinstance(tokens, TopicTokenOptions):
        if tokens.auto_stop is not None and not 0 <= tokens.auto_stop <= 1:
            raise _wrong(
                "auto_stop", f"`auto_stop={tokens.auto_stop:g}`: a share of the documents from 0 to 1 is needed"
            )
        options = replace(options, auto_stop=tokens.auto_stop)
    return _text_options(tokens, options) if isinstance(tokens, TextOptions) else options


def _token_options(tokens: TokenOptions) -> PreprocessOptions:
    from nlpkit.text.cutting import check_tokenizer
    from nlpkit.text.language import language_code

    tokenizer = tokens.tokenizer
    if tokens.token_pattern is not None:
        if tokenizer != "words":
            raise _wrong("token_pattern", "`token_pattern` and `tokenizer` both say how texts are cut; keep one")
        tokenizer = "regex"
    check_tokenizer(tokenizer, tokens.token_pattern)
    if tokenizer == "spacy":
        raise _wrong("tokenizer", "`tokenizer=spacy`: name the pipeline instead, `preprocess(spacy=MODEL)` (or auto)")
    characters = tokenizer.startswith("chars")
    stop, words, patterns = _stop_words(
        "none" if characters and tokens.stop_words == "auto" else tokens.stop_words, phrases=tokenizer == "regex"
    )
    sizes = ngram_range(tokens.ngrams)
    if characters:
        _refuse(
            {"ngrams": sizes != (1, 1), "stop_words": (stop, words, patterns) != ("none", frozenset(), ())},
            f"is about words, and `tokenizer={tokenizer}` makes n-grams of characters; keep one",
        )
    if tokens.vocab is not None:
        bounds = {"min_df": tokens.min_df != "auto", "max_df": tokens.max_df not in ("1.0", 1.0)}
        _refuse({**bounds, "max_vocab": tokens.max_vocab is not None}, _KEEPS_ALL)
    return PreprocessOptions(
        language=tokens.language if tokens.language in ("auto", "none") else language_code(tokens.language),
        tokenizer=tokenizer,
        pattern=tokens.token_pattern,
        stop_words=stop,
        extra_stop_words=words,
        stop_patterns=patterns,
        lower=tokens.lower,
        ngrams=sizes,
        min_df=None if tokens.min_df == "auto" else bound(tokens.min_df, "min_df"),
        max_df=bound(tokens.max_df, "max_df"),
        max_vocab=tokens.max_vocab,
        vocab=_vocabulary(tokens.vocab),
        lists_must_match=True,
    )


def _text_options(tokens: TextOptions, base: PreprocessOptions) -> PreprocessOptions:
    from nlpkit.text.phrases import parse_phrases
    from nlpkit.text.segment import SEGMENTERS
    from nlpkit.text.tokenize import check_kinds

    if tokens.lemma not in ("none", "dict", "spacy"):
        raise unknown_value("lemma", tokens.lemma, ("none", "dict", "spacy"))
    if tokens.segment not in SEGMENTERS:
        raise unknown_value("segment", tokens.segment, SEGMENTERS)
    if tokens.phrases is not None and tokens.phrase_file is not None:
        raise _wrong("phrase_file", "`phrases` finds phrases and `phrase_file` gives them; keep one")
    spacy = _spacy(tokens)
    if spacy is not None and (base.tokenizer != "words" or tokens.segment != "auto"):
        raise _wrong(
            "spacy",
            "`spacy` cuts texts by the rules of its pipeline; leave `tokenizer`, `token_pattern` and `segment` out",
        )
    keep = check_kinds(names_in(tokens.keep))
    _check_together(tokens, base.tokenizer)
    cleaner = None
    changes = (
        tokens.html,
        tokens.join_hyphens,
        tokens.fold == "marks",
        tokens.replace is not None,
        tokens.emoji != "keep",
    )
    if any(changes):
        from nlpkit.text.clean import Cleaner
        from nlpkit.text.files import read_rules

        language = base.language if base.language not in ("auto", "none") else "en"
        rules = None if tokens.replace is None else read_rules(Path(tokens.replace))
        cleaner = Cleaner(
            html=tokens.html, replacements=rules, emoji=tokens.emoji, emoji_language=language, join_hyphens=tokens.join_hyphens,
            fold_marks=tokens.fold == "marks",
        )  # fmt: skip
    options = replace(
        base,
        cleaner=cleaner,
        tokenizer="spacy" if spacy is not None else base.tokenizer,
        spacy=spacy,
        keep=keep,
        segment=tokens.segment,
        min_length=tokens.min_length,
        lemma=tokens.lemma == "dict",
        stem=tokens.stem,
        phrases=None if tokens.phrases is None else parse_phrases(tokens.phrases),
        min_cf=bound(tokens.min_cf, "min_cf", "occurrences"),
        max_cf=bound(tokens.max_cf, "max_cf", "occurrences"),
    )
    if isinstance(tokens, DocumentTextOptions):
        options = _with_lexicon(tokens, options)
    if tokens.phrase_file is None:
        return options
    return replace(options, phrase_table=_phrases(Path(tokens.phrase_file), options))


def _with_lexicon(tokens: DocumentTextOptions, options: PreprocessOptions) -> PreprocessOptions:
    """Return the options with a lexicon, whose entries are cut as the documents are; those of several words are phrases.

    Raises:
        UsageError: options that go with no lexicon, or an unknown category; InputError: it cannot be read.
    """
    if tokens.lexicon is None:
        asked = {"categories": tokens.categories, "replace_by_category": tokens.replace_by_category}
        _refuse(asked, "needs a lexicon with categories; give one with `lexicon`")
        return options
    _refuse(
        {
            "phrases": tokens.phrases,
            "phrase_file": tokens.phrase_file,
            "vocab": tokens.vocab is not None,
            "tags": tokens.tags,
        },
        "and `lexicon` both say what becomes of terms; do one after the other",
    )
    if options.tokenizer.startswith("chars"):
        raise _wrong(
            "lexicon", f"`lexicon` has words, and `tokenizer={options.tokenizer}` makes n-grams of characters; keep one"
        )
    if tokens.replace_by_category and options.ngrams != (1, 1):
        raise _wrong("ngrams", "`ngrams` are of words, and `replace_by_category` leaves none; keep one")
    from nlpkit.text.lexicon.categories import TermCategories
    from nlpkit.text.lexicon.files import read_categories
    from nlpkit.text.normalize import lower_case
    from nlpkit.text.phrases import SEPARATOR, PhraseTable
    from nlpkit.text.tokenize import is_whole

    path = Path(tokens.lexicon)
    whole = read_categories(path)
    names = tuple(dict.fromkeys(names_in(tokens.categories))) or whole.categories
    for name in names:
        if name not in whole.categories:
            raise unknown_value("categories", name, whole.categories)
    entries = {word: [names.index(c) for c in cs if c in names] for word, cs in whole.entries.items()}
    words = [
        word
        for word, places in entries.items()
        if places and is_whole(word.removesuffix("*"), emoji="emoji" in options.keep)
    ]
    if not words:
        raise InputError(f"{path}: none of its words begins and ends with a letter or digit, so none can match")
    _needs_language(options, "lexicon", path)
    cut = _cut_lines([word.removesuffix("*") for word in words], options)
    terms: dict[str, set[int]] = {}
    begins: dict[str, set[int]] = {}
    for word in words:
        parts = cut[word.removesuffix("*")]
        if parts:
            terms.setdefault(SEPARATOR.join(parts), set()).update(entries[word])
        if word.endswith("*"):
            begin = lower_case(word[:-1]) if options.lower else word[:-1]
            begins.setdefault(begin, set()).update(entries[word])
    categories = TermCategories(str(path), names, _frozen(terms), _frozen(begins), replace=tokens.replace_by_category)
    phrases = PhraseTable.from_words(parts for parts in cut.values() if len(parts) > 1)
    return replace(options, lexicon=categories, phrase_table=phrases if len(phrases) else None)


def _frozen(places: Mapping[str, set[int]]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((term, tuple(sorted(cs))) for term, cs in places.items())


def _needs_language(options: PreprocessOptions, parameter: str, path: Path) -> None:
    """Raise UsageError where the words of a file would need the language that is detected later."""
    pipeline = options.spacy is not None and options.spacy.model == "auto"
    if options.language == "auto" and (options.lemma or options.stem == "auto" or pipeline):
        raise _wrong(
            parameter,
            f"`{parameter}={path}`: its words need a language to be cut, lemmatised or stemmed as the texts are; name it with `language`",
        )


def _check_together(tokens: TextOptions, tokenizer: str) -> None:
    """Raise UsageError for an option that would have no effect beside another."""
    if tokenizer != "words":
        _refuse(
            {"keep": tokens.keep, "segment": tokens.segment != "auto", "min_length": tokens.min_length != 2},
            "belongs to the tokenizer words; leave `tokenizer` and `token_pattern` out",
        )
    if tokenizer.startswith("chars"):
        forms = {"lemma": tokens.lemma != "none", "stem": tokens.stem != "none"}
        _refuse(
            {**forms, "phrases": tokens.phrases, "phrase_file": tokens.phrase_file},
            f"is about words, and `tokenizer={tokenizer}` makes n-grams of characters; keep one",
        )
    if tokens.vocab is not None:
        bounds = {"min_cf": tokens.min_cf not in ("1", 1), "max_cf": tokens.max_cf not in ("1.0", 1.0)}
        _refuse(bounds, _KEEPS_ALL)
    if isinstance(tokens, DocumentTextOptions) and tokens.tags:
        joined = {
            "phrases": tokens.phrases,
            "phrase_file": tokens.phrase_file,
            "ngrams": ngram_range(tokens.ngrams) != (1, 1),
        }
        _refuse(joined, "makes terms of several words, and `tags` gives each token one part of speech; keep one")
    if tokens.entities:
        _refuse(
            {
                "html": tokens.html,
                "join_hyphens": tokens.join_hyphens,
                "fold": tokens.fold != "none",
                "replace": tokens.replace,
                "emoji": tokens.emoji != "keep",
            },
            "changes the text that is cut, and `entities` tells places in the text as it is; keep one",
        )


def _spacy(tokens: TextOptions) -> SpacyOptions | None:
    from nlpkit.text.spacy_tokens import parse_pos

    tags = isinstance(tokens, DocumentTextOptions) and tokens.tags
    if tokens.spacy is None and tokens.pos is None and not tokens.entities and not tags and tokens.lemma != "spacy":
        return None
    pos = frozenset[str]() if tokens.pos is None else parse_pos(",".join(names_in(tokens.pos)))
    return SpacyOptions(tokens.spacy or "auto", pos, tokens.entities, tokens.lemma == "spacy", tags)


def _wrong(parameter: str, message: str) -> UsageError:
    return UsageError(message, parameter=parameter)


def _refuse(asked: Mapping[str, object], why: str) -> None:
    """Raise UsageError for the first parameter that is set."""
    name = next((name for name, value in asked.items() if value), None)
    if name is not None:
        raise _wrong(name, f"`{name}` {why}")


def _stop_words(choice: str | Collection[str], *, phrases: bool) -> tuple[str, frozenset[str], tuple[str, ...]]:
    """Return languages, words and patterns of a list of languages and files; a collection holds words and /patterns/.

    phrases: terms, and so the entries, may be several words.
    """
    from nlpkit.text.files import checked_pattern, read_word_list, several_words
    from nlpkit.text.language import stop_list_code
    from nlpkit.text.normalize import plain_form
    from nlpkit.text.stopwords import sklearn_words

    words: frozenset[str] = frozenset()
    patterns: list[str] = []
    if not isinstance(choice, str):
        marked = [word for word in choice if len(word) > 2 and word.startswith("/") and word.endswith("/")]
        words = frozenset(plain_form(word.lower()) for word in choice if word not in marked)
        long = next((word for word in sorted(words) if len(word.split()) > 1 and not phrases), None)
        if long is not None:
            raise _wrong("stop_words", f"`stop_words`: {several_words(long)}")
        return "none", words, tuple(checked_pattern(word[1:-1], "`stop_words`") for word in marked)
    parts = [choice] if Path(choice).is_file() else [part.strip() for part in choice.split(",")]
    codes = []
    for part in parts:
        if Path(part).is_file():
            listed = read_word_list(Path(part), phrases=phrases)
            words |= listed.words
            patterns += listed.patterns
            continue
        if part == "sklearn":
            words |= sklearn_words()
            part = "none"
        codes.append(part if part in ("auto", "none") else stop_list_code(part))
    codes = list(dict.fromkeys(codes))
    if len(codes) > 1 and ("auto" in codes or "none" in codes):
        raise _wrong("stop_words", f"`stop_words={choice}`: auto and none go with files, not with languages; keep one")
    return ",".join(codes) or "auto", words, tuple(patterns)


def ngram_range(sizes: str | int | tuple[int, int]) -> tuple[int, int]:
    """Return the lengths of 2, (1, 2), "1,2" or "1-2".

    Raises:
        UsageError: it is none of these.
    """
    text = ",".join(map(str, sizes)) if isinstance(sizes, tuple) else str(sizes)
    low, separator, high = text.replace("-", ",").partition(",")
    try:
        lengths = int(low), int(high if separator else low)
    except ValueError:
        lengths = (0, 0)
    if not 1 <= lengths[0] <= lengths[1]:
        raise _wrong("ngrams", f"`ngrams` takes one length or two, the smaller first, such as 1,2; got '{text}'")
    return lengths


def bound(value: str | float, parameter: str, what: str = "documents") -> float:
    """Return a number of documents (int) or a share of them (float).

    Raises:
        UsageError: it is no number.
    """
    if not isinstance(value, str):
        return value
    try:
        return float(value) if any(c in value for c in ".eE") else int(value)
    except ValueError:
        message = f"`{parameter}` takes a number of {what} or a share such as 0.05, got '{value}'"
        raise _wrong(parameter, message) from None


def _vocabulary(vocab: Path | Collection[str] | None) -> tuple[str, ...] | None:
    from nlpkit.text.files import read_vocabulary

    if vocab is None or isinstance(vocab, str | Path):
        return None if vocab is None else read_vocabulary(Path(vocab))
    terms = tuple(vocab)
    if not terms or "" in terms or len(set(terms)) < len(terms):
        raise _wrong("vocab", "`vocab` takes one term or more, none of them empty or there twice")
    return terms


def _phrases(path: Path, options: PreprocessOptions) -> PhraseTable:
    """Return the phrases of a file, its lines cut as the documents are."""
    from nlpkit.text.files import read_phrases

    lines: list[str] = []

    def collect(line: str) -> tuple[str, str]:
        lines.append(line)
        return line, line

    table = read_phrases(path, collect)
    if not lines:  # a table: its phrases are terms already
        return table
    _needs_language(options, "phrase_file", path)
    cut = _cut_lines(lines, options)
    return read_phrases(path, cut.__getitem__)


def _cut_lines(lines: list[str], options: PreprocessOptions) -> dict[str, list[str]]:
    """Return the terms of each line."""
    import numpy as np
    import pyarrow as pa

    from nlpkit.text.preprocess import Preprocessor

    language = "en" if options.language == "auto" else options.language
    preprocessor = Preprocessor(replace(options, language=language))
    encoded = next(e for _, e in preprocessor.encode_all([pa.record_batch({"text": pa.array(lines, pa.string())})]))
    terms = preprocessor.terms
    parts = np.split(encoded.term_ids, encoded.offsets[1:-1])
    return {line: [terms[i] for i in ids.tolist()] for line, ids in zip(lines, parts, strict=True)}
