"""nlpkit preprocess: texts to tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nlpkit.cli import console
from nlpkit.cli.options import Inputs, OutputFlags, ReadFlags, RunFlags, command
from nlpkit.errors import UsageError

if TYPE_CHECKING:
    from nlpkit.text.preprocess import PreprocessOptions, PreprocessReport


@dataclass(frozen=True, slots=True)
class TokenFlags:
    """How texts become tokens."""

    language: Annotated[
        str, typer.Option("--language", "--lang", help="ISO code or name; auto = detected; none = no language.")
    ] = "auto"
    stop_words: Annotated[
        str, typer.Option(help="auto = of the language; none; codes such as en,de; or a file with a word per line.")
    ] = "auto"
    lower: Annotated[bool, typer.Option("--lower/--no-lower", help="Lower case.")] = True
    min_df: Annotated[
        str, typer.Option(help="Least documents of a term; 0.01 = a share; auto = 2 from 100 documents on, else 1.")
    ] = "auto"
    max_df: Annotated[str, typer.Option(help="Most documents of a term; a number, or a share such as 0.5.")] = "1.0"

    def options(self) -> PreprocessOptions:
        """Return the options of the core.

        Raises:
            UsageError: a bound is not a number, or a language is unknown.
        """
        from nlpkit.text.language import language_code
        from nlpkit.text.preprocess import PreprocessOptions

        extra: frozenset[str] = frozenset()
        stop_words, language = self.stop_words, self.language
        if stop_words not in ("auto", "none") and Path(stop_words).is_file():
            from nlpkit.io.wordlists import read_words

            extra = read_words(Path(stop_words))
            stop_words = "auto"
        elif stop_words not in ("auto", "none"):
            for code in stop_words.split(","):
                language_code(code)
        return PreprocessOptions(
            language=language if language in ("auto", "none") else language_code(language),
            stop_words=stop_words,
            extra_stop_words=extra,
            lower=self.lower,
            min_df=None if self.min_df == "auto" else _bound(self.min_df, "--min-df"),
            max_df=_bound(self.max_df, "--max-df"),
        )


def preprocess_cli(
    inputs: Inputs,
    out: OutputFlags,
    read: ReadFlags,
    run: RunFlags,
    tokens: TokenFlags,
) -> None:
    """Cut texts into tokens and write them as column 'tokens'.

    Steps, in this order: tags, entities, addresses and numbers fall away; Unicode words are cut (don't, AT&T and
    state-of-the-art stay whole; Chinese, Japanese and Thai give character n-grams); lower case; stop words of the
    detected language; terms in too few or too many documents. Every input column travels along.

    \b
    Examples:
      nlpkit preprocess data/samples/news.jsonl -o docs.parquet
      nlpkit preprocess data/samples/nachrichten.jsonl --language de --min-df 3 -o docs.parquet
      nlpkit preprocess data/samples/news.jsonl --limit 2 -o - | head -c 300
    """
    from dataclasses import asdict

    from nlpkit.io.artifacts import document_sink, footer_block, write_dropped
    from nlpkit.io.atomic import check_target
    from nlpkit.io.corpora import open_documents

    target = out.target("docs.parquet")
    options = tokens.options()
    if target != "-":
        check_target(Path(target), force=out.force)
    stream = open_documents(inputs, read.read_options())
    if run.dry_run:
        dry_run(stream)
        return

    from nlpkit.cli.pipeline import tokenized

    with tokenized(stream, options, target) as (schema, batches, report):
        parameters = {**token_parameters(options), **found_parameters(report)}
        block = footer_block(
            "documents",
            command="preprocess",
            parameters=parameters,
            seed=None,
            inputs=stream.inputs,
            previous=stream.metadata,
        )
        rows = empty = 0
        with document_sink(target, schema, block, force=out.force) as sink:
            for batch in batches:
                sink.write(batch)
                rows += batch.num_rows
                lengths = batch.column("tokens").value_lengths()
                empty += sum(1 for n in lengths.to_pylist() if not n)
        dropped = write_dropped(target, stream.dropped, block)

    console.note(describe_tokens(report))
    if empty:
        console.note(f"{console.count(empty)} documents have no tokens left; they keep their rows")
    if stream.dropped:
        console.warn(f"{len(stream.dropped)} rows could not be used{f'; see {dropped}' if dropped else ''}")
    if target != "-":
        console.note(f"wrote {target}: {console.count(rows)} documents; next: nlpkit bertopic {target} -o run/")
        if run.json:
            console.emit_json(
                {"output": target, "rows": rows, "empty": empty, "dropped": len(stream.dropped), **asdict(report)}
            )


def _bound(text: str, option: str) -> float:
    try:
        return float(text) if any(c in text for c in ".eE") else int(text)
    except ValueError:
        raise UsageError(f"{option} takes a number of documents or a share such as 0.05, got '{text}'") from None


def token_parameters(options: PreprocessOptions) -> dict[str, Any]:
    """Return preprocess options as footer parameters."""
    from dataclasses import asdict

    return {**asdict(options), "extra_stop_words": sorted(options.extra_stop_words)}


def found_parameters(report: PreprocessReport) -> dict[str, Any]:
    return {
        "min_df": report.min_df,
        "languages": [[s.code, round(s.share, 4)] for s in report.languages],
        "stop_word_languages": list(report.stop_word_languages),
    }


def describe_tokens(report: PreprocessReport) -> str:
    """Return one line on what preprocess did."""
    languages = ", ".join(f"{s.code} {s.share:.0%}" for s in report.languages) or "none"
    listed = ", ".join(report.stop_word_languages) or "none"
    return (
        f"tokens: {console.count(report.n_tokens)} of {console.count(report.n_terms)} terms in "
        f"{console.count(report.n_docs)} documents (language: {languages}; stop words: {listed}, "
        f"{console.count(report.n_stop_tokens)} tokens; min-df {report.min_df:g}: {console.count(report.n_rare_terms)} "
        f"terms; max-df {report.max_df:g}: {console.count(report.n_frequent_terms)})"
    )


def dry_run(stream: Any, *, embeds: bool = False) -> None:
    """Say how big the work is, without doing it: reads the input once."""
    rows = chars = 0
    for batch in stream:
        import pyarrow.compute as pc

        rows += batch.num_rows
        chars += pc.sum(pc.utf8_length(batch.column("text"))).as_py() or 0
    tokens = chars // 6
    memory = 200 + chars / 1e6 * 3 + (rows * 384 * 4 * 3 / 1e6 + 900 if embeds else 0)
    seconds = chars / 8e6 + (tokens * 1.35 / 12_000 + rows / 2000 + 10 if embeds else 0)
    disk = chars / 1e6 * 0.6 + (rows * 384 * 4 / 1e6 if embeds else 0)
    plan = {
        "rows": rows, "characters": chars, "tokens_about": tokens, "memory_mb_about": round(memory),
        "seconds_about": round(seconds), "disk_mb_about": round(disk),
    }  # fmt: skip
    if console.settings.json:
        console.emit_json(plan)
        return
    console.table(
        ["", "about"],
        [[k.removesuffix("_about").replace("_", " "), console.count(v)] for k, v in plan.items()],
        right=["about"],
    )
    console.note("dry run: nothing was written")


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    command(app, "preprocess", preprocess_cli)
