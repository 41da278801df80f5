"""Options of labels by their names, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.llm_options import LlmOptions
from nlpkit.platform.options import READ, READ_LIST, Param, options

COSINE, NLI, PROMPT = "cosine", "nli", "prompt"
AUTO = "auto"
UNCALIBRATED = "; probabilities order the labels of a document, they are not calibrated"
WAYS = (COSINE, NLI, PROMPT)
TEXT, MASK, LABEL = "[text]", "[MASK]", "{label}"
RANDOM, BALANCED, NEAREST = "random", "balanced", "nearest"
CHOICES, SHOTS = (RANDOM, BALANCED, NEAREST), 8
TEMPLATES = {
    COSINE: "This text is about {label}.",
    NLI: "This text is about {label}.",
    PROMPT: "[text] This text is about [MASK].",
}


@options
class ZeroShotOptions(LlmOptions):
    """The labels, by their names or descriptions, and what gives them: an encoder, an NLI model, a masked or a causal language model.

    Raises:
        UsageError: options that do not go together, or a template without its slots.
    """

    PANEL: ClassVar[str] = "Labels"

    labels: Annotated[
        str | Sequence[str] | Mapping[str, str | Sequence[str]] | None,
        Param(
            "Labels: 'sports,politics', 'sports: games, …; politics: …', 'sports > tennis; sports > golf', or a table with the columns "
            "label, parent and description.",
            metavar="NAMES|FILE",
        ),
        READ_LIST,
    ] = None
    by: Annotated[
        str,
        Param(
            "How to decide: cosine (nearest label by embedding), nli (does the text entail the label?) or prompt "
            "(a masked language model fills in the word of a label).",
            metavar="WAY",
            choices=WAYS,
            excludes=("llm",),
        ),
    ] = COSINE
    model: Annotated[
        str | None,
        Param(
            "Model for nli (trained on natural language inference) or prompt (a masked language model): a folder "
            "or a Hugging Face name.",
            metavar="MODEL",
            needs=("by=nli", "by=prompt"),
        ),
        READ,
    ] = None
    template: Annotated[
        str | None,
        Param(
            "Sentence around the label. Default: 'This text is about {label}.'; for prompt, which needs [text] and [MASK]: "
            "'[text] This text is about [MASK].'.",
            metavar="TEXT",
            excludes=("llm",),
        ),
    ] = None
    refine: Annotated[
        bool,
        Param(
            "Move each label towards the documents nearest to it (cosine). Better where every label occurs and most documents have one; "
            "the label of a document then depends on the others.",
            needs=("by=cosine",),
            excludes=("llm",),
        ),
    ] = False
    threshold: Annotated[
        str | float | None,
        Param(
            "Cosine below which a text gets no label: a number, or auto (fitted to the documents that have a label, some of them another "
            "one).",
            metavar="COSINE",
            needs=("by=cosine",),
            excludes=("llm",),
        ),
    ] = None
    multi_label: Annotated[
        bool,
        Param(
            "Judge each label separately (nli). A text gets all labels that it entails rather than contradicts.",
            needs=("by=nli",),
        ),
    ] = False
    calibrate: Annotated[
        bool,
        Param(
            "Divide the prompt's predictions by its predictions for texts without content, such as N/A.",
            needs=("by=prompt",),
        ),
    ] = True
    probabilities: Annotated[bool, Param("Add a column with the probability of each label.", excludes=("llm",))] = False
    ci: Annotated[
        float, Param("Confidence level of the intervals of scores; 0 = no intervals.", metavar="LEVEL", min=0, below=1)
    ] = 0.95
    budget: Annotated[
        int,
        Param(
            "Maximum number of tokens of a text that the language model sees.",
            metavar="N",
            min=1,
            panel="Language model",
        ),
    ] = 1000

    examples: Annotated[
        Path | None,
        Param(
            "Labelled texts shown to the language model as solved examples: a table with text and label.",
            metavar="FILE",
            panel="Language model",
            needs=("llm",),
        ),
        READ,
    ] = None
    shots: Annotated[
        int,
        Param("Number of examples before each text.", metavar="N", min=1, panel="Language model", needs=("examples",)),
    ] = SHOTS
    choose: Annotated[
        str,
        Param(
            "How to choose examples: random, balanced (equally many for each label, the same for all texts), or "
            "nearest (to each text by embedding, nearest last).",
            metavar="HOW",
            panel="Language model",
            choices=CHOICES,
            needs=("examples",),
        ),
    ] = BALANCED

    def __post_init__(self) -> None:
        """Check that the options go together."""
        if self.by in (NLI, PROMPT) and not self.model:
            kind = "trained on natural language inference" if self.by == NLI else "that predicts masked words"
            raise UsageError(
                f"`by={self.by}` needs a model {kind}: give `model`, a folder or a name", parameter="model"
            )
        self.least_cosine()
        slots = (TEXT, MASK) if self.by == PROMPT else (LABEL,)
        for slot in slots:
            if self.sentence.count(slot) != 1:
                raise UsageError(
                    f"`template={self.template}`: {slot} must occur once, as in '{TEMPLATES[self.by]}'; it occurs "
                    f"{self.sentence.count(slot)} times",
                    parameter="template",
                )

    def least_cosine(self) -> float | None:
        """Return the threshold, None where there is none or it is to be fitted. Raises UsageError for what is no cosine."""
        if self.threshold is None or self.threshold == AUTO:
            return None
        try:
            value = float(self.threshold)
        except ValueError:
            value = math.nan
        if not -1 <= value <= 1:
            raise UsageError(
                f"`threshold={self.threshold}` is not a cosine from -1 to 1, nor auto", parameter="threshold"
            )
        return value

    @property
    def reads_all_first(self) -> bool:
        """Whether the labels depend on all documents, which are then embedded before the first label is given."""
        return self.refine or self.threshold == AUTO

    @property
    def sentence(self) -> str:
        """The template in force."""
        return TEMPLATES[self.by] if self.template is None else self.template
