"""Answers of a language model at an address that speaks OpenAI's protocol (ollama, llama.cpp, vLLM …), kept on disk by question."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from nlpkit.errors import InputError, MissingError
from nlpkit.platform.llm_options import LIKELY_TOKENS, Answer, json_object
from nlpkit.platform.plain import to_json
from nlpkit.platform.runs.atomic import atomic_file
from nlpkit.platform.web import NotTakenError, ask, endpoint, without_key

ANSWER_TOKENS = 200
THINKING_TOKENS = (4096, 16384)  # of a model that thinks first: asked for when an answer was cut off
LOOP = 40  # characters that small models write again and again
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
    return endpoint(url, "chat/completions", "llm")


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
    `max_completion_tokens` instead of `max_tokens`, and no temperature. A model whose answer was cut off may write more from then on,
    unless answer_tokens says how much. extra: further fields of a question; None leaves one out.
    """

    url: str
    name: str
    timeout: float = 60.0
    seed: int = 42
    temperature: int = 0
    with_tokens: bool = False
    answer_tokens: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    _form: dict[str, Any] = field(default_factory=dict, init=False)
    _may_write_more: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        """Begin with what most servers take."""
        self._form, self._may_write_more = self._usual(), self.answer_tokens is None

    def _usual(self) -> dict[str, Any]:
        """Return what is sent beside the messages at first."""
        usual = {"temperature": self.temperature, "seed": self.seed, "max_tokens": self.answer_tokens or ANSWER_TOKENS}
        return {name: value for name, value in {**usual, **self.extra}.items() if value is not None}

    def identity(self) -> str:
        """Return the address and what is sent beside the messages at first."""
        body = {"model": self.name, "messages": [], **self._usual(), **self._of_tokens()}
        return to_json([chat_address(self.url), body])

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
            if 0 < self._form.get(self._length_name(), 0) < tokens:
                self._form[self._length_name()] = tokens
                try:
                    answer = self._answer(self._asked(messages))
                except NotTakenError:  # it has no room for as many
                    break
        if _is_unfinished(answer):
            self._form, self._may_write_more = usual, False
        return answer

    def _asked(self, messages: Messages) -> bytes:
        """Return what the server sends to messages, which are sent otherwise when it refuses something else about them."""
        for _ in _CAN_CHANGE:
            try:
                return self._post({"model": self.name, "messages": list(messages), **self._form, **self._of_tokens()})
            except NotTakenError as refusal:
                if not self._sent_otherwise(_parameter_named(refusal, self._form)):
                    raise
        return self._post({"model": self.name, "messages": list(messages), **self._form, **self._of_tokens()})

    def _sent_otherwise(self, refused: str | None) -> bool:
        """Change what is sent beside the messages where a server refuses a part of it; return whether that was possible."""
        if refused is None:
            return False
        length = self._form.pop(refused)
        if refused == "max_tokens":  # a model that thinks first, which takes no temperature either
            self._form.pop("temperature", None)
            self._form["max_completion_tokens"] = self.answer_tokens or max(length, THINKING_TOKENS[0])
        return True

    def _length_name(self) -> str:
        return "max_completion_tokens" if "max_completion_tokens" in self._form else "max_tokens"

    def _of_tokens(self) -> dict[str, Any]:
        return {"logprobs": True, "top_logprobs": LIKELY_TOKENS} if self.with_tokens else {}

    def _post(self, body: dict[str, Any]) -> bytes:
        return ask(chat_address(self.url), body, url=self.url, parameter="llm", timeout=self.timeout)

    def _answer(self, content: bytes) -> Answer:
        try:
            choice = json.loads(content)["choices"][0]
            text = choice["message"]["content"] or ""
            cut = choice.get("finish_reason") == "length"
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            text = None
        if not isinstance(text, str):
            shown = without_key(content[:80].decode("utf-8", "replace"))
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


def _parameter_named(refusal: NotTakenError, sent: dict[str, Any]) -> str | None:
    """Return which of the parameters that were sent a refusal names, None for none."""
    if refusal.code not in (400, 422):
        return None
    return next((name for name in _CAN_CHANGE if name in sent and re.search(rf"\b{name}\b", refusal.reply)), None)


def _is_unfinished(answer: Answer) -> bool:
    """Return whether an answer was cut off before it held what was asked for; one that repeats itself would not end later, either."""
    repeats = len(answer.text) > LOOP and answer.text.count(answer.text[-LOOP:]) > 2
    return answer.cut and not repeats and json_object(answer.text) is None
