"""Match clauses: bindings, traversals, filters, `not` and `optional` blocks, in source order.

A traversal settles its direction here, once. For `edge E: F -> T` and `$a e $b`:

1. `$a` is bound: an F goes forward, a T backward;
2. else `$b` is bound: a T means forward, an F backward;
3. else forward, and both variables get their types.

So an edge between two types may be written either way round, and for an edge inside one type the written order is the direction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.check.conditions import condition
from omnigraph.catalog.check.scope import PATH, Bound, Scope
from omnigraph.catalog.check.values import property_value
from omnigraph.language.diagnostics import did_you_mean, one_of
from omnigraph.language.gq import tree as t
from omnigraph.language.gq.spelling import edge_spelling


def block(scope: Scope, clauses: tuple[t.Clause, ...]) -> tuple[lg.Pattern, ...]:
    """The clauses of a block; broken ones are reported and left out."""
    checked = (_clause(scope, clause) for clause in clauses)
    return tuple(pattern for pattern in checked if pattern is not None)


def _clause(scope: Scope, clause: t.Clause) -> lg.Pattern | None:
    match clause:
        case t.Binding():
            bind = _binding(scope, clause)
            if bind is None:
                scope.spoil(clause.variable)
            return bind
        case t.Traversal():
            hop = _traversal(scope, clause)
            if hop is None:
                scope.spoil(clause.source, clause.target, clause.binding)
            return hop
        case t.Filter(tree):
            checked = condition(scope, tree)
            return None if checked is None else lg.Keep(checked)
        case t.Negation():
            return _negation(scope, clause)
        case t.Optional():
            return _optional(scope, clause)


# ── bindings ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _binding(scope: Scope, clause: t.Binding) -> lg.Bind | None:
    bound = _bound_type(scope, clause)
    if bound is None:
        return None
    name = clause.variable.name
    present = scope.bound.get(name)
    if present is not None and present.is_edge:
        scope.refuse("T23", f"`${name}` is an edge variable and cannot be bound as a node", clause.variable.span)
        return None
    if present is not None and present.label != bound.label:
        message = f"variable `${name}` is already bound to type `{present.label}`"
        scope.refuse("rebound-variable", message, clause.variable.span, "use another name")
        return None
    matches = tuple(m for m in (_match(scope, bound, a) for a in clause.matches) if m is not None)
    if name != t.ANONYMOUS and present is None:
        scope.bound[name] = bound
    return lg.Bind(name, bound.types, bound.label, matches)


def _bound_type(scope: Scope, clause: t.Binding) -> Bound | None:
    catalog, name = scope.catalog, clause.type.text
    node = catalog.nodes.get(name)
    if node is not None:
        return Bound(False, name, (name,), node.properties)
    interface = catalog.interfaces.get(name)
    if interface is not None:
        return Bound(False, name, interface.implementers, interface.properties)
    if name in catalog.edges:
        message, help = f"`{name}` is an edge type, not a node type", "bind an edge inside a traversal: `$a $w:edge $b`"
    else:
        known = [*catalog.nodes, *catalog.interfaces]
        message, help = f"unknown node type `{name}`", did_you_mean(name, known) or f"there are {one_of(known)}"
    scope.refuse("T1", message, clause.type.span, help)
    return None


def _match(scope: Scope, bound: Bound, assignment: t.Assignment) -> lg.Match | None:
    prop = scope.property_of(bound, assignment.property.text)
    if prop is None:
        scope.unknown_property("T2", bound.label, assignment.property, bound.properties)
        return None
    type_ = prop.type
    if type_.is_blob:
        scope.refuse("T3", f"`{prop.name}` is a Blob and cannot be matched", assignment.span)
        return None
    if type_.is_list and isinstance(assignment.value, t.List):
        message = f"`{prop.name}` is a list: an inline match tests membership, list equality is not supported"
        scope.refuse("T3", message, assignment.value.span, "give a single element")
        return None
    expected = type_.element() if type_.is_list else type_
    assert not isinstance(assignment.value, t.Null)  # only mutations have it
    value = property_value(scope, assignment.value, prop.name, expected, mismatch="T3", undeclared=None)
    return None if value is None else lg.Match(prop.name, type_, value)


# ── traversals ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _traversal(scope: Scope, clause: t.Traversal) -> lg.Hop | None:
    edge = scope.catalog.edge(clause.edge.text)
    if edge is None:
        scope.refuse("T4", f"unknown edge `{clause.edge}`", clause.edge.span, _likely_edges(scope, clause))
        return None
    hops = _hops(scope, clause)
    if clause.undirected and not edge.connects_one_type:
        message = f"`<{clause.edge}>` needs an edge inside one type; `{edge.name}` goes from `{edge.source}` to `{edge.target}`"
        scope.refuse("T22", message, clause.edge.span, "leave out the angle brackets")
        return None
    if scope.is_spoilt(clause.source.name) or scope.is_spoilt(clause.target.name) or not _edge_binding_fits(scope, clause):
        return None
    ends = _endpoints(scope, clause, edge)
    if ends is None or hops is None:
        return None
    direction, source_type, target_type = ends
    scope.bind_node(clause.source.name, source_type)
    scope.bind_node(clause.target.name, target_type)
    hop = lg.Hop(clause.source.name, clause.target.name, edge.name, direction, source_type, target_type, *hops)
    if clause.shortest and not _path_fits(scope, clause, edge):
        return None
    if clause.binding is None or clause.binding.name == t.ANONYMOUS:
        return hop
    name = clause.binding.name
    if clause.shortest:
        scope.bound[name] = Bound(True, "path", (), PATH, is_path=True)
        return replace(hop, path_variable=name)
    scope.bound[name] = Bound(True, edge.name, (edge.name,), edge.properties)
    return replace(hop, edge_variable=name)


def _path_fits(scope: Scope, clause: t.Traversal, edge: EntityType) -> bool:
    if not edge.connects_one_type:
        message = f"`shortest` needs an edge inside one type; `{edge.name}` goes from `{edge.source}` to `{edge.target}`"
        scope.refuse("T33", message, clause.edge.span)
    elif clause.hops is None:
        scope.refuse("T33", "`shortest` needs bounds", clause.span, f"say how far to look: {clause.edge}{{1,6}}")
    elif t.ANONYMOUS in (clause.source.name, clause.target.name):
        scope.refuse("T33", "a shortest path goes from one named node to another", clause.span, "name both ends")
    else:
        return True
    return False


def _likely_edges(scope: Scope, clause: t.Traversal) -> str:
    """Advice on an unknown edge: the nearest of those that touch what is bound at its ends, or all of those, or any edge."""
    ends = [bound for end in (clause.source, clause.target) if (bound := scope.bound.get(end.name)) and not bound.is_edge]
    touching = [{edge.name for node in end.types for edge in scope.catalog.incident_edges(node)} for end in ends]
    fitting = (set.intersection(*touching) or set.union(*touching)) if touching else set()
    if fitting:
        near = [edge_spelling(name) for name in fitting]
        labels = " and ".join(dict.fromkeys(f"`{end.label}`" for end in ends))
        return did_you_mean(clause.edge.text, near) or f"edges of {labels}: {one_of(near)}"
    everything = scope.catalog.edge_spellings
    return did_you_mean(clause.edge.text, everything) or (f"there are {one_of(everything)}" if everything else "")


def _hops(scope: Scope, clause: t.Traversal) -> tuple[int, int] | None:
    hops = clause.hops
    if hops is None:
        return 1, 1
    if hops.minimum == 0:
        scope.refuse("T15", "hop bounds start at 1", hops.span)
    elif hops.maximum is None:
        scope.refuse("T15", "unbounded traversal is disabled", hops.span, f"give a maximum: {{{hops.minimum},5}}")
    elif hops.maximum < hops.minimum:
        scope.refuse("T15", f"hop bounds {hops.minimum} to {hops.maximum} are the wrong way round", hops.span)
    else:
        return hops.minimum, hops.maximum
    return None


def _edge_binding_fits(scope: Scope, clause: t.Traversal) -> bool:
    for end in (clause.source, clause.target):
        bound = scope.bound.get(end.name)
        if bound is not None and bound.is_edge:
            scope.refuse("T23", f"`${end.name}` is an edge variable and cannot be an endpoint", end.span)
            return False
    binding = clause.binding
    if binding is None:
        return True
    if clause.hops is not None and not clause.shortest:
        scope.refuse("T23", "an edge variable binds a single hop: it cannot be combined with hop bounds", binding.span)
        return False
    if binding.name == t.ANONYMOUS:
        return True
    if binding.name in (clause.source.name, clause.target.name):
        scope.refuse("T23", f"edge variable `${binding.name}` is also an endpoint of its traversal", binding.span)
        return False
    if binding.name in scope.bound:
        scope.refuse("T23", f"variable `${binding.name}` is already bound", binding.span, "use another name")
        return False
    return True


def _endpoints(scope: Scope, clause: t.Traversal, edge: EntityType) -> tuple[lg.HopDirection, str, str] | None:
    """Direction, source type and target type of a traversal, or None after a report."""
    source, target = scope.bound.get(clause.source.name), scope.bound.get(clause.target.name)
    forward = (lg.HopDirection.BOTH if clause.undirected else lg.HopDirection.OUT, edge.source, edge.target)
    backward = (lg.HopDirection.IN, edge.target, edge.source)
    candidates = [forward] if edge.connects_one_type else [forward, backward]
    if source is None and target is None:
        if clause.source.name == clause.target.name != t.ANONYMOUS and not edge.connects_one_type:
            message = f"`${clause.source.name}` cannot be both ends of `{edge.name}` ({edge.source} -> {edge.target})"
            scope.refuse("T5", message, clause.span)
            return None
        return forward
    if source is not None:
        candidates = [c for c in candidates if c[1] in source.types]
        if not candidates:
            _refuse_endpoint(scope, clause.source, source, edge)
            return None
    if target is not None:
        candidates = [c for c in candidates if c[2] in target.types]
        if not candidates:
            _refuse_endpoint(scope, clause.target, target, edge)
            return None
    if len(candidates) > 1:
        end = clause.source if source is not None else clause.target
        message = f"`${end.name}` may be either end of `{edge.name}`: its direction is not settled"
        scope.refuse("T5", message, end.span, f"bind it to `{edge.source}` or `{edge.target}`")
        return None
    return candidates[0]


def _refuse_endpoint(scope: Scope, variable: t.Variable, bound: Bound, edge: EntityType) -> None:
    message = f"`${variable.name}` is a `{bound.label}`, but `{edge.name}` goes from `{edge.source}` to `{edge.target}`"
    scope.refuse("T5", message, variable.span)


# ── blocks ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _negation(scope: Scope, clause: t.Negation) -> lg.Without | None:
    outer = _outer_mentions(scope, clause.block)
    if not outer:
        message = "a `not` block must mention a variable bound outside it"
        scope.refuse("T9", message, clause.span, "otherwise it keeps every row or none")
    pattern = block(scope.inner(), clause.block.clauses)
    return lg.Without(pattern, outer)


def _optional(scope: Scope, clause: t.Optional) -> lg.Maybe | None:
    outer = _outer_mentions(scope, clause.block)
    if not outer:
        scope.refuse("T25", "an `optional` block must mention a variable bound outside it", clause.span)
    inner = scope.inner()
    pattern = block(inner, clause.block.clauses)
    return lg.Maybe(pattern, outer, scope.adopt(inner))


def _outer_mentions(scope: Scope, inner: t.Block) -> tuple[str, ...]:
    """Outer variables the direct clauses of a block mention, in order."""
    names = (name for clause in inner.clauses for name in _mentioned(clause))
    return tuple(dict.fromkeys(name for name in names if name in scope.bound or name in scope.spoilt))


def _mentioned(clause: t.Clause) -> Iterator[str]:
    match clause:
        case t.Binding(variable):
            yield variable.name
        case t.Traversal(source, _, target):
            yield source.name
            yield target.name
        case t.Filter(tree):
            yield from _in_condition(tree)
        case _:
            return


def _in_condition(tree: t.Condition) -> Iterator[str]:
    match tree:
        case t.Comparison(left, _, right):
            yield from _in_expression(left)
            yield from _in_expression(right)
        case t.IsNull(operand):
            yield from _in_expression(operand)
        case t.Among(operand, choices):
            yield from _in_expression(operand)
            yield from _in_expression(choices)
        case t.TextTest(call):
            yield from _in_expression(call)
        case t.And(parts) | t.Or(parts):
            for part in parts:
                yield from _in_condition(part)
        case t.Not(part):
            yield from _in_condition(part)


def _in_expression(tree: t.Expression) -> Iterator[str]:
    match tree:
        case t.Variable(name):
            yield name
        case t.Access(variable):
            yield variable.name
        case t.Call(_, arguments):
            for argument in arguments:
                yield from _in_expression(argument)
        case t.Arithmetic(left, _, right):
            yield from _in_expression(left)
            yield from _in_expression(right)
        case t.Aggregate(_, argument) | t.Negative(argument):
            yield from _in_expression(argument)
        case _:
            return
