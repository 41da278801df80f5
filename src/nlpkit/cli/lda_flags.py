"""Options of `nlpkit lda-gibbs`, by what they are about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from nlpkit.cli.options import WRITTEN


@dataclass(frozen=True, slots=True)
class ChainFlags:
    """The model and its chain."""

    k: Annotated[
        str, typer.Option("--k", "--num-topics", help="auto; a number N; a range lo:hi or lo:hi:step to choose from.")
    ] = "auto"
    alpha: Annotated[
        float | None, typer.Option(help="Prior of each topic in a document; default: 1/K.", show_default=False)
    ] = None
    alpha_sum: Annotated[
        float | None, typer.Option(help="Instead: the sum over topics, as MALLET's --alpha.", show_default=False)
    ] = None
    eta: Annotated[
        float | None,
        typer.Option("--eta", "--beta", help="Prior of each word in a topic; default: 1/K.", show_default=False),
    ] = None
    sweeps: Annotated[
        int | None,
        typer.Option(
            "--sweeps",
            "--iterations",
            min=1,
            help="Passes over the corpus; default: 1000, 200 for each run of --prototype, --rolling and --k auto.",
            show_default=False,
        ),
    ] = None
    optimize_interval: Annotated[
        int, typer.Option(min=0, help="Estimate alpha every N sweeps; 0 keeps the priors fixed.")
    ] = 0
    optimize_burn_in: Annotated[
        int | None,
        typer.Option(min=0, help="Sweep from which on; default: a fifth of all, at most 200.", show_default=False),
    ] = None
    symmetric_alpha: Annotated[bool, typer.Option("--symmetric-alpha", help="Estimate one alpha for all topics.")] = (
        False
    )
    optimize_eta: Annotated[bool, typer.Option("--optimize-eta", help="Estimate eta too.")] = False
    estimate: Annotated[
        str, typer.Option(help="What is kept of the chain: last state, mean of samples, best state.")
    ] = "last"
    burn_in: Annotated[
        int | None,
        typer.Option(min=0, help="Sweeps before samples count for mean and best; default: half.", show_default=False),
    ] = None
    thin: Annotated[int, typer.Option(min=1, help="Sweeps between two samples of the mean.")] = 10
    early_stop: Annotated[
        float | None,
        typer.Option(help="End when log p rises by less than this share in 50 sweeps, say 1e-4.", show_default=False),
    ] = None
    shards: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Parts sampled side by side, at most so many threads help; default: 1 for small corpora, up to 16.",
            show_default=False,
        ),
    ] = None
    checkpoint_every: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Save the chain every N sweeps beside the run; 0: only at Ctrl-C and SIGTERM; default: every minute.",
            show_default=False,
        ),
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint, if there is one; --sweeps may be more.")
    ] = False


@dataclass(frozen=True, slots=True)
class GuideFlags:
    """Knowledge given beforehand."""

    seed_words: Annotated[
        Path | None,
        typer.Option(
            metavar="TOML", help="Seed words, several a topic: [topics] name = ['word', 'stem*'].", show_default=False
        ),
    ] = None
    fixed_topics: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="Topics of another lda run, kept as they are, before new ones.", show_default=False
        ),
    ] = None
    term_weights: Annotated[str, typer.Option(help="How much a token counts: one, idf or pmi.")] = "one"


@dataclass(frozen=True, slots=True)
class ExtraFlags:
    """What is written beside the run's tables."""

    top_terms: Annotated[int, typer.Option(min=1, help="Terms of a topic that are stored.")] = 30
    relevance_lambda: Annotated[float, typer.Option(min=0.0, max=1.0, help="λ of the column relevance.")] = 0.6
    save_assignments: Annotated[
        bool, typer.Option("--save-assignments", help="assignments.parquet: the topic of every token.")
    ] = False
    save_state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The chain as MALLET's state.gz.", show_default=False), WRITTEN
    ] = None
    save_pyldavis: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON for pyLDAvis, topic numbers unchanged.", show_default=False),
        WRITTEN,
    ] = None
    from_mallet: Annotated[
        bool, typer.Option("--from-mallet", help="INPUT is MALLET's state.gz: make a run of it, sample nothing.")
    ] = False


@dataclass(frozen=True, slots=True)
class PrototypeFlags:
    """LDAPrototype."""

    prototype: Annotated[
        int | None,
        typer.Option(
            min=2, help="LDAPrototype: fit N chains and keep the one most like the others.", show_default=False
        ),
    ] = None
    similarity: Annotated[str, typer.Option(help="Of topics: jaccard, cosine, jensen-shannon or rbo.")] = "jaccard"


@dataclass(frozen=True, slots=True)
class RollingFlags:
    """RollingLDA."""

    rolling: Annotated[
        str | None,
        typer.Option(
            metavar="SPAN",
            help="RollingLDA, chunk by chunk: month, week, quarter, 10 days, 500 documents.",
            show_default=False,
        ),
    ] = None
    init: Annotated[
        str | None,
        typer.Option(
            help="First period: its last date, or a span: 2 quarters, 500 documents; default: 12 months.",
            show_default=False,
        ),
    ] = None
    memory: Annotated[
        str | None,
        typer.Option(
            help="What a chunk remembers: 3 quarters, 90 days, 500 documents, 2 chunks; default: 3 chunks, at least 3 months.",
            show_default=False,
        ),
    ] = None
    memory_fallback: Annotated[
        int, typer.Option(min=0, help="Documents remembered where the memory is empty; 0: an error.")
    ] = 0
    vocab_abs: Annotated[int, typer.Option(min=0, help="New words enter that a chunk has more often than this,")] = 5
    vocab_rel: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="and more often than this share of its tokens,")
    ] = 0.0
    vocab_fallback: Annotated[int, typer.Option(min=0, help="or more often than this.")] = 100
    doc_abs: Annotated[int, typer.Option(min=0, help="Documents with at most so many words are left out.")] = 0
    change_mixture: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of usual change that is no change (Rieger et al. 2022).")
    ] = 0.85
    change_span: Annotated[int, typer.Option(min=1, help="Chunks a chunk is compared with, at most.")] = 4
    change_level: Annotated[float, typer.Option(min=0.0, max=1.0, help="Level of the test for a change.")] = 0.01
    update: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="Add newer documents to this rolling run; -o gets the longer one.", show_default=False
        ),
    ] = None
