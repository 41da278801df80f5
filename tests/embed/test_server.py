"""Embeddings at an address: what is sent, what is kept, and what is said of servers that refuse, cut, or send nonsense."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import nlpkit as nk
from nlpkit.embed import server as served
from nlpkit.embed.loading import load_encoder
from nlpkit.embed.models import find_model
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError, MissingError, UsageError
from nlpkit.platform import web
from tests.llm_server import Reply, embedded, serving

KEY = "sk-SECRET-123"
RIVERS, BANKS = "river water fish boat stream", "money loan debt credit account"


@pytest.fixture(autouse=True)
def a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLPKIT_LLM_KEY", KEY)
    monkeypatch.setattr(web.time, "sleep", lambda _: None)


def good(body: dict[str, Any]) -> tuple[int, Any]:
    return 200, embedded(body["input"])


def vectors_of(texts: list[str]) -> np.ndarray:
    rows = sorted(embedded(texts)["data"], key=lambda row: row["index"])
    return np.array([row["embedding"] for row in rows], np.float32)


def limited(texts: int, tokens: int, code: int, says: str) -> Reply:
    """Answer as a server that takes so many texts of so many words at a time."""

    def reply(body: dict[str, Any]) -> tuple[int, Any]:
        if len(body["input"]) > texts:
            return code, {"error": f"batch size {len(body['input'])} > maximum allowed batch size {texts}"}
        if any(len(text.split()) > tokens for text in body["input"]):
            return code, {"error": {"message": says}}
        return good(body)

    return reply


def test_vectors_are_those_of_the_server_in_the_order_of_the_texts() -> None:
    texts = [f"word{i % 40} river{i}" for i in range(150)]
    with serving(good) as server:
        encoder = load_encoder(f"{server.url}#m")
        vectors, report = encoder.encode(texts, normalize=False)
    np.testing.assert_array_equal(vectors, vectors_of(texts))
    assert (report.n_docs, report.n_unique, report.tokens_cut) == (150, 150, 0)
    assert [path for path, _ in server.headers] == ["/v1/embeddings"] * len(server.headers)
    assert all(headers["Authorization"] == f"Bearer {KEY}" for _, headers in server.headers)
    assert all(set(body) == {"model", "input"} and body["model"] == "m" for body in server.asked)
    assert sorted(len(body["input"]) for body in server.asked) == [1, 22, 64, 64]  # the first for the length of vectors


def test_an_empty_text_is_not_sent_and_its_vector_is_zero() -> (
    None
):  # llama.cpp, OpenAI: "Input content cannot be empty"
    with serving(lambda body: (400, {"error": "empty"}) if "" in body["input"] else good(body)) as server:
        encoder = load_encoder(f"{server.url}#m", prompt="query: ")
        vectors, _ = encoder.encode(["a b", "", " \n"])
    assert vectors[1:].tolist() == [[0.0] * 32] * 2
    assert np.linalg.norm(vectors[0]) == pytest.approx(1)
    assert server.asked[1]["input"] == ["query: a b"]


def test_the_cache_answers_again_and_knows_address_and_model(tmp_path: Path) -> None:
    with serving(good) as server:

        def rows(name: str, **more: Any) -> list[Any]:
            return nk.embed(["a b", "c"], encoder=name, cache=tmp_path, **more).table().column("embedding").to_pylist()

        first = rows(f"{server.url}#m")
        asked = len(server.asked)
        assert rows(f"{server.url}#m") == first
        assert [body["input"] for body in server.asked[asked:]] == [["a"]]
        rows(f"{server.url}#other")
        rows(f"{server.url}#m", prompt="q: ")
        assert sorted(server.asked[-1]["input"]) == ["q: a b", "q: c"]
    assert KEY not in "".join(path.read_text("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file())


def test_a_full_server_is_asked_again_after_as_long_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(web.time, "sleep", waits.append)
    codes = iter([429, 503, 200])

    def reply(body: dict[str, Any]) -> tuple[int, Any]:
        code = next(codes, 200)
        return (code, {"error": "Loading model"}) if code != 200 else good(body)

    with serving(reply) as server:
        load_encoder(f"{server.url}#m")
    assert waits == [0.0, 0.0]  # Retry-After: 0


@pytest.mark.parametrize("code", [400, 413, 422])
def test_a_server_that_takes_few_texts_gets_few(code: int) -> None:  # text-embeddings-inference: 32
    texts = [f"word{i}" for i in range(100)]
    with serving(limited(10, 99, code, "")) as server:
        encoder = load_encoder(f"{server.url}#m")
        vectors, _ = encoder.encode(texts, normalize=False)
        np.testing.assert_array_equal(vectors, vectors_of(texts))
        asked = len(server.asked)
        encoder.encode([f"new{i}" for i in range(40)])
        assert all(len(body["input"]) <= 10 for body in server.asked[asked:])  # it is remembered


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (400, "This model's maximum context length is 8192 tokens, however you requested 9000 tokens"),  # OpenAI, vLLM
        (500, "input (1001 tokens) is too large to process. increase the physical batch size"),  # llama.cpp
        (400, "the input length exceeds the context length"),  # ollama
    ],
)
def test_a_text_that_is_too_long_is_named_and_read_in_parts_on_request(code: int, says: str) -> None:
    long = " ".join(f"word{i}" for i in range(60))
    with serving(limited(99, 20, code, says)) as server:
        with pytest.raises(
            InputError, match=r"'word0 word1 .*…' of about 103 tokens is too long for m.*`max_tokens`"
        ) as raised:
            nk.embed(["short", long], encoder=f"{server.url}#m")
        assert len(server.asked) <= 5  # it is not tried again and again
        assert KEY not in str(raised.value)
        encoder = load_encoder(f"{server.url}#m", max_tokens=20, long="mean")
        vectors, report = encoder.encode([long, "short"], normalize=False)
        assert report.docs_long == 1
        assert (vectors[0] > 0).sum() > 15  # all parts count
        _, report = load_encoder(f"{server.url}#m", max_tokens=20).encode([long, "short"])
        assert (report.docs_cut, report.tokens_cut) == (1, 83)
        assert len(server.asked[-1]["input"][0]) == 80 or len(server.asked[-1]["input"][1]) == 80


def first_good(then: Callable[[dict[str, Any]], Any]) -> Reply:
    """Answer the question for the length of vectors, and others by a function."""
    return lambda body: good(body) if body["input"] == ["a"] else then(body)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"<html>nginx</html>", "sent no embeddings: <html>"),
        (b"[" * 2_000_000, "sent no embeddings"),
        ({"embeddings": [[1.0]]}, "sent no embeddings"),  # ollama's own protocol
        ({"data": None}, "sent no embeddings"),
        ({"data": [[1.0]]}, "sent no embeddings"),
        ({"data": []}, "sent 0 vectors for 2 texts"),
        ({"data": [{"index": 0, "embedding": [1.0]}]}, "sent 1 vectors for 2 texts"),
        ({"data": [{"index": 0, "embedding": [1.0]}] * 2}, "sent 2 vectors for 2 texts, with wrong places"),
        ({"data": [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}]}, "all of the same length"),
        ({"data": [{"embedding": "AACAPw=="}, {"embedding": "AACAPw=="}]}, "not vectors of numbers"),
        ({"data": [{"embedding": [None]}, {"embedding": [1]}]}, "not vectors of numbers"),
        ({"data": [{"embedding": []}, {"embedding": []}]}, "not vectors of numbers"),
        (b'{"data": [{"embedding": [1e999]}, {"embedding": [NaN]}]}', "not vectors of numbers"),
        ({"data": [{"embedding": [1.0] * 8}] * 2}, "sent vectors of 8 numbers, and of 32 before"),
        ({"data": KEY}, "sent no embeddings"),
    ],
)
def test_an_answer_that_is_none_is_said(content: Any, says: str) -> None:
    with serving(first_good(lambda _: (200, content))) as server:
        encoder = load_encoder(f"{server.url}#m")
        with pytest.raises(InputError, match=says) as raised:
            encoder.encode(["one", "two"])
    assert raised.value.exit_code == 3
    assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (401, "NLPKIT_LLM_KEY"),
        (404, "is 'nomic' one of its models, and http://.*/v1/embeddings its address"),
        (500, "crashed"),
    ],
)
def test_a_refusal_is_said_without_the_key(code: int, says: str) -> None:
    with (
        serving(lambda _: (code, {"error": f"crashed for {KEY}"})) as server,
        pytest.raises(MissingError, match=says) as raised,
    ):
        load_encoder(f"{server.url}#nomic")
    assert raised.value.exit_code == 4
    assert KEY not in str(raised.value)
    assert raised.value.parameter == "encoder"
    with pytest.raises(MissingError, match="cannot be reached"):
        load_encoder("http://127.0.0.1:9/v1#m")


@pytest.mark.parametrize(
    ("name", "more", "says"),
    [
        ("http://localhost:1/v1", {}, "name the model of the server after #"),
        ("http://user:pw@localhost:1/v1#m", {}, "with a password or a query is not taken"),
        ("https://h/v1?key=sk-1#m", {}, "with a password or a query is not taken"),
        ("http://#m", {}, "is not an address"),
        ("http://h/v1#m", {"device": "cuda"}, "`device=cuda`: the server at h chooses it"),
        ("http://h/v1#m", {"precision": "int8"}, "`precision=int8`: the server at h"),
        ("http://h/v1#m", {"engine": "onnx"}, "`engine=onnx`: the server at h"),
    ],
)
def test_what_an_address_cannot_be(name: str, more: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        load_encoder(name, **more)


def test_nothing_is_sent_offline_nor_where_a_model_of_files_is_needed() -> None:
    with serving(good) as server:
        with pytest.raises(MissingError, match=r"is not asked, because texts would be sent to 127\.0"):
            load_encoder(f"{server.url}#m", offline=True)
        with pytest.raises(UsageError, match="the address of a server, which gives embeddings alone"):
            find_model(f"{server.url}#m")
        with pytest.raises(UsageError, match="the vectors of m have 32 numbers"):
            load_encoder(f"{server.url}#m", truncate_dim=64)
        assert load_encoder(f"{server.url}#m", truncate_dim=8).encode(["a b"])[0].shape == (1, 8)
    assert all(body["input"] in (["a"], ["a b"]) for body in server.asked)


def test_an_error_ends_all_requests_at_once() -> None:
    def reply(body: dict[str, Any]) -> tuple[int, Any]:
        if "slow" in body["input"][0]:
            wait.wait(20)
        return (401, {}) if "bad" in body["input"][0] else good(body)

    wait = threading.Event()
    with serving(first_good(reply)) as server:
        encoder = load_encoder(f"{server.url}#m")
        began = time.monotonic()
        with pytest.raises(MissingError, match="refused: 401"):
            encoder.encode([*(f"slow {i}" for i in range(served.TEXTS)), *(f"bad {i}" for i in range(served.TEXTS))])
        assert time.monotonic() - began < 15
        wait.set()


def test_a_run_by_an_address_from_fit_to_prediction(tmp_path: Path) -> None:
    texts = [" ".join(np.random.default_rng(i).choice((RIVERS if i % 2 else BANKS).split(), 9)) for i in range(60)]
    with serving(good) as server:
        name = f"{server.url}#m"
        run = nk.fit_bertopic(texts, k=2, encoder=name).save(tmp_path / "run")
        manifest = json.loads((run / "manifest.json").read_text())
        made_by = manifest["parameters"]["encoder"]
        assert (made_by["encoder"], made_by["engine"], made_by["dim"]) == (name, "server", 32)
        assert "cosine_to_fp32" not in made_by
        model = nk.load(run)
        assert sorted(model.predict(["river fish water", "loan debt money"]).column("topic").to_pylist()) == [0, 1]
        page = str(nk.report(run))
        port = server.url.split(":")[2].split("/")[0]
        assert f"We embedded 60 documents with m, served by 127.0.0.1:{port}, and" in page
        assert "The weights of the encoder" not in page
        assert KEY not in page + json.dumps(manifest)
        with pytest.raises(UsageError, match="the run was fitted with"):
            nk.load(run).predict(texts[:2], encoder=f"{server.url}#another")
        server.reply = lambda body: (200, embedded(body["input"], dim=16))
        with pytest.raises(MissingError, match="are not those the run was fitted with"):
            nk.load(run).predict(["river boat"])


def test_other_commands_take_an_address() -> None:
    texts = [(RIVERS if i % 2 else BANKS) + f" {i}" for i in range(40)]
    labelled = pa.table({"text": texts, "label": ["water" if i % 2 else "bank" for i in range(40)]})
    with serving(good) as server:
        encoder = EncoderOptions(encoder=f"{server.url}#m")
        answers = nk.zero_shot(texts, labels="water: river water; bank: money loan", encoder=encoder)
        assert answers.documents.column("prediction").to_pylist() == labelled.column("label").to_pylist()
        classifier = nk.train_classifier(labelled, on="embedding", encoder=encoder)
        table = classifier.predict(["river fish", "loan debt"])
        assert table.column("prediction").to_pylist() == ["water", "bank"]
        similar = nk.similar(texts, "a fish in the river", encoder=encoder, top=2)
        assert "river" in str(similar.table().to_pylist()[0])
