"""What has been reclaimed: the commits whose tables are gone, and the manifests that are going.

A reclaimed commit keeps its row in the lineage, but its tables cannot be opened any more. Which commits those are is written
down *before* the first file is deleted, in a small object below `__reclaimed/`. Three things rest on that record:

* an old commit answers with `HistoryReclaimed`, from the first moment on and whatever is cached somewhere, never with half of
  its tables;
* a reclaim that died half-way is finished by the next one, and nobody can see the half that is left;
* naming an old commit (a branch made of it, a tag, a lease) and reclaiming it cannot both succeed. Each side first writes its own
  object and then reads the other's, so at least one of them sees the other:

      create_tag       put the tag      → read the record: is the commit in it, or announced?  then undo
      reclaim          announce         → read branches and tags: are there new ones?  then those commits stay  → settle

**Announced is not settled.** What a reclaim *announces* it may yet take back, and it may die before it has looked again. So an
announcement stops whoever is about to name something, and nothing else: readers and later reclaims go by what is settled, and
nothing is deleted before it is. What is settled is never taken back: somebody may be deleting it.

**Records are numbered, and only the newest counts.** It says everything that those before it had settled. A number is put once,
so of two reclaims that go on from one record one is too late (`Overtaken`), and has deleted nothing:

    1   settled m0…m3
    2   settled m0…m3   announced m4     by A, which stops here, or dies
    3   settled m0…m3   announced m5     by B: A's announcement counts no more, m4 can be named
    4   settled m0…m3, m5                by B
        A goes on and is to put 3, or 5 on top of 2: too late

The newest record stays until there is a newer one. Numbers below it may be free again, and who puts such a one finds out by
looking for newer ones afterwards. Records of before had names instead of numbers and did not tell announced from settled: they
count as settled, but not against a branch that is alive, until the next reclaim folds them into its own.

A commit is known here by its manifest and its number. The record holds runs of numbers, not one entry per commit: its size
follows the number of branches and tags, not the length of the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Final

from omnigraph.errors import AlreadyExists, NotFound, StorageError
from omnigraph.model.frozen import frozen
from omnigraph.storage.commits.refs import Ref
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.place import Place
from omnigraph.storage.files.records import decoded, encoded

FOLDER: Final = "__reclaimed"

_LOOKS: Final = 20

_DIGITS: Final = 20
"""Of a number in the name of a record: names of before are longer."""

Position = tuple[str, int]
"""A commit, by the incarnation whose manifest holds it and its number."""

Run = tuple[int, int]
"""Numbers from the first to the second, both included."""


@frozen
class Reclaimed:
    """Commits that cannot be opened any more, and manifests that are deleted or about to be."""

    at: int = 0
    """Microseconds since the epoch."""
    commits: Mapping[str, tuple[Run, ...]] = field(default_factory=dict)
    manifests: tuple[str, ...] = ()
    announced: Reclaimed | None = None
    """What is about to follow, unless somebody turns out to need it."""
    by: str | None = None
    """Who reclaimed last; unknown of records of before, and of reclaims that nobody put a name to."""

    def holds(self, incarnation: str, seq: int) -> bool:
        """Whether a commit was reclaimed."""
        return any(first <= seq <= last for first, last in self.commits.get(incarnation, ()))

    def lacks(self, owner: Ref, seq: int) -> bool:
        """Whether a commit was reclaimed, or the manifest that holds it or one that it goes back to."""
        return self.holds(owner.incarnation, seq) or any(ref.incarnation in self.manifests for ref in owner.ancestry())

    def together(self, other: Reclaimed) -> Reclaimed:
        """What both have settled."""
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


class Overtaken(Exception):
    """Another reclaim has put a newer record. Never leaves the storage layer."""


@frozen
class Ledger:
    """The newest record as somebody has read it."""

    number: int = 0
    record: Reclaimed = Reclaimed()
    unnumbered: Reclaimed = Reclaimed()
    """What records of before say."""
    older: tuple[str, ...] = ()
    """Paths of every record there is: they count no more once there is a newer one."""

    @property
    def is_alone(self) -> bool:
        """Whether there is no other record."""
        return all(path == _path(self.number) for path in self.older)

    @property
    def settled(self) -> Reclaimed:
        """What is gone for good."""
        return replace(self.record.together(self.unnumbered), announced=None)

    @property
    def feared(self) -> Reclaimed:
        """What nobody may come to need any more: gone, or perhaps about to."""
        return self.settled.together(self.record.announced or Reclaimed())


def ledger(place: Place) -> Ledger:
    """The newest record. Two listings that agree: one alone may miss both a record that goes and the one that replaces it."""
    paths = _paths(place)
    for _ in range(_LOOKS):
        numbers = [path for path in paths if _number(path)]
        others = [path for path in paths if not _number(path)]
        newest = numbers[-1:]
        try:
            read = {path: decoded(place.get(path), Reclaimed, path, f"the record {path}") for path in (*newest, *others)}
        except NotFound:  # replaced by a newer one since it was listed
            paths = _paths(place)
            continue
        before, paths = paths, _paths(place)
        if before == paths:
            unnumbered = Reclaimed()
            for path in others:
                unnumbered = unnumbered.together(read[path])
            record = read[newest[0]] if newest else Reclaimed()
            return Ledger(_number(newest[0]) if newest else 0, record, unnumbered, tuple(paths))
    raise StorageError(f"the records below {place.child(FOLDER)} are listed but cannot be read")


def reclaimed(place: Place) -> Reclaimed:
    """Everything that has been reclaimed so far."""
    return ledger(place).settled


def put_record(place: Place, after: Ledger, record: Reclaimed, call: Call = Call.PUT_NEW) -> Ledger:
    """Put the record that follows another, for good; `Overtaken` if somebody else has. Gives it as it is read."""
    path = _path(after.number + 1)
    try:
        place.put_new(path, encoded(record, path), call=call)
    except AlreadyExists:
        raise Overtaken from None
    put = ledger(place)
    if put.number != after.number + 1:
        place.delete([path])  # the number was used before, or has been followed: what counts is newer
        raise Overtaken
    return put


def forget_older(place: Place, newest: Ledger) -> None:
    """Delete the records that a newer one replaces."""
    place.delete([path for path in newest.older if path != _path(newest.number)])


def _paths(place: Place) -> list[str]:
    return [o.path for o in place.names(FOLDER)]


def _path(number: int) -> str:
    return f"{FOLDER}/{number:0{_DIGITS}d}"


def _number(path: str) -> int:
    """The number of a record; 0: it has none."""
    name = path.rpartition("/")[2]
    return int(name) if len(name) == _DIGITS and name.isdigit() else 0
