"""How new documents are predicted: options of all kinds of models; a kind refuses those that it has no use for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field, fields
from typing import Annotated, Any, ClassVar

from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import UsageError
from nlpkit.parameters import READ, Param, options


@options
class PredictOptions:
    """What a prediction looks at and gives. `encoder`: how texts are embedded, by models that need it."""

    PANEL: ClassVar[str] = "Prediction"

    assign_outliers: Annotated[
        bool,
        Param("bertopic: give documents without a topic their nearest one, unless they are unlike all of the fit."),
    ] = False
    novelty_quantile: Annotated[
        float | None,
        Param(
            "bertopic: new text that is less like its nearest training documents than this share of those with a topic is to theirs "
            "gets topic -1; 1 sets no bound; default: that of the run."
        ),
    ] = None
    probabilities: Annotated[bool, Param("Classes: add a column with the probability of each class.")] = False
    explain: Annotated[
        tuple[str, ...],
        Param("Classes and numbers: the words that pushed the decision on the document with this id.", metavar="ID"),
    ] = ()
    explain_by: Annotated[
        str | None,
        Param(
            "Fine-tuned models, with explain: gradients (integrated gradients, the default) or omission (each word left out).",
            metavar="HOW",
        ),
    ] = None
    base: Annotated[
        str | None,
        Param(
            "Fine-tuned adapters: the model they were trained on; default: the one that the adapter names.",
            metavar="MODEL",
        ),
        READ,
    ] = None
    labels: Annotated[
        str | tuple[str, ...] | None,
        Param("Class names, in order, for a peft or transformers folder that does not store them.", metavar="NAME,…"),
    ] = None
    task: Annotated[
        str, Param("Task of a peft folder, which does not store it: classes, labels, regression or words.")
    ] = "auto"
    pair_col: Annotated[
        str | None, Param("Sentence pairs: column with the second text; default: that of the training.", metavar="COL")
    ] = None
    words_col: Annotated[
        str | None, Param("Labels of words: column with the words; default: that of the training.", metavar="COL")
    ] = None
    context_by: Annotated[
        str | None, Param("Context: column at whose changes it ends; default: that of the training.", metavar="COL")
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
                raise UsageError(f"`{one.name}`: {what} has no use for it; leave it out", parameter=one.name)
