"""A graph that a test makes is put behind a server, and the test goes through it without knowing.

The tests of the Python API run twice: on the open graph, and on a connected one. In the second run `og.init` and `og.open` give a
graph whose public methods ask a server in this process, over a socket. What tests look at below the public methods is the open
graph that the server has, so that they can see what was done. An `actor` becomes the token of a connection of its own, which is
how a served graph is told who acts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any
from urllib.parse import quote, unquote

import uvicorn

import omnigraph as og
from omnigraph.engine import any_graph
from omnigraph.policy.port import PermitAll
from omnigraph.service.graphs import GraphRef
from omnigraph.surfaces.http.application import Application
from omnigraph.surfaces.http.graphs import Registry, ServedGraph
from omnigraph.surfaces.http.revisions import Revision
from omnigraph.surfaces.http.tokens import Tokens


class AnyActor(Tokens):
    """Whoever says who they are is believed."""

    def __bool__(self) -> bool:
        return True

    def actor_of(self, headers: list[bytes]) -> Any:
        return unquote(headers[0].decode().removeprefix("Bearer ")) if headers else None


class Held(Registry):
    """Graphs that tests have opened themselves."""

    def __init__(self) -> None:
        super().__init__(())
        self._graphs: dict[str, og.Graph] = {}
        self._numbers = count(1)

    def hold(self, graph: og.Graph) -> str:
        """Serve a graph. Gives its id."""
        graph_id = f"g{next(self._numbers)}"
        self._served[graph_id] = ServedGraph(graph_id, GraphRef(graph_id))
        self._graphs[graph_id] = graph
        return graph_id

    def open(self, ref: GraphRef) -> og.Graph:
        return self._graphs[ref.uri]

    def close(self) -> None:
        self._graphs.clear()


class Server:
    """A server in a thread."""

    def __init__(self, application: Application | None = None) -> None:
        self.graphs = Held()
        self.application = application or Application(Revision(self.graphs, PermitAll(), AnyActor()))
        config = uvicorn.Config(self.application, "127.0.0.1", 0, log_level="error", lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        host, port = self._server.servers[0].sockets[0].getsockname()[:2]
        self.url = f"http://{host}:{port}"

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self.application.threads.close()


class OverHttp:
    """What a public attribute of a served graph does: the method of a connection, that of the actor if one is given."""

    def __init__(self, name: str, part: str = "") -> None:
        self._name, self._part = name, part

    def __get__(self, graph: Any, owner: Any) -> Any:
        if graph is None:
            return self

        def called(*args: Any, **kwargs: Any) -> Any:
            actor = kwargs.get("actor")
            to: Any = graph._connection(actor if isinstance(actor, str) else None)
            if isinstance(actor, str):
                del kwargs["actor"]
            target = getattr(to, self._part) if self._part else to
            return getattr(target, self._name)(*args, **kwargs)

        return called


def public(protocol: type) -> list[str]:
    """The methods of a protocol."""
    return [name for name, value in vars(protocol).items() if callable(value) and not name.startswith("_")]


class Part:
    """Branches, tags or reviews of a served graph."""

    def __init__(self, graph: Any) -> None:
        self._connection = graph._connection

    def __repr__(self) -> str:
        return repr(getattr(self._connection(None), type(self).__name__))


branches = type("branches", (Part,), {name: OverHttp(name, "branches") for name in public(any_graph.AnyBranches)})
reviews = type("reviews", (Part,), {name: OverHttp(name, "reviews") for name in public(any_graph.AnyReviews)})
tags = type("tags", (Part,), {name: OverHttp(name, "tags") for name in public(any_graph.AnyTags)})


class Shell(og.Graph):
    """An open graph whose public methods go over HTTP. It shares everything below them with the graph that the server has."""

    branches = property(lambda self: branches(self))
    reviews = property(lambda self: reviews(self))
    tags = property(lambda self: tags(self))

    def _connection(self, actor: str | None) -> og.RemoteGraph:
        known: dict[str | None, og.RemoteGraph] = self._connections  # type: ignore[attr-defined]
        if actor not in known:
            token = "" if actor is None else quote(actor, safe="")
            url, graph_id = self._served_at  # type: ignore[attr-defined]
            known[actor] = og.connect(url, graph=graph_id, token=token)
        return known[actor]

    def close(self) -> None:
        for connection in self._connections.values():  # type: ignore[attr-defined]
            connection.close()
        super().close()


for _name in public(any_graph.AnyGraph):
    if _name != "close":
        setattr(Shell, _name, OverHttp(_name))


def behind(server: Server, graph: og.Graph) -> og.Graph:
    """A graph, served and connected to."""
    shell = object.__new__(Shell)
    vars(graph)["_connections"] = {}
    vars(graph)["_served_at"] = (server.url, server.graphs.hold(graph))
    object.__setattr__(shell, "__dict__", vars(graph))
    return shell


def in_bucket(path: object, bucket: str) -> str:
    """The address of a graph in a bucket, for what a test takes for a folder."""
    text = str(path)
    return text if "://" in text else f"s3://{bucket}{text}"


@contextmanager
def everything_served(server: Server, monkeypatch: Any, bucket: str | None = None) -> Iterator[None]:
    """`og.init` and `og.open` give served graphs, in folders or in a bucket."""
    init, open_ = og.init, og.open

    def made(make: Any, path: object, *args: Any, **options: Any) -> og.Graph:
        if bucket is not None:
            path = in_bucket(path, bucket)
            options.pop("durability", None)
        return behind(server, make(path, *args, **options))

    monkeypatch.setattr(og, "init", lambda path, *a, **k: made(init, path, *a, **k))
    monkeypatch.setattr(og, "open", lambda path, *a, **k: made(open_, path, *a, **k))
    yield
