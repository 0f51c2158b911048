"""A server gives back what is free in its heaps."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from omnigraph.surfaces.http.process import server
from omnigraph.surfaces.http.process.allocator import GIVEN_BACK_EVERY, give_back

GAPS = """
from omnigraph.surfaces.http.process.allocator import give_back
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
kept = [bytearray(900) for _ in range(200_000)]
last = bytearray(900)
full = resident()
kept = kept[::1000]                                # one in a thousand stays, in the middle of what is free
before = resident()
give_back()
print(full, before, resident())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is measured by /proc")
def test_gaps_are_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", GAPS], capture_output=True, text=True, check=True)
    full, before, after = map(int, done.stdout.split())
    assert before > full - 50_000_000, "nothing to give back: the heap ended with it"
    assert after < before - 100_000_000


def test_a_server_does_it_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now, asked = 100.0, list[Any]()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    running = object.__new__(server._Server)
    running.__dict__.update(
        _gave_back=now,
        _reload=False,
        should_exit=False,
        config=SimpleNamespace(
            callback_notify=None, timeout_notify=1, limit_max_requests=None, date_header=False, server_header=False, headers=[]
        ),
        server_state=SimpleNamespace(default_headers=[], total_requests=0),
        limit_max_requests=None,
        _application=SimpleNamespace(threads=SimpleNamespace(later=asked.append)),
    )

    async def tick() -> None:
        await running.on_tick(1)

    for seconds, times in ((1, 0), (GIVEN_BACK_EVERY, 1), (1, 1), (GIVEN_BACK_EVERY, 2)):
        now += seconds
        asyncio.run(tick())
        assert asked == [give_back] * times
