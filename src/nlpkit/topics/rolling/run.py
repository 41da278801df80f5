"""RollingLDA: a time series of models chunk after chunk, and newer documents added to one."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.chunks import Chunk, initial_end, parse_span
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import as_corpus
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.footers import step_parameters
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.types import Days, IntArray, TokenTable
from nlpkit.text.options import PreprocessOptions, TokenOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.text.tokens import changed_token_options, cut_as_model, refuse_token_options
from nlpkit.topics.base.corpus import DatedCorpus, read_dated_corpus
from nlpkit.topics.lda.chain import ComparedChains, compare_chains, make_sampler
from nlpkit.topics.lda.model import FittedLda
from nlpkit.topics.lda.options import DescriptionOptions, LdaOptions, PrototypeOptions
from nlpkit.topics.rolling.model import (
    FittedRollingLda,
    RollingResult,
    RollingRun,
    fitted_rolling,
    open_rolling_run,
    with_newer,
)
from nlpkit.topics.rolling.options import ChangeOptions, RollingOptions
from nlpkit.topics.rolling.plan import First, fit_rolling, plan_chunks, update_rolling

RECORDS = (DescriptionOptions, RollingOptions, ChangeOptions, PrototypeOptions, TokenOptions, Execution)
MANY_DISCARDED = 0.1  # share of the documents that is worth a warning


def fit_rolling_lda(
    data: Any,
    *,
    options: RollingOptions | None = None,
    changes: ChangeOptions | None = None,
    prototypes: PrototypeOptions | None = None,
    description: DescriptionOptions | None = None,
    tokens: TokenOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> FittedRollingLda:
    """Fit a time series of LDA models over a column of dates (RollingLDA), and test the topics for changes.

    Args:
        data: a Corpus or a data frame with dates; a column tokens is used, else made.
        options, changes, prototypes, description, tokens, execution: whole records of options.
        settings: single options, such as k=20, chunks="month", init="12 months", min_df=2, seed=1. A prototype is that of
            the first period.

    Raises:
        UsageError: an option is out of its range or does not go with a rolling model; InputError: there is nothing to fit.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, dates=[f"2024-{month:02d}-01" for month in (1, 2, 3, 4, 5)] * 4)
        >>> model = nk.fit_rolling_lda(corpus, k=2, init="2024-02-28", chunks="month", sweeps=10)
        >>> model.topics.num_rows
        2
    """
    description, options, changes, prototypes, tokens, execution = with_settings(
        (description, options, changes, prototypes, tokens, execution), settings, RECORDS
    )
    token_options = preprocess_options(tokens)
    _check_options(options, token_options)
    default_init, options = options.init is None, options.resolved()

    def options_for(stream: DocumentStream) -> PreprocessOptions | None:
        if "tokens" in stream.schema.names:
            refuse_token_options(token_options, stream.where)
            return None
        return replace(token_options, min_df=1)  # rare words are needed too: a chunk counts them for the thresholds

    seconds: dict[str, float] = {}
    with ExitStack() as stack:
        with stopwatch(seconds, "read"):
            dated = stack.enter_context(read_dated_corpus(as_corpus(data), options_for, execution.n_threads()))
        _check_init(dated.days, str(options.init), is_default=default_init)
        chunks, _ = plan_chunks(dated.corpus.tokens, dated.days, dated.ids, options)
        _note_plan(options, chunks)
        compared: list[ComparedChains] = []
        first = None
        if prototypes.prototype is not None:
            first = _prototype_of_first_period(options, prototypes, execution, compared, seconds)
        with stopwatch(seconds, "sampling"):
            fit = fit_rolling(dated.corpus.tokens, dated.days, dated.ids, options, execution, first=first)
        result = RollingResult(fit.state, dated.corpus, fit.rows, changes, compared[0] if compared else None)
        return fitted_rolling(result, description, execution, seconds)


def update_rolling_lda(
    model: FittedLda | str | Path,
    newer: Any,
    *,
    options: RollingOptions | None = None,
    changes: ChangeOptions | None = None,
    prototypes: PrototypeOptions | None = None,
    description: DescriptionOptions | None = None,
    tokens: TokenOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> FittedRollingLda:
    """Return a rolling model with newer documents: bit by bit the model of one fit to the old documents followed by them.

    Args:
        model: a rolling model or its run directory, which stays as it is.
        newer: a Corpus or a data frame with dates.
        options, changes, prototypes, tokens: options that are set must be those that the model has.
        description, execution: what the tables hold, and the threads; the seed of the model is used.
        settings: single options.

    Raises:
        InputError: the run is not a rolling model, or documents do not come after the documents of the model.
        UsageError: an option differs from the option of the model.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, dates=[f"2024-{month:02d}-01" for month in (1, 2, 3, 4, 5)] * 4)
        >>> model = nk.fit_rolling_lda(corpus, k=2, init="2024-02-28", chunks="month", sweeps=10)
        >>> newer = nk.Corpus.from_texts(["money loan"] * 4, ids=list("abcd"), dates=["2024-06-01"] * 4)
        >>> nk.update_rolling_lda(model, newer).documents.num_rows
        24
    """
    description, *same = with_settings(
        (description, options, changes, prototypes, tokens, execution), settings, RECORDS
    )
    with ExitStack() as stack:
        path = Path(model) if not isinstance(model, FittedLda) else model.path
        if path is None:
            assert isinstance(model, FittedLda)
            with reporting.quiet():  # the place is of no use to anyone
                path = model.save(Path(stack.enter_context(TemporaryDirectory())) / "model")
            model.path = None
        base = open_rolling_run(path, verify=same[-1].verify)
        _check_same(base, *same)
        return _add_newer(base, newer, description, same[-1])


def plan_rolling(
    model: Path | None,
    *,
    options: RollingOptions,
    changes: ChangeOptions,
    prototypes: PrototypeOptions,
    tokens: TokenOptions,
    execution: Execution,
) -> int:
    """Check the options of a fit, or of an update of a model, before anything is read, and return the sweeps.

    Raises:
        UsageError: as `fit_rolling_lda` and `update_rolling_lda`.
    """
    if model is None:
        _check_options(options, preprocess_options(tokens))
        return options.sweeps
    base = open_rolling_run(model, verify=execution.verify)
    _check_same(base, options, changes, prototypes, tokens, execution)
    return base.state.options.sweeps


def _add_newer(base: RollingRun, newer: Any, description: DescriptionOptions, execution: Execution) -> FittedRollingLda:
    old = base.state
    execution = replace(execution, seed=old.seed)
    from_texts = step_parameters(base.steps, "preprocess") is None  # then the words of the run are all there

    def options_for(stream: DocumentStream) -> PreprocessOptions | None:
        return cut_as_model(stream, base.token_info, f"the run {base.run.path}", bounds=from_texts)

    seconds: dict[str, float] = {}
    with ExitStack() as stack:
        with stopwatch(seconds, "read"):
            dated = stack.enter_context(read_dated_corpus(as_corpus(newer), options_for, execution.n_threads()))
        _note_update(base, dated)
        with stopwatch(seconds, "sampling"):
            fit = update_rolling(
                old, dated.corpus.tokens, dated.days, dated.ids, threads=execution.n_threads()
            )  # fmt: skip
        corpus = with_newer(base, dated)
        row = {name: place for place, name in enumerate(fit.state.ids)}
        places = np.array([row[name] for name in corpus.ids.to_pylist()], np.int64)
        result = RollingResult(fit.state, corpus, places, base.changes, base=base)
        return fitted_rolling(result, description, execution, seconds)


def _check_same(
    base: RollingRun,
    options: RollingOptions,
    changes: ChangeOptions,
    prototypes: PrototypeOptions,
    tokens: TokenOptions,
    execution: Execution,
) -> None:
    """Refuse options other than those that a rolling run was made with; the same ones may be given again.

    Raises:
        UsageError: one is another.
    """
    before = base.state.options
    known = {
        **{one.name: getattr(before, one.name) for one in fields(before)},
        "alpha_sum": None if before.alpha is None else before.alpha * before.n_topics,
        **{one.name: getattr(base.changes, one.name) for one in fields(base.changes)},
        "seed": base.state.seed,
    }
    usual: tuple[Any, ...] = (RollingOptions(), ChangeOptions(), PrototypeOptions(), Execution())
    for record, default in zip((options, changes, prototypes, execution), usual, strict=True):
        for one in fields(default):
            value, known_value = getattr(record, one.name), known.get(one.name)
            if (
                one.name in ("threads", "verify")
                or value == getattr(default, one.name)
                or str(value) == str(known_value)
            ):
                continue
            was = f"it was made with {known_value}" if known_value is not None else "it was made without"
            raise UsageError(
                f"`{one.name}={value}`: an update keeps the options of the run ({was}); leave it out, or fit all "
                "documents again",
                parameter=one.name,
            )
    changed = changed_token_options(preprocess_options(tokens))
    if changed:
        raise UsageError(f"{', '.join(changed)}: new documents are tokenised as in the run; leave it out")


def _check_options(options: RollingOptions, tokens: PreprocessOptions) -> None:
    """Check the options of a rolling model before anything is read.

    Raises:
        UsageError: there is no number of topics, or a rolling model would have to ignore an option.
    """
    _ = options.n_topics
    prunes = {
        "max_df": tokens.max_df != 1.0,
        "max_vocab": tokens.max_vocab is not None,
        "min_df": tokens.min_df not in (None, 1),
        "vocab": tokens.vocab is not None,
    }
    pruned = [f"`{name}`" for name, used in prunes.items() if used]
    if pruned:
        raise UsageError(
            f"{', '.join(pruned)}: a rolling model chooses its words chunk by chunk, and future documents are "
            "unknown; use `vocab_abs`, `vocab_rel` and `vocab_fallback`, or make tokens first with "
            "`preprocess()`"
        )


def _check_init(days: Days, init: str, *, is_default: bool) -> None:
    """Refuse a first period that leaves no chunks.

    Raises:
        UsageError: it is the default one. InputError: no period could leave any, or the given one does not.
    """
    ordered = np.sort(days)
    try:
        initial_end(ordered, init)
    except InputError:
        if not is_default or ordered[0] == ordered[-1]:
            raise
        at = ordered[: np.searchsorted(ordered, ordered[-1])][: max(len(ordered) // 3, 1)][-1]
        raise UsageError(
            f"the documents are dated {ordered[0]} to {ordered[-1]}, and a first period of {init}, the default, "
            f"leaves nothing after it; set its end, such as `init={at}` (a third of the documents)",
            parameter="init",
        ) from None


def _prototype_of_first_period(
    options: RollingOptions,
    prototypes: PrototypeOptions,
    execution: Execution,
    compared: list[ComparedChains],
    seconds: dict[str, float],
) -> First:
    """Return what gives the tokens of the initial period their topics: the prototype of many chains, which is put on the list."""
    chain = LdaOptions(
        options.n_topics, alpha=options.alpha, eta=options.eta, sweeps=options.sweeps, shards=options.shards
    )

    def topics(tokens: TokenTable) -> IntArray:
        with stopwatch(seconds, "chains"):
            compared.append(compare_chains(tokens, chain, prototypes, execution))
        sampler = make_sampler(tokens, chain, replace(execution, seed=compared[0].seed))
        sampler.run(chain.n_sweeps)
        return sampler.assignments()

    return topics


def _note_plan(options: RollingOptions, chunks: tuple[Chunk, ...]) -> None:
    """Say what is about to run, and what is likely to be too little."""
    first, later = chunks[0], chunks[1:]
    tokens = sum(chunk.n_tokens for chunk in chunks)
    K = options.n_topics
    reporting.note(
        f"RollingLDA of {wording.counted(K, 'topic')}: first period {first.start_date} to {first.end_date} "
        f"({wording.counted(first.n, 'document')}), then {wording.counted(len(later), 'chunk')} of "
        f"{parse_span(str(options.chunks), 'chunks')} with a memory of {parse_span(str(options.memory), 'memory')}; alpha "
        f"{K * options.each_alpha / K:.4g} and eta {options.each_eta:.4g} each, {wording.counted(options.sweeps, 'sweep')} a "
        f"chunk over {wording.counted(tokens, 'token')}"
    )
    if first.n_tokens < 100 * K:
        reporting.warn(
            f"the first period has only {wording.counted(first.n_tokens, 'token')} for {wording.counted(K, 'topic')}, and all "
            "later topics come from it; a longer `init` or a smaller `k` may be better"
        )
    lost, kept = sum(chunk.n_discarded for chunk in chunks), sum(chunk.n for chunk in chunks)
    if lost > MANY_DISCARDED * (lost + kept):
        often = "once" if options.vocab_abs == 1 else f"{options.vocab_abs} times"
        reporting.warn(
            f"{wording.count(lost)} of {wording.counted(lost + kept, 'document')} have too few frequent words and "
            f"get no topic. A word must occur more than {often} in a chunk (`vocab_abs`); lower it, or use longer "
            "chunks"
        )


def _note_update(base: RollingRun, dated: DatedCorpus) -> None:
    """Say what is added to what."""
    state, days = base.state, dated.days
    reporting.note(
        f"{base.run.path}: {wording.counted(len(state.ids), 'document')} in {wording.counted(len(state.chunks), 'chunk')} up to "
        f"{state.chunks[-1].end_date}; {wording.counted(len(days), 'document')} of {days.min()} to {days.max()} are added"
    )
