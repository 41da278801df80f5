"""`nlpkit lda-gibbs` without --model: read, fit, write the run, show the topics."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.lda_flags import ChainFlags, ExtraFlags, GuideFlags, PrototypeFlags
from nlpkit.cli.lda_show import show_next, show_topics
from nlpkit.cli.lda_work import (
    Work,
    alpha_of,
    check_guide,
    exact_topics,
    guidance_of,
    lda_options,
    run_chain,
    token_corpus,
    warn_of_one_text,
)
from nlpkit.cli.lda_write import Results, write_lda
from nlpkit.cli.options import OutputFlags, RunFlags
from nlpkit.io.checkpoints import check_unfinished, checkpoint_path, scores_path
from nlpkit.io.mallet import check_names
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.runs import stopwatch
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.lda.fit import LdaOptions, check_options
from nlpkit.topics.lda.guide import token_weights
from nlpkit.workflows.corpus import warn_dropped
from nlpkit.workflows.token_options import preprocess_options


def fit(
    inputs: list[str],
    out: OutputFlags,
    chain: ChainFlags,
    guide: GuideFlags,
    prototype: PrototypeFlags,
    extra: ExtraFlags,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit LDA and write a run directory. Raises InputError and UsageError as its steps do."""
    target = out.run_target(inputs, "lda")
    token_options = preprocess_options(tokens)
    options = lda_options(chain, run, n_topics=1, many=prototype.prototype is not None)
    exactly = exact_topics(chain)
    if prototype.prototype is not None:
        from nlpkit.cli.lda_prototype import check_prototype

        check_prototype(prototype, chain)
    check_options(options)
    check_guide(guide, verify=run.verify)
    for path in unfinished(target, chooses=exactly is None):
        check_unfinished(path, resume=chain.resume, force=out.force)
    if run.dry_run:
        chains = 1 if prototype.prototype is None else prototype.prototype + 1
        dry_run(inputs, read, sweeps=options.sweeps * chains)
        return
    seconds: dict[str, float] = {}
    with ExitStack() as stack:
        with stopwatch(seconds, "read"):
            corpus = token_corpus(stack, inputs, target, token_options, read, run)
        warn_of_one_text(corpus.tokens)
        if extra.save_state is not None:
            check_names(corpus.ids.to_pylist(), corpus.tokens.terms)
        with stopwatch(seconds, "guidance"):
            guided = guidance_of(guide, corpus, verify=run.verify)
            weights = token_weights(corpus.tokens, guide.term_weights)
        work = Work(corpus, guided, weights, chain, run, target, seconds)
        more = Results()
        if exactly is None:
            from nlpkit.cli.lda_k import chosen_topics

            options = chosen_topics(work, options, more)
        else:
            options = replace(options, n_topics=exactly)
        options = replace(options, alpha=alpha_of(chain, options.n_topics))
        say_plan(work, options)
        compared = None
        if prototype.prototype is not None:
            from nlpkit.cli.lda_prototype import choose_chain

            compared = choose_chain(work, options, prototype)
            options = replace(options, seed=compared.seed)
        with stopwatch(seconds, "sampling"):
            found = run_chain(work, options, keep=compared is None)
        if compared is not None:
            compared.add_to(more, found)
        written = write_lda(work, found, extra, fit_parameters(options, chain, guide), more, force=out.force)
    for leftover in unfinished(target, chooses=exactly is None):
        leftover.unlink(missing_ok=True)
    warn_dropped(corpus, target / "dropped.parquet")
    if run.json:
        console.emit_json({"run": str(target), **written.summary, "topics": written.tables["topics"].to_pylist()})
        return
    if compared is not None:
        compared.show()
    show_topics(written.tables["topics"], corpus.rows.num_rows)
    show_next(target, found, written.description, seconds, corpus.df / corpus.rows.num_rows)


def unfinished(target: Path, *, chooses: bool) -> list[Path]:
    """Return what a run leaves beside its target until it is whole: its chain, and the scores by which --k auto chooses."""
    return [checkpoint_path(target), *([scores_path(target)] if chooses else [])]


def fit_parameters(options: LdaOptions, chain: ChainFlags, guide: GuideFlags) -> dict[str, Any]:
    """Return the options of a fit as footer parameters: those in force."""
    plain = {k: v for k, v in asdict(options).items() if k not in ("threads", "seed")}
    own = {
        "k": chain.k,
        "alpha": options.start_alpha,
        "eta": options.start_eta,
        "burn_in": options.samples_from,
        "optimize_burn_in": options.optimize_from,
        "shards": options.shards,
        "seed_words": None if guide.seed_words is None else str(guide.seed_words),
        "fixed_topics": None if guide.fixed_topics is None else str(guide.fixed_topics),
        "term_weights": guide.term_weights,
    }
    return plain | own


def say_plan(work: Work, options: LdaOptions) -> None:
    """Say what is about to run: topics, priors each, sweeps."""
    n = len(work.corpus.tokens.term_ids)
    reporting.note(
        f"LDA of {wording.counted(options.n_topics, 'topic')}: alpha {options.start_alpha:.4g} and eta {options.start_eta:.4g} "
        f"each, {wording.counted(options.sweeps, 'sweep')} over {wording.counted(n, 'token')}"
    )
    if options.n_topics > n:
        reporting.warn(
            f"more topics than tokens: at least {options.n_topics - n:,} of them stay without any; give a smaller --k"
        )
