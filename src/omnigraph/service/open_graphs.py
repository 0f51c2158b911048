"""Open graphs that several hold at once: opened by the first, closed with the last.

A server that is given other things to serve goes on with the graphs it has. Opening one anew would cost what it keeps in memory,
and closing one that an unfinished request uses would fail the request. So whoever serves a graph holds it, and lets go of it:

    held = graphs.hold(Opening("people.omni"))      opened, unless somebody holds it already
    held.graph
    held.release()                                  closed, if nobody else holds it

A graph that was deleted and made again at the same place is another graph: it is recognised by its branch main, and opened anew.
Importing this imports the engine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from threading import Lock
from typing import Any

from omnigraph.embedding import Embedder, configured
from omnigraph.engine.blobs.policy import ExternalBlobs
from omnigraph.engine.graph import Graph
from omnigraph.engine.opening import open as open_graph
from omnigraph.model.frozen import frozen


@frozen
class Opening:
    """How a graph is opened. Those who want it in the same way share it."""

    uri: str
    read_only: bool = False
    embedder: Embedder | None = None
    """The provider of vectors; None: the one that the environment names, if it names one."""
    external_blobs: ExternalBlobs | None = None


def served_blobs(policy: Mapping[str, Any]) -> ExternalBlobs:
    """What a policy about external Blobs, given as JSON, allows on a server: nothing of its own disk."""
    return ExternalBlobs.from_dict(policy, server=True)


class Held:
    """A graph that is open, and how many hold it."""

    def __init__(self, graphs: OpenGraphs, opening: Opening) -> None:
        self._graphs, self._opening = graphs, opening
        self._opening_lock = Lock()
        self._graph: Graph | None = None
        self._incarnation = ""
        self.holders = 0

    @property
    def graph(self) -> Graph:
        """The graph, open."""
        assert self._graph is not None
        return self._graph

    def open(self) -> None:
        """Open it, unless it is."""
        with self._opening_lock:
            if self._graph is None:
                embedder = self._opening.embedder or configured(os.environ)
                graph = open_graph(
                    self._opening.uri,
                    read_only=self._opening.read_only,
                    embedder=embedder,
                    external_blobs=self._opening.external_blobs,
                )
                self._graph, self._incarnation = graph, graph.branches.get("main").incarnation

    @property
    def is_still_there(self) -> bool:
        """Whether the graph at its place is the one that was opened; raises as opening it does, if there is none."""
        if self._graph is None:
            return True
        self._graph.commits(limit=1)  # looks at the place: what is remembered of a branch is as old as that
        return self._graph.branches.get("main").incarnation == self._incarnation

    def release(self) -> None:
        """Let go of it."""
        self._graphs.released(self, self._opening)

    def close(self) -> None:
        """Close it: nobody holds it any more."""
        if self._graph is not None:
            self._graph.close()


class OpenGraphs:
    """The graphs that a process has open. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: dict[Opening, Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, opening: Opening) -> Held:
        """The graph, open until it is released. Raises if it cannot be opened, and holds nothing then."""
        with self._lock:
            known = self._held.get(opening)
        replaced = known if known is not None and not known.is_still_there else None
        with self._lock:
            held = self._held.get(opening)
            if held is None or held is replaced:
                held = self._held[opening] = Held(self, opening)
            held.holders += 1
        try:
            held.open()
        except BaseException:
            held.release()
            raise
        return held

    def released(self, held: Held, opening: Opening) -> None:
        """Somebody let go of a graph."""
        with self._lock:
            held.holders -= 1
            if held.holders:
                return
            if self._held.get(opening) is held:
                del self._held[opening]
        held.close()
