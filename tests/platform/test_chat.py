"""A language model at an address that refuses, sends on, repeats the key, thinks first, sends without end or nonsense."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nlpkit.errors import InputError, MissingError, NlpkitError, UsageError
from nlpkit.lm.ask import CUT, language_model, say_cached, usable_answer
from nlpkit.platform import llm as chat
from nlpkit.platform import web
from nlpkit.platform.llm import THINKING_TOKENS, ChatModel, KeptAnswers
from nlpkit.platform.llm_options import LlmOptions, Messages, conversation, json_object, short_answer
from nlpkit.topics.name.llm import TopicSource, read_answer
from tests.llm_server import said, serving

QUESTION: Messages = conversation("Answer.", ["What?"])
GOOD = '{"name": "River trade", "evidence": "the river bank"}'
SOURCE = TopicSource(0, ["river"], ["Down by the river bank."])
KEY = "sk-SECRET-123"


@pytest.fixture(autouse=True)
def a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLPKIT_LLM_KEY", KEY)
    monkeypatch.setattr(web.time, "sleep", lambda _: None)


def refused(message: str, parameter: str | None = None) -> tuple[int, Any]:
    return 400, {"error": {"message": message, "type": "invalid_request_error", "param": parameter}}


def ended(text: str | None, reason: str) -> tuple[int, Any]:
    return 200, {"choices": [{"message": {"content": text}, "finish_reason": reason}]}


def reasoning(body: dict[str, Any]) -> tuple[int, Any]:
    """Answer as the models of OpenAI that think first: one complaint at a time."""
    if "max_tokens" in body:
        return refused(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            "max_tokens",
        )
    if body.get("temperature", 1) != 1:
        return refused(
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
        )
    return ended("", "length") if body["max_completion_tokens"] < 1000 else ended(GOOD, "stop")


def test_a_model_that_knows_no_max_tokens_and_no_temperature() -> None:  # TopicGPT#31, sttp-ai PR#494
    with serving(reasoning) as server:
        model = ChatModel(server.url, "gpt-5")
        before = model.identity()
        assert [model.complete(QUESTION).text for _ in range(3)] == [GOOD] * 3
    first, *rest = server.asked
    assert (first["max_tokens"], first["temperature"]) == (200, 0)
    assert len(rest) == 3  # the other form is asked for once, and remembered
    assert all("max_tokens" not in body and "temperature" not in body for body in rest)
    assert model.identity() == before  # answers that are kept are found again


@pytest.mark.parametrize(
    ("says", "sent", "left_out"),
    [
        ("temperature: Extra inputs are not permitted", "max_tokens", "temperature"),
        ("unknown field `seed`", "temperature", "seed"),
        ("'max_completion_tokens' only: max_tokens is deprecated", "max_completion_tokens", "max_tokens"),
    ],
)
def test_what_a_server_refuses_is_left_out(says: str, sent: str, left_out: str) -> None:
    with serving(lambda body: refused(says) if left_out in body else ended(GOOD, "stop")) as server:
        assert ChatModel(server.url, "m").complete(QUESTION).text == GOOD
    assert sent in server.asked[-1]


def test_a_refusal_of_something_else_is_said_at_once() -> None:
    with (
        serving(lambda _: refused("This model is not for you")) as server,
        pytest.raises(MissingError, match="not for you"),
    ):
        ChatModel(server.url, "m").complete(QUESTION)
    assert len(server.asked) == 1
    everything = " ".join(chat._CAN_CHANGE)
    with serving(lambda _: refused(everything)) as server, pytest.raises(MissingError, match="refused: 400"):
        ChatModel(server.url, "m").complete(QUESTION)  # and ends
    assert len(server.asked) <= len(chat._CAN_CHANGE) + 1


def thinking(needs: int) -> Any:
    thought = "<think>" + "".join(f"Hmm, the bank {i}. " for i in range(60))
    return lambda body: (
        ended(thought, "length") if body["max_tokens"] < needs else ended(f"{thought}</think>\n{GOOD}", "stop")
    )


@pytest.mark.parametrize(("needs", "asked"), [(200, 1), (1000, 2), (10_000, 3)])
def test_a_model_that_thinks_first_may_write_more(needs: int, asked: int) -> None:  # Qwen3, DeepSeek-R1, gpt-oss
    with serving(thinking(needs)) as server:
        model = ChatModel(server.url, "m")
        answers = [model.complete(QUESTION) for _ in range(3)]
    assert [read_answer(answer.text, SOURCE, []).name for answer in answers] == ["River trade"] * 3
    assert len(server.asked) == asked + 2  # the length is remembered


def test_an_answer_that_stays_cut_off_is_said_to_be(tmp_path: Path) -> None:
    with serving(thinking(10**9)) as server:
        model = KeptAnswers(ChatModel(server.url, "m"), tmp_path)
        answer = usable_answer(
            model,
            lambda complaint: conversation("", [complaint]),
            lambda a: read_answer(a.text, SOURCE, []),
            attempts=0,
        )
        assert answer.problem == CUT
        assert len(server.asked) == 1 + len(THINKING_TOKENS)
        model.answer(QUESTION)
        assert len(server.asked) == 2 + len(THINKING_TOKENS)  # that more does not help is remembered, too


def test_a_model_that_repeats_itself_is_not_asked_for_more() -> None:  # SmolLM2-135M: 4,096 tokens take minutes
    with serving(lambda _: ended("The topic is the river. " * 30, "length")) as server:
        assert ChatModel(server.url, "m").complete(QUESTION).cut
    assert len(server.asked) == 1


def test_a_server_without_room_for_more_keeps_the_short_answer() -> None:
    with serving(
        lambda body: (
            ended("<think>Hm", "length") if body["max_tokens"] < 300 else refused("maximum context length is 512")
        )
    ) as server:
        answer = ChatModel(server.url, "m").complete(QUESTION)
    assert answer.cut


@pytest.mark.parametrize(
    "text",
    ["<think>no {}</think>{json}", "no {} here</think>\n{json}", "<thinking>a</thinking> {json}", "{json}<think>cut"],
)
def test_thoughts_are_no_part_of_an_answer(text: str) -> None:
    assert json_object(text.replace("{json}", GOOD)) == json.loads(GOOD)
    assert short_answer(text.replace("{json}", "sports"), "label") == "sports"


def test_how_much_is_written_and_what_else_is_sent(tmp_path: Path) -> None:
    def asked(**options: Any) -> list[dict[str, Any]]:
        options = {"llm": server.url, "llm_model": "m", "llm_cache": tmp_path, **options}
        language_model(LlmOptions(**options), 7).answer(QUESTION)
        bodies, server.asked = server.asked, []
        return bodies

    with serving(thinking(10**9)) as server:
        (body,) = asked(llm_tokens=900)  # nothing more is asked for after a cut
        assert body["max_tokens"] == 900
    with serving(reasoning) as server:
        assert asked(llm_tokens=2000)[-1]["max_completion_tokens"] == 2000
        extra = '{"reasoning_effort": "low", "max_tokens": null, "temperature": 1, "max_completion_tokens": 5000}'
        (body,) = asked(llm_extra=extra)
        assert body == {
            "model": "m", "messages": QUESTION, "seed": 7, "temperature": 1, "reasoning_effort": "low", "max_completion_tokens": 5000,
        }  # fmt: skip
        assert asked(llm_extra=json.loads(extra)) == []  # the same question
        assert len(asked(llm_extra={"reasoning_effort": "high"})) == 2  # another one


@pytest.mark.parametrize(
    "extra", ["low", "[1]", '{"model": "x"}', '{"messages": []}', '{"stream": true}', "{" * 100_000]
)
def test_fields_that_cannot_be_sent(extra: str) -> None:
    with pytest.raises(UsageError, match="llm_extra"):
        language_model(LlmOptions(llm="http://h/v1", llm_model="m", llm_extra=extra), 7)


def test_an_answer_without_evidence_is_not_one_with_wrong_evidence() -> None:
    assert (
        read_answer('{"name": "A"}', SOURCE, []).problem
        == "there is no evidence: a passage of the documents was needed"
    )
    assert (
        read_answer('{"name": "A", "evidence": "made up"}', SOURCE, []).problem
        == "the evidence is not a passage of the documents"
    )


def test_answers_that_could_not_be_used_are_asked_for_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")

    def ask() -> tuple[KeptAnswers, Any]:
        model = KeptAnswers(ChatModel(server.url, "m"), tmp_path)
        answer = usable_answer(
            model,
            lambda complaint: conversation("", [complaint]),
            lambda a: read_answer(a.text, SOURCE, []),
            attempts=2,
        )
        say_cached(model)
        return model, answer

    with serving(lambda _: (200, said("nonsense"))) as server:
        model, answer = ask()
        assert (model.calls, model.cached, bool(answer.problem), list(tmp_path.iterdir())) == (
            2,
            0,
            True,
            [],
        )  # equal complaints
        place = model._place(conversation("", [""]))
        place.write_text(
            json.dumps({"model": "m", "messages": conversation("", [""]), "answer": "kept by an older nlpkit"})
        )
        server.reply = lambda _: (200, said(GOOD))
        model, answer = ask()
        assert (model.calls, model.cached, answer.name) == (1, 1, "River trade")
        model, answer = ask()
        assert (model.calls, answer.name) == (0, "River trade")
        assert str(tmp_path) in caplog.text


@contextmanager
def raw_server(answer: Any) -> Iterator[str]:
    """Run a server whose handler is a function of the request."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            with suppress(OSError):
                answer(self)

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.block_on_close = True, False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def test_an_address_with_a_secret_is_refused() -> None:  # it is written into footers
    for url in ("http://user:pw@h/v1", "https://h/v1?api_key=sk-1"):
        with pytest.raises(UsageError, match="with a password or a query is not taken"):
            ChatModel(url, "m").complete(QUESTION)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(
    code: int,
) -> None:  # CVE-2018-18074 (requests), CVE-2018-1000007 (curl): the key went along
    def send_on(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        handler.send_header("Location", f"{thief.url}/steal?was={KEY}")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with serving(lambda _: (200, said(GOOD))) as thief, raw_server(send_on) as url:
        with pytest.raises(MissingError, match=rf"redirects to http://127.0.0.1:\d+/v1/steal\?was=… \({code}\)"):
            ChatModel(url, "m").complete(QUESTION)
        assert thief.asked == []


def test_a_server_that_never_ends_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def flood(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b"x" * 65536)

    monkeypatch.setattr(web, "MOST_BYTES", 2**20)
    with raw_server(flood) as url, pytest.raises(InputError, match="more than 1 MB"):
        ChatModel(url, "m").complete(QUESTION)


@pytest.mark.parametrize("part", ["headers", "body", "refusal"])
def test_a_server_that_drips_is_late(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(
            b"HTTP/1.0 %d OK\r\n" % (400 if part == "refusal" else 200) + (b"X: " if part == "headers" else b"\r\n")
        )
        for _ in range(200):
            handler.wfile.write(b"y")
            handler.wfile.flush()
            pause.wait(0.05)

    monkeypatch.setattr(web, "TRIES", 1)
    pause = threading.Event()
    began = time.monotonic()
    with raw_server(drip) as url, pytest.raises(MissingError, match="did not answer within"):
        ChatModel(url, "m", timeout=0.5).complete(QUESTION)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "reply",
    [
        (401, {"error": f"invalid key: Bearer {KEY}"}),
        (500, f"key {KEY} crashed".encode()),
        (200, f"you sent {KEY}".encode()),
        (200, {"choices": KEY}),
        (200, b"[" * 2_000_000),
        (200, {"choices": [{"message": {"content": 3}}]}),
        (200, {"choices": [[]]}),
        (200, b"\xff\xfe"),
        (200, b""),
    ],
)
def test_an_answer_that_is_none_is_said_without_the_key(reply: tuple[int, Any]) -> None:
    with serving(lambda _: reply) as server, pytest.raises(NlpkitError) as raised:
        ChatModel(server.url, "m").complete(QUESTION)
    assert raised.value.exit_code in (3, 4)
    assert KEY not in str(raised.value)


def test_a_server_that_hangs_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    with pytest.raises(MissingError, match="cannot be reached"):
        ChatModel(f"http://127.0.0.1:{port}/v1", "m").complete(QUESTION)
