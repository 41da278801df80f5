"""The topics of a run after an edit: documents read again, counts and descriptions worked out anew.

Parts, in this order:
- The documents of a run once more, with the words that the fit counted in them.
- Edited topics of LDA: counts of topics added up or left out, and all that is said of them worked out again.
- Edited topics on embeddings: the documents of a run with their embeddings again, and its topics after the edit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.embed.embeddings import RunEmbeddings
from nlpkit.embed.options import EncoderOptions
from nlpkit.embed.run import encoder_of, files_in
from nlpkit.errors import InputError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import TEXT_HASH, embedding_matrix, text_hash
from nlpkit.platform.documents.corpus import Corpus, has_text, read_corpus, warn_dropped
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.provenance import HasProvenance, stopwatch
from nlpkit.platform.runs.reading import corpus_of, read_as_then
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.runs.table_spec import numbers, strings
from nlpkit.platform.types import NO_TOPIC, BoolArray, CsrMatrix, Float32Array, FloatArray, IntArray, TokenTable
from nlpkit.predict.options import TOPIC_COLUMNS
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.settings import options_from
from nlpkit.text.tokens import tokens_of
from nlpkit.topics.base.corpus import read_topic_corpus
from nlpkit.topics.base.guide import debiased_tokens, groups_of
from nlpkit.topics.base.heldout import dirichlet_multinomial
from nlpkit.topics.base.model import MixtureModel
from nlpkit.topics.base.options import BertopicOptions
from nlpkit.topics.base.reference import as_reference
from nlpkit.topics.base.runs import LDA, Additions, TopicCorpus, mixture_run
from nlpkit.topics.base.tables import read_doc_topic, read_left_out, read_model
from nlpkit.topics.base.topic_tables import texts_of_run
from nlpkit.topics.base.topic_words import exclusive_terms, topic_names
from nlpkit.topics.bertopic.clustering import Clock, Points, neighbours_among
from nlpkit.topics.bertopic.description import (
    STORED_TERMS,
    WAYS,
    DistinctTexts,
    FitSample,
    Membership,
    Surroundings,
    describe_topics,
    distinct_texts,
    fitted_points,
)
from nlpkit.topics.bertopic.run import FittedBertopic
from nlpkit.topics.bertopic.update import EditedTopics, edited_topics, finer_division, remembered_stability
from nlpkit.topics.edit.edits import EditPlan, names_after
from nlpkit.topics.lda.edited import EditedModel, edited_assignments, edited_model
from nlpkit.topics.lda.fit import LdaFit
from nlpkit.topics.lda.model import FittedLda, LdaReport
from nlpkit.topics.lda.options import DescriptionOptions
from nlpkit.weights.dtm import count_terms, group_rows, without_terms


def documents_of(run: Run, documents: Any, read: ReadOptions, *, parameter: str | None = "documents") -> Corpus:
    """Return the corpus of a run, as many documents as it has.

    Args:
        documents: where they are, or a Corpus, texts or a data frame; None: where the run says. parameter: by which they
            can be named, None for none.

    Raises:
        InputError: they are gone or have changed.
    """
    if run.manifest["parameters"].get("from_mallet") is not None:
        raise InputError(
            f"{run.path} was made from a state of MALLET, which holds no texts; its topics cannot be edited"
        )
    if run.manifest["parameters"].get("from_bertopic") is not None and not run.manifest["inputs"]:
        raise InputError(
            f"{run.path} was made from a model of BERTopic without its documents, so that its topics can only be renamed, hidden and "
            "judged; convert the model with `documents=CORPUS`"
        )
    limit = int(run.manifest["results"].get("documents") or 0) or None
    corpus = as_reference(documents, read)
    if corpus is not None:
        return corpus.with_options(limit=limit)
    name_them = "" if parameter is None else f", or name the documents with `{parameter}`"
    try:
        files, as_then = corpus_of(run), read_as_then(run, read)
    except InputError as error:
        raise InputError(f"{error}{name_them}", parameter=parameter) from None
    return read_corpus(*files, options=as_then)


@contextmanager
def documents_again(
    run: Run,
    terms: tuple[str, ...],
    documents: Any,
    read: ReadOptions,
    execution: Execution,
    *,
    parameter: str | None = "documents",
) -> Iterator[TopicCorpus]:
    """Yield the documents of a run of a mixture model as its fit counted them: their tokens as ids of terms, the columns of the run.

    Args:
        documents, parameter: see `documents_of`.

    Raises:
        InputError: the documents are gone, have changed, or are not cut into words again.
    """
    corpus = documents_of(run, documents, read, parameter=parameter)
    with corpus.open() as stream:
        has_tokens = "tokens" in stream.schema.names
    options = options_of_tokens(run, terms, has_tokens=has_tokens)
    alone = corpus.with_options(columns=("tokens",))  # the other columns are those of the run
    with read_topic_corpus(alone, options, execution.n_threads()) as words:
        stored = check_ids(run, words.ids)
        hashes = words.rows.column(TEXT_HASH)
        if "model/training.parquet" in run.manifest["outputs"]:
            known = set(run.table("model/training", ["text_hash"]).column("text_hash").to_pylist())
            check_texts(run, words.ids, np.array([key is None or key in known for key in hashes.to_pylist()], bool))
        tokens = same_terms(words.tokens, terms)
        vocabulary, left_out = run.table("vocab"), read_left_out(run)
        note_other_counts(run, tokens, vocabulary.column("cf").to_numpy())
        yield replace(
            words, tokens=tokens, rows=columns_of_user(stored).append_column(TEXT_HASH, hashes),
            cf=vocabulary.column("cf").to_numpy(), df=vocabulary.column("df").to_numpy(),
            token_info=run.manifest["parameters"].get("tokens"), left_out=None if left_out is None else lambda: sorted(left_out),
        )  # fmt: skip


def check_ids(run: Run, ids: pa.ChunkedArray) -> pa.Table:
    """Return documents.parquet of a run, whose documents have these ids. Raises InputError where they have others."""
    documents = run.table("documents")
    if documents.column("id").to_pylist() != ids.to_pylist():
        raise InputError(
            f"the documents differ from the documents of {run.path}, which has "
            f"{wording.counted(documents.num_rows, 'document')} with other ids; read them as for the fit, with the "
            "same `id_col` and `text_col`"
        )
    return documents


def check_texts(run: Run, ids: pa.ChunkedArray, known: np.ndarray) -> None:
    """Raise InputError where a text is not that of the fit; known (D,): whether it is, or there is none."""
    other = np.flatnonzero(~known)
    if len(other):
        raise InputError(
            f"the text of {wording.counted(len(other), 'document')}, such as {ids[int(other[0])].as_py()}, differs "
            f"from the text in the fit of {run.path}; read the documents as for the fit, with the same `text_col`"
        )


def columns_of_user(documents: pa.Table, further: tuple[str, ...] = ()) -> pa.Table:
    """Return documents.parquet of a run without the columns that the model made."""
    made_by_model = (*TOPIC_COLUMNS, TEXT_HASH, *further)
    return documents.select([name for name in documents.column_names if name not in made_by_model])


def options_of_tokens(run: Run, terms: tuple[str, ...], *, has_tokens: bool) -> PreprocessOptions:
    """Return the options that cut the texts of a run into its terms again; terms alone where the documents have tokens.

    Raises:
        InputError: it is not known how its tokens were made.
    """
    if has_tokens:
        return PreprocessOptions(vocab=terms, lists_must_match=False)
    options = options_from(run.manifest["parameters"].get("tokens"), str(run.path))
    return replace(options, vocab=terms, lists_must_match=False)


def same_terms(tokens: TokenTable, terms: tuple[str, ...]) -> TokenTable:
    """Return tokens as ids of terms; other words go."""
    if tokens.terms == terms:
        return tokens
    place = {term: i for i, term in enumerate(terms)}
    new = np.array([place.get(term, -1) for term in tokens.terms], np.int32)
    ids = new[tokens.term_ids] if len(new) else tokens.term_ids
    kept = np.concatenate([[0], np.cumsum(ids >= 0)])
    return TokenTable(kept[tokens.offsets].astype(np.int64), ids[ids >= 0], terms)


def note_other_counts(run: Run, tokens: TokenTable, cf: Any) -> None:
    """Warn where words are not counted as often as in the fit (V,): they were cut in a way that the run does not say."""
    counted = np.bincount(tokens.term_ids, minlength=tokens.n_terms)
    differ = np.flatnonzero(counted != np.asarray(cf))
    if len(differ):
        reporting.warn(
            f"{wording.counted(len(differ), 'term')} of {wording.count(tokens.n_terms)}, such as "
            f"'{tokens.terms[int(differ[0])]}', have other counts than in {run.path}, so the words of its topics "
            "may differ slightly"
        )


# ------------------------------------------------------------------------------------------------------------------------
# Edited topics of LDA: counts of topics added up or left out, and all that is said of them worked out again.

OF_CHAINS = ("prototype", "matched_topics", "topic_similarity")


@dataclass(frozen=True, slots=True)
class StoredLda:
    """A fit of LDA as its run holds it: counts n_kv and n_dk (D, K), the topics (N,) of the tokens if it has them.

    corpus: the documents as the fit counted them.
    """

    run: Run
    model: MixtureModel
    doc_topic: CsrMatrix
    assignments: IntArray | None
    corpus: TopicCorpus


def read_lda_fit(run: Run, documents: Any, read: ReadOptions, execution: Execution, stack: ExitStack) -> StoredLda:
    """Return a fit of lda-gibbs with its documents, which are closed with the stack.

    Raises:
        InputError: the documents are gone, have changed, or are not cut into words again; the run is damaged, or of another kind.
    """
    model, n_docs = read_model(run), int(run.manifest["results"]["documents"])
    doc_topic = read_doc_topic(run, n_docs, model.n_topics)
    if doc_topic is None:
        raise InputError(
            f"{run.path} does not hold how many tokens of each document a topic has (model/doc_topic.parquet): it "
            "is from an older nlpkit; fit it again"
        )
    words = stack.enter_context(documents_again(run, model.terms, documents, read, execution))
    tokens = words.tokens
    debias = run.manifest["parameters"].get("debias")
    if debias is not None:
        groups = groups_of(words.rows, debias, np.diff(tokens.offsets) > 0, where=str(run.path))
        tokens = debiased_tokens(tokens, groups, seed=execution.seed).tokens
    return StoredLda(run, model, doc_topic, _assignments(run, tokens), replace(words, tokens=tokens))


def _assignments(run: Run, tokens: TokenTable) -> IntArray | None:
    """Return the topics of the tokens (N,), None where the run does not hold them, or holds those of other tokens."""
    if "assignments.parquet" not in run.manifest["outputs"]:
        return None
    table = run.table("assignments", ["term", "topic"])
    with run.intact():
        topics: IntArray = numbers(table, "topic", least=0).astype(np.int32)
        terms = table.column("term").to_pylist()
    if terms != [tokens.terms[i] for i in tokens.term_ids.tolist()]:
        reporting.warn(
            f"{run.path}/assignments.parquet has other tokens than the documents; the new run has no such table"
        )
        return None
    return topics


def edit_lda(
    fit: StoredLda,
    plan: EditPlan,
    *,
    labels: Sequence[str],
    stop_words: Sequence[str],
    execution: Execution,
    seconds: dict[str, float],
) -> tuple[FittedLda, EditedModel]:
    """Return the topics of a fit after an edit, as a model that can be written, and what became of which topic.

    Args:
        labels: names of the topics of the run; stop_words: all terms that describe no topic.
    """
    run = fit.run
    with stopwatch(seconds, "topics"):
        edited = edited_model(fit.model, fit.doc_topic, plan)
    number = {term: i for i, term in enumerate(fit.model.terms)}
    earlier = [number[term] for term in (run.manifest.get("lineage") or {}).get("stop_words", ())]
    generated = topic_names(exclusive_terms(fit.model.topic_term, earlier), fit.model.terms)
    names = tuple(names_after(edited.topics, plan, labels, generated))
    results = run.manifest["results"]
    dropped = bool((edited.into < 0).any())
    assignments = None if fit.assignments is None or dropped else edited_assignments(fit.assignments, edited.into)
    if fit.assignments is not None and dropped:
        reporting.note("assignments.parquet is left out, because the tokens of dropped topics have no topic")
    if assignments is None:
        reporting.note(
            "topics.parquet: coherence and token_doc_diff count whole documents, because the topics of single "
            "tokens are not stored (`save_assignments` of the fit)"
        )
    extra = [name for name in OF_CHAINS if f"{name}.parquet" in run.manifest["outputs"]]
    if extra:
        reporting.note(
            f"the tables of the chains ({', '.join(extra)}) describe the topics before the edit and are only "
            f"kept in {run.path}"
        )
    unchanged = np.array_equal(np.sort(edited.into), np.arange(fit.model.n_topics))
    new = LdaFit(
        model=edited.model,
        doc_topic=edited.doc_topic,
        assignments=np.zeros(0, np.int32) if assignments is None else assignments,
        trace=(),
        sweeps=int(results.get("sweeps", 0)),
        samples=int(results.get("samples", 1)),
        log_likelihood=float(results["log_likelihood_per_token"]) if unchanged else _log_likelihood(edited),
        names=names,
        order=np.arange(len(names)),
        stopped=None,
    )
    terms = run.table("topic_terms", ["rank"]).column("rank").to_numpy()
    parameters = run.manifest["parameters"]
    description = DescriptionOptions(
        top_terms=int(terms.max(initial=1)),
        relevance_lambda=float(parameters.get("relevance_lambda", DescriptionOptions().relevance_lambda)),
        save_assignments=assignments is not None,
    )
    written = mixture_run(
        LDA, fit.corpus, new.mixture(), description, execution, command="edit", parameters=parameters,
        additions=Additions(), seconds=seconds, with_assignments=description.save_assignments,
        weighted=assignments is None, hidden_terms=[number[term] for term in stop_words],
    )  # fmt: skip
    report = LdaReport(new, fit.corpus.tokens, seconds)
    return FittedLda(written, edited.model, report), edited


def _log_likelihood(edited: EditedModel) -> float:
    """Return log p(w, z) per token of the tokens that have a topic."""
    words = dirichlet_multinomial(edited.model.topic_term, edited.model.eta)
    documents = dirichlet_multinomial(edited.doc_topic, edited.model.alpha)
    return (words + documents) / max(float(edited.doc_topic.sum()), 1.0)


# ------------------------------------------------------------------------------------------------------------------------
# Edited topics on embeddings: the documents of a run with their embeddings again, and its topics after the edit.

EMBEDDED_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class StoredFit:
    """A fit as its run holds it, with the documents and words that it was made from.

    table: id, text and the user's columns (D rows); words: all tokens; counted: those that describe topics; embeddings (D, E);
    usable (D,); fitted (D,): those among which neighbours are sought; topics, ways (D,): topic of each document and number in WAYS,
    -1 for none. layers: topics (D,) and stability of each resolution, the coarsest first, and whether it is that of the topics.
    stability (K,): of the topics. has_tokens: whether the documents brought their tokens.
    """

    run: Run
    table: pa.Table
    words: TokenTable
    counted: TokenTable
    embeddings: Float32Array
    usable: BoolArray
    fitted: BoolArray
    topics: IntArray
    ways: IntArray
    layers: tuple[tuple[IntArray, FloatArray, bool], ...]
    stability: FloatArray
    options: BertopicOptions
    source: HasProvenance
    has_tokens: bool


def read_fit(
    run: Run,
    documents: Any,
    read: ReadOptions,
    execution: Execution,
    *,
    encoder: EncoderOptions | None = None,
    parameter: str | None = "documents",
) -> StoredFit:
    """Return a fit of bertopic with its documents. parameter: by which they are named where the run does not find them.

    The run holds the embeddings of the documents that were fitted; those of others are their column, or made again.

    Args:
        encoder: where the model of the run is, and its device.

    Raises:
        InputError: the documents are gone, have changed, or are not cut into words again; the run is damaged.
    """
    with documents_of(run, documents, read, parameter=parameter).open() as stream:
        table = stream.read_all()
        stored = check_ids(run, table.column("id"))
        texts = texts_of_run(run)
        with run.intact():
            row = {key: i for i, key in enumerate(strings(texts, "text_hash"))}
            vectors = embedding_matrix(run.table("model/training", ["embedding"]).column("embedding"))
            topics = numbers(stored, "topic", least=-1).astype(np.int32)
            options = _options_of(run)
            layers = tuple(_layers(run, stored))
        usable = has_text(table.column("text"), blank=options.like is not None)
        place = np.array([row.get(text_hash(text), -1) for text in table.column("text").to_pylist()], np.int64)
        check_texts(run, table.column("id"), (place >= 0) | ~usable)
        fitted = usable & (place < len(vectors))
        embeddings = np.zeros((len(place), vectors.shape[1]), np.float32)
        embeddings[fitted] = vectors[place[fitted]]
        if not fitted[usable].all():
            config = run.model_config("encoder", "dim")
            flags = encoder or EncoderOptions()
            kept = encoder_of(files_in(run, config), config, flags, execution.n_threads())
            source = RunEmbeddings(config, flags, execution.n_threads(), stream, kept)
            _embed_others(embeddings, usable & ~fitted, table, source)
        table = table.drop_columns([name for name in ("embedding",) if name in table.column_names])
    vocabulary = run.table("vocab")
    terms = tuple(vocabulary.column("term").to_pylist())
    has_tokens = "tokens" in table.column_names
    options_of_words = PreprocessOptions() if has_tokens else options_of_tokens(run, terms, has_tokens=False)
    words, _ = tokens_of(table, options_of_words)
    words = same_terms(words, terms)
    note_other_counts(run, words, vocabulary.column("cf").to_numpy())
    user = columns_of_user(stored, tuple(f"layer_{i}" for i in range(len(layers))))
    table = user.append_column("text", table.column("text"))
    counted, debias = words, run.manifest["parameters"].get("debias")
    if debias is not None:
        counted = debiased_tokens(
            words, groups_of(table, debias, usable, where=str(run.path)), seed=execution.seed
        ).tokens
    warn_dropped(stream, None)
    return StoredFit(
        run,
        table,
        words,
        counted,
        embeddings,
        usable,
        fitted,
        topics,
        _ways(texts, place, topics),
        layers,
        _stability(run),
        options,
        stream,
        has_tokens,
    )


def sample_of(run: Run) -> FitSample | None:
    """Return what a run says of the sample that it was fitted to, None of one that was fitted to all documents."""
    recorded = run.manifest["results"].get("fit_sample")
    with run.intact():
        return None if recorded is None else FitSample.from_dict(recorded)


def _embed_others(embeddings: Float32Array, needed: BoolArray, table: pa.Table, source: RunEmbeddings) -> None:
    """Put the embeddings of the documents that are needed (D,) into the matrix (D, E)."""
    at = 0
    with reporting.progress("embeddings", table.num_rows) as update:
        for batch in table.to_batches(max_chunksize=EMBEDDED_ROWS):
            wanted = needed[at : at + len(batch)]
            embeddings[at : at + len(batch)][wanted] = source.of_batch(batch, wanted)[wanted]
            at += len(batch)
            update(at)


def _options_of(run: Run) -> BertopicOptions:
    """Return the options of a fit."""
    parameters = dict(run.manifest["parameters"])
    if parameters.get("cluster") != "hdbscan":
        parameters.pop("min_samples", None)  # which older runs record for every method
    return BertopicOptions(**{f.name: parameters[f.name] for f in fields(BertopicOptions) if f.name in parameters})


def _ways(training: pa.Table, place: Any, topics: IntArray) -> IntArray:
    """Return by which of WAYS documents came to their topics (D,); of runs that do not say, by clustering."""
    if "way" not in training.column_names:
        return np.where(topics >= 0, 0, NO_TOPIC).astype(np.int32)
    number = {way: i for i, way in enumerate(WAYS)}
    of_text = np.array([number.get(way, NO_TOPIC) for way in training.column("way").to_pylist()], np.int32)
    return np.where(topics >= 0, np.maximum(of_text[place], 0), NO_TOPIC).astype(np.int32)


def _stability(run: Run) -> FloatArray:
    """Return the stability of the topics of a run (K,), NaN where it is not known."""
    table = run.table("topics")
    if "stability" not in table.column_names:
        return np.full(table.num_rows, np.nan)
    return np.array([np.nan if v is None else v for v in table.column("stability").to_pylist()], np.float64)


def _layers(run: Run, documents: pa.Table) -> list[tuple[IntArray, FloatArray, bool]]:
    if "layers.parquet" not in run.manifest["outputs"]:
        return []
    table, layers = run.table("layers"), []
    of_layer = table.column("layer").to_numpy()
    for number in range(int(of_layer.max(initial=-1)) + 1):
        rows = table.filter(pa.array(of_layer == number))
        stability = np.array([np.nan if v is None else v for v in rows.column("stability").to_pylist()], np.float64)
        topics = documents.column(f"layer_{number}").to_numpy().astype(np.int32)
        layers.append((topics, stability, bool(rows.column("chosen")[0].as_py())))
    return layers


def edit_bertopic(
    fit: StoredFit,
    plan: EditPlan,
    *,
    labels: Sequence[str],
    stop_words: Sequence[str],
    execution: Execution,
    seconds: dict[str, float],
) -> tuple[FittedBertopic, EditedTopics]:
    """Return the topics of a fit after an edit, as a model that can be written, and what became of which topic.

    Args:
        labels: names of the topics of the run; stop_words: all terms that describe no topic.

    Raises:
        InputError: a topic cannot be split, or two topics would have one name.
    """
    run, options = fit.run, fit.options
    distinct = distinct_texts(fit.embeddings, fit.usable, each=options.like is not None)
    X = distinct.rows(fit.embeddings)
    chosen = fitted_points(distinct, fit.fitted)
    with stopwatch(seconds, "neighbours"), reporting.progress("neighbours", None):
        neighbours = neighbours_among(X, chosen, k=options.n_neighbors - 1, threads=execution.n_threads())
    number = {term: i for i, term in enumerate(fit.words.terms)}
    dtm = count_terms(fit.counted)
    counts = without_terms(group_rows(dtm, distinct.of_document, distinct.n), [number[t] for t in stop_words])
    points = Points(X, neighbours, counts, dtm, options, execution, lambda stage, share: None, Clock(), chosen)
    members = _members(fit, distinct)
    K = len(labels)
    with stopwatch(seconds, "topics"):
        edited = edited_topics(points, distinct, members, K, plan)
        names = tuple(names_after(edited.topics, plan, labels, generated_names(run, fit.words.terms)))
        model = describe_topics(
            fit.counted.terms, distinct, points, edited.members, _around(fit, distinct, edited, names)
        )
    fitted = FittedBertopic(
        fit.table, fit.words, model, X, distinct.of_document, options, execution, dict(run.manifest["parameters"]),
        run.model_config("encoder")["encoder"], fit.source, seconds, encoder_files=files_in(run, run.model_config()),
        phrase_names=phrase_names_of(run),
    )  # fmt: skip
    return fitted, edited


def _members(fit: StoredFit, distinct: DistinctTexts) -> Membership:
    topics, ways = fit.topics[distinct.first], fit.ways[distinct.first]
    core, joined = (np.where((ways >= 0) & (ways <= most), topics, NO_TOPIC).astype(np.int32) for most in (0, 1))
    return Membership(core, joined, topics)


def generated_names(run: Run, vocabulary: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that the words of the topics of a run give them; that a topic has, where the fit made it of phrases."""
    number = {term: i for i, term in enumerate(vocabulary)}
    table = run.table("topic_terms", ["topic", "rank", "term"])
    K = int(run.manifest["results"]["n_topics"])
    term_ids = np.full((K, max(STORED_TERMS, 1)), -1, np.int32)
    with run.intact():
        topic, rank = numbers(table, "topic", least=0, most=K - 1), numbers(table, "rank", least=1, most=STORED_TERMS)
        term_ids[topic, rank - 1] = [number[term] for term in table.column("term").to_pylist()]
    labels, by_phrases = run.table("topics", ["label"]).column("label").to_pylist(), phrase_names_of(run)
    by_words = topic_names(term_ids, vocabulary)
    return tuple(label if label in by_phrases else words for label, words in zip(labels, by_words, strict=True))


def phrase_names_of(run: Run) -> tuple[str, ...]:
    """Return the names of phrases that the fit of a run of bertopic gave its topics."""
    return tuple(map(str, run.model_config().get("phrase_names", ())))


def _around(fit: StoredFit, distinct: DistinctTexts, edited: EditedTopics, names: tuple[str, ...]) -> Surroundings:
    """Return names, layers and stability of edited topics: those of the run for topics whose documents are the same."""
    run, K, first = fit.run, len(edited.topics), distinct.first
    stored = [(fit.topics[first], fit.stability), *((z[first], values) for z, values, _ in fit.layers)]
    at = next((i for i, (_, _, chosen) in enumerate(fit.layers) if chosen), len(fit.layers))
    coarser = sorted({len(values) for _, values, _ in fit.layers[:at] if len(values) < K}, reverse=True)
    finer = [finer_division(z[first]) for z, values, _ in fit.layers[at + 1 :] if len(values) > K]
    before, after = fit.topics[first], edited.members.labels
    unchanged = len(fit.stability) == K and len({*zip(before.tolist(), after.tolist(), strict=True)}) == len(
        {*before.tolist()}
    )
    agreement = (run.manifest["results"].get("stability") or {}).get("agreement")
    return Surroundings(
        names=names,
        stability=remembered_stability(stored),
        agreement=np.nan if agreement is None or not unchanged else float(agreement),
        coarser=tuple(coarser),
        divisions=tuple(finer),
        min_topic_size=run.manifest["parameters"].get("min_topic_size_in_force"),
        sample=sample_of(run),
    )
