"""The command line through a server: every command about data prints what it prints of the graph itself."""

from __future__ import annotations

import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.served import Server
from tests.surfaces.calling import NAMES, Call
from tests.surfaces.test_contract import CALLS, LEAVES, filled, words

import omnigraph as og_api
from omnigraph.embedding import MockEmbedder
from omnigraph.surfaces.cli.scope import Capability, Command

__all__ = ["filled"]

DATA = [
    n
    for n, c in LEAVES.items()
    if isinstance(c, Command) and c.capability is Capability.DATA and n in CALLS and n not in ("mcp", "view")
]
"""What is asked of graphs. An agent's configuration names the graph as it was addressed, and a drawing is a file."""


@pytest.fixture(scope="module")
def http() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def serve(http: Server, folder: Path) -> list[str]:
    """The flags that name a graph on a server."""
    return ["--server", http.url, "--graph", http.graphs.hold(og_api.open(folder))]


def through(line: list[str], graph: str, flags: list[str]) -> list[str]:
    """A call of a graph by its path, as a call of a served one."""
    found: list[str] = []
    for word in line:
        if word != graph:
            found.append(word)
        elif found[-1] in ("--store", "--uri"):
            found.pop()
    return [*found, *flags]


def plain(text: str, *places: str) -> str:
    """What is printed, without what is another one each time."""
    for place in places:
        text = text.replace(place, "GRAPH")
    text = re.sub(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "ULID", text)
    text = re.sub(r'"(created_at|authored_at|published_dataset_version|incarnation)": "?[0-9A-Za-z]+"?', r'"\1": 0', text)
    text = re.sub(r'"(resume_)?cursor": "[^"]+"|cursor: \S+', "cursor", text)
    text = re.sub(
        r"version \d+|\d+(\.\d+)? (ms|s|seconds?|minutes?) ago|\d\d\d\d-\d\d-\d\d[ T]\d\d:\d\d\S*|[0-9A-Z]{6}…[0-9A-Z]{4}",
        "then",
        text,
    )
    text = re.sub(r'"(memory|saved)": \{[^}]*\}|"prepared_queries": \d+|\d+(\.\d+)? [kMG]?B of .* in use', "use", text)
    return re.sub(r'"dataset_path": "[^"]+"', '"dataset_path": ""', text)


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["people", "programs"])
@pytest.mark.parametrize("name", DATA)
def test_it_prints_the_same(og: Call, filled: dict[str, str], tmp_path: Path, http: Server, name: str, form: list[str]) -> None:
    graph = filled["graph"]
    copied = shutil.copytree(graph, tmp_path / "copied.omni")
    flags = serve(http, copied)
    line = [*words(name, filled), *form]
    there = og(*through(line, graph, flags), "--yes") if name == "branch delete" else og(*through(line, graph, flags))
    here = og(*line)
    assert there.code == here.code == 0, there.err
    address = f"{http.url}/graphs/{flags[-1]}"
    assert plain(there.out, address, str(copied)) == plain(here.out, graph)
    echoed = [text.replace(address, graph).replace("(served)", "(direct, local)") for text in there.err.splitlines()]
    assert echoed == here.err.splitlines()


def test_servers_are_named_in_config_and_tokens_kept(og: Call, filled: dict[str, str], http: Server, tmp_path: Path) -> None:
    graph_id = serve(http, Path(filled["graph"]))[-1]
    assert og("config", "set", "servers.prod.url", http.url).code == 0
    kept = og("login", "prod", "--token", "ada", "--json")
    assert kept.json["declared"] is True
    path = Path(kept.json["credentials_path"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    where = ["--server", "prod", "--graph", graph_id]
    done = og("mutate", *where, "-e", 'query q() { insert Person { name: "Zed" } }', "--json")
    assert done.json["actor_id"] == "ada"
    assert any(graph["graph_id"] == graph_id for graph in og("graphs", "list", "--server", "prod", "--json").json["graphs"])
    refused = og("mutate", *where, "--as", "eve", "-e", 'query q() { insert Person { name: "Y" } }')
    assert (refused.code, "--as" in refused.err) == (1, True)
    path.chmod(0o644)
    assert "chmod 600" in og("query", *where, "-e", NAMES).err
    path.chmod(0o600)
    assert og("logout", "prod", "--json").code == 0
    assert "ada" not in path.read_text()


def test_profiles_and_defaults_may_be_of_a_server(og: Call, filled: dict[str, str], http: Server, tmp_path: Path) -> None:
    graph_id = serve(http, Path(filled["graph"]))[-1]
    home = tmp_path / "home" / "config.yaml"
    home.write_text(
        f"servers: {{ prod: {{ url: '{http.url}' }} }}\n"
        f"profiles: {{ live: {{ server: prod, default_graph: {graph_id} }} }}\n"
        f"aliases: {{ names: {{ query: ../q.gq, server: prod, graph: {graph_id} }} }}\n"
    )
    asked = og("query", "--profile", "live", "-e", NAMES, "--json")
    assert asked.json["row_count"] == 3
    assert og("alias", "names", "--json").json["rows"] == asked.json["rows"]
    shown = og("profile", "show", "live", "--json").json
    assert (shown["scope_kind"], shown["target"], shown["endpoint"], shown["default_graph"]) == (
        "server",
        "prod",
        http.url,
        graph_id,
    )
    assert "server: prod · graph: " in og("profile", "list").out
    direct = og("optimize", "--profile", "live")
    assert (direct.code, "--store" in direct.err) == (1, True)
    home.write_text(f"servers: {{ prod: {{ url: '{http.url}' }} }}\ndefaults: {{ server: prod, default_graph: {graph_id} }}\n")
    assert og("branch", "list", "--json").json["branches"] == ["main", "work"]


def test_what_is_wrong_with_a_server_is_said(og: Call, filled: dict[str, str], http: Server) -> None:
    flags = serve(http, Path(filled["graph"]))
    other = serve(http, Path(filled["graph"]))[-1]
    for line, said in (
        (["query", "--server", "nobody", "-e", NAMES], "no server `nobody`"),
        (["query", "--server", http.url, "-e", NAMES], other),
        (["query", "--server", "http://127.0.0.1:9", "--graph", "x", "-e", NAMES], "cannot be reached"),
        (["query", "--server", http.url, "--graph", "nothing", "-e", NAMES], "not found"),
        (["query", "--store", filled["graph"], "--graph", "x", "-e", NAMES], "already a single graph"),
        (["query", *flags, "--store", filled["graph"], "-e", NAMES], "both name a graph"),
        (["branch", "delete", "work", *flags], "--yes"),
    ):
        ran = og(*line)
        assert (ran.code, said in ran.err) == (1, True), (line, ran.err)


@pytest.mark.parametrize("command", ["query", "mutate"])
def test_a_text_without_its_flag_is_no_stored_query(og: Call, filled: dict[str, str], http: Server, command: str) -> None:
    ran = og(command, *serve(http, Path(filled["graph"])), NAMES)
    assert (ran.code, "is the text of a query: write -e before it." in ran.err) == (2, True), ran.err


def test_the_dialect_of_a_load_travels(og: Call, filled: dict[str, str], http: Server, tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text('{"type": "Person", "data": {"name": "Ida", "shoes": 2}}\n')
    load = ("load", *serve(http, Path(filled["graph"])), "--data", tmp_path / "old.jsonl", "--mode", "merge")
    assert og(*load).code == 1
    assert og(*load, "--dialect", "compatible").code == 0


def test_limits_of_a_query_travel(og: Call, filled: dict[str, str], http: Server) -> None:
    flags = serve(http, Path(filled["graph"]))
    ask = ("query", *flags, "-e", "query q() { match { $p: Person  $q: Person } return { $p.name, count($q) as n } }")
    assert og(*ask, "--timeout", "60", "--memory-limit", "2GB").code == 0
    ran = og(*ask, "--memory-limit", "1", "--json")
    assert (ran.code, ran.json["code"]) == (1, "resource_limit")
    stored = og("query", "names", *flags, "--timeout", "1")
    assert (stored.code, "A stored query has the limits of its server" in stored.err) == (2, True)


def test_embedding_through_a_server(og: Call, http: Server, tmp_path: Path) -> None:
    schema = "node Note { slug: String @key  body: String?  vec: Vector(4)? @embed(body) }"
    with og_api.init(tmp_path / "notes.omni", schema=schema, embedder=MockEmbedder("m"), durability="os") as graph:
        graph_id = http.graphs.hold(graph)
        where = ["--server", http.url, "--graph", graph_id]
        with og_api.connect(http.url, graph=graph_id, token="ada") as connected:
            loaded = connected.load([{"type": "Note", "data": {"slug": "a", "body": "one"}}], embed=True)
            assert loaded.embedded is not None
            assert (loaded.embedded.model, loaded.embedded.vectors, loaded.embedded.usage.texts) == ("m", 1, 1)
            receipt = connected.mutate('query add() { insert Note { slug: "b", body: "two" } }', embed=True)
            assert receipt.embedded is not None
            assert receipt.embedded.vectors == 1
            plain = connected.mutate('query add() { insert Note { slug: "c", body: "three" } }')
            assert plain.embedded is None
        done = og("embed", *where, "--json")
        assert (done.code, done.json["model"], done.json["properties"][0]["entities"]) == (0, "m", 1)
        assert "embedded 0 entities" in og("embed", *where, "--type", "Note").out
        assert og("embed", *where, "--input", "x.jsonl").code == 2
        assert og("embed", "--store", tmp_path / "notes.omni").code in (0, 1), "a store may be named, too"
