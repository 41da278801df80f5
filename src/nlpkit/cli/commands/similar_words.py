"""nlpkit similar-words: how alike words are, and the words of a vocabulary nearest to a word."""

from __future__ import annotations

from typing import Annotated

from nlpkit.cli import console
from nlpkit.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.similarity_options import SimilarityOptions


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
    from nlpkit.cli.render import similar_words as render
    from nlpkit.workflows.similar_words import check_words, similar_words

    target = out.given_table_target("similar.parquet")
    check_words(words, compare)
    if run.dry_run:
        console.plan(render.plan(words, compare.within))
        return
    similar = similar_words(words, options=compare, read=read, execution=run)
    if target is not None:
        similar.save(target, force=out.force)
    render.similar_words(similar, target)
