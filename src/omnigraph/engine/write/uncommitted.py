"""The graph with a change that nobody has committed: a view whose tables are versions that no commit names.

Nobody else finds them, and cleanup takes them.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import ChangeSet
from omnigraph.engine.write.commit import change_of
from omnigraph.storage.tables.changes import Delete
from omnigraph.storage.tables.small_changes import apply_small


def uncommitted(view: View, changes: ChangeSet, name: str) -> View:
    """The graph with a change, whatever rules that keeps. The name is what no other state is called."""
    tables = view.workspace.store.tables
    states = dict(view.snapshot.tables)
    for delta in changes:
        if not delta.is_empty:
            change, state = change_of(delta, view), states[delta.key]
            if not isinstance(change, Delete):
                change = replace(change, written=tables.stored(state, change.written))
            states[delta.key] = apply_small(tables, state, change).state
    return View(view.workspace, replace(view.snapshot, tables=states, layout=name, recent=()), view.catalog)
