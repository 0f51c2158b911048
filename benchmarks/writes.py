"""Many small writes through the front door: `g.mutate`, one row per commit, synced.

Four kinds of change (a keyed insert, an edge, an update, a delete), each by one thread, by sixteen, and by two and eight
processes; on a small graph and a large one, after a short history and a long one; and a mixed load with readers beside it.
Whatever is compared takes turns in one run. Databases beside it are each in a process of their own (`peers`).
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path

import pyarrow as pa

import omnigraph as og
from benchmarks.measuring import Measurement, scratch_folder
from benchmarks.peers import KINDS, PEERS, Kind, peer

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person
"""
SMALL, LARGE = 1_000, 1_000_000
LOOSE = 6_000
"""People whom nobody knows: those that are deleted."""
THREADS, PER_THREAD = 16, 12
SHALLOW, DEEP = 50, 5_000

TEXTS: dict[Kind, str] = {
    "insert": "query q($n: String) { insert Person { name: $n, age: 1 } }",
    "edge": 'query q($n: String) { insert Knows { from: $n, to: "p0000002" } }',
    "update": "query q($n: String, $v: I32) { update Person set { age: $v } where name = $n }",
    "delete": "query q($n: String) { delete Person where name = $n }",
}
READ = "query q($n: String) { match { $p: Person { name: $n } $p knows $q } return { $q.name as n } }"
PRIME = 7_919


class Writer:
    """Changes of one row, each of another row than those of the other writers."""

    def __init__(self, graph: og.Graph, size: int, part: int = 0, parts: int = 1) -> None:
        self._graph, self._size, self._part, self._parts = graph, size, part, parts
        self._numbers = {kind: count() for kind in KINDS}

    def change(self, kind: Kind) -> float:
        """One change; its milliseconds."""
        number = next(self._numbers[kind]) * self._parts + self._part
        some = f"p{(number + 1) * PRIME % self._size:07d}"
        name = {"insert": f"k{number}", "delete": f"d{number % LOOSE:07d}"}.get(kind, some)
        parameters = {"n": name, "v": number + 1} if kind == "update" else {"n": name}
        begun = time.perf_counter()
        self._graph.mutate(TEXTS[kind], parameters)
        return (time.perf_counter() - begun) * 1000


def graph(folder: Path, size: int) -> og.Graph:
    """People in a ring, and some whom nobody knows; indexed."""
    made = og.init(folder, SCHEMA)
    names = [f"p{n:07d}" for n in range(size)]
    loose = [f"d{n:07d}" for n in range(LOOSE)]
    people = pa.table({"name": [*names, *loose], "age": pa.array([0] * (size + LOOSE), pa.int32())})
    made.load({"Person": people, "Knows": pa.table({"from": names, "to": [*names[1:], names[0]]})})
    made.optimize()
    return made


def measure() -> list[Measurement]:
    """All of it."""
    folder = scratch_folder()
    return [m for suite in (_alone, _threads, _mixed, _depth, _size, _processes) for m in suite(folder)]


def _alone(folder: Path) -> list[Measurement]:
    """One thread, beside other databases."""
    made = graph(folder / "alone", SMALL)
    ours = Writer(made, SMALL)
    with ExitStack() as stack:
        peers = {name: stack.enter_context(peer(name, folder / f"peer-{name}")) for name in PEERS}
        times: dict[tuple[str, Kind], list[float]] = {(name, kind): [] for name in ("ours", *peers) for kind in KINDS}
        for turn in range(13):
            for kind in KINDS:
                found = {"ours": [ours.change(kind) for _ in range(5)]} | {name: p(5, kind) for name, p in peers.items()}
                for name, taken in found.items():
                    times[name, kind] += taken if turn else []
    made.close()
    found_ = []
    for kind in KINDS:
        median = statistics.median(times["ours", kind])
        for name in PEERS:
            theirs = statistics.median(times[name, kind])
            bound = min(5.0, 1.7 * theirs) if name == "Ladybug" else 5.0
            found_.append(Measurement(f"{kind} of one row", median, f"{name} {kind}", theirs, bound))
    return found_


def _threads(folder: Path) -> list[Measurement]:
    """Sixteen threads of one process, beside one."""
    found = []
    for kind in KINDS:
        made = graph(folder / f"threads-{kind}", SMALL)
        single, *writers = (Writer(made, SMALL, n, THREADS + 1) for n in range(THREADS + 1))
        alone, grouped, each = [], [], []
        for turn in range(7):
            begun = time.perf_counter()
            for _ in range(16):
                single.change(kind)
            alone += [(time.perf_counter() - begun) * 1000 / 16] if turn else []
            seconds, taken = _together([partial(w.change, kind) for w in writers], PER_THREAD)
            grouped += [seconds * 1000 / (THREADS * PER_THREAD)] if turn else []
            each += taken if turn else []
        made.close()
        least = 6 if kind == "insert" else 4
        one, many = statistics.median(alone), statistics.median(grouped)
        found.append(Measurement(f"{kind} among {THREADS} threads", many, f"{kind} alone", one, one / least))
        found.append(_slowest(f"{kind} among {THREADS} threads", each, 5))
    return found


def _together(actions: Sequence[Callable[[], float]], each: int) -> tuple[float, list[float]]:
    """Seconds that all of them take side by side, some times each, and the milliseconds of each call."""
    taken: list[float] = []
    failures: list[Exception] = []

    def work(action: Callable[[], float]) -> None:
        try:
            for _ in range(each):
                taken.append(action())
        except Exception as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(action,)) for action in actions]
    begun = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]
    return time.perf_counter() - begun, taken


def _slowest(name: str, taken: Sequence[float], times: int) -> Measurement:
    ordered = sorted(taken)
    half, most = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
    return Measurement(f"{name}, slowest of 100", most, f"{name}, median", half, half * times)


def _mixed(folder: Path) -> list[Measurement]:
    """Readers beside sixteen threads that insert, update and delete; and a mixed load beside one thread."""
    made = graph(folder / "mixed", SMALL)
    single, *writers = (Writer(made, SMALL, n, THREADS + 1) for n in range(THREADS + 1))
    numbers = count()

    def read() -> float:
        begun = time.perf_counter()
        made.query(READ, {"n": f"p{next(numbers) * PRIME % SMALL:07d}"})
        return (time.perf_counter() - begun) * 1000

    def mixed(writer: Writer, turn: int) -> Callable[[], float]:
        kinds = count(turn)
        return lambda: writer.change(KINDS[next(kinds) % len(KINDS)])

    alone_read = [read() for _ in range(400)][100:]
    one, many, beside = [], [], list[float]()
    for turn in range(5):
        begun = time.perf_counter()
        for at in range(16):
            single.change(KINDS[at % len(KINDS)])
        one += [(time.perf_counter() - begun) * 1000 / 16] if turn else []
        stop = threading.Event()

        def reader(stop: threading.Event = stop) -> None:
            while not stop.is_set():
                beside.append(read())
                time.sleep(0.005)

        readers = [threading.Thread(target=reader) for _ in range(2)]
        for thread in readers:
            thread.start()
        seconds, _ = _together([mixed(w, n) for n, w in enumerate(writers)], PER_THREAD)
        stop.set()
        for thread in readers:
            thread.join()
        many += [seconds * 1000 / (THREADS * PER_THREAD)] if turn else []
    made.close()
    single_, grouped = statistics.median(one), statistics.median(many)
    calm, busy = statistics.median(alone_read), statistics.median(beside)
    return [
        Measurement(f"a mixed load of {THREADS} threads", grouped, "the same alone", single_, single_ / 4),
        Measurement("a hop beside it", busy, "a hop alone", calm, calm * 1.5),
    ]


def _depth(folder: Path) -> list[Measurement]:
    """The same after a short and a long history."""
    made = {depth: graph(folder / f"depth-{depth}", SMALL) for depth in (SHALLOW, DEEP)}
    lock = threading.Lock()
    for depth, one in made.items():
        names = (f"g{n}" for n in range(depth))

        def grow(graph: og.Graph = one, names: Iterator[str] = names) -> float:
            with lock:
                name = next(names)
            graph.mutate(TEXTS["insert"], {"n": name})
            return 0.0

        _together([grow] * (THREADS if depth > SHALLOW else 1), depth // (THREADS if depth > SHALLOW else 1))
    return _compared({depth: Writer(one, SMALL) for depth, one in made.items()}, "after {:,} commits", 1.3)


def _size(folder: Path) -> list[Measurement]:
    """The same on a small graph and a large one."""
    made = {size: graph(folder / f"size-{size}", size) for size in (SMALL, LARGE)}
    return _compared({size: Writer(one, size) for size, one in made.items()}, "at {:,} rows", 1.5)


def _compared(arms: dict[int, Writer], words: str, times: float) -> list[Measurement]:
    found = []
    (least, few), (most, many) = arms.items()
    for kind in KINDS:
        taken: dict[int, list[float]] = {least: [], most: []}
        for turn in range(110):  # of a large type, what is asked for comes to memory after some thirty questions
            for key, writer in ((least, few), (most, many)):
                milliseconds = writer.change(kind)
                taken[key] += [milliseconds] if turn >= 40 else []
        small, large = (statistics.median(taken[key]) for key in (least, most))
        found.append(Measurement(f"{kind} {words.format(most)}", large, f"{kind} {words.format(least)}", small, small * times))
    return found


# ── processes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _processes(folder: Path) -> list[Measurement]:
    """Writers of two and of eight processes on one branch."""
    found = []
    for kind in KINDS:
        rates, times = {}, {}
        for processes in (2, 8):
            rates[processes], times[processes] = _rate(folder / f"processes-{kind}-{processes}", kind, processes)
        two, eight = (1000 / rates[n] for n in (2, 8))
        found.append(Measurement(f"{kind} among 8 processes", eight, f"{kind} among 2 processes", two, min(10.0, two)))
        found.append(_slowest(f"{kind} among 8 processes", times[8], 10))
    return found


def _rate(path: Path, kind: Kind, processes: int, each: int = 60) -> tuple[float, list[float]]:
    """Commits per second of all of them, and the milliseconds of each. Every commit is there, once."""
    graph(path, SMALL).close()
    command = [sys.executable, "-m", "benchmarks.writes", str(path), kind, str(each), str(processes)]
    children = [
        subprocess.Popen([*command, str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for n in range(processes)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    before = len(og.open(path).commits())
    begun = time.perf_counter()
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    answers = [child.stdout.readline() for child in children if child.stdout is not None]
    seconds = time.perf_counter() - begun  # until the last commit: to end eight processes takes a second
    assert all(child.wait() == 0 for child in children)
    logical = [c for c in og.open(path).commits(limit=10_000) if not c.is_maintenance]
    assert len(logical) == before + processes * each, (len(logical), before, processes * each)
    return processes * each / seconds, [t for answer in answers for t in json.loads(answer)]


def _write_among_others(path: str, kind: Kind, each: str, processes: str, number: str) -> None:
    writer = Writer(og.open(path), SMALL, int(number), int(processes))
    writer.change(kind)
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps([writer.change(kind) for _ in range(int(each))]), flush=True)


if __name__ == "__main__":
    _write_among_others(*sys.argv[1:])  # type: ignore[arg-type]
