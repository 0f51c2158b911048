"""Numbers about a server, for Prometheus. Several worker processes add theirs up in files, where there is a folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Literal

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

if TYPE_CHECKING:
    from omnigraph.surfaces.http.routing import Match

FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """What is counted."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        names = ("operation", "method", "status")
        self._requests = Counter("omnigraph_http_requests", "Requests answered", names, registry=self._registry)
        self._seconds = Histogram(
            "omnigraph_http_request_seconds", "How long answering took", ("operation",), buckets=_BUCKETS, registry=self._registry
        )
        self._reloads = Counter("omnigraph_reloads", "Attempts to serve something else", ("outcome",), registry=self._registry)
        self._embedded = Counter("omnigraph_embedded", "Vectors made in the background", ("graph",), registry=self._registry)
        self._embedding = Counter(
            "omnigraph_embedding_runs",
            "Looks for texts without vectors",
            ("graph", "outcome"),
            registry=self._registry,
        )
        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        """The counter and the times of each kind of answer."""

    def answered(self, match: Match | None, method: str, status: int, seconds: float) -> None:
        """A request was answered."""
        operation = "none" if match is None else match.route.operation_id
        shown = method if method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS") else "other"
        known = self._known.get((operation, shown, status))
        if known is None:
            requests, times = self._requests.labels(operation, shown, str(status)), self._seconds.labels(operation)
            known = self._known[operation, shown, status] = (requests, times)
        known[0].inc()
        known[1].observe(seconds)

    def reloaded(self, outcome: Literal["activated", "failed"]) -> None:
        """What is served was read again."""
        self._reloads.labels(outcome).inc()

    def embedded(self, graph: str, outcome: Literal["done", "unfinished", "failed"], vectors: int = 0) -> None:
        """Vectors were made in the background, or were to be made."""
        self._embedding.labels(graph, outcome).inc()
        if vectors:
            self._embedded.labels(graph).inc(vectors)

    def text(self) -> str:
        """All of it, in Prometheus' own format."""
        registry = self._registry
        if os.environ.get(FOLDER):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry).decode()
