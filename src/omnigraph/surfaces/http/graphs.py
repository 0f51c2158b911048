"""The graphs a server has: found by their ids, open as long as it runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen
from omnigraph.service.direct import DirectGraphs
from omnigraph.service.graphs import GraphRef

if TYPE_CHECKING:
    from omnigraph.service.results import Graph

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
RESERVED: Final = frozenset(
    {"policies", "healthz", "openapi", "graphs", "discovery", "admin", "metrics", "readyz", "ui", "docs", "mcp", "cluster"}
)


@frozen
class ServedGraph:
    """A graph under the id that it is addressed by."""

    id: str
    ref: GraphRef

    @property
    def uri(self) -> str:
        """Where it is."""
        return self.ref.uri

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
        found[graph_id] = ServedGraph(graph_id, GraphRef(where, read_only=read_only))
    return list(found.values())


class Registry:
    """Which graphs are served, by id, and the open graphs behind them."""

    def __init__(self, graphs: Iterable[ServedGraph]) -> None:
        self._served = {g.id: g for g in graphs}
        self._direct = DirectGraphs()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._served)

    def __iter__(self) -> Iterator[ServedGraph]:
        return iter([self._served[name] for name in sorted(self._served)])

    def find(self, graph_id: str) -> ServedGraph | None:
        """The graph of an id."""
        return self._served.get(graph_id)

    def open(self, ref: GraphRef) -> Graph:
        """The graph, open; it stays open."""
        with self._lock:
            return self._direct.open(ref)

    def create(self, ref: GraphRef, schema: str | Path, actor: str | None) -> Graph:
        """Graphs are made elsewhere."""
        raise UsageError("a server makes no graphs")

    def close(self) -> None:
        """Let go of every graph, and wait for what they are still doing."""
        self._direct.close()
