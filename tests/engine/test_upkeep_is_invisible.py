"""Upkeep changes no commit id that a person or a program can see, and voids nothing."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.upkeep.reconcile import optimize
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.commits.manifest import Manifest
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.files.place import Place
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.reclaiming.reclaim import reclaim
from omnigraph.storage.reclaiming.verify import verify

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"
ADD = "query add($n: String, $a: I32?) { insert Person { name: $n, age: $a } }"
ALL = "query all() { match { $p: Person } return { $p.name, $p.age } order { $p.name asc } }"

KEPT = Path(__file__).parents[1] / "fixtures" / "before-logical-commits"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os")
    for n, name in enumerate(("ada", "bob", "cyd")):
        graph.mutate(ADD, {"n": name, "a": n})
    return graph


def tidy(graph: og.Graph, branch: str = "main") -> str:
    """Lay the newest commit of a branch out anew; gives the commit of that."""
    found = graph.optimize(branch).commits
    if not found:  # nothing to pack: a row more and less would change the history, so ask for the same once more
        found = (graph._store.snapshot(branch).layout,)
    return found[-1]


def test_a_condition_holds_while_only_upkeep_came_in_between(graph: og.Graph) -> None:
    seen = graph.query(ALL).graph_commit_id
    made = tidy(graph)
    assert made != seen
    assert graph._view().snapshot.layout == made
    assert graph.query(ALL).graph_commit_id == seen
    receipt = graph.mutate(ADD, {"n": "dan", "a": 4}, if_commit=seen)
    assert receipt.commit is not None
    assert receipt.commit.parent == seen
    tidy(graph)
    with pytest.raises(og.PreconditionFailed) as refused:
        graph.mutate(ADD, {"n": "eve", "a": 5}, if_commit=seen)
    assert refused.value.actual == receipt.commit.id
    again = graph.mutate(ADD, {"n": "eve", "a": 5}, if_commit=graph.commits(limit=1, maintenance=True)[0])
    assert again.commit is not None, "the id of maintenance means the commit it stores"


class _Between(Effects):
    """Does something right before the next swap."""

    def __init__(self) -> None:
        self.action: object = None

    def before(self, call: Call) -> None:
        if call is Call.PUBLISH and callable(self.action):
            action, self.action = self.action, None
            action()


def test_upkeep_between_the_check_and_the_swap_voids_no_condition(graph: og.Graph) -> None:
    effects = _Between()
    other = og.open(graph._store.place.uri, durability="os")
    mine = GraphStore.open(Place.at(graph._store.place.uri, effects=effects))
    head = mine.snapshot()
    effects.action = lambda: tidy(other)
    from omnigraph.storage.commits.lineage import OpClass
    from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
    from omnigraph.storage.tables.changes import Delete

    table = next(key for key in head.tables if key.startswith("node"))
    plan = PublishPlan(
        OpClass.LOGICAL, "mutate", head.layout, (PlannedChange(table, Delete(("ada",))),), expected_head=head.commit
    )
    commit = mine.publish("main", plan)
    assert effects.action is None
    assert commit.parent == other.commits(limit=2, maintenance=True)[1].id != head.commit
    assert commit.shown().parent == head.commit
    assert [row["p.name"] for row in other.query(ALL).rows] == ["bob", "cyd"]


def test_lists_receipts_and_diffs_speak_of_logical_commits(graph: og.Graph) -> None:
    before = graph.commits()
    assert [c.number for c in before] == [4, 3, 2, 1]
    made = tidy(graph)
    assert graph.commits() == before
    assert graph.snapshot().number == 4
    assert graph.snapshot().commit == graph.stats().commit == before[0].id
    receipt = graph.mutate(ADD, {"n": "dan", "a": 4})
    assert receipt.commit is not None
    assert (receipt.commit.number, receipt.commit.parent) == (5, before[0].id)
    assert graph.commit(receipt.commit.id) == receipt.commit, "a receipt is what is read later"
    every = graph.commits(maintenance=True)
    assert [c.id for c in every] == [receipt.commit.id, made, *(c.id for c in before)]
    assert [c.is_maintenance for c in every] == [False, True, False, False, False, False]
    assert every[1].to_dict()["maintenance"] is True
    assert "maintenance" not in every[0].to_dict()
    assert graph.commit(made).id == before[0].id
    assert graph.commit(made, maintenance=True).id == made
    tidy(graph)
    diff = graph.diff(made, "main")
    assert (diff.before.commit, diff.after.commit) == (before[0].id, receipt.commit.id)
    assert graph.commits(limit=2) == graph.commits()[:2]


def test_a_feed_has_no_blocks_of_upkeep_and_pages_are_as_long_as_without(graph: og.Graph) -> None:
    start = graph.changes().next
    made = []
    for n in range(3):
        tidy(graph)
        receipt = graph.mutate(ADD, {"n": f"new{n}", "a": n})
        assert receipt.commit is not None
        made.append(receipt.commit.id)
    tidy(graph)
    first = graph.changes(start, max_commits=2)
    assert [b.cause.commit for b in first] == made[:2]
    assert first.blocks[1].cause.parent == made[0]
    assert not first.caught_up
    second = graph.changes(first.next, max_commits=2)
    assert [b.cause.commit for b in second] == made[2:]
    assert second.caught_up
    tidy(graph)
    again = graph.changes(second.next)
    assert (again.blocks, again.caught_up) == ([], True)
    assert graph.changes(f"after:{made[1]}").blocks[0].cause.commit == made[2]
    layout = graph._store.snapshot().layout
    assert graph.changes(f"after:{layout}").next == graph.changes("now").next == second.next
    assert graph.baseline().commit == made[2]


def test_time_travel_reads_the_newest_layout_and_tags_name_logical_commits(graph: og.Graph) -> None:
    commit = graph.commits()[0].id
    made = tidy(graph)
    assert graph._view(at=commit).snapshot.layout == made
    tag = graph.tags.create("v1", "main")
    assert tag.commit == commit
    graph.mutate(ADD, {"n": "dan", "a": 4})
    fresh = og.open(graph._store.place.uri)
    assert fresh._view(at=commit).snapshot.layout == fresh._view(at="v1").snapshot.layout == made
    assert fresh.query(ALL, at=made).graph_commit_id == commit
    graph.branches.create("old", commit)
    assert graph._store.snapshot("old").commit == commit
    assert graph.commits("old") == graph.commits()[1:]


def test_cleanup_leaves_every_commit_that_stays_in_one_layout(graph: og.Graph) -> None:
    first, layouts = graph.commits()[0].id, []
    for n in range(3):
        layouts.append(tidy(graph))
        graph.mutate(ADD, {"n": f"new{n}", "a": n})
    last = graph.commits()[0].id
    kept = graph.query(ALL, at=first).rows
    graph.tags.create("kept", first)
    report = reclaim(graph._store, keep=2, older_than=None, grace=timedelta(0), dry_run=False)
    assert (report.commits_kept, report.commits_reclaimed) == (3, 4), "counted as people count them"
    fresh = og.open(graph._store.place.uri)
    assert fresh.query(ALL, at=first).rows == fresh.query(ALL, at=layouts[0]).rows == kept
    assert fresh.query(ALL, at=last).row_count == 6
    blocks = fresh.changes(f"after:{fresh.commits()[1].id}").blocks
    assert [c.id for c in blocks[0].changes] == ["new2"]
    with pytest.raises(og.HistoryReclaimed):
        fresh.query(ALL, at=fresh.commits()[2].id)
    assert verify(fresh._store, deep=True).ok
    assert fresh.revert(last).outcome == "reverted"


def test_a_merge_takes_what_upkeep_made_of_the_target_as_nothing_of_its_own(graph: og.Graph) -> None:
    graph.branches.create("work")
    graph.mutate(ADD, {"n": "dan", "a": 4}, branch="work")
    head = graph.commits()[0].id
    tidy(graph)
    tidy(graph, "work")
    merged = graph.merge("work")
    assert (merged.outcome, merged.base) == ("fast_forward", head)
    assert merged.commit is not None
    assert (merged.commit.parent, merged.commit.merged_parent) == (head, graph.commits("work")[0].id)
    tidy(graph, "work")
    assert graph.merge("work").outcome == "already_up_to_date"
    assert graph.query(ALL).row_count == 4


def test_upkeep_beside_a_merge_never_makes_it_give_up(graph: og.Graph) -> None:
    graph.branches.create("work")
    graph.mutate(ADD, {"n": "dan", "a": 4}, branch="work")
    effects = _Between()
    mine = og.open(graph._store.place.uri, durability="os")
    other = og.open(graph._store.place.uri, durability="os")
    object.__setattr__(mine._store.place, "effects", effects)
    effects.action = lambda: tidy(other)
    assert mine.merge("work").outcome == "fast_forward"
    assert effects.action is None
    assert mine.query(ALL).row_count == 4


def test_a_load_of_many_rows_is_followed_by_upkeep_that_nobody_notices(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os")
    loaded = graph.load({"Person": [{"name": f"p{n}", "age": n % 90} for n in range(30_000)]})
    graph._reconciler.wait()
    assert len(graph.commits(maintenance=True)) > len(graph.commits()) == 2, "the indexes were built meanwhile"
    receipt = graph.mutate(ADD, {"n": "last", "a": 1}, if_commit=loaded.commit)
    assert receipt.commit is not None
    assert receipt.commit.parent == loaded.commit.id


def test_questions_to_a_graph_from_before_go_back_in_its_history_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(KEPT, tmp_path / "g")
    graph = og.open(tmp_path / "g", durability="os")
    history, read = Manifest.history, []

    def counted(manifest: Manifest, **asked: Any) -> list[Commit]:
        read.append(asked)
        return history(manifest, **asked)

    monkeypatch.setattr(Manifest, "history", counted)
    branches = ("main", "idle")
    first = [graph.query(ALL, branch=branch).graph_commit_id for branch in branches]
    assert read, "nothing is noted down in this graph"
    del read[:]
    assert [graph.query(ALL, branch=branch).graph_commit_id for _ in range(3) for branch in branches] == first * 3
    assert read == []


def test_a_graph_from_before_commits_noted_down_where_they_stand(tmp_path: Path) -> None:
    facts = json.loads(KEPT.with_suffix(".json").read_text())
    shutil.copytree(KEPT, tmp_path / "g")
    graph = og.open(tmp_path / "g", durability="os")
    logical = [c for c in facts["commits"] if c[1] == "logical"]
    assert graph.query(ALL).rows == facts["rows"]
    assert graph.query(ALL).graph_commit_id == logical[0][0]
    assert [c.id for c in graph.commits()] == [c[0] for c in logical]
    assert [c.number for c in graph.commits()] == list(range(len(logical), 0, -1))
    assert [c.parent for c in graph.commits()] == [*(c[0] for c in logical[1:]), None]
    assert [c.id for c in graph.commits(maintenance=True)] == [c[0] for c in facts["commits"]]
    assert graph._view(branch="idle").snapshot.commit == logical[0][0]
    tuned = graph._view(at="tuned").snapshot
    assert (tuned.commit, tuned.layout) == (facts["before_optimize"], facts["optimized"][0])
    assert [t.commit for t in graph.tags.list()] == [facts["before_optimize"]]
    page = graph.changes(facts["cursor"])
    assert (page.blocks, page.caught_up) == ([], True)
    receipt = graph.mutate(ADD, {"n": "fay", "a": 7}, if_commit=logical[0][0])
    assert receipt.commit is not None
    assert (receipt.commit.number, receipt.commit.parent) == (len(logical) + 1, logical[0][0])
    assert graph.commit(receipt.commit.id) == receipt.commit
    assert [b.cause.commit for b in graph.changes(page.next)] == [receipt.commit.id]
    late = graph.mutate(ADD, {"n": "gil", "a": 7}, branch="idle", if_commit=logical[0][0])
    assert late.commit is not None
    assert graph.merge("idle").outcome == "merged"
    assert verify(graph._store, deep=True, content=True).ok


def test_upkeep_in_threads_beside_conditional_writes(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os")
    graph.mutate(ADD, {"n": "ada", "a": 0})
    over, done, catalog = Event(), Event(), graph._view().catalog
    other = GraphStore.open(Place.at(graph._store.place.uri))

    def maintain() -> None:
        while not over.is_set():
            if optimize(other, "main", catalog).commits:
                done.set()

    thread = Thread(target=maintain)
    thread.start()
    try:
        expected = graph.commits()[0].id
        for n in range(25):
            receipt = graph.mutate(ADD, {"n": f"p{n}", "a": n}, if_commit=expected)
            assert receipt.commit is not None
            assert receipt.commit.parent == expected
            expected = receipt.commit.id
            if n % 6 == 5:  # upkeep gets its turn, however busy the machine is
                done.clear()
                assert done.wait(30)
    finally:
        over.set()
        thread.join()
    assert len(graph.commits(maintenance=True)) > len(graph.commits()) == 27
