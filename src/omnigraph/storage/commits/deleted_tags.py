"""Who deleted a tag: one small record per name, below `__deleted_tags/`.

A branch that is deleted ends with a commit that says who deleted it. A tag is only a name, and nothing of it would be left. So
the last deletion of each name is written down *before* the name goes: a process that dies in between leaves a record of a tag
that is still there, which is told apart by what it holds, the tag itself.
"""

from __future__ import annotations

from typing import Final

from omnigraph.errors import DamagedRecord
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import ago, one_line, short_id
from omnigraph.storage.commits.name_rules import name_in, tag_path
from omnigraph.storage.commits.refs import Tag
from omnigraph.storage.files.place import Place
from omnigraph.storage.files.records import decoded, encoded, readable

FOLDER: Final = "__deleted_tags"


@frozen
class DeletedTag:
    """A tag as it was, who deleted it, and when in microseconds since the epoch (0: the record of it is damaged)."""

    tag: Tag
    deleted_by: str | None
    deleted_at: int

    def __repr__(self) -> str:
        by = "" if self.deleted_by is None else f" by {self.deleted_by}"
        if not self.deleted_at:
            return one_line(f"Tag {self.tag.name}, deleted: {self.tag.commit}")
        return one_line(f"Tag {self.tag.name} of commit {short_id(self.tag.commit)}, deleted{by} {ago(self.deleted_at)}")


def put_deleted(place: Place, deleted: DeletedTag) -> None:
    """Write down that a tag is about to go."""
    path = _path(deleted.tag.name)
    place.put(path, encoded(deleted, path))
    place.sync([path])


def deleted_tags(place: Place) -> tuple[list[DeletedTag], dict[str, DamagedRecord]]:
    """The last deletion of every name, by name, and why some cannot be read. Some may not have happened."""
    names = sorted(name_in(o.path) for o in place.names(FOLDER))
    return readable(names, lambda name: decoded(place.get(_path(name)), DeletedTag, _path(name), f"the record {_path(name)}"))


def _path(name: str) -> str:
    return f"{FOLDER}/{tag_path(name).rpartition('/')[2]}"
