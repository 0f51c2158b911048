"""Who asks: part of every call, so that nothing that changes a graph can forget who did it."""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from omnigraph.model.frozen import frozen
from omnigraph.model.randomness import random_bytes


class Origin(Enum):
    """Which surface a call came through."""

    CLI = "cli"
    HTTP = "http"
    MCP = "mcp"
    PYTHON = "python"


def _request_id() -> str:
    return random_bytes(8).hex()


@frozen
class Caller:
    """Somebody who asks. Changes record the actor; the request id ties together what is written down about one call."""

    actor: str | None
    origin: Origin
    request_id: str = field(default_factory=_request_id)
    groups: frozenset[str] = frozenset()
    """What whoever vouches for the actor says they belong to."""
