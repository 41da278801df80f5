"""Topics that do not mirror a column: the tokens and the embeddings that tell its groups apart go, the others stay."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gamma
from sklearn.metrics import adjusted_mutual_info_score

from nlpkit.errors import InputError
from nlpkit.platform.types import IntArray
from nlpkit.topics.base.guide import _share_that_stays, debiased_tokens, without_groups
from nlpkit.topics.base.options import BertopicOptions
from nlpkit.topics.bertopic.fit import fit_topics
from tests.strategies import planted, token_table


def counts_by(tokens: object, groups: IntArray, G: int) -> np.ndarray:
    """Return the tokens of each group and word (G, V)."""
    group = np.repeat(groups, np.diff(tokens.offsets))  # type: ignore[attr-defined]
    counts = np.zeros((G, tokens.n_terms), int)  # type: ignore[attr-defined]
    np.add.at(counts, (group[group >= 0], tokens.term_ids[group >= 0]), 1)  # type: ignore[attr-defined]
    return counts


@pytest.mark.parametrize("G", [2, 3, 12])
def test_a_word_of_one_group_goes_and_common_words_stay(G: int) -> None:
    rng = np.random.default_rng(G)
    groups = np.arange(40 * G, dtype=np.int32) % G
    documents = [np.concatenate([rng.integers(0, 10, 30), [10] * 5 if g == 0 else []]) for g in groups]
    tokens = token_table(documents, [*"abcdefghij", "signature"])
    result = debiased_tokens(tokens, groups, seed=1)
    before, after = (counts_by(t, groups, G) for t in (tokens, result.tokens))
    assert after[0, 10] < 0.1 * before[0, 10]
    assert after[:, :10].sum() > 0.95 * before[:, :10].sum()
    assert result.information_left < 0.2 * result.information
    assert len(result.tokens.term_ids) == result.kept.sum()
    assert np.array_equal(tokens.term_ids[result.kept], result.tokens.term_ids)


def test_the_share_that_stays_is_the_quantile_over_the_rate() -> None:
    n = np.array([[30.0, 70], [5, 95], [15, 185]])
    g, v = np.indices(n.shape).reshape(2, -1).astype(np.int32)
    shares = _share_that_stays(g, v, n.ravel(), 3, 2).reshape(3, 2)
    mean = 20.5 / 300
    variance = mean * (1 / 100 + 1 / 300) + np.var([0.05, 0.075], ddof=1)
    quantile = gamma.ppf(0.95, mean**2 / variance, scale=variance / mean)
    assert shares[0, 0] == pytest.approx(quantile / 0.3)
    assert shares[0, 1] == shares[1, 0] == 1


def test_the_draw_depends_on_the_seed_alone_and_documents_of_no_group_keep_their_words() -> None:
    corpus = planted([40, 40], seed=2)
    groups = np.where(np.arange(80) < 10, -1, corpus.labels).astype(np.int32)
    first, again, other = (debiased_tokens(corpus.tokens, groups, seed=seed) for seed in (1, 1, 2))
    assert first.kept.tobytes() == again.kept.tobytes() != other.kept.tobytes()
    assert first.kept[: corpus.tokens.offsets[10]].all()
    assert not first.kept.all()


@pytest.mark.parametrize("groups", [[-1] * 4, [0] * 4])
def test_no_groups_to_compare(groups: list[int]) -> None:
    tokens = token_table([[0, 1], [1], [], [0]], ["a", "b"])
    result = debiased_tokens(tokens, np.array(groups, np.int32), seed=1)
    assert result.kept.all()
    assert result.information == result.information_left == 0


def test_topics_of_shifted_sources_are_found_again() -> None:
    """Half of the documents are shifted in one direction, as those of another language are."""
    corpus = planted([60, 50, 40, 30], seed=4, spread=0.6)
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 2, 180).astype(np.int32)
    shift = np.linalg.qr(rng.normal(size=(24, 24)))[0][0] * 1.5
    X = corpus.embeddings + np.where(groups[:, None] == 1, shift, -shift)
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    free = without_groups(X, groups)
    plain, debiased = (
        fit_topics(X, corpus.tokens, corpus.usable, BertopicOptions(k=4), rows=rows).topics for rows in (None, free)
    )
    assert adjusted_mutual_info_score(groups, plain) > 0.3
    assert adjusted_mutual_info_score(groups, debiased) < 0.05
    assert adjusted_mutual_info_score(corpus.labels, debiased) > adjusted_mutual_info_score(corpus.labels, plain) + 0.2


def test_groups_of_chance_move_little_and_documents_of_no_group_stay() -> None:
    X = planted([50, 50], seed=6).embeddings
    groups = np.random.default_rng(3).integers(-1, 3, 100).astype(np.int32)
    moved = without_groups(X, groups)
    assert (np.einsum("de,de->d", X, moved) > 0.99).all()
    assert np.array_equal(moved[groups < 0], X[groups < 0])
    assert np.allclose(np.linalg.norm(moved, axis=1), 1)


def test_groups_of_equal_embeddings_leave_nothing() -> None:
    X = planted([5, 5], seed=2).embeddings[:8]
    with pytest.raises(InputError, match="the documents of each group have the same embedding"):
        without_groups(np.repeat(X, 2, axis=0), np.repeat(np.arange(8, dtype=np.int32), 2))
