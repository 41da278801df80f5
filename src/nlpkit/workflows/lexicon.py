"""The lexicon, the classes and the parameters of Lex2Sent that options of sentiment name."""

from __future__ import annotations

from pathlib import Path

from nlpkit.classify.lex2sent import Lex2SentOptions
from nlpkit.classify.lexicon import Lexicon, SentimentClasses, parse_classes
from nlpkit.classify.sentiment_options import SentimentOptions, is_package
from nlpkit.errors import UsageError
from nlpkit.io.lexica import ROLES, opinion_lexicon, package_list, read_lexicon


def load_lexicon(options: SentimentOptions) -> Lexicon:
    """Return the list of words. Raises InputError, ColumnError, MissingError and UsageError."""
    name, columns = options.names, _columns(options.lexicon_cols)
    if Path(name).is_file():
        return read_lexicon([Path(name)], columns)
    if is_package(name):
        return read_lexicon([package_list(name)], check=False)
    if name == "liu":
        return opinion_lexicon()
    parts = [part.strip() for part in name.split(",")]
    if len(parts) == 1 and not Path(parts[0]).suffix and "/" not in parts[0]:
        raise UsageError(f"`lexicon={name}`: neither a file nor one of vader, afinn, liu", parameter="lexicon")
    return read_lexicon([Path(part) for part in parts], columns)


def _columns(text: str | None) -> dict[str, str]:
    columns: dict[str, str] = {}
    for part in (text or "").split(","):
        role, equals, name = (piece.strip() for piece in part.partition("="))
        if part.strip() and (not equals or not name or role not in ROLES):
            raise UsageError(f"`lexicon_cols` takes {'=…, '.join(ROLES)}=…, got '{part}'", parameter="lexicon_cols")
        if part.strip():
            columns[role] = name
    return columns


def named_classes(options: SentimentOptions) -> SentimentClasses | None:
    """Return the classes that are named, None where none are. Raises UsageError."""
    if options.classes is None:
        return None
    return parse_classes(options.classes if isinstance(options.classes, str) else ",".join(options.classes))


def lex2sent_options(options: SentimentOptions) -> Lex2SentOptions:
    """Return the parameters of Lex2Sent. Raises UsageError for what is no number."""
    return Lex2SentOptions(
        _numbers(options.l2s_epochs, "l2s_epochs"),
        _numbers(options.l2s_windows, "l2s_windows"),
        _numbers(options.l2s_sizes, "l2s_sizes"),
        options.l2s_resamples,
        options.l2s_resampling,
        options.l2s_min_count,
    )


def _numbers(value: str | tuple[int, ...], name: str) -> tuple[int, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    try:
        numbers = tuple(int(part) for part in parts)
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < 1:
        raise UsageError(
            f"`{name}` takes whole numbers from 1 on, with commas between them, got '{value}'", parameter=name
        )
    return numbers
