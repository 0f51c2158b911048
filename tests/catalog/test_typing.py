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


EVENTS = offline_catalog(
    Source(
        """
node Person { name: String @key }
node Event { slug: String @key }
node Place { slug: String @key }
node Bare {}
interface Spot { slug: String }
node Room implements Spot {}
edge HAS_EVENT: Place -> Event
edge WorksAt: Person -> Place
edge Knows: Person -> Person
edge Holds: Event -> Room
""",
        "events.pg",
    )
)


@pytest.mark.parametrize(
    ("clauses", "help"),
    [
        ("$p: Place $p has_events $e", "did you mean `has_event`?"),
        ("$p: Person $p hasevent $e", "edges of `Person`: `knows`, `worksAt`"),
        ("$p: Person $p works_at $e", "did you mean `worksAt`?"),
        ("$e: Event $p attends $e", "edges of `Event`: `has_event`, `holds`"),
        ("$p: Person $c: Place $p employed $c", "edges of `Person` and `Place`: `worksAt`"),
        ("$p: Person $e: Event $p attends $e", "edges of `Person` and `Event`: `has_event`, `holds`, `knows`, `worksAt`"),
        ("$s: Spot $s within $e", "edges of `Spot`: `holds`"),
        ("$p: Person $p $k:knows $q $k within $e", "there are `has_event`, `holds`, `knows`, `worksAt`"),
        ("$a hold $b", "did you mean `holds`?"),
        ("$b: Bare $b zzz $c", "there are `has_event`, `holds`, `knows`, `worksAt`"),
    ],
)
def test_an_unknown_edge_gets_the_edges_that_fit_its_ends(clauses: str, help: str) -> None:
    source = Source(f"query q() {{ match {{ {clauses} }} return {{ 1 }} }}")
    _, problems = read_query(EVENTS, parse_queries(source).queries[0], source)
    assert [(p.code, p.help) for p in problems] == [("T4", help)]


def test_a_type_without_properties_is_said_to_have_none() -> None:
    source = Source("query q() { match { $b: Bare $b.x = 1 } return { $b } }")
    _, problems = read_query(EVENTS, parse_queries(source).queries[0], source)
    assert [(p.code, p.help) for p in problems] == [("T6", "`Bare` declares no properties")]


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
