"""Quarantine: valid rows are loaded, the others are written to a file with their violations.

Off unless somebody asks: a load that drops rows by itself is one that nobody checks. Which rows are bad is found by asking the
same rules until they have nothing to say about what is left: a node that is dropped takes edges with it.

    line 7: age out of range            → dropped
    line 9: edge to the node of line 7  → its end is not there any more: dropped in the next round
    line 3: source with 4 edges, max 3  → the last of them is dropped

What cannot be mended by leaving out rows (a file that cannot be read, a column that is missing, a committed edge that would lose
its node) is refused as ever, and so is a load of which too much is bad, or everything. Every row is loaded or written down, none
twice: as a record that can be mended and loaded again (`rejected`), to a file of this load alone (`quarantine_files`). Where an
id may come twice the last *good* row with it counts: one before it is replaced and not looked at, one after it is written down.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.column import Mask, to_mask
from omnigraph.engine.arrays.json_lines import lines
from omnigraph.engine.load.read.any_format.rejected import Record, can_be_read_again, records_at, to_line
from omnigraph.engine.load.read.delimited.reader import is_of_file
from omnigraph.engine.load.read.inputs.naming import Format
from omnigraph.engine.load.read.parallel.chunks import Placed, Work, deltas_of, seen_rows, unnamed_rows, unsaid_rows
from omnigraph.engine.load.read.rows.collected import Places, duplicates, kept
from omnigraph.engine.load.read.rows.completing import without
from omnigraph.engine.load.read.rows.types import label
from omnigraph.engine.load.run.conclude import in_order_of
from omnigraph.engine.load.run.request import Request
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.validate import set_violations
from omnigraph.engine.write.violations import Violation, refuse, summary
from omnigraph.errors import ValidationError
from omnigraph.model.frozen import frozen
from omnigraph.storage.tables.rows import chosen_of_written, written_without

Key = tuple[str | None, int | None, str]


@frozen(slots=False)
class LeftOut:
    """A record that was dropped, and why."""

    file: str | None
    line: int | None
    violations: tuple[Violation, ...]
    record: Record

    def to_line(self) -> bytes:
        """As a line of the file that it is written to."""
        place = {name: value for name, value in (("file", self.file), ("line", self.line)) if value is not None}
        why = [{k: v for k, v in found.to_dict().items() if k not in ("file", "line")} for found in self.violations]
        return to_line({**place, "record": self.record, "violations": why})


def require_few(left_out: Sequence[LeftOut], good: int, request: Request) -> None:
    """Refuse a load of which more is wrong than may be, or everything."""
    bad = len(left_out)
    allowed = request.max_bad is None or request.max_bad.allows(bad, good + bad)
    if not bad or (good and allowed):
        return
    violations = [v for found in left_out for v in found.violations]
    head = f"{bad:,} of {good + bad:,} records are wrong"
    if good:
        head += f", and at most {request.max_bad} may be"
    raise ValidationError(f"{head}\n{summary(violations)}", violations=violations)


class Sieve:
    """Sorts rows into good and bad."""

    def __init__(self, work: Work, view: View, request: Request, parts: Sequence[Placed]) -> None:
        self._work, self._view, self._request = work, view, request
        declared = [i.type for i in request.inputs if i.type is not None]
        self._deltas = {label(d.type): d for d in deltas_of(work, view, parts, request.mode, declared)}
        self._good: dict[str, Mask] = {name: np.ones(d.rows.num_rows, np.bool_) for name, d in self._deltas.items()}
        self._replaced: dict[str, Mask] = {name: ~good for name, good in self._good.items()}
        self._in_files = {name: seen_rows(parts, name) for name in self._deltas}
        self._unnamed = {name: unnamed_rows(parts, name) for name in self._deltas}
        self._unsaid = {name: unsaid_rows(parts, name) for name in self._deltas}
        self._kept = {self._key(p.input.name, line, p.input.type): r for p in parts for line, r in p.records().items()}
        self._found: list[Violation] = []

    def sift(self, violations: Iterable[Violation]) -> ChangeSet:
        """The change that the good rows make."""
        pending = list(violations)
        while True:
            self._drop(pending)
            changes, repeats = self._left()
            pending = repeats + set_violations(changes, self._view)
            if not pending:
                return ChangeSet(self._stored(d) for d in changes)

    def _left(self) -> tuple[ChangeSet, list[Violation]]:
        deltas, repeats = list[Delta](), list[Violation]()
        for name, whole in self._deltas.items():
            good = self._good[name]
            delta = _only(whole, good)
            wrong, last = duplicates(delta, self._request.mode)
            repeats += wrong
            self._replaced[name] = np.zeros(len(good), np.bool_)  # anew: whoever replaced a row may have been dropped since
            if last is not None:
                self._replaced[name][np.flatnonzero(good)[~last]] = True
                delta = _only(whole, self._counting(name))
            deltas.append(delta)
        return ChangeSet(deltas), repeats

    def _counting(self, name: str) -> Mask:
        """Good rows that no later one replaces."""
        return self._good[name] & ~self._replaced[name]

    def _drop(self, violations: list[Violation]) -> None:
        # Rows of CSV with too many or too few cells were left out by whoever read them; the report names their lines.
        refuse(in_order_of([v for v in violations if is_of_file(v)], self._request.inputs))
        by_place: dict[tuple[str, str | None], list[int]] = {}
        for violation in violations:
            if violation.line is None:
                self._found.append(violation)
                continue
            edge = self._view.catalog.edges.get(violation.type)
            if edge is not None and violation.rule == "cardinality":
                self._drop_edges(edge, violation)
            else:
                self._found.append(violation)
                by_place.setdefault((violation.type, violation.file), []).append(violation.line)
        for (type_, file), wrong in by_place.items():
            for name in (type_, f"edge {type_}"):
                places = self._deltas[name].places if name in self._deltas else ()
                if isinstance(places, Places):
                    self._good[name][places.rows_at(file, np.array(wrong))] = False

    def _drop_edges(self, edge: EntityType, violation: Violation) -> None:
        """The last edges of a source that has too many; all of one that has too few."""
        name = label(edge)
        mine = to_mask(pc.equal(self._deltas[name].column("src"), violation.entity))
        rows = np.flatnonzero(mine & self._counting(name))
        assert isinstance(violation.value, int)
        too_many = 0 if edge.maximum is None else violation.value - edge.maximum
        dropped = rows[-too_many:] if too_many > 0 else rows
        self._good[name][dropped] = False
        for row in dropped.tolist():
            file, line = self._deltas[name].place(row)
            self._found.append(replace(violation, file=file, line=line))

    # ── what was dropped ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def rows(self) -> int:
        """How many rows are good."""
        return sum(int(good.sum()) for good in self._good.values())

    def left_out(self) -> list[LeftOut]:
        """Records that were dropped, each once, in the order of inputs and lines."""
        by_key: dict[Key, list[Violation]] = {}
        for violation in in_order_of(self._found, self._request.inputs):
            by_key.setdefault(self._key(violation.file, violation.line, violation.type), []).append(violation)
        records = self._kept | self._in_files_of_text(by_key)
        records |= self._written_ones([key for key in by_key if key not in records])
        return [
            LeftOut(file, line, tuple(found), records.get((file, line, name))) for (file, line, name), found in by_key.items()
        ]

    def _key(self, file: str | None, line: int | None, type_: EntityType | str | None) -> Key:
        """What tells a record from all others: where it stands, and in frames, whose rows have numbers of their own, its type."""
        alone = file is not None or any(i.format is Format.RECORDS for i in self._request.inputs)
        return file, line, "" if alone or type_ is None else type_ if isinstance(type_, str) else type_.name

    def _in_files_of_text(self, wanted: Iterable[Key]) -> dict[Key, Record]:
        by_file: dict[str | None, set[int]] = {}
        for file, line, _ in wanted:
            if line is not None:
                by_file.setdefault(file, set()).add(line)
        again = [i for i in self._request.inputs if i.name in by_file and can_be_read_again(i)]
        return {(i.name, line, ""): record for i in again for line, record in records_at(i, by_file[i.name]).items()}

    def _written_ones(self, wanted: list[Key]) -> dict[Key, Record]:
        """Records that were right by themselves: they are in data files."""
        found: dict[Key, Record] = {}
        missing = set(wanted)
        for name, delta in self._deltas.items() if missing else ():
            bad = np.flatnonzero(~self._good[name] & self._in_files[name])
            keys = {int(row): self._key(*delta.place(int(row)), delta.type) for row in bad}
            chosen = {row: key for row, key in keys.items() if key in missing}
            if not chosen or delta.written is None:
                continue
            mask = np.zeros(len(self._good[name]), np.bool_)
            mask[list(chosen)] = True
            table = self._work.tables[name]
            batches = list(chosen_of_written(table.open(), table.state, delta.written, mask[self._in_files[name]]))
            spelt = lines(delta.type, pa.Table.from_batches(batches)).splitlines()
            for (row, key), line in zip(chosen.items(), spelt, strict=True):
                record = json.loads(line)
                if self._unnamed[name][row]:  # nobody gave it, and the next load makes another one
                    del record["data"]["id"]
                found[key] = without(record, {column for column, mask in self._unsaid[name].items() if mask[row]})
        return found

    def _stored(self, delta: Delta) -> Delta:
        name = label(delta.type)
        keep = self._counting(name)[self._in_files[name]]
        if delta.written is None or keep.all():
            return delta
        table, schema = self._work.tables[name], self._work.types.schema(delta.type)
        return replace(delta, written=written_without(table.open(), table.state, delta.written, keep, schema))


def _only(delta: Delta, mask: Mask) -> Delta:
    """Only some of the rows."""
    if mask.all():
        return delta
    return replace(kept(delta, mask), replaces_all=delta.replaces_all, fresh=delta.fresh)
