"""Graphs for one agent: the session that `omnigraph mcp` serves, with the door that the command line was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote

from omnigraph.model.versions import API_VERSION, INTERNAL_SCHEMA_VERSION, __version__
from omnigraph.policy.port import PermitAll
from omnigraph.policy.states import ServedReadOnly
from omnigraph.service import Caller, GraphRef, Origin, Service
from omnigraph.service.confined import ConfinedService
from omnigraph.surfaces.cli.quick_start import import_engine
from omnigraph.surfaces.cli.scope import is_served
from omnigraph.surfaces.mcp import instructions
from omnigraph.surfaces.mcp.session import Door, Session, Work
from omnigraph.wire.outputs import GraphEntry, HealthOutput

if TYPE_CHECKING:
    from omnigraph.service.graphs import Graphs
    from omnigraph.service.stored import StoredQuery
    from omnigraph.surfaces.cli.settings import Settings


def serve(where: str, token: str | None, *, read_only: bool, branch: str | None, actor: str | None, known: Settings) -> None:
    """Serve the graph at an address until the client goes. That it can be opened is found out before anything is served."""
    import_engine()
    ref = GraphRef(where, read_only and not is_served(where), id=_id_of(where))
    graphs = _graphs(where, token, known)
    graphs.open(ref)
    nobody = is_served(where)
    _serve(graphs, {ref.name: ref}, {}, read_only=read_only, branch=branch, actor=actor, named_by_token=nobody)


def serve_cluster(where: str, graph: str | None, *, read_only: bool, branch: str | None, actor: str | None) -> None:
    """Serve the applied graphs of a cluster, or one of them, with their stored queries, until the client goes."""
    import_engine()
    from omnigraph.surfaces.cli.cluster_graphs import ClusterGraphs

    graphs = ClusterGraphs(where, graph, read_only=read_only)
    _serve(graphs, graphs.refs, graphs.stored, read_only=read_only, branch=branch, actor=actor)


def _serve(
    graphs: Graphs,
    refs: Mapping[str, GraphRef],
    stored: Mapping[str, Iterable[StoredQuery]],
    *,
    read_only: bool,
    branch: str | None,
    actor: str | None,
    named_by_token: bool = False,
) -> None:
    authoriser = ServedReadOnly() if read_only else PermitAll()
    default = os.environ.get("OMNIGRAPH_DEFAULT_BRANCH", "").strip() or "main"

    def session(client: str, work: Work) -> Session:
        own = None if branch is None else branch.replace("{client}", client)
        door: Door = Service(graphs, authoriser=authoriser)
        if own is not None:
            door = ConfinedService(graphs, own, allowed_by=authoriser)
        recorded = None if named_by_token else actor or client
        return Session(
            door=door,
            graphs=refs,
            caller=lambda: Caller(recorded, Origin.MCP),
            work=work,
            health=_health,
            list_graphs=lambda caller: [GraphEntry(graph_id=name, uri=refs[name].uri) for name in sorted(refs)],
            branch=own or default,
            confined=own is not None,
            read_only=read_only,
            stored=stored,
        )

    from omnigraph.surfaces.mcp.stdio import run

    told = instructions.READ_ONLY if read_only else instructions.GENERAL if branch is None else instructions.confined(branch)
    try:
        run(session, told)
    finally:
        graphs.close()


def _graphs(where: str, token: str | None, known: Settings) -> Graphs:
    if not is_served(where):
        from omnigraph.service.direct import DirectGraphs

        return DirectGraphs()
    from omnigraph.surfaces.cli.servers import RemoteDoor

    return RemoteDoor(known, token)


def _id_of(where: str) -> str:
    """What the graph is called: its id on a server, or the last part of its path."""
    last = where.rstrip("/").rpartition("/")[2]
    return unquote(last) if is_served(where) else last.removesuffix(".omni")


def _health() -> HealthOutput:
    return HealthOutput(version=API_VERSION, internal_schema_version=INTERNAL_SCHEMA_VERSION, server=__version__)
