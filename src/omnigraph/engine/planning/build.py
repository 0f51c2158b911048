"""From the lowered operators of a read to the first, plain plan. Rules make it better; none of them changes an answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.planning import lowering as lw
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import RANK, Binding, EdgeBinding, NodeBinding, PathBinding
from omnigraph.engine.planning.groups import settled

ANONYMOUS = "_"

NAMELESS = "?"
"""First letter of the names that anonymous variables get: no query can write it."""


def build(catalog: Catalog, query: lg.ReadQuery, operators: tuple[lw.Operator, ...]) -> st.Plan:
    """The plan that does what the operators say, one step each."""
    builder = _Builder(catalog)
    steps = builder.steps(operators)
    ranking = query.order[0].expression if query.order else None
    limit, offset = query.limit, query.offset or 0
    assert not isinstance(limit, lg.Parameter)
    assert not isinstance(offset, lg.Parameter)
    if not isinstance(ranking, lg.Nearest | lg.Bm25 | lg.Fusion):
        tail = st.Tail(query.projections, query.distinct, query.order, limit, offset, having=query.having)
        return st.Plan(steps, settled(tail), builder.bindings)
    fusion = ranking if isinstance(ranking, lg.Fusion) else None
    found = (ranking,) if not isinstance(ranking, lg.Fusion) else (ranking.first, ranking.second)
    arms = tuple(st.Ranked(f"{RANK}{place}", arm) for place, arm in enumerate(found))
    late = tuple(arm.column for arm in arms)
    order, backwards = query.order[1:], query.order[0].is_backwards
    tail = st.Tail(query.projections, query.distinct, order, limit, offset, arms, late, fusion, backwards, having=query.having)
    return st.Plan(steps, settled(tail), builder.bindings)


class _Builder:
    def __init__(self, catalog: Catalog, bindings: dict[str, Binding] | None = None, names: Iterator[int] | None = None) -> None:
        self.catalog = catalog
        self.bindings: dict[str, Binding] = {} if bindings is None else bindings
        self.optional: set[str] = set()
        """Variables that may have been left empty."""
        self._names = itertools.count(1) if names is None else names

    def _block(self) -> _Builder:
        block = _Builder(self.catalog, dict(self.bindings), self._names)
        block.optional = set(self.optional)
        return block

    def steps(self, operators: Iterable[lw.Operator]) -> tuple[st.Step, ...]:
        found: list[st.Step] = []
        pending: dict[str, st.Expand] = {}
        for operator in operators:
            match operator:
                case lw.NodeScan(variable, types, matches):
                    name = self._name(variable)
                    self.bindings[name] = NodeBinding(types)
                    found.append(st.Scan(name, types, conditions(name, matches)))
                case lw.Expand() if operator.target.startswith(lw.HELPER):
                    pending[operator.target] = self._expand(operator)
                case lw.Expand():
                    found.append(self._expand(operator))
                case lw.FindPath(source, target, variable, edge, direction, minimum, maximum):
                    type_ = self.catalog.edges[edge].source
                    self.bindings[variable] = PathBinding(type_)
                    found.append(st.Paths(source, target, st.Hop(edge, direction, minimum, maximum, type_, type_), variable))
                case lw.SameEntity(left, right):
                    expand = pending.pop(left)
                    found.append(st.Close(expand.source, right, expand.hop, expand.edge_variable))
                case lw.MatchNode(variable, types, ()):
                    if variable in self.optional:
                        found.append(st.Filter(lg.IsNull(lg.Entity(variable, types[0], nullable=True), negated=True)))
                case lw.MatchNode(variable, _, matches):
                    found += [st.Filter(c) for c in conditions(variable, matches)]
                case lw.Select(condition):
                    found.append(st.Filter(condition))
                case lw.AntiJoin(_, inner):
                    block = self._block()
                    steps = block.steps(inner)
                    found.append(st.Anti(used(steps, self.bindings), steps, block.bindings))
                case lw.OuterJoin(_, inner, introduces):
                    block = self._block()
                    steps = block.steps(inner)
                    found.append(st.Optional(used(steps, self.bindings), introduces, steps, block.bindings))
                    self.bindings.update({name: block.bindings[name] for name in introduces})
                    self.optional.update(introduces)
        return tuple(found)

    def _expand(self, operator: lw.Expand) -> st.Expand:
        edge = self.catalog.edges[operator.edge]
        forward = operator.direction is not lg.HopDirection.IN
        source_type, target_type = (edge.source, edge.target) if forward else (edge.target, edge.source)
        # Between two types a second hop leads nowhere: more than one is one, and at least two is none.
        maximum = operator.maximum if edge.connects_one_type else min(operator.maximum, 1)
        hop = st.Hop(operator.edge, operator.direction, operator.minimum, maximum, source_type, target_type, operator.turned)
        target = self._name(operator.target)
        if not operator.target.startswith(lw.HELPER):
            self.bindings[target] = NodeBinding((target_type,))
        if operator.edge_variable is not None:
            self.bindings[operator.edge_variable] = EdgeBinding(operator.edge)
        return st.Expand(operator.source, target, hop, conditions(target, operator.target_matches), operator.edge_variable)

    def _name(self, variable: str) -> str:
        """Every anonymous variable gets a name of its own."""
        if variable != ANONYMOUS:
            return variable
        return f"{NAMELESS}{next(self._names)}"


def conditions(variable: str, matches: Iterable[lg.Match]) -> tuple[lg.Condition, ...]:
    """Inline matches as conditions: equality, or membership in a list."""
    found = []
    for match in matches:
        how = lg.Comparator.CONTAINS if match.type.is_list else lg.Comparator.EQ
        found.append(lg.Compare(lg.PropertyValue(variable, match.property, match.type), how, match.value))
    return tuple(found)


def used(steps: Iterable[st.Step], outer: Iterable[str]) -> tuple[str, ...]:
    """Which outer variables some steps look at, in order. A name they bind themselves is another variable."""
    mentioned: set[str] = set()
    bound: set[str] = set()
    for step in steps:
        mentioned |= mentions(step)
        bound |= binds(step)
    return tuple(name for name in outer if name in mentioned - bound)


def binds(step: st.Step) -> frozenset[str]:
    """Variables a step introduces."""
    match step:
        case st.Scan(variable) | st.Lookup(variable):
            return frozenset({variable})
        case st.Reach(target=target):
            return frozenset({target})
        case st.Expand(target=target, edge_variable=edge):
            return frozenset({target, edge} if edge else {target})
        case st.Close(edge_variable=edge):
            return frozenset({edge} if edge else ())
        case st.EdgeScan(source, target, _, edge):
            return frozenset({source, target, edge} if edge else {source, target})
        case st.Paths(variable=variable):
            return frozenset({variable})
        case st.Optional(introduces=introduces):
            return frozenset(introduces)
        case _:
            return frozenset()


def mentions(step: st.Step) -> frozenset[str]:
    """Variables a step reads or binds."""
    match step:
        case st.Scan(variable, _, conditions_) | st.Lookup(variable, _, _, conditions_):
            return frozenset({variable}) | _of(conditions_)
        case st.Reach(source, target, _, conditions_):
            return frozenset({source, target}) | _of(conditions_)
        case st.Expand(source, target, _, conditions_, edge):
            return frozenset({source, target} | ({edge} if edge else set())) | _of(conditions_)
        case st.Close(source, target, _, edge) | st.EdgeScan(source, target, _, edge):
            return frozenset({source, target} | ({edge} if edge else set()))
        case st.Paths(source, target, _, variable):
            return frozenset({source, target, variable})
        case st.Filter(condition):
            return lw.variables(condition)
        case st.Exists(source):
            return frozenset({source})
        case st.CountWalks(source, walks):
            return frozenset({source}).union(*(_of(w.conditions) for w in walks))
        case st.Anti(outer, inner):
            return frozenset(outer).union(*(mentions(s) for s in inner))
        case st.Optional(outer, introduces, inner):
            return frozenset(outer + introduces).union(*(mentions(s) for s in inner))
        case st.Merge(keep):
            return frozenset(keep)
        case st.Start():
            return frozenset()


def _of(conditions_: Iterable[lg.Condition]) -> frozenset[str]:
    return frozenset().union(*(lw.variables(c) for c in conditions_))


def tail_mentions(tail: st.Tail) -> frozenset[str]:
    """Variables the tail reads."""
    found = frozenset().union(*(lw.variables(p.expression) for p in tail.projections))
    found = found.union(*(lw.variables(arm.ranking) for arm in tail.arms))
    return found.union(*(lw.variables(k.expression) for k in tail.order))


def with_conditions(step: st.Scan | st.Lookup | st.Expand, more: Iterable[lg.Condition]) -> st.Scan | st.Lookup | st.Expand:
    """A step that keeps fewer nodes."""
    return replace(step, conditions=(*step.conditions, *more))
