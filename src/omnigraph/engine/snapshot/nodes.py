"""The nodes of one type at one commit: numbers, ids and properties.

There are two ways to them. *Loaded*: all ids are in memory and every number knows its row, so that a lookup is a binary search
and a property a gather. *Not loaded*: rows are found through the index on `id`, one query at a time. Which one is taken is
decided by what is wanted now and what was spent before (`cost.ledger`): a single lookup in a huge graph loads nothing, a
hundred of them do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.column import TEXT, Column, FewTexts, Vec
from omnigraph.engine.arrays.numbering import NOBODY, Fingerprint, Numbering, Numbers, has_nobody
from omnigraph.engine.cost import ledger
from omnigraph.engine.snapshot.saved import Arrays, Saved, State, arrays_to_texts, deleted_to_array, texts_to_arrays
from omnigraph.engine.snapshot.stored import Stored
from omnigraph.model.arrow import arrow_type
from omnigraph.model.frozen import frozen
from omnigraph.storage.tables.rows import Fragment

_WORN = 4
"""A numbering in which fewer than one id in so many is alive is not taken over: it would only ever grow."""


@frozen(slots=False)
class Rows:
    """Which number stands in which row."""

    numbers: Numbers
    """By row."""
    rows: Numbers | None
    """By number, `NOBODY` where a number has no row; None: a number is its row."""

    @property
    def nbytes(self) -> int:
        return int(self.numbers.nbytes) + (0 if self.rows is None else int(self.rows.nbytes))

    def row(self, number: int) -> int:
        """The row of a number, or `NOBODY`."""
        if self.rows is None:
            return number if 0 <= number < len(self.numbers) else NOBODY
        return int(self.rows[number]) if 0 <= number < len(self.rows) else NOBODY

    def of(self, numbers: Numbers) -> Numbers:
        """Rows of numbers; `NOBODY` for those that have none here."""
        table = self.rows
        count = len(self.numbers) if table is None else len(table)
        if not _within(numbers, count):
            known = (numbers >= 0) & (numbers < count)
            safe = np.where(known, numbers, 0)
            if count == 0:
                return np.full(len(numbers), NOBODY)
            return np.where(known, safe if table is None else table[safe], NOBODY)
        return numbers if table is None else table[numbers]


Known = Callable[["Nodes"], Callable[[str], bool] | None]
"""Whether nodes exist, as far as that is known of some without having all ids in memory (`existence`)."""


class Nodes:
    """Nodes of one type."""

    def __init__(self, type_: EntityType, stored: Stored, numbering: Numbering, saved: Saved, known: Known | None = None) -> None:
        self.type = type_
        self.stored = stored
        self.numbering = numbering
        only_key = type_.key[0] if len(type_.key) == 1 else None
        self.id_property = only_key.name if only_key is not None and only_key.type.is_string else "id"
        """The property that is the id: the key, if it is one text."""
        self._saved = saved
        self._known = known
        self._rows: Rows | None = stored.derived.get("rows")
        self._asked_saved = False
        self._lock = RLock()

    @property
    def count(self) -> int:
        return self.stored.rows

    @property
    def loaded(self) -> bool:
        """Whether all ids are in memory."""
        return self._rows is not None

    def load(self) -> Rows:
        """Have all ids in memory."""
        with self._lock:
            if self._rows is None:
                self._rows = self._take_saved()
            if self._rows is None:
                parts = self.stored.assembled(self._other_rows, _slice, _keep, self._read)
                numbers = np.concatenate(parts) if parts else np.empty(0, np.int64)
                self._rows = _rows(numbers)
                self.stored.derived["rows"] = self._rows
                self.stored.remember()
                if self._saved.worth(self.count):
                    self.save()
                if self._known is not None:
                    self._known(self)
            return self._rows

    # ── saved state ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _take_saved(self) -> Rows | None:
        """Start from what another process saved: gives the rows of this pin, or remembers an older one to start from."""
        if self.stored.is_extended(self._other_rows):
            return None
        states = [state for state in self._saved.states(self.stored.location) if state.shares(self.stored.fragments) > 0]
        exact = [state for state in states if state.is_of(self.stored.pin, self.stored.fragments)]
        for state in exact or states:
            numbers = self._taken(state)
            other = self.stored if state in exact else None if numbers is None else self.stored.other_pin(state)
            if numbers is not None and other is not None:
                other.derived["rows"] = _rows(numbers)
                other.remember()
                return self.stored.derived.get("rows")
        return None

    def _taken(self, state: State) -> Numbers | None:
        """The numbers of saved rows, if they are ours: from the numbering this one begins with, or now does."""
        fingerprint = state.origin.fingerprints.get(self.stored.location)
        if fingerprint is None or (len(self.numbering) and not self.numbering.begins_with(fingerprint)):
            return None
        if len(self.numbering) == 0 and fingerprint.count > _WORN * max(self.count, state.origin.rows, 1):
            return None
        arrays = state.take({"ids.starts": "<i4", "ids.bytes": "|u1", "order": "<i8", "numbers": "<i8"})
        if arrays is None:
            return None
        ids, order, numbers = arrays_to_texts(arrays["ids.starts"], arrays["ids.bytes"]), arrays["order"], arrays["numbers"]
        if ids is None or not len(ids) == len(order) == fingerprint.count or len(numbers) != state.origin.rows:
            state.refuse("ids and numbers do not go together")
            return None
        if not _within(order, fingerprint.count) or not _within(numbers, fingerprint.count):
            state.refuse("there are numbers of no id")
            return None
        return numbers if self.numbering.start_from(fingerprint, ids, order) else None

    def save(self, below: int = 0) -> None:
        """Let the next process start from here, and from the ids of all numbers below one. Also of few nodes: the edges of many
        refer to their numbers."""
        rows = self.load()
        location, fragments = self.stored.location, self.stored.fragments
        below = max(below, _more_than(rows.numbers))

        def make() -> tuple[Arrays, dict[str, Fingerprint]]:
            ids, order = self.numbering.saved_form()
            arrays = {**texts_to_arrays("ids", ids), "order": order, "numbers": rows.numbers}
            return {**arrays, **deleted_to_array(fragments, self.stored.deleted)}, {
                location: self.numbering.fingerprint(len(ids))
            }

        def fits(state: State) -> bool:
            fingerprint = state.origin.fingerprints.get(location)
            return fingerprint is not None and fingerprint.count >= below and self.numbering.begins_with(fingerprint)

        self._saved.save(location, self.stored.pin, fragments, make, fits=fits)

    def _other_rows(self, other: Stored) -> Rows | None:
        found: Rows | None = other.derived.get("rows")
        return found

    def _read(self, chosen: Sequence[Fragment]) -> Numbers:
        ids = self.stored.read(chosen, ["id"])["id"]
        return self.numbering.intern(ids.combine_chunks() if ids.num_chunks != 1 else ids.chunk(0))

    # ── ids ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def all(self) -> Numbers:
        """Every node, in row order."""
        return self.load().numbers

    def number(self, id_: str) -> int:
        """The node with an id, or `NOBODY`. Where all ids were in memory a few commits ago, these are not brought up to date."""
        if self._rows is None and self._known is not None and (has := self._known(self)) is not None:
            if not has(id_):
                return NOBODY
            number = self.numbering.number(id_)
            return number if number >= 0 else int(self.numbering.intern(pa.array([id_], pa.string()))[0])
        if self._rows is None and not self._prefers_lookup(1):
            self.load()
        if self._rows is not None:
            number = self.numbering.number(id_)
            if number < 0:
                return NOBODY
            rows = self._rows.rows
            if rows is None:
                return number if number < len(self._rows.numbers) else NOBODY
            return number if number < len(rows) and rows[number] >= 0 else NOBODY
        return int(self.find(pa.array([id_], pa.string()))[0])

    def intern(self, ids: pa.Array) -> Numbers:
        """Numbers of ids that were read somewhere else. A saved numbering is taken over before the first number is given."""
        self._maps_saved()
        return self.numbering.intern(ids)

    def find(self, ids: pa.Array) -> Numbers:
        """The nodes with some ids; `NOBODY` where there is none."""
        if self._rows is None and not self._prefers_lookup(len(ids)):
            self.load()
        if self._rows is not None:
            numbers = self.numbering.find(ids)
            return np.where(self._rows.of(numbers) >= 0, numbers, NOBODY)
        with self.stored.account("id").timed():
            there = self.stored.table.lookup(ids.to_pylist(), ["id"])["id"].combine_chunks()
        self.numbering.intern(there)
        numbers = self.numbering.find(ids)
        exists = pc.is_in(ids, value_set=there).to_numpy(zero_copy_only=False)
        return np.where(exists, numbers, NOBODY)

    def _prefers_lookup(self, ids: int) -> bool:
        if self._maps_saved() or not self.stored.covers("id"):
            return False
        return ledger.prefers_id_lookup(self.stored.account("id"), ids, self.count)

    def _maps_saved(self) -> bool:
        """Whether all ids are in memory now because they were saved: mapping them takes no longer than a lookup. Asked before any
        lookup, for a numbering that has begun seldom begins like a saved one."""
        if not self._asked_saved:
            with self._lock:
                self._asked_saved = True
                if self._rows is None:
                    self._rows = self._take_saved()
        return self._rows is not None

    def ids(self, numbers: Numbers) -> pa.StringArray:
        """Ids of nodes; null for `NOBODY`."""
        return self.numbering.ids(numbers)

    def names(self, numbers: Numbers) -> Vec:
        """Ids of nodes as a column of results."""
        few = self.numbering.few_ids(numbers)
        return Vec(TEXT, arrow=self.ids(numbers)) if few is None else FewTexts(few)

    # ── properties ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def values(self, numbers: Numbers, name: str) -> Vec:
        """A property of some nodes."""
        return self.located(numbers).values(name)

    def located(self, numbers: Numbers) -> Located:
        """Some nodes whose properties are wanted: where they stand is found out once for all of them."""
        return Located(self, numbers)

    def rows_of(self, numbers: Numbers) -> Numbers | None:
        """Where some nodes stand; None where they are better looked up."""
        if self._rows is None:
            if self._prefers_lookup(len(numbers)):
                return None
            self.load()
        assert self._rows is not None
        return self._rows.of(numbers)

    def looked_up(self, numbers: Numbers, name: str) -> Vec:
        type_ = arrow_type(self.type.properties[name].type)
        wanted = np.unique(numbers[numbers >= 0])
        with self.stored.account("id").timed():
            rows = self.stored.table.lookup(self.ids(wanted).to_pylist(), ["id", name])
        if rows.num_rows == 0:
            return Vec.of(pa.nulls(len(numbers), type_))
        known = self.numbering.find(rows["id"].combine_chunks())
        order = np.argsort(known)
        where = np.searchsorted(known[order], numbers)
        where[where == len(order)] = 0
        places = order[where]
        missing = known[places] != numbers
        return Vec.of(rows[name].combine_chunks()).take(np.where(missing, NOBODY, places))


class Located:
    """Some nodes of one type, and the rows they stand in once somebody asked."""

    __slots__ = ("_complete", "_nodes", "_numbers", "_rows")

    def __init__(self, nodes: Nodes, numbers: Numbers) -> None:
        self._nodes = nodes
        self._numbers = numbers
        self._rows: Numbers | None = None
        self._complete = False

    def values(self, name: str) -> Vec:
        """A property of these nodes."""
        nodes = self._nodes
        if name == nodes.id_property or name == "id":
            return nodes.names(self._numbers)
        rows = self._rows
        if rows is None:
            rows = self._rows = nodes.rows_of(self._numbers)
            if rows is None:
                return nodes.looked_up(self._numbers, name)
            self._complete = not has_nobody(rows)
        present = rows if self._complete else rows[rows >= 0]
        found = nodes.stored.values(name, present)
        if isinstance(found, Column):
            return found.take(rows, complete=self._complete)
        if self._complete:
            return Vec.of(found)
        where = np.full(len(rows), NOBODY)
        where[rows >= 0] = np.arange(len(present))
        return Vec.of(found).take(where)


def _rows(numbers: Numbers) -> Rows:
    in_order = len(numbers) == 0 or (numbers[0] == 0 and bool((np.diff(numbers) == 1).all()))
    return Rows(numbers, None if in_order else _inverse(numbers))


def _more_than(numbers: Numbers) -> int:
    return int(numbers.max()) + 1 if len(numbers) else 0


def _within(numbers: Numbers, count: int) -> bool:
    """Whether all numbers are from 0 on and below a count, in one look: what is negative is large without its sign."""
    if len(numbers) == 1:
        return bool(0 <= numbers[0] < count)
    return len(numbers) == 0 or bool(numbers.view(f"u{numbers.itemsize}").max() < count)


def _slice(rows: Rows, start: int, count: int) -> Numbers:
    return rows.numbers[start : start + count]


def _keep(part: Numbers, kept: Numbers) -> Numbers:
    return part[kept]


def _inverse(numbers: Numbers) -> Numbers:
    rows = np.full(int(numbers.max()) + 1, NOBODY)
    rows[numbers] = np.arange(len(numbers))
    return rows
