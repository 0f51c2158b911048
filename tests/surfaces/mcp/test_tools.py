"""Every tool, called by the SDK's own client over both ways: it checks each answer against the schema of the tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from tests.surfaces.mcp.agents import ADD, NAMES, Agent, text

from omnigraph.surfaces.mcp.tools import TOOLS

Arguments = dict[str, Any]


def head(agent: Agent) -> str:
    """The newest commit of main."""
    return str(agent.data("commits_list")["commits"][0]["graph_commit_id"])


CALLS: dict[str, tuple[Callable[[Agent], Arguments], Callable[[Any], object]]] = {
    "health": (lambda a: {}, lambda d: d["status"] == "ok" and d["version"] == d["sdkServerVersion"]),
    "graphs_list": (lambda a: {}, lambda d: [g["graph_id"] for g in d["graphs"]] == ["people"]),
    "schema_get": (lambda a: {}, lambda d: "node Person" in d["schema_source"]),
    "snapshot": (
        lambda a: {"branch": "work"},
        lambda d: {t["type_name"]: t["entity_count"] for t in d["datasets"]}["Person"] == 3,
    ),
    "query": (lambda a: {"query": NAMES, "branch": "work"}, lambda d: [r["p.name"] for r in d["rows"]] == ["Ada", "Bob", "Eve"]),
    "query_lint": (lambda a: {"query": NAMES}, lambda d: d["status"] == "ok" and d["results"][0]["name"] == "names"),
    "query_explain": (lambda a: {"query": NAMES}, lambda d: d["query_name"] == "names" and d["plan"]),
    "branches_list": (lambda a: {}, lambda d: {"main", "work", "secret"} <= set(d["branches"])),
    "tags_list": (lambda a: {}, lambda d: [t["name"] for t in d["tags"]] == ["hidden", "v1"]),
    "branches_create": (
        lambda a: {"name": "agent/new", "from": "work"},
        lambda d: (d["name"], d["from"]) == ("agent/new", "work"),
    ),
    "branches_delete": (lambda a: _made(a, "agent/gone"), lambda d: d["name"] == "agent/gone"),
    "branches_merge": (lambda a: _changed(a, "agent/merged", "Fay"), lambda d: d["outcome"] in ("fast_forward", "merged")),
    "commits_list": (lambda a: {"branch": "work"}, lambda d: d["commits"][0]["graph_branch"] == "work"),
    "commits_get": (lambda a: {"commitId": head(a)}, lambda d: d["graph_branch"] is None),
    "commits_changes": (lambda a: {"commitId": _commit(a, "Gus"), "kind": ["node"]}, lambda d: d["changes"][0]["id"] == "Gus"),
    "changes_poll": (
        lambda a: {"start": "beginning", "branch": "work", "op": ["insert"]},
        lambda d: d["caught_up"] and d["cursor"],
    ),
    "diff": (lambda a: {"to": "work"}, lambda d: (d["stats"]["inserts"], d["changes"][0]["id"]) == (1, "Eve")),
    "history": (lambda a: {"type": "Person", "key": "Ada"}, lambda d: d["revisions"][0]["change"]["op"] == "insert"),
    "mutate": (lambda a: {"query": ADD, "params": {"n": "Hal"}, "branch": "work"}, lambda d: d["affected_nodes"] == 1),
    "reviews_create": (lambda a: _proposed(a, "r1", create=False), lambda d: (d["id"], d["state"]) == (d["id"], "open")),
    "reviews_list": (lambda a: _listed(a, "r2"), lambda d: d["reviews"][0]["title"] == "r2"),
    "reviews_show": (lambda a: _proposed(a, "r3"), lambda d: d["title"] == "r3" and d["source"] == "of/r3"),
    "reviews_comment": (
        lambda a: {**_proposed(a, "r4"), "text": "Why?", "type": "Person", "id": "r4"},
        lambda d: d["comments"][0]["entity_id"] == "r4",
    ),
    "load": (
        lambda a: {"branch": "loaded", "from": "main", "mode": "merge", "data": '{"type": "Company", "data": {"name": "Ink"}}'},
        lambda d: d["branch_created"] and d["total_entities"] == 1,
    ),
}
"""Per tool a call that works, made when its time comes, and what holds of its answer."""


def _made(agent: Agent, name: str) -> Arguments:
    agent.data("branches_create", name=name)
    return {"name": name}


def _changed(agent: Agent, branch: str, person: str) -> Arguments:
    agent.data("branches_create", name=branch)
    agent.data("mutate", query=ADD, params={"n": person}, branch=branch)
    return {"source": branch}


def _commit(agent: Agent, person: str) -> str:
    agent.data("branches_create", name=f"of/{person}")
    return str(agent.data("mutate", query=ADD, params={"n": person}, branch=f"of/{person}")["commit"]["graph_commit_id"])


def _proposed(agent: Agent, title: str, *, create: bool = True) -> Arguments:
    _commit(agent, title)
    given = {"title": title, "source": f"of/{title}"}
    return {"review": agent.data("reviews_create", **given)["id"]} if create else given


def _listed(agent: Agent, title: str) -> Arguments:
    _proposed(agent, title)
    return {"state": "open"}


DECIDING = {"reviews_approve", "reviews_merge"}
"""Tools that are there only where a policy was asked: `test_an_agent_decides_where_it_may`."""


def test_every_tool_is_called_here(stdio: Agent, http: Agent) -> None:
    assert set(CALLS) | DECIDING == {tool.name for tool in TOOLS} == set(http.tools())
    assert set(stdio.tools()) == set(CALLS)


def test_an_agent_decides_where_it_may(http: Agent, stdio: Agent) -> None:
    review = http.data("reviews_show", **_proposed(http, "r9"))
    given = {"review": review["id"], "commit": review["source_commit_id"]}
    assert http.data("reviews_approve", **given, text="Good")["state"] == "approved"
    http.data("mutate", query=ADD, params={"n": "Newer"}, branch="of/r9")
    assert http.error("reviews_merge", **given)["status"] in (409, 412), "what was not looked at is not merged"
    newest = http.data("reviews_show", review=review["id"])["source_commit_id"]
    assert http.error("reviews_merge", review=review["id"], commit=newest)["status"] == 409, "nor what was not approved"
    http.data("reviews_approve", review=review["id"], commit=newest)
    merged = http.data("reviews_merge", review=review["id"], commit=newest)
    assert merged["state"] == "merged"
    assert merged["merge"]["graph_commit_id"]
    for name in DECIDING:
        with pytest.raises(MCPError, match="Unknown tool"):
            stdio.call(name, given)


@pytest.mark.parametrize("name", CALLS)
def test_it_answers(agent: Agent, name: str) -> None:
    arguments, holds = CALLS[name]
    assert holds(agent.data(name, **arguments(agent)))


@pytest.mark.parametrize("tool", TOOLS, ids=lambda t: t.name)
def test_it_is_described(http: Agent, tool: Any) -> None:
    shown = http.tools()[tool.name]
    assert shown.input_schema["type"] == "object"
    assert shown.input_schema["additionalProperties"] is False
    assert shown.output_schema is not None
    assert shown.output_schema["type"] == "object"
    assert all("description" in about for about in shown.input_schema["properties"].values())


READ_ONLY = {"health", "snapshot", "query", "schema_get", "branches_list", "graphs_list", "commits_list", "commits_get"} | {
    "commits_changes",
    "changes_poll",
    "query_lint",
    "query_explain",
    "tags_list",
    "diff",
    "history",
    "reviews_list",
    "reviews_show",
}


def test_hints_are_those_of_the_contract(stdio: Agent) -> None:
    hints = {name: tool.annotations for name, tool in stdio.tools().items()}
    assert all(h is not None and h.open_world_hint is False for h in hints.values())
    assert {name for name, h in hints.items() if h is not None and h.read_only_hint} == READ_ONLY
    shown = {n: (h.destructive_hint, h.idempotent_hint) for n, h in hints.items() if h is not None and not h.read_only_hint}
    assert shown == {
        "mutate": (True, False),
        "load": (True, False),
        "branches_create": (False, False),
        "branches_delete": (True, True),
        "branches_merge": (True, True),
        "reviews_create": (False, False),
        "reviews_comment": (False, False),
    }


INPUTS = {
    "health": ([], []),
    "snapshot": ([], ["branch"]),
    "query": (["query"], ["name", "params", "branch", "snapshot"]),
    "schema_get": ([], []),
    "branches_list": ([], []),
    "graphs_list": ([], []),
    "commits_list": ([], ["branch"]),
    "commits_get": (["commitId"], []),
    "commits_changes": (["commitId"], ["kind", "type", "op", "pageToken", "limit"]),
    "changes_poll": ([], ["branch", "cursor", "start", "kind", "type", "op", "pageToken", "limit"]),
    "mutate": (["query"], ["name", "params", "branch", "ifGraphCommit"]),
    "load": (["branch", "mode", "data"], ["from"]),
    "branches_create": (["name"], ["from"]),
    "branches_delete": (["name"], []),
    "branches_merge": (["source"], ["target"]),
}


@pytest.mark.parametrize("name", INPUTS)
def test_inputs_are_those_of_the_contract(stdio: Agent, name: str) -> None:
    schema = stdio.tools()[name].input_schema
    required, optional = INPUTS[name]
    assert schema.get("required", []) == required
    assert {*required, *optional} <= set(schema["properties"])
    assert set(schema["properties"]) - {*required, *optional} <= {"pageToken", "limit"}


def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(agent: Agent) -> None:
    with pytest.raises(MCPError) as raised:
        agent.call("drop_everything")
    assert (raised.value.code, raised.value.message) == (-32602, "Unknown tool: drop_everything")


def test_a_wrong_query_comes_back_with_what_mends_it(agent: Agent) -> None:
    said = agent.error("query", query="query q() { match { $p: Persn } return { $p.name } }")
    assert said["status"] == 400
    assert said["code"] == "bad_request"
    assert said["requestId"]
    assert "^^^^^" in said["error"]
    assert "did you mean `Person`?" in said["error"]
    assert "node Person { name: String @key" in said["schema"]
    assert said["hint"] == "Compare the query with the schema: `schema_get` shows it."
    assert said["body"]["diagnostics"][0]["code"] == "T1"
    assert not {"error", "code", "hint"} & said["body"].keys(), "nothing is said twice"


def test_a_mutation_rests_on_what_was_read(agent: Agent) -> None:
    agent.data("branches_create", name="cas")
    read = agent.data("query", query=NAMES, branch="cas")["graph_commit_id"]
    agent.data("mutate", query=ADD, params={"n": "Ida"}, branch="cas", ifGraphCommit=read)
    said = agent.error("mutate", query=ADD, params={"n": "Jo"}, branch="cas", ifGraphCommit=read)
    assert said["status"] == 412
    assert said["body"]["precondition_failure"]["expected"] == read


def test_the_past_is_read_by_commit_and_by_tag(agent: Agent) -> None:
    for past in ("v1", agent.data("tags_list")["tags"][1]["graph_commit_id"]):
        assert [r["p.name"] for r in agent.data("query", query=NAMES, snapshot=past)["rows"]] == ["Ada", "Bob"]
    assert "exclude each other" in agent.error("query", query=NAMES, snapshot="v1", branch="main")["error"]


def test_who_acted_is_recorded(stdio: Agent, http: Agent) -> None:
    for agent, actor in ((stdio, "tests"), (http, "ada")):
        agent.data("branches_create", name="acted")
        found = agent.data("mutate", query=ADD, params={"n": "Kim"}, branch="acted")
        assert found["actor_id"] == actor == found["commit"]["actor_id"]


def test_records_that_are_wrong_are_told_by_their_number(agent: Agent) -> None:
    data = '{"type": "Person", "data": {"name": "Ok"}}\n{"type": "Person", "data": {"age": 3}}'
    said = agent.error("load", branch="main", mode="merge", data=data)
    assert "record 2" in said["error"]
    assert "/tmp" not in text(agent.call("load", {"branch": "main", "mode": "merge", "data": data}))


def test_resources_are_read(agent: Agent) -> None:
    uris = [str(r.uri) for r in agent.portal.call(agent.client.list_resources).resources]
    assert uris[:3] == ["omnigraph://schema", "omnigraph://branches", "omnigraph://graphs"]
    assert "node Person" in agent.read("omnigraph://schema")
    for uri in uris:
        assert agent.read(uri).strip()
    with pytest.raises(MCPError) as raised:
        agent.read("omnigraph://secrets")
    assert raised.value.code == -32602


def test_prompts_are_filled(agent: Agent) -> None:
    from functools import partial

    for prompt in agent.portal.call(agent.client.list_prompts).prompts:
        given = {a.name: f"<{a.name}>" for a in prompt.arguments or ()}
        found = agent.portal.call(partial(agent.client.get_prompt, prompt.name, given))
        shown = found.messages[0].content.text  # type: ignore[union-attr]
        assert all(value in shown for value in given.values())
        with pytest.raises(MCPError, match="needs"):
            agent.portal.call(partial(agent.client.get_prompt, prompt.name, {}))


def test_agents_are_told_how_to_work(agent: Agent) -> None:
    told = agent.client.instructions or ""
    assert "schema_get" in told
    assert "ifGraphCommit" in told
    assert "branches_create" in told
