"""The change feed: blocks, pages, cursors, baselines, and what cannot be told."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.engine.graphs import add, upsert
from tests.engine.history.graphs import contents, people, put

import omnigraph as og
from omnigraph.engine.history.feed import ChangePage
from omnigraph.engine.upkeep.reconcile import optimize
from omnigraph.storage.reclaiming.reclaim import reclaim


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return people(tmp_path)


def all_pages(graph: og.Graph, since: str, **options: object) -> list[ChangePage]:
    """Pages until there is nothing more."""
    pages = [graph.changes(since, **options)]  # type: ignore[arg-type]
    while not pages[-1].caught_up:
        pages.append(graph.changes(pages[-1].next, **options))  # type: ignore[arg-type]
        assert len(pages) < 200
    return pages


def stitched(pages: list[ChangePage]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Commit and changes of each block, parts of one block put together."""
    found: dict[str, list[tuple[str, str]]] = {}
    for block in (block for page in pages for block in page):
        found.setdefault(block.cause.commit, []).extend((c.op, c.id) for c in block.changes)
    return list(found.items())


# ── blocks ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_block_is_a_commit_against_its_first_parent(graph: og.Graph) -> None:
    graph.branches.create("work")
    put(graph, 'insert Person { name: "Eve" }', "work")
    put(graph, 'insert Person { name: "Mia" }')
    commit = graph.merge("work", actor="ada").commit
    assert commit is not None
    block = graph.commit_changes(commit.id)
    assert [(c.op, c.id) for c in block.changes] == [("insert", "Eve")]
    assert block.to_dict()["cause"] == {
        "graph_commit_id": commit.id,
        "parent_commit_id": commit.parent,
        "merged_parent_commit_id": commit.merged_parent,
        "authored_branch": "main",
        "actor_id": "ada",
        "authored_at": commit.created_at,
    }
    assert "next_page_token" not in block.to_dict()


def test_the_form_of_a_change(graph: og.Graph) -> None:
    commit = put(graph, 'update Person set { age: 31 } where name = "Alice"')
    assert commit is not None
    (change,) = graph.commit_changes(commit).to_dict()["changes"]
    assert list(change) == ["kind", "type", "id", "op", "before", "after"]
    assert change["type"]["name"] == "Person"
    assert len(base64.urlsafe_b64decode(change["type"]["id"] + "=")) == 32
    assert (change["before"]["properties"]["age"], change["after"]["properties"]["age"]) == (30, 31)
    assert "endpoints" not in change["before"]
    edge = put(graph, 'insert Knows { from: "Bob", to: "Carol" }')
    assert edge is not None
    (change,) = graph.commit_changes(edge).to_dict()["changes"]
    assert "before" not in change
    assert change["after"]["endpoints"] == {"from": "Bob", "to": "Carol"}


def test_the_order_is_frozen(graph: og.Graph) -> None:
    commit = add(
        graph,
        {
            "Knows": [{"id": "b", "src": "Alice", "dst": "Bob"}, {"id": "a", "src": "Alice", "dst": "Bob"}],
            "Person": [{"name": "z"}, {"name": "Z"}, {"name": "é"}],
            "Company": [{"name": "y"}],
        },
    )
    changes = graph.commit_changes(commit.id).changes
    keys = [(c.kind != "node", c.type_id, c.id.encode()) for c in changes]
    assert keys == sorted(keys)
    assert [c.id for c in changes if c.type == "Person"] == ["Z", "z", "é"]


def test_equal_values_are_an_empty_block_and_maintenance_is_none(graph: og.Graph) -> None:
    start = graph.changes().next
    upsert(graph, "Person", [{"name": "Alice", "age": 30}])
    done = optimize(graph._store, "main", graph._view().catalog).commits
    assert done
    page = graph.changes(start)
    assert [block.cause.commit for block in page] == [graph.commits(limit=1)[0].id]
    assert all(block.changes == [] for block in page)
    assert page.caught_up
    assert graph.commit_changes(done[-1]).changes == [], "asked for by its id, it changed nothing"


def test_the_first_commit_has_no_changes_to_tell(graph: og.Graph) -> None:
    first = graph.commits()[-1]
    with pytest.raises(og.ParentlessCommit) as caught:
        graph.commit_changes(first.id)
    assert caught.value.commit == first.id
    assert caught.value.code == "parentless_commit"
    with pytest.raises(og.NotFound, match=r"no commit|commit 'nope' not found"):
        graph.commit_changes("nope")


# ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_now_beginning_and_after(graph: og.Graph) -> None:
    first = graph.commits()[0]
    now = graph.changes()
    assert (now.blocks, now.caught_up) == ([], True)
    commits = [put(graph, f'insert Person {{ name: "p{n}" }}') for n in range(3)]
    assert [b.cause.commit for b in graph.changes(now.next)] == commits
    assert [b.cause.commit for b in graph.changes("beginning")] == [first.id, *commits]
    assert [b.cause.commit for b in graph.changes(f"after:{commits[0]}")] == commits[1:]
    assert graph.changes(f"after:{commits[2]}").blocks == []


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_pages_put_together_are_the_whole(graph: og.Graph, limit: int) -> None:
    for size in (1, 4, 0, 6):
        if size:
            add(graph, {"Person": [{"name": f"x{size}-{n}"} for n in range(size)]})
        else:
            upsert(graph, "Person", [{"name": "Alice", "age": 30}])
    whole = stitched([graph.changes("beginning")])
    pages = all_pages(graph, "beginning", limit=limit)
    assert stitched(pages) == whole
    assert len(whole) == 5
    assert [len(changes) for _, changes in whole] == [6, 1, 4, 0, 6]
    for page in pages:
        assert len(page.changes) <= limit
        assert (page.next_page_token is None) != (page.cursor is None)
        assert ("caught_up" in page.to_dict()) == (page.cursor is not None)
    for commit, changes in whole:
        block = graph.commit_changes(commit, limit=limit)
        parts = list(block.changes)
        while block.next_page_token is not None:
            block = graph.commit_changes(commit, limit=limit, page_token=block.next_page_token)
            parts += block.changes
        assert [(c.op, c.id) for c in parts] == changes


def test_reading_a_page_twice_gives_the_same_page(graph: og.Graph) -> None:
    add(graph, {"Person": [{"name": f"x{n}"} for n in range(10)]})
    page = graph.changes("beginning", limit=8)
    assert page.cursor is not None, "the second commit begins on a page of its own"
    page = graph.changes(page.next, limit=8)
    assert page.next_page_token is not None
    again = og.open(graph._store.place.uri)
    assert again.changes(page.next, limit=8).to_dict() == graph.changes(page.next, limit=8).to_dict()


def test_bytes_fill_a_page_too(graph: og.Graph) -> None:
    add(graph, {"Person": [{"name": f"x{n}", "nickname": "y" * 1_000} for n in range(6)]})
    pages = all_pages(graph, "after:" + graph.commits()[1].id, max_bytes=3_000)
    assert [len(page.changes) for page in pages] == [2, 2, 2]
    add(graph, {"Person": [{"name": "big", "nickname": "y" * 9_000}, {"name": "cut"}]})
    pages = all_pages(graph, pages[-1].next, max_bytes=3_000)
    assert [[c.id for c in page.changes] for page in pages] == [["big"], ["cut"]], "a change that is too large travels alone"


def test_a_round_ends_where_it_began(graph: og.Graph) -> None:
    add(graph, {"Person": [{"name": f"x{n}"} for n in range(5)]})
    since = "after:" + graph.commits()[1].id
    page = graph.changes(since, limit=3)
    late = put(graph, 'insert Person { name: "late" }')
    page = graph.changes(page.next, limit=3)
    assert [c.id for c in page.changes] == ["x3", "x4"]
    assert page.caught_up is False
    assert [b.cause.commit for b in graph.changes(page.next)] == [late]


def test_commits_per_look_are_limited(graph: og.Graph) -> None:
    for number in range(5):
        put(graph, f'insert Person {{ name: "p{number}" }}')
    pages = all_pages(graph, "beginning", max_commits=2)
    assert [len(page.blocks) for page in pages] == [2, 2, 2]
    assert [page.caught_up for page in pages] == [False, False, True]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"limit": 0}, og.UsageError),
        ({"limit": 8_193}, og.ResourceLimit),
        ({"max_commits": 513}, og.ResourceLimit),
        ({"max_bytes": (32 << 20) + 1}, og.ResourceLimit),
        ({"kinds": "x"}, og.UsageError),
        ({"types": "x"}, og.UsageError),
        ({"branch": "nope"}, og.NotFound),
    ],
)
def test_bad_requests(graph: og.Graph, options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        graph.changes("beginning", **options)  # type: ignore[arg-type]


def test_filters_leave_blocks_that_advance_the_cursor(graph: og.Graph) -> None:
    """B14."""
    put(graph, 'insert Person { name: "Eve" }')
    put(graph, 'delete Person where name = "Bob"')
    put(graph, 'insert Company { name: "Hooli" }')
    page = graph.changes("beginning", ops="delete")
    assert [[(c.op, c.id) for c in block.changes] for block in page] == [[], [], [("delete", "Bob"), ("delete", "k1")], []]
    assert graph.changes(page.next, ops="delete").blocks == []
    assert [c.id for c in graph.changes("beginning", kinds="edge").changes] == ["k1", "k1"]
    assert {c.type for c in graph.changes("beginning", types="Company").changes} == {"Company"}


def test_a_branch_reads_on_from_where_it_began(graph: og.Graph) -> None:
    put(graph, 'insert Person { name: "m1" }')
    graph.branches.create("work")
    put(graph, 'insert Person { name: "m2" }')
    put(graph, 'insert Person { name: "w" }', "work")
    graph.branches.create("deep", from_="work")
    put(graph, 'insert Person { name: "d" }', "deep")
    ids = [[c.id for c in block.changes] for block in graph.changes("beginning", branch="deep", types="Person")]
    assert ids[1:] == [["m1"], ["w"], ["d"]]
    assert [b.cause.branch for b in graph.changes("beginning", branch="deep")] == ["main", "main", "work", "deep"]


# ── tokens ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_cursor_of_a_branch_that_was_made_again_is_refused(graph: og.Graph) -> None:
    """B15."""
    graph.branches.create("work")
    cursor = graph.changes(branch="work").next
    graph.branches.delete("work")
    graph.branches.create("work")
    with pytest.raises(og.CursorRejected, match=r"change cursor rejected: .*deleted and created again"):
        graph.changes(cursor, branch="work")


def test_a_cursor_belongs_to_a_graph_a_branch_and_a_filter(graph: og.Graph, tmp_path: Path) -> None:
    graph.branches.create("work")
    cursor = graph.changes().next
    other = people(tmp_path / "other")
    for where, options in ((other, {}), (graph, {"branch": "work"}), (graph, {"ops": "insert"})):
        with pytest.raises(og.CursorRejected, match=r"^change cursor rejected: it "):
            where.changes(cursor, **options)  # type: ignore[arg-type]
    filtered = graph.changes(ops=["insert", "delete"]).next
    assert graph.changes(filtered, ops=["delete", "insert"]).caught_up
    assert len(cursor) <= 4_096


@pytest.mark.parametrize("text", ["", "x", "now ", "after:", "after:01ARZ3NDEKTSV4RRFFQ69G5FAV", "e30", "!!!", "A" * 5_000, "ü"])
def test_texts_that_are_no_cursor(graph: og.Graph, text: str) -> None:
    with pytest.raises(og.CursorRejected, match=r"^change cursor rejected: "):
        graph.changes(text)


def test_an_altered_cursor_is_refused(graph: og.Graph) -> None:
    cursor = graph.changes().next
    for at in range(0, len(cursor), 7):
        altered = cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :]
        with pytest.raises(og.CursorRejected):
            graph.changes(altered)


def test_tokens_are_not_mixed_up(graph: og.Graph) -> None:
    add(graph, {"Person": [{"name": f"x{n}"} for n in range(4)]})
    commit, older = graph.commits()[:2]
    token = graph.commit_changes(commit.id, limit=2).next_page_token
    assert token is not None
    with pytest.raises(og.CursorRejected, match="single commit"):
        graph.changes(token)
    for wrong, options in ((older.id, {}), (commit.id, {"ops": "insert"})):
        with pytest.raises(og.CursorRejected):
            graph.commit_changes(wrong, page_token=token, **options)  # type: ignore[arg-type]
    with pytest.raises(og.CursorRejected):
        graph.commit_changes(commit.id, page_token=graph.changes().next)


def test_a_commit_of_another_branch_is_no_place_to_start(graph: og.Graph) -> None:
    graph.branches.create("work")
    commit = put(graph, 'insert Person { name: "w" }', "work")
    with pytest.raises(og.CursorRejected, match="not on branch"):
        graph.changes(f"after:{commit}")


# ── what is gone ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_reclaimed_history_is_a_gap(graph: og.Graph) -> None:
    for number in range(6):
        put(graph, f'insert Person {{ name: "p{number}" }}')
    early = graph.changes("beginning", max_commits=1)
    reclaim(graph._store, keep=2, older_than=None, grace=timedelta(0), dry_run=False)
    again = og.open(graph._store.place.uri)
    chain = again.commits()[::-1]
    with pytest.raises(og.ChangeFeedGap) as caught:
        again.changes(early.next)
    assert caught.value.first_unreadable_commit_id == chain[2].id
    assert caught.value.cursor is not None
    assert again.changes(f"after:{chain[-2].id}").changes[0].id == "p5"
    with pytest.raises(og.ChangeFeedGap):
        again.commit_changes(chain[3].id)
    with pytest.raises(og.ChangeFeedGap):
        again.changes("beginning")
    with pytest.raises(og.HistoryReclaimed):
        again.diff(chain[2].id, "main")
    baseline = again.baseline()
    assert again.changes(baseline.cursor).caught_up


# ── baselines ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_baseline_and_the_changes_after_it_are_the_graph(graph: og.Graph) -> None:
    baseline = graph.baseline()
    assert baseline.commit == graph._view().snapshot.commit
    put(graph, 'insert Person { name: "late" }')
    records = list(baseline)
    assert records[-1] == {"baseline": {"snapshot_commit_id": baseline.commit, "resume_cursor": baseline.cursor}}
    ids = [(r.get("type") or r["edge"], r["data"]["id"]) for r in records[:-1]]
    assert sorted(ids) == sorted(contents(graph, at=baseline.commit))
    assert [next(iter(r)) for r in records[:-1]] == ["edge", *["type"] * 5]
    assert [c.id for c in graph.changes(baseline.cursor).changes] == ["late"]
    assert json.loads(b"".join(lines for _, lines in baseline.chunks()).splitlines()[0])["edge"] == "Knows"


def test_a_filtered_baseline(graph: og.Graph) -> None:
    baseline = graph.baseline(kinds="node", types="Person", ops="delete")
    assert {r["type"] for r in baseline.records()} == {"Person"}
    put(graph, 'delete Person where name = "Bob"')
    put(graph, 'insert Person { name: "Eve" }')
    page = graph.changes(baseline.cursor, kinds="node", types="Person", ops="delete")
    assert [c.id for c in page.changes] == ["Bob"]


UNIQUE = "node Person { name: String @key  email: String @unique }"


def emails(graph: og.Graph) -> list[dict[str, Any]]:
    return graph.query("query q() { match { $p: Person } return { $p.name, $p.email } order { $p.name } }").rows


def exchanging(folder: Path) -> tuple[og.Graph, og.Graph]:
    """A graph in which two people exchange their addresses, after others came in a commit before; and an empty copy."""
    graph = og.init(folder / "first.omni", schema=UNIQUE, durability="os")
    graph.load({"Person": [{"name": "Ada", "email": "a"}, {"name": "Bob", "email": "b"}]})
    graph.load({"Person": [{"name": f"p{n}", "email": f"p{n}"} for n in range(5)]})
    graph.load({"Person": [{"name": "Ada", "email": "b"}, {"name": "Bob", "email": "a"}]}, mode="merge")
    return graph, og.init(folder / "copy.omni", schema=UNIQUE, durability="os")


@pytest.mark.parametrize("limit", [5, 6, 7, 8])
def test_pages_of_commits_that_fit_are_loaded_one_by_one(tmp_path: Path, limit: int) -> None:
    graph, copy = exchanging(tmp_path)
    page = graph.changes("beginning", limit=limit)
    copy.load(page.changes)
    while not page.caught_up:
        assert page.cursor is not None
        page = graph.changes(page.next, limit=limit)
        copy.load(page.changes)
    assert copy.get("Person", "Ada") == graph.get("Person", "Ada")
    assert emails(copy) == emails(graph)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_parts_of_a_commit_that_is_larger_than_a_page_are_loaded_together(tmp_path: Path, limit: int) -> None:
    graph, copy = exchanging(tmp_path)
    page, parts = graph.changes("beginning", limit=limit), []
    while True:
        parts += page.changes
        if page.cursor is not None:
            copy.load(parts)
            parts = []
        if page.caught_up:
            break
        page = graph.changes(page.next, limit=limit)
    assert emails(copy) == emails(graph)
