"""Options of questions to the topics of a run, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
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
            "Also show this many words of each topic in each cell; the corpus of the run is read again.",
            metavar="N",
            min=0,
        ),
    ] = 0
    terms: Annotated[
        str,
        Param(
            "Words of a cell by c-tf-idf: cell (its own documents), global (averaged with the topic as a whole), evolving (also with "
            "the period before, as BERTopic has it), or distinctive (by keyness against the other cells of the topic).",
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
        Param("The documents that have most of this topic, by its number or name; may be repeated.", metavar="TOPIC"),
    ] = ()
    search: Annotated[
        tuple[str, ...],
        Param("The topics that a word is in; flood* finds all words that begin so; may be repeated.", metavar="WORD"),
    ] = ()
    similar: Annotated[
        str | None, Param("The topics that are most like this one, by its number or name.", metavar="TOPIC")
    ] = None
    correlations: Annotated[bool, Param("The topics that occur in the same documents, and those that do not.")] = False
    top: Annotated[
        int, Param("Number of documents, topics or pairs to find.", ("top", "top_n"), metavar="N", min=1)
    ] = 20

    def __post_init__(self) -> None:
        """Refuse two questions at once."""
        asked = self.asked()
        if len(asked) > 1:
            raise UsageError(f"`{asked[0]}` and `{asked[1]}` are two questions; ask one at a time", parameter=asked[1])

    def asked(self) -> list[str]:
        """Return the names of the questions that are asked."""
        return [
            name
            for name in ("documents", "search", "similar", "correlations")
            if getattr(self, name) not in ((), None, False)
        ]
