"""preprocess, tfidf, stats, kwic, similar_words and info from Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit.errors import UsageError
from nlpkit.text.run import preprocess_plan
from nlpkit.weights.lsa_run import decompose
from nlpkit.weights.run import load_weights, place, weigh

TEXTS = ["The judge spoke to the jury", "The moon and the jury and the judge", "A moon landing, a landing"]
PLAIN = {"language": "none", "stop_words": "none", "min_df": 1}


def test_a_preprocessed_corpus_is_a_corpus_with_tokens() -> None:
    corpus = nk.preprocess(TEXTS, stop_words=("the", "to", "and"), language="none", min_df=1)
    assert corpus.tokens.terms == ("judge", "spoke", "jury", "moon", "landing")
    assert corpus.table()["tokens"].to_pylist()[1] == ["moon", "jury", "judge"]
    assert (corpus.report.n_docs, corpus.report.n_tokens, corpus.dropped) == (3, 9, [])
    assert corpus.head(1)[0]["tokens"] == ["judge", "spoke", "jury"]
    pairs = nk.preprocess(corpus, ngrams=(2, 2), **PLAIN)
    assert pairs.tokens.terms[0] == "the judge"  # the texts are as they were
    assert pairs.result.block["steps"][0]["command"] == "preprocess"
    assert nk.tfidf(corpus).terms == ["judge", "jury", "landing", "moon", "spoke"]  # its tokens are taken


def test_rows_that_go_are_listed_and_a_frame_keeps_its_columns() -> None:
    frame = pa.table({"text": [*TEXTS, TEXTS[0]], "section": ["a", "b", "b", "a"]})
    corpus = nk.preprocess(frame, where="judge|moon", dedupe="exact", **PLAIN)
    assert [(row.id, row.stage) for row in corpus.dropped] == [("row:4", "dedupe")]
    assert corpus.table()["section"].to_pylist() == ["a", "b", "b"]


def test_what_is_saved_is_what_the_command_reads(tmp_path: Path) -> None:
    corpus = nk.preprocess(TEXTS, **PLAIN)
    saved = corpus.save(tmp_path / "docs.parquet", vocab=tmp_path / "v.parquet")
    assert saved == {"rows": 3, "empty": 0, "dropped": 0}
    assert pq.read_table(tmp_path / "docs.parquet")["tokens"].to_pylist() == corpus.table()["tokens"].to_pylist()
    assert pq.read_table(tmp_path / "v.parquet").equals(
        corpus.vocabulary().cast(pq.read_schema(tmp_path / "v.parquet"))
    )
    assert nk.info(tmp_path / "docs.parquet")["kind"] == "documents"


def test_the_plan_names_parameters() -> None:
    plan = preprocess_plan(where="x", lemma="dict", lower=True)
    assert plan[0] == ("filter texts", "keep those that match x", "where")
    assert ("lower=False" in [parameter for _, _, parameter in plan], "lemma" in [p for _, _, p in plan]) == (
        True,
        True,
    )
    with pytest.raises(UsageError) as error:
        preprocess_plan(lemma="dictt")
    assert error.value.parameter == "lemma"
    with pytest.raises(TypeError, match="min_df"):
        nk.preprocess(TEXTS, min_dff=1)


def test_weights_are_a_matrix_that_weighs_new_documents(tmp_path: Path) -> None:
    weights = nk.tfidf(TEXTS, scheme="sklearn", **PLAIN)
    X = weights.matrix
    assert X.shape == (3, len(weights.terms))
    assert np.allclose(np.sqrt((X.toarray() ** 2).sum(axis=1)), 1)
    assert weights.ids.to_pylist() == ["row:1", "row:2", "row:3"]
    assert weights.table().num_rows == X.nnz
    same = weigh(weights, TEXTS)
    assert abs(same.matrix - X).max() == 0
    weights.save(tmp_path / "w.npz")
    loaded = weigh(load_weights(tmp_path / "w.npz"), TEXTS[1:])
    assert loaded.terms == weights.terms
    assert abs(loaded.matrix - X[1:]).max() == 0


def test_features_of_classes_and_a_latent_space(tmp_path: Path) -> None:
    frame = pa.table({"text": TEXTS, "label": ["court", "court", "space"]})
    weights = nk.tfidf(frame, select="chi2:2", **PLAIN)
    features = weights.features()
    assert features is not None
    assert (len(weights.terms), set(features["class"].to_pylist())) == (2, {"court", "space"})
    space = decompose(nk.tfidf(TEXTS, **PLAIN), 2)
    space.save(tmp_path / "lsa")
    placed = place(load_weights(tmp_path / "lsa"), TEXTS).table()
    found = np.stack(placed["lsa"].to_numpy())
    assert np.allclose(found, space.decomposition.documents, atol=1e-5)


def test_statistics_of_groups() -> None:
    frame = pa.table({"text": TEXTS, "label": ["court", "court", "space"]})
    counted = nk.stats(frame, by="label", ngrams=(2,), top=2)
    assert (counted.whole.figures.tokens, [g.name for g in counted.groups]) == (19, ["court", "space"])
    assert counted.table().column_names[:2] == ["class", "term"]
    assert counted.to_dict()["groups"]["space"]["documents"] == 1
    with pytest.raises(UsageError) as error:
        nk.stats(TEXTS, ngrams=(1, 9))
    assert error.value.parameter == "ngrams"


def test_keywords_in_context() -> None:
    hits = nk.kwic(TEXTS, "jur*", glob=True, window=1)
    assert [(row["left"].strip(), row["match"], row["right"].strip()) for row in hits.to_pylist()] == [
        ("the", "jury", ""),
        ("the", "jury", "and"),
    ]


def test_similar_words(tmp_path: Path) -> None:
    pairs = nk.similar_words(["work", "worker"]).table().to_pylist()
    assert (pairs[0]["jaccard"], pairs[0]["levenshtein"]) == (0.5, 2)
    (tmp_path / "words.txt").write_text("worker\nmoon\n")
    near = nk.similar_words(["work"], within=str(tmp_path / "words.txt"), measure="levenshtein", top=1)
    assert near.table()["term"].to_pylist() == ["worker"]
    with pytest.raises(UsageError):
        nk.similar_words(["work"])
