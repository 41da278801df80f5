"""Options of naming topics, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.llm_options import LlmOptions
from nlpkit.platform.options import READ, Param, options


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
            "Name of the language model at this address; for local, its folder.",
            ("llm_model", "model"),
            metavar="NAME",
            panel="Language model",
        ),
    ] = None
    llm_cache: Annotated[
        Path | None,
        Param(
            "Folder for saved answers. Default: nlpkit/llm in the user's cache folder.",
            ("llm_cache", "cache"),
            metavar="DIR",
            panel="Language model",
        ),
    ] = None
    names: Annotated[
        Path | None, Param("Table of your names: columns topic and name, or one name per line.", metavar="FILE"), READ
    ] = None  # fmt: skip
    phrases: Annotated[
        bool,
        Param(
            "Name each topic by phrases from its documents, such as 'video card, monitor', as `bertopic` does by "
            "itself. Nothing is sent to another machine."
        ),
    ] = False
    all: Annotated[bool, Param("Also rename topics that were named by hand (`names`, `edit()`).")] = False
    layers: Annotated[
        bool,
        Param(
            "Also let the language model name the topics of the other layers of the tree, siblings apart from each other.",
            panel="Language model",
            needs=("llm",),
        ),
    ] = False
    documents: Annotated[
        int, Param("Number of typical documents per topic in which phrases are searched.", metavar="N", min=1)
    ] = 200
    tagger: Annotated[
        str | None,
        Param(
            "Pipeline of spaCy for parts of speech: a name, or auto (for the language). Phrases then contain only "
            "adjectives and nouns.",
            metavar="NAME",
            needs=("phrases",),
        ),
    ] = None
    n_words: Annotated[int, Param("Number of words per topic shown to the model.", metavar="N", min=1)] = 10
    budget: Annotated[
        int, Param("Number of tokens of typical documents per topic shown to the model.", metavar="N", min=0)
    ] = 1000

    def __post_init__(self) -> None:
        """Check that there is one who names."""
        if (self.llm is not None) + (self.names is not None) + self.phrases != 1:
            raise UsageError(
                "no source of names; use `llm=URL` with `llm_model`, `names=FILE`, or `phrases`", parameter="llm"
            )
