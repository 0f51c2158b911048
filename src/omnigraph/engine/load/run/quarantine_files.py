"""The files of quarantined records: a folder with one file per load.

    bad/20261116T083000Z-01KA5….jsonl      one record per line, with its violations

A load never touches what another one wrote. The file is written aside first (`.….jsonl.pending`), synced, and gets its name when
the load is committed: a file that is there tells of a load that took place. Should the process die between the two, the commit
carries the name of the file as its idempotency key, and the next load that writes to the folder gives the file its name.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from omnigraph.engine.load.read.inputs.sources import Found
from omnigraph.errors import NotFound, StorageError, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.ids import UlidSource
from omnigraph.storage.files.inputs import is_remote
from omnigraph.storage.files.place import Place
from omnigraph.storage.graph_store import GraphStore

_log = logging.getLogger(__name__)

_ENDING: Final = ".jsonl"
_PENDING: Final = f"{_ENDING}.pending"
_KEY_PREFIX: Final = "quarantine/"


def require_beside(path: str, found: Found) -> None:
    """Refuse, before any work, a folder that nothing can be written to, or that is loaded itself."""
    mine = path.rstrip("/") if is_remote(path) else os.path.abspath(path)
    if not is_remote(path):
        if os.path.exists(mine) and not os.path.isdir(mine):
            raise UsageError(f"{path} is a file", hint="Name a folder: each load writes a file of its own there.")
        if not os.path.isdir(os.path.dirname(mine)):
            raise NotFound(f"there is no folder {os.path.dirname(mine)} to create {os.path.basename(mine)} in")
    for folder in found.folders:
        if f"{mine}/".startswith(f"{folder.rstrip('/')}/"):
            raise UsageError(f"{path} is in a folder that is loaded, and would be loaded next time", hint="Name another folder.")


@frozen(slots=False)
class Aside:
    """The file of one load."""

    folder: Place
    run: str

    @classmethod
    def of(cls, path: str, options: Place) -> Aside:
        """A new one. Object stores are reached as that of the graph."""
        now = datetime.now(UTC)
        return cls(Place.at(path, options.options), f"{now:%Y%m%dT%H%M%SZ}-{UlidSource().next()}")

    @property
    def path(self) -> str:
        """Where it will be."""
        return self.folder.child(f"{self.run}{_ENDING}")

    @property
    def idempotency_key(self) -> str:
        """What the commit of the load carries."""
        return f"{_KEY_PREFIX}{self.run}"

    def write(self, lines: Iterable[bytes]) -> None:
        """Write it aside, where nobody takes it for what it is."""
        data = b"".join(lines)
        if not self.folder.is_local:
            self.folder.put(self._pending, data)
            return
        try:
            os.makedirs(self.folder.uri, exist_ok=True)
            with open(self.folder.child(self._pending), "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StorageError(f"cannot write to {self.folder.uri}: {error.strerror}", hint="Nothing was loaded.") from error

    def give_name(self) -> None:
        """The load took place."""
        if not self.folder.is_local:
            self.folder.put(f"{self.run}{_ENDING}", self.folder.get(self._pending))
            self.folder.delete([self._pending])
            return
        os.replace(self.folder.child(self._pending), self.path)
        self.folder.sync([f"{self.run}{_ENDING}"])

    def forget(self) -> None:
        """There was no load."""
        with suppress(NotFound):
            try:
                self.folder.delete([self._pending])
            except StorageError as error:
                _log.warning("%s is left behind, and belongs to no load: %s", self.folder.child(self._pending), error.message)

    @property
    def _pending(self) -> str:
        return f".{self.run}{_PENDING}"


def give_names(folder: Place, store: GraphStore, branch: str) -> None:
    """Give files their names whose loads were committed to a branch by a process that died right after."""
    with suppress(NotFound):
        for found in folder.names(""):
            name = found.path.rpartition("/")[2]
            if name.startswith(".") and name.endswith(_PENDING):
                left = Aside(folder, name.removeprefix(".").removesuffix(_PENDING))
                commit = store.commit_with_key(branch, left.idempotency_key)
                if commit is not None and commit.idempotency_key == left.idempotency_key:
                    left.give_name()
