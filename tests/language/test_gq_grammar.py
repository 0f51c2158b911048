"""The grammar of `.gq`: what it reads, what it refuses, and its traps."""

from __future__ import annotations

import pytest

from omnigraph.errors import ParseError
from omnigraph.language import Source, parse_queries, read_queries
from omnigraph.language.gq import tree as t
from omnigraph.language.pg.tree import Name
from omnigraph.model.types import PropertyType, Scalar


def parse(text: str) -> t.Query:
    return parse_queries(Source(text, "q.gq")).queries[0]


def read(text: str) -> t.Read:
    body = parse(text).body
    assert isinstance(body, t.Read)
    return body


def clauses(text: str) -> tuple[t.Clause, ...]:
    return read(f"query q() {{ match {{ {text} }} return {{ $p }} }}").match.clauses


def clause(text: str) -> t.Clause:
    (found,) = clauses(text)
    return found


def returned(text: str) -> list[tuple[t.Expression, str | None]]:
    body = read(f"query q() {{ match {{ $p: P }} return {{ {text} }} }}")
    return [(p.expression, p.alias.text if p.alias else None) for p in body.projections]


def value(text: str) -> t.Expression:
    return returned(text)[0][0]


ACCEPTED = {
    "everything glued": "queryq(){match{$p:P}return{$p}limit5}",
    "no queries": "// nothing",
    "commas optional between projections": "query q() { match { $p: P } return { $p.a $p.b, $p.c as x $p.d, } }",
    "trailing comma in inline match": "query q() { match { $p: P { a: 1, } } return { $p } }",
    "both annotations in any order": 'query q() @instruction("i") @description("d") { match { $p: P } return { $p } }',
    "spaces around the dot": "query q() { match { $p: P } return { $p . name } }",
    "spaced brackets": "query q() { match { $p: P $p < knows > $q } return { $p } }",
    "comments inside": "query q(/**/) { match { $p /* a */ : P // b\n } return { $p } }",
    "assignments without commas": "query q() { insert P { a: 1 b: 2, c: 3, } }",
    "two queries of one name": "query q() { match { $p: P } return { $p } } query q() { delete P where a = 1 }",
    "limit of u64": "query q() { match { $p: P } return { $p } limit 18446744073709551615 }",
    "largest integer": "query q() { match { $p: P $p.a = 9223372036854775807 } return { $p } }",
    "every parameter type": "query q($a: String, $b: [I32]?, $c: Vector(3)?, $d: DateTime, $e: Blob) { delete P where a = $a }",
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepts(text: str) -> None:
    parse_queries(Source(text))


REFUSED = {
    "empty inline braces": "query q() { match { $d: Doc { } } return { $d } }",
    "empty match": "query q() { match { } return { $d } }",
    "empty return": "query q() { match { $p: P } return { } }",
    "empty order": "query q() { match { $p: P } return { $p } order { } }",
    "empty body": "query q() { }",
    "no parentheses": "query q { match { $p: P } return { $p } }",
    "single hop bound": "query q() { match { $p: P $p knows{2} $f } return { $f } }",
    "trailing comma in parameters": "query q($a: I32,) { match { $p: P } return { $p } }",
    "parameter default": "query q($a: I32 = 3) { match { $p: P } return { $p } }",
    "enum parameter": "query q($a: enum(x)) { match { $p: P } return { $p } }",
    "unknown annotation": 'query q() @note("x") { match { $p: P } return { $p } }',
    "annotation twice": 'query q() @description("x") @description("y") { match { $p: P } return { $p } }',
    "order before return": "query q() { match { $p: P } order { $p.a } return { $p } }",
    "limit before order": "query q() { match { $p: P } return { $p } limit 3 order { $p.a } }",
    "offset before limit": "query q() { match { $p: P } return { $p } offset 3 limit 3 }",
    "read and mutation in one query": "query q() { match { $p: P } return { $p } insert P { a: 1 } }",
    "property left over after a traversal": "query q() { match { $q contains $m.label } return { $q } }",
    "direction on nearest": "query q() { match { $p: P } return { $p } order { nearest($p.v, $q) desc } limit 3 }",
    "trailing comma in order": "query q() { match { $p: P } return { $p } order { $p.a, } }",
    "integer beyond u64": "query q() { match { $p: P $p.a = 18446744073709551616 } return { $p } }",
    "limit beyond u64": "query q() { match { $p: P } return { $p } limit 18446744073709551616 }",
    "hop bound beyond u32": "query q() { match { $p: P $p k{1,4294967296} $f } return { $p } }",
    "negative limit": "query q() { match { $p: P } return { $p } limit -1 }",
    "vector parameter of nothing": "query q($v: Vector(0)) { match { $p: P } return { $p } }",
    "insert of nothing": "query q() { insert P { } }",
    "update without where": "query q() { update P set { a: 1 } }",
    "exponent": "query q() { match { $p: P $p.a = 1e5 } return { $p } }",
    "operator without an operand": "query q() { match { $p: P $p.a = 1 + } return { $p } }",
    "arrow": "query q() { match { $a -> $b } return { $a } }",
    "capital edge name": "query q() { match { $a: A $a Knows $b } return { $a } }",
    "parenthesised expression alone": "query q() { match { $p: P ($p.a) } return { $p } }",
    "word like a boolean": "query q() { match { $p: P } return { $p } order { trueish } }",
    "rrf of something else": 'query q() { match { $p: P } return { rrf(search($p.a, "x"), bm25($p.a, "x")) } }',
    "nearest of a literal": "query q() { match { $p: P } return { nearest([1], [1]) } }",
    "capital variable": "query q() { match { $P: P } return { $P } }",
    "unsupported escape": r'query q() { match { $p: P $p.a = "\x" } return { $p } }',
    "negated edge": "query q() { match { $p: P $p not_here $q } return { $p } }",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_refuses(text: str) -> None:
    with pytest.raises(ParseError):
        parse_queries(Source(text, "q.gq"))


# ── traps ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_alias_needs_no_boundary() -> None:
    assert returned("$p.x assigned") == [(t.Access(t.Variable("p"), Name("x")), "signed")]
    assert returned("$p.x, assigned") == [(t.Access(t.Variable("p"), Name("x")), None), (t.Alias("assigned"), None)]


def test_as_without_a_name_is_a_projection_of_its_own() -> None:
    assert returned("$p as") == [(t.Variable("p"), None), (t.Alias("as"), None)]


def test_a_bare_variable_before_a_word_operator_is_a_traversal() -> None:
    assert clause("$q contains $m") == t.Traversal(t.Variable("q"), Name("contains"), t.Variable("m"))
    found = clause('$q contains "x"')
    assert found == t.Filter(t.Comparison(t.Variable("q"), t.Operator.CONTAINS, t.String("x")))


def test_less_than_is_not_an_undirected_edge() -> None:
    assert clause("$a < $b") == t.Filter(t.Comparison(t.Variable("a"), t.Operator.LT, t.Variable("b")))
    assert clause("$a <b> $c") == t.Traversal(t.Variable("a"), Name("b"), t.Variable("c"), undirected=True)


def test_null_is_an_alias_in_a_comparison() -> None:
    assert clause("$p.a = null") == t.Filter(t.Comparison(t.Access(t.Variable("p"), Name("a")), t.Operator.EQ, t.Alias("null")))


def test_not_is_a_block_only_before_a_brace() -> None:
    assert [type(c).__name__ for c in clauses("$a: A not { $a knows $b } $a nothing $c")] == ["Binding", "Negation", "Traversal"]


def test_a_boolean_takes_the_front_of_a_word() -> None:
    body = parse("query q() { insert P { a: trueish: 3 } }").body
    assert isinstance(body, t.Mutation)
    statement = body.statements[0]
    assert isinstance(statement, t.Insert)
    assert [(a.property.text, a.value) for a in statement.assignments] == [("a", t.Bool(True)), ("ish", t.Integer(3))]


def test_function_names_are_names_without_parentheses() -> None:
    assert value("count") == t.Alias("count")
    assert value("count /* c */ ($p)") == t.Aggregate(t.AggregateFunction.COUNT, t.Variable("p"))
    assert value("nowhere") == t.Alias("nowhere")
    assert value("dates") == t.Alias("dates")


def test_literals() -> None:
    assert value('"a\\"b"') == t.String('a"b')
    assert value("12") == t.Integer(12)
    assert value("1.50") == t.Float(1.5)
    assert value('date("2024-01-01")') == t.Date(t.String("2024-01-01"))
    assert value('datetime ( "x" )') == t.DateTime(t.String("x"))
    assert value("[1, [true], []]") == t.List((t.Integer(1), t.List((t.Bool(True),)), t.List(())))


def test_parameters() -> None:
    found = parse("query q($a: [Date]?, $v: Vector(3)) { delete P where a = $a }").parameters
    assert [(p.name, p.type) for p in found] == [
        ("a", PropertyType(Scalar.DATE, nullable=True, is_list=True)),
        ("v", PropertyType(Scalar.VECTOR, dimension=3)),
    ]


def test_a_text_test_may_stand_alone_or_be_compared() -> None:
    call = t.Call(t.Function.SEARCH, (t.Access(t.Variable("d"), Name("b")), t.String("x")))
    assert clause('search($d.b, "x")') == t.Filter(t.TextTest(call))
    assert clause('search($d.b, "x") = true') == t.Filter(t.Comparison(call, t.Operator.EQ, t.Bool(True)))


def test_reading_goes_on_after_a_query_that_cannot_be_read() -> None:
    text = "query a() { match { $p: P } }\nquery b() { match { $p: P } return { $p } }\nquery c() { insert P }\n"
    tree, problems = read_queries(Source(text, "q.gq"))
    assert [q.name.text for q in tree.queries] == ["b"]
    assert [p.source.position(p.span.start).line for p in problems] == [1, 3]


# ── beyond the base language ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_negative_numbers() -> None:
    assert value("-5") == t.Integer(-5)
    assert value("-0.5") == t.Float(-0.5)
    assert value("-9223372036854775808") == t.Integer(-(2**63))


def test_null_tests_and_membership() -> None:
    access = t.Access(t.Variable("p"), Name("a"))
    assert clause("$p.a is null") == t.Filter(t.IsNull(access, negated=False))
    assert clause("$p.a is not null") == t.Filter(t.IsNull(access, negated=True))
    assert clause("$p is null") == t.Filter(t.IsNull(t.Variable("p"), negated=False))
    assert clause("$p.a in [1]") == t.Filter(t.Among(access, t.List((t.Integer(1),))))


def test_and_binds_tighter_than_or_and_parentheses_decide() -> None:
    def test(name: str) -> t.Condition:
        return t.Comparison(t.Access(t.Variable("p"), Name(name)), t.Operator.EQ, t.Integer(1))

    assert clause("$p.a = 1 or $p.b = 1 and $p.c = 1") == t.Filter(t.Or((test("a"), t.And((test("b"), test("c"))))))
    assert clause("($p.a = 1 or $p.b = 1) and $p.c = 1") == t.Filter(t.And((t.Or((test("a"), test("b"))), test("c"))))
    assert clause("(($p.a = 1))") == t.Filter(test("a"))


def test_optional_distinct_and_offset() -> None:
    body = read("query q() { match { $p: P optional { $p knows $f } } return distinct { count(distinct $f) } limit 3 offset 2 }")
    assert isinstance(body.match.clauses[1], t.Optional)
    assert body.distinct
    assert (body.limit, body.offset) == (3, 2)
    assert body.projections[0].expression == t.Aggregate(t.AggregateFunction.COUNT, t.Variable("f"), distinct=True)


KEPT = {
    # Texts of the base language whose words the extensions also use: they keep their meaning.
    "edge called in": ("$a in $b", t.Traversal(t.Variable("a"), Name("in"), t.Variable("b"))),
    "edge called is": ("$a is $b", t.Traversal(t.Variable("a"), Name("is"), t.Variable("b"))),
    "edge called and": ("$a and $b", t.Traversal(t.Variable("a"), Name("and"), t.Variable("b"))),
    "edge called or": ("$a or{1,2} $b", t.Traversal(t.Variable("a"), Name("or"), t.Variable("b"), hops=t.Hops(1, 2))),
    "edge called optional": ("$a optional $b", t.Traversal(t.Variable("a"), Name("optional"), t.Variable("b"))),
    "edge called distinct": (
        "$a <distinct> $b",
        t.Traversal(t.Variable("a"), Name("distinct"), t.Variable("b"), undirected=True),
    ),
    "edge called isnull": ("$a isnull $b", t.Traversal(t.Variable("a"), Name("isnull"), t.Variable("b"))),
    "alias called and": ("and = 3", t.Filter(t.Comparison(t.Alias("and"), t.Operator.EQ, t.Integer(3)))),
    "alias called optional": ("optional = 3", t.Filter(t.Comparison(t.Alias("optional"), t.Operator.EQ, t.Integer(3)))),
}


@pytest.mark.parametrize(("text", "expected"), KEPT.values(), ids=KEPT.keys())
def test_words_of_the_extensions_are_still_names(text: str, expected: t.Clause) -> None:
    assert clause(text) == expected


def test_a_filter_does_not_swallow_the_next_clause() -> None:
    found = clauses('$p.a = 1 and = 3 search($p.a, "x") is = 4 $p.b = true or = 5')
    assert [type(c).__name__ for c in found] == ["Filter"] * 6
    assert value("count(distinct)") == t.Aggregate(t.AggregateFunction.COUNT, t.Alias("distinct"))
    assert returned("distinct, offset")[0][0] == t.Alias("distinct")


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        "query q() { match { " + "not { " * 100,
        "query q() { match { $p.a = " + "[" * 100_000,
        "query q() { match { " + "(" * 100_000,
        "query q() { match { $p: P } return { " + "count(" * 5_000,
        "query q() { match { $p: P } return { " + "search($p.a, " * 5_000,
    ],
    ids=["blocks", "lists", "parentheses", "aggregates", "calls"],
)
def test_nesting_is_bounded(text: str) -> None:
    with pytest.raises(ParseError, match="nested more than 64 levels"):
        parse_queries(Source(text, "q.gq"))


def test_length_is_bounded() -> None:
    with pytest.raises(ParseError, match="the limit is 4,194,304"):
        parse_queries(Source(" " * 4_194_305, "q.gq"))


def test_a_text_of_the_greatest_length_is_read_in_linear_time() -> None:
    one = "query q() { match { $p: P { a: 1 } } return { $p } }\n"
    assert len(parse_queries(Source(one * 2_000)).queries) == 2_000
