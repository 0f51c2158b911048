"""The beginning and the end of every command: the configuration, the storage root, the lock, the ledger.

The lock keeps two commands from doing the same work at once. It is not what the ledger rests on: that is replaced on a condition,
so whoever ignores the lock, or steals one that was not abandoned, loses the race and publishes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec

from omnigraph.cluster.applying.live import LiveGraphs
from omnigraph.cluster.applying.outputs import StateObservations
from omnigraph.cluster.config import addresses
from omnigraph.cluster.config.desired import Desired, read_desired
from omnigraph.cluster.config.diagnostics import Diagnostics, Stopped
from omnigraph.cluster.config.files import ConfigFiles, FolderFiles, SentFiles
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.ledger.records import Lock
from omnigraph.cluster.ledger.state import Ledger, pretty, tampered
from omnigraph.cluster.ledger.store import ClusterStore, State, StateMoved
from omnigraph.errors import AlreadyExists, GraphError, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.ids import Clock, IdSource, SystemClock, UlidSource
from omnigraph.service import Caller, Service
from omnigraph.service.objects import SmallObjects

DEPLOYABLE_KEYS: Final = "OMNIGRAPH_DEPLOYABLE_KEYS"
"""Variables that providers of a configuration that is sent may name as their keys."""


@frozen
class Control:
    """Who runs a command, on which configuration, by which service and which clock."""

    folder: Path
    service: Service
    caller: Caller
    steal_after: timedelta | None = None
    """Take over a lock that is older than this."""
    ids: IdSource = UlidSource()
    clock: Clock = SystemClock()
    sent: SentFiles | None = None
    """The configuration, if it was sent instead of lying in the folder."""

    @property
    def files(self) -> ConfigFiles:
        """Where the configuration is read from."""
        return FolderFiles(self.folder) if self.sent is None else self.sent

    def now(self) -> str:
        """The time as it is written down."""
        return self.clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class Session:
    """A command at work. What it has found out so far is here, whatever becomes of it."""

    control: Control
    operation: str
    problems: Diagnostics = field(default_factory=Diagnostics)
    wanted: Desired | None = None
    root: ClusterStore | None = None
    state: State = field(default_factory=lambda: State(Ledger.empty(), None))
    acquired: str | None = None
    held: Lock | None = None
    was_read: bool = False
    """Whether the ledger was looked at."""

    @contextmanager
    def begun(self, *, may_create: bool = False) -> Iterator[None]:
        """Work on the cluster, under its lock. `Stopped` if it cannot be begun, or cannot go on.

        `may_create`: the ledger may be begun, so the store is asked whether it keeps conditions.
        """
        self.wanted = read_desired(self.control.files, self.problems)
        if self.wanted is None:
            raise Stopped
        self.root = open_store(self.wanted, self.problems)
        self.stop_on_errors()
        with _locked(self) if self.wanted.config.lock or self.control.sent is not None else nullcontext():
            state = self.store.read_state(self.problems)
            self.was_read = True
            if state is not None:
                self.state = state
            if self.control.sent is not None:
                self._require_known_keys()
            self.stop_on_errors()
            if self.state.raw is None and may_create:
                try:
                    self.store.objects.require_conditions(f"{layout.PROBE}-{self.control.ids.next()}")
                except GraphError as error:
                    raise self.error("state_write_error", layout.STATE, error.message) from error
            yield

    def _require_known_keys(self) -> None:
        """Refuse providers that would have the server send a variable of its environment to where it was never sent before.

        Whoever sends a configuration may use a key as it was applied, for the same address, and the variables that whoever runs
        the server names for this (`DEPLOYABLE_KEYS`).
        """
        allowed = {name.strip() for name in os.environ.get(DEPLOYABLE_KEYS, "").split(",")}
        for name, wanted in self.desired.config.providers.items():
            applied = self.state.ledger.resources.get(addresses.provider(name))
            known = {} if applied is None or applied.embedding_profile is None else applied.embedding_profile.to_json()
            now = wanted.to_json()
            variable = now.get("api_key")
            if variable is None or variable.strip("${}") in allowed:
                continue
            if any(known.get(part) != now.get(part) for part in ("kind", "base_url", "api_key")):
                message = f"{variable} of the server was not applied for this provider at this address"
                self.problems.error("embedding_api_key_not_deployable", f"providers.embedding.{name}.api_key", message)

    @property
    def desired(self) -> Desired:
        """What is wanted."""
        assert self.wanted is not None
        return self.wanted

    @property
    def store(self) -> ClusterStore:
        """What lies below the storage root."""
        assert self.root is not None
        return self.root

    @property
    def live(self) -> LiveGraphs:
        """The graphs of the cluster."""
        return LiveGraphs(self.control.service, self.control.caller, self.store.objects)

    def stop_on_errors(self) -> None:
        """Go no further if something is wrong."""
        if not self.problems.ok:
            raise Stopped

    def error(self, code: str, path: str, message: str) -> Stopped:
        """Something the command cannot go on with."""
        self.problems.error(code, path, message)
        return Stopped()

    def observations(self) -> StateObservations:
        """What was seen of the ledger and the lock. A command that ended before it read the ledger has changed nothing: what is
        in force is what it says."""
        if self.root is None:
            return StateObservations()
        if not self.was_read:
            self.was_read = True
            self.state = self.root.read_state(Diagnostics()) or self.state
        return StateObservations.of(self.root, self.state, self.held, self.acquired, self.control.clock.now())

    def publish(self, ledger: Ledger) -> bool:
        """Publish another ledger, one revision on. False if it says the same; then nothing is written."""
        before = self.state.ledger
        if ledger == before and self.state.raw is not None:
            return False
        after = msgspec.structs.replace(ledger, state_revision=before.state_revision + 1)
        try:
            self.state = self.store.write_state(self.state, after)
        except StateMoved:
            message = "somebody else has written the ledger meanwhile; nothing was published"
            raise self.error("state_cas_mismatch", layout.STATE, message) from None
        except GraphError as error:
            raise self.error("state_write_error", layout.STATE, f"the ledger could not be written: {error.message}") from error
        return True


def open_store(desired: Desired, problems: Diagnostics) -> ClusterStore:
    """The storage root of a configuration."""
    try:
        objects = SmallObjects(desired.root)
        objects.require_folder()
    except UsageError as error:
        problems.error("storage_root_invalid", "storage", error.message)
        raise Stopped from None
    return ClusterStore(objects)


def require_sound(session: Session) -> None:
    """Refuse a ledger that somebody has edited."""
    for address in tampered(session.state.ledger):
        message = f"the digest of {address} is not that of what the ledger says about it"
        session.problems.error("external_blob_policy_digest_mismatch", address, message)
    session.stop_on_errors()


@contextmanager
def _locked(session: Session) -> Iterator[None]:
    raw = _acquire(session)
    try:
        yield
    finally:
        try:
            session.store.objects.remove(layout.LOCK, raw)
        except GraphError as error:
            message = f"the lock could not be given back: {error.message}"
            session.problems.warn("state_lock_error", layout.LOCK, message)


def _acquire(session: Session) -> bytes:
    control, store = session.control, session.store
    lock = Lock(1, control.ids.next(), session.operation, control.now(), os.getpid())
    raw = pretty(lock)
    for _ in range(2):
        try:
            store.objects.create(layout.LOCK, raw)
        except AlreadyExists:
            if not _steal(session):
                raise Stopped from None
        except GraphError as error:
            message = f"the lock could not be taken: {error.message}"
            raise session.error("state_lock_error", layout.LOCK, message) from error
        else:
            session.acquired, session.held = lock.lock_id, None
            return raw
    raise session.error("state_lock_held", layout.LOCK, "somebody else took the lock at the same moment")


def _steal(session: Session) -> bool:
    """Whether the lock is free now: given back meanwhile, or old enough to be taken over."""
    control = session.control
    found = session.store.read_lock(session.problems)
    if found is None:
        return session.problems.ok
    session.held, raw = found
    age = session.held.age(control.clock.now())
    if control.steal_after is not None and age is not None and age >= control.steal_after.total_seconds():
        session.store.objects.remove(layout.LOCK, raw)
        return True
    since = "" if age is None else f" for {_words(age)}"
    message = (
        f"{session.held.operation} (pid {session.held.pid}) holds the lock {session.held.lock_id}{since}; "
        f"if it is dead: omnigraph cluster force-unlock {session.held.lock_id}"
    )
    session.problems.error("state_lock_held", layout.LOCK, message)
    return False


def _words(seconds: int) -> str:
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            number = seconds // size
            return f"{number} {unit}{'' if number == 1 else 's'}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"
