"""The applied graphs of a cluster, opened where they are, each with its stored queries and its embedding provider.

Whoever holds the folder or the bucket may do what they like with it, so no policy is asked: that is for servers. What a server
would leave out is left out here, with a word about it; a cluster that a server would refuse is refused.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from threading import Lock

from omnigraph.cluster.serving.revision import AppliedGraph, ServingRevision, find_graph, read_serving
from omnigraph.embedding import Embedder, Profile, configured
from omnigraph.errors import GraphError, ScopeError, UsageError
from omnigraph.language.source import Source
from omnigraph.service import Caller, GraphRef, Origin
from omnigraph.service.open_graphs import Held, OpenGraphs, Opening
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.service.results import Graph
from omnigraph.service.stored import StoredQueries, validate

_log = logging.getLogger(__name__)


class ClusterGraphs:
    """The graphs that may be served, by their references."""

    def __init__(self, where: str, graph_id: str | None, *, read_only: bool) -> None:
        self._shared, self._lock = OpenGraphs(), Lock()
        self._openings: dict[GraphRef, Opening] = {}
        self._held: dict[GraphRef, Held] = {}
        self.refs: dict[str, GraphRef] = {}
        self.stored: dict[str, StoredQueries] = {}
        revision = read_serving(where)
        lost = {name: diagnostic.message for name, diagnostic in revision.quarantined.items()}
        try:
            for graph in _chosen(revision, where, graph_id):
                try:
                    self._add(graph, read_only)
                except GraphError as error:
                    lost[graph.id] = error.message
            if not self.refs or graph_id in lost:
                why = "; ".join(f"{name}: {said}" for name, said in sorted(lost.items()) if graph_id in (None, name))
                raise ScopeError(f"no graph of the cluster at {where} can be served: {why}")
        except BaseException:
            self.close()
            raise
        for name, said in sorted(lost.items()):
            if graph_id is None:
                _log.warning("graph %s is not served: %s", name, said)

    def _add(self, graph: AppliedGraph, read_only: bool) -> None:
        """Open a graph, and see that its queries fit it."""
        ref = GraphRef(graph.uri, read_only, id=graph.id)
        queries = StoredQueries.of_names({name: Source(text, f"{name}.gq") for name, text in graph.queries.items()})
        self._openings[ref] = Opening(graph.uri, read_only, _embedder(graph))
        self.open(ref)
        if queries:
            accepted = ShowSchema(ref, "main").run(self, Caller(None, Origin.CLI))
            validate(queries, accepted.catalog).require(f"the schema of `{graph.id}`")
        self.refs[graph.id], self.stored[graph.id] = ref, queries

    def open(self, ref: GraphRef) -> Graph:
        """The graph, open until all are closed."""
        with self._lock:
            held = self._held.get(ref)
            if held is None:
                held = self._held[ref] = self._shared.hold(self._openings[ref])
        return held.graph

    def create(self, ref: GraphRef, schema: str | Path, actor: str | None) -> Graph:
        """Graphs are made by the cluster."""
        raise UsageError("a graph of a cluster is made by `omnigraph cluster apply`")

    def close(self) -> None:
        """Let go of every graph."""
        while self._held:
            _, held = self._held.popitem()
            held.release()


def _chosen(revision: ServingRevision, where: str, graph_id: str | None) -> list[AppliedGraph]:
    """All of them, or the one that is named, which has to have been applied."""
    if graph_id is None:
        return list(revision.graphs)
    find_graph(where, graph_id)
    return [graph for graph in revision.graphs if graph.id == graph_id]


def _embedder(graph: AppliedGraph) -> Embedder | None:
    return None if graph.provider is None else configured(os.environ, Profile.of(graph.provider.profile))
