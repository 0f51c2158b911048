"""What a killed apply left behind, settled by looking: every change of a graph is announced by a sidecar before it is made.

    write sidecar → change the graph → … → publish the ledger → remove sidecar
                  ↑                        ↑                   ↑
           killed here: retire      killed here: roll      killed here: retire
                                    the ledger forward

| sidecar | what there is | what is done |
| create | nothing, or the beginning of a graph | retire: it is created again, or its beginning removed if it is not wanted |
| create | a graph with the schema that was wanted | roll forward |
| create | a graph that cannot be read | keep, `graph_create_incomplete` |
| create, apply | the schema the ledger knows | retire |
| apply | the schema that was wanted | roll forward |
| create, apply | anything else | keep, `actual_applied_state_pending`; work on the graph waits |
| delete | something is left | retire: it is proposed again, and the approval is still good |
| delete | nothing | the graph leaves the ledger, the approval is used up |

A sweep writes nothing itself: it gives another ledger, and the sidecars that go once that is published. So `plan` shows what the
next apply will find.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from omnigraph.cluster.applying.live import LiveGraphs, Seen
from omnigraph.cluster.config import addresses
from omnigraph.cluster.config.diagnostics import Diagnostics, Stopped
from omnigraph.cluster.config.resources import Resource
from omnigraph.cluster.ledger.records import Sidecar
from omnigraph.cluster.ledger.state import APPLIED, Ledger, Observation, RecoveryRecord, Status
from omnigraph.cluster.ledger.store import ClusterStore, Pending
from omnigraph.errors import Forbidden, GraphError

PENDING = "actual_applied_state_pending"


@dataclass
class Swept:
    """What a sweep found out."""

    ledger: Ledger
    retired: list[Pending] = field(default_factory=list)
    """Sidecars that go once the ledger is published."""
    pending: set[str] = field(default_factory=set)
    """Graphs whose sidecars stay."""
    leftovers: set[str] = field(default_factory=set)
    """Graphs of which there is a beginning and nothing else: files that nobody has ever read."""
    consumed: dict[str, str] = field(default_factory=dict)
    """Approvals that were used up, each with the operation that did."""


def sweep(store: ClusterStore, ledger: Ledger, live: LiveGraphs, problems: Diagnostics) -> Swept:
    """Settle every sidecar, oldest first. One that cannot be read stops everything: nobody knows which graph it is about."""
    swept, unread = Swept(ledger), Diagnostics()
    found = store.read_sidecars(unread)
    problems.found += unread.found
    if not unread.ok:
        raise Stopped
    for pending in found:
        _settle(swept, pending, store, live, problems)
    return swept


def _settle(swept: Swept, pending: Pending, store: ClusterStore, live: LiveGraphs, problems: Diagnostics) -> None:
    sidecar = pending.sidecar
    if sidecar.kind == "graph_delete":
        _settle_delete(swept, pending, live, problems)
        return
    seen = live.look(sidecar.graph_id)
    if sidecar.kind == "graph_create" and not seen.exists:
        swept.retired.append(pending)
        if seen.begun:
            swept.leftovers.add(sidecar.graph_id)
    elif sidecar.kind == "graph_create" and seen.error is not None:
        message = f"{live.uri(sidecar.graph_id)} was begun and cannot be opened: {seen.error}"
        problems.error("graph_create_incomplete", addresses.graph(sidecar.graph_id), message)
        _keep(swept, sidecar, Status("error", ("graph_create_incomplete",), message))
    elif seen.exists and _is_known(sidecar.graph_id, seen, swept.ledger, store, live):
        swept.retired.append(pending)
    elif seen.exists and seen.error is None and seen.digest == sidecar.desired_schema_digest:
        _roll_forward(swept, pending, seen, problems)
    else:
        what = "cannot be read" if seen.error else "has another schema" if seen.exists else "is gone"
        message = f"after {sidecar.kind} {sidecar.operation_id} the graph {what}: neither what it was nor what was wanted"
        problems.warn(PENDING, addresses.graph(sidecar.graph_id), message)
        _keep(swept, sidecar, Status("drifted", (PENDING,), message))


def _is_known(graph_id: str, seen: Seen, ledger: Ledger, store: ClusterStore, live: LiveGraphs) -> bool:
    """Whether a graph has the schema that the ledger says."""
    digest = ledger.digest(addresses.schema(graph_id))
    if digest is None or addresses.graph(graph_id) not in ledger.resources or seen.error is not None:
        return False
    try:
        text = store.read_payload(addresses.schema(graph_id), digest)
        return live.has_schema(graph_id, seen, digest, None if text is None else text.decode("utf-8", "replace"))
    except Forbidden:
        raise
    except GraphError:  # the copy cannot be read, or says nothing that can be planned: then only the text counts
        return seen.digest == digest


def _roll_forward(swept: Swept, pending: Pending, seen: Seen, problems: Diagnostics) -> None:
    sidecar, ledger = pending.sidecar, swept.ledger
    graph, schema = addresses.graph(sidecar.graph_id), addresses.schema(sidecar.graph_id)
    assert seen.digest is not None
    resources = {**ledger.resources, schema: Resource(seen.digest)}
    resources.setdefault(graph, Resource(""))
    ledger = ledger.with_resources(resources).with_status(graph, APPLIED).with_status(schema, APPLIED)
    swept.ledger = _recorded(ledger, sidecar, "rolled_forward")
    swept.retired.append(pending)
    message = f"{sidecar.kind} {sidecar.operation_id} had been done and was not recorded; it is now"
    problems.warn("cluster_recovery_rolled_forward", graph, message)


def _settle_delete(swept: Swept, pending: Pending, live: LiveGraphs, problems: Diagnostics) -> None:
    sidecar = pending.sidecar
    graph = addresses.graph(sidecar.graph_id)
    swept.retired.append(pending)
    if live.exists(sidecar.graph_id):
        if graph in swept.ledger.resources:
            message = f"graph_delete {sidecar.operation_id} did not end; it is proposed again"
            problems.warn("graph_delete_incomplete", graph, message)
        return
    if graph in swept.ledger.resources:
        message = f"graph_delete {sidecar.operation_id} had been done and was not recorded; it is now"
        problems.warn("cluster_recovery_rolled_forward", graph, message)
        swept.ledger = _recorded(gone(swept.ledger, sidecar.graph_id), sidecar, "rolled_forward")
    if sidecar.approval_id is not None:
        swept.consumed[sidecar.approval_id] = sidecar.operation_id


def gone(ledger: Ledger, graph_id: str) -> Ledger:
    """The ledger without a graph that was deleted, and the note that it was."""
    return ledger.without_graph(graph_id).with_observation(addresses.graph(graph_id), Observation(False, deleted=True))


def _keep(swept: Swept, sidecar: Sidecar, status: Status) -> None:
    swept.pending.add(sidecar.graph_id)
    swept.ledger = swept.ledger.with_status(addresses.graph(sidecar.graph_id), status)


def _recorded(ledger: Ledger, sidecar: Sidecar, outcome: str) -> Ledger:
    record = RecoveryRecord(sidecar.kind, sidecar.graph_id, outcome, sidecar.actor, sidecar.started_at)
    return msgspec.structs.replace(ledger, recovery_records={**ledger.recovery_records, sidecar.operation_id: record})
