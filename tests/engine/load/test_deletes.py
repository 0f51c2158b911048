"""Deletions as data: records, columns and keys that delete, edges that go along, and feeds that are applied elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engine.every_type import data, everything, graph_of_every_type
from tests.engine.load.loading import exported, graph, refused, written
from tests.engine.load.test_chunks import InChunks
from tests.engine.load.test_partial import in_between

import omnigraph as og

SCHEMA = """
node Person { name: String @key  age: I32?  role: String }
node Visit { day: Date  who: String  note: String?  @key(day, who) }
node Note { text: String }
edge Knows: Person -> Person { weight: F64? }
edge Met: Person -> Person @key(src, dst)
edge Wrote: Person -> Note @card(0..1)
"""
NAMES = "abcdefgh"
RECORDS: list[dict[str, Any]] = [
    *({"type": "Person", "data": {"name": name, "role": "r", "age": at}} for at, name in enumerate(NAMES)),
    *({"type": "Visit", "data": {"day": f"2024-01-0{n}", "who": "x,y"}} for n in (1, 2, 3)),
    *({"type": "Note", "data": {"id": f"n{n}", "text": "t"}} for n in range(3)),
    *({"edge": "Knows", "from": s, "to": t, "data": {"id": s + t}} for s, t in ("ab", "bc", "cd", "da")),
    {"edge": "Knows", "from": "a", "to": "b", "data": {"id": "again"}},
    *({"edge": "Met", "from": s, "to": t} for s, t in ("ab", "cd", "ef")),
    {"edge": "Wrote", "from": "a", "to": "n0", "data": {"id": "w0"}},
]
ENGINES: dict[str, Any] = {"threads": "local", "chunks": InChunks(1)}


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    made = graph(tmp_path, SCHEMA)
    made.load(RECORDS)
    return made


def ids(g: og.Graph, type_: str) -> list[str]:
    return [r["data"]["id"] for r in exported(g) if r.get("type", r.get("edge")) == type_]


def _file(folder: Path, table: pa.Table) -> Path:
    pq.write_table(table, folder / "Person.parquet")
    return folder / "Person.parquet"


def _csv(folder: Path, rows: list[dict[str, Any]]) -> Path:
    text = ",".join(rows[0]) + "\n" + "".join(",".join("" if v is None else str(v) for v in r.values()) + "\n" for r in rows)
    (folder / "Person.csv").write_text(text)
    return folder / "Person.csv"


ROWS: list[dict[str, Any]] = [
    {"_op": "delete", "name": "a", "role": None},
    {"_op": "upsert", "name": "b", "role": "new"},
    {"_op": "delete", "name": "nobody", "role": None},
    {"_op": None, "name": "z", "role": "added"},
]
FORMS: dict[str, Callable[[Path], Any]] = {
    "records": lambda _: list(_records()),
    "lines": lambda f: written(f / "in.jsonl", _records()),
    "csv": lambda f: _csv(f, ROWS),
    "parquet": lambda f: _file(f, pa.Table.from_pylist(ROWS)),
    "arrow": lambda _: {"Person": pa.Table.from_pylist(ROWS)},
    "pandas": lambda _: {"Person": pd.DataFrame(ROWS)},
    "polars": lambda _: {"Person": pl.DataFrame(ROWS)},
    "rows": lambda _: {"Person": ROWS},
}


def _records() -> list[dict[str, Any]]:
    found = []
    for row in ROWS:
        op = {"op": row["_op"]} if row["_op"] else {}
        found.append({**op, "type": "Person", "data": {n: v for n, v in row.items() if n != "_op" and v is not None}})
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
def test_upserts_and_deletions_are_one_commit(g: og.Graph, tmp_path: Path, form: str, engine: str) -> None:
    before = len(g.commits())
    result = g.load(FORMS[form](tmp_path), engine=ENGINES[engine])
    assert (result.deleted, result.missing) == ({"Person": 1}, {"Person": 1})
    assert result.cascaded == {"Knows": 3, "Met": 1, "Wrote": 1}
    assert (result.nodes_loaded, result.edges_loaded) == ({"Person": 2}, {})
    assert ids(g, "Person") == [*"bcdefgh", "z"]
    assert (ids(g, "Knows"), ids(g, "Met"), ids(g, "Wrote")) == (["bc", "cd"], ['["c","d"]', '["e","f"]'], [])
    assert len([c for c in g.commits() if not c.is_maintenance]) <= before + 1
    assert g.verify().ok
    again = g.load(FORMS[form](tmp_path), engine=ENGINES[engine])
    assert (again.changed, again.deleted, again.missing) == (False, {"Person": 0}, {"Person": 2})


KEYS: dict[str, tuple[dict[str, Any], dict[str, int], dict[str, int]]] = {
    "keys": ({"Person": ["a", "h", "nobody"]}, {"Person": 2}, {"Person": 1}),
    "dicts": ({"Person": [{"name": "a"}, {"id": "h"}]}, {"Person": 2}, {}),
    "a frame": ({"Person": pa.table({"name": ["a", "h"]})}, {"Person": 2}, {}),
    "whole rows": ({"Person": pd.DataFrame({"name": ["a", "h"], "age": [1, 2]})}, {"Person": 2}, {}),
    "ids": ({"Note": ["n1", "n2"], "Knows": pl.DataFrame({"id": ["ab", "again"]})}, {"Note": 2, "Knows": 2}, {}),
    "ends": ({"Knows": [{"from": "b", "to": "c"}, {"from": "c", "to": "a"}]}, {"Knows": 1}, {"Knows": 1}),
    "columns of ends": ({"Knows": pa.table({"src": ["b"], "dst": ["c"]})}, {"Knows": 1}, {}),
    "keys of edges": ({"Met": [("a", "b"), {"from": "c", "to": "d"}]}, {"Met": 2}, {}),
    "composite keys": ({"Visit": [(date(2024, 1, 1), "x,y"), {"day": date(2024, 1, 2), "who": "x,y"}]}, {"Visit": 2}, {}),
    "composite columns": ({"Visit": pa.table({"day": [date(2024, 1, 3)], "who": ["x,y"]})}, {"Visit": 1}, {}),
    "nothing": ({"Person": []}, {}, {}),
}


@pytest.mark.parametrize("case", KEYS)
def test_entities_are_deleted_by_their_keys(g: og.Graph, case: str) -> None:
    source, deleted, missing = KEYS[case]
    before = {name: len(ids(g, name)) for name in ("Person", "Visit", "Note", "Knows", "Met", "Wrote")}
    result = g.delete(source, actor="gdpr", message="asked for")
    assert ({n: c for n, c in result.deleted.items() if c}, dict(result.missing)) == (deleted, missing)
    for name, count in before.items():
        assert len(ids(g, name)) == count - deleted.get(name, 0) - result.cascaded.get(name, 0)
    if deleted:
        assert (g.commits(limit=1)[0].actor, g.commits(limit=1)[0].message) == ("gdpr", "asked for")
        assert not g.delete(source).changed, "nobody is there any more"


def test_many_are_deleted_at_once(tmp_path: Path) -> None:
    g = graph(tmp_path, "node N { k: I64 @key }  edge E: N -> N")
    g.load(
        {
            "N": pa.table({"k": range(5_000)}),
            "E": pa.table({"from": [str(n) for n in range(4_999)], "to": [str(n) for n in range(1, 5_000)]}),
        }
    )
    result = g.delete({"N": pa.table({"k": range(0, 5_000, 2)}).to_reader(max_chunksize=700)})
    assert (result.deleted, result.cascaded) == ({"N": 2_500}, {"E": 4_999})
    assert g.query("query q() { match { $n: N } return { count($n) as n } }").rows == [{"n": 2_500}]


@pytest.mark.parametrize("engine", ENGINES)
def test_steps_are_taken_in_their_order(g: og.Graph, tmp_path: Path, engine: str) -> None:
    def person(op: str, name: str, role: str = "x") -> dict[str, Any]:
        return {"op": op, "type": "Person", "data": {"name": name} if op == "delete" else {"name": name, "role": role}}

    steps = [
        person("upsert", "new"),
        person("delete", "new"),
        person("delete", "a"),
        person("upsert", "a", "back"),
        person("upsert", "b", "first"),
        person("upsert", "b", "last"),
        person("delete", "c"),
        person("delete", "c"),
    ]
    first, second = steps[:5], steps[5:]
    paths = [written(tmp_path / "2.jsonl", first), written(tmp_path / "1.jsonl", second)]
    result = g.load([str(path) for path in paths], engine=ENGINES[engine])
    assert (result.deleted, result.missing, result.nodes_loaded) == ({"Person": 1}, {}, {"Person": 2})
    assert {r["data"]["id"]: r["data"]["role"] for r in exported(g, types=["Person"])} == {
        "a": "back", "b": "last", **dict.fromkeys("defgh", "r"),
    }  # fmt: skip
    assert "ab" in ids(g, "Knows"), "who is there in the end keeps their edges"


WRONG: list[tuple[str, Any, str]] = [
    ("append", {"op": "delete", "type": "Person", "data": {"name": "a"}}, "append only adds"),
    ("overwrite", {"op": "delete", "type": "Person", "data": {"name": "a"}}, "an overwrite leaves"),
    ("merge", {"op": "drop", "type": "Person", "data": {"name": "a"}}, "the operation is 'drop'"),
    ("merge", {"op": None, "type": "Person", "data": {"name": "a"}}, "the operation is None"),
    (
        "merge",
        {"op": "delete", "type": "Person", "data": {"age": 3}},
        "which Person is to be deleted? Please give `name` or `id`",
    ),
    ("merge", {"op": "delete", "type": "Person", "data": {"name": 5}}, "the key must be"),
    ("merge", {"op": "delete", "type": "Person", "data": {"name": "a", "id": "b"}}, "does not match @key"),
    ("merge", {"op": "delete", "type": "Person", "data": {"name": "a", "agee": 1}}, "no property `agee`"),
    ("merge", {"op": "delete", "type": "Person", "data": {"name": "a"}, "more": 1}, "no member `more`"),
    ("merge", {"op": "delete", "type": "Nobody", "data": {"name": "a"}}, "no node type"),
    ("merge", {"op": "delete", "type": "Note"}, "which Note is to be deleted? Please give its `id`"),
    ("merge", {"op": "delete", "edge": "Knows", "from": "a"}, "which Knows is to be deleted?"),
    ("merge", {"op": "delete", "edge": "Knows", "from": "a", "to": "b"}, "there are 2 edges from `a` to `b`"),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_cannot_be_deleted_is_said_with_its_line(g: og.Graph, tmp_path: Path, engine: str) -> None:
    for mode, record, says in WRONG:
        fine = {"type": "Person", "data": {"name": "fine", "role": "x"}}
        path = written(tmp_path / "in.jsonl", [fine, record])
        violations = refused(g, path, mode=mode, engine=ENGINES[engine], allow_empty=True)
        (found,) = (v for v in violations if v.line is not None)
        assert found.line == 2, record
        assert says in found.message, found.message


def test_what_a_load_says_of_itself_is_held_against_the_rules(g: og.Graph, tmp_path: Path) -> None:
    gone = {"op": "delete", "type": "Person", "data": {"name": "a"}}
    (found,) = refused(g, [gone, {"edge": "Knows", "from": "a", "to": "c"}])
    assert (found.rule, found.line) == ("endpoint", 2)
    (found,) = refused(g, [gone, {"type": "Person", "data": {"name": "a", "age": 3}}], mode="patch")
    assert (found.line, "twice" in found.message) == (2, True)
    moved = {"edge": "Knows", "from": "b", "to": "c", "data": {"id": "ab"}}
    assert g.load([gone, moved]).cascaded == {"Knows": 2, "Met": 1, "Wrote": 1}, "an edge that is moved away stays"
    assert "ab" in ids(g, "Knows")
    with pytest.raises(og.UsageError, match="cannot leave anything out"):
        g.load([gone], quarantine=tmp_path / "bad")
    with pytest.raises(og.UsageError, match="cannot delete Person by str"):
        g.delete({"Person": "a"})


def test_what_was_read_is_a_key(g: og.Graph) -> None:
    """Nodes and edges as `get` and `neighbors` give them, with a key or without one."""
    edges = [found.edge for found in g.neighbors("Person", "a", edges="Knows", direction="out")]
    note, met = g.get("Note", id="n1"), g.get("Met", ("e", "f"))
    assert g.delete({"Knows": edges, "Note": [note], "Met": [met]}).deleted == {"Knows": 2, "Note": 1, "Met": 1}
    assert g.delete({"Visit": [g.get("Visit", ("2024-01-01", "x,y"))], "Person": [g.get("Person", "a")]}).deleted == {
        "Visit": 1,
        "Person": 1,
    }
    with pytest.raises(og.UsageError, match="the key is one of Person, not of Note"):
        g.delete({"Note": [g.get("Person", "b")]})
    with pytest.raises(og.UsageError, match="`source` is a mapping from types to keys, not list") as error:
        g.delete([g.get("Person", "b")])  # type: ignore[arg-type]
    assert error.value.hint == 'Name the type: {"Person": ["Ada", "Bob"]}.'


def test_columns_of_operations(g: og.Graph) -> None:
    (found,) = refused(g, {"Person": pa.table({"_op": [1], "name": ["a"]})})
    assert "`_op` is text" in found.message
    (found,) = refused(g, {"Person": pa.table({"_op": ["x"], "name": ["a"], "role": ["r"]})})
    assert (found.rule, found.line) == ("op", 1)
    (found,) = refused(g, {"Person": pa.table({"_op": ["delete", None], "name": ["a", "b"]})})
    assert (found.rule, found.line, found.property) == ("required", 2, "role")


@pytest.mark.parametrize(
    ("theirs", "says"),
    [
        ('insert Knows { from: "e", to: "a" }', "the edge was added while"),
        ('delete Person where name = "a"', "were removed while"),
    ],
)
def test_a_deletion_next_to_somebody_elses_change(g: og.Graph, monkeypatch: pytest.MonkeyPatch, theirs: str, says: str) -> None:
    in_between(monkeypatch, g, lambda other: other.mutate(f"query m() {{ {theirs} }}"))
    with pytest.raises(og.ReadSetChanged, match=says):
        g.delete({"Person": ["a"]})
    g.delete({"Person": ["a"]})
    assert "a" not in ids(g, "Person")
    assert g.verify().ok


# ── feeds ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def followed(g: og.Graph, copy: og.Graph, form: str, tmp_path: Path, since: str) -> str:
    """Apply what is new of a feed."""
    page = g.changes(since=since)
    changes = [change for block in page for change in block.changes]
    match form:
        case "changes":
            copy.load(changes)
        case "dicts":
            copy.load([change.to_dict() for change in changes])
        case "lines":
            copy.load(written(tmp_path / "feed.jsonl", [json.dumps(change.to_dict()) for change in changes]))
        case _:
            for block in page:
                copy.load(block.changes)
    assert page.caught_up
    return page.next


@pytest.mark.parametrize("form", ["changes", "dicts", "lines", "blocks"])
def test_a_feed_is_applied_to_another_graph(g: og.Graph, tmp_path: Path, form: str) -> None:
    copy = graph(tmp_path, SCHEMA)
    cursor = followed(g, copy, form, tmp_path, "beginning")
    assert exported(copy) == exported(g)
    g.delete({"Person": ["a"], "Note": ["n1"]})
    g.load([{"type": "Person", "data": {"name": "b", "age": 99}}], mode="patch")
    g.mutate('query m() { delete Person where name = "c" }')
    g.mutate('query m() { insert Person { name: "c", role: "again" } }')
    g.load([{"edge": "Knows", "from": "c", "to": "d", "data": {"id": "cd", "weight": 0.5}}])
    cursor = followed(g, copy, form, tmp_path, cursor)
    assert exported(copy) == exported(g)
    followed(g, copy, form, tmp_path, cursor)
    assert exported(copy) == exported(g)


def test_a_feed_keeps_every_value_of_every_type(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "copy").mkdir()
    one, copy = graph_of_every_type(tmp_path / "one", range(0)), graph_of_every_type(tmp_path / "copy", range(0))
    rows = {
        name: [{n: v for n, v in row.items() if not n.endswith("blob")} | {"req_blob": b"x"} for row in found]
        for name, found in data(range(6)).items()
    }
    for row in rows["Plain"]:
        del row["req_blob"]
    one.load(rows)
    one.delete({"Link": ["l00001"], "Whole": ["w00002"]})
    copy.load(one.changes(since="beginning").changes)
    assert everything(copy) == everything(one)


@pytest.mark.parametrize(
    ("keys", "theirs", "says"),
    [
        ({"Person": ["a", "new"]}, 'insert Person { name: "new", role: "x" }', "were added while"),
        ({"Knows": [{"from": "b", "to": "c"}]}, 'insert Knows { from: "b", to: "c" }', "changed while"),
    ],
)
def test_who_comes_while_they_are_to_go_is_not_left_behind(
    g: og.Graph, monkeypatch: pytest.MonkeyPatch, keys: dict[str, Any], theirs: str, says: str
) -> None:
    in_between(monkeypatch, g, lambda other: other.mutate(f"query m() {{ {theirs} }}"))
    with pytest.raises(og.ReadSetChanged, match=says):
        g.delete(keys)
