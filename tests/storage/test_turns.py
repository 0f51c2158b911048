"""Turns and groups: what is done while one waits, and for whom is waited."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.storage.graphs import PEOPLE, content, insert, new_graph, place

from omnigraph.storage.commits import turns
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.graph_store import MAIN, GraphStore


class Watched(Effects):
    def __init__(self) -> None:
        self.calls: list[Call] = []

    def after(self, call: Call) -> None:
        self.calls.append(call)


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.002)


def test_rows_are_written_while_a_commit_waits_for_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "STALLED", 60.0)
    new_graph(tmp_path)
    effects = Watched()
    store = GraphStore.open(place(tmp_path, effects=effects))
    insert(store, first=1)
    effects.calls.clear()
    folder = store.manifest(store.ref(MAIN)).folder
    assert folder is not None
    held = os.open(folder, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    writer = threading.Thread(target=lambda: insert(store, second=2))
    writer.start()
    wait_until(lambda: Call.WRITE_ROWS in effects.calls)
    assert effects.calls == [Call.WRITE_ROWS]
    os.close(held)
    writer.join()
    assert effects.calls.count(Call.WRITE_ROWS) == 1
    assert content(store) == {"first": 1, "second": 2}


def test_a_thread_that_waited_for_a_lock_waits_for_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "STALLED", 60.0)
    monkeypatch.setattr(turns, "_IDLE", [])
    for name in ("data", "_transactions", "_versions"):
        (tmp_path / name).mkdir()
    started, start = list[threading.Thread](), threading.Thread.start

    def begun(helper: threading.Thread) -> None:
        started.append(helper)
        start(helper)

    monkeypatch.setattr(turns._Helper, "start", begun)
    for _ in range(3):
        held = os.open(tmp_path, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        mine, meanwhile = turns.Turns(str(tmp_path)), list[str]()
        letting_go = threading.Timer(0.05, os.close, [held])
        letting_go.start()
        with mine.turn(lambda meanwhile=meanwhile: meanwhile.append("done")):  # type: ignore[misc]
            assert meanwhile == ["done"]
        letting_go.join()
    assert len(started) == 1
    with turns.Turns(str(tmp_path)).turn(lambda: pytest.fail("there was nobody to wait for")):
        pass


def test_a_group_waits_for_as_many_as_before_whichever_threads_they_come_in(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    insert(store, first=1)
    publisher = store.publisher(MAIN)
    publisher._last_writers, publisher._last_seconds = 3, 120.0
    begun = time.monotonic()
    writers = [threading.Thread(target=insert, args=(store, MAIN, PEOPLE), kwargs={f"k{n}": n}) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert time.monotonic() - begun < 30
    assert len(content(store)) == 4
