"""From patterns to operators: the numbered cases of the specification, and the extensions."""

from __future__ import annotations

import pytest

from omnigraph.catalog import logical as lg
from omnigraph.catalog.check import check
from omnigraph.catalog.opening import offline_catalog
from omnigraph.engine.planning.lowering import (
    AntiJoin,
    Expand,
    FindPath,
    MatchNode,
    NodeScan,
    Operator,
    OuterJoin,
    SameEntity,
    Select,
    lower,
)
from omnigraph.language import Source, parse_queries

CATALOG = offline_catalog(
    Source(
        """
        interface Named { name: String }
        node Person implements Named { name: String age: I32? }
        node Company implements Named { name: String }
        edge Knows: Person -> Person
        edge WorksAt: Person -> Company
        """
    )
)


def operators(clauses: str) -> tuple[Operator, ...]:
    source = Source(f"query q($n: String) {{ match {{ {clauses} }} return {{ 1 }} }}")
    checked = check(CATALOG, parse_queries(source).queries[0], source)
    assert isinstance(checked, lg.ReadQuery)
    return lower(checked)


def told(operators: tuple[Operator, ...]) -> list[str]:
    """Operators as short lines."""
    return [_told(operator) for operator in operators]


def _told(operator: Operator) -> str:
    match operator:
        case NodeScan(variable, types, matches):
            return f"scan {variable}:{'|'.join(types)}" + "".join(f" {m.property}" for m in matches)
        case Expand():
            arrow = {lg.HopDirection.OUT: "->", lg.HopDirection.IN: "<-", lg.HopDirection.BOTH: "<->"}[operator.direction]
            bounds = "" if (operator.minimum, operator.maximum) == (1, 1) else f"{{{operator.minimum},{operator.maximum}}}"
            edge = f"{operator.edge_variable}:{operator.edge}" if operator.edge_variable else operator.edge
            filters = "".join(f" {m.property}" for m in operator.target_matches)
            return f"{operator.source} {edge}{bounds}{arrow} {operator.target}:{operator.target_type}{filters}"
        case FindPath(source, target, variable):
            return f"path {variable} {source} {target}"
        case SameEntity(left, right):
            return f"{left} == {right}"
        case MatchNode(variable, _, matches):
            return f"match {variable}" + "".join(f" {m.property}" for m in matches)
        case Select():
            return "select"
        case AntiJoin(outer, inner):
            return f"anti {outer} [{'; '.join(told(inner))}]"
        case OuterJoin(outer, inner, introduces):
            return f"outer {outer} [{'; '.join(told(inner))}] {','.join(introduces)}"


CASES = {
    "P1 one hop": ("$p: Person $p knows $f", ["scan p:Person", "p Knows-> f:Person"]),
    "P2 a second binding waits": (
        '$p: Person $f: Person {name: "Bob"} $p knows $f',
        ["scan p:Person", "p Knows-> f:Person name"],
    ),
    "P3 two components": ("$p: Person $c: Company", ["scan p:Person", "scan c:Company"]),
    "P4 a triangle closes on a helper": (
        "$a: Person $a knows $b $b knows $c $c knows $a",
        ["scan a:Person", "a Knows-> b:Person", "b Knows-> c:Person", "c Knows-> __temp_a:Person", "__temp_a == a"],
    ),
    "P5 a wildcard joins nothing": (
        "$a: Person $b: Person $a knows $_ $b knows $_",
        ["scan a:Person", "scan b:Person", "a Knows-> _:Person", "b Knows-> _:Person"],
    ),
    "P6 traversal before its binding": ("$p knows $f $p: Person", ["scan p:Person", "p Knows-> f:Person"]),
    "backward over an edge between two types": ("$c: Company $c worksAt $p", ["scan c:Company", "c WorksAt<- p:Person"]),
    "from the target": ("$c: Company $p worksAt $c", ["scan c:Company", "c WorksAt<- p:Person"]),
    "undirected with bounds": ("$p: Person $p <knows>{1,3} $f", ["scan p:Person", "p Knows{1,3}<-> f:Person"]),
    "edge variable": ("$p: Person $p $w:knows $f", ["scan p:Person", "p w:Knows-> f:Person"]),
    "nothing bound scans the source": ("$p worksAt $c", ["scan p:Person", "p WorksAt-> c:Company"]),
    "nothing bound at all": ("$_ knows $_", ["scan __temp_source:Person", "__temp_source Knows-> _:Person"]),
    "second binding adds matches": (
        '$p: Person {age: 3} $p: Person {name: "x"}',
        ["scan p:Person age name"],
    ),
    "filters follow": ("$p: Person $p.age > 3 $p knows $f", ["scan p:Person", "p Knows-> f:Person", "select"]),
    "negation keeps the direction": (
        "$c: Company not { $c worksAt $p $p.age > 3 }",
        ["scan c:Company", "anti c [c WorksAt<- p:Person; select]"],
    ),
    "negation with a rebinding of the outer variable": (
        "$p: Person not { $p: Person {name: $n} }",
        ["scan p:Person", "anti p [match p name]"],
    ),
    "nested negation": (
        '$p: Person not { $p worksAt $c not { $c.name = "x" } }',
        ["scan p:Person", "anti p [p WorksAt-> c:Company; anti c [select]]"],
    ),
    "negation with an inner binding": (
        "$p: Person not { $c: Company {name: $n} $p worksAt $c }",
        ["scan p:Person", "anti p [p WorksAt-> c:Company name]"],
    ),
    "interface": ("$x: Named", ["scan x:Company|Person"]),
    "optional before what leans on it": (
        '$p: Person $p.age > 3 optional { $p worksAt $c } $c.name = "x" $p knows $f not { $p knows $c2 }',
        [
            "scan p:Person",
            "p Knows-> f:Person",
            "select",
            "outer p [p WorksAt-> c:Company] c",
            "select",
            "anti p [p Knows-> c2:Person]",
        ],
    ),
    "hop from an optional variable": (
        "$p: Person optional { $p knows $f } $f worksAt $c optional { $c worksAt $g }",
        ["scan p:Person", "outer p [p Knows-> f:Person] f", "f WorksAt-> c:Company", "outer c [c WorksAt<- g:Person] g"],
    ),
    "anonymous scan": ("$_: Company $p: Person", ["scan p:Person", "scan _:Company"]),
}


@pytest.mark.parametrize(("clauses", "expected"), CASES.values(), ids=CASES.keys())
def test_lowering(clauses: str, expected: list[str]) -> None:
    assert told(operators(clauses)) == expected


def test_conditions_keep_their_types() -> None:
    select = operators('$p: Person $p.name contains "li" and ($p.age in [1, 2] or $p.age is null)')[-1]
    assert isinstance(select, Select)
    assert isinstance(select.condition, lg.AllOf)
    substring, choice = select.condition.parts
    assert isinstance(substring, lg.Compare)
    assert substring.comparator is lg.Comparator.STRING_CONTAINS
    assert isinstance(choice, lg.AnyOf)
