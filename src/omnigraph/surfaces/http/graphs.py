"""The graphs a server has: found by their ids, open as long as they are served."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from omnigraph.errors import GraphError, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.service.graphs import GraphRef
from omnigraph.service.open_graphs import Held, OpenGraphs, Opening
from omnigraph.service.stored import NO_QUERIES, StoredQueries

if TYPE_CHECKING:
    from omnigraph.cluster.serving.managed import AppliedSchema
    from omnigraph.service.results import Graph

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
OPENED_AT_ONCE: Final = 4
RESERVED: Final = frozenset(
    {"policies", "healthz", "openapi", "graphs", "discovery", "admin", "metrics", "readyz", "ui", "docs", "mcp", "cluster"}
)


@frozen
class ServedGraph:
    """A graph under the id that it is addressed by."""

    id: str
    ref: GraphRef
    queries: StoredQueries = NO_QUERIES
    """What is stored with it."""
    schema: AppliedSchema | None = None
    """What its cluster has applied to it."""

    @property
    def uri(self) -> str:
        """Where it is."""
        return self.ref.uri

    def placeless(self, text: str) -> str:
        """A text without a word about where the graph is."""
        return text.replace(f"{self.uri}/", "").replace(self.uri, "the graph")

    @property
    def is_local(self) -> bool:
        """Whether looking at its head is one look at a disk."""
        return "://" not in self.ref.uri


def is_graph_id(text: str) -> bool:
    """Whether a graph may be addressed by it."""
    return _ID.fullmatch(text) is not None and text not in RESERVED


def id_of(uri: str) -> str:
    """The id that a graph is served by unless one is given: the last part of its path, without an ending."""
    last = Path(urlsplit(uri).path if "://" in uri else uri).name.removesuffix(".omni").removesuffix(".omnigraph")
    found = re.sub(r"[^A-Za-z0-9_-]+", "-", last).strip("-")[:64]
    if not is_graph_id(found):
        raise UsageError(f"{uri} gives no id to address the graph by", hint="Name it: ID=PATH.")
    return found


def named_graphs(given: Iterable[str], *, read_only: bool = False) -> list[ServedGraph]:
    """Graphs given as `PATH`, `s3://…` or `ID=PATH`."""
    found: dict[str, ServedGraph] = {}
    for text in given:
        head, equals, rest = text.partition("=")
        graph_id, uri = (head, rest) if equals and is_graph_id(head) else (id_of(text), text)
        where = uri if "://" in uri else str(Path(uri).absolute())
        if graph_id in found:
            raise UsageError(f"two graphs would be served as `{graph_id}`", hint="Name one of them: ID=PATH.")
        found[graph_id] = ServedGraph(graph_id, GraphRef(where, read_only=read_only, id=graph_id))
    return list(found.values())


class Registry:
    """Which graphs are served, by id: open, and shared with other registries that serve them."""

    def __init__(self, graphs: Iterable[ServedGraph] = (), held: Mapping[str, Held] | None = None) -> None:
        self._served = {g.id: g for g in graphs}
        self._held = dict(held or {})

    @classmethod
    def of(cls, graphs: Iterable[ServedGraph], shared: OpenGraphs) -> Registry:
        """Graphs that are all opened now; raises if one cannot be."""
        found, failures = cls.opened([(g, Opening(g.ref.uri, g.ref.read_only)) for g in graphs], shared)
        if failures:
            found.close()
            raise next(iter(failures.values()))
        return found

    @classmethod
    def opened(cls, wanted: Iterable[tuple[ServedGraph, Opening]], shared: OpenGraphs) -> tuple[Registry, dict[str, GraphError]]:
        """Graphs that are opened now, a few at a time; and why some cannot be, by their ids."""
        asked = list(wanted)
        failures: dict[str, GraphError] = {}
        held: dict[str, Held] = {}
        with ThreadPoolExecutor(OPENED_AT_ONCE, "omnigraph-open") as threads:
            opening = [(graph, threads.submit(shared.hold, how)) for graph, how in asked]
        for graph, done in opening:
            try:
                held[graph.id] = done.result()
            except GraphError as error:
                failures[graph.id] = error
        return cls([graph for graph, _ in asked if graph.id in held], held), failures

    def leave_out(self, graph_id: str) -> None:
        """Let go of a graph before anybody is served."""
        del self._served[graph_id]
        self._held.pop(graph_id).release()

    def __len__(self) -> int:
        return len(self._served)

    def __iter__(self) -> Iterator[ServedGraph]:
        return iter([self._served[name] for name in sorted(self._served)])

    def find(self, graph_id: str) -> ServedGraph | None:
        """The graph of an id."""
        return self._served.get(graph_id)

    def open(self, ref: GraphRef) -> Graph:
        """The graph, open."""
        assert ref.id is not None
        return self._held[ref.id].graph

    def create(self, ref: GraphRef, schema: str | Path, actor: str | None) -> Graph:
        """Graphs are made elsewhere."""
        raise UsageError("a server makes no graphs")

    def close(self) -> None:
        """Let go of every graph. Those that nobody else serves are closed when they have ended what they are doing."""
        while self._held:
            _, held = self._held.popitem()
            held.release()
