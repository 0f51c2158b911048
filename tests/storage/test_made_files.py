"""Files of a few rows that are made without Lance: Lance reads from them what it reads from its own."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import lance
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lance import LanceDataset
from lance import LanceOperation as Op
from lance.file import LanceFileReader, LanceFileWriter
from lance.fragment import FragmentMetadata

from omnigraph.storage.commits.manifest_rows import rows_of
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.place import Place
from omnigraph.storage.lance_format import made_files
from omnigraph.storage.lance_format.column_descriptions import Sound
from omnigraph.storage.lance_format.made_files import Template
from omnigraph.storage.lance_format.packing import packed
from omnigraph.storage.lance_format.pages import MOST_ROWS
from omnigraph.storage.lance_format.read_files import columns_of
from omnigraph.storage.lance_format.small_files import SmallFiles

VERSION: Final = "2.2"

_TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(["", "\0", "ä", "🎈" * 3, "x" * 255, "y" * 256, "z" * 3_000]),
)
_SMALL_INTEGERS = st.one_of(st.integers(0, 3), st.integers(0, 2**31 - 1))
_SIGNED = st.one_of(st.integers(-2, 2), st.integers(-(2**31), 2**31 - 1))
_FLOATS = st.one_of(st.sampled_from([0.0, -0.0, float("inf"), float("nan")]), st.floats(width=32))
SCALARS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): _TEXTS,
    pa.large_binary(): st.one_of(st.binary(max_size=9), st.sampled_from([b"", b"\0" * 255, b"q" * 256, b"r" * 2_000])),
    pa.bool_(): st.booleans(),
    pa.int32(): _SIGNED,
    pa.int64(): st.one_of(_SIGNED, st.integers(-(2**63), 2**63 - 1)),
    pa.uint32(): _SMALL_INTEGERS,
    pa.uint64(): st.one_of(_SMALL_INTEGERS, st.integers(0, 2**64 - 1)),
    pa.float32(): _FLOATS,
    pa.float64(): st.one_of(_FLOATS, st.floats()),
    pa.date32(): st.integers(-10_000, 50_000),
    pa.timestamp("ms", tz="UTC"): st.integers(0, 2**41),
    pa.duration("ms"): st.integers(-(2**40), 2**40),
}
VECTORS = [pa.list_(pa.float32(), dimension) for dimension in (1, 3, 63, 64, 100)]
LISTS = [pa.list_(type_) for type_ in (pa.string(), pa.int64(), pa.bool_())]


@st.composite
def columns(draw: st.DrawFn, rows: int, types: Sequence[pa.DataType]) -> tuple[pa.Field, pa.Array]:
    type_ = draw(st.sampled_from(types))
    nullable = draw(st.booleans())
    if pa.types.is_fixed_size_list(type_):
        some = draw(st.lists(_FLOATS, min_size=1, max_size=5))
        items = [some[at % len(some)] for at in range(rows * type_.list_size)]
        gone = [nullable and draw(st.booleans()) for _ in range(rows)]
        made = pa.FixedSizeListArray.from_arrays(
            pa.array(items, pa.float32()), type=type_, mask=pa.array(gone) if any(gone) else None
        )
        return pa.field("x", type_, nullable=nullable), made
    values = st.lists(SCALARS[type_.value_type], max_size=3) if pa.types.is_list(type_) else SCALARS[type_]
    few = draw(st.lists(st.none() | values if nullable else values, min_size=1, max_size=6))
    return pa.field("x", type_, nullable=nullable), pa.array([few[at * at % len(few)] for at in range(rows)], type_)


@st.composite
def tables(draw: st.DrawFn, types: Sequence[pa.DataType] = (*SCALARS, *VECTORS)) -> pa.Table:
    rows = draw(st.sampled_from([1, 1, 2, 3, 8, 9, 40, 200]))
    made = [draw(columns(rows, types)) for _ in range(draw(st.integers(1, 4)))]
    fields = [field.with_name(f"column {at}") for at, (field, _) in enumerate(made)]
    number = pa.field("at", pa.int64(), nullable=False)
    table = pa.Table.from_arrays([pa.array(range(rows)), *(array for _, array in made)], schema=pa.schema([number, *fields]))
    cut = draw(st.integers(0, rows - 1))
    return draw(
        st.sampled_from([table, table.slice(cut), table.slice(0, rows - cut), pa.concat_tables([table[:cut], table[cut:]])])
    )


def by_lance(file: Path, rows: pa.Table) -> bytes:
    with LanceFileWriter(str(file), rows.schema, version=VERSION) as writer:
        writer.write_batch(rows)
    return file.read_bytes()


def read(file: Path) -> pa.Table:
    found = LanceFileReader(str(file)).read_all().to_table()
    found.validate(full=True)
    return found


def same(one: pa.Table, other: pa.Table) -> bool:
    """NaN is itself here, and zero is not minus zero."""
    return one.schema.equals(other.schema) and repr(one.to_pylist()) == repr(other.to_pylist())


@settings(max_examples=150, deadline=None)
@given(rows=tables())
def test_lance_reads_from_our_file_what_it_reads_from_its_own(tmp_path_factory: pytest.TempPathFactory, rows: pa.Table) -> None:
    folder = tmp_path_factory.mktemp("files")
    template = Template.of(by_lance(folder / "its.lance", rows), rows.schema)
    assert template is not None
    ours = template.file_of(rows)
    if ours is None:
        assert rows.nbytes > 32_000
        return
    (folder / "ours.lance").write_bytes(ours)
    assert same(read(folder / "ours.lance"), read(folder / "its.lance"))
    assert repr(read(folder / "ours.lance").to_pylist()) == repr(rows.to_pylist())
    Sound(Place.at(str(folder))).require(["ours.lance"], values=True)


@settings(max_examples=40, deadline=None)
@given(rows=tables((*SCALARS, *VECTORS, *LISTS)), data=st.data())
def test_a_dataset_of_our_files_is_read_as_one_of_lances(
    tmp_path_factory: pytest.TempPathFactory, rows: pa.Table, data: st.DataObject
) -> None:
    """Two fragments, one of them with some rows deleted: scanned, taken from, filtered, and compacted."""
    folder = tmp_path_factory.mktemp("datasets")
    place = Place.at(str(folder))
    plain = lance.write_dataset(rows, str(folder / "its"), data_storage_version=VERSION)
    made = lance.write_dataset(rows[:0], str(folder / "ours"), data_storage_version=VERSION)
    columns_ = tuple((field.name(), field.id()) for field in made.lance_schema.fields())
    writer = SmallFiles()
    fragments: list[FragmentMetadata] = []
    for _ in range(3):
        fragments.append(writer.written(made, columns_, place, "ours", rows, Call.WRITE_ROWS).fragment)
    plain = lance.write_dataset(rows, str(folder / "its"), mode="append", data_storage_version=VERSION)
    ours = LanceDataset.commit(made, Op.Append(fragments[1:]), read_version=made.version)
    limit = data.draw(st.integers(0, rows.num_rows))
    for dataset in (plain, ours):
        dataset.delete(f"at >= {limit} AND at % 2 = 0")
    wanted = data.draw(st.lists(st.integers(0, max(plain.count_rows() - 1, 0)), max_size=5)) if plain.count_rows() else []

    def answers(dataset: LanceDataset) -> list[pa.Table]:
        whole = dataset.to_table()
        filtered = dataset.to_table(filter="at % 3 = 1")
        nulls = dataset.to_table(filter="`column 0` IS NULL", with_row_address=True)
        return [whole, filtered, nulls, dataset.take(wanted)]

    before = list(zip(answers(ours), answers(plain), strict=True))
    assert all(same(one, other) for one, other in before)
    for dataset in (plain, ours):
        dataset.optimize.compact_files()
    assert all(same(one, other) for one, other in zip(answers(ours), answers(plain), strict=True))


@pytest.mark.parametrize("type_", [*SCALARS, *VECTORS], ids=str)
@pytest.mark.parametrize("rows", [1, 2])
def test_files_of_one_and_two_rows_are_lances_own(tmp_path: Path, type_: pa.DataType, rows: int) -> None:
    """A guard: of so few rows Lance compresses nothing."""
    values: list[Any] = [1, 7]
    if pa.types.is_fixed_size_list(type_):
        values = [[0.5] * type_.list_size, [1.5] * type_.list_size]
    elif type_ in (pa.string(), pa.large_binary()):
        values = ["one", "another"] if type_ == pa.string() else [b"one", b"another" * 50]
    elif type_ == pa.bool_():
        values = [True, False]
    for chosen in (values[:rows], [None, *values][:rows], [None] * rows):
        array = pa.array(chosen, type_)
        if pa.types.is_fixed_size_list(type_) and None in chosen:
            items = [0.5] * (rows * type_.list_size)
            array = pa.FixedSizeListArray.from_arrays(
                pa.array(items, pa.float32()), type=type_, mask=pa.array([v is None for v in chosen])
            )
        table = pa.table({"x": array})
        content = by_lance(tmp_path / "its.lance", table)
        template = Template.of(content, table.schema)
        assert template is not None
        assert template.file_of(table) == content


def test_rows_of_a_manifest(tmp_path: Path) -> None:
    rows = rows_of(
        [("head", "head", 7, b"{}"), *(("commit", f"01J{at}", at, b'{"operation":"load"}' * at) for at in range(1, 60))]
    )
    content = by_lance(tmp_path / "its.lance", rows.table())
    template = Template.of(content, rows.schema)
    assert template is not None
    assert template.file_of(rows) == template.file_of(rows.table())
    (tmp_path / "ours.lance").write_bytes(template.file_of(rows) or b"")
    assert same(read(tmp_path / "ours.lance"), rows.table())
    Sound(Place.at(str(tmp_path))).require(["ours.lance"], values=True)


def test_what_is_too_large_for_one_chunk_is_left_to_lance(tmp_path: Path) -> None:
    def made(rows: pa.Table) -> bytes | None:
        template = Template.of(by_lance(tmp_path / "its.lance", rows), rows.schema)
        assert template is not None
        return template.file_of(rows)

    assert made(pa.table({"x": pa.array(range(MOST_ROWS))})) is not None
    assert made(pa.table({"x": pa.array(range(MOST_ROWS + 1))})) is None
    assert made(pa.table({"x": [f"{at:0100}" for at in range(300)]})) is not None
    assert made(pa.table({"x": [f"{at:0200}" for at in range(300)]})) is None


@pytest.mark.parametrize("type_", [*LISTS, pa.struct([("a", pa.int64())]), pa.int8(), pa.list_(pa.float64(), 2)], ids=str)
def test_other_types_are_left_to_lance(tmp_path: Path, type_: pa.DataType) -> None:
    rows = pa.table({"x": pa.array([None], type_)})
    assert Template.of(by_lance(tmp_path / "its.lance", rows), rows.schema) is None


def test_files_of_another_kind_are_left_to_lance(tmp_path: Path) -> None:
    rows = pa.table({"id": ["a"], "n": [1]})
    content = by_lance(tmp_path / "its.lance", rows)
    assert Template.of(content, rows.schema) is not None
    with LanceFileWriter(str(tmp_path / "older.lance"), rows.schema, version="2.1") as writer:
        writer.write_batch(rows)
    assert Template.of((tmp_path / "older.lance").read_bytes(), rows.schema) is None
    assert Template.of(content, pa.schema([("id", pa.string())])) is None
    assert Template.of(content, pa.schema([("n", pa.string()), ("id", pa.int64())])) is None
    assert Template.of(content.replace(b"ColumnEncoding", b"KolumnEncoding"), rows.schema) is None
    assert Template.of(content[:20], rows.schema) is None
    begin, places, *rest = struct.unpack("<QQQIIHH4s", content[-40:])
    assert Template.of(content[:-40] + struct.pack("<QQQIIHH4s", begin, places + 3, *rest), rows.schema) is None


def test_ids_and_ends_need_not_be_compressed(tmp_path: Path) -> None:
    """How a column is to be packed is a wish: Lance reads what the page says."""
    rows = pa.table({"id": [f"node {at}" for at in range(90)], "src": ["a"] * 90})
    rows = rows.cast(packed(rows.schema))
    template = Template.of(by_lance(tmp_path / "its.lance", rows), rows.schema)
    assert template is not None
    (tmp_path / "ours.lance").write_bytes(template.file_of(rows) or b"")
    assert same(read(tmp_path / "ours.lance"), read(tmp_path / "its.lance"))


def test_a_vector_with_a_number_that_is_null_is_left_to_lance(tmp_path: Path) -> None:
    rows = pa.table({"x": pa.array([[1.0, None]], pa.list_(pa.float32(), 2))})
    template = Template.of(by_lance(tmp_path / "its.lance", rows), rows.schema)
    assert template is not None
    assert template.file_of(rows) is None


def test_known_types_are_those_of_properties() -> None:
    assert {*SCALARS} - {pa.string(), pa.large_binary()} == {*made_files._NUMBERS}


# ── read again ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

_READ: Final = (pa.string(), pa.large_binary(), pa.int64(), pa.int32(), pa.float64(), pa.timestamp("ms", tz="UTC"))


def cells(rows: pa.Table) -> list[list[bytes]]:
    """The bytes of each value, by column."""
    found = []
    for column in rows.combine_chunks().columns:
        kind, array = made_files._kind(column.type), column.combine_chunks()
        values, _ = made_files._column(kind, pa.chunked_array([array]))
        found.append(
            [values[at : at + kind.bytes] for at in range(0, len(values), kind.bytes)]
            if isinstance(values, bytes)
            else list(values)
        )
    return found


def read_here(content: bytes, rows: pa.Table) -> list[list[bytes]] | None:
    kinds = [made_files._kind(field.type) for field in rows.schema]
    found = columns_of(content, rows.schema.names, kinds, rows.num_rows)
    if found is None:
        return None
    return [
        [values[at : at + kind.bytes] for at in range(0, len(values), kind.bytes)] if isinstance(values, bytes) else list(values)
        for kind, values in zip(kinds, found, strict=True)
    ]


@settings(max_examples=200, deadline=None)
@given(rows=tables(_READ), at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_files_are_read_without_lance_as_it_reads_them(
    tmp_path_factory: pytest.TempPathFactory, rows: pa.Table, at: float, bit: int
) -> None:
    """Ours always, where nothing is null; Lance's own perhaps; and cut or damaged ones without an error of Python."""
    folder = tmp_path_factory.mktemp("files")
    its = by_lance(folder / "its.lance", rows)
    template = Template.of(its, rows.schema)
    assert template is not None
    ours = template.file_of(rows)
    for content in (its, ours):
        found = None if content is None else read_here(content, rows)
        assert found in (None, cells(rows))
    if ours is not None and not any(column.null_count for column in rows.columns):
        assert read_here(ours, rows) == cells(rows)
        damaged = bytearray(ours)
        damaged[int(at * len(damaged))] ^= 1 << bit
        read_here(bytes(damaged), rows)
        assert read_here(ours[: int(at * len(ours))], rows) in (None, cells(rows))
    assert read_here(its, rows.rename_columns([f"other {n}" for n in rows.schema.names])) is None


def test_whatever_bit_is_turned_over_is_no_error_of_python(tmp_path: Path) -> None:
    rows = pa.table({"at": pa.array([3, 1, 2], pa.int64()), "text": ["a", "bb", "c" * 300], "same": ["x"] * 3})
    template = Template.of(by_lance(tmp_path / "its.lance", rows), rows.schema)
    assert template is not None
    ours = template.file_of(rows)
    assert ours is not None
    found = 0
    for bit in range(8 * len(ours)):
        damaged = bytearray(ours)
        damaged[bit // 8] ^= 1 << bit % 8
        found += read_here(bytes(damaged), rows) is not None
    assert 0 < found < 8 * len(ours)
