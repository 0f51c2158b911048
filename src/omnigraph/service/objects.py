"""Small objects below a root, in a folder or a bucket, that several processes write: the port for what is kept beside graphs.

    objects = SmallObjects("s3://bucket/cluster")
    objects.create("__cluster/lock.json", lock)                    one of several callers wins; `AlreadyExists` for the others
    objects.replace("__cluster/state.json", after, before)         False if somebody else has replaced it since
    objects.remove("__cluster/lock.json", lock)                    only if it still says that

What `create` and `replace` return from is durable. On a disk it is written aside, synced and linked or renamed; in a bucket it is
put on a condition. A bucket that ignores conditions is refused before the first write (`require_conditions`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.errors import NotFound
from omnigraph.model.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.storage.files.place import Place


@frozen(slots=False)
class SmallObjects:
    """Objects by their path below a root, with `/`."""

    root: str
    """A local path or an `s3://` address."""

    @property
    def uri(self) -> str:
        """The root in its normal spelling."""
        return self._place().uri

    @property
    def is_local(self) -> bool:
        return self._place().is_local

    def address(self, path: str) -> str:
        """The full address of something below the root."""
        return self._place().child(path)

    def read(self, path: str) -> bytes | None:
        """What an object says; None if there is none."""
        try:
            return self._place().get(path)
        except NotFound:
            return None

    def create(self, path: str, data: bytes) -> None:
        """A new object; `AlreadyExists` if there is one."""
        self._place().put_new(path, data)

    def replace(self, path: str, data: bytes, expected: bytes) -> bool:
        """Another content for an object that still says what is expected; False if it does not."""
        return self._place().replace(path, data, expected)

    def remove(self, path: str, expected: bytes) -> None:
        """Remove an object if it still says what is expected."""
        self._place().remove(path, expected)

    def list(self, folder: str) -> list[str]:
        """The paths of the objects in a folder, in order."""
        return [found.path for found in self._place().names(folder)]

    def has_graph(self, path: str) -> bool:
        """Whether anything is left of a graph below the root."""
        from omnigraph.storage.files.place import Place
        from omnigraph.storage.reclaiming.removal import is_there

        return is_there(Place.at(self.address(path)))

    def require_folder(self) -> None:
        """Refuse a root that is a file, or is below one."""
        self._place().require_folder()

    def require_conditions(self, probe: str) -> None:
        """Refuse a bucket that would let two writers win."""
        self._place().check_conditional_put(probe)

    def _place(self) -> Place:
        from omnigraph.storage.files.place import Place

        found: Place | None = self.__dict__.get("_found")
        if found is None:
            found = self.__dict__["_found"] = Place.at(self.root)
        return found
