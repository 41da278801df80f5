"""The run of `nlpkit kwic`: a concordance, its worth as a classifier, and a picture of the matches.

Parts, in this order:
- Keywords in context, and what a pattern is worth as a classifier of documents.
- A picture of where the matches of a pattern lie in the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import ColumnError, UsageError, missing_column
from nlpkit.explore.charts import dispersion_chart
from nlpkit.explore.kwic.model import (
    Hit,
    SearchOptions,
    context_key,
    find_hits,
    find_spans,
    find_word_hits,
    find_word_spans,
    finds_places_alone,
)
from nlpkit.explore.kwic.places import Places
from nlpkit.metrics.labels.classification import score_retrieval
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import as_corpus, no_documents, warn_dropped
from nlpkit.platform.documents.groups import Groups
from nlpkit.platform.documents.regex import limited
from nlpkit.platform.options import with_settings
from nlpkit.platform.runs.atomic import check_target
from nlpkit.platform.runs.provenance import source_block
from nlpkit.platform.runs.saving import write_picture
from nlpkit.platform.runs.tables import spool_in, table_sink, write_dropped
from nlpkit.platform.views.chart import draw_page, draw_picture, require


class Concordance:
    """The matches of a pattern in documents, found while these are read, once. Numbers are complete when all batches were taken.

    documents, matched, hits: documents, those with a match, matches; n_shown: matches that the batches hold.
    """

    def __init__(self, stream: DocumentStream, pattern: str, options: SearchOptions, *, places: bool = False) -> None:
        self.stream, self.pattern, self.options = stream, pattern, options
        self.by = options.by or ("label" if options.positive is not None else None)
        self.documents = self.matched = self.hits = self.n_shown = 0
        self.groups = None if self.by is None else Groups(self.by, stream.schema, stream.where)
        self.places = Places() if places else None
        self.columns = _columns(stream, options)
        self._in_words = options.within != "text"
        if self._in_words:
            _check_words(stream, options.within)
        self._regex = options.pattern(pattern)
        self._of_group: dict[int, list[int]] = {}  # group → [documents, matched, hits]

    @property
    def schema(self) -> pa.Schema:
        """The columns id, start, end, left, match, right, class where there are classes, and those of the documents to show."""
        columns = [("id", pa.string()), ("start", pa.int32()), ("end", pa.int32())]
        columns += [(name, pa.large_string()) for name in ("left", "match", "right")]
        columns += [("class", pa.string())] if self.groups is not None else []
        fields = self.stream.schema
        return pa.schema([*columns, *((name, _plain_type(fields.field(name).type)) for name in self.columns)])

    @property
    def n_unclassed(self) -> int:
        """Documents without a class, where there are classes."""
        return self._of_group.get(-1, [0])[0] if self.by is not None else 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the matches of each batch of documents that has any, as far as they are to be shown; sorted ones at the end.

        Raises:
            InputError: there are no documents.
        """
        options = self.options
        limit = 0 if options.count else options.limit_hits
        if options.sort == "document":
            yield from self._search(limit)
            return
        table = pa.Table.from_batches(self._search(0 if options.count else None), self.schema)
        left, match, right = (table.column(name).to_pylist() for name in ("left", "match", "right"))
        keys = [context_key(*context, sort=options.sort) for context in zip(left, match, right, strict=True)]
        order = sorted(range(len(keys)), key=keys.__getitem__)[:limit]
        self.n_shown = len(order)
        if order:
            yield from table.take(pa.array(order)).combine_chunks().to_batches()

    def _search(self, left_to_show: int | None) -> Iterator[pa.RecordBatch]:
        """Yield the matches in the order of the documents."""
        schema, groups = self.schema, self.groups
        with reporting.progress("search", None) as update:
            for batch in self.stream:
                numbers = [-1] * batch.num_rows if groups is None else groups.assign(batch).tolist()
                names = [] if groups is None else groups.names()
                rows: list[tuple[Any, ...]] = []
                places: list[int] = []
                for place, (id_, (n_hits, hits), number) in enumerate(
                    zip(batch.column("id").to_pylist(), self._matches(batch, numbers), numbers, strict=True)
                ):
                    self._count(n_hits, number)
                    name = (names[number] if number >= 0 else None,) if groups is not None else ()
                    for hit in islice(hits, None if left_to_show is None else left_to_show - len(rows)):
                        rows.append((id_, *hit, *name))
                        places.append(place)
                if rows:
                    columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=False)]
                    for column_name in self.columns:
                        values = batch.column(batch.schema.names.index(column_name)).take(pa.array(places))
                        columns.append(values.cast(schema.field(column_name).type))
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)
                    self.n_shown += len(rows)
                    left_to_show = None if left_to_show is None else left_to_show - len(rows)
                update(self.documents)
        if not self.documents:
            raise no_documents(self.stream)

    def _matches(self, batch: pa.RecordBatch, numbers: Sequence[int]) -> Iterator[tuple[int, Iterator[Hit]]]:
        """Yield for each document the number of its matches, and these in their context."""
        options, regex = self.options, self._regex
        shown: list[Any] = [None] * batch.num_rows
        if self._in_words and options.within != "tokens" and "tokens" in batch.schema.names:
            shown = batch.column("tokens").to_pylist()
        searched = batch.column(batch.schema.names.index(options.within)).to_pylist()
        for id_, item, tokens, number in zip(batch.column("id").to_pylist(), searched, shown, numbers, strict=True):
            if self._in_words:
                words = [word or "" for word in item or ()]
                length = len(words)
                with limited(regex.pattern, sum(map(len, words)), f"document {id_}"):
                    spans = find_word_spans(words, regex)
                same = tokens is not None and len(tokens) == length  # lemmas are shown as the words of the text
                hits = find_word_hits(tokens if same else words, spans, n_words=options.words, characters=options.width)
            else:
                text = item or ""
                length = len(text)
                with limited(regex.pattern, length, f"document {id_}"):
                    spans = find_spans(text, regex)
                hits = find_hits(text, spans, words=options.words, characters=options.width)
            if self.places is not None and (number >= 0 if self.by is not None else spans):
                self.places.add(number if self.by is not None else id_, length, [start for start, _ in spans])
            yield len(spans), hits

    def _count(self, n_hits: int, group: int) -> None:
        self.documents += 1
        self.hits += n_hits
        self.matched += bool(n_hits)
        counts = self._of_group.setdefault(group, [0, 0, 0])
        counts[0] += 1
        counts[1] += bool(n_hits)
        counts[2] += n_hits

    def scores(self) -> dict[str, dict[str, Any]]:
        """Return precision, recall and F1 of the pattern for each class; documents without a class are left out.

        Raises:
            ColumnError, InputError: see `Groups`; UsageError: no document is in the class that was named.
        """
        if self.groups is None:
            return {}
        names, places = self.groups.finish()
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
            n, tp, hits = counts[place]
            score = score_retrieval(tp=tp, fp=matched - tp, fn=n - tp, tn=documents - n - (matched - tp))
            scores[name] = {"documents": n, "matched": tp, "hits": hits, **asdict(score)}
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
            UsageError: the suffix of the name is not one of a table; OutputExistsError: it is there; and what `batches` and `scores` raise.
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
                "ignore_case": options.ignore_case, "in": options.within,
                "window": None if options.width is not None else options.words, "width": options.width,
                "sort": options.sort, "limit_hits": options.limit_hits, "by": self.by,
            }  # fmt: skip
            block = source_block("kwic", self.stream, command="kwic", parameters=parameters)
            with table_sink(target, self.schema, block, force=force) as sink:
                for batch in spool:
                    sink.write(batch)
        warn_dropped(self.stream, write_dropped(str(target), self.stream.dropped, block))
        reporting.note(f"wrote {target}: {wording.counted(self.n_shown, 'hit')}")


HIT_COLUMNS = ("start", "end", "left", "match", "right", "class")


def _columns(stream: DocumentStream, options: SearchOptions) -> list[str]:
    """Return the columns of the documents to show.

    Raises:
        ColumnError: one is not there; UsageError: it has the name of a column of hits.
    """
    known, names = stream.schema.names, options.columns
    if names == ["all"] and "all" not in known:
        names = [
            name for name in known
            if name not in ("id", "text", *HIT_COLUMNS) and not pa.types.is_nested(stream.schema.field(name).type)
        ]  # fmt: skip
    for name in names:
        if name not in known:
            raise missing_column(stream.where, name, known, "show_cols")
        if name in HIT_COLUMNS:
            raise UsageError(
                f"`show_cols`: the table of hits already has a column '{name}'; rename the documents' column",
                parameter="show_cols",
            )
    return [name for name in dict.fromkeys(names) if name != "id"]


def _check_words(stream: DocumentStream, column: str) -> None:
    """Refuse a column that holds no lists of words.

    Raises:
        ColumnError: it is not there, or holds something else.
    """
    if column not in stream.schema.names:
        if column == "tokens":
            raise ColumnError(
                f"{stream.where} has no column 'tokens' (found: {', '.join(stream.schema.names)}); make it with `preprocess()`",
                parameter="in",
            )
        raise missing_column(stream.where, column, stream.schema.names, "in")
    kind = _plain_type(stream.schema.field(column).type)
    if not pa.types.is_nested(kind) or not _is_text(kind.value_type):
        raise ColumnError(f"column '{column}' holds {kind}; `in` needs lists of words, such as tokens", parameter="in")


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Return a type without dictionaries."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    return kind


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


@contextmanager
def search(
    data: Any, pattern: str, *, options: SearchOptions | None = None, places: bool = False, **settings: Any
) -> Iterator[Concordance]:
    """Yield the matches of a pattern in a Corpus, texts or a data frame, to be read batch by batch.

    places: keep where they are, for `write_dispersion_plot`.

    Raises:
        UsageError: the pattern is empty or not a regular expression; ColumnError: there is no such column of classes.
    """
    (options,) = with_settings((options,), settings, (SearchOptions,))
    # a bad pattern is told before anything is read
    if finds_places_alone(options.pattern(pattern)):
        reporting.warn(
            f"the pattern {pattern} matches positions but no letters, so there is nothing to show; put the letters "
            "outside of (?=…), (?<=…) and \\b"
        )
    with as_corpus(data).open() as stream:
        yield Concordance(stream, pattern, options, places=places)


def kwic(data: Any, pattern: str, *, options: SearchOptions | None = None, **settings: Any) -> pa.Table:
    """Return every match of a pattern in its context: id, start, end, left, match, right; places in characters, or words of a column.

    Args:
        data: a Corpus, texts, or a data frame.
        pattern: a regular expression of Python's `re`, or words with glob=True.
        options: what is searched; settings: its fields, such as window=5, ignore_case=True.

    Raises:
        UsageError: the pattern is empty or not a regular expression; InputError: there are no documents.

    Example:
        >>> lines = nk.kwic(["The bank lent money.", "We sat on the river bank."], "bank")
        >>> lines["left"].to_pylist()
        ['The ', 'We sat on the river ']
    """
    with search(data, pattern, options=options, **settings) as concordance:
        return pa.Table.from_batches(concordance.batches(), concordance.schema)


# ------------------------------------------------------------------------------------------------------------------------
# A picture of where the matches of a pattern lie in the texts.


def check_plot(path: Path, *, force: bool) -> None:
    """Refuse a picture that cannot be written, before anything is read.

    Raises:
        UsageError: its format; OutputExistsError: it is there; MissingError: what draws it is not installed.
    """
    from nlpkit.explore.stats.plots import SUFFIXES

    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"`plot={path}`: the format '{path.suffix}' cannot be written, a plot is one of {' '.join(SUFFIXES)}",
            parameter="plot",
        )
    check_target(path, force=force)
    require("plotly" if path.suffix.lower() == ".html" else "matplotlib")


def write_dispersion_plot(hits: Concordance, path: Path, *, force: bool = False) -> None:
    """Draw where the matches lie, a row for each document with a match or for each class, and write it; nothing where nothing matches.

    Args:
        hits: whose batches were taken, with places; path: .png, .svg or .html.

    Raises:
        OutputExistsError: it is there.
    """
    assert hits.places is not None
    names: list[tuple[str | int, str]] = [(str(name), str(name)) for name in hits.places.texts]
    if hits.groups is not None:
        sorted_names, order = hits.groups.finish()
        numbers = np.argsort(order[:-1], kind="stable").tolist()
        names = [(number, sorted_names[order[number]]) for number in numbers]
    rows, n_left_out = hits.places.rows(names)
    if not rows:
        reporting.warn(f"nothing matches {hits.pattern}: no plot was drawn")
        return
    chart = dispersion_chart(hits.pattern, rows, hits.by or "document")
    suffix = path.suffix.lower()
    content = draw_page(chart, "dispersion") if suffix == ".html" else draw_picture(chart, suffix[1:])
    write_picture(path, content, force=force)
    kind = ("class", "classes") if hits.by is not None else ("document", "documents")
    left_out = f"; {wording.counted(n_left_out, *kind)} with fewer matches left out" if n_left_out else ""
    reporting.note(f"wrote {path}: matches in {wording.counted(len(rows), *kind)}{left_out}")
