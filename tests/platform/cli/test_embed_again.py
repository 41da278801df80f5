"""Embeddings that are made once: the cache, unfinished outputs, texts that are equal; and how embeddings are stored."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import nlpkit as nk
from nlpkit.embed import encoder as encoder_module
from nlpkit.embed.embeddings import embeddings_of
from nlpkit.embed.encoders import VECTORS
from nlpkit.embed.options import EncoderOptions
from nlpkit.platform.documents.arrays import embedding_matrix
from tests.command_line import NEWS, footer, needs_minilm, read, run_cli, write_jsonl
from tests.encoder_models import WORDS, write_model

for needed in ("torch", "tokenizers", "safetensors"):
    pytest.importorskip(needed)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, n)) for n in rng.integers(0, 30, 60)]
    return write_jsonl(tmp_path / "docs.jsonl", [{"id": str(i), "text": t} for i, t in enumerate(texts * 2)])


@pytest.fixture
def embedded_texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The texts that the model has embedded; the list may be given a limit, after which it is interrupted."""
    texts: list[str] = []
    usual = encoder_module.Encoder._embed_texts

    def counting(self: Any, new: Any, done: Any) -> Any:
        if len(texts) >= LIMIT["texts"]:
            raise KeyboardInterrupt
        texts.extend(new)
        return usual(self, new, done)

    monkeypatch.setattr(encoder_module.Encoder, "_embed_texts", counting)
    monkeypatch.setattr(encoder_module, "_STEP", 10)
    yield texts
    LIMIT["texts"] = 10**9


LIMIT = {"texts": 10**9}


def embed(tiny: Path, corpus: Path, target: str, *options: Any, code: int = 0) -> Any:
    return run_cli("sbert-embed", corpus, "--model", tiny, *options, "-o", target, code=code)


def test_a_second_run_with_a_cache_embeds_nothing(tiny: Path, corpus: Path, embedded_texts: list[str]) -> None:
    embed(tiny, corpus, "plain.parquet")
    expected = Path("plain.parquet").read_bytes()
    embedded_texts.clear()
    embed(tiny, corpus, "a.parquet", "--cache", "cache")
    assert len(embedded_texts) == len(set(embedded_texts))
    embedded_texts.clear()
    embed(tiny, corpus, "b.parquet", "--cache", "cache", "--threads", "2")
    run_cli("sbert-embed", corpus, "--model", tiny, "-o", "c.parquet", env={"NLPKIT_CACHE": "cache"})
    assert embedded_texts == []
    assert all(Path(name).read_bytes() == expected for name in ("a.parquet", "b.parquet", "c.parquet"))
    assert not list(Path().glob("*.checkpoint"))


def test_a_damaged_cache_is_reported_and_repaired(tiny: Path, corpus: Path, embedded_texts: list[str]) -> None:
    embed(tiny, corpus, "a.parquet", "--cache", "cache")
    (file,) = Path("cache").glob(f"*/*{VECTORS}")
    content = bytearray(file.read_bytes())
    content[1000] ^= 1
    file.write_bytes(content)
    embedded_texts.clear()
    done = embed(tiny, corpus, "b.parquet", "--cache", "cache")
    assert "is damaged: the texts whose embeddings there do not agree" in done.err
    assert len(embedded_texts) == 1
    assert Path("a.parquet").read_bytes() == Path("b.parquet").read_bytes()
    embed(tiny, corpus, "c.parquet", "--cache", "cache")
    assert len(embedded_texts) == 1


def test_a_cache_that_is_a_file(tiny: Path, corpus: Path) -> None:
    Path("cache").touch()
    assert "--cache cache is a file" in embed(tiny, corpus, "a.parquet", "--cache", "cache", code=2).err


def test_an_interrupted_output_goes_on(tiny: Path, corpus: Path, embedded_texts: list[str], tmp_path: Path) -> None:
    embed(tiny, corpus, "whole.parquet")
    expected = Path("whole.parquet").read_bytes()
    distinct = set(embedded_texts)
    embedded_texts.clear()
    LIMIT["texts"] = 30
    done = embed(tiny, corpus, "x.parquet", code=130)
    assert "saved in x.parquet.checkpoint: the same command with --resume goes on with it" in done.err
    LIMIT["texts"] = 10**9

    done = embed(tiny, corpus, "x.parquet", code=2)
    assert "x.parquet.checkpoint belongs to a run that was not finished; --resume continues it, --force" in done.err
    done = embed(tiny, corpus, "x.parquet", "--resume", "--max-tokens", "9", code=3)
    assert "belongs to another run" in done.err
    other = write_jsonl(tmp_path / "other.jsonl", [{"text": "a cat"}])
    assert "belongs to another run" in embed(tiny, other, "x.parquet", "--resume", code=3).err
    done = embed(tiny, corpus, "x.parquet", "--resume", "--cache", "cache", code=2)
    assert "was started without" in done.err
    assert Path("x.parquet.checkpoint").is_dir()

    embed(tiny, corpus, "x.parquet", "--resume")
    assert Path("x.parquet").read_bytes() == expected
    assert sorted(embedded_texts) == sorted(distinct)  # each of them once, before or after
    assert not Path("x.parquet.checkpoint").exists()


def test_a_checkpoint_is_dropped_when_that_is_requested(tiny: Path, corpus: Path, embedded_texts: list[str]) -> None:
    LIMIT["texts"] = 30
    embed(tiny, corpus, "x.parquet", code=130)
    LIMIT["texts"] = 10**9
    n = len(embedded_texts)
    Path("x.parquet.checkpoint", "notes.txt").touch()
    assert "holds notes.txt, which nlpkit did not write" in embed(tiny, corpus, "x.parquet", "-f", code=2).err
    Path("x.parquet.checkpoint", "notes.txt").unlink()
    embed(tiny, corpus, "x.parquet", "--force")
    assert len(embedded_texts) == n + len(set(embedded_texts))
    assert not Path("x.parquet.checkpoint").exists()


def test_resume_without_anything_to_resume(tiny: Path, corpus: Path) -> None:
    assert (
        "there is no checkpoint x.parquet.checkpoint: starting from the beginning"
        in embed(tiny, corpus, "x.parquet", "--resume").err
    )
    assert "--resume continues an -o that is a file" in embed(tiny, corpus, "-", "--resume", code=2).err


@pytest.mark.slow
def test_kill_9_in_the_middle(tiny: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [{"text": " ".join(rng.choice(WORDS, 12))} for _ in range(6_000)]
    corpus = write_jsonl(tmp_path / "many.jsonl", rows)
    embed(tiny, corpus, "whole.parquet")
    command = [sys.executable, "-m", "nlpkit", "sbert-embed", str(corpus), "--model", str(tiny), "-o", "x.parquet"]
    worker = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while worker.poll() is None and not list(Path().glob(f"x.parquet.checkpoint/*{VECTORS}")):
        time.sleep(0.01)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    assert not Path("x.parquet").exists()
    assert Path("x.parquet.checkpoint").is_dir()
    embed(tiny, corpus, "x.parquet", "--resume")
    assert Path("x.parquet").read_bytes() == Path("whole.parquet").read_bytes()


def test_a_table_in_memory_has_equal_texts_embedded_once(
    tiny: Path, embedded_texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["nlpkit.embed.embeddings"], "BATCH", 7)
    different = [f"the {word} sat" for word in WORDS]
    texts = [different[0], None, *different, *reversed(different), *different[1:], None, ""]
    table = pa.table({"text": pa.array(texts, pa.large_string())})
    needed = np.array([text is not None for text in texts])
    vectors, made_by = embeddings_of(table, None, EncoderOptions(str(tiny), long="mean"), 1, needed)
    assert len(embedded_texts) == len(WORDS) + 1
    assert made_by is not None
    assert made_by["long"] == "mean"
    assert not vectors[~needed].any()
    each = {
        text: embeddings_of(pa.table({"text": [text]}), None, EncoderOptions(str(tiny)), 1)[0][0]
        for text in set(texts) - {None}
    }
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_allclose(vector, 0 if text is None else each[text], atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "int8", "binary"])
def test_small_types_are_read_by_other_commands(tiny: Path, corpus: Path, dtype: str) -> None:
    embed(tiny, corpus, "whole.parquet")
    embed(tiny, corpus, "small.parquet", "--dtype", dtype)
    assert footer("small.parquet")["parameters"]["dtype"] == dtype
    whole, small = (embedding_matrix(read(name)["embedding"]) for name in ("whole.parquet", "small.parquet"))
    assert ((whole * small).sum(axis=1) > (0.6 if dtype == "binary" else 0.999)).all()
    done = run_cli("similar", "small.parquet", "--id", "3", "--json")
    assert '"63"' in done.out  # the same text
    assert "different lengths" not in done.err
    run_cli("sbert-embed", "small.parquet", "--model", tiny, "-o", "again.parquet")
    assert read("again.parquet")["embedding"].type == pa.list_(pa.float32(), 32)


@pytest.mark.parametrize(
    "options",
    [
        ("--dtype", "int4"), ("--dtype", "int8", "--no-normalize"), ("--dtype", "binary", "--truncate-dim", "12"),
        ("--method", "mean-words", "--vectors", "x.txt", "--dtype", "binary"), ("--method", "doc2vec", "--resume"),
        ("--method", "doc2vec", "--prompt", "query: "), ("--long", "median"), ("--truncate-dim", "33"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together(tiny: Path, corpus: Path, options: tuple[str, ...]) -> None:
    Path("x.txt").write_text("cat 1 2\n")
    model = () if "--method" in options else ("--model", tiny)
    run_cli("sbert-embed", corpus, *model, *options, "-o", "x.parquet", code=2)
    assert not Path("x.parquet").exists()


@pytest.mark.parametrize("target", ["x.jsonl", "x.csv", "-"])
def test_text_has_no_small_numbers(tiny: Path, corpus: Path, target: str) -> None:
    assert (
        "needs .parquet or .arrow, because text files cannot store"
        in embed(tiny, corpus, target, "--dtype", "int8", code=2).err
    )


def test_new_documents_are_embedded_as_those_of_the_run(tiny: Path, corpus: Path, tmp_path: Path) -> None:
    rows = [{"text": t, "label": str(i % 2)} for i, t in enumerate(read_texts(corpus)[:60])]
    write_jsonl(tmp_path / "labelled.jsonl", rows)
    how = ("--long", "mean", "--prompt", "cat ", "--truncate-dim", "16")
    run_cli("classify", "labelled.jsonl", "--model", "knn", "--on", "embedding", "--encoder", tiny, *how, "-o", "run")
    embed(tiny, corpus, "same.parquet", *how)
    embed(tiny, corpus, "other.parquet", *how[:4], "--truncate-dim", "8")
    embed(tiny, corpus, "cut.parquet", "--long", "truncate", *how[2:])
    run_cli("predict", "run", corpus, "-o", "a.parquet")
    run_cli("predict", "run", "same.parquet", "-o", "b.parquet")
    assert read("a.parquet")["prediction_prob"].equals(read("b.parquet")["prediction_prob"])
    run_cli("predict", "run", "other.parquet", "-o", "c.parquet", code=3)
    assert "made with --long truncate, the embeddings of the run with --long mean" in (
        run_cli("predict", "run", "cut.parquet", "-o", "c.parquet", code=3).err
    )
    assert "--long truncate" in run_cli("predict", "run", corpus, "--long", "truncate", "-o", "c.parquet", code=2).err
    run_cli("predict", "run", corpus, "--long", "mean", "--cache", "cache", "-o", "c.parquet")
    assert read("a.parquet")["prediction_prob"].equals(read("c.parquet")["prediction_prob"])


def read_texts(path: Path) -> list[str]:
    return nk.read_corpus(path).table()["text"].to_pylist()  # type: ignore[no-any-return]


def embeddings(path: str | Path) -> Any:
    return embedding_matrix(read(path)["embedding"])


@needs_minilm
def test_the_vector_of_a_text_does_not_depend_on_its_company_or_the_threads(tmp_path: Path) -> None:
    run_cli("sbert-embed", NEWS, "--limit", "4", "--offline", "--threads", "1", "-o", "a.parquet")
    run_cli("sbert-embed", NEWS, "--limit", "2", "--offline", "--threads", "2", "-o", "b.parquet")
    assert np.array_equal(embeddings("a.parquet")[:2], embeddings("b.parquet"))
    run_cli("sbert-embed", NEWS, "--limit", "4", "--offline", "--threads", "2", "-o", "c.parquet")
    assert Path("a.parquet").read_bytes() == Path("c.parquet").read_bytes()


@needs_minilm
def test_empty_texts_and_order(tmp_path: Path) -> None:
    write_jsonl(
        tmp_path / "x.jsonl",
        [
            {"id": "a", "text": "a river"},
            {"id": "b", "text": ""},
            {"id": "c", "text": None},
            {"id": "d", "text": "a river"},
        ],
    )
    done = run_cli("sbert-embed", "x.jsonl", "--offline", "-o", "y.parquet")
    table = read("y.parquet")
    assert table["id"].to_pylist() == ["a", "b", "d"]
    assert table["embedding"][0] == table["embedding"][2]
    assert read("y.dropped.parquet")["id"].to_pylist() == ["c"]
    assert "warning: 1 row could not be used, such as c: text is null" in done.err
