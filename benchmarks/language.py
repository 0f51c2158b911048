"""Parse, check, format: what the languages cost. The baseline is Python's own parser on a Python text of the same size."""

from __future__ import annotations

import ast
from pathlib import Path

from benchmarks.measuring import Measurement, median_ms
from omnigraph.catalog.check import check
from omnigraph.catalog.logical import ReadQuery
from omnigraph.catalog.opening import offline_catalog
from omnigraph.engine.planning.lowering import lower
from omnigraph.language import Source, parse_queries
from omnigraph.language.gq.format import format_queries

EXAMPLE = Path(__file__).parent.parent / "examples" / "company-memory"

QUERY = """query follow_ups($team: String, $since: DateTime, $words: String) {
    match {
        $t: Team { slug: $team }
        $p memberOf $t
        $p worksOn $task
        $task followsUp $i
        $i.opened_at >= $since and $i.severity in ["sev1", "sev2"]
        search($i.summary, $words)
        not { $i affects $s  $s.tier = "internal" }
        optional { $i affects $svc }
    }
    return { $p.name, $i.title as incident, count(distinct $svc) as services }
    order { services desc, $p.name }
    limit 20 offset 10
}
"""
"""Fifteen lines with most of what queries are made of."""


def measure() -> list[Measurement]:
    """Time the language layers."""
    source = Source(QUERY, "benchmark.gq")
    assert len(QUERY.splitlines()) == 15
    catalog = offline_catalog(Source((EXAMPLE / "schema.pg").read_text(), "schema.pg"))

    def parse_and_check() -> None:
        checked = check(catalog, parse_queries(source).queries[0], source)
        assert isinstance(checked, ReadQuery)
        lower(checked)

    python = "\n".join(f"value_{i} = call(argument_{i}, other.name, 'text')[{i}]" for i in range(15))
    baseline = median_ms(lambda: ast.parse(python), repeats=300)
    schema = Source((EXAMPLE / "schema.pg").read_text(), "schema.pg")
    name = "ast.parse of 15 Python lines"
    return [
        Measurement("parse a 15-line query", median_ms(lambda: parse_queries(source), repeats=300), name, baseline),
        Measurement("parse, check and lower a 15-line query", median_ms(parse_and_check, repeats=300), name, baseline, 1.0),
        Measurement("format a 15-line query", median_ms(lambda: format_queries(source), repeats=300), name, baseline),
        Measurement("schema text to catalog, 28 types", median_ms(lambda: offline_catalog(schema), repeats=30), name, baseline),
    ]
