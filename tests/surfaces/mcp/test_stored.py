"""Stored queries as tools: typed by their parameters, one each, or two for many."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.http.conftest import TOKENS, serving
from tests.surfaces.mcp.agents import Agent, over_http

from omnigraph.catalog.signature import QueryParameter
from omnigraph.surfaces.mcp.tools.stored import schema_of_parameter

QUERIES = """
query by_name($name: String) @description("Who is called so.") @instruction("Names are exact.") {
    match { $p: Person { name: $name } } return { $p.name, $p.age }
}
query older($least: I64, $names: [String]?) { match { $p: Person  $p.age > $least } return { $p.name } order { $p.name } }
query hire($name: String, $age: I32?) @description("A new person.") { insert Person { name: $name, age: $age } }
"""


@pytest.mark.parametrize(
    ("parameter", "schema"),
    [
        (QueryParameter("p", "string"), {"type": "string"}),
        (QueryParameter("p", "bool"), {"type": "boolean"}),
        (QueryParameter("p", "int"), {"type": "integer"}),
        (QueryParameter("p", "bigint"), {"type": "string", "pattern": r"^-?\d+$"}),
        (QueryParameter("p", "float"), {"type": "number"}),
        (QueryParameter("p", "date"), {"type": "string", "format": "date"}),
        (QueryParameter("p", "datetime", nullable=True), {"type": ["string", "null"], "format": "date-time"}),
        (
            QueryParameter("p", "vector", vector_dim=3),
            {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3},
        ),
        (QueryParameter("p", "list", item_kind="int"), {"type": "array", "items": {"type": "integer"}}),
    ],
)
def test_kinds_are_json_schema(parameter: QueryParameter, schema: dict[str, Any]) -> None:
    assert schema_of_parameter(parameter) == schema


def served(people_once: Path, folder: Path, queries: str) -> Any:
    (folder / "q").mkdir()
    (folder / "q" / "all.gq").write_text(queries)
    graph = Path(shutil.copytree(people_once, folder / "people.omni"))
    return serving(graph, more=("--queries", str(folder / "q")))


def test_each_is_a_tool(people_once: Path, tmp_path: Path) -> None:
    with served(people_once, tmp_path, QUERIES) as running, over_http(f"{running.url}/graphs/people/mcp", TOKENS["ada"]) as agent:
        tools = agent.tools()
        assert tools["by_name"].description == "Who is called so. Names are exact."
        assert tools["older"].input_schema["required"] == ["least"]
        assert tools["older"].input_schema["properties"]["names"]["type"] == ["array", "null"]
        hints = {name: tools[name].annotations for name in ("by_name", "hire")}
        assert [h.read_only_hint for h in hints.values() if h is not None] == [True, False]
        assert agent.data("by_name", name="Ada")["rows"] == [{"p.name": "Ada", "p.age": 36}]
        assert [r["p.name"] for r in agent.data("older", least="30")["rows"]] == ["Ada", "Bob"]
        first = agent.data("older", least="30", limit=1)
        assert agent.data("older", least="30", limit=1, pageToken=first["next_page_token"])["rows"] == [{"p.name": "Bob"}]
        agent.data("branches_create", name="agent/x")
        assert agent.data("hire", name="Zoe", branch="agent/x")["commit"]["graph_branch"] == "agent/x"
        for name, arguments in (
            ("older", {"least": "x"}),
            ("older", {}),
            ("by_name", {"name": "Ada", "surprise": 1}),
            ("by_name", {"name": 7}),
        ):
            assert agent.error(name, **arguments)["status"] == 400


def test_many_are_two_tools(people_once: Path, tmp_path: Path) -> None:
    more = "\n".join(f"query extra{n}() {{ match {{ $p: Person }} return {{ count($p) as n }} }}" for n in range(21))
    with (
        served(people_once, tmp_path, QUERIES + more) as running,
        over_http(f"{running.url}/graphs/people/mcp", TOKENS["ada"]) as agent,
    ):
        tools: dict[str, Any] = agent.tools()
        assert {"stored_query_list", "stored_query_run"} <= set(tools)
        assert "by_name" not in tools
        assert len(agent.data("stored_query_list")["queries"]) == 24
        assert _run(agent, "by_name", {"name": "Ada"})["row_count"] == 1
        assert _run(agent, "older", {"least": "30"})["row_count"] == 2
        assert _run(agent, "hire", {"name": "Zoe"})["affected_nodes"] == 1
        assert agent.error("stored_query_run", name="nothing")["status"] == 404


def _run(agent: Agent, name: str, params: dict[str, Any]) -> Any:
    return agent.data("stored_query_run", name=name, params=params)


def test_those_that_one_may_not_invoke_are_no_tools(people_once: Path, tmp_path: Path) -> None:
    (tmp_path / "q.gq").write_text(QUERIES)
    graph = Path(shutil.copytree(people_once, tmp_path / "people.omni"))
    with (
        serving(graph, command="server", more=("--queries", str(tmp_path / "q.gq"))) as running,
        over_http(f"{running.url}/graphs/people/mcp", TOKENS["bob"]) as agent,
    ):
        assert not {"by_name", "older", "hire", "stored_query_list"} & set(agent.tools())
