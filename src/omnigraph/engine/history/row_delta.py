"""Rows of one type in which two states of a graph differ: old images and new ones, each by id.

    before   ada 36    bob 41                 an id in both is an update,
    after    ada 37             eve 9         before alone a delete, after alone an insert

An entity whose two images are equal is in neither, however often it was rewritten in between. Deltas are composed (what happened
from 1 to 2, then from 2 to 3, is what happened from 1 to 3) and inverted.

To apply a delta the old images are not needed, only their ids. Where those are to be had without reading the rows, a delta is
*slim*: it cannot be composed, inverted or shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.columns import columns_of
from omnigraph.engine.arrays.chunked import among, whole
from omnigraph.engine.arrays.column import Mask, to_mask
from omnigraph.engine.history.equality import differing
from omnigraph.model.frozen import frozen

INSERT: Final = 0
UPDATE: Final = 1
DELETE: Final = 2

Codes = np.ndarray[tuple[int], np.dtype[np.int8]]
RawRow = dict[str, object]
"""A row with dates as days and moments as milliseconds."""


@frozen(slots=False)
class RowDelta:
    """What is different about one type. Both tables are sorted by id and have the columns of the type."""

    type: EntityType
    before: pa.Table
    """Old images; of a *slim* delta their ids alone."""
    after: pa.Table

    @classmethod
    def slim(cls, type_: EntityType, gone: pa.Array, after: pa.Table) -> RowDelta:
        """A delta that knows which entities it replaces or removes, and not what they were."""
        return cls(type_, _sorted(pa.table({"id": gone})), _sorted(after))

    @property
    def is_slim(self) -> bool:
        return bool(self.before.num_columns < self.after.num_columns)

    def beside(self, before: pa.Table, after: pa.Table) -> RowDelta:
        """This and images of other entities, which do differ."""
        old = pa.concat_tables([self.before, before.select(self.before.column_names)], promote_options="default")
        return RowDelta(self.type, _sorted(old), _sorted(pa.concat_tables([self.after, after])))

    @classmethod
    def of(cls, type_: EntityType, before: pa.Table, after: pa.Table) -> RowDelta:
        """The difference between two sets of rows, given in any order: equal images are left out."""
        before, after = _sorted(before), _sorted(after)
        if not before.num_rows or not after.num_rows:
            return cls(type_, before, after)
        there = pc.index_in(whole(before["id"]), value_set=whole(after["id"]))
        kept = np.flatnonzero(to_mask(there.is_valid()))
        if not len(kept):
            return cls(type_, before, after)
        places = there.drop_null().to_numpy()
        unequal = np.zeros(len(kept), np.bool_)
        for mask in differing(before.take(pa.array(kept)), after.take(pa.array(places))).values():
            unequal |= mask
        if unequal.all():
            return cls(type_, before, after)
        return cls(type_, _without(before, kept[~unequal]), _without(after, places[~unequal]))

    @classmethod
    def nothing(cls, type_: EntityType) -> RowDelta:
        """No difference."""
        return cls(type_, no_images(type_), no_images(type_))

    @property
    def is_node(self) -> bool:
        return self.type.is_node

    @property
    def is_empty(self) -> bool:
        return not self.before.num_rows and not self.after.num_rows

    @property
    def nbytes(self) -> int:
        return int(self.before.nbytes + self.after.nbytes)

    @cached_property
    def ids(self) -> pa.Array:
        """Everything that differs, by id, ascending."""
        together = pa.concat_arrays([whole(self.before["id"]), whole(self.after["id"])])
        return pc.unique(together).sort()

    @cached_property
    def places(self) -> tuple[pa.Array, pa.Array]:
        """For each id its row in `before` and in `after`; null where it has none."""
        return pc.index_in(self.ids, value_set=whole(self.before["id"])), pc.index_in(self.ids, value_set=whole(self.after["id"]))

    @cached_property
    def operations(self) -> Codes:
        """For each id what happened to it."""
        old, new = (to_mask(p.is_valid()) for p in self.places)
        return np.where(old & new, UPDATE, np.where(new, INSERT, DELETE)).astype(np.int8)

    def count(self, operation: int) -> int:
        """How many entities something happened to."""
        return int((self.operations == operation).sum())

    @cached_property
    def inserts_only(self) -> bool:
        return not self.before.num_rows

    def inverse(self) -> RowDelta:
        """What undoes it."""
        return RowDelta(self.type, self.after, self.before)

    def then(self, later: RowDelta) -> RowDelta:
        """This and what happened afterwards, as one."""
        if self.is_empty or later.is_empty:
            return later if self.is_empty else self
        before = pa.concat_tables([self.before, later.before.filter(pa.array(~among(whole(later.before["id"]), self.ids)))])
        after = pa.concat_tables([later.after, self.after.filter(pa.array(~among(whole(self.after["id"]), later.ids)))])
        return RowDelta.of(self.type, before, after)

    def only(self, keep: Mask) -> RowDelta:
        """A part of it: `keep` is by id."""
        if keep.all():
            return self
        chosen = self.ids.filter(pa.array(keep))
        return RowDelta(
            self.type,
            self.before.filter(pa.array(among(whole(self.before["id"]), chosen))),
            self.after.filter(pa.array(among(whole(self.after["id"]), chosen))),
        )

    @cached_property
    def changed_columns(self) -> dict[str, Mask]:
        """Per column, by id, whether an update changed it."""
        updated = np.flatnonzero(self.operations == UPDATE)
        old, new = (p.take(pa.array(updated)) for p in self.places)
        found = {}
        for name, mask in differing(self.before.take(old), self.after.take(new)).items():
            changed = np.zeros(len(self.ids), np.bool_)
            changed[updated] = mask
            found[name] = changed
        return found

    def images(self, start: int, stop: int) -> Iterator[tuple[str, RawRow | None, RawRow | None]]:
        """Id, old and new image of some entities, in order."""
        ids = self.ids.slice(start, stop - start).to_pylist()
        sides = []
        for places, rows in zip(self.places, (self.before, self.after), strict=True):
            chosen = places.slice(start, stop - start)
            found = iter(raw_rows(rows.take(chosen.drop_null())))
            sides.append([next(found) if there else None for there in to_mask(chosen.is_valid()).tolist()])
        yield from zip(ids, *sides, strict=True)


def image_columns(type_: EntityType) -> pa.Schema:
    """The columns of images: any property may be missing, because it may have become required only later."""
    return pa.schema([f.with_nullable(True) if f.name in type_.properties else f for f in columns_of(type_)])


def no_images(type_: EntityType) -> pa.Table:
    """No rows."""
    return image_columns(type_).empty_table()


def raw_rows(rows: pa.Table) -> list[RawRow]:
    """Rows as dicts of numbers, text, bytes and lists: every stored value has such a form, also dates no calendar has."""
    columns = [_numbers(rows[name]).to_pylist() for name in rows.column_names]
    return [dict(zip(rows.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def table_of(type_: EntityType, rows: list[RawRow]) -> pa.Table:
    """Such rows as a table."""
    return pa.Table.from_pylist(rows, schema=image_columns(type_))


def _numbers(values: pa.ChunkedArray) -> pa.ChunkedArray:
    type_ = values.type
    if pa.types.is_list(type_):
        plain = _number_type(type_.value_type)
        return values if plain is None else values.cast(pa.list_(plain))
    plain = _number_type(type_)
    return values if plain is None else values.cast(plain)


def _number_type(type_: pa.DataType) -> pa.DataType | None:
    if pa.types.is_date32(type_):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(type_) else None


def _sorted(rows: pa.Table) -> pa.Table:
    if rows.num_rows < 2:
        return rows
    return rows.take(pc.sort_indices(whole(rows["id"])))


def _without(rows: pa.Table, places: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Table:
    keep = np.ones(rows.num_rows, np.bool_)
    keep[places] = False
    return rows.filter(pa.array(keep))
