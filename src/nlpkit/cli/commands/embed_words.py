"""nlpkit embed-words: word embeddings of documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.cli import console
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import WRITTEN, Param
from nlpkit.text.options import CountOptions
from nlpkit.words.options import WordEmbeddingOptions


def embed_words_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    save_word2vec: Annotated[
        Path | None,
        Param("File of the vectors in word2vec format (.txt, .vec or .bin).", metavar="FILE", panel="Output"),
        WRITTEN,
    ] = None,
    embedding: WordEmbeddingOptions,
    tokens: CountOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Learn word vectors: word2vec, fastText, GloVe, PMI-SVD, doc2vec.

    \b
    Examples:
      nlpkit embed-words data/samples/news.jsonl --min-count 3 --epochs 20 -o vectors/
      nlpkit embed-words data/samples/news.jsonl --method glove --save-word2vec glove.txt -o glove/
      nlpkit embed-words data/samples/news.jsonl --method pmi-svd --window 2 --context -o pmi/

    An existing column 'tokens' is used; otherwise all words of the texts. Stop words are kept unless you set --stop-words auto.
    The command writes a run directory with words.parquet (word, count, embedding), and for doc2vec documents.parquet. Without
    -o, it is <input>.embed-words/ in the current directory. `nlpkit words` queries it, and `nlpkit evaluate --vectors` uses it.

    The result does not depend on --threads. gensim learns all methods except glove and pmi-svd, on one thread. --workers N is
    faster, but gives different vectors each time.
    """
    from nlpkit.cli.render.words import embedding_blocks
    from nlpkit.io.word_vectors import check_word2vec_name
    from nlpkit.workflows.corpus import read_corpus
    from nlpkit.workflows.embed_words import embed_words
    from nlpkit.workflows.estimate import estimate

    embedding.resolved()
    if save_word2vec is not None:
        check_word2vec_name(save_word2vec)
    target = out.run_target(inputs, "embed-words")
    corpus = read_corpus(*inputs, options=read, beside=target)
    if run.dry_run:
        console.plan(estimate(corpus))
        return
    learned = embed_words(corpus, options=embedding, tokens=tokens, execution=run)
    learned.save(target, force=out.force)
    if save_word2vec is not None:
        learned.save_word2vec(save_word2vec, force=out.force)
    results = learned.results()
    console.say(
        embedding_blocks(learned, results, target),
        lambda: {"run": str(target), "method": learned.options.method, **results},
    )
