"""Some nodes and edges of a graph as numbers: what every algorithm works on.

Nodes are numbered from 0 in the order of (type, id), whatever order they are stored in. So a smaller number is a smaller name,
"the least node" means the same to everybody, and two runs, two processes or two engines break ties alike.

    Company "Acme"   Person "Ada"   Person "Bob"      WorksAt Ada→Acme, Knows Ada→Bob
         0                1              2            sources  1 1
                                                      targets  0 2

Every edge counts: parallel edges stand there as often as they exist, also those of different types.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.analytics.scope import Direction, Scope
from omnigraph.engine.arrays.column import Array, Mask
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.snapshot import adjacency
from omnigraph.engine.snapshot.adjacency import Adjacency
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import NotFound, ResourceLimit
from omnigraph.hints import Hint, Option
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import size

EDGE_BYTES = 56
"""Memory an edge takes while an algorithm runs: both ends, neighbours both ways, and what is sorted in between."""

NODE_BYTES = 96
"""Memory a node takes: its id, its numbers, and a few values."""


def needed_bytes(view: View, scope: Scope) -> int:
    """About how much memory the numbers of a part of a graph take. Known without reading anything."""
    nodes = sum(view.nodes(name).count for name in scope.nodes)
    return NODE_BYTES * nodes + EDGE_BYTES * sum(view.edges(name).count for name in scope.edges)


@frozen(slots=False)
class Group:
    """The nodes of one type: a run of numbers."""

    type: str
    start: int
    ids: pa.StringArray
    """Ascending."""

    @property
    def stop(self) -> int:
        return self.start + len(self.ids)


@frozen(slots=False)
class Network:
    """Numbered nodes, and both ends of every edge."""

    groups: tuple[Group, ...]
    sources: Array
    targets: Array

    @property
    def nodes(self) -> int:
        return self.groups[-1].stop if self.groups else 0

    @property
    def edges(self) -> int:
        return len(self.sources)

    @cached_property
    def outward(self) -> Adjacency:
        """Each neighbour once, along the edges."""
        return adjacency.build(self.sources, self.targets, self.nodes)

    @cached_property
    def inward(self) -> Adjacency:
        """Each neighbour once, against the edges."""
        return adjacency.build(self.targets, self.sources, self.nodes)

    @cached_property
    def around(self) -> Adjacency:
        """Each neighbour once, in either direction."""
        return adjacency.both_ways(self.outward, self.inward)

    def adjacency(self, direction: Direction) -> Adjacency:
        """Each neighbour once, in a direction."""
        match direction:
            case Direction.OUT:
                return self.outward
            case Direction.IN:
                return self.inward
            case Direction.BOTH:
                return self.around

    def type_names(self) -> pa.Array:
        """The type of each node."""
        names = pa.array([group.type for group in self.groups], pa.string())
        return names.take(pa.array(np.repeat(np.arange(len(self.groups)), [len(g.ids) for g in self.groups])))

    def ids(self) -> pa.Array:
        """The id of each node."""
        return pa.concat_arrays([g.ids for g in self.groups]) if self.groups else pa.array([], pa.string())

    def numbers(self, sources: dict[str, list[str]]) -> Numbers:
        """Numbers of some nodes, ascending. Whoever is not there is an error."""
        found: list[Numbers] = []
        for group in self.groups:
            wanted = sources.get(group.type, [])
            places = pc.index_in(pa.array(wanted, pa.string()), value_set=group.ids)
            missing = [id_ for id_, place in zip(wanted, places.to_pylist(), strict=True) if place is None]
            if missing:
                more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
                raise NotFound(f"there is no {group.type} {', '.join(f'`{m}`' for m in missing[:3])}{more} to start from")
            found.append(places.to_numpy().astype(np.int64) + group.start)
        return np.unique(np.concatenate(found))


def network_of(view: View, scope: Scope) -> Network:
    """The numbers of a part of a graph, if they fit into the memory an open graph may use."""
    needed, budget = needed_bytes(view, scope), view.workspace.memory.budget
    if needed > budget:
        raise ResourceLimit(
            f"this part of the graph needs about {size(needed)}, but only {size(budget)} may be used",
            hint=Hint(
                "Name fewer types, or run it on Spark.", Hint(" Or open the graph with more memory: ", Option("memory"), ".")
            ),
        )
    groups: list[Group] = []
    places: dict[str, Array] = {}
    start = 0
    for name in scope.nodes:
        nodes = view.nodes(name)
        rows = nodes.load()
        ids, order = nodes.numbering.saved_form()
        there = order[rows.of(order) >= 0]  # a numbering knows nodes of other commits, too
        place = np.full(len(ids), -1, np.int32)
        place[there] = np.arange(start, start + len(there), dtype=np.int32)
        places[name] = place
        groups.append(Group(name, start, ids.take(pa.array(there))))
        start += len(there)
    sources: list[Array] = [np.empty(0, np.int32)]
    targets: list[Array] = [np.empty(0, np.int32)]
    for name in scope.edges:
        edges = view.edges(name)
        ends = edges.ends()
        sources.append(places[edges.type.source][ends.sources])
        targets.append(places[edges.type.target][ends.targets])
    return Network(tuple(groups), np.concatenate(sources), np.concatenate(targets))


def without_loops(network: Network) -> tuple[Array, Array]:
    """Both ends of every edge that joins two nodes."""
    keep: Mask = network.sources != network.targets
    if keep.all():
        return network.sources, network.targets
    return network.sources[keep], network.targets[keep]
