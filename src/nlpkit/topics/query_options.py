"""Options of questions to the topics of a run, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.parameters import Param, options

TUNINGS = ("cell", "global", "evolving", "distinctive")


@options
class TopicWordOptions:
    """Options of the words of topics in periods and groups.

    Raises:
        UsageError: an unknown name.
    """

    PANEL: ClassVar[str] = "Words"

    words: Annotated[
        int,
        Param(
            "Also show this many words of each topic in each period and group. This reads the corpus of the run again.",
            metavar="N",
            min=0,
        ),
    ] = 0
    terms: Annotated[
        str,
        Param(
            "How to choose words by c-tf-idf: cell (from its own documents), global (averaged with the whole "
            "topic), or evolving (also with the period before, as in BERTopic). distinctive uses keyness against "
            "the topic's other cells.",
            metavar="NAME",
            choices=TUNINGS,
        ),
    ] = "evolving"


@options
class TopicQueryOptions:
    """A question to the topics of a run, at most one.

    Raises:
        UsageError: several questions.
    """

    PANEL: ClassVar[str] = "Questions"

    documents: Annotated[
        tuple[str, ...],
        Param("List the documents with most of this topic (number or name). May be repeated.", metavar="TOPIC"),
    ] = ()
    search: Annotated[
        tuple[str, ...],
        Param(
            "List the topics of a word. flood* matches all words that start with flood. May be repeated.",
            metavar="WORD",
            excludes=("documents",),
        ),
    ] = ()
    similar: Annotated[
        str | None,
        Param(
            "List the topics most similar to this one (number or name).",
            metavar="TOPIC",
            excludes=("documents", "search"),
        ),
    ] = None
    correlations: Annotated[
        bool,
        Param(
            "List topics that occur in the same documents, and topics that avoid each other.",
            excludes=("documents", "search", "similar"),
        ),
    ] = False
    top: Annotated[
        int, Param("Number of documents, topics or pairs to find.", ("top", "top_n"), metavar="N", min=1)
    ] = 20

    def asked(self) -> list[str]:
        """Return the names of the questions that are asked."""
        return [
            name
            for name in ("documents", "search", "similar", "correlations")
            if getattr(self, name) not in ((), None, False)
        ]
