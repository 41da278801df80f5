"""Topic models, as runs or as lists of words: which of their scores can be made, and all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nlpkit.embed.encoders import open_encoder
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError, UsageError, missing_column
from nlpkit.evaluate.as_stm import add_heldout, add_stm_scores
from nlpkit.evaluate.targets import run_columns, run_labelled
from nlpkit.evaluate.topics import add_fit, add_run_separation, add_significance
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.comparisons import compare_labelled
from nlpkit.metrics.intervals import Statistic
from nlpkit.metrics.labels.labels import LabelledPredictions
from nlpkit.metrics.labels.partitions import add_clustering
from nlpkit.metrics.options import ENCODER
from nlpkit.metrics.results import Evaluation, TargetResult
from nlpkit.metrics.score import Score
from nlpkit.metrics.topics.topics import add_coherence, add_diversity, add_stability, compare_topics
from nlpkit.metrics.topics.word_vectors import OF_CORPUS, WordVectors, add_vector_scores, words_of_topics
from nlpkit.platform import reporting, wording
from nlpkit.topics.base.heldout import compare_perplexity
from nlpkit.topics.base.reference import (
    EvaluationSettings,
    Reference,
    TopicTarget,
    count_references,
    need_reference,
    reference_of,
    token_table,
)
from nlpkit.words.files import read_word_vectors
from nlpkit.words.word2vec import SETTINGS, has_word2vec, need_word2vec, train_word2vec

DEFAULT = ("npmi", "c_v", "diversity", "inverted_rbo", "exclusivity", "perplexity_in_sample", "log_likelihood")
DEFAULT_LABELLED = ("ami", "purity", "inverse_purity")
NOT_OF_TOPICS = (
    "classification",
    "multilabel",
    "correlation",
    "regression",
    "ordinal",
    "costs",
    "spans",
    "calibration",
    "people",
)
SHOWN_WORDS = 8


def evaluate_models(
    targets: Sequence[TopicTarget], settings: EvaluationSettings, encoder: EncoderOptions
) -> Evaluation:
    """Score topic models.

    Raises:
        UsageError: a score cannot be of topics, or lacks an option; InputError: a target or a corpus cannot be used.
    """
    options, uncertainty = settings.options, settings.uncertainty
    labels = [run_labelled(t, settings.read.label_col) for t in targets]
    names = _names(settings, labelled=any(documents is not None for documents in labels))
    groups = _groups(names, len(targets), settings)
    depth = options.depths()[-1]
    results = [_result(t, depth) for t in targets]
    coherence = groups["coherence"]
    counted = count_references(targets, coherence, settings) if coherence else [None] * len(targets)
    statistics: list[dict[str, Statistic]] = []
    held = []
    for target, documents, result, counts in zip(targets, labels, results, counted, strict=True):
        statistics.append({} if counts is None else add_coherence(result, counts, coherence, options, uncertainty))
        if counts is None and coherence and target.run is None:
            result.notes.append("no coherence without a corpus to count words in: give one with `reference=DOCS`")
        _note_npmi_of_run(result, target)
        add_diversity(result, target, groups["distinctness"], depth, uncertainty)
        add_significance(result, target, groups["significance"], depth, uncertainty, asked=settings.only)
        if groups["stm"]:
            add_stm_scores(result, target, groups["stm"], settings, targets)
        held.append(add_fit(result, target, groups["fit"], settings))
        if held[-1] is not None:
            add_heldout(result, held[-1].scores)
        _add_labels(result, target, documents, groups["clustering"], settings)
        if groups["separation"]:
            add_run_separation(result, target, groups["separation"], settings)
    if groups["vectors"]:
        _add_vectors(results, targets, groups["vectors"], encoder, depth, settings)
    for result in results:
        result.scores = {name: result.scores[name] for name in METRICS if name in result.scores}
    evaluation = Evaluation(results)
    if groups["stability"]:
        add_stability(evaluation, targets, groups["stability"], depth, uncertainty)
    if len(results) > 1:
        evaluation.comparisons = [
            *compare_topics(results, counted, statistics, uncertainty),
            *compare_perplexity(held, results, uncertainty),
            *compare_labelled(labels, results, uncertainty, beta=options.beta),
        ]
    if not evaluation.shared and not any(result.scores for result in results):
        raise InputError(f"{', '.join(names)}: no score of {targets[0].name} ({targets[0].kind}) could be made")
    return evaluation


def _names(settings: EvaluationSettings, *, labelled: bool) -> list[str]:
    """Return the metrics to make. Raises UsageError when one was named that is not of topics."""
    names = list(settings.names)
    if not settings.only:
        names += [n for n in DEFAULT if n not in names]
        names += [n for n in DEFAULT_LABELLED if n not in names and labelled]
    if settings.options.compat == "stm" and settings.heldout is not None and "perplexity" not in names:
        names.append("perplexity")
    wrong = [n for n in names if n in METRICS and METRICS[n].group in NOT_OF_TOPICS]
    names = [n for n in names if n in METRICS and METRICS[n].group not in NOT_OF_TOPICS]
    wrong = [n for n in wrong if settings.options.is_named(n)] if names else wrong
    if wrong:
        raise UsageError(
            f"{', '.join(wrong)}: these scores need a table with labels and predictions, or answers",
            parameter="metrics",
        )
    return names


def _groups(names: Sequence[str], n_targets: int, settings: EvaluationSettings) -> dict[str, list[str]]:
    """Return the metrics to make by their group: of a group all that can be made; what was named is made, or an error."""
    options = settings.options
    left_out = [n for n in names if _is_by_given_vectors(n) and not options.vectors and not options.is_named(n)]
    left_out += [n for n in names if n in OF_CORPUS and not has_word2vec() and not options.is_named(n)]
    left_out += [
        n
        for n in names
        if METRICS[n].group == "stability" and n_targets < 2 and not options.stability and len(names) > 3
    ]
    groups = {
        g: [n for n in names if METRICS[n].group == g and n not in left_out]
        for g in dict.fromkeys(m.group for m in METRICS.values())
    }
    if options.compat not in (None, "palmetto") and not options.is_named("c_p"):
        groups["coherence"] = [n for n in groups["coherence"] if n != "c_p"]  # which only Palmetto has
    lacking = [n for n in groups["vectors"] if _is_by_given_vectors(n)]
    if lacking and options.vectors is None:
        raise UsageError(
            f"{', '.join(lacking)}: word vectors are needed; `vectors=FILE` (a run of embed-words, word2vec or "
            f"GloVe text, or Parquet with word and embedding), or `vectors={ENCODER}` to use a sentence encoder",
            parameter="vectors",
        )
    if any(n in OF_CORPUS for n in groups["vectors"]):
        need_word2vec()
    return groups


def _is_by_given_vectors(name: str) -> bool:
    return METRICS[name].group == "vectors" and name != "c_in"


def _add_vectors(
    results: Sequence[TargetResult],
    targets: Sequence[TopicTarget],
    names: Sequence[str],
    encoder: EncoderOptions,
    depth: int,
    settings: EvaluationSettings,
) -> None:
    """Add scores by vectors; the words of all targets are looked up, embedded, or learned from a reference, once.

    Raises:
        UsageError: a target has no reference; InputError: the file or a reference cannot be used, or has none of the words;
            MissingError: the encoder or an extra is not there.
    """
    words = words_of_topics(targets)
    external = None
    if any(_is_by_given_vectors(name) for name in names):
        external = _external_vectors(words, encoder, settings)
    internal: list[WordVectors | None] = [None] * len(targets)
    if any(name in OF_CORPUS for name in names):
        internal = _internal_vectors(targets, words, [n for n in names if n in OF_CORPUS], settings)
    for result, target, of_corpus in zip(results, targets, internal, strict=True):
        add_vector_scores(result, target, names, external, of_corpus, depth, settings.uncertainty)


def _external_vectors(words: Sequence[str], encoder: EncoderOptions, settings: EvaluationSettings) -> WordVectors:
    source = settings.options.vectors
    assert source is not None
    if source == ENCODER:
        rows = np.asarray(open_encoder(encoder, settings.threads).encode(words)[0], np.float32)
        return WordVectors(words, rows, np.ones(len(words), bool), {"vectors": encoder.name})
    return WordVectors(words, *read_word_vectors(Path(source), words), {"vectors": source})


def _internal_vectors(
    targets: Sequence[TopicTarget], words: Sequence[str], names: Sequence[str], settings: EvaluationSettings
) -> list[WordVectors | None]:
    """Return vectors learned from the reference of each target; each reference is read once.

    A target without a reference gets None, unless one of the scores was named.
    """
    named = any(settings.options.is_named(name) for name in names)
    learned: dict[Reference, WordVectors] = {}
    out: list[WordVectors | None] = []
    for target in targets:
        try:
            reference = reference_of(target, settings.reference, settings.read, targets)
        except InputError as error:
            if named:
                raise
            reporting.warn(f"no {' and '.join(names)} of {target.name}: {error}")
            reference = None
        if reference is None:
            if named:
                raise need_reference(target, ", ".join(names))
            out.append(None)
            continue
        if reference not in learned:
            _, tokens, stats = token_table(reference, settings.threads)
            rows, known = train_word2vec(tokens, words, seed=settings.uncertainty.seed)
            if not known.any():
                raise InputError(
                    f"none of the {len(words):,} words of {target.name} is in the reference "
                    f"{reference.described()}; check its language and tokenisation, or give another with `reference`"
                )
            source = {"vectors": "word2vec", **SETTINGS, "seed": settings.uncertainty.seed, "corpus": stats.to_dict()}
            learned[reference] = WordVectors(words, rows, known, source)
        out.append(learned[reference])
    return out


def _note_npmi_of_run(result: TargetResult, target: TopicTarget) -> None:
    """Say why a run may have printed another NPMI."""
    printed = None if target.run is None else target.run.manifest["results"].get("npmi")
    score = result.scores.get("npmi")
    if printed is not None and score is not None and score.parameters.get("window") != "document":
        counted = f"windows of {score.parameters['window']} words" if score.parameters.get("window") else "another way"
        result.notes.append(
            f"npmi (documents), which the fit printed, is {printed:.3f} (`window=document` gives it); here words are counted in {counted}"
        )


def _result(target: TopicTarget, depth: int) -> TargetResult:
    words = [" ".join(topic[:SHOWN_WORDS]) for topic in target.topics]
    result = TargetResult(
        target.name, target.kind, units=list(target.names), unit_texts=words, notes=list(target.notes)
    )
    result.unit_words = [list(topic[:depth]) for topic in target.topics]
    result.facts["n_topics"] = len(target.topics)
    short = sum(0 < len(topic) < depth for topic in target.topics)
    if short:
        known = "the run stores" if target.run is not None else "there are"
        noun = wording.counted(short, "topic")
        result.notes.append(f"{known} fewer than {depth} words of {noun}: those that are there count")
    single = [name for name, topic in zip(target.names, target.topics, strict=True) if len(topic) == 1]
    if single:
        result.notes.append(f"one word has no coherence: topic {wording.listed(single, 10)}")
    return result


def _add_labels(
    result: TargetResult,
    target: TopicTarget,
    documents: LabelledPredictions | None,
    names: Sequence[str],
    settings: EvaluationSettings,
) -> None:
    if documents is not None:
        if names:
            add_clustering(result, documents, names, settings.uncertainty)
        return
    label_col = settings.read.label_col
    columns = run_columns(target)
    why = f"there is no column '{label_col}' beside the topics; see `label_col`"
    if label_col in columns:
        why = f"column '{label_col}' does not have one label of each document; see `label_col`"
    elif names and settings.only and target.run is not None and label_col != "label":
        raise missing_column(f"{target.run.path}/documents.parquet", label_col, columns, "label_col")
    for name in names if settings.only else ():
        result.add(Score(METRICS[name], None, "documents", 0, why=why))
