"""`force-unlock`: remove the lock of a command that is dead. Its id has to be given, so that nobody removes another one."""

from __future__ import annotations

from omnigraph.cluster.applying.outputs import StateObservations, Unlocked
from omnigraph.cluster.applying.session import Control, open_store
from omnigraph.cluster.config.desired import read_desired
from omnigraph.cluster.config.diagnostics import Diagnostics, Stopped
from omnigraph.cluster.ledger import layout
from omnigraph.errors import GraphError


def force_unlock(control: Control, lock_id: str) -> Unlocked:
    """Remove the lock that has this id."""
    ignored = Diagnostics()
    desired = read_desired(control.folder, ignored)
    problems = Diagnostics(d for d in ignored.found if desired is None or d.path == "storage")
    folder = str(control.folder)
    if desired is None or not problems.ok:
        return Unlocked(folder, tuple(problems.found))
    try:
        store = open_store(desired, problems)
    except Stopped:
        return Unlocked(folder, tuple(problems.found))
    found = store.read_lock(problems)
    removed = None
    if found is None and problems.ok:
        problems.error("state_lock_missing", layout.LOCK, "there is no lock")
    elif found is not None and found[0].lock_id != lock_id:
        problems.error("state_lock_id_mismatch", layout.LOCK, f"the lock is {found[0].lock_id}, not {lock_id}")
    elif found is not None:
        try:
            store.objects.remove(layout.LOCK, found[1])
            removed = found[0]
        except GraphError as error:
            problems.error("state_lock_error", layout.LOCK, f"the lock could not be removed: {error.message}")
    state = store.read_state(Diagnostics())
    held = None if found is None or removed is not None else found[0]
    seen = StateObservations.of(store, state, held, None, control.clock.now())
    return Unlocked(folder, tuple(problems.found), seen, removed)
