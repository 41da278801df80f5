"""The prepared data of pyLDAvis: by hand, against pyLDAvis where it is installed, and with our numbers of topics."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.errors import OutputExistsError, UsageError
from nlpkit.topics.export import pyldavis
from nlpkit.topics.export.pyldavis import prepared_data, topic_map, write_pyldavis
from tests.strategies import repeatable

# η = 1: φ = (3, 1, 2)/6 and (1, 4, 1)/6; α = 1: θ = (3, 2)/5 and (2, 3)/5, so 3 tokens a topic and (4, 5, 3)/2 a term
TOPIC_TERM = np.array([[2, 0, 1], [0, 3, 0]])
DOC_TOPIC = np.array([[2, 1], [1, 2]])


def prepare(topic_term: Any = TOPIC_TERM, doc_topic: Any = DOC_TOPIC, **options: Any) -> dict[str, Any]:
    K, V = np.shape(topic_term)
    given_options = {"alpha": np.ones(K), "eta": 1.0, "terms": [f"t{v}" for v in range(V)], **options}
    return prepared_data(sparse.csr_array(topic_term), sparse.csr_array(doc_topic), **given_options)


def rows(table: dict[str, Any], **wanted: Any) -> list[tuple[Any, ...]]:
    """The rows of a table where a column has a value, without that column."""
    ((name, value),) = wanted.items()
    others = [column for column in table if column != name]
    return [tuple(table[column][i] for column in others) for i in range(len(table[name])) if table[name][i] == value]


def test_bars_by_hand() -> None:
    found = prepare()["tinfo"]
    assert list(found) == ["Term", "Freq", "Total", "Category", "logprob", "loglift"]
    # saliencies: t1 5/12 (.2 ln .4 + .8 ln 1.6) = .080, t0 1/3 (.75 ln 1.5 + .25 ln .5) = .044, t2 1/4 (…) = .014
    assert rows(found, Category="Default") == [("t1", 2, 2, 3, 3), ("t0", 2, 2, 2, 2), ("t2", 1, 1, 1, 1)]
    expected = [
        ("t0", 1.5, 2.0, math.log(1 / 2), math.log(3 / 2)),
        ("t2", 1.0, 1.5, math.log(1 / 3), math.log(4 / 3)),
        ("t1", 0.5, 2.5, math.log(1 / 6), math.log(2 / 5)),
    ]
    for row, wanted in zip(rows(found, Category="Topic0"), expected, strict=True):
        assert row[0] == wanted[0]
        np.testing.assert_allclose(row[1:3], wanted[1:3])
        assert list(row[3:]) == [round(x, 4) for x in wanted[3:]]


def test_shares_of_a_term_by_hand() -> None:
    # tokens (1.5, 0.5, 1) and (0.5, 2, 0.5), of half a token or more, rounded (halves to even) over the total
    found = prepare()["token.table"]
    np.testing.assert_allclose(rows(found, Term="t0"), [(1, 2 / 2), (2, 0 / 2)])
    np.testing.assert_allclose(rows(found, Term="t1"), [(1, 0 / 2.5), (2, 2 / 2.5)])
    np.testing.assert_allclose(rows(found, Term="t2"), [(1, 1 / 1.5), (2, 0 / 1.5)])


def test_map_by_hand() -> None:
    p, q = np.array([3, 1, 2]) / 6, np.array([1, 4, 1]) / 6
    middle = (p + q) / 2
    distance = (p @ np.log(p / middle) + q @ np.log(q / middle)) / 2
    x, y = topic_map(sparse.csr_array(TOPIC_TERM), 1.0)
    assert sorted(x) == pytest.approx([-distance / 2, distance / 2])
    assert y == pytest.approx([0.0, 0.0], abs=1e-8)


def test_the_numbers_that_are_shown_are_ours() -> None:
    counts = np.array([[1, 0, 0], [0, 9, 9], [5, 5, 0]])  # topic 0 is the smallest: others would make it the last
    found = prepare(counts, [[1, 0, 0], [0, 18, 10]])
    assert (found["mdsDat"]["topics"], found["topic.order"]) == ([0, 1, 2], [0, 1, 2])
    assert rows(found["tinfo"], Category="Topic0")[0][0] == "t0"
    assert sorted(set(found["tinfo"]["Category"])) == ["Default", "Topic0", "Topic1", "Topic2"]
    assert found["mdsDat"]["Freq"][0] == min(found["mdsDat"]["Freq"])
    assert sum(found["mdsDat"]["Freq"]) == pytest.approx(100)
    # LDAvis looks up the circle by radius[Topic - 1]
    assert set(found["token.table"]["Topic"]) == {1, 2, 3}


def test_one_topic_one_term_and_an_empty_topic() -> None:
    alone = prepare([[3]], [[3]])
    assert alone["mdsDat"]["x"].tolist() == alone["mdsDat"]["y"].tolist() == [0.0]
    assert alone["R"] == 1
    empty = prepare([[3, 1], [0, 0]], [[4, 0]])
    assert [row[0] for row in rows(empty["tinfo"], Category="Topic1")] == ["t0", "t1"]
    assert all(np.isfinite(empty["mdsDat"][axis]).all() for axis in "xy")


@repeatable
@given(st.data())
def test_terms_are_those_of_highest_relevance_for_some_lambda(data: st.DataObject) -> None:
    K, V = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 9))
    cell = st.one_of(st.just(0), st.just(0), st.integers(0, 6))
    counts = np.array(data.draw(st.lists(st.lists(cell, min_size=V, max_size=V), min_size=K, max_size=K)))
    counts[0, 0] += 1  # at least one token
    n, eta = data.draw(st.integers(1, 6)), data.draw(st.sampled_from([0.01, 1.0, 5.0]))
    documents = counts.sum(axis=1)[None]
    found = prepare(counts, documents, eta=eta, n=n, lambda_step=0.1)
    phi = (counts + eta) / (counts + eta).sum(axis=1, keepdims=True)
    theta = (documents + 1) / (documents + 1).sum()
    total = (documents.sum() * theta[0]) @ phi
    for k in range(K):
        listed = {int(row[0][1:]) for row in rows(found["tinfo"], Category=f"Topic{k}")}
        reasons: set[int] = set()
        for weight in np.linspace(0, 1, 11):
            relevance = weight * np.log(phi[k]) + (1 - weight) * np.log(phi[k] / (total / total.sum()))
            least = np.sort(relevance)[::-1][min(n, V) - 1]
            assert set(np.flatnonzero(relevance > least + 1e-9)) <= listed
            assert sum(relevance[v] >= least - 1e-9 for v in listed) >= min(n, V)
            reasons |= set(np.flatnonzero(relevance >= least - 1e-9))
        assert listed <= reasons


def test_a_model_without_tokens_is_refused() -> None:
    with pytest.raises(UsageError, match="no token"):
        prepare([[0, 0]], [[0]])


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    counts, documents = rng.poisson(0.7, (5, 60)), rng.poisson(2, (20, 5))
    whole = prepare(counts, documents, n=4)
    monkeypatch.setattr(pyldavis, "_CELLS", 1)
    small = prepare(counts, documents, n=4)
    for name in ("tinfo", "token.table"):
        for column in whole[name]:
            np.testing.assert_array_equal(small[name][column], whole[name][column])


def test_written_as_json(tmp_path: Path) -> None:
    path = tmp_path / "vis.json"
    options = {"alpha": np.ones(2), "eta": 1.0}
    matrices = (sparse.csr_array(TOPIC_TERM), sparse.csr_array(DOC_TOPIC))
    write_pyldavis(path, *matrices, ["</script>", "ä", '"'], **options)
    found = json.loads(path.read_text(encoding="utf-8"))
    assert list(found) == ["mdsDat", "tinfo", "token.table", "R", "lambda.step", "plot.opts", "topic.order"]
    assert list(found["mdsDat"]) == ["x", "y", "topics", "cluster", "Freq"]
    assert set(found["tinfo"]["Term"]) == {"</script>", "ä", '"'}
    with pytest.raises(OutputExistsError):
        write_pyldavis(path, *matrices, ["a", "b", "c"], **options)
    first = path.read_bytes()
    write_pyldavis(path, *matrices, ["</script>", "ä", '"'], **options, force=True)
    assert path.read_bytes() == first


@pytest.mark.parametrize("options", [{"eta": 0.0}, {"alpha": np.array([1.0, 0.0])}, {"alpha": np.ones(3)}, {"n": 0}])
@pytest.mark.parametrize("more", [{}, {"lambda_step": 2.0}])
def test_options_that_cannot_be_meant(options: Any, more: Any) -> None:
    with pytest.raises(UsageError):
        prepare(**options, **more)
    with pytest.raises(UsageError, match="2 terms"):
        prepare(terms=["a", "b"])


@pytest.mark.parametrize(("K", "V", "eta"), [(4, 60, 0.1), (6, 200, 2.0), (3, 20, 0.01)])
def test_numbers_are_those_of_pyldavis(K: int, V: int, eta: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = pytest.importorskip("pyLDAvis")
        pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(K)
    counts = rng.poisson(rng.gamma(0.3, 3, (K, V)))
    documents = rng.poisson(2, (30, K)) + np.eye(30, K, dtype=int)
    alpha, terms = rng.uniform(0.1, 1, K), [f"t{v:03d}" for v in range(V)]
    phi = (counts + eta) / (counts + eta).sum(axis=1, keepdims=True)
    theta = (documents + alpha) / (documents + alpha).sum(axis=1, keepdims=True)
    ours = prepare(counts, documents, alpha=alpha, eta=eta, terms=terms)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = reference.prepare(
            phi, theta, documents.sum(axis=1), terms, counts.sum(axis=0), sort_topics=False, start_index=0, n_jobs=1
        )
    ours = json.loads(json.dumps(ours, default=lambda x: x.tolist()))
    tinfo = pd.DataFrame(ours["tinfo"])
    for category in tinfo["Category"].unique():
        mine = tinfo[tinfo["Category"] == category].sort_values("Term").set_index("Term")
        other = theirs.topic_info[theirs.topic_info["Category"] == category].sort_values("Term").set_index("Term")
        assert mine.index.tolist() == other.index.tolist()
        # among equally salient terms the order is chance there
        columns = ["Freq", "Total"] if category == "Default" else ["Freq", "Total", "logprob", "loglift"]
        np.testing.assert_allclose(mine[columns], other[columns], rtol=1e-9)
    np.testing.assert_array_equal(ours["token.table"]["Topic"], theirs.token_table["Topic"] + 1)
    np.testing.assert_array_equal(ours["token.table"]["Term"], theirs.token_table["Term"])
    np.testing.assert_allclose(ours["token.table"]["Freq"], theirs.token_table["Freq"], rtol=1e-9)
    np.testing.assert_allclose(ours["mdsDat"]["Freq"], theirs.topic_coordinates["Freq"], rtol=1e-9)
    for axis in "xy":
        np.testing.assert_allclose(np.abs(ours["mdsDat"][axis]), np.abs(theirs.topic_coordinates[axis]), atol=1e-9)
    assert ours["topic.order"] == theirs.topic_order
    data = reference.PreparedData(
        *(pd.DataFrame(ours[name]) for name in ("mdsDat", "tinfo", "token.table")),
        *(ours[name] for name in ("R", "lambda.step", "plot.opts", "topic.order")),
    )
    assert '"Topic0"' in reference.prepared_data_to_html(data)
    assert data.sorted_terms(topic=1, _lambda=1.0)["Term"].iloc[0] == terms[int(np.argmax(phi[1]))]
