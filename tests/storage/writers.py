"""Writers in processes of their own, for tests of several processes on one graph.

    python -m tests.storage.writers '{"do": "insert", "folder": …, "pause": "PUBLISH", …}'

A writer talks in lines: it says `ready` when its graph is open (and what it writes is prepared), waits for a line, does its work,
and answers with one line of JSON. With `pause`, it also says `paused` just before the first call of that name and waits for
another line. So tests meet at a point by reading and writing lines, and nothing sleeps.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.storage.graphs import DOCUMENT, PEOPLE, TABLES, insert, place, rows

from omnigraph.errors import GraphError
from omnigraph.storage.changes import Append
from omnigraph.storage.effects import Call, Effects
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.lineage import OpClass
from omnigraph.storage.place import Place
from omnigraph.storage.plan import PlannedChange, PublishPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parent.parent.parent


class Writer:
    """A child process, seen from the test."""

    def __init__(self, do: str, folder: Path, **options: object) -> None:
        arguments = json.dumps({"do": do, "folder": str(folder), **options})
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.storage.writers", arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child.poll() is None:
            self._child.kill()
        self._child.communicate()

    def expect(self, word: str) -> None:
        """Wait until it says so."""
        assert self._child.stdout is not None
        said = self._child.stdout.readline().strip()
        assert said == word, f"the writer said `{said}`, not `{word}`"

    def go(self) -> None:
        """Let it go on."""
        assert self._child.stdin is not None
        self._child.stdin.write("go\n")
        self._child.stdin.flush()

    def outcome(self) -> dict[str, object]:
        """What it did: `{"done": …}` or `{"error": code}`."""
        assert self._child.stdout is not None
        answer: dict[str, object] = json.loads(self._child.stdout.readline())
        self._child.wait()
        return answer


# ── the other side ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _say(text: str) -> None:
    print(text, flush=True)


def _wait() -> None:
    sys.stdin.readline()


class Pausing(Effects):
    """Stops before the first call of a kind."""

    def __init__(self, name: str | None) -> None:
        self._call = None if name is None else Call[name]

    def before(self, call: Call) -> None:
        if call is self._call:
            self._call = None
            _say("paused")
            _wait()


def _init(where: Place) -> Callable[[], object]:
    return lambda: GraphStore.init(where, DOCUMENT, TABLES).snapshot().commit


def _commits(store: GraphStore, options: Mapping[str, object]) -> Callable[[], object]:
    branch, name, count = str(options["branch"]), str(options["name"]), int(str(options["count"]))

    def work() -> object:
        milliseconds = []
        for number in range(count):
            begun = time.perf_counter()
            insert(store, branch, PEOPLE, **{f"{name}-{number}": number})
            milliseconds.append((time.perf_counter() - begun) * 1000)
        return milliseconds

    return work


def _insert(store: GraphStore, options: Mapping[str, object]) -> Callable[[], object]:
    branch, key, value = str(options.get("branch", MAIN)), str(options["key"]), int(str(options["value"]))
    snapshot = store.snapshot(branch)
    written = store.tables.open(snapshot.tables[PEOPLE]).write(rows(**{key: value}))
    plan = PublishPlan(OpClass.LOGICAL, "insert", snapshot.commit, (PlannedChange(PEOPLE, Append(written, (key,))),))
    return lambda: store.publish(branch, plan).id


def _until_refused(store: GraphStore, options: Mapping[str, object]) -> Callable[[], object]:
    branch = str(options["branch"])

    def work() -> object:
        acknowledged: list[str] = []
        while True:
            try:
                acknowledged.append(insert(store, branch, PEOPLE, **{f"k{len(acknowledged)}": 1}).id)
            except GraphError as error:
                return [error.code, *acknowledged]
            if len(acknowledged) == int(str(options["announce"])):
                _say("well under way")

    return work


def _create_branch(store: GraphStore, options: Mapping[str, object]) -> Callable[[], object]:
    return lambda: store.create_branch(str(options["name"])).incarnation


def _delete_branch(store: GraphStore, options: Mapping[str, object]) -> Callable[[], object]:
    return lambda: store.delete_branch(str(options["name"]))


WORK: Mapping[str, Callable[[GraphStore, Mapping[str, object]], Callable[[], object]]] = {
    "commits": _commits,
    "insert": _insert,
    "until refused": _until_refused,
    "create branch": _create_branch,
    "delete branch": _delete_branch,
}


def main(arguments: str) -> None:
    options = json.loads(arguments)
    where = place(Path(options["folder"]), effects=Pausing(options.get("pause")))
    work = _init(where) if options["do"] == "init" else WORK[options["do"]](GraphStore.open(where), options)
    _say("ready")
    _wait()
    try:
        answer: dict[str, object] = {"done": work()}
    except GraphError as error:
        answer = {"error": error.code}
    _say(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1])
