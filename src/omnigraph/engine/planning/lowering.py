"""Lowering: from the patterns of a read to a pipeline of operators.

1. Variables joined by hops form components. In each component the first bound variable is scanned; the other bindings wait, and
   their inline matches filter the expansion that reaches them.
2. Hops are emitted as soon as one end is known: from the source, or turned round from the target. With both ends known the hop
   expands into a helper variable that must be the same entity.
3. Filters follow in source order, then `optional` blocks, then `not` blocks.

Worked example:

    $p: Person   $c: Company { name: "Acme" }   $p worksAt $c   not { $p knows $_ }

    NodeScan p: Person
    Expand   p -WorksAt-> c: Company { name = "Acme" }
    AntiJoin p [ Expand p -Knows-> _ ]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.model.frozen import frozen

HELPER = "__temp_"
"""Prefix of a helper variable that closes a cycle."""


@frozen
class NodeScan:
    """Every entity of the types whose matches hold; crossed with what exists already."""

    variable: str
    types: tuple[str, ...]
    matches: tuple[lg.Match, ...] = ()


@frozen
class Expand:
    """Follow an edge type from a bound variable."""

    source: str
    target: str
    edge: str
    direction: lg.HopDirection
    target_type: str
    minimum: int
    maximum: int
    target_matches: tuple[lg.Match, ...] = ()
    edge_variable: str | None = None
    turned: bool = False
    """From the target of the hop to its source."""


@frozen
class FindPath:
    """The shortest path from one node of a row to another; rows for which there is none within the bounds go."""

    source: str
    target: str
    variable: str
    edge: str
    direction: lg.HopDirection
    minimum: int
    maximum: int


@frozen
class SameEntity:
    """Keep rows where two variables are the same node."""

    left: str
    right: str


@frozen
class MatchNode:
    """Keep rows where a variable that is bound already was found and fulfils inline matches."""

    variable: str
    types: tuple[str, ...]
    matches: tuple[lg.Match, ...]


@frozen
class Select:
    """Keep rows for which a condition is definitely true."""

    condition: lg.Condition


@frozen
class AntiJoin:
    """Drop rows for which the inner pipeline finds something."""

    outer: str
    inner: tuple[Operator, ...]


@frozen
class OuterJoin:
    """Extend rows by what the inner pipeline finds; rows without a match get nulls."""

    outer: str
    inner: tuple[Operator, ...]
    introduces: tuple[str, ...]


Operator = NodeScan | Expand | FindPath | SameEntity | MatchNode | Select | AntiJoin | OuterJoin


def lower(query: lg.ReadQuery) -> tuple[Operator, ...]:
    """The operators of a read, before any optimisation."""
    return _lower(query.pattern, set())


def _lower(pattern: tuple[lg.Pattern, ...], known: set[str]) -> tuple[Operator, ...]:
    operators: list[Operator] = []
    visible = _visible(pattern, known)
    firm, after_optional = _split(pattern)
    _join(firm, known, operators)
    for part in after_optional:
        if isinstance(part, lg.Maybe):
            operators.append(OuterJoin(part.outer[0], _lower(part.pattern, set(visible[id(part)])), part.introduces))
            known.update(part.introduces)
        else:
            _join([part], known, operators)
    for part in pattern:
        if isinstance(part, lg.Without):
            operators.append(AntiJoin(part.outer[0], _lower(part.pattern, set(visible[id(part)]))))
    return tuple(operators)


def _visible(pattern: tuple[lg.Pattern, ...], known: set[str]) -> dict[int, frozenset[str]]:
    """What each block of a pattern sees: the variables of the parts before it. A name that is free where the block stands is a
    variable of its own inside, even if a later part binds the same name outside."""
    found: dict[int, frozenset[str]] = {}
    seen = set(known)
    for part in pattern:
        match part:
            case lg.Without() | lg.Maybe():
                found[id(part)] = frozenset(seen)
                seen.update(part.introduces if isinstance(part, lg.Maybe) else ())
            case lg.Bind(variable):
                seen.add(variable)
            case lg.Hop(source, target, edge_variable=edge, path_variable=path):
                seen.update({source, target, edge or source, path or source})
            case lg.Keep():
                pass
    return {key: names - {lg.ANONYMOUS} for key, names in found.items()}


def _split(pattern: tuple[lg.Pattern, ...]) -> tuple[list[lg.Pattern], list[lg.Pattern]]:
    """Parts that stand on their own, and the `optional` blocks together with whatever leans on their variables."""
    firm: list[lg.Pattern] = []
    leaning: list[lg.Pattern] = []
    optional: set[str] = set()
    for part in pattern:
        match part:
            case lg.Maybe():
                leaning.append(part)
                optional.update(part.introduces)
            case lg.Hop() if {part.source, part.target} & optional:
                leaning.append(part)
                own = {part.edge_variable or part.source, part.path_variable or part.source}
                optional.update({part.source, part.target, *own} - {lg.ANONYMOUS})
            case lg.Keep(condition) if variables(condition) & optional:
                leaning.append(part)
            case lg.Bind(variable) if variable in optional:
                leaning.append(part)
            case lg.Without():
                pass
            case _:
                firm.append(part)
    return firm, leaning


def variables(value: lg.Condition | lg.Expression | None) -> frozenset[str]:
    """Variables a condition or expression mentions."""
    match value:
        case lg.PropertyValue(variable) | lg.Entity(variable):
            return frozenset({variable})
        case lg.Compare(left, _, right) | lg.Fusion(left, right):
            return variables(left) | variables(right)
        case lg.Among(left, right) | lg.Nearest(left, right) | lg.Bm25(left, right) | lg.TextMatch(_, left, right):
            return variables(left) | variables(right)
        case lg.AllOf(parts) | lg.AnyOf(parts):
            return frozenset().union(*(variables(part) for part in parts))
        case lg.IsNull(operand) | lg.Not(operand):
            return variables(operand)
        case lg.Aggregated(_, argument):
            return variables(argument)
        case lg.Computed(_, arguments):
            return frozenset().union(*(variables(argument) for argument in arguments))
        case lg.Parameter() | lg.Constant() | lg.Now() | lg.Column() | lg.Found() | None:
            return frozenset()


def _join(parts: list[lg.Pattern], known: set[str], operators: list[Operator]) -> None:
    """Scans, expansions and filters of plain parts."""
    binds = _merged(part for part in parts if isinstance(part, lg.Bind))
    hops = [part for part in parts if isinstance(part, lg.Hop)]
    waiting = _scan_roots(binds, hops, known, operators)
    _expand(hops, waiting, known, operators)
    operators.extend(_path(hop) for hop in hops if hop.path_variable is not None)
    operators.extend(Select(part.condition) for part in parts if isinstance(part, lg.Keep))


def _path(hop: lg.Hop) -> FindPath:
    assert hop.path_variable is not None
    return FindPath(hop.source, hop.target, hop.path_variable, hop.edge, hop.direction, hop.minimum, hop.maximum)


def _merged(binds: Iterable[lg.Bind]) -> list[lg.Bind]:
    """Bindings in order; a second binding of a variable adds its matches to the first."""
    merged: dict[str, lg.Bind] = {}
    anonymous: list[lg.Bind] = []
    for bind in binds:
        if bind.variable == lg.ANONYMOUS:
            anonymous.append(bind)
        elif bind.variable in merged:
            first = merged[bind.variable]
            merged[bind.variable] = replace(first, matches=first.matches + bind.matches)
        else:
            merged[bind.variable] = bind
    return [*merged.values(), *anonymous]


def _scan_roots(binds: list[lg.Bind], hops: list[lg.Hop], known: set[str], operators: list[Operator]) -> dict[str, lg.Bind]:
    """Scan the first bound variable of each component; gives the bindings that wait for an expansion."""
    component = _components(hops)
    reached = {component.get(name, name) for name in known}
    waiting: dict[str, lg.Bind] = {}
    for bind in binds:
        root = component.get(bind.variable, bind.variable)
        if bind.variable in known:
            operators.append(MatchNode(bind.variable, bind.types, bind.matches))
        elif bind.variable != lg.ANONYMOUS and root in reached:
            waiting[bind.variable] = bind
        else:
            operators.append(NodeScan(bind.variable, bind.types, bind.matches))
            if bind.variable != lg.ANONYMOUS:
                known.add(bind.variable)
                reached.add(root)
    return waiting


def _components(hops: list[lg.Hop]) -> dict[str, str]:
    """A representative per variable; variables joined by hops share one. The anonymous variable joins nothing."""
    parent: dict[str, str] = {}

    def find(name: str) -> str:
        root = name
        while parent.setdefault(root, root) != root:
            root = parent[root]
        parent[name] = root
        return root

    for hop in hops:
        if lg.ANONYMOUS not in (hop.source, hop.target):
            parent[find(hop.source)] = find(hop.target)
    return {name: find(name) for name in list(parent)}


def _expand(hops: list[lg.Hop], waiting: dict[str, lg.Bind], known: set[str], operators: list[Operator]) -> None:
    remaining = list(hops)
    while remaining:
        later = [hop for hop in remaining if not _emit(hop, waiting, known, operators)]
        if len(later) == len(remaining):
            # Nothing here is bound: scan the source of the first traversal, so that it means what it says.
            hop = later[0]
            start = hop.source if hop.source != lg.ANONYMOUS else HELPER + "source"
            types = (hop.source_type,)
            operators.append(NodeScan(start, types, _taken(waiting, start)))
            known.add(start)
            if start != hop.source:
                later[0] = replace(hop, source=start)
        remaining = later


def _emit(hop: lg.Hop, waiting: dict[str, lg.Bind], known: set[str], operators: list[Operator]) -> bool:
    """Emit a hop if one of its ends is known."""
    if hop.source in known and hop.target in known:
        helper = HELPER + hop.target
        operators.append(_expansion(hop, hop.source, helper, hop.direction, hop.target_type))
        operators.append(SameEntity(helper, hop.target))
    elif hop.source in known:
        matches = _taken(waiting, hop.target)
        operators.append(_expansion(hop, hop.source, hop.target, hop.direction, hop.target_type, matches))
        _know(known, hop.target)
    elif hop.target in known:
        matches = _taken(waiting, hop.source)
        back = _expansion(hop, hop.target, hop.source, hop.direction.reversed(), hop.source_type, matches)
        operators.append(replace(back, turned=True))
        _know(known, hop.source)
    else:
        return False
    return True


def _expansion(
    hop: lg.Hop, source: str, target: str, direction: lg.HopDirection, target_type: str, matches: tuple[lg.Match, ...] = ()
) -> Expand:
    return Expand(source, target, hop.edge, direction, target_type, hop.minimum, hop.maximum, matches, hop.edge_variable)


def _taken(waiting: dict[str, lg.Bind], variable: str) -> tuple[lg.Match, ...]:
    bind = waiting.pop(variable, None)
    return () if bind is None else bind.matches


def _know(known: set[str], variable: str) -> None:
    if variable != lg.ANONYMOUS:
        known.add(variable)
