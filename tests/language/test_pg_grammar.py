"""The grammar of `.pg`: what it reads, what it refuses, where it stops."""

from __future__ import annotations

import pytest

from omnigraph.errors import ParseError
from omnigraph.language import Source, parse_schema, read_schema
from omnigraph.language.pg import tree as pg
from omnigraph.model.types import PropertyType, Scalar


def parse(text: str) -> pg.Schema:
    return parse_schema(Source(text, "s.pg"))


def node(text: str) -> pg.Node:
    found = parse(text).declarations[0]
    assert isinstance(found, pg.Node)
    return found


def edge(text: str) -> pg.Edge:
    found = parse(text).declarations[-1]
    assert isinstance(found, pg.Edge)
    return found


def property_type(spelling: str) -> PropertyType:
    return node(f"node A {{ x: {spelling} }}").body.properties[0].type


ACCEPTED = {
    "keywords need no boundary": "nodePerson{}edgeKnows:Person->PersoninterfaceN{}",
    "implements needs no boundary": "interface Named {} node P implementsNamed {}",
    "keywords are property names": "node A { edge: String node: I32 enum: Bool interface: Date key: String }",
    "trivia between any two tokens": "node /* a */ A // b\n { x /**/ : String ? @ index }",
    "comment without newline at the end": "node A {} // end",
    "carriage returns": "node A {\r\n\tx: String\r\n}\r\n",
    "empty bodies": "node A {} interface B {} edge C: A -> A {} edge D: A -> A",
    "raw newline in a string": 'node A @description("two\nlines") {}',
    "slashes in a string": 'node A @description("http://x /* y */") {}',
    "annotations before implements": "interface I {} node A @x @y(1) implements I {}",
    "card before annotations": 'node A {} edge E: A -> A @card(0..) @description("d")',
    "constraints in the header of an edge": 'node A {} edge E: A -> A @key(src, dst) @description("d") @unique(src) { x: I32 }',
    "card like annotation": "node A {} edge E: A -> A @cardinal(3) @card(3) @card(99999999999)",
    "big number that is no bound": "node A { x: String @check(x, 99999999999999999999) }",
    "prefix of a constraint name": 'node A { x: String @keyed("a") @index_hint("a") @uniqueness }',
    "property glued to the next": "node A { x: Stringy: I32 }",
    "positional kinds": 'node A @s("x") @i(1) @f(1.5) @b(true) @n(name) @none {}',
    "range spacing": "node A { n: I32 @range(n, 0 .. 1) @range(n, ..5) @range(n, -1.5..) }",
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepts(text: str) -> None:
    parse(text)


REFUSED = {
    "comma between properties": "node A { x: String, y: I32 }",
    "trailing comma in enum": "node A { x: enum(a, b,) }",
    "trailing comma in implements": "node A implements I, {}",
    "trailing comma in constraint": "node A { x: String @key(x,) }",
    "quoted enum value": 'node A { x: enum("a") }',
    "empty enum": "node A { x: enum() }",
    "list of list": "node A { x: [[String]] }",
    "list of vector": "node A { x: [Vector(3)] }",
    "list of enum": "node A { x: [enum(a)] }",
    "default value": 'node A { x: String = "a" }',
    "card after annotation": 'node A {} edge E: A -> A @description("d") @card(0..1)',
    "implements before annotation": "interface I {} node A implements I @x {}",
    "interface with annotation": "interface I @x {}",
    "interface with constraint": "interface I { x: String @key(x) }",
    "interface with implements": "interface I implements J {}",
    "kwarg without value": 'node A { v: Vector(2) @embed(model="m") }',
    "kwarg with identifier": "node A @x(1, y=z) {}",
    "empty annotation parentheses": "node A @x() {}",
    "small type name": "node person {}",
    "capital property name": "node A { Name: String }",
    "unknown type": "node A { x: Text }",
    "missing colon": "node A { x String }",
    "missing arrow": "edge E: A B",
    "unclosed block comment": "node A {} /* never",
    "unclosed string": 'node A @description("never',
    "unclosed brace": "node A { x: String",
    "form feed": "node A {}\f",
    "no-break space": "node\u00a0A {}",
    "byte order mark": "\ufeffnode A {}",
    "unsupported escape": r'node A @description("a\u0041") {}',
    "word like a boolean": "node A { trueish: String @unique(trueish) }",
    "negative single bound": "node A { n: I32 @range(n, -5) }",
    "dots alone": "node A { n: I32 @range(n, ..) }",
    "signed vector": "node A { v: Vector(-1) }",
    "spaced number": "node A { v: Vector(1 2) }",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_refuses(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_a_constraint_annotation_with_parentheses_ends_the_property() -> None:
    body = node('node A { x: String @description("d") @unique(x) @whatever y: I32 }'.replace("@whatever ", "")).body
    assert [type(m).__name__ for m in body.members] == ["Property", "Constraint", "Property"]


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("String", PropertyType(Scalar.STRING)),
        ("String ?", PropertyType(Scalar.STRING, nullable=True)),
        ("[Date]?", PropertyType(Scalar.DATE, nullable=True, is_list=True)),
        ("DateTime", PropertyType(Scalar.DATETIME)),
        ("Vector( 3 )", PropertyType(Scalar.VECTOR, dimension=3)),
        ("enum(b, 1-on-1, 2x)?", PropertyType(Scalar.STRING, nullable=True, enum_values=("1-on-1", "2x", "b"))),
        *[(s.value, PropertyType(s)) for s in Scalar if s not in (Scalar.VECTOR, Scalar.DURATION)],
    ],
)
def test_types(spelling: str, expected: PropertyType) -> None:
    assert property_type(spelling) == expected


@pytest.mark.parametrize("spelling", ["I32?", "[Date]?", "Vector(3)", "enum(a, b)", "[Bool]", "U64"])
def test_display_name_is_the_canonical_spelling(spelling: str) -> None:
    assert str(property_type(spelling)) == spelling


@pytest.mark.parametrize(
    ("dimension", "fragment"),
    [("0", "must be greater than zero"), ("2147483648", "exceeds maximum"), ("4294967296", "invalid Vector dimension")],
)
def test_vector_dimensions(dimension: str, fragment: str) -> None:
    with pytest.raises(ParseError, match=fragment):
        property_type(f"Vector({dimension})")
    assert property_type("Vector(2147483647)").dimension == 2147483647


def test_cardinalities() -> None:
    assert edge("node A {} edge E: A -> A").cardinality is None
    assert edge("node A {} edge E: A -> A @card(1..)").cardinality == pg.Cardinality(1, None)
    assert edge("node A {} edge E: A -> A @card(0..4294967295)").cardinality == pg.Cardinality(0, 4294967295)
    with pytest.raises(ParseError, match="invalid cardinality"):
        edge("node A {} edge E: A -> A @card(0..4294967296)")


def test_card_with_a_single_number_is_an_ordinary_annotation() -> None:
    found = edge("node A {} edge E: A -> A @card(3)")
    assert found.cardinality is None
    assert found.annotations[0].name.text == "card"


def test_string_escapes_decode() -> None:
    annotation = node(r'node A @description("q\" b\\ n\n r\r t\t") {}').annotations[0]
    assert annotation.value is not None
    assert annotation.value.value == 'q" b\\ n\n r\r t\t'


def test_spans_point_at_the_text() -> None:
    text = "node Person {\n    name: String? @key\n}"
    person = node(text)
    prop = person.body.properties[0]
    assert text[slice(*person.span)] == text
    assert text[slice(*prop.span)] == "name: String? @key"
    assert text[slice(*prop.type_span)] == "String?"
    assert text[slice(*prop.annotations[0].span)] == "@key"


def test_reading_goes_on_after_a_declaration_that_cannot_be_read() -> None:
    text = "node A { x: Strin }\nnode B { y: I32 }\nedge E A -> B\nnode C { z: enum(a, a) }\n"
    tree, problems = read_schema(Source(text, "s.pg"))
    assert [d.name.text for d in tree.declarations] == ["B"]
    assert [(p.source.position(p.span.start).line, p.code) for p in problems] == [
        (1, "syntax"), (3, "syntax"), (4, "duplicate-enum-value"),
    ]  # fmt: skip
