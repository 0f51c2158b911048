"""Edges with keys: the same file twice is the same graph, in every mode, form and way to run a load."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.load.loading import exported, graph, refused, written

import omnigraph as og
from omnigraph.catalog.keys import entity_id
from omnigraph.catalog.opening import offline_catalog
from omnigraph.engine.load.read.rows.identity import ids_from_keys
from omnigraph.language import Source

SCHEMA = """
node Person { name: String @key }
node City { country: String  name: String  @key(country, name) }
edge Knows: Person -> Person @key(src, dst) { weight: F64? }
edge Met: Person -> City @key(src, dst, day) { day: Date  note: String? }
"""
PARIS = '["fr","Paris"]'
ROWS: dict[str, list[dict[str, Any]]] = {
    "Person": [{"name": name} for name in ("Ada", "Bob", 'a"b')],
    "City": [{"country": "fr", "name": "Paris"}],
    "Knows": [{"from": "Ada", "to": "Bob", "weight": 0.5}, {"from": 'a"b', "to": "Ada", "weight": None}],
    "Met": [
        {"from": "Ada", "to": PARIS, "day": date(2024, 1, 1), "note": "x"},
        {"from": "Ada", "to": PARIS, "day": date(2024, 1, 2), "note": None},
    ],
}
IDS = ['["Ada","Bob"]', '["a\\"b","Ada"]', r'["Ada","[\"fr\",\"Paris\"]","19723"]', r'["Ada","[\"fr\",\"Paris\"]","19724"]']


def as_records(folder: Path, rows: dict[str, list[dict[str, Any]]]) -> Any:
    found: list[dict[str, Any]] = []
    for name, its in rows.items():
        for row in its:
            data = {k: v.isoformat() if isinstance(v, date) else v for k, v in row.items() if k not in ("from", "to")}
            ends: dict[str, Any] = {k: row[k] for k in ("from", "to") if k in row}
            found.append({"edge": name, **ends, "data": data} if ends else {"type": name, "data": data})
    return found


def as_lines(folder: Path, rows: dict[str, list[dict[str, Any]]]) -> Any:
    return written(folder / "all.jsonl", as_records(folder, rows))


def as_csv(folder: Path, rows: dict[str, list[dict[str, Any]]]) -> Any:
    for name, its in rows.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(its[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(its)
    return [folder / f"{name}.csv" for name in rows]


def as_frames(folder: Path, rows: dict[str, list[dict[str, Any]]]) -> Any:
    return {name: pa.Table.from_pylist(its) for name, its in rows.items()}


def as_parquet(folder: Path, rows: dict[str, list[dict[str, Any]]]) -> Any:
    for name, table in as_frames(folder, rows).items():
        pq.write_table(table, folder / f"{name}.parquet")
    return [folder / f"{name}.parquet" for name in rows]


FORMS: dict[str, Callable[[Path, dict[str, list[dict[str, Any]]]], Any]] = {
    "records": as_records,
    "jsonl": as_lines,
    "csv": as_csv,
    "frames": as_frames,
    "parquet": as_parquet,
}


def check_twice(folder: Path, source: Any, mode: Any, **options: Any) -> None:
    """load(x); load(x) = load(x)."""
    g = graph(folder, SCHEMA)
    g.load(source, mode="merge" if mode == "update" else mode, **options)  # an update needs what it changes
    once, commits = exported(g), len(g.commits())
    assert [r["data"]["id"] for r in once if "edge" in r] == sorted(IDS[:2]) + IDS[2:]
    if mode == "append":
        found = refused(g, source, mode=mode, **options)
        assert {v.rule for v in found} == {"key"}
        assert sorted(str(v.entity) for v in found if v.type in ("Knows", "Met")) == sorted(IDS)
    else:
        again = g.load(source, mode=mode, **options)
        assert again.changed == (mode == "overwrite")
        assert len(g.commits()) == commits + (mode == "overwrite")
    assert exported(g) == once
    assert g.verify(content=True).ok


@pytest.mark.parametrize("mode", ["merge", "append", "overwrite", "patch", "update"])
@pytest.mark.parametrize("form", FORMS)
def test_a_load_twice_is_a_load_once(tmp_path: Path, form: str, mode: str) -> None:
    check_twice(tmp_path, FORMS[form](tmp_path, ROWS), mode)


@pytest.mark.parametrize("mode", ["merge", "append", "overwrite"])
def test_in_chunks(tmp_path: Path, mode: str) -> None:
    if mode == "append":  # what repeats is left out, and that is everything
        g = graph(tmp_path, SCHEMA)
        g.load(as_lines(tmp_path, ROWS), mode="append", quarantine=tmp_path / "bad")
        with pytest.raises(og.ValidationError, match="8 of 8 records are wrong"):
            g.load(as_lines(tmp_path, ROWS), mode="append", quarantine=tmp_path / "bad")
        return
    check_twice(tmp_path, as_lines(tmp_path, ROWS), mode, quarantine=tmp_path / "bad")


def test_merge_updates_the_edge_that_is_there(tmp_path: Path) -> None:
    g = graph(tmp_path, SCHEMA)
    g.load(as_records(tmp_path, ROWS))
    done = g.load({"Knows": pa.table({"from": ["Ada", "Bob"], "to": ["Bob", "Ada"], "weight": [0.75, 1.0]})})
    assert done.changed
    found = {r["data"]["id"]: r["data"]["weight"] for r in exported(g) if r.get("edge") == "Knows"}
    assert found == {'["Ada","Bob"]': 0.75, '["Bob","Ada"]': 1.0, '["a\\"b","Ada"]': None}


@pytest.mark.parametrize("mode", ["merge", "append", "overwrite"])
@pytest.mark.parametrize("form", FORMS)
def test_an_edge_twice_in_one_load(tmp_path: Path, form: str, mode: str) -> None:
    g = graph(tmp_path, SCHEMA)
    rows = {**ROWS, "Knows": [*ROWS["Knows"], {"from": "Ada", "to": "Bob", "weight": 9.0}]}
    (found,) = refused(g, FORMS[form](tmp_path, rows), mode=mode)
    assert (found.rule, found.type, found.property, found.entity) == ("unique", "Knows", "src, dst", IDS[0])
    assert "is there twice" in found.message


@pytest.mark.parametrize("form", ["records", "jsonl", "csv", "parquet", "frames"])
def test_an_id_that_is_given_is_the_one_that_the_key_gives(tmp_path: Path, form: str) -> None:
    g = graph(tmp_path, SCHEMA)
    given = [{**row, "id": id_} for row, id_ in zip(ROWS["Knows"], IDS, strict=False)]
    g.load(FORMS[form](tmp_path, {**ROWS, "Knows": given}))
    assert [r["data"]["id"] for r in exported(g, types=["Knows"])] == sorted(IDS[:2])
    wrong = [{**given[0], "id": "k1"}]
    (found,) = refused(g, FORMS[form](tmp_path, {"Knows": wrong}))
    assert found.rule == "id"
    assert """Knows: id `k1` does not match @key(src, dst), which gives `["Ada","Bob"]`""" in found.message


def test_a_missing_part_of_a_key_is_one_mistake(tmp_path: Path) -> None:
    g = graph(tmp_path, SCHEMA)
    g.load(as_records(tmp_path, {name: ROWS[name] for name in ("Person", "City")}))
    bad = [
        {"edge": "Met", "from": "Ada", "to": PARIS, "data": {"note": "no day"}},
        {"edge": "Met", "to": PARIS, "data": {"day": "2024-01-01"}},
        {"edge": "Met", "from": "Nobody", "to": PARIS, "data": {"day": "2024-01-01"}},
    ]
    found = refused(g, written(tmp_path / "bad.jsonl", bad))
    assert [(v.rule, v.property, v.line) for v in found] == [
        ("required", "day", 1),
        ("record", "from", 2),
        ("endpoint", "from", 3),
    ]


def test_old_spellings_of_ends_are_followed_before_an_id_is_made(tmp_path: Path) -> None:
    g = graph(tmp_path, "node P { n: I32 @key } edge E: P -> P @key(src, dst)")
    node = {"type": "P", "data": {"id": "007", "n": 7}}
    source = written(tmp_path / "old.json", [node, {"edge": "E", "from": "007", "to": "7", "data": {}}])
    g.load(source, dialect="compatible")
    assert [r["data"]["id"] for r in exported(g, types=["E"])] == ['["7","7"]']
    again = [node, {"edge": "E", "from": "007", "to": "7", "data": {"id": '["007","7"]'}}]
    assert not g.load(written(tmp_path / "again.json", again), dialect="compatible").changed
    wrong = [node, {"edge": "E", "from": "007", "to": "7", "data": {"id": "x"}}]
    (found,) = refused(g, written(tmp_path / "wrong.json", wrong), dialect="compatible")
    assert "does not match @key(src, dst)" in found.message


def test_what_is_exported_is_loaded_again(tmp_path: Path) -> None:
    g, other = graph(tmp_path, SCHEMA), graph(tmp_path, SCHEMA)
    g.load(as_records(tmp_path, ROWS))
    g.export(tmp_path / "all.jsonl")
    other.load(tmp_path / "all.jsonl", mode="append")
    assert exported(other) == exported(g)
    assert not other.load(tmp_path / "all.jsonl").changed
    assert json.loads((tmp_path / "all.jsonl").read_text().splitlines()[0])["data"]["id"] == IDS[0]


TEXT = st.text(st.characters(codec="utf-8"), max_size=4)
KEYED = offline_catalog(Source("node A {} edge E: A -> A @key(src, dst, d, n) { n: F32 d: Date }", "s.pg")).edges["E"]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(TEXT, TEXT, st.floats(width=32, allow_nan=False, allow_infinity=False)), min_size=1))
def test_ids_of_many_rows_are_those_of_each(rows: list[tuple[str, str, float]]) -> None:
    day = 19_723
    each = [entity_id(KEYED.key, {"src": s, "dst": d, "n": n, "d": day}) for s, d, n in rows]
    columns = {
        "src": pa.array([r[0] for r in rows], pa.string()),
        "dst": pa.array([r[1] for r in rows], pa.string()),
        "n": pa.array([r[2] for r in rows], pa.float32()),
        "d": pa.array([day] * len(rows), pa.int32()).cast(pa.date32()),
    }
    assert ids_from_keys(KEYED, columns).to_pylist() == each
    assert [p.name for p in KEYED.key] == ["src", "dst", "d", "n"]
