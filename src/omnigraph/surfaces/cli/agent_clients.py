"""Clients of agents, and where they keep which MCP servers they start: `omnigraph mcp --install`.

            in a project            for a person                                          below
    claude  .mcp.json               the configuration of Claude Desktop                   mcpServers
    cursor  .cursor/mcp.json        ~/.cursor/mcp.json                                    mcpServers
    vscode  .vscode/mcp.json        mcp.json beside the settings of Visual Studio Code    servers

What is written is shown first, as a difference; everything else in the file stays, in its order. A file that is not plain JSON
(one with comments, for example) is left alone, and what to add is said. No token is written: clients start a command that finds
its own.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, Final

from omnigraph.errors import NotConfirmed, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.outputs import output_file
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import here


@frozen
class AgentClient:
    """A client, and where its configuration is."""

    title: str
    project: str
    """Below the folder of a project."""
    person: tuple[str, ...]
    """Below the folder that programs keep their settings in; `~` for the home folder."""
    member: str
    typed: bool = False
    """Whether an entry says that it speaks over standard input and output."""


CLIENTS: Final = {
    "claude": AgentClient("Claude", ".mcp.json", ("Claude", "claude_desktop_config.json"), "mcpServers"),
    "cursor": AgentClient("Cursor", ".cursor/mcp.json", ("~", ".cursor", "mcp.json"), "mcpServers"),
    "vscode": AgentClient("Visual Studio Code", ".vscode/mcp.json", ("Code", "User", "mcp.json"), "servers", typed=True),
}


def install_in(client: str, arguments: list[str], where: str, *, user: bool, only_print: bool, as_json: bool) -> None:
    """Add a command to the configuration of a client, after somebody has seen it."""
    about = CLIENTS[client]
    path = _person(about) if user else Path(about.project).absolute()
    name, entry = f"omnigraph-{_short(where)}", _entry(about, arguments)
    before = _read(path, about, name, entry)
    after = _added(before, about.member, name, entry, path)
    changed = after != before
    written = False
    if not as_json:
        _show(path, before, after)
    if changed and not only_print:
        _confirm(path, as_json=as_json)
        path.parent.mkdir(parents=True, exist_ok=True)
        with output_file(path, durable=True) as file:
            file.write(after.encode())
        written = True
    if as_json:
        print_json({"client": client, "path": str(path), "name": name, "entry": entry, "changed": changed, "written": written})
    elif written:
        say(f"Written. {about.title} starts the server `{name}` when it is started again.")
    elif not changed:
        say(f"{path} has it already.")


def _short(where: str) -> str:
    last = re.sub(r"[^A-Za-z0-9_-]+", "-", where.rstrip("/").rpartition("/")[2].removesuffix(".omni")).strip("-")
    return last[:64] or "graph"


def _entry(about: AgentClient, arguments: list[str]) -> dict[str, Any]:
    """What starts the command: this very program."""
    own = Path(sys.executable).with_name("omnigraph")
    command = [str(own)] if own.is_file() else [sys.executable, "-m", "omnigraph"]
    entry: dict[str, Any] = {"command": command[0], "args": [*command[1:], *arguments]}
    return {"type": "stdio", **entry} if about.typed else entry


def _person(about: AgentClient) -> Path:
    if about.person[0] == "~":
        return Path.home().joinpath(*about.person[1:])
    if sys.platform == "darwin":
        kept = Path.home() / "Library" / "Application Support"
    elif os.name == "nt":
        kept = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        kept = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return kept.joinpath(*about.person)


def _read(path: Path, about: AgentClient, name: str, entry: dict[str, Any]) -> str:
    """What the file says; nothing if it is not there."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from None
    try:
        said = json.loads(text) if text.strip() else {}
    except ValueError:
        said = None
    if not isinstance(said, dict) or not isinstance(said.get(about.member, {}), dict):
        raise UsageError(
            f"{path} is not the plain JSON that {about.title} is configured by, and is left as it is",
            hint=f"Add this below `{about.member}` yourself: {json.dumps(name)}: {json.dumps(entry)}",
        )
    return text


def _added(before: str, member: str, name: str, entry: dict[str, Any], path: Path) -> str:
    """The file with the entry; what else it says stays."""
    said = json.loads(before) if before.strip() else {}
    if said.get(member, {}).get(name) == entry:
        return before
    said[member] = {**said.get(member, {}), name: entry}
    found = re.search(r"\n([ \t]+)\S", before)
    return json.dumps(said, indent=found[1] if found else 2, ensure_ascii=False) + "\n"


def _show(path: Path, before: str, after: str) -> None:
    say(f"{path}{'' if before else ' (new)'}")
    for line in difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=2):
        say(f"  {line}")


def _confirm(path: Path, *, as_json: bool) -> None:
    if here().yes:
        return
    if as_json or not sys.stdin.isatty():
        raise NotConfirmed(
            f"writing {path} needs to be confirmed", hint="Nothing was done. Give --yes to write it, or --print to look only."
        )
    say(f"Write {path}? [yes/no] ", err=True, nl=False)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotConfirmed("not confirmed", hint="Nothing was done.")
