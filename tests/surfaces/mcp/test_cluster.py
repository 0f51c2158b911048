"""`omnigraph mcp --cluster`: the applied graphs of a cluster, with their stored queries as tools, over standard input and output."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.calling import Call
from tests.surfaces.http.clusters import TEAM, Cluster
from tests.surfaces.mcp.agents import over_stdio, parameters

import omnigraph as og_api

FIND = 'query find($name: String) @description("Who is called so.") { match { $p: Person { name: $name } } return { $p.name } }\n'
HIRE = "query hire($name: String) { insert Person { name: $name } }\n"


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    made = Cluster(tmp_path / "cluster")
    made.graph("a", {"find": FIND, "hire": HIRE})
    made.graph("b")
    made.policy("team", TEAM, "graph.a")
    made.apply()
    return made


def test_one_graph_with_its_stored_queries(cluster: Cluster) -> None:
    with over_stdio("--cluster", cluster.root, "--graph", "a") as agent:
        tools = agent.tools()
        assert tools["find"].description == "Who is called so."
        assert tools["find"].input_schema["required"] == ["name"]
        assert agent.data("find", name="a-1")["rows"] == [{"p.name": "a-1"}]
        agent.data("branches_create", name="agent/x")
        done = agent.data("hire", name="Zoe", branch="agent/x")
        assert done["commit"]["graph_branch"] == "agent/x"
        assert [one["graph_id"] for one in agent.data("graphs_list")["graphs"]] == ["a"]
        assert agent.error("find")["status"] == 400


def test_a_merge_that_would_break_a_stored_query_is_refused(cluster: Cluster) -> None:
    cluster.graph("a", {"ages": "query ages() { match { $p: Person } return { $p.age } }"})
    cluster.apply()
    with og_api.open(cluster.root / "graphs/a.omni") as graph:
        graph.branches.create("breaks")
        graph.apply_schema("node Person { name: String @key }", branch="breaks")
    with over_stdio("--cluster", cluster.root, "--graph", "a") as agent:
        refused = agent.error("branches_merge", source="breaks")
        assert (refused["status"], refused["body"]["condition"]) == (409, "broken_queries")
        assert agent.data("ages")["row_count"] == 2


def test_all_graphs_and_nothing_that_writes(cluster: Cluster) -> None:
    with over_stdio("--cluster", cluster.root, "--read-only") as agent:
        tools = agent.tools()
        assert "hire" not in tools
        assert [one["graph_id"] for one in agent.data("graphs_list")["graphs"]] == ["a", "b"]
        names = "query names() { match { $p: Person } return { $p.name } order { $p.name } }"
        for graph in ("a", "b"):
            rows = agent.data("query", graph=graph, query=names)["rows"]
            assert [row["p.name"] for row in rows] == [f"{graph}-0", f"{graph}-1"]


def test_what_cannot_be_served_is_left_out(cluster: Cluster) -> None:
    cluster.graph("c", {"wrong": FIND.replace("find", "wrong").replace("$p.name }", "$p.colour }")})
    cluster.sidecar("b")
    cluster.apply()
    with over_stdio("--cluster", cluster.root) as agent:
        assert [one["graph_id"] for one in agent.data("graphs_list")["graphs"]] == ["a"]


@pytest.mark.parametrize(("graph", "said"), [("b", "did not end"), ("d", "was not applied"), ("c", "colour")])
def test_a_graph_that_cannot_be_served_is_refused_with_the_reason(cluster: Cluster, graph: str, said: str) -> None:
    cluster.graph("c", {"wrong": FIND.replace("find", "wrong").replace("$p.name }", "$p.colour }")})
    cluster.sidecar("b")
    cluster.apply()
    assert said in _ended("--cluster", str(cluster.root), "--graph", graph)


def test_a_cluster_that_a_server_would_refuse_is_refused(cluster: Cluster) -> None:
    cluster.copy("query.a.find").unlink()
    assert "[catalog_payload_missing] query.a.find" in _ended("--cluster", str(cluster.root))


def _ended(*arguments: str) -> str:
    started = parameters(*arguments)
    command = [started.command, *started.args]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=120, env=started.env, check=False)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    return done.stderr


def test_a_client_is_told_to_start_it(og: Call, cluster: Cluster, tmp_path: Path) -> None:
    said = og("mcp", "--cluster", str(cluster.root), "--graph", "a", "--install", "cursor", "--print", "--json")
    assert said.code == 0, said.err
    assert _arguments(json.loads(said.out)) == ["mcp", "--cluster", str(cluster.root), "--graph", "a"]
    both = og("mcp", str(tmp_path), "--cluster", str(cluster.root))
    assert (both.code, "both name a graph" in both.err) == (1, True), both.err


def _arguments(value: Any) -> list[str]:
    """The arguments of the command, wherever they stand."""
    if isinstance(value, dict):
        if "args" in value:
            args = value["args"]
            return list(args[args.index("mcp") :])
        for one in value.values():
            found = _arguments(one)
            if found:
                return found
    return []
