"""Options of prior knowledge for topics on embeddings, as plain data."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.parameters import Param, options


@options
class GuidedOptions:
    """What is known of the documents or the topics before a fit."""

    PANEL: ClassVar[str] = "Prior knowledge"

    semi_supervised: Annotated[
        bool,
        Param("Let the labels of some or all documents (`label_col`) pull topics towards their classes."),
    ] = False
    topics_from: Annotated[
        Path | None,
        Param(
            "Text file of given topics, one per line: a name, or name: description | description. They come first "
            "and keep their names. Documents close to none of them form further topics.",
            metavar="FILE",
        ),
    ] = None
    seed_words: Annotated[
        Path | None,
        Param("Given topics by seed words, in a TOML file: [topics] name = ['word', 'stem*'].", metavar="TOML"),
    ] = None
    least_similarity: Annotated[
        float | None,
        Param(
            "Minimum cosine between a document and a given topic. Default: 0.2 for names, 0.4 for seed words.",
            min=-1.0,
            max=1.0,
        ),
    ] = None
    debias: Annotated[
        str | None,
        Param(
            "Column (source, author) whose influence is removed from embeddings and words.",
            metavar="COLUMN",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuse options that do not go together."""
        exclusive = [name for name in ("semi_supervised", "topics_from", "seed_words") if getattr(self, name)]
        if len(exclusive) > 1:
            raise UsageError(f"`{exclusive[0]}` and `{exclusive[1]}` do not go together", parameter=exclusive[1])
        if self.least_similarity is not None and not (self.topics_from or self.seed_words):
            raise UsageError(
                "`least_similarity` is an option of `topics_from` and `seed_words`", parameter="least_similarity"
            )

    def check_engine(self, cluster: str) -> None:
        """Raise UsageError where an engine cannot be guided."""
        used = [field.name for field in fields(self) if getattr(self, field.name) and field.name != "debias"]
        if used and cluster == "hdbscan":
            raise UsageError(
                f"`{used[0]}` does not go with `cluster=hdbscan`, whose clusters are merged by their words; leave "
                "one out",
                parameter=used[0],
            )
