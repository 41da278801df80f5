"""The documents of a run once more, with the words that the fit counted in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.errors import InputError
from nlpkit.io.documents import TEXT_HASH
from nlpkit.io.mixture_runs import TopicCorpus
from nlpkit.io.mixture_tables import read_left_out
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.run_reading import corpus_of, read_as_then
from nlpkit.io.runs import Run
from nlpkit.io.topic_tables import TOPIC_COLUMNS
from nlpkit.parameters import Execution
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.token_settings import options_from
from nlpkit.types import TokenTable
from nlpkit.workflows.corpus import Corpus, read_corpus
from nlpkit.workflows.reference import as_reference
from nlpkit.workflows.topic_corpus import read_topic_corpus


def documents_of(run: Run, documents: Any, read: ReadOptions, *, parameter: str | None = "documents") -> Corpus:
    """Return the corpus of a run, as many documents as it has.

    Args:
        documents: where they are, or a Corpus, texts or a data frame; None: where the run says. parameter: by which they
            can be named, None for none.

    Raises:
        InputError: they are gone or have changed.
    """
    if run.manifest["parameters"].get("from_mallet") is not None:
        raise InputError(
            f"{run.path} was made from a state of MALLET, which holds no texts; its topics cannot be edited"
        )
    limit = int(run.manifest["results"].get("documents") or 0) or None
    corpus = as_reference(documents, read)
    if corpus is not None:
        return corpus.with_options(limit=limit)
    name_them = "" if parameter is None else f", or name the documents with `{parameter}`"
    try:
        files, as_then = corpus_of(run), read_as_then(run, read)
    except InputError as error:
        raise InputError(f"{error}{name_them}", parameter=parameter) from None
    return read_corpus(*files, options=as_then)


@contextmanager
def documents_again(
    run: Run,
    terms: tuple[str, ...],
    documents: Any,
    read: ReadOptions,
    execution: Execution,
    *,
    parameter: str | None = "documents",
) -> Iterator[TopicCorpus]:
    """Yield the documents of a run of a mixture model as its fit counted them: their tokens as ids of terms, the columns of the run.

    Args:
        documents, parameter: see `documents_of`.

    Raises:
        InputError: the documents are gone, have changed, or are not cut into words again.
    """
    corpus = documents_of(run, documents, read, parameter=parameter)
    with corpus.open() as stream:
        has_tokens = "tokens" in stream.schema.names
    options = options_of_tokens(run, terms, has_tokens=has_tokens)
    alone = corpus.with_options(columns=("tokens",))  # the other columns are those of the run
    with read_topic_corpus(alone, options, execution.n_threads()) as words:
        stored = check_ids(run, words.ids)
        hashes = words.rows.column(TEXT_HASH)
        if "model/training.parquet" in run.manifest["outputs"]:
            known = set(run.table("model/training", ["text_hash"]).column("text_hash").to_pylist())
            check_texts(run, words.ids, np.array([key is None or key in known for key in hashes.to_pylist()], bool))
        tokens = same_terms(words.tokens, terms)
        vocabulary, left_out = run.table("vocab"), read_left_out(run)
        note_other_counts(run, tokens, vocabulary.column("cf").to_numpy())
        yield replace(
            words, tokens=tokens, rows=columns_of_user(stored).append_column(TEXT_HASH, hashes),
            cf=vocabulary.column("cf").to_numpy(), df=vocabulary.column("df").to_numpy(),
            token_info=run.manifest["parameters"].get("tokens"), left_out=None if left_out is None else lambda: sorted(left_out),
        )  # fmt: skip


def check_ids(run: Run, ids: pa.ChunkedArray) -> pa.Table:
    """Return documents.parquet of a run, whose documents have these ids. Raises InputError where they have others."""
    documents = run.table("documents")
    if documents.column("id").to_pylist() != ids.to_pylist():
        raise InputError(
            f"the documents differ from the documents of {run.path}, which has "
            f"{wording.counted(documents.num_rows, 'document')} with other ids; read them as for the fit, with the "
            "same `id_col` and `text_col`"
        )
    return documents


def check_texts(run: Run, ids: pa.ChunkedArray, known: np.ndarray) -> None:
    """Raise InputError where a text is not that of the fit; known (D,): whether it is, or there is none."""
    other = np.flatnonzero(~known)
    if len(other):
        raise InputError(
            f"the text of {wording.counted(len(other), 'document')}, such as {ids[int(other[0])].as_py()}, differs "
            f"from the text in the fit of {run.path}; read the documents as for the fit, with the same `text_col`"
        )


def columns_of_user(documents: pa.Table, further: tuple[str, ...] = ()) -> pa.Table:
    """Return documents.parquet of a run without the columns that the model made."""
    made_by_model = (*TOPIC_COLUMNS, TEXT_HASH, *further)
    return documents.select([name for name in documents.column_names if name not in made_by_model])


def options_of_tokens(run: Run, terms: tuple[str, ...], *, has_tokens: bool) -> PreprocessOptions:
    """Return the options that cut the texts of a run into its terms again; terms alone where the documents have tokens.

    Raises:
        InputError: it is not known how its tokens were made.
    """
    if has_tokens:
        return PreprocessOptions(vocab=terms, lists_must_match=False)
    options = options_from(run.manifest["parameters"].get("tokens"), str(run.path))
    return replace(options, vocab=terms, lists_must_match=False)


def same_terms(tokens: TokenTable, terms: tuple[str, ...]) -> TokenTable:
    """Return tokens as ids of terms; other words go."""
    if tokens.terms == terms:
        return tokens
    place = {term: i for i, term in enumerate(terms)}
    new = np.array([place.get(term, -1) for term in tokens.terms], np.int32)
    ids = new[tokens.term_ids] if len(new) else tokens.term_ids
    kept = np.concatenate([[0], np.cumsum(ids >= 0)])
    return TokenTable(kept[tokens.offsets].astype(np.int64), ids[ids >= 0], terms)


def note_other_counts(run: Run, tokens: TokenTable, cf: Any) -> None:
    """Warn where words are not counted as often as in the fit (V,): they were cut in a way that the run does not say."""
    counted = np.bincount(tokens.term_ids, minlength=tokens.n_terms)
    differ = np.flatnonzero(counted != np.asarray(cf))
    if len(differ):
        reporting.warn(
            f"{wording.counted(len(differ), 'term')} of {wording.count(tokens.n_terms)}, such as "
            f"'{tokens.terms[int(differ[0])]}', have other counts than in {run.path}, so the words of its topics "
            "may differ slightly"
        )
