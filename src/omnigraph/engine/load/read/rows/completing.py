"""Rows that say a part of an entity, completed from what is committed (`update` and `patch`).

    given       Person Ada   age 37                             the column `email` is not there
    committed   Person Ada   age 36   email ada@example.org
    completed   Person Ada   age 37   email ada@example.org     from here on a row like any other

Rows wait until there are many, because looking up many costs about as much as looking up one. What is left out is judged here: an
entity that an update does not find, a new one that lacks what it must have. Everything else is judged by whoever judges whole
rows. Whether anything differs from what is committed is found on the way, so that saying the same again commits nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.column import Mask
from omnigraph.engine.arrays.json_lines import lines
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.load.read.rows.modes import Mode
from omnigraph.engine.load.read.rows.types import Parsed, RowPlaces, Rows, Types, absent_of, label
from omnigraph.engine.write.changeset import Delta
from omnigraph.engine.write.rules import size
from omnigraph.engine.write.unchanged import FEW, equal
from omnigraph.engine.write.violations import Violation
from omnigraph.model.frozen import frozen
from omnigraph.storage.tables.rows import images, positions_of, take
from omnigraph.storage.tables.table import Table

WAITING_ROWS: Final = 1 << 17
WAITING_BYTES: Final = 64 << 20
"""So much of a type waits before it is completed."""

MISSING: Final = "missing"
"""The rule that what is to be updated exists."""

_MEMBERS: Final = {"src": "from", "dst": "to"}


@frozen(slots=False)
class Committed:
    """Where the entities of a type are looked up."""

    table: Table
    rows: int


@frozen(slots=False)
class Completed:
    """What came of some rows of one type: whole rows, and what is wrong with the others."""

    parsed: Parsed
    unchanged: bool
    """Whether all of them are committed already, exactly so."""


class Completing:
    """Completes rows as they come, in their order."""

    def __init__(self, types: Types, committed: Callable[[EntityType], Committed]) -> None:
        self._types, self._committed = types, committed
        self._waiting: dict[str, list[Rows]] = {}

    def add(self, rows: Rows) -> Iterator[Completed]:
        """More rows; gives those of their type if enough have come."""
        waiting = self._waiting.setdefault(label(rows.type), [])
        waiting.append(rows)
        many = sum(r.count for r in waiting) >= WAITING_ROWS or sum(r.batch.nbytes for r in waiting) >= WAITING_BYTES
        if many:
            yield self._complete(self._waiting.pop(label(rows.type)))

    def rest(self) -> Iterator[Completed]:
        """There are no more."""
        while self._waiting:
            yield self._complete(self._waiting.pop(next(iter(self._waiting))))

    def _complete(self, parts: list[Rows]) -> Completed:
        return completed(parts, self._committed(parts[0].type), self._types)


def completed(parts: Sequence[Rows], committed: Committed, types: Types) -> Completed:
    """Rows of one type, whole."""
    type_, schema = parts[0].type, types.schema(parts[0].type)
    given = pa.Table.from_batches([p.batch for p in parts], schema).combine_chunks()
    absent = absent_of(parts)
    old = _images(committed, type_, whole(given["id"]), schema.names)
    places = pc.index_in(whole(given["id"]), value_set=whole(old["id"]))
    there: Mask = places.is_valid().to_numpy(zero_copy_only=False)
    columns, same = dict[str, pa.Array](), bool(there.all())
    for name in schema.names:
        new, before = whole(given[name]), whole(old[name]).cast(schema.field(name).type)
        columns[name] = new if name not in absent else _filled(new, before, places, absent[name] & there)
        if same and not (name in absent and absent[name].all()):
            same = equal(before.take(places), columns[name])
    batch = pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
    rows, wrong, doubtful, records = list[Rows](), list[Violation](), list[tuple[str, str]](), dict[int, object]()
    at = 0
    for part in parts:
        own = slice(at, at + part.count)
        at += part.count
        row = replace(part, batch=batch.slice(own.start, part.count))
        found, good = _judged(row, there[own], {n: m[own] for n, m in absent.items()}, schema, types.mode)
        wrong += found
        if found and types.keeps:
            records |= _records(part, {v.line for v in found})
        if not good.all() and type_.is_node:
            doubtful += [(type_.name, id_) for id_ in row.batch.column(0).filter(pa.array(~good)).to_pylist()]
        rows.append(row if good.all() else row.only(good))
    broken = frozenset({label(type_)} if wrong else ())
    kept = tuple(row for row in rows if row.count)
    return Completed(Parsed(kept, tuple(wrong), tuple(doubtful), broken, records=records), same)


def _filled(new: pa.Array, before: pa.Array, places: pa.Array, fills: Mask) -> pa.Array:
    """A column with committed values in some of its rows."""
    if fills.all():
        return before.take(places)
    if not fills.any():
        return new
    chosen: Numbers = np.where(fills, len(new) + pc.fill_null(places, 0).to_numpy(zero_copy_only=False), np.arange(len(new)))
    return pa.concat_arrays([new, before]).take(pa.array(chosen))


def _images(committed: Committed, type_: EntityType, ids: pa.Array, names: list[str]) -> pa.Table:
    """Entities by id, whole: through the index if they are few, by where they stand if not."""
    if not committed.rows:
        return committed.table.schema.empty_table().select(names)
    blobs = any(prop.type.is_blob for prop in type_.properties.values())
    if blobs or len(ids) * FEW < committed.rows:
        return images(committed.table, ids.to_pylist()).select(names)
    positions = positions_of(committed.table, pc.unique(ids))
    return take(committed.table, np.sort(positions[positions >= 0]), names)


def _judged(rows: Rows, there: Mask, absent: dict[str, Mask], schema: pa.Schema, mode: Mode) -> tuple[list[Violation], Mask]:
    """What is wrong with rows because of what is not committed, and which of them may go on."""
    type_, good = rows.type, np.ones(rows.count, np.bool_)
    found: list[Violation] = []

    def refuse(row: int, rule: str, message: str, name: str | None) -> None:
        entity = rows.batch.column(0)[row].as_py()
        text = f"{type_.name} `{entity}` {message}"
        found.append(Violation(rule, type_.name, text, name, entity, None, rows.file, int(rows.lines[row])))
        good[row] = False

    new = np.flatnonzero(~there)
    if mode is Mode.UPDATE:
        for row in new.tolist():
            refuse(row, MISSING, "does not exist, and update only changes what exists; patch adds it too", None)
    else:
        needed = [(field.name, absent[field.name]) for field in schema if not field.nullable and field.name in absent]
        for name, lacking in needed if len(new) else ():
            for row in new[lacking[new]].tolist():
                refuse(row, "required", f"is new, and `{_MEMBERS.get(name, name)}` is missing", _MEMBERS.get(name, name))
    whole_rows = Delta(type_, pa.Table.from_batches([rows.batch]), places=RowPlaces(rows))
    for violation in size.check(whole_rows):
        found.append(violation)
    return found, good


def _records(rows: Rows, wanted: set[int | None]) -> dict[int, Any]:
    """Some rows as they were given, without what they did not say."""
    chosen = [row for row, line in enumerate(rows.lines.tolist()) if line in wanted]
    spelt = lines(rows.type, pa.Table.from_batches([rows.batch.take(pa.array(chosen, pa.int64()))])).splitlines()
    found = {}
    for row, line in zip(chosen, spelt, strict=True):
        lacking = {name for name, mask in rows.absent.items() if mask[row]}
        found[int(rows.lines[row])] = without(json.loads(line), lacking)
    return found


def without(record: dict[str, Any], lacking: set[str]) -> dict[str, Any]:
    """A record without what was not given."""
    members = {_MEMBERS[name] for name in lacking if name in _MEMBERS}
    data = {name: value for name, value in record["data"].items() if name not in lacking}
    return {name: data if name == "data" else value for name, value in record.items() if name not in members}
