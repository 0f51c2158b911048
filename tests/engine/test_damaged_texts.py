"""Queries and schemas that were damaged a little go through the public doors: an answer, or an error of ours that can be shown.

`tests/language/test_fuzz.py` is about reading and layout. Here texts that mean something are damaged by words, so that most of them
are read and many are run: checked, planned, explained, executed, applied. Each takes the same way laid out anew, and comes to the
same answer. Errors point into the text.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.language import Source
from omnigraph.language.gq.format import format_queries
from omnigraph.language.pg.format import format_schema
from omnigraph.surfaces.cli.main import run

SCHEMA = """interface Named { label: String? }
node Person implements Named {
    name: String @key
    age: I32? @index
    big: U64?
    score: F32?
    born: Date?
    seen: DateTime?
    tags: [String]?
    mood: enum(good, bad)?
    bio: String?
    place: Vector(2)?
    photo: Blob?
    @range(age, 0..150)
    @unique(bio)
}
node City { name: String @key  size: I64? }
edge Knows: Person -> Person { since: Date?  weight: F64? }
edge LivesIn: Person -> City @card(0..1)
"""
DATA: list[dict[str, Any]] = [
    {
        "type": "Person",
        "data": {"name": "Ada", "age": 36, "born": "1990-01-01", "tags": ["a", "b"], "bio": "likes tea", "place": [0, 1]},
    },
    {"type": "Person", "data": {"name": "Bob", "age": 41, "big": 2**63, "score": 0.5, "mood": "good", "bio": "likes coffee"}},
    {"type": "Person", "data": {"name": "Cyd", "seen": "2024-01-01T00:00:00Z", "label": "c", "place": [1, 1]}},
    {"type": "City", "data": {"name": "Oslo", "size": 7}},
    {"edge": "Knows", "from": "Ada", "to": "Bob", "data": {"id": "k1", "since": "2020-02-02", "weight": 1.5}},
    {"edge": "Knows", "from": "Bob", "to": "Cyd", "data": {"id": "k2"}},
    {"edge": "LivesIn", "from": "Ada", "to": "Oslo", "data": {"id": "l1"}},
]
READS = [
    "query q($n: String, $a: I32?) { match { $p: Person { name: $n }  $p knows{1,2} $f  $f.age >= $a } return { $f.name, $f.age as years } order { years desc } limit 3 }",
    "query q() { match { $p: Person  $p $e:knows $f } return { $p.name, count($f) as n, sum($e.weight) as w, max($e.weight) as most } order { n, $p.name } }",
    "query q() { match { $p: Person  optional { $p livesIn $c }  not { $p knows $_ } } return distinct { $p.name, $c.name as city } order { city } limit 2 offset 1 }",
    'query q() { match { $p: Person  ($p.age < 40 or $p.age is null) and $p.tags contains "a"  $p.born = date("1990-01-01") } return { $p, $p.place, $p.seen } }',
    'query q() { match { $p: Person  search($p.bio, "likes") } return { $p.name, bm25($p.bio, "tea") as s } order { s desc } limit 2 }',
    "query q() { match { $p: Person } return { $p.name } order { nearest($p.place, [0.0, 1.0]) } limit 2 }",
    'query q() { match { $p: Person  $p.mood in ["good", "bad"]  $p.big > 9223372036854775808 } return { avg($p.score), min($p.mood), count(distinct $p.big) as d } }',
]
WRITES = [
    'query q($n: String) { insert Person { name: $n, age: 5, tags: ["x"], born: date("2024-01-01"), place: [1.0, 2.0] } insert Knows { from: $n, to: "Ada" } }',
    'query q() { update Person set { age: 7, seen: now(), mood: "bad" } where name = "Bob" }',
    'query q() { delete Knows where from = "Ada" }',
]
TOKEN = re.compile(r'"[^"]*"|\$?\w+|\s+|.', re.DOTALL)
ODD = [
    *(
        "0",
        "-1",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
        "1e400",
        "-0.0",
        "1.5",
        "999999999999999999999",
    ),
    *(
        '""',
        '"é"',
        '"\\u0000"',
        '"\\ud800"',
        '"x\\"',
        "null",
        "true",
        "now()",
        'date("0000-01-01")',
        'date("x")',
        'datetime("9999-12-31T23:59:59Z")',
    ),
    *(
        "$p",
        "$f",
        "$_",
        "$n",
        "$zz",
        "[",
        "]",
        "[]",
        '[1, "a"]',
        "{",
        "}",
        "(",
        ")",
        "{1,9}",
        "{2,1}",
        "{1,4294967295}",
        ",",
        "=",
        "!=",
        "<",
        "in",
        "contains",
    ),
    *(
        "and",
        "or",
        "not",
        "optional",
        "distinct",
        "count",
        "sum",
        "min",
        "avg",
        "as",
        "order",
        "limit",
        "offset",
        "desc",
        "is null",
        "starts_with",
    ),
    *(
        "search",
        "fuzzy",
        "bm25",
        "nearest",
        "rrf",
        "match_text",
        "Person",
        "City",
        "Named",
        "knows",
        "<knows>",
        "livesIn",
        "name",
        "age",
        "big",
        "born",
    ),
    *(
        "photo",
        "tags",
        "place",
        "id",
        "src",
        "from",
        "//",
        "/*",
        "*/",
        "\x00",
        "\u202e",
        "\ufeff",
        "🙂",
        "\ud800",
        "\u2028",
        "\\",
        "@key",
        '@rename_from("age")',
    ),
    *(
        "String",
        "I32?",
        "Vector(0)",
        "Vector(3)",
        "enum()",
        "enum(a)",
        "Blob",
        "[Blob]",
        "interface",
        "node",
        "edge",
        "->",
        "@card(2..1)",
        '@check(name, "(")',
    ),
]
PARAMS: list[dict[str, Any] | None] = [None, {"n": "Ada"}, {"n": "Ada", "a": 1}, {"n": "", "a": None}, {"a": "x"}]


ALIKE = [
    ["name", "age", "big", "score", "born", "seen", "tags", "mood", "bio", "place", "photo", "label", "size", "since", "weight"],
    ["$p", "$f", "$e", "$c", "$_"],
    ["Person", "City", "Named", "Knows"],
    ["knows", "livesIn", "<knows>", "knows{1,2}", "knows{2,3}"],
    ["=", "!=", "<", "<=", ">", ">=", "contains", "starts_with", "in"],
    ["count", "sum", "avg", "min", "max"],
    ["and", "or"],
    ["asc", "desc"],
    [
        "1",
        "2",
        "3",
        "5",
        "7",
        "40",
        "0",
        "-1",
        "2.5",
        "9223372036854775808",
        "18446744073709551615",
        "1e300",
        '"good"',
        '"a"',
        "true",
    ],
]
"""Words that may stand for one another."""


def damaged(text: str, rand: random.Random) -> str:
    """A text with a few words dropped, doubled, swapped or replaced; now and then much more of one thing."""
    words = TOKEN.findall(text)
    for _ in range(rand.choice((1, 1, 1, 2))):
        alike = [(n, group) for n, word in enumerate(words) for group in ALIKE if word in group]
        n, group = rand.choice(alike) if alike else (0, [" "])
        words[n] = rand.choice(group)
    for _ in range(rand.choice((0, 0, 0, 0, 1, 2, 5))):
        at, other = rand.randrange(len(words)), rand.randrange(len(words))
        match rand.randrange(7):
            case 0:
                words[at] = rand.choice(ODD)
            case 1:
                words.insert(at, f" {rand.choice(ODD)} ")
            case 2 if len(words) > 4:
                del words[at]
            case 3:
                words.insert(at, words[other])
            case 4:
                words[at], words[other] = words[other], words[at]
            case 5 if len(words) > 4:
                del words[min(at, other) : max(at, other)]
                words = words or [" "]
            case _:
                words.insert(at, rand.choice(ODD) * rand.choice((2, 40, 400)) if rand.random() < 0.1 else words[other])
    return "".join(words)


def check_error(error: og.GraphError, text: str) -> None:
    """It is one that was thought of, can be shown, and points into the text."""
    assert error.code != "unexpected", text
    assert str(error)
    assert error.to_dict()["error"]
    if isinstance(error, og.LanguageError):
        assert error.diagnostics
        lines = text.count("\n") + 2
        for problem in error.diagnostics:
            told = problem.to_dict()
            assert problem.render()
            assert 1 <= told["line"] <= lines  # type: ignore[operator]


def outcome(graph: og.Graph, text: str, params: dict[str, Any] | None, *, write: bool) -> object:
    """The rows, what was written, or the code of the error."""
    try:
        if write:
            return graph.mutate(text, params, branch="work").to_dict().get("affected")
        graph.explain(text, params)
        return sorted(map(repr, graph.query(text, params, timeout=20).rows))
    except og.GraphError as error:
        check_error(error, text)
        return error.code


def laid_out(text: str) -> str | None:
    try:
        return format_queries(Source(text))
    except og.GraphError as error:
        check_error(error, text)
        return None


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    with og.init(tmp_path_factory.mktemp("damaged") / "g", SCHEMA, durability="os") as made:
        made.load(DATA)
        made.branches.create("work")
        yield made


@pytest.mark.parametrize("seed", range(8))
def test_damaged_queries_are_answered_or_refused(graph: og.Graph, seed: int) -> None:
    rand = random.Random(seed)
    ran = 0
    for _ in range(200):
        text = damaged(rand.choice(READS), rand)
        params = rand.choice(PARAMS) if "$n" in text or rand.random() < 0.05 else None
        answer = outcome(graph, text, params, write=False)
        ran += isinstance(answer, list)
        again = laid_out(text)
        if again is not None and "limit" not in text and "now()" not in text:
            assert outcome(graph, again, params, write=False) == answer, text
    assert ran > 10, "many of them still mean something"


@pytest.mark.parametrize("key", ["$p.tags", "$p.place desc", "x", "x desc"])
@pytest.mark.parametrize("limit", ["", "limit 1"])
def test_what_has_no_order_is_refused(graph: og.Graph, key: str, limit: str) -> None:
    text = f"query q() {{ match {{ $p: Person }} return {{ $p.name, $p.tags as x }} order {{ {key} }} {limit} }}"
    with pytest.raises(og.QueryError, match="lists and vectors have no order"):
        graph.query(text)


def test_the_texts_mean_something_before_they_are_damaged(graph: og.Graph) -> None:
    for text in READS:
        assert isinstance(outcome(graph, text, {"n": "Ada", "a": 1} if "$n" in text else None, write=False), list), text
    for text in WRITES:
        assert isinstance(outcome(graph, text, {"n": "Eve"} if "$n" in text else None, write=True), dict | None), text


@pytest.mark.parametrize("seed", range(2))
def test_damaged_mutations_are_done_or_refused(graph: og.Graph, seed: int) -> None:
    rand = random.Random(1000 + seed)
    for _ in range(40):
        text = damaged(rand.choice(WRITES), rand)
        outcome(graph, text, rand.choice(PARAMS), write=True)
    assert graph.query("query q() { match { $p: Person } return { count($p) as n } }").one() == {"n": 3}


@pytest.mark.parametrize("seed", range(2))
def test_damaged_schemas_are_planned_or_refused(graph: og.Graph, seed: int) -> None:
    rand = random.Random(2000 + seed)
    for _ in range(60):
        text = damaged(SCHEMA, rand)
        try:
            again = format_schema(Source(text))
            assert format_schema(Source(again)) == again
            first, second = (graph.plan_schema(t, branch="work") for t in (text, again))
            assert first.to_json() == second.to_json()
        except og.GraphError as error:
            check_error(error, text)


def test_damaged_files_go_through_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rand = random.Random(3000)
    for number in range(40):
        pg, gq = tmp_path / "s.pg", tmp_path / "q.gq"
        pg.write_bytes(damaged(SCHEMA, rand).encode("utf-8", "replace" if number % 2 else "surrogatepass"))
        gq.write_bytes(damaged(rand.choice(READS), rand).encode("utf-8", "surrogatepass"))
        for line in (["lint", "--schema", str(pg), "--query", str(gq)], ["fmt", "--check", str(pg), str(gq)]):
            assert run([*line, *(["--json"] if number % 3 else [])]) in (0, 1, 2)
        told = capfd.readouterr()
        assert "Traceback" not in told.err
