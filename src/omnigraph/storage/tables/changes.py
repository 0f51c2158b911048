"""Staged changes of one table, as values.

A change says what is to happen to a table, with the expensive part (data files) already written and unreachable. Applying it to
a pinned version gives a new pin; applying it again to *another* pinned version is how a plan is rebased after it lost a race,
without writing its rows again.

    Append       new rows, whose ids are new (or are taken over, where it says so)
    Upsert       new images of rows; old images with the same ids go
    Delete       rows go, by id
    Overwrite    the rows become the whole content (none: the table becomes empty)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, overload

from omnigraph.model.frozen import frozen
from omnigraph.storage.files.checksums import StoredFile

if TYPE_CHECKING:
    import pyarrow as pa
    from lance.fragment import FragmentMetadata


@frozen
class UnstoredRows:
    """Rows that wait for a file."""

    rows: pa.Table
    pin: int
    """The version whose columns they have: a column of the same name may be another one by the time they are stored."""


@frozen
class WrittenRows:
    """Rows that no version refers to yet: in data files, or a few that will get one when they are published."""

    fragments: tuple[FragmentMetadata, ...]
    """They hold for any version of the table, and in any process."""
    rows: int
    unsynced: tuple[str, ...]
    """Small files, as paths below the place: the publisher syncs those of a whole group at once. Large ones are synced."""
    fence: int = field(default=0, compare=False)
    """The newest fence that was known before the first of them was begun (`doomed`)."""
    unstored: UnstoredRows | None = field(default=None, compare=False)
    """Few rows that are in no file yet. The publisher stores those of a whole group in one."""
    stored: tuple[StoredFile, ...] = field(default=(), compare=False)
    """What the files hold, by checksum, as far as it is known: not on an object store, and not for files of another commit."""


NO_ROWS = WrittenRows((), 0, ())


class ArrowIds(Sequence[str]):
    """Ids of many rows. They are read when somebody looks at them, and become strings one lookup at a time."""

    def __init__(self, count: int, read: Callable[[], pa.Array]) -> None:
        self._count, self._read = count, read

    @cached_property
    def _ids(self) -> pa.Array:
        return self._read()

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        found: str | list[str] = self._ids[at].to_pylist() if isinstance(at, slice) else self._ids[at].as_py()
        return found

    def __arrow_array__(self, type: pa.DataType | None = None) -> pa.Array:
        return self._ids if type is None else self._ids.cast(type)


@frozen
class Append:
    written: WrittenRows
    ids: Sequence[str] = ()
    """Ids that do not exist at the plan's base and must not exist when it is published; empty when they cannot (fresh ULIDs)."""
    or_replace: bool = False
    """Rows that do exist when it is published are replaced, as by an upsert, and are no conflict."""


@frozen
class RowPlace:
    """Where somebody saw a row: it stands there in every version with that file in that fragment, unless it is marked."""

    id: str
    fragment: int
    files: tuple[str, ...]
    offset: int


@frozen
class Marks:
    """Deletion marks for rows that are about to be replaced, made beforehand for one version of a table and no other."""

    pin: int
    touched: tuple[FragmentMetadata, ...]
    """Fragments with a new deletion file…"""
    emptied: tuple[int, ...]
    """…and numbers of those that would have no rows left."""
    removed: int


@frozen
class Upsert:
    written: WrittenRows
    ids: Sequence[str]
    marks: Marks | None = None
    """Where the old images are, if somebody has looked; on another version than that they are looked for by their ids."""
    places: tuple[RowPlace, ...] = ()
    """The same for few rows, and for any version."""


@frozen
class Delete:
    ids: Sequence[str]
    places: tuple[RowPlace, ...] = ()
    """Where some of them were seen."""


@frozen
class Overwrite:
    written: WrittenRows


Change = Append | Upsert | Delete | Overwrite


@frozen
class Named:
    """Which rows a small change is about. It is noted down with the commit: others then need not read rows to know."""

    came: tuple[str, ...] = ()
    """Ids of rows that are there afterwards: new ones, and new images."""
    went: tuple[str, ...] = ()
    """Ids of rows that are not."""
    ends: tuple[str, ...] = ()
    """Of edges that came, the ids of both ends."""
    values: tuple[str, ...] = ()
    """What else of rows that came no other row may have: digests, which only whoever wrote them understands."""
    at: tuple[int, str, int] | None = None
    """Where the rows that came stand, one after the other: fragment, file, offset of the first."""

    def standing(self, at: tuple[int, str, int] | None) -> Named:
        """The same, with where its rows stand."""
        return Named(self.came, self.went, self.ends, self.values, at)

    def place(self, number: int) -> RowPlace | None:
        """Where a row that came stands."""
        if self.at is None:
            return None
        fragment, file, first = self.at
        return RowPlace(self.came[number], fragment, (file,), first + number)

    def touches(self, ids: Collection[str]) -> bool:
        """Whether one of these rows came, went, or has another image."""
        if isinstance(ids, set | frozenset):
            return not (ids.isdisjoint(self.came) and ids.isdisjoint(self.went))
        return any(id_ in ids for id_ in self.came) or any(id_ in ids for id_ in self.went)


@frozen
class IndexState:
    """An index of a table and how much of it is covered."""

    name: str
    column: str
    kind: str
    covered: int
    """Fragments of the present version that the index covers."""


_JSON_INTEGERS = 1 << 53


@frozen
class TableState:
    """A table as a commit sees it."""

    table: str
    """Stable key: `node:<type id>-<incarnation>` or `edge:…`."""
    location: str
    pin: int
    rows: int
    fragments: int
    indexes: tuple[IndexState, ...] = ()

    @property
    def version(self) -> int:
        """The pin as a number that JSON's readers can hold: below 2 to the 53."""
        return self.pin % _JSON_INTEGERS or 1

    def holds_what(self, other: TableState) -> bool:
        """Whether another state is the same version of the same table."""
        return (self.location, self.pin) == (other.location, other.pin)


@frozen
class Applied:
    """The outcome of a change: the new state, what differs, and the files that must be durable before it may be published."""

    state: TableState
    added: int
    removed: int
    fragments_added: tuple[int, ...]
    fragments_removed: tuple[int, ...]
    files: tuple[str, ...]
    fence: int = field(default=0, compare=False)
    """The newest fence that was known before the first of them was begun (`doomed`)."""
    stored: tuple[StoredFile, ...] = field(default=(), compare=False)
    """What the files hold that came with it, by checksum."""
    at: tuple[int, str, int] | None = None
    """Where the rows that came stand, if they stand together: see `Named`."""


def unchanged(state: TableState) -> Applied:
    """The outcome of a change that changes nothing."""
    return Applied(state, 0, 0, (), (), ())
