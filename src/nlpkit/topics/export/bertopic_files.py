"""Models that BERTopic saved as safetensors, read as runs: with the documents of the fit, or alone.

The files are those of BERTopic 0.16 and 0.17 (`bertopic/_save_utils.py`): topics.json, config.json, topic_embeddings.safetensors, and
ctfidf_config.json where they were saved with `save_ctfidf=True`. Nothing is unpickled.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.cluster.assign import nearest_topics
from nlpkit.cluster.neighbours import unit_rows
from nlpkit.embed.embeddings import embedded_by, embeddings_of
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import embedding_column
from nlpkit.platform.documents.corpus import Corpus, warn_dropped
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.provenance import Provenance, stopwatch
from nlpkit.platform.runs.runs import DOC_TOPICS, TOPIC_TERMS, TOPICS, VOCAB, NewRun, RunTables, new_run
from nlpkit.platform.runs.tensor_files import read_safetensors
from nlpkit.platform.types import Float32Array, FloatArray, IntArray, TokenTable
from nlpkit.text.options import TopicTokenOptions
from nlpkit.text.tokens import token_info, tokens_of
from nlpkit.topics.base.options import BertopicOptions
from nlpkit.topics.base.topic_tables import TOP_TERMS, TRAINING, topic_columns
from nlpkit.topics.base.topic_words import topic_names
from nlpkit.topics.bertopic.clustering import Clock, Points, neighbours_among
from nlpkit.topics.bertopic.density import halved
from nlpkit.topics.bertopic.description import (
    STORED_TERMS,
    Membership,
    Surroundings,
    describe_topics,
    distinct_texts,
)
from nlpkit.topics.bertopic.library import words_of_bertopic
from nlpkit.topics.bertopic.predict import NEAREST
from nlpkit.topics.bertopic.run import FittedBertopic
from nlpkit.weights.ctfidf import TopTerms
from nlpkit.weights.dtm import count_terms, group_rows

TOPICS_FILE, CONFIG_FILE, VECTORS_FILE = "topics.json", "config.json", "topic_embeddings.safetensors"
_SAVE = "BERTopic.load({!r}).save({!r}, serialization='safetensors', save_ctfidf=True)"
_PATTERN = r"(?u)\b\w\w+\b"  # of CountVectorizer


@dataclass(frozen=True, slots=True)
class SavedBertopic:
    """A model that BERTopic saved.

    topics (D,): of the documents of the fit in their order, -1 for none; words (K): of each topic with weights, best first; names (K):
    custom labels and those of zero-shot topics, "" for others; vectors (K, E), after that of the documents without a topic where
    `has_outliers`. config: its parameters. vectorizer: parameters and terms of its CountVectorizer, where they were saved.
    """

    path: Path
    topics: IntArray
    words: tuple[tuple[tuple[str, float], ...], ...]
    names: tuple[str, ...]
    vectors: Float32Array
    has_outliers: bool
    config: Mapping[str, Any]
    vectorizer: Mapping[str, Any] | None

    @property
    def n_topics(self) -> int:
        """K."""
        return len(self.words)

    def labels(self) -> tuple[str, ...]:
        """Return a name for each topic (K): its own, else made of its words."""
        terms = tuple(dict.fromkeys(word for topic in self.words for word, _ in topic))
        return tuple(
            name or generated
            for name, generated in zip(self.names, topic_names(self.ranked(terms)[0], terms), strict=True)
        )

    def ranked(self, terms: tuple[str, ...]) -> tuple[IntArray, Float32Array]:
        """Return the words of the topics as ids of terms (K, 30), -1 for none, and their weights."""
        number = {term: v for v, term in enumerate(terms)}
        ids, weights = np.full((self.n_topics, STORED_TERMS), -1, np.int32), np.zeros((self.n_topics, STORED_TERMS))
        for k, words in enumerate(self.words):
            for rank, (word, weight) in enumerate(words[:STORED_TERMS]):
                ids[k, rank], weights[k, rank] = number[word], weight
        return ids, weights.astype(np.float32)


def is_saved_bertopic(path: Path) -> bool:
    """Return whether a folder has files of a model that BERTopic saved."""
    return (path / TOPICS_FILE).is_file() or (path / VECTORS_FILE).is_file()


def read_saved_bertopic(path: Path) -> SavedBertopic:
    """Return a model that BERTopic saved as safetensors.

    Raises:
        InputError: the folder holds no such model, a pickled one, or a damaged one.
    """
    refuse_pickle(path)
    for name in (TOPICS_FILE, CONFIG_FILE, VECTORS_FILE):
        if not (path / name).is_file():
            raise InputError(
                f"{path} is neither a run directory nor a model that BERTopic saved as safetensors (no {name}); save it with: "
                "model.save(FOLDER, serialization='safetensors', save_ctfidf=True)"
            )
    try:
        return _checked(path)
    except (OSError, ValueError, TypeError, LookupError, AttributeError, struct.error) as error:
        raise InputError(
            f"{path}: the model is damaged or was not saved by BERTopic ({error}); save it again"
        ) from None


def refuse_pickle(path: Path) -> None:
    """Raise InputError for a model that BERTopic pickled, as one file or as tensors of PyTorch."""
    pickled = path.is_file() and path.read_bytes()[:1] == b"\x80"
    if pickled or ((path / "topic_embeddings.bin").is_file() and not (path / VECTORS_FILE).is_file()):
        raise InputError(
            f"{path} is pickled, and reading a pickle can run any program, so nlpkit never does; in the Python that saved it, run: "
            + _SAVE.format(str(path), f"{path.stem}-safe")
        )


def _checked(path: Path) -> SavedBertopic:
    saved, config = (json.loads((path / name).read_text(encoding="utf-8")) for name in (TOPICS_FILE, CONFIG_FILE))
    vectors = read_safetensors(path / VECTORS_FILE)["topic_embeddings"].astype(np.float32)
    listed = {int(k): pairs for k, pairs in saved["topic_representations"].items()}
    topics = np.array(saved["topics"], np.int32)
    has_outliers = "-1" in saved["topic_sizes"]
    K = max(listed, default=-1) + 1
    if sorted(k for k in listed if k >= 0) != list(range(K)) or not K:
        raise ValueError(f"the topics are numbered {', '.join(map(str, sorted(listed)[:5]))} …")
    if vectors.ndim != 2 or len(vectors) != K + has_outliers or not np.isfinite(vectors).all():
        raise ValueError(f"topic_embeddings has the shape {vectors.shape} for {K} topics")
    if topics.ndim != 1 or (len(topics) and not -1 <= topics.min() <= topics.max() < K):
        raise ValueError("a document has a topic that is not there")
    words = tuple(
        tuple((str(word), float(weight)) for word, weight in listed[k] if str(word).strip()) for k in range(K)
    )
    custom, usual = saved.get("custom_labels"), saved.get("topic_labels") or {}
    if custom is not None:
        names = tuple(str(name) for name in custom[len(custom) - K :])
    else:  # a zero-shot topic has the label that it was given, others are called 0_word_word_word
        names = tuple(
            "" if str(usual.get(str(k), "")).startswith(f"{k}_") else str(usual.get(str(k), "")) for k in range(K)
        )
    if len(names) != K:
        raise ValueError(f"{len(names)} labels for {K} topics")
    file = path / "ctfidf_config.json"
    vectorizer = json.loads(file.read_text(encoding="utf-8"))["vectorizer_model"] if file.is_file() else None
    if saved.get("topic_aspects"):
        reporting.note(f"further representations of the topics are left out: {', '.join(saved['topic_aspects'])}")
    return SavedBertopic(path, topics, words, names, vectors, has_outliers, config, vectorizer)


def encoder_name(saved: SavedBertopic, wanted: str | None) -> str | None:
    """Return the encoder of new documents: the one that is asked for, else that of the model, None where it names none."""
    named = saved.config.get("embedding_model")
    return wanted or (named if isinstance(named, str) and named else None)


def nearest_table(saved: SavedBertopic) -> pa.Table:
    """Return the vectors that new documents are compared with: of the documents without a topic (-1), and of each topic."""
    numbers = range(-saved.has_outliers, saved.n_topics)
    return pa.table({"topic": pa.array(numbers, pa.int32()), "embedding": embedding_column(saved.vectors)})


# ------------------------------------------------------------------------------------------------------------------------
# The model alone: topics, words and vectors, without texts.


def run_of_model(saved: SavedBertopic, wanted: str | None, execution: Execution) -> NewRun:
    """Return a run of a saved model: its documents have numbers for IDs, and each has its one topic with probability 1."""
    encoder, K, D = encoder_name(saved, wanted), saved.n_topics, len(saved.topics)
    ids = [f"{saved.path.resolve().name}:{d + 1}" for d in range(D)]
    has_topic = saved.topics >= 0
    labels = saved.labels()
    size = np.bincount(saved.topics[has_topic], minlength=K)
    rows = [(k, r, *pair) for k, words in enumerate(saved.words) for r, pair in enumerate(words[:STORED_TERMS], 1)]
    topic, rank, term, weight = zip(*rows, strict=True) if rows else ((), (), (), ())
    nothing = np.zeros(0, np.int32)
    empty = TRAINING.table(
        text_hash=[], row=[], **topic_columns(nothing, nothing, nothing, nothing), way=[], similarity=[],
    ).append_column("embedding", embedding_column(saved.vectors[:0]))  # fmt: skip
    without: list[list[str]] = [[] for _ in range(K)]
    tables = {
        "documents": pa.table(
            {"id": pa.array(ids, pa.string()), **topic_columns(saved.topics, has_topic, saved.topics, np.zeros(D))}
        ),
        "topics": TOPICS.table(
            topic=range(K), size=size, share=size / max(D, 1), label=labels,
            top_terms=[[word for word, _ in words[:TOP_TERMS]] for words in saved.words], npmi=np.full(K, np.nan),
            exclusivity=np.full(K, np.nan), representative_ids=without, representative_texts=without,
        ),
        "topic_terms": TOPIC_TERMS.table(topic=topic, rank=rank, term=term, weight=weight),
        "doc_topics": DOC_TOPICS.table(
            id=[name for name, there in zip(ids, has_topic, strict=True) if there], topic=saved.topics[has_topic],
            prob=np.ones(int(has_topic.sum())),
        ),
        "vocab": VOCAB.table(term=[], cf=[], df=[]),  # how often words occur is not saved
    }  # fmt: skip
    centroids = pa.table(
        {"topic": range(K), "embedding": embedding_column(unit_rows(saved.vectors[saved.has_outliers :]))}
    )
    config = {
        "kind": "bertopic", "n_topics": K, "labels": list(labels), "n_neighbors": 2, "dim": int(saved.vectors.shape[1]),
        "encoder": None if encoder is None else {"encoder": encoder, "dim": int(saved.vectors.shape[1])},
        "rule_agreement": None, "novelty": {"quantile": 1.0, "least_similarity": None}, "languages": None,
        "rule": NEAREST,
    }  # fmt: skip
    results = {
        "documents": D, "n_topics": K, "unassigned": round(float((~has_topic).mean()), 6) if D else None, "doc_topics_left_out": 0.0,
    }  # fmt: skip
    return new_run(
        "bertopic",
        RunTables(tables, {"training": empty, "centroids": centroids, "nearest": nearest_table(saved)}, config),
        Provenance(),
        command="convert", parameters=_parameters(saved, config["encoder"], None), results=results, execution=execution, seconds={},
    )  # fmt: skip


def _parameters(saved: SavedBertopic, encoder: Any, tokens: Any) -> dict[str, Any]:
    """Return what the manifest records: where the model came from, how, and its parameters in BERTopic."""
    kept = {name: value for name, value in saved.config.items() if isinstance(value, str | int | float | bool | None)}
    return {
        "from_bertopic": str(saved.path),
        "bertopic": kept,
        "like": "bertopic",
        "encoder": encoder,
        "tokens": tokens,
    }


# ------------------------------------------------------------------------------------------------------------------------
# The model with the documents of its fit: all that a run of `fit_bertopic` holds.


def fit_of_model(saved: SavedBertopic, corpus: Corpus, wanted: str | None, execution: Execution) -> FittedBertopic:
    """Return a saved model with the documents that it was fitted to: their topics and the words stay as they were saved.

    Args:
        corpus: the documents in the order of the fit. wanted: encoder, where they have no column `embedding`.

    Raises:
        InputError: other documents than those of the fit, or vectors of other dimensions; UsageError: no encoder is known.
    """
    seconds: dict[str, float] = {}
    with stopwatch(seconds, "read"), corpus.open() as stream:
        made_by, table = embedded_by(stream), stream.read_all()
    warn_dropped(stream, None)
    D = len(saved.topics)
    if table.num_rows != D:
        raise InputError(
            f"{saved.path} was fitted to {wording.counted(D, 'document')}, and the corpus has {wording.count(table.num_rows)}; give the "
            "documents of the fit, in their order",
            parameter="documents",
        )
    tokens = _token_options(saved)
    with stopwatch(seconds, "tokens"):
        words, report = tokens_of(table, tokens)
    settings = token_info(tokens, report, stream.steps)
    words = _with_words(words, saved)
    there, name = "embedding" in table.column_names, encoder_name(saved, wanted)
    if not there and name is None:
        raise UsageError(
            f"{saved.path} does not name its encoder; name it (`encoder`), or give documents with a column 'embedding'",
            parameter="encoder",
        )
    with stopwatch(seconds, "embeddings"):
        flags = EncoderOptions() if there else EncoderOptions(encoder=name, long="truncate")  # as sentence-transformers
        X, encoder = embeddings_of(table, made_by, flags, execution.n_threads(), np.ones(D, bool))
    if X.shape[1] != saved.vectors.shape[1]:
        raise InputError(
            f"the embeddings of the documents have {X.shape[1]} dimensions, and {saved.path} has {saved.vectors.shape[1]}: another encoder "
            "made them",
            parameter="encoder",
        )
    table = table.drop_columns([column for column in ("embedding", "tokens") if column in table.column_names])
    with stopwatch(seconds, "topics"):
        model = _described(saved, X, words, execution)
    agreement = float((_nearest(saved, X) == saved.topics).mean()) if D else 0.0
    if encoder is None and name is not None:
        encoder = {"encoder": name, "dim": int(X.shape[1])}
    fitted = FittedBertopic(
        table, words, replace(model, rule_agreement=agreement), X, np.arange(D, dtype=np.int32), _options(saved), execution,
        {**_parameters(saved, encoder, settings), **_recorded(saved)}, encoder, stream, seconds, nearest=nearest_table(saved),
    )  # fmt: skip
    fitted.corpus = corpus
    return fitted


def _recorded(saved: SavedBertopic) -> dict[str, Any]:
    options = _options(saved)
    return {
        name: getattr(options, name) for name in ("cluster", "reduce", "min_topic_size", "core_terms", "join_neighbors")
    }


def _options(saved: SavedBertopic) -> BertopicOptions:
    size = saved.config.get("min_topic_size")
    return BertopicOptions(like="bertopic", min_topic_size=size if isinstance(size, int) and size >= 2 else None)


def _token_options(saved: SavedBertopic) -> Any:
    """Return how the CountVectorizer of the model cut texts; without its file, how the default one does."""
    params, vocab = (saved.vectorizer or {}).get("params", {}), (saved.vectorizer or {}).get("vocab")
    ngrams = params.get("ngram_range") or saved.config.get("n_gram_range") or (1, 1)
    pattern = params.get("token_pattern")
    options = TopicTokenOptions(
        ngrams=(int(ngrams[0]), int(ngrams[1])), lower=bool(params.get("lowercase", True)),
        token_pattern=None if pattern in (None, _PATTERN) else pattern,
        language="en" if saved.config.get("language") == "english" else "none",
    )  # fmt: skip
    cut = words_of_bertopic(options)
    return cut if not vocab else replace(cut, vocab=tuple(sorted(vocab, key=vocab.__getitem__)), lists_must_match=False)


def _with_words(words: TokenTable, saved: SavedBertopic) -> TokenTable:
    """Return tokens whose terms have all words of the topics, also those that a representation model made."""
    known = set(words.terms)
    further = dict.fromkeys(word for topic in saved.words for word, _ in topic if word not in known)
    return replace(words, terms=(*words.terms, *further))


def _described(saved: SavedBertopic, X: Float32Array, words: TokenTable, execution: Execution) -> Any:
    """Return all that is said of topics, from the documents (D, E) and their words."""
    options, D, K = _options(saved), len(X), saved.n_topics
    distinct = distinct_texts(X, np.ones(D, bool), each=True)
    every = np.arange(D)
    near = neighbours_among(X, every, k=min(options.n_neighbors, D) - 1, threads=execution.n_threads())
    dtm = count_terms(words)
    counts = group_rows(dtm, distinct.of_document, D)
    points = Points(X, near, counts, dtm, options, execution, lambda stage, share: None, Clock(), every)
    around = Surroundings(
        names=saved.labels(), stability=_unknown, coarser=tuple(halved(K)), min_topic_size=options.min_topic_size,
        terms=TopTerms(*saved.ranked(words.terms)),
    )  # fmt: skip
    return describe_topics(words.terms, distinct, points, Membership(*[saved.topics] * 3), around)


def _unknown(labels: IntArray, k: int) -> FloatArray:
    return np.full(k, np.nan)


def _nearest(saved: SavedBertopic, X: Float32Array) -> IntArray:
    """Return the topic of the nearest vector (D,), -1 for that of the documents without one."""
    nearest, _, _ = nearest_topics(X, unit_rows(saved.vectors), threads=1)
    return (nearest - saved.has_outliers).astype(np.int32)
