"""Graphs in an event loop: the same methods, awaited; the loop goes on meanwhile, and who gives up is not waited for."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.served import Server
from tests.surfaces.http.conftest import people

import omnigraph as og
from omnigraph.engine import any_graph

NAMES = "query names() { match { $p: Person } return { $p.name as name } order { $p.name asc } }"
SLOW = "query slow() { match { $a: Person  $b: Person  $c: Person  $d: Person  $e: Person } return { count($a) as n } }"


@pytest.fixture(scope="module")
def http() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture(params=["here", "served"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, http: Server) -> Any:
    where = people(tmp_path)
    if request.param == "here":
        return lambda **options: og.open_async(where, durability="os", **options)
    graph_id = http.graphs.hold(og.open(where, durability="os"))
    return lambda **options: og.connect_async(http.url, graph=graph_id, token="ada", **options)


def test_methods_are_awaited(opened: Any) -> None:
    async def main() -> None:
        async with await opened() as g:
            assert [row["name"] for row in (await g.query(NAMES)).rows] == ["Ada", "Bob"]
            await g.branches.create("work")
            receipt = await g.mutate('query add() { insert Person { name: "Eve" } }', branch="work")
            async with await g.session("work") as session:
                await g.load([{"type": "Person", "data": {"name": "Zoe"}}], branch="work")
                assert len(await session.query(NAMES)) == 3
                assert session.graph_commit_id == receipt.commit.id
            assert (await g.diff("main", "work")).stats.inserts == 2
            await g.tags.create("v1", "work")
            assert [tag.name for tag in await g.tags.list()] == ["v1"]
            review = await g.reviews.approve(await g.reviews.create("work", title="Eve and Zoe"))
            assert len((await g.reviews.diff(review)).diff) == 2
            assert [(r.id, r.state) for r in await g.reviews.list()] == [(1, "approved")]
            found = [name for batch in [b async for b in g.stream(NAMES, branch="work")] for name in batch["name"].to_pylist()]
            assert found == ["Ada", "Bob", "Eve", "Zoe"]
            with pytest.raises(og.TypeCheckError):
                await g.query("query q() { match { $p: Nobody } return { $p.name } }")
            assert repr(g).startswith("Awaitable: Graph at ")

    asyncio.run(main())


def test_the_loop_goes_on_and_a_read_is_given_up(opened: Any) -> None:
    async def main() -> None:
        async with await opened() as g:
            await g.load([{"type": "Person", "data": {"name": f"p{n}"}} for n in range(60)])
            running = asyncio.create_task(g.query(SLOW))
            begun, ticks = time.perf_counter(), 0
            while time.perf_counter() - begun < 0.2 and not running.done():
                await asyncio.sleep(0.005)
                ticks += 1
            assert ticks >= 5
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            answer = asyncio.create_task(g.query(NAMES))  # with one thread it waits until the other is over
            assert len(await asyncio.wait_for(answer, 20)) == 62

    asyncio.run(main())


@pytest.mark.parametrize(
    ("face", "protocol"),
    [
        pytest.param(og.AsyncGraph, any_graph.AnyGraph, id="graph"),
        pytest.param(og.AsyncSession, any_graph.AnySession, id="session"),
        pytest.param(og.AsyncBranches, any_graph.AnyBranches, id="branches"),
        pytest.param(og.AsyncTags, any_graph.AnyTags, id="tags"),
        pytest.param(og.AsyncReviews, any_graph.AnyReviews, id="reviews"),
    ],
)
def test_every_method_is_there_with_its_parameters(face: type, protocol: type) -> None:
    own = {"close", "session", "stream", "queries"}
    for name, function in vars(protocol).items():
        if name.startswith("_") or not inspect.isfunction(function) or name in own:
            continue
        made = getattr(face, name)
        assert inspect.iscoroutinefunction(made), name
        assert inspect.signature(made) == inspect.signature(function), name


def test_what_has_no_awaitable_form_says_what_to_do_instead(opened: Any) -> None:
    async def main() -> None:
        async with await opened() as g:
            calls: list[Callable[[], object]] = [
                lambda: g.analytics,
                lambda: g.queries("lib.gq"),
                lambda: g.transaction(),
                lambda: g.to_networkx(),
            ]
            for call in calls:
                with pytest.raises(og.ScopeError) as refused:
                    call()
                assert "event loop" in str(refused.value)
                assert refused.value.hint

    asyncio.run(main())


def test_whatever_a_graph_offers_is_awaited_or_refused_with_advice() -> None:
    public = {name for name in dir(og.Graph) if not name.startswith("_")}
    assert public - set(dir(og.AsyncGraph)) == set()
    assert public - set(dir(og.RemoteGraph)) == set()
