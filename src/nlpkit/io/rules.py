"""Replacement files: what is replaced, a tab, what by; one rule a line."""

from __future__ import annotations

from pathlib import Path

from nlpkit.errors import InputError, UsageError
from nlpkit.io.wordlists import numbered_lines
from nlpkit.text.rules import ReplacementRules, check_pattern


def read_rules(path: Path, *, ignore_case: bool = False, encoding: str | None = None) -> ReplacementRules:
    r"""Return the replacements of a file, packed or not, in any encoding that corpora may have.

        # a comment
        New York<TAB>new_york          a phrase: whole words, the longest first
        click here                     no tab, or nothing behind it: deleted
        /(\d+) ?%/<TAB>\1_percent      a regular expression of the Rust crate `regex`, after the phrases, in the order here

    Raises:
        InputError: the file cannot be read; a line has two tabs or nothing before its tab; a phrase has two meanings.
        UsageError: a pattern is no regular expression or matches the empty text. All messages name file and line.
    """
    phrases: dict[str, str] = {}
    meant: dict[str, str] = {}
    patterns: list[tuple[str, str]] = []
    for number, line in numbered_lines(path, encoding=encoding):
        if not line.strip() or line.startswith("#"):
            continue
        what, *by = line.split("\t")
        what, where = what.strip(), f"{path}:{number}"
        if len(by) > 1:
            raise InputError(f"{where}: {len(by)} tabs; a rule is the text to replace, one tab, and the replacement")
        if not what:
            raise InputError(f"{where}: nothing before the tab; write the text to replace there")
        replacement = by[0] if by else ""
        if len(what) > 2 and what.startswith("/") and what.endswith("/"):
            try:
                check_pattern(what[1:-1])
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from None
            patterns.append((what[1:-1], replacement))
            continue
        key = " ".join((what.lower() if ignore_case else what).split())
        if meant.setdefault(key, replacement) != replacement:
            raise InputError(f"{where}: '{what}' was to become '{meant[key]}' in a line before, now '{replacement}'")
        phrases[what] = replacement
    return ReplacementRules(tuple(phrases.items()), tuple(patterns), ignore_case)
