"""Long random sequences of what agents do with their memories, held against a model of a few sets.

The model knows per branch which memories, entities, sources, agents and relations there are. A merge takes over what a branch has
changed since it began or was merged last; what two branches changed alike, or only one of them changed, is no conflict.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.memory.conftest import EMBEDDER

import omnigraph as og
from omnigraph.memory import Memory
from omnigraph.memory.checks import hash_of

ENTITIES = ("Ada", "Bob", "Grace Hopper", "Oslo")
SOURCES = (None, "chat-1", "chat-2")
VERBS = ("knows", "works_at")
WORDS = ("tea", "rain", "kettle", "compiler", "flight")
AGENTS = ("ada", "bob")

State = dict[str, dict[Any, Any]]
"""By type: keys with what is known of them."""


def empty() -> State:
    return {"Memory": {}, "Entity": {}, "Source": {}, "Agent": {}, "About": {}, "FromSource": {}, "ByAgent": {}, "RelatesTo": {}}


class Model:
    """What every branch holds, and what a merge would compare with."""

    def __init__(self) -> None:
        self.branches: dict[str, State] = {"main": empty()}
        self.bases: dict[str, State] = {}

    def of(self, branch: str) -> State:
        return self.branches.get(branch, self.branches["main"])

    def begin(self, branch: str) -> State:
        if branch not in self.branches:
            self.branches[branch] = copy.deepcopy(self.branches["main"])
            self.bases[branch] = copy.deepcopy(self.branches["main"])
        return self.branches[branch]

    def remember(self, agent: str, text: str, about: tuple[str, ...], source: str | None, confidence: float | None) -> str:
        state, id_ = self.begin(f"agent/{agent}"), hash_of(text, source)
        was = state["Memory"].get(id_)
        sure = confidence if confidence is not None else was[1] if was else 1.0
        state["Memory"][id_] = (text, sure)
        state["Agent"][agent] = state["ByAgent"][id_, agent] = True
        for name in about:
            state["Entity"][name] = state["About"][id_, name] = True
        if source is not None:
            state["Source"][source] = state["FromSource"][id_, source] = True
        return id_

    def relate(self, agent: str, a: str, how: str, b: str, confidence: float | None) -> None:
        state = self.begin(f"agent/{agent}")
        state["Entity"][a] = state["Entity"][b] = True
        was = state["RelatesTo"].get((a, b, how), 1.0)
        state["RelatesTo"][a, b, how] = was if confidence is None else confidence

    def forget(self, agent: str, **what: str) -> int:
        [(by, value)] = what.items()
        state = self.of(f"agent/{agent}")
        edges, type_ = {"about": ("About", "Entity"), "source": ("FromSource", "Source"), "id": ("", "Memory")}[by]
        gone = {m for m, name in state[edges] if name == value} if edges else {value} & set(state["Memory"])
        ends = {value} & set(state[type_])
        if not gone and not ends:
            return 0
        state = self.begin(f"agent/{agent}")
        for id_ in gone:
            state["Memory"].pop(id_)
        if edges:
            state[type_].pop(value, None)
        for edge, end in (("About", "Entity"), ("FromSource", "Source"), ("ByAgent", "Agent")):
            state[edge] = {k: v for k, v in state[edge].items() if k[0] in state["Memory"] and k[1] in state[end]}
        state["RelatesTo"] = {k: v for k, v in state["RelatesTo"].items() if {k[0], k[1]} <= set(state["Entity"])}
        return len(gone)

    def merged(self, source: str, target: str) -> State | None:
        """What a merge comes to; None: it is a conflict, or may be one."""
        if source not in self.branches or target not in self.branches:
            return None
        agent = source if source != "main" else target
        base, ours, theirs = self.bases[agent], self.branches[target], self.branches[source]
        found = empty()
        for type_ in found:
            for key in {*base[type_], *ours[type_], *theirs[type_]}:
                was, mine, other = (side[type_].get(key) for side in (base, ours, theirs))
                if mine != was and other != was and mine != other:
                    return None
                now = other if other != was else mine
                if now is not None:
                    found[type_][key] = now
        for edge, (a, b) in {
            "About": ("Memory", "Entity"),
            "FromSource": ("Memory", "Source"),
            "ByAgent": ("Memory", "Agent"),
        }.items():
            if any(k[0] not in found[a] or k[1] not in found[b] for k in found[edge]):
                return None
        if any(not {k[0], k[1]} <= set(found["Entity"]) for k in found["RelatesTo"]):
            return None
        return found

    def merge(self, source: str, target: str, result: State) -> None:
        agent = source if source != "main" else target
        self.branches[target] = result
        self.bases[agent] = copy.deepcopy(self.branches[source])


def stored(graph: Any, branch: str) -> State:
    """What a branch of a graph holds, as the model has it."""
    found = empty()

    def rows(query: str) -> list[dict[str, Any]]:
        return graph.query(query, branch=branch).rows  # type: ignore[no-any-return]

    for row in rows("query q() { match { $m: Memory } return { $m.hash as h, $m.text as t, $m.confidence as c } }"):
        found["Memory"][row["h"]] = (row["t"], row["c"])
    for type_ in ("Entity", "Source", "Agent"):
        for row in rows(f"query q() {{ match {{ $n: {type_} }} return {{ $n.name as n }} }}"):
            found[type_][row["n"]] = True
    for edge, verb in (("About", "about"), ("FromSource", "fromSource"), ("ByAgent", "byAgent")):
        for row in rows(f"query q() {{ match {{ $m: Memory  $m {verb} $n }} return {{ $m.hash as h, $n.name as n }} }}"):
            found[edge][row["h"], row["n"]] = True
    for row in rows(
        "query q() { match { $a: Entity  $a $r:relatesTo $b } return { $a.name as a, $r.how as h, $b.name as b, $r.confidence as c } }"
    ):
        found["RelatesTo"][row["a"], row["b"], row["h"]] = row["c"]
    return found


def walk(seed: int, steps: int, main: Any, of: Callable[[str], Any]) -> dict[str, int]:
    """Random steps; after each one the branch that it was about is as the model says. Gives how often each was taken."""
    chance, model, taken = random.Random(seed), Model(), dict[str, int]()
    memories = {agent: Memory(of(agent), agent=agent, embedder=EMBEDDER) for agent in AGENTS}
    for step in range(steps):
        agent = chance.choice(AGENTS)
        memory, branch = memories[agent], f"agent/{agent}"
        what = chance.choices(("remember", "relate", "forget", "recall", "merge"), (5, 2, 2, 3, 2))[0]
        sure = chance.choice((None, 0.25, 0.5))
        if what == "remember":
            text = f"{chance.choice(WORDS)} and {chance.choice(WORDS)}"
            about, source = tuple(sorted(set(chance.choices(ENTITIES, k=chance.randint(0, 2))))), chance.choice(SOURCES)
            before = copy.deepcopy(model.of(branch))
            id_ = model.remember(agent, text, about, source, sure)
            done = memory.remember(text, about=about, source=source, confidence=sure)
            assert (done.id, done.changed) == (id_, model.of(branch) != before), step
        elif what == "relate":
            a, b, how = chance.choice(ENTITIES), chance.choice(ENTITIES), chance.choice(VERBS)
            model.relate(agent, a, how, b, sure)
            memory.relate(a, how, b, confidence=sure)
        elif what == "forget":
            ids = sorted(model.of(branch)["Memory"]) or ["nothing"]
            choices = {"id": chance.choice(ids), "about": chance.choice(ENTITIES), "source": chance.choice(SOURCES[1:])}
            by = chance.choice(sorted(choices))
            gone = model.forget(agent, **{by: str(choices[by])})
            assert memory.forget(**{by: choices[by]}).deleted.get("Memory", 0) == gone, step
        elif what == "recall":
            word, only = chance.choice(WORDS), chance.choice(("", *ENTITIES))
            state = model.of(branch)
            held = {m for m in state["Memory"] if not only or (m, only) in state["About"]}
            found = {one.id: one for one in memory.recall(word, k=100, about=only or ())}
            assert set(found) <= held, step
            assert {m for m in held if word in state["Memory"][m][0]} <= set(found), step
            for id_, one in found.items():
                assert (one.text, one.confidence) == state["Memory"][id_], step
                assert set(one.about) == {name for m, name in state["About"] if m == id_}, step
                assert set(one.agents) == {name for m, name in state["ByAgent"] if m == id_}, step
        else:
            source, target = (branch, "main") if chance.random() < 0.6 else ("main", branch)
            result = model.merged(source, target)
            if result is None:
                continue
            try:
                main.merge(source, into=target)
            except og.MergeConflict:
                what = "conflict"  # created and confirmed at different moments: more than the model knows
            else:
                model.merge(source, target, result)
        taken[what] = taken.get(what, 0) + 1
        for name in (branch, "main"):
            if name in model.branches:
                assert stored(main, name) == model.branches[name], (step, what, name)
    return taken


@pytest.mark.parametrize("seed", range(3))
def test_an_open_graph_remembers_as_the_model_does(opened: og.Graph, seed: int) -> None:
    taken = walk(seed, 40, opened, lambda agent: opened)
    assert set(taken) >= {"remember", "relate", "forget", "recall", "merge"}


@pytest.mark.parametrize("graph", ["served"], indirect=True)
def test_a_connected_graph_does_the_same(graph: Any, seen_by: Callable[[str], Any]) -> None:
    walk(7, 20, graph, seen_by)
