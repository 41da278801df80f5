"""Texts without HTML and XML."""

from __future__ import annotations

import html

import polars as pl

_BARE = r"(?:allowfullscreen|async|autoplay|checked|compact|controls|defer|disabled|hidden|ismap|itemscope|loop|multiple|muted"
_BARE += r"|nohref|noshade|novalidate|nowrap|open|readonly|required|reversed|selected)"
_ATTRIBUTES = rf"(?:\s+(?:[A-Za-z_:@][\w:.\-]*\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s<>\"']+)|{_BARE}))*\s*/?"
_BLOCKS = r"(?:p|div|h[1-6]|blockquote|article|section|header|footer|main|aside|figure|figcaption|ul|ol|dl|table|pre|form|hr|body|title)"
_LINES = r"(?:li|tr|dt|dd|caption|option)"
_INLINE = (
    r"(?:a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|label|mark|nobr|q|s|samp|small|span|strike"
    r"|strong|sub|sup|time|tt|u|var|wbr)"
)


def _tag(names: str) -> str:
    return rf"(?i)<(?:/{names}\s*|{names}{_ATTRIBUTES})>"


def distinct_matches(texts: pl.Series, pattern: str) -> list[str]:
    """Return the distinct matches, longest first: the order in which replace_many prefers them."""
    matches = texts.str.extract_all(pattern).explode().drop_nulls().unique().to_list()
    return sorted(matches, key=lambda match: (-len(match), match))


# In this order. Tags of whole paragraphs end a paragraph, those within a line leave the letters around them together.
_MARKUP: tuple[tuple[str, str], ...] = (
    (r"(?s)<!--.*?-->", " "),
    (rf"(?is)<script{_ATTRIBUTES}>.*?</script\s*>", " "),
    (rf"(?is)<style{_ATTRIBUTES}>.*?</style\s*>", " "),
    (r"(?s)<!\[CDATA\[(.*?)\]\]>", "${1}"),
    (r"(?i)<!doctype[^<>]*>|<\?[A-Za-z][^<>]*\?>", " "),
    (_tag(_INLINE), ""),
    (_tag(_BLOCKS), "\n\n"),
    (_tag(_LINES), "\n"),
    (rf"<(?:/[A-Za-z][\w:.\-]*\s*|[A-Za-z][\w:.\-]*{_ATTRIBUTES})>", " "),
)
_ENTITY = r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_ROUNDS = 3  # markup as it is, escaped once, escaped twice


def strip_markup(texts: pl.Series) -> pl.Series:
    """Return texts (D,) without HTML and XML; `a < b` and `<http://a.b>` are no tags and stay."""
    for _ in range(_ROUNDS):
        tagged = texts.str.contains("<", literal=True).fill_null(False)
        if tagged.any():
            part = texts.filter(tagged)
            for pattern, replacement in _MARKUP:
                part = part.str.replace_all(pattern, replacement)
            texts = with_part(texts, tagged, part)
        named = texts.str.contains(_ENTITY).fill_null(False)
        if not named.any():
            break
        texts = with_part(texts, named, _read_entities(texts.filter(named)))
    return texts


def _read_entities(texts: pl.Series) -> pl.Series:
    entities = distinct_matches(texts, _ENTITY)
    return texts.str.replace_many(
        entities, [html.unescape(name).replace("\xa0", " ") for name in entities], leftmost=True
    )


def with_part(texts: pl.Series, mask: pl.Series, part: pl.Series) -> pl.Series:
    """Return texts with those of the mask replaced by `part`, in order."""
    return part if mask.all() else texts.clone().scatter(mask.arg_true(), part)
