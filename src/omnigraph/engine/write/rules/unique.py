"""Values that only one entity of a type may have: `@unique`, alone or in groups.

First among the rows of the change, then against what is committed. An entity that the change rewrites or removes does not hold
its old values any more, so values may be swapped. A combination with a missing part never collides.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.shape import Unique
from omnigraph.engine.arrays.chunked import among, plain, whole
from omnigraph.engine.arrays.column import Mask, Vec
from omnigraph.engine.arrays.grouping import Codes, codes_of, combined
from omnigraph.engine.arrays.hashing import all_differ
from omnigraph.engine.snapshot.committed import rows_where
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import Delta
from omnigraph.engine.write.rules.values import refuse_void
from omnigraph.engine.write.violations import Violation

_DENSE = 4
"""Codes up to so many times the rows are counted instead of sorted."""


def groups_of(delta: Delta) -> list[tuple[str, ...]]:
    """The unique groups of a type, less the key: the id takes care of that one."""
    key = delta.type.key_names
    found = [c.columns for c in delta.type.constraints if isinstance(c, Unique) and frozenset(c.columns) != key]
    many = {name for name, prop in delta.type.properties.items() if prop.type.is_list or prop.type.is_vector}
    if any(not many.isdisjoint(group) for group in found):
        refuse_void(delta.type)
    return found


def check(delta: Delta, view: View) -> Iterator[Violation]:
    """Every row whose unique values somebody else has."""
    for group in groups_of(delta):
        if delta.rows.num_rows:
            yield from _inside(delta, group)
            if not delta.replaces_all:
                yield from _against_committed(delta, group, view)


def _inside(delta: Delta, group: tuple[str, ...]) -> Iterator[Violation]:
    columns = [delta.column(name) for name in group]
    rows = np.flatnonzero(_complete(columns))
    if len(rows) < 2:
        return
    if len(rows) < delta.rows.num_rows:
        columns = [column.take(pa.array(rows)) for column in columns]
    if any(pa.types.is_string(column.type) and all_differ(column) for column in columns):
        return
    found = combined([_codes(column) for column in columns])
    codes = found.codes
    if found.count <= _DENSE * len(rows) and np.bincount(codes).max() == 1:
        return
    order = np.argsort(codes, kind="stable")
    same = np.flatnonzero(codes[order][1:] == codes[order][:-1])
    for at in same.tolist():
        first, second = int(rows[order[at]]), int(rows[order[at + 1]])
        yield _violation(delta, group, second, delta.entity(first))


def _against_committed(delta: Delta, group: tuple[str, ...], view: View) -> Iterator[Violation]:
    committed = rows_where(view, delta.type, group[0], delta.column(group[0]), ["id", *group])
    if committed.num_rows:
        committed = committed.filter(pa.array(~among(whole(committed["id"]), delta.touched)))
    if not committed.num_rows:
        return
    committed = committed.sort_by("id")
    new = [delta.column(name) for name in group]
    both = [pa.concat_arrays([whole(committed[name]), column]) for name, column in zip(group, new, strict=True)]
    codes = combined([_codes(column) for column in both]).codes
    there = _complete(both)
    count = committed.num_rows
    held, first = np.unique(codes[:count][there[:count]], return_index=True)
    holders = np.flatnonzero(there[:count])[first]
    rows = np.flatnonzero(there[count:] & np.isin(codes[count:], held))
    for row in rows.tolist():
        holder = int(holders[np.searchsorted(held, codes[count + row])])
        yield _violation(delta, group, row, committed["id"][holder].as_py())


def _codes(column: pa.Array) -> Codes:
    """Equal values as equal numbers; both zeros are one value."""
    return codes_of(Vec.of(pc.add(column, 0.0).cast(column.type) if pa.types.is_floating(column.type) else column))


def _complete(columns: list[pa.Array]) -> Mask:
    """Rows with all parts of a combination."""
    there = np.ones(len(columns[0]), np.bool_)
    for column in columns:
        there &= column.is_valid().to_numpy(zero_copy_only=False)
    return there


def _violation(delta: Delta, group: tuple[str, ...], row: int, holder: str | None) -> Violation:
    """`holder`: who has the values already, if it has an id that anybody knows."""
    values = [plain(delta.column(name)[row]) for name in group]
    entity = delta.entity(row)
    file, line = delta.place(row)
    shown = ", ".join(f"{name} = {value!r}" for name, value in zip(group, values, strict=True))
    other = "another one" if holder is None else f"`{holder}`"
    message = f"{_called(delta, row)} and {other} both have {shown}, which must be unique"
    value = values[0] if len(values) == 1 else values
    return Violation("unique", delta.type.name, message, ", ".join(group), entity, value, file, line)


def _called(delta: Delta, row: int) -> str:
    """An edge without an id by its ends, everything else as ever."""
    if delta.is_node or delta.entity(row) is not None:
        return delta.called(row)
    return f"{delta.called(row)} from `{delta.column('src')[row]}` to `{delta.column('dst')[row]}`"
