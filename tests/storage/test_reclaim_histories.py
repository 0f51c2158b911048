"""Random histories with branches, tags and reclaims, against a model that knows what must be left.

The model is a second, plain account of the policy: it keeps every commit ever made with its content and decides with lists and
loops what stays. After each reclaim every commit of every history is asked for: those that stay give their exact content, the
others `HistoryReclaimed`, and verify finds nothing wrong.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, partial
from pathlib import Path

import pytest
from tests.storage.aging import AgingGraph
from tests.storage.graphs import PEOPLE, THINGS, content, delete, held, insert, overwrite, rows, upsert

from omnigraph.errors import HistoryReclaimed
from omnigraph.storage.commits.leases import GRACE
from omnigraph.storage.commits.lineage import Commit, OpClass
from omnigraph.storage.commits.plan import PublishPlan, Replacement
from omnigraph.storage.graph_store import MAIN
from omnigraph.storage.reclaiming.verify import verify
from omnigraph.storage.rewriting.indexes import IndexKind, IndexSpec, extend_index
from omnigraph.storage.rewriting.rewrites import compact

BY_ID = IndexSpec("by_id", "id", IndexKind.BTREE)
Content = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Made:
    """A commit, what the graph held after it, and when it was made."""

    id: str
    holds: Content
    at: datetime
    maintenance: bool = False


@dataclass
class Line:
    """A branch: its commits from the very first one, and how many of them it found when it was made."""

    commits: list[Made]
    found: int
    origin: Line | None
    deleted_at: datetime | None = None

    def own(self) -> list[Made]:
        return self.commits[self.found :]


@dataclass
class Model:
    """The plain account."""

    lines: dict[str, Line]
    dead: list[Line] = field(default_factory=list)
    tags: dict[str, Made] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)

    def stays(self, keep: int | None, older_than: timedelta | None, now: datetime) -> set[str]:
        window = max(GRACE, older_than or timedelta(0))
        found = {made.id for tag in self.tags.values() for made in self.layouts(tag)[-1:]}
        for line in self.lines.values():
            found |= _newest(line.commits, keep, window, now, self.gone, everything=keep is None and older_than is None)
            parent: Line | None = line
            while parent is not None:
                found |= {parent.commits[parent.found - 1].id} if parent.origin is not None else set()
                parent = parent.origin
        for line in self.dead:
            if line.deleted_at is not None and line.deleted_at >= now - GRACE:
                found |= _newest(line.own(), None, GRACE, now, self.gone, everything=False)
        if keep is None and older_than is None:
            for name in self.tags:
                found |= self._back_from(self.tags[name])
        return found - self.gone

    def layouts(self, made: Made) -> list[Made]:
        """A logical commit and what lays it out anew in the line it was made in, as far as that is there; oldest first."""
        (line,) = [line for line in (*self.lines.values(), *self.dead) if made in line.own()]
        found = [made]
        for later in line.commits[line.commits.index(made) + 1 :]:
            if not later.maintenance:
                break
            found.append(later)
        return [m for m in found if m.id not in self.gone]

    def logical(self, made: Made) -> Made:
        """The commit that people see."""
        for line in (*self.lines.values(), *self.dead):
            if made in line.commits:
                return next(m for m in reversed(line.commits[: line.commits.index(made) + 1]) if not m.maintenance)
        raise AssertionError("it was never made")

    def opens(self, made: Made) -> bool:
        """Whether a commit can be read: as it is, or in another layout."""
        return made.id not in self.gone or bool(self.layouts(self.logical(made)))

    def _back_from(self, made: Made) -> set[str]:
        for line in (*self.lines.values(), *self.dead):
            if made in line.commits:
                return {m.id for m in line.commits[: line.commits.index(made) + 1]}
        raise AssertionError("a tag names a commit that was never made")

    def ever(self) -> dict[str, Made]:
        return {m.id: m for line in (*self.lines.values(), *self.dead) for m in line.commits}


def _newest(
    commits: list[Made], keep: int | None, window: timedelta, now: datetime, gone: set[str], *, everything: bool
) -> set[str]:
    found = set()
    layouts: list[list[Made]] = []
    for made in commits:
        if made.maintenance and layouts:
            layouts[-1].append(made)
        else:
            layouts.append([made])
    for group in layouts[-keep:] if keep is not None else []:
        found |= {made.id for made in [m for m in group if m.id not in gone][-1:]}
    for made, next_one in zip(commits, [*commits[1:], None], strict=True):
        if everything or next_one is None or next_one.at >= now - window:
            found.add(made.id)
    return found


class History:
    """A graph and its model, moving together."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        self.graph = AgingGraph(folder)
        self.store = self.graph.store
        (first,) = self.store.commits()
        self.model = Model({MAIN: Line([Made(first.id, {PEOPLE: {}, THINGS: {}}, self.graph.clock.now())], 0, None)})
        self.names = iter(range(10_000))

    def step(self) -> None:
        name = self.rng.choice(list(self.model.lines))
        choice = self.rng.random()
        if choice < 0.5:
            self.write(name)
        elif choice < 0.6:
            self.maintain(name)
        elif choice < 0.72:
            self.branch(name)
        elif choice < 0.78:
            self.forget(name)
        elif choice < 0.86:
            self.tag()
        elif choice < 0.9:
            self.store.tables.open(self.store.snapshot(name).tables[PEOPLE]).store(rows(lost=1))
        else:
            self.graph.pass_time(self.rng.choice([0.3, 0.7, 2.0, 5.0]) * GRACE)
        self.graph.catch_up()

    def write(self, name: str) -> None:
        table = self.rng.choice([PEOPLE, THINGS])
        before = self.model.lines[name].commits[-1].holds
        values = {f"k{self.rng.randrange(12)}": self.rng.randrange(100) for _ in range(self.rng.randrange(1, 5))}
        match self.rng.choice(["insert", "upsert", "delete", "overwrite"]):
            case "insert":
                values = {f"new{next(self.names)}": n for n in values.values()}
                commit, after = insert(self.store, name, table, **values), {**before[table], **values}
            case "upsert":
                commit, after = upsert(self.store, name, table, **values), {**before[table], **values}
            case "delete":
                commit = delete(self.store, *values, branch=name, table=table)
                after = {k: n for k, n in before[table].items() if k not in values}
            case _:
                commit, after = overwrite(self.store, name, table, **values), values
        self.made(name, commit, {**before, table: after})

    def made(self, name: str, commit: Commit, holds: Content) -> None:
        at = datetime.fromtimestamp(commit.created_at / 1e6).astimezone()
        self.model.lines[name].commits.append(Made(commit.id, holds, at, commit.is_maintenance))

    def maintain(self, name: str) -> None:
        snapshot = self.store.snapshot(name)
        state = snapshot.tables[PEOPLE]
        tables = self.store.tables
        applied = extend_index(tables, state, BY_ID) if self.rng.random() < 0.5 else compact(tables, state)
        plan = PublishPlan(OpClass.MAINTENANCE, "tidy", snapshot.commit, replacements=(Replacement(PEOPLE, state.pin, applied),))
        self.made(name, self.store.publish(name, plan), self.model.lines[name].commits[-1].holds)

    def branch(self, name: str) -> None:
        line, new = self.model.lines[name], f"b{next(self.names)}"
        if self.rng.random() < 0.6 or not line.own():
            self.store.create_branch(new, at=name)
            self.model.lines[new] = Line(list(line.commits), len(line.commits), line)
            return
        at = self.rng.choice(line.own())
        if not self.model.opens(at):
            with pytest.raises(HistoryReclaimed):
                self.store.create_branch(new, at=at.id)
            return
        self.store.create_branch(new, at=at.id)
        if not at.maintenance or at.id in self.model.gone:
            at = self.model.layouts(self.model.logical(at))[-1]
            (line,) = [known for known in (*self.model.lines.values(), *self.model.dead) if at in known.own()]
        assert self.store.snapshot(new).layout == at.id
        number = line.commits.index(at) + 1
        self.model.lines[new] = Line(line.commits[:number], number, line)

    def forget(self, name: str) -> None:
        if name == MAIN:
            if self.model.tags:
                tag = self.rng.choice(list(self.model.tags))
                self.store.delete_tag(tag)
                del self.model.tags[tag]
            return
        self.store.delete_branch(name)
        line = self.model.lines.pop(name)
        line.deleted_at = self.graph.clock.now()
        # Sealing is a commit too; nobody ever sees it, but it replaced the one before.
        line.commits.append(Made("seal", {}, line.deleted_at, maintenance=True))
        self.model.dead.append(line)

    def tag(self) -> None:
        line = self.model.lines[self.rng.choice(list(self.model.lines))]
        made, name = self.rng.choice(line.commits), f"t{next(self.names)}"
        if not self.model.layouts(self.model.logical(made)):
            with pytest.raises(HistoryReclaimed):
                self.store.create_tag(name, made.id)
        else:
            self.store.create_tag(name, made.id)
            self.model.tags[name] = self.model.logical(made)

    def reclaim(self) -> None:
        keep = self.rng.choice([None, 1, 2, 5])
        older_than = self.rng.choice([None, None, 3 * GRACE])
        announced = self.graph.reclaim(keep=keep, older_than=older_than, dry_run=True)
        report = self.graph.reclaim(keep=keep, older_than=older_than)
        assert report.files_removed == announced.files_removed
        stays = self.model.stays(keep, older_than, self.graph.clock.now())
        self.model.gone = set(self.model.ever()) - stays

    def check(self) -> None:
        assert verify(self.store, deep=True).problems == ()
        store = self.graph.reopened()
        reachable = {m.id for line in self.model.lines.values() for m in line.commits} | {m.id for m in self.model.tags.values()}
        read = cache(partial(held, store))
        for made in self.model.ever().values():
            if made.id == "seal":
                continue
            try:
                snapshot = store.snapshot_at(made.id)
                found = {table: read(snapshot.tables[table]) for table in made.holds}
            except HistoryReclaimed:
                assert not self.model.opens(made) or made.id not in reachable
            else:
                assert self.model.opens(made)
                assert snapshot.commit == self.model.logical(made).id
                assert found == made.holds
        for name, line in self.model.lines.items():
            assert content(store, name) == line.commits[-1].holds[PEOPLE]
            assert [c.id for c in store.commits(name)] == [m.id for m in reversed(line.commits)]
            looked_up = store.tables.open(store.snapshot(name).tables[PEOPLE]).lookup(["k1"])
            assert looked_up.num_rows == ("k1" in line.commits[-1].holds[PEOPLE])
        for name, made in self.model.tags.items():
            assert content(store, at=name) == made.holds[PEOPLE]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_nothing_reachable_is_ever_removed(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, seed)
    for _ in range(5):
        for _ in range(25):
            history.step()
        history.reclaim()
        history.check()
    history.graph.pass_time()
    history.graph.reclaim(keep=1)
    assert history.graph.reclaim(keep=1).files_removed == 0
