"""Questions sent to a language model over the web: the address speaks OpenAI's protocol, and answers are kept on disk.

Parts, in this order:
- A request to a web address whose answer is bounded, in bytes and in seconds from its beginning to its end; it is sent
  nowhere else.
- Answers of a language model at an address that speaks OpenAI's protocol (ollama, llama.cpp, vLLM …), kept on disk by
  question.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import logging
import os
import queue
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from nlpkit.errors import InputError, MissingError, UsageError, first_line
from nlpkit.platform.llm_options import KEYS, LIKELY_TOKENS, Answer, json_object
from nlpkit.platform.plain import to_json
from nlpkit.platform.runs.atomic import atomic_file

PIECE = 1 << 16
REFUSAL_BYTES = 2000  # that are read of a refusal


class RefusedError(Exception):
    """A server answers with a code of 300 or more; reply: the beginning of what it says, or the name of the code."""

    def __init__(self, code: int, reply: str, headers: Message) -> None:
        """Take the parts of the answer."""
        super().__init__(reply)
        self.code, self.reply, self.headers = code, reply, headers


class _FollowsNothing(urllib.request.HTTPRedirectHandler):
    """Leaves an answer that sends on as it is: urllib would take the key along, to any host."""

    def redirect_request(self, *args: Any, **options: Any) -> None:
        return None


_opener = urllib.request.build_opener(_FollowsNothing)


def post(address: str, content: bytes, headers: Mapping[str, str], *, timeout: float, most_bytes: int) -> bytes:
    """Return what a server answers to a POST.

    The request runs in a thread of its own: a server that sends a byte now and then is never late for a socket.

    Raises:
        RefusedError: it refuses, or sends on to another place; TimeoutError: it is not done after `timeout` seconds;
        OverflowError: it sends more than `most_bytes`; OSError, http.client.HTTPException, ValueError: it cannot be reached.
    """
    request = urllib.request.Request(address, content, dict(headers))
    outcome: queue.SimpleQueue[bytes | BaseException] = queue.SimpleQueue()

    def run() -> None:
        try:
            outcome.put(_read(request, timeout, most_bytes))
        except BaseException as error:
            outcome.put(error)

    threading.Thread(target=run, daemon=True, name="nlpkit post").start()
    try:
        answer = outcome.get(timeout=timeout)
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(answer, urllib.error.URLError) and isinstance(answer.reason, TimeoutError):
        raise TimeoutError
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _read(request: urllib.request.Request, timeout: float, most_bytes: int) -> bytes:
    until = time.monotonic() + timeout
    pieces, n_bytes = [], 0
    try:
        opened = _opener.open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        with error:
            reply = error.read(REFUSAL_BYTES).decode("utf-8", "replace").strip()
        raise RefusedError(error.code, reply or str(error.reason), error.headers) from None
    with opened as response:
        while piece := response.read1(PIECE):
            pieces.append(piece)
            n_bytes += len(piece)
            if n_bytes > most_bytes:
                raise OverflowError
            if time.monotonic() > until:
                raise TimeoutError
    if response.length:  # of the bytes that were announced
        raise ConnectionError(f"it ended {response.length:,} bytes before its end")
    return b"".join(pieces)


# ------------------------------------------------------------------------------------------------------------------------
# Answers of a language model at an address that speaks OpenAI's protocol (ollama, llama.cpp, vLLM …), kept on disk by question.

TRIES = 4
LONGEST_WAIT = 60.0
ANSWER_TOKENS = 200
THINKING_TOKENS = (4096, 16384)  # of a model that thinks first: asked for when an answer was cut off
MOST_BYTES = 16 * 2**20  # of an answer, with the probabilities of its tokens
_CAN_CHANGE = (
    "max_completion_tokens",
    "max_tokens",
    "temperature",
    "seed",
)  # what a server may refuse, and is sent otherwise

Messages = Sequence[dict[str, str]]

log = logging.getLogger("nlpkit.io")


def chat_address(url: str) -> str:
    """Return the address of the chat completions of a server. Raises UsageError when it is no web address."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"`llm={url}` is not an address; give one such as http://localhost:11434/v1", parameter="llm")
    path = url.rstrip("/")
    if path.endswith("/chat/completions"):
        return path
    return f"{path}/chat/completions" if parts.path.strip("/") else f"{path}/v1/chat/completions"


def usual_cache() -> Path:
    """Return the folder where answers are kept: nlpkit/llm in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nlpkit" / "llm"


class AnswersQuestions(Protocol):
    """A language model: its name, and what its answers depend on beside the messages."""

    @property
    def name(self) -> str:
        """What the model is called."""

    def identity(self) -> str:
        """Return what its answers depend on beside the messages."""

    def complete(self, messages: Messages) -> Answer:
        """Return the answer to messages."""


@dataclass
class KeptAnswers:
    """A language model whose answers are kept in a folder by the question, so that a question is paid for once.

    calls, cached: answers that were asked for, and that were there before. An answer on disk that is damaged is asked for anew.
    """

    model: AnswersQuestions
    folder: Path
    calls: int = field(default=0, init=False)
    cached: int = field(default=0, init=False)
    _given: dict[Path, Answer] = field(default_factory=dict, init=False)
    _asked: set[Path] = field(default_factory=set, init=False)

    def answer(self, messages: Messages) -> Answer:
        """Return the answer to messages. Raises what the model raises."""
        place = self._place(messages)
        if place in self._given:
            return self._given[place]
        kept = self.kept(messages)
        if kept is not None:
            self.cached += 1
            self._given[place] = kept
            return kept
        answer = self.model.complete(messages)
        self.calls += 1
        self._asked.add(place)
        self._given[place] = answer
        place.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(place, force=True) as part:
            part.write_text(
                to_json(
                    {
                        "model": self.model.name,
                        "messages": list(messages),
                        "answer": answer.text,
                        **({"tokens": answer.tokens} if answer.tokens else {}),
                    }
                )
                + "\n",
                encoding="utf-8",
                newline="\n",
            )
        return answer

    def forget(self, messages: Messages) -> bool:
        """Keep the answer to messages no longer on disk; return whether it came from there, so that they are asked anew."""
        place = self._place(messages)
        place.unlink(missing_ok=True)
        if place in self._asked or place not in self._given:
            return False
        self.cached -= 1
        del self._given[place]
        return True

    def kept(self, messages: Messages) -> Answer | None:
        """Return the answer on disk that was given to messages before, None where there is none."""
        place = self._place(messages)
        if not place.is_file():
            return None
        try:
            value = json.loads(place.read_text(encoding="utf-8"))
            if value["messages"] == list(messages) and isinstance(value["answer"], str):
                tokens = tuple((str(token), dict(likely)) for token, likely in value.get("tokens", ()))
                return Answer(value["answer"], tokens)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass
        log.warning("%s is damaged; its question is asked again", place)
        return None

    def _place(self, messages: Messages) -> Path:
        question = to_json([self.model.identity(), list(messages)])
        return self.folder / f"{hashlib.sha256(question.encode()).hexdigest()}.json"


@dataclass
class ChatModel:
    """A language model at an address; with_tokens: the probabilities of its tokens are asked for, too.

    What a server refuses of a question is sent otherwise, and so in all that follow: the models of OpenAI that think first know
    `max_completion_tokens` instead of `max_tokens`, and no temperature. A model whose answer was cut off may write more from then on.
    """

    url: str
    name: str
    timeout: float = 60.0
    seed: int = 42
    temperature: int = 0
    with_tokens: bool = False
    _form: dict[str, Any] = field(default_factory=dict, init=False)
    _may_write_more: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        """Begin with what most servers take."""
        self._form = {"temperature": self.temperature, "seed": self.seed, "max_tokens": ANSWER_TOKENS}

    def identity(self) -> str:
        """Return the address and what is sent beside the messages at first."""
        usual = {"temperature": self.temperature, "seed": self.seed, "max_tokens": ANSWER_TOKENS}
        return to_json([chat_address(self.url), {"model": self.name, "messages": [], **usual, **self._of_tokens()}])

    def complete(self, messages: Messages) -> Answer:
        """Return the answer to messages, an empty one where the server says null, as for a question it refuses.

        An answer that was cut off is asked for again with more tokens, as long as the server takes that.

        Raises:
            MissingError: the server cannot be reached, does not answer in time, refuses, or does not send the probabilities of tokens
            that were asked for; InputError: its answer is none.
        """
        answer = self._answer(self._asked(messages))
        usual = dict(self._form)
        for tokens in THINKING_TOKENS if self._may_write_more else ():
            if not _is_unfinished(answer):
                return answer
            if tokens > self._form.get(self._length_name(), 0):
                self._form[self._length_name()] = tokens
                try:
                    answer = self._answer(self._asked(messages))
                except _NotTakenError:  # it has no room for as many
                    break
        if _is_unfinished(answer):
            self._form, self._may_write_more = usual, False
        return answer

    def _asked(self, messages: Messages) -> bytes:
        """Return what the server sends to messages, which are sent otherwise when it refuses something else about them."""
        for _ in _CAN_CHANGE:
            try:
                return self._post({"model": self.name, "messages": list(messages), **self._form, **self._of_tokens()})
            except _NotTakenError as refusal:
                if not self._sent_otherwise(refusal.parameter_named(self._form)):
                    raise
        return self._post({"model": self.name, "messages": list(messages), **self._form, **self._of_tokens()})

    def _sent_otherwise(self, refused: str | None) -> bool:
        """Change what is sent beside the messages where a server refuses a part of it; return whether that was possible."""
        if refused is None:
            return False
        length = self._form.pop(refused)
        if refused == "max_tokens":  # a model that thinks first, which takes no temperature either
            self._form.pop("temperature", None)
            self._form["max_completion_tokens"] = max(length, THINKING_TOKENS[0])
        return True

    def _length_name(self) -> str:
        return "max_completion_tokens" if "max_completion_tokens" in self._form else "max_tokens"

    def _of_tokens(self) -> dict[str, Any]:
        return {"logprobs": True, "top_logprobs": LIKELY_TOKENS} if self.with_tokens else {}

    def _post(self, body: dict[str, Any]) -> bytes:
        """Return what the server sends; a full or failing one is asked again, after as long as it says."""
        headers = {"Content-Type": "application/json"}
        if key := _key():
            headers["Authorization"] = f"Bearer {key}"
        address, content = chat_address(self.url), to_json(body).encode()
        for attempt in range(1, TRIES + 1):
            try:
                return post(address, content, headers, timeout=self.timeout, most_bytes=MOST_BYTES)
            except RefusedError as error:
                if attempt == TRIES or not (error.code == 429 or error.code >= 500):
                    raise self._refusal(error) from None
                time.sleep(_wait(error.headers.get("Retry-After"), attempt))
            except TimeoutError:
                if attempt == TRIES:
                    raise MissingError(
                        f"{self.url} did not answer within {self.timeout:g} seconds, {TRIES} times; raise `timeout`",
                        parameter="llm",
                    ) from None
            except OverflowError:
                raise InputError(
                    f"{self.url} sent more than {MOST_BYTES // 2**20} MB for one answer; is it the address of a language model?",
                    parameter="llm",
                ) from None
            except (http.client.HTTPException, OSError, ValueError) as error:
                reason = _without_key(str(getattr(error, "reason", error)))
                raise MissingError(
                    f"{self.url} cannot be reached ({reason}); is the server running?", parameter="llm"
                ) from None
        raise AssertionError("the last try returns or raises")

    def _refusal(self, error: RefusedError) -> MissingError:
        """Return the error for an answer that is none, without the key, which a server may repeat."""
        if 300 <= error.code < 400:
            place = _without_key(str(error.headers.get("Location")))
            return MissingError(
                f"{self.url} redirects to {place} ({error.code}). nlpkit does not follow it, because it would "
                "receive the key and the texts; name that address if you trust it",
                parameter="llm",
            )
        reply = _without_key(error.reply)
        message = first_line(ValueError(reply[:500]))
        hints = {
            401: f"; put its key into the environment as {KEYS[0]}",
            403: f"; put its key into the environment as {KEYS[0]}",
            404: f"; is '{self.name}' one of its models, and {chat_address(self.url)} its address?",
            429: "; its limit of requests is reached: run the command again later, what was answered is kept",
        }
        return _NotTakenError(
            f"{self.url} refused: {error.code} {message}{hints.get(error.code, '')}", error.code, reply
        )

    def _answer(self, content: bytes) -> Answer:
        try:
            choice = json.loads(content)["choices"][0]
            text = choice["message"]["content"] or ""
            cut = choice.get("finish_reason") == "length"
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            text = None
        if not isinstance(text, str):
            shown = _without_key(content[:80].decode("utf-8", "replace"))
            raise InputError(f"{self.url} sent no chat completion: {shown}", parameter="llm")
        if not (self.with_tokens and text):
            return Answer(text, cut=cut)
        try:
            tokens = tuple(
                (str(one["token"]), {str(other["token"]): float(other["logprob"]) for other in one["top_logprobs"]})
                for one in choice["logprobs"]["content"]
            )
        except (ValueError, LookupError, TypeError, AttributeError):
            tokens = ()
        if not tokens:
            raise MissingError(
                f"{self.url} does not send the probabilities of tokens; leave `expected` out", parameter="expected"
            )
        return Answer(text, tokens, cut)


class _NotTakenError(MissingError):
    """A server does not take a question as it is."""

    def __init__(self, message: str, code: int, reply: str) -> None:
        super().__init__(message, parameter="llm")
        self._code, self._reply = code, reply

    def parameter_named(self, sent: dict[str, Any]) -> str | None:
        """Return which of the parameters that were sent it names, None for none."""
        if self._code not in (400, 422):
            return None
        return next((name for name in _CAN_CHANGE if name in sent and re.search(rf"\b{name}\b", self._reply)), None)


def _is_unfinished(answer: Answer) -> bool:
    """Return whether an answer was cut off before it held what was asked for."""
    return answer.cut and json_object(answer.text) is None


def _key() -> str | None:
    return next(filter(None, map(os.environ.get, KEYS)), None)


def _without_key(text: str) -> str:
    """Return a text of a server without the key that it was sent."""
    key = _key()
    return text.replace(key, "…") if key else text


def _wait(retry_after: str | None, attempt: int) -> float:
    try:
        wait = float(retry_after or "")
    except ValueError:
        wait = 2.0**attempt
    return min(max(wait, 0.0), LONGEST_WAIT) if wait == wait else LONGEST_WAIT
