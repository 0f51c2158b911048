"""What `omnigraph mcp --install` shows and writes: the entry, after it was confirmed, and nothing else in the file changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.calling import Call
from tests.surfaces.mcp.agents import speaking

FILES = {
    "claude": (".mcp.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".vscode/mcp.json", "servers"),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


@pytest.mark.parametrize("client", FILES)
def test_it_writes_what_it_showed(og: Call, people: Path, project: Path, client: str) -> None:
    name, member = FILES[client]
    ran = og("mcp", people, "--branch", "agent/{client}", "--install", client, "--yes")
    assert ran.code == 0, ran.err
    entry = json.loads((project / name).read_text())[member]["omnigraph-people"]
    assert entry["args"][-4:] == ["mcp", str(people), "--branch", "agent/{client}"]
    assert entry.get("type") == ("stdio" if client == "vscode" else None)
    assert str(project / name) in ran.out
    assert all(json.dumps(word) in ran.out for word in entry["args"])
    assert og("mcp", people, "--branch", "agent/{client}", "--install", client).out.endswith("has it already.\n")


def test_what_else_is_in_the_file_stays(og: Call, people: Path, project: Path) -> None:
    other = {"z": 1, "mcpServers": {"files": {"command": "x", "args": ["ä"]}}, "a": [1, {"b": None}]}
    (project / ".mcp.json").write_text(json.dumps(other, indent=4, ensure_ascii=False))
    (project / ".mcp.json").chmod(0o600)
    assert og("mcp", people, "--install", "claude", "--yes").code == 0
    text = (project / ".mcp.json").read_text()
    said = json.loads(text)
    assert said["mcpServers"].pop("omnigraph-people")
    assert said == other
    assert list(said) == list(other)
    assert "\n    " in text
    assert "ä" in text
    assert (project / ".mcp.json").stat().st_mode & 0o777 == 0o600
    assert [p.name for p in project.iterdir()] == [".mcp.json"], "nothing is left beside it"


def test_nothing_is_written_before_somebody_agrees(og: Call, people: Path, project: Path) -> None:
    ran = og("mcp", people, "--install", "claude", "--json")
    assert (ran.code, ran.json["code"]) == (1, "not_confirmed")
    assert og("mcp", people, "--install", "claude", "--print").code == 0
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("text", ["// mine\n{}", "[1]", '{"mcpServers": []}', "{"])
def test_a_file_that_is_not_plain_json_is_left_alone(og: Call, people: Path, project: Path, text: str) -> None:
    (project / ".mcp.json").write_text(text)
    ran = og("mcp", people, "--install", "claude", "--yes", "--json")
    assert ran.code == 1
    assert "omnigraph-people" in ran.json["hint"]
    assert (project / ".mcp.json").read_text() == text


def test_a_graph_that_is_not_there_is_not_installed(og: Call, project: Path, tmp_path: Path) -> None:
    assert og("mcp", tmp_path / "nothing", "--install", "claude", "--yes").code == 1
    assert list(project.iterdir()) == []


def test_for_a_person(og: Call, people: Path, project: Path, tmp_path: Path) -> None:
    paths = {
        "claude": ".config/Claude/claude_desktop_config.json",
        "cursor": ".cursor/mcp.json",
        "vscode": ".config/Code/User/mcp.json",
    }
    for client, name in paths.items():
        assert og("mcp", people, "--install", client, "--user", "--yes").code == 0
        assert (tmp_path / "home" / name).is_file()
    assert list(project.iterdir()) == []


def test_what_is_written_starts(og: Call, people: Path, project: Path) -> None:
    from mcp import StdioServerParameters

    og("mcp", people, "--read-only", "--install", "cursor", "--yes")
    entry: dict[str, Any] = json.loads((project / ".cursor/mcp.json").read_text())["mcpServers"]["omnigraph-people"]
    import os

    env = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    with speaking(StdioServerParameters(command=entry["command"], args=entry["args"], env=env), "auto", "cursor") as agent:
        assert "query" in agent.tools()
        assert "mutate" not in agent.tools()


@pytest.mark.parametrize("flags", [["--json"], ["--print"], ["--user"]])
def test_flags_of_installing_are_misuse_without_it(og: Call, people: Path, flags: list[str]) -> None:
    assert og("mcp", people, *flags).code == 2


@pytest.mark.parametrize("branch", ["{user}", "a/{client}/{x}", "{", " "])
def test_a_branch_that_is_none_is_refused(og: Call, people: Path, branch: str) -> None:
    assert "is not the name of a branch" in og("mcp", people, "--branch", branch).err
