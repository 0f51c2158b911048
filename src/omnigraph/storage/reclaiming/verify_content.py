"""Verify what files and tables hold, and not only that they are there. Reads everything once.

    checksum   files that the graph rests on are read and compared with what was written (`checksums`)
    rows       every row of every newest state and tag is read, unless it rests on a file that differs
    ids        no id stands there twice
    index      values are asked for through each index and by reading through: both must find the same rows. All of them in small
               tables, `SAMPLED` spread over the others; words and neighbours by a few rows of their own

What the rows *mean* is for others to check (`engine.verifying`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import GraphError
from omnigraph.model.phrases import counted
from omnigraph.storage.files.checksums import checksum
from omnigraph.storage.files.lance_errors import translated
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.lance_format.file_names import version_file
from omnigraph.storage.lance_format.filters import equal, is_there, one_of
from omnigraph.storage.reclaiming.verify import Inspected, Pinned, Problem, ProblemKind
from omnigraph.storage.tables.changes import IndexState, TableState
from omnigraph.storage.tables.needed_files import needs_of
from omnigraph.storage.tables.rows import found, scan_images
from omnigraph.storage.tables.search import Metric, Words, full_text, full_text_by_reading, nearest
from omnigraph.storage.tables.table import LOOKUP_BATCH, Table, Tables

SAMPLED: Final = 32 * LOOKUP_BATCH
"""Values of a column that are asked for through its index."""

_FEW: Final = 8
"""Texts and vectors that are looked for through their index."""

_THREADS: Final = 4

_FIND_BY_VALUE: Final = frozenset({"BTREE", "BITMAP"})


def check_content(store: GraphStore, inspected: Inspected, needed: Iterable[str]) -> tuple[list[Problem], frozenset[Pinned]]:
    """Everything that is wrong with what files and tables hold, and the tables whose files differ: those are not read.

    A file that does not hold what was written may make Lance do anything, and what it would answer is of no use.
    """
    problems = list(_wrong_files(store, inspected, needed))
    wrong = {problem.path for problem in problems}
    tables = Tables(store.place)  # of its own, so that nothing is taken from a cache
    unread = set[Pinned]()
    for state, name in inspected.states.items():
        if _rests_on(tables, state, wrong):
            unread.add((state.location, state.pin))
        elif state in inspected.newest:
            problems += _wrong_rows(tables, state, name)
    return problems, frozenset(unread)


def _rests_on(tables: Tables, state: TableState, wrong: Set[str]) -> bool:
    """Whether a table needs one of these files."""
    below = {path for path in wrong if path.startswith(f"{state.location}/")}
    if not below or f"{state.location}/{version_file(state.pin)}" in below:
        return bool(below)
    try:
        needs = needs_of(tables.open(state))
    except GraphError:  # told already
        return True
    return any(needs.cover(path) for path in below)


def _wrong_files(store: GraphStore, inspected: Inspected, needed: Iterable[str]) -> Iterator[Problem]:
    place, recorded = store.place, inspected.recorded
    known = sorted(p for p in needed if p in recorded and inspected.stored.get(p) == recorded[p].size and place.is_local)

    def read(path: str) -> str:
        try:
            with translated(f"read {path}"):
                return "" if checksum(place.child(path))[1] == recorded[path].digest else "its checksum differs"
        except GraphError as error:
            return error.message

    with ThreadPoolExecutor(_THREADS, thread_name_prefix="omnigraph-verify") as pool:
        for path, wrong in zip(known, pool.map(read, known), strict=True):
            if wrong:
                yield Problem(ProblemKind.WRONG_CONTENT, "", "/".join(path.split("/")[:2]), path, wrong)


def _wrong_rows(tables: Tables, state: TableState, name: str) -> Iterator[Problem]:
    def problem(kind: ProblemKind, message: str) -> Problem:
        return Problem(kind, name, state.table, state.location, message)

    try:
        table = tables.open(state)
        ids = [batch.column("id") for batch in scan_images(table)]
        together = pa.chunked_array(ids, pa.string())
        if pc.count_distinct(together).as_py() != len(together):
            counts = pc.value_counts(together)
            twice = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
            yield problem(ProblemKind.REPEATED_ID, f"{counted(len(twice), 'id')} used more than once, such as `{twice[0]}`")
    except GraphError as error:
        yield problem(ProblemKind.UNREADABLE, error.message)
        return
    for index in state.indexes:
        try:
            wrong = _disagreement(table, index)
        except GraphError as error:
            wrong = error.message
        if wrong is not None:
            yield problem(ProblemKind.INDEX_DISAGREES, f"index {index.name} on {index.column}: {wrong}")


def _disagreement(table: Table, index: IndexState) -> str | None:
    """Where an index and its column differ; None: nowhere that was looked."""
    kind = index.kind.upper()
    if not index.covered:
        return None
    if kind in _FIND_BY_VALUE:
        return _values_differ(table, index.column)
    if kind == "INVERTED":
        return _words_differ(table, index.column)
    return _neighbours_differ(table, index.column) if kind.startswith("IVF") else None


def _values_differ(table: Table, column: str) -> str | None:
    through, by_reading = (_places(found(table, [], is_there(column), use_index=use)[0]) for use in (True, False))
    if not np.array_equal(through, by_reading):
        return f"it holds {counted(len(through), 'row')}, and {len(by_reading)} have a value"
    addresses, rows = found(table, [column], is_there(column), use_index=False)
    held = rows[column].combine_chunks()
    distinct = pc.unique(held)
    step = max(1, len(distinct) // SAMPLED)
    asked = distinct.take(pa.array(np.arange(0, len(distinct), step)))
    for at in range(0, len(asked), LOOKUP_BATCH):
        some = asked.slice(at, LOOKUP_BATCH)
        there = _places(found(table, [], one_of(column, some))[0])
        wanted = _places(addresses[pc.is_in(held, value_set=some).to_numpy(zero_copy_only=False)])
        if not np.array_equal(there, wanted):
            return f"for {counted(len(some), 'value')} it finds {counted(len(there), 'row')}, a scan finds {len(wanted)}"
    return None


def _places(addresses: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.sort(addresses)


def _some(table: Table, column: str) -> pa.Table:
    """A few rows with a value, spread over the table."""
    rows = table.read(["id", column], is_there(column))
    return rows.take(pa.array(np.unique(np.linspace(0, rows.num_rows - 1, _FEW).astype(np.int64)))) if rows.num_rows else rows


def _words_differ(table: Table, column: str) -> str | None:
    for row in _some(table, column).to_pylist():
        word = max((w for w in row[column].split() if w.isalnum()), key=len, default="")
        if not word:
            continue
        query, where = Words(word), equal("id", row["id"])
        if full_text(table, column, query, None, where).num_rows != full_text_by_reading(table, column, query, where).num_rows:
            return f"it disagrees with the text of `{row['id']}` about the word `{word}`"
    return None


def _neighbours_differ(table: Table, column: str) -> str | None:
    for row in _some(table, column).to_pylist():
        exact, through = (
            nearest(table, column, row[column], 1, Metric.L2, refine=10, exact=exact, probes=1 << 16)["_distance"].to_pylist()
            for exact in (True, False)
        )
        if exact and not (through and np.isclose(through[0], exact[0], rtol=1e-3, atol=1e-5)):
            return f"it does not find the nearest neighbour of `{row['id']}`"
    return None
