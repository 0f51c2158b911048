"""Verify: a whole graph has no problems, and each kind of damage is found and named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.storage.graphs import PEOPLE, THINGS, delete, insert, new_graph, overwrite, upsert

from omnigraph.errors import DamagedRecord, NotFound
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.plan import PublishPlan, Replacement
from omnigraph.storage.files.effects import Effects
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.reclaiming.reclaim import reclaim
from omnigraph.storage.reclaiming.verify import Problem, ProblemKind, verify
from omnigraph.storage.rewriting.indexes import IndexKind, IndexSpec, extend_indexes

INDEXES = (IndexSpec("by_id", "id", IndexKind.BTREE), IndexSpec("by_text", "text", IndexKind.FULL_TEXT))


@pytest.fixture
def store(tmp_path: Path) -> GraphStore:
    """A graph with a bit of everything: two branches, a tag, an index, deleted rows."""
    store = new_graph(tmp_path)
    first = insert(store, MAIN, PEOPLE, **{f"k{n}": n for n in range(50)})
    state = store.snapshot().tables[PEOPLE]
    replacement = Replacement(PEOPLE, state.pin, extend_indexes(store.tables, state, INDEXES))
    store.publish(MAIN, PublishPlan(OpClass.MAINTENANCE, "index", first.id, replacements=(replacement,)))
    store.create_branch("work")
    upsert(store, "work", k1=100, new=1)
    store.create_tag("v1", first.id)
    delete(store, "k2", "k3")
    return store


def table_folder(store: GraphStore) -> Path:
    return Path(store.place.child("nodes/1-3"))


def current_data_file(store: GraphStore, branch: str = MAIN) -> Path:
    table = store.tables.open(store.snapshot(branch).tables[PEOPLE])
    return table_folder(store) / "data" / table.dataset.get_fragments()[-1].metadata.files[0].path


def problems(store: GraphStore, *, deep: bool = False) -> set[tuple[ProblemKind, str]]:
    return {(p.kind, p.branch) for p in verify(store, deep=deep).problems}


@pytest.mark.parametrize("deep", [False, True])
def test_a_whole_graph_has_no_problems(store: GraphStore, deep: bool) -> None:
    report = verify(store, deep=deep)
    assert report.ok
    assert report.problems == ()
    assert (report.branches, report.tags) == (2, 1)
    assert report.commits == (5 if deep else 3)
    assert report.files > 5


def test_verify_writes_nothing(store: GraphStore) -> None:
    class Refusing(Effects):
        def before(self, call: object) -> None:
            raise AssertionError(call)

    reader = GraphStore.open(replace(store.place, effects=Refusing()), read_only=True)
    assert verify(reader, deep=True).ok


def test_a_deleted_data_file_is_found_on_every_branch_that_needs_it(store: GraphStore) -> None:
    path = current_data_file(store)
    path.unlink()
    (problem,) = verify(store).problems
    assert problem.kind is ProblemKind.MISSING_FILE
    assert problem.path == f"nodes/1-3/data/{path.name}"
    assert problem.table == PEOPLE


def test_a_file_only_one_branch_needs_is_reported_for_that_branch(store: GraphStore) -> None:
    current_data_file(store, "work").unlink()
    assert problems(store) == {(ProblemKind.MISSING_FILE, "work")}


@pytest.mark.parametrize("left", [0, 100])
def test_a_truncated_data_file_is_found(store: GraphStore, left: int) -> None:
    path = current_data_file(store)
    path.write_bytes(path.read_bytes()[:left])
    (problem,) = verify(store).problems
    assert problem.kind is ProblemKind.WRONG_SIZE
    assert f"{left} bytes instead of" in problem.message


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["deleted", "emptied"])
def test_a_lost_deletion_file_is_found(store: GraphStore, damage: Callable[[Path], object]) -> None:
    table = store.tables.open(store.snapshot().tables[PEOPLE])
    marks = table.dataset.get_fragments()[0].metadata.deletion_file
    assert marks is not None
    (path,) = (p for p in (table_folder(store) / "_deletions").iterdir() if f"-{marks.asdict()['id']}." in p.name)
    damage(path)
    found = [p for p in verify(store).problems if p.path == f"nodes/1-3/_deletions/{path.name}"]
    assert [p.kind in (ProblemKind.MISSING_FILE, ProblemKind.WRONG_SIZE) for p in found] == [True]


def test_a_wrong_row_count_is_found(store: GraphStore) -> None:
    snapshot = store.snapshot()
    state = snapshot.tables[PEOPLE]
    applied = extend_indexes(store.tables, state, INDEXES)
    wrong = replace(applied, state=replace(applied.state, rows=state.rows + 1))
    plan = PublishPlan(OpClass.MAINTENANCE, "x", snapshot.commit, replacements=(Replacement(PEOPLE, state.pin, wrong),))
    store.publish(MAIN, plan)
    (problem,) = verify(store).problems
    assert (problem.kind, problem.branch, problem.table) == (ProblemKind.VERSION, MAIN, PEOPLE)
    assert problem.message.endswith("it holds 48 rows; the commit recorded 49")


def test_a_wrong_index_coverage_is_found(store: GraphStore) -> None:
    snapshot = store.snapshot()
    state = snapshot.tables[PEOPLE]
    applied = extend_indexes(store.tables, state, INDEXES)
    indexes = tuple(replace(i, covered=i.covered + (i.name == "by_id")) for i in applied.state.indexes)
    wrong = replace(applied, state=replace(applied.state, indexes=indexes))
    plan = PublishPlan(OpClass.MAINTENANCE, "x", snapshot.commit, replacements=(Replacement(PEOPLE, state.pin, wrong),))
    store.publish(MAIN, plan)
    (problem,) = verify(store).problems
    assert problem.kind is ProblemKind.WRONG_INDEX
    assert "index by_id covers 1 fragments; the commit recorded 2" in problem.message


def index_folder(store: GraphStore, name: str) -> Path:
    described = store.tables.open(store.snapshot().tables[PEOPLE]).dataset.describe_indices()
    (segment,) = next(i for i in described if i.name == name).segments
    return table_folder(store) / "_indices" / segment.uuid


@pytest.mark.parametrize("name", ["by_id", "by_text"])
@pytest.mark.parametrize("which", range(2))
def test_a_missing_index_file_is_found(store: GraphStore, name: str, which: int) -> None:
    folder = index_folder(store, name)
    gone = sorted(p for p in folder.iterdir() if p.is_file())[which]
    gone.unlink()
    found = [p for p in verify(store).problems if p.kind is ProblemKind.MISSING_FILE]
    assert {p.path for p in found} == {f"nodes/1-3/_indices/{folder.name}/{gone.name}"}


def test_a_truncated_index_file_is_found(store: GraphStore) -> None:
    path = next(index_folder(store, "by_id").iterdir())
    path.write_bytes(path.read_bytes()[:-1])
    assert not verify(store).ok


def test_a_missing_version_is_found(store: GraphStore) -> None:
    pin = store.snapshot().tables[PEOPLE].pin
    (table_folder(store) / f"_versions/d{pin}.manifest").unlink()
    assert problems(store) == {(ProblemKind.VERSION, MAIN)}


def test_damage_to_what_only_a_tag_needs_is_found(store: GraphStore) -> None:
    pin = store.snapshot_at("v1").tables[PEOPLE].pin
    (table_folder(store) / f"_versions/d{pin}.manifest").unlink()
    assert problems(store) == {(ProblemKind.VERSION, "v1")}


def test_damage_to_old_commits_is_found_by_a_deep_look_only(store: GraphStore) -> None:
    old = overwrite(store, gone=1)
    path = current_data_file(store)
    overwrite(store, MAIN, PEOPLE, **{f"k{n}": n for n in range(3)})
    path.unlink()
    assert verify(store).ok
    assert problems(store, deep=True) == {(ProblemKind.MISSING_FILE, f"main at {old.id}")}


def test_a_manifest_that_cannot_be_read_is_found_and_the_rest_is_checked_all_the_same(store: GraphStore) -> None:
    folder = Path(store.place.child(f"__manifest/{store.ref('work').incarnation}"))
    for path in (folder / "data").iterdir():
        path.unlink()
    current_data_file(store).unlink()
    assert {k for k, _ in problems(store)} == {ProblemKind.MANIFEST, ProblemKind.MISSING_FILE}


def test_a_broken_chain_is_found(store: GraphStore) -> None:
    """Nobody can make one through the publisher; here the manifest itself says that the head follows some other commit."""
    manifest = store.manifest(store.ref(MAIN))
    state = manifest.load()
    last = replace(state.recent[-1], parent="01ARZ3NDEKTSV4RRFFQ69G5FAV")
    manifest.publish(state, replace(state, recent=(*state.recent[:-1], last)), None, [])
    (problem,) = verify(store).problems
    assert problem.kind is ProblemKind.LINEAGE
    assert "follows 01ARZ3NDEKTSV4RRFFQ69G5FAV" in problem.message


def test_a_missing_commit_is_found(store: GraphStore) -> None:
    manifest = store.manifest(store.ref(MAIN))
    state = manifest.load()
    manifest.publish(state, replace(state, recent=(*state.recent[:1], *state.recent[2:])), None, [])
    assert (ProblemKind.LINEAGE, MAIN) in problems(store)


def test_pins_that_do_not_follow_from_the_commits_are_found(store: GraphStore) -> None:
    manifest = store.manifest(store.ref(MAIN))
    state = manifest.load()
    other = store.snapshot("work").tables[PEOPLE]
    manifest.publish(state, replace(state, tables={**state.tables, PEOPLE: other}), None, [])
    (problem,) = verify(store).problems
    assert (problem.kind, problem.table) == (ProblemKind.LINEAGE, PEOPLE)


def test_tables_beside_the_damaged_one_are_not_blamed(store: GraphStore) -> None:
    current_data_file(store).unlink()
    assert {p.table for p in verify(store, deep=True).problems} == {PEOPLE}
    assert THINGS in store.snapshot().tables


@pytest.mark.parametrize("branch", [MAIN, "work"])
def test_a_lost_name_is_told_and_nothing_is_put_in_its_place(store: GraphStore, branch: str) -> None:
    Path(store.place.child(f"__refs/{branch}")).unlink()
    if branch == MAIN:
        Path(store.place.child("__refs/work")).unlink()
        with pytest.raises(DamagedRecord, match="have lost their names"):
            GraphStore.open(store.place)
        with pytest.raises(DamagedRecord, match="have lost their names"):
            new_graph(Path(store.place.uri).parent)
    else:
        assert problems(GraphStore.open(store.place)) == {(ProblemKind.RECORD, "work")}
        before = {o.path for o in store.place.objects("")}
        with pytest.raises(DamagedRecord, match="ref of branch `work` is lost"):
            reclaim(GraphStore.open(store.place), keep=1, older_than=timedelta(0), grace=timedelta(0), dry_run=False)
        assert {o.path for o in store.place.objects("")} == before


def test_what_a_dead_init_left_is_no_problem_and_a_graph_that_took_its_place_lost_nothing(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    Path(store.place.child(f"__refs/{MAIN}")).unlink()
    with pytest.raises(NotFound, match="holds no graph"):
        GraphStore.open(store.place)
    again = new_graph(tmp_path)
    insert(again, a=1)
    assert verify(again, deep=True).problems == ()
    Path(store.place.child(f"__refs/{MAIN}")).unlink()
    with pytest.raises(DamagedRecord):
        new_graph(tmp_path)


def test_a_problem_is_ready_for_json() -> None:
    problem = Problem(ProblemKind.WRONG_ROWS, MAIN, PEOPLE, "nodes/1-3", "why")
    assert json.loads(json.dumps(asdict(problem), default=lambda kind: kind.value))["kind"] == ProblemKind.WRONG_ROWS.value
