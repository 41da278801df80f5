"""A topic model as a run: its topics, words and documents, in Python and in a notebook."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.platform import notebook, wording
from nlpkit.platform.runs.runs import Run
from nlpkit.predict.model import RunModel
from nlpkit.topics.base.topic_reading import BESIDE, number_of, ranked_documents, texts_of, texts_of_run

if TYPE_CHECKING:
    pass


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
