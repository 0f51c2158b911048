"""The numbered query (Q) and mutation (U) cases of the specification, as far as they can be told without data.

What a case gives on data belongs to the engine; here it is what the checker says of it: accepted with these columns, or refused with
this code.
"""

from __future__ import annotations

import pytest

from omnigraph.catalog import logical as lg
from omnigraph.catalog.check import read_query, refuse_mixed
from omnigraph.catalog.keys import entity_id
from omnigraph.catalog.opening import offline_catalog
from omnigraph.errors import MixedMutationError
from omnigraph.language import Source, parse_queries

CATALOG = offline_catalog(
    Source(
        """
        interface Named { name: String }
        node Person implements Named {
            name: String @key
            age: I32?
            tags: [String]?
            email: String? @unique
            status: enum(open, done)?
            created_at: DateTime?
        }
        node Company implements Named { name: String @key }
        node Counter { label: String @key count: I32 repoName: String? prefix: String? }
        node Doc { slug: String @key v: Vector(4)? }
        node Ticket { tenant: String number: I32 @key(tenant, number) }
        edge Knows: Person -> Person { since: Date? }
        edge WorksAt: Person -> Company
        """,
        "test.pg",
    )
)


def checked(text: str) -> tuple[lg.LogicalQuery, list[str]]:
    source = Source(text, "case.gq")
    query, problems = read_query(CATALOG, parse_queries(source).queries[0], source)
    return query, [p.code for p in problems]


READS = {
    "Q1": ("$p: Person", "$p.name } order { $p.name asc", ["p.name"]),
    "Q2": ('$p: Person { name: "Alice" } $p knows $f', "$f.name", ["f.name"]),
    "Q3": ('$p: Person { name: "Bob" } $f knows $p', "$f.name", ["f.name"]),
    "Q4": ('$p: Person { name: "Bob" } $p <knows> $f', "$f.name", ["f.name"]),
    "Q5": ('$p: Person { name: "Charlie" } $p <knows>{1,2} $f', "$f.name", ["f.name"]),
    "Q6": ("$p: Person $p knows{2,3} $f", "$f.name", ["f.name"]),
    "Q7": ("$p: Person $p knows{1,5} $f", "$f.name", ["f.name"]),
    "Q8": ("$p: Person $p knows $f", "$f.name", ["f.name"]),
    "Q9": ("$p: Person $p worksAt{1,2} $c", "$c.name", ["c.name"]),
    "Q10": ("$p: Person not { $p worksAt $_ }", "$p.name", ["p.name"]),
    "Q11": ('$p: Person not { $p worksAt $c $c.name = "Acme" }', "$p.name", ["p.name"]),
    "Q12": ('$p: Person not { $p worksAt $c not { $c.name = "Acme" } }', "$p.name", ["p.name"]),
    "Q13": ("$p: Person not { $p knows{2,2} $x }", "$p.name", ["p.name"]),
    "Q13b": ("$p: Person not { $p knows $x } not { $p <knows> $y }", "$p.name", ["p.name"]),
    "Q13c": ('$p: Person not { $p worksAt $c $c: Company {name: "Acme"} }', "$p.name", ["p.name"]),
    "Q14": ("$p: Person $p.age > 26 $p.age != 30", "$p.name", ["p.name"]),
    "Q15": ("$p: Person", "$p.name } order { $p.age desc", ["p.name"]),
    "Q16": ("$p: Person", "$p.name } order { $p.name, $p.age", ["p.name"]),
    "Q17": ("$p: Person $p knows $f", "$p.name, count($f) as friends", ["p.name", "friends"]),
    "Q18": ("$p: Person", "count($p) as total", ["total"]),
    "Q19": ("$p: Person", "avg($p.age)", ["p.age"]),
    "Q20": ("$p: Person $p $w:knows $f", "$f.name", ["f.name"]),
    "Q21": ("$p: Person $p $w:knows $f", "$f.name, count($w.since)", ["f.name", "w.since"]),
    "Q22": ('$p: Person { tags: "x" } $p.tags contains "x"', "$p.name", ["p.name"]),
    "Q23": ('$p: Person $p.name contains "li"', "$p.name", ["p.name"]),
    "Q24": ('$m: Counter "the alps are tall" contains $m.label', "$m.label", ["m.label"]),
    "Q25": ("$a: Person $b: Counter $a.name starts_with $b.prefix", "$a.name", ["a.name"]),
    "Q26": ("$c: Counter $c.count = 2.7", "$c.count", ["c.count"]),
    "Q27": ('$c: Counter $c.repoName = "x"', "$c.repoName", ["c.repoName"]),
    "Q28": (r'$p: Person { name: "a \"quote\" and a \\" }', "$p.name", ["p.name"]),
    "Q29": ("$p: Person", "$p", ["p"]),
    "Q36": ("$p: Person $c: Company", "$p.name, $c.name", ["p.name", "c.name"]),
}


@pytest.mark.parametrize(("clauses", "returned", "columns"), READS.values(), ids=READS.keys())
def test_read_is_accepted_with_these_columns(clauses: str, returned: str, columns: list[str]) -> None:
    query, codes = checked(f"query q() {{ match {{ {clauses} }} return {{ {returned} }} limit 2 }}")
    assert codes == []
    assert isinstance(query, lg.ReadQuery)
    assert [p.column for p in query.projections] == columns


REFUSED_READS = {
    "Q22 inline list literal": ('$p: Person { tags: ["x"] }', "$p.name", "T3"),
    "Q31 {0,2}": ("$p: Person $p knows{0,2} $f", "$f", "T15"),
    "Q31 {3,1}": ("$p: Person $p knows{3,1} $f", "$f", "T15"),
    "Q31 {1,}": ("$p: Person $p knows{1,} $f", "$f", "T15"),
    "Q32": ("$p: Person $p <worksAt> $c", "$c", "T22"),
    "Q33": ("$p: Person $p $w:knows $f $w: Person", "$w", "T23"),
    "Q34": ("$d: Doc", "$d } order { nearest($d.v, [1, 2, 3, 4])", "T17"),
    "Q35": ("$p.age > 3 $p: Person", "$p", "T6"),
}


@pytest.mark.parametrize(("clauses", "returned", "code"), REFUSED_READS.values(), ids=REFUSED_READS.keys())
def test_read_is_refused_with_this_code(clauses: str, returned: str, code: str) -> None:
    assert checked(f"query q() {{ match {{ {clauses} }} return {{ {returned} }} }}")[1] == [code]


def test_q30_an_interface_binding_is_the_one_code_the_superset_turns_into_meaning() -> None:
    query, codes = checked("query q() { match { $x: Named } return { $x.name } }")
    assert codes == []
    assert isinstance(query, lg.ReadQuery)
    assert query.pattern == (lg.Bind("x", ("Company", "Person"), "Named"),)


MUTATIONS = {
    "U1": 'insert Person { name: "Alice", age: 31 }',
    "U2": 'insert Person { name: "Alice" }',
    "U3": 'insert Person { name: "E" } insert Person { name: "F" } insert Knows { from: "E", to: "F" }',
    "U4": 'insert Knows { from: "Alice", to: "nobody" }',
    "U5": 'update Person set { age: 31 } where name = "Alice"',
    "U6": 'update Person set { name: "Bob" } where name = "Alice"',
    "U7": "update Person set { age: 1 } where age > 100",
    "U8": 'delete Person where name = "Alice"',
    "U9": 'delete Person where name = "Alice" delete Person where age > 29',
    "U10": 'delete Person where age > 29 delete Person where name = "x"',
    "U11": 'insert Person { name: "x" } delete Person where name = "y"',
    "U12": 'insert Person { name: "x", age: 3 } update Person set { age: 4 } where age = 3',
    "U13": 'update Person set { email: "same" } where age > 1',
    "U14": 'update Person set { email: "b" } where name = "a" update Person set { email: "a" } where name = "b"',
    "U15": 'insert WorksAt { from: "a", to: "b" } insert WorksAt { from: "a", to: "c" }',
    "U17 parameter": "insert Person { name: $s, status: $s }",
    "U20": 'delete Knows where from = "Alice"',
    "U21": 'insert Counter { label: "x", count: 2147483648 }',
    "U22": 'insert Ticket { tenant: "acme", number: 7 }',
    "U23": 'insert Person { name: "a", created_at: now() } insert Person { name: "b", created_at: now() }',
}


@pytest.mark.parametrize("statements", MUTATIONS.values(), ids=MUTATIONS.keys())
def test_mutation_is_accepted_by_the_checker(statements: str) -> None:
    query, codes = checked(f"query q($s: String) {{ {statements} }}")
    assert codes == []
    assert isinstance(query, lg.MutationQuery)


REFUSED_MUTATIONS = {
    "U17 literal": ('insert Person { name: "x", status: "nope" }', "T3"),
    "U18": ("insert WorksAt { from: $s }", "T12"),
    "U19": ('update Knows set { from: "b" } where from = "a"', "T16"),
}


@pytest.mark.parametrize(("statements", "code"), REFUSED_MUTATIONS.values(), ids=REFUSED_MUTATIONS.keys())
def test_mutation_is_refused_with_this_code(statements: str, code: str) -> None:
    assert checked(f"query q($s: String) {{ {statements} }}")[1] == [code]


def test_u11_is_refused_before_any_effect() -> None:
    query, _ = checked(f"query q() {{ {MUTATIONS['U11']} }}")
    assert isinstance(query, lg.MutationQuery)
    with pytest.raises(MixedMutationError, match="D2"):
        refuse_mixed(query)


def test_u22_the_id_of_a_composite_key() -> None:
    assert entity_id(CATALOG.nodes["Ticket"].key, {"tenant": "acme", "number": 7}) == '["7","acme"]'
