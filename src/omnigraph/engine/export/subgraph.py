"""The nodes and edges behind an answer: what the pattern of a read matched, as a graph.

    match { $p: Person { name: "Ada" }  $p worksAt $c }    return { $c.name }
      the answer    c.name                                 the subgraph    (Ada)──WorksAt──▶(Acme)
                    Acme

The pattern is run once more, for the bound nodes instead of the values. Then the edges between them are looked up, by index;
for a traversal of several steps all edges that lie on a way between a source and a target, and the nodes on it:

    $s dependsOn{1,3} $t     from the sources forwards, from the targets backwards, three steps each; an edge u ─▶ v is on a way
                             of at most three steps if  steps to u  +  1  +  steps from v  ≤  3

What a `not { }` block looked for is not there to be drawn. Grouped answers show everything that was grouped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.execution.result import Result
from omnigraph.engine.export.entities import Edge, Node, edges_at, nodes_by_id
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import UsageError
from omnigraph.hints import Action, Hint
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line

if TYPE_CHECKING:
    import networkx

SUBGRAPH_EDGES: Final = 5_000
"""Edges of one traversal that are followed; the rest is left out, and that is reported."""


@frozen(slots=False)
class Subgraph:
    """Some nodes and edges of a graph at one commit."""

    query_name: str
    commit: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    is_complete: bool
    """Whether everything that was matched is in it."""

    def __repr__(self) -> str:
        more = "" if self.is_complete else ", and more"
        return one_line(
            f"Subgraph of {self.query_name}: {counted(len(self.nodes), 'node')}, {counted(len(self.edges), 'edge')}{more}"
        )

    def to_networkx(self) -> networkx.MultiDiGraph:
        """The same for networkx (`pip install 'omnigraph[networkx]'`): nodes are `(type, id)`, properties are attributes."""
        from omnigraph.engine.export.network import network_of

        return network_of(self.nodes, self.edges)


@frozen(slots=False)
class Matched:
    """A read that gives the nodes its pattern bound."""

    name: str
    query: lg.ReadQuery
    hops: tuple[lg.Hop, ...]
    types: dict[str, tuple[str, ...]]
    """Variable to the node types it ranges over."""

    @classmethod
    def of(cls, query: lg.LogicalQuery, limit: int) -> Matched:
        """From a read: another tail on the same pattern."""
        if not isinstance(query, lg.ReadQuery):
            raise UsageError(
                f"`{query.name}` changes the graph", hint=Hint("For inserts, updates and deletes use ", Action("mutate"), ".")
            )
        pattern = tuple(_named(query.pattern))
        hops = tuple(part for part in _bound(pattern) if isinstance(part, lg.Hop))
        types: dict[str, tuple[str, ...]] = {}
        for hop in hops:
            types.setdefault(hop.source, (hop.source_type,))
            types.setdefault(hop.target, (hop.target_type,))
        labels = {variable: found[0] for variable, found in types.items()}
        for part in _bound(pattern):
            if isinstance(part, lg.Bind) and part.variable != lg.ANONYMOUS:
                types[part.variable], labels[part.variable] = part.types, part.label
        optional = {v for part in pattern if isinstance(part, lg.Maybe) for v in part.introduces}
        projections = tuple(
            lg.Projection(lg.Entity(variable, labels[variable], variable in optional), None, variable) for variable in types
        )
        if not projections:
            raise UsageError(f"`{query.name}` binds no node", hint="Only patterns with nodes can be drawn.")
        most = min(limit, query.limit) if isinstance(query.limit, int) and not query.aggregates else limit
        asked = replace(
            query,
            pattern=pattern,
            projections=projections,
            distinct=False,
            order=() if query.aggregates else tuple(_ordered(query)),
            offset=None if query.aggregates else query.offset,
            limit=most,
            having=None,
        )
        return cls(query.name, asked, hops, types)

    def subgraph(self, view: View, answer: Result) -> Subgraph:
        """The graph of the nodes that were found."""
        columns = answer.to_arrow()
        ids: dict[str, list[str | None]] = {name: columns[name].to_pylist() for name in answer.columns}
        nodes: dict[tuple[str, str], Node] = {}
        for variable, types in self.types.items():
            nodes |= nodes_by_id(view, types, {i for i in ids[variable] if i is not None})
        edges: dict[tuple[str, str], Edge] = {}
        whole = len(answer) < (self.query.limit if isinstance(self.query.limit, int) else 0)
        for hop in self.hops:
            type_ = view.catalog.edges[hop.edge]
            pairs = {(a, b) for a, b in zip(ids[hop.source], ids[hop.target], strict=True) if a is not None and b is not None}
            found, complete = _between(view, type_, hop, pairs)
            whole = whole and complete
            edges |= {(edge.type, edge.id): edge for edge in found}
        for end in {end for edge in edges.values() for end in (edge.source, edge.target)} - set(nodes):
            nodes |= nodes_by_id(view, (end[0],), {end[1]})
        order = sorted(nodes.values(), key=lambda n: (n.type, n.id))
        return Subgraph(
            self.name, answer.graph_commit_id, tuple(order), tuple(sorted(edges.values(), key=lambda e: (e.type, e.id))), whole
        )


def _named(pattern: Iterable[lg.Pattern]) -> Iterator[lg.Pattern]:
    """The pattern with a name for every anonymous end of a traversal, so that it can be asked for."""
    for number, part in enumerate(pattern):
        if isinstance(part, lg.Hop):
            source, target = (
                f"unnamed_{number}_{which}" if end == lg.ANONYMOUS else end
                for which, end in (("source", part.source), ("target", part.target))
            )
            yield replace(part, source=source, target=target)
        else:
            yield part


def _bound(pattern: Iterable[lg.Pattern]) -> Iterator[lg.Pattern]:
    """What binds something: the pattern, and its optional parts."""
    for part in pattern:
        if isinstance(part, lg.Maybe):
            yield from (p for p in _bound(part.pattern) if not isinstance(p, lg.Hop) or lg.ANONYMOUS not in (p.source, p.target))
        elif isinstance(part, lg.Bind | lg.Hop):
            yield part


def _ordered(query: lg.ReadQuery) -> Iterator[lg.SortKey]:
    """The order, with names of columns replaced by what they stand for."""
    named = {p.alias or p.column: p.expression for p in query.projections}
    for key in query.order:
        expression = key.expression
        if isinstance(expression, lg.Column):
            expression = named.get(expression.name, expression)
        if not isinstance(expression, lg.Column):
            yield replace(key, expression=expression)


def _between(view: View, type_: EntityType, hop: lg.Hop, pairs: set[tuple[str, str]]) -> tuple[list[Edge], bool]:
    """The edges on a way from a source to a target, and whether these are all."""
    sources, targets = {a for a, _ in pairs}, {b for _, b in pairs}
    forwards, complete = _steps(view, type_, hop.direction, sources, hop.maximum)
    if hop.maximum == 1:
        edges = [e for e in forwards.edges.values() if _joins(e, hop.direction, pairs)]
        return edges, complete
    backwards, rest = _steps(view, type_, hop.direction.reversed(), targets, hop.maximum)
    found = [
        edge
        for key, edge in forwards.edges.items()
        if key in backwards.edges and forwards.reached[key] + 1 + backwards.reached[key] <= hop.maximum
    ]
    return found, complete and rest


def _joins(edge: Edge, direction: lg.HopDirection, pairs: set[tuple[str, str]]) -> bool:
    out, back = (edge.source[1], edge.target[1]), (edge.target[1], edge.source[1])
    match direction:
        case lg.HopDirection.OUT:
            return out in pairs
        case lg.HopDirection.IN:
            return back in pairs
        case lg.HopDirection.BOTH:
            return out in pairs or back in pairs


@dataclass
class _Walked:
    """Edges that were followed, and after how many steps."""

    edges: dict[str, Edge] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)


def _steps(view: View, type_: EntityType, direction: lg.HopDirection, start: set[str], most: int) -> tuple[_Walked, bool]:
    walked, frontier, seen = _Walked(), set(start), set(start)
    for step in range(most):
        met: set[str] = set()
        for far, column in _ways(direction):
            for edge in edges_at(view, type_, column, frontier):
                if edge.id not in walked.edges:
                    walked.edges[edge.id], walked.reached[edge.id] = edge, step
                met.add(getattr(edge, far)[1])
                if len(walked.edges) >= SUBGRAPH_EDGES:
                    return walked, False
        frontier = met - seen
        seen |= frontier
        if not frontier:
            break
    return walked, True


def _ways(direction: lg.HopDirection) -> tuple[tuple[str, str], ...]:
    """Which end is the far one, and the column of the near one."""
    out, back = ("target", "src"), ("source", "dst")
    match direction:
        case lg.HopDirection.OUT:
            return (out,)
        case lg.HopDirection.IN:
            return (back,)
        case lg.HopDirection.BOTH:
            return (out, back)
