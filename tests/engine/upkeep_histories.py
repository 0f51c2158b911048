"""Random histories of a graph, lived twice: once with upkeep at every opportunity, once without. Nothing may tell them apart.

Both lives take the same logical steps: conditional writes, branches, merges, reverts, tags, time travel, diffs, feeds, cleanups.
In one of them indexes are built and types packed in between, by the same handle, by another, by a
thread that never rests, or by another process. What every step gives (answers, numbers, parents, errors) is told in
words in which a commit is called by the order it was made in, and the words of both lives have to be equal.

    OMNIGRAPH_UPKEEP_SEED=736 pytest tests/engine/test_upkeep_histories.py       replays one
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, Literal

import omnigraph as og
from omnigraph.engine.upkeep.reconcile import optimize
from omnigraph.errors import GraphError
from omnigraph.storage.reclaiming.reclaim import reclaim

SCHEMA = "node Person { name: String @key  age: I32? @index  city: String? }\nnode Thing { name: String @key  size: I32? }\n"
PUT = "query put($n: String, $a: I32?, $c: String?) { insert Person { name: $n, age: $a, city: $c } }"
THING = "query put($n: String, $s: I32?) { insert Thing { name: $n, size: $s } }"
AGE = "query set($n: String, $a: I32?) { update Person set { age: $a } where name = $n }"
CITY = "query set($n: String, $c: String?) { update Person set { city: $c } where name = $n }"
DROP = "query drop($n: String) { delete Person where name = $n }"
ALL = "query all() { match { $p: Person } return { $p.name, $p.age, $p.city } order { $p.name asc } }"
OLD = "query old($a: I32) { match { $p: Person  $p.age > $a } return { $p.name } order { $p.name asc } }"

_ID = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b")
Side = Literal["ours", "theirs"] | None
SIDES: list[Side] = [None, "ours", "theirs"]

Step = Callable[["Life"], Any]


def begun(folder: Path) -> Path:
    """A graph for both lives to begin with: ids of types are other ones in every graph, and decide on the order of changes."""
    graph = og.init(folder, SCHEMA, durability="os", save_from=None)
    for name in ("p0", "p1", "p2"):
        graph.mutate(PUT, {"n": name, "a": 1, "c": None})
    graph.branches.create("a")
    graph.mutate(PUT, {"n": "p3", "a": 1, "c": None}, branch="a")
    graph.close()
    return folder


class Life:
    """One graph, and what it calls its commits."""

    def __init__(self, folder: Path) -> None:
        self.graph = og.open(folder, durability="os", save_from=None)
        self.made: list[str] = []
        self.cursors: dict[str, str] = {}
        for commit in reversed([*self.graph.commits("a")]):
            self.name(commit.id)

    def name(self, commit: str) -> None:
        if commit not in self.made:
            self.made.append(commit)

    def words(self, value: Any) -> Any:
        """A value in which commits have names that both lives share."""
        match value:
            case str():
                return _ID.sub(lambda m: f"c{self.made.index(m[0])}" if m[0] in self.made else "(an id)", value)
            case dict():
                return {key: self.words(v) for key, v in value.items() if key not in _TIMES}
            case list() | tuple():
                return [self.words(v) for v in value]
            case _:
                return value

    def take(self, step: Step) -> Any:
        """What a step gives, in words."""
        try:
            return self.words(step(self))
        except GraphError as error:
            return [type(error).__name__, self.words(error.message)]

    def commit(self, number: int) -> str:
        return self.made[number % len(self.made)]

    def shown(self, commit: og.Commit | None) -> Any:
        if commit is None:
            return None
        self.name(commit.id)
        return commit.to_dict()


_TIMES = {"created_at", "authored_at"}


def history(seed: int, folder: Path, *, steps: int = 14, threads: bool = False) -> None:
    """Live a history twice, and compare."""
    rng = random.Random(seed)
    first = begun(folder / f"{seed}")
    plain, kept = (Life(Path(shutil.copytree(first, folder / f"{seed}-{name}"))) for name in ("plain", "kept"))
    upkeep = Upkeep(kept, random.Random(~seed), threads=threads)
    told: list[str] = []
    try:
        for _ in range(steps):
            what, step = chosen(rng)
            expected = plain.take(step)
            upkeep.some()
            found = kept.take(step)
            told.append(f"{what}: {expected!r}"[:300])
            assert found == expected, f"seed {seed}: upkeep changed what a step gives\n" + "\n".join(
                [*told, f"with it: {found!r}"]
            )
        for what, step in final(rng):
            expected, found = plain.take(step), kept.take(step)
            assert found == expected, f"seed {seed}: {what}\n{expected!r}\n{found!r}\n" + "\n".join(told)
    finally:
        upkeep.end()
        plain.graph.close()
        kept.graph.close()


# ── logical steps ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def chosen(rng: random.Random) -> tuple[str, Step]:
    """A step, chosen once for both lives."""
    kinds = {
        _write: 8,
        _conditional: 5,
        _branch: 3,
        _forget: 1,
        _merge: 4,
        _revert: 3,
        _tag: 2,
        _read: 4,
        _feed: 4,
        _diff: 2,
        _clean: 2,
        _reopen: 1,
    }
    kind = rng.choices(list(kinds), list(kinds.values()))[0]
    return kind.__name__, kind(rng)


def _branch_name(rng: random.Random) -> str:
    return rng.choice(["main", "main", "main", "a", "b"])


def _mutation(rng: random.Random) -> tuple[str, dict[str, object]]:
    name = f"p{rng.randrange(8)}"
    every: list[tuple[str, dict[str, object]]] = [
        (PUT, {"n": name, "a": rng.randrange(90), "c": rng.choice(["Oslo", "Rome", None])}),
        (AGE, {"n": name, "a": rng.randrange(90)}),
        (CITY, {"n": name, "c": rng.choice(["Bonn", "Lima"])}),
        (DROP, {"n": name}),
        (THING, {"n": f"t{rng.randrange(4)}", "s": rng.randrange(9)}),
    ]
    return rng.choice(every)


def _receipt(life: Life, receipt: og.Receipt) -> Any:
    return [receipt.affected_nodes, life.shown(receipt.commit)]


def _write(rng: random.Random) -> Step:
    branch, (text, params) = _branch_name(rng), _mutation(rng)
    return lambda life: _receipt(life, life.graph.mutate(text, params, branch=branch))


def _conditional(rng: random.Random) -> Step:
    branch, (text, params), stale = _branch_name(rng), _mutation(rng), rng.random() < 0.3
    number = rng.randrange(1_000)

    def step(life: Life) -> Any:
        seen = life.commit(number) if stale else life.graph.query(ALL, branch=branch).graph_commit_id
        return _receipt(life, life.graph.mutate(text, params, branch=branch, if_commit=seen))

    return step


def _place(rng: random.Random) -> Callable[[Life], str]:
    number, name = rng.randrange(1_000), rng.choice(["main", "a", "v1"])
    return (lambda life: life.commit(number)) if rng.random() < 0.6 else (lambda _: name)


def _branch(rng: random.Random) -> Step:
    name, at = rng.choice("ab"), _place(rng)
    return lambda life: [life.graph.branches.create(name, at(life)).fork_commit, life.graph.snapshot(name).number]


def _forget(rng: random.Random) -> Step:
    name = rng.choice("ab")

    def step(life: Life) -> Any:
        life.graph.branches.delete(name)
        return life.graph.branches.list()

    return step


def _merge(rng: random.Random) -> Step:
    source, into = rng.choice([("a", "main"), ("b", "main"), ("main", "a"), ("a", "b")])
    resolve, dry_run = rng.choice(SIDES), rng.random() < 0.2

    def step(life: Life) -> Any:
        done = life.graph.merge(source, into, resolve=resolve, dry_run=dry_run)
        return [done.outcome, done.base, life.shown(done.commit), done.to_dict()]

    return step


def _revert(rng: random.Random) -> Step:
    at, branch, resolve = _place(rng), _branch_name(rng), rng.choice(SIDES)

    def step(life: Life) -> Any:
        done = life.graph.revert(at(life), branch, resolve=resolve)
        return [done.outcome, life.shown(done.commit)]

    return step


def _tag(rng: random.Random) -> Step:
    at, again = _place(rng), rng.random() < 0.5

    def step(life: Life) -> Any:
        if again:
            with suppress(og.NotFound):
                life.graph.tags.delete("v1")
        life.graph.tags.create("v1", at(life))
        return [[tag.name, tag.commit] for tag in life.graph.tags.list()]

    return step


def _read(rng: random.Random) -> Step:
    at, age = _place(rng), rng.randrange(90)

    def step(life: Life) -> Any:
        with life.graph.session(at=at(life)) as session:
            found = [session.query(ALL), session.query(OLD, {"a": age})]
        return [session.graph_commit_id, *((result.graph_commit_id, result.rows) for result in found)]

    return step


def _feed(rng: random.Random) -> Step:
    branch, number = _branch_name(rng), rng.randrange(1_000)
    since = rng.choice(["now", "beginning", "after", "cursor", "cursor"])
    limit, most = rng.choice([1, 2, 100]), rng.choice([1, 2, 100])

    def step(life: Life) -> Any:
        start = {"after": f"after:{life.commit(number)}", "cursor": life.cursors.get(branch, "beginning")}.get(since, since)
        page = life.graph.changes(start, branch=branch, limit=limit, max_commits=most)
        life.cursors[branch] = page.next
        return [[block.to_dict() for block in page], page.caught_up, page.cursor is None]

    return step


def _diff(rng: random.Random) -> Step:
    first, second = _place(rng), _place(rng)

    def step(life: Life) -> Any:
        found = life.graph.diff(first(life), second(life))
        ends = [[end.commit, end.number] for end in (found.before, found.after)]
        return [ends, [change.to_dict() for change in found.changes]]

    return step


def _clean(rng: random.Random) -> Step:
    keep = rng.choice([None, None, 1, 2, 4])

    def step(life: Life) -> Any:
        report = reclaim(life.graph._store, keep=keep, older_than=None, grace=timedelta(0), dry_run=False)
        return [report.commits_kept, report.commits_reclaimed, report.manifests_removed]

    return step


def _reopen(rng: random.Random) -> Step:
    del rng

    def step(life: Life) -> Any:
        life.graph = og.open(life.graph._store.place.uri, durability="os", save_from=None)
        return life.graph.branches.list()

    return step


def _commit(commit: str, life: Life) -> Any:
    return [life.graph.commit(commit).number, life.graph.query(ALL, at=commit).rows]


def final(rng: random.Random) -> list[tuple[str, Step]]:
    """Everything, once more, in the end."""
    del rng

    def commits(branch: str) -> Step:
        return lambda life: [c.to_dict() for c in life.graph.commits(branch)]

    def every(life: Life) -> Any:
        return [life.take(partial(_commit, commit)) for commit in life.made]

    return [*((f"commits of {b}", commits(b)) for b in ("main", "a", "b")), ("every commit", every)]


# ── upkeep ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Upkeep:
    """Does to one life what is to go unnoticed."""

    def __init__(self, life: Life, rng: random.Random, *, threads: bool) -> None:
        self.life = life
        self.rng = rng
        self._over = Event()
        self._thread = Thread(target=self._restless) if threads else None
        if self._thread is not None:
            self._thread.start()

    def some(self) -> None:
        """A little of it, or nothing."""
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            graph = self.life.graph if self.rng.random() < 0.5 else og.open(self.life.graph._store.place.uri, durability="os")
            branch = self.rng.choice(graph.branches.list())
            optimize(graph._store, branch, graph._view(branch).catalog, pack=self.rng.random() < 0.7)

    def _restless(self) -> None:
        other = og.open(self.life.graph._store.place.uri, durability="os", save_from=None)
        while not self._over.wait(0.002):
            with suppress(GraphError):  # the branch was deleted, or a cleanup was faster
                optimize(other._store, self.rng.choice(["main", "a", "b"]), other._view().catalog)

    def end(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
