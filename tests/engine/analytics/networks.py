"""Small random networks of two node types: loops, parallel edges, isolated nodes and equal ids are the rule."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.engine.analytics.reference import Edge, Node
from tests.engine.graphs import make_graph

import omnigraph as og

SCHEMA = """
    node Person { name: String @key  rank: F64?  group: I32?  note: String?  picture: Blob?  email: String? @unique }
    node City { name: String @key  rank: F64?  group: I32? }
    edge Knows: Person -> Person
    edge Likes: Person -> Person
    edge LivesIn: Person -> City
    edge Road: City -> City
"""
ENDS = {
    "Knows": ("Person", "Person"),
    "Likes": ("Person", "Person"),
    "LivesIn": ("Person", "City"),
    "Road": ("City", "City"),
}


def random_network(seed: int, people: int = 12, cities: int = 5, edges: int = 30) -> tuple[list[Node], dict[str, list[Edge]]]:
    """Nodes, and edges by type."""
    rng = Random(seed)
    by_type = {
        "Person": [("Person", name) for name in rng.sample([f"p{i}" for i in range(40)] + ["é", "Z", "a b"], people)],
        "City": [("City", name) for name in rng.sample([f"p{i}" for i in range(20)], cities)],
    }
    found: dict[str, list[Edge]] = {name: [] for name in ENDS}
    for _ in range(rng.randrange(edges + 1)):
        name = rng.choice(list(ENDS))
        source, target = ENDS[name]
        found[name].append((rng.choice(by_type[source]), rng.choice(by_type[target])))
    return [*by_type["Person"], *by_type["City"]], found


def graph_of(folder: Path, nodes: list[Node], edges: dict[str, list[Edge]]) -> og.Graph:
    """The network as a graph."""
    data: dict[str, list[dict[str, object]]] = {"Person": [], "City": []}
    for type_, name in nodes:
        data[type_].append({"name": name})
    for name, pairs in edges.items():
        data[name] = [{"src": s[1], "dst": t[1]} for s, t in pairs]
    return make_graph(folder, SCHEMA, data)
