"""Sentiment by the packages of those who made the lexicon: vaderSentiment and afinn."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from importlib.util import find_spec
from multiprocessing import get_context
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import UsageError, missing_extra
from nlpkit.platform.types import FloatArray

_CHUNK = 200  # texts
_WORTH_PROCESSES = 2_000_000  # characters; below, starting them takes longer than scoring
_MODULES = {"vader": "vaderSentiment", "afinn": "afinn"}


class PackageScorer:
    """vaderSentiment's compound score, in [-1, 1], or the sum of AFINN's weights, of texts as they are.

    Equal texts of a batch are scored once; long batches by several processes, which changes nothing.

    vader: Hutto & Gilbert (2014), vaderSentiment.SentimentIntensityAnalyzer. afinn: Nielsen (2011), afinn.Afinn().score; the
    lists of its package as afinn:da, with emoticons as afinn:emoticons or afinn:da+emoticons.

    Args:
        name: vader, afinn, afinn:LANGUAGE, afinn:emoticons.
        workers: processes.

    Raises:
        MissingError: the package is not installed.
        UsageError: there is no such list.
    """

    def __init__(self, name: str, *, workers: int = 1) -> None:
        package, _, variant = name.partition(":")
        if find_spec(_MODULES[package]) is None:
            raise missing_extra(f"`lexicon={package}`", "sentiment")
        if package == "vader" and variant:
            raise UsageError(f"`lexicon={name}`: VADER has only an English list; use `lexicon=vader`")
        if package == "afinn":
            _afinn_arguments(variant)
        self.name = name
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        """Return the scorer."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End its processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def score(self, texts: pa.Array) -> FloatArray:
        """Return the scores (D,) float64 of an Arrow string array (D,); null counts as empty."""
        encoded = pc.fill_null(texts, "").dictionary_encode()
        different = encoded.dictionary.to_pylist()
        jobs = [(self.name, different[i : i + _CHUNK]) for i in range(0, len(different), _CHUNK)]
        if self._workers > 1 and len(jobs) > 1 and sum(map(len, different)) >= _WORTH_PROCESSES:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(self._workers, mp_context=get_context("spawn"))
            parts = list(self._pool.map(_score, jobs))
        else:
            parts = [_score(job) for job in jobs]
        scores = np.array([score for part in parts for score in part], np.float64)
        out: FloatArray = scores[encoded.indices.to_numpy(zero_copy_only=False)]
        return out


def _score(job: tuple[str, list[str]]) -> list[float]:
    name, texts = job
    one = _analyzer(name)
    return [one(text) for text in texts]


@cache
def _analyzer(name: str) -> Callable[[str], float]:
    package, _, variant = name.partition(":")
    if package == "vader":
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

        analyzer = SentimentIntensityAnalyzer()
        return lambda text: float(analyzer.polarity_scores(text)["compound"])
    from afinn import Afinn

    language, emoticons = _afinn_arguments(variant)
    score = Afinn(language=language, emoticons=emoticons).score
    return lambda text: float(score(text))


def _afinn_arguments(variant: str) -> tuple[str, bool]:
    """Return language and emoticons of "", "da", "emoticons" or "da+emoticons". Raises UsageError for an unknown one."""
    from afinn.afinn import LANGUAGE_TO_FILENAME

    parts = [part for part in variant.split("+") if part]
    languages = [part for part in parts if part != "emoticons"]
    known = [name for name in LANGUAGE_TO_FILENAME if name != "emoticons"]
    if len(languages) > 1 or not set(languages) <= set(known):
        raise UsageError(
            f"`lexicon=afinn:{variant}`: the package afinn has {', '.join(known)} and emoticons, as afinn:da or afinn:da+emoticons; "
            "another list can be given as a file"
        )
    return (languages or ["en"])[0], "emoticons" in parts
