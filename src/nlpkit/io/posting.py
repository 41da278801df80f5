"""A request to a web address whose answer is bounded, in bytes and in seconds from its beginning to its end; it is sent nowhere else."""

from __future__ import annotations

import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from typing import Any

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
