"""What holds for every command: help, JSON, exit codes, flags it cannot use, graphs and files that are not there."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from msgspec.structs import replace
from tests.surfaces.calling import ADD, NAMES, SCHEMA, Call, leaves

import omnigraph as og_api
from omnigraph.cluster.config.resources import Resource
from omnigraph.cluster.ledger.records import Lock
from omnigraph.cluster.ledger.state import Ledger, pretty
from omnigraph.surfaces.cli.main import COMMANDS, HIDDEN, MEANT, OLDER, cli
from omnigraph.surfaces.cli.scope import PURPOSE, Capability, Command

LEAVES = dict(leaves())

POLICY = "{version: 1, groups: {g: [ada]}, rules: [{id: reads, allow: {actors: {group: g}, actions: [read]}}]}"

CALLS: dict[str, list[str]] = {
    "init": ["init", "{new}", "--schema", "{pg}"],
    "load": ["load", "{graph}", "--data", "{jsonl}", "--mode", "merge"],
    "query": ["query", "--store", "{graph}", "-e", NAMES],
    "mutate": ["mutate", "--store", "{graph}", "-e", ADD, "--params", '{"n": "Eve"}'],
    "export": ["export", "{graph}", "--out", "{out}"],
    "view": ["view", "{graph}", "--out", "{out}", "--no-open"],
    "blob get": ["blob", "get", "node", "Person", "Ada", "photo", "--uri", "{graph}", "--out", "{out}"],
    "blob stat": ["blob", "stat", "node", "Person", "Ada", "photo", "--uri", "{graph}"],
    "branch create": ["branch", "create", "new", "--uri", "{graph}"],
    "branch list": ["branch", "list", "--uri", "{graph}"],
    "branch delete": ["branch", "delete", "work", "--uri", "{graph}"],
    "branch merge": ["branch", "merge", "work", "--uri", "{graph}"],
    "review create": ["review", "create", "work", "--title", "Work", "--uri", "{graph}"],
    "review list": ["review", "list", "--uri", "{graph}"],
    "review show": ["review", "show", "1", "--uri", "{graph}"],
    "review diff": ["review", "diff", "1", "--uri", "{graph}"],
    "review comment": ["review", "comment", "1", "hm", "--uri", "{graph}"],
    "review approve": ["review", "approve", "1", "--uri", "{graph}"],
    "review request-changes": ["review", "request-changes", "1", "why?", "--uri", "{graph}"],
    "review merge": ["review", "merge", "1", "--uri", "{graph}"],
    "review close": ["review", "close", "1", "--uri", "{graph}"],
    "review reopen": ["review", "reopen", "2", "--uri", "{graph}"],
    "tag create": ["tag", "create", "v1", "--uri", "{graph}"],
    "tag list": ["tag", "list", "--uri", "{graph}"],
    "tag delete": ["tag", "delete", "kept", "--uri", "{graph}"],
    "commit list": ["commit", "list", "{graph}"],
    "commit show": ["commit", "show", "{head}", "--uri", "{graph}"],
    "commit changes": ["commit", "changes", "{head}", "--uri", "{graph}"],
    "changes poll": ["changes", "poll", "--uri", "{graph}", "--start", "beginning"],
    "changes baseline": ["changes", "baseline", "--uri", "{graph}", "--out", "{out}"],
    "history": ["history", "Person", "Ada", "--uri", "{graph}"],
    "shell": ["shell", "{graph}", "-e", "match { $p: Person } return { $p.name };"],
    "diff": ["diff", "main", "work", "--uri", "{graph}"],
    "revert": ["revert", "{head}", "--uri", "{graph}"],
    "schema show": ["schema", "show", "{graph}"],
    "schema plan": ["schema", "plan", "{graph}", "--schema", "{pg}"],
    "schema apply": ["schema", "apply", "{graph}", "--schema", "{pg}"],
    "queries list": ["queries", "list", "--queries", "{gq}"],
    "queries validate": ["queries", "validate", "{graph}", "--queries", "{gq}"],
    "lint": ["lint", "{graph}", "--query", "{gq}"],
    "fmt": ["fmt", "{gq}"],
    "explain": ["explain", "--store", "{graph}", "-e", NAMES],
    "embed": ["embed", "--input", "{jsonl}", "--output", "{out}", "--spec", "{spec}"],
    "stats": ["stats", "{graph}"],
    "snapshot": ["snapshot", "{graph}"],
    "optimize": ["optimize", "{graph}"],
    "cleanup": ["cleanup", "{graph}", "--keep", "2"],
    "verify": ["verify", "{graph}"],
    "repair": ["repair", "{graph}"],
    "mcp": ["mcp", "{graph}", "--install", "claude", "--print"],
    "cluster validate": ["cluster", "validate", "--config", "{cluster}"],
    "cluster plan": ["cluster", "plan", "--config", "{cluster}"],
    "cluster apply": ["cluster", "apply", "--config", "{cluster}", "--init"],
    "cluster approve": ["cluster", "approve", "graph.old", "--config", "{kept}"],
    "cluster status": ["cluster", "status", "--config", "{kept}"],
    "cluster refresh": ["cluster", "refresh", "--config", "{kept}"],
    "cluster import": ["cluster", "import", "--config", "{cluster}"],
    "cluster force-unlock": ["cluster", "force-unlock", "01LOCK", "--config", "{locked}"],
    "audit": ["audit", "{audit}"],
    "login": ["login", "prod", "--token", "secret"],
    "logout": ["logout", "prod"],
    "policy validate": ["policy", "validate", "--file", "{policy}"],
    "policy test": ["policy", "test", "--file", "{policy}", "--tests", "{cases}"],
    "policy explain": ["policy", "explain", "--file", "{policy}", "--actor", "ada", "--action", "schema-apply"],
    "policy export-cedar": ["policy", "export-cedar", "--file", "{policy}", "--graph", "people"],
    "alias": ["alias", "names"],
    "profile list": ["profile", "list"],
    "profile show": ["profile", "show"],
    "config show": ["config", "show"],
    "config set": ["config", "set", "operator.actor", "me"],
    "config unset": ["config", "unset", "defaults.store"],
    "completion": ["completion", "fish"],
    "version": ["version"],
}
"""One call that works, per command."""


@pytest.fixture
def filled(people: Path, tmp_path: Path, og: Call, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What stands in the braces of `CALLS`."""
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
    files = {
        "pg": ("s.pg", (people_schema(people)).replace("age: I32?", "age: I32?  city: String?")),
        "jsonl": ("p.jsonl", '{"type": "Person", "data": {"name": "Fay", "age": 3}}\n'),
        "gq": ("q.gq", NAMES),
        "spec": ("spec.json", '{"dimension": 2, "types": {"Person": {"target": "place", "fields": ["name"]}}}'),
        "policy": ("policy.yaml", POLICY),
        "cases": ("cases.yaml", "{version: 1, cases: [{id: c1, actor: ada, action: read, expect: allow}]}"),
        "home": ("home/config.yaml", ""),
    }
    found = {
        "graph": str(people),
        "new": str(tmp_path / "new.omni"),
        "out": str(tmp_path / "out.bin"),
        "audit": str(tmp_path / "home"),
    }
    for key, (name, text) in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        found[key] = str(tmp_path / name)
    (tmp_path / "home" / "config.yaml").write_text(
        f"defaults: {{ store: {people} }}\nprofiles: {{ dev: {{ store: {people} }} }}\naliases: {{ names: {{ query: ../q.gq }} }}\n"
    )
    for name in ("cluster", "kept", "locked"):
        found[name] = str(tmp_path / name)
        (tmp_path / name / "__cluster").mkdir(parents=True)
        (tmp_path / name / "cluster.yaml").write_text("version: 1\n")
    old = replace(Ledger.empty(), state_revision=1).with_resource("graph.old", Resource(""))
    (tmp_path / "kept" / "__cluster" / "state.json").write_bytes(old.encoded())
    (tmp_path / "locked" / "__cluster" / "lock.json").write_bytes(pretty(Lock(1, "01LOCK", "apply", "2026-05-01T12:00:00Z", 7)))
    with og_api.open(people) as g:
        found["head"] = g.commits(limit=1)[0].id
        g.tags.create("kept", found["head"])
        g.reviews.create("work", title="Work")
        g.reviews.close(g.reviews.create("work", title="Work, at first"))
    return found


def people_schema(folder: Path) -> str:
    with og_api.open(folder) as g:
        return g.schema()


BECOMES = {
    "serve": "this process becomes the server: tests/surfaces/http",
    "graphs list": "asks a server: tests/surfaces/http/test_cli.py",
}
"""Commands that are not called here, and why."""


def words(name: str, filled: dict[str, str]) -> list[str]:
    return [filled[w[1:-1]] if w.startswith("{") and w[1:-1] in filled else w for w in CALLS[name]]


def test_every_command_is_called_here() -> None:
    assert set(CALLS) | set(BECOMES) == set(LEAVES)


@pytest.mark.parametrize("name", CALLS)
def test_it_works_for_people(og: Call, filled: dict[str, str], name: str) -> None:
    ran = og(*words(name, filled))
    assert ran.code == 0, ran.err
    assert "Traceback" not in ran.err
    assert ran.out or name in ("fmt", "blob get")


@pytest.mark.parametrize("name", CALLS)
def test_it_works_for_programs(og: Call, filled: dict[str, str], name: str) -> None:
    ran = og(*words(name, filled), "--json")
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)
    assert data
    assert ran.out == json.dumps(data, indent=2, ensure_ascii=False) + "\n", "two blanks, and a newline at the end"


@pytest.mark.parametrize("name", CALLS)
def test_it_has_help(og: Call, name: str) -> None:
    ran = og(*name.split(), "--help")
    assert ran.code == 0
    assert "--json" in ran.out
    assert ran.out.startswith(f"Usage: omnigraph {name} ")


@pytest.mark.parametrize("name", CALLS)
def test_a_flag_nobody_knows_is_misuse(og: Call, filled: dict[str, str], name: str) -> None:
    ran = og(*words(name, filled), "--no-such-flag")
    assert ran.code == 2
    assert "--no-such-flag" in ran.err


def cut_short(name: str, line: list[str]) -> list[list[str]]:
    """A call that is broken in every way that can be seen before it runs: words missing at the end, too many, none that is known."""
    least = len(name.split())
    shorter = [line[:end] for end in range(least, len(line)) if name != "view" or end < least + 1]
    return [*shorter, [*line, "--no-such-flag"], [*line, *"abcdef"], [*name.split()[:-1], "no-such-word"]]


@pytest.mark.parametrize("name", CALLS)
def test_every_misuse_is_json_for_programs(
    og: Call, filled: dict[str, str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a call that is cut short after `--out` writes a file whose name is the next flag
    told = 0
    for line in cut_short(name, words(name, filled)):
        at = len(name.split())
        ran = og(*line[:at], "--json", *line[at:])
        if ran.code == 0:
            continue
        assert ran.json, line
        assert "Usage:" not in ran.err, line
        if ran.code == 2 and "files" not in ran.json:
            told += 1
            assert ran.json["error"], line
            assert ran.json["code"] == "usage", line
            assert ran.json["hint"], line
    assert told >= 2, "a flag and a command that nobody knows"


@pytest.mark.parametrize("name", CALLS)
def test_a_flag_it_cannot_use_is_an_error_before_anything_is_done(og: Call, filled: dict[str, str], name: str) -> None:
    command = LEAVES[name]
    assert isinstance(command, Command)
    for flag in PURPOSE:
        if flag in command.usable:
            continue
        for line in ([f"--{flag}", "x", *words(name, filled)], [*words(name, filled), f"--{flag}", "x"]):
            ran = og(*line)
            assert ran.code == 1, (flag, ran.out, ran.err)
            assert f"--{flag}" in ran.err
            assert command.capability.value in ran.err
            assert not Path(filled["new"]).exists()
            assert not Path(filled["out"]).exists()


ADDRESSED = [
    n
    for n, c in LEAVES.items()
    if isinstance(c, Command) and c.capability in (Capability.DATA, Capability.DIRECT) and n != "init"
]


@pytest.mark.parametrize("name", ADDRESSED)
def test_a_graph_that_is_not_there(og: Call, filled: dict[str, str], tmp_path: Path, name: str) -> None:
    filled["graph"] = str(tmp_path / "nothing")
    ran = og(*words(name, filled))
    assert ran.code == 1
    assert "holds no graph" in ran.err or "does not exist" in ran.err
    assert not (tmp_path / "nothing").exists(), "looking creates nothing"
    told = og(*words(name, filled), "--json")
    assert (told.code, told.json["code"]) == (1, "not_found")


FILES = [(name, place) for name, call in CALLS.items() for place in ("{pg}", "{jsonl}", "{gq}", "{spec}") if place in call]


@pytest.mark.parametrize(("name", "place"), FILES)
def test_a_file_that_is_not_there(og: Call, filled: dict[str, str], name: str, place: str) -> None:
    filled[place[1:-1]] = "/nowhere/at/all.pg"
    ran = og(*words(name, filled), "--json")
    assert ran.code == 1, ran.err
    if name != "fmt":  # which tells about every file in a list
        assert ran.json["code"] == "not_found"
    assert "/nowhere/at/all.pg" in ran.out + ran.err


def test_flags_of_addressing_are_listed_where_they_count(og: Call) -> None:
    assert "--as ACTOR" in og("mutate", "--help").out
    assert "--as ACTOR" not in og("query", "--help").out
    assert "--server NAME|URL" in og("query", "--help").out
    assert "--server" not in og("optimize", "--help").out


@pytest.mark.parametrize(("typed", "meant"), MEANT.items())
def test_words_of_other_tools_lead_to_ours(og: Call, typed: str, meant: str) -> None:
    ran = og(typed)
    assert ran.code == 2
    assert f"`omnigraph {meant}`" in ran.err
    assert meant.split(" --")[0] in LEAVES
    assert typed not in {*COMMANDS, *OLDER, *HIDDEN}


@pytest.mark.parametrize(("older", "now"), OLDER.items())
def test_older_names_still_work(og: Call, filled: dict[str, str], older: str, now: str) -> None:
    ran = og(older, *words(now, filled)[1:])
    assert ran.code == 0
    assert f"warning: `omnigraph {older}` is now `omnigraph {now}`" in ran.err


def test_a_mistyped_part_of_a_command_gets_a_suggestion(og: Call) -> None:
    assert "Did you mean `create`?" in og("branch", "craete").err
    assert "There are create, delete, list, merge." in og("branch", "xyzzy").err


def test_help_is_in_sections_and_complete(og: Call) -> None:
    ran = og("--help")
    assert all(f"\n  {name} " in ran.out for name in COMMANDS)
    assert not any(f"\n  {name} " in ran.out for name in (*HIDDEN, *OLDER))
    assert isinstance(cli, click.Group)


def test_every_command_is_in_the_reference() -> None:
    page = (Path(SCHEMA).parents[2] / "docs" / "reference" / "commands.md").read_text()
    assert [name for name in LEAVES if f"\n## omnigraph {name}\n" not in page] == []
