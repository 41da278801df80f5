"""Topics of sentences added up to documents, of documents to authors, books or speakers: shares with intervals, a row a unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError, missing_column
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import as_corpus, read_corpus
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import FloatArray, IntArray, LongArray
from nlpkit.topics.base.tables import read_counts_and_prior, read_membership
from nlpkit.topics.over_time.columns import BESIDE
from nlpkit.topics.over_time.options import PrevalenceOptions, UnitOptions
from nlpkit.topics.over_time.prevalence import CellSums, Membership, share_bounds, sum_cells
from nlpkit.topics.over_time.tables import TopicTable, labels_of, topic_run
from nlpkit.topics.over_time.words import document_lengths

PARENT, NUMBER = "parent_id", "unit_number"  # columns of documents that were split
ROUNDS = 50
MOST_ALIKE = 0.99  # correlation of neighbours
CHUNK = 1 << 22  # cells of θ held at a time


@dataclass(frozen=True, slots=True)
class Dependence:
    """How much documents of one unit depend on each other.

    design (U,): by how much the variance of a unit's share is larger than that of independent documents; correlation: of documents in
    one cluster, or of neighbours; between: which of the two, for people.
    """

    design: FloatArray
    correlation: float
    between: str


def of_neighbours(membership: Membership, unit: IntArray, cells: CellSums) -> Dependence:
    """Return the design effects of units whose documents follow each other, as the sentences of a text do.

        1 - r = half the mean square of successive differences / σ²        (von Neumann 1941)
        n* = n / (1 + 2 Σ_l (1 - l / n) r^l),  l = 1 … n - 1                (Bayley and Hammersley 1946)

    r and σ² are summed over topics and pooled over units: within one unit there are too few sentences to estimate them. σ² is corrected
    for the means of units, which follow their documents.

    Args:
        unit: (D,) of each document, in the order of the texts, -1 for none; cells: sums of the units (U,).
    """
    n = cells.n.astype(np.float64)
    squares = float(
        (
            cells.squares - np.divide(cells.sums**2, n[:, None], where=n[:, None] > 0, out=np.zeros_like(cells.sums))
        ).sum()
    )
    order = np.argsort(unit, kind="stable")
    order = order[unit[order] >= 0]
    follows = np.flatnonzero(unit[order][1:] == unit[order][:-1])
    r = 0.0
    if len(follows) and squares > 0:
        half = _half_square_differences(membership, order[follows], order[follows + 1])
        for _ in range(ROUNDS):
            free = float((n - _ar1_design(n, r))[n > 1].sum())
            before, r = r, float(np.clip(1 - half * free / squares, 0.0, MOST_ALIKE))
            if abs(r - before) < 1e-10:
                break
    return Dependence(_ar1_design(n, r), r, "neighbouring documents")


def _half_square_differences(membership: Membership, first: LongArray, second: LongArray) -> float:
    """Return Σ_k (θ_d - θ_d')² / 2, a mean over pairs of documents; being without a topic counts as a topic."""
    U, scale = membership.parts()
    prior = np.zeros(U.shape[1]) if membership.prior is None else membership.prior
    step, total = max(1, CHUNK // (U.shape[1] + 1)), 0.0
    for begin in range(0, len(first), step):
        a, b = first[begin : begin + step], second[begin : begin + step]
        rows = (U[a] - U[b]).toarray() + np.multiply.outer(scale[a] - scale[b], prior)
        none = membership.none[a].astype(np.float64) - membership.none[b]
        total += float((rows**2).sum() + (none**2).sum())
    return total / 2 / len(first)


def _ar1_design(n: FloatArray, r: float) -> FloatArray:
    """Return 1 + 2 Σ_l (1 - l / n) r^l for l = 1 … n - 1."""
    size = np.maximum(n, 1.0)
    return np.asarray((1 + r) / (1 - r) - 2 * r * (1 - r**size) / (size * (1 - r) ** 2))


def of_clusters(membership: Membership, unit: IntArray, cluster: IntArray, cells: CellSums) -> Dependence | None:
    """Return the design effects of units whose documents come in clusters, as the sentences of an author's speeches do.

        ρ = (MSB - MSW) / (MSB + (n₀ - 1) MSW)        within units, summed over topics (analysis of variance; Donner 1986)
        n* = n / (1 + (Σ n_c² / n - 1) ρ)             (Kish 1965, section 5.4)

    None where no unit has two clusters.

    Args:
        cluster: (D,) of each document from 0; a cluster of two units is one in each.
    """
    used = np.flatnonzero(unit >= 0)
    pairs, inverse = np.unique(
        unit[used].astype(np.int64) * (int(cluster.max()) + 1) + cluster[used], return_inverse=True
    )
    numbers = np.full(len(unit), -1, np.int32)
    numbers[used] = inverse
    C, of_pair = len(pairs), pairs // (int(cluster.max()) + 1)
    parts = sum_cells(membership, numbers, C)
    n, sizes = cells.n.astype(np.float64), parts.n.astype(np.float64)
    D, units = float(n.sum()), int((n > 0).sum())
    of_squares = np.bincount(of_pair, weights=sizes**2, minlength=len(n))
    mean = np.divide(of_squares, n, out=np.ones(len(n)), where=n > 0)  # documents of the cluster of a document
    if units >= C or D <= C:
        return None if units >= C else Dependence(np.ones(len(n)), 0.0, "")
    explained = (parts.sums**2 / sizes[:, None]).sum()
    inner = float((parts.squares.sum() - explained) / (D - C))
    outer = float((explained - (cells.sums[n > 0] ** 2 / n[n > 0][:, None]).sum()) / (C - units))
    size = (D - float(mean[n > 0].sum())) / (C - units)
    rho = float(np.clip((outer - inner) / max(outer + (size - 1) * inner, 1e-300), 0.0, 1.0))
    return Dependence(1 + (mean - 1) * rho, rho, "")


def topic_units(
    run: Any,
    up: str | None = None,
    *,
    options: PrevalenceOptions | None = None,
    units: UnitOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> TopicTable:
    """Return the shares of topics in units of documents, with intervals: a row a unit, in the order of the documents.

    The share of a topic in a unit is the mean over its documents. The interval is Wilson's for so many independent documents as tell as
    much (Korn and Graubard 1998): documents of a unit are not independent. Where they come in clusters (`within`, by default parent_id),
    `of_clusters` says how far, else `of_neighbours`.

    Columns: the unit, documents, tokens, columns that are the same in all documents of each unit, the columns of `join`, and for each topic
    topic_0, topic_0_low, topic_0_high. `estimate_effects` takes this table, and so does R.

    Args:
        run: a run directory of a topic model, or one that is open.
        up: the column of the documents that names their unit, such as parent_id, author or speaker.
        settings: single options, such as join="people.csv", count="main", ci=0.9.

    Raises:
        UsageError: no column is named; ColumnError: it is not there; InputError: no document has a unit.

    Example:
        >>> corpus = nk.Corpus.from_texts(["The river has fish. The bank lends money. Banks have debt."] * 10)
        >>> run = nk.fit_lda(nk.preprocess(corpus, unit="sentence", min_df=1), k=2, sweeps=20).save("run")
        >>> nk.topic_units(run, "parent_id").table.num_rows
        10
    """
    if up is not None:
        settings["up"] = up
    records = (options, units, execution)
    options, units, execution = with_settings(records, settings, (PrevalenceOptions, UnitOptions, Execution))
    if units.up is None:
        raise UsageError("name the column of the units with `up`, such as parent_id", parameter="up")
    opened = topic_run(run, execution)
    documents, labels, where = opened.table("documents"), labels_of(opened), f"{opened.path}/documents.parquet"
    names, unit = _numbered(documents, units.up, where, "up")
    missing = int((unit < 0).sum())
    if missing == len(unit):
        raise InputError(f"no document of {where} has a value in '{units.up}'", parameter="up")
    if missing:
        reporting.note(f"left out: {wording.counted(missing, 'document')} without a value in '{units.up}'")
    mixed = options.count == "mixed" or (options.count == "auto" and opened.is_mixture)
    membership, U = read_membership(opened, mixed=mixed), len(names)
    cells = sum_cells(membership, unit, U)
    depends = _dependence(documents, units, membership, unit, cells, where)
    low, high = share_bounds(cells, level=options.ci, design=depends.design)
    columns: dict[str, Any] = {units.up: names, "documents": cells.n, "tokens": _tokens(opened, unit, U, execution)}
    columns |= _constant(documents, unit, U, {units.up, *columns})
    if units.join is not None:
        columns |= _joined(units, names, {*columns})
    for k in range(len(labels)):
        for name, values in (("", cells.shares), ("_low", low), ("_high", high)):
            columns[f"topic_{k}{name}"] = pa.array(values[:, k])
    facts = {
        "run": str(opened.path), "up": units.up, "count": "mixed" if mixed else "main", "ci": options.ci,
        "documents": int(cells.n.sum()), "left_out": missing, "between": depends.between, "correlation": depends.correlation,
        "topic_labels": labels,
    }  # fmt: skip
    return TopicTable([opened], "units", pa.table(columns), facts)


def _numbered(documents: pa.Table, column: str, where: str, parameter: str) -> tuple[pa.Array, IntArray]:
    """Return the values of a column in the order in which they come, and the number of each document's (D,), -1 for none."""
    if column not in documents.column_names:
        raise missing_column(where, column, documents.column_names, parameter)
    values = documents.column(column)
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if pa.types.is_nested(kind):
        raise InputError(
            f"column '{column}' of {where} holds {kind}; a unit needs one value per document", parameter=parameter
        )
    encoded = values.cast(kind).combine_chunks().dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int32)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        empty = np.flatnonzero(np.array(encoded.dictionary.to_pylist()) == "")
        if len(empty):
            place = np.cumsum(np.arange(len(encoded.dictionary)) != empty[0]) - 1
            kept = np.delete(np.arange(len(encoded.dictionary)), empty)
            codes = np.where((codes < 0) | (codes == empty[0]), -1, place[codes]).astype(np.int32)
            return encoded.dictionary.take(pa.array(kept)), codes
    return encoded.dictionary, codes


def _dependence(
    documents: pa.Table, units: UnitOptions, membership: Membership, unit: IntArray, cells: CellSums, where: str
) -> Dependence:
    """Return how far documents of a unit depend on each other: by their clusters, or as neighbours where there are none."""
    within = units.within
    if within is None and units.up != PARENT and PARENT in documents.column_names:
        within = PARENT
    if within is not None:
        if within == units.up:
            raise UsageError(
                f"`within={within}` is the unit itself; name a column of clusters inside it", parameter="within"
            )
        names, cluster = _numbered(documents, within, where, "within")
        alone = len(names) + np.arange(len(cluster), dtype=np.int32)  # without a value: a cluster each
        depends = of_clusters(membership, unit, np.where(cluster < 0, alone, cluster), cells)
        if depends is not None:
            return Dependence(depends.design, depends.correlation, f"documents of one {within}")
    return of_neighbours(membership, unit, cells)


def _tokens(run: Run, unit: IntArray, U: int, execution: Execution) -> pa.Array:
    """Return the tokens of each unit (U,) that the model counts, null where the corpus cannot be read again."""
    counts, _ = read_counts_and_prior(run, run.table("topics", ["topic"]).num_rows)
    try:
        lengths = document_lengths(run, execution) if counts is None else np.asarray(counts.sum(axis=1)).ravel()
    except InputError as error:
        reporting.warn(f"no tokens are counted: {error}")
        return pa.nulls(U, pa.int64())
    kept = unit >= 0
    sums = np.bincount(unit[kept], weights=lengths[kept], minlength=U)
    return pa.array(np.rint(sums).astype(np.int64))


def _constant(documents: pa.Table, unit: IntArray, U: int, taken: set[str]) -> dict[str, pa.Array]:
    """Return the columns that are the same in all documents of each unit (U,)."""
    columns, others = {}, []
    order = np.argsort(unit, kind="stable")
    order = order[unit[order] >= 0]
    first = order[np.searchsorted(unit[order], np.arange(U))]
    skipped = {*BESIDE, PARENT, NUMBER} - ({PARENT} if PARENT in taken else set())
    for name in documents.column_names:
        column = documents.column(name)
        if name in skipped or name in taken or name.startswith("layer_") or pa.types.is_nested(column.type):
            continue
        _, codes = _numbered(documents, name, "", "up")
        ends = np.searchsorted(unit[order], np.arange(U))
        if (np.maximum.reduceat(codes[order], ends) == np.minimum.reduceat(codes[order], ends)).all():
            columns[f"{name}_of_unit" if _is_taken(name) else name] = column.take(pa.array(first))
        else:
            others.append(name)
    if others:
        reporting.note(f"left out, as they differ within units: {wording.listed(others, 8)}")
    return columns


def _is_taken(name: str) -> bool:
    return name in ("documents", "tokens") or (name.startswith("topic_") and name[6:7].isdigit())


def _joined(units: UnitOptions, names: pa.Array, taken: Sequence[str] | set[str]) -> dict[str, pa.Array]:
    """Return the columns of a table, by the values of the units; null where it has none."""
    up = str(units.up)
    is_file = isinstance(units.join, str) or hasattr(units.join, "__fspath__")
    corpus = read_corpus(str(units.join)) if is_file else as_corpus(units.join)
    where = str(units.join) if is_file else "the table of `join`"
    with corpus.with_options(text_needed=False).open() as stream:
        has_key = up in stream.schema.names and up != "id"
    with corpus.with_options(text_needed=False, **({"id_col": up} if has_key else {})).open() as stream:
        table = stream.read_all()
    rows = {key: row for row, key in enumerate(table.column("id").to_pylist())}
    place = [rows.get(str(name)) for name in names.to_pylist()]
    without = sum(row is None for row in place)
    if without == len(place):
        raise InputError(
            f"{where} has no row for a unit, such as '{names[0].as_py()}'; its column '{up}' or 'id' names them",
            parameter="join",
        )
    if without:
        reporting.warn(
            f"{where} has no row for {wording.counted(without, 'unit')}, such as {names[place.index(None)].as_py()}"
        )
    others = [name for name in table.column_names if name not in ("id", "text", up)]
    both = [name for name in others if name in taken or _is_taken(name)]
    if both:
        raise InputError(
            f"{where} and the table of units both have the column '{both[0]}'; rename it", parameter="join"
        )
    return {name: table.column(name).take(pa.array(place, pa.int64())) for name in others}
