"""Small stored graphs with text and vectors, and maintenance that is published like any other plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from tests.storage.graphs import DOCUMENT, place

from omnigraph.errors import ReadSetChanged
from omnigraph.storage.commits.lineage import Commit, OpClass
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan, Replacement
from omnigraph.storage.files.effects import Effects
from omnigraph.storage.files.place import Durability
from omnigraph.storage.graph_store import MAIN, GraphStore, NewTable
from omnigraph.storage.rewriting.indexes import IndexKind, IndexSpec
from omnigraph.storage.tables.changes import Append, Applied, Change, Delete, TableState, Upsert
from omnigraph.storage.tables.search import Words, full_text
from omnigraph.storage.tables.table import Table, Tables

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("n", pa.int64()),
        pa.field("text", pa.string()),
        pa.field("vec", pa.list_(pa.float32(), 4)),
    ]
)
DOCS = "node:1-3"
BY_ID = IndexSpec("by_id", "id", IndexKind.BTREE)
BY_N = IndexSpec("by_n", "n", IndexKind.BITMAP)
BY_GRAM = IndexSpec("by_gram", "text", IndexKind.NGRAM)
BY_TEXT = IndexSpec("by_text", "text", IndexKind.FULL_TEXT, {"with_position": True})
BY_VEC = IndexSpec("by_vec", "vec", IndexKind.IVF_FLAT, {"metric": "l2"})
BY_PQ = IndexSpec("by_pq", "vec", IndexKind.IVF_PQ, {"metric": "l2", "num_sub_vectors": 2})
SPECS = (BY_ID, BY_N, BY_TEXT, BY_VEC)

Prepare = Callable[[Tables, TableState], Applied]


def new_graph(folder: Path, *, durability: Durability = Durability.OS, effects: Effects | None = None) -> GraphStore:
    tables = [NewTable(DOCS, "nodes/1-3", SCHEMA)]
    return GraphStore.init(place(folder, durability=durability, effects=effects), DOCUMENT, tables)


def rows(*numbers: int, text: str = "running dogs") -> pa.Table:
    """Rows k<number>, each with a vector on a line."""
    columns = {
        "id": [f"k{n}" for n in numbers],
        "n": list(numbers),
        "text": [f"{text} w{n}" for n in numbers],
        "vec": [[float(n), 0.0, 0.0, 0.0] for n in numbers],
    }
    return pa.table(columns, schema=SCHEMA)


def state_of(store: GraphStore, branch: str = MAIN) -> TableState:
    return store.snapshot(branch).tables[DOCS]


def table_of(store: GraphStore, branch: str = MAIN) -> Table:
    return store.tables.open(state_of(store, branch))


def append(store: GraphStore, *numbers: int, text: str = "running dogs", branch: str = MAIN) -> Commit:
    written = table_of(store, branch).write(rows(*numbers, text=text))
    return change(store, Append(written, tuple(f"k{n}" for n in numbers)), branch=branch)


def upsert(store: GraphStore, *numbers: int, text: str = "running dogs", branch: str = MAIN) -> Commit:
    written = table_of(store, branch).write(rows(*numbers, text=text))
    return change(store, Upsert(written, tuple(f"k{n}" for n in numbers)), branch=branch)


def delete(store: GraphStore, *numbers: int, branch: str = MAIN) -> Commit:
    return change(store, Delete(tuple(f"k{n}" for n in numbers)), branch=branch)


def change(store: GraphStore, what: Change, *, base: str | None = None, branch: str = MAIN) -> Commit:
    planned = (PlannedChange(DOCS, what),)
    return store.publish(branch, PublishPlan(OpClass.LOGICAL, "change", base or store.snapshot(branch).commit, planned))


def prepared(store: GraphStore, prepare: Prepare, branch: str = MAIN, op_class: OpClass = OpClass.MAINTENANCE) -> PublishPlan:
    """A plan that replaces the table by a version prepared on the present one."""
    snapshot = store.snapshot(branch)
    state = snapshot.tables[DOCS]
    replacement = Replacement(DOCS, state.pin, prepare(store.tables, state))
    return PublishPlan(op_class, "optimize", snapshot.commit, replacements=(replacement,))


def maintain(store: GraphStore, prepare: Prepare, branch: str = MAIN) -> Commit:
    return store.publish(branch, prepared(store, prepare, branch))


def write_around(store: GraphStore, kind: str, prepare: Prepare) -> None:
    """A write that is prepared before some maintenance and published after it: an append of k9, an upsert of k2 and k9, or a delete
    of k2. What it writes is found under "fresh"."""
    base, table = store.snapshot().commit, table_of(store)
    what: Change
    match kind:
        case "append":
            what = Append(table.write(rows(9, text="fresh")), ("k9",))
        case "upsert":
            what = Upsert(table.write(rows(2, 9, text="fresh")), ("k2", "k9"))
        case _:
            what = Delete(("k2",))
    maintain(store, prepare)
    change(store, what, base=base)


def maintain_too_late(store: GraphStore, prepare: Prepare, meanwhile: Callable[[], object]) -> None:
    """Maintenance whose table moves before it is published: it is void and changes nothing, and prepared again it is published."""
    plan = prepared(store, prepare)
    meanwhile()
    moved = state_of(store)
    with pytest.raises(ReadSetChanged, match=f"table {DOCS} moved"):
        store.publish(MAIN, plan)
    assert state_of(store) == moved
    maintain(store, prepare)


def numbers_in(table: Table) -> list[int]:
    return sorted(table.read(["n"])["n"].to_pylist())


def found_text(table: Table, words: str, **options: int) -> list[str]:
    return sorted(full_text(table, "text", Words(words, **options))["id"].to_pylist())  # type: ignore[arg-type]


def segments_of(table: Table, name: str) -> list[list[int]]:
    """Which fragments each segment of an index covers."""
    return [sorted(s.fragment_ids) for i in table.dataset.describe_indices() if i.name == name for s in i.segments]


def covered(state: TableState) -> dict[str, int]:
    return {index.name: index.covered for index in state.indexes}
