"""What every fitted model can do: predict, give its tables, save itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from nlpkit.platform import notebook
from nlpkit.platform.documents.corpus import Corpus, as_corpus, warn_dropped
from nlpkit.platform.options import Execution, takes, with_settings
from nlpkit.platform.runs.passes import Pass
from nlpkit.platform.runs.runs import NewRun, Run
from nlpkit.platform.runs.saving import save_run
from nlpkit.platform.signatures import document
from nlpkit.predict.options import PredictOptions

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
