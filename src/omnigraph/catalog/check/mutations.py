"""Mutations: insert, update, delete; of a type, or of what a pattern finds.

In the `where` and `set` of a type a bare name is a property of what is changed: it becomes an access of a variable that nobody
can write (`IT`), and the condition is then checked like that of a filter.

Rule D2, that one query does not mix adding and deleting, is no typing rule: `refuse_mixed` checks it before a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields, is_dataclass, replace
from typing import TypeVar, cast

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import ENDS, EntityType, Property
from omnigraph.catalog.check import patterns
from omnigraph.catalog.check.conditions import comparator_of, condition, is_order
from omnigraph.catalog.check.ends import given_id, node_at
from omnigraph.catalog.check.expressions import type_of, typed
from omnigraph.catalog.check.scope import ID, Bound, Scope
from omnigraph.catalog.check.values import STRING, property_value
from omnigraph.catalog.keys import end_rule
from omnigraph.errors import MixedMutationError
from omnigraph.language.diagnostics import did_you_mean, one_of
from omnigraph.language.gq import tree as t
from omnigraph.language.pg.tree import Name
from omnigraph.language.source import NOWHERE, Span
from omnigraph.model.frozen import frozen
from omnigraph.model.types import PropertyType

ENDPOINTS = ("from", "to")

T = TypeVar("T")


@frozen
class _Target:
    """What a statement works on: its assignable names and their types."""

    label: str
    types: Mapping[str, PropertyType]
    is_edge: bool = False
    properties: Mapping[str, Property] = field(default_factory=dict)
    """What a condition may name: properties, the ends of an edge under the names they have in data, the id."""

    @property
    def bound(self) -> Bound:
        return Bound(self.is_edge, self.label, (self.label,), self.properties)


def _target(type_: EntityType) -> _Target:
    types = {p.name: p.type for p in type_.properties.values()}
    ends = dict(zip(ENDPOINTS, ENDS, strict=True)) if type_.is_edge else {}
    known = {ID.name: ID, **ends, **type_.properties}
    return _Target(type_.name, {**types, **dict.fromkeys(ends, STRING)}, type_.is_edge, known)


def statement(scope: Scope, tree: t.Statement) -> lg.Statement | None:
    """One statement, or None after a report."""
    if isinstance(tree, t.MatchedUpdate | t.MatchedDelete):
        return _matched(scope.inner(), tree)
    found: tuple[lg.Pattern, ...] = ()
    if isinstance(tree, t.Insert) and tree.match is not None:
        scope = scope.inner()
        found = patterns.block(scope, tree.match.clauses)
    made = _of_type(scope, tree)
    return replace(made, pattern=found) if isinstance(made, lg.InsertNode | lg.InsertEdge) else made


def _of_type(scope: Scope, tree: t.Insert | t.Update | t.Delete) -> lg.Statement | None:
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


def _node_statement(scope: Scope, tree: t.Insert | t.Update | t.Delete, node: EntityType) -> lg.Statement | None:
    target = _target(node)
    match tree:
        case t.Insert(_, assignments):
            assigned = _assignments(scope, target, assignments)
            _check_required(scope, tree, node)
            return lg.InsertNode(node.name, assigned)
        case t.Update(_, assignments, predicate):
            assigned = _own_assignments(scope, target, assignments)
            where = _where(scope, target, predicate)
            return None if where is None else lg.UpdateNode(node.name, assigned, where)
        case t.Delete(_, predicate):
            where = _where(scope, target, predicate)
            return None if where is None else lg.DeleteNode(node.name, where)


def _edge_statement(scope: Scope, tree: t.Insert | t.Update | t.Delete, edge: EntityType) -> lg.Statement | None:
    target = _target(edge)
    match tree:
        case t.Insert(_, assignments):
            assigned = {a.property: a for a in _assignments(scope, target, assignments)}
            _check_edge_required(scope, tree, edge)
            source, end = assigned.pop("from", None), assigned.pop("to", None)
            if source is None or end is None or source.value is None or end.value is None:
                return None
            return lg.InsertEdge(edge.name, source.value, end.value, tuple(assigned.values()))
        case t.Update(_, assignments, predicate):
            assigned_own = _own_assignments(scope, target, assignments)
            where = _where(scope, target, predicate)
            return None if where is None else lg.UpdateEdge(edge.name, assigned_own, where)
        case t.Delete(_, predicate):
            where = _where(scope, target, predicate)
            return None if where is None else lg.DeleteEdge(edge.name, where)


def _matched(scope: Scope, tree: t.MatchedUpdate | t.MatchedDelete) -> lg.Statement | None:
    """What is done with a variable of a pattern."""
    found = patterns.block(scope, tree.match.clauses)
    name, bound = tree.variable.name, scope.bound.get(tree.variable.name)
    if bound is None:
        if not scope.is_spoilt(name):
            help = did_you_mean(name, scope.bound) or "bind it in the match block"
            scope.refuse("T10", f"`${name}` is not bound by the pattern", tree.variable.span, help)
        return None
    if len(bound.types) != 1:
        help = f"bind it to one of {one_of(bound.types)}"
        scope.refuse("T10", f"`${name}` ranges over several types: `{bound.label}` is an interface", tree.variable.span, help)
        return None
    (label,) = bound.types
    entity = lg.Entity(name, label, bound.nullable, bound.is_edge)
    if isinstance(tree, t.MatchedDelete):
        return lg.DeleteMatched(found, entity)
    type_ = scope.catalog.edges[label] if bound.is_edge else scope.catalog.nodes[label]
    target = _target(type_)
    _keep_ends(scope, target, tree.assignments)
    return lg.UpdateMatched(found, entity, _assignments(scope, target, tree.assignments))


def _own_assignments(scope: Scope, target: _Target, trees: tuple[t.Assignment, ...]) -> tuple[lg.Assign, ...]:
    """Assignments to what is there: bare names are its properties."""
    _keep_ends(scope, target, trees)
    inner = scope.inner()
    inner.bound[lg.IT] = target.bound
    known = [
        tree for tree in trees if target.types.get(tree.property.text) is None or _names_are_known(scope, target, tree.value)
    ]
    return _assignments(inner, target, tuple(replace(tree, value=_own(tree.value)) for tree in known)) if known else ()


def own_value(scope: Scope, type_: EntityType, name: str, wanted: PropertyType, tree: t.Expression) -> lg.Expression | None:
    """A value for a property, from the properties of one entity, which bare names stand for."""
    target = _target(type_)
    if not _names_are_known(scope, target, tree):
        return None
    inner = scope.inner()
    inner.bound[lg.IT] = target.bound
    return _value(inner, _own(tree), name, wanted)


def _keep_ends(scope: Scope, target: _Target, trees: tuple[t.Assignment, ...]) -> None:
    for tree in trees:
        if target.is_edge and tree.property.text in ENDPOINTS:
            help = "delete the edge, and insert another one"
            scope.refuse("T16", f"an update cannot move an edge: `{tree.property}` stays as it is", tree.property.span, help)


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
        if isinstance(tree.value, t.Null):
            if type_.nullable:
                found[name] = lg.Assign(name, type_, None)
            else:
                scope.refuse("T3", f"`{name}` is {type_} and must have a value", tree.value.span)
            continue
        if target.is_edge and name in ENDPOINTS:
            value = _end(scope, target, tree.value, name)
        else:
            value = _value(scope, tree.value, name, type_)
        if value is not None:
            found[name] = lg.Assign(name, type_, value)
    return tuple(found.values())


def _end(scope: Scope, target: _Target, tree: t.Expression, name: str) -> lg.Expression | None:
    """The id of the node at an end, or its key."""
    node = node_at(scope.catalog, target.label, name)
    return given_id(scope, node, tree) or _value(scope, tree, name, STRING, end_rule(node))


def _value(scope: Scope, tree: t.Expression, name: str, type_: PropertyType, help: str = "") -> lg.Expression | None:
    """A literal, a parameter or `now()`; or what follows from the row that is changed or was found."""
    is_bound = isinstance(tree, t.Variable) and tree.name not in scope.parameters and tree.name in scope.bound
    is_now = isinstance(tree, t.Call) and tree.function is t.Function.NOW
    if not is_bound and (is_now or isinstance(tree, t.Variable | t.String | t.Integer | t.Float | t.Bool)):
        return property_value(scope, tree, name, type_, mismatch="T3", undeclared="T14", help=help)
    if isinstance(tree, t.Date | t.DateTime | t.List):
        return property_value(scope, tree, name, type_, mismatch="T3", undeclared="T14", help=help)
    value = typed(scope, tree)
    if value is None:
        return None
    given = STRING if isinstance(value, lg.Entity) else type_of(value)
    if isinstance(value, lg.Aggregated | lg.Ranking | lg.TextMatch | lg.Column) or given is None:
        scope.refuse("T3", f"`{name}` takes a value of one row", tree.span)
        return None
    if type_.is_blob or given.is_blob or not given.compatible_with(type_):
        what = "the id of an entity" if isinstance(value, lg.Entity) else str(given)
        scope.refuse("T3", f"`{name}` is {type_}, and this is {what}", tree.span, help)
        return None
    return value


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


def _where(scope: Scope, target: _Target, tree: t.Condition) -> lg.Condition | None:
    if isinstance(tree, t.Comparison) and isinstance(tree.left, t.Alias) and _is_value(tree.right) and is_order(tree.operator):
        return _predicate(scope, target, tree.left, tree)
    if not _names_are_known(scope, target, tree):
        return None
    inner = scope.inner()
    inner.bound[lg.IT] = target.bound
    return condition(inner, _own(tree))


def _is_value(tree: t.Expression) -> bool:
    now = isinstance(tree, t.Call) and tree.function is t.Function.NOW
    return now or isinstance(tree, t.Variable | t.String | t.Integer | t.Float | t.Bool | t.Date | t.DateTime | t.List)


def _predicate(scope: Scope, target: _Target, left: t.Alias, tree: t.Comparison) -> lg.Condition | None:
    """One property compared with one value."""
    prop = target.properties.get(left.name)
    if prop is None:
        _unknown(scope, target, Name(left.name, left.span))
        return None
    if prop.type.is_blob:
        scope.refuse("T11", f"`{left.name}` is a Blob and cannot be compared", left.span)
        return None
    # Like a filter, it does not ask whether an enum has the value. One about a list or a vector holds for nothing, which the run
    # knows.
    plain = replace(prop.type, enum_values=None, enum_order=None)
    rule, value = "", None
    if target.is_edge and prop in ENDS:
        node = node_at(scope.catalog, target.label, prop.name)
        rule = end_rule(node)
        value = given_id(scope, node, tree.right) if tree.operator in (t.Operator.EQ, t.Operator.NE) else None
    value = value or property_value(scope, tree.right, left.name, plain, mismatch="T7", undeclared="T14", help=rule)
    if value is None:
        return None
    return lg.Compare(lg.PropertyValue(lg.IT, prop.name, prop.type, target.is_edge), comparator_of(tree.operator), value)


def _names_are_known(scope: Scope, target: _Target, tree: object) -> bool:
    """Whether every bare name is a property that can be compared, and every variable a parameter; what is not is reported."""
    fine = True
    for part in _parts(tree):
        match part:
            case t.Alias(name, span) if name not in target.properties:
                if name == "null":
                    scope.refuse("T11", "`null` is not a value", span, "write `is null` or `is not null`")
                else:
                    _unknown(scope, target, Name(name, span))
                fine = False
            case t.Alias(name, span) if target.properties[name].type.is_blob:
                scope.refuse("T11", f"`{name}` is a Blob and cannot be compared", span)
                fine = False
            case t.Variable(name, span) if name not in scope.parameters and name not in scope.bound:
                help = did_you_mean(name, scope.parameters) or "declare it, or name a property alone: `where slug = …`"
                scope.refuse("T14", f"`${name}` is not a declared parameter", span, help)
                fine = False
            case _:
                pass
    return fine


def _parts(tree: object) -> Iterator[object]:
    """A tree and everything in it."""
    yield tree
    if isinstance(tree, tuple):
        for item in tree:
            yield from _parts(item)
    elif is_dataclass(tree) and not isinstance(tree, type):
        for about in fields(tree):
            yield from _parts(getattr(tree, about.name))


def _own(tree: T) -> T:
    """The same with bare names as properties of `IT`."""
    if isinstance(tree, Span):
        return tree
    if isinstance(tree, t.Alias):
        return cast(T, t.Access(t.Variable(lg.IT, tree.span), Name(tree.name, tree.span), tree.span))
    if isinstance(tree, tuple):
        return cast(T, tuple(_own(item) for item in tree))
    if is_dataclass(tree) and not isinstance(tree, type):
        changed = {about.name: _own(getattr(tree, about.name)) for about in fields(tree)}
        return cast(T, type(tree)(**changed))
    return tree


def _unknown(scope: Scope, target: _Target, name: Name) -> None:
    help = did_you_mean(name.text, target.types) or f"it has {one_of(target.types)}"
    scope.refuse("T11", f"`{target.label}` has no property `{name}`", name.span, help)


def refuse_mixed(query: lg.MutationQuery) -> None:
    """Rule D2: a query inserts and updates, or deletes, never both. Checked before any effect, not by the type checker."""
    deletes = [isinstance(s, lg.DeleteNode | lg.DeleteEdge | lg.DeleteMatched) for s in query.statements]
    if any(deletes) and not all(deletes):
        raise MixedMutationError(f"query `{query.name}` both deletes and inserts or updates (rule D2); split it into two queries")
