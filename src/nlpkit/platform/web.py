"""Requests to an address that speaks OpenAI's protocol: bounded, repeated where the server is full, and sent nowhere else.

An answer is bounded in bytes, and in seconds from its beginning to its end. The key of a server comes from the environment. It is in
no message and in no file.
"""

from __future__ import annotations

import http.client
import os
import queue
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from typing import Any
from urllib.parse import urlsplit

from nlpkit.errors import InputError, MissingError, UsageError, first_line
from nlpkit.platform.llm_options import KEYS
from nlpkit.platform.plain import to_json

PIECE = 1 << 16
REFUSAL_BYTES = 2000  # that are read of a refusal
TRIES = 4
LONGEST_WAIT = 60.0
MOST_BYTES = 64 * 2**20  # of an answer
# Of a refusal that stays, also where llama.cpp gives it the code 500.
TOO_LONG = re.compile(
    r"too (long|large)|context (length|size|window)|exceed|max\w* (input )?(length|tokens)", re.IGNORECASE
)


def endpoint(url: str, path: str, parameter: str) -> str:
    """Return the address of a service of a server, such as chat/completions.

    Raises:
        UsageError: it is no web address, or holds a password or a query, which would be written into files.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(
            f"`{parameter}={url}` is not an address; give one such as http://localhost:11434/v1", parameter=parameter
        )
    if "@" in parts.netloc or parts.query:
        raise UsageError(
            f"`{parameter}`: an address with a password or a query is not taken, because it is written into files; put the key into the "
            f"environment as {KEYS[0]}",
            parameter=parameter,
        )
    whole = url.rstrip("/")
    if whole.endswith(f"/{path}"):
        return whole
    return f"{whole}/{path}" if parts.path.strip("/") else f"{whole}/v1/{path}"


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


class NotTakenError(MissingError):
    """A server does not take a question as it is. code: of its answer; reply: what it says."""

    def __init__(self, message: str, parameter: str, code: int, reply: str) -> None:
        """Take the message, the option that named the server, and the parts of the answer."""
        super().__init__(message, parameter=parameter)
        self.code, self.reply = code, reply


def ask(address: str, body: Mapping[str, Any], *, url: str, parameter: str, timeout: float) -> bytes:
    """Return what a server sends to a question; a full or failing one is asked again, after as long as it says.

    Args:
        address: of the service. body: the question; its `model` is named in messages. url: what a person typed, for messages.
        parameter: the option that named it. timeout: seconds of one try.

    Raises:
        NotTakenError: it refuses; MissingError: it cannot be reached, does not answer in time, or sends on to another place; InputError:
        its answer is too large.
    """
    headers = {"Content-Type": "application/json"}
    if key := _key():
        headers["Authorization"] = f"Bearer {key}"
    content = to_json(body).encode()
    for attempt in range(1, TRIES + 1):
        try:
            return post(address, content, headers, timeout=timeout, most_bytes=MOST_BYTES)
        except RefusedError as error:
            passes = error.code == 429 or (error.code >= 500 and not TOO_LONG.search(error.reply))
            if attempt == TRIES or not passes:
                raise _refusal(error, address, body, url, parameter) from None
            time.sleep(_wait(error.headers.get("Retry-After"), attempt))
        except TimeoutError:
            if attempt == TRIES:
                remedy = "; raise `timeout`" if parameter == "llm" else "; is it busy?"
                raise MissingError(
                    f"{url} did not answer within {timeout:g} seconds, {TRIES} times{remedy}", parameter=parameter
                ) from None
        except OverflowError:
            raise InputError(
                f"{url} sent more than {MOST_BYTES // 2**20} MB for one answer; is it the address of a language model?",
                parameter=parameter,
            ) from None
        except (http.client.HTTPException, OSError, ValueError) as error:
            reason = without_key(str(getattr(error, "reason", error)))
            raise MissingError(
                f"{url} cannot be reached ({reason}); is the server running?", parameter=parameter
            ) from None
    raise AssertionError("the last try returns or raises")


def _refusal(error: RefusedError, address: str, body: Mapping[str, Any], url: str, parameter: str) -> MissingError:
    """Return the error for an answer that is none, without the key, which a server may repeat."""
    if 300 <= error.code < 400:
        place = without_key(str(error.headers.get("Location")))
        return MissingError(
            f"{url} redirects to {place} ({error.code}). nlpkit does not follow it, because it would "
            "receive the key and the texts; name that address if you trust it",
            parameter=parameter,
        )
    reply = without_key(error.reply)
    message = first_line(ValueError(reply[:500]))
    hints = {
        401: f"; put its key into the environment as {KEYS[0]}",
        403: f"; put its key into the environment as {KEYS[0]}",
        404: f"; is '{body['model']}' one of its models, and {address} its address?",
        429: "; its limit of requests is reached: run the command again later, what was answered is kept",
    }
    return NotTakenError(
        f"{url} refused: {error.code} {message}{hints.get(error.code, '')}", parameter, error.code, reply
    )


def _key() -> str | None:
    return next(filter(None, map(os.environ.get, KEYS)), None)


def without_key(text: str) -> str:
    """Return a text of a server without the key that it was sent."""
    key = _key()
    return text.replace(key, "…") if key else text


def _wait(retry_after: str | None, attempt: int) -> float:
    try:
        wait = float(retry_after or "")
    except ValueError:
        wait = 2.0**attempt
    return min(max(wait, 0.0), LONGEST_WAIT) if wait == wait else LONGEST_WAIT
