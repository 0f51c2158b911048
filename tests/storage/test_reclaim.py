"""Reclaim: what nobody can ask for goes, and nothing else."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.storage.aging import LONG, AgingGraph
from tests.storage.graphs import DOCUMENT, PEOPLE, SCHEMA, TABLES, THINGS, content, delete, insert, overwrite, rows, upsert

from omnigraph.errors import HistoryReclaimed, NotFound, StorageError, UsageError
from omnigraph.storage.commits.leases import GRACE
from omnigraph.storage.commits.lineage import Commit, OpClass, merge_base
from omnigraph.storage.commits.manifest import SchemaDocument
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan, Replacement
from omnigraph.storage.commits.reclaimed_commits import FOLDER, Ledger, put_record
from omnigraph.storage.graph_store import MAIN, GraphStore, NewTable
from omnigraph.storage.reclaiming.reclaim import reclaim
from omnigraph.storage.reclaiming.verify import verify
from omnigraph.storage.rewriting.indexes import IndexKind, IndexSpec, extend_index
from omnigraph.storage.tables.changes import Append


@pytest.fixture
def graph(tmp_path: Path) -> AgingGraph:
    return AgingGraph(tmp_path)


def some_commits(graph: AgingGraph, number: int, branch: str = MAIN) -> list[Commit]:
    """Commits a long time apart, each overwriting the table."""
    made = []
    for n in range(number):
        made.append(overwrite(graph.store, branch, PEOPLE, **{f"{branch}-{n}": n}))
        graph.pass_time()
    return made


def is_readable(store: GraphStore, commit: str) -> bool:
    try:
        content(store, at=commit)
    except HistoryReclaimed:
        return False
    return True


# ── which commits go ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_old_commits_beyond_keep_are_reclaimed_and_say_so(graph: AgingGraph) -> None:
    commits = some_commits(graph, 5)
    report = graph.reclaim(keep=2)
    assert (report.commits_kept, report.commits_reclaimed) == (2, 4)
    for store in (graph.store, graph.reopened()):
        assert [is_readable(store, c.id) for c in commits] == [False, False, False, True, True]
        with pytest.raises(HistoryReclaimed, match=commits[0].id):
            store.snapshot_at(commits[0].id)
        assert len(store.commits()) == 6, "the lineage stays"
    assert verify(graph.store, deep=True).ok


def test_a_snapshot_of_a_reclaimed_commit_cannot_be_opened(graph: AgingGraph) -> None:
    first = some_commits(graph, 3)[0]
    snapshot = graph.reopened().snapshot_at(first.id)
    graph.reclaim(keep=1)
    with pytest.raises(HistoryReclaimed, match="is gone"):
        graph.reopened().tables.open(snapshot.tables[PEOPLE])


def test_young_commits_stay_whatever_keep_says(graph: AgingGraph) -> None:
    commits = some_commits(graph, 5)
    graph.reclaim(keep=1, older_than=2.5 * LONG)
    # The last one was replaced never, the third one 2 × LONG ago, the second one 3 × LONG ago.
    assert [is_readable(graph.store, c.id) for c in commits] == [False, False, True, True, True]


def test_the_state_at_any_moment_of_the_window_stays(graph: AgingGraph) -> None:
    first, second = some_commits(graph, 2)
    graph.pass_time(timedelta(days=30))
    third = overwrite(graph.store, z=1)
    graph.reclaim(older_than=timedelta(days=1))
    assert [is_readable(graph.store, c.id) for c in (first, second, third)] == [False, True, True]


def test_without_a_policy_all_history_stays_and_garbage_goes(graph: AgingGraph) -> None:
    commits = some_commits(graph, 4)
    table = graph.store.tables.open(graph.store.snapshot().tables[PEOPLE])
    lost = table.store(rows(lost=1))
    assert set(lost.unsynced) <= graph.files()
    graph.pass_time()
    report = graph.reclaim()
    assert report.commits_reclaimed == 0
    assert not set(lost.unsynced) & graph.files()
    assert all(is_readable(graph.store, c.id) for c in commits)


def test_commits_of_the_grace_period_stay(graph: AgingGraph) -> None:
    """Who took a snapshot a moment ago is still reading it."""
    old = some_commits(graph, 2)
    recent = [overwrite(graph.store, MAIN, PEOPLE, **{f"r{n}": n}) for n in range(3)]
    graph.reclaim(keep=1)
    assert [is_readable(graph.store, c.id) for c in (*old, *recent)] == [False, True, True, True, True]


def test_a_tag_keeps_its_commit_until_it_is_deleted(graph: AgingGraph) -> None:
    commits = some_commits(graph, 4)
    graph.store.create_tag("v1", commits[1].id)
    graph.reclaim(keep=1)
    assert content(graph.store, at="v1") == {"main-1": 1}
    graph.store.delete_tag("v1")
    graph.reclaim(keep=1)
    assert not is_readable(graph.store, commits[1].id)


def test_the_commit_a_branch_was_made_of_stays_until_the_branch_is_deleted(graph: AgingGraph) -> None:
    commits = some_commits(graph, 2)
    graph.store.create_branch("work")
    some_commits(graph, 2, "work")
    later = some_commits(graph, 3)
    graph.reclaim(keep=1)
    assert [is_readable(graph.store, c.id) for c in (*commits, *later)] == [False, True, False, False, True]
    assert content(graph.store, "work") == {"work-1": 1}
    graph.store.delete_branch("work")
    graph.pass_time()
    graph.reclaim(keep=1)
    assert not is_readable(graph.store, commits[1].id)


def test_every_branch_keeps_its_own_newest_commits(graph: AgingGraph) -> None:
    shared = some_commits(graph, 3)
    graph.store.create_branch("work")
    own = some_commits(graph, 1, "work")
    some_commits(graph, 4)
    graph.reclaim(keep=3)
    assert [is_readable(graph.store, c.id) for c in (*shared, *own)] == [False, True, True, True]


def test_the_base_of_the_next_merge_stays(graph: AgingGraph) -> None:
    store = graph.store
    store.create_branch("work")
    merged = some_commits(graph, 2, "work")[-1]
    base = store.snapshot().commit
    store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "merge", base, merged_parent=merged.id))
    some_commits(graph, 3, "work")
    some_commits(graph, 3)
    graph.reclaim(keep=1)
    assert merge_base(store.snapshot("work").commit, store.snapshot().commit, lambda c: store.commit(c).parents) == merged.id
    assert content(store, at=merged.id) == {"work-1": 1}


def test_a_larger_policy_does_not_bring_anything_back(graph: AgingGraph) -> None:
    commits = some_commits(graph, 5)
    graph.reclaim(keep=2)
    for keep in (5, None):
        report = graph.reclaim(keep=keep)
        assert (report.commits_kept, report.commits_reclaimed) == (2, 0)
    assert [is_readable(graph.store, c.id) for c in commits] == [False, False, False, True, True]


@pytest.mark.parametrize(
    ("keep", "older_than", "grace"),
    [(0, None, GRACE), (-1, None, GRACE), (None, timedelta(seconds=-1), GRACE), (1, None, timedelta(seconds=-1))],
)
def test_a_policy_that_makes_no_sense_is_refused(
    graph: AgingGraph, keep: int | None, older_than: timedelta | None, grace: timedelta
) -> None:
    with pytest.raises(UsageError):
        reclaim(graph.store, keep=keep, older_than=older_than, grace=grace)


# ── which files go ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_files_under_way_survive_and_can_be_published(graph: AgingGraph) -> None:
    some_commits(graph, 3)
    snapshot = graph.store.snapshot()
    written = graph.store.tables.open(snapshot.tables[PEOPLE]).write(rows(new=7))
    graph.reclaim(keep=1)
    plan = PublishPlan(OpClass.LOGICAL, "insert", snapshot.commit, (PlannedChange(PEOPLE, Append(written, ("new",))),))
    graph.store.publish(MAIN, plan)
    assert content(graph.store) == {"main-2": 2, "new": 7}


def test_a_table_under_way_survives(graph: AgingGraph) -> None:
    some_commits(graph, 2)
    snapshot = graph.store.snapshot()
    created = graph.store.create_tables([NewTable("edge:9-10", "edges/9-10", SCHEMA)])
    graph.reclaim(keep=1)
    plan = PublishPlan(OpClass.LOGICAL, "schema apply", snapshot.commit, creates=created, schema=SchemaDocument("s2", "", ""))
    graph.store.publish(MAIN, plan)
    assert content(graph.reopened(), table="edge:9-10") == {}


def test_a_dry_run_changes_nothing_and_reports_the_same(graph: AgingGraph) -> None:
    some_commits(graph, 4)
    graph.store.create_branch("work")
    some_commits(graph, 2, "work")
    graph.store.delete_branch("work")
    graph.pass_time()
    before = graph.files()
    announced = graph.reclaim(keep=1, dry_run=True)
    assert graph.files() == before
    done = graph.reclaim(keep=1)
    assert replace(done, dry_run=True) == announced
    assert done.files_removed == len(before - graph.files())
    assert graph.reclaim(keep=1).files_removed == 0, "there is nothing left to do"


def test_a_read_only_graph_can_be_asked_but_not_reclaimed(graph: AgingGraph) -> None:
    some_commits(graph, 3)
    graph.store.read_only = True
    assert graph.reclaim(keep=1, dry_run=True).commits_reclaimed == 3
    with pytest.raises(UsageError):
        graph.reclaim(keep=1)


def test_the_report_is_ready_for_json(graph: AgingGraph) -> None:
    some_commits(graph, 2)
    report = graph.reclaim(keep=1)
    data = json.loads(json.dumps(asdict(report)))
    people = next(t for t in data["tables"] if t["path"] == "nodes/1-3")
    assert people["files_removed"] > 0
    assert people["bytes_kept"] > 0
    assert report.bytes_removed == sum(part["bytes_removed"] for part in (*data["tables"], *data["manifests"]))


def test_a_table_dropped_in_every_kept_commit_goes_with_its_folder(graph: AgingGraph) -> None:
    insert(graph.store, MAIN, THINGS, a=1)
    snapshot = graph.store.snapshot()
    plan = PublishPlan(OpClass.LOGICAL, "drop", snapshot.commit, drops=(THINGS,), schema=SchemaDocument("s2", "", ""))
    graph.store.publish(MAIN, plan)
    folder = graph.root / TABLES[1].location
    graph.pass_time()
    graph.reclaim(keep=2)
    assert content(graph.store, table=THINGS, at=snapshot.commit) == {"a": 1}
    report = graph.reclaim(keep=1)
    assert not folder.exists()
    assert next(t for t in report.tables if t.path == TABLES[1].location).is_gone
    assert content(graph.store) == {}
    assert verify(graph.store, deep=True).ok


def reindex(store: GraphStore) -> None:
    state = store.snapshot().tables[PEOPLE]
    applied = extend_index(store.tables, state, IndexSpec("by_id", "id", IndexKind.BTREE))
    replacement = Replacement(PEOPLE, state.pin, applied)
    store.publish(MAIN, PublishPlan(OpClass.MAINTENANCE, "index", store.snapshot().commit, replacements=(replacement,)))


def test_deletion_files_and_index_segments_go_with_the_commits_that_need_them(graph: AgingGraph) -> None:
    store = graph.store
    folders = (graph.root / "nodes/1-3/_indices", graph.root / "nodes/1-3/_deletions")
    insert(store, MAIN, PEOPLE, **{f"k{n}": n for n in range(20)})
    reindex(store)
    delete(store, "k1")
    graph.pass_time()
    graph.reclaim(keep=1)
    first, marks = [{p.name for p in folder.iterdir()} for folder in folders]
    assert (len(first), len(marks)) == (1, 1)
    assert store.tables.open(store.snapshot().tables[PEOPLE]).lookup(["k2"]).num_rows == 1
    overwrite(store, z=1)
    reindex(store)
    graph.pass_time()
    graph.reclaim(keep=1)
    second, marks = [{p.name for p in folder.iterdir()} for folder in folders]
    assert (len(second), len(marks)) == (1, 0)
    assert first.isdisjoint(second)
    assert store.tables.open(store.snapshot().tables[PEOPLE]).lookup(["z"]).num_rows == 1


def test_files_of_a_sort_we_do_not_know_are_left_alone(graph: AgingGraph) -> None:
    some_commits(graph, 2)
    names = (
        "nodes/1-3/README",
        "nodes/1-3/_other/x",
        "nodes/1-3/_versions/hint.json",
        "nodes/x",
        "nodes/notes/x",
        "__manifest/x",
    )
    notes = [graph.root / name for name in names]
    for path in notes:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    graph.pass_time()
    graph.reclaim(keep=1)
    assert all(path.exists() for path in notes)


def test_nothing_is_deleted_when_a_version_that_must_stay_cannot_be_opened(graph: AgingGraph) -> None:
    some_commits(graph, 4)
    pin = graph.store.snapshot().tables[PEOPLE].pin
    (graph.root / f"nodes/1-3/_versions/d{pin}.manifest").unlink()
    before = graph.files()
    with pytest.raises(StorageError, match="Nothing was deleted"):
        graph.reclaim(keep=1)
    assert graph.files() == before


# ── manifests ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def manifests(graph: AgingGraph) -> set[str]:
    return {f.split("/")[1] for f in graph.files() if f.startswith("__manifest/")}


def test_the_manifest_of_a_deleted_branch_goes_once_nobody_uses_it(graph: AgingGraph) -> None:
    ref = graph.store.create_branch("work")
    some_commits(graph, 2, "work")
    graph.store.delete_branch("work")
    assert graph.reclaim(keep=1).manifests_removed == 0, "somebody may be reading it still"
    graph.pass_time()
    assert graph.reclaim(keep=1).manifests_removed == 1
    assert ref.incarnation not in manifests(graph)
    assert not (graph.root / "__manifest" / ref.incarnation).exists()


def test_the_manifest_of_a_deleted_branch_stays_while_a_branch_descends_from_it(graph: AgingGraph) -> None:
    store = graph.store
    first = store.create_branch("first")
    insert(store, "first", a=1)
    second = store.create_branch("second", at="first")
    insert(store, "second", b=2)
    store.create_branch("third", at="second")
    insert(store, "third", c=3)
    for name in ("first", "second"):
        store.delete_branch(name)
    graph.pass_time()
    assert graph.reclaim(keep=10).manifests_removed == 0
    assert {first.incarnation, second.incarnation} <= manifests(graph)
    for opened in (store, graph.reopened()):
        assert [c.branch for c in opened.commits("third")] == ["third", "second", "first", "main"]
        assert content(opened, "third") == {"a": 1, "b": 2, "c": 3}
    assert verify(store, deep=True).ok
    store.delete_branch("third")
    graph.pass_time()
    assert graph.reclaim(keep=10).manifests_removed == 3


def test_a_tag_keeps_the_manifest_of_a_deleted_branch(graph: AgingGraph) -> None:
    ref = graph.store.create_branch("work")
    commit = insert(graph.store, "work", a=1)
    graph.store.create_tag("done", commit.id)
    graph.store.delete_branch("work")
    graph.pass_time()
    graph.reclaim(keep=1)
    assert ref.incarnation in manifests(graph)
    assert content(graph.reopened(), at="done") == {"a": 1}
    graph.store.delete_tag("done")
    graph.reclaim(keep=1)
    assert ref.incarnation not in manifests(graph)


def test_a_tagged_commit_of_a_deleted_branch_has_its_schema(graph: AgingGraph) -> None:
    store = graph.store
    store.create_branch("work")
    document = SchemaDocument("s2", "node Person {}", "{}")
    base = store.snapshot("work").commit
    commit = store.publish("work", PublishPlan(OpClass.LOGICAL, "schema apply", base, schema=document))
    store.create_tag("v2", commit.id)
    store.delete_branch("work")
    store.create_branch("work")
    graph.pass_time()
    graph.reclaim(keep=1)
    assert store.schema(store.snapshot_at("v2")) == document
    store.delete_branch("work")
    assert store.schema(store.snapshot_at("v2")) == document


def test_a_merged_commit_is_known_after_its_branch_is_gone_but_cannot_be_opened(graph: AgingGraph) -> None:
    store = graph.store
    insert(store, a=1)
    store.create_branch("work")
    merged = insert(store, "work", b=2)
    insert(store, c=3)
    base = store.snapshot().commit
    store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "merge", base, merged_parent=merged.id, carried=(merged,)))
    assert content(store, at=merged.id) == {"a": 1, "b": 2}, "main carries the commit, and knows nothing of its tables"
    store.delete_branch("work")
    graph.pass_time()
    graph.reclaim()
    for opened in (store, graph.reopened()):
        assert opened.commit(merged.id) == merged
        with pytest.raises(HistoryReclaimed):
            opened.snapshot_at(merged.id)


def test_commits_of_a_deleted_branch_beyond_the_point_somebody_needs_are_reclaimed(graph: AgingGraph) -> None:
    store = graph.store
    store.create_branch("work")
    needed = insert(store, "work", a=1)
    store.create_branch("child", at="work")
    beyond = insert(store, "work", b=2)
    store.delete_branch("work")
    graph.pass_time()
    graph.reclaim()
    assert is_readable(store, needed.id)
    assert not is_readable(store, beyond.id)


def test_old_versions_of_a_manifest_are_pruned(graph: AgingGraph) -> None:
    for n in range(70):
        insert(graph.store, MAIN, PEOPLE, **{f"k{n}": n})
    other = graph.reopened()
    assert len(content(other)) == 70
    graph.pass_time()
    folder = graph.root / "__manifest" / graph.store.ref(MAIN).incarnation
    graph.reclaim()
    assert len(list((folder / "_versions").glob("*.manifest"))) == 2, "the newest, and the one that fenced it"
    assert len(list((folder / "data").iterdir())) <= 4
    for store in (other, graph.store, graph.reopened()):
        assert len(store.commits()) == len(content(store)) + 1
        insert(store, MAIN, PEOPLE, **{f"more{len(content(store))}": 1})
    assert len(content(graph.reopened(), at=graph.store.commits()[-10].id)) == 9


def test_a_branch_whose_name_was_given_away_is_found_by_a_process_that_slept(graph: AgingGraph) -> None:
    graph.store.create_branch("work")
    insert(graph.store, "work", a=1)
    asleep = graph.reopened()
    assert content(asleep, "work") == {"a": 1}
    graph.store.delete_branch("work")
    graph.pass_time()
    graph.reclaim(keep=1)
    with pytest.raises(NotFound, match="no branch"):
        asleep.snapshot("work")
    asleep = graph.reopened()
    graph.store.create_branch("work")
    commit = insert(graph.store, "work", b=2)
    assert content(asleep, "work") == {"b": 2}
    assert content(asleep, at=commit.id) == {"b": 2}


def test_what_a_process_that_slept_still_holds_is_refreshed_when_it_writes(graph: AgingGraph) -> None:
    asleep = graph.reopened()
    insert(asleep, a=1)
    some_commits(graph, 80)
    graph.reclaim(keep=1)
    upsert(asleep, b=2)
    assert content(graph.store) == {"main-79": 79, "b": 2}


# ── naming an old commit while it is being reclaimed ─────────────────────────────────────────────────────────────────────────


def test_a_reclaimed_commit_cannot_be_named_any_more(graph: AgingGraph) -> None:
    first = some_commits(graph, 3)[0]
    graph.reclaim(keep=1)
    for name_it in (lambda: graph.store.create_tag("t", first.id), lambda: graph.store.create_branch("b", at=first.id)):
        with pytest.raises(HistoryReclaimed):
            name_it()
    assert (graph.store.tags(), graph.store.branches()) == ([], [MAIN])


@pytest.mark.parametrize("kind", ["tag", "branch"])
def test_a_commit_named_while_reclaim_decides_stays(graph: AgingGraph, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Reclaim has read the names and not yet written down what goes; the name comes in between."""
    from omnigraph.storage.reclaiming import reclaim as module

    commits = some_commits(graph, 4)
    other = graph.reopened()

    def late(*arguments: object) -> Ledger:
        monkeypatch.setattr(module, "put_record", put_record)
        if kind == "tag":
            other.create_tag("late", commits[1].id)
        else:
            other.create_branch("late", at=commits[1].id)
        return put_record(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "put_record", late)
    report = graph.reclaim(keep=1)
    assert report.commits_reclaimed == 3
    assert [is_readable(graph.store, c.id) for c in commits] == [False, True, False, True]
    assert verify(graph.store, deep=True).ok


@pytest.mark.parametrize("kind", ["tag", "branch"])
def test_a_commit_named_after_reclaim_decided_is_refused(graph: AgingGraph, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """The name is put after reclaim has looked for names, and before anything is deleted."""
    from omnigraph.storage.reclaiming import reclaim as module

    at = some_commits(graph, 4)[1].id
    other = graph.reopened()
    remove = module._remove

    def late(*arguments: object) -> None:
        def name_it() -> object:
            return other.create_tag("late", at) if kind == "tag" else other.create_branch("late", at=at)

        with pytest.raises(HistoryReclaimed):
            name_it()
        remove(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_remove", late)
    graph.reclaim(keep=1)
    assert (graph.store.tags(), graph.store.branches()) == ([], [MAIN])
    assert verify(graph.store, deep=True).ok


def test_records_are_folded_into_one_and_stay_small(graph: AgingGraph) -> None:
    for _ in range(4):
        some_commits(graph, 3)
        graph.reclaim(keep=2)
    (record,) = [f for f in graph.files() if f.startswith(FOLDER)]
    assert len((graph.root / record).read_bytes()) < 200
    assert [is_readable(graph.store, c.id) for c in graph.store.commits()] == [True, True] + [False] * 11


def test_a_reclaim_that_died_is_finished_by_the_next_one(graph: AgingGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    from omnigraph.storage.files import place as module

    commits = some_commits(graph, 6)
    delete_object, left = module.Place.delete, [7]

    def dying(*arguments: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        delete_object(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module.Place, "delete", dying)
    with pytest.raises(KeyboardInterrupt):
        graph.reclaim(keep=2)
    monkeypatch.setattr(module.Place, "delete", delete_object)
    assert [is_readable(graph.store, c.id) for c in commits] == [False] * 4 + [True] * 2
    assert verify(graph.store, deep=True).ok
    assert graph.reclaim(keep=2).files_removed > 0
    assert graph.reclaim(keep=2).files_removed == 0
    assert content(graph.store) == {"main-5": 5}


@pytest.mark.slow
def test_a_graph_on_an_object_store_is_reclaimed_and_verified_by_the_same_code() -> None:
    from tests.storage.aging import MovedClock
    from tests.storage.s3 import server

    with server() as s3:
        clock = MovedClock()
        store = GraphStore.init(s3.place(), DOCUMENT, TABLES, clock=clock)
        first = insert(store, a=1, b=2)
        store.create_branch("work")
        delete(store, "a", branch="work")
        for n in range(4):
            upsert(store, b=n)
        store.delete_branch("work")
        clock.pass_time()
        announced = reclaim(store, keep=1, older_than=None)
        report = reclaim(store, keep=1, older_than=None, dry_run=False)
        assert replace(report, dry_run=True) == announced
        assert (report.commits_reclaimed, report.manifests_removed) == (6, 1), "sealing a branch is no commit that people count"
        assert verify(store, deep=True).ok
        again = GraphStore.open(s3.place(), clock=clock)
        assert content(again) == {"a": 1, "b": 3}
        assert not is_readable(again, first.id)
        insert(again, c=3)
        assert content(store) == {"a": 1, "b": 3, "c": 3}
