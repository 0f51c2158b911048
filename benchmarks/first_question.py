"""The first question to a graph of which nothing is in memory and nothing was saved: does the engine choose the better way?

Every workload of the query benchmark, and two that start from many nodes, on graphs of several sizes, with and without indexes,
with little memory and with much. Each is asked three times over: as the engine chooses, over adjacency (`csr`), and through
lookups (`btree`). What counts is the time from opening the graph to the rows, as the engine chose, beside the better of the two.

The three ways stand in processes of their own and take turns; every time the graph is opened anew, and what one opening read is
not known to the next. The best of several rounds counts, which nothing else on the machine disturbed. A way that takes much
longer than the others is not waited for.

    python -m benchmarks "first question"               sizes up to 5 M edges; writes docs/benchmarks/first_question.md
    python -m benchmarks.first_question 1k 5M           some sizes (1k, 100k, 1M, 5M, 50M), to the terminal
    python -m benchmarks.first_question 5M hop          workloads whose name contains a word
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks import people
from benchmarks.measuring import Measurement, machine
from benchmarks.workloads import WORKLOADS, Parameters, Workload

DETAIL = Path(__file__).parent / "results" / "detail" / "first_question.json"
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "first_question.md"

BOUND: Final = 1.5
"""The way that was chosen takes at most so many times as long as the better one."""

SIZES: Final = {
    "1k": people.Size(persons=100, knows=1_000, companies=10, jobs=60),
    "100k": people.Size(persons=10_000, knows=100_000, companies=200, jobs=10_000),
    "1M": people.Size(),
    "5M": people.Size(persons=1_000_000, knows=5_000_000, companies=20_000, jobs=1_000_000),
    "50M": people.Size(persons=5_000_000, knows=50_000_000, companies=20_000, jobs=1_000_000),
}
USUAL: Final = ("1k", "100k", "1M", "5M")
BUDGETS: Final = {"64 MB": 64 << 20, "4 GB": 4 << 30}
CHOSEN, CSR, LOOKUPS = "auto", "csr", "btree"
WAYS: Final = (CSR, CHOSEN, LOOKUPS)

ROUNDS: Final = ((0.1, 7), (0.5, 3))
"""How often a question is asked that takes no longer than so many seconds; all others once."""

PATIENCE: Final = 2.0
"""How many times the time of the better way the other one is waited for, and a second more."""


def _cities(size: people.Size) -> list[Parameters]:
    return [{"city": people.city(10 + n)} for n in range(8)]


MANY: Final = (
    Workload(
        "a hop over all persons",
        "query q() { match { $a: Person $a knows $b } return { $b.city, count($a) as n } }",
        "",
    ),
    Workload(
        "a hop over all persons, edges bound",
        "query q() { match { $a: Person { active: true } $a $k: knows $b $k.strength > 9 } return { count($b) as n } }",
        "",
    ),
    Workload(
        "two hops of one city",
        "query q($city: String) { match { $a: Person { city: $city } $a knows $b $b knows $c }"
        " return { count(distinct $c) as n } }",
        "",
        _cities,
    ),
)
"""Questions that start from many nodes."""


@dataclass
class Cell:
    """One workload on one graph with one budget."""

    workload: str
    size: str
    indexes: bool
    budget: str
    seconds: dict[str, float] = field(default_factory=dict)
    """The best by way; a way that was not waited for is missing."""
    cpu: dict[str, float] = field(default_factory=dict)
    """The same in seconds of processors, of all threads: what is left of it when others use the machine."""
    rounds: int = 0

    @property
    def ratio(self) -> float:
        """How many times as long as the better way the chosen one took."""
        return self.seconds[CHOSEN] / min(t for way, t in self.seconds.items() if way != CHOSEN)

    @property
    def cpu_ratio(self) -> float:
        """The same for the work that was done, whoever else was at work."""
        return self.cpu[CHOSEN] / min(t for way, t in self.cpu.items() if way != CHOSEN)

    @property
    def where(self) -> str:
        return f"{self.size} edges, {'with' if self.indexes else 'no'} indexes, {self.budget}"


def measure() -> list[Measurement]:
    """All workloads on the usual sizes: for each the cell that is worst."""
    load = os.getloadavg()[0]
    cells = list(run(USUAL, [*WORKLOADS, *MANY]))
    record(cells, load)
    found = []
    for name in dict.fromkeys(c.workload for c in cells):
        worst = max((c for c in cells if c.workload == name), key=lambda c: c.ratio)
        better = worst.seconds[CHOSEN] / worst.ratio * 1000
        found.append(
            Measurement(f"{name}: {worst.where}", worst.seconds[CHOSEN] * 1000, "the better way", better, BOUND * better)
        )
    return found


def run(sizes: Sequence[str], workloads: Sequence[Workload]) -> Iterator[Cell]:
    """Every cell of some sizes."""
    for size in sizes:
        for indexes in (False, True):
            graph = filled(SIZES[size], indexes=indexes)
            for budget, nbytes in BUDGETS.items():
                yield from _cells(size, indexes, budget, nbytes, graph, workloads)


def filled(size: people.Size, *, indexes: bool) -> Path:
    """A graph with all data, made once; with the indexes that its schema declares, or with none."""
    folder = size.folder / ("first-indexed" if indexes else "first-plain")
    people.parquet(size)

    def make(into: Path) -> None:
        subprocess.run(
            [sys.executable, "-m", "benchmarks.first_question", "fill", str(into), json.dumps(asdict(size)), str(int(indexes))],
            check=True,
        )

    return people.once(folder, make) / "graph"


def _fill(folder: str, size: str, indexes: str) -> None:
    import omnigraph as og

    graph = og.init(Path(folder) / "graph", schema=people.SCHEMA, durability="os", save_from=None)
    graph._reconciler.start = lambda branch, catalog: None  # type: ignore[method-assign]  # nobody makes indexes unasked
    sources = {name: str(path) for name, path in people.parquet(people.Size(**json.loads(size))).items()}
    for name, path in sources.items():
        graph.load({name: path}, mode="append")
    if indexes == "1":
        graph.optimize()
    graph.close()


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Asked:
    """A process that asks in one way, begun again when it was not waited for."""

    def __init__(self, way: str, graph: Path, budget: int, stack: ExitStack) -> None:
        self._command = [sys.executable, "-m", "benchmarks.first_question", "ask", way, str(graph), str(budget)]
        self._child: subprocess.Popen[str] | None = None
        stack.callback(self._end)

    def ask(self, workload: str, parameters: Parameters, patience: float | None) -> tuple[float, float] | None:
        """Seconds that a question takes, and of processors; None: longer than anybody waits."""
        child = self._started()
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps({"workload": workload, "parameters": parameters}) + "\n")
        child.stdin.flush()
        if patience is not None and not select.select([child.stdout], [], [], patience)[0]:
            self._end()
            return None
        answer = json.loads(child.stdout.readline())
        return float(answer["seconds"]), float(answer["cpu"])

    def _started(self) -> subprocess.Popen[str]:
        if self._child is None:
            self._child = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert self._child.stdout is not None
            self._child.stdout.readline()  # it is warm
        return self._child

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None


def _cells(size: str, indexes: bool, budget: str, nbytes: int, graph: Path, workloads: Sequence[Workload]) -> Iterator[Cell]:
    with ExitStack() as stack:
        asked = {way: Asked(way, graph, nbytes, stack) for way in WAYS}
        for workload in workloads:
            cell = _cell(workload, Cell(workload.name, size, indexes, budget), asked)
            print(line(cell), file=sys.stderr, flush=True)
            yield cell


def _cell(workload: Workload, cell: Cell, asked: dict[str, Asked]) -> Cell:
    sets = workload.parameters(SIZES[cell.size])
    taken: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    number = 0
    while number < max(1, cell.rounds):
        for way in [w for w in WAYS if number == 0 or taken[w]]:
            others = [min(taken[w])[0] for w in WAYS if w is not way and taken[w]]
            patience = PATIENCE * min(others) + 1.0 if way is LOOKUPS else None
            seconds = asked[way].ask(workload.name, sets[number % len(sets)], patience)
            if seconds is None:
                taken[way] = []
                break
            taken[way].append(seconds)
        if number == 0:
            slowest = max(times[0][0] for times in taken.values() if times)
            cell.rounds = next((rounds for most, rounds in ROUNDS if slowest <= most), 1)
        number += 1
    cell.seconds = {way: min(wall for wall, _ in times) for way, times in taken.items() if times}
    cell.cpu = {way: min(cpu for _, cpu in times) for way, times in taken.items() if times}
    return cell


def _ask(way: str, graph: str, budget: str) -> None:
    """A child: answers requests until its input ends."""
    import omnigraph as og

    workloads = {w.name: w for w in [*WORKLOADS, *MANY]}
    tiny = filled(SIZES["1k"], indexes=True)
    for workload in workloads.values():  # threads, modules and code that any first question needs once per process
        with og.open(tiny, save_from=None) as g:
            _ = g.query(workload.gq, workload.parameters(SIZES["1k"])[0]).rows
    print("warm", flush=True)
    for line_ in sys.stdin:
        wanted = json.loads(line_)
        text, parameters = workloads[wanted["workload"]].gq, wanted["parameters"]
        started, worked = time.perf_counter(), time.process_time()
        with og.open(graph, memory=int(budget), save_from=None) as g:
            _ = g.query(text, parameters, traversal=way).rows  # type: ignore[arg-type]
            seconds, cpu = time.perf_counter() - started, time.process_time() - worked
        print(json.dumps({"seconds": seconds, "cpu": cpu}), flush=True)


# ── telling ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def line(cell: Cell) -> str:
    """One cell on one line."""
    times = "  ".join(f"{way} {_time(cell.seconds.get(way)):>9}" for way in WAYS)
    mark = "" if cell.ratio <= BOUND else "  BEYOND"
    work = f"work {cell.cpu_ratio:5.2f} of {_time(min(cell.cpu.values()))}"
    return f"{cell.where:<36} {cell.workload:<40} {times}  ratio {cell.ratio:5.2f}  {work}{mark}"


def _time(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1000:,.1f} ms"


def page(about: dict[str, Any]) -> str:
    """The page as Markdown: how many times as long as the better way the chosen one took."""
    cells = [Cell(**cell) for cell in about["cells"]]
    m = about["machine"]
    columns = list(dict.fromkeys((c.size, c.indexes, c.budget) for c in cells))
    by = {(c.workload, c.size, c.indexes, c.budget): c for c in cells}
    beyond = [c for c in cells if c.ratio > BOUND]
    head = "| workload | " + " | ".join(f"{s}, {'indexes' if i else 'none'}, {b}" for s, i, b in columns) + " |"
    rows = []
    for name in dict.fromkeys(c.workload for c in cells):
        shown = []
        for column in columns:
            found = by.get((name, *column))
            shown.append(f"{found.ratio:.2f} / {found.cpu_ratio:.2f}" if found is not None else "–")
        rows.append(f"| {name} | {' | '.join(shown)} |")
    parts = [
        '<!-- Written by `python -m benchmarks "first question"`: measure again instead of editing. -->',
        "# The first question",
        f"Measured on {m['date']}: {m['cores']} cores, {m['memory_gib']} GiB, {m['system']}, Python {m['python']}; load of the "
        f"machine before and after: {m['load'][0]:.1f}, {m['load'][1]:.1f}.",
        "A graph is opened of which nothing is in memory and nothing was saved, and is asked one question. In the table: how "
        "many times as long as the better of the two ways (adjacency, lookups) the way takes that the engine chooses, from "
        "opening to rows; and after the stroke the same in time of processors, of all threads, which others at work on the "
        "machine do not disturb. Columns: edges of the largest type, indexes, memory budget. "
        f"Bound: {BOUND:g}. {_kept(cells)}",
        "\n".join([head, "|---" * (len(columns) + 1) + "|", *rows]),
    ]
    if beyond:
        parts += ["## Beyond the bound", "\n".join(f"* {line(c)}" for c in sorted(beyond, key=lambda c: -c.ratio))]
    return "\n\n".join(parts) + "\n"


def _kept(cells: Sequence[Cell]) -> str:
    wall, cpu = (sum(ratio <= BOUND for ratio in ratios) for ratios in ([c.ratio for c in cells], [c.cpu_ratio for c in cells]))
    return f"{wall} of {len(cells)} keep it by the clock, {cpu} in time of processors."


def record(cells: Sequence[Cell], load: float) -> None:
    """Write what was measured, and the page about it."""
    found = {"machine": {**machine(), "load": [load, os.getloadavg()[0]]}, "cells": [asdict(c) for c in cells]}
    DETAIL.parent.mkdir(parents=True, exist_ok=True)
    DETAIL.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(page(found))


def main() -> None:
    """Some sizes and workloads to the terminal; or a child process."""
    words = sys.argv[1:]
    if words[:1] == ["fill"]:
        return _fill(*words[1:])
    if words[:1] == ["ask"]:
        return _ask(*words[1:])
    sizes = [w for w in words if w in SIZES] or list(USUAL)
    named = [w for w in words if w not in SIZES]
    chosen = [w for w in [*WORKLOADS, *MANY] if not named or any(word.lower() in w.name.lower() for word in named)]
    cells = list(run(sizes, chosen))
    print(_kept(cells))
    for cell in cells:
        if cell.ratio > BOUND:
            print(line(cell))
    return None


if __name__ == "__main__":
    main()
