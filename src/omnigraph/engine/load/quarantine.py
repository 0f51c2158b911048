"""Quarantine: the good rows are loaded, the bad ones are written down beside, with what is wrong with each.

Off unless somebody asks: a load that drops rows by itself is one that nobody checks. Which rows are bad is found by asking the
same rules until they have nothing to say about what is left: a node that is dropped takes edges with it.

    line 7: age out of range            → dropped
    line 9: edge to the node of line 7  → its end is not there any more: dropped in the next round
    line 3: source with 4 edges, max 3  → the last of them is dropped

What cannot be mended by leaving out rows (a file that cannot be read, a column that is missing, a committed edge that would lose
its node) is refused as ever. The report is a file of JSON lines: each violation, and the record itself where it stands in a file:
the text of a line of JSON or CSV, the values of a row of Parquet. Rows of frames are told by their number and their entity.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EdgeType
from omnigraph.engine.column import Mask, to_mask
from omnigraph.engine.load.collected import Places, duplicates, kept
from omnigraph.engine.load.conclude import in_order_of
from omnigraph.engine.load.files import UNREADABLE_TEXT, parquet_batches, text_of
from omnigraph.engine.load.lines import chunks
from omnigraph.engine.load.portions import Placed, Work, deltas_of, seen_rows
from omnigraph.engine.load.request import Request
from omnigraph.engine.load.sources import Format, Input
from omnigraph.engine.load.types import label
from omnigraph.engine.view import View
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.validate import set_violations
from omnigraph.engine.write.violations import Violation, refuse
from omnigraph.errors import NotFound, UsageError
from omnigraph.storage.inputs import is_remote
from omnigraph.storage.place import Place
from omnigraph.storage.rows import written_without

T = TypeVar("T")


def require_beside(path: str, inputs: Sequence[Input]) -> None:
    """Refuse, before any work, a path that nothing can be written to, or that would overwrite what is loaded."""
    if is_remote(path):
        mine = path
    else:
        mine = os.path.abspath(path)
        if os.path.isdir(mine):
            raise UsageError(f"{path} is a folder", hint="Name the file that what is wrong is written to.")
        if not os.path.isdir(os.path.dirname(mine)):
            raise NotFound(f"there is no folder {os.path.dirname(mine)} to write {os.path.basename(mine)} into")
    if any(i.is_file and i.content == mine for i in inputs):
        raise UsageError(f"{path} is loaded, and would be overwritten by what is wrong with it", hint="Name another file.")


class Sieve:
    """Sorts rows into good and bad."""

    def __init__(self, work: Work, view: View, request: Request, parts: Sequence[Placed]) -> None:
        self._work, self._view, self._request = work, view, request
        declared = [i.type for i in request.inputs if i.type is not None]
        self._deltas = {label(d.type): d for d in deltas_of(work, view, parts, request.mode, declared)}
        self._good: dict[str, Mask] = {name: np.ones(d.rows.num_rows, np.bool_) for name, d in self._deltas.items()}
        self._in_files = {name: seen_rows(parts, name) for name in self._deltas}
        self.found: list[Violation] = []
        """What is wrong with the rows that were dropped."""

    def report(self) -> list[Violation]:
        """What is wrong with the rows that were dropped, in the order of inputs and lines."""
        return in_order_of(self.found, self._request.inputs)

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
            delta = _only(whole, self._good[name])
            wrong, last = duplicates(delta, self._request.mode)
            repeats += wrong
            if last is not None:
                self._good[name][np.flatnonzero(self._good[name])[~last]] = False
                delta = _only(whole, self._good[name])
            deltas.append(delta)
        return ChangeSet(deltas), repeats

    def _drop(self, violations: list[Violation]) -> None:
        # Rows of CSV with too many or too few cells were left out by whoever read them; the report names their lines.
        refuse(in_order_of([v for v in violations if v.line is None and v.rule != "csv"], self._request.inputs))
        self.found += violations
        lines: dict[tuple[str, str | None], list[int]] = {}
        for violation in violations:
            if violation.line is None:
                continue
            edge = self._view.catalog.edges.get(violation.type)
            if edge is not None and violation.rule == "cardinality":
                self._drop_edges(edge, violation)
            else:
                lines.setdefault((violation.type, violation.file), []).append(violation.line)
        for (type_, file), wrong in lines.items():
            for name in (type_, f"edge {type_}"):
                places = self._deltas[name].places if name in self._deltas else ()
                if isinstance(places, Places):
                    self._good[name][places.rows_at(file, np.array(wrong))] = False

    def _drop_edges(self, edge: EdgeType, violation: Violation) -> None:
        """The last edges of a source that has too many; all of one that has too few."""
        name = label(edge)
        mine = to_mask(pc.equal(self._deltas[name].column("src"), violation.entity))
        rows = np.flatnonzero(mine & self._good[name])
        assert isinstance(violation.value, int)
        too_many = 0 if edge.maximum is None else violation.value - edge.maximum
        self._good[name][rows[-too_many:] if too_many > 0 else rows] = False

    def _stored(self, delta: Delta) -> Delta:
        name = label(delta.type)
        keep = self._good[name][self._in_files[name]]
        if delta.written is None or keep.all():
            return delta
        table, schema = self._work.tables[name], self._work.types.schema(delta.type)
        return replace(delta, written=written_without(table.open(), table.state, delta.written, keep, schema))


def _only(delta: Delta, mask: Mask) -> Delta:
    """Only some of the rows."""
    if mask.all():
        return delta
    return replace(kept(delta, mask), replaces_all=delta.replaces_all, fresh=delta.fresh)


def dropped(report: Iterable[Violation]) -> int:
    """How many rows and lines a report is about."""
    return len({(v.file, v.line, v.type if v.file is None else "") for v in report})


def write_down(report: Sequence[Violation], inputs: Sequence[Input], path: str, place: Place) -> None:
    """A file of JSON lines: every violation with the record it is about. Object stores are reached as that of the graph."""
    records = {i.name: _records(i, {v.line for v in report if v.file == i.name and v.line is not None}) for i in inputs}
    lines = []
    for violation in report:
        data = violation.to_dict()
        record = records.get(violation.file, {}).get(violation.line)
        if record is not None:
            data["record"] = record
        lines.append(json.dumps(data, default=str, ensure_ascii=False) + "\n")
    folder, _, name = (path if is_remote(path) else os.path.abspath(path)).rpartition("/")
    Place.at(folder or "/", place.options).put(name, "".join(lines).encode())


def _records(input_: Input, wanted: set[int]) -> dict[int | None, object]:
    """Some records of a file, by the lines they begin at."""
    if not wanted or not input_.is_file:
        return {}
    match input_.format:
        case Format.NDJSON:
            return dict(_lines(input_, wanted))
        case Format.CSV:
            return dict(_cells(input_, wanted))
        case _:
            return dict(_rows(input_, wanted))


def _lines(input_: Input, wanted: set[int]) -> Iterator[tuple[int, str]]:
    with input_.opened() as stream:
        for chunk in chunks(stream, input_.name):
            mine = wanted.intersection(range(chunk.first_line, chunk.first_line + chunk.line_count))
            lines = chunk.data.split(b"\n") if mine else []
            yield from ((n, lines[n - chunk.first_line].decode(errors="replace").rstrip("\r")) for n in mine)


def _cells(input_: Input, wanted: set[int]) -> Iterator[tuple[int, str]]:
    """Records of CSV may go over several lines."""
    with suppress(*UNREADABLE_TEXT), text_of(input_) as file:
        read = list[str]()
        reader = csv.reader(_noted(file, read))
        begins = 1
        for _ in reader:
            if begins in wanted:
                yield begins, "".join(read).rstrip("\r\n")
            read.clear()
            begins = reader.line_num + 1


def _noted(items: Iterable[T], notes: list[T]) -> Iterator[T]:
    for item in items:
        notes.append(item)
        yield item


def _rows(input_: Input, wanted: set[int]) -> Iterator[tuple[int, object]]:
    first = 1
    for batch in parquet_batches(input_):
        mine = sorted(wanted.intersection(range(first, first + batch.num_rows)))
        yield from zip(mine, batch.take([n - first for n in mine]).to_pylist(), strict=True) if mine else ()
        first += batch.num_rows
