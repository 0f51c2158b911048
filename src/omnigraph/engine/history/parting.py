"""Matching the types and properties of two branches whose schemas have diverged.

Identities are numbers from a counter that travels with the schema (`omnigraph.catalog.identity`). Two branches count on from the
number at which they parted, each for itself, so above that number equal numbers mean nothing:

    parted with   P 2, P.k 4, next 7
    main          added P.height: 7                      x          added P.shoe: 7, then P.height: 8

What was there when they parted is matched by its identity, whatever it is called since: P is P, and P.k is P.k. What was added
after that is matched by name: `P.height` is one property on both sides, `P.shoe` is on one side only. The same holds of types. A
property that both added with different types of value is two properties; so are two types of one name whose keys or ends are not
the same, for their entities are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from omnigraph.catalog.catalog import Catalog, Property
from omnigraph.engine.history.deltas import Type, types_of
from omnigraph.engine.snapshot.view import View, table_key
from omnigraph.model.frozen import frozen


@frozen
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
    added = {(type_.kind, type_.name): key for key, type_ in new.items() if type_.type_id >= parted}
    matched: dict[str, str] = {}
    for key, type_ in sorted(old.items(), key=lambda item: item[1].is_edge):
        match = key if type_.type_id < parted else added.get((type_.kind, type_.name), "")
        found = new.get(match)
        translated = None if found is None else _translated(type_, found.properties, parted)
        if (
            found is None
            or translated is None
            or (type_.type_id >= parted and not _alike(translated, found, before, after, matched))
        ):
            yield Pair(type_, key, None, "")
        else:
            matched[key] = match
            yield Pair(translated, key, found, match)
    for key, type_ in new.items():
        if key not in matched.values():
            yield Pair(None, "", type_, key)


def in_terms_of(view: View, catalog: Catalog, parted: int) -> View:
    """A state whose types and properties have the identities that they have in another schema.

    What has no match there is left out. `parted` is the first identity that was not given when the two parted.
    """
    nodes, edges, tables = dict[str, Type](), dict[str, Type](), {}
    for pair in paired(view.catalog, catalog, parted):
        if pair.before is None or pair.after is None:
            continue
        tables[pair.after_key] = view.snapshot.tables[pair.before_key]
        named = nodes if pair.before.is_node else edges
        named[pair.before.name] = replace(pair.before, type_id=pair.after.type_id, incarnation=pair.after.incarnation)
    terms = replace(view.catalog, nodes=nodes, edges=edges)
    return View(view.workspace, replace(view.snapshot, tables=tables), terms)


def _alike(old: Type, new: Type, before: Catalog, after: Catalog, matched: Mapping[str, str]) -> bool:
    """Whether an entity of two types of one name may be one entity: the same key, and of edges the same types at both ends."""
    if _keys(old) != _keys(new):
        return False
    if old.is_node:
        return True
    ends = ((old.source, new.source), (old.target, new.target))
    return all(matched.get(table_key(before.nodes[first])) == table_key(after.nodes[second]) for first, second in ends)


def _keys(type_: Type) -> frozenset[int | str]:
    """What a key is made of: ends by their names, properties by the identities that the translated ones have."""
    return frozenset(type_.properties[p.name].property_id if p.name in type_.properties else p.name for p in type_.key)


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
