"""Processes that are killed in the middle of an operation, and what is to be seen of the graph afterwards.

died = Killed(folder)                 a graph to start from, and what each operation makes of it
died.kill("overwrite", 0.4)           a copy of it; a process that overwrites, killed after 40 % of the time that takes
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.children import CONTEXT

import omnigraph as og
from omnigraph.storage.reclaiming.reclaim import reclaim

SCHEMA = """
node P { k: String @key  n: I64 @index  text: String? }
edge E: P -> P { w: F64? }
"""
WIDER = SCHEMA.replace("text: String?", "text: String?  more: String? @index")


def people(first: int, last: int, n: int = 0) -> list[dict[str, Any]]:
    return [{"type": "P", "data": {"k": f"k{i}", "n": i + n, "text": f"text of {i}"}} for i in range(first, last)]


def edges(first: int, last: int) -> list[dict[str, Any]]:
    return [{"edge": "E", "from": f"k{i}", "to": f"k{(i * 3) % 100}", "data": {"w": i / 2}} for i in range(first, last)]


BAD = {"type": "P", "data": {"k": "bad", "n": "no number"}}


def make(folder: Path) -> Path:
    """Two branches with a past, a tag, deletions and an old state for cleanup to take."""
    with og.init(folder / "g", SCHEMA, durability="os") as graph:
        graph.load(people(0, 300))
        graph.load(edges(0, 200))
        graph.mutate("query m() { delete P where n > 280 }")
        graph.branches.create("work")
        graph.load(people(300, 340), branch="work")
        graph.mutate('query m() { update P set { text: "other" } where n < 10 }', branch="work")
        graph.branches.create("old")
        graph.load(people(100, 200, 7))
    return folder / "g"


OPERATIONS: dict[str, Callable[[og.Graph, Path], object]] = {
    "quarantine": lambda g, at: g.load([*people(400, 500), BAD], quarantine=at / "quarantine"),
    "schema": lambda g, _: g.apply_schema(WIDER),
    "upsert": lambda g, _: g.load([*people(50, 150, 1_000), *edges(200, 260)]),
    "overwrite": lambda g, _: g.load([*people(0, 120, 5), *edges(0, 50)], mode="overwrite"),
    "mutation": lambda g, _: g.mutate("query m() { delete P where n < 60 }"),
    "merge": lambda g, _: g.merge("work"),
    "optimize": lambda g, _: g.optimize(),
    "cleanup": lambda g, _: reclaim(g._store, keep=1, older_than=timedelta(0), grace=timedelta(0), dry_run=False),
    "branch create": lambda g, _: g.branches.create("new", from_="work"),
    "branch delete": lambda g, _: g.branches.delete("old"),
    "tag": lambda g, _: g.tags.create("v1", g.commits()[1].id),
}


def describe(graph: og.Graph) -> dict[str, Any]:
    """Everything anybody can see, apart from the ids and times of commits."""
    found: dict[str, Any] = {"tags": sorted(t.name for t in graph.tags.list())}
    for branch in graph.branches.list():
        if _is_being_deleted(graph, branch):
            continue
        rows = graph.query("query q() { match { $p: P } return { $p.k, $p.n, $p.text } }", branch=branch).rows
        ends = graph.query("query q() { match { $a: P  $a e $b } return { $a.k, $b.k } }", branch=branch).rows
        found[branch] = graph.schema(branch), sorted(map(str, rows)), sorted(map(str, ends))
    return found


def _is_being_deleted(graph: og.Graph, branch: str) -> bool:
    """Whether nothing but the name is left of a branch: nobody can read or write it, and deleting it again removes that, too."""
    try:
        graph._view(branch)
        return False
    except og.NotFound as error:
        if f"no branch `{branch}`" not in error.message:
            raise
        graph.branches.delete(branch)
        return True


def _perform(name: str, folder: str, pipe: Connection) -> None:
    with og.open(folder) as graph:
        pipe.send("ready")
        OPERATIONS[name](graph, Path(folder).parent)
        pipe.send("done")
        pipe.recv()


class Killed:
    """A graph, what each operation makes of it, and how long that takes."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._template = folder, make(folder)
        self.killed = self.too_late = 0
        with og.open(self._template, read_only=True) as graph:
            self.old = describe(graph)
        self._new: dict[str, tuple[dict[str, Any], float]] = {}

    def new(self, name: str) -> tuple[dict[str, Any], float]:
        """What an operation comes to, and in how many seconds."""
        if name not in self._new:
            copy = self._copy()
            took = self._run(name, copy, None)
            with og.open(copy) as graph:
                self._new[name] = describe(graph), took
            shutil.rmtree(copy.parent)
        return self._new[name]

    def _copy(self) -> Path:
        copy = self._folder / "copy" / "g"
        shutil.rmtree(copy.parent, ignore_errors=True)
        shutil.copytree(self._template, copy)
        return copy

    def _run(self, name: str, folder: Path, after: float | None) -> float:
        """Let a process do it; with `after`, kill it so many seconds after it began. Gives how long it took."""
        here, there = CONTEXT.Pipe()
        child = CONTEXT.Process(target=_perform, args=(name, str(folder), there), daemon=True)
        child.start()
        there.close()
        assert here.recv() == "ready"
        begun = time.perf_counter()
        if after is None:
            assert here.recv() == "done"
            here.send("end")
        else:
            time.sleep(after)
            self.too_late += here.poll()
            assert child.pid is not None
            os.kill(child.pid, signal.SIGKILL)
            self.killed += 1
        took = time.perf_counter() - begun
        child.join()
        return took

    def kill(self, name: str, share: float) -> None:
        """Kill an operation after a share of the time it takes. Old or new, whole, and the next write works."""
        new, took = self.new(name)
        graph = self._copy()
        self._run(name, graph, took * share)
        with og.open(graph) as opened:
            seen = describe(opened)
            assert seen in (self.old, new), f"{name} at {share:.2f} is neither old nor new"
            report = opened.verify(deep=True, content=True)
            assert report.problems == (), f"{name} at {share:.2f}: {report.problems}"
            if name == "quarantine" and seen == new != self.old:
                kept = [file.read_text() for file in (graph.parent / "quarantine").rglob("*") if file.is_file()]
                assert any("no number" in text for text in kept), "what was left out is lost"
            opened.load(people(900, 903))
            found = opened.query("query q() { match { $p: P } return { $p.k } }").rows
            assert {"k900", "k901", "k902"} <= {row["p.k"] for row in found}
            opened.cleanup(dry_run=False)
        with og.open(graph, read_only=True) as again:
            assert again.verify(deep=True, content=True).problems == ()
        shutil.rmtree(graph.parent)
