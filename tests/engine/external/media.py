"""Objects outside a graph, in a bucket and in a folder, and a graph with Blobs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest
from tests.storage.s3 import BUCKET, Server, server

import omnigraph as og
from omnigraph.engine.write.violations import Violation
from omnigraph.model.limits import MAX_EXTERNAL_PROBES
from omnigraph.storage.files.external_objects import Measured, Outside

SCHEMA = """
node Photo { name: String @key  note: String?  content: Blob?  thumb: Blob? }
edge Like: Photo -> Photo { proof: Blob? }
"""

BASE = f"s3://{BUCKET}/media"


@dataclass
class Media:
    """A bucket, reached as the environment says."""

    server: Server
    _client: Any = field(repr=False)

    def put(self, name: str, data: bytes) -> str:
        """An object below the base; gives its URI."""
        self._client.put_object(Bucket=BUCKET, Key=f"media/{name}", Body=data)
        return f"{BASE}/{name}"

    def delete(self, name: str) -> None:
        self._client.delete_object(Bucket=BUCKET, Key=f"media/{name}")

    @contextmanager
    def asked(self) -> Iterator[list[str]]:
        """The method of each request for an object that is made meanwhile."""
        before, found = len(self.server.requests), list[str]()
        yield found
        found += [r.split()[0] for r in self.server.requests[before:] if f"/{BUCKET}/media/" in r]


@contextmanager
def media(monkeypatch: pytest.MonkeyPatch) -> Iterator[Media]:
    """A running server."""
    with server() as running:
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        for name, value in {
            **{k.upper(): v for k, v in keys.items()},
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": running.endpoint,
            "AWS_ALLOW_HTTP": "true",
        }.items():
            monkeypatch.setenv(name, value)
        yield Media(running, boto3.client("s3", endpoint_url=running.endpoint, region_name="us-east-1", **keys))


def gallery(folder: Path, *bases: str) -> og.Graph:
    """An empty graph that allows some bases."""
    policy = og.ExternalBlobs.allow(*bases) if bases else None
    return og.init(folder / f"graph-{len(list(folder.iterdir()))}", SCHEMA, durability="os", external_blobs=policy)


def photo(name: str, **properties: object) -> dict[str, object]:
    """A record."""
    return {"type": "Photo", "data": {"name": name, **properties}}


def bytes_of(g: og.Graph, name: str, property_: str = "content") -> bytes:
    """What the graph holds."""
    return g.blob("node", "Photo", name, property_).data


def uri_of(g: og.Graph, name: str, property_: str = "content") -> str | None:
    """What the graph refers to."""
    return g.blob("node", "Photo", name, property_).uri


def violations(error: og.ValidationError | og.BlobUnavailable) -> list[Violation]:
    """What an error lists."""
    assert all(isinstance(v, Violation) for v in error.violations)
    return [v for v in error.violations if isinstance(v, Violation)]


class Crowd:
    """Counts how many probes are under way at once: each waits until there are as many as may be."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most = self._now = 0
        self._lock, self._full = threading.Lock(), threading.Event()
        original = Outside.measure

        def waiting(*given: Any) -> Measured:
            with self._lock:
                self._now += 1
                self.most = max(self.most, self._now)
                if self._now == MAX_EXTERNAL_PROBES:
                    self._full.set()
            assert self._full.wait(60), "they are looked for one after the other"
            try:
                return original(*given)
            finally:
                with self._lock:
                    self._now -= 1

        monkeypatch.setattr(Outside, "measure", waiting)
