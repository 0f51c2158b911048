"""Identity: which thing is which, from one schema to the next.

A graph outlives the names in its schema. Tables, history, diffs and entity ids hang on numbers that are handed out once, from one
counter that starts at 1 and never goes back, not even when what held a number is dropped:

    types              every interface, node and edge
    properties         every property of every one of them, injected copies included
    incarnations       every table: the storage behind a node or edge

`resolve` takes what the text says now (a shape) and what the graph has accepted so far (an IR, or None for a new graph). It finds
out which declaration is which accepted thing (`omnigraph.catalog.matching`) and numbers what is new, in one order that does not
depend on the text: types by kind (interface, node, edge) and name; then properties by the id of their type and name; then
incarnations by the id of their type.

A new graph with

    interface Z { p: String }    node A {}    node B implements Z {}    edge E: A -> B

gives   Z 1, A 2, B 3, E 4      then  Z.p 5, B.p 6      then  tables A 7, B 8, E 9      next 10.

If the next text says `node C @rename_from("B") implements Z { q: I32? }`, then C is type 3 with table 8 and property p 6: it *is*
B. Only q is new, and gets 10. If instead B goes in one change and comes back in another, it is a new type with a new table, and
what history says about the old B stays true of the old B.

The function is pure. Nothing here knows a clock or a random source; the identity domain comes from the caller.
"""

from __future__ import annotations

from omnigraph.catalog.binding import Identities, bind
from omnigraph.catalog.ir import SchemaIR, TableIR
from omnigraph.catalog.ir_rules import is_domain
from omnigraph.catalog.matching import (
    Matching,
    Notice,
    NoticeCode,
    PropertyKey,
    TypeKey,
    declared_types,
    match_against,
    match_nothing,
)
from omnigraph.catalog.shape import Shape
from omnigraph.errors import SchemaIdentityError
from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_U64

__all__ = ["Notice", "NoticeCode", "Resolution", "resolve"]

STEP_BY_STEP = (
    "A name can be given again once a change before has freed it: rename one thing at a time, to a name that is free, and apply "
    "the schema after each."
)


@frozen
class Resolution:
    """A desired schema with identities, and what is worth telling about its rename hints."""

    ir: SchemaIR
    notices: tuple[Notice, ...] = ()


def resolve(shape: Shape, accepted: SchemaIR | None, *, domain: str) -> Resolution:
    """Give every part of a shape its identity.

    `domain` is the ULID of a new graph's identity space; a graph with an accepted schema keeps the one it has. Raises
    `SchemaIdentityError` with every rename hint that does not resolve.
    """
    if accepted is not None:
        domain, first_free, matching = accepted.domain, accepted.next_id, match_against(shape, accepted)
    else:
        first_free, matching = 1, match_nothing(shape)
    if not is_domain(domain):
        raise SchemaIdentityError(
            f"identity domain `{domain}` is not an upper-case ULID", hint="Generate it with a ULID library."
        )
    if matching.problems:
        raise SchemaIdentityError("; ".join(matching.problems), hint=STEP_BY_STEP if matching.in_steps else None)
    return Resolution(bind(shape, _number(shape, matching, first_free), domain), matching.notices)


def _number(shape: Shape, matching: Matching, first_free: int) -> Identities:
    """Accepted ids where there are any, new ones for the rest."""
    counter = _Counter(first_free)
    declared = list(declared_types(shape))
    types: dict[TypeKey, int] = {}
    for kind, type_ in declared:
        known = matching.types.get((kind, type_.name))
        types[kind, type_.name] = counter.take() if known is None else known.type_id

    in_id_order = sorted(declared, key=lambda pair: types[pair[0], pair[1].name])
    properties: dict[PropertyKey, int] = {}
    for kind, type_ in in_id_order:
        for prop in type_.properties:
            found = matching.properties.get((kind, type_.name, prop.name))
            properties[kind, type_.name, prop.name] = counter.take() if found is None else found.property_id

    incarnations: dict[TypeKey, int] = {}
    for kind, type_ in in_id_order:
        if kind == "interface":
            continue
        table = matching.types.get((kind, type_.name))
        incarnations[kind, type_.name] = table.incarnation if isinstance(table, TableIR) else counter.take()
    return Identities(types, properties, incarnations, counter.next)


class _Counter:
    """The one source of schema identities."""

    def __init__(self, first_free: int) -> None:
        self.next = first_free

    def take(self) -> int:
        if self.next >= MAX_U64:
            raise SchemaIdentityError("schema identities are exhausted: the counter has reached its limit")
        taken, self.next = self.next, self.next + 1
        return taken
