"""Vectors of texts that were written, made by the server in the background (`--embed-every SECONDS`).

Every so often each branch that has moved is looked at, and what lacks a vector gets one, through the door, as the actor `server`:
a policy has to let it read, and change those branches. One branch at a time, by one of the workers, and never longer than
`SLICE`: what was made is kept, and the next look goes on from there. What fails is logged once, counted (`/metrics`), and tried
again at the next look. A server that ends waits for the slice that is under way, no longer.
"""

from __future__ import annotations

import asyncio
import logging
from threading import Event
from typing import TYPE_CHECKING, Final

from omnigraph.errors import GraphError, NotFound, ResourceLimit
from omnigraph.service.caller import Caller, Origin
from omnigraph.service.operations.embed import Embed
from omnigraph.service.operations.list_branches import ListBranches
from omnigraph.service.operations.show_commit import ShowCommit
from omnigraph.service.operations.show_schema import ShowSchema

if TYPE_CHECKING:
    from omnigraph.service.graphs import GraphRef
    from omnigraph.service.service import Service
    from omnigraph.surfaces.http.application import Application

ACTOR: Final = "server"
SLICE: Final = 20.0
"""Seconds that one branch may take before it is looked whether the server is to end."""

_log = logging.getLogger("omnigraph.embedding")


class BackgroundEmbedding:
    """Makes vectors every so often. To be used in the event loop of its application."""

    def __init__(self, application: Application, seconds: float | None) -> None:
        self._application, self._seconds = application, seconds
        self._task: asyncio.Task[None] | None = None
        self._over = Event()
        self._done: dict[tuple[str, str], str] = {}
        """Where a branch was when everything on it had its vectors."""
        self._said: dict[tuple[str, str], str] = {}
        """What went wrong, and was logged."""

    def begin(self) -> None:
        """From now on."""
        if self._seconds is not None:
            self._task = asyncio.ensure_future(self._follow(self._seconds))

    def end(self) -> None:
        """No more."""
        self._over.set()
        if self._task is not None:
            self._task.cancel()

    async def _follow(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            with self._application.borrowed() as use:
                await asyncio.to_thread(self.look, use.service, [graph.ref for graph in use.revision.graphs])

    def look(self, service: Service, graphs: list[GraphRef]) -> None:
        """Look at every branch of every graph once."""
        for ref in graphs:
            try:
                branches = service.run(_caller(), ListBranches(ref))
            except Exception as error:
                self._failed(ref, "*", error)
                continue
            for branch in branches:
                if self._over.is_set():
                    return
                try:
                    self._branch(service, ref, branch)
                except NotFound:
                    self._done.pop((ref.name, branch), None)  # it was deleted meanwhile
                except Exception as error:
                    self._failed(ref, branch, error)

    def _branch(self, service: Service, ref: GraphRef, branch: str) -> None:
        key, caller = (ref.name, branch), _caller()
        head = service.run(caller, ShowCommit(ref, branch)).id
        if self._done.get(key) == head:
            return
        catalog = service.run(caller, ShowSchema(ref, branch)).catalog
        types = (*catalog.nodes.values(), *catalog.edges.values())
        if any(prop.embed is not None for type_ in types for prop in type_.properties.values()):
            made = service.run(caller, Embed(ref, branch=branch, timeout=SLICE))
            self._application.metrics.embedded(ref.name, "done", made.entities)
            if made.entities:
                _log.info("%s of %s: %s", branch, ref.name, made)
                return  # others may have written meanwhile: the next look says whether that was all
        self._done[key] = head
        self._said.pop(key, None)

    def _failed(self, ref: GraphRef, branch: str, error: Exception) -> None:
        if isinstance(error, ResourceLimit):  # the slice is over; what was made is kept
            self._application.metrics.embedded(ref.name, "unfinished")
            return
        self._application.metrics.embedded(ref.name, "failed")
        said = error.message if isinstance(error, GraphError) else f"{type(error).__name__}: {error}"
        if self._said.get((ref.name, branch)) != said:  # once, however often it is tried
            self._said[ref.name, branch] = said
            unexpected = None if isinstance(error, GraphError) else error
            _log.warning("vectors of %s of %s were not made: %s", branch, ref.name, said, exc_info=unexpected)


def _caller() -> Caller:
    return Caller(ACTOR, Origin.HTTP)
