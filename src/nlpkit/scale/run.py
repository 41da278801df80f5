"""Documents on a scale: texts, reference scores or seeds in; positions of documents and weights of words out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError
from nlpkit.metrics.intervals import normal_quantile
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import as_corpus, no_documents
from nlpkit.platform.documents.groups import Groups
from nlpkit.platform.options import Execution, in_force, with_settings
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.types import LongArray
from nlpkit.scale import scores as core
from nlpkit.scale.files import read_anchors
from nlpkit.scale.methods import Fit, Texts, counted_texts, fit_axis, fit_words
from nlpkit.scale.options import ScaleOptions
from nlpkit.scale.tables import GROUPS, POSITIONS, WORDS, ScaledDocuments
from nlpkit.text.options import TokenOptions
from nlpkit.text.settings import preprocess_options


def scale(
    data: Any,
    *,
    options: ScaleOptions | None = None,
    tokens: TokenOptions | None = None,
    encoder: EncoderOptions | str | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> ScaledDocuments:
    """Return documents with their positions on a scale, and the weights of the words.

    wordscores: Laver, Benoit & Garry (2003), Martin & Vanberg (2008). wordfish: Slapin & Proksch (2008). lss: Watanabe (2021). ca:
    correspondence analysis (Greenacre 2017). axis: projection on the line between two sets of anchors in embedding space.

    Standard errors hold the words as they are: they tell how far a document of so many words is from its position, not how far
    another corpus would change the scale. Those of axis come from the anchors.

    Args:
        data: a Corpus, texts, or a data frame.
        options: the method, and what it needs.
        tokens: how texts become tokens, where there are none.
        encoder: axis: the model of the embeddings, where the documents have none.
        execution: seed and threads; the result does not depend on the threads.
        settings: single fields of these records, such as method="wordscores", scores="left_right".

    Raises:
        UsageError: a method without what it needs; ColumnError: a column is not there; InputError: no documents, no words, fewer than
            two reference texts, reference scores that are all the same, no seed word that occurs, or no document of an id.

    Example:
        >>> texts = ["tax cut market market", "tax market state", "state union welfare", "union welfare welfare"]
        >>> scaled = nk.scale(texts, method="ca", low="row:1", high="row:4", min_df=1)
        >>> [f"{x:.2f}" for x in scaled.documents["position"].to_pylist()]
        ['-1.10', '-0.65', '0.86', '1.25']
    """
    kinds = (ScaleOptions, TokenOptions, EncoderOptions, Execution)
    records = (options, tokens, EncoderOptions.from_value(encoder), execution)
    options, tokens, embedding, execution = with_settings(records, settings, kinds)
    corpus, cut = as_corpus(data), preprocess_options(tokens)
    seconds: dict[str, float] = {}
    anchors = read_anchors(options, lower=cut.lower)
    if options.method == "axis":
        if "-" not in corpus.inputs:  # a column that is not there is told before documents are embedded
            with corpus.open() as stream:
                _groups(options, stream)
        texts, fit, stream, parameters = fit_axis(corpus, anchors, cut, embedding, execution, seconds)
        groups = _groups(options, stream)
        grouped = _group_codes(groups, texts.rows) if groups else None
    else:
        embedding.refuse("it makes embeddings, which only `method=axis` reads; leave it out")
        with corpus.open() as stream:
            if not stream.has_documents():
                raise no_documents(stream)
            groups = _groups(options, stream)
            with stopwatch(seconds, "counts"):
                texts = counted_texts(stream, cut, options, execution)
        grouped = _group_codes(groups, texts.rows) if groups else None
        with stopwatch(seconds, "fit"):
            fit = fit_words(texts, options, anchors, execution, stream.where)
        parameters = {}
    if not np.isfinite(fit.position).any():
        raise InputError(f"no document of {stream.where} has a position: none has a word with a weight")
    return _result(texts, fit, grouped, stream, options, parameters, execution, seconds)


def _result(
    texts: Texts,
    fit: Fit,
    groups: tuple[LongArray, list[list[str]]] | None,
    stream: DocumentStream,
    options: ScaleOptions,
    parameters: Mapping[str, Any],
    execution: Execution,
    seconds: Mapping[str, float],
) -> ScaledDocuments:
    """Return the result with its tables; say which documents have no position."""
    z = normal_quantile(options.ci)
    ends = {"low": fit.position - z * fit.se, "high": fit.position + z * fit.se}
    documents = POSITIONS.table(
        id=texts.rows.column("id"), position=fit.position, se=fit.se, **ends, n_words=fit.n_words
    )
    for name, values in fit.documents.items():
        documents = documents.append_column(name, pa.array(values, from_pandas=True))
    for name in texts.rows.column_names:
        if name in documents.column_names and name != "id":
            reporting.warn(
                f"the column '{name}' of the input is dropped, because the result has a column with this name"
            )
        elif name != "id":
            documents = documents.append_column(name, texts.rows.column(name))
    words = WORDS.table(term=list(texts.terms), weight=fit.weight, cf=texts.cf, df=texts.df)
    for name, values in fit.words.items():
        words = words.append_column(name, pa.array(values, from_pandas=name != "seed"))
    missing = int((~np.isfinite(fit.position)).sum())
    if missing:
        has = "has no position: none of its words has" if missing == 1 else "have no position: none of their words has"
        reporting.note(f"{wording.counted(missing, 'document')} {has} a weight" if options.method != "axis" else
                       f"{wording.counted(missing, 'document')} without text or vector: no position")  # fmt: skip
    facts = {
        "method": options.method,
        "documents": documents.num_rows,
        "without_position": missing,
        "words": words.num_rows,
        **fit.facts,
    }
    in_footer = {**in_force(options), **parameters, "tokens": texts.parameters}
    in_footer |= {
        name: None if value is None else str(value) for name, value in in_footer.items() if isinstance(value, Path)
    }
    table = None if groups is None else _group_table(*groups, fit, options)
    return ScaledDocuments(documents, words, table, facts, options, stream, in_footer, execution, seconds)


def _groups(options: ScaleOptions, stream: DocumentStream) -> list[Groups]:
    """Return the columns that positions are added up by: `by`, then `over`. Raises ColumnError when one is not there."""
    columns = (("by", options.by), ("over", options.over))
    return [Groups(name, stream.schema, stream.where, parameter=role) for role, name in columns if name is not None]


def _group_codes(groups: Sequence[Groups], rows: pa.Table) -> tuple[LongArray, list[list[str]]]:
    """Return the group of each document (D,), a pair of values where there are two columns, -1 for none, and their names.

    Raises:
        ColumnError: there are no dates where some were wanted; InputError: no document has a value.
    """
    codes: LongArray = np.zeros(rows.num_rows, np.int64)
    names: list[list[str]] = [[]]
    for group in groups:
        numbers = np.concatenate([group.assign(batch) for batch in rows.to_batches()])
        labels, places = group.finish()
        codes = np.where((codes < 0) | (numbers < 0), -1, codes * len(labels) + places[numbers])
        names = [[*before, label] for before in names for label in labels]
    left_out = int((codes < 0).sum())
    if left_out:
        columns = " or ".join(group.by for group in groups)
        reporting.note(f"{wording.counted(left_out, 'document')} in no group: no value in '{columns}'")
    return codes, names


def _group_table(codes: LongArray, names: Sequence[Sequence[str]], fit: Fit, options: ScaleOptions) -> pa.Table:
    """Return the mean positions of groups that have a document."""
    means = core.group_means(fit.position, fit.se, codes, len(names), options.ci)
    there = np.flatnonzero(means["documents"] > 0)
    heads = [head for head, name in (("group", options.by), ("period", options.over)) if name is not None]
    values = {head: [names[i][k] for i in there.tolist()] for k, head in enumerate(heads)}
    return GROUPS.table(**values, **{name: column[there] for name, column in means.items()})
