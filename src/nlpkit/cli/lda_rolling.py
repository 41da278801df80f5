"""`nlpkit lda-gibbs --rolling` and `--update`: a model chunk after chunk, its run directory, and chunks added to it later."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting
from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.lda_prototype import Compared, choose_chain
from nlpkit.cli.lda_rolling_corpus import Base, Dated, added, cut_as, modelled, open_base, read_dated
from nlpkit.cli.lda_rolling_options import (
    alpha_sum,
    change_options,
    check_init,
    in_options,
    refuse_for_rolling,
    refuse_for_update,
    rolling_options,
)
from nlpkit.cli.lda_rolling_show import say_longer, say_plan, say_renumbered, show_json, show_rolling
from nlpkit.cli.lda_work import Corpus, Work, lda_options
from nlpkit.cli.lda_write import Results, Written, write_lda
from nlpkit.io.rolling_tables import (
    changes_table,
    chunks_table,
    plain_columns,
    shares_table,
    state_tables,
    text_candidates,
)
from nlpkit.io.runs import stopwatch
from nlpkit.topics.lda.changes import ChangeOptions, detect_changes
from nlpkit.topics.lda.chunks import Chunk
from nlpkit.topics.lda.fit import LdaFit, fit_state, make_sampler
from nlpkit.topics.lda.rolling import First, fit_rolling, update_rolling
from nlpkit.topics.lda.rolling_plan import RollingOptions, RollingState, plan_rolling
from nlpkit.topics.lda.sampler import GibbsSampler
from nlpkit.topics.lda.shares import (
    doc_topic_counts,
    document_shares,
    similarity_to_past,
    token_shares,
    topic_term_by_chunk,
)
from nlpkit.types import BoolArray, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.workflows.corpus import warn_dropped
from nlpkit.workflows.token_options import preprocess_options
from nlpkit.workflows.tokens import refuse_token_options

if TYPE_CHECKING:
    from nlpkit.cli.lda_flags import ChainFlags, ExtraFlags, GuideFlags, PrototypeFlags, RollingFlags
    from nlpkit.cli.options import OutputFlags, RunFlags
    from nlpkit.io.corpora import DocumentStream
    from nlpkit.io.read_options import ReadOptions
    from nlpkit.text.options import PreprocessOptions, TopicTokenOptions


@dataclass(frozen=True, slots=True)
class Rolled:
    """A rolling model and its documents. places (D,): row in the state of each document of the corpus."""

    state: RollingState
    corpus: Corpus
    places: LongArray
    changes: ChangeOptions
    compared: Compared | None = None
    base: Base | None = None


def roll(
    inputs: list[str],
    out: OutputFlags,
    chain: ChainFlags,
    guide: GuideFlags,
    prototype: PrototypeFlags,
    rolling: RollingFlags,
    extra: ExtraFlags,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit a rolling model, or add documents to one, and write its run. Raises InputError and UsageError as its steps do."""
    target = out.run_target(inputs, "lda")
    token_options = preprocess_options(tokens)
    base: Base | None = None
    if rolling.update is not None:
        base = open_base(rolling.update, verify=run.verify)
        options, changes = base.state.options, base.changes
        refuse_for_update(chain, guide, prototype, rolling, token_options, run, (options, changes))
        run = replace(run, seed=options.seed)
    else:
        options, changes = rolling_options(chain, rolling, run), change_options(rolling)
        refuse_for_rolling(chain, guide, token_options)
    if run.dry_run:
        dry_run(inputs, read, sweeps=options.sweeps)
        return

    def options_for(stream: DocumentStream) -> PreprocessOptions | None:
        if base is not None:
            return cut_as(base, stream, inputs)
        if "tokens" in stream.schema.names:
            refuse_token_options(token_options, ", ".join(inputs))
            return None
        # rare words are needed too: a chunk counts them for the thresholds
        return replace(token_options, min_df=1)

    seconds: dict[str, float] = {}
    with ExitStack() as stack:
        with stopwatch(seconds, "read"):
            dated = read_dated(stack, inputs, target, options_for, read, run)
        work = Work(dated.corpus, None, None, chain, run, target, seconds)
        if base is not None:
            rolled = _longer(work, base, dated)
        else:
            check_init(dated.days, options, given=rolling.init is not None)
            rolled = _anew(work, dated, options, changes, prototype)
        work.corpus, z = modelled(rolled.corpus, rolled.state, rolled.places)
        written, found = _write(work, rolled, z, extra, force=out.force)
    warn_dropped(dated.corpus, target / "dropped.parquet")
    if run.json:
        show_json(target, written)
        return
    if rolled.compared is not None:
        rolled.compared.show()
    show_rolling(target, written, found, changes, seconds)
    if base is not None:
        say_renumbered(base, found)


def _anew(
    work: Work, dated: Dated, options: RollingOptions, changes: ChangeOptions, prototype: PrototypeFlags
) -> Rolled:
    tokens, days, ids = dated.corpus.tokens, dated.days, dated.ids
    with in_options():
        chunks, _ = plan_rolling(tokens, days, ids, options)
    say_plan(options, chunks)
    compared: list[Compared] = []
    with _Watch(len(days), options.sweeps) as watch, stopwatch(work.seconds, "sampling"), in_options():
        fit = fit_rolling(
            tokens,
            days,
            ids,
            options,
            first=_first(work, options, prototype, compared) if prototype.prototype is not None else None,
            sampler=watch.sampler,
            threads=work.run.n_threads(),
            on_chunk=watch.on_chunk,
        )
    return Rolled(fit.state, dated.corpus, fit.rows, changes, compared[0] if compared else None)


def _longer(work: Work, base: Base, dated: Dated) -> Rolled:
    old = base.state
    say_longer(base.run.path, old, dated.days)
    begin, stop = old.rows(old.chunks[-1])  # its documents are sampled anew
    with (
        _Watch(len(dated.days) + stop - begin, old.options.sweeps) as watch,
        stopwatch(work.seconds, "sampling"),
        in_options(),
    ):
        fit = update_rolling(
            old,
            dated.corpus.tokens,
            dated.days,
            dated.ids,
            sampler=watch.sampler,
            threads=work.run.n_threads(),
            on_chunk=watch.on_chunk,
        )
    corpus = added(base, dated)
    row = {name: place for place, name in enumerate(fit.state.ids)}
    places = np.array([row[name] for name in corpus.ids.to_pylist()], np.int64)
    return Rolled(fit.state, corpus, places, base.changes, base=base)


def _first(work: Work, options: RollingOptions, prototype: PrototypeFlags, compared: list[Compared]) -> First:
    """Return what gives the tokens of the initial period their topics: the prototype of many chains."""
    plain = replace(lda_options(work.chain, work.run, n_topics=options.n_topics, many=True), seed=options.seed)

    def topics(tokens: TokenTable) -> IntArray:
        initial = replace(work, corpus=replace(work.corpus, tokens=tokens))
        compared.append(choose_chain(initial, plain, prototype))
        sampler = make_sampler(tokens, replace(plain, seed=compared[0].seed), None, None)
        sampler.run(plain.sweeps)
        return sampler.assignments()

    return topics


def _write(work: Work, rolled: Rolled, z: IntArray, extra: ExtraFlags, *, force: bool) -> tuple[Written, LdaFit]:
    """Write the run; the tables of time beside those of any model."""
    state, options, base = rolled.state, rolled.state.options, rolled.base
    K = options.n_topics
    alpha: FloatArray = np.broadcast_to(1 / K if options.alpha is None else options.alpha, (K,)).astype(np.float64)
    eta = 1 / K if options.eta is None else options.eta
    found = fit_state(work.corpus.tokens, z, alpha, eta)
    found = replace(found, sweeps=options.sweeps, trace=())
    more = Results()
    with stopwatch(work.seconds, "changes"):
        _add_tables(more, rolled, found, alpha, eta, threads=work.run.n_threads())
    with stopwatch(work.seconds, "description"):
        candidates = text_candidates(state, rolled.places, found.doc_topic, alpha)
        texts = work.corpus.texts(candidates)
        more.model_tables |= state_tables(state, rolled.places, texts)
    more.topic_columns["chain_topic"] = pa.array(found.order, pa.int32())
    more.config = {"rolling": True, "rolling_options": asdict(options), "change_options": asdict(rolled.changes)}
    if rolled.compared is not None:
        rolled.compared.add_to(more, found)
    elif base is not None:
        _carry_prototype(base, more, found)
    parameters = {
        **{k: v for k, v in asdict(options).items() if k != "seed"},
        "alpha": alpha_sum(options) / K,
        "eta": eta,
        "changes": asdict(rolled.changes),
    }
    return write_lda(work, found, extra, parameters, more, force=force), found


def _add_tables(more: Results, rolled: Rolled, found: LdaFit, alpha: FloatArray, eta: float, *, threads: int) -> None:
    """Add chunks, shares of topics over time and changes."""
    state, chunks = rolled.state, rolled.state.chunks
    counts = topic_term_by_chunk(state)
    shares = shares_table(
        chunks,
        token_shares(counts),
        document_shares(doc_topic_counts(state), state.chunk_of().astype(np.int64), len(chunks), alpha),
        similarity_to_past(counts, "previous"),
        similarity_to_past(counts, "past"),
        found.order,
    )
    changes = detect_changes(
        counts, [c.n_vocab for c in chunks], eta=eta, seed=state.options.seed, options=rolled.changes, threads=threads
    )
    more.tables |= {
        "chunks": chunks_table(chunks),
        "topic_shares": shares,
        "changes": changes_table(chunks, changes, counts, state.terms, found.order),
    }
    more.results |= {
        "chunks": len(chunks),
        "chunks_without_documents": sum(not c.n for c in chunks),
        "discarded": sum(c.n_discarded for c in chunks),
        "changes": len(changes.found),
        "tests": int(np.count_nonzero(changes.span)),
    }


def _carry_prototype(base: Base, more: Results, found: LdaFit) -> None:
    """Add what a run that is updated says of the chains of its first period, under the numbers that topics have now."""
    old = base.run
    if "prototype" not in old.manifest["parameters"]:
        return
    more.parameters |= {name: old.manifest["parameters"][name] for name in ("prototype", "similarity")}
    kept = ("prototype_run", "mean_sclop", "mean_sclop_of_runs", "agreement")
    more.results |= {name: old.manifest["results"][name] for name in kept}
    more.results["chain_topics"] = [int(k) for k in found.order]
    names = [name for name in ("prototype", "topic_similarity") if (old.path / f"{name}.parquet").exists()]
    more.tables |= {name: plain_columns(old.table(name)) for name in names}
    place = {k: number for number, k in enumerate(base.chain_topics)}
    was = np.array([place[int(k)] for k in found.order])  # number that each topic had
    matched = plain_columns(old.table("matched_topics"))
    now = np.argsort(was)[matched.column("topic").to_numpy()]
    renumbered = matched.set_column(0, "topic", pa.array(now, pa.int32()))
    more.tables["matched_topics"] = renumbered.take(pa.array(np.argsort(now, kind="stable")))
    agreement = old.table("topics", ["agreement"]).column("agreement")
    more.topic_columns["agreement"] = agreement.combine_chunks().take(pa.array(was))


class _Watch:
    """Makes samplers that tell how many documents are done; the bar begins with the first of them."""

    def __init__(self, documents: int, sweeps: int) -> None:
        self._total, self._sweeps = documents, sweeps
        self._stack = ExitStack()
        self._update: reporting.Update | None = None
        self._done, self._now = 0, 0

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def sampler(self, tokens: TokenTable, *, frozen: BoolArray, **how: Any) -> _Watched:
        """Make a sampler."""
        self._now = int(np.count_nonzero(~frozen))
        return _Watched(self, GibbsSampler(tokens, frozen=frozen, **how))

    def on_chunk(self, chunk: Chunk) -> None:
        """Take note of a chunk that is done."""
        self._done += chunk.n + chunk.n_discarded

    def swept(self, sweep: int) -> None:
        """Take note of a sweep of the chunk at hand."""
        if self._update is None:
            self._update = self._stack.enter_context(reporting.progress("documents", self._total))
        self._update(self._done + self._now * sweep // self._sweeps)


class _Watched:
    """A sampler that sweeps once at a time, so that Ctrl-C need not wait for all sweeps of a chunk."""

    def __init__(self, watch: _Watch, sampler: GibbsSampler) -> None:
        self._watch, self._sampler = watch, sampler

    def run(self, sweeps: int) -> None:
        """Draw every token's topic `sweeps` times."""
        for sweep in range(1, sweeps + 1):
            self._sampler.run(1)
            self._watch.swept(sweep)

    def assignments(self) -> IntArray:
        """Return the topic of each token (N,)."""
        return self._sampler.assignments()
