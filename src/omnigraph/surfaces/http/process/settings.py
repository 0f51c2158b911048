"""How a server is started: what it serves, to whom, and where it listens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from omnigraph.errors import UsageError
from omnigraph.model.versions import API_VERSION
from omnigraph.policy.port import Authoriser
from omnigraph.policy.states import OpenAccess, ReadOnly, TokenHolders

DEFAULT_BIND: Final = "127.0.0.1:8080"
CLUSTER_SECONDS: Final = 30.0
"""How often a server looks whether something else was applied to its cluster, unless it is told."""


ENVIRONMENT: Final = {
    "OMNIGRAPH_BIND": "server: where it listens, unless `--bind` says it",
    "OMNIGRAPH_CLUSTER": "server: the cluster that is served, unless `--cluster` or graphs are given",
    "OMNIGRAPH_DEPLOYABLE_KEYS": "server: variables that a deployment may newly name as keys of providers, separated by commas",
    "OMNIGRAPH_REQUIRE_ALL_GRAPHS": "server: on: a graph of the cluster that cannot be served keeps the server from starting",
    "OMNIGRAPH_UNAUTHENTICATED": "server: on (anything but empty, `0`, `false`): it serves without tokens",
    "OMNIGRAPH_SERVER_BEARER_TOKEN": "server: one token, of the actor `default`",
    "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE": 'server: a file of tokens, `{"actor": "token", …}`',
    "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": "server: the same, inline",
    "OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET": "server: id of a secret that holds the tokens; then the only source",
    "OMNIGRAPH_EMBED_EVERY": "server: look so often, in seconds, whether texts need vectors, and make them (never)",
    "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "server: writes that one actor has under way at most (16)",
    "OMNIGRAPH_PER_ACTOR_BYTES_MAX": "server: their bytes (4 GiB)",
    "OMNIGRAPH_LOAD_BYTES_MAX": "server: the most that a load of files may have (8 GiB)",
    "OMNIGRAPH_CONFIG_RELOAD": "server: seconds between looks at what is to be served; 0: never. 30 for a cluster, otherwise 0",
    "OMNIGRAPH_CORS_ORIGINS": "server: origins whose web pages may ask, separated by commas; `*` for all",
    "OMNIGRAPH_API_VERSION": "server: version that `/healthz` reports",
    "OMNIGRAPH_REQUIRE_HTTP_API": "server: refuse requests that do not say `Omnigraph-Http-Api:` and this version (`0.13`)",
    "OMNIGRAPH_SOURCE_VERSION": "server: what it was built from, as `/healthz` reports it",
    "OMNIGRAPH_OIDC_ISSUER": "server: identity provider whose tokens are believed (`pip install 'omnigraph[oidc]'`)",
    "OMNIGRAPH_OIDC_AUDIENCE": "server: whom its tokens must be for",
    "OMNIGRAPH_OIDC_JWKS": "server: its keys, an https:// address or a file",
    "OMNIGRAPH_OIDC_ALGORITHMS": "server: signatures that are accepted (`RS256,ES256`)",
    "OMNIGRAPH_OIDC_ACTOR_CLAIM": "server: claim that names the actor (`sub`)",
    "OMNIGRAPH_OIDC_GROUPS_CLAIM": "server: claim that lists the actor's groups (`groups`)",
    "OMNIGRAPH_OIDC_LEEWAY": "server: seconds that clocks may differ (60)",
    "OMNIGRAPH_AUDIT_LOG": "server: folder that the audit is kept in, unless `--audit-log` says it",
    "OMNIGRAPH_AUDIT_READS": "server: on: what is allowed is in the audit too, not only denials and writes",
    "OMNIGRAPH_AUDIT_SYNC": "server: on: a record is on the disk before its request goes on",
    "OMNIGRAPH_AUDIT_FILE_BYTES": "server: bytes of a file of the audit, about (64 MiB)",
    "OMNIGRAPH_AUDIT_FILES": "server: files of the audit that are kept beside the newest (8)",
    "OMNIGRAPH_LOG": "server: what is logged (`debug`, `info`, `warning`, `error`)",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "server: where traces of requests are sent (`pip install 'omnigraph[telemetry]'`)",
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

    graphs: tuple[str, ...] = ()
    """Each a path, an `s3://` address, or `ID=` and one of them."""
    cluster: str | None = None
    """Or a cluster: its folder or the address of its storage root."""
    require_all_graphs: bool = False
    """Whether a graph of the cluster that cannot be served keeps all others from being served."""
    audit_log: str | None = None
    """The folder that the audit is kept in; logged otherwise."""
    queries: tuple[str, ...] = ()
    """Folders and files of stored queries, each with `GRAPH=` before it if there are several graphs."""
    bind: str = DEFAULT_BIND
    access: Access = Access.READ
    read_only: bool = False
    """Graphs are opened so that no write can start."""
    workers: int = 1
    certificate: str | None = None
    key: str | None = None
    api_version: str = API_VERSION
    http_api: str | None = None
    """The version of the contract that requests have to say they speak."""
    access_log: bool = False
    json_logs: bool = False
    log_level: str = "info"
    origins: tuple[str, ...] = ()
    """Web pages of these origins may ask; `*` for all."""
    policies: tuple[str, ...] = ()
    """Files of policies: each `GRAPH=FILE`, or one for all other graphs."""
    server_policy: str | None = None
    """The file of the policy for what is about no graph."""
    embed_seconds: float | None = None
    """How often texts that were written get their vectors; None: only when somebody asks."""
    reload_seconds: float | None = None
    """How often it is looked at what is to be served; None: only when somebody asks."""

    @property
    def address(self) -> tuple[str, int]:
        """Host and port; `[::1]:8080` is how an IPv6 address is written."""
        match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*):(\d{1,5})", self.bind.strip())
        if match is None or int(match[2]) > 65_535:
            raise UsageError(f"{self.bind!r} is not an address to listen at", hint="Write host:port, as 127.0.0.1:8080.")
        return match[1].strip("[]") or "0.0.0.0", int(match[2])


def reload_seconds(environment: Mapping[str, str], default: float | None = None) -> float | None:
    """How often a server looks at what it is to serve, as the environment says it."""
    text = environment.get("OMNIGRAPH_CONFIG_RELOAD", "").strip()
    if not text:
        return default
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 86_400:
        raise UsageError(f"OMNIGRAPH_CONFIG_RELOAD is a number of seconds, not {text!r}", hint="0 to never look.")
    return max(found, 0.1) if found else None


def required_contract(environment: Mapping[str, str]) -> str | None:
    """The version of the contract that a server insists on, as the environment says it."""
    text = environment.get("OMNIGRAPH_REQUIRE_HTTP_API", "").strip()
    if text and re.fullmatch(r"\d{1,4}\.\d{1,4}", text) is None:
        raise UsageError(f"OMNIGRAPH_REQUIRE_HTTP_API is a version of the contract, not {text!r}", hint="Write 0.13.")
    return text or None


def is_set(environment_value: str | None) -> bool:
    """Whether a switch in the environment is on: set, and neither `0` nor `false`."""
    return environment_value is not None and environment_value.strip().lower() not in ("", "0", "false")
