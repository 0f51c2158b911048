"""Set rules for loads of any size: suspects first, then the rules, about rows with suspect values only.

    staged rows ──questions──▶ suspects ──▶ rows that have them ──▶ duplicates, set rules ──▶ violations

What is held in memory follows what may be wrong, not what is loaded. Rows are looked at where they were staged: in data files,
through a version of the table that nobody else sees. The rules are those of `engine.write`; because they are checked for some of
the rows, what they say about values that are *not* suspect is disregarded: the rest of the rows would have to be there for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.column import Mask, to_mask
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.load.check.questions import Ask, Form, Question, Values, in_text
from omnigraph.engine.load.read.parallel.chunks import Lines, OfType, PackedPlaces, Placed, Work, joined
from omnigraph.engine.load.read.rows.collected import Places, duplicates, kept
from omnigraph.engine.load.read.rows.modes import Mode
from omnigraph.engine.load.read.rows.types import label
from omnigraph.engine.snapshot.committed import rows_where
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.rules.unique import groups_of
from omnigraph.engine.write.validate import set_violations
from omnigraph.engine.write.violations import Violation
from omnigraph.model.frozen import frozen
from omnigraph.storage.tables.changes import Overwrite, WrittenRows
from omnigraph.storage.tables.work import PinnedTable

_BATCH = 1 << 18


@frozen(slots=False)
class Staged:
    """Rows of one type that are in data files, and the few that could not be."""

    type: EntityType
    table: PinnedTable | None
    """A version that holds these rows and no others; None when there are none."""
    written: WrittenRows
    parts: Sequence[OfType]
    places: Places
    fresh: bool
    mode: Mode
    columns: tuple[str, ...]
    """Those the set rules look at."""

    @property
    def replaces_all(self) -> bool:
        return self.mode is Mode.OVERWRITE

    @cached_property
    def left_out(self) -> pa.Table | None:
        """Rows that are in no data file."""
        found = [p.left_out_rows for p in self.parts if p.left_out_rows is not None]
        return pa.concat_tables(found) if found else None

    def again(self, written: WrittenRows, table: PinnedTable | None, mask: Mask) -> Staged:
        """These rows without some, which were written again."""
        lines = Lines.of([np.arange(int(mask.sum()))])
        places = ChosenPlaces(self.places, np.flatnonzero(mask))
        return replace(self, written=written, table=table, parts=(OfType(written, lines),), places=places)

    def values(self, *columns: str, entity: str = "id") -> Values:
        """Values of some columns of these rows."""
        return Values(self.table, columns, entity, self.left_out)

    def batches(self) -> Iterator[tuple[Numbers, pa.RecordBatch]]:
        """Rows with their positions in the input."""
        starts = np.cumsum([0, *(p.lines.count for p in self.parts)])
        there = np.ones(int(starts[-1]), np.bool_)
        for start, part in zip(starts, self.parts, strict=False):
            there[start + part.left_out] = False
        positions, at = np.flatnonzero(there), 0
        if self.table is not None:
            for batch in self.table.open().scan(list(self.columns), batch_rows=_BATCH):
                yield positions[at : at + batch.num_rows], batch
                at += batch.num_rows
        if self.left_out is not None:
            batches = self.left_out.combine_chunks().to_batches()
            yield np.flatnonzero(~there), batches[0]


@frozen(slots=False)
class _Suspect:
    """Values of some columns of a type that may be wrong."""

    question: Question
    values: pa.Array


@dataclass
class Narrowed:
    """What is left to be decided of each type, by label."""

    staged: dict[str, Staged]
    suspects: dict[str, list[_Suspect]] = field(default_factory=dict)

    def of(self, type_: str, form: Form, columns: tuple[str, ...] | None = None) -> pa.Array:
        """Suspects of a type."""
        found = [
            s.values for s in self.suspects.get(type_, []) if s.question.form is form and columns in (None, s.question.columns)
        ]
        return pa.concat_arrays([pa.array([], pa.string()), *found])


def questions_of(staged: dict[str, Staged], work: Work, view: View) -> list[Question]:
    """Everything that must be checked about rows before they may be committed."""
    found: list[Question] = []
    for name, rows in staged.items():
        if not rows.fresh:
            found.append(Question(Form.REPEATED, name, ("id",), (rows.values("id"),)))
            if rows.mode is Mode.APPEND and work.tables[name].state.rows:
                found.append(Question(Form.EXISTING, name, ("id",), (rows.values("id"),), (_committed(work, name, "id"),)))
        for group in groups_of(Delta(rows.type, pa.table({}))):
            old = () if rows.replaces_all else (_committed(work, name, *group),)
            found.append(Question(Form.SHARED, name, group, (rows.values(*group),), old))
        if rows.type.is_edge:
            found += _about_ends(rows, rows.type, staged, work)
            found += _about_counts(rows, rows.type, work)
        elif rows.replaces_all and work.tables[name].state.rows:
            found += _about_replaced(rows, staged, work, view)
    return found


def _committed(work: Work, name: str, *columns: str, entity: str = "id") -> Values:
    return Values(work.tables[name], columns, entity)


def _about_ends(rows: Staged, edge: EntityType, staged: dict[str, Staged], work: Work) -> Iterator[Question]:
    for column, node in (("src", edge.source), ("dst", edge.target)):
        new = staged.get(node)
        known = [] if new is None else [new.values("id")]
        if new is None or not new.replaces_all:
            known.append(_committed(work, node, "id"))
        yield Question(Form.MISSING, label(edge), (column,), (rows.values(column),), tuple(known))


def _about_counts(rows: Staged, edge: EntityType, work: Work) -> Iterator[Question]:
    if edge.minimum == 0 and edge.maximum is None:
        return
    name = label(edge)
    old = () if rows.replaces_all else (_committed(work, name, "src"),)
    yield Question(Form.COUNTED, name, ("src",), (rows.values("src"),), old, low=edge.minimum, high=edge.maximum)
    if old and not rows.fresh:
        before = _committed(work, name, "id", entity="src")
        yield Question(Form.MOVED, name, ("src",), (rows.values("id", entity="src"),), (before,))


def _about_replaced(rows: Staged, staged: dict[str, Staged], work: Work, view: View) -> Iterator[Question]:
    referring = []
    for edge in view.catalog.incident_edges(rows.type.name):
        change = staged.get(label(edge))
        columns = [c for c, node in (("src", edge.source), ("dst", edge.target)) if node == rows.type.name]
        if change is None or not change.replaces_all:
            referring += [_committed(work, label(edge), column) for column in columns]
        if change is not None:
            referring += [change.values(column) for column in columns]
    if referring:
        name = label(rows.type)
        yield Question(Form.GONE, name, ("id",), (rows.values("id"),), (_committed(work, name, "id"),), tuple(referring))


# ── from suspects to violations ──────────────────────────────────────────────────────────────────────────────────────────────


def violations_of(
    staged: dict[str, Staged], work: Work, view: View, mode: Mode, ask: Ask
) -> tuple[list[Violation], dict[str, Mask]]:
    """What is wrong with staged rows next to each other and to what is committed, and which rows to keep where ids repeat."""
    questions = questions_of(staged, work, view)
    found = Narrowed(staged)
    for question, values in zip(questions, ask(questions), strict=True):
        if len(values):
            found.suspects.setdefault(question.type, []).append(_Suspect(question, values))
    if not found.suspects:
        return [], {}
    wrong: list[Violation] = []
    deltas, keep = list[Delta](), dict[str, Mask]()
    for name, rows in staged.items():
        positions, delta = _delta(found, rows, view)
        repeats, last = duplicates(delta, mode)
        wrong += repeats
        if last is not None:
            mask = np.ones(len(rows.places), np.bool_)
            mask[positions[~last]] = False
            keep[name] = mask
            delta = kept(delta, last)
        deltas.append(delta)
    said = set_violations(ChangeSet(deltas), view)
    return wrong + [v for v in said if _counts(v, found, view)], keep


def _delta(found: Narrowed, rows: Staged, view: View) -> tuple[Numbers, Delta]:
    """The rows of a type that have suspect values, or that replace committed rows which have."""
    name = label(rows.type)
    tests = [((s.question.columns), s.values) for s in found.suspects.get(name, []) if s.question.form is not Form.GONE]
    held = _held_by_committed(found, rows, view)
    if len(held):
        tests.append((("id",), held))
    chosen, at = list[pa.RecordBatch](), [np.empty(0, np.int64)]
    for positions, batch in rows.batches() if tests else ():
        mask = np.zeros(batch.num_rows, np.bool_)
        for columns, values in tests:
            mask |= to_mask(pc.is_in(in_text([batch.column(c) for c in columns]), value_set=values))
        if mask.any():
            chosen.append(batch.filter(pa.array(mask)))
            at.append(positions[mask])
    where = np.concatenate(at)
    schema = pa.schema([f.with_nullable(True) for f in chosen[0].schema]) if chosen else None
    table = pa.Table.from_batches([b.cast(schema) for b in chosen]) if schema is not None else _none(rows.columns)
    order = np.argsort(where, kind="stable")
    return where[order], Delta(
        rows.type,
        table.take(pa.array(order)).combine_chunks(),
        replaces_all=rows.replaces_all,
        gone=found.of(name, Form.GONE) if rows.replaces_all and rows.type.is_node else None,
        fresh=rows.fresh,
        must_be_new=rows.mode is Mode.APPEND,
        places=ChosenPlaces(rows.places, where[order]),
        written=rows.written,
    )


def _none(columns: Iterable[str]) -> pa.Table:
    return pa.table({c: pa.array([], pa.string()) for c in columns})


def _held_by_committed(found: Narrowed, rows: Staged, view: View) -> pa.Array:
    """Ids of committed entities with suspect values: the rows that replace them must be known."""
    parts = [pa.array([], pa.string())]
    if rows.fresh or rows.replaces_all:
        return parts[0]
    for suspect in found.suspects.get(label(rows.type), []):
        first = suspect.question.columns[0]
        if suspect.question.form in (Form.COUNTED, Form.MOVED):
            parts.append(whole(rows_where(view, rows.type, first, suspect.values, ["id"])["id"]))
        elif suspect.question.form is Form.SHARED:
            for batch in _of_suspects(suspect, view, rows.type):
                parts.append(batch.column("id"))
    if rows.type.is_edge:
        for column, node in (("src", rows.type.source), ("dst", rows.type.target)):
            gone = found.of(node, Form.GONE)
            if len(gone):
                parts.append(whole(rows_where(view, rows.type, column, gone, ["id"])["id"]))
    return pc.unique(pa.concat_arrays(parts))


def _of_suspects(suspect: _Suspect, view: View, type_: EntityType) -> Iterator[pa.RecordBatch]:
    """Committed rows with suspect values."""
    stored = view.stored(type_)
    columns = suspect.question.columns
    for batch in stored.table.scan(list(dict.fromkeys([*columns, "id"])), batch_rows=_BATCH):
        values = in_text([batch.column(c) for c in columns])
        yield batch.filter(pc.fill_null(pc.is_in(values, value_set=suspect.values), False))


def _counts(violation: Violation, found: Narrowed, view: View) -> bool:
    """Whether a violation is about a suspect: about others too few rows were looked at."""
    edge = view.catalog.edges.get(violation.type)
    if edge is None or violation.rule not in ("endpoint", "cardinality"):
        return True
    name = label(edge)
    if violation.rule == "cardinality":
        sources = pa.concat_arrays([found.of(name, Form.COUNTED), found.of(name, Form.MOVED)])
        return violation.entity in set(sources.to_pylist())
    column, node = ("src", edge.source) if violation.property == "from" else ("dst", edge.target)
    missing = pa.concat_arrays([found.of(name, Form.MISSING, (column,)), found.of(node, Form.GONE)])
    return bool(pc.is_in(pa.array([violation.value], pa.string()), value_set=missing)[0].as_py())


class ChosenPlaces(Places):
    """The places of some rows."""

    def __init__(self, every: Places, chosen: Numbers) -> None:
        self._every, self._chosen = every, chosen

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, row: int, /) -> tuple[str | None, int | None]:
        return self._every[int(self._chosen[row])]

    def keep(self, mask: Mask) -> Places:
        return ChosenPlaces(self._every, self._chosen[mask])


# ── the change itself ────────────────────────────────────────────────────────────────────────────────────────────────────────


@frozen(slots=False)
class StagedDelta(Delta):
    """The change of a type whose rows stay in their files: only ids are read, and only when somebody asks."""

    staged: PinnedTable | None = None

    @cached_property
    def ids(self) -> pa.Array:
        if self.staged is None:
            return pa.array([], pa.string())
        return whole(self.staged.open().read(["id"])["id"])


def staged_of(work: Work, view: View, parts: Sequence[Placed], mode: Mode, declared: Iterable[EntityType]) -> dict[str, Staged]:
    """Rows of each type that occurs, readable where they were written."""
    by_label = {label(t): t for t in work.types.every()}
    order: dict[str, None] = {label(t): None for t in declared}
    for part in parts:
        order |= dict.fromkeys(part.chunk.types)
    found = {}
    for name in order:
        mine = [p for p in parts if name in p.chunk.types]
        of_type = [p.chunk.types[name] for p in mine]
        places = PackedPlaces([(p.input.name, p.before, p.chunk.types[name].lines) for p in mine])
        fresh = not any(t.given_ids for t in of_type)
        written = joined([t.written for t in of_type])
        table = seen(work.tables[name], written)
        found[name] = Staged(by_label[name], table, written, of_type, places, fresh, mode, work.types.kept[name])
    return found


def seen(table: PinnedTable, written: WrittenRows) -> PinnedTable | None:
    """Written rows as a table of their own, at a version that nobody else sees."""
    if not written.fragments:
        return None
    applied, _ = table.open().apply(table.state, Overwrite(written))
    return PinnedTable.of(table.place, applied.state)


def change_of(rows: Staged, count: int, written: WrittenRows, table: PinnedTable | None) -> Delta:
    """The change that staged rows make."""
    return StagedDelta(
        rows.type,
        pa.table({"id": pa.nulls(count)}),
        replaces_all=rows.replaces_all,
        fresh=rows.fresh,
        must_be_new=rows.mode is Mode.APPEND,
        written=written,
        staged=table,
        completed=rows.mode.is_partial,
        unchanged=all(part.unchanged for part in rows.parts),
    )
