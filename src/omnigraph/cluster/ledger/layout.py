"""Where everything lies below the storage root.

__cluster/state.json                                  the ledger: the publish point
__cluster/lock.json                                   the lock
__cluster/resources/query/<graph>/<name>/<sha256>.gq  copies of what was applied, by content
__cluster/resources/policy/<name>/<sha256>.yaml
__cluster/resources/schema/<graph>/<sha256>.pg
__cluster/recoveries/<ulid>.json                      sidecars: what an apply is about to do to a graph
__cluster/approvals/<ulid>.json                       approvals, which are never deleted
__cluster/deployments/<id>.json                       configurations that were sent to a server, and what came of each
graphs/<graph-id>.omni                                the graphs
"""

from __future__ import annotations

from typing import Final

from omnigraph.cluster.config import addresses

STATE: Final = "__cluster/state.json"
LOCK: Final = "__cluster/lock.json"
RECOVERIES: Final = "__cluster/recoveries"
APPROVALS: Final = "__cluster/approvals"
DEPLOYMENTS: Final = "__cluster/deployments"
PROBE: Final = "__cluster/probe"

_ENDINGS: Final = {"query": "gq", "policy": "yaml", "schema": "pg"}


def payload(address: str, digest: str) -> str | None:
    """Where the copy of a resource is; None for graphs and providers, which the ledger says everything about."""
    kind = addresses.kind(address)
    if kind not in _ENDINGS:
        return None
    folder = "/".join(address.split("."))
    return f"__cluster/resources/{folder}/{digest}.{_ENDINGS[kind]}"


def graph_root(graph_id: str) -> str:
    """Where a graph is."""
    return f"graphs/{graph_id}.omni"


def sidecar(operation_id: str) -> str:
    """Where a sidecar is."""
    return f"{RECOVERIES}/{operation_id}.json"


def approval(approval_id: str) -> str:
    """Where an approval is."""
    return f"{APPROVALS}/{approval_id}.json"


def deployment(deployment_id: str) -> str:
    """Where the record of a deployment is."""
    return f"{DEPLOYMENTS}/{deployment_id}.json"
