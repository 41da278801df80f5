"""CoNLL-U of documents: sentences, words with lemma and part of speech, and where each stands in the text.

https://universaldependencies.org/format.html; heads and relations stay empty (_), as no parser runs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from nlpkit.text.sentences import sentence_spans


class Word(NamedTuple):
    """A token of a text: text[start:end] is its form; "" where there is no lemma, tag or feature."""

    start: int
    end: int
    lemma: str
    upos: str
    xpos: str
    feats: str


def conllu_documents(
    ids: Sequence[str], texts: Sequence[str | None], words: Iterable[Sequence[Word]], language: str | None
) -> Iterator[str]:
    """Yield each document in CoNLL-U: newdoc, the sentences by the rules of `sentence_spans`, and a blank line after each.

    MISC holds start_char and end_char, places in characters of the text from 0 on, and SpaceAfter=No. A document without words has no
    place in this format: it is "".

    Args:
        ids, texts: (D,); a missing text is empty.
        words: (D,) the words of each text, ascending.
        language: ISO 639-1 code, for the sentences.
    """
    for id_, text, tokens in zip(ids, texts, words, strict=True):
        yield "".join(_document(id_, text or "", tokens, language))


def _document(id_: str, text: str, words: Sequence[Word], language: str | None) -> Iterator[str]:
    name = _one_line(id_)
    spans = sentence_spans(text, language)
    starts = [start for start, _ in spans]
    sentences: list[list[Word]] = [[] for _ in spans]
    for word in words:
        sentences[max(bisect_right(starts, word.start) - 1, 0)].append(word)
    number = 0
    for (start, end), sentence in zip(spans, sentences, strict=True):
        if not sentence:
            continue
        number += 1
        if number == 1:
            yield f"# newdoc id = {name}\n"
        yield f"# sent_id = {name}-{number}\n# text = {_one_line(text[start:end])}\n"
        for i, word in enumerate(sentence, 1):
            form = _one_line(text[word.start : word.end])
            fields = (form, _one_line(word.lemma), word.upos, word.xpos, word.feats)
            spaced = word.end == len(text) or text[word.end].isspace()
            places = f"start_char={word.start}|end_char={word.end}{'' if spaced else '|SpaceAfter=No'}"
            yield "\t".join((str(i), *(field or "_" for field in fields), "_", "_", "_", places)) + "\n"
        yield "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())
