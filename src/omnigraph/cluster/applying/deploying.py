"""`deploy`: an apply of a configuration that was sent, under an id of its own.

    take the lock → write down that it has begun → apply → write down what came of it

It is an apply like any other: it takes the lock (always), waits for approvals, deletes nothing without one, and settles what a
killed one left. The id makes it happen once. Sent again, a deployment that has ended is not done again: what came of it is told.
One that is under way is not begun a second time. One that was killed has begun and not ended, and nobody holds the lock for it
(or nobody any more, once somebody has removed it): then it is continued. The same id with other files is refused.

What could not be begun leaves nothing: a configuration that makes no sense, a lock that somebody else holds, a ledger that
somebody has edited.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from omnigraph.cluster.applying.apply import apply
from omnigraph.cluster.applying.session import Control, Session
from omnigraph.cluster.config.desired import read_desired
from omnigraph.cluster.config.diagnostics import Diagnostic, Diagnostics
from omnigraph.cluster.ledger.records import DeploymentRecord, Lock
from omnigraph.cluster.ledger.store import ClusterStore
from omnigraph.errors import AlreadyExists, NotFound, UsageError
from omnigraph.hints import Hint
from omnigraph.model.frozen import frozen
from omnigraph.service.objects import SmallObjects

State = Literal["applying", "interrupted", "applied", "partial", "failed"]

SHOWN: Final = 100
"""Deployments that are listed, the newest."""

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,74}")
_FINISHING: Final = 0.1
"""Seconds in which whoever has given the lock back writes down what came of it."""
_BEGINNING: Final = 10.0
"""Seconds in which whoever has taken the lock writes down that it has begun."""
_UNREACHED: Final = frozenset({"state_read_error", "state_write_error", "state_lock_error", "state_lock_read_error"})


class DeploymentRefused(UsageError):
    """A deployment was not begun; `diagnostics` has every reason, and nothing has changed."""

    default_hint = Hint("Nothing was changed. Look each code up in the reference of cluster diagnostics.")

    def __init__(self, reasons: Sequence[Diagnostic], *, invalid: bool = False) -> None:
        lines = [f"[{d.code}] {d.path}: {d.message}" for d in reasons]
        super().__init__("\n".join(["the deployment was not begun:", *lines]))
        self.diagnostics = tuple(reasons)
        self.invalid = invalid
        """Whether it is the configuration that makes no sense."""
        self.unreached = bool(reasons) and all(d.code in _UNREACHED for d in reasons)
        """Whether the storage root could not be reached."""
        self.retryable = self.unreached


@frozen
class Deployment:
    """A deployment, as far as it has come."""

    record: DeploymentRecord
    lock: Lock | None = None
    """Held by whoever is at it; or by nobody any more, if they died."""

    @property
    def in_progress(self) -> bool:
        """Whether somebody is at it."""
        return self.lock is not None

    @property
    def state(self) -> State:
        """How it is doing: `partial` is what waits for an approval, or is blocked."""
        result = self.record.result
        if result is None:
            return "applying" if self.in_progress else "interrupted"
        if not result["ok"]:
            return "failed"
        return "applied" if result["converged"] else "partial"


def deploy(control: Control, deployment_id: str) -> Deployment:
    """Apply the configuration that was sent, once."""
    require_id(deployment_id)
    sent = control.sent
    assert sent is not None
    problems = Diagnostics()
    desired = read_desired(sent, problems)
    if desired is None or not problems.ok:
        raise DeploymentRefused([d for d in problems.found if d.severity == "error"], invalid=True)
    store = _store(sent.served_root)
    known = _seen(store, deployment_id)
    if known is not None:
        _require_same(known.record, sent.digest)
        if known.record.result is not None or known.in_progress:
            return known
    begun: list[tuple[DeploymentRecord, bytes]] = []
    new = DeploymentRecord(1, deployment_id, sent.digest, desired.config_digest, control.caller.actor, control.now())

    def begin(session: Session) -> None:
        session.store.write_deployment(new)  # or go on with what was begun
        found = session.store.read_deployment(deployment_id)
        assert found is not None, "records of deployments are never removed"
        _require_same(found[0], sent.digest)
        begun.append(found)

    applied = apply(control, operation=_operation(deployment_id), begun=begin)
    if not begun:
        now = _begun_by_another(store, deployment_id)
        if now is not None and (now.record.result is not None or now.in_progress):
            return now
        raise DeploymentRefused([d for d in applied.diagnostics if d.severity == "error"])
    record, raw = begun[0]
    ended = msgspec.structs.replace(
        record,
        finished_at=control.now(),
        state_revision=applied.observations.state_revision,
        state_cas=applied.observations.state_cas,
        result=applied.to_json(),
    )
    return Deployment(ended) if store.write_deployment(ended, raw) else show(sent.served_root, deployment_id)


def show(root: str, deployment_id: str) -> Deployment:
    """What came of a deployment, or how far it is."""
    require_id(deployment_id)
    found = _seen(_store(root), deployment_id)
    if found is None:
        raise NotFound(f"there is no deployment {deployment_id}", what="deployment", name=deployment_id)
    return found


def every(root: str) -> list[Deployment]:
    """The deployments of a cluster, the newest first."""
    store = _store(root)
    found = [seen for seen in (_seen(store, one) for one in store.deployment_ids()) if seen is not None]
    return sorted(found, key=lambda one: (one.record.submitted_at, one.record.deployment_id), reverse=True)[:SHOWN]


def require_id(deployment_id: str) -> None:
    """Refuse what cannot be the id of a deployment: it becomes the name of a file."""
    if _ID.fullmatch(deployment_id) is None:
        hint = "Letters, digits, `.`, `_`, `:` and `-`, at most 75, a letter or a digit first."
        raise UsageError(f"{deployment_id[:100]!r} is not the id of a deployment", hint=hint)


def _store(root: str) -> ClusterStore:
    return ClusterStore(SmallObjects(root))


def _operation(deployment_id: str) -> str:
    """What the lock of a deployment says."""
    return f"deployment {deployment_id}"


def _seen(store: ClusterStore, deployment_id: str) -> Deployment | None:
    found = store.read_deployment(deployment_id)
    if found is None or found[0].result is not None:
        return None if found is None else Deployment(found[0])
    held = store.read_lock(Diagnostics())
    if held is not None and held[0].operation == _operation(deployment_id):
        return Deployment(found[0], held[0])
    time.sleep(_FINISHING)  # it may have ended just now
    again = store.read_deployment(deployment_id)
    return Deployment(found[0] if again is None else again[0])


def _begun_by_another(store: ClusterStore, deployment_id: str) -> Deployment | None:
    """The same deployment, sent twice at once: whoever holds the lock for it is about to write down that it has begun."""
    until = time.monotonic() + _BEGINNING
    while True:
        found = _seen(store, deployment_id)
        held = store.read_lock(Diagnostics()) if found is None else None
        if held is None or held[0].operation != _operation(deployment_id) or time.monotonic() > until:
            return found or _seen(store, deployment_id)
        time.sleep(_FINISHING)


def _require_same(record: DeploymentRecord, digest: str) -> None:
    if record.digest != digest:
        raise AlreadyExists(
            f"deployment {record.deployment_id} is of other files, sent {record.submitted_at}",
            what="deployment",
            name=record.deployment_id,
            hint="It is of other files. Give every deployment an id of its own.",
        )
