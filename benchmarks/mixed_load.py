"""Ten minutes of everything at once against a server: does its memory stay where it was after the first minute, and does all of
it succeed?

Over raw connections: point queries, walks, answers of 10,000 rows as JSON and as Arrow, and writers that insert, change and
delete what they inserted, so that the graph does not grow. Beside them one client of ours that exports, reads the change feed,
makes a branch, writes to it, merges and deletes it. An answer that is no success ends the run.

    python -m benchmarks.mixed_load 60            a short run of so many seconds
"""

from __future__ import annotations

import asyncio
import io
import statistics
import sys
import threading
import time
from itertools import count

import uvloop

import omnigraph as og
from benchmarks import server
from benchmarks.measuring import Measurement, scratch_folder
from benchmarks.server import ADD, MANY, PERSONS, POINT, TOKEN, query, request

SECONDS = 600.0
MOST_GROWTH = 1.05
HOP = "query hop($n: String) { match { $p: Person { name: $n }  $p knows $q } return { $q.name, $q.age } }"
CHANGE = "query change($n: String) { update Person set { age: 2 } where name = $n }"
DELETE = "query gone($n: String) { delete Person where name = $n }"
ARROW = "application/vnd.apache.arrow.stream"


def measure(seconds: float = SECONDS) -> list[Measurement]:
    """Serve everything at once for a while."""
    with server.serving(server._fill(scratch_folder())) as (process, port):
        return _run(process.pid, port, seconds)


def _run(pid: int, port: int, seconds: float) -> list[Measurement]:
    begun, until = time.perf_counter(), time.perf_counter() + seconds
    seen: list[tuple[float, float]] = []
    times: dict[str, list[float]] = {"point query": [], "hop": [], "10,000 rows": [], "commit": []}
    failed: list[BaseException] = []

    def watch() -> None:
        while time.perf_counter() < until:
            seen.append((time.perf_counter() - begun, server._resident(pid)))
            time.sleep(1)

    def client() -> None:
        try:
            _client(port, until)
        except BaseException as error:  # told by the main thread
            failed.append(error)

    threads = [threading.Thread(target=watch), threading.Thread(target=client)]
    for thread in threads:
        thread.start()
    uvloop.run(_clients(port, until, times))
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    first = statistics.median(mb for at, mb in seen if seconds / 10 <= at < seconds / 5)
    last = statistics.median(mb for at, mb in seen if at >= seconds * 0.9)
    what = f"{seconds / 60:g} minutes of mixed load ({sum(map(len, times.values())):,} requests, none failed): memory at the end"
    found = [Measurement(what, last, "after the first tenth", first, first * MOST_GROWTH, "MB")]
    return found + [
        Measurement(
            f"a {name} among them, slowest of 100", sorted(each)[len(each) * 99 // 100], "median", statistics.median(each)
        )
        for name, each in times.items()
    ]


async def _clients(port: int, until: float, times: dict[str, list[float]]) -> None:
    points = [[query(POINT, n=f"p{(c * 613 + n * 17) % PERSONS:06d}") for n in range(500)] for c in range(8)]
    hops = [query(HOP, n=f"p{n * 31 % PERSONS:06d}") for n in range(500)]
    many = [query(MANY), request("POST", "/graphs/people/query", {"query": MANY}, ARROW)]
    await asyncio.gather(
        *(server._ask(port, each, until, times["point query"]) for each in points),
        server._ask(port, hops, until, times["hop"]),
        server._ask(port, many, until, times["10,000 rows"]),
        *(server._ask(port, _writes(f"w{n}"), until, times["commit"]) for n in range(4)),
    )


def _writes(who: str) -> list[bytes]:
    """One person after the other is inserted, changed and deleted."""
    return [
        request("POST", "/graphs/people/mutate", {"query": text, "params": {"n": f"{who}-{number}"}})
        for number in range(2_000)
        for text in (ADD, CHANGE, DELETE)
    ]


def _client(port: int, until: float) -> None:
    with og.connect(f"http://127.0.0.1:{port}", graph="people", token=TOKEN) as graph:
        cursor = graph.baseline().cursor
        for number in count():
            if time.perf_counter() > until:
                return
            branch = f"work/{number}"
            graph.branches.create(branch)
            graph.mutate(ADD, {"n": f"b{number}"}, branch=branch)
            graph.merge(branch)
            graph.branches.delete(branch)
            graph.mutate(DELETE, {"n": f"b{number}"})
            cursor = graph.changes(cursor).cursor or cursor
            if number % 10 == 0:
                graph.export(io.BytesIO())
            time.sleep(0.5)


if __name__ == "__main__":
    for measurement in measure(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS):
        print(measurement)
