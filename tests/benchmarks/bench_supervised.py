"""Supervised LDA beside LDA with a classifier on theta, and beside tomotopy's SLDAModel; labelled LDA beside its LLDAModel.

    python tests/benchmarks/bench_supervised.py imdb ag_news trec poliblog --k 20 --sweeps 300
    python tests/benchmarks/bench_supervised.py reuters --sweeps 300

Same tokens, priors α = η = 1/K, sweeps and one thread for all. Scores are of documents that no fit has seen, in each case from their
words alone: R² of numbers, accuracy of classes. tomotopy has no classes, so it gets one binary variable for each, the largest wins.
log p is that of held-out words by document completion; seconds are those of the processor, after a warm call. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from typing import Any

import numpy as np
import tomotopy as tp
from scipy import sparse

import nlpkit as nk
from nlpkit.platform.options import Execution
from nlpkit.platform.types import FloatArray, TokenTable
from nlpkit.text.options import TopicTokenOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.topics.base.corpus import read_topic_corpus
from nlpkit.topics.base.heldout import infer_topics, perplexity
from nlpkit.topics.base.model import MixtureModel, select_documents
from nlpkit.topics.lda.fit import fit_lda
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.supervised.options import LabeledLdaOptions, SldaOptions
from nlpkit.topics.supervised.response import Regression, Response, quality, regress
from nlpkit.topics.supervised.restricted import fit_labeled_lda
from nlpkit.topics.supervised.run import name_sets, response_of
from nlpkit.topics.supervised.slda import fit_slda, shares_of
from tests.peer_data import PEER_DATA

# file, column of labels, response, condition for the documents of the test: a split, or every third document
CORPORA = {
    "imdb": ("imdb/imdb_5k.jsonl.gz", "rating", "real", "split"),
    "ag_news": ("ag_news/ag_news_test.jsonl", "label", "classes", ""),
    "trec": ("trec/trec.jsonl", "label", "classes", "split"),
    "poliblog": ("poliblog5k/poliblog5k_stemmed_bow.jsonl.gz", "label", "binary", ""),
}
ONE = Execution(1, 1)


def read(name: str) -> tuple[TokenTable, Any]:
    """Return the tokens and the rows of a corpus."""
    corpus = nk.read_corpus(PEER_DATA / name)
    with read_topic_corpus(corpus, preprocess_options(TopicTokenOptions(min_df=5)), 2) as read_corpus:
        return read_corpus.tokens, read_corpus.rows


def halves(tokens: TokenTable, rows: Any, split: str) -> tuple[Any, Any]:
    """Return the rows of training and test documents that have words."""
    values = (
        rows.column(split).to_pylist() if split else [("train", "train", "test")[d % 3] for d in range(tokens.n_docs)]
    )
    test = np.array([value == "test" for value in values])
    full = np.diff(tokens.offsets) > 0
    return np.flatnonzero(full & ~test), np.flatnonzero(full & test)


def shares(model: MixtureModel, tokens: TokenTable) -> FloatArray:
    """Return z̄ (D, K) of documents from their words."""
    theta = infer_topics(model, tokens.offsets, tokens.term_ids, seed=1)
    return shares_of(theta, np.diff(tokens.offsets), model.alpha)


def words(tokens: TokenTable) -> list[list[str]]:
    """Return the documents as lists of words."""
    return [[tokens.terms[v] for v in tokens.term_ids[a:b]] for a, b in pairwise(tokens.offsets.tolist())]


def model_of(theirs: Any, tokens: TokenTable, K: int) -> MixtureModel:
    """Return a model of tomotopy as one of ours, to score it by the same code."""
    place = {term: v for v, term in enumerate(tokens.terms)}
    order = [place[term] for term in theirs.used_vocabs]
    counts = np.zeros((K, tokens.n_terms))
    for k in range(K):
        counts[k, order] = np.asarray(theirs.get_topic_word_dist(k, normalize=False)) - 1 / K
    return MixtureModel(tokens.terms, sparse.csr_array(np.maximum(counts, 0).round()), np.full(K, 1 / K), 1 / K)


def line(name: str, score: float, model: MixtureModel, test: TokenTable, seconds: float) -> None:
    """Print a row."""
    held_out = perplexity(model, test, seed=1).log_likelihood_per_token
    print(f"  {name:24} {score:.3f}   log p {held_out:.4f}   {seconds:6.1f} s", flush=True)


def supervised(name: str, K: int, sweeps: int, seed: int) -> None:
    """Print the three models of a corpus."""
    file, column, kind, split = CORPORA[name]
    tokens, rows = read(file)
    a, b = halves(tokens, rows, split)
    labels = response_of(rows.column(column), kind, column)
    train, test, execution = select_documents(tokens, a), select_documents(tokens, b), Execution(seed, 1)
    y_train, y_test = Response(labels.y[a], labels.names), labels.y[b]
    C = len(labels.names)
    print(
        f"{name}: {len(a)} and {len(b)} documents, {len(train.term_ids)} tokens, {column} ({labels.kind}), K {K}",
        flush=True,
    )
    begin = time.process_time()
    fit = fit_slda(train, K, y_train, SldaOptions(iterations=sweeps), execution)
    seconds = time.process_time() - begin
    ours = Regression(fit.arrays["coefficients"], fit.arrays["intercept"])
    line("nlpkit slda", quality(ours, shares(fit.model, test), y_test), fit.model, test, seconds)

    begin = time.process_time()
    lda = fit_lda(train, LdaOptions(K, sweeps=sweeps), execution).model
    variance = 1.0 if C else float(y_train.y.var())
    after = regress(shares(lda, train), y_train.y, C, coef_variance=10.0, variance=variance)
    line("LDA + regression on theta", quality(after, shares(lda, test), y_test), lda, test, time.process_time() - begin)

    mean, sd = (0.0, 1.0) if C else (y_train.y.mean(), y_train.y.std())
    n = 1 if C in (0, 2) else C
    begin = time.process_time()
    theirs = tp.SLDAModel(k=K, vars="b" * n if C else "l", alpha=1 / K, eta=1 / K, nu_sq=[10.0] * n, seed=seed)
    for document, value in zip(words(train), y_train.y, strict=True):
        y = [(value - mean) / sd] if not C else [value] if C == 2 else np.eye(C)[int(value)].tolist()
        theirs.add_doc(document, y=y)
    theirs.train(sweeps, workers=1)
    seconds = time.process_time() - begin
    known = set(theirs.used_vocabs)
    documents = [
        theirs.make_doc([w for w in document if w in known] or [theirs.used_vocabs[0]]) for document in words(test)
    ]
    theirs.infer(documents, iterations=100, workers=1)
    estimates = np.array([theirs.estimate(document) for document in documents])
    if not C:
        score = 1 - np.mean((y_test - mean - sd * estimates[:, 0]) ** 2) / y_test.var()
    else:
        codes = (estimates[:, 0] > 0.5) if C == 2 else estimates.argmax(axis=1)
        score = float(np.mean(codes == y_test))
    line("tomotopy SLDAModel", score, model_of(theirs, train, K), test, seconds)


def labelled(sweeps: int, seed: int) -> None:
    """Print labelled LDA on Reuters: how alike the topics are, how often the first label is one of the document's, seconds."""
    tokens, rows = read("reuters21578/reuters21578.jsonl.gz")
    sets = name_sets(rows.column("labels"), ";")
    split = np.array(rows.column("split").to_pylist())
    named = (np.diff(sets.start) > 0) & (np.diff(tokens.offsets) > 0)
    a, b = np.flatnonzero(named & (split == "TRAIN")), np.flatnonzero(named & (split == "TEST"))
    train, test, labels = select_documents(tokens, a), select_documents(tokens, b), sets.take(a)
    K = len(labels.names)
    fit_labeled_lda(train, labels, LabeledLdaOptions(iterations=1))  # compiles the kernel
    begin = time.process_time()
    fit = fit_labeled_lda(train, labels, LabeledLdaOptions(iterations=sweeps), Execution(seed, 1))
    seconds = time.process_time() - begin
    begin = time.process_time()
    theirs = tp.LLDAModel(alpha=1 / K, eta=1 / K, seed=seed)
    for d, document in enumerate(words(train)):
        theirs.add_doc(document, labels=[labels.names[c] for c in labels.codes[labels.start[d] : labels.start[d + 1]]])
    theirs.train(sweeps, workers=1)
    print(
        f"reuters: {len(a)} and {len(b)} documents, {K} labels; seconds {seconds:.1f} and tomotopy's {time.process_time() - begin:.1f}"
    )
    topic = [list(theirs.topic_label_dict).index(name) for name in fit.names]
    other = model_of(theirs, train, K).renumbered(np.array(topic))
    correlation = [np.corrcoef(x, y)[0, 1] for x, y in zip(fit.model.phi, other.phi, strict=True)]
    print(
        f"  correlation of φ: mean {np.mean(correlation):.3f}, median {np.median(correlation):.3f}, least {min(correlation):.3f}"
    )
    known = [{sets.names[c] for c in sets.codes[sets.start[d] : sets.start[d + 1]]} for d in b]
    for name, model in (("nlpkit labeled-lda", fit.model), ("tomotopy LLDAModel", other)):
        first = infer_topics(model, test.offsets, test.term_ids, seed=1).argmax(axis=1)
        right = np.mean([fit.names[k] in several for k, several in zip(first, known, strict=True)])
        print(
            f"  {name:24} first label right {right:.3f}   perplexity {perplexity(model, test, seed=1).perplexity:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", choices=[*CORPORA, "reuters"])
    parser.add_argument("--k", type=int, default=20)
    parser.add_argument("--sweeps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for corpus in arguments.corpora:
        if corpus == "reuters":
            labelled(arguments.sweeps, arguments.seed)
        else:
            supervised(corpus, arguments.k, arguments.sweeps, arguments.seed)
