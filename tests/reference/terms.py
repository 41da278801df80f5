"""Tokens to terms, with strings, lists and dictionaries."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PART = "[a-z0-9]+"


def kind_of(token: str, longest: int, *, apostrophes: bool) -> str:
    """Return "word" for a token that is a term as it stands, "nothing" for one that is none, "other" for all else."""
    signs = "-&_'" if apostrophes else "-&_"
    if not re.fullmatch(r"[a-z0-9\-&_']*", token) or token[:1] in "-&_'" or token[-1:] in "-&_'":
        return "other" if token else "nothing"
    if any(c in "-&_'" and c not in signs for c in token):
        return "other"
    if any(c.isalpha() for c in token) and 1 < len(token) <= longest:
        return "word"
    return "nothing" if re.fullmatch(_PART, token) else "other"


def term_documents(documents: Sequence[Sequence[int]], terms_of: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the terms of each document of types, in order."""
    return [[term for t in document for term in terms_of[t]] for document in documents]


def frequencies(documents: Sequence[Sequence[int]], n_terms: int) -> tuple[list[int], list[int]]:
    """Return occurrences and documents of each term."""
    cf = [sum(document.count(v) for document in documents) for v in range(n_terms)]
    df = [sum(v in document for document in documents) for v in range(n_terms)]
    return cf, df


def mapped(documents: Sequence[Sequence[int]], new_ids: Sequence[int]) -> list[list[int]]:
    """Return the documents with new ids, without those that have none."""
    return [[new_ids[v] for v in document if new_ids[v] >= 0] for document in documents]
