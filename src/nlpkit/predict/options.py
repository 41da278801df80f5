"""How new documents are predicted: options of all kinds of models; a kind refuses those that it has no use for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field, fields
from typing import Annotated, Any, ClassVar

from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import UsageError
from nlpkit.platform.options import READ, Param, options

TOPIC_COLUMNS = ("topic", "topic_prob", "nearest_topic", "margin")


@options
class PredictOptions:
    """What a prediction looks at and gives. `encoder`: how texts are embedded, by models that need it."""

    PANEL: ClassVar[str] = "Prediction"

    assign_outliers: Annotated[
        bool,
        Param(
            "bertopic: assign documents without a topic to the nearest one, unless they differ from all training "
            "documents."
        ),
    ] = False
    novelty_quantile: Annotated[
        float | None,
        Param(
            "bertopic: mark a new text as topic -1 if it is less similar to its neighbours than this share of the "
            "training texts are. 1 turns this off. Default: the value stored in the run.",
            above=0,
            max=1,
        ),
    ] = None
    probabilities: Annotated[bool, Param("Classifiers: add a column with the probability of each class.")] = False
    explain: Annotated[
        tuple[str, ...],
        Param(
            "Classifiers and regression: show the words that influenced the prediction for the document with this ID.",
            metavar="ID",
        ),
    ] = ()
    explain_by: Annotated[
        str | None,
        Param(
            "Fine-tuned models, with explain: gradients (integrated gradients, the default) or omission (each word "
            "left out in turn).",
            metavar="HOW",
        ),
    ] = None
    base: Annotated[
        str | None,
        Param(
            "Fine-tuned adapters: the base model. Default: the model recorded in the adapter.",
            metavar="MODEL",
        ),
        READ,
    ] = None
    labels: Annotated[
        str | tuple[str, ...] | None,
        Param("Class names, in order, for a peft or transformers folder without class names.", metavar="NAME,…"),
    ] = None
    task: Annotated[
        str, Param("Task of a peft folder, which does not record it: classes, labels, regression or words.")
    ] = "auto"
    pair_col: Annotated[
        str | None, Param("Sentence pairs: column with the second text. Default: as in training.", metavar="COL")
    ] = None
    words_col: Annotated[
        str | None, Param("Word labels: column with the words. Default: as in training.", metavar="COL")
    ] = None
    context_by: Annotated[
        str | None, Param("Context: column whose change ends it. Default: as in training.", metavar="COL")
    ] = None
    encoder: EncoderOptions = field(default_factory=EncoderOptions)

    def refuse_others(self, used: Collection[str], what: str) -> None:
        """Refuse options that are set and not among those used.

        Args:
            used: names of the options that the model knows.
            what: what the model is, such as "a run of lda-gibbs".

        Raises:
            UsageError: an option has another value than its default, and the model has no use for it.
        """
        usual: Any = PredictOptions()
        for one in fields(self):
            if one.name not in used and getattr(self, one.name) != getattr(usual, one.name):
                raise UsageError(f"`{one.name}`: {what} does not use it; leave it out", parameter=one.name)
