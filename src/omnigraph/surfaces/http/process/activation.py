"""Activation: what a running server serves is read again, and takes the place of what it served.

It is asked for by SIGHUP, by `POST /admin/reload`, and by a look at the sources every so often (OMNIGRAPH_CONFIG_RELOAD). A
source reads everything and gives a revision, or raises; only a revision that is whole is activated. After a failure the server
goes on with what it had, and says so: in the log, at `/readyz`, and to whoever asked.

    SIGHUP ─────────┐
    /admin/reload ──┼─→ source.load() in a thread ─→ application.activate(revision) in the event loop
    every n s ──────┘         └─ raises: stays as it is

One process activates one revision at a time. Each worker does this for itself; the one that was asked over HTTP tells the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.errors import GraphError, UnexpectedError
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted
from omnigraph.surfaces.http.revisions import Revision

if TYPE_CHECKING:
    from omnigraph.surfaces.http.application import Application

_log = logging.getLogger("omnigraph.http")


class Source(Protocol):
    """Where it is written what to serve."""

    def load(self, before: Revision | None = None) -> Revision:
        """What is to be served now, with its graphs open; raises one of our errors if that cannot be served.

        `before` is what is served until then, if anything is.
        """
        ...

    def fingerprint(self) -> str:
        """Of what `load` would read: cheap to find out, and the same as long as nothing of it has changed."""
        ...


@frozen
class Failure:
    """Why the last attempt came to nothing."""

    when: str
    """As ISO 8601 in UTC."""
    error: GraphError

    @property
    def codes(self) -> list[str]:
        """What it was, in words that name no place."""
        from omnigraph.cluster.serving.revision import ClusterNotReady

        return [d.code for d in self.error.diagnostics] if isinstance(self.error, ClusterNotReady) else [self.error.code]


class ReloadFailed(Exception):
    """What is to be served cannot be served; nothing has changed."""

    def __init__(self, error: GraphError) -> None:
        super().__init__(error.message)
        self.error = error


class Activation:
    """Replaces what an application serves. To be used in its event loop."""

    def __init__(
        self,
        source: Source,
        application: Application,
        seconds: float | None = None,
        tell_others: Callable[[], None] = lambda: None,
    ) -> None:
        self._source, self._application, self._seconds, self._tell_others = source, application, seconds, tell_others
        self._one_at_a_time = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self.failure: Failure | None = None
        self._said = ""
        application.activation = self

    async def asked(self, by: str) -> Revision:
        """Somebody asks for it, and is told what came of it (`ReloadFailed`); all processes of the server do the same."""
        try:
            return await self.reload(by)
        finally:
            self._tell_others()

    def signalled(self) -> None:
        """A signal asks for it."""
        self._start(self._reload_or_say_why("SIGHUP"))

    def begin(self) -> None:
        """Look at the sources every so often, from now on."""
        if self._seconds is not None:
            self._start(self._follow(self._seconds))

    def end(self) -> None:
        """Leave it."""
        for task in self._tasks:
            task.cancel()

    async def reload(self, why: str) -> Revision:
        """Read everything again and serve it; raises if it cannot be served, and leaves what is served as it is."""
        async with self._one_at_a_time:
            try:
                found = await asyncio.to_thread(self._source.load, self._application.revision)
            except Exception as error:
                raise self._failed(error, why) from error
            self.failure = None
            self._application.activate(found)
        self._application.metrics.reloaded("activated")
        said, self._said = self._said, _said(found)
        _log.log(logging.DEBUG if said == self._said else logging.INFO, "%s: %s", why, self._said)
        return found

    def _failed(self, error: Exception, why: str) -> ReloadFailed:
        known = error if isinstance(error, GraphError) else UnexpectedError(type(error).__name__)
        before = self.failure
        self.failure = Failure(datetime.now(UTC).isoformat(timespec="milliseconds"), known)
        self._application.metrics.reloaded("failed")
        if before is None or before.error.message != known.message:  # once, however often it is tried
            unexpected = None if isinstance(error, GraphError) else error
            _log.error("%s: what is served stays as it is: %s", why, known.message, exc_info=unexpected)
        return ReloadFailed(known)

    async def _reload_or_say_why(self, why: str) -> None:
        with suppress(ReloadFailed):  # it was said
            await self.reload(why)

    async def _follow(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            now = self._application.revision
            try:
                fingerprint = await asyncio.to_thread(self._source.fingerprint)
            except Exception as error:
                self._failed(error, "a look at what is to be served")
                continue
            if fingerprint != now.fingerprint or now.quarantined or self.failure is not None:
                await self._reload_or_say_why(
                    "what is to be served has changed" if fingerprint != now.fingerprint else "another try"
                )

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _said(revision: Revision) -> str:
    parts = [f"now serving {counted(len(revision.graphs), 'graph')}, made from {revision.fingerprint[:12]}"]
    if revision.quarantined:
        parts.append(f"quarantined: {', '.join(q.graph_id for q in revision.quarantined)}")
    if revision.cluster is not None:
        parts.append(f"state revision: {revision.cluster.state_revision}")
    return ", ".join(parts)
