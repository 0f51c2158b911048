"""A request that nobody waits for is stopped, and a slow one delays nobody."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client
from tests.surfaces.http.conftest import TOKENS, serving
from tests.surfaces.mcp.agents import SCHEMA, SLOW, Agent, over_http, over_stdio

import omnigraph as og

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """So many people that a query about four of them takes longer than anybody waits."""
    path = tmp_path_factory.mktemp("crowd") / "people.omni"
    with og.init(path, schema=SCHEMA, durability="os") as graph:
        graph.load([{"type": "Person", "data": {"name": f"P{n}", "age": n}} for n in range(1_200)], mode="append")
    return path


@pytest.fixture(scope="module", params=["stdio", "http"])
def agent(request: pytest.FixtureRequest, crowd: Path) -> Iterator[Agent]:
    if request.param == "stdio":
        with over_stdio(crowd) as found:
            yield found
    else:
        with serving(crowd) as running, over_http(f"{running.url}/graphs/people/mcp", TOKENS["ada"]) as found:
            yield found


async def _cancelled_after(client: Client, seconds: float) -> float:
    """How long it takes until a slow query that is cancelled is out of the way, in seconds after that."""
    begun = time.monotonic()
    with anyio.move_on_after(seconds) as scope:
        await client.call_tool("query", {"query": SLOW})
    assert scope.cancelled_caught, f"it was to be slow, and took {time.monotonic() - begun:.2f} s"
    return time.monotonic() - begun - seconds


async def _beside_a_slow_one(client: Client) -> list[float]:
    """How long quick calls take while a slow one runs."""
    took = []
    async with anyio.create_task_group() as group:

        async def slow() -> None:
            await client.call_tool("query", {"query": SLOW})

        group.start_soon(slow)
        await anyio.sleep(0.3)
        for _ in range(10):
            begun = time.monotonic()
            await client.call_tool("health", {})
            took.append(time.monotonic() - begun)
        group.cancel_scope.cancel()
    return took


def test_a_slow_query_delays_nobody(agent: Agent) -> None:
    took = agent.portal.call(_beside_a_slow_one, agent.client)
    assert sorted(took)[len(took) // 2] < 1.0, took


def test_cancelling_stops_the_query(agent: Agent) -> None:
    """More slow queries than run at a time: if cancelling did not stop them, the last ones would wait for ever."""

    async def many(client: Client) -> float:
        for _ in range(20):
            await _cancelled_after(client, 0.05)
        begun = time.monotonic()
        await client.call_tool("query", {"query": 'query q() { match { $p: Person { name: "P1" } } return { $p.name } }'})
        return time.monotonic() - begun

    assert agent.portal.call(many, agent.client) < 5.0


def test_a_tool_hears_at_once_that_nobody_waits() -> None:
    """In this process, where it can be measured: from the cancellation to the thread that knows of it."""
    from threading import Event

    from omnigraph.surfaces.mcp.stdio import Threads

    heard: list[float] = []

    def work(cancel: Event) -> None:
        assert cancel.wait(10)
        heard.append(time.monotonic())

    async def measured() -> float:
        threads = Threads()
        with anyio.move_on_after(0.1) as scope:
            await threads(work, writes=False)
        assert scope.cancelled_caught
        left = time.monotonic()
        while not heard:
            await anyio.sleep(0.001)
        return heard[0] - left

    assert anyio.run(measured) < 0.1


def test_a_write_that_has_begun_ends() -> None:
    from threading import Event

    from omnigraph.surfaces.mcp.stdio import Threads

    done: list[int] = []

    def work(cancel: Event) -> None:
        time.sleep(0.2)
        done.append(1)

    async def measured() -> None:
        with anyio.move_on_after(0.05):
            await Threads()(work, writes=True)
        assert done == [1]

    anyio.run(measured)


def test_the_process_ends_with_its_client_although_a_query_runs(crowd: Path) -> None:
    begun = 0.0
    with over_stdio(crowd) as found:

        async def abandon(client: Client) -> None:
            with anyio.move_on_after(0.3):
                await client.call_tool("query", {"query": SLOW})

        found.portal.call(abandon, found.client)
        begun = time.monotonic()
    assert time.monotonic() - begun < 10.0
