"""`not ( … )`: three values, in queries, for groups and in what mutations change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

SCHEMA = """
node P { k: String @key  n: I32?  m: I32?  text: String? @index  tags: [String]? }
edge Knows: P -> P { since: I32? }
"""
ROWS: list[dict[str, Any]] = [
    {"k": f"{n}{m}", "n": None if n == "-" else int(n), "m": None if m == "-" else int(m)} for n in "12-" for m in "12-"
]
"""Two numbers, each 1, 2 or missing."""


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g", schema=SCHEMA, durability="os")
    made.load({"P": ROWS, "Knows": [{"from": "11", "to": k, "since": s} for k, s in (("12", 1), ("21", 2), ("22", None))]})
    return made


CASES = {
    "not (n = 1)": "2*",
    "not (n != 1)": "1*",
    "not (n < 2)": "2*",
    "not (n is null)": "1* 2*",
    "not (n is not null)": "-*",
    "not (n in [1])": "2*",
    "not (n not in [1])": "1*",
    "not (n = 1 and m = 1)": "2* *2",  # false if either is, whatever the other one is
    "not (n = 1 or m = 1)": "22",  # false only if both are
    "not (not (n = 1))": "1*",
    "not (not (n = 1 and m = 1))": "11",
    "not (n = m)": "12 21",
    "not (n + m > 2)": "11",
    'not (k starts_with "1")': "2* -*",
    "n is null and not (m = 1 or n = 5)": "",  # n = 5 is not known
    "n is null or not (m = 1)": "-* *2",
    "not (n = null_one)": "",
}


def expected(pattern: str) -> list[str]:
    wanted = pattern.split()
    return sorted(
        row["k"] for row in ROWS if any(all(c in ("*", d) for c, d in zip(one, row["k"], strict=True)) for one in wanted)
    )


@pytest.mark.parametrize("text", CASES, ids=CASES)
def test_rows_for_which_it_is_known_to_be_false(g: og.Graph, text: str) -> None:
    asked, given = text, "$x: I32?"
    for name in ("n", "m", "k"):
        asked = _of(asked, name)
    asked = asked.replace("null_one", "$x")
    found = g.query(f"query q({given}) {{ match {{ $p: P {asked} }} return {{ $p.k as k }} }}", params={"x": None}).rows
    assert sorted(row["k"] for row in found) == expected(CASES[text])


@pytest.mark.parametrize("text", [t for t in CASES if "null_one" not in t], ids=[t for t in CASES if "null_one" not in t])
def test_the_same_are_changed_by_a_mutation(g: og.Graph, text: str) -> None:
    g.mutate(f'query q() {{ update P set {{ text: "hit" }} where {text} }}')
    found = g.query('query q() { match { $p: P { text: "hit" } } return { $p.k as k } }').rows
    assert sorted(row["k"] for row in found) == expected(CASES[text])
    g.mutate(f"query q() {{ delete P where {text} }}")
    left = sorted(row["k"] for row in g.query("query q() { match { $p: P } return { $p.k as k } }").rows)
    assert left == sorted({row["k"] for row in ROWS} - set(expected(CASES[text])))


def _of(text: str, name: str) -> str:
    words = text.replace("(", "( ").split(" ")
    return " ".join(f"$p.{name}" if word == name else f"$p.{name})" if word == f"{name})" else word for word in words)


def test_edges_groups_texts_and_optional_nodes(g: og.Graph) -> None:
    g.mutate('query q() { update Knows set { since: 9 } where from = "11" and not (since = 1) }')
    edges = g.query("query q() { match { $a $e:knows $b } return { $b.k as k, $e.since as s } }").rows
    assert sorted((row["k"], row["s"]) for row in edges) == [("12", 1), ("21", 9), ("22", None)]
    groups = g.query(
        "query q() { match { $p: P } return { $p.n as n, sum($p.m) as s, count($p) as c } having { not (s > 2) and not (n = 1) } }"
    ).rows
    assert groups == []  # sums are 3, and that of the missing n is not kept: n = 1 is not known
    g.mutate('query q() { update P set { text: "red wine" } where k = "11" }')
    g.mutate('query q() { update P set { text: "white wine" } where k = "12" }')
    found = g.query('query q() { match { $p: P not (search($p.text, "red")) } return { $p.k as k } }').rows
    assert found == [{"k": "12"}]  # nothing is known of what has no text
    alone = g.query(
        "query q() { match { $p: P optional { $p knows $f } not ($f is not null) $p.n = 1 } return { $p.k as k } }"
    ).rows
    assert sorted(row["k"] for row in alone) == ["1-", "12"]


def test_a_plan_says_it(g: og.Graph) -> None:
    text = "query q() { match { $p: P not ($p.n = 1 or $p.m = 2) not ($p.n = 7) } return { $p.k } }"
    explained = str(g.explain(text))
    assert "not (p.n = 1 or p.m = 2)" in explained
    assert "not (p.n = 7)" in explained
