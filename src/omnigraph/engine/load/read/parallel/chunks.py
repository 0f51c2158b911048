"""A load cut into chunks that any process can work on, and what comes of each.

    inputs → cuts ──read_chunk, anywhere, in any order──▶ chunks → the change of each type

A cut names a range of a file: bytes of JSON lines, row groups of Parquet, or all of it. Whoever reads it parses, checks each row
by itself and writes the rows to data files that nothing refers to yet; what it gives back is small: descriptions of the files,
violations, and the lines the rows came from, packed. It may be done twice: only one of the results is used.

Nobody knows at which line of its file a cut begins, so lines are counted from the beginning of the cut. The one who has all
chunks adds up what came before (`line_starts`). What the set rules look at is read back from the data files, column by column.
"""

from __future__ import annotations

import gc
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.column import Mask, to_mask
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.blobs.settling import External, Settling, Use
from omnigraph.engine.load.read.columnar.files import parquet_batches
from omnigraph.engine.load.read.inputs.naming import Format
from omnigraph.engine.load.read.inputs.sources import Input
from omnigraph.engine.load.read.json_lines.lines import Split
from omnigraph.engine.load.read.json_lines.parse import parse_block
from omnigraph.engine.load.read.json_lines.rows import record_blocks
from omnigraph.engine.load.read.parallel.tasks import UNREADABLE, Task, column_tasks, tasks_of, unreadable
from omnigraph.engine.load.read.parallel.writers import Writer
from omnigraph.engine.load.read.rows.collected import Places
from omnigraph.engine.load.read.rows.completing import Committed, Completed, Completing
from omnigraph.engine.load.read.rows.identity import with_ids
from omnigraph.engine.load.read.rows.modes import Mode
from omnigraph.engine.load.read.rows.references import settled
from omnigraph.engine.load.read.rows.removals import Removals
from omnigraph.engine.load.read.rows.types import Parsed, Rows, Types, absent_of, label
from omnigraph.engine.snapshot.view import View, table_key
from omnigraph.engine.write.changeset import Delta
from omnigraph.engine.write.violations import Violation
from omnigraph.model.frozen import frozen
from omnigraph.model.ids import UlidSource
from omnigraph.model.limits import MAX_VIOLATIONS
from omnigraph.storage.files.place import Place
from omnigraph.storage.tables.changes import NO_ROWS, WrittenRows
from omnigraph.storage.tables.rows import columns_of_written
from omnigraph.storage.tables.work import PinnedTable

LEAST_CUT: Final = 8 << 20
MOST_CUT: Final = 512 << 20
"""Bytes of a cut: enough to be worth a task, and not so many that one of them is long behind the others."""

_IMPLICIT: Final = ("id", "src", "dst")


@frozen
class Cut:
    """A part of an input."""

    input: Input
    start: int = 0
    end: int | None = None
    """Bytes of JSON lines, row groups of Parquet; None: all there is."""
    first: int = 1
    """The number of its first row, where that is known."""
    bytes: int = 0


@frozen(slots=False)
class Work:
    """What everybody who reads chunks of a load must know."""

    types: Types
    place: Place
    tables: dict[str, PinnedTable]
    """Where rows of each type are written, by its label."""

    @classmethod
    def of(
        cls,
        place: Place,
        view: View,
        external: External | None = None,
        *,
        lossy: bool = False,
        keeps: bool = False,
        mode: Mode = Mode.MERGE,
    ) -> Work:
        """To write on top of a view. `keeps`: whether records of which something is wrong are to be kept."""
        types = Types(view.catalog, external or External(), lossy, keeps, mode)
        place = Place.at(place.uri, place.options, place.durability)  # without what cannot travel
        states = {label(t): view.snapshot.tables[table_key(t)] for t in types.every()}
        return cls(types, place, {name: PinnedTable.of(place, state) for name, state in states.items()})


@frozen(slots=False)
class Lines:
    """The line of each row, packed: where lines follow one another, only the first is kept."""

    first: int
    steps: bytes | None
    """From each line to the next, compressed."""
    count: int

    @classmethod
    def of(cls, parts: Sequence[Numbers]) -> Lines:
        numbers = np.concatenate(parts) if parts else np.empty(0, np.int64)
        steps = np.diff(numbers)
        if (steps == 1).all():
            return cls(int(numbers[0]) if len(numbers) else 0, None, len(numbers))
        small = steps.astype(np.int16) if np.abs(steps).max() < 2**15 else steps
        return cls(int(numbers[0]), small.dtype.char.encode() + zlib.compress(small.tobytes(), 1), len(numbers))

    def numbers(self) -> Numbers:
        """The lines."""
        if self.steps is None:
            return np.arange(self.first, self.first + self.count, dtype=np.int64)
        steps = np.frombuffer(zlib.decompress(self.steps[1:]), np.dtype(self.steps[:1].decode()))
        return np.concatenate([[self.first], self.first + np.cumsum(steps, dtype=np.int64)])


@dataclass
class OfType:
    """Rows of one type in a chunk."""

    written: WrittenRows = NO_ROWS
    lines: Lines = field(default_factory=lambda: Lines.of([]))
    given_ids: bool = False
    """Whether any of them came with an id or a key."""
    left_out: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    """Positions of rows that lack a required value, which no data file holds. There is a violation for each…"""
    left_out_rows: pa.Table | None = None
    """…but other rules look at them too: the columns these want."""
    unnamed: bytes = b""
    """Which rows came without an id, a bit each, where records may have to be written down."""
    unsaid: dict[str, bytes] = field(default_factory=dict)
    """By column, which rows said nothing about it, in the same case."""
    unchanged: bool = True
    """Whether all rows are committed already, exactly so, as far as somebody has compared them."""
    stepwise: bool = False
    """Whether rows are steps of which the last one of an entity counts."""


@dataclass
class Chunk:
    """What came of a cut. Lines are counted from its beginning, unless `absolute`."""

    types: dict[str, OfType] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    doubtful: set[tuple[str, str]] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    lines: int = 0
    bytes: int = 0
    absolute: bool = False
    records: dict[int, object] = field(default_factory=dict)
    """By line: records of which something is wrong, where they are to be kept and cannot be read again."""
    external: Use = field(default_factory=Use)
    """URIs that were given for Blobs."""
    removals: list[Removals] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Rows of all types."""
        return sum(t.lines.count for t in self.types.values())


# ── cutting ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def cuts_of(inputs: Iterable[Input], parallel: int) -> list[Cut]:
    """Inputs in parts, a few for each of those who work side by side. What cannot be cut is one part."""
    inputs = list(inputs)
    total = sum(i.size or 0 for i in inputs)
    size = min(max(total // (3 * parallel), LEAST_CUT), MOST_CUT)
    return [cut for input_ in inputs for cut in _cuts(input_, size)]


def _cuts(input_: Input, size: int) -> Iterator[Cut]:
    if not input_.is_file or input_.size is None:
        yield Cut(input_)
    elif input_.format is Format.NDJSON:
        count = max(1, -(-input_.size // size))
        edges = [input_.size * n // count for n in range(count + 1)]
        yield from (Cut(input_, start, end, bytes=end - start) for start, end in pairwise(edges))
    elif input_.format is Format.PARQUET:
        yield from _row_groups(input_, size)
    else:
        yield Cut(input_, bytes=input_.size)


def _row_groups(input_: Input, size: int) -> Iterator[Cut]:
    try:
        with pq.ParquetFile(input_.for_arrow) as file:
            groups = [file.metadata.row_group(n) for n in range(file.metadata.num_row_groups)]
            sizes = [(g.num_rows, sum(g.column(c).total_compressed_size for c in range(g.num_columns))) for g in groups]
    except UNREADABLE:
        yield Cut(input_)  # whoever reads it will say what is wrong
        return
    start, first, rows, held = 0, 1, 0, 0
    for number, (count, packed) in enumerate(sizes):
        rows, held = rows + count, held + packed
        if held >= size or number + 1 == len(sizes):
            yield Cut(input_, start, number + 1, first, held)
            start, first, rows, held = number + 1, first + rows, 0, 0


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_chunk(work: Work, cut: Cut) -> Chunk:
    """Read a cut: rows in data files, violations, lines."""
    return _chunk(work, _tasks(cut, work.types), cut)


def read_batches(work: Work, type_: EntityType, batches: Iterable[pa.RecordBatch]) -> Chunk:
    """Read rows of a type that somebody else brings."""
    cut = Cut(Input(Format.ARROW, None, None, type_))
    return _chunk(work, column_tasks(cut.input, work.types, batches), cut)


def _chunk(work: Work, tasks: Iterator[Task], cut: Cut) -> Chunk:
    taking = _Taking(work)
    gc.disable()  # rows are in Arrow: there are no cycles to look for, and looking costs as much as parsing
    try:
        for task in tasks:
            taking.take(task())
        taking.take_rest()
        return taking.chunk(cut)
    finally:
        taking.abandon()
        gc.enable()


def _tasks(cut: Cut, types: Types) -> Iterator[Task]:
    input_ = cut.input
    if cut.end is None:
        yield from tasks_of(input_, types)
        return
    try:
        if input_.format is Format.PARQUET:
            batches = parquet_batches(input_, range(cut.start, cut.end))
            yield from column_tasks(input_, types, batches, first=cut.first)
        else:
            with input_.opened() as stream:
                mine = Split(stream, cut.start, cut.end)
                for chunk in record_blocks(input_, mine, begun=bool(cut.start)):
                    yield lambda chunk=chunk: parse_block(chunk, types)  # type: ignore[misc]
    except UNREADABLE as error:
        reported = unreadable(input_, error)
        yield lambda: Parsed(violations=reported)


class _Taking:
    """Puts together what tasks give, and writes rows as they come."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._settling = Settling(work.types.external)
        self._ids = UlidSource()
        self._found = Chunk()
        self._lines: dict[str, list[Numbers]] = {}
        self._left_out: dict[str, list[tuple[Numbers, pa.RecordBatch]]] = {}
        self._unnamed: dict[str, list[Mask]] = {}
        self._unsaid: dict[str, list[Rows]] = {}
        self._counts: dict[str, int] = {}
        self._writers: dict[str, Writer] = {}
        self._completing = Completing(work.types, self._committed)

    def _committed(self, type_: EntityType) -> Committed:
        table = self._work.tables[label(type_)]
        return Committed(table.open(), table.state.rows)

    def take(self, parsed: Parsed) -> None:
        found, parsed = self._found, settled(parsed, self._settling)
        found.lines += parsed.lines
        found.doubtful.update(parsed.doubtful)
        found.broken |= parsed.broken
        found.records |= parsed.records
        found.removals += parsed.removals
        for removals in parsed.removals:
            found.types.setdefault(label(removals.type), OfType()).stepwise = True
        found.violations += parsed.violations[: MAX_VIOLATIONS + 1 - len(found.violations)]
        for rows in parsed.rows:
            if self._work.types.partial:
                for done in self._completing.add(rows):
                    self._take_whole(done)
            else:
                self._keep(rows)

    def take_rest(self) -> None:
        """There is no more."""
        for done in self._completing.rest():
            self._take_whole(done)

    def _take_whole(self, done: Completed) -> None:
        found = self._found
        found.doubtful.update(done.parsed.doubtful)
        found.broken |= done.parsed.broken
        found.records |= done.parsed.records
        found.violations += done.parsed.violations[: MAX_VIOLATIONS + 1 - len(found.violations)]
        for rows in done.parsed.rows:
            self._keep(rows)
            found.types[label(rows.type)].unchanged &= done.unchanged

    def _keep(self, rows: Rows) -> None:
        name = label(rows.type)
        of_type = self._found.types.setdefault(name, OfType())
        of_type.stepwise |= rows.stepwise
        of_type.given_ids |= rows.batch.column(0).null_count < rows.count
        self._lines.setdefault(name, []).append(rows.lines)
        if self._work.types.keeps:
            self._unnamed.setdefault(name, []).append(to_mask(rows.batch.column(0).is_null()))
            self._unsaid.setdefault(name, []).append(rows)
        schema, batch = self._work.types.schema(rows.type), with_ids(rows.batch, self._ids)
        incomplete = _incomplete(batch, schema)
        if incomplete is not None:
            at = self._counts.get(name, 0) + np.flatnonzero(incomplete)
            chosen = batch.filter(pa.array(incomplete)).select(self._work.types.kept[name])
            self._left_out.setdefault(name, []).append((at, chosen))
            batch = batch.filter(pa.array(~incomplete))
        self._counts[name] = self._counts.get(name, 0) + rows.count
        if batch.num_rows:
            writer = self._writers.get(name)
            if writer is None:
                writer = self._writers[name] = Writer(self._work.tables[name].open(), schema)
            writer.put(batch)

    def chunk(self, cut: Cut) -> Chunk:
        found = self._found
        for name, of_type in found.types.items():
            writer = self._writers.pop(name, None)
            of_type.written = NO_ROWS if writer is None else writer.close()
            of_type.lines = Lines.of(self._lines.get(name, []))
            if name in self._unnamed:
                of_type.unnamed = np.packbits(np.concatenate(self._unnamed[name])).tobytes()
                of_type.unsaid = {c: np.packbits(mask).tobytes() for c, mask in absent_of(self._unsaid[name]).items()}
            left_out = self._left_out.get(name)
            if left_out:
                of_type.left_out = np.concatenate([at for at, _ in left_out])
                of_type.left_out_rows = pa.Table.from_batches([rows for _, rows in left_out])
        found.bytes, found.external = cut.bytes, self._settling.use
        found.absolute = cut.input.is_file and cut.input.format is not Format.NDJSON
        return found

    def abandon(self) -> None:
        for writer in self._writers.values():
            writer.abandon()


def _incomplete(batch: pa.RecordBatch, schema: pa.Schema) -> Mask | None:
    """Which rows lack a value they must have."""
    found: Mask | None = None
    for column, about in zip(batch.columns, schema, strict=True):
        if not about.nullable and column.null_count:
            missing = to_mask(column.is_null())
            found = missing if found is None else found | missing
    return found


# ── putting together ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@frozen(slots=False)
class Placed:
    """A chunk, and where it stands: its input, and how many lines of that come before it."""

    input: Input
    chunk: Chunk
    before: int

    def violations(self) -> list[Violation]:
        """With their lines in the input."""
        found = self.chunk.violations
        return [v if v.line is None else replace(v, line=v.line + self.before) for v in found] if self.before else found

    def removals(self) -> list[Removals]:
        """With their lines in the input."""
        return [replace(r, lines=r.lines + self.before) for r in self.chunk.removals]

    def records(self) -> dict[int, object]:
        """By their lines in the input."""
        return {line + self.before: record for line, record in self.chunk.records.items()}


def placed(cuts: Sequence[Cut], chunks: Sequence[Chunk]) -> list[Placed]:
    """Chunks in the order of cuts, each with what comes before it."""
    found, before, last = list[Placed](), 0, None
    for cut, chunk in zip(cuts, chunks, strict=True):
        if cut.input is not last:
            before, last = 0, cut.input
        found.append(Placed(cut.input, chunk, 0 if chunk.absolute else before))
        before += chunk.lines
    return found


class PackedPlaces(Places):
    """The file and line of each row, unpacked when somebody asks."""

    def __init__(self, parts: Sequence[tuple[str | None, int, Lines]]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(lines.count for _, _, lines in self._parts)

    @cached_property
    def _unpacked(self) -> Places:
        starts = np.cumsum([0, *(lines.count for _, _, lines in self._parts)]).tolist()
        numbers = [before + lines.numbers() for _, before, lines in self._parts]
        return Places([file for file, _, _ in self._parts], starts[:-1], np.concatenate(numbers))

    def __getitem__(self, row: int, /) -> tuple[str | None, int | None]:
        return self._unpacked[row]

    def keep(self, mask: Mask) -> Places:
        return self._unpacked.keep(mask)

    def rows_at(self, file: str | None, lines: Numbers) -> Numbers:
        return self._unpacked.rows_at(file, lines)


def deltas_of(work: Work, view: View, parts: Sequence[Placed], mode: Mode, declared: Iterable[EntityType]) -> list[Delta]:
    """The change of each type that occurs, with what the set rules look at."""
    by_label = {label(t): t for t in work.types.every()}
    order: dict[str, Any] = {label(t): None for t in declared}
    for part in parts:
        order |= dict.fromkeys(part.chunk.types)
    return [_delta(work, view, by_label[name], [p for p in parts if name in p.chunk.types], mode) for name in order]


def _delta(work: Work, view: View, type_: EntityType, parts: Sequence[Placed], mode: Mode) -> Delta:
    name = label(type_)
    of_type = [p.chunk.types[name] for p in parts]
    written = joined([t.written for t in of_type])
    fresh = not any(t.given_ids for t in of_type)
    kept = work.types.kept[name]
    # An id that was made for an edge a moment ago says nothing to any rule.
    read = kept if not fresh or set(kept) - set(_IMPLICIT) or len(kept) < 2 else kept[1:]
    state = view.snapshot.tables[table_key(type_)]
    rows = _with_left_out(columns_of_written(view.stored(type_).table, state, written, read), of_type)
    if len(read) < len(kept):
        rows = rows.add_column(0, "id", pa.nulls(rows.num_rows, pa.string()))
    places = PackedPlaces([(p.input.name, p.before, p.chunk.types[name].lines) for p in parts])
    return Delta(
        type_,
        rows,
        replaces_all=mode is Mode.OVERWRITE,
        fresh=fresh,
        must_be_new=mode is Mode.APPEND,
        places=places if len(places) else (),
        written=written,
        completed=mode.is_partial,
        unchanged=all(t.unchanged for t in of_type),
        stepwise=any(t.stepwise for t in of_type),
    )


def _with_left_out(rows: pa.Table, parts: Sequence[OfType]) -> pa.Table:
    """Rows of data files and those left out of them, in the order they were read."""
    left_out = [p.left_out_rows for p in parts if p.left_out_rows is not None]
    if not left_out:
        return rows
    others = pa.concat_tables(left_out).select(rows.column_names).cast(pa.schema([f.with_nullable(True) for f in rows.schema]))
    starts = np.cumsum([0, *(p.lines.count for p in parts)])
    missing = np.concatenate([start + p.left_out for start, p in zip(starts, parts, strict=False)])
    there = np.ones(int(starts[-1]), np.bool_)
    there[missing] = False
    order = np.empty(len(there), np.int64)
    order[there] = np.arange(rows.num_rows)
    order[missing] = rows.num_rows + np.arange(len(missing))
    return pa.concat_tables([rows.cast(others.schema), others]).take(pa.array(order))


def seen_rows(parts: Sequence[Placed], name: str) -> Mask:
    """Which rows of a type are in data files."""
    found = [np.empty(0, np.bool_)]
    for of_type in (p.chunk.types[name] for p in parts if name in p.chunk.types):
        there = np.ones(of_type.lines.count, np.bool_)
        there[of_type.left_out] = False
        found.append(there)
    return np.concatenate(found)


def unnamed_rows(parts: Sequence[Placed], name: str) -> Mask:
    """Which rows of a type came without an id."""
    mine = [p.chunk.types[name] for p in parts if name in p.chunk.types]
    return np.concatenate([np.empty(0, np.bool_), *(_unpacked(t.unnamed, t) for t in mine)])


def unsaid_rows(parts: Sequence[Placed], name: str) -> dict[str, Mask]:
    """Which rows of a type said nothing about a column, by column."""
    mine = [p.chunk.types[name] for p in parts if name in p.chunk.types]
    columns = dict.fromkeys(column for t in mine for column in t.unsaid)
    return {c: np.concatenate([_unpacked(t.unsaid.get(c, b""), t) for t in mine]) for c in columns}


def _unpacked(bits: bytes, of_type: OfType) -> Mask:
    count = of_type.lines.count
    if not bits:
        return np.zeros(count, np.bool_)
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=count).astype(np.bool_)


def joined(parts: Sequence[WrittenRows]) -> WrittenRows:
    """Rows written by several, one after the other."""
    if not any(p.fragments for p in parts):
        return NO_ROWS
    return WrittenRows(
        tuple(f for p in parts for f in p.fragments),
        sum(p.rows for p in parts),
        tuple(f for p in parts for f in p.unsynced),
        min(p.fence for p in parts if p.fragments),
        stored=tuple(s for p in parts for s in p.stored),
    )
