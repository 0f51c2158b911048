"""Values that only one entity of a type may have: `@unique`, alone or in groups.

First among the rows of the change, then against what is committed. An entity that the change rewrites or removes does not hold
its old values any more, so values may be swapped. A combination with a missing part never collides.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from omnigraph.catalog.catalog import NodeType
from omnigraph.catalog.shape import Unique
from omnigraph.engine.column import Vec
from omnigraph.engine.grouping import codes_of, combined
from omnigraph.engine.view import View
from omnigraph.engine.write.changeset import Delta, among, whole
from omnigraph.engine.write.committed import rows_where
from omnigraph.engine.write.violations import Violation


def groups_of(delta: Delta) -> list[tuple[str, ...]]:
    """The unique groups of a type, less the key: the id takes care of that one."""
    key = delta.type.key_names if isinstance(delta.type, NodeType) else frozenset[str]()
    return [c.columns for c in delta.type.constraints if isinstance(c, Unique) and frozenset(c.columns) != key]


def check(delta: Delta, view: View) -> Iterator[Violation]:
    """Every row whose unique values somebody else has."""
    for group in groups_of(delta):
        if delta.rows.num_rows:
            inside = list(_inside(delta, group))
            yield from inside
            if not inside and not delta.replaces_all:
                yield from _against_committed(delta, group, view)


def _inside(delta: Delta, group: tuple[str, ...]) -> Iterator[Violation]:
    columns = [delta.column(name) for name in group]
    there = np.ones(delta.rows.num_rows, np.bool_)
    for column in columns:
        there &= column.is_valid().to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(there)
    if len(rows) < 2:
        return
    codes = combined([codes_of(Vec.of(c.take(pa.array(rows)))) for c in columns]).codes
    order = np.argsort(codes, kind="stable")
    same = np.flatnonzero(codes[order][1:] == codes[order][:-1])
    for at in same.tolist():
        first, second = int(rows[order[at]]), int(rows[order[at + 1]])
        yield _violation(delta, group, second, delta.ids[first].as_py())


def _against_committed(delta: Delta, group: tuple[str, ...], view: View) -> Iterator[Violation]:
    committed = rows_where(view, delta.type, group[0], delta.column(group[0]), ["id", *group])
    if committed.num_rows:
        committed = committed.filter(pa.array(~among(whole(committed["id"]), delta.touched)))
    if not committed.num_rows:
        return
    holders: dict[tuple[object, ...], str] = {}
    for row in committed.sort_by("id").to_pylist():
        holders.setdefault(tuple(row[name] for name in group), row["id"])
    for row, values in enumerate(zip(*(delta.column(name).to_pylist() for name in group), strict=True)):
        holder = holders.get(values) if all(v is not None for v in values) else None
        if holder is not None:
            yield _violation(delta, group, row, holder)


def _violation(delta: Delta, group: tuple[str, ...], row: int, holder: str) -> Violation:
    values = [delta.column(name)[row].as_py() for name in group]
    entity = delta.ids[row].as_py()
    file, line = delta.place(row)
    shown = ", ".join(f"{name} = {value!r}" for name, value in zip(group, values, strict=True))
    message = f"{delta.type.name} `{entity}` and `{holder}` both have {shown}, which must be unique"
    value = values[0] if len(values) == 1 else values
    return Violation("unique", delta.type.name, message, ", ".join(group), entity, value, file, line)
