"""An embedding server on this machine that speaks every protocol, and misbehaves as it is told to.

    with Server() as server:
        server.then(Reply(status=429, headers={"Retry-After": "0.2"}))     the next request
        server.url, server.requests, server.texts

Vectors are those of the mock, twice as long, so that a test sees whether they were normalised.
"""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any

from omnigraph.embedding import mock_vector

KEY = "sk-very-secret-0123456789abcdef"


@dataclass
class Reply:
    """How a request is answered, if not as it should be."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Instead of vectors."""
    cut: int | None = None
    """Close the connection after so many bytes of the body."""
    wait: float = 0.0
    drip: float = 0.0
    """Seconds between two bytes."""
    dimension: int | None = None
    count: int | None = None
    number: object = None
    """The first number of every vector."""
    zero: bool = False


@dataclass
class Request:
    """What a client said."""

    path: str
    headers: Mapping[str, str]
    body: Any
    texts: list[str]
    at: float


class Server:
    """The server. Everything that was asked is noted down."""

    def __init__(self, latency: float = 0.0) -> None:
        self.latency = latency
        self.requests: list[Request] = []
        self.texts: Counter[str] = Counter()
        """Texts that were answered."""
        self.under_way = self.most_under_way = 0
        self.always: Reply | None = None
        self._next: deque[Reply] = deque()
        self._lock = Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def then(self, *replies: Reply) -> None:
        """The next requests are answered so."""
        with self._lock:
            self._next.extend(replies)

    def __enter__(self) -> Server:
        Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # headers and body in one packet

            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                texts, dimension, answer = _understood(self.path, body)
                with server._lock:
                    server.requests.append(Request(self.path, dict(self.headers), body, texts, time.monotonic()))
                    server.under_way += 1
                    server.most_under_way = max(server.most_under_way, server.under_way)
                    reply = server._next.popleft() if server._next else server.always or Reply()
                try:
                    time.sleep(server.latency + reply.wait)
                    self._answer(reply, texts, dimension, answer)
                finally:
                    with server._lock:
                        server.under_way -= 1

            def _answer(self, reply: Reply, texts: list[str], dimension: int, answer: Any) -> None:
                data = reply.body
                if data is None and reply.status == 200:
                    chosen = texts if reply.count is None else (texts * 2)[: reply.count]
                    vectors: list[list[Any]] = [[2 * x for x in mock_vector(t, reply.dimension or dimension)] for t in chosen]
                    for vector in vectors:
                        vector[0] = vector[0] if reply.number is None else reply.number
                        vector[:] = [0.0] * len(vector) if reply.zero else vector
                    data = json.dumps(answer(vectors)).encode()
                data = data or b'{"error": "no"}'
                try:
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    if reply.cut is not None:
                        self.wfile.write(data[: reply.cut])
                        self.close_connection = True
                        return
                    if reply.drip:
                        for byte in data:
                            self.wfile.write(bytes([byte]))
                            self.wfile.flush()
                            time.sleep(reply.drip)
                    else:
                        self.wfile.write(data)
                    self.wfile.flush()
                except OSError:  # the client has gone
                    self.close_connection = True
                    return
                if reply.status == 200:
                    with server._lock:
                        server.texts.update(texts)

        return Handler


def _understood(path: str, body: Any) -> tuple[list[str], int, Any]:
    """Texts, dimension, and how the vectors are answered, by the protocol of the path."""
    if path.endswith("/embeddings"):
        assert set(body) == {"model", "input", "dimensions"}

        def openai(vectors: list[list[float]]) -> object:
            items = [{"object": "embedding", "index": at, "embedding": v} for at, v in enumerate(vectors)]
            tokens = sum(len(t.split()) for t in body["input"])
            return {"data": items[::-1], "model": body["model"], "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}

        return body["input"], body["dimensions"], openai
    if path.endswith(":embedContent"):
        text = body["content"]["parts"][0]["text"]
        return [text], body["outputDimensionality"], lambda vectors: {"embedding": {"values": vectors[0]}}
    if path.endswith(":batchEmbedContents"):
        each = body["requests"]
        texts = [one["content"]["parts"][0]["text"] for one in each]
        return texts, each[0]["outputDimensionality"], lambda vectors: {"embeddings": [{"values": v} for v in vectors]}
    if path.endswith("/api/embed"):
        return body["input"], body["dimensions"], lambda vectors: {"embeddings": vectors, "prompt_eval_count": len(vectors)}
    assert path.endswith("/embed")
    units = {"billed_units": {"input_tokens": len(body["texts"])}}
    return body["texts"], body["output_dimension"], lambda vectors: {"embeddings": {"float": vectors}, "meta": units}
