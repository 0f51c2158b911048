"""`update` and `patch`: what is given changes, what is not given stays, whatever the form, the type, or the runner."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engine.every_type import BLOB, PLAIN, data, everything, graph_of_every_type
from tests.engine.load.loading import exported, graph, refused, rules, written
from tests.engine.load.test_chunks import InChunks

import omnigraph as og
from omnigraph.engine.load.read.rows import completing
from omnigraph.engine.write import commit as committing

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    mail: String? @unique
    role: String
    kind: enum(a, b)?
    @range(age, 0..150)
    @check(role, "^[a-z ]*$")
}
node Note { text: String  stars: I32? }
edge Knows: Person -> Person { since: Date?  weight: F64 }
edge Leads: Person -> Person @card(0..1) { note: String? }
"""

PEOPLE = [
    {"type": "Person", "data": {"name": "Ada", "age": 36, "mail": "ada@x", "role": "boss", "kind": "a"}},
    {"type": "Person", "data": {"name": "Bob", "age": 20, "mail": "bob@x", "role": "clerk", "kind": "b"}},
    {"type": "Person", "data": {"name": "Cy", "role": "clerk"}},
    {"type": "Note", "data": {"id": "n1", "text": "hello", "stars": 3}},
    {"edge": "Knows", "from": "Ada", "to": "Bob", "data": {"id": "k1", "since": "2024-05-01", "weight": 0.5}},
    {"edge": "Leads", "from": "Ada", "to": "Bob", "data": {"id": "l1"}},
    {"edge": "Leads", "from": "Bob", "to": "Cy", "data": {"id": "l2"}},
]


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    made = graph(tmp_path, SCHEMA)
    made.load(PEOPLE)
    return made


def held(g: og.Graph) -> dict[str, dict[str, Any]]:
    """Every entity by id."""
    return {
        r["data"]["id"]: {**{n: r[n] for n in ("from", "to") if n in r}, **{n: v for n, v in r["data"].items() if n != "id"}}
        for r in exported(g)
    }


def _csv(folder: Path, rows: list[dict[str, Any]]) -> Path:
    text = ",".join(rows[0]) + "\n" + "".join(",".join("" if v is None else str(v) for v in r.values()) + "\n" for r in rows)
    (folder / "Person.csv").write_text(text)
    return folder / "Person.csv"


def _parquet(folder: Path, rows: list[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), folder / "Person.parquet")
    return folder / "Person.parquet"


FORMS: dict[str, Callable[[Path, list[dict[str, Any]]], Any]] = {
    "records": lambda _, rows: [{"type": "Person", "data": row} for row in rows],
    "lines": lambda f, rows: written(f / "in.jsonl", [{"type": "Person", "data": row} for row in rows]),
    "csv": _csv,
    "parquet": _parquet,
    "arrow": lambda _, rows: {"Person": pa.Table.from_pylist(rows)},
    "pandas": lambda _, rows: {"Person": pd.DataFrame(rows)},
    "polars": lambda _, rows: {"Person": pl.DataFrame(rows)},
    "rows": lambda _, rows: {"Person": rows},
}
ENGINES: dict[str, Any] = {"threads": "local", "chunks": InChunks(1)}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
def test_what_is_not_given_stays(g: og.Graph, tmp_path: Path, form: str, engine: str) -> None:
    before = held(g)
    rows = [{"name": "Ada", "age": 37, "mail": None}, {"name": "Bob", "age": 21, "mail": "b@x"}]
    result = g.load(FORMS[form](tmp_path, rows), mode="update", engine=ENGINES[engine])
    assert result.changed
    assert result.nodes_loaded == {"Person": 2}
    assert result.mode is og.Mode.UPDATE
    expected = before | {
        "Ada": before["Ada"] | {"age": 37, "mail": None},
        "Bob": before["Bob"] | {"age": 21, "mail": "b@x"},
    }
    assert held(g) == expected
    for mode in ("update", "patch"):
        assert not g.load(FORMS[form](tmp_path, rows), mode=mode, engine=ENGINES[engine]).changed


@pytest.mark.parametrize("engine", ENGINES)
def test_members_that_are_null_and_members_that_are_not_there(g: og.Graph, tmp_path: Path, engine: str) -> None:
    """Also among lines that are read at once, and whatever else contains the word."""
    lines: list[object] = [
        '{"type": "Person", "data": {"name": "Ada", "mail": null}}',
        '{"type": "Person", "data": {"name": "Bob", "role": "null and void"}}',
        '{"type": "Person", "data": {"name": "Cy", "\\u0061ge": null, "kind": "a"}}',
        *(f'{{"type": "Person", "data": {{"name": "p{n}", "role": "new", "age": null}}}}' for n in range(40)),
        '{"edge": "Knows", "data": {"id": "k1", "since": null}}',
        '{"edge": "Leads", "to": "Cy", "data": {"id": "l1"}}',
    ]
    before = held(g)
    g.load(written(tmp_path / "in.jsonl", lines), mode="patch", engine=ENGINES[engine])
    after = held(g)
    assert after["Ada"] == before["Ada"] | {"mail": None}
    assert after["Bob"] == before["Bob"] | {"role": "null and void"}
    assert after["Cy"] == before["Cy"] | {"kind": "a"}
    assert after["k1"] == before["k1"] | {"since": None}
    assert after["l1"] == before["l1"] | {"to": "Cy"}
    assert len(after) == len(before) + 40


@pytest.mark.parametrize("engine", ENGINES)
def test_what_cannot_be_completed_is_named(g: og.Graph, engine: str) -> None:
    missing = [{"type": "Person", "data": {"name": "Ada", "age": 1}}, {"type": "Person", "data": {"name": "Zoe", "role": "x"}}]
    (found,) = refused(g, missing, mode="update", engine=ENGINES[engine])
    assert (found.rule, found.entity, found.line) == ("missing", "Zoe", 2)
    assert "`Zoe` does not exist" in found.message
    records = [
        {"type": "Person", "data": {"name": "Zoe", "age": 3}},
        {"type": "Note", "data": {"stars": 3}},
        {"edge": "Knows", "data": {"id": "k9", "weight": 1.0}},
        {"edge": "Knows", "from": "Ada", "to": "Zoe", "data": {"id": "k8", "weight": 1.0}},
    ]
    violations = refused(g, records, mode="patch", engine=ENGINES[engine])
    assert [(v.rule, v.line, v.property) for v in violations] == [
        ("required", 1, "role"),
        ("id", 2, "id"),
        ("required", 3, "from"),
        ("required", 3, "to"),
    ], "and nothing of the edge to somebody who is wrong already"
    g.load([{"type": "Person", "data": {"name": "Zoe", "role": "new"}}], mode="patch")
    assert held(g)["Zoe"] == {"name": "Zoe", "role": "new", "age": None, "mail": None, "kind": None}


@pytest.mark.parametrize(
    ("type_", "columns", "rule", "named"),
    [
        ("Note", {"stars": [3]}, "id", "id"),
        ("Knows", {"weight": [3.0]}, "id", "id"),
        ("Person", {"age": [3]}, "required", "name"),
        ("Person", {"name": ["Ada"], "agee": [3]}, "unknown_property", "agee"),
    ],
)
def test_columns_that_do_not_say_who_is_meant(
    g: og.Graph, type_: str, columns: dict[str, list[Any]], rule: str, named: str
) -> None:
    (found,) = refused(g, {type_: pa.table(columns)}, mode="patch")
    assert (found.rule, found.property) == (rule, named)


@pytest.mark.parametrize("engine", ENGINES)
def test_edges_with_a_key_are_found_by_it(tmp_path: Path, engine: str) -> None:
    g = graph(tmp_path, "node N { k: String @key }  edge E: N -> N @key(src, dst) { a: I32?  b: String }")
    g.load({"N": [{"k": k} for k in "xy"], "E": [{"from": "x", "to": "y", "a": 1, "b": "old"}]})
    g.load([{"edge": "E", "from": "x", "to": "y", "data": {"a": 2}}], mode="patch", engine=ENGINES[engine])
    g.load({"E": pa.table({"src": ["x"], "dst": ["y"], "b": ["new"]})}, mode="update", engine=ENGINES[engine])
    assert [(r["data"]["a"], r["data"]["b"]) for r in exported(g) if "edge" in r] == [(2, "new")]
    (found,) = refused(g, [{"edge": "E", "from": "x", "data": {"a": 3}}], mode="patch", engine=ENGINES[engine])
    assert found.property == "to"
    for columns in ({"from": ["x"], "a": [3]}, {"id": ["q"], "a": [3]}):
        assert refused(g, {"E": pa.table(columns)}, mode="patch", engine=ENGINES[engine])
        assert refused(g, {"E": pa.table(columns).to_pylist()}, mode="patch", engine=ENGINES[engine])


def test_the_rules_hold_of_what_comes_of_it(g: og.Graph) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"type": "Person", "data": {"name": "Ada", "age": 200}}, "range"),
        ({"type": "Person", "data": {"name": "Ada", "role": "BOSS"}}, "check"),
        ({"type": "Person", "data": {"name": "Ada", "kind": "z"}}, "enum"),
        ({"type": "Person", "data": {"name": "Ada", "role": None}}, "required"),
        ({"type": "Person", "data": {"name": "Ada", "mail": "bob@x"}}, "unique"),
        ({"edge": "Leads", "from": "Bob", "data": {"id": "l1"}}, "cardinality"),
        ({"edge": "Knows", "to": "Nobody", "data": {"id": "k1"}}, "endpoint"),
    ]
    for engine in ENGINES.values():
        for record, rule in cases:
            assert rules(refused(g, [record], mode="patch", engine=engine)) == [rule], record
    swapped = [{"type": "Person", "data": {"name": n, "mail": m}} for n, m in (("Ada", "bob@x"), ("Bob", "ada@x"))]
    g.load(swapped, mode="update")
    assert (held(g)["Ada"]["mail"], held(g)["Bob"]["mail"]) == ("bob@x", "ada@x")


@pytest.mark.parametrize("mode", ["update", "patch"])
def test_an_entity_is_given_once(g: og.Graph, mode: str) -> None:
    """Which of two values counts nobody could say, whether the entity has a key or not."""
    for record in (PEOPLE[0], PEOPLE[3], PEOPLE[4]):
        found, *_ = refused(g, [record, record], mode=mode)
        assert (found.rule, found.line) == ("unique", 2)
        assert "twice" in found.message


def test_the_older_dialect_cannot_say_what_is_given(g: og.Graph) -> None:
    with pytest.raises(og.UsageError, match="patch is for records of the strict dialect"):
        g.load([{"type": "Person", "data": {"name": "Ada", "age": 3}}], mode="patch", dialect="compatible")


def test_what_is_wrong_is_written_down_as_it_was_given(g: og.Graph, tmp_path: Path) -> None:
    rows = [{"name": "Ada", "age": 40}, {"name": "Zoe", "age": 3}, {"name": "Bob", "age": 500}]
    shared = [{"name": "Cy", "mail": "ada@x"}, {"name": "Bob", "mail": "b@x"}]
    cases: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = [(rows, rows[1:]), (shared, shared[:1])]
    for number, (given, wrong) in enumerate(cases):
        for form in ("arrow", "rows", "lines", "parquet"):
            folder = tmp_path / f"{form}{number}"
            folder.mkdir()
            result = g.load(FORMS[form](folder, given), mode="patch", quarantine=folder / "bad")
            assert result.quarantined == len(wrong)
            assert result.quarantine is not None
            found = [json.loads(line)["record"]["data"] for line in Path(result.quarantine).read_text().splitlines()]
            assert [{n: v for n, v in record.items() if n != "id"} for record in found] == wrong, form
    assert (held(g)["Ada"]["age"], held(g)["Bob"]["mail"]) == (40, "b@x")


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

COLUMNS = [*PLAIN, *(f"req_{name}" for name in PLAIN), BLOB, f"req_{BLOB}"]
HALVES = (COLUMNS[::2], COLUMNS[1::2])


def _images(numbers: range, columns: list[str], values: int) -> dict[str, list[dict[str, Any]]]:
    """Entities of every type with values of another number, in some columns only."""
    found: dict[str, list[dict[str, Any]]] = {}
    others = data(range(values, values + len(numbers)))
    for type_, rows in data(numbers).items():
        for row, other in zip(rows, others[type_], strict=True):
            whose = {"k": row["k"]} if "k" in row else {"id": row["id"]}
            given = {name: other.get(name) for name in columns if name in row or name in other}
            found.setdefault(type_, []).append(whose | {n: _loadable(n, v) for n, v in given.items()})
    return found


def _loadable(name: str, value: Any) -> Any:
    """A Blob as a load takes it: cells that hold a reference, or an escaped mark, are replaced by plain bytes."""
    return b"plain" if value is not None and name in (BLOB, f"req_{BLOB}") else value


def _loaded(folder: Path, *loads: tuple[str, dict[str, list[dict[str, Any]]]]) -> tuple[og.Graph, list[bool]]:
    folder.mkdir()
    g = graph_of_every_type(folder, range(4))
    return g, [g.load(rows, mode=mode).changed for mode, rows in loads]  # type: ignore[arg-type]


def test_of_every_type_what_is_given_changes_and_the_rest_stays(tmp_path: Path) -> None:
    before, _ = _loaded(tmp_path / "before")
    changed, _ = _loaded(tmp_path / "changed", ("patch", _images(range(4), HALVES[0], 5)))
    whole, _ = _loaded(tmp_path / "whole", ("patch", _images(range(4), COLUMNS, 5)))
    old, new, other = everything(before), everything(changed), everything(whole)
    for entity, row in new.items():
        for name, value in row.items():
            assert value == (other if name in HALVES[0] else old)[entity][name], (entity, name)
    assert new != old != other != new


def test_patches_of_other_columns_commute(tmp_path: Path) -> None:
    first, second = (("patch", _images(range(4), half, 5)) for half in HALVES)
    one, said = _loaded(tmp_path / "one", first, second)
    other, _ = _loaded(tmp_path / "other", second, first)
    together, _ = _loaded(tmp_path / "together", ("patch", _images(range(4), COLUMNS, 5)))
    assert said == [True, True]
    assert everything(one) == everything(other) == everything(together)


@pytest.mark.parametrize("mode", ["update", "patch"])
def test_a_patch_twice_is_a_patch(tmp_path: Path, mode: str) -> None:
    load = (mode, _images(range(4), HALVES[1], 5))
    once, _ = _loaded(tmp_path / "once", load)
    twice, said = _loaded(tmp_path / "twice", load, load)
    assert said == [True, False], "saying the same again commits nothing"
    assert everything(once) == everything(twice)


def test_a_patch_of_all_columns_is_a_merge(tmp_path: Path) -> None:
    images = _images(range(2, 6), COLUMNS, 7)
    ends = [(f"w{n:05}", f"p{n:05}") for n in range(2, 6)]
    for row, (src, dst) in zip(images["Link"], ends, strict=True):
        row |= {"src": src, "dst": dst}
    patched, _ = _loaded(tmp_path / "patched", ("patch", images))
    merged, _ = _loaded(tmp_path / "merged", ("merge", images))
    assert everything(patched) == everything(merged)


def test_many_entities_are_completed_a_part_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are looked up by where they stand if they are many, by id if few, and never lose their order."""
    g = graph(tmp_path, "node N { k: I64 @key  a: I64?  b: [String]?  c: String }")
    count = 3_000
    g.load({"N": pa.table({"k": range(count), "a": range(count), "c": [f"c{n}" for n in range(count)]})})
    monkeypatch.setattr(completing, "WAITING_ROWS", 700)
    keys = list(range(count + 50, 0, -1))
    table = pa.table({"k": keys, "b": [[str(n)] for n in keys], "c": [f"c{n}" for n in keys]})
    g.load({"N": table}, mode="patch")
    after = g.query("query q() { match { $n: N } return { $n.k as k, $n.a as a, $n.b as b } }").rows
    assert {r["k"]: (r["a"], r["b"]) for r in after} == {
        k: (k if k < count else None, None if k == 0 else [str(k)]) for k in range(count + 51)
    }
    g.load({"N": pa.table({"k": [7], "a": [-1]})}, mode="update")
    assert g.query("query q() { match { $n: N { k: 7 } } return { $n.a as a, $n.c as c } }").rows == [{"a": -1, "c": "c7"}]


# ── others ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def in_between(monkeypatch: pytest.MonkeyPatch, g: og.Graph, theirs: Callable[[og.Graph], object]) -> None:
    """Let somebody else commit after our load was validated and before it is published."""
    other, original, done = og.open(g._store.place.uri), committing.change_of, list[bool]()

    def late(delta: Any, view: Any) -> Any:
        if not done:
            done.append(True)
            theirs(other)
        return original(delta, view)

    monkeypatch.setattr(committing, "change_of", late)


MINE = [{"type": "Person", "data": {"name": "Ada", "age": 99}}]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("theirs", "fits"),
    [
        ('update Person set { mail: "new@x" } where name = "Ada"', False),
        ('delete Person where name = "Ada"', False),
        ('update Person set { age: 99 } where name = "Bob"', True),
        ('insert Person { name: "Dan", role: "x" }', True),
        ('update Person set { mail: "ada@x" } where name = "Ada"', True),
    ],
)
def test_nobody_elses_change_is_lost(g: og.Graph, monkeypatch: pytest.MonkeyPatch, theirs: str, fits: bool, engine: str) -> None:
    in_between(monkeypatch, g, lambda other: other.mutate(f"query m() {{ {theirs} }}"))
    if fits:
        g.load(MINE, mode="patch", engine=ENGINES[engine])
        assert held(g)["Ada"] == {"name": "Ada", "age": 99, "mail": "ada@x", "role": "boss", "kind": "a"}
        return
    with pytest.raises(og.ReadSetChanged, match="Person `Ada` changed while the write was prepared"):
        g.load(MINE, mode="patch", engine=ENGINES[engine])
    after = held(g)
    assert "Ada" not in after or after["Ada"]["mail"] == "new@x"


def test_somebody_who_inserts_the_same_entity_first_is_not_overwritten(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    new = {"type": "Person", "data": {"name": "Eve", "role": "mine"}}
    in_between(
        monkeypatch, g, lambda other: other.load([{"type": "Person", "data": {"name": "Eve", "role": "theirs", "age": 5}}])
    )
    with pytest.raises(og.ReadSetChanged, match="`Eve` changed"):
        g.load([new], mode="patch")
    g.load([new], mode="patch")
    assert (held(g)["Eve"]["role"], held(g)["Eve"]["age"]) == ("mine", 5)


def test_maintenance_in_between_is_nobodys_change(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(5):
        g.load([{"type": "Person", "data": {"name": f"p{n}", "role": "x"}}])

    def compact(other: og.Graph) -> None:
        other.optimize()
        other.mutate('query m() { insert Person { name: "Dan", role: "x" } }')

    in_between(monkeypatch, g, compact)
    g.load(MINE, mode="patch")
    assert held(g)["Ada"]["age"] == 99
    assert "Dan" in held(g)


def test_a_vector_whose_text_is_patched_is_made_again(tmp_path: Path) -> None:
    class Provider:
        model = "mock"

        def embed(self, texts: Any, dimension: int) -> list[list[float]]:
            return [[0.6, 0.8] if text == "longer" else [0.8, 0.6] for text in texts]

    g = graph(tmp_path, 'node Doc { slug: String @key  text: String?  note: String?  vec: Vector(2)? @embed("text") }')
    g.load([{"type": "Doc", "data": {"slug": s, "text": "four"}} for s in ("a", "b")])
    g.embed(embedder=Provider())
    g.load(
        [{"type": "Doc", "data": {"slug": "a", "text": "longer"}}, {"type": "Doc", "data": {"slug": "b", "note": "n"}}],
        mode="patch",
    )
    assert g.embed(embedder=Provider()).entities == 1
    assert {id_: row["vec"] for id_, row in held(g).items()} == {"a": pytest.approx([0.6, 0.8]), "b": pytest.approx([0.8, 0.6])}
