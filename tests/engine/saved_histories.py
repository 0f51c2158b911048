"""Long random histories of several handles and branches of one graph, and a model in plain Python that knows every answer.

Handles save derived state from a few rows on, are closed, dropped and opened again; in between they insert, update, delete, load,
branch, merge, pack, clean up and add properties. After every step one handle is asked everything, and now and then all of them on
every branch, and a fresh one that uses no saved state. Whatever an answer was made of, it has to be the model's.

    python -m tests.engine.saved_histories FOLDER FIRST_SEED SEEDS STEPS
"""

from __future__ import annotations

import copy
import random
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from tests.storage.aging import MovedClock

import omnigraph as og
from omnigraph.errors import GraphError, HistoryReclaimed, NotFound
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.graph_store import GraphStore

WORDS = ("wolf", "lamp", "plum", "fern", "gold", "moss")
SCHEMA = """
node P {{ k: String @key  g: I32  t: String?  v: Vector(2)? {extra} }}
node C {{ k: String @key }}
edge Knows: P -> P {{ w: I32 }}
edge Lives: P -> C {{ w: I32 }}
"""
READS = {
    "hops": "query q() { match { $a: P  $a knows $b } return { $a.k, $b.k, $b.g } }",
    "edges": "query q() { match { $a: P  $a $e:knows $b } return { $a.k, $b.k, $e.w } }",
    "two hops": "query q() { match { $a: P  $a knows $b  $b lives $c } return { $a.k, $b.k, $c.k } }",
    "inhabitants": "query q() { match { $c: C  $a: P  $a lives $c } return { $c.k, $a.k } }",
    "walks": "query q($k: String) { match { $a: P {k: $k}  $a knows{1,3} $b  $b.k != $k } return distinct { $b.k } }",
    "nodes": "query q() { match { $a: P } return { $a.k, $a.g, $a.t } }",
    "group": "query q($g: I32) { match { $a: P {g: $g} } return { $a.k } }",
    "count": "query q() { match { $a: P  $a knows $b } return { count($b) as n } }",
    "found": "query q($t: String) { match { $a: P  search($a.t, $t) } return { $a.k } }",
    "near": "query q($v: Vector(2)) { match { $a: P } return { $a.k } order { nearest($a.v, $v) } limit 5 }",
}

Row = dict[str, Any]


@dataclass
class World:
    """A branch, as it should be."""

    nodes: dict[str, Row] = field(default_factory=dict)
    cities: set[str] = field(default_factory=set)
    knows: dict[int, tuple[str, str]] = field(default_factory=dict)
    lives: dict[int, tuple[str, str]] = field(default_factory=dict)
    extra: tuple[tuple[str, str], ...] = ()

    def remove(self, key: str) -> None:
        del self.nodes[key]
        self.knows = {w: ends for w, ends in self.knows.items() if key not in ends}
        self.lives = {w: ends for w, ends in self.lives.items() if key != ends[0]}

    def schema(self) -> str:
        return SCHEMA.format(extra="  ".join(f"{name}: {type_}?" for name, type_ in self.extra))


def asked(rng: random.Random, world: World) -> dict[str, tuple[dict[str, Any], str | None]]:
    """Parameters of every read, and how it is to go from node to node."""
    some = rng.choice(sorted(world.nodes)) if world.nodes else "nobody"
    values: dict[str, dict[str, Any]] = {
        "walks": {"k": some},
        "group": {"g": rng.randrange(6)},
        "found": {"t": rng.choice(WORDS)},
        "near": {"v": [float(rng.randrange(8)), float(rng.randrange(8))]},
    }
    ways = [None, "csr", "csr", "btree"]
    return {name: (values.get(name, {}), rng.choice(ways)) for name in READS}


def answers(graph: og.Graph, branch: str, world: World, questions: dict[str, Any], at: str | None = None) -> dict[str, Any]:
    """What a graph says."""
    found: dict[str, Any] = {}
    where: dict[str, Any] = {"branch": branch} if at is None else {"at": at}
    for name, (values, way) in questions.items():
        rows = [tuple(row.values()) for row in graph.query(READS[name], values, traversal=way, **where).rows]
        found[name] = rows if name == "near" else sorted(rows, key=repr)
    for name, _ in world.extra:
        text = f"query q() {{ match {{ $a: P }} return {{ $a.k, $a.{name} }} }}"
        found[name] = sorted((tuple(row.values()) for row in graph.query(text, **where).rows), key=repr)
    return found


def expected(world: World, questions: dict[str, Any]) -> dict[str, Any]:
    """What it should say."""
    nodes, out = world.nodes, sorted(set(world.knows.values()))
    reached: set[str] = set()
    start = questions["walks"][0]["k"]
    edge = {start}
    for _ in range(3):
        edge = {b for a, b in out if a in edge}
        reached |= edge
    query = questions["near"][0]["v"]
    distances = sorted(
        (float(((np.array(row["v"]) - np.array(query)) ** 2).sum()), key) for key, row in nodes.items() if row["v"] is not None
    )
    word, group = questions["found"][0]["t"], questions["group"][0]["g"]
    found: dict[str, Any] = {
        "hops": [(a, b, nodes[b]["g"]) for a, b in out],
        "edges": [(a, b, w) for w, (a, b) in world.knows.items()],
        "two hops": [(a, b, c) for a, b in out for e, c in sorted(set(world.lives.values())) if e == b],
        "inhabitants": [(c, a) for a, c in set(world.lives.values())],
        "walks": [(key,) for key in reached - {start}],
        "nodes": [(key, row["g"], row["t"]) for key, row in nodes.items()],
        "group": [(key,) for key, row in nodes.items() if row["g"] == group],
        "count": [(len(out),)],
        "found": [(key,) for key, row in nodes.items() if row["t"] and word in row["t"].split()],
        **{name: [(key, row.get(name)) for key, row in nodes.items()] for name, _ in world.extra},
    }
    return {**{name: sorted(rows, key=repr) for name, rows in found.items()}, "near": [(key,) for _, key in distances[:5]]}


class History:
    """One random history. `step` does something and compares."""

    def __init__(self, folder: Path, seed: int, *, handles: int = 3) -> None:
        self.rng = random.Random(seed)
        self.seed = seed
        self.folder = folder
        self.worlds = {"main": World()}
        self.bases: dict[str, World] = {}
        self.past: dict[str, World] = {}
        """Commits that were looked at, and what they hold."""
        self.told: list[str] = []
        self._fresh = 0
        if handles:
            graph = og.init(folder, self.worlds["main"].schema(), durability="os", save_from=None)
            self._load(graph, "main", 30, 60)
            graph.close()
        self.handles = [self._opened() for _ in range(handles)]

    @classmethod
    def beside(cls, folder: Path, seed: int) -> History:
        """A handle to compare with in another process, of a graph whose history happens elsewhere."""
        history = cls(folder, seed, handles=0)
        history.handles = [history._opened()]
        return history

    def close(self) -> None:
        for handle in self.handles:
            handle.close()

    def _opened(self) -> og.Graph:
        rng = self.rng
        return og.open(self.folder, durability="os", save_from=rng.choice([0, 1, 8, 40]), memory=rng.choice([0, 30_000, 1 << 30]))

    def _new(self, what: str) -> str:
        self._fresh += 1
        return f"{what}{self._fresh}"

    def step(self) -> None:
        """Something happens, and one handle is asked."""
        at = self.rng.randrange(len(self.handles))
        branch = self.rng.choice(sorted(self.worlds))
        act, weights = zip(*self.ACTS.items(), strict=True)
        action = self.rng.choices(act, weights)[0]
        self.told.append(f"{action.__name__} by {at} on {branch}")
        action(self, at, branch)
        asked_at = self.rng.randrange(len(self.handles))
        self.compare(self.handles[asked_at], self.rng.choice(sorted(self.worlds)), f"handle {asked_at}")

    def compare_all(self) -> None:
        """Every handle on every branch, and one that uses no saved state; and every commit of the past that is still there."""
        bare = og.open(self.folder, save_from=None, durability="os")
        for branch in sorted(self.worlds):
            for number, handle in enumerate(self.handles):
                self.compare(handle, branch, f"handle {number}")
            self.compare(bare, branch, "without saved state")
        for commit, world in list(self.past.items()):
            for graph in (self.rng.choice(self.handles), bare):
                try:
                    self.compare(graph, "", "the past", world=world, at=commit)
                except (HistoryReclaimed, NotFound):
                    self.past.pop(commit, None)
        bare.close()

    def compare(self, graph: og.Graph, branch: str, who: str, *, world: World | None = None, at: str | None = None) -> None:
        world = self.worlds[branch] if world is None else world
        questions = asked(self.rng, world)
        found, right = answers(graph, branch, world, questions, at), expected(world, questions)
        for name, rows in right.items():
            assert found[name] == rows, (
                f"seed {self.seed}, step {len(self.told)}: `{name}` {questions.get(name)} of {who} on {branch or at}: "
                f"{found[name]} instead of {rows}; {self.told[-12:]}"
            )

    # ── what happens ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _node(self) -> Row:
        rng = self.rng
        text = " ".join(rng.choices(WORDS, k=rng.randrange(4))) or None
        return {
            "g": rng.randrange(6),
            "t": text,
            "v": [float(rng.randrange(8)), float(rng.randrange(8))] if rng.random() < 0.8 else None,
        }

    def _edges(self, world: World, count: int) -> tuple[dict[int, tuple[str, str]], dict[int, tuple[str, str]]]:
        knows: dict[int, tuple[str, str]] = {}
        lives: dict[int, tuple[str, str]] = {}
        keys, cities = sorted(world.nodes), sorted(world.cities)
        for _ in range(count if keys else 0):
            self._fresh += 1
            if self.rng.random() < 0.7 or not cities:
                knows[self._fresh] = (self.rng.choice(keys), self.rng.choice(keys))
            else:
                lives[self._fresh] = (self.rng.choice(keys), self.rng.choice(cities))
        return knows, lives

    def _load(self, graph: og.Graph, branch: str, nodes: int, edges: int) -> None:
        world = self.worlds[branch]
        new = {self._new("p"): self._node() for _ in range(nodes)}
        cities = {self._new("c") for _ in range(nodes // 8)}
        world.nodes |= copy.deepcopy(new)
        world.cities |= cities
        knows, lives = self._edges(world, edges)
        world.knows |= knows
        world.lives |= lives
        data = {
            "P": [{"k": key, **row} for key, row in new.items()],
            "C": [{"k": key} for key in sorted(cities)],
            "Knows": [{"from": a, "to": b, "w": w} for w, (a, b) in knows.items()],
            "Lives": [{"from": a, "to": b, "w": w} for w, (a, b) in lives.items()],
        }
        graph.load({name: rows for name, rows in data.items() if rows}, mode="append", branch=branch)

    def load_few(self, at: int, branch: str) -> None:
        self._load(self.handles[at], branch, self.rng.randrange(1, 4), self.rng.randrange(4))

    def load_many(self, at: int, branch: str) -> None:
        self._load(self.handles[at], branch, self.rng.randrange(8, 24), self.rng.randrange(10, 40))

    def load_edges(self, at: int, branch: str) -> None:
        self._load(self.handles[at], branch, 1, self.rng.randrange(20, 60))

    def merge_load(self, at: int, branch: str) -> None:
        world = self.worlds[branch]
        if world.nodes:
            chosen = self.rng.sample(sorted(world.nodes), k=min(5, len(world.nodes)))
            new = {key: self._node() for key in [*chosen, self._new("p")]}
            for key, row in new.items():
                world.nodes[key] = {**world.nodes.get(key, {}), **row}
            self.handles[at].load({"P": [{"k": key, **row} for key, row in new.items()]}, mode="merge", branch=branch)
            for key in chosen:  # what a load does not mention it does not promise to keep
                for name, _ in world.extra:
                    world.nodes[key][name] = None

    def insert(self, at: int, branch: str) -> None:
        key, row = self._new("p"), self._node()
        self.worlds[branch].nodes[key] = dict(row)
        text = "query q($k: String, $g: I32, $t: String?, $v: Vector(2)?) { insert P { k: $k, g: $g, t: $t, v: $v } }"
        self.handles[at].mutate(text, {"k": key, **row}, branch=branch)

    def link(self, at: int, branch: str) -> None:
        knows, lives = self._edges(self.worlds[branch], 1)
        for name, edges in (("Knows", knows), ("Lives", lives)):
            for w, (a, b) in edges.items():
                text = f"query q($a: String, $b: String, $w: I32) {{ insert {name} {{ from: $a, to: $b, w: $w }} }}"
                self.handles[at].mutate(text, {"a": a, "b": b, "w": w}, branch=branch)
        self.worlds[branch].knows |= knows
        self.worlds[branch].lives |= lives

    def update(self, at: int, branch: str) -> None:
        world, row = self.worlds[branch], self._node()
        old, values = self.rng.randrange(6), {"t": row["t"], "v": row["v"]}
        for node in world.nodes.values():
            if node["g"] == old:
                node.update(values)
        text = "query q($g: I32, $t: String?, $v: Vector(2)?) { update P set { t: $t, v: $v } where g = $g }"
        self.handles[at].mutate(text, {"g": old, **values}, branch=branch)

    def delete_one(self, at: int, branch: str) -> None:
        world = self.worlds[branch]
        if world.nodes:
            key = self.rng.choice(sorted(world.nodes))
            world.remove(key)
            self.handles[at].mutate("query q($k: String) { delete P where k = $k }", {"k": key}, branch=branch)

    def delete_group(self, at: int, branch: str) -> None:
        world, group = self.worlds[branch], self.rng.randrange(6)
        for key in [key for key, row in world.nodes.items() if row["g"] == group]:
            world.remove(key)
        self.handles[at].mutate("query q($g: I32) { delete P where g = $g }", {"g": group}, branch=branch)

    def unlink(self, at: int, branch: str) -> None:
        world = self.worlds[branch]
        if world.knows and self.rng.random() < 0.7:
            w = self.rng.choice(sorted(world.knows))
            del world.knows[w]
            self.handles[at].mutate("query q($w: I32) { delete Knows where w = $w }", {"w": w}, branch=branch)
        elif world.nodes:
            key = self.rng.choice(sorted(world.nodes))
            world.knows = {w: ends for w, ends in world.knows.items() if ends[0] != key}
            self.handles[at].mutate("query q($k: String) { delete Knows where from = $k }", {"k": key}, branch=branch)

    def branch(self, at: int, branch: str) -> None:
        if len(self.worlds) < 4:
            name = self._new("b")
            self.handles[at].branches.create(name, from_=branch)
            self.worlds[name] = copy.deepcopy(self.worlds[branch])
            if branch == "main":
                self.bases[name] = copy.deepcopy(self.worlds["main"])

    def merge(self, at: int, branch: str) -> None:
        """Into main, and the branch goes. Where the model cannot tell the outcome, it only goes."""
        if branch == "main":
            return
        base, world, main = self.bases.pop(branch, None), self.worlds.pop(branch), self.worlds["main"]
        if base is not None and world.extra == main.extra == base.extra:
            merged = _merged(base, main, world)
            try:
                self.handles[at].merge(branch)
            except GraphError:
                assert merged is None, "nothing was in the way"
            else:
                assert merged is not None, "two changes of one entity"
                self.worlds["main"] = merged
        self.handles[at].branches.delete(branch)

    def optimize(self, at: int, branch: str) -> None:
        self.handles[at].optimize(branch)

    def cleanup(self, at: int, branch: str) -> None:
        clock = MovedClock()
        clock.pass_time(timedelta(days=2))
        place = Place.at(str(self.folder), durability=Durability.OS)
        og.Graph(GraphStore.open(place, clock=clock), reopen=og.open, save_from=None).cleanup(
            keep=1, older_than="0s", dry_run=False
        )

    def add_property(self, at: int, branch: str) -> None:
        """Also one that another branch calls the same and means otherwise."""
        world = self.worlds[branch]
        name, type_ = self.rng.choice(["x", "y", "z"]), self.rng.choice(["I32", "String"])
        if name in dict(world.extra):
            return
        world.extra = (*world.extra, (name, type_))
        self.handles[at].apply_schema(world.schema(), branch=branch)
        for row in world.nodes.values():
            row[name] = None
        if self.rng.random() < 0.7:
            value: Any = self.rng.randrange(100) if type_ == "I32" else self.rng.choice(WORDS)
            group = self.rng.randrange(6)
            for row in world.nodes.values():
                if row["g"] == group:
                    row[name] = value
            text = f"query q($g: I32, $x: {type_}) {{ update P set {{ {name}: $x }} where g = $g }}"
            self.handles[at].mutate(text, {"g": group, "x": value}, branch=branch)

    def reopen(self, at: int, branch: str) -> None:
        self.handles[at].close()
        self.handles[at] = self._opened()

    def drop(self, at: int, branch: str) -> None:
        """Without closing: it may be saving."""
        self.handles[at] = self._opened()

    def look_back(self, at: int, branch: str) -> None:
        commit = self.handles[at]._view(branch).snapshot.commit
        self.past[commit] = copy.deepcopy(self.worlds[branch])

    ACTS: ClassVar[dict[Callable[[History, int, str], None], float]] = {
        load_few: 3,
        load_many: 1,
        load_edges: 2,
        merge_load: 1,
        insert: 4,
        link: 4,
        update: 2,
        delete_one: 3,
        delete_group: 0.5,
        unlink: 2,
        branch: 1,
        merge: 0.7,
        optimize: 1,
        cleanup: 0.5,
        add_property: 0.4,
        reopen: 5,
        drop: 2,
        look_back: 0.5,
    }


def _merged(base: World, ours: World, theirs: World) -> World | None:
    """Both changes of a base; None where they meet."""
    found = copy.deepcopy(ours)
    for part in ("nodes", "knows", "lives"):
        old, mine, other = getattr(base, part), getattr(ours, part), getattr(theirs, part)
        result = getattr(found, part)
        for key in {*old, *other}:
            if old.get(key) == other.get(key) or mine.get(key) == other.get(key):
                continue
            if mine.get(key) != old.get(key):
                return None
            if key in other:
                result[key] = copy.deepcopy(other[key])
            else:
                result.pop(key, None)
    found.cities |= theirs.cities
    there = found.nodes.keys()
    if any(not there >= set(ends) for ends in found.knows.values()) or any(a not in there for a, _ in found.lives.values()):
        return None
    return found


def run(folder: Path, seed: int, steps: int, every: int = 12) -> History:
    """A whole history."""
    history = History(folder, seed)
    for step in range(steps):
        history.step()
        if step % every == every - 1:
            history.compare_all()
    history.compare_all()
    history.close()
    return history


if __name__ == "__main__":
    root, first, seeds, steps = Path(sys.argv[1]), *map(int, sys.argv[2:5])
    for seed in range(first, first + seeds):
        shutil.rmtree(root, ignore_errors=True)
        started = time.time()
        run(root, seed, steps)
        print(f"seed {seed}: {steps} steps in {time.time() - started:.1f} s", flush=True)
    shutil.rmtree(root, ignore_errors=True)
