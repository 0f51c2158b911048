"""Random lives of a cluster against a model: edits, applies, deaths, approvals, looks; in the end what is wanted is what there is.

The model knows the configuration and which entities each graph should hold. What a graph holds survives everything but a delete
that was approved of; a delete happens only then.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from tests.cluster.clusters import NAMES, TEAM, Cluster
from tests.cluster.test_crash import Clock, Died

import omnigraph as og
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.serving.revision import read_serving

GRAPHS = ("a", "b")
SCHEMAS = [f"node Person {{ name: String @key {extra} }}\n" for extra in ("", " age: I32?", " age: I32?  city: String?")]


class Model:
    """What is wanted, and what every graph should hold."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.cluster = Cluster(folder)
        self.wanted: dict[str, tuple[int, bool]] = {}
        """Schema, and whether there is a query, by graph."""
        self.bound = False
        self.held: dict[str, set[str]] = {}
        self.marked = 0
        self.cluster.write("queries/names.gq", NAMES)
        self.edit()

    def edit(self) -> None:
        for name in GRAPHS:
            if self.random.random() < 0.75:
                self.wanted[name] = (self.random.randrange(len(SCHEMAS)), self.random.random() < 0.5)
            else:
                self.wanted.pop(name, None)
        self.bound = self.random.random() < 0.5
        lines = ["version: 1", "graphs:" if self.wanted else "graphs: {}"]
        for name, (schema, queries) in self.wanted.items():
            self.cluster.write(f"{name}.pg", SCHEMAS[schema])
            lines.append(f"  {name}: {{ schema: {name}.pg{', queries: queries/' if queries else ''} }}")
        if self.bound and self.wanted:
            self.cluster.write("team.yaml", TEAM)
            lines += ["policies:", f"  team: {{ file: team.yaml, applies_to: [{', '.join(self.wanted)}] }}"]
        self.cluster.config("\n".join(lines) + "\n")

    def there(self) -> dict[str, Path]:
        folder = self.cluster.folder / "graphs"
        return {path.name.removesuffix(".omni"): path for path in folder.iterdir()} if folder.exists() else {}

    def mark(self) -> None:
        """Somebody writes into the graphs that were applied."""
        ledger = self.cluster.status().ledger
        for name in ledger.graphs:
            self.marked += 1
            with og.open(self.there()[name]) as g:
                g.load([{"type": "Person", "data": {"name": f"n{self.marked}"}}])
            self.held.setdefault(name, set()).add(f"n{self.marked}")

    def apply(self) -> None:
        found = self.cluster.apply()
        assert found.ok, found.diagnostics
        self.check(found.converged)

    def die(self) -> None:
        """An apply that dies somewhere, and the lock it leaves."""
        try:
            with Clock(self.random.randrange(1, 25)).running():
                self.cluster.apply()
        except Died:
            lock = self.cluster.status().observations.held
            if lock is not None:
                assert self.cluster.unlock(lock.lock_id).ok

    def approve(self) -> None:
        """Somebody approves of every delete that is waiting; from now on those graphs may go."""
        for gate in self.cluster.plan().gates:
            assert self.cluster.approve(gate.resource).ok
            self.held.pop(gate.resource.removeprefix("graph."), None)

    def look(self) -> None:
        assert self.cluster.status().ok
        if self.cluster.state is not None:
            found = self.cluster.refresh()
            assert found.ok, found.diagnostics

    def check(self, converged: bool) -> None:
        there = self.there()
        for name, names in self.held.items():
            with og.open(there[name], read_only=True) as g:
                assert set(g.query(NAMES).to_arrow().column(0).to_pylist()) >= names, name
        if not converged:
            return
        found = self.cluster.validate()
        assert found.desired is not None
        assert self.cluster.status().ledger.digest_map() == found.desired.digest_map
        assert set(there) == set(self.wanted)
        assert self.cluster.objects.list(layout.RECOVERIES) == []
        for name, (schema, _) in self.wanted.items():
            with og.open(there[name], read_only=True) as g:
                assert g.schema() == SCHEMAS[schema]
        if self.wanted:
            served = read_serving(str(self.cluster.folder))
            assert {g.id: bool(g.queries) for g in served.graphs} == {name: q for name, (_, q) in self.wanted.items()}

    def finish(self) -> None:
        self.approve()
        self.apply()
        found = self.cluster.apply()
        assert (found.converged, found.written) == (True, False)


STEPS = ("edit", "apply", "apply", "die", "die", "mark", "approve", "look")
SEEDS = 100
SECONDS = 60


@pytest.mark.slow
def test_random_lives(tmp_path: Path) -> None:
    begun, lived = time.monotonic(), 0
    for seed in range(SEEDS):
        model = Model(tmp_path / str(seed), seed)
        steps = [model.random.choice(STEPS) for _ in range(6)]
        try:
            for step in steps:
                getattr(model, step)()
            model.finish()
        except BaseException as error:
            error.add_note(f"seed {seed}: {steps}")
            raise
        lived += 1
        if time.monotonic() - begun > SECONDS:
            break
    assert lived >= 10
