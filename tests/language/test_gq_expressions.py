"""Arithmetic in `.gq`: precedence, parentheses, the sign of a number, and that no text of before means anything else."""

from __future__ import annotations

import pytest
from tests.language.test_gq_grammar import clauses, returned, value

from omnigraph.errors import ParseError
from omnigraph.language import Source, parse_queries
from omnigraph.language.diagnostics import Diagnostic
from omnigraph.language.gq import tree as t
from omnigraph.language.gq.format import format_queries
from omnigraph.language.pg.tree import Name

A, B, C = (t.Access(t.Variable("p"), Name(name)) for name in "abc")
PLUS, MINUS, TIMES, OVER, REST = t.ArithmeticOperator


def of(left: t.Expression, sign: t.ArithmeticOperator, right: t.Expression) -> t.Arithmetic:
    return t.Arithmetic(left, sign, right)


READ = {
    "$p.a + $p.b": of(A, PLUS, B),
    "$p.a - $p.b - $p.c": of(of(A, MINUS, B), MINUS, C),
    "$p.a - ($p.b - $p.c)": of(A, MINUS, of(B, MINUS, C)),
    "$p.a + $p.b * $p.c": of(A, PLUS, of(B, TIMES, C)),
    "($p.a + $p.b) * $p.c": of(of(A, PLUS, B), TIMES, C),
    "$p.a / $p.b % $p.c": of(of(A, OVER, B), REST, C),
    "-$p.a * $p.b": of(t.Negative(A), TIMES, B),
    "-($p.a * $p.b)": t.Negative(of(A, TIMES, B)),
    "--$p.a": t.Negative(t.Negative(A)),
    "-(1)": t.Negative(t.Integer(1)),
    "$p.a - 1": of(A, MINUS, t.Integer(1)),
    "$p.a - -1": of(A, MINUS, t.Integer(-1)),
    "($p.a -1)": of(A, MINUS, t.Integer(1)),
    "($p.a-1)": of(A, MINUS, t.Integer(1)),
    "length(lower($p.a))": t.Call(t.Function.LENGTH, (t.Call(t.Function.LOWER, (A,)),)),
    "coalesce($p.a, $p.b, 0) + 1": of(t.Call(t.Function.COALESCE, (A, B, t.Integer(0))), PLUS, t.Integer(1)),
    "sum($p.a * $p.b) / count($p)": of(
        t.Aggregate(t.AggregateFunction.SUM, of(A, TIMES, B)), OVER, t.Aggregate(t.AggregateFunction.COUNT, t.Variable("p"))
    ),
    "$p.a / /* half */ 2 // of it\n": of(A, OVER, t.Integer(2)),
}


@pytest.mark.parametrize(("text", "tree"), READ.items(), ids=READ.keys())
def test_reads(text: str, tree: t.Expression) -> None:
    assert value(text) == tree
    assert len(returned(text)) == 1


def test_a_minus_that_touches_its_number_is_a_sign_where_another_column_may_begin() -> None:
    assert [e for e, _ in returned("$p.a -1")] == [A, t.Integer(-1)]
    assert [e for e, _ in returned("$p.a-1")] == [A, t.Integer(-1)]
    assert [e for e, _ in returned("$p.a - 1")] == [of(A, MINUS, t.Integer(1))]
    assert [e for e, _ in returned("$p.a as x -1 as y")] == [A, t.Integer(-1)]


def test_the_same_where_another_clause_may_begin() -> None:
    found = clauses("$p.a = $p.b -1 < $p.c")
    assert found == (
        t.Filter(t.Comparison(A, t.Operator.EQ, B)),
        t.Filter(t.Comparison(t.Integer(-1), t.Operator.LT, C)),
    )
    found = clauses("search($p.a, $q) -1 < $p.c")
    assert len(found) == 2
    assert clauses("$p.a -1 < $p.c") == (t.Filter(t.Comparison(of(A, MINUS, t.Integer(1)), t.Operator.LT, C)),)
    assert clauses("($p.a = $p.b -1)") == (t.Filter(t.Comparison(A, t.Operator.EQ, of(B, MINUS, t.Integer(1)))),)


CONDITIONS = {
    "($p.a + 1) * 2 > $p.b": t.Comparison(of(of(A, PLUS, t.Integer(1)), TIMES, t.Integer(2)), t.Operator.GT, B),
    "(($p.a)) = (1)": t.Comparison(A, t.Operator.EQ, t.Integer(1)),
    "((($p.a + 1)) > 2 or $p.b = 1)": t.Or(
        (t.Comparison(of(A, PLUS, t.Integer(1)), t.Operator.GT, t.Integer(2)), t.Comparison(B, t.Operator.EQ, t.Integer(1)))
    ),
    "not ($p.a = 1)": t.Not(t.Comparison(A, t.Operator.EQ, t.Integer(1))),
    "not (not ($p.a is null or $p.b = 1)) and $p.c = 1": t.And(
        (
            t.Not(t.Not(t.Or((t.IsNull(A, negated=False), t.Comparison(B, t.Operator.EQ, t.Integer(1)))))),
            t.Comparison(C, t.Operator.EQ, t.Integer(1)),
        )
    ),
    "not(($p.a + 1) > 2)": t.Not(t.Comparison(of(A, PLUS, t.Integer(1)), t.Operator.GT, t.Integer(2))),
    "$p.a not in [1, 2]": t.Among(A, t.List((t.Integer(1), t.Integer(2))), negated=True),
    '$p.a ends_with "x"': t.Comparison(A, t.Operator.ENDS_WITH, t.String("x")),
    "$p.a + $p.b is null": t.IsNull(of(A, PLUS, B), negated=False),
    "$p.a < -$p.b": t.Comparison(A, t.Operator.LT, t.Negative(B)),
}


@pytest.mark.parametrize(("text", "tree"), CONDITIONS.items(), ids=CONDITIONS.keys())
def test_conditions(text: str, tree: t.Condition) -> None:
    assert clauses(text) == (t.Filter(tree),)


def test_a_negated_group_is_a_clause_of_its_own() -> None:
    inner = t.Not(t.Comparison(A, t.Operator.EQ, t.Integer(1)))
    for before in ("$p: Person", "$p knows $f", "$p.a = $p.b", "$p.a in $list", "search($p.a, $q)", "$p.a is not null"):
        found = clauses(f"{before} not ($p.a = 1) not {{ $p knows $q }}")
        assert (len(found), found[1]) == (3, t.Filter(inner)), before
        assert isinstance(found[2], t.Negation)
    for wrong in ("not ($p.a)", "not $p.a = 1", "not ($p.a = 1", "not ()"):
        with pytest.raises(ParseError):
            clauses(wrong)


def test_words_that_became_functions_and_operators_stay_names() -> None:
    assert value("lower") == t.Alias("lower")
    (hop,) = clauses("$p ends_with $q")
    assert isinstance(hop, t.Traversal)
    (hop,) = clauses("$p concat $q")
    assert isinstance(hop, t.Traversal)
    assert [alias for _, alias in returned("$p.a as lower, $p.b as days")] == ["lower", "days"]


def test_deep_expressions_are_refused_and_not_overrun() -> None:
    for deep in ("(" * 500 + "1" + ")" * 500, "1" + " + 1" * 5000, "1" + " * 1" * 5000, "- " * 5000 + "$p.a"):
        with pytest.raises(ParseError, match="levels deep"):
            returned(deep)
    with pytest.raises(ParseError):
        clauses("(" * 60 + "$p.a" + ")" * 60)


def test_layout_keeps_what_belongs_together() -> None:
    text = """query q() {
    match {
        $p: P
        $p.a = $p.b
        (-$p.a < 3)
        ($p.a + 1) * 2 > $p.b - ($p.c - 1)
        $p.a not in [1, 2]
    }
    return { -(1), $p.a - -1, -($p.a + 1) * $p.b / ($p.c % 2) as x }
}
"""
    assert format_queries(Source(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "query q() { match { $p: P } return { lowr($p.a) as x } }",
        "query q() { match { $p: P } return { lower(lowr($p.a)) } }",
        "query q() { match { $p: P } return { $p.a } order { lowr($p.a) desc } }",
        'query q() { match { $p: P  lowr($p.a) = "x" } return { $p.a } }',
        'query q() { match { $p: P  $p.a = lowr("x") } return { $p.a } }',
        'query q() { match { $p: P  not (lowr($p.a) = "x") } return { $p.a } }',
        "query q() { match { $p: P } return { count($p) as n } having { lowr($p) > 1 } }",
        "query q() { update P set { a: lowr(a) } where b = 1 }",
        'query q() { update P set { a: 1 } where lowr(b) = "x" }',
    ],
    ids=range(9),
)
def test_a_function_that_does_not_exist_is_named_where_it_stands(text: str) -> None:
    with pytest.raises(ParseError) as refused:
        parse_queries(Source(text))
    (found,) = refused.value.diagnostics
    assert isinstance(found, Diagnostic)
    assert (found.code, found.message, found.help) == ("unknown-function", "no function `lowr`", "did you mean `lower`?")
    assert text[slice(*found.span)] == "lowr"


def test_no_function_is_like_it_so_all_are_listed() -> None:
    with pytest.raises(ParseError) as refused:
        returned("round($p.a) as r")
    assert "`coalesce`, `collect`" in str(refused.value)
    assert "did you mean" not in str(refused.value)


def test_an_alias_may_stand_before_parentheses_of_another_column() -> None:
    assert [expression for expression, _ in returned("a, ($p.b)")] == [t.Alias("a"), B]
    assert [expression for expression, _ in returned("a ($p.b)")] == [t.Alias("a"), B]
