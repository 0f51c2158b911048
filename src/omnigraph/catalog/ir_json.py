"""Reading SchemaIR from JSON, trusting nothing.

The stored IR decides which table belongs to which type, so a damaged one must never be half understood. Reading has two steps:
the layout (here: every field present, no other field, every value of the right kind) and the rules that tie the parts together
(`omnigraph.catalog.ir_rules`). Both end in `SchemaIdentityError`, which names the place: `nodes[2].properties[0].property_id`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite
from typing import NoReturn

from omnigraph.catalog.ir import IR_VERSION, EdgeIR, EmbedIR, InterfaceIR, NodeIR, PropertyIR, SchemaIR, TypeRef
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
)
from omnigraph.catalog.ir_rules import INVALID_IR_HINT, check_ir
from omnigraph.catalog.shape import Bound, Note
from omnigraph.errors import SchemaIdentityError
from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_I64, MAX_U32, MAX_U64, MAX_VECTOR_DIMENSION, MIN_I64
from omnigraph.model.types import PropertyType, Scalar

_SCALARS = {scalar.value: scalar for scalar in Scalar if scalar not in (Scalar.VECTOR, Scalar.DURATION)}


def read_ir_text(text: str) -> SchemaIR:
    """The IR held by a JSON text."""
    try:
        data = json.loads(text, object_pairs_hook=_unrepeated)
    except (ValueError, RecursionError) as error:
        raise SchemaIdentityError(f"schema IR is not JSON: {error}", hint=INVALID_IR_HINT) from error
    return read_ir(data)


def read_ir(data: object) -> SchemaIR:
    """The IR held by parsed JSON."""
    ir = _schema(_Place(data, ""))
    check_ir(ir)
    return ir


def _unrepeated(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object; a field given twice has no one meaning."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError(f"an object has two fields of the same name among {', '.join(fields)}")
    return fields


@frozen
class _Place:
    """A JSON value and where it stands."""

    value: object
    path: str

    def refuse(self, problem: str) -> NoReturn:
        where = f" at {self.path}" if self.path else ""
        raise SchemaIdentityError(f"invalid schema IR{where}: {problem}", hint=INVALID_IR_HINT)

    def record(self, *names: str, optional: Sequence[str] = ()) -> dict[str, _Place]:
        """The fields of an object: all of these names, perhaps the optional ones, no other."""
        if not isinstance(self.value, dict):
            self.refuse("expected an object")
        missing = [name for name in names if name not in self.value]
        if missing:
            self.refuse(f"field `{missing[0]}` is missing")
        unknown = [name for name in self.value if name not in names and name not in optional]
        if unknown:
            self.refuse(f"unknown field `{unknown[0]}`")
        return {name: _Place(value, f"{self.path}.{name}".lstrip(".")) for name, value in self.value.items()}

    def items(self) -> list[_Place]:
        if not isinstance(self.value, list):
            self.refuse("expected a list")
        return [_Place(value, f"{self.path}[{i}]") for i, value in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.refuse("expected a string")
        if any("\ud800" <= character <= "\udfff" for character in self.value):
            self.refuse("the string is not valid Unicode")
        return self.value

    def text_or_null(self) -> str | None:
        return None if self.value is None else self.text()

    def integer(self, low: int, high: int) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.refuse("expected an integer")
        if not low <= self.value <= high:
            self.refuse(f"{self.value} is not between {low} and {high}")
        return self.value

    def boolean(self) -> bool:
        if not isinstance(self.value, bool):
            self.refuse("expected true or false")
        return self.value


def _schema(place: _Place) -> SchemaIR:
    if not isinstance(place.value, dict):
        place.refuse("expected an object")
    version = place.value.get("ir_version")
    if type(version) is not int or version != IR_VERSION:
        place.refuse(f"ir_version is {version!r}; this program reads version {IR_VERSION}")
    fields = place.record("ir_version", "schema_identity_domain", "next_identity_id", "interfaces", "nodes", "edges")
    return SchemaIR(
        fields["schema_identity_domain"].text(),
        fields["next_identity_id"].integer(0, MAX_U64),
        tuple(_interface(p) for p in fields["interfaces"].items()),
        tuple(_node(p) for p in fields["nodes"].items()),
        tuple(_edge(p) for p in fields["edges"].items()),
    )


def _interface(place: _Place) -> InterfaceIR:
    fields = place.record("name", "type_id", "properties")
    return InterfaceIR(fields["name"].text(), _id(fields["type_id"]), _properties(fields["properties"]))


def _node(place: _Place) -> NodeIR:
    fields = place.record("name", "type_id", "table_incarnation_id", "annotations", "implements", "properties", "constraints")
    return NodeIR(
        fields["name"].text(),
        _id(fields["type_id"]),
        _id(fields["table_incarnation_id"]),
        _notes(fields["annotations"]),
        tuple(_type_ref(p) for p in fields["implements"].items()),
        _properties(fields["properties"]),
        tuple(_constraint(p) for p in fields["constraints"].items()),
    )


def _edge(place: _Place) -> EdgeIR:
    fields = place.record(
        *("name", "type_id", "table_incarnation_id", "from_type", "to_type", "cardinality"),
        *("annotations", "properties", "constraints"),
    )
    cardinality = fields["cardinality"].record("min", "max")
    maximum = cardinality["max"]
    return EdgeIR(
        fields["name"].text(),
        _id(fields["type_id"]),
        _id(fields["table_incarnation_id"]),
        _type_ref(fields["from_type"]),
        _type_ref(fields["to_type"]),
        cardinality["min"].integer(0, MAX_U32),
        None if maximum.value is None else maximum.integer(0, MAX_U32),
        _notes(fields["annotations"]),
        _properties(fields["properties"]),
        tuple(_constraint(p) for p in fields["constraints"].items()),
    )


def _properties(place: _Place) -> tuple[PropertyIR, ...]:
    return tuple(_property(p) for p in place.items())


def _property(place: _Place) -> PropertyIR:
    fields = place.record(
        *("name", "property_id", "prop_type", "annotations", "property_constraints"),
        *("embed_source", "declared_directly", "satisfies_interface_properties"),
    )
    embed = fields["embed_source"]
    return PropertyIR(
        fields["name"].text(),
        _id(fields["property_id"]),
        _property_type(fields["prop_type"]),
        _notes(fields["annotations"]),
        tuple(p.text() for p in fields["property_constraints"].items()),
        None if embed.value is None else _embed(embed),
        fields["declared_directly"].boolean(),
        tuple(_property_ref(p) for p in fields["satisfies_interface_properties"].items()),
    )


def _property_type(place: _Place) -> PropertyType:
    fields = place.record("scalar", "nullable", "list", "enum_values")
    nullable, is_list = fields["nullable"].boolean(), fields["list"].boolean()
    values = fields["enum_values"]
    enum_values = None if values.value is None else tuple(p.text() for p in values.items())
    scalar = fields["scalar"]
    if isinstance(scalar.value, dict):
        dimension = scalar.record("Vector")["Vector"].integer(1, MAX_VECTOR_DIMENSION)
        return PropertyType(Scalar.VECTOR, nullable, is_list, enum_values, dimension)
    name = scalar.text()
    if name not in _SCALARS:
        scalar.refuse(f"unknown scalar type `{name}`")
    return PropertyType(_SCALARS[name], nullable, is_list, enum_values)


def _notes(place: _Place) -> tuple[Note, ...]:
    return tuple(_note(p) for p in place.items())


def _note(place: _Place) -> Note:
    fields = place.record("name", "value", optional=("kwargs",))
    kwargs: tuple[tuple[str, str], ...] = ()
    if "kwargs" in fields:
        written = fields["kwargs"]
        if not isinstance(written.value, dict) or not written.value:
            written.refuse("expected an object with at least one field")
        kwargs = tuple((_Place(key, written.path).text(), p.text()) for key, p in written.record(*written.value).items())
    return Note(fields["name"].text(), fields["value"].text_or_null(), kwargs)


def _embed(place: _Place) -> EmbedIR:
    fields = place.record("source", "model")
    return EmbedIR(_property_ref(fields["source"]), fields["model"].text_or_null())


def _constraint(place: _Place) -> ConstraintIR:
    kind = place.value.get("kind") if isinstance(place.value, dict) else None
    match kind:
        case "key":
            return KeyIR(_fields(place))
        case "unique":
            return UniqueIR(_fields(place))
        case "index":
            return IndexIR(_fields(place))
        case "range":
            fields = place.record("kind", "field", "min", "max")
            return RangeIR(_field(fields["field"]), _bound(fields["min"]), _bound(fields["max"]))
        case "check":
            fields = place.record("kind", "field", "pattern")
            return CheckIR(_field(fields["field"]), fields["pattern"].text())
        case _:
            place.refuse("expected a constraint of kind key, unique, index, range or check")


def _fields(place: _Place) -> tuple[Field, ...]:
    return tuple(_field(p) for p in place.record("kind", "fields")["fields"].items())


def _field(place: _Place) -> Field:
    kind = place.value.get("kind") if isinstance(place.value, dict) else None
    match kind:
        case "property":
            return PropertyField(_property_ref(place, "kind"))
        case "system":
            fields = place.record("kind", "stable_table_id", "table_type_name", "table_incarnation_id", "role")
            role = fields["role"].value
            if role != "id" and role != "src" and role != "dst":
                fields["role"].refuse("expected id, src or dst")
            type_id, incarnation = _id(fields["stable_table_id"]), _id(fields["table_incarnation_id"])
            return SystemField(type_id, fields["table_type_name"].text(), incarnation, role)
        case _:
            place.refuse("expected a field of kind property or system")


def _type_ref(place: _Place) -> TypeRef:
    fields = place.record("type_id", "type_name")
    return TypeRef(_id(fields["type_id"]), fields["type_name"].text())


def _property_ref(place: _Place, *tag: str) -> PropertyRef:
    fields = place.record(*tag, "owner_type_id", "owner_type_name", "property_id", "property_name")
    return PropertyRef(
        _id(fields["owner_type_id"]),
        fields["owner_type_name"].text(),
        _id(fields["property_id"]),
        fields["property_name"].text(),
    )


def _bound(place: _Place) -> Bound:
    if place.value is None:
        return None
    if isinstance(place.value, dict) and "Float" in place.value:
        number = place.record("Float")["Float"]
        if not isinstance(number.value, float) or not isfinite(number.value):
            number.refuse("expected a finite number with a fraction")
        return number.value
    return place.record("Integer")["Integer"].integer(MIN_I64, MAX_I64)


def _id(place: _Place) -> int:
    return place.integer(0, MAX_U64)
