"""Preprocessing of a corpus in two passes: cut and count, then prune.

The caller streams batches through `Preprocessor.encode`, keeps what it returns (memory or disk), calls `finish`, and
prunes the kept batches with the result. Nothing here opens a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError
from nlpkit.text.language import (
    SAMPLE_CHARS,
    SAMPLE_DOCS,
    LanguageShare,
    detect_languages,
    has_stop_words,
    language_code,
    stop_words,
)
from nlpkit.text.normalize import normalize_token
from nlpkit.text.tokenize import cut_tokens
from nlpkit.text.vocab import EncodedBatch, Vocabulary, df_bounds
from nlpkit.types import BoolArray, IntArray, LongArray

MIN_DF_AUTO_FROM = 100


@dataclass(frozen=True, slots=True)
class PreprocessOptions:
    """What preprocess does to a text. min_df and max_df: int = documents, float = share; min_df None = 2 from 100 documents on, else 1."""

    language: str = "auto"
    stop_words: str = "auto"
    extra_stop_words: frozenset[str] = frozenset()
    lower: bool = True
    min_df: float | None = None
    max_df: float = 1.0


@dataclass(frozen=True, slots=True)
class PreprocessReport:
    """What preprocess did: counts before and after, and the choices it made."""

    languages: tuple[LanguageShare, ...]
    stop_word_languages: tuple[str, ...]
    n_stop_words: int
    min_df: float
    max_df: float
    n_docs: int
    n_tokens: int
    n_terms: int
    n_terms_seen: int
    n_stop_tokens: int
    n_rare_terms: int
    n_frequent_terms: int


@dataclass(slots=True)
class Preprocessor:
    """One corpus on its way from texts to term ids."""

    options: PreprocessOptions
    _vocab: Vocabulary | None = None
    _language: tuple[LanguageShare, ...] | None = None  # None: to be detected
    _stop_codes: tuple[str, ...] | None = None  # None: those of the language
    _sample: list[str] = field(default_factory=list)
    _kept: BoolArray | None = None

    def encode(self, texts: pa.Array) -> EncodedBatch:
        """Cut the texts (D,) of a batch and return term ids of the growing vocabulary, stop words included."""
        if self._vocab is None:
            self._vocab = self._start()
        if self._language is None and len(self._sample) < SAMPLE_DOCS:
            # the sample is the first texts of the corpus, not of its first batch: how it is cut must not matter
            more = (t[:SAMPLE_CHARS] for text in texts if (t := text.as_py()))
            self._sample.extend(islice(more, SAMPLE_DOCS - len(self._sample)))
        return self._vocab.encode(cut_tokens(texts))

    def _start(self) -> Vocabulary:
        lower = self.options.lower
        if self.options.language != "auto":
            given = [] if self.options.language == "none" else [language_code(self.options.language)]
            self._language = tuple(LanguageShare(code, 1.0) for code in given)
        if self.options.stop_words != "auto":
            names = [] if self.options.stop_words == "none" else self.options.stop_words.split(",")
            self._stop_codes = tuple(language_code(name) for name in names)
        return Vocabulary(lambda raw: normalize_token(raw, lower=lower))

    def finish(self) -> tuple[IntArray, tuple[str, ...], PreprocessReport]:
        """Return new_ids (V_seen,) with -1 for pruned terms, the pruned vocabulary (V,) and the report.

        Raises:
            InputError: no batch was encoded, or no term is left although there were some.
        """
        if self._vocab is None:
            raise InputError("no documents to preprocess; the input has no rows")
        vocab, n_docs = self._vocab, self._vocab.n_docs
        languages = detect_languages(self._sample) if self._language is None else self._language
        codes = tuple(s.code for s in languages) if self._stop_codes is None else self._stop_codes
        stop = stop_words(codes) | self.options.extra_stop_words
        terms = vocab.terms
        min_df = self.options.min_df
        if min_df is None:
            min_df = 2 if n_docs >= MIN_DF_AUTO_FROM else 1
        low, high = df_bounds(n_docs, min_df=min_df, max_df=self.options.max_df)
        stopped = np.fromiter((self._is_stop(t, stop) for t in terms), bool, len(terms))
        rare, frequent = ~stopped & (vocab.df < low), ~stopped & (vocab.df > high)
        kept = ~stopped & ~rare & ~frequent
        if not kept.any() and not stopped.all():
            raise InputError(
                f"no term is left of {len(terms)}: --min-df {min_df} and --max-df {self.options.max_df} "
                f"prune all in {n_docs} documents; lower --min-df or raise --max-df"
            )
        new_ids = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        report = PreprocessReport(
            languages=languages,
            stop_word_languages=tuple(code for code in codes if has_stop_words(code)),
            n_stop_words=len(stop),
            min_df=min_df,
            max_df=self.options.max_df,
            n_docs=n_docs,
            n_tokens=int(vocab.cf[kept].sum()),
            n_terms=int(kept.sum()),
            n_terms_seen=len(terms),
            n_stop_tokens=int(vocab.cf[stopped].sum()),
            n_rare_terms=int(rare.sum()),
            n_frequent_terms=int(frequent.sum()),
        )
        self._kept = kept
        return new_ids, tuple(t for t, k in zip(terms, kept, strict=True) if k), report

    def frequencies(self) -> tuple[LongArray, LongArray]:
        """Return cf and df (V,) of the terms that `finish` kept."""
        assert self._vocab is not None
        assert self._kept is not None
        return self._vocab.cf[self._kept], self._vocab.df[self._kept]

    def _is_stop(self, term: str, stop: frozenset[str]) -> bool:
        return term in stop or (not self.options.lower and term.lower() in stop)
