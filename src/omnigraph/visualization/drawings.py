"""Drawings of schemas, of answers and of diffs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from omnigraph.catalog.catalog import Catalog, EntityType, Property
from omnigraph.model.frozen import frozen
from omnigraph.service.results import Change, Diff, Node, Subgraph, shown
from omnigraph.visualization.drawing import Detail, Drawing, DrawnEdge, DrawnNode, Status

DRAWN_CHANGES = 1_000
"""Changes of a diff that are drawn by default."""

LABELS = ("name", "title", "label", "headline", "subject", "email", "slug")
"""Properties that make a good label, the best first."""

_STATUS: Mapping[str, Status] = {"insert": "added", "update": "changed", "delete": "removed"}


# ── schemas ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def of_schema(catalog: Catalog, place: str, rows: Mapping[str, int] | None = None, state: str = "") -> Drawing:
    """Node types as cards, edge types as arrows. `rows`: how many there are of each."""
    counted = rows or {}
    nodes = tuple(
        DrawnNode(
            node.name,
            node.name,
            node.name,
            (*_count(counted, node.name), *_declared(node), *(("implements", name) for name in node.implements)),
            lines=tuple((f"{prop.name} ⚷" if prop in node.key else prop.name, _short(prop)) for prop in node.properties.values()),
        )
        for node in catalog.nodes.values()
    )
    edges = tuple(
        DrawnEdge(
            edge.name, edge.name, _with_bounds(edge), edge.source, edge.target, (*_count(counted, edge.name), *_declared(edge))
        )
        for edge in catalog.edges.values()
    )
    return Drawing("schema", _title(place), f"schema · {state}".rstrip(" ·"), nodes, edges)


def _count(rows: Mapping[str, int], name: str) -> Detail:
    return (("entities", f"{rows[name]:,}"),) if name in rows else ()


def _declared(type_: EntityType) -> Detail:
    return tuple((prop.name, str(prop.type)) for prop in type_.properties.values())


def _short(prop: Property) -> str:
    spelt = str(prop.type)
    if prop.type.enum_values is not None and len(spelt) > 18:
        return f"enum({len(prop.type.enum_values)})" + ("?" if prop.type.nullable else "")
    return spelt


def _with_bounds(edge: EntityType) -> str:
    if (edge.minimum, edge.maximum) == (0, None):
        return edge.name
    return f"{edge.name} {edge.minimum}..{'' if edge.maximum is None else edge.maximum}"


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def of_answer(found: Subgraph, place: str) -> Drawing:
    """The nodes and edges behind an answer."""
    nodes = tuple(
        DrawnNode(_key(n.type, n.id), n.type, _label(n.id, n.properties), _values(n.id, n.properties)) for n in found.nodes
    )
    edges = tuple(
        DrawnEdge(f"{e.type}/{e.id}", e.type, e.type, _key(*e.source), _key(*e.target), _values(e.id, e.properties))
        for e in found.edges
    )
    notes = () if found.is_complete else ("Not everything that was found is drawn.",)
    return Drawing("answer", _title(place), f"{found.query_name} · {found.commit}", nodes, edges, notes)


def _key(type_: str, id_: str) -> str:
    return f"{type_}/{id_}"


def _label(id_: str, properties: Mapping[str, Any]) -> str:
    return next((str(properties[name]) for name in LABELS if isinstance(properties.get(name), str)), id_)


def _values(id_: str, properties: Mapping[str, Any]) -> Detail:
    values = tuple((name, _text(value)) for name, value in sorted(properties.items()) if value is not None)
    return values if any(value == id_ for _, value in values) else (("id", id_), *values)


def _text(value: object) -> str:
    return value if isinstance(value, str) else shown(value)


# ── diffs ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@frozen(slots=False)
class Side:
    """One of the two states of a diff: its schema, and its nodes by type and id."""

    catalog: Catalog
    nodes: Callable[[Mapping[str, frozenset[str]]], Sequence[Node]]


def of_diff(diff: Diff, before: Side, after: Side, place: str, limit: int | None = None) -> Drawing:
    """What differs between two states, and the nodes that changed edges lead to."""
    most = DRAWN_CHANGES if limit is None else limit
    changes = diff.changes[:most]
    nodes = {_key(c.type, c.id): _changed_node(c) for c in changes if c.kind == "node"}
    edges: list[DrawnEdge] = []
    for change in changes:
        if change.kind == "edge":
            edges += _changed_edges(change, after.catalog.edges.get(change.type) or before.catalog.edges[change.type], nodes)
    nodes |= _named(before, nodes)
    nodes |= _named(after, nodes)
    more = len(diff) - len(changes)
    notes = (f"{more:,} more changes are not drawn.",) if more else ()
    return Drawing(
        "diff",
        f"{diff.before.name} → {diff.after.name}",
        f"{_title(place)} · {diff.stats}",
        tuple(nodes.values()),
        tuple(edges),
        notes,
    )


def _changed_node(change: Change) -> DrawnNode:
    image = change.after or change.before
    assert image is not None
    label = _label(change.id, image.properties)
    return DrawnNode(_key(change.type, change.id), change.type, label, _changes(change), _STATUS[change.op])


def _changes(change: Change) -> Detail:
    """What an update changed, before and after; otherwise all there is."""
    if change.before is None or change.after is None:
        image = change.after or change.before
        assert image is not None
        return _values(change.id, image.properties)
    before, after = change.before.properties, change.after.properties
    names = [name for name in change.properties if name not in ("from", "to")]
    return (("id", change.id), *((name, _text(before.get(name)), _text(after.get(name))) for name in names))


def _named(side: Side, nodes: Mapping[str, DrawnNode]) -> dict[str, DrawnNode]:
    """The nodes around the changes, with the properties they have in a state."""
    around: dict[str, set[str]] = {}
    for node in nodes.values():
        if node.status == "context" and node.type in side.catalog.nodes:
            around.setdefault(node.type, set()).add(node.key.removeprefix(f"{node.type}/"))
    return {
        _key(n.type, n.id): DrawnNode(
            _key(n.type, n.id), n.type, _label(n.id, n.properties), _values(n.id, n.properties), "context"
        )
        for n in side.nodes({type_: frozenset(ids) for type_, ids in around.items()})
    }


def _changed_edges(change: Change, type_: EntityType, nodes: dict[str, DrawnNode]) -> Iterable[DrawnEdge]:
    """One arrow; an edge that moved is one that went and one that came."""
    old = None if change.before is None else change.before.endpoints
    new = None if change.after is None else change.after.endpoints
    moved = change.op == "update" and old != new
    ends: list[tuple[tuple[str, str] | None, Status]] = [(new or old, _STATUS[change.op])]
    if moved:
        ends = [(old, "removed"), (new, "added")]
    for pair, status in ends:
        assert pair is not None
        types = (type_.source, type_.target)
        keys = [_key(type_name, id_) for type_name, id_ in zip(types, pair, strict=True)]
        for key, type_name, id_ in zip(keys, types, pair, strict=True):
            nodes.setdefault(key, DrawnNode(key, type_name, id_, (("id", id_),), "context"))
        name = f"{change.type}/{change.id}/{status}"
        yield DrawnEdge(name, change.type, change.type, keys[0], keys[1], _changes(change), status)


def _title(place: str) -> str:
    return place.rstrip("/").rpartition("/")[2] or place
