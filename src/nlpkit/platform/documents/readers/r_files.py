"""Files of R read as columns: a data frame, a corpus or dfm of quanteda, or a matrix of word counts."""

from __future__ import annotations

import codecs
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.platform.wording import listed

_MIXED = "nlpkit_mixed"  # the name of a codec
_OF_DOCUMENTS = ("docs", "documents")  # the names that R's packages give to that dimension of a matrix


def columns_of_r(path: str, format: str, name: str | None, shown: str) -> dict[str, list[Any]]:
    """Return the columns of a data frame, or the documents of a matrix of counts as `id`, `text` and `tokens`.

    Raises:
        InputError: there is none, there are several and no name, or a matrix does not hold counts.
    """
    import pandas as pd
    import rdata

    known = {
        **rdata.conversion.DEFAULT_CLASS_MAP, "Date": _days, "POSIXct": _moments, "corpus": _corpus, "dfm": _sparse_counts,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes without a counterpart, which stay as they are stored
        reader = partial(rdata.read_rds if format == "rds" else rdata.read_rda, Path(path), constructor_dict=known)
        read = _in_any_encoding(reader)
    objects = read if isinstance(read, dict) and format == "rdata" else {"": read}
    kinds = (pd.DataFrame, _Counts)
    tables = {key: table for key, value in objects.items() if isinstance(table := _named_matrix(value), kinds)}
    if name is not None and name not in tables:
        raise InputError(
            f"{shown}: no data frame or matrix '{name}' (it has {listed(list(tables), 8)})", parameter="sheet"
        )
    if name is None and len(tables) != 1:
        content = f"it has {listed(list(tables), 8)}; name one with `sheet`" if tables else "it has none"
        raise InputError(f"{shown}: one data frame or matrix of counts is needed, {content}", parameter="sheet")
    table = tables[name] if name is not None else next(iter(tables.values()))
    columns = table.columns_of_documents(shown) if isinstance(table, _Counts) else {}
    frame = table.variables if isinstance(table, _Counts) else table
    return columns | {str(column): _cells(frame[column].tolist()) for column in frame.columns}


class _Counts(NamedTuple):
    """A matrix of R whose rows and columns have names.

    dimensions: what R calls its rows and columns. names: of the rows, and of the columns. variables: a data frame of the documents.
    """

    matrix: Any
    dimensions: tuple[str, str]
    names: tuple[Any, Any]
    variables: Any

    def columns_of_documents(self, shown: str) -> dict[str, list[Any]]:
        """Return documents with each word as often as it is counted, in the order of the matrix; their text is these words.

        Raises:
            InputError: R calls neither rows nor columns docs, as austin and quanteda do, or a value is not a count.
        """
        places = [place for place, name in enumerate(self.dimensions) if name.lower() in _OF_DOCUMENTS]
        if len(places) != 1:
            raise InputError(
                f"{shown}: it is not known whether rows or columns of the matrix are documents; "
                'name them in R: names(dimnames(x)) <- c("words", "docs")'
            )
        rows = sparse.csr_array(self.matrix.T if places[0] else self.matrix)
        counts = rows.data
        if (
            counts.dtype.kind not in "iuf"
            or not (np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))).all()
        ):
            raise InputError(f"{shown}: the matrix holds other values than counts; whole numbers from 0 on are needed")
        ids, words = (np.asarray(self.names[place]).astype(str) for place in (places[0], 1 - places[0]))
        parts = zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
        whole = counts.astype(np.int64)
        tokens = [np.repeat(words[rows.indices[a:b]], whole[a:b]).tolist() for a, b in parts]
        return {"id": ids.tolist(), "text": [" ".join(row) for row in tokens], "tokens": tokens}


def _named_matrix(value: Any) -> Any:
    """Return a matrix with names of rows and columns, which rdata reads as an array of xarray, as counts; anything else as it is."""
    import pandas as pd

    if getattr(value, "ndim", 0) != 2 or len(getattr(value, "coords", ())) != 2:
        return value
    first, second = value.dims
    names = (value.coords[first].values, value.coords[second].values)
    return _Counts(np.asarray(value.values), (str(first), str(second)), names, pd.DataFrame(index=range(0)))


def _sparse_counts(_value: Any, attributes: Mapping[str, Any]) -> Any:
    """Return a dfm of quanteda as counts, with the variables of its documents."""
    import pandas as pd

    (first, rows), (second, columns) = attributes["Dimnames"].items()
    parts = (attributes["x"], attributes["i"], attributes["p"])
    variables = attributes.get("docvars")
    kept = _variables(variables) if isinstance(variables, pd.DataFrame) else pd.DataFrame()
    matrix = sparse.csc_array(parts, shape=(len(rows), len(columns)))
    return _Counts(matrix, (str(first), str(second)), (rows, columns), kept)


def _in_any_encoding(reader: Callable[..., Any]) -> Any:
    """Return what a file of R holds: in the encodings that it names, else each text in UTF-8 or, if it is not, in Windows' for the West.

    Old versions of R mark texts as ASCII, or not at all, in whatever encoding they are.
    """
    try:
        return reader(default_encoding="utf-8")
    except UnicodeDecodeError:
        codecs.register(_mixed)
        try:
            return reader(default_encoding=_MIXED, force_default_encoding=True)
        finally:
            codecs.unregister(_mixed)


def _mixed(name: str) -> codecs.CodecInfo | None:
    """Return the codec of texts that are each in UTF-8, or in cp1252."""

    def decode(text: Any, _errors: str = "strict", /) -> tuple[str, int]:
        content = bytes(text)
        try:
            return content.decode("utf-8"), len(content)
        except UnicodeDecodeError:
            return content.decode("cp1252", "replace"), len(content)

    return codecs.CodecInfo(codecs.utf_8_encode, decode, name=_MIXED) if name == _MIXED else None


def _cells(values: list[Any]) -> list[Any]:
    """Return the cells of a column of R: a list column with one value in each cell holds these values."""
    cells = [value.tolist() if isinstance(value, np.ndarray) else value for value in values]
    if all(isinstance(cell, list) and len(cell) == 1 for cell in cells):
        cells = [cell[0] for cell in cells]
    return [None if _is_missing(cell) else cell for cell in cells]


def _is_missing(cell: Any) -> bool:
    import pandas as pd

    return not isinstance(cell, list) and bool(pd.isna(cell))


def _corpus(values: Any, attributes: Mapping[str, Any]) -> Any:
    """Return a corpus of quanteda as a table: the names and texts of its documents, and its variables."""
    import pandas as pd

    texts = pd.DataFrame({"text": np.asarray(values, object)})
    variables = attributes.get("docvars")
    if not isinstance(variables, pd.DataFrame) or len(variables) != len(texts):
        return texts
    ids = variables.get("docname_")
    parts = [texts, _variables(variables)]
    return pd.concat(parts if ids is None else [pd.Series(ids.tolist(), name="id"), *parts], axis=1)


def _variables(docvars: Any) -> Any:
    """Return the variables of documents without those that quanteda keeps for itself."""
    kept = [name for name in docvars.columns if not str(name).endswith("_") and name not in ("id", "text", "tokens")]
    return docvars[kept].reset_index(drop=True)


def _days(values: Any, _attributes: Any) -> Any:
    """Return days since 1970, as R counts dates."""
    return np.array(values, np.float64).astype("datetime64[D]").astype("datetime64[s]")


def _moments(values: Any, _attributes: Any) -> Any:
    """Return seconds since 1970 in UTC."""
    return (1e6 * np.array(values, np.float64)).astype("datetime64[us]")
