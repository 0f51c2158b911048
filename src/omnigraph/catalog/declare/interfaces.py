"""Interfaces: what `implements` brings into a node.

For each interface in the order written, each of its properties is either missing from the node, and then a copy of it comes in
together with its annotations and constraints, or declared by the node, and then the types must be identical and the node's own
annotations win.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from omnigraph.catalog.shape import InterfaceShape, PropertyShape
from omnigraph.language.diagnostics import Family, Problems, did_you_mean
from omnigraph.language.pg import tree as pg
from omnigraph.language.source import Span
from omnigraph.model.frozen import frozen


@frozen
class Expanded:
    """The properties of a node after expansion, and which of them came in."""

    properties: dict[str, PropertyShape]
    injected: tuple[PropertyShape, ...]


def expand(
    problems: Problems, node: pg.Node, own: Mapping[str, PropertyShape], interfaces: Mapping[str, InterfaceShape]
) -> Expanded:
    """Own properties plus those the interfaces bring."""
    properties = dict(own)
    injected: dict[str, PropertyShape] = {}
    for name in node.implements:
        interface = interfaces.get(name.text)
        if interface is None:
            message = f"node `{node.name}` implements unknown interface `{name}`"
            problems.add(Family.PARSE, "unknown-interface", message, name.span, did_you_mean(name.text, interfaces))
            continue
        for prop in interface.properties:
            link = (interface.name, prop.name)
            present = properties.get(prop.name)
            if present is None:
                copy = replace(prop, declared_directly=False, satisfies=(link,), rename_from=None)
                properties[prop.name] = injected[prop.name] = copy
            elif link not in present.satisfies:
                if prop.name in injected:
                    _check_agreement(problems, node, name, injected[prop.name], prop)
                elif present.type != prop.type:
                    message = (
                        f"property `{prop.name}` of `{node.name}` has type {present.type}, "
                        f"which differs from interface `{interface.name}` ({prop.type})"
                    )
                    problems.add(Family.PARSE, "interface-mismatch", message, _span_of(node, prop.name))
                linked = replace(present, satisfies=tuple(sorted({*present.satisfies, link})))
                properties[prop.name] = linked
                if prop.name in injected:
                    injected[prop.name] = linked
    return Expanded(properties, tuple(injected.values()))


def _check_agreement(problems: Problems, node: pg.Node, name: pg.Name, first: PropertyShape, second: PropertyShape) -> None:
    same = (first.type, first.notes, first.constraints, first.embed) == (
        second.type,
        second.notes,
        second.constraints,
        second.embed,
    )
    if not same:
        message = f"interfaces of `{node.name}` give incompatible property semantics for `{first.name}`"
        help = f"declare `{first.name}` in the node itself"
        problems.add(Family.PARSE, "interface-disagreement", message, name.span, help)


def _span_of(node: pg.Node, name: str) -> Span:
    return next((p.span for p in node.body.properties if p.name.text == name), node.name.span)
