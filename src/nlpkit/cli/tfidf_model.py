"""`nlpkit tfidf NEW --model WEIGHTS|RUN`: new documents in the columns and with the idf of documents before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.tfidf import format_of
from nlpkit.cli.tfidf_lsa import VECTORS
from nlpkit.cli.tfidf_run import Request, Weighed, finish, write
from nlpkit.cli.tfidf_select import Classes, read_classes
from nlpkit.errors import UsageError
from nlpkit.io.artifacts import footer_block
from nlpkit.io.documents import add_column, embedding_column
from nlpkit.io.exports import MATRIX_WRITERS
from nlpkit.io.tables import table_sink, write_dropped
from nlpkit.io.weight_models import WeightModel, read_weight_model
from nlpkit.text.options import PreprocessOptions
from nlpkit.weighting.tfidf import kept_columns
from nlpkit.workflows.corpus import read_corpus, steps, warn_dropped
from nlpkit.workflows.counts import CountedCorpus, counted
from nlpkit.workflows.groups import Groups
from nlpkit.workflows.tokens import cut_as_model, say_tokens

if TYPE_CHECKING:
    from nlpkit.cli.options import OutputFlags, RunFlags
    from nlpkit.io.corpora import DocumentStream
    from nlpkit.io.read_options import ReadOptions


def weigh_new(
    inputs: list[str], path: Path, to: str | None, out: OutputFlags, read: ReadOptions, run: RunFlags
) -> None:
    """Weigh new documents as a model says.

    Raises:
        UsageError: an output that cannot be written; InputError, SchemaError: the model or the documents cannot be used.
    """
    model = read_weight_model(path, verify=run.verify)
    if model.components is not None:
        if to is not None:
            raise UsageError(f"--to {to}: documents in the space of an LSA are a table of documents; leave it out")
        target, kind = out.target("new.parquet"), "documents"
    else:
        if out.output is None:
            raise UsageError("say where to write: -o new.npz or new.parquet, or -o - for JSON lines on stdout")
        kind = format_of(to, out.output)
        target = out.table_target("new.parquet") if kind == "table" else out.output
    request = Request(
        tuple(inputs), target, kind, model.weighting.scheme, PreprocessOptions(), None, None, None, 0, None, out.force,
        run.seed, run.n_threads(),
    )  # fmt: skip
    if kind != "documents":
        request.check_targets(terms=len(model.kept) < model.terms.num_rows)
    with read_corpus(*inputs, options=read, beside=target).open() as stream:
        cut = cut_as_model(stream, model.token_settings, str(path))
        options = replace(cut or PreprocessOptions(), vocab=model.words)
        by = model.parameters.get("by", "label")
        columns = [by] if kind in MATRIX_WRITERS and by in stream.schema.names else []
        if kind == "documents":
            columns = [n for n in stream.schema.names if n not in ("id", VECTORS)]
        with counted(stream, options, columns=columns, threads=run.n_threads(), own_tokens=cut is None) as corpus:
            weighed = Weighed(corpus, model.weighting, model=model)
            if columns and kind != "documents":
                weighed.classes = _classes(corpus, model, stream, inputs)
            block = _block(model, weighed, stream)
            _say(model, corpus)
            if kind == "documents":
                _place(model, weighed, stream, target, block, force=out.force)
                return
            facts = write(request, weighed, block, stream)
    finish(request, weighed, block, stream, facts)


def _block(model: WeightModel, weighed: Weighed, stream: DocumentStream) -> dict[str, Any]:
    """Return the footer: the parameters of the model, so that what is written can be a model, too."""
    classes = {} if weighed.classes is None else {"by": weighed.classes.by, "classes": weighed.classes.names}
    about = {"model": str(model.path), "new_documents": weighed.corpus.n_docs}
    return footer_block(
        "weights", command="tfidf", parameters={**model.parameters, **classes, **about}, seed=None, inputs=stream.inputs,
        steps=steps(stream),
    )  # fmt: skip


def _classes(corpus: CountedCorpus, model: WeightModel, stream: DocumentStream, inputs: Sequence[str]) -> Classes:
    """Return the classes of new documents under the numbers they have in the model; others follow behind them."""
    by = str(model.parameters.get("by", "label"))
    found = read_classes(corpus.batches(), Groups(by, stream.schema, stream.where), None, model.weighting)
    names = list(model.parameters.get("classes") or ())
    other = [name for name in found.names if name not in names]
    if names and other:
        reporting.warn(f"classes in '{by}' that the documents of {model.path} do not have: {', '.join(other[:10])}")
    names += other
    places = np.array([*map(names.index, found.names), -1], np.int32)
    return Classes(by, names, places[found.of_documents], None)


def _say(model: WeightModel, corpus: CountedCorpus) -> None:
    if corpus.report is not None:
        say_tokens(corpus.report)
    known = np.count_nonzero(corpus.df)
    reporting.note(
        f"weights as in {model.path}: {len(model.kept):,} columns, idf of {wording.counted(model.n_docs, 'document')}; "
        f"{known:,} of its {len(corpus.terms):,} terms occur here"
    )
    if not known:
        reporting.warn(
            f"no term of {model.path} occurs in these documents: all weights are 0; is it the same language?"
        )


def _place(
    model: WeightModel, weighed: Weighed, stream: DocumentStream, target: str, block: dict[str, Any], *, force: bool
) -> None:
    """Write the documents with a column of their vectors in the space of an LSA, X W."""
    assert model.components is not None
    columns = [stream.schema.field(name) for name in stream.schema.names if name != VECTORS]
    schema = pa.schema([*columns, pa.field(VECTORS, pa.list_(pa.float32(), model.components.shape[1]))])
    if VECTORS in stream.schema.names:
        reporting.warn(f"the column '{VECTORS}' of the input is replaced")
    corpus, n_docs, empty = weighed.corpus, 0, 0
    places = np.full(len(corpus.terms), -1, np.int32)
    places[model.kept] = np.arange(len(model.kept), dtype=np.int32)
    with (
        table_sink(target, schema, {**block, "kind": "documents"}, force=force) as sink,
        reporting.progress("documents", corpus.n_docs) as update,
    ):
        for batch, counts in corpus.batches():
            weights = kept_columns(model.weighting.weigh(counts), places, len(model.kept))
            vectors = np.asarray(weights @ model.components, np.float32)
            sink.write(add_column(batch, VECTORS, embedding_column(vectors)))
            n_docs += batch.num_rows
            empty += int((np.diff(weights.indptr) == 0).sum())
            update(n_docs)
    warn_dropped(stream, write_dropped(target, stream.dropped, block))
    if empty:
        reporting.note(f"{wording.counted(empty, 'document')} without a term of the columns: the vector is 0")
    if target != "-":
        reporting.note(
            f"wrote {target}: {wording.counted(n_docs, 'document')} in {model.components.shape[1]} components"
        )
        if console.settings.json:
            console.emit_json({"output": target, "documents": n_docs, "empty": empty, "dropped": len(stream.dropped)})
