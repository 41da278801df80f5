"""Options of `nlpkit lda-gibbs --rolling` and `--update`: those in force, and those that do not go with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nlpkit.cli.lda_flags import ChainFlags, GuideFlags, PrototypeFlags, RollingFlags
from nlpkit.cli.lda_work import alpha_of, lda_options
from nlpkit.errors import InputError, NlpkitError, UsageError
from nlpkit.topics.lda.changes import ChangeOptions
from nlpkit.topics.lda.chunks import Days, initial_end, parse_span
from nlpkit.topics.lda.rolling_plan import RollingOptions
from nlpkit.workflows.tokens import changed_token_options

if TYPE_CHECKING:
    from nlpkit.cli.options import RunFlags
    from nlpkit.text.options import PreprocessOptions

DEFAULT_INIT = "12 months"
CHUNKS_REMEMBERED, MONTHS_REMEMBERED = 3, 3
_ALLOWED = ("k", "alpha", "alpha_sum", "eta", "sweeps", "shards")
_PRIORS = "a rolling model keeps its priors, so that its chunks can be compared; give --alpha and --eta"
_ENDS = "each chunk of a rolling model ends with the state after --sweeps sweeps"
_WHY_NOT = {
    "optimize": _PRIORS,
    "symmetric": _PRIORS,
    "checkpoint": "a rolling model has no checkpoint; fit it to the older documents first and add others with --update",
    "resume": "a rolling model has no checkpoint; add documents to a finished one with --update",
}
_PRUNES = ("`auto_stop`", "`min_df`", "`max_df`", "`max_vocab`", "`vocab`")
_CORE_NAMES = re.compile(r"\b(memory_fallback|vocab_abs|vocab_rel|vocab_fallback|doc_abs)\b|(?<!-)\binit\b")


def rolling_options(chain: ChainFlags, rolling: RollingFlags, run: RunFlags) -> RollingOptions:
    """Return the options of a new rolling model.

    Raises:
        UsageError: --k is no number, or an option cannot be read or is out of its range.
    """
    assert rolling.rolling is not None
    if not chain.k.isdecimal() or not int(chain.k):
        raise UsageError(
            f"--k {chain.k}: a rolling model has the same topics in all chunks, so their number must be given, such as --k 20; "
            "--k auto without --rolling says what is sensible"
        )
    K = int(chain.k)
    plain = lda_options(chain, run, n_topics=K, many=True)
    for text, role, option in ((rolling.rolling, "chunks", "--rolling"), (rolling.memory, "memory", "--memory")):
        if text is not None:
            try:
                parse_span(text, role)
            except UsageError as error:
                raise UsageError(str(error).replace(role, option, 1)) from None
    with in_options():
        return RollingOptions(
            n_topics=K,
            init=rolling.init or DEFAULT_INIT,
            chunks=rolling.rolling,
            memory=rolling.memory or default_memory(rolling.rolling),
            **{name: getattr(rolling, name) for name in _NUMBERS},
            alpha=alpha_of(chain, K),
            eta=chain.eta,
            sweeps=plain.sweeps,
            shards=chain.shards,
            seed=run.seed,
        )


_NUMBERS = ("memory_fallback", "vocab_abs", "vocab_rel", "vocab_fallback", "doc_abs")


def default_memory(chunks: str) -> str:
    """Return what is remembered where --memory is not given: three chunks, at least three months; three chunks of documents."""
    span = parse_span(chunks, "chunks")
    if span.unit == "document":
        return f"{CHUNKS_REMEMBERED} chunks"
    if span.unit in ("day", "week"):
        days = CHUNKS_REMEMBERED * span.n * (7 if span.unit == "week" else 1)
        return f"{days} days" if days > 31 * MONTHS_REMEMBERED else f"{MONTHS_REMEMBERED} months"
    return str(replace(span, n=CHUNKS_REMEMBERED * span.n))


def change_options(rolling: RollingFlags) -> ChangeOptions:
    """Return the options of the test for changes. Raises UsageError when one is out of its range."""
    if not 0 < rolling.change_level < 1:
        raise UsageError(f"--change-level {rolling.change_level:g}: a number between 0 and 1 is needed, such as 0.01")
    return ChangeOptions(max_span=rolling.change_span, mixture=rolling.change_mixture, level=rolling.change_level)


def refuse_for_rolling(chain: ChainFlags, guide: GuideFlags, tokens: PreprocessOptions | None) -> None:
    """Refuse options that a rolling model would have to ignore.

    Args:
        tokens: how tokens are made.

    Raises:
        UsageError: one was given.
    """
    for name in _changed(chain, ChainFlags()):
        if name not in _ALLOWED:
            why = next((why for part, why in _WHY_NOT.items() if part in name), _ENDS)
            raise UsageError(f"{_flag(name)} does not go with --rolling: {why}")
    for name in _changed(guide, GuideFlags()):
        raise UsageError(
            f"{_flag(name)} does not go with --rolling: topics of a rolling model come from its first period alone, in which all "
            "tokens count alike; leave it out, or fit all documents at once"
        )
    if tokens is not None and (
        tokens.min_df not in (None, 1)
        or tokens.max_df != 1.0
        or tokens.max_vocab
        or tokens.vocab
        or tokens.auto_stop is not None
    ):
        said = [option for option in changed_token_options(tokens) if option in _PRUNES]
        raise UsageError(
            f"{', '.join(said)}: a rolling model chooses its words chunk by chunk, and documents to come cannot decide on them; "
            "use --vocab-abs, --vocab-rel and --vocab-fallback, or make tokens first with nlpkit preprocess"
        )


def refuse_for_update(
    chain: ChainFlags,
    guide: GuideFlags,
    prototype: PrototypeFlags,
    rolling: RollingFlags,
    tokens: PreprocessOptions,
    run: RunFlags,
    made: tuple[RollingOptions, ChangeOptions],
) -> None:
    """Refuse options other than those that the rolling run was made with; the same ones may be given again.

    Args:
        made: what the run was made with.

    Raises:
        UsageError: one is another.
    """
    options, changes = made
    K = options.n_topics
    same: dict[str, Any] = {
        "k": str(K),
        "alpha": options.alpha,
        "alpha_sum": None if options.alpha is None else alpha_sum(options),
        "eta": options.eta,
        "sweeps": options.sweeps,
        "shards": options.shards,
        "rolling": options.chunks,
        "init": options.init,
        "memory": options.memory,
        **{name: getattr(options, name) for name in _NUMBERS},
        "change_mixture": changes.mixture,
        "change_span": changes.max_span,
        "change_level": changes.level,
        "seed": options.seed,
    }
    said = [
        *((name, getattr(chain, name)) for name in _changed(chain, ChainFlags())),
        *((name, getattr(guide, name)) for name in _changed(guide, GuideFlags())),
        *((name, getattr(prototype, name)) for name in _changed(prototype, PrototypeFlags())),
        *((name, getattr(rolling, name)) for name in _changed(rolling, RollingFlags()) if name != "update"),
        *([("seed", run.seed)] if run.seed != type(run)().seed else []),
    ]
    for name, value in said:
        known = same.get(name)
        if value != known:
            was = f"it was made with {known}" if known is not None else "it was made without"
            raise UsageError(
                f"{_flag(name)} {value}: a run that is updated keeps the options it has ({was}); leave it out, or fit all "
                "documents anew with --rolling"
            )
    changed = changed_token_options(tokens)
    if changed:
        raise UsageError(f"{', '.join(changed)}: new documents are cut as those of the run were; leave it out")


def alpha_sum(options: RollingOptions) -> float:
    """Return the sum of the prior over the topics."""
    alpha = 1 / options.n_topics if options.alpha is None else options.alpha
    return float(np.sum(alpha)) if isinstance(alpha, tuple) else options.n_topics * alpha


def check_init(days: Days, options: RollingOptions, *, given: bool) -> None:
    """Refuse a first period that leaves no chunks.

    Args:
        days: of the documents, in any order.
        given: whether --init was given.

    Raises:
        UsageError: --init was not given, and the default leaves none. InputError: no period could, or the given one does not.
    """
    ordered = np.sort(days)
    try:
        with in_options():
            initial_end(ordered, options.init)
    except InputError:
        if given or ordered[0] == ordered[-1]:
            raise
        at = ordered[: np.searchsorted(ordered, ordered[-1])][: max(len(ordered) // 3, 1)][-1]
        raise UsageError(
            f"the documents are dated {ordered[0]} to {ordered[-1]}, and a first period of {options.init}, the default, leaves "
            f"nothing after it; say when it ends, such as --init {at} (a third of the documents)"
        ) from None


@contextmanager
def in_options() -> Iterator[None]:
    """Name the options of the core as those of the command line in errors of the block."""
    try:
        yield
    except NlpkitError as error:
        message = _CORE_NAMES.sub(lambda match: _flag(match[0]), str(error))
        if message == str(error):
            raise
        raise type(error)(message) from None


def _changed(given: Any, default: Any) -> list[str]:
    return [field.name for field in fields(given) if getattr(given, field.name) != getattr(default, field.name)]


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
