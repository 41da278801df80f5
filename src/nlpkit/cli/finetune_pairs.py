"""The rows that an encoder is trained on: texts, pairs or triplets, with labels or scores, and their parts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cells import as_label
from nlpkit.classify.splits import DEV, TEST, TRAIN, check_splits, split_column, splits_of
from nlpkit.errors import InputError, missing_column
from nlpkit.finetune.encoders import EncoderData
from nlpkit.io.corpora import DroppedRow, InputInfo, open_documents
from nlpkit.types import IntArray, LongArray
from nlpkit.workflows.corpus import no_documents
from nlpkit.workflows.labelled import stacked

if TYPE_CHECKING:
    from nlpkit.cli.finetune_fit import Asked
    from nlpkit.cli.finetune_flags import TuneDataFlags


@dataclass(slots=True)
class Material:
    """Rows of all inputs, with their parts."""

    table: pa.Table
    part: IntArray
    inputs: list[InputInfo]
    dropped: list[DroppedRow]
    blocks: list[dict[str, Any] | None]

    def rows(self, part: int) -> LongArray:
        """Return the rows of a part."""
        return np.flatnonzero(self.part == part)

    def texts(self, column: str, rows: LongArray) -> list[str]:
        """Return a column as texts, '' for none."""
        return ["" if v is None else str(v) for v in self.table.column(column).take(pa.array(rows)).to_pylist()]


def read_material(asked: Asked, name: str) -> Material:
    """Return the rows of all inputs. Raises ColumnError, InputError for what cannot be learned from."""
    data, read = asked.data, asked.read
    options = read
    named = [(list(asked.inputs), options, TRAIN)]
    named += [
        ([str(p)], replace(options, limit=None), r) for p, r in ((data.dev, DEV), (data.test, TEST)) if p is not None
    ]
    split = None if data.split is None else split_column(data.split)
    wanted = {"--pair-col": data.pair_col, "--negative-col": data.negative_col, "--split": split}
    labels = "label" if name in ("sbert-softmax", "cosine") else None
    columns = ["text"] + [c for c in (data.pair_col, data.negative_col) if c is not None]
    streams = [open_documents(names, own) for names, own, _ in named]
    tables = []
    try:
        for stream, (names, _, _) in zip(streams, named, strict=True):
            have = stream.schema.names
            for option, column in wanted.items():
                if column is not None and column not in have:
                    raise missing_column(", ".join(names), column, have, option)
            if labels is not None and labels not in have:
                raise missing_column(", ".join(names), read.label_col, have, "label_col")
            tables.append(stream.read_all())
            if not tables[-1].num_rows:
                raise no_documents(stream)
    finally:
        for stream in streams:
            stream.close()
    others = [c for c in ("id", labels, split) if c is not None]
    table = _below(tables, columns, others)
    part: IntArray = np.concatenate(
        [np.full(t.num_rows, r, np.int32) for t, (_, _, r) in zip(tables, named, strict=True)]
    )
    if data.split is not None:
        values = [as_label(v) for v in table.column(split_column(data.split)).to_pylist()]
        part = splits_of(values, data.split, dev=True)
        check_splits(part, values, data.split)
    empty = np.zeros(table.num_rows, bool)
    for column in columns:
        empty |= np.array([not str(v or "").strip() for v in table.column(column).to_pylist()])
    if empty.any():
        reporting.warn(f"{wording.counted(int(empty.sum()), 'row')} with an empty text: left out")
        for number, where in _held_out_parts(data):
            if (part == number).any() and empty[part == number].all():
                raise InputError(f"{where}: no row has a text in {' and '.join(columns)}; nothing can be scored")
        part = np.where(empty, -1, part).astype(np.int32)
    material = Material(
        table, part, [i for s in streams for i in s.inputs], [d for s in streams for d in s.dropped], [b for s in streams for b in s.blocks]
    )  # fmt: skip
    if not (part == TEST).any():
        _hold_out(material, name, data.holdout, seed=asked.run.seed)
    if not (part == TRAIN).any():
        few = "one row is too few to learn from and to test on; add rows, or give the test with --test"
        raise InputError(
            few if (part == TEST).sum() == 1 else "there is no row to learn from; see --text-col and --split"
        )
    return material


def _below(tables: list[pa.Table], texts: list[str], others: list[str]) -> pa.Table:
    """Return the columns that are needed of all tables below each other, texts as such: files may differ in the rest, and in types."""
    found = []
    for table in tables:
        own = table.select(list(dict.fromkeys([*others, *texts])))
        for column in texts:
            if own.schema.field(column).type != pa.string():
                cells = [None if v is None else str(v) for v in own.column(column).to_pylist()]
                own = own.set_column(own.column_names.index(column), column, pa.array(cells, pa.string()))
        found.append(own)
    whole = found[0]
    for own in found[1:]:
        whole = (
            stacked([whole, own]) if "label" in others else pa.concat_tables([whole, own], promote_options="default")
        )
    return whole


def _held_out_parts(data: TuneDataFlags) -> list[tuple[int, str]]:
    """Return test and dev with what the user named them by."""
    return [
        (number, f"{option} {path}" if path is not None else f"the {option[2:]} rows of --split {data.split}")
        for number, option, path in ((TEST, "--test", data.test), (DEV, "--dev", data.dev))
    ]


def _hold_out(material: Material, name: str, share: float, *, seed: int) -> None:
    """Make a random share of the training rows the test; of sbert-softmax of every class, which keeps one row or more to learn from."""
    rows = material.rows(TRAIN)
    n = max(1, round(share * len(rows)))
    order = np.random.default_rng([seed, 5]).permutation(rows)
    if name == "sbert-softmax" and len(rows) > 1:
        codes = np.unique(_classes(material, order), return_inverse=True)[1]
        sizes = np.bincount(codes)
        place = np.empty(len(order), np.int64)  # of a row among those of its class
        place[np.argsort(codes, kind="stable")] = np.concatenate([np.arange(size) for size in sizes])
        in_class = (place + 0.5) / sizes[codes]
        last = np.argsort(-in_class, kind="stable")  # the last share of every class, rounded
        order = order[last[place[last] > 0]]
        if not len(order):
            raise InputError(
                f"each of {len(rows):,} labels has one row, which cannot be in training and test; add rows, or give the test with --test"
            )
    material.part[order[:n]] = TEST


def check_classes(material: Material, data: TuneDataFlags) -> None:
    """Raise InputError for rows without a class and for classes of dev that training does not have; warn of those of the test."""
    known = set(_classes(material, material.rows(TRAIN)))
    for number, where in _held_out_parts(data):
        unseen = Counter(label for label in _classes(material, material.rows(number)) if label not in known)
        if not unseen:
            continue
        named = ", ".join(f"'{label}' ({n:,})" for label, n in unseen.most_common(5)) + (
            " …" if len(unseen) > 5 else ""
        )
        if number == DEV:
            raise InputError(
                f"{where}: labels that no training row has: {named}; spell them alike, or add such rows to training"
            )
        reporting.warn(f"labels of test rows that no training row has: {named}; always wrong")


def pair_data(asked: Asked, name: str, material: Material, rows: LongArray, bounds: tuple[float, float]) -> EncoderData:
    data = asked.data
    assert data.pair_col is not None
    negatives = None if data.negative_col is None else material.texts(data.negative_col, rows)
    labels, scores = None, None
    if name == "sbert-softmax":
        labels = _classes(material, rows)
    if name == "cosine":
        low, high = bounds
        own = np.array([_score(v, material, d) for d, v in _values(material, rows)])
        scores = ((own - low) / (high - low)).astype(
            np.float32
        )  # of a test also beyond 0 and 1: their order counts there
    return EncoderData(material.texts("text", rows), material.texts(data.pair_col, rows), negatives, labels, scores)


def _values(material: Material, rows: LongArray) -> list[tuple[int, Any]]:
    return list(zip(rows.tolist(), material.table.column("label").take(pa.array(rows)).to_pylist(), strict=True))


def _classes(material: Material, rows: LongArray) -> list[str]:
    return [_label(v, material, d) for d, v in _values(material, rows)]


def _label(value: Any, material: Material, row: int) -> str:
    if isinstance(value, (list, dict)):
        raise InputError(
            f"row {material.table.column('id')[row].as_py()} has a {'list' if isinstance(value, list) else 'record'} as its label; "
            "--objective sbert-softmax needs one class of each pair"
        )
    text = as_label(value)
    if text is None:
        raise InputError(
            f"row {material.table.column('id')[row].as_py()} has no label; --objective sbert-softmax needs one of each pair"
        )
    return text


def _score(value: Any, material: Material, row: int) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        has = "no score" if value is None or value == "" else f"the score '{value}'"
        raise InputError(
            f"row {material.table.column('id')[row].as_py()} has {has}; --objective cosine needs a number of each pair"
        )
    return number


def score_bounds(name: str, material: Material) -> tuple[float, float]:
    """Return the scores that become 0 and 1: these where all training pairs have some between, else their lowest and highest."""
    if name != "cosine":
        return 0.0, 1.0
    own = np.array([_score(v, material, d) for d, v in _values(material, material.rows(TRAIN))])
    low, high = float(own.min()), float(own.max())
    if low == high:
        raise InputError(f"all training pairs have the score {low:g}; there is nothing to learn")
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    reporting.note(f"scores from {low:g} to {high:g}: trained towards cosines from 0 to 1")
    return low, high
