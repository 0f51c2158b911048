"""Everything that a public method gives prints as a person would say it: in one short line, or as a table where it is one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnigraph as og
from omnigraph.embedding.mock import MockEmbedder
from omnigraph.model.phrases import ago, counted, iso, one_line, short_id, size, tallied
from omnigraph.model.text_tables import PIPES, aligned, html_table, text_table, width
from omnigraph.storage.commits.lineage import DamagedCommit

EVIL = "<script>alert(1)</script>\x1b[31m\u202egnirts\nnext"
"""A name that is markup, obeyed by a terminal, turned around, and two lines."""

WRITER = "<script>ada</script>"

TABLES = {
    "CommitList",
    "Diff",
    "EntityHistory",
    "Explanation",
    "GraphSnapshot",
    "AnalyticsResult",
    "Merge",
    "MigrationPlan",
    "Result",
    "ReviewDiff",
    "ReviewList",
    "SchemaApplied",
    "Stats",
}
"""What is a table, a plan or a list of changes: several lines."""

SOURCE = Path(og.__file__).parent

NOT_MADE = {
    "AnyBranches": "a protocol",
    "AnyGraph": "a protocol",
    "AnySession": "a protocol",
    "AnyReviews": "a protocol",
    "AnyTags": "a protocol",
    "AsyncBranches": "of an event loop: tests/surfaces/http/test_awaitable.py",
    "AsyncGraph": "of an event loop: tests/surfaces/http/test_awaitable.py",
    "AsyncSession": "of an event loop: tests/surfaces/http/test_awaitable.py",
    "AsyncReviews": "of an event loop: tests/surfaces/http/test_awaitable.py",
    "AsyncTags": "of an event loop: tests/surfaces/http/test_awaitable.py",
    "Embedder": "a port: somebody else's class",
    "Mode": "an enum",
    "ProblemKind": "an enum",
    "RemoteBranches": "of a server: tests/surfaces/http",
    "RemoteGraph": "of a server: tests/surfaces/http",
    "RemoteReviews": "of a server: tests/surfaces/http",
    "RemoteSession": "of a server: tests/surfaces/http",
    "RemoteTags": "of a server: tests/surfaces/http",
}

SCHEMA = """
    node Person { name: String @key  age: I32?  bio: String? @index  embedding: Vector(4)? @embed(bio)  photo: Blob? }
    edge Knows: Person -> Person { since: Date? }
"""
NAMES = "query names() { match { $p: Person } return { $p.name, $p.age } }"
AGE = "query age($n: String, $a: I32) { update Person set { age: $a } where name = $n }"


def made(folder: Path) -> Iterator[object]:
    """One of everything, by calls that people make."""
    g = og.init(folder / "g.omni", schema=SCHEMA, embedder=MockEmbedder())
    yield g
    yield og.ExternalBlobs.deny()
    yield og.Pace()
    yield og.MadeVectors(EVIL, 2)
    yield og.QuerySignature(EVIL, False, (og.QueryParameter(EVIL, "string"),), EVIL)
    yield og.Failure("completing indexes", "branch main", EVIL, 0.0, 1.0)  # nothing fails by itself
    yield g.load(
        [
            {"type": "Person", "data": {"name": EVIL, "age": 36, "bio": "reads", "photo": "base64:aGk="}},
            {"type": "Person", "data": {"name": "Bob", "age": 41, "bio": EVIL}},
            {"edge": "Knows", "from": EVIL, "to": "Bob"},
        ],
        actor=WRITER,
    )
    first = g.commits()[0]
    yield g.embed()
    yield from (g.branches, g.tags, g.analytics, g.branches.create("agent/7", actor="ada"), g.branches.get("agent/7"))
    yield from (g.tags.create("v1", first.id, actor="ada"), g.tags.list())
    yield g.mutate(AGE, {"n": EVIL, "a": 37}, branch="agent/7", actor=WRITER, message=WRITER)
    yield g.mutate(AGE, {"n": EVIL, "a": 37}, branch="agent/7")
    yield g.diff("main", "agent/7")
    yield g.merge("agent/7", into="main", dry_run=True)
    review = g.reviews.create("agent/7", title=WRITER, description=EVIL.replace("\x1b", ""), actor=WRITER)
    yield from (g.reviews, review, g.reviews.list(), g.reviews.diff(review), og.ReviewRule(frozenset({"main"}), 2))
    said = g.reviews.comment(review, EVIL.replace("\x1b", ""), type="Person", id=EVIL, property="age", actor=WRITER)
    yield from (said.comments[0], said.events[0], g.reviews.approve(review, actor=WRITER).verdicts[0])
    yield g.mutate(AGE, {"n": EVIL, "a": 38})
    with pytest.raises(og.MergeConflict) as conflict:
        g.merge("agent/7", into="main")
    yield conflict.value.conflicts
    yield g.merge("agent/7", into="main", dry_run=True)
    yield g.reviews.merge(review, resolve="theirs", actor=WRITER).merge
    yield g.merge("agent/7", into="main", resolve="theirs", actor="ada")
    with pytest.raises(og.ValidationError) as violation:
        g.mutate("query q($n: String) { insert Knows { from: $n, to: $n } }", {"n": EVIL + "!"})
    yield violation.value.violations
    yield from (g.commits(), g.commits()[0], g.commit("main"), DamagedCommit(first.id, 3, EVIL))
    yield from (
        g.query(NAMES),
        g.explain(NAMES, analyze=True),
        g.subgraph("query q() { match { $a: Person $a knows $b } return { $a } }"),
    )
    yield from (g.stats(), g.snapshot(), g.analytics.degree(), og.view(g), g.export(folder / "g.jsonl"))
    with g.session() as session:
        yield session
    yield from (g.get("Person", EVIL), g.neighbors("Person", "Bob"), g.put("Person", {"name": EVIL}, patch=True))
    with g.transaction(message=WRITER) as transaction:
        yield transaction
        yield from (transaction.put("Person", {"name": EVIL}, patch=True), transaction.mutate(AGE, {"n": EVIL, "a": 1}))
    yield transaction.receipt
    yield g.history("Person", EVIL)
    (folder / "lib.gq").write_text(NAMES)
    yield from (g.queries(folder / "lib.gq"), g.queries(folder / "lib.gq")["names"], g.stream(NAMES))
    yield from (g.blob("node", "Person", EVIL, "photo"), g.baseline())
    plan = g.plan_schema(SCHEMA.replace("age: I32?", "age: I32?  city: String?"))
    yield from (
        plan,
        g.apply_schema(SCHEMA.replace("age: I32?", "age: I32?  city: String?")),
        g.plan_schema("node Nobody { x: String }"),
    )
    yield g.changes(since=g.baseline().cursor)
    yield g.changes(since=f"after:{first.id}")
    yield from (
        g.revert(g.commits()[0].parent or "", dry_run=True),
        g.optimize(),
        g.cleanup(keep=1),
        g.verify(),
        g.tags.delete("v1", actor=WRITER),
        g.tags.deleted(),
    )
    next((folder / "g.omni").rglob("*.lance")).write_bytes(b"")
    yield g.verify()


def inside(value: object, seen: dict[int, object]) -> Iterator[object]:
    """A value and what can be got from it, as far as it is ours."""
    if id(value) in seen or isinstance(value, Enum | str | bytes | int | float | np.ndarray | type(None)):
        return
    seen[id(value)] = value  # kept, for an id is used again when what had it is gone
    if isinstance(value, list | tuple):
        for item in value[:10]:
            yield from inside(item, seen)
    if type(value).__name__ in og.__all__:
        yield value
        for name in dir(type(value)):
            part: Any = None
            if not name.startswith("_") and not callable(getattr(type(value), name, None)):
                try:
                    part = getattr(value, name)
                except og.GraphError:
                    continue
            yield from inside(part, seen)
        for name, part in getattr(value, "__dict__", {}).items():
            if not name.startswith("_"):
                yield from inside(part, seen)
    elif type(value).__name__ == "ChangeList":
        yield value


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Everything there is, by the name of its class."""
    found: dict[str, list[Any]] = {}
    seen: dict[int, object] = {}
    for value in made(tmp_path_factory.mktemp("reprs")):
        for part in inside(value, seen):
            found.setdefault(type(part).__name__, []).append((part, repr(part)))
    return found


def test_every_class_is_made(shown: dict[str, list[Any]]) -> None:
    classes = {n for n in og.__all__ if isinstance(c := getattr(og, n), type) and not issubclass(c, BaseException)}
    assert sorted(classes - set(shown) - set(NOT_MADE)) == []


def test_all_of_it_is_one_short_line_or_a_table(shown: dict[str, list[Any]]) -> None:
    for name, made_ones in shown.items():
        for _, text in made_ones:
            assert " object at 0x" not in text, text
            assert not re.match(rf"{name}\(\w+=", text), text  # as a dataclass prints itself
            assert "\x1b" not in text
            assert "\u202e" not in text
            if name not in TABLES:
                assert "\n" not in text, text
                assert len(text) <= 120, text


def test_numbers_agree_with_their_nouns(shown: dict[str, list[Any]]) -> None:
    for made_ones in shown.values():
        for _, text in made_ones:
            assert not re.search(
                r"(?<![\d,.])1 (?:\w+ )?(?:rows|nodes|edges|entities|changes|commits|steps|types|files|branches|tags)\b", text
            ), text


def test_messages_count_with_the_noun_that_goes_with_the_number() -> None:
    """A number in front of a plural is a limit that is never 1 (a constant), or goes through `counted`."""
    loose = re.compile(r"\{(?:len\([^{}]*\)|[a-z_.]*(?:count|rows|entities|files|commits)\b)(?::,)?\} (?!times)[a-z]+s\b")
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if loose.search(line):
                found.append(f"{path.relative_to(SOURCE)}:{number}: {line.strip()}")
    assert found == []


def test_notebooks_show_values_and_never_markup(shown: dict[str, list[Any]]) -> None:
    reviews = ("Review", "ReviewDiff", "ReviewList")
    for name in ("CommitList", "Diff", "Explanation", "LoadResult", "AnalyticsResult", "Result", "Stats", *reviews):
        for value, _ in shown[name]:
            text = value._repr_html_()
            assert "<script" not in text
            assert "\x1b" not in text
            assert "\u202e" not in text
    assert any("&lt;script&gt;" in value._repr_html_() for name in ("CommitList", "Diff", "Result") for value, _ in shown[name])


def test_a_commit_is_told_as_a_person_would(tmp_path: Path) -> None:
    with og.init(tmp_path / "g.omni", schema="node Person { name: String @key }") as g:
        receipt = g.mutate('query add() { insert Person { name: "Ada" } }', actor="ada", message="the first one")
        commit = receipt.commit
        assert commit is not None
        assert re.fullmatch(rf"Commit {commit.id[:6]}…{commit.id[-4:]} on main, mutate, by ada, .*: the first one", repr(commit))
        assert repr(receipt) == f"Receipt: add changed 1 node on main, commit {short_id(commit.id)}, by ada"
        assert repr(g.branches) == "1 branch: main"
        assert repr(g.tags) == "0 tags"
        assert repr(g).startswith("Graph at ")
        assert "1 entity of 1 type" in repr(g.stats())


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "just now"),
        (1, "1 second ago"),
        (59, "59 seconds ago"),
        (60, "1 minute ago"),
        (7_199, "1 hour ago"),
        (3 * 86_400, "3 days ago"),
        (60 * 86_400, "on 2026-01-01"),
        (-3600, "2026-03-02T01:00:00Z"),
    ],
)
def test_times_are_times(seconds: int, text: str) -> None:
    class Fixed:
        def now(self) -> datetime:
            return datetime(2026, 3, 2, tzinfo=UTC)

    assert ago(int((Fixed().now().timestamp() - seconds) * 1_000_000), Fixed()) == text


def test_phrases() -> None:
    assert [counted(n, "node type") for n in (0, 1, 2_500)] == ["0 node types", "1 node type", "2,500 node types"]
    assert [counted(2, name) for name in ("entity", "branch", "property", "index")] == [
        "2 entities",
        "2 branches",
        "2 properties",
        "2 indexes",
    ]
    assert [size(n) for n in (1, 999, 1_000, 1_340_000, 2 * 10**12)] == ["1 byte", "999 bytes", "1 kB", "1.3 MB", "2 TB"]
    assert short_id("main") == "main"
    assert iso(0) == "1970-01-01T00:00:00Z"
    assert one_line("a\nb" + "x" * 200, 5) == "a⏎bx…"
    assert tallied({"A": 1, "B": 2_000, "C": 3, "D": 4, "E": 5}) == "A 1, B 2,000, C 3, D 4, 1 more"


def test_tables_know_how_wide_characters_are() -> None:
    lines = list(text_table(["name", "n"], [["日本", "1"], ["Ada", "22"]], style=PIPES, right=(False, True)))
    assert lines == ["name | n", "-----+---", "日本 |  1", "Ada  | 22"]
    assert {width(line.partition("|")[0]) for line in (lines[0], *lines[2:])} == {5}
    assert list(text_table(["n"], [["日本語です"]], widest=5))[2] == "日本…"
    assert list(aligned([["日本", "1", "x"], ["Ada", "22", ""]], right=(False, True))) == ["日本   1  x", "Ada   22"]
    assert list(aligned([])) == []
    assert list(text_table(["n"], [["日本語です"]], widest=5, overflow="wrap"))[2:] == ["日本", "語で", "す"]
    assert (
        html_table(["<a>"], [["x\x1b"]])
        == "<table><thead><tr><th>&lt;a&gt;</th></tr></thead><tbody><tr><td>x\\u001b</td></tr></tbody></table>"
    )


def test_one_renderer_aligns_text() -> None:
    sources = Path(og.__file__).parent
    numbers = {"model/times.py", "model/text_tables.py", "engine/execution/explain.py", "surfaces/cli/main.py"}
    """Digits, the renderer itself, columns of numbers in a plan, and names of commands."""
    by_hand = re.compile(r"\.[lr]just\(|\.center\(|:[<>]\{")
    found = {str(f.relative_to(sources)) for f in sources.rglob("*.py") if by_hand.search(f.read_text())}
    assert found <= numbers
