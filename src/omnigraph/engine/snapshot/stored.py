"""A pinned table with the columns that were read of it kept in memory.

A column of a pin is read at most once. When an older pin of the same table has it, only the rows that came since are read:
fragments that both pins share are copied, deleted rows are left out (`omnigraph.storage.tables.rows` says how pins compare).

    table.column("age")          the whole column, in row order
    table.values("age", rows)    a few rows: from the kept column, else straight from the table

Vectors are wide, and every search measures all of them: once read they are saved (`snapshot.saved`), and the next process
reads them from there. Where they are many they are kept in another form (`snapshot.quantized_vectors`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from omnigraph.engine.arrays.column import Column
from omnigraph.engine.arrays.numbering import Fingerprint, Numbers
from omnigraph.engine.cost import ledger
from omnigraph.engine.cost.ledger import Account
from omnigraph.engine.snapshot.memory import Key, Memory
from omnigraph.engine.snapshot.pieces import Copied, Piece, compared
from omnigraph.engine.snapshot.saved import Arrays, Saved, State, deleted_to_array, state_to_vectors, vectors_to_arrays
from omnigraph.storage.lance_format.filters import Filter
from omnigraph.storage.tables.changes import TableState, WrittenRows
from omnigraph.storage.tables.rows import Fragment, column_identity, found, read_fragments, take
from omnigraph.storage.tables.table import Table, Tables
from omnigraph.storage.tables.unopened import deleted_of, fragments_of, recent_rows

T = TypeVar("T")

_REMEMBERED_PINS = 8

_FIND_BY_VALUE = frozenset({"BTREE", "BITMAP"})


class Ancestors:
    """Pins of each table that were read lately: where columns of a new pin can be copied from."""

    def __init__(self) -> None:
        self._known: dict[str, OrderedDict[int, Stored]] = {}
        self._lock = Lock()

    def add(self, stored: Stored) -> None:
        """Remember a pin."""
        with self._lock:
            pins = self._known.setdefault(stored.location, OrderedDict())
            pins[stored.pin] = stored
            pins.move_to_end(stored.pin)
            while len(pins) > _REMEMBERED_PINS:
                pins.popitem(last=False)

    def known(self, location: str, pin: int) -> Stored | None:
        """A pin that is remembered."""
        with self._lock:
            return self._known.get(location, OrderedDict()).get(pin)

    def of(self, stored: Stored) -> list[Stored]:
        """Other pins of the same table, youngest first."""
        with self._lock:
            return [s for pin, s in reversed(self._known.get(stored.location, OrderedDict()).items()) if pin != stored.pin]


class Stored:
    """One pinned table."""

    def __init__(self, tables: Tables, state: TableState, memory: Memory, ancestors: Ancestors, saved: Saved) -> None:
        self._tables = tables
        self._saved = saved
        self._memory = memory
        self._ancestors = ancestors
        self.state = state
        self._accounts: dict[str, Account] = {}
        self._keys: dict[str, Key] = {}
        self.derived: dict[str, Any] = {}
        """What else was made of this pin and lives as long as it is remembered."""
        self._deleted: Mapping[Fragment, Numbers] = {}
        """Which rows of fragments are deleted, where that was saved."""

    @property
    def location(self) -> str:
        return self.state.location

    @property
    def pin(self) -> int:
        return self.state.pin

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.state.rows

    @property
    def table(self) -> Table:
        return self._tables.open(self.state)

    @property
    def alike(self) -> Table:
        """The table at any pin with the same columns: what they are can be asked without opening this one."""
        return self._tables.writer(self.state)

    @cached_property
    def fragments(self) -> tuple[Fragment, ...]:
        return fragments_of(self._tables, self.state)

    def covers(self, column: str) -> bool:
        """Whether an index finds rows by this column without reading through many."""
        finds = (i for i in self.state.indexes if i.column == column and i.kind.upper() in _FIND_BY_VALUE)
        return any(i.covered >= self.state.fragments for i in finds)

    # ── columns ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def has(self, name: str) -> bool:
        """Whether a column is in memory."""
        return self._memory.peek(self._key(name)) is not None

    def column(self, name: str) -> Column:
        """A whole column."""
        found: Column | None = self._memory.get(self._key(name))
        return self._read(name) if found is None else found

    def _read(self, name: str) -> Column:
        identity = column_identity(self.alike, name)
        type_ = self.alike.schema.field(name).type
        wide = self._saved.worth(self.rows) and _is_vectors(type_)

        def same(other: Stored) -> Column | None:
            return other._same_column(name, identity, type_)

        if wide and not self.is_extended(same) and (taken := self._take_saved(name, identity, type_)) is not None:
            return taken
        parts = self.assembled(
            same,
            lambda column, start, rows: column.arrow.slice(start, rows),
            lambda part, kept: part.take(pa.array(kept)),
            lambda chosen: _whole(self.read(chosen, [name], afresh=True)[name]),
        )
        found = self._keep(name, Column(_joined(parts, type_), identity))
        if wide:

            def make() -> tuple[Arrays, dict[str, Fingerprint]]:
                return {**vectors_to_arrays(found.arrow), **deleted_to_array(self.fragments, self.deleted)}, {}

            self._saved.save(self._saved_column(identity), self.pin, self.fragments, make, made_by=str(type_))
        return found

    def _keep(self, name: str, column: Column) -> Column:
        self._memory.put(self._key(name), column, column.nbytes)
        self.remember()
        return column

    def _saved_column(self, identity: int) -> str:
        return f"{self.location}-column-{identity}"

    def _take_saved(self, name: str, identity: int, type_: pa.DataType) -> Column | None:
        """Start from the vectors another process saved: gives those of this pin, or remembers an older one to start from."""
        states = self._saved.states(self._saved_column(identity), str(type_))
        for state in sorted(states, key=lambda s: not s.is_of(self.pin, self.fragments)):
            vectors = state_to_vectors(state, type_) if state.shares(self.fragments) > 0 else None
            if vectors is None:
                continue
            column = Column(vectors, identity)
            if state.is_of(self.pin, self.fragments):
                return self._keep(name, column)
            other = self.other_pin(state)
            if other is not None:
                other._keep(name, column)
                return None
        return None

    def other_pin(self, state: State) -> Stored | None:
        """The same table at the pin of saved state, to be copied from. The pin itself may be gone: nothing is read of it."""
        deleted = state.deleted()
        if deleted is None:
            return None
        about = replace(self.state, pin=state.pin, rows=state.origin.rows, fragments=len(state.fragments), indexes=())
        other = Stored(self._tables, about, self._memory, self._ancestors, self._saved)
        other.__dict__["fragments"] = state.fragments
        other._deleted = deleted
        return other

    def remember(self) -> None:
        """Let later pins of this table copy from this one."""
        self._ancestors.add(self)

    def _same_column(self, name: str, identity: int, type_: pa.DataType) -> Column | None:
        found: Column | None = self._memory.peek(self._key(name))
        return found if found is not None and found.identity == identity and found.arrow.type == type_ else None

    def values(self, name: str, rows: Numbers) -> pa.Array | Column:
        """A column, or the values of a few rows of it in the order asked for, whichever is the cheaper way to have them."""
        known: Column | None = self._memory.get(self._key(name))
        if known is not None:
            return known
        if not self.prefers_fetching(name, len(rows)):
            return self._read(name)
        with self.account(name).timed():
            return self.fetched(name, rows)

    def fetched(self, name: str, rows: Numbers) -> pa.Array:
        """The values of a few rows of a column, in the order asked for, straight from the table."""
        return _whole(take(self.table, rows, [name])[name])

    def prefers_fetching(self, name: str, rows: int) -> bool:
        """Whether some values of a column are better fetched one by one than by reading everything."""
        return ledger.prefers_fetching(self.account(name), rows, self.rows)

    def account(self, what: str) -> Account:
        """What it took so far to have a column, ids, or edges bit by bit."""
        found = self._accounts.get(what)
        return self._accounts.setdefault(what, Account()) if found is None else found

    def _key(self, name: str) -> Key:
        found = self._keys.get(name)
        if found is None:
            found = self._keys[name] = (self.location, self.pin, "column", name)
        return found

    # ── what was just written ────────────────────────────────────────────────────────────────────────────────────────────────

    def keep_written(self, written: WrittenRows, rows: pa.Table) -> None:
        """Remember columns of rows that were just written, in the order of their files: whoever reads those finds them here."""
        sizes = [int(fragment.physical_rows) for fragment in written.fragments]
        if sum(sizes) != rows.num_rows:
            return
        start = 0
        for fragment, size in zip(written.fragments, sizes, strict=True):
            part = rows.slice(start, size)
            self._memory.put(self._written(tuple(str(file.path) for file in fragment.files)), part, part.nbytes)
            start += size

    def read(self, chosen: Sequence[Fragment], columns: Sequence[str], *, afresh: bool = False) -> pa.Table:
        """All rows of some fragments, in row order; what was just written is not read again. Unless read afresh, what a load has
        just written is remembered no longer."""
        parts: list[pa.Table] = []
        unread: list[Fragment] = []
        schema = pa.schema([self.alike.schema.field(name) for name in columns])

        def read_waiting() -> None:
            if unread:
                parts.append(read_fragments(self.table, tuple(unread), columns))
                unread.clear()

        for fragment in chosen:
            rows: pa.Table | None = None if afresh else self._memory.take(self._written(fragment.files))
            if rows is None or rows.num_rows != fragment.rows or not set(columns) <= set(rows.column_names):
                rows = recent_rows(self._tables, self.state, fragment, columns)
            if rows is None:
                unread.append(fragment)
            else:
                read_waiting()
                parts.append(rows.select(list(columns)).cast(schema))
        read_waiting()
        return pa.concat_tables(parts) if parts else schema.empty_table()

    def _written(self, files: tuple[str, ...]) -> Key:
        return (self.location, "written", *files)

    # ── what pins share ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def assembled(
        self,
        source: Callable[[Stored], T | None],
        slice_: Callable[[T, int, int], pa.Array],
        keep: Callable[[pa.Array, Numbers], pa.Array],
        read: Callable[[Sequence[Fragment]], pa.Array],
    ) -> list[pa.Array]:
        """Something that has a value per row, in parts: copied from another pin where it can be, read where it must be."""
        for other in self._ancestors.of(self):
            kept = source(other)
            if kept is not None:
                return self._extended(other, kept, slice_, keep, read)
        return [read(self.fragments)] if self.fragments else []

    def others(self) -> list[Stored]:
        """Other pins of the same table that were read lately, youngest first."""
        return self._ancestors.of(self)

    def is_extended(self, source: Callable[[Stored], object]) -> bool:
        """Whether another pin in memory has something to copy from: then there is no need for what was saved."""
        return any(source(other) is not None for other in self._ancestors.of(self))

    def _extended(
        self,
        other: Stored,
        kept: T,
        slice_: Callable[[T, int, int], pa.Array],
        keep: Callable[[pa.Array, Numbers], pa.Array],
        read: Callable[[Sequence[Fragment]], pa.Array],
    ) -> list[pa.Array]:
        parts: list[pa.Array] = []
        for piece in self.pieces(other):
            if isinstance(piece, Copied):
                part = slice_(kept, piece.start, piece.rows)
                parts.append(part if piece.kept is None else keep(part, piece.kept))
            else:
                parts.append(read(piece))
        return parts

    def pieces(self, other: Stored) -> tuple[Piece, ...]:
        """This pin as what another one has and what it has not, in row order."""
        key = f"pieces {other.pin}"
        known: tuple[Piece, ...] | None = self.derived.get(key)
        if known is None:
            known = self.derived[key] = compared(self.fragments, other.fragments, self.deleted, other.deleted)
        return known

    def deleted(self, fragment: Fragment) -> Numbers:
        """Where in a fragment the rows stand that are deleted."""
        known = self._deleted.get(fragment)
        return deleted_of(self._tables, self.state, fragment) if known is None else known

    def offsets(self, fragment: Fragment) -> Numbers:
        """Where in a fragment, as it was written, the rows stand that are not deleted."""
        there = np.ones(fragment.written, np.bool_)
        there[self.deleted(fragment)] = False
        return np.flatnonzero(there)

    def positions(self, addresses: Numbers) -> Numbers:
        """Positions of rows from their addresses (fragment number in the upper half, offset in the lower)."""
        places = np.empty(len(addresses), np.int64)
        number, offset = addresses >> 32, addresses & 0xFFFF_FFFF
        start = 0
        for fragment in self.fragments:
            where = number == fragment.number
            if where.any():
                inside = offset[where]
                if fragment.deletions is not None:
                    inside = np.searchsorted(self.offsets(fragment), inside)
                places[where] = start + inside
            start += fragment.rows
        return places

    def addresses(self, positions: Numbers) -> Numbers:
        """Addresses of the rows at some positions, ascending."""
        ordered = np.sort(positions)
        parts: list[Numbers] = []
        start = 0
        for fragment in self.fragments:
            first, last = np.searchsorted(ordered, (start, start + fragment.rows))
            if first < last:
                inside = ordered[first:last] - start
                parts.append((fragment.number << 32) + (inside if fragment.deletions is None else self.offsets(fragment)[inside]))
            start += fragment.rows
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def found(
        self, where: Filter, columns: Sequence[str], *, positions: bool = True, use_index: bool = True
    ) -> tuple[Numbers, pa.Table]:
        """Positions of the rows a filter keeps, found through an index if there is one, and some of their columns."""
        addresses, rows = found(self.table, columns, where, use_index=use_index)
        return self.positions(addresses) if positions else addresses, rows


def _is_vectors(type_: pa.DataType) -> bool:
    return bool(pa.types.is_fixed_size_list(type_) and pa.types.is_float32(type_.value_type))


def _whole(values: pa.ChunkedArray) -> pa.Array:
    if values.num_chunks == 1:
        return values.chunk(0)
    return values.combine_chunks() if values.num_chunks else pa.array([], values.type)


def _joined(parts: list[pa.Array], type_: pa.DataType) -> pa.Array:
    if len(parts) == 1:
        return parts[0]
    return pa.concat_arrays(parts) if parts else pa.array([], type_)
