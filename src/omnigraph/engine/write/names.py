"""What a small change notes down about itself, and what others conclude from it without reading a row.

A commit of a few rows says which entities came and went, which nodes its edges touch, and digests of the values that no two
entities may share. Whoever prepared a change meanwhile compares names: where none is shared, neither can have broken a rule for
the other. Where one is, or where a commit noted nothing down, the rules are asked again (`recheck`).

    they: Person came eve            we: insert dan                   nothing in common
    they: Person went bob            we: Knows ada → bob              an end of ours: ask again
    they: Knows came, ends ada cy    we: delete cy                    an edge at a node that goes: ask again
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from xxhash import xxh3_64

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.snapshot.view import table_key
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.rules import unique
from omnigraph.storage.commits.since import Since
from omnigraph.storage.tables.changes import Named

NAMED: Final = 64
"""A change of more entities than that notes nothing down."""

_LONGEST: Final = 1_024
"""Nor does one with an id of more letters."""


def named(delta: Delta) -> Named | None:
    """What a change of one type notes down."""
    if not delta.noted:
        delta.noted.append(_named(delta))
    return delta.noted[0]


def named_each(delta: Delta) -> list[Named] | None:
    """What each row of a change notes down, if they are as many changes; None: one of them notes nothing down."""
    came = delta.ids.to_pylist()
    ends = [delta.column(name).to_pylist() for name in ("src", "dst")] if delta.type.is_edge else []
    values = [
        [None if value is None else _digest(group, value) for value in _said(delta.column(group[0]))]
        for group in unique.groups_of(delta)
    ]
    if any(len(id_) > _LONGEST for column in (came, *ends) for id_ in column):
        return None
    each_ends = [tuple(dict.fromkeys(pair)) for pair in zip(*ends, strict=True)] if ends else [()] * len(came)
    each_values = [tuple(v for v in row if v is not None) for row in zip(*values, strict=True)] if values else [()] * len(came)
    return [Named((id_,), (), *rest) for id_, *rest in zip(came, each_ends, each_values, strict=True)]


def _named(delta: Delta) -> Named | None:
    if (
        delta.replaces_all
        or delta.written is not None
        or len(delta.looked_for)
        or delta.rows.num_rows + len(delta.removed) > NAMED
    ):
        return None
    came, went = tuple(delta.ids.to_pylist()), tuple(delta.removed.to_pylist())
    ends = _ends(delta) if delta.type.is_edge else ()
    if any(len(id_) > _LONGEST for id_ in (*came, *went, *ends)):
        return None
    return Named(came, went, ends, tuple(dict.fromkeys(_values(delta))))


def _ends(delta: Delta) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*delta.column("src").to_pylist(), *delta.column("dst").to_pylist())))


def _values(delta: Delta) -> Iterator[str]:
    """Digests of values that must be unique; of a group, its first."""
    for group in unique.groups_of(delta):
        for value in _said(delta.column(group[0])):
            if value is not None:
                yield _digest(group, value)


def _said(column: pa.Array) -> list[object]:
    """Values, equal where they count as one: both zeros do."""
    values: list[object] = column.to_pylist()
    return [None if v is None else v + 0.0 for v in values] if pa.types.is_floating(column.type) else values  # type: ignore[operator]


def _digest(group: tuple[str, ...], value: object) -> str:
    return xxh3_64(f"{group} {value!r}".encode()).hexdigest()


def cannot_collide(changes: ChangeSet, catalog: Catalog, between: Since) -> bool:
    """Whether what commits have noted down has nothing to do with a change."""
    return between.is_named and not any(_may_collide(delta, catalog, between) for delta in changes)


def _may_collide(delta: Delta, catalog: Catalog, theirs: Since) -> bool:
    ours, same = named(delta), theirs.of(delta.key)
    if ours is None:
        return True
    if not (same.ids.isdisjoint(ours.came) and same.ids.isdisjoint(ours.went) and same.values.isdisjoint(ours.values)):
        return True
    if delta.type.is_node:
        edges = catalog.incident_edges(delta.type.name) if ours.went else ()
        return not all(theirs.of(table_key(edge)).ends.isdisjoint(ours.went) for edge in edges)
    if (delta.type.minimum or delta.type.maximum is not None) and same.changes:
        if delta.type.minimum and same.went:
            return True
        if ours.went or not same.ends.isdisjoint(ours.ends):
            return True
    nodes = {table_key(catalog.nodes[name]) for name in (delta.type.source, delta.type.target)}
    return not all(theirs.of(key).went.isdisjoint(ours.ends) for key in nodes)
