"""Random schemas and small graphs that fit them, from a seed.

Small on purpose: a handful of nodes per type, so that self-loops, parallel edges, shared ids, isolated nodes, equal values and nulls
are the rule. Words are their own stems and no stop words; floats are such that sums come out even, except where narrowing is the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from random import Random
from typing import Any

from tests.engine.reference_search import single

from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.keys import entity_id
from omnigraph.catalog.opening import offline_catalog
from omnigraph.language import Source
from omnigraph.model.types import PropertyType, Scalar

Rows = dict[str, list[dict[str, Any]]]

WORDS = ("lamp", "wolf", "mint", "rock", "storm", "plum", "brick", "frost")
TEXTS = ("", "a", "ab", "abc", "B", "b a", "ä", "zeta", "100%", "x_y", 'say "hi"', "back\\slash", "two\nlines")
ENUM = ("blue", "green", "red")
DECLARED = "enum(green, red, blue)"
"""How the values stand in the schema: results are ordered by that."""
DAYS = (date(1969, 7, 20), date(2000, 1, 1), date(2024, 2, 29), date(2024, 3, 1))
MOMENTS = (
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2001, 9, 9, 1, 46, 40, 250_000, tzinfo=UTC),
    datetime(2001, 9, 9, 1, 46, 40, 251_000, tzinfo=UTC),
    datetime(2999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
)
IDS = ("a", "b", "c", "d", "e", "f", "g", "h", "A", "Z", "é", "a b", "10", "9")
SMALL = (-3, -1, 0, 1, 2, 3, 5)
WIDE = (-(2**63), -(2**53) - 1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1)
HUGE = (0, 1, 2**53 + 1, 2**63, 2**64 - 1)
QUARTERS = (-1.5, -0.25, 0.0, 0.5, 1.0, 2.75, 3.0)
TENTHS = tuple(single(value) for value in (0.1, 0.2, 0.7, -2.3, 1.0))
NULLS = 0.25
"""Share of nullable values that are null."""


@dataclass(frozen=True)
class Prop:
    """A property: its type, and the values it is given."""

    name: str
    type: PropertyType
    pool: tuple[Any, ...]
    words: bool = False
    """A text to search."""

    @property
    def wide(self) -> bool:
        """Numbers too large to be added up in a double without loss."""
        return self.pool in (WIDE, HUGE)

    @property
    def orderable(self) -> bool:
        return not self.type.is_list and not self.type.is_vector

    def value(self, rng: Random) -> Any:
        if self.type.nullable and rng.random() < NULLS:
            return None
        if self.words:
            return words(rng, 1, 6)
        if self.type.is_vector:
            return [float(rng.choice((-1, 0, 1, 2))) for _ in range(self.type.dimension or 0)]
        if self.type.is_list:
            return [rng.choice(self.pool) for _ in range(rng.randint(0, 3))]
        return rng.choice(self.pool)

    def declaration(self, rng: Random, key: bool) -> str:
        indexable = not self.type.is_list
        return f"{self.name}: {self.type}" + (" @key" if key else " @index" if indexable and rng.random() < 0.4 else "")


def words(rng: Random, least: int, most: int) -> str:
    """A text of a few words."""
    drawn = [rng.choice((word, word, word.title(), word.upper())) for word in rng.choices(WORDS, k=rng.randint(least, most))]
    return rng.choice((" ", ", ", "-", "; ")).join(drawn)


def _of(scalar: Scalar, **more: Any) -> PropertyType:
    return PropertyType(scalar, **more)


_KINDS: tuple[tuple[str, PropertyType, tuple[Any, ...]], ...] = (
    ("name", _of(Scalar.STRING), TEXTS),
    ("label", _of(Scalar.STRING), TEXTS),
    ("kind", _of(Scalar.STRING, enum_values=ENUM), ENUM),
    ("flag", _of(Scalar.BOOL), (False, True)),
    ("small", _of(Scalar.I32), SMALL),
    ("long", _of(Scalar.I64), SMALL),
    ("wide", _of(Scalar.I64), WIDE),
    ("size", _of(Scalar.U32), SMALL[2:]),
    ("huge", _of(Scalar.U64), HUGE),
    ("ratio", _of(Scalar.F32), TENTHS),
    ("part", _of(Scalar.F32), QUARTERS),
    ("exact", _of(Scalar.F64), QUARTERS),
    ("day", _of(Scalar.DATE), DAYS),
    ("moment", _of(Scalar.DATETIME), MOMENTS),
    ("names", _of(Scalar.STRING, is_list=True), TEXTS),
    ("numbers", _of(Scalar.I32, is_list=True), SMALL),
    ("ratios", _of(Scalar.F32, is_list=True), TENTHS),
    ("days", _of(Scalar.DATE, is_list=True), DAYS),
    ("vec", _of(Scalar.VECTOR, dimension=2), ()),
    ("vec", _of(Scalar.VECTOR, dimension=2), ()),
    ("words", _of(Scalar.STRING), ()),
    ("words", _of(Scalar.STRING), ()),
    ("words", _of(Scalar.STRING), ()),
)
_KEYS = ("name", "small", "day", "kind")


@dataclass(frozen=True)
class Node:
    name: str
    props: tuple[Prop, ...]
    key: tuple[str, ...]
    implements: tuple[str, ...]


@dataclass(frozen=True)
class Edge:
    name: str
    source: str
    target: str
    props: tuple[Prop, ...]

    @property
    def spelling(self) -> str:
        return self.name[0].lower() + self.name[1:]


@dataclass(frozen=True)
class Interface:
    name: str
    props: tuple[Prop, ...]


@dataclass(frozen=True)
class Graph:
    """A schema, and rows at three moments: the past, main now, and a branch that left main in the past."""

    schema: str
    catalog: Catalog
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    interfaces: tuple[Interface, ...]
    past: Rows
    main_grows: Rows
    branch_grows: Rows
    main_replaces: Rows
    """Nodes of the past with other values."""
    main_drops: dict[str, list[str]]
    """Ids of edges of the past."""

    @property
    def main(self) -> Rows:
        kept = {
            name: [row for row in rows if row["id"] not in self.main_drops.get(name, ()) and not self._replaced(name, row)]
            for name, rows in self.past.items()
        }
        return joined(joined(kept, self.main_replaces), self.main_grows)

    def _replaced(self, name: str, row: dict[str, Any]) -> bool:
        return any(row["id"] == other["id"] for other in self.main_replaces.get(name, ()))

    @property
    def branch(self) -> Rows:
        return joined(self.past, self.branch_grows)

    def implementers(self, interface: str) -> tuple[str, ...]:
        return tuple(sorted(node.name for node in self.nodes if interface in node.implements))


def joined(first: Rows, second: Rows) -> Rows:
    return {name: [*first.get(name, []), *second.get(name, [])] for name in (*first, *(n for n in second if n not in first))}


def graph(seed: int) -> Graph:
    """The graph of a seed."""
    rng = Random(f"graph {seed}")
    interfaces = tuple(
        Interface(name, _props(rng, rng.randint(1, 3))) for name in ("Named", "Dated")[: rng.choice((0, 0, 1, 1, 2))]
    )
    nodes = tuple(_node(rng, name, interfaces) for name in ("Person", "City", "Doc", "Team")[: rng.choice((1, 2, 2, 3, 3, 4))])
    edges = tuple(_edge(rng, name, nodes) for name in ("Knows", "Likes", "WorksAt", "Owns", "Links")[: rng.randint(1, 5)])
    schema = _schema(rng, interfaces, nodes, edges)
    catalog = offline_catalog(Source(schema))
    past = _rows(rng, catalog, nodes, edges, {}, rng.choice((3, 5, 5, 8)))
    main_grows = _rows(rng, catalog, nodes, edges, past, 2)
    branch_grows = _rows(rng, catalog, nodes, edges, past, 2)
    replaces: Rows = {}
    for node in nodes:
        for row in rng.sample(past.get(node.name, []), min(1, len(past.get(node.name, [])))):
            kept = {name: row[name] for name in ("id", *node.key)}
            replaces[node.name] = [{**_values(rng, node.props), **kept}]
    drops = {edge.name: [rng.choice(past[edge.name])["id"]] for edge in edges if edge.name in past and rng.random() < 0.5}
    return Graph(schema, catalog, nodes, edges, interfaces, past, main_grows, branch_grows, replaces, drops)


# ── schemas ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _props(rng: Random, count: int, taken: Sequence[Prop] = ()) -> tuple[Prop, ...]:
    found = {prop.name: prop for prop in taken}
    for stem, type_, pool in rng.sample(_KINDS, count):
        name = f"{stem}{rng.randint(1, 3)}"
        nullable = rng.random() < 0.7
        if name not in found:
            found[name] = Prop(name, replace(type_, nullable=nullable), pool, stem == "words")
    return tuple(found.values())


def _node(rng: Random, name: str, interfaces: Sequence[Interface]) -> Node:
    implemented = tuple(i for i in interfaces if rng.random() < 0.6)
    inherited: dict[str, Prop] = {}
    for interface in implemented:
        if any(p.name in inherited and p != inherited[p.name] for p in interface.props):
            return _node(rng, name, interfaces)
        inherited.update({p.name: p for p in interface.props})
    props = _props(rng, rng.randint(2, 7), tuple(inherited.values()))
    key: tuple[str, ...] = ()
    if rng.random() < 0.55:
        stems = rng.sample(_KEYS, rng.choice((1, 1, 1, 2)))
        kinds = {stem: (type_, pool) for stem, type_, pool in _KINDS}
        keys = tuple(Prop(f"{stem}_key", *kinds[stem]) for stem in stems)
        key, props = tuple(p.name for p in keys), (*keys, *props)
    return Node(name, props, key, tuple(i.name for i in implemented))


def _edge(rng: Random, name: str, nodes: Sequence[Node]) -> Edge:
    source = rng.choice(nodes)
    target = source if rng.random() < 0.5 else rng.choice(nodes)
    searchable = tuple(p for p in _props(rng, rng.randint(0, 3)) if not p.type.is_vector)
    return Edge(name, source.name, target.name, searchable)


def _schema(rng: Random, interfaces: Sequence[Interface], nodes: Sequence[Node], edges: Sequence[Edge]) -> str:
    lines: list[str] = []
    for interface in interfaces:
        lines.append(f"interface {interface.name} {{ " + "  ".join(f"{p.name}: {p.type}" for p in interface.props) + " }")
    inherited = {i.name: {p.name for p in i.props} for i in interfaces}
    for node in nodes:
        given = set[str]().union(*(inherited[name] for name in node.implements))
        head = f"node {node.name}" + (f" implements {', '.join(node.implements)}" if node.implements else "")
        own = [p for p in node.props if p.name not in given or rng.random() < 0.5]
        body = [p.declaration(rng, node.key == (p.name,)) for p in own]
        body += [f"@key({', '.join(node.key)})"] if len(node.key) > 1 else []
        lines.append(f"{head} {{ " + "  ".join(body) + " }")
    for edge in edges:
        lines.append(
            f"edge {edge.name}: {edge.source} -> {edge.target} {{ " + "  ".join(f"{p.name}: {p.type}" for p in edge.props) + " }"
        )
    return "\n".join(lines).replace(f"enum({', '.join(ENUM)})", DECLARED) + "\n"


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _rows(rng: Random, catalog: Catalog, nodes: Sequence[Node], edges: Sequence[Edge], present: Rows, most: int) -> Rows:
    rows: Rows = {}
    for node in nodes:
        taken = {row["id"] for row in present.get(node.name, [])}
        rows[node.name] = []
        for _ in range(rng.choice((0, *[most] * 8, rng.randint(0, most)))):
            values = _values(rng, node.props)
            identity = entity_id(catalog.nodes[node.name].key, values) if node.key else rng.choice(IDS)
            if identity not in taken:
                taken.add(identity)
                rows[node.name].append({"id": identity, **values})
    everything = joined(present, rows)
    for edge in edges:
        rows[edge.name] = []
        sources = [row["id"] for row in everything.get(edge.source, [])]
        targets = [row["id"] for row in everything.get(edge.target, [])]
        taken = {row["id"] for row in present.get(edge.name, [])}
        for _ in range(rng.randint(most // 2, 2 * most) if sources and targets else 0):
            identity = f"e{rng.randint(0, 999)}"
            if identity not in taken:
                taken.add(identity)
                ends = {"src": rng.choice(sources), "dst": rng.choice(targets)}
                rows[edge.name].append({"id": identity, **ends, **_values(rng, edge.props)})
    return {name: found for name, found in rows.items() if found}


def _values(rng: Random, props: Sequence[Prop]) -> dict[str, Any]:
    drawn = {prop.name: prop.value(rng) for prop in props}
    return {name: value for name, value in drawn.items() if value is not None}
