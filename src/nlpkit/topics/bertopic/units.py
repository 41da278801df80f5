"""Topics of sentences or paragraphs in one command: split the documents, fit their parts, add the topics up to the documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from nlpkit.errors import UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import Corpus, read_corpus
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.tables import check_table
from nlpkit.text.options import RowOptions, TopicTokenOptions
from nlpkit.text.run import preprocess
from nlpkit.text.sentences import parse_unit
from nlpkit.topics.over_time.units import PARENT, topic_units


class SplitCorpus:
    """The parts of documents as a table beside the run, and where the topics of the documents go.

    parts, parents: `talks.sentences.parquet` and `talks.documents.parquet` beside the run `talks`.
    """

    def __init__(self, unit: str, target: Path, *, force: bool) -> None:
        """Check the names before any work is done. Raises UsageError, OutputExistsError."""
        kind = parse_unit(unit).kind
        if kind == "document":
            raise UsageError("`unit=document` divides nothing; give sentence, paragraph or chunk:N", parameter="unit")
        self.unit, self.kind, self.force = unit, kind, force
        self.parts, self.parents = (
            target.parent / f"{target.name}.{name}.parquet" for name in (f"{kind}s", "documents")
        )
        for path in (self.parts, self.parents):
            check_table(path, force=force)

    def split(self, corpus: Corpus, tokens: TopicTokenOptions, execution: Execution) -> Corpus:
        """Write the parts with their tokens, and return them."""
        with preprocess(
            corpus, tokens=cast(Any, tokens), rows=RowOptions(unit=self.unit), execution=execution
        ) as divided:
            rows = divided.save(self.parts, force=self.force)["rows"]
        reporting.note(f"wrote {self.parts}: {wording.counted(rows, self.kind)}, the documents of the run")
        return read_corpus(str(self.parts))

    def add_up(self, run: Path, execution: Execution) -> None:
        """Write the shares of topics in the documents."""
        topic_units(run, PARENT, execution=execution).save(self.parents, force=self.force)
