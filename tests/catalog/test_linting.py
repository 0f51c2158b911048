"""Lint: one fixture per rule (`tests/language/lint/<rule>.gq`), the shape of the report, the operation descriptor."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

from omnigraph.catalog.linting import LintReport, SchemaSource, lint
from omnigraph.catalog.opening import offline_catalog
from omnigraph.language import Source
from omnigraph.language.lint import LINT_CODES, rules

FIXTURES = Path(__file__).parent.parent / "language" / "lint"
CATALOG = offline_catalog(Source((FIXTURES / "schema.pg").read_text(), "schema.pg"))


def report(text: str, name: str = "q.gq") -> LintReport:
    return lint(CATALOG, Source(text, name), SchemaSource("file", "schema.pg"))


def test_every_rule_has_a_fixture_of_its_name() -> None:
    assert {m.name for m in pkgutil.iter_modules(rules.__path__)} == {p.stem for p in FIXTURES.glob("*.gq")}


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.gq")), ids=lambda p: p.stem)
def test_rule_finds_exactly_what_its_fixture_says(path: Path) -> None:
    text = path.read_text()
    found = report(text)
    told = sorted(
        f"{f.code} {f.type_name}.{f.property} ({', '.join(f.query_names)})" if f.type_name else f"{f.code} {f.message}"
        for f in found.findings
    )
    assert told == sorted(re.findall(r"// finds: (.+)", text))
    assert [r.name for r in found.results if r.warnings] == re.findall(r"// warns: (.+)", text)


def test_every_lint_code_is_listed() -> None:
    assert list(LINT_CODES) == ["Q000", "L201", "L202", "L203"]


# ── the numbered cases of the specification ──────────────────────────────────────────────────────────────────────────────────


def test_n1_a_valid_read_has_an_operation() -> None:
    found = report("query q() { match { $p: Person } return { $p.name } }").to_json()
    assert found["status"] == "ok"
    assert found["results"] == [
        {
            "name": "q",
            "kind": "read",
            "status": "ok",
            "operation": {
                "result": [{"name": "name", "kind": "string", "nullable": False}],
                "reads": [{"kind": "node", "type_name": "Person"}],
                "writes": [],
            },
        }
    ]


def test_n2_a_syntax_error_is_one_finding_and_no_results() -> None:
    found = report("query q( { }\nquery z( { }\n")
    data = found.to_json()
    assert (data["status"], data["queries_processed"], data["errors"], data["results"]) == ("error", 0, 1, [])
    assert [(f.code, f.severity.value) for f in found.findings] == [("Q000", "error")]
    assert found.findings[0].message.startswith("parse error:")
    assert len(found.diagnostics) == 2


def test_n3_a_query_that_fails_does_not_stop_the_others() -> None:
    found = report(
        "query bad() { match { $p: Person } return { $p.nme } } query good() { match { $p: Person } return { $p.name } }"
    )
    data = found.to_json()
    assert (data["status"], data["errors"], data["queries_processed"]) == ("error", 1, 2)
    bad, good = found.results
    assert bad.error is not None
    assert bad.error.startswith("type error: T6: ")
    assert bad.operation is None
    assert good.operation is not None


def test_n4_n6_an_optional_property_no_update_sets() -> None:
    found = report("query q($n: String, $a: I32) { update Person set { age: $a, bio: $n } where name = $n }")
    assert [(f.code, f.type_name, f.property) for f in found.findings] == [("L201", "Person", "nickname")]
    assert found.findings[0].message == "Person.nickname exists in schema but no update query sets it"
    assert found.findings[0].query_names == ("q",)
    assert found.ok


def test_n5_no_update_no_l201() -> None:
    assert report("query q($n: String) { insert Person { name: $n } }").findings == ()


def test_n7_a_mutation_without_parameters_gets_a_warning() -> None:
    found = report('query q() { delete Person where name = "x" }')
    assert found.results[0].warnings == ("mutation declares no params; hardcoded mutations are easy to miss",)
    assert found.ok
    assert found.warnings == 1


def operation(text: str) -> dict[str, object]:
    (result,) = report(text).results
    assert result.operation is not None, result.error
    return dict(result.operation.to_json())


def facts(*names: str) -> list[dict[str, str]]:
    return [{"kind": kind, "type_name": name} for kind, name in (n.split(":") for n in names)]


def test_n8_variables_are_legal_group_keys() -> None:
    found = operation("query q() { match { $p: Person $p knows $f } return { $p, $p.name, count($f) as n } }")
    assert found["result"] == [
        {"name": "p", "kind": "object", "nullable": False},
        {"name": "name", "kind": "string", "nullable": False},
        {"name": "n", "kind": "bigint", "nullable": True},
    ]


def test_n9_deleting_a_node_touches_its_edges() -> None:
    found = operation("query q($n: String) { delete Person where name = $n }")
    assert found["reads"] == found["writes"] == facts("node:Person", "edge:Knows", "edge:WorksAt")
    assert found["result"] == []


def test_n10_inserting_an_edge_reads_its_endpoints() -> None:
    found = operation("query q($n: String) { insert WorksAt { from: $n, to: $n } }")
    assert found["reads"] == facts("node:Company", "node:Person", "edge:WorksAt")
    assert found["writes"] == facts("edge:WorksAt")


def test_n11_negated_patterns_are_read_too() -> None:
    found = operation("query q() { match { $p: Person not { $p worksAt $_ } } return { $p.name } }")
    assert found["reads"] == facts("node:Company", "node:Person", "edge:WorksAt")


def test_n12_mixing_insert_and_delete_passes_lint() -> None:
    assert report("query q($n: String) { insert Company { name: $n } delete Person where name = $n }").ok


def test_n13_a_list_has_an_item_kind() -> None:
    found = operation("query q() { match { $c: Company } return { $c.founded } }")
    assert found["result"] == [{"name": "founded", "kind": "list", "item_kind": "date", "nullable": True}]


def test_static_field_names_and_kinds() -> None:
    text = """query q($n: U64, $v: Vector(2)) {
        match { $p: Person optional { $p worksAt $c } }
        return { $p.vec, $n, 1, 1.5 as f, true as b, now(), date("2024-01-01") as d,
            nearest($p.vec, $v), search($p.bio, "x"), $c, $c.name, $p.age as years }
    }"""
    assert operation(text)["result"] == [
        {"name": "vec", "kind": "vector", "vector_dim": 2, "nullable": True},
        {"name": "n", "kind": "bigint", "nullable": False},
        {"name": "literal", "kind": "bigint", "nullable": False},
        {"name": "f", "kind": "float", "nullable": False},
        {"name": "b", "kind": "bool", "nullable": False},
        {"name": "now", "kind": "datetime", "nullable": False},
        {"name": "d", "kind": "date", "nullable": False},
        {"name": "nearest", "kind": "float", "nullable": True},
        {"name": "search", "kind": "bool", "nullable": False},
        {"name": "c", "kind": "object", "nullable": True},
        {"name": "name", "kind": "string", "nullable": True},
        {"name": "years", "kind": "int", "nullable": True},
    ]


def test_findings_are_sorted_and_the_report_has_the_specified_keys() -> None:
    found = report((FIXTURES / "never_updated.gq").read_text() + (FIXTURES / "shadowed_query.gq").read_text())
    keys = [f.sort_key() for f in found.findings]
    assert keys == sorted(keys)
    assert list(found.to_json())[:9] == [
        "status", "schema_source", "query_path", "queries_processed", "errors", "warnings", "infos", "results", "findings",
    ]  # fmt: skip
    assert found.to_json()["schema_source"] == {"kind": "file", "path": "schema.pg"}
