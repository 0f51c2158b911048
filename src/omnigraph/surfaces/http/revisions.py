"""What a server serves, as one value that is replaced as a whole.

A revision is everything that answers depend on besides the graphs' own content: which graphs there are, who may do what, whose
token is whose. A request takes the revision that is current when it arrives and ends with it, whatever is activated meanwhile.
The graphs of a revision that was replaced are let go of with the last request that has it.

    request 1  ──take a────────────────────leave a──         a's graphs are released here
    server     ──a────activate b──────────────────────
    request 2  ───────────────take b──leave b─────────

Revisions are taken, left and replaced in the event loop alone, so nothing of this is locked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Authoriser
from omnigraph.service.service import Service
from omnigraph.surfaces.http.graphs import Registry
from omnigraph.surfaces.http.tokens import Tokens


@frozen
class Quarantined:
    """A graph that ought to be served and cannot be."""

    graph_id: str
    code: str
    message: str


@frozen
class Applied:
    """Which state of a cluster is served."""

    digest: str
    """Of what is served: the resources that are applied."""
    state_revision: int
    state_cas: str
    where: str = ""
    """Where the cluster is, as the server was told: a folder or an address…"""
    root: str = ""
    """…and its storage root."""


@frozen(eq=False)
class Revision:
    """Everything a server answers by."""

    graphs: Registry
    authoriser: Authoriser
    tokens: Tokens = Tokens()
    """Who callers are. None: nobody is asked."""
    quarantined: tuple[Quarantined, ...] = ()
    cluster: Applied | None = None
    """The state of a cluster that it was made from, if it is served from one."""
    fingerprint: str = ""
    """Of what it was made from: as long as it stays the same, reading all of it again gives the same revision."""


class InUse:
    """A revision while it is used: by the server until another takes its place, and by each request until it ends."""

    def __init__(self, revision: Revision, service: Service, unused: Callable[[Service], None]) -> None:
        self.revision, self.service = revision, service
        self._unused = unused
        self._users = 1

    def take(self) -> None:
        """Somebody uses it."""
        self._users += 1

    def leave(self) -> None:
        """They do not any more."""
        self._users -= 1
        if not self._users:
            self._unused(self.service)

    def until(self, done: asyncio.Future[Any]) -> None:
        """Something uses it that may go on when its request is over."""
        self.take()
        done.add_done_callback(lambda _: self.leave())
