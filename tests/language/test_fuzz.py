"""Both languages under random programs and random damage.

Programs first: a tree, its text and the tree read back are one; formatting is a fixed point and keeps the tree and every comment.
Then damage: whatever the text, reading it ends soon, raises nothing, and every problem it reports can be shown.

Everything is drawn the same way on every run.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from enum import Enum
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.language.strategies import mutated, noisy, query_files, random_texts, repeated, schemas, words

from omnigraph.errors import ParseError
from omnigraph.language import Source, parse_queries, parse_schema, read_queries, read_schema
from omnigraph.language.gq import tree as q
from omnigraph.language.gq.format import format_queries, render_queries
from omnigraph.language.pg import tree as p
from omnigraph.language.pg.format import format_schema, render_schema

pytestmark = pytest.mark.slow

Tree = TypeVar("Tree", p.Schema, q.QueryFile)
SLOWEST = 2.0
"""Seconds of work that reading any of these texts may take, however busy the machine is."""

seeds = st.integers(0, 2**32)


def drawing(count: int) -> settings:
    """So many examples, the same ones each time."""
    return settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )


# ── programs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def comments_in(text: str) -> list[str]:
    """Every comment, without the blanks that end its lines. Deliberately not the scanner the formatter uses."""
    found: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == '"':
            at += 1
            while text[at] != '"':
                at += 2 if text[at] == "\\" else 1
            at += 1
        elif text.startswith(("//", "/*"), at):
            line = text[at + 1] == "/"
            end = text.find("\n" if line else "*/", at + 2)
            end = len(text) if end < 0 else end if line else end + 2
            found.append("\n".join(row.rstrip(" \t\r") for row in text[at:end].split("\n")))
            at = end
        else:
            at += 1
    return found


def check_formatting(text: str, tree: Tree, parse: Callable[[Source], Tree], format_: Callable[[Source], str]) -> None:
    formatted = format_(Source(text))
    assert parse(Source(formatted)) == tree
    assert format_(Source(formatted)) == formatted
    assert comments_in(formatted) == comments_in(text)
    assert formatted == "" or (formatted.endswith("\n") and not formatted.endswith("\n\n") and formatted[0] != "\n")


def kinds_in(value: object, seen: set[object]) -> None:
    """Every node class and enum member that occurs in a tree."""
    if isinstance(value, Enum):
        seen.add(value)
    elif isinstance(value, tuple):
        for item in value:
            kinds_in(item, seen)
    elif dataclasses.is_dataclass(value):
        seen.add(type(value))
        for field in dataclasses.fields(value):
            kinds_in(getattr(value, field.name), seen)


def kinds_of(module: object) -> set[object]:
    """Every node class and enum member that a tree module defines."""
    names = vars(module).values()
    classes = [c for c in names if isinstance(c, type) and c.__module__ == vars(module)["__name__"]]
    members = {member for c in classes if issubclass(c, Enum) for member in c}
    return members | {c for c in classes if dataclasses.is_dataclass(c)}


def test_a_schema_reads_back_from_its_text_and_formatting_keeps_it() -> None:
    seen: set[object] = set()

    @drawing(1000)
    @given(schemas, seeds)
    def check(tree: p.Schema, seed: int) -> None:
        kinds_in(tree, seen)
        text = render_schema(tree)
        assert parse_schema(Source(text)) == tree
        assert format_schema(Source(text)) == text
        noise = noisy(text, seed)
        assert parse_schema(Source(noise)) == tree
        check_formatting(noise, tree, parse_schema, format_schema)

    check()
    assert kinds_of(p) <= seen


def test_queries_read_back_from_their_text_and_formatting_keeps_them() -> None:
    seen: set[object] = set()

    @drawing(1000)
    @given(query_files, seeds)
    def check(tree: q.QueryFile, seed: int) -> None:
        kinds_in(tree, seen)
        text = render_queries(tree)
        assert parse_queries(Source(text)) == tree
        assert format_queries(Source(text)) == text
        noise = noisy(text, seed)
        assert parse_queries(Source(noise)) == tree
        check_formatting(noise, tree, parse_queries, format_queries)

    check()
    assert kinds_of(q) - {q.Part} <= seen  # `Part` only says where a block stands


# ── damage ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

SCHEMAS = [
    """// people
interface Named { name: String @index @description("the // name") }
node Person @description("somebody") @instruction("ask") implements Named, Aged {
    slug: String @key  // identity
    age: I32?
    status: enum(open, in-progress, done)? @index
    v: Vector(8)? @embed(slug, model="m", n=3) @index
    tags: [String]?
    @unique(name, age) @range(age, 0..150) @range(score, -1.5..) @check(slug, "^[a-z]+$")
}
""",
    """node Tag {} /* empty */
edge Knows: Person -> Person @card(0..1) @description("d") {
    since: DateTime
    @unique(src, dst)
}
edge Likes: Person -> Tag
edge At: Person -> Place @card(1..)
""",
]

QUERIES = [
    """query friends($name: String, $limit: I32?, $v: Vector(3), $l: [Date]?)
    @description("who") @instruction("how")
{
    match {
        $p: Person { name: $name, age: 3, }
        $p $w:knows{1,2} $f  // near
        $f <likes> $_
        not { $f worksAt $_ }
        optional { $f: Person not { $f knows $p } }
        $p.age >= 18 and ($f.age < -3 or $f.name is not null) or $f.x in [1, 2.5, "a"]
        ($p contains $f) and search($p.bio, "x // y")
        match_text($p.bio, $name) fuzzy($p.bio, $name, 2) = true
    }
    return distinct { $p.name, count(distinct $f) as n sum($f.age) now(), bm25($p.bio, $name) as score, date("2024-01-01") }
    order { nearest($p.v, $v), n desc, rrf(nearest($p.v, $v), bm25($p.bio, $name), 60) }
    limit 10 offset 5
}
""",
    """query change($name: String) {
    insert Person { name: $name, at: now() tags: ["a", "b"] }
    update Person set { age: -1.5, ok: true } where name = $name  /* one */
    delete Knows where from != datetime("2024-01-01T00:00:00Z")
}
query tiny() { match { $a: A (search($a.b, c)) containsx = 3 ($a in $b.c) } return { $a trueish as as b } }
""",
]

BEGINNINGS = words(
    "|node A |node A { |node A @a(|node A { a: enum(|node A { @range(a, |edge A: B -> C |edge A: B -> C @card(|"
    'query |query q(|query q() |query q() { |query q() { match { |query q() { match { $a.x = |query q() { match { $a.x = "|'
    "query q() { match { $a: A } return { |query q() { match { $a: A } return { $a } order { |query q() { insert A { a: ",
    "|",
)

PIECES = words(
    "not { |optional { |(|[|{|count(|count(distinct |search($a, |rrf(nearest($a.b, |nearest($a.b, |date(|not/**/|now |count/**/|"
    "$a.x = 1 and (|$a.x = 1 or $b.y = 2 and (| and $a.x = 1| or and|$a in |$a is |$a knows $b |$a |as |as|distinct |"
    'a|A|9|1.|-|$|"|\\|\\"|/|*|/*|/**/|//\n|/* \n|\n|\t|\u00a0|\0|🙂|é|'
    'node A\n|node A {\n|node A /*\n|edge A: B -> C\n|query q() {\n|query q() { /*\n|query q() { "\n|query q() { match {\n|'
    '@a |@a(|@key|@key(a) |@card(|@|, B|, b: 1|a: String |a: 1 |1..|..|, a=1|delete A where a = 1 |@description("x") |$a: I32, ',
    "|",
)


def check_reading(text: str) -> None:
    """Neither language chokes on the text; where it is a program, formatting keeps it."""
    source = Source(text, "some.text")
    started = time.thread_time()
    schema, schema_problems = read_schema(source)
    file, query_problems = read_queries(source)
    for problem in (*schema_problems, *query_problems):
        assert problem.message in problem.render()
        assert "\x1b[" in problem.render(colour=True)
        assert problem.to_dict()["file"] == "some.text"
        assert 0 <= problem.span.start <= problem.span.end <= len(text) + 1
    assert time.thread_time() - started < SLOWEST
    if schema_problems:
        with pytest.raises(ParseError):
            parse_schema(source)
    else:
        check_formatting(text, schema, parse_schema, format_schema)
    if query_problems:
        with pytest.raises(ParseError):
            parse_queries(source)
    else:
        check_formatting(text, file, parse_queries, format_queries)


@drawing(2000)
@given(mutated(SCHEMAS))
def test_a_damaged_schema_is_read_or_reported(text: str) -> None:
    check_reading(text)


@drawing(2000)
@given(mutated(QUERIES))
def test_damaged_queries_are_read_or_reported(text: str) -> None:
    check_reading(text)


@drawing(1000)
@given(random_texts)
def test_any_text_is_read_or_reported(text: str) -> None:
    check_reading(text)


@drawing(1000)
@given(repeated(BEGINNINGS, PIECES, longest=3000))
def test_a_text_that_repeats_itself_is_read_or_reported(text: str) -> None:
    check_reading(text)


@pytest.mark.parametrize("piece", PIECES)
def test_reading_time_grows_gently(piece: str) -> None:
    for beginning in ("", "node A { ", "query q() { match { "):
        check_reading(beginning + piece * (50_000 // len(piece)))
