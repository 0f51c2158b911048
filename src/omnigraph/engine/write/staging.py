"""The pending image of a mutation: what earlier statements did, seen by later ones, and published as one change in the end.

insert Person { name: "Eve" }                 rows[Person]["Eve"] = {…}
update Person set { age: 9 } where name = …   sees the row above; rows[Person]["Eve"] = {…, age: 9}
delete Person where …                         removed[Person] += ids; edges that touch them follow
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.columns import columns_of
from omnigraph.engine.write.changeset import ChangeSet, Delta, no_rows
from omnigraph.errors import ResourceLimit
from omnigraph.hints import Action, Hint
from omnigraph.model.limits import MAX_MUTATION_BYTES, MAX_MUTATION_ROWS
from omnigraph.storage.tables.changes import RowPlace

Row = dict[str, object]


class MutationStaging:
    """Rows to add or change, by id, and ids to remove, per type."""

    def __init__(self) -> None:
        self._types: dict[str, EntityType] = {}
        self._rows: dict[str, dict[str, Row]] = {}
        self._removed: dict[str, dict[str, None]] = {}
        self._known: dict[str, set[str]] = {}
        self._stood: dict[str, dict[str, RowPlace]] = {}
        self.versions: dict[str, list[Row]] = {}
        """Every image a statement made, also those that a later one replaced: each must be valid by itself."""

    def put(self, type_: EntityType, id_: str, row: Row, *, fresh: bool) -> None:
        """A new image of an entity. `fresh`: its id was made just now."""
        key = self._key(type_)
        rows = self._rows.setdefault(key, {})
        if not fresh or id_ in rows:
            self._known.setdefault(key, set()).add(id_)
        rows.pop(id_, None)
        rows[id_] = row
        self.versions.setdefault(key, []).append(row)
        if len(self.versions[key]) > MAX_MUTATION_ROWS:
            raise ResourceLimit(
                f"a mutation may insert or update at most {MAX_MUTATION_ROWS:,} rows of {type_.name}",
                hint=Hint("For bulk changes use ", Action("load"), "."),
            )

    def remove(self, type_: EntityType, ids: Iterable[str]) -> int:
        """Entities that go; how many of them were not gone already."""
        removed = self._removed.setdefault(self._key(type_), {})
        before = len(removed)
        removed.update(dict.fromkeys(ids))
        return len(removed) - before

    def seen(self, type_: EntityType, places: Iterable[RowPlace]) -> None:
        """Where entities stand that are replaced or go."""
        self._stood.setdefault(self._key(type_), {}).update((place.id, place) for place in places)

    def pending(self, type_: EntityType) -> Mapping[str, Row]:
        """Images of a type so far."""
        return self._rows.get(self._key(type_), {})

    @property
    def is_empty(self) -> bool:
        return not any(self._rows.values()) and not any(self._removed.values())

    def changes(self) -> ChangeSet:
        """The whole change."""
        deltas = []
        for key, type_ in self._types.items():
            rows = self._rows.get(key, {})
            table = self._table(type_, list(rows.values()))
            removed = pa.array(list(self._removed.get(key, {})), pa.string())
            fresh = bool(rows) and not self._known.get(key)
            touched = {*rows, *self._removed.get(key, {})}
            stood = tuple(place for id_, place in self._stood.get(key, {}).items() if id_ in touched)
            deltas.append(Delta(type_, table, removed, fresh=fresh, stood=stood))
        return ChangeSet(deltas)

    def every_version(self) -> Iterable[Delta]:
        """Each image by itself, for the rules about rows alone."""
        for key, rows in self.versions.items():
            type_ = self._types[key]
            if len(rows) > len(self._rows.get(key, {})):
                yield Delta(type_, self._table(type_, rows))

    def _table(self, type_: EntityType, rows: list[Row]) -> pa.Table:
        if not rows:
            return no_rows(type_)
        table = pa.Table.from_pylist(rows, schema=columns_of(type_))
        if table.nbytes > MAX_MUTATION_BYTES:
            raise ResourceLimit(
                f"a mutation may write at most {MAX_MUTATION_BYTES >> 20} MiB of {type_.name}",
                hint=Hint("For bulk changes use ", Action("load"), "."),
            )
        return table

    def _key(self, type_: EntityType) -> str:
        key = f"{type_.type_id}"
        self._types.setdefault(key, type_)
        return key
