"""Nodes and edges as values: one by its key, its neighbours, several by their ids.

    get         from memory where all nodes of a type are loaded, else one lookup by index
    neighbors   the edges at a node, by index, and the nodes at their other ends

Values are those of a query's rows. Blobs are left out: they are read one by one, by `blob`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.plain_values import plain_array
from omnigraph.engine.execution.result import python_values
from omnigraph.engine.planning.keys import KeyGiven, KeySchema, id_of
from omnigraph.engine.snapshot.committed import rows_where, touching
from omnigraph.engine.snapshot.nodes import Nodes
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import NotFound, UsageError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import one_line


@frozen
class Node:
    """A node with its properties, as far as they can be shown: no Blobs. `node["age"]` is the value of one."""

    type: str
    id: str
    properties: dict[str, Any] = field(compare=False)

    def __repr__(self) -> str:
        return one_line(f"Node {self.type} {self.id}")

    def __getitem__(self, name: str) -> Any:
        return _value(self, name)


@frozen
class Edge:
    """An edge with its properties. `edge["since"]` is the value of one."""

    type: str
    id: str
    source: tuple[str, str]
    """Type and id of the node it comes from."""
    target: tuple[str, str]
    properties: dict[str, Any] = field(compare=False)

    def __repr__(self) -> str:
        return one_line(f"Edge {self.type} {self.source[1]} -> {self.target[1]}")

    def __getitem__(self, name: str) -> Any:
        return _value(self, name)


@frozen
class Neighbor:
    """A node that an edge connects another one with."""

    node: Node
    edge: Edge
    direction: Literal["out", "in"]
    """Whether the edge leads to it, or comes from it."""

    def __repr__(self) -> str:
        arrow = f"-{self.edge.type}->" if self.direction == "out" else f"<-{self.edge.type}-"
        return one_line(f"Neighbor {arrow} {self.node.type} {self.node.id}")


Key = KeyGiven | Node | Edge
"""What names one entity of a type: its key, or the entity as it was read before."""

Direction = Literal["out", "in", "both"]


def _value(entity: Node | Edge, name: str) -> Any:
    try:
        return entity.properties[name]
    except KeyError:
        known = list(entity.properties)
        hint = did_you_mean(name, known) or (f"It has {', '.join(known)}." if known else "It has none.")
        raise NotFound(f"{entity.type} {entity.id} has no property `{name}`", what="property", name=name, hint=hint) from None


# ── by key ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def keys_of(view: View) -> KeySchema:
    """What keys are read by in a view."""
    return KeySchema(view.catalog, lambda: view.workspace.store.schema(view.snapshot).source)


def type_of(catalog: Catalog, name: str) -> EntityType:
    """A node type, or an edge type by any spelling of its name."""
    found = catalog.nodes.get(name) or catalog.edge(name)
    if found is None:
        known = [*catalog.nodes, *catalog.edges]
        hint = did_you_mean(name, known) or f"There are {', '.join(sorted(known))}."
        raise NotFound(f"no type `{name}`", what="type", name=name, hint=hint)
    return found


def node_type(view: View, name: str) -> EntityType:
    """A node type."""
    found = type_of(view.catalog, name)
    if found.is_edge:
        raise UsageError(f"`{name}` is an edge type", hint="A node type is wanted here.")
    return found


def named(schema: KeySchema, type_: EntityType, key: Key) -> str:
    """The id of an entity that is named by its key, or that was read before."""
    if isinstance(key, Node | Edge):
        if key.type != type_.name:
            raise UsageError(f"the key is one of {key.type}, not of {type_.name}", hint=f"Give one of {type_.name}.")
        return key.id
    return id_of(schema, type_, key)


def wanted_id(schema: KeySchema, type_: EntityType, key: Key | None, id_: str | None) -> str:
    """The id of an entity that is named by its key, or by its id."""
    if (key is None) == (id_ is None):
        raise UsageError("a key or an id says which one is wanted", hint="Give one of them.")
    return named(schema, type_, key) if key is not None else str(id_)


def get(view: View, type_: str, key: Key | None, id_: str | None) -> Node | Edge | None:
    """One node or edge by its key or its id; None if there is none."""
    found = type_of(view.catalog, type_)
    wanted = wanted_id(keys_of(view), found, key, id_)
    if found.is_node:
        return next(iter(_nodes(view, found, [wanted])), None)
    edges = _rows(view, found, "id", pa.array([wanted], pa.string()))
    return next((edge_of(found, row) for row in edges), None)


def nodes_by_id(view: View, types: Iterable[str], ids: set[str]) -> dict[tuple[str, str], Node]:
    """Nodes by type and id. A variable that ranges over several types is looked for in each."""
    return {(name, n.id): n for name in types for n in _nodes(view, view.catalog.nodes[name], sorted(ids))}


def _nodes(view: View, type_: EntityType, ids: Sequence[str]) -> Iterator[Node]:
    nodes = view.nodes(type_.name)
    if not ids or not nodes.count:
        return
    wanted = pa.array(ids, pa.string())
    numbers = np.array([nodes.number(ids[0])]) if len(ids) == 1 else nodes.find(wanted)
    if not nodes.loaded:
        for row in _rows(view, type_, "id", wanted):
            yield Node(type_.name, str(row.pop("id")), row)
        return
    yield from _loaded(nodes, type_, numbers[numbers >= 0])


def _loaded(nodes: Nodes, type_: EntityType, numbers: np.ndarray[Any, np.dtype[np.int64]]) -> Iterator[Node]:
    if not len(numbers):
        return
    located = nodes.located(numbers)
    names = [name for name in shown_columns(type_) if name in type_.properties]
    columns = [python_values(located.values(name)) for name in names]
    for place, id_ in enumerate(nodes.ids(numbers).to_pylist()):
        yield Node(type_.name, id_, {name: column[place] for name, column in zip(names, columns, strict=True)})


def _rows(view: View, type_: EntityType, column: str, values: pa.Array) -> Iterator[dict[str, Any]]:
    """Entities by the values of a column, as plain Python."""
    return _plain(rows_where(view, type_, column, values, shown_columns(type_)))


def shown_columns(type_: EntityType) -> list[str]:
    """Columns of a type but for its Blobs: ids and ends first."""
    return [*type_.implicit, *(name for name, prop in type_.properties.items() if not prop.type.is_blob)]


def _plain(table: pa.Table) -> Iterator[dict[str, Any]]:
    columns = table.column_names
    plain = [plain_array(whole(table[name])) for name in columns]
    for row in zip(*plain, strict=True):
        yield dict(zip(columns, row, strict=True))


# ── neighbours ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def edges_at(view: View, type_: EntityType, column: str, ids: set[str]) -> Iterator[Edge]:
    """Edges with one of some nodes at an end, `src` or `dst`."""
    if ids:
        wanted = pa.array(sorted(ids), pa.string())
        yield from (edge_of(type_, row) for row in _rows(view, type_, column, wanted))


def edge_of(type_: EntityType, row: dict[str, Any]) -> Edge:
    """An edge from its row."""
    source, target = (type_.source, str(row.pop("src"))), (type_.target, str(row.pop("dst")))
    return Edge(type_.name, str(row.pop("id")), source, target, row)


def neighbors(
    view: View, type_: str, key: Key, edges: Iterable[str] | None, direction: Direction, limit: int | None
) -> list[Neighbor]:
    """The nodes next to one, by the edges that lead there: in the order of edge types, out before in, then of edge ids.

    An edge from a node to itself is there once.
    """
    node = node_type(view, type_)
    id_ = named(keys_of(view), node, key)
    if not _exists(view, node, id_):
        raise NotFound(f"no {node.name} `{id_}`", what="node", name=id_, hint="Its neighbors cannot be looked for.")
    found: list[tuple[Edge, Literal["out", "in"]]] = []
    for edge in _chosen(view, node, edges):
        if direction != "in" and edge.source == node.name:
            found += [(e, "out") for e in _touching(view, edge, "src", id_)]
        if direction != "out" and edge.target == node.name:
            seen = {e.id for e, _ in found if e.type == edge.name}
            found += [(e, "in") for e in _touching(view, edge, "dst", id_) if e.id not in seen]
    found = found if limit is None else found[:limit]
    far = [(e.target if way == "out" else e.source) for e, way in found]
    nodes: dict[tuple[str, str], Node] = {}
    for name in dict.fromkeys(end[0] for end in far):
        nodes |= nodes_by_id(view, (name,), {end[1] for end in far if end[0] == name})
    return [Neighbor(nodes[end], edge, way) for end, (edge, way) in zip(far, found, strict=True)]


def _exists(view: View, type_: EntityType, id_: str) -> bool:
    return view.nodes(type_.name).number(id_) >= 0


def _touching(view: View, type_: EntityType, column: str, id_: str) -> list[Edge]:
    rows = touching(view, type_, column, pa.array([id_], pa.string()), shown_columns(type_))
    return sorted((edge_of(type_, row) for row in _plain(rows)), key=lambda e: e.id)


def _chosen(view: View, node: EntityType, names: Iterable[str] | None) -> list[EntityType]:
    """Edge types that were asked for, or all that touch a node type; by name."""
    if names is None:
        return list(view.catalog.incident_edges(node.name))
    found: dict[str, EntityType] = {}
    for name in names:
        type_ = view.catalog.edge(name)
        if type_ is None:
            known = list(view.catalog.edges)
            hint = did_you_mean(name, known) or f"There are {', '.join(sorted(known))}."
            raise NotFound(f"no edge type `{name}`", what="edge type", name=name, hint=hint)
        if node.name not in (type_.source, type_.target):
            raise UsageError(
                f"{type_.name} connects {type_.source} with {type_.target}, not {node.name}",
                hint=f"{node.name} has {', '.join(e.name for e in view.catalog.incident_edges(node.name)) or 'no edges'}.",
            )
        found[type_.name] = type_
    return [found[name] for name in sorted(found)]
