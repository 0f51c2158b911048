"""How resources are called: `graph.people`, `schema.people`, `query.people.find`, `policy.team`, `provider.embedding.main`."""

from __future__ import annotations

import re
from typing import Final

CLUSTER: Final = "cluster"
"""What a policy is bound to that is about the server and not about one graph."""

RESERVED: Final = frozenset(
    {"policies", "healthz", "openapi", "graphs", "discovery", "admin", "metrics", "readyz", "ui", "docs", "mcp", "cluster"}
)
"""Ids that no graph may have: a server has routes of these names."""

LONGEST: Final = 64
"""Characters of the longest id of a graph that a server can address."""

_ID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PROVIDER: Final = "provider.embedding."


def is_id(text: object) -> bool:
    """Whether a resource may be called that: letters, digits, `_` and `-`, a letter or `_` first."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def is_graph_id(text: str) -> bool:
    """Whether a graph may be called that."""
    return is_id(text) and len(text) <= LONGEST and text not in RESERVED


def graph(graph_id: str) -> str:
    """The address of a graph."""
    return f"graph.{graph_id}"


def schema(graph_id: str) -> str:
    """The address of the schema of a graph."""
    return f"schema.{graph_id}"


def query(graph_id: str, name: str) -> str:
    """The address of a stored query."""
    return f"query.{graph_id}.{name}"


def policy(name: str) -> str:
    """The address of a policy."""
    return f"policy.{name}"


def provider(name: str) -> str:
    """The address of an embedding provider."""
    return f"{_PROVIDER}{name}"


def kind(address: str) -> str:
    """`graph`, `schema`, `query`, `policy` or `embedding_provider`."""
    return "embedding_provider" if address.startswith(_PROVIDER) else address.partition(".")[0]


def name(address: str) -> str:
    """What a resource is called among those of its kind: of `query.people.find`, `find`."""
    return address.rpartition(".")[2]


def graph_of(address: str) -> str | None:
    """The id of the graph that a graph, a schema or a query belongs to; None for what belongs to none."""
    parts = address.split(".")
    return parts[1] if parts[0] in ("graph", "schema", "query") and len(parts) > 1 else None


def is_address(address: str) -> bool:
    """Whether a text is the address of something."""
    parts = address.split(".")
    match parts:
        case ["graph" | "schema" | "policy", one]:
            return is_id(one)
        case ["query", one, other] if is_id(one):
            return is_id(other)
        case ["provider", "embedding", one]:
            return is_id(one)
    return False
