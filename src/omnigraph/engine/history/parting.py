"""Which type and property of one schema is which of another, where two branches changed their schemas apart.

Identities are numbers from a counter that travels with the schema (`omnigraph.catalog.identity`). Two branches count on from the
number at which they parted, each for itself, so above that number equal numbers mean nothing:

    parted with   P 2, P.k 4, next 7
    main          added P.height: 7                      x          added P.shoe: 7, then P.height: 8

What was there when they parted is matched by its identity, whatever it is called since: P is P, and P.k is P.k. What was added
after that is matched by name: `P.height` is one property on both sides, `P.shoe` is on one side only. The same holds of types. A
property that both added with different types of value is two properties.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from omnigraph.catalog.catalog import Catalog, Property
from omnigraph.engine.history.deltas import Type, types_of


@dataclass(frozen=True, slots=True)
class Pair:
    """One type on both sides, or on one of them."""

    before: Type | None
    """With the identities that its properties have after."""
    before_key: str
    after: Type | None
    after_key: str

    @property
    def sides(self) -> tuple[Type, ...]:
        return tuple(type_ for type_ in (self.before, self.after) if type_ is not None)


def paired(before: Catalog, after: Catalog, parted: int) -> Iterator[Pair]:
    """The types of two schemas, matched. `parted` is the first identity that was not given when they parted."""
    old, new = types_of(before), types_of(after)
    added = {(_kind(type_), type_.name): key for key, type_ in new.items() if type_.type_id >= parted}
    matched = set()
    for key, type_ in old.items():
        match = key if type_.type_id < parted else added.get((_kind(type_), type_.name), "")
        found = new.get(match)
        if found is None:
            yield Pair(type_, key, None, "")
        else:
            matched.add(match)
            yield Pair(_translated(type_, found.properties, parted), key, found, match)
    for key, type_ in new.items():
        if key not in matched:
            yield Pair(None, "", type_, key)


def _translated(type_: Type, into: Mapping[str, Property], parted: int) -> Type:
    """A type whose properties have the identities of those they are; what has no match has a number that nothing else has."""
    properties = {}
    for name, prop in type_.properties.items():
        if prop.property_id >= parted:
            match = into.get(name)
            if match is None or match.property_id < parted or match.type.form != prop.type.form:
                properties[name] = replace(prop, property_id=-prop.property_id)
                continue
            prop = replace(prop, property_id=match.property_id)
        properties[name] = prop
    return replace(type_, properties=properties)


def _kind(type_: Type) -> str:
    return type_.kind
