"""A write with an idempotency key happens once, however often it is repeated and whoever else writes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from tests.storage.graphs import PEOPLE, new_graph, rows

from omnigraph.errors import AlreadyExists
from omnigraph.storage.commits import logical
from omnigraph.storage.commits.lineage import Commit, OpClass
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.tables.changes import Append


def write(store: GraphStore, key: str | None, base: str | None = None, branch: str = "main") -> Commit:
    snapshot = store.snapshot(branch)
    table = store.tables.open(snapshot.tables[PEOPLE])
    change = PlannedChange(PEOPLE, Append(table.write(rows(**{store.ids.next(): 1}))))
    return store.publish(branch, PublishPlan(OpClass.LOGICAL, "load", base or snapshot.commit, (change,), idempotency_key=key))


def test_the_youngest_commit_with_a_key_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logical, "LONG_RUN", 3)
    store = new_graph(tmp_path)
    first = write(store, "a/0")
    write(store, "b/0")
    second = write(store, "a/1")
    store.create_branch("side")
    for _ in range(7):
        write(store, None, branch="side")
    assert store.commit_with_key("side", "a/") == second
    assert store.commit_with_key("side", "a/0") == first
    assert store.commit_with_key("side", "c/") is None
    assert store.commits("side", limit=1)[0].idempotency_key is None


def test_a_key_that_came_in_between_stops_the_write(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    base = store.snapshot().commit
    first = write(store, "a/0", base)
    with pytest.raises(AlreadyExists, match=first.id):
        write(store, "a/0", base)
    write(store, "a/1", base)
    assert store.snapshot().tables[PEOPLE].rows == 2


def test_of_many_at_once_one_is_published(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    base = store.snapshot().commit

    def attempt(_: int) -> bool:
        try:
            write(store, "a/0", base)
        except AlreadyExists:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(24))) == 1
    assert store.snapshot().tables[PEOPLE].rows == 1


def test_commits_without_the_field_are_read(tmp_path: Path) -> None:
    """Graphs written before there were such keys."""
    commit = write(new_graph(tmp_path), None)
    data = msgspec.json.decode(msgspec.json.encode(commit))
    del data["mark"], data["asked"]
    assert msgspec.json.decode(msgspec.json.encode(data), type=Commit) == commit
