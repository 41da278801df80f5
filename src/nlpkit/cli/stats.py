"""nlpkit stats: how big a corpus is, which words it has, and how well they follow the laws of Zipf and Heaps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.errors import UsageError
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import WRITTEN, Param

if TYPE_CHECKING:
    import pyarrow as pa

    from nlpkit.cli.stats_count import CountedWords
    from nlpkit.io.corpora import DocumentStream
    from nlpkit.text.options import PreprocessOptions


@dataclass(frozen=True, slots=True)
class CountFlags:
    """Which words are counted, when the documents have no tokens yet."""

    language: Annotated[str, Param("ISO code or name; auto = detected; none = no language.", ("language", "lang"))] = (
        "auto"
    )
    stop_words: Annotated[
        str, Param("none: they count; auto = those of the language are left out; codes such as en,de.")
    ] = "none"
    lower: Annotated[bool, Param("Lower case.")] = True
    min_length: Annotated[int, Param("Least letters of a word.", min=1)] = 1

    def options(self) -> PreprocessOptions:
        """Return the options of the core. Raises UsageError when a language is unknown."""
        from nlpkit.text.language import language_code, stop_list_code
        from nlpkit.text.options import PreprocessOptions

        plain = ("auto", "none")
        stop = self.stop_words
        return PreprocessOptions(
            language=self.language if self.language in plain else language_code(self.language),
            stop_words=stop if stop in plain else ",".join(stop_list_code(name) for name in stop.split(",")),
            lower=self.lower,
            min_length=self.min_length,
            min_df=1,
        )


def stats_cli(
    inputs: Inputs,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
    count: CountFlags,
    by: Annotated[
        str | None,
        Param(
            "Also for each value of a column: label, topic …; date:year (decade, quarter, month, week, day) takes a part of a date."
        ),
    ] = None,
    top: Annotated[int, Param("Words and n-grams to show.", ("top", "top_n"), min=1)] = 10,
    ngrams: Annotated[str, Param("Sizes of n-grams, from 2 to 5; none = none.")] = "2,3",
    zipf_s: Annotated[
        float | None,
        Param("Exponent of the Zipf table; default: the fitted one.", min=0),
    ] = None,
    plot: Annotated[
        list[str] | None,
        Param("zipf, heaps, lengths (.png .svg .html) or cloud (.png); several allowed.", metavar="[KIND:]FILE"),
        WRITTEN,
    ] = None,
    font: Annotated[
        Path | None,
        Param("Font of the word cloud; default: one that has the letters.", metavar="FILE"),
    ] = None,
) -> None:
    """Count words and documents; fit the laws of Zipf and Heaps.

    All words count, stop words too, unless the documents already have tokens: then these. Zipf's exponent is the most
    likely one, with its standard error and the largest gap between law and corpus; Heaps' law is fitted to the growth of
    the vocabulary in the order of the documents. N-grams are listed that occur twice or more. With -o a table (term, cf,
    df, rank, share, zipf) is written, with --by for each class.

    \b
    Examples:
      nlpkit stats data/samples/news.jsonl
      nlpkit stats data/samples/news.jsonl --by label --top 5 -o terms.parquet
      nlpkit stats data/samples/nachrichten.jsonl --plot zipf.html --ngrams 2
    """
    from nlpkit.cli.dry_run import dry_run

    options, sizes = count.options(), _sizes(ngrams)
    if run.dry_run:
        dry_run(inputs, read)
        return
    target = out.given_table_target("terms.parquet")

    from nlpkit.cli.stats_count import count_words
    from nlpkit.cli.stats_plots import parse_plots, write_plots
    from nlpkit.cli.stats_show import as_json, show
    from nlpkit.io.corpora import open_documents
    from nlpkit.io.spool import spool_beside
    from nlpkit.workflows.corpus import warn_dropped

    plots = parse_plots(plot or (), force=out.force)
    with open_documents(inputs, read) as stream, spool_beside(target or "-") as spool:
        counted = count_words(
            stream, options, spool, inputs, by=by, ngrams=sizes, top=top, threads=run.n_threads()
        )  # fmt: skip
    if counted.report is None:
        reporting.note("the words are those of the column 'tokens', as they are")
    languages = _languages(counted, stream, options)
    fitted = counted.whole.figures.zipf.exponent
    if counted.ungrouped and by is not None:
        reporting.note(f"in no group: {wording.counted(counted.ungrouped, 'document')} without a value in '{by}'")
    if target is not None:
        parameters = {
            "by": by, "language": options.language, "stop_words": options.stop_words, "lower": options.lower,
            "min_length": options.min_length, "tokens": "given" if counted.report is None else "made", "zipf_s": zipf_s,
        }  # fmt: skip
        _write_terms(counted, stream, target, parameters, zipf_s, force=out.force)
    else:
        warn_dropped(stream, None)
    if plots:
        write_plots(
            plots, counted, exponent=fitted if zipf_s is None else zipf_s, languages=languages, seed=run.seed, font=font,
            force=out.force,
        )  # fmt: skip
    if run.json:
        extra = {"languages": languages, "tokens_column": counted.report is None, "dropped": len(stream.dropped)}
        console.emit_json({**as_json(counted, by=by, top=top, exponent=zipf_s), **extra})
    elif target != "-":
        show(counted, by=by, top=top, exponent=zipf_s)


def _sizes(text: str) -> tuple[int, ...]:
    """Return the sizes of n-grams that --ngrams names, ascending."""
    if text.strip() in ("none", ""):
        return ()
    if not re.fullmatch(r"\s*[2-5]\s*(,\s*[2-5]\s*)*", text):
        raise UsageError(f"--ngrams takes sizes from 2 to 5 such as 2,3, or none; got '{text}'")
    return tuple(sorted({int(n) for n in text.split(",")}))


def _languages(counted: CountedWords, stream: DocumentStream, options: PreprocessOptions) -> list[str]:
    """Return the languages of the documents: given, detected, or those that preprocess found."""
    if counted.report is not None:
        return [share.code for share in counted.report.languages]
    if options.language not in ("auto", "none"):
        return [options.language]
    if options.language == "none":
        return []
    from nlpkit.io.footers import step_parameters
    from nlpkit.workflows.corpus import steps

    found = step_parameters(steps(stream), "preprocess") or {}
    return [str(code) for code, _ in found.get("languages", ())]


def _write_terms(
    counted: CountedWords, stream: DocumentStream, target: str, parameters: dict[str, Any], exponent: float | None,
    *, force: bool,
) -> None:  # fmt: skip
    from nlpkit.io.artifacts import footer_block
    from nlpkit.io.tables import table_sink, write_dropped
    from nlpkit.workflows.corpus import steps, warn_dropped

    parts = counted.groups if parameters["by"] is not None else [counted.whole]
    tables = [_terms(counted, i, exponent) for i in range(len(parts))]
    block = footer_block(
        "term_frequencies", command="stats", parameters=parameters, seed=None, inputs=stream.inputs, steps=steps(stream)
    )
    with table_sink(target, tables[0].schema, block, force=force) as sink:
        for table in tables:
            for batch in table.to_batches(max_chunksize=100_000):
                sink.write(batch)
    warn_dropped(stream, write_dropped(target, stream.dropped, block))
    if target != "-":
        reporting.note(f"wrote {target}: {wording.counted(sum(t.num_rows for t in tables), 'term')}")


def _terms(counted: CountedWords, part: int, exponent: float | None) -> pa.Table:
    """Return the words of the corpus, or of one of its groups, by rank."""
    import numpy as np
    import pyarrow as pa

    from nlpkit.metrics.zipf import zipf_frequencies

    group = counted.groups[part] if counted.groups else counted.whole
    V, s = len(group.cf), group.figures.zipf.exponent if exponent is None else exponent
    law = zipf_frequencies(float(group.cf[0]), s, V) if V and s == s else np.full(V, np.nan)
    columns = {
        "term": counted.terms.take(pa.array(group.ids)),
        "cf": pa.array(group.cf, pa.int64()),
        "df": pa.array(group.df, pa.int64()),
        "rank": pa.array(np.arange(1, V + 1, dtype=np.int32)),
        "share": pa.array(group.cf / max(group.figures.tokens, 1)),
        "zipf": pa.array(law, from_pandas=True),
    }
    if counted.groups:
        return pa.table({"class": pa.array([group.name] * V, pa.string()), **columns})
    return pa.table(columns)
