"""Options of naming topics, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.lm.chat_options import LlmOptions
from nlpkit.parameters import READ, Param, options


@options
class NameOptions(LlmOptions):
    """Options of naming topics: by whom, and what is shown of a topic.

    Raises:
        UsageError: not exactly one of a language model, a file of names, and phrases.
    """

    PANEL: ClassVar[str] = "Names"

    llm_model: Annotated[
        str | None,
        Param(
            "Name of the language model at this address; of local its folder.",
            ("llm_model", "model"),
            metavar="NAME",
            panel="Language model",
        ),
    ] = None
    llm_cache: Annotated[
        Path | None,
        Param(
            "Folder where answers are kept; default: nlpkit/llm in the user's cache.",
            ("llm_cache", "cache"),
            metavar="DIR",
            panel="Language model",
        ),
    ] = None
    names: Annotated[
        Path | None, Param("Table of names by people: columns topic and name, or a name on each line.", metavar="FILE"), READ
    ] = None  # fmt: skip
    phrases: Annotated[
        bool,
        Param(
            "Name each topic by a phrase of its documents, such as 'video card', and one more word; nothing leaves this machine."
        ),
    ] = False
    all: Annotated[bool, Param("Name topics anew, too, whose names people gave (--names, nlpkit edit).")] = False
    documents: Annotated[
        int, Param("Number of typical documents of a topic that are searched for its phrase.", metavar="N", min=1)
    ] = 200
    tagger: Annotated[
        str | None,
        Param(
            "Pipeline of spaCy for the parts of speech: phrases are then adjectives and nouns only; its name, or auto (that of the "
            "language).",
            metavar="NAME",
        ),
    ] = None
    n_words: Annotated[int, Param("Number of words of a topic that the model is shown.", metavar="N", min=1)] = 10
    budget: Annotated[
        int, Param("Number of tokens of typical documents that it is shown of a topic.", metavar="N", min=0)
    ] = 1000

    def __post_init__(self) -> None:
        """Check that there is one who names."""
        if (self.llm is not None) + (self.names is not None) + self.phrases != 1:
            raise UsageError(
                "say who names the topics: `llm=URL` with its `llm_model`, `names=FILE`, or `phrases`", parameter="llm"
            )
        if not self.phrases and self.tagger is not None:
            raise UsageError("`tagger` is an option of `phrases`", parameter="tagger")
        LlmOptions.__post_init__(self)
