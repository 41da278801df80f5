"""The terms that stay of a corpus, and the way to their ids from those of the first pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nlpkit.text.options import PreprocessOptions, PreprocessReport
from nlpkit.text.pruning import REASONS, STOP, Pruned
from nlpkit.text.vocab import EncodedBatch, Stage, prune_batch
from nlpkit.types import BoolArray, LongArray

if TYPE_CHECKING:
    from nlpkit.text.phrases import PhraseTable


@dataclass(frozen=True, slots=True)
class Removed:
    """Removed terms: term, occurrences, documents, and the reason (pruning.REASONS)."""

    terms: list[str]
    cf: LongArray
    df: LongArray
    reasons: list[str]


class FittedVocabulary:
    """The final vocabulary, and the mapping from ids of the first pass to its ids.

    terms (V,): in order of first appearance, or those of options.vocab in their order; cf, df (V,) int64.
    """

    def __init__(
        self,
        stages: list[Stage],
        strings: Callable[[LongArray], list[str]],
        cf: LongArray,
        df: LongArray,
        pruned: Pruned,
        report: PreprocessReport,
        options: PreprocessOptions,
        phrases: PhraseTable | None,
        stop_terms: Removed,
    ) -> None:
        kept = pruned.kept
        seen = np.flatnonzero(kept >= 0)
        self.terms: tuple[str, ...] = options.vocab or tuple(strings(kept.astype(np.int64)))
        self.cf, self.df = np.zeros(len(kept), np.int64), np.zeros(len(kept), np.int64)
        self.cf[seen], self.df[seen] = cf[kept[seen]], df[kept[seen]]
        self.report = report
        self.phrases = phrases
        self._all = (strings, cf, df, pruned.reasons)
        self._stop_terms = stop_terms
        self._stages = stages
        self.new_ids = pruned.new_ids()

    def apply(self, batch: EncodedBatch) -> EncodedBatch:
        """Return a batch of the first pass in ids of `terms`; documents keep their places."""
        for stage in self._stages:
            batch = stage(batch)
        return prune_batch(batch, self.new_ids)

    def stays(self, batch: EncodedBatch) -> BoolArray:
        """Return which tokens of a batch of the first pass (N,) stay, where terms are neither joined nor replaced."""
        assert not self._stages
        return np.asarray(self.new_ids[batch.term_ids] >= 0)

    def removed(self) -> Removed:
        """Return the terms that did not stay, most frequent first."""
        strings, cf, df, reasons = self._all
        gone = np.flatnonzero((reasons > STOP) & (cf > 0))
        stop = self._stop_terms
        terms = [*stop.terms, *strings(gone)]
        all_cf, all_df = np.concatenate([stop.cf, cf[gone]]), np.concatenate([stop.df, df[gone]])
        why = [*stop.reasons, *(REASONS[r] for r in reasons[gone])]
        order = np.argsort(-all_cf, kind="stable")
        return Removed([terms[i] for i in order], all_cf[order], all_df[order], [why[i] for i in order])
