"""Where the specification lets a plan show through (9.2): which variables of a block are scanned.

An answer depends on it: `nearest` fetches as many entities as the query returns, before anything but their own conditions is looked at,
if its variable is scanned (5.1, 5.2).

The first binding of each connected part of the pattern is scanned; hops are followed from what is known, in the order of the text; where
nothing is known the source of the first hop is scanned. What leans on an `optional` block comes after everything that does not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, is_dataclass

from omnigraph.catalog import logical as lg


@dataclass
class Starts:
    """What is settled so far."""

    known: set[str]
    scanned: set[str] = field(default_factory=set)


def starts(pattern: Sequence[lg.Pattern], known: Collection[str]) -> Starts:
    """Scans of a block that begins with some variables known."""
    found = Starts(set(known))
    optional: set[str] = set()
    plain: list[int] = []
    later: list[int] = []
    for place, part in enumerate(pattern):
        match part:
            case lg.Maybe(introduces=names):
                optional.update(names)
                later.append(place)
            case lg.Hop() if {part.source, part.target} & optional:
                optional.update({part.source, part.target} - {lg.ANONYMOUS})
                later.append(place)
            case lg.Bind(variable) if variable in optional:
                later.append(place)
            case _:
                plain.append(place)
    _settle(pattern, plain, found)
    for place in later:
        part = pattern[place]
        if isinstance(part, lg.Maybe):
            found.known.update(part.introduces)
        else:
            _settle(pattern, [place], found)
    return found


def _settle(pattern: Sequence[lg.Pattern], places: list[int], found: Starts) -> None:
    hops = {place: hop for place in places if isinstance(hop := pattern[place], lg.Hop)}
    for place in places:
        bind = pattern[place]
        if (
            isinstance(bind, lg.Bind)
            and bind.variable != lg.ANONYMOUS
            and not _joined(bind.variable, hops.values()) & found.known
        ):
            found.scanned.add(bind.variable)
            found.known.add(bind.variable)
    while hops:
        followed = [place for place in list(hops) if _follow(place, hops, found)]
        if not followed:
            place, hop = next(iter(hops.items()))
            if hop.source == lg.ANONYMOUS:
                found.known.add(hop.target)
                del hops[place]
            else:
                found.scanned.add(hop.source)
                found.known.add(hop.source)


def _follow(place: int, hops: dict[int, lg.Hop], found: Starts) -> bool:
    hop = hops[place]
    known = found.known - {lg.ANONYMOUS}
    if hop.source not in known and hop.target not in known:
        return False
    found.known.update({hop.source, hop.target} - {lg.ANONYMOUS})
    del hops[place]
    return True


def _joined(variable: str, hops: Collection[lg.Hop]) -> set[str]:
    """Every variable that hops connect with one, and itself."""
    joined = {variable}
    while True:
        ends = [{hop.source, hop.target} for hop in hops if lg.ANONYMOUS not in (hop.source, hop.target)]
        more = joined.union(*(pair for pair in ends if pair & joined))
        if more == joined:
            return joined
        joined = more


def variables(value: object) -> set[str]:
    """Every variable something mentions."""
    if isinstance(value, tuple):
        return set[str]().union(*map(variables, value))
    if isinstance(value, lg.PropertyValue | lg.Entity):
        return {value.variable}
    if is_dataclass(value) and not isinstance(value, type):
        return variables(tuple(getattr(value, f.name) for f in fields(value)))
    return set()
