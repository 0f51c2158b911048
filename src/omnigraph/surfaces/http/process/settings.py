"""How a server is started: what it serves, to whom, and where it listens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from omnigraph.errors import UsageError
from omnigraph.model.versions import API_VERSION
from omnigraph.policy.port import Authoriser
from omnigraph.policy.states import OpenAccess, ReadOnly, TokenHolders

DEFAULT_BIND: Final = "127.0.0.1:8080"


ENVIRONMENT: Final = {
    "OMNIGRAPH_BIND": "server: where it listens, unless `--bind` says it",
    "OMNIGRAPH_UNAUTHENTICATED": "server: on (anything but empty, `0`, `false`): it serves without tokens",
    "OMNIGRAPH_SERVER_BEARER_TOKEN": "server: one token, of the actor `default`",
    "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE": 'server: a file of tokens, `{"actor": "token", …}`',
    "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": "server: the same, inline",
    "OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET": "server: id of a secret that holds the tokens; then the only source",
    "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "server: writes that one actor has under way at most (16)",
    "OMNIGRAPH_PER_ACTOR_BYTES_MAX": "server: their bytes (4 GiB)",
    "OMNIGRAPH_CORS_ORIGINS": "server: origins whose web pages may ask, separated by commas; `*` for all",
    "OMNIGRAPH_API_VERSION": "server: version that `/healthz` reports",
    "OMNIGRAPH_SOURCE_VERSION": "server: what it was built from, as `/healthz` reports it",
    "OMNIGRAPH_LOG": "server: what is logged (`debug`, `info`, `warning`, `error`)",
    "OMNIGRAPH_BEARER_TOKEN": "client: the token that is sent when `og.connect` is given none",
}
"""Variables that servers and clients read, and what they mean."""


class Access(Enum):
    """What callers may do without a policy."""

    OPEN = "open"
    """Nobody has a token: everything of a graph."""
    HOLDERS = "holders"
    """Whoever has a token may do everything."""
    READ = "read"
    """Whoever has a token may read."""

    def authoriser(self) -> Authoriser:
        """Who decides."""
        known: dict[Access, Authoriser] = {Access.OPEN: OpenAccess(), Access.HOLDERS: TokenHolders(), Access.READ: ReadOnly()}
        return known[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Everything a worker needs to know; it travels to worker processes as JSON."""

    graphs: tuple[str, ...]
    """Each a path, an `s3://` address, or `ID=` and one of them."""
    bind: str = DEFAULT_BIND
    access: Access = Access.READ
    read_only: bool = False
    """Graphs are opened so that no write can start."""
    workers: int = 1
    certificate: str | None = None
    key: str | None = None
    api_version: str = API_VERSION
    access_log: bool = False
    json_logs: bool = False
    log_level: str = "info"
    origins: tuple[str, ...] = ()
    """Web pages of these origins may ask; `*` for all."""

    @property
    def address(self) -> tuple[str, int]:
        """Host and port; `[::1]:8080` is how an IPv6 address is written."""
        match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*):(\d{1,5})", self.bind.strip())
        if match is None or int(match[2]) > 65_535:
            raise UsageError(f"{self.bind!r} is not an address to listen at", hint="Write host:port, as 127.0.0.1:8080.")
        return match[1].strip("[]") or "0.0.0.0", int(match[2])


def is_set(environment_value: str | None) -> bool:
    """Whether a switch in the environment is on: set, and neither `0` nor `false`."""
    return environment_value is not None and environment_value.strip().lower() not in ("", "0", "false")
