"""Answers stay within their bounds, whatever is stored, and nothing is lost or told twice between two pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.mcp.agents import Agent, over_stdio, text

import omnigraph as og
from omnigraph.model.limits import MAX_TOOL_BYTES, MAX_TOOL_ITEMS
from omnigraph.surfaces.mcp.answering.bounds import MARK, clipped, paged, size_of

pytestmark = pytest.mark.slow

PEOPLE = 1_300
ALL = "query all() { match { $p: Person } return { $p.name, $p.bio } order { $p.name } }"
MANY_TYPES = "\n".join(
    f"node Type{n} {{ name: String @key  {' '.join(f'p{i}: String?' for i in range(9))} }}" for n in range(700)
)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many people, one with more to say than fits; many branches and commits; and a long schema."""
    path = tmp_path_factory.mktemp("large") / "large.omni"
    schema = f"node Person {{ name: String @key  bio: String?  tags: [String]? }}\n{MANY_TYPES}"
    with og.init(path, schema=schema, durability="os") as graph:
        people = [{"type": "Person", "data": {"name": f"P{n:05}", "bio": "ä" * (n % 200)}} for n in range(PEOPLE)]
        graph.load(people, mode="append")
        graph.branches.create("long")
        update = 'query u($b: String, $t: [String]) { update Person set { bio: $b, tags: $t } where name = "P00007" }'
        for size in (100_000, 200_000, 150_000):
            graph.mutate(update, {"b": "x" * size, "t": ["tag"] * 5_000}, branch="long")
        graph.branches.create("other")
        graph.load(
            [{"type": "Person", "data": {"name": f"P{n:05}", "bio": "new"}} for n in range(900)], mode="merge", branch="other"
        )
    return path


@pytest.fixture(scope="module")
def agent(large: Path) -> Iterator[Agent]:
    with over_stdio(large) as found:
        yield found


def pages(agent: Agent, tool: str, **arguments: Any) -> list[Any]:
    """Every page of an answer, each of which fits."""
    found: list[Any] = []
    token: str | None = None
    while True:
        given = arguments if token is None else {**arguments, "pageToken": token}
        result = agent.call(tool, given)
        assert not result.is_error, text(result)
        assert len(text(result).encode()) <= MAX_TOOL_BYTES
        assert len(json.dumps(result.structured_content, ensure_ascii=False).encode()) <= MAX_TOOL_BYTES
        found.append(result.structured_content)
        token = found[-1].get("next_page_token")
        if token is None:
            return found
        assert len(found) < 200


def test_rows_come_in_pages(agent: Agent) -> None:
    found = pages(agent, "query", query=ALL)
    rows = [row for page in found for row in page["rows"]]
    assert [row["p.name"] for row in rows] == [f"P{n:05}" for n in range(PEOPLE)]
    assert all(len(page["rows"]) <= MAX_TOOL_ITEMS for page in found)
    assert {page["row_count"] for page in found} == {PEOPLE}
    assert len({page["graph_commit_id"] for page in found}) == 1
    few = agent.data("query", query=ALL, limit=10)
    assert len(few["rows"]) == 10
    assert agent.data("query", query=ALL, limit=5, pageToken=few["next_page_token"])["rows"][0]["p.name"] == "P00010"


def test_pages_are_of_one_commit_although_the_branch_moves(large: Path, agent: Agent) -> None:
    agent.data("branches_create", name="moving")
    first = agent.data("query", query=ALL, branch="moving", limit=3)
    agent.data("mutate", query='query a() { insert Person { name: "P00000a" } }', branch="moving")
    second = agent.data("query", query=ALL, branch="moving", limit=3, pageToken=first["next_page_token"])
    assert second["graph_commit_id"] == first["graph_commit_id"]
    assert [r["p.name"] for r in second["rows"]] == ["P00003", "P00004", "P00005"]
    assert second["row_count"] == PEOPLE


def test_pages_need_nobody_to_remember_them(large: Path, agent: Agent) -> None:
    first = agent.data("query", query=ALL, limit=3)
    with over_stdio(large, mode="legacy") as another:
        second = another.data("query", query=ALL, limit=3, pageToken=first["next_page_token"])
    assert [r["p.name"] for r in second["rows"]] == ["P00003", "P00004", "P00005"]


def test_a_token_belongs_to_its_question(agent: Agent) -> None:
    token = agent.data("query", query=ALL, limit=3)["next_page_token"]
    for other in ({"query": ALL.replace("all", "al")}, {"query": ALL, "branch": "other"}, {"query": ALL, "params": {"x": 1}}):
        assert "belongs to another request" in agent.error("query", **other, pageToken=token)["error"]
    for damaged in (token[:-4], "x", "", "W10", "ä", token * 100):
        assert agent.error("query", query=ALL, pageToken=damaged)["status"] == 400


def test_one_row_that_is_too_long_is_cut_and_said_to_be(agent: Agent) -> None:
    query = 'query one() { match { $p: Person { name: "P00007" } } return { $p.name, $p.bio, $p.tags } }'
    found = agent.data("query", query=query, branch="long")
    [row] = found["rows"]
    assert row["p.name"] == "P00007"
    assert row["p.bio"].endswith(MARK)
    assert len(row["p.bio"]) > 1_000
    assert set(found["truncated"]) == {"rows[0].p.bio", "rows[0].p.tags"}


@pytest.mark.parametrize(
    ("tool", "arguments", "member", "count"),
    [
        ("snapshot", {}, "datasets", 701),
        ("diff", {"from": "main", "to": "other"}, "changes", 900),
        ("history", {"type": "Person", "key": "P00007", "branch": "long"}, "revisions", 4),
        ("commits_list", {"branch": "long"}, "commits", 5),
        ("branches_list", {}, "branches", 3),
        ("changes_poll", {"branch": "long", "start": "beginning"}, "blocks", None),
        ("schema_get", {}, "schema_source", None),
    ],
)
def test_other_answers_come_in_pages_too(
    agent: Agent, tool: str, arguments: dict[str, Any], member: str, count: int | None
) -> None:
    if tool == "changes_poll":
        found, given = [], dict(arguments)
        while True:
            page = agent.data(tool, **given)
            assert size_of(page) <= MAX_TOOL_BYTES
            found.append(page)
            if page.get("caught_up"):
                break
            after = {"cursor": page["cursor"]} if "cursor" in page else {"pageToken": page["next_page_token"]}
            given = {"branch": "long", **after}
        ids = [c["id"] for page in found for block in page["blocks"] for c in block["changes"]]
        assert len(ids) == PEOPLE + 3
        return
    found = pages(agent, tool, **arguments)
    if tool == "schema_get":
        assert "".join(page[member] for page in found).endswith(MANY_TYPES)
        return
    items = [json.dumps(item, sort_keys=True) for page in found for item in page[member]]
    assert len(set(items)) == len(items)
    if tool not in ("branches_list", "commits_list"):
        assert len(items) == count


def test_a_resource_fits_too(agent: Agent) -> None:
    shown = agent.read("omnigraph://schema")
    assert len(shown.encode()) <= MAX_TOOL_BYTES
    assert "schema_get" in shown.splitlines()[-1]


def test_a_wrong_query_gets_the_part_of_a_long_schema_that_it_needs(agent: Agent) -> None:
    said = agent.error("query", query="query q() { match { $t: Type42  $p: Person } return { $t.nam } }")
    assert "node Type42 {" in said["schema"]
    assert "node Person {" in said["schema"]
    assert "node Type43 {" not in said["schema"]
    assert len(said["schema"].encode()) < 8_192


@pytest.mark.parametrize("room", [100, 1_000, 5_000])
@pytest.mark.parametrize(
    "value",
    [
        "x" * 10_000,
        ["x" * 50] * 500,
        {f"k{n}": n for n in range(5_000)},
        [[[["y" * 9_000]]]],
        {"a": {"b": ["z" * 99] * 99}},
        7,
        None,
    ],
)
def test_clipping_fits_whatever_is_clipped(value: Any, room: int) -> None:
    cut, _ = clipped(value, room)
    assert size_of(cut) <= room


def test_a_page_says_where_the_next_begins() -> None:
    found = paged({"a": 1}, "items", [{"n": n} for n in range(10)], lambda taken: f"after {taken}", most=4)
    assert found == {"a": 1, "items": [{"n": n} for n in range(4)], "next_page_token": "after 4"}
    assert "next_page_token" not in paged({}, "items", [1, 2], str)
