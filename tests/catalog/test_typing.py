"""Every typing rule, by cases: `cases/typing/*.gq` holds queries, each under the codes it is expected to report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.check import TYPING_RULES, check, read_query, refuse_mixed
from omnigraph.catalog.opening import offline_catalog
from omnigraph.errors import MixedMutationError, TypeCheckError
from omnigraph.language import Source, parse_queries
from omnigraph.language.gq.tree import Query

CASES = Path(__file__).parent / "cases" / "typing"
EXPECTATION = re.compile(r"// expect: (.+)\n\s*query (\w+)")


def catalog() -> Catalog:
    return offline_catalog(Source((CASES / "schema.pg").read_text(), "schema.pg"))


CATALOG = catalog()


def cases() -> list[tuple[str, Source, Query, list[str]]]:
    found = []
    for path in sorted(CASES.glob("*.gq")):
        source = Source(path.read_text(), path.name)
        expected = {name: codes.split() for codes, name in EXPECTATION.findall(source.text)}
        queries = parse_queries(source).queries
        assert {q.name.text for q in queries} == set(expected), f"{path.name}: every query needs an expectation"
        found += [(f"{path.stem}-{q.name.text}", source, q, expected[q.name.text]) for q in queries]
    return found


ALL = cases()


@pytest.mark.parametrize(("source", "query", "expected"), [c[1:] for c in ALL], ids=[c[0] for c in ALL])
def test_query_reports_exactly_these_codes(source: Source, query: Query, expected: list[str]) -> None:
    _, problems = read_query(CATALOG, query, source)
    assert [p.code for p in problems] == ([] if expected == ["ok"] else expected), [p.summary for p in problems]


def test_every_typing_rule_has_a_case() -> None:
    covered = {code for *_, expected in ALL for code in expected}
    assert set(TYPING_RULES) <= covered


def test_a_failed_check_raises_with_every_problem_and_the_first_in_its_message() -> None:
    source = Source("query q() { match { $p: Persn $c: Compny } return { 1 } }", "q.gq")
    with pytest.raises(TypeCheckError) as caught:
        check(CATALOG, parse_queries(source).queries[0], source)
    assert caught.value.message == "type error: T1: unknown node type `Persn` (and 1 more)"
    assert "did you mean `Person`?" in str(caught.value)
    assert [d.to_dict()["column"] for d in caught.value.diagnostics] == [25, 35]


def test_rule_d2_is_checked_apart_from_types() -> None:
    text = 'query mix() { insert Company { name: "x" } delete Company where name = "y" }'
    source = Source(text, "q.gq")
    checked = check(CATALOG, parse_queries(source).queries[0], source)
    assert isinstance(checked, lg.MutationQuery)
    with pytest.raises(MixedMutationError, match="split"):
        refuse_mixed(checked)


@pytest.mark.parametrize(
    "text",
    [
        'query a() { insert Company { name: "x" } update Company set { city: "o" } where name = "x" }',
        'query b() { delete Company where name = "x" delete Person where name = "x" }',
    ],
)
def test_rule_d2_allows_one_kind(text: str) -> None:
    source = Source(text)
    checked = check(CATALOG, parse_queries(source).queries[0], source)
    assert isinstance(checked, lg.MutationQuery)
    refuse_mixed(checked)
