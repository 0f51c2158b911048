"""A graph behind a server: the methods of an open graph, sent over HTTP.

    g = og.connect("https://graphs.example", graph="people", token="…")
    g.query("query q() { match { $p: Person } return { $p.name } }").rows

Arguments, results and errors are those of an open graph (`omnigraph.AnyGraph` says which). Who acts is who the token belongs to,
so an `actor` is refused; so is what needs the graph itself: analytics, Spark, a quarantine, a provider of one's own.

    asking       the connection, arguments as the wire has them, schemas to read values by
    transport    requests, repeated where that is safe
    refs, reviews, reads, history, writes, upkeep, stored      the methods
    sending      what is loaded, on its way
    values, typed, errors                     answers as the values of an open graph
"""

from __future__ import annotations

from functools import cached_property
from types import TracebackType

from omnigraph.client.history import History, settled
from omnigraph.client.reads import Reads
from omnigraph.client.refs import RemoteBranches, RemoteTags
from omnigraph.client.reviews import RemoteReviews
from omnigraph.client.stored import Stored
from omnigraph.client.transport import Transport
from omnigraph.client.upkeep import Upkeep
from omnigraph.client.writes import Writes
from omnigraph.engine.calls.arguments import AnyPath, State
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.query_files import Queries, queries_of
from omnigraph.errors import UsageError
from omnigraph.model.phrases import one_line


class RemoteGraph(Reads, History, Writes, Upkeep, Stored):
    """A graph behind a server."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.branches = RemoteBranches(transport)
        self.tags = RemoteTags(transport)

    @cached_property
    def reviews(self) -> RemoteReviews:
        """Its reviews."""
        return RemoteReviews(self._transport, self._typed, settled)

    @property
    def uri(self) -> str:
        """Where it is."""
        return repr(self._transport)

    def __repr__(self) -> str:
        return one_line(f"Graph at {self.uri}")

    def __enter__(self) -> RemoteGraph:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @guarded()
    def queries(self, path: AnyPath, *, branch: str | None = None, at: State | None = None, actor: str | None = None) -> Queries:
        """The queries of a `.gq` file as functions with typed parameters: `g.queries("lib.gq").friends(n="Ada")`."""
        return queries_of(self, str(path), branch, at, actor)

    def close(self) -> None:
        """Let go of the connections."""
        self._transport.close()


def connect(url: str, *, graph: str, token: str | None = None, timeout: float = 60.0) -> RemoteGraph:
    """A graph on a server. Without a token, OMNIGRAPH_BEARER_TOKEN of the environment is sent, if it is set.

    `timeout`: seconds to wait for a connection, and for the answer to a read, each of up to three times that it is sent. What
    changes the graph, and what goes through all of it, is waited for as long as it takes: the server bounds it.
    """
    for what, value in (("url", url), ("graph", graph)):
        if not isinstance(value, str) or not value.strip():
            raise UsageError(f"{what} must be a text, not {value!r}", hint="")
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url!r} is not the address of a server", hint="It begins with http:// or https://.")
    return RemoteGraph(Transport(url, graph, token, timeout))
