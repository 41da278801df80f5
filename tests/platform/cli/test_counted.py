"""Documents as counts: those of scikit-learn, whatever the batches and threads, from texts and from tokens that are there."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from nlpkit.errors import ColumnError, InputError, UsageError
from nlpkit.platform.documents.corpora import open_documents
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.text.options import PreprocessOptions, PreprocessReport
from nlpkit.text.phrases import PhraseTable
from nlpkit.text.tokens import codes_array, codes_of, encode, tokens_of, tokens_schema, with_tokens
from nlpkit.text.vocab import EncodedBatch
from nlpkit.weights.counts import count_corpus
from tests.command_line import NEWS, run_cli, write_jsonl
from tests.strategies import repeatable

TEXTS: list[str | None] = [
    "The storm, the sea & the harbour", None, "", "storm storm sea", "boats of the harbour sea",
    "don't stop the storm",
]  # fmt: skip


@dataclass(frozen=True)
class Counts:
    """Everything that is told of a counted corpus."""

    terms: tuple[str, ...]
    cf: list[int]
    df: list[int]
    n_docs: int
    rows: list[dict[str, Any]]
    matrix: Any
    report: PreprocessReport | None


def count(
    inputs: str | Path, *, columns: tuple[str, ...] = (), threads: int = 1, batch_rows: int = 3, **options: Any
) -> Counts:
    how = PreprocessOptions(**({"language": "none", "stop_words": "none", "min_df": 1} | options))
    names = [str(inputs)]
    with ExitStack() as stack:
        stream = stack.enter_context(open_documents(names, ReadOptions(batch_rows=batch_rows)))
        corpus = stack.enter_context(count_corpus(stream, how, columns=columns, threads=threads))
        rows, parts = [], []
        for batch, counts in corpus.batches():
            rows += batch.to_pylist()
            assert (counts.dtype, counts.shape) == (np.int32, (batch.num_rows, len(corpus.terms)))
            assert counts.has_sorted_indices
            parts.append(counts)
        again = [counts.nnz for _, counts in corpus.batches()]  # as often as it is asked for
        assert again == [counts.nnz for counts in parts]
        found = Counts(
            corpus.terms, corpus.cf.tolist(), corpus.df.tolist(), corpus.n_docs, rows,
            sparse.vstack(parts).toarray(), corpus.report,
        )  # fmt: skip
    assert not [f for f in Path.cwd().iterdir() if "spool" in f.name]
    assert found.matrix.sum(axis=0).tolist() == found.cf
    assert (found.matrix > 0).sum(axis=0).tolist() == found.df
    return found


def corpus(texts: list[str | None] = TEXTS, name: str = "x.jsonl") -> Path:
    rows = [{"id": f"d{i}", "text": t, "label": "ab"[i % 2], "n": i} for i, t in enumerate(texts)]
    return write_jsonl(Path(name), rows)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"ngrams": (1, 2)}, {"ngram_range": (1, 2)}),
        ({"min_df": 2, "max_df": 0.7}, {"min_df": 2, "max_df": 0.7}),
        ({"lower": False}, {"lowercase": False}),
        ({"vocab": ("storm", "yak", "boats")}, {"vocabulary": ["storm", "yak", "boats"]}),
        ({"extra_stop_words": frozenset({"the"}), "ngrams": (2, 2)}, {"stop_words": ["the"], "ngram_range": (2, 2)}),
    ],
)
@pytest.mark.parametrize("threads", [1, 8])
def test_the_matrix_of_scikit_learn(ours: dict[str, Any], theirs: dict[str, Any], threads: int) -> None:
    texts = [t or "" for t in TEXTS if t is not None]
    vectorizer = CountVectorizer(**theirs)
    expected = vectorizer.fit_transform(texts).toarray()
    found = count(corpus(), tokenizer="sklearn", threads=threads, **ours)
    assert list(found.terms) == vectorizer.get_feature_names_out().tolist()
    assert (found.matrix.tolist(), found.n_docs) == (expected.tolist(), len(texts))


def test_columns_come_along_in_their_order() -> None:
    found = count(corpus(), columns=("n", "label", "id"))
    assert found.rows == [{"id": f"d{i}", "n": i, "label": "ab"[i % 2]} for i in (0, 2, 3, 4, 5)]
    assert count(corpus()).rows == [{"id": f"d{i}"} for i in (0, 2, 3, 4, 5)]
    with pytest.raises(ColumnError, match="has no column 'labell'"):
        count(corpus(), columns=("labell",))


@settings(repeatable, max_examples=15)
@given(
    batch_rows=st.integers(1, 6),
    threads=st.sampled_from([1, 2, 8]),
    options=st.sampled_from(
        [
            {"ngrams": (1, 3)},
            {"phrase_table": PhraseTable.from_words([("the", "sea"), ("storm", "sea")]), "ngrams": (1, 2)},
            {"language": "en", "stop_words": "auto", "max_vocab": 4},
            {"tokenizer": "chars:2-3"},
        ]
    ),
)
def test_batches_and_threads_do_not_matter(batch_rows: int, threads: int, options: dict[str, Any]) -> None:
    path = corpus(name="many.jsonl", texts=TEXTS * 4)
    found = count(path, batch_rows=batch_rows, threads=threads, **options)
    expected = count(path, batch_rows=100, **options)
    assert (found.terms, found.cf, found.df, found.rows) == (expected.terms, expected.cf, expected.df, expected.rows)
    assert (found.matrix.tolist(), found.report) == (expected.matrix.tolist(), expected.report)


def test_ngrams_of_a_larger_corpus_in_eight_threads() -> None:
    one, eight = (count(NEWS, ngrams=(1, 3), min_df=2, batch_rows=20, threads=n) for n in (1, 8))
    assert (one.terms, one.cf, one.df) == (eight.terms, eight.cf, eight.df)
    assert (one.matrix != eight.matrix).sum() == 0


def test_tokens_that_are_there_give_the_counts_of_their_texts() -> None:
    run_cli("preprocess", corpus(), "--lang", "none", "-qo", "docs.parquet")
    usual = {"stop_words": "auto", "min_df": None}
    made, given_ = count("x.jsonl", columns=("label",)), count("docs.parquet", columns=("label",), **usual)
    assert (made.terms, made.cf, made.df, made.rows) == (given_.terms, given_.cf, given_.df, given_.rows)
    assert made.matrix.tolist() == given_.matrix.tolist()
    assert made.report is not None
    assert given_.report is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"min_df": 5}, "`min_df`: the documents of docs.parquet already have tokens, which"),
        ({"tokenizer": "regex", "pattern": "x"}, "`token_pattern`: the"),
        ({"ngrams": (1, 2), "extra_stop_words": frozenset(["a"])}, "`ngrams`, `stop_words`: the"),
    ],
)
def test_options_that_tokens_which_are_there_would_not_follow(options: dict[str, Any], says: str) -> None:
    run_cli("preprocess", corpus(), "--lang", "none", "-qo", "docs.parquet")
    with pytest.raises(UsageError, match=re.escape(says)):
        count("docs.parquet", **{"stop_words": "auto", "min_df": None, **options})


def test_terms_are_in_the_order_of_code_points_but_for_a_vocabulary() -> None:
    path = corpus(["zebra Über ant 日本 Zoo"])
    assert count(path, lower=False).terms == ("Zoo", "ant", "zebra", "Über", "日本")
    assert count(path, vocab=("zebra", "ant")).terms == ("zebra", "ant")


def test_documents_without_a_term_and_no_documents() -> None:
    found = count(corpus(["", "7 !", None]))
    assert (found.terms, found.n_docs, found.matrix.shape) == ((), 2, (2, 0))
    with pytest.raises(InputError):
        count(corpus([None, None]))
    with pytest.raises(InputError):
        count(corpus(["sea", "sea"]), max_df=1)


# ---------------------------------------------------------------- the steps they share with preprocess


@pytest.mark.parametrize("start", [0, 1, 2])
def test_codes_of_a_column_and_of_its_slices(start: int) -> None:
    batch = EncodedBatch(np.array([0, 2, 2, 5], np.int64), np.array([3, 1, 2, 2, 0], np.int32))
    column = pa.record_batch({"c": codes_array(batch)}).slice(start).column("c")
    found = codes_of(column)
    assert found.offsets.tolist() == [n - batch.offsets[start] for n in batch.offsets[start:]]
    assert found.term_ids.tolist() == batch.term_ids[batch.offsets[start] :].tolist()
    assert (found.offsets.dtype, found.term_ids.dtype) == (np.int64, np.int32)


def test_tokens_replace_those_that_are_there_in_their_place() -> None:
    table = pa.table({"id": ["a", "b"], "text": ["the sea", "boat"], "tokens": [["x"], ["y"]], "label": ["k", "l"]})
    options = PreprocessOptions(language="none", stop_words="none")

    class Stream:
        schema = table.schema
        dropped = ()
        where = "x"
        spool_directory = None

        def __iter__(self) -> Any:
            return iter(table.to_batches(max_chunksize=1))

    documents = encode(Stream(), options, recut=True)
    made = pa.Table.from_batches(list(with_tokens(documents)), tokens_schema(documents.schema, None))
    documents.close()
    assert made.column_names == table.column_names
    assert made["tokens"].to_pylist() == [["the", "sea"], ["boat"]]
    assert documents.fitted is not None
    assert documents.fitted.report.n_tokens == 3


def test_tokens_of_a_table_in_memory() -> None:
    table = pa.table({"text": ["the sea", None, "sea"]})
    tokens, report = tokens_of(table, PreprocessOptions(language="none", stop_words="none", max_df=0.5))
    assert [tokens.terms[i] for i in tokens.term_ids] == ["the"]
    assert tokens.offsets.tolist() == [0, 1, 1, 1]
    assert report is not None
    again, none = tokens_of(table.append_column("tokens", pa.array([["a"], [], ["b"]])), PreprocessOptions())
    assert (again.terms, again.term_ids.tolist(), none) == (("a", "b"), [0, 1], None)
