"""Static encoders on the command line: trained by train-encoder, tuned in one step by sbert-embed and bertopic, kept in a run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nlpkit.platform.documents.arrays import embedding_matrix
from tests.command_line import footer, read, run_cli, write_jsonl
from tests.encoder_models import write_model

THEMES = {"animals": "cat dog bird sat ran", "houses": "house mat old new on", "words": "and or was very the"}


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("teacher") / "model")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(240):
        theme = list(THEMES)[i % 3]
        rows.append({"id": f"d{i}", "label": theme, "text": " ".join(rng.choice(THEMES[theme].split(), 12))})
    write_jsonl(tmp_path / "corpus.jsonl", rows)
    return tmp_path / "corpus.jsonl"


def vectors(path: str | Path) -> np.ndarray:
    return embedding_matrix(read(path)["embedding"])


def test_trained_encoder_embeds_for_every_command(corpus: Path, teacher: Path) -> None:
    done = run_cli("train-encoder", corpus, "--objective", "static", "--model", teacher, "-o", "enc")
    assert "static encoder: tuned to" in done.err
    assert "held-out texts its cosine to the encoder is" in done.err
    metrics = json.loads(Path("enc/metrics.json").read_text())
    assert metrics["after"]["closeness"] > metrics["before"]["closeness"]
    run_cli("sbert-embed", corpus, "--model", "enc", "-o", "a.parquet", "--threads", "1")
    run_cli("sbert-embed", corpus, "--model", "enc", "-o", "b.parquet", "--threads", "3")
    assert vectors("a.parquet").tobytes() == vectors("b.parquet").tobytes()
    parameters = footer(Path("a.parquet"))["parameters"]
    assert (parameters["engine"], parameters["docs_cut"]) == ("static", 0)


def test_embedding_in_one_step_says_how_near_it_is(corpus: Path, teacher: Path) -> None:
    done = run_cli("sbert-embed", corpus, "--model", teacher, "--engine", "static(sample=200)", "-o", "a.parquet")
    assert "on 180 texts" in done.err
    static = footer(Path("a.parquet"))["parameters"]["static"]
    assert (static["texts"], static["held_out"]) == (180, 20)
    assert -1 <= static["cosine"] <= 1
    run_cli(
        "sbert-embed", corpus, "--model", teacher, "--engine", "static(sample=200)", "-o", "b.parquet", "--threads", "1"
    )
    assert vectors("a.parquet").tobytes() == vectors("b.parquet").tobytes()
    assert len(vectors("a.parquet")) == 240


def test_run_keeps_its_encoder_for_new_texts(corpus: Path, teacher: Path, tmp_path: Path) -> None:
    run_cli("bertopic", corpus, "--encoder", teacher, "--engine", "static", "--k", "3", "-o", "run")
    write_jsonl(tmp_path / "new.jsonl", [{"id": "n", "text": "old house on new mat"}, {"id": "e", "text": ""}])
    done = run_cli("predict", "run", "new.jsonl", "-o", "p.parquet")
    assert "1 with a topic" in done.err
    alone = run_cli("sbert-embed", "new.jsonl", "--model", "run", "-o", "e.parquet")  # the run is an encoder, too
    assert "static" in alone.err
    run_cli("predict", "run", "e.parquet", "-o", "q.parquet")
    assert read("p.parquet")["topic"].to_pylist() == read("q.parquet")["topic"].to_pylist()
    (tmp_path / "edits.toml").write_text("pin = [0]\n")
    run_cli("edit", "run", "edits.toml", "-o", "edited")
    run_cli("predict", "edited", "new.jsonl", "-o", "r.parquet")
    weights = Path("run/model/sentence-transformers/model.safetensors")
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\0")
    refused = run_cli("predict", "run", "new.jsonl", "-o", "s.parquet", code=3)
    assert "was changed since the run was written" in refused.err


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        (("--engine", "static(sample=9)"), 2, "a sample of at least 100 texts is needed"),
        (("--engine", "static(size=900)"), 2, "'size=900' is not an option of static (its options: sample="),
        (("--engine", "static", "--model", "nowhere/"), 4, "does not exist"),
        (("--engine", "static", "--limit", "50"), 3, "at least 100 different texts with words, found 50"),
    ],
)
def test_bad_input_is_told(corpus: Path, teacher: Path, line: tuple[str, ...], code: int, says: str) -> None:
    done = run_cli("sbert-embed", corpus, "--model", teacher, *line, "-o", "a.parquet", code=code)
    assert says in " ".join(done.err.split())
    assert not Path("a.parquet").exists()


def test_other_commands_name_the_way_to_a_static_encoder(corpus: Path, teacher: Path) -> None:
    done = run_cli("cluster", corpus, "--encoder", teacher, "--engine", "static", "-o", "c.parquet", code=2)
    assert "train-encoder --objective static" in " ".join(done.err.split())


def test_steps_are_refused(corpus: Path, teacher: Path) -> None:
    done = run_cli(
        "train-encoder", corpus, "--objective", "static", "--base", teacher, "--epochs", "3", "-o", "enc", code=2
    )
    assert "is solved directly, without training; leave" in " ".join(done.err.split())
