"""Word embeddings by all methods on a corpus at hand, beside gensim: seconds, analogies, word similarity.

    python tests/benchmarks/bench_words.py --data /work/shared/data -o docs/benchmarks/word-embeddings.md

Every method sees the same tokens (words in lower case, none left out but those of under 10 occurrences). gensim is called with the same
settings on one thread, on lists of words that are in memory; its vectors must be nlpkit's.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import nlpkit as nk
from nlpkit.text.options import CountOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.weights.counts import count_corpus
from nlpkit.words.files import write_word2vec
from nlpkit.words.learn import frequent, learn
from nlpkit.words.options import METHODS, OF_GENSIM, WordEmbeddingOptions

CORPORA = {
    "AG News": "ag_news/ag_news_train_sub.jsonl.gz",
    "State of the Union since 1900": "sotu/sotu_1900_on.jsonl.gz",
    "UN General Debate": "un_general_debate/ungd_5countries_1970on.jsonl.gz",
}
PAIRS = {"WordSim-353": "wordsim353.csv", "MEN": "men3000.csv", "SimLex-999": "simlex999.csv"}
MIN_COUNT = 10


def tokens_of(data: Path, names: list[str]) -> Any:
    """Return the tokens of the corpora."""
    with nk.read_corpus(*(data / CORPORA[name] for name in names)).open() as stream:
        settings = preprocess_options(CountOptions().tokens())
        with count_corpus(stream, settings, threads=2) as words:
            return words.tokens()


def gensim_seconds(method: str, sentences: list[list[str]], options: WordEmbeddingOptions) -> tuple[float, Any]:
    """Return the time of gensim's own call, and its vectors."""
    from gensim.models import FastText, Word2Vec

    shared: dict[str, Any] = {"vector_size": 100, "min_count": MIN_COUNT, "workers": 1, "seed": 42}
    start = time.perf_counter()
    if method == "fasttext":
        model = FastText(sentences, sg=1, bucket=options.buckets, **shared)
    else:
        model = Word2Vec(sentences, sg=int(method == "sgns"), **shared)
    return time.perf_counter() - start, model.wv


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--methods", nargs="+", default=[m for m in METHODS if not m.startswith("doc2vec")])
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    tokens = tokens_of(args.data, args.corpora)
    kept = frequent(tokens, MIN_COUNT)
    terms = np.array(kept.terms, dtype=object)
    sentences = [list(terms[kept.term_ids[a:b]]) for a, b in zip(kept.offsets[:-1], kept.offsets[1:], strict=True)]
    sentences = [text[i : i + 10_000] for text in sentences for i in range(0, len(text), 10_000)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for method in args.methods:
            options = WordEmbeddingOptions(method=method, min_count=MIN_COUNT).resolved()
            start = time.perf_counter()
            learned = learn(tokens, options, seed=42, threads=args.threads)
            seconds = time.perf_counter() - start
            beside = "–"
            if method in OF_GENSIM:
                other, vectors = gensim_seconds(method, sentences, options)
                same = all(np.array_equal(vectors[w], learned.vectors.vector(w)) for w in learned.vectors.words)
                beside = f"{other:.0f} s{', equal vectors' if same else ', other vectors'}"
            path = Path(folder) / f"{method}.bin"
            write_word2vec(path, learned.vectors)
            questions = args.data / "wordsim" / "questions-words.txt"
            add, mul = (nk.analogies(path, questions, measure=m).facts["accuracy"] for m in ("3cosadd", "3cosmul"))
            rhos = {n: nk.word_similarity(path, pairs=args.data / "wordsim" / file).facts for n, file in PAIRS.items()}
            cells = [
                f"{f['spearman']:.3f} ({f['spearman_low']:.2f} to {f['spearman_high']:.2f})" for f in rhos.values()
            ]
            rows.append([f"`{method}`", f"{seconds:.0f} s", beside, *cells, f"{add:.3f}", f"{mul:.3f}"])
            print(rows[-1], flush=True)
    covered = ", ".join(f"{n} {f['pairs_with_vectors']} of {f['pairs_in_file']}" for n, f in rhos.items())
    head = [
        "method",
        f"nlpkit, {args.threads} threads where it has any",
        "gensim, one thread",
        *PAIRS,
        "3CosAdd",
        "3CosMul",
    ]
    table = "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])
    machine = f"{platform.machine()}, {args.threads} cores, Python {platform.python_version()}"
    text = f"""# Word embeddings

Made by `tests/benchmarks/bench_words.py` on {machine}, while other work ran on the same machine.

{len(kept.term_ids):,} tokens of {len(kept.terms):,} words ({", ".join(args.corpora)}), 100
dimensions, the defaults of each method, at least {MIN_COUNT} occurrences, seed 42. Spearman's rho with 95 % intervals (pairs
with two vectors: {covered}); accuracy of the questions of questions-words.txt whose four words are known.

{table}

gensim is called with the same settings on lists of words in memory. The corpus is small for word vectors, and its analogies are
hard: published figures are those of billions of words.
"""
    args.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
