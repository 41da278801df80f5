"""Options of prior knowledge for topics on embeddings, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.parameters import Param


@dataclass(frozen=True, slots=True)
class GuidedOptions:
    """What is known of the documents or the topics before a fit."""

    PANEL: ClassVar[str] = "Prior knowledge"

    semi_supervised: Annotated[
        bool,
        Param("Let the labels of some or all documents (`label_col`) pull the topics towards their classes."),
    ] = False

    def check_engine(self, cluster: str) -> None:
        """Raise UsageError where an engine cannot be guided."""
        used = [field.name for field in fields(self) if getattr(self, field.name)]
        if used and cluster == "hdbscan":
            raise UsageError(
                f"`{used[0]}` does not go with `cluster=hdbscan`, whose topics are merged by their words; leave one of them out",
                parameter=used[0],
            )
