"""Diagnostics: the place, the caret, the advice."""

from __future__ import annotations

import pytest

from omnigraph.errors import ParseError
from omnigraph.language import Source, parse_schema, read_queries, read_schema
from omnigraph.language.diagnostics import Diagnostic, Family, did_you_mean, one_of
from omnigraph.language.gq import grammar as gq_grammar
from omnigraph.language.gq.mistakes import QUERY_MISTAKES
from omnigraph.language.mistakes import Mistake
from omnigraph.language.pg import grammar as pg_grammar
from omnigraph.language.pg.mistakes import SCHEMA_MISTAKES
from omnigraph.language.reading import read_items
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


SCHEMA_ADVICE = {
    # anywhere
    "# hello": "comments start with `//`",
    "-- hello": "comments start with `//`",
    "\ufeffnode A {}": "byte order mark",
    "node A { x: String; }": "leave it out",
    "node A @description('d') {}": "double quotes",
    # declarations
    "query q() { delete A where x = 1 }": "a `.gq` file",
    "interface A implements N { a: String }": "do not extend",
    "interface A @d { a: String }": "no annotations",
    "interface A { a: String @key(a) }": "into the nodes",
    "node A extends N { a: String }": "write `implements`",
    "node A: N { a: String }": "write `implements`",
    "node A implements N @d {}": "before `implements`",
    'node A implements N, M @d("x") { a: String }': "before `implements`",
    "node A implements N & M {}": "by commas",
    "node A @d implements N implements M {}": "only once",
    "node A (x: String)": "node A { … }",
    "edge E A -> B": "`edge E: From -> To`",
    "edge E: A => B": "points with `->`",
    "edge E: A --> B": "points with `->`",
    "edge E: A to B": "points with `->`",
    "edge E: A -> B | C": "one for each pair",
    "node person {}": "capital letter",
    "edge knows: A -> B": "capital letter",
    "edge E: A -> b": "capital letter",
    'node A {} edge E: A -> A @description("d") @card(0..1)': "comes first",
    # annotations and constraints
    "node A { v: Vector(3) @embed(title, excerpt) }": "`@embed` has one source property",
    "node A { v: String @enum(a, b) }": "an enum is a type",
    "node A { v: String @other(a, b) }": 'takes one plain argument, further ones are `name="value"`',
    'node A { v: Vector(3) @embed("title", "excerpt") }': "takes one plain argument",
    'node A { v: Vector(3) @embed(model="m") }': "`@embed(…, model=…)`",
    "node A { x: String @description(some text) }": '`@description("…")`',
    "node A { x: String @unique(x y) }": "separated by commas",
    "edge E: A -> B { @key(@src, @dst) }": "`src` and `dst` without `@`",
    "edge E: A -> B { @unique(src, @to) }": "`src` and `dst` without `@`",
    "node A { @key(@slug) }": "without `@`",
    "node A @key(x) {}": "inside the braces",
    "node A { x: String @description() }": "between the parentheses",
    "node A { x: String @unique: true }": "in parentheses, or none",
    # properties
    'node A { x: enum("a") }': "without quotes",
    "node A { x: enum(a, b,) }": "the last comma",
    "node A { x: enum[a, b] }": "stand in parentheses",
    "node A { x: enum(in progress) }": "single words",
    "node A { x: enum(open | done) }": "commas between",
    "node A { x: String not null }": "required already",
    "node A { x: String required }": "required already",
    "node A { x: String! }": "required already",
    "node A { x: String nullable }": "`?` after the type",
    'node A { x: String default "a" }': "no default values",
    "node A { x: String = 3 }": "no default values",
    "node A { x: String key }": "start with `@`",
    "node A { x: String, y: I32 }": "leave out the comma",
    "node A { x String }": "write `x: String`",
    # types
    "node A { x: Vector }": "`Vector(n)`",
    "node A { x: Vector[3] }": "`Vector(n)`",
    "node A { x: [Vector(3)] }": "enum, Vector and Blob cannot be listed",
    "node A { x: [enum(a, b)] }": "enum, Vector and Blob cannot be listed",
    "node A { x: enum(a, b)[] }": "enum, Vector and Blob cannot be listed",
    "node A { x: String[] }": "written `[String]`",
    "node A { x: I32[]? }": "written `[I32]`",
    "node A { x: [[String]] }": "do not nest",
    "node A { x: [String?] }": "write `[String]`, or `[String]?`",
    "node A { x: List<String> }": "written `[String]`",
    "node A { x: list }": "lists are written",
    "node A { x: Optional<Date> }": "write `Date?`",
    "node A { x: string }": "write `String`",
    "node A { x: Strings }": "write `String`",
    "node A { x: [int] }": "write `I32` or `I64`",
    "node A { x: Float }": "write `F64`",
    "node A { x: boolean }": "write `Bool`",
    "node A { x: [Boolean] }": "write `Bool`",
    "node A { x: timestamp? }": "write `DateTime`",
    "node A { x: Datetime }": "write `DateTime`",
    "node A { x: Dates }": "write `Date`",
    "node A { x: bytes }": "write `Blob`",
    "node A { x: Embedding }": "`Vector(n)`",
    "node A { x: [Person] }": "is an edge type",
    "node A { x: Json }": "values do not nest",
    "node A { x: Money }": "the property types are",
}

QUERY_ADVICE = {
    # headers
    '@description("d") query q() { delete P where a = 1 }': "after the parameter list",
    'query q() { @description("d") delete P where a = 1 }': "after the parameter list",
    "query q() @cached { delete P where a = 1 }": "`@description` and `@instruction`",
    "node A {}": "a `.pg` file",
    "mutation m() { delete P where a = 1 }": "write `query`",
    "query Q() { delete P where a = 1 }": "small letter",
    "query a-b() { delete P where a = 1 }": "use `_`",
    "query q { delete P where a = 1 }": "query q() { … }",
    "query q(product_slug: String) { delete P where a = 1 }": "written `$product_slug`",
    "query q($a: String, product_slug: String) { delete P where a = 1 }": "written `$product_slug`",
    "query q(String slug) { delete P where a = 1 }": "`$slug: Type`",
    "query q($a: I32,) { delete P where a = 1 }": "the last comma",
    "query q($a: I32 = 3) { match { $p: P } return { $p } }": "no default value",
    "query q($a: String!) { delete P where a = 1 }": "required already",
    "query q($a: enum(x)) { match { $p: P } return { $p } }": "no enum type",
    "query q($a: string) { match { $p: P } return { $p } }": "write `String`",
    "query q($a: Boolean) { match { $p: P } return { $p } }": "write `Bool`",
    "query q($a: [String?]) { match { $p: P } return { $p } }": "write `[String]`",
    "query q($a: String[]) { match { $p: P } return { $p } }": "written `[String]`",
    "query q($a: Money) { match { $p: P } return { $p } }": "the parameter types are",
    # mutations
    "query q() { delete P where slug = $id, b = 2 }": "joined with `and` and `or`",
    "query q() { delete P where slug = $id && b = 2 }": "joined with `and` and `or`",
    "query q() { delete P }": "say which ones",
    "query q() { update P { a: 1 } where b = 2 }": "`update P set { property: value } where …`",
    "query q() { update P set a = 1 where b = 2 }": "`set { property: value }`",
    "query q() { delete $a knows $b }": "`delete Knows where from = $slug`",
    "query q() { insert $a knows $b }": "`insert Knows { from: $a, to: $b }`",
    "query q() { update $p set { a: 1 } where b = 2 }": "name the type",
    "query q() { delete from P where a = 1 }": "leave out `from`",
    "query q() { delete knows where from = $a }": "as they are declared",
    "query q() { upsert P { a: 1 } }": "write `insert`",
    "query q() { remove P where a = 1 }": "write `delete`",
    "query q() { return { 1 } }": "starts with `match { … }`",
    "query q() { insert P { a: 1 } return { $p } }": "reads or changes",
    # reads
    "query q() { match (p:P)-[:k]->(c) return p.name }": "stand in braces",
    "query q() { match { $p: P } match { $p k $c } return { $p } }": "one match block",
    "query q() { match { $p: P } optional { $p k $c } return { $p } }": "`optional { … }` stands inside",
    "query q() { match { $p: P } delete P where a = 1 }": "name one of its variables",
    "query q() { match { $p: P } delete $p return { $p } }": "reads or changes",
    "query q() { match { $p: P } with $p return { $p } }": "no `with`",
    "query q() { match { $p: P } }": "ends with `return { … }`",
    "query q() { match { $p: P } return $p }": "stands in braces",
    "query q() { match { $p: P } return { $p } return { $p } }": "one return",
    "query q() { match { $p: P } return { $p.a, count($p) } group by $p.a }": "grouped by the other columns",
    "query q() { match { $p: P } return { $p } order by $p.a }": "`order { $p.name desc }`",
    "query q() { match { $p: P } return { $p } order { nearest($p.v, $v) desc } limit 1 }": "takes no direction",
    "query q() { match { $p: P } return { $p } order { $p.a descending } }": "`asc` or `desc`",
    "query q() { match { $p: P } return { $p } limit 3 order { $p.a } }": "match, return, having, order, limit, offset",
    "query q() { match { $p: P } return { $p } skip 3 }": "`offset`",
    "query q() { match { $p: P } where { $p.a = 1 } return { $p } }": "inside `match { }`",
    # clauses
    "query q() { match { $p: P where $p.a > 3 } return { $p } }": "leave out `where`",
    "query q() { match { $p: P $p.a = 1 or $p knows $q } return { $p } }": "a clause of its own",
    "query q() { match { $p: P maybe { $p k $c } } return { $p } }": "`optional { … }`",
    "query q() { match { $p: P or { $p k $c } } return { $p } }": "stand between conditions",
    "query q() { match { $p: P exists { $p k $c } } return { $p } }": "without `exists`",
    "query q() { match { $p: P not $p k $_ } return { $p } }": "`not { … }`",
    "query q() { match { $p: P $p knows $f via $k } return { $p } }": "`$p $k:knows $f`",
    "query q() { match { $p: P { $p k $c } } return { $p } }": "clauses stand without",
    "query q() { match { $p: P $p knows{2} $f } return { $p } }": "{min,max}",
    "query q() { match { $p: P { } } return { $p } }": "leave out empty braces",
    "query q() { match { $co: P $co judged $ja { a: 1 } } return { $co } }": "`$ja: Type { … }`",
    "query q() { match { $p Person { a: 1 } } return { $p } }": "`$p: Type`",
    "query q() { match { $a: A $a Knows $b } return { $a } }": "small letter in queries: write `knows`",
    "query q() { match { $a: A $a HAS_FEATURE $b } return { $a } }": "write `has_feature`",
    "query q() { match { $a: A $a KNOWS $b } return { $a } }": "write `knows`",
    "query q() { match { $a: A $a <WorksAt> $b } return { $a } }": "write `worksAt`",
    "query q() { match { $a: A $a $w:WorksAt $b } return { $a } }": "write `worksAt`",
    "query q() { match { $a: A $a -> $b } return { $a } }": "by name",
    "query q() { match { $a: A $a --> $b } return { $a } }": "by name",
    "query q() { match { $a: A $a knows b } return { $a } }": "written `$b`",
    "query q() { match { $a: person } return { $a } }": "capital letter",
    # expressions
    "query q() { match { $p: P $p.a == 1 } return { $p } }": "single `=`",
    "query q() { match { $p: P $p.a <> 1 } return { $p } }": "`!=`",
    "query q() { match { $p: P $p.a = 1 && $p.b = 2 } return { $p } }": "write `and`",
    "query q() { match { $p: P $p.a = 1 || $p.b = 2 } return { $p } }": "write `or`",
    "query q() { match { $p: P $p.a = 'x' } return { $p } }": "double quotes",
    "query q() { match { $p: P } return { $p.holds.weight } }": "`$p $h:holds $b`, then `$h.weight`",
    "query q() { match { $p: P $p.holds.weight > 3 } return { $p } }": "a property has no properties",
    "query q() { match { $p: P $c: C { a: $p.b } } return { $p } }": "a condition of their own",
    "query q() { match { $a contains $b.c } return { $a } }": "read as edge names",
    "query q() { match { $p: P } return { p.name } }": "variables start with `$`",
    "query q() { match { $p: P } return { count(*) } }": "count($p)",
    "query q() { match { $p: P } return { * } }": "list the properties",
    "query q() { insert P { a: nil } }": "write `null`",
    "query q() { insert P { a: True } }": "`true` or `false`",
    "query q() { insert P { a: uuid() } }": "is `now()`",
    "query q() { match { $p: P { slug: product_slug } } return { $p } }": "written `$product_slug`",
    "query q() { insert P { slug: name } }": "written `$name`",
    "query q() { insert P { slug: Active } }": "double quotes",
    "query q() { insert P { a: [$b] } }": "holds literals only",
    "query q() { insert P { a: [b] } }": "double quotes",
    "query q() { insert P { a: [1, 2,] } }": "the last comma",
    "query q() { insert P { a: date(2024-01-31) } }": '`date("…")`',
    "query q() { match { $p: P } return { $p.name AS n } }": "small letters",
    # braces
    'query q() { insert P { "a": 1 } }': "without quotes",
    "query q() { match { $p: P { a = 1 } } return { $p } }": "`property: value`",
    "query q() { insert P { a = 1 } }": "`property: value`",
    "query q() { match { $p: P, $p k $c } return { $p } }": "leave out the comma",
    "query q() { insert P { a 1 } }": "with a colon",
}


def schema_help(text: str, mistakes: tuple[Mistake, ...] = SCHEMA_MISTAKES) -> str:
    _, problems = read_items(Source(text), pg_grammar.declaration, pg_grammar.DECLARATION_START, mistakes)
    return problems.found[0].help


def query_help(text: str, mistakes: tuple[Mistake, ...] = QUERY_MISTAKES) -> str:
    _, problems = read_items(Source(text), gq_grammar.query, gq_grammar.QUERY_START, mistakes)
    return problems.found[0].help


@pytest.mark.parametrize(("text", "fragment"), SCHEMA_ADVICE.items(), ids=SCHEMA_ADVICE.keys())
def test_common_mistakes_in_a_schema_get_advice(text: str, fragment: str) -> None:
    assert fragment in schema_help(text)


@pytest.mark.parametrize(("text", "fragment"), QUERY_ADVICE.items(), ids=QUERY_ADVICE.keys())
def test_common_mistakes_in_queries_get_advice(text: str, fragment: str) -> None:
    assert fragment in query_help(text)


def test_every_mistake_has_a_text_that_shows_it() -> None:
    in_schemas = {text: schema_help(text) for text in SCHEMA_ADVICE}
    in_queries = {text: query_help(text) for text in QUERY_ADVICE}
    for known in dict.fromkeys((*SCHEMA_MISTAKES, *QUERY_MISTAKES)):
        shown = known in SCHEMA_MISTAKES and any(schema_help(text, (known,)) == help for text, help in in_schemas.items() if help)
        shown |= known in QUERY_MISTAKES and any(query_help(text, (known,)) == help for text, help in in_queries.items() if help)
        assert shown, known


def test_advice_quotes_no_endless_name() -> None:
    assert len(query_help(f"query q({'x' * 5000}: String) {{ delete P where a = 1 }}")) < 100


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("node A {\n    x: Boolean\n    y: String\n}", "Boolean"),
        ("node A { x: Strings @index }", "Strings"),
        ("node A { x: Strings? }", "Strings"),
        ("node A { x: [Datetime]? y: String }", "Datetime"),
        ("node A { x: I32s: String y }", ""),
        ("node A { x: String y }", ""),
        ("node A { x: Money }", "Money"),
        ("node A { x: enums(a) }", "enums"),
        ("node A { x: Vectors(3) }", "Vectors"),
        ("node A { x: [enum(a)] }", ""),
        ("query q($x: Boolean, $y: I32) { delete A where a = 1 }", "Boolean"),
        ("query q($x: [Strings]) { delete A where a = 1 }", "Strings"),
        ("query q($x: String, $y: Int) { delete A where a = 1 }", "Int"),
        ("query q($x: String) { match { $p: Dates; } return { $p } }", ""),
    ],
)
def test_a_type_that_does_not_exist_is_reported_as_a_whole_word(text: str, wrong: str) -> None:
    _, problems = (read_queries if text.startswith("query") else read_schema)(Source(text))
    problem = problems.found[0]
    assert (problem.message == f"no type `{wrong}`") is bool(wrong), problem.message
    if wrong:
        assert text[problem.span.start : problem.span.end] == wrong


def test_a_type_that_runs_into_the_next_property_stays_readable() -> None:
    tree = parse_schema(Source("node A { x: Boolean: String }"))
    assert tree == parse_schema(Source("node A { x: Bool ean: String }"))


@pytest.mark.parametrize(
    "text", ["query q() { insert P { a: b } }", "query q() { delete P where a = Foo }", "query q() { match { $p: P { a: } } }"]
)
def test_a_missing_value_is_named_not_enumerated(text: str) -> None:
    _, problems = read_queries(Source(text))
    assert problems.found[0].message.startswith("expected a value (a literal, a parameter or `now()`), found ")


def test_a_parse_error_says_what_to_do_and_names_no_file_that_is_not_installed() -> None:
    with pytest.raises(ParseError) as caught:
        parse_schema(Source("node a {}"))
    assert caught.value.hint == "Fix the marked place."
