"""Diagnostics: the place, the caret, the advice."""

from __future__ import annotations

import pytest

from omnigraph.errors import ParseError
from omnigraph.language import Source, parse_queries, parse_schema
from omnigraph.language.diagnostics import Diagnostic, Family, did_you_mean, one_of
from omnigraph.language.source import Span


def at(text: str, start: int, end: int) -> Diagnostic:
    return Diagnostic(
        Family.TYPE, "T6", "`Person` has no property `nme`", Source(text, "people.gq"), Span(start, end), "did you mean `name`?"
    )


def test_a_diagnostic_shows_place_line_caret_and_advice() -> None:
    text = "query q() {\n    return { $p.nme }\n}"
    start = text.index("nme")
    assert at(text, start, start + 3).render() == (
        "type error: T6: `Person` has no property `nme`\n"
        "  --> people.gq:2:17\n"
        "   |\n"
        " 2 |     return { $p.nme }\n"
        "   |                 ^^^\n"
        "   = did you mean `name`?"
    )


def test_tabs_stay_tabs_so_that_the_caret_lands_right() -> None:
    lines = at("\t\t$p.nme", 5, 8).render().splitlines()
    assert lines[3] == " 1 | \t\t$p.nme"
    assert lines[4] == "   | \t\t   ^^^"


def test_a_long_line_is_shown_around_the_caret() -> None:
    lines = at("x" * 500 + "nme" + "y" * 500, 500, 503).render().splitlines()
    assert len(lines[3]) < 180
    caret = lines[4].index("^")
    assert lines[3][caret : caret + 3] == "nme"


def test_a_span_over_lines_is_marked_on_its_first_line_only() -> None:
    assert at("abc\ndef", 1, 6).render().splitlines()[4] == "   |  ^^"


def test_the_end_of_the_text_has_a_place() -> None:
    with pytest.raises(ParseError) as caught:
        parse_schema(Source("node A {", "s.pg"))
    assert caught.value.diagnostics[0].to_dict()["column"] == 9
    assert "found the end of the text" in str(caught.value)


def test_json_has_the_same_facts() -> None:
    assert at("a\n  nme", 4, 7).to_dict() == {
        "family": "type error",
        "code": "T6",
        "message": "`Person` has no property `nme`",
        "file": "people.gq",
        "line": 2,
        "column": 3,
        "end_line": 2,
        "end_column": 6,
        "help": "did you mean `name`?",
    }


def test_colour_changes_nothing_but_colour() -> None:
    import re

    diagnostic = at("nme", 0, 3)
    assert re.sub(r"\x1b\[\d+m", "", diagnostic.render(colour=True)) == diagnostic.render()


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("works_at", ["worksAt", "knows"], "did you mean `worksAt`?"),
        ("nme", ["name", "age"], "did you mean `name`?"),
        ("person", ["Person"], "did you mean `Person`?"),
        ("zzz", ["name"], ""),
        ("name", ["name"], ""),
    ],
)
def test_suggestions(name: str, known: list[str], expected: str) -> None:
    assert did_you_mean(name, known) == expected


def test_long_lists_are_shortened() -> None:
    assert one_of(["b", "a"]) == "`a`, `b`"
    assert one_of([f"n{i}" for i in range(20)]).endswith(", …")


ADVICE = {
    "node A { x: String, y: I32 }": "leave out the comma",
    "node A { x: String = 3 }": "no default values",
    "node person {}": "capital letter",
    'node A { x: enum("a") }': "without quotes",
    "node A { x: Money }": "the property types are",
    "node A @key(x) {}": "inside the braces",
    "# hello": "comments start with `//`",
    "\ufeffnode A {}": "byte order mark",
    "query q() { match { $p: P $p.a == 1 } return { $p } }": "single `=`",
    "query q() { match { $p: P $p.a = 'x' } return { $p } }": "double quotes",
    "query q() { match { $p: P { } } return { $p } }": "leave out empty braces",
    "query q() { match { $p: P $p knows{2} $f } return { $p } }": "{min,max}",
    "query q() { match { $a: A $a -> $b } return { $a } }": "by name",
    "query q() { match { $a: A $a Knows $b } return { $a } }": "small letter",
    "query q() { match { $a contains $b.c } return { $a } }": "read as edge names",
    "query q() { match { $p: P } where { $p.a = 1 } return { $p } }": "inside `match { }`",
    "query q() { match { $p: P } return { $p } order { nearest($p.v, $v) desc } limit 1 }": "takes no direction",
    "query q() { match { $p: P } return { $p } limit 3 order { $p.a } }": "match, return, order, limit, offset",
    "query q() { match { $p: P } return { $p } skip 3 }": "`offset`",
    "query q() { match { $p: P } return { * } }": "list the properties",
    "query q() { match { $p: P $p.a = 1 && $p.b = 2 } return { $p } }": "write `and`",
    "query q() { match { $p: P $p.a = 1 or $p knows $q } return { $p } }": "a clause of its own",
    "query q($a: enum(x)) { match { $p: P } return { $p } }": "no enum type",
    "query q($a: I32 = 3) { match { $p: P } return { $p } }": "no default value",
    "query q() { insert P { a: null } }": "is null",
    "node A { x: string }": "write `String`",
    "node A { x: [int] }": "write `I32` or `I64`",
    "node A { x: boolean }": "write `Bool`",
    "node A { x: timestamp? }": "write `DateTime`",
    "node A { x: [Person] }": "is an edge type",
    "node A { x: String key }": "start with `@`",
    "edge E: A => B": "points with `->`",
    "edge knows: A -> B": "capital letter",
    "edge E: A -> b": "capital letter",
    'node A {} edge E: A -> A @description("d") @card(0..1)': "comes first",
    "query q($a: string) { match { $p: P } return { $p } }": "write `String`",
    "query q() { match { $p: P { a = 1 } } return { $p } }": "`property: value`",
    "query q() { insert P { a = 1 } }": "`property: value`",
    "query q() { match (p:P)-[:k]->(c) return p.name }": "stand in braces",
    "query q() { match { $p: P, $p k $c } return { $p } }": "leave out the comma",
    "query q() { match { $p: P where $p.a > 3 } return { $p } }": "leave out `where`",
    "query q() { match { $p: P } return { p.name } }": "variables start with `$`",
    "query q() { match { $p: P } return { count(*) } }": "count($p)",
    "query q() { match { $p: P not $p k $_ } return { $p } }": "`not { … }`",
    "query q() { match { $p: P } return { $p.name AS n } }": "small letters",
    "query q() { match { $p: P } return { $p } order { $p.a descending } }": "`asc` or `desc`",
    "query q() { match { $p: P $p.a <> 1 } return { $p } }": "`!=`",
}


@pytest.mark.parametrize(("text", "fragment"), ADVICE.items(), ids=ADVICE.keys())
def test_common_mistakes_get_advice(text: str, fragment: str) -> None:
    with pytest.raises(ParseError) as caught:
        (parse_queries if text.startswith("query") else parse_schema)(Source(text, "x"))
    assert fragment in str(caught.value.diagnostics[0].to_dict().get("help", ""))
