"""Quarantine: the good rows are loaded, the bad ones are written down beside, with what is wrong with each.

Off unless somebody asks: a load that drops rows by itself is one that nobody checks. Which rows are bad is found by asking the
same rules until they have nothing to say about what is left: a node that is dropped takes edges with it.

    line 7: age out of range            → dropped
    line 9: edge to the node of line 7  → its end is not there any more: dropped in the next round
    line 3: source with 4 edges, max 3  → the last of them is dropped

What cannot be mended by leaving out rows (a file that cannot be read, a column that is missing, a committed edge that would lose
its node) is refused as ever. The report is a file of JSON lines: each violation, and the line itself where the input has lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EdgeType
from omnigraph.engine.column import Mask, to_mask
from omnigraph.engine.load.collected import Places, duplicates, kept
from omnigraph.engine.load.conclude import in_order_of
from omnigraph.engine.load.lines import chunks
from omnigraph.engine.load.portions import Placed, Work, deltas_of, seen_rows
from omnigraph.engine.load.request import Request
from omnigraph.engine.load.sources import Format, Input
from omnigraph.engine.load.types import label
from omnigraph.engine.view import View
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.validate import set_violations
from omnigraph.engine.write.violations import Violation, refuse
from omnigraph.storage.rows import written_without


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

    @property
    def dropped(self) -> int:
        """Lines that were left out."""
        return len({(v.file, v.line, v.type if v.file is None else "") for v in self.found})

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
        refuse(in_order_of([v for v in violations if v.line is None], self._request.inputs))
        self.found += violations
        lines: dict[tuple[str, str | None], list[int]] = {}
        for violation in violations:
            assert violation.line is not None
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


def write_down(violations: list[Violation], inputs: Sequence[Input], path: str) -> None:
    """A file of JSON lines: every violation, with the line it is about."""
    ordered = in_order_of(violations, inputs)
    texts = {i.name: _texts(i, {v.line for v in ordered if v.file == i.name}) for i in inputs if i.is_file}
    with open(path, "w", encoding="utf-8") as file:
        for violation in ordered:
            data = violation.to_dict()
            text = texts.get(violation.file, {}).get(violation.line)
            if text is not None:
                data["record"] = text
            file.write(json.dumps(data, default=str, ensure_ascii=False) + "\n")


def _texts(input_: Input, wanted: set[int | None]) -> dict[int | None, str]:
    """Some lines of a file."""
    if not wanted or input_.format is Format.PARQUET:
        return {}
    found: dict[int | None, str] = {}
    with input_.opened() as stream:
        for chunk in chunks(stream, input_.name):
            last = chunk.first_line + chunk.line_count
            mine = [n for n in wanted if n is not None and chunk.first_line <= n < last]
            lines = chunk.data.split(b"\n") if mine else []
            found |= {n: lines[n - chunk.first_line].decode(errors="replace").rstrip("\r") for n in mine}
    return found
