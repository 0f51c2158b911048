"""JSON lines that are rows of one type, without saying so: they load what the records load that they stand for."""

from __future__ import annotations

import bz2
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.engine.load.loading import comparable, exported, graph, refused, written

import omnigraph as og
from omnigraph.catalog.opening import offline_catalog
from omnigraph.engine.load.read.inputs.naming import Format
from omnigraph.engine.load.read.inputs.sources import Input
from omnigraph.engine.load.read.json_lines.rows import record_blocks
from omnigraph.language import Source

SCHEMA = """
node Item { sku: String @key  type: String?  price: F64?  year: I32?  sold: Bool?  tags: [String]? }
node Person { name: String @key }
edge Bought: Person -> Item @key(src, dst) { pieces: I32? }
"""
ITEMS = [{"sku": "a1", "price": 3.5, "tags": ["x"]}, {"sku": "b2", "price": None}, {"sku": "c3"}]
BOUGHT = [{"from": "Ada", "to": "a1", "pieces": 2}, {"src": "Ada", "dst": "b2"}]

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
item = st.fixed_dictionaries(
    {"sku": text.filter(bool)},
    optional={
        "price": st.floats(allow_nan=False, allow_infinity=False) | st.none(),
        "year": st.integers(-9, 9),
        "tags": st.lists(text),
    },
)
bought = st.fixed_dictionaries({"from": st.just("Ada"), "to": st.just("a1")}, optional={"pieces": st.integers(0, 9) | st.none()})


def as_records(rows: list[dict[str, Any]], type_: str) -> list[object]:
    if type_ != "Bought":
        return [{"type": type_, "data": row} for row in rows]
    return [
        {"edge": type_, "from": row["from"], "to": row["to"], "data": {k: v for k, v in row.items() if k not in ("from", "to")}}
        for row in rows
    ]


def people(folder: Path) -> og.Graph:
    made = graph(folder, SCHEMA)
    made.load([{"type": "Person", "data": {"name": "Ada"}}, {"type": "Item", "data": {"sku": "a1"}}])
    return made


@settings(
    max_examples=30,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(items=st.lists(item, min_size=1, max_size=8), edges=st.lists(bought, max_size=3), mode=st.sampled_from(["merge", "patch"]))
def test_rows_load_what_records_load(
    tmp_path_factory: pytest.TempPathFactory, items: list[dict[str, Any]], edges: list[dict[str, Any]], mode: Any
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    one, other = people(folder), people(folder)
    files = [written(folder / "Item.jsonl", items), *([written(folder / "Bought.jsonl", edges)] if edges else [])]
    records = written(folder / "records.jsonl", as_records(items, "Item") + as_records(edges, "Bought"))
    outcomes = []
    for g, source in ((one, files), (other, records)):
        try:
            outcomes.append(str((result := g.load(source, mode=mode)).nodes_loaded) + str(result.edges_loaded))
        except og.ValidationError as error:
            outcomes.append(str(sorted((v.rule, v.type, v.property) for v in error.violations)))
    assert outcomes[0] == outcomes[1]
    assert comparable(one) == comparable(other)


def test_the_type_is_that_of_the_name_or_the_one_that_is_said(tmp_path: Path) -> None:
    expected = exported_of(tmp_path, "Item.jsonl")
    for name, given_ in {
        "item.ndjson": None,
        "Item.json": None,
        "things.jsonl": {"things.jsonl": "Item"},
        "Item.jsonl.gz": None,
        "Item.jsonl.bz2": None,
        "Item.jsonl/part-00000": None,
        "Item/part-00000-c000.json": None,
        "dump/part-1.json": {"dump": "Item"},
    }.items():
        assert exported_of(tmp_path, name, types=given_) == expected, name
    g = people(tmp_path)
    g.load({"Item": written(tmp_path / "x.jsonl", ITEMS), "Bought": str(written(tmp_path / "y.jsonl", BOUGHT))})
    assert g.query(
        "query q() { match { $p: Person $p $b:bought $i } return { $i.sku as sku, $b.pieces as n } order { sku } }"
    ).rows == [
        {"sku": "a1", "n": 2},
        {"sku": "b2", "n": None},
    ]


def exported_of(folder: Path, name: str, **options: Any) -> list[dict[str, Any]]:
    g = graph(folder, SCHEMA)
    path = folder / f"in-{len(list(folder.iterdir()))}" / name
    path.parent.mkdir(parents=True)
    lines = "\ufeff" + "\r\n".join(["", *(json.dumps(row) for row in ITEMS), "", ""])
    data = lines.encode()
    path.write_bytes({".gz": gzip.compress(data), ".bz2": bz2.compress(data)}.get(path.suffix, data))
    source = path.parent if "/" in name else path
    g.load(source.parent if options["types"] and "dump" in name else source, **options) if options else g.load(source)
    return exported(g)


def test_folders_say_values(tmp_path: Path) -> None:
    for year, sold in ((2023, "true"), (2024, "false")):
        folder = tmp_path / "Item" / f"year={year}" / f"sold={sold}"
        folder.mkdir(parents=True)
        written(folder / "part-0.json", [{"sku": f"s{year}"}])
    g = graph(tmp_path, SCHEMA)
    g.load(tmp_path / "Item")
    rows = g.query("query q() { match { $i: Item } return { $i.sku as s, $i.year as y, $i.sold as b } order { s } }").rows
    assert rows == [{"s": "s2023", "y": 2023, "b": True}, {"s": "s2024", "y": 2024, "b": False}]
    wrong = tmp_path / "Item" / "year=soon"
    wrong.mkdir()
    written(wrong / "part-0.json", [{"sku": "s"}])
    (violation,) = refused(g, tmp_path / "Item")
    assert violation.property == "year"


def test_a_property_that_is_called_type_is_one_where_the_type_of_the_file_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "Item.jsonl", [{"sku": "a1", "type": "book"}])
    g = graph(tmp_path, SCHEMA)
    assert "no node type `book`" in refused(g, path)[0].message
    g.load({"Item": path})
    assert g.query("query q() { match { $i: Item } return { $i.type as t } }").rows == [{"t": "book"}]


def test_records_are_not_taken_for_rows(tmp_path: Path) -> None:
    g = people(tmp_path)
    path = written(tmp_path / "Person.jsonl", [{"type": "Person", "data": {"name": "Bo"}}])
    with pytest.raises(og.UsageError, match="names the types of its records itself"):
        g.load({"Person": path})
    g.load(path)
    assert [row["n"] for row in g.query("query q() { match { $p: Person } return { $p.name as n } order { n } }").rows] == [
        "Ada",
        "Bo",
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"from": "Ada", "to": "a1", "pieces": 1, "pieces": 2}', "pieces"),
        ('{"from": "Ada", "from": "Ada", "to": "a1"}', "from"),
        ('{"to": "a1"}', "from"),
        ('{"from": 7, "to": "a1"}', "from"),
        ('["Ada", "a1"]', "record"),
        ('{"from": "Ada", "to": "a1"} {"from": "Ada", "to": "b2"}', "JSON"),
        ('{"from": "Ada"', "JSON"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "Bought.jsonl"
    path.write_text('{"from": "Ada", "to": "a1"}\n' + line + "\n")
    found = refused(people(tmp_path), path)
    assert {(v.file, v.line) for v in found} == {(str(path), 2)}
    assert any(said in v.message for v in found), [v.message for v in found]


@pytest.mark.parametrize(
    "line",
    ['{"sku": "x"}, "data": {"sku": "y"}', '{"sku": "x"}, "x": 1', '{}} {"type": "Item", "data": {}', '{"sku": "x", "sku": "y"}'],
)
def test_a_line_cannot_say_more_than_one_row(tmp_path: Path, line: str) -> None:
    path = tmp_path / "Item.jsonl"
    path.write_text('{"sku": "a"}\n' + line + "\n")
    assert {v.line for v in refused(graph(tmp_path, SCHEMA), path)} == {2}
    path.write_text(line + '\n{"sku": "a"}\n')
    assert {v.line for v in refused(graph(tmp_path, SCHEMA), {"Item": path})} == {1}


@pytest.mark.parametrize("mode", ["merge", "patch", "append"])
def test_a_line_cannot_say_what_is_done_with_its_row(tmp_path: Path, mode: Any) -> None:
    """Put into a record as it is, it would delete."""
    g = people(tmp_path)
    before = exported(g)
    path = tmp_path / "Item.jsonl"
    for line in ('{"sku": "a1"},"op":"delete"', '{"sku": "a1"}, "op": "upsert"', '{"sku": "a1"},"type":"Person"'):
        path.write_text('{"sku": "new"}\n' + line + "\n")
        (violation,) = refused(g, path, mode=mode)
        assert (violation.line, violation.rule) == (2, "json")
        assert "column 14" in violation.message, violation.message  # of the line as it is written
    assert exported(g) == before


@settings(max_examples=300, deadline=None, phases=[Phase.generate])
@given(st.text(st.sampled_from('{}[]":,\\ op1deltaskuyNn.'), max_size=40), st.sampled_from(["Item", "Bought"]))
def test_what_is_put_into_a_record_is_one_object(text: str, type_: str) -> None:
    line = f'{{"sku": "a"}}{text}' if type_ == "Item" else f'{{"from": "a", "to": "b"}}{text}'
    catalog = offline_catalog(Source(SCHEMA, "s.pg"))
    of = catalog.nodes[type_] if type_ == "Item" else catalog.edges[type_]
    source = io.BytesIO(line.encode() + b"\n")
    (block,) = record_blocks(Input(Format.NDJSON, None, "f", of), source)
    try:
        row = json.loads(line)
    except ValueError:
        assert block.data == line.encode() + b"\n"
        return
    record = json.loads(block.data)
    assert set(record) == ({"type", "data"} if type_ == "Item" else {"edge", "from", "to", "data"})
    assert {**record["data"], **{end: record[end] for end in ("from", "to") if end in record}} == row


@pytest.mark.parametrize(
    "line",
    [
        '{"type": "Item", "op": "delete", "data": {"sku": "a1", "price": ' + "9" * 5000 + "}}",
        '{"type": "Item", "op": "delete", "data": {"sku": "a1", "price": NaN}}',
        '{"type": "Item", "op": "delete", "data": {"sku": "a1", "tags": ' + "[" * 5000 + "]" * 5000 + "}}",
        '{"from": "Ada", "to": "a1", "_op": "upsert", "_op": "delete"}',
        '{"from": "Ada", "to": "a1", "_op": "delete", "_op": null}',
    ],
)
@pytest.mark.parametrize("type_", ["Bought", "Person"])
def test_a_row_is_never_read_as_a_record_of_its_own(tmp_path: Path, line: str, type_: str) -> None:
    g = people(tmp_path)
    g.load([{"edge": "Bought", "from": "Ada", "to": "a1", "data": {}}], mode="merge")
    before = exported(g)
    path = tmp_path / "x.jsonl"
    path.write_text(('{"from": "Ada", "to": "a1"}' if type_ == "Bought" else '{"name": "Bo"}') + "\n" + line + "\n")
    assert {v.line for v in refused(g, {type_: path})} == {2}
    assert exported(g) == before


def test_a_broken_first_line_says_nothing_of_the_others(tmp_path: Path) -> None:
    g = graph(tmp_path, SCHEMA)
    (tmp_path / "Item.jsonl").write_text('{"sku": \n\n{"sku": "a"}\n{"sku": "b"}\n')
    g.load(tmp_path / "Item.jsonl", quarantine=tmp_path / "bad")
    assert [row["s"] for row in g.query("query q() { match { $i: Item } return { $i.sku as s } order { s } }").rows] == ["a", "b"]
    (file,) = (tmp_path / "bad").glob("*.jsonl")
    assert [json.loads(line)["record"] for line in file.read_text().splitlines()] == ['{"sku": ']


def test_rows_delete_as_those_of_frames_do(tmp_path: Path) -> None:
    g = people(tmp_path)
    g.load(written(tmp_path / "Item.jsonl", [{"sku": "n", "_op": None}, {"sku": "a1", "_op": "delete"}]))
    assert [row["s"] for row in g.query("query q() { match { $i: Item } return { $i.sku as s } }").rows] == ["n"]


def test_bad_rows_are_quarantined_as_records(tmp_path: Path) -> None:
    g = people(tmp_path)
    path = written(tmp_path / "Item.jsonl", [{"sku": "n"}, {"sku": "m", "price": "much"}])
    g.load(path, quarantine=tmp_path / "bad")
    (file,) = (tmp_path / "bad").glob("*.jsonl")
    (line,) = file.read_text().splitlines()
    assert json.loads(line)["record"] == {"type": "Item", "data": {"sku": "m", "price": "much"}}


def test_an_inferred_schema_loads_the_files_it_was_inferred_from(tmp_path: Path) -> None:
    files = [written(tmp_path / "Item.jsonl", ITEMS), written(tmp_path / "Bought.jsonl", BOUGHT[:1])]
    files.append(written(tmp_path / "Person.jsonl", [{"name": "Ada"}]))
    g = og.init(tmp_path / "inferred", schema=og.infer_schema(files))
    assert g.load(files).rows == 5


def test_what_folders_say_and_what_files_are_called_is_inferred_as_it_is_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for year in (2023, 2024):
        path = folder / "order-items" / f"year={year}" / "part-0.json"
        path.parent.mkdir(parents=True)
        written(path, [{"sku": f"s{year}"}])
    (folder / "my-file.csv").write_text("code,n\na,1\n")
    schema = og.infer_schema([folder])
    assert "year: I64" in schema
    g = og.init(tmp_path / "inferred", schema=schema)
    assert g.load(folder).rows == 3
    assert g.query("query q() { match { $i: OrderItems } return { $i.year as y } order { y } }").rows == [
        {"y": 2023},
        {"y": 2024},
    ]


# ── the compatible dialect ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_compatible_dialect_loads_the_same_rows(tmp_path: Path) -> None:
    files = [written(tmp_path / "Item.jsonl", ITEMS), written(tmp_path / "Bought.jsonl", BOUGHT)]
    strict, compatible = people(tmp_path), people(tmp_path)
    strict.load(files)
    compatible.load(files, dialect="compatible")
    assert comparable(compatible) == comparable(strict)
    for how in ({"Item": str(files[0])}, {"Item": ITEMS}):
        named = people(tmp_path)
        named.load(how, dialect="compatible")
        assert comparable(named) == [line for line in comparable(strict) if "edge" not in line]


def test_the_compatible_dialect_forgives_in_rows_what_it_forgives_in_records(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"sku": "a1", "price": "cheap", "color": "red"}, {"sku": "b2", "year": 1999}]
    spread = tmp_path / "Item.json"
    spread.write_text("\n".join(json.dumps(row, indent=2) for row in rows))
    as_written = written(tmp_path / "all.jsonl", as_records(rows, "Item"))
    of_records = people(tmp_path)
    of_records.load(as_written, dialect="compatible")
    for source in (spread, written(tmp_path / "Item.jsonl", rows), {"Item": rows}):
        g = people(tmp_path)
        g.load(source, dialect="compatible")
        assert comparable(g) == comparable(of_records)
    (found,) = refused(people(tmp_path), {"Item": [{"price": 3.5}]}, dialect="compatible")
    assert "`sku`" in found.message


def test_the_compatible_dialect_reads_folders_operations_and_ends(tmp_path: Path) -> None:
    part = tmp_path / "in" / "Item" / "year=2020" / "sold=true"
    part.mkdir(parents=True)
    written(part / "part-0.jsonl", [{"sku": "d4"}])
    g = people(tmp_path)
    g.load(tmp_path / "in", dialect="compatible")
    assert [g.get("Item", "d4")[name] for name in ("year", "sold")] == [2020, True]  # type: ignore[index]
    marked = written(tmp_path / "Item.jsonl", [{"sku": "d4", "_op": "delete"}, {"sku": "e5", "_op": None}])
    assert g.load(marked, dialect="compatible").deleted == {"Item": 1}


def test_records_of_the_compatible_dialect_are_not_taken_for_rows(tmp_path: Path) -> None:
    path = tmp_path / "Person.json"
    filler = " " * (1 << 17)
    path.write_text(
        '{"type": "Person",\n"data":\n{"name": "Bob"}\n}' + f'\n{{{filler}"type": "Person", "data":\n{{"name": "Cy"}}}}'
    )
    g = people(tmp_path)
    assert g.load(path, dialect="compatible").nodes_loaded == {"Person": 2}
    path.write_text(f'{{{filler}"type": "Person", "data":\n{{"name": "Cy"}}\n}}')
    assert g.load(path, dialect="compatible").nodes_loaded == {"Person": 1}
