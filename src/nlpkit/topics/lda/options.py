"""Options of LDA, as plain data: the chain, prior knowledge, prototypes, what is stored."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, Self

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution, Param, options
from nlpkit.platform.parallel import ProcessActors, RayActors, Start
from nlpkit.topics.base.options import TermOptions, TopicCount

USUAL = Execution()
GRID, AD_LDA = ("grid", "ad-lda")
SWEEPS = 1000
SWEEPS_OF_MANY = 200  # of each of many chains
ESTIMATES_EVERY = 10  # sweeps between two estimates of alpha, MALLET's usual number
BURN_IN_ESTIMATES = 5  # that a chain leaves out before the first one
ESTIMATED = ("optimize_eta", "symmetric_alpha")  # options of these estimates


@options
class LdaOptions:
    """Options of fitting LDA.

    k: a number of topics, "auto", or a range such as "10:50:10". alpha and eta are each, by default 1 / k. estimate: the `last`
    state, the `mean` of the counts of every thin-th state after burn_in, or the `best` state in the trace (highest log p(w, z))
    after burn_in. scheme: how `shards` parts are sampled side by side (nlpkit.topics.lda.sampler).
    trace_every: sweeps between two points of the trace. symmetric_alpha and optimize_eta as in MALLET. What is recorded as
    optimize_interval is `estimates_every`, the number in force.
    """

    PANEL: ClassVar[str] = "Model"
    recorded: ClassVar = {
        name: name
        for name in (
            "n_topics", "alpha", "eta", "sweeps", "burn_in", "thin", "estimate", "trace_every", "early_stop", "optimize_interval",
            "optimize_burn_in", "symmetric_alpha", "optimize_eta", "shards", "scheme",
        )
    } | {"optimize_interval": "estimates_every"}  # fmt: skip

    k: TopicCount = "auto"
    alpha: Annotated[float | None, Param("Dirichlet prior of each topic in a document. Default: 1 / k.", above=0)] = (
        None
    )
    alpha_sum: Annotated[
        float | None,
        Param("Sum of alpha over all topics, as in MALLET. Use it instead of `alpha`.", above=0, excludes=("alpha",)),
    ] = None
    eta: Annotated[
        float | None,
        Param("Dirichlet prior of each word in a topic. Default: 1 / k.", ("eta", "beta"), above=0),
    ] = None
    sweeps: Annotated[
        int | None,
        Param(
            f"Passes over the corpus. Default: {SWEEPS}; {SWEEPS_OF_MANY} for each chain of a prototype.",
            ("sweeps", "iterations"),
            min=1,
        ),
    ] = None
    optimize_interval: Annotated[
        int | None,
        Param(
            f"Re-estimate alpha every N sweeps; 0 = fixed priors. Default: {ESTIMATES_EVERY}, or 0 with `alpha` or `alpha_sum` "
            "and for a prototype.",
            min=0,
        ),
    ] = None
    optimize_burn_in: Annotated[
        int | None,
        Param(
            f"First sweep after which alpha is re-estimated. Default: {BURN_IN_ESTIMATES} times `optimize_interval`.",
            min=0,
        ),
    ] = None
    symmetric_alpha: Annotated[bool, Param("Estimate one alpha for all topics.")] = False
    optimize_eta: Annotated[bool, Param("Re-estimate eta together with alpha.")] = False
    estimate: Annotated[
        str,
        Param(
            "Result of the chain: last (state), mean (of sampled states) or best (most probable state).",
            choices=("last", "mean", "best"),
        ),
    ] = "last"
    burn_in: Annotated[
        int | None,
        Param("Number of sweeps to discard before mean and best. Default: half of all.", min=0),
    ] = None
    thin: Annotated[int, Param("Number of sweeps between two states used for mean.", min=1)] = 10
    early_stop: Annotated[
        float | None,
        Param("Stop when log p rises by less than this share in 50 sweeps, such as 1e-4.", min=0, below=1),
    ] = None
    shards: Annotated[
        int | None,
        Param(
            "Number of parts sampled in parallel (limits the useful number of threads). Default: 1 for small "
            "corpora, up to 16.",
            min=1,
        ),
    ] = None
    scheme: Annotated[
        str,
        Param(
            "grid: threads share the counts (one machine). ad-lda: parts are merged after each sweep (clusters).",
            choices=(GRID, AD_LDA),
        ),
    ] = GRID
    trace_every: Annotated[int, Param("", min=1, command_line=False)] = 10

    def __post_init__(self) -> None:
        """Refuse what is to be estimated of priors that are fixed."""
        for name in () if self.estimates_every else ESTIMATED:
            if getattr(self, name):
                raise UsageError(
                    f"`{name}` needs priors that are re-estimated, and they are fixed; give `optimize_interval={ESTIMATES_EVERY}`, "
                    f"or leave `{name}` out",
                    parameter=name,
                )

    @property
    def exactly(self) -> int | None:
        """The number of topics K, None where it is to be chosen."""
        return int(self.k) if str(self.k).isdecimal() else None

    @property
    def n_topics(self) -> int:
        """The number of topics K. Raises UsageError where it is still to be chosen."""
        if self.exactly is None:
            raise UsageError(f"`k={self.k}`: a chain needs one number of topics", parameter="k")
        return self.exactly

    @property
    def start_alpha(self) -> float:
        """Alpha of each topic at the start."""
        each = self.each_alpha(self.n_topics)
        return 1.0 / self.n_topics if each is None else each

    @property
    def start_eta(self) -> float:
        """Eta of each term at the start."""
        return 1.0 / self.n_topics if self.eta is None else self.eta

    @property
    def n_sweeps(self) -> int:
        """Sweeps of the chain."""
        return SWEEPS if self.sweeps is None else self.sweeps

    @property
    def estimates_every(self) -> int:
        """Sweeps between two estimates of the priors, 0 where they are fixed: by default where alpha is given."""
        if self.optimize_interval is not None:
            return self.optimize_interval
        return ESTIMATES_EVERY if self.alpha is None and self.alpha_sum is None else 0

    @property
    def samples_from(self) -> int:
        """Sweep after which states count for the mean and the best: half of them by default."""
        return self.n_sweeps // 2 if self.burn_in is None else self.burn_in

    @property
    def optimize_from(self) -> int:
        """Sweep after which the priors are estimated first; it does not depend on the sweeps, so that a chain can be lengthened."""
        return BURN_IN_ESTIMATES * self.estimates_every if self.optimize_burn_in is None else self.optimize_burn_in

    def each_alpha(self, n_topics: int) -> float | None:
        """Return alpha of each of so many topics, None for the default."""
        return self.alpha if self.alpha_sum is None else self.alpha_sum / n_topics

    def of_chain(self, n_topics: int, sweeps: int = SWEEPS) -> Self:
        """Return the options of one chain: with a number of topics, alpha of each, and so many sweeps where none are given."""
        return replace(
            self, k=n_topics, alpha=self.each_alpha(n_topics), alpha_sum=None, sweeps=self.sweeps or sweeps
        )  # fmt: skip


@options
class GuideOptions:
    """Knowledge given before a fit."""

    PANEL: ClassVar[str] = "Prior knowledge"

    seed_words: Annotated[
        Path | None,
        Param("Seed words of topics in a TOML file: [topics] name = ['word', 'stem*'].", metavar="TOML"),
    ] = None
    fixed_topics: Annotated[
        Path | None,
        Param("LDA run whose topics are kept unchanged and come before the new ones.", metavar="RUN"),
    ] = None
    term_weights: Annotated[str, Param("Weight of a token: one, idf or pmi.", choices=("one", "idf", "pmi"))] = "one"
    debias: Annotated[
        str | None,
        Param(
            "Column (source, author) whose influence is removed. Words that a group uses improbably often are "
            "dropped at random (Thompson and Mimno 2018).",
            metavar="COLUMN",
        ),
    ] = None


@options
class PrototypeOptions:
    """LDAPrototype: of many chains the one that is most like the others (Rieger et al. 2024)."""

    PANEL: ClassVar[str] = "Prototype"

    prototype: Annotated[
        int | None,
        Param("LDAPrototype: fit N chains and keep the one most similar to the others.", min=2),
    ] = None
    similarity: Annotated[
        str,
        Param(
            "Similarity between topics of different chains: jaccard, cosine, jensen-shannon or rbo.",
            choices=("jaccard", "cosine", "jensen-shannon", "rbo"),
            needs=("prototype",),
        ),
    ] = "jaccard"


@options
class WorkerOptions:
    """Where the shards of ad-lda are sampled; the result does not depend on it."""

    PANEL: ClassVar[str] = "Several machines"

    workers: Annotated[
        int | None,
        Param(
            "Number of processes that sample the parts of ad-lda. Default: threads of one process.", metavar="N", min=1
        ),
    ] = None
    ray: Annotated[
        str | None,
        Param(
            "Ray cluster for these processes (extra 'ray'): local, auto (the running cluster), or ray://HOST:PORT.",
            metavar="ADDRESS",
            needs=("workers",),
        ),
    ] = None

    def start(self) -> Start | None:
        """Return what starts the shards in processes or on a cluster; None for threads."""
        if self.workers is None:
            return None
        if self.ray is None:
            return partial(ProcessActors, processes=self.workers)
        return partial(RayActors, workers=self.workers, address=self.ray)


def check_workers(workers: WorkerOptions, scheme: str) -> None:
    """Refuse workers for a scheme that has none.

    Raises:
        UsageError: there is one.
    """
    if workers.workers is not None and scheme != AD_LDA:
        raise UsageError(
            f"`workers` needs `scheme={AD_LDA}`, because the parts of the grid share memory", parameter="workers"
        )


@options
class DescriptionOptions(TermOptions):
    """Options that add tables to an LDA run."""

    save_assignments: Annotated[
        bool,
        Param("Write assignments.parquet with the topic of every token. Conversion to MALLET and pyLDAvis needs it."),
    ] = False
