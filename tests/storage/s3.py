"""A real S3 server on loopback (moto), with every request counted."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
from moto.backends import get_backend
from moto.moto_server import werkzeug_app
from moto.server import ThreadedMotoServer

from omnigraph.storage.files.effects import Effects
from omnigraph.storage.files.place import Place

BUCKET = "graphs"


@dataclass
class Server:
    """A running server."""

    endpoint: str
    requests: list[str] = field(default_factory=list)
    """Method and path of every request, oldest first."""

    @property
    def options(self) -> dict[str, str]:
        return {
            "aws_access_key_id": "test",
            "aws_secret_access_key": "test",
            "aws_endpoint": self.endpoint,
            "aws_region": "us-east-1",
            "allow_http": "true",
        }

    def place(self, name: str = "graph", effects: Effects | None = None) -> Place:
        return Place.at(f"s3://{BUCKET}/{name}", self.options, effects=effects)

    def count(self, action: Callable[[], object]) -> int:
        """How many requests an action costs."""
        before = len(self.requests)
        action()
        return len(self.requests) - before


@contextmanager
def server() -> Iterator[Server]:
    """A server on a free port, with an empty bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    running = Server(f"http://127.0.0.1:{port}")
    original = werkzeug_app.DomainDispatcherApplication.__call__

    def counted(self: Any, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        running.requests.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}?{environ.get('QUERY_STRING', '')}")
        return original(self, environ, start_response)  # type: ignore[no-any-return]

    werkzeug_app.DomainDispatcherApplication.__call__ = counted  # type: ignore[method-assign]
    moto = ThreadedMotoServer("127.0.0.1", port, verbose=False)
    moto.start()
    try:
        client = boto3.client(
            "s3", endpoint_url=running.endpoint, aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1"
        )
        client.create_bucket(Bucket=BUCKET)
        yield running
    finally:
        get_backend("s3").reset()  # servers of one process share what they hold
        moto.stop()
        werkzeug_app.DomainDispatcherApplication.__call__ = original  # type: ignore[method-assign]
