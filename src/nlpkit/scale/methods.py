"""The methods of scaling: from counted texts, or texts with embeddings, to positions of documents and weights of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from nlpkit.cluster.vectors import read_vectors
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError, UsageError, missing_column
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Corpus, no_words
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray
from nlpkit.scale import scores as core
from nlpkit.scale.files import reference_scores
from nlpkit.scale.options import ScaleOptions
from nlpkit.scale.wordfish import wordfish
from nlpkit.text.files import read_vocabulary
from nlpkit.text.options import PreprocessOptions, TokenOptions
from nlpkit.text.tokens import Sentences, note_tokens, token_parameters
from nlpkit.weights.counts import CountedCorpus, count_corpus
from nlpkit.weights.dtm import group_rows
from nlpkit.weights.options import WeightOptions

LSS_DIMENSIONS, CA_DIMENSIONS = 300, 2
_NOT_KEPT = ("id", "text", "tokens", "embedding")
_UNIT = ("parent_id", "unit_number")


@dataclass(slots=True)
class Fit:
    """What a method gives: positions and se (D,), the words they rest on (D,), the weights of words (V,), further columns, facts."""

    position: FloatArray
    se: FloatArray
    n_words: Any
    weight: FloatArray
    documents: dict[str, FloatArray] = field(default_factory=dict)
    words: dict[str, FloatArray] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Texts:
    """Documents as counts (D, V), with their ids and columns; units: the counts of sentences for lss, else the same."""

    rows: pa.Table
    counts: CsrMatrix
    units: CsrMatrix
    terms: tuple[str, ...]
    cf: Any
    df: Any
    parameters: dict[str, Any] | None


def counted_texts(stream: DocumentStream, cut: PreprocessOptions, options: ScaleOptions, execution: Execution) -> Texts:
    """Return the counts of the documents, and those of their sentences where lss wants them."""
    names = stream.schema.names
    if options.method == "wordscores" and options.scores not in names and not Path(str(options.scores)).is_file():
        raise missing_column(stream.where, str(options.scores), names, "scores")
    known = next((name for name in ("tokens", *_UNIT) if name in names), None)
    sentences = options.method == "lss" and options.unit != "document" and known is None
    if options.unit == "sentence" and known is not None:
        raise UsageError(
            f"`unit=sentence`: the documents have the column '{known}', so they cannot be split any more; leave it out",
            parameter="unit",
        )
    source: Any = Sentences(stream, "sentence", cut.language) if sentences else stream
    kept = [name for name in names if name not in _NOT_KEPT]
    columns = ["parent_id", *kept] if sentences else kept
    with count_corpus(source, cut, columns=columns, threads=execution.n_threads()) as counted:
        if not counted.terms:
            raise no_words(counted.n_docs)
        matrix = _stacked(counted)
        rows, counts = counted.rows(), matrix
        if sentences:
            codes = rows.column("parent_id").combine_chunks().dictionary_encode().indices.to_numpy()
            starts = np.flatnonzero(np.diff(codes, prepend=-1))
            counts = group_rows(matrix, codes, len(starts))
            ids = rows.column("parent_id").take(pa.array(starts))
            rows = rows.take(pa.array(starts)).drop_columns(["id", "parent_id"]).add_column(0, "id", ids)
            reporting.note(f"{wording.counted(len(starts), 'document')} with {wording.counted(len(codes), 'sentence')}")
        elif counted.report is not None:
            note_tokens(counted.report)
        parameters = None if counted.report is None else token_parameters(cut, counted.report)
        return Texts(rows, counts, matrix, counted.terms, counted.cf, counted.df, parameters)


def _stacked(counted: CountedCorpus) -> CsrMatrix:
    return sparse.csr_array(sparse.vstack([counts for _, counts in counted.batches()]))


def fit_words(
    texts: Texts,
    options: ScaleOptions,
    anchors: tuple[tuple[str, ...], tuple[str, ...]],
    execution: Execution,
    where: str,
) -> Fit:
    if options.method == "wordscores":
        return _wordscores(texts, options, where)
    if options.method == "lss":
        return _lss(texts, options, anchors, execution)
    rows = np.flatnonzero(np.asarray(texts.counts.sum(axis=1)).ravel() > 0)
    columns = np.flatnonzero(np.asarray(texts.counts.sum(axis=0)).ravel() > 0)
    ends = _direction(texts.rows, rows, options, where)
    dense = sparse.csr_array(texts.counts[rows][:, columns])  # without empty rows and columns
    if len(rows) < 2:
        raise InputError(f"{where} has {wording.counted(len(rows), 'document')} with words; a scale takes at least two")
    _warn_of_parts(texts.rows.column("id").take(pa.array(rows)), dense)
    n_words = np.asarray(texts.counts.sum(axis=1)).ravel()

    D, V = texts.counts.shape
    if options.method == "wordfish":
        model = wordfish(
            dense, prior=options.prior, as_quanteda=options.compat is not None, seed=execution.seed, threads=execution.n_threads()
        )  # fmt: skip
        sign = -1.0 if model.theta[ends[0]] > model.theta[ends[1]] else 1.0
        if not model.converged:
            reporting.warn(f"wordfish did not converge in {model.rounds:,} rounds: leave out rare words (`min_df`)")
        dispersion = None if not np.isfinite(model.dispersion) else model.dispersion
        facts = {
            "rounds": model.rounds,
            "converged": model.converged,
            "log_likelihood": model.log_likelihood,
            "dispersion": dispersion,
        }
        return Fit(
            _whole(sign * model.theta, rows, D), _whole(model.se, rows, D), n_words, _whole(sign * model.beta, columns, V),
            {"alpha": _whole(model.alpha, rows, D)}, {"psi": _whole(model.psi, columns, V)}, facts,
        )  # fmt: skip
    space = core.correspondence(dense, options.dimensions or CA_DIMENSIONS, seed=execution.seed)
    sign = -1.0 if space.documents[ends[0], 0] > space.documents[ends[1], 0] else 1.0
    _, se, _ = core.mean_scores(dense, space.words[:, 0])
    sigma = space.singular_values
    further = range(1, len(sigma))
    return Fit(
        _whole(sign * space.documents[:, 0], rows, D), _whole(se / sigma[0], rows, D), n_words,
        _whole(sign * space.words[:, 0], columns, V),
        {f"position_{k + 1}": _whole(space.documents[:, k], rows, D) for k in further},
        {f"weight_{k + 1}": _whole(space.words[:, k], columns, V) for k in further},
        {"singular_values": sigma.tolist(), "inertia": space.inertia, "inertia_shares": (sigma**2 / space.inertia).tolist()},
    )  # fmt: skip


def _warn_of_parts(ids: pa.ChunkedArray, counts: CsrMatrix) -> None:
    """Warn of documents that share no word with most of the others: the scale then runs between these and those."""
    from scipy.sparse.csgraph import connected_components

    D, V = counts.shape
    links = sparse.coo_array(counts)
    graph = sparse.coo_array((np.ones(links.nnz), (links.row, links.col + D)), shape=(D + V, D + V))
    parts = connected_components(graph, directed=False)[1][:D]
    outside = np.flatnonzero(parts != np.bincount(parts).argmax())
    if len(outside):
        names = wording.listed(ids.take(pa.array(outside)).to_pylist(), 3)
        reporting.warn(
            f"{wording.counted(len(outside), 'document')} ({names}) without a word in common with the others: the scale only "
            "tells these apart; leave them out, or words that few documents have (`min_df`)"
        )


def _direction(rows: pa.Table, usable: Any, options: ScaleOptions, where: str) -> tuple[int, int]:
    """Return the places among the usable documents of `low` and `high`, by default the first two.

    Raises:
        InputError: there is no such document, or it has no words.
    """
    if options.low is None:
        return 0, min(1, len(usable) - 1)
    places = []
    for name in ("low", "high"):
        row = pc.index(rows.column("id"), getattr(options, name)).as_py()
        place = int(np.searchsorted(usable, row)) if row >= 0 else len(usable)
        if place == len(usable) or usable[place] != row:
            why = (
                "has no words that count"
                if row >= 0
                else f"is not there; the first is '{rows.column('id')[0].as_py()}'"
            )
            raise InputError(f"`{name}={getattr(options, name)}`: this document of {where} {why}", parameter=name)
        places.append(place)
    return places[0], places[1]


def _wordscores(texts: Texts, options: ScaleOptions, where: str) -> Fit:
    references = reference_scores(texts.rows, str(options.scores), where)
    has_words = np.asarray(texts.counts.sum(axis=1)).ravel() > 0
    if (np.isfinite(references) & ~has_words).any():
        n = int((np.isfinite(references) & ~has_words).sum())
        reporting.warn(f"{wording.counted(n, 'reference text')} without words that count: left out")
        references = np.where(has_words, references, np.nan)
    used: BoolArray = np.isfinite(references)
    if used.sum() < 2 or np.ptp(references[used]) == 0:
        found_scores = wording.counted(int(used.sum()), "reference text")
        same = f", all with the score {references[used][0]:g}" if used.sum() > 1 else ""
        raise InputError(
            f"`scores={options.scores}`: {where} has {found_scores}{same}; at least two with different scores are needed",
            parameter="scores",
        )
    weight = core.wordscores(
        sparse.csr_array(texts.counts[np.flatnonzero(used)]), references[used], smooth=options.smooth
    )
    raw, raw_se, n_words = core.mean_scores(texts.counts, weight)
    facts = {"references": int(used.sum()), "scored_words": int(np.isfinite(weight).sum()), "rescale": options.rescale}
    if options.rescale == "none":
        return Fit(raw, raw_se, n_words, weight, {"reference": references}, {}, facts)
    intercept, slope = core.rescaling(raw, references, options.rescale)
    columns = {"reference": references, "raw": raw, "raw_se": raw_se}
    facts |= {"intercept": intercept, "slope": slope}
    return Fit(intercept + slope * raw, abs(slope) * raw_se, n_words, weight, columns, {}, facts)


def _lss(
    texts: Texts, options: ScaleOptions, anchors: tuple[tuple[str, ...], tuple[str, ...]], execution: Execution
) -> Fit:
    number = {term: i for i, term in enumerate(texts.terms)}
    matches = [
        (sign, _matching(seed, texts.terms, number))
        for sign, end in zip((-1.0, 1.0), anchors, strict=True)
        for seed in end
    ]
    missing = [seed for seed, (_, terms) in zip((*anchors[0], *anchors[1]), matches, strict=True) if not terms]
    for name, sign, end in (("negative", -1.0, anchors[0]), ("positive", 1.0, anchors[1])):
        if end and not any(terms for one, terms in matches if one == sign):
            raise InputError(
                f"`{name}`: no seed word ({wording.listed(end, 5)}) is among the {len(texts.terms):,} words that count; "
                "name others, or keep rarer words with `min_df=1`", parameter=name,
            )  # fmt: skip
    if missing:
        reporting.warn(f"seed words that do not occur: {wording.listed(missing, 10)}")
    weights = core.seed_weights(matches)
    usual = min(
        LSS_DIMENSIONS, max(min(texts.units.shape) // 2, 1)
    )  # in as many as there are words, all cosines would be 0
    weight, k = core.polarity(texts.units, weights, options.dimensions or usual, seed=execution.seed)
    if options.terms is not None:
        patterns = options.terms if isinstance(options.terms, tuple) else read_vocabulary(options.terms)
        kept = sorted({term for pattern in patterns for term in _matching(pattern, texts.terms, number)})
        if not kept:
            raise InputError(
                f"`terms`: none of {wording.counted(len(patterns), 'word')} occurs in the documents", parameter="terms"
            )
        outside = np.ones(len(weight), bool)
        outside[kept] = False
        weight[outside] = np.nan
    mean, se, n_words = core.mean_scores(texts.counts, weight)
    there = mean[np.isfinite(mean)]
    spread = float(there.std(ddof=1)) if len(there) > 1 else 0.0
    if not spread > 1e-12:
        raise InputError(
            "all documents have the same polarity, so there is no scale; use other seed words or more documents"
        )
    is_seed = np.zeros(len(weight))
    is_seed[list(weights)] = list(weights.values())
    facts = {"seeds": len(weights), "missing_seeds": missing, "dimensions": k, "units": texts.units.shape[0]}
    position = (mean - there.mean()) / spread
    return Fit(position, se / spread, n_words, weight, {"polarity": mean}, {"seed": is_seed}, facts)


def _whole(values: FloatArray, places: Any, n: int) -> FloatArray:
    """Return values in their places among n, NaN elsewhere."""
    filled: FloatArray = np.full(n, np.nan)
    filled[places] = values
    return filled


def _matching(word: str, terms: Sequence[str], number: Mapping[str, int]) -> list[int]:
    """Return the ids of the terms that a word is, or matches where it holds * ? [abc]."""
    if any(c in word for c in "*?["):
        return [i for i, term in enumerate(terms) if fnmatchcase(term, word)]
    return [number[word]] if word in number else []


def fit_axis(
    corpus: Corpus,
    anchors: tuple[tuple[str, ...], tuple[str, ...]],
    cut: PreprocessOptions,
    encoder: EncoderOptions,
    execution: Execution,
    seconds: dict[str, float],
) -> tuple[Texts, Fit, DocumentStream, dict[str, Any]]:
    """Return documents, positions on an axis of embeddings, what was read, and the encoder."""
    with stopwatch(seconds, "embeddings"):
        vectors = read_vectors(
            corpus, by="embedding", unit=True, encoder=encoder, tokens=TokenOptions(), weights=WeightOptions(), execution=execution
        )  # fmt: skip
        ends = [np.asarray(vectors.of_texts(list(end))) for end in anchors]
    with stopwatch(seconds, "fit"):
        position, se = core.axis_positions(vectors.points, *ends)
    table = vectors.table.drop_columns([name for name in ("embedding",) if name in vectors.table.column_names])
    kept = table.select([n for n in table.column_names if n == "id" or n not in _NOT_KEPT])
    with (
        stopwatch(seconds, "counts"),
        Corpus(memory=table).open() as again,
        count_corpus(again, cut, threads=execution.n_threads()) as counted,
    ):
        counts = _stacked(counted)
        parts = None if counted.report is None else token_parameters(cut, counted.report)
        texts = Texts(kept, counts, counts, counted.terms, counted.cf, counted.df, parts)
    n, rows = table.num_rows, vectors.rows
    weight, z = core.word_means(sparse.csr_array(counts[rows]), position)
    facts = {"anchors_low": len(anchors[0]), "anchors_high": len(anchors[1])}
    n_words = np.asarray(counts.sum(axis=1)).ravel()
    fit = Fit(_whole(position, rows, n), _whole(se, rows, n), n_words, weight, {}, {"z": z}, facts)
    parameters = {name: value for name, value in vectors.parameters.items() if name != "by"}
    return texts, fit, vectors.source, parameters
