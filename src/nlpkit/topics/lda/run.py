"""LDA by collapsed Gibbs sampling: documents and options in, a fitted model out."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.cluster.options import NumberOfTopics
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import TEXT_HASH
from nlpkit.platform.documents.corpus import as_corpus
from nlpkit.platform.options import Execution, in_force, with_settings
from nlpkit.platform.plain import whole_or_text
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.text.options import PreprocessOptions, TopicTokenOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.topics.base.choose import TopicChoice
from nlpkit.topics.base.corpus import choice_additions, compare_numbers, read_topic_corpus, warn_of_one_text
from nlpkit.topics.base.guide import debiased_tokens, groups_of, note_debiased
from nlpkit.topics.base.model import main_topics
from nlpkit.topics.base.options import CheckpointOptions
from nlpkit.topics.base.resume import UnfinishedWork
from nlpkit.topics.base.runs import LDA, Additions, TopicCorpus, mixture_run
from nlpkit.topics.lda.chain import check_prototype, compare_chains, not_with_prototype
from nlpkit.topics.lda.chain_run import LdaMaterial, check_guide, guided, run_chain
from nlpkit.topics.lda.fit import LdaFitter, check_options
from nlpkit.topics.lda.model import FittedLda, LdaReport
from nlpkit.topics.lda.options import (
    SWEEPS_OF_MANY,
    DescriptionOptions,
    GuideOptions,
    LdaOptions,
    PrototypeOptions,
    WorkerOptions,
    check_workers,
)
from nlpkit.topics.lda.tables import prototype_additions

COMMAND = "lda-gibbs"


def fit_lda(
    data: Any,
    *,
    options: LdaOptions | None = None,
    guide: GuideOptions | None = None,
    prototypes: PrototypeOptions | None = None,
    checkpoints: CheckpointOptions | None = None,
    description: DescriptionOptions | None = None,
    tokens: TopicTokenOptions | None = None,
    workers: WorkerOptions | None = None,
    execution: Execution | None = None,
    checkpoint: str | Path | None = None,
    force: bool = False,
    **settings: Any,
) -> FittedLda:
    """Fit latent Dirichlet allocation by collapsed Gibbs sampling; the result is the same on any number of threads.

    Args:
        data: a Corpus, texts or a data frame. A column tokens is used; without one nlpkit tokenises the texts.
        options: how the model is fitted.
        guide: seed words, fixed topics, weights of terms, and a column to remove from the topics.
        prototypes: how many chains are compared, and how the most typical one is chosen.
        checkpoints: how often unfinished work is kept, and whether it is continued.
        description: how many words describe a topic, and what the run keeps.
        tokens: how texts become tokens.
        workers: how many Ray workers share the work.
        execution: seed and threads.
        checkpoint: the run directory that the model will be saved as. Unfinished work is kept beside it (CHECKPOINT.checkpoint.npz,
            CHECKPOINT.checkpoint.k.jsonl) until `save`, so that `resume` can continue it. None: nothing is kept.
        force: drop unfinished work that is there.
        settings: single options, such as k=20, sweeps=500, min_df=2, seed=1.

    Raises:
        UsageError: an option is out of its range or does not go with another.
        InputError: there is nothing to fit.
        MissingError: Ray is not installed.
        ActorLostError: workers are lost again and again.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> model = nk.fit_lda(texts, k=2, sweeps=20)
        >>> model.topics.num_rows
        2
        >>> sorted(word for word, weight in model.topic_words(0, top=3))
        ['bank', 'fish', 'river']
    """
    options, guide, prototypes, checkpoints, description, tokens, workers, execution = with_settings(
        (options, guide, prototypes, checkpoints, description, tokens, workers, execution), settings,
        (
            LdaOptions, GuideOptions, PrototypeOptions, CheckpointOptions, DescriptionOptions, TopicTokenOptions, WorkerOptions,
            Execution,
        ),
    )  # fmt: skip
    plan = plan_lda(
        options, guide, prototypes, checkpoints, tokens, workers, execution, checkpoint=checkpoint, force=force
    )  # fmt: skip
    unfinished, chooses = plan.unfinished, options.exactly is None
    seconds: dict[str, float] = {}
    documents = as_corpus(data)
    with ExitStack() as stack:
        with stopwatch(seconds, "read"):
            corpus = stack.enter_context(read_topic_corpus(documents, plan.tokens, execution.n_threads()))
        warn_of_one_text(corpus.tokens)
        debiased = groups = None
        if guide.debias is not None:
            filled = np.diff(corpus.tokens.offsets) > 0
            groups = groups_of(corpus.rows.drop_columns([TEXT_HASH]), guide.debias, filled, where="the corpus")
            debiased = debiased_tokens(corpus.tokens, groups, seed=execution.seed)
            corpus = replace(corpus, tokens=debiased.tokens)
        with stopwatch(seconds, "guidance"):
            material = guided(corpus, guide, verify=execution.verify)
        additions, choice, compared, seed = Additions(), None, None, execution.seed
        chain = _of_run(options, prototypes)
        if chooses:
            with stopwatch(seconds, "choice of k"):
                choice = choose_number(material, chain, execution, unfinished)
            additions = choice_additions(choice)
        chain = chain.of_chain(options.exactly or choice.n_topics)  # type: ignore[union-attr]
        _note_plan(chain, corpus)
        if prototypes.prototype is not None:
            with stopwatch(seconds, "chains"):
                compared = compare_chains(
                    material.tokens, chain, prototypes, execution, guidance=material.guidance, weights=material.weights
                )
            seed = compared.seed
        with stopwatch(seconds, "sampling"):
            fit = run_chain(
                material,
                chain,
                replace(execution, seed=seed),
                unfinished if compared is None else UnfinishedWork(None, unfinished.options),
                shards=workers.start(),
            )
        if compared is not None:
            additions |= prototype_additions(compared, fit.order)
        if groups is not None and debiased is not None:
            main = main_topics(fit.doc_topic, fit.model.alpha).topic
            additions |= Additions(
                results={"debias": note_debiased(debiased, groups, str(guide.debias), main, None)}
            )  # fmt: skip
        run = mixture_run(
            LDA,
            corpus,
            fit.mixture(),
            description,
            execution,
            command=COMMAND,
            parameters=_parameters(options, chain, guide),
            additions=additions,
            seconds=seconds,
            with_assignments=description.save_assignments,
            weighted=material.weights is not None,
        )
    report = LdaReport(fit, corpus.tokens, seconds, choice, compared)
    model = FittedLda(run, fit.model, report, tuple(unfinished.files(chooses=chooses)))
    model.corpus = documents
    return model


@dataclass(frozen=True, slots=True)
class LdaPlan:
    """What is known of a fit before a corpus is read: how tokens are made, what is kept of it, the sweeps of all chains."""

    tokens: PreprocessOptions
    unfinished: UnfinishedWork
    sweeps: int


def plan_lda(
    options: LdaOptions,
    guide: GuideOptions,
    prototypes: PrototypeOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    workers: WorkerOptions,
    execution: Execution,
    *,
    checkpoint: str | Path | None = None,
    force: bool = False,
) -> LdaPlan:
    """Check the options of a fit, as `fit_lda` takes them, before anything is read.

    Raises:
        UsageError: an option is out of its range or does not go with another, or there is unfinished work that is neither to
            be continued nor to be dropped; InputError: guidance that cannot be read.
    """
    token_options = preprocess_options(tokens)
    if prototypes.prototype is not None:
        check_prototype(options)
    check_options(_of_run(options, prototypes))
    check_workers(workers, options.scheme)
    if options.exactly is None:
        NumberOfTopics.parse(options.k)
    if prototypes.prototype is not None:
        for name, used in {
            "resume": checkpoints.resume,
            "checkpoint_every": checkpoints.checkpoint_every is not None,
            "workers": workers.workers is not None,
        }.items():
            if used:
                raise not_with_prototype(name)
    check_guide(guide, verify=execution.verify)
    unfinished = UnfinishedWork(None if checkpoint is None else Path(checkpoint), checkpoints)
    unfinished.check(chooses=options.exactly is None, force=force)
    chains = 1 if prototypes.prototype is None else prototypes.prototype + 1
    return LdaPlan(token_options, unfinished, _of_run(options, prototypes).n_sweeps * chains)


def _of_run(options: LdaOptions, prototypes: PrototypeOptions) -> LdaOptions:
    """Return the options of each chain: those of a prototype are shorter, and have fixed priors."""
    if prototypes.prototype is None:
        return options
    return replace(options, sweeps=options.sweeps or SWEEPS_OF_MANY, optimize_interval=0)


def _parameters(options: LdaOptions, chain: LdaOptions, guide: GuideOptions) -> dict[str, Any]:
    """Return the options of a fit as footer parameters: those in force."""
    return in_force(chain) | {
        "k": whole_or_text(options.k),
        "alpha": chain.start_alpha,
        "eta": chain.start_eta,
        "burn_in": chain.samples_from,
        "optimize_burn_in": chain.optimize_from,
        "shards": chain.shards,
        "seed_words": None if guide.seed_words is None else str(guide.seed_words),
        "fixed_topics": None if guide.fixed_topics is None else str(guide.fixed_topics),
        "term_weights": guide.term_weights,
        "debias": guide.debias,
    }


def _note_plan(options: LdaOptions, corpus: TopicCorpus) -> None:
    """Say what is about to run: topics, priors each, which of them are estimated, sweeps."""
    n, every = len(corpus.tokens.term_ids), options.estimates_every
    estimated = "alpha and eta" if options.optimize_eta else "alpha"
    estimates = f" ({estimated} re-estimated every {wording.counted(every, 'sweep')})" if every else ""
    reporting.note(
        f"LDA of {wording.counted(options.n_topics, 'topic')}: alpha {options.start_alpha:.4g} and eta {options.start_eta:.4g} "
        f"each{estimates}, {wording.counted(options.n_sweeps, 'sweep')} over {wording.counted(n, 'token')}"
    )
    if options.n_topics > n:
        reporting.warn(
            f"more topics than tokens: at least {options.n_topics - n:,} of them stay empty; use a smaller `k`"
        )


def choose_number(
    material: LdaMaterial, options: LdaOptions, execution: Execution, unfinished: UnfinishedWork
) -> TopicChoice:
    """Compare the numbers of topics that `options.k` allows to LDA; see `compare_numbers`."""
    plain = {k: v for k, v in in_force(options.of_chain(1)).items() if k != "n_topics"}
    return compare_numbers(
        material.tokens, LdaFitter(options), NumberOfTopics.parse(options.k).within, execution, unfinished,
        {**material.identity, **plain, "seed": execution.seed}, guidance=material.guidance, weights=material.weights,
    )  # fmt: skip
