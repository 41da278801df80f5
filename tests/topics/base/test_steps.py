"""Fits that are stopped between two steps and taken up again: the same model as without a stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from nlpkit.platform.documents.chunks import cut_periods
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.topics.base.model import MixtureFit
from nlpkit.topics.base.scores import StepState
from nlpkit.topics.biterm.model import BitermFitter
from nlpkit.topics.biterm.options import BitermOptions
from nlpkit.topics.dtm.fit import DtmFitter
from nlpkit.topics.dtm.options import DtmOptions
from nlpkit.topics.gsdmm.model import GsdmmFitter
from nlpkit.topics.gsdmm.options import GsdmmOptions
from nlpkit.topics.hdp.model import HdpFitter
from nlpkit.topics.hdp.options import HdpOptions
from nlpkit.topics.hlda.model import HldaFitter
from nlpkit.topics.hlda.options import HldaOptions
from nlpkit.topics.lda_online.model import LdaOnlineFitter
from nlpkit.topics.lda_online.options import LdaOnlineOptions
from nlpkit.topics.neural.ctm import CtmFitter
from nlpkit.topics.neural.etm import EtmFitter
from nlpkit.topics.neural.options import CtmOptions, EtmOptions
from nlpkit.topics.stm.content import Content
from nlpkit.topics.stm.fitter import StmFitter
from nlpkit.topics.stm.options import StmOptions
from nlpkit.topics.supervised.options import AuthorTopicOptions, LabeledLdaOptions, SldaOptions
from nlpkit.topics.supervised.response import Response
from nlpkit.topics.supervised.restricted import AuthorTopicFitter, LabeledLdaFitter, NameSets
from nlpkit.topics.supervised.slda import SldaFitter
from tests.few import few

D, K, STOP = 40, 3, 3
DAYS = np.datetime64("2020-01-15") + np.arange(D) * 9
NAMES = NameSets.encode([[("a", "b", "c")[d % 3]] for d in range(D)])


def corpus() -> TokenTable:
    rng = np.random.default_rng(1)
    lengths = rng.integers(0, 12, D)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = np.concatenate([rng.integers(0, 10, n) + 10 * (d % 3) for d, n in enumerate(lengths)]).astype(np.int32)
    return TokenTable(offsets, ids, tuple(f"w{v:02}" for v in range(30)))


def dated() -> DtmFitter:
    periods = cut_periods(DAYS, "quarter")
    return DtmFitter(DtmOptions(k=K, iterations=12, tolerance=0), periods, periods.nearest(DAYS))


def neural(make: Any, options: Any) -> Callable[[], Any]:
    if find_spec("torch") is None:
        pytest.skip("needs torch")
    return make(options)


FITTERS: dict[str, Callable[[], Any]] = {
    "slda": lambda: SldaFitter(SldaOptions(k=K, iterations=60), Response(np.arange(D) % 3 * 1.0, ("x", "y", "z"))),
    "slda of numbers": lambda: SldaFitter(SldaOptions(k=K, iterations=60), Response(np.arange(D) % 7 * 1.0)),
    "author-topic": lambda: AuthorTopicFitter(AuthorTopicOptions(k=K, iterations=20), NAMES),
    "labeled-lda": lambda: LabeledLdaFitter(LabeledLdaOptions(k=K, iterations=20), NAMES),
    "gsdmm": lambda: GsdmmFitter(GsdmmOptions(k=K, iterations=12)),
    "biterm": lambda: BitermFitter(BitermOptions(k=K, iterations=20)),
    "hdp": lambda: HdpFitter(HdpOptions(iterations=40)),
    "hlda": lambda: HldaFitter(HldaOptions(iterations=40)),
    "lda-online": lambda: LdaOnlineFitter(LdaOnlineOptions(k=K, iterations=12, batch_size=8, tolerance=-1)),
    "lda of all documents": lambda: LdaOnlineFitter(LdaOnlineOptions(k=K, iterations=12, batch_size="all", tolerance=0)),
    "dtm": dated,
    "stm": lambda: StmFitter(StmOptions(k=K, iterations=12, tolerance=0, start="lda")),
    "stm of covariates": lambda: StmFitter(
        StmOptions(k=K, iterations=12, tolerance=0, start="lda"), X=np.column_stack([np.ones(D), np.arange(D) / D])
    ),
    "stm of content": lambda: StmFitter(
        StmOptions(k=K, iterations=10, tolerance=0, start="lda"), content=Content("c", ("a", "b"), np.arange(D, dtype=np.int32) % 2)
    ),
    "ctm": lambda: neural(CtmFitter, CtmOptions(k=K, inference="bow", iterations=12, batch_size=8)),
    "etm": lambda: neural(EtmFitter, EtmOptions(k=K, iterations=12, batch_size=8, hidden=20, dimensions=8)),
}  # fmt: skip


class Stopped:
    """Ends a fit after some steps, and keeps its state; or begins with a state."""

    def __init__(self, state: StepState | None = None, stop: int = 0) -> None:
        self.state, self.stop, self.seen = state, stop, list[int]()

    def earlier(self) -> StepState | None:
        return self.state

    def after(self, step: int, last: int, state: Callable[[], StepState]) -> None:
        self.seen.append(step)
        if step == self.stop:
            now = state()
            self.state = replace(now, arrays={name: values.copy() for name, values in now.arrays.items()})
            raise KeyboardInterrupt


def parts(fit: MixtureFit) -> dict[str, bytes]:
    """All of a fit as bytes."""
    return {
        "trace": repr(fit.trace).encode(), "numbers": repr(fit.numbers).encode(), "alpha": fit.model.alpha.tobytes(),
        "topic_term": fit.model.topic_term.toarray().tobytes(), "doc_topic": fit.doc_topic.toarray().tobytes(),
        **{name: np.asarray(values).tobytes() for name, values in (*fit.arrays.items(), *fit.weights.items())},
    }  # fmt: skip


@pytest.mark.parametrize("name", few(FITTERS, 8))
def test_a_fit_that_was_stopped_goes_on_to_the_same_model(name: str) -> None:
    fitter, tokens, execution = FITTERS[name](), corpus(), Execution(seed=3)
    whole = fitter.fit_tokens(tokens, K, execution)
    stopped = Stopped(stop=STOP)
    with pytest.raises(KeyboardInterrupt):
        fitter.fit_tokens(tokens, K, execution, keeper=stopped)
    rest = Stopped(stopped.state)
    assert parts(fitter.fit_tokens(tokens, K, execution, keeper=rest)) == parts(whole)
    assert rest.seen[0] == STOP + 1


@pytest.mark.parametrize("name", ["gsdmm", "dtm"])
def test_states_of_other_corpora_are_refused(name: str) -> None:
    fitter, tokens = FITTERS[name](), corpus()
    stopped = Stopped(stop=STOP)
    with pytest.raises(KeyboardInterrupt):
        fitter.fit_tokens(tokens, K, Execution(), keeper=stopped)
    with pytest.raises(ValueError, match=r"int|float"):
        fitter.fit_tokens(tokens, K + 1, Execution(), keeper=Stopped(stopped.state))
