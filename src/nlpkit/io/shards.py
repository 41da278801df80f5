"""Parts of a document table that are worked on apart: how the documents are divided, and what the footer of a part says.

Share i of n holds the batches ⌊(i − 1) B / n⌋ + 1 … ⌊i B / n⌋ of the B batches that a reader of the whole input gives, in its order.
A command that works batch by batch therefore does to the documents of a share what it does to them in the whole input, and the row
groups of the parts, one after the other, are those of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nlpkit.errors import UsageError

SHARD = "shard"  # key of a footer block
FORM = re.compile(r"([0-9]{1,9})/([0-9]{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Share:
    """Share `index` (1 … of) of a document table that is cut into `of` shares."""

    index: int
    of: int

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"

    def places(self, n_batches: int) -> range:
        """Return which batches belong to it.

        Raises:
            UsageError: there are fewer batches than shares.
        """
        if n_batches < self.of:
            raise UsageError(
                f"`shard={self}`: the input has {n_batches:,} batches (of 10,000 documents, fewer of long ones), and a share is "
                f"one of them at least; divide it into {n_batches:,} at most",
                parameter=SHARD,
            )
        return range((self.index - 1) * n_batches // self.of, self.index * n_batches // self.of)


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


def shard_block(block: Mapping[str, Any], share: Share, *, counts: Sequence[str], dropped: int) -> dict[str, Any]:
    """Return the footer block of a part.

    Args:
        counts: parameters that are numbers of documents or the like, of which the whole has the sum; "a.b" is b in the mapping a,
            and where it is a mapping, too, each of its values is one.
        dropped: number of rows that the list beside the part has.
    """
    return {**block, SHARD: {"index": share.index, "of": share.of, "counts": list(counts), "dropped": dropped}}
