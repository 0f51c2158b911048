"""Order: sort keys as integers, ties broken by ids, and only as much sorting as the limit needs.

Every key becomes an integer column: numbers by their order-preserving bits (both zeros of floats are one), text by its rank. Null
is the smallest value: first when ascending, last when descending. Rows that are equal in every key are ordered by the ids of
their entities, so that a limit always cuts at the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.arrays.column import Array, Vec
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.errors import QueryError

_NULL = np.iinfo(np.int64).min


class By(NamedTuple):
    """A column to order by."""

    vec: Vec
    descending: bool
    nulls_first: bool | None = None
    """Where null comes, if it is not to be the smallest value."""


def as_declared(vec: Vec, values: Sequence[str] | None) -> Vec:
    """The values of an enum as their places in the order it declares; other columns as they are."""
    if values is None or vec.plain is not None:
        return vec
    return Vec.of(pc.index_in(vec.to_arrow(), value_set=pa.array(values, pa.string())).cast(pa.int64()))


def sort_keys(vec: Vec, *, descending: bool, nulls_first: bool | None = None) -> list[Array]:
    """Columns of integers that sort as the values do: one, or two where the smallest integer is taken by a value."""
    if nulls_first is not None and nulls_first is descending and not (valid := vec.is_valid()).all():
        key = np.where(valid, sort_key(vec, descending=descending), 0)
        return [valid.astype(np.int64) if nulls_first else ~valid.astype(np.int64), key]
    if vec.plain is not None and vec.valid is not None:
        key = _plain_key(vec.plain)
        if (key[vec.valid] == _NULL).any():
            there, key = vec.valid.astype(np.int64), np.where(vec.valid, key, _NULL)  # what lies under a null orders nothing
            return [~there, ~key] if descending else [there, key]
    return [sort_key(vec, descending=descending)]


def sort_key(vec: Vec, *, descending: bool) -> Array:
    """A column of integers that sorts as the values do, with null as small as the smallest integer."""
    if vec.plain is None:
        array = vec.to_arrow()
        if pa.types.is_nested(array.type):
            raise QueryError("lists and vectors have no order", hint="Order by a property that holds a single value.")
        key = pc.rank(array, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)
        if array.null_count:
            key = np.where(vec.is_valid(), key, _NULL)
    else:
        key = _plain_key(vec.plain)
        if vec.valid is not None:
            key = np.where(vec.valid, key, _NULL)
    ordered: Array = ~key if descending else key
    return ordered


def _plain_key(values: Array) -> Array:
    if values.dtype.kind == "f":
        bits = np.add(values, 0.0, dtype=np.float64).view(np.int64)  # both zeros are one value
        return bits ^ ((bits >> 63) & np.int64(0x7FFF_FFFF_FFFF_FFFF))
    if values.dtype == np.uint64:
        return (values ^ np.uint64(1 << 63)).view(np.int64)
    return values.astype(np.int64)


def order_by(columns: Sequence[By], ties: Callable[[Numbers], Sequence[Array]], wanted: int | None) -> Numbers:
    """Rows in the order of several columns, as many as are wanted.

    Later columns are looked at only for rows that the first one leaves: ranking texts is most of the work.
    """
    first = _keys(columns[0])
    rows = len(first[0])
    if wanted is not None and 0 < wanted < rows and len(columns) > 1:
        chosen = _least(first[0], wanted)
        if len(chosen) < rows:
            left = [by._replace(vec=by.vec.take(chosen, complete=True)) for by in columns]
            return chosen[order_by(left, lambda some: ties(chosen[some]), wanted)]
    keys = [*first, *(key for by in columns[1:] for key in _keys(by))]
    return order(keys, ties, wanted)


def _keys(by: By) -> list[Array]:
    return sort_keys(by.vec, descending=by.descending, nulls_first=by.nulls_first)


def _least(key: Array, wanted: int) -> Numbers:
    """Rows that are among the smallest, all that are equal to the last one included."""
    return np.flatnonzero(key <= np.partition(key, wanted - 1)[wanted - 1])


def order(keys: Sequence[Array], ties: Callable[[Numbers], Sequence[Array]], wanted: int | None) -> Numbers:
    """Rows in order, as many as are wanted. `ties` gives further keys for some rows and is asked only if there are ties."""
    rows = len(keys[0])
    chosen: Numbers | None = None
    if wanted is not None and wanted < rows:
        if wanted == 0:
            return np.empty(0, np.int64)
        chosen = _least(keys[0], wanted)
        keys = [key[chosen] for key in keys]
    found = np.lexsort(list(reversed(keys))) if len(keys) > 1 else np.argsort(keys[0], kind="stable")
    if _has_ties(keys, found):
        more = ties(np.arange(rows) if chosen is None else chosen)
        found = np.lexsort([*reversed(more), *reversed(keys)])
    if wanted is not None:
        found = found[:wanted]
    return found if chosen is None else chosen[found]


def _has_ties(keys: Sequence[Array], found: Numbers) -> bool:
    equal = np.ones(max(0, len(found) - 1), np.bool_)
    for key in keys:
        ordered = key[found]
        equal &= ordered[1:] == ordered[:-1]
    return bool(equal.any())
