"""Conditions: every property type × every comparison × values at the edges × with and without an index."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import lance
import pyarrow as pa
import pytest
from tests.engine.every_type import BLOBS, SCALARS, TYPES

from omnigraph.errors import UsageError
from omnigraph.model.arrow import arrow_field, arrow_type
from omnigraph.model.types import PropertyType, Scalar
from omnigraph.storage.lance_format.filters import Comparison, Filter, compare, equal, every, is_null, is_there, one_of

MEANINGS: dict[Comparison, Callable[[Any, Any], bool]] = {
    Comparison.EQUAL: operator.eq,
    Comparison.UNEQUAL: operator.ne,
    Comparison.LESS: operator.lt,
    Comparison.AT_MOST: operator.le,
    Comparison.GREATER: operator.gt,
    Comparison.AT_LEAST: operator.ge,
}

NUMBERS: dict[str, list[int]] = {
    "Date": [0, -1, 1, 20_000, -719_162, 2_932_896, 2**31 - 1, -(2**31)],
    "DateTime": [0, -1, 1, 1_772_283_907_123, -62_135_596_800_000, 253_402_300_799_999, 10**16, -(10**16)],
}
"""Days and moments as they are stored, also those that Python's dates cannot say."""

EXTRA: dict[str, list[Any]] = {
    "String": ["'", "''", "a' OR 'b' = 'b", "\\'", '"', "%", "a\x00b", "\n\r\t", "--", "/* */", ";", "\ufeff", "\U0010ffff"],
    "F64": [float("inf"), float("-inf"), 2.0**53, 1e-320],
    "F32": [float("inf"), float("-inf"), float(2**24)],
    "I64": [2**53 + 1, -(2**53) - 1, -(2**63) + 1],
    "U64": [2**53 + 1, 2**63 - 1, 2**63 + 1, 2**64 - 2],
}


def type_of(name: str) -> PropertyType:
    if name.startswith("enum"):
        return PropertyType(Scalar.STRING, nullable=True, enum_values=("a", "b", "zz"))
    if name.startswith("Vector"):
        return PropertyType(Scalar.VECTOR, nullable=True, dimension=3)
    return PropertyType(Scalar(name.strip("[]")), nullable=True, is_list=name.startswith("["))


def stored(name: str, values: list[Any]) -> pa.Array:
    """Values as a column holds them: days and moments as numbers, too."""
    type_ = arrow_type(type_of(name))
    if name in NUMBERS:
        physical = pa.int32() if pa.types.is_date32(type_) else pa.int64()
        return pa.array(values, physical).cast(type_)
    return pa.array(values, type_)


def plain(array: pa.Array) -> list[Any]:
    """What is compared: numbers for days and moments."""
    if pa.types.is_date32(array.type):
        return array.cast(pa.int32()).to_pylist()  # type: ignore[no-any-return]
    return (array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array).to_pylist()  # type: ignore[no-any-return]


def found(dataset: lance.LanceDataset, where: Filter) -> list[int]:
    return sorted(dataset.scanner(columns=["n"], filter=where.sql, prefilter=True).to_table()["n"].to_pylist())


@pytest.mark.parametrize("index", [None, "BTREE", "BITMAP"])
@pytest.mark.parametrize("name", SCALARS)
def test_every_comparison_finds_what_it_means(tmp_path: Path, name: str, index: Literal["BTREE", "BITMAP"] | None) -> None:
    values = NUMBERS.get(name) or [*SCALARS[name], *EXTRA.get(name, [])]
    column = stored(name, [*values, None, *values[:2]])
    neighbours = pa.array([[1], None] * len(column), pa.list_(pa.uint64())).slice(0, len(column))
    rows = pa.table({"n": pa.array(range(len(column))), "camelCase": column, "other": neighbours})
    dataset = lance.write_dataset(rows, str(tmp_path / "d"), data_storage_version="2.2")
    if index is not None:
        dataset.create_scalar_index("camelCase", index)
    held = plain(column)
    for scalar, value in zip(column, held, strict=True):
        for comparison, means in MEANINGS.items():
            where = compare("camelCase", comparison, scalar)
            wanted = [n for n, there in enumerate(held) if there is not None and value is not None and means(there, value)]
            assert found(dataset, where) == wanted, where.sql
            opposite = [n for n, there in enumerate(held) if there is not None and value is not None and n not in wanted]
            assert found(dataset, ~where) == opposite, (~where).sql
        between = compare("camelCase", Comparison.AT_LEAST, scalar) & compare("camelCase", Comparison.AT_MOST, scalar)
        assert found(dataset, between) == [n for n, there in enumerate(held) if there is not None and there == value]
    for some in (column, column.slice(0, 1), column.slice(2, 2), column.slice(0, 0), column.filter(column.is_null())):
        among = [v for v in plain(some) if v is not None]
        assert found(dataset, one_of("camelCase", some)) == [n for n, there in enumerate(held) if there in among]
    if index is not None:
        plan = dataset.scanner(columns=["n"], filter=equal("camelCase", column[0]).sql).explain_plan()
        assert "ScalarIndexQuery" in plan


@pytest.mark.parametrize("name", [*TYPES, "Blob"])
def test_every_type_can_be_asked_for_what_is_missing(tmp_path: Path, name: str) -> None:
    """And a column of any type beside it does not keep another from being asked."""
    values = BLOBS if name == "Blob" else TYPES[name]
    field = arrow_field("p", type_of(name))
    column = pa.array([*values, None], field.type)
    schema = pa.schema([pa.field("n", pa.int64()), field, pa.field("id", pa.string(), nullable=False)])
    rows = pa.table([pa.array(range(len(column))), column, pa.array([str(n) for n in range(len(column))])], schema=schema)
    dataset = lance.write_dataset(rows, str(tmp_path / "d"), data_storage_version="2.2")
    assert found(dataset, is_null("p")) == [len(values)]
    assert found(dataset, is_there("p")) == list(range(len(values)))
    assert found(dataset, one_of("id", ["0", str(len(values))])) == [0, len(values)]
    assert found(dataset, is_null("p") & equal("id", str(len(values)))) == [len(values)]


def test_conditions_are_made_of_values_only() -> None:
    assert every([]) is None
    assert every([equal("a", 1), is_null("b")]) == Filter("(`a` = 1) AND (`b` IS NULL)")
    assert equal("a", "x' OR 'x' = 'x").sql == "(`a` = 'x'' OR ''x'' = ''x')"
    with pytest.raises(UsageError):
        equal("a` = 1 OR `a", 1)
    with pytest.raises(UsageError):
        equal("a", [1])


def test_lance_is_asked_through_conditions_only() -> None:
    """No other module writes a condition: what works for one type would fail for the next. `tarfile` has a filter as well."""
    folder = Path(__file__).parents[2] / "src" / "omnigraph"
    written = re.compile(r"pc\.field\(|pc\.Expression|\bds\.field\(|filter=f?\"(?!data\")|filter=f?'|\.delete\(f?[\"']")
    found = [str(p.relative_to(folder)) for p in folder.rglob("*.py") if p.name != "filters.py" and written.search(p.read_text())]
    assert found == []
