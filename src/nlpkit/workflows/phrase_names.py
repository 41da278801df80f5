"""Phrases for the topics of a run: its typical documents are read again and searched for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import InputError
from nlpkit.io.runs import Run
from nlpkit.parameters import Execution
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.spacy_tokens import SpacyTokens
from nlpkit.text.token_settings import options_from
from nlpkit.topics.name_options import NameOptions
from nlpkit.topics.phrase_names import (
    PHRASE_TAGS,
    as_written,
    count_phrases,
    noun_segments,
    phrase_labels,
    plain_segments,
    ranked_phrases,
    words_of_terms,
)
from nlpkit.types import LongArray
from nlpkit.workflows.tokens import tokens_of
from nlpkit.workflows.topic_queries import topic_documents


def names_from_phrases(
    run: Run, top_terms: list[tuple[str, ...]], before: list[str], options: NameOptions, execution: Execution
) -> list[tuple[str, str]]:
    """Return a name of each topic, and the passage where its phrase first stands: "" where a topic has no phrase.

    Args:
        top_terms (K,): words of the topics; before (K,): their names.

    Raises:
        InputError: the texts of the run cannot be read again, or cut as they were; MissingError: there is no tagger.
    """
    cut = options_from(run.manifest["parameters"].get("tokens"), f"the run {run.path}")
    table = topic_documents(run, list(range(len(before))), top=options.documents, execution=execution).table
    if table.column("text").null_count == table.num_rows:
        raise InputError(f"phrases come from texts, and the texts of the run {run.path} cannot be read")
    table = table.filter(pc.is_valid(table.column("text")))
    texts, topic = table.column("text").to_pylist(), table.column("topic").to_numpy().astype(np.int32)
    segments, document = _segments(texts, options, cut)
    as_they_stand = replace(
        cut, stop_words="none", extra_stop_words=frozenset(), stop_patterns=(), min_length=1, lemma=False, stem="none",
        ngrams=(1, 1),
    )  # fmt: skip
    words, _ = tokens_of(pa.table({"text": pa.array(segments, pa.large_string())}), as_they_stand)
    present, numbered = np.unique(topic, return_inverse=True)
    phrases = count_phrases(
        words.offsets, words.term_ids, words.terms, _forms(words.terms, cut), document, numbered.astype(np.int32)
    )
    ranked = ranked_phrases(phrases, [top_terms[k] for k in present], np.bincount(numbered))
    chosen: list[tuple[str, str]] = [("", "")] * len(before)
    terms: list[list[str]] = [[]] * len(before)
    for at, (k, best) in enumerate(zip(present.tolist(), ranked, strict=True)):
        of_topic = [texts[row] for row in np.flatnonzero(topic == k)]
        written = (as_written(phrases.words[p], of_topic) for p in best)
        chosen[k] = next((one for one in written if one is not None), ("", ""))
        words_of_topic = words_of_terms(phrases, at, top_terms[k])
        terms[k] = [(as_written(word, of_topic) or (word[0],))[0] for word in words_of_topic]
    labels = phrase_labels([phrase for phrase, _ in chosen], terms, before)
    return [(label if phrase else "", passage) for label, (phrase, passage) in zip(labels, chosen, strict=True)]


def _segments(texts: list[str], options: NameOptions, cut: PreprocessOptions) -> tuple[list[str], LongArray]:
    """Return the parts of texts that hold phrases, and the number of the text of each."""
    if options.tagger is None:
        parts = [plain_segments(text) for text in texts]
    else:
        language = None if cut.language in ("auto", "none") else cut.language
        tagger = SpacyTokens(options.tagger, pos=PHRASE_TAGS, language=language)
        parts = [noun_segments(text, words) for text, words in zip(texts, tagger.words(texts), strict=True)]
    document = np.repeat(np.arange(len(texts), dtype=np.int64), [len(part) for part in parts])
    return [segment for part in parts for segment in part], document


def _forms(words: tuple[str, ...], cut: PreprocessOptions) -> list[str | None]:
    """Return what each word is in the model; None for one that it leaves out, such as a stop word, or that is several there."""
    tokens, _ = tokens_of(pa.table({"text": pa.array(words, pa.large_string())}), replace(cut, ngrams=(1, 1)))
    one = np.diff(tokens.offsets) == 1
    return [tokens.terms[tokens.term_ids[tokens.offsets[w]]] if one[w] else None for w in range(len(words))]
