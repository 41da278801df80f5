"""The work of `nlpkit tfidf`: read, count, weigh, select, write, say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.tfidf_select import Classes, Selection, features_table, read_classes, select, show_features
from nlpkit.errors import UsageError
from nlpkit.io.artifacts import footer_block, write_table
from nlpkit.io.atomic import atomic_file, check_target
from nlpkit.io.corpora import DroppedRow
from nlpkit.io.exports import MATRIX_WRITERS, WeightedDocuments, long_table, regrouped, weights_sink
from nlpkit.io.footers import step_parameters
from nlpkit.io.tables import save_table, table_format, write_dropped
from nlpkit.parallel import ahead
from nlpkit.types import IntArray
from nlpkit.weighting.selection import FeatureSelection
from nlpkit.weighting.tfidf import CorpusStats, Weighting, kept_columns, weighting
from nlpkit.workflows.corpus import no_words, read_corpus, steps, warn_dropped
from nlpkit.workflows.counts import CountedCorpus, counted
from nlpkit.workflows.groups import Groups
from nlpkit.workflows.tokens import found_parameters, say_tokens, token_parameters

if TYPE_CHECKING:
    from nlpkit.io.corpora import DocumentStream
    from nlpkit.io.read_options import ReadOptions
    from nlpkit.io.weight_models import WeightModel
    from nlpkit.text.preprocess import PreprocessOptions
    from nlpkit.weighting.schemes import Scheme

NOT_CARRIED = ("text", "tokens", "embedding")


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for. kind: table, npz, mtx, svmlight or run; target None: only features are shown."""

    inputs: tuple[str, ...]
    target: str | None
    kind: str
    scheme: Scheme
    tokens: PreprocessOptions
    wish: FeatureSelection | None
    by: str | None
    features: Path | None
    top_n: int
    lsa: int | None
    force: bool
    seed: int
    threads: int

    def beside(self, what: str) -> Path | None:
        """Return the path of a table that goes with the output, None where it has no name or is a directory."""
        if self.target in (None, "-") or self.kind == "run":
            return None
        path = Path(str(self.target))
        return path.with_name(f"{path.stem}.{what}.parquet")

    def check_targets(self, *, terms: bool = False) -> None:
        """Refuse outputs that cannot be written, before any work is done; terms: whether a table of all terms goes beside.

        Raises:
            UsageError: two outputs have one name; and what `check_target` raises.
        """
        if self.kind == "run":
            check_target(Path(str(self.target)), force=self.force, directory=True)
        elif self.kind != "table":
            check_target(Path(str(self.target)), force=self.force)
        sides = [self.beside("vocab"), self.beside("ids") if self.kind in MATRIX_WRITERS else None]
        if terms or (self.wish is not None and self.wish.n is not None):
            sides.append(self.beside("terms"))
        if self.features is not None and self.features in sides:
            raise UsageError(f"--features {self.features} is the name of another output; give another")
        for path in sides:
            if path is not None:
                check_target(path, force=self.force)


@dataclass(slots=True)
class Weighed:
    """A corpus with its weights, in groups of documents that do not depend on how it was read."""

    corpus: CountedCorpus
    how: Weighting
    classes: Classes | None = None
    selection: Selection | None = None
    model: WeightModel | None = None  # where the weights are those of documents before
    empty: list[str] = field(default_factory=list)  # ids of documents without a term, collected as they pass
    entries: int = 0
    rows: list[pa.RecordBatch] = field(default_factory=list)  # ids and own columns, kept where they are needed again
    keep_rows: bool = False

    def __iter__(self) -> Iterator[WeightedDocuments]:
        places = None
        if self.n_terms < len(self.corpus.terms):
            places = np.full(len(self.corpus.terms), -1, np.int32)
            places[self.kept] = np.arange(self.n_terms, dtype=np.int32)
        self.entries = start = 0
        self.rows.clear()
        self.empty.clear()
        with reporting.progress("weights", self.corpus.n_docs) as update:
            for batch, counts in regrouped(self.corpus.batches()):
                weights = self.how.weigh(counts)
                if places is not None:
                    counts, weights = (kept_columns(m, places, self.n_terms) for m in (counts, weights))
                stop = start + batch.num_rows
                classes = None if self.classes is None else self.classes.of_documents[start:stop]
                self.empty += batch.column("id").take(pa.array(np.flatnonzero(np.diff(counts.indptr) == 0))).to_pylist()
                self.entries += counts.nnz
                if self.keep_rows:
                    self.rows.append(batch)
                yield WeightedDocuments(batch.column("id"), counts, weights, classes)
                start = stop
                update(start)

    @property
    def kept(self) -> IntArray:
        """Places (V',) of the terms that are columns among those of the corpus."""
        if self.model is not None:
            return self.model.kept
        return np.arange(len(self.corpus.terms), dtype=np.int32) if self.selection is None else self.selection.kept

    @property
    def n_terms(self) -> int:
        """Terms that are kept."""
        return len(self.kept)

    @property
    def terms(self) -> list[str]:
        """The terms that are kept, in the order of the columns."""
        return [self.corpus.terms[i] for i in self.kept]

    def all_terms(self) -> pa.Table:
        """Return term, cf, df, idf of all terms that weights were made from."""
        return pa.table(
            {
                "term": pa.array(self.corpus.terms, pa.string()),
                "cf": pa.array(self.corpus.cf, pa.int64()),
                "df": pa.array(self.corpus.df, pa.int64()),
                "idf": pa.array(self.how.idf),
            }
        )

    def vocab(self) -> pa.Table:
        """Return term, cf, df, idf of the columns, and score where terms were selected; of a model, those it had."""
        if self.model is not None:
            return self.model.vocab
        if self.selection is None:
            return self.all_terms()
        scores = pa.array(self.selection.scores[self.kept], from_pandas=True)
        return self.all_terms().take(pa.array(self.kept)).append_column("score", scores)

    @property
    def left_out(self) -> pa.Table | None:
        """All terms where some of them are no columns but count for the weights, None where there are none."""
        if self.n_terms == len(self.corpus.terms):
            return None
        return self.all_terms() if self.model is None else self.model.terms


def make(request: Request, read: ReadOptions) -> None:
    """Do what the command line asks for."""
    beside = None if request.kind == "run" else request.target
    with read_corpus(*request.inputs, options=read, beside=beside).open() as stream:
        groups = _groups(request, stream)
        columns = [] if groups is None else [groups.column]
        if request.lsa:
            columns += [n for n in stream.schema.names if n not in NOT_CARRIED and n not in (*columns, "id")]
        with counted(stream, request.tokens, columns=columns, threads=request.threads) as corpus:
            if not corpus.terms:
                raise no_words(corpus.n_docs)
            stats = CorpusStats(corpus.n_docs, corpus.terms, corpus.cf, corpus.df)
            how = weighting(stats, request.scheme, (counts for _, counts in corpus.batches()))
            weighed = Weighed(corpus, how)
            if groups is not None:
                score = request.wish.score if request.wish else None
                weighed.classes = read_classes(corpus.batches(), groups, score, how)
            if request.wish is not None and weighed.classes is not None:
                weighed.selection = select(weighed.classes, request.wish, request.top_n)
            block = _block(request, weighed, stream)
            if corpus.report is not None:
                say_tokens(corpus.report)
            _say_weights(request, weighed)
            facts = write(request, weighed, block, stream)
    finish(request, weighed, block, stream, facts)


def _groups(request: Request, stream: DocumentStream) -> Groups | None:
    """Return the classes that were asked for, or those of a label column that the output has room for."""
    if request.by is not None or request.wish is not None:
        return Groups(request.by or "label", stream.schema, stream.where)
    if request.kind in MATRIX_WRITERS and "label" in stream.schema.names:
        return Groups("label", stream.schema, stream.where)
    return None


def _block(request: Request, weighed: Weighed, stream: DocumentStream) -> dict[str, Any]:
    corpus, earlier = weighed.corpus, steps(stream)
    made = corpus.report
    tokens = {**token_parameters(request.tokens), **found_parameters(made)} if made else None
    parameters: dict[str, Any] = {
        "formula": request.scheme.formula, "smart": request.scheme.smart, "scheme": asdict(request.scheme),
        "documents": corpus.n_docs, "terms": weighed.n_terms, "mean_length": weighed.how.mean_length,
        "pivot": weighed.how.pivot if request.scheme.norm.startswith("pivoted") else None,
        "tokens": tokens or step_parameters(earlier, "preprocess"),
    }  # fmt: skip
    if weighed.classes is not None:
        parameters |= {"by": weighed.classes.by, "classes": weighed.classes.names}
    if request.wish is not None:
        score = request.wish.score
        parameters |= {
            "select": score.name,
            "larger_is_better": score.larger_is_better,
            "terms_before": len(corpus.terms),
        }
    return footer_block(
        "weights", command="tfidf", parameters=parameters, seed=None, inputs=stream.inputs, steps=earlier
    )


def _say_weights(request: Request, weighed: Weighed) -> None:
    smart = request.scheme.smart
    if request.target is not None:
        reporting.note(
            f"weight = {request.scheme.formula}{f' (SMART {smart})' if smart else ''}; "
            f"M = {weighed.corpus.n_docs:,} documents, {len(weighed.corpus.terms):,} terms"
        )
    if weighed.selection is not None and request.wish is not None:
        score = request.wish.score
        way = "larger" if score.larger_is_better else "smaller"
        reporting.note(
            f"kept {weighed.n_terms:,} of {len(weighed.corpus.terms):,} terms by {score.name}: {score.what}, {way} is better"
        )
    classes = weighed.classes
    left_out = 0 if classes is None else int((classes.of_documents < 0).sum())
    if classes is not None and left_out:
        reporting.note(f"{wording.counted(left_out, 'document')} without a value in '{classes.by}'")


def write(request: Request, weighed: Weighed, block: dict[str, Any], stream: DocumentStream) -> dict[str, Any]:
    """Write the output; return what --json says of it."""
    if request.target is None:
        return {}
    if request.kind == "run":
        from nlpkit.cli.tfidf_lsa import write_lsa

        return write_lsa(request, weighed, block, stream)
    groups = ahead(weighed) if request.threads > 1 else iter(weighed)
    if request.kind == "table":
        terms = pa.array(weighed.terms, pa.string())
        few = request.scheme.few_values
        with weights_sink(request.target, block, few_values=few, force=request.force) as sink:
            for group in groups:
                sink.write(long_table(group, terms))
    else:
        weighed.keep_rows = True
        with atomic_file(Path(request.target), force=request.force) as part:
            MATRIX_WRITERS[request.kind](part, groups, weighed.n_terms)
        _table(request.beside("ids"), _ids(weighed), {**block, "kind": "ids"})
    _table(request.beside("vocab"), weighed.vocab(), {**block, "kind": "vocab"})
    if weighed.left_out is not None:
        _table(request.beside("terms"), weighed.left_out, {**block, "kind": "terms"})
    format = request.kind
    if format == "table":
        format = "jsonl" if request.target == "-" else table_format(request.target)
    return {"output": request.target, "to": format, "weights": weighed.entries, "empty": len(weighed.empty)}


def _ids(weighed: Weighed) -> pa.Table:
    """Return the ids in the order of the rows, with the class as a name and as a number."""
    columns = {"id": pa.chunked_array([batch.column("id") for batch in weighed.rows], pa.string())}
    if weighed.classes is not None:
        codes = pa.array(weighed.classes.of_documents, mask=weighed.classes.of_documents < 0)
        columns["label"] = pa.array(weighed.classes.names, pa.string()).take(codes)
        columns["class"] = pa.array(weighed.classes.of_documents)
    return pa.table(columns)


def _table(path: Path | None, table: pa.Table, block: dict[str, Any]) -> None:
    if path is not None:
        with atomic_file(path, force=True) as part:  # checked before the work began
            write_table(part, table, block)


def finish(
    request: Request, weighed: Weighed, block: dict[str, Any], stream: DocumentStream, facts: dict[str, Any]
) -> None:
    """Write the features, say what was written, print the features or one JSON object."""
    features, classes = None, weighed.classes
    if weighed.selection is not None and classes is not None:
        features = features_table(weighed.selection, classes, weighed.corpus.terms)
        if request.features is not None:
            save_table(request.features, features, {**block, "kind": "class_features"}, force=request.force)
            reporting.note(f"wrote {request.features}: the best features of {len(classes.names)} classes")
    listed = None
    if request.target is not None and request.kind != "run":
        # in the long form they have no row
        empty = [DroppedRow(id_, "weights", "no term") for id_ in weighed.empty if request.kind == "table"]
        listed = write_dropped(request.target, [*stream.dropped, *empty], block)
    warn_dropped(stream, listed)
    if request.target is not None and weighed.empty:
        one = len(weighed.empty) == 1
        keep = "has no row" if one else "have no rows"
        if request.kind != "table":
            keep = "is a row of zeros" if one else "are rows of zeros"
        elif listed is not None:
            keep += f" and {'is' if one else 'are'} listed in {listed}"
        reporting.note(f"{wording.counted(len(weighed.empty), 'document')} without a term {keep}")
    if request.target == "-":
        return
    if request.target is not None and request.kind != "run":
        ids = f", ids of the rows in {request.beside('ids')}" if request.kind in MATRIX_WRITERS else ""
        reporting.note(f"wrote {request.target}: {weighed.entries:,} weights; terms in {request.beside('vocab')}{ids}")
    if console.settings.json:
        scheme = {"formula": request.scheme.formula, "smart": request.scheme.smart, "scheme": asdict(request.scheme)}
        facts |= {
            "documents": weighed.corpus.n_docs,
            "terms": weighed.n_terms,
            "dropped": len(stream.dropped),
            **scheme,
        }
        if features is not None and classes is not None:
            tops: dict[str, list[str]] = {name: [] for name in classes.names}
            facts["features"] = tops
            for row in features.to_pylist():
                tops[row["class"]].append(row["term"])
        console.emit_json(facts)
    elif weighed.selection is not None and classes is not None:
        show_features(weighed.selection, classes, weighed.corpus.terms)
