"""Mutations: insert, update, delete.

Rule D2, that one query does not mix adding and deleting, is no typing rule: `refuse_mixed` checks it before a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.check.conditions import comparator_of
from omnigraph.catalog.check.scope import Scope
from omnigraph.catalog.check.values import STRING, property_value
from omnigraph.errors import MixedMutationError
from omnigraph.language.diagnostics import did_you_mean, one_of
from omnigraph.language.gq import tree as t
from omnigraph.language.pg.tree import Name
from omnigraph.language.source import NOWHERE
from omnigraph.model.frozen import frozen
from omnigraph.model.types import PropertyType

ENDPOINTS = ("from", "to")


@frozen
class _Target:
    """What a statement works on: its assignable names and their types."""

    label: str
    types: Mapping[str, PropertyType]


def statement(scope: Scope, tree: t.Statement) -> lg.Statement | None:
    """One statement, or None after a report."""
    node = scope.catalog.nodes.get(tree.type.text)
    edge = scope.catalog.edges.get(tree.type.text) if node is None else None
    if node is not None:
        return _node_statement(scope, tree, node)
    if edge is not None:
        return _edge_statement(scope, tree, edge)
    known = [*scope.catalog.nodes, *scope.catalog.edges]
    help = did_you_mean(tree.type.text, known) or f"there are {one_of(known)}"
    scope.refuse("T10", f"unknown type `{tree.type}`", tree.type.span, help)
    return None


def _node_statement(scope: Scope, tree: t.Statement, node: EntityType) -> lg.Statement | None:
    target = _Target(node.name, {p.name: p.type for p in node.properties.values()})
    match tree:
        case t.Insert(_, assignments):
            assigned = _assignments(scope, target, assignments)
            _check_required(scope, tree, node)
            return lg.InsertNode(node.name, assigned)
        case t.Update(_, assignments, predicate):
            assigned = _assignments(scope, target, assignments)
            where = _where(scope, target, predicate)
            return None if where is None else lg.UpdateNode(node.name, assigned, where)
        case t.Delete(_, predicate):
            where = _where(scope, target, predicate)
            return None if where is None else lg.DeleteNode(node.name, where)


def _edge_statement(scope: Scope, tree: t.Statement, edge: EntityType) -> lg.Statement | None:
    types = {p.name: p.type for p in edge.properties.values()}
    target = _Target(edge.name, {**types, **dict.fromkeys(ENDPOINTS, STRING)})
    match tree:
        case t.Insert(_, assignments):
            assigned = {a.property: a for a in _assignments(scope, target, assignments)}
            _check_edge_required(scope, tree, edge)
            source, end = assigned.pop("from", None), assigned.pop("to", None)
            if source is None or end is None:
                return None
            return lg.InsertEdge(edge.name, source.value, end.value, tuple(assigned.values()))
        case t.Update():
            help = "delete the edge and insert it anew"
            scope.refuse("T16", f"`{edge.name}` is an edge type, and edges cannot be updated", tree.type.span, help)
            return None
        case t.Delete(_, predicate):
            where = _where(scope, target, predicate)
            return None if where is None else lg.DeleteEdge(edge.name, where)


def _assignments(scope: Scope, target: _Target, trees: tuple[t.Assignment, ...]) -> tuple[lg.Assign, ...]:
    found: dict[str, lg.Assign] = {}
    seen: set[str] = set()
    if not trees:
        scope.refuse("T10", f"`{target.label}`: nothing is assigned", NOWHERE)
    for tree in trees:
        name = tree.property.text
        if name in seen:
            scope.refuse("T13", f"`{name}` is assigned twice", tree.property.span)
            continue
        seen.add(name)
        type_ = target.types.get(name)
        if type_ is None:
            _unknown(scope, target, tree.property)
            continue
        value = property_value(scope, tree.value, name, type_, mismatch="T3", undeclared="T14")
        if value is not None:
            found[name] = lg.Assign(name, type_, value)
    return tuple(found.values())


def _check_required(scope: Scope, tree: t.Insert, node: EntityType) -> None:
    assigned = {a.property.text for a in tree.assignments}
    for prop in node.properties.values():
        derived = prop.embed is not None and prop.embed.source in assigned
        if not prop.type.nullable and prop.name not in assigned and not derived:
            message = f"insert of `{node.name}` lacks required property `{prop.name}` ({prop.type})"
            scope.refuse("T12", message, tree.type.span)


def _check_edge_required(scope: Scope, tree: t.Insert, edge: EntityType) -> None:
    assigned = {a.property.text for a in tree.assignments}
    for end, node in zip(ENDPOINTS, (edge.source, edge.target), strict=True):
        if end not in assigned:
            message = f"insert of edge `{edge.name}` lacks endpoint `{end}`"
            scope.refuse("T12", message, tree.type.span, f"give the id of a `{node}`")
    for prop in edge.properties.values():
        if not prop.type.nullable and prop.name not in assigned:
            message = f"insert of edge `{edge.name}` lacks required property `{prop.name}` ({prop.type})"
            scope.refuse("T12", message, tree.type.span)


def _where(scope: Scope, target: _Target, tree: t.Predicate) -> lg.Where | None:
    name = tree.property.text
    type_ = target.types.get(name)
    if type_ is None:
        _unknown(scope, target, tree.property)
        return None
    if type_.is_blob:
        scope.refuse("T11", f"`{name}` is a Blob and cannot be compared", tree.property.span)
        return None
    # A predicate is a comparison: like a filter, it does not ask whether an enum has the value. One about a list or a vector
    # holds for nothing, which the run knows.
    plain = replace(type_, enum_values=None)
    value = property_value(scope, tree.value, name, plain, mismatch="T7", undeclared="T14")
    return None if value is None else lg.Where(name, type_, comparator_of(tree.operator), value)


def _unknown(scope: Scope, target: _Target, name: Name) -> None:
    help = did_you_mean(name.text, target.types) or f"it has {one_of(target.types)}"
    scope.refuse("T11", f"`{target.label}` has no property `{name}`", name.span, help)


def refuse_mixed(query: lg.MutationQuery) -> None:
    """Rule D2: a query inserts and updates, or deletes, never both. Checked before any effect, not by the type checker."""
    deletes = [isinstance(s, lg.DeleteNode | lg.DeleteEdge) for s in query.statements]
    if any(deletes) and not all(deletes):
        raise MixedMutationError(f"query `{query.name}` both deletes and inserts or updates (rule D2); split it into two queries")
