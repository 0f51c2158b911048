"""Indexes, built in segments, none of which moves anything visible.

An index is a name; under it stand any number of *segments*, each covering some fragments. Fragments without a segment are read
through, so an index is never needed for an answer, only for its speed. `extend_index` builds one segment for the fragments that
have none and commits it as a detached version; the pin is published as a `Replacement`.

    fragments            0     1     2     3          index on `id`: segments {0,1} {2}, fragment 3 is read through
    extend_index         └──┬──┘     └──┬──┘          segments {0,1} {2,3}: the new one took over {2}, which was not larger

**Why segments are taken over.** A search asks every segment, and a segment of one row costs as much as an uncovered fragment. So
a new segment absorbs those that cover no more rows than itself, as a binary counter carries: there are logarithmically many, and
a row is indexed again logarithmically often. Segments of more than `ABSORB_ROWS` rows are left alone.

**Full text needs its index from the start.** Without one Lance keeps case and knows no stems; with one it uses the index's rules,
also for rows the index does not cover. So a full-text index with nothing to cover is built all the same, as an empty segment:
what a search finds must not depend on how much is indexed.

**Side by side.** A segment knows its fragments and nothing of other segments, so for many fragments there are several, of
`SEGMENT_ROWS` rows each, and those of all indexes of a table are built beside each other, in threads or by other processes
(`run`). Lance builds a B-tree in one thread: two cores take half the time, and short sorts take less than long ones. How many are
built at a time is limited by the memory they take. Full text and vectors use all cores by themselves: they are built one by one,
and vectors are left in one segment, for fewer answer faster.

**Vectors need rows to learn from.** With too few (or only empty ones) the index covers nothing and the search is exact; that is
reported as an index that covers no fragment, and is not an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from enum import Enum
from itertools import accumulate, groupby
from typing import Final

import pyarrow as pa
from lance import LanceDataset
from lance import LanceOperation as Op
from lance.dataset import Index

from omnigraph.errors import StorageError, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.lance_errors import translated
from omnigraph.storage.lance_format.made_versions import Unfamiliar
from omnigraph.storage.rewriting.derived import outcome, own
from omnigraph.storage.tables.changes import Applied, IndexState, TableState
from omnigraph.storage.tables.table import Table, Tables
from omnigraph.storage.tables.work import PinnedTable, Run

ABSORB_ROWS: Final = 16_384
"""Segments that cover more rows than this are never built again just to have fewer of them."""

PARTITION_ROWS: Final = 4_096
"""Rows per partition of a vector index, where the spec does not say how many partitions."""

SEGMENT_ROWS: Final = 2 << 20
"""Rows per segment of a B-tree."""

SIDE_BY_SIDE_ROWS: Final = 200_000
"""From so many rows on segments are built beside each other."""

SORTING_BYTES: Final = 128
"""Memory that a row takes while a segment is built: its value, its address, and room to sort them."""

BUILDING_BYTES: Final = 1 << 30
"""Memory that all segments together may take that are built at a time."""

_UNTRAINABLE = ("cannot train", "not enough rows to train")

Option = str | int | float | bool


class IndexKind(Enum):
    """What an index is good for; the value is Lance's name."""

    BTREE = "BTREE"
    BITMAP = "BITMAP"
    NGRAM = "NGRAM"
    FULL_TEXT = "INVERTED"
    IVF_FLAT = "IVF_FLAT"
    IVF_PQ = "IVF_PQ"

    @property
    def is_vector(self) -> bool:
        """Whether it serves `nearest`."""
        return self in (IndexKind.IVF_FLAT, IndexKind.IVF_PQ)


_BUILT_IN_ONE_THREAD: Final = frozenset({IndexKind.BTREE, IndexKind.BITMAP, IndexKind.NGRAM})
"""Kinds of which Lance builds a segment in one thread."""


@frozen
class IndexSpec:
    """An index that is wanted. Other options under the same name do not change segments that exist: give it a new name."""

    name: str
    column: str
    kind: IndexKind
    options: Mapping[str, Option] = field(default_factory=dict)
    """Lance's own options. Vector kinds must state `metric`, and `IVF_PQ` must state `num_sub_vectors`."""

    def __post_init__(self) -> None:
        needed = ["metric"] if self.kind.is_vector else []
        needed += ["num_sub_vectors"] if self.kind is IndexKind.IVF_PQ else []
        for option in needed:
            if option not in self.options:
                raise UsageError(f"index {self.name} of kind {self.kind.value} must state `{option}`")


def key_indexes(schema: pa.Schema) -> tuple[IndexSpec, ...]:
    """The indexes every table has: on the id, and on both ends of an edge."""
    return tuple(IndexSpec(f"{name}_key", name, IndexKind.BTREE) for name in ("id", "src", "dst") if name in schema.names)


def scalar_indexes(table: Table) -> tuple[IndexSpec, ...]:
    """The scalar indexes a table has: their kind and column say all there is to know to extend them."""
    kinds = {kind.value: kind for kind in (IndexKind.BTREE, IndexKind.BITMAP, IndexKind.NGRAM)}
    found = [(index, kinds.get(index.kind.upper())) for index in table.indexes()]
    return tuple(IndexSpec(index.name, index.column, kind) for index, kind in found if kind is not None)


@frozen
class _Segment:
    described: Index
    fragments: frozenset[int]
    """Those that still exist."""
    rows: int


@frozen
class _Work:
    """One segment to build: for these fragments, in place of these segments."""

    spec: IndexSpec
    fragments: tuple[int, ...]
    rows: int
    replaced: tuple[Index, ...]
    needed: bool


def extend_index(tables: Tables, state: TableState, spec: IndexSpec) -> Applied:
    """Cover the fragments that an index does not cover yet. The pin stays the same when there are none."""
    return extend_indexes(tables, state, [spec])


def extend_indexes(
    tables: Tables, state: TableState, specs: Sequence[IndexSpec], *, absorb_rows: int = ABSORB_ROWS, run: Run | None = None
) -> Applied:
    """Cover what several indexes do not cover yet, in one new version."""
    before = own(tables.open(state))
    after, files, untrained = cover(before, specs, absorb_rows=absorb_rows, run=run)
    return outcome(state, before, after, files, untrained)


def cover(
    table: Table,
    specs: Sequence[IndexSpec],
    *,
    absorb_rows: int = ABSORB_ROWS,
    largest: int | None = None,
    least: int = 0,
    run: Run | None = None,
) -> tuple[Table, tuple[str, ...], tuple[IndexState, ...]]:
    """The table with its indexes completed, the files that took, and the indexes that could not be trained.

    Fragments with more than `largest` rows are left uncovered, if they are, and so is everything while it is fewer than `least`.
    Segments are built here, or by whoever `run` is.
    """
    built: list[Index] = []
    replaced: list[Index] = []
    untrained: list[IndexState] = []
    segments = _segments(table)
    live = {f: rows for f, rows in live_rows(table.dataset).items() if largest is None or rows <= largest}
    wanted = [_work(live, spec, segments.get(spec.name, []), absorb_rows, least) for spec in specs]
    wanted = [work for work in wanted if work.needed]
    for work, made in zip(wanted, _built(table, wanted, live, run), strict=True):
        built += made
        if made:
            replaced += work.replaced
        else:
            untrained.append(IndexState(work.spec.name, work.spec.column, work.spec.kind.value, 0))
    gone = {index.uuid for index in replaced}
    replaced += [s.described for name in segments for s in _dead(segments[name], name, built) if s.described.uuid not in gone]
    if not built and not replaced:
        return table, (), tuple(untrained)
    files = tuple(f"{table.location}/_indices/{index.uuid}/{file.path}" for index in built for file in index.files or ())
    return table.commit(Op.CreateIndex(built, replaced)), files, tuple(untrained)


def _segments(table: Table) -> dict[str, list[_Segment]]:
    live = live_rows(table.dataset)
    found: dict[str, list[_Segment]] = {}
    with table.reading(f"read the indexes of {table.location}"):
        for index in table.dataset.describe_indices():
            for segment in index.segments:
                present = frozenset(segment.fragment_ids) & live.keys()
                # Lance finds a segment to be removed by its uuid alone.
                described = Index(
                    segment.uuid,
                    index.name,
                    [],
                    segment.dataset_version_at_last_update,
                    segment.fragment_ids,
                    segment.index_version,
                )
                found.setdefault(index.name, []).append(_Segment(described, present, sum(live[f] for f in present)))
    return found


def live_rows(dataset: LanceDataset) -> dict[int, int]:
    """Rows of each fragment that are not deleted."""
    return {f.fragment_id: f.metadata.num_rows for f in dataset.get_fragments()}


def uncovered_rows(table: Table) -> dict[str, int]:
    """How many rows each index of a table does not cover, by its name."""
    live = live_rows(table.dataset)
    total = sum(live.values())
    return {name: total - sum(s.rows for s in segments) for name, segments in _segments(table).items()}


def uncovered_rows_at(tables: Tables, state: TableState) -> dict[str, int]:
    """The same of a table that nobody needs to open: as its version says it, unless that is for Lance to read."""
    try:
        version = tables.versions.read(state.location, state.pin)
        live = {at: entry.live for at, entry in version.entries.items()}
        total = sum(live.values())
        return {name: total - sum(live[at] for at in made_of & live.keys()) for name, made_of in version.indexed.items()}
    except Unfamiliar:
        return uncovered_rows(tables.open(state))


def _work(live: Mapping[int, int], spec: IndexSpec, segments: Sequence[_Segment], absorb_rows: int, least: int) -> _Work:
    todo = live.keys() - {f for s in segments for f in s.fragments}
    rows = sum(live[f] for f in todo)
    if rows < least:
        return _Work(spec, (), 0, (), needed=False)
    declared = spec.kind is not IndexKind.FULL_TEXT or bool(segments)
    replaced: list[Index] = []
    for segment in sorted(segments, key=lambda s: s.rows) if todo else ():
        if segment.rows <= min(rows, absorb_rows):
            todo |= segment.fragments
            rows += segment.rows
            replaced.append(segment.described)
    return _Work(spec, tuple(sorted(todo)), rows, tuple(replaced), bool(todo) or not declared)


def _dead(segments: Sequence[_Segment], name: str, built: Iterable[Index]) -> list[_Segment]:
    """Segments that cover nothing any more. One of them stays if it is all there is: it says how the column is indexed."""
    dead = [s for s in segments if not s.fragments]
    alone = len(dead) == len(segments) and all(index.name != name for index in built)
    return dead[1:] if alone else dead


@frozen
class _Task:
    """A segment for another process to build."""

    table: PinnedTable
    work: _Work


def _built(table: Table, wanted: Sequence[_Work], live: Mapping[int, int], run: Run | None) -> list[list[Index]]:
    """The segments of each work; none where there is too little to learn from."""
    parts = [(number, part) for number, work in enumerate(wanted) for part in _parts(work, live, here=run is None)]
    made: Sequence[Index | None]
    if run is None:
        made = _built_here(table, [part for _, part in parts])
    else:
        pinned = PinnedTable.of(table.place, TableState(table.table, table.location, table.pin, 0, 0))
        made = run(_build_elsewhere, [_Task(pinned, part) for _, part in parts])
    return [[m for (n, _), m in zip(parts, made, strict=True) if n == number and m is not None] for number in range(len(wanted))]


def _built_here(table: Table, parts: Sequence[_Work]) -> list[Index | None]:
    """Segments built in this process: sorted ones beside each other where there is much to do, the others one by one."""
    sorted_ = [part for part in parts if part.spec.kind in _BUILT_IN_ONE_THREAD]
    most = max((part.rows for part in sorted_), default=0) * SORTING_BYTES
    workers = min(len(sorted_), os.cpu_count() or 1, BUILDING_BYTES // max(1, most))
    if workers < 2 or sum(part.rows for part in sorted_) < SIDE_BY_SIDE_ROWS:
        return [_build(table, part) for part in parts]
    handles = [own(table) for _ in sorted_]  # Lance lets a handle do one thing at a time
    with ThreadPoolExecutor(workers, thread_name_prefix="omnigraph-index") as pool:
        begun = iter([pool.submit(_build, handle, part) for handle, part in zip(handles, sorted_, strict=True)])
        return [next(begun).result() if part.spec.kind in _BUILT_IN_ONE_THREAD else _build(table, part) for part in parts]


def _parts(work: _Work, live: Mapping[int, int], *, here: bool) -> Iterator[_Work]:
    """A work cut into segments of about `SEGMENT_ROWS` rows, where that gains something."""
    kind = work.spec.kind
    if kind.is_vector or (here and kind not in _BUILT_IN_ONE_THREAD) or not work.fragments:
        yield work
        return
    ends = accumulate(live[f] for f in work.fragments)
    for _, group in groupby(zip(work.fragments, ends, strict=True), key=lambda f: (f[1] - 1) // SEGMENT_ROWS):
        fragments = tuple(number for number, _ in group)
        yield replace(work, fragments=fragments, rows=sum(live[f] for f in fragments))


def _build_elsewhere(task: _Task) -> Index | None:
    return _build(own(task.table.open()), task.work)


def _build(table: Table, work: _Work) -> Index | None:
    """One segment; None if there is too little to learn from."""
    options = dict(work.spec.options)
    if not work.spec.kind.is_vector:
        return _written(table, work, options)
    asked = options.pop("num_partitions", max(1, work.rows // PARTITION_ROWS))
    for partitions in dict.fromkeys((asked, 1)):
        try:
            segment = _written(table, work, {**options, "num_partitions": partitions})
        except StorageError as error:  # Lance's word for too few vectors in some fragments
            if not any(words in error.message.lower() for words in _UNTRAINABLE):
                raise
        else:
            return segment if segment.fragment_ids else None  # and for too few in all of them: a segment that covers nothing
    return None


def _written(table: Table, work: _Work, options: Mapping[str, Option]) -> Index:
    dataset, spec = table.dataset, work.spec

    def write() -> Index:
        segment = dataset.create_index_uncommitted(
            spec.column,
            spec.kind.value,
            name=spec.name,
            fragment_ids=list(work.fragments),
            replace=True,  # Lance refuses a second segment without it; it replaces nothing as long as nothing is committed
            **options,  # type: ignore[arg-type]
        )
        # A full-text segment is readable only after it was "merged", even with nothing else.
        return dataset.merge_existing_index_segments([segment]) if spec.kind is IndexKind.FULL_TEXT else segment

    with translated(f"index {spec.column} of {table.location}"):
        return table.place.effects.run(Call.WRITE_INDEX, write)
