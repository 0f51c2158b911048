"""Memory tools: on graphs with the schema of memories, over both ways, confined and not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError
from tests.surfaces.http.conftest import TOKENS, serving
from tests.surfaces.mcp.agents import Agent, over_http, over_stdio

import omnigraph as og
from omnigraph.memory import Memory, schema
from omnigraph.surfaces.mcp.tools import MEMORY_TOOLS

NAMES = {"remember", "recall", "relate", "forget"}
MOCK = {"OMNIGRAPH_EMBEDDINGS_MOCK": "1"}


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """A graph for memories, with one on main and one that is nobody's business."""
    path = tmp_path / "team.omni"
    with og.init(path, schema=schema("memory", dimension=8), durability="os") as graph:
        Memory(graph, agent="ada", branch="main").remember("The office is in Oslo", about=["office"], source="wiki")
        Memory(graph, agent="eve", branch="agent/eve").remember("Mallory pays for the office", about=["office"])
    return path


@pytest.fixture(params=["stdio", "http"])
def unconfined(request: pytest.FixtureRequest, team: Path) -> Iterator[Agent]:
    """An agent with the whole graph."""
    if request.param == "stdio":
        with over_stdio(team, "--as", "ada", environment=MOCK) as agent:
            yield agent
        return
    with serving(team) as running, over_http(f"{running.url}/graphs/team/mcp", TOKENS["ada"]) as agent:
        yield agent


@pytest.fixture
def inside(team: Path) -> Iterator[Agent]:
    """An agent that is confined to its branch."""
    with over_stdio(team, "--branch", "agent/{client}", environment=MOCK) as agent:
        yield agent


def test_every_memory_tool_is_driven_here(unconfined: Agent, team: Path) -> None:
    assert {tool.name for tool in MEMORY_TOOLS} == NAMES
    shown = unconfined.tools()
    assert set(shown) >= NAMES
    for name in NAMES:
        assert shown[name].input_schema["additionalProperties"] is False
        assert all("description" in about for about in shown[name].input_schema["properties"].values())
    said = {"text": "Grace prefers tea", "about": ["Grace"], "source": "chat-17", "halfLifeDays": 30, "branch": "agent/ada"}
    first = unconfined.data("remember", **said)
    assert (first["branch"], first["changed"]) == ("agent/ada", True)
    again = unconfined.data("remember", **said)
    assert (again["id"], again["changed"], again["commit"]) == (first["id"], False, first["commit"])
    related = {"subject": "Grace", "how": "works_at", "object": "Acme", "branch": "agent/ada"}
    assert unconfined.data("relate", **related)["changed"]
    found = unconfined.data("recall", question="does Grace prefer tea?", branch="agent/ada")
    assert found["memories"][0]["text"] == "Grace prefers tea"
    assert (found["memories"][0]["sources"], found["memories"][0]["agents"]) == (["chat-17"], ["ada"])
    assert found["relations"] == [{"from": "Grace", "how": "works_at", "to": "Acme", "confidence": 1.0}]
    assert unconfined.data("recall", question="office")["memories"][0]["text"] == "The office is in Oslo"
    gone = unconfined.data("forget", about="Grace", branch="agent/ada")
    assert (gone["deleted"], gone["cascaded"]["RelatesTo"]) == ({"Memory": 1, "Entity": 1}, 1)
    with og.open(team) as graph:
        assert graph.commit("agent/ada").actor == "ada"


def test_bad_input_is_an_answer(unconfined: Agent) -> None:
    assert "confidence" in unconfined.error("remember", text="x", confidence=7)["error"]
    assert "from 1 to 100" in unconfined.error("recall", question="x", k=1000)["error"]
    assert "one of" in unconfined.error("forget")["error"]
    assert unconfined.error("recall", question="x", branch="nowhere")["status"] == 404
    assert "no moment" in unconfined.error("recall", question="x", at="yesterday")["error"]


def test_an_agent_stays_on_its_branch(inside: Agent, team: Path) -> None:
    assert [m["text"] for m in inside.data("recall", question="who pays for the office")["memories"]] == ["The office is in Oslo"]
    with og.open(team) as graph:
        assert graph.branches.list() == ["agent/eve", "main"], "asking creates nothing"
        heads = {name: graph.commit(name).id for name in graph.branches.list()}
    assert inside.data("remember", text="Grace prefers tea", about=["Grace"])["branch"] == "agent/tests"
    assert inside.data("recall", question="tea")["branch"] == "agent/tests"
    for other in ("main", "agent/eve", "agent/new", " agent/eve "):
        for tool, arguments in (
            ("remember", {"text": "x"}),
            ("recall", {"question": "Mallory"}),
            ("relate", {"subject": "a", "how": "b", "object": "c"}),
            ("forget", {"about": "office"}),
        ):
            said = inside.error(tool, **arguments, branch=other)
            assert said["status"] == 403, (tool, other, said)
            assert "Mallory" not in said["error"]
    assert inside.data("forget", about="office")["deleted"] == {"Memory": 1, "Entity": 1}
    with og.open(team) as graph:
        assert {name: graph.commit(name).id for name in heads} == heads
        assert graph.branches.list() == ["agent/eve", "agent/tests", "main"]


def test_the_first_forget_creates_the_branch_too(inside: Agent) -> None:
    assert inside.data("forget", source="wiki")["deleted"] == {"Memory": 1, "Source": 1}
    assert inside.data("recall", question="office")["memories"] == []


def test_answers_are_bounded(team: Path) -> None:
    with og.open(team) as graph:
        memory = Memory(graph, agent="ada", branch="main")
        for number in range(30):
            memory.remember(f"office {number} " + "x" * 16_000)
    with over_stdio(team) as agent:
        found = agent.data("recall", question="office", k=100)
        assert 0 < len(found["memories"]) < 31
        assert found["left_out"] == 31 - len(found["memories"])


def test_they_are_offered_where_there_is_a_memory(stdio: Agent, team: Path) -> None:
    assert not NAMES & set(stdio.tools())
    with pytest.raises(MCPError):
        stdio.call("remember", {"text": "x"})
    with over_stdio(team, "--read-only") as agent:
        assert set(agent.tools()) & NAMES == {"recall"}
        with pytest.raises(MCPError):
            agent.call("forget", {"about": "office"})
