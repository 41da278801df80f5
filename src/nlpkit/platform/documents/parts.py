"""Parts of a document table that are worked on apart: how the documents are divided, and what the footer of a part says.

Share i of n holds the batches ⌊(i − 1) B / n⌋ + 1 … ⌊i B / n⌋ of the B batches that a reader of the whole input gives, in its order.
A command that works batch by batch therefore does to the documents of a share what it does to them in the whole input, and the row
groups of the parts, one after the other, are those of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.options import Param, options
from nlpkit.platform.runs.footers import SHARD
from nlpkit.platform.wording import counted

if TYPE_CHECKING:
    from nlpkit.platform.documents.options import ReadOptions

FORM = re.compile(r"([0-9]{1,9})/([0-9]{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Share:
    """Share `index` (1 … total) of a document table that is cut into `total` shares."""

    index: int
    total: int

    def __str__(self) -> str:
        return f"{self.index}/{self.total}"

    def places(self, n_batches: int) -> range:
        """Return which batches belong to it.

        Raises:
            UsageError: there are fewer batches than shares.
        """
        if n_batches < self.total:
            raise UsageError(
                f"`shard={self}`: the input has {counted(n_batches, 'batch', 'batches')} of 10,000 documents (fewer "
                "if they are long), and a part needs at least one batch; "
                f"{f'divide it into {n_batches:,} at most' if n_batches > 1 else 'leave it whole'}",
                parameter=SHARD,
            )
        return range((self.index - 1) * n_batches // self.total, self.index * n_batches // self.total)


def parse_share(text: str) -> Share:
    """Return the share that "2/8" names.

    Raises:
        UsageError: it names none.
    """
    parts = FORM.fullmatch(text)
    if parts is None or not 1 <= int(parts[1]) <= int(parts[2]):
        raise UsageError(
            f"`shard` takes I/N, share I of N, from 1/N to N/N, such as 2/8; got '{text}'", parameter=SHARD
        )
    return Share(int(parts[1]), int(parts[2]))


@options
class ShardOptions:
    """Options of work that several processes or machines share."""

    PANEL: ClassVar[str] = "Several machines"

    shard: Annotated[
        str | None,
        Param("Process part I of N of the documents, such as 2/8. `merge()` combines the parts.", metavar="I/N"),
    ] = None
    workers: Annotated[
        int | None, Param("Number of Ray processes that share the work (extra 'ray').", metavar="N", min=1)
    ] = None
    ray: Annotated[
        str | None,
        Param(
            "Ray cluster: local (new processes on this machine), auto (the running cluster), or ray://HOST:PORT.",
            metavar="ADDRESS",
        ),
    ] = None
    resume: Annotated[
        bool,
        Param("Continue a stopped run: parts processed by Ray, or embeddings saved beside the output of sbert-embed."),
    ] = False
    shard_timeout: Annotated[
        float | None,
        Param(
            "Seconds after which Ray gives an unfinished part to another process. Default: no limit.",
            metavar="SECONDS",
            min=0.1,
        ),
    ] = None

    @property
    def on_ray(self) -> bool:
        """Whether the work is divided by Ray."""
        return self.workers is not None or self.ray is not None

    def reading(self, read: ReadOptions, target: str | None) -> ReadOptions:
        """Return how documents are read: the share, if there is one.

        Raises:
            UsageError: options contradict each other, or a part would be written to no Parquet file, whose footer says which it is.
        """
        if self.on_ray and self.shard is not None:
            raise UsageError("`shard` makes one part, and Ray makes all of them; leave one out", parameter=SHARD)
        if not self.on_ray:
            alone = {"resume": self.resume, "shard_timeout": self.shard_timeout}
            for name in [name for name, value in alone.items() if value]:
                raise UsageError(f"`{name}` needs Ray workers; add `workers`", parameter=name)
        elif target is None or target == "-":
            raise UsageError(
                "`workers`: the parts are written beside the output; give a file, `output=FILE`", parameter="workers"
            )
        if self.shard is None:
            return read
        parse_share(self.shard)
        if target is None or Path(target).suffix.lower() != ".parquet":
            name = self.shard.replace("/", "-of-")
            raise UsageError(
                f"`shard={self.shard}`: a part is a Parquet file, whose footer records the part; name one, such as "
                f"`output=part-{name}.parquet`",
                parameter=SHARD,
            )
        return replace(read, shard=self.shard)


def shard_block(block: Mapping[str, Any], share: Share, *, counts: Sequence[str], dropped: int) -> dict[str, Any]:
    """Return the footer block of a part.

    Args:
        counts: parameters that are numbers of documents or the like, of which the whole has the sum; "a.b" is b in the mapping a,
            and where it is a mapping, too, each of its values is one.
        dropped: number of rows that the list beside the part has.
    """
    return {**block, SHARD: {"index": share.index, "of": share.total, "counts": list(counts), "dropped": dropped}}
