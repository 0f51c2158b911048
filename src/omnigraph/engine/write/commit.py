"""From a validated change to a commit.

Rows are written once. If somebody else commits in between, the publisher applies the change on top of that, without writing rows
again; and if what they changed is something validation relied on, the set rules are checked again for what that has to do with
this change (`recheck`).
So two writers can never break a constraint together that neither breaks alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field

from omnigraph.engine.snapshot.committed import existing, places
from omnigraph.engine.snapshot.view import View, Workspace, table_key
from omnigraph.engine.write.changeset import ChangeSet, Delta, typed
from omnigraph.engine.write.names import NAMED, cannot_collide, named
from omnigraph.engine.write.recheck import overtaken, recheck
from omnigraph.engine.write.validate import relied_on, set_violations, violations
from omnigraph.engine.write.violations import Violation, refuse
from omnigraph.errors import ReadSetChanged
from omnigraph.model.frozen import frozen
from omnigraph.storage.commits.lineage import Commit, OpClass
from omnigraph.storage.commits.manifest import ManifestState
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.commits.since import Since
from omnigraph.storage.commits.waiting import Revalidate
from omnigraph.storage.graph_store import Snapshot
from omnigraph.storage.tables.changes import Append, ArrowIds, Change, Delete, Overwrite, Upsert


@frozen
class Intent:
    """What is to be written on a commit besides its changes."""

    operation: str
    actor: str | None = None
    message: str | None = None
    expected_head: str | None = None
    merged_parent: str | None = None
    carried: tuple[Commit, ...] = ()
    strict: frozenset[str] = frozenset()
    """Tables that were searched: the change is void if somebody else changes them meanwhile."""
    read_rows: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The same for entities that were looked for by their ids…"""
    read_ends: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """… and for edges, by the nodes they touch."""
    even_if_empty: bool = False
    checked: bool = False
    """Somebody has validated the change against the view already."""
    idempotency_key: str | None = None
    """What tells this write from all others, if it may be repeated: see `history.repeats`."""
    asked: str | None = None
    """A digest of what it was asked to do, if it may be repeated."""
    looked_since: str | None = None
    """What the branch was at before somebody looked for the key in its commits, if that was before the view of the change."""


SetRules = Callable[[ChangeSet, View], list[Violation]]
"""Asks the rules about sets of rows."""


def commit(
    workspace: Workspace, view: View, branch: str, changes: ChangeSet, intent: Intent, set_rules: SetRules = set_violations
) -> Commit | None:
    """Validate a change and publish it. None when there is nothing to change."""
    ready = planned(workspace, view, branch, changes, intent, set_rules)
    if ready is None:
        return None
    with in_words_of(view):
        return workspace.store.publish(branch, *ready).shown()


def planned(
    workspace: Workspace, view: View, branch: str, changes: ChangeSet, intent: Intent, set_rules: SetRules = set_violations
) -> tuple[PublishPlan, Revalidate] | None:
    """Validate a change, and say how it is published. None when there is nothing to change."""
    if changes.is_empty and not intent.even_if_empty:
        return None
    if not intent.checked:
        refuse(violations(changes, view))
    each = tuple(PlannedChange(d.key, change_of(d, view), named(d)) for d in changes if not d.is_empty)
    return plan_of(view, each, intent), Again(workspace, view, branch, changes, set_rules)


def plan_of(view: View, changes: tuple[PlannedChange, ...], intent: Intent) -> PublishPlan:
    """A commit to be, prepared next to a view."""
    return PublishPlan(
        OpClass.LOGICAL,
        intent.operation,
        view.snapshot.layout,
        changes,
        read_set=intent.strict,
        read_rows=intent.read_rows,
        read_ends=intent.read_ends,
        expected_head=intent.expected_head,
        actor=intent.actor,
        message=intent.message,
        merged_parent=intent.merged_parent,
        carried=intent.carried,
        idempotency_key=intent.idempotency_key,
        looked_since=intent.looked_since,
        asked=intent.asked,
    )


@contextmanager
def in_words_of(view: View) -> Iterator[None]:
    """Conflicts speak of types, by their names: storage knows keys of tables, and pins."""
    try:
        yield
    except ReadSetChanged as overtaken:
        raise _by_name(overtaken, view) from overtaken.__cause__


def _by_name(overtaken: ReadSetChanged, view: View) -> ReadSetChanged:
    message = re.sub(r": expected pin \w+, found \w+", "", overtaken.message)
    for type_ in (*view.catalog.nodes.values(), *view.catalog.edges.values()):
        message = re.sub(rf"\b(?:table )?{re.escape(table_key(type_))}\b", type_.name, message)
    return ReadSetChanged(message, hint=overtaken.advice)


def change_of(delta: Delta, view: View) -> Change:
    """What happens to the table of a type."""
    if delta.rows.num_rows == 0 and not delta.replaces_all:
        gone = tuple(delta.removed.to_pylist())
        return Delete(gone, delta.stood or places(view, delta.type, gone))
    written = delta.written
    if written is None:
        written = view.workspace.store.tables.writer(view.snapshot.tables[delta.key]).write(typed(delta.type, delta.rows))
    if delta.replaces_all:
        return Overwrite(written)
    if delta.fresh and not len(delta.removed):
        return Append(written)
    if delta.must_be_new and not len(delta.removed):
        return Append(written, ArrowIds(delta.rows.num_rows, lambda: delta.ids))
    few = delta.rows.num_rows + len(delta.removed) <= NAMED
    if few and not delta.stood and not len(delta.removed) and not existing(view, delta.type, delta.ids).any():
        return Append(written, tuple(delta.ids.to_pylist()), or_replace=True)
    if few:
        ids = tuple(delta.touched.to_pylist())
        return Upsert(written, ids, delta.marks, delta.stood or places(view, delta.type, ids))
    return Upsert(written, ArrowIds(delta.rows.num_rows + len(delta.removed), lambda: delta.touched), delta.marks)


class Again:
    """Asks the set rules again when the branch has moved in a way that matters."""

    def __init__(self, workspace: Workspace, view: View, branch: str, changes: ChangeSet, set_rules: SetRules) -> None:
        self._workspace, self._view, self._branch, self._changes = workspace, view, branch, changes
        self._set_rules = set_rules

    def __call__(self, state: ManifestState, between: Since) -> None:
        if state.head.schema != self._view.snapshot.schema:
            raise ReadSetChanged("the schema changed while the write was prepared", hint="Read the schema again and retry.")
        if not between.changed(relied_on(self._changes, self._view)):
            return
        if cannot_collide(self._changes, self._view.catalog, between):
            return
        moved = {delta.key for delta in self._changes if between.of(delta.key).changes}
        head = state.head.commit
        snapshot = Snapshot(self._branch, head, state.head.schema, state.tables, head, state.recent)
        view = View(self._workspace, snapshot, self._view.catalog)
        for delta in self._changes:
            if delta.key in moved and len(delta.removed) and not existing(view, delta.type, delta.removed).all():
                raise ReadSetChanged(
                    f"some of the {delta.type.name} that were to be removed were removed while the write was prepared",
                    hint="Retry: what is left is then counted anew.",
                )
            if delta.key in moved and len(delta.looked_for) and existing(view, delta.type, delta.looked_for).any():
                raise ReadSetChanged(
                    f"some of the {delta.type.name} that were to be removed were added while the write was prepared",
                    hint="Retry: they are then removed.",
                )
            if delta.completed and delta.key in moved:
                self._refuse_overtaken(delta, view)
        found = self._found(view)
        if any(_left_behind(v, self._changes) for v in found):
            raise ReadSetChanged(
                f"{found[0].message}: the edge was added while the write was prepared",
                hint="Retry: the edge is then removed too.",
            )
        refuse(found)

    def _refuse_overtaken(self, delta: Delta, now: View) -> None:
        """Rows that were completed from what was committed say what others meant to change, if they have changed it."""
        changed = overtaken(delta, self._view, now)
        if changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            raise ReadSetChanged(
                f"{delta.type.name} `{changed[0]}`{more} changed while the write was prepared",
                hint="Retry: what is not given is then taken from what is there now.",
            )

    def _found(self, view: View) -> list[Violation]:
        """What is wrong now. Whoever asks the rules in a way of their own asks them about everything."""
        if self._set_rules is set_violations:
            return recheck(self._changes, self._view, view)
        return self._set_rules(self._changes, view)


def _left_behind(violation: Violation, changes: ChangeSet) -> bool:
    """Whether a violation is about an edge somebody else added to a node that this change removes."""
    if violation.rule != "endpoint" or violation.line is not None:  # what was read from a file is of this change
        return False
    edge = changes.edge(violation.type)
    return edge is None or violation.entity not in set(edge.ids.to_pylist())
