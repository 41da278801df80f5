"""`nlpkit tfidf --lsa L`: document and term vectors in a run directory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting
from nlpkit.cli import console
from nlpkit.io.documents import embedding_column
from nlpkit.io.exports import stacked
from nlpkit.io.runs import RunTables, manifest_of, stopwatch, write_run
from nlpkit.types import FloatArray
from nlpkit.weighting.lsa import Lsa, lsa

if TYPE_CHECKING:
    from nlpkit.cli.tfidf_run import Request, Weighed
    from nlpkit.io.corpora import DocumentStream

TOP_TERMS = 10
VECTORS = "lsa"


def write_lsa(request: Request, weighed: Weighed, block: dict[str, Any], stream: DocumentStream) -> dict[str, Any]:
    """Write documents, components, term_vectors and vocab of the decomposition; return what --json says of it."""
    assert request.lsa is not None
    seconds: dict[str, float] = {}
    weighed.keep_rows = True
    with stopwatch(seconds, "weights"):
        X = stacked([group.weights for group in weighed])
    with stopwatch(seconds, "svd"):
        found = lsa(X, request.lsa, seed=request.seed)
    L = len(found.singular_values)
    if request.lsa > L:
        reporting.note(f"the weights have rank {L}: {L} components instead of {request.lsa}")
    components = components_table(found, weighed.terms)
    terms = pa.table({"term": pa.array(weighed.terms, pa.string()), "vector": _vectors(found.terms)})
    documents = pa.Table.from_batches(weighed.rows)
    if VECTORS in documents.column_names:
        reporting.warn(f"the column '{VECTORS}' of the input is not kept: the run has its own")
        documents = documents.drop_columns(VECTORS)
    documents = documents.append_column(VECTORS, _vectors(found.documents))
    tables = {"documents": documents, "components": components, "term_vectors": terms, "vocab": weighed.vocab()}
    model = {} if weighed.left_out is None else {"terms": weighed.left_out}
    results = {
        "documents": weighed.corpus.n_docs,
        "terms": weighed.n_terms,
        "components": L,
        "singular_values": found.singular_values.tolist(),
        "explained_variance_ratio": found.explained_variance_ratio.tolist(),
        "explained_variance": float(found.explained_variance_ratio.sum()),
    }
    config = {
        "kind": "lsa", "scheme": asdict(request.scheme), "n_docs": weighed.corpus.n_docs,
        "mean_length": weighed.how.mean_length, "pivot": weighed.how.pivot,
    }  # fmt: skip
    manifest = manifest_of(
        "lsa",
        parameters={**block["parameters"], "lsa": request.lsa},
        seed=request.seed,
        threads=request.threads,
        inputs=stream.inputs,
        seconds=seconds,
        results=results,
    )
    path = Path(str(request.target))
    write_run(
        path,
        RunTables(tables, model, config, stream.dropped),
        {**block, "seed": request.seed},
        manifest,
        force=request.force,
    )
    reporting.note(
        f"wrote {path}/: {L} components explain {results['explained_variance']:.1%} of the variance of the weights"
        + console.next_step("tfidf", "NEW.jsonl", "--model", path, "-o", "new.parquet")
    )
    if not console.settings.json and weighed.selection is None:
        show_components(components)
    return {"run": str(path), "weights": weighed.entries, "empty": len(weighed.empty), **results}


def components_table(found: Lsa, terms: list[str]) -> pa.Table:
    """Return a row a component: singular value, explained variance, the terms at its two ends."""
    strongest = np.argsort(-found.terms, axis=0, kind="stable").T

    def names(ids: Any, weights: Any) -> list[str]:
        return [terms[i] for i, w in zip(ids, weights, strict=True) if w]

    tops, bottoms = [], []
    for k, order in enumerate(strongest):
        column = found.terms[:, k]
        high, low = order[:TOP_TERMS], order[::-1][:TOP_TERMS]
        tops.append(names(high, column[high] > 0))
        bottoms.append(names(low, column[low] < 0))
    return pa.table(
        {
            "component": pa.array(range(len(tops)), pa.int32()),
            "singular_value": pa.array(found.singular_values),
            "explained_variance_ratio": pa.array(found.explained_variance_ratio),
            "top_terms": pa.array(tops, pa.list_(pa.string())),
            "bottom_terms": pa.array(bottoms, pa.list_(pa.string())),
        }
    )


def show_components(components: pa.Table, n: int = 10) -> None:
    """Print the first components with the terms at their ends."""
    rows = []
    for row in components.slice(0, n).to_pylist():
        numbers = [str(row["component"]), f"{row['singular_value']:.3f}", f"{row['explained_variance_ratio']:.1%}"]
        rows.append([*numbers, " ".join(row["top_terms"][:5]), " ".join(row["bottom_terms"][:5])])
    columns = ["component", "singular value", "explained", "top terms", "bottom terms"]
    console.table(columns, rows, right=columns[:3])


def _vectors(matrix: FloatArray) -> pa.FixedSizeListArray:
    return embedding_column(matrix.astype(np.float32))
