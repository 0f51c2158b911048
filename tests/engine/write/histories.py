"""Random histories of several processes, or of threads of one, told to be serial or not.

A history is a handful of operations for each of a few real processes, drawn from a seed over a domain so small that they get in each
other's way: keyed inserts of nodes and edges, unique values, edges to nodes that others delete, at most one edge of a kind. All processes do their n-th
operation at the same moment. Afterwards the lineage says in which order the commits were made, and a model in plain Python does the
same operations in that order:

* every commit that was acknowledged is in the lineage once, and nothing else is;
* each operation does in the model what it did in the graph, with the same counts;
* an operation that was refused, or found nothing to do, is refused or does nothing at some moment of the history, too;
* in the end graph and model hold the same.

Beside them a process cleans up without any grace, by a clock that is hours ahead or behind: a write whose files it took is refused
(`StalledWrite`) and tried again, and nothing else may come of it.

    python -m tests.engine.write.histories 4711        one history again (the operations are the same, the timing is not)
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from tests import children
from tests.storage.aging import MovedClock

import omnigraph as og
from omnigraph.engine.write.receipt import Receipt
from omnigraph.errors import StalledWrite
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.reclaiming.reclaim import reclaim

SCHEMA = """
node Person { name: String @key  mail: String? @unique  age: I32? }
edge Knows: Person -> Person { tag: String }
edge Leads: Person -> Person @card(0..1) { tag: String }
edge Likes: Person -> Person @key(src, dst) { tag: String }
"""
PROCESSES = 3
ROUNDS = 3
RETRIES = 2
"""Times an operation that was overtaken is tried again."""

_NAMES = "abcdef"
_MAILS = "uvw"
_FIRST: tuple[str, ...] = ("a", "b", "c", "d")
"""People there are at the beginning."""


class Refused(Exception):
    """The model does not allow it."""


@dataclass(frozen=True)
class Operation:
    """One operation: a kind, and what it is about."""

    kind: str
    name: str
    other: str = ""
    value: int = 0
    mail: str | None = None
    tag: str = ""

    def run(self, graph: og.Graph, branch: str) -> Receipt | og.LoadResult | None:
        """Do it to a graph. None where a commit says all there is to say (loads of whole entities)."""
        if self.kind in _PARTS:
            return self._in_part(graph, branch)
        if self.kind in _TRANSACTIONS:
            return self._together(graph, branch)
        if self.kind in _LOADS:
            mode, edge = _LOADS[self.kind]
            person = {"type": "Person", "data": {"name": self.name, "age": self.value}}
            link = {"edge": edge, "from": self.name, "to": self.other, "data": {"tag": self.tag}}
            graph.load([person, link] if edge == "Knows" else [link], mode=mode, branch=branch, message=self.tag)
            return None
        params = {"n": self.name, "o": self.other, "v": self.value, "m": self.mail, "t": self.tag}
        return graph.mutate(
            f"query q($n: String, $o: String, $v: I32, $m: String?, $t: String) {{ {_TEXTS[self.kind]} }}",
            params,
            branch=branch,
            message=self.tag,
        )

    def _in_part(self, graph: og.Graph, branch: str) -> og.LoadResult:
        """Loads that change a part of an entity, or delete."""
        match self.kind:
            case "patch" | "update":
                said = {"mail": self.mail} if self.kind == "patch" else {"age": self.value}
                data = [{"type": "Person", "data": {"name": self.name, **said}}]
                return graph.load(data, mode=self.kind, branch=branch, message=self.tag)
            case "remove":
                return graph.delete({"Person": [self.name]}, branch=branch, message=self.tag)
            case _:
                gone = {"op": "delete", "type": "Person", "data": {"name": self.name}}
                come = {"op": "upsert", "type": "Person", "data": {"name": self.other, "age": self.value}}
                return graph.load([gone, come], branch=branch, message=self.tag)

    def _together(self, graph: og.Graph, branch: str) -> Receipt:
        """Several changes as one commit, of which later ones see what came before."""
        about = {"n": self.name}
        with graph.transaction(branch=branch, message=self.tag) as t:
            if self.kind == "grow older":
                found = t.query("query q($n: String) { match { $p: Person { name: $n } } return { $p.age } }", about).rows
                if found and found[0]["p.age"] is not None:
                    older = {**about, "v": found[0]["p.age"] + 1}
                    t.mutate("query q($n: String, $v: I32) { update Person set { age: $v } where name = $n }", older)
            else:
                t.mutate("query q($n: String) { delete Person where name = $n }", about)
                t.put("Person", {"name": self.other, "age": self.value})
                t.put_edge("Likes", self.other, self.other, {"tag": self.tag})
        return t.receipt


K = TypeVar("K")
V = TypeVar("V")

_PARTS = ("patch", "update", "remove", "replace")
_TRANSACTIONS = ("grow older", "succeed")
_LOADS: dict[str, tuple[Literal["append", "merge"], str]] = {
    "append": ("append", "Knows"),
    "append like": ("append", "Likes"),
    "merge like": ("merge", "Likes"),
}
_TEXTS = {
    "put": "insert Person { name: $n, mail: $m, age: $v }",
    "put and know": "insert Person { name: $n, age: $v } insert Knows { from: $n, to: $o, tag: $t }",
    "know": "insert Knows { from: $n, to: $o, tag: $t }",
    "lead": "insert Leads { from: $n, to: $o, tag: $t }",
    "like": "insert Likes { from: $n, to: $o, tag: $t }",
    "mail": "update Person set { mail: $m } where name = $n",
    "age": "update Person set { age: $v } where age < $v",
    "leave": "delete Person where name = $n",
    "young leave": "delete Person where age < $v",
    "forget": "delete Knows where from = $n",
    "stop leading": "delete Leads where from = $n",
    "stop liking": "delete Likes where to = $o",
    "unlike": "delete Likes where from = $n and to = $o",
    "like more": "update Likes set { tag: $t } where from = $n and to = $o",
    "like all more": "update Likes set { tag: $t } where from = $n or to = $o",
    "like back": "match { $a: Person { name: $n }  $a likes $b } insert Likes { from: $b, to: $a, tag: $t }",
    "like by pattern": "match { $a: Person { name: $n }  $a $l:likes $b  $b.age < $v } update $l set { tag: $t }",
    "unlike by pattern": "match { $a: Person  $a $l:likes $b  $b.age < $v } delete $l",
}
_WEIGHTS = {
    "put": 3,
    "put and know": 2,
    "know": 4,
    "lead": 4,
    "mail": 3,
    "age": 1,
    "leave": 3,
    "young leave": 1,
    "forget": 1,
    "stop leading": 1,
    "append": 2,
    "like": 4,
    "append like": 2,
    "merge like": 1,
    "stop liking": 1,
    "unlike": 2,
    "like more": 2,
    "like all more": 1,
    "like back": 1,
    "like by pattern": 1,
    "unlike by pattern": 1,
    "patch": 3,
    "update": 2,
    "remove": 2,
    "replace": 2,
    "grow older": 3,
    "succeed": 2,
}


def drawn(seed: int, writers: int = PROCESSES) -> list[list[Operation]]:
    """The operations of each process."""
    rng = random.Random(seed)
    plans = []
    for process in range(writers):
        plan = []
        for number in range(ROUNDS):
            kind = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
            mail = rng.choice([*_MAILS, None])
            plan.append(Operation(kind, rng.choice(_NAMES), rng.choice(_NAMES), rng.randrange(5), mail, f"{process}.{number}"))
        plans.append(plan)
    return plans


def _different(old: dict[K, V], new: dict[K, V]) -> int:
    return sum(old.get(key) != new.get(key) for key in old.keys() | new.keys())


def _counts(state: Model, operation: Operation) -> tuple[int, int] | None:
    """What an operation affects next to a state; None: it is refused there."""
    try:
        return state.copy().apply(operation)
    except Refused:
        return None


# ── the model ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Model:
    """The graph in plain Python. Edges by their tag, which no two edges share."""

    people: dict[str, tuple[str | None, int | None]] = field(default_factory=lambda: dict.fromkeys(_FIRST, (None, None)))
    knows: dict[str, tuple[str, str]] = field(default_factory=dict)
    leads: dict[str, tuple[str, str]] = field(default_factory=dict)
    likes: dict[tuple[str, str], str] = field(default_factory=dict)
    """By their ends, which are their key: the tag."""

    def copy(self) -> Model:
        return Model(dict(self.people), dict(self.knows), dict(self.leads), dict(self.likes))

    def apply(self, operation: Operation) -> tuple[int, int]:
        """Do an operation; how many nodes and edges it affected. Raises `Refused` and changes nothing."""
        after = self.copy()
        counts = after._do(operation)
        if operation.kind in _TRANSACTIONS:
            counts = after.different_from(self)
        after.check()
        self.people, self.knows, self.leads, self.likes = after.people, after.knows, after.leads, after.likes
        return counts

    def different_from(self, other: Model) -> tuple[int, int]:
        """Nodes and edges that are not the same in both."""
        edges = _different(other.knows, self.knows) + _different(other.leads, self.leads) + _different(other.likes, self.likes)
        return _different(other.people, self.people), edges

    def _do(self, op: Operation) -> tuple[int, int]:
        match op.kind:
            case "put":
                self.people[op.name] = (op.mail, op.value)
                return 1, 0
            case "put and know" | "append":
                if op.kind == "append" and op.name in self.people:
                    raise Refused("exists")
                self.people[op.name] = (None, op.value)
                self.knows[op.tag] = (op.name, op.other)
                return 1, 1
            case "know" | "lead":
                (self.knows if op.kind == "know" else self.leads)[op.tag] = (op.name, op.other)
                return 0, 1
            case "like" | "append like" | "merge like":
                if op.kind == "append like" and (op.name, op.other) in self.likes:
                    raise Refused("exists")
                self.likes[op.name, op.other] = op.tag
                return 0, 1
            case "stop liking" | "unlike" | "unlike by pattern":
                disliked = [ends for ends in self.likes if self._is_meant(op, *ends)]
                for ends in disliked:
                    del self.likes[ends]
                return 0, len(disliked)
            case "like more" | "like all more" | "like by pattern":
                liked = [ends for ends in self.likes if self._is_meant(op, *ends)]
                self.likes |= dict.fromkeys(liked, op.tag)
                return 0, len(liked)
            case "like back":
                back = [(target, source) for source, target in self.likes if source == op.name]
                self.likes |= dict.fromkeys(back, op.tag)
                return 0, len(back)
            case "patch":
                self.people[op.name] = (op.mail, self.people.get(op.name, (None, None))[1])
                return 1, 0
            case "update":
                if op.name not in self.people:
                    raise Refused("missing")
                self.people[op.name] = (self.people[op.name][0], op.value)
                return 1, 0
            case "remove" | "replace":
                leaves = {op.name} & self.people.keys() - ({op.other} if op.kind == "replace" else set())
                edges_gone = self._remove(leaves)
                if op.kind == "replace":
                    self.people[op.other] = (None, op.value)
                return len(leaves) + (op.kind == "replace"), edges_gone
            case "grow older":
                mail, age = self.people.get(op.name, (None, None))
                if age is None:
                    return 0, 0
                self.people[op.name] = (mail, age + 1)
                return 1, 0
            case "succeed":
                leaves = {op.name} & self.people.keys()
                edges_gone = self._remove(leaves)
                self.people[op.other] = (None, op.value)
                self.likes[op.other, op.other] = op.tag
                return len(leaves) + 1, edges_gone + 1
            case "mail":
                found = [op.name] if op.name in self.people else []
                self.people |= {name: (op.mail, self.people[name][1]) for name in found}
                return len(found), 0
            case "age":
                found = [name for name, (_, age) in self.people.items() if age is not None and age < op.value]
                self.people |= {name: (self.people[name][0], op.value) for name in found}
                return len(found), 0
            case "leave" | "young leave":
                found = [
                    name
                    for name, (_, age) in self.people.items()
                    if (name == op.name if op.kind == "leave" else age is not None and age < op.value)
                ]
                return len(found), self._remove(set(found))
            case "forget" | "stop leading":
                edges = self.knows if op.kind == "forget" else self.leads
                gone = [tag for tag, (source, _) in edges.items() if source == op.name]
                for tag in gone:
                    del edges[tag]
                return 0, len(gone)
            case _:
                raise AssertionError(op.kind)

    def _is_meant(self, op: Operation, source: str, target: str) -> bool:
        """Whether an edge from one to another is what an operation is about."""
        age = self.people[target][1]
        younger = age is not None and age < op.value
        match op.kind:
            case "stop liking":
                return target == op.other
            case "unlike" | "like more":
                return (source, target) == (op.name, op.other)
            case "like all more":
                return source == op.name or target == op.other
            case "like by pattern":
                return source == op.name and younger
            case _:
                return younger

    def _remove(self, names: set[str]) -> int:
        for name in names:
            del self.people[name]
        count = 0
        for edges in (self.knows, self.leads):
            gone = [tag for tag, ends in edges.items() if names & set(ends)]
            count += len(gone)
            for tag in gone:
                del edges[tag]
        unliked = [ends for ends in self.likes if names & set(ends)]
        for ends in unliked:
            del self.likes[ends]
        return count + len(unliked)

    def check(self) -> None:
        """Raise unless every rule of the schema holds."""
        mails = Counter(mail for mail, _ in self.people.values() if mail is not None)
        if any(count > 1 for count in mails.values()):
            raise Refused("unique")
        if any(end not in self.people for ends in self._ends() for end in ends):
            raise Refused("endpoint")
        if any(count > 1 for count in Counter(source for source, _ in self.leads.values()).values()):
            raise Refused("cardinality")

    def _ends(self) -> Iterator[tuple[str, str]]:
        yield from self.knows.values()
        yield from self.leads.values()
        yield from self.likes

    @classmethod
    def of(cls, graph: og.Graph, branch: str) -> Model:
        """What a graph holds."""
        view = graph._view(branch)
        tables = {}
        for name in ("Person", "Knows", "Leads", "Likes"):
            type_ = view.catalog.nodes.get(name) or view.catalog.edges[name]
            rows = view.workspace.stored(view.snapshot, type_).table.read().to_pylist()
            assert len({row["id"] for row in rows}) == len(rows), "an id stands in a table once"
            tables[name] = rows
        people = {row["name"]: (row["mail"], row["age"]) for row in tables["Person"]}
        knows, leads = ({row["tag"]: (row["src"], row["dst"]) for row in tables[name]} for name in ("Knows", "Leads"))
        assert [len(knows), len(leads), len(people)] == [len(tables[n]) for n in ("Knows", "Leads", "Person")], "nothing twice"
        likes = {(row["src"], row["dst"]): row["tag"] for row in tables["Likes"]}
        assert all(row["id"] == f'["{row["src"]}","{row["dst"]}"]' for row in tables["Likes"]), "ids follow from keys"
        return cls(people, knows, leads, likes)


# ── processes ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Outcome:
    """What became of an operation."""

    operation: Operation
    error: str | None
    counts: tuple[int, int] | None
    changed: bool
    overtaken: int
    """Times it lost against somebody else and was tried again."""


def _work(connection: Connection, barrier: Barrier) -> None:
    """A process: takes (place, branch, operations), does them round by round with the others, answers with outcomes."""
    graphs: dict[str, og.Graph] = {}
    while (asked := connection.recv()) is not None:
        place, branch, operations = asked
        if place not in graphs:
            graphs = {place: og.open(place, durability="os")}
            graphs[place]._reconciler.start = lambda *_: None  # type: ignore[method-assign]
        found = []
        for operation in operations:
            barrier.wait(60)
            found.append(_outcome(graphs[place], branch, operation))
        connection.send(found)


def _outcome(graph: og.Graph, branch: str, operation: Operation) -> Outcome:
    overtaken = 0
    while True:
        try:
            receipt = operation.run(graph, branch)
        except (og.ReadSetChanged, StalledWrite) as error:
            if overtaken < RETRIES:
                overtaken += 1
                continue
            return Outcome(operation, error.code, None, False, overtaken)
        except og.GraphError as error:
            return Outcome(operation, error.code, None, False, overtaken)
        if receipt is None:
            return Outcome(operation, None, (1 if operation.kind == "append" else 0, 1), True, overtaken)
        if isinstance(receipt, og.LoadResult):
            counts = receipt.rows + sum(receipt.deleted.values()), sum(receipt.cascaded.values())
            return Outcome(operation, None, counts, receipt.changed, overtaken)
        return Outcome(operation, None, (receipt.affected_nodes, receipt.affected_edges), receipt.commit is not None, overtaken)


def _clean(connection: Connection) -> None:
    """A process that deletes whatever nobody has named yet, all the time: its clock is hours ahead, and it grants no grace.

    It rests four times as long as it works, whatever it hears meanwhile, or nothing else would get done.
    """
    clock, place = MovedClock(), ""
    while True:
        while connection.poll():
            asked = connection.recv()
            if asked is None:
                return
            place = asked
        begun = time.monotonic()
        if place:
            clock.moved = timedelta(hours=random.choice([-2, 0, 2, 26]))
            reclaim(
                GraphStore.open(Place.at(place, durability=Durability.OS), clock=clock),
                keep=None,
                older_than=None,
                grace=timedelta(0),
                dry_run=False,
            )
        time.sleep(4 * (time.monotonic() - begun) + 0.01)


class Workers(Protocol):
    """Those who run a history."""

    count: int

    def run(self, place: str, branch: str, plans: Sequence[Sequence[Operation]]) -> list[list[Outcome]]:
        """The outcomes of each."""


class Threads:
    """Threads that share one open graph: what they do at the same moment shares a swap, as far as it goes together."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._graphs: dict[str, og.Graph] = {}

    def run(self, place: str, branch: str, plans: Sequence[Sequence[Operation]]) -> list[list[Outcome]]:
        """The outcomes of each thread."""
        if place not in self._graphs:
            self._graphs = {place: og.open(place, durability="os")}
            self._graphs[place]._reconciler.start = lambda *_: None  # type: ignore[method-assign]
        graph, barrier = self._graphs[place], threading.Barrier(self.count)

        def work(plan: Sequence[Operation]) -> list[Outcome]:
            found = []
            for operation in plan:
                barrier.wait(60)
                found.append(_outcome(graph, branch, operation))
            return found

        with ThreadPoolExecutor(self.count) as pool:
            return list(pool.map(work, plans))


class Crew:
    """A few processes that run one history after the other, and one that cleans up beside them."""

    count = PROCESSES

    def __init__(self) -> None:
        self._barrier = children.CONTEXT.Barrier(PROCESSES)
        self._ends: list[Connection] = []
        self._processes = []
        for _ in range(PROCESSES):
            ours, theirs = children.CONTEXT.Pipe()
            self._processes.append(children.started(_work, theirs, self._barrier))
            theirs.close()
            self._ends.append(ours)
        self._cleaner, theirs = children.CONTEXT.Pipe()
        self._processes.append(children.started(_clean, theirs))
        theirs.close()

    def run(self, place: str, branch: str, plans: Sequence[Sequence[Operation]]) -> list[list[Outcome]]:
        """The outcomes of each process."""
        self._cleaner.send(place)
        for end, plan in zip(self._ends, plans, strict=True):
            end.send((place, branch, plan))
        return [end.recv() for end in self._ends]

    def dismiss(self) -> None:
        """Let them go."""
        for end in (*self._ends, self._cleaner):
            end.send(None)
        for process in self._processes:
            process.join(30)
            assert process.exitcode == 0


@contextmanager
def crew() -> Iterator[Crew]:
    """Processes for as long as the block runs."""
    found = Crew()
    try:
        yield found
    finally:
        found.dismiss()


# ── judging ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Tally:
    """What happened in some histories."""

    operations: int = 0
    commits: int = 0
    refused: int = 0
    overtaken: int = 0
    rebased: int = 0
    """Commits whose place in the line is not the one they were prepared for: somebody else came first in the same round."""


class Histories:
    """Runs histories on branches of one graph."""

    def __init__(self, folder: Path, workers: Workers) -> None:
        self.graph = og.init(folder / "graph", schema=SCHEMA, durability="os")
        self.graph.load([{"type": "Person", "data": {"name": name}} for name in _FIRST])
        self._workers = workers
        self.tally = Tally()

    def run(self, seed: int) -> None:
        """One history. Raises `AssertionError` unless it could have happened one operation after the other."""
        branch = f"h{seed}"
        self.graph.branches.create(branch)
        outcomes = self._workers.run(self.graph._store.place.uri, branch, drawn(seed, self._workers.count))
        try:
            self._judge(branch, outcomes)
        except AssertionError as error:
            told = "\n".join(f"{o.operation} -> {o.error or (o.counts, o.changed)}" for plan in outcomes for o in plan)
            raise AssertionError(f"history {seed} is not serial: {error}\n{told}\nlineage: {self._lineage(branch)}") from error

    def _lineage(self, branch: str) -> list[str]:
        """The tags of the operations behind the commits of a branch, oldest first."""
        first = self.graph.commits(limit=1)[0].id
        found = []
        for commit in self.graph.commits(branch):
            if commit.id == first:
                break
            found.append(commit.message or "")
        return found[::-1]

    def _judge(self, branch: str, outcomes: list[list[Outcome]]) -> None:
        by_tag = {o.operation.tag: o for plan in outcomes for o in plan}
        line = self._lineage(branch)
        landed = {tag for tag, o in by_tag.items() if o.changed}
        assert Counter(line) == Counter(landed), "acknowledged commits are in the lineage, each once, and no others"
        for process, plan in enumerate(outcomes):
            own = [o.operation.tag for o in plan if o.changed]
            assert [tag for tag in line if tag.startswith(f"{process}.")] == own, "each process sees its own writes in order"
        model = Model()
        states = [model.copy()]
        for tag in line:
            done = by_tag[tag]
            try:
                counts = model.apply(done.operation)
            except Refused as refused:
                raise AssertionError(f"{tag} was committed against the rule {refused}") from None
            right = [counts]
            if done.operation.kind in _TRANSACTIONS:  # it counts next to the state that it began with
                right += (some for state in states if (some := _counts(state, done.operation)) is not None)
            assert done.counts in right, f"{tag} counted {done.counts}, not {counts}"
            states.append(model.copy())
        for outcome in by_tag.values():
            if not outcome.changed:
                self._explain(outcome, states)
        found = Model.of(self.graph, branch)
        found.check()
        assert found == model, f"the graph holds {found}, the model {model}"
        self._count(line, by_tag)

    def _explain(self, outcome: Outcome, states: list[Model]) -> None:
        """What did not happen was not to happen at some moment."""
        operation, error = outcome.operation, outcome.error
        if error == og.ReadSetChanged.code:
            inserts = ("put", "put and know", "know", "lead", "like", *_LOADS)
            assert operation.kind not in inserts, f"{operation.tag} searched nothing, and cannot have been overtaken"
            return
        idle, refused = set[tuple[int, int]](), False
        for state in states:
            after = state.copy()
            try:
                counts = after.apply(operation)
            except Refused:
                refused = True
                continue
            if after == state:  # nothing was found, or it was as it is to be
                idle.add(counts)
        if error is None:
            assert outcome.counts in idle, f"{operation.tag} always had something to do"
        else:
            assert error in (og.ValidationError.code, og.KeyConflict.code), f"{operation.tag}: {error}"
            assert refused, f"{operation.tag} was refused ({error}) and never broke a rule"

    def _count(self, line: list[str], by_tag: dict[str, Outcome]) -> None:
        rounds = [int(tag.split(".")[1]) for tag in line]
        self.tally.operations += len(by_tag)
        self.tally.commits += len(line)
        self.tally.refused += sum(o.error is not None for o in by_tag.values())
        self.tally.overtaken += sum(o.overtaken for o in by_tag.values())
        self.tally.rebased += sum(first == second for first, second in pairwise(rounds))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch, crew() as those:
        histories = Histories(Path(scratch), those)
        for number in map(int, sys.argv[1:]):
            histories.run(number)
            print(f"history {number} is serial: {histories.tally}")
