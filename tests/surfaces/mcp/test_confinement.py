"""Nothing that an agent can say leaves its branch: every tool, every argument that can name a state, every way to name another one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from tests.surfaces.mcp.agents import ADD, NAMES, Agent, over_stdio, speaking, text

import omnigraph as og
from omnigraph.policy.port import PermitAll
from omnigraph.service import Caller, GraphRef, Origin
from omnigraph.service.confined import ConfinedService
from omnigraph.service.direct import DirectGraphs
from omnigraph.surfaces.mcp.instructions import confined
from omnigraph.surfaces.mcp.protocol import server
from omnigraph.surfaces.mcp.session import Session
from omnigraph.surfaces.mcp.stdio import OneClient
from omnigraph.surfaces.mcp.tools import TOOLS
from omnigraph.wire.outputs import GraphEntry, HealthOutput

OWN = "agent/tests"
SECRETS = ("Mallory", "secret", "hidden")
"""What is on the other branch, and what it and its tag are called."""


@pytest.fixture
def inside(graph: Path) -> Iterator[Agent]:
    """An agent that is confined to its branch, in this process."""
    graphs, ref = DirectGraphs(), GraphRef(str(graph), id="people")
    door = ConfinedService(graphs, OWN, allowed_by=PermitAll())

    def session(client: str, work: Any) -> Session:
        return Session(
            door=door,
            graphs={"people": ref},
            caller=lambda: Caller("tests", Origin.MCP),
            work=work,
            health=lambda: HealthOutput(version="0", internal_schema_version=1, server="0"),
            list_graphs=lambda caller: [GraphEntry(graph_id="people", uri=str(graph))],
            branch=OWN,
            confined=True,
        )

    with speaking(server(confined(OWN), OneClient(session)), "auto", "tests") as agent:
        yield agent
    graphs.close()


def others(path: Path) -> dict[str, str]:
    """Every way to name something that is not the agent's."""
    with og.open(path) as graph:
        head = graph.commit("secret")
        work = graph.commit("work")
    return {
        "a branch": "secret",
        "a branch with blanks around it": " secret ",
        "main": "main",
        "a commit": head.id,
        "a commit in small letters": head.id.lower(),
        "a commit of a third branch": work.id,
        "a tag": "hidden",
        "a branch at a time": "secret@2200-01-01T00:00:00Z",
        "main at a time": "main@2200-01-01T00:00:00Z",
        "two branches": f"{OWN}@secret",
        "a branch behind its own": f"{OWN}/../secret",
        "what is not there": "nothing",
        "an id that is not there": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    }


STATES = {
    "snapshot": ("branch",),
    "query": ("branch", "snapshot"),
    "query_lint": ("branch",),
    "query_explain": ("branch", "snapshot"),
    "commits_list": ("branch",),
    "commits_get": ("commitId",),
    "commits_changes": ("commitId",),
    "changes_poll": ("branch",),
    "diff": ("from", "to"),
    "history": ("branch",),
    "mutate": ("branch",),
    "load": ("branch", "from"),
}
"""Arguments that name a state, by tool."""

NAMELESS = {"health", "graphs_list", "schema_get", "branches_list", "tags_list"}
"""Tools without such an argument."""

HIDDEN = {"branches_create", "branches_delete", "branches_merge", "reviews_approve", "reviews_merge"}
"""Tools that are not there."""

REVIEWS = {"reviews_create", "reviews_list", "reviews_show", "reviews_comment"}
"""Tools by which it proposes its own branch: `test_it_proposes_its_branch_and_sees_no_other_review`."""

REST: dict[str, dict[str, Any]] = {
    "query": {"query": NAMES},
    "query_lint": {"query": NAMES},
    "query_explain": {"query": NAMES},
    "changes_poll": {"start": "beginning"},
    "history": {"type": "Person", "key": "Mallory"},
    "mutate": {"query": ADD, "params": {"n": "Intruder"}},
    "load": {"branch": OWN, "mode": "merge", "data": '{"type": "Company", "data": {"name": "Intruder"}}'},
}


def test_every_argument_that_names_a_state_is_tried_here(inside: Agent) -> None:
    assert set(STATES) | NAMELESS | HIDDEN | REVIEWS == {tool.name for tool in TOOLS}
    naming = {"branch", "snapshot", "from", "to", "commitId", "source", "target"}
    for name, tool in inside.tools().items():
        if name not in REVIEWS:
            assert set(tool.input_schema["properties"]) & naming == set(STATES.get(name, ())), name


@pytest.mark.parametrize("written", [False, True], ids=["before its first write", "afterwards"])
def test_no_argument_leads_elsewhere(inside: Agent, graph: Path, written: bool) -> None:
    if written:
        inside.data("mutate", query=ADD, params={"n": "Own"})
    before = state_of_others(graph)
    for (tool, arguments), (how, name) in product(STATES.items(), others(graph).items()):
        for argument in arguments:
            if (tool, argument) == ("load", "from") and (written or how == "main"):
                continue  # nothing is created where the branch is, and it is created from main
            found = inside.call(tool, {**REST.get(tool, {}), argument: name})
            assert found.is_error, (tool, argument, how, text(found))
            said = json.loads(text(found))
            assert said["status"] == 403, (tool, argument, how, said)
            assert not any(secret in text(found).replace(name, "") for secret in SECRETS), (tool, argument, how)
    assert state_of_others(graph) == before


def state_of_others(path: Path) -> dict[str, str]:
    with og.open(path) as graph:
        return {name: graph.commit(name).id for name in graph.branches.list() if name != OWN}


def test_what_is_not_there_is_refused_as_what_is_elsewhere(inside: Agent) -> None:
    told = {name: inside.error("query", query=NAMES, snapshot=name)["error"] for name in ("hidden", "nothing")}
    assert told["hidden"] == told["nothing"], "nobody learns by asking what there is"


def test_lists_hold_its_own_only(inside: Agent) -> None:
    assert inside.data("branches_list")["branches"] == []
    assert [t["name"] for t in inside.data("tags_list")["tags"]] == ["v1"], "a tag of main's past, which is its own"
    inside.data("mutate", query=ADD, params={"n": "Own"})
    assert inside.data("branches_list")["branches"] == [OWN]
    assert json.loads(inside.read("omnigraph://branches")) == {"branches": [OWN]}
    assert [t["name"] for t in inside.data("tags_list")["tags"]] == ["v1"]


def test_its_branch_begins_with_its_first_write(inside: Agent, graph: Path) -> None:
    assert [r["p.name"] for r in inside.data("query", query=NAMES)["rows"]] == ["Ada", "Bob"]
    with og.open(graph) as g:
        assert OWN not in g.branches.list(), "reading creates nothing"
    assert inside.data("mutate", query=ADD, params={"n": "Own"})["branch"] == OWN
    with og.open(graph) as g:
        assert OWN in g.branches.list()
        assert [r["p.name"] for r in g.query(NAMES).rows] == ["Ada", "Bob"], "main is as it was"
        g.mutate(ADD, {"n": "Later"})
    assert [r["p.name"] for r in inside.data("query", query=NAMES)["rows"]] == ["Ada", "Bob", "Own"], "main does not leak in"
    shown = inside.data("diff")
    assert [(c["op"], c["id"]) for c in shown["changes"]] == [("insert", "Own")]


def test_its_own_past_is_its_own(inside: Agent) -> None:
    read = inside.data("query", query=NAMES)["graph_commit_id"]
    first = inside.data("mutate", query=ADD, params={"n": "One"})["commit"]["graph_commit_id"]
    inside.data("mutate", query=ADD, params={"n": "Two"})
    assert inside.data("query", query=NAMES, snapshot=first)["row_count"] == 3
    assert inside.data("query", query=NAMES, snapshot=read)["row_count"] == 2, "what it was created from"
    assert inside.data("query", query=NAMES, snapshot=f"{OWN}@2200-01-01T00:00:00Z")["row_count"] == 4
    assert inside.data("commits_get", commitId=read)["graph_branch"] is None


def test_tools_about_other_branches_are_not_there(inside: Agent) -> None:
    assert not HIDDEN & set(inside.tools())
    for tool, arguments in (
        ("branches_merge", {"source": OWN}),
        ("branches_delete", {"name": "secret"}),
        ("branches_create", {"name": "x"}),
    ):
        with pytest.raises(MCPError) as raised:
            inside.call(tool, arguments)
        assert raised.value.code == -32602


def test_it_proposes_its_branch_and_sees_no_other_review(inside: Agent, graph: Path) -> None:
    with og.open(graph) as g:
        other = g.reviews.create("secret", title="hidden work", actor="ada").id
    assert inside.data("reviews_list")["reviews"] == []
    for tool, arguments in (
        ("reviews_show", {"review": other}),
        ("reviews_show", {"review": 999}),
        ("reviews_comment", {"review": other, "text": "x"}),
        ("reviews_comment", {"review": 999, "text": "x"}),
        ("reviews_create", {"title": "x", "source": "secret"}),
        ("reviews_create", {"title": "x", "source": "main", "target": OWN}),
    ):
        said = inside.error(tool, **arguments)
        assert said["status"] == 403, (tool, arguments, said)
        assert "hidden" not in json.dumps(said)
    assert inside.error("reviews_create", title="nothing yet")["status"] == 404, "and no branch is made for it"
    inside.data("mutate", query=ADD, params={"n": "Own"})
    made = inside.data("reviews_create", title="One person", description="Asked for by Ada")
    assert (made["source"], made["target"], made["author"]) == (OWN, "main", "tests")
    assert [r["id"] for r in inside.data("reviews_list")["reviews"]] == [made["id"]]
    assert inside.data("reviews_comment", review=made["id"], text="Done")["comments"][0]["text"] == "Done"


def test_the_door_itself_refuses_what_no_tool_offers(graph: Path) -> None:
    """Also operations that agents have no tool for: whatever is asked of the door is decided by its branch."""
    from dataclasses import replace

    from tests.service.test_service import NEEDED

    from omnigraph.errors import Forbidden

    graphs = DirectGraphs()
    door = ConfinedService(graphs, OWN)
    before = state_of_others(graph)
    answered = set()
    for operation, _ in NEEDED:
        try:
            door.run(Caller("tests", Origin.MCP), replace(operation, graph=GraphRef(str(graph))))
            answered.add(type(operation).__name__)
        except Forbidden:
            pass
    assert answered <= {"ListBranches", "ListTags", "ListReviews"}, "everything else names main, or nothing"
    assert state_of_others(graph) == before
    graphs.close()


@pytest.mark.parametrize(
    ("told", "branch"), [("Claude Code", "agent/claude-code"), ("../../main", "agent/main"), ("", "agent/client")]
)
def test_the_branch_is_named_after_the_client(graph: Path, told: str, branch: str) -> None:
    with over_stdio(graph, "--branch", "agent/{client}", name=told, mode="legacy") as agent:
        assert agent.data("mutate", query=ADD, params={"n": "Own"})["branch"] == branch
        assert "agent/<name of your client>" in (agent.client.instructions or "")
        assert agent.error("query", query=NAMES, branch="main")["status"] == 403


def test_read_only_changes_nothing(graph: Path) -> None:
    with over_stdio(graph, "--read-only") as agent:
        assert not {"mutate", "load", "branches_create", "branches_delete", "branches_merge"} & set(agent.tools())
        for name in ("mutate", "load"):
            with pytest.raises(MCPError):
                agent.call(name, REST[name])
        assert agent.data("query", query=NAMES, branch="secret")["row_count"] == 3, "it is not confined"
