"""Formats: kept graphs open, other formats are refused with a reason, migrations run."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pyarrow as pa
import pytest
from tests import children
from tests.storage.crashing import Counting, Died, Moment, Striking, die, kill_this_process
from tests.storage.kept import DOCUMENT, EXPECTED, FIXTURES, INDEXES, OPERATIONS, PEOPLE, PERSON, build, rows_of

from omnigraph.errors import UnsupportedFormat
from omnigraph.storage.commits import format as formats
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.lance_format.filters import equal
from omnigraph.storage.reclaiming.verify import verify
from omnigraph.storage.tables.changes import Append

KEPT = sorted(path.name for path in FIXTURES.iterdir())


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_there_is_a_kept_graph_of_every_format_that_opens() -> None:
    assert [f"format-{number}" for number in range(formats.FLOOR, formats.CURRENT + 1)] == KEPT


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_graph_opens_and_holds_what_was_written_and_reading_changes_nothing(name: str) -> None:
    before = files(FIXTURES / name)
    store = GraphStore.open(Place.at(str(FIXTURES / name)), read_only=True)
    assert store.branches() == [MAIN, "try/it"]
    assert [tag.name for tag in store.tags()] == ["v1"]
    for at, tables in EXPECTED.items():
        for table, rows in tables.items():
            assert rows_of(store, at, table) == rows, (at, table)
    people = store.tables.open(store.snapshot().tables[PERSON])
    assert tuple(index.name for index in people.indexes()) == INDEXES
    assert people.lookup(["bob"])["age"].to_pylist() == [42]
    assert people.read(["id"], equal("name", "Ada"))["id"].to_pylist() == ["ada"]
    assert [c.operation for c in store.commits()] == OPERATIONS
    assert {c.actor for c in store.commits()} == {"kept", None}
    assert store.schema(store.snapshot()) == DOCUMENT
    assert verify(store, deep=True).problems == ()
    assert files(FIXTURES / name) == before


@pytest.mark.parametrize("name", KEPT)
def test_a_copy_of_a_kept_graph_can_be_written_to(name: str, tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / name, tmp_path / "copy")
    store = GraphStore.open(Place.at(str(tmp_path / "copy"), durability=Durability.OS))
    snapshot = store.snapshot()
    eve = {"id": "eve", "name": "Eve", "age": 7}
    written = store.tables.open(snapshot.tables[PERSON]).write(pa.Table.from_pylist([eve], schema=PEOPLE))
    change = PlannedChange(PERSON, Append(written, ("eve",)))
    store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "insert", snapshot.commit, (change,)))
    again = GraphStore.open(Place.at(str(tmp_path / "copy")))
    assert rows_of(again, MAIN, PERSON) == [*EXPECTED[MAIN][PERSON], eve]
    assert rows_of(again, "v1", PERSON) == EXPECTED["v1"][PERSON]
    assert verify(again, deep=True).problems == ()


def test_the_script_still_makes_such_a_graph(tmp_path: Path) -> None:
    place = Place.at(str(tmp_path / "made"), durability=Durability.OS)
    build(place)
    store = GraphStore.open(place)
    assert {at: {t: rows_of(store, at, t) for t in tables} for at, tables in EXPECTED.items()} == EXPECTED


# ── migrations ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Place, list[tuple[int, str]]]:
    """A graph two formats behind, with a branch, and the steps that migrate it."""
    place = Place.at(str(tmp_path / "old"), durability=Durability.OS)
    build(place)
    done: list[tuple[int, str]] = []
    monkeypatch.setattr(formats, "CURRENT", formats.CURRENT + 2)
    steps = {n: lambda _, where, n=n: done.append((n, where)) for n in (1, 2)}
    monkeypatch.setattr(formats, "MIGRATIONS", steps)
    return place, done


def test_a_graph_of_an_older_format_is_refused_until_it_is_migrated(old: tuple[Place, list[tuple[int, str]]]) -> None:
    place, done = old
    for read_only in (False, True):
        with pytest.raises(UnsupportedFormat, match="has format 1; this OmniGraph writes 3") as refused:
            GraphStore.open(place, read_only=read_only)
        assert "Migrate it first" in (refused.value.hint or "")
    assert formats.migrate(place) == 4
    manifests = sorted({where for _, where in done})
    assert done == [(step, where) for where in manifests for step in (1, 2)]
    assert len(manifests) == 2
    store = GraphStore.open(place)
    assert {at: {t: rows_of(store, at, t) for t in tables} for at, tables in EXPECTED.items()} == EXPECTED
    store.create_tag("v2", store.snapshot("try/it").commit)
    store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "nothing", store.snapshot().commit))
    assert verify(GraphStore.open(place), deep=True).problems == ()
    assert formats.migrate(place) == 0


def migrate_and_die(uri: str, number: int) -> None:
    """For a process of its own, which is killed after the n-th durable call."""
    formats.CURRENT += 2  # type: ignore[misc]
    formats.MIGRATIONS = dict.fromkeys((1, 2), lambda place, location: None)
    formats.migrate(Place.at(uri, effects=Striking(number, Moment.AFTER, kill_this_process)))


@pytest.mark.slow
def test_a_migration_whose_process_is_killed_at_any_durable_call_is_finished_by_the_next(
    old: tuple[Place, list[tuple[int, str]]], tmp_path: Path
) -> None:
    place, _ = old
    shutil.copytree(place.uri, tmp_path / "counted")
    counting = Counting()
    steps = formats.migrate(Place.at(str(tmp_path / "counted"), effects=counting))
    assert counting.calls == [Call.STAMP, Call.SYNC] * steps
    for number in range(1, len(counting.calls) + 1):
        graph = Place.at(str(tmp_path / f"killed-{number}"), durability=Durability.OS)
        shutil.copytree(place.uri, graph.uri)
        child = children.started(migrate_and_die, graph.uri, number)
        child.join()
        assert child.exitcode == -signal.SIGKILL
        assert formats.migrate(graph) == steps - (number + 1) // 2
        store = GraphStore.open(graph)
        assert {at: {t: rows_of(store, at, t) for t in tables} for at, tables in EXPECTED.items()} == EXPECTED
        assert verify(store, deep=True).problems == ()
        store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "nothing", store.snapshot().commit))


def test_a_migration_that_died_is_finished_by_the_next(old: tuple[Place, list[tuple[int, str]]]) -> None:
    place, done = old
    dying = Place.at(place.uri, durability=Durability.OS, effects=Striking(2, Moment.BEFORE, die))
    with pytest.raises(Died):
        formats.migrate(dying)
    assert [step for step, _ in done] == [1, 2]
    assert formats.migrate(place) == 3
    assert [step for step, _ in done] == [1, 2, 2, 1, 2]
    assert len(GraphStore.open(place).commits()) == len(OPERATIONS)


def test_nothing_is_migrated_when_one_manifest_is_of_a_newer_format(old: tuple[Place, list[tuple[int, str]]]) -> None:
    place, done = old
    formats.migrate(place)
    done.clear()
    manifest = f"__manifest/{GraphStore.open(place).ref('try/it').incarnation}"
    formats._write_stamp(place, manifest, 9)
    with pytest.raises(UnsupportedFormat, match="has format 9; this OmniGraph reads up to 3"):
        formats.migrate(place)
    assert done == []
