"""What LDA is fitted to, and one chain over it, with a checkpoint where its unfinished work is kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlpkit.errors import InputError
from nlpkit.platform import reporting
from nlpkit.platform.options import Execution
from nlpkit.platform.parallel import Start
from nlpkit.platform.runs.runs import open_run
from nlpkit.platform.types import FloatArray, TokenTable
from nlpkit.topics.base.guide import Guidance, fixed_counts, joined, read_seed_words, seed_counts, token_weights
from nlpkit.topics.base.resume import KindOfFit, UnfinishedWork, digest, keeping
from nlpkit.topics.base.runs import LDA, TopicCorpus
from nlpkit.topics.base.scores import StepState
from nlpkit.topics.base.tables import read_model
from nlpkit.topics.lda.fit import LdaFit, fit_lda
from nlpkit.topics.lda.options import GuideOptions, LdaOptions
from nlpkit.topics.lda.sampler import TracePoint, chain_options, resume_problem

CHAIN = KindOfFit("chain", "sweep", keeps_last=True)


@dataclass(frozen=True, slots=True)
class LdaMaterial:
    """What a chain is fitted to: the tokens, pseudo-counts of seed words and fixed topics, weights of the tokens."""

    corpus: TopicCorpus
    guidance: Guidance | None = None
    weights: FloatArray | None = None

    @property
    def tokens(self) -> TokenTable:
        """The tokens of the corpus."""
        return self.corpus.tokens

    @property
    def identity(self) -> dict[str, Any]:
        """What must be the same for a chain to be continued, beside its options."""
        tokens, guidance = self.tokens, self.guidance
        return {
            "inputs": [[i.sha256, i.rows] for i in self.corpus.inputs],
            "vocabulary": [len(tokens.terms), digest(tokens.terms)],
            "tokens": [len(tokens.term_ids), digest(tokens.offsets, tokens.term_ids)],
            "given_topics": guidance
            and [guidance.n_fixed, *guidance.names, digest(guidance.term_ids, guidance.topics)],
            "term_weights": None if self.weights is None else digest(self.weights),
        }


def check_guide(guide: GuideOptions, *, verify: bool) -> None:
    """Refuse guidance that cannot be read, before a corpus is.

    Raises:
        UsageError, InputError, SchemaError: see the readers.
    """
    if guide.seed_words is not None:
        read_seed_words(guide.seed_words)
    if guide.fixed_topics is not None:
        open_run(guide.fixed_topics, [LDA], verify=verify)


def guided(corpus: TopicCorpus, guide: GuideOptions, *, verify: bool) -> LdaMaterial:
    """Return a corpus with seed words and fixed topics as pseudo-counts, fixed topics first, and the weights of its tokens."""
    fixed, seeded = None, None
    if guide.fixed_topics is not None:
        run = open_run(guide.fixed_topics, [LDA], verify=verify)
        names = run.table("topics", ["label"]).column("label").to_pylist()
        fixed = fixed_counts(read_model(run), corpus.tokens.terms, names)
    if guide.seed_words is not None:
        seeds = read_seed_words(guide.seed_words)
        seeded = seed_counts(seeds, corpus.tokens.terms, corpus.cf, first=0 if fixed is None else fixed.n_fixed)
        if seeded.missing:
            reporting.warn(f"seed words that do not occur in the corpus: {', '.join(seeded.missing[:10])}")
    return LdaMaterial(corpus, joined(fixed, seeded), token_weights(corpus.tokens, guide.term_weights))


def run_chain(
    material: LdaMaterial,
    options: LdaOptions,
    execution: Execution,
    unfinished: UnfinishedWork,
    *,
    shards: Start | None = None,
) -> LdaFit:
    """Run a chain, from its checkpoint where it is to be continued.

    Args:
        material, options, execution: what is fitted, and how.
        unfinished: where the checkpoint lies.
        shards: where those of ad-lda are sampled; None for threads.

    Raises:
        InputError: the checkpoint is of another chain.
    """
    identity = {**material.identity, **chain_options(options, execution.seed)}

    def check(path: Path, state: StepState) -> None:
        problem = resume_problem(state, options)
        if problem is not None:
            raise InputError(
                f"checkpoint {path}: {problem}; use the earlier `sweeps`, or `force` without `resume`, which "
                "deletes it",
                parameter="sweeps",
            )

    last: list[TracePoint] = []
    with (
        reporting.progress("sweeps", options.n_sweeps) as update,
        keeping(unfinished, identity, CHAIN, check=check) as keeper,
    ):

        def step(sweep: int, point: TracePoint | None) -> None:
            if point is not None:
                last[:] = [point]
            update(sweep, f"sweeps (log p {last[0].log_likelihood:.4f} a token)" if last else "sweeps")

        return fit_lda(
            material.tokens, options, execution, guidance=material.guidance, weights=material.weights, keeper=keeper,
            progress=step, shards=shards,
        )  # fmt: skip
