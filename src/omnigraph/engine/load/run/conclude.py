"""From what was read to a commit: set rules, one verdict on everything, publish. The same for every runner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from omnigraph.engine.load.read.delimited.reader import csv_report, is_of_file
from omnigraph.engine.load.read.inputs.sources import CELLS, Input
from omnigraph.engine.load.read.rows.collected import duplicates, kept
from omnigraph.engine.load.read.rows.modes import Mode
from omnigraph.engine.load.read.rows.removals import Removals
from omnigraph.engine.load.read.rows.types import Types, label
from omnigraph.engine.load.run.progress import ProgressReporter, Stage
from omnigraph.engine.load.run.removing import Removed, Removing
from omnigraph.engine.load.run.request import Request
from omnigraph.engine.load.run.result import LoadResult
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.commit import Intent, SetRules, commit
from omnigraph.engine.write.unchanged import says_nothing_new
from omnigraph.engine.write.validate import set_violations
from omnigraph.engine.write.violations import Violation, refuse
from omnigraph.errors import UsageError, WouldEmpty
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.tables.rows import written_without
from omnigraph.storage.tables.work import Run, here


@dataclass
class Reading:
    """What came of reading everything there is to load."""

    violations: list[Violation] = field(default_factory=list)
    doubtful: set[tuple[str, str]] = field(default_factory=set)
    """Node type and id of rows that broke a rule and were left out: edges to them are not reported too."""
    broken: set[str] = field(default_factory=set)
    """Labels of types of which rows were left out."""
    rows: int = 0
    bytes: int = 0
    removed: Removed | None = None
    """What is deleted, if the input says so."""
    searched: dict[str, frozenset[str]] = field(default_factory=dict)
    """Nodes whose edges were looked for, to delete those."""
    _of_all: set[tuple[str | None, int | None, str]] = field(default_factory=set)

    def add(self, violations: Iterable[Violation]) -> None:
        """More violations. What is wrong with a column or a file is reported by every reader of a part of it, and kept once."""
        for violation in violations:
            if is_of_file(violation):
                said = (violation.file, violation.line, violation.message)
                if said in self._of_all:
                    continue
                self._of_all.add(said)
            self.violations.append(violation)

    @property
    def is_hopeless(self) -> bool:
        """Whether a column or a file is wrong: then no row of it was read, and rules about sets of rows have nothing to say."""
        return bool(self._of_all)

    def report(self, reporter: ProgressReporter, stage: Stage) -> None:
        """Say where the load is."""
        reporter.report(stage, self.rows, self.bytes, len(self.violations), now=stage is not Stage.READ)

    def is_excused(self, violation: Violation, view: View) -> bool:
        """Whether a violation only follows from rows that were left out because of another one."""
        edge = view.catalog.edges.get(violation.type)
        if edge is None or not self.violations:
            return False
        if violation.rule == "endpoint":
            node = edge.source if violation.property == "from" else edge.target
            return (node, violation.value) in self.doubtful
        few = violation.rule == "cardinality" and isinstance(violation.value, int) and violation.value < edge.minimum
        return few and label(edge) in self.broken


def without_repeats(delta: Delta, mode: Mode, reading: Reading, view: View, types: Types) -> Delta:
    """A change in which no id occurs twice: what may not be repeated is a violation, of the rest only the last row counts."""
    wrong, last = duplicates(delta, mode)
    reading.violations += wrong
    if last is None:
        return delta
    later = kept(delta, last)
    assert delta.written is not None
    if reading.violations:
        return later
    state, table = view.snapshot.tables[delta.key], view.stored(delta.type).table
    return replace(later, written=written_without(table, state, delta.written, last, types.schema(delta.type)))


def with_removals(
    deltas: list[Delta], removals: Sequence[Removals], reading: Reading, view: View, types: Types, request: Request
) -> list[Delta]:
    """Changes with what the input deletes, and what goes with that."""
    if not removals:
        return deltas
    if request.quarantine is not None:
        raise UsageError("a load that deletes cannot leave anything out", hint="Load without a quarantine.")
    removing = Removing(deltas, view, types, request.inputs)
    found = removing.applied(removals, rewrite=not reading.violations)
    reading.violations += removing.violations
    reading.removed, reading.searched = removing.removed, removing.searched
    return found


def validate(reading: Reading, changes: ChangeSet, view: View, request: Request, set_rules: SetRules) -> None:
    """Refuse the load if anything is wrong with it."""
    if not reading.violations:
        require_entities(changes, view, request)
    found = [] if reading.is_hopeless else [v for v in set_rules(changes, view) if not reading.is_excused(v, view)]
    refuse_all(reading.violations + found, request.inputs)


def require_entities(changes: ChangeSet, view: View, request: Request) -> None:
    """Refuse an overwrite that would leave a type without entities that has some, unless that is meant."""
    if request.mode is not Mode.OVERWRITE or request.allow_empty:
        return
    there = {d.type.name: view.snapshot.tables[d.key].rows for d in changes if not d.rows.num_rows}
    gone = {name: count for name, count in there.items() if count}
    if gone:
        reported = ", ".join(f"{name} without entities (it has {count:,})" for name, count in gone.items())
        raise WouldEmpty(f"this overwrite would leave {reported}", types=gone)


def refuse_all(violations: list[Violation], inputs: Sequence[Input]) -> None:
    """Raise if there is any violation, in the order of inputs and lines."""
    if violations:
        refuse(in_order_of(violations, inputs))


def in_order_of(violations: list[Violation], inputs: Sequence[Input]) -> list[Violation]:
    """Violations with their lines, in the order of inputs and lines."""
    for input_ in inputs:
        if input_.format in CELLS:
            violations = csv_report(input_, violations)
    order = {i.name: at for at, i in enumerate(inputs)}
    last = len(order)
    return sorted(violations, key=lambda v: (order.get(v.file, last), -1 if v.line is None else v.line))


def publish(
    workspace: Workspace,
    view: View,
    request: Request,
    changes: ChangeSet,
    reading: Reading,
    reporter: ProgressReporter,
    set_rules: SetRules = set_violations,
    run: Run = here,
) -> LoadResult:
    """Make a validated change a commit, on a branch that is made first if that was asked for.

    The vectors of its texts are made before that, if it is to have them; `run`: by whom.

    If every row is there already, or there is none, there is no commit, unless this load has an idempotency key, which is looked
    up later.
    """
    vectors = None
    if request.embedding is not None:
        from omnigraph.engine.write.vectors import with_vectors

        vectors = with_vectors(workspace, view, changes, request.embedding, request.actor, run)
        changes = vectors.changes
    reading.report(reporter, Stage.PUBLISH)
    idle = request.idempotency_key is None and says_nothing_new(changes, view)
    if request.creates_branch:
        workspace.store.create_branch(request.branch, at=view.snapshot.layout, actor=request.actor)
    intent = Intent(
        "load",
        request.actor,
        request.message,
        read_ends=reading.searched,
        even_if_empty=True,
        checked=True,
        idempotency_key=request.idempotency_key,
        asked=request.asked,
    )
    made = None if idle else commit(workspace, view, request.branch, changes, intent, set_rules)
    if vectors is not None:
        vectors.committed(workspace.store.place)
    if made is not None:
        _keep_ends(changes, view)
    reading.report(reporter, Stage.DONE)
    removed = reading.removed or Removed()
    return LoadResult(
        request.branch,
        request.from_,
        request.creates_branch,
        request.mode,
        {d.type.name: _count(d) for d in changes if d.type.is_node},
        {d.type.name: _count(d) for d in changes if d.type.is_edge and not removed.is_cascade_only(d)},
        made or _newest(workspace.store, request.branch),
        request.actor if made is not None or request.creates_branch else None,
        reporter.seconds,
        skipped=request.skipped,
        changed=made is not None,
        deleted=removed.named,
        cascaded=removed.cascaded,
        missing=removed.missing,
        embedded=None if vectors is None else vectors.made,
    )


def _keep_ends(changes: ChangeSet, view: View) -> None:
    """The first question after a load numbers what it wrote: it need not read that from disk.

    Rows that were checked elsewhere are not here: their ids are null, as no id of an entity is.
    """
    for delta in changes:
        wanted = ["id"] if delta.is_node else ["src", "dst"]
        if delta.written is None or not set(wanted) <= set(delta.rows.column_names):
            continue
        rows = delta.rows.select(wanted)
        if not any(column.null_count for column in rows.columns):
            view.stored(delta.type).keep_written(delta.written, rows)


def _newest(store: GraphStore, branch: str) -> Commit:
    """The commit that a branch is at, as people see it."""
    ref = store.ref(branch)
    (head,) = store.commits(branch, limit=1)
    owner, found = store.history.logical_commit(ref, head)
    return replace(found, logical=store.history.logical(owner, found)).shown()


def _count(delta: Delta) -> int:
    return int(delta.rows.num_rows)
