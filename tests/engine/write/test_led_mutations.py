"""Quick mutations that whoever leads a group prepares: which those are, and that nobody can tell who prepared theirs."""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest

import omnigraph as og
from omnigraph.catalog import logical as lg
from omnigraph.engine import writing
from omnigraph.engine.history.repeats import Keyed, Repeats
from omnigraph.engine.planning.prepared import prepare
from omnigraph.engine.write import alike
from omnigraph.engine.write.mutate import stage
from omnigraph.engine.write.quick import is_quick
from omnigraph.language import Source
from omnigraph.storage.commits.manifest import Manifest, ManifestState
from omnigraph.storage.commits.publisher import Publisher
from omnigraph.storage.commits.waiting import Prepare

SCHEMA = """
node Person { name: String @key  age: I32?  email: String? @unique }
node Pair { a: String  b: I32  note: String?  @key(a, b) }
node Note { text: String }
node Photo { name: String @key  content: Blob? }
edge Knows: Person -> Person @key(src, dst) { since: I32? }
edge Likes: Person -> Person
"""
ADD = "query q($n: String, $a: I32) { insert Person { name: $n, age: $a } }"
EMAIL = "query q($n: String, $e: String) { insert Person { name: $n, email: $e } }"
SET = "query q($n: String, $a: I32) { update Person set { age: $a } where name = $n }"
DROP = "query q($n: String) { delete Person where name = $n }"
KNOWS = "query q($a: String, $b: String) { insert Knows { from: $a, to: $b } }"
AGES = "query q() { match { $p: Person } return { $p.name as n, $p.age as a } }"

QUICK = {
    'insert Person { name: "a" }': True,
    'insert Note { text: "a" }': True,
    'insert Knows { from: "a", to: "b" }': True,
    'update Person set { age: 1 } where name = "a"': True,
    'update Person set { age: 1 } where "a" = name': True,
    'update Person set { age: 1 } where name = "a" and age > 3': True,
    'delete Person where name = "a"': True,
    'update Pair set { note: "x" } where a = "a" and b = 1': True,
    'delete Knows where from = "a" and to = "b"': True,
    " ".join(f'insert Person {{ name: "{n}" }}' for n in range(4)): True,
    " ".join(f'insert Person {{ name: "{n}" }}' for n in range(5)): False,
    'update Pair set { note: "x" } where a = "a"': False,
    'update Person set { age: 1 } where name = "a" or age = 1': False,
    'update Person set { age: 1 } where name != "a"': False,
    "update Person set { age: 1 } where age = 1": False,
    'delete Note where text = "a"': False,
    'delete Knows where from = "a"': False,
    'delete Likes where from = "a" and to = "b"': False,
    'insert Photo { name: "a" }': False,
    'delete Photo where name = "a"': False,
    'match { $p: Person { name: "a" } } update $p set { age: 1 }': False,
    'match { $p: Person } insert Note { text: "a" }': False,
}


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "g", SCHEMA, durability="os")


@pytest.mark.parametrize("statements", QUICK)
def test_what_is_quick(g: og.Graph, statements: str) -> None:
    catalog = g._view().catalog
    query = prepare(Source(f"query q() {{ {statements} }}", "<test>"), None, catalog).query
    assert isinstance(query, lg.MutationQuery)
    assert is_quick(query, catalog) is QUICK[statements]


def together(
    g: og.Graph,
    calls: list[Callable[[], object]],
    monkeypatch: pytest.MonkeyPatch,
    first: Callable[[], object] | None = None,
) -> list[object]:
    """What calls of as many threads give or raise, all of which wait while somebody else publishes."""
    publish, queued, waiting = Publisher._publish_batch, Event(), list[int]()

    def later(self: Publisher, batch: list[object]) -> None:
        waiting.append(len(batch))
        if len(waiting) == 1:  # the first is alone until the others stand behind it
            queued.wait(30)
        publish(self, batch)  # type: ignore[arg-type]

    def outcome(call: Callable[[], object]) -> object:
        try:
            return call()
        except og.GraphError as error:
            return error

    monkeypatch.setattr(Publisher, "_publish_batch", later)
    publisher = g._store.publisher("main")
    with ThreadPoolExecutor(len(calls) + 1) as pool:
        ahead = pool.submit(first or (lambda: g.mutate(ADD, {"n": "first", "a": len(g.commits())})))
        while not waiting and not ahead.done():
            pass
        found = [pool.submit(outcome, call) for call in calls]
        while len(publisher._queue) + sum(one.done() for one in found) < len(calls):  # some fail before they stand there
            pass
        queued.set()
        ahead.result()
        done = [one.result() for one in found]
    monkeypatch.undo()
    return done


def test_everybody_hears_of_their_own(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    head = g.mutate(ADD, {"n": "ada", "a": 1}).commit
    assert head is not None
    g.mutate(EMAIL, {"n": "eve", "e": "taken"})
    calls: dict[str, Callable[[], object]] = {
        "insert": lambda: g.mutate(ADD, {"n": "bob", "a": 2}, actor="agent-1", message="hello"),
        "insert what is there": lambda: g.mutate(EMAIL, {"n": "eve", "e": "taken"}),
        "take an e-mail": lambda: g.mutate(EMAIL, {"n": "dan", "e": "taken"}),
        "a number that is none": lambda: g.mutate(ADD, {"n": "x", "a": "one"}),
        "nobody": lambda: g.mutate(KNOWS, {"a": "ada", "b": "nobody"}),
        "after a commit of before": lambda: g.mutate(ADD, {"n": "y", "a": 1}, if_commit=head),
        "update": lambda: g.mutate(SET, {"n": "ada", "a": 10}),
        "update nobody": lambda: g.mutate(SET, {"n": "nobody", "a": 10}),
        "edge": lambda: g.mutate(KNOWS, {"a": "ada", "b": "eve"}),
        "put": lambda: g.put("Person", {"name": "pat", "age": 5}),
    }
    found = dict(zip(calls, together(g, list(calls.values()), monkeypatch), strict=True))
    kinds = {name: type(outcome) for name, outcome in found.items()}
    assert kinds == {
        **dict.fromkeys(("insert", "insert what is there", "update", "update nobody", "edge", "put"), og.Receipt),
        **dict.fromkeys(("take an e-mail", "nobody"), og.ValidationError),
        "a number that is none": og.ParameterError,
        "after a commit of before": og.PreconditionFailed,
    }
    insert = found["insert"]
    assert isinstance(insert, og.Receipt)
    assert insert.commit is not None
    assert (insert.affected_nodes, insert.commit.actor, insert.commit.message) == (1, "agent-1", "hello")
    assert [r.commit for r in (found["insert what is there"], found["update nobody"]) if isinstance(r, og.Receipt)] == [None] * 2
    assert {r["n"]: r["a"] for r in g.query(AGES).rows} == {"first": 3, "ada": 10, "eve": None, "bob": 2, "pat": 5}
    made = [r.commit.id for r in found.values() if isinstance(r, og.Receipt) and r.commit is not None]
    assert {c.id for c in g.commits(limit=4)} == set(made)
    assert g.verify(content=True).ok


def test_of_several_who_want_the_same(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    found = together(g, [lambda n=n: g.mutate(ADD, {"n": "one", "a": n}) for n in range(8)], monkeypatch)  # type: ignore[misc]
    assert all(isinstance(outcome, og.Receipt) and outcome.commit is not None for outcome in found), found
    assert len(g.commits()) == 1 + 1 + 8  # each replaced the one before, as one after the other would have
    calls: list[Callable[[], object]] = [lambda n=n: g.mutate(SET, {"n": "one", "a": 100 + n}) for n in range(8)]  # type: ignore[misc]
    assert [type(outcome) for outcome in together(g, calls, monkeypatch)] == [og.Receipt] * 8  # one after the other
    assert len(g.commits()) == 1 + 1 + 8 + 1 + 8
    assert g.verify(content=True).ok


def test_who_relies_on_another_of_the_group_sees_what_it_did(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    g.mutate(ADD, {"n": "ada", "a": 1})
    g.mutate(ADD, {"n": "bob", "a": 1})
    more = "query q($n: String) { update Person set { age: age + 1 } where name = $n }"
    calls: list[Callable[[], object]] = [lambda: g.mutate(more, {"n": "ada"})] * 12
    calls += [lambda: g.mutate(DROP, {"n": "bob"})] * 3 + [lambda: g.put("Person", {"name": "ada", "email": "a@b"}, patch=True)]
    found = together(g, calls, monkeypatch)
    assert {type(outcome) for outcome in found} == {og.Receipt}
    assert sorted(outcome.affected_nodes for outcome in found[12:15] if isinstance(outcome, og.Receipt)) == [0, 0, 1]
    assert {r["n"]: r["a"] for r in g.query(AGES).rows if r["n"] != "first"} == {"ada": 13}
    ada = g.get("Person", "ada")
    assert ada is not None
    assert ada["email"] == "a@b"
    assert g.verify(content=True).ok


def test_a_group_looks_at_the_branch_once(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(20):
        g.mutate(ADD, {"n": f"before {n}", "a": 1})
    looks: list[int] = []
    load = Manifest.load

    def looked(self: Manifest) -> ManifestState:
        looks.append(1)
        return load(self)

    monkeypatch.setattr(Manifest, "load", looked)
    barrier = Barrier(16)

    def write(who: int) -> None:
        barrier.wait()
        for n in range(20):
            g.mutate(ADD, {"n": f"{who} {n}", "a": n})

    before = g.commits(limit=1)[0].number
    looks.clear()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(16)))
    monkeypatch.undo()
    assert g.commits(limit=1)[0].number == before + 320
    assert len(looks) < 320  # two for each swap: to prepare on, and to publish on


def test_a_branch_that_somebody_else_deleted_and_made_again(g: og.Graph) -> None:
    g.branches.create("agent")
    g.mutate(ADD, {"n": "before", "a": 1}, branch="agent")
    with og.open(g.uri) as other:
        other.branches.delete("agent")
        with pytest.raises(og.NotFound, match="agent"):
            g.mutate(ADD, {"n": "nowhere", "a": 1}, branch="agent")
        other.branches.create("agent")
    assert g.mutate(ADD, {"n": "after", "a": 1}, branch="agent").commit is not None
    assert [r["n"] for r in g.query(AGES, branch="agent").rows] == ["after"]


def test_a_schema_that_somebody_else_changed(g: og.Graph) -> None:
    g.mutate(ADD, {"n": "before", "a": 1})
    with og.open(g.uri) as other:
        other.apply_schema(SCHEMA.replace("age: I32?", 'years: I32? @rename_from("age")') + "\nnode City { name: String @key }")
    assert g.mutate('query q() { insert City { name: "Paris" } }').commit is not None
    with pytest.raises(og.TypeCheckError, match="age"):
        g.mutate(ADD, {"n": "after", "a": 1})
    assert g.mutate(ADD.replace("age:", "years:"), {"n": "after", "a": 1}).commit is not None


def test_refusals_are_those_of_every_mutation(g: og.Graph) -> None:
    with pytest.raises(og.NotFound, match="nowhere"):
        g.mutate(ADD, {"n": "a", "a": 1}, branch="nowhere")
    with pytest.raises(og.NotFound, match="`other`"):
        g.mutate(ADD, {"n": "a", "a": 1}, name="other")
    with pytest.raises(og.ParameterError):
        g.mutate(ADD, {"n": "a"})
    with pytest.raises(og.UsageError, match="only reads"):
        g.mutate(AGES)
    with og.open(g.uri, read_only=True) as reader, pytest.raises(og.UsageError, match="read-only"):
        reader.mutate(ADD, {"n": "a", "a": 1})
    assert len(g.commits()) == 1


class Asking(dict[str, object]):
    """Parameters that write to the graph themselves when somebody looks at them."""

    def __init__(self, g: og.Graph, **given: object) -> None:
        super().__init__(given)
        self._g = g
        self.looks = 0

    def _write(self) -> None:
        self.looks += 1
        if self.looks <= 3:
            self._g.mutate(ADD, {"n": f"of a look {self.looks}", "a": 1})

    def __getitem__(self, name: str) -> object:
        self._write()
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self._write()
        return super().__contains__(name)

    def items(self):  # type: ignore[no-untyped-def]
        self._write()
        return super().items()


def test_what_a_caller_gives_is_looked_at_in_its_own_thread(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Asking(g, n="asking", a=7)
    g.mutate(ADD, asking)
    g.put("Person", Asking(g, name="put", age=8))
    found = {r["n"]: r["a"] for r in g.query(AGES).rows}
    assert (found["asking"], found["put"]) == (7, 8)


def test_what_a_caller_changes_afterwards_does_not_matter(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [{"n": f"p{n}", "a": n} for n in range(8)]
    publish = Publisher.publish_prepared

    def later(self: Publisher, prepare: Prepare) -> og.Commit | None:
        for some in given:
            some["a"] = -1
        return publish(self, prepare)

    monkeypatch.setattr(Publisher, "publish_prepared", later)
    g.mutate(ADD, given[3])
    assert [(r["n"], r["a"]) for r in g.query(AGES).rows] == [("p3", 3)]


@pytest.mark.parametrize("way", ["insert", "update", "put"])
def test_a_key_that_many_give_at_once_is_written_once(g: og.Graph, way: str) -> None:
    g.mutate(ADD, {"n": "one", "a": 0})
    threads, barrier = 8, Barrier(8)
    calls: dict[str, Callable[[str], og.Receipt]] = {
        "insert": lambda key: g.mutate('query q() { insert Note { text: "x" } }', idempotency_key=key),
        "update": lambda key: g.mutate(
            'query q() { update Person set { age: age + 1 } where name = "one" }', idempotency_key=key
        ),
        "put": lambda key: g.put("Note", {"text": "x"}, idempotency_key=key),
    }

    def write(key: str) -> str:
        barrier.wait()
        made = calls[way](key).commit
        assert made is not None
        return made.id

    for number in range(10):
        with ThreadPoolExecutor(threads) as pool:
            assert len(set(pool.map(write, [f"key {number}"] * threads))) == 1
    assert len(g.commits()) == 2 + 10
    if way == "update":
        assert [r["a"] for r in g.query(AGES).rows] == [10]


def test_a_key_that_was_written_after_it_was_looked_for(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier, done = Repeats.earlier, list[og.Receipt]()

    def slow(self: Repeats, keyed: Keyed) -> og.Commit | None:
        found = earlier(self, keyed)
        if not done:
            monkeypatch.setattr(Repeats, "earlier", earlier)
            done.append(g.put("Note", {"text": "x"}, idempotency_key="key"))
        return found

    monkeypatch.setattr(Repeats, "earlier", slow)
    again = g.put("Note", {"text": "x"}, idempotency_key="key").commit
    assert again is not None
    assert done[0].commit == again
    assert len(g.commits()) == 2


INTERRUPTED = """
import os, random, signal, sys, threading, time
import omnigraph as og

g = og.open(sys.argv[1], durability="os")
update = 'query q($a: I32) { update Person set { age: $a } where name = "one" }'
g.mutate(update, {"a": 1})  # what is imported for the first write is: an interrupt during an import leaves Python's lock of it
written, last = [0], [time.monotonic()]

def write():
    while True:
        try:
            g.mutate(update, {"a": random.randrange(10**6)})
        except og.GraphError:
            pass
        written[0], last[0] = written[0] + 1, time.monotonic()

def interrupt():
    while True:
        time.sleep(random.uniform(0.005, 0.03))
        os.kill(os.getpid(), signal.SIGINT)

for work in (*[write] * 6, interrupt):
    threading.Thread(target=work, daemon=True).start()
interrupts, end = 0, time.monotonic() + 6
while time.monotonic() < end and time.monotonic() - last[0] < 20:
    try:
        try:
            g.mutate(update, {"a": 7})
        except og.GraphError:
            pass
    except KeyboardInterrupt:
        interrupts += 1
        end = max(end, time.monotonic() + 1)
        if interrupts >= 150:
            break
signal.signal(signal.SIGINT, signal.SIG_IGN)
before, until = written[0], time.monotonic() + 20
while written[0] < before + 12 and time.monotonic() < until:
    time.sleep(0.01)
print(interrupts, written[0] - before, flush=True)
os._exit(0)
"""


def test_writers_go_on_when_others_of_their_group_are_interrupted(g: og.Graph) -> None:
    g.mutate(ADD, {"n": "one", "a": 0})
    ran = subprocess.run([sys.executable, "-c", INTERRUPTED, g.uri], capture_output=True, text=True, timeout=120, check=False)
    interrupts, more = map(int, ran.stdout.split())
    assert interrupts >= 20, ran.stderr
    assert more >= 12, "everybody waits for a thread that has gone"
    assert g.verify(content=True).ok


def test_who_leads_without_stack_spoils_it_for_nobody(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that has no stack left lets others prepare for themselves."""
    g.mutate(ADD, {"n": "ada", "a": 1})
    failed = list[int]()

    def shallow(*given: Any) -> Any:
        if traceback.extract_stack(limit=3)[0].name == "alone":
            failed.append(1)
            raise RecursionError
        return stage(*given)

    def too_shallow(*_: Any) -> Any:
        raise RecursionError

    monkeypatch.setattr(writing, "stage", shallow)
    monkeypatch.setattr(alike, "insert_each", too_shallow)
    outcomes = together(g, [lambda n=n: g.mutate(ADD, {"n": f"p{n}", "a": n}) for n in range(4)], monkeypatch)  # type: ignore[misc]
    assert all(isinstance(outcome, og.Receipt) and outcome.commit is not None for outcome in outcomes), outcomes
    assert len(failed) == 5
    assert len(g.query(AGES).rows) == 6
