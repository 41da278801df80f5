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
    from collections.abc import Sequence

    from nlpkit.io.corpora import DocumentStream
    from nlpkit.text.preprocess import PreprocessOptions, PreprocessReport


@dataclass(frozen=True, slots=True)
class TokenFlags:
    """How texts become tokens."""

    language: Annotated[
        str, typer.Option("--language", "--lang", help="ISO code or name; auto = detected; none = no language.")
    ] = "auto"
    stop_words: Annotated[
        str,
        typer.Option(
            help="auto = those of the language; none; codes such as en,de; files with more words, one a line."
        ),
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

        language = self.language
        stop_words, extra = _stop_words(self.stop_words)
        return PreprocessOptions(
            language=language if language in ("auto", "none") else language_code(language),
            stop_words=stop_words,
            extra_stop_words=extra,
            lower=self.lower,
            min_df=None if self.min_df == "auto" else _bound(self.min_df, "--min-df"),
            max_df=_bound(self.max_df, "--max-df"),
        )


def _stop_words(given: str) -> tuple[str, frozenset[str]]:
    """Return what PreprocessOptions takes from a list of languages and files."""
    from nlpkit.io.wordlists import read_words
    from nlpkit.text.language import language_code

    parts = [given] if Path(given).is_file() else [part.strip() for part in given.split(",")]
    extra: frozenset[str] = frozenset()
    codes = []
    for part in parts:
        if Path(part).is_file():
            extra |= read_words(Path(part))
            continue
        codes.append(part)
        if part in ("auto", "none"):
            continue
        try:
            language_code(part)
        except UsageError:
            raise UsageError(
                f"--stop-words: '{part}' is no file and no language; give a file with a word per line, "
                "a code such as en or de, auto or none"
            ) from None
    if len(codes) > 1 and ("auto" in codes or "none" in codes):
        raise UsageError(f"--stop-words {given}: auto and none stand alone or beside files")
    return ",".join(codes) or "auto", extra


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
      nlpkit preprocess data/samples/nachrichten.jsonl --language de --min-df 3 -o de.parquet
      nlpkit preprocess data/samples/news.jsonl --limit 2 -o - | head -c 300
    """
    from dataclasses import asdict

    import pyarrow.compute as pc

    from nlpkit.io.artifacts import document_sink, footer_block, write_dropped
    from nlpkit.io.atomic import check_target
    from nlpkit.io.corpora import open_documents

    options = tokens.options()
    if run.dry_run:
        dry_run(inputs, read)
        return
    target = out.target("docs.parquet")
    if target != "-":
        check_target(Path(target), force=out.force)

    from nlpkit.cli.pipeline import steps, tokenized, warn_dropped

    with (
        open_documents(inputs, read.read_options()) as stream,
        tokenized(stream, options, target, inputs, threads=run.n_threads()) as (schema, batches, found),
    ):
        report = found.report
        parameters = {**token_parameters(options), **found_parameters(report)}
        block = footer_block(
            "documents",
            command="preprocess",
            parameters=parameters,
            seed=None,
            inputs=stream.inputs,
            steps=steps(stream),
        )
        rows = empty = 0
        with document_sink(target, schema, block, force=out.force) as sink:
            for batch in batches:
                sink.write(batch)
                rows += batch.num_rows
                lengths = batch.column("tokens").value_lengths()
                empty += pc.sum(pc.equal(lengths, 0)).as_py() or 0
        dropped = write_dropped(target, stream.dropped, block)

    say_tokens(report)
    if empty:
        keep = "keeps its row" if empty == 1 else "keep their rows"
        console.note(f"{console.counted(empty, 'document')} without a token {keep}")
    warn_dropped(stream, dropped)
    if target != "-":
        console.note(f"wrote {target}: {console.counted(rows, 'document')}; next: nlpkit bertopic {target} -o run/")
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
    """Return preprocess options as footer parameters; a long vocabulary is only counted."""
    from dataclasses import fields

    values = {f.name: getattr(options, f.name) for f in fields(options)}
    return {name: _parameter(value) for name, value in values.items()}


def _parameter(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return list(value) if len(value) < 1000 else f"{len(value)} terms"
    return value.parameters() if hasattr(value, "parameters") else value


def found_parameters(report: PreprocessReport) -> dict[str, Any]:
    return {
        "min_df": report.min_df,
        "languages": [[s.code, round(s.share, 4)] for s in report.languages],
        "stop_word_languages": list(report.stop_word_languages),
    }


def say_tokens(report: PreprocessReport) -> None:
    """Say in one line what preprocess did, and warn when common words stay in for want of a list."""
    languages = ", ".join(f"{s.code} {s.share:.0%}" for s in report.languages) or "none"
    out = []
    if report.stop_word_languages or report.n_stop_tokens:
        lists = ", ".join(report.stop_word_languages)
        out.append(f"{console.counted(report.n_stop_tokens, 'stop word')}{f' ({lists})' if lists else ''}")
    if report.n_rare_terms:
        out.append(
            f"{console.counted(report.n_rare_terms, 'term')} in fewer than {_bound_text(report.min_df)} documents"
        )
    if report.n_frequent_terms:
        out.append(
            f"{console.counted(report.n_frequent_terms, 'term')} in more than {_bound_text(report.max_df)} documents"
        )
    console.note(
        f"{console.counted(report.n_docs, 'document')}: {console.counted(report.n_tokens, 'token')}, "
        f"{console.counted(report.n_terms, 'different term')} (language: {languages}; left out: {', '.join(out) or 'nothing'})"
    )
    from nlpkit.text.language import has_stop_words

    listless = [s.code for s in report.languages if not has_stop_words(s.code)]
    if listless and not report.n_stop_words:
        console.warn(
            f"there is no list of stop words for '{', '.join(listless)}': common words stay in; "
            "give one with --stop-words FILE, or prune with --max-df 0.5"
        )


def _bound_text(bound: float) -> str:
    return f"{bound:.3g} of all" if isinstance(bound, float) else console.count(bound)


def dry_run(inputs: Sequence[str], read: ReadFlags, *, embeds: bool = False) -> None:
    """Say how big the work is, without doing it: reads the input once. Raises InputError when there are no documents."""
    from nlpkit.io.corpora import open_documents

    with open_documents(inputs, read.read_options()) as stream:
        _plan(stream, inputs, embeds=embeds and "embedding" not in stream.schema.names)


def _plan(stream: DocumentStream, inputs: Sequence[str], *, embeds: bool) -> None:
    import pyarrow.compute as pc

    from nlpkit.cli.pipeline import no_documents

    rows = chars = 0
    for batch in stream:
        rows += batch.num_rows
        chars += pc.sum(pc.utf8_length(batch.column("text"))).as_py() or 0
    if not rows:
        raise no_documents(stream, inputs)
    tokens = chars // 6
    memory = 200 + chars / 1e6 * 3 + (rows * 384 * 4 * 3 / 1e6 + 900 if embeds else 0)
    seconds = chars / 8e6 + (tokens * 1.35 / 12_000 + rows / 2000 + 10 if embeds else 0)
    disk = chars / 1e6 * 0.6 + (rows * 384 * 4 / 1e6 if embeds else 0)
    plan = {
        "rows": rows, "characters": chars, "tokens_about": tokens, "memory_mb_about": round(memory),
        "seconds_about": round(seconds), "disk_mb_about": round(disk), "dropped": len(stream.dropped),
    }  # fmt: skip
    if console.settings.json:
        console.emit_json(plan)
        return
    console.table(
        ["", "about"],
        [
            [k.removesuffix("_about").replace("_mb", " (MB)").replace("_", " "), console.count(v)]
            for k, v in plan.items()
        ],
        right=["about"],
    )
    console.note("dry run: nothing was written")


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    command(app, "preprocess", preprocess_cli)
