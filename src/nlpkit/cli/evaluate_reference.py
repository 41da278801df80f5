"""The corpus that topics are held against: that of the fit, or another; its words as they come, batch by batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting
from nlpkit.cli.evaluate_targets import TopicTarget
from nlpkit.errors import InputError, UsageError
from nlpkit.io.corpora import InputInfo, open_documents
from nlpkit.io.documents import token_ids
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.run_reading import corpus_of
from nlpkit.metrics.windows import PairPlan, WindowCounter, WindowCounts
from nlpkit.parallel import ahead
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.token_settings import options_from
from nlpkit.types import IntArray, LongArray, TokenTable
from nlpkit.workflows.corpus import no_documents, warn_dropped
from nlpkit.workflows.counts import counted
from nlpkit.workflows.tokens import cut_as_model

GROUPS = 200  # of documents, for a bootstrap over them
PRUNED = ("min_df", "max_df", "min_cf", "max_cf", "max_vocab", "auto_stop")


@dataclass(frozen=True, slots=True)
class Reference:
    """Where words are counted: files, and how raw texts are cut (None: all words, as they come)."""

    inputs: tuple[str, ...]
    cut: str | None  # how the run cut its texts, as JSON: two runs that did it alike share the reference
    own: bool  # the corpus of the fit
    limit: int | None = None  # documents of the fit, which may be the first of a file
    lower: bool = True
    longest: int = 1  # words of the longest term, for n-grams

    def options(self) -> PreprocessOptions:
        """Return how raw texts are cut into words. Raises InputError when it is not known how the run did it."""
        if self.cut is not None:
            info = json.loads(self.cut)
            options = options_from(info, "the run to evaluate")
            # the words of the fit, with the windows they had there, whether its input had tokens or texts
            pruned = {name: info[name] for name in PRUNED if self.own and info.get(name) is not None}
            return replace(options, **pruned)
        return PreprocessOptions(
            stop_words="none", lower=self.lower, min_df=1, min_length=1, ngrams=(1, self.longest), language="none"
        )

    def described(self) -> str:
        """Return the files for a message."""
        return ", ".join(self.inputs)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a reference was: its files with their hashes, documents, tokens, and whether it had tokens already."""

    inputs: tuple[InputInfo, ...]
    n_docs: int
    n_tokens: int
    tokens: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that go into JSON."""
        files = [{"path": i.path, "rows": i.rows, "sha256": i.sha256} for i in self.inputs]
        return {"inputs": files, "documents": self.n_docs, "n_tokens": self.n_tokens, "tokens": self.tokens}


def reference_of(
    target: TopicTarget, given: Sequence[str] | None, others: Sequence[TopicTarget] = ()
) -> Reference | None:
    """Return the reference of a target: the files given, else those of its fit; None when there is none to be had.

    Topics in files that come with runs of one corpus are held against it.

    Raises:
        InputError: the files of the fit are gone or have changed.
    """
    run = target.run
    words = [word for topic in target.topics for word in topic]
    plain = Reference(tuple(given or ()), None, own=False)
    if target.token_info is not None:
        plain = replace(plain, cut=json.dumps(target.token_info, sort_keys=True))
    elif run is None:
        lower, longest = all(w == w.lower() for w in words), max((w.count(" ") + 1 for w in words), default=1)
        plain = replace(plain, lower=lower, longest=longest)
    if given:
        cuts = {json.dumps(o.token_info, sort_keys=True) for o in others if o.token_info is not None}
        if run is None and len(cuts) == 1:
            plain = replace(plain, cut=cuts.pop())  # as the run beside it, so that they can be compared
        return plain
    if run is None:
        found = {reference_of(other, None) for other in others if other.run is not None}
        return found.pop() if len(found) == 1 else None
    if run.manifest["parameters"].get("from_mallet") is not None:
        return None  # made from the state of a chain, which is no corpus
    try:
        inputs = corpus_of(run)
    except InputError as error:
        raise InputError(f"{error}; give the corpus to count in: --reference DOCS") from None
    if not inputs:
        return None
    return replace(plain, inputs=tuple(inputs), own=True, limit=run.manifest["results"].get("documents"))


@contextmanager
def encoded(
    reference: Reference, read: ReadOptions, threads: int, columns: Sequence[str] = ()
) -> Iterator[tuple[Callable[[], Seen], Iterator[tuple[pa.RecordBatch, LongArray, IntArray, Sequence[str]]]]]:
    """Yield the documents of a reference: batch, offsets (D_b+1,), term ids (N_b,), and the terms known so far in id order.

    Beside them a function that tells, at the end, what was read.
    """
    inputs = list(reference.inputs)
    limits = [n for n in (read.limit, reference.limit) if n is not None]
    options = replace(read, columns=("tokens", *columns), limit=min(limits, default=None))
    with open_documents(inputs, options) as stream:
        size = [0, 0]
        has_tokens = "tokens" in stream.schema.names
        if has_tokens and reference.cut is not None and not reference.own:
            settings = json.loads(reference.cut)
            has_tokens = cut_as_model(stream, settings, "the run to evaluate", bounds=False) is None
        how = (
            "of the column tokens"
            if has_tokens
            else "cut as those of the run"
            if reference.cut
            else "words as they come"
        )

        def seen() -> Seen:
            return Seen(tuple(stream.inputs), size[0], size[1], how)

        def counting(
            batches: Iterator[tuple[pa.RecordBatch, LongArray, IntArray, Sequence[str]]],
        ) -> Iterator[tuple[pa.RecordBatch, LongArray, IntArray, Sequence[str]]]:
            with reporting.progress("reference", None) as update:
                for item in batches:
                    size[0] += item[0].num_rows
                    size[1] += len(item[2])
                    yield item
                    update(size[0])
            if not size[0]:
                raise no_documents(stream)

        if has_tokens:
            yield seen, counting(_given(stream))
        else:
            with counted(stream, reference.options(), columns=columns, threads=threads, own_tokens=False) as corpus:
                terms = corpus.terms
                yield seen, counting((b, e.offsets, e.term_ids, terms) for b, e in corpus.encoded())
        warn_dropped(stream, None)


def _given(stream: Any) -> Iterator[tuple[pa.RecordBatch, LongArray, IntArray, Sequence[str]]]:
    known: dict[str, int] = {}
    terms: list[str] = []
    for batch in ahead(stream):
        offsets, ids = token_ids(batch.column("tokens"), known)
        if len(known) > len(terms):
            terms = list(known)
        yield batch, offsets, ids, terms


class Places:
    """Translates the growing term ids of a corpus into those of a list of words, -1 for words that are not in it.

    The n-grams of a corpus stand behind the words of their document, where no window holds them: they are left out, and those
    of the list are put behind the last of their words.
    """

    def __init__(self, words: Sequence[str]) -> None:
        grams = {tuple(word.split(" ")): i for i, word in enumerate(words) if " " in word}
        parts = {part: i for i, part in enumerate(sorted({part for gram in grams for part in gram}))}
        self._numbers = ({word: i for i, word in enumerate(words) if " " not in word}, parts)
        self._grams = {tuple(parts[part] for part in gram): i for gram, i in grams.items()}
        self._places = np.zeros((3, 0), np.int32)  # of a term: among the words, among parts of n-grams; 1 for an n-gram

    def of(self, offsets: LongArray, ids: IntArray, terms: Sequence[str]) -> tuple[LongArray, IntArray]:
        """Return offsets (D_b+1,) and the place of each token (N,), int32."""
        known = self._places.shape[1]
        if len(terms) > known:
            new = [[number.get(term, -1) for term in terms[known:]] for number in self._numbers]
            grams = [int(" " in term) for term in terms[known:]]
            self._places = np.concatenate([self._places, np.array([*new, grams], np.int32)], axis=1)
        if not self._grams and not self._places[2].any():
            return offsets, self._places[0][ids]
        words = self._places[2][ids] == 0
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(words)])
        return insert_ngrams(before[offsets], self._places[0][ids[words]], self._places[1][ids[words]], self._grams)


def insert_ngrams(
    offsets: LongArray, places: IntArray, parts: IntArray, grams: Mapping[tuple[int, ...], int]
) -> tuple[LongArray, IntArray]:
    """Return documents with n-grams put behind the last of their words: offsets (D+1,), places (N + inserted,) int32.

    Args:
        offsets, places: (D+1,), (N,) of the documents.
        parts: (N,) number of each token among the words of n-grams, -1 for others.
        grams: place of each n-gram, by the numbers of its words.
    """
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    base = int(parts.max(initial=0)) + 1
    ends, found = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    for n in sorted({len(gram) for gram in grams}):
        known = {
            sum(part * base ** (n - 1 - j) for j, part in enumerate(g)): i
            for g, i in grams.items()
            if len(g) == n and max(g) < base
        }
        if not known or len(parts) < n:
            continue
        columns = np.lib.stride_tricks.sliding_window_view(parts, n).astype(np.int64)
        starts = np.flatnonzero((columns >= 0).all(axis=1) & (document[: len(columns)] == document[n - 1 :]))
        keys = columns[starts] @ (base ** np.arange(n - 1, -1, -1, dtype=np.int64))
        table = np.array(sorted(known), np.int64)
        at = np.minimum(np.searchsorted(table, keys), len(table) - 1)
        hit = table[at] == keys
        ends.append(starts[hit] + n)
        found.append(np.array([known[key] for key in table.tolist()], np.int32)[at[hit]])
    where = np.concatenate(ends)
    order = np.argsort(where, kind="stable")
    behind = np.searchsorted(where[order], offsets, side="right")
    return offsets + behind, np.insert(places, where[order], np.concatenate(found)[order]).astype(np.int32)


def count_windows(
    reference: Reference, counters: Sequence[tuple[PairPlan, WindowCounter]], read: ReadOptions, *, threads: int
) -> tuple[list[WindowCounts], Seen]:
    """Return what each counter has counted in a reference, in one pass over it, and what the reference was."""
    places: dict[tuple[str, ...], Places] = {}
    with encoded(reference, read, threads) as (seen, batches):
        for _, offsets, ids, terms in batches:
            found: dict[tuple[str, ...], tuple[LongArray, IntArray]] = {}
            for plan, counter in counters:
                words = plan.words
                if words not in found:
                    found[words] = places.setdefault(words, Places(words)).of(offsets, ids, terms)
                counter.add(*found[words])
        what = seen()
    return [counter.result() for _, counter in counters], what


def token_table(
    reference: Reference, read: ReadOptions, threads: int, columns: Sequence[str] = ()
) -> tuple[pa.Table, TokenTable, Seen]:
    """Return id and other columns of a reference, and all its tokens in memory; for held-out documents."""
    offsets, ids, rows, at = [np.zeros(1, np.int64)], [], [], 0
    terms: Sequence[str] = ()
    with encoded(reference, read, threads, columns) as (seen, batches):
        for batch, ends, found, known in batches:
            terms = known
            offsets.append(at + ends[1:])
            ids.append(found)
            at += int(ends[-1])
            rows.append(batch.select([n for n in ("id", *columns) if n in batch.schema.names]))
        what = seen()
    table = pa.Table.from_batches(rows)
    return table, TokenTable(np.concatenate(offsets), np.concatenate(ids), tuple(terms)), what


def need_reference(target: TopicTarget, metric: str) -> UsageError:
    """Return the error for a score that needs a corpus where none is known."""
    return UsageError(f"{metric} of {target.name} needs a corpus to count words in; give one: --reference DOCS")
