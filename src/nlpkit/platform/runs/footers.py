"""The JSON block under the footer key `nlpkit` of every Parquet artifact: what it holds, and its check before the first row.

    {"kind": "documents", "schema_version": 1, "nlpkit_version": "0.1.0", "command": "preprocess",
     "parameters": {…}, "seed": 42, "inputs": [{"path": …, "rows": …, "sha256": …}], "steps": [earlier blocks]}

`steps` holds what earlier commands did to the same documents, oldest first. Nothing in the block depends on the clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nlpkit.errors import SchemaError
from nlpkit.version import __version__

FOOTER_KEY = b"nlpkit"
SCHEMA_VERSION = 1
DOCUMENTS = "documents"
SHARD = "shard"  # key of the block of a part, see `nlpkit.platform.documents.parts`
_WHAT_TO_RUN = {
    "documents": "`preprocess()`",
    "topics": "`fit_bertopic()`",
    "topic_terms": "`fit_bertopic()`",
    "class_terms": "`ctfidf()`",
    "weights": "`tfidf()`",
    "term_frequencies": "`stats()`",
    "collocations": "`collocations()`",
    "kwic": "`kwic()`",
    "phrases": "`preprocess(save_phrases)`",
    "vocab": "`preprocess(save_vocab)`",
    "removed_terms": "`preprocess(save_removed)`",
}


def steps_of(blocks: Iterable[dict[str, Any] | None]) -> list[dict[str, Any]]:
    """Return the processing steps of the tables with these blocks, in order: the earlier steps of each, then its command."""
    steps: list[dict[str, Any]] = []
    for block in blocks:
        if block:
            steps += [*block.get("steps", ()), {k: v for k, v in block.items() if k != "steps"}]
    return steps


def step_parameters(steps: Sequence[dict[str, Any]], command: str) -> dict[str, Any] | None:
    """Return the parameters of the last step that `command` did, or None if there was none."""
    for step in reversed(steps):
        if step.get("command") == command:
            parameters: dict[str, Any] = step.get("parameters") or {}
            return parameters
    return None


def check_footer(block: dict[str, Any] | None, kinds: Sequence[str], where: str) -> None:
    """Check kind and schema version of a block before the first row is read; a table without a block passes as raw.

    Raises:
        SchemaError: another kind, or a schema version newer than this nlpkit reads.
    """
    if block is None:
        return
    version = block.get("schema_version")
    if not isinstance(version, int):
        raise SchemaError(f"{where}: the footer block 'nlpkit' has no schema version; write the file again")
    if version > SCHEMA_VERSION:
        raise SchemaError(
            f"{where} has schema version {version}, this nlpkit ({__version__}) reads up to {SCHEMA_VERSION}; "
            f"it was written by nlpkit {block.get('nlpkit_version')}: update nlpkit"
        )
    if block.get("kind") not in kinds:
        if SHARD in block:
            raise SchemaError(f"{where} is one part of a table; combine the parts with: `merge(PARTS, output=WHOLE)`")
        commands = " or ".join(dict.fromkeys(_WHAT_TO_RUN[k] for k in kinds if k in _WHAT_TO_RUN))
        raise SchemaError(
            f"{where} is a table of kind '{block.get('kind')}', but {' or '.join(repr(k) for k in kinds)} was needed"
            + (f"; make one with: {commands}" if commands else "")
        )
