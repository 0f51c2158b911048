"""The stored graph as the reference evaluator sees it: lists of things, and the walk of 4.6.2 over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog

Data = Mapping[str, Sequence[Mapping[str, Any]]]
"""Rows by type: `id`, for edges `src` and `dst`, and the properties that are not null."""


@dataclass(frozen=True, slots=True, eq=False)
class Thing:
    """A stored node or edge; equal to itself only."""

    type: str
    id: str
    values: Mapping[str, Any]


Row = Mapping[str, Thing | None]
"""Variables and what they stand for; None is what an `optional` did not find."""


class World:
    """Everything stored."""

    def __init__(self, catalog: Catalog, data: Data) -> None:
        self.catalog = catalog
        self.nodes = {name: {row["id"]: Thing(name, row["id"], row) for row in data.get(name, ())} for name in catalog.nodes}
        self.edges = {name: [Thing(name, row["id"], row) for row in data.get(name, ())] for name in catalog.edges}
        self._reached: dict[tuple[object, ...], list[str]] = {}
        self._near: dict[tuple[str, str, lg.HopDirection], list[tuple[str, Thing]]] = {}

    def neighbours(self, edge: str, node: str, direction: lg.HopDirection) -> list[tuple[str, Thing]]:
        """Ids one step away and the edge that leads there; a self-loop leads there once."""
        key = (edge, node, direction)
        if key not in self._near:
            self._near[key] = list(self._looked_up(*key))
        return self._near[key]

    def _looked_up(self, edge: str, node: str, direction: lg.HopDirection) -> Iterator[tuple[str, Thing]]:
        for thing in self.edges[edge]:
            source, target = thing.values["src"], thing.values["dst"]
            if direction is not lg.HopDirection.IN and source == node:
                yield target, thing
            if (
                direction is not lg.HopDirection.OUT
                and target == node
                and not (source == target and direction is lg.HopDirection.BOTH)
            ):
                yield source, thing

    def reached(self, hop: lg.Hop, start: str) -> list[str]:
        """4.6.2, word for word: ids the traversal emits from a node."""
        key = (hop.edge, hop.direction, hop.minimum, hop.maximum, start)
        if key not in self._reached:
            self._reached[key] = self._walk(hop, start)
        return self._reached[key]

    def shortest(self, hop: lg.Hop, start: str, end: str) -> list[str] | None:
        """Ids on the shortest path within the bounds; of several the one whose first different id is the smallest."""
        if start == end:
            loop = hop.minimum == 1 and any(near == start for near, _ in self.neighbours(hop.edge, start, hop.direction))
            return [start, start] if loop else None
        distances, frontier = {end: 0}, [end]
        while frontier:
            back = [near for node in frontier for near, _ in self.neighbours(hop.edge, node, hop.direction.reversed())]
            level = distances[frontier[0]] + 1
            frontier = [near for near in dict.fromkeys(back) if near not in distances]
            distances.update(dict.fromkeys(frontier, level))
        if not hop.minimum <= distances.get(start, 0) <= hop.maximum:
            return None
        path = [start]
        while path[-1] != end:
            steps = [near for near, _ in self.neighbours(hop.edge, path[-1], hop.direction)]
            path.append(min(near for near in steps if distances.get(near) == distances[path[-1]] - 1))
        return path

    def _walk(self, hop: lg.Hop, start: str) -> list[str]:
        same_type = self.catalog.edges[hop.edge].connects_one_type
        visited = {start} if same_type else set[str]()
        emitted: list[str] = []
        frontier = [start]
        for step in range(1, (hop.maximum if same_type else 1) + 1):
            following: list[str] = []
            for node in frontier:
                for neighbour, _ in self.neighbours(hop.edge, node, hop.direction):
                    if same_type and neighbour == node:
                        if step >= hop.minimum and neighbour not in emitted:
                            emitted.append(neighbour)
                        continue
                    if not same_type or neighbour not in visited:
                        visited.add(neighbour)
                        following.append(neighbour)
                        if step >= hop.minimum and neighbour not in emitted:
                            emitted.append(neighbour)
            frontier = following
        return emitted
