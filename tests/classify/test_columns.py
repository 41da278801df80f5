"""Columns of a table as features: by hand, and as scikit-learn makes them."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nlpkit.classify.features import ColumnCounts, ColumnFeatures, tells_labels
from nlpkit.classify.files import columns_from, columns_table
from nlpkit.errors import ColumnError

TRAIN = pa.table(
    {"x": [1.0, 3.0, None, 5.0], "who": ["b", "a", None, "b"], "same": [2, 2, 2, 2], "yes": [True, False, True, True]}
)


def test_by_hand() -> None:
    fitted = ColumnFeatures.fit(TRAIN)
    assert fitted.names == ["x", "x is missing", "who=a", "who=b", "who is missing", "same", "yes"]
    new = pa.table({"x": [3.0, None], "who": ["c", "b"], "same": [3, 2], "yes": [None, True]})
    counts = ColumnCounts()
    deviation, share = np.sqrt(8 / 3), np.sqrt(3 / 16)  # of 1, 3, 5; of three of four
    expected = [[0, 0, 0, 0, 0, 0, 0], [0, 1, 0, 1, 0, 0, 0.25 / share]]
    assert fitted.encode(new, counts).toarray() == pytest.approx(np.array(expected))
    assert counts == ColumnCounts({"x": 1, "yes": 1}, {"who": 1})
    assert fitted.encode(TRAIN).toarray()[0, 0] == pytest.approx(-2 / deviation)


def test_as_scikit_learn() -> None:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rng = np.random.default_rng(3)
    x = rng.normal(5, 3, 200)
    x[::7] = np.nan
    who = rng.choice(list("abcd"), 200)
    train, new = slice(0, 120), slice(120, 200)
    who[150:160] = "never seen"
    table = pa.table({"x": pa.array(x, from_pandas=True), "who": who})
    frame = table.to_pandas()
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    theirs = ColumnTransformer(
        [("n", numbers, ["x"]), ("c", OneHotEncoder(handle_unknown="ignore"), ["who"])], sparse_threshold=0
    )
    theirs.fit(frame[train])
    fitted = ColumnFeatures.fit(table.slice(0, 120))
    ours = fitted.encode(table.slice(120)).toarray()
    kept = [i for i, name in enumerate(fitted.names) if name != "x is missing"]
    # scikit-learn takes the deviation after the means are put in, we that of the values there are
    present = float(np.mean(~np.isnan(x[train])))
    ours[:, 0] /= np.sqrt(present)
    assert ours[:, kept] == pytest.approx(theirs.transform(frame[new]))


def test_texts_are_read_as_the_numbers_they_were() -> None:
    fitted = ColumnFeatures.fit(pa.table({"x": [1, 2, 3]}))
    new = pa.table({"x": pa.array(["2", " ", "3.0 ", None])})
    assert fitted.encode(new).toarray()[:, 0] == pytest.approx([0, 0, np.sqrt(3 / 2), 0])
    with pytest.raises(ColumnError, match="column 'x' held numbers in the training documents and holds 'many' here"):
        fitted.encode(pa.table({"x": ["2", "many"]}))
    categories = ColumnFeatures.fit(pa.table({"x": ["1", "2"]}))
    assert categories.encode(pa.table({"x": [1.0, 2.0]})).toarray().tolist() == [[1, 0], [0, 1]]


def test_infinite_and_absent_values_are_missing() -> None:
    fitted = ColumnFeatures.fit(pa.table({"x": [np.inf, 1.0, np.nan], "none": pa.nulls(3)}))
    assert fitted.names == ["x", "x is missing", "none is missing"]
    assert np.isfinite(fitted.encode(pa.table({"x": [-np.inf], "none": ["a"]})).toarray()).all()


@pytest.mark.parametrize("values", [[[1], [2]], [{"a": 1}], [date(2020, 1, 1)]])
def test_columns_that_are_no_features(values: Any) -> None:
    with pytest.raises(ColumnError, match=r"column 'x' holds .*A feature column needs numbers"):
        ColumnFeatures.fit(pa.table({"x": pa.array(values)}))


def test_written_and_read_again() -> None:
    table = pa.table({**{name: TRAIN.column(name) for name in TRAIN.column_names}, "none": pa.nulls(4, pa.string())})
    fitted = ColumnFeatures.fit(table)
    assert columns_from(columns_table(fitted)) == fitted
    never = ColumnFeatures.fit(pa.table({"a": pa.array([], pa.string())}))
    assert columns_from(columns_table(never)) == never


def test_columns_that_tell_the_label() -> None:
    labels = ["pos", "neg", "pos", "neg", "pos", "neg", None, "pos"]
    assert tells_labels(pa.array(["p", "n", "p", "n", "p", "n", "x", "p"]), labels)
    assert (
        tells_labels(pa.array([9, 1, 8, 1, 9, 2, 9, 8]), [*labels[:-1], "pos"]) is False
    )  # more than one for two documents
    assert tells_labels(pa.array([9, 1, 8, 1, 9, 1, 9, 8]), labels)
    assert not tells_labels(pa.array(["p", "p", "p", "n", "p", "n", "x", "p"]), labels)
    assert not tells_labels(pa.array(list("abcdefgh")), labels)
    assert not tells_labels(pa.array(["a"] * 8), ["pos"] * 8)
