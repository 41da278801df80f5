"""The corpus in which the words of topics are counted: that of the fit, or another; read batch by batch."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.options import EvaluationOptions
from nlpkit.metrics.score import Uncertainty
from nlpkit.metrics.topics.coherence import absent_words, measure
from nlpkit.metrics.topics.topics import Places, ReferenceStats, TopicSet, WindowCountsByMeasure
from nlpkit.metrics.topics.window_counts import PairPlan, WindowCounter, WindowCounts, Windows, plan_pairs
from nlpkit.platform import reporting
from nlpkit.platform.documents.arrays import token_ids
from nlpkit.platform.documents.corpus import Corpus, as_corpus, no_documents, read_corpus, warn_dropped
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.parallel import ahead
from nlpkit.platform.runs.reading import corpus_of, read_as_then
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import IntArray, LongArray, TokenTable
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.settings import options_from
from nlpkit.text.tokens import cut_as_model
from nlpkit.weights.counts import count_corpus

GROUPS = 200  # of documents, for a bootstrap over them
PRUNED = ("min_df", "max_df", "min_cf", "max_cf", "max_vocab", "auto_stop")
EncodedBatch = tuple[pa.RecordBatch, LongArray, IntArray, Sequence[str]]  # offsets, term ids, the terms known so far


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """How targets are scored.

    names: metrics to make at least; only: whether they are all that is wanted; uncertainty: of the intervals; reference: the corpus
    to count words in, None for that of the fit; heldout: documents that no fit has seen; read: how files are read.
    """

    options: EvaluationOptions
    names: tuple[str, ...]
    only: bool
    uncertainty: Uncertainty
    reference: Corpus | None
    heldout: Corpus | None
    read: ReadOptions
    threads: int


@dataclass(frozen=True, slots=True)
class TopicTarget(TopicSet):
    """Topics to score, with the run that they come from; None for those of files and lists.

    corpus: the documents that a model in memory was fitted to; those of a run are found by what it says of its inputs.
    """

    run: Run | None = None
    corpus: Corpus | None = None

    @property
    def token_info(self) -> dict[str, Any] | None:
        """How the words of the run were made, None for files and runs on given tokens."""
        return None if self.run is None else self.run.manifest["parameters"].get("tokens")


@dataclass(frozen=True, slots=True)
class Reference:
    """Where words are counted, and how raw texts are cut (None: all words, as they come).

    key: two references of one key are the same documents, cut alike.
    """

    corpus: Corpus = field(compare=False)
    key: tuple[Any, ...]
    cut: str | None  # how the run cut its texts, as JSON: two runs that did it alike share the reference
    of_fit: bool  # the corpus of the fit
    limit: int | None = None  # documents of the fit, which may be the first of a file
    lower: bool = True
    longest: int = 1  # words of the longest term, for n-grams
    whole: frozenset[str] = frozenset()  # words of the topics with an apostrophe, which count as they are

    def options(self) -> PreprocessOptions:
        """Return how raw texts are cut into words. Raises InputError when it is not known how the run did it."""
        if self.cut is not None:
            info = json.loads(self.cut)
            options = options_from(info, "the run to evaluate")
            # the words of the fit, with the windows they had there, whether its input had tokens or texts
            pruned = {name: info[name] for name in PRUNED if self.of_fit and info.get(name) is not None}
            return replace(options, whole_words=self.whole, **pruned)
        return PreprocessOptions(
            stop_words="none",
            lower=self.lower,
            min_df=1,
            min_length=1,
            ngrams=(1, self.longest),
            whole_words=self.whole,
        )

    def described(self) -> str:
        """Return the files for a message."""
        return ", ".join(self.corpus.inputs) or "the reference"


def as_reference(data: Any, read: ReadOptions) -> Corpus | None:
    """Return documents to count words in as a corpus: a path, texts, a data frame or a Corpus; None for None."""
    if data is None:
        return None
    return read_corpus(data, options=read) if isinstance(data, str | Path) else as_corpus(data)


def reference_of(
    target: TopicTarget, named: Corpus | None, read: ReadOptions, others: Sequence[TopicTarget] = ()
) -> Reference | None:
    """Return the reference of a target: the corpus that was named, else that of its fit; None when there is none.

    Topics in files that come with runs of one corpus are scored on it.

    Raises:
        InputError: the files of the fit are gone or have changed.
    """
    run = target.run
    words = [word for topic in target.topics for word in topic]
    corpus = named or Corpus()
    whole = frozenset(part.lower() for word in words for part in re.split("[ _]", word) if "'" in part)
    reference = Reference(corpus, (corpus.inputs, id(corpus.memory)), None, of_fit=False, whole=whole)
    if target.token_info is not None:
        reference = replace(reference, cut=json.dumps(target.token_info, sort_keys=True))
    elif run is None:
        lower, longest = all(w == w.lower() for w in words), max((w.count(" ") + 1 for w in words), default=1)
        reference = replace(reference, lower=lower, longest=longest)
    if named is not None:
        cuts = {json.dumps(o.token_info, sort_keys=True) for o in others if o.token_info is not None}
        if run is None and len(cuts) == 1:
            reference = replace(reference, cut=cuts.pop())  # as the run beside it, so that they can be compared
        return reference
    if run is None:
        of_others = [reference_of(other, None, read) for other in others if other.run is not None]
        of_runs = {other and replace(other, whole=whole) for other in of_others}
        return of_runs.pop() if len(of_runs) == 1 else None
    if target.corpus is not None:
        key = (target.corpus.inputs, id(target.corpus.memory))
        limit = run.manifest["results"].get("documents")
        return replace(reference, corpus=target.corpus, key=key, of_fit=True, limit=limit)
    if run.manifest["parameters"].get("from_mallet") is not None:
        return None  # made from the state of a chain, which is no corpus
    try:
        inputs, as_then = corpus_of(run), read_as_then(run, read)
    except InputError as error:
        raise InputError(f"{error}, or give the corpus to count in: `reference=DOCS`") from None
    if not inputs:
        return None
    return replace(
        reference,
        corpus=read_corpus(*inputs, options=as_then),
        key=(tuple(inputs), json.dumps(run.manifest["inputs"][0].get("reading"), sort_keys=True)),
        of_fit=True,
        limit=run.manifest["results"].get("documents"),
    )


def need_reference(target: TopicTarget, metric: str) -> UsageError:
    """Return the error for a score that needs a corpus where none is known."""
    return UsageError(f"{metric} of {target.name} needs a corpus to count words in; give one: `reference=DOCS`")


@contextmanager
def encoded(
    reference: Reference, threads: int, columns: Sequence[str] = ()
) -> Iterator[tuple[Callable[[], ReferenceStats], Iterator[EncodedBatch]]]:
    """Yield the documents of a reference: batch, offsets (D_b+1,), term ids (N_b,), and the terms known so far in id order.

    Beside them a function that tells, at the end, what was read.
    """
    limits = [n for n in (reference.corpus.options.limit, reference.limit) if n is not None]
    corpus = reference.corpus.with_options(columns=("tokens", *columns), limit=min(limits, default=None))
    with corpus.open() as stream:
        n_docs = n_tokens = 0
        has_tokens = "tokens" in stream.schema.names
        if has_tokens and reference.cut is not None and not reference.of_fit:
            settings = json.loads(reference.cut)
            has_tokens = cut_as_model(stream, settings, "the run to evaluate", bounds=False) is None
        origin = "cut as those of the run" if reference.cut else "words as they come"
        origin = "of the column tokens" if has_tokens else origin

        def stats() -> ReferenceStats:
            return ReferenceStats(tuple(stream.inputs), n_docs, n_tokens, origin)

        def counting(batches: Iterator[EncodedBatch]) -> Iterator[EncodedBatch]:
            nonlocal n_docs, n_tokens
            with reporting.progress("reference", None) as update:
                for item in batches:
                    n_docs += item[0].num_rows
                    n_tokens += len(item[2])
                    yield item
                    update(n_docs)
            if not n_docs:
                raise no_documents(stream)

        if has_tokens:
            yield stats, counting(_of_column(stream))
        else:
            with count_corpus(
                stream,
                reference.options(),
                columns=[n for n in columns if n in stream.schema.names],
                threads=threads,
                own_tokens=False,
            ) as counts:
                terms = counts.terms
                yield stats, counting((b, e.offsets, e.term_ids, terms) for b, e in counts.encoded())
        warn_dropped(stream, None)


def _of_column(stream: Any) -> Iterator[EncodedBatch]:
    known: dict[str, int] = {}
    terms: list[str] = []
    for batch in ahead(stream):
        offsets, ids = token_ids(batch.column("tokens"), known)
        if len(known) > len(terms):
            terms = list(known)
        yield batch, offsets, ids, terms


def token_table(
    reference: Reference, threads: int, columns: Sequence[str] = ()
) -> tuple[pa.Table, TokenTable, ReferenceStats]:
    """Return id and other columns of a reference, and all its tokens in memory; for held-out documents."""
    offsets, ids, rows, at = [np.zeros(1, np.int64)], [], [], 0
    terms: Sequence[str] = ()
    with encoded(reference, threads, columns) as (stats, batches):
        for batch, ends, term_ids, known in batches:
            terms = known
            offsets.append(at + ends[1:])
            ids.append(term_ids)
            at += int(ends[-1])
            rows.append(batch.select([n for n in ("id", *columns) if n in batch.schema.names]))
        what = stats()
    table = pa.Table.from_batches(rows)
    return table, TokenTable(np.concatenate(offsets), np.concatenate(ids), tuple(terms)), what


def count_windows(
    reference: Reference, counters: Sequence[tuple[PairPlan, WindowCounter]], *, threads: int
) -> tuple[list[WindowCounts], ReferenceStats]:
    """Return what each counter has counted in a reference, in one pass over it, and what the reference was."""
    places: dict[tuple[str, ...], Places] = {}
    with encoded(reference, threads) as (stats, batches):
        for _, offsets, ids, terms in batches:
            translated: dict[tuple[str, ...], tuple[LongArray, IntArray]] = {}
            for plan, counter in counters:
                words = plan.words
                if words not in translated:
                    translated[words] = places.setdefault(words, Places(words)).translate(offsets, ids, terms)
                counter.add(*translated[words])
        what = stats()
    return [counter.result() for _, counter in counters], what


def count_references(
    targets: Sequence[TopicTarget], names: Sequence[str], settings: EvaluationSettings
) -> list[WindowCountsByMeasure | None]:
    """Count the words of all targets in their references; each reference is read once.

    A target without a reference gets None, unless the scores were asked for.

    Args:
        names: of the coherence measures.

    Raises:
        UsageError: a target has no reference; InputError: a reference cannot be used or holds none of the words.
    """
    options = settings.options
    groups = GROUPS if options.ci_over == "documents" and options.ci else 1
    measures = {name: measure(name, window=options.window_size(), compat=options.compat) for name in names}
    references: dict[Reference, list[int]] = {}
    for i, target in enumerate(targets):
        try:
            reference = reference_of(target, settings.reference, settings.read, targets)
        except InputError as error:
            if settings.only:
                raise
            reporting.warn(f"no coherence of {target.name}: {error}")
            continue
        if reference is not None:
            references.setdefault(reference, []).append(i)
        elif settings.only:
            raise need_reference(target, ", ".join(names))
    out: list[WindowCountsByMeasure | None] = [None] * len(targets)
    for reference, members in references.items():
        counters: dict[tuple[int, Windows, bool], tuple[PairPlan, WindowCounter]] = {}
        for i in members:
            words = [topic[: options.depths()[-1]] for topic in targets[i].topics]
            plans: dict[bool, PairPlan] = {}
            for definition in measures.values():
                if definition.all_pairs not in plans:
                    plans[definition.all_pairs] = plan_pairs(words, all_pairs=definition.all_pairs)
                plan = plans[definition.all_pairs]
                counter = WindowCounter(plan, definition.windows, groups=groups, threads=settings.threads)
                counters.setdefault((i, definition.windows, definition.all_pairs), (plan, counter))
        counts, stats = count_windows(reference, list(counters.values()), threads=settings.threads)
        by_windows = dict(zip(counters, counts, strict=True))
        for i in members:
            of_target = {name: by_windows[i, d.windows, d.all_pairs] for name, d in measures.items()}
            some = next(iter(of_target.values()))
            if len(absent_words(some)) == len(some.plan.words):
                raise InputError(
                    f"none of the {len(some.plan.words):,} words of {targets[i].name} is in the reference "
                    f"{reference.described()} ({stats.n_docs:,} documents, {stats.n_tokens:,} tokens); check its "
                    "language and tokenisation, or give another with `reference`"
                )
            out[i] = WindowCountsByMeasure(of_target, stats)
    return out
