"""What the work of commands costs: seconds and memory for each unit of it, measured by tests/benchmarks/bench_estimate.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from nlpkit.models import MODELS

SORT_SECONDS = 0.0067  # in which one core of the machine of the measurements below sorts the numbers of `machine_speed`


@dataclass(frozen=True, slots=True)
class Work:
    """How much there is to do.

    rows, chars: documents and their characters; tokens, terms: N and V, of the words that a model sees; periods: T; levels: of a
    column that words depend on, 0 without one; k, iterations: topics, and steps of a fit; fitted: documents that a fit takes.
    """

    rows: int
    chars: int
    tokens: int = 0
    terms: int = 0
    periods: int = 1
    levels: int = 0
    k: int = 1
    iterations: int = 1
    fitted: int = 0


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds, and MB of memory at the peak."""

    seconds: float
    memory: float

    def __add__(self, other: Cost) -> Cost:
        """Return both together."""
        return Cost(self.seconds + other.seconds, self.memory + other.memory)


UNITS: dict[str, Callable[[Work], float]] = {
    "start": lambda w: 1.0,
    "megabyte of text": lambda w: w.chars / 1e6,
    "megabyte held": lambda w: min(w.chars / 1e6, 60),  # of text, before a file takes the documents
    "1000 documents": lambda w: w.rows / 1e3,
    "1000 documents at once": lambda w: min(w.rows, 8000) / 1e3,  # that are encoded together
    "1000 terms": lambda w: w.terms / 1e3,
    "million tokens": lambda w: w.tokens / 1e6,
    # a fit to a sample is checked by one to twice as many
    "million pairs of documents": lambda w: w.rows * w.fitted * (3 if w.fitted < w.rows else 1) / 1e6,
    "million topics of documents": lambda w: w.rows * w.k / 1e6,
    "million terms of topics": lambda w: w.terms * w.k / 1e6,
    "million terms of topics in periods": lambda w: w.terms * w.k * w.periods / 1e6,
    "million tokens · step": lambda w: w.tokens * w.iterations / 1e6,
    "million tokens · topic · step": lambda w: w.tokens * w.k * w.iterations / 1e6,
    "million terms of topics in periods · step": lambda w: w.terms * w.k * w.periods * w.iterations / 1e6,
    "million terms of topics at levels · step": lambda w: w.terms * w.k * w.levels * w.iterations / 1e6,
    "1000 documents · step": lambda w: w.rows * w.iterations / 1e3,
    "million topics of documents · step": lambda w: w.rows * w.k * w.iterations / 1e6,
    "million cubes of topics · document · step": lambda w: w.rows * w.k**3 * w.iterations / 1e6,
    "million terms · document · step": lambda w: w.terms * w.rows * w.iterations / 1e6,
}
PARALLEL = frozenset(
    {
        "million tokens · step", "million tokens · topic · step", "million terms of topics in periods · step",
        "million terms of topics at levels · step", "million cubes of topics · document · step", "million pairs of documents",
    }
)  # fmt: skip

# seconds of one core and MB, for each unit
Rates = Mapping[str, tuple[float, float]]
TEXT: Rates = {"megabyte of text": (0.10, 0.0), "megabyte held": (0.0, 5.5), "1000 terms": (0.0005, 0.3)}
COSTS: dict[str, Rates] = {
    "": {"start": (1.5, 250), **TEXT},
    "preprocess": {"start": (2.0, 325), **TEXT},
    "tfidf": {"start": (2.4, 350), **TEXT, "megabyte of text": (0.05, 0), "million tokens": (0.4, 10)},
    "classify": {"start": (2.4, 300), **TEXT, "million tokens": (1.0, 60)},
    "sbert-embed": {"start": (1.5, 300), "megabyte of text": (0.05, 0), "megabyte held": (0.0, 4), "1000 documents": (0.01, 0.5)},
}  # fmt: skip
ENCODING: Rates = {
    "start": (4.0, 400),
    "megabyte of text": (30.0, 0.0),
    "1000 documents at once": (0.0, 80),
}  # MiniLM, bf16


def rates_of(command: str) -> Rates:
    """Return what the work of a command costs; of one that is not known, the reading and cutting of texts."""
    if command not in COSTS and command in MODELS and MODELS[command].costs:
        costs = MODELS[command].costs
        return {"start": costs["start"], **TEXT, **costs}
    return COSTS.get(command, COSTS[""])


def cost_of(rates: Rates, work: Work, threads: int = 1) -> Cost:
    """Return the seconds on this machine, with nothing else to do, and the memory."""
    seconds = memory = 0.0
    for unit, (each, held) in rates.items():
        amount = UNITS[unit](work)
        seconds += amount * each / (threads if unit in PARALLEL else 1)
        memory += amount * held
    return Cost(seconds / machine_speed(), memory)


@cache
def machine_speed() -> float:
    """Return how fast a core is beside the one of the measurements: by the time of sorting, the best of several."""
    numbers = np.random.default_rng(0).integers(1 << 62, size=1 << 17)
    spent = []
    for _ in range(5):
        begun = time.process_time()
        np.sort(numbers, kind="stable")
        spent.append(time.process_time() - begun)
    return SORT_SECONDS / max(min(spent), 1e-6)
