"""What the HTTP server answers per second, beside an empty route of the same stack, and what it costs to have it idle.

The server is a process of its own with one worker; the load comes from this one, over 32 connections on loopback, with requests
that are bytes already. So what is measured is the server's core, not ours. Arms take turns.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pyarrow as pa
import uvloop

import omnigraph as og
from benchmarks.measuring import Measurement, scratch_folder

CONNECTIONS = 32
SECONDS = 2.0
ROUNDS = 4
PERSONS = 20_000
TOKEN = "benchmark"
SCHEMA = "node Person { name: String @key  age: I32  city: String  score: F64 }  edge Knows: Person -> Person"
POINT = "query one($n: String) { match { $p: Person { name: $n } } return { $p.name, $p.age } }"
MANY = "query many() { match { $p: Person } return { $p.name, $p.age, $p.city, $p.score } limit 10000 }"
ADD = 'query add($n: String) { insert Person { name: $n, age: 1, city: "x", score: 0.5 } }'
SLOW = 'query slow() { match { $a: Person { city: "city 1" }  $a knows $b  $b knows $c  $c knows $d } return { count($d) as n } }'

POOL_ONLY = "from omnigraph.surfaces.http import quick; quick._SECONDS = -1.0"
"""A server whose reads all go to threads."""


def request(method: str, path: str, body: object = None, accept: str = "application/json") -> bytes:
    """A request as bytes."""
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nAccept: {accept}\r\n"
    kind = "" if body is None else f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
    return f"{head}{kind}\r\n".encode() + data


def query(text: str, **params: object) -> bytes:
    """A read."""
    return request("POST", "/graphs/people/query", {"query": text, "params": params or None})


@dataclass(frozen=True)
class Load:
    """What came of asking for a while."""

    per_second: float
    times: list[float]

    @property
    def p50(self) -> float:
        return statistics.median(self.times)

    @property
    def p99(self) -> float:
        return sorted(self.times)[len(self.times) * 99 // 100]


class _Asking(asyncio.Protocol):
    """Asks one request after the other on a connection. Written for little work: it shares the machine with the server."""

    def __init__(self, requests: Sequence[bytes], until: float, times: list[float]) -> None:
        self._requests, self._until, self._times = requests, until, times
        self._at, self._begun = 0, 0.0
        self._came, self._wanted = bytearray(), -1
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._ask()

    def _ask(self) -> None:
        self._begun = time.perf_counter()
        if self._begun >= self._until:
            self._transport.close()
            return
        self._transport.write(self._requests[self._at % len(self._requests)])
        self._at += 1

    def data_received(self, data: bytes) -> None:
        self._came += data
        if self._wanted < 0:
            end = self._came.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self._came[:end]).lower()
            self._wanted = end + 4 + int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(self._came) < self._wanted:
            return
        if not self._came.startswith(b"HTTP/1.1 200"):
            self.over.set_exception(AssertionError(bytes(self._came)))
            self._transport.close()
            return
        self._times.append((time.perf_counter() - self._begun) * 1000)
        self._came.clear()
        self._wanted = -1
        self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.over.done():
            is_early = error is not None or time.perf_counter() < self._until
            self.over.set_exception(error or ConnectionError("closed by the server")) if is_early else self.over.set_result(None)


async def _ask(port: int, requests: Sequence[bytes], until: float, times: list[float]) -> None:
    loop = asyncio.get_running_loop()
    _, asking = await loop.create_connection(lambda: _Asking(requests, until, times), "127.0.0.1", port)
    await asking.over


def load(port: int, requests: Sequence[Sequence[bytes]], seconds: float = SECONDS) -> Load:
    """Ask over as many connections as there are lists of requests."""

    async def run() -> list[float]:
        times: list[float] = []
        until = time.perf_counter() + seconds
        await asyncio.gather(*(_ask(port, each, until, times) for each in requests))
        return times

    begun = time.perf_counter()
    times = uvloop.run(run())
    return Load(len(times) / (time.perf_counter() - begun), times)


@contextmanager
def serving(graph: Path, *more: str, before: str = "") -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server process and its port."""
    program = f"{before}\nfrom omnigraph.surfaces.http.process.command import start; start()"
    environment = {**os.environ, "OMNIGRAPH_SERVER_BEARER_TOKEN": TOKEN, "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "64"}
    command = [sys.executable, "-c", program, "--bind", "127.0.0.1:0", "--log-level", "error", *more, f"people={graph}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        try:
            yield process, port
        finally:
            process.send_signal(signal.SIGTERM)


def _fill(folder: Path) -> Path:
    graph = og.init(folder / "people.omni", schema=SCHEMA)
    names = [f"p{n:06d}" for n in range(PERSONS)]
    persons = {
        "name": names,
        "age": pa.array([n % 90 for n in range(PERSONS)], pa.int32()),
        "city": [f"city {n % 50}" for n in range(PERSONS)],
        "score": [n / 7 for n in range(PERSONS)],
    }
    knows = {
        "src": [names[n % PERSONS] for n in range(10 * PERSONS)],
        "dst": [names[n * 7919 % PERSONS] for n in range(10 * PERSONS)],
    }
    graph.load({"Person": pa.table(persons), "Knows": pa.table(knows)}, mode="append")
    graph.optimize()
    graph.close()
    return folder / "people.omni"


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure() -> list[Measurement]:
    """Time a server."""
    graph = _fill(scratch_folder())
    return [*_reads(graph), *_beside(graph), *_workers(graph), *_writes(graph), *_idle(graph)]


def _point_requests() -> list[list[bytes]]:
    return [[query(POINT, n=f"p{(c * 613 + n * 17) % PERSONS:06d}") for n in range(200)] for c in range(CONNECTIONS)]


def _reads(graph: Path) -> list[Measurement]:
    empty = [[request("GET", "/healthz")]] * CONNECTIONS
    points = _point_requests()
    with serving(graph) as (_, port), serving(graph, before=POOL_ONLY) as (_, pooled):
        for warm in (port, pooled):
            load(warm, points, 1.0)
        found: dict[str, list[Load]] = {"empty": [], "point": [], "pooled": []}
        for _ in range(ROUNDS):
            found["empty"].append(load(port, empty))
            found["point"].append(load(port, points))
            found["pooled"].append(load(pooled, points))
        rate = {name: statistics.median(each.per_second for each in loads) for name, loads in found.items()}
        times = [t for each in found["point"] for t in each.times]
        half, slowest = statistics.median(times), sorted(times)[len(times) * 99 // 100]
        rows = og.open(graph).query(MANY).to_dict()["rows"]
        dumps = statistics.median(_timed(lambda: json.dumps(rows)) for _ in range(9))
        as_json = load(port, [[query(MANY)]]).p50
        arrow = [[request("POST", "/graphs/people/query", {"query": MANY}, "application/vnd.apache.arrow.stream")]]
        as_arrow = load(port, arrow).p50
    per = {name: 1000 / value for name, value in rate.items()}
    return [
        Measurement(
            "a point query, time of the server per request", per["point"], "an empty route", per["empty"], per["empty"] / 0.3
        ),
        Measurement(
            "a point query, time of the server per request", per["point"], "through threads", per["pooled"], per["pooled"] / 2
        ),
        Measurement(f"a point query among {CONNECTIONS} connections, slowest of 100", slowest, "median", half, half * 5),
        Measurement("10,000 rows as JSON", as_json, "json.dumps of the same rows", dumps, 2 * dumps),
        Measurement("10,000 rows as Arrow", as_arrow, "json.dumps of the same rows", dumps, 0.3 * dumps),
    ]


def _timed(work: object) -> float:
    begun = time.perf_counter()
    work()  # type: ignore[operator]
    return (time.perf_counter() - begun) * 1000


def _beside(graph: Path) -> list[Measurement]:
    """Point queries of one client, alone and beside another one's slow reads."""
    points = _point_requests()[:1]
    with serving(graph) as (_, port):
        load(port, points, 0.5)
        alone = [load(port, points, 1.0).p50 for _ in range(ROUNDS)]
        beside = []
        for _ in range(ROUNDS):
            times: list[float] = []
            slow: list[float] = []

            async def run(times: list[float] = times, slow: list[float] = slow) -> None:
                until = time.perf_counter() + 1.5
                await asyncio.gather(_ask(port, [query(SLOW)], until, slow), _ask(port, points[0], until, times))

            uvloop.run(run())
            beside.append(statistics.median(times))
    first, second = statistics.median(alone), statistics.median(beside)
    return [Measurement("a point query beside a slow read", second, "alone", first, 2 * first)]


def _workers(graph: Path) -> list[Measurement]:
    points = _point_requests()
    with serving(graph) as (_, one), serving(graph, "--workers", "2") as (_, two):
        for port in (one, two):
            load(port, points, 1.0)
        rates: dict[int, list[float]] = {one: [], two: []}
        for _ in range(ROUNDS):
            for port in (one, two):
                rates[port].append(load(port, points).per_second)
    single, double = (1000 / statistics.median(rates[port]) for port in (one, two))
    return [Measurement("a point query with two workers, per request", double, "one worker", single, single / 1.6)]


def _writes(graph: Path) -> list[Measurement]:
    with serving(graph) as (_, port):

        def adding(who: str) -> list[bytes]:
            return [request("POST", "/graphs/people/mutate", {"query": ADD, "params": {"n": f"{who}-{n}"}}) for n in range(4_000)]

        load(port, [adding("warm")], 0.5)
        alone, together = [], []
        for turn in range(ROUNDS):
            alone.append(load(port, [adding(f"a{turn}")]).per_second)
            together.append(load(port, [adding(f"t{turn}-{c}") for c in range(16)]).per_second)
    one, many = 1000 / statistics.median(alone), 1000 / statistics.median(together)
    return [Measurement("a commit of 16 clients", many, "a commit of one client", one, one / 5)]


def _idle(graph: Path) -> list[Measurement]:
    with serving(graph) as (process, port):
        load(port, [[request("GET", "/healthz")]], 0.2)

        async def hold() -> float:
            before = _resident(process.pid)
            open_ = [await asyncio.open_connection("127.0.0.1", port) for _ in range(1_000)]
            for _, writer in open_:
                writer.write(request("GET", "/healthz"))
            for reader, _ in open_:
                await reader.readuntil(b"}")
            taken = _resident(process.pid) - before
            for _, writer in open_:
                writer.close()
            return taken

        taken = uvloop.run(hold())
    return [Measurement("1,000 idle connections", taken, "the bound", 60.0, 60.0, "MB")]


if __name__ == "__main__":
    for measurement in measure():
        print(measurement)
