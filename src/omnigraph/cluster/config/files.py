"""Where a configuration is read from: a folder, or the files that somebody sent.

    FolderFiles(Path("company"))                        `cluster.yaml` and everything it names, on a disk
    SentFiles({"cluster.yaml": "…", …}, where, root)    the same, as texts by their paths, for a cluster that is served

Nothing but what was sent is read for a configuration that was sent, whatever paths it names; and it is for the cluster that is
served, and for no other.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from omnigraph.errors import UsageError
from omnigraph.model.phrases import counted

if TYPE_CHECKING:
    from omnigraph.cluster.config.cluster_yaml import Config

MOST: Final = 10_000
"""Files of a configuration that is sent."""


class ConfigFiles(Protocol):
    """The files of a configuration, by paths relative to its folder."""

    @property
    def where(self) -> str:
        """The folder, as it is shown."""
        ...

    def exists(self) -> bool:
        """Whether there is a folder at all."""
        ...

    def read(self, path: str) -> bytes:
        """What a file holds; raises `OSError`."""
        ...

    def is_folder(self, path: str) -> bool: ...

    def is_file(self, path: str) -> bool: ...

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, in order; raises `OSError`."""
        ...

    def root(self, config: Config) -> str:
        """The storage root that a configuration is for; raises `UsageError` if it is not for this one."""
        ...


class FolderFiles:
    """Files on a disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def where(self) -> str:
        return str(self._folder)

    def exists(self) -> bool:
        return self._folder.is_dir()

    def read(self, path: str) -> bytes:
        return (self._folder / path).read_bytes()

    def is_folder(self, path: str) -> bool:
        return (self._folder / path).is_dir()

    def is_file(self, path: str) -> bool:
        return (self._folder / path).is_file()

    def names(self, folder: str) -> list[str]:
        return sorted(entry.name for entry in (self._folder / folder).iterdir() if entry.is_file())

    def root(self, config: Config) -> str:
        from omnigraph.cluster.config.cluster_yaml import storage_root

        return storage_root(config, self._folder)


class SentFiles:
    """Files that were sent to whoever serves a cluster."""

    def __init__(self, files: Mapping[str, str], where: str, root: str) -> None:
        if len(files) > MOST:
            raise UsageError(
                f"a configuration has at most {counted(MOST, 'file')}, and this one {len(files):,}",
                hint="Send what it needs alone.",
            )
        self._files: dict[str, bytes] = {}
        for path, text in files.items():
            if not path or path != posixpath.normpath(path) or path.startswith(("/", "..")) or "\\" in path or "\0" in path:
                hint = "Paths are relative to the folder of cluster.yaml, with `/`, and do not leave it."
                raise UsageError(f"{path[:200]!r} is no path of a file of a configuration", hint=hint)
            try:
                self._files[path] = text.encode()
            except UnicodeEncodeError:
                raise UsageError(f"{path[:200]} is not text", hint="Send it as UTF-8.") from None
        self._where, self._root = where, root

    @property
    def where(self) -> str:
        return self._where

    @property
    def served_root(self) -> str:
        """The storage root of the cluster that is served."""
        return self._root

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return sum(map(len, self._files.values()))

    @property
    def digest(self) -> str:
        """Of all of them, with their paths."""
        found = hashlib.sha256(b"deployment\0")
        for path, content in sorted(self._files.items()):
            found.update(f"{path}\0{hashlib.sha256(content).hexdigest()}\0".encode())
        return found.hexdigest()

    def exists(self) -> bool:
        return True

    def read(self, path: str) -> bytes:
        found = self._files.get(posixpath.normpath(path))
        if found is None:
            raise FileNotFoundError(2, "it was not sent", path)
        return found

    def is_folder(self, path: str) -> bool:
        begins = _inside(path)
        return any(one.startswith(begins) for one in self._files)

    def is_file(self, path: str) -> bool:
        return posixpath.normpath(path) in self._files

    def names(self, folder: str) -> list[str]:
        begins = _inside(folder)
        below = (one.removeprefix(begins) for one in self._files if one.startswith(begins))
        return sorted(name for name in below if "/" not in name)

    def root(self, config: Config) -> str:
        from omnigraph.cluster.config.cluster_yaml import storage_root
        from omnigraph.service.objects import SmallObjects

        if config.storage is None:
            return self._root
        if "://" in config.storage or "://" not in self._where:
            named = storage_root(config, Path(self._where))
            if SmallObjects(named).uri == SmallObjects(self._root).uri:
                return self._root
        raise UsageError(f"it is for {config.storage}, and another cluster is served: leave `storage` out")


def _inside(folder: str) -> str:
    found = posixpath.normpath(folder)
    return "" if found == "." else f"{found}/"
