"""Topics added up to units: shares, intervals that know what documents depend on, columns of the units."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.topics.over_time.prevalence import one_topic_each, share_bounds, sum_cells
from nlpkit.topics.over_time.units import of_clusters, of_neighbours
from tests.command_line import footer, read, run_cli, write_jsonl

SENTENCES = {
    "tax": "The tax on income and wages pays the budget.",
    "school": "A school needs teachers and books for pupils.",
    "river": "The river and the lake have fish and boats.",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences of 30 speeches by six speakers of two parties; one speech has one sentence."""
    folder, rng = tmp_path_factory.mktemp("speeches"), np.random.default_rng(0)
    rows = []
    for i in range(30):
        speaker, n = i % 6, 1 if i == 2 else 6
        subjects = rng.choice(list(SENTENCES), n, p=np.roll([0.7, 0.2, 0.1], speaker % 2))
        rows.append(
            {"id": f"speech{i}", "text": " ".join(SENTENCES[s] for s in subjects), "speaker": f"s{speaker}", "party": "ab"[speaker % 2],
             "day": i, "tokens_of": 3}
        )  # fmt: skip
    run_cli(
        "preprocess",
        write_jsonl(folder / "speeches.jsonl", rows),
        "--unit",
        "sentence",
        "-q",
        "-o",
        folder / "parts.parquet",
    )
    run_cli("lda-gibbs", folder / "parts.parquet", "--k", "3", "--sweeps", "50", "-q", "-o", folder / "run")
    return folder / "run"


def test_sentences_add_up_to_documents(run: Path) -> None:
    units = nk.topic_units(run, "parent_id")
    rows = units.table.to_pylist()
    assert [row["parent_id"] for row in rows] == [f"speech{i}" for i in range(30)]
    documents, theta = nk.load(run).documents, nk.load(run).theta
    parents = np.array(documents["parent_id"].to_pylist())
    for row in rows:
        mine = parents == row["parent_id"]
        assert row["documents"] == mine.sum()
        np.testing.assert_allclose([row[f"topic_{k}"] for k in range(3)], theta[mine].mean(axis=0), atol=1e-9)
        assert all(0 <= row[f"topic_{k}_low"] <= row[f"topic_{k}"] <= row[f"topic_{k}_high"] <= 1 for k in range(3))
    assert sum(row["tokens"] for row in rows) == sum(read(run / "vocab.parquet")["cf"].to_pylist())
    assert {row["party"] for row in rows} == {"a", "b"}
    assert units.table.column_names[:7] == ["parent_id", "documents", "tokens", "speaker", "party", "day", "tokens_of"]
    assert units.facts["between"] == "neighbouring documents"


def test_speeches_are_the_clusters_of_speakers(run: Path) -> None:
    units = nk.topic_units(run, "speaker")
    assert units.facts["between"] == "documents of one parent_id"
    assert units.table.num_rows == 6
    assert "party" in units.table.column_names
    assert "day" not in units.table.column_names  # differs within a speaker
    of_neighbours = nk.topic_units(run, "party", within="speaker")
    assert of_neighbours.facts["between"] == "documents of one speaker"


def test_the_command(run: Path) -> None:
    done = run_cli("topics", run, "--up", "speaker", "-o", "speakers.parquet")
    assert "Topics of 6 units of 175 documents" in done.out
    assert "left out, as they differ within units: day" in done.err
    assert "95% intervals allow for documents of one parent_id, whose topics have a correlation of" in done.err
    assert footer("speakers.parquet")["kind"] == "topic_units"
    value = run_cli("topics", run, "--up", "speaker", "--json", "-q").json()
    assert [row["speaker"] for row in value["units"]] == [f"s{i}" for i in range(6)]
    Path("people.csv").write_text("speaker,born,text\ns0,1950,x\ns1,1960,x\ns2,1970,x\n", encoding="utf-8")
    done = run_cli("topics", run, "--up", "speaker", "--join", "people.csv", "-o", "joined.csv")
    assert "people.csv has no row for 3 units, such as s3" in done.err
    born = nk.topic_units(run, "speaker", join="people.csv").table["born"].to_pylist()
    assert born == ["1950", "1960", "1970", None, None, None]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--up", "spaeker"], 3, "did you mean 'speaker'"),
        (["--up", "party", "--columns"], 2, "--columns is a question of its own; leave --up out"),
        (["--up", "party", "--over", "day"], 2, "--over belongs to the shares"),
        (["--within", "speaker"], 2, "--within needs --up"),
        (["--up", "party", "--within", "party"], 2, "is the unit itself"),
        (["--up", "party", "--join", "twice.csv"], 3, "both have the column 'documents'; rename it"),
        (["--up", "party", "--join", "others.csv"], 3, "others.csv has no row for a unit, such as 'a'"),
    ],
)
def test_units_that_cannot_be(run: Path, words: list[str], code: int, message: str) -> None:
    Path("twice.csv").write_text("party,documents\na,1\nb,2\n", encoding="utf-8")
    Path("others.csv").write_text("party,size\nc,1\n", encoding="utf-8")
    assert message in run_cli("topics", run, *words, code=code).error()


def test_bertopic_splits_fits_and_adds_up(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [
        {
            "id": f"d{i}",
            "text": " ".join(f"{SENTENCES[s]} Number {i} of {s} is here." for s in rng.choice(list(SENTENCES), 3)),
            "party": "ab"[i % 2],
        }
        for i in range(80)
    ]
    source = write_jsonl(tmp_path / "rows.jsonl", rows)
    words = ["--k", "3", "--engine", "static", "-q"]
    done = run_cli("bertopic", source, "--unit", "sentense", *words, "-o", "run", code=2)
    assert "--unit sentense: give document, paragraph, sentence or chunk:N" in done.error()
    run_cli("bertopic", source, "--unit", "paragraph", "--update", "old", "-o", "run", code=2)
    run_cli("bertopic", source, "--unit", "sentence", *words, "-o", "run")
    parts, documents = read("run.sentences.parquet"), read("run.documents.parquet")
    assert parts.num_rows == read("run/documents.parquet").num_rows > 60
    assert documents["parent_id"].to_pylist() == [f"d{i}" for i in range(80)]
    assert sum(documents["documents"].to_pylist()) == parts.num_rows
    assert documents["tokens"].null_count == 0
    effects = run_cli("effects", "run.documents.parquet", "--prevalence", "party", "--json", "-q").json()
    assert effects["documents"] == 80
    Path("run2.documents.parquet").touch()
    assert (
        "run2.documents.parquet"
        in run_cli("bertopic", source, "--unit", "sentence", *words, "-o", "run2", code=2).error()
    )
    assert not Path("run2.sentences.parquet").exists()


def chains(r: float, seed: int, size: int = 20, U: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sentences of documents, each of the topic of the one before with the probability r; the topics' probabilities in a document."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([2.0, 1, 1], U)
    topics = []
    for row in p:
        own = rng.choice(3, size, p=row)
        for i in np.flatnonzero(rng.random(size) < r):
            own[i] = own[i - 1] if i else own[i]
        topics.append(own)
    return np.concatenate(topics).astype(np.int32), np.repeat(np.arange(U), size).astype(np.int32), p


@pytest.mark.parametrize("r", [0.0, 0.4, 0.7])
def test_the_correlation_of_neighbours_comes_back_and_intervals_hold(r: float) -> None:
    inside, apart, correlation = [], [], []
    for seed in range(5):
        topics, unit, p = chains(r, seed)
        membership = one_topic_each(topics, 3)
        cells = sum_cells(membership, unit, len(p))
        depends = of_neighbours(membership, unit, cells)
        correlation.append(depends.correlation)
        for held, design in ((inside, depends.design), (apart, None)):
            low, high = (each[:, :3] for each in share_bounds(cells, level=0.95, design=design))
            held.append(((low <= p) & (p <= high)).mean())
    assert np.mean(correlation) == pytest.approx(r, abs=0.04)
    assert 0.93 < np.mean(inside) < 0.98
    assert np.mean(apart) < 0.86 or r == 0


def test_the_correlation_of_clusters_comes_back() -> None:
    rng, found = np.random.default_rng(0), []
    for _ in range(5):
        topics, unit, cluster = [], [], []
        for u in range(20):
            for c in range(10):
                p = rng.dirichlet(np.full(3, 3.0 / 3 * 3))  # variance of p: ρ = 1 / (1 + Σ a)
                topics += rng.choice(3, 12, p=p).tolist()
                unit += [u] * 12
                cluster += [10 * u + c] * 12
        membership = one_topic_each(np.array(topics, np.int32), 3)
        places = np.array(unit, np.int32)
        depends = of_clusters(membership, places, np.array(cluster, np.int32), sum_cells(membership, places, 20))
        assert depends is not None
        found.append(depends.correlation)
        np.testing.assert_allclose(depends.design, 1 + 11 * depends.correlation)
    assert np.mean(found) == pytest.approx(1 / 10, abs=0.02)
    places = np.arange(20, dtype=np.int32)
    membership = one_topic_each(np.zeros(20, np.int32), 3)
    assert of_clusters(membership, places, places, sum_cells(membership, places, 20)) is None
