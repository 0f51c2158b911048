"""A small graph for history tests, and what is in it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.engine.graphs import Data, make_graph

import omnigraph as og
from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.history.conflicts import Conflict

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    nickname: String?
    email: String? @unique
    born: Date?
    seen: DateTime?
    tags: [String]?
    place: Vector(2)?
    photo: Blob?
}
node Company { name: String @key }
edge Knows: Person -> Person { since: Date?  weight: F32? }
edge WorksAt: Person -> Company @card(0..1)
"""

PEOPLE: Data = {
    "Person": [{"name": "Alice", "age": 30}, {"name": "Bob", "age": 40}, {"name": "Carol", "age": 50}],
    "Company": [{"name": "Acme"}, {"name": "Umbrella"}],
    "Knows": [{"id": "k1", "src": "Alice", "dst": "Bob"}],
}


def people(folder: Path, data: Data = PEOPLE) -> og.Graph:
    """The graph, without anybody working in the background."""
    graph = make_graph(folder, SCHEMA, data)
    calm(graph)
    return graph


def calm(graph: og.Graph) -> None:
    """Nobody builds indexes on the side: tests that count commits want to be the only ones that make some."""
    graph._after_write = lambda branch, catalog: None  # type: ignore[method-assign]


def contents(graph: og.Graph, branch: str | None = None, at: str | None = None) -> dict[tuple[str, str], dict[str, Any]]:
    """Everything by type and id, ends of edges included."""
    view = graph._view(branch, at)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    types: list[EntityType] = [*view.catalog.nodes.values(), *view.catalog.edges.values()]
    for type_ in types:
        stored = view.workspace.stored(view.snapshot, type_)
        for batch in stored.table.dataset.scanner(blob_handling="all_binary").to_batches():
            for row in batch.to_pylist():
                assert (type_.name, row["id"]) not in found, "an id stands in a table once"
                found[type_.name, row["id"]] = row
    return found


def names(graph: og.Graph, type_: str, branch: str = "main") -> list[str]:
    """Ids of a type, sorted."""
    return sorted(id_ for name, id_ in contents(graph, branch) if name == type_)


def told(error: og.MergeConflict) -> list[Conflict]:
    """The conflicts an error carries."""
    assert all(isinstance(c, Conflict) for c in error.conflicts)
    return [c for c in error.conflicts if isinstance(c, Conflict)]


def kinds(conflicts: Iterable[Conflict]) -> list[tuple[str, str, str | None]]:
    """Kind, type and entity of conflicts."""
    return [(c.kind, c.type, c.entity) for c in conflicts]


def put(graph: og.Graph, text: str, branch: str = "main", **params: object) -> str | None:
    """Run a mutation: the commit, if there is one."""
    receipt = graph.mutate(f"query q() {{ {text} }}", params or None, branch=branch)
    return None if receipt.commit is None else receipt.commit.id
