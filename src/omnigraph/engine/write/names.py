"""What a small change notes down about itself, and what others conclude from it without reading a row.

A commit of a few rows says which entities came and went, which nodes its edges touch, and digests of the values that no two
entities may share. Whoever prepared a change meanwhile compares names: where none is shared, neither can have broken a rule for
the other. Where one is, or where a commit noted nothing down, the rules are asked again (`recheck`).

    they: Person came eve            we: insert dan                   nothing in common
    they: Person went bob            we: Knows ada → bob              an end of ours: ask again
    they: Knows came, ends ada cy    we: delete cy                    an edge at a node that goes: ask again
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
from xxhash import xxh3_64

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.snapshot.view import table_key
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.rules import unique
from omnigraph.storage.commits.lineage import Commit
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
        column = delta.column(group[0])
        for value in column.to_pylist():
            if value is not None:
                said = value + 0.0 if pa.types.is_floating(column.type) else value
                yield xxh3_64(f"{group} {said!r}".encode()).hexdigest()


def cannot_collide(changes: ChangeSet, catalog: Catalog, between: Sequence[Commit]) -> bool:
    """Whether what commits have noted down has nothing to do with a change."""
    theirs: dict[str, list[Named]] = {}
    for commit in between:
        for change in commit.changes if not commit.is_maintenance else ():
            if change.named is None:
                return False
            theirs.setdefault(change.table, []).append(change.named)
    return not any(_may_collide(delta, catalog, theirs) for delta in changes)


def _may_collide(delta: Delta, catalog: Catalog, theirs: dict[str, list[Named]]) -> bool:
    ours = named(delta)
    if ours is None:
        return True
    same = theirs.get(delta.key, [])
    ids = frozenset((*ours.came, *ours.went))
    if any(their.touches(ids) for their in same) or _share(ours.values, (their.values for their in same)):
        return True
    if delta.type.is_node:
        edges = (their for edge in catalog.incident_edges(delta.type.name) for their in theirs.get(table_key(edge), ()))
        return bool(ours.went) and _share(ours.went, (their.ends for their in edges))
    if (delta.type.minimum or delta.type.maximum is not None) and same:
        if delta.type.minimum and any(their.went for their in same):
            return True
        if ours.went or _share(ours.ends, (their.ends for their in same)):
            return True
    nodes = {table_key(catalog.nodes[name]) for name in (delta.type.source, delta.type.target)}
    return _share(ours.ends, (their.went for key in nodes for their in theirs.get(key, ())))


def _share(ours: Sequence[str], theirs: Iterable[Sequence[str]]) -> bool:
    wanted = frozenset(ours)
    return any(not wanted.isdisjoint(those) for those in theirs)
