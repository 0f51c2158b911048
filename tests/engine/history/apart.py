"""A graph whose branches change their schemas apart, beside a model of it made of dicts.

In the model every type and property is an object of its own, made when it is declared: that is what identity means. What is the
same thing on two branches is decided by that alone, and, for what both made after they parted, by name:

    the state        {declared type: {id: {declared property: value}}}, with the name each has now
    a comparison     of two states, given the state at which they parted
    a revert         of one step on a state: three images per entity, property by property

Nothing here counts, and nothing looks at numbers. So where the graph goes by a number that means another thing on another
branch, the two disagree.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from typing import Any

from tests.engine.history.graphs import calm, contents

import omnigraph as og

_made = itertools.count()
FORMS = ("I32", "I32", "I32", "String", "Date")
TYPE_NAMES = ("P", "Q", "S", "T")
NAMES = ("a", "b", "c", "d")
IDS = ("x", "y")
EDGE_IDS = ("e1", "e2")

Values = dict[str, dict["Prop", Any]]
"""By id, what an entity has."""


@dataclass(frozen=True)
class Prop:
    """A property, once declared."""

    form: str
    number: int = field(default_factory=lambda: next(_made))


@dataclass(frozen=True)
class Kind:
    """A type, once declared."""

    ends: tuple[Kind, Kind] | None = None
    number: int = field(default_factory=lambda: next(_made))


@dataclass
class State:
    """Everything, at one commit."""

    names: dict[Kind, str] = field(default_factory=dict)
    props: dict[Kind, dict[Prop, str]] = field(default_factory=dict)
    """The name of each property."""
    rows: dict[Kind, Values] = field(default_factory=dict)

    def copy(self) -> State:
        return State(
            dict(self.names),
            {kind: dict(props) for kind, props in self.props.items()},
            {kind: {id_: dict(row) for id_, row in rows.items()} for kind, rows in self.rows.items()},
        )

    def text(self, hints: dict[object, str]) -> str:
        """The schema, with hints about what was renamed."""

        def hint(what: object) -> str:
            return f' @rename_from("{hints[what]}")' if what in hints else ""

        lines = []
        for kind, name in self.names.items():
            body = "  ".join(f"{n}: {p.form}?{hint(p)}" for p, n in self.props[kind].items())
            if kind.ends is None:
                lines.append(f"node {name}{hint(kind)} {{ k: String @key  {body} }}")
            else:
                source, target = (self.names[end] for end in kind.ends)
                lines.append(f"edge {name}: {source} -> {target}{hint(kind)} {{ {body} }}")
        return "\n".join(lines)

    def as_of(self, other: State) -> State:
        """The same in the types and properties of another state, which has one of each name."""
        rows: dict[Kind, Values] = {}
        for kind, name in other.names.items():
            mine = next(k for k, n in self.names.items() if n == name)
            called = {n: p for p, n in self.props[mine].items()}
            there = other.props[kind]
            rows[kind] = {i: {p: r.get(called[n]) for p, n in there.items()} for i, r in self.rows[mine].items()}
        return State(dict(other.names), {k: dict(p) for k, p in other.props.items()}, rows)

    def contents(self) -> dict[tuple[str, str], dict[str, Any]]:
        """By name, as queries show it."""
        return {
            (self.names[kind], id_): {self.props[kind][p]: row.get(p) for p in self.props[kind]}
            for kind, rows in self.rows.items()
            for id_, row in rows.items()
        }


@dataclass
class Step:
    """One commit of the model."""

    before: State
    after: State
    commit: str
    is_schema: bool


class Apart:
    """The graph and its model: `main`, and `x` which parted from it."""

    def __init__(self, folder: Any, seed: int) -> None:
        self.random = random.Random(seed)
        first = State()
        p = Kind()
        for kind in (p, Kind((p, p))):
            first.names[kind] = "R" if kind.ends else "P"
            first.props[kind] = {Prop("I32"): "a", Prop("String"): "b"}
            first.rows[kind] = {}
        self.graph = og.init(folder, first.text({}), durability="os")
        calm(self.graph)
        self.states = {"main": first}
        self.steps: dict[str, list[Step]] = {"main": [], "x": []}
        for _ in range(4):
            self.write("main")
        self.graph.branches.create("x")
        self.parted = self.states["main"].copy()
        self.states["x"] = self.parted.copy()
        self.steps["main"].clear()

    # ── what happens ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def write(self, branch: str) -> None:
        """Insert, update or delete one entity; inserts go by load, so that all of it is one door."""
        before = self.states[branch]
        after = before.copy()
        kind = self.some(after)
        rows, name = after.rows[kind], after.names[kind]
        id_ = self.random.choice(IDS if kind.ends is None else EDGE_IDS)
        if kind.ends is None and id_ in rows and self.random.random() < 0.2:
            for edge in after.names:
                if edge.ends and kind in edge.ends and after.rows[edge]:
                    return
            del rows[id_]
            deleted = self.graph.mutate(f'query q() {{ delete {name} where k = "{id_}" }}', branch=branch)
            made = deleted.commit
        else:
            chosen = self.random.choice([*after.props[kind], *list(after.props[kind])[-1:] * 2, None])
            old = rows.get(id_, {})
            new = {p: self.value(p) if p is chosen or not old else old.get(p) for p in after.props[kind]}
            data = {after.props[kind][p]: v for p, v in new.items()}
            if kind.ends is None:
                record: dict[str, Any] = {"type": name, "data": {"k": id_, **data}}
            else:
                if any("x" not in after.rows[end] or "y" not in after.rows[end] for end in kind.ends):
                    return
                record = {"edge": name, "from": "x", "to": "y", "data": {"id": id_, **data}}
            rows[id_] = new
            loaded = self.graph.load([record], mode="merge", branch=branch)
            made = loaded.commit if loaded.changed else None
        self.states[branch] = after
        if made is not None:
            self.steps[branch].append(Step(before, after, made.id, False))

    def some(self, state: State) -> Kind:
        """A type: mostly the first, so that much happens to the same things."""
        kinds = list(state.names)
        return kinds[0] if self.random.random() < 0.6 else self.random.choice(kinds)

    def value(self, prop: Prop) -> Any:
        number = self.random.choice((None, 1, 2, 3))
        return None if number is None else {"I32": number, "String": f"s{number}", "Date": f"2024-01-0{number}"}[prop.form]

    def reshape(self, branches: tuple[str, ...]) -> None:
        """One change of the schema, the same one on each of some branches: what it adds is another thing on each."""
        state = self.states[branches[0]]
        kinds = list(state.names)
        kind = self.some(state)
        props = state.props[kind]
        free = [n for n in NAMES if n not in props.values()]
        unused = [n for n in TYPE_NAMES if n not in state.names.values()]
        kept = any(k.ends and kind in k.ends for k in kinds) or kind is kinds[0]
        what = self.random.choice(("add", "add", "add", "rename", "drop", "type", "rename type", "drop type"))
        possible = {"add": free, "rename": free and props, "drop": props, "type": unused, "rename type": unused}
        if not (not kept if what == "drop type" else possible[what]):
            return
        old = self.random.choice(list(props.values())) if props else ""
        new = self.random.choice(unused if "type" in what and unused else free or NAMES)
        form, is_edge, first = self.random.choice(FORMS), self.random.random() < 0.3, self.random.choice(NAMES)
        name = state.names[kind]
        for branch in branches:
            before = self.states[branch]
            after, hints = before.copy(), dict[object, str]()
            there = next(k for k, n in after.names.items() if n == name)
            prop = next((p for p, n in after.props[there].items() if n == old), None)
            match what:
                case "add":
                    after.props[there][Prop(form)] = new
                case "rename" if prop:
                    hints[prop], after.props[there][prop] = old, new
                case "drop" if prop:
                    del after.props[there][prop]
                    for row in after.rows[there].values():
                        row.pop(prop, None)
                case "type":
                    node = next(k for k in after.names if k.ends is None)
                    made = Kind((node, node)) if is_edge else Kind()
                    after.names[made], after.rows[made], after.props[made] = new, {}, {Prop(form): first}
                case "rename type":
                    hints[there], after.names[there] = name, new
                case _:
                    del after.names[there], after.props[there], after.rows[there]
            done = self.graph.apply_schema(after.text(hints), branch=branch, allow_data_loss=True)
            assert done.commit is not None
            self.states[branch] = after
            self.steps[branch].append(Step(before, after, done.commit.id, True))

    # ── what is true then ────────────────────────────────────────────────────────────────────────────────────────────────────

    def same(self, old: State, new: State, base: State) -> list[tuple[Kind | None, Kind | None, dict[Prop, Prop]]]:
        """Which type is which, and which of its properties, new to old."""
        pairs: list[tuple[Kind | None, Kind | None, dict[Prop, Prop]]] = []
        matched: dict[Kind, Kind] = {}
        for kind in sorted(old.names, key=lambda k: k.ends is not None):
            other = kind if kind in new.names else None
            if other is None and kind not in base.names:
                alike = [k for k, n in new.names.items() if k not in base.names and n == old.names[kind]]
                alike = [k for k in alike if self._ends(k) == tuple(matched.get(e, e) for e in self._ends(kind))]
                other = alike[0] if alike else None
            if other is None:
                pairs.append((kind, None, {}))
                continue
            matched[kind] = other
            props = {p: p for p in new.props[other] if p in old.props[kind]}
            known = base.props.get(kind, {})
            for p, name in new.props[other].items():
                for q, called in old.props[kind].items():
                    if p not in props and name == called and p.form == q.form and p not in known and q not in known:
                        props[p] = q
            pairs.append((kind, other, props))
        return pairs + [(None, kind, {}) for kind in new.names if kind not in matched.values()]

    def _ends(self, kind: Kind) -> tuple[Kind, ...]:
        return kind.ends or ()

    def difference(self, old: State, new: State, base: State) -> set[tuple[str, str, str, tuple[str, ...]]]:
        """What `diff` is to say: operation, type, id, properties."""
        told: set[tuple[str, str, str, tuple[str, ...]]] = set()
        for before, after, props in self.same(old, new, base):
            name = new.names[after] if after else old.names[before]  # type: ignore[index]
            first = old.rows[before] if before else {}
            second = new.rows[after] if after else {}
            told |= {("delete", name, id_, ()) for id_ in first.keys() - second.keys()}
            told |= {("insert", name, id_, ()) for id_ in second.keys() - first.keys()}
            if before is None or after is None:
                continue
            gone = [p for p in new.props[after] if p in base.props.get(after, {}) and p not in old.props[before]]
            for id_ in first.keys() & second.keys():
                differ = tuple(
                    sorted(
                        n
                        for p, n in new.props[after].items()
                        if p not in gone and (first[id_].get(props[p]) if p in props else None) != second[id_].get(p)
                    )
                )
                told |= {("update", name, id_, differ)} if differ else set()
        return told

    def combined(self, base: State, ours: State, theirs: State, parted: State, prefer: str | None = None) -> State | None:
        """Ours with what was done between base and theirs, which have one schema.

        Where the two are in each other's way one side is preferred; without that there is no outcome.
        """
        outcome = ours.copy()
        for before, after, props in self.same(base, ours, parted):
            if before is None or after is None:
                continue

            def image(state: State, id_: str) -> dict[Prop, Any] | None:
                row = state.rows[before].get(id_)  # noqa: B023
                return None if row is None else {p: row.get(props[p]) if p in props else None for p in ours.props[after]}  # noqa: B023

            for id_ in base.rows[before].keys() | theirs.rows[before].keys():
                then, back = image(base, id_), image(theirs, id_)
                found = ours.rows[after].get(id_)
                now = None if found is None else {p: found.get(p) for p in ours.props[after]}
                if back == then or now == back:
                    continue
                if now == then:
                    merged = back
                elif now is None or back is None or then is None:
                    if prefer is None:
                        return None
                    merged = now if prefer == "ours" else back
                else:
                    merged = dict(now)
                    for p in now:
                        if back[p] == then[p] or now[p] == back[p]:
                            continue
                        if now[p] != then[p] and prefer is None:
                            return None
                        if now[p] == then[p] or prefer == "theirs":
                            merged[p] = back[p]
                if merged is None:
                    outcome.rows[after].pop(id_, None)
                else:
                    outcome.rows[after][id_] = merged
        return outcome

    def orphans(self, state: State) -> bool:
        """Whether an edge has lost an end."""
        return any(
            kind.ends and rows and any(not {"x", "y"} <= state.rows[end].keys() for end in kind.ends)
            for kind, rows in state.rows.items()
        )


def shown(graph: og.Graph, branch: str | None = None, at: str | None = None) -> dict[tuple[str, str], dict[str, Any]]:
    """What a graph holds, as the model tells it."""
    hidden = ("id", "k", "src", "dst")
    found = contents(graph, branch, at)
    return {
        key: {n: v if v is None or isinstance(v, (int, str)) else str(v) for n, v in row.items() if n not in hidden}
        for key, row in found.items()
    }
