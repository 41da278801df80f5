"""The bytes of a prediction do not depend on the documents beside it, for every kind of run whose model is no fine-tuned network.

Those are in tests/finetune/training/test_company.py, encoders in tests/embed/test_company.py. Products with dense matrices are
the risk: their last
digits can depend on the number of rows (docs/explanation/reproducibility.md).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nlpkit as nk

pytestmark = pytest.mark.filterwarnings("ignore")
N, COMPANY = 140, (1, 2, 3, 7, 33)
THEMES = ("river boat water fish bank flood", "match goal team player league coach", "court judge law crime trial jury")
Fit = Callable[[Any], Any]
QUICK = {"k": 3}
MODELS: dict[str, Fit] = {
    "lda": lambda corpus: nk.fit_lda(corpus, k=3, sweeps=10),
    "lda-online": lambda corpus: nk.fit_lda_online(corpus, **QUICK),
    "nmf": lambda corpus: nk.fit_nmf(corpus, **QUICK),
    "plsa": lambda corpus: nk.fit_plsa(corpus, **QUICK),
    "gsdmm": lambda corpus: nk.fit_gsdmm(corpus, **QUICK),
    "biterm": lambda corpus: nk.fit_biterm(corpus, **QUICK),
    "hdp": nk.fit_hdp,
    "hlda": nk.fit_hlda,
    "stm": lambda corpus: nk.fit_stm(corpus, k=3, prevalence="label"),
    "slda": lambda corpus: nk.fit_slda(corpus, k=3),
    "labeled-lda": nk.fit_labeled_lda,
    "bertopic": lambda corpus: nk.fit_bertopic(corpus, **QUICK),
    "ctm": lambda corpus: nk.fit_ctm(corpus, k=3, iterations=2),
    "etm": lambda corpus: nk.fit_etm(corpus, k=3, iterations=2),
    "fastopic": lambda corpus: nk.fit_fastopic(corpus, k=3, iterations=2),
}
CLASSIFIERS = [
    *((model, "words") for model in ("nb", "complement-nb", "logreg", "svm", "knn", "centroid", "mlp", "lstm", "cnn")),
    *((model, "embedding") for model in ("logreg", "svm", "knn", "centroid", "mlp", "kan")),
]


@pytest.fixture(scope="module")
def documents() -> pa.Table:
    """Documents of three themes, of 1 to 40 words, with a vector of 384 numbers each."""
    rng = np.random.default_rng(5)
    theme = rng.integers(0, 3, N)
    texts = [" ".join(rng.choice(THEMES[t].split(), rng.integers(1, 41))) for t in theme.tolist()]
    vectors = rng.normal(size=(3, 384))[theme] + 0.5 * rng.normal(size=(N, 384))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return pa.table(
        {
            "id": [f"d{i}" for i in range(N)],
            "text": texts,
            "label": [("river", "sport", "law")[t] for t in theme.tolist()],
            "embedding": pa.FixedSizeListArray.from_arrays(vectors.ravel(), 384),
        }
    )


def stays_the_same(model: Any, documents: pa.Table, folder: Path) -> None:
    """Predict all documents, and parts of them of several sizes, and compare every cell."""

    def rows(start: int) -> list[dict[str, Any]]:
        pq.write_table(documents.slice(start), folder / f"{start}.parquet")
        predicted: list[dict[str, Any]] = model.predict(nk.read_corpus(folder / f"{start}.parquet")).to_pylist()
        return predicted

    whole = rows(0)
    assert len(whole) == N
    for n in COMPANY:
        assert repr(rows(N - n)) == repr(whole[-n:]), n


def corpus_of(documents: pa.Table, folder: Path) -> Any:
    pq.write_table(documents, folder / "all.parquet")
    return nk.read_corpus(folder / "all.parquet")


@pytest.mark.parametrize("name", MODELS)
def test_of_topic_models(name: str, documents: pa.Table, tmp_path: Path) -> None:
    stays_the_same(MODELS[name](corpus_of(documents, tmp_path)), documents, tmp_path)


@pytest.mark.parametrize(("model", "on"), CLASSIFIERS)
def test_of_classifiers(model: str, on: str, documents: pa.Table, tmp_path: Path) -> None:
    fitted = nk.train_classifier(corpus_of(documents, tmp_path), model=model, on=on)
    stays_the_same(fitted, documents, tmp_path)
