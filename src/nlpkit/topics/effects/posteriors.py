"""Draws of the topics of documents from the posteriors that runs hold, by kind of model (`TopicModel.posterior`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from nlpkit.errors import InputError
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import BoolArray, FloatArray, IntArray
from nlpkit.topics.base.tables import read_counts_and_prior, read_theta

# random numbers, how many → draws of theta (D, K)
Draws: TypeAlias = Callable[[np.random.Generator, int], Iterator[FloatArray]]


def dirichlet(run: Run, filled: BoolArray) -> Draws:
    """Return draws θ_d ~ Dirichlet(n_d + α), for the documents that have words.

    For Gibbs sampling, n_d counts the topics of the tokens in one state of the chain: θ given this state. For variational inference
    it is q(θ_d) itself (Blei, Ng and Jordan 2003, section 5.2), which is narrower than the posterior.
    """
    counts, alpha = read_counts_and_prior(run, run.table("topics", ["topic"]).num_rows)
    if counts is None:
        raise InputError(f"{run.path} does not hold the counts of topics in documents; fit the model again")
    shape = counts[np.flatnonzero(filled)].toarray() + alpha

    def draws(rng: np.random.Generator, count: int) -> Iterator[FloatArray]:
        for _ in range(count):
            theta = np.maximum(rng.standard_gamma(shape), 1e-300)
            yield theta / theta.sum(axis=1, keepdims=True)

    return draws


def one_topic(run: Run, filled: BoolArray) -> Draws:
    """Return draws of the one topic that each document has, by its probabilities, for the documents that have words."""
    theta_of_run = read_theta(run)(np.flatnonzero(filled))
    bounds = np.cumsum(theta_of_run, axis=1)
    D, K = theta_of_run.shape

    def draws(rng: np.random.Generator, count: int) -> Iterator[FloatArray]:
        for _ in range(count):
            below: IntArray = np.count_nonzero(bounds < rng.random((D, 1)), axis=1)
            topic = np.minimum(below, K - 1)
            theta = np.zeros((D, K))
            theta[np.arange(D), topic] = 1.0
            yield theta

    return draws
