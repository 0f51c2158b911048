"""Ends of edges that are given as keys of nodes: the same edges as by ids, in every form and mode, and nothing that is no key."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engine.load.loading import exported, graph, refused, written

import omnigraph as og

SCHEMA = """
node Person { id_no: I64 @key }
node Huge { number: U64 @key }
node Name { name: String @key }
node Day { day: Date @key }
node Moment { at: DateTime @key }
node Answer { yes: Bool @key }
node Pair { number: I32  tenant: String  @key(number, tenant) }
node Loose { note: String? }
edge Knows: Person -> Person @key(src, dst) { weight: F64? }
edge Likes: Person -> Huge
edge Called: Person -> Name
edge Came: Person -> Day @key(src, dst)
edge At: Person -> Moment @key(src, dst)
edge Seen: Person -> Day
edge Said: Person -> Answer @key(src, dst)
edge Owns: Person -> Pair
edge Has: Person -> Loose
"""
NODES = [
    *({"type": "Person", "data": {"id_no": number}} for number in (-3, *range(60))),
    {"type": "Huge", "data": {"number": 2**64 - 1}},
    {"type": "Name", "data": {"name": "1"}},
    {"type": "Day", "data": {"day": "2024-01-01"}},
    {"type": "Moment", "data": {"at": "2024-01-01T10:00:00Z"}},
    {"type": "Answer", "data": {"yes": True}},
]
EDGES: list[dict[str, Any]] = [{"from": n, "to": n + 1, "weight": n / 2} for n in range(40)] + [
    {"from": -3, "to": 0, "weight": None}
]
COLUMNS: dict[str, list[Any]] = {name: [row[name] for row in EDGES] for name in ("from", "to", "weight")}


def people(folder: Path) -> og.Graph:
    g = graph(folder, SCHEMA)
    g.load(NODES)
    return g


def table(**types: pa.DataType) -> pa.Table:
    return pa.table({name: pa.array(values, types.get(name)) for name, values in COLUMNS.items()})


def renamed() -> pa.Table:
    return table().rename_columns(["src", "dst", "weight"])


def parquet(folder: Path) -> Path:
    pq.write_table(table(), folder / "Knows.parquet")
    return folder / "Knows.parquet"


def records() -> list[dict[str, Any]]:
    return [{"edge": "Knows", "from": r["from"], "to": r["to"], "data": {"weight": r["weight"]}} for r in EDGES]


def cells(folder: Path, spelt: Callable[[int], str]) -> Path:
    lines = (f"{spelt(r['from'])},{spelt(r['to'])},{'' if r['weight'] is None else r['weight']}\n" for r in EDGES)
    (folder / "Knows.csv").write_text("from,to,weight\n" + "".join(lines))
    return folder / "Knows.csv"


FORMS: dict[str, Callable[[Path], Any]] = {
    "lines": lambda folder: written(folder / "all.jsonl", records()),
    "rows": lambda folder: written(folder / "Knows.jsonl", EDGES),
    "one line is text": lambda folder: written(folder / "Knows.jsonl", [*EDGES[:-1], {**EDGES[-1], "from": "-3"}]),
    "records": lambda folder: records(),
    "mappings": lambda folder: {"Knows": EDGES},
    "numpy": lambda folder: {"Knows": [{**row, "from": np.int32(row["from"])} for row in EDGES]},
    "arrow": lambda folder: {"Knows": table()},
    "narrow": lambda folder: {"Knows": table(**{"from": pa.int8(), "to": pa.uint16()})},
    "decimals": lambda folder: {"Knows": pa.table({**COLUMNS, "to": [Decimal(n) for n in COLUMNS["to"]]})},
    "dictionary": lambda folder: {"Knows": table().set_column(0, "from", table()["from"].dictionary_encode())},
    "src and dst": lambda folder: {"Knows": renamed()},
    "pandas": lambda folder: {"Knows": pd.DataFrame(COLUMNS)},
    "polars": lambda folder: {"Knows": pl.DataFrame(COLUMNS)},
    "parquet": parquet,
    "floats": lambda folder: {"Knows": pd.DataFrame({**COLUMNS, "from": [float(n) for n in COLUMNS["from"]]})},
    "cells": lambda folder: cells(folder, lambda n: str(n)),
    "padded cells": lambda folder: cells(folder, lambda n: f"{n:04d}"),
}


@pytest.mark.parametrize("mode", ["merge", "append", "overwrite", "patch"])
@pytest.mark.parametrize("form", FORMS)
def test_an_end_may_be_the_key_of_its_node(tmp_path: Path, form: str, mode: Any) -> None:
    g = people(tmp_path)
    assert g.load(FORMS[form](tmp_path), mode=mode).edges_loaded == {"Knows": len(EDGES)}
    found = {r["data"]["id"]: (r["from"], r["to"], r["data"]["weight"]) for r in exported(g) if "edge" in r}
    ends = [(str(row["from"]), str(row["to"]), row["weight"]) for row in EDGES]
    assert found == {json.dumps([source, target], separators=(",", ":")): (source, target, w) for source, target, w in ends}
    assert g.verify(content=True).ok


@pytest.mark.parametrize("form", FORMS)
def test_an_update_finds_edges_by_keys_of_their_ends(tmp_path: Path, form: str) -> None:
    g = people(tmp_path)
    g.load([{"edge": "Knows", "from": str(row["from"]), "to": str(row["to"]), "data": {"weight": 99}} for row in EDGES])
    assert g.load(FORMS[form](tmp_path), mode="update").edges_loaded == {"Knows": len(EDGES)}
    assert sorted(w for r in exported(g) if "edge" in r and (w := r["data"]["weight"]) is not None) == [n / 2 for n in range(40)]


def deletions(folder: Path) -> dict[str, Callable[[og.Graph], og.LoadResult]]:
    (folder / "Knows.csv").write_text("_op,from,to\ndelete,1,2\ndelete,2,3\n")
    rows = [{"from": n, "to": n + 1} for n in (1, 2)]
    marked = [{**row, "_op": "delete"} for row in rows]
    return {
        "records": lambda g: g.load([{"op": "delete", "edge": "Knows", **row} for row in rows]),
        "rows of lines": lambda g: g.load(written(folder / "Knows.jsonl", marked)),
        "mappings": lambda g: g.load({"Knows": marked}),
        "columns": lambda g: g.load({"Knows": pa.Table.from_pylist(marked)}),
        "cells": lambda g: g.load(folder / "Knows.csv"),
        "by ends": lambda g: g.delete({"Knows": rows}),
        "by keys": lambda g: g.delete({"Knows": [(1, 2), (2, 3)]}),
        "by a frame": lambda g: g.delete({"Knows": pa.Table.from_pylist(rows)}),
    }


@pytest.mark.parametrize("way", deletions(Path("/tmp")))
def test_edges_are_deleted_by_keys_of_their_ends(tmp_path: Path, way: str) -> None:
    g = people(tmp_path)
    g.load({"Knows": EDGES})
    assert deletions(tmp_path)[way](g).deleted == {"Knows": 2}
    assert not any(r["from"] in ("1", "2") for r in exported(g) if "edge" in r)


def test_an_edge_without_a_key_is_deleted_by_keys_of_its_ends(tmp_path: Path) -> None:
    g = people(tmp_path)
    g.load([{"edge": "Likes", "from": 1, "to": 2**64 - 1}, {"edge": "Likes", "from": 2, "to": str(2**64 - 1)}])
    assert g.load([{"op": "delete", "edge": "Likes", "from": 1, "to": 2**64 - 1}]).deleted == {"Likes": 1}
    frame = pa.table({"from": [2], "to": pa.array([2**64 - 1], pa.uint64())})
    assert g.delete({"Likes": frame}).deleted == {"Likes": 1}


@pytest.mark.parametrize(
    "source",
    [
        [{"edge": "Came", "from": 1, "to": 19723}, {"edge": "Said", "from": 1, "to": True}],
        {"Came": [{"from": 1, "to": date(2024, 1, 1)}], "Said": [{"from": 1, "to": True}]},
        {"Came": pa.table({"from": [1], "to": [date(2024, 1, 1)]}), "Said": pa.table({"from": [1], "to": [True]})},
        {"Came": pa.table({"from": [1], "to": [datetime(2024, 1, 1)]}), "Said": pa.table({"from": ["1"], "to": ["true"]})},
    ],
)
def test_other_keys_than_integers(tmp_path: Path, source: Any) -> None:
    g = people(tmp_path)
    g.load(source)
    assert [(r["from"], r["to"]) for r in exported(g) if "edge" in r] == [("1", "19723"), ("1", "true")]


@pytest.mark.parametrize(
    ("day", "yes"), [("2024-01-01", "true"), ("19723", "true"), ("2024-01-01T00:00:00Z", "true")], ids=["day", "id", "moment"]
)
@pytest.mark.parametrize("rows", [1, 100], ids=["one row", "many rows"])
def test_cells_are_read_as_keys_or_are_ids(tmp_path: Path, day: str, yes: str, rows: int) -> None:
    g = people(tmp_path)
    g.load([{"type": "Person", "data": {"id_no": number}} for number in range(100)])
    for type_, end in (("Came", day), ("Said", yes)):
        (tmp_path / f"{type_}.csv").write_text("from,to\n" + "".join(f"{number},{end}\n" for number in range(rows)))
    g.load([tmp_path / "Came.csv", tmp_path / "Said.csv"])
    assert {(r["edge"], r["to"]) for r in exported(g) if "edge" in r} == {("Came", "19723"), ("Said", "true")}


def test_cells_of_days_may_be_spelt_in_two_ways_in_one_column(tmp_path: Path) -> None:
    g = people(tmp_path)
    (tmp_path / "Came.csv").write_text("from,to\n1,19723\n2,2024-01-01\n003,19723\n")
    g.load(tmp_path / "Came.csv")
    assert sorted((r["from"], r["to"]) for r in exported(g) if "edge" in r) == [(n, "19723") for n in "123"]
    (tmp_path / "Came.csv").write_text("_op,from,to\ndelete,01,2024-01-01\ndelete,2,19723\n")
    assert g.load(tmp_path / "Came.csv").deleted == {"Came": 2}


def test_a_cell_that_is_no_key_is_an_id_of_nobody(tmp_path: Path) -> None:
    g = people(tmp_path)
    (tmp_path / "Knows.csv").write_text("from,to\n1,2\nada,3\n1,9223372036854775808\n")
    assert {(v.line, v.value) for v in refused(g, tmp_path / "Knows.csv")} == {(3, "ada"), (4, "9223372036854775808")}


@pytest.mark.parametrize("rows", [1, 40], ids=["one row", "many rows"])
@pytest.mark.parametrize("end", ["2.0", "2."])
def test_whole_floats_in_cells_are_refused_with_what_to_do(tmp_path: Path, end: str, rows: int) -> None:
    """As pandas writes integers in a column with missing values. No end is called so, and a deletion must not pass over it."""
    g = people(tmp_path)
    said = (
        f"is `{end}`, not I64: whole numbers are written without `.0` (in pandas, cast the column to `Int64` before writing it)"
    )
    for op in ("upsert", "delete"):
        lines = "".join(f"{op},{number},{number + 1}\n" for number in range(rows))
        (tmp_path / "Knows.csv").write_text(f"_op,from,to\n{lines}{op},1,{end}\n")
        (found,) = refused(g, tmp_path / "Knows.csv")
        assert (found.rule, found.line, found.message) == ("record", rows + 2, f"Knows: `to` {said}")
        (tmp_path / "Person.csv").write_text(f"_op,id_no\n{op},1\n{op},{end}\n")
        (found,) = refused(g, tmp_path / "Person.csv")
        assert (found.rule, found.line) == ("type", 3)
        assert found.message.endswith(said)


# ── days and moments in texts ────────────────────────────────────────────────────────────────────────────────────────────────

DAYS = {"Came": ("19723", "2024-01-01"), "Seen": ("19723", "2024-1-1"), "At": ("1704103200000", "2024-01-01T11:00:00+01:00")}
"""Types of edges, the id of the node at their end, and another spelling of it."""


def texts(folder: Path, form: str, type_: str, rows: list[dict[str, Any]]) -> Any:
    marked = [{**row, "_op": "delete"} if row.pop("gone", False) else row for row in map(dict, rows)]
    match form:
        case "records":
            ops = [{"op": "delete"} if "_op" in row else {} for row in marked]
            return [{**op, "edge": type_, "from": row["from"], "to": row["to"]} for op, row in zip(ops, marked, strict=True)]
        case "lines":
            return written(folder / "all.jsonl", texts(folder, "records", type_, rows))
        case "rows of lines":
            return written(folder / f"{type_}.jsonl", marked)
        case "mappings":
            return {type_: marked}
        case "arrow":
            return {type_: pa.Table.from_pylist(marked)}
        case "dictionary":
            table = pa.Table.from_pylist(marked)
            return {type_: table.set_column(1, "to", table["to"].dictionary_encode())}
        case "pandas":
            return {type_: pd.DataFrame(marked)}
        case "polars":
            return {type_: pl.DataFrame(marked)}
        case "parquet":
            pq.write_table(pa.Table.from_pylist(marked), folder / f"{type_}.parquet")
            return folder / f"{type_}.parquet"
        case _:
            pd.DataFrame(marked).to_csv(folder / f"{type_}.csv", index=False)
            return folder / f"{type_}.csv"


TEXTS = ["records", "lines", "rows of lines", "mappings", "arrow", "dictionary", "pandas", "polars", "parquet", "cells"]


@pytest.mark.parametrize("rows", [2, 40], ids=["few", "many"])
@pytest.mark.parametrize("type_", DAYS)
@pytest.mark.parametrize("form", TEXTS)
def test_days_and_moments_in_texts_name_nodes_in_every_form(tmp_path: Path, form: str, type_: str, rows: int) -> None:
    g = people(tmp_path)
    id_, spelt = DAYS[type_]
    given = [{"from": number, "to": spelt} for number in range(rows)]
    given[1]["to"] = id_  # ids stay what they are, also among others
    g.load(texts(tmp_path, form, type_, given))
    assert {(r["from"], r["to"]) for r in exported(g) if "edge" in r} == {(str(n), id_) for n in range(rows)}
    assert g.load(texts(tmp_path, form, type_, [{**row, "gone": True} for row in given])).deleted == {type_: rows}


@pytest.mark.parametrize("type_", DAYS)
def test_what_a_load_named_by_a_text_a_delete_finds(tmp_path: Path, type_: str) -> None:
    g = people(tmp_path)
    id_, spelt = DAYS[type_]
    ends = [{"from": 1, "to": spelt}]
    for given in (ends, pd.DataFrame(ends), pa.Table.from_pylist(ends), [{"from": "1", "to": id_}]):
        g.load({type_: ends})
        assert g.delete({type_: given}).deleted == {type_: 1}


@pytest.mark.parametrize("given", ["20240101", "2024-13-01", "someday", "2024-01-01T10:00:00Z"])
def test_a_text_that_is_no_day_is_an_id_of_nobody(tmp_path: Path, given: str) -> None:
    g = people(tmp_path)
    for form in TEXTS:
        (found,) = refused(g, texts(tmp_path, form, "Came", [{"from": 1, "to": given}]))
        assert (found.rule, found.value) == ("endpoint", given)


def test_the_compatible_dialect_reads_days_and_follows_old_spellings(tmp_path: Path) -> None:
    g = people(tmp_path)
    old = [
        {"type": "Day", "data": {"id": "2025-01-01", "day": "2025-01-01"}},
        {"edge": "Came", "from": 1, "to": "2025-01-01", "data": {"id": '["1","2025-01-01"]'}},
        {"edge": "Came", "from": 2, "to": "2025-01-01", "data": {"id": '["2","20089"]'}},
        {"edge": "Came", "from": 3, "to": "2024-01-01"},
    ]
    g.load(old, dialect="compatible")
    assert [(r["from"], r["to"]) for r in exported(g) if "edge" in r] == [("1", "20089"), ("2", "20089"), ("3", "19723")]
    g.load([{"op": "delete", "edge": "Came", "from": 3, "to": "2024-01-01"}], dialect="compatible")
    assert g.get("Came", (3, "2024-01-01")) is None


@pytest.mark.parametrize("zeros", [399, 401, 5000])
def test_any_number_of_zeros_may_stand_before_a_number_in_a_cell(tmp_path: Path, zeros: int) -> None:
    """Whether cells are read all at once, or one by one because of the sign of another."""
    g = people(tmp_path)
    for first in ("3", "+3"):
        (tmp_path / "Person.csv").write_text(f"id_no\n{first}\n{'0' * zeros}4\n-{'0' * zeros}3\n")
        (tmp_path / "Knows.csv").write_text(f"from,to\n{first},{'0' * zeros}4\n4,-{'0' * zeros}3\n{'0' * zeros},4\n")
        g.load([tmp_path / "Person.csv", tmp_path / "Knows.csv"])
        assert {(r["from"], r["to"]) for r in exported(g) if "edge" in r} == {("3", "4"), ("4", "-3"), ("0", "4")}
        (tmp_path / "Knows.csv").write_text(f"_op,from,to\ndelete,{first},{'0' * zeros}4\n")
        assert g.load(tmp_path / "Knows.csv").deleted == {"Knows": 1}
    (tmp_path / "Person.csv").write_text(f"id_no\n1{'0' * zeros}\n")
    (found,) = refused(g, tmp_path / "Person.csv")
    assert found.rule == "type"


PERSON = "the key of Person is `id_no: I64`"
MISFITS: list[tuple[str, str, Any, Any, str]] = [
    ("Knows", "from", 1.0, 1, f"`from` must be I64 or a string, not a number with a fraction or exponent: {PERSON}"),
    ("Knows", "to", 1, True, f"`to` must be I64 or a string, not true or false: {PERSON}"),
    ("Knows", "to", 1, 2**63, "`to` is 9223372036854775808, out of the range of I64"),
    ("Knows", "to", 1, [1], f"`to` must be I64 or a string, not a list: {PERSON}"),
    ("Knows", "to", 1, None, "`to` must be I64 or a string, not null"),
    ("Called", "to", 1, 1, "`to` must be a string, not an integer: the key of Name is `name: String`"),
    ("Owns", "to", 1, 1, "the key of Pair is several values, and its id their texts: [\"<number>\",\"<tenant>\"]"),
    ("Has", "to", 1, 1, "Loose has no key, and its id is a text"),
]  # fmt: skip


@pytest.mark.parametrize("operation", ["upsert", "delete"])
@pytest.mark.parametrize(("type_", "end", "source", "target", "said"), MISFITS)
def test_what_is_no_key_is_refused(
    tmp_path: Path, type_: str, end: str, source: Any, target: Any, said: str, operation: str
) -> None:
    g = people(tmp_path)
    if operation == "delete" and target is None:
        pytest.skip("asks which edge it is")
    record = {"op": operation, "edge": type_, "from": source, "to": target}
    rows = {type_: [{"_op": operation, "from": source, "to": target}]}
    for given in ([record], written(tmp_path / "all.jsonl", [record]), rows):
        (found,) = refused(g, given)
        assert (found.rule, found.property) == ("record", end)
        assert said in found.message


def test_a_column_of_what_is_no_key_is_refused_once(tmp_path: Path) -> None:
    g = people(tmp_path)
    (found,) = refused(g, {"Knows": pa.table({"from": [1.0, 2.5], "to": [1, 2]})})
    assert found.message == "Knows: `from` must be I64, not 2.5"
    (found,) = refused(g, {"Knows": pa.table({"from": [1, 2], "to": [True, False]})})
    assert found.message == f"column `to` holds values of bool, and {PERSON}"
    (found,) = refused(g, {"Called": pa.table({"from": [1], "to": [1]})})
    assert found.message == "column `to` holds values of int64, and the key of Name is `name: String`"


def test_a_node_that_is_not_there_is_named_as_its_id(tmp_path: Path) -> None:
    g = people(tmp_path)
    (found,) = refused(g, [{"edge": "Knows", "from": 1, "to": 999}])
    assert (found.rule, found.property, found.value) == ("endpoint", "to", "999")


def test_quarantined_edges_can_be_loaded_again(tmp_path: Path) -> None:
    g = people(tmp_path)
    lines = written(tmp_path / "all.jsonl", [*records(), {"edge": "Knows", "from": 1, "to": 999}])
    done = g.load(lines, quarantine=tmp_path / "bad")
    assert done.edges_loaded == {"Knows": len(EDGES)}
    (kept,) = [json.loads(line) for line in Path(str(done.quarantine)).read_text().splitlines()]
    g.load([{"type": "Person", "data": {"id_no": 999}}, kept["record"]])
    assert g.get("Knows", (1, 999)) is not None


def test_the_compatible_dialect_takes_them_too(tmp_path: Path) -> None:
    g = people(tmp_path)
    g.load(records(), dialect="compatible")
    assert sum("edge" in r for r in exported(g)) == len(EDGES)


# ── mutations ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def weights(g: og.Graph) -> dict[tuple[str, str], float]:
    return {(r["from"], r["to"]): r["data"]["weight"] for r in exported(g) if r.get("edge") == "Knows"}


def test_mutations_name_ends_by_keys(tmp_path: Path) -> None:
    g = people(tmp_path)
    ends = {"a": 1, "b": 2}
    g.mutate("query i($a: I64, $b: I32) { insert Knows { from: $a, to: $b, weight: 1.0 } }", params=ends)
    g.mutate("query i() { insert Knows { from: -3, to: 2 weight: 1.0 }  insert Knows { from: 1, to: 3, weight: 1.0 } }")
    g.mutate(
        "query i($a: I64, $b: I64) { match { $p: Person { id_no: 5 } } insert Knows { from: $p, to: $a, weight: 1.0 } }",
        params=ends,
    )
    assert weights(g) == dict.fromkeys([("1", "2"), ("-3", "2"), ("1", "3"), ("5", "1")], 1.0)
    done = g.mutate("query u($a: I64, $b: I64) { update Knows set { weight: 2.0 } where from = $a }", params=ends)
    assert done.affected_edges == 2
    g.mutate("query u($a: I64, $b: I64) { update Knows set { weight: 3.0 } where from = $a and to = $b }", params=ends)
    g.mutate("query u($a: I64, $b: I64) { update Knows set { weight: 4.0 } where from != $a and to = 2 }", params=ends)
    assert weights(g) == {("1", "2"): 3.0, ("1", "3"): 2.0, ("-3", "2"): 4.0, ("5", "1"): 1.0}
    assert g.mutate("query d($some: [I64]) { delete Knows where to in $some }", params={"some": [1, 3]}).affected_edges == 2
    assert g.mutate("query d() { delete Knows where from in [-3, 7] or to = 99 }").affected_edges == 1
    assert g.mutate("query d($a: U64) { delete Knows where from = $a }", params={"a": 2**64 - 1}).affected_edges == 0
    assert g.mutate("query d($a: I64, $b: I64) { delete Knows where to = $b and from = $a }", params=ends).affected_edges == 1
    assert weights(g) == {}


def test_mutations_name_ends_by_other_keys(tmp_path: Path) -> None:
    g = people(tmp_path)
    text = """query i($d: Date, $y: Bool) {
        insert Came { from: 1, to: $d }
        insert Came { from: 2, to: date("2024-01-01") }
        insert Said { from: 1, to: $y }
    }"""
    g.mutate(text, params={"d": date(2024, 1, 1), "y": True})
    assert [(r["from"], r["to"]) for r in exported(g) if "edge" in r] == [("1", "19723"), ("2", "19723"), ("1", "true")]
    assert (
        g.mutate("query d($d: Date) { delete Came where to = $d and from = 1 }", params={"d": "2024-01-01"}).affected_edges == 1
    )


def test_a_mutation_of_a_node_that_is_not_there_names_it(tmp_path: Path) -> None:
    g = people(tmp_path)
    with pytest.raises(og.ValidationError, match="`999`"):
        g.mutate("query i($a: I64) { insert Knows { from: $a, to: 1 } }", params={"a": 999})
    with pytest.raises(og.ParameterError, match="is the id of a node, not None"):
        g.mutate("query i($a: I64?) { insert Knows { from: $a, to: 1 } }", params={"a": None})
    with pytest.raises(og.ParameterError, match="It is I64"):
        g.mutate("query i($a: I64) { insert Knows { from: $a, to: 1 } }")


@pytest.mark.parametrize(
    "text", ["insert Called { from: 1, to: 1 }", "delete Called where to = 1", "delete Called where to = 1.5"]
)
def test_what_is_no_key_is_refused_with_the_key(tmp_path: Path, text: str) -> None:
    with pytest.raises(og.TypeCheckError, match="the key of Name is `name: String`"):
        people(tmp_path).mutate(f"query q() {{ {text} }}")
