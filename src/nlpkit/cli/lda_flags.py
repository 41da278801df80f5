"""Options of `nlpkit lda-gibbs`, by what they are about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from nlpkit.parameters import WRITTEN, Param


@dataclass(frozen=True, slots=True)
class ChainFlags:
    """The model and its chain."""

    k: Annotated[str, Param("auto; a number N; a range lo:hi or lo:hi:step to choose from.", ("k", "num_topics"))] = (
        "auto"
    )
    alpha: Annotated[float | None, Param("Prior of each topic in a document; default: 1/K.")] = None
    alpha_sum: Annotated[float | None, Param("Instead: the sum over topics, as MALLET's --alpha.")] = None
    eta: Annotated[
        float | None,
        Param("Prior of each word in a topic; default: 1/K.", ("eta", "beta")),
    ] = None
    sweeps: Annotated[
        int | None,
        Param(
            "Passes over the corpus; default: 1000, 200 for each run of --prototype, --rolling and --k auto.",
            ("sweeps", "iterations"),
            min=1,
        ),
    ] = None
    optimize_interval: Annotated[int, Param("Estimate alpha every N sweeps; 0 keeps the priors fixed.", min=0)] = 0
    optimize_burn_in: Annotated[
        int | None,
        Param("Sweep from which on; default: a fifth of all, at most 200.", min=0),
    ] = None
    symmetric_alpha: Annotated[bool, Param("Estimate one alpha for all topics.")] = False
    optimize_eta: Annotated[bool, Param("Estimate eta too.")] = False
    estimate: Annotated[str, Param("What is kept of the chain: last state, mean of samples, best state.")] = "last"
    burn_in: Annotated[
        int | None,
        Param("Sweeps before samples count for mean and best; default: half.", min=0),
    ] = None
    thin: Annotated[int, Param("Sweeps between two samples of the mean.", min=1)] = 10
    early_stop: Annotated[
        float | None,
        Param("End when log p rises by less than this share in 50 sweeps, say 1e-4."),
    ] = None
    shards: Annotated[
        int | None,
        Param(
            "Parts sampled side by side, at most so many threads help; default: 1 for small corpora, up to 16.", min=1
        ),
    ] = None
    checkpoint_every: Annotated[
        int | None,
        Param(
            "Save the chain every N sweeps beside the run; 0: only at Ctrl-C and SIGTERM; default: every minute.", min=0
        ),
    ] = None
    resume: Annotated[bool, Param("Go on from the checkpoint, if there is one; --sweeps may be more.")] = False


@dataclass(frozen=True, slots=True)
class GuideFlags:
    """Knowledge given beforehand."""

    seed_words: Annotated[
        Path | None,
        Param("Seed words, several a topic: [topics] name = ['word', 'stem*'].", metavar="TOML"),
    ] = None
    fixed_topics: Annotated[
        Path | None,
        Param("Topics of another lda run, kept as they are, before new ones.", metavar="RUN"),
    ] = None
    term_weights: Annotated[str, Param("How much a token counts: one, idf or pmi.")] = "one"


@dataclass(frozen=True, slots=True)
class ExtraFlags:
    """What is written beside the run's tables."""

    top_terms: Annotated[int, Param("Terms of a topic that are stored.", min=1)] = 30
    relevance_lambda: Annotated[float, Param("λ of the column relevance.", min=0.0, max=1.0)] = 0.6
    save_assignments: Annotated[bool, Param("assignments.parquet: the topic of every token.")] = False
    save_state: Annotated[Path | None, Param("The chain as MALLET's state.gz.", metavar="FILE"), WRITTEN] = None
    save_pyldavis: Annotated[
        Path | None,
        Param("JSON for pyLDAvis, topic numbers unchanged.", metavar="FILE"),
        WRITTEN,
    ] = None
    from_mallet: Annotated[bool, Param("INPUT is MALLET's state.gz: make a run of it, sample nothing.")] = False


@dataclass(frozen=True, slots=True)
class PrototypeFlags:
    """LDAPrototype."""

    prototype: Annotated[
        int | None,
        Param("LDAPrototype: fit N chains and keep the one most like the others.", min=2),
    ] = None
    similarity: Annotated[str, Param("Of topics: jaccard, cosine, jensen-shannon or rbo.")] = "jaccard"


@dataclass(frozen=True, slots=True)
class RollingFlags:
    """RollingLDA."""

    rolling: Annotated[
        str | None,
        Param("RollingLDA, chunk by chunk: month, week, quarter, 10 days, 500 documents.", metavar="SPAN"),
    ] = None
    init: Annotated[
        str | None,
        Param("First period: its last date, or a span: 2 quarters, 500 documents; default: 12 months."),
    ] = None
    memory: Annotated[
        str | None,
        Param(
            "What a chunk remembers: 3 quarters, 90 days, 500 documents, 2 chunks; default: 3 chunks, at least 3 months."
        ),
    ] = None
    memory_fallback: Annotated[int, Param("Documents remembered where the memory is empty; 0: an error.", min=0)] = 0
    vocab_abs: Annotated[int, Param("New words enter that a chunk has more often than this,", min=0)] = 5
    vocab_rel: Annotated[float, Param("and more often than this share of its tokens,", min=0.0, max=1.0)] = 0.0
    vocab_fallback: Annotated[int, Param("or more often than this.", min=0)] = 100
    doc_abs: Annotated[int, Param("Documents with at most so many words are left out.", min=0)] = 0
    change_mixture: Annotated[
        float, Param("Share of usual change that is no change (Rieger et al. 2022).", min=0.0, max=1.0)
    ] = 0.85
    change_span: Annotated[int, Param("Chunks a chunk is compared with, at most.", min=1)] = 4
    change_level: Annotated[float, Param("Level of the test for a change.", min=0.0, max=1.0)] = 0.01
    update: Annotated[
        Path | None,
        Param("Add newer documents to this rolling run; -o gets the longer one.", metavar="RUN"),
    ] = None
