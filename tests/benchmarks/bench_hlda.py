"""Hierarchical LDA beside tomotopy's HLDAModel: seconds of the processor, likelihood and held-out perplexity on the same tokens.

    python tests/benchmarks/bench_hlda.py 20newsgroups ag_news [--docs 3000] [--depth 3] [--sweeps 100] [--eta 0.1,0.5]

Same tokens, depth, priors, sweeps and one thread; documents of at most 1,000 words, as one of thousands that is held out decides the
perplexity of all. log p is log p(w | paths, levels) of a token in the last state of each; perplexity is that of held-out documents, by
document completion on one path, for both trees by nlpkit's inference. Seconds are those of the processor for all sweeps, after a warm
call. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import tomotopy as tp
from scipy import sparse

import nlpkit as nk
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.text.options import TopicTokenOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.topics.base.corpus import read_topic_corpus
from nlpkit.topics.base.model import MixtureModel, select_documents
from nlpkit.topics.base.scores import HeldOutCorpus, completion, split_corpus
from nlpkit.topics.hdp.kernels import log_likelihood
from nlpkit.topics.hlda.model import HldaFitter, fit_hlda
from nlpkit.topics.hlda.options import HldaOptions
from tests.benchmarks.bench_supervised import words
from tests.peer_data import PEER_DATA

LONGEST = 1000  # words of a document
CORPORA = {"20newsgroups": "20newsgroups/20newsgroups.jsonl.gz", "ag_news": "ag_news/ag_news_test.jsonl"}


def read(name: str, n_docs: int) -> TokenTable:
    """Return the tokens of documents that are spread evenly over a corpus."""
    with read_topic_corpus(
        nk.read_corpus(PEER_DATA / CORPORA[name]), preprocess_options(TopicTokenOptions(min_df=5)), 1
    ) as corpus:
        short = np.flatnonzero(np.diff(corpus.tokens.offsets) <= LONGEST)
        return select_documents(corpus.tokens, short[np.linspace(0, len(short) - 1, n_docs).astype(np.int64)])


def by_tomotopy(tokens: TokenTable, options: HldaOptions, seed: int) -> tuple[Any, float]:
    """Return the fit as one of ours has it, and the seconds of its sweeps."""
    peer = tp.HLDAModel(depth=options.depth, alpha=options.alpha, gamma=options.gamma, eta=options.eta, seed=seed)
    for document in words(tokens):
        peer.add_doc(document)
    peer.train(0)
    begin = time.process_time()
    peer.train(options.iterations, workers=1)
    seconds = time.process_time() - begin
    live = np.array([k for k in range(peer.k) if peer.is_live_topic(k)])
    live = live[np.argsort([peer.level(k) for k in live], kind="stable")]  # the root first
    place = np.full(peer.k, -1)
    place[live] = np.arange(len(live))
    term = {word: v for v, word in enumerate(tokens.terms)}
    ids = np.array([term[word] for word in peer.used_vocabs])
    counts = np.zeros((len(live), tokens.n_terms), np.int32)
    for document in peer.docs:
        np.add.at(counts, (place[np.asarray(document.topics)], ids[np.asarray(document.words)]), 1)
    tree = [
        (place[peer.parent_topic(k)] if peer.level(k) else -1, peer.level(k), peer.num_docs_of_topic(k)) for k in live
    ]
    model = MixtureModel(tokens.terms, sparse.csr_array(counts), np.zeros(len(live)), options.eta)
    return SimpleNamespace(model=model, arrays={"tree": np.array(tree, np.float64)}), seconds


def line(name: str, fit: Any, corpus: HeldOutCorpus, options: HldaOptions, seconds: float) -> None:
    """Print a row."""
    model, infer = HldaFitter(options).inference(fit, 1, 1)
    perplexity = np.exp(-completion(model, corpus, infer).sum() / sum(corpus.n_tokens))
    n_vk = np.ascontiguousarray(model.topic_term.toarray().T.astype(np.int32))
    log_p = log_likelihood(n_vk.sum(axis=0, dtype=np.int64), n_vk, options.eta) / n_vk.sum()
    topics = "+".join(str(n) for n in np.bincount(fit.arrays["tree"][:, 1].astype(int)))
    print(
        f"  {name:10} {seconds:7.2f} s   log p {log_p:.4f}   perplexity {perplexity:7.0f}   topics {topics}", flush=True
    )


def main() -> None:
    """Print two rows for each corpus, prior and seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", choices=CORPORA)
    parser.add_argument("--docs", type=int, default=3000)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=100)
    parser.add_argument("--eta", default="0.1,0.5")
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    for name in arguments.corpora:
        corpus = split_corpus(read(name, arguments.docs), 0.1, 1, None, None)
        train = corpus.train
        fit_hlda(select_documents(train, np.arange(50)), HldaOptions(arguments.depth, iterations=2))  # compiles
        for eta in map(float, arguments.eta.split(",")):
            options = HldaOptions(arguments.depth, eta=eta, iterations=arguments.sweeps)
            print(
                f"{name}: {train.n_docs} documents, {len(train.term_ids)} tokens, {options.priors()}, {arguments.sweeps} sweeps"
            )
            for seed in range(1, arguments.seeds + 1):
                begin = time.process_time()
                fit = fit_hlda(train, options, Execution(seed, 1))
                line("nlpkit", fit, corpus, options, time.process_time() - begin)
                theirs, seconds = by_tomotopy(train, options, seed)
                line("tomotopy", theirs, corpus, options, seconds)


if __name__ == "__main__":
    main()
