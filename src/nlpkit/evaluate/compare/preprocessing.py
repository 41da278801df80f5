"""How much decisions of preprocessing change a result: preText (Denny & Spirling 2018), and how far topics agree.

Parts, in this order:
- Combinations of steps, and what each is as options of tokenisation.
- Scores: distances of documents, their ranks, and the regression of scores on steps.
- The comparison itself: the documents are cut once for each combination.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import scipy.special

from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError, UsageError
from nlpkit.evaluate.compare.options import STEPS, CompareOptions
from nlpkit.metrics.labels.clustering import adjusted_mutual_information
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import Corpus, as_corpus, warn_dropped
from nlpkit.platform.models import MODELS
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.provenance import HasProvenance
from nlpkit.platform.runs.saving import save_derived_table
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, IntArray, LongArray
from nlpkit.text.options import TextOptions
from nlpkit.text.run import preprocess
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.robust.grid import fit_function
from nlpkit.weights.dtm import count_terms

MOST_DOCUMENTS = 500  # whose distances are compared: their number is squared, and each combination has all of them
LETTERS = dict(zip(STEPS, "PNLSWI3", strict=True))  # of R's preText
WORD, NUMBER, MARK = r"\w*\p{L}\w*(?:['’-]\w+)*", r"\d+(?:[.,]\d+)*", r"[^\w\s]"
REFITS = 5  # combinations that are fitted again, to know how far two fits of the same words agree

Fits: TypeAlias = Sequence[tuple[str, int | None]]


def combinations_of(steps: Sequence[str]) -> BoolArray:
    """Return all combinations of steps (C, S): whether each is taken. The last takes none."""
    return np.array(list(product((True, False), repeat=len(steps))), bool)


def name_of(steps: Sequence[str], taken: Sequence[bool]) -> str:
    """Return the name of a combination as R's preText has it, such as P-N-L; none for no step."""
    return "-".join(LETTERS[step] for step, is_taken in zip(steps, taken, strict=True) if is_taken) or "none"


def options_of(steps: Sequence[str], taken: Sequence[bool], tokens: TextOptions) -> TextOptions:
    """Return how texts are cut where some steps are taken; steps that are not compared are as in `tokens`."""
    takes = dict(zip(steps, taken, strict=True))
    parts = [
        WORD,
        *([] if takes.get("numbers", True) else [NUMBER]),
        *([] if takes.get("punctuation", True) else [MARK]),
    ]
    changes: dict[str, Any] = {"token_pattern": "|".join(parts)}
    if "lowercase" in takes:
        changes["lower"] = takes["lowercase"]
    if "stem" in takes:
        changes["stem"] = (tokens.stem if tokens.stem != "none" else "auto") if takes["stem"] else "none"
    if "stop-words" in takes:
        changes["stop_words"] = (
            (tokens.stop_words if tokens.stop_words != "none" else "auto") if takes["stop-words"] else "none"
        )
    if "infrequent" in takes:
        changes["min_df"] = ("0.01" if tokens.min_df == "auto" else tokens.min_df) if takes["infrequent"] else "1"
    if "ngrams" in takes:
        changes["ngrams"] = ("1,3" if str(tokens.ngrams) == "1" else tokens.ngrams) if takes["ngrams"] else "1"
    return replace(tokens, **changes)


# ------------------------------------------------------------------------------------------------------------------------
# Scores: distances of documents, their ranks, and the regression of scores on steps.


def pair_distances(dtm: CsrMatrix) -> FloatArray:
    """Return 1 - cosine of the counts of each pair of documents (D (D - 1) / 2,), pairs as in the upper triangle; 1 to an empty one."""
    counts = dtm.astype(np.float64)
    norms = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    cosine = np.asarray((counts @ counts.T).todense()) / np.maximum(np.outer(norms, norms), 1e-300)
    distances: FloatArray = 1.0 - cosine[np.triu_indices(len(norms), 1)]
    return distances


def pretext_scores(distances: FloatArray, n_pairs: int, n_docs: int) -> FloatArray:
    """Return the preText score of each combination but the last, which takes no step (C - 1,).

    All pairs of documents are ranked by how much their distance changed from that without any step. The score of a combination is
    the mean difference between the ranks 1, 2, … n_pairs that its most changed pairs have, and their ranks in the other
    combinations, divided by D². So it is near 0 for a combination that changes the same pairs as others do.

    Denny & Spirling (2018), Political Analysis 26. The divisor is that of their R package, which is about twice the number of pairs.

    Args:
        distances: (C, P) of the pairs of documents.
        n_pairs: pairs of each combination; at most P are used.
        n_docs: D.
    """
    changes = np.abs(distances[:-1] - distances[-1])
    order = np.argsort(-changes, axis=1, kind="stable")
    ranks = np.empty(order.shape, np.int32)
    np.put_along_axis(ranks, order, np.arange(1, order.shape[1] + 1, dtype=np.int32)[None, :], axis=1)
    first = min(n_pairs, order.shape[1])
    C = len(order)
    apart = [np.abs(ranks[:, order[c, :first]] - np.arange(1, first + 1)).sum() for c in range(C)]  # 0 with itself
    scores: FloatArray = np.array(apart) / (first * max(C - 1, 1) * n_docs**2)
    return scores


def regressed(scores: FloatArray, taken: BoolArray, level: float = 0.95) -> dict[str, FloatArray]:
    """Return estimate, se, low, high of the intercept and of each step (S + 1,): least squares of the scores on the steps taken."""
    X = np.column_stack([np.ones(len(scores)), taken])
    coefficients, *_ = np.linalg.lstsq(X, scores, rcond=None)
    degrees = len(scores) - X.shape[1]
    variance = ((scores - X @ coefficients) ** 2).sum() / degrees if degrees else np.nan
    se = np.sqrt(variance * np.diag(np.linalg.inv(X.T @ X)))
    reach = scipy.special.stdtrit(degrees, (1 + level) / 2) * se if degrees else np.full(len(se), np.nan)
    return {"estimate": coefficients, "se": se, "low": coefficients - reach, "high": coefficients + reach}


# ------------------------------------------------------------------------------------------------------------------------
# The comparison itself: the documents are cut once for each combination.


@dataclass(frozen=True, slots=True)
class PreprocessingComparison(Tabular):
    """Combinations of preprocessing steps that were compared.

    table: a row for each combination: name, a column for each step, terms, score (null where no step is taken), topics (mean AMI with
    the topics of all others). steps: a row for the intercept and each step: estimate, se, low, high of the regression of scores, and
    topics, the mean AMI of two fits that differ in this step alone. refit: mean AMI of two fits of the same words, of which one has
    another seed and lacks a tenth of the documents.
    """

    table: pa.Table
    steps: pa.Table
    refit: float
    models: tuple[str, ...]
    n_docs: int
    n_compared: int
    parameters: dict[str, Any]
    source: HasProvenance

    def to_dict(self) -> dict[str, Any]:
        """Return both tables and what they were made of."""
        facts = {
            "documents": self.n_docs,
            "documents_compared": self.n_compared,
            "models": list(self.models),
            "refit": self.refit,
        }
        return {**facts, "steps": self.steps.to_pylist(), "combinations": self.table.to_pylist()}

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write the table of combinations. Raises OutputExistsError when it is there."""
        save_derived_table(
            target, self.table, "preprocessing", self.source, command="compare", parameters=self.parameters, force=force
        )


def compare_preprocessing(
    data: Any,
    *,
    options: CompareOptions | None = None,
    tokens: TextOptions | None = None,
    encoder: EncoderOptions | str | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> PreprocessingComparison:
    """Return how much decisions of preprocessing change distances of documents (preText), and topics.

    Each combination of the steps is one way to cut the documents. See `pretext_scores` for the score. The models of `models`,
    with `k` topics, are fitted to each combination.

    Args:
        data: a Corpus, texts or a data frame.
        options: preprocessing (the steps, "all" if None), pairs, models, k.
        tokens: how a step is taken: stem="porter", stop_words="none,FILE", min_df=5, ngrams="1,2". Other options hold for all.
        encoder: of bertopic and other models that read embeddings.
        execution: seed and threads.
        settings: single fields of these records.

    Raises:
        UsageError: unknown steps, or options that do not go together; InputError: fewer than three documents, or no words.

    Example:
        >>> texts = ["The river, 20 banks!", "Money in banks.", "A River runs: 3 fish.", "Loans and debts"] * 5
        >>> compared = nk.compare_preprocessing(texts, preprocessing="punctuation,lowercase,stem", models="nmf", k=2, language="en")
        >>> compared.steps.column_names
        ['step', 'estimate', 'se', 'low', 'high', 'topics']
    """
    kinds = (CompareOptions, TextOptions, EncoderOptions, Execution)
    records = (options, tokens, EncoderOptions.from_value(encoder), execution)
    options, tokens, embedder, execution = with_settings(records, settings, kinds)
    if options.preprocessing is None:
        options = replace(options, preprocessing="all")
    steps = options.steps()
    if tokens.tokenizer != "words" or tokens.token_pattern is not None or tokens.spacy is not None:
        raise UsageError(
            "`preprocessing` cuts texts by patterns of its own; leave `tokenizer`, `token_pattern` and `spacy` out"
        )
    with as_corpus(data).open() as stream:
        read = pa.Table.from_batches(stream, stream.schema)
        warn_dropped(stream, None)
    fits = [(name, k) for name, k, _ in options.fits(execution.seed)]
    documents, taken = Corpus.from_frame(read), combinations_of(steps)
    several = np.linspace(0, len(taken) - 1, REFITS).round().astype(int).tolist()  # combinations that are fitted again
    distances: list[FloatArray] = []
    terms: list[int] = []
    refits: list[float] = []
    topics: list[list[IntArray]] = []  # of each combination, those of each fit
    chosen = _chosen(read.num_rows, execution.seed)
    with reporting.progress("combinations", len(taken)) as update:
        for c, row in enumerate(taken):
            update(c)
            with reporting.quiet():
                cut = preprocess(documents, tokens=options_of(steps, row, tokens), execution=execution)
                distances.append(pair_distances(count_terms(cut.tokens)[chosen]))
                terms.append(cut.tokens.n_terms)
                table = pa.Table.from_batches(cut.batches())
                topics.append([_main_topics(table, name, k, embedder, execution) for name, k in fits])
                if c in several:
                    refits.append(
                        _refit(
                            table, topics[-1], fits, embedder, replace(execution, seed=execution.seed + len(refits) + 1)
                        )
                    )
        update(len(taken))
    scores = pretext_scores(np.array(distances), options.pairs, len(chosen))
    alike = np.mean([agreement(of_fit) for of_fit in zip(*topics, strict=True)], axis=0)
    return PreprocessingComparison(
        _combinations(steps, taken, terms, scores, alike),
        _steps(steps, taken, scores, alike),
        float(np.mean(refits)),
        tuple(name if k is None else f"{name} {k}" for name, k in fits),
        read.num_rows,
        len(chosen),
        {"preprocessing": list(steps), "pairs": options.pairs, "models": fits, "seed": execution.seed},
        stream,
    )


def agreement(topics: Sequence[IntArray]) -> FloatArray:
    """Return the AMI of the main topics of documents (D,) in each two fits (C, C)."""
    alike = np.eye(len(topics))
    for a, b in combinations(range(len(topics)), 2):
        alike[a, b] = alike[b, a] = adjusted_mutual_information(topics[a], topics[b])
    return alike


def _chosen(n_docs: int, seed: int) -> LongArray:
    """Return the documents whose distances are compared, at random where there are many. Raises InputError for fewer than three."""
    if n_docs < 3:
        raise InputError(f"{wording.counted(n_docs, 'document')}: to compare distances, at least 3 are needed")
    rng = np.random.Generator(np.random.Philox(key=stream_key(seed, "preprocessing")))
    return np.sort(rng.permutation(n_docs)[:MOST_DOCUMENTS])


def _main_topics(data: Any, name: str, k: int | None, encoder: EncoderOptions, execution: Execution) -> IntArray:
    """Return the main topic of each document (D,) in a fit of a model."""
    settings: dict[str, Any] = {} if k is None else {"k": k}
    if MODELS[name].embeddings:
        settings["encoder"] = encoder
    topics = fit_function(name)(data, execution=execution, **settings).documents["topic"]
    return np.asarray(topics.to_numpy(), np.int32)


def _refit(
    table: pa.Table, topics: Sequence[IntArray], fits: Fits, encoder: EncoderOptions, execution: Execution
) -> float:
    """Return the mean AMI of topics with those of fits that have another seed and lack a tenth of the documents."""
    rng = np.random.Generator(np.random.Philox(key=stream_key(execution.seed, "refit")))
    kept = np.sort(rng.permutation(table.num_rows)[table.num_rows // 10 :])
    part = table.take(pa.array(kept))
    again = [_main_topics(part, name, k, encoder, execution) for name, k in fits]
    return float(np.mean([adjusted_mutual_information(a[kept], b) for a, b in zip(topics, again, strict=True)]))


def _combinations(
    steps: Sequence[str], taken: BoolArray, terms: Sequence[int], scores: FloatArray, alike: FloatArray
) -> pa.Table:
    """Return a row for each combination, the least score first and that without a step last."""
    C = len(taken)
    columns = {
        "name": [name_of(steps, row) for row in taken],
        **{step.replace("-", "_"): taken[:, s] for s, step in enumerate(steps)},
        "terms": terms,
        "score": pa.array([*scores.tolist(), None], pa.float64()),
        "topics": (alike.sum(axis=1) - 1) / (C - 1),
    }
    return pa.table(columns).take(pa.array([*np.argsort(scores, kind="stable").tolist(), C - 1]))


def _steps(steps: Sequence[str], taken: BoolArray, scores: FloatArray, alike: FloatArray) -> pa.Table:
    """Return the regression of scores, and the mean AMI of two fits that differ in one step alone."""
    C = len(taken)
    topics: list[float | None] = [None]
    for s in range(len(steps)):
        width = 1 << (len(steps) - 1 - s)  # of `product`: the partner without this step lies so far behind
        rows = np.flatnonzero(taken[:, s])
        assert not taken[rows + width, s].any()
        topics.append(float(alike[rows, rows + width].mean()))
    estimates = regressed(scores, taken[: C - 1])
    return pa.table({"step": ["intercept", *steps], **estimates, "topics": topics})
