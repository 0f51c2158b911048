"""`status`, `import` and `refresh`: what the ledger says, and what there is.

`status` reads the ledger and looks at the copies it names. `import` begins a ledger with the graphs that exist. `refresh` puts it
right by what is seen: a graph that is gone leaves it (the next apply creates an empty one), one whose schema somebody changed
is recorded with the schema it has, a copy that is gone or was changed is applied again next time. What drifted is said to have
drifted by every refresh, until an apply has put it right, what is wanted says the same, or nobody wants it any more.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Final

from omnigraph.cluster.applying.live import Seen
from omnigraph.cluster.applying.outputs import Observed, StateObservations
from omnigraph.cluster.applying.recovery import Swept, sweep
from omnigraph.cluster.applying.session import Control, Session, open_store
from omnigraph.cluster.applying.settling import finish
from omnigraph.cluster.config import addresses, digests
from omnigraph.cluster.config.desired import read_desired
from omnigraph.cluster.config.diagnostics import Diagnostics, Stopped
from omnigraph.cluster.config.resources import Resource
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.ledger.state import APPLIED, Ledger, Observation, Status
from omnigraph.cluster.ledger.store import ClusterStore, State
from omnigraph.errors import Forbidden, GraphError

_log = logging.getLogger(__name__)

_MISMATCH: Final = "schema_mismatch"
_GONE: Final = "graph_missing"
_COPIES: Final = {"payload_missing": "catalog_payload_missing", "payload_mismatch": "catalog_payload_mismatch"}
"""What a copy that drifted is reported by, by the condition of its resource."""


def status(control: Control) -> Observed:
    """What the ledger says. Takes no lock, opens no graph, writes nothing."""
    ignored = Diagnostics()
    folder = str(control.folder)
    desired = read_desired(control.folder, ignored)
    problems = Diagnostics(d for d in ignored.found if desired is None or d.path in ("storage", "state.lock"))
    state: State | None = None
    seen = StateObservations()
    with suppress(Stopped):
        if desired is None or not problems.ok:
            raise Stopped
        store = open_store(desired, problems)
        state = store.read_state(problems)
        held = store.read_lock(problems)
        seen = StateObservations.of(store, state, None if held is None else held[0], None, control.clock.now())
        if state is not None and state.raw is None:
            message = "there is no ledger yet; `omnigraph cluster import` or `omnigraph cluster apply --init` begins it"
            problems.warn("state_missing", layout.STATE, message)
        if state is not None:
            for address in _payloads(state.ledger):
                _verified(store, state.ledger, address, problems)
        for pending in store.read_sidecars(problems):
            message = f"{pending.sidecar.kind} {pending.sidecar.operation_id} did not end; the next apply settles it"
            problems.warn("cluster_recovery_pending", addresses.graph(pending.sidecar.graph_id), message)
    return Observed(folder, tuple(problems.found), None, seen, Ledger.empty() if state is None else state.ledger)


def import_(control: Control) -> Observed:
    """Begin a ledger with the graphs that exist."""
    return _observed(control, "import")


def refresh(control: Control) -> Observed:
    """Correct the ledger by what there is."""
    return _observed(control, "refresh")


def _observed(control: Control, operation: str) -> Observed:
    session = Session(control, operation)
    with suppress(Stopped), session.begun(may_create=operation == "import"):
        found = session.state.raw is not None
        if operation == "import" and found:
            raise session.error("state_already_exists", layout.STATE, "there is a ledger; `refresh` corrects it")
        if operation == "refresh" and not found:
            raise session.error("state_missing", layout.STATE, "there is no ledger; `import` begins it")
        swept = sweep(session.store, session.state.ledger, session.live, session.problems)
        swept.ledger = look_at_graphs(session, swept)
        if operation == "refresh":
            swept.ledger = _look_at_copies(session, swept.ledger)
        same = swept.ledger.resources == session.state.ledger.resources
        session.publish(swept.ledger if same else swept.ledger.with_config(None))
        finish(session, swept.retired, swept.consumed)
    said = tuple(session.problems.found)
    return Observed(str(control.folder), said, operation, session.observations(), session.state.ledger)


# ── graphs ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def look_at_graphs(session: Session, swept: Swept) -> Ledger:
    """The ledger with what is seen of every graph that is declared or was applied."""
    ledger = swept.ledger
    found = {graph_id: session.live.look(graph_id) for graph_id in sorted({*session.desired.config.graphs, *ledger.graphs})}
    for graph_id, seen in found.items():
        if seen.error is not None and graph_id not in swept.pending:
            message = f"{session.live.uri(graph_id)} exists and cannot be read: {seen.error}"
            session.problems.error("graph_observation_error", addresses.graph(graph_id), message)
    session.stop_on_errors()
    for graph_id, seen in found.items():
        if graph_id not in swept.pending:
            ledger = _recorded(session, ledger, graph_id, seen)
    return ledger


def _recorded(session: Session, ledger: Ledger, graph_id: str, seen: Seen) -> Ledger:
    graph, schema = addresses.graph(graph_id), addresses.schema(graph_id)
    wanted = session.desired.resources.get(schema)
    earlier = ledger.observations.get(graph)
    before = None if earlier is None else earlier.graph_manifest_version
    if isinstance(before, int) and seen.version is not None and seen.version < before:
        message = f"it has {seen.version} commits and had {before}: another graph stands in its place"
        session.problems.warn("conflicting_graph_manifest_observation", graph, message)
    matches = wanted is not None and _has(session, graph_id, seen, wanted.resource.digest, wanted.content)
    wanted_digest = None if wanted is None else wanted.resource.digest
    observed = Observation(seen.exists, seen.version, seen.digest, wanted_digest, matches)
    if not seen.exists:
        return _missing(session, ledger, graph_id).with_observation(graph, observed)
    ledger = ledger.with_observation(graph, observed)
    applied = ledger.digest(schema)
    content = None if applied is None else _copy(session, schema, applied)
    if graph in ledger.resources and applied is not None and _has(session, graph_id, seen, applied, content):
        digest = applied
    elif matches and wanted is not None:
        digest = wanted.resource.digest
    else:
        assert seen.digest is not None
        digest = seen.digest
    earlier_status = ledger.resource_statuses.get(schema)
    still = earlier_status is not None and _MISMATCH in earlier_status.conditions and wanted is not None and not matches
    if still or (applied is not None and applied != digest):
        status = Status("drifted", (_MISMATCH,), "the schema of the graph is not the one that was applied")
    else:
        status = APPLIED
    resources = {**ledger.resources, schema: Resource(digest)}
    resources.setdefault(graph, Resource(""))
    _keep_schema(session, schema, digest, seen)
    return ledger.with_resources(resources).with_status(schema, status).with_status(graph, APPLIED)


def _missing(session: Session, ledger: Ledger, graph_id: str) -> Ledger:
    """A graph that is not there: the next plan creates it."""
    graph, schema = addresses.graph(graph_id), addresses.schema(graph_id)
    known = ledger.resource_statuses.get(graph)
    reported = known is not None and _GONE in known.conditions
    wanted = graph_id in session.desired.config.graphs
    if graph not in ledger.resources and schema not in ledger.resources and not (reported and wanted):
        return ledger
    message = f"there is no graph at {session.live.uri(graph_id)}; the next apply creates an empty one"
    session.problems.warn("graph_missing", graph, message)
    left = {one: entry for one, entry in ledger.resources.items() if one not in (graph, schema)}
    status = Status("drifted", (_GONE,), message)
    return ledger.with_resources(left).with_status(graph, status).with_status(schema, status)


def _has(session: Session, graph_id: str, seen: Seen, digest: str, content: bytes | None) -> bool:
    try:
        return session.live.has_schema(graph_id, seen, digest, None if content is None else content.decode("utf-8", "replace"))
    except Forbidden:
        raise
    except GraphError:
        return seen.digest == digest


def _copy(session: Session, address: str, digest: str) -> bytes | None:
    try:
        return session.store.read_payload(address, digest)
    except GraphError as error:
        _log.warning("the copy of %s cannot be read, so schemas are compared by their digests: %s", address, error.message)
        return None


def _keep_schema(session: Session, schema: str, digest: str, seen: Seen) -> None:
    """A copy of the schema, by which later ones are compared."""
    wanted = session.desired.resources.get(schema)
    content = wanted.content if wanted is not None and wanted.resource.digest == digest else None
    if content is None and seen.digest == digest and seen.schema is not None:
        content = seen.schema.encode()
    if content is None:
        return
    try:
        session.store.write_payload(schema, content)
    except GraphError as error:
        raise session.error("resource_payload_write_error", schema, error.message) from error


# ── copies ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _payloads(ledger: Ledger) -> list[str]:
    return sorted(address for address in ledger.resources if addresses.kind(address) in ("query", "policy"))


def _verified(store: ClusterStore, ledger: Ledger, address: str, problems: Diagnostics) -> Status:
    """Whether the copy of a resource is there and says what was applied."""
    digest = ledger.resources[address].digest
    path = layout.payload(address, digest)
    try:
        content = store.read_payload(address, digest)
    except GraphError as error:
        problems.error("catalog_payload_read_error", address, f"{path} cannot be read: {error.message}")
        return Status("error", ("payload_read_error",), error.message)
    if content is None:
        problems.warn("catalog_payload_missing", address, f"{path} is gone")
        return Status("drifted", ("payload_missing",), f"{path} is gone")
    if digests.of_bytes(content) != digest:
        problems.warn("catalog_payload_mismatch", address, f"{path} was changed since it was applied")
        return Status("drifted", ("payload_mismatch",), f"{path} was changed since it was applied")
    return APPLIED


def _look_at_copies(session: Session, ledger: Ledger) -> Ledger:
    _report_again(session, ledger)
    for address in _payloads(ledger):
        status = _verified(session.store, ledger, address, session.problems)
        ledger = ledger.with_status(address, status)
        if status.status == "drifted":
            ledger = ledger.with_resource(address, None)
    return ledger


def _report_again(session: Session, ledger: Ledger) -> None:
    """Copies that an earlier refresh has found to have drifted, and that no apply has written since."""
    for address, status in sorted(ledger.resource_statuses.items()):
        if address in ledger.resources or address not in session.desired.resources:
            continue
        for condition in status.conditions:
            if condition in _COPIES:
                session.problems.warn(_COPIES[condition], address, status.message or "its copy is not what was applied")
