"""What has been reclaimed: the commits whose tables are gone, and the manifests that are going.

A reclaimed commit keeps its row in the lineage, but its tables cannot be opened any more. Which commits those are is written
down *before* the first file is deleted, in a small object below `__reclaimed/`. Three things rest on that record:

* an old commit answers with `HistoryReclaimed`, from the first moment on and whatever is cached somewhere, never with half of
  its tables;
* a reclaim that died half-way is finished by the next one, and nobody can see the half that is left;
* naming an old commit (a branch made of it, a tag) and reclaiming it cannot both succeed. Each side first writes its own
  object and then reads the other's, so at least one of them sees the other:

      create_tag       put the tag      → read the records: is the commit there?  then undo, HistoryReclaimed
      reclaim          put the record   → read branches and tags: are there new ones?  then those commits stay

A commit is known here by its manifest and its number. The record holds runs of numbers, not one entry per commit, and each
reclaim folds the older records into its own: its size follows the number of branches and tags, not the length of the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from omnigraph.errors import NotFound, StorageError
from omnigraph.storage.place import Place
from omnigraph.storage.records import decoded, encoded

FOLDER: Final = "__reclaimed"

_LOOKS: Final = 20

Position = tuple[str, int]
"""A commit, by the incarnation whose manifest holds it and its number."""

Run = tuple[int, int]
"""Numbers from the first to the second, both included."""


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """Commits that cannot be opened any more, and manifests that are deleted or about to be."""

    at: int = 0
    """Microseconds since the epoch."""
    commits: Mapping[str, tuple[Run, ...]] = field(default_factory=dict)
    manifests: tuple[str, ...] = ()

    def holds(self, incarnation: str, seq: int) -> bool:
        """Whether a commit was reclaimed."""
        return any(first <= seq <= last for first, last in self.commits.get(incarnation, ()))

    def together(self, other: Reclaimed) -> Reclaimed:
        """Both, as one record."""
        positions = {p for record in (self, other) for p in record.positions()}
        manifests = sorted({*self.manifests, *other.manifests})
        return Reclaimed(max(self.at, other.at), runs(positions), tuple(manifests))

    def positions(self) -> Iterable[Position]:
        """Every commit, one by one."""
        for incarnation, found in self.commits.items():
            for first, last in found:
                yield from ((incarnation, seq) for seq in range(first, last + 1))


def runs(positions: Iterable[Position]) -> dict[str, tuple[Run, ...]]:
    """Commits as runs of numbers, per manifest."""
    found: dict[str, list[Run]] = {}
    for incarnation, seq in sorted(set(positions)):
        known = found.setdefault(incarnation, [])
        if known and known[-1][1] == seq - 1:
            known[-1] = (known[-1][0], seq)
        else:
            known.append((seq, seq))
    return {incarnation: tuple(known) for incarnation, known in found.items()}


def records(place: Place) -> dict[str, Reclaimed]:
    """Every record by its path. Usually there is one, or none."""
    for _ in range(_LOOKS):
        try:
            return {o.path: decoded(place.get(o.path), Reclaimed, o.path, f"the record {o.path}") for o in place.objects(FOLDER)}
        except NotFound:
            continue  # folded into a newer one since it was listed
    raise StorageError(f"the records below {place.child(FOLDER)} are listed but cannot be read")


def reclaimed(place: Place) -> Reclaimed:
    """Everything that has been reclaimed so far."""
    together = Reclaimed()
    for record in records(place).values():
        together = together.together(record)
    return together


def write_record(place: Place, name: str, record: Reclaimed) -> str:
    """Write a record down for good, and say where."""
    path = f"{FOLDER}/{name}"
    place.put_new(path, encoded(record, path))
    return path
