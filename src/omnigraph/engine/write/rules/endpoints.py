"""Both ends of every edge exist, and a node that goes leaves no edge behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.chunked import among, together, whole
from omnigraph.engine.snapshot.committed import existing, touching
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.violations import Violation
from omnigraph.model.times import date_days, date_text, datetime_ms, datetime_text, in_calendar, in_calendar_ms
from omnigraph.model.types import Scalar


def check_new_edges(
    delta: Delta, changes: ChangeSet, view: View, columns: tuple[str, ...] = ("src", "dst")
) -> Iterator[Violation]:
    """Every edge of the change whose source or target does not exist afterwards; of one end only, if others ask for the other."""
    assert delta.type.is_edge
    if not delta.rows.num_rows:
        return
    ends = [e for e in (("source", "src", delta.type.source), ("target", "dst", delta.type.target)) if e[1] in columns]
    asked: dict[str, pa.ChunkedArray] = {}
    for _, column, node in ends:  # ends of one type are looked for together
        values = delta.rows[column]
        asked[node] = together([asked[node], values]) if node in asked else values
    all_missing = {node: _missing_afterwards(view, changes, node, ids) for node, ids in asked.items()}
    for end, column, node in ends:
        values, missing = delta.column(column), all_missing[node]
        if not len(missing):
            continue
        for row in np.flatnonzero(among(values, missing)).tolist():
            entity, value = delta.entity(row), values[row].as_py()
            file, line = delta.place(row)
            message = f"{delta.called(row)}: {end} `{value}` not found in {node}{_meant(value, view.catalog.nodes[node])}"
            yield Violation("endpoint", delta.type.name, message, "from" if column == "src" else "to", entity, value, file, line)


def _meant(value: str, node: EntityType) -> str:
    """Of a key that is a date or a moment, whose ids are numbers: the id that a text would have, or what an id stands for."""
    match [prop.type.scalar for prop in node.key]:
        case [Scalar.DATE]:
            ids, one, read, spelt = "days since 1970-01-01", "date", date_days, _date_of
        case [Scalar.DATETIME]:
            ids, one, read, spelt = "milliseconds since 1970", "moment", datetime_ms, _moment_of
        case _:
            return ""
    with suppress(ValueError):
        return f", whose ids are {ids}: that {one} is `{read(value)}`"
    with suppress(ValueError):
        return f", whose ids are {ids}: this one is {spelt(value)}"
    return ""  # it is neither, and nothing is known about what was meant


def _date_of(id_: str) -> str:
    return date_text(in_calendar(int(id_), id_))


def _moment_of(id_: str) -> str:
    return datetime_text(in_calendar_ms(int(id_), id_))


def _missing_afterwards(view: View, changes: ChangeSet, node: str, ids: pa.ChunkedArray) -> pa.Array:
    """Those of some ids, each once, that no node of a type has after the change."""
    delta = changes.node(node)
    if delta is not None and len(delta.ids):
        ids = ids.filter(pc.invert(pc.is_in(ids, value_set=delta.ids)))
    rest = pc.unique(ids)
    if not len(rest) or (delta is not None and delta.replaces_all):
        return rest
    found = existing(view, view.catalog.nodes[node], rest)
    if delta is not None:
        found &= ~among(rest, delta.removed)
    return rest.filter(pa.array(~found))


def removed_nodes(delta: Delta, view: View) -> pa.Array:
    """Ids of nodes that the change takes away."""
    assert delta.type.is_node
    if not delta.replaces_all:
        return delta.removed
    if delta.gone is not None:
        return delta.gone
    before = whole(view.stored(delta.type).table.read(["id"])["id"])
    return before.filter(pa.array(~among(before, delta.ids)))


def check_left_behind(delta: Delta, changes: ChangeSet, view: View) -> Iterator[Violation]:
    """Every committed edge that would lose an end."""
    assert delta.type.is_node
    gone = removed_nodes(delta, view)
    if not len(gone):
        return
    for edge in view.catalog.incident_edges(delta.type.name):
        change = changes.edge(edge.name)
        if change is not None and change.replaces_all:
            continue  # its new edges are checked as new edges
        for end, column, node in (("source", "src", edge.source), ("target", "dst", edge.target)):
            if node != delta.type.name:
                continue
            left = touching(view, edge, column, gone, ["id", column])
            if not left.num_rows:
                continue
            if change is not None:
                left = left.filter(pa.array(~among(whole(left["id"]), change.touched)))
            for row in left.sort_by("id").to_pylist():
                message = f"{edge.name} `{row['id']}`: its {end} `{row[column]}` is removed from {node}"
                yield Violation("endpoint", edge.name, message, "from" if column == "src" else "to", row["id"], row[column])
