"""How much time our own work adds to that of an embedding provider: 100,000 texts, 100 a request, through a server beside it.

The server is a process of its own that speaks OpenAI's protocol, answers every request after exactly the same time (`LATENCY`),
and keeps count of how many are under way. So the time that cannot be undercut is known:

    requests / requests under way × latency       1,000 / 16 × 0.2 s = 12.6 s (63 rounds)

*Overhead* is what comes on top, as a share of it. Measured are the provider alone (texts in a list, vectors in an array), and
`g.embed` of a graph, which also reads the texts, keeps every answer on disk before it goes on, writes the rows and commits.

    python -m benchmarks.embedding 10000            a short run of that many texts
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measuring import Measurement

TEXTS, BATCH, IN_FLIGHT, LATENCY, DIMENSION = 100_000, 100, 16, 0.2, 64
MOST_OVERHEAD = 0.10
LEAST_UNDER_WAY = 8
SCHEMA = f'node Doc {{ slug: String @key  text: String?  vec: Vector({DIMENSION})? @embed("text") }}'


def measure() -> list[Measurement]:
    """Time embedding through a local server."""
    measured = []
    for what, seconds, ideal, under_way in runs(TEXTS):
        assert under_way >= LEAST_UNDER_WAY, f"only {under_way:.1f} requests were under way on average"
        name = f"{what}: {TEXTS:,} texts, {BATCH} a request, {LATENCY * 1000:g} ms each, {under_way:.1f} under way"
        measured.append(
            Measurement(name, seconds * 1000, "the server's own time", ideal * 1000, ideal * 1000 * (1 + MOST_OVERHEAD))
        )
    return measured


def runs(count: int) -> list[tuple[str, float, float, float]]:
    """What was done, seconds, seconds that it takes at least, and requests under way on average."""
    import omnigraph as og
    from omnigraph.embedding.paced import Paced

    texts = [f"text number {n} about nothing in particular" for n in range(count)]
    ideal = math.ceil(math.ceil(count / BATCH) / IN_FLIGHT) * LATENCY
    found = []
    with _Server() as server:
        pace = og.Pace(batch=BATCH, in_flight=IN_FLIGHT)
        provider = og.embedding_provider("openai-compatible", base_url=server.url, model="m", pace=pace)
        provider.embed(texts[: BATCH * IN_FLIGHT], DIMENSION)  # connections are open, modules imported

        def timed(what: str, work: object) -> None:
            server.take()
            begun = time.perf_counter()
            work()  # type: ignore[operator]
            seconds = time.perf_counter() - begun
            found.append((what, seconds, ideal, server.take() / seconds))

        timed("the provider alone", lambda: Paced(provider, pace).embed(texts, DIMENSION))
        folder = Path(tempfile.mkdtemp(prefix="omnigraph-embedding-"))
        try:
            with og.init(folder / "g", schema=SCHEMA, embedder=provider) as graph:
                graph.load([{"type": "Doc", "data": {"slug": f"d{n}", "text": text}} for n, text in enumerate(texts)])
                timed("g.embed", lambda: graph.embed(pace=pace))
        finally:
            shutil.rmtree(folder)
    return found


class _Server:
    """The server, in a process of its own."""

    def __enter__(self) -> _Server:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        line = [sys.executable, "-m", "benchmarks.embedding", "serve"]
        self._process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        return self

    def take(self) -> float:
        """Seconds that requests were under way since the last call, added up."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


async def _serve() -> None:
    chance = random.Random(7)
    busy = 0.0
    vectors = [[round(chance.uniform(-1, 1), 6) for _ in range(DIMENSION)] for _ in range(BATCH)]

    def body(count: int) -> bytes:
        items = [{"object": "embedding", "index": n, "embedding": vectors[n]} for n in range(count)]
        said = json.dumps(
            {"data": items, "model": "m", "usage": {"prompt_tokens": 7 * count, "total_tokens": 7 * count}}
        ).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(said) + said

    whole = body(BATCH)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal busy
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                begun = time.perf_counter()
                size = next(
                    int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
                )
                asked = await reader.readexactly(size)
                count = asked.count(b'","') + 1 - asked.count(b'"model":"m","')
                reply = whole if count == BATCH else body(count)
                await asyncio.sleep(LATENCY - (time.perf_counter() - begun))
                writer.write(reply)
                await writer.drain()
                busy += time.perf_counter() - begun
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=1 << 22)
    print(server.sockets[0].getsockname()[1], flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(busy, flush=True)
        busy = 0.0


def main() -> None:
    """Serve, or a short run."""
    if sys.argv[1:] == ["serve"]:
        asyncio.run(_serve())
        return
    for what, seconds, ideal, under_way in runs(int(sys.argv[1]) if len(sys.argv) > 1 else TEXTS):
        print(f"{what}: {seconds:.2f} s, at least {ideal:.2f} s, {seconds / ideal - 1:+.1%}, {under_way:.1f} under way")


if __name__ == "__main__":
    main()
