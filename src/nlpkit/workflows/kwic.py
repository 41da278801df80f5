"""Keywords in context, and what a pattern is worth as a classifier of documents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.errors import UsageError
from nlpkit.io.corpora import DocumentStream
from nlpkit.io.provenance import source_block
from nlpkit.io.spool import spool_in
from nlpkit.io.tables import table_sink, write_dropped
from nlpkit.metrics.retrieval import score_retrieval
from nlpkit.parameters import with_settings
from nlpkit.text.kwic import SearchOptions, find_hits, find_spans
from nlpkit.text.regex import limited
from nlpkit.workflows.corpus import as_corpus, no_documents, warn_dropped
from nlpkit.workflows.groups import Groups


class Concordance:
    """The matches of a pattern in documents, found while these are read, once. Numbers are complete when all batches were taken.

    documents, matched, hits: documents, those with a match, matches; n_shown: matches that the batches hold.
    """

    def __init__(self, stream: DocumentStream, pattern: str, options: SearchOptions) -> None:
        self.stream, self.pattern, self.options = stream, pattern, options
        self.by = options.by or ("label" if options.positive is not None else None)
        self.documents = self.matched = self.hits = self.n_shown = 0
        self._regex = options.pattern(pattern)
        self._groups = None if self.by is None else Groups(self.by, stream.schema, stream.where)
        self._of_group: dict[int, list[int]] = {}  # group → [documents, matched]

    @property
    def schema(self) -> pa.Schema:
        """The columns id, start, end, left, match, right, and class where there are classes."""
        columns = [("id", pa.string()), ("start", pa.int32()), ("end", pa.int32())]
        columns += [(name, pa.large_string()) for name in ("left", "match", "right")]
        return pa.schema([*columns, *([("class", pa.string())] if self._groups is not None else [])])

    @property
    def n_unclassed(self) -> int:
        """Documents without a class, where there are classes."""
        return self._of_group.get(-1, [0, 0])[0] if self.by is not None else 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the matches of each batch of documents that has any, as far as they are to be shown.

        Raises:
            InputError: there are no documents.
        """
        options, schema, groups = self.options, self.schema, self._groups
        left_to_show = 0 if options.count else options.limit_hits
        with reporting.progress("search", None) as update:
            for batch in self.stream:
                numbers = [-1] * batch.num_rows if groups is None else groups.assign(batch).tolist()
                names = [] if groups is None else groups.names()
                rows: list[tuple[Any, ...]] = []
                for id_, text, number in zip(
                    batch.column("id").to_pylist(), batch.column("text").to_pylist(), numbers, strict=True
                ):
                    with limited(self._regex.pattern, len(text or ""), f"document {id_}"):
                        spans = find_spans(text or "", self._regex)
                    self._count(len(spans), number)
                    some = spans if left_to_show is None else spans[: left_to_show - len(rows)]
                    name = (names[number] if number >= 0 else None,) if groups is not None else ()
                    for hit in find_hits(text or "", some, words=options.window, characters=options.width):
                        rows.append((id_, *hit, *name))
                if rows:
                    columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)
                    self.n_shown += len(rows)
                    left_to_show = None if left_to_show is None else left_to_show - len(rows)
                update(self.documents)
        if not self.documents:
            raise no_documents(self.stream)

    def _count(self, n_hits: int, group: int) -> None:
        self.documents += 1
        self.hits += n_hits
        self.matched += bool(n_hits)
        counts = self._of_group.setdefault(group, [0, 0])
        counts[0] += 1
        counts[1] += bool(n_hits)

    def scores(self) -> dict[str, dict[str, Any]]:
        """Return precision, recall and F1 of the pattern for each class; documents without a class are left out.

        Raises:
            ColumnError, InputError: see `Groups`; UsageError: no document is in the class that was named.
        """
        if self._groups is None:
            return {}
        names, places = self._groups.finish()
        positive = self.options.positive
        if positive is not None and positive not in names:
            near = get_close_matches(positive, names, n=1)
            known = f"{', '.join(names[:20])}{' …' if len(names) > 20 else ''}"
            hint = f"did you mean '{near[0]}'?" if near else f"found: {known}"
            raise UsageError(
                f"`positive={positive}`: no document has this value in '{self.by}'; {hint}", parameter="positive"
            )
        counts = {int(places[number]): pair for number, pair in self._of_group.items() if number >= 0}
        documents, matched = (sum(pair[i] for pair in counts.values()) for i in (0, 1))
        scores = {}
        for place, name in enumerate(names):
            n, tp = counts[place]
            score = score_retrieval(tp=tp, fp=matched - tp, fn=n - tp, tn=documents - n - (matched - tp))
            scores[name] = {"documents": n, "matched": tp, **asdict(score)}
        return scores if positive is None else {positive: scores[positive]}

    def summary(self) -> dict[str, Any]:
        """Return the numbers in plain values, and the scores where there are classes."""
        result = {"pattern": self.pattern, "documents": self.documents, "matched": self.matched, "hits": self.hits}
        return result if self.by is None else {
            **result, "by": self.by, "without_class": self.n_unclassed, "classes": self.scores()
        }  # fmt: skip

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write the matches as a table; "-" gets JSON lines as they are found.

        Raises:
            UsageError: the name is that of no table; OutputExistsError: it is there; and what `batches` and `scores` raise.
        """
        if str(target) == "-":
            with table_sink(target, self.schema, {}, force=force) as sink:
                for batch in self.batches():
                    sink.write(batch)
            warn_dropped(self.stream, None)
            return
        options = self.options
        with spool_in(self.stream.spool_directory) as spool:
            for batch in self.batches():
                spool.write(batch)
            self.scores()  # a class that is not there writes nothing
            parameters = {
                "pattern": self.pattern, "regex": self._regex.pattern, "word": options.word, "glob": options.glob,
                "ignore_case": options.ignore_case, "window": None if options.width is not None else options.window,
                "width": options.width, "limit_hits": options.limit_hits, "by": self.by,
            }  # fmt: skip
            block = source_block("kwic", self.stream, command="kwic", parameters=parameters)
            with table_sink(target, self.schema, block, force=force) as sink:
                for batch in spool:
                    sink.write(batch)
        warn_dropped(self.stream, write_dropped(str(target), self.stream.dropped, block))
        reporting.note(f"wrote {target}: {wording.counted(self.n_shown, 'hit')}")


@contextmanager
def search(data: Any, pattern: str, *, options: SearchOptions | None = None, **settings: Any) -> Iterator[Concordance]:
    """Yield the matches of a pattern in a Corpus, texts or a data frame, to be read batch by batch.

    Raises:
        UsageError: the pattern is empty or no regular expression; ColumnError: there is no such column of classes.
    """
    (options,) = with_settings((options or SearchOptions(),), settings)
    options.pattern(pattern)  # a bad pattern is told before anything is read
    with as_corpus(data).open() as stream:
        yield Concordance(stream, pattern, options)


def kwic(data: Any, pattern: str, *, options: SearchOptions | None = None, **settings: Any) -> pa.Table:
    """Return every match of a pattern in its context: id, start, end, left, match, right; places in characters.

    Args:
        data: a Corpus, texts, or a data frame.
        pattern: a regular expression of Python's `re`, or words with glob=True.
        options: what is searched; settings: its fields, such as window=5, ignore_case=True.

    Raises:
        UsageError: the pattern is empty or no regular expression; InputError: there are no documents.
    """
    with search(data, pattern, options=options, **settings) as concordance:
        return pa.Table.from_batches(concordance.batches(), concordance.schema)
