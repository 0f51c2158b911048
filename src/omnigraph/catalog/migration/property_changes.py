"""Changes of properties: what comes, what goes, and what becomes of those that stay.

A property stays when its id does, whatever it is called. For one that stays the comparison goes, in this order, through name,
type, `@embed`, constraints written on it, where it is declared, which interface properties it fulfils, and annotations.
"""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.catalog.canonical_json import Json
from omnigraph.catalog.ir import PropertyIR, TypeIR, entity
from omnigraph.catalog.migration.annotation_changes import property_annotation_changes
from omnigraph.catalog.migration.backfill import Backfill
from omnigraph.catalog.migration.codes import PROPERTY_TYPE_CHANGE, REQUIRED_WITHOUT_BACKFILL
from omnigraph.catalog.migration.constraint_changes import written_constraint_changes
from omnigraph.catalog.migration.steps import (
    AddProperty,
    DropMode,
    DropProperty,
    ExtendEnum,
    Refusal,
    RenameProperty,
    RequireProperty,
    Step,
)


def property_changes(accepted: TypeIR, desired: TypeIR, mode: DropMode, backfill: Backfill) -> Iterator[Step]:
    """Desired properties by name, then those that go."""
    known = {p.property_id: p for p in accepted.properties}
    for prop in desired.properties:
        before = known.pop(prop.property_id, None)
        if before is None:
            yield _addition(desired, prop, backfill.value(desired, prop))
        else:
            yield from _changes(accepted, desired, before, prop, backfill)
    for leftover in known.values():
        yield DropProperty(desired.kind, desired.name, leftover.name, mode)


def _addition(owner: TypeIR, prop: PropertyIR, backfill: Json) -> Step:
    if prop.type.nullable or backfill is not None:
        return AddProperty(owner.kind, owner.name, prop.name, prop.type, backfill)
    return Refusal(
        entity(owner.kind, owner.name, prop.name),
        f"{owner.name}.{prop.name} cannot be added as required {prop.type}, because existing entities would have no value; "
        f"add it as {prop.type.as_nullable()} and fill it in, or say what they are to have (backfill)",
        REQUIRED_WITHOUT_BACKFILL,
    )


def _changes(
    accepted_owner: TypeIR, owner: TypeIR, accepted: PropertyIR, desired: PropertyIR, backfill: Backfill
) -> Iterator[Step]:
    if accepted.name != desired.name:
        yield RenameProperty(owner.kind, owner.name, accepted.name, desired.name)
    yield from _type_changes(owner, accepted, desired, backfill)
    yield from _embed_changes(owner, accepted, desired)
    yield from written_constraint_changes(accepted_owner, owner, accepted, desired)
    yield from _provenance_changes(owner, accepted, desired)
    yield from _link_changes(owner, accepted, desired)
    yield from property_annotation_changes(owner, accepted, desired)


def _type_changes(owner: TypeIR, accepted: PropertyIR, desired: PropertyIR, backfill: Backfill) -> Iterator[Step]:
    before, after = accepted.type, desired.type
    if before == after:
        return
    name, what = f"{owner.name}.{desired.name}", entity(owner.kind, owner.name, desired.name)
    if before.enum_values is not None and after.enum_values is not None and before.nullable == after.nullable:
        lost = [value for value in before.enum_values if value not in after.enum_values]
        if not lost:
            added = tuple(value for value in after.enum_values if value not in before.enum_values)
            yield ExtendEnum(owner.kind, owner.name, desired.name, added)
            return
        reason = (
            f"{name} cannot lose the enum values {', '.join(lost)}, which existing entities may hold; keep them in the list "
            "and stop using them, new values may be added beside them"
        )
    elif before.as_required() == after.as_required():
        if not after.nullable:
            yield RequireProperty(owner.kind, owner.name, desired.name, backfill.value(owner, desired))
            return
        reason = f"{name} cannot become nullable ({before} to {after}); add a new nullable property and copy the values"
    else:
        reason = (
            f"{name} cannot change its type from {before} to {after}; add a new property of type {after.as_nullable()}, "
            "copy the values and drop this one"
        )
    yield Refusal(what, reason, PROPERTY_TYPE_CHANGE)


def _embed_changes(owner: TypeIR, accepted: PropertyIR, desired: PropertyIR) -> Iterator[Step]:
    """By the id of the source: a renamed source changes nothing."""
    if _embed_identity(accepted) != _embed_identity(desired):
        yield Refusal(
            entity(owner.kind, owner.name, desired.name),
            f"@embed of {owner.name}.{desired.name} cannot change from {_embed_text(accepted)} to {_embed_text(desired)}; "
            "add a new Vector property with the @embed you want and drop this one",
        )


def _embed_identity(prop: PropertyIR) -> tuple[int, str | None] | None:
    return None if prop.embed is None else (prop.embed.source.property_id, prop.embed.model)


def _embed_text(prop: PropertyIR) -> str:
    if prop.embed is None:
        return "none"
    model = "" if prop.embed.model is None else f', model="{prop.embed.model}"'
    return f"@embed({prop.embed.source.name}{model})"


def _provenance_changes(owner: TypeIR, accepted: PropertyIR, desired: PropertyIR) -> Iterator[Step]:
    if accepted.declared_directly == desired.declared_directly:
        return
    name = f"{owner.name}.{desired.name}"
    yield Refusal(
        entity(owner.kind, owner.name, desired.name),
        f"{name} comes from an interface and cannot become a declaration of the node; leave it to the interface"
        if desired.declared_directly
        else f"{name} is declared in the node and cannot be left to an interface; keep the declaration in the node",
    )


def _link_changes(owner: TypeIR, accepted: PropertyIR, desired: PropertyIR) -> Iterator[Step]:
    if {ref.property_id for ref in accepted.satisfies} != {ref.property_id for ref in desired.satisfies}:
        yield Refusal(
            entity(owner.kind, owner.name, desired.name),
            f"{owner.name}.{desired.name} cannot change which interface properties it fulfils, from ({_links_text(accepted)}) "
            f"to ({_links_text(desired)}); keep the interfaces as they are, or use a new property name",
        )


def _links_text(prop: PropertyIR) -> str:
    return ", ".join(f"{ref.owner}.{ref.name}" for ref in prop.satisfies) or "none"
