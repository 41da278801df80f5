"""nlpkit preprocess: texts to tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.options import Inputs, OutputFlags, ReadFlags, RunFlags
from nlpkit.cli.rows import RowFlags
from nlpkit.cli.token_flags import TextFlags, TokenFlags
from nlpkit.parameters import TABLE_WRITTEN, Param

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nlpkit.cli.pipeline import Documents
    from nlpkit.cli.rows import RowPlan
    from nlpkit.text.preprocess import PreprocessOptions, PreprocessReport

__all__ = ["TokenFlags", "dry_run", "found_parameters", "say_tokens", "token_parameters"]


@dataclass(frozen=True, slots=True)
class SideFlags:
    """What else is shown or written."""

    steps: Annotated[bool, Param("Print what would be done, in its order; do nothing.")] = False
    show: Annotated[
        str | None,
        Param("Print the first N documents before and after.", metavar="N|all"),
    ] = None
    save_vocab: Annotated[
        Path | None,
        Param("Table of term, cf, df, for --vocab.", metavar="FILE"),
        TABLE_WRITTEN,
    ] = None
    save_phrases: Annotated[
        Path | None,
        Param("The phrases found, for --phrase-file.", metavar="FILE"),
        TABLE_WRITTEN,
    ] = None
    save_removed: Annotated[
        Path | None,
        Param("Table of the terms that went: term, cf, df, reason.", metavar="FILE"),
        TABLE_WRITTEN,
    ] = None


def preprocess_cli(
    inputs: Inputs,
    out: OutputFlags,
    read: ReadFlags,
    run: RunFlags,
    rows: RowFlags,
    tokens: TextFlags,
    side: SideFlags,
) -> None:
    """Cut texts into tokens and write them as column 'tokens'.

    Unless told otherwise: tags, addresses and numbers fall away; Unicode words are cut (don't, AT&T and
    state-of-the-art stay whole; Chinese, Japanese and Thai give character n-grams); lower case; stop words of the
    detected language; terms in too few or too many documents. --steps prints the plan in its order, --show 3 what
    it does to three documents. Every input column travels along; the text itself is never altered.

    \b
    Examples:
      nlpkit preprocess data/samples/news.jsonl -o docs.parquet
      nlpkit preprocess data/samples/nachrichten.jsonl --lemma dict --phrases npmi:0.5 --show 2
      nlpkit preprocess data/samples/news.jsonl --unit sentence --dedupe near:0.8 -o sentences.parquet
      nlpkit preprocess data/samples/news.jsonl --keep number,url --ngrams 1,2 --min-df 5 --steps
      nlpkit preprocess data/samples/news.jsonl --limit 2 -o - | head -c 300
    """
    if tokens.language == "auto" and not side.steps and not run.dry_run:
        from nlpkit.text.language import prepare_detection

        prepare_detection()  # first of all: it goes on while the rest is loaded
    from nlpkit.cli.preprocess_run import make

    options, plan = tokens.options(), rows.plan()
    if side.steps:
        from nlpkit.cli.steps import show_steps

        show_steps(plan, options)
        return
    if run.dry_run:
        dry_run(inputs, read, plan=plan)
        return
    target = None if out.output is None and side.show is not None else out.target("docs.parquet")
    make(inputs, target, plan, options, side, read, run, force=out.force)


def token_parameters(options: PreprocessOptions) -> dict[str, Any]:
    """Return preprocess options as footer parameters; long lists (a vocabulary, phrases, replacements) are only counted."""
    from dataclasses import fields

    return {f.name: _parameter(getattr(options, f.name)) for f in fields(options) if f.name != "lists_must_match"}


def _parameter(value: Any) -> Any:
    from dataclasses import fields, is_dataclass

    from nlpkit.text.phrases import PhraseTable

    if isinstance(value, PhraseTable):
        return _parameter(tuple(value.phrases))
    if is_dataclass(value):
        return {f.name: _parameter(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [_parameter(v) for v in value] if len(value) < 1000 else f"{len(value)} of them ({_digest(value)})"
    return value


def _digest(values: tuple[Any, ...]) -> str:
    """Return a short hash by which two long lists are told apart."""
    import hashlib

    return hashlib.blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def found_parameters(report: PreprocessReport) -> dict[str, Any]:
    return {
        "min_df": report.min_df,
        "languages": [[s.code, round(s.share, 4)] for s in report.languages],
        "stop_word_languages": list(report.stop_word_languages),
        **({"spacy_pipeline": report.spacy_pipeline} if report.spacy_pipeline else {}),
    }


def say_tokens(report: PreprocessReport, options: PreprocessOptions | None = None) -> None:
    """Say in one line what preprocess did, and warn when common words stay in for want of a list that was wanted."""
    from nlpkit.text.token_settings import NO_LANGUAGE

    languages = ", ".join(f"{s.code} {s.share:.0%}" for s in report.languages if s.code != NO_LANGUAGE) or "none"
    out = []
    if report.stop_word_languages or report.n_stop_tokens:
        lists = ", ".join(report.stop_word_languages)
        out.append(f"{wording.counted(report.n_stop_tokens, 'stop word')}{f' ({lists})' if lists else ''}")
    if report.n_rare_terms:
        also = "" if options is None or options.min_cf in (0, 1) else " or under --min-cf"
        rare = f"in fewer than {_bound_text(report.min_df)}{also}"
        out.append(f"{wording.counted(report.n_rare_terms, 'term')} {rare}")
    if report.n_frequent_terms:
        also = "" if options is None or options.max_cf == 1.0 else " or over --max-cf"
        frequent = f"in more than {_bound_text(report.max_df)}{also}"
        out.append(f"{wording.counted(report.n_frequent_terms, 'term')} {frequent}")
    if report.n_capped_terms:
        out.append(f"{wording.counted(report.n_capped_terms, 'term')} beyond the most frequent")
    if report.n_foreign_terms:
        out.append(f"{wording.counted(report.n_foreign_terms, 'term')} that the vocabulary does not have")
    if report.n_phrases:
        reporting.note(f"{wording.counted(report.n_phrases, 'phrase')} joined")
    reporting.note(
        f"{wording.counted(report.n_docs, 'document')}: {wording.counted(report.n_tokens, 'token')}, "
        f"{wording.counted(report.n_terms, 'different term')} (language: {languages}; left out: {', '.join(out) or 'nothing'})"
    )
    if not report.n_stop_words and (options is None or options.stop_words == "auto"):
        _warn_listless([s.code for s in report.languages])


def _warn_listless(codes: Sequence[str]) -> None:
    from nlpkit.text.language import has_stop_words
    from nlpkit.text.token_settings import NO_LANGUAGE

    listless = [code for code in codes if not has_stop_words(code) and code != NO_LANGUAGE]
    if listless:
        reporting.warn(
            f"there is no list of stop words for '{', '.join(listless)}': common words stay in; "
            "give one with --stop-words FILE, or prune with --max-df 0.5"
        )
    elif NO_LANGUAGE in codes:
        reporting.warn("no language was recognised: common words stay in; name it with --language, or give none")


def _bound_text(bound: float) -> str:
    return f"{100 * bound:.3g} % of the documents" if isinstance(bound, float) else f"{wording.count(bound)} documents"


def dry_run(
    inputs: Sequence[str], read: ReadFlags, *, embeds: bool = False, sweeps: int = 0, plan: RowPlan | None = None
) -> None:
    """Say how big the work is, without doing it: reads the input once. Raises InputError when there are no documents.

    Args:
        embeds: texts are encoded; sweeps: passes of Gibbs sampling over the tokens.
    """
    from nlpkit.cli.rows import Rows
    from nlpkit.io.corpora import open_documents

    with open_documents(inputs, read.read_options()) as stream:
        documents = stream if plan is None else Rows(stream, plan, None)
        _plan(documents, inputs, embeds=embeds and "embedding" not in stream.schema.names, sweeps=sweeps)


def _plan(stream: Documents, inputs: Sequence[str], *, embeds: bool, sweeps: int) -> None:
    import pyarrow.compute as pc

    from nlpkit.cli.pipeline import no_documents

    rows = chars = 0
    for batch in stream:
        rows += batch.num_rows
        chars += pc.sum(pc.utf8_length(batch.column("text"))).as_py() or 0
    if not rows:
        raise no_documents(stream, inputs)
    tokens = chars // 6
    sampled = tokens / 2 if sweeps else 0  # about half of the words are stop words or rare
    memory = 200 + chars / 1e6 * 3 + (rows * 384 * 4 * 3 / 1e6 + 900 if embeds else 0) + sampled * 30 / 1e6
    seconds = chars / 8e6 + (tokens * 1.35 / 12_000 + rows / 2000 + 10 if embeds else 0) + sampled * sweeps * 8e-8
    disk = chars / 1e6 * 0.6 + (rows * 384 * 4 / 1e6 if embeds else 0)
    console.plan(
        {
            "rows": rows, "characters": chars, "tokens_about": tokens, "memory_mb_about": round(memory),
            "seconds_about": round(seconds), "disk_mb_about": round(disk), "dropped": len(stream.dropped),
        }
    )  # fmt: skip
