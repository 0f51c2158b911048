"""What is checked again when somebody else committed in between: where their rows touch ours, and nothing else.

A change was right next to the graph as it was. So it can only have become wrong through what came since, or went:

    came to our own table      an id, a unique value or a source that we have too      → our rows that share one are checked again
    went from a node table     an end of ours may be gone                              → our ends are checked again
    went from our edge table   a source may have too few                               → our sources are checked again

Checking only some of our rows may blame one wrongly: the row that would excuse it is not among them. So when something is found,
all rows decide. Nothing is found nearly always, and then asking again costs what the others wrote, not what is being loaded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from omnigraph.engine.arrays.chunked import among, whole
from omnigraph.engine.snapshot.committed import existing
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.rules import cardinality, endpoints, identity, unique
from omnigraph.engine.write.unchanged import equal
from omnigraph.engine.write.validate import set_violations
from omnigraph.engine.write.violations import Violation
from omnigraph.model.frozen import frozen
from omnigraph.storage.tables.rows import Fragment, deleted, images, read_fragments
from omnigraph.storage.tables.table import Table

_COMPARED: Final = 4_096
"""Entities that are compared at a time."""


def recheck(changes: ChangeSet, before: View, now: View) -> list[Violation]:
    """What is wrong with a change that was right next to an earlier state of the graph."""
    if any(delta.replaces_all or len(delta.removed) for delta in changes):
        return set_violations(changes, now)
    for delta in changes:
        if _may_be_wrong(delta, changes, before, now):
            return set_violations(changes, now)
    return []


def _may_be_wrong(delta: Delta, changes: ChangeSet, before: View, now: View) -> bool:
    since = _since(delta, before, now)
    near = _sharing(delta, since.came)
    if any(identity.check(near, now)) or any(unique.check(near, now)):
        return True
    edge = delta.type
    if not edge.is_edge:
        return False
    counted = delta if since.anything_went and edge.minimum else near
    if any(cardinality.check(counted, changes, now)):
        return True
    ends = [now.catalog.nodes[name] for name in {edge.source, edge.target}]
    went = [_since(Delta(node, pa.table({})), before, now).anything_went for node in ends]
    return any(went) and any(endpoints.check_new_edges(delta, changes, now))


def overtaken(delta: Delta, before: View, now: View) -> list[str]:
    """Ids of a change whose entities are not committed as they were: another image, or there and not there."""
    since = _since(delta, before, now)
    suspect = among(delta.ids, whole(since.came["id"]))
    if since.anything_went:
        suspect |= existing(before, delta.type, delta.ids) & ~existing(now, delta.type, delta.ids)
    ids = delta.ids.filter(pa.array(suspect)).to_pylist()
    found: list[str] = []
    for at in range(0, len(ids), _COMPARED):
        some = ids[at : at + _COMPARED]
        old, new = (_by_id(images(view.stored(delta.type).table, some)) for view in (before, now))
        found += [id_ for id_ in some if not _same_image(old.get(id_), new.get(id_))]
    return found


def _by_id(rows: pa.Table) -> dict[str, pa.Table]:
    return {id_: rows.slice(at, 1) for at, id_ in enumerate(rows["id"].to_pylist())}


def _same_image(old: pa.Table | None, new: pa.Table | None) -> bool:
    if old is None or new is None:
        return old is new
    return all(equal(old[name], new[name]) for name in old.column_names)


@frozen(slots=False)
class _Since:
    """What happened to a table."""

    came: pa.Table
    """Rows that were not there, by the columns rules compare; of a fragment that got rows back, all of them."""
    anything_went: bool


def _since(delta: Delta, before: View, now: View) -> _Since:
    old, new = before.stored(delta.type), now.stored(delta.type)
    known = {fragment.files: fragment for fragment in old.fragments}

    def may_have_come(fragment: Fragment) -> bool:
        was = known.get(fragment.files)
        return was is None or _regained(old.table, was, new.table, fragment)

    chosen = [fragment for fragment in new.fragments if may_have_come(fragment)]
    came = read_fragments(new.table, chosen, _compared(delta))
    return _Since(came, new.rows != old.rows + came.num_rows)


def _regained(before: Table, was: Fragment, now: Table, fragment: Fragment) -> bool:
    """Whether rows are there again that were deleted: a revert and a fast-forward may publish what was there before."""
    if was.deletions is None or was.holds_the_same_as(fragment):
        return False
    return len(np.setdiff1d(deleted(before, was), deleted(now, fragment), assume_unique=True)) > 0


def _compared(delta: Delta) -> list[str]:
    """Columns by which rows of a type get in each other's way; of a unique group, the first."""
    ends = ["src"] if delta.type.is_edge else []
    return list(dict.fromkeys(["id", *ends, *(group[0] for group in unique.groups_of(delta))]))


def _sharing(delta: Delta, came: pa.Table) -> Delta:
    """Rows of a change that have a value which one of some others has."""
    mask = np.zeros(delta.rows.num_rows, np.bool_)
    if came.num_rows and len(mask):
        for name in _compared(delta):
            if name != "id" or not delta.fresh:
                mask |= among(delta.column(name), whole(came[name]))
    return replace(delta, rows=delta.rows.filter(pa.array(mask)), places=())
