"""Changes of schemas and the steps they come to. Numbers M1 to M18 are those of the language specification, section 3.5; the table is
its section 3.2, with one difference in M4: numbers may become wider, and a required property optional."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tests.catalog.schema_texts import accept

from omnigraph.catalog.migration import MigrationPlan, plan_change
from omnigraph.catalog.migration.render import render_step
from omnigraph.language.source import Source


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
    "M4": case("node P { age: I32? }", "node P { age: I64? }", "widen property 'P.age' (I32 -> I64) on node 'P'"),
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
_RELAX = "no longer require property 'T.x' on node 'T'"

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
        "x: I32",
        'y: I64 @rename_from("x")',
        "rename property 'T.x' -> 'T.y' on node 'T'",
        "widen property 'T.y' (I32 -> I64) on node 'T'",
    ),
    "rename-and-narrow": on_node(
        "x: I64", 'y: I32 @rename_from("x")', "rename property 'T.x' -> 'T.y' on node 'T'", f"no node:T.y {MF106}"
    ),
    "reorder-enum": on_node("x: enum(a, b)", "x: enum(b, a)"),
    "narrow-enum": on_node("x: enum(a, b)", "x: enum(a)", f"no node:T.x {MF106}"),
    "replace-enum-value": on_node("x: enum(a, b)", "x: enum(a, c)", f"no node:T.x {MF106}"),
    "enum-to-string": on_node("x: enum(a, b)", "x: String", f"no node:T.x {MF106}"),
    "string-to-enum": on_node("x: String", "x: enum(a, b)", f"no node:T.x {MF106}"),
    "widen-enum-and-make-nullable": on_node("x: enum(a)", "x: enum(a, b)?", "extend enum 'T.x' (+b) on node 'T'", _RELAX),
    "rename-enum-value": on_node(
        "x: enum(a, b)", 'x: enum(a, c) @rename_value("b", to="c")', "rename enum values of 'T.x' (b -> c) on node 'T'"
    ),
    "rename-and-extend-enum": on_node(
        "x: enum(a, b)",
        'x: enum(a, c, d) @rename_value("b", to="c")',
        "rename enum values of 'T.x' (b -> c) on node 'T'",
        "extend enum 'T.x' (+d) on node 'T'",
    ),
    "renamed-enum-value-of-before": on_node("x: enum(a, c)", 'x: enum(a, c) @rename_value("b", to="c")'),
    "merge-enum-values": on_node("x: enum(a, b)", 'x: enum(a) @rename_value("b", to="a")', f"no node:T.x {MF106}"),
    "rename-enum-value-of-a-key": on_node(
        "x: enum(a, b) @key", 'x: enum(a, c) @key @rename_value("b", to="c")', f"no node:T.x {MF106}"
    ),
    "nullable-to-required": on_node("x: I32?", "x: I32", "require property 'T.x' on node 'T'"),
    "widen-enum-and-require": on_node(
        "x: enum(a)?", "x: enum(a, b)", "extend enum 'T.x' (+b) on node 'T'", "require property 'T.x' on node 'T'"
    ),
    "required-to-nullable": on_node("x: I32", "x: I32?", _RELAX),
    "wider-number": on_node("x: I32", "x: I64", "widen property 'T.x' (I32 -> I64) on node 'T'"),
    "wider-elements": on_node("x: [F32]?", "x: [F64]?", "widen property 'T.x' ([F32] -> [F64]) on node 'T'"),
    "wider-and-nullable": on_node("x: U32", "x: I64?", "widen property 'T.x' (U32 -> I64) on node 'T'", _RELAX),
    "wider-key": on_node("x: I32 @key", "x: I64 @key", "widen property 'T.x' (I32 -> I64) on node 'T'"),
    "narrower-number": on_node("x: I64", "x: I32", f"no node:T.x {MF106}"),
    "integer-to-float": on_node("x: I32", "x: F64", f"no node:T.x {MF106}"),
    "signed-to-unsigned": on_node("x: I32", "x: U64", f"no node:T.x {MF106}"),
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
    "add-edge-key": case("node A {} edge E: A -> A", "node A {} edge E: A -> A @key(src, dst)", "no edge:E"),
    "remove-edge-key": case("node A {} edge E: A -> A @key(src, dst)", "node A {} edge E: A -> A", "no edge:E"),
    "extend-edge-key": case(
        "node A {} edge E: A -> A @key(src, dst) { x: I32 }",
        "node A {} edge E: A -> A @key(src, dst, x) { x: I32 }",
        "no edge:E",
        "no edge:E",
    ),
    "edge-key-from-header-to-body": case(
        "node A {} edge E: A -> A @key(src, dst)", "node A {} edge E: A -> A { @key(dst, src) }"
    ),
    "add-edge-with-key": case("node A {}", "node A {} edge E: A -> A @key(src, dst)", "add edge type 'E'"),
    "rename-property-of-an-edge-key": case(
        "node A {} edge E: A -> A @key(src, dst, x) { x: I32 }",
        'node A {} edge E: A -> A @key(src, dst, y) { y: I32 @rename_from("x") }',
        "rename property 'E.x' -> 'E.y' on edge 'E'",
    ),
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
