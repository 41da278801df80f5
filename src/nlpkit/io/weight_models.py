"""Models of `nlpkit tfidf`, read to weight new documents: the terms with their idf, the scheme, the LSA."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, SchemaError
from nlpkit.io.artifacts import read_footer, read_table
from nlpkit.io.atomic import MANIFEST
from nlpkit.io.runs import open_run
from nlpkit.types import FloatArray, IntArray
from nlpkit.weighting.schemes import Scheme
from nlpkit.weighting.tfidf import CorpusStats, Weighting

MAKE = "`tfidf(CORPUS, output=weights.npz)`, then `model=weights.npz`"


@dataclass(frozen=True, slots=True)
class WeightModel:
    """A fitted tf-idf.

    terms: (V, 4) term, cf, df, idf of all terms that count for weights; kept: (V',) the rows of those that are columns, in their
    order; vocab: their table; parameters: of the footer; components: (V', L) of an LSA or PCA, else None; center: (L,) of a PCA;
    space: the kind of such a run, lsa or pca.
    """

    path: Path
    terms: pa.Table
    kept: IntArray
    vocab: pa.Table
    weighting: Weighting
    n_docs: int
    parameters: Mapping[str, Any]
    components: FloatArray | None = None
    center: FloatArray | None = None
    space: str = ""

    @property
    def token_settings(self) -> dict[str, Any] | None:
        """Settings that the tokens were made with, None where unknown."""
        settings: dict[str, Any] | None = self.parameters.get("tokens")
        return settings

    @property
    def words(self) -> tuple[str, ...]:
        """(V,) all terms."""
        return tuple(self.terms.column("term").to_pylist())


def read_weight_model(path: Path, *, verify: bool = True) -> WeightModel:
    """Return the tf-idf of a run directory with LSA, or of a table of weights, through the vocabulary beside it.

    Args:
        path: the run, or the table.
        verify: refuse a run whose files were changed since it was written.

    Raises:
        InputError: nothing is there, or not what tfidf wrote; SchemaError: it is of another command.
    """
    components = center = None
    space = ""
    if path.is_dir():
        if not (path / MANIFEST).is_file():
            raise InputError(f"{path} is not a run of tfidf `lsa` or `pca`; name the table of weights in it ({MAKE})")
        run = open_run(path, ["lsa", "pca"], verify=verify)
        space = str(run.manifest["kind"])
        vocab, whole = run.file("vocab.parquet"), run.path / "model" / "terms.parquet"
        if whole.is_file():
            run.file("model/terms.parquet")
        vectors = run.table("term_vectors", ["vector"])
        with run.intact():
            components = np.stack(vectors.column("vector").to_numpy()).astype(np.float64)
            if components.ndim != 2 or not np.isfinite(components).all():
                raise ValueError("a term vector that is not a vector of numbers")
            if space == "pca":
                center = run.table("components", ["center"]).column("center").to_numpy().astype(np.float64)
                if center.shape != components.shape[1:] or not np.isfinite(center).all():
                    raise ValueError("a center that is none of the components")
    else:
        if not path.exists():
            raise InputError(f"{path} does not exist; make one with: {MAKE}")
        stem = path.name.removesuffix(".vocab.parquet")
        stem = path.stem if stem == path.name else stem
        vocab, whole = (path.with_name(f"{stem}.{what}.parquet") for what in ("vocab", "terms"))
        if not vocab.is_file():
            raise InputError(f"{path}: its vocabulary {vocab} is not there; make both again with: {MAKE}")
    block = read_footer(vocab)
    if block is None or block.get("command") != "tfidf":
        writer = "no command of nlpkit" if block is None else f"nlpkit {block.get('command')}"
        raise SchemaError(f"{vocab} was written by {writer}, not by tfidf; make one with: {MAKE}")
    columns = read_table(vocab, ["vocab"], ["term", "cf", "df", "idf"])
    if components is not None and len(components) != columns.num_rows:
        raise InputError(f"{path}: {len(components)} term vectors for {columns.num_rows} terms; make the run again")
    model = _model(path, block["parameters"], columns, whole, components)
    return replace(model, center=center, space=space)


def _model(
    path: Path, parameters: Mapping[str, Any], columns: pa.Table, whole: Path, components: FloatArray | None
) -> WeightModel:
    try:
        scheme, n_docs = Scheme(**parameters["scheme"]), int(parameters["documents"])
        mean_length, pivot = float(parameters["mean_length"]), float(parameters["pivot"] or 0.0)
        selected = int(parameters.get("terms_before", columns.num_rows)) > columns.num_rows
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: its footer does not record its weighting ({error}); make it again") from None
    terms, kept = columns, np.arange(columns.num_rows, dtype=np.int32)
    if selected:
        if not whole.is_file():
            raise InputError(f"{path}: the terms that `select` left out ({whole}) are missing; make it again")
        terms = read_table(whole, ["terms", "model/terms"], ["term", "cf", "df", "idf"])
        place = {term: i for i, term in enumerate(terms.column("term").to_pylist())}
        kept = np.array([place.get(term, -1) for term in columns.column("term").to_pylist()], np.int32)
        if (kept < 0).any():
            raise InputError(f"{whole} does not have the terms of {path}; make both again")
    idf = terms.column("idf").to_numpy()
    if not np.isfinite(idf).all():
        raise InputError(f"{path}: an idf is not a finite number; make it again")
    sizes = None
    if scheme.norm == "pivoted-bytes":
        counts = terms.column("cf").to_numpy()
        sizes = CorpusStats(n_docs, terms.column("term").to_pylist(), counts, counts).term_bytes()
    weighting = Weighting(scheme, idf, mean_length, sizes, pivot)
    return WeightModel(path, terms, kept, columns, weighting, n_docs, parameters, components)
