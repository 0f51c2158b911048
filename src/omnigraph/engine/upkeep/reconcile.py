"""The index reconciler: what the schema declares and what the tables have, brought together outside of every write.

A write never builds an index. Rows that no index covers are read through, so an answer is right from the first moment on; it is
only slower. The reconciler closes the gap, table by table:

    open the table at its pin → pack small fragments, build segments for what is uncovered → publish as maintenance
                                                                                           └ the table moved: once more

Each table is a commit of its own. A maintenance commit voids nobody's write, and a writer that was faster voids only the work on
that one table. Building is incremental: rows that are covered are not indexed again.

**When.** On demand (`optimize`), and by itself once an index is behind: more than `BEHIND_ROWS` rows and more than one in
`BEHIND_SHARE` of them uncovered (`needed`, `Reconciler`). Below that bound, reading through costs less than a
commit would.

What is to be there says `declared_indexes`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import field
from threading import Lock, Thread
from typing import Final

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.engine.schema.indexes import declared_indexes
from omnigraph.engine.snapshot.failures import Failures
from omnigraph.engine.snapshot.view import table_key
from omnigraph.errors import GraphError, ReadSetChanged
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line, short_id
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.manifest import ManifestState
from omnigraph.storage.commits.plan import PublishPlan, Replacement
from omnigraph.storage.graph_store import GraphStore, Snapshot
from omnigraph.storage.rewriting.indexes import extend_indexes, uncovered_rows_at
from omnigraph.storage.rewriting.rewrites import compact
from omnigraph.storage.tables.changes import Applied, TableState
from omnigraph.storage.tables.work import Run

_log = logging.getLogger(__name__)

BEHIND_ROWS: Final = 20_000
"""An index is behind when more rows than this are uncovered…"""

BEHIND_SHARE: Final = 10
"""… and more than one in so many."""

INDEXING: Final = "completing indexes"

ATTEMPTS: Final = 5
"""Times a table is prepared again because somebody wrote to it meanwhile."""


@frozen
class TypeOutcome:
    """What became of one table."""

    type: str
    rows: int
    fragments_before: int
    fragments_after: int
    covered: tuple[str, ...]
    """Indexes that cover every row now and did not before."""
    commit: str | None
    """The commit that shows it; None: there was nothing to do, or somebody was faster every time (`busy`)."""
    busy: bool = False

    def __repr__(self) -> str:
        done = []
        if self.fragments_before != self.fragments_after:
            done.append(f"packed from {self.fragments_before:,} to {counted(self.fragments_after, 'fragment')}")
        if self.covered:
            done.append(f"completed {', '.join(self.covered)}")
        state = "busy, try again" if self.busy else ", ".join(done) or "nothing to do"
        at = "" if self.commit is None else f", commit {short_id(self.commit)}"
        return one_line(f"{self.type}, {counted(self.rows, 'row')}: {state}{at}")


@frozen
class Optimized:
    """What was done."""

    branch: str
    tables: tuple[TypeOutcome, ...] = field(default=())

    @property
    def commits(self) -> tuple[str, ...]:
        return tuple(t.commit for t in self.tables if t.commit is not None)

    def __repr__(self) -> str:
        changed, busy = len(self.commits), sum(t.busy for t in self.tables)
        left = f", {busy:,} busy" if busy else ""
        return one_line(f"Optimized {self.branch}: {changed:,} of {counted(len(self.tables), 'type')} changed{left}")

    def to_dict(self) -> dict[str, object]:
        """The report as JSON-ready data."""
        return {
            "branch": self.branch,
            "types": [
                {
                    "type": t.type,
                    "rows": t.rows,
                    "fragments_before": t.fragments_before,
                    "fragments_after": t.fragments_after,
                    "covered": list(t.covered),
                    "commit": t.commit,
                    "busy": t.busy,
                }
                for t in self.tables
            ],
        }


Progress = Callable[[TypeOutcome], None]


def optimize(
    store: GraphStore,
    branch: str,
    catalog: Catalog,
    progress: Progress | None = None,
    *,
    types: Sequence[str] | None = None,
    pack: bool = True,
    actor: str | None = None,
    run: Run | None = None,
) -> Optimized:
    """Pack small fragments and complete every declared index, of all types or some, each in a commit of its own.

    The work is done here, or by whoever `run` is.
    """
    store.require_writable()
    outcomes: list[TypeOutcome] = []
    for type_ in _types(catalog):
        if types is None or type_.name in types:
            outcome = _optimize_table(store, branch, type_, pack=pack, actor=actor, run=run)
            if outcome is not None:
                outcomes.append(outcome)
                if progress is not None:
                    progress(outcome)
    return Optimized(branch, tuple(outcomes))


def _types(catalog: Catalog) -> list[EntityType]:
    return [*(catalog.nodes[name] for name in sorted(catalog.nodes)), *(catalog.edges[name] for name in sorted(catalog.edges))]


def _optimize_table(
    store: GraphStore, branch: str, type_: EntityType, *, pack: bool, actor: str | None, run: Run | None
) -> TypeOutcome | None:
    key = table_key(type_)
    state: TableState | None = None
    for _ in range(ATTEMPTS):
        snapshot = store.snapshot(branch)
        state = snapshot.tables.get(key)
        if state is None:
            return None
        specs = declared_indexes(type_, state.rows)
        applied = compact(store.tables, state, specs, run=run) if pack else extend_indexes(store.tables, state, specs, run=run)
        if applied.state.pin == state.pin:
            return _outcome(type_, state, applied, None)
        replacement = Replacement(key, state.pin, applied)
        plan = PublishPlan(OpClass.MAINTENANCE, "optimize", snapshot.layout, replacements=(replacement,), actor=actor)
        try:
            commit = store.publish(branch, plan)
        except ReadSetChanged:  # somebody wrote to the table meanwhile
            continue
        return _outcome(type_, state, applied, commit.id)
    assert state is not None
    return TypeOutcome(type_.name, state.rows, state.fragments, state.fragments, (), None, busy=True)


def _outcome(type_: EntityType, before: TableState, applied: Applied, commit: str | None) -> TypeOutcome:
    after = applied.state
    whole = {i.name for i in before.indexes if i.covered >= before.fragments}
    covered = tuple(i.name for i in after.indexes if i.covered >= after.fragments and i.name not in whole)
    return TypeOutcome(type_.name, after.rows, before.fragments, after.fragments, covered if commit else (), commit)


# ── by itself ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def needed(store: GraphStore, snapshot: Snapshot, catalog: Catalog) -> tuple[str, ...]:
    """The types whose indexes are behind. Costs nothing where the manifest shows that they are not."""
    return tuple(t.name for t in _types(catalog) if (state := snapshot.tables.get(table_key(t))) and _behind(store, t, state))


def _behind(store: GraphStore, type_: EntityType, state: TableState) -> bool:
    if state.rows <= BEHIND_ROWS:
        return False
    covered = {index.name: index.covered for index in state.indexes}
    open_ = [s.name for s in declared_indexes(type_, state.rows) if covered.get(s.name, 0) < state.fragments]
    if not open_:
        return False
    uncovered = uncovered_rows_at(store.tables, state)
    return any(uncovered.get(name, state.rows) > max(BEHIND_ROWS, state.rows // BEHIND_SHARE) for name in open_)


class Reconciler:
    """Keeps the indexes of one graph from falling behind. At most one run at a time; safe from any thread."""

    def __init__(self, store: GraphStore, failures: Failures) -> None:
        self._store = store
        self._failures = failures
        self._tried: dict[str, int] = {}
        self._in_order: ManifestState | None = None
        """The last state in which nothing was behind. Those who share a swap all ask about the same."""
        self._lock = Lock()
        self._thread: Thread | None = None
        self._given_up: Thread | None = None

    def run(self, branch: str, catalog: Catalog) -> Optimized:
        """Complete the indexes that are behind, now. A table that could not be helped is not tried again until it moves."""
        snapshot = self._store.snapshot(branch)
        late = [name for name in needed(self._store, snapshot, catalog) if self._moved(snapshot, catalog, name)]
        return optimize(self._store, branch, catalog, types=late, pack=False)

    def start(self, branch: str, catalog: Catalog) -> Thread | None:
        """The same in the background, unless a run is under way or nothing is behind."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return None
            try:
                known = self._store.publisher(branch).manifest.last_known()  # that of the write it is called after
                if known is self._in_order:
                    return None
                if not needed(self._store, self._store.snapshot_of(branch, known), catalog):
                    self._in_order = known
                    return None
            except GraphError as error:  # what was written stands, and whoever wrote it hears of nothing else
                self._failures.note(INDEXING, f"branch {branch}", error)
                return None
            # Not a daemon: a process that ends waits for it, as `close` does. One cut off inside Lance would be aborted.
            self._thread = Thread(target=self._quietly, args=(branch, catalog), name="omnigraph-reconcile")
            self._thread.start()
            return self._thread

    def wait(self, seconds: float | None = None) -> None:
        """Until the run in the background has ended. Whoever interrupts that is not made to wait for it a second time."""
        thread = self._thread
        if thread is None or thread is self._given_up:
            return
        try:
            thread.join(seconds)
        except KeyboardInterrupt:
            self._given_up = thread
            raise

    def _quietly(self, branch: str, catalog: Catalog) -> None:
        about = f"branch {branch}"
        try:
            done = self.run(branch, catalog)
        except Exception as error:  # nobody waits for it, and no answer depends on it
            self._failures.note(INDEXING, about, error)
            return
        self._failures.ended(INDEXING, about)
        for table in done.tables:
            if table.busy:
                _log.info("the indexes of %s are still behind: %s times somebody wrote meanwhile", table.type, ATTEMPTS)
            elif table.commit is not None:
                _log.info("completed the indexes of %s on %s: %s", table.type, about, ", ".join(table.covered) or "nothing")

    def _moved(self, snapshot: Snapshot, catalog: Catalog, name: str) -> bool:
        type_ = catalog.nodes.get(name) or catalog.edges[name]
        state = snapshot.tables[table_key(type_)]
        tried = self._tried.get(state.location) == state.pin
        self._tried[state.location] = state.pin
        return not tried
