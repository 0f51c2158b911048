"""MCP: agents ask the same server, with the same tokens, by the same rules.

    POST /graphs/{graph_id}/mcp    the tools of one graph
    POST /mcp                      of the only graph; of several, tools take the graph as an argument

What a web page may send is bounded: an `Origin` is of this machine or one that the server was told (`OMNIGRAPH_CORS_ORIGINS`),
and a server that listens on this machine only is addressed as such, or by the host of such an origin. So a page that has its
own name point here (DNS rebinding) gets no answer.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from threading import Event
from typing import Final, TypeVar
from urllib.parse import urlsplit

from starlette.responses import Response

from omnigraph.errors import Forbidden, QueryCancelled
from omnigraph.policy.port import Access, Action
from omnigraph.service.caller import Caller, Origin
from omnigraph.surfaces.http.answering.answers import JSON, refused
from omnigraph.surfaces.http.bodies import ClientGone, parse, require_json
from omnigraph.surfaces.http.calls import Call
from omnigraph.surfaces.http.graphs import ServedGraph
from omnigraph.surfaces.http.handlers.about import health_output
from omnigraph.surfaces.mcp.session import Session
from omnigraph.wire.outputs import GraphEntry

R = TypeVar("R")

_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})


async def of_graph(call: Call) -> Response:
    """The tools of one graph."""
    return await _answer(call, [call.graph])


async def of_server(call: Call) -> Response:
    """The tools of every graph."""
    return await _answer(call, list(call.revision.graphs))


async def _answer(call: Call, graphs: list[ServedGraph]) -> Response:
    if importlib.util.find_spec("mcp") is None:
        return refused(501, "this server does not speak MCP", condition="not_installed", hint="pip install 'omnigraph[mcp]'")
    from omnigraph.surfaces.mcp.exchange import cannot_read, exchange

    _require_known_origin(call)
    require_json(call.header(b"content-type"))
    body = await call.body()
    host = _Host(call, graphs)
    try:
        said = parse(body)
    except ValueError as error:
        reply = cannot_read(str(error))
    else:
        reply = await exchange(host, said, {name.decode("latin-1"): value.decode("latin-1") for name, value in call.headers})
    if host.gone:
        raise ClientGone
    return Response(reply.body or b"", reply.status, media_type=None if reply.body is None else JSON)


class _Host:
    """One request, as a connection of MCP: the caller is whose token it carries, however the client calls itself."""

    def __init__(self, call: Call, graphs: list[ServedGraph]) -> None:
        self._call = call
        self._graphs = graphs
        self.gone = False

    def session(self, client: str | None) -> Session:
        """The session of this request."""
        application, asking = self._call.application, self._call.caller
        return Session(
            door=self._call.service,
            graphs={graph.id: graph.ref for graph in self._graphs},
            caller=lambda: Caller(asking.actor, Origin.MCP, asking.request_id, asking.groups),
            work=self._work,
            health=lambda: health_output(self._call),
            list_graphs=self._list,
            query_seconds=application.limits.query_seconds,
            query_bytes=application.limits.query_bytes,
            stored={graph.id: tuple(graph.queries) for graph in self._graphs if tuple(graph.queries)},
            filtered=True,
        )

    def _list(self, caller: Caller) -> list[GraphEntry]:
        self._call.service.decide(caller, "graphs list", "root", Access(Action.GRAPH_LIST))
        return [GraphEntry(graph_id=g.id, uri=g.uri) for g in self._call.revision.graphs]

    async def _work(self, work: Callable[[Event], R], *, writes: bool) -> R:
        """In the threads of the server, which see when the client goes."""
        cancel = self._call.gone()
        try:
            return await self._call.application.threads.run(self._call, lambda: work(cancel), writes=writes)
        except ClientGone:
            self.gone = True
            raise QueryCancelled("the client has gone") from None


def _require_known_origin(call: Call) -> None:
    application = call.application
    origin, host = call.header(b"origin"), call.header(b"host")
    told = {urlsplit(known).hostname for known in application.origins}
    if origin is not None and "*" not in application.origins:
        named = urlsplit(origin)
        if origin not in application.origins and not (named.scheme in ("http", "https") and named.hostname in _HERE):
            raise Forbidden(f"origin '{origin[:200]}' may not ask here", hint="Name it in OMNIGRAPH_CORS_ORIGINS.")
    if application.only_here and "*" not in application.origins:
        addressed = urlsplit(f"//{host or ''}").hostname
        if addressed not in _HERE and addressed not in told:
            raise Forbidden("this server is addressed by another name", hint="Name its origin in OMNIGRAPH_CORS_ORIGINS.")
