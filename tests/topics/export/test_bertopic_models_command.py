"""Models that BERTopic itself saved, read as runs: the same topics, words and predictions, with the documents of the fit and without."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit.errors import InputError
from tests.command_line import run_cli

pytest.importorskip("bertopic")
D, E = 160, 16
THEMES = [
    "ship sail wave harbour fish",
    "cloud wing pilot jet runway",
    "cow barn wheat tractor hay",
    "tram street shop square crowd",
]
NEW = [f"new text {i}" for i in range(60)]


def table_of(ids: list[str], texts: list[str], vectors: np.ndarray, **columns: list[Any]) -> pa.Table:
    listed = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel(), pa.float32()), E)
    return pa.table({"id": ids, "text": texts, **columns, "embedding": listed})


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of one corpus, their documents, new documents, and what BERTopic's transform of the loaded models gives these."""
    from bertopic import BERTopic
    from bertopic.vectorizers import ClassTfidfTransformer
    from hdbscan import HDBSCAN
    from sklearn.decomposition import PCA
    from sklearn.feature_extraction.text import CountVectorizer

    folder, rng = tmp_path_factory.mktemp("bertopic"), np.random.default_rng(0)
    centres = rng.normal(size=(4, E))
    kind = np.arange(D) % 4
    noise = np.where(np.arange(D) % 9, 0.25, 2.5)[:, None]
    X = (centres[kind] + noise * rng.normal(size=(D, E))).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    texts = [f"the {' and '.join(rng.choice(THEMES[k].split(), 4))} no. {i}" for i, k in enumerate(kind.tolist())]
    months = (1 + np.arange(D) % 12).tolist()
    pq.write_table(table_of([f"d{i}" for i in range(D)], texts, X, month=months), folder / "docs.parquet")
    Y = rng.normal(size=(len(NEW), E)).astype(np.float32)
    pq.write_table(table_of([f"n{i}" for i in range(len(NEW))], NEW, Y), folder / "new.parquet")

    def fit(**options: Any) -> Any:
        clusters = HDBSCAN(min_cluster_size=5)
        return BERTopic(umap_model=PCA(5, random_state=0), hdbscan_model=clusters, **options).fit(texts, X)

    def save(model: Any, name: str, **options: Any) -> None:
        model.save(str(folder / name), serialization="safetensors", **options)

    plain = fit()
    save(plain, "plain", save_ctfidf=True)
    save(plain, "bare", save_embedding_model=False)
    save(plain, "named", save_ctfidf=True, save_embedding_model="nobody/no-such-model")
    plain.save(str(folder / "pickled"))
    plain.save(str(folder / "torch"), serialization="pytorch")
    plain.topics_over_time(texts, months)
    plain.set_topic_labels(["Outside", "On the sea", "In town", "On the farm", "In the air"])
    save(plain, "labelled", save_ctfidf=True)
    weights = ClassTfidfTransformer(bm25_weighting=True, reduce_frequent_words=True)
    reduced = fit(
        nr_topics=4, ctfidf_model=weights, vectorizer_model=CountVectorizer(stop_words="english", ngram_range=(1, 2))
    )
    save(reduced, "reduced", save_ctfidf=True)
    given = {}
    for name in ("plain", "bare", "labelled", "reduced"):
        topics, cosines = BERTopic.load(str(folder / name)).transform(NEW, Y)
        given[name] = {"topics": np.asarray(topics).tolist(), "cosines": np.asarray(cosines, float).tolist()}
    (folder / "transform.json").write_text(json.dumps(given))
    return folder


@pytest.fixture
def models(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the models, in which the commands run."""
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def representations(name: str) -> dict[int, list[tuple[str, float]]]:
    listed = json.loads(Path(name, "topics.json").read_text())["topic_representations"]
    return {int(k): [(word, weight) for word, weight in pairs if word] for k, pairs in listed.items()}


def words_of(run: str) -> dict[int, list[tuple[str, float]]]:
    words: dict[int, list[tuple[str, float]]] = {}
    for row in pq.read_table(f"{run}/topic_terms.parquet").to_pylist():
        words.setdefault(row["topic"], []).append((row["term"], row["weight"]))
    return words


@pytest.mark.parametrize("with_documents", [False, True])
@pytest.mark.parametrize("name", ["plain", "bare", "labelled", "reduced"])
def test_a_saved_model_has_the_topics_words_and_predictions_of_bertopic(
    name: str, with_documents: bool, models: Path
) -> None:
    given = json.loads(Path(name, "topics.json").read_text())
    documents = ["--documents", "docs.parquet"] if with_documents else []
    said = run_cli("convert", name, *documents, "-o", "run").err
    assert f"model of BERTopic: {len(given['topic_sizes']) - 1} topics, {D} documents" in said
    table = pq.read_table("run/documents.parquet")
    assert table["topic"].to_pylist() == given["topics"]
    assert table["id"].to_pylist() == [f"d{i}" if with_documents else f"{name}:{i + 1}" for i in range(D)]
    words, expected = words_of("run"), representations(name)
    assert sorted(words) == sorted(k for k in expected if k >= 0)
    for k, found in words.items():
        assert [word for word, _ in found] == [word for word, _ in expected[k]]
        np.testing.assert_allclose([w for _, w in found], [w for _, w in expected[k]], rtol=1e-6)
    labels = pq.read_table("run/topics.parquet")["label"].to_pylist()
    assert (labels == given["custom_labels"][1:]) if name == "labelled" else (labels[0].count(", ") == 2)
    run_cli("predict", "run", "new.parquet", "-o", "predicted.parquet")
    predicted, transform = pq.read_table("predicted.parquet"), json.loads(Path("transform.json").read_text())[name]
    topics = np.array(predicted["topic"].to_pylist())
    assert topics.tolist() == transform["topics"]
    assert 0 < (topics < 0).sum() < len(topics)
    inside = topics >= 0
    cosines = np.clip(np.array(transform["cosines"])[inside], 0, 1)
    np.testing.assert_allclose(np.array(predicted["topic_prob"].to_pylist())[inside], cosines, atol=1e-6)


def test_a_run_of_a_model_alone_works_with_the_tools(models: Path) -> None:
    run_cli("convert", "plain", "-o", "run")
    tools = [
        ("info", "run"), ("topics", "run"), ("report", "run", "-o", "page.html"), ("plot", "run", "similarity", "-o", "s.png"),
        ("plot", "run", "wordcloud", "--topic", "0", "-o", "w.png"), ("export", "run", "-o", "run.xlsx"),
        ("convert", "run", "-o", "topics.csv"), ("edit", "run", "--rename", "0=Ships", "-o", "renamed"),
    ]  # fmt: skip
    for words in tools:
        run_cli(*words)
    assert pq.read_table("renamed/topics.parquet")["label"][0].as_py() == "Ships"
    run_cli("predict", "renamed", "new.parquet", "-o", "again.parquet")
    alone = json.loads(run_cli("evaluate", "run", "--json").out)
    assert "silhouette" not in json.dumps(alone)
    counted = json.loads(run_cli("evaluate", "run", "--reference", "docs.parquet", "--json", "--npmi").out)
    assert "npmi" in json.dumps(counted)
    refused = run_cli("edit", "run", "--merge", "0,1", "-o", "merged", code=3).err
    assert "--documents CORPUS" in refused
    refused = run_cli("plot", "run", "map", "-o", "m.png", code=None).err
    assert "does not store the vectors" in refused


def test_a_run_with_its_documents_works_with_the_tools(models: Path) -> None:
    run_cli("convert", "plain", "--documents", "docs.parquet", "-o", "run")
    tools = [
        ("info", "run", "--tree"), ("evaluate", "run", "--npmi"), ("report", "run", "-o", "page.html"),
        ("plot", "run", "map", "--layout", "umap-learn", "-o", "m.png"),
        ("edit", "run", "--merge", "0,1", "-o", "merged"), ("edit", "run", "--split", "0=2", "-o", "split"), ("diff", "run", "merged"),
        ("topics", "run", "--by", "month"), ("bertopic", "new.parquet", "--update", "run", "-o", "updated"),
    ]  # fmt: skip
    for words in tools:
        run_cli(*words)
    before, after = words_of("run"), words_of("merged")
    sizes = [pq.read_table(f"{name}/topics.parquet")["size"].to_pylist() for name in ("run", "merged")]
    assert sorted(sizes[1]) == sorted([sizes[0][0] + sizes[0][1], *sizes[0][2:]])
    # a topic that is not merged keeps its first words: they are c-tf-idf by BERTopic's formula again
    assert {before[2][0][0], before[3][0][0]} <= {words[0][0] for words in after.values()}
    run_cli("predict", "merged", "new.parquet", "-o", "predicted.parquet")


@pytest.mark.parametrize("with_documents", [False, True])
def test_the_round_trip_gives_the_model_back(with_documents: bool, models: Path) -> None:
    from bertopic import BERTopic

    run_cli("convert", "labelled", *(["--documents", "docs.parquet"] if with_documents else []), "-o", "run")
    run_cli("export", "run", "--to", "bertopic", "-o", "back")
    first, back = BERTopic.load("labelled"), BERTopic.load("back")
    assert back.topics_ == first.topics_
    assert back.custom_labels_[1:] == first.custom_labels_[1:]
    assert [w for w, _ in back.get_topic(0)] == [w for w, _ in first.get_topic(0)]
    np.testing.assert_array_equal(back.topic_embeddings_, first.topic_embeddings_)
    run_cli("convert", "back", "-o", "again")
    assert pq.read_table("again/documents.parquet")["topic"].to_pylist() == first.topics_


def test_a_model_alone_becomes_other_formats(models: Path) -> None:
    run_cli("convert", "plain", "-o", "topics.csv")
    run_cli("convert", "plain", "-o", "topics.txt")
    assert Path("topics.txt").read_text().split()[0] == representations("plain")[0][0][0]
    assert json.loads(run_cli("convert", "plain", "-o", "run", "--json").out) == {
        "output": "run",
        "to": "run",
        "n_topics": 4,
    }


def test_the_encoder_of_a_model(models: Path) -> None:
    run_cli("convert", "named", "-o", "named-run")
    Path("texts.txt").write_text("a ship\n", newline="\n")
    assert (
        "nobody/no-such-model"
        in run_cli("predict", "named-run", "texts.txt", "--offline", "-o", "p.parquet", code=4).err
    )
    run_cli("predict", "named-run", "new.parquet", "-o", "p.parquet")  # its column of vectors needs no encoder
    run_cli("convert", "bare", "-o", "bare-run")
    assert (
        "give the new documents a column 'embedding'"
        in run_cli("predict", "bare-run", "texts.txt", "-o", "q.parquet", code=3).err
    )
    pq.write_table(pq.read_table("docs.parquet").drop_columns("embedding"), "texts.parquet")
    assert (
        "does not name its encoder" in run_cli("convert", "bare", "--documents", "texts.parquet", "-o", "r", code=2).err
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pickled", "reading a pickle can run any program"), ("torch", "reading a pickle can run any program"),
        ("empty", "no topics.json"), ("docs", "no topics.json"), ("cut", "no topic_embeddings.safetensors"), ("broken", "damaged"),
        ("other", "topic_embeddings has the shape"),
    ],
)  # fmt: skip
def test_what_is_no_saved_model_is_refused(name: str, words: str, models: Path) -> None:
    Path("empty").mkdir()
    Path("docs").mkdir()
    shutil.copy("docs.parquet", "docs")
    for copy in ("cut", "broken", "other"):
        shutil.copytree("plain", copy)
    Path("cut/topic_embeddings.safetensors").unlink()
    Path("broken/topics.json").write_text("{", newline="\n")
    shutil.copy("reduced/topic_embeddings.safetensors", "other")
    said = run_cli("convert", name, "-o", "run", code=3).err
    assert words in " ".join(said.split())
    assert not Path("run").exists()


def test_other_documents_are_refused(models: Path) -> None:
    with pytest.raises(InputError, match="was fitted to 160 documents"):
        nk.convert("plain", "run", documents="new.parquet")
    run_cli("convert", "plain", "--documents", "docs.parquet", "-o", "topics.csv", code=2)
