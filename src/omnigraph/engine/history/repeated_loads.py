"""Loads that may be repeated (`repeats`): what was loaded before is not loaded again, and is answered by its commit."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.engine.history.asked_loads import load_digest
from omnigraph.engine.history.past import Past
from omnigraph.engine.history.repeats import Keyed
from omnigraph.engine.load.run.request import Request
from omnigraph.engine.load.run.result import LoadResult
from omnigraph.engine.load.run.runners import Runner
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.errors import AlreadyExists
from omnigraph.storage.commits.lineage import Commit


def once(past: Past, run: Runner, key: str) -> Runner:
    """A runner that loads, unless a commit of the branch carries the key."""

    def keyed(workspace: Workspace, view: View, request: Request) -> LoadResult:
        wanted = Keyed(request.branch, key, "load", load_digest(request))
        request = replace(request, idempotency_key=key, asked=wanted.asked)

        def write() -> LoadResult:
            return run(workspace, view, request)

        def answer(commit: Commit) -> LoadResult:
            return _told(past, request, commit)

        if not request.creates_branch:
            return past.repeats.once(wanted, write, answer)
        try:
            return write()
        except AlreadyExists:  # somebody made the branch meanwhile, perhaps for this very load
            found = past.repeats.earlier(wanted)
            if found is None:
                raise
            return answer(found)

    return keyed


def _told(past: Past, request: Request, commit: Commit) -> LoadResult:
    """What a load did that a commit tells of: the entities that it wrote, and those that went, for whatever reason."""
    counts, shown, gone = past.written(commit), past.log.shown(commit), past.removed(commit)
    nodes, edges = (
        {name: count - gone.get(name, 0) for name, count in counts[kind].items() if count > gone.get(name, 0)}
        for kind in ("node", "edge")
    )
    return LoadResult(
        request.branch,
        request.from_,
        False,
        request.mode,
        nodes,
        edges,
        shown,
        shown.actor,
        skipped=request.skipped,
        deleted=gone,
    )
