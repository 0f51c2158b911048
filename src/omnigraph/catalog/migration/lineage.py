"""Whether one schema can be a later state of another at all.

A plan compares by id, so ids have to mean the same on both sides. `identity.resolve` sees to that; this check is for schemas that
came some other way (another graph, a hand-made file), where a plan would be confidently wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.catalog.ir import InterfaceIR, SchemaIR, entity
from omnigraph.errors import SchemaIdentityError

_HINT = "Resolve the desired schema against the accepted one before planning."


def check_lineage(accepted: SchemaIR, desired: SchemaIR) -> None:
    """Raise `SchemaIdentityError` unless the desired schema continues the identities of the accepted one."""
    problems = list(_problems(accepted, desired))
    if problems:
        raise SchemaIdentityError(f"the desired schema does not continue the accepted one: {'; '.join(problems)}", hint=_HINT)


def _problems(accepted: SchemaIR, desired: SchemaIR) -> Iterator[str]:
    if accepted.domain != desired.domain:
        yield f"its identity domain is {desired.domain}, not {accepted.domain}"
        return
    if desired.next_id < accepted.next_id:
        yield f"its next id {desired.next_id} is below the accepted {accepted.next_id}"
    before, after = _roles(accepted), _roles(desired)
    for identity, (what, role) in after.items():
        if identity in before:
            if before[identity][1] != role:
                yield f"id {identity} was {before[identity][0]} and is now {what}"
        elif identity < accepted.next_id:
            yield f"{what} has id {identity}, which was given out before and has gone"


def _roles(ir: SchemaIR) -> dict[int, tuple[str, tuple[str, int]]]:
    """What each id stands for: words for people, and (role, owner id), which never changes while the id lives."""
    roles: dict[int, tuple[str, tuple[str, int]]] = {}
    for declared in ir.types:
        roles[declared.type_id] = entity(declared.kind, declared.name), (declared.kind, 0)
        for prop in declared.properties:
            roles[prop.property_id] = entity(declared.kind, declared.name, prop.name), ("property", declared.type_id)
        if not isinstance(declared, InterfaceIR):
            table = f"the table of {entity(declared.kind, declared.name)}"
            roles[declared.incarnation] = table, ("table", declared.type_id)
    return roles
