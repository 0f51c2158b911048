"""Tags of a graph, as people handle them: `g.tags`."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.arguments import State, name_of
from omnigraph.engine.calls.guard import guarded
from omnigraph.errors import DamagedRecord, GraphError
from omnigraph.model.phrases import counted, one_line
from omnigraph.storage.commits.deleted_tags import DeletedTag, deleted_tags
from omnigraph.storage.graph_store import GraphStore, Ref, Tag


class Tags:
    """The tags of a graph: `g.tags`."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    def __repr__(self) -> str:
        found, unread = self._store.readable_tags()
        names = sorted([*(tag.name for tag in found), *unread])
        return one_line(f"{counted(len(names), 'tag')}{': ' if names else ''}{', '.join(names)}")

    @guarded(name=arguments.branch)
    def create(self, name: str, commit: State, *, actor: str | None = None) -> Tag:
        """A name for a commit (or for the newest of a branch), which is then never reclaimed. `actor` created it."""
        return self._store.create_tag(name, name_of(commit), actor=actor)

    @guarded()
    def deleted(self) -> list[DeletedTag]:
        """Tags that were deleted, by name: what they named, who deleted them and when. Of each name the last deletion.

        Where the record of one is damaged, its commit says so, and when it was deleted is 0.
        """
        found, unread = deleted_tags(self._store.place)
        there = {tag.name: tag for tag in self._store.readable_tags()[0]}
        happened = [d for d in found if there.get(d.tag.name) != d.tag]  # a process may have died before it deleted it
        shown = [DeletedTag(_damaged(name, error), None, 0) for name, error in unread.items()]
        return sorted((*happened, *shown), key=lambda deleted: deleted.tag.name)

    @guarded()
    def list(self) -> list[Tag]:
        """Every tag, by name."""
        found, unread = self._store.readable_tags()
        shown = [_damaged(name, error) for name, error in unread.items()]
        return sorted((*map(self._shown, found), *shown), key=lambda tag: tag.name)

    def _shown(self, tag: Tag) -> Tag:
        """A tag names a logical commit. Those from before tags said when they were made may name maintenance."""
        if tag.created_at is not None:
            return tag
        try:
            owner, found = self._store.history.find(tag.owner, tag.commit)
            return tag if found is None else replace(tag, commit=self._store.history.logical_id(owner, found))
        except GraphError:  # listing tags does not depend on what they name being whole
            return tag

    @guarded(name=arguments.branch)
    def delete(self, name: str, *, actor: str | None = None) -> DeletedTag | None:
        """Forget a name. That `actor` deleted it is recorded until the name is deleted again; None if the tag was damaged."""
        return self._store.delete_tag(name, actor=actor)


def _damaged(name: str, error: DamagedRecord) -> Tag:
    """What is shown of a tag whose record cannot be read."""
    return Tag(name, f"damaged: {error.message}", Ref("", ""))
