"""Options of labels by their names, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.classify.options import confidence_level
from nlpkit.errors import UsageError, unknown_value
from nlpkit.lm.chat_options import LlmOptions
from nlpkit.parameters import READ, READ_LIST, Param, options

COSINE, NLI, PROMPT = "cosine", "nli", "prompt"
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
            "Labels: 'sports,politics', 'sports: games, …; politics: …', or a table with the columns label and description.",
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
        ),
    ] = COSINE
    model: Annotated[
        str | None,
        Param(
            "Model for nli (trained on natural language inference) or prompt (a masked language model): a folder "
            "or a Hugging Face name.",
            metavar="MODEL",
        ),
        READ,
    ] = None
    template: Annotated[
        str | None,
        Param(
            "Sentence around the label. Default: 'This text is about {label}.'; for prompt, which needs [text] and [MASK]: "
            "'[text] This text is about [MASK].'.",
            metavar="TEXT",
        ),
    ] = None
    multi_label: Annotated[
        bool,
        Param("Judge each label separately (nli). A text gets all labels that it entails rather than contradicts."),
    ] = False
    calibrate: Annotated[
        bool,
        Param("Divide the prompt's predictions by its predictions for texts without content, such as N/A."),
    ] = True
    probabilities: Annotated[bool, Param("Add a column with the probability of each label.")] = False
    ci: Annotated[float, Param("Confidence level of the intervals of scores; 0 = no intervals.", metavar="LEVEL")] = (
        0.95
    )
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
        ),
        READ,
    ] = None
    shots: Annotated[int, Param("Number of examples before each text.", metavar="N", min=1, panel="Language model")] = (
        SHOTS
    )
    choose: Annotated[
        str,
        Param(
            "How to choose examples: random, balanced (equally many for each label, the same for all texts), or "
            "nearest (to each text by embedding, nearest last).",
            metavar="HOW",
            panel="Language model",
        ),
    ] = BALANCED

    def __post_init__(self) -> None:
        """Check that the options go together."""
        if self.choose not in CHOICES:
            raise unknown_value("choose", self.choose, CHOICES)
        if self.examples is not None and self.llm is None:
            raise UsageError("`examples` are for labels by `llm`; leave them out", parameter="examples")
        if self.examples is None and (self.shots != SHOTS or self.choose != BALANCED):
            name = "choose" if self.shots == SHOTS else "shots"
            raise UsageError(f"`{name}` is for `examples`: give a table with text and label", parameter=name)
        confidence_level(self.ci)
        LlmOptions.__post_init__(self)
        if self.by not in WAYS:
            raise unknown_value("by", self.by, WAYS)
        if self.llm is not None:
            self._check_llm()
        by_model = self.by in (NLI, PROMPT)
        if by_model and not self.model:
            kind = "trained on natural language inference" if self.by == NLI else "that predicts masked words"
            raise UsageError(
                f"`by={self.by}` needs a model {kind}: give `model`, a folder or a name", parameter="model"
            )
        if self.model and not by_model:
            raise UsageError("`model` is for `by=nli` and `by=prompt`; leave it out", parameter="model")
        if self.multi_label and self.by != NLI:
            raise UsageError("`multi_label` is for `by=nli`; leave it out", parameter="multi_label")
        if not self.calibrate and self.by != PROMPT:
            raise UsageError("`calibrate` is for `by=prompt`; leave it out", parameter="calibrate")
        slots = (TEXT, MASK) if self.by == PROMPT else (LABEL,)
        for slot in slots:
            if self.sentence.count(slot) != 1:
                raise UsageError(
                    f"`template={self.template}`: {slot} must occur once, as in '{TEMPLATES[self.by]}'; it occurs "
                    f"{self.sentence.count(slot)} times",
                    parameter="template",
                )

    def _check_llm(self) -> None:
        """Refuse what labels by a language model at an address have no use for."""
        others = {"by": self.by != COSINE, "template": self.template is not None}
        for name in [name for name, is_set in others.items() if is_set]:
            raise UsageError(f"`{name}`: labels by `llm` do not use it; leave it out", parameter=name)
        if self.probabilities:
            raise UsageError(
                "`probabilities`: labels by `llm` have no probabilities; leave it out", parameter="probabilities"
            )

    @property
    def sentence(self) -> str:
        """The template in force."""
        return TEMPLATES[self.by] if self.template is None else self.template
