"""Mutations of one group that differ in their values alone: what can be done once for all of them is.

Sixteen clients of a server run the same text. To put one row into a table and ask six rules about it takes as long as to put and
ask sixteen, so whoever leads their group stages, checks and plans inserts as one table, and publishes them as many commits:

    insert Person { name: $n, age: $a }       eve 9 │ dan 7 │ fay 8       one table: is one of them there? is a rule broken?
    plan of eve's commit                      row 0
    plan of dan's commit                      row 1, and so on

That is done only where it comes to the same, which is where no row has anything to do with another. As soon as something is
special (one is there already, two are the same, a value does not fit, a rule is broken) each is prepared by itself, as ever, and
whoever is to blame is told. Updates and deletions of single entities are always prepared by themselves, but what all of them are
about is looked up at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.engine.execution.run import Run
from omnigraph.engine.snapshot.committed import existing
from omnigraph.engine.snapshot.existence import ONE_BY_ONE
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import ChangeSet, Delta, typed
from omnigraph.engine.write.commit import Again, Intent, plan_of
from omnigraph.engine.write.mutate import Outcome, insert_each
from omnigraph.engine.write.names import named_each
from omnigraph.engine.write.searching import ReliedOn, Searching
from omnigraph.engine.write.validate import set_violations, violations
from omnigraph.model.ids import IdSource
from omnigraph.storage.commits.plan import PlannedChange
from omnigraph.storage.commits.waiting import Ready
from omnigraph.storage.tables.changes import Append, UnstoredRows, WrittenRows
from omnigraph.storage.tables.lookups import FEW_IDS

MOST: Final = ONE_BY_ONE // 2
"""So many are prepared at a time: the ends of so many edges are looked for in memory."""


def are_alike(query: lg.MutationQuery, catalog: Catalog) -> bool:
    """Whether something can be done at once for several runs of a mutation."""
    return is_one_insert(query, catalog) or _one_change(query, catalog) is not None


def look_up_together(query: lg.MutationQuery, runs: Sequence[Run]) -> None:
    """Have ready what several runs of one update or deletion, next to one view, are about."""
    change = _one_change(query, runs[0].view.catalog)
    if change is not None:
        type_, where = change
        named = dict.fromkeys(Searching(run, ReliedOn()).named(type_, where) for run in runs)
        Searching(runs[0], ReliedOn()).look_up(type_, [id_ for id_ in named if id_ is not None][:FEW_IDS])


def _one_change(query: lg.MutationQuery, catalog: Catalog) -> tuple[EntityType, lg.Condition] | None:
    """What a mutation updates or deletes, if it is entities of one type whose images are read."""
    match query.statements:
        case (lg.UpdateNode(name, _, where),):
            return catalog.nodes[name], where
        case (lg.UpdateEdge(name, _, where) | lg.DeleteEdge(name, where),):
            return catalog.edges[name], where
        case _:
            return None


def is_one_insert(query: lg.MutationQuery, catalog: Catalog) -> bool:
    """Whether a mutation inserts one entity, which is as right in company as it is alone."""
    match query.statements:
        case (lg.InsertNode(_, _, ()),):
            return True
        case (lg.InsertEdge(name, _, _, _, ()),):
            return catalog.edges[name].minimum <= 1  # the first of two edges alone is one too few
        case _:
            return False


def planned_together(
    view: View, branch: str, query: lg.MutationQuery, runs: Sequence[Run], intents: Sequence[Intent], ids: IdSource
) -> list[tuple[Ready, Outcome] | None]:
    """The plan of each of some runs of a query, and what it comes to; None of those that are special."""
    (delta,) = insert_each(query, runs, ids)
    if delta.rows.num_rows != len(runs):
        return [None] * len(runs)
    there = np.zeros(len(runs), np.bool_) if delta.fresh else existing(view, delta.type, delta.ids)
    if there.any():
        delta = Delta(delta.type, delta.rows.filter(pa.array(~there)), fresh=delta.fresh)
    plans = iter(_plans(delta, view, branch, [intent for intent, is_there in zip(intents, there, strict=True) if not is_there]))
    return [None if is_there else next(plans, None) for is_there in there.tolist()]


def _plans(delta: Delta, view: View, branch: str, intents: Sequence[Intent]) -> Iterator[tuple[Ready, Outcome]]:
    """A plan for each row; none at all if there is anything wrong with one."""
    if not delta.rows.num_rows or violations(ChangeSet([delta]), view):
        return
    notes, rows = named_each(delta), typed(delta.type, delta.rows)
    written = view.workspace.store.tables.writer(view.snapshot.tables[delta.key]).write(rows)
    if notes is None or written.unstored is None:
        return
    for at, (intent, note) in enumerate(zip(intents, notes, strict=True)):
        row = rows.slice(at, 1)
        of_row = Delta(delta.type, row, fresh=delta.fresh)
        of_row.noted.append(note)
        own = ChangeSet([of_row])
        append = Append(
            WrittenRows((), 1, (), unstored=UnstoredRows(row, written.unstored.pin)),
            () if delta.fresh else note.came,
            or_replace=not delta.fresh,
        )
        plan = plan_of(view, (PlannedChange(delta.key, append, note),), intent)
        again = Again(view.workspace, view, branch, own, set_violations)
        yield (plan, again), Outcome(own, nodes=int(delta.is_node), edges=int(not delta.is_node))
