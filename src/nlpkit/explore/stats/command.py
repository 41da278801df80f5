"""nlpkit stats: how big a corpus is, which words it has, and how well they follow the laws of Zipf and Heaps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.platform.cli import console
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import WRITTEN, Param, options
from nlpkit.text.options import CountOptions


@options
class StatisticsOptions:
    """What is counted, shown and drawn."""

    PANEL: ClassVar[str] = "Statistics"

    by: Annotated[
        str | None,
        Param(
            "Also count separately for each value of a column, such as label or topic. date:year (decade, quarter, "
            "month, week, day) uses a part of a date.",
            metavar="COLUMN",
        ),
    ] = None
    top: Annotated[int, Param("Number of words and n-grams to show.", ("top", "top_n"), min=1)] = 10
    ngrams: Annotated[str, Param("Sizes of n-grams, from 2 to 5; none = no n-grams.", metavar="N,…")] = "2,3"
    zipf_s: Annotated[float | None, Param("Exponent for the Zipf table. Default: the fitted exponent.", min=0)] = None
    readability: Annotated[
        bool, Param("Compute readability scores: Flesch, Flesch-Kincaid, Wiener Sachtextformel, LIX.", off="")
    ] = False
    dispersion: Annotated[
        bool, Param("Measure how evenly words are spread over the documents (Gries' DP, Juilland's D).", off="")
    ] = False
    plot: Annotated[
        list[str] | None,
        Param(
            "Draw zipf, heaps, lengths (.png .svg .html) or cloud (.png). Separate several with commas.",
            metavar="[KIND:]FILE",
        ),
        WRITTEN,
    ] = None
    font: Annotated[
        Path | None,
        Param("Font of the word cloud. Default: a font that has the letters.", metavar="FILE", panel="More"),
    ] = None


def stats_cli(
    inputs: Inputs, out: OutputFlags, read: ReadOptions, run: RunFlags, words: CountOptions, show: StatisticsOptions
) -> None:
    """Count words and documents, and fit the laws of Zipf and Heaps.

    All words count, including stop words. If the documents have tokens, these are counted instead. Zipf's exponent is the
    maximum likelihood estimate, with its standard error and the largest gap between law and corpus. Heaps' law is fitted to the
    growth of the vocabulary in the order of the documents. MTLD, MATTR and HD-D measure lexical diversity independently of
    length. N-grams must occur at least twice to be listed.

    -o writes a table (term, cf, df, rank, share, zipf; with --dispersion also dp, dp_norm and juilland_d), with --by for each
    class.

    \b
    Examples:
      nlpkit stats data/samples/news.jsonl
      nlpkit stats data/samples/news.jsonl --by label --top 5 -o terms.parquet
      nlpkit stats data/samples/nachrichten.jsonl --plot zipf.html --ngrams 2
    """
    from nlpkit.explore import views as render
    from nlpkit.explore.stats.plots import parse_plots, write_plots
    from nlpkit.explore.stats.run import ngram_sizes, stats
    from nlpkit.platform.documents.corpus import read_corpus, warn_dropped
    from nlpkit.text.settings import preprocess_options

    preprocess_options(words.tokens())
    ngram_sizes(show.ngrams)
    if run.dry_run:
        dry_run(inputs, read)
        return
    target = out.given_table_target("terms.parquet")
    plots = parse_plots(show.plot or (), force=out.force)
    corpus = read_corpus(*inputs, options=read, beside=target)
    counted = stats(
        corpus, by=show.by, top=show.top, ngrams=show.ngrams, zipf_s=show.zipf_s, readability=show.readability, dispersion=show.dispersion,
        words=words, execution=run,
    )  # fmt: skip
    if target is not None:
        counted.save(target, force=out.force)
    else:
        warn_dropped(counted.stream, None)
    if plots:
        write_plots(plots, counted, seed=run.seed, font=show.font, force=out.force)
    if run.json or target != "-":
        console.say(render.statistics_blocks(counted), counted.to_dict)
