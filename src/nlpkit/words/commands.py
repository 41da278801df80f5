"""The commands of words: `nlpkit embed-words`, the questions of `nlpkit words`, and `nlpkit similar-words`.

Parts, in this order:
- nlpkit embed-words: word embeddings of documents.
- nlpkit words: questions about word vectors.
- nlpkit similar-words: how alike words are, and the words of a vocabulary nearest to a word.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.errors import UsageError
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Argument, Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import READ, WRITTEN, Param
from nlpkit.platform.views.figures import WordPictureOptions
from nlpkit.text.options import CountOptions
from nlpkit.words.options import VectorOptions, WordEmbeddingOptions
from nlpkit.words.spelling import SimilarityOptions


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
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.text.estimate import estimate
    from nlpkit.words.files import check_word2vec_name
    from nlpkit.words.run import embed_words
    from nlpkit.words.views import embedding_blocks

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


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit words: questions about word vectors.

HELP = """Query word vectors: neighbours, analogies, similarity, odd one out.

\b
Examples:
  nlpkit words nearest vectors/ river court
  nlpkit words analogy vectors/ --questions questions-words.txt
  nlpkit words similarity vectors/ --pairs wordsim353.tsv

VECTORS is a run of nlpkit embed-words, a Parquet file with columns word and embedding, or a file of word2vec, fastText (.vec)
or GloVe. word2vec files are text, or binary if the name ends in .bin.
"""
VectorFile = Annotated[
    Path, Argument("Run of embed-words, or a file of word vectors (.txt .vec .bin .parquet).", metavar="VECTORS"), READ
]
Words = Annotated[list[str], Argument("Words to look up.", metavar="WORD")]
SomeWords = Annotated[list[str] | None, Argument("Words to look up.", metavar="WORD")]
Top = Annotated[int, Param("Number of words to show for each word.", min=1)]


def nearest_cli(
    vectors: VectorFile, words: Words, *, top: Top = 10, options: VectorOptions, out: OutputFlags, run: RunFlags
) -> None:
    """Find the words nearest to some words, by the cosine of their vectors.

    With fastText vectors, a word missing from the vocabulary gets a vector from its n-grams.

    \b
    Examples:
      nlpkit words nearest vectors/ river court
      nlpkit words nearest vectors/ river --top 30 -o neighbours.csv
      nlpkit words nearest glove.txt river --most-frequent 50000
    """
    from nlpkit.words import views as render
    from nlpkit.words.query import nearest_words

    target = out.given_table_target("neighbours.csv")
    if run.dry_run:
        console.plan({"words": len(set(words)), "vectors": str(vectors)})
        return
    near = nearest_words(vectors, words, top=top, options=options, execution=run)
    render.show(near, target, force=out.force)


def analogy_cli(
    vectors: VectorFile,
    words: SomeWords = None,
    *,
    questions: Annotated[
        Path | None, Param("Analogies in sections, in the format of questions-words.txt.", metavar="FILE"), READ
    ] = None,
    measure: Annotated[
        str, Param("Formula: 3cosadd (b - a + c) or 3cosmul (Levy and Goldberg 2014).", metavar="MEASURE")
    ] = "3cosadd",
    top: Top = 5,
    options: VectorOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Complete analogies (a is to b as c is to …), or score a file of them.

    The words of a question are not allowed as answers. For a file, nlpkit prints the share of right answers, by section and
    overall, among the questions whose four words are known. It also prints the number of the other questions.

    \b
    Examples:
      nlpkit words analogy vectors/ he his she
      nlpkit words analogy vectors/ --questions questions-words.txt -o analogies.csv
      nlpkit words analogy vectors/ --questions questions-words.txt --measure 3cosmul
    """
    from nlpkit.words import views as render
    from nlpkit.words.query import analogies, analogy, check_measure

    check_measure(measure)
    if (questions is None) == (not words):
        raise UsageError("give three words (a is to b as c is to …), or a file of questions: --questions FILE")
    target = out.given_table_target("analogies.csv")
    if run.dry_run:
        console.plan({"questions": str(questions or " ".join(words or ())), "vectors": str(vectors)})
        return
    if questions is None:
        answers = analogy(vectors, words or (), measure=measure, top=top, options=options, execution=run)
    else:
        answers = analogies(vectors, questions, measure=measure, options=options, execution=run)
    render.show(answers, target, force=out.force)


def similarity_cli(
    vectors: VectorFile,
    words: SomeWords = None,
    *,
    pairs: Annotated[
        Path | None,
        Param("Word pairs with human ratings, such as WordSim-353 or SimLex-999.", metavar="FILE"),
        READ,
    ] = None,
    options: VectorOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Compare words by the cosine of their vectors, or with human ratings.

    For a file of rated pairs, nlpkit prints Spearman's rho and Pearson's r between cosines and ratings with 95 % intervals.
    Only pairs with two vectors count, and nlpkit prints how many these are.

    \b
    Examples:
      nlpkit words similarity vectors/ river boat court
      nlpkit words similarity vectors/ --pairs wordsim353.tsv
      nlpkit words similarity vectors/ --pairs simlex999.txt --json
    """
    from nlpkit.words import views as render
    from nlpkit.words.query import word_similarity

    target = out.given_table_target("similarity.csv")
    if (pairs is None) == (not words):
        raise UsageError("give two words or more, or a file of rated pairs: --pairs FILE")
    if run.dry_run:
        console.plan({"words": len(set(words or ())), "pairs": str(pairs or ""), "vectors": str(vectors)})
        return
    compared = word_similarity(vectors, words or (), pairs=pairs, options=options, execution=run)
    render.show(compared, target, force=out.force)


def odd_one_out_cli(
    vectors: VectorFile, words: Words, *, options: VectorOptions, out: OutputFlags, run: RunFlags
) -> None:
    """Find the word that is least like the others.

    It is the word with the smallest cosine to the mean of all of them.

    \b
    Examples:
      nlpkit words odd-one-out vectors/ river boat court music
      nlpkit words odd-one-out vectors/ judge jury music --json
      nlpkit words odd-one-out vectors/ judge jury music -o odd.csv
    """
    from nlpkit.words import views as render
    from nlpkit.words.query import odd_one_out

    target = out.given_table_target("odd.csv")
    if run.dry_run:
        console.plan({"words": len(set(words)), "vectors": str(vectors)})
        return
    render.show(odd_one_out(vectors, words, options=options, execution=run), target, force=out.force)


def bias_cli(
    vectors: VectorFile,
    sets: Annotated[
        Path, Argument("TOML file with two lists under [attributes] and two under [targets].", metavar="SETS"), READ
    ],
    *,
    project: Annotated[
        str | None, Param("More words to place on the line between the attributes.", metavar="WORD,…")
    ] = None,
    line: Annotated[
        str,
        Param(
            "Direction of the line: means (difference of means, Garg) or pairs (first component of word pairs, "
            "Bolukbasi).",
            metavar="LINE",
        ),
    ] = "means",
    options: VectorOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Test whether words are closer to one set of words than another (WEAT).

    The effect size and the p-value over partitions of the targets follow Caliskan et al. (2017). --project also places words
    between the two sets: the projection is the cosine with the line from the second list of attributes to the first. Words
    without a vector are left out and listed.

    \b
    Examples:
      nlpkit words bias vectors/ data/samples/word-sets.toml
      nlpkit words bias vectors/ data/samples/word-sets.toml --project team,hospital,court
      nlpkit words bias vectors/ data/samples/word-sets.toml --line pairs -o bias.csv
    """
    from nlpkit.words import views as render
    from nlpkit.words.bias import check_line, word_bias

    check_line(line)
    target = out.given_table_target("bias.csv")
    if run.dry_run:
        console.plan({"sets": str(sets), "vectors": str(vectors)})
        return
    render.show(
        word_bias(vectors, sets, project=project, line=line, options=options, execution=run), target, force=out.force
    )


def drift_cli(
    first: Annotated[Path, Argument("Vectors of the first period: a run or a file.", metavar="FIRST"), READ],
    second: Annotated[
        Path, Argument("Vectors of the second period, with the same number of dimensions.", metavar="SECOND"), READ
    ],
    *,
    top: Annotated[int, Param("Number of words whose neighbours are shown.", min=1)] = 20,
    least_count: Annotated[int, Param("Minimum number of occurrences of a word in both periods.", min=1)] = 1,
    options: VectorOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Find the words that moved most between two vector spaces.

    The vectors usually come from two periods. nlpkit rotates the first space onto the second (orthogonal Procrustes, Hamilton
    et al. 2016). Rare words have noisy vectors, so z compares the distance of a word with the distances of words of similar
    frequency.

    \b
    Examples:
      nlpkit words drift early/ late/
      nlpkit words drift early/ late/ --least-count 20 --top 10
      nlpkit words drift early/ late/ -o drift.parquet
    """
    from nlpkit.words import views as render
    from nlpkit.words.bias import word_drift

    target = out.given_table_target("drift.csv")
    if run.dry_run:
        console.plan({"first": str(first), "second": str(second)})
        return
    moved = word_drift(first, second, top=top, least_count=least_count, options=options, execution=run)
    render.show(moved, target, force=out.force)


def plot_cli(
    vectors: VectorFile,
    words: Words,
    *,
    picture: WordPictureOptions,
    options: VectorOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Draw words in two dimensions (principal components): SVG, PDF or PNG.

    The axes show how much of the variance of these words they explain. The same vectors give the same bytes.

    \b
    Examples:
      nlpkit words plot vectors/ river boat court judge music film -o words.svg
      nlpkit words plot vectors/ court music --neighbours 8 -o neighbours.pdf
      nlpkit words plot vectors/ court judge jury --style serif --width 8 -o small.png
    """
    from nlpkit.platform.runs.atomic import check_target
    from nlpkit.platform.views.picture import check_picture_name
    from nlpkit.words.picture import plot_words

    if out.output is None:
        raise UsageError("no output is named; add -o words.svg", parameter="output")
    target = check_picture_name(out.output, "words")
    check_target(target, force=out.force)
    if run.dry_run:
        console.plan({"pictures": 1})
        return
    plot_words(vectors, words, picture=picture, options=options, execution=run).save(target, force=out.force)
    if run.json:
        console.emit_json({"output": str(target), "words": words})


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit similar-words: how alike words are, and the words of a vocabulary nearest to a word.


def similar_words_cli(
    words: Annotated[list[str], Argument("Words to compare.", metavar="WORD")],
    compare: SimilarityOptions,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Find words with a similar spelling.

    The measures are Jaccard, Dice, overlap and cosine of the sets of character n-grams, and the Levenshtein distance (also
    divided by the length of the longer word). Two or more words give a table of all pairs. --in finds the nearest words in a
    corpus: other forms, compounds, misspellings. Words shorter than --n have no n-grams, unless --pad adds characters at the
    ends.

    \b
    Examples:
      nlpkit similar-words work worker working
      nlpkit similar-words parliment --in data/samples/news.jsonl --measure levenshtein
      nlpkit similar-words Straße Bahnhof --in data/samples/nachrichten.jsonl -o w.parquet
    """
    from nlpkit.words import views as render
    from nlpkit.words.similar_run import check_words, similar_words

    target = out.given_table_target("similar.parquet")
    check_words(words, compare)
    if run.dry_run:
        console.plan(render.plan(words, compare.within))
        return
    similar = similar_words(words, options=compare, read=read, execution=run)
    if target is not None:
        similar.save(target, force=out.force)
    render.similar_words(similar, target)
