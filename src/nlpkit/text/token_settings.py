"""Tokenisation settings recorded in footers and runs: read back as options, and compared with those of other tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from nlpkit.errors import InputError, UsageError
from nlpkit.text.kinds import check_kinds
from nlpkit.text.languages import has_code, language_code
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.segment import segmenter
from nlpkit.text.stem import stemmer
from nlpkit.wording import listed

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
