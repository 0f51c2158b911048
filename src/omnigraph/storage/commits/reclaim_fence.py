"""What reclaim is about to delete, and how a writer and reclaim exclude each other.

A write puts its files first and names them last. In between nobody can tell them from garbage, and no clock settles it: a process
may be stopped for a day and go on, and clocks of two machines may differ by hours. So reclaim and publication swap on the same
thing, the head of the branch:

    reclaim    1  list what is to go, under the next number      `__doomed/00…07`
               2  put that number, the *fence*, into the head of every branch, by the swap that publishes commits
               3  look again what the heads refer to; take that off the list
               4  delete
    writer     a  before its first file: notes the fence it has seen last
               b  before its swap: if the head has a newer fence, makes sure of the files it is to name: on no list, and there
               c  swaps on that head

A file on list 7 was there before fence 7 was in any head. If its writer swaps before the fence comes to its branch, reclaim
finds the file in the head (3). If it comes later, it finds the fence (b). And if it is stopped between b and c while the fence
comes, it loses the swap, and looks again. Who lost files is told (`StalledWrite`), and nothing was published. The grace period
and leases are a courtesy on top of that, so that those who are slow and alive are not hurt.

* **A new branch** has the fence of its parent, which may be old: reclaim may have looked at the branches just before. So the
  first swap on a branch asks for the newest list itself. A reclaim that lists later finds the branch and fences it.
* **The next version of a manifest** is a file that nobody names until the swap, too. Where reclaim finds one in a manifest that
  stays, it fences that branch before it deletes: who stood before the swap loses it, and writes another.
* **Who copies a head** (a branch made of a branch) looks again after the branch has its name, as for tags; see `reclaimed`.
* **A reclaim that dies** leaves its list. Writers go on respecting it. The next reclaim takes what is on it into its own.
* **Numbers** only grow. The newest list stays until there is a newer one, and a list counts if there was no newer one after it
  was put: so two reclaims never have the same number, and a list was put before every list with a greater number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from omnigraph.errors import AlreadyExists, GraphError, NotFound, StalledWrite
from omnigraph.model.frozen import frozen
from omnigraph.storage.files.dataset_folders import INDICES
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.lance_errors import translated
from omnigraph.storage.files.place import Place
from omnigraph.storage.files.records import decoded, encoded
from omnigraph.storage.tables.changes import TableState
from omnigraph.storage.tables.needed_files import Needs, folder_of, needs_of
from omnigraph.storage.tables.table import Tables

FOLDER: Final = "__doomed"


@frozen
class Doomed:
    """Files that go, by the table they belong to."""

    files: Mapping[str, tuple[str, ...]]
    """Location of a table → names below it."""

    @classmethod
    def of(cls, paths: Iterable[str]) -> Doomed:
        """A list of paths below a place."""
        found: dict[str, list[str]] = {}
        for path in sorted(paths):
            kind, table, rest = path.split("/", 2)
            found.setdefault(f"{kind}/{table}", []).append(rest)
        return cls({location: tuple(names) for location, names in found.items()})

    def paths(self) -> frozenset[str]:
        """Every path."""
        return frozenset(f"{location}/{name}" for location, names in self.files.items() for name in names)


# ── reclaim ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def announce(place: Place, paths: Iterable[str], fence: int) -> int:
    """Put a list under a number above every other, and above a fence that somebody has seen. Gives the number."""
    doomed = Doomed.of(paths)
    while True:
        number = max(newest(place), fence) + 1
        try:
            place.put_new(_path(number), encoded(doomed, _path(number)), call=Call.DOOM)
        except AlreadyExists:
            continue
        if newest(place) == number:
            return number
        place.delete([_path(number)])  # by a listing that was old: greater numbers are in use


def correct(place: Place, number: int, paths: Iterable[str]) -> None:
    """Take what turned out to be needed off a list."""
    place.put(_path(number), encoded(Doomed.of(paths), _path(number)), Call.DOOM)


def forget(place: Place, numbers: Iterable[int]) -> None:
    """Forget lists: what was on them is on a newer one, or gone, or needed."""
    place.delete([_path(number) for number in numbers])


def lists(place: Place) -> dict[int, frozenset[str]]:
    """What is on each list."""
    found = {}
    for number in _numbers(place):
        try:
            said = place.get(_path(number))
        except NotFound:  # everything on it is gone, or needed
            continue
        with translated(f"read the list {_path(number)}"):
            found[number] = decoded(said, Doomed, _path(number), f"the list {_path(number)}").paths()
    return found


def newest(place: Place) -> int:
    """The greatest number of a list; 0: there is none."""
    return max(_numbers(place), default=0)


def _numbers(place: Place) -> list[int]:
    names = (o.path.rpartition("/")[2] for o in place.names(FOLDER))
    return sorted(int(name) for name in names if name.isdigit())


def _path(number: int) -> str:
    return f"{FOLDER}/{number:020d}"


# ── writers ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def require_kept(place: Place, tables: Tables, named: Iterable[tuple[TableState | None, TableState]]) -> None:
    """Refuse tables that rest on files which are gone or about to go. Each with what is there already, which is not looked at."""
    listed = frozenset[str]().union(
        *lists(place).values()
    )  # before looking at the files: a list that is gone by now has no file left
    for before, after in named:
        try:
            fresh = _beyond(needs_of(tables.open(after)), Needs() if before is None else needs_of(tables.open(before)))
        except GraphError as error:
            raise _stalled(after.location, error.message) from error
        for path in listed:
            if path.startswith(f"{after.location}/") and fresh.cover(path):
                raise _stalled(after.location, f"{path} is being reclaimed")
        missing = _missing(place, after.location, fresh)
        if missing is not None:
            raise _stalled(after.location, f"{missing} was reclaimed")


def _beyond(needs: Needs, known: Needs) -> Needs:
    return Needs(
        {path: size for path, size in needs.files.items() if path not in known.files},
        {path: size for path, size in needs.folders.items() if path not in known.folders},
    )


def _missing(place: Place, location: str, needs: Needs) -> str | None:
    """Something of a table that is needed and not there, or not all of it."""
    stored = {o.path: o.size for o in place.objects(location)} if needs.files or needs.folders else {}
    held: dict[str, int] = {}
    for path, size in stored.items():
        folder = folder_of(path)
        if folder is not None:
            held[folder] = held.get(folder, 0) + size
    lost = [path for path in needs.files if path not in stored]
    segments = [folder for folder in needs.folders if f"/{INDICES}/" in folder]
    lost += [folder for folder in segments if held.get(folder, 0) < max(needs.folders[folder] or 0, 1)]
    return min(lost, default=None)


def _stalled(location: str, why: str) -> StalledWrite:
    return StalledWrite(
        f"the write to {location} stood still for so long that cleanup took its files for garbage: {why}. Nothing was published.",
        hint="Write it again. Cleanup leaves alone what is younger than an hour and what holds a lease.",
    )
