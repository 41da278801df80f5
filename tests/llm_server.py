"""A server on this machine that speaks OpenAI's protocol, for tests of what language models and encoders at addresses are asked."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[dict[str, Any]], tuple[int, Any]]


class Server:
    """A server on this machine that answers as it is told, and keeps what it was asked."""

    def __init__(self, reply: Reply, port: int = 0) -> None:
        self.reply = reply
        self.asked: list[dict[str, Any]] = []
        self.headers: list[Any] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(body)
                outer.headers.append((self.path, self.headers))
                status, content = outer.reply(body)
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Retry-After", "0")
                self.send_header("Content-Length", str(len(data)))
                with suppress(ConnectionError):  # of a client that has waited long enough
                    self.end_headers()
                    self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def said(text: str | None) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


@contextmanager
def serving(reply: Reply) -> Iterator[Server]:
    started = Server(reply)
    try:
        yield started
    finally:
        started.server.shutdown()
        started.server.server_close()


def embedded(texts: list[str], dim: int = 32) -> dict[str, Any]:
    """Return an answer of /v1/embeddings: a text is the sum of the directions of its words, in reverse order as servers may send them."""
    rows = []
    for i, text in enumerate(texts):
        vector = [0.0] * dim
        for word in text.lower().split():
            vector[zlib.crc32(word.strip(".,?!").encode()) % dim] += 1.0
        rows.append({"object": "embedding", "index": i, "embedding": vector})
    return {"object": "list", "data": rows[::-1], "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
