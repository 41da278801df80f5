"""What every fitted model can do: predict, give its tables, save itself."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import UsageError
from nlpkit.platform import notebook, wording
from nlpkit.platform.documents.corpus import Corpus, as_corpus, warn_dropped
from nlpkit.platform.options import Execution, takes, with_settings
from nlpkit.platform.runs.passes import Pass
from nlpkit.platform.runs.runs import NewRun, Run, open_run
from nlpkit.platform.runs.saving import save_run
from nlpkit.platform.signatures import document
from nlpkit.predict.options import PredictOptions
from nlpkit.topics.edit.files import RenamedRun
from nlpkit.topics.over_time.reading import BESIDE, number_of, ranked_documents, texts_of, texts_of_run

if TYPE_CHECKING:
    import polars as pl


class FittedModel(ABC):
    """A model that was fitted or loaded.

    Attributes:
        kind: what the run directory calls the model, such as "bertopic" or "lda".
        corpus: the documents that it was fitted to, None for a model that was loaded.
    """

    _INTERNAL: ClassVar[tuple[str, ...]] = ("check", "predict_batches")

    kind: str
    corpus: Corpus | None = None

    @abstractmethod
    def predict_batches(
        self, corpus: Corpus, *, options: PredictOptions | None = None, execution: Execution | None = None
    ) -> AbstractContextManager[Pass]:
        """Return a context with the predictions for a corpus, made batch by batch.

        Raises:
            UsageError: an option that this kind of model has no use for.
        """

    def check(self, corpus: Corpus, options: PredictOptions) -> None:  # noqa: B027  # most models need no more than the text
        """Refuse options and documents that `predict_batches` would refuse, without reading them or the weights of the model.

        Raises:
            UsageError, ColumnError: see `predict_batches`.
        """

    @abstractmethod
    def tables(self) -> Mapping[str, pa.Table]:
        """Return the tables of the model by name, as a run directory has them."""

    @abstractmethod
    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the model as a run directory; `nlpkit.load` reads it.

        Raises:
            OutputExistsError: it is there and `force` was not given.
        """

    def to_pandas(self) -> dict[str, Any]:
        """Return the tables by name as data frames of pandas."""
        return {name: notebook.pandas_frame(table) for name, table in self.tables().items()}

    def to_polars(self) -> dict[str, pl.DataFrame]:
        """Return the tables by name as data frames of Polars."""
        return {name: notebook.polars_frame(table) for name, table in self.tables().items()}

    def __dir__(self) -> list[str]:
        """Return the names that are meant for use; what commands need of a model stays out."""
        internal = {name for kind in type(self).__mro__ for name in getattr(kind, "_INTERNAL", ())}
        return [name for name in super().__dir__() if name not in internal]

    @takes(PredictOptions, Execution)
    def predict(self, data: Any, **settings: Any) -> pa.Table:
        """Return documents with the columns that the model gives them, such as topic or prediction.

        nlpkit warns of missing texts.

        Args:
            data: a Corpus, texts or a data frame.
            settings: single options.

        Raises:
            UsageError: an option that this kind of model has no use for. InputError: there are no documents.
        """
        options, execution = with_settings((PredictOptions(), Execution()), settings)
        with self.predict_batches(as_corpus(data), options=options, execution=execution) as predictions:
            table = predictions.table()
            warn_dropped(predictions, None)
            return table


document(FittedModel.predict)


class RunModel(FittedModel):
    """A model that is a run: one that was read, or one that can be written."""

    _INTERNAL: ClassVar[tuple[str, ...]] = ("run",)

    run: Run | NewRun

    def tables(self) -> Mapping[str, pa.Table]:
        """Return the tables of the run directory by name."""
        return self.run.tables() if isinstance(self.run, Run) else self.run.files.tables

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the run directory. Raises OutputExistsError when it is there and `force` was not given."""
        return save_run(self.run, path, force=force, drops_told=True)


def opened_run(run: str | Path | Run | RunModel, execution: Execution, kinds: Sequence[str] | None = None) -> Run:
    """Return a run directory, or that of a saved model, as a run that is open.

    Args:
        kinds: that a directory, or the one of a model, may have; None for all.

    Raises:
        InputError: it is no run; SchemaError: of another kind; UsageError: a model that is not saved yet.
    """
    if isinstance(run, RunModel):
        if not isinstance(run.run, Run) or isinstance(run.run, RenamedRun):
            raise UsageError("the model is not saved yet: give the folder that its `save` returns", parameter="run")
        run = run.run.path if kinds else run.run
    return run if isinstance(run, Run) else open_run(Path(run), kinds, verify=execution.verify)


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
