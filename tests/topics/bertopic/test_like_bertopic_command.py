"""`--like bertopic` beside BERTopic itself: the same topics, words, outliers and probabilities for the same embeddings and random_state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit.errors import MissingError
from nlpkit.topics.bertopic import library
from nlpkit.topics.bertopic.library import by_frequency
from tests.command_line import run_cli

D, E = 240, 12
THEMES = [
    "ship sail wave harbour fish don't", "cloud wing pilot jet runway e-mail", "cow barn wheat tractor hay Käse", "tram street shop square",
]  # fmt: skip


@pytest.fixture(scope="module")
def corpus() -> tuple[list[str], np.ndarray]:
    """Texts with vectors that are not of unit length; some texts are there twice, and some are empty."""
    rng = np.random.default_rng(5)
    kind = np.arange(D) % 4
    noise = np.where(np.arange(D) % 7, 0.3, 2.0)[:, None]
    X = (rng.normal(size=(4, E))[kind] + noise * rng.normal(size=(D, E))).astype(np.float32)
    texts = [
        f"The {' '.join(rng.choice(THEMES[k].split(), 5))}\tno. {i % 30}\nEnd" for i, k in enumerate(kind.tolist())
    ]
    for copy in range(100, 130):
        texts[copy], X[copy] = texts[copy - 4], X[copy - 4]
    texts[17] = texts[42] = ""
    return texts, X


@pytest.fixture
def docs(corpus: tuple[list[str], np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The corpus as a table in a folder, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    texts, X = corpus
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), E)
    pq.write_table(pa.table({"id": [f"d{i}" for i in range(D)], "text": texts, "embedding": vectors}), "docs.parquet")
    return Path("docs.parquet")


def in_bertopic(corpus: tuple[list[str], np.ndarray], seed: int, **options: Any) -> Any:
    """The fitted model of BERTopic, and what it gives for the documents."""
    from bertopic import BERTopic
    from umap import UMAP

    layout = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
    model = BERTopic(umap_model=layout, **options)
    return model, *model.fit_transform(*corpus)


def assert_same(run: str, model: Any, topics: list[int], probabilities: np.ndarray) -> None:
    documents = pq.read_table(f"{run}/documents.parquet")
    assert documents["topic"].to_pylist() == [int(k) for k in topics]
    np.testing.assert_allclose(documents["topic_prob"].to_pylist(), probabilities, atol=1e-7)
    words: dict[int, list[tuple[str, float]]] = {}
    for row in pq.read_table(f"{run}/topic_terms.parquet").to_pylist():
        words.setdefault(row["topic"], []).append((row["term"], row["weight"]))
    assert sorted(words) == sorted(k for k in model.get_topics() if k >= 0)
    for k, found in words.items():
        expected = [pair for pair in model.get_topic(k) if pair[0]]
        assert [word for word, _ in found[:10]] == [word for word, _ in expected]
        np.testing.assert_allclose([w for _, w in found[:10]], [w for _, w in expected], rtol=1e-6)


@pytest.mark.filterwarnings("ignore")  # of umap-learn and pandas inside BERTopic
def test_topics_words_and_outliers_are_those_of_bertopic(corpus: Any, docs: Path) -> None:
    pytest.importorskip("bertopic")
    run_cli("bertopic", docs, "--like", "bertopic", "--seed", "3", "-o", "run")
    model, topics, probabilities = in_bertopic(corpus, 3)
    assert -1 in topics
    assert_same("run", model, topics, probabilities)
    manifest = json.loads(Path("run/manifest.json").read_text())
    assert manifest["parameters"]["cluster"] == "hdbscan"
    assert {"umap-learn", "hdbscan", "scikit-learn"} <= set(manifest["packages"])
    # another random_state, smaller topics, and texts as they are: BERTopic's language is then not "english"
    run_cli(
        "bertopic", docs, "--like", "bertopic", "--random-state", "1", "--min-topic-size", "4", "--min-samples", "2",
        "--language", "none", "-o", "other",
    )  # fmt: skip
    from hdbscan import HDBSCAN

    clusters = HDBSCAN(
        min_cluster_size=4, min_samples=2, metric="euclidean", cluster_selection_method="eom", prediction_data=True
    )
    assert_same("other", *in_bertopic(corpus, 1, language="multilingual", hdbscan_model=clusters))
    differs = run_cli("diff", "run", "other", "--json")
    assert json.loads(differs.out)


def test_a_run_like_bertopic_can_be_edited_and_updated(docs: Path) -> None:
    pytest.importorskip("umap")
    run_cli("bertopic", docs, "--like", "bertopic", "-o", "run")
    before = pq.read_table("run/documents.parquet")["topic"].to_pylist()
    names = pq.read_table("run/topics.parquet")["top_terms"].to_pylist()
    run_cli("edit", "run", "--merge", "1,2", "-o", "merged")
    after = pq.read_table("merged/documents.parquet")["topic"].to_pylist()
    assert len(set(before)) - len(set(after)) == 1
    assert [k < 0 for k in before] == [k < 0 for k in after]  # copies and empty texts keep their topics, too
    assert names[0] in pq.read_table("merged/topics.parquet")["top_terms"].to_pylist() or max(before) < 2
    run_cli("predict", "run", docs, "-o", "predicted.parquet")
    new = pq.read_table(docs).slice(0, 20)
    pq.write_table(new.set_column(0, "id", pa.array([f"n{i}" for i in range(20)])), "new.parquet")
    run_cli("bertopic", "new.parquet", "--update", "run", "-o", "updated")
    assert pq.read_table("updated/documents.parquet")["topic"].to_pylist()[:D] == before


def test_umap_learn_is_a_part_of_other_fits(docs: Path) -> None:
    pytest.importorskip("umap")
    for words in (["--cluster", "hdbscan", "--min-topic-size", "10"], ["--k", "4"]):
        run_cli("bertopic", docs, "--reduce", "umap-learn", *words, "-o", f"run{len(words)}")
        manifest = json.loads(Path(f"run{len(words)}/manifest.json").read_text())
        assert manifest["parameters"]["reduce"] == "umap-learn"


@pytest.mark.parametrize(
    "words",
    [
        ["--cluster", "gmm"], ["--reduce", "pca"], ["--k", "5:9"], ["--ensemble", "3"], ["--grain", "fine"], ["--assign-outliers"],
        ["--fit-sample", "100"], ["--debias", "id"],
    ],
)  # fmt: skip
def test_what_bertopic_has_not_is_refused(words: list[str], docs: Path) -> None:
    refused = run_cli("bertopic", docs, "--like", "bertopic", *words, "-o", "run", code=2).err
    assert words[0] in refused
    assert not Path("run").exists()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wanted", [7, 4, "auto"])
def test_topics_are_merged_as_by_nr_topics(
    wanted: int | str, corpus: Any, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Layout and clusters are planted, so that only what follows them is compared."""
    pytest.importorskip("bertopic")
    import hdbscan
    from bertopic import BERTopic
    from bertopic.cluster import BaseCluster
    from bertopic.dimensionality import BaseDimensionalityReduction

    rng = np.random.default_rng(1)
    planted = np.where(rng.random(D) < 0.1, -1, np.arange(D) % 4 * 2 + rng.integers(0, 2, D))  # halves of the themes

    class Planted(BaseCluster):
        labels_, probabilities_ = planted, np.ones(D)

        def fit(self, X: Any, y: Any = None) -> Planted:
            return self

    model = BERTopic(umap_model=BaseDimensionalityReduction(), hdbscan_model=Planted(), nr_topics=wanted)
    topics, _ = model.fit_transform(*corpus)
    assert max(topics) < 7
    real = hdbscan.HDBSCAN
    monkeypatch.setattr(hdbscan, "HDBSCAN", lambda **k: Planted() if "core_dist_n_jobs" in k else real(**k))
    monkeypatch.setattr(library, "layout", lambda vectors, *_: vectors)
    chosen = ["--grain", "coarse"] if wanted == "auto" else ["--k", str(wanted)]
    run_cli("bertopic", docs, "--like", "bertopic", *chosen, "-o", "run")
    assert_same("run", model, topics, np.ones(D))
    refused = run_cli("bertopic", docs, "--like", "bertopic", "--k", "1", "-o", "r", code=3).err
    assert "--k 1 would leave the outliers alone" in refused


def test_too_few_documents_are_refused(docs: Path) -> None:
    pytest.importorskip("umap")
    for n in (11, 30):
        refused = run_cli(
            "bertopic", docs, "--limit", str(n), "--like", "bertopic", "--min-topic-size", "28", "-o", "r", code=3
        ).err
        assert "--min-topic-size" in refused or "umap-learn cannot" in refused


def test_the_extra_is_named_where_it_is_missing(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "find_spec", lambda name: None if name == "umap" else object())
    with pytest.raises(MissingError, match=r"like=bertopic.*neural"):
        nk.fit_bertopic(nk.read_corpus(str(docs)), like="bertopic")


def test_clusters_of_one_size_are_in_the_order_of_pandas() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    for n_clusters in (1, 3, 40, 300):
        labels = rng.permutation(np.repeat(np.arange(-1, n_clusters), rng.integers(1, 4, n_clusters + 1)))
        sizes = pd.Series(labels).value_counts(sort=False)
        table = pd.DataFrame({"topic": sizes.index, "size": sizes.to_numpy()}).sort_values("size", ascending=False)
        order = [k for k in table["topic"].tolist() if k != -1]
        expected = np.array([order.index(k) if k != -1 else -1 for k in labels.tolist()])
        np.testing.assert_array_equal(by_frequency(labels), expected)
    np.testing.assert_array_equal(by_frequency(np.array([-1, -1])), [-1, -1])
