"""Graphs of every format this code opens, kept as they were written, and what must be read from them.

    python -m tests.storage.kept tests/storage/fixtures/format-1       writes the graph of the present format

A kept graph is made once, with the release of its format, and never again: that is what makes it worth something. When the format
changes, add a new one beside it; when the floor rises, delete those below.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from tests.storage.crashing import NumberedIds

from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.manifest import SchemaDocument
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan, Replacement
from omnigraph.storage.files.place import Place
from omnigraph.storage.graph_store import MAIN, GraphStore, NewTable
from omnigraph.storage.rewriting.indexes import IndexKind, IndexSpec, extend_indexes, key_indexes
from omnigraph.storage.tables.changes import Append, Change, Delete, Upsert, WrittenRows

FIXTURES = Path(__file__).parent / "fixtures"

PERSON, TEAM, MEMBER = "node:1-4", "node:2-5", "edge:3-6"
PEOPLE = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("name", pa.string()), pa.field("age", pa.int32())])
TEAMS = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("tags", pa.list_(pa.string()))])
MEMBERS = pa.schema([pa.field(n, pa.string(), nullable=False) for n in ("id", "src", "dst")] + [pa.field("since", pa.date32())])
TABLES = (
    NewTable(PERSON, "nodes/1-4", PEOPLE),
    NewTable(TEAM, "nodes/2-5", TEAMS),
    NewTable(MEMBER, "edges/3-6", MEMBERS),
)
DOCUMENT = SchemaDocument("kept-1", "node Person { name: String? age: I32? }", '{"types": 3}')

Row = dict[str, object]
Rows = list[Row]

ADA: Row = {"id": "ada", "name": "Ada", "age": 36}
BOB: Row = {"id": "bob", "name": "Bob", "age": 41}
CLEO: Row = {"id": "cleo", "name": None, "age": None}
OLDER_BOB: Row = {"id": "bob", "name": "Bob", "age": 42}
CORE: Row = {"id": "core", "tags": ["db", "graph"]}
ADA_IN_CORE: Row = {"id": "m1", "src": "ada", "dst": "core", "since": datetime(2026, 1, 2).date()}
BOB_IN_CORE: Row = {"id": "m2", "src": "bob", "dst": "core", "since": None}

EXPECTED: dict[str, dict[str, Rows]] = {
    "v1": {PERSON: [ADA, BOB, CLEO], TEAM: [CORE], MEMBER: [ADA_IN_CORE, BOB_IN_CORE]},
    MAIN: {PERSON: [ADA, OLDER_BOB], TEAM: [CORE], MEMBER: [ADA_IN_CORE, BOB_IN_CORE]},
    "try/it": {PERSON: [ADA, OLDER_BOB, CLEO], TEAM: [CORE], MEMBER: [ADA_IN_CORE]},
}
"""Rows by id, on branches and at the tag."""

INDEXES = ("id_key", "name_ngrams")
"""On people."""

OPERATIONS = ["delete", "index", "upsert", "load", "init"]
"""On main, youngest first."""


class _Clock:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def build(place: Place) -> None:
    """The kept graph of the present format."""
    store = GraphStore.init(place, DOCUMENT, TABLES, actor="kept", ids=NumberedIds(0), clock=_Clock())

    def written(table: str, rows: Rows) -> WrittenRows:
        handle = store.tables.open(store.snapshot().tables[table])
        return handle.write(pa.Table.from_pylist(rows, schema=handle.schema))

    def commit(operation: str, changes: dict[str, Change], branch: str = MAIN) -> str:
        base = store.snapshot(branch).commit
        planned = tuple(PlannedChange(table, change) for table, change in changes.items())
        return store.publish(branch, PublishPlan(OpClass.LOGICAL, operation, base, planned, actor="kept", message="é")).id

    loaded = commit(
        "load",
        {
            PERSON: Append(written(PERSON, [ADA, BOB, CLEO]), ("ada", "bob", "cleo")),
            TEAM: Append(written(TEAM, [CORE]), ("core",)),
            MEMBER: Append(written(MEMBER, [ADA_IN_CORE, BOB_IN_CORE]), ("m1", "m2")),
        },
    )
    store.create_tag("v1", loaded)
    commit("upsert", {PERSON: Upsert(written(PERSON, [OLDER_BOB]), ("bob",))})
    snapshot = store.snapshot()
    state = snapshot.tables[PERSON]
    specs = [*key_indexes(PEOPLE), IndexSpec("name_ngrams", "name", IndexKind.NGRAM)]
    indexed = Replacement(PERSON, state.pin, extend_indexes(store.tables, state, specs))
    store.publish(MAIN, PublishPlan(OpClass.MAINTENANCE, "index", snapshot.commit, replacements=(indexed,)))
    store.create_branch("try/it")
    commit("delete", {MEMBER: Delete(("m2",))}, "try/it")
    commit("delete", {PERSON: Delete(("cleo",))})


def rows_of(store: GraphStore, name: str, table: str) -> Rows:
    """What a branch or tag holds, by id."""
    snapshot = store.snapshot(name) if name in store.branches() else store.snapshot_at(name)
    found: Rows = store.tables.open(snapshot.tables[table]).read().to_pylist()
    return sorted(found, key=lambda row: str(row["id"]))


if __name__ == "__main__":
    build(Place.at(sys.argv[1]))
