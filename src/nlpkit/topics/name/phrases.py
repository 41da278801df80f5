"""Names of topics that are phrases of their documents: typical documents of a run are read again and searched for them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from nlpkit.errors import InputError, MissingError
from nlpkit.platform import reporting
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.runs import Run
from nlpkit.text.settings import options_from
from nlpkit.text.spacy_tokens import SpacyTokens
from nlpkit.topics.base.topic_tables import read_centroids
from nlpkit.topics.base.topic_words import phrase_names
from nlpkit.topics.name.options import NameOptions
from nlpkit.topics.over_time.queries import topic_documents
from nlpkit.weights.key_phrases import (
    KEPT,
    LONGEST,
    LONGEST_TEXT,
    PHRASE_TAGS,
    Nearness,
    Phrases,
    key_phrases,
    nearness_of_vectors,
    nearness_of_words,
    noun_segments,
    phrases_of,
    plain_segments,
    spelled,
)

if TYPE_CHECKING:
    from nlpkit.embed.embeddings import RunEmbeddings
    from nlpkit.text.options import PreprocessOptions


def names_from_phrases(
    run: Run, top_terms: list[tuple[str, ...]], before: list[str], options: NameOptions, execution: Execution
) -> list[tuple[str, str]]:
    """Return a name of each topic, and the passage where its first phrase stands: "" where a topic has no phrase.

    Args:
        top_terms (K,): words of the topics; before (K,): their names.

    Raises:
        InputError: the texts of the run cannot be read again, or cut as they were; MissingError: there is no tagger.
    """
    K = len(before)
    cut = options_from(run.manifest["parameters"].get("tokens"), f"the run {run.path}")
    table = topic_documents(run, list(range(K)), top=options.documents, execution=execution).table
    if table.column("text").null_count == table.num_rows:
        raise InputError(f"phrases come from texts, and the texts of the run {run.path} cannot be read")
    table = table.filter(pc.is_valid(table.column("text")))
    texts = [text[:LONGEST_TEXT] for text in table.column("text").to_pylist()]
    topic = table.column("topic").to_numpy().astype(np.int32)
    phrases = phrases_of(_segments(texts, options, cut), cut)
    chosen = key_phrases(phrases, topic, K, _nearness(run, phrases, top_terms, execution), KEPT)
    written = [[spelled(phrases, p, texts, topic == k) for p in of_topic] for k, of_topic in enumerate(chosen)]
    names = phrase_names([[one for one, _ in row] for row in written], before, longest=LONGEST, further=KEPT)
    return [(name, row[0][1]) if row else ("", "") for name, row in zip(names, written, strict=True)]


def _segments(texts: list[str], options: NameOptions, cut: PreprocessOptions) -> list[list[str]]:
    """Return the parts of each text that hold phrases."""
    if options.tagger is None:
        return [plain_segments(text) for text in texts]
    language = None if cut.language in ("auto", "none") else cut.language
    tagger = SpacyTokens(options.tagger, pos=PHRASE_TAGS, language=language)
    return [noun_segments(text, words) for text, words in zip(texts, tagger.words(texts), strict=True)]


def _nearness(run: Run, phrases: Phrases, top_terms: list[tuple[str, ...]], execution: Execution) -> Nearness:
    """Return the nearness of phrases and topics: by the encoder of the run, or by the words of the topics where there is none."""
    source = _encoder(run, execution)
    if source is None:
        return partial(nearness_of_words, phrases, terms=top_terms)
    centroids = read_centroids(run, len(top_terms))
    size = run.table("topics", ["size"]).column("size").to_numpy()
    return lambda p: nearness_of_vectors(
        source.encode([" ".join(phrases.words[i]) for i in p.tolist()]), centroids, size
    )


def _encoder(run: Run, execution: Execution) -> RunEmbeddings | None:
    """Return the encoder of the documents of a run of bertopic, loaded; None where it has none, or it is not on this machine."""
    if run.manifest["kind"] != "bertopic":
        return None
    from nlpkit.embed.embeddings import RunEmbeddings
    from nlpkit.embed.options import EncoderOptions
    from nlpkit.embed.run import encoder_of, files_in

    config = run.model_config("encoder", "dim")
    if config["encoder"] is None:
        return None
    options, threads = EncoderOptions(), execution.n_threads()
    try:
        with run.intact():
            kept = encoder_of(files_in(run, config), config, options, threads)
        source = RunEmbeddings(dict(config), options, threads, None, kept)
        source.encode([""])
    except (InputError, MissingError) as error:
        reporting.note(f"phrases are compared with the words of topics, not with their embeddings: {error}")
        return None
    return source
