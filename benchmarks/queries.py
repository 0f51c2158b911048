"""The read engine beside Kùzu and Ladybug: the same data, the same questions, the same answers.

*Warm*: every system is open in a process of its own; they take turns, a few calls each, and the median of all calls counts. A
call is what a program would write, from the text of the query to rows in Python. *Cold*: a fresh process opens the database and
answers once; the median of five counts. The files are in the page cache in both cases.

Besides: how long and how much memory the adjacency of 10 M edges takes, and three hops on a graph that has none yet.

    python -m benchmarks queries             all of it; writes docs/benchmarks/queries.md and .svg
    python -m benchmarks.queries triangles   workloads whose name contains a word, warm, to the terminal
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import people
from benchmarks.measuring import Measurement, machine
from benchmarks.query_systems import OURS, PEERS, SYSTEMS, cold, fill, serving
from benchmarks.workloads import WORKLOADS, Parameters, Workload

DETAIL = Path(__file__).parent / "results" / "detail" / "queries.json"
CHECKED = 4
"""Sets of parameters whose answers are compared; the others are only timed."""
COLD_RUNS = 5
WARM_UP_SECONDS = 1.0
"""How long every system is asked before a workload counts, at most."""
PATIENCE_SECONDS = 20.0
"""How long the rounds of a workload may take; slow ones get fewer, never less than three."""

Requests = dict[str, Callable[..., dict[str, Any]]]


@dataclass
class Outcome:
    """What was found about one workload."""

    name: str
    target: float
    warm: dict[str, float] = field(default_factory=dict)
    cold: dict[str, float] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    """Systems that gave no answer, and why."""
    rows: int = 0
    agreement: float = 1.0
    """Smallest share of equal rows between us and a peer."""
    note: str = ""

    def ratio(self, which: str) -> float | None:
        """How many times faster we are than the better peer."""
        times: dict[str, float] = getattr(self, which)
        peers = [times[p] for p in PEERS if p in times]
        return min(peers) / times[OURS] if peers and OURS in times else None


def measure() -> list[Measurement]:
    """Time everything, check that answers are equal, and write the report."""
    from benchmarks import adjacency_memory, query_report

    size = people.Size()
    load = [os.getloadavg()[0]]
    outcomes = compare(size, WORKLOADS)
    load.append(os.getloadavg()[0])
    run_cold(size, outcomes)
    load.append(os.getloadavg()[0])
    limits = adjacency_memory.measure(size)
    about = {**machine(), "processor": _processor(), "load": load}
    DETAIL.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "machine": about,
        "versions": query_report.versions(),
        "size": asdict(size),
        "workloads": [asdict(o) for o in outcomes],
        "limits": [asdict(m) for m in limits],
    }
    DETAIL.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    query_report.write()
    return [*(m for o in outcomes for m in _measurements(o)), *(m.measurement() for m in limits if m.unit == "s")]


def _processor() -> str:
    """What the processor calls itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _measurements(outcome: Outcome) -> list[Measurement]:
    found = []
    for which, times in (("", outcome.warm), (", cold", outcome.cold)):
        peers = {p: times[p] for p in PEERS if p in times}
        if OURS in times and peers:
            best = min(peers, key=lambda p: peers[p])
            bound = peers[best] / outcome.target
            found.append(Measurement(f"{outcome.name}{which}", times[OURS], best, peers[best], bound))
    return found


# ── warm ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def compare(size: people.Size, workloads: Sequence[Workload]) -> list[Outcome]:
    """Every workload warm, in every system, with its answers compared."""
    with ExitStack() as stack:
        systems = {name: stack.enter_context(serving(name, fill(name, size), size)) for name in SYSTEMS}
        found = []
        for workload in workloads:
            outcome = _warm(workload, systems, size)
            found.append(outcome)
            print(_line(outcome), file=sys.stderr, flush=True)
        return found


def _warm(workload: Workload, systems: Requests, size: people.Size) -> Outcome:
    outcome = Outcome(workload.name, workload.target, note=workload.note)
    sets = workload.parameters(size)
    answers: dict[str, list[list[list[Any]]]] = {}
    for name, request in systems.items():
        found = _warm_up(workload, request, min(CHECKED, len(sets)))
        if "error" in found[0]:
            outcome.skipped[name] = found[0]["error"]
        else:
            answers[name] = [answer["rows"] for answer in found]
    if OURS in answers:
        outcome.rows = len(answers[OURS][0])
        for peer in (p for p in PEERS if p in answers):
            for parameters, ours, theirs in zip(sets, answers[OURS], answers[peer], strict=False):
                outcome.agreement = min(outcome.agreement, _agree(workload, parameters, ours, theirs, peer))
    times: dict[str, list[float]] = {name: [] for name in answers}
    started = time.perf_counter()
    for number in range(workload.rounds):
        for name in answers:
            asked = {"first": number * workload.per_round, "count": workload.per_round, "rows": False}
            times[name] += systems[name](workload=workload.name, **asked)["ms"]
        if number >= 2 and time.perf_counter() - started > PATIENCE_SECONDS:
            break
    outcome.warm = {name: statistics.median(taken) for name, taken in times.items()}
    return outcome


def _warm_up(workload: Workload, request: Callable[..., dict[str, Any]], checked: int) -> list[dict[str, Any]]:
    """Ask a few times; gives the answers to the first sets of parameters."""
    started = time.perf_counter()
    for number in range(3 * workload.per_round):
        answer = request(workload=workload.name, first=number, count=1, rows=False)
        if "error" in answer or (number >= 2 and time.perf_counter() - started > WARM_UP_SECONDS):
            break
    return [request(workload=workload.name, first=number, count=1, rows=True) for number in range(checked)]


def _agree(workload: Workload, parameters: Parameters, ours: list[list[Any]], theirs: list[list[Any]], peer: str) -> float:
    """Which share of the rows is equal; fails where it has to be more."""
    if workload.holds is not None:
        kept = all(workload.holds(parameters, tuple(row)) for row in [*ours, *theirs]) and len(ours) == len(theirs)
        share = float(kept)
    elif workload.agreement < 1:
        first, second = ({json.dumps(_rounded(row)) for row in rows} for rows in (ours, theirs))
        share = len(first & second) / max(1, len(first | second))
    else:
        first_rows, second_rows = ([_rounded(row) for row in rows] for rows in (ours, theirs))
        if not workload.ordered:
            first_rows.sort(key=json.dumps)
            second_rows.sort(key=json.dumps)
        share = float(first_rows == second_rows)
    if share < workload.agreement:
        raise AssertionError(f"{workload.name}: {peer} answers differently\n  ours {ours[:5]}\n  {peer} {theirs[:5]}")
    return share


def _rounded(row: list[Any]) -> list[Any]:
    """Nine significant digits: sums are added up in different orders."""
    return [float(f"{v:.9g}") if isinstance(v, float) and math.isfinite(v) else v for v in row]


# ── cold ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def run_cold(size: people.Size, outcomes: Sequence[Outcome]) -> None:
    """Every workload in fresh processes. Afterwards, so that a system has on disk whatever it keeps there."""
    for outcome in outcomes:
        times: dict[str, list[float]] = {}
        for _ in range(COLD_RUNS):
            for name in outcome.warm:
                answer = cold(name, fill(name, size), size, outcome.name)
                if "error" in answer:
                    outcome.skipped[name] = answer["error"]
                else:
                    times.setdefault(name, []).append(answer["ms"])
        outcome.cold = {name: statistics.median(taken) for name, taken in times.items()}
        print("cold", _line(outcome, "cold"), file=sys.stderr, flush=True)


def _line(outcome: Outcome, which: str = "warm") -> str:
    times: dict[str, float] = getattr(outcome, which)
    parts = [f"{name} {times[name]:.3f}" for name in SYSTEMS if name in times]
    ratio = outcome.ratio(which)
    verdict = "–" if ratio is None else f"{ratio:.1f} ×" + ("" if ratio >= outcome.target else f"  (target {outcome.target:g} ×)")
    gaps = "; ".join(f"{name}: {why}" for name, why in outcome.skipped.items())
    return f"{outcome.name:36} {'  '.join(parts):58} {verdict}  {gaps}"


if __name__ == "__main__":
    chosen = [w for w in WORKLOADS if not sys.argv[1:] or any(word in w.name for word in sys.argv[1:])]
    compare(people.Size(), chosen)
