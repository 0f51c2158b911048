"""What makes an accepted schema sound.

`ir_problems` lists every broken rule, `check_ir` raises them together. The rules:

    domain          an upper-case ULID
    ids             at least 1, below `next_id`, each used for one thing
    names           spelt as the schema language spells them; no reserved property names
    orders          every list sorted as `omnigraph.catalog.ir` says, nothing twice
    references      id and name belong to the same existing thing, of the right kind and owner
    values          enum values, vector dimensions, cardinalities that a `.pg` text could state

A schema that comes out of `identity.resolve` keeps all of them; one read from storage is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeVar, assert_never

from omnigraph.catalog.canonical_json import compact
from omnigraph.catalog.declare.annotations import CONSTRAINING, TYPED
from omnigraph.catalog.declare.names import IMPLICIT_NAMES, STORAGE_NAMES
from omnigraph.catalog.ir import EdgeIR, InterfaceIR, NodeIR, PropertyIR, SchemaIR, TypeIR, TypeRef, entity
from omnigraph.catalog.ir_constraints import (
    CheckIR,
    ConstraintIR,
    Field,
    IndexIR,
    KeyIR,
    PropertyField,
    PropertyRef,
    RangeIR,
    SystemField,
    UniqueIR,
    constraint_shape,
    field_order,
)
from omnigraph.catalog.shape import Note, constraint_sort_key
from omnigraph.errors import SchemaIdentityError
from omnigraph.model.types import PropertyType, Scalar

INVALID_IR_HINT: Final = "The stored schema is damaged or was written by another program; restore it from a backup."

_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_TYPE_NAME = re.compile(r"[A-Z][A-Za-z0-9_]*")
_PROPERTY_NAME = re.compile(r"[a-z_][A-Za-z0-9_]*")

Sortable = TypeVar("Sortable", str, int, PropertyRef, tuple[int, int])


def check_ir(ir: SchemaIR) -> None:
    """Raise `SchemaIdentityError` with everything that is wrong."""
    problems = list(ir_problems(ir))
    if problems:
        raise SchemaIdentityError(f"invalid schema IR: {'; '.join(problems)}", hint=INVALID_IR_HINT)


def is_domain(text: str) -> bool:
    """Whether a text is an identity domain: a ULID in upper case."""
    return _ULID.fullmatch(text) is not None


def ir_problems(ir: SchemaIR) -> Iterator[str]:
    """Every broken rule, in the order of the schema."""
    if not is_domain(ir.domain):
        yield f"schema_identity_domain `{ir.domain}` is not an upper-case ULID"
    if ir.next_id < 1:
        yield "next_identity_id is zero; the first identity is 1"
    yield from _id_problems(ir)
    for group, types in (("interfaces", ir.interfaces), ("nodes", ir.nodes), ("edges", ir.edges)):
        yield from _order_problems(group, [t.name for t in types])
    interfaces = {i.type_id: i for i in ir.interfaces}
    nodes = {n.type_id: n for n in ir.nodes}
    for declared in ir.types:
        yield from _type_problems(declared, interfaces, nodes)


def _id_problems(ir: SchemaIR) -> Iterator[str]:
    holders: dict[int, str] = {}
    for holder, identity in _identities(ir):
        if identity < 1:
            yield f"{holder} has id zero"
        elif identity >= ir.next_id:
            yield f"{holder} has id {identity}, which is not below next_identity_id {ir.next_id}"
        elif identity in holders:
            yield f"{holder} has id {identity}, a duplicate of {holders[identity]}"
        holders.setdefault(identity, holder)


def _identities(ir: SchemaIR) -> Iterator[tuple[str, int]]:
    for declared in ir.types:
        yield entity(declared.kind, declared.name), declared.type_id
        for prop in declared.properties:
            yield entity(declared.kind, declared.name, prop.name), prop.property_id
    for table in ir.tables:
        yield f"the table of {entity(table.kind, table.name)}", table.incarnation


def _order_problems(what: str, keys: Sequence[Sortable]) -> Iterator[str]:
    if any(first >= second for first, second in pairwise(keys)):
        yield f"{what} are not sorted or repeat"


def _type_problems(declared: TypeIR, interfaces: Mapping[int, InterfaceIR], nodes: Mapping[int, NodeIR]) -> Iterator[str]:
    name = entity(declared.kind, declared.name)
    if not _TYPE_NAME.fullmatch(declared.name):
        yield f"{name} is not a type name"
    yield from _order_problems(f"properties of {name}", [p.name for p in declared.properties])
    for prop in declared.properties:
        yield from _property_problems(declared, prop, interfaces)
    match declared:
        case InterfaceIR():
            return
        case NodeIR():
            yield from _order_problems(f"implemented interfaces of {name}", [ref.type_id for ref in declared.implements])
            for ref in declared.implements:
                yield from _reference_problems(f"{name} implements", ref, interfaces)
        case EdgeIR():
            yield from _reference_problems(f"{name} starts at", declared.source, nodes)
            yield from _reference_problems(f"{name} ends at", declared.target, nodes)
            if declared.maximum is not None and declared.minimum > declared.maximum:
                yield f"{name} has cardinality {declared.minimum}..{declared.maximum}"
        case _:
            assert_never(declared)
    yield from _note_problems(name, declared.notes)
    yield from _order_problems(f"constraints of {name}", [constraint_sort_key(constraint_shape(c)) for c in declared.constraints])
    for constraint in declared.constraints:
        yield from _constraint_problems(declared, constraint)


def _reference_problems(what: str, ref: TypeRef, targets: Mapping[int, InterfaceIR] | Mapping[int, NodeIR]) -> Iterator[str]:
    target = targets.get(ref.type_id)
    if target is None or target.name != ref.name:
        yield f"{what} `{ref.name}` (id {ref.type_id}), which does not exist"


def _property_problems(owner: TypeIR, prop: PropertyIR, interfaces: Mapping[int, InterfaceIR]) -> Iterator[str]:
    name = entity(owner.kind, owner.name, prop.name)
    if not _PROPERTY_NAME.fullmatch(prop.name):
        yield f"{name} is not a property name"
    if prop.name in STORAGE_NAMES or prop.name in IMPLICIT_NAMES[owner.kind]:
        yield f"{name} uses a reserved property name"
    yield from _type_value_problems(name, prop.type)
    yield from _note_problems(name, prop.notes)
    yield from _order_problems(f"property constraints of {name}", prop.constraints)
    for constraint in prop.constraints:
        if constraint not in CONSTRAINING:
            yield f"{name} has unknown property constraint `{constraint}`"
    if prop.embed is not None and not _holds(owner, prop.embed.source):
        yield f"{name} embeds {_ref_text(prop.embed.source)}, which does not exist"
    yield from _order_problems(f"interface links of {name}", prop.satisfies)
    implemented = {ref.type_id for ref in owner.implements} if isinstance(owner, NodeIR) else set[int]()
    for ref in prop.satisfies:
        interface = interfaces.get(ref.owner_id)
        if interface is None or ref.owner_id not in implemented or not _holds(interface, ref):
            yield f"{name} satisfies {_ref_text(ref)}, which does not exist in an implemented interface"
    if not prop.declared_directly and not prop.satisfies:
        yield f"{name} is not declared directly and comes from no interface"


def _type_value_problems(name: str, type_: PropertyType) -> Iterator[str]:
    values = type_.enum_values
    if values is not None:
        yield from _order_problems(f"enum values of {name}", values)
        if not values or type_.scalar is not Scalar.STRING or type_.is_list:
            yield f"{name} has an impossible enum type"
    if type_.is_list and (type_.is_vector or type_.is_blob):
        yield f"{name} is a list of {type_.scalar.value}"


def _note_problems(name: str, notes: Sequence[Note]) -> Iterator[str]:
    yield from _order_problems(f"annotations of {name}", [compact(note.to_json()) for note in notes])
    for note in notes:
        yield from _order_problems(f"arguments of @{note.name} of {name}", [key for key, _ in note.kwargs])
        if note.name in TYPED:
            yield f"{name} keeps @{note.name} as an annotation"


def _constraint_problems(owner: NodeIR | EdgeIR, constraint: ConstraintIR) -> Iterator[str]:
    name = entity(owner.kind, owner.name)
    match constraint:
        case KeyIR(fields) | UniqueIR(fields) | IndexIR(fields):
            yield from _order_problems(f"fields of a constraint of {name}", [field_order(f) for f in fields])
            if not fields:
                yield f"{name} has a constraint without fields"
            yield from _field_problems(owner, fields)
        case RangeIR(field) | CheckIR(field):
            yield from _field_problems(owner, (field,))
        case _:
            assert_never(constraint)


def _field_problems(owner: NodeIR | EdgeIR, fields: Iterable[Field]) -> Iterator[str]:
    name = entity(owner.kind, owner.name)
    for field in fields:
        match field:
            case PropertyField(ref):
                if not _holds(owner, ref):
                    yield f"a constraint of {name} names {_ref_text(ref)}, which does not exist"
            case SystemField(type_id, type_name, incarnation, role):
                if (type_id, type_name, incarnation) != (owner.type_id, owner.name, owner.incarnation):
                    yield f"a constraint of {name} names a column of table `{type_name}` (id {type_id})"
                if role not in IMPLICIT_NAMES[owner.kind]:
                    yield f"a constraint of {name} names `{role}`, which only edges have"
            case _:
                assert_never(field)


def _holds(owner: TypeIR, ref: PropertyRef) -> bool:
    """Whether a reference names a property of this type, by id and by name."""
    return (ref.owner_id, ref.owner) == (owner.type_id, owner.name) and any(
        (p.property_id, p.name) == (ref.property_id, ref.name) for p in owner.properties
    )


def _ref_text(ref: PropertyRef) -> str:
    return f"`{ref.owner}.{ref.name}` (id {ref.property_id})"
