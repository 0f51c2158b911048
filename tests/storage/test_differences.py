"""What two pins have in common: deletion files, differences, and the commits that are remembered."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import StorageError
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.lance_format.deletions import from_roaring
from omnigraph.storage.tables.changes import Append, Delete, TableState, Upsert
from omnigraph.storage.tables.differences import everything, fragments_apart, graft, read_parts, rows_apart, unlike
from omnigraph.storage.tables.rows import deleted, fragments, offsets
from omnigraph.storage.tables.table import Table, Tables

COLUMNS = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int64())])


def rows(*ids: str, n: int = 0) -> pa.Table:
    return pa.table({"id": list(ids), "n": pa.array([n] * len(ids), pa.int64())}, schema=COLUMNS)


def numbered(start: int, stop: int) -> list[str]:
    return [f"r{i:06d}" for i in range(start, stop)]


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(Place.at(str(tmp_path / "g"), durability=Durability.OS))


def appended(tables: Tables, state: TableState, table: pa.Table) -> TableState:
    return tables.apply(state, Append(tables.open(state).write(table))).state


def ids(table: Table, parts: object) -> list[str]:
    return sorted(read_parts(table, parts)["id"].to_pylist())  # type: ignore[arg-type]


# ── deletion files ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("count", [0, 1, 2, 4_999, 5_001, 30_000, 99_999])
def test_deletion_files_say_what_a_scan_says(tables: Tables, count: int) -> None:
    """Few marks are an Arrow file, many a Roaring bitmap: if this fails, Lance writes them differently now."""
    state = appended(tables, tables.create("t", "nodes/1-1", COLUMNS), rows(*numbered(0, 100_000)))
    step = max(100_000 // max(count, 1), 1)
    chosen = numbered(0, 100_000)[::step][:count]
    state = tables.apply(state, Delete(tuple(chosen))).state
    table = tables.open(state)
    (fragment,) = fragments(table)
    assert (fragment.deletions is None) == (count == 0)
    scanned = table.dataset.scanner(columns=[], with_row_address=True, scan_in_order=True).to_table()["_rowaddr"].to_numpy()
    assert np.array_equal(offsets(table, fragment), scanned)
    assert sorted([*deleted(table, fragment).tolist(), *scanned.tolist()]) == list(range(100_000))


def test_a_run_of_marks_is_read_too(tables: Tables) -> None:
    state = appended(tables, tables.create("t", "nodes/1-1", COLUMNS), rows(*numbered(0, 100_000)))
    state = tables.apply(state, Delete(tuple(numbered(20_000, 90_000)))).state
    table = tables.open(state)
    assert deleted(table, fragments(table)[0]).tolist() == list(range(20_000, 90_000))


def roaring(numbers: set[int], *, runs: bool) -> bytes:
    """The portable form, written as its specification says, independently of any library."""
    keys = sorted({n >> 16 for n in numbers})
    bodies, headers, flags = [], [], []
    for key in keys:
        low = sorted(n & 0xFFFF for n in numbers if n >> 16 == key)
        headers.append(struct.pack("<HH", key, len(low) - 1))
        flags.append(runs)
        if runs:
            found: list[list[int]] = []
            for n in low:
                if found and found[-1][1] == n - 1:
                    found[-1][1] = n
                else:
                    found.append([n, n])
            bodies.append(struct.pack("<H", len(found)) + b"".join(struct.pack("<HH", a, b - a) for a, b in found))
        elif len(low) <= 4096:
            bodies.append(struct.pack(f"<{len(low)}H", *low))
        else:
            bits = bytearray(8192)
            for n in low:
                bits[n >> 3] |= 1 << (n & 7)
            bodies.append(bytes(bits))
    if runs:
        head = struct.pack("<I", 12347 | (len(keys) - 1) << 16)
        head += bytes(sum(1 << i for i in range(8) if at + i < len(keys)) for at in range(0, len(keys), 8))
        table = len(keys) >= 4
    else:
        head, table = struct.pack("<II", 12346, len(keys)), True
    head += b"".join(headers)
    if table:
        head += b"\0\0\0\0" * len(keys)
    return head + b"".join(bodies)


@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.integers(0, 400_000), min_size=1, max_size=60),
    st.integers(0, 300_000),
    st.integers(0, 9_000),
    st.booleans(),
)
def test_roaring_bitmaps_are_read(scattered: set[int], start: int, length: int, runs: bool) -> None:
    numbers = scattered | set(range(start, start + length))
    assert from_roaring(roaring(numbers, runs=runs)).tolist() == sorted(numbers)


def test_a_damaged_deletion_file_is_an_error(tables: Tables, tmp_path: Path) -> None:
    state = appended(tables, tables.create("t", "nodes/1-1", COLUMNS), rows("a", "b", "c"))
    state = tables.apply(state, Delete(("b",))).state
    table = tables.open(state)
    (fragment,) = fragments(table)
    (tmp_path / "g" / "nodes/1-1" / str(fragment.deletions)).write_bytes(b"nonsense")
    with pytest.raises(StorageError, match="cannot be read"):
        deleted(table, fragment)
    with pytest.raises(ValueError, match="Could not deserialize"):
        from_roaring(b"\x01\x02\x03\x04")
    whole = roaring({1, 5, 70_000, *range(100_000, 110_000)}, runs=False)
    for at in range(48):  # whatever the head says, it is an error or numbers in order, and never a crash
        for value in (0, 1, 0x3A, 0x80, 0xFF):
            try:
                found = from_roaring(whole[:at] + bytes([value]) + whole[at + 1 :])
            except (ValueError, IndexError):
                continue
            assert (np.diff(found) > 0).all()


# ── differences ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_what_differs_is_read(tables: Tables) -> None:
    empty = tables.create("t", "nodes/1-1", COLUMNS)
    first = appended(tables, empty, rows(*numbered(0, 1000)))
    second = tables.apply(first, Upsert(tables.open(first).write(rows("r000005", n=1)), ("r000005",))).state
    third = appended(tables, second, rows("new"))
    one, two, three = (tables.open(s) for s in (first, second, third))

    found = unlike(one, three)
    assert found.rows == 3
    assert (ids(one, found.gone), ids(three, found.came)) == (["r000005"], ["new", "r000005"])
    assert rows_apart(one, three) <= 4
    back = unlike(three, one)
    assert (ids(three, back.gone), ids(one, back.came)) == (["new", "r000005"], ["r000005"])
    assert unlike(one, one).rows == 0
    assert not unlike(one, two).is_appended
    assert unlike(two, three).is_appended
    assert ids(one, everything(one)) == numbered(0, 1000)
    assert read_parts(one, ()).num_rows == 0


def test_siblings_compare_both_ways(tables: Tables) -> None:
    """Rows deleted on one branch and not on the other come, and the other way round, although the files are the same."""
    start = appended(tables, tables.create("t", "nodes/1-1", COLUMNS), rows("a", "b", "c", "d"))
    left = tables.apply(start, Delete(("a", "b"))).state
    right = tables.apply(start, Delete(("b", "c"))).state
    one, two = tables.open(left), tables.open(right)
    found = unlike(one, two)
    assert (ids(one, found.gone), ids(two, found.came)) == (["c"], ["a"])


def test_a_graft_names_the_same_files(tables: Tables) -> None:
    start = appended(tables, tables.create("t", "nodes/1-1", COLUMNS), rows("a"))
    source = appended(tables, start, rows("b", "c"))
    target = appended(tables, start, rows("x"))
    parts = unlike(tables.open(start), tables.open(source))
    grafted = tables.apply(target, Append(graft(tables.open(source), parts.came))).state
    table = tables.open(grafted)
    assert sorted(table.read(["id"])["id"].to_pylist()) == ["a", "b", "c", "x"]
    assert {p.files for p in fragments(tables.open(source))} < {p.files for p in fragments(table)}
    assert len({p.number for p in fragments(table)}) == 3
    assert grafted.rows == 4


def test_fragments_apart_are_told_by_number(tables: Tables) -> None:
    start = appended(tables, tables.create("t", "nodes/1-1", COLUMNS), rows("a", "b"))
    later = appended(tables, tables.apply(start, Delete(("a",))).state, rows("c"))
    assert fragments_apart(tables.open(start), tables.open(later)) == ((0, 1), (0,))
