"""Mutations that are prepared so quickly that whoever leads a group of writers does it for all of them.

Sixteen threads that each bind parameters, stage a row and validate it get into each other's way: only one of them runs Python at
a time, and each gives that up at every look at a file. So a mutation of a few rows that are named by their keys only says how it
is prepared and waits; the thread that leads (`storage.commits.publisher`) prepares one after the other, next to one state, and
publishes them together.

    insert Person { name: $n }                          quick
    update Person set { age: $a } where name = $n       quick: a key says which one
    update Person set { age: 1 } where age < 1          not: everybody is looked at
    match { … } insert …                                not: nobody knows how much the pattern finds
    insert Photo { content: $uri }                      not: somebody else's server is waited for

Everything else is prepared by its own thread, beside the others, and so is everything on an object store, where preparing may
mean to wait for answers, which many threads can do at once.
"""

from __future__ import annotations

from typing import Final

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.engine.write.searching import conjuncts

MOST_STATEMENTS: Final = 4
"""With more than that a mutation is one that others should not wait for."""


def is_quick(query: lg.MutationQuery, catalog: Catalog) -> bool:
    """Whether a mutation is prepared in about the time that another thread takes to be woken."""
    return len(query.statements) <= MOST_STATEMENTS and all(_is_quick(statement, catalog) for statement in query.statements)


def _is_quick(statement: lg.Statement, catalog: Catalog) -> bool:
    match statement:
        case lg.InsertNode(name, _, ()):
            return not _has_blobs(catalog.nodes[name])
        case lg.InsertEdge(name, _, _, _, ()):
            return not _has_blobs(catalog.edges[name])
        case lg.PatchNode(name):
            return not _has_blobs(catalog.nodes[name])
        case lg.PatchEdge(name):
            return not _has_blobs(catalog.edges[name])
        case lg.UpdateNode(name, _, where) | lg.DeleteNode(name, where):
            return _names_one(catalog.nodes[name], where) and not _has_blobs(catalog.nodes[name])
        case lg.UpdateEdge(name, _, where) | lg.DeleteEdge(name, where):
            return _names_one(catalog.edges[name], where) and not _has_blobs(catalog.edges[name])
        case _:
            return False


def _names_one(type_: EntityType, where: lg.Condition) -> bool:
    """Whether a condition fixes the id of an entity, or its whole key."""
    fixed = {
        side.property
        for part in conjuncts(where)
        if isinstance(part, lg.Compare) and part.comparator is lg.Comparator.EQ
        for side, other in ((part.left, part.right), (part.right, part.left))
        if isinstance(side, lg.PropertyValue) and isinstance(other, lg.Parameter | lg.Constant | lg.Now)
    }
    return "id" in fixed or (bool(type_.key) and type_.key_names <= fixed)


def _has_blobs(type_: EntityType) -> bool:
    return any(prop.type.is_blob for prop in type_.properties.values())
