"""What preprocess and spell show: the plan, documents before and after, what was written, the commonest errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nlpkit.platform import reporting, wording
from nlpkit.platform.cli import console
from nlpkit.platform.cli.foreign import as_options
from nlpkit.platform.runs.tables import is_readable
from nlpkit.platform.views.blocks import Table

if TYPE_CHECKING:
    from nlpkit.text.plan import Step
    from nlpkit.text.run import PreprocessedCorpus

SHOWN_CHARS = 400


def plan(steps: Sequence[Step]) -> None:
    """Print the steps that would be done, in their order, with the option that changes each."""
    rows = [
        [str(i), name, what, as_options(f"`{parameter}`") if parameter else ""]
        for i, (name, what, parameter) in enumerate(steps, 1)
    ]
    names = ("step", "what", "option")
    console.say(
        [Table(["", *names], rows)], lambda: {"steps": [dict(zip(names, row[1:], strict=True)) for row in rows]}
    )


def documents(corpus: PreprocessedCorpus, saved: Mapping[str, Any], target: str | None, n_shown: int | None) -> None:
    """Print the first documents, and what was written."""
    first = [] if n_shown == 0 else corpus.head(n_shown)
    if not console.settings.json:
        for row in first:
            text = _before_and_after(row)
            reporting.note(text) if target == "-" else console.out(text)
    if target == "-":
        return
    if target is None:
        reporting.note("no documents were written; give -o FILE to write them")
    else:
        goes_on = console.next_step("bertopic", target, "-o", "run/") if is_readable(target) else ""
        reporting.note(f"wrote {target}: {wording.counted(saved['rows'], 'document')}{goes_on}")
    if console.settings.json:
        shown = {} if n_shown == 0 else {"shown": first}
        console.emit_json({"output": target, **saved, **asdict(corpus.report), **shown})


def _before_and_after(row: Mapping[str, Any]) -> str:
    text = " ".join((row["text"] or "").split())
    before = f"{text[:SHOWN_CHARS]} …" if len(text) > SHOWN_CHARS else text
    terms = list(_until(row["tokens"], SHOWN_CHARS))
    n_more = len(row["tokens"]) - len(terms)
    after = " | ".join(terms) + (f" … {n_more:,} more" if n_more else "")
    return f"{row['id']}\n  before  {before or '(empty)'}\n  after   {after or '(no token)'}"


def _until(terms: Sequence[str], chars: int) -> Iterator[str]:
    for term in terms:
        chars -= len(term) + 3
        if chars < 0:
            return
        yield term
