"""Every property type × every door × every value at the edges: one table, one expectation (`conversion_cases`)."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engine.load.conversion_cases import CASES, CELLS, PARAMETER_TEXTS, REFUSED, SCHEMA, TYPES, Case, same, wanted

import omnigraph as og
from omnigraph.engine.arrays.plain_values import spelt, spelt_column
from omnigraph.engine.load.read.columnar.frames import typed_rows
from omnigraph.engine.load.read.delimited.reader import csv_batches
from omnigraph.engine.load.read.inputs.naming import Format
from omnigraph.engine.load.read.inputs.sources import Input, arrow_batches, inputs_of
from omnigraph.engine.load.read.json_lines.lines import LineBlock, line_blocks
from omnigraph.engine.load.read.json_lines.parse import parse_block
from omnigraph.engine.load.read.parallel.tasks import read_records
from omnigraph.engine.load.read.rows.types import Parsed, Types
from omnigraph.engine.planning.parameters import convert as parameter
from omnigraph.engine.write.convert import stored
from omnigraph.errors import ParameterError
from omnigraph.model.blobs import uri_of
from omnigraph.model.conversions import TABLE, Door, takes
from omnigraph.model.given import Kind, kind_of, plain


@pytest.fixture(scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> Types:
    g = og.init(tmp_path_factory.mktemp("matrix") / "g", schema=SCHEMA, durability="os")
    return Types(g._view().catalog)


def lossy(types: Types) -> Types:
    return Types(types.catalog, types.external, True)


def outcome(parsed: Parsed) -> list[Any]:
    """What became of each row, in their order: a value, or that it was refused, with a reason and its row."""
    found: dict[int, Any] = {}
    for rows in parsed.rows:
        for line, value in zip(rows.lines.tolist(), spelt_column(pa.chunked_array([rows.batch.column("v")])), strict=True):
            found[line] = value
    for violation in parsed.violations:
        assert violation.property == "v", violation
        assert violation.line is not None, violation
        assert "property `v`" in violation.message, violation
        found[violation.line] = REFUSED
    return [found[line] for line in sorted(found)]


def check(found: list[Any], expected: list[Any], names: list[str]) -> None:
    wrong = [(n, f, e) for n, f, e in zip(names, found, expected, strict=True) if not same(f, e)]
    assert not wrong


# ── doors ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


@pytest.mark.parametrize("rounds", [False, True], ids=["exact", "round"])
@pytest.mark.parametrize("type_", TYPES)
def test_json_lines(types: Types, type_: str, rounds: bool) -> None:
    cases = [c for c in CASES if is_json(c.value)]
    lines = "".join(json.dumps({"type": type_, "data": {"k": str(n), "v": c.value}}) + "\n" for n, c in enumerate(cases))
    chosen = lossy(types) if rounds else types
    (block,) = line_blocks(io.BytesIO(lines.encode()), None)
    expected = [wanted(c, type_, rounds=rounds) for c in cases]
    check(outcome(parse_block(block, chosen)), expected, [c.name for c in cases])
    for number, case in enumerate(cases):  # alone: the way that is taken for whole columns
        line = lines.splitlines(keepends=True)[number].encode()
        alone = parse_block(_only(line), chosen)
        check(outcome(alone), [expected[number]], [case.name])


def _only(line: bytes) -> LineBlock:
    (block,) = line_blocks(io.BytesIO(line), None)
    return block


@pytest.mark.parametrize("rounds", [False, True], ids=["exact", "round"])
@pytest.mark.parametrize("type_", TYPES)
def test_records(types: Types, type_: str, rounds: bool) -> None:
    records: list[tuple[int, object]] = [
        (n, {"type": type_, "data": {"k": str(n), "v": c.value}}) for n, c in enumerate(CASES, 1)
    ]
    found = outcome(read_records(records, lossy(types) if rounds else types, None, False))
    check(found, [wanted(c, type_, rounds=rounds) for c in CASES], [c.name for c in CASES])


@pytest.mark.parametrize("type_", TYPES)
def test_parameters_and_mutations(types: Types, type_: str) -> None:
    property_ = types.catalog.nodes[type_].properties["v"].type
    found = []
    for case in CASES:
        try:
            value = parameter("v", property_, case.value)
            cell = stored("v", property_, value)
            is_uri = isinstance(cell, bytes) and uri_of(cell) is not None  # which a policy has to allow
            found.append(REFUSED if is_uri else spelt(property_, cell))
        except ParameterError:
            found.append(REFUSED)
    expected = [PARAMETER_TEXTS.get(c.name, {}).get(type_, wanted(c, type_)) for c in CASES]
    if type_ == "Enum":  # whether an enum has a value is a rule about rows
        expected = [wanted(c, "String") for c in CASES]
    check(found, expected, [c.name for c in CASES])


def batches_of(frame: Any, types: Types) -> Iterator[pa.RecordBatch]:
    (input_,) = inputs_of({"String": frame}, types.catalog).inputs
    return arrow_batches(input_.content)


def frames(case: Case) -> Iterator[tuple[str, Any]]:
    """The value in a column of every kind of frame."""
    table = pa.table({"k": ["x"], "v": pa.array([case.value], case.arrow)})
    yield "arrow", table
    file = io.BytesIO()
    pq.write_table(table, file)
    yield "parquet", pq.read_table(io.BytesIO(file.getvalue()))
    yield "polars", polars.from_arrow(table)
    if case.name not in ("NaN", "no items", "NaN in a list"):
        yield "pandas", table.to_pandas(types_mapper=pandas.ArrowDtype)


@pytest.mark.parametrize("rounds", [False, True], ids=["exact", "round"])
@pytest.mark.parametrize("case", [c for c in CASES if c.arrow is not None], ids=lambda c: c.name)
def test_frames(types: Types, case: Case, rounds: bool) -> None:
    chosen = lossy(types) if rounds else types
    for form, frame in frames(case):
        for type_ in TYPES:
            (batch,) = batches_of(frame, types)
            found = outcome(typed_rows(chosen.catalog.nodes[type_], batch, chosen, None, 1))
            expected = wanted(case, type_, column=True, rounds=rounds)
            if rounds and expected == REFUSED and type_ in case.takes:
                continue  # rounded into F32: what to is said by the JSON form
            assert same(found[0], expected), (form, type_, found, expected)


@pytest.mark.parametrize("type_", TYPES)
def test_csv(types: Types, type_: str, tmp_path: Path) -> None:
    quoted = ['"' + text.replace('"', '""') + '"' for text, _ in CELLS]
    (tmp_path / "a.csv").write_text("k,v\n" + "".join(f"{n},{cell}\n" for n, cell in enumerate(quoted)))
    input_ = Input(Format.CSV, str(tmp_path / "a.csv"), None, types.catalog.nodes[type_])
    (batch,) = csv_batches(input_, lambda row: None)
    found = outcome(typed_rows(types.catalog.nodes[type_], batch, types, None, 1, text=True))
    check(found, [takes_.get(type_, REFUSED) for _, takes_ in CELLS], [text for text, _ in CELLS])
    for text, takes_ in CELLS:
        one = batch.filter(pa.compute.equal(batch.column("v"), text))
        alone = outcome(typed_rows(types.catalog.nodes[type_], one, types, None, 1, text=True))
        check(alone, [takes_.get(type_, REFUSED)], [text])


# ── missing values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("missing", [None, pandas.NaT, pandas.NA], ids=["None", "NaT", "NA"])
@pytest.mark.parametrize("type_", TYPES)
def test_what_means_no_value(types: Types, type_: str, missing: object) -> None:
    assert outcome(read_records([(1, {"type": type_, "data": {"k": "a", "v": missing}})], types, None, False)) == [None]
    assert parameter("v", types.catalog.nodes[type_].properties["v"].type, missing) is None


def test_nan_is_missing_for_pandas_alone(types: Types) -> None:
    frame = pandas.DataFrame({"k": ["a", "b"], "v": [1.0, float("nan")]})
    for type_, value in (("I32", 1), ("F64", 1.0)):
        (batch,) = batches_of(frame, types)
        assert outcome(typed_rows(types.catalog.nodes[type_], batch, types, None, 1)) == [value, None]
        (batch,) = batches_of(pa.table({"k": ["a", "b"], "v": pa.array([1.0, float("nan")])}), types)
        assert outcome(typed_rows(types.catalog.nodes[type_], batch, types, None, 1)) == [value, REFUSED]


# ── the table itself ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_table_says_what_the_cases_show(types: Types) -> None:
    """A kind of value that the table gives a type is taken in some case, one that it does not give is refused in all."""
    for type_ in (t for t in TYPES if not TYPES[t].startswith(("[", "enum"))):
        scalar = types.catalog.nodes[type_].properties["v"].type.scalar
        for door, seen in ((Door.RECORDS, [(c.value, type_ in c.takes) for c in CASES]),
                           (Door.COLUMNS, [(c.value, type_ in c.column_takes()) for c in CASES if c.arrow is not None]),
                           (Door.CELLS, [(text, type_ in takes_) for text, takes_ in CELLS])):  # fmt: skip
            for kind in Kind:
                taken = [ok for value, ok in seen if kind_of(plain(value)) is kind]
                if not taken or (door is Door.CELLS and type_ == "Vector"):
                    continue
                assert any(taken) == takes(scalar, kind, door), (type_, door, kind)
    assert set(TABLE) == {types.catalog.nodes[t].properties["v"].type.scalar for t in TYPES}
