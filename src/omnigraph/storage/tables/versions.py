"""Versions of tables taken apart, and deletion marks, kept in memory: what a small change is made of.

Neither ever changes under its name, so what is kept can be missing but never wrong. Of a stream of small commits each version is
made of the one before, which this process has just made.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

from lance import LanceDataset
from pyroaring import BitMap

from omnigraph.errors import HistoryReclaimed
from omnigraph.hints import Action, Hint
from omnigraph.model.phrases import counted
from omnigraph.storage.files.place import Place
from omnigraph.storage.files.records import damaged
from omnigraph.storage.lance_format.deletions import read_deletions
from omnigraph.storage.lance_format.file_names import version_file
from omnigraph.storage.lance_format.made_versions import Unfamiliar, Version
from omnigraph.storage.tables.changes import TableState

_VERSIONS: Final = 64
_MARKS: Final = 256
_MARKED_ROWS: Final = 1_000_000
"""A deletion file with more than so many rows is read whenever it is needed."""


class Versions:
    """Versions by location and pin; marks by the path of their file. Safe from any thread."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._versions: OrderedDict[tuple[str, int], Version] = OrderedDict()
        self._marks: OrderedDict[str, BitMap] = OrderedDict()
        self._lock = Lock()

    def read(self, location: str, pin: int) -> Version:
        """A version; `Unfamiliar` if it says what is not known here."""
        with self._lock:
            found = self._versions.get((location, pin))
            if found is not None:
                self._versions.move_to_end((location, pin))
        if found is None:
            found = Version.read(pin, self._place.get(f"{location}/{version_file(pin)}"))
            if found.number != pin:
                raise Unfamiliar(f"a version that says it is {found.number}")
            self.keep(location, found)
        return found

    def knows(self, location: str, pin: int) -> bool:
        """Whether a version is in memory."""
        return (location, pin) in self._versions

    def known_marks(self, path: str) -> BitMap | None:
        """Which rows a deletion file marks, if that is in memory."""
        with self._lock:
            return self._marks.get(path)

    def keep(self, location: str, version: Version) -> None:
        """Remember a version that was just made."""
        with self._lock:
            self._versions[location, version.pin] = version
            while len(self._versions) > _VERSIONS:
                self._versions.popitem(last=False)

    def marks(self, location: str, file: str, count: int) -> BitMap:
        """Which rows a deletion file marks; there must be so many."""
        path = f"{location}/{file}"
        with self._lock:
            found = self._marks.get(path)
        if found is None:
            found = BitMap(read_deletions(self._place, path, count).tolist())
            self.keep_marks(path, found)
        return found

    def keep_marks(self, path: str, marks: BitMap) -> None:
        """Remember what is in a deletion file. Nobody changes it from now on."""
        if len(marks) > _MARKED_ROWS:
            return
        with self._lock:
            self._marks[path] = marks
            while len(self._marks) > _MARKS:
                self._marks.popitem(last=False)


def meant(dataset: LanceDataset, state: TableState) -> LanceDataset:
    """A version, unless it is not what a commit refers to: Lance reads zeros as a version of nothing.

    How many rows there are is known unless a state has neither rows nor fragments.
    """
    what = f"version {state.pin} of {state.location}"
    if int(dataset.version) != state.pin:
        raise damaged(what, f"it says it is version {dataset.version}")
    if state.fragments and (rows := dataset.count_rows()) != state.rows:
        raise damaged(what, f"it holds {counted(rows, 'row')}; the commit recorded {state.rows}")
    _ = dataset.schema  # Lance reads a damaged one without a word, and panics when somebody looks at it
    return dataset


def reclaimed_version(location: str, pin: int) -> HistoryReclaimed:
    """What is said of a version that is not there, and need not be."""
    return HistoryReclaimed(
        f"version {pin} of {location} is gone: the commit that pinned it was reclaimed",
        hint=Hint("Read the branch again. If this was its newest state, ", Action("verify"), " lists what is missing."),
    )
