"""The figures of a corpus: its size, its vocabulary, and the two laws that every vocabulary follows more or less."""

from __future__ import annotations

from dataclasses import dataclass

from nlpkit.metrics.heaps import HeapsFit, fit_heaps, growth_curve
from nlpkit.metrics.lengths import LengthBin, LengthSummary, bin_lengths, summarize_lengths
from nlpkit.metrics.zipf import ZipfFit, fit_zipf
from nlpkit.types import IntArray, LongArray


@dataclass(frozen=True, slots=True)
class CorpusFigures:
    """Figures of a corpus or of one group of its documents.

    hapaxes: words that occur once; growth: n (P,) and V(n) (P,), see `growth_curve`.
    """

    tokens: int
    types: int
    hapaxes: int
    lengths: LengthSummary
    bins: list[LengthBin]
    zipf: ZipfFit
    heaps: HeapsFit
    growth: tuple[LongArray, LongArray]

    @property
    def type_token_ratio(self) -> float:
        """types / tokens; nan without tokens. It falls with the length of the text: compare only corpora of one size."""
        return self.types / self.tokens if self.tokens else float("nan")


def corpus_figures(cf: LongArray, first_seen: LongArray, lengths: IntArray) -> CorpusFigures:
    """Return the figures of documents.

    Args:
        cf: (V,) occurrences of each word, in order of first appearance.
        first_seen: (V,) place 1 … N of the first occurrence of each word, ascending.
        lengths: (D,) tokens of each document.
    """
    n_tokens = int(cf.sum())
    growth = growth_curve(first_seen, n_tokens)
    return CorpusFigures(
        tokens=n_tokens,
        types=len(cf),
        hapaxes=int((cf == 1).sum()),
        lengths=summarize_lengths(lengths),
        bins=bin_lengths(lengths),
        zipf=fit_zipf(cf),
        heaps=fit_heaps(*growth),
        growth=growth,
    )
