"""Answers of a language model at an address that speaks OpenAI's protocol (ollama, llama.cpp, vLLM …), kept on disk by question."""

from __future__ import annotations

import hashlib
import http.client
import json
import logging
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from nlpkit.errors import InputError, MissingError, UsageError, first_line
from nlpkit.io.atomic import atomic_file
from nlpkit.lm.questions import LIKELY_TOKENS, Answer
from nlpkit.plain import to_json

TRIES = 4
LONGEST_WAIT = 60.0
KEYS = ("NLPKIT_LLM_KEY", "OPENAI_API_KEY")
ANSWER_TOKENS = 200

Messages = Sequence[dict[str, str]]

log = logging.getLogger("nlpkit.io")


def chat_address(url: str) -> str:
    """Return the address of the chat completions of a server. Raises UsageError when it is no web address."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"`llm={url}` is no address; give one such as http://localhost:11434/v1", parameter="llm")
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
    _asked: set[Path] = field(default_factory=set, init=False)

    def answer(self, messages: Messages) -> Answer:
        """Return the answer to messages. Raises what the model raises."""
        kept, place = self.kept(messages), self._place(messages)
        if kept is not None:
            self.cached += place not in self._asked
            return kept
        answer = self.model.complete(messages)
        self.calls += 1
        self._asked.add(place)
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
            )
        return answer

    def kept(self, messages: Messages) -> Answer | None:
        """Return the answer that was given to messages before, None where there is none."""
        place = self._place(messages)
        if not place.is_file():
            return None
        try:
            value = json.loads(place.read_text(encoding="utf-8"))
            if value["messages"] == list(messages) and isinstance(value["answer"], str):
                tokens = tuple((str(token), dict(likely)) for token, likely in value.get("tokens", ()))
                return Answer(value["answer"], tokens)
        except (ValueError, LookupError, TypeError):
            pass
        log.warning("%s is damaged; its question is asked again", place)
        return None

    def _place(self, messages: Messages) -> Path:
        question = to_json([self.model.identity(), list(messages)])
        return self.folder / f"{hashlib.sha256(question.encode()).hexdigest()}.json"


@dataclass(frozen=True)
class ChatModel:
    """A language model at an address; with_tokens: the probabilities of its tokens are asked for, too."""

    url: str
    name: str
    timeout: float = 60.0
    seed: int = 42
    temperature: int = 0
    with_tokens: bool = False

    def identity(self) -> str:
        """Return the address and what is sent beside the messages."""
        return to_json([chat_address(self.url), self._body([])])

    def complete(self, messages: Messages) -> Answer:
        """Return the answer to messages, an empty one where the server says null, as for a question it refuses.

        Raises:
            MissingError: the server cannot be reached, does not answer in time, refuses, or does not send the probabilities of tokens
            that were asked for; InputError: its answer is none.
        """
        return self._answer(self._post(self._body(messages)))

    def _body(self, messages: Messages) -> dict[str, Any]:
        tokens = {"logprobs": True, "top_logprobs": LIKELY_TOKENS} if self.with_tokens else {}
        return {
            "model": self.name, "messages": list(messages), "temperature": self.temperature, "seed": self.seed, "max_tokens": ANSWER_TOKENS,
            **tokens,
        }  # fmt: skip

    def _post(self, body: dict[str, Any]) -> bytes:
        """Return what the server sends; a full or failing one is asked again, after as long as it says."""
        headers = {"Content-Type": "application/json"}
        key = next(filter(None, map(os.environ.get, KEYS)), None)
        if key:
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(chat_address(self.url), to_json(body).encode(), headers)
        for attempt in range(1, TRIES + 1):
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as response:
                    content: bytes = response.read()
                    return content
            except urllib.error.HTTPError as error:
                if attempt == TRIES or not (error.code == 429 or error.code >= 500):
                    raise MissingError(self._refusal(error), parameter="llm") from None
                time.sleep(_wait(error.headers.get("Retry-After"), attempt))
            except TimeoutError:
                if attempt == TRIES:
                    raise MissingError(
                        f"{self.url} did not answer within {self.timeout:g} seconds, {TRIES} times; raise `timeout`",
                        parameter="llm",
                    ) from None
            except (http.client.HTTPException, OSError) as error:
                reason = getattr(error, "reason", error)
                if isinstance(reason, TimeoutError) and attempt < TRIES:
                    continue
                raise MissingError(
                    f"{self.url} cannot be reached ({reason}); is the server running?", parameter="llm"
                ) from None
        raise AssertionError("the last try returns or raises")

    def _refusal(self, error: urllib.error.HTTPError) -> str:
        message = first_line(ValueError(error.read(500).decode("utf-8", "replace").strip() or error.reason))
        hints = {
            401: f"; put its key into the environment as {KEYS[0]}",
            403: f"; put its key into the environment as {KEYS[0]}",
            404: f"; is '{self.name}' one of its models, and {chat_address(self.url)} its address?",
            429: "; its limit of requests is reached: run the command again later, what was answered is kept",
        }
        return f"{self.url} refused: {error.code} {message}{hints.get(error.code, '')}"

    def _answer(self, content: bytes) -> Answer:
        try:
            choice = json.loads(content)["choices"][0]
            text = choice["message"]["content"] or ""
        except (ValueError, LookupError, TypeError):
            text = None
        if not isinstance(text, str):
            shown = content[:80].decode("utf-8", "replace")
            raise InputError(f"{self.url} sent no chat completion: {shown}", parameter="llm")
        if not (self.with_tokens and text):
            return Answer(text)
        try:
            tokens = tuple(
                (str(one["token"]), {str(other["token"]): float(other["logprob"]) for other in one["top_logprobs"]})
                for one in choice["logprobs"]["content"]
            )
        except (ValueError, LookupError, TypeError):
            tokens = ()
        if not tokens:
            raise MissingError(
                f"{self.url} does not send the probabilities of tokens; leave `expected` out", parameter="expected"
            )
        return Answer(text, tokens)


def _wait(retry_after: str | None, attempt: int) -> float:
    try:
        return min(float(retry_after or ""), LONGEST_WAIT)
    except ValueError:
        return min(2.0**attempt, LONGEST_WAIT)
