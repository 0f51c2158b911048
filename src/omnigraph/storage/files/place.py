"""Where a graph lives: a local folder or a prefix of an object store, behind one small interface.

Lance reads and writes its own datasets; what is left are a few small objects of ours (refs, tags) and listings. They go through
`obstore`, which speaks to both kinds of place. Some things differ, and only here:

* **put-if-absent** is a conditional put on an object store and an exclusive create on a disk. A store that ignores the condition
  would lose commits silently, so `check_conditional_put` asks it once before the first write.
* **remove-if-unchanged** (`remove`): a name may be removed and given again while somebody slow is still about to remove it, and
  that one may not hit the new object. On a disk it is done under a lock on the folder. Object stores cannot delete on a
  condition, but they can put on one: there a removed object is an *empty* one, which counts as absent, and which the next
  `put_new` replaces on the condition that it is still empty.
* **replace-if-unchanged** (`replace`), for what several people change at once: the same two ways.
* **links** below the root are never followed (`inside`). An object store has none.
* **sync**: a disk forgets what was not synced when the power fails. `sync` flushes files and the folders that name them. An
  object store has nothing to sync: a put that returned is durable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from enum import Enum
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from omnigraph.errors import AlreadyExists, NotFound, StorageError, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.storage.files import containment as inside
from omnigraph.storage.files.dataset_folders import DATA, DELETIONS, INDICES, TRANSACTIONS, VERSIONS
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.files.environment import options_from
from omnigraph.storage.files.lance_errors import translated
from omnigraph.storage.files.locks import locked
from omnigraph.storage.files.syncing import flush

if TYPE_CHECKING:
    from obstore.store import ObjectStore


DELETED_AT_ONCE: Final = 1_000
"""Most objects deleted by one call."""

_STAGED: Final = re.compile(r"#[0-9]+\Z")


class Durability(Enum):
    """When an acknowledged commit is safe."""

    FULL = "full"
    """It survives a power failure: synced before it is acknowledged."""
    OS = "os"
    """It survives a crash of the process; a power failure may lose the last seconds. For bulk work."""


@frozen
class StoredObject:
    """A file below a place."""

    path: str
    size: int
    modified: float
    """Seconds since the epoch."""
    version: str | None = None
    """What an object store calls this version of it; on a disk, in a listing, where it is and when it was written."""


@frozen(slots=False)
class Place:
    """A root under which everything of a graph lives. Paths are relative to it, with `/`."""

    uri: str
    """A local path or `s3://bucket/prefix`, without a trailing slash."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Storage options for object stores, handed to Lance as they are."""
    durability: Durability = Durability.FULL
    effects: Effects = field(default_factory=Effects, compare=False, repr=False)

    @classmethod
    def at(
        cls,
        uri: str,
        options: Mapping[str, str] | None = None,
        durability: Durability = Durability.FULL,
        effects: Effects | None = None,
    ) -> Place:
        """The place a person named."""
        trimmed = uri.removeprefix("file://").rstrip("/")
        if "://" in trimmed and not trimmed.startswith("s3://"):
            raise UsageError(f"cannot store a graph at {uri}", hint="Give a folder or an s3:// address.")
        if "://" not in trimmed:
            trimmed = str(Path(trimmed).expanduser().absolute()) if trimmed else "/"
        surroundings = options_from(os.environ) if trimmed.startswith("s3://") else {}
        return cls(trimmed, {**surroundings, **(options or {})}, durability, effects or Effects())

    @property
    def is_local(self) -> bool:
        return "://" not in self.uri

    def require_folder(self) -> None:
        """Refuse a local path that is a file, or is below one."""
        if not self.is_local:
            return
        for path in (Path(self.uri), *Path(self.uri).parents):
            if path.is_file():
                raise UsageError(f"cannot store a graph at {self.uri}: {path} is a file", hint="Give a folder.")

    def child(self, path: str) -> str:
        """The full address of something below the root."""
        return f"{self.uri}/{path}"

    # ── objects ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def put_new(self, path: str, data: bytes, removed: StoredObject | None = None, call: Call = Call.PUT_NEW) -> None:
        """Create an object; `AlreadyExists` if there is one. Exactly one of several callers wins.

        `removed` is what a listing said of one of that name that was removed: knowing it saves two requests.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        def put_over(version: str) -> None:
            try:
                obstore.put(self._store(), path, data, mode={"e_tag": version})
            except PreconditionError:
                raise AlreadyExists(f"{path} exists already") from None

        def put() -> None:
            self.require_inside(path)
            if removed is not None and removed.version is not None and not self.is_local:
                put_over(removed.version)
                return
            try:
                obstore.put(self._store(), path, data, mode="create")
            except AlreadyExistsError:
                found = None if self.is_local else obstore.head(self._store(), path)
                if found is None or found["size"] > 0 or found["e_tag"] is None:
                    raise AlreadyExists(f"{path} exists already") from None
                put_over(found["e_tag"])

        with translated(f"put {path}"):
            self.effects.run(call, put)
        self.sync([path])

    def replace(self, path: str, data: bytes, expected: bytes) -> bool:
        """Replace an object if it still says what is expected; False if it does not, and then nothing was written.

        On a disk it is written aside, synced, and renamed under the lock of its folder; an object store takes the condition.
        """
        with translated(f"replace {path}"):
            if self.is_local:
                return self._replace_file(path, data, expected)
            return self.effects.run(Call.SWAP, lambda: self._put_if_unchanged(path, data, expected))

    def _replace_file(self, path: str, data: bytes, expected: bytes) -> bool:
        file = Path(self.child(path))
        self.require_inside(path)
        if not file.parent.is_dir():
            return False
        aside = f"{path}#{os.getpid()}"
        with locked(file.parent):
            self.put_unseen(aside, data, Call.PUT)
            self.sync([], unnamed=[aside])

            def rename() -> bool:
                try:
                    unchanged = file.read_bytes() == expected
                except FileNotFoundError:
                    unchanged = False
                os.replace(self.child(aside), file) if unchanged else os.unlink(self.child(aside))
                return unchanged

            done = self.effects.run(Call.SWAP, rename)
        self.sync([path])
        return done

    def _put_if_unchanged(self, path: str, data: bytes, expected: bytes) -> bool:
        import obstore
        from obstore.exceptions import PreconditionError

        try:
            found, version = self._read(path)
        except NotFound:
            return False
        if found != expected or version is None:
            return False
        try:
            obstore.put(self._store(), path, data, mode={"e_tag": version})
        except PreconditionError:
            return False
        return True

    def put(self, path: str, data: bytes, call: Call = Call.PUT) -> None:
        """Create an object, or replace one that nobody else writes."""
        import obstore

        with translated(f"put {path}"):
            self.require_inside(path)
            self.effects.run(call, lambda: obstore.put(self._store(), path, data))

    def put_unseen(self, path: str, data: bytes, call: Call) -> None:
        """Create an object under a name that nobody knows yet. It is synced by whoever makes the name known."""
        self.put_all_unseen({path: data}, call)

    def put_all_unseen(self, objects: Mapping[str, bytes], call: Call) -> None:
        """The same for several."""
        checked = set[str]()
        for path, data in objects.items():
            folder = path.rpartition("/")[0]
            with translated(f"put {path}"):
                if self.is_local and folder not in checked:
                    inside.require(self.uri, folder)
                    checked.add(folder)
                self.effects.run(call, partial(self._put_unseen, path, data))

    def _put_unseen(self, path: str, data: bytes) -> None:
        if not self.is_local:
            import obstore

            obstore.put(self._store(), path, data)
            return
        file = self.child(path)
        try:
            inside.write(file, data)
        except FileNotFoundError:  # the first of its folder
            os.makedirs(os.path.dirname(file), exist_ok=True)
            inside.write(file, data)

    def exists(self, path: str) -> bool:
        """Whether there is an object of this name."""
        if self.is_local:
            return os.path.lexists(self.child(path))
        found = self.look(path)
        return found is not None and not self.is_removed(found)

    def look(self, path: str) -> StoredObject | None:
        """An object, perhaps a removed one."""
        import obstore

        with translated(f"look for {path}"):
            try:
                meta = obstore.head(self._store(), path)
            except FileNotFoundError:
                return None
        return StoredObject(meta["path"], meta["size"], meta["last_modified"].timestamp(), meta["e_tag"])

    def named(self, folder: str, begins: str) -> str | None:
        """The name of an object of a folder that begins with a text, if there is one. Looks at names only."""
        with translated(f"list {folder}"):
            if self.is_local:
                self.require_inside(folder)
                with suppress(FileNotFoundError), os.scandir(self.child(folder)) as entries:
                    found = (entry.name for entry in entries if entry.name.startswith(begins))
                    return next((name for name in found if not self.is_staged(name)), None)
                return None
            import obstore

            for chunk in obstore.list(self._store(), prefix=folder, offset=f"{folder}/{begins}"):
                for meta in chunk:
                    name = meta["path"].rpartition("/")[2]
                    if not name.startswith(begins):
                        return None
                    if meta["size"] > 0:
                        return name
        return None

    def get(self, path: str) -> bytes:
        """The bytes of an object."""
        return self._read(path)[0]

    def _read(self, path: str) -> tuple[bytes, str | None]:
        """The bytes of an object, and what an object store calls this version of it."""
        if self.is_local:
            with translated(f"read {path}"):
                try:
                    return inside.read(self.uri, path), None
                except (FileNotFoundError, NotADirectoryError):
                    where = self.child(path) if Path(self.uri).is_dir() else self.uri
                    raise NotFound(f"{where} does not exist") from None
        import obstore

        with translated(f"read {path}"):
            try:
                found = obstore.get(self._store(), path)
            except FileNotFoundError:
                raise NotFound(f"{self.child(path)} does not exist") from None
            data = bytes(found.bytes())
        if not data:
            raise NotFound(f"{self.child(path)} was removed")
        return data, found.meta["e_tag"]

    def remove(self, path: str, expected: bytes) -> None:
        """Remove an object if it still says what is expected; otherwise somebody else has, and it is left alone."""
        with translated(f"remove {path}"):
            self.effects.run(Call.DELETE, lambda: self._unlink(path, expected) if self.is_local else self._empty(path, expected))
        self.sync([path.rpartition("/")[0]])

    def _unlink(self, path: str, expected: bytes) -> None:
        file = Path(self.child(path))
        if not file.parent.is_dir():
            return
        self.require_inside(path)
        with locked(file.parent):
            try:
                if file.read_bytes() == expected:
                    file.unlink()
            except FileNotFoundError:
                return

    def _empty(self, path: str, expected: bytes) -> None:
        self._put_if_unchanged(path, b"", expected)

    def delete(self, paths: Sequence[str], call: Call = Call.DELETE) -> None:
        """Remove objects whose names are never given again, in this order. Those that are gone already are fine."""
        import obstore

        def remove(batch: Sequence[str]) -> None:
            if not self.is_local:
                obstore.delete(self._store(), list(batch))
                return
            for above, paths in groupby(batch, lambda path: path.rpartition("/")[0]):
                with suppress(FileNotFoundError), inside.folder(self.uri, above) as at:
                    for path in paths:
                        with suppress(FileNotFoundError):
                            os.unlink(path.rpartition("/")[2], dir_fd=at)

        for start in range(0, len(paths), DELETED_AT_ONCE):
            batch = paths[start : start + DELETED_AT_ONCE]
            with translated(f"delete {batch[0]}"):
                self.effects.run(call, lambda batch=batch: remove(batch))  # type: ignore[misc]

    def remove_empty_folders(self, prefix: str, call: Call = Call.DELETE) -> None:
        """Remove the folder at a prefix and those in it, as far as they hold nothing. An object store has no folders."""
        if not self.is_local:
            return

        def remove() -> None:
            self.require_inside(prefix.rstrip("/"))
            for folder, _, _ in os.walk(self.child(prefix), topdown=False):
                with suppress(OSError):  # it holds something
                    os.rmdir(folder)

        with translated(f"remove the folder {prefix}"):
            self.effects.run(call, remove)

    def objects(self, prefix: str) -> list[StoredObject]:
        """Every object below a prefix, by path."""
        import obstore

        with translated(f"list {prefix}"):
            if self.is_local:
                stored = inside.walk(self.uri, prefix)
                found = [StoredObject(path, s.st_size, s.st_mtime, file_version(s)) for path, s in stored]
                return sorted(found, key=lambda o: o.path)
            found = [
                StoredObject(meta["path"], meta["size"], meta["last_modified"].timestamp(), meta["e_tag"])
                for chunk in obstore.list(self._store(), prefix=prefix)
                for meta in chunk
            ]
        return sorted(found, key=lambda o: o.path)

    def require_inside(self, *paths: str) -> None:
        """Refuse paths that a link would lead out of the graph."""
        if self.is_local:
            for path in paths:
                inside.require(self.uri, path)

    def require_dataset(self, location: str) -> None:
        """Refuse a dataset that is a link, or one of whose folders is: Lance follows those."""
        if self.is_local:
            inside.require_folders(self.uri, location, (DATA, VERSIONS, DELETIONS, INDICES, TRANSACTIONS))

    def names(self, prefix: str) -> list[StoredObject]:
        """The objects below a prefix that are not removed. What is being put is not among them."""
        return [o for o in self.objects(prefix) if not self.is_removed(o) and not self.is_staged(o.path)]

    def is_staged(self, path: str) -> bool:
        """Whether a file is the first half of a put on a disk: written beside its place, as `name#1`, and then moved to it.

        A process that dies in between leaves it there.
        """
        return self.is_local and _STAGED.search(path) is not None

    def is_removed(self, found: StoredObject) -> bool:
        """Whether an object counts as absent."""
        return not self.is_local and found.size == 0

    def _store(self) -> ObjectStore:
        cached: ObjectStore | None = self.__dict__.get("_cached_store")
        if cached is None:
            cached = self._open_store()
            self.__dict__["_cached_store"] = cached
        return cached

    def _open_store(self) -> ObjectStore:
        from obstore.store import LocalStore, S3Store

        if self.is_local:
            return LocalStore(self.uri, mkdir=True)
        bucket, _, prefix = self.uri.removeprefix("s3://").partition("/")
        config = {k: v for k, v in self.options.items() if k != "allow_http"}
        client = {"allow_http": True} if self.options.get("allow_http", "").lower() == "true" else {}
        return S3Store(bucket, prefix=prefix or None, config=config, client_options=client)  # type: ignore[arg-type]

    def check_conditional_put(self, probe: str) -> None:
        """Refuse a store that would let two writers win. Costs three puts and a delete, on object stores only."""
        if self.is_local:
            return
        import obstore
        from obstore.exceptions import PreconditionError

        def put_over_another_version() -> None:
            obstore.put(self._store(), probe, b"other", mode={"e_tag": '"another"'})

        self.put_new(probe, b"probe")
        try:
            self.put_new(probe, b"probe")
        except AlreadyExists:
            try:
                with translated(f"put {probe}"):
                    self.effects.run(Call.PUT, put_over_another_version)
            except StorageError as error:
                if isinstance(error.__cause__, PreconditionError):
                    return
                raise
        finally:
            self.delete([probe])
        raise StorageError(
            f"{self.uri} ignores conditional puts: two writers could both believe they committed",
            hint="Use a store that supports If-None-Match and If-Match, or a newer version of this one.",
        )

    # ── fences ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def fence(self) -> int:
        """The newest fence that was seen in a head of this graph: files begun now are on no list up to that number (`doomed`)."""
        seen: int = self.__dict__.get("_fence", 0)
        return seen

    def see_fence(self, fence: int) -> None:
        """Take note of a fence."""
        if fence > self.fence:
            self.__dict__["_fence"] = fence

    # ── durability ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def sync(self, paths: Iterable[str], unnamed: Iterable[str] = ()) -> None:
        """Make files and the folders that name them survive a power failure. Missing files are skipped: they were not written.

        Of those that are to get another name, only what they hold has to survive (`unnamed`).
        """
        if not self.is_local or self.durability is not Durability.FULL:
            return
        existing, besides = ([p for p in map(self.child, dict.fromkeys(some)) if os.path.exists(p)] for some in (paths, unnamed))
        files = [*existing, *besides]
        if not files:
            return
        folders = self._folders(existing)
        with translated("sync to disk"):
            self.effects.run(Call.SYNC, lambda: flush(files, folders))
        self._durable_folders().update(folders)

    def _folders(self, files: Iterable[str]) -> list[str]:
        """Folders with a new entry: those of the files, and above them up to the first that is known to be durable."""
        root, known = self.uri, self._durable_folders()
        found: set[str] = set()
        for folder in {os.path.dirname(file) for file in files}:
            found.add(folder)
            while folder not in known and folder != root and folder.startswith(f"{root}/"):
                folder = os.path.dirname(folder)
                found.add(folder)
            if folder == root and root not in known:
                found.add(os.path.dirname(root))
        return sorted(found, key=lambda path: path.count("/"), reverse=True)

    def _durable_folders(self) -> set[str]:
        known: set[str] = self.__dict__.setdefault("_durable", set())
        return known


def file_version(found: os.stat_result) -> str:
    """What tells a file from others that had its name, before or after it."""
    return f"{found.st_ino:x}.{found.st_size:x}.{found.st_mtime_ns:x}.{found.st_ctime_ns:x}"
