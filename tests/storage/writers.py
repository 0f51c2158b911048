"""Writers in processes of their own, for tests of several processes on one graph.

    Writer("insert", folder, key="a", value=1, pause="PUBLISH")

A writer says `ready` when its graph is open (and what it writes is prepared), waits for a word, does its work, and answers. With
`pause`, it also says `paused` just before the first call of that name and waits for another word. So tests meet at a point by
talking, and nothing sleeps.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path

from tests import children
from tests.storage.aging import MovedClock
from tests.storage.graphs import DOCUMENT, PEOPLE, TABLES, insert, place, rows

from omnigraph.errors import GraphError
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.files.place import Place
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.reclaiming.reclaim import reclaim
from omnigraph.storage.tables.changes import Append

Options = Mapping[str, object]


class Writer:
    """A child process, seen from the test."""

    def __init__(self, do: str, folder: Path, **options: object) -> None:
        self._end, theirs = children.CONTEXT.Pipe()
        self._child = children.started(_work, theirs, do, folder, options)
        theirs.close()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child.is_alive():
            self._child.kill()
        self._child.join()

    def expect(self, word: str) -> None:
        """Wait until it says so."""
        said = self._end.recv()
        assert said == word, f"the writer said `{said}`, not `{word}`"

    def stop(self) -> None:
        """Stop the whole process, wherever it is."""
        assert self._child.pid is not None
        os.kill(self._child.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let a stopped process run."""
        assert self._child.pid is not None
        os.kill(self._child.pid, signal.SIGCONT)

    def go(self) -> None:
        """Let it go on."""
        self._end.send("go")

    def outcome(self) -> dict[str, object]:
        """What it did: `{"done": …}` or `{"error": code}`."""
        answer: dict[str, object] = self._end.recv()
        self._child.join()
        return answer


# ── the other side ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Pausing(Effects):
    """Stops before the first call of a kind."""

    def __init__(self, test: Connection, name: str | None) -> None:
        self._test = test
        self._call = None if name is None else Call[name]

    def before(self, call: Call) -> None:
        if call is self._call:
            self._call = None
            self._test.send("paused")
            self._test.recv()


def _init(where: Place) -> Callable[[], object]:
    return lambda: GraphStore.init(where, DOCUMENT, TABLES).snapshot().commit


def _commits(store: GraphStore, options: Options, test: Connection) -> Callable[[], object]:
    branch, name, count = str(options["branch"]), str(options["name"]), int(str(options["count"]))

    def work() -> object:
        milliseconds = []
        for number in range(count):
            begun = time.perf_counter()
            insert(store, branch, PEOPLE, **{f"{name}-{number}": number})
            milliseconds.append((time.perf_counter() - begun) * 1000)
        return milliseconds

    return work


def _insert(store: GraphStore, options: Options, test: Connection) -> Callable[[], object]:
    branch, key, value = str(options.get("branch", MAIN)), str(options["key"]), int(str(options["value"]))
    snapshot = store.snapshot(branch)
    written = store.tables.open(snapshot.tables[PEOPLE]).write(rows(**{key: value}))
    plan = PublishPlan(OpClass.LOGICAL, "insert", snapshot.commit, (PlannedChange(PEOPLE, Append(written, (key,))),))
    return lambda: store.publish(branch, plan).id


def _until_refused(store: GraphStore, options: Options, test: Connection) -> Callable[[], object]:
    branch = str(options["branch"])

    def work() -> object:
        acknowledged: list[str] = []
        while True:
            try:
                acknowledged.append(insert(store, branch, PEOPLE, **{f"k{len(acknowledged)}": 1}).id)
            except GraphError as error:
                return [error.code, *acknowledged]
            if len(acknowledged) == int(str(options["announce"])):
                test.send("well under way")

    return work


def _create_branch(store: GraphStore, options: Options, test: Connection) -> Callable[[], object]:
    return lambda: store.create_branch(str(options["name"])).incarnation


def _delete_branch(store: GraphStore, options: Options, test: Connection) -> Callable[[], object]:
    return lambda: store.delete_branch(str(options["name"]))


def _stored(store: GraphStore, options: Options, test: Connection) -> Callable[[], object]:
    """An insert whose rows are in a file before it is published."""
    branch, key = str(options.get("branch", MAIN)), str(options["key"])
    snapshot = store.snapshot(branch)
    written = store.tables.open(snapshot.tables[PEOPLE]).store(rows(**{key: 1}))
    plan = PublishPlan(OpClass.LOGICAL, "insert", snapshot.commit, (PlannedChange(PEOPLE, Append(written, (key,))),))
    return lambda: store.publish(branch, plan).id


def _reclaim(store: GraphStore, options: Options, test: Connection) -> Callable[[], object]:
    """A reclaim by somebody whose clock is some hours ahead."""
    clock = MovedClock()
    clock.pass_time(timedelta(hours=float(str(options.get("ahead", 0)))))
    cleaner = GraphStore.open(store.place, clock=clock)
    return lambda: reclaim(cleaner, keep=1, older_than=None, dry_run=False).files_removed


WORK: Mapping[str, Callable[[GraphStore, Options, Connection], Callable[[], object]]] = {
    "commits": _commits,
    "insert": _insert,
    "stored insert": _stored,
    "reclaim": _reclaim,
    "until refused": _until_refused,
    "create branch": _create_branch,
    "delete branch": _delete_branch,
}


def _work(test: Connection, do: str, folder: Path, options: Options) -> None:
    pause = options.get("pause")
    where = place(folder, effects=Pausing(test, None if pause is None else str(pause)))
    work = _init(where) if do == "init" else WORK[do](GraphStore.open(where), options, test)
    test.send("ready")
    test.recv()
    try:
        answer: dict[str, object] = {"done": work()}
    except GraphError as error:
        answer = {"error": error.code}
    test.send(answer)
