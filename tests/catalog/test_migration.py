"""Migration plans. Numbers M1 to M18 are those of the language specification, section 3.5; the table is its section 3.2."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.catalog.schema_texts import DOMAIN, Blocks, accept, schema_blocks, shape, shuffled, text_of

from omnigraph.catalog.canonical_json import Json, compact
from omnigraph.catalog.identity import resolve
from omnigraph.catalog.ir import SchemaIR
from omnigraph.catalog.migration import MigrationPlan, plan, plan_change, planner, refuse_unsupported, render_plan
from omnigraph.catalog.migration.codes import CODES, Family, Severity, Status, Tier
from omnigraph.catalog.migration.render import constraint_text, render_step
from omnigraph.catalog.migration.steps import (
    AddConstraint,
    AddProperty,
    AddType,
    DropMode,
    DropProperty,
    DropType,
    ExtendEnum,
    Refusal,
    RenameProperty,
    RenameType,
    RequireProperty,
    TightenCardinality,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
)
from omnigraph.catalog.shape import Check, Index, Key, Note, Range, Unique
from omnigraph.errors import ParseError, SchemaError, SchemaIdentityError, UnsupportedChange, UsageError
from omnigraph.language.source import Source
from omnigraph.model.types import PropertyType, Scalar


def change(before: str, after: str, *, allow_data_loss: bool = False) -> MigrationPlan:
    return plan_change(accept(before), Source(after, "desired.pg"), allow_data_loss=allow_data_loss)[0]


def summary(found: MigrationPlan) -> list[str]:
    """Rendered steps; of a refusal only the entity and the code."""
    return [re.sub(r"^unsupported change on ([^ ]+?)( \[.*?\])?: .*$", r"no \1\2", render_step(s)) for s in found.steps]


@dataclass(frozen=True)
class Row:
    """A change and the steps it comes to."""

    before: str
    after: str
    steps: tuple[str, ...]

    def check(self) -> None:
        assert summary(change(self.before, self.after)) == list(self.steps)


def case(before: str, after: str, *steps: str) -> Row:
    return Row(before, after, steps)


def on_node(before: str, after: str, *steps: str) -> Row:
    """A change inside `node T`."""
    return Row(f"node T {{ {before} }}", f"node T {{ {after} }}", steps)


NUMBERED: Mapping[str, Row] = {
    "M1": case(
        "node Person { name: String }",
        "node Person { name: String nickname: String? }",
        "add property 'Person.nickname' (String?) on node 'Person'",
    ),
    "M2": case("node Person {}", "node Person { email: String }", "no node:Person.email [OG-MF-103, validated]"),
    "M3": case(
        "node Person { name: String } edge Knows: Person -> Person",
        'node Human @rename_from("Person") { name: String } edge Knows: Human -> Human',
        "rename node type 'Person' -> 'Human'",
    ),
    "M4": case("node P { age: I32? }", "node P { age: I64? }", "no node:P.age [OG-MF-106, destructive]"),
    "M5": case(
        "node P { status: enum(open, done) }",
        "node P { status: enum(done, open, blocked) }",
        "extend enum 'P.status' (+blocked) on node 'P'",
    ),
    "M6": case(
        "node P { status: enum(open, done) }",
        "node P { status: enum(done, blocked) }",
        "no node:P.status [OG-MF-106, destructive]",
    ),
    "M7": case(
        "node P { status: enum(open, done) }",
        'node P { state: enum(open, done, blocked) @rename_from("status") }',
        "rename property 'P.status' -> 'P.state' on node 'P'",
        "extend enum 'P.state' (+blocked) on node 'P'",
    ),
    "M8": case("node P { name: String }", "node P { name: String @index }", "add constraint @index(name) on node 'P'"),
    "M9": case("node P { name: String @index }", "node P { name: String }", "no node:P.name"),
    "M10": case("node P { age: I32? }", "node P {}", "drop property 'P.age' of node 'P' (soft mode)"),
    "M12": case("node P {} node Q {}", "node Q {}", "drop node type 'P' (soft mode)"),
    "M13": case("node P { b: I32 a: enum(x, y) } node A {}", "/* c */ node A {} node P { a: enum(y, x) b: I32 } // d"),
    "M14": case("node A {} edge E: A -> A @card(0..1)", "node A {} edge E: A -> A @card(0..2)", "no edge:E"),
    "M15": case(
        'node A @description("old") {}', 'node A @description("new") {}', "update metadata on node 'A' (@description(\"new\"))"
    ),
    "M16": case("node A {}", 'node A @owner("x") {}', "no node:A"),
    "M18": case("node Person {} node B {}", "node B {}", "drop node type 'Person' (soft mode)"),
}

MF103 = "[OG-MF-103, validated]"
MF106 = "[OG-MF-106, destructive]"

TABLE: Mapping[str, Row] = {
    "add-interface": case("", "interface I {}", "add interface type 'I'"),
    "add-node": case("", "node A { x: I32 @key }", "add node type 'A'"),
    "add-edge": case("node A {}", "node A {} edge E: A -> A { x: I32 }", "add edge type 'E'"),
    "rename-node": case("node A {}", 'node B @rename_from("A") {}', "rename node type 'A' -> 'B'"),
    "rename-edge": case("node A {} edge E: A -> A", 'node A {} edge F: A -> A @rename_from("E")', "rename edge type 'E' -> 'F'"),
    "remove-interface": case("interface I {}", "", "no interface:I"),
    "rename-interface-is-removal": case("interface I {}", "interface J {}", "add interface type 'J'", "no interface:I"),
    "implement-another": case("interface I {} node A {}", "interface I {} node A implements I {}", "no node:A"),
    "implement-no-more": case("interface I {} node A implements I {}", "interface I {} node A {}", "no node:A"),
    "change-endpoint": case("node A {} node B {} edge E: A -> A", "node A {} node B {} edge E: A -> B", "no edge:E"),
    "swap-endpoints": case("node A {} node B {} edge E: A -> B", "node A {} node B {} edge E: B -> A", "no edge:E"),
    "renamed-endpoint": case(
        "node A {} node B {} edge E: A -> B",
        'node C @rename_from("A") {} node B {} edge E: C -> B',
        "rename node type 'A' -> 'C'",
    ),
    "tighten-cardinality": case(
        "node A {} edge E: A -> A", "node A {} edge E: A -> A @card(0..1)", "tighten cardinality of edge 'E' to @card(0..1)"
    ),
    "tighten-cardinality-at-both-ends": case(
        "node A {} edge E: A -> A @card(0..9)",
        "node A {} edge E: A -> A @card(1..2)",
        "tighten cardinality of edge 'E' to @card(1..2)",
    ),
    "shift-cardinality": case("node A {} edge E: A -> A @card(0..1)", "node A {} edge E: A -> A @card(1..2)", "no edge:E"),
    "relax-cardinality": case("node A {} edge E: A -> A @card(1..1)", "node A {} edge E: A -> A", "no edge:E"),
    "spell-out-default-cardinality": case("node A {} edge E: A -> A", "node A {} edge E: A -> A @card(0..)"),
    "add-nullable": on_node("", "x: [Date]?", "add property 'T.x' ([Date]?) on node 'T'"),
    "add-nullable-enum": on_node("", "x: enum(b, a)?", "add property 'T.x' (Enum(a|b)?) on node 'T'"),
    "add-nullable-edge-property": case(
        "node A {} edge E: A -> A", "node A {} edge E: A -> A { x: I32? }", "add property 'E.x' (I32?) on edge 'E'"
    ),
    "add-required": on_node("", "x: I32", f"no node:T.x {MF103}"),
    "add-required-edge-property": case("node A {} edge E: A -> A", "node A {} edge E: A -> A { x: I32 }", f"no edge:E.x {MF103}"),
    "add-nullable-indexed": on_node(
        "", "x: I32? @index", "add property 'T.x' (I32?) on node 'T'", "add constraint @index(x) on node 'T'"
    ),
    "add-nullable-unique": on_node(
        "", "x: I32? @unique", "add property 'T.x' (I32?) on node 'T'", "add constraint @unique(x) on node 'T'"
    ),
    "add-nullable-ranged": on_node(
        "", "x: I32? @range(x, 0..1)", "add property 'T.x' (I32?) on node 'T'", "add constraint @range(x, 0..1) on node 'T'"
    ),
    "add-nullable-embedded": on_node(
        "s: String", "s: String v: Vector(3)? @embed(s)", "add property 'T.v' (Vector(3)?) on node 'T'"
    ),
    "add-nullable-annotated": on_node("", 'x: I32? @description("d") @own', "add property 'T.x' (I32?) on node 'T'"),
    "rename-property": on_node("x: I32", 'y: I32 @rename_from("x")', "rename property 'T.x' -> 'T.y' on node 'T'"),
    "rename-edge-property": case(
        "node A {} edge E: A -> A { x: I32 @index }",
        'node A {} edge E: A -> A { y: I32 @index @rename_from("x") }',
        "rename property 'E.x' -> 'E.y' on edge 'E'",
    ),
    "widen-enum": on_node("x: enum(a, c)", "x: enum(a, b, c, d)", "extend enum 'T.x' (+b, +d) on node 'T'"),
    "rename-and-widen": on_node(
        "x: enum(a)",
        'y: enum(a, b) @rename_from("x")',
        "rename property 'T.x' -> 'T.y' on node 'T'",
        "extend enum 'T.y' (+b) on node 'T'",
    ),
    "rename-and-retype": on_node(
        "x: I32", 'y: I64 @rename_from("x")', "rename property 'T.x' -> 'T.y' on node 'T'", f"no node:T.y {MF106}"
    ),
    "reorder-enum": on_node("x: enum(a, b)", "x: enum(b, a)"),
    "narrow-enum": on_node("x: enum(a, b)", "x: enum(a)", f"no node:T.x {MF106}"),
    "replace-enum-value": on_node("x: enum(a, b)", "x: enum(a, c)", f"no node:T.x {MF106}"),
    "enum-to-string": on_node("x: enum(a, b)", "x: String", f"no node:T.x {MF106}"),
    "string-to-enum": on_node("x: String", "x: enum(a, b)", f"no node:T.x {MF106}"),
    "widen-enum-and-make-nullable": on_node("x: enum(a)", "x: enum(a, b)?", f"no node:T.x {MF106}"),
    "nullable-to-required": on_node("x: I32?", "x: I32", "require property 'T.x' on node 'T'"),
    "widen-enum-and-require": on_node("x: enum(a)?", "x: enum(a, b)", f"no node:T.x {MF106}"),
    "required-to-nullable": on_node("x: I32", "x: I32?", f"no node:T.x {MF106}"),
    "wider-number": on_node("x: I32", "x: I64", f"no node:T.x {MF106}"),
    "vector-dimension": on_node("x: Vector(3)", "x: Vector(4)", f"no node:T.x {MF106}"),
    "scalar-to-list": on_node("x: I32", "x: [I32]", f"no node:T.x {MF106}"),
    "add-index-on-property": on_node("x: I32", "x: I32 @index", "add constraint @index(x) on node 'T'"),
    "add-index-in-body": on_node("x: I32", "x: I32 @index(x)", "add constraint @index(x) on node 'T'"),
    "add-index-in-both-forms": on_node("x: I32", "x: I32 @index @index(x)", "add constraint @index(x) on node 'T'"),
    "add-composite-index": on_node("x: I32 y: I32", "x: I32 y: I32 @index(y, x)", "add constraint @index(x, y) on node 'T'"),
    "add-index-on-edge": case(
        "node A {} edge E: A -> A", "node A {} edge E: A -> A { @index(src, dst) }", "add constraint @index(dst, src) on edge 'E'"
    ),
    "add-key-on-property": on_node("x: I32", "x: I32 @key", "no node:T.x"),
    "add-key-in-body": on_node("x: I32", "x: I32 @key(x)", "no node:T"),
    "add-unique-on-property": on_node("x: I32", "x: I32 @unique", "add constraint @unique(x) on node 'T'"),
    "add-unique-in-body": on_node("x: I32 y: I32", "x: I32 y: I32 @unique(x, y)", "add constraint @unique(x, y) on node 'T'"),
    "add-unique-on-edge": case(
        "node A {} edge E: A -> A",
        "node A {} edge E: A -> A { @unique(src, dst) }",
        "add constraint @unique(dst, src) on edge 'E'",
    ),
    "add-range": on_node("x: I32", "x: I32 @range(x, 0..1)", "add constraint @range(x, 0..1) on node 'T'"),
    "add-check": on_node("x: String", 'x: String @check(x, "a")', "add constraint @check(x, \"a\") on node 'T'"),
    "remove-index-on-property": on_node("x: I32 @index", "x: I32", "no node:T.x"),
    "remove-index-in-body": on_node("x: I32 @index(x)", "x: I32", "no node:T"),
    "remove-key": on_node("x: I32 @key", "x: I32", "no node:T.x"),
    "remove-unique": on_node("x: I32 @unique(x)", "x: I32", "no node:T"),
    "remove-range": on_node("x: I32 @range(x, 0..1)", "x: I32", "no node:T"),
    "remove-check": on_node('x: String @check(x, "a")', "x: String", "no node:T"),
    "change-range": on_node(
        "x: I32 @range(x, 0..1)", "x: I32 @range(x, 0..2)", "no node:T", "add constraint @range(x, 0..2) on node 'T'"
    ),
    "respell-range": on_node(
        "x: F64 @range(x, 0..1)", "x: F64 @range(x, 0.0..1.0)", "no node:T", "add constraint @range(x, 0.0..1.0) on node 'T'"
    ),
    "change-check": on_node(
        'x: String @check(x, "a")', 'x: String @check(x, "b")', "no node:T", "add constraint @check(x, \"b\") on node 'T'"
    ),
    "extend-key": on_node("x: I32 y: I32 @key(x)", "x: I32 y: I32 @key(x, y)", "no node:T", "no node:T"),
    "index-from-property-to-body": on_node("x: I32 @index", "x: I32 @index(x)", "no node:T.x"),
    "index-from-body-to-property": on_node("x: I32 @index(x)", "x: I32 @index", "add constraint @index(x) on node 'T'"),
    "index-in-body-and-now-on-property": on_node(
        "x: I32 @index(x)", "x: I32 @index @index(x)", "add constraint @index(x) on node 'T'"
    ),
    "unique-from-property-to-body": on_node("x: I32 @unique", "x: I32 @unique(x)", "no node:T.x"),
    "unique-from-body-to-property": on_node("x: I32 @unique(x)", "x: I32 @unique", "add constraint @unique(x) on node 'T'"),
    "key-from-body-to-property": on_node("x: I32 @key(x)", "x: I32 @key", "no node:T.x"),
    "key-from-property-to-body": on_node("x: I32 @key", "x: I32 @key(x)", "no node:T.x"),
    "reorder-columns": on_node("x: I32 y: I32 @key(x, y)", "x: I32 y: I32 @key(y, x)"),
    "rename-constrained-column": on_node(
        'x: String @key y: I32 @range(y, 0..1) @unique(x, y) @check(x, "a")',
        'z: String @key @rename_from("x") y: I32 @range(y, 0..1) @unique(y, z) @check(z, "a")',
        "rename property 'T.x' -> 'T.z' on node 'T'",
    ),
    "rename-and-index": on_node(
        "x: I32",
        'y: I32 @index @rename_from("x")',
        "rename property 'T.x' -> 'T.y' on node 'T'",
        "add constraint @index(y) on node 'T'",
    ),
    "add-embed": on_node("s: String v: Vector(3)?", "s: String v: Vector(3)? @embed(s)", "no node:T.v"),
    "remove-embed": on_node("s: String v: Vector(3)? @embed(s)", "s: String v: Vector(3)?", "no node:T.v"),
    "change-embed-source": on_node(
        "s: String t: String v: Vector(3)? @embed(s)", "s: String t: String v: Vector(3)? @embed(t)", "no node:T.v"
    ),
    "change-embed-model": on_node(
        's: String v: Vector(3)? @embed(s, model="a")', 's: String v: Vector(3)? @embed(s, model="b")', "no node:T.v"
    ),
    "rename-embed-source": on_node(
        "s: String v: Vector(3)? @embed(s)",
        't: String @rename_from("s") v: Vector(3)? @embed(t)',
        "rename property 'T.s' -> 'T.t' on node 'T'",
    ),
    "add-description": case("node A {}", 'node A @description("d") {}', "update metadata on node 'A' (@description(\"d\"))"),
    "remove-description": case('node A @description("d") {}', "node A {}", "update metadata on node 'A' (no annotations)"),
    "change-instruction-keeps-description": case(
        'node A {} edge E: A -> A @description("d") @instruction("i")',
        'node A {} edge E: A -> A @description("d") @instruction("j")',
        'update metadata on edge \'E\' (@description("d") @instruction("j"))',
    ),
    "change-property-description": on_node(
        'x: I32 @description("d")',
        'x: I32 @description("e")',
        "update metadata on property 'T.x' of node 'T' (@description(\"e\"))",
    ),
    "add-custom": on_node("x: I32", "x: I32 @pii", "no node:T.x"),
    "remove-custom": case("node A @own {}", "node A {}", "no node:A"),
    "change-custom": case('node A @own("a", k=1) {}', 'node A @own("a", k=2) {}', "no node:A"),
    "describe-and-annotate": case(
        "node A {}", 'node A @description("d") @own {}', "update metadata on node 'A' (@description(\"d\"))", "no node:A"
    ),
    "direct-to-injected": case(
        "interface I { x: I32 } node A implements I { x: I32 }", "interface I { x: I32 } node A implements I {}", "no node:A.x"
    ),
    "injected-to-direct": case(
        "interface I { x: I32 } node A implements I {}", "interface I { x: I32 } node A implements I { x: I32 }", "no node:A.x"
    ),
    "new-interface-property-already-declared": case(
        "interface I {} node A implements I { x: I32? }",
        "interface I { x: I32? } node A implements I { x: I32? }",
        "add property 'I.x' (I32?) on interface 'I'",
        "no node:A.x",
    ),
    "new-interface-property": case(
        "interface I {} node A implements I {}",
        "interface I { x: I32? @index } node A implements I {}",
        "add property 'I.x' (I32?) on interface 'I'",
        "add property 'A.x' (I32?) on node 'A'",
        "add constraint @index(x) on node 'A'",
    ),
    "new-unique-interface-property": case(
        "interface I {} node A implements I {}",
        "interface I { x: I32? @unique } node A implements I {}",
        "add property 'I.x' (I32?) on interface 'I'",
        "add property 'A.x' (I32?) on node 'A'",
        "add constraint @unique(x) on node 'A'",
    ),
    "new-required-interface-property": case(
        "interface I {} node A implements I {}",
        "interface I { x: I32 } node A implements I {}",
        f"no interface:I.x {MF103}",
        f"no node:A.x {MF103}",
    ),
    "index-an-interface-property": case(
        "interface I { x: I32 } node A implements I {}",
        "interface I { x: I32 @index } node A implements I {}",
        "add constraint @index(x) on interface 'I'",
        "add constraint @index(x) on node 'A'",
    ),
    "rename-an-interface-property": case(
        "interface I { x: I32 @index } node A implements I {}",
        'interface I { y: I32 @index @rename_from("x") } node A implements I {}',
        "rename property 'I.x' -> 'I.y' on interface 'I'",
        "rename property 'A.x' -> 'A.y' on node 'A'",
    ),
    "drop-an-interface-property": case(
        "interface I { x: I32 } node A implements I {}",
        "interface I {} node A implements I {}",
        "drop property 'I.x' of interface 'I' (soft mode)",
        "drop property 'A.x' of node 'A' (soft mode)",
    ),
    "drop-node": case("node A {}", "", "drop node type 'A' (soft mode)"),
    "drop-edge": case("node A {} edge E: A -> A", "node A {}", "drop edge type 'E' (soft mode)"),
    "drop-node-with-its-edges": case(
        "node A {} edge E: A -> A", "", "drop node type 'A' (soft mode)", "drop edge type 'E' (soft mode)"
    ),
    "drop-property": on_node("x: I32", "", "drop property 'T.x' of node 'T' (soft mode)"),
    "drop-indexed-property": on_node("x: I32 @index", "", "drop property 'T.x' of node 'T' (soft mode)", "no node:T"),
    "drop-unique-property": on_node("x: I32 @unique", "", "drop property 'T.x' of node 'T' (soft mode)", "no node:T"),
    "drop-ranged-property": on_node("x: I32 @range(x, 0..1)", "", "drop property 'T.x' of node 'T' (soft mode)", "no node:T"),
    "drop-property-of-renamed-type": case(
        "node A { x: I32 }",
        'node B @rename_from("A") {}',
        "rename node type 'A' -> 'B'",
        "drop property 'B.x' of node 'B' (soft mode)",
    ),
    "drop-and-add-instead-of-rename": on_node(
        "x: I32?", "y: I32?", "add property 'T.y' (I32?) on node 'T'", "drop property 'T.x' of node 'T' (soft mode)"
    ),
}


class TestCases:
    @pytest.mark.parametrize("number", NUMBERED)
    def test_numbered_case(self, number: str) -> None:
        NUMBERED[number].check()

    @pytest.mark.parametrize("row", TABLE)
    def test_row_of_the_table(self, row: str) -> None:
        TABLE[row].check()

    @pytest.mark.parametrize("row", [*NUMBERED, *TABLE])
    def test_accepting_a_change_leaves_nothing_to_change(self, row: str) -> None:
        entry = {**NUMBERED, **TABLE}[row]
        accepted = accept(entry.before, entry.after)
        assert plan_change(accepted, Source(entry.after))[0].steps == ()

    def test_m11_allowed_data_loss_makes_every_drop_hard(self) -> None:
        found = change("node A { x: I32 } node B {} edge E: A -> A", "node A {}", allow_data_loss=True)
        assert found.steps == (
            DropProperty("node", "A", "x", DropMode.HARD),
            DropType("node", "B", DropMode.HARD),
            DropType("edge", "E", DropMode.HARD),
        )
        assert render_plan(found)[0] == "drop property 'A.x' of node 'A' (hard mode)"

    def test_m13_no_steps_is_supported_and_says_so(self) -> None:
        found = change("node A {}", "// nothing new\nnode A {}")
        assert found.to_json() == {"supported": True, "steps": []}
        assert render_plan(found) == ("no schema changes",)

    def test_m18_readded_type_is_new(self) -> None:
        first = accept("node Person { name: String } node B {}")
        dropped = accept("node Person { name: String } node B {}", "node B {}")
        found, resolution = plan_change(dropped, Source("node Person { name: String } node B {}"))
        assert found.steps == (AddType("node", "Person"),)
        person = next(n for n in resolution.ir.nodes if n.name == "Person")
        assert min(person.type_id, person.incarnation, person.properties[0].property_id) >= first.next_id

    def test_dropping_a_node_an_edge_points_at_is_an_error_of_the_schema(self) -> None:
        with pytest.raises(SchemaError, match="unknown node type `A`"):
            change("node A {} node B {} edge E: B -> A", "node B {} edge E: B -> A")

    def test_errors_of_the_text_come_through_unchanged(self) -> None:
        with pytest.raises(ParseError):
            change("node A {}", "node A {")
        with pytest.raises(SchemaIdentityError, match="no accepted declaration has that name"):
            change("node A {}", 'node B @rename_from("C") {}')

    def test_notices_come_with_the_plan(self) -> None:
        found, resolution = plan_change(accept("node A {}"), Source('node A @rename_from("Old") {}'))
        assert found.steps == ()
        assert [notice.entity for notice in resolution.notices] == ["node:A"]


class TestOrder:
    def test_everything_at_once(self) -> None:
        before = """
            interface I { x: I32? }  interface Gone {}
            node A @description("a") { d: I32 e: enum(a) n: String }
            node Z {}
            edge E: A -> A { w: I32? }
            edge X: A -> A
        """
        after = """
            interface I { x: I32? }  interface Fresh {}
            node B @rename_from("A") @description("b") { a: I32? e: enum(a, b) m: String @index @rename_from("n") @index(e) }
            node Aa {}
            edge F: B -> Aa @card(0..1) @rename_from("E") { w: I32? @unique @description("w") }
        """
        assert summary(change(before, after)) == [
            "add interface type 'Fresh'",
            "no interface:Gone",
            "add node type 'Aa'",
            "rename node type 'A' -> 'B'",
            "update metadata on node 'B' (@description(\"b\"))",
            "add property 'B.a' (I32?) on node 'B'",
            "extend enum 'B.e' (+b) on node 'B'",
            "rename property 'B.n' -> 'B.m' on node 'B'",
            "add constraint @index(m) on node 'B'",
            "drop property 'B.d' of node 'B' (soft mode)",
            "add constraint @index(e) on node 'B'",
            "drop node type 'Z' (soft mode)",
            "rename edge type 'E' -> 'F'",
            "no edge:F",
            "tighten cardinality of edge 'F' to @card(0..1)",
            "add constraint @unique(w) on edge 'F'",
            "update metadata on property 'F.w' of edge 'F' (@description(\"w\"))",
            "drop edge type 'X' (soft mode)",
        ]

    def test_worked_example_of_the_planner(self) -> None:
        before = "node Person { name: String state: enum(open, done) age: I32? } edge Knows: Person -> Person @card(0..9)"
        after = """
            node Human @rename_from("Person") {
                name: String @index
                status: enum(open, done, stuck) @rename_from("state")
            }
            edge Knows: Human -> Human
        """
        lines = render_plan(change(before, after))
        assert planner.__doc__ is not None
        assert [line.strip() for line in planner.__doc__.splitlines() if line.strip() in lines] == list(lines[:-1])
        assert lines[-1].startswith("unsupported change on edge:Knows: the cardinality of edge Knows cannot change ")

    def test_one_property_in_every_respect(self) -> None:
        before = 'interface I { x: Vector(3)? } node A implements I { s: String x: Vector(3)? @description("a") @own }'
        after = "interface I { x: Vector(4)? @index @embed(s) s: String } node A implements I { s: String }"
        reasons = [r.reason for r in change(before, after).refusals if r.entity == "node:A.x"]
        words = ["cannot change its type", "@embed of A.x", "is declared in the node", "custom annotations"]
        assert [next(w for w in words if w in reason) for reason in reasons] == words


class TestRefusals:
    @pytest.mark.parametrize("row", [*NUMBERED, *TABLE])
    def test_a_reason_is_one_sentence_that_says_what_to_do_instead(self, row: str) -> None:
        entry = {**NUMBERED, **TABLE}[row]
        found = change(entry.before, entry.after)
        assert found.supported == (not found.refusals)
        for refusal in found.refusals:
            problem, _, advice = refusal.reason.partition("; ")
            assert "cannot" in problem
            assert re.match(r"(keep|add|leave|put)\b", advice)
            assert not refusal.reason.endswith(".")

    def test_refusing_raises_the_first_reason_with_its_code(self) -> None:
        with pytest.raises(UnsupportedChange) as caught:
            refuse_unsupported(change("node A { y: I32? }", "node A { x: I32 y: I64? }"))
        assert caught.value.message == (
            "[OG-MF-103] A.x cannot be added as required I32, because existing entities would have no value; "
            "add it as I32? and fill it in, or say what they are to have (backfill)"
        )

    def test_refusing_without_a_code(self) -> None:
        with pytest.raises(UnsupportedChange) as caught:
            refuse_unsupported(change("node A {} edge E: A -> A @card(0..1)", "node A {} edge E: A -> A"))
        assert caught.value.message == (
            "the cardinality of edge E cannot change from @card(0..1) to @card(0..), which allows what was not allowed; "
            "keep it, or add a new edge type and load the edges there"
        )

    def test_supported_plan_is_not_refused(self) -> None:
        refuse_unsupported(change("node A {}", "node A { x: I32? }"))

    def test_difference_nobody_classified(self) -> None:
        accepted = accept("node A {}")
        found = plan(accepted, replace(accepted, next_id=accepted.next_id + 1))
        (refusal,) = found.refusals
        assert refusal.entity == "schema"
        assert "unclassified semantic IR change" in refusal.reason
        assert not found.supported

    def test_renamed_interface_is_refused_when_an_ir_says_so(self) -> None:
        accepted = accept("interface I {}")
        renamed = replace(accepted, interfaces=(replace(accepted.interfaces[0], name="J"),))
        assert summary(plan(accepted, renamed)) == ["no interface:J"]


class TestBackfill:
    """Values for entities that exist make a property required that could not be otherwise."""

    @staticmethod
    def lines(before: str, after: str, **values: Json) -> list[str]:
        named = {name.replace("__", "."): value for name, value in values.items()}
        return list(render_plan(plan_change(accept(before), Source(after), backfill=named)[0]))

    def test_a_required_property_comes_with_a_value(self) -> None:
        assert self.lines("node A {}", "node A { x: I32 v: Vector(2)? }", A__x=7, A__v=[1, 0.5]) == [
            "add property 'A.v' (Vector(2)?) on node 'A' (existing: [1,0.5])",
            "add property 'A.x' (I32) on node 'A' (existing: 7)",
        ]

    def test_a_property_becomes_required_under_its_new_name(self) -> None:
        assert self.lines("node A { x: I32? }", 'node A { y: I32 @rename_from("x") }', A__y=0) == [
            "rename property 'A.x' -> 'A.y' on node 'A'",
            "require property 'A.y' on node 'A' (existing: 0)",
        ]

    def test_what_is_said_of_an_interface_holds_for_its_nodes_unless_they_say_otherwise(self) -> None:
        before = "interface I {} node A implements I {} node B implements I {}"
        after = "interface I { x: I32 } node A implements I {} node B implements I {}"
        assert self.lines(before, after, I__x=1, B__x=2) == [
            "add property 'I.x' (I32) on interface 'I' (existing: 1)",
            "add property 'A.x' (I32) on node 'A' (existing: 1)",
            "add property 'B.x' (I32) on node 'B' (existing: 2)",
        ]

    def test_a_value_nobody_has_use_for_is_an_error(self) -> None:
        with pytest.raises(UsageError, match=r"`A\.z`"):
            self.lines("node A { x: I32 }", "node A { x: I32 y: I32? }", A__z=1)
        with pytest.raises(UsageError, match=r"`A\.x`"):
            self.lines("node A { x: I32 }", "node A { x: I32 y: I32? }", A__x=1)

    def test_what_a_step_holds_can_be_compared(self) -> None:
        (step,) = plan_change(accept("node A {}"), Source("node A { v: Vector(2) }"), backfill={"A.v": [1, 2]})[0].steps
        assert step in {step}


class TestLineage:
    def test_another_domain(self) -> None:
        accepted = accept("node A {}")
        with pytest.raises(SchemaIdentityError, match="identity domain"):
            plan(accepted, replace(accepted, domain="01BX5ZZKBKACTAV9WEVGEMMVRZ"))

    def test_counter_that_went_back(self) -> None:
        accepted = accept("node A {} node B {}", "node A {}")
        with pytest.raises(SchemaIdentityError, match="is below the accepted"):
            plan(accepted, replace(accepted, next_id=4))

    def test_id_of_something_that_has_gone(self) -> None:
        with pytest.raises(SchemaIdentityError, match="node:B has id 2, which was given out before and has gone"):
            plan(accept("node A {} node B {}", "node A {}"), accept("node A {} node B {}"))

    def test_id_that_changed_its_meaning(self) -> None:
        accepted = accept("node A {} node B {}")
        first, second = accepted.nodes
        swapped = (
            replace(first, incarnation=second.incarnation),
            replace(second, incarnation=first.incarnation),
        )
        with pytest.raises(SchemaIdentityError, match="id 4 was the table of node:B and is now the table of node:A"):
            plan(accepted, replace(accepted, nodes=swapped))


class TestJson:
    def test_every_kind_of_step(self) -> None:
        note = Note("description", "d")
        steps = (
            AddType("node", "A"),
            RenameType("edge", "A", "B"),
            AddProperty("node", "A", "x", PropertyType(Scalar.STRING, True, enum_values=("a", "b"))),
            AddProperty("node", "A", "x", PropertyType(Scalar.I32), 7),
            RequireProperty("node", "A", "x"),
            RequireProperty("edge", "E", "x", "v"),
            TightenCardinality("E", 0, None),
            RenameProperty("node", "A", "x", "y"),
            AddConstraint("node", "A", Index(("x", "y"))),
            ExtendEnum("node", "A", "x", ("c",)),
            UpdateTypeMetadata("node", "A", (note,)),
            UpdatePropertyMetadata("node", "A", "x", ()),
            DropType("edge", "E", DropMode.SOFT),
            DropProperty("interface", "I", "x", DropMode.HARD),
            Refusal("node:A.x", "why", CODES["OG-MF-103"]),
            Refusal("schema", "why"),
        )
        assert [compact(step.to_json()) for step in steps] == [
            '{"kind":"add_type","type_kind":"node","name":"A"}',
            '{"kind":"rename_type","type_kind":"edge","from":"A","to":"B"}',
            '{"kind":"add_property","type_kind":"node","type_name":"A","property_name":"x",'
            '"property_type":{"scalar":"String","nullable":true,"list":false,"enum_values":["a","b"]}}',
            '{"kind":"add_property","type_kind":"node","type_name":"A","property_name":"x",'
            '"property_type":{"scalar":"I32","nullable":false,"list":false,"enum_values":null},"backfill":7}',
            '{"kind":"require_property","type_kind":"node","type_name":"A","property_name":"x"}',
            '{"kind":"require_property","type_kind":"edge","type_name":"E","property_name":"x","backfill":"v"}',
            '{"kind":"tighten_cardinality","type_kind":"edge","type_name":"E","min":0,"max":null}',
            '{"kind":"rename_property","type_kind":"node","type_name":"A","from":"x","to":"y"}',
            '{"kind":"add_constraint","type_kind":"node","type_name":"A","constraint":{"Index":["x","y"]}}',
            '{"kind":"extend_enum","type_kind":"node","type_name":"A","property_name":"x","added_values":["c"]}',
            '{"kind":"update_type_metadata","type_kind":"node","name":"A","annotations":[{"name":"description","value":"d"}]}',
            '{"kind":"update_property_metadata","type_kind":"node","type_name":"A","property_name":"x","annotations":[]}',
            '{"kind":"drop_type","type_kind":"edge","name":"E","mode":"soft"}',
            '{"kind":"drop_property","type_kind":"interface","type_name":"I","property_name":"x","mode":"hard"}',
            '{"kind":"unsupported_change","entity":"node:A.x","reason":"why","code":"OG-MF-103"}',
            '{"kind":"unsupported_change","entity":"schema","reason":"why"}',
        ]

    def test_plan(self) -> None:
        found = change("node A {}", "node A { x: I32 }").to_json()
        assert list(found) == ["supported", "steps"]
        assert found["supported"] is False


class TestRendering:
    def test_refusals_with_and_without_a_code(self) -> None:
        assert render_step(Refusal("node:A", "why")) == "unsupported change on node:A: why"
        coded = Refusal("node:A.x", "why", CODES["OG-MF-106"])
        assert render_step(coded) == "unsupported change on node:A.x [OG-MF-106, destructive]: why"

    def test_text_of_notes_is_escaped_as_in_a_schema(self) -> None:
        step = UpdateTypeMetadata("node", "A", (Note("description", 'say "hi"\n'), Note("x", None, (("k", "v"),))))
        assert render_step(step) == 'update metadata on node \'A\' (@description("say \\"hi\\"\\n") @x(k="v"))'

    @pytest.mark.parametrize(
        ("constraint", "text"),
        [
            (Key(("a", "b")), "@key(a, b)"),
            (Unique(("a",)), "@unique(a)"),
            (Index(("a",)), "@index(a)"),
            (Range("a", 0, None), "@range(a, 0..)"),
            (Range("a", None, 1.0), "@range(a, ..1.0)"),
            (Check("a", 'x"'), '@check(a, "x\\"")'),
        ],
    )
    def test_constraints(self, constraint: Key | Unique | Index | Range | Check, text: str) -> None:
        assert constraint_text(constraint) == text


class TestCodes:
    def test_catalogue(self) -> None:
        assert {code: (entry.tier.value, entry.status.value) for code, entry in CODES.items()} == {
            "OG-DS-101": ("destructive", "reserved"),
            "OG-DS-102": ("destructive", "catalogued"),
            "OG-DS-103": ("destructive", "catalogued"),
            "OG-DS-104": ("destructive", "catalogued"),
            "OG-DS-105": ("destructive", "reserved"),
            "OG-MF-103": ("validated", "emitted"),
            "OG-MF-104": ("validated", "reserved"),
            "OG-MF-106": ("destructive", "emitted"),
        }
        assert {entry.severity for entry in CODES.values()} == {Severity.ERROR}
        assert CODES["OG-MF-106"].family is Family.MF
        assert [tier.value for tier in Tier] == ["safe", "validated", "destructive"]
        assert [severity.value for severity in Severity] == ["error", "warn", "info"]

    @pytest.mark.parametrize("code", CODES)
    def test_code_has_the_format_and_a_known_family(self, code: str) -> None:
        assert re.fullmatch(r"OG-[A-Z]{2}-[0-9]{3}", code)
        assert CODES[code].family.name == code[3:5]
        assert str(CODES[code]) == code

    def test_families(self) -> None:
        assert {family.name for family in Family} == {"DS", "MF", "CD", "BC", "NM", "OW", "NL", "VE", "ED", "LK"}

    def test_exactly_the_codes_called_emitted_are_emitted(self) -> None:
        rows = [*NUMBERED.values(), *TABLE.values()]
        seen = {r.code.code for row in rows for r in change(row.before, row.after).refusals if r.code is not None}
        assert seen == {code for code, entry in CODES.items() if entry.status is Status.EMITTED}


class TestLaws:
    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_a_schema_is_no_change_of_itself(self, data: st.DataObject) -> None:
        blocks = data.draw(schema_blocks())
        accepted = accept(text_of(blocks))
        assert plan(accepted, accepted).steps == ()
        assert plan_change(accepted, Source(text_of(data.draw(shuffled(blocks)))))[0].steps == ()

    @settings(max_examples=120, deadline=None)
    @given(schema_blocks(), schema_blocks(), st.booleans())
    def test_any_two_schemas_have_a_plan(self, first: Blocks, second: Blocks, allow_data_loss: bool) -> None:
        accepted = accept(text_of(first))
        found, resolution = plan_change(accepted, Source(text_of(second)), allow_data_loss=allow_data_loss)
        kinds = [step.to_json()["kind"] for step in found.steps]
        assert found.supported == ("unsupported_change" not in kinds)
        assert bool(found.steps) == (shape(text_of(first)).hash() != shape(text_of(second)).hash())
        assert len(set(found.steps)) == len(found.steps) == len(render_plan(found)) or not found.steps
        assert "unclassified" not in compact(found.to_json())
        modes = {step.mode for step in found.steps if isinstance(step, DropType | DropProperty)}
        assert modes <= {DropMode.HARD if allow_data_loss else DropMode.SOFT}
        assert plan(resolution.ir, resolution.ir).steps == ()

    @settings(max_examples=40, deadline=None)
    @given(schema_blocks())
    def test_creating_everything_is_one_step_per_type(self, blocks: Blocks) -> None:
        found, resolution = plan_change(SchemaIR(DOMAIN, 1), Source(text_of(blocks)))
        assert found.steps == tuple(AddType(t.kind, t.name) for t in resolution.ir.types)

    @settings(max_examples=40, deadline=None)
    @given(schema_blocks())
    def test_dropping_everything_is_refused_only_for_interfaces(self, blocks: Blocks) -> None:
        accepted = accept(text_of(blocks))
        found = plan(accepted, resolve(shape(""), accepted, domain=DOMAIN).ir)
        assert [r.entity for r in found.refusals] == [f"interface:{i.name}" for i in accepted.interfaces]
        assert len(found.steps) == len(list(accepted.types))
