"""Changes of constraints. All but a key can be added; nothing that is kept can be taken away.

A constraint is a promise to whoever reads the graph. It can be given once the entities that exist keep it, which is looked at
when the plan is applied; it cannot be taken back. A key is more than that: it is what ids are made of, so it can only come with
its type. A constraint that nothing can be held against (`keepable`) promised nothing, and may go.

A one-column constraint has two spellings, `email: String @unique` and `@unique(email)`, and the IR keeps both facts: which words
stand on a property, and which constraints hold for the type. The two comparisons are therefore made separately, and each change
is reported once, by the property if a word was added to it or removed from it, else by the type:

    name: String            ->  name: String @index         add_constraint, once
    @index(name)            ->  name: String @index         add_constraint: only the word is new
    name: String @index     ->  @index(name)                unsupported: the word went away
    (no such property)      ->  nick: String? @index        the type reports it: add_constraint
    nick: String? @index    ->  (no such property)          the type reports it: unsupported

Constraints are compared by the ids of their columns, so that a renamed column changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import assert_never

from omnigraph.catalog.ir import EdgeIR, InterfaceIR, NodeIR, PropertyIR, TypeIR, entity
from omnigraph.catalog.ir_constraints import (
    CheckIR,
    ConstraintIR,
    Field,
    IndexIR,
    KeyIR,
    PropertyField,
    RangeIR,
    UniqueIR,
    constraint_shape,
)
from omnigraph.catalog.keepable import void
from omnigraph.catalog.migration.render import constraint_text
from omnigraph.catalog.migration.steps import AddConstraint, Refusal, RemoveConstraint, Step
from omnigraph.catalog.shape import Check, Constraint, Index, Key, Range, Unique, constraint_sort_key

_ONE_COLUMN: Mapping[str, Callable[[tuple[str, ...]], Constraint]] = {"key": Key, "unique": Unique, "index": Index}


def written_constraint_changes(
    accepted_owner: TypeIR, owner: TypeIR, accepted: PropertyIR, desired: PropertyIR
) -> Iterator[Step]:
    """Words that came to or went from a property that stays."""
    for word in (w for w in accepted.constraints if w not in desired.constraints):
        constraint = _ONE_COLUMN[word]((desired.name,))
        yield _removal(owner, constraint, desired.name, still_there=_holds(owner, constraint))
    for word in (w for w in desired.constraints if w not in accepted.constraints):
        before = _ONE_COLUMN[word]((accepted.name,))
        yield _addition(owner, _ONE_COLUMN[word]((desired.name,)), desired.name, already_there=_holds(accepted_owner, before))


def type_constraint_changes(accepted: TypeIR, desired: TypeIR) -> Iterator[Step]:
    """Constraints of the type that came or went and were not reported by a property."""
    if isinstance(accepted, InterfaceIR) or isinstance(desired, InterfaceIR):
        return
    before = {_identity(c): c for c in accepted.constraints}
    after = {_identity(c): c for c in desired.constraints}
    reported = _reported_by_properties(accepted, desired)
    for identity, constraint in before.items():
        if identity not in after and identity not in reported:
            before_shape = constraint_shape(constraint)
            if void(before_shape, {p.name: p.type for p in accepted.properties}) is not None:
                yield RemoveConstraint(desired.kind, desired.name, before_shape)
            else:
                yield _removal(desired, before_shape, None, still_there=False)
    for identity, constraint in after.items():
        if identity not in before and identity not in reported:
            yield _addition(desired, constraint_shape(constraint), None, already_there=False)


def _addition(owner: TypeIR, constraint: Constraint, property_name: str | None, *, already_there: bool) -> Step:
    if not isinstance(constraint, Key):
        return AddConstraint(owner.kind, owner.name, constraint)
    text = constraint_text(constraint)
    what = entity(owner.kind, owner.name, property_name)
    if already_there:
        return Refusal(
            what, f"{text} of {owner.name} cannot move from the body to the property; leave it in the body, it means the same"
        )
    return Refusal(
        what,
        f"{text} cannot be added to {owner.name}, because the ids of existing entities are not made of it; "
        "add a new type that has it and load the data there, or use @unique",
    )


def _removal(owner: TypeIR, constraint: Constraint, property_name: str | None, *, still_there: bool) -> Step:
    text = constraint_text(constraint)
    what = entity(owner.kind, owner.name, property_name)
    if still_there:
        return Refusal(
            what, f"{text} of {owner.name} cannot move from the property to the body; leave it on the property, it means the same"
        )
    return Refusal(
        what,
        f"{text} cannot be removed from {owner.name}; keep it (and the properties it names), "
        "or add a new type without it and load the data there",
    )


def _holds(owner: TypeIR, constraint: Constraint) -> bool:
    return not isinstance(owner, InterfaceIR) and constraint in [constraint_shape(c) for c in owner.constraints]


def _reported_by_properties(accepted: NodeIR | EdgeIR, desired: NodeIR | EdgeIR) -> frozenset[str]:
    """Identities of the one-column constraints whose word came to or went from a property that stays."""
    before = {p.property_id: frozenset(p.constraints) for p in accepted.properties}
    after = {p.property_id: frozenset(p.constraints) for p in desired.properties}
    return frozenset(
        constraint_sort_key(_ONE_COLUMN[word]((str(property_id),)))
        for property_id in before.keys() & after.keys()
        for word in before[property_id] ^ after[property_id]
    )


def _identity(constraint: ConstraintIR) -> str:
    """What makes two constraints the same: kind, ids of the columns, bounds to the letter, pattern."""
    match constraint:
        case KeyIR(fields):
            return constraint_sort_key(Key(tuple(_column(f) for f in fields)))
        case UniqueIR(fields):
            return constraint_sort_key(Unique(tuple(_column(f) for f in fields)))
        case IndexIR(fields):
            return constraint_sort_key(Index(tuple(_column(f) for f in fields)))
        case RangeIR(field, low, high):
            return constraint_sort_key(Range(_column(field), low, high))
        case CheckIR(field, pattern):
            return constraint_sort_key(Check(_column(field), pattern))
        case _:
            assert_never(constraint)


def _column(field: Field) -> str:
    return str(field.ref.property_id) if isinstance(field, PropertyField) else field.role
