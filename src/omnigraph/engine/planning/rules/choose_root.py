"""Which variable of a connected pattern is scanned: the one that leaves the fewest nodes, not the one written first.

    $p: Person   $c: Company { name: "Acme" }   $p worksAt $c       start at Acme, not at every person

It works on the pattern, before lowering: the binding of the best variable moves to the front of its component. Walking an edge
backwards gives the same pairs. Ranked queries keep their order: their meaning depends on the scan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.planning import lowering as lw

_EQUALITY = 0.01
_RANGE = 0.3
_TEXT = 0.05


def apply(query: lg.ReadQuery, catalog: Catalog, counts: Mapping[str, int]) -> lg.ReadQuery:
    """The query with better starting points."""
    if query.order and isinstance(query.order[0].expression, lg.Nearest | lg.Bm25 | lg.Fusion):
        return query
    if any(isinstance(part, lg.Maybe) for part in query.pattern):
        return query
    if _names_a_block_variable(query.pattern):
        return query
    binds = [part for part in query.pattern if isinstance(part, lg.Bind)]
    if len(binds) < 2 or not any(isinstance(part, lg.Hop) for part in query.pattern):
        return query
    conditions = [part.condition for part in query.pattern if isinstance(part, lg.Keep)]
    sizes = {bind.variable: _size(bind, conditions, catalog, counts) for bind in reversed(binds)}
    best = sorted(binds, key=lambda b: sizes[b.variable])  # stable: equal ones keep their order
    rest = [part for part in query.pattern if not isinstance(part, lg.Bind)]
    return replace(query, pattern=(*best, *rest))


def _names_a_block_variable(pattern: tuple[lg.Pattern, ...]) -> bool:
    """Whether a binding has the name of a variable inside a block before it: there it is another one, and would no longer be if
    the binding came first."""
    inside: set[str] = set()
    for part in pattern:
        if isinstance(part, lg.Without):
            inside |= _names(part.pattern)
        elif isinstance(part, lg.Bind) and part.variable in inside:
            return True
    return False


def _names(pattern: tuple[lg.Pattern, ...]) -> set[str]:
    found: set[str] = set()
    for part in pattern:
        match part:
            case lg.Bind(variable):
                found.add(variable)
            case lg.Hop(source, target):
                found |= {source, target}
            case lg.Without(inner) | lg.Maybe(inner):
                found |= _names(inner)
            case lg.Keep():
                pass
    return found


def _size(bind: lg.Bind, conditions: list[lg.Condition], catalog: Catalog, counts: Mapping[str, int]) -> float:
    """About how many nodes a binding leaves."""
    size = float(sum(counts.get(type_, 0) for type_ in bind.types))
    key = catalog.nodes[bind.types[0]].key_names if len(bind.types) == 1 else frozenset()
    fixed = {match.property for match in bind.matches}
    for condition in conditions:
        if lw.variables(condition) == {bind.variable}:
            if isinstance(condition, lg.Compare) and condition.comparator is lg.Comparator.EQ:
                sides = (condition.left, condition.right)
                fixed |= {side.property for side in sides if isinstance(side, lg.PropertyValue)}
            else:
                size *= _TEXT if isinstance(condition, lg.TextMatch) else _RANGE
    if key and key <= fixed:
        return min(size, 1.0)
    return size * _EQUALITY ** min(len(fixed), 3) if fixed else size
