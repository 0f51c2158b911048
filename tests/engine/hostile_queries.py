"""Queries that would take all the time and memory there is, and a process that asks them and says what they took.

    python -m tests.engine.hostile_queries <graph> <seconds or -> <bytes or ->        a JSON line per query

The growth of a query is the most memory the process had while it ran, less what it had before. `slowness` says how much longer
a fixed piece of work takes than on the machine on which the allowances of the tests were measured.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import omnigraph
from omnigraph.engine.execution.budget import LEFT_BEHIND, Budget
from omnigraph.errors import GraphError

SCHEMA = """
node N { k: String @key  n: I32  s: String  m: I32?  w: String?  t: [I32]?  v: Vector(4)? }
edge E: N -> N { x: I32? }
edge F: N -> N { y: I32? }
"""
NODES = 3_000
EDGES_PER_NODE = 40
EDGES_OF_HUB = 150_000
"""Edges of a type F that one node has, many of them to the same."""
MANY = 300_000
_REFERENCE_SECONDS = 0.08
UNSEEN = 0.05
"""Seconds of work between two looks at the clock, at most: see `Looks`."""


def read(body: str, parameters: str = "") -> str:
    return f"query q({parameters}) {{ {body} }}"


def many(template: str, count: int, joined: str = " ") -> str:
    return joined.join(template.replace("#", str(number)).replace("@", str(number + 1)) for number in range(count))


_PAIRS = "match { $a: N $b: N } "
_HUB = 'match { $a: N { k: "k0000" } '
_WALKED = "match { $a: N $a e $b $b e $c "
QUERIES: dict[str, str] = {
    "pairs": read(_PAIRS + "return { $a.k, $b.k }"),
    "ids of pairs": read(_PAIRS + "return { $a, $b.n }"),
    "pairs in order": read(_PAIRS + "return { $a.k, $b.k } order { $a.n desc, $b.s }"),
    "first pairs": read(_PAIRS + "return { $a.k, $b.k } order { $b.s, $a.n desc } limit 5"),
    "groups of pairs": read(_PAIRS + "return { $a.k, $b.n, count($a) as c }"),
    "distinct pairs": read(_PAIRS + "return distinct { $a.k, $b.k }"),
    "distinct counts": read(_PAIRS + "return { $a.m, count(distinct $b) as c }"),
    "triples": read("match { $a: N $b: N $c: N } return { $a.k, $b.k, $c.k }"),
    "triples counted": read("match { $a: N $b: N $c: N $a.n != $c.n } return { count($a) as c }"),
    "triples that do not exist": read("match { $a: N $b: N $c: N $a.n > $b.n $b.n > $c.n $c.n > $a.n } return { $a.k }"),
    "texts in texts": read("match { $a: N $b: N $c: N $a.s contains $b.s $b.w contains $c.s } return { $a.k }"),
    "optional of pairs": read("match { $a: N $b: N optional { $a e $c } } return { $a.k, $b.k, $c.k }"),
    "pairs without an edge": read("match { $a: N $b: N not { $a e $b } } return { $a.k, $b.k }"),
    "three hops": read(_WALKED + "$c e $d } return { $a.k, $d.k }"),
    "hops in order": read(_WALKED + "} return { $a.k, $c.k } order { $c.s, $a.n }"),
    "distinct ends": read(_WALKED + "$c e $d } return distinct { $a.k, $d.k }"),
    "groups of ends": read(_WALKED + "$c e $d } return { $a.k, $d.k, count($b) as c }"),
    "edges of edges": read("match { $a: N $a $x:e $b $b $y:e $c } return { $x.x, $y.x, $a.k }"),
    "walks": read("match { $a: N $a e{1,4} $b } return { $a.k, $b.k }"),
    "walks of walks": read("match { $a: N $a <e>{1,6} $b $b <e>{1,6} $c } return { count($c) as c }"),
    "walks between pairs": read("match { $a: N $b: N $a e{2,5} $b } return { $a.k, $b.k }"),
    "no walks between pairs": read("match { $a: N $b: N not { $a e{2,3} $b } } return { $a.k, $b.k }"),
    "one of many": read("match { $a: N $b: N $a.s in $l } return { $a.k, $b.k }", "$l: [String]"),
    "like each other": read("match { $a: N $b: N fuzzy($a.w, $b.s, 2) } return { $a.k }"),
    "scores of pairs": read("match { $a: N $b: N } return { $a.k, bm25($a.w, $b.w) as s }"),
    "distances of pairs": read("match { $a: N $b: N } return { $a.k, nearest($a.v, $b.v) as s }"),
    "order of scores of pairs": read(_PAIRS + "return { $a.k, $b.k } order { bm25($a.w, $b.w), $b.n desc }"),
    "order of scores of ends": read(_WALKED + '} return { $c.k } order { bm25($c.w, "wolf lamp"), $a.n desc } limit 9999999'),
    "texts like texts": read("match { $a: N $b: N search($a.w, $b.s) } return { count($a) as c }"),
    "order of distances of pairs": read(_PAIRS + "return { $a.k } order { nearest($a.v, $b.v), $b.k } limit 9999999"),
    "groups of walks": read(_WALKED + "$c e $d $d e $f } return { $a.s, $f.s, avg($c.n) as m, count(distinct $d) as c }"),
    "walks of a few": read(f"match {{ $a0: N $a0.n < 9 {many('$a# e $a@', 40)} }} return {{ $a0.k, count($a40) as c }}"),
    "nearest ends": read(_WALKED + "} return { $c.k } order { nearest($c.v, [1.0, 0.0, 0.0, 0.0]) } limit 9999999"),
    "two rankings": read(_WALKED + '} return { $c.k } order { rrf(bm25($c.w, "wolf"), bm25($c.w, "lamp")) } limit 9999999'),
    "3,000 variables": read(f"match {{ {many('$a#: N', 3_000)} }} return {{ $a0.k }} limit 1"),
    "300 variables": read(f"match {{ {many('$a#: N', 300)} }} return {{ $a0.k }}"),
    "3,000 hops": read(f"match {{ $a0: N {many('$a# e $a@', 3_000)} }} return {{ $a0.k }} limit 1"),
    "300 hops": read(f"match {{ $a0: N {many('$a# e $a@', 300)} }} return {{ count($a0) as c, $a300.k }}"),
    "100,000 clauses": read(f"match {{ $a: N {many('$a.n != #', 100_000)} }} return {{ $a.k }}"),
    "300 conditions of two": read(f"match {{ $a: N $b: N {many('$a.n != $b.m', 300)} }} return {{ $a.k }}"),
    "100,000 alternatives": read(f"match {{ $a: N {many('$a.n = #', 100_000, ' or ')} }} return {{ $a.k }}"),
    "9,000 alternatives": read(f"match {{ $a: N $b: N {many('$a.n = #', 9_000, ' or ')} }} return {{ $a.k }}"),
    "a long list": read(f"match {{ $a: N $a.n in [{many('#', 400_000, ',')}] }} return {{ $a.k }}"),
    "a long text": read(f'match {{ $a: N $a.s contains "{"x" * 4_000_000}" }} return {{ $a.k }}'),
    "900 columns": read(_PAIRS + f"return {{ {many('$a.s as c#,', 900)} $b.k }}"),
    "900 aggregates": read(_PAIRS + f"return {{ {many('sum($a.n) as c#,', 900)} $b.k }}"),
    "300 blocks": read(f"match {{ $a: N $b: N {many('not { $a e $b$c# }'.replace('$b$c#', '$c#'), 190)} }} return {{ $a.k }}"),
    "blocks in blocks": read(f"match {{ $a: N {'not { $a e $b ' * 60}{'} ' * 60} }} return {{ $a.k }}"),
    "edges of a hub": read(_HUB + "$b: N $a $x:f $c } return { $x.y, $b.k, $c.k }"),
    "a hub closed": read(_HUB + "$a f $b $a $x:f $b } return { $x.y, $b.k }"),
    "edges back to a hub": read("match { $a: N $a e $b $b <f> $c $c $x:f $a } return { $x.y, $a.k }"),
    "equal rows": read(_WALKED + "$c e $d } return { $a.m }"),
    "equal rows after many": read(_WALKED + "$c e $d } return { $a.m } limit 5 offset 99999999"),
    "300 anonymous ends": read(f"match {{ $a: N {many('$a e $_', 300)} }} return {{ $a.k }}"),
}


def make(folder: Path) -> None:
    """The graph that is asked: three thousand nodes, forty edges each, and one of them with very many of another type."""
    random = np.random.default_rng(0)
    graph = omnigraph.init(folder, SCHEMA, durability="os")
    keys = [f"k{number:04}" for number in range(NODES)]
    words = np.array(["wolf", "lamp", "mint", "rock", "storm", "plum"])
    nodes = {
        "k": keys,
        "n": pa.array(range(NODES), pa.int32()),
        "s": [f"text number {number % 700} of a longer kind" for number in range(NODES)],
        "m": pa.array([number % 7 if number % 3 else None for number in range(NODES)], pa.int32()),
        "w": [" ".join(words[random.integers(0, 6, 5)]) for _ in range(NODES)],
        "t": [list(range(number % 5)) for number in range(NODES)],
        "v": pa.array(random.random((NODES, 4)).astype("f4").tolist(), pa.list_(pa.float32(), 4)),
    }
    graph.load({"N": pa.table(nodes)}, engine="local")
    ends = random.integers(0, NODES, NODES * EDGES_PER_NODE)
    sources = [keys[number] for number in np.repeat(np.arange(NODES), EDGES_PER_NODE)]
    edges = {"from": sources, "to": [keys[number] for number in ends], "x": pa.array(ends % 10, pa.int32())}
    graph.load({"E": pa.table(edges)}, mode="append", engine="local")
    hub = {
        "from": [keys[0]] * EDGES_OF_HUB,
        "to": [keys[number] for number in random.integers(0, NODES, EDGES_OF_HUB)],
        "y": pa.array(range(EDGES_OF_HUB), pa.int32()),
    }
    graph.load({"F": pa.table(hub)}, mode="append", engine="local")
    graph.close()


def slowness() -> float:
    """How many times longer this machine works than that of the allowances; at least 1."""
    spent = []
    for _ in range(3):
        started = time.process_time()
        np.sort(np.random.default_rng(0).integers(0, 1 << 40, 1 << 20))
        np.ones(1 << 23)
        sum(range(400_000))
        spent.append(time.process_time() - started)
    return max(1.0, min(spent) / _REFERENCE_SECONDS)


def _status(name: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


class Looks:
    """How long queries did not look at the clock: the longest work between two looks, and between which.

    Work is what the process spends on the processor, with all of its threads, and no more than the time that passed. So it does
    not count that other processes have their turn in between. Nor does it count what is not the query's: steps that an earlier
    one left behind are waited for before, and the garbage of the process is collected before, and not looked through again.
    """

    def __init__(self) -> None:
        self.longest, self.between = 0.0, ""
        self._last: tuple[float, float, str] | None = None
        look = Budget.check

        def looked(budget: Budget, operator: str) -> None:
            self.note(operator)
            look(budget, operator)

        vars_of: Any = Budget
        vars_of.check = looked

    def note(self, operator: str) -> None:
        """Somebody looks. What counts is the work since: other processes want their turn, too."""
        now = (time.perf_counter(), time.process_time(), operator)
        if self._last is not None:
            waited = min(now[0] - self._last[0], now[1] - self._last[1])
            if waited > self.longest:
                self.longest, self.between = waited, f"{self._last[2]} … {operator}"
        self._last = now

    def begin(self) -> None:
        for thread in threading.enumerate():
            if thread.name == LEFT_BEHIND:
                thread.join()
        gc.collect()
        gc.freeze()
        self.longest, self.between, self._last = 0.0, "", None
        self.note("the beginning")

    def ended(self) -> dict[str, Any]:
        self.note("the end")
        return {"unseen": self.longest, "between": self.between}


LOOKS = Looks()


def asked(graph: Any, text: str, params: dict[str, Any] | None, **limits: Any) -> dict[str, Any]:
    """What became of a query, and what it took. One that seems not to have looked at the clock is asked again, and what it took
    is compared with what a fixed piece of work takes just then: work beside others takes longer, too."""
    first = _asked(graph, text, params, **limits)
    for _ in range(4):
        if first["unseen"] > UNSEEN:
            again = _asked(graph, text, params, **limits)
            again["unseen"] /= slowness()
            first["unseen"], first["between"] = min((one["unseen"], one["between"]) for one in (first, again))
    return first


def _asked(graph: Any, text: str, params: dict[str, Any] | None, **limits: Any) -> dict[str, Any]:
    LOOKS.begin()
    Path("/proc/self/clear_refs").write_text("5")  # the most memory is counted from here on
    before, wall, cpu = _status("VmRSS"), time.perf_counter(), time.process_time()
    try:
        outcome = f"{len(graph.query(text, params, **limits))} rows"
    except GraphError as error:
        outcome = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    except Exception as error:  # what must not be: the test says so
        outcome = f"raw {type(error).__name__}: {error}"
    spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, **LOOKS.ended()}
    return {"outcome": outcome[:200], "growth": _status("VmHWM") - before, **spent}


def main() -> None:
    folder, seconds, memory = sys.argv[1:4]
    limits = {
        "timeout": None if seconds == "-" else float(seconds),
        "memory_limit": None if memory == "-" else int(memory),
    }
    graph = omnigraph.open(folder)
    everything = "$a.k, $a.s, $a.n, $a.m, $a.w, $a.t, $a.v, $e.x"
    graph.query(read(f"match {{ $a: N $a $e:e $b }} return {{ {everything} }} limit 1"))
    graph.query(read('match { $a: N $a <e> $b search($a.w, "wolf") } return { $a.s, count($b) as c } limit 1'))
    slow = slowness()
    for name, text in QUERIES.items():
        params = {"l": [f"text {number}" for number in range(MANY)]} if "$l" in text else None
        print(json.dumps({"name": name, "slowness": slow, **asked(graph, text, params, **limits)}), flush=True)


if __name__ == "__main__":
    main()
