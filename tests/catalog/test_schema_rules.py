"""Every rule of the schema language, by cases, and what the accepted ones come to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.catalog.check.rules import SCHEMA_RULES
from omnigraph.catalog.declare import declare, read_shape
from omnigraph.catalog.keepable import is_plain
from omnigraph.catalog.shape import Check, Embed, Index, Key, Note, Range, Shape, Unique
from omnigraph.errors import ParseError, SchemaError
from omnigraph.language import Source, read_schema
from omnigraph.model.arrow import pattern_problem

CASES = re.split(r"^=== ", (Path(__file__).parent / "cases" / "schema_rules.pg.txt").read_text(), flags=re.MULTILINE)[1:]
PARSED = [(case.partition("\n")[0].rpartition(": "), case.partition("\n")[2]) for case in CASES]


@pytest.mark.parametrize(("expected", "text"), [(head[2], text) for head, text in PARSED], ids=[head[0] for head, _ in PARSED])
def test_schema_reports_exactly_these_codes(expected: str, text: str) -> None:
    source = Source(text, "case.pg")
    tree, problems = read_schema(source)
    codes = [p.code for p in problems] or [p.code for p in read_shape(tree, source)[1]]
    assert codes == ([] if expected == "ok" else expected.split())


def shape_of(text: str) -> Shape:
    return declare(Source(text, "s.pg"))


def test_s1_the_property_has_no_annotation_and_the_node_one_unique_constraint() -> None:
    node = shape_of("node A { x: String @unique(x) }").nodes[0]
    assert node.properties[0].constraints == ()
    assert node.constraints == (Unique(("x",)),)


def test_s9_embed_keeps_source_and_model() -> None:
    node = shape_of('node A { v: Vector(3)? @embed(body, model="m") body: String }').nodes[0]
    assert node.properties[1].embed == Embed("body", "m")


def test_s11_an_interface_brings_its_property_and_key() -> None:
    node = shape_of("interface N { name: String @key } node P implements N {}").nodes[0]
    assert [p.name for p in node.properties] == ["name"]
    assert not node.properties[0].declared_directly
    assert node.constraints == (Key(("name",)),)


def test_s12_a_node_that_declares_the_property_itself_has_no_key() -> None:
    node = shape_of("interface N { name: String @key } node P implements N { name: String }").nodes[0]
    assert node.constraints == ()
    assert node.properties[0].satisfies == (("N", "name"),)


def test_s19_range_bounds_without_a_fraction_are_integers() -> None:
    node = shape_of("node A { n: I32 x: F64 @range(n, -1000..1000) @range(x, 0.5..) }").nodes[0]
    assert node.constraints == (Range("n", -1000, 1000), Range("x", 0.5, None))
    assert isinstance(node.constraints[0], Range)
    assert isinstance(node.constraints[0].low, int)


def test_an_open_lower_bound_means_a_maximum() -> None:
    assert shape_of("node A { n: I32 @range(n, ..100) }").nodes[0].constraints == (Range("n", None, 100),)


def test_s22_a_custom_annotation_keeps_value_and_keywords_as_text() -> None:
    node = shape_of('node A @whatever("x", y=1) @flag(true) @ref(name) {}').nodes[0]
    assert node.notes == (Note("flag", "true"), Note("ref", "name"), Note("whatever", "x", (("y", "1"),)))


def test_constraints_are_canonical() -> None:
    text = 'node A { b: String @index a: String @check(a, "x") @unique(b, a, b) @index(b) @key(a) @range(n, 0..1) n: I32 }'
    assert shape_of(text).nodes[0].constraints == (
        Check("a", "x"), Index(("b",)), Key(("a",)), Range("n", 0, 1), Unique(("a", "b")),
    )  # fmt: skip


def test_a_schema_that_does_not_parse_and_one_that_breaks_a_rule_raise_different_errors() -> None:
    with pytest.raises(ParseError):
        shape_of("node {")
    with pytest.raises(SchemaError) as caught:
        shape_of("node A {} node A {}\nedge E: A -> Bee")
    assert caught.value.message == "catalog error: duplicate node type `A` (and 1 more)"


def test_every_problem_slug_is_documented() -> None:
    used = {code for head, _ in PARSED for code in head[2].split()} - {"ok"}
    assert used <= set(SCHEMA_RULES)


def test_shape_hash_ignores_everything_without_meaning() -> None:
    first = shape_of('node A @b("1") @a { y: I32 x: enum(q, p) @index(x, y) } node B {} // comment')
    second = shape_of(
        'node B {}\n/* x */ node A @a @b("1") @rename_from("Old") {\n x: enum(p, q) y: I32 @index(y, x) @index(x, y) }'
    )
    assert first == second
    assert first.hash() == second.hash()
    assert first.hash() != shape_of('node A @b("1") @a { y: I64 x: enum(q, p) @index(x, y) } node B {}').hash()


def test_shape_json_has_the_specified_layout() -> None:
    text = (
        "interface I { n: String } node A implements I { v: Vector(2)? @embed(n) @index } edge E: A -> A @card(0..1) { w: [F64] }"
    )
    assert shape_of(text).to_json() == {
        "interfaces": [{"name": "I", "properties": [_property("n", "String")]}],
        "nodes": [
            {
                "name": "A",
                "annotations": [],
                "implements": ["I"],
                "properties": [
                    {**_property("n", "String"), "declared_directly": False,
                     "satisfies_interface_properties": [{"owner_name": "I", "property_name": "n"}]},
                    {**_property("v", {"Vector": 2}, nullable=True), "property_constraints": ["index"],
                     "embed_source": {"property_name": "n", "model": None}},
                ],
                "constraints": [{"Index": ["v"]}],
            }
        ],
        "edges": [
            {
                "name": "E", "from_type": "A", "to_type": "A", "cardinality": {"min": 0, "max": 1}, "annotations": [],
                "properties": [_property("w", "F64", is_list=True)], "constraints": [],
            }
        ],
    }  # fmt: skip


def _property(name: str, scalar: object, *, nullable: bool = False, is_list: bool = False) -> dict[str, object]:
    return {
        "name": name,
        "prop_type": {"scalar": scalar, "nullable": nullable, "list": is_list, "enum_values": None},
        "annotations": [],
        "property_constraints": [],
        "embed_source": None,
        "declared_directly": True,
        "satisfies_interface_properties": [],
    }


_PIECES = (
    "a",
    "Z9",
    ".",
    "^",
    "$",
    "|",
    "(",
    "(?:",
    "(?P<n>",
    ")",
    "[a-z]",
    "[^0-9_]",
    "[z-a]",
    "[a-.]",
    "[+--]",
    "*",
    "+",
    "?",
    "{2}",
)
_MORE = ("{3,1}", "{9,}", "{99}", "{1001}", "\\\\d", "\\\\.", "\\\\1", "(?=", "é", "\\\\b", "[", "]", "-", " ", "\\\\")


@given(st.lists(st.sampled_from(_PIECES + _MORE), max_size=12).map("".join))
def test_a_plain_pattern_is_one_that_the_engine_runs(pattern: str) -> None:
    if is_plain(pattern):
        assert pattern_problem(pattern) is None, pattern


@pytest.mark.parametrize(
    "pattern", ["^[a-z.]+@lumenfreight[.]example$", "^LF-[0-9]+$", "^[a-z0-9_]+$", r"^\d{4}-\d\d$", "", "a|b"]
)
def test_usual_patterns_are_plain(pattern: str) -> None:
    assert is_plain(pattern)
