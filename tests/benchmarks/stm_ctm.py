"""Correlated topics by nlpkit stm without covariates and by tomotopy.CTModel: held-out perplexity and seconds on the same tokens.

    python tests/benchmarks/stm_ctm.py CORPUS.jsonl.gz [--k 20] [--every 3] [--iterations 100,300,1000]

A tenth of the documents is held out; topics are inferred from one half of their tokens, and the other half is scored (document completion,
as `--k auto` does). Each tool infers by its own model: nlpkit by the mode of η under Normal(μ, Σ), tomotopy by `infer` (100 iterations).
Words of held-out documents get φ with 0.01 added to each expected count in nlpkit, and tomotopy's η = 0.01 prior. One thread each.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np

import nlpkit as nk
from nlpkit.platform.options import Execution
from nlpkit.platform.types import FloatArray, TokenTable
from nlpkit.text.options import PreprocessOptions
from nlpkit.topics.base.corpus import read_topic_corpus
from nlpkit.topics.base.model import select_documents
from nlpkit.topics.base.scores import HeldOutCorpus, completion, split_corpus
from nlpkit.topics.stm.fitter import StmFitter
from nlpkit.topics.stm.options import StmOptions

SEED = 1


def documents(tokens: TokenTable) -> list[list[str]]:
    """Return the words of each document."""
    ids, offsets = tokens.term_ids.tolist(), tokens.offsets.tolist()
    return [[tokens.terms[v] for v in ids[a:b]] for a, b in pairwise(offsets)]


def held_out(corpus: HeldOutCorpus, phi: FloatArray, theta: FloatArray) -> float:
    """Return the perplexity of the second halves."""
    owner = np.repeat(np.arange(corpus.scored.n_docs), np.diff(corpus.scored.offsets))
    p = np.einsum("nk,kn->n", theta[owner], phi[:, corpus.scored.term_ids])
    return float(np.exp(-np.log(p).mean()))


def by_nlpkit(corpus: HeldOutCorpus, K: int, tolerance: float) -> tuple[float, float, str]:
    """Return perplexity, seconds of the fit, and how many steps it took."""
    fitter = StmFitter(StmOptions(tolerance=tolerance))
    began = time.perf_counter()
    fit = fitter.fit(corpus, K, Execution(SEED, 1), lambda *_: None)
    seconds = time.perf_counter() - began
    smooth, infer = fitter.inference(fit, SEED, 1)
    perplexity = float(np.exp(-completion(smooth, corpus, infer).sum() / sum(corpus.n_tokens)))
    return perplexity, seconds, f"{len(fit.trace)} steps"


def by_tomotopy(corpus: HeldOutCorpus, K: int, iterations: list[int], told: Callable[..., None]) -> None:
    """Tell perplexity and seconds after each number of iterations."""
    import tomotopy

    model = tomotopy.CTModel(k=K, seed=SEED, eta=0.01)
    for words in documents(corpus.train):
        model.add_doc(words)
    place = {term: v for v, term in enumerate(corpus.train.terms)}
    seconds, done = 0.0, 0
    for count in iterations:
        began = time.perf_counter()
        model.train(count - done, workers=1)
        seconds, done = seconds + time.perf_counter() - began, count
        phi = np.zeros((K, len(place)))
        order = [place[term] for term in model.used_vocabs]
        for k in range(K):
            phi[k, order] = model.get_topic_word_dist(k)
        seen = [model.make_doc(words) for words in documents(corpus.observed)]
        theta, _ = model.infer(seen, iterations=100, workers=1)
        told("tomotopy CTModel", held_out(corpus, phi, np.asarray(theta)), seconds, f"{count} iterations")


def main() -> None:
    """Print a line for each fit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("--k", type=int, default=20)
    parser.add_argument("--every", type=int, default=1, help="take each N-th document")
    parser.add_argument("--iterations", default="100,300,1000")
    given = parser.parse_args()
    options = PreprocessOptions(stop_words="none", min_df=2)
    with read_topic_corpus(nk.read_corpus(given.corpus), options, 1) as read:
        tokens = select_documents(read.tokens, np.arange(0, read.tokens.n_docs, given.every))
    corpus = split_corpus(tokens, 0.1, SEED, None, None)
    print(
        f"{corpus.train.n_docs} documents, {len(corpus.train.term_ids)} tokens, K = {given.k}; scored {sum(corpus.n_tokens)} tokens"
    )

    def told(name: str, perplexity: float, seconds: float, how: str) -> None:
        print(f"{name:18} perplexity {perplexity:9.2f}  {seconds:8.1f} s  {how}", flush=True)

    by_nlpkit(corpus, 2, 0.1)  # compiles
    for tolerance in (1e-3, 1e-5):
        told("nlpkit stm", *by_nlpkit(corpus, given.k, tolerance))
    by_tomotopy(corpus, given.k, [int(n) for n in given.iterations.split(",")], told)


if __name__ == "__main__":
    main()
