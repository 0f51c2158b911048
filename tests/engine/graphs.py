"""Small graphs for engine tests: rows go in as they are, without validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

import omnigraph as og
from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.catalog.columns import columns_of
from omnigraph.catalog.keys import entity_id
from omnigraph.engine.snapshot.saved import LEAST_ROWS
from omnigraph.engine.snapshot.view import table_key
from omnigraph.storage.commits.lineage import Commit, OpClass
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.tables.changes import Append, Delete, Upsert

Data = Mapping[str, Sequence[Mapping[str, object]]]


def make_graph(folder: Path, schema: str, data: Data, *, save_from: int | None = LEAST_ROWS) -> og.Graph:
    """A new graph with these rows in one commit. Edges give `src` and `dst`; ids come from keys where not given."""
    graph = og.init(folder / "graph", schema=schema, durability="os", save_from=save_from)
    if any(data.values()):
        add(graph, data)
    return graph


def add(graph: og.Graph, data: Data, branch: str = "main") -> Commit:
    """More rows, all new, in one commit."""
    view = graph._view(branch)
    changes = []
    for name, rows in data.items():
        if rows:
            type_ = type_named(view.catalog, name)
            handle = graph._store.tables.open(view.snapshot.tables[table_key(type_)])
            changes.append(PlannedChange(table_key(type_), Append(handle.write(table_of(graph, type_, rows)))))
    return graph._store.publish(branch, PublishPlan(OpClass.LOGICAL, "load", view.snapshot.commit, tuple(changes)))


def upsert(graph: og.Graph, name: str, rows: Sequence[Mapping[str, object]], branch: str = "main") -> Commit:
    """New images of rows."""
    view = graph._view(branch)
    type_ = type_named(view.catalog, name)
    handle = graph._store.tables.open(view.snapshot.tables[table_key(type_)])
    table = table_of(graph, type_, rows)
    change = Upsert(handle.write(table), tuple(table["id"].to_pylist()))
    plan = PublishPlan(OpClass.LOGICAL, "mutate", view.snapshot.commit, (PlannedChange(table_key(type_), change),))
    return graph._store.publish(branch, plan)


def delete(graph: og.Graph, name: str, ids: Sequence[str], branch: str = "main") -> Commit:
    """Rows go, by id."""
    view = graph._view(branch)
    key = table_key(type_named(view.catalog, name))
    plan = PublishPlan(OpClass.LOGICAL, "mutate", view.snapshot.commit, (PlannedChange(key, Delete(tuple(ids))),))
    return graph._store.publish(branch, plan)


def type_named(catalog: Catalog, name: str) -> EntityType:
    return catalog.nodes[name] if name in catalog.nodes else catalog.edges[name]


def table_of(graph: og.Graph, type_: EntityType, rows: Sequence[Mapping[str, object]]) -> pa.Table:
    """Rows in the columns of a type."""
    whole = []
    for row in rows:
        id_ = row.get("id")
        if id_ is None:
            key = type_.key if type_.is_node else ()
            id_ = entity_id(key, row) if key else graph._store.ids.next()  # type: ignore[arg-type]
        whole.append({**row, "id": id_})
    return pa.Table.from_pylist(whole, schema=columns_of(type_))
