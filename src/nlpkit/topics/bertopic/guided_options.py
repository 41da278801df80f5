"""The options of prior knowledge for topics on embeddings, and the check of options beside an update."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.options import Param, options


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
            excludes=("semi_supervised",),
        ),
    ] = None
    seed_words: Annotated[
        Path | None,
        Param(
            "Given topics by seed words, in a TOML file: [topics] name = ['word', 'stem*'].",
            metavar="TOML",
            excludes=("semi_supervised", "topics_from"),
        ),
    ] = None
    least_similarity: Annotated[
        float | None,
        Param(
            "Minimum cosine between a document and a given topic. Default: 0.2 for names, 0.4 for seed words.",
            min=-1.0,
            max=1.0,
            needs=("topics_from", "seed_words"),
        ),
    ] = None
    debias: Annotated[
        str | None,
        Param(
            "Column (source, author) whose influence is removed from embeddings and words.",
            metavar="COLUMN",
        ),
    ] = None

    def check_engine(self, cluster: str, like: str | None = None) -> None:
        """Raise UsageError where an engine cannot be guided."""
        if like is not None and self.debias:
            raise UsageError(f"`debias` does not go with `like={like}`, which has no such step", parameter="debias")
        used = [field.name for field in fields(self) if getattr(self, field.name) and field.name != "debias"]
        if used and cluster == "hdbscan":
            raise UsageError(
                f"`{used[0]}` does not go with `cluster=hdbscan`, whose clusters are merged by their words; leave "
                "one out",
                parameter=used[0],
            )


# ------------------------------------------------------------------------------------------------------------------------
# Which options go with an update of a run.


def refuse_new_options(*records: Any) -> None:
    """Refuse options of a fit beside `update`, which keeps those of the run.

    Raises:
        UsageError: one is not the default.
    """
    for record in records:
        usual = type(record)()
        for one in fields(record):
            value = getattr(record, one.name)
            if value != getattr(usual, one.name):
                shown = (
                    f"{one.name}={value}"
                    if isinstance(value, str | int | float) and not isinstance(value, bool)
                    else one.name
                )
                raise UsageError(
                    f"`{shown}` is an option for a new fit; `update` keeps the options of the run, so leave it out",
                    parameter=one.name,
                )
