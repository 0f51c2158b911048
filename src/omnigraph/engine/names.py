"""What has a name in a graph: its branches (`g.branches`) and its tags (`g.tags`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.arguments import State, name_of
from omnigraph.engine.calls.guard import door
from omnigraph.storage.graph_store import MAIN, Ref, Tag

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph


class Branches:
    """The branches of a graph: `g.branches`."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @door(name=arguments.branch)
    def create(self, name: str, from_: State = MAIN) -> Ref:
        """A branch that starts where another branch is, or at a commit or tag."""
        return self._graph.store.create_branch(name, at=name_of(from_))

    @door()
    def list(self) -> list[str]:
        """Names, sorted."""
        return self._graph.store.branches()

    @door(name=arguments.branch)
    def delete(self, name: str) -> None:
        """Forget a branch. Its commits stay reachable through branches made from it, and tags."""
        self._graph.store.delete_branch(name)


class Tags:
    """The tags of a graph: `g.tags`."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @door(name=arguments.branch)
    def create(self, name: str, commit: State) -> Tag:
        """A name for a commit (or for the newest of a branch), which is then never reclaimed."""
        return self._graph.store.create_tag(name, name_of(commit))

    @door()
    def list(self) -> list[Tag]:
        """Every tag, by name."""
        found, unread = self._graph.store.readable_tags()
        shown = [Tag(name, f"damaged: {error.message}", Ref("", "")) for name, error in unread.items()]
        return sorted((*found, *shown), key=lambda tag: tag.name)

    @door(name=arguments.branch)
    def delete(self, name: str) -> None:
        """Forget a name."""
        self._graph.store.delete_tag(name)
