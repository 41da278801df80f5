"""A topic model as an opened run: its topics, words and documents, in Python and in a notebook.

Parts, in this order:
- What the tables of a topic model tell of one topic: its number, its words, its documents and their texts.
- The run itself, and how a notebook shows it.
- A run directory, or that of a model, opened for the tools that work on any run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import InputError, UsageError
from nlpkit.platform import notebook, reporting, wording
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.reading import open_run_documents
from nlpkit.platform.runs.runs import Run, open_run
from nlpkit.platform.runs.table_spec import numbers
from nlpkit.platform.types import FloatArray, LongArray
from nlpkit.predict.model import RunModel

BESIDE = ("title", "date", "label", "source")  # columns that are shown beside a document


def number_of(topic: str | int, labels: Sequence[str], where: str, parameter: str) -> int:
    """Return the number of a topic that a person gives by number or name. Raises InputError when there is no such topic."""
    wanted = str(topic).strip()
    if wanted.isdecimal() and int(wanted) < len(labels):
        return int(wanted)
    same = [k for k, label in enumerate(labels) if label.casefold() == wanted.casefold()]
    if len(same) != 1:
        known = wording.listed([f"{k} {label}" for k, label in enumerate(labels)], 5, between="; ")
        raise InputError(
            f"`{parameter}={wanted}`: {where} has {'no topic' if not same else f'{len(same)} topics'} of this number or name "
            f"(there are: {known})",
            parameter=parameter,
        )
    return same[0]


def ranked_documents(
    documents: pa.Table, doc_topics: pa.Table | None, k: int, top: int
) -> tuple[LongArray, FloatArray]:
    """Return the rows of the documents that have most of a topic and how much, most first, ties in order.

    Args:
        doc_topics: the probabilities of topics in documents, for a mixture; None: each document has one topic, and its margin decides
            between equal probabilities.
    """
    if doc_topics is not None:
        listed = doc_topics.filter(pc.field("topic") == k)
        place = pc.index_in(listed.column("id"), value_set=documents.column("id").combine_chunks())
        rows, prob = place.to_numpy().astype(np.int64), numbers(listed, "prob")
        order = np.lexsort((rows, -prob))[:top]
    else:
        rows = np.flatnonzero(numbers(documents, "topic") == k)
        prob, margin = numbers(documents, "topic_prob")[rows], numbers(documents, "margin")[rows]
        order = np.lexsort((rows, -margin, -prob))[:top]
    return rows[order], np.asarray(prob[order], np.float64)


def texts_of_run(run: Run, ids: pa.ChunkedArray) -> pa.Array:
    """Return the texts of documents of a run, null where nlpkit cannot read the corpus of the run any more, with a warning."""
    try:
        with open_run_documents(run, ReadOptions()) as stream:
            return texts_of(stream, ids)
    except InputError as error:
        reporting.warn(f"no texts are shown: {error}")
        return pa.nulls(len(ids), pa.large_string())


def texts_of(batches: Iterable[pa.RecordBatch], ids: pa.ChunkedArray) -> pa.Array:
    """Return the texts of some documents, null for those that the batches do not have."""
    texts: dict[str, str] = {}
    wanted = ids.combine_chunks().unique()
    for batch in batches:
        kept = batch.filter(pc.is_in(batch.column("id"), value_set=wanted))
        texts |= dict(zip(kept.column("id").to_pylist(), kept.column("text").to_pylist(), strict=True))
        if len(texts) == len(wanted):
            break
    return pa.array([texts.get(name) for name in ids.to_pylist()], pa.large_string())


# ------------------------------------------------------------------------------------------------------------------------
# A topic model as a run: its topics, words and documents, in Python and in a notebook.


class TopicRun(RunModel):
    """A topic model. `print(model)` and a notebook show its topics.

    Attributes:
        topics: the topics (K rows).
        documents: the documents (D rows) with their topics.
    """

    @property
    def topics(self) -> pa.Table:
        """The topics (K rows): topic, size, share, label, top_terms, npmi, exclusivity, representatives."""
        return self.tables()["topics"]

    @property
    def documents(self) -> pa.Table:
        """The documents with their topics: id, topic, topic_prob, nearest_topic, margin and the user's columns."""
        return self.tables()["documents"]

    def __repr__(self) -> str:
        return wording.described(
            self, wording.counted(self.topics.num_rows, "topic"), wording.counted(self.documents.num_rows, "document")
        )

    def __str__(self) -> str:
        """Return the topics as a table of text."""
        return f"{self!r}\n{notebook.text(_HEADINGS, _topic_rows(self.topics))}"

    def _repr_html_(self) -> str:
        """Return the topics as a table for a notebook."""
        return topics_html(self.topics)

    def topic_words(self, topic: int | str, top: int = 10) -> list[tuple[str, float]]:
        """Return the words of a topic with their weights, strongest first.

        Args:
            topic: its number or its name.
            top: number of words; a model stores 30 for each topic, unless it was fitted with another `top_terms`.

        Raises:
            InputError: there is no such topic.
        """
        terms = self.tables()["topic_terms"].filter(pc.field("topic") == self._number_of(topic)).sort_by("rank")
        return list(zip(terms["term"].to_pylist()[:top], terms["weight"].to_pylist()[:top], strict=True))

    def top_documents(self, topic: int | str, top: int = 10) -> pa.Table:
        """Return the documents that have most of a topic: rank, id, prob, columns such as title, and text.

        The text is null where nlpkit cannot read the documents again.

        Args:
            topic: its number or its name.
            top: number of documents.

        Raises:
            InputError: there is no such topic.
        """
        documents = self.documents
        by_topic = None if self.kind == "bertopic" else self.tables()["doc_topics"]
        rows, prob = ranked_documents(documents, by_topic, self._number_of(topic), top)
        chosen = documents.select(["id", *(n for n in BESIDE if n in documents.column_names)]).take(pa.array(rows))
        if isinstance(self.run, Run):
            texts = texts_of_run(self.run, chosen["id"])
        else:
            can_be_read = self.corpus is not None and "-" not in self.corpus.inputs
            texts = texts_of(self.corpus.batches() if self.corpus is not None and can_be_read else (), chosen["id"])
        rank = pa.array(range(1, len(rows) + 1), pa.int32())
        table = chosen.add_column(0, "rank", rank).add_column(2, "prob", pa.array(prob))
        return table.append_column("text", texts)

    def show(self, top: int = 8) -> None:
        """Print the topics: number, size, name and their `top` strongest words."""
        sys.stdout.write(f"{notebook.text(_HEADINGS, _topic_rows(self.topics, top))}\n")

    def _number_of(self, topic: int | str) -> int:
        return number_of(topic, self.topics["label"].to_pylist(), "the model", "topic")


_HEADINGS = ("topic", "size", "name", "top words")


def topics_html(topics: pa.Table) -> str:
    """Return the topics as a table for a notebook."""
    return notebook.html(_HEADINGS, _topic_rows(topics))


def _topic_rows(topics: pa.Table, words: int = 8) -> list[tuple[int, int, str, str]]:
    rows = topics.select(["topic", "size", "label", "top_terms"]).to_pylist()
    return [(r["topic"], r["size"], r["label"] or "", " ".join((r["top_terms"] or ())[:words])) for r in rows]


# ------------------------------------------------------------------------------------------------------------------------
# A run directory, or that of a model, opened for the tools that work on any run.


def opened_run(run: str | Path | Run | RunModel, execution: Execution, kinds: Sequence[str] | None = None) -> Run:
    """Return a run directory, or that of a saved model, as a run that is open.

    Args:
        kinds: that a directory, or the one of a model, may have; None for all.

    Raises:
        InputError: it is no run; SchemaError: of another kind; UsageError: a model that is not saved yet.
    """
    if isinstance(run, RunModel):
        if not isinstance(run.run, Run) or not run.run.is_written:
            raise UsageError("the model is not saved yet: give the folder that its `save` returns", parameter="run")
        run = run.run.path if kinds else run.run
    return run if isinstance(run, Run) else open_run(Path(run), kinds, verify=execution.verify)
