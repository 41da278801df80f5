"""Parts of a document table, each made on its own, put together: the bytes are those of the table that one process makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from nlpkit.errors import UsageError
from nlpkit.platform.documents.shard_files import merged_dropped, merged_parameters, read_shards
from nlpkit.platform.runs.artifacts import file_size, parquet_shape
from nlpkit.platform.runs.tables import check_table, table_sink, write_dropped


def merge(
    shards: Sequence[str | Path], target: str | Path, *, vocab: str | Path | None = None, force: bool = False
) -> dict[str, Any]:
    """Put the parts that a command wrote with `shard` together, and return the numbers of parts, documents and dropped rows.

    The bytes are those that the command writes without `shard`. Of preprocess, whose parts hold all words, the words that stay are
    chosen here, by the counts of all parts.

    Args:
        shards: the files, in any order, or a folder of them. target: the table to write, in any format, or "-" for JSON lines.
        vocab: a table of the terms that stay, of parts of preprocess. force: replace what is there.

    Raises:
        InputError: a part is missing, there twice, corrupt, or of another input, command, setting or version than the first;
        UsageError: the suffix of the target is not one of a table; OutputExistsError: it is there and `force` was not given.
    """
    if str(target) != "-":
        check_table(target, force=force)
    parts = read_shards(shards)
    if parts[0].block["command"] == "preprocess":
        with resolve_name("nlpkit.text.shards:merge_preprocessed")(parts) as corpus:
            counts = corpus.save(target, vocab=vocab, force=force)
        return {"parts": len(parts), "rows": counts["rows"], "dropped": counts["dropped"]}
    if vocab is not None:
        raise UsageError(
            f"`save_vocab`: parts of {parts[0].block['command']} have no vocabulary; leave it out",
            parameter="save_vocab",
        )
    block = {**parts[0].block, "parameters": merged_parameters(parts)}
    n_rows = 0
    with table_sink(target, parts[0].schema, block, force=force) as sink:
        for part in parts:
            for batch in part.batches():
                sink.write(batch)
                n_rows += batch.num_rows
        dropped = merged_dropped(parts)  # before the table is there
    write_dropped(str(target), dropped, block)
    return {"parts": len(parts), "rows": n_rows, "dropped": len(dropped)}


def size_of(shards: Sequence[str | Path]) -> dict[str, Any]:
    """Return the size of the work of `merge`: rows, and bytes of the parts. Raises what `merge` does of the parts, but for corrupt ones."""
    parts = read_shards(shards)
    n_rows = sum(parquet_shape(part.path)[0] for part in parts)
    return {"rows": n_rows, "input_bytes": sum(file_size(part.path) for part in parts)}
