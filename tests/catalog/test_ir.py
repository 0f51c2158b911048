"""The accepted schema as JSON: what is written, what is read back, and what is refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.catalog.schema_texts import DOMAIN, Blocks, accept, schema_blocks, shape, text_of

from omnigraph.catalog.canonical_json import compact
from omnigraph.catalog.identity import resolve
from omnigraph.catalog.ir import (
    CheckIR,
    IndexIR,
    KeyIR,
    PropertyField,
    PropertyRef,
    RangeIR,
    SchemaIR,
    SystemField,
    UniqueIR,
    shape_of,
)
from omnigraph.catalog.ir_constraints import constraint_ir_json
from omnigraph.catalog.ir_json import read_ir_text
from omnigraph.catalog.ir_rules import check_ir, ir_problems
from omnigraph.catalog.shape import Index
from omnigraph.errors import SchemaIdentityError

WORKED_EXAMPLE = "interface Z { p: String } node A {} node B implements Z {} edge E: A -> B"

WORKED_EXAMPLE_JSON = (
    '{"ir_version":2,"schema_identity_domain":"01ARZ3NDEKTSV4RRFFQ69G5FAV","next_identity_id":10,'
    '"interfaces":[{"name":"Z","type_id":1,"properties":[{"name":"p","property_id":5,'
    '"prop_type":{"scalar":"String","nullable":false,"list":false,"enum_values":null},"annotations":[],'
    '"property_constraints":[],"embed_source":null,"declared_directly":true,"satisfies_interface_properties":[]}]}],'
    '"nodes":[{"name":"A","type_id":2,"table_incarnation_id":7,"annotations":[],"implements":[],"properties":[],'
    '"constraints":[]},{"name":"B","type_id":3,"table_incarnation_id":8,"annotations":[],'
    '"implements":[{"type_id":1,"type_name":"Z"}],"properties":[{"name":"p","property_id":6,'
    '"prop_type":{"scalar":"String","nullable":false,"list":false,"enum_values":null},"annotations":[],'
    '"property_constraints":[],"embed_source":null,"declared_directly":false,'
    '"satisfies_interface_properties":[{"owner_type_id":1,"owner_type_name":"Z","property_id":5,"property_name":"p"}]}],'
    '"constraints":[]}],"edges":[{"name":"E","type_id":4,"table_incarnation_id":9,'
    '"from_type":{"type_id":2,"type_name":"A"},"to_type":{"type_id":3,"type_name":"B"},'
    '"cardinality":{"min":0,"max":null},"annotations":[],"properties":[],"constraints":[]}]}'
)

RICH = """
interface Named { name: String @index @description("what people call it") }
node Doc @description("a page") @owner("ann", since=2) implements Named {
    body: String
    kind: enum(guide, note)
    rank: F64?
    size: I64?
    vec: Vector(3)? @embed(body, model="m") @index
    @key(name, kind)
    @range(rank, 0.5..)
    @range(size, -1..9)
    @check(body, "^[a-z]+$")
}
node Person implements Named { name: String nick: [String]? }
edge Wrote: Person -> Doc @card(0..3) { since: Date? @unique(src, since) @index(dst) }
"""
# Named 1, Doc 2, Person 3, Wrote 4; Named.name 5; Doc: body 6, kind 7, name 8, rank 9, size 10, vec 11; Person: name 12, nick 13;
# Wrote.since 14; tables Doc 15, Person 16, Wrote 17; next 18.


def rich_json() -> dict[str, object]:
    data = json.loads(compact(accept(RICH).to_json()))
    assert isinstance(data, dict)
    return data


class TestWriting:
    def test_worked_example_to_the_letter(self) -> None:
        ir = accept(WORKED_EXAMPLE)
        assert compact(ir.to_json()) == WORKED_EXAMPLE_JSON
        assert ir.hash() == "sha256:826b9a620be112247c0975d6e8bc436a708a3ce503daef659f1c8abf9a9363d2"

    def test_constraints_of_every_kind(self) -> None:
        (doc, _), (wrote,) = accept(RICH).nodes, accept(RICH).edges

        def field(property_id: int, name: str) -> PropertyField:
            return PropertyField(PropertyRef(2, "Doc", property_id, name))

        assert doc.constraints == (
            CheckIR(field(6, "body"), "^[a-z]+$"),
            IndexIR((field(8, "name"),)),
            IndexIR((field(11, "vec"),)),
            KeyIR((field(7, "kind"), field(8, "name"))),
            RangeIR(field(9, "rank"), 0.5, None),
            RangeIR(field(10, "size"), -1, 9),
        )
        since = PropertyField(PropertyRef(4, "Wrote", 14, "since"))
        src, dst = SystemField(4, "Wrote", 17, "src"), SystemField(4, "Wrote", 17, "dst")
        assert wrote.constraints == (IndexIR((dst,)), UniqueIR((src, since)))

    def test_constraint_json(self) -> None:
        (doc, _), (wrote,) = accept(RICH).nodes, accept(RICH).edges
        texts = [compact(constraint_ir_json(c)) for c in (*doc.constraints, *wrote.constraints)]
        assert texts[0] == (
            '{"kind":"check","field":{"kind":"property","owner_type_id":2,"owner_type_name":"Doc","property_id":6,'
            '"property_name":"body"},"pattern":"^[a-z]+$"}'
        )
        assert texts[4].endswith('"property_name":"rank"},"min":{"Float":0.5},"max":null}')
        assert texts[5].endswith('"property_name":"size"},"min":{"Integer":-1},"max":{"Integer":9}}')
        assert texts[6] == (
            '{"kind":"index","fields":[{"kind":"system","stable_table_id":4,"table_type_name":"Wrote",'
            '"table_incarnation_id":17,"role":"dst"}]}'
        )

    def test_embed_notes_and_links_json(self) -> None:
        (doc, person) = accept(RICH).nodes
        vec = next(p for p in doc.properties if p.name == "vec")
        assert compact(vec.to_json()["embed_source"]) == (
            '{"source":{"owner_type_id":2,"owner_type_name":"Doc","property_id":6,"property_name":"body"},"model":"m"}'
        )
        assert compact(doc.to_json()["annotations"]) == (
            '[{"name":"description","value":"a page"},{"name":"owner","value":"ann","kwargs":{"since":"2"}}]'
        )
        name = next(p for p in person.properties if p.name == "name")
        assert name.declared_directly
        assert name.satisfies == (PropertyRef(1, "Named", 5, "name"),)

    def test_implements_is_ordered_by_id_and_not_by_name(self) -> None:
        ir = accept("interface Z {}", "interface A {} interface Z {} node N implements A, Z {}")
        assert [ref.name for ref in ir.nodes[0].implements] == ["Z", "A"]
        assert shape_of(ir).nodes[0].implements == ("A", "Z")

    def test_interface_links_are_ordered_by_owner_id(self) -> None:
        ir = accept("interface Z { p: I32 }", "interface A { p: I32 } interface Z { p: I32 } node N implements A, Z {}")
        assert [ref.owner for ref in ir.nodes[0].properties[0].satisfies] == ["Z", "A"]
        assert shape_of(ir).nodes[0].properties[0].satisfies == (("A", "p"), ("Z", "p"))

    def test_id_as_constraint_column_is_a_system_column(self) -> None:
        (text,) = shape("node A { x: I32 }").nodes
        odd = replace(shape("node A { x: I32 }"), nodes=(replace(text, constraints=(Index(("id", "x")),)),))
        ir = resolve(odd, None, domain=DOMAIN).ir
        (index,) = ir.nodes[0].constraints
        assert isinstance(index, IndexIR)
        assert index.fields[0] == SystemField(1, "A", 3, "id")
        assert list(ir_problems(ir)) == []
        assert shape_of(ir) == odd


class TestReading:
    @pytest.mark.parametrize("text", ["", WORKED_EXAMPLE, RICH], ids=["empty", "worked-example", "rich"])
    def test_round_trip(self, text: str) -> None:
        ir = accept(text)
        assert SchemaIR.from_json(ir.to_json()) == ir
        assert read_ir_text(json.dumps(ir.to_json(), indent=2)) == ir

    def test_field_order_of_the_file_plays_no_part(self) -> None:
        ir = accept(RICH)
        assert read_ir_text(json.dumps(ir.to_json(), sort_keys=True)).hash() == ir.hash()

    def test_unique_over_a_blob_is_tolerated(self) -> None:
        data = rich_json()
        at(data, "edges", 0, "properties", 0, "prop_type")["scalar"] = "Blob"
        assert SchemaIR.from_json(data).edges[0].properties[0].type.is_blob

    @settings(max_examples=60, deadline=None)
    @given(schema_blocks())
    def test_every_schema_survives_the_round_trip(self, blocks: Blocks) -> None:
        ir = accept(text_of(blocks))
        again = read_ir_text(compact(ir.to_json()))
        assert again == ir
        assert again.hash() == ir.hash()
        assert shape_of(again).hash() == shape(text_of(blocks)).hash()


def at(data: object, *path: str | int) -> dict[str, object]:
    """The object at a path."""
    for step in path:
        data = data[step]  # type: ignore[index]
    assert isinstance(data, dict)
    return data


def _list(data: object) -> list[dict[str, object]]:
    assert isinstance(data, list)
    return data


Corruption = Callable[[dict[str, object]], object]


def put(value: object, *path: str | int) -> Corruption:
    """Put a value at a path; its last step names the field."""

    def corrupt(data: dict[str, object]) -> None:
        at(data, *path[:-1])[str(path[-1])] = value

    return corrupt


def reverse(*path: str | int) -> Corruption:
    def corrupt(data: dict[str, object]) -> None:
        _list(at(data, *path[:-1])[str(path[-1])]).reverse()

    return corrupt


def repeat(*path: str | int) -> Corruption:
    def corrupt(data: dict[str, object]) -> None:
        items = _list(at(data, *path[:-1])[str(path[-1])])
        items.append(copy.deepcopy(items[-1]))

    return corrupt


DOC, PERSON, WROTE = ("nodes", 0), ("nodes", 1), ("edges", 0)
BODY, KIND, NAME, VEC = ((*DOC, "properties", i) for i in (0, 1, 2, 5))

CORRUPTIONS: dict[str, tuple[Corruption, str]] = {
    "version-1": (put(1, "ir_version"), "ir_version is 1; this program reads version 2"),
    "version-text": (put("2", "ir_version"), "ir_version is '2'"),
    "version-float": (put(2.0, "ir_version"), "ir_version is 2.0"),
    "version-true": (put(True, "ir_version"), "ir_version is True"),
    "version-missing": (lambda d: d.pop("ir_version"), "ir_version is None"),
    "domain-lower-case": (put(DOMAIN.lower(), "schema_identity_domain"), "is not an upper-case ULID"),
    "domain-too-large": (put("8" + DOMAIN[1:], "schema_identity_domain"), "is not an upper-case ULID"),
    "domain-not-crockford": (put(DOMAIN[:-1] + "L", "schema_identity_domain"), "is not an upper-case ULID"),
    "domain-newline": (put(DOMAIN + "\n", "schema_identity_domain"), "is not an upper-case ULID"),
    "next-zero": (put(0, "next_identity_id"), "next_identity_id is zero"),
    "next-too-low": (put(17, "next_identity_id"), "the table of edge:Wrote has id 17, which is not below next_identity_id 17"),
    "next-too-large": (put(2**64, "next_identity_id"), "at next_identity_id: 18446744073709551616 is not between"),
    "type-id-zero": (put(0, *DOC, "type_id"), "node:Doc has id zero"),
    "property-id-zero": (put(0, *BODY, "property_id"), "node:Doc.body has id zero"),
    "incarnation-zero": (put(0, *PERSON, "table_incarnation_id"), "the table of node:Person has id zero"),
    "id-negative": (put(-1, *DOC, "type_id"), "at nodes[0].type_id: -1 is not between 0"),
    "id-beyond-next": (put(40, *PERSON, "type_id"), "node:Person has id 40, which is not below next_identity_id 18"),
    "id-twice": (put(5, *PERSON, "type_id"), "node:Person has id 5, a duplicate of interface:Named.name"),
    "incarnation-twice": (
        put(15, *PERSON, "table_incarnation_id"),
        "the table of node:Person has id 15, a duplicate of the",
    ),
    "nodes-unsorted": (reverse("nodes"), "nodes are not sorted or repeat"),
    "edges-repeated": (repeat("edges"), "edges are not sorted or repeat"),
    "interfaces-repeated": (repeat("interfaces"), "interfaces are not sorted or repeat"),
    "properties-unsorted": (reverse(*DOC, "properties"), "properties of node:Doc are not sorted or repeat"),
    "constraints-unsorted": (reverse(*DOC, "constraints"), "constraints of node:Doc are not sorted or repeat"),
    "constraint-fields-unsorted": (
        reverse(*DOC, "constraints", 3, "fields"),
        "fields of a constraint of node:Doc are not",
    ),
    "implements-repeated": (repeat(*DOC, "implements"), "implemented interfaces of node:Doc are not sorted or repeat"),
    "notes-unsorted": (reverse(*DOC, "annotations"), "annotations of node:Doc are not sorted or repeat"),
    "note-arguments-unsorted": (put({"b": "1", "a": "2"}, *DOC, "annotations", 1, "kwargs"), "arguments of @owner of node:Doc"),
    "enum-unsorted": (reverse(*KIND, "prop_type", "enum_values"), "enum values of node:Doc.kind are not sorted or repeat"),
    "words-unsorted": (put(["unique", "index"], *BODY, "property_constraints"), "property constraints of node:Doc.body are not"),
    "links-repeated": (repeat(*NAME, "satisfies_interface_properties"), "interface links of node:Doc.name are not sorted"),
    "implements-unknown": (put(3, *DOC, "implements", 0, "type_id"), "node:Doc implements `Named` (id 3), which does not exist"),
    "implements-wrong-name": (put("Other", *DOC, "implements", 0, "type_name"), "node:Doc implements `Other` (id 1)"),
    "source-unknown": (put(1, *WROTE, "from_type", "type_id"), "edge:Wrote starts at `Person` (id 1), which does not exist"),
    "target-wrong-name": (put("Person", *WROTE, "to_type", "type_name"), "edge:Wrote ends at `Person` (id 2)"),
    "embed-unknown": (put(12, *VEC, "embed_source", "source", "property_id"), "node:Doc.vec embeds `Doc.body` (id 12)"),
    "embed-other-owner": (put(3, *VEC, "embed_source", "source", "owner_type_id"), "node:Doc.vec embeds `Doc.body` (id 6)"),
    "link-unknown": (
        put("title", *NAME, "satisfies_interface_properties", 0, "property_name"),
        "node:Doc.name satisfies `Named.title` (id 5), which does not exist in an implemented interface",
    ),
    "link-not-implemented": (put([], *PERSON, "implements"), "node:Person.name satisfies `Named.name`"),
    "injected-from-nowhere": (put(False, *BODY, "declared_directly"), "node:Doc.body is not declared directly and comes from no"),
    "constraint-field-unknown": (
        put("title", *DOC, "constraints", 0, "field", "property_name"),
        "a constraint of node:Doc names `Doc.title` (id 6), which does not exist",
    ),
    "system-field-other-table": (
        put(16, *WROTE, "constraints", 0, "fields", 0, "table_incarnation_id"),
        "a constraint of edge:Wrote names a column of table `Wrote` (id 4)",
    ),
    "system-field-role": (put("rowid", *WROTE, "constraints", 0, "fields", 0, "role"), "expected id, src or dst"),
    "endpoint-column-on-node": (
        put(
            {"kind": "system", "stable_table_id": 2, "table_type_name": "Doc", "table_incarnation_id": 15, "role": "src"},
            *DOC,
            "constraints",
            0,
            "field",
        ),
        "a constraint of node:Doc names `src`, which only edges have",
    ),
    "constraint-without-fields": (put([], *DOC, "constraints", 3, "fields"), "node:Doc has a constraint without fields"),
    "constraint-kind": (put("primary", *DOC, "constraints", 0, "kind"), "expected a constraint of kind"),
    "field-kind": (put("column", *DOC, "constraints", 0, "field", "kind"), "expected a field of kind property or system"),
    "reserved-storage-name": (put("_rowid", *BODY, "name"), "node:Doc._rowid uses a reserved property name"),
    "reserved-implicit-name": (put("id", *BODY, "name"), "node:Doc.id uses a reserved property name"),
    "reserved-on-edge": (put("dst", *WROTE, "properties", 0, "name"), "edge:Wrote.dst uses a reserved property name"),
    "type-name": (put("doc", *DOC, "name"), "node:doc is not a type name"),
    "property-name": (put("Body", *BODY, "name"), "node:Doc.Body is not a property name"),
    "unknown-word": (put(["indexed"], *BODY, "property_constraints"), "unknown property constraint `indexed`"),
    "typed-note": (put("embed", *DOC, "annotations", 0, "name"), "node:Doc keeps @embed as an annotation"),
    "empty-kwargs": (put({}, *DOC, "annotations", 1, "kwargs"), "expected an object with at least one field"),
    "scalar-unknown": (put("Text", *BODY, "prop_type", "scalar"), "at nodes[0].properties[0].prop_type.scalar: unknown scalar"),
    "scalar-vector-text": (put("Vector", *BODY, "prop_type", "scalar"), "unknown scalar type `Vector`"),
    "vector-zero": (put({"Vector": 0}, *VEC, "prop_type", "scalar"), "0 is not between 1 and 2147483647"),
    "vector-list": (put(True, *VEC, "prop_type", "list"), "node:Doc.vec is a list of Vector"),
    "enum-empty": (put([], *KIND, "prop_type", "enum_values"), "node:Doc.kind has an impossible enum type"),
    "enum-of-numbers": (put("I32", *KIND, "prop_type", "scalar"), "node:Doc.kind has an impossible enum type"),
    "enum-list": (put(True, *KIND, "prop_type", "list"), "node:Doc.kind has an impossible enum type"),
    "cardinality-crossed": (put(4, *WROTE, "cardinality", "min"), "edge:Wrote has cardinality 4..3"),
    "cardinality-too-large": (put(2**32, *WROTE, "cardinality", "max"), "at edges[0].cardinality.max: 4294967296"),
    "bound-text": (put({"Float": "0.5"}, *DOC, "constraints", 4, "min"), "expected a finite number with a fraction"),
    "bound-infinite": (put({"Float": float("inf")}, *DOC, "constraints", 4, "min"), "expected a finite number with a fraction"),
    "bound-too-large": (put({"Integer": 2**63}, *DOC, "constraints", 5, "max"), "is not between"),
    "bound-bare": (put(3, *DOC, "constraints", 5, "max"), "at nodes[0].constraints[5].max: expected an object"),
    "boolean-id": (put(True, *DOC, "type_id"), "at nodes[0].type_id: expected an integer"),
    "number-as-flag": (put(1, *BODY, "declared_directly"), "expected true or false"),
    "null-name": (put(None, *DOC, "name"), "at nodes[0].name: expected a string"),
    "lone-surrogate": (put("\ud800", *DOC, "annotations", 0, "value"), "the string is not valid Unicode"),
    "object-for-list": (put({}, "nodes"), "at nodes: expected a list"),
    "list-for-object": (put([], *WROTE, "cardinality"), "at edges[0].cardinality: expected an object"),
    "unknown-field": (put(1, *DOC, "extra"), "at nodes[0]: unknown field `extra`"),
    "missing-field": (lambda d: at(d, *DOC).pop("implements"), "at nodes[0]: field `implements` is missing"),
}


JUNK: tuple[object, ...] = (None, True, 0, 7, -1, 2**70, 1.5, float("nan"), "", "x", "Doc", "\udc00", [], [7], {}, {"kind": 3})


class TestRefusing:
    @pytest.mark.parametrize("case", CORRUPTIONS)
    def test_corrupt_ir_is_refused_by_name(self, case: str) -> None:
        corrupt, fragment = CORRUPTIONS[case]
        data = rich_json()
        corrupt(data)
        with pytest.raises(SchemaIdentityError) as caught:
            SchemaIR.from_json(data)
        assert fragment in caught.value.message
        assert "invalid schema IR" in caught.value.message
        assert "backup" in caught.value.hint

    @pytest.mark.parametrize("data", [None, 1, "x", [], True, {}, [{}], {1: 2}], ids=repr)
    def test_something_else_altogether(self, data: object) -> None:
        with pytest.raises(SchemaIdentityError):
            SchemaIR.from_json(data)

    @pytest.mark.parametrize(
        "text",
        ["", "{", "nonsense", '{"ir_version":2,"ir_version":2}', "[" * 100_000, "1" * 5_000, "\ufeff{}", '"\ud800"'],
        ids=["empty", "open", "word", "repeated-field", "deep", "huge-number", "bom", "surrogate"],
    )
    def test_text_that_is_not_an_ir(self, text: str) -> None:
        with pytest.raises(SchemaIdentityError):
            read_ir_text(text)

    def test_all_broken_rules_are_told_at_once(self) -> None:
        ir = accept("node A { x: I32 }")
        broken = replace(ir, domain="d", nodes=(replace(ir.nodes[0], type_id=0, name="a"),))
        assert len(list(ir_problems(broken))) == 3
        with pytest.raises(SchemaIdentityError, match=r"ULID; .*id zero; .*not a type name"):
            check_ir(broken)

    @settings(max_examples=300, deadline=None)
    @given(st.data())
    def test_no_damage_makes_reading_fail_in_any_other_way(self, data: st.DataObject) -> None:
        damaged = rich_json()
        holder, key = data.draw(st.sampled_from(list(_slots(damaged))))
        junk = data.draw(st.sampled_from(JUNK))
        if data.draw(st.booleans()):
            holder[key] = junk  # type: ignore[index]
        else:
            del holder[key]  # type: ignore[arg-type]
        try:
            ir = SchemaIR.from_json(damaged)
        except SchemaIdentityError:
            return
        assert SchemaIR.from_json(json.loads(compact(ir.to_json()))) == ir


def _slots(data: object) -> Iterator[tuple[dict[str, object] | list[object], str | int]]:
    """Every place in a JSON value."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield data, key
            yield from _slots(value)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield data, index
            yield from _slots(value)
