"""A change of a graph, as a value: per type, rows that come or change and entities that go.

Whoever wants to change something (a mutation, a load, a merge) says it in this form; validation and commit know no other.

    Delta(Person, rows=3 new images, removed=("bob",))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Protocol

import pyarrow as pa

from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.columns import columns_of
from omnigraph.engine.arrays.chunked import NO_IDS, whole
from omnigraph.engine.arrays.column import Mask
from omnigraph.engine.snapshot.view import table_key
from omnigraph.model.frozen import frozen
from omnigraph.storage.tables.changes import Marks, Named, RowPlace, WrittenRows


class PlaceList(Protocol):
    """File and line of each row."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int, /) -> tuple[str | None, int | None]: ...


@frozen(slots=False)
class Delta:
    """What happens to one type."""

    type: EntityType
    rows: pa.Table
    """Images after the change, complete, each id once. If they are written already: the columns that rules about sets look at."""
    removed: pa.Array = field(default_factory=lambda: NO_IDS)
    """Ids of entities that go. None of them is among the rows."""
    looked_for: pa.Array = field(default_factory=lambda: NO_IDS)
    """Ids of entities that were to go and are not there: void if one of them comes meanwhile."""
    replaces_all: bool = False
    """The rows become the whole content."""
    gone: pa.Array | None = None
    """What goes because the rows become the whole content, if somebody has found out."""
    fresh: bool = False
    """Every id was made for this change: none can exist."""
    must_be_new: bool = False
    """An id that exists is a conflict."""
    places: PlaceList = ()
    """File and line of each row, where it came from one."""
    written: WrittenRows | None = None
    """The rows in data files, if they are there already; each was checked by itself before."""
    marks: Marks | None = None
    """Where the rows stand that these replace, if somebody has looked."""
    absent: Mapping[str, Mask] = field(default_factory=dict)
    """By column, rows that say nothing about it: no rule about a row by itself asks for their value."""
    completed: bool = False
    """The rows were completed from what is committed: void if somebody else changes one of these entities meanwhile."""
    unchanged: bool = False
    """Whoever completed them found that everything is there already, exactly so."""
    stepwise: bool = False
    """Rows are steps, one after the other: of several of one entity the last one counts."""
    stood: tuple[RowPlace, ...] = ()
    """Where few rows stand that are replaced or go, if somebody has looked."""

    @property
    def key(self) -> str:
        return table_key(self.type)

    @property
    def is_node(self) -> bool:
        return self.type.is_node

    @cached_property
    def ids(self) -> pa.Array:
        """Ids of the rows."""
        return self.column("id")

    @cached_property
    def touched(self) -> pa.Array:
        """Ids of everything that is not as it was."""
        return pa.concat_arrays([self.ids, self.removed]) if len(self.removed) else self.ids

    @property
    def is_empty(self) -> bool:
        return not self.replaces_all and self.rows.num_rows == 0 and len(self.removed) == 0

    def column(self, name: str) -> pa.Array:
        """One column of the rows, in one piece; made once, because rules ask for it again for every row they complain about."""
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = whole(self.rows[name])
        return found

    @cached_property
    def _columns(self) -> dict[str, pa.Array]:
        return {}

    @cached_property
    def noted(self) -> list[Named | None]:
        """What it notes down, once somebody has asked (`names`): a commit in company asks once per attempt."""
        return []

    def place(self, row: int) -> tuple[str | None, int | None]:
        """Where a row was written, if that is known."""
        return self.places[row] if len(self.places) else (None, None)

    def entity(self, row: int) -> str | None:
        """The id of a row. An id that was made for a line of a file says nothing to whoever wrote the line."""
        return None if self.fresh and len(self.places) else self.ids[row].as_py()

    def called(self, row: int) -> str:
        """A row, for a message."""
        entity = self.entity(row)
        return self.type.name if entity is None else f"{self.type.name} `{entity}`"


class ChangeSet:
    """What happens to a graph, by type."""

    def __init__(self, deltas: Iterable[Delta]) -> None:
        self._deltas = {delta.type.name if delta.is_node else f"edge {delta.type.name}": delta for delta in deltas}

    def __iter__(self) -> Iterator[Delta]:
        return iter(self._deltas.values())

    def node(self, name: str) -> Delta | None:
        """What happens to a node type."""
        return self._deltas.get(name)

    def edge(self, name: str) -> Delta | None:
        """What happens to an edge type."""
        return self._deltas.get(f"edge {name}")

    @property
    def is_empty(self) -> bool:
        return all(delta.is_empty for delta in self)


def no_rows(type_: EntityType) -> pa.Table:
    """An empty table of a type."""
    return columns_of(type_).empty_table()


def typed(type_: EntityType, rows: pa.Table) -> pa.Table:
    """Checked rows in exactly the columns of their type: what is required is there."""
    wanted = columns_of(type_)
    return rows if rows.schema.equals(wanted) else rows.select(wanted.names).cast(wanted)
