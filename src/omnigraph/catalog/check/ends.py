"""Ends of edges in mutations: ids, or values of the key of a node type.

    node Person { id_no: I64 @key }      insert Knows { from: $a, to: 2 }          with $a: I64
    edge Knows: Person -> Person         delete Knows where from = $a and to in [2, 3]

Such a value becomes the id that the node gets from its key: a literal at once, a parameter when the query runs. It is of the
type of the key; for an integer key any integer does. Everything else is checked as a text.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.catalog.check.scope import Scope
from omnigraph.catalog.check.values import STRING, constant
from omnigraph.catalog.keys import end_key, end_text
from omnigraph.errors import KeyValueError
from omnigraph.language.gq import tree as t
from omnigraph.model.conversions import Misfit
from omnigraph.model.types import PropertyType


def node_at(catalog: Catalog, edge: str, end: str) -> EntityType:
    """The node type at an end of an edge type: `from` or `src`, `to` or `dst`."""
    type_ = catalog.edges[edge]
    return catalog.nodes[type_.source if end in ("from", "src") else type_.target]


def given_id(scope: Scope, node: EntityType, tree: t.Expression) -> lg.Expression | None:
    """A literal or a parameter that is the key of a node, as its id; None: it is neither."""
    value: lg.Expression | None = None
    if isinstance(tree, t.Variable) and tree.name in scope.parameters:
        value = lg.Parameter(tree.name, scope.parameters[tree.name])
    elif isinstance(tree, t.Integer | t.Float | t.Bool | t.Date | t.DateTime):
        value = constant(scope, tree)
    found = None if value is None else as_id(node, value)
    return None if found is value else found


def compared(scope: Scope, side: lg.Expression, other: lg.Expression) -> lg.Expression:
    """What an end of an edge is compared with, as an id if it is a key; anything else as it is."""
    if not isinstance(side, lg.PropertyValue) or not side.of_edge or side.property not in ("src", "dst"):
        return other
    return as_id(node_at(scope.catalog, scope.bound[side.variable].label, side.property), other)


def as_id(node: EntityType, value: lg.Expression) -> lg.Expression:
    """A key of a node, or a list of keys, as ids; anything else as it is."""
    key = end_key(node)
    if key is None or not isinstance(value, lg.Parameter | lg.Constant) or not _fits(key.type, value.type):
        return value
    text = PropertyType(STRING.scalar, is_list=value.type.is_list, nullable=value.type.nullable)
    if isinstance(value, lg.Parameter):
        return replace(value, type=text, key=key.type)
    try:
        found = value.value
        texts = tuple(end_text(key.type, item) for item in found) if isinstance(found, tuple) else end_text(key.type, found)
    except (KeyValueError, Misfit):  # a date that is none: that is said of the literal
        return value
    return lg.Constant(texts, text)


def _fits(key: PropertyType, given: PropertyType) -> bool:
    return given.scalar is key.scalar or (given.scalar.is_integer and key.scalar.is_integer)
