"""The functions that fit the mixture models of nlpkit: made of what their kinds declare, when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nlpkit.embed.options import EncoderOptions
from nlpkit.models import MODELS, TopicModel, resolved
from nlpkit.parameters import hands_on
from nlpkit.workflows.mixtures import FittedTopics, fit_topics


def __getattr__(name: str) -> Any:
    """Return the function fit_<kind> of a model."""
    kind = name.removeprefix("fit_").replace("_", "-")
    if not name.startswith("fit_") or kind not in MODELS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    model = MODELS[kind]
    globals()[name] = resolved(model.fit) if model.fit else topic_function(model)
    return globals()[name]


def topic_function(model: TopicModel) -> Callable[..., FittedTopics]:
    """Return the public function that fits a model, with the signature and the docstring that its record of options makes."""

    def fit(data: Any, *, options: Any = None, **settings: Any) -> FittedTopics:
        return fit_topics(model.kind, data, options, **settings)

    def fit_embedded(
        data: Any, *, options: Any = None, encoder: EncoderOptions | str | None = None, **settings: Any
    ) -> FittedTopics:
        return fit_topics(model.kind, data, options, encoder=encoder, **settings)

    function = fit_embedded if model.embeddings else fit
    record = resolved(model.options)
    function.__name__ = function.__qualname__ = model.function
    function.__doc__ = model.docstring
    function.__annotations__["options"] = f"{record.__name__} | None"
    globals()[record.__name__] = record  # where its annotations are looked up
    return hands_on(fit_topics, without=("options",) if model.embeddings else ("options", "encoder"))(function)
