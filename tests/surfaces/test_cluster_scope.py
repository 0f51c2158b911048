"""`--cluster`, `--graph`, and profiles of clusters: which graph a command works on, and which commands can."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.surfaces.calling import Call
from tests.surfaces.http.clusters import NAMES, Cluster


@pytest.fixture
def two(tmp_path: Path) -> Cluster:
    made = Cluster(tmp_path / "cluster")
    made.graph("a")
    made.graph("b")
    made.apply()
    return made


def uri(cluster: Cluster, graph: str) -> str:
    return str(cluster.root / f"graphs/{graph}.omni")


@pytest.mark.parametrize("command", [["optimize"], ["repair"], ["cleanup", "--keep", "1"]])
def test_upkeep_of_a_graph_of_a_cluster(og: Call, two: Cluster, command: list[str]) -> None:
    done = og(*command, "--cluster", str(two.root), "--graph", "b", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["uri"] == uri(two, "b")


def test_lint_and_reads(og: Call, two: Cluster, tmp_path: Path) -> None:
    (tmp_path / "q.gq").write_text(NAMES)
    done = og("lint", "--query", str(tmp_path / "q.gq"), "--cluster", str(two.root), "--graph", "a")
    assert (done.code, "1 query processed" in done.out) == (0, True), done.err
    found = og("query", "-e", NAMES, "--cluster", str(two.root), "--graph", "a", "--json")
    assert (found.code, json.loads(found.out)["row_count"]) == (0, 2), found.err


def test_queries_that_were_applied(og: Call, two: Cluster) -> None:
    two.graph("a", {"names": NAMES})
    two.apply()
    where = ("--cluster", str(two.root), "--graph", "a", "--json")
    listed = og("queries", "list", *where)
    assert [query["name"] for query in json.loads(listed.out)["queries"]] == ["names"], listed.err
    assert json.loads(og("queries", "validate", *where).out)["ok"]
    two.graph("a", {"names": NAMES.replace("$p.name", "$p.colour")})
    two.apply()
    wrong = og("queries", "validate", *where)
    assert (wrong.code, json.loads(wrong.out)["ok"]) == (1, False)


def test_which_graph_is_meant(og: Call, two: Cluster, tmp_path: Path) -> None:
    where = str(two.root)
    several = og("repair", "--cluster", where)
    assert (several.code, "a, b" in several.err) == (1, True)
    other = og("repair", "--cluster", where, "--graph", "c")
    assert (other.code, "'c' was not applied" in other.err) == (1, True)
    one = Cluster(tmp_path / "one")
    one.graph("only")
    one.apply()
    assert json.loads(og("repair", "--cluster", str(one.root), "--json").out)["uri"] == uri(one, "only")
    one.without("graph.only")
    one.apply()
    none = og("repair", "--cluster", str(one.root))
    assert (none.code, "no applied graphs" in none.err, "cluster apply" in none.err) == (1, True, True)


def test_a_cluster_that_cannot_be_served_can_be_repaired(og: Call, two: Cluster) -> None:
    two.policy("p", "version: 1\n", "graph.a")
    two.apply()
    two.copy("policy.p").unlink()
    two.sidecar("a")
    shutil.rmtree(uri(two, "b"))
    assert og("repair", "--cluster", str(two.root), "--graph", "a").code == 0


def test_names_and_profiles(og: Call, two: Cluster, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text(
        f"clusters: {{ brain: {{ root: {two.root} }} }}\nprofiles: {{ p: {{ cluster: brain, default_graph: b }} }}\n"
    )
    assert json.loads(og("repair", "--cluster", "brain", "--graph", "a", "--json").out)["uri"] == uri(two, "a")
    assert json.loads(og("repair", "--profile", "p", "--json").out)["uri"] == uri(two, "b")
    assert json.loads(og("repair", "--profile", "p", "--graph", "a", "--json").out)["uri"] == uri(two, "a")
    refused = og("branch", "create", "x", "--profile", "p")
    assert (refused.code, "--server" in refused.err) == (1, True), refused.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mutate", "-e", "x", "--cluster", "c"), "--cluster"),
        (("load", "--data", "x", "--mode", "merge", "--cluster", "c"), "--cluster"),
        (("init", "g.omni", "--schema", "x", "--cluster", "c"), "--cluster"),
        (("version", "--cluster", "c"), "--cluster"),
        (("graphs", "list", "--cluster", "c"), "--cluster"),
        (("optimize", "--server", "s"), "--cluster"),
        (("optimize", "g.omni", "--cluster", "c"), "both name a graph"),
        (("optimize", "--store", "g.omni", "--cluster", "c"), "both name a graph"),
        (("repair", "g.omni", "--graph", "a"), "already a single graph"),
        (("repair", "--cluster", "nowhere"), "no cluster"),
    ],
)
def test_flags_that_do_not_fit(og: Call, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = og(*arguments)
    assert (done.code, said in done.err) == (1, True), done.err
