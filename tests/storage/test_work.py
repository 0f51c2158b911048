"""Maintenance whose work is done by other processes, or side by side, comes to the same as maintenance that is done here."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests import children
from tests.storage.searchable import (
    BY_GRAM,
    SPECS,
    append,
    covered,
    delete,
    found_text,
    maintain,
    new_graph,
    numbers_in,
    segments_of,
    state_of,
    table_of,
)

from omnigraph.errors import StorageError
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.reclaiming.verify import verify
from omnigraph.storage.rewriting import indexes
from omnigraph.storage.rewriting.indexes import extend_indexes
from omnigraph.storage.rewriting.rewrites import compact
from omnigraph.storage.tables.table import Table
from omnigraph.storage.tables.work import PinnedTable, Run, here, in_threads

P = TypeVar("P")
R = TypeVar("R")


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Run]:
    """Two processes that share nothing with this one."""
    with ProcessPoolExecutor(2, mp_context=children.CONTEXT) as pool:

        def run(work: Callable[[P], R], payloads: Sequence[P], /) -> list[R]:
            return list(pool.map(work, payloads))

        yield run


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "SEGMENT_ROWS", 250)


def aged(folder: Path) -> GraphStore:
    """Six fragments, one of them worn."""
    store = new_graph(folder)
    for start in range(0, 600, 100):
        append(store, *range(start, start + 100))
    delete(store, *range(50))
    return store


def test_compaction_and_indexes_by_other_processes(tmp_path: Path, elsewhere: Run) -> None:
    specs = (*SPECS, BY_GRAM)
    for name, run in (("here", None), ("elsewhere", elsewhere)):
        store = aged(tmp_path / name)
        maintain(store, lambda tables, state, run=run: compact(tables, state, specs, target_rows=300, run=run))  # type: ignore[misc]
        state = state_of(store)
        assert state.fragments == 2
        assert covered(state) == {spec.name: 2 for spec in specs}
        assert numbers_in(table_of(store)) == list(range(50, 600))
        assert found_text(table_of(store), "w321") == ["k321"]
        assert len(segments_of(table_of(store), "by_id")) == 2
        assert verify(store, deep=True).ok


def test_segments_built_elsewhere_cover_what_is_new(tmp_path: Path, elsewhere: Run) -> None:
    store = aged(tmp_path)
    extend = partial(extend_indexes, specs=SPECS, run=elsewhere)
    maintain(store, extend)
    append(store, *range(1000, 1040), text="swimming cats")
    maintain(store, extend)
    state = state_of(store)
    assert covered(state) == {spec.name: 7 for spec in SPECS}
    assert found_text(table_of(store), "swim") == sorted(f"k{n}" for n in range(1000, 1040))
    assert extend(store.tables, state).state.pin == state.pin


@pytest.mark.parametrize(
    ("memory", "at_once"), [(1 << 30, 2), (3 * 250 * 128, 2), (250 * 128, 1)], ids=["much", "some", "little"]
)
def test_segments_are_built_beside_each_other_as_far_as_memory_goes(
    memory: int, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "SIDE_BY_SIDE_ROWS", 500)
    monkeypatch.setattr(indexes, "BUILDING_BYTES", memory)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    build, lock, running, most = indexes._build, threading.Lock(), set[int](), list[int]()
    sorted_kinds = indexes._BUILT_IN_ONE_THREAD

    def noted(table: Table, work: Any) -> Any:
        with lock:
            if work.spec.kind in sorted_kinds:
                running.add(threading.get_ident())
                most.append(len(running))
        threading.Event().wait(0.05)
        try:
            return build(table, work)
        finally:
            with lock:
                running.discard(threading.get_ident())

    monkeypatch.setattr(indexes, "_build", noted)
    specs = (*SPECS, BY_GRAM)
    store = aged(tmp_path)
    maintain(store, partial(extend_indexes, specs=specs))
    state = state_of(store)
    assert covered(state) == {spec.name: 6 for spec in specs}
    assert max(most) == at_once
    assert len(segments_of(table_of(store), "by_id")) == 3
    assert found_text(table_of(store), "w321") == ["k321"]
    assert table_of(store).lookup(["k77", "k599", "k3"], ["n"])["n"].to_pylist() == [77, 599]
    assert verify(store, deep=True).ok


def test_a_segment_that_fails_beside_others_fails_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "SIDE_BY_SIDE_ROWS", 1)
    store = aged(tmp_path)
    state, build = state_of(store), indexes._build

    def failing(table: Table, work: Any) -> Any:
        if work.spec.kind in indexes._BUILT_IN_ONE_THREAD and 5 in work.fragments:
            raise StorageError("no space left")
        return build(table, work)

    with monkeypatch.context() as patched:
        patched.setattr(indexes, "_build", failing)
        with pytest.raises(StorageError, match="no space left"):
            extend_indexes(store.tables, state, SPECS)
    assert state_of(store).pin == state.pin
    maintain(store, partial(extend_indexes, specs=SPECS))
    assert covered(state_of(store)) == {spec.name: 6 for spec in SPECS}


def test_results_come_in_the_order_of_payloads() -> None:
    for run in (here, in_threads(3)):
        assert run(len, ["a" * n for n in range(9)]) == list(range(9))


def test_a_pinned_table_is_a_value(tmp_path: Path) -> None:
    store = aged(tmp_path)
    pinned = PinnedTable.of(store.place, state_of(store))
    append(store, 7777)
    assert pinned.open().count() == 550
