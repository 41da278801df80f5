"""What scaling reads beside the documents: scores of reference texts, seeds of both ends."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa

from nlpkit.errors import ColumnError, InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.runs.plain_tables import read_columns
from nlpkit.platform.types import FloatArray
from nlpkit.scale.options import ScaleOptions

_EXAMPLE = "write positive = ['good', 'nice*'] and negative = ['bad']"


def read_anchors(options: ScaleOptions, *, lower: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the seeds of the lower and the upper end, seed words in lower case where the texts are.

    Raises:
        InputError: the file is not such TOML.
    """
    ends = {"negative": options.negative, "positive": options.positive}
    if options.seeds is not None:
        try:
            content = tomllib.loads(options.seeds.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise InputError(f"seeds {options.seeds}: cannot be opened ({error.strerror})", parameter="seeds") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"seeds {options.seeds} is not TOML: {error}; {_EXAMPLE}", parameter="seeds") from None
        needed = ("positive", "negative") if options.method == "axis" else ("positive",)
        is_list = {
            n: isinstance(v, list) and bool(v) and all(isinstance(w, str) for w in v) for n, v in content.items()
        }
        if set(content) - set(ends) or not all(is_list.values()) or any(name not in content for name in needed):
            raise InputError(
                f"seeds {options.seeds} does not hold the lists positive and negative; {_EXAMPLE}", parameter="seeds"
            )
        ends = {name: tuple(content.get(name, ())) for name in ends}
    for name, seeds in ends.items():
        if any(not seed.strip() for seed in seeds):
            raise UsageError(f"`{name}` holds an empty text; leave it out", parameter=name)
    if options.method == "lss" and lower:
        ends = {name: tuple(seed.strip().lower() for seed in seeds) for name, seeds in ends.items()}
    return ends["negative"], ends["positive"]


def reference_scores(rows: pa.Table, scores: str, where: str) -> FloatArray:
    """Return the score of each document (D,), NaN for none, from a column or a table with id and score.

    Raises:
        ColumnError: a score is not a number; InputError: no document is in the table.
    """
    if scores in rows.column_names:
        values, ids = rows.column(scores).to_pylist(), rows.column("id").to_pylist()
    else:
        table = read_columns(Path(scores), ["id", "score"])
        by_id = {str(id_): score for id_, score in zip(table["id"], table["score"], strict=True) if id_ is not None}
        ids = rows.column("id").to_pylist()
        values = [by_id.get(id_) for id_ in ids]
        unknown = sorted(set(by_id) - set(ids))
        if len(unknown) == len(by_id):
            raise InputError(
                f"{scores}: no document of {where} has one of its ids ({wording.listed(unknown, 3)})",
                parameter="scores",
            )
        if unknown:
            reporting.warn(
                f"{scores}: no document has the {'id' if len(unknown) == 1 else 'ids'} {wording.listed(unknown, 5)}"
            )
    numbers = np.full(len(ids), np.nan)
    for i, value in enumerate(values):
        if value is None or value == "":
            continue
        try:
            numbers[i] = float(value)
        except (TypeError, ValueError):
            raise ColumnError(
                f"`scores={scores}`: the score of {ids[i]} is '{wording.truncated(str(value), 40)}', not a number; leave it empty "
                "for a text to be scored", parameter="scores",
            ) from None  # fmt: skip
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers
