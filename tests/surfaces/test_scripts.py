"""What scripts that call the command line rely on: exit codes, where errors stand, members and their order, names of files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.calling import Ran

from omnigraph.surfaces.cli.main import run

SCHEMA = "node Person { name: String @key  age: I32?  ok: Bool?  tags: [String]?  photo: Blob? }\nedge Knows: Person -> Person\n"
LINES = [
    {"type": "Person", "data": {"name": "Ada", "age": 36, "ok": True, "tags": ["a", "b"], "photo": "base64:AAEC"}},
    {"type": "Person", "data": {"name": "Bob"}},
    {"edge": "Knows", "from": "Ada", "to": "Bob"},
]
ALL = "query q() { match { $p: Person } return { $p.ok, $p.name, $p.tags } order { $p.name } }"
WRONG = "query q() { match { $p: Persn } return { $p.name } }"


class Scripts:
    """A folder with a schema, records and a graph, and the command line in it."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capture = folder, capture
        (folder / "s.pg").write_text(SCHEMA)
        (folder / "records").write_text("".join(json.dumps(line) + "\n" for line in LINES))
        assert self("init", "--schema", "s.pg", "g.omni").code == 0

    def __call__(self, *arguments: str) -> Ran:
        code = run(arguments)
        out, err = self._capture.readouterr()
        return Ran(code, out, err)

    def load(self, *more: str) -> Ran:
        return self("load", "g.omni", "--data", "records", "--mode", "merge", *more)


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Scripts:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("OMNIGRAPH_PROFILE", raising=False)
    return Scripts(tmp_path, capsys)


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", "--store", "g.omni", "-e", WRONG],
        ["query", "--store", "nowhere.omni", "-e", ALL],
        ["query", "--store", "g.omni", "-e", " "],
        ["query", "--store", "g.omni", "-e", ALL, "--params", "[1]"],
        ["branch", "create", "--uri", "g.omni", "  "],
        ["branch", "delete", "--uri", "g.omni", "nobody"],
        ["export", "g.omni", "--type", "Nobody"],
        ["load", "g.omni", "--data", "missing.jsonl", "--mode", "merge"],
        ["snapshot", "g.omni", "--branch", ""],
        ["mutate", "--store", "g.omni", "-e", 'query a() { insert Person { name: "x" } }', "--branch", " "],
    ],
    ids=lambda given: " ".join(given),
)
def test_what_fails_while_it_runs_exits_with_1(script: Scripts, arguments: list[str]) -> None:
    ran = script(*arguments)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(("Error: ", "error", "omnigraph ", "type error", "× ", "  ")) or "Error: " in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", "--nonsense"],
        ["load", "g.omni", "--data", "records"],
        ["load", "g.omni", "--data", "records", "--mode", "sideways"],
        ["query", "--store", "g.omni", "-e", ALL, "--json", "--format", "csv"],
        ["query", "--store", "g.omni", "-e", ALL, "--branch", "main", "--snapshot", "x"],
        ["schema", "show", "g.omni", "--diagram", "--json"],
        ["cleanup", "g.omni"],
        ["branch", "create", "--uri", "g.omni", "x", "--from", "main", "--from", "main"],
        ["query", "--store", "g.omni", "--store", "g.omni", "-e", ALL],
        ["nonsense"],
    ],
    ids=lambda given: " ".join(given),
)
def test_what_cannot_be_parsed_exits_with_2(script: Scripts, arguments: list[str]) -> None:
    ran = script(*arguments)
    assert (ran.code, ran.out) == (2, "")


def test_a_failure_under_json_leaves_stdout_empty(script: Scripts) -> None:
    for arguments in (
        ["query", "--store", "g.omni", "-e", WRONG],
        ["branch", "delete", "--uri", "g.omni", "nobody"],
        ["query", "--no"],
    ):
        ran = script(*arguments, "--json")
        assert ran.out == ""
        assert json.loads(ran.err[ran.err.index("{") :])["error"]


def test_a_lost_condition_is_told_on_stdout(script: Scripts) -> None:
    script.load()
    first = script("commit", "list", "g.omni", "--json").json["commits"][-1]["graph_commit_id"]
    add = ["mutate", "--store", "g.omni", "-e", 'query a() { insert Person { name: "x" } }', "--if-commit", first]
    as_json = script(*add, "--json")
    assert as_json.code == 4
    assert as_json.json["precondition_failure"]["expected"] == first
    assert as_json.err == ""
    plain = script(*add)
    assert (plain.code, plain.out) == (4, "")
    assert plain.err.startswith("Error: ")


def test_the_members_of_a_load_and_their_order(script: Scripts) -> None:
    expected = ["uri", "branch", "mode", "branch_created", "nodes", "edges", "total_entities", "actor_id", "commit"]
    assert list(script.load("--json").json) == expected
    based = script.load("--branch", "b", "--from", "main", "--json").json
    assert list(based) == [*expected[:3], "base_branch", *expected[3:]]
    assert based["base_branch"] == "main"


def test_members_of_upkeep(script: Scripts) -> None:
    script.load()
    for one in script("optimize", "g.omni", "--json").json["datasets"]:
        assert one["lance_head_version"] == one["published_dataset_version"] < 2**53
    for one in script("cleanup", "g.omni", "--keep", "1", "--confirm", "--json").json["datasets"]:
        assert {"type_key", "bytes_removed", "old_versions_removed", "error"} <= one.keys()
    for one in script("snapshot", "g.omni", "--json").json["datasets"]:
        assert one["published_dataset_version"] < 2**53


def test_rows_keep_the_order_of_the_projection(script: Scripts) -> None:
    script.load()
    asked = ["query", "--store", "g.omni", "-e", ALL]
    assert [list(row) for row in script(*asked, "--json").json["rows"]] == [["p.ok", "p.name", "p.tags"]] * 2
    about, *rows = (json.loads(line) for line in script(*asked, "--format", "jsonl").lines)
    assert list(about) == ["kind", "query_name", "target", "row_count"]
    assert [list(row) for row in rows] == [["p.ok", "p.name", "p.tags"]] * 2


def test_values_are_spelt_as_json_does(script: Scripts) -> None:
    script.load()
    table = script("query", "--store", "g.omni", "-e", ALL).lines
    assert [cell.strip() for cell in table[-2].split("|")] == ["true", "Ada", '["a","b"]']
    assert [cell.strip() for cell in table[-1].split("|")] == ["null", "Bob", "null"]
    last = script("commit", "list", "g.omni", "--json").json["commits"][0]["graph_commit_id"]
    changes = script("commit", "changes", "--uri", "g.omni", last).out
    assert "True" not in changes
    assert "None" not in changes
    assert "true" in changes


@pytest.mark.parametrize("name", ["records", "data.txt", "data.2024", "people.jsonl"])
def test_any_name_is_json_lines_unless_it_says_otherwise(script: Scripts, name: str) -> None:
    (script.folder / name).write_bytes((script.folder / "records").read_bytes())
    assert script("load", "g.omni", "--data", name, "--mode", "merge", "--json").json["total_entities"] == 3


@pytest.mark.parametrize("data", ["/dev/stdin", "<(cat records)", "-"])
def test_streams_are_json_lines(script: Scripts, data: str) -> None:
    line = f"{sys.executable} -m omnigraph load g.omni --data {data} --mode merge --json < records"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["total_entities"] == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ["branch", "list", "--uri", "g.omni"],
        ["snapshot", "g.omni"],
        ["export", "g.omni"],
        ["schema", "show", "g.omni"],
        ["branch", "create", "--uri", "g.omni", "b"],
        ["load", "g.omni", "--data", "records", "--mode", "merge"],
        ["schema", "apply", "g.omni", "--schema", "s.pg"],
        ["mutate", "--store", "g.omni", "-e", 'query a() { insert Person { name: "x" } }'],
    ],
    ids=lambda given: " ".join(given[:2]),
)
def test_where_an_actor_may_be_named(script: Scripts, arguments: list[str]) -> None:
    assert script(*arguments, "--as", "agent-7").code == 0


@pytest.mark.parametrize(
    "arguments",
    [["query", "--store", "g.omni", "-e", ALL], ["commit", "list", "g.omni"], ["changes", "poll", "--uri", "g.omni"]],
    ids=lambda given: " ".join(given[:2]),
)
def test_where_no_actor_may_be_named(script: Scripts, arguments: list[str]) -> None:
    ran = script(*arguments, "--as", "agent-7")
    assert ran.code == 1
    assert "--as" in ran.err


def test_lint_with_a_schema_looks_at_no_graph(script: Scripts) -> None:
    (script.folder / "q.gq").write_text(ALL)
    ran = script("lint", "nowhere.omni", "--schema", "s.pg", "--query", "q.gq", "--json")
    assert ran.code == 0
    assert ran.json["schema_source"] == {"kind": "file", "path": "s.pg"}


@pytest.mark.parametrize("other", ["server: prod", "default_graph: g"])
def test_defaults_that_contradict_each_other(script: Scripts, other: str) -> None:
    (script.folder / "home").mkdir()
    (script.folder / "home" / "config.yaml").write_text(f"defaults:\n  store: g.omni\n  {other}\n")
    ran = script("query", "-e", ALL)
    assert ran.code == 1
    assert "exclude each other" in ran.err


def test_a_branch_that_was_not_given_is_left_out(script: Scripts) -> None:
    script.load()
    blob = ["blob", "stat", "node", "Person", "Ada", "photo", "--uri", "g.omni", "--json"]
    assert list(script(*blob).json["target"]) == ["resolved_snapshot"]
    assert list(script(*blob, "--branch", "main").json["target"]) == ["branch", "resolved_snapshot"]


def test_a_plan_that_is_not_supported_is_an_answer(script: Scripts) -> None:
    (script.folder / "t.pg").write_text(SCHEMA.replace("age: I32?", "age: String?"))
    ran = script("schema", "plan", "g.omni", "--schema", "t.pg", "--json")
    assert (ran.code, ran.json["supported"]) == (0, False)
    assert "supported: no" in script("schema", "plan", "g.omni", "--schema", "t.pg").out


@pytest.mark.parametrize("inline", [True, False], ids=["in the manifest", "below spec"])
def test_a_seed_may_describe_its_embeddings_itself(script: Scripts, monkeypatch: pytest.MonkeyPatch, inline: bool) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
    spec: dict[str, Any] = {"dimension": 4, "types": {"Person": {"target": "vec", "fields": ["name"]}}}
    manifest = {"sources": {"raw_seed": "records"}, "embeddings": spec if inline else {"spec": spec}}
    (script.folder / "seed.yaml").write_text(json.dumps(manifest))
    ran = script("embed", "--seed", "seed.yaml", "--json")
    assert (ran.code, ran.json["embedded_records"], ran.json["dimension"]) == (0, 2, 4)


def test_a_branch_that_others_were_made_from_may_be_deleted(script: Scripts) -> None:
    script.load()
    script("branch", "create", "--uri", "g.omni", "a")
    script("branch", "create", "--uri", "g.omni", "b", "--from", "a")
    assert script("branch", "delete", "--uri", "g.omni", "a").code == 0
    assert len(script("query", "--store", "g.omni", "-e", ALL, "--branch", "b", "--json").json["rows"]) == 2
