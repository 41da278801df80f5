"""Preprocessing of a corpus in two passes: cut and count, then prune.

The caller streams batches through `Preprocessor.encode`, keeps what it returns (memory or disk), calls `finish`, and
prunes the kept batches with the result. Nothing here opens a file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError
from nlpkit.text.language import LanguageShare, detect_languages, has_stop_words, language_code, stop_words
from nlpkit.text.normalize import normalize_token
from nlpkit.text.tokenize import cut_tokens
from nlpkit.text.vocab import EncodedBatch, Vocabulary, df_bounds
from nlpkit.types import IntArray

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
    languages: tuple[LanguageShare, ...] = ()
    _vocab: Vocabulary | None = None
    _stop: frozenset[str] = frozenset()
    _stop_languages: tuple[str, ...] = ()

    def encode(self, texts: pa.Array) -> EncodedBatch:
        """Cut the texts (D,) of a batch and return term ids of the growing vocabulary, stop words included."""
        if self._vocab is None:
            self._start(texts)
        assert self._vocab is not None
        return self._vocab.encode(cut_tokens(texts))

    def _start(self, texts: pa.Array) -> None:
        lower = self.options.lower
        self._vocab = Vocabulary(lambda raw: normalize_token(raw, lower=lower))
        if self.options.language == "auto":
            self.languages = detect_languages(t for t in texts.to_pylist() if t)
        elif self.options.language != "none":
            self.languages = (LanguageShare(language_code(self.options.language), 1.0),)
        codes = [s.code for s in self.languages] if self.options.stop_words == "auto" else []
        if self.options.stop_words not in ("auto", "none"):
            codes = [language_code(name) for name in self.options.stop_words.split(",")]
        self._stop_languages = tuple(code for code in codes if has_stop_words(code))
        self._stop = stop_words(codes) | self.options.extra_stop_words

    def finish(self) -> tuple[IntArray, tuple[str, ...], PreprocessReport]:
        """Return new_ids (V_seen,) with -1 for pruned terms, the pruned vocabulary (V,) and the report.

        Raises:
            InputError: no batch was encoded, or no term is left although there were some.
        """
        if self._vocab is None:
            raise InputError("no documents to preprocess; the input has no rows")
        vocab, n_docs = self._vocab, self._vocab.n_docs
        terms = vocab.terms
        min_df = self.options.min_df
        if min_df is None:
            min_df = 2 if n_docs >= MIN_DF_AUTO_FROM else 1
        low, high = df_bounds(n_docs, min_df=min_df, max_df=self.options.max_df)
        stopped = np.fromiter((self._is_stop(t) for t in terms), bool, len(terms))
        rare, frequent = ~stopped & (vocab.df < low), ~stopped & (vocab.df > high)
        kept = ~stopped & ~rare & ~frequent
        if not kept.any() and not stopped.all():
            raise InputError(
                f"no term is left of {len(terms)}: --min-df {min_df:g} and --max-df {self.options.max_df:g} "
                f"prune all in {n_docs} documents; lower --min-df or raise --max-df"
            )
        new_ids = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        report = PreprocessReport(
            languages=self.languages,
            stop_word_languages=self._stop_languages,
            n_stop_words=len(self._stop),
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
        return new_ids, tuple(t for t, k in zip(terms, kept, strict=True) if k), report

    def _is_stop(self, term: str) -> bool:
        return term in self._stop or (not self.options.lower and term.lower() in self._stop)
