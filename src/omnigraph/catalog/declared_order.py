"""The order in which the values of enums were declared.

What a schema means does not depend on it, so the accepted form of a schema keeps values sorted. Results are ordered by it; it is
read from the text that is kept beside the accepted form.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from omnigraph.catalog.ir import EdgeIR, InterfaceIR, NodeIR, PropertyIR, SchemaIR
from omnigraph.errors import ParseError
from omnigraph.language import Source, parse_schema
from omnigraph.language.pg import tree as t

T = TypeVar("T", NodeIR, EdgeIR, InterfaceIR)
Orders = dict[str, tuple[str, ...]]


def with_declared_order(ir: SchemaIR, text: str) -> SchemaIR:
    """An accepted schema whose enums know how they were declared."""
    owners: list[InterfaceIR | NodeIR | EdgeIR] = [*ir.interfaces, *ir.nodes, *ir.edges]
    if not any(prop.type.enum_values is not None for owner in owners for prop in owner.properties):
        return ir
    try:
        tree = parse_schema(Source(text))
    except ParseError:  # of an older language, perhaps: then enums are ordered as text is
        return ir
    found: dict[tuple[str, str], Orders] = {}
    for declared in tree.declarations:
        kind = type(declared).__name__
        orders = {} if declared.body is None else _orders(declared.body)
        if isinstance(declared, t.Node):
            for name in declared.implements:
                orders = {**found.get(("Interface", name.text), {}), **orders}
        found[kind, declared.name.text] = orders
    return replace(
        ir,
        interfaces=tuple(_ordered(owner, found.get(("Interface", owner.name), {})) for owner in ir.interfaces),
        nodes=tuple(_ordered(owner, found.get(("Node", owner.name), {})) for owner in ir.nodes),
        edges=tuple(_ordered(owner, found.get(("Edge", owner.name), {})) for owner in ir.edges),
    )


def _orders(body: t.Body) -> Orders:
    members = (member for member in body.members if isinstance(member, t.Property))
    return {p.name.text: p.type.enum_order for p in members if p.type.enum_order is not None}


def _ordered(owner: T, orders: Orders) -> T:
    if not orders:
        return owner
    return replace(owner, properties=tuple(_with_order(prop, orders) for prop in owner.properties))


def _with_order(prop: PropertyIR, orders: Orders) -> PropertyIR:
    order = orders.get(prop.name)
    if order is None or prop.type.enum_values != tuple(sorted(order)):
        return prop
    return replace(prop, type=replace(prop.type, enum_order=order))
