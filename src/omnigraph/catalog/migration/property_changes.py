"""Changes of properties: what comes, what goes, and what becomes of those that stay.

A property stays when its id does, whatever it is called. For one that stays the comparison goes, in this order, through name,
type, `@embed`, constraints written on it, where it is declared, which interface properties it fulfils, and annotations.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from omnigraph.catalog.ir import InterfaceIR, PropertyIR, TypeIR, entity
from omnigraph.catalog.ir_constraints import KeyIR, PropertyField
from omnigraph.catalog.migration.annotation_changes import property_annotation_changes
from omnigraph.catalog.migration.codes import PROPERTY_TYPE_CHANGE, REQUIRED_WITHOUT_BACKFILL
from omnigraph.catalog.migration.constraint_changes import written_constraint_changes
from omnigraph.catalog.migration.instructions import Fill, Instructions
from omnigraph.catalog.migration.steps import (
    AddProperty,
    DropMode,
    DropProperty,
    ExtendEnum,
    Refusal,
    RelaxProperty,
    RenameEnumValues,
    RenameProperty,
    RequireProperty,
    Step,
    WidenProperty,
)


def property_changes(accepted: TypeIR, desired: TypeIR, mode: DropMode, given: Instructions) -> Iterator[Step]:
    """Desired properties by name, then those that go."""
    known = {p.property_id: p for p in accepted.properties}
    for prop in desired.properties:
        before = known.pop(prop.property_id, None)
        if before is None:
            yield _addition(desired, prop, given.fill(desired, prop))
        else:
            yield from _changes(accepted, desired, before, prop, given)
    for leftover in known.values():
        yield DropProperty(desired.kind, desired.name, leftover.name, mode)


def _addition(owner: TypeIR, prop: PropertyIR, backfill: Fill) -> Step:
    if prop.type.nullable or backfill is not None:
        return AddProperty(owner.kind, owner.name, prop.name, prop.type, backfill)
    return Refusal(
        entity(owner.kind, owner.name, prop.name),
        f"{owner.name}.{prop.name} cannot be added as required {prop.type}, because existing entities would have no value; "
        f"add it as {prop.type.as_nullable()} and fill it in, or say what they are to have (backfill, compute)",
        REQUIRED_WITHOUT_BACKFILL,
    )


def _changes(
    accepted_owner: TypeIR, owner: TypeIR, accepted: PropertyIR, desired: PropertyIR, given: Instructions
) -> Iterator[Step]:
    if accepted.name != desired.name:
        yield RenameProperty(owner.kind, owner.name, accepted.name, desired.name)
    yield from _type_changes(accepted_owner, owner, accepted, desired, given)
    yield from _embed_changes(owner, accepted, desired)
    yield from written_constraint_changes(accepted_owner, owner, accepted, desired)
    yield from _provenance_changes(owner, accepted, desired)
    yield from _link_changes(owner, accepted, desired)
    yield from property_annotation_changes(owner, accepted, desired)


def _type_changes(
    accepted_owner: TypeIR, owner: TypeIR, accepted: PropertyIR, desired: PropertyIR, given: Instructions
) -> Iterator[Step]:
    """What becomes of the type: its values first, then whether there has to be one."""
    before, after = accepted.type, desired.type
    if before == after:
        return
    refusal = None
    if before.enum_values is not None and after.enum_values is not None:
        refusal = yield from _enum_changes(accepted_owner, owner, accepted, desired, given)
    elif before.as_required() != after.as_required():
        if after.widens(before) and not _is_float_of_key(accepted_owner, accepted):
            yield WidenProperty(owner.kind, owner.name, desired.name, before.as_required(), after.as_required())
        else:
            refusal = (
                f"{owner.name}.{desired.name} cannot change its type from {before} to {after}; add a new property of type "
                f"{after.as_nullable()}, say what it is to have (compute), and drop this one"
            )
    if refusal is not None:
        yield Refusal(entity(owner.kind, owner.name, desired.name), refusal, PROPERTY_TYPE_CHANGE)
    elif before.nullable and not after.nullable:
        yield RequireProperty(owner.kind, owner.name, desired.name, given.fill(owner, desired))
    elif after.nullable and not before.nullable:
        yield RelaxProperty(owner.kind, owner.name, desired.name)


def _enum_changes(
    accepted_owner: TypeIR, owner: TypeIR, accepted: PropertyIR, desired: PropertyIR, given: Instructions
) -> Generator[Step, None, str | None]:
    """Values that have other names, and values that came. Returns why it cannot be done, if it cannot."""
    before, after = accepted.type.enum_values, desired.type.enum_values
    assert before is not None
    assert after is not None
    name = f"{owner.name}.{desired.name}"
    renamed = {old: new for old, new in given.values_renamed(owner, desired).items() if old in before}
    merged = [new for new in renamed.values() if new in before]
    lost = [value for value in before if value not in after and value not in renamed]
    if merged:
        return (
            f"{name} has the enum value {', '.join(merged)} already, and another one cannot become the same; keep both, "
            "update the entities, and stop using the old one"
        )
    if lost:
        return (
            f"{name} cannot lose the enum values {', '.join(lost)}, which existing entities may hold; keep them in the list "
            'and stop using them, or say what they are called now: @rename_value("old", to="new")'
        )
    if renamed:
        if _in_key(accepted_owner, accepted):
            return f"values of {name} cannot be renamed, because ids are made of them; add a new type and load the entities there"
        yield RenameEnumValues(owner.kind, owner.name, desired.name, tuple(sorted(renamed.items())))
    added = tuple(value for value in after if value not in before and value not in renamed.values())
    if added:
        yield ExtendEnum(owner.kind, owner.name, desired.name, added)
    return None


def _in_key(owner: TypeIR, prop: PropertyIR) -> bool:
    if isinstance(owner, InterfaceIR):
        return "key" in prop.constraints
    keys = [c for c in owner.constraints if isinstance(c, KeyIR)]
    return any(isinstance(f, PropertyField) and f.ref.property_id == prop.property_id for key in keys for f in key.fields)


def _is_float_of_key(owner: TypeIR, prop: PropertyIR) -> bool:
    """Ids are made of the text of a value, and a wider float has another one."""
    return prop.type.scalar.is_float and _in_key(owner, prop)


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
