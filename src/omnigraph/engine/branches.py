"""Branches of a graph, as people handle them: `g.branches`."""

from __future__ import annotations

from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.arguments import State, name_of
from omnigraph.engine.calls.guard import guarded
from omnigraph.model.phrases import counted, one_line
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.graph_store import MAIN, GraphStore, Ref


class Branches:
    """The branches of a graph: `g.branches`."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    def __repr__(self) -> str:
        names = self._store.branches()
        return one_line(f"{counted(len(names), 'branch')}: {', '.join(names)}")

    @guarded(name=arguments.branch)
    def create(self, name: str, from_: State = MAIN, *, actor: str | None = None) -> Ref:
        """A branch that starts where another branch is, or at a commit or tag. `actor` created it."""
        return self._store.create_branch(name, at=name_of(from_), actor=actor).shown()

    @guarded(name=arguments.branch)
    def get(self, name: str) -> Ref:
        """A branch: where it came from, who created it and when."""
        return self._store.ref(name).shown()

    @guarded()
    def list(self) -> list[str]:
        """Names, sorted."""
        return self._store.branches()

    @guarded(name=arguments.branch)
    def delete(self, name: str, *, actor: str | None = None) -> Commit | None:
        """Forget a branch. Its commits stay reachable through branches made from it, and tags.

        Gives the last commit of the branch, which says that `actor` deleted it; None if another process had begun to delete it.
        """
        return self._store.delete_branch(name, actor=actor)
