"""Small stored graphs for storage tests."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from omnigraph.errors import KeyConflict
from omnigraph.storage.commits.lineage import Commit, OpClass
from omnigraph.storage.commits.manifest import SchemaDocument
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.files.effects import Effects
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.graph_store import MAIN, GraphStore, NewTable
from omnigraph.storage.tables.changes import Append, Delete, Overwrite, TableState, Upsert

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int64()), pa.field("text", pa.string())])
PEOPLE, THINGS = "node:1-3", "node:2-4"
TABLES = (NewTable(PEOPLE, "nodes/1-3", SCHEMA), NewTable(THINGS, "nodes/2-4", SCHEMA))
DOCUMENT = SchemaDocument("schema-1", "node Person {}", "{}")


def place(folder: Path, *, durability: Durability = Durability.OS, effects: Effects | None = None) -> Place:
    return Place.at(str(folder / "graph"), durability=durability, effects=effects)


def new_graph(folder: Path, *, durability: Durability = Durability.OS, effects: Effects | None = None) -> GraphStore:
    return GraphStore.init(place(folder, durability=durability, effects=effects), DOCUMENT, TABLES)


def rows(**values: int) -> pa.Table:
    return pa.table({"id": list(values), "n": list(values.values()), "text": [f"text {k}" for k in values]}, schema=SCHEMA)


def insert(store: GraphStore, branch: str = MAIN, table: str = PEOPLE, **values: int) -> Commit:
    """Insert rows that must be new."""
    snapshot = store.snapshot(branch)
    handle = store.tables.open(snapshot.tables[table])
    if handle.lookup(list(values), ["id"]).num_rows:
        raise KeyConflict(f"one of {', '.join(values)} exists")
    written = handle.write(rows(**values))
    return store.publish(branch, _plan("insert", snapshot.commit, PlannedChange(table, Append(written, tuple(values)))))


def upsert(store: GraphStore, branch: str = MAIN, table: str = PEOPLE, **values: int) -> Commit:
    """Insert rows or replace those with the same id."""
    snapshot = store.snapshot(branch)
    written = store.tables.open(snapshot.tables[table]).write(rows(**values))
    return store.publish(branch, _plan("upsert", snapshot.commit, PlannedChange(table, Upsert(written, tuple(values)))))


def delete(store: GraphStore, *ids: str, branch: str = MAIN, table: str = PEOPLE) -> Commit:
    """Delete rows; void if somebody else changed the table meanwhile."""
    commit = store.snapshot(branch).commit
    return store.publish(branch, _plan("delete", commit, PlannedChange(table, Delete(ids)), strict=True))


def overwrite(store: GraphStore, branch: str = MAIN, table: str = PEOPLE, **values: int) -> Commit:
    """Replace the whole content."""
    snapshot = store.snapshot(branch)
    written = store.tables.open(snapshot.tables[table]).write(rows(**values))
    return store.publish(branch, _plan("overwrite", snapshot.commit, PlannedChange(table, Overwrite(written)), strict=True))


def _plan(operation: str, base: str, *changes: PlannedChange, strict: bool = False) -> PublishPlan:
    read_set = frozenset(c.table for c in changes) if strict else frozenset[str]()
    return PublishPlan(OpClass.LOGICAL, operation, base, changes, read_set=read_set)


def content(store: GraphStore, branch: str = MAIN, table: str = PEOPLE, *, at: str | None = None) -> dict[str, int]:
    """What a table holds, as id to number."""
    snapshot = store.snapshot(branch) if at is None else store.snapshot_at(at)
    return held(store, snapshot.tables[table])


def held(store: GraphStore, state: TableState) -> dict[str, int]:
    """What a table holds at a pin. A pin never changes: whoever asks for many commits need not read one twice."""
    found = store.tables.open(state).read(["id", "n"])
    assert found.num_rows == state.rows
    return dict(zip(found["id"].to_pylist(), found["n"].to_pylist(), strict=True))
