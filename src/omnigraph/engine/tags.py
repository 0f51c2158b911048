"""Tags of a graph, as people handle them: `g.tags`."""

from __future__ import annotations

from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.arguments import State, name_of
from omnigraph.engine.calls.guard import door
from omnigraph.storage.graph_store import GraphStore, Ref, Tag


class Tags:
    """The tags of a graph: `g.tags`."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    @door(name=arguments.branch)
    def create(self, name: str, commit: State) -> Tag:
        """A name for a commit (or for the newest of a branch), which is then never reclaimed."""
        return self._store.create_tag(name, name_of(commit))

    @door()
    def list(self) -> list[Tag]:
        """Every tag, by name."""
        found, unread = self._store.readable_tags()
        shown = [Tag(name, f"damaged: {error.message}", Ref("", "")) for name, error in unread.items()]
        return sorted((*found, *shown), key=lambda tag: tag.name)

    @door(name=arguments.branch)
    def delete(self, name: str) -> None:
        """Forget a name."""
        self._store.delete_tag(name)
