"""nlpkit collocations: pairs of words that stand near each other, and the collocates of one word."""

from __future__ import annotations

from nlpkit.explore.collocations.model import CollocationOptions
from nlpkit.platform.cli import console
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.text.options import CountOptions


def collocations_cli(
    inputs: Inputs, pairs: CollocationOptions, words: CountOptions, out: OutputFlags, read: ReadOptions, run: RunFlags
) -> None:
    """Find word pairs that attract each other, or one word's collocates.

    The table shows the counts of each pair with PMI, NPMI, G², t, Dice and log-Dice. N counts the pairs of positions at most
    --window words apart; n_xy of them hold x before y, n_x have x first, and n_y have y second. All measures use this 2 × 2
    table. With --node or --any-order both orders count, and n_x is the number of words within the windows of x.

    Pairs do not cross documents, and punctuation does not count as a position. All words count. --stop-words removes pairs with
    these words; the words still count as positions.

    \b
    Examples:
      nlpkit collocations data/samples/news.jsonl --stop-words auto
      nlpkit collocations data/samples/news.jsonl --node court --window 4 --measure log-dice
      nlpkit collocations data/samples/nachrichten.jsonl --min-count 3 -o pairs.csv
    """
    from nlpkit.text.settings import preprocess_options

    preprocess_options(words.tokens())
    if run.dry_run:
        dry_run(inputs, read)
        return
    target = out.given_table_target("pairs.parquet")

    from nlpkit.explore.collocations.run import collocations
    from nlpkit.explore.views import collocation_blocks
    from nlpkit.platform.documents.corpus import read_corpus, warn_dropped

    table = collocations(
        read_corpus(*inputs, options=read, beside=target), options=pairs, words=words, execution=run
    )  # fmt: skip
    if target is not None:
        table.save(target, force=out.force)
    else:
        warn_dropped(table.stream, None)
    if target != "-":
        console.say(collocation_blocks(table), table.to_dict)
