"""Servers that commands ask: their names and tokens, and the door behind which a served graph answers operations.

    --server prod --graph knowledge     servers.prod.url of config.yaml, then /graphs/knowledge
    --server https://…                  the address itself
    --server prod                       the one graph it serves, or an error that lists them

A token is that of the server whose address the target begins with: `OMNIGRAPH_TOKEN_<NAME>`, or what `omnigraph login` wrote to
`credentials`; of any other address, `OMNIGRAPH_BEARER_TOKEN` (for agents `OMNIGRAPH_TOKEN` before it). So a token never goes to
an address that it is not for.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

from omnigraph.errors import NotFound, ScopeError, UsageError
from omnigraph.service import Caller, GraphRef
from omnigraph.surfaces.cli import settings
from omnigraph.surfaces.cli.settings import Settings

if TYPE_CHECKING:
    from omnigraph.client.graph import RemoteGraph
    from omnigraph.service.operation import Operation

R = TypeVar("R")

_SECTION = re.compile(r"\s*\[(.+)\]\s*")
_TOKEN = re.compile(r"\s*token\s*=\s*(.*?)\s*")


def base_of(server: str, known: Settings) -> str:
    """The address of a server that is named, or given by its address."""
    if "://" in server:
        return server.rstrip("/")
    servers = known.get("servers") or {}
    if server not in servers:
        names = (
            f"There are {', '.join(sorted(servers))}."
            if servers
            else "There are none yet: `omnigraph config set servers.NAME.url URL`."
        )
        raise NotFound(f"no server `{server}` in {known.path}", what="server", name=server, hint=names)
    url = (servers[server] or {}).get("url")
    if not url:
        raise UsageError(f"{known.path}: servers.{server}.url is missing", hint="It is the address of the server.")
    return str(url).rstrip("/")


def served(server: str, graph: str | None, known: Settings, token: Callable[[str], str | None] | None = None) -> str:
    """The address of a graph on a server; without a graph, the only one that the caller may work with. `token`: for the address
    of a server, instead of the one that is known for it."""
    base = base_of(server, known)
    if graph is None:
        from omnigraph.client.listing import discover_graphs

        found = discover_graphs(base, token_for(base, known) if token is None else token(base))
        if len(found) != 1:
            names = f"There are {', '.join(found)}." if found else "It serves none that you may work with."
            raise ScopeError(f"which graph of {base}?", hint=f"Give --graph. {names}")
        graph = found[0]
    return f"{base}/graphs/{quote(graph, safe='')}"


# ── tokens ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def token_for(where: str, known: Settings, *before: str) -> str | None:
    """The token for an address: that of its server, else the first that the environment has for any. `before`: names of
    variables that go before the usual one."""
    matching = [
        (len(url), name)
        for name, about in (known.get("servers") or {}).items()
        if (url := str((about or {}).get("url") or "").rstrip("/")) and (where == url or where.startswith(f"{url}/"))
    ]
    fallback = next(filter(None, map(_variable, (*before, "OMNIGRAPH_BEARER_TOKEN"))), None)
    if not matching:
        return fallback
    name = max(matching)[1]
    return _variable(f"OMNIGRAPH_TOKEN_{name.upper().replace('-', '_')}") or credentials().get(name) or fallback


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip()


def credentials_path() -> Path:
    """Where tokens are kept."""
    return settings.folder() / "credentials"


def credentials() -> dict[str, str]:
    """Tokens by server. A file that others may look into is refused."""
    found: dict[str, str] = {}
    section = ""
    for line in _lines():
        if line.lstrip().startswith("#"):
            continue
        if match := _SECTION.fullmatch(line):
            section = match[1].strip()
        elif (match := _TOKEN.fullmatch(line)) and section:
            found[section] = match[1].strip("\"'").strip()
    return {name: token for name, token in found.items() if token}


def _lines() -> list[str]:
    path = credentials_path()
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from None
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"{path} can be read by others", hint=f"chmod 600 {path}")
    return text.splitlines()


def keep_token(server: str, token: str | None) -> Path:
    """Write down the token of a server, or forget it. Other sections stay as they are."""
    kept: list[str] = []
    inside = False
    for line in _lines():
        if match := _SECTION.fullmatch(line):
            inside = match[1].strip() == server
        if not inside:
            kept.append(line)
    if token is not None:
        kept += [f"[{server}]", f"token = {token}"]
    import tempfile

    path = credentials_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".credentials-")  # 0600
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in kept))
    os.replace(temporary, path)
    return path


# ── the door ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


class RemoteDoor:
    """Has operations done by servers. Who acts and who may is decided there."""

    def __init__(self, known: Settings, token: str | None = None) -> None:
        self._known, self._token = known, token
        self._connected: dict[str, RemoteGraph] = {}

    def run(self, caller: Caller, operation: Operation[R]) -> R:
        """Have something done."""
        return operation.run(self, caller)

    def open(self, ref: GraphRef) -> RemoteGraph:
        """The graph, connected."""
        from omnigraph.client.graph import connect

        found = self._connected.get(ref.uri)
        if found is None:
            base, _, graph = ref.uri.rpartition("/graphs/")
            token = self._token or token_for(ref.uri, self._known) or ""
            found = self._connected[ref.uri] = connect(base, graph=unquote(graph), token=token)
        return found

    def create(self, ref: GraphRef, schema: str | Path, actor: str | None) -> Any:
        """Graphs are made where they are."""
        raise ScopeError(f"{ref.uri} is on a server, which makes no graphs", hint="Give a path or an s3:// address.")

    def close(self) -> None:
        """Let go of the connections."""
        while self._connected:
            self._connected.popitem()[1].close()
