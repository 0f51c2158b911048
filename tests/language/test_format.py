"""The layout of both languages: nasty texts, and trees without a text. What it looks like is in `test_format_schemas` and
`test_format_queries`, the laws are in `test_fuzz`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.language.formatting import queries, schema

from omnigraph.errors import ParseError
from omnigraph.language import Source, layout, parse_queries, parse_schema
from omnigraph.language.gq import tree as q
from omnigraph.language.gq.format import format_queries, render_queries
from omnigraph.language.pg import tree as p
from omnigraph.language.pg.format import format_schema, render_schema
from omnigraph.model.types import PropertyType, Scalar

EXAMPLES = Path(__file__).parents[2] / "examples"


# ── nasty ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\r\n\t"])
def test_nothing_formats_to_nothing(text: str) -> None:
    assert schema(text) == ""
    assert queries(text) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("// only", "// only\n"),
        ("\n\n// a  \n\n\n\n/* b */ // c\n\n", "// a\n\n/* b */\n// c\n"),
        ("/* a\r\n  b \t\r\n*/", "/* a\n  b\n*/\n"),
    ],
)
def test_a_file_of_comments_keeps_them(text: str, expected: str) -> None:
    assert schema(text) == expected
    assert queries(text) == expected


def test_windows_line_ends_and_tabs_become_plain_ones() -> None:
    assert schema("// a\t\r\nnode A {\r\n\ta: String // b\r\n\r\n\r\n\tb: String\r\n}\r\n") == (
        "// a\nnode A {\n    a: String  // b\n\n    b: String\n}\n"
    )


EVERY_TOKEN = (
    'query q ( $a : [ I32 ] ? , $b : Vector ( 3 ) ) @description ( "d" ) { match { $p : P { a : 1 , b : $b } $p $w : < knows > '
    "{ 1 , 2 } $f not { $f . x is not null } ( $p contains $f ) and $f . y in [ 1 , 2 ] } return distinct { $p . a as x , "
    "count ( distinct $f ) } order { nearest ( $p . v , $b ) , x desc } limit 1 offset 2 } query r ( ) { insert A { a : 1 , } "
    "update A set { a : now ( ) } where a = 1 delete A where a = 1 }"
)


EVERY_SCHEMA_TOKEN = (
    'interface N { a : String ? @ index } node A @ d ( "x" , k = 1 ) implements N , M { b : enum ( c , d ) ? @ index '
    "@ e ( f ) g : [ I32 ] ? h : Vector ( 3 ) @ key ( b , g ) @ range ( g , 0 .. 1 ) } "
    "edge E : A -> A @card ( 0 .. 1 ) @ d { @ unique ( src , dst ) }"
)


@pytest.mark.parametrize("comment", ["/* c */", "// c\n", "/* c\n c */", "\n\n/* c */\n\n", " // c\r\n\r\n"])
@pytest.mark.parametrize(
    ("whole", "form", "parse"),
    [(EVERY_TOKEN, queries, parse_queries), (EVERY_SCHEMA_TOKEN, schema, parse_schema)],
    ids=["queries", "schema"],
)
def test_a_comment_between_any_two_tokens_survives(
    whole: str, form: Callable[[str], str], parse: Callable[[Source], q.QueryFile | p.Schema], comment: str
) -> None:
    tokens = whole.split(" ")
    spread = [" ".join([*tokens[:at], comment, *tokens[at:]]) for at in range(len(tokens) + 1)]
    for text in (*spread, comment.join(tokens)):
        formatted = form(text)
        assert parse(Source(formatted)) == parse(Source(whole))
        assert [c.text for c in layout.find_comments(formatted)] == [c.text for c in layout.find_comments(text)]


def test_a_text_that_cannot_be_read_is_not_formatted() -> None:
    with pytest.raises(ParseError):
        format_schema(Source("node person {}"))
    with pytest.raises(ParseError):
        format_queries(Source("query q() {}"))


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.[pg][gq]")), ids=lambda path: path.name)
def test_the_examples_keep_their_meaning_and_comments(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    formatted = schema(text) if path.suffix == ".pg" else queries(text)
    assert [c.text for c in layout.find_comments(formatted)] == [c.text for c in layout.find_comments(text)]


# ── trees without a text ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_tree_built_by_a_program_gets_the_same_layout() -> None:
    status = PropertyType(Scalar.STRING, enum_values=("a", "b"))
    members = (
        p.Property(p.Name("status"), status, (p.Annotation(p.Name("description"), p.Literal(p.LiteralKind.STRING, 'a "b"\n')),)),
        p.Constraint(p.ConstraintKind.RANGE, (p.Literal(p.LiteralKind.NAME, "x"), p.Range(1e-7, 1e21))),
    )
    node = p.Node(p.Name("A"), (), (), p.Body(members))
    edge = p.Edge(p.Name("B"), p.Name("A"), p.Name("A"), None, (), None)
    assert (
        render_schema(p.Schema((edge, edge, node)))
        == r"""edge B: A -> A
edge B: A -> A

node A {
    status: enum(a, b) @description("a \"b\"\n")
    @range(x, 0.0000001..1000000000000000000000.0)
}
"""
    )
    read = q.Read(
        q.Block((q.Binding(q.Variable("a"), p.Name("A")),)), (q.Projection(q.Float(-2.0)), q.Projection(q.String("x\t")))
    )
    query = q.Query(p.Name("q"), (), (), read)
    assert (
        render_queries(q.QueryFile((query,)))
        == r"""query q() {
    match {
        $a: A
    }
    return { -2.0, "x\t" }
}
"""
    )


def test_rendering_ignores_the_text_a_tree_came_from() -> None:
    text = "// comment\nnode A {\n\n    a: enum(z, a)\n\n    b: String\n}\n"
    assert render_schema(parse_schema(Source(text))) == "node A {\n    a: enum(z, a)\n    b: String\n}\n"
