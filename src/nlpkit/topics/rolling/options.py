"""Options of RollingLDA, as plain data: periods, memory, vocabulary, tests for changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self

from nlpkit.errors import UsageError
from nlpkit.platform.options import Param, options
from nlpkit.topics.lda.options import SWEEPS_OF_MANY

DEFAULT_INIT, DEFAULT_CHUNKS = "12 months", "month"


@options
class RollingOptions:
    """Options of a rolling model; all of them stay the same when chunks are added later.

    init, chunks, memory: texts as `initial_end` and `parse_span` read them. A word joins the vocabulary when its count c
    in the documents of a chunk (of the chunk alone, memory not counted) meets

        c > vocab_abs  and  c > min(vocab_rel · N, vocab_fallback),     N = tokens of the chunk, rare ones included,

    and stays for good. Documents with at most doc_abs tokens of the vocabulary are discarded. memory_fallback: documents
    that count as memory where the memory would be empty, 0 for none (then that is an error). alpha, eta: each, None = 1/K;
    sweeps: of each chunk; shards: of the sampler, None = by the tokens of the chunk and its memory. (rollinglda
    0.1.3: vocab.abs, vocab.rel, vocab.fallback, doc.abs, memory.fallback.)
    """

    PANEL: ClassVar[str] = "Model"

    k: Annotated[int | str | None, Param("Number of topics, the same in all chunks.", ("k", "num_topics"))] = None
    chunks: Annotated[
        str | None,
        Param(
            f"Length of a chunk: month, week, quarter, year, 10 days or 500 documents. Default: {DEFAULT_CHUNKS}.",
            metavar="SPAN",
        ),
    ] = None
    init: Annotated[
        str | None,
        Param(
            "First period, from which all topics come: its last date or month, or a span such as 2 quarters or 500 documents. "
            f"Default: {DEFAULT_INIT}."
        ),
    ] = None
    memory: Annotated[
        str | None,
        Param(
            "Time before a chunk whose documents are remembered: 3 quarters, 90 days, 500 documents or 2 chunks. "
            "Default: 3 chunks, at least 3 months."
        ),
    ] = None
    alpha: Annotated[float | None, Param("Dirichlet prior of each topic in a document. Default: 1 / k.", above=0)] = (
        None
    )
    alpha_sum: Annotated[
        float | None,
        Param("Sum of alpha over all topics, as in MALLET. Use it instead of `alpha`.", above=0, excludes=("alpha",)),
    ] = None
    eta: Annotated[
        float | None,
        Param("Dirichlet prior of each word in a topic. Default: 1 / k.", ("eta", "beta"), above=0),
    ] = None
    sweeps: Annotated[int, Param("Passes over each chunk.", ("sweeps", "iterations"), min=1)] = SWEEPS_OF_MANY
    vocab_abs: Annotated[
        int, Param("A new word must occur more often than this in a chunk to join the vocabulary.", min=0)
    ] = 5
    vocab_rel: Annotated[
        float,
        Param("A new word must also exceed this share of the chunk's tokens.", min=0.0, max=1.0),
    ] = 0.0
    vocab_fallback: Annotated[
        int, Param("A new word with more occurrences than this joins the vocabulary whatever its share.", min=0)
    ] = 100
    doc_abs: Annotated[int, Param("Discard documents with at most this many words of the vocabulary.", min=0)] = 0
    memory_fallback: Annotated[
        int, Param("Number of earlier documents to use if none fall into the memory; 0 = stop with an error.", min=0)
    ] = 0
    shards: Annotated[
        int | None,
        Param(
            "Number of parts of a chunk sampled in parallel (limits the useful number of threads). Default: 1 for "
            "small chunks, up to 16.",
            min=1,
        ),
    ] = None

    def __post_init__(self) -> None:
        """Check the spans."""
        from nlpkit.platform.documents.chunks import parse_init, parse_span

        if self.chunks is not None:
            parse_span(self.chunks, "chunks")
        if self.init is not None:
            parse_init(self.init)
        if self.memory is not None:
            parse_span(self.memory, "memory")

    @property
    def n_topics(self) -> int:
        """The number of topics K.

        Raises:
            UsageError: it is not given, or no number.
        """
        if not str(self.k).isdecimal() or not int(str(self.k)):
            value = "`k`" if self.k is None else f"`k={self.k}`"
            raise UsageError(
                f"{value}: a rolling model has the same topics in all chunks, so it needs one number, such as "
                "`k=20`; `fit_lda()` can choose a good number",
                parameter="k",
            )
        return int(str(self.k))

    @property
    def each_alpha(self) -> float:
        """Alpha of each topic."""
        return 1 / self.n_topics if self.alpha is None else self.alpha

    @property
    def each_eta(self) -> float:
        """Eta of each term."""
        return 1 / self.n_topics if self.eta is None else self.eta

    def resolved(self) -> Self:
        """Return the options with the defaults that depend on others: init, memory, alpha of each topic."""
        from nlpkit.platform.documents.chunks import default_memory

        chunks = self.chunks or DEFAULT_CHUNKS
        return replace(
            self,
            k=self.n_topics,
            chunks=chunks,
            init=self.init or DEFAULT_INIT,
            memory=self.memory or default_memory(chunks),
            alpha=self.alpha if self.alpha_sum is None else self.alpha_sum / self.n_topics,
            alpha_sum=None,
        )


@options
class ChangeOptions:
    """Options that separate a change of a topic from chance (Rieger et al. 2022).

    change_span z_max: chunks of a topic's past that it is compared with, at most. change_mixture p: how much of the change that is
    seen is taken as usual: lower values find smaller changes, higher ones only great ones (paper 0.85; ttta 0.9). samples B
    and change_level: the threshold is the level quantile of the similarities of B samples (the authors' scripts take 500; fewer
    suffice where they decide, see `detect_changes`). n_words: words named per change.
    """

    PANEL: ClassVar[str] = "Changes"
    recorded: ClassVar = {
        "max_span": "change_span", "mixture": "change_mixture", "samples": "samples", "level": "change_level", "n_words": "n_words",
    }  # fmt: skip

    change_span: Annotated[int, Param("Maximum number of past chunks to compare a chunk with.", min=1)] = 4
    change_mixture: Annotated[
        float,
        Param("Share of ordinary drift tolerated before a change is reported (Rieger et al. 2022).", min=0.0, max=1.0),
    ] = 0.85
    change_level: Annotated[float, Param("Significance level of the test for a change.", above=0, below=1)] = 0.01
    samples: Annotated[int, Param("", min=1, command_line=False)] = 5000
    n_words: Annotated[int, Param("", min=1, command_line=False)] = 10

    @classmethod
    def from_config(cls, values: Mapping[str, Any]) -> Self:
        """Return the options of model/config.json, as they were recorded."""
        return cls(**{cls.recorded[name]: value for name, value in values.items()})
