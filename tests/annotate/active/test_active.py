"""Which documents to label next: by hand, against plain versions, and what must hold whatever the points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from nlpkit.annotate.active.curve import learning_curves
from nlpkit.annotate.active.model import Selection, select, uncertainty, unit_rows
from nlpkit.annotate.active.options import STRATEGIES, ActiveCurveOptions, ActiveOptions, check_strategies
from nlpkit.classify.kinds import ModelOptions
from nlpkit.errors import InputError
from tests.refusals import refuses


def drawn(seed: int, D: int = 40, E: int = 5, J: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(D, E)), rng.dirichlet(np.ones(J), D)


def plain_seeding(points: Any, n: int, rng: np.random.Generator, chosen: list[Any], first: int | None) -> list[int]:
    """k-means++ with all distances; chosen: points that are there already."""
    rows: list[int] = []
    for _ in range(n):
        there = [*chosen, *(points[i] for i in rows)]
        if not there:
            rows.append(int(rng.integers(len(points))) if first is None else first)
            continue
        squares = np.array([min(((p - q) ** 2).sum() for q in there) for p in points])
        squares[rows] = 0.0
        u = rng.random() * np.cumsum(squares)[-1]
        rows.append(int(np.flatnonzero(np.cumsum(squares) > u)[0]))
    return rows


def test_uncertainty_by_hand() -> None:
    p = np.array([[0.5, 0.5, 0.0], [0.6, 0.3, 0.1], [1.0, 0.0, 0.0]])
    assert uncertainty(p, "entropy") == pytest.approx([np.log(2), 0.8979457, 0.0])
    assert uncertainty(p, "margin") == pytest.approx([1.0, 0.7, 0.0])
    assert uncertainty(p, "least-confident") == pytest.approx([0.5, 0.4, 0.0])
    assert uncertainty(np.ones((2, 1)), "margin") == pytest.approx([0.0, 0.0])


def test_two_classes_are_in_one_order_by_all_three() -> None:
    q = np.random.default_rng(0).random(30)
    p = np.column_stack((q, 1 - q))
    orders = [
        select(by, 30, 30, rng=np.random.default_rng(1), probabilities=p).rows.tolist()
        for by in ("entropy", "margin", "least-confident")
    ]
    assert orders[0] == orders[1] == orders[2] == np.argsort(np.abs(q - 0.5)).tolist()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("labelled", [0, 3])
def test_diverse_is_the_seeding_of_k_means_plus_plus(seed: int, labelled: int) -> None:
    points, _ = drawn(seed)
    others = np.random.default_rng(9).normal(size=(labelled, 5))
    chosen = select("diverse", 12, 40, rng=np.random.default_rng(seed), points=points, labelled=others)
    assert chosen.rows.tolist() == plain_seeding(points, 12, np.random.default_rng(seed), list(others), None)
    assert np.isnan(chosen.scores[0]) == (labelled == 0)


@pytest.mark.parametrize("seed", range(4))
def test_badge_is_the_seeding_on_the_outer_products(seed: int) -> None:
    points, p = drawn(seed)
    a = p - np.eye(3)[p.argmax(axis=1)]
    gradients = (a[:, :, None] * points[:, None, :]).reshape(40, -1)
    first = int((gradients**2).sum(axis=1).argmax())
    chosen = select("badge", 12, 40, rng=np.random.default_rng(seed), probabilities=p, points=points)
    assert chosen.rows.tolist() == plain_seeding(gradients, 12, np.random.default_rng(seed), [], first)
    assert chosen.scores[0] == pytest.approx(np.linalg.norm(gradients[first]))


def test_core_set_takes_the_farthest() -> None:
    points = np.array([[0.0], [1.0], [10.0], [4.0], [9.5]])
    chosen = select("core-set", 3, 5, rng=np.random.default_rng(0), points=points, labelled=np.array([[0.0]]))
    assert chosen.rows.tolist() == [2, 3, 1]  # 10; 4 from both; 1
    assert chosen.scores == pytest.approx([10, 4, 1])


@pytest.mark.parametrize("by", STRATEGIES)
def test_every_strategy_gives_each_document_once_and_the_same_for_the_same_seed(by: str) -> None:
    points, p = drawn(5)
    for matrix in (points, sparse.csr_array(points)):
        runs = [select(by, 40, 40, rng=np.random.default_rng(3), probabilities=p, points=matrix) for _ in range(2)]
        assert sorted(runs[0].rows.tolist()) == list(range(40))
        assert runs[0].rows.tolist() == runs[1].rows.tolist()


@pytest.mark.parametrize("by", ["diverse", "core-set", "badge"])
def test_equal_points_and_zeros_are_each_chosen_once(by: str) -> None:
    for points in (np.zeros((6, 3)), np.ones((6, 3), np.float32), sparse.csr_array((6, 3))):
        p = np.full((6, 2), 0.5)
        chosen = select(by, 6, 6, rng=np.random.default_rng(0), probabilities=p, points=points)
        assert sorted(chosen.rows.tolist()) == list(range(6))


def test_equally_uncertain_documents_come_in_an_order_that_is_drawn() -> None:
    """Before a classifier knows two classes all are equal: the first of the corpus would be no choice."""
    p = np.ones((50, 1))
    rows = select("entropy", 50, 50, rng=np.random.default_rng(0), probabilities=p).rows.tolist()
    assert rows != list(range(50))


def test_rows_of_length_one() -> None:
    points = np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)
    for matrix in (points, sparse.csr_array(points)):
        units = unit_rows(matrix)
        dense = units.toarray() if sparse.issparse(units) else units
        assert dense == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))


def test_more_documents_than_there_are_and_unknown_names() -> None:
    with refuses(None, InputError):
        select("random", 3, 2, rng=np.random.default_rng(0))
    with refuses("by"):
        select("coreset", 1, 2, rng=np.random.default_rng(0))
    with refuses("by"):
        check_strategies(["margin", "margin"])
    assert check_strategies(["all"]) == STRATEGIES


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"by": "entropy"}, "by"),
        ({"by": "badge"}, "by"),
        ({"labels": "a,b"}, "labels"),
        ({"page": "p.html"}, "labels"),
        ({"page": "p.html", "labels": "a"}, "labels"),
        ({"page": "p.html", "labels": "a,a"}, "labels"),
        ({"vectors": "words"}, "vectors"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], parameter: str) -> None:
    with refuses(parameter):
        ActiveOptions(**options)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"model": "nb"}, "model"),
        ({"model": "svm"}, "model"),
        ({"test_share": 1.0}, "test_share"),
        ({"cost": 0.0}, "cost"),
        ({"by": "best"}, "by"),
    ],
)
def test_comparisons_that_cannot_be(options: dict[str, Any], parameter: str) -> None:
    with refuses(parameter):
        ActiveCurveOptions(**options)


def two_moons(D: int = 120) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = (np.arange(D) % 2).astype(np.int32)
    return rng.normal(size=(D, 4)) + 2 * y[:, None], y


def curves(points: Any, y: Any, J: int, **settings: Any) -> Any:
    chosen = {"rounds": 3, "batch_size": 6, "seeds": 2, "test_share": 0.3, "seed": 0, **settings}
    return learning_curves(points, y, J, ("random", "margin", "badge"), ModelOptions("logreg"), **chosen)


def test_all_strategies_begin_alike_and_random_has_no_gain() -> None:
    points, y = two_moons()
    compared = curves(points, y, 2)
    assert compared.sizes.tolist() == [6, 12, 18]
    assert (compared.n_pool, compared.n_test) == (84, 36)
    assert (compared.scores[:, 0] == compared.scores[:1, 0]).all()
    rows = compared.rows(0.95)
    assert [row["by"] for row in rows] == ["random"] * 3 + ["margin"] * 3 + ["badge"] * 3
    assert rows[0]["accuracy_gain"] is None
    assert rows[3]["accuracy_gain"] == rows[3]["accuracy_gain_low"] == 0.0
    values = compared.scores[1, 2, :, 0]
    half = 12.706205 * abs(values[0] - values[1]) / 2  # t of one degree of freedom
    assert (rows[5]["accuracy_low"], rows[5]["accuracy_high"]) == pytest.approx(
        (max(values.mean() - half, 0), min(values.mean() + half, 1))
    )
    assert max(row["accuracy_high"] for row in rows) == 1  # by t alone it is above
    assert min(row["macro_f1_low"] for row in rows) >= 0
    assert compared.rows(None)[3]["accuracy_low"] is None
    again = curves(sparse.csr_array(points), y, 2, threads=2)
    assert again.scores == pytest.approx(compared.scores, abs=0.1)


def test_a_class_that_is_not_labelled_yet_is_not_predicted_and_one_class_is_no_comparison() -> None:
    points, y = two_moons(60)
    rare = np.where(np.arange(60) == 59, 2, y).astype(np.int32)
    assert np.isfinite(curves(points, rare, 3, seeds=1).scores).all()
    assert np.isfinite(curves(points, rare, 3, seeds=1, batch_size=1).scores).all()  # the first knows one class
    with refuses(None, InputError):
        curves(points, np.zeros(60, np.int32), 1)
    with refuses("rounds", InputError):
        curves(points, y, 2, rounds=30)
    with refuses("rounds", InputError):
        curves(points[:1], y[:1], 2)


def test_a_selection_says_where_and_how_much() -> None:
    chosen = select(
        "margin", 2, 3, rng=np.random.default_rng(0), probabilities=np.array([[0.9, 0.1], [0.5, 0.5], [0.7, 0.3]])
    )
    assert isinstance(chosen, Selection)
    assert chosen.rows.tolist() == [1, 2]
    assert chosen.scores == pytest.approx([1.0, 0.6])
