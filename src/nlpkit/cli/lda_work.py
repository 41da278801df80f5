"""A corpus for `nlpkit lda-gibbs`, what is known of it beforehand, and a chain over it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.errors import InputError, UsageError
from nlpkit.interrupts import report_checkpoint_on_interrupt
from nlpkit.io.checkpoints import checkpoint_path, read_checkpoint, scores_path, write_checkpoint
from nlpkit.io.corpora import DocumentStream, DroppedRow, InputInfo
from nlpkit.io.footers import step_parameters
from nlpkit.io.lda_tables import read_model
from nlpkit.io.runs import REPRESENTATIVE_CHARS, open_run
from nlpkit.io.seed_words import read_seed_words
from nlpkit.io.topic_tables import TOPIC_COLUMNS
from nlpkit.topics.lda.fit import FitState, LdaFit, LdaOptions, TracePoint, fit_lda
from nlpkit.topics.lda.guide import Guidance, check_weights, fixed_counts, joined, seed_counts
from nlpkit.topics.lda.resume import cannot_go_on, chain_options
from nlpkit.topics.lda.sampler import MAX_TOPICS
from nlpkit.workflows.corpus import no_words, read_corpus, steps
from nlpkit.workflows.counts import CountedCorpus, counted
from nlpkit.workflows.tokens import found_parameters, say_tokens, token_parameters

if TYPE_CHECKING:
    from nlpkit.cli.lda_flags import ChainFlags, GuideFlags
    from nlpkit.cli.options import RunFlags
    from nlpkit.io.read_options import ReadOptions
    from nlpkit.text.options import PreprocessOptions
    from nlpkit.types import FloatArray, LongArray, TokenTable

SWEEPS = 1000
SWEEPS_OF_MANY = 200  # of each of many chains


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents with their tokens, and where they come from.

    rows: id, hash of the text (TEXT_HASH) and the user's own columns, no text; cf, df (V,) of the terms; token_info: how the
    tokens were made, if known; steps: what earlier commands did; texts: gives the texts of some documents by row; left_out:
    gives the terms that were cut from the texts and did not stay, None where that is not known.
    """

    tokens: TokenTable
    rows: pa.Table
    cf: LongArray
    df: LongArray
    token_info: dict[str, Any] | None
    inputs: Sequence[InputInfo]
    dropped: Sequence[DroppedRow]
    steps: list[dict[str, Any]]
    texts: Callable[[Sequence[int]], Mapping[int, str]]
    left_out: Callable[[], Sequence[str]] | None = None

    @property
    def ids(self) -> pa.ChunkedArray:
        """Ids of the documents (D,)."""
        return self.rows.column("id")


@dataclass(slots=True)
class Work:
    """What the steps of a fit share."""

    corpus: Corpus
    guidance: Guidance | None
    weights: FloatArray | None
    chain: ChainFlags
    run: RunFlags
    target: Path
    seconds: dict[str, float]

    @property
    def identity(self) -> dict[str, Any]:
        """What must be the same for a chain to be gone on with, beside its options."""
        tokens, given = self.corpus.tokens, self.guidance
        return {
            "inputs": [[i.sha256, i.rows] for i in self.corpus.inputs],
            "vocabulary": [len(tokens.terms), _digest("\n".join(tokens.terms).encode())],
            "tokens": [len(tokens.term_ids), _digest(tokens.offsets, tokens.term_ids)],
            "given_topics": given and [given.n_fixed, *given.names, _digest(given.term_ids, given.topics)],
            "term_weights": None if self.weights is None else _digest(self.weights),
        }


def _digest(*values: np.ndarray | bytes) -> str:
    """Return 64 bits of a hash, hex."""
    found = hashlib.blake2b(digest_size=8)
    for value in values:
        found.update(value if isinstance(value, bytes) else np.ascontiguousarray(value).data)
    return found.hexdigest()


def lda_options(chain: ChainFlags, run: RunFlags, *, n_topics: int, many: bool = False) -> LdaOptions:
    """Return the options of the core.

    Raises:
        UsageError: options contradict each other, or one is out of its range.
    """
    if chain.alpha is not None and chain.alpha_sum is not None:
        raise UsageError("--alpha is each, --alpha-sum the sum of all; give one of them")
    for name in ("alpha", "alpha_sum", "eta"):
        value = getattr(chain, name)
        if value is not None and not 0 < value < float("inf"):
            raise UsageError(f"--{name.replace('_', '-')} must be above 0, got {value:g}")
    if chain.optimize_eta and not chain.optimize_interval:
        raise UsageError("--optimize-eta needs to know how often: add --optimize-interval 10")
    return LdaOptions(
        n_topics,
        alpha=alpha_of(chain, n_topics),
        eta=chain.eta,
        sweeps=chain.sweeps or (SWEEPS_OF_MANY if many else SWEEPS),
        burn_in=chain.burn_in,
        thin=chain.thin,
        estimate=chain.estimate,
        early_stop=chain.early_stop,
        optimize_interval=chain.optimize_interval,
        optimize_burn_in=chain.optimize_burn_in,
        symmetric_alpha=chain.symmetric_alpha,
        optimize_eta=chain.optimize_eta,
        shards=chain.shards,
        seed=run.seed,
        threads=run.n_threads(),
    )


def exact_topics(chain: ChainFlags) -> int | None:
    """Return the number of topics asked for, None where it is to be chosen (auto, a range).

    Raises:
        UsageError: it is more or less than a model can have.
    """
    if not chain.k.isdecimal():
        return None
    if not 1 <= int(chain.k) <= MAX_TOPICS:
        raise UsageError(f"--k {chain.k}: a model has from 1 to {MAX_TOPICS:,} topics")
    return int(chain.k)


def alpha_of(chain: ChainFlags, n_topics: int) -> float | None:
    """Return alpha of each topic, None for the default."""
    return chain.alpha if chain.alpha_sum is None else chain.alpha_sum / n_topics


def token_corpus(
    stack: ExitStack, inputs: list[str], target: Path, options: PreprocessOptions, read: ReadOptions, run: RunFlags
) -> Corpus:
    """Read documents and their tokens.

    Raises:
        InputError: there is nothing to fit.
    """
    stream = stack.enter_context(read_corpus(*inputs, options=read, beside=target).open())
    words = counted_words(stack, stream, options, target, inputs, run)
    tokens = with_words(words.tokens())
    earlier = steps(stream)
    info = {**token_parameters(options), **found_parameters(words.report)} if words.report is not None else None
    return Corpus(
        tokens=tokens,
        rows=words.rows(["text"]),
        cf=words.cf,
        df=words.df,
        token_info=info or step_parameters(earlier, "preprocess"),
        inputs=stream.inputs,
        dropped=stream.dropped,
        steps=earlier,
        texts=lambda rows: {row: text or "" for row, text in words.values("text", rows).items()},
        left_out=None if words.report is None else words.left_out,
    )


def counted_words(
    stack: ExitStack,
    stream: DocumentStream,
    options: PreprocessOptions,
    target: Path,
    inputs: list[str],
    run: RunFlags,
    own: Sequence[str] = TOPIC_COLUMNS,
    *,
    own_tokens: bool = True,
) -> CountedCorpus:
    """Return the words of documents, with the beginnings of texts and the user's columns.

    Args:
        own: columns that the run makes itself; those of the input are left out with a warning.
        own_tokens: see `counted`.
    """
    for name in own:
        if name in stream.schema.names:
            reporting.warn(f"the column '{name}' of the input is not kept: the run has its own")
    columns = [n for n in stream.schema.names if n not in ("tokens", "embedding", *own)]
    made = counted(
        stream,
        options,
        columns=columns,
        text_chars=REPRESENTATIVE_CHARS,
        hashed=True,
        threads=run.n_threads(),
        own_tokens=own_tokens,
    )
    words = stack.enter_context(made)
    if words.report is not None:
        say_tokens(words.report)
    return words


def with_words(tokens: TokenTable) -> TokenTable:
    """Return the tokens, if there are any.

    Raises:
        InputError: there are none.
    """
    if not len(tokens.term_ids):
        raise no_words(tokens.n_docs, ", so there is nothing to find topics in")
    return tokens


def warn_of_one_text(tokens: TokenTable) -> None:
    """Warn of a corpus in which all documents have the same words: its topics are made of chance."""
    different: set[bytes] = set()
    for begin, end in pairwise(tokens.offsets.tolist()):
        if end > begin:
            different.add(tokens.term_ids[begin:end].tobytes())
        if len(different) == 2:
            return
    reporting.warn(
        f"there is only one different text among {wording.counted(tokens.n_docs, 'document')}: its topics and their scores are made of "
        "chance, since topics are told apart by the documents they are in"
    )


def check_guide(guide: GuideFlags, *, verify: bool) -> None:
    """Refuse guidance that cannot be read, before a corpus is.

    Raises:
        UsageError, InputError, SchemaError: see the readers.
    """
    check_weights(guide.term_weights)
    if guide.seed_words is not None:
        read_seed_words(guide.seed_words)
    if guide.fixed_topics is not None:
        open_run(guide.fixed_topics, ["lda-gibbs"], verify=verify)


def guidance_of(guide: GuideFlags, corpus: Corpus, *, verify: bool) -> Guidance | None:
    """Return seed words and fixed topics as pseudo-counts, fixed topics first."""
    fixed, seeded = None, None
    if guide.fixed_topics is not None:
        run = open_run(guide.fixed_topics, ["lda-gibbs"], verify=verify)
        names = run.table("topics", ["label"]).column("label").to_pylist()
        fixed = fixed_counts(read_model(run), corpus.tokens.terms, names)
    if guide.seed_words is not None:
        seeds = read_seed_words(guide.seed_words)
        seeded = seed_counts(seeds, corpus.tokens.terms, corpus.cf, first=0 if fixed is None else fixed.n_fixed)
        if seeded.missing:
            reporting.warn(f"seed words that are no terms of the corpus: {', '.join(seeded.missing[:10])}")
    return joined(fixed, seeded)


def run_chain(work: Work, options: LdaOptions, *, keep: bool = True) -> LdaFit:
    """Run the chain, from its checkpoint where one is to be gone on with.

    Args:
        work, options: what is fitted, and how.
        keep: save it at intervals, at Ctrl-C and at signals that end the process.

    Raises:
        InputError: the checkpoint is of another chain.
    """
    path = checkpoint_path(work.target)
    identity = {**work.identity, **chain_options(options)}
    state = None
    if work.chain.resume and path.exists():
        state = read_checkpoint(path, identity)
        problem = cannot_go_on(state, options)
        if problem is not None:
            raise InputError(
                f"checkpoint {path}: {problem}; give --sweeps as then, or --force without --resume, which drops it"
            )
        reporting.note(f"going on from {path} after {wording.counted(state.sweep, 'sweep')}")
    elif work.chain.resume and not scores_path(work.target).exists():  # else --k auto has said what is there
        reporting.warn(f"there is no checkpoint {path}: starting anew", always=True)
    elif not work.chain.resume:
        path.unlink(missing_ok=True)  # there is one with --force alone

    def save(now: FitState) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_checkpoint(path, now, identity)

    last: list[TracePoint] = []
    with reporting.progress("sweeps", options.sweeps) as update:

        def step(sweep: int, point: TracePoint | None) -> None:
            if point is not None:
                last[:] = [point]
            update(sweep, f"sweeps (log p {last[0].log_likelihood:.4f} a token)" if last else "sweeps")

        with report_checkpoint_on_interrupt("chain", path):
            return fit_lda(
                work.corpus.tokens,
                options,
                guidance=work.guidance,
                weights=work.weights,
                resume=state,
                save=save if keep else None,
                save_every=work.chain.checkpoint_every,
                progress=step,
            )
