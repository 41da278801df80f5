"""What gives new documents their topics, for the kinds of models that read more of them than words; and their stored columns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

from nlpkit.io.corpora import DocumentStream
from nlpkit.io.topic_tables import TOPIC_COLUMNS
from nlpkit.parameters import Execution
from nlpkit.topics.mixtures.model import MixtureFit
from nlpkit.topics.neural.embedded import EmbeddedFitter
from nlpkit.topics.stm.fitter import StmFitter
from nlpkit.workflows.mixture_model import DocumentInference
from nlpkit.workflows.neural_topics import embedded_inference, with_stored_width
from nlpkit.workflows.predict_options import PredictOptions
from nlpkit.workflows.stm_columns import ColumnInference, with_stored_columns


@singledispatch
def inference_by(
    fitter: Any, fit: MixtureFit, config: Mapping[str, Any], stream: DocumentStream, options: PredictOptions,
    execution: Execution, name: str,
) -> DocumentInference | None:  # fmt: skip
    """Return what gives documents their topics; None for the kinds of models that read words alone.

    Args:
        fit: of which the documents are not needed. config: of the run. name: of the model in messages.

    Raises:
        UsageError, InputError, MissingError: the documents have not what the model needs.
    """
    return None


@inference_by.register
def _(
    fitter: StmFitter, fit: MixtureFit, config: Mapping[str, Any], stream: DocumentStream, options: PredictOptions,
    execution: Execution, name: str,
) -> DocumentInference | None:  # fmt: skip
    if not fitter.uses_columns:
        return None
    columns = [column for column in stream.schema.names if column not in ("text", "tokens", *TOPIC_COLUMNS)]
    return ColumnInference(fitter, fit, columns, execution, name)


@inference_by.register
def _(
    fitter: EmbeddedFitter, fit: MixtureFit, config: Mapping[str, Any], stream: DocumentStream, options: PredictOptions,
    execution: Execution, name: str,
) -> DocumentInference | None:  # fmt: skip
    return embedded_inference(fitter, fit.model, fit.weights, config, stream, options.encoder, execution.n_threads())


@singledispatch
def restored(fitter: Any, config: Mapping[str, Any]) -> Any:
    """Return the fitter of a run with what its config says of columns: nothing, for most kinds of models."""
    return fitter


restored.register(StmFitter, with_stored_columns)
restored.register(EmbeddedFitter, with_stored_width)
