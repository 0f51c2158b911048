"""Writes that arrive at the same moment: handed over together, told one by one."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.surfaces.http.conftest import NO_CERTIFICATES, TOKENS, serving

import omnigraph as og
from omnigraph.surfaces.http import together

SCHEMA = "node Person { name: String @key  age: I32? }  edge Knows: Person -> Person"
ADD = "query add($n: String, $a: I32) { insert Person { name: $n, age: $a } }"
KNOW = "query know($a: String, $b: String) { insert Knows { from: $a, to: $b } }"
OLDER = "query older($a: I32) { update Person set { age: $a } where age < $a }"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    g = og.init(tmp_path / "people.omni", SCHEMA)
    g.mutate(ADD, {"n": "a", "a": 1})
    g.branches.create("work/one")
    g.close()
    return tmp_path / "people.omni"


async def _at_once(url: str, requests: list[tuple[str, dict[str, Any]]]) -> list[httpx.Response]:
    limits = httpx.Limits(max_connections=len(requests))
    async with httpx.AsyncClient(base_url=f"{url}/graphs/people", timeout=60, limits=limits, verify=NO_CERTIFICATES) as client:
        posts = [client.post("/mutate", json=body, headers={"Authorization": f"Bearer {TOKENS[who]}"}) for who, body in requests]
        return await asyncio.gather(*posts)


def add(name: Any, age: Any = 1, **more: Any) -> dict[str, Any]:
    return {"query": ADD, "params": {"n": name, "a": age}, **more}


def test_each_is_told_what_came_of_its_own(people: Path) -> None:
    """Right and wrong ones, of two actors, on two branches, quick ones and slow ones, several times at once."""
    room = {"OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "64"}
    with serving(people, variables=room) as server:
        for turn in range(4):
            kinds: list[tuple[str, dict[str, Any], int]] = []
            for n in range(5):
                kinds += [
                    ("ada", add(f"{turn}-ada-{n}", message=f"m{n}"), 200),
                    ("bob", add(f"{turn}-bob-{n}", branch="work/one"), 200),
                    ("ada", add(f"{turn}-x-{n}", "old"), 400),
                    ("bob", {"query": KNOW, "params": {"a": "a", "b": "nobody"}}, 400),
                    ("bob", {"query": KNOW, "params": {"a": "a", "b": "a"}}, 200),
                    ("ada", add(f"{turn}-y-{n}", branch="nowhere"), 404),
                ]
            kinds.append(
                ("bob", {"query": OLDER, "params": {"a": 10 + turn}}, 409)
            )  # or done, if nobody changed what it looked at
            answers = asyncio.run(_at_once(server.url, [(who, body) for who, body, _ in kinds]))
            for (who, body, status), answer in zip(kinds, answers, strict=True):
                assert answer.status_code == status or (status, answer.status_code) == (409, 200), (body, answer.text)
                if status == 200:
                    told = answer.json()
                    assert told["actor_id"] == who
                    assert told["branch"] == body.get("branch", "main")
            commits = [a.json()["commit"]["graph_commit_id"] for a in answers if a.status_code == 200]
            assert len(set(commits)) == len(commits)
    g = og.open(people)
    made = Counter((c.actor, c.operation) for c in g.commits(limit=1_000))
    assert made["ada", "mutate"] == 20  # what is on main
    assert g.verify(content=True).ok
    names = {row["n"] for row in g.query("query q() { match { $p: Person } return { $p.name as n } }").rows}
    assert names == {"a", *(f"{t}-ada-{n}" for t in range(4) for n in range(5))}


def test_writes_that_have_begun_are_answered_when_the_server_is_told_to_stop(people: Path) -> None:
    with serving(people, variables={"OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "64"}) as server:
        asyncio.run(_at_once(server.url, [("ada", add("first"))]))

        async def run() -> list[httpx.Response | BaseException]:
            posts = [asyncio.ensure_future(_at_once(server.url, [("ada", add(f"{n}"))])) for n in range(24)]
            await asyncio.sleep(0.03)
            server.process.send_signal(signal.SIGTERM)
            found = await asyncio.gather(*posts, return_exceptions=True)
            return [one if isinstance(one, BaseException) else one[0] for one in found]

        answers = asyncio.run(run())
        server.process.wait(timeout=40)
    acknowledged = {str(n) for n, a in enumerate(answers) if isinstance(a, httpx.Response) and a.status_code == 200}
    there = {row["n"] for row in og.open(people).query("query q() { match { $p: Person } return { $p.name as n } }").rows}
    assert acknowledged <= there
    assert all(isinstance(a, httpx.Response | httpx.TransportError) for a in answers)


class Handed:
    """Threads that note down how many writes each of them was given, and run nothing before all have arrived."""

    def __init__(self) -> None:
        self.runs: list[Any] = []

    def write(self, work: Any) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.runs.append((work, future))
        return future


def test_those_of_one_turn_of_the_loop_share_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to so many; of each graph by itself."""
    monkeypatch.setattr(together, "MOST", 4)
    threads = Handed()
    writes = together.QuickWrites(threads)  # type: ignore[arg-type]

    class Use:
        service = object()

        def until(self, done: object) -> None: ...

    class Call:
        def __init__(self, graph: str) -> None:
            self.use, self.service = Use(), Use.service
            self.graph = type("G", (), {"id": graph, "uri": graph, "is_local": True})

    async def run() -> None:
        asks = [asyncio.ensure_future(writes._with_others(Call(g), None)) for g in ("a", "b", "a", "a", "a", "a")]  # type: ignore[arg-type]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert sorted(len(work.args[1]) for work, _ in threads.runs) == [1, 1, 4]
        for work, future in threads.runs:
            future.set_result([ValueError(n) if n == 2 else n for n in range(len(work.args[1]))])
        found = await asyncio.gather(*asks, return_exceptions=True)
        assert [repr(one) for one in found] == ["0", "0", "1", "ValueError(2)", "3", "0"]

    asyncio.run(run())
