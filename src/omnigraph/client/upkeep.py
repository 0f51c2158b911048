"""Upkeep of a graph on a server. It needs a token that may administer the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NoReturn

from omnigraph.client.asking import Asking, no_actor, only_here
from omnigraph.client.values import embedded_of, optimized_of, reclaimed_of, verified_of
from omnigraph.embedding.port import Embedder
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.upkeep.embedding import Embedded
from omnigraph.engine.upkeep.reconcile import Optimized, TypeOutcome
from omnigraph.storage.reclaiming.reclaim import ReclaimReport
from omnigraph.storage.reclaiming.verify import VerifyReport
from omnigraph.wire import own_outputs as own

if TYPE_CHECKING:
    from omnigraph.embedding.pace import Pace


class Upkeep(Asking):
    """Upkeep."""

    @property
    def analytics(self) -> NoReturn:
        """Graph analytics need the graph itself."""
        only_here("graph analytics run where the graph is", "Open the graph itself, or run them with Spark.")

    @guarded()
    def optimize(
        self, branch: str = "main", *, progress: Callable[[TypeOutcome], None] | None = None, actor: str | None = None
    ) -> Optimized:
        """Pack small fragments and complete every declared index. Safe beside writers, and never needed for an answer.

        `progress` is called when all is done.
        """
        no_actor(actor)
        done = optimized_of(self._transport.post("/optimize", {"branch": branch}, own.OptimizeOutput, again=True))
        for outcome in done.tables if progress is not None else ():
            assert progress is not None
            progress(outcome)
        return done

    @guarded()
    def embed(
        self,
        *,
        types: Sequence[str] | None = None,
        branch: str = "main",
        embedder: Embedder | None = None,
        pace: Pace | None = None,
        again: bool = False,
        timeout: float | None = None,
        actor: str | None = None,
    ) -> Embedded:
        """Vectors of `@embed` properties where they are missing or their text has changed, by the provider of the server."""
        no_actor(actor)
        if embedder is not None or pace is not None:
            only_here("`embedder` and `pace` are of a provider here", "Leave them out: the server's provider is used.")
        body = {"types": None if types is None else list(types), "branch": branch, "again": again, "timeout": timeout}
        return embedded_of(self._transport.post("/embed", body, own.EmbedOutput))

    @guarded()
    def verify(self, *, deep: bool = False, content: bool = False) -> VerifyReport:
        """Whether everything the graph refers to is there; `deep` looks at every retained commit, `content` reads everything."""
        return verified_of(self._transport.post("/verify", {"deep": deep, "content": content}, own.VerifyOutput, again=True))

    @guarded()
    def cleanup(
        self, keep: int = 10, older_than: str | timedelta = "7d", *, dry_run: bool = True, actor: str | None = None
    ) -> ReclaimReport:
        """Give back the space of old commits: those that are not among the newest `keep` of a branch and are older than a while.

        Says what would go; with `dry_run=False` it goes.
        """
        no_actor(actor)
        age = f"{int(older_than.total_seconds())}s" if isinstance(older_than, timedelta) else older_than
        body = {"keep": keep, "older_than": age, "dry_run": dry_run}
        return reclaimed_of(self._transport.post("/cleanup", body, own.CleanupOutput, again=dry_run))
