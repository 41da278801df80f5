"""Documents on a scale as a result: its tables, its run directory, its JSON, and what people see of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.runs import RunTables, new_run
from nlpkit.platform.runs.saving import save_derived_table, save_run
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.views import markdown
from nlpkit.platform.views.blocks import Block, Sentence, Table, cell, interval
from nlpkit.scale.options import ScaleOptions

KIND = "scale"
MOST_ROWS = 200  # of a table of report.md
SHOWN_WORDS = 15
TITLES = {
    "wordscores": "Wordscores", "wordfish": "Wordfish", "lss": "Latent semantic scaling", "ca": "Correspondence analysis",
    "axis": "Axis in embedding space",
}  # fmt: skip
_INTERVAL = (
    Column("se", pa.float64(), "Standard error of the position.", gaps=True),
    Column("low", pa.float64(), "Lower end of the interval.", gaps=True),
    Column("high", pa.float64(), "Upper end of the interval.", gaps=True),
)
POSITIONS = TableSpec(
    "documents_of_scale", "A document with its position; columns of the input follow, but not its text.",
    Column("id", pa.string(), "Id of the document."),
    Column("position", pa.float64(), "Its position; missing where none of its words has a weight.", gaps=True),
    *_INTERVAL,
    Column("n_words", pa.int64(), "Its words that have a weight; with axis, those that are counted.", least=0),
    Column("reference", pa.float64(), "wordscores: its reference score.", gaps=True, always=False),
    Column("raw", pa.float64(), "wordscores: its raw score, where it was rescaled.", gaps=True, always=False),
    Column("raw_se", pa.float64(), "wordscores: standard error of the raw score.", gaps=True, always=False),
    Column("alpha", pa.float64(), "wordfish: its fixed effect.", gaps=True, always=False),
    Column("polarity", pa.float64(), "lss: mean polarity of its words, before it is standardised.", gaps=True, always=False),
    Column("position_2", pa.float64(), "ca: its place in the second dimension; further ones follow.", gaps=True, always=False),
    is_open=True,
)  # fmt: skip
WORDS = TableSpec(
    "words_of_scale", "A word, in the order of the vocabulary.",
    Column("term", pa.string(), "The word."),
    Column("weight", pa.float64(),
           "Its score (wordscores), beta (wordfish), polarity (lss) or coordinate (ca); with axis, the mean position of the "
           "documents that have it, minus that of all.", gaps=True),
    Column("cf", pa.int64(), "Its occurrences."),
    Column("df", pa.int64(), "Documents, or sentences of lss, that have it."),
    Column("psi", pa.float64(), "wordfish: its fixed effect.", gaps=True, always=False),
    Column("z", pa.float64(), "axis: its weight over the standard error by chance.", gaps=True, always=False),
    Column("seed", pa.float64(), "lss: its weight as a seed word, 0 for others.", always=False),
    Column("weight_2", pa.float64(), "ca: its coordinate in the second dimension; further ones follow.", gaps=True, always=False),
    is_open=True,
)  # fmt: skip
GROUPS = TableSpec(
    "groups_of_scale", "A group of documents, in the order of its name and period.",
    Column("group", pa.string(), "Value of the column --by.", always=False),
    Column("period", pa.string(), "Period of --over.", always=False),
    Column("documents", pa.int64(), "Its documents with a position."),
    Column("position", pa.float64(), "Mean of their positions.", gaps=True),
    *_INTERVAL,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScaledDocuments(Tabular):
    """Documents with positions on a scale, and what carries them.

    Attributes:
        documents: a row for each document: id, position, se, low, high, n_words, and its columns.
        words: a row for each word: term, weight, cf, df.
        groups: mean positions by column or period, None without `by` and `over`.
        facts: figures of the fit.
        options: in force.
    """

    # document_count: with a position; source: what was read; tokens: parameters of the footer.

    _shown = "documents"
    documents: pa.Table
    words: pa.Table
    groups: pa.Table | None
    facts: Mapping[str, Any]
    options: ScaleOptions
    source: DocumentStream
    parameters: dict[str, Any]
    execution: Execution
    seconds: Mapping[str, float]

    def __repr__(self) -> str:
        return wording.described(
            self, self.options.method, wording.counted(self.documents.num_rows, "document"),
            wording.counted(self.words.num_rows, "word"),
        )  # fmt: skip

    def strongest(self, n: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the n words at the lower and at the upper end of the scale, the outermost first; of equal ones the most frequent.

        Words of an axis are ranked by z, those of ca by the root of their share in the inertia, others by their weight.
        """
        ranked = self.words.column("z" if self.options.method == "axis" else "weight").to_numpy()
        cf, there = self.words.column("cf").to_numpy(), np.isfinite(ranked)
        if self.options.method == "ca":
            ranked = ranked * np.sqrt(cf)
        ends = []
        for sign in (1.0, -1.0):
            order = np.lexsort((-cf, np.where(there, sign * ranked, np.inf)))[: min(n, int(there.sum()))]
            ends.append(self.words.take(pa.array(order)).to_pylist())
        return ends[0], ends[1]

    def to_dict(self) -> dict[str, Any]:
        """Return figures, positions, groups, and the ten words at each end, in plain values."""
        low, high = self.strongest(10)
        rows = self.documents.select(["id", "position", "se", "low", "high", "n_words"]).to_pylist()
        groups = [] if self.groups is None else self.groups.to_pylist()
        ends = {"low": [row["term"] for row in low], "high": [row["term"] for row in high]}
        return {**self.facts, "positions": rows, "groups": groups, "ends": ends}

    def save(self, target: str | Path, *, force: bool = False) -> Path:
        """Write a run directory, or the documents alone where the name is one of a table, or `-` for JSON lines.

        Raises:
            OutputExistsError: it is there and `force` was not given.
        """
        from nlpkit.platform.runs.tables import FORMATS

        if str(target) == "-" or Path(target).suffix.lower() in FORMATS:
            save_derived_table(
                target, self.documents, "scaled_documents", self.source, command=KIND, parameters=self.parameters,
                row="document", force=force,
            )  # fmt: skip
            return Path(target)
        tables = {"documents": self.documents, "words": self.words}
        if self.groups is not None:
            tables["groups"] = self.groups
        text = f"# Positions by {self.options.method}\n\n" + "\n".join(
            markdown.write(block, MOST_ROWS) for block in scale_blocks(self)
        )
        files = RunTables(tables, {}, {"kind": KIND, "method": self.options.method}, texts={"report.md": text})
        run = new_run(
            KIND, files, self.source, parameters=self.parameters, results=self.facts, execution=self.execution,
            seconds=self.seconds,
        )  # fmt: skip
        path = save_run(run, target, force=force)
        reporting.note(f"wrote {path}/: positions, words and report.md")
        return path


def scale_blocks(scaled: ScaledDocuments) -> Iterator[Block]:
    """Yield the documents from the lowest to the highest, the groups, and the words at both ends."""
    yield Sentence(sentence_of(scaled))
    heads = ["document", "position", "se", "interval", "words"]
    rows = sorted(
        (row for row in scaled.documents.to_pylist() if row["position"] is not None), key=lambda row: row["position"]
    )
    cells = [[str(row["id"]), *_numbers(row), wording.count(row["n_words"])] for row in rows]
    title = f"Positions, the lowest first ({scaled.options.ci:.0%} intervals)"
    if len(rows) > 1:
        yield Table(
            heads, cells, right=heads[1:], title=title, noun="documents", sizes=_outermost(len(rows)), rest="-o FILE"
        )
    if scaled.groups is not None:
        names = [name for name in ("group", "period") if name in scaled.groups.column_names]
        heads = [*names, "documents", "position", "se", "interval"]
        cells = [
            [*(str(row[name]) for name in names), wording.count(row["documents"]), *_numbers(row)]
            for row in scaled.groups.to_pylist()
        ]
        yield Table(heads, cells, right=heads[len(names) :], title="Mean positions", noun="groups", rest="-o RUN/")
    low, high = scaled.strongest(SHOWN_WORDS)
    ends = [["lower", " ".join(row["term"] for row in low)], ["upper", " ".join(row["term"] for row in high)]]
    yield Table(["end", "words"], ends, title="Words at the ends of the scale")


def _outermost(n: int) -> list[float]:
    """Return sizes by which the documents at both ends are shown where not all are."""
    return [abs(i - (n - 1) / 2) for i in range(n)]


def _numbers(row: dict[str, Any]) -> list[str]:
    return [cell(row["position"]), cell(row["se"]), interval(row["low"], row["high"])]


def sentence_of(scaled: ScaledDocuments) -> str:
    """Return what was fitted, in a sentence or two."""
    facts, n = scaled.facts, scaled.documents.num_rows - scaled.documents.column("position").null_count
    base = f"{TITLES[scaled.options.method]}: {wording.counted(n, 'document')} with a position"
    match scaled.options.method:
        case "wordscores":
            rescaled = "raw scores" if facts["rescale"] == "none" else f"rescaled by {facts['rescale']}"
            return f"{base}, {wording.counted(facts['references'], 'reference text')}, {rescaled}."
        case "wordfish":
            spread = facts["dispersion"]
            over = "" if spread is None or spread < 1.5 else (
                f" The counts vary {spread:.1f} times as much as Poisson counts, so the intervals are too narrow."
            )  # fmt: skip
            return f"{base}, {wording.counted(facts['rounds'], 'round')}.{over}"
        case "lss":
            return f"{base}, {wording.counted(facts['seeds'], 'seed word')}, {wording.counted(facts['dimensions'], 'dimension')}."
        case "ca":
            shares = ", ".join(f"{share:.1%}" for share in facts["inertia_shares"])
            return f"{base}. The dimensions hold {shares} of the inertia ({facts['inertia']:.4f})."
    return f"{base}, {wording.counted(facts['anchors_low'], 'anchor')} at the lower end and {facts['anchors_high']:,} at the upper end."
